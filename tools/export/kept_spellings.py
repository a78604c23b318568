"""More modules for kept_truth.py: what has one name in PyTorch and several spellings in models, and
what exporters write as other operators than autograd sees."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from kept_modules import Made, heads, merge, par, qkv, scores, split, x


def between(fn, width=16, after=None):
    """A function of what a linear layer gives."""
    return Made(lambda m, t: m.b(fn(m.a(t))), a=nn.Linear(16, width), b=nn.Linear(after or width, 4)), (x(2, 6, 16),)


class Swish(nn.Module):
    def forward(self, v):
        return v * torch.sigmoid(v)


def activations():
    fns = {
        "silu_by_hand": lambda v: v.sigmoid() * v, "mish_by_hand": lambda v: v * torch.tanh(F.softplus(v)),
        "gelu_by_hand": lambda v: v * 0.5 * (1.0 + torch.erf(v / 2 ** 0.5)), "maximum_number": lambda v: torch.maximum(v, torch.tensor(0.0)),
        "max_zeros": lambda v: torch.max(v, torch.zeros_like(v)), "threshold": lambda v: F.threshold(v, 0.1, 0.0),
        "softshrink": F.softshrink, "hardshrink": F.hardshrink, "expm1": torch.expm1, "atan2": lambda v: torch.atan2(v, v.abs() + 1),
        "std": lambda v: v / v.std(-1, keepdim=True), "variance": lambda v: v - v.var(-1, keepdim=True, unbiased=False),
        "standardize": lambda v: (v - v.mean(1, keepdim=True)) / v.std(1, keepdim=True),
    }
    for name, fn in fns.items():
        yield "f_" + name, *between(fn)
    yield "f_glu_by_hand", *between(lambda v: (lambda p: p[0] * torch.sigmoid(p[1]))(v.chunk(2, -1)), 16, 8)
    yield "f_silu_module", nn.Sequential(nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 4)), (x(2, 6, 16),)
    yield "f_mish_module", nn.Sequential(nn.Linear(16, 16), nn.Mish(), nn.Linear(16, 4)), (x(2, 6, 16),)
    yield "f_glu_module", nn.Sequential(nn.Linear(16, 16), nn.GLU(), nn.Linear(8, 4)), (x(2, 6, 16),)
    yield "f_swish_module", nn.Sequential(nn.Linear(16, 16), Swish(), nn.Linear(16, 4)), (x(2, 6, 16),)
    yield "c_leaky_in_place", nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.LeakyReLU(0.1, True), nn.Conv2d(8, 4, 1)), (x(2, 3, 8, 8),)


def halves(u):
    a, b = u.chunk(2, -1)
    return torch.cat([-b, a], -1)


def rope_half(m, t):
    cos, sin = m.cos[None, None, :6], m.sin[None, None, :6]
    q, k, v = split(m, t)
    q, k = q * cos + halves(q) * sin, k * cos + halves(k) * sin
    return m.o(merge(F.scaled_dot_product_attention(q, k, v, is_causal=True)))


def rope_positions(m, t, at):
    """Rows of tables that are buffers, as transformers had it."""
    cos, sin = m.cos[at][:, None], m.sin[at][:, None]
    q, k, v = split(m, t)
    q, k = q * cos + halves(q) * sin, k * cos + halves(k) * sin
    return m.o(merge(F.scaled_dot_product_attention(q, k, v, is_causal=True)))


def gqa_expand(m, t):
    """As LLaMA's repeat_kv."""
    q, k, v = heads(m.q(t), 4), heads(m.k(t)), heads(m.v(t))
    k, v = (u[:, :, None].expand(2, 2, 2, 6, 4).reshape(2, 4, 6, 4) for u in (k, v))
    return m.o(merge(F.scaled_dot_product_attention(q, k, v, is_causal=True)))


def gqa_group(m, t):
    """Keys and values are spread by the product."""
    q, k, v = heads(m.q(t), 4).reshape(2, 2, 2, 6, 4), heads(m.k(t))[:, :, None], heads(m.v(t))[:, :, None]
    y = (q @ k.transpose(-2, -1) * 0.5).softmax(-1) @ v
    return m.o(merge(y.reshape(2, 4, 6, 4)))


def t5(m, t):
    q, k, v = split(m, t)
    at = torch.arange(6)
    bias = m.table((at[None] - at[:, None]).clamp(-3, 3) + 3).permute(2, 0, 1)[None]
    return m.o(merge((q @ k.transpose(3, 2) + bias).softmax(-1) @ v))


def two_way(m, t):
    """Scores that both products of einsum copy."""
    q, k, v = split(m, t)
    s = torch.einsum("bhid,bhjd->bhij", q, k).softmax(-1)
    return m.o(torch.einsum("bhij,bhjd->bihd", s, v).reshape(2, 6, 16))


def attentions():
    t = x(2, 6, 16)
    angles = torch.outer(torch.arange(8.0), 1 / 10000 ** (torch.arange(0, 8, 2) / 8))
    angles = torch.cat([angles, angles], -1)
    tables = dict(cos=angles.cos(), sin=angles.sin())
    padding = torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0]]) == 0
    yield "a_rope_half", Made(rope_half, **qkv(**tables)), (t,)
    yield "a_rope_positions", Made(rope_positions, **qkv(**tables)), (t, torch.arange(6)[None])
    yield "a_gqa_expand", Made(gqa_expand, **qkv(8)), (t,)
    yield "a_gqa_group", Made(gqa_group, **qkv(8)), (t,)
    yield "a_t5", Made(t5, **qkv(table=nn.Embedding(7, 2))), (t,)
    yield "a_two_way", Made(two_way, **qkv()), (t,)
    yield "a_mha_padding", Made(lambda m, t, p: m.a(t, t, t, key_padding_mask=p, need_weights=False)[0],
                                a=nn.MultiheadAttention(16, 2, batch_first=True)), (t, padding)
    yield "a_sdpa_drop", Made(lambda m, t: m.o(merge(F.scaled_dot_product_attention(*split(m, t), dropout_p=0.1))), **qkv()), (t,)


def gemma(m, t):
    v = m.a(t)
    return m.b(v * torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + 1e-6) * (1.0 + m.g))


def clip_text(m, ids):
    v = m.n(m.e(ids) + m.p)
    return v[torch.arange(2), ids.argmax(-1)] @ m.w


def dlrm(m, d, a, b):
    v = torch.stack([F.relu(m.d(d)), m.ea(a), m.eb(b)], 1)
    z = v @ v.transpose(1, 2)
    i, j = torch.tril_indices(3, 3, -1)
    return m.t(torch.cat([v[:, 0], z[:, i, j]], 1))


def gem(m, v):
    v = F.adaptive_avg_pool2d(m.a(v).clamp(min=1e-6).pow(m.p), 1)
    return m.l(v.pow(1.0 / m.p).flatten(1))


def others():
    t, im, ids = x(2, 6, 16), x(2, 3, 8, 8), torch.randint(30, (2, 6))
    l, c = nn.Linear, nn.Conv2d
    yield "n_rms_gemma", Made(gemma, a=l(16, 16), b=l(16, 4), g=par(16)), (t,)
    yield "n_gate_of_one", Made(lambda m, t: t + torch.tanh(m.g) * m.b(F.relu(m.a(t))), a=l(16, 16), b=l(16, 16), g=par(1)), (t,)
    yield "n_weight_conv", Made(lambda m, v: m.b(F.relu(m.a(v))), a=weight_norm(c(3, 8, 3)), b=c(8, 4, 1)), (im,)
    yield "c_gem", Made(gem, a=c(3, 8, 1), l=l(8, 4), p=nn.Parameter(torch.ones(1) * 3)), (im,)
    yield "c_zero_pad", nn.Sequential(c(3, 4, 1), nn.ZeroPad2d(1), c(4, 4, 3)), (im,)
    yield "c_causal", Made(lambda m, v: m.b(F.relu(m.a(F.pad(v, (2, 0))))), a=nn.Conv1d(4, 8, 3), b=nn.Conv1d(8, 2, 1)), (x(2, 4, 10),)
    yield "e_clip_text", Made(clip_text, e=nn.Embedding(30, 16), p=par(6, 16), n=nn.LayerNorm(16), w=par(16, 8)), (ids,)
    yield "e_dlrm", Made(dlrm, d=l(5, 8), ea=nn.Embedding(10, 8), eb=nn.Embedding(10, 8), t=l(11, 1)), (x(4, 5), torch.randint(10, (4,)), torch.randint(10, (4,)))
    yield "m_groups", Made(lambda m, t: (m.a(t).view(2, 6, 4, 1, 4) @ m.w).flatten(2), a=l(16, 16), w=par(4, 4, 4)), (t,)
    yield "m_stop", Made(lambda m, t: (lambda v: m.b(v * v.sigmoid().detach()))(m.a(t)), a=l(16, 16), b=l(16, 4)), (t,)
    yield "r_rnn_two", Made(lambda m, t: m.l(m.r(t)[0]), r=nn.RNN(16, 8, 2, batch_first=True), l=l(8, 4)), (t,)
    yield "r_rnn_in_order", Made(lambda m, t: m.l(m.r(t)[0]), r=nn.RNN(16, 8), l=l(8, 4)), (x(6, 2, 16),)


def modules():
    for group in (activations, attentions, others):
        yield from group()
