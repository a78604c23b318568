#!/usr/bin/env python3
"""What TensorFlow Lite's converter estimates for the parts of Stable Diffusion 1.4 and 1.5, as KerasCV has them, and what their graphs consist of. Writes
FOLDER/tflite_parts.json. FOLDER/NAME.tflite and FOLDER/NAME.log stay, and a part that has both is not converted again. The converter prints no estimate of
some graphs: "estimate" is null.

  tools/export/tflite_parts.py FOLDER [NAME...]     (Python 3.11, tensorflow-cpu 2.12.1, keras 2.12.0; keras-cv 0.4.2 and tensorflow-datasets 4.9.2, with
                                                     tensorflow-metadata 1.14.0; 12 GB of memory, half an hour)

The U-Net is in two parts, since a file of TensorFlow Lite has 2 GB at most: the first ends at the first layer by which more than half of the weights are
passed, as freedomtan/keras_cv_stable_diffusion_to_tflite does it. Weights are random, and none is 0: a bias of zeros would be left out of the graph.
"""
import collections
import contextlib
import io
import json
import math
import os
import re
import subprocess
import sys

NAMES = ["text_encoder", "sd_diffusion_1", "sd_diffusion_2", "vae_decoder"]
ESTIMATE = re.compile(r"Estimated count of arithmetic ops: (\S+ \S)\s+ops, equivalently (\S+ \S)\s+MACs")
OPERATOR = re.compile(r"\s+Op#\d+ (\w+)\((.*)\) -> \[(.*)\]")
TENSOR = re.compile(r"\s+T#(\d+)\(.*?\)(?: shape:\[([\d, ]*)\])?")


def weights_of(layer):
    return sum(math.prod(weight.shape) for weight in layer.weights)


def inputs_of(layer):
    return layer.input if isinstance(layer.input, list) else [layer.input]


def half_of(unet, first):
    """One of the two halves of a U-Net."""
    from tensorflow import keras

    total, passed, before = sum(map(weights_of, unet.layers)), 0, []
    for layer in unet.layers:
        before.append(layer.name)
        passed += weights_of(layer)
        if passed > total / 2:
            break
    between = {}
    for layer in unet.layers[len(before):]:
        for tensor in inputs_of(layer):
            if tensor.node.layer.name in before:
                between.setdefault(tensor.node.layer.name, tensor)
    between = list(between.values())
    return keras.Model(unet.inputs, between) if first else keras.Model(between, unet.outputs)


def build(name):
    from keras_cv.models.stable_diffusion.decoder import Decoder
    from keras_cv.models.stable_diffusion.diffusion_model import DiffusionModel
    from keras_cv.models.stable_diffusion.text_encoder import TextEncoder

    if name == "text_encoder":
        return TextEncoder(77, download_weights=False)
    if name == "vae_decoder":
        return Decoder(512, 512, download_weights=False)
    return half_of(DiffusionModel(512, 512, 77, download_weights=False), name == NAMES[1])


def convert(name, folder):
    """In a process of its own, whose log has the estimate."""
    import numpy as np
    import tensorflow as tf

    model = build(name)
    print("params", model.count_params(), file=sys.stderr, flush=True)
    for weight in model.weights:
        if weight.numpy().flat[0] in (0, 1):
            weight.assign(np.random.uniform(0.5, 1.5, weight.shape).astype("float32"))
    specs = [tf.TensorSpec([1, *tensor.shape[1:]], tensor.dtype, name=f"input_{i}") for i, tensor in enumerate(model.inputs)]
    call = tf.function(lambda *inputs: model(list(inputs) if len(inputs) > 1 else inputs[0]))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([call.get_concrete_function(*specs)], model)
    made = converter.convert()
    with open(f"{folder}/{name}.tflite", "wb") as file:
        file.write(made)


def graph_of(path):
    """Operators as (name, inputs, outputs), and the shapes of tensors, as TensorFlow's own analyzer prints them."""
    import tensorflow as tf

    with contextlib.redirect_stdout(io.StringIO()) as text:
        tf.lite.experimental.Analyzer.analyze(model_path=path)
    operators, shapes = [], {}
    for line in text.getvalue().splitlines():
        if found := OPERATOR.match(line):
            operators.append((found[1], re.findall(r"T#(-?\d+)", found[2]), re.findall(r"T#(\d+)", found[3])))
        elif found := TENSOR.match(line):
            shapes[found[1]] = [int(size) for size in (found[2] or "").split(",") if size.strip()]
    return operators, shapes


def counts_of(path):
    """By operator: nodes, elements of results, multiply-accumulates, and additions of a bias."""
    operators, shapes = graph_of(path)
    counts = collections.defaultdict(lambda: {"nodes": 0, "elements": 0, "macs": 0, "biases": 0})
    for name, inputs, outputs in operators:
        shape = shapes[outputs[0]]
        count = counts[name]
        count["nodes"] += 1
        count["elements"] += math.prod(shape)
        if name in ("FULLY_CONNECTED", "CONV_2D"):
            count["macs"] += math.prod(shapes[inputs[1]]) * math.prod(shape[:-1])
            count["biases"] += math.prod(shape) if inputs[2] != "-1" else 0
        elif "CONV" in name or "MATMUL" in name:
            raise SystemExit(f"tflite_parts.py: {name} is not counted")
    return {name: counts[name] for name in sorted(counts)}


def main():
    folder, names = sys.argv[1], sys.argv[2:] or NAMES
    os.makedirs(folder, exist_ok=True)
    if "--convert" in names:
        return convert(names[1], folder)
    parts = {}
    for name in names:
        log = f"{folder}/{name}.log"
        if not (os.path.exists(log) and os.path.exists(f"{folder}/{name}.tflite")):
            with open(log, "w", encoding="utf-8") as file:
                subprocess.run([sys.executable, __file__, folder, "--convert", name], stdout=file, stderr=file, check=True)
        with open(log, encoding="utf-8") as file:
            text = file.read()
        printed = ESTIMATE.search(text)
        params = int(re.search(r"params (\d+)", text)[1])
        parts[name] = {"params": params, "estimate": printed and {"ops": printed[1], "macs": printed[2]}, "operators": counts_of(f"{folder}/{name}.tflite")}
        print(name, params, parts[name]["estimate"], flush=True)
    how = "TensorFlow 2.12.1's converter and analyzer on KerasCV 0.4.2's Stable Diffusion at 512 x 512, a batch of 1; see tools/export/tflite_parts.py"
    lines = [f' "{name}": ' + json.dumps(part) for name, part in parts.items()]
    with open(f"{folder}/tflite_parts.json", "w", encoding="utf-8") as file:
        file.write('{"how": ' + json.dumps(how) + ',\n"parts": {\n' + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main()
