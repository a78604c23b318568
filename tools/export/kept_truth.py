#!/usr/bin/env python3
"""What autograd keeps of small modules, and their exports by both exporters.

    kept_truth.py DIRECTORY

Writes DIRECTORY/NAME.ts17.onnx, NAME.dynamo18.onnx and the like, without weights, which are
tests/data/kept_models.tar.xz, and DIRECTORY/kept.json, whose rows are those of
tests/data/kept_truth.json. There, `unlike` (why our figure is another), `unknown`, `above` and
`either` are written by hand.
Measured by torch.autograd.graph.saved_tensors_hooks: the bytes of distinct storages that are saved
in the forward pass; those of parameters and buffers are left out, those of inputs stand apart.
Training mode, batches of 2; dropout is 0 in modules without "drop" in their name.
"""

import json
import os
import pathlib
import sys
import warnings

import onnx
import torch
import torch.nn.functional as F
from torch import nn

import kept_modules
import kept_spellings
import strip

warnings.filterwarnings("ignore")


def x(*shape):
    return torch.randn(*shape)


class Fn(nn.Module):
    """A function of a linear layer's output, so that its input needs a gradient."""

    def __init__(self, fn, width=16, after=None):
        super().__init__()
        self.fn, self.a, self.b = fn, nn.Linear(width, width), nn.Linear(after or width, 4)

    def forward(self, v):
        return self.b(self.fn(self.a(v)))


class ConvFn(nn.Module):
    def __init__(self, inner, channels=8):
        super().__init__()
        self.a, self.inner = nn.Conv2d(3, channels, 3, padding=1), inner

    def forward(self, v):
        return self.inner(self.a(v))


class Attend(nn.Module):
    """Attention by scaled_dot_product_attention."""

    def __init__(self, width=16, heads=2, causal=False, mask=None, packed=False, groups=0):
        super().__init__()
        self.heads, self.causal, self.mask, self.packed = heads, causal, mask, packed
        self.kv_heads = groups or heads
        kv = width // heads * self.kv_heads
        if packed:
            self.qkv = nn.Linear(width, 3 * width)
        else:
            self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, kv), nn.Linear(width, kv)
        self.o = nn.Linear(width, width)

    def split(self, t, heads):
        return t.reshape(t.shape[0], t.shape[1], heads, -1).transpose(1, 2)

    def forward(self, t):
        if self.packed:
            q, k, v = self.qkv(t).chunk(3, dim=-1)
        else:
            q, k, v = self.q(t), self.k(t), self.v(t)
        q, k, v = self.split(q, self.heads), self.split(k, self.kv_heads), self.split(v, self.kv_heads)
        if self.kv_heads != self.heads:
            k = k.repeat_interleave(self.heads // self.kv_heads, 1)
            v = v.repeat_interleave(self.heads // self.kv_heads, 1)
        mask = None
        n = t.shape[1]
        if self.mask == "bool":
            mask = torch.ones(n, n, dtype=torch.bool).tril()
        elif self.mask == "float":
            mask = torch.zeros(n, n)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        return self.o(y.transpose(1, 2).reshape(t.shape))


class Eager(Attend):
    """Attention as products."""

    def forward(self, t):
        if self.packed:
            q, k, v = self.qkv(t).chunk(3, dim=-1)
        else:
            q, k, v = self.q(t), self.k(t), self.v(t)
        q, k, v = (self.split(u, self.heads) for u in (q, k, v))
        s = q @ k.transpose(-2, -1) / (q.shape[-1] ** 0.5)
        if self.mask == "bool":
            s = s.masked_fill(~torch.ones(t.shape[1], t.shape[1], dtype=torch.bool).tril(), -1e9)
        if self.mask == "float":
            s = s + torch.zeros(t.shape[1], t.shape[1])
        return self.o((s.softmax(-1) @ v).transpose(1, 2).reshape(t.shape))


class SelfAttention(nn.Module):
    def __init__(self, need_weights=False, batch_first=True, mask=False):
        super().__init__()
        self.m, self.w, self.mask = nn.MultiheadAttention(16, 2, batch_first=batch_first), need_weights, mask

    def forward(self, t):
        n = t.shape[1] if self.m.batch_first else t.shape[0]
        mask = torch.ones(n, n, dtype=torch.bool).triu(1) if self.mask else None
        return self.m(t, t, t, need_weights=self.w, attn_mask=mask)[0]


class Cross(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, q, k):
        return self.m(q, k, k, need_weights=False)[0]


class RmsByHand(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.g = nn.Parameter(torch.ones(width))

    def forward(self, v):
        return self.g * (v * torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + 1e-6))


class LlamaMlp(nn.Module):
    def __init__(self, act=F.silu):
        super().__init__()
        self.g, self.u, self.d = nn.Linear(16, 40, False), nn.Linear(16, 40, False), nn.Linear(40, 16, False)
        self.act = act

    def forward(self, v):
        return self.d(self.act(self.g(v)) * self.u(v))


class Bag(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.e, self.l = nn.EmbeddingBag(50, 16, mode=mode), nn.Linear(16, 4)

    def forward(self, ids):
        return self.l(self.e(ids))


class Embed(nn.Module):
    def __init__(self, position=False):
        super().__init__()
        self.e, self.p, self.l = nn.Embedding(50, 16), nn.Embedding(12, 16), nn.Linear(16, 50)
        self.position = position

    def forward(self, ids):
        t = self.e(ids)
        if self.position:
            t = t + self.p(torch.arange(ids.shape[1]))
        return self.l(t)


class Rope(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(16, 16, False) for _ in range(3))
        angles = torch.outer(torch.arange(6.0), 1 / 10000 ** (torch.arange(0, 8, 2) / 8))
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos(), False)
        self.register_buffer("sin", angles.sin(), False)

    def turn(self, t):
        a, b = t.chunk(2, -1)
        return t * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, t):
        q, k, v = (l(t).view(*t.shape[:2], 2, 8).transpose(1, 2) for l in (self.q, self.k, self.v))
        q, k = self.turn(q), self.turn(k)
        return ((q @ k.transpose(-2, -1) / 8 ** 0.5).softmax(-1) @ v).transpose(1, 2).reshape(t.shape)


class Block(nn.Module):
    """A block of a GPT."""

    def __init__(self, attention, act=F.gelu, norm=nn.LayerNorm):
        super().__init__()
        self.n1, self.n2, self.attention, self.act = norm(16), norm(16), attention, act
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, t):
        t = t + self.attention(self.n1(t))
        return t + self.down(self.act(self.up(self.n2(t))))


class Bottleneck(nn.Module):
    def __init__(self, norm=nn.BatchNorm2d, act=lambda: nn.ReLU(True)):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.body = nn.Sequential(nn.Conv2d(8, 4, 1, bias=False), norm(4), act(),
                                  nn.Conv2d(4, 8, 3, padding=1, bias=False), norm(8))
        self.act = act()

    def forward(self, v):
        v = self.stem(v)
        return self.act(v + self.body(v))


class SqueezeExcite(nn.Module):
    def __init__(self, act=nn.Sigmoid):
        super().__init__()
        self.a, self.d, self.u, self.act = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 2, 1), nn.Conv2d(2, 8, 1), act()

    def forward(self, v):
        v = self.a(v)
        return v * self.act(self.u(F.relu(self.d(v.mean((2, 3), keepdim=True)))))


class UNet(nn.Module):
    def __init__(self, up):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)
        self.d = nn.Conv2d(8, 2, 1)
        self.up = nn.ConvTranspose2d(4, 4, 2, 2) if up == "conv" else nn.Upsample(scale_factor=2, mode=up)

    def forward(self, v):
        s = F.relu(self.a(v))
        d = F.relu(self.c(F.relu(self.b(F.max_pool2d(s, 2)))))
        return self.d(torch.cat([s, self.up(d)], 1))


class Lstm(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.r, self.l = kind(16, 12, batch_first=True), nn.Linear(12, 4)

    def forward(self, t):
        return self.l(self.r(t)[0])


class ConvNext(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.w = nn.Conv2d(3, 8, 2, 2), nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.n, self.u, self.d = nn.LayerNorm(8), nn.Linear(8, 32), nn.Linear(32, 8)
        self.g = nn.Parameter(torch.ones(8))

    def forward(self, v):
        v = self.a(v)
        y = self.n(self.w(v).permute(0, 2, 3, 1))
        return v + (self.g * self.d(F.gelu(self.u(y)))).permute(0, 3, 1, 2)


class MixerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.t1, self.t2 = nn.LayerNorm(16), nn.Linear(6, 12), nn.Linear(12, 6)
        self.m, self.c1, self.c2 = nn.LayerNorm(16), nn.Linear(16, 24), nn.Linear(24, 16)

    def forward(self, t):
        t = t + self.t2(F.gelu(self.t1(self.n(t).transpose(1, 2)))).transpose(1, 2)
        return t + self.c2(F.gelu(self.c1(self.m(t))))


def modules():
    t, im, ids = x(2, 6, 16), x(2, 3, 8, 8), torch.randint(50, (2, 6))
    fns = {
        "gelu": F.gelu, "gelu_tanh": lambda v: F.gelu(v, approximate="tanh"), "silu": F.silu,
        "mish": F.mish, "elu": F.elu, "selu": F.selu, "celu": F.celu, "softplus": F.softplus,
        "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "hardtanh": F.hardtanh, "relu6": F.relu6,
        "leaky": F.leaky_relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "logsigmoid": F.logsigmoid,
        "softsign": F.softsign, "softmax": lambda v: v.softmax(-1), "log_softmax": lambda v: v.log_softmax(-1),
        "normalize": lambda v: F.normalize(v, dim=-1), "quick_gelu": lambda v: v * torch.sigmoid(1.702 * v),
        "square": lambda v: v ** 2, "cube": lambda v: v ** 3, "abs": torch.abs, "exp": torch.exp,
        "log1p": lambda v: torch.log(1 + v.abs()), "sqrt": lambda v: torch.sqrt(v.abs() + 1),
        "clamp": lambda v: v.clamp(-1, 1), "logsumexp": lambda v: v - v.logsumexp(-1, keepdim=True),
        "var": lambda v: (v - v.mean(-1, keepdim=True)) / (v.var(-1, keepdim=True) + 1e-5).sqrt(),
        "maximum": lambda v: torch.maximum(v, v.flip(-1)), "where": lambda v: torch.where(v > 0, v, v * 2),
        "cumsum": lambda v: v.cumsum(1), "prod_of_two": lambda v: v * v.roll(1, 1), "div": lambda v: v / (1 + v.abs()),
        "sub_mean": lambda v: v - v.mean(1, keepdim=True), "max_over": lambda v: v + v.max(1, keepdim=True)[0],
        "amax_over": lambda v: v + v.amax(1, keepdim=True), "sin": torch.sin, "erf": torch.erf,
        "einsum": lambda v: torch.einsum("bij,bkj->bik", v, v) @ v, "outer": lambda v: (v @ v.transpose(1, 2)) @ v,
        "dropout": lambda v: F.dropout(v, 0.5, True), "instance": lambda v: F.instance_norm(v),
        "relu_square": lambda v: F.relu(v).square(), "masked": lambda v: v.masked_fill(v < 0, 0.0),
        "pad": lambda v: F.pad(v, (0, 0, 1, 1))[:, :6], "norm": lambda v: v / v.norm(dim=-1, keepdim=True),
    }
    for name, fn in fns.items():
        yield "f_" + name, Fn(fn), (t,)
    yield "f_glu", Fn(F.glu, after=8), (t,)
    yield "f_prelu", nn.Sequential(nn.Linear(16, 16), nn.PReLU(), nn.Linear(16, 4)), (t,)
    norms = {
        "bn": nn.BatchNorm2d(8), "gn": nn.GroupNorm(2, 8), "gn1": nn.GroupNorm(1, 8),
        "in": nn.InstanceNorm2d(8), "in_affine": nn.InstanceNorm2d(8, affine=True),
        "lrn": nn.LocalResponseNorm(3), "maxpool": nn.MaxPool2d(2), "avgpool": nn.AvgPool2d(2),
        "gap": nn.AdaptiveAvgPool2d(1), "gmp": nn.AdaptiveMaxPool2d(1), "shuffle": nn.PixelShuffle(2),
        "drop2d": nn.Dropout2d(0.2), "up": nn.Upsample(scale_factor=2), "upb": nn.Upsample(scale_factor=2, mode="bilinear"),
        "deconv": nn.ConvTranspose2d(8, 4, 2, 2), "depthwise": nn.Conv2d(8, 8, 3, groups=8), "softmax2d": nn.Softmax2d(),
        "gn_silu": nn.Sequential(nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 4, 3)),
        "bn_relu_conv": nn.Sequential(nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3)),
        "bn_hswish_conv": nn.Sequential(nn.BatchNorm2d(8), nn.Hardswish(), nn.Conv2d(8, 4, 3)),
    }
    for name, inner in norms.items():
        yield "c_" + name, ConvFn(inner), (im,)
    yield "n_layer", nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16), nn.Linear(16, 4)), (t,)
    yield "n_layer_first", nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 4)), (t,)
    yield "n_layer_plain", nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16, elementwise_affine=False), nn.Linear(16, 4)), (t,)
    yield "n_rms", nn.Sequential(nn.Linear(16, 16), nn.RMSNorm(16), nn.Linear(16, 4)), (t,)
    yield "n_rms_hand", nn.Sequential(nn.Linear(16, 16), RmsByHand(), nn.Linear(16, 4)), (t,)
    yield "n_bn1d", nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(6), nn.Linear(16, 4)), (t,)
    for causal in (False, True):
        yield f"a_sdpa{'_causal' if causal else ''}", Attend(causal=causal), (t,)
    for mask in ("bool", "float"):
        yield "a_sdpa_" + mask, Attend(mask=mask), (t,)
        yield "a_eager_" + mask, Eager(mask=mask), (t,)
    yield "a_sdpa_packed", Attend(packed=True), (t,)
    yield "a_sdpa_gqa", Attend(heads=4, groups=2), (t,)
    yield "a_eager", Eager(), (t,)
    yield "a_eager_packed", Eager(packed=True), (t,)
    yield "a_rope", Rope(), (t,)
    yield "a_mha", SelfAttention(), (t,)
    yield "a_mha_weights", SelfAttention(True), (t,)
    yield "a_mha_seq_first", SelfAttention(batch_first=False), (t,)
    yield "a_mha_mask", SelfAttention(mask=True), (t,)
    yield "a_mha_cross", Cross(), (t, x(2, 5, 16))
    yield "b_encoder", nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True), (t,)
    yield "b_encoder_gelu", nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True), (t,)
    yield "b_encoder_dropout", nn.TransformerEncoderLayer(16, 2, 32, 0.1, batch_first=True), (t,)
    yield "b_decoder", nn.TransformerDecoderLayer(16, 2, 32, 0.0, batch_first=True), (t, x(2, 5, 16))
    yield "b_gpt", Block(Attend(causal=True, packed=True)), (t,)
    yield "b_gpt_eager", Block(Eager(mask="bool", packed=True), lambda v: F.gelu(v, approximate="tanh")), (t,)
    yield "b_rms_gqa", Block(Attend(heads=4, groups=2), F.silu, RmsByHand), (t,)
    yield "b_swiglu", LlamaMlp(), (t,)
    yield "b_geglu", LlamaMlp(F.gelu), (t,)
    yield "b_bottleneck", Bottleneck(), (im,)
    yield "b_bottleneck_silu", Bottleneck(act=nn.SiLU), (im,)
    yield "b_bottleneck_gn", Bottleneck(lambda c: nn.GroupNorm(2, c)), (im,)
    yield "b_se", SqueezeExcite(), (im,)
    yield "b_se_hard", SqueezeExcite(nn.Hardsigmoid), (im,)
    yield "b_unet_nearest", UNet("nearest"), (im,)
    yield "b_unet_bilinear", UNet("bilinear"), (im,)
    yield "b_unet_conv", UNet("conv"), (im,)
    yield "b_convnext", ConvNext(), (im,)
    yield "b_mixer", MixerBlock(), (t,)
    yield "e_bag_sum", Bag("sum"), (ids,)
    yield "e_bag_mean", Bag("mean"), (ids,)
    yield "e_embed", Embed(), (ids,)
    yield "e_embed_position", Embed(True), (ids,)
    yield "r_lstm", Lstm(nn.LSTM), (t,)
    yield "r_gru", Lstm(nn.GRU), (t,)
    yield "r_rnn", Lstm(nn.RNN), (t,)
    yield from kept_modules.more_modules()
    yield from kept_spellings.modules()


def kept(module, inputs, math):
    """Bytes kept, and of these apart the inputs."""
    own = {p.untyped_storage().data_ptr() for p in [*module.parameters(), *module.buffers()]}
    given = {i.untyped_storage().data_ptr() for i in inputs}
    alive, sizes = [], {}

    def pack(tensor):
        alive.append(tensor)  # so that no address is used twice
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    backend = torch.nn.attention.SDPBackend.MATH if math else torch.nn.attention.SDPBackend.FLASH_ATTENTION
    with torch.nn.attention.sdpa_kernel([backend, torch.nn.attention.SDPBackend.MATH] if not math else [backend],
                                        set_priority=not math):
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            result = module(*inputs)
    del result
    return [sum(n for p, n in sizes.items() if p not in own and p not in given),
            sum(n for p, n in sizes.items() if p in given)]


def clean(path):
    """Without weights, and without what names files of the machine that exported."""
    strip.strip_weights(path, 64)
    model = onnx.load(path, load_external_data=False)
    graphs = [model.graph, *model.functions]
    while graphs:
        for node in graphs.pop().node:
            node.ClearField("doc_string")
            kept = [p for p in node.metadata_props if p.key != "pkg.torch.onnx.stack_trace"]
            del node.metadata_props[:]
            node.metadata_props.extend(kept)
            graphs.extend(a.g for a in node.attribute if a.HasField("g"))
    onnx.save(model, path)


def export(module, inputs, path, how, opset):
    """In evaluation mode, as users export; dropout is only there in training mode."""
    training = "drop" in path.name
    module.train(training)
    with open(os.devnull, "w") as nowhere:
        old = os.dup(1), os.dup(2)
        os.dup2(nowhere.fileno(), 1), os.dup2(nowhere.fileno(), 2)
        try:
            if how == "ts":
                torch.onnx.export(module, inputs, path, dynamo=False, opset_version=opset,
                                  training=torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL)
            else:
                torch.onnx.export(module, inputs, path, dynamo=True, opset_version=opset, external_data=False)
        finally:
            os.dup2(old[0], 1), os.dup2(old[1], 2)
            os.close(old[0]), os.close(old[1])


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    only = sys.argv[2:]
    rows = []
    for name, module, inputs in modules():
        if only and name not in only:
            continue
        torch.manual_seed(0)
        module.train()
        math, flash = kept(module, inputs, True), kept(module, inputs, False)
        for how, opset in (("ts", 17), ("dynamo", 18), ("dynamo", 23)):
            if opset == 23 and name[0] not in "abn":
                continue
            if how == "dynamo" and "drop" in name:
                continue  # torch.export leaves dropout out: the file does not tell
            path = out / f"{name}.{how}{opset}.onnx"
            try:
                export(module, inputs, path, how, opset)
            except Exception as e:  # an exporter's limit: there is no file to count
                print(path.name, "no export:", str(e).split("\n")[0][:90])
                continue
            finally:
                module.train()
            clean(path)
            rows.append({"file": path.name, "math": math, "flash": flash})
    (out / "kept.json").write_text(json.dumps(rows, indent=0))
    print(len(rows), "files")


main()
