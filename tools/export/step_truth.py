"""What transformers executes for a step of decoding where the prompt ran an encoder or a tower of images: forward FLOPs (2 x MACs) by torch's FlopCounterMode under FakeTensorMode, and bytes of the cache after it.

  python3 tools/export/step_truth.py tests/data/config      (torch 2.15.0, transformers 5.24.0)

Reads the configurations of truth.json, more.json and more_text_models.json there and writes steps.json. A step takes so many new tokens behind so many that are in the cache, and keys and values of the encoder are there.
"""
import json
import sys
import warnings

warnings.filterwarnings("ignore")
import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

MODELS = ["google-t5/t5-base", "google/flan-t5-base", "google/mt5-small", "openai/whisper-tiny", "llava-full", "bart-large-cnn", "opus-mt-en-de", "m2m100_418M"]
BATCH, SEQ = 2, 40  # SEQ: tokens of an encoder of text
STEPS = [(1, 100), (3, 20)]


def ids(tokens):
    return torch.ones(BATCH, tokens, dtype=torch.long)


def cache_bytes(cache):
    caches = [cache.self_attention_cache, cache.cross_attention_cache] if isinstance(cache, EncoderDecoderCache) else [cache]
    return sum(4 * (layer.keys.numel() + layer.values.numel()) for one in caches for layer in one.layers)


def count(config_json, tokens, past):
    config = AutoConfig.for_model(**{k: v for k, v in config_json.items() if k != "architectures"})
    config._attn_implementation = "eager"
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        model = getattr(transformers, config_json["architectures"][0])(config).eval()
        if config.model_type == "llava":
            key, rest = "input_ids", {"past_key_values": DynamicCache(config=config.text_config)}
        else:
            length = config.max_source_positions if config.model_type == "whisper" else SEQ
            key, rest = "decoder_input_ids", {"past_key_values": EncoderDecoderCache(DynamicCache(config=config), DynamicCache(config=config))}
            rest["encoder_outputs"] = BaseModelOutput(last_hidden_state=torch.rand(BATCH, length, config.d_model))
        model(**{key: ids(past)}, **rest, use_cache=True)
        with FlopCounterMode(display=False) as counter:
            model(**{key: ids(tokens)}, **rest, use_cache=True)
    return counter.get_total_flops(), cache_bytes(rest["past_key_values"])


def main():
    folder, steps = sys.argv[1], []
    configs = {}
    for file in ("truth.json", "more.json", "more_text_models.json"):
        configs.update(json.load(open(f"{folder}/{file}"))["models"])
    for name in MODELS:
        for tokens, past in STEPS:
            flops, cache = count(configs[name]["config"], tokens, past)
            text = configs[name]["config"]["model_type"] not in ("whisper", "llava")
            dims = {"batch": BATCH, **({"seq": SEQ} if text else {})}
            steps.append({"model": name, "tokens": tokens, "past": past, "dims": dims, "flops": flops, "cache_bytes": cache})
            print(steps[-1], flush=True)
    how = f"torch {torch.__version__}, transformers {transformers.__version__}, FlopCounterMode on the CPU under FakeTensorMode, eager attention; see tools/export/step_truth.py"
    with open(f"{folder}/steps.json", "w") as file:
        json.dump({"how": how, "steps": steps}, file, indent=1)
        file.write("\n")


main()
