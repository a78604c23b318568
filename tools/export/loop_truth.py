#!/usr/bin/env python3
"""Makes random Loops, Scans and Ifs on known tensors, nested now and then, and writes down what ONNX Runtime makes of them.

Usage: loop_truth.py tests/data/loop_truth.jsonl [--count 400]      needs: pip install onnx onnxruntime numpy

A line is a graph in ONNX's text form with its outputs, each as sizes and, of whole numbers, elements; and the additions of floating-point
numbers that all trips do, which the bodies count themselves: each adds to a vector of 1s that grows, and the first output but one is how
often. tests/infer/loop_truth_test.cc holds shapes, elements and FLOPs to it. The file is made with a fixed seed.
"""
import argparse
import json
import random

import numpy as np
import onnx
import onnx.parser
import onnxruntime

OPSET = 21


class Body:
    """Nodes of a graph, with names that are its own."""

    def __init__(self, rng, prefix):
        self.rng, self.prefix, self.nodes, self.count = rng, prefix, [], 0

    def name(self):
        self.count += 1
        return f"{self.prefix}{self.count}"

    def node(self, op, inputs, attributes="", name=None):
        name = name or self.name()
        self.nodes.append(f"{name} = {op}{f'<{attributes}>' if attributes else ''}({', '.join(inputs)})")
        return name

    def ints(self, *values):
        return self.node("Constant", [], f"value_ints = [{', '.join(map(str, values))}]")

    def int(self, value):
        return self.node("Constant", [], f"value_int = {value}")


def work(b, f, w):
    """As many additions as f has elements; w counts them."""
    g = b.node("Add", [f, f])
    n = b.node("Size", [f])
    return g, b.node("Add", [w, n])


def change_floats(b, f):
    """A vector of another size, or of the same."""
    kind = b.rng.randrange(5)
    if kind == 0:
        return b.node("Concat", [f, f], "axis = 0")
    if kind == 1:
        return b.node("Concat", [f, b.node("Constant", [], "value_floats = [1.0, 2.0]")], "axis = 0")
    if kind == 2:
        return b.node("Slice", [f, b.ints(1), b.ints(50)])
    return b.node("Identity", [f])


def change_ints(b, a, i):
    """A vector of whole numbers, which may know the trip."""
    kind = b.rng.randrange(6)
    if kind == 0:
        return b.node("Add", [a, i])
    if kind == 1:
        return b.node("Concat", [a, b.node("Unsqueeze", [i, b.ints(0)])], "axis = 0")
    if kind == 2:
        return b.node("Mul", [a, b.int(2)])
    if kind == 3:
        return b.node("Slice", [a, b.ints(1), b.ints(50)])
    if kind == 4:
        return b.node("Sub", [a, b.int(1)])
    return b.node("Identity", [a])


def condition(b, a, i, ends):
    """The condition for another trip; one that `ends` the loop depends on the trip's number."""
    kind = 0 if ends else b.rng.randrange(4)
    if kind == 0:
        return b.node("Less", [i, b.int(b.rng.randint(0, 5))])
    if kind == 1:
        return b.node("Less", [b.node("ReduceSum", [a], "keepdims = 0"), b.int(b.rng.randint(0, 40))])
    return b.node("Cast", [b.int(1)], "to = 9")


def if_node(b, f, a, w, depth):
    """Of two branches one, by the first whole number."""
    chosen = b.node("Less", [b.node("ReduceMax", [a], "keepdims = 0"), b.int(b.rng.randint(-2, 8))])
    branches = []
    for side in ("then", "else"):
        inner = Body(b.rng, f"{b.prefix}{side[0]}{depth}_")
        g, v = f, w
        for _ in range(b.rng.randint(0, 2)):
            g, v = work(inner, g, v)
        g, v = inner.node("Identity", [change_floats(inner, g)]), inner.node("Identity", [v])
        branches.append(f"{side}_branch = {side[0]}{depth} () => (float[{side[0]}m] {g}, int64 {v}) {{ {' '.join(inner.nodes)} }}")
    out = [b.name(), b.name()]
    b.nodes.append(f"{', '.join(out)} = If<{', '.join(branches)}>({chosen})")
    return out


def loop_node(b, f, a, w, depth):
    trips = b.int(b.rng.choice([0, 1, 2, 3, 4, 6])) if b.rng.random() < 0.85 else ""
    inner = Body(b.rng, f"{b.prefix}l{depth}_")
    p = inner.prefix
    i, c, g, v, x = (f"{p}{n}" for n in ("i", "c", "f", "w", "a"))
    h, u = work(inner, g, v)
    if depth < 1 and b.rng.random() < 0.35:
        h, u = b.rng.choice([loop_node, if_node])(inner, h, x, u, depth + 1)[:2]
    y = inner.node("Identity", [change_ints(inner, x, i)])
    h = inner.node("Identity", [change_floats(inner, h)])
    u = inner.node("Identity", [u])
    go = inner.node("Identity", [condition(inner, y, i, not trips)])
    scans = []
    if b.rng.random() < 0.4:
        scans.append(("int64", inner.node("Identity", [i])))
    if b.rng.random() < 0.3:
        scans.append(("int64[]", inner.node("ReduceSum", [y])))
    scanned = "".join(f", {kind} {name}" for kind, name in scans)
    body = (f"body = b{depth} (int64 {i}, bool {c}, float[{p}n] {g}, int64 {v}, int64[{p}m] {x}) => (bool {go}, float[{p}o] {h}, int64 {u}, "
            f"int64[{p}q] {y}{scanned}) {{ {' '.join(inner.nodes)} }}")
    enters = b.node("Cast", [b.int(int(b.rng.random() < 0.9))], "to = 9") if b.rng.random() < 0.5 else ""
    out = [b.name() for _ in range(3 + len(scans))]
    b.nodes.append(f"{', '.join(out)} = Loop<{body}>({trips}, {enters}, {f}, {w}, {a})")
    return out


def scan_node(b, f, a, w, depth):
    """Over the rows (or columns) of a matrix, whose rows are added to a state."""
    inner = Body(b.rng, f"{b.prefix}s{depth}_")
    rows, columns = b.rng.sample([1, 2, 3, 4, 5], 2)
    axis, backwards = b.rng.randrange(2), b.rng.randrange(2)
    length = (columns, rows)[axis]
    x = b.node("Cast", [b.node("Reshape", [b.node("Range", [b.int(0), b.int(rows * columns), b.int(1)]), b.ints(rows, columns)])], "to = 1")
    s = b.node("Cast", [b.node("Range", [b.int(0), b.int(length), b.int(1)])], "to = 1")
    p = inner.prefix
    t = inner.node("Add", [f"{p}s", f"{p}x"])
    v = inner.node("Add", [f"{p}w", inner.node("Size", [f"{p}s"])])
    y = inner.node(*(("Identity", [t]) if b.rng.random() < 0.5 else ("Concat", [t, t], "axis = 0")))
    body = f"body = s{depth} (float[{p}n] {p}s, int64 {p}w, float[{p}n] {p}x) => (float[{p}n] {t}, int64 {v}, float[{p}k] {y}) {{ {' '.join(inner.nodes)} }}"
    out = [b.name() for _ in range(3)]
    attributes = f"num_scan_inputs = 1, scan_input_axes = [{axis}], scan_input_directions = [{backwards}], {body}"
    if b.rng.random() < 0.5:
        attributes += f", scan_output_axes = [{b.rng.randrange(2)}]"
    b.nodes.append(f"{', '.join(out)} = Scan<{attributes}>({s}, {w}, {x})")
    return [out[0], out[1], out[2]]


def make(seed):
    rng = random.Random(seed)
    b = Body(rng, "v")
    f = b.node("Constant", [], f"value_floats = [{', '.join(['1.0'] * rng.randint(1, 5))}]")
    a = b.ints(*[rng.randint(-2, 6) for _ in range(rng.randint(1, 4))])
    w = b.int(0)
    out = rng.choice([loop_node, loop_node, loop_node, if_node, scan_node])(b, f, a, w, 0)
    return f"g () => ({', '.join(f'float[] {o}' for o in out)}) {{ {' '.join(b.nodes)} }}"


def run(text):
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {OPSET}]> {text}')
    for output in model.graph.output:
        output.ClearField("type")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {})
    except Exception as error:  # of any kind: the runtime has many
        return str(error)


def output_of(array):
    elements = None if array.dtype.kind == "f" else [int(n) for n in array.ravel()]
    return {"sizes": list(array.shape), "elements": elements}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("--count", type=int, default=400)
    args = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    lines, seed, refused = [], 0, 0
    while len(lines) < args.count:
        seed += 1
        text = make(seed)
        outputs = run(text)
        if isinstance(outputs, str):
            refused += 1
            if refused > args.count:
                raise SystemExit(f"{text}\n{outputs}")
            continue
        if sum(o.size for o in outputs) > 400:
            continue
        lines.append(json.dumps({"graph": text, "outputs": [output_of(o) for o in outputs]}))
    with open(args.output, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    print(f"{len(lines)} graphs; the runtime refused {refused}")


if __name__ == "__main__":
    main()
