#!/usr/bin/env python3
"""What XLA's HloCostAnalysis counts of small JAX functions: `lowered` before XLA's passes (jax.jit(f).lower(x).cost_analysis()), `compiled` after
them, for a CPU. tests/convention/xla_truth_test.cc holds ONNX models of the same functions to `lowered`.

Usage: xla_costs.py [-o tests/data/xla_truth.json]      needs: pip install jax==0.10.2
"""
import argparse
import json

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from jax import lax

INT, BOOL = jnp.int32, jnp.bool_


def S(*sizes, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(sizes, dtype)


X = S(4, 8)


def conv(strides=(1, 1), padding=((0, 0), (0, 0)), **options):
    return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, **options)


def reduce(op, start, axes):
    return lambda x: lax.reduce(x, np.float32(start), op, axes)


def window(op, start, sizes, strides, padding):
    return lambda x: lax.reduce_window(x, np.float32(start), op, sizes, strides, padding)


def softmax(x):
    e = jnp.exp(x - lax.reduce_max(x, (1,))[:, None])
    return e / lax.reduce_sum(e, (1,))[:, None]


def log_softmax(x):
    d = x - lax.reduce_max(x, (1,))[:, None]
    return d - jnp.log(lax.reduce_sum(jnp.exp(d), (1,)))[:, None]


def standardized(x, axes):
    d = x - jnp.mean(x, axes, keepdims=True)
    return d * lax.rsqrt(jnp.mean(d * d, axes, keepdims=True) + np.float32(1e-5))


def layer_norm(x, scale, bias):
    return standardized(x, (-1,)) * scale + bias


def group_norm(x, scale, bias):  # x [2, 6, 5], 3 groups
    y = standardized(x.reshape(2, 3, 10), (-1,)).reshape(2, 6, 5)
    return y * scale[:, None] + bias[:, None]


def rms_norm(x, scale):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + np.float32(1e-5)) * scale


def batch_norm(x, scale, bias, mean, var):
    def c(v):
        return v.reshape(1, 3, 1, 1)

    return (x - c(mean)) / c(lax.sqrt(var + np.float32(1e-5))) * c(scale) + c(bias)


def gelu(x):
    return np.float32(0.5) * x * (1 + lax.erf(x / np.float32(np.sqrt(2))))


def attention(q, k, v):
    return softmax((q @ k.T) * np.float32(0.5)) @ v


def mlp(x, w1, b1, w2, b2):
    return x + gelu(x @ w1 + b1) @ w2 + b2


def lstm(h, c, x, w, r, wb, rb):  # gates i, o, f, c as ONNX orders them
    def step(carry, x):
        h, c = carry
        gates = x @ w + h @ r + wb + rb
        i, o, f = (lax.logistic(gates[:, 4 * k:4 * k + 4]) for k in range(3))
        c = f * c + i * jnp.tanh(gates[:, 12:])
        return (o * jnp.tanh(c), c), None

    return lax.scan(step, (h, c), x)


def at_rows(x, i):
    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    return lax.gather(x, i, numbers, (1, 8), mode="clip")


def add_rows(x, i, u):
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    return lax.scatter_add(x, i, u, numbers, mode="clip")


CASES = {
    # products
    "matmul": (jnp.matmul, S(3, 5), S(5, 7)),
    "matmul_batched": (jnp.matmul, S(2, 3, 5), S(2, 5, 7)),
    "matmul_broadcast": (jnp.matmul, S(3, 5), S(2, 5, 7)),
    "matmul_of_a_vector": (jnp.matmul, S(3, 5), S(5)),
    "matmul_of_integers": (jnp.matmul, S(3, 5, dtype=INT), S(5, 7, dtype=INT)),
    "gemm": (lambda a, b, c: a @ b.T + c, S(3, 5), S(7, 5), S(7)),
    "einsum": (lambda a, b: jnp.einsum("bik,bkj->bij", a, b), S(2, 3, 5), S(2, 5, 7)),
    "einsum_of_three": (lambda a, b, c: jnp.einsum("ab,bc,cd->ad", a, b, c), S(2, 3), S(3, 5), S(5, 7)),
    "einsum_outer": (lambda a, b: jnp.einsum("i,j->ij", a, b), S(4), S(8)),
    # convolutions and pooling
    "conv": (conv(), S(1, 4, 8, 8), S(6, 4, 3, 3)),
    "conv_padded": (conv(padding=((1, 1), (1, 1))), S(1, 4, 8, 8), S(6, 4, 3, 3)),
    "conv_bias": (lambda x, w, b: conv(padding=((1, 1), (1, 1)))(x, w) + b[None, :, None, None], S(1, 4, 8, 8), S(6, 4, 3, 3), S(6)),
    "conv_strided": (conv((2, 2), ((1, 1), (1, 1))), S(2, 4, 8, 8), S(6, 4, 3, 3)),
    "conv_grouped": (conv(padding=((1, 1), (1, 1)), feature_group_count=2), S(1, 4, 8, 8), S(6, 2, 3, 3)),
    "conv_depthwise": (conv(padding=((1, 1), (1, 1)), feature_group_count=4), S(1, 4, 8, 8), S(4, 1, 3, 3)),
    "conv_dilated": (conv(padding=((2, 2), (2, 2)), rhs_dilation=(2, 2)), S(1, 4, 8, 8), S(6, 4, 3, 3)),
    "conv_same": (conv((2, 2), "SAME"), S(1, 4, 6, 8), S(6, 4, 3, 3)),
    "conv_same_lower": (conv((2, 2), "SAME_LOWER"), S(1, 4, 6, 8), S(6, 4, 3, 3)),
    "conv_1d": (conv((3,), ((2, 1),)), S(1, 2, 10), S(5, 2, 4)),
    "conv_3d": (conv((1, 2, 1), ((1, 1), (0, 1), (0, 0))), S(1, 2, 3, 4, 5), S(3, 2, 2, 3, 2)),
    "conv_transposed": (conv(padding=((1, 1), (1, 1)), lhs_dilation=(2, 2)), S(2, 4, 5, 5), S(6, 4, 2, 2)),
    "conv_transposed_cropped": (conv(padding=((1, 1), (1, 1)), lhs_dilation=(2, 2)), S(2, 4, 5, 5), S(6, 4, 3, 3)),
    "conv_transposed_grouped": (conv(padding=((1, 2), (1, 2)), lhs_dilation=(2, 2), feature_group_count=2), S(2, 4, 5, 5), S(6, 2, 3, 3)),
    "max_pool": (window(lax.max, -np.inf, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"), S(1, 2, 8, 8)),
    "max_pool_of_all": (window(lax.max, -np.inf, (1, 1, 3), (1, 1, 1), ((0, 0), (0, 0), (1, 1))), S(1, 2, 2)),
    "average_pool": (lambda x: window(lax.add, 0, (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1)))(x) / 9, S(1, 2, 8, 8)),
    "global_average_pool": (lambda x: jnp.mean(x, (2, 3)), S(1, 3, 4, 4)),
    # reductions
    "sum": (reduce(lax.add, 0, (1,)), X),
    "sum_of_all": (jnp.sum, X),
    "sum_of_first_axis": (lambda x: jnp.sum(x, 0), X),
    "sum_of_two_axes": (lambda x: jnp.sum(x, (0, 2)), S(2, 3, 4)),
    "sum_of_integers": (lambda x: jnp.sum(x, 1), S(4, 8, dtype=INT)),
    "mean": (lambda x: jnp.mean(x, 1), X),
    "max": (lambda x: jnp.max(x, 1), X),
    "min": (lambda x: jnp.min(x, 1), X),
    "prod": (lambda x: jnp.prod(x, 1), X),
    "norm_1": (lambda x: jnp.sum(jnp.abs(x), 1), X),
    "norm_2": (lambda x: jnp.linalg.norm(x, axis=1), X),
    "sum_of_squares": (lambda x: jnp.sum(x * x, 1), X),
    "log_sum": (lambda x: jnp.log(jnp.sum(x, 1)), X),
    "log_sum_exp": (lambda x: jnp.log(jnp.sum(jnp.exp(x), 1)), X),
    "argmax": (lambda x: jnp.argmax(x, 1), X),
    "argmin_of_integers": (lambda x: jnp.argmin(x, 1), S(4, 8, dtype=INT)),
    "cumsum": (lambda x: jnp.cumsum(x, 1), X),
    "cumsum_of_first_axis": (lambda x: jnp.cumsum(x, 0), X),
    "softmax": (softmax, X),
    "log_softmax": (log_softmax, X),
    "layer_norm": (layer_norm, X, S(8), S(8)),
    "rms_norm": (rms_norm, X, S(8)),
    "group_norm": (group_norm, S(2, 6, 5), S(6), S(6)),
    "batch_norm": (batch_norm, S(1, 3, 2, 2), S(3), S(3), S(3), S(3)),
    # elementwise
    "add": (lax.add, X, X),
    "add_broadcast": (jnp.add, X, S(8)),
    "div": (lax.div, X, X),
    "div_of_integers": (lax.div, S(4, 8, dtype=INT), S(4, 8, dtype=INT)),
    "max_of_three": (lambda a, b, c: lax.max(lax.max(a, b), c), X, X, X),
    "chain": (lambda x, y: (x * y + x) / (x - y), X, X),
    "neg_abs_sign": (lambda x: lax.neg(lax.abs(lax.sign(x))), X),
    "round": (lambda x: lax.floor(lax.ceil(lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN))), X),
    "greater": (lax.gt, X, X),
    "select": (lambda x, y: lax.select(x > y, x, y), X, X),
    "clamp": (lambda x: lax.clamp(np.float32(0), x, np.float32(1)), X),
    "convert": (lambda x: x.astype(jnp.float16), X),
    "and": (jnp.logical_and, S(4, 8, dtype=BOOL), S(4, 8, dtype=BOOL)),
    "mod": (jnp.mod, S(4, 8, dtype=INT), S(4, 8, dtype=INT)),
    "fmod": (lax.rem, X, X),
    "isnan": (jnp.isnan, X),
    "isinf": (jnp.isinf, X),
    "tril": (jnp.tril, S(2, 5, 6)),
    "eye": (lambda: jnp.eye(8)),
    "one_hot": (lambda i: jax.nn.one_hot(i, 5), S(4, dtype=INT)),
    "integer_add_mul": (lambda x, y: x * y + x, S(4, 8, dtype=INT), S(4, 8, dtype=INT)),
    # transcendentals, and activations
    **{name: (getattr(lax, name), X) for name in (
        "exp", "log", "sqrt", "tanh", "erf", "sin", "cos", "tan", "atan", "asin", "acos", "sinh", "cosh", "asinh", "acosh", "atanh", "logistic")},
    "pow": (lax.pow, X, X),
    "relu": (jax.nn.relu, X),
    "leaky_relu": (jax.nn.leaky_relu, X),
    "elu": (jax.nn.elu, X),
    "silu": (jax.nn.silu, X),
    "soft_sign": (jax.nn.soft_sign, X),
    "hard_sigmoid": (jax.nn.hard_sigmoid, X),
    "hard_swish": (jax.nn.hard_swish, X),
    "softplus": (lambda x: jnp.log(1 + jnp.exp(x)), X),
    "mish": (lambda x: x * jnp.tanh(jnp.log(1 + jnp.exp(x))), X),
    "gelu": (gelu, X),
    "gelu_tanh": (lambda x: jax.nn.gelu(x, approximate=True), X),
    # control flow
    "while": (lambda x: lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * c[1]), (0, x)), X),
    "fori": (lambda x: lax.fori_loop(0, 10, lambda i, c: c * c, x), X),
    "scan": (lambda c, x: lax.scan(lambda c, x: (c * x, c + x), c, x), X, S(10, 4, 8)),
    "cond": (lambda p, x: lax.cond(p, lambda x: x * x + x, lambda x: jnp.exp(x), x), S(dtype=BOOL), X),
    "lstm": (lstm, S(2, 4), S(2, 4), S(3, 2, 5), S(5, 16), S(4, 16), S(16), S(16)),
    # indexing and data movement
    "gather": (at_rows, X, S(3, 1, dtype=INT)),
    "scatter_add": (add_rows, X, S(3, 1, dtype=INT), S(3, 8)),
    "top_k": (lambda x: lax.top_k(x, 2), X),
    "concatenate": (lambda a, b: jnp.concatenate([a, b]), X, X),
    "transpose": (jnp.transpose, X),
    # compositions
    "attention": (attention, S(7, 4), S(9, 4), S(9, 6)),
    "mlp": (mlp, S(3, 8), S(8, 32), S(32), S(32, 8), S(8)),
    # functions of JAX that write more than their formula
    "jax.nn.softmax": (jax.nn.softmax, X),
    "jax.nn.log_softmax": (jax.nn.log_softmax, X),
    "jax.nn.logsumexp": (lambda x: jax.nn.logsumexp(x, 1), X),
    "jax.nn.gelu": (lambda x: jax.nn.gelu(x, approximate=False), X),
    "jax.nn.selu": (jax.nn.selu, X),
    "jax.nn.softplus": (jax.nn.softplus, X),
    "jax.nn.mish": (jax.nn.mish, X),
    "jnp.clip": (lambda x: jnp.clip(x, 0, 1), X),
    "jnp.take": (lambda x, i: jnp.take(x, i, axis=0), X, S(3, dtype=INT)),
}


def totals(cost):
    cost = cost or {}
    return {"flops": int(cost.get("flops", 0)), "transcendentals": int(cost.get("transcendentals", 0))}


def measure(case):
    function, *arguments = case if isinstance(case, tuple) else (case,)
    lowered = jax.jit(function).lower(*arguments)
    return {"lowered": totals(lowered.cost_analysis()), "compiled": totals(lowered.compile().cost_analysis())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="tests/data/xla_truth.json")
    output = parser.parse_args().output
    jax.config.update("jax_platforms", "cpu")
    figures = {name: measure(case) for name, case in CASES.items()}
    versions = {"jax": jax.__version__, "jaxlib": jaxlib.__version__}
    lines = [f"    {json.dumps(name)}: {json.dumps(figure)}" for name, figure in figures.items()]
    with open(output, "w", encoding="utf-8") as file:
        file.write('{\n  "versions": ' + json.dumps(versions) + ',\n  "functions": {\n' + ",\n".join(lines) + "\n  }\n}\n")


if __name__ == "__main__":
    main()
