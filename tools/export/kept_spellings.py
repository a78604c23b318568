"""More modules for kept_truth.py: functions with several spellings in models, and functions that
exporters write as other operators than autograd sees."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from kept_modules import Made, heads, merge, par, qkv, scores, split, x


def between(fn, width=16, after=None):
    """A function of a linear layer's output."""
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


def gru_from(m, t):
    return m.o(m.r(m.a(t), torch.tanh(m.h(t[:, 0]))[None])[0])


def masked_twice(m, t, mask):
    v = m.a(t) * mask.unsqueeze(-1).to(t.dtype)
    return m.b(v) * mask.unsqueeze(-1).to(t.dtype)


def buckets(m, t):
    p = torch.arange(t.shape[1])
    places = (p[None] - p[:, None]).clamp(-3, 3) + 3
    v = m.a(t)
    return m.b(torch.softmax(v @ v.transpose(1, 2) + m.e(places).squeeze(-1), -1) @ v)


def mask_for_batch(m, t):
    q, n = m.a(t)[:, None], t.shape[1]
    mask = torch.ones(n, n, dtype=torch.bool).tril().expand(t.shape[0], 1, n, n)
    return m.b(F.scaled_dot_product_attention(q, q, q, attn_mask=mask)[:, 0])


def two_types(m, ids):
    """As BERT: places are a buffer, and types are made."""
    return m.o(m.e(ids) + m.p(m.position_ids[:, :6]) + m.t(torch.zeros_like(ids)))


def after_two(m, ids):
    """As OPT and BART: places begin at 2."""
    return m.o(m.e(ids) + m.p(torch.arange(6)[None] + 2))


class StandardConv(nn.Conv2d):
    """As BiT's and timm's."""

    def forward(self, v):
        w = F.batch_norm(self.weight.reshape(1, self.out_channels, -1), None, None, training=True)
        return F.conv2d(v, w.reshape_as(self.weight), self.bias, self.stride, self.padding)


def each_mask(m, t):
    """Each layer makes its mask anew."""
    v = m.a(t)
    for _ in range(2):
        v = (v @ v.transpose(1, 2)).masked_fill(~torch.ones(6, 6, dtype=torch.bool).tril(), -1e9).softmax(-1) @ v
    return m.b(v)


def filled(m, t):
    v = m.a(t)
    return m.b((v @ v.transpose(1, 2)).masked_fill(m.mask[:6, :6] == 0, float("-inf")).softmax(-1) @ v)


def moving(m, t):
    v = m.a(t)
    return m.b(torch.sigmoid(m.g) * v + (1 - torch.sigmoid(m.g)) * v.mean(1, keepdim=True))


def grouped_for_export(m, t):
    """As transformers: a mask and repeated keys in an export, neither otherwise."""
    q, k, v = heads(m.q(t), 4), heads(m.k(t)), heads(m.v(t))
    if not (torch.onnx.is_in_onnx_export() or torch.compiler.is_exporting()):
        return m.o(merge(F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)))
    k, v = (u[:, :, None].expand(2, 2, 2, 6, 4).reshape(2, 4, 6, 4) for u in (k, v))
    mask = torch.ones(6, 6, dtype=torch.bool).tril().expand(2, 1, 6, 6)
    return m.o(merge(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)))


def folded():
    """Values that exporters computed from parameters or constants."""
    t, im, ids = x(2, 6, 16), x(2, 3, 8, 8), torch.randint(30, (2, 6))
    l, c, e = nn.Linear, nn.Conv2d, nn.Embedding
    yield "n_weight_groups", Made(lambda m, v: m.b(F.gelu(m.a(v))), a=weight_norm(nn.Conv1d(8, 8, 4, groups=2), dim=2), b=nn.Conv1d(8, 4, 1)), (x(2, 8, 12),)
    yield "n_standard_conv", nn.Sequential(c(3, 8, 1), StandardConv(8, 8, 3), nn.ReLU(), StandardConv(8, 4, 1)), (im,)
    yield "n_moving", Made(moving, a=l(16, 16), b=l(16, 4), g=par(16)), (t,)
    yield "e_two_types", Made(two_types, e=e(30, 16), p=e(12, 16), t=e(2, 16), o=l(16, 4), position_ids=torch.arange(12)[None]), (ids,)
    yield "e_after_two", Made(after_two, e=e(30, 16), p=e(12, 16), o=l(16, 4)), (ids,)
    yield "a_each_mask", Made(each_mask, a=l(16, 16), b=l(16, 4)), (t,)
    yield "a_filled", Made(filled, a=l(16, 16), b=l(16, 4), mask=torch.ones(8, 8).tril()), (t,)
    yield "a_grouped_for_export", Made(grouped_for_export, **qkv(8)), (t,)
    yield "c_pool_to_three", nn.Sequential(c(3, 4, 1), nn.AdaptiveAvgPool2d(3), c(4, 2, 1)), (im,)
    yield "c_gn_each", nn.Sequential(c(3, 4, 1), nn.GroupNorm(4, 4), c(4, 2, 1)), (im,)
    yield "c_relu6_in_place", nn.Sequential(c(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU6(True), c(8, 4, 1)), (im,)
    yield "f_threshold_module", nn.Sequential(l(16, 16), nn.Threshold(0.1, 0.0), l(16, 4)), (t,)
    yield "f_hardshrink_module", nn.Sequential(l(16, 16), nn.Hardshrink(), l(16, 4)), (t,)
    yield "f_one_over", *between(lambda v: 1.0 / (v.abs() + 1))


def later():
    t, l = x(2, 6, 16), nn.Linear
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    read = lambda m, t: m.l(m.r(t)[0])
    yield "r_gru_two_ways", Made(read, r=nn.GRU(16, 8, 2, batch_first=True, bidirectional=True), l=l(16, 4)), (t,)
    yield "r_gru_in_order", Made(read, r=nn.GRU(16, 8), l=l(8, 4)), (x(6, 2, 16),)
    yield "r_gru_from", Made(gru_from, a=l(16, 16), h=l(16, 8), r=nn.GRU(16, 8, batch_first=True), o=l(8, 4)), (t,)
    yield "m_masked_twice", Made(masked_twice, a=l(16, 16), b=l(16, 4)), (t, mask)
    yield "e_buckets", Made(buckets, a=l(16, 16), b=l(16, 4), e=nn.Embedding(7, 1)), (t,)
    yield "a_mask_for_batch", Made(mask_for_batch, a=l(16, 16), b=l(16, 4)), (t,)


def one_key_head(m, t):
    q, k, v = heads(m.q(t)), heads(m.k(t), 1), heads(m.v(t), 1)
    k, v = (u[:, :, None].expand(2, 1, 2, 6, 8).reshape(2, 2, 6, 8) for u in (k, v))
    return m.o(merge(F.scaled_dot_product_attention(q, k, v)))


def frozen_norm(m, v):
    scale = m.w * (m.var + 1e-5).rsqrt()
    return m.b(m.a(v) * scale.view(1, -1, 1, 1) + (m.h - m.mean * scale).view(1, -1, 1, 1))


def slice_set(m, t):
    v = m.a(t)
    u = v * 2
    u[:, :2] = v[:, :2].tanh()
    return m.b(u * v)


def index_fill(m, t):
    v = m.a(t)
    return m.b(v.index_fill(1, m.i, 0.0) * v)


def joined():
    """Calls that exporters write as one operator, or as parts of one."""
    t, im = x(2, 6, 16), x(2, 3, 8, 8)
    l, c = nn.Linear, nn.Conv2d
    ab, labels = dict(a=l(16, 16), b=l(16, 4)), torch.randint(4, (2, 6))
    yield "n_layer_gemma", Made(lambda m, t: m.b(F.layer_norm(m.a(t), (16,), 1 + m.g, m.h)), g=par(16), h=par(16), **ab), (t,)
    yield "a_one_key_head", Made(one_key_head, **qkv(8)), (t,)
    yield "c_same_even", nn.Sequential(c(3, 4, 1), c(4, 4, 4, padding="same")), (im,)
    yield "c_pad_norm", Made(lambda m, v: m.b(F.relu6(m.n(m.c(F.pad(m.a(v), (0, 1, 0, 1)))))), a=c(3, 4, 1), c=c(4, 8, 3, 2, bias=False),
                             n=nn.BatchNorm2d(8), b=c(8, 4, 1)), (im,)
    yield "c_pad_twice", Made(lambda m, v: m.b(F.pad(m.a(v), (1, 1, 1, 1))), a=c(3, 4, 1), b=c(4, 4, 3, padding=1)), (im,)
    yield "c_blur", Made(lambda m, v: m.b(F.conv2d(m.a(v), m.k, padding=1, groups=4)), a=c(3, 4, 1), b=c(4, 4, 1), k=torch.ones(4, 1, 3, 3) / 9), (im,)
    yield "c_frozen_norm", Made(frozen_norm, a=c(3, 4, 1), b=c(4, 4, 1), w=x(4), h=x(4), mean=x(4), var=x(4).abs()), (im,)
    yield "r_rnn_two_ways", Made(lambda m, t: m.l(m.r(t)[0]), r=nn.RNN(16, 8, batch_first=True, bidirectional=True), l=l(16, 4)), (t,)
    yield "l_cross_entropy_2d", Made(lambda m, t, y: F.cross_entropy(m.a(t).transpose(1, 2), y), a=l(16, 4)), (t, labels)
    yield "l_smoothed", Made(lambda m, t, y: F.cross_entropy(m.a(t).view(-1, 4), y.view(-1), label_smoothing=0.1), a=l(16, 4)), (t, labels)
    yield "l_cosine_of_two", Made(lambda m, t: F.cosine_similarity(m.a(t), m.b(t), dim=-1), a=l(16, 8), b=l(16, 8)), (t,)
    yield "g_slice_set", Made(slice_set, **ab), (t,)
    yield "g_index_fill", Made(index_fill, i=torch.tensor([0, 2]), **ab), (t,)
    yield "f_distance", *between(lambda v: F.pairwise_distance(v, v.flip(1)), 16, 6)
    fns = {
        "lerp": lambda v: torch.lerp(v, v.flip(1), torch.sigmoid(v)), "lerp_number": lambda v: torch.lerp(v, v.tanh(), 0.3),
        "log_sigmoid": F.logsigmoid, "exp2": torch.exp2, "norm_of_three": lambda v: v / v.norm(p=3, dim=-1, keepdim=True),
        "amax": lambda v: v - v.amax(-1, keepdim=True), "max_of_axis": lambda v: v - v.max(-1, keepdim=True)[0],
        "max_of_all": lambda v: v - v.max(), "times_places": lambda v: v * v.argmax(-1, keepdim=True),
    }
    for name, fn in fns.items():
        yield "f_" + name, *between(fn)


def modules():
    for group in (activations, attentions, others, later, folded, joined):
        yield from group()
