#!/usr/bin/env python3
"""What whole calls execute, by torch's FlopCounterMode: diffusers' pipelines from the prompt to the image, for tiny models of the kinds of SDXL, SD 3 and Flux,
and `generate` of a tiny Whisper and LLaVA. Writes FOLDER/whole_calls.json, and the models as Optimum lays them out, without weights.

  python3 tools/export/whole_calls.py FOLDER      (torch 2.15.0, transformers 5.24.0, diffusers 0.42.1, onnx 1.23.2, onnxscript)

A call is {"model", "call", "dims", "flops"}: "dims" are those that `onnxflops pipeline` takes for it. Tokens are all 0, their number alone decides what runs. `generate` of LLaVA gives logits of all tokens.
"""
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
import diffusers
import onnx
import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from strip import strip_weights

VAE = {"in_channels": 3, "out_channels": 3, "down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2, "block_out_channels": (32, 64), "norm_num_groups": 8}


class Tokenizer:
    """A tokenizer whose tokens are all 0."""

    model_max_length = 77
    added_tokens_encoder = {}

    def __call__(self, prompt, max_length=None, return_overflowing_tokens=False, return_length=False, **_):
        count = 1 if isinstance(prompt, str) else len(prompt)
        return transformers.BatchEncoding({"input_ids": torch.zeros(count, max_length or self.model_max_length, dtype=torch.long)})

    def tokenize(self, prompt):
        return []

    def batch_decode(self, ids):
        return []


class LongTokenizer(Tokenizer):
    model_max_length = 512


class Part(torch.nn.Module):
    """A part of a pipeline, called by a function with positional inputs."""

    def __init__(self, part, call):
        super().__init__()
        self.part, self.call = part, call

    def forward(self, *inputs):
        return self.call(self.part, *inputs)


def clip_text(width, layers, projected):
    config = transformers.CLIPTextConfig(hidden_size=width, intermediate_size=37, num_attention_heads=4, num_hidden_layers=layers, vocab_size=1000, projection_dim=32,
                                         bos_token_id=0, eos_token_id=2, attn_implementation="eager")
    return (transformers.CLIPTextModelWithProjection if projected else transformers.CLIPTextModel)(config).eval()


def t5_text():
    return transformers.T5EncoderModel(transformers.T5Config(d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, vocab_size=100)).eval()


def vae(**config):
    return diffusers.AutoencoderKL(**VAE, **config).eval()


def sdxl():
    unet = diffusers.UNet2DConditionModel(
        block_out_channels=(32, 64), layers_per_block=1, sample_size=16, in_channels=4, out_channels=4, norm_num_groups=8, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), attention_head_dim=(2, 4), use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=8,
        transformer_layers_per_block=(1, 2), projection_class_embeddings_input_dim=80, cross_attention_dim=72)
    return diffusers.StableDiffusionXLPipeline(vae=vae(latent_channels=4), text_encoder=clip_text(32, 2, False), text_encoder_2=clip_text(40, 3, True), tokenizer=Tokenizer(),
                                               tokenizer_2=Tokenizer(), unet=unet.eval(), scheduler=diffusers.EulerDiscreteScheduler(), add_watermarker=False)


def sd3():
    transformer = diffusers.SD3Transformer2DModel(sample_size=16, patch_size=2, in_channels=4, num_layers=3, attention_head_dim=8, num_attention_heads=4, caption_projection_dim=32, joint_attention_dim=32,
                                                  pooled_projection_dim=64, out_channels=4, pos_embed_max_size=32, qk_norm="rms_norm", dual_attention_layers=(0,))
    return diffusers.StableDiffusion3Pipeline(transformer=transformer.eval(), scheduler=diffusers.FlowMatchEulerDiscreteScheduler(), vae=vae(latent_channels=4, shift_factor=0.06, use_quant_conv=False, use_post_quant_conv=False),
                                              text_encoder=clip_text(12, 2, True), tokenizer=Tokenizer(), text_encoder_2=clip_text(20, 3, True), tokenizer_2=Tokenizer(), text_encoder_3=t5_text(), tokenizer_3=LongTokenizer())


def flux():
    transformer = diffusers.FluxTransformer2DModel(patch_size=1, in_channels=16, num_layers=1, num_single_layers=2, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=32, pooled_projection_dim=32, axes_dims_rope=(4, 4, 8))
    return diffusers.FluxPipeline(scheduler=diffusers.FlowMatchEulerDiscreteScheduler(), vae=vae(latent_channels=4, shift_factor=0.06, use_quant_conv=False, use_post_quant_conv=False), text_encoder=clip_text(32, 2, False), tokenizer=Tokenizer(),
                                  text_encoder_2=t5_text(), tokenizer_2=LongTokenizer(), transformer=transformer.eval())


# Arguments of the call, and the --dim of `onnxflops pipeline` for it. SDXL takes zeros for a negative prompt that is not given.
CALLS = {
    "sdxl-tiny": [
        ({"negative_prompt": "no", "guidance_scale": 5.0, "num_inference_steps": 3, "size": 32}, {"steps": 3, "guidance": 2, "negative_prompts": 1, "resolution": 32}),
        ({"negative_prompt": "no", "guidance_scale": 5.0, "num_inference_steps": 2, "num_images_per_prompt": 3, "size": 48}, {"steps": 2, "guidance": 2, "negative_prompts": 1, "images": 3, "resolution": 48}),
        ({"prompts": 2, "guidance_scale": 1.0, "num_inference_steps": 4, "size": 32}, {"steps": 4, "guidance": 1, "images": 2, "prompts": 2, "resolution": 32}),
        ({"guidance_scale": 5.0, "num_inference_steps": 1, "size": 64}, {"steps": 1, "guidance": 2, "resolution": 64}),
    ],
    "sd3-tiny": [
        ({"guidance_scale": 7.0, "num_inference_steps": 3, "size": 32}, {"steps": 3, "guidance": 2, "resolution": 32}),
        ({"prompts": 2, "guidance_scale": 1.0, "num_inference_steps": 2, "size": 48}, {"steps": 2, "guidance": 1, "images": 2, "prompts": 2, "resolution": 48}),
        ({"guidance_scale": 7.0, "num_inference_steps": 2, "num_images_per_prompt": 2, "max_sequence_length": 256, "size": 64}, {"steps": 2, "guidance": 2, "images": 2, "resolution": 64}),
    ],
    "flux-tiny": [
        ({"guidance_scale": 0.0, "num_inference_steps": 4, "max_sequence_length": 512, "size": 32}, {"steps": 4, "resolution": 32}),
        ({"guidance_scale": 0.0, "num_inference_steps": 2, "max_sequence_length": 256, "num_images_per_prompt": 2, "size": 48}, {"steps": 2, "resolution": 48, "images": 2, "text_tokens": 256}),
    ],
}
MAKERS = {"sdxl-tiny": sdxl, "sd3-tiny": sd3, "flux-tiny": flux}


def call_flops(pipe, arguments):
    arguments = dict(arguments)
    size, prompts = arguments.pop("size"), arguments.pop("prompts", 1)
    pipe.set_progress_bar_config(disable=True)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        pipe(["a"] * prompts, height=size, width=size, output_type="np", **arguments)
    return counter.get_total_flops()


def export(module, inputs, names, outputs, axes, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    made = {}
    dynamic = tuple({axis: made.setdefault(name, torch.export.Dim.DYNAMIC) for axis, name in axes.get(input, {}).items()} for input in names)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        program = torch.onnx.export(module.eval(), inputs, dynamo=True, opset_version=18, input_names=names, output_names=outputs, dynamic_shapes=(dynamic,), verbose=False)
    model = program.model_proto
    # Optimum's names of the open sizes.
    for input in model.graph.input:
        for axis, name in axes.get(input.name, {}).items():
            input.type.tensor_type.shape.dim[axis].dim_param = name
    for node in model.graph.node:
        del node.metadata_props[:]  # most of the file
    del model.graph.value_info[:]
    onnx.save(model, path)
    strip_weights(path, 8)


def export_parts(pipe, folder):
    ids = {"input_ids": {0: "batch_size", 1: "sequence_length"}}
    for name, length in (("text_encoder", 77), ("text_encoder_2", 77), ("text_encoder_3", 256)):
        part = getattr(pipe, name, None)
        if part is not None:
            fixed = isinstance(part, transformers.T5EncoderModel)
            export(Part(part, lambda p, ids: p(ids)[0]), (torch.zeros(2, 20 if fixed else 77, dtype=torch.long),), ["input_ids"], ["out"],
                   ids if fixed else {"input_ids": {0: "batch_size"}}, f"{folder}/{name}/model.onnx")
    latent = {0: "batch_size", 2: "latent_height", 3: "latent_width"}
    export(Part(pipe.vae, lambda p, x: p.decode(x, return_dict=False)[0]), (torch.zeros(2, pipe.vae.config.latent_channels, 16, 24),), ["latent_sample"], ["sample"], {"latent_sample": latent}, f"{folder}/vae_decoder/model.onnx")
    sample = {0: "batch_size", 2: "height", 3: "width"}
    if hasattr(pipe, "unet"):
        export(Part(pipe.unet, lambda p, x, t, text, embeds, ids: p(x, t, text, added_cond_kwargs={"text_embeds": embeds, "time_ids": ids}, return_dict=False)[0]),
               (torch.zeros(2, 4, 16, 24), torch.tensor(1), torch.zeros(2, 77, 72), torch.zeros(2, 32), torch.zeros(2, 6)), ["sample", "timestep", "encoder_hidden_states", "text_embeds", "time_ids"], ["out_sample"],
               {"sample": sample, **{n: {0: "batch_size"} for n in ("encoder_hidden_states", "text_embeds", "time_ids")}}, f"{folder}/unet/model.onnx")
    elif isinstance(pipe.transformer, diffusers.SD3Transformer2DModel):
        export(Part(pipe.transformer, lambda p, x, text, pooled, t: p(x, text, pooled, t, return_dict=False)[0]),
               (torch.zeros(2, 4, 16, 24), torch.zeros(2, 20, 32), torch.zeros(2, 64), torch.zeros(2)), ["hidden_states", "encoder_hidden_states", "pooled_projections", "timestep"], ["out_hidden_states"],
               {"hidden_states": sample, "encoder_hidden_states": {0: "batch_size", 1: "sequence_length"}, "pooled_projections": {0: "batch_size"}, "timestep": {0: "batch_size"}}, f"{folder}/transformer/model.onnx")
    else:
        export(Part(pipe.transformer, lambda p, x, text, pooled, t, image, words: p(x, text, pooled, t, image, words, return_dict=False)[0]),
               (torch.zeros(2, 48, 16), torch.zeros(2, 20, 32), torch.zeros(2, 32), torch.zeros(2), torch.zeros(48, 3), torch.zeros(20, 3)),
               ["hidden_states", "encoder_hidden_states", "pooled_projections", "timestep", "img_ids", "txt_ids"], ["out_hidden_states"],
               {"hidden_states": {0: "batch_size", 1: "packed_height_width"}, "encoder_hidden_states": {0: "batch_size", 1: "sequence_length"}, "pooled_projections": {0: "batch_size"}, "timestep": {0: "batch_size"},
                "img_ids": {0: "packed_height_width"}, "txt_ids": {0: "sequence_length"}}, f"{folder}/transformer/model.onnx")
    write(f"{folder}/vae_decoder/config.json", json.dumps({"_class_name": "AutoencoderKL", "block_out_channels": [32, 64], "latent_channels": 4}, indent=1) + "\n")
    write(f"{folder}/model_index.json", json.dumps({"_class_name": type(pipe).__name__, "_diffusers_version": diffusers.__version__}, indent=1) + "\n")


WHISPER = {"model_type": "whisper", "d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 56, "decoder_ffn_dim": 72,
           "num_mel_bins": 20, "max_source_positions": 50, "max_target_positions": 60, "vocab_size": 120, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3}
# The language, the task and "no timestamps" follow the first token, as in a Whisper of many languages.
MANY_LANGUAGES = {"is_multilingual": True, "lang_to_id": {"<|en|>": 5}, "task_to_id": {"transcribe": 6}, "no_timestamps_token_id": 7, "language": "en", "task": "transcribe"}
LLAVA_TEXT = {"model_type": "mistral", "hidden_size": 64, "intermediate_size": 100, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300, "sliding_window": None}
LLAVA = {"model_type": "llava", "text_config": LLAVA_TEXT, "image_token_id": 299,
         "vision_config": {"model_type": "clip_vision_model", "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 90, "image_size": 64, "patch_size": 16}}
LLAVA_FILE = """title = "a text about an image"
per = "answers"

[parameters]
answers = 1
prompt = 7        # tokens of the text; the image has 16
tokens = 10

[[stage]]
name = "image and prompt"
model = "config.json"
sizes = { batch = "answers", seq = "prompt" }

[[stage]]
name = "tokens"
model = "text/config.json"
for = "t < tokens - 1"
past = "prompt + 16 + t"
sizes = { batch = "answers" }
"""


def eager(config):
    made = transformers.AutoConfig.for_model(**config)
    made._attn_implementation = "eager"
    return made


def flops_of(run):
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def whisper_calls():
    for batch, tokens, beams, rules in [(1, 10, 1, {}), (3, 7, 1, {}), (2, 9, 4, {}), (1, 10, 1, MANY_LANGUAGES), (2, 5, 1, MANY_LANGUAGES)]:
        model = transformers.WhisperForConditionalGeneration(eager(WHISPER)).eval()
        for name, value in rules.items():
            setattr(model.generation_config, name, value)
        sound = torch.zeros(batch, WHISPER["num_mel_bins"], 2 * WHISPER["max_source_positions"])
        first = 4 if rules else 1
        flops = flops_of(lambda: model.generate(sound, max_new_tokens=tokens, min_new_tokens=tokens, num_beams=beams, do_sample=False, return_timestamps=False, early_stopping=False))
        yield {"model": "whisper-tiny", "call": {"first": first, "beams": beams}, "dims": {"answers": batch, "tokens": tokens, "beams": beams, **({"first_tokens": 4} if rules else {})}, "flops": flops}


def llava_calls():
    for batch, prompt, tokens in [(1, 7, 10), (3, 20, 4)]:
        model = transformers.LlavaForConditionalGeneration(eager(LLAVA)).eval()
        model._supports_logits_to_keep = lambda: False
        ids = torch.tensor([[299] * 16 + [5] * prompt] * batch)
        flops = flops_of(lambda: model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), pixel_values=torch.zeros(batch, 3, 64, 64), max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False,
                                                pad_token_id=0, eos_token_id=2))
        yield {"model": "llava-tiny", "call": {}, "dims": {"answers": batch, "prompt": prompt, "tokens": tokens}, "flops": flops}


class Decoder(torch.nn.Module):
    """Whisper's decoder with its cache as plain tensors: each layer's keys and values of itself and of the encoder."""

    def __init__(self, model, with_past):
        super().__init__()
        self.model, self.with_past = model, with_past

    def forward(self, ids, *rest):
        config = self.model.config
        cache = transformers.EncoderDecoderCache(transformers.DynamicCache(config=config), transformers.DynamicCache(config=config))
        if self.with_past:
            for layer in range(config.decoder_layers):
                cache.self_attention_cache.update(rest[4 * layer], rest[4 * layer + 1], layer)
                cache.cross_attention_cache.update(rest[4 * layer + 2], rest[4 * layer + 3], layer)
                cache.is_updated[layer] = True
            hidden = rest[2].new_zeros(1).expand(rest[2].shape[0], rest[2].shape[2], config.d_model)
        else:
            hidden = rest[0]
        out = self.model(decoder_input_ids=ids, encoder_outputs=(hidden,), past_key_values=cache, use_cache=True)
        made = [out.logits]
        for layer in range(config.decoder_layers):
            own, other = cache.self_attention_cache.layers[layer], cache.cross_attention_cache.layers[layer]
            made += [own.keys, own.values] + ([] if self.with_past else [other.keys, other.values])
        return tuple(made)


def export_traced(module, inputs, names, outputs, axes, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.onnx.export(module, inputs, path, dynamo=False, opset_version=17, input_names=names, output_names=outputs, dynamic_axes=axes)
    strip_weights(path, 8)


def export_whisper(folder):
    model = transformers.WhisperForConditionalGeneration(eager(WHISPER)).eval()
    batch, past, frames, layers = 2, 6, WHISPER["max_source_positions"], WHISPER["decoder_layers"]
    export_traced(Part(model.model.encoder, lambda p, x: p(x, return_dict=False)[0]), (torch.zeros(batch, WHISPER["num_mel_bins"], 2 * frames),), ["input_features"], ["last_hidden_state"],
                  {"input_features": {0: "batch_size"}}, f"{folder}/encoder_model.onnx")
    kinds = [(layer, part, which) for layer in range(layers) for part in ("decoder", "encoder") for which in ("key", "value")]
    presents = [f"present.{layer}.{part}.{which}" for layer, part, which in kinds]
    export_traced(Decoder(model, False), (torch.ones(batch, 4, dtype=torch.long), torch.zeros(batch, frames, WHISPER["d_model"])), ["input_ids", "encoder_hidden_states"], ["logits", *presents],
                  {"input_ids": {0: "batch_size", 1: "decoder_sequence_length"}, "encoder_hidden_states": {0: "batch_size", 1: "encoder_sequence_length"}}, f"{folder}/decoder_model.onnx")
    names = [f"past_key_values.{layer}.{part}.{which}" for layer, part, which in kinds]
    pasts = [torch.zeros(batch, WHISPER["decoder_attention_heads"], past if ".decoder." in name else frames, 8) for name in names]
    axes = {name: {0: "batch_size", 2: "past_decoder_sequence_length" if ".decoder." in name else "encoder_sequence_length"} for name in names}
    export_traced(Decoder(model, True), (torch.ones(batch, 1, dtype=torch.long), *pasts), ["input_ids", *names], ["logits", *(name for name in presents if ".decoder." in name)],
                  {"input_ids": {0: "batch_size"}, **axes}, f"{folder}/decoder_with_past_model.onnx")
    write(f"{folder}/config.json", json.dumps(WHISPER | {"architectures": ["WhisperForConditionalGeneration"]}, indent=1) + "\n")


def export_llava(folder):
    write(f"{folder}/config.json", json.dumps(LLAVA | {"architectures": ["LlavaForConditionalGeneration"]}, indent=1) + "\n")
    write(f"{folder}/text/config.json", json.dumps(LLAVA_TEXT | {"architectures": ["MistralForCausalLM"]}, indent=1) + "\n")
    write(f"{folder}/pipeline.toml", LLAVA_FILE)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def diffusion_calls(name):
    for arguments, dims in CALLS[name]:
        yield {"model": name, "call": arguments, "dims": dims, "flops": call_flops(MAKERS[name](), arguments)}


def main():
    folder = sys.argv[1]
    torch.manual_seed(0)
    calls = []
    for made in (whisper_calls(), llava_calls(), *map(diffusion_calls, CALLS)):
        for call in made:
            calls.append(call)
            print(call, flush=True)
    how = f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, diffusers {diffusers.__version__}, FlopCounterMode on the CPU, attention as products; see tools/export/whole_calls.py"
    write(f"{folder}/whole_calls.json", '{"how": ' + json.dumps(how) + ',\n"calls": [\n' + ",\n".join(" " + json.dumps(call) for call in calls) + "\n]}\n")
    export_whisper(f"{folder}/whisper-tiny")
    export_llava(f"{folder}/llava-tiny")
    for name, maker in MAKERS.items():
        export_parts(maker(), f"{folder}/{name}")


if __name__ == "__main__":
    main()
