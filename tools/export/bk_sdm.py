#!/usr/bin/env python3
"""What thop counts in the parts of Stable Diffusion 1.4 and BK-SDM at 512 x 512, as their authors asked it. Writes FOLDER/figures.json, and the parts as
FOLDER/NAME.onnx, without weights.

  PYTHONPATH=... python3 tools/export/bk_sdm.py FOLDER      (torch 2.15.0, transformers 5.24.0, diffusers 0.42.1, thop 0.1.1.post2209072238, onnxscript, onnxflops)

Configurations are those of the U-Nets that Nota AI publishes. The package onnxflops exports modules on the device meta; it counts nothing here.
"""
import json
import os
import re
import sys

import diffusers
import onnx
import thop
import torch

from onnxflops import _torch as exporter
from real_calls import CLIP_L, SD15_UNET, VAE, clip_text

FEWER = {**SD15_UNET, "layers_per_block": 1}
NO_MIDDLE = {**FEWER, "mid_block_type": None}
THREE = {"block_out_channels": [320, 640, 1280], "down_block_types": ["CrossAttnDownBlock2D"] * 3, "up_block_types": ["CrossAttnUpBlock2D"] * 3}
UNETS = {"unet_sd14": SD15_UNET, "unet_base": FEWER, "unet_small": NO_MIDDLE, "unet_tiny": {**NO_MIDDLE, **THREE}}

PACKAGE = re.compile(r'File "/[^"]*/(?=(?:torch|diffusers|transformers)/)')


def parts():
    yield "text_encoder", lambda: clip_text(CLIP_L), lambda: (torch.zeros(1, 77, dtype=torch.long),)
    yield "vae_decoder", lambda: diffusers.AutoencoderKL(**VAE, latent_channels=4, sample_size=512).decoder, lambda: (torch.zeros(1, 4, 64, 64),)
    for name, config in UNETS.items():
        yield name, lambda config=config: diffusers.UNet2DConditionModel(**config), lambda: (torch.zeros(1, 4, 64, 64), torch.zeros(1), torch.zeros(1, 77, 768))


def slim(model):
    """Without what no reader of the file needs, and without the folders of this machine."""
    for node in model.graph.node:
        for entry in node.metadata_props:
            entry.value = PACKAGE.sub(r'File "', entry.value)
    for tensor in model.graph.initializer:
        del tensor.external_data[2:]  # offset and length
    del model.graph.value_info[:]
    del model.graph.metadata_props[:]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    figures = {}
    for name, make, inputs in parts():
        with torch.device("meta"):
            module, given = make().eval(), inputs()
        with torch.no_grad(), exporter._quiet(), exporter._fake(module):
            program = exporter.to_onnx(module, inputs(), None, None)
        model = onnx.load_from_string(exporter._without_weights(program.model))
        slim(model)
        onnx.save(model, f"{folder}/{name}.onnx")
        params = sum(tensor.numel() for tensor in module.parameters())
        with torch.no_grad():  # the last, since thop changes the module
            figures[name] = {"params": params, "thop": int(thop.profile(module, inputs=given, verbose=False)[0])}
        print(name, figures[name], flush=True)
    version = torch.__version__.split("+")[0]
    how = f"thop 0.1.1.post2209072238, torch {version}, diffusers {diffusers.__version__}, on the device meta; see tools/export/bk_sdm.py"
    with open(f"{folder}/figures.json", "w", encoding="utf-8") as file:
        file.write(json.dumps({"how": how, "parts": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
