"""The rules of zoos, on the nodes of its report (`count(by="node").to_dict()`).

pytorchcv  measure_model of osmr/imgclsmob, pytorch/model_stats.py, lines 90-288 at c1a844dd. It hooks modules without children and counts by their
           classes; what a forward() does beside its modules is left out. The program's convention of this name has the same rules; here they also
           hold for the blocks that reproduce.py puts in the place of others (STAND_INS).
mmcv       get_model_complexity_info of mmcv 2.2.0, mmcv/cnn/utils/flops_counter.py, lines 398-597: hooks on modules of these very classes, not of others
           that are derived from them
training   what fvcore and mmengine count more in training mode: batchnorm_flop_jit has 5 for each element instead of 2
pycls      the *_cx functions of facebookresearch/pycls, pycls/models/blocks.py, lines 77-135 at 5719de6
"""
import math

# Of a class the operator that stands for a call of it, and its FLOPs for each element of the operator's first input.
ELEMENTS = {
    "ReLU": ("Relu", 1), "ReLU6": ("Clip", 1), "LeakyReLU": ("LeakyRelu", 2), "ELU": ("Elu", 3), "PReLU": ("PRelu", 3), "Sigmoid": ("Sigmoid", 4),
    "Swish": ("Sigmoid", 5), "HSigmoid": ("Clip", 1), "HSwish": ("Clip", 2), "BatchNorm1d": ("BatchNormalization", 4),
    "BatchNorm2d": ("BatchNormalization", 4), "InstanceNorm2d": ("InstanceNormalization", 4), "Softmax": ("Softmax", 4), "Softmax2d": ("Softmax", 4),
    "ConvTranspose2d": ("ConvTranspose", 4), "Upsample": ("Resize", 4), "InterpolationBlock": ("Resize", 9), "ChannelShuffle": ("Transpose", 1),
    "ChannelShuffle2": ("Transpose", 1), "PixelShuffle": ("DepthToSpace", 1), "ChannelSqueeze": ("ReduceSum", 1), "IRevDownscale": ("SplitToSequence", 5),
    "IRevSplitBlock": ("SplitToSequence", 1), "IRevMergeBlock": ("Concat", 1), "RiRFinalBlock": ("Concat", 1),
    "ProxylessUnit": ("Identity", 1),
}
# Up to 651da9e6 a convolution was any instance of Conv2d, which Conv2d1bit is; since then measure_model refuses it.
CONVOLUTIONS = ("Conv1d", "MaskConv1d", "Conv2d", "Conv2d1bit")
ADAPTIVE = ("GlobalAveragePool", "GlobalMaxPool", "ReduceMean", "ReduceMax", "AveragePool", "MaxPool")


def shape_of(tensor):
    return [int(size) for size in tensor["shape"]]


def elements(tensor):
    return math.prod(shape_of(tensor))


def classes_of(module):
    """By path the class of each module."""
    found = {module["path"]: module["type"]}
    for child in module.get("children", []):
        found.update(classes_of(child))
    return found


def bias_of(node, made):
    """The bias of a convolution or a linear layer. The exporter gives a convolution without one zeros, which other nodes make."""
    return node["inputs"][2] if len(node["inputs"]) > 2 and node["inputs"][2] and node["inputs"][2]["name"] not in made else None


def made_by_nodes(document):
    return {tensor["name"] for node in document["nodes"] for tensor in node["outputs"]}


def pytorchcv(document):
    """The FLOPs; the zoo's figure is half of them."""
    classes, made, flops = classes_of(document["modules"]), made_by_nodes(document), 0
    biased = {node["module"] for node in document["nodes"] if node["op"] == "Add"}
    for node in document["nodes"]:
        kind, op = classes.get(node["module"], ""), node["op"]
        if not node["inputs"]:
            continue
        x, y = node["inputs"][0], node["outputs"][0]
        if kind in ELEMENTS:
            operator, each = ELEMENTS[kind]
            if kind == "InterpolationBlock" and "bilinear" not in node["name"]:
                each = 4  # calc_flops() of the block: 9 if its mode is bilinear
            flops += each * elements(x) if op == operator else 0
        elif kind in CONVOLUTIONS and op == "Conv":
            out, by_group = shape_of(node["inputs"][1])[:2]
            flops += 2 * node["macs"]["value"] - (0 if bias_of(node, made) else shape_of(x)[0] * out * by_group)
        elif kind == "Linear" and op in ("Gemm", "MatMul"):
            given, out = shape_of(x)[-1], shape_of(y)[-1]
            has_bias = bias_of(node, made) or node["module"] in biased
            flops += shape_of(x)[0] * (2 * given - (0 if has_bias else 1)) * out
        elif kind in ("MaxPool2d", "AvgPool2d") and op in ("MaxPool", "AveragePool"):
            # Ours is the window for each element, and a division for each mean.
            flops += node["flops"]["value"] - (elements(y) if op == "AveragePool" else 0)
        elif kind in ("AdaptiveAvgPool2d", "AdaptiveMaxPool2d") and op in ADAPTIVE:
            flops += elements(x) * math.prod(shape_of(y)[2:])
        elif kind == "ScaleBlock" and op == "Mul":
            flops += elements(y)
        elif kind == "HeatmapMaxDetBlock" and op == "ReduceMax":
            flops += elements(x) + 26 * shape_of(x)[1]
    return flops


# Of a class the operators that stand for a call of it, and what counts.
MMCV = {
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d"), (("Conv", "ConvTranspose"), "macs and bias")),
    "Linear": (("Gemm", "MatMul"), "macs"),
    **dict.fromkeys(("ReLU", "PReLU", "ELU", "LeakyReLU", "ReLU6"), (("Relu", "PRelu", "Elu", "LeakyRelu", "Clip"), "written")),
    **dict.fromkeys((f"{kind}Pool{dims}d" for kind in ("Max", "Avg", "AdaptiveMax", "AdaptiveAvg") for dims in (1, 2, 3)), (ADAPTIVE, "read")),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "LayerNorm"),
                    (("BatchNormalization", "GroupNormalization", "InstanceNormalization", "LayerNormalization"), "read twice")),
    "Upsample": (("Resize",), "written"),
}


def mmcv(document):
    """What it calls FLOPs: MACs with the additions of biases, and elements of other layers."""
    classes, made, flops = classes_of(document["modules"]), made_by_nodes(document), 0
    for node in document["nodes"]:
        operators, counts = MMCV.get(classes.get(node["module"], ""), ((), ""))
        if node["op"] not in operators:
            continue
        if counts.startswith("macs"):
            flops += node["macs"]["value"] + (elements(node["outputs"][0]) if counts == "macs and bias" and bias_of(node, made) else 0)
        else:
            flops += {"written": elements(node["outputs"][0]), "read": elements(node["inputs"][0]), "read twice": 2 * elements(node["inputs"][0])}[counts]
    return flops


def training(document):
    return sum(3 * elements(node["inputs"][0]) for node in document["nodes"] if node["op"] == "BatchNormalization")


def pycls(document):
    """MACs with the additions of biases; and activations, which have those of max pooling, too."""
    made = made_by_nodes(document)
    biased = [node for node in document["nodes"] if node["op"] in ("Conv", "Gemm") and bias_of(node, made)]
    pooled = [node for node in document["nodes"] if node["op"] == "MaxPool"]
    totals = document["totals"]
    return {"macs": totals["macs"]["value"] + sum(elements(node["outputs"][0]) for node in biased), "params": totals["params"],
            "activations": totals["activation_count"]["value"] + sum(elements(node["outputs"][0]) for node in pooled)}
