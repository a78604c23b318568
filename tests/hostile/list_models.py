"""Hostile models under a megabyte of long lists and texts: nodes, inputs, outputs, attributes, dimensions, contents.

MODELS maps the name of each to a function that returns its bytes. Names say what grows. amplification.py runs them.
"""

from models import BOOL, FLOAT, INT64, body, call, function, graph, integer, model, msg, node, num, tensor, text, value


def contents_1024():
    """Each node makes another 1024 integers."""
    n = 46000
    return model(
        graph(
            [node("Add", [f"{i:x}", "o"], [f"{i+1:x}"]) for i in range(n)],
            [],
            [msg(1, f"{n:x}")],
            [tensor("0", [1024], list(range(1024))), tensor("o", [], [1])],
        )
    )


def error_inputs():
    """An error lists all inputs with their shapes."""
    return model(graph([node("Concat", ["x"] * 16000, ["y"], integer("axis", 7))], [value("x", ["n" * 50000])], [msg(1, "y")]))


def node_rows_shapes():
    """Rows of nodes: each holds all names and shapes of its inputs."""

    def lp(b):
        return node("Loop", ["n", ""], [], body("body", b))

    io = ([value("i", [], INT64), value("c", [], BOOL)], [msg(1, "c")])
    g = lambda nodes: graph(nodes, *io)
    u = node("Sum", ["x"] * 1000, ["u"])
    return model(graph([lp(g([lp(g([u]))])) for _ in range(20)], [value("x", ["a"] * 60)], [msg(1, "x")], [tensor("n", [], [64])]))


def sequence_hash2():
    """The hash of a fact omits the items of a sequence: all sequences collide."""
    n = 31000
    s = [node("SequenceInsert", ["q" if i == 0 else f"{i:x}", "x"], [f"{i+1:x}"]) for i in range(n)]
    return model(graph([node("SequenceConstruct", ["x"], ["q"])] + s, [value("x", [1])], [msg(1, "1")]))


def sequence_items():
    """Each sequence holds copies of 64 facts."""
    n = 8000
    s = []
    for i in range(n):
        s += [node("SequenceInsert", ["q", "x" if i == 0 else f"y{i:x}", "z"], [f"s{i:x}"])]
    return model(
        graph(
            [node("SequenceConstruct", ["x"] * 63, ["q"])] + s,
            [value("x", [1] * 60)] + [value(f"y{i:x}", [i + 1]) for i in range(1, n)],
            [msg(1, "s0")],
            [tensor("z", [], [0])],
        )
    )


def table_padding():
    """One name of 400 kB: every row of the table is padded to its width."""
    n = 14000
    return model(
        graph([node("Relu", ["x"], ["y"]) + msg(3, "n" * 400000)] + [node("Relu", ["x"], [f"{i:x}"]) for i in range(n)], [value("x", [3])], [msg(1, "y")])
    )


def different_attributes():
    """Nodes that differ in an attribute: each is counted for itself."""
    return model(graph([node("Relu", ["x"], [f"{i:x}"], integer("0", i)) for i in range(32_000)], [value("x", [2])], [msg(1, "0")]))


def different_shapes():
    """Nodes of different shapes: each is counted for itself, and all costs differ."""
    n = 18_000
    nodes = [node("MatMul", [f"m{i:x}", "r"], [f"{i:x}"]) for i in range(n)]
    return model(graph(nodes, [value(f"m{i:x}", [i + 1, 2]) for i in range(n)] + [value("r", [2, 2])], [msg(1, "0")]))


def dims_60():
    """Shapes of 60 symbols with names of 250 bytes on each node's inputs and outputs."""
    dims = [f"{i:02d}" + "n" * 248 for i in range(60)]
    return model(graph([node("Relu", ["x" if i == 0 else f"{i - 1:x}"], [f"{i:x}"]) for i in range(42_000)], [value("x", dims)], [msg(1, "0")]))


def dims_60_distinct():
    """Transposed shapes of 60 symbols, all different."""
    dims = [f"{i:02d}" + "n" * 40 for i in range(60)]
    perms = []
    for i in range(9_000):
        p = list(range(60))
        a, b = i % 60, i // 60 % 60
        p[a], p[b] = p[b], p[a]
        if i // 3600:
            p[57], p[58], p[59] = p[59], p[57], p[58]
        perms.append(msg(5, msg(1, "perm") + msg(8, bytes(p)) + num(20, 7)))
    return model(graph([node("Transpose", ["x"], [f"{i:x}"], p) for i, p in enumerate(perms)], [value("x", dims)], [msg(1, "0")]))


def einsum_inputs():
    """Einsums of 15,000 inputs."""
    equation = lambda i: text("equation", ",".join(["a"] * 15_000) + "->a" + " " * i)
    return model(graph([node("Einsum", ["x"] * 15_000, [f"y{i}"], equation(i)) for i in range(13)], [value("x", ["s"])], [msg(1, "y0")]))


def empty_attributes():
    """Attributes of a name of a byte, on nodes of an operator that nobody knows."""
    many = b"".join(integer(f"{i:x}", 0) for i in range(1_000))
    return model(graph([node("U", [], [], many) for _ in range(75)], [value("x", [2])], [msg(1, "x")]))


def empty_strings():
    """A list of 500,000 empty strings, again and again."""
    strings = msg(5, msg(1, "value_strings") + msg(9, "") * 250_000 + num(20, 8))
    return model(graph([node("Constant", [], ["y"], strings), node("Constant", [], ["z"], strings)], [value("x", [2])], [msg(1, "y")]))


def function_attributes():
    """Nodes of a function whose attributes stand for one of 1,000 of the call."""
    reference = msg(5, msg(1, "axis") + msg(21, "z") + num(20, 2))
    f = function("f", [node("Softmax", ["x"], [f"{i:x}"], reference) for i in range(20_000)] + [node("Relu", ["x"], ["y"])])
    many = b"".join(integer(f"{i:x}", 1) for i in range(1_000)) + integer("z", 0)
    return model(graph([node("f", ["x"], ["y"], many, domain="local")], [value("x", [2, 3])], [msg(1, "y")]), [f])


def initializers():
    """As many initializers as fit."""
    return model(graph([node("Relu", ["x"], ["y"])], [value("x", [2])], [msg(1, "y")], [msg(8, f"{i:x}") + num(2, 1) for i in range(100_000)]))


def long_input():
    """An input whose name of 900,000 bytes stands in the names of its 60 dimensions."""
    long = "n" * 900_000
    return model(graph([node("Relu", ["x"], ["y"])], [value("x", [1]), msg(1, long) + msg(2, msg(1, num(1, FLOAT) + msg(2, msg(1, b"") * 60)))], [msg(1, "y")]))


def loop_inputs():
    """A loop that carries 16,000 values."""
    k = 16_000
    names = [f"{j:x}" for j in range(k)]
    inner = graph([], [value("i", [], INT64), value("on", [], BOOL)] + [msg(1, v) for v in names], [msg(1, v) for v in ["on", *["0"] * k]])
    return model(graph([node("Loop", ["n", "", *["x"] * k], [""] * k, body("body", inner))], [value("x", [2])], [msg(1, "x")], [tensor("n", [], [64])]))


def metadata_nodes():
    """A node of 90,000 properties."""
    return model(graph([node("Relu", ["x"], ["y"]) + b"".join(msg(9, msg(1, f"{i:x}") + msg(2, "")) for i in range(90_000))], [value("x", [2])], [msg(1, "y")]))


def opset_domains():
    """255 imports with long names, and an operator of each of them."""
    domains = [f"{i:03d}" + "d" * 1_900 for i in range(255)]
    imports = b"".join(msg(8, msg(1, d) + num(2, 1)) for d in domains)
    return model(graph([node("U", ["x"], [f"{i:x}"], domain=d) for i, d in enumerate(domains)], [value("x", [2])], [msg(1, "0")])) + imports


def outputs_shapes():
    """Outputs of the graph of 60 dimensions with names of 250 bytes."""
    dims = [f"{i:02d}" + "n" * 248 for i in range(60)]
    return model(graph([node("Relu", ["x"], ["y"])], [value("x", dims)], [msg(1, "y") for _ in range(200_000)]))


def outputs_shapes_distinct():
    """The same, each of its own name."""
    dims = [f"{i:02d}" + "n" * 248 for i in range(60)]
    n = 30_000
    return model(graph([node("Identity", ["x"], [f"{i:x}"]) for i in range(n)], [value("x", dims)], [msg(1, f"{i:x}") for i in range(n)]))


def sequence_construct():
    """Sequences of 16,000 items of 60 dimensions."""
    nodes = [node("SequenceConstruct", ["x"] * 16_000, [f"y{i}"], integer("0", i)) for i in range(20)]
    return model(graph(nodes, [value("x", ["s"] * 60)], [msg(1, "y0")]))


def split_outputs():
    """Splits into 16,000 parts of 60 dimensions."""
    n = 16_000
    nodes = [node("Split", ["x"], ["" if i else f"y{k}" for i in range(n)], integer("num_outputs", n) + integer("0", k)) for k in range(25)]
    return model(graph(nodes, [value("x", [n + 1] + ["s"] * 59)], [msg(1, "y0")]))


def sum_inputs():
    """Sums of 16,000 inputs of 60 dimensions; neighbouring inputs are different values."""
    nodes = [node("Sum", ["x", "w"] * 8_000, [f"y{i}"], integer("0", i)) for i in range(20)]
    return model(graph(nodes, [value("x", ["s"] * 60), value("w", ["s"] * 59)], [msg(1, "y0")]))


def too_many_inputs():
    """A Sum of 300,000 inputs of 60 dimensions."""
    return model(graph([node("Sum", ["x"] * 300_000, ["y"])], [value("x", ["s"] * 60)], [msg(1, "y")]))


def tiny_nodes():
    """200,000 nodes of 5 bytes, which nobody knows."""
    return model(graph([msg(4, "U")] * 200_000, [value("x", [2])], [msg(1, "x")]))


def tiny_relus():
    """As many nodes that are known as fit."""
    return model(graph([node("Relu", ["x"], [""])] * 74_000, [value("x", [2])], [msg(1, "x")]))


def unknown_ops():
    """Operators that nobody knows, each of its own name."""
    return model(graph([node(f"{i:x}", ["x"], []) for i in range(68_000)], [value("x", [2])], [msg(1, "x")]))


def unknown_ops_official():
    """The same; some of them have a function body in the standard."""
    return model(graph([node("U", ["x"], [], integer("0", i)) for i in range(40_000)], [value("x", [2])], [msg(1, "x")]))


MODELS = {
    make.__name__: make
    for make in (
        contents_1024,
        different_attributes,
        different_shapes,
        dims_60,
        dims_60_distinct,
        einsum_inputs,
        empty_attributes,
        empty_strings,
        error_inputs,
        function_attributes,
        initializers,
        long_input,
        loop_inputs,
        metadata_nodes,
        node_rows_shapes,
        opset_domains,
        outputs_shapes,
        outputs_shapes_distinct,
        sequence_construct,
        sequence_hash2,
        sequence_items,
        split_outputs,
        sum_inputs,
        table_padding,
        tiny_nodes,
        tiny_relus,
        too_many_inputs,
        unknown_ops,
        unknown_ops_official,
    )
}
