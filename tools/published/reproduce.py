#!/usr/bin/env python3
"""Reproduces figures that a zoo publishes: builds each model without weights, counts it as the zoo did, and writes a row.

Usage: reproduce.py ZOO TABLE ROWS [--jobs N] [--limit N] [--sample STEP] [--model GLOB]...
       reproduce.py --report ROWS...       the share that is reproduced, and every row that is not, with its reason

ZOO is timm or torchvision; TABLE is the zoo's CSV file, ROWS the file to write. A row is written when its model is done, and a model that has a
row is not built again: a run that was stopped goes on. Each model is built and counted in a process of its own. Nothing is downloaded.

    pip install onnxflops timm torchvision torch onnxscript

timm      TABLE has model, img_size, gmacs_fvcore, macts_m_fvcore (results/benchmark-infer-*.csv of pytorch-image-models)
          A model is built as its benchmark did: attention as separate products (timm.layers.set_fused_attn(False)). If the figure is another one,
          with fused attention; then with reparameterised blocks. The column "built" tells which.
          A figure that is not reproduced names the conventions that give it, if any.
torchvision  TABLE has weights, entry, gmacs_published: "_ops" of each weights' metadata, by PyTorch's FlopCounterMode halved
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

COLUMNS = ["zoo", "model", "size", "built", "quantity", "published", "convention", "theirs", "status", "ours", "params", "verdict", "reason", "seconds",
           "versions"]
ZOOS = {
    # column, quantity, unit's exponent, decimals, convention
    "timm": [("gmacs_fvcore", "macs", 9, 2, "fvcore"), ("macts_m_fvcore", "activations", 6, 2, "onnxflops")],
    "torchvision": [("gmacs_published", "macs", 9, 3, "onnxflops")],
}


def is_same(published, exponent, decimals, figure):
    """Whether the figure, rounded to the zoo's decimals, is the published one. Tables leave zeros at the end out: 1.0 stands for 1.00."""
    step = 10 ** (exponent - decimals)
    whole, _, part = published.partition(".")
    return 2 * abs(int(whole + part.ljust(decimals, "0")) * step - figure) <= step


# ---- building

# How a zoo's benchmark may have built a model, the likeliest first. The images are noise, in which a detector with random or trained weights may propose
# or find something: its last layers run on each region.
BUILDS = {"timm": ["unfused attention", "fused attention", "reparameterised, unfused attention"],
          "torchvision": ["as it is", "no region proposed", "1 object found", "100 objects found"]}


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


# ---- one model

def figures_of(model, quantity, convention):
    """The zoo's figure by its convention, its status, and our own count."""
    report = model.count()
    ours = report.macs if quantity == "macs" else report.activation_count
    if convention == "onnxflops":
        return int(ours), "exact", int(ours), report.params
    tool = model.compare(convention).to_dict()["conventions"][0]
    theirs = tool["headline"] and tool["headline"]["value"]
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
            theirs, status, ours, params = figures_of(model, quantity, convention)
            same = theirs is not None and is_same(row[column], exponent, decimals, theirs)
            reason = "" if same or quantity != "macs" else explained(model, row[column], exponent, decimals)
            found[quantity] = {"built": built, "theirs": theirs, "status": status, "ours": ours, "params": params,
                               "verdict": "same" if same else "differs", "reason": reason}
    return found


def count(zoo, row):
    """The rows of one model, one for each figure that is published."""
    warnings.filterwarnings("ignore")
    import onnxflops
    import torch
    package = __import__(zoo)
    torch.set_num_threads(1)
    versions = f"torch {torch.__version__.partition('+')[0]} {zoo} {package.__version__.partition('+')[0]}"
    name, size = key_of(row)
    start = time.time()
    done, fault = {}, ""

    def reproduced(found):
        return sum(figure["verdict"] == "same" for figure in found.values())

    # One build must give all figures: the first of those that give most.
    for built in BUILDS[zoo]:
        try:
            found = under(zoo, row, built, (build_timm if zoo == "timm" else build_torchvision)(onnxflops, row, built))
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
            unit = {9: " G", 6: " M"}[exponent]
            rows.append({"zoo": zoo, "model": name, "size": size, "quantity": quantity, "published": row[column] + unit,
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


def run(args):
    with open(args.table, newline="") as file:
        table = [row for row in csv.DictReader(file) if any(row[column] for column, *_ in ZOOS[args.zoo])]
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
    context.set_forkserver_preload(["onnxflops", "onnxscript", "torch", "torch.onnx", args.zoo])
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
