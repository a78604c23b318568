#!/usr/bin/env python3
"""What torch counts of each request of a step of a server, alone, behind a cache of its own.

    python tools/export/request_truth.py tests/data/config/requests.json

A request runs its new tokens behind a DynamicCache that holds its past, on the meta device, under FlopCounterMode. The sum over the
requests is the step's.
"""

import json
import sys

import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

MODELS = {
    "gpt2": transformers.GPT2Config(n_embd=96, n_layer=3, n_head=6, vocab_size=211, n_positions=512, attn_implementation="eager"),
    "llama": transformers.LlamaConfig(
        hidden_size=96, intermediate_size=200, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2, vocab_size=211,
        max_position_embeddings=4096, attn_implementation="eager",
    ),
}
# prompt, cached, chunk, generated
REQUESTS = [(120, 0, None, 0), (200, 64, 40, 0), (200, 104, 96, 0), (33, 0, None, 1), (33, 0, None, 250), (64, 0, 5, 17)]


def step_of(prompt, cached, chunk, generated):
    if generated:
        return chunk or 1, prompt + generated - 1
    return chunk or prompt - cached, cached


def flops_of(model, config, tokens, past):
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = config.hidden_size // config.num_attention_heads
    cache = transformers.DynamicCache()
    for layer in range(config.num_hidden_layers):
        keys = torch.empty(1, heads, past, size, device="meta")
        cache.update(keys, keys.clone(), layer)
    ids = torch.zeros(1, tokens, dtype=torch.long, device="meta")
    places = torch.arange(past, past + tokens, device="meta")[None]
    with FlopCounterMode(display=False) as counter:
        model(input_ids=ids, position_ids=places, past_key_values=cache, use_cache=True)
    return counter.get_total_flops()


def main():
    models = {}
    for name, config in MODELS.items():
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(config).eval()
        rows = []
        for request in REQUESTS:
            tokens, past = step_of(*request)
            flops = flops_of(model, config, tokens, past)
            rows.append(dict(zip(("prompt", "cached", "chunk", "generated"), request), tokens=tokens, past=past, flops=flops))
        kept = {key: value for key, value in config.to_dict().items() if isinstance(value, (int, float, str)) and not key.startswith("_")}
        models[name] = {"config": {**kept, "torch_dtype": "float32"}, "requests": rows}
    how = f"torch {torch.__version__}, transformers {transformers.__version__}: tools/export/request_truth.py"
    with open(sys.argv[1], "w") as file:
        json.dump({"how": how, "models": models}, file, indent=1)


if __name__ == "__main__":
    main()
