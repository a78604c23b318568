#!/usr/bin/env python3
"""The FLOPs of a token behind NVIDIA's published TFLOP/s of Megatron-Bridge, by its own function and by our count.

Usage: nemo.py MEGATRON_BRIDGE TABLE ROWS       (a checkout of NVIDIA-NeMo/Megatron-Bridge at 067f987df)

TABLE has model, system, seq, tokens_per_s_per_gpu, model_tflops_per_gpu (docs/performance-summary.md there). All rates of tokens are those of
a whole number of samples a second over all devices, and TFLOP/s are whole, so that a row gives the FLOPs of a token between two bounds.

Configurations are those of the checkpoints that the recipes name. Their figure is that of num_floating_point_operations, ours of a
training step: 3 times the products of a whole sequence, of which a causal mask leaves half of the attention, per token.

Those of Nemotron 3 Super, Ultra and 3.5 Lightning are copies of the checkpoints' config.json in ai-dynamo/aiconfigurator at 095f58a51
(aic-core/src/aiconfigurator_core/model_configs) and the same in NVIDIA/Megatron-LM at d98e8a64d (examples/post_training/modelopt/conf/nvidia,
tests/functional_tests/test_cases/nemotron). The recipes predict two more tokens by one block of the pattern *E
(src/megatron/bridge/recipes/nemotronh/h100, perf_recipes/nemotronh/gb200: mtp_num_layers = 2), which the provider adds to the pattern twice.

A row's two numbers are means of their own over steps. The two rows of Ultra, whose steps are short, exclude each other: no one figure is in both.

    pip install onnxflops
"""
import ast
import collections
import csv
import json
import os
import sys
from fractions import Fraction
from types import SimpleNamespace

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "export"))
import megatron_bridge_truth  # noqa: E402
import onnxflops  # noqa: E402

MOE = {**megatron_bridge_truth.MOE, "architectures": ["Qwen3MoeForCausalLM"]}
SYMBOLS = SimpleNamespace(ATTENTION="*", MAMBA="M", MLP="-", MOE="E", GDN="G", PIPE="|")
NANO_PATTERN = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
SUPER_PATTERN = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"
ULTRA_PATTERN = "MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
BLOCKS = {"M": "mamba", "E": "moe", "*": "attention"}
V4_RATIOS = [0, 0] + [4, 128] * 20 + [4]
V4_LAYERS = [{0: "sliding_attention", 4: "compressed_sparse_attention", 128: "heavily_compressed_attention"}[ratio] for ratio in V4_RATIOS]
NANO = {
    "model_type": "nemotron_h", "architectures": ["NemotronHForCausalLM"], "vocab_size": 131072, "hidden_size": 2688, "num_hidden_layers": 52,
    "layers_block_type": [BLOCKS[symbol] for symbol in NANO_PATTERN], "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
    "intermediate_size": 1856, "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712, "n_routed_experts": 128,
    "n_shared_experts": 1, "num_experts_per_tok": 6, "mamba_num_heads": 64, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8,
    "mlp_hidden_act": "relu2"}  # fmt: skip
SUPER = {
    **NANO, "hidden_size": 4096, "num_hidden_layers": 88, "layers_block_type": [BLOCKS[symbol] for symbol in SUPER_PATTERN], "intermediate_size": 2688,
    "moe_intermediate_size": 2688, "moe_shared_expert_intermediate_size": 5376, "moe_latent_size": 1024, "n_routed_experts": 512,
    "num_experts_per_tok": 22, "mamba_num_heads": 128, "num_nextn_predict_layers": 1, "mtp_layers_block_type": ["attention", "moe"]}  # fmt: skip
ULTRA = {
    **SUPER, "hidden_size": 8192, "num_hidden_layers": 108, "layers_block_type": [BLOCKS[symbol] for symbol in ULTRA_PATTERN], "intermediate_size": 5120,
    "num_attention_heads": 64, "moe_intermediate_size": 5120, "moe_shared_expert_intermediate_size": 10240, "moe_latent_size": 2048,
    "mamba_num_heads": 256}  # fmt: skip
CONFIGS = {
    "DeepSeekV3": {**megatron_bridge_truth.V3, "num_nextn_predict_layers": 1, "architectures": ["DeepseekV3ForCausalLM"]},
    "DeepSeekV4 Flash": {
        "model_type": "deepseek_v4", "architectures": ["DeepseekV4ForCausalLM"], "vocab_size": 129280, "hidden_size": 4096, "moe_intermediate_size": 2048,
        "num_hidden_layers": 43, "num_attention_heads": 64, "num_key_value_heads": 1, "head_dim": 512, "q_lora_rank": 1024, "num_experts_per_tok": 6,
        "n_routed_experts": 256, "n_shared_experts": 1, "o_groups": 8, "o_lora_rank": 1024, "index_n_heads": 64, "index_head_dim": 128, "index_topk": 512,
        "layer_types": V4_LAYERS, "compress_rates": {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}, "sliding_window": 128,
        "num_nextn_predict_layers": 1},
    "GPT OSS 120B": {
        "model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"], "num_hidden_layers": 36, "num_local_experts": 128, "vocab_size": 201088,
        "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64, "num_attention_heads": 64, "num_key_value_heads": 8, "sliding_window": 128,
        "num_experts_per_tok": 4},
    "Qwen3_30B_a3B": MOE,
    "Qwen3_235B_a22B": {**MOE, "hidden_size": 4096, "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_hidden_layers": 94,
                        "num_attention_heads": 64},
    "Nemotron_3_Nano": NANO,
    "Nemotron_3_5_Lightning": {**NANO, "num_nextn_predict_layers": 1, "mtp_layers_block_type": ["attention", "moe"]},
    "Nemotron_3_Super": SUPER,
    "Nemotron_3_Ultra": ULTRA,
}  # fmt: skip
DEVICES = {"DeepSeekV3": 256, "DeepSeekV4 Flash": 128, "GPT OSS 120B": 64, "Qwen3_30B_a3B": 8, "Qwen3_235B_a22B": 256, "Nemotron_3_Nano": 8,
           "Nemotron_3_5_Lightning": 8, "Nemotron_3_Super": 64, "Nemotron_3_Ultra": 256}  # fmt: skip


def hybrid(config, pattern, predicted):
    """What NemotronHBridge, the recipe and the provider set: a block of attention and experts for each further token."""
    keys = {"mamba_state_dim": "ssm_state_size", "mamba_head_dim": "mamba_head_dim", "mamba_num_groups": "n_groups", "mamba_num_heads": "mamba_num_heads",
            "moe_shared_expert_intermediate_size": "moe_shared_expert_intermediate_size"}  # fmt: skip
    return {"is_hybrid_model": True, "hybrid_layer_pattern": pattern + "/*E" * predicted, "mtp_num_layers": predicted, "gated_linear_unit": False,
            "moe_latent_size": config.get("moe_latent_size"), **{key: config[name] for key, name in keys.items()}}  # fmt: skip


MORE = {  # what the bridges of single models set
    "DeepSeekV4 Flash": {
        "multi_latent_attention": True, "experimental_attention_variant": "dsv4_hybrid", "qk_head_dim": 448, "qk_pos_emb_head_dim": 64, "v_head_dim": 512,
        "o_groups": 8, "o_lora_rank": 1024, "csa_window_size": 128, "dsa_indexer_n_heads": 64, "dsa_indexer_head_dim": 128, "dsa_indexer_topk": 512,
        "csa_compress_ratios": [*V4_RATIOS, 0],
        "q_lora_rank": 1024, "moe_layer_freq": [1] * 43, "moe_shared_expert_intermediate_size": 2048},
    "GPT OSS 120B": {"window_size": (127, 0), "window_attn_skip_freq": 2, "moe_layer_freq": 1, "moe_ffn_hidden_size": 2880},
    "Nemotron_3_Nano": hybrid(NANO, NANO_PATTERN, 0),
    "Nemotron_3_5_Lightning": hybrid(NANO, NANO_PATTERN, 2),
    "Nemotron_3_Super": hybrid(SUPER, SUPER_PATTERN, 2),
    "Nemotron_3_Ultra": hybrid(ULTRA, ULTRA_PATTERN, 2),
}  # fmt: skip

PREDICTED = "The function adds attention, experts and logits for each of two further tokens, which the class of transformers does not have."
WHY = {  # ours is another figure
    "DeepSeekV3": "The function adds a layer that predicts one more token, which the class of transformers does not have. It leaves the router out.",
    "DeepSeekV4 Flash": "The class of transformers attends to all keys and masks most of them; the function has a window and the chosen keys.",
    "GPT OSS 120B": "The function leaves the router out.",
    "Qwen3_30B_a3B": "The function leaves the router out.",
    "Qwen3_235B_a22B": "The function leaves the router out.",
    "Nemotron_3_Nano": "The function takes mixers of Mamba to be twice as wide as a token, 5,376 features. Here they have 64 heads of 64, 4,096 features.",
    "Nemotron_3_5_Lightning": f"{PREDICTED} It takes mixers of Mamba to be 5,376 features wide, where they have 4,096.",
    "Nemotron_3_Super": f"{PREDICTED} It leaves the router out, and has fewer products in a scan of Mamba than the class in its chunks.",
    "Nemotron_3_Ultra": f"{PREDICTED} It leaves the router out, and has fewer products in a scan of Mamba than the class in its chunks.",
}


def load(root):
    """The module's functions, without what it imports of Megatron."""
    with open(f"{root}/src/megatron/bridge/training/utils/flop_utils.py", encoding="utf-8") as file:
        tree = ast.parse(file.read())
    wanted = {"num_floating_point_operations", "vit_flops", "_get_vision_config"}
    tree.body = ast.parse("from __future__ import annotations").body + [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in wanted
    ]
    counts = lambda pattern: collections.Counter(pattern)
    names = {"LoRA": type("LoRA", (), {}), "is_gated_delta_net_variant": lambda variant: False, "Symbols": SYMBOLS, "get_hybrid_layer_counts": counts,
             "parse_hybrid_pattern": lambda pattern: SimpleNamespace(main_pattern=pattern, mtp_pattern=None), "calculate_padded_vocab_size": lambda size, *_, **__: size}
    exec(compile(tree, "flop_utils.py", "exec"), names)
    return names["num_floating_point_operations"]


def theirs(count, model, seq):
    fields = megatron_bridge_truth.fields({"intermediate_size": 0, **CONFIGS[model]})
    for key, value in MORE.get(model, {}).items():
        setattr(fields, key, value)
    fields.seq_length = seq
    found = count(SimpleNamespace(model=fields, peft=None), batch_size=1, seqlen_sum=Fraction(seq), seqlen_squared_sum=Fraction(seq * seq))
    return float(Fraction(found) / seq)


def ours(model, seq):
    """3 times the contractions' FLOPs of a token, with half of the attention's."""
    counted = onnxflops.load(json.dumps(CONFIGS[model]).encode()).count(dim={"batch": 1, "seq": seq}, causal="half")
    return 3 * 2 * counted.macs / seq


def bounds(row):
    """Of the FLOPs of a token: its samples a second, and its TFLOP/s, are rounded to whole ones."""
    devices, seq = DEVICES[row["model"]], int(row["seq"])
    samples = Fraction(int(row["tokens_per_s_per_gpu"]) * devices, seq)
    assert samples.denominator == 1
    tflops = int(row["model_tflops_per_gpu"])
    half = Fraction(1, 2)
    return [float(10**12 * (tflops + sign * half) * devices / ((samples - sign * half) * seq)) for sign in (-1, 1)]


def main():
    root, table, path = sys.argv[1:]
    count = load(root)
    with open(table, newline="") as file, open(path, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["model", "system", "seq", "tokens_per_s_per_gpu", "model_tflops_per_gpu", "least", "most", "megatron_bridge", "verdict", "ours", "why"])
        for row in csv.DictReader(file):
            kept = [row[key] for key in ("model", "system", "seq", "tokens_per_s_per_gpu", "model_tflops_per_gpu")]
            if row["model"] not in CONFIGS:
                writer.writerow([*kept, "", "", "", "no configuration", "", ""])
                continue
            least, most = bounds(row)
            figure = theirs(count, row["model"], int(row["seq"]))
            verdict = "same" if least <= figure <= most else "other"
            counted = ours(row["model"], int(row["seq"]))
            writer.writerow([*kept, *(f"{value / 1e9:.3f}" for value in (least, most, figure)), verdict, f"{counted / 1e9:.3f}", WHY[row["model"]]])


if __name__ == "__main__":
    main()
