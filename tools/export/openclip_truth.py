"""What open_clip executes for its own configurations: forward FLOPs (2 x MACs) of one image and one text by torch's FlopCounterMode on tensors of device meta.

  pip install open_clip_torch==3.3.0;  python3 tools/export/openclip_truth.py tests/data/config/open_clip.json

Towers of timm and transformers, and CoCa, are left out: src/family/open_clip.cc does not know them.
"""
import json
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
import open_clip
import torch
from torch.utils.flop_counter import FlopCounterMode


def count(name, config):
    vision, text = config["vision_cfg"], config["text_cfg"]
    with torch.device("meta"):
        model = open_clip.create_model(name, device="meta").eval()
        size = vision.get("image_size", 224)
        image, words = torch.rand(1, 3, size, size), torch.ones(1, text.get("context_length", 77), dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model(image, words)
    parameters = sum(p.numel() for p in model.parameters())
    return {"config": config, "parameters": parameters, "points": [{"dims": {"batch": 1}, "flops": counter.get_total_flops(), "modules": {}}]}


def main():
    models = {}
    for path in sorted((pathlib.Path(open_clip.__file__).parent / "model_configs").glob("*.json")):
        config = json.loads(path.read_text())
        if "timm_model_name" in config["vision_cfg"] or "hf_model_name" in config["text_cfg"] or "multimodal_cfg" in config:
            continue
        models[path.stem] = count(path.stem, config)
        print(path.stem, models[path.stem]["parameters"], models[path.stem]["points"][0]["flops"], flush=True)
    how = f"open_clip {open_clip.__version__}, torch {torch.__version__}, FlopCounterMode on device meta; see tools/export/openclip_truth.py"
    with open(sys.argv[1], "w") as file:
        json.dump({"how": how, "models": models}, file, indent=1)
        file.write("\n")


main()
