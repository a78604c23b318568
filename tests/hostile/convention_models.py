"""Models under 1 MiB that made `compare` or `count --convention NAME` slow, large or wrong, one for each way.

MODELS: name -> function that returns the file's bytes. A run of each, in every form, stays within what SECURITY.md promises.
"""

from models import BOOL, INT64, body, call, function, graph, integer, ints, model, msg, node, num, tensor, text, tensor_type, value

FLOAT_TYPE = 1


def n_(i):
    """Short names that nothing else has."""
    return f"~{i:x}"


SCOPES, CLASSES, FX = "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy", "pkg.torch.onnx.fx_node"
STACK = "pkg.torch.onnx.stack_trace"
MHA = "torch.nn.modules.activation.MultiheadAttention"
ENCODER_LAYER = "torch.nn.modules.transformer.TransformerEncoderLayer"
PYTORCH = msg(2, "pytorch")


def prop(key, text_value):
    return msg(9, msg(1, key) + msg(2, text_value))


def torch(name, target, args="", scopes="'', 'm'", classes="'net.Net', 'net.Block'", fx=None):
    """The metadata that the dynamo exporter writes to a node of the call `name`."""
    if fx is None:
        fx = f"%{name} : [num_users=1] = call_function[target=torch.ops.{target}](args = ({args}), kwargs = {{}})"
    return prop(SCOPES, f"[{scopes}, '{name}']") + prop(CLASSES, f"[{classes}, '{target}']") + prop(FX, fx)


def named(n, name):
    return n + msg(3, name)


def weight(name, dims):
    """A float initializer that is stored elsewhere."""
    return tensor(name, dims, raw=b"", dtype=FLOAT_TYPE) + num(14, 1)


def loop(inputs, g):
    return node("Loop", inputs, [], body("body", g))


def loop_body(nodes, i="i", c="c"):
    return graph(nodes, [value(i, [], INT64), value(c, [], BOOL)], [msg(1, c)])


def sum_of_symbols(name, count, prefix, axis=0):
    """Inputs, and the node that makes a tensor whose size is a sum of `count` symbols."""
    dims = lambda i: [f"{prefix}{i:x}", 1] if axis == 0 else [1, f"{prefix}{i:x}"]
    return [value(f"{name}{i:x}", dims(i)) for i in range(count)], node("Concat", [f"{name}{i:x}" for i in range(count)], [name], integer("axis", axis))


def product_of_sums(count=300):
    """A tensor `big` with count^2 terms in its number of elements: inputs, nodes. A view of it costs nothing."""
    left, a = sum_of_symbols("a", count, "s")
    right, b = sum_of_symbols("b", count, "t", axis=1)
    return left + right, [a, b, node("Shape", ["b"], ["sb"]), node("Expand", ["a", "sb"], ["big"])]


# ---- the text that torch.fx leaves


def fx_arguments():
    """A sum of 9,000 folded tensors: each is looked for among the arguments of the call."""
    n = 9000
    names = [f"w{i:x}" for i in range(n)]
    add = node("Sum", names, ["y"]) + torch("add", "aten.add.Tensor", ", ".join("%" + w for w in names))
    return model(graph([add], [], [msg(1, "y")], [weight(w, [2, 1]) for w in names]))


def fx_arguments_elsewhere():
    """As fx_arguments, but no tensor is an argument, and the call has 60,000 that only their ends tell from one."""
    n = 12000
    names = [f"weight{i:05}" for i in range(n)]
    args = ", ".join(["%weight_zero"] * 40000)
    add = node("Sum", names, ["y"]) + torch("add", "aten.add.Tensor", args)
    return model(graph([add], [], [msg(1, "y")], [weight(w, [2, 1]) for w in names]))


def called_often(nodes, calls=20000, initializers=(), x=(2, 2), y_inputs=("x",)):
    """A function of these nodes (from x to y), called `calls` times and each time opened."""
    many = [node("f", y_inputs, [n_(i)], domain="local") for i in range(calls)]
    return model(graph(many, [value("x", list(x))], [msg(1, n_(0))], initializers), [function("f", nodes, y_inputs)])


def fx_text_in_function():
    """600 kB of arguments on a node that runs 10,000 times."""
    mm = node("MatMul", ["x", "x"], ["y"]) + torch("linear", "aten.linear.default", "%x, " * 120000)
    return called_often([mm], 10000)


def fx_nesting():
    """Arguments 200,000 deep, and never closed."""
    mm = node("MatMul", ["x", "x"], ["y"]) + torch("linear", "aten.linear.default", "(" * 200000 + ")" * 200000)
    mn = node("MatMul", ["x", "x"], ["z"]) + torch("linear_1", "aten.linear.default", "[" * 400000)
    return model(graph([mm, mn], [value("x", [2, 2])], [msg(1, "y")]))


def scopes_text_in_function():
    """A list of scopes of 300 kB, and classes of 300 kB, on a node that runs 10,000 times."""
    mm = node("MatMul", ["x", "x"], ["y"]) + torch("linear", "aten.linear.default", "%x", scopes="'" + "s" * 300000 + "'", classes="'" + "c" * 300000 + "'")
    return called_often([mm], 10000)


def in_line(source):
    return prop(STACK, f'File "net.py", line 1, in forward\n    {source}')


def source_line_in_function():
    """A line of source of 1,000 bytes that calls 100 modules, on a node that runs 20,000 times."""
    line = "return x * y, " + "self.a(), " * 98
    return called_often([node("Mul", ["x", "x"], ["y"]) + torch("mul", "aten.mul.Tensor", "%x, %x") + in_line(line)])


def source_lines_of_modules():
    """The same in 1,500 modules with paths of 3 kB, and a line of its own on each of 20 nodes."""
    path = ".".join(["q" * 60] * 48)
    nodes = [node("Mul", ["x", "x"], [f"y{i}"]) + torch(f"mul_{i}", "aten.mul.Tensor", "%x, %x", f"'', '{path}'") + in_line(f"return x * y, {i}, " + "self.a(), " * 95)
             for i in range(20)]
    return called_often([*nodes, node("Relu", ["y0"], ["y"])], 1500)


def source_line_methods():
    """A line of 140 nested calls, each of which searches for the end of its arguments; 20,000 nodes have it."""
    return called_often([node("Softmax", ["x"], ["y"]) + torch("softmax", "aten.softmax.int", "%x, -1") + in_line("return x" + ".softmax(1" * 100 + ")" * 100)])


def source_lines_long():
    """Stack traces of 400 kB without an end of a line."""
    return called_often([node("Mul", ["x", "x"], ["y"]) + torch("mul", "aten.mul.Tensor", "%x, %x") + in_line("(" * 400000)], 10000)


def call_name_in_function():
    """A call of a name of 600 kB that runs 10,000 times."""
    mm = node("MatMul", ["x", "x"], ["y"]) + prop(SCOPES, "['', '" + "n" * 600000 + "']") + prop(CLASSES, "['a.B', 'aten.linear.default']") + prop(FX, "")
    return called_often([mm], 10000)


def metadata_in_function():
    """15,000 properties before those that count, on a product that runs 20,000 times."""
    mm = node("MatMul", ["x", "x"], ["y"]) + b"".join(prop(f"{i:x}", "") for i in range(15000)) + torch("linear", "aten.linear.default", "%x")
    gemm = node("Gemm", ["x", "x"], ["z"]) + b"".join(prop(f"{i:x}", "") for i in range(15000)) + torch("linear", "aten.linear.default", "%x")
    return called_often([gemm, mm])


def attributes_in_function():
    """30,000 attributes before the axis of a softmax that runs 20,000 times."""
    many = b"".join(msg(5, msg(1, f"{i:x}") + num(3, 1) + num(20, 2)) for i in range(30000))
    softmax = node("Softmax", ["x"], ["y"], many + integer("axis", 1)) + torch("softmax", "aten.softmax.int", "%x, -1", classes="'n.N', 'torch.nn.modules.activation.Softmax'")
    return called_often([softmax])


def equation_in_function():
    """An equation with 700 kB of spaces that runs 10,000 times."""
    einsum = node("Einsum", ["x", "x"], ["y"], text("equation", "ij,jk->" + " " * 700000 + "ik")) + torch("einsum", "aten.einsum.default", "ij,jk->ik, [%x, %x]")
    return called_often([einsum], 10000)


def folded_name_in_loop():
    """A folded tensor of a name of 300 kB, used in loops of 64 x 64 trips."""
    w = "w" * 300000
    add = node("Add", ["x", w], ["y"]) + torch("add", "aten.add.Tensor", "%x, %w, %y, %z, %z, %z, %z, %z, %z, %z")
    outer = loop(["n", ""], loop_body([loop(["n", ""], loop_body([add], "j", "d"))]))
    return model(graph([outer], [value("x", [2, 2])], [msg(1, "x")], [tensor("n", [], [64]), weight(w, [2, 2])]))


def unknown_products():
    """8,000 products, each by another operator that no rule knows."""
    many = [node("MatMul", ["x", "x"], [n_(i)]) + prop(SCOPES, f"['','{i:x}']") + prop(CLASSES, f"['','aten.o{i:x}']") for i in range(8000)]
    return model(graph(many, [value("x", [2, 2])], [msg(1, n_(0))]))


def encoder_layers():
    """Calls inside of an encoder layer, after many attentions: whether one takes the fast path is asked at each."""
    many = []
    for i in range(2600):
        many.append(node("MatMul", ["x", "x"], [f"a{i:x}"]) + prop(SCOPES, f"['m','l{i:x}']") + prop(CLASSES, f"['{MHA}','aten.linear']"))
        many.append(node("MatMul", ["x", "x"], [f"b{i:x}"]) + prop(SCOPES, f"['e','m{i:x}']") + prop(CLASSES, f"['{ENCODER_LAYER}','aten.mm']"))
    return model(graph(many, [value("x", [2, 2])], [msg(1, "a0")]))


def encoder_layer_in_function():
    """As encoder_layers, with the calls of a function that runs 20,000 times."""
    mm = node("MatMul", ["x", "x"], ["y"]) + torch("mm", "aten.mm.default", "%x", "'e'", f"'{ENCODER_LAYER}'", fx="")
    mha = node("MatMul", ["x", "x"], ["z"]) + torch("linear", "aten.linear.default", "%x", "'e'", f"'{MHA}'", fx="")
    relu = node("Relu", ["x"], ["w"]) + torch("relu", "aten.relu.default", "%x", "'e', 'r'", "'a', 'b'", fx="")
    return called_often([mha, relu, mm], 10000)


def calls_of_torch():
    """As many calls of PyTorch as node visits are allowed."""
    nodes = [node("Relu", ["x"], [f"r{i}"]) + torch(f"relu_{i+1}", "aten.relu.default", "%x", fx="") for i in range(50)]
    return called_often(nodes + [node("Identity", ["r0"], ["y"])], 30000)


def visits():
    """As many node visits as are allowed, without any metadata."""
    nodes = [node("MatMul", ["x", "x"], [f"r{i}"]) for i in range(60)]
    return called_often(nodes + [node("Identity", ["r0"], ["y"])], 40000)


def elements_per_call():
    """A tensor with 90,000 terms in its number of elements, and 4,000 calls of PyTorch on it that move no data."""
    inputs, nodes = product_of_sums()
    relu = lambda i: node("Identity", ["big"], [n_(i)]) + torch(f"relu_{i+1}", "aten.relu.default", fx="")
    return model(graph(nodes + [relu(i) for i in range(3500)], inputs, [msg(1, n_(0))]))


def softmax_per_call():
    """As elements_per_call, of softmax modules: thop divides by the size of the axis."""
    inputs, nodes = product_of_sums(60)
    softmax = lambda i: node("Identity", ["big"], [n_(i)], integer("axis", 1)) + torch(
        f"softmax_{i+1}", "aten.softmax.int", scopes=f"'s{i:x}'", classes="'torch.nn.modules.activation.Softmax'", fx=""
    )
    return model(graph(nodes + [softmax(i) for i in range(3000)], inputs, [msg(1, n_(0))]))


def entries_of_one_call():
    """One call of 7,000 nodes, each of another symbol."""
    n = 7000
    inputs = [value(f"x{i:x}", [f"s{i:x}"]) for i in range(n)]
    meta = prop(SCOPES, "['','a']") + prop(CLASSES, "['','aten.add.x']")
    return model(graph([node("Relu", [f"x{i:x}"], [n_(i)]) + meta for i in range(n)], inputs, [msg(1, n_(0))]))


def weights_of_symbols():
    """Linear layers of a module each, whose parameters have 90,000 terms."""
    inputs, nodes = product_of_sums()
    linear = lambda i: node("Identity", ["big"], [n_(i)]) + torch(
        f"linear_{i+1}", "aten.linear.default", scopes=f"'s{i:x}'", classes="'torch.nn.modules.linear.Linear'", fx=""
    )
    return model(graph(nodes + [linear(i) for i in range(3000)], inputs, [msg(1, n_(0))]))


def contiguous_chain():
    """Linear layers after chains of nodes with 25,000 inputs that nothing produces."""
    wide = [node("Clip", ["x"] * 22000 + [f"k{i}"], [f"k{i+1}"]) for i in range(8)]
    first = node("Relu", ["x"], ["k0"])
    linear = lambda i: node("Gemm", ["k8", "w", "b"], [n_(i)]) + prop(SCOPES, f"['s','l{i:x}']") + prop(CLASSES, "['m.L','aten.linear']") + prop(
        FX, "(args = (%x, %w, %b), kwargs = {})"
    )
    return model(graph([first] + wide + [linear(i) for i in range(2500)], [value("x", [3, 3])], [msg(1, n_(0))], [weight("w", [3, 3]), weight("b", [3])]))


def recurrent_layers():
    """One call of 12,000 LSTMs with symbols for sizes."""
    n = 12000
    sizes = [value("x", ["t", "b", "i"]), value("w", [1, "g", "i"]), value("r", [1, "g", "h"])]
    lstm = node("LSTM", ["x", "w", "r"], [""], integer("hidden_size", 5)) + prop(SCOPES, "['','lstm']") + prop(CLASSES, "['torch.nn.modules.rnn.LSTM','aten.lstm.i']")
    return model(graph([lstm] * (n // 3) + [node("Relu", ["x"], ["y"])], sizes, [msg(1, "y")]))


# ---- structure that is recognised


def torchscript(nodes, inputs, initializers=(), output="y"):
    return model(graph(nodes, inputs, [msg(1, output)], initializers)) + PYTORCH


def silus():
    """Sigmoids whose results one sum takes, which is looked at for the input of each; a Mul of so many inputs is refused."""
    n = 22000
    nodes = [named(node("Sigmoid", ["x"], [n_(i)]), "/m/S" if i == 0 else "") for i in range(n)]
    return torchscript(nodes + [node("Mul", [n_(i) for i in range(n)], ["y"], domain="local")], [value("x", [2])])


def recurrent_modules():
    """LSTMs of unknown cost, each in its own module; the search for layers of one visits the nodes after it."""
    nodes = [node("NonMaxSuppression", ["x"], ["q"], domain="unknown")]
    nodes += [named(node("LSTM", ["q"], [""]), f"/{i:x}/L") for i in range(25000)]
    return torchscript(nodes + [node("Relu", ["x"], ["y"])], [value("x", [2])])


def attentions_that_are_none():
    """Products of scaled values, followed by 30 nodes without a second product."""
    nodes = []
    for i in range(900):
        nodes += [named(node("Mul", ["x", "s"], [f"a{i:x}"]), f"/M{i:x}"), node("Mul", ["x", "s"], [f"b{i:x}"]), node("MatMul", [f"a{i:x}", f"b{i:x}"], [f"c{i:x}.0"])]
        nodes += [node("Softmax" if j % 2 else "Cast", [f"c{i:x}.{j}"], [f"c{i:x}.{j+1}"], b"" if j % 2 else integer("to", 1)) for j in range(28)]
    return torchscript(nodes + [node("Relu", ["x"], ["y"])], [value("x", [2, 2])], [weight("s", [1])])


def scales_of_many_terms():
    """Products whose second factor might be a scalar, with 90,000 terms in its number of elements."""
    inputs, nodes = product_of_sums()
    for i in range(1500):
        nodes += [node("Mul", ["x", "big"], [f"p{i:x}"], domain="local"), node("Mul", ["x", "big"], [f"q{i:x}"], domain="local")]
        nodes += [named(node("MatMul", [f"p{i:x}", f"q{i:x}"], [f"r{i:x}"], domain="local"), "/M")]
    return torchscript(nodes + [node("Relu", ["x"], ["y"])], inputs + [value("x", [1, 1])])


def wide_nodes_in_loops():
    """A node of 100,000 inputs, and one of as many that are weights of a module, in loops of 64 x 64 trips."""
    u = named(node("Sum", ["x"] * 100000 + ["i"], ["u"]), "/m/Sum")
    v = node("Sum", ["x"] * 100000 + ["i"], ["v"])
    return torchscript(
        [loop(["n", ""], loop_body([loop(["n", ""], loop_body([u, v], "j", "d"))]))] + [node("Relu", ["x"], ["y"])], [value("x", [2])], [tensor("n", [], [64])]
    )


def wide_nodes_in_functions():
    """A node of 40,000 inputs of its function, which is called 20,000 times with two."""
    k = 40000
    names = ["x"] + [f"{i:x}" for i in range(k)]
    f = function("f", [node("Sum", names + ["a.w"], ["y"])], names + ["a.w"])
    calls = [node("f", ["x"], [f"y{i:x}"], domain="local") for i in range(15000)]
    return model(graph(calls, [value("x", [2])], [msg(1, "y0")]), [f])


# ---- ONNX's own shape inference


def contents_of_shapes():
    """A content of 1,024 elements, copied 30,000 times."""
    n = 30000
    casts = [node("Cast", [n_(i) if i else "w"], [n_(i + 1)], integer("to", 7)) for i in range(n)]
    return model(graph(casts, [], [msg(1, n_(n))], [tensor("w", [1024], list(range(1024)))]))


def axes_of_reductions():
    """Reductions over 1,024 axes, the same one each."""
    n = 24000
    return model(
        graph([node("ReduceSum", ["x", "a"], [n_(i)]) for i in range(n)], [value("x", [1] * 60)], [msg(1, n_(0))], [tensor("a", [1024], [3] * 1024)])
    )


def indices_of_gathers():
    """Gathers of 1,024 elements of 1,024."""
    n = 24000
    return model(
        graph([node("Gather", ["a", "a"], [n_(i)]) for i in range(n)], [value("x", [1] * 60)], [msg(1, n_(0))], [tensor("a", [1024], [3] * 1024)])
    )


def wide_broadcasts():
    """A sum of 300,000 inputs of 60 dimensions."""
    return model(graph([node("Sum", ["x"] * 150000, ["y"]), node("Max", ["x"] * 150000, ["z"])], [value("x", [1] * 60)], [msg(1, "y")]))


def wide_splits():
    """A Split into 60,000 tensors of 60 dimensions, and their Concat."""
    n = 60000
    names = [f"{i:x}" for i in range(n)]
    return model(graph([node("Split", ["x"], names, integer("axis", 0)), node("Concat", names, ["y"], integer("axis", 0))], [value("x", [n] + [1] * 60)], [msg(1, "y")]))


def imports():
    """256 imported opsets, and 30,000 nodes of another domain."""
    many = [node("Relu", ["x"], [n_(i)]) for i in range(25000)]
    opsets = b"".join(msg(8, msg(1, f"d{i}") + num(2, 1)) for i in range(250))
    return num(1, 8) + msg(7, graph(many, [value("x", [2])], [msg(1, n_(0))])) + opsets + msg(8, num(2, 18))


# ---- loops and convolutions


def kernels_in_function():
    """A convolution with a kernel of 4,096 x 4,096, run twice in each of 20,000 calls."""
    inner = loop(["n", ""], loop_body([node("Conv", ["x", "w"], ["k"])]))
    f = function("f", [inner, node("Identity", ["x"], ["y"])], ("x", "w", "n"))
    calls = [node("f", ["x", "w", "n"], [n_(i)], domain="local") for i in range(20000)]
    return model(graph(calls, [value("x", [1, 1, 5000, 5000])], [msg(1, n_(0))], [weight("w", [1, 1, 4096, 4096]), tensor("n", [], [2])]), [f])


def kernels():
    """9,000 convolutions that differ, with kernels of 4,096 on five axes."""
    many = [node("Conv", ["x", "w"], [n_(i)], ints("pads", [i + 1] + [0] * 9)) for i in range(9000)]
    return model(graph(many, [value("x", [1, 1] + [4500] * 5)], [msg(1, n_(0))], [weight("w", [1, 1] + [4096] * 5)]))


def trips_of_many_terms():
    """Loops of a sum of 300 symbols in a loop of another: each product of trips has 90,000 terms."""
    inputs, nodes = product_of_sums()
    nodes += [node("Shape", ["a"], ["sa"]), node("Gather", ["sa", "zero"], ["n"]), node("Gather", ["sb", "one"], ["m"])]
    inner = [loop(["m", ""], loop_body([node("Identity", ["x"], [f"k{k:x}"])], f"j{k:x}", f"d{k:x}")) for k in range(4000)]
    nodes.append(loop(["n", ""], loop_body(inner)))
    return model(graph(nodes, inputs + [value("x", [2])], [msg(1, "x")], [tensor("zero", [], [0]), tensor("one", [], [1])]))


def costs_times_trips():
    """6,000 costs that differ, of ten terms each, in a loop of a sum of 300 symbols."""
    inputs, nodes = product_of_sums()
    nodes += [node("Shape", ["a"], ["sa"]), node("Gather", ["sa", "zero"], ["n"])]
    small, ten = sum_of_symbols("k", 10, "k")
    many = [node("Mul", ["k", f"w{i:x}"], [f"y{i:x}"]) for i in range(6000)]
    nodes += [ten, loop(["n", ""], loop_body(many))]
    return model(
        graph(nodes, inputs + small, [msg(1, "k")], [tensor("zero", [], [0])] + [weight(f"w{i:x}", [1, i + 2]) for i in range(6000)])
    )


def costs_times_trips_in_modules():
    """As costs_times_trips, each in a module."""
    inputs, nodes = product_of_sums()
    nodes += [node("Shape", ["a"], ["sa"]), node("Gather", ["sa", "zero"], ["n"])]
    small, ten = sum_of_symbols("k", 10, "k")
    many = [named(node("Mul", ["k", f"w{i:x}"], [f"y{i:x}"]), f"{i:x}/M") for i in range(6000)]
    nodes += [ten, loop(["n", ""], loop_body(many))]
    return model(
        graph(nodes, inputs + small, [msg(1, "k")], [tensor("zero", [], [0])] + [weight(f"w{i:x}", [1, i + 2]) for i in range(6000)])
    )


# ---- the report: terms, modules, nodes


def modules_with_work():
    """24,000 modules, each with work that tools count otherwise."""
    n = 18000
    many = [named(node("Gelu", ["x"], [n_(i)]), f"{i:x}/G") for i in range(n)]
    return model(graph(many, [value("x", [2])], [msg(1, n_(0))]), opset=20)


def names_of_call():
    """A node of 4,000 inputs and a call of as many other names, a detach() too: each input is looked for among the names."""
    n = 4000
    call_of = lambda name, args: prop(FX, f"%{name} : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = ({args}), kwargs = {{}})")
    nodes = [node("MatMul", ["x", "w"], ["a"])] + [node("Relu", ["a"], [n_(i)]) + call_of(f"relu_{i+1}", "%a") for i in range(n)]
    names = ", ".join(f"%relu_{i}" for i in range(1, n)) + ", %detach"
    nodes.append(node("Max", [n_(i) for i in range(n)], ["y"]) + call_of("max", names))
    return model(graph(nodes, [value("x", [4, 4])], [msg(1, "y")], [weight("w", [4, 4])]))


def sums_of_places():
    """Places of a Gather that are a sum of itself 60 times over: 2^60 ways to the first."""
    nodes = [node("Add", ["i" if i == 0 else n_(i - 1)] * 2, [n_(i)]) for i in range(60)]
    nodes += [node("MatMul", ["x", "w"], ["a"]), node("Gather", ["a", n_(59)], ["y"])]
    return torchscript(nodes, [value("x", [4, 4]), value("i", [3], INT64)], [tensor("w", [4, 4], raw=b"\0\0\x80?" * 16, dtype=FLOAT_TYPE)])


def torch_modules():
    """3,500 modules of PyTorch, each with work that tools count otherwise."""
    many = [
        node("Relu", ["x"], [n_(i)]) + torch(f"relu_{i+1}", "aten.relu.default", scopes=f"'', '{i:x}'", classes="'', ''", fx="") for i in range(3500)
    ]
    return model(graph(many, [value("x", [2])], [msg(1, n_(0))]))


def deep_paths():
    """Calls 60 deep of functions of names of 60 bytes: each call of the first makes 60 paths of up to 4 kB."""
    d, n = 60, 30000
    name = lambda i: f"{i:02d}" + "n" * 60
    fs = [function("0", [call(name(0), "x", "y")])] + [function(name(i), [call(name(i + 1), "x", "y")]) for i in range(d)]
    fs.append(function(name(d), [node("Gelu", ["x"], ["y"])]))
    calls = [named(call("0", "x", f"{i:x}"), f"m{i:x}/") for i in range(n)]
    return model(graph(calls, [value("x", [3])], [msg(1, n_(0))]), fs, opset=20)


def class_name_per_line():
    """A class of a name of 600 kB, whose terms have its name, in 10,000 modules."""
    mm = node("MatMul", ["x", "x"], ["y"]) + torch("mm", "aten.mm.default", classes="'" + "c" * 600000 + "'", fx="")
    return called_often([mm], 10000)


def node_name_per_module():
    """A node of a name of 500 kB in a function that is called from 10,000 modules."""
    f = function("f", [named(node("MatMul", ["x", "x"], ["a"]), "n" * 500000), node("Relu", ["a"], ["y"])])
    calls = [named(call("f", "x", f"{i:x}"), f"{i:x}/f") for i in range(12000)]
    return model(graph(calls, [value("x", [2, 2])], [msg(1, n_(0))]), [f])


def terms_per_module():
    """The same 2,500 terms in each of 150 modules, and so on for each tool."""
    inputs, nodes = product_of_sums(50)
    gelus = [named(node("Gelu", ["big"], [f"y{i:x}"]), f"{i:x}/G") for i in range(100)]
    return model(graph(nodes + gelus, inputs, [msg(1, "y0")]), opset=20)


def symbols():
    """11,000 symbols."""
    n = 11000
    return model(graph([node("Gelu", [f"x{i:x}"], [f"y{i:x}"]) for i in range(n)], [value(f"x{i:x}", [f"s{i:x}"]) for i in range(n)], [msg(1, "y0")]), opset=20)


def long_symbols():
    """1,300 symbols of 256 bytes, and a cost with a term for each pair of some."""
    count = 290
    long = "n" * 250
    left = [value(f"a{i:x}", [f"{long}a{i:x}", 1]) for i in range(count)]
    right = [value(f"b{i:x}", [1, f"{long}b{i:x}"]) for i in range(count)]
    nodes = [
        node("Concat", [f"a{i:x}" for i in range(count)], ["a"], integer("axis", 0)),
        node("Concat", [f"b{i:x}" for i in range(count)], ["b"], integer("axis", 1)),
        node("Mul", ["a", "b"], ["y"]),
    ]
    return model(graph(nodes, left + right, [msg(1, "y")]))


def function_name_per_line():
    """Calls of a function of a name of 300 kB that is not opened any more."""
    name = "f" * 300000
    f = function(name, [node("MatMul", ["x", "x"], [n_(i)]) for i in range(9000)] + [node("Relu", ["x"], ["y"])])
    g = function("g", [call(name, "x", "y")])
    calls = [call("g", "x", n_(i)) for i in range(9000)]
    return model(graph(calls, [value("x", [2, 2])], [msg(1, n_(0))]), [f, g])


def scopes_prefixes():
    """60 lists of 3,200 scopes each: every beginning of each is looked up."""
    many = []
    for i in range(60):
        many.append(node("Relu", ["x"], [f"y{i}"]) + prop(SCOPES, f"['{i:02d}', '" + "', '".join(["a"] * 3200) + "', 'z']") + prop(CLASSES, "['', 'aten.relu.default']"))
    return model(graph(many, [value("x", [3])], [msg(1, "y0")]))


def scopes_of_numbers():
    """Paths 64 deep of one letter each, whose prefixes are not modules."""
    many = []
    for i in range(3500):
        path = ".".join([n_(i)] + ["a"] * 60)
        many.append(node("Relu", ["x"], [f"y{i:x}"]) + prop(SCOPES, f"['{path}', 'z']"))
    return model(graph(many, [value("x", [3])], [msg(1, "y0")]))


def casts_of_masks():
    """A Cast of 60,000 inputs with 20,000 attributes before the one that counts."""
    many = b"".join(msg(5, msg(1, f"{i:x}") + num(3, 1) + num(20, 2)) for i in range(20000))
    return model(graph([node("Cast", ["w"] * 60000, ["y"], many + integer("to", 9))], [], [msg(1, "y")], [weight("w", [4, 4])]))


def many_inputs():
    """Many inputs and outputs of the graph, of open sizes, half of them declared again."""
    n = 14000
    inputs = [value(f"{i:x}", [f"s{i:x}"]) for i in range(n)]
    return model(graph([node("Identity", [n_(i)], [f"y{i:x}"]) for i in range(n)], inputs, [msg(1, f"y{i:x}") for i in range(n)]))


# ---- figures that overflow


def lrn_size():
    """The size of an LRN is 2^63 - 1."""
    return model(graph([node("LRN", ["x"], ["y"], integer("size", (1 << 63) - 1))], [value("x", [1, 4, 8, 8])], [msg(1, "y")]))


def pads_of_transposed():
    """Twice the padding of a transposed convolution is 2^63."""
    conv = node("ConvTranspose", ["x", "w", "b"], ["y"], ints("pads", [1 << 62, 0, 0, 0])) + torch("convolution", "aten.conv_transpose2d.input", "%x, %w, %b")
    return model(graph([conv], [value("x", [1, 4, 8, 8])], [msg(1, "y")], [weight("w", [4, 4, 3, 3]), weight("b", [4])]))


def directions_of_lstm():
    """An LSTM of 2^62 directions."""
    lstm = node("LSTM", ["x", "w", "r", "b"], ["y"], integer("hidden_size", 5)) + torch("lstm", "aten.lstm.input", classes="'torch.nn.modules.rnn.LSTM'")
    inputs = [value("x", [2, 3, 4]), value("w", [1 << 62, 1, 1]), value("r", [1 << 62, 1, 1]), value("b", [1])]
    return model(graph([lstm], inputs, [msg(1, "y")]))


def batch_dims():
    """A GatherND of 2^63 - 1 batch dimensions."""
    return model(graph([node("GatherND", ["x", "i"], ["y"], integer("batch_dims", (1 << 63) - 1))], [value("x", [4, 4]), value("i", [4, 1], INT64)], [msg(1, "y")]))


def trips():
    """Loops of 2^62 trips in each other, around a node that costs nothing."""
    inner = loop(["n", ""], loop_body([node("Identity", ["x"], ["z"])], "i2", "c2"))
    middle = loop(["n", ""], loop_body([inner], "i1", "c1"))
    outer = loop(["n", ""], loop_body([middle], "i0", "c0"))
    return model(graph([outer, node("Relu", ["x"], ["y"])], [value("x", [2])], [msg(1, "y")], [tensor("n", [], [1 << 62])]))


def elements():
    """2^120 elements, which tools multiply by the weight of an operator."""
    return model(graph([node("Expand", ["x", "s"], ["e"]), node("Softmax", ["e"], ["y"])], [value("x", [1])], [msg(1, "y")], [tensor("s", [2], [1 << 62, 1 << 60])]))


def sparse_input():
    """An input that is a sparse tensor with an open size."""
    sparse = msg(1, "x") + msg(2, msg(8, num(1, 1) + msg(2, msg(1, msg(2, "n")) * 8)))
    return model(graph([node("Relu", ["x"], ["y"])], [sparse], [msg(1, "y")]))


MODELS = {f.__name__: f for f in list(globals().values()) if callable(f) and f.__module__ == __name__ and f.__doc__ and f.__code__.co_argcount == 0}
