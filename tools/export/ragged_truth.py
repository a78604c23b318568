"""What transformers executes for samples of different lengths, each in a run of its own, by torch's FlopCounterMode without weights; also for samples with
several images, or none.

  python3 tools/export/ragged_truth.py tests/data/config      (torch 2.15.0, transformers 5.24.0)

Writes ragged.json: {"models": {name: {"config", "points": [{"sizes", "flops"}]}}, "several": {name: [{"seq", "grids", "flops"}]}}, at lengths and grids that
are drawn by chance. A batch of them takes their sum.
"""
import json
import random
import sys

import config_truth
import torch
import vision_truth

SMALL = {"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 200}
LLAMA = {**config_truth.LLAMA, "max_position_embeddings": 4096}
CASES = {
    "gpt2": ({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 1000}, 1024),
    "llama": ({"model_type": "llama", "architectures": ["LlamaForCausalLM"], **LLAMA}, 4096),
    "qwen2-windowed": (config_truth.CASES["qwen2-windowed"][0], 2000),
    "bert": ({"model_type": "bert", "architectures": ["BertForMaskedLM"], **SMALL, "vocab_size": 1000}, 512),
    "t5": ({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 128, "d_ff": 300, "num_layers": 2, "num_heads": 4, "d_kv": 32, "vocab_size": 1000}, 600),
    "whisper": ({"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "d_model": 96, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 200, "decoder_ffn_dim": 200, "num_mel_bins": 80}, 448),
    "clip": ({"model_type": "clip", "architectures": ["CLIPModel"], "projection_dim": 64, "text_config": SMALL, "vision_config": {**SMALL, "image_size": 64, "patch_size": 16}}, 77),
    "gpt2-inner": ({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 60, "n_layer": 3, "n_head": 5, "n_inner": 77, "n_positions": 300, "vocab_size": 211}, 300),
    "llama-grouped": ({"model_type": "llama", "architectures": ["LlamaForCausalLM"], **LLAMA, "num_hidden_layers": 3, "num_key_value_heads": 1, "head_dim": 24, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}, 2000),
    "t5-gated": ({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 96, "d_ff": 250, "num_layers": 3, "num_decoder_layers": 1, "num_heads": 5, "d_kv": 12, "vocab_size": 300, "feed_forward_proj": "gated-gelu"}, 400),
    "whisper-uneven": ({"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "d_model": 60, "encoder_layers": 1, "decoder_layers": 3, "encoder_attention_heads": 3, "decoder_attention_heads": 5, "encoder_ffn_dim": 130, "decoder_ffn_dim": 70, "num_mel_bins": 128, "max_source_positions": 500, "max_target_positions": 200, "vocab_size": 400, "pad_token_id": 0}, 200),
    "clip-uneven": ({"model_type": "clip", "architectures": ["CLIPModel"], "projection_dim": 40, "text_config": {**SMALL, "num_hidden_layers": 3, "hidden_size": 64}, "vision_config": {**SMALL, "num_attention_heads": 3, "image_size": 90, "patch_size": 15}}, 77),
}
TOWERS = ("qwen2-vl-small", "qwen2-5-vl-small", "qwen3-vl-deep", "qwen2-vl-merge-3")


def pair_inputs(config, model, dims, usual=config_truth.inputs_of):
    inputs = usual(config, model, dims)
    if "decoder_seq" in dims:
        inputs["decoder_input_ids"] = torch.ones(1, dims["decoder_seq"], dtype=torch.long)
    return inputs


def several_inputs(config, dims):
    """The patches of all images of a sample in one row."""
    vision, grids = config.vision_config, dims["grids"]
    patches = [t * h * w for t, h, w in grids]
    tokens = dims["seq"] + sum(n // vision.spatial_merge_size**2 for n in patches)
    inputs = {"input_ids": torch.zeros(1, tokens, dtype=torch.long), "position_ids": torch.zeros(3, 1, tokens, dtype=torch.long)}
    if grids:
        inputs["pixel_values"] = torch.zeros(sum(patches), vision.in_channels * vision.temporal_patch_size * vision.patch_size**2)
        inputs["image_grid_thw"] = torch.tensor(grids, device="cpu")
    return inputs


def several(name):
    """Samples with up to four images each, that stand in a text of `seq` tokens."""
    config, draw = vision_truth.CASES[name][0], random.Random("several " + name)
    merge = config["vision_config"].get("spatial_merge_size", 2)
    grid = lambda: [draw.randint(1, 3), merge * draw.randint(1, 12), merge * draw.randint(1, 12)]
    dims = [{"seq": draw.randint(1, 300), "grids": [grid() for _ in range(n % 5)]} for n in range(15)]
    points = vision_truth.count(config, dims)["points"]
    return [{**p["dims"], "flops": p["flops"]} for p in points]


def main():
    config_truth.inputs_of = pair_inputs
    models = {}
    for name, (config, most) in CASES.items():
        draw = random.Random(name)
        dims = [{"batch": 1, "seq": n} for n in sorted({1, most, *(draw.randint(1, most) for _ in range(30))})]
        if config["model_type"] == "t5":
            dims = [{**d, "decoder_seq": draw.randint(1, most)} for d in dims]
        points = config_truth.count(config, dims)["points"]
        # The function above writes decoder_seq = seq for T5, whatever ran.
        points = [{"sizes": {k: v for k, v in asked.items() if k != "batch"}, "flops": p["flops"]} for asked, p in zip(dims, points)]
        models[name] = {"config": config, "points": points}
        print(name, len(points), file=sys.stderr)
    for name in TOWERS:
        config, draw = vision_truth.CASES[name][0], random.Random(name)
        merge = config["vision_config"].get("spatial_merge_size", 2)
        sides = lambda: merge * draw.randint(1, 24)
        dims = [{"batch": 1, "seq": draw.randint(1, 500), "grid_t": draw.randint(1, 4), "grid_h": sides(), "grid_w": sides()} for _ in range(20)]
        points = vision_truth.count(config, dims)["points"]
        models[name] = {"config": config, "points": [{"sizes": {k: v for k, v in p["dims"].items() if k != "batch"}, "flops": p["flops"]} for p in points]}
    vision_truth.INPUTS.update(dict.fromkeys(("qwen2_vl", "qwen2_5_vl", "qwen3_vl"), several_inputs))
    of_several = {name: several(name) for name in TOWERS}
    how = "FlopCounterMode over each sample in a run of its own: tools/export/ragged_truth.py"
    with open(f"{sys.argv[1]}/ragged.json", "w", encoding="utf-8") as file:
        file.write(json.dumps({"how": how, "models": models, "several": of_several}, indent=1, separators=(",", ": ")) + "\n")


if __name__ == "__main__":
    main()
