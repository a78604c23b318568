"""What open_clip executes for its own configurations: forward FLOPs (2 x MACs) of one image and one text by torch's FlopCounterMode on tensors of device meta, in all and of each tower.

  pip install open_clip_torch==3.3.0 timm==1.0.31 transformers==5.23.0;  python3 tools/export/openclip_truth.py tests/data/config/open_clip.json

The models of transformers that configurations name are made of the configurations that the hub has under these names, which stand below. Configurations that src/family does not know are
listed with the key that says so ("unsupported").
"""
import json
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
import open_clip
import open_clip.hf_model
import timm
import torch
import transformers
from model_lines import write_models
from torch.utils.flop_counter import FlopCounterMode

XLM = {"vocab_size": 250002, "max_position_embeddings": 514, "type_vocab_size": 1}
MT5 = {"feed_forward_proj": "gated-gelu", "vocab_size": 250112, "d_kv": 64, "tie_word_embeddings": False}
HUB = {
    "roberta-base": transformers.RobertaConfig(vocab_size=50265, max_position_embeddings=514, type_vocab_size=1),
    "xlm-roberta-base": transformers.XLMRobertaConfig(**XLM),
    "xlm-roberta-large": transformers.XLMRobertaConfig(hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16, **XLM),
    "google/mt5-base": transformers.MT5Config(d_model=768, d_ff=2048, num_layers=12, num_heads=12, **MT5),
    "google/mt5-xl": transformers.MT5Config(d_model=2048, d_ff=5120, num_layers=24, num_heads=32, **MT5),
}
UNKNOWN = ("fastvit_", "vitamin_", "swin_", "vit_relpos_", "vit_base_mci_")


def without_hub():
    model = open_clip.hf_model.AutoModel
    open_clip.hf_model.AutoConfig.from_pretrained = lambda name, **_: HUB[name]
    model.from_pretrained = lambda name, **options: model.from_config(HUB[name], **options)
    # It looks at the content of masks, which tensors of device meta have none of; no product depends on it.
    transformers.masking_utils._ignore_bidirectional_mask_sdpa = lambda *_, **__: False


def unknown(config):
    """The key of an unsupported setting, and its value."""
    tower, text = config["vision_cfg"].get("timm_model_name", ""), config["text_cfg"].get("hf_model_name")
    if tower.startswith(UNKNOWN):
        return f"vision_cfg.timm_model_name is '{tower}'"
    return None if text is None or text in HUB else f"text_cfg.hf_model_name is '{text}'"


def count(name, config):
    vision, text = config["vision_cfg"], config["text_cfg"]
    with torch.device("meta"):
        model = open_clip.create_model(name, device="meta").eval()
        size = vision.get("image_size", 224)
        image, words = torch.rand(1, 3, size, size), torch.ones(1, text.get("context_length", 77), dtype=torch.long)
        with FlopCounterMode(display=False, depth=2) as counter:
            model(image, words)
    root = type(model).__name__ + "."
    modules = {path[len(root):]: sum(flops.values()) for path, flops in counter.get_flop_counts().items() if path[len(root):] in ("visual", "text", "text_decoder")}
    parameters = sum(p.numel() for p in model.parameters())
    return {"config": config, "parameters": parameters, "points": [{"dims": {"batch": 1}, "flops": counter.get_total_flops(), "modules": modules}]}


def main():
    without_hub()
    models, unsupported = {}, {}
    for path in sorted((pathlib.Path(open_clip.__file__).parent / "model_configs").glob("*.json")):
        config = json.loads(path.read_text())
        if why := unknown(config):
            unsupported[path.stem] = {"config": config, "error": why}
            continue
        models[path.stem] = count(path.stem, config)
        print(path.stem, models[path.stem]["parameters"], models[path.stem]["points"][0]["flops"], flush=True)
    how = f"open_clip {open_clip.__version__}, timm {timm.__version__}, torch {torch.__version__}, transformers {transformers.__version__}, FlopCounterMode on device meta; see tools/export/openclip_truth.py"
    write_models(sys.argv[1], how, models, unsupported=unsupported)


main()
