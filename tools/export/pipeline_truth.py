#!/usr/bin/env python3
"""What whole calls of transformers and diffusers execute, by torch's FlopCounterMode: `generate` of a tiny GPT-2 and T5, greedy and with beams, and a tiny
Stable Diffusion. Writes tests/data/pipeline/truth.json, and the models next to it as Optimum lays them out, without weights.

  python3 tools/export/pipeline_truth.py tests/data/pipeline      (torch 2.15.0, transformers 5.24.0, diffusers 0.42.1, onnx 1.23.2)

`generate` asks for the logits of the last token of a prompt only, and files have those of all. So each call of a decoder is counted twice: as it is
("flops"), and with logits for all tokens ("flops_all_logits").
"""
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
import diffusers
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode
from transformers import DynamicCache, EncoderDecoderCache

from strip import strip_weights

GPT2 = {"model_type": "gpt2", "n_embd": 48, "n_layer": 2, "n_head": 4, "vocab_size": 100, "n_positions": 64}
T5 = {"model_type": "t5", "d_model": 32, "d_kv": 8, "d_ff": 56, "num_layers": 2, "num_heads": 4, "vocab_size": 100, "decoder_start_token_id": 0}
PROMPT, TOKENS = 7, 10
CALLS = [{"batch": 1, "beams": 1}, {"batch": 2, "beams": 1}, {"batch": 2, "beams": 4}]


def flops_of(run):
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def build(config, kind):
    made = transformers.AutoConfig.for_model(**config)
    made._attn_implementation = "eager"
    return kind(made).eval()


def generate_flops(model, batch, beams, all_logits):
    ids = torch.arange(3, 3 + PROMPT).repeat(batch, 1)
    # No end of a text: every beam runs to the last token.
    rules = {"max_new_tokens": TOKENS, "min_new_tokens": TOKENS, "num_beams": beams, "do_sample": False, "early_stopping": False,
             "pad_token_id": 0, "eos_token_id": 2, "use_cache": True}
    if all_logits:
        model._supports_logits_to_keep = lambda: False
    return flops_of(lambda: model.generate(ids, attention_mask=torch.ones_like(ids), **rules))


def decoder_calls(name, model):
    calls = []
    for call in CALLS:
        # The plain call first: the other one changes the model.
        as_is = generate_flops(build_again(model), **call, all_logits=False)
        all_logits = generate_flops(build_again(model), **call, all_logits=True)
        calls.append({"model": name, **call, "prompt": PROMPT, "tokens": TOKENS, "flops": as_is, "flops_all_logits": all_logits})
        print(calls[-1], flush=True)
    return calls


def build_again(model):
    return type(model)(model.config).eval()


def export(module, inputs, names, outputs, axes, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.onnx.export(module, inputs, path, dynamo=False, opset_version=17, input_names=names, output_names=outputs, dynamic_axes=axes)
    strip_weights(path)


class Part(torch.nn.Module):
    """A part of a model, called by a function with positional inputs and one output."""

    def __init__(self, part, call):
        super().__init__()
        self.part, self.call = part, call

    def forward(self, *inputs):
        return self.call(self.part, *inputs)[0]


class Decoder(torch.nn.Module):
    """T5's decoder with its cache as plain tensors: of itself and of the encoder, each layer's keys and values."""

    def __init__(self, model, with_past):
        super().__init__()
        self.model, self.with_past = model, with_past

    def forward(self, ids, mask, *rest):
        config = self.model.config
        cache = EncoderDecoderCache(DynamicCache(config=config), DynamicCache(config=config))
        hidden = torch.zeros(1) if self.with_past else rest[0]
        if self.with_past:
            for layer in range(config.num_layers):
                cache.self_attention_cache.update(rest[4 * layer], rest[4 * layer + 1], layer)
                cache.cross_attention_cache.update(rest[4 * layer + 2], rest[4 * layer + 3], layer)
                cache.is_updated[layer] = True
            hidden = rest[2].new_zeros(1).expand(rest[2].shape[0], rest[2].shape[2], config.d_model)
        out = self.model(decoder_input_ids=ids, attention_mask=mask, encoder_outputs=(hidden,), past_key_values=cache, use_cache=True)
        made = [out.logits]
        for layer in range(config.num_layers):
            own, other = cache.self_attention_cache.layers[layer], cache.cross_attention_cache.layers[layer]
            made += [own.keys, own.values] + ([] if self.with_past else [other.keys, other.values])
        return tuple(made)


def export_t5(folder):
    model = build(T5, transformers.T5ForConditionalGeneration)
    batch, length, past = 2, 5, 3
    ids, mask = torch.ones(batch, length, dtype=torch.long), torch.ones(batch, length, dtype=torch.long)
    encoder_axes = {"input_ids": {0: "batch_size", 1: "encoder_sequence_length"}, "attention_mask": {0: "batch_size", 1: "encoder_sequence_length"}}
    export(Part(model.encoder, lambda part, ids, mask: part(input_ids=ids, attention_mask=mask, return_dict=False)), (ids, mask), ["input_ids", "attention_mask"], ["last_hidden_state"],
           {**encoder_axes, "last_hidden_state": {0: "batch_size", 1: "encoder_sequence_length"}}, f"{folder}/encoder_model.onnx")
    one = torch.ones(batch, 1, dtype=torch.long)
    axes = {"input_ids": {0: "batch_size"}, "encoder_attention_mask": encoder_axes["attention_mask"],
            "encoder_hidden_states": encoder_axes["input_ids"], "logits": {0: "batch_size"}}
    kinds = [(layer, part, which) for layer in range(T5["num_layers"]) for part in ("decoder", "encoder") for which in ("key", "value")]
    presents = [f"present.{layer}.{part}.{which}" for layer, part, which in kinds]
    grown = {name: {0: "batch_size", 2: "decoder_sequence_length" if ".decoder." in name else "encoder_sequence_length"} for name in presents}
    export(Decoder(model, False), (one, mask, torch.zeros(batch, length, T5["d_model"])),
           ["input_ids", "encoder_attention_mask", "encoder_hidden_states"], ["logits", *presents], {**axes, **grown}, f"{folder}/decoder_model.onnx")
    names = [f"past_key_values.{layer}.{part}.{which}" for layer, part, which in kinds]
    pasts = [torch.zeros(batch, T5["num_heads"], past if ".decoder." in name else length, T5["d_kv"]) for name in names]
    past_axes = {name: {0: "batch_size", 2: "past_decoder_sequence_length" if ".decoder." in name else "encoder_sequence_length"} for name in names}
    own = [name for name in presents if ".decoder." in name]
    export(Decoder(model, True), (one, mask, *pasts), ["input_ids", "encoder_attention_mask", *names], ["logits", *own],
           {**axes, **past_axes, **{name: {0: "batch_size", 2: "past_decoder_sequence_length + 1"} for name in own}},
           f"{folder}/decoder_with_past_model.onnx")
    with open(f"{folder}/config.json", "w") as file:
        json.dump({**T5, "architectures": ["T5ForConditionalGeneration"]}, file, indent=1)
        file.write("\n")


PLMS = {"_class_name": "PNDMScheduler", "skip_prk_steps": True}
# A schedule, steps, images, guidance, pixels high and wide.
DIFFUSION_CALLS = [({"_class_name": "DDIMScheduler"}, 3, 1, True, 32, 32), ({"_class_name": "DDIMScheduler"}, 5, 2, False, 48, 48), (PLMS, 4, 1, True, 32, 32),
                   (PLMS, 1, 1, True, 32, 48), ({"_class_name": "PNDMScheduler"}, 4, 1, True, 48, 32), ({"_class_name": "HeunDiscreteScheduler"}, 3, 2, True, 32, 64),
                   ({"_class_name": "KDPM2DiscreteScheduler"}, 4, 1, False, 64, 32), ({"_class_name": "EulerDiscreteScheduler"}, 4, 1, True, 32, 80)]


def diffusion():
    torch.manual_seed(0)
    unet = diffusers.UNet2DConditionModel(block_out_channels=(32, 64), layers_per_block=1, sample_size=16, in_channels=4, out_channels=4,
                                          down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
                                          cross_attention_dim=32, attention_head_dim=8, norm_num_groups=8)
    unet.set_attn_processor(diffusers.models.attention_processor.AttnProcessor())
    vae = diffusers.AutoencoderKL(block_out_channels=(32, 64), in_channels=3, out_channels=3, down_block_types=("DownEncoderBlock2D",) * 2,
                                  up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, norm_num_groups=8)
    vae.set_attn_processor(diffusers.models.attention_processor.AttnProcessor())
    text = transformers.CLIPTextModel(transformers.CLIPTextConfig(hidden_size=32, intermediate_size=37, num_attention_heads=4, num_hidden_layers=2,
                                                                  vocab_size=1000, projection_dim=32, attn_implementation="eager")).eval()
    return unet.eval(), vae.eval(), text


def call_diffusion(parts, scheduler, steps, images, guided, high, wide):
    unet, vae, text = parts
    pipe = diffusers.StableDiffusionPipeline(vae=vae, text_encoder=text, tokenizer=None, unet=unet, scheduler=scheduler, safety_checker=None,
                                             feature_extractor=None, requires_safety_checker=False)
    pipe.set_progress_bar_config(disable=True)

    def run():
        ids = torch.zeros(images, 77, dtype=torch.long)
        prompt = text(ids)[0]
        negative = text(ids)[0] if guided else None
        pipe(prompt_embeds=prompt, negative_prompt_embeds=negative, num_inference_steps=steps, guidance_scale=7.5 if guided else 1.0,
             height=high, width=wide, output_type="np")
    return flops_of(run)


def export_diffusion(parts, folder):
    unet, vae, text = parts

    export(Part(text, lambda part, ids: part(ids)), (torch.zeros(2, 77, dtype=torch.long),), ["input_ids"], ["last_hidden_state"],
           {"input_ids": {0: "batch_size"}, "last_hidden_state": {0: "batch_size"}}, f"{folder}/text_encoder/model.onnx")
    export(Part(unet, lambda part, *inputs: part(*inputs, return_dict=False)), (torch.zeros(2, 4, 16, 16), torch.tensor([1]), torch.zeros(2, 77, 32)), ["sample", "timestep", "encoder_hidden_states"], ["out_sample"],
           {"sample": {0: "batch_size", 2: "height", 3: "width"}, "timestep": {0: "steps"}, "encoder_hidden_states": {0: "batch_size"}},
           f"{folder}/unet/model.onnx")
    export(Part(vae, lambda part, latent: part.decode(latent, return_dict=False)), (torch.zeros(2, 4, 16, 16),), ["latent_sample"], ["sample"],
           {"latent_sample": {0: "batch_size", 2: "latent_height", 3: "latent_width"}}, f"{folder}/vae_decoder/model.onnx")
    with open(f"{folder}/vae_decoder/config.json", "w") as file:
        json.dump({"_class_name": "AutoencoderKL", "block_out_channels": [32, 64], "latent_channels": 4}, file, indent=1)
        file.write("\n")
    with open(f"{folder}/model_index.json", "w") as file:
        json.dump({"_class_name": "OnnxStableDiffusionPipeline", "_diffusers_version": diffusers.__version__, "scheduler": ["diffusers", "DDIMScheduler"],
                   "text_encoder": ["diffusers", "OnnxRuntimeModel"], "unet": ["diffusers", "OnnxRuntimeModel"],
                   "vae_decoder": ["diffusers", "OnnxRuntimeModel"]}, file, indent=1)
        file.write("\n")


def main():
    folder = sys.argv[1]
    os.makedirs(f"{folder}/gpt2-tiny", exist_ok=True)
    with open(f"{folder}/gpt2-tiny/config.json", "w") as file:
        json.dump({**GPT2, "architectures": ["GPT2LMHeadModel"]}, file, indent=1)
        file.write("\n")
    calls = decoder_calls("gpt2-tiny", build(GPT2, transformers.GPT2LMHeadModel))
    calls += decoder_calls("t5-tiny", build(T5, transformers.T5ForConditionalGeneration))
    export_t5(f"{folder}/t5-tiny")
    parts = diffusion()
    for schedule, steps, images, guided, high, wide in DIFFUSION_CALLS:
        made = getattr(diffusers, schedule["_class_name"]).from_config(schedule)
        flops = call_diffusion(parts, made, steps, images, guided, high, wide)
        calls.append({"model": "sd-tiny", "schedule": schedule, "steps": steps, "images": images, "guided": guided, "high": high, "wide": wide, "flops": flops})
        print(calls[-1], flush=True)
    export_diffusion(parts, f"{folder}/sd-tiny")
    how = (f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, diffusers {diffusers.__version__}, FlopCounterMode on the CPU, "
           "eager attention; see tools/export/pipeline_truth.py")
    with open(f"{folder}/truth.json", "w") as file:
        json.dump({"how": how, "calls": calls}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
