#!/usr/bin/env python3
"""What measure_model of osmr/imgclsmob counts in models of pytorchcv and torchvision, and exports of them, without weights. Writes FOLDER/NAME.KIND.onnx
and FOLDER/figures.json; models that FOLDER has are not made again.

  PYTHONPATH=DIR python3 tools/export/pytorchcv_truth.py FOLDER [NAME...]      (torch 2.15.0, torchvision 0.29.2, pytorchcv 0.0.74, onnxscript)

DIR holds model_stats.py of the folder pytorch of osmr/imgclsmob, at c1a844dd. Figures are FLOPs, of which the zoo publishes half. "none": it raises.
"""
import importlib.metadata
import json
import os
import re
import sys

import onnx
import torch
import torchvision

from strip import strip_weights

# Names, and the sides of their images.
PYTORCHCV = {"alexnet": 224, "resnet10": 224, "squeezenet_v1_1": 224, "mobilenet_wd4": 224, "mobilenetv3_small_w7d20": 224, "efficientnet_b0": 224,
             "igcv3_wd4": 224, "seresnet10": 224, "darknet_tiny": 224, "preresnet20_cifar10": 32, "densenet40_k12_cifar10": 32, "dicenet_wd5": 224,
             "rir_cifar10": 32, "bninception": 224, "fishnet99": 224, "mnasnet_small": 224, "diaresnet20_cifar10": 32, "wrn20_10_1bit_cifar10": 32,
             "lwopenpose2d_mobilenet_cmupan_coco": 256, "espcnet_cityscapes": 224, "irevnet301": 224}
TORCHVISION = {"alexnet": 224, "resnet18": 224, "vgg11": 224, "vgg11_bn": 224, "squeezenet1_1": 224, "mobilenet_v2": 224, "shufflenet_v2_x0_5": 224,
               "mnasnet0_5": 224, "regnet_y_400mf": 224, "googlenet": 224, "densenet121": 224, "mobilenet_v3_small": 224, "efficientnet_b0": 224,
               "vit_b_32": 224, "convnext_tiny": 224, "swin_t": 224}
BOTH = ("alexnet", "resnet10", "seresnet10", "mobilenet_wd4", "darknet_tiny", "efficientnet_b0", "tv_resnet18", "tv_vgg11", "tv_mobilenet_v2", "tv_efficientnet_b0")  # also as TorchScript
# Also before the exporter's optimiser, which takes BatchNorms into convolutions and drops calls.
PLAIN = ("bninception", "fishnet99", "irevnet301", "lwopenpose2d_mobilenet_cmupan_coco", "diaresnet20_cifar10", "efficientnet_b0", "mobilenetv3_small_w7d20",
         "dicenet_wd5", "espcnet_cityscapes", "tv_vgg11_bn", "tv_resnet18", "tv_googlenet")

PACKAGE = re.compile(r'File "/[^"]*/(?=(?:torch|torchvision|pytorchcv)/)')


def models():
    from pytorchcv.model_provider import get_model
    for name, side in PYTORCHCV.items():
        aux = {"aux": False} if name.endswith("cityscapes") else {}
        yield name, (lambda name=name, aux=aux: get_model(name, **aux)), side
    for name, side in TORCHVISION.items():
        aux = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
        yield "tv_" + name, (lambda name=name, aux=aux: getattr(torchvision.models, name)(**aux)), side


def kinds_of(name):
    return ("dynamo", *(["plain"] if name in PLAIN else []), *(["ts"] if name in BOTH else []))


def export(module, image, path, kind):
    with torch.no_grad():
        if kind != "ts":
            torch.onnx.export(module, (image,), path, opset_version=20, dynamo=True, external_data=False, optimize=kind == "dynamo")
        else:
            torch.onnx.export(module, (image,), path, opset_version=17, dynamo=False)
    strip_weights(path, limit=8)
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        for entry in node.metadata_props:
            entry.value = PACKAGE.sub(r'File "', entry.value)
    del model.graph.value_info[:]
    del model.metadata_props[:]
    onnx.save(model, path)


def measured(module, image):
    from model_stats import measure_model
    try:
        flops, _, params = measure_model(module, [tuple(image.shape)])
        return {"flops": int(flops), "params": int(params)}
    except (AssertionError, TypeError) as error:
        return {"flops": "none", "error": f"{type(error).__name__}: {error}"}


def main():
    folder, wanted = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    kept = f"{folder}/figures.json"
    figures = {}
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as file:
            figures = json.load(file)["models"]
    how = ", ".join(f"{package} {importlib.metadata.version(package).partition('+')[0]}" for package in ("torch", "torchvision", "pytorchcv"))
    for name, make, side in models():
        is_done = name in figures and all(os.path.exists(f"{folder}/{name}.{kind}.onnx") for kind in kinds_of(name))
        if is_done or (wanted and name not in wanted):
            continue
        try:
            module, image = make().eval(), torch.zeros(1, 3, side, side)
            for kind in kinds_of(name):
                if not os.path.exists(f"{folder}/{name}.{kind}.onnx"):
                    export(module, image, f"{folder}/{name}.{kind}.onnx", kind)
            figures[name] = measured(module, image)
        except Exception as error:  # it does not export, or its package is another
            print(name, type(error).__name__, str(error)[:300], flush=True)
            continue
        print(name, figures[name], flush=True)
        with open(kept, "w", encoding="utf-8") as file:
            how_made = f"measure_model of osmr/imgclsmob at c1a844dd, {how}; see tools/export/pytorchcv_truth.py"
            file.write(json.dumps({"how": how_made, "models": dict(sorted(figures.items()))}, indent=1) + "\n")


if __name__ == "__main__":
    main()
