#!/usr/bin/env python3
"""FLOPs that a CPU executes, by valgrind's tool lackey, beside the MACs of `onnxflops count`: for the nightly build.

    apt-get install valgrind; python3 -m venv venv && venv/bin/pip install onnx onnxruntime numpy
    venv/bin/python tools/export/lackey_flops.py build/onnxflops

valgrind takes a fused multiply-add of a vector apart into one operation on F32 for each element. ONNX Runtime's products run on these
(on a processor with FMA3), so that operations on F32 are MACs. Each model runs once and three times: the difference is two runs, without
what Python and the session do before. Exit code 1: a figure is off by more than 2 %, or nothing was counted.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper

MOST = 0.02
RUN = """
import sys, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
x = numpy.ones([int(d) for d in sys.argv[2].split("x")], numpy.float32)
for _ in range(int(sys.argv[3])):
    session.run(None, {"x": x})
"""


def model_of(op, shape, weight, out, **attributes):
    values = onnx.numpy_helper.from_array(numpy.ones(weight, numpy.float32), "w")
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "w"], ["y"], name=op, **attributes)], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)], [values])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


# Channels of the convolution fill the vectors: work on padding would be counted as well.
CASES = {
    "MatMul": ("MatMul", [64, 256], [256, 256], [64, 256], {}),
    "Conv": ("Conv", [1, 32, 24, 24], [64, 32, 3, 3], [1, 64, 22, 22], {}),
}


def executed(path, shape, runs):
    """Operations on F32 of a process that runs the model so often."""
    command = ["valgrind", "--tool=lackey", "--detailed-counts=yes", sys.executable, "-c", RUN, path, "x".join(map(str, shape)), str(runs)]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    row = re.search(r"F32 +[\d,]+ +[\d,]+ +([\d,]+)", log)
    return int(row[1].replace(",", ""))


def main():
    program, failed = os.path.abspath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (op, shape, weight, out, attributes) in CASES.items():
            path = os.path.join(folder, name + ".onnx")
            onnx.save(model_of(op, shape, weight, out, **attributes), path)
            report = subprocess.run([program, "count", path, "--format", "json"], capture_output=True, check=True).stdout
            macs = json.loads(report)["totals"]["macs"]["value"]
            measured = (executed(path, shape, 3) - executed(path, shape, 1)) / 2
            off = measured / macs - 1
            failed += abs(off) > MOST
            print(f"{name}: {macs:,} MACs, {measured:,.0f} executed, {100 * off:+.3f} %")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
