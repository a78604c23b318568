#!/usr/bin/env python3
"""Exports an open_clip model, image and text, with random weights, and strips the weights.

Usage: export_openclip.py NAME [--dynamo] [--dynamic] [--opset N] [-o FILE]      needs: pip install torch open_clip_torch onnx onnxscript
"""
import argparse

import open_clip
import torch

from strip import strip_weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--dynamo", action="store_true")
    parser.add_argument("--dynamic", action="store_true", help="leave the batch size open")
    parser.add_argument("--opset", type=int)
    parser.add_argument("-o", "--output", default="model.onnx")
    args = parser.parse_args()
    model = open_clip.create_model(args.name, pretrained=None).eval()
    size = model.visual.image_size
    height, width = size if isinstance(size, tuple) else (size, size)
    batch = 2 if args.dynamic and args.dynamo else 1
    inputs = (torch.zeros(batch, 3, height, width), torch.zeros(batch, 77, dtype=torch.int64))
    how = {"dynamo": args.dynamo, "opset_version": args.opset or (20 if args.dynamo else 17), "input_names": ["image", "text"]}
    if args.dynamic and args.dynamo:
        dim = torch.export.Dim("batch")
        how["dynamic_shapes"] = ({0: dim}, {0: dim})
    elif args.dynamic:
        how["dynamic_axes"] = {"image": {0: "batch"}, "text": {0: "batch"}}
    torch.onnx.export(model, inputs, args.output, **how)
    strip_weights(args.output)


if __name__ == "__main__":
    main()
