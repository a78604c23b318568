#!/usr/bin/env python3
"""Models under 1.2 MB that once took minutes, all memory or gigabytes of output, and what keeps them from it.

    amplification.py PROGRAM       counts each, in limits of memory, processor time and output; exit code 1 if one exceeds them
    amplification.py --write NAME  writes one to standard output

The limits are far above what each takes now, so that a busy machine does not matter, and far below what it took.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile

from models import BOOL, INT64, body, call, function, graph, integer, model, msg, node, num, tensor, value

MEMORY, SECONDS, OUTPUT = 1 << 30, 20, 1 << 27


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
    g = function("g", [node("f", ["x"] * 20000, [f"y{j}"], domain="local") for j in range(7)] + [node("Relu", ["x"], ["y"])])
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
    return model(graph([node("Concat", ["x"] * 100000, ["y"], integer("axis", 7))], [value("x", ["n" * 50000])], [msg(1, "y")]))


def error_inputs2():
    """An error lists every input: 300,000 times the 200 characters."""
    return model(graph([node("Concat", ["x"] * 340000, ["y"], integer("axis", 7))], [value("x", ["n" * 5000])], [msg(1, "y")]))


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
    """A node of 100,000 inputs in loops: each trip keeps its list of inputs."""

    def lp(b):
        return node("Loop", ["n", ""], [], body("body", b))

    io = lambda i, c: ([value(i, [], INT64), value(c, [], BOOL)], [msg(1, c)])
    u = node("Sum", ["i"] + ["j"] * 100000, ["u"])
    return model(graph([lp(graph([lp(graph([u], *io("j", "d")))], *io("i", "c")))], [value("x", [2])], [msg(1, "x")], [tensor("n", [], [64])]))


def wide_outputs_in_loop():
    """A node of 60,000 outputs in loops: each trip keeps its list of outputs."""

    def lp(b):
        return node("Loop", ["n", ""], [], body("body", b))

    io = lambda i, c: ([value(i, [], INT64), value(c, [], BOOL)], [msg(1, c)])
    u = node("U", ["x"], [f"o{i:x}" for i in range(60000)])
    return model(graph([lp(graph([lp(graph([u], *io("j", "d")))], *io("i", "c")))], [value("x", [2])], [msg(1, "x")], [tensor("n", [], [64])]))


MODELS = [
    actual_names,
    attribute_defaults,
    body_initializers,
    call_inputs_common,
    coefficient_hash,
    common_path2,
    compare_dag,
    contents_1024,
    deep_call_modules,
    dim_param_powers,
    divisions,
    empty_bodies,
    error_inputs,
    error_inputs2,
    from_weight,
    heavy_weight,
    long_places,
    long_symbol,
    long_symbol_terms,
    loop_captured_ints,
    maxima,
    metadata_many,
    name_in_loop,
    node_rows_shapes,
    same_place,
    scopes_list,
    sequence_hash2,
    sequence_items,
    symbols_weight_eval,
    table_padding,
    unknown_op_names,
    visits_long_names,
    wide_node_in_loop,
    wide_outputs_in_loop,
]


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))


def fault(program, path, options, out):
    """What is wrong with a run, or nothing."""
    run = subprocess.run([program, path, *options], stdout=out, stderr=subprocess.PIPE, preexec_fn=limit, check=False)
    if run.returncode not in (0, 2):
        return f"exit code {run.returncode}"
    if b"memory" in run.stderr or b"File too large" in run.stderr or len(run.stderr) > 100_000:
        return run.stderr[:200].decode(errors="replace")
    return ""


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--write":
        sys.stdout.buffer.write(globals()[sys.argv[2]]())
        return 0
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        for make in MODELS:
            with open(path, "wb") as file:
                file.write(make())
            for options in ([], ["--by", "node", "--format", "csv"]):
                with open(os.path.join(folder, "out"), "wb") as out:
                    what = fault(sys.argv[1], path, options, out)
                if what:
                    print(f"{make.__name__} {' '.join(options)}: {what}")
                    faults += 1
    print(f"{len(MODELS)} models, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
