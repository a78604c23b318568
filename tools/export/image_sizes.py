#!/usr/bin/env python3
"""Exports models at several image sizes each, without weights: what `count --at-image` is held to.

Usage: image_sizes.py FOLDER
Writes NAME.EXPORTER.HEIGHTxWIDTH.onnx; EXPORTER is ts (TorchScript, opset 17) or dy (dynamo, opset 20).
Needs: pip install torch torchvision open_clip_torch transformers onnx onnxscript
"""
import os
import sys

import onnx
import torch
import torch.nn.functional as F
import torchvision
from open_clip.transformer import VisionTransformer
from torch import nn
from transformers import ViTConfig, ViTModel

from strip import strip_weights


class Wrapped(nn.Module):
    def __init__(self, call, **modules):
        super().__init__()
        self.call = call
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, *x):
        return self.call(self, *x)


def transformers_vit(h, w, interpolate=False):
    config = ViTConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2, image_size=(224, 224) if interpolate else (h, w), patch_size=16)
    return Wrapped(lambda s, x: s.m(pixel_values=x, interpolate_pos_encoding=interpolate).pooler_output, m=ViTModel(config))


def fpn(how):
    def call(s, x):
        a = s.a(x)
        b = s.b(a)
        up = {"size": b.shape[-2:]} if how == "size" else {"scale_factor": 2.0}
        b = b + F.interpolate(s.c(b), **up)
        up = {"size": a.shape[-2:]} if how == "size" else {"scale_factor": 2.0}
        return s.d(a + F.interpolate(b, **up))

    return Wrapped(call, a=nn.Conv2d(3, 8, 3, 4, 1), b=nn.Conv2d(8, 8, 3, 2, 1), c=nn.Conv2d(8, 8, 3, 2, 1), d=nn.Conv2d(8, 5, 1))


def same(s, x):
    """TensorFlow's padding, whose amount depends on the size: at 225 both sides have 1, at 224 one side has."""
    for conv in (s.a, s.b):
        pads = [max((-(-n // 2) - 1) * 2 + 3 - n, 0) for n in x.shape[-2:]]
        x = conv(F.pad(x, [pads[1] // 2, pads[1] - pads[1] // 2, pads[0] // 2, pads[0] - pads[0] // 2]))
    return x.mean((2, 3))


def tokens(x):
    return x.flatten(2).transpose(1, 2)


def positions_of_points(s, x):
    """The middle of each cell, as detectors add it to what they predict."""
    maps = [conv(x) for conv in (s.a, s.b)]
    points = []
    for y, step in zip(maps, (8, 16)):
        rows, columns = torch.meshgrid(torch.arange(y.shape[-2]) + 0.5, torch.arange(y.shape[-1]) + 0.5, indexing="ij")
        points.append(torch.stack([columns, rows]).view(2, -1) * step)
    y = torch.cat([y.view(1, 6, -1) for y in maps], 2)
    return torch.cat([y[:, :2] + torch.cat(points, 1)[None], y[:, 2:].sigmoid()], 1)


def patches(call, **modules):
    return lambda h, w: Wrapped(call, a=nn.Conv2d(3, 16, 16, 16), b=nn.Linear(16, 8), **modules)


MODELS = {
    "vit": lambda h, w: torchvision.models.VisionTransformer(image_size=h, patch_size=16, num_layers=2, num_heads=2, hidden_dim=64, mlp_dim=128, num_classes=10) if h == w and h % 16 == 0 else None,
    "clip": lambda h, w: VisionTransformer(image_size=(h, w), patch_size=16, width=64, layers=2, heads=2, mlp_ratio=2.0, output_dim=32),
    "transformers": transformers_vit,
    "interpolated": lambda h, w: transformers_vit(h, w, True),
    "resnet": lambda h, w: torchvision.models.ResNet(torchvision.models.resnet.BasicBlock, [1, 1, 1, 1]),
    "convnext": lambda h, w: torchvision.models.ConvNeXt([torchvision.models.convnext.CNBlockConfig(16, 32, 1), torchvision.models.convnext.CNBlockConfig(32, None, 1)]),
    "swin": lambda h, w: torchvision.models.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [7, 7], num_classes=10),
    "vgg": lambda h, w: Wrapped(lambda s, x: s.f(s.p(s.a(x)).flatten(1)), a=nn.Conv2d(3, 8, 3, 32, 1), p=nn.AdaptiveAvgPool2d(7), f=nn.Linear(392, 10)),
    "adaptive": lambda h, w: Wrapped(lambda s, x: s.b(s.p(s.a(x))).mean((2, 3)), a=nn.Conv2d(3, 8, 3, 8, 1), p=nn.AdaptiveAvgPool2d(7), b=nn.Conv2d(8, 4, 1)),
    "flat": lambda h, w: Wrapped(lambda s, x: s.f(s.p(s.a(x)).flatten(1)), a=nn.Conv2d(3, 8, 3, 2, 1), p=nn.MaxPool2d(8, 8), f=nn.Linear(8 * (h // 16) * (w // 16), 10)),
    "fpn_scale": lambda h, w: fpn("scale") if h % 16 == 0 else None,
    "fpn_size": lambda h, w: fpn("size"),
    "same": lambda h, w: Wrapped(same, a=nn.Conv2d(3, 8, 3, 2), b=nn.Conv2d(8, 8, 3, 2)),
    "global": lambda h, w: Wrapped(lambda s, x: s.b(F.avg_pool2d(s.a(x), s.a(x).shape[-2:])), a=nn.Conv2d(3, 8, 32, 32), b=nn.Conv2d(8, 4, 1)),
    "columns": lambda h, w: Wrapped(lambda s, x: s.o(s.r(s.a(x).mean(2).transpose(1, 2))[0]), a=nn.Conv2d(3, 8, 16, 16), r=nn.LSTM(8, 16, batch_first=True), o=nn.Linear(16, 10)),
    "points": lambda h, w: Wrapped(positions_of_points, a=nn.Conv2d(3, 6, 8, 8), b=nn.Conv2d(3, 6, 16, 16)),
    "normalised": lambda h, w: Wrapped(lambda s, x: s.n(s.a(x)).mean((2, 3)), a=nn.Conv2d(3, 8, 16, 16), n=nn.LayerNorm([8, h // 16, w // 16])),
    "map": lambda h, w: Wrapped(lambda s, x: s.c(tokens(s.a(x)).transpose(1, 2).reshape(1, 8, h // 16, w // 16)).mean((2, 3)), a=nn.Conv2d(3, 8, 16, 16), c=nn.Conv2d(8, 4, 3, 1, 1)),
    "mixer": lambda h, w: Wrapped(lambda s, x: s.t(s.a(x).flatten(2)).mean(2), a=nn.Conv2d(3, 8, 16, 16), t=nn.Linear(h // 16 * (w // 16), 8)),
    "half": patches(lambda s, x: s.b(tokens(s.a(x))[:, : tokens(s.a(x)).shape[1] // 2]).mean(1)),
    "rest": patches(lambda s, x: s.b(tokens(s.a(x))[:, 1:]).mean(1)),
    "topk": patches(lambda s, x: s.b(torch.topk(tokens(s.a(x)), tokens(s.a(x)).shape[1] // 2, 1)[0]).mean(1)),
    "roll": patches(lambda s, x: s.b(torch.roll(tokens(s.a(x)), tokens(s.a(x)).shape[1] // 2, 1)).mean(1)),
    "every_second": patches(lambda s, x: s.b(tokens(s.a(x))[:, torch.arange(0, tokens(s.a(x)).shape[1], 2)]).mean(1)),
    "windows": patches(lambda s, x: s.b(F.pad(s.a(x), (0, -s.a(x).shape[3] % 5, 0, -s.a(x).shape[2] % 5)).permute(0, 2, 3, 1)).mean((1, 2))),
    "channels_last": lambda h, w: Wrapped(lambda s, x: s.f(s.a(x.permute(0, 3, 1, 2)).mean((2, 3))), a=nn.Conv2d(3, 8, 3, 2, 1), f=nn.Linear(8, 4)),
    "two_images": lambda h, w: Wrapped(lambda s, x, y: s.a(torch.cat([x, y], 1)).mean((2, 3)), a=nn.Conv2d(4, 8, 3, 2, 1)),
}
SIZES = ((224, 224), (336, 336), (336, 224), (225, 225))


def inputs_of(name, h, w):
    if name == "channels_last":
        return (torch.zeros(1, h, w, 3),)
    image = torch.zeros(1, 3, h, w)
    return (image, torch.zeros(1, 1, h, w)) if name == "two_images" else (image,)


def drop_traces(path):
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        kept = [p for p in node.metadata_props if p.key in ("pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(model, path)


def main():
    folder = sys.argv[1]
    torch.backends.mha.set_fastpath_enabled(False)
    for name, make in MODELS.items():
        for h, w in SIZES[:2] if name == "swin" else SIZES:  # a large file
            model = make(h, w)
            for exporter, options in (("ts", {"dynamo": False, "opset_version": 17}), ("dy", {"dynamo": True, "opset_version": 20, "external_data": False, "verbose": False})):
                path = f"{folder}/{name}.{exporter}.{h}x{w}.onnx"
                if model is None or os.path.exists(path):
                    continue
                inputs = inputs_of(name, h, w)
                try:
                    with torch.no_grad():
                        torch.onnx.export(model.eval(), inputs, path, input_names=["image", "mask"][: len(inputs)], **options)
                except torch.onnx.errors.SymbolicValueError as error:  # TorchScript's exporter of an adaptive pooling whose windows differ
                    print(f"{path}: {error}".splitlines()[0][:200])
                    continue
                strip_weights(path)
                drop_traces(path)


if __name__ == "__main__":
    main()
