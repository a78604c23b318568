"""What transformers executes for configurations of every family: forward FLOPs (2 x MACs) by torch's FlopCounterMode under FakeTensorMode, which needs no weights.

  python3 tools/export/config_truth.py tests/data/config      (torch 2.15.0, transformers 5.23.0)

Writes more.json: {"models": {name: {"config", "parameters", "points": [{"dims", "flops", "modules"}]}}}. Eager attention, causal attention in full, logits of
every position, exactly top_k experts per token. A point with "past" is one decoding step behind so many tokens.
"""
import json
import re
import sys
import warnings

warnings.filterwarnings("ignore")
import torch
import transformers
from model_lines import write_models
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, DynamicCache

LAYERS = 4  # whose modules are listed
TEXT = [{"batch": 1, "seq": 512}, {"batch": 3, "seq": 100}]
CAUSAL = TEXT + [{"batch": 2, "seq": 1, "past": 300}]
IMAGE = [{"batch": 1}, {"batch": 5}]
TOWERS = [{"batch": 1, "seq": 16}, {"batch": 3, "seq": 10}]

LLAMA = {"hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000}
VIT = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
SMALL = {"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 200}
CASES = {
    "google/vit-base-patch16-224": ({"model_type": "vit", "architectures": ["ViTForImageClassification"], **VIT, "image_size": 224, "patch_size": 16, "num_labels": 1000}, IMAGE),
    "vit-model-pooled": ({"model_type": "vit", "architectures": ["ViTModel"], **VIT, "image_size": 384, "patch_size": 32, "qkv_bias": False}, IMAGE),
    "facebook/deit-base-distilled-patch16-224": ({"model_type": "deit", "architectures": ["DeiTForImageClassificationWithTeacher"], **VIT, "image_size": 224, "patch_size": 16, "num_labels": 1000}, IMAGE),
    "deit-model": ({"model_type": "deit", "architectures": ["DeiTModel"], **VIT}, IMAGE),
    "facebook/dinov2-base": ({"model_type": "dinov2", "architectures": ["Dinov2Model"], "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "mlp_ratio": 4, "image_size": 518, "patch_size": 14}, IMAGE),
    "facebook/dinov2-giant": ({"model_type": "dinov2", "architectures": ["Dinov2Model"], "hidden_size": 1536, "num_hidden_layers": 40, "num_attention_heads": 24, "mlp_ratio": 4, "image_size": 518, "patch_size": 14, "use_swiglu_ffn": True}, IMAGE),
    "FacebookAI/roberta-base": ({"model_type": "roberta", "architectures": ["RobertaForMaskedLM"], "vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}, TEXT),
    "roberta-model": ({"model_type": "roberta", "architectures": ["RobertaModel"], "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 3, "intermediate_size": 500, "max_position_embeddings": 514}, TEXT),
    "bert-classifier": ({"model_type": "bert", "architectures": ["BertForSequenceClassification"], "num_hidden_layers": 2, "num_labels": 3}, TEXT),
    "bert-model": ({"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 2}, TEXT),
    "distilbert/distilbert-base-uncased": ({"model_type": "distilbert", "architectures": ["DistilBertForMaskedLM"], "vocab_size": 30522}, TEXT),
    "distilbert-model": ({"model_type": "distilbert", "architectures": ["DistilBertModel"], "n_layers": 2}, TEXT),
    "EleutherAI/pythia-160m": ({"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"], "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "intermediate_size": 3072, "vocab_size": 50304, "rotary_pct": 0.25, "use_parallel_residual": True, "max_position_embeddings": 2048}, CAUSAL),
    "gpt-neox-serial": ({"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"], "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 700, "vocab_size": 1000, "use_parallel_residual": False, "attention_bias": False, "tie_word_embeddings": True}, CAUSAL),
    "microsoft/phi-2": ({"model_type": "phi", "architectures": ["PhiForCausalLM"], "hidden_size": 2560, "intermediate_size": 10240, "num_attention_heads": 32, "num_hidden_layers": 32, "vocab_size": 51200, "partial_rotary_factor": 0.4, "max_position_embeddings": 2048}, CAUSAL),
    "phi-grouped": ({"model_type": "phi", "architectures": ["PhiForCausalLM"], "hidden_size": 256, "intermediate_size": 500, "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 1000, "qk_layernorm": True}, CAUSAL),
    "Qwen/Qwen3-30B-A3B": ({"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "norm_topk_prob": True, "vocab_size": 151936, "tie_word_embeddings": False, "decoder_sparse_step": 1, "mlp_only_layers": []}, CAUSAL),
    "qwen3-moe-mixed": ({"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], **LLAMA, "num_hidden_layers": 5, "moe_intermediate_size": 96, "num_experts": 6, "num_experts_per_tok": 2, "decoder_sparse_step": 2, "mlp_only_layers": [3]}, CAUSAL),
    "google/gemma-2b": ({"model_type": "gemma", "architectures": ["GemmaForCausalLM"], "hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 18, "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 256000, "hidden_activation": "gelu_pytorch_tanh", "hidden_act": "gelu"}, CAUSAL),
    "google/gemma-2-2b": ({"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 256000, "sliding_window": 4096}, CAUSAL),
    "google/gemma-3-1b-pt": ({"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "hidden_size": 1152, "intermediate_size": 6912, "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 262144, "sliding_window": 512, "sliding_window_pattern": 6}, TEXT + [{"batch": 1, "seq": 1500}, {"batch": 2, "seq": 1, "past": 300}]),
    "deepseek-ai/DeepSeek-V2-Lite": ({"model_type": "deepseek_v2", "architectures": ["DeepseekV2ForCausalLM"], "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16, "n_shared_experts": 2, "n_routed_experts": 64, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "kv_lora_rank": 512, "q_lora_rank": None, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 102400, "norm_topk_prob": False}, CAUSAL),
    "arcee-ai/AFM-4.5B": ({"model_type": "arcee", "architectures": ["ArceeForCausalLM"], "hidden_size": 2560, "intermediate_size": 18432, "num_hidden_layers": 36, "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 128005}, CAUSAL),
    "baidu/ERNIE-4.5-0.3B-PT": ({"model_type": "ernie4_5", "architectures": ["Ernie4_5ForCausalLM"], "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 18, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 103424, "tie_word_embeddings": True, "use_bias": False}, CAUSAL),
    "ernie-biased": ({"model_type": "ernie4_5", "architectures": ["Ernie4_5ForCausalLM"], **LLAMA, "head_dim": 32, "use_bias": True, "tie_word_embeddings": False}, CAUSAL),
    "exaone4-full": ({"model_type": "exaone4", "architectures": ["Exaone4ForCausalLM"], **LLAMA, "sliding_window": None, "layer_types": ["full_attention"] * 3}, CAUSAL),
    "exaone4-windowed": ({"model_type": "exaone4", "architectures": ["Exaone4ForCausalLM"], **LLAMA, "num_hidden_layers": 5, "sliding_window": 64, "sliding_window_pattern": 4}, TEXT),
    "THUDM/glm-4-9b-hf": ({"model_type": "glm", "architectures": ["GlmForCausalLM"], "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 151552, "attention_bias": True, "partial_rotary_factor": 0.5}, CAUSAL),
    "glm-unbiased": ({"model_type": "glm", "architectures": ["GlmForCausalLM"], **LLAMA, "head_dim": 32, "attention_bias": False, "pad_token_id": 0}, CAUSAL),
    "THUDM/GLM-4-9B-0414": ({"model_type": "glm4", "architectures": ["Glm4ForCausalLM"], "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 151552, "attention_bias": False, "partial_rotary_factor": 0.5}, CAUSAL),
    "zai-org/GLM-4.5-Air": ({"model_type": "glm4_moe", "architectures": ["Glm4MoeForCausalLM"], "attention_bias": True, "head_dim": 128, "hidden_size": 4096, "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1, "norm_topk_prob": True, "num_attention_heads": 96, "num_hidden_layers": 46, "num_key_value_heads": 8, "partial_rotary_factor": 0.5, "use_qk_norm": False, "vocab_size": 151552}, CAUSAL),
    "glm4-moe-normed": ({"model_type": "glm4_moe", "architectures": ["Glm4MoeForCausalLM"], **LLAMA, "moe_intermediate_size": 96, "n_routed_experts": 6, "n_shared_experts": 2, "num_experts_per_tok": 2, "first_k_dense_replace": 2, "use_qk_norm": True}, CAUSAL),
    "ibm-granite/granite-3.3-2b-base": ({"model_type": "granite", "architectures": ["GraniteForCausalLM"], "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 49152, "tie_word_embeddings": True, "embedding_multiplier": 12.0, "logits_scaling": 8.0, "residual_multiplier": 0.22, "attention_multiplier": 0.015625}, CAUSAL),
    "granite-biased": ({"model_type": "granite", "architectures": ["GraniteModel"], **LLAMA, "attention_bias": True, "mlp_bias": True}, CAUSAL),
    "tencent/Hunyuan-0.5B-Instruct": ({"model_type": "hunyuan_v1_dense", "architectures": ["HunYuanDenseV1ForCausalLM"], "hidden_size": 1024, "intermediate_size": 3584, "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 120818, "tie_word_embeddings": True}, CAUSAL),
    "ministral-mixed": ({"model_type": "ministral", "architectures": ["MinistralForCausalLM"], **LLAMA, "head_dim": 32, "sliding_window": 64, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}, TEXT),
    "allenai/OLMo-2-1124-7B": ({"model_type": "olmo2", "architectures": ["Olmo2ForCausalLM"], "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352}, CAUSAL),
    "olmo2-grouped": ({"model_type": "olmo2", "architectures": ["Olmo2Model"], **LLAMA, "attention_bias": True}, CAUSAL),
    "olmo3-windowed": ({"model_type": "olmo3", "architectures": ["Olmo3ForCausalLM"], **LLAMA, "num_hidden_layers": 5, "sliding_window": 64}, TEXT),
    "allenai/OLMoE-1B-7B-0924": ({"model_type": "olmoe", "architectures": ["OlmoeForCausalLM"], "hidden_size": 2048, "intermediate_size": 1024, "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 64, "num_experts_per_tok": 8, "norm_topk_prob": False, "vocab_size": 50304}, CAUSAL),
    "Qwen/Qwen1.5-MoE-A2.7B": ({"model_type": "qwen2_moe", "architectures": ["Qwen2MoeForCausalLM"], "hidden_size": 2048, "intermediate_size": 5632, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 60, "num_experts_per_tok": 4, "norm_topk_prob": False, "decoder_sparse_step": 1, "vocab_size": 151936, "use_sliding_window": False}, CAUSAL),
    "qwen2-moe-mixed": ({"model_type": "qwen2_moe", "architectures": ["Qwen2MoeForCausalLM"], **LLAMA, "num_hidden_layers": 5, "moe_intermediate_size": 96, "shared_expert_intermediate_size": 200, "num_experts": 6, "num_experts_per_tok": 2, "decoder_sparse_step": 2, "mlp_only_layers": [3], "use_sliding_window": True, "sliding_window": 64, "max_window_layers": 4}, TEXT),
    "ByteDance-Seed/Seed-OSS-36B-Base": ({"model_type": "seed_oss", "architectures": ["SeedOssForCausalLM"], "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64, "num_attention_heads": 80, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 155136, "attention_bias": True, "attention_out_bias": False, "mlp_bias": False}, CAUSAL),
    "seed-oss-biased": ({"model_type": "seed_oss", "architectures": ["SeedOssForCausalLM"], **LLAMA, "head_dim": 32, "attention_out_bias": True, "mlp_bias": True}, CAUSAL),
    "HuggingFaceTB/SmolLM3-3B": ({"model_type": "smollm3", "architectures": ["SmolLM3ForCausalLM"], "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 128256, "no_rope_layer_interval": 4, "tie_word_embeddings": True, "use_sliding_window": False}, CAUSAL),
    "smollm3-windowed": ({"model_type": "smollm3", "architectures": ["SmolLM3ForCausalLM"], **LLAMA, "num_hidden_layers": 5, "no_rope_layers": [1, 0, 1, 0, 1], "use_sliding_window": True, "sliding_window": 64, "tie_word_embeddings": False, "pad_token_id": 0}, TEXT),
    "openai/gpt-oss-20b": ({"model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"], "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 32, "num_experts_per_tok": 4, "vocab_size": 201088, "sliding_window": 128, "attention_bias": True, "tie_word_embeddings": False}, CAUSAL),
    "gpt-oss-listed": ({"model_type": "gpt_oss", "architectures": ["GptOssModel"], **LLAMA, "num_hidden_layers": 4, "head_dim": 24, "num_local_experts": 6, "num_experts_per_tok": 2, "sliding_window": 64, "attention_bias": False, "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]}, CAUSAL),
    "MiniMaxAI/MiniMax-M2": ({"model_type": "minimax_m2", "architectures": ["MiniMaxM2ForCausalLM"], "hidden_size": 3072, "intermediate_size": 1536, "num_hidden_layers": 62, "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 256, "num_experts_per_tok": 8, "rotary_dim": 64, "vocab_size": 200064, "tie_word_embeddings": False}, CAUSAL),
    "minimax-m2-partial": ({"model_type": "minimax_m2", "architectures": ["MiniMaxM2Model"], **LLAMA, "head_dim": 24, "num_local_experts": 6, "num_experts_per_tok": 3, "partial_rotary_factor": 0.5}, CAUSAL),
    "rednote-hilab/dots.llm1.base": ({"model_type": "dots1", "architectures": ["Dots1ForCausalLM"], "hidden_size": 4096, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128, "n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "norm_topk_prob": True, "vocab_size": 152064, "tie_word_embeddings": False}, CAUSAL),
    "dots1-windowed": ({"model_type": "dots1", "architectures": ["Dots1ForCausalLM"], **LLAMA, "num_hidden_layers": 4, "moe_intermediate_size": 96, "n_routed_experts": 6, "n_shared_experts": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 2, "attention_bias": True, "sliding_window": 64, "max_window_layers": 1}, CAUSAL),
    "baidu/ERNIE-4.5-21B-A3B-PT": ({"model_type": "ernie4_5_moe", "architectures": ["Ernie4_5_MoeForCausalLM"], "hidden_size": 2560, "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_hidden_layers": 28, "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128, "moe_num_experts": 64, "moe_k": 6, "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_end_index": 27, "moe_layer_interval": 1, "vocab_size": 103424, "tie_word_embeddings": True, "use_bias": False}, CAUSAL),
    "ernie-moe-mixed": ({"model_type": "ernie4_5_moe", "architectures": ["Ernie4_5_MoeForCausalLM"], **LLAMA, "num_hidden_layers": 7, "moe_intermediate_size": 96, "moe_num_experts": 6, "moe_k": 2, "moe_num_shared_experts": 0, "moe_layer_start_index": 1, "moe_layer_end_index": 4, "moe_layer_interval": 2, "use_bias": True, "tie_word_embeddings": False}, CAUSAL),
    "ibm-granite/granite-3.1-1b-a400m-base": ({"model_type": "granitemoe", "architectures": ["GraniteMoeForCausalLM"], "hidden_size": 1024, "intermediate_size": 512, "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 8, "num_local_experts": 32, "num_experts_per_tok": 8, "vocab_size": 49155, "tie_word_embeddings": True, "embedding_multiplier": 12.0, "logits_scaling": 6.0, "residual_multiplier": 0.22, "attention_multiplier": 0.015625}, CAUSAL),
    "granite-moe-biased": ({"model_type": "granitemoe", "architectures": ["GraniteMoeModel"], **LLAMA, "num_local_experts": 6, "num_experts_per_tok": 2, "attention_bias": True}, CAUSAL),
    "bigcode/starcoder2-3b": ({"model_type": "starcoder2", "architectures": ["Starcoder2ForCausalLM"], "hidden_size": 3072, "intermediate_size": 12288, "num_hidden_layers": 30, "num_attention_heads": 24, "num_key_value_heads": 2, "vocab_size": 49152, "sliding_window": 4096, "use_bias": True}, CAUSAL),
    "starcoder2-unbiased": ({"model_type": "starcoder2", "architectures": ["Starcoder2ForCausalLM"], **LLAMA, "use_bias": False, "hidden_act": "relu", "sliding_window": 64, "tie_word_embeddings": False}, CAUSAL),
    "CohereLabs/c4ai-command-r-v01": ({"model_type": "cohere", "architectures": ["CohereForCausalLM"], "hidden_size": 8192, "intermediate_size": 22528, "num_hidden_layers": 40, "num_attention_heads": 64, "num_key_value_heads": 64, "vocab_size": 256000, "logit_scale": 0.0625}, CAUSAL),
    "cohere-normed": ({"model_type": "cohere", "architectures": ["CohereForCausalLM"], **LLAMA, "use_qk_norm": True, "attention_bias": True, "tie_word_embeddings": False}, CAUSAL),
    "CohereLabs/c4ai-command-r7b-12-2024": ({"model_type": "cohere2", "architectures": ["Cohere2ForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 256000, "sliding_window": 4096, "sliding_window_pattern": 4, "logit_scale": 0.25}, CAUSAL),
    "cohere2-windowed": ({"model_type": "cohere2", "architectures": ["Cohere2Model"], **LLAMA, "num_hidden_layers": 5, "sliding_window": 64, "attention_bias": True}, CAUSAL),
    "stabilityai/stablelm-2-1_6b": ({"model_type": "stablelm", "architectures": ["StableLmForCausalLM"], "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352, "use_qkv_bias": True, "partial_rotary_factor": 0.25}, CAUSAL),
    "stabilityai/stablelm-2-12b": ({"model_type": "stablelm", "architectures": ["StableLmForCausalLM"], "hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 100352, "use_parallel_residual": True, "qk_layernorm": True, "partial_rotary_factor": 0.25}, CAUSAL),
    "nvidia/Minitron-8B-Base": ({"model_type": "nemotron", "architectures": ["NemotronForCausalLM"], "hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 32, "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 256000, "partial_rotary_factor": 0.5}, CAUSAL),
    "nemotron-biased": ({"model_type": "nemotron", "architectures": ["NemotronForCausalLM"], **LLAMA, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}, CAUSAL),
    "tiiuae/falcon-7b": ({"model_type": "falcon", "architectures": ["FalconForCausalLM"], "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71, "vocab_size": 65024, "multi_query": True, "parallel_attn": True, "bias": False, "alibi": False, "new_decoder_architecture": False}, CAUSAL),
    "tiiuae/falcon-40b": ({"model_type": "falcon", "architectures": ["FalconForCausalLM"], "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128, "num_kv_heads": 8, "vocab_size": 65024, "parallel_attn": True, "bias": False, "alibi": False, "new_decoder_architecture": True}, CAUSAL),
    "tiiuae/falcon-rw-1b": ({"model_type": "falcon", "architectures": ["FalconForCausalLM"], "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, "vocab_size": 50304, "multi_query": False, "parallel_attn": False, "bias": True, "alibi": True, "new_decoder_architecture": False}, CAUSAL),
    "falcon-one-norm": ({"model_type": "falcon", "architectures": ["FalconModel"], "hidden_size": 256, "num_hidden_layers": 3, "num_attention_heads": 8, "num_kv_heads": 2, "ffn_hidden_size": 700, "vocab_size": 1000, "new_decoder_architecture": True, "num_ln_in_parallel_attn": 1, "bias": True}, CAUSAL),
    "bigscience/bloom-560m": ({"model_type": "bloom", "architectures": ["BloomForCausalLM"], "hidden_size": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880}, CAUSAL),
    "bloom-untied": ({"model_type": "bloom", "architectures": ["BloomForCausalLM"], "hidden_size": 256, "n_layer": 3, "n_head": 4, "vocab_size": 1000, "tie_word_embeddings": False, "apply_residual_connection_post_layernorm": True}, CAUSAL),
    "zai-org/GLM-4.7-Flash": ({"model_type": "glm4_moe_lite", "architectures": ["Glm4MoeLiteForCausalLM"], "hidden_size": 2048, "intermediate_size": 10240, "moe_intermediate_size": 1536, "num_hidden_layers": 47, "num_attention_heads": 20, "num_key_value_heads": 20, "n_routed_experts": 64, "n_shared_experts": 1, "num_experts_per_tok": 4, "q_lora_rank": 768, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "norm_topk_prob": True, "vocab_size": 154880}, CAUSAL),
    "glm4-moe-lite-listed": ({"model_type": "glm4_moe_lite", "architectures": ["Glm4MoeLiteForCausalLM"], **LLAMA, "num_key_value_heads": 8, "moe_intermediate_size": 96, "n_routed_experts": 6, "n_shared_experts": 2, "num_experts_per_tok": 2, "q_lora_rank": None, "kv_lora_rank": 48, "qk_nope_head_dim": 24, "qk_rope_head_dim": 16, "v_head_dim": 40, "attention_bias": True, "mlp_layer_types": ["sparse", "dense", "sparse"]}, CAUSAL),
    "mistralai/Ministral-3-8B-Base-2512": ({"model_type": "ministral3", "architectures": ["Ministral3ForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 34, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 131072, "tie_word_embeddings": False}, CAUSAL),
    "ministral3-windowed": ({"model_type": "ministral3", "architectures": ["Ministral3Model"], **LLAMA, "head_dim": 24, "sliding_window": 64}, CAUSAL),
    "google/flan-t5-base": ({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12, "num_decoder_layers": 12, "num_heads": 12, "vocab_size": 32128, "feed_forward_proj": "gated-gelu"}, TEXT),
    "openai/whisper-tiny": ({"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "d_model": 384, "encoder_layers": 4, "decoder_layers": 4, "encoder_attention_heads": 6, "decoder_attention_heads": 6, "encoder_ffn_dim": 1536, "decoder_ffn_dim": 1536, "vocab_size": 51865, "num_mel_bins": 80}, TOWERS),
    "llama-biased": ({"model_type": "llama", "architectures": ["LlamaForCausalLM"], **LLAMA, "attention_bias": True, "mlp_bias": True, "head_dim": 48, "tie_word_embeddings": True}, CAUSAL),
    "llama-model": ({"model_type": "llama", "architectures": ["LlamaModel"], **LLAMA}, CAUSAL),
    "mistral-windowed": ({"model_type": "mistral", "architectures": ["MistralForCausalLM"], **LLAMA, "sliding_window": 64}, TEXT),
    "phi3-windowed": ({"model_type": "phi3", "architectures": ["Phi3ForCausalLM"], **LLAMA, "sliding_window": 64, "pad_token_id": 0}, TEXT),
    "qwen2-windowed": ({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], **LLAMA, "use_sliding_window": True, "sliding_window": 64, "max_window_layers": 1}, TEXT),
    "gpt2-inner": ({"model_type": "gpt2", "architectures": ["GPT2Model"], "n_embd": 128, "n_layer": 2, "n_head": 4, "n_inner": 300}, CAUSAL),
    "siglip-headless": ({"model_type": "siglip", "architectures": ["SiglipModel"], "text_config": {"num_hidden_layers": 2}, "vision_config": {"num_hidden_layers": 2, "image_size": 100, "patch_size": 16}}, TOWERS),
    "siglip2-small": ({"model_type": "siglip2", "architectures": ["Siglip2Model"], "text_config": {"vocab_size": 1000, **SMALL}, "vision_config": {"num_patches": 256, **SMALL}}, TOWERS),
    "clip-text": ({"model_type": "clip_text_model", "architectures": ["CLIPTextModelWithProjection"], "num_hidden_layers": 2, "projection_dim": 300}, TOWERS),
    "clip-vision": ({"model_type": "clip_vision_model", "architectures": ["CLIPVisionModelWithProjection"], "num_hidden_layers": 2, "projection_dim": 300}, IMAGE),
    "siglip-vision": ({"model_type": "siglip_vision_model", "architectures": ["SiglipVisionModel"], "num_hidden_layers": 2}, IMAGE),
    "FacebookAI/xlm-roberta-base": ({"model_type": "xlm-roberta", "architectures": ["XLMRobertaForMaskedLM"], "vocab_size": 250002, "max_position_embeddings": 514, "type_vocab_size": 1}, TEXT),
    "xlm-roberta-classifier": ({"model_type": "xlm-roberta", "architectures": ["XLMRobertaForSequenceClassification"], "max_position_embeddings": 514, "num_hidden_layers": 2, "num_labels": 5}, TEXT),
    "google/mt5-small": ({"model_type": "mt5", "architectures": ["MT5ForConditionalGeneration"], "tie_word_embeddings": False}, TEXT),
    "siglip-text": ({"model_type": "siglip_text_model", "architectures": ["SiglipTextModel"], "projection_size": 300, **SMALL}, TOWERS),
    "siglip2-text": ({"model_type": "siglip2_text_model", "architectures": ["Siglip2TextModel"], **SMALL}, TOWERS),
    "siglip2-vision": ({"model_type": "siglip2_vision_model", "architectures": ["Siglip2VisionModel"], "num_patches": 256, **SMALL}, IMAGE),
    "Salesforce/blip-image-captioning-base": ({"model_type": "blip", "architectures": ["BlipForConditionalGeneration"], "text_config": {"num_attention_heads": 12}, "vision_config": {}}, TOWERS),
    "blip-towers": ({"model_type": "blip", "architectures": ["BlipModel"], "projection_dim": 300, "text_config": {"is_decoder": False, **SMALL}, "vision_config": {"image_size": 64, **SMALL}}, TOWERS),
    "blip-text": ({"model_type": "blip_text_model", "architectures": ["BlipTextModel"], "num_hidden_layers": 2}, TOWERS),
    "blip-vision": ({"model_type": "blip_vision_model", "architectures": ["BlipVisionModel"], "num_hidden_layers": 2}, IMAGE),
    "llava-full": ({"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "vision_feature_layer": -1, "vision_feature_select_strategy": "full", "text_config": {"model_type": "llama", **LLAMA}, "vision_config": {"model_type": "clip_vision_model", "num_hidden_layers": 2, "image_size": 64, "patch_size": 16, "hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 300}}, []),
}


def inputs_of(config, model, dims):
    batch, seq, past = dims["batch"], dims.get("seq"), dims.get("past", 0)
    kind, x = config.model_type, {}
    ids = lambda: torch.ones(batch, seq, dtype=torch.long)
    vision = getattr(config, "vision_config", config)
    if kind == "whisper":
        return {"input_features": torch.rand(batch, config.num_mel_bins, 2 * config.max_source_positions), "decoder_input_ids": ids()}
    if kind in ("t5", "mt5"):
        return {"input_ids": ids(), "decoder_input_ids": ids()}
    if seq:
        x["input_ids"] = ids()
    if kind in ("siglip2", "siglip2_vision_model"):
        patches = vision.num_patches
        side = int(patches**0.5)
        x["pixel_values"] = torch.rand(batch, patches, 3 * vision.patch_size**2)
        x["pixel_attention_mask"] = torch.ones(batch, patches, dtype=torch.long)
        x["spatial_shapes"] = None
        return x
    if hasattr(vision, "image_size"):
        x["pixel_values"] = torch.rand(batch, 3, vision.image_size, vision.image_size)
    return x


def count(config_json, dims_list):
    config = AutoConfig.for_model(**{k: v for k, v in config_json.items() if k != "architectures"})
    config._attn_implementation = "eager"
    if hasattr(config, "_experts_implementation") or "moe" in config.model_type or "deepseek" in config.model_type or config.model_type in ("gpt_oss", "minimax_m2", "dots1"):
        config._experts_implementation = "batched_mm"
    points, parameters = [], None
    # The initialisation of some looks at numbers, which fake tensors do not have; tensors of device meta are not looked at. SigLIP 2 looks at the sizes of images.
    kinds = {"siglip2": torch.device("cpu"), "siglip2_vision_model": torch.device("cpu"), **dict.fromkeys(("vit", "deit", "dinov2", "siglip", "siglip_text_model", "siglip_vision_model", "siglip2_text_model", "blip", "blip_text_model", "blip_vision_model"), torch.device("meta"))}
    with kinds.get(config.model_type) or FakeTensorMode(allow_non_fake_inputs=True):
        model = getattr(transformers, config_json["architectures"][0])(config).eval()
        parameters = sum(p.numel() for p in model.parameters())
        for dims in dims_list:
            x = inputs_of(config, model, dims)
            if x.get("spatial_shapes", 0) is None:
                x["spatial_shapes"] = torch.tensor([[16, 16]] * dims["batch"], device="cpu")
            with torch.no_grad():
                if dims.get("past"):
                    cache = DynamicCache(config=config)
                    model(input_ids=torch.ones(dims["batch"], dims["past"], dtype=torch.long), past_key_values=cache, use_cache=True)
                    x["past_key_values"] = cache
                counter = FlopCounterMode(display=False, depth=3)
                with counter:
                    model(**x, **({} if dims.get("past") else {"use_cache": False} if "seq" in dims and config.model_type not in ("clip_text_model", "siglip", "siglip2", "siglip_text_model", "siglip2_text_model", "bert", "roberta", "xlm-roberta", "distilbert", "blip", "blip_text_model") else {}))
            root = type(model).__name__
            modules = {k[len(root):].lstrip("."): sum(v.values()) for k, v in counter.get_flop_counts().items() if k.startswith(root)}
            modules = {k: v for k, v in modules.items() if all(int(n) < LAYERS for n in re.findall(r"\.(\d+)", k))}
            if config.model_type in ("t5", "mt5"):
                dims = {**dims, "decoder_seq": dims["seq"]}
            points.append({"dims": dims, "flops": counter.get_total_flops(), "modules": modules})
    return {"config": config_json, "parameters": parameters, "points": points}


def main():
    folder = sys.argv[1]
    only = sys.argv[2:] or CASES
    out = {}
    for name in only:
        try:
            out[name] = count(*CASES[name])
            print(name, out[name]["parameters"], [p["flops"] for p in out[name]["points"]], flush=True)
        except Exception as error:
            print("FAILED", name, type(error).__name__, str(error)[:300], flush=True)
    how = f"torch {torch.__version__}, transformers {transformers.__version__}, FlopCounterMode on the CPU under FakeTensorMode (vit, deit, dinov2, siglip: on device meta; siglip2: on the CPU), eager attention, batched_mm experts; see tools/export/config_truth.py"
    write_models(f"{folder}/more.json", how, out)


if __name__ == "__main__":
    main()
