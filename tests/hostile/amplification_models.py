"""Models under a megabyte that once took minutes, all memory or gigabytes of output; amplification.py holds them to limits.

MODELS maps the name of each to a function that returns its bytes. Names say what grows.
"""

import random

from models import BOOL, FLOAT, INT64, body, call, function, graph, integer, ints, model, msg, node, num, tensor, text, value


def actual_names():
    """Each walk of a call keeps a table of the names of its 2,000 weights."""
    k = 2000
    P = tuple(f"a{i:x}" for i in range(k))
    f = function("f", [node("Relu", ["a0"], ["y"])], P)
    g = function("g", [node("f", P, [f"y{j}"], domain="local") for j in range(16)] + [node("Relu", ["a0"], ["y"])], P)
    g2 = function("g2", [node("g", P, [f"y{j}"], domain="local") for j in range(16)] + [node("Relu", ["a0"], ["y"])], P)
    W = [f"w{i:x}" for i in range(k)]
    return model(
        graph(
            [node("g2", W, [f"y{j}"], domain="local") for j in range(16)] + [node("Relu", ["p"], [f"{i:x}"]) for i in range(4000)],
            [value("p", [1])],
            [msg(1, "y0")],
            [tensor(w, [1], [1]) for w in W],
        ),
        [f, g, g2],
    )


def attribute_defaults():
    """Every call of a function copies all its attributes."""
    n = 5000
    m = 8000
    f = (
        msg(1, "f")
        + b"".join(msg(11, msg(1, f"{i:x}") + num(3, 1) + num(20, 2)) for i in range(n))
        + msg(4, "x")
        + msg(5, "y")
        + msg(7, node("Relu", ["x"], ["y"]))
        + msg(9, num(2, 18))
        + msg(10, "local")
    )
    return model(graph([node("f", ["x"], [f"{i:x}"], integer("0", i), domain="local") for i in range(m)], [value("x", [3])], [msg(1, "0")]), [f])


def body_initializers():
    """A body's initializers are visited in each trip."""

    def lp(b, o):
        return node("Loop", ["n", ""], [], body("body", b))

    io = ([value("i", [], INT64), value("c", [], BOOL)], [msg(1, "c")])
    inits = [tensor(f"{i:x}", [], [1]) for i in range(30000)]
    g = lambda nodes, t=(): graph(nodes, *io, t)
    nodes = [lp(g([lp(g([lp(g([], inits), 0)]), 0)]), 0) for _ in range(1)]
    return model(graph(nodes, [value("x", [2])], [msg(1, "x")], [tensor("n", [], [64])]))


def call_inputs_common():
    """Each call's common path is copied for each of its weights."""
    w = "a" * 299000 + ".b"
    g = function("g", [node("f", ["x"] * 16000, [f"y{j}"], domain="local") for j in range(7)] + [node("Relu", ["x"], ["y"])])
    f = function("f", [node("Relu", ["x"], ["y"])])
    return model(graph([node("g", [w], ["q"], domain="local")], [], [msg(1, "q")], [tensor(w, [1], [1])]), [f, g])


def coefficient_hash():
    """The hash of a term takes 64 bits of 128 of its coefficient: k*2^64*s collide."""
    n = 32000
    pre = [node("Shape", ["x"], ["s"]), node("Mul", ["s", "p"], ["t"]), node("Mul", ["t", "p"], ["0"])]
    return model(graph(pre + [node("Add", [f"{i:x}", "0"], [f"{i+1:x}"]) for i in range(n)], [value("x", ["a"])], [msg(1, "1")], [tensor("p", [1], [1 << 32])]))


def common_path2():
    """Weights of calls that share half of a path of 60,000 parts; the calls name them by a function's inputs."""
    n = 3000
    w1 = "a." * 60000 + "c." * 30000 + "w"
    w2 = "a." * 60000 + "b." * 60000 + "w"
    g = function("g", [node("f", ["x", "z"], [f"{i:x}"], domain="local") for i in range(n)] + [node("Relu", ["x"], ["y"])], ("x", "z"))
    return model(
        graph([node("g", [w1, w2], ["q"], domain="local")], [], [msg(1, "q")], [tensor(w1, [1], [1]), tensor(w2, [1], [1])]),
        [function("f", [node("Relu", ["x"], ["y"])], ("x", "z")), g],
    )


def compare_dag():
    """Two equal expressions of 2^17 parts that share nothing: compared part by part, in each of 10,000 nodes."""
    lv = 16
    n = 10000
    ns = [node("Shape", ["x"], ["s"]), node("Concat", ["s", "one"], ["A0"], integer("axis", 0)), node("Concat", ["s", "two"], ["B0"], integer("axis", 0))]
    for c in "AB":
        for i in range(lv):
            ns += [
                node("Mul", [f"{c}{i}", "two"], [f"{c}m{i}"]),
                node("Add", [f"{c}{i}", "five"], [f"{c}a{i}"]),
                node("Sub", [f"{c}m{i}", "q"], [f"{c}c{i}"]),
                node("Min", [f"{c}a{i}", f"{c}c{i}"], [f"{c}{i+1}"]),
            ]
    ns += [node("Add", [f"B{lv}", "k"], ["0"])]
    for i in range(n):
        ns += [node("Add", [f"{i:x}", f"A{lv}" if i % 2 == 0 else f"B{lv}"], [f"{i+1:x}"])]
    return model(
        graph(
            ns,
            [value("x", ["a"])],
            [msg(1, "1")],
            [tensor("two", [1], [2]), tensor("one", [1], [1]), tensor("q", [1], [7]), tensor("five", [1], [5]), tensor("k", [1], [1])],
        )
    )


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


def deep_call_modules():
    """Calls 60 deep of functions of names of 60 bytes: each call of the first makes 60 paths of up to 4 kB."""
    d = 60
    n = 200000
    nm = lambda i: f"{i:02d}" + "n" * 60
    fs = (
        [function("0", [call(nm(0), "x", "y")])]
        + [function(nm(i), [call(nm(i + 1), "x", "y")]) for i in range(d)]
        + [function(nm(d), [node("Relu", ["x"], ["y"])])]
    )
    return model(graph([call("0", "x", f"{i:x}") + msg(3, f"m{i:x}/") for i in range(n // 6)], [value("x", [3])], [msg(1, "0")], []), fs)


def dim_param_powers():
    """Dim_params that parse as powers of sums: each is multiplied out, twice, and thrown away."""
    n = 3000
    return model(graph([node("Relu", ["x0"], ["y"])], [value(f"x{i}", [f"(a+b+c)^48+{i}"] * 8) for i in range(n)], [msg(1, "y")]))


def divisions():
    """A sum of 400 symbols divided by 8,000 others: each division takes 100,000 steps 400 products of two of 30 symbols."""
    t = 400
    n = 8000
    ns = [node("Shape", ["x"], ["d"])]
    ns += [node("Slice", ["d", f"i{k}", f"i{k+1}"], [f"s{k}"]) for k in range(60)]
    for k in range(t):
        ns += [node("Mul", [f"s{k%20}", f"s{20+k//20}"], [f"p{k}"])]
    ns += [node("Sum", [f"p{k}" for k in range(t)], ["P"])] if 0 else []
    prev = "p0"
    for k in range(1, t):
        ns += [node("Add", [prev, f"p{k}"], [f"P{k}"])]
        prev = f"P{k}"
    ns += [node("Add", ["s0", "s1"], ["q"]), node("Add", ["q", "s2"], ["q2"]), node("Add", ["q2", "one"], ["Q0"])]
    for i in range(n):
        ns += [node("Add", [f"Q{i:x}", "one"], [f"Q{i+1:x}"]), node("Div", [prev, f"Q{i+1:x}"], [f"z{i:x}"])]
    return model(
        graph(ns, [value("x", [f"s{k}" for k in range(60)])], [msg(1, "z0")], [tensor(f"i{k}", [1], [k]) for k in range(61)] + [tensor("one", [1], [1])])
    )


def empty_bodies():
    """Trips of empty bodies are not counted."""

    def lp(b, o):
        return node("Loop", ["n", ""], [], body("body", b))

    io = ([value("i", [], INT64), value("c", [], BOOL)], [msg(1, "c")])
    g = lambda nodes: graph(nodes, *io)
    nodes = [lp(g([lp(g([lp(g([]), 0)]), 0)]), 0) for _ in range(3000)]
    return model(graph(nodes, [value("x", [2])], [msg(1, "x")], [tensor("n", [], [64])]))


def error_inputs():
    """An error lists all inputs with their shapes."""
    return model(graph([node("Concat", ["x"] * 16000, ["y"], integer("axis", 7))], [value("x", ["n" * 50000])], [msg(1, "y")]))


def from_weight():
    """Each node looks for all modules of its weight's path."""
    w = ".".join(["m" * 62] * 64) + ".w"
    return model(
        graph([node("g", ["x", w], ["q"], domain="local")], [value("x", [3])], [msg(1, "q")], [tensor(w, [1], [1])]),
        [function("g", [node("Add", ["x", "z"], [f"{i:x}"]) for i in range(54000)] + [node("Relu", ["x"], ["y"])], ("x", "z"))],
    )


def heavy_weight():
    """One dimension whose text has 2^15 parts: shared inside, but printed for each node."""
    lv = 15
    n = 3000
    ns = [node("Shape", ["x"], ["s0"])]
    for i in range(lv):
        ns += [node("Mul", [f"s{i}", "two"], [f"a{i}"]), node("Add", [f"s{i}", "b"], [f"b{i}"]), node("Min", [f"b{i}", f"c{i}"], [f"s{i+1}"])]
        ns.insert(-1, node("Sub", [f"a{i}", "q"], [f"c{i}"]))
    ns += [node("Expand", ["one", f"s{lv}"], ["e"])]
    ns += [node("Relu", ["e"], [f"r{i:x}"]) for i in range(n)]
    return model(
        graph(
            ns,
            [value("x", ["a"]), value("y", ["b"]), value("z", ["c"])],
            [msg(1, "r0")],
            [tensor("two", [1], [2]), tensor("q", [1], [7]), tensor("b", [1], [5]), tensor("one", [1], [1])],
        )
    )


def long_places():
    """Symbols are named by the path of calls: 100 calls of names of 5 kB around 8000 NonZeros."""
    d = 100
    fs = [function(f"f{i}", [call(f"f{i+1}", "x", "y") + msg(3, f"{i}_" + "n" * 5000)]) for i in range(d)]
    fs.append(function(f"f{d}", [node("NonZero", ["x"], [f"y{i}"]) for i in range(8000)] + [node("Identity", ["y0"], ["y"])]))
    return model(graph([call("f0", "x", "y")], [value("x", [3])], [msg(1, "y")]), fs)


def long_symbol():
    """A symbol of 500 kB in every cost."""
    n = 4000
    return model(graph([node("Relu", ["x"], [f"{i:x}"]) for i in range(n)], [value("x", ["n" * 500000])], [msg(1, "0")]))


def long_symbol_terms():
    """A symbol of 500 kB in every term."""
    n = 1500
    return model(
        graph(
            [node("Concat", [f"v{i:x}" for i in range(n)], ["c"], integer("axis", 0)), node("Mul", ["c", "x"], ["y"])],
            [value("x", ["n" * 500000])] + [value(f"v{i:x}", [f"s{i:x}", 1]) for i in range(n)],
            [msg(1, "y")],
        )
    )


def loop_captured_ints():
    """Loops carried values with 1024 ints each, interned per trip."""

    def lp(k, o):
        return node(
            "Loop",
            ["n", ""] + ["w"] * k,
            o,
            body(
                "body",
                graph(
                    [],
                    [value("i", [], INT64), value("c", [], BOOL)] + [value(f"v{j:x}", []) for j in range(k)],
                    [msg(1, "c")] + [msg(1, f"v{j:x}") for j in range(k)],
                ),
            ),
        )

    k = 300
    io = ([value("i", [], INT64), value("c", [], BOOL)], [msg(1, "c")])
    g = lambda nodes: graph(nodes, *io)
    l3 = lp(k, [])
    return model(
        graph(
            [node("Loop", ["n", ""], [], body("body", g([node("Loop", ["n", ""], [], body("body", g([l3])))])))],
            [value("x", [2])],
            [msg(1, "x")],
            [tensor("n", [], [64]), tensor("w", [1024], list(range(1024)))],
        )
    )


def maxima():
    """Maxima of 31 and 32 sums of 40 terms: 2,000 comparisons in each node."""
    t = 40
    n = 5000
    ns = [node("Shape", ["x"], ["d"])]
    ns += [node("Slice", ["d", f"i{k}", f"i{k+1}"], [f"s{k}"]) for k in range(60)]

    def summ(name, idx):
        nonlocal ns
        p = f"s{idx[0]}"
        for j, k in enumerate(idx[1:]):
            ns += [node("Add", [p, f"s{k}"], [f"{name}_{j}"])]
            p = f"{name}_{j}"
        return p

    random.seed(1)
    A = [summ(f"a{i}", random.sample(range(60), t)) for i in range(62)]

    def mx(name, l):
        nonlocal ns
        p = l[0]
        for j, k in enumerate(l[1:]):
            ns += [node("Max", [p, k], [f"{name}_{j}"])]
            p = f"{name}_{j}"
        return p

    a = mx("M", A[:31])
    b = mx("N", A[31:])
    ns += [node("Add", ["s0", "one"], ["v0"])]
    for i in range(n):
        ns += [node("Add", [f"v{i:x}", "s1"], [f"v{i+1:x}"]), node("Max", [b, f"v{i+1:x}"], [f"w{i:x}"]), node("Max", [a, f"w{i:x}"], [f"z{i:x}"])]
    return model(
        graph(ns, [value("x", [f"s{k}" for k in range(60)])], [msg(1, "z0")], [tensor(f"i{k}", [1], [k]) for k in range(61)] + [tensor("one", [1], [1])])
    )


def metadata_many():
    """15,000 properties on one node of a function that is walked 250,000 times."""
    meta = lambda k, v: msg(9, msg(1, k) + msg(2, v))
    f = function("f", [node("Relu", ["x"], ["y"]) + b"".join(meta(f"{i:x}", "") for i in range(15000))])
    g = function("g", [call("f", "x", f"{i:x}") for i in range(60)] + [node("Relu", ["x"], ["y"])])
    return model(
        graph([call("g", "x", f"{i:x}") for i in range(6200)] + [node("Relu", ["x"], [f"q{i:x}"]) for i in range(6000)], [value("x", [3])], [msg(1, "0")]),
        [f, g],
    )


def name_in_loop():
    """A node of a long name in loops of 64 trips."""

    def lp(b):
        return node("Loop", ["n", ""], [], body("body", b))

    io = ([value("i", [], INT64), value("c", [], BOOL)], [msg(1, "c")])
    g = lambda nodes: graph(nodes, *io)
    u = node("Relu", ["x"], ["u"]) + msg(3, "n" * 800000)
    return model(graph([lp(g([lp(g([u]))]))], [value("x", [2])], [msg(1, "x")], [tensor("n", [], [64])]))


def node_rows_shapes():
    """Rows of nodes: each holds all names and shapes of its inputs."""

    def lp(b):
        return node("Loop", ["n", ""], [], body("body", b))

    io = ([value("i", [], INT64), value("c", [], BOOL)], [msg(1, "c")])
    g = lambda nodes: graph(nodes, *io)
    u = node("Sum", ["x"] * 1000, ["u"])
    return model(graph([lp(g([lp(g([u]))])) for _ in range(20)], [value("x", ["a"] * 60)], [msg(1, "x")], [tensor("n", [], [64])]))


def same_place():
    """Nodes of one name: each new symbol's number is searched from 2 on."""
    n = 25000
    return model(graph([node("NonZero", ["x"], [f"{i:x}"]) + msg(3, "n") for i in range(n)], [value("x", [3])], [msg(1, "0")]))


def scopes_list():
    """A list of 180,000 scopes: each of its beginnings is hashed."""
    meta = lambda k, v: msg(9, msg(1, k) + msg(2, v))
    s = "['" + "', '".join(["a"] * 180000) + "', 'z']"
    return model(graph([node("Relu", ["x"], ["y"]) + meta("pkg.torch.onnx.name_scopes", s)], [value("x", [3])], [msg(1, "y")]))


def sequence_hash2():
    """The hash of a fact leaves out what a sequence holds: all sequences collide."""
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


def symbols_weight_eval():
    """Costs of 2^15 parts each, evaluated for the table."""
    lv = 15
    n = 3000
    ns = [node("Shape", ["x"], ["s0"])]
    for i in range(lv):
        ns += [
            node("Mul", [f"s{i}", "two"], [f"a{i}"]),
            node("Add", [f"s{i}", "b"], [f"b{i}"]),
            node("Sub", [f"a{i}", "q"], [f"c{i}"]),
            node("Min", [f"b{i}", f"c{i}"], [f"s{i+1}"]),
        ]
    ns += [node("Expand", ["f", f"s{lv}"], ["e"])]
    ns += [node("Mul", ["e", f"w{i}"], [f"r{i:x}"]) for i in range(n)]
    return model(
        graph(
            ns,
            [value("x", ["a"]), value("f", [1])] + [value(f"w{i}", [i + 2, 1]) for i in range(n)],
            [msg(1, "r0")],
            [tensor("two", [1], [2]), tensor("q", [1], [7]), tensor("b", [1], [5])],
        )
    )


def table_padding():
    """One name of 400 kB: every row of the table is padded to its width."""
    n = 14000
    return model(
        graph([node("Relu", ["x"], ["y"]) + msg(3, "n" * 400000)] + [node("Relu", ["x"], [f"{i:x}"]) for i in range(n)], [value("x", [3])], [msg(1, "y")])
    )


def unknown_op_names():
    """An unknown operator of a long name in loops of 64 trips."""

    def lp(b):
        return node("Loop", ["n", ""], [], body("body", b))

    io = ([value("i", [], INT64), value("c", [], BOOL)], [msg(1, "c")])
    g = lambda nodes: graph(nodes, *io)
    u = node("U" * 800000, ["x"], ["u"])
    return model(graph([lp(g([lp(g([u]))]))], [value("x", [2])], [msg(1, "x")], [tensor("n", [], [64])]))


def visits_long_names():
    """Two names of 150 kB in a function that is walked 250,000 times."""
    f = function("f", [node("Relu", ["x"], ["a"]) + msg(3, "f/" + "a" * 150000 + "/R"), node("Relu", ["a"], ["y"]) + msg(3, "f/" + "b" * 150000 + "/R")])
    g = function("g", [call("f", "x", f"{i:x}") for i in range(60)] + [node("Relu", ["x"], ["y"])])
    return model(
        graph([call("g", "x", f"{i:x}") for i in range(4200)] + [node("Relu", ["x"], [f"q{i:x}"]) for i in range(8000)], [value("x", [3])], [msg(1, "0")]),
        [f, g],
    )


def wide_node_in_loop():
    """A node of 16,000 inputs in loops: each trip keeps its list of inputs."""

    def lp(b):
        return node("Loop", ["n", ""], [], body("body", b))

    io = lambda i, c: ([value(i, [], INT64), value(c, [], BOOL)], [msg(1, c)])
    u = node("Sum", ["i"] + ["j"] * 16000, ["u"])
    return model(graph([lp(graph([lp(graph([u], *io("j", "d")))], *io("i", "c")))], [value("x", [2])], [msg(1, "x")], [tensor("n", [], [64])]))


def wide_outputs_in_loop():
    """A node of 16,000 outputs in loops: each trip keeps its list of outputs."""

    def lp(b):
        return node("Loop", ["n", ""], [], body("body", b))

    io = lambda i, c: ([value(i, [], INT64), value(c, [], BOOL)], [msg(1, c)])
    u = node("U", ["x"], [f"o{i:x}" for i in range(16000)])
    return model(graph([lp(graph([lp(graph([u], *io("j", "d")))], *io("i", "c")))], [value("x", [2])], [msg(1, "x")], [tensor("n", [], [64])]))


# ---- Loops: each level makes 64 trips.


def loops(levels, nodes, inputs, initializers=(), outer=()):
    """`nodes` in loops of 64 trips inside each other, after the nodes `outer`."""
    inner = list(nodes)
    for level in range(levels):
        io = ([value(f"i{level}", [], INT64), value(f"c{level}", [], BOOL)], [msg(1, f"c{level}")])
        inner = [node("Loop", ["n", ""], [], body("body", graph(inner, *io)))]
    return model(graph([*outer, *inner], inputs, [msg(1, "x")], [tensor("n", [], [64]), *initializers]))


def attribute_ints_in_loop():
    """An attribute of 450,000 integers, copied and hashed in each trip."""
    many = msg(5, msg(1, "value_ints") + msg(8, bytes(450_000)) + num(20, 7))
    return loops(3, [node("Constant", [], ["u"], many), node("Add", ["i0", "i0"], ["v"], many)], [value("x", [1] * 8)])


def attribute_strings_in_loop():
    """An attribute of 300,000 strings in loops."""
    classes = msg(5, msg(1, "classes_strings") + msg(9, "") * 300_000 + num(20, 8))
    return loops(3, [node("LabelEncoder", ["i0"], ["u"], classes, domain="ai.onnx.ml")], [value("x", [1])])


def attributes_in_loop():
    """A node of 1,000 attributes in loops: each is looked at for every name that is asked for."""
    many = b"".join(integer(f"{i:x}", 1) for i in range(1_000))
    return loops(2, [node("Conv", ["x", "w"], ["u"], many)], [value("x", [1, 4, 8, 8]), value("w", [4, 4, 3, 3])])


def carried_ranks():
    """Loops that carry 400 values of 60 dimensions."""
    k = 400
    names = [f"v{j:x}" for j in range(k)]
    inner = graph([], [value("i", [], INT64), value("c", [], BOOL)] + [msg(1, v) for v in names], [msg(1, v) for v in ["c", *names]])
    loop = node("Loop", ["n", "", *["w"] * k], [], body("body", inner))
    return loops(2, [loop], [value("x", [1]), value("w", ["a"] * 60)])


def domain_in_loop():
    """An unknown operator of a long domain in loops."""
    return loops(2, [node("U", ["x"], ["u"], domain="d" * 800_000)], [value("x", [2])])


def einsum_in_loop():
    """An equation of 900,000 characters is read in each trip."""
    return loops(2, [node("Einsum", ["x"], ["u"], text("equation", "a" + " " * 900_000 + "->a"))], [value("x", [2])])


def fresh_dims_in_loop():
    """A symbol that depends on data is looked up by the long name of its tensor in each trip."""
    return loops(2, [node("NonZero", ["x"], ["u" * 700_000])], [value("x", [3])])


def input_names_in_loop():
    """Rows of nodes: each holds the long name of an input."""
    long = "n" * 450_000
    return loops(2, [node("Relu", [long], ["u"])], [value("x", [1]), value(long, [1])])


def long_module_rows():
    """Rows of nodes: each holds the module's path of 4,000 bytes."""
    path = "/".join(["m" * 62] * 63) + "/Loop"
    nodes = [node("Relu", ["x"], [f"{i:x}"]) for i in range(30_000)]
    io = ([value("i", [], INT64), value("on", [], BOOL)], [msg(1, "on")])
    loop = node("Loop", ["n", ""], [], body("body", graph(nodes, *io))) + msg(3, path)
    return model(graph([loop], [value("x", [1])], [msg(1, "x")], [tensor("n", [], [64])]))


def loop_limits():
    """Loops of 100 trips whose sizes change: a warning each."""
    inner = graph(
        [node("NonZero", ["v"], ["w"])], [value("i", [], INT64), value("c", [], BOOL), msg(1, "v")], [msg(1, "c"), msg(1, "w")]
    )
    loop = body("body", inner)
    return model(graph([node("Loop", ["n", "", "x"], [f"{i:x}"], loop) for i in range(7_000)], [value("x", [1, 1])], [msg(1, "0")], [tensor("n", [], [100])]))


def output_names_in_loop():
    """An unknown operator without a name whose output has a long one."""
    return loops(2, [node("U", ["x"], ["o" * 800_000])], [value("x", [2])])


def questions_in_loop():
    """An operator that nobody knows, of 16,000 inputs whose sizes change with each trip: what is asked about it holds them all."""
    inner = graph(
        [node("Concat", ["v", "v"], ["w"], integer("axis", 0)), node("Nobody", ["v"] * 16_000, [])],
        [value("i", [], INT64), value("c", [], BOOL), msg(1, "v")],
        [msg(1, "c"), msg(1, "w")],
    )
    loop = lambda x: node("Loop", ["n", "", x], [], body("body", inner))
    return model(graph([loop(f"x{k}") for k in range(5)], [value(f"x{k}", [k + 1]) for k in range(5)], [msg(1, "x0")], [tensor("n", [], [40])]))


def rule_attributes_in_loop():
    """Trees of 40,000 leaves, read in each trip."""
    n = 40_000
    name = lambda a, field, each: msg(5, msg(1, a) + msg(field, each * n) + num(20, {7: 6, 8: 7}[field]))
    trees = b"".join(name(a, 8, b"\1") for a in ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "target_ids"))
    trees += msg(5, msg(1, "nodes_modes") + msg(9, "LEAF") * n + num(20, 8)) + integer("n_targets", 1)
    return loops(2, [node("TreeEnsembleRegressor", ["x"], ["u"], trees, domain="ai.onnx.ml")], [value("x", [1, 4])])


# ---- Lists: inputs, outputs, attributes, dimensions.


def bytes_of_inputs():
    """Inputs that are all one value, whose size in bytes is a product of sums: multiplied out for each."""
    names = "abcdefghijklmnopqrSTUVWXYZ"
    sums = [node("Concat", [f"{c}{i}" for c in names], [f"s{i}"], integer("axis", i)) for i in range(3)]
    inputs = [value(f"{c}{i}", [1] * i + [f"{c}{i}"] + [1] * (2 - i)) for c in names for i in range(3)]
    wide = [node("Add", ["s0", "s1"], ["t"]), node("Add", ["t", "s2"], ["u"])]
    wide += [node("Concat", ["u"] * 16_000, [f"y{i}"], integer("axis", i % 3) + integer("0", i)) for i in range(20)]
    return model(graph(sums + wide, inputs, [msg(1, "y0")]))


def bytes_of_inputs_unknown():
    """The same of a function's inputs, and of an operator that moves them into a sequence."""
    names = "abcdefghijklmnopqrSTUVWXYZ"
    sums = [node("Concat", [f"{c}{i}" for c in names], [f"s{i}"], integer("axis", i)) for i in range(3)]
    inputs = [value(f"{c}{i}", [1] * i + [f"{c}{i}"] + [1] * (2 - i)) for c in names for i in range(3)]
    wide = [node("Add", ["s0", "s1"], ["t"]), node("Add", ["t", "s2"], ["u"])]
    for i in range(10):
        wide += [node("SequenceConstruct", ["u"] * 15_000, [f"q{i}"], integer("0", i)), node("f", ["u"] * 15_000, [f"y{i}"], integer("0", i), domain="local")]
    return model(graph(sums + wide, inputs, [msg(1, "y0")]), [function("f", [node("Relu", ["x"], ["y"])])])


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
    """Sums of 16,000 inputs of 60 dimensions, of which no two in a row are one value."""
    nodes = [node("Sum", ["x", "w"] * 8_000, [f"y{i}"], integer("0", i)) for i in range(20)]
    return model(graph(nodes, [value("x", ["s"] * 60), value("w", ["s"] * 59)], [msg(1, "y0")]))


def too_many_inputs():
    """A Sum of 300,000 inputs of 60 dimensions."""
    return model(graph([node("Sum", ["x"] * 300_000, ["y"])], [value("x", ["s"] * 60)], [msg(1, "y")]))


def sum_sizes():
    """Sums of tensors whose 60 dimensions have 60 names each, all broadcast."""
    n = 60
    inputs = [value(f"x{i}", [f"s{i}_{j}" for j in range(60)]) for i in range(n)]
    order = lambda k: [f"x{(i * (k % 50 + 1) + k) % n}" for i in range(n)]
    return model(graph([node("Sum", order(k), [f"{k:x}"]) for k in range(1_200)], inputs, [msg(1, "0")]))


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
    """The same, of which some have a function body in the standard."""
    return model(graph([node("U", ["x"], [], integer("0", i)) for i in range(40_000)], [value("x", [2])], [msg(1, "x")]))


# ---- Sizes: sums, products, names.


def broadcast_sizes():
    """Additions of which each adds a size to a broadcast of 60."""
    n = 4_000
    nodes = [node("Add", ["x0", "x1"], ["b1"])] + [node("Add", [f"b{i - 1}", f"x{i}"], [f"b{i}"]) for i in range(2, 60)]
    nodes += [node("Add", ["b59", f"x{i % 60}"], [f"y{i:x}"], integer("0", i)) for i in range(n)]
    return model(graph(nodes, [value(f"x{i}", [f"s{i}_{j}" for j in range(20)]) for i in range(60)], [msg(1, "y0")]))


def compared_sizes():
    """Losses that compare 60 sizes of 800 terms each and keep none of them."""
    k = 800
    n = 9_000
    sizes = [node("Concat", [f"v{i:x}" for i in range(k)], ["s"], integer("axis", 0))]
    sizes += [node("Shape", ["s"], ["sa"]), node("Concat", ["two", "two", *["sa"] * 58], ["shape"], integer("axis", 0))]
    sizes += [node("Concat", ["two", *["sa"] * 58], ["less"], integer("axis", 0))]
    sizes += [node("Expand", ["one", "shape"], ["x"]), node("Expand", ["index", "less"], ["t"])]
    nodes = [node("NegativeLogLikelihoodLoss", ["x", "t"], [f"{i:x}"], integer("0", i)) for i in range(n)]
    return model(
        graph(sizes + nodes, [value(f"v{i:x}", [f"s{i:x}"]) for i in range(k)] + [value("one", [1])], [msg(1, "0")], [tensor("two", [1], [2]), tensor("index", [1], [0])])
    )


def concat_sums():
    """Each Concat adds 1,000 sizes up, in another order."""
    k = 1_000
    n = 100
    inputs = [value(f"v{i:x}", [f"s{i:x}", 1]) for i in range(k)]
    return model(graph([node("Concat", [f"v{(i * (2 * j + 1)) % k:x}" for i in range(k)], [f"c{j}"], integer("axis", 0)) for j in range(n)], inputs, [msg(1, "c0")]))


def long_names_evaluated():
    """Costs of 250 names that differ in their last bytes, evaluated row by row."""
    k = 240
    name = lambda i: "n" * 240 + f"{i:03d}"
    nodes = [node("Concat", [f"v{i}" for i in range(k)], ["c"], integer("axis", 0))]
    nodes += [node("Mul", ["c", f"w{j}"], [f"y{j}"]) for j in range(12_000)]
    inputs = [value(f"v{i}", [name(i), 1]) for i in range(k)] + [value(f"w{j}", [1, j + 2]) for j in range(12_000)]
    return model(graph(nodes, inputs, [msg(1, "y0")]))


def matmul_products():
    """Products of sums: 100,000 terms in each of its few nodes' costs."""
    k = 310
    inputs = [value(f"a{i}", [f"s{i}", 1]) for i in range(k)] + [value(f"b{i}", [1, f"t{i}"]) for i in range(k)]
    nodes = [node("Concat", [f"a{i}" for i in range(k)], ["a"], integer("axis", 0)), node("Concat", [f"b{i}" for i in range(k)], ["b"], integer("axis", 1))]
    nodes += [node("MatMul", ["a", "b"], [f"y{j}"], integer("0", j)) for j in range(20_000)]
    return model(graph(nodes, inputs, [msg(1, "y0")]))


def numbered_names():
    """Modules with names of 900 bytes, every second a number: each might be the next of every other."""
    name = lambda i: "".join(f"{chr(97 + (i + j) % 26)}{j % 10}" for j in range(430))
    return model(graph([node("Relu", ["x"], [f"{i:x}"]) + msg(3, f"/{name(i)}{i}/Relu") for i in range(1_150)], [value("x", [2])], [msg(1, "0")]))


def symbols_11000():
    """A total of 11,000 symbols, and as many rows."""
    n = 11_000
    return model(graph([node("Relu", [f"x{i}"], [f"{i:x}"]) for i in range(n)], [value(f"x{i}", [f"s{i}"]) for i in range(n)], [msg(1, "0")]))


def symbols_11000_modules():
    """The same, each in a module of its own."""
    n = 9_000
    return model(
        graph([node("Relu", [f"x{i}"], [f"{i:x}"]) + msg(3, f"/{i}/R") for i in range(n)], [value(f"x{i}", [f"s{i}"]) for i in range(n)], [msg(1, "0")])
    )


def symbols_11000_ops():
    """The same, each an operator of its own, of a function."""
    n = 5_000
    functions = [function(f"f{i}", [node("Relu", ["x"], ["y"])]) for i in range(n)]
    nodes = [node(f"f{i}", [f"x{i}"], [f"{i:x}"], domain="local") for i in range(n)]
    return model(graph(nodes, [value(f"x{i}", [f"s{i}"]) for i in range(n)], [msg(1, "0")]), functions)


# ---- Functions and modules.


def empty_functions():
    """As many functions as fit."""
    return model(graph([node("Relu", ["x"], ["y"])], [value("x", [2])], [msg(1, "y")]), [msg(1, f"{i:x}") + msg(10, "local") for i in range(60_000)])


def function_entries():
    """A function of 30,000 nodes that is called from 100 modules."""
    n, k = 30_000, 180
    f = function("f", [node("Relu", ["x"], [f"{i:x}"]) for i in range(n)] + [node("Relu", ["x"], ["y"])])
    return model(graph([node("f", ["x"], [f"{i:x}"], domain="local") + msg(3, f"/m{i}/f") for i in range(k)], [value("x", [2])], [msg(1, "0")]), [f])


def ifs():
    """Ifs whose branches cannot be compared: a warning each."""
    n = 6_000
    branch = lambda x: graph([node("Relu", [x], ["z"])], [], [msg(1, "z")])
    both = body("then_branch", branch("x")) + body("else_branch", branch("w"))
    return model(graph([node("If", ["on"], [f"{i:x}"], both) for i in range(n)], [value("x", ["s"]), value("w", ["t"]), value("on", [], BOOL)], [msg(1, "0")]))


def modules_wide():
    """30,000 modules of one node each, with a weight of its own."""
    n = 12_000
    nodes = [node("Mul", ["x", f"m{i:x}.w"], [f"{i:x}"]) for i in range(n)]
    return model(graph(nodes, [value("x", ["a"])], [msg(1, "0")], [num(2, 1) + msg(8, f"m{i:x}.w") + num(1, 1) for i in range(n)]))


MODELS = {
    make.__name__: make
    for make in (
        actual_names,
        attribute_defaults,
        attribute_ints_in_loop,
        attribute_strings_in_loop,
        attributes_in_loop,
        body_initializers,
        broadcast_sizes,
        bytes_of_inputs,
        bytes_of_inputs_unknown,
        call_inputs_common,
        carried_ranks,
        coefficient_hash,
        common_path2,
        compare_dag,
        compared_sizes,
        concat_sums,
        contents_1024,
        deep_call_modules,
        different_attributes,
        different_shapes,
        dim_param_powers,
        dims_60,
        dims_60_distinct,
        divisions,
        domain_in_loop,
        einsum_in_loop,
        einsum_inputs,
        empty_attributes,
        empty_bodies,
        empty_functions,
        empty_strings,
        error_inputs,
        fresh_dims_in_loop,
        from_weight,
        function_attributes,
        function_entries,
        heavy_weight,
        ifs,
        initializers,
        input_names_in_loop,
        long_input,
        long_module_rows,
        long_names_evaluated,
        long_places,
        long_symbol,
        long_symbol_terms,
        loop_captured_ints,
        loop_inputs,
        loop_limits,
        matmul_products,
        maxima,
        metadata_many,
        metadata_nodes,
        modules_wide,
        name_in_loop,
        node_rows_shapes,
        numbered_names,
        opset_domains,
        output_names_in_loop,
        outputs_shapes,
        outputs_shapes_distinct,
        questions_in_loop,
        rule_attributes_in_loop,
        same_place,
        scopes_list,
        sequence_construct,
        sequence_hash2,
        sequence_items,
        split_outputs,
        sum_inputs,
        sum_sizes,
        symbols_11000,
        symbols_11000_modules,
        symbols_11000_ops,
        symbols_weight_eval,
        table_padding,
        tiny_nodes,
        tiny_relus,
        too_many_inputs,
        unknown_op_names,
        unknown_ops,
        unknown_ops_official,
        visits_long_names,
        wide_node_in_loop,
        wide_outputs_in_loop,
    )
}
