"""Pairs of a query and a key that a mask allows in rows of packed documents, by torch's own masks: the mask_mod of flex_attention, evaluated for every pair of
a row, and the documents of varlen_attn.

  python3 tools/export/packed_truth.py tests/data/config      (torch 2.15.0)

Writes packed.json: {"models": {name: {"config", "batches": [{"lengths", "pairs", "macs", "counted"}]}}}. `pairs` and `macs` (of the products QK' and PV in all
layers) are those of a mask: `document` is block-diagonal, `causal` is its triangle, with the window of layers that have one, and `row` is a kernel without a
mask. `counted` is what FlopCounterMode counts, in FLOPs: varlen_attn by the squares of the documents, with or without a causal mask or a window, and
flex_attention by the square of the row, whatever its mask is.
"""
import itertools
import json
import random
import sys

import torch
import torch.nn.attention.flex_attention as flex
from torch.nn.attention.varlen import varlen_attn
from torch.utils.flop_counter import FlopCounterMode

SMALL = {"hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 200, "vocab_size": 300}
# Of each model: heads, heads of keys, size of a head; and the window of each layer, 0 without one.
CASES = {
    "gpt2": ({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 60, "n_layer": 3, "n_head": 5, "vocab_size": 211}, (5, 5, 12), (0, 0, 0)),
    "llama": ({"model_type": "llama", "architectures": ["LlamaForCausalLM"], **SMALL, "num_key_value_heads": 2, "head_dim": 40, "max_position_embeddings": 4096}, (4, 2, 40), (0, 0, 0)),
    "bert": ({"model_type": "bert", "architectures": ["BertForMaskedLM"], **SMALL, "max_position_embeddings": 2048}, (4, 4, 24), (0, 0, 0)),
    "mistral": ({"model_type": "mistral", "architectures": ["MistralForCausalLM"], **SMALL, "num_key_value_heads": 1, "head_dim": 16, "sliding_window": 37, "max_position_embeddings": 4096}, (4, 1, 16), (37, 37, 37)),
    "gemma2": ({"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], **SMALL, "num_hidden_layers": 4, "num_key_value_heads": 2, "head_dim": 32, "sliding_window": 50, "max_position_embeddings": 4096}, (4, 2, 32), (50, 0, 50, 0)),
}
MOST = 600  # tokens of a row


def draw_lengths(draw):
    """One to thirty documents; most are short, as in a real mixture."""
    lengths = []
    for _ in range(draw.randint(1, 30)):
        lengths.append(draw.choice((draw.randint(1, 8), draw.randint(1, 60), draw.randint(1, 300))))
        if sum(lengths) > MOST:
            lengths.pop()
    return lengths or [MOST]


def pairs_of(mask, tokens):
    """By the dense mask, and by flex_attention's sparse one in blocks of one pair."""
    dense = int(flex.create_mask(mask, None, None, tokens, tokens, device="cpu").sum())
    blocks = flex.create_block_mask(mask, None, None, tokens, tokens, device="cpu", BLOCK_SIZE=1)
    assert int(blocks.kv_num_blocks.sum()) + int(blocks.full_kv_num_blocks.sum()) == dense
    return dense


def masks_of(lengths, windows):
    document = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    same = lambda batch, head, query, key: document[query] == document[key]
    causal = flex.and_masks(same, lambda batch, head, query, key: query >= key)
    masks = {"document": same, "causal": causal}
    for window in {*windows} - {0}:
        near = lambda batch, head, query, key, window=window: query - key < window
        masks[window] = flex.and_masks(causal, near)
    return masks


def flops_of(run):
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def counted(lengths, shape):
    """One layer: documents by varlen_attn, the row with a document mask by flex_attention."""
    (heads, of_keys, size), tokens = shape, sum(lengths)
    ends = torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)
    query, key = (torch.zeros(tokens, n, size, device="meta", dtype=torch.float16) for n in (heads, of_keys))
    varlen = {flops_of(lambda: varlen_attn(query, key, key, ends, ends, max(lengths), max(lengths), window_size=window, enable_gqa=True))
              for window in ((-1, -1), (-1, 0), (36, 0))}
    query, key = (torch.zeros(1, n, tokens, size) for n in (heads, of_keys))
    blocks = flex.create_block_mask(masks_of(lengths, ())["causal"], None, None, tokens, tokens, device="cpu")
    row = flops_of(lambda: flex.flex_attention(query, key, key, block_mask=blocks, enable_gqa=True))
    assert len(varlen) == 1
    return {"varlen": varlen.pop(), "flex": row}


def batch_of(lengths, shape, windows):
    heads, _, size = shape
    pairs = {name: pairs_of(mask, sum(lengths)) for name, mask in masks_of(lengths, windows).items()}
    pairs["row"] = sum(lengths)**2
    causal = [pairs[window or "causal"] for window in windows]
    macs = {"document": len(windows) * pairs["document"], "causal": sum(causal), "row": len(windows) * pairs["row"]}
    return {"lengths": lengths, "pairs": {str(name): n for name, n in pairs.items()}, "macs": {name: 2 * heads * size * n for name, n in macs.items()},
            "counted": {name: len(windows) * flops for name, flops in counted(lengths, shape).items()}}


def main():
    flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    models = {}
    for name, (config, shape, windows) in CASES.items():
        draw = random.Random("packed " + name)
        batches = [batch_of(lengths, shape, windows) for lengths in ([1], [MOST], *(draw_lengths(draw) for _ in range(28)))]
        models[name] = {"config": config, "batches": batches}
        print(name, len(batches), file=sys.stderr)
    how = "allowed pairs of flex_attention's mask_mod, every pair of a row evaluated, times 2 x heads x size of a head; FlopCounterMode over varlen_attn and flex_attention: tools/export/packed_truth.py"
    with open(f"{sys.argv[1]}/packed.json", "w", encoding="utf-8") as file:
        file.write(json.dumps({"how": how, "models": models}, indent=1, separators=(",", ": ")) + "\n")


if __name__ == "__main__":
    main()
