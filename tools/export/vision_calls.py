#!/usr/bin/env python3
"""What whole calls of `generate` of vision-language models execute, by torch's FlopCounterMode, for tiny models of the kinds of LLaVA, Qwen2-VL, SmolVLM and PaliGemma, and for a tiny Whisper. Writes
FOLDER/vision_calls.json, and the models as transformers.js and ONNX Runtime GenAI lay them out, without weights.

  python3 tools/export/vision_calls.py FOLDER      (torch 2.15.0, transformers 5.24.0, onnx 1.23.2)

A call is {"model", "dims", "flops", "flops_of_files"}: "dims" are those that `onnxflops pipeline` takes for it, "flops" what the call executes. Files differ in two things: they have the logits of all
tokens of a prompt, and the call asks for the last one only; and exporters leave out the last layer of LLaVA's image tower, whose output is not used, and the call runs it. "flops_of_files" is the same
call with all logits, and without that layer.
"""
import json
import sys
import unittest.mock
import warnings

warnings.filterwarnings("ignore")
import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from whole_calls import WHISPER, Part, eager, export_traced, write

IMAGE = 299  # the token that stands for a part of an image
TEXT = {"hidden_size": 64, "intermediate_size": 100, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
TOWER = {"hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 90, "image_size": 32, "patch_size": 8}
LLAVA = {"model_type": "llava", "text_config": {"model_type": "llama", **TEXT}, "image_token_index": IMAGE, "vision_config": {"model_type": "clip_vision_model", **TOWER},
         "vision_feature_layer": -2, "vision_feature_select_strategy": "default"}
# The same without the layer of the tower whose output is not used.
FILES = {"llava": {"vision_config": {"model_type": "clip_vision_model", **TOWER, "num_hidden_layers": 2}, "vision_feature_layer": -1}}
QWEN = {"model_type": "qwen2_vl", "image_token_id": IMAGE, "vision_start_token_id": 297, "video_token_id": 298,
        "text_config": {"model_type": "qwen2_vl_text", **TEXT, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}},
        "vision_config": {"model_type": "qwen2_vl", "depth": 3, "embed_dim": 48, "hidden_size": 64, "num_heads": 4, "mlp_ratio": 2, "in_channels": 3, "patch_size": 4, "spatial_merge_size": 2,
                          "temporal_patch_size": 2}}
SMOL = {"model_type": "smolvlm", "image_token_id": IMAGE, "scale_factor": 2, "text_config": {"model_type": "llama", **TEXT}, "vision_config": {"model_type": "smolvlm_vision", **TOWER}, "pad_token_id": 0}
PALI = {"model_type": "paligemma", "image_token_index": IMAGE, "projection_dim": 64, "text_config": {"model_type": "gemma", **TEXT, "head_dim": 16}, "pad_token_id": 0,
        "vision_config": {"model_type": "siglip_vision_model", **TOWER, "projection_dim": 64, "vision_use_head": False}}
GRID = (4, 6)  # patches of Qwen2-VL's image; files leave their number open
TILES = 5  # of SmolVLM's image
# Answers at once, images of each, tokens of its text, and tokens that come out.
CALLS = [(1, 1, 7, 5), (1, 2, 7, 20), (2, 1, 11, 5), (2, 2, 9, 20)]


def flops_of(run):
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


class Family:
    """A kind of model: its configuration, its class, the tokens of an image, and what `generate` takes for images."""

    def __init__(self, config, kind, image_tokens, images, dims=None):
        self.config, self.kind, self.image_tokens, self.images, self.dims = config, kind, image_tokens, images, dims or {}

    def build(self, of_files=False):
        if not of_files:
            return self.kind(eager(self.config)).eval()
        model = self.kind(eager(self.config | FILES.get(self.config["model_type"], {}))).eval()
        model._supports_logits_to_keep = lambda: False
        return model

    def flops(self, answers, images, prompt, tokens, of_files):
        model = self.build(of_files)
        # A token of text after each image: Qwen2-VL takes tokens of images in a row for one image.
        ids = torch.tensor([[1] + ([IMAGE] * self.image_tokens + [5]) * images + [5] * (prompt - 1 - images)] * answers)
        types = (ids == IMAGE).int()
        more = {"mm_token_type_ids": types} if self.config["model_type"] == "qwen2_vl" else {"token_type_ids": types} if self.config["model_type"] == "paligemma" else {}
        return flops_of(lambda: model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **self.images(answers, images), **more, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False,
                                               pad_token_id=0, eos_token_id=2))


FAMILIES = {
    "llava": Family(LLAVA, transformers.LlavaForConditionalGeneration, 16, lambda answers, images: {"pixel_values": torch.ones(answers * images, 3, 32, 32)}),
    "qwen2-vl": Family(QWEN, transformers.Qwen2VLForConditionalGeneration, 6, lambda answers, images: {
        "pixel_values": torch.ones(answers * images * 24, 96), "image_grid_thw": torch.tensor([[1, *GRID]] * (answers * images))}, {"patches_high": 4, "patches_wide": 6}),
    "qwen2-vl-wide": Family(QWEN, transformers.Qwen2VLForConditionalGeneration, 20, lambda answers, images: {
        "pixel_values": torch.ones(answers * images * 80, 96), "image_grid_thw": torch.tensor([[1, 4, 20]] * (answers * images))}, {"patches_high": 4, "patches_wide": 20}),
    "smolvlm": Family(SMOL, transformers.SmolVLMForConditionalGeneration, TILES * 4, lambda answers, images: {"pixel_values": torch.ones(answers, images * TILES, 3, 32, 32)}, {"tiles": TILES}),
    "paligemma": Family(PALI, transformers.PaliGemmaForConditionalGeneration, 16, lambda answers, images: {"pixel_values": torch.ones(answers * images, 3, 32, 32)}),
}


class Decoder(torch.nn.Module):
    """The decoder of texts with its cache as plain tensors: each layer's keys and values."""

    def __init__(self, model):
        super().__init__()
        self.text, self.head = model.get_decoder(), model.get_output_embeddings()

    def forward(self, embeds, mask, positions, *past):
        cache = transformers.DynamicCache(config=self.text.config)
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        out = self.text(inputs_embeds=embeds, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True)
        return (self.head(out.last_hidden_state), *(part for layer in cache.layers for part in (layer.keys, layer.values)))


def export_decoder(model, path, positions=2):
    text = model.config.text_config
    batch, tokens, past, heads = 2, 3, 4, text.num_key_value_heads
    names = [f"past_key_values.{layer}.{part}" for layer in range(text.num_hidden_layers) for part in ("key", "value")]
    pasts = [torch.zeros(batch, heads, past, 16) for _ in names]
    ids = torch.zeros(batch, tokens, dtype=torch.long)
    embeds = {"inputs_embeds": {0: "batch_size", 1: "sequence_length"}, "attention_mask": {0: "batch_size", 1: "total_sequence_length"},
              "position_ids": {0: "batch_size", 1: "sequence_length"} if positions == 2 else {1: "batch_size", 2: "sequence_length"}}
    axes = {**embeds, **{name: {0: "batch_size", 2: "past_sequence_length"} for name in names}}
    export_traced(Decoder(model), (torch.zeros(batch, tokens, text.hidden_size), torch.ones(batch, tokens + past, dtype=torch.long), ids if positions == 2 else ids.expand(3, -1, -1), *pasts),
                  [*embeds, *names], ["logits", *(name.replace("past_key_values", "present") for name in names)], axes, path)


def export_embeddings(model, path):
    export_traced(Part(model.get_input_embeddings(), lambda part, ids: part(ids)), (torch.zeros(2, 3, dtype=torch.long),), ["input_ids"], ["inputs_embeds"],
                  {"input_ids": {0: "batch_size", 1: "sequence_length"}, "inputs_embeds": {0: "batch_size", 1: "sequence_length"}}, path)


def merged(part, ids, features):
    """Embeddings of texts in which those of images take the places of their tokens, as ONNX Runtime GenAI has them in one file."""
    embeds = part(ids)
    places = torch.nonzero(ids == IMAGE, as_tuple=True)
    return embeds.index_put(places, features)


def of_tower(model, pixels):
    """The features of images of one size, without the token of the class."""
    if model.config.model_type == "paligemma":
        return model.model.get_image_features(pixels, return_dict=True).pooler_output
    layer = model.config.vision_feature_layer
    hidden = model.model.vision_tower(pixels, output_hidden_states=True, return_dict=True).hidden_states[layer]
    return model.model.multi_modal_projector(hidden[:, 1:])


def of_patches(model, pixels, grid):
    """The image tower of Qwen2-VL for one image, with positions that follow from its grid."""
    visual = model.model.visual
    high, wide, merge = grid[0, 1], grid[0, 2], visual.spatial_merge_size
    rows = torch.arange(high).unsqueeze(1).expand(-1, wide)
    columns = torch.arange(wide).unsqueeze(0).expand(high, -1)
    shape = (high // merge, merge, wide // merge, merge)
    positions = torch.stack([axis.reshape(shape).transpose(1, 2).flatten() for axis in (rows, columns)], dim=-1)
    hidden = visual.patch_embed(pixels)
    embeddings = visual.rotary_pos_emb(hidden, positions)
    for block in visual.blocks:
        hidden = block(hidden, cu_seqlens=torch.tensor([0, 24]), position_embeddings=embeddings)
    return visual.merger(hidden)


def of_tiles(model, pixels, mask):
    """The image tower of SmolVLM, which leaves out tiles of zeros and goes by the mask of pixels."""
    tiles, mask, side = pixels.flatten(0, 1), mask.flatten(0, 1), model.config.vision_config.patch_size
    real = (tiles == 0.0).sum(dim=(-1, -2, -3)) != tiles.shape[1:].numel()
    tiles, mask = tiles[real], mask[real]
    patches = mask.reshape(-1, mask.shape[1] // side, side, mask.shape[2] // side, side).sum((2, 4)) > 0
    return model.model.connector(model.model.vision_model(tiles, patches, return_dict=True).last_hidden_state)


def config_text(config, kind):
    return json.dumps(config | {"architectures": [kind.__name__]}, indent=1) + "\n"


def export_images(name, model, path):
    pixels = {"pixel_values": {0: "batch_size"}}
    if name == "qwen2-vl":
        with unittest.mock.patch("torch.split", lambda tensor, *_, **__: (tensor,)):
            export_traced(Part(model, of_patches), (torch.zeros(24, 96), torch.tensor([[1, *GRID]])), ["pixel_values", "image_grid_thw"], ["image_features"],
                          {"pixel_values": {0: "num_patches"}, "image_features": {0: "num_image_tokens"}}, path)
    elif name == "smolvlm":
        axes = {0: "batch_size", 1: "num_images"}
        export_traced(Part(model, of_tiles), (torch.ones(2, TILES, 3, 32, 32), torch.ones(2, TILES, 32, 32, dtype=torch.bool)), ["pixel_values", "pixel_attention_mask"], ["image_features"],
                      {"pixel_values": axes, "pixel_attention_mask": axes, "image_features": {0: "num_tiles"}}, path)
    else:
        export_traced(Part(model, of_tower), (torch.ones(2, 3, 32, 32),), ["pixel_values"], ["image_features"], {**pixels, "image_features": {0: "batch_size"}}, path)


def export_genai(model, folder):
    """LLaVA as ONNX Runtime GenAI names the files: in its configuration. Embeddings take the images."""
    export_traced(Part(model, lambda part, pixels: of_tower(part, pixels).flatten(0, 1)), (torch.ones(2, 3, 32, 32),), ["pixel_values"], ["image_features"],
                  {"pixel_values": {0: "num_images"}, "image_features": {0: "num_image_tokens"}}, f"{folder}/tower.onnx")
    export_traced(Part(model.get_input_embeddings(), merged), (torch.full((2, 16), IMAGE), torch.zeros(32, 64)), ["input_ids", "image_features"], ["inputs_embeds"],
                  {"input_ids": {0: "batch_size", 1: "sequence_length"}, "image_features": {0: "num_image_tokens"}}, f"{folder}/words.onnx")
    export_decoder(model, f"{folder}/text.onnx")
    config = {"model": {"type": "phi3v", "decoder": {"filename": "text.onnx"}, "embedding": {"filename": "words.onnx"}, "vision": {"filename": "tower.onnx"}}}
    write(f"{folder}/genai_config.json", json.dumps(config, indent=1) + "\n")


class Listener(torch.nn.Module):
    """Whisper's encoder, with the keys and values that the decoder attends to."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, sound):
        hidden = self.model.model.encoder(sound, return_dict=False)[0]
        made = []
        for layer in self.model.model.decoder.layers:
            shape = (hidden.shape[0], hidden.shape[1], WHISPER["decoder_attention_heads"], 8)
            made += [part(hidden).view(shape).transpose(1, 2) for part in (layer.encoder_attn.k_proj, layer.encoder_attn.v_proj)]
        return (hidden, *made)


class Speaker(torch.nn.Module):
    """Whisper's decoder, whose cache is each layer's own keys and values, then those of the sound."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, *past):
        config = self.model.config
        cache = transformers.EncoderDecoderCache(transformers.DynamicCache(config=config), transformers.DynamicCache(config=config))
        for layer in range(config.decoder_layers):
            own, cross = past[2 * layer:2 * layer + 2], past[2 * (config.decoder_layers + layer):2 * (config.decoder_layers + layer) + 2]
            cache.self_attention_cache.update(*own, layer)
            cache.cross_attention_cache.update(*cross, layer)
            cache.is_updated[layer] = True
        hidden = cross[0].new_zeros(1).expand(ids.shape[0], WHISPER["max_source_positions"], config.d_model)
        out = self.model(decoder_input_ids=ids, encoder_outputs=(hidden,), past_key_values=cache, use_cache=True)
        return (out.logits, *(part for layer in cache.self_attention_cache.layers for part in (layer.keys, layer.values)))


def export_whisper(folder):
    model = transformers.WhisperForConditionalGeneration(eager(WHISPER)).eval()
    frames, layers = WHISPER["max_source_positions"], range(WHISPER["decoder_layers"])
    cross = [f"present_{part}_cross_{layer}" for layer in layers for part in ("key", "value")]
    export_traced(Listener(model), (torch.zeros(2, WHISPER["num_mel_bins"], 2 * frames),), ["audio_features"], ["encoder_hidden_states", *cross], {"audio_features": {0: "batch_size"}}, f"{folder}/encoder.onnx")
    pasts = {f"past_{part}_{kind}_{layer}": torch.zeros(2, 4, 6 if kind == "self" else frames, 8) for kind in ("self", "cross") for layer in layers for part in ("key", "value")}
    axes = {name: {0: "batch_size", **({2: "past_sequence_length"} if "self" in name else {})} for name in pasts}
    export_traced(Speaker(model), (torch.ones(2, 3, dtype=torch.long), *pasts.values()), ["input_ids", *pasts], ["logits", *(name.replace("past", "present") for name in pasts if "self" in name)],
                  {"input_ids": {0: "batch_size", 1: "sequence_length"}, **axes}, f"{folder}/decoder.onnx")
    config = {"model": {"type": "whisper", "encoder": {"filename": "encoder.onnx"}, "decoder": {"filename": "decoder.onnx"}}}
    write(f"{folder}/genai_config.json", json.dumps(config, indent=1) + "\n")


def whisper_calls():
    for batch, tokens in [(1, 10), (3, 7)]:
        model = transformers.WhisperForConditionalGeneration(eager(WHISPER)).eval()
        sound = torch.zeros(batch, WHISPER["num_mel_bins"], 2 * WHISPER["max_source_positions"])
        flops = flops_of(lambda: model.generate(sound, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, return_timestamps=False))
        yield {"model": "whisper-genai", "dims": {"answers": batch, "tokens": tokens, "first_tokens": 1}, "flops": flops, "flops_of_files": flops}


def calls_of(name):
    family = FAMILIES[name]
    for answers, images, prompt, tokens in CALLS:
        dims = {"answers": answers, "images": images, "prompt": prompt, "tokens": tokens, **family.dims}
        yield {"model": name.removesuffix("-wide"), "dims": dims, **{key: family.flops(answers, images, prompt, tokens, of_files) for key, of_files in (("flops", False), ("flops_of_files", True))}}


def main():
    folder = sys.argv[1]
    torch.manual_seed(0)
    calls = []
    for made in (*map(calls_of, FAMILIES), whisper_calls()):
        for call in made:
            calls.append(call)
            print(call, flush=True)
    calls += [call | {"model": "llava-genai"} for call in calls if call["model"] == "llava"]
    how = f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, FlopCounterMode on the CPU, attention as products; see tools/export/vision_calls.py"
    write(f"{folder}/vision_calls.json", '{"how": ' + json.dumps(how) + ',\n"calls": [\n' + ",\n".join(" " + json.dumps(call) for call in calls) + "\n]}\n")
    for name, family in FAMILIES.items():
        if name.endswith("-wide"):
            continue  # the same model with another image
        model, parts = family.build(), f"{folder}/{name}/onnx"
        print("export", name, flush=True)
        write(f"{folder}/{name}/config.json", config_text(family.config, family.kind))
        export_images(name, model, f"{parts}/vision_encoder.onnx")
        export_embeddings(model, f"{parts}/embed_tokens.onnx")
        export_decoder(model, f"{parts}/decoder_model_merged.onnx", 3 if name == "qwen2-vl" else 2)
    export_genai(FAMILIES["llava"].build(), f"{folder}/llava-genai")
    export_whisper(f"{folder}/whisper-genai")


if __name__ == "__main__":
    main()
