#!/usr/bin/env python3
"""Models that lie, and files that are no models, for the golden files tests/golden/bad-*.

    models.py NAME     writes one to standard output
    models.py          lists the names

Written as bytes, without the onnx package: its writer would refuse half of them.
"""
import os
import sys


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out + bytes([n]))


def num(field, value):
    return varint(field << 3) + varint(value)


def msg(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


FLOAT, INT64, BOOL = 1, 7, 9


def tensor_type(dims, dtype=FLOAT):
    shape = b"".join(msg(1, msg(2, d) if isinstance(d, str) else num(1, d)) for d in dims)
    return msg(1, num(1, dtype) + msg(2, shape))


def value(name, dims, dtype=FLOAT):
    return msg(1, name) + msg(2, tensor_type(dims, dtype))


def tensor(name, dims, values=None, raw=None, dtype=INT64):
    data = b"".join((v & (1 << 64) - 1).to_bytes(8, "little") for v in values or []) if raw is None else raw
    return b"".join(num(1, d) for d in dims) + num(2, dtype) + msg(8, name) + msg(9, data)


def ints(name, values):
    return msg(5, msg(1, name) + b"".join(num(8, v) for v in values) + num(20, 7))


def integer(name, v):
    return msg(5, msg(1, name) + num(3, v) + num(20, 2))


def text(name, v):
    return msg(5, msg(1, name) + msg(4, v) + num(20, 3))


def body(name, g):
    return msg(5, msg(1, name) + msg(6, g) + num(20, 5))


def node(op, inputs, outputs, attributes=b"", domain=""):
    return b"".join(msg(1, i) for i in inputs) + b"".join(msg(2, o) for o in outputs) + msg(4, op) + attributes + (msg(7, domain) if domain else b"")


def graph(nodes, inputs=(), outputs=(), initializers=()):
    return (b"".join(msg(1, n) for n in nodes) + msg(2, "g") + b"".join(msg(5, t) for t in initializers)
            + b"".join(msg(11, v) for v in inputs) + b"".join(msg(12, v) for v in outputs))


def model(g, functions=(), opset=18):
    local = msg(8, msg(1, "local") + num(2, 1)) if functions else b""
    return num(1, 8) + msg(7, g) + msg(8, num(2, opset)) + local + b"".join(msg(25, f) for f in functions)


def function(name, nodes, inputs=("x",), outputs=("y",)):
    return (msg(1, name) + b"".join(msg(4, i) for i in inputs) + b"".join(msg(5, o) for o in outputs) + b"".join(msg(7, n) for n in nodes)
            + msg(9, num(2, 18)) + msg(9, msg(1, "local") + num(2, 1)) + msg(10, "local"))


def call(name, x, y):
    return node(name, [x], [y], domain="local")


def one(op, dims, attributes=b"", initializers=(), more=(), dtype=FLOAT):
    """One node over inputs of the given shapes."""
    names = [f"x{i}" for i in range(len(dims))]
    return model(graph([node(op, names + list(more), ["y"], attributes)], [value(n, d, dtype) for n, d in zip(names, dims)], [msg(1, "y")], initializers))


def conv(attributes=b"", x=(1, 4, 8, 8), w=(4, 4, 3, 3)):
    return one("Conv", [x, w], attributes)


def call_tree(depth):
    """f0 calls f1 twice, which calls f2 twice, ..."""
    fs = [function(f"f{i}", [call(f"f{i+1}", "x", "a"), call(f"f{i+1}", "a", "y")]) for i in range(depth)]
    fs.append(function(f"f{depth}", [node("Relu", ["x"], ["y"])]))
    return model(graph([call("f0", "x", "y")], [value("x", [3])], [msg(1, "y")]), fs)


def nested_ifs(depth):
    """Built by lengths, from the inside: a copy per level would take seconds."""
    out = [msg(12, msg(1, "y"))]
    leaf = graph([node("Identity", ["c"], ["y"])], [], out)
    before, after, size = [], [], len(leaf)
    for _ in range(depth):
        fields = node("If", ["c"], ["y"])
        layers = [(varint(6 << 3 | 2), num(20, 5)), (varint(5 << 3 | 2), body("else_branch", leaf)), (varint(1 << 3 | 2), msg(2, "g") + out[0])]
        for i, (tag, end) in enumerate(layers):
            begin = (msg(1, "then_branch") if i == 0 else b"") + tag + varint(size)
            if i == 1:
                begin = fields + begin
            before.append(begin)
            after.append(end)
            size += len(begin) + len(end)
    return model(b"".join(reversed(before)) + leaf + b"".join(after) + msg(11, value("c", [], BOOL)))


def nested_sequences(depth):
    t = tensor_type([1])
    for _ in range(depth):
        t = msg(4, msg(1, t))
    return model(graph([node("Identity", ["x"], ["y"])], [msg(1, "x") + msg(2, t)], [msg(1, "y")]))


def loop(trips):
    inner = graph([node("Relu", ["v"], ["w"]), node("Identity", ["c"], ["d"])], [value("i", [], INT64), value("c", [], BOOL), value("v", [2])],
                  [msg(1, "d"), msg(1, "w")])
    return model(graph([node("Loop", ["n", "", "x"], ["y"], body("body", inner))], [value("x", [2])], [msg(1, "y")], [tensor("n", [], [trips])]))


def growing_loop(trips):
    """Each trip adds a row, as a decoder's cache does."""
    inner = graph([node("Concat", ["v", "x"], ["w"], integer("axis", 0)), node("MatMul", ["w", "m"], ["s"]), node("Identity", ["c"], ["d"])],
                  [value("i", [], INT64), value("c", [], BOOL), value("v", ["rows", 4])], [msg(1, "d"), msg(1, "w")])
    return model(graph([node("Loop", ["n", "", "x"], ["y"], body("body", inner))], [value("x", [1, 4]), value("m", [4, 8])], [msg(1, "y")],
                       [tensor("n", [], [trips])]))


def deep_modules(depth):
    return chain(node("Relu", ["x"], ["y"]) + msg(3, "/" + "m/" * depth + "Relu"), inputs=X)


def many_modules(nodes, depth):
    return model(graph([node("Relu", ["x"], [f"y{i}"]) + msg(3, f"{i}/" + "a/" * depth + "Relu") for i in range(nodes)], X, [msg(1, "y0")]))


def chain(*nodes, inputs=(), initializers=()):
    return model(graph(nodes, inputs, [msg(1, "y")], initializers))


def symbols(count):
    inputs = [value(f"x{i}", [f"s{i}", 4]) for i in range(count)]
    return model(graph([node("Relu", [f"x{i}"], [f"y{i}"]) for i in range(count)], inputs, [msg(1, f"y{i}") for i in range(count)]))


def sums_of_symbols(count):
    """Each sum has one term more than the one before."""
    inputs = [value(f"x{i}", [f"s{i}", 1]) for i in range(count)]
    nodes = [node("Concat", [f"v{i-1}" if i > 1 else "x0", f"x{i}"], [f"v{i}"], integer("axis", 0)) for i in range(1, count)]
    return model(graph(nodes, inputs, [msg(1, f"v{count-1}")]))


def product_of_sums(count):
    """A polynomial of count^2 terms."""
    inputs = [value(f"a{i}", [f"s{i}", 1]) for i in range(count)] + [value(f"b{i}", [1, f"t{i}"]) for i in range(count)]
    nodes = [node("Concat", [f"a{i}" for i in range(count)], ["a"], integer("axis", 0)),
             node("Concat", [f"b{i}" for i in range(count)], ["b"], integer("axis", 1)), node("Mul", ["a", "b"], ["y"])]
    return model(graph(nodes, inputs, [msg(1, "y")]))


def many_products_of_sums(products, count=310):
    """Costs of 90,000 terms each, no two the same."""
    inputs = [value(f"a{i}", [f"s{i}", 1]) for i in range(count)] + [value(f"b{i}", [1, f"t{i}"]) for i in range(count)]
    nodes = [node("Concat", [f"b{i}" for i in range(count)], ["b"], integer("axis", 1))]
    for k in range(products):
        some = [f"a{i}" for i in range(count) if (7 * i + k) % count > k % 40]
        nodes += [node("Concat", some, [f"c{k}"], integer("axis", 0)), node("Mul", [f"c{k}", "b"], [f"y{k}"])]
    return model(graph(nodes, inputs, [msg(1, f"y{k}") for k in range(products)]))


def lines_that_command():
    """Names with which a line of a comment or a log would be a command, or with which a diff would begin."""
    nodes = [node("retest", ["+++"], ["a"], domain="bors r+") + msg(3, "/merge"), node("Relu", ["a"], ["---"]) + msg(3, "@dependabot merge"),
             node("Relu", ["---"], ["y"]) + msg(3, "GH-1 #1 user/repo#1 deadbeef")]
    return msg(2, "/approve") + model(graph(nodes, [value("+++", ["/close", 3])], [msg(1, "y")]))


def wide_row(inputs):
    """Each of the inputs takes three bytes, and stands for dimensions of 250."""
    return model(graph([node("Sum", ["x"] * inputs, ["y"])], [value("x", [c * 250 for c in "abcd"])], [msg(1, "y")]))


def rows_left_out():
    """Two names of 300 kB in loops of 64 trips, one of an operator without a rule, and rows of 70 inputs and outputs."""
    io = ([value("i", [], INT64), value("c", [], BOOL)], [msg(1, "c")])
    inner = graph([node("Relu", ["x"], ["u"]) + msg(3, "n" * 300000), node("Foo", ["x"], ["v"]) + msg(3, "m" * 300000)], *io)
    outer = graph([node("Loop", ["n", ""], [], body("body", inner))], *io)
    wide = [node("Sum", ["x"] * 70, ["s"]), node("Split", ["s"], [f"p{i}" for i in range(70)], integer("num_outputs", 70))]
    return model(graph(wide + [node("Loop", ["n", ""], [], body("body", outer))], [value("x", [70])], [msg(1, "s")], [tensor("n", [], [64])]))


X = [value("x", [2, 3])]
MODELS = {
    "function-calls-itself": lambda: model(graph([call("f", "x", "y")], X, [msg(1, "y")]), [function("f", [call("f", "x", "y")])]),
    "functions-call-each-other": lambda: model(graph([call("f", "x", "y")], X, [msg(1, "y")]), [function("f", [call("g", "x", "y")]), function("g", [call("f", "x", "y")])]),
    "calls-2-to-the-30": lambda: call_tree(30),
    "calls-250-deep": lambda: call_tree(250),
    "ifs-10000-deep": lambda: nested_ifs(10000),
    "sequences-10000-deep": lambda: nested_sequences(10000),
    "conv-stride-0": lambda: conv(ints("strides", [0, 1])),
    "conv-group-0": lambda: conv(integer("group", 0)),
    "conv-dilation-negative": lambda: conv(ints("dilations", [-1, 1])),
    "conv-kernel-too-large": lambda: conv(x=(1, 4, 2, 2)),
    "conv-channels-differ": lambda: conv(x=(1, 5, 8, 8)),
    "reshape-does-not-fit": lambda: chain(node("Reshape", ["x", "s"], ["y"]), inputs=X, initializers=[tensor("s", [2], [4, 2])]),
    "raw-data-7-bytes": lambda: chain(node("Reshape", ["x", "s"], ["y"]), inputs=X, initializers=[tensor("s", [1], raw=b"\1" * 7)]),
    "dimension-negative": lambda: one("Relu", [[2, -4]]),
    "dimension-2-to-the-62": lambda: one("Relu", [[1 << 62]]),
    "elements-2-to-the-124": lambda: one("Relu", [[1 << 62, 1 << 62]]),
    "initializer-negative": lambda: chain(node("Relu", ["w"], ["y"]), initializers=[tensor("w", [-4], [])]),
    "loop-2-to-the-63": lambda: loop((1 << 63) - 1),
    "loop-that-grows-100-times": lambda: growing_loop(100),
    "loop-that-grows-100000-times": lambda: growing_loop(100000),
    "modules-1000-deep": lambda: deep_modules(1000),
    "modules-64-per-node": lambda: many_modules(5800, 63),
    "loop-negative": lambda: loop(-5),
    "range-step-0": lambda: chain(node("Range", ["a", "b", "c"], ["y"]), initializers=[tensor("a", [], [0]), tensor("b", [], [10]), tensor("c", [], [0])]),
    "range-2-to-the-62": lambda: chain(node("Range", ["a", "b", "c"], ["r"]), node("Add", ["r", "c"], ["y"]),
                                       initializers=[tensor("a", [], [0]), tensor("b", [], [1 << 62]), tensor("c", [], [1])]),
    "expand-2-to-the-80": lambda: chain(node("Expand", ["x", "s"], ["e"]), node("Relu", ["e"], ["y"]), inputs=[value("x", [1])],
                                        initializers=[tensor("s", [2], [1 << 40, 1 << 40])]),
    "cost-over-128-bits": lambda: chain(node("Expand", ["x", "s"], ["e"]), node("MatMul", ["e", "e"], ["y"]), inputs=[value("x", [1])],
                                        initializers=[tensor("s", [4], [1 << 40, 1 << 40, 1 << 40, 1 << 40])]),
    "constantofshape-2-to-the-62": lambda: chain(node("ConstantOfShape", ["s"], ["c"]), node("NonZero", ["c"], ["y"]), initializers=[tensor("s", [1], [1 << 62])]),
    "einsum-10000-labels": lambda: one("Einsum", [[2] * 60], text("equation", "a" * 10000)),
    "einsum-no-equation": lambda: one("Einsum", [[2, 2]]),
    "cycle": lambda: chain(node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"]), inputs=X),
    "two-outputs-of-one-name": lambda: chain(node("Relu", ["x"], ["y"]), node("Abs", ["x"], ["y"]), inputs=X),
    "missing-input": lambda: chain(node("Add", ["x", "nowhere"], ["y"]), inputs=X),
    "missing-output": lambda: model(graph([node("Relu", ["x"], ["z"])], X, [msg(1, "y")])),
    "no-inputs": lambda: one("MatMul", [[2, 3]]),
    "opset-99": lambda: model(graph([node("Relu", ["x"], ["y"])], X, [msg(1, "y")]), opset=99),
    "matmul-does-not-fit": lambda: one("MatMul", [[2, 3], [4, 5]]),
    "concat-axis": lambda: one("Concat", [[2, 3], [2, 3]], integer("axis", 7)),
    "attribute-of-the-wrong-type": lambda: one("Concat", [[2, 3], [2, 3]], text("axis", "1")),
    "split-negative": lambda: one("Split", [[6]], integer("num_outputs", -3)),
    "symbols-10000": lambda: symbols(10000),
    "sums-of-3000-symbols": lambda: sums_of_symbols(3000),
    "terms-40000": lambda: product_of_sums(200),
    "terms-160000": lambda: product_of_sums(400),
    "costs-of-30000000-terms": lambda: many_products_of_sums(300),
    "dimension-names-of-300-bytes": lambda: model(graph([node("Relu", ["x0"], ["y0"]), node("Relu", ["x1"], ["y1"]), node("Relu", ["x2"], ["y2"])],
                                                        [value("x0", ["n" * 300 + "a"]), value("x1", ["n" * 300 + "b"]), value("x2", ["n" * 300 + "a", 5])], [msg(1, "y0")])),
    "name-of-a-megabyte": lambda: chain(node("Relu", ["x"], ["y"]) + msg(3, "n" * (1 << 20)), node("Add", ["y", "nowhere"], ["z"]), inputs=X),
    "names-that-attack": lambda: model(graph([node("Foo", ["x"], ["y"]) + msg(3, "\x1b[31m::error::</details>@team [x](http://y)\r\n=1+2")], X, [msg(1, "y")])),
    "names-that-command": lambda: model(graph([node("Relu", ["x"], ["a"]) + msg(3, "::error file=a.py::no"), node("Relu", ["a"], ["b"]) + msg(3, "##[error]no"),
                                               node("Relu", ["b"], ["y"]) + msg(3, "-1+2")], X, [msg(1, "y")])),
    "names-that-command-in-errors": lambda: model(graph([node("Conv", ["::error::x", "##[error]w"], ["y"], ints("strides", [0, 1]))],
                                                        [value("::error::x", [1, 4, 8, 8]), value("##[error]w", [4, 4, 3, 3])], [msg(1, "y")])),
    "text-that-commands-in-errors": lambda: chain(node("DepthToSpace", ["x"], ["y"], integer("blocksize", 2) + text("mode", "a\n::error::##[b]\x1b[31m")), inputs=[value("x", [1, 4, 8, 8])]),
    "lines-that-command": lines_that_command,
    "dimensions-that-look-like-code": lambda: model(graph(
        [node("Relu", ["x"], ["a"]), node("NonZero", ["a"], ["n"]) + msg(3, "/x"), node("NonZero", ["a"], ["y"]) + msg(3, "f(a) + b")],
        [value("x", ["1000x", "__import__('os')", "a + b", "nonzero(/x)", "past", "past + 1", "x.0"]), value("p", ["past", ""])], [msg(1, "y")])),
    "names-that-nobody-sees": lambda: model(graph([node("Relu", ["x"], ["y"]) + msg(3, "a\u200bb\ufeffc\u00add\u3164e\u2800f\ufe0fg\U000e0041")],
                                                  [value("x", ["n\u200b"])], [msg(1, "y")])),
    "formulas-behind-semicolons": lambda: model(graph([node("Relu", ["x"], ["y"]) + msg(3, 'a;=cmd|x;"+1;b; -2')], X, [msg(1, "y")])),
    "domains-that-look-alike": lambda: chain(node("Relu", ["x"], ["y"]), inputs=X) + b"".join(msg(8, msg(1, d) + num(2, 1)) for d in (b"d\xff", b"d\xfe")),
    "inputs-16000": lambda: wide_row(16000),
    "rows-left-out": rows_left_out,
    "bytes-that-are-no-text": lambda: model(graph([node("Foo", ["x"], ["y"]) + msg(3, b"\xff\xfe\x80")], X, [msg(1, "y")])),
    "empty": lambda: b"",
    "zeros": lambda: bytes(1000),
    "png": lambda: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "jpeg": lambda: b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    "html": lambda: b"<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n",
    "zip": lambda: b"PK\x03\x04\x14\0\0\0\x08\0",
    "gzip": lambda: b"\x1f\x8b\x08\0\0\0\0\0",
    "pickle": lambda: b"\x80\x02}q\0(X\x06\0\0\0conv1.",
    "safetensors": lambda: (58).to_bytes(8, "little") + b'{"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}  ' + bytes(16),
    "tflite": lambda: b"\x1c\0\0\0TFL3\x14\0\x20\0",
    "gguf": lambda: b"GGUF\x03\0\0\0",
    "hdf5": lambda: b"\x89HDF\r\n\x1a\n",
    "lfs": lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1234\n",
    "json": lambda: b'{"architectures": ["CLIPModel"]}\n',
    "text": lambda: b"ir_version: 8\ngraph { node { op_type: \"Relu\" } }\n",
}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in MODELS:
        print("\n".join(MODELS))
        sys.exit(0 if len(sys.argv) == 1 else 2)
    try:
        sys.stdout.buffer.write(MODELS[sys.argv[1]]())
        sys.stdout.flush()
    except BrokenPipeError:  # who reads it has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
