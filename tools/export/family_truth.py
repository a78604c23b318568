#!/usr/bin/env python3
"""What transformers executes for configurations: parameters, and forward FLOPs (2 x MACs) by module, by torch's FlopCounterMode.

  python3 tools/export/family_truth.py tests/data/config/image_models.json ...      (torch 2.15.0, transformers 5.24.0, onnxflops)

A file has its own cases: {"models": {NAME: {"config": CONFIG, "points": [{"dims": {"batch": 2, ...}}, ...]}}}. Each point gets its
flops and the modules of its first layers, each model its parameters; what a file has already is made anew. Classes run as
model_types.py runs them: on the device meta, or, if they read values, on the CPU; with eager attention and without a cache, on the
inputs of from_config(), at the sizes of dims. A point with "past" is a step of decoding behind so many tokens, on the CPU if the class
reads values, and gets "cache_bytes" behind it. A point with "tiles" has a text of "seq" tokens behind those of so many tiles.
Llama 4 runs all experts on all tokens: here its experts run as many rows as tokens are routed to them.
"""
import contextlib
import copy
import inspect
import json
import os
import re
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
import torch
import transformers
from model_lines import write_models
from model_types import executed, on_cpu
from onnxflops._config import build
from onnxflops._torch import _make_fake
from torch._subclasses.fake_tensor import FakeTensorMode
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
    own = getattr(sys.modules[type(module).__module__], "MiniMaxCache", None)
    cache = own() if own else DynamicCache(config=module.config)
    name = "cache" if "cache" in inspect.signature(module.forward).parameters else "past_key_values"
    given = {name: cache, "use_cache": True}
    ids = lambda tokens: torch.ones(dims["batch"], tokens, dtype=torch.long, device=device)
    with torch.no_grad(), torch.device(device):
        module(input_ids=ids(dims["past"]), **given)
        counter = FlopCounterMode(display=False, depth=8)
        with counter:
            module(input_ids=ids(dims["seq"]), **given)
    return counter, cache


def step_of(cls, config, dims):
    try:
        return step_after(build(cls, config), dims, "meta")
    except Exception:
        return step_after(on_cpu(cls, config), dims, "cpu")


@contextlib.contextmanager
def routed_experts():
    from transformers.models.llama4 import modeling_llama4 as llama4

    def routed(self, hidden_states, every=llama4.Llama4TextExperts.forward):
        if self.top_k == self.num_experts:
            return every(self, hidden_states)
        rows = hidden_states.shape[0] // self.num_experts * self.top_k
        gate, up = torch.mm(hidden_states[:rows], self.gate_up_proj[0]).chunk(2, dim=-1)
        out = torch.mm(up * self.act_fn(gate), self.down_proj[0])
        return torch.cat([out, torch.zeros_like(hidden_states[rows:])])

    def init(self, config, first=llama4.Llama4TextExperts.__init__):
        first(self, config)
        self.top_k = config.num_experts_per_tok

    before = llama4.Llama4TextExperts.forward, llama4.Llama4TextExperts.__init__
    llama4.Llama4TextExperts.forward, llama4.Llama4TextExperts.__init__ = routed, init
    llama4.MoeCausalLMOutputWithPast.image_outputs = None  # without it the class fails at its last line
    try:
        yield
    finally:
        llama4.Llama4TextExperts.forward, llama4.Llama4TextExperts.__init__ = before


def counter_of_tiles(module, dims):
    """Of tiles of images and a text behind their tokens, on the CPU: classes leave out tiles that are black."""
    config, vision = module.config, module.config.vision_config
    merge = config.scale_factor if hasattr(config, "scale_factor") else round(1 / vision.pixel_shuffle_ratio)
    tokens = dims["tiles"] * (vision.image_size // vision.patch_size // merge) ** 2
    ids = torch.cat([torch.full((dims["batch"], tokens), config.image_token_id), torch.ones(dims["batch"], dims["seq"], dtype=torch.long)], 1)
    pixels = torch.ones(dims["batch"], dims["tiles"], vision.num_channels, vision.image_size, vision.image_size)
    if config.model_type == "llama4":
        pixels = pixels.flatten(0, 1)
    counter = FlopCounterMode(display=False, depth=8)
    with torch.no_grad(), counter:
        module(input_ids=ids, pixel_values=pixels, use_cache=False)
    return counter


def counter_of_patches(module, dims):
    """Of patches of an image of Gemma 4's tower, in rows of one square, and a text behind their tokens, on the CPU."""
    config = module.config
    vision = getattr(config, "vision_config", config)
    kernel, patches, batch = vision.pooling_kernel_size, dims["patches"], dims["batch"]
    places = torch.tensor([[i // kernel, i % kernel] for i in range(patches)]).expand(batch, -1, -1)
    pixels = torch.ones(batch, patches, 3 * vision.patch_size**2)
    counter = FlopCounterMode(display=False, depth=8)
    if vision is config:
        inputs = {"pixel_position_ids": places}
    else:
        image = torch.full((batch, patches // kernel**2), config.image_token_id)
        ids = torch.cat([image, torch.ones(batch, dims["seq"], dtype=torch.long)], 1)
        inputs = {"input_ids": ids, "image_position_ids": places, "use_cache": False}
    with torch.no_grad(), counter:
        module(pixel_values=pixels, **inputs)
    return counter


def counter_of_image(module, dims):
    """Of an image of Pixtral's tower, which puts all images into one row: so there is one."""
    vision = module.config
    pixels = torch.ones(dims["batch"], vision.num_channels, dims["image_height"], dims["image_width"])
    sizes = torch.tensor([[dims["image_height"], dims["image_width"]]] * dims["batch"])
    counter = FlopCounterMode(display=False, depth=8)
    with torch.no_grad(), counter:
        module(pixel_values=pixels, image_sizes=sizes)
    return counter


def counter_of_seen(module, dims):
    """Of a text whose tokens look at an image, and the image: Llama 3.2."""
    vision, batch, seq = module.config.vision_config, dims["batch"], dims["seq"]
    tiles = vision.max_num_tiles
    _make_fake(module)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    inputs = {
        "input_ids": torch.ones(batch, seq, dtype=torch.long),
        "pixel_values": torch.ones(batch, 1, tiles, vision.num_channels, vision.image_size, vision.image_size),
        "aspect_ratio_ids": torch.ones(batch, 1, dtype=torch.long),
        "aspect_ratio_mask": torch.ones(batch, 1, tiles, dtype=torch.long),
        "cross_attention_mask": torch.ones(batch, seq, 1, tiles, dtype=torch.long),
    }
    counter = FlopCounterMode(display=False, depth=8)
    with mode, torch.no_grad(), counter:
        module(**inputs, use_cache=False)
    return counter


def sides_of(dims):
    return dims.get("height", 768), dims.get("width", 768)


def counter_of_fakes(module, inputs):
    """Of a run on fake tensors, which have sizes and no numbers."""
    _make_fake(module)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    counter = FlopCounterMode(display=False, depth=8)
    with mode, torch.no_grad(), counter:
        module(**inputs)
    return counter


def counter_of_media(module, dims):
    """Of images and sound of Gemma 3n, or of none, and a text behind their tokens. Images are those of its processor, or of other sides."""
    config, batch = module.config, dims["batch"]
    tokens = dims["images"] * config.vision_soft_tokens_per_image + dims["clips"] * config.audio_soft_tokens_per_image
    inputs = {"input_ids": torch.ones(batch, tokens + dims["seq"], dtype=torch.long), "use_cache": False}
    if dims["images"]:
        inputs["pixel_values"] = torch.ones(batch * dims["images"], 3, *sides_of(dims))
    if dims["clips"]:
        clips = (batch * dims["clips"], dims["frames"])
        inputs["input_features"] = torch.ones(*clips, config.audio_config.input_feat_size)
        inputs["input_features_mask"] = torch.ones(*clips, dtype=torch.bool)
    os.environ["TRANSFORMERS_DISABLE_TORCH_CHECK"] = "1"  # that a prompt has as many places as an image has features
    return counter_of_fakes(module, inputs)


def bytes_of(cache):
    """Keys, values and states of convolutions."""
    parts = ("keys", "values", "indexer_keys", "conv_states", "recurrent_states")
    more = ("buffer_kv", "buffer_gate", "compressed_kv", "overlap_kv", "overlap_gate")  # of DeepSeek V4, whose keys are also the values
    found = [getattr(layer, part, None) for layer in cache.layers for part in (*parts, *more)]
    found += [tensor for tensor in getattr(cache, "linear_cache", []) if torch.is_tensor(tensor)]
    tensors = [tensor for each in found for tensor in (each.values() if isinstance(each, dict) else [each])]
    by_id = {id(tensor): tensor for tensor in tensors if tensor is not None}
    return sum(tensor.numel() * tensor.element_size() for tensor in by_id.values())


def point_of(document, dims):
    cls, config = class_and_config(document)
    more = {}
    if "past" in dims:
        counter, cache = step_of(cls, config, dims)
        more["cache_bytes"] = bytes_of(cache)
    elif "tiles" in dims:
        counter = counter_of_tiles(on_cpu(cls, config), dims)
    elif "patches" in dims:
        counter = counter_of_patches(on_cpu(cls, config), dims)
    elif "image_height" in dims:
        counter = counter_of_image(on_cpu(cls, config), dims)
    elif "images" in dims:
        counter = counter_of_media(build(cls, config), dims)
    elif config.model_type == "gemma3n_vision":
        counter = counter_of_fakes(build(cls, config), {"pixel_values": torch.ones(dims["batch"], 3, *sides_of(dims))})
    elif config.model_type == "gemma3n_audio":
        clips = (dims["batch"], dims["frames"])
        inputs = {"audio_mel": torch.ones(*clips, config.input_feat_size), "audio_mel_mask": torch.zeros(*clips, dtype=torch.bool)}
        counter = counter_of_fakes(build(cls, config), inputs)
    elif config.model_type == "mllama":
        counter = counter_of_seen(build(cls, config), dims)
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
            with routed_experts():
                points = [point_of(case["config"], point["dims"]) for point in case["points"]]
            parameters = sum(p.numel() for p in build(*class_and_config(case["config"])).parameters())
            models[name] = {"config": case["config"], "parameters": parameters, "points": points}
            print(name, models[name]["parameters"], [point["flops"] for point in points], flush=True)
        how = f"tools/export/family_truth.py: torch {torch.__version__}, transformers {transformers.__version__}, FlopCounterMode on device meta or the CPU"
        write_models(path, how, models)


if __name__ == "__main__":
    main()
