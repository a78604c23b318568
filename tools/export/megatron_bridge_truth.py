"""What Megatron-Bridge's own function counts for a training step of decoders: dense ones, mixtures of experts, and latent attention.

  python3 tools/export/megatron_bridge_truth.py MEGATRON_BRIDGE tests/data/config      (a checkout of NVIDIA-NeMo/Megatron-Bridge at 067f987df)

Reads src/megatron/bridge/training/utils/flop_utils.py there and calls num_floating_point_operations with the fields that its bridges make of a configuration
(models/conversion/model_bridge.py: CONFIG_MAPPING, and the files of models/). It imports nothing of Megatron. Sums of lengths are given as fractions, so that
no digit is lost. Vocabularies are not padded. Writes megatron_bridge.json: {"commit", "models": {name: {"config",
"steps": [{"lengths", "flops"}]}}}.
"""
import ast
import json
import random
import subprocess
import sys
from fractions import Fraction
from types import SimpleNamespace

HUGE = 1 << 40
LLAMA = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256}
DEEPSEEK = {"n_group": 1, "topk_group": 1, "norm_topk_prob": True, "num_key_value_heads": 128}
V3 = {"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128,
      "n_shared_experts": 1, "n_routed_experts": 256, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "v_head_dim": 128, "qk_nope_head_dim": 128,
      "num_experts_per_tok": 8, "first_k_dense_replace": 3, "vocab_size": 129280, **DEEPSEEK}
V2 = {"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16,
      "n_shared_experts": 2, "n_routed_experts": 64, "kv_lora_rank": 512, "q_lora_rank": None, "qk_rope_head_dim": 64, "v_head_dim": 128, "qk_nope_head_dim": 128,
      "num_experts_per_tok": 6, "first_k_dense_replace": 1, "vocab_size": 102400}
MOE = {"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32,
       "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151936}
GLM = {"model_type": "glm4_moe", "hidden_size": 4096, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 46, "num_attention_heads": 96,
       "num_key_value_heads": 8, "head_dim": 128, "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1, "vocab_size": 151552}
CONFIGS = {
    "llama-3-8b": LLAMA,
    "llama-3-70b": {**LLAMA, "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64},
    "qwen3-4b": {"model_type": "qwen3", "hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936},
    "mixtral-8x7b": {"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000},
    "olmoe-1b-7b": {"model_type": "olmoe", "hidden_size": 2048, "intermediate_size": 1024, "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 64, "num_experts_per_tok": 8, "vocab_size": 50304},
    "qwen3-30b-a3b": MOE,
    "qwen3-235b-a22b": {**MOE, "hidden_size": 4096, "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_hidden_layers": 94, "num_attention_heads": 64},
    "glm-4.5-air": GLM,
    "glm-4.5-air-mtp": {**GLM, "num_nextn_predict_layers": 1},
    "deepseek-v2-lite": V2,
    "deepseek-v2": {**V2, "hidden_size": 5120, "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_hidden_layers": 60, "num_attention_heads": 128, "q_lora_rank": 1536, "n_routed_experts": 160},
    "deepseek-v3": V3,
    "deepseek-v3-mtp": {**V3, "num_nextn_predict_layers": 1},
    "moonlight-16b-a3b": {**V3, "hidden_size": 2048, "intermediate_size": 11264, "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16,
                          "n_shared_experts": 2, "n_routed_experts": 64, "q_lora_rank": None, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "vocab_size": 163840},
    "latent-dense": {**V3, "hidden_size": 96, "intermediate_size": 250, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 20, "kv_lora_rank": 28,
                     "qk_rope_head_dim": 8, "qk_nope_head_dim": 12, "v_head_dim": 10, "n_routed_experts": 4, "num_experts_per_tok": 3, "first_k_dense_replace": 3, "vocab_size": 301},
}


def load(root):
    """The module's functions, without what it imports of Megatron."""
    with open(f"{root}/src/megatron/bridge/training/utils/flop_utils.py", encoding="utf-8") as file:
        tree = ast.parse(file.read())
    wanted = {"num_floating_point_operations", "vit_flops", "_get_vision_config"}
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in wanted]
    future = ast.parse("from __future__ import annotations").body
    tree.body = future + tree.body
    names = {"LoRA": type("LoRA", (), {}), "is_gated_delta_net_variant": lambda variant: False,
             "calculate_padded_vocab_size": lambda size, *_, **__: size}
    exec(compile(tree, "flop_utils.py", "exec"), names)
    return names["num_floating_point_operations"]


def fields(config):
    """As the bridges map a configuration of transformers."""
    get, experts = config.get, next((config[k] for k in ("num_experts", "num_local_experts", "n_routed_experts") if k in config), None)
    layers, dense = config["num_hidden_layers"], config.get("first_k_dense_replace", 0)
    return SimpleNamespace(
        num_layers=layers, hidden_size=config["hidden_size"], ffn_hidden_size=config["intermediate_size"], num_attention_heads=config["num_attention_heads"],
        num_query_groups=get("num_key_value_heads"), kv_channels=get("head_dim", config["hidden_size"] // config["num_attention_heads"]), vocab_size=config["vocab_size"],
        num_moe_experts=experts, moe_router_topk=get("num_experts_per_tok"), moe_ffn_hidden_size=get("moe_intermediate_size"),
        moe_shared_expert_intermediate_size=get("moe_intermediate_size", 0) * config["n_shared_experts"] if "n_shared_experts" in config else None,
        moe_layer_freq=[0] * dense + [1] * (layers - dense), mtp_num_layers=get("num_nextn_predict_layers"), gated_linear_unit=True,
        multi_latent_attention="kv_lora_rank" in config, q_lora_rank=get("q_lora_rank"), kv_lora_rank=get("kv_lora_rank"), qk_head_dim=get("qk_nope_head_dim"),
        qk_pos_emb_head_dim=get("qk_rope_head_dim"), v_head_dim=get("v_head_dim"), make_vocab_size_divisible_by=1, tensor_model_parallel_size=1, seq_length=HUGE)


def flops_of(count, config, lengths):
    found = count(SimpleNamespace(model=fields(config), peft=None), batch_size=len(lengths), seqlen_sum=Fraction(sum(lengths)),
                  seqlen_squared_sum=Fraction(sum(n * n for n in lengths)))
    assert Fraction(found).denominator == 1
    return int(found)


def main():
    count = load(sys.argv[1])
    commit = subprocess.run(["git", "-C", sys.argv[1], "log", "-1", "--format=%H"], capture_output=True, text=True, check=True).stdout.strip()
    models = {}
    for name, config in CONFIGS.items():
        draw = random.Random(name)
        ragged = [[draw.randint(1, 4096) for _ in range(draw.randint(2, 9))] for _ in range(2)]
        steps = [[4096], [4096] * 8, [1000] * 15, *ragged]
        models[name] = {"config": config, "steps": [{"lengths": lengths, "flops": flops_of(count, config, lengths)} for lengths in steps]}
    how = f"Megatron-Bridge at {commit}, flop_utils.py: num_floating_point_operations, with exact fractions: tools/export/megatron_bridge_truth.py"
    with open(f"{sys.argv[2]}/megatron_bridge.json", "w", encoding="utf-8") as file:
        file.write(json.dumps({"how": how, "models": models}, indent=1, separators=(",", ": ")) + "\n")


if __name__ == "__main__":
    main()
