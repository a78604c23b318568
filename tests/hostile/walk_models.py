"""Hostile models under a megabyte whose functions and bodies are walked again and again, or whose modules are many.

MODELS maps the name of each to a function that returns its bytes. Names say what grows. amplification.py runs them.
"""

from models import BOOL, INT64, body, call, function, graph, integer, ints, model, msg, node, num, tensor, text, value


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


def empty_bodies():
    """Trips of empty bodies are not counted."""

    def lp(b, o):
        return node("Loop", ["n", ""], [], body("body", b))

    io = ([value("i", [], INT64), value("c", [], BOOL)], [msg(1, "c")])
    g = lambda nodes: graph(nodes, *io)
    nodes = [lp(g([lp(g([lp(g([]), 0)]), 0)]), 0) for _ in range(3000)]
    return model(graph(nodes, [value("x", [2])], [msg(1, "x")], [tensor("n", [], [64])]))


def from_weight():
    """Each node looks for all modules of its weight's path."""
    w = ".".join(["m" * 62] * 64) + ".w"
    return model(
        graph([node("g", ["x", w], ["q"], domain="local")], [value("x", [3])], [msg(1, "q")], [tensor(w, [1], [1])]),
        [function("g", [node("Add", ["x", "z"], [f"{i:x}"]) for i in range(54000)] + [node("Relu", ["x"], ["y"])], ("x", "z"))],
    )


def long_places():
    """Symbols are named by the path of calls: 100 calls of names of 5 kB around 8000 NonZeros."""
    d = 100
    fs = [function(f"f{i}", [call(f"f{i+1}", "x", "y") + msg(3, f"{i}_" + "n" * 5000)]) for i in range(d)]
    fs.append(function(f"f{d}", [node("NonZero", ["x"], [f"y{i}"]) for i in range(8000)] + [node("Identity", ["y0"], ["y"])]))
    return model(graph([call("f0", "x", "y")], [value("x", [3])], [msg(1, "y")]), fs)


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


def same_place():
    """Nodes of one name: each new symbol's number is searched from 2 on."""
    n = 25000
    return model(graph([node("NonZero", ["x"], [f"{i:x}"]) + msg(3, "n") for i in range(n)], [value("x", [3])], [msg(1, "0")]))


def scopes_list():
    """A list of 180,000 scopes: each of its beginnings is hashed."""
    meta = lambda k, v: msg(9, msg(1, k) + msg(2, v))
    s = "['" + "', '".join(["a"] * 180000) + "', 'z']"
    return model(graph([node("Relu", ["x"], ["y"]) + meta("pkg.torch.onnx.name_scopes", s)], [value("x", [3])], [msg(1, "y")]))


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
    """An unknown operator with 16,000 inputs whose sizes change in each trip: the question about it contains them all."""
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


def numbered_names():
    """Modules with names of 900 bytes, every second a number: each might be the next of every other."""
    name = lambda i: "".join(f"{chr(97 + (i + j) % 26)}{j % 10}" for j in range(430))
    return model(graph([node("Relu", ["x"], [f"{i:x}"]) + msg(3, f"/{name(i)}{i}/Relu") for i in range(1_150)], [value("x", [2])], [msg(1, "0")]))


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
        call_inputs_common,
        carried_ranks,
        common_path2,
        deep_call_modules,
        domain_in_loop,
        einsum_in_loop,
        empty_bodies,
        empty_functions,
        fresh_dims_in_loop,
        from_weight,
        function_entries,
        ifs,
        input_names_in_loop,
        long_module_rows,
        long_places,
        loop_captured_ints,
        loop_limits,
        metadata_many,
        modules_wide,
        name_in_loop,
        numbered_names,
        output_names_in_loop,
        questions_in_loop,
        rule_attributes_in_loop,
        same_place,
        scopes_list,
        unknown_op_names,
        visits_long_names,
        wide_node_in_loop,
        wide_outputs_in_loop,
    )
}
