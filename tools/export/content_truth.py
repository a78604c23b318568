#!/usr/bin/env python3
"""Makes random chains of operators on known tensors, small and large, and writes down what ONNX Runtime makes of them.

Usage: content_truth.py tests/data/content_truth.jsonl [--count 1000]      needs: pip install onnx onnxruntime numpy

A line is a graph in ONNX's text form and the elements, 24 at most, that it ends in. tests/infer/content_truth_test.cc holds what is followed
of them to it. The file is made with a fixed seed.
"""
import argparse
import json
import random

import numpy as np
import onnx
import onnx.parser
import onnxruntime

OPSET = 21


class Chain:
    """A value, as an array and as nodes that make it."""

    def __init__(self, rng):
        self.rng, self.nodes, self.count = rng, [], 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def constant(self, values):
        name = self.name()
        kind = "float" if isinstance(np.asarray(values).ravel()[:1].tolist()[0] if np.size(values) else 0, float) else "int"
        if np.ndim(values) == 0:
            self.nodes.append(f"{name} = Constant<value_{kind} = {values}>()")
        else:
            self.nodes.append(f"{name} = Constant<value_{kind}s = {list(values)}>()")
        return name

    def node(self, op, inputs, attributes="", outputs=1):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(f"{', '.join(names)} = {op}{f'<{attributes}>' if attributes else ''}({', '.join(inputs)})")
        return names[-1]


def factors(rng, size):
    """Random sizes of that product."""
    sizes = []
    while size > 1 and len(sizes) < 3:
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        sizes.append(rng.choice(divisors))
        size //= sizes[-1]
    sizes.append(size)
    rng.shuffle(sizes)
    return sizes


# Each takes the chain, the name of a value and the value; and returns name and value of its result.


def reshape(c, x, v):
    sizes = factors(c.rng, v.size)
    given = list(sizes)
    if v.size and c.rng.random() < 0.3:
        given[c.rng.randrange(len(given))] = -1
    return c.node("Reshape", [x, c.constant(given)]), v.reshape(sizes)


def transpose(c, x, v):
    perm = list(range(v.ndim))
    c.rng.shuffle(perm)
    return (c.node("Transpose", [x], f"perm = {perm}"), v.transpose(perm)) if v.ndim else (x, v)


def slice_(c, x, v):
    if v.ndim == 0:
        return x, v
    axis = c.rng.randrange(v.ndim)
    size = v.shape[axis]
    start, end = sorted(c.rng.sample(range(size + 1), 2)) if size > 0 else (0, 0)
    step = c.rng.choice([1, 1, 2, 3, -1, -2])
    if step < 0:
        start, end = end - 1, (start - 1 if start > 0 else -size - 1)
    taken = [slice(None)] * v.ndim
    taken[axis] = slice(start, None if end == -size - 1 else end, step)
    given = axis - v.ndim if c.rng.random() < 0.3 else axis
    return c.node("Slice", [x, *(c.constant([n]) for n in (start, end, given, step))]), v[tuple(taken)]


def gather(c, x, v):
    if v.ndim == 0 or 0 in v.shape:
        return x, v
    axis = c.rng.randrange(v.ndim)
    index = [c.rng.randrange(-v.shape[axis], v.shape[axis]) for _ in range(c.rng.randint(1, 3))]
    if c.rng.random() < 0.3:
        index = index[0]
    return c.node("Gather", [x, c.constant(index)], f"axis = {axis}"), np.take(v, index, axis)


def gather_elements(c, x, v):
    if v.ndim != 1 or v.size < 2:
        return x, v
    index = [c.rng.randrange(v.size) for _ in range(4)]
    return c.node("GatherElements", [x, c.constant(index)]), v[index]


def concat(c, x, v):
    if v.ndim == 0 or v.size > 2000:
        return x, v
    axis = c.rng.randrange(v.ndim)
    other, w = calculate(c, x, v)
    return c.node("Concat", [x, other, x], f"axis = {axis}"), np.concatenate([v, w, v], axis)


def expand(c, x, v):
    if v.size > 2000 or v.ndim > 3:
        return x, v
    axis = c.rng.randint(0, v.ndim)
    n = c.rng.choice([2, 3])
    wide = c.node("Unsqueeze", [x, c.constant([axis])])
    sizes = list(v.shape[:axis]) + [n] + list(v.shape[axis:])
    return c.node("Expand", [wide, c.constant(sizes)]), np.broadcast_to(np.expand_dims(v, axis), sizes)


def tile(c, x, v):
    if v.ndim == 0 or v.size > 2000:
        return x, v
    repeats = [c.rng.choice([1, 2, 3]) for _ in range(v.ndim)]
    return c.node("Tile", [x, c.constant(repeats)]), np.tile(v, repeats)


def pad(c, x, v):
    if v.ndim == 0 or 0 in v.shape or v.size > 2000:
        return x, v
    mode = c.rng.choice(["constant", "edge", "reflect"])
    most = 2 if mode != "reflect" else min(2, min(v.shape) - 1)
    before, after = ([c.rng.randint(0, most) for _ in range(v.ndim)] for _ in range(2))
    inputs = [x, c.constant(before + after)]
    return c.node("Pad", inputs, f'mode = "{mode}"'), np.pad(v, list(zip(before, after)), mode)


def squeeze(c, x, v):
    ones = [i for i, n in enumerate(v.shape) if n == 1]
    if not ones:
        return x, v
    axis = c.rng.choice(ones)
    return c.node("Squeeze", [x, c.constant([axis])]), v.squeeze(axis)


def flatten(c, x, v):
    axis = c.rng.randint(0, v.ndim)
    rows = int(np.prod(v.shape[:axis]))
    return c.node("Flatten", [x], f"axis = {axis}"), v.reshape(rows, v.size // rows if rows else 0)


def calculate(c, x, v):
    floats = v.dtype == np.float32
    n = c.rng.choice([2, 3, 5, 7, -2])
    k = c.constant(float(n) if floats else n)
    op, w = c.rng.choice([("Add", v + n), ("Sub", v - n), ("Mul", v * n), ("Max", np.maximum(v, n)), ("Min", np.minimum(v, n))])
    inputs = [x, k]
    if op == "Sub" and c.rng.random() < 0.5:
        inputs, w = [k, x], n - v
    return c.node(op, inputs), w.astype(v.dtype)


def with_axis(c, x, v):
    """Of a row of numbers that is as long as the last axis."""
    if v.ndim == 0 or v.shape[-1] > 40 or v.shape[-1] == 0 or v.dtype != np.int64:
        return x, v
    row = [c.rng.randint(-3, 3) for _ in range(v.shape[-1])]
    op, w = c.rng.choice([("Add", v + row), ("Mul", v * row), ("Sub", v - row)])
    return c.node(op, [x, c.constant(row)]), w


def divide(c, x, v):
    if v.dtype != np.int64:
        return x, v
    n = c.rng.choice([2, 3, 4, 7])
    if c.rng.random() < 0.5:
        return c.node("Mod", [x, c.constant(n)]), np.mod(v, n)
    return c.node("Div", [x, c.constant(n)]), (np.abs(v) // n * np.sign(v)).astype(np.int64)


def unary(c, x, v):
    op, w = c.rng.choice([("Neg", -v), ("Abs", np.abs(v)), ("Sign", np.sign(v))])
    return c.node(op, [x]), w.astype(v.dtype)


def cast(c, x, v):
    if v.dtype == np.int64:
        half = c.node("Mul", [c.node("Cast", [x], "to = 1"), c.constant(0.5)])
        return half, (v * 0.5).astype(np.float32)
    op, w = c.rng.choice([("Floor", np.floor(v)), ("Ceil", np.ceil(v))])
    return c.node("Cast", [c.node(op, [x])], "to = 7"), w.astype(np.int64)


def compare(c, x, v):
    n = int(np.median(v)) if v.size else 0
    k = c.constant(float(n) if v.dtype == np.float32 else n)
    op, w = c.rng.choice([("Less", v < n), ("Greater", v > n), ("Equal", v == n), ("LessOrEqual", v <= n), ("GreaterOrEqual", v >= n)])
    chosen = c.node(op, [x, k])
    if c.rng.random() < 0.5:
        return c.node("Cast", [chosen], "to = 7"), w.astype(np.int64)
    other, u = calculate(c, x, v)
    return c.node("Where", [chosen, x, other]), np.where(w, v, u)


def reduce(c, x, v):
    if v.ndim == 0 or 0 in v.shape or v.size > 2000:
        return x, v
    axis, keep = c.rng.randrange(v.ndim), c.rng.random() < 0.5
    op, f = c.rng.choice([("ReduceSum", np.sum), ("ReduceMax", np.max), ("ReduceMin", np.min)])
    return c.node(op, [x, c.constant([axis])], f"keepdims = {int(keep)}"), np.asarray(f(v, axis=axis, keepdims=keep)).astype(v.dtype)


def cumsum(c, x, v):
    if v.ndim == 0 or v.size > 2000:
        return x, v
    axis, exclusive, reverse = c.rng.randrange(v.ndim), c.rng.random() < 0.4, c.rng.random() < 0.4
    w = np.flip(v, axis) if reverse else v
    s = np.cumsum(w, axis) - (w if exclusive else 0)
    s = np.flip(s, axis) if reverse else s
    return c.node("CumSum", [x, c.constant(axis)], f"exclusive = {int(exclusive)}, reverse = {int(reverse)}"), s.astype(v.dtype)


def trilu(c, x, v):
    if v.ndim < 2:
        return x, v
    upper, k = c.rng.random() < 0.5, c.rng.randint(-1, 2)
    return c.node("Trilu", [x, c.constant(k)], f"upper = {int(upper)}"), np.triu(v, k) if upper else np.tril(v, k)


def split(c, x, v):
    if v.ndim == 0:
        return x, v
    axis = c.rng.randrange(v.ndim)
    size = v.shape[axis]
    if size < 2:
        return x, v
    first = c.rng.randint(1, size - 1)
    sizes = [first, size - first]
    return c.node("Split", [x, c.constant(sizes)], f"axis = {axis}", 2), np.split(v, [first], axis)[1]


def scatter(c, x, v):
    if v.ndim == 0 or v.shape[0] < 3 or v.ndim != 1 or v.dtype != np.int64:
        return x, v
    index = c.rng.sample(range(v.size), 2)
    w = v.copy()
    w[index] = [77, -77]
    if c.rng.random() < 0.5:
        return c.node("ScatterElements", [x, c.constant(index), c.constant([77, -77])]), w
    places = c.node("Reshape", [c.constant(index), c.constant([2, 1])])
    return c.node("ScatterND", [x, places, c.constant([77, -77])]), w


def arg(c, x, v):
    if v.ndim == 0 or 0 in v.shape or v.size > 2000:
        return x, v
    axis = c.rng.randrange(v.ndim)
    return c.node("ArgMax", [x], f"axis = {axis}, keepdims = 0"), np.asarray(np.argmax(v, axis), dtype=np.int64)


def shape(c, x, v):
    first = c.rng.randint(0, v.ndim)
    return c.node("Shape", [x], f"start = {first}"), np.asarray(v.shape[first:], dtype=np.int64)


def nonzero(c, x, v):
    if v.ndim == 0 or v.size > (40 if (v == 0).any() else 3000):
        return x, v
    return c.node("NonZero", [x]), np.asarray(np.nonzero(v), dtype=np.int64)


def unique(c, x, v):
    if v.ndim == 0 or v.size > 40 or v.dtype != np.int64:
        return x, v
    ordered = c.rng.random() < 0.5
    w, first, inverse, counts = np.unique(v.ravel(), return_index=True, return_inverse=True, return_counts=True)
    rank = np.arange(w.size) if ordered else np.argsort(np.argsort(first))
    back = np.argsort(rank)
    names = [c.name() for _ in range(4)]
    c.nodes.append(f"{', '.join(names)} = Unique<sorted = {int(ordered)}>({x})")
    which = c.rng.randrange(4)
    return names[which], np.asarray([w[back], first[back], rank[inverse.ravel()], counts[back]][which], dtype=np.int64)


def compress(c, x, v):
    if v.ndim == 0 or v.size > 2000 or v.shape[0] > 40:
        return x, v
    flat = c.rng.random() < 0.3
    keep = [c.rng.random() < 0.6 for _ in range(min(v.size, 20) if flat else v.shape[0])]
    chosen = c.node("Cast", [c.constant([int(k) for k in keep])], "to = 9") if keep else None
    if chosen is None:
        return x, v
    if flat:
        return c.node("Compress", [x, chosen]), v.ravel()[: len(keep)][keep]
    return c.node("Compress", [x, chosen], "axis = 0"), v[keep]


def one_hot(c, x, v):
    if v.ndim == 0 or v.size > 12 or v.dtype != np.int64:
        return x, v
    depth, axis = c.rng.randint(2, 5), c.rng.choice([-1, 0])
    w = np.mod(v, depth)
    inputs = [c.node("Mod", [x, c.constant(depth)]), c.constant(depth), c.constant([c.rng.randint(-2, 0), 7])]
    off = int(c.nodes[-1].split("[")[1].split(",")[0])
    hot = np.where(w[..., None] == np.arange(depth), 7, off)
    return c.node("OneHot", inputs, f"axis = {axis}"), hot if axis == -1 else np.moveaxis(hot, -1, 0)


def halves(c, x, v):
    """Through float16: odd mantissas, tiny numbers and large ones."""
    if v.dtype != np.int64 or v.size > 200:
        return x, v
    n = c.rng.choice([1.0009765625, 0.333251953125, 1000.5, 3e-7])
    scaled = c.node("Mul", [c.node("Cast", [x], "to = 1"), c.constant(n)])
    with np.errstate(over="ignore"):
        w = (v.astype(np.float32) * np.float32(n)).astype(np.float16).astype(np.float32)
    return c.node("Cast", [c.node("Cast", [scaled], "to = 10")], "to = 1"), w


def half_stored(c, x, v):
    """Numbers that the file stores as float16 or bfloat16."""
    kind, values = c.rng.choice([("float16", [1.0009765625, -2.25, 0.333251953125, 6e-8]), ("bfloat16", [1.0078125, -2.25, 3.0])])
    name = c.name()
    bits = [int(np.float16(n).view(np.uint16)) if kind == "float16" else int(np.float32(n).view(np.uint32)) >> 16 for n in values]
    c.nodes.append(f"{name} = Constant<value = {kind}[{len(bits)}] {{{', '.join(map(str, bits))}}}>()")
    exact = [float(np.float16(n)) for n in values] if kind == "float16" else values
    return c.node("Cast", [name], "to = 1"), np.asarray(exact, dtype=np.float32)


STEPS = [unique, compress, one_hot, halves, half_stored,
         reshape, reshape, transpose, transpose, slice_, slice_, gather, gather, gather_elements, concat, expand, tile, pad, squeeze, flatten,
         calculate, with_axis, divide, unary, cast, compare, reduce, cumsum, trilu, split, scatter, arg, shape, nonzero]


def start(c):
    kind = c.rng.randrange(4)
    if kind == 0:
        values = [c.rng.randint(-5, 9) for _ in range(c.rng.choice([6, 8, 12]))]
        return c.constant(values), np.asarray(values, dtype=np.int64)
    if kind == 1:
        sizes = c.rng.choice([[3, 4], [40, 30], [2, 3, 4], [2000], [7, 1, 50], [300]])
        return c.node("ConstantOfShape", [c.constant(sizes)], "value = int64[1] {6}"), np.full(sizes, 6, dtype=np.int64)
    first, step, n = c.rng.randint(-3, 3), c.rng.choice([1, 2, 3, -1]), c.rng.choice([12, 24, 60, 1200, 3000])
    inputs = [c.constant(i) for i in (first, first + n * step, step)]
    return c.node("Range", inputs), np.arange(first, first + n * step, step, dtype=np.int64)


def make(seed):
    """The text of a graph and its result, an array; None if the result is empty or too large."""
    c = Chain(random.Random(seed))
    x, v = start(c)
    for _ in range(c.rng.randint(2, 7)):
        x, v = c.rng.choice(STEPS)(c, x, v)
    if v.size == 0 or v.size > 20000:
        return None, None
    x, v = c.node("Reshape", [x, c.constant([-1])]), v.reshape(-1)
    index = sorted(c.rng.sample(range(v.size), min(24, v.size)))
    x, v = c.node("Gather", [x, c.constant(index)]), v[index]
    kind = "float" if v.dtype == np.float32 else "int64"
    return f"g () => ({kind}[{v.size}] {x}) {{ {' '.join(c.nodes)} }}", v


def run(text):
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {OPSET}]> {text}')
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {})[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("--count", type=int, default=1000)
    args = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    lines, differ, seed = [], 0, 0
    while len(lines) < args.count:
        seed += 1
        text, v = make(seed)
        if text is None:
            continue
        w = run(text)
        if not np.isfinite(w).all():
            continue
        differ += int(not np.array_equal(v, w))
        lines.append(json.dumps({"graph": text, "elements": [float(n) if w.dtype == np.float32 else int(n) for n in w]}))
    with open(args.output, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    print(f"{len(lines)} graphs; numpy differs in {differ}")


if __name__ == "__main__":
    main()
