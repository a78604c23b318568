#!/usr/bin/env python3
"""Runs the changed examples of variants_test by ONNX Runtime and writes down the shapes that come out, or that it refuses them.

Usage: ONNXFLOPS_VARIANTS=/tmp/variants build/tests/onnxflops_tests variants_test; variants.py /tmp/variants [-o tests/data/variants.txt]
       needs: pip install onnx onnxruntime numpy

A line of the file is "PLACE; PLACE: OUTCOME" below "## EXAMPLE"; "PLACE; PLACE: OUTCOME | OURS" where this project finds another outcome.
"-: N" says that there are N more, which the runtime does not run as they are, has no kernel for on a CPU, or ends from.
"""
import argparse
import base64
import collections
import concurrent.futures.process
import multiprocessing
import re
import signal

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper


HEAD = """# Examples changed in one place, and the shapes that come out or that they are refused, by onnxruntime {}: written by
# tools/export/variants.py, read by tests/ops/variants_test.cc. After " | " stands what comes out here where it is something else:
# - a size that the data decides is "?" here;
# - a shape that the runtime reads as a flat list, a bias of any rank say, is taken as it is written;
# - inputs that are too many, left out or of a wrong rank matter here only where a shape or a cost is read from them, for graphs of newer
#   opsets, and of exporters that are not strict, are to be counted all the same;
# - numbers that only run time sees, an index beyond its axis say, are checked where they are stored;
# - kernels of the runtime lack what the operator has: a rank, a mode, a broadcast;
# - the runtime runs an operator of com.ms.internal.nhwc that has a function by it, as if the channels came first.
# Behind a comma stands that the cost of a node is not known. "-" is how many more there are, which the runtime has no kernel for on a CPU,
# or ends from.
"""


def array(value, rng):
    dtype, shape = value.type.tensor_type.elem_type, [d.dim_value for d in value.type.tensor_type.shape.dim]
    if dtype == TensorProto.STRING:
        return np.full(shape, "a bc", dtype=object)
    target = helper.tensor_dtype_to_np_dtype(dtype)
    if np.issubdtype(target, np.floating):
        return np.asarray(rng.random(shape) + 0.1).astype(target)
    return np.asarray(rng.integers(0, 2, shape)).astype(target)


def text_of(output, known):
    """Sizes, a type but float32, and the content of a small tensor that does not depend on inputs."""
    if not isinstance(output, np.ndarray):
        return "?"
    text = "x".join(map(str, output.shape)) or "scalar"
    if output.dtype != np.float32:
        text += ":string" if output.dtype == object else f":{output.dtype}"
    if known and output.dtype != object and 0 < output.size <= 24:
        text += "=" + ",".join(f"{v:.5g}" if np.issubdtype(output.dtype, np.floating) else str(int(v)) for v in output.ravel())
    return text


def outcome(text):
    """The runtime's result for a model. The process ends after some seconds."""
    signal.alarm(5)
    model = onnx.load_from_string(base64.b64decode(text))
    rng = np.random.default_rng(1)
    given = {t.name for t in model.graph.initializer}
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        feeds = {v.name: array(v, rng) for v in model.graph.input if v.name not in given}
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        feeds = {k: v for k, v in feeds.items() if k in {i.name for i in session.get_inputs()}}
        outputs = session.run(None, feeds)
    except Exception:  # whatever the runtime says
        return "refused"
    return " ".join(text_of(o, known=not feeds) for o in outputs)


def outcomes(texts):
    """The results of all; None for one that ends the process."""
    done = []
    while len(done) < len(texts):
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
            try:
                for text in texts[len(done) :]:
                    done.append(pool.submit(outcome, text).result())
            except concurrent.futures.process.BrokenProcessPool:
                done.append(None)
    return done


def write(out, example, lines):
    """Places that share an outcome share a line. `lines`: (place, ours, theirs or None)."""
    places, other = collections.defaultdict(list), 0
    for place, ours, theirs in lines:
        if theirs:
            places[theirs if ours == theirs else f"{theirs} | {ours}"].append(place)
        else:
            other += 1
    out.write(f"\n## {example}\n")
    out.writelines(f"{'; '.join(where)}: {what}\n" for what, where in places.items())
    if other:
        out.write(f"-: {other}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("variants")
    parser.add_argument("-o", "--output", default="tests/data/variants.txt")
    args = parser.parse_args()
    examples = collections.defaultdict(list)
    with open(args.variants, encoding="utf-8") as file:
        for line in file:
            example, place, ours, text = line.rstrip("\n").split("\t")
            examples[example].append((place, ours, text))
    with open(args.output, "w", encoding="utf-8") as out:
        out.write(HEAD.format(onnxruntime.__version__))
        for example, variants in examples.items():
            found = outcomes([text for *_, text in variants])
            if found[0] in ("refused", None):
                found = [None] * len(variants)
            lines = []
            for (place, ours, _), theirs in zip(variants, found):
                if theirs and "=" not in ours:  # contents that are not followed
                    theirs = re.sub(r"=\S+", "", theirs)
                lines.append((place, ours, theirs))
            write(out, example, lines)


if __name__ == "__main__":
    main()
