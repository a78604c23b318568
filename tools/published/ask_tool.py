#!/usr/bin/env python3
"""Runs a zoo's own counter on the models of rows: the second opinion on what reproduce.py counts.

Usage: ask_tool.py ROWS TOOLS [--sample STEP] [--model GLOB]...

ROWS is a file of reproduce.py, TOOLS the file to write. Models that have a row in TOOLS are not run again. Every model with a figure that is not
reproduced is run, and of the others every STEP-th (none without --sample). The counter is fvcore for timm, PyTorch's FlopCounterMode, halved, for
torchvision, for mmpretrain mmengine's or mmcv's get_model_complexity_info, as the column "built" says, and for pytorchcv its measure_model, halved: model_stats.py of the folder pytorch of osmr/imgclsmob, which PYTHONPATH must name. Models have
no weights: tensors are on the device meta, or on the CPU if that fails.

    pip install onnxflops timm torchvision pytorchcv torch onnxscript fvcore
"""
import argparse
import csv
import fnmatch
import importlib.metadata
import os
import re
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reproduce  # noqa: E402

COLUMNS = ["zoo", "model", "size", "built", "quantity", "tool", "figure", "versions"]


def timm_module(name, size, built, device):
    import timm
    import torch
    timm.layers.set_fused_attn(built == "fused attention")
    config = timm.get_pretrained_cfg(name)
    options = {} if config is None or config.input_size[-1] == size else {"img_size": size}
    with torch.device(device):
        try:
            module = timm.create_model(name, **options)
        except TypeError:  # a model of images of any size has no such argument
            module = timm.create_model(name)
    module.eval()
    return timm.utils.model.reparameterize_model(module) if built.startswith("reparameterised") else module


def by_fvcore(name, size, built):
    import logging
    import torch
    from fvcore.nn import ActivationCountAnalysis, FlopCountAnalysis
    logging.disable(logging.WARNING)
    for device in ("meta", "cpu"):
        try:
            module = timm_module(name, size, built, device)
            image = torch.ones(1, 3, size, size, device=device)
            with torch.no_grad():
                return {"macs": int(FlopCountAnalysis(module, image).total()), "activations": int(ActivationCountAnalysis(module, image).total())}
        except Exception:
            if device == "cpu":
                raise


def by_flop_counter(name, built):
    import torch
    from torch.utils.flop_counter import FlopCounterMode
    weights, entry = name.split(".")
    module, _, kind, images = reproduce.torchvision_module({"weights": weights, "entry": entry})
    if kind == "detection":
        module, images = reproduce.detector_parts(module, images, built != "no region proposed", int(built.split()[0]) if built.endswith("found") else 0)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        module(*(image.to("meta") for image in images))
    return {"macs": counter.get_total_flops() // 2}


def by_measure_model(name, built):
    import torch
    from model_stats import measure_model
    for device in ("meta", "cpu"):
        try:
            module, image = reproduce.pytorchcv_module(name, built, False, device)
            with torch.no_grad(), torch.device(device):
                return {"macs": int(measure_model(module, [tuple(image.shape)])[0]) // 2}
        except Exception:
            if device == "cpu":
                raise


def by_complexity_info(name, built):
    import logging
    import torch
    logging.disable(logging.WARNING)
    if built.endswith("by mmcv's counter"):
        from mmcv.cnn.utils import get_model_complexity_info
        module, image = reproduce.mmpretrain_module(name, built)
        with torch.no_grad(), torch.device("meta"):
            return {"macs": int(get_model_complexity_info(module, tuple(image.shape[1:]), print_per_layer_stat=False, as_strings=False)[0])}
    from mmengine.analysis import get_model_complexity_info
    module, image = reproduce.mmpretrain_module(name, built, "cpu")
    with torch.no_grad():
        return {"macs": int(get_model_complexity_info(module, inputs=image, show_table=False, show_arch=False)["flops"])}


def ask(zoo, name, size, built):
    warnings.filterwarnings("ignore")
    if zoo == "mmpretrain":
        package = "mmcv-lite" if built.endswith("by mmcv's counter") else "mmengine"
        return "get_model_complexity_info", f"{package} {importlib.metadata.version(package)}", by_complexity_info(name, built)
    if zoo == "pytorchcv":
        return "measure_model / 2", "pytorchcv " + importlib.metadata.version("pytorchcv"), by_measure_model(name, built)
    if zoo == "timm":
        return "fvcore", "fvcore " + importlib.metadata.version("fvcore"), by_fvcore(name, int(size), built)
    import torch
    return "FlopCounterMode / 2", "torch " + torch.__version__.partition("+")[0], by_flop_counter(name, built)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("tools")
    parser.add_argument("--sample", type=int, help="also run every STEP-th model that is reproduced")
    parser.add_argument("--model", action="append", help="only models that this pattern names")
    args = parser.parse_args()
    models = {}
    with open(args.rows, newline="") as file:
        for row in csv.DictReader(file):
            models.setdefault(reproduce.key_of(row), []).append(row)
    done = reproduce.keys_of(args.tools)
    same = [key for key, rows in models.items() if all(row["verdict"] == "same" for row in rows)]
    chosen = set(models) - set(same) | set(same[::args.sample] if args.sample else [])
    is_new = not os.path.exists(args.tools)
    with open(args.tools, "a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        for key, rows in models.items():
            name, size = key
            if key not in chosen or key in done or (args.model and not any(fnmatch.fnmatch(name, glob) for glob in args.model)):
                continue
            zoo = rows[0]["zoo"]
            built = rows[0]["built"] or reproduce.BUILDS[zoo][0]
            try:
                tool, versions, figures = ask(zoo, name, size, built)
            except Exception as error:
                print(name, re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")[:200], flush=True)
                continue
            for row in rows:
                figure = figures[row["quantity"]]
                writer.writerow({"zoo": row["zoo"], "model": name, "size": size, "built": built, "quantity": row["quantity"], "tool": tool,
                                 "figure": figure, "versions": versions})
                print(name, row["quantity"], row["published"], row["theirs"], figure, "equal" if str(figure) == row["theirs"] else "UNEQUAL", flush=True)
            file.flush()


if __name__ == "__main__":
    main()
