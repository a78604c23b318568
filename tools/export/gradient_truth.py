#!/usr/bin/env python3
"""Multiply-accumulates of the backward pass of operators, as PyTorch executes them.

Usage: gradient_truth.py > tests/data/gradient_truth.json   (PyTorch 2.x, on a CPU)

For operators that torch.onnx exports no single call for: mixtures of experts, linear attention,
causal convolution, attention with a softcap or a modifier. Each is written here in PyTorch, as its
specification says, with matrix products as batched products, which FlopCounterMode counts. A case is
named as in tests/training/gradient_tape_test.cc and has the same sizes. Its figures are by which
inputs need a gradient, a bit each.
"""
import json

import torch
from torch.nn.functional import silu
from torch.utils.flop_counter import FlopCounterMode


def product(a, b):
    """a[..., m, k] b[..., k, n] of equal leading sizes, as one batched product."""
    lead = a.shape[:-2]
    out = torch.bmm(a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:]))
    return out.reshape(*lead, a.shape[-2], b.shape[-1])


# ---- attention: q [B,H,L,D], k and v with fewer heads


def attend(q, k, v, change=None):
    share = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(share, dim=1) for x in (k, v))
    scores = product(q, k.transpose(-1, -2)) / q.shape[-1] ** 0.5
    if change:
        scores = change(scores)
    return product(scores.softmax(-1), v)


def heads_of(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def softcap(q_heads, kv_heads):
    def run(q, k, v):
        return attend(heads_of(q, q_heads), heads_of(k, kv_heads), heads_of(v, kv_heads),
                      lambda s: 2.5 * torch.tanh(s / 2.5))
    return run


def flex(q, k, v):
    return attend(q, k, v)


def flex_tanh(q, k, v):
    return attend(q, k, v, torch.tanh)


def flex_product(q, k, v, w):
    return attend(q, k, v, lambda s: product(s, w.expand(*s.shape[:2], *w.shape)))


# ---- a state over steps: inputs [B,T,H*D]


def recurrence(heads, kv_heads, rule):
    def run(q, k, v, past=None, decay=None, beta=None):
        batch, steps = q.shape[:2]
        q, k, v = (x.reshape(batch, steps, n, -1) for x, n in ((q, heads), (k, kv_heads), (v, kv_heads)))
        state = past if past is not None else torch.zeros(batch, kv_heads, k.shape[-1], v.shape[-1])
        out = []
        for t in range(steps):
            if "gated" in rule:
                state = state * decay[:, t, :, None, None].exp()
            new = v[:, t].unsqueeze(-2)
            if "delta" in rule:
                held = product(k[:, t].unsqueeze(-2), state)
                new = (new - held) * beta[:, t, :, None, None]
            state = state + product(k[:, t].unsqueeze(-1), new)
            read = state.repeat_interleave(heads // kv_heads, dim=1)
            out.append(product(q[:, t].unsqueeze(-2), read))
        return torch.cat(out)
    return run


# ---- causal convolution by channel: windows times weights


def windows_by_weight(x, weight, bias):
    """x [.., C, k - 1 + L] and weight [C,1,k] to [C, .., L]."""
    parts = x.unfold(-1, weight.shape[-1], 1)                       # [.., C, L, k]
    parts = parts.movedim(-3, 0)
    y = product(parts.reshape(parts.shape[0], -1, parts.shape[-1]), weight.transpose(1, 2))
    return silu(y + bias[:, None, None])


def causal_conv(x, weight, bias, past):
    return windows_by_weight(torch.cat([past, x], -1), weight, bias)


def varlen_conv(lengths):
    """Of sequences that follow each other in x [T,C], each after its own past."""
    def run(x, weight, _, bias, past):
        rows = torch.cat([torch.cat([p, part.T], -1).unfold(-1, weight.shape[-1], 1)
                          for p, part in zip(past, x.split(lengths))], 1)   # [C, T, k]
        return silu(product(rows, weight.transpose(1, 2)) + bias[:, None, None])
    return run


# ---- experts: x [T,H], router [T,E], fc1 and fc3 [E,I,H], fc2 [E,H,I]


def experts(routed, act=torch.relu, fused=False):
    def run(x, router, fc1, _, fc2, __=None, fc3=None):
        weights, chosen = router.softmax(-1).topk(routed, -1)
        out = torch.zeros_like(x)
        for e in range(router.shape[1]):
            rows, place = (chosen == e).nonzero(as_tuple=True)
            if rows.numel() == 0:
                continue
            h = x[rows] @ fc1[e].T
            if fused:
                gate, value = h.chunk(2, -1)
                h = silu(gate) * value
            else:
                h = act(h)
                if fc3 is not None:
                    h = h * (x[rows] @ fc3[e].T)
            out = out.index_add(0, rows, (h @ fc2[e].T) * weights[rows, place, None])
        return out
    return run


def quantised_experts(routed):
    """Weights are constants: what is dequantised needs no gradient."""
    def run(x, router, fc1, _, __, fc2):
        return experts(routed, silu)(x, router, fc1, None, fc2)
    return run


Q, K, V, PAST, GATE = (2, 3, 12), (2, 3, 6), (2, 3, 10), (2, 2, 3, 5), (2, 3, 2)
X, ROUTER, FC1, FC2 = (5, 3), (5, 4), (4, 6, 3), (4, 3, 6)
CONV = [(2, 3, 7), (3, 1, 4), (3,), (2, 3, 3)]
FLEX = [(2, 4, 3, 5), (2, 2, 7, 5), (2, 2, 7, 6)]
NET = [(2, 3, 2, 5), (2, 3, 2, 5), (2, 3, 2, 4), None, GATE, GATE]

CASES = {
    "Attention with a softcap": (softcap(4, 2), [(2, 3, 20), (2, 5, 10), (2, 5, 6)]),
    "GroupQueryAttention with a softcap, of com.microsoft": (softcap(4, 2), [(2, 3, 20), (2, 3, 10), (2, 3, 10)]),
    "FlexAttention of ai.onnx.preview": (flex, FLEX),
    "FlexAttention with score_mod, of ai.onnx.preview": (flex_tanh, FLEX),
    "FlexAttention with a product in score_mod, of ai.onnx.preview": (flex_product, FLEX + [(7, 7)]),
    "CausalConvWithState": (causal_conv, CONV),
    "CausalConvWithState of com.microsoft": (causal_conv, CONV),
    "VarlenCausalConvWithState of com.microsoft": (varlen_conv([3, 4]), [(7, 3), (3, 1, 4), None, (3,), (2, 3, 3)]),
    "GatedDeltaNet of com.microsoft": (recurrence(2, 2, "gated_delta"), NET),
    "MoE of com.microsoft": (experts(2), [X, ROUTER, FC1, None, FC2]),
    "MoE with a gate, of com.microsoft": (experts(2, silu), [X, ROUTER, FC1, None, FC2, None, FC1]),
    "MoE with SwiGLU, of com.microsoft": (experts(1, fused=True), [X, ROUTER, (4, 12, 3), None, FC2]),
    "QMoE of com.microsoft": (quantised_experts(2), [(5, 4), ROUTER, (4, 6, 4), None, None, (4, 4, 6)]),
}
for domain in "", ", of com.microsoft":
    for rule, past in ("linear", None), ("gated", None), ("delta", None), ("gated_delta", PAST):
        sizes = [Q, K, V, past, GATE if "gated" in rule else None, GATE if "delta" in rule else None]
        CASES[f"LinearAttention {rule}{', past' if past else ''}{domain}"] = (recurrence(4, 2, rule), sizes)

FIXED = {"QMoE of com.microsoft": (2, 5)}  # inputs that cannot need a gradient


def backward_macs(run, sizes, needed):
    inputs = [None if s is None else torch.rand(s).requires_grad_(bool(needed >> i & 1)) for i, s in enumerate(sizes)]
    y = run(*inputs)
    if not y.requires_grad:
        return 0
    with FlopCounterMode(display=False) as counter:
        y.sum().backward()
    return counter.get_total_flops() // 2


def figures(name, run, sizes):
    absent = {i for i, s in enumerate(sizes) if s is None} | set(FIXED.get(name, ()))
    return {str(needed): backward_macs(run, sizes, needed) for needed in range(1, 1 << len(sizes))
            if not any(needed >> i & 1 for i in absent)}


def main():
    torch.manual_seed(0)
    how = ("Multiply-accumulates of the backward pass by which inputs need a gradient (a bit each), as "
           f"FlopCounterMode of torch {torch.__version__.split('+')[0]} counts them: tools/export/gradient_truth.py.")
    cases = [{"case": name, "macs": figures(name, *case)} for name, case in CASES.items()]
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    print(f'{{\n "how": {json.dumps(how)},\n "cases": [\n{lines}\n ]\n}}')


if __name__ == "__main__":
    main()
