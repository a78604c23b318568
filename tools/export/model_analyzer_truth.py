#!/usr/bin/env python3
"""What OpenVINO's Model Analyzer counts of exported models, on the IR that OpenVINO's converter makes of them.

Usage: model_analyzer_truth.py export OUT          writes OUT/NAME.onnx with weights       needs: torch, torchvision, timm, transformers
       model_analyzer_truth.py ask OUT TOOL JSON   adds the tool's figures to JSON, by the installed version of openvino
       model_analyzer_truth.py strip OUT           takes the weights out

TOOL is a checkout of openvinotoolkit/model_analyzer at d9fe351, which needs openvino 2026.4. An older openvino converts the models too: run `ask` with
it first, and it leaves OUT/NAME.VERSION.xml, which the tool can read when 2026.4 is installed. Weights are random; those with one axis are never 0 or 1
throughout, since the converter drops such sums and factors.
"""
import glob
import json
import logging
import os
import sys


def randomize(model):
    for name, buffer in model.named_buffers():
        if "running_mean" in name:
            buffer.normal_(0, 0.1)
        elif "running_var" in name:
            buffer.uniform_(0.5, 1.5)
        elif name.endswith(("weight", "bias")):  # of FrozenBatchNorm2d
            buffer.uniform_(0.1, 1)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data.uniform_(0.1, 1)
    return model.eval()


def models():
    import timm
    import torch
    import torchvision.models as tv
    import transformers as hf

    class Heads(torch.nn.Module):
        """A detector up to its boxes, without what sorts them."""
        def __init__(self):
            super().__init__()
            self.model = tv.detection.retinanet_resnet50_fpn(weights=None, weights_backbone=None)

        def forward(self, x):
            found = self.model.head(list(self.model.backbone(x).values()))
            return found["cls_logits"], found["bbox_regression"]

    class First(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, x):
            return self.model(x)[0]

    def bert():
        config = hf.BertConfig(num_hidden_layers=2, hidden_size=256, num_attention_heads=4, intermediate_size=1024)
        return First(hf.BertModel._from_config(config, attn_implementation="eager"))

    def clip():
        config = hf.CLIPVisionConfig(num_hidden_layers=2, hidden_size=256, num_attention_heads=4, intermediate_size=1024)
        return First(hf.CLIPVisionModel._from_config(config, attn_implementation="eager"))

    image = torch.randn(1, 3, 224, 224)
    swin, tokens = "swin_tiny_patch4_window7_224", torch.randint(0, 1000, (1, 64))
    return {
        "resnet18": (tv.resnet18, image, {}), "resnet18_norms": (tv.resnet18, image, {"training": torch.onnx.TrainingMode.PRESERVE}),
        "resnet50": (tv.resnet50, image, {}), "mobilenet_v2": (tv.mobilenet_v2, image, {}), "mobilenet_v3_large": (tv.mobilenet_v3_large, image, {}),
        "densenet121": (tv.densenet121, image, {}), "shufflenet_v2": (tv.shufflenet_v2_x1_0, image, {}), "squeezenet": (tv.squeezenet1_1, image, {}),
        "inception_v3": (lambda: tv.inception_v3(init_weights=False), torch.randn(1, 3, 299, 299), {}), "convnext_tiny": (tv.convnext_tiny, image, {}),
        "efficientnet_b0": (lambda: timm.create_model("efficientnet_b0"), image, {}), "regnetx_032": (lambda: timm.create_model("regnetx_032"), image, {}),
        "mixer_b16": (lambda: timm.create_model("mixer_b16_224"), image, {}), "deit_tiny": (lambda: timm.create_model("deit_tiny_patch16_224"), image, {}),
        "swin_tiny": (lambda: timm.create_model(swin), image, {}), "swin_tiny_11": (lambda: timm.create_model(swin), image, {"opset_version": 11}),
        "retinanet_heads": (Heads, torch.randn(1, 3, 320, 320), {}), "bert": (bert, tokens, {}), "clip_vision": (clip, image, {}),
    }


def export(out):
    import torch
    torch.manual_seed(0)
    for name, (make, given, options) in models().items():
        path = os.path.join(out, f"{name}.onnx")
        if not os.path.exists(path):
            with torch.no_grad():
                torch.onnx.export(randomize(make()), (given,), path, dynamo=False, input_names=["x"], **{"opset_version": 17, **options})


def total(tool, path):
    sys.path.insert(0, tool)
    from pathlib import Path
    from model_analyzer.model_complexity import ModelComputationalComplexity
    from model_analyzer.model_metadata import ModelMetaData
    complexity = ModelComputationalComplexity(ModelMetaData(Path(path), Path(path).with_suffix(".bin")))
    flops, integer = complexity.get_total_ops()
    assert integer == 0
    return round(flops * 1e9)


def ask(out, tool, found):
    import openvino
    logging.disable(logging.WARNING)
    version = openvino.__version__.split(".")
    version = ".".join(version[:2])
    for path in sorted(glob.glob(os.path.join(out, "*.onnx"))):
        converted = f"{path[:-5]}.{version}.xml"
        if not os.path.exists(converted):
            openvino.save_model(openvino.convert_model(path), converted, compress_to_fp16=False)
    if int(version.split(".")[0]) < 2026:
        return  # the tool imports what came later
    figures = {}
    for path in sorted(glob.glob(os.path.join(out, "*.xml"))):
        name, year, month, _ = os.path.basename(path).split(".")
        figures.setdefault(name, {})[f"{year}.{month}"] = total(tool, path)
    with open(found, "w") as file:
        rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(figures[name])}" for name in sorted(figures))
        file.write('{\n  "how": "tools/export/model_analyzer_truth.py",\n  "tool": "openvinotoolkit/model_analyzer d9fe351",\n'
                   '  "flops": {\n' + rows + "\n  }\n}\n")


def strip(out):
    from strip import strip_weights
    for path in glob.glob(os.path.join(out, "*.onnx")):
        strip_weights(path, limit=16)


if __name__ == "__main__":
    {"export": export, "ask": ask, "strip": strip}[sys.argv[1]](*sys.argv[2:])
