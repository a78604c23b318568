#!/usr/bin/env python3
"""Makes random nodes of small stored tensors, of every rank and with sizes that differ, and writes down what ONNX Runtime makes of them.

Usage: node_truth.py tests/data/node_truth.jsonl [--count 20]      needs: pip install onnx onnxruntime numpy

A line is a graph of one node in ONNX's text form with its outputs, each as sizes and elements, or null where the runtime refuses the node.
Of every operator of MAKERS there are --count nodes that run; a few that do not are kept with them. tests/infer/node_truth_test.cc holds
shapes and what is followed of the elements to it. The file is made with a fixed seed.
"""
import argparse
import json
import random

import numpy as np
import onnx
import onnx.helper
import onnx.shape_inference
import onnxruntime

OPSET = 21
SIZES = [2, 3, 4, 5, 1]
TYPES = {np.dtype(np.float32): "float", np.dtype(np.int64): "int64", np.dtype(np.int32): "int32", np.dtype(bool): "bool", np.dtype(np.float64): "double",
         np.dtype(np.uint8): "uint8", np.dtype(np.int8): "int8"}


class Node:
    """One node: its inputs as arrays (None: left out), attributes and how many outputs it has."""

    def __init__(self, op, inputs, outputs=1, **attributes):
        self.op, self.inputs, self.outputs = op, inputs, outputs
        self.attributes = {name: value for name, value in attributes.items() if value is not None}


def shape_of(rng, rank):
    return rng.sample(SIZES, rank)


def numbers(rng, shape, dtype=np.int64, low=-4, high=9):
    values = [rng.randint(low, high) for _ in range(int(np.prod(shape)))]
    array = np.asarray(values, dtype=np.float64).reshape(shape)
    return (array / 2).astype(dtype) if np.dtype(dtype).kind == "f" else array.astype(dtype)


def some(rng, rank=None, dtype=None, least=0):
    # Large tensors are not followed: most are of few elements.
    rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4][2 * least - 1 if least else 0:]) if rank is None else rank
    shape = shape_of(rng, rank)
    while np.prod(shape) > 40 and rng.random() < 0.9:
        shape = shape_of(rng, rank)
        rank = max(rank - 1, least)
    return numbers(rng, shape, dtype or rng.choice([np.int64, np.float32]))


def ints(*values):
    return np.asarray(values, dtype=np.int64)


def axis_of(rng, x):
    """Sometimes an invalid one."""
    if rng.random() < 0.08:
        return x.ndim + rng.randint(0, 1)
    return rng.randrange(-x.ndim, x.ndim) if x.ndim else 0


def axes_of(rng, x):
    axes = rng.sample(range(x.ndim), rng.randint(0, x.ndim))
    return [a - x.ndim if rng.random() < 0.3 else a for a in axes]


def maybe(rng, value, chance=0.5):
    return value if rng.random() < chance else None


def gather(rng):
    x = some(rng, least=1)
    axis = axis_of(rng, x)
    size = x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    return Node("Gather", [x, numbers(rng, shape_of(rng, rng.randint(0, 2)), np.int64, -size, size - 1)], axis=axis)


def gather_elements(rng):
    x = some(rng, least=1)
    axis = axis_of(rng, x)
    size = x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    shape = [rng.randint(1, n) for n in x.shape]
    if -x.ndim <= axis < x.ndim:
        shape[axis] = rng.randint(1, 5)
    return Node("GatherElements", [x, numbers(rng, shape, np.int64, -size, size - 1)], axis=axis)


def tuples(rng, shape, leading):
    """Indices of places: leading sizes and, last, how many numbers a place has."""
    depth = rng.randint(1, len(shape))
    places = int(np.prod(leading))
    rows = [[rng.randrange(-n, n) for n in shape[:depth]] for _ in range(places)]
    return np.asarray(rows, dtype=np.int64).reshape([*leading, depth])


def gather_nd(rng):
    x = some(rng, least=1)
    batch = rng.choice([0, 0, 1, 2])
    if batch >= x.ndim:
        batch = 0
    leading = [*x.shape[:batch], *shape_of(rng, rng.randint(0, 2))]
    return Node("GatherND", [x, tuples(rng, x.shape[batch:], leading)], batch_dims=batch)


def scatter_nd(rng):
    x = some(rng, least=1)
    leading = shape_of(rng, rng.randint(0, 2))
    i = tuples(rng, x.shape, leading)
    updates = numbers(rng, [*leading, *x.shape[i.shape[-1]:]], x.dtype)
    return Node("ScatterND", [x, i, updates], reduction=maybe(rng, rng.choice(["none", "add", "mul", "max", "min"])))


def scatter_elements(rng):
    x = some(rng, least=1)
    axis = axis_of(rng, x)
    size = x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    shape = [rng.randint(1, n) for n in x.shape]
    i = numbers(rng, shape, np.int64, -size, size - 1)
    return Node("ScatterElements", [x, i, numbers(rng, shape, x.dtype)], axis=axis,
                reduction=maybe(rng, rng.choice(["none", "add", "mul", "max", "min"]), 0.3))


def slice_(rng):
    x = numbers(rng, rng.sample([5, 6, 7], rng.randint(1, 2)), rng.choice([np.int64, np.float32]), 0, 60)
    axes = rng.sample(range(x.ndim), rng.randint(1, x.ndim))
    steps = [rng.choice([1, 1, 2, 3, -1, -2]) for _ in axes]
    ends_of = [sorted(rng.choice([rng.randrange(-n, n), rng.randint(-7, 7)]) % (n + 1) for _ in range(2)) for n in (x.shape[a] for a in axes)]
    # Forwards or backwards, and each end now and then counted from the other side or far outside.
    starts, ends = ([e[(step < 0) != last] for e, step in zip(ends_of, steps)] for last in (False, True))
    starts, ends = ([rng.choice([n, n, n - x.shape[a], n + 9]) for n, a in zip(given, axes)] for given in (starts, ends))
    given = [a - x.ndim if rng.random() < 0.3 else a for a in axes]
    inputs = [x, ints(*starts), ints(*ends), ints(*given), ints(*steps)]
    if len(axes) == x.ndim and rng.random() < 0.3:
        inputs = [x, ints(*starts), ints(*ends)]
    return Node("Slice", inputs)


def pad(rng):
    x = some(rng, least=1)
    mode = rng.choice(["constant", "reflect", "edge", "wrap"])
    low = -1 if rng.random() < 0.3 else 0
    if rng.random() < 0.4:
        axes = rng.sample(range(x.ndim), rng.randint(1, x.ndim))
        pads = [rng.randint(low, 2) for _ in range(2 * len(axes))]
        return Node("Pad", [x, ints(*pads), np.asarray(3, dtype=x.dtype), ints(*axes)], mode=mode)
    pads = [rng.randint(low, 2) for _ in range(2 * x.ndim)]
    return Node("Pad", [x, ints(*pads), *([np.asarray(3, dtype=x.dtype)] if rng.random() < 0.5 else [])], mode=mode)


def tile(rng):
    x = some(rng, least=1)
    return Node("Tile", [x, ints(*[rng.randint(0, 3) if rng.random() < 0.2 else rng.randint(1, 3) for _ in range(x.ndim)])])


def expand(rng):
    x = some(rng, least=1)
    x = x[tuple(slice(0, 1) if rng.random() < 0.4 else slice(None) for _ in x.shape)]
    sizes = [rng.choice([n, 1]) if n > 1 else rng.randint(1, 4) for n in x.shape]
    return Node("Expand", [x, ints(*([2] if rng.random() < 0.4 else []), *sizes)])


def concat(rng):
    x = some(rng, least=1)
    axis = axis_of(rng, x)
    parts = [x]
    for _ in range(rng.randint(0, 2)):
        shape = list(x.shape)
        if -x.ndim <= axis < x.ndim:
            shape[axis] = rng.randint(1, 3)
        parts.append(numbers(rng, shape, x.dtype))
    return Node("Concat", parts, axis=axis)


def split(rng):
    x = some(rng, least=1)
    axis = axis_of(rng, x)
    size = x.shape[axis] if -x.ndim <= axis < x.ndim else 2
    if rng.random() < 0.5:
        n = rng.randint(1, max(size, 1))
        return Node("Split", [x], n, axis=axis, num_outputs=n)
    first = rng.randint(0, size)
    return Node("Split", [x, ints(first, size - first)], 2, axis=axis)


def squeeze(rng):
    x = some(rng, least=1)
    x = x[tuple(slice(0, 1) if rng.random() < 0.5 else slice(None) for _ in x.shape)]
    ones = [a for a, n in enumerate(x.shape) if n == 1] or [0]
    if rng.random() < 0.3:
        return Node("Squeeze", [x])
    axes = rng.sample(ones, rng.randint(1, len(ones)))
    return Node("Squeeze", [x, ints(*[a - x.ndim if rng.random() < 0.3 else a for a in axes])])


def unsqueeze(rng):
    x = some(rng, rank=rng.randint(0, 3))
    n = rng.randint(1, 2)
    axes = rng.sample(range(x.ndim + n), n)
    return Node("Unsqueeze", [x, ints(*[a - x.ndim - n if rng.random() < 0.3 else a for a in axes])])


def transpose(rng):
    x = some(rng)
    perm = list(range(x.ndim))
    rng.shuffle(perm)
    return Node("Transpose", [x], perm=maybe(rng, perm, 0.8) if x.ndim else None)


def reshape(rng):
    x = some(rng, least=1)
    sizes = list(x.shape)
    rng.shuffle(sizes)
    if len(sizes) > 1 and rng.random() < 0.5:
        sizes[:2] = [sizes[0] * sizes[1]]
    if rng.random() < 0.4:
        sizes[rng.randrange(len(sizes))] = -1
    elif rng.random() < 0.3:
        sizes[0] = 0
    return Node("Reshape", [x, ints(*sizes)], allowzero=maybe(rng, 1, 0.1))


def flatten(rng):
    x = some(rng, least=1)
    return Node("Flatten", [x], axis=rng.randint(-x.ndim, x.ndim))


def depth_to_space(rng):
    n = numbers(rng, [rng.choice([1, 2]), rng.choice([4, 8, 12]), *rng.sample([1, 2, 3], 2)], np.float32)
    return Node("DepthToSpace", [n], blocksize=2, mode=maybe(rng, rng.choice(["DCR", "CRD"])))


def space_to_depth(rng):
    return Node("SpaceToDepth", [numbers(rng, [rng.choice([1, 2]), rng.choice([1, 3]), *rng.sample([2, 4, 6], 2)], np.float32)], blocksize=2)


def trilu(rng):
    x = some(rng, least=2)
    return Node("Trilu", [x, *([np.asarray(rng.randint(-3, 3))] if rng.random() < 0.7 else [])], upper=maybe(rng, rng.randint(0, 1)))


def cumsum(rng):
    x = some(rng, least=1)
    return Node("CumSum", [x, np.asarray(axis_of(rng, x))], exclusive=maybe(rng, 1), reverse=maybe(rng, 1))


def topk(rng):
    x = some(rng, least=1)
    axis = axis_of(rng, x)
    size = x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    return Node("TopK", [x, ints(rng.randint(1, size))], 2, axis=axis, largest=maybe(rng, rng.randint(0, 1)))


def arg(op):
    def make(rng):
        x = some(rng, least=1)
        return Node(op, [x], axis=axis_of(rng, x), keepdims=maybe(rng, 0), select_last_index=maybe(rng, 1))
    return make


def one_hot(rng):
    i = numbers(rng, shape_of(rng, rng.randint(1, 2)), np.int64, -4, 5)
    return Node("OneHot", [i, np.asarray(rng.randint(2, 5)), ints(2, 7)], axis=maybe(rng, rng.randint(-i.ndim - 1, i.ndim)))


def range_(rng):
    kind = rng.choice([np.int64, np.float32, np.int32])
    first, step = rng.randint(-3, 3), rng.choice([1, 2, -1, 3])
    return Node("Range", [np.asarray(n, dtype=kind) for n in (first, first + step * rng.randint(-1, 6) + rng.choice([0, 1]), step)])


def eye_like(rng):
    return Node("EyeLike", [some(rng, rank=2)], dtype=maybe(rng, 7), k=maybe(rng, rng.randint(-2, 2)))


def broadcast_pair(rng, dtype):
    x = some(rng, dtype=dtype)
    shape = [1 if rng.random() < 0.3 else n for n in x.shape][rng.randint(0, x.ndim):]
    pair = [x, numbers(rng, shape, dtype, 1, 6)]
    return pair[::-1] if rng.random() < 0.4 else pair


def where(rng):
    x, y = broadcast_pair(rng, rng.choice([np.int64, np.float32]))
    big = x if x.ndim >= y.ndim else y
    shape = [1 if rng.random() < 0.3 else n for n in big.shape][rng.randint(0, big.ndim):]
    return Node("Where", [numbers(rng, shape, np.int64, 0, 1).astype(bool), x, y])


def binary(op, types=(np.int64, np.float32), **attributes):
    def make(rng):
        return Node(op, broadcast_pair(rng, rng.choice(types)), **attributes)
    return make


def logical(op):
    def make(rng):
        return Node(op, [n > 2 for n in broadcast_pair(rng, np.int64)])
    return make


def unary(op, types=(np.int64, np.float32)):
    def make(rng):
        return Node(op, [some(rng, dtype=rng.choice(types))])
    return make


def nonzero(rng):
    # Of a scalar ONNX's text gives [0,1], and the runtime [1,1].
    return Node("NonZero", [some(rng, least=1)])


def clip(rng):
    x = some(rng)
    low, high = np.asarray(-1, dtype=x.dtype), np.asarray(2, dtype=x.dtype)
    return Node("Clip", [x, *rng.choice([[low, high], [low], [None, high], []])])


def mod(rng):
    x, y = broadcast_pair(rng, np.int64)
    return Node("Mod", [x, np.where(y == 0, 3, y)], fmod=maybe(rng, 1, 0.3))


def div(rng):
    kind = rng.choice([np.int64, np.float32])
    x, y = broadcast_pair(rng, kind)
    return Node("Div", [x, np.where(y == 0, 2, y).astype(kind)])


def several(op):
    def make(rng):
        kind = rng.choice([np.int64, np.float32]) if op not in ("Mean", "Sum") else np.float32
        return Node(op, [*broadcast_pair(rng, kind), numbers(rng, [], kind)][: rng.randint(1, 3)])
    return make


def reduce(op):
    def make(rng):
        x = some(rng, least=1)
        inputs = [x] if rng.random() < 0.2 else [x, ints(*axes_of(rng, x))]
        return Node(op, inputs, keepdims=maybe(rng, 0), noop_with_empty_axes=maybe(rng, 1, 0.3))
    return make


def shape(rng):
    return Node("Shape", [some(rng)], start=maybe(rng, rng.randint(-5, 5)), end=maybe(rng, rng.randint(-5, 5)))


def constant_of_shape(rng):
    return Node("ConstantOfShape", [ints(*shape_of(rng, rng.randint(0, 3)))])


def cast(rng):
    return Node("Cast", [some(rng)], to=rng.choice([1, 2, 3, 6, 7, 9, 11]))


def compress(rng):
    x = some(rng, least=1)
    axis = maybe(rng, axis_of(rng, x), 0.7)
    size = x.size if axis is None else x.shape[axis] if -x.ndim <= axis < x.ndim else 2
    return Node("Compress", [x, numbers(rng, [rng.randint(1, size)], np.int64, 0, 1).astype(bool)], axis=axis)


def unique(rng):
    x = some(rng, least=1)
    return Node("Unique", [numbers(rng, x.shape, x.dtype, 0, 3)], 4, axis=maybe(rng, axis_of(rng, x)), sorted=maybe(rng, rng.randint(0, 1)))


def reverse_sequence(rng):
    x = some(rng, least=2)
    batch = rng.choice([0, 1])
    lengths = numbers(rng, [x.shape[batch]], np.int64, 1, x.shape[1 - batch])
    return Node("ReverseSequence", [x, lengths], batch_axis=batch, time_axis=1 - batch)


def matmul(rng):
    k = rng.choice(SIZES)
    x, y = (numbers(rng, s, np.float32) for s in ([*shape_of(rng, rng.randint(0, 2)), k], [k, *shape_of(rng, rng.randint(0, 1))]))
    return Node("MatMul", [x, y])


def center_crop_pad(rng):
    x = some(rng, least=1, dtype=np.float32)
    axes = rng.sample(range(x.ndim), rng.randint(1, x.ndim))
    return Node("CenterCropPad", [x, ints(*[rng.randint(1, 6) for _ in axes])], axes=axes)


def resize(rng):
    x = numbers(rng, [1, rng.choice([1, 2]), *rng.sample([2, 3, 4, 5], 2)], np.float32)
    axes = rng.choice([None, [2, 3], [3, 2]])
    last = [rng.choice([0.5, 1.0, 1.5, 2.0, 2.6]) for _ in range(2)]
    policy = rng.choice(["stretch", "not_larger", "not_smaller"])
    if rng.random() < 0.5:
        scales = np.asarray(last if axes else [1.0, 1.0, *last], dtype=np.float32)
        return Node("Resize", [x, None, scales], axes=axes, mode="nearest")
    sizes = [rng.randint(1, 9) for _ in range(2)]
    sizes = sizes if axes else [1, x.shape[1], *sizes]
    return Node("Resize", [x, None, None, ints(*sizes)], axes=axes, mode="nearest", keep_aspect_ratio_policy=policy if axes else None)


MAKERS = [gather, gather_elements, gather_nd, scatter_nd, scatter_elements, slice_, pad, tile, expand, concat, split, squeeze, unsqueeze, transpose,
          reshape, flatten, depth_to_space, space_to_depth, trilu, cumsum, topk, arg("ArgMax"), arg("ArgMin"), one_hot, range_, eye_like, where,
          clip, mod, div, shape, constant_of_shape, cast, compress, unique, reverse_sequence, matmul, center_crop_pad, resize,
          unary("Size"), nonzero, unary("Neg"), unary("Abs"), unary("Sign"), unary("Identity"), unary("Relu", (np.float32,)),
          *[unary(op, (np.float32,)) for op in ("Floor", "Ceil", "Round", "Sqrt", "Reciprocal", "IsNaN", "IsInf")],
          *[binary(op) for op in ("Add", "Sub", "Mul", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Pow")],
          *[logical(op) for op in ("And", "Or", "Xor")], *[several(op) for op in ("Max", "Min", "Sum", "Mean")],
          *[reduce(op) for op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean", "ReduceL1", "ReduceSumSquare")]]


def model_of(node):
    names = [f"i{i}" if x is not None else "" for i, x in enumerate(node.inputs)]
    tensors = [onnx.numpy_helper.from_array(np.ascontiguousarray(x).reshape(x.shape), f"i{i}") for i, x in enumerate(node.inputs) if x is not None]
    outputs = [onnx.ValueInfoProto(name=f"o{i}") for i in range(node.outputs)]
    made = onnx.helper.make_node(node.op, names, [o.name for o in outputs], **node.attributes)
    graph = onnx.helper.make_graph([made], "g", [], outputs, tensors)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=10)


def literal(value):
    return json.dumps(value) if isinstance(value, str) else str(value)


def elements(array):
    if array.dtype.kind == "f":
        return [float(n) for n in array.ravel()]
    return [int(n) for n in array.ravel()]


def text_of(node):
    """In ONNX's text form; the types of outputs are left to who reads it."""
    tensors = []
    for i, x in enumerate(node.inputs):
        if x is None:
            continue
        sizes = f"[{','.join(map(str, x.shape))}]" if x.ndim else ""
        tensors.append(f"{TYPES[x.dtype]}{sizes} i{i} = {{{', '.join(map(str, elements(x)))}}}")
    attributes = ", ".join(f"{name} = {literal(value)}" for name, value in node.attributes.items())
    outputs = [f"o{i}" for i in range(node.outputs)]
    inputs = ", ".join(f"i{i}" if x is not None else "" for i, x in enumerate(node.inputs))
    declared = ", ".join(f"float[] {o}" for o in outputs)
    return f"g () => ({declared}) <{', '.join(tensors)}> {{ {', '.join(outputs)} = {node.op}{f'<{attributes}>' if attributes else ''}({inputs}) }}"


def run(node):
    """The outputs; None where the node is refused."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model_of(node).SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, {})
    except Exception:  # of any kind: the runtime has many
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("--count", type=int, default=20)
    args = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    lines = []
    for n, make in enumerate(MAKERS):
        rng = random.Random(n)
        kept = refused = 0
        while kept < args.count:
            node = make(rng)
            outputs = run(node)
            if outputs is None:
                refused += 1
                if refused > 3 * args.count:
                    raise SystemExit(f"{node.op} never runs: {text_of(node)}")
                if refused > args.count // 4:
                    continue
            elif sum(o.size for o in outputs) > 80 or not all(np.isfinite(o).all() for o in outputs if o.dtype.kind == "f"):
                continue
            kept += outputs is not None
            truth = outputs and [{"type": TYPES[o.dtype], "sizes": list(o.shape), "elements": elements(o)} for o in outputs]
            lines.append(json.dumps({"graph": text_of(node), "outputs": truth}))
    with open(args.output, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    print(f"{len(lines)} nodes of {len(MAKERS)} operators")


if __name__ == "__main__":
    main()
