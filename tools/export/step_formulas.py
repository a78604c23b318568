#!/usr/bin/env python3
"""Peaks of training steps around one formula each: what its derivative makes on its way is in them.

    step_formulas.py DIRECTORY

Writes DIRECTORY/NAME.onnx, without weights, and DIRECTORY/formulas.json: rows of tests/data/step_memory.json,
with the formula, which stands between two linear layers. Of `a` and `b`, both are layers.
"""

import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

import step_peaks

ONE = {
    "abs": "torch.abs(a)", "asin": "torch.asin(torch.tanh(a))", "asinh": "torch.asinh(a)", "atan": "torch.atan(a)",
    "atanh": "torch.atanh(torch.tanh(a) * 0.9)", "celu": "F.celu(a)", "clamp": "a.clamp(-1, 1)", "clamp_min": "a.clamp(min=0.1)",
    "cosh": "torch.cosh(a)", "cube": "a**3", "cumsum": "torch.cumsum(a, 1)", "elu": "F.elu(a)", "erf": "torch.erf(a)", "exp": "torch.exp(a)",
    "expm1": "torch.expm1(a)", "flip": "a.flip(1)",
    "gather": "torch.gather(a, 1, torch.zeros(8, 48, 256, dtype=torch.long))", "gelu_tanh": "F.gelu(a, approximate='tanh')",
    "glu": "F.glu(torch.cat([a, a], -1))", "hardswish": "F.hardswish(a)", "hardtanh": "F.hardtanh(a)",
    "index": "a[torch.arange(8)]", "index_select": "a.index_select(1, torch.arange(0, 48))", "layer_norm": "F.layer_norm(a, (256,))",
    "layer_norm_by_hand": "(a - a.mean(-1, keepdim=True)) / (a.std(-1, keepdim=True) + 1e-5)", "leaky_relu": "F.leaky_relu(a)",
    "log10": "torch.log10(a * a + 1)", "log1p": "torch.log1p(a * a)", "log2": "torch.log2(a * a + 1)", "log_softmax": "a.log_softmax(-1)",
    "logsumexp": "a - torch.logsumexp(a, -1, keepdim=True)", "max_dim": "a - a.max(-1, keepdim=True).values",
    "max_min": "a.max(1, keepdim=True).values + a.amin(1, keepdim=True)", "mish": "F.mish(a)",
    "norm_1": "a / a.norm(1, -1, keepdim=True)", "norm_2": "a * a.norm(2, -1, keepdim=True)", "normalize": "F.normalize(a, dim=-1)",
    "pad_circular": "F.pad(a, (1, 1), mode='circular')[..., :256]",
    "prod": "a * torch.sigmoid(a).prod(-1, keepdim=True)", "reciprocal": "torch.reciprocal(a * a + 1)", "relu6": "F.relu6(a)",
    "rms_by_hand": "a / torch.sqrt((a * a).mean(-1, keepdim=True) + 1e-6)", "rms_norm": "F.rms_norm(a, (256,))",
    "root": "(a * a + 1) ** 0.25", "rsqrt": "torch.rsqrt(a * a + 1)", "selu": "F.selu(a)", "sign": "a * torch.sign(a)", "silu": "F.silu(a)",
    "sin": "torch.sin(a) + torch.cos(a)", "sinh": "torch.sinh(a)", "softmax": "a.softmax(-1)", "softplus": "F.softplus(a)",
    "softsign": "F.softsign(a)", "sort": "a.sort(-1).values", "sqrt": "torch.sqrt(a.abs() + 1)", "square": "torch.square(a)",
    "tan": "torch.tan(a)", "tanhshrink": "F.tanhshrink(a)", "unfold": "F.unfold(a.unsqueeze(1), 1).view(8, 48, 256)",
    "var": "a * torch.var(a, -1, keepdim=True)",
}
TWO = {
    "addcmul": "torch.addcmul(a, a, b)", "atan2": "torch.atan2(a, b)", "attention": "(a @ b.transpose(1, 2)).softmax(-1) @ b", "cosine": "a * F.cosine_similarity(a, b, -1).unsqueeze(-1)",
    "div": "a / (b * b + 1)",
    "fmod": "torch.fmod(a, b * b + 1)", "gate": "torch.tanh(a) * torch.sigmoid(b)",
    "gate_of_rows": "a.mean(-1, keepdim=True) * b", "lerp": "torch.lerp(a, b, 0.3)",
    "lerp_tensor": "torch.lerp(a, b, a.sigmoid())", "logaddexp": "torch.logaddexp(a, b)", "maximum": "torch.maximum(a, b)",
    "minimum": "torch.minimum(a, b)", "mse": "(a - b) ** 2", "pow": "(a * a + 1) ** b", "prelu": "F.prelu(a, b.mean((0, 2)))", "where": "torch.where(a > b, a, b)",
}


class Formula(nn.Module):
    def __init__(self, text, two):
        super().__init__()
        self.recompute = False
        self.a, self.b = nn.Linear(64, 256), nn.Linear(64, 256) if two else None
        self.last = nn.Linear(256, 64)
        self.of = eval(f"lambda a, b: {text}", {"torch": torch, "F": F})  # a formula of the table above

    def forward(self, x):
        return self.last(self.of(self.a(x), None if self.b is None else self.b(x)))


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    rows = {}
    for two, table in ((False, ONE), (True, TWO)):
        for name, text in table.items():
            torch.manual_seed(0)
            x = torch.randn(8, 48, 64)
            model = Formula(text, two)
            row = step_peaks.measure(model, x, "adamw", (), False)
            rows["formula_" + name] = {"adamw, sum": {"formula": text, **row}}
            step_peaks.export(model, x, out / f"formula_{name}.onnx")
    (out / "formulas.json").write_text(json.dumps(rows, indent=1))


main()
