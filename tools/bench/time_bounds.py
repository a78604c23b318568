#!/usr/bin/env python3
"""Runs models through ONNX Runtime on this machine and holds the measured times to the bounds of onnxflops: none may be below.

    python3 -m venv venv && venv/bin/pip install onnx onnxruntime numpy
    venv/bin/python tools/bench/time_bounds.py build/onnxflops [MODEL...]

More models can be named after the program. The device is measured first (machine_peak.cc); its cache is the sum that Linux states for
all CPUs. Weights are random. The time is the best of some runs. Estimates are printed next to it, and may be above or below. Exit code
1: a measured time is below its bound.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIZES = {"batch": 1, "seq": 128}
MODELS = ("bert-base", "gpt-124m", "llama-tiny", "lstm.static", "mobilenet-v3-large", "resnet50", "vit-b-16", "clip-vit-b-32.ts17",
          "deployed/resnet50.ts11.static")


def device_file(folder):
    program = os.path.join(folder, "machine_peak")
    subprocess.run(["g++", "-O3", "-march=native", "-std=c++20", "-pthread", os.path.join(ROOT, "tools/bench/machine_peak.cc"), "-o", program], check=True)
    text = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    caches = {}  # each once, by its level and kind and the CPUs that share it
    for index in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/cache/index*"):
        level, kind, shared, size = (open(os.path.join(index, name), encoding="ascii").read().strip()
                                     for name in ("level", "type", "shared_cpu_list", "size"))
        if kind != "Instruction":
            caches[level, kind, shared] = int(size[:-1]) * {"K": 1024, "M": 1024**2}[size[-1]]
    path = os.path.join(folder, "here.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + (f"cache_bytes = {sum(caches.values())}\n" if caches else ""))
    return path, text


def chain(op, nodes, elements):
    """One operator after the other: what a cache holds is beaten most easily here."""
    binary = op in ("Add", "Mul", "Sub", "Max")
    made = [helper.make_node(op, [f"v{i}", "c"] if binary else [f"v{i}"], [f"v{i + 1}"]) for i in range(nodes)]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [elements])  # noqa: E731
    weights = [numpy_helper.from_array(numpy.full(elements, 1.001, numpy.float32), "c")] if binary else []
    graph = helper.make_graph(made, "chain", [value("v0")], [value(f"v{nodes}")], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def layers(batch, width, depth):
    """Linear layers: at batch 1 the weights are what takes time."""
    random = numpy.random.default_rng(1)
    nodes, weights = [], []
    for i in range(depth):
        weights.append(numpy_helper.from_array(random.standard_normal((width, width), numpy.float32), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"]))
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, width])  # noqa: E731
    graph = helper.make_graph(nodes, "layers", [value("v0")], [value(f"v{depth}")], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def with_weights(path):
    """The model with random weights in the place of the data that models/ leaves out."""
    model = onnx.load(path, load_external_data=False)
    random = numpy.random.default_rng(1)
    for tensor in model.graph.initializer:
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        values = (random.random(list(tensor.dims)) / 32 + 0.01).astype(dtype)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return model


def conv(channels, size, kernel):
    """A convolution whose products are mostly padding."""
    weights = numpy.random.default_rng(1).standard_normal((channels, channels, kernel, kernel), numpy.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[kernel // 2] * 4)
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, size, size])  # noqa: E731
    graph = helper.make_graph([node], "conv", [value("x")], [value("y")], [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def cases():
    for path in sys.argv[2:]:
        yield os.path.basename(path), onnx.load(path)
    for channels, size, kernel in ((64, 8, 31), (256, 7, 3), (64, 14, 7)):
        yield f"Conv {kernel} x {kernel}, {channels} x {size} x {size}", conv(channels, size, kernel)
    for op in ("Add", "Mul", "Relu", "Tanh", "Sqrt"):
        for nodes in (1, 10, 40):
            for elements in (1 << 16, 1 << 20):
                yield f"{nodes} x {op}, {elements:,}", chain(op, nodes, elements)
    for batch in (1, 64):
        for width in (256, 1024, 2048):
            yield f"4 x MatMul, {batch} x {width:,}", layers(batch, width, 4)
    for name in MODELS:
        path = os.path.join(ROOT, "models", name + ".onnx")
        if os.path.exists(path):
            yield name, with_weights(path)


def best_seconds(path):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    random, inputs = numpy.random.default_rng(2), {}
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) else SIZES.get(d, 1) for d in value.shape]
        inputs[value.name] = (random.random(shape).astype(numpy.float32) if "float" in value.type else numpy.ones(shape, numpy.int64))
    best, end = 1e9, time.perf_counter() + 2
    for run in range(200):
        begin = time.perf_counter()
        session.run(None, inputs)
        best = min(best, time.perf_counter() - begin)
        if run >= 4 and time.perf_counter() > end:
            break
    return best


def main():
    below = total = 0
    with tempfile.TemporaryDirectory() as folder:
        devices, text = device_file(folder)
        print(text)
        print(f"{'model':45} {'measured':>10} {'bound':>10} {'ratio':>7} {'node by node':>13} {'fused':>10}   (milliseconds)")
        for name, model in cases():
            path = os.path.join(folder, "model.onnx")
            onnx.save(model, path)
            dims = [f"--dim={size}={SIZES[size]}" for size in SIZES
                    if any(d.dim_param == size for i in model.graph.input for d in i.type.tensor_type.shape.dim)]
            shown = subprocess.run([sys.argv[1], "count", path, "--format", "json", "--device", "here", "--dtype", "fp32", "--devices-file", devices, *dims],
                                   capture_output=True, check=True).stdout
            roofline = json.loads(shown)["roofline"]
            bound, estimate, fused = roofline["bound"]["seconds"], roofline["bound"]["estimate_seconds"], roofline["fused_estimate_seconds"]
            measured = best_seconds(path)
            total += 1
            below += measured < bound
            row = [f"{1000 * value:10.4f}" for value in (measured, bound)]
            print(f"{name:45} {row[0]} {row[1]} {measured / bound if bound else 0:7.2f} {1000 * estimate:13.4f} {1000 * fused:10.4f}"
                  + ("   BELOW ITS BOUND" if measured < bound else ""), flush=True)
    print(f"{total} models, {below} below their bound")
    sys.exit(1 if below else 0)


if __name__ == "__main__":
    main()
