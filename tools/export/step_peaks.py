#!/usr/bin/env python3
"""Peaks of training steps of small models, and their exports.

    step_peaks.py DIRECTORY

Writes DIRECTORY/NAME.onnx, without weights, and DIRECTORY/steps.json: rows of
tests/data/step_memory.json, which says how they are measured. Frozen parameters are buffers, since
MemTracker wants a gradient of every parameter.
"""

import copy
import json
import os
import pathlib
import sys
import warnings

import onnx
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed._tools.mem_tracker import MemTracker
from torch.utils.checkpoint import checkpoint

import strip

warnings.filterwarnings("ignore")


class Stack(nn.Module):
    def __init__(self, stem, blocks, head):
        super().__init__()
        self.stem, self.blocks, self.head, self.recompute = stem, nn.ModuleList(blocks), head, False

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)
        return self.head(x)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.qkv, self.o, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        p = (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1)
        return self.o((p @ v).transpose(1, 2).reshape(b, n, d))


class VitBlock(nn.Module):
    def __init__(self, width, heads, act=nn.GELU):
        super().__init__()
        self.n1, self.a, self.n2 = nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width)
        self.m = nn.Sequential(nn.Linear(width, 4 * width), act(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.a(self.n1(x))
        return x + self.m(self.n2(x))


class Residual(nn.Module):
    def __init__(self, c, norm, act):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(c, c, 3, padding=1, bias=False), norm(c), act(),
                               nn.Conv2d(c, c, 3, padding=1, bias=False), norm(c))
        self.act = act()

    def forward(self, x):
        return self.act(x + self.f(x))


class Mixer(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.n, self.m = nn.LayerNorm(d), nn.LayerNorm(d)
        self.t = nn.Sequential(nn.Linear(n, 2 * n), nn.GELU(), nn.Linear(2 * n, n))
        self.c = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = x + self.t(self.n(x).transpose(1, 2)).transpose(1, 2)
        return x + self.c(self.m(x))


class Rms(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return self.w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Swiglu(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g, self.u, self.d = nn.Linear(d, 3 * d, False), nn.Linear(d, 3 * d, False), nn.Linear(3 * d, d, False)
        self.n = nn.LayerNorm(d)

    def forward(self, x):
        y = self.n(x)
        return x + self.d(F.silu(self.g(y)) * self.u(y))


def encoder(d, count, act="relu", first=False):
    layers = [nn.TransformerEncoderLayer(d, 4, 2 * d, 0.0, act, batch_first=True, norm_first=first) for _ in range(count)]
    return Stack(nn.Identity(), layers, nn.Linear(d, 10))


def models():
    t, image = torch.randn(2, 24, 64), torch.randn(2, 3, 32, 32)
    pooled = lambda c: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 10))
    stack = lambda blocks: Stack(nn.Linear(64, 64), blocks, nn.Linear(64, 10))
    layer = lambda *inner: nn.Sequential(*inner)
    yield "encoder", encoder(64, 3), t
    yield "encoder_first", encoder(64, 2, "gelu", True), torch.randn(4, 40, 64)
    yield "encoder_long", encoder(32, 2), torch.randn(2, 96, 32)
    for name, act in (("tanh", nn.Tanh), ("gelu", nn.GELU), ("silu", nn.SiLU), ("relu", nn.ReLU)):
        blocks = [layer(nn.Linear(96, 96), act()) for _ in range(3)]
        yield "mlp_" + name, Stack(nn.Linear(64, 96), blocks, nn.Linear(96, 10)), torch.randn(512, 64)
    yield "vit_tanh", stack([VitBlock(64, 4, nn.Tanh) for _ in range(2)]), t
    yield "vit_long", Stack(nn.Linear(32, 32), [VitBlock(32, 2) for _ in range(2)], nn.Linear(32, 10)), torch.randn(2, 128, 32)
    for name, norm, act in (("bn", nn.BatchNorm2d, nn.ReLU), ("gn", lambda c: nn.GroupNorm(4, c), nn.SiLU)):
        yield "residual_" + name, Stack(nn.Conv2d(3, 16, 3, padding=1), [Residual(16, norm, act) for _ in range(2)], pooled(16)), image
    yield "mixer", stack([Mixer(24, 64) for _ in range(3)]), t
    yield "swiglu", stack([Swiglu(64) for _ in range(3)]), t
    yield "rms", stack([layer(Rms(64), nn.Linear(64, 64)) for _ in range(3)]), t


def freeze(model, prefixes):
    for name, module in model.named_modules():
        if not name.startswith(prefixes):
            continue
        for key, value in list(module._parameters.items()):
            if value is not None:
                delattr(module, key)
                module.register_buffer(key, value.detach().clone())


def measure(model, x, optimizer, prefixes, recompute):
    model = copy.deepcopy(model).train()
    params = sum(p.numel() for p in model.parameters())
    model.recompute = recompute
    freeze(model, tuple(prefixes) or ("-",))
    make = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[optimizer]
    trained = list(model.parameters())
    steps = make(trained, foreach=False)
    model(x).sum().backward()
    steps.step()
    steps.zero_grad(set_to_none=True)
    tracker = MemTracker()
    tracker.track_external(model, steps, x)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), tracker:
        out = model(x)
        loss = out.sum()
        loss.backward()
        by = next(iter(tracker.get_tracker_snapshot("peak").values()))
    row = {"peak_bytes": by["Total"], "by": {"Optstate": next(int(v) for k, v in by.items() if str(k).endswith("OPT"))},
           "params": params, "trained": sum(p.numel() for p in trained)}
    return row | ({"frozen": list(prefixes)} if prefixes else {})


def export(model, x, path):
    with open(os.devnull, "w") as nowhere:
        old = os.dup(1), os.dup(2)
        os.dup2(nowhere.fileno(), 1), os.dup2(nowhere.fileno(), 2)
        try:
            torch.onnx.export(model.eval(), (x,), path, dynamo=True, optimize=False, external_data=False)
        finally:
            os.dup2(old[0], 1), os.dup2(old[1], 2)
    strip.strip_weights(path, 64)
    file = onnx.load(path, load_external_data=False)
    for node in file.graph.node:
        kept = [p for p in node.metadata_props if p.key != "pkg.torch.onnx.stack_trace"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(file, path)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    rows = {}
    for name, model, x in models():
        torch.manual_seed(0)
        for recompute in (False, True):
            of = rows.setdefault(name + ("_recompute" if recompute else ""), {})
            for optimizer in ("adamw", "sgd"):
                of[f"{optimizer}, sum"] = measure(model, x, optimizer, (), recompute)
            of["sgd, sum, frozen"] = measure(model, x, "sgd", ("stem", "blocks.0"), recompute)
        export(model, x, out / f"{name}.onnx")
    (out / "steps.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
