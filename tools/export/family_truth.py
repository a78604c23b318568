#!/usr/bin/env python3
"""What transformers executes for configurations: parameters, and forward FLOPs (2 x MACs) by module, by torch's FlopCounterMode.

  python3 tools/export/family_truth.py tests/data/config/image_models.json ...      (torch 2.15.0, transformers 5.24.0, onnxflops)

A file has its own cases: {"models": {NAME: {"config": CONFIG, "points": [{"dims": {"batch": 2, ...}}, ...]}}}. Each point gets its
flops and the modules of its first layers, each model its parameters; what a file has already is made anew. Classes run as
model_types.py runs them: on the device meta, or, if they read values, on the CPU; with eager attention and without a cache, on the
inputs of from_config(), at the sizes of dims. A point with "past" is a step of decoding behind so many tokens, on the CPU if the class
reads values, and gets "cache_bytes" behind it. A point with "tiles" has a text of "seq" tokens behind those of so many tiles.
"""
import copy
import json
import os
import re
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
import torch
import transformers
from model_types import executed, on_cpu
from onnxflops._config import build
from torch.utils.flop_counter import FlopCounterMode
from transformers import DynamicCache

LAYERS = 2  # whose modules are kept
# Modules that the class calls before the module that has them: they are its part, and the counter does not see that.
CALLED_BEFORE = {"Sam2Model": {"mask_decoder": ("mask_decoder.conv_s0", "mask_decoder.conv_s1")}}


def class_and_config(document):
    kept = {key: value for key, value in copy.deepcopy(document).items() if key != "architectures"}
    return getattr(transformers, document["architectures"][0]), transformers.AutoConfig.for_model(**kept)


def step_after(module, dims, device):
    """FlopCounterMode after a step of decoding, and the cache behind it."""
    cache = DynamicCache(config=module.config)
    ids = lambda tokens: torch.ones(dims["batch"], tokens, dtype=torch.long, device=device)
    with torch.no_grad(), torch.device(device):
        module(input_ids=ids(dims["past"]), past_key_values=cache, use_cache=True)
        counter = FlopCounterMode(display=False, depth=8)
        with counter:
            module(input_ids=ids(dims["seq"]), past_key_values=cache, use_cache=True)
    return counter, cache


def step_of(cls, config, dims):
    try:
        return step_after(build(cls, config), dims, "meta")
    except Exception:
        return step_after(on_cpu(cls, config), dims, "cpu")


def counter_of_tiles(module, dims):
    """Of tiles of images and a text behind their tokens, on the CPU: classes leave out tiles that are black."""
    config, vision = module.config, module.config.vision_config
    tokens = dims["tiles"] * (vision.image_size // vision.patch_size // config.scale_factor) ** 2
    ids = torch.cat([torch.full((dims["batch"], tokens), config.image_token_id), torch.ones(dims["batch"], dims["seq"], dtype=torch.long)], 1)
    pixels = torch.ones(dims["batch"], dims["tiles"], vision.num_channels, vision.image_size, vision.image_size)
    counter = FlopCounterMode(display=False, depth=8)
    with torch.no_grad(), counter:
        module(input_ids=ids, pixel_values=pixels, use_cache=False)
    return counter


def bytes_of(cache):
    """Keys, values and states of convolutions."""
    parts = ("keys", "values", "conv_states", "recurrent_states")
    tensors = [getattr(layer, part, None) for layer in cache.layers for part in parts]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors if tensor is not None)


def point_of(document, dims):
    cls, config = class_and_config(document)
    more = {}
    if "past" in dims:
        counter, cache = step_of(cls, config, dims)
        more["cache_bytes"] = bytes_of(cache)
    elif "tiles" in dims:
        counter = counter_of_tiles(on_cpu(cls, config), dims)
    else:
        counter = executed(cls, config, dims, macs=0)
    root = cls.__name__
    modules = {}
    for path, counts in counter.get_flop_counts().items():
        name = path[len(root) :].lstrip(".")
        if path.startswith(root) and all(int(number) < LAYERS for number in re.findall(r"\.(\d+)", path)):
            modules[name] = sum(counts.values())
    for name, parts in CALLED_BEFORE.get(root, {}).items():
        modules[name] += sum(modules[part] for part in parts)
    return {"dims": dims, "flops": counter.get_total_flops(), **more, "modules": modules}


def main():
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            cases = json.load(file)["models"]
        models = {}
        for name, case in cases.items():
            points = [point_of(case["config"], point["dims"]) for point in case["points"]]
            parameters = sum(p.numel() for p in build(*class_and_config(case["config"])).parameters())
            models[name] = {"config": case["config"], "parameters": parameters, "points": points}
            print(name, models[name]["parameters"], [point["flops"] for point in points], flush=True)
        how = f"tools/export/family_truth.py: torch {torch.__version__}, transformers {transformers.__version__}, FlopCounterMode on device meta or the CPU"
        with open(path, "w", encoding="utf-8") as file:
            lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(model)}" for name, model in models.items())
            file.write(f'{{"how": {json.dumps(how)}, "models": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    main()
