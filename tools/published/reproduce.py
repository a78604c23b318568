#!/usr/bin/env python3
"""Reproduces figures that a zoo publishes: builds each model without weights, counts it as the zoo did, and writes a row.

Usage: reproduce.py ZOO TABLE ROWS [--jobs N] [--limit N] [--sample STEP] [--model GLOB]...
       reproduce.py --report ROWS...       the share that is reproduced, and every row that is not, with its reason
       reproduce.py --not-run ZOO TABLE ROWS    the figures of TABLE that have no row, as lines of not_run.csv

ZOO is timm, torchvision, pytorchcv, pycls, mobilenet or mmpretrain; TABLE is the zoo's CSV file, ROWS the file to write. A row is written when its model is done, and a model
that has a row is not built again: a run that was stopped goes on. Each model is built and counted in a process of its own. Nothing is downloaded.

    pip install onnxflops timm torchvision pytorchcv torch onnxscript

timm      TABLE has model, img_size, gmacs_fvcore, macts_m_fvcore (results/benchmark-infer-*.csv of pytorch-image-models)
          A model is built as its benchmark did: attention as separate products (timm.layers.set_fused_attn(False)). If the figure is another one,
          with fused attention; then with reparameterised blocks. The column "built" tells which.
          A figure that is not reproduced names the conventions that give it, if any.
torchvision  TABLE has weights, entry, gmacs_published: "_ops" of each weights' metadata, by PyTorch's FlopCounterMode halved
pytorchcv  TABLE has log_name, flops_over_2 (pytorch/README.md of imgclsmob, "FLOPs/2"), by the zoo's own rules: zoo_rules.py
pycls     TABLE has config, flops, params, acts (dev/model_complexity.json of pycls), by its own rules. The models are those of timm and torchvision.
mobilenet  TABLE has model, width, resolution, macs_m (research/slim/nets/mobilenet/README.md of tensorflow/models; those
          of MobileNet V2 are cut off, not rounded). The models are those of timm and
          torchvision, with the 1,001 classes of TensorFlow's.
mmpretrain  TABLE has name, macs_published ("FLOPs" of the configs/*/metafile.yml of mmpretrain): what extract_feat() does, without the head, by mmengine's
          get_model_complexity_info, which is fvcore's, or by that of mmcv (zoo_rules.py). The first that gives the figure counts; "built" names it.
          Zeros at the end are digits up to the third one, and up to 10 M. Also needs: pip install mmpretrain mmengine mmcv-lite
"""
import argparse
import concurrent.futures
import csv
import fnmatch
import multiprocessing
import os
import re
import sys
import time
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import zoo_rules  # noqa: E402

COLUMNS = ["zoo", "model", "size", "built", "quantity", "published", "convention", "theirs", "status", "ours", "params", "verdict", "reason", "seconds",
           "versions"]
ZOOS = {
    # column, quantity, unit's exponent, decimals, convention
    "timm": [("gmacs_fvcore", "macs", 9, 2, "fvcore"), ("macts_m_fvcore", "activations", 6, 2, "fvcore-activations")],
    "torchvision": [("gmacs_published", "macs", 9, 3, "onnxflops")],
    "pytorchcv": [("flops_over_2", "macs", 6, 2, "pytorchcv")],
    "pycls": [("flops", "macs", 0, 0, "pycls"), ("acts", "activations", 0, 0, "pycls"), ("params", "params", 0, 0, "pycls")],
    "mobilenet": [("macs_m", "macs", 6, 0, "onnxflops")],
    "mmpretrain": [("macs_published", "macs", 0, 0, "mmengine")],
}
UNITS = {9: " G", 6: " M", 0: ""}
PACKAGES = {"pycls": "timm", "mobilenet": "timm"}  # that has the models, where it is not the zoo


def step_of(published, exponent, decimals):
    """What the last printed digit stands for. In a whole number of MACs that has many zeros at its end, these are digits up to the third, and up to 10 M."""
    zeros = len(published) - len(published.rstrip("0"))
    if exponent or zeros < 3:
        return 10 ** (exponent - decimals)
    return min(10 ** zeros, max(10 ** 7, 10 ** (len(published) - 3)))


def is_same(published, exponent, decimals, figure, cut=False):
    """Whether the figure, rounded to the zoo's decimals or cut off there, is the published one. Tables leave zeros at the end out: 1.0 stands for 1.00."""
    step = step_of(published, exponent, decimals)
    whole, _, part = published.partition(".")
    printed = int(whole + part.ljust(decimals, "0")) * 10 ** (exponent - decimals)
    return printed <= figure < printed + step if cut else 2 * abs(printed - figure) <= step


def is_cut(zoo, model):
    """Whether a zoo's table cuts digits off instead of rounding: that of MobileNet V2 does, in every row."""
    return zoo == "mobilenet" and model.startswith("mobilenet_v2_")


# ---- building

# How a zoo's benchmark may have built a model, the likeliest first. The images are noise, in which a detector with random or trained weights may propose
# or find something: its last layers run on each region.
BUILDS = {"timm": ["unfused attention", "fused attention", "reparameterised, unfused attention"],
          "torchvision": ["as it is", "no region proposed", "1 object found", "100 objects found"],
          "pytorchcv": ["as it is", "without auxiliary outputs"],
          "pycls": ["as it is"],
          "mobilenet": ["as it is"],
          "mmpretrain": ["unfused attention", "unfused attention, by mmcv's counter", "unfused attention, in training mode", "reparameterised",
                         "unfused attention, image of 224", "unfused attention, image of 224, by mmcv's counter",
                         "convolutions padded as before PyTorch 1.9, by mmcv's counter", "strides of 2022-12-14, in training mode"]}


def build_timm(onnxflops, row, built):
    import timm
    timm.layers.set_fused_attn(built == "fused attention")
    name, size = row["model"], int(row["img_size"])
    config = timm.get_pretrained_cfg(name)
    if not built.startswith("reparameterised"):
        if config is None or config.input_size[-1] == size:
            return onnxflops.from_timm(name, sizes={"batch": 1})
        try:
            return onnxflops.from_timm(name, sizes={"batch": 1}, img_size=size)
        except Exception:  # a model of images of any size has no such argument
            return onnxflops.from_timm(name, sizes={"batch": 1, "height": size, "width": size})
    import torch
    with torch.device("meta"):
        module = timm.utils.model.reparameterize_model(timm.create_model(name).eval())
    return onnxflops.from_torch(module, torch.zeros(1, 3, size, size, device="meta"), name=name)


# The images on which torchvision ran its detectors (detection_models_input_dims of its test/test_extended_models.py).
DETECTORS = {"fasterrcnn_mobilenet_v3_large_320_fpn": 320, "keypointrcnn_resnet50_fpn": 1333, "ssd300_vgg16": 300, "ssdlite320_mobilenet_v3_large": 320}


def torchvision_module(row):
    """The module of a row, without weights, its name, and the inputs that get_ops() of torchvision's test/common_extended_utils.py makes."""
    import inspect
    import torch
    import torchvision
    models = torchvision.models
    enum = getattr(models, row["weights"], None) or next(
        getattr(part, row["weights"]) for part in (models.detection, models.segmentation, models.video, models.optical_flow, models.quantization)
        if hasattr(part, row["weights"]))
    weights = enum[row["entry"]]
    name = next(name for name in models.list_models() if models.get_model_weights(name) is enum)
    kind = models.get_model_builder(name).__module__.split(".")[-2]
    side = DETECTORS.get(name, 800) if kind == "detection" else 512
    image = torch.rand({"detection": (1, 3, side, side), "video": (1, 16, 3, side, side)}.get(kind, (1, 3, side, side)))
    preset = weights.transforms()
    images = preset(image, image) if kind == "optical_flow" else (preset(image),)
    arguments = inspect.signature(models.get_model_builder(name)).parameters
    options = {key: None for key in ("weights", "weights_backbone") if key in arguments}
    if "aux_loss" in arguments:
        options["aux_loss"] = True  # the builder sets it if weights are loaded
    if name.startswith("vit_"):
        options["image_size"] = images[0].shape[-1]  # so does it with the size
    try:
        with torch.device("meta"):
            module = models.get_model(name, **options)
    except NotImplementedError:  # its constructor computes with tensors
        module = models.get_model(name, **options).to("meta")
    return module.eval(), name, kind, images


def detector_parts(module, images, proposed, objects):
    """The layers of a detector, and their inputs. Choosing boxes, which is left out, has no MACs."""
    import torch

    class Layers(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.detector = module

        def forward(self, image, regions=None, found=None):
            features = self.detector.backbone(image)
            features = [features] if isinstance(features, torch.Tensor) else list(features.values())
            if regions is None:
                return self.detector.head(features)
            heads = self.detector.roi_heads
            out = [self.detector.rpn.head(features), heads.box_predictor(heads.box_head(regions))]
            if found is not None:
                last = "keypoint" if heads.has_keypoint() else "mask"
                out.append(getattr(heads, last + "_predictor")(getattr(heads, last + "_head")(found)))
            return out

    inputs = [module.transform([images[0][0]])[0].tensors]
    if hasattr(module, "roi_heads"):
        heads = module.roi_heads
        channels = module.backbone.out_channels
        inputs.append(torch.empty(module.rpn._post_nms_top_n["testing"] if proposed else 0, channels, *heads.box_roi_pool.output_size))
        pool = heads.keypoint_roi_pool if heads.has_keypoint() else heads.mask_roi_pool if heads.has_mask() else None
        if objects and pool is None:
            raise ValueError("this detector has no layers for each object")
        if objects:
            inputs.append(torch.empty(objects, channels, *pool.output_size))
    return Layers(), inputs


def build_torchvision(onnxflops, row, built):
    module, name, kind, images = torchvision_module(row)
    if kind == "detection":
        module, images = detector_parts(module, images, built != "no region proposed", int(built.split()[0]) if built.endswith("found") else 0)
    elif built != "as it is":
        raise ValueError("no detector")
    return onnxflops.from_torch(module, tuple(image.to("meta") for image in images), name=name)


def pytorchcv_module(name, built, is_exported, device="meta"):
    """The module of a row, and the images that calc_model_accuracy() of imgclsmob's eval_pt.py makes: of the model's own size, or its dataset's."""
    import torch
    from pytorchcv.model_provider import get_model
    options = {"pretrained": False, **({"aux": False, "fixed_size": False} if built != "as it is" else {})}
    with torch.device(device):
        module = get_model(name, **options).eval()
    if is_exported:
        for part in list(module.modules()):
            for key, child in list(part.named_children()):
                stand_in = STAND_INS.get(type(child).__name__)
                if stand_in and not list(child.children()):
                    setattr(part, key, type(type(child).__name__, (torch.nn.Module,), {"forward": stand_in})())
    side = 32 if name.rpartition("_")[2] in ("cifar10", "cifar100", "svhn") else 224
    return module, torch.zeros(1, 3, *getattr(module, "in_size", (side, side)), device=device)


# Blocks of which the exporter needs another form. The first branches on the places that it finds: here it reads the same. The second, without parts,
# returns its input, of which nothing would be in the file.
STAND_INS = {"HeatmapMaxDetBlock": lambda _, x: x.amax(dim=(2, 3)), "ProxylessUnit": lambda _, x: x.clone()}


def build_pytorchcv(onnxflops, row, built):
    module, image = pytorchcv_module(row["model"], built, True)
    return onnxflops.from_torch(module, image, name=row["model"])


# The images on which pycls trains EfficientNets (TRAIN.IM_SIZE of its configs/dds_baselines/effnet).
EFFICIENTNETS = {"b0": 224, "b1": 240, "b2": 260, "b3": 300, "b4": 380, "b5": 456}


def build_pycls(onnxflops, row, _):
    kind, _, name = row["model"].rpartition("/")[2].partition("-")
    size, is_imagenet = 224, "/cifar/" not in row["model"]
    name = name.partition("_")[0]
    if kind in ("RegNetX", "RegNetY"):
        number = float(name[:-2]) * (10 if name.endswith("GF") else 0.01)
        name = f"{kind.lower()}_{round(number):03}"
    elif kind == "EN":
        name, size = "efficientnet_" + name.lower(), EFFICIENTNETS[name.lower()]
    elif kind == "R" and is_imagenet:
        name = "resnet" + name.partition("-")[0]
    elif kind == "X" and name == "152-32x4d":  # no name, but the class has it
        import torch
        from torchvision.models.resnet import Bottleneck, ResNet
        with torch.device("meta"):
            module = ResNet(Bottleneck, [3, 8, 36, 3], groups=32, width_per_group=4).eval()
        return onnxflops.from_torch(module, torch.zeros(1, 3, size, size, device="meta"), name="resnext152_32x4d")
    elif kind == "X":
        name = "resnext" + name.replace("-", "_")
    else:
        raise ValueError("neither timm nor torchvision has this network")
    return onnxflops.from_timm(name, sizes={"batch": 1, "height": size, "width": size})


def build_mobilenet(onnxflops, row, _):
    import torch
    import torchvision
    size = int(row["img_size"])
    name, _, width = row["model"].rpartition("_")
    if name != "mobilenet_v2":
        version = name.removeprefix("mobilenet_").replace("minimalistic", "minimal")
        return onnxflops.from_timm(f"tf_mobilenet{version}_{round(100 * float(width)):03}", sizes={"batch": 1}, num_classes=1001)
    with torch.device("meta"):
        module = torchvision.models.mobilenet_v2(width_mult=float(width), num_classes=1001).eval()
    return onnxflops.from_torch(module, torch.zeros(1, 3, size, size, device="meta"), name=row["model"])


def mmpretrain_size(config):
    """The side of the images that a configuration tests on."""
    def sides(part):
        if isinstance(part, dict):
            kind = str(part.get("type", ""))
            if "Crop" in kind or kind.rpartition(".")[2] == "Resize":
                yield part.get("crop_size") or part.get("scale")
            part = list(part.values())
        for child in part if isinstance(part, (list, tuple)) else []:
            yield from sides(child)

    data = config.get("test_dataloader") or config.get("train_dataloader") or {}
    found = [side for side in sides(data.get("dataset", {}).get("pipeline", [])) if side]
    side = found[-1] if found else 32 if "CIFAR" in str(data.get("dataset", {}).get("type")) else (config.model.get("backbone") or {}).get("img_size") or 224
    return side if isinstance(side, int) else side[0]


def mmpretrain_module(name, built, device="meta"):
    """What tools/analysis_tools/get_flops.py counts: the features of a model, and its image."""
    import torch
    from mmpretrain import get_model
    from mmpretrain.apis.model import ModelHub
    from mmpretrain.models.utils import attention
    attention.scaled_dot_product_attention = attention.scaled_dot_product_attention_pyimpl  # as with torch 1, that of all figures up to 2023-03
    if built.startswith("convolutions padded as before PyTorch 1.9"):  # ConvMixer asks for its version
        from mmpretrain.models.backbones import convmixer
        convmixer.digit_version = lambda version: version != torch.__version__

    class Features(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, image):
            return self.model.extract_feat(image)

    try:
        with torch.device(device):
            model = get_model(name, pretrained=False)
    except (NotImplementedError, RuntimeError):  # its constructor computes with tensors
        model = get_model(name, pretrained=False)
    if built == "reparameterised":
        parts = [part for part in model.modules() if part is not model and hasattr(part, "switch_to_deploy")]
        if not parts:
            raise ValueError("nothing is reparameterised")
        for part in parts:
            part.switch_to_deploy()
    if built.startswith("convolutions padded") and not any(type(part).__name__ == "Conv2dAdaptivePadding" for part in model.modules()):
        raise ValueError("no convolution is padded in another way")
    if built.startswith("strides of"):  # ec489470 of mmpretrain moved them after the figures were written
        strided = [part for part in model.modules() if type(part).__name__ == "EdgeResidual" and part.conv1.conv.stride == (2, 2)]
        if not strided:
            raise ValueError("no stride has been moved")
        for part in strided:
            part.conv1.conv.stride, part.conv2.conv.stride = (1, 1), (2, 2)
    side = mmpretrain_size(ModelHub.get(name).config)
    if "image of 224" in built:  # without --shape, get_flops.py has one of 224 x 224
        if side == 224:
            raise ValueError("the configuration has images of 224 x 224")
        side = 224
    return Features(model.to(device).train(built.endswith("in training mode"))), torch.zeros(1, 3, side, side, device=device)


LAST = {}  # the model that was exported last: builds that differ in the counter have the same


def build_mmpretrain(onnxflops, row, built):
    key = row["model"], built.removesuffix(", by mmcv's counter").removesuffix(", in training mode")
    if key not in LAST:
        module, image = mmpretrain_module(row["model"], built, "cpu" if built == "reparameterised" else "meta")
        LAST.clear()
        LAST[key] = onnxflops.from_torch(module.eval().to("meta"), image.to("meta"), name=row["model"])
    return LAST[key]


BUILDERS = {"mmpretrain": build_mmpretrain, "mobilenet": build_mobilenet, "timm": build_timm, "torchvision": build_torchvision, "pytorchcv": build_pytorchcv, "pycls": build_pycls}


# ---- one model

def convention_of(convention, built):
    return "mmcv" if built.endswith("by mmcv's counter") else convention


def figures_of(model, quantity, convention, built):
    """The zoo's figure by its convention, its status, and our own count."""
    convention = convention_of(convention, built)
    report = model.count(by="node" if hasattr(zoo_rules, convention) else None)
    ours = {"macs": report.macs, "activations": report.activation_count, "params": report.params}[quantity]
    if convention == "pytorchcv":
        # FLOPs/2 with two decimals of a million: half an operation is left out.
        return zoo_rules.pytorchcv(report.to_dict()) // 2, "exact", int(ours), report.params
    if convention == "pycls":
        return int(zoo_rules.pycls(report.to_dict())[quantity]), "exact", int(ours), report.params
    if convention == "mmcv":
        return int(zoo_rules.mmcv(report.to_dict())), "exact", int(ours), report.params
    if convention == "onnxflops":
        return int(ours), "exact", int(ours), report.params
    tool = model.compare(convention, **({"quantity": quantity} if quantity == "activations" else {})).to_dict()["conventions"][0]
    theirs = tool["headline"] and tool["headline"]["value"]
    if built.endswith("in training mode"):
        theirs += zoo_rules.training(model.count(by="node").to_dict())
    return theirs, tool["status"], int(ours), report.params


def explained(model, published, exponent, decimals):
    """Other conventions that give the published figure."""
    names = [tool["name"] for tool in model.compare().to_dict()["conventions"]
             if tool["headline"] and tool["headline"]["value"] and is_same(published, exponent, decimals, tool["headline"]["value"])]
    return "that of " + " ".join(names) if names else "that of no convention"


def under(zoo, row, built, model):
    """What each published figure is for a model that was built this way."""
    found = {}
    for column, quantity, exponent, decimals, convention in ZOOS[zoo]:
        if row[column]:
            theirs, status, ours, params = figures_of(model, quantity, convention, built)
            same = theirs is not None and is_same(row[column], exponent, decimals, theirs, is_cut(zoo, row.get("model", "")))
            reason = "" if same or quantity != "macs" else explained(model, row[column], exponent, decimals)
            found[quantity] = {"built": built, "convention": convention_of(convention, built), "theirs": theirs, "status": status, "ours": ours, "params": params,
                               "verdict": "same" if same else "differs", "reason": reason}
    return found


def count(zoo, row):
    """The rows of one model, one for each figure that is published."""
    warnings.filterwarnings("ignore")
    import onnxflops
    import torch
    package = __import__(PACKAGES.get(zoo, zoo))
    torch.set_num_threads(1)
    versions = f"torch {torch.__version__.partition('+')[0]} {package.__name__} {package.__version__.partition('+')[0]}"
    name, size = key_of(row)
    start = time.time()
    done, fault = {}, ""

    def reproduced(found):
        return sum(figure["verdict"] == "same" for figure in found.values())

    # One build must give all figures: the first of those that give most.
    for built in BUILDS[zoo]:
        try:
            found = under(zoo, row, built, BUILDERS[zoo](onnxflops, row, built))
            if not done or reproduced(found) > reproduced(done):
                done = found
        except BaseException as error:  # an exporter may even raise SystemExit
            fault = fault or re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")[:300]
        if done and reproduced(done) == len(done):
            break
    rows = []
    for column, quantity, exponent, _, convention in ZOOS[zoo]:
        if row[column]:
            found = done.get(quantity, {"verdict": "not built", "reason": fault})
            rows.append({"zoo": zoo, "model": name, "size": size, "quantity": quantity, "published": row[column] + UNITS[exponent],
                         "convention": convention, "seconds": round(time.time() - start, 1), "versions": versions, **found})
    return rows


# ---- all models

def key_of(row):
    """A model, at its image size if the table has one. The row is one of a zoo's table or one of ours."""
    return row.get("model") or f"{row['weights']}.{row['entry']}", row.get("img_size") or row.get("size") or ""


def keys_of(path):
    if not os.path.exists(path):
        return set()
    with open(path, newline="") as file:
        return {key_of(row) for row in csv.DictReader(file)}


def row_of(row):
    """A row of a zoo's table with the titles used here, and numbers as digits."""
    row = {title.partition("(")[0]: value for title, value in row.items()}
    if "log_name" in row:
        row.update(model=row["log_name"], flops_over_2=row["flops_over_2"].rstrip("M").replace(",", ""))
    if "macs_published" in row:
        row.update(model=row["name"])
    if "macs_m" in row:
        row.update(model=f"{row['model']}_{row['width']}", img_size=row["resolution"])
    if "config" in row:
        row["model"] = row["config"].removeprefix("configs/").removesuffix(".yaml")
    return row


def table_of(zoo, path):
    with open(path, newline="") as file:
        return [row for row in map(row_of, csv.DictReader(file)) if any(row[column] for column, *_ in ZOOS[zoo])]


def not_run(zoo, table, rows):
    done = keys_of(rows)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for row in table_of(zoo, table):
        for column, quantity, exponent, *_ in ZOOS[zoo]:
            if row[column] and quantity != "params" and key_of(row) not in done:
                writer.writerow([zoo, *key_of(row), quantity, row[column] + UNITS[exponent]])


def run(args):
    table = table_of(args.zoo, args.table)
    done = keys_of(args.rows)
    wanted = []
    for row in table[::args.sample]:
        if key_of(row) not in done and (not args.model or any(fnmatch.fnmatch(key_of(row)[0], glob) for glob in args.model)):
            wanted.append(row)
    wanted = wanted[:args.limit]
    is_new = not os.path.exists(args.rows)
    # A process for each model: memory goes back, and what one model does to PyTorch does not touch the next. They are forks of one that has
    # imported all: imports take longer than most models.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["onnxflops", "onnxscript", "torch", "torch.onnx", PACKAGES.get(args.zoo, args.zoo)])
    with open(args.rows, "a", newline="") as file, concurrent.futures.ProcessPoolExecutor(
            args.jobs, mp_context=context, max_tasks_per_child=1) as pool:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        futures = {pool.submit(count, args.zoo, row): row for row in wanted}
        for number, future in enumerate(concurrent.futures.as_completed(futures), 1):
            rows = future.result()
            writer.writerows(rows)
            file.flush()
            for row in rows:
                print(f"{number}/{len(wanted)}", row["model"], row["quantity"], row["published"], row.get("theirs"), row["verdict"], row["reason"], flush=True)


def report(paths):
    rows = []
    for path in paths:
        with open(path, newline="") as file:
            rows += csv.DictReader(file)
    for zoo, quantity in sorted({(row["zoo"], row["quantity"]) for row in rows}):
        of = [row for row in rows if (row["zoo"], row["quantity"]) == (zoo, quantity)]
        same = [row for row in of if row["verdict"] == "same"]
        print(f"{zoo}, {quantity}: {len(same)} of {len(of)} figures are reproduced to the last digit ({100 * len(same) / len(of):.1f} %)")
        for row in of:
            if row["verdict"] != "same":
                print(f"  {row['model']}: {row['published']}, not {row['theirs'] or 'built'}: {row['reason']}")


def main():
    if sys.argv[1:2] == ["--report"]:
        return report(sys.argv[2:])
    if sys.argv[1:2] == ["--not-run"]:
        return not_run(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", choices=ZOOS)
    parser.add_argument("table")
    parser.add_argument("rows")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--sample", type=int, default=1, help="take every STEP-th row of the table")
    parser.add_argument("--model", action="append", help="only models that this pattern names")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
