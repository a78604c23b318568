"""What transformers executes for models with a tower for images of any size: forward FLOPs (2 x MACs) by torch's FlopCounterMode on the meta device, which needs
no weights.

  python3 tools/export/vision_truth.py tests/data/config [NAME...]      (torch 2.15.0, transformers 5.24.0)

Writes vision.json as config_truth.py writes more.json. `seq` counts tokens of text; each sample has one image (or clip) of grid_t x grid_h x grid_w patches,
whose tokens stand among them; or an image that is cut into tiles, or of image_height x image_width. Eager attention, causal attention and windows of text in full, logits of every position.
"""
import json
import random
import re
import sys
import warnings

warnings.filterwarnings("ignore")
import torch
import transformers
import transformers.masking_utils
import transformers.vision_utils
from torch.utils.flop_counter import FlopCounterMode
from model_lines import write_models
from transformers import AutoConfig

LAYERS = 4  # whose modules are listed
TEXT = {"hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 4096, "pad_token_id": 0}
GRIDS = [
    {"batch": 1, "seq": 100, "grid_t": 1, "grid_h": 16, "grid_w": 32},
    {"batch": 3, "seq": 17, "grid_t": 2, "grid_h": 10, "grid_w": 14},
    {"batch": 1, "seq": 5, "grid_t": 1, "grid_h": 6, "grid_w": 36},
]
MROPE = {"rope_scaling": {"type": "mrope", "mrope_section": [4, 6, 6]}}
QWEN2_TOWER = {"depth": 3, "embed_dim": 96, "num_heads": 4, "mlp_ratio": 3, "hidden_size": 256}
QWEN25_TOWER = {"depth": 3, "hidden_size": 96, "num_heads": 4, "intermediate_size": 200, "out_hidden_size": 256, "fullatt_block_indexes": [1]}
QWEN3_TOWER = {"depth": 3, "hidden_size": 96, "num_heads": 4, "intermediate_size": 200, "out_hidden_size": 256, "num_position_embeddings": 64}
LINEAR = {"linear_key_head_dim": 16, "linear_value_head_dim": 24, "linear_num_key_heads": 4, "linear_num_value_heads": 4}
TOWER = {"hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 200}
IMAGES = [{"batch": 1, "seq": 100}, {"batch": 3, "seq": 17}]
PIXELS = [{"batch": 1, "seq": 100, "image_height": 84, "image_width": 140}, {"batch": 1, "seq": 17, "image_height": 28, "image_width": 112}]
TILES = [{"batch": 1, "seq": 100, "tiles": 5}, {"batch": 2, "seq": 17, "tiles": 1}]
CASES = {
    "Qwen/Qwen2-VL-2B-Instruct": ({"model_type": "qwen2_vl", "architectures": ["Qwen2VLForConditionalGeneration"], "hidden_act": "silu", "hidden_size": 1536, "intermediate_size": 8960, "max_position_embeddings": 32768, "max_window_layers": 28, "num_attention_heads": 12, "num_hidden_layers": 28, "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": True, "use_sliding_window": False, "torch_dtype": "bfloat16", "vision_config": {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "in_chans": 3, "hidden_size": 1536, "patch_size": 14, "spatial_merge_size": 2, "spatial_patch_size": 14, "temporal_patch_size": 2}, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}, "vocab_size": 151936}, GRIDS),
    "qwen2-vl-small": ({"model_type": "qwen2_vl", "architectures": ["Qwen2VLForConditionalGeneration"], "text_config": {"model_type": "qwen2_vl_text", **TEXT, **MROPE}, "vision_config": {**QWEN2_TOWER, "hidden_act": "gelu"}}, GRIDS),
    "qwen2-vl-merge-3": ({"model_type": "qwen2_vl", "architectures": ["Qwen2VLForConditionalGeneration"], "text_config": {"model_type": "qwen2_vl_text", **TEXT, "num_key_value_heads": 8, **MROPE}, "vision_config": {**QWEN2_TOWER, "patch_size": 16, "temporal_patch_size": 1, "spatial_merge_size": 3, "in_channels": 1}}, [{"batch": 1, "seq": 9, "grid_t": 1, "grid_h": 9, "grid_w": 12}, {"batch": 2, "seq": 30, "grid_t": 3, "grid_h": 3, "grid_w": 6}]),
    "Qwen/Qwen2.5-VL-7B-Instruct": ({"model_type": "qwen2_5_vl", "architectures": ["Qwen2_5_VLForConditionalGeneration"], "hidden_act": "silu", "hidden_size": 3584, "intermediate_size": 18944, "max_position_embeddings": 128000, "max_window_layers": 28, "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": False, "use_sliding_window": False, "torch_dtype": "bfloat16", "vision_config": {"depth": 32, "hidden_act": "silu", "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "in_chans": 3, "out_hidden_size": 3584, "patch_size": 14, "spatial_merge_size": 2, "spatial_patch_size": 14, "window_size": 112, "fullatt_block_indexes": [7, 15, 23, 31], "tokens_per_second": 2, "temporal_patch_size": 2}, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}, "vocab_size": 152064}, GRIDS),
    "qwen2-5-vl-small": ({"model_type": "qwen2_5_vl", "architectures": ["Qwen2_5_VLForConditionalGeneration"], "text_config": {"model_type": "qwen2_5_vl_text", **TEXT, **MROPE}, "vision_config": QWEN25_TOWER, "tie_word_embeddings": True}, GRIDS),
    "qwen2-5-vl-windows": ({"model_type": "qwen2_5_vl", "architectures": ["Qwen2_5_VLForConditionalGeneration"], "text_config": {"model_type": "qwen2_5_vl_text", **TEXT, **MROPE}, "vision_config": {**QWEN25_TOWER, "hidden_act": "gelu", "window_size": 70, "fullatt_block_indexes": []}}, GRIDS),
    "Qwen/Qwen3-VL-2B-Instruct": ({"model_type": "qwen3_vl", "architectures": ["Qwen3VLForConditionalGeneration"], "text_config": {"model_type": "qwen3_vl_text", "attention_bias": False, "dtype": "bfloat16", "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 262144, "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": {"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"}, "rope_theta": 5000000, "tie_word_embeddings": True, "vocab_size": 151936}, "tie_word_embeddings": True, "vision_config": {"deepstack_visual_indexes": [5, 11, 17], "depth": 24, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 1024, "in_channels": 3, "intermediate_size": 4096, "model_type": "qwen3_vl", "num_heads": 16, "num_position_embeddings": 2304, "out_hidden_size": 2048, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2}}, GRIDS),
    "qwen3-vl-small": ({"model_type": "qwen3_vl", "architectures": ["Qwen3VLForConditionalGeneration"], "text_config": {"model_type": "qwen3_vl_text", **TEXT, "head_dim": 32, "attention_bias": True, "rope_scaling": {"rope_type": "default", "mrope_section": [4, 6, 6]}}, "vision_config": {**QWEN3_TOWER, "deepstack_visual_indexes": [0]}}, GRIDS),
    "qwen3-vl-deep": ({"model_type": "qwen3_vl", "architectures": ["Qwen3VLForConditionalGeneration"], "text_config": {"model_type": "qwen3_vl_text", **TEXT, "head_dim": 48, "rope_scaling": {"rope_type": "default", "mrope_section": [8, 8, 8]}}, "vision_config": {**QWEN3_TOWER, "deepstack_visual_indexes": [0, 1, 2]}}, GRIDS),
    "Qwen/Qwen3.5-0.8B": ({"model_type": "qwen3_5", "architectures": ["Qwen3_5ForConditionalGeneration"], "tie_word_embeddings": True, "text_config": {"model_type": "qwen3_5_text", "attn_output_gate": True, "dtype": "bfloat16", "head_dim": 256, "hidden_act": "silu", "hidden_size": 1024, "intermediate_size": 3584, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 16, "linear_value_head_dim": 128, "num_attention_heads": 8, "num_hidden_layers": 24, "num_key_value_heads": 2, "full_attention_interval": 4, "tie_word_embeddings": True, "vocab_size": 248320, "rope_parameters": {"mrope_interleaved": True, "mrope_section": [11, 11, 10], "partial_rotary_factor": 0.25, "rope_theta": 10000000, "rope_type": "default"}}, "vision_config": {"model_type": "qwen3_5_vision", "depth": 12, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 768, "in_channels": 3, "intermediate_size": 3072, "num_heads": 12, "num_position_embeddings": 2304, "out_hidden_size": 1024, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2}}, GRIDS),
    "qwen3-5-small": ({"model_type": "qwen3_5", "architectures": ["Qwen3_5ForConditionalGeneration"], "text_config": {"model_type": "qwen3_5_text", **TEXT, **LINEAR, "head_dim": 32, "attention_bias": True, "full_attention_interval": 2, "rope_parameters": {"rope_type": "default", "mrope_section": [4, 6, 6], "rope_theta": 500000.0, "partial_rotary_factor": 1.0}}, "vision_config": QWEN3_TOWER}, GRIDS),
    "qwen3-5-wide": ({"model_type": "qwen3_5", "architectures": ["Qwen3_5ForConditionalGeneration"], "tie_word_embeddings": True, "text_config": {"model_type": "qwen3_5_text", **TEXT, **LINEAR, "linear_num_key_heads": 2, "linear_conv_kernel_dim": 3}, "vision_config": {**QWEN3_TOWER, "hidden_act": "gelu", "patch_size": 14, "temporal_patch_size": 1, "spatial_merge_size": 1, "in_channels": 1}}, GRIDS),
    "Qwen/Qwen3.5-35B-A3B": ({"model_type": "qwen3_5_moe", "architectures": ["Qwen3_5MoeForConditionalGeneration"], "tie_word_embeddings": False, "text_config": {"model_type": "qwen3_5_moe_text", "dtype": "bfloat16", "head_dim": 256, "hidden_act": "silu", "hidden_size": 2048, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_value_head_dim": 128, "moe_intermediate_size": 512, "num_attention_heads": 16, "num_experts": 256, "num_experts_per_tok": 8, "num_hidden_layers": 40, "num_key_value_heads": 2, "full_attention_interval": 4, "shared_expert_intermediate_size": 512, "vocab_size": 248320, "rope_parameters": {"mrope_interleaved": True, "mrope_section": [11, 11, 10], "partial_rotary_factor": 0.25, "rope_theta": 10000000, "rope_type": "default"}}, "vision_config": {"model_type": "qwen3_5_moe_vision", "depth": 27, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 1152, "in_channels": 3, "intermediate_size": 4304, "num_heads": 16, "num_position_embeddings": 2304, "out_hidden_size": 2048, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2}}, GRIDS),
    "qwen3-5-moe-small": ({"model_type": "qwen3_5_moe", "architectures": ["Qwen3_5MoeForConditionalGeneration"], "text_config": {"model_type": "qwen3_5_moe_text", **TEXT, **LINEAR, "moe_intermediate_size": 40, "shared_expert_intermediate_size": 56, "num_experts": 6, "num_experts_per_tok": 2, "full_attention_interval": 2}, "vision_config": QWEN3_TOWER}, GRIDS),
    "qwen3-5-moe-tied": ({"model_type": "qwen3_5_moe", "architectures": ["Qwen3_5MoeForConditionalGeneration"], "tie_word_embeddings": True, "text_config": {"model_type": "qwen3_5_moe_text", **TEXT, **LINEAR, "head_dim": 64, "moe_intermediate_size": 24, "shared_expert_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 3, "layer_types": ["full_attention", "linear_attention"]}, "vision_config": {**QWEN3_TOWER, "depth": 2, "num_heads": 6}}, GRIDS),
    "Qwen/Qwen3-VL-30B-A3B-Instruct": ({"model_type": "qwen3_vl_moe", "architectures": ["Qwen3VLMoeForConditionalGeneration"], "text_config": {"model_type": "qwen3_vl_moe_text", "attention_bias": False, "decoder_sparse_step": 1, "dtype": "bfloat16", "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 262144, "mlp_only_layers": [], "moe_intermediate_size": 768, "norm_topk_prob": True, "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_scaling": {"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"}, "rope_theta": 5000000, "vocab_size": 151936}, "tie_word_embeddings": False, "vision_config": {"deepstack_visual_indexes": [8, 16, 24], "depth": 27, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 1152, "in_channels": 3, "intermediate_size": 4304, "model_type": "qwen3_vl_moe", "num_heads": 16, "num_position_embeddings": 2304, "out_hidden_size": 2048, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2}}, GRIDS),
    "qwen3-vl-moe-small": ({"model_type": "qwen3_vl_moe", "architectures": ["Qwen3VLMoeForConditionalGeneration"], "text_config": {"model_type": "qwen3_vl_moe_text", **TEXT, "attention_bias": True, "num_hidden_layers": 3, "moe_intermediate_size": 40, "num_experts": 6, "num_experts_per_tok": 2, "mlp_only_layers": [1], "rope_scaling": {"rope_type": "default", "mrope_section": [4, 6, 6], "rope_theta": 500000.0}}, "vision_config": {**QWEN3_TOWER, "deepstack_visual_indexes": [0]}}, GRIDS),
    "qwen3-vl-moe-tied": ({"model_type": "qwen3_vl_moe", "architectures": ["Qwen3VLMoeForConditionalGeneration"], "tie_word_embeddings": True, "text_config": {"model_type": "qwen3_vl_moe_text", **TEXT, "head_dim": 48, "moe_intermediate_size": 24, "num_experts": 4, "num_experts_per_tok": 3, "decoder_sparse_step": 2, "rope_scaling": {"rope_type": "default", "mrope_section": [8, 8, 8], "rope_theta": 500000.0}}, "vision_config": {**QWEN3_TOWER, "deepstack_visual_indexes": [0, 2]}}, GRIDS),
    "google/gemma-3-4b-it": ({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "mm_tokens_per_image": 256, "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024}, "torch_dtype": "bfloat16", "vision_config": {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304, "model_type": "siglip_vision_model", "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14, "vision_use_head": False}}, IMAGES),
    "gemma3-small": ({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "mm_tokens_per_image": 16, "tie_word_embeddings": False, "text_config": {"model_type": "gemma3_text", **TEXT, "head_dim": 32, "sliding_window": 16}, "vision_config": {"model_type": "siglip_vision_model", **TOWER, "image_size": 128, "patch_size": 16}}, IMAGES),
    "gemma3-uneven": ({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "mm_tokens_per_image": 9, "text_config": {"model_type": "gemma3_text", **TEXT, "head_dim": 64, "num_hidden_layers": 7}, "vision_config": {"model_type": "siglip_vision_model", **TOWER, "image_size": 126, "patch_size": 14, "vision_use_head": False}}, IMAGES),
    "llava-hf/llava-v1.6-mistral-7b-hf": ({"model_type": "llava_next", "architectures": ["LlavaNextForConditionalGeneration"], "image_grid_pinpoints": [[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]], "projector_hidden_act": "gelu", "text_config": {"model_type": "mistral", "intermediate_size": 14336, "max_position_embeddings": 32768, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": None, "torch_dtype": "bfloat16", "vocab_size": 32064}, "torch_dtype": "float16", "vision_config": {"hidden_size": 1024, "image_size": 336, "intermediate_size": 4096, "model_type": "clip_vision_model", "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14, "projection_dim": 768, "vocab_size": 32000}, "vision_feature_layer": -2, "vision_feature_select_strategy": "default"}, [{"batch": 1, "seq": 100, "image": [480, 640]}, {"batch": 1, "seq": 20, "image": [1000, 300]}]),
    "llava-next-small": ({"model_type": "llava_next", "architectures": ["LlavaNextForConditionalGeneration"], "image_grid_pinpoints": [[64, 128], [128, 64], [128, 128]], "text_config": {"model_type": "llama", **TEXT}, "vision_config": {"model_type": "clip_vision_model", **TOWER, "image_size": 64, "patch_size": 16}}, [{"batch": 1, "seq": 30, "image": [100, 37]}, {"batch": 2, "seq": 9, "image": [500, 480]}]),
    "llava-next-qwen": ({"model_type": "llava_next", "architectures": ["LlavaNextForConditionalGeneration"], "image_grid_pinpoints": [[90, 270], [90, 180]], "multimodal_projector_bias": False, "vision_feature_layer": -1, "text_config": {"model_type": "qwen2", **TEXT}, "vision_config": {"model_type": "clip_vision_model", **TOWER, "image_size": 90, "patch_size": 15}}, [{"batch": 1, "seq": 30, "image": [1, 1]}, {"batch": 3, "seq": 9, "image": [31, 90]}]),
    "llava-mistral": ({"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "tie_word_embeddings": True, "text_config": {"model_type": "mistral", **TEXT, "sliding_window": None}, "vision_config": {"model_type": "clip_vision_model", **TOWER, "image_size": 64, "patch_size": 16}}, IMAGES),
    "mistralai/Mistral-Small-3.1-24B-Instruct-2503": ({"model_type": "mistral3", "architectures": ["Mistral3ForConditionalGeneration"], "multimodal_projector_bias": False, "projector_hidden_act": "gelu", "spatial_merge_size": 2, "tie_word_embeddings": False, "text_config": {"model_type": "mistral", "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120, "intermediate_size": 32768, "max_position_embeddings": 131072, "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000000.0, "sliding_window": None, "vocab_size": 131072}, "torch_dtype": "bfloat16", "vision_config": {"head_dim": 64, "hidden_act": "silu", "hidden_size": 1024, "image_size": 1540, "intermediate_size": 4096, "model_type": "pixtral", "num_attention_heads": 16, "num_channels": 3, "num_hidden_layers": 24, "patch_size": 14, "rope_theta": 10000.0}, "vision_feature_layer": -1}, PIXELS),
    "mistral-community/pixtral-12b": ({"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "image_seq_length": 1, "projector_hidden_act": "gelu", "text_config": {"head_dim": 128, "hidden_size": 5120, "intermediate_size": 14336, "max_position_embeddings": 1024000, "model_type": "mistral", "num_hidden_layers": 40, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000000.0, "sliding_window": None, "vocab_size": 131072}, "torch_dtype": "bfloat16", "vision_config": {"head_dim": 64, "hidden_act": "silu", "image_size": 1024, "model_type": "pixtral", "patch_size": 16, "rope_theta": 10000.0}, "vision_feature_layer": -1, "vision_feature_select_strategy": "full"}, [{"batch": 1, "seq": 100, "image_height": 256, "image_width": 400}, {"batch": 1, "seq": 17, "image_height": 32, "image_width": 16}]),
    "mistral3-small": ({"model_type": "mistral3", "architectures": ["Mistral3ForConditionalGeneration"], "text_config": {"model_type": "mistral", **TEXT, "head_dim": 48}, "vision_config": {"model_type": "pixtral", **TOWER, "patch_size": 7}, "spatial_merge_size": 4}, PIXELS),
    "mistral3-inner": ({"model_type": "mistral3", "architectures": ["Mistral3ForConditionalGeneration"], "multimodal_projector_bias": True, "vision_feature_layer": -2, "text_config": {"model_type": "ministral", **TEXT, "head_dim": 32}, "vision_config": {"model_type": "pixtral", **TOWER, "patch_size": 14}, "spatial_merge_size": 1}, PIXELS),
    "OpenGVLab/InternVL3-1B-hf": ({"model_type": "internvl", "architectures": ["InternVLForConditionalGeneration"], "downsample_ratio": 0.5, "image_seq_length": 256, "projector_hidden_act": "gelu", "text_config": {"hidden_act": "silu", "hidden_size": 896, "intermediate_size": 4864, "max_position_embeddings": 32768, "model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "tie_word_embeddings": True, "torch_dtype": "bfloat16", "use_sliding_window": False, "vocab_size": 151674}, "torch_dtype": "bfloat16", "vision_config": {"attention_bias": True, "hidden_act": "gelu", "hidden_size": 1024, "image_size": [448, 448], "intermediate_size": 4096, "layer_scale_init_value": 0.1, "model_type": "internvl_vision", "norm_type": "layer_norm", "num_attention_heads": 16, "num_channels": 3, "num_hidden_layers": 24, "patch_size": [14, 14], "use_absolute_position_embeddings": True, "use_mask_token": False, "use_mean_pooling": True, "use_qk_norm": False}, "vision_feature_layer": -1, "vision_feature_select_strategy": "default"}, TILES),
    "internvl-small": ({"model_type": "internvl", "architectures": ["InternVLForConditionalGeneration"], "downsample_ratio": 0.25, "tie_word_embeddings": False, "text_config": {"model_type": "qwen3", **TEXT}, "vision_config": {**TOWER, "image_size": 64, "patch_size": 8, "use_qk_norm": True, "norm_type": "rms_norm", "use_mean_pooling": False}}, TILES),
    "internvl-inner": ({"model_type": "internvl", "architectures": ["InternVLForConditionalGeneration"], "downsample_ratio": 1.0, "vision_feature_layer": -2, "text_config": {"model_type": "llama", **TEXT}, "vision_config": {**TOWER, "image_size": 48, "patch_size": 16, "use_absolute_position_embeddings": False}}, TILES),
}


def grid_inputs(config, dims):
    """Patches of all images in one row, and the text with the images' tokens."""
    vision = config.vision_config
    n, merge = dims["batch"], vision.spatial_merge_size
    grid = [dims["grid_t"], dims["grid_h"], dims["grid_w"]]
    patches = grid[0] * grid[1] * grid[2]
    tokens = dims["seq"] + patches // merge**2
    return {
        "input_ids": torch.zeros(n, tokens, dtype=torch.long),
        "position_ids": torch.zeros(3, n, tokens, dtype=torch.long),
        "pixel_values": torch.zeros(n * patches, vision.in_channels * vision.temporal_patch_size * vision.patch_size**2),
        "image_grid_thw": torch.tensor([grid] * n, device="cpu"),
    }


def text_of(dims, tokens):
    return {"input_ids": torch.zeros(dims["batch"], dims["seq"] + tokens, dtype=torch.long)}


def square(vision):
    side = vision.image_size if isinstance(vision.image_size, int) else vision.image_size[0]
    patch = vision.patch_size if isinstance(vision.patch_size, int) else vision.patch_size[0]
    return side, side // patch


def image_inputs(config, dims):
    side, patches = square(config.vision_config)
    tokens = config.mm_tokens_per_image if config.model_type == "gemma3" else patches**2
    return {**text_of(dims, tokens), "pixel_values": torch.zeros(dims["batch"], 3, side, side)}


def anyres_sizes(config, image):
    """The sizes that transformers finds for an image of this height and width."""
    side, patches = square(config.vision_config)
    found = transformers.models.llava_next.modeling_llava_next
    tiles = found.image_size_to_num_patches(image, config.image_grid_pinpoints, side)
    rows, columns = (n * patches for n in found.get_anyres_image_grid_shape(image, config.image_grid_pinpoints, side))
    rows, columns = found.unpad_image(torch.zeros(1, rows, columns, device="meta"), image).shape[1:]
    return {"tiles": tiles, "image_rows": rows, "image_columns": columns}


def anyres_inputs(config, dims):
    side, patches = square(config.vision_config)
    image = dims.pop("image")
    dims.update(anyres_sizes(config, image))
    return {
        **text_of(dims, patches**2 + dims["image_rows"] * (dims["image_columns"] + 1)),
        "pixel_values": torch.zeros(dims["batch"], dims["tiles"], 3, side, side),
        "image_sizes": torch.tensor([image] * dims["batch"], device="cpu"),
    }


def pixel_inputs(config, dims):
    height, width, side = dims["image_height"], dims["image_width"], config.vision_config.patch_size * getattr(config, "spatial_merge_size", 1)
    return {
        **text_of(dims, (height // side) * (width // side)),
        "pixel_values": torch.zeros(dims["batch"], 3, height, width),
        "image_sizes": [(height, width)] * dims["batch"],
    }


def tile_inputs(config, dims):
    side, patches = square(config.vision_config)
    tokens = dims["tiles"] * int(patches * config.downsample_ratio) ** 2
    return {**text_of(dims, tokens), "pixel_values": torch.zeros(dims["batch"] * dims["tiles"], 3, side, side)}


INPUTS = {
    **dict.fromkeys(("qwen2_vl", "qwen2_5_vl", "qwen3_5", "qwen3_5_moe", "qwen3_vl", "qwen3_vl_moe"), grid_inputs),
    **dict.fromkeys(("gemma3", "llava"), image_inputs),
    "llava_next": anyres_inputs,
    "pixtral": pixel_inputs,
    "internvl": tile_inputs,
}


class OnCpu:
    """torch, but sizes that are looked at are on the CPU."""

    def __getattr__(self, name):
        return getattr(torch, name)

    @staticmethod
    def as_tensor(values, device=None):
        return torch.as_tensor(values, device="cpu")


def on_meta(module):
    """Numbers of grids are looked at, so they are on the CPU; what is computed with them is on the meta device."""
    # Looks at the number of image tokens in input_ids, which the meta device does not have.
    module.torch_compilable_check = lambda *_: None
    if hasattr(module, "Mistral3Model") or hasattr(module, "LlavaModel"):
        module.torch = OnCpu()
    # Look for the tokens of images, and for packed rows: neither multiplies.
    for name in ("Qwen3VLTextModel", "Qwen3VLMoeTextModel"):
        if hasattr(module, name):
            getattr(module, name)._deepstack_process = lambda self, hidden, *_: hidden
    transformers.masking_utils.find_packed_sequence_indices = lambda *_: None
    for name in ("get_vision_position_ids", "get_vision_window_index", "get_vision_interpolation_indices_and_weights"):
        if hasattr(module, name):
            usual = getattr(transformers.vision_utils, name)

            def placed(*given, usual=usual, **named):
                with torch.device("cpu"):
                    found = usual(*given, **named)
                return found.to("meta") if torch.is_tensor(found) else (found[0].to("meta"), *(x.to("meta") if x.is_floating_point() else x for x in found[1:]))

            setattr(module, name, placed)


def count(config_json, dims_list):
    config = AutoConfig.for_model(**{k: v for k, v in config_json.items() if k != "architectures"})
    config._attn_implementation = "eager"
    # Other forms of experts are no products to FlopCounterMode.
    getattr(config, "text_config", config)._experts_implementation = "batched_mm"
    points = []
    with torch.device("meta"):
        model = getattr(transformers, config_json["architectures"][0])(config).eval()
        on_meta(sys.modules[type(model).__module__])
        for dims in map(dict, dims_list):
            x = INPUTS.get(config.vision_config.model_type, INPUTS.get(config.model_type))(config, dims)
            counter = FlopCounterMode(display=False, depth=5)
            with torch.no_grad(), counter:
                model(**x, use_cache=False)
            root = type(model).__name__
            modules = {k[len(root):].lstrip("."): sum(v.values()) for k, v in counter.get_flop_counts().items() if k.startswith(root)}
            modules = {k: v for k, v in modules.items() if all(int(n) < LAYERS for n in re.findall(r"\.(\d+)", k))}
            points.append({"dims": dims, "flops": counter.get_total_flops(), "modules": modules})
    return {"config": config_json, "parameters": sum(p.numel() for p in model.parameters()), "points": points}


def images_of(name):
    """Images of any size: what each is cut into."""
    config_json, draw = CASES[name][0], random.Random(name)
    config = AutoConfig.for_model(**{k: v for k, v in config_json.items() if k != "architectures"})
    images = [[draw.randint(1, 2000), draw.randint(1, 2000)] for _ in range(100)]
    return [{"image": image, **anyres_sizes(config, image)} for image in images]


def main():
    out = {}
    for name in sys.argv[2:] or CASES:
        out[name] = count(*CASES[name])
        print(name, out[name]["parameters"], [p["flops"] for p in out[name]["points"]], flush=True)
    how = f"torch {torch.__version__}, transformers {transformers.__version__}, FlopCounterMode on the meta device, eager attention; see tools/export/vision_truth.py"
    images = {name: images_of(name) for name in out if "llava-next" in name or "v1.6" in name}
    write_models(f"{sys.argv[1]}/vision.json", how, out, images=images)


if __name__ == "__main__":
    main()
