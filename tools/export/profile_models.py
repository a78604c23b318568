#!/usr/bin/env python3
"""Profiles five models with ONNX Runtime at four levels of optimisation and with one and two threads, and holds what
onnxflops makes of it to what must be equal. Figures of time are never compared.

    python3 -m venv venv && venv/bin/pip install onnx onnxruntime numpy
    venv/bin/python tools/export/profile_models.py build/onnxflops [FOLDER]

With FOLDER, the profiles and graphs are kept there. Exit code 1: something is not equal.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

RUNS = 4
LEVELS = {
    "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


class Maker:
    """Nodes of a graph with modules in their names, as PyTorch writes them, and weights of random numbers."""

    def __init__(self):
        self.nodes, self.weights, self.random = [], [], numpy.random.default_rng(7)

    def weight(self, name, *shape):
        values = (self.random.standard_normal(shape) / 8).astype(numpy.float32)
        self.weights.append(onnx.numpy_helper.from_array(values, name))
        return name

    def ints(self, name, *values):
        self.weights.append(onnx.numpy_helper.from_array(numpy.array(values, numpy.int64), name))
        return name

    def add(self, op, name, inputs, **attributes):
        output = f"{name}_output_0"
        self.nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        return output

    def linear(self, name, x, k, n):
        y = self.add("MatMul", f"/{name}/MatMul", [x, self.weight(f"{name}.weight", k, n)])
        return self.add("Add", f"/{name}/Add", [y, self.weight(f"{name}.bias", n)])

    def model(self, inputs, output, shape):
        result = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
        graph = helper.make_graph(self.nodes, "g", inputs, result, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def floats(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def mlp():
    make = Maker()
    x = make.add("Relu", "/act/Relu", [make.linear("fc1", "x", 64, 256)])
    return make.model([floats("x", "batch", 64)], make.linear("fc2", x, 256, 16), ["batch", 16]), {"x": (5, 64)}


def convolutions():
    """A residual block: ONNX Runtime fuses the activation and the addition into a convolution."""
    make = Maker()

    def conv(name, x, c, k):
        weights = [make.weight(f"{name}.weight", k, c, 3, 3), make.weight(f"{name}.bias", k)]
        return make.add("Conv", f"/{name}/Conv", [x, *weights], pads=[1, 1, 1, 1])

    x = make.add("Relu", "/stem/Relu", [conv("stem", "x", 3, 32)])
    y = make.add("Relu", "/block/act/Relu", [conv("block.a", x, 32, 32)])
    y = make.add("Add", "/block/Add", [conv("block.b", y, 32, 32), x])
    y = make.add("Relu", "/block/Relu", [y])
    y = make.add("GlobalAveragePool", "/pool/GlobalAveragePool", [y])
    y = make.linear("head", make.add("Flatten", "/Flatten", [y]), 32, 10)
    return make.model([floats("x", "batch", 3, 32, 32)], y, ["batch", 10]), {"x": (2, 3, 32, 32)}


def attention():
    make = Maker()
    heads, width, seq = 4, 64, 16
    shape = make.ints("shape", 0, seq, heads, width // heads)

    def head(name, perm):
        y = make.add("Reshape", f"/attn/{name}/Reshape", [make.linear(f"attn.{name}", "x", width, width), shape])
        return make.add("Transpose", f"/attn/{name}/Transpose", [y], perm=perm)

    scores = make.add("MatMul", "/attn/MatMul", [head("q", [0, 2, 1, 3]), head("k", [0, 2, 3, 1])])
    scale = onnx.numpy_helper.from_array(numpy.float32(0.25), "scale")
    make.weights.append(scale)
    scores = make.add("Softmax", "/attn/Softmax", [make.add("Mul", "/attn/Mul", [scores, "scale"])], axis=-1)
    y = make.add("MatMul", "/attn/MatMul_1", [scores, head("v", [0, 2, 1, 3])])
    y = make.add("Transpose", "/attn/Transpose", [y], perm=[0, 2, 1, 3])
    y = make.linear("attn.out", make.add("Reshape", "/attn/Reshape", [y, make.ints("back", 0, seq, width)]), width, width)
    y = make.add("Add", "/Add", [y, "x"])
    y = make.add("LayerNormalization", "/norm/LayerNormalization", [y, make.weight("norm.weight", width), make.weight("norm.bias", width)])
    return make.model([floats("x", "batch", seq, width)], y, ["batch", seq, width]), {"x": (3, seq, width)}


def loop():
    """Five trips of a product, and a branch; no node has a name."""
    make = Maker()
    w = make.weight("w", 32, 32)
    body = helper.make_graph(
        [helper.make_node("MatMul", ["s", w], ["p"]), helper.make_node("Tanh", ["p"], ["t"]), helper.make_node("Identity", ["c"], ["d"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []), floats("s", 8, 32)],
        [helper.make_tensor_value_info("d", TensorProto.BOOL, []), floats("t", 8, 32)])
    then = helper.make_graph([helper.make_node("MatMul", ["v", w], ["a"])], "then", [], [floats("a", 8, 32)])
    other = helper.make_graph([helper.make_node("Neg", ["v"], ["b"])], "else", [], [floats("b", 8, 32)])
    make.weights.append(onnx.numpy_helper.from_array(numpy.array(5, numpy.int64), "trips"))
    make.weights.append(onnx.numpy_helper.from_array(numpy.array(True), "go"))
    make.nodes += [
        helper.make_node("MatMul", ["x", w], ["h"]), helper.make_node("Loop", ["trips", "go", "h"], ["v"], body=body),
        helper.make_node("If", ["flag"], ["z"], then_branch=then, else_branch=other)]
    inputs = [floats("x", 8, 32), helper.make_tensor_value_info("flag", TensorProto.BOOL, [])]
    return make.model(inputs, "z", [8, 32]), {"x": (8, 32), "flag": True}


def function():
    """A layer as a function of the model, called twice: the runtime inlines it."""
    make = Maker()
    layer = helper.make_function(
        "layers", "Layer", ["x", "w"], ["y"], [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])],
        [helper.make_opsetid("", 17)])
    x = make.add("Layer", "/0/Layer", ["x", make.weight("0.weight", 48, 48)], domain="layers")
    y = make.add("Layer", "/1/Layer", [x, make.weight("1.weight", 48, 48)], domain="layers")
    model = make.model([floats("x", "batch", 48)], y, ["batch", 48])
    model.functions.append(layer)
    model.opset_import.append(helper.make_opsetid("layers", 1))
    return model, {"x": (7, 48)}


MODELS = {"mlp": mlp, "convolutions": convolutions, "attention": attention, "loop": loop, "function": function}


def profile(path, sizes, level, threads, stem):
    """Runs the model, and returns the files of the profile and of the graph that ran."""
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = stem
    options.optimized_model_filepath = stem + ".optimized.onnx"
    options.graph_optimization_level = LEVELS[level]
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # that a graph is saved for this machine only is no news
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(1)
    inputs = {name: numpy.array(size) if isinstance(size, bool) else random.standard_normal(size).astype(numpy.float32)
              for name, size in sizes.items()}
    for _ in range(RUNS):
        session.run(None, inputs)
    return session.end_profiling(), options.optimized_model_filepath


def kernel_events(path):
    """Names of the kernels that ran in the main graph of the last run, by their number in the whole profile."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)
    return [e for e in events if e["cat"] == "Node" and e["name"].endswith("_kernel_time")]


def run(program, *arguments):
    return json.loads(subprocess.run([program, *arguments, "--format", "json"], capture_output=True, check=True).stdout)


def faults(program, model, trace, optimized):
    """The differences from the required values."""
    report = run(program, "profile", model, trace, "--optimized", optimized)
    totals, groups = report["totals"], report["groups"]
    dims = [f"--dim={name}={size}" for name, size in report["bindings"].items()]
    counted = run(program, "count", model, *dims)["totals"]
    if counted["flops"]["value"] != totals["counted_flops"]:
        yield f"FLOPs {totals['counted_flops']}, counted {counted['flops']['value']}"
    if totals["work"]["macs"] + totals["macs_without_kernel"] != counted["macs"]["value"]:
        yield f"MACs of kernels {totals['work']['macs']}, counted {counted['macs']['value']}"
    if totals["macs_without_kernel"] != 0:
        yield f"MACs without a kernel: {totals['macs_without_kernel']}"
    if sum(g["work"]["time_ns"] for g in groups) != totals["work"]["time_ns"]:
        yield "times of kernels do not sum"
    missing = [g["names"][0] for g in groups if not g["nodes"]]
    if missing:
        yield f"did not join: {missing}"
    events = {e["name"].removesuffix("_kernel_time") for e in kernel_events(trace)}
    if events != {name for g in groups for name in g["names"]}:
        yield "a kernel is in no group"
    # The optimised graph, counted by itself, has the same MACs.
    own = run(program, "count", optimized, *dims)["totals"]["macs"]["value"]
    if own != counted["macs"]["value"]:
        yield f"the graph that ran has {own} MACs, the model {counted['macs']['value']}"


def main():
    program = os.path.abspath(sys.argv[1])
    failed = done = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = sys.argv[2] if len(sys.argv) > 2 else scratch
        os.makedirs(folder, exist_ok=True)
        for name, make in MODELS.items():
            model, sizes = make()
            path = os.path.join(folder, name + ".onnx")
            onnx.save(model, path)
            for level in LEVELS:
                for threads in (1, 2):
                    trace, optimized = profile(path, sizes, level, threads, os.path.join(folder, f"{name}.{level}.t{threads}"))
                    for fault in faults(program, path, trace, optimized):
                        failed += 1
                        print(f"{name}, {level}, {threads} threads: {fault}")
                    done += 1
    print(f"onnxruntime {onnxruntime.__version__}: {done} profiles, {failed} faults")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
