#!/usr/bin/env python3
"""Figures that follow from published architectures by hand: 2 x MACs (`macs`), 6 N T (`config-6n`), 7.5 N T (`config-2.5n`) and other rules of thumb, written into
tests/data/compare_truth.json beside what tools printed. N are all parameters, T the tokens. No figure comes from a model file.

Usage: formula_truth.py [tests/data/compare_truth.json]
"""
import json
import sys


def block(tokens, width, hidden=None):
    """A transformer block: Q, K, V and output projections, an MLP (4 x width if not given), and the products QK' and PV."""
    return tokens * (4 * width**2 + 2 * width * (hidden or 4 * width)) + 2 * tokens**2 * width


def vit(size, patch, width, layers, out, hidden=None):
    """arXiv:2010.11929: patches, a class token, blocks, and a layer on the class token."""
    patches = (size // patch)**2
    return patches * 3 * patch**2 * width + layers * block(patches + 1, width, hidden) + width * out


def clip(image, text_width, text_layers, embed, logits=0):
    """arXiv:2103.00020, appendix F: text of 77 tokens; both towers end in an embedding."""
    return image + text_layers * block(77, text_width) + text_width * embed + logits


def resnet50():
    """arXiv:1512.03385, table 1, with the stride in the 3x3 layers, as torchvision has it."""
    macs, channels = 7 * 7 * 3 * 64 * 112**2, 64
    for width, blocks, size in ((64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)):
        for i in range(blocks):
            before = size if width == 64 or i > 0 else 2 * size
            macs += channels * width * before**2 + 9 * width**2 * size**2 + width * 4 * width * size**2
            macs += channels * 4 * width * size**2 if i == 0 else 0
            channels = 4 * width
    return macs + 2048 * 1000


def mobilenet_v3_large():
    """arXiv:1905.02244, table 1: kernel, expansion, output, squeeze-and-excite, stride. SE has a quarter of the channels, in steps of 8."""
    rows = ((3, 16, 16, 0, 1), (3, 64, 24, 0, 2), (3, 72, 24, 0, 1), (5, 72, 40, 24, 2), (5, 120, 40, 32, 1), (5, 120, 40, 32, 1), (3, 240, 80, 0, 2),
            (3, 200, 80, 0, 1), (3, 184, 80, 0, 1), (3, 184, 80, 0, 1), (3, 480, 112, 120, 1), (3, 672, 112, 168, 1), (5, 672, 160, 168, 2),
            (5, 960, 160, 240, 1), (5, 960, 160, 240, 1))
    size, channels = 112, 16
    macs = 9 * 3 * 16 * size**2
    for kernel, wide, out, squeeze, stride in rows:
        macs += channels * wide * size**2 if wide != channels else 0
        size //= stride
        macs += kernel**2 * wide * size**2 + 2 * wide * squeeze + wide * out * size**2
        channels = out
    return macs + 160 * 960 * size**2 + 960 * 1280 + 1280 * 1000


def language_model(tokens, vocabulary, positions, heads, batch=1, layers=12, width=768):
    """MACs and parameters of BERT base (arXiv:1810.04805) and GPT-2 small (Radford et al. 2019): their blocks are alike."""
    macs = batch * layers * block(tokens, width) + heads["macs"]
    params = (vocabulary + positions) * width + layers * (12 * width**2 + 13 * width) + 2 * width + heads["params"]
    return {"macs": macs, "params": params, "tokens": batch * tokens, "rules": rules_of_thumb(tokens, vocabulary, positions, layers, width, params, heads["looked_up"] * width)}


def rules_of_thumb(tokens, vocabulary, positions, layers, width, params, looked_up, heads=12):
    """FLOPs of a training step per token. PaLM, arXiv:2204.02311, appendix B; Megatron, arXiv:2205.05198, appendix; nanoGPT, model.py: estimate_mfu; Chinchilla,
    arXiv:2203.15556, appendix F; llm-foundry, scripts/train/benchmarking/README.md."""
    scores = 12 * layers * width * tokens
    chinchilla = layers * (2 * 3 * width**2 + 2 * tokens * width + 3 * heads * tokens + 2 * tokens * width + 2 * width**2 + 2 * (8 * width**2))
    # torchtitan, get_dense_model_nparams_and_flops; MaxText, calculate_tflops_training_per_device: as many heads of keys as of queries, an MLP of two
    # matrices, half of the scores; Megatron-Bridge, num_floating_point_operations, is the same for samples of one length.
    maxtext = 3 * (layers * (4 * width * 4 * width + 8 * width**2) + 2 * vocabulary * width) + scores // 2
    return {"torchtitan": 6 * (params - looked_up) + scores, "maxtext": maxtext, "megatron-bridge": maxtext,
            "palm": 6 * params + scores, "nanogpt": 6 * (params - positions * width) + scores, "llm-foundry": 6 * params + scores,
            "megatron": 72 * layers * width**2 + scores + 6 * vocabulary * width, "chinchilla": 3 * (2 * vocabulary * width + chinchilla + 2 * width * vocabulary)}


BERT = language_model(128, 30522, 512 + 2, {"macs": 768**2, "params": 768**2 + 768, "looked_up": 30522 + 512 + 2})
GPT2 = language_model(128, 50257, 1024, {"macs": 128 * 768 * 50257, "params": 0, "looked_up": 1024})  # the head is the table of tokens
GPT_BOOK = language_model(1024, 50257, 1024, {"macs": 2048 * 768 * 50257, "params": 50257 * 768, "looked_up": 50257 + 1024}, batch=2)
L_14_336, H_14, E_14 = vit(336, 14, 1024, 24, 768), vit(224, 14, 1280, 32, 1024), vit(224, 14, 1792, 64, 1024, hidden=15360)
B_32 = vit(224, 32, 768, 12, 512)

MODELS = {  # by the name of the export up to the first dot
    "bert_base": BERT, "bert_base_eager": BERT, "gpt2_hf": GPT2, "rasbt_gpt_124m": GPT_BOOK,
    "hf_clip_vit_l_14_336": {"macs": clip(L_14_336, 768, 12, 768, logits=768)},
    "hf_clip_vit_l_14_336_eager": {"macs": clip(L_14_336, 768, 12, 768, logits=768)},
    "openclip_vit_l_14_336": {"macs": clip(L_14_336, 768, 12, 768)}, "openclip224_vit_l_14_336": {"macs": clip(L_14_336, 768, 12, 768)},
    "openclip224_vit_l_14_336_visual": {"macs": L_14_336},
    "openclip_vit_h_14": {"macs": clip(H_14, 1024, 24, 1024)}, "openclip224_vit_h_14": {"macs": clip(H_14, 1024, 24, 1024)},
    "openclip224_vit_h_14_visual": {"macs": H_14},
    "openclip224_eva02_e_14": {"macs": clip(E_14, 1024, 24, 1024)}, "openclip224_eva02_e_14_visual": {"macs": E_14},
    "openclip_vit_b_32": {"macs": clip(B_32, 512, 12, 512)}, "openclip_vit_b_32_visual": {"macs": B_32},
    "vit_b_16": {"macs": vit(224, 16, 768, 12, 1000)}, "resnet50": {"macs": resnet50()}, "mobilenet_v3_large": {"macs": mobilenet_v3_large()},
}

PUBLISHED = [  # what, ours, as published: open_clip's docs/model_profile.csv (GFLOPs), torchvision's weights (GMACs), model cards (parameters)
    ("ViT-L-14-336", 2 * MODELS["openclip_vit_l_14_336"]["macs"] / 1e9, 395.22), ("ViT-H-14", 2 * MODELS["openclip_vit_h_14"]["macs"] / 1e9, 381.68),
    ("ViT-B-32", 2 * MODELS["openclip_vit_b_32"]["macs"] / 1e9, 14.78), ("EVA02-E-14", 2 * MODELS["openclip224_eva02_e_14"]["macs"] / 1e9, 2311.42),
    ("ViT-B/16", MODELS["vit_b_16"]["macs"] / 1e9, 17.56), ("ResNet-50", resnet50() / 1e9, 4.09), ("MobileNetV3", mobilenet_v3_large() / 1e9, 0.22),
    ("BERT base", BERT["params"], 109482240), ("GPT-2", GPT2["params"], 124439808), ("GPT of the book", GPT_BOOK["params"], 163037184),
]


def figures(model):
    if "params" not in model:
        return {"macs": 2 * model["macs"], **dict.fromkeys(("config-6n", "config-2.5n", "palm", "nanogpt", "llm-foundry", "megatron", "chinchilla", "torchtitan", "maxtext", "megatron-bridge"), "none")}
    tokens = model["params"] * model["tokens"]
    rules = {name: flops * model["tokens"] for name, flops in model["rules"].items()}
    return {"macs": 2 * model["macs"], "config-6n": 6 * tokens, "config-2.5n": 15 * tokens // 2, **rules}


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "tests/data/compare_truth.json"
    for name, ours, published in PUBLISHED:
        assert round(ours, 2) == published, (name, ours, published)
    with open(path, encoding="utf-8") as file:
        truth = json.load(file)
    for export, tools in truth.items():
        model = MODELS.get(export.split(".")[0])
        if model is not None:
            tools.update(figures(model))
    lines = [f"  {json.dumps(export)}: {json.dumps(tools)}" for export, tools in truth.items()]
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
