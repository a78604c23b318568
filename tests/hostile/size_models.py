"""Hostile models under a megabyte whose sizes are long formulas: sums, products, maxima, names of symbols.

MODELS maps the name of each to a function that returns its bytes. Names say what grows. amplification.py runs them.
"""

import random

from models import BOOL, INT64, body, function, graph, integer, model, msg, node, num, tensor, text, value


def coefficient_hash():
    """The hash of a term takes 64 bits of 128 of its coefficient: k*2^64*s collide."""
    n = 32000
    pre = [node("Shape", ["x"], ["s"]), node("Mul", ["s", "p"], ["t"]), node("Mul", ["t", "p"], ["0"])]
    return model(graph(pre + [node("Add", [f"{i:x}", "0"], [f"{i+1:x}"]) for i in range(n)], [value("x", ["a"])], [msg(1, "1")], [tensor("p", [1], [1 << 32])]))


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


def growing(trips, nodes, x="x", out="y", tag=""):
    """A Loop that carries a tensor which gets longer: `nodes` make "w" of "v" in each trip."""
    inner = graph([*nodes, node("Identity", ["c" + tag], ["d" + tag])], [value("i" + tag, [], INT64), value("c" + tag, [], BOOL), msg(1, "v" + tag)],
                  [msg(1, "d" + tag), msg(1, "w" + tag)])
    return node("Loop", [trips, "", x], [out], body("body", inner))


def append(x, to, out):
    return node("Concat", [to, x], [out], integer("axis", 0))


def growing_loops():
    """400 loops after each other, each of 2^40 trips and grown by the one before."""
    n = 400
    loops = [growing("n", [append(f"y{k}", "v", "w"), node("Gemm", ["w", "m"], ["s"])], "x", f"y{k+1}") for k in range(n)]
    return model(graph([node("Identity", ["x"], ["y0"]), *loops], [value("x", ["a", 4]), value("m", [4, 8])], [msg(1, f"y{n}")], [tensor("n", [], [1 << 40])]))


def growing_loops_inside():
    """Growing loops eleven deep."""
    nodes = [append("x", "v10", "w10"), node("MatMul", ["w10", "m"], ["s"])]
    for k in range(10, -1, -1):
        nodes = [growing("n", nodes, f"v{k-1}" if k else "x", f"w{k-1}" if k else "y", f"{k}")]
    return model(graph(nodes, [value("x", ["a", 4]), value("m", [4, 8])], [msg(1, "y")], [tensor("n", [], [100])]))


def growing_loop_of_symbols():
    """A loop of a symbol's trips that adds a sum of 300 symbols to three sizes, whose products are powers of long sums."""
    k = 300
    sizes = [value(f"a{i}", [f"s{i}", 1, 1]) for i in range(k)]
    long = node("Concat", [f"a{i}" for i in range(k)], ["a"], integer("axis", 0))
    grows = [append("a", "v", "w"), node("Transpose", ["w"], ["t"]), node("MatMul", ["w", "t"], ["p"]), node("MatMul", ["p", "w"], ["q"])]
    return model(graph([long, growing("n", grows, "a")], sizes + [value("n", [], INT64)], [msg(1, "y")]))


def growing_loop_wide():
    """A growing loop of 8,000 nodes, each of whose costs is summed over the trips."""
    nodes = [append("x", "v", "w"), *(node("Relu", ["w"], [f"r{i:x}"]) for i in range(8000))]
    return model(graph([growing("n", nodes)], [value("x", ["a", "b"])], [msg(1, "y")], [tensor("n", [], [1 << 30])]))


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


def sum_sizes():
    """Sums of tensors whose 60 dimensions have 60 names each, all broadcast."""
    n = 60
    inputs = [value(f"x{i}", [f"s{i}_{j}" for j in range(60)]) for i in range(n)]
    order = lambda k: [f"x{(i * (k % 50 + 1) + k) % n}" for i in range(n)]
    return model(graph([node("Sum", order(k), [f"{k:x}"]) for k in range(1_200)], inputs, [msg(1, "0")]))


def broadcast_sizes():
    """Additions, each of which adds a size to a broadcast of 60."""
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


MODELS = {
    make.__name__: make
    for make in (
        broadcast_sizes,
        bytes_of_inputs,
        bytes_of_inputs_unknown,
        coefficient_hash,
        compare_dag,
        compared_sizes,
        concat_sums,
        dim_param_powers,
        divisions,
        heavy_weight,
        growing_loop_of_symbols,
        growing_loop_wide,
        growing_loops,
        growing_loops_inside,
        long_names_evaluated,
        long_symbol,
        long_symbol_terms,
        matmul_products,
        maxima,
        sum_sizes,
        symbols_11000,
        symbols_11000_modules,
        symbols_11000_ops,
        symbols_weight_eval,
    )
}
