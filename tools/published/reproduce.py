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
    # column, quantity, unit's exponent, convention
    "timm": [("gmacs_fvcore", "macs", 9, "fvcore"), ("macts_m_fvcore", "activations", 6, "onnxflops")],
    "torchvision": [("gmacs_published", "macs", 9, "onnxflops")],
}


def is_same(published, exponent, figure):
    """Whether the figure, rounded to the digits that are published, is the published one."""
    decimals = len(published.partition(".")[2])
    step = 10 ** (exponent - decimals)
    return 2 * abs(int(published.replace(".", "")) * step - figure) <= step


# ---- building

# How a zoo's benchmark may have built a model, the likeliest first.
BUILDS = {"timm": ["unfused attention", "fused attention", "reparameterised, unfused attention"], "torchvision": ["as it is"]}


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


def build_torchvision(onnxflops, row, built):
    import torchvision
    enum = getattr(torchvision.models, row["weights"], None) or next(
        getattr(part, row["weights"]) for part in (torchvision.models.detection, torchvision.models.segmentation, torchvision.models.video,
                                                   torchvision.models.optical_flow, torchvision.models.quantization) if hasattr(part, row["weights"]))
    weights = enum[row["entry"]]
    name = next(name for name in torchvision.models.list_models() if torchvision.models.get_model_weights(name) is enum)
    preset = weights.transforms.keywords
    side = preset.get("crop_size") or preset.get("resize_size") or 224
    height, width = side if isinstance(side, (list, tuple)) else (side, side)
    return onnxflops.from_torchvision(name, sizes={"batch": 1, "height": height, "width": width})


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


def explained(model, published, exponent):
    """Other conventions that give the published figure."""
    names = [tool["name"] for tool in model.compare().to_dict()["conventions"]
             if tool["headline"] and tool["headline"]["value"] and is_same(published, exponent, tool["headline"]["value"])]
    return "that of " + " ".join(names) if names else "that of no convention"


def count(zoo, row):
    """The rows of one model, one for each figure that is published."""
    warnings.filterwarnings("ignore")
    import onnxflops
    import torch
    package = __import__(zoo)
    torch.set_num_threads(1)
    versions = f"torch {torch.__version__.partition('+')[0]} {zoo} {package.__version__.partition('+')[0]}"
    name = row.get("model") or f"{row['weights']}.{row['entry']}"
    done = {}
    start = time.time()
    fault = ""
    for built in BUILDS[zoo]:
        try:
            model = (build_timm if zoo == "timm" else build_torchvision)(onnxflops, row, built)
            for column, quantity, exponent, convention in ZOOS[zoo]:
                if done.get(quantity, {}).get("verdict") == "same" or not row[column]:
                    continue
                theirs, status, ours, params = figures_of(model, quantity, convention)
                same = theirs is not None and is_same(row[column], exponent, theirs)
                if same or quantity not in done:
                    reason = "" if same or quantity != "macs" else explained(model, row[column], exponent)
                    done[quantity] = {"built": built, "theirs": theirs, "status": status, "ours": ours, "params": params,
                                      "verdict": "same" if same else "differs", "reason": reason}
        except BaseException as error:  # an exporter may even raise SystemExit
            fault = fault or re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")[:300]
        if all(found["verdict"] == "same" for found in done.values()) and len(done) == sum(bool(row[column]) for column, *_ in ZOOS[zoo]):
            break
    rows = []
    for column, quantity, exponent, convention in ZOOS[zoo]:
        if row[column]:
            found = done.get(quantity, {"verdict": "not built", "reason": fault})
            unit = {9: " G", 6: " M"}[exponent]
            rows.append({"zoo": zoo, "model": name, "size": row.get("img_size", ""), "quantity": quantity, "published": row[column] + unit,
                         "convention": convention, "seconds": round(time.time() - start, 1), "versions": versions, **found})
    return rows


# ---- all models

def keys_of(path):
    if not os.path.exists(path):
        return set()
    with open(path, newline="") as file:
        return {row["model"] for row in csv.DictReader(file)}


def run(args):
    with open(args.table, newline="") as file:
        table = [row for row in csv.DictReader(file) if any(row[column] for column, *_ in ZOOS[args.zoo])]
    done = keys_of(args.rows)
    wanted = []
    for row in table[::args.sample]:
        name = row.get("model") or f"{row['weights']}.{row['entry']}"
        if name not in done and (not args.model or any(fnmatch.fnmatch(name, glob) for glob in args.model)):
            wanted.append(row)
    wanted = wanted[:args.limit]
    is_new = not os.path.exists(args.rows)
    # A process for each model: memory goes back, and what one model does to PyTorch does not touch the next.
    with open(args.rows, "a", newline="") as file, concurrent.futures.ProcessPoolExecutor(
            args.jobs, mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
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
