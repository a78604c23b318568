"""What transformers executes for configurations drawn by chance, of every family: parameters, forward FLOPs (2 x MACs) by torch's FlopCounterMode, and the bytes that a step of decoding leaves in its cache.

  python3 tools/export/config_draw.py tests/data/config [SEED]      (torch 2.15.0, transformers 5.24.0)

Writes drawn.json as config_truth.py writes more.json: three configurations of each family, small enough to run on the CPU. A point with "past" has "cache_bytes" behind it. SigLIP 2 is not drawn: since 5.24.0 transformers resizes its table of positions by a matrix product, which is not in the graph.
"""
import copy
import random
import sys
import warnings

warnings.filterwarnings("ignore")
import torch
import transformers
from config_truth import inputs_of
from model_lines import write_models
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, DynamicCache

FOLDER = sys.argv[1]
R = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 21)


def flip(p=0.5): return R.random() < p
def maybe(d, k, *v, p=0.5):
    if flip(p): d[k] = R.choice(v)
def heads(d, hk="num_attention_heads", wk="hidden_size", dims=(8, 12, 16), even=True):
    h = R.choice([2, 3, 4, 5, 6]); d[hk] = h; d[wk] = h * R.choice(dims); return h
def dec(kind, arch, kv=True, hd=True, **extra):
    d = {"model_type": kind, "architectures": [R.choice([arch + "ForCausalLM"] * 3 + [(arch + "Model").replace("Gemma3M", "Gemma3TextM")])], "vocab_size": R.randint(90, 200), "num_hidden_layers": R.randint(1, 5), "intermediate_size": R.randint(40, 120), "max_position_embeddings": 256, "pad_token_id": 0}
    h = heads(d)
    if kv: d["num_key_value_heads"] = R.choice([k for k in range(1, h + 1) if h % k == 0])
    if hd and flip(): d["head_dim"] = R.choice([8, 14, 16])
    maybe(d, "tie_word_embeddings", True, False)
    maybe(d, "hidden_act", "silu", "gelu", "relu")
    d.update(extra)
    return d
def window(d):
    if flip(0.75): d["sliding_window"] = R.choice([3, 4, 5, 9, 17, 64])
    return d
def types(d, p=0.6):
    if flip(p): d["layer_types"] = [R.choice(["full_attention", "sliding_attention"]) for _ in range(d["num_hidden_layers"])]
    return d
def bert(kind, prefix):
    d = {"model_type": kind, "architectures": [prefix + R.choice(["ForMaskedLM"] * 3 + ["Model", "ForSequenceClassification"])], "vocab_size": R.randint(90, 200), "num_hidden_layers": R.randint(1, 4), "intermediate_size": R.randint(40, 120), "max_position_embeddings": R.choice([64, 100, 256])}
    heads(d); maybe(d, "tie_word_embeddings", True, False, p=0.8); maybe(d, "hidden_act", "gelu", "relu", "gelu_new", "silu"); maybe(d, "type_vocab_size", 1, 2, 5); maybe(d, "num_labels", 2, 3, 7)
    if kind != "bert": d["pad_token_id"] = 1
    return d
def enc(extra=None):
    d = {"num_hidden_layers": R.randint(1, 4), "intermediate_size": R.randint(40, 120)}
    heads(d); d.update(extra or {}); return d
def vis(d, sizes=(32, 48, 50), patches=(8, 16)):
    d["image_size"] = R.choice(sizes); d["patch_size"] = R.choice(patches); return d
def text(d):
    d["vocab_size"] = R.randint(90, 200); d["max_position_embeddings"] = R.choice([20, 40]); return d
def clip(kind):
    t = text(enc()); t["eos_token_id"] = 5; v = vis(enc()); maybe(t, "hidden_act", "gelu", "quick_gelu")
    if kind == "clip": return {"model_type": kind, "architectures": ["CLIPModel"], "projection_dim": R.randint(10, 60), "text_config": t, "vision_config": v}
    if kind == "clip_text_model": return {"model_type": kind, "architectures": [R.choice(["CLIPTextModel", "CLIPTextModelWithProjection"])], "projection_dim": R.randint(10, 60), **t}
    return {"model_type": kind, "architectures": [R.choice(["CLIPVisionModel", "CLIPVisionModelWithProjection"])], "projection_dim": R.randint(10, 60), **v}
def siglip(kind):
    t, v = text(enc()), vis(enc())
    if flip(): w = R.choice([32, 48]); t["hidden_size"] = v["hidden_size"] = w; t["num_attention_heads"] = v["num_attention_heads"] = 4
    S = "Siglip2" if "2" in kind else "Siglip"
    if kind == "siglip":
        if t["hidden_size"] != v["hidden_size"]: t["projection_size"] = v["hidden_size"]
        return {"model_type": kind, "architectures": [S + "Model"], "text_config": t, "vision_config": v}
    if "text" in kind:
        maybe(t, "projection_size", 20, 30)
        return {"model_type": kind, "architectures": [S + "TextModel"], **t}
    if flip(0.3): v["vision_use_head"] = False
    return {"model_type": kind, "architectures": [S + "VisionModel"], **v}
def blip(kind):
    t, v = text(enc()), vis(enc())
    if kind == "blip_text_model":
        maybe(t, "is_decoder", True, False); maybe(t, "encoder_hidden_size", 24, 40)
        return {"model_type": kind, "architectures": ["BlipTextModel"], **t}
    if kind == "blip_vision_model": return {"model_type": kind, "architectures": ["BlipVisionModel"], **v}
    arch = R.choice(["BlipModel", "BlipForConditionalGeneration", "BlipForConditionalGeneration"])
    t["encoder_hidden_size"] = v["hidden_size"]
    if arch == "BlipModel": t["is_decoder"] = R.choice([True, False])
    elif flip(): t["tie_word_embeddings"] = R.choice([True, False])
    d = {"model_type": kind, "architectures": [arch], "text_config": t, "vision_config": v, "projection_dim": R.randint(10, 60)}
    maybe(d, "tie_word_embeddings", True, False)
    return d
def moe_ds(kind, arch):
    d = dec(kind, arch, kv=False, hd=False)
    d["num_key_value_heads"] = d["num_attention_heads"]
    d.update({"moe_intermediate_size": R.randint(20, 50), "n_shared_experts": R.choice([1, 2]), "n_routed_experts": R.choice([4, 8]), "num_experts_per_tok": R.choice([1, 2, 3]), "first_k_dense_replace": R.choice([0, 1, 2]), "kv_lora_rank": R.choice([12, 20]), "q_lora_rank": R.choice([None, 16, 24]), "qk_nope_head_dim": R.choice([8, 12]), "qk_rope_head_dim": R.choice([4, 8]), "v_head_dim": R.choice([8, 10]), "n_group": 2, "topk_group": R.choice([1, 2])})
    if kind == "deepseek_v3": d["num_experts_per_tok"] = 2
    return d
def t5(kind):
    d = {"model_type": kind, "architectures": ["T5ForConditionalGeneration" if kind == "t5" else "MT5ForConditionalGeneration"], "d_model": R.randint(20, 60), "d_kv": R.choice([8, 12]), "d_ff": R.randint(30, 99), "num_layers": R.randint(1, 3), "num_heads": R.choice([2, 3]), "vocab_size": R.randint(90, 200)}
    maybe(d, "num_decoder_layers", 1, 2, 4); maybe(d, "feed_forward_proj", "relu", "gated-gelu"); maybe(d, "tie_word_embeddings", True, False); return d
def whisper():
    e, dd = R.choice([2, 3, 4]), R.choice([2, 4]); w = 12 * R.choice([1, 2, 4])
    d = {"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "d_model": w, "encoder_layers": R.randint(1, 3), "decoder_layers": R.randint(1, 3), "encoder_attention_heads": e, "decoder_attention_heads": dd, "encoder_ffn_dim": R.randint(30, 90), "decoder_ffn_dim": R.randint(30, 90), "vocab_size": R.randint(90, 200), "num_mel_bins": R.choice([40, 80]), "max_source_positions": R.choice([50, 100]), "pad_token_id": 1, "bos_token_id": 1, "eos_token_id": 1, "decoder_start_token_id": 1, "max_target_positions": 64}
    maybe(d, "tie_word_embeddings", True, False); return d
def gpt2():
    h = R.choice([2, 3, 4]); d = {"model_type": "gpt2", "architectures": [R.choice(["GPT2LMHeadModel", "GPT2Model"])], "n_embd": h * R.choice([8, 12]), "n_head": h, "n_layer": R.randint(1, 4), "n_positions": 256, "vocab_size": R.randint(90, 200)}
    maybe(d, "n_inner", 50, 77); maybe(d, "tie_word_embeddings", True, False); maybe(d, "activation_function", "relu", "gelu_new", "gelu"); return d
def neox():
    d = dec("gpt_neox", "GPTNeoX", kv=False, hd=False); d["hidden_size"] = d["num_attention_heads"] * 16
    d["rotary_pct"] = R.choice([0.25, 0.5, 1.0]); maybe(d, "use_parallel_residual", True, False); maybe(d, "attention_bias", True, False); return d
def phi():
    d = dec("phi", "Phi", hd=False); d["hidden_size"] = d["num_attention_heads"] * 16; d["partial_rotary_factor"] = R.choice([0.25, 0.5]); maybe(d, "qk_layernorm", True, False); return d
def distil():
    d = {"model_type": "distilbert", "architectures": [R.choice(["DistilBertForMaskedLM"] * 2 + ["DistilBertModel", "DistilBertForSequenceClassification"])], "vocab_size": R.randint(90, 200), "n_layers": R.randint(1, 3), "hidden_dim": R.randint(30, 90), "max_position_embeddings": 100}
    heads(d, "n_heads", "dim"); maybe(d, "tie_word_embeddings", True, False, p=.8); maybe(d, "activation", "gelu", "relu"); maybe(d, "num_labels", 2, 5); return d
def dino():
    d = {"model_type": "dinov2", "architectures": ["Dinov2Model"], "num_hidden_layers": R.randint(1, 3), "mlp_ratio": R.choice([2, 4]), "image_size": R.choice([56, 70]), "patch_size": R.choice([7, 14])}
    heads(d); maybe(d, "use_swiglu_ffn", True, False); maybe(d, "num_labels", 3, 5); return d
def vit(kind):
    P = "ViT" if kind == "vit" else "DeiT"
    d = {"model_type": kind, "architectures": [P + R.choice(["Model", "ForImageClassification"] + (["ForImageClassificationWithTeacher"] if kind == "deit" else []))], **vis(enc())}
    maybe(d, "qkv_bias", True, False); maybe(d, "num_labels", 3, 5); maybe(d, "hidden_act", "gelu", "relu")
    if flip(0.3): d["pooler_output_size"] = d["hidden_size"]
    return d
def llava():
    d = {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "vision_feature_layer": R.choice([-1, -2]), "vision_feature_select_strategy": R.choice(["full", "default"]), "image_token_index": 3, "text_config": dec("llama", "Llama"), "vision_config": {"model_type": "clip_vision_model", **vis(enc())}}
    d["text_config"].pop("architectures"); d["vision_config"]["num_hidden_layers"] = R.randint(2, 4); return d
def gem(kind, arch):
    d = dec(kind, arch); d.pop("hidden_act", None); maybe(d, "hidden_activation", "gelu_pytorch_tanh", "relu")
    d.setdefault("head_dim", 8)
    if kind != "gemma": types(window(d))
    maybe(d, "attention_bias", True, False)
    if kind == "gemma2": maybe(d, "attn_logit_softcapping", None, 30.0); maybe(d, "final_logit_softcapping", None, 10.0)
    return d
def qwenm():
    d = dec("qwen3_moe", "Qwen3Moe"); d.setdefault("head_dim", 8)
    d.update({"moe_intermediate_size": R.randint(20, 50), "num_experts": R.choice([4, 6]), "num_experts_per_tok": R.choice([1, 2, 3]), "decoder_sparse_step": R.choice([1, 2]), "mlp_only_layers": R.choice([[], [0], [1]])})
    if flip(): d["use_sliding_window"] = True; window(d)
    return d
def qwen(kind, arch):
    d = dec(kind, arch)
    if kind == "qwen3": d.setdefault("head_dim", 8); maybe(d, "attention_bias", True, False)
    if flip(0.7): d["use_sliding_window"] = True; window(d); types(d, .4)
    if flip(): d["max_window_layers"] = R.randint(0, 4)
    return d
DRAW = {"bert": lambda: bert("bert", "Bert"), "roberta": lambda: bert("roberta", "Roberta"), "xlm-roberta": lambda: bert("xlm-roberta", "XLMRoberta"), "distilbert": distil,
 "blip": lambda: blip("blip"), "blip_text_model": lambda: blip("blip_text_model"), "blip_vision_model": lambda: blip("blip_vision_model"),
 **{k: (lambda k=k: clip(k)) for k in ("clip", "clip_text_model", "clip_vision_model")}, **{k: (lambda k=k: siglip(k)) for k in ("siglip", "siglip_text_model", "siglip2_text_model", "siglip_vision_model")},
 "deepseek_v2": lambda: moe_ds("deepseek_v2", "DeepseekV2"), "deepseek_v3": lambda: moe_ds("deepseek_v3", "DeepseekV3"), "vit": lambda: vit("vit"), "deit": lambda: vit("deit"), "dinov2": dino,
 "gemma": lambda: gem("gemma", "Gemma"), "gemma2": lambda: gem("gemma2", "Gemma2"), "gemma3_text": lambda: gem("gemma3_text", "Gemma3"), "gpt2": gpt2, "gpt_neox": neox, "phi": phi, "phi3": lambda: window(dec("phi3", "Phi3", hd=False)),
 "llama": lambda: {**dec("llama", "Llama"), **({"attention_bias": True} if flip() else {}), **({"mlp_bias": True} if flip() else {})}, "mistral": lambda: types(window(dec("mistral", "Mistral")), 0.0), "mixtral": lambda: window(dec("mixtral", "Mixtral", num_local_experts=R.choice([4, 5]), num_experts_per_tok=R.choice([1, 2, 3]))),
 "qwen2": lambda: qwen("qwen2", "Qwen2"), "qwen3": lambda: qwen("qwen3", "Qwen3"), "qwen3_moe": qwenm, "t5": lambda: t5("t5"), "mt5": lambda: t5("mt5"), "whisper": whisper, "llava": llava}
# Drawn after all others, so that these stay what they are.
def biased(d, *keys):
    for key in keys: maybe(d, key, True, False)
    return d
def experts(d, **extra):
    d.update({"num_experts": R.choice([4, 6]), "num_experts_per_tok": R.choice([1, 2, 3]), "norm_topk_prob": flip(), **extra}); return d
def exaone():
    d = dec("exaone4", "Exaone4")
    if flip(0.3): return {**d, "sliding_window": None, "layer_types": ["full_attention"] * d["num_hidden_layers"]}
    maybe(d, "sliding_window_pattern", 2, 3); return types(window(d), 0.4)
def glm(kind, arch):
    d = biased(dec(kind, arch, hd=False), "attention_bias"); d["head_dim"] = R.choice([8, 12, 16]); maybe(d, "partial_rotary_factor", 0.5, 1.0); return d
def glm_moe():
    return {**glm("glm4_moe", "Glm4Moe"), "moe_intermediate_size": R.randint(20, 50), "n_routed_experts": R.choice([4, 8]), "n_shared_experts": R.choice([1, 2]), "num_experts_per_tok": R.choice([1, 2, 3]), "first_k_dense_replace": R.choice([0, 1, 2]), "use_qk_norm": flip(), "n_group": 2, "topk_group": R.choice([1, 2])}
def granite():
    return {**biased(dec("granite", "Granite"), "attention_bias", "mlp_bias"), "residual_multiplier": 0.22, "embedding_multiplier": 12.0}
def ministral():
    d = dec("ministral", "Ministral"); d.setdefault("head_dim", 8); return types(window(d))
def qwen2m():
    d = experts(dec("qwen2_moe", "Qwen2Moe"), moe_intermediate_size=R.randint(20, 50), shared_expert_intermediate_size=R.randint(20, 60), decoder_sparse_step=R.choice([1, 2]), mlp_only_layers=R.choice([[], [0], [1]]))
    maybe(d, "qkv_bias", True, False)
    if flip(): d["use_sliding_window"] = True; types(window(d), 0.4); maybe(d, "max_window_layers", 1, 3)
    return d
def smollm():
    d = biased(dec("smollm3", "SmolLM3"), "attention_bias", "mlp_bias")
    if flip(): d["no_rope_layers"] = [R.choice([0, 1]) for _ in range(d["num_hidden_layers"])]
    if flip(): d["use_sliding_window"] = True; types(window(d), 0.4)
    return d
DRAW.update({"arcee": lambda: biased(dec("arcee", "Arcee"), "attention_bias", "mlp_bias"), "ernie4_5": lambda: biased(dec("ernie4_5", "Ernie4_5"), "use_bias"), "exaone4": exaone, "glm": lambda: glm("glm", "Glm"), "glm4": lambda: glm("glm4", "Glm4"),
 "glm4_moe": glm_moe, "granite": granite, "hunyuan_v1_dense": lambda: {"head_dim": 8, **biased(dec("hunyuan_v1_dense", "HunYuanDenseV1"), "attention_bias")}, "ministral": ministral, "olmo2": lambda: biased(dec("olmo2", "Olmo2"), "attention_bias"), "olmo3": lambda: types(window(dec("olmo3", "Olmo3"))),
 "olmoe": lambda: experts(biased(dec("olmoe", "Olmoe", hd=False), "attention_bias")), "qwen2_moe": qwen2m, "seed_oss": lambda: biased(dec("seed_oss", "SeedOss"), "attention_bias", "attention_out_bias", "mlp_bias"), "smollm3": smollm})
# And after those.
def of_experts(d, **extra):
    return {**d, "num_local_experts": R.choice([4, 6]), "num_experts_per_tok": R.choice([1, 2, 3]), **extra}
def gpt_oss():
    d = types(window(biased(dec("gpt_oss", "GptOss"), "attention_bias"))); d.setdefault("head_dim", 8); return of_experts(d)
def minimax():
    d = dec("minimax_m2", "MiniMaxM2"); d["head_dim"] = R.choice([8, 16]); maybe(d, "rotary_dim", 4, 8); return of_experts(d)
def dots():
    d = biased(types(window(dec("dots1", "Dots1")), 0.4), "attention_bias"); maybe(d, "max_window_layers", 0, 1, 2)
    return {**d, "moe_intermediate_size": R.randint(20, 50), "n_routed_experts": R.choice([4, 8]), "n_shared_experts": R.choice([1, 2]), "num_experts_per_tok": R.choice([1, 2, 3]), "first_k_dense_replace": R.choice([0, 1, 2]), "norm_topk_prob": flip()}
def ernie_moe():
    d = biased(dec("ernie4_5_moe", "Ernie4_5_Moe"), "use_bias"); maybe(d, "moe_layer_start_index", 0, 1, 2); maybe(d, "moe_layer_end_index", 1, 3, -1); maybe(d, "moe_layer_interval", 2, 3)
    return {**d, "moe_intermediate_size": R.randint(20, 50), "moe_num_experts": R.choice([4, 6]), "moe_k": R.choice([1, 2, 3]), "moe_num_shared_experts": R.choice([0, 1, 2])}
def cohere2():
    d = biased(dec("cohere2", "Cohere2", hd=False), "attention_bias"); d["sliding_window"] = R.choice([3, 5, 9, 17]); maybe(d, "sliding_window_pattern", 2, 3); return types(d, 0.4)
def part(d, hd, *parts):
    d["hidden_size"] = d["num_attention_heads"] * R.choice([8, 16])
    if hd and flip(): d["head_dim"] = R.choice([8, 16])
    maybe(d, "partial_rotary_factor", *parts); return d
def falcon():
    d = {"model_type": "falcon", "architectures": [R.choice(["FalconForCausalLM"] * 3 + ["FalconModel"])], "vocab_size": R.randint(90, 200), "num_hidden_layers": R.randint(1, 5), "max_position_embeddings": 256}
    heads(d); maybe(d, "ffn_hidden_size", 50, 77); maybe(d, "activation", "gelu", "relu"); return biased(d, "alibi", "bias", "multi_query", "parallel_attn", "tie_word_embeddings")
def bloom():
    d = {"model_type": "bloom", "architectures": [R.choice(["BloomForCausalLM"] * 3 + ["BloomModel"])], "vocab_size": R.randint(90, 200), "n_layer": R.randint(1, 5)}
    heads(d, "n_head"); return biased(d, "tie_word_embeddings")
def lite():
    d = biased(moe_ds("glm4_moe_lite", "Glm4MoeLite"), "attention_bias")
    if flip(): d["mlp_layer_types"] = [R.choice(["dense", "sparse"]) for _ in range(d["num_hidden_layers"])]
    return d
def ministral3():
    d = window(dec("ministral3", "Ministral3")); d.setdefault("head_dim", 8); return d
DRAW.update({"gpt_oss": gpt_oss, "minimax_m2": minimax, "dots1": dots, "ernie4_5_moe": ernie_moe, "granitemoe": lambda: {**of_experts(biased(dec("granitemoe", "GraniteMoe"), "attention_bias")), "residual_multiplier": 0.22, "logits_scaling": 6.0}, "starcoder2": lambda: window(biased(dec("starcoder2", "Starcoder2"), "use_bias")),
 "cohere": lambda: biased(dec("cohere", "Cohere"), "attention_bias", "use_qk_norm"), "cohere2": cohere2, "stablelm": lambda: part(biased(dec("stablelm", "StableLm", hd=False), "use_qkv_bias", "qk_layernorm", "use_parallel_residual"), False, 0.25, 0.5), "nemotron": lambda: {"hidden_act": "relu2", **part(biased(dec("nemotron", "Nemotron", hd=False), "attention_bias", "mlp_bias"), True, 0.25, 1.0)}, "falcon": falcon, "bloom": bloom, "glm4_moe_lite": lite, "ministral3": ministral3})
CAUSAL = {"arcee", "bloom", "cohere", "cohere2", "deepseek_v2", "deepseek_v3", "dots1", "ernie4_5", "ernie4_5_moe", "exaone4", "falcon", "gemma", "gemma2", "gemma3_text", "glm", "glm4", "glm4_moe", "glm4_moe_lite", "gpt2", "gpt_neox", "gpt_oss", "granite", "granitemoe", "hunyuan_v1_dense", "llama", "minimax_m2", "ministral", "ministral3", "mistral", "mixtral", "nemotron", "olmo2", "olmo3", "olmoe", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss", "smollm3", "stablelm", "starcoder2"}
IMAGES = {"vit", "deit", "dinov2", "clip_vision_model", "siglip_vision_model", "blip_vision_model"}


# Below, at and above a window.
def points(kind, c):
    if kind == "llava":
        return []
    if kind in IMAGES:
        return [{"batch": 1}, {"batch": 3}]
    rows = [{"batch": 1, "seq": 16}, {"batch": 3, "seq": 11}]
    if kind in CAUSAL:
        w = c.get("sliding_window") or 9
        rows += [{"batch": 2, "seq": s, "past": p} for s, p in ((1, w - 2), (1, w - 1), (1, w), (5, max(1, w - 3)), (4, 100))]
    return rows


def count(c):
    kind = c["model_type"]
    config = AutoConfig.for_model(**{k: v for k, v in copy.deepcopy(c).items() if k != "architectures"})
    config._attn_implementation = "eager"
    if "moe" in kind or kind in ("mixtral", "deepseek_v2", "deepseek_v3", "dots1", "gpt_oss", "minimax_m2"):
        config._experts_implementation = "batched_mm"
    model = getattr(transformers, c["architectures"][0])(config).eval()
    rows = []
    for dims in points(kind, c):
        x, row = inputs_of(config, model, dims), {"dims": dict(dims)}
        if "past" in dims:
            cache = DynamicCache(config=config)
            model(input_ids=torch.ones(dims["batch"], dims["past"], dtype=torch.long), past_key_values=cache, use_cache=True)
            x["past_key_values"] = cache
        elif kind in CAUSAL or kind in ("t5", "mt5", "whisper"):
            x["use_cache"] = False
        with FlopCounterMode(display=False) as counter:
            model(**x)
        row["flops"] = counter.get_total_flops()
        if "past" in dims:
            row["cache_bytes"] = sum(4 * (layer.keys.numel() + layer.values.numel()) for layer in cache.layers)
        if kind in ("t5", "mt5"):
            row["dims"]["decoder_seq"] = dims["seq"]
        rows.append({**row, "modules": {}})
    return {"config": c, "parameters": sum(p.numel() for p in model.parameters()), "points": rows}


def main():
    out = {}
    with torch.no_grad():
        for kind, draw in DRAW.items():
            for i in range(3):
                out[f"{kind}-{i}"] = count(draw())
    how = f"torch {torch.__version__}, transformers {transformers.__version__}, FlopCounterMode on the CPU, eager attention, batched_mm experts; see tools/export/config_draw.py"
    write_models(f"{FOLDER}/drawn.json", how, out)


main()
