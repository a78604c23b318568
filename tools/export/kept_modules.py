"""More modules for kept_truth.py: those that were written to find what our figures get wrong."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


def x(*shape):
    return torch.randn(*shape)


class Made(nn.Module):
    """A module of parts, and a function of them and of the inputs."""

    def __init__(self, fn, **parts):
        super().__init__()
        self.fn = fn
        for name, part in parts.items():
            if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)

    def forward(self, *inputs):
        return self.fn(self, *inputs)


def par(*shape):
    return nn.Parameter(torch.randn(*shape))


def qkv(kv=16, **more):
    return dict(q=nn.Linear(16, 16), k=nn.Linear(16, kv), v=nn.Linear(16, kv), o=nn.Linear(16, 16), **more)


def heads(t, n=2):
    return t.view(t.shape[0], t.shape[1], n, -1).transpose(1, 2)


def merge(t):
    return t.transpose(1, 2).reshape(t.shape[0], t.shape[2], -1)


def scores(q, k):
    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])


def split(m, t, u=None):
    u = t if u is None else u
    return heads(m.q(t)), heads(m.k(u)), heads(m.v(u))


def qk_norm(m, t):
    q, k, v = split(m, t)
    return m.o(merge(F.scaled_dot_product_attention(m.qn(q), m.kn(k), v)))


def alibi(m, t):
    q, k, v = split(m, t)
    return m.o(merge((scores(q, k) + m.bias).softmax(-1) @ v))


def alibi_sdpa(m, t):
    q, k, v = split(m, t)
    return m.o(merge(F.scaled_dot_product_attention(q, k, v, attn_mask=m.bias)))


def multi_query(m, t):
    q, k, v = heads(m.q(t)), m.k(t)[:, None], m.v(t)[:, None]
    shape = (-1, 2, -1, -1)
    return m.o(merge(F.scaled_dot_product_attention(q, k.expand(shape), v.expand(shape))))


def gqa(m, t):
    q, k, v = heads(m.q(t), 4), heads(m.k(t)), heads(m.v(t))
    return m.o(merge(F.scaled_dot_product_attention(q, k, v, enable_gqa=True)))


def cross(m, t, u):
    return m.o(merge(F.scaled_dot_product_attention(*split(m, t, u))))


def swin(m, t):
    q, k, v = split(m, t)
    bias = m.table[m.index.view(-1)].view(6, 6, 2).permute(2, 0, 1)
    return m.o(merge((q * 8 ** -0.5 @ k.transpose(-2, -1) + bias).softmax(-1) @ v))


def linear_attention(m, t):
    q, k, v = split(m, t)
    q, k = F.elu(q) + 1, F.elu(k) + 1
    return m.o(merge(q @ (k.transpose(-2, -1) @ v) / (q @ k.sum(2)[..., None])))


def lora_attention(m, t):
    q = heads(m.q(t) + m.up(m.down(t)) * 0.5)
    return m.o(merge(F.scaled_dot_product_attention(q, heads(m.k(t)), heads(m.v(t)), is_causal=True)))


def rope_pairs(m, t):
    def turn(u):
        return u * m.cos + torch.stack([-u[..., 1::2], u[..., ::2]], -1).flatten(-2) * m.sin

    q, k, v = split(m, t)
    return m.o(merge(F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True)))


def rope_made(m, t):
    """Angles computed in the forward pass from a buffer of frequencies, as in LLaMA."""
    angles = torch.arange(t.shape[1], device=t.device).float()[:, None] * m.frequencies
    angles = torch.cat([angles, angles], -1)
    cos, sin = angles.cos(), angles.sin()

    def turn(u):
        a, b = u.chunk(2, -1)
        return u * cos + torch.cat([-b, a], -1) * sin

    q, k, v = split(m, t)
    return m.o(merge(F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True)))


def sliding(m, t):
    q, k, v = split(m, t)
    i = torch.arange(t.shape[1])
    hidden = (i[None] > i[:, None]) | (i[None] < i[:, None] - 2)
    return m.o(merge(scores(q, k).masked_fill(hidden, float("-inf")).softmax(-1) @ v))


def gpt2(m, t):
    q, k, v = split(m, t)
    s = torch.where(m.mask[:, :, :6, :6], scores(q, k), torch.finfo(torch.float32).min)
    return m.o(merge(s.softmax(-1) @ v))


def talking(m, t):
    q, k, v = split(m, t)
    s = torch.einsum("bhij,hg->bgij", scores(q, k), m.before).softmax(-1)
    return m.o(merge(torch.einsum("bhij,hg->bgij", s, m.after) @ v))


def by_einsum(m, t):
    q, k, v = (p(t).view(2, 6, 2, 8) for p in (m.q, m.k, m.v))
    s = torch.einsum("bihd,bjhd->bhij", q, k) * 8 ** -0.5
    return m.o(torch.einsum("bhij,bjhd->bihd", s.softmax(-1), v).reshape(2, 6, 16))


def pool(m, t):
    s = (m.k(t) @ m.query).softmax(1)
    return m.o((s[..., None] * m.v(t)).sum(1))


def gated(m, t):
    y = merge(F.scaled_dot_product_attention(*split(m, t)))
    return m.o(y * torch.sigmoid(m.g(t)))


def softcap(m, t):
    q, k, v = split(m, t)
    return m.o(merge((torch.tanh(scores(q, k) / 5) * 5).softmax(-1) @ v))


def by_bmm(m, t):
    q, k, v = (heads(p(t)).reshape(4, 6, 8) for p in (m.q, m.k, m.v))
    s = torch.bmm(q, k.transpose(1, 2)) * 8 ** -0.5
    return m.o(merge(torch.bmm(s.softmax(-1), v).view(2, 2, 6, 8)))


def axial(m, v):
    t = m.c(v).permute(0, 2, 3, 1).reshape(16, 8, 16)
    return m.o(merge(F.scaled_dot_product_attention(*split(m, t)))) + t


def latents(m, t):
    return m.a(m.latents.expand(t.shape[0], -1, -1), t, t, need_weights=False)[0]


def non_local(m, v):
    v = m.c(v)
    q, k, w = (p(v).flatten(2) for p in (m.q, m.k, m.v))
    return v + m.o((w @ (q.transpose(1, 2) @ k).softmax(-1).transpose(1, 2)).view(2, 4, 8, 8))


def attentions():
    t, im = x(2, 6, 16), x(2, 3, 8, 8)
    distance = (torch.arange(6)[None] - torch.arange(6)[:, None]).float()
    bias = distance * torch.tensor([0.5, 0.25])[:, None, None]
    angles = torch.outer(torch.arange(6.0), 1 / 10000 ** (torch.arange(0, 8, 2) / 8))
    pairs = angles.repeat_interleave(2, -1)
    yield "a_qk_norm", Made(qk_norm, **qkv(qn=nn.LayerNorm(8), kn=nn.LayerNorm(8))), (t,)
    yield "a_qk_rms", Made(qk_norm, **qkv(qn=nn.RMSNorm(8), kn=nn.RMSNorm(8))), (t,)
    yield "a_alibi", Made(alibi, **qkv(bias=bias)), (t,)
    yield "a_alibi_sdpa", Made(alibi_sdpa, **qkv(bias=bias)), (t,)
    yield "a_multi_query", Made(multi_query, **qkv(8)), (t,)
    yield "a_gqa", Made(gqa, **qkv(8)), (t,)
    yield "a_cross", Made(cross, **qkv()), (t, x(2, 5, 16))
    yield "a_swin", Made(swin, **qkv(table=par(11, 2), index=(distance + 5).long())), (t,)
    yield "a_linear", Made(linear_attention, **qkv()), (t,)
    yield "a_lora", Made(lora_attention, **qkv(down=nn.Linear(16, 2, False), up=nn.Linear(2, 16, False))), (t,)
    yield "a_rope_pairs", Made(rope_pairs, **qkv(cos=pairs.cos(), sin=pairs.sin())), (t,)
    yield "a_rope_made", Made(rope_made, **qkv(frequencies=1 / 10000 ** (torch.arange(0, 8, 2) / 8))), (t,)
    yield "a_sliding", Made(sliding, **qkv()), (t,)
    yield "a_gpt2", Made(gpt2, **qkv(mask=torch.ones(1, 1, 12, 12, dtype=torch.bool).tril())), (t,)
    yield "a_talking", Made(talking, **qkv(before=par(2, 2), after=par(2, 2))), (t,)
    yield "a_einsum", Made(by_einsum, **qkv()), (t,)
    yield "a_pool", Made(pool, **qkv(query=par(16))), (t,)
    yield "a_gated", Made(gated, **qkv(g=nn.Linear(16, 16))), (t,)
    yield "a_softcap", Made(softcap, **qkv()), (t,)
    yield "a_bmm", Made(by_bmm, **qkv()), (t,)
    yield "a_axial", Made(axial, **qkv(c=nn.Conv2d(3, 16, 1))), (im,)
    yield "a_latents", Made(latents, a=nn.MultiheadAttention(16, 2, batch_first=True), latents=par(1, 3, 16)), (t,)
    yield "a_mha_dims", Made(lambda m, q, k: m.a(q, k, k, need_weights=False)[0],
                             a=nn.MultiheadAttention(16, 2, kdim=12, vdim=12, batch_first=True)), (t, x(2, 5, 12))
    conv = {n: nn.Conv2d(8 if n != "o" else 4, 4, 1) for n in "qkv"}
    yield "a_non_local", Made(non_local, c=nn.Conv2d(3, 8, 1), o=nn.Conv2d(4, 8, 1), **conv), (im,)


def rms_float(m, t):
    v = m.a(t).float()
    return m.b(m.g * (v * torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + 1e-6)).to(t.dtype))


def layer_2d(m, v):
    v = m.a(v)
    u = v.mean(1, keepdim=True)
    s = (v - u).pow(2).mean(1, keepdim=True)
    return m.c(m.w[:, None, None] * ((v - u) / torch.sqrt(s + 1e-6)) + m.b[:, None, None])


def modulated(m, t, c):
    shift, scale, gate = m.m(F.silu(c))[:, None].chunk(3, -1)
    return t + gate * m.f(m.n(t) * (1 + scale) + shift)


def grn(m, v):
    v = m.a(v).permute(0, 2, 3, 1)
    g = torch.norm(v, p=2, dim=(1, 2), keepdim=True)
    return m.b(m.g * (v * (g / (g.mean(-1, keepdim=True) + 1e-6))) + m.h + v)


def norms():
    t, im = x(2, 6, 16), x(2, 3, 8, 8)
    a, b = nn.Linear(16, 16), nn.Linear(16, 4)
    yield "n_rms_float", Made(rms_float, a=a, b=b, g=par(16)), (t,)
    yield "n_layer_2d", Made(layer_2d, a=nn.Conv2d(3, 8, 1), c=nn.Conv2d(8, 4, 1), w=par(8), b=par(8)), (im,)
    yield "n_modulated", Made(modulated, m=nn.Linear(16, 48), n=nn.LayerNorm(16, elementwise_affine=False), f=nn.Linear(16, 16)), (t, x(2, 16))
    yield "n_grn", Made(grn, a=nn.Conv2d(3, 8, 1), b=nn.Linear(8, 4), g=par(8), h=par(8)), (im,)
    yield "n_tanh", Made(lambda m, t: m.b(m.g * torch.tanh(m.alpha * m.a(t)) + m.h), a=a, b=b, alpha=par(1), g=par(16), h=par(16)), (t,)
    yield "n_weight", Made(lambda m, t: m.b(F.relu(m.a(t))), a=weight_norm(nn.Linear(16, 16)), b=b), (t,)
    yield "n_group_1d", nn.Sequential(nn.Conv1d(6, 8, 3), nn.GroupNorm(4, 8), nn.GELU(), nn.Conv1d(8, 4, 1)), (t,)
    yield "n_bn3d", nn.Sequential(nn.Conv3d(2, 4, 3), nn.BatchNorm3d(4), nn.ReLU(), nn.Conv3d(4, 2, 1)), (x(2, 2, 5, 5, 5),)
    yield "n_scale", Made(lambda m, t: t + m.g * m.a(m.n(t)), a=a, n=nn.LayerNorm(16), g=par(16)), (t,)
    yield "n_layer_two_axes", Made(lambda m, t: m.b(F.layer_norm(m.a(t), (6, 16))), a=a, b=b), (t,)


def mbconv(m, v):
    v = m.stem(v)
    y = F.silu(m.n2(m.d(F.silu(m.n1(m.e(v))))))
    y = y * torch.sigmoid(m.u(F.silu(m.s(F.adaptive_avg_pool2d(y, 1)))))
    return v + m.n3(m.p(y))


def shuffle(m, v):
    a, b = m.a(v).chunk(2, 1)
    y = torch.cat([a, F.relu(m.b(b))], 1)
    return m.c(y.view(2, 2, 4, 8, 8).transpose(1, 2).reshape(2, 8, 8, 8))


def dense(m, v):
    v = m.a(v)
    for n, c in ((m.n1, m.c1), (m.n2, m.c2)):
        v = torch.cat([v, c(F.relu(n(v)))], 1)
    return F.avg_pool2d(v, 2)


def inception(m, v):
    v = m.a(v)
    return torch.cat([F.relu(m.b(v)), F.relu(m.c(F.relu(m.b(v)))), F.relu(m.d(F.max_pool2d(v, 3, 1, 1)))], 1)


def cbam(m, v):
    v = m.a(v)
    mlp = lambda u: m.u(F.relu(m.d(u)))
    v = v * torch.sigmoid(mlp(F.adaptive_avg_pool2d(v, 1)) + mlp(F.adaptive_max_pool2d(v, 1)))
    s = torch.cat([v.mean(1, keepdim=True), v.max(1, keepdim=True)[0]], 1)
    return v * torch.sigmoid(m.s(s))


def aspp(m, v):
    v = m.a(v)
    g = F.interpolate(F.relu(m.g(v.mean((2, 3), keepdim=True))), size=(8, 8), mode="bilinear")
    return m.o(torch.cat([F.relu(m.b(v)), F.relu(m.c(v)), g], 1))


def fpn(m, v):
    a = F.relu(m.a(v))
    b = F.relu(m.b(a))
    return m.o(m.la(a) + F.interpolate(m.lb(b), scale_factor=2.0, mode="nearest")), m.lb(b)


def eca(m, v):
    v = m.a(v)
    w = m.c(v.mean((2, 3))[:, None])[:, 0]
    return v * torch.sigmoid(w)[..., None, None]


def sam(m, v):
    """Prototype of a mask head: dot products of pixels and an embedding."""
    v = F.gelu(m.up(m.a(v)))
    return (m.e @ v.flatten(2)).view(2, 3, 16, 16)


def convs():
    im = x(2, 3, 8, 8)
    c = nn.Conv2d
    yield "c_mbconv", Made(mbconv, stem=c(3, 8, 3, padding=1), e=c(8, 16, 1, bias=False), n1=nn.BatchNorm2d(16),
                           d=c(16, 16, 3, padding=1, groups=16, bias=False), n2=nn.BatchNorm2d(16), s=c(16, 2, 1),
                           u=c(2, 16, 1), p=c(16, 8, 1, bias=False), n3=nn.BatchNorm2d(8)), (im,)
    yield "c_shuffle_block", Made(shuffle, a=c(3, 8, 1), b=c(4, 4, 3, padding=1), c=c(8, 4, 1)), (im,)
    yield "c_dense", Made(dense, a=c(3, 4, 1), n1=nn.BatchNorm2d(4), c1=c(4, 4, 3, padding=1, bias=False),
                          n2=nn.BatchNorm2d(8), c2=c(8, 4, 3, padding=1, bias=False)), (im,)
    yield "c_inception", Made(inception, a=c(3, 4, 1), b=c(4, 4, 1), c=c(4, 4, 3, padding=1), d=c(4, 4, 1)), (im,)
    yield "c_cbam", Made(cbam, a=c(3, 8, 1), d=c(8, 2, 1), u=c(2, 8, 1), s=c(2, 1, 3, padding=1)), (im,)
    yield "c_aspp", Made(aspp, a=c(3, 4, 1), g=c(4, 4, 1), b=c(4, 4, 3, padding=1), c=c(4, 4, 3, padding=2, dilation=2), o=c(12, 4, 1)), (im,)
    yield "c_fpn", Made(fpn, a=c(3, 4, 3, padding=1), b=c(4, 8, 3, 2, 1), la=c(4, 4, 1), lb=c(8, 4, 1), o=c(4, 4, 3, padding=1)), (im,)
    yield "c_eca", Made(eca, a=c(3, 8, 1), c=nn.Conv1d(1, 1, 3, padding=1)), (im,)
    yield "c_mask_head", Made(sam, a=c(3, 8, 1), up=nn.ConvTranspose2d(8, 4, 2, 2), e=par(3, 4)), (im,)
    yield "c_glu_1d", nn.Sequential(nn.Conv1d(6, 16, 3, padding=1), nn.GLU(1), nn.Conv1d(8, 4, 1)), (x(2, 6, 10),)
    yield "c_bicubic", nn.Sequential(c(3, 4, 1), nn.Upsample(scale_factor=2, mode="bicubic"), c(4, 2, 1)), (im,)
    yield "c_space_to_depth", nn.Sequential(c(3, 4, 1), nn.PixelUnshuffle(2), c(16, 4, 1)), (im,)
    yield "c_reflect", nn.Sequential(c(3, 4, 1), nn.ReflectionPad2d(1), c(4, 4, 3), nn.InstanceNorm2d(4), nn.LeakyReLU(0.2), c(4, 1, 1)), (im,)
    yield "c_pool_head", nn.Sequential(c(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)), (im,)
    yield "c_max_head", nn.Sequential(c(3, 8, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(8, 4)), (im,)
    yield "c_vgg", nn.Sequential(c(3, 4, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 8), nn.ReLU(True), nn.Linear(8, 4)), (im,)
    yield "c_grid", Made(lambda m, v, g: m.b(F.grid_sample(m.a(v), g, align_corners=False)), a=c(3, 4, 1), b=c(4, 2, 1)), (im, torch.rand(2, 5, 5, 2))
    yield "c_unfold", Made(lambda m, v: m.b(F.unfold(m.a(v), 2, stride=2).transpose(1, 2)), a=c(3, 4, 1), b=nn.Linear(16, 4)), (im,)


def huber(m, t, y):
    d = m.a(t) - y
    return torch.where(d.abs() < 1, 0.5 * d ** 2, d.abs()).mean()


def fourier(m, t):
    v = m.a(t)
    return m.b(torch.cat([torch.sin(v), torch.cos(v)], -1))


def snake(m, t):
    v = m.a(t)
    return m.b(v + torch.sin(v * m.w) ** 2 / m.w)


def swish(m, t):
    v = m.a(t)
    return m.b(v * torch.sigmoid(m.beta * v))


def least(m, t):
    v = m.a(t)
    return m.b(v - v.min(-1, keepdim=True)[0])


def losses():
    t, im, ids = x(2, 6, 16), x(2, 3, 8, 8), torch.randint(4, (2, 6))
    a = lambda: nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
    yield "l_cross_entropy", Made(lambda m, t, y: F.cross_entropy(m.a(t).view(-1, 4), y.view(-1)), a=a()), (t, ids)
    yield "l_mse", Made(lambda m, t, y: F.mse_loss(m.a(t), y), a=a()), (t, x(2, 6, 4))
    yield "l_l1", Made(lambda m, t, y: F.l1_loss(m.a(t), y), a=a()), (t, x(2, 6, 4))
    yield "l_bce", Made(lambda m, t, y: F.binary_cross_entropy_with_logits(m.a(t), y), a=a()), (t, torch.rand(2, 6, 4))
    yield "l_smooth", Made(lambda m, t, y: F.smooth_l1_loss(m.a(t), y), a=a()), (t, x(2, 6, 4))
    yield "l_kl", Made(lambda m, t, y: F.kl_div(m.a(t).log_softmax(-1), y, reduction="batchmean"), a=a()), (t, torch.rand(2, 6, 4))
    yield "l_nll", Made(lambda m, t, y: F.nll_loss(m.a(t).log_softmax(-1).view(-1, 4), y.view(-1)), a=a()), (t, ids)
    yield "l_cosine", Made(lambda m, t, y: (1 - F.cosine_similarity(m.a(t), y, dim=-1)).mean(), a=a()), (t, x(2, 6, 4))
    yield "l_huber_by_hand", Made(huber, a=a()), (t, x(2, 6, 4))


def lstm(m, t):
    h = c = torch.zeros(2, 8)
    steps = []
    for i in range(3):
        g, f, u, o = (m.x(t[:, i]) + m.h(h)).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(g) * torch.tanh(u)
        h = torch.sigmoid(o) * torch.tanh(c)
        steps.append(h)
    return m.o(torch.stack(steps, 1))


def gru(m, t):
    h = t[:, 0, :8]
    for i in range(3):
        r, z = torch.sigmoid(m.x(t[:, i]) + m.h(h)).chunk(2, -1)
        n = torch.tanh(m.n(t[:, i]) + r * m.k(h))
        h = (1 - z) * n + z * h
    return m.o(h)


def scan(m, t):
    a, b = -torch.exp(m.a), F.softplus(m.d(t))
    u, state, steps = m.x(t), torch.zeros(2, 8, 4), []
    for i in range(4):
        state = torch.exp(b[:, i, :, None] * a) * state + (b[:, i] * u[:, i])[..., None] * m.b
        steps.append((state * m.c).sum(-1))
    return m.o(torch.stack(steps, 1))


def mamba_conv(m, t):
    u, z = m.i(t).chunk(2, -1)
    u = m.c(u.transpose(1, 2))[..., :6].transpose(1, 2)
    return m.o(F.silu(u) * F.silu(z))


def rwkv(m, t):
    t = m.n(t)
    before = F.pad(t, (0, 0, 1, -1))
    k = m.k(t * m.mix + before * (1 - m.mix))
    return torch.sigmoid(m.r(t)) * m.v(F.relu(k).square())


def recurrent():
    t, l = x(2, 6, 16), nn.Linear
    yield "r_lstm_by_hand", Made(lstm, x=l(16, 32), h=l(8, 32), o=l(8, 4)), (t,)
    yield "r_gru_by_hand", Made(gru, x=l(16, 16), h=l(8, 16), n=l(16, 8), k=l(8, 8), o=l(8, 4)), (t,)
    yield "r_scan", Made(scan, a=par(8, 4), d=l(16, 8), x=l(16, 8), b=par(8, 4), c=par(8, 4), o=l(8, 4)), (t,)
    yield "r_mamba_conv", Made(mamba_conv, i=l(16, 32), c=nn.Conv1d(16, 16, 3, padding=2, groups=16), o=l(16, 16)), (t,)
    yield "r_rwkv", Made(rwkv, n=nn.LayerNorm(16), k=l(16, 32, False), v=l(32, 16, False), r=l(16, 16, False), mix=par(16)), (t,)


def moe(m, t):
    w = m.g(t).softmax(-1)
    top, at = w.topk(2, -1)
    w = torch.zeros_like(w).scatter(-1, at, top / top.sum(-1, keepdim=True))
    return sum(w[..., i, None] * e(t) for i, e in enumerate(m.e))


def gathers():
    t, i = x(2, 6, 16), torch.randint(6, (2, 3))
    a, b = nn.Linear(16, 16), nn.Linear(16, 4)
    yield "g_gather", Made(lambda m, t, i: m.b(m.a(t).gather(1, i[..., None].expand(-1, -1, 16))), a=a, b=b), (t, i)
    yield "g_index", Made(lambda m, t, i: m.b(m.a(t)[:, i[0]]), a=a, b=b), (t, i)
    yield "g_scatter_add", Made(lambda m, t, i: m.b(torch.zeros(2, 6, 16).scatter_add(1, i[..., None].expand(-1, -1, 16), m.a(t)[:, :3])), a=a, b=b), (t, i)
    yield "g_topk", Made(lambda m, t: m.b(t) * m.a(t).topk(4, -1)[0], a=a, b=b), (t,)
    yield "g_sort", Made(lambda m, t: m.b(m.a(t).sort(-1)[0]), a=a, b=b), (t,)
    yield "g_moe", Made(moe, g=nn.Linear(16, 3), e=nn.ModuleList(nn.Sequential(nn.Linear(16, 24), nn.SiLU(), nn.Linear(24, 16)) for _ in range(3))), (t,)
    yield "g_moe_soft", Made(lambda m, t: torch.einsum("bte,bteo->bto", m.g(t).softmax(-1), torch.einsum("bti,eio->bteo", t, m.w)), g=nn.Linear(16, 3), w=par(3, 16, 8)), (t,)
    yield "g_last", Made(lambda m, t: m.b(m.a(t)[torch.arange(2), -1]), a=a, b=b), (t,)
    yield "g_max_pool_time", Made(lambda m, t: m.b(F.relu(m.a(t)).max(1)[0]), a=a, b=b), (t,)
    yield "g_min_over", Made(least, a=a, b=b), (t,)


def clip(m, t, u):
    t, u = F.normalize(m.a(t).mean(1), dim=-1), F.normalize(m.b(u).mean(1), dim=-1)
    return m.scale.exp() * t @ u.t()


def gmlp(m, t):
    u, v = F.gelu(m.a(t)).chunk(2, -1)
    return m.b(u * m.c(m.n(v).transpose(1, 2)).transpose(1, 2))


def highway(m, t):
    g = torch.sigmoid(m.g(t))
    return m.b(g * F.relu(m.a(t)) + (1 - g) * t)


def deep_sets(m, t):
    v = F.relu(m.a(t))
    return m.b(torch.cat([v.sum(1), v.mean(1), v.amax(1)], -1))


def mlps():
    t, l = x(2, 6, 16), nn.Linear
    ab = dict(a=l(16, 16), b=l(16, 4))
    yield "m_clip", Made(clip, a=l(16, 8), b=l(16, 8), scale=nn.Parameter(torch.tensor(1.0))), (t, x(2, 5, 16))
    yield "m_gmlp", Made(gmlp, a=l(16, 32), n=nn.LayerNorm(16), c=nn.Conv1d(16, 16, 1), b=l(16, 8)), (t,)
    yield "m_highway", Made(highway, g=l(16, 16), **ab), (t,)
    yield "m_deep_sets", Made(deep_sets, a=l(16, 8), b=l(24, 4)), (t,)
    yield "m_lora", Made(lambda m, t: m.b(F.relu(m.a(t) + (t @ m.d.t() @ m.u.t()) * 2)), d=par(2, 16), u=par(16, 2), **ab), (t,)
    yield "m_reglu", Made(lambda m, t: m.b(F.relu(m.a(t)) * m.c(t)), c=l(16, 16), **ab), (t,)
    yield "m_maxout", Made(lambda m, t: m.b(m.a(t).view(2, 6, 16, 2).max(-1)[0]), a=l(16, 32), b=l(16, 4)), (t,)
    yield "m_bilinear", Made(lambda m, t: m.c(m.a(t), m.b(t)), a=l(16, 6), b=l(16, 5), c=nn.Bilinear(6, 5, 4)), (t,)
    yield "m_fourier", Made(fourier, a=l(16, 8), b=l(16, 4)), (t,)
    yield "m_cosine_head", Made(lambda m, t: F.linear(F.normalize(m.a(t), dim=-1), F.normalize(m.w, dim=-1)) * 10, a=l(16, 16), w=par(4, 16)), (t,)
    yield "m_vae", Made(lambda m, t, e: m.b(m.mu(t) + torch.exp(0.5 * m.s(t)) * e), mu=l(16, 16), s=l(16, 16), b=l(16, 4)), (t, x(2, 6, 16))
    yield "m_snake", Made(snake, w=par(16), **ab), (t,)
    yield "m_log_gate", Made(lambda m, t: m.b(torch.exp(F.logsigmoid(m.a(t)).cumsum(1))), **ab), (t,)
    yield "m_residual_ln", Made(lambda m, t: m.n(t + m.b(F.gelu(m.a(t)))), a=l(16, 32), b=l(32, 16), n=nn.LayerNorm(16)), (t,)
    yield "m_swish_beta", Made(swish, beta=nn.Parameter(torch.tensor(1.5)), **ab), (t,)
    yield "m_masked_mean", Made(lambda m, t, k: m.b((m.a(t) * k[..., None]).sum(1) / k.sum(1, keepdim=True).clamp(min=1e-9)), **ab), (t, torch.rand(2, 6).round())


def vit(m, v):
    t = m.c(v).flatten(2).transpose(1, 2)
    t = torch.cat([m.cls.expand(2, -1, -1), t], 1) + m.pos
    return m.l(m.n(t)[:, 0])


def sinusoid(m, ids):
    t = m.e(ids) * 4.0
    return m.l(t + m.pe[:, :ids.shape[1]])


def time_step(m, t, step):
    f = torch.exp(-math.log(10000) * torch.arange(8) / 8)
    a = step[:, None] * f
    e = m.b(F.silu(m.a(torch.cat([a.cos(), a.sin()], -1))))
    return m.c(t + e[:, None])


def embeddings():
    ids, im, t = torch.randint(50, (2, 6)), x(2, 3, 8, 8), x(2, 6, 16)
    e, l, n = nn.Embedding(50, 16), nn.Linear(16, 4), nn.LayerNorm(16)
    yield "e_tied", Made(lambda m, ids: m.n(m.e(ids)) @ m.e.weight.t(), e=e, n=n), (ids,)
    yield "e_types", Made(lambda m, ids, k: m.l(m.n(m.e(ids) + m.s(k))), e=e, s=nn.Embedding(2, 16), l=l, n=n), (ids, ids % 2)
    yield "e_position_buffer", Made(lambda m, ids: m.l(m.e(ids) + m.p(m.ids[:, :ids.shape[1]])), e=e, p=nn.Embedding(12, 16), ids=torch.arange(12)[None], l=l), (ids,)
    yield "e_position_slice", Made(lambda m, ids: m.l(m.e(ids) + m.p[:, :ids.shape[1]]), e=e, p=par(1, 12, 16), l=l), (ids,)
    yield "e_sinusoid", Made(sinusoid, e=e, pe=x(1, 12, 16), l=l), (ids,)
    yield "e_vit", Made(vit, c=nn.Conv2d(3, 16, 4, 4), cls=par(1, 1, 16), pos=par(1, 5, 16), n=n, l=l), (im,)
    yield "e_time_step", Made(time_step, a=nn.Linear(16, 32), b=nn.Linear(32, 16), c=l), (t, torch.rand(2))
    yield "e_one_hot", Made(lambda m, ids: m.l(F.one_hot(ids, 50).float()), l=nn.Linear(50, 4)), (ids,)
    yield "e_scaled_by_mask", Made(lambda m, ids: m.l(m.e(ids) * (ids != 0).unsqueeze(-1)), e=e, l=l), (ids,)


def more_modules():
    for group in (attentions, norms, convs, losses, recurrent, gathers, mlps, embeddings):
        yield from group()
