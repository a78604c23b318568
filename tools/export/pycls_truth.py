#!/usr/bin/env python3
"""What pycls counts in its models, and exports of them, without weights. Writes FOLDER/NAME.KIND.onnx and FOLDER/figures.json.

  PYTHONPATH=DIR python3 tools/export/pycls_truth.py DIR FOLDER      (torch 2.15.0, onnxscript, and what pycls needs: yacs, iopath, simplejson, submitit)

DIR is facebookresearch/pycls at 5719de6. Figures are those of net.complexity(): flops, params and acts.
"""
import importlib.metadata
import json
import os
import sys

import torch
from pycls.core import builders, net
from pycls.core.config import cfg, load_cfg, reset_cfg
from pycls.models.vit import ViT
from pytorchcv_truth import export

# Configurations of DIR/configs.
MODELS = {"regnetx_200mf": "dds_baselines/regnetx/RegNetX-200MF_dds_8gpu", "regnety_200mf": "dds_baselines/regnety/RegNetY-200MF_dds_8gpu",
          "resnext_50": "dds_baselines/resnext/X-50-32x4d_dds_8gpu", "resnet_50": "dds_baselines/resnet/R-50-1x64d_dds_8gpu",
          "efficientnet_b0": "dds_baselines/effnet/EN-B0_dds_8gpu", "cifar_resnet_56": "archive/cifar/resnet/R-56_nds_1gpu",
          "cifar_vgg_56": "archive/cifar/anynet/V-56_nds_1gpu"}
# The library has no configuration of a ViT: small ones, with both stems and both classifiers.
VITS = {"vit_patchify": {"stem_type": "patchify", "cls_type": "token"}, "vit_conv": {"stem_type": "conv", "cls_type": "pooled"}}
VIT = {"image_size": 224, "patch_size": 16, "c_stem_kernels": [3, 3, 3, 3, 1], "c_stem_strides": [2, 2, 2, 2, 1], "c_stem_dims": [24, 48, 96, 192, 192],
       "n_layers": 2, "n_heads": 3, "hidden_d": 192, "mlp_d": 768, "num_classes": 1000}


def models(source):
    for name, path in MODELS.items():
        reset_cfg()
        load_cfg(f"{source}/configs/{path}.yaml")
        yield name, builders.build_model().eval(), net.complexity(builders.get_model()), cfg.TRAIN.IM_SIZE
    for name, params in VITS.items():
        reset_cfg()
        cfg.VIT.PATCH_SIZE = VIT["patch_size"]
        params = {**VIT, **params}
        side = params["image_size"]
        counted = ViT.complexity({"h": side, "w": side, "flops": 0, "params": 0, "acts": 0}, params)
        yield name, ViT(params).eval(), {key: counted[key] for key in ("flops", "params", "acts")}, side


def main():
    source, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    figures = {}
    for name, module, counted, side in models(source):
        assert counted["params"] == sum(parameter.numel() for parameter in module.parameters()), name
        for kind in ("dynamo", "plain", "ts") if name in ("regnety_200mf", "vit_conv") else ("dynamo",):
            export(module, torch.zeros(1, 3, side, side), f"{folder}/{name}.{kind}.onnx", kind)
        figures[name] = {key: int(value) for key, value in counted.items()}
        print(name, figures[name], flush=True)
    how = f"net.complexity() of facebookresearch/pycls at 5719de6, torch {importlib.metadata.version('torch').partition('+')[0]}; see tools/export/pycls_truth.py"
    with open(f"{folder}/figures.json", "w", encoding="utf-8") as file:
        file.write(json.dumps({"how": how, "models": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
