"""What transformers executes for audio of different lengths, by torch's FlopCounterMode without weights.

  python3 tools/export/audio_truth.py tests/data/config      (torch 2.15.0, transformers 5.24.0)

Writes audio.json: the frames that WhisperFeatureExtractor makes of so many seconds; the FLOPs of a chunk of 30 s with so many tokens,
each in a run of its own, of two whole batches; and, for what padding costs, those of an encoder of so many frames alone, which
has that many positions: a Whisper refuses fewer frames than it has positions for.
"""
import json
import math
import random
import sys

import numpy
import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

CONFIG = {"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "d_model": 96, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 200, "decoder_ffn_dim": 200, "num_mel_bins": 80}
RATE = 16000


def model_of(frames):
    config = transformers.AutoConfig.for_model(**{**CONFIG, "max_source_positions": frames // 2})
    config._attn_implementation = "eager"
    return transformers.WhisperForConditionalGeneration(config).eval()


def flops(model, chunks, frames, tokens):
    x = {"input_features": torch.empty(chunks, 80, frames), "decoder_input_ids": torch.ones(chunks, tokens, dtype=torch.long)}
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(**x, use_cache=False)
    return counter.get_total_flops()


def main():
    draw = random.Random("audio")
    extract = transformers.WhisperFeatureExtractor(feature_size=80)
    seconds = [12.5, 30.0, 47.0, 0.1, 30.01, 60.0, 61.375, *(round(draw.uniform(0.1, 130), 4) for _ in range(12))]
    frames = []
    for length in seconds:
        wave = numpy.zeros(math.floor(length * RATE + 1e-6), dtype=numpy.float32)
        made = extract(wave, sampling_rate=RATE, truncation=False, padding="longest", return_tensors="np")["input_features"]
        frames.append(made.shape[-1])
        print(length, frames[-1], file=sys.stderr)
    with FakeTensorMode(allow_non_fake_inputs=True):
        document = counted(draw)
    document["frames"] = [{"seconds": s, "frames": n} for s, n in zip(seconds, frames)]
    rows = lambda entries: "[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]"
    with open(f"{sys.argv[1]}/audio.json", "w", encoding="utf-8") as file:
        text = {key: rows(value) if isinstance(value, list) else json.dumps(value) for key, value in document.items()}
        file.write("{\n" + ",\n".join(f"{json.dumps(key)}: {value}" for key, value in text.items()) + "\n}\n")


def counted(draw):
    whole = model_of(3000)
    tokens = sorted({1, 448, *(draw.randint(1, 448) for _ in range(20))})
    parts = sorted({2, 3000, *(2 * draw.randint(1, 1500) for _ in range(8)), 1250, 1700})
    return {
        "how": f"torch {torch.__version__}, transformers {transformers.__version__}: FlopCounterMode under FakeTensorMode, eager attention; tools/export/audio_truth.py",
        "config": CONFIG,
        "chunks": [{"tokens": n, "flops": flops(whole, 1, 3000, n)} for n in tokens],
        "batches": [{"chunks": n, "tokens": t, "flops": flops(whole, n, 3000, t)} for n, t in ((4, 20), (7, 100))],
        "unpadded": [{"frames": n, "tokens": t, "flops": flops(model_of(n), 1, n, t)} for n in parts for t in (7,)],
    }


if __name__ == "__main__":
    main()
