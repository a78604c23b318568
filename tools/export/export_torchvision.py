#!/usr/bin/env python3
"""Exports a torchvision model (or a small LSTM) with random weights through the TorchScript exporter, and strips the weights.

Usage: export_torchvision.py resnet50|mobilenet_v3_large|vit_b_16|maskrcnn_resnet50_fpn|lstm [--dynamic] [-o FILE]
Needs: pip install torch torchvision onnx
"""
import argparse

import torch
import torchvision

from strip import strip_weights


class Lstm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.e = torch.nn.Embedding(1000, 64)
        self.r = torch.nn.LSTM(64, 128, num_layers=2, bidirectional=True, batch_first=True)
        self.o = torch.nn.Linear(256, 10)

    def forward(self, ids):
        return self.o(self.r(self.e(ids))[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("-o", "--output", default="model.onnx")
    args = parser.parse_args()
    if args.name == "lstm":
        model, inputs, name, axes = Lstm(), (torch.zeros(2, 20, dtype=torch.int64),), "ids", {0: "batch", 1: "seq"}
    elif args.name.startswith("maskrcnn"):
        model = torchvision.models.detection.maskrcnn_resnet50_fpn(weights=None, weights_backbone=None)
        inputs, name, axes = ([torch.zeros(3, 320, 320)],), "image", {1: "height", 2: "width"}
    else:
        model, inputs, name, axes = torchvision.models.get_model(args.name, weights=None), (torch.zeros(1, 3, 224, 224),), "x", {0: "batch"}
    torch.onnx.export(model.eval(), inputs, args.output, dynamo=False, opset_version=17, input_names=[name],
                      dynamic_axes={name: axes} if args.dynamic else None)
    strip_weights(args.output)


if __name__ == "__main__":
    main()
