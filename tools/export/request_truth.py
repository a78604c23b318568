#!/usr/bin/env python3
"""What torch counts of each request of a step of a server, alone, behind a cache of its own.

    python tools/export/request_truth.py tests/data/config/requests.json

A request runs its new tokens behind a DynamicCache that holds its past, on the meta device, under FlopCounterMode. The sum over the
requests is the step's. "media": requests with images, whose tower runs by get_image_features() alone, or with audio.
"""

import json
import sys

import audio_truth
import torch
import transformers
import vision_truth
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

MODELS = {
    "gpt2": transformers.GPT2Config(n_embd=96, n_layer=3, n_head=6, vocab_size=211, n_positions=512, attn_implementation="eager"),
    "llama": transformers.LlamaConfig(
        hidden_size=96, intermediate_size=200, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2, vocab_size=211,
        max_position_embeddings=4096, attn_implementation="eager",
    ),
}
# prompt, cached, chunk, generated
REQUESTS = [(120, 0, None, 0), (200, 64, 40, 0), (200, 104, 96, 0), (33, 0, None, 1), (33, 0, None, 250), (64, 0, 5, 17)]


def step_of(prompt, cached, chunk, generated):
    if generated:
        return chunk or 1, prompt + generated - 1
    return chunk or prompt - cached, cached


def flops_of(model, config, tokens, past):
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = config.hidden_size // config.num_attention_heads
    cache = transformers.DynamicCache()
    for layer in range(config.num_hidden_layers):
        keys = torch.empty(1, heads, past, size, device="meta")
        cache.update(keys, keys.clone(), layer)
    ids = torch.zeros(1, tokens, dtype=torch.long, device="meta")
    places = torch.arange(past, past + tokens, device="meta")[None]
    with FlopCounterMode(display=False) as counter:
        model(input_ids=ids, position_ids=places, past_key_values=cache, use_cache=True)
    return counter.get_total_flops()


# The configuration, the column of requests, and a list of images for each request in its prompt. The size of an image is what the functions of
# vision_truth.py take.
IMAGES = {
    "qwen2-vl-small": ("grid_thw", [[[1, 16, 32], [2, 10, 14]], [[1, 6, 36]]]),
    "qwen2-5-vl-small": ("grid_thw", [[[1, 20, 26]], [[1, 6, 36], [3, 4, 8], [1, 16, 32]]]),
    "qwen3-vl-deep": ("grid_thw", [[[1, 16, 32], [2, 10, 14]], []]),
    "llava-mistral": ("images", [[[64, 64], [64, 64]], [[64, 64]]]),
    "gemma3-small": ("images", [[[128, 128]], [[128, 128], [128, 128], [128, 128]]]),
    "llava-next-small": ("images", [[[100, 37], [500, 480]], [[480, 640]]]),
    "mistral3-small": ("images", [[[84, 140]], [[28, 112], [56, 56]]]),
    "internvl-inner": ("tiles", [[5, 1], [3]]),
}
# prompt (of text; tokens of images come on top), cached, chunk, generated; the first two bring images.
STEP = [(40, 0, None, 0), (300, 96, 128, 0), (200, 0, None, 0), (33, 0, None, 70)]


def dims_of(column, image):
    if column == "grid_thw":
        return dict(zip(("grid_t", "grid_h", "grid_w"), image))
    return {"tiles": image} if column == "tiles" else {"image": image, "image_height": image[0], "image_width": image[1]}


def flops_of_image(model, config, column, image):
    """Of the tower, and the image's tokens in the prompt."""
    inputs = vision_truth.INPUTS.get(config.vision_config.model_type, vision_truth.INPUTS.get(config.model_type))
    x = inputs(config, {"batch": 1, "seq": 0, **dims_of(column, image)})
    tokens = x.pop("input_ids").shape[1]
    x.pop("position_ids", None)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model.model.get_image_features(**x)
    return counter.get_total_flops(), tokens


def flops_of_text(model, config, tokens, past):
    text = config.text_config
    heads = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    cache = transformers.DynamicCache(config=text)
    for layer in range(text.num_hidden_layers if past else 0):
        keys = torch.empty(1, text.num_key_value_heads, past, heads)
        cache.update(keys, keys.clone(), layer)
    places = torch.arange(past, past + tokens)[None]
    places = places[None].expand(3, 1, tokens) if config.model_type.startswith("qwen") else places
    # A mask that is given is not made, for which numbers would be looked at.
    mask = torch.zeros(1, 1, tokens, past + tokens)
    if config.model_type == "gemma3":  # a layer with a window keeps no more than that
        mask = {"full_attention": mask, "sliding_attention": mask[..., -min(past, text.sliding_window - 1) - tokens :]}
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        states = model.model.language_model(
            inputs_embeds=torch.zeros(1, tokens, text.hidden_size), position_ids=places, attention_mask=mask, past_key_values=cache, use_cache=True
        )
        model.lm_head(states.last_hidden_state)
    return counter.get_total_flops()


def with_images(name, column, lists):
    config_json = vision_truth.CASES[name][0]
    config = transformers.AutoConfig.for_model(**{k: v for k, v in config_json.items() if k != "architectures"})
    config._attn_implementation = "eager"
    rows = []
    with torch.device("meta"):
        model = getattr(transformers, config_json["architectures"][0])(config).eval()
        vision_truth.on_meta(sys.modules[type(model).__module__])
        for index, (prompt, cached, chunk, generated) in enumerate(STEP):
            images = lists[index] if index < len(lists) else []
            counted = [flops_of_image(model, config, column, image) for image in images]
            prompt += sum(tokens for _, tokens in counted)
            tokens, past = step_of(prompt, cached, chunk, generated)
            tower, text = sum(flops for flops, _ in counted), flops_of_text(model, config, tokens, past)
            rows.append({
                "prompt": prompt, "cached": cached, "chunk": chunk, "generated": generated, column: images,
                "image_tokens": sum(n for _, n in counted), "tower_flops": tower, "flops": tower + text,
            })  # fmt: skip
    names = ("visual", "vision_tower", "multi_modal_projector")
    parts = [part for part in (getattr(model.model, n, None) for n in names) if part is not None]
    return {"config": config_json, "tower_parameters": sum(p.numel() for part in parts for p in part.parameters()), "requests": rows}


def with_audio():
    """Two requests begin with audio, and two have the keys and values of theirs."""
    rows, ones = [], lambda n: torch.ones(1, n, dtype=torch.long)
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        model = audio_truth.model_of(3000)
        for seconds, prompt, generated in ((12.5, 4, 0), (30.0, 37, 0), (None, 4, 9), (None, 4, 60)):
            config, cache = model.config, transformers.EncoderDecoderCache(transformers.DynamicCache(), transformers.DynamicCache())
            if seconds is None:
                heard = transformers.modeling_outputs.BaseModelOutput(last_hidden_state=torch.empty(1, config.max_source_positions, config.d_model))
                model(decoder_input_ids=ones(prompt + generated - 1), encoder_outputs=heard, past_key_values=cache, use_cache=True)
            else:
                heard = None
            features = None if heard else torch.empty(1, config.num_mel_bins, 3000)
            with FlopCounterMode(display=False) as counter:
                model(
                    input_features=features, decoder_input_ids=ones(1 if generated else prompt), encoder_outputs=heard, past_key_values=cache, use_cache=True
                )
            rows.append({"prompt": prompt, "generated": generated, "audio": seconds, "flops": counter.get_total_flops()})
    return {"config": audio_truth.CONFIG, "requests": rows}


def main():
    media = {name: with_images(name, *case) for name, case in IMAGES.items()}
    media["whisper"] = with_audio()
    models = {}
    for name, config in MODELS.items():
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(config).eval()
        rows = []
        for request in REQUESTS:
            tokens, past = step_of(*request)
            flops = flops_of(model, config, tokens, past)
            rows.append(dict(zip(("prompt", "cached", "chunk", "generated"), request), tokens=tokens, past=past, flops=flops))
        kept = {key: value for key, value in config.to_dict().items() if isinstance(value, (int, float, str)) and not key.startswith("_")}
        models[name] = {"config": {**kept, "torch_dtype": "float32"}, "requests": rows}
    how = f"torch {torch.__version__}, transformers {transformers.__version__}: tools/export/request_truth.py"
    with open(sys.argv[1], "w") as file:
        json.dump({"how": how, "models": models, "media": media}, file, indent=1)


if __name__ == "__main__":
    main()
