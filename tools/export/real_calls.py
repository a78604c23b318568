#!/usr/bin/env python3
"""What whole calls of diffusers execute for models of their real sizes, by torch's FlopCounterMode on the device meta: Stable Diffusion 1.5 and 2.1, SDXL,
Stable Diffusion 3 medium and Flux dev, from the prompt to the image. Writes FOLDER/real_calls.json, and the models as Optimum lays them out, without weights.

  PYTHONPATH=... python3 tools/export/real_calls.py FOLDER [NAME...]      (torch 2.15.0, transformers 5.24.0, diffusers 0.42.1, onnxscript, onnxflops)

Configurations are those that are published with the models. The package onnxflops exports modules on the device meta; it counts nothing here. Entries are those
of whole_calls.py.
"""
import functools
import json
import os
import sys

import diffusers
import onnx
import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from onnxflops import _torch as exporter
from whole_calls import LongTokenizer, Part, Tokenizer, write

VAE = {"in_channels": 3, "out_channels": 3, "down_block_types": ["DownEncoderBlock2D"] * 4, "up_block_types": ["UpDecoderBlock2D"] * 4, "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2}
WIDE_VAE = {**VAE, "latent_channels": 16, "use_quant_conv": False, "use_post_quant_conv": False}  # of SD 3 and Flux
# CLIP ViT-L/14, OpenCLIP ViT-H/14 without its last layer, OpenCLIP ViT-bigG/14, and T5 1.1 XXL.
CLIP_L = {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12, "vocab_size": 49408, "projection_dim": 768}
CLIP_H = {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 23, "vocab_size": 49408, "projection_dim": 512, "hidden_act": "gelu"}
CLIP_G = {"hidden_size": 1280, "intermediate_size": 5120, "num_attention_heads": 20, "num_hidden_layers": 32, "vocab_size": 49408, "projection_dim": 1280, "hidden_act": "gelu"}
T5_XXL = {"d_model": 4096, "d_kv": 64, "d_ff": 10240, "num_layers": 24, "num_heads": 64, "vocab_size": 32128, "feed_forward_proj": "gated-gelu"}
SD15_UNET = {"sample_size": 64, "cross_attention_dim": 768, "attention_head_dim": 8, "block_out_channels": [320, 640, 1280, 1280]}
SD21_UNET = {**SD15_UNET, "sample_size": 96, "cross_attention_dim": 1024, "attention_head_dim": [5, 10, 20, 20], "use_linear_projection": True}
SDXL_UNET = {
    "sample_size": 128, "cross_attention_dim": 2048, "attention_head_dim": [5, 10, 20], "block_out_channels": [320, 640, 1280], "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
    "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"], "transformer_layers_per_block": [1, 2, 10], "use_linear_projection": True, "addition_embed_type": "text_time",
    "addition_time_embed_dim": 256, "projection_class_embeddings_input_dim": 2816}
SD3 = {"sample_size": 128, "patch_size": 2, "in_channels": 16, "out_channels": 16, "num_layers": 24, "attention_head_dim": 64, "num_attention_heads": 24, "joint_attention_dim": 4096,
       "caption_projection_dim": 1536, "pooled_projection_dim": 2048, "pos_embed_max_size": 192}
FLUX = {"patch_size": 1, "in_channels": 64, "num_layers": 19, "num_single_layers": 38, "attention_head_dim": 128, "num_attention_heads": 24, "joint_attention_dim": 4096, "pooled_projection_dim": 768, "guidance_embeds": True}


def clip_text(config, projected=False):
    made = transformers.CLIPTextConfig(**config, bos_token_id=0, eos_token_id=2, attn_implementation="eager")
    return (transformers.CLIPTextModelWithProjection if projected else transformers.CLIPTextModel)(made)


def t5_text():
    return transformers.T5EncoderModel(transformers.T5Config(**T5_XXL))


def on_cpu(kind, **config):
    """A scheduler whose numbers have values: it looks steps up."""

    class Scheduler(kind):
        @functools.wraps(kind.set_timesteps)
        def set_timesteps(self, *arguments, device=None, **rest):
            return super().set_timesteps(*arguments, **rest)

    with torch.device("cpu"):
        return Scheduler(**config)


def stable_diffusion(text, unet, scheduler, size):
    return diffusers.StableDiffusionPipeline(
        vae=diffusers.AutoencoderKL(**VAE, latent_channels=4, sample_size=size), text_encoder=clip_text(text), tokenizer=Tokenizer(), unet=diffusers.UNet2DConditionModel(**unet),
        scheduler=scheduler, safety_checker=None, feature_extractor=None, requires_safety_checker=False)


def sd15():
    return stable_diffusion(CLIP_L, SD15_UNET, on_cpu(diffusers.PNDMScheduler, skip_prk_steps=True), 512)


def sd21():
    return stable_diffusion(CLIP_H, SD21_UNET, on_cpu(diffusers.DDIMScheduler, prediction_type="v_prediction"), 768)


def sdxl():
    return diffusers.StableDiffusionXLPipeline(
        vae=diffusers.AutoencoderKL(**VAE, latent_channels=4, sample_size=1024), text_encoder=clip_text(CLIP_L), text_encoder_2=clip_text(CLIP_G, True), tokenizer=Tokenizer(), tokenizer_2=Tokenizer(),
        unet=diffusers.UNet2DConditionModel(**SDXL_UNET), scheduler=on_cpu(diffusers.EulerDiscreteScheduler), add_watermarker=False)


def sd3():
    return diffusers.StableDiffusion3Pipeline(
        transformer=diffusers.SD3Transformer2DModel(**SD3), scheduler=on_cpu(diffusers.FlowMatchEulerDiscreteScheduler), vae=diffusers.AutoencoderKL(**WIDE_VAE, sample_size=1024, shift_factor=0.0609),
        text_encoder=clip_text(CLIP_L, True), tokenizer=Tokenizer(), text_encoder_2=clip_text(CLIP_G, True), tokenizer_2=Tokenizer(), text_encoder_3=t5_text(), tokenizer_3=LongTokenizer())


def flux():
    return diffusers.FluxPipeline(
        scheduler=on_cpu(diffusers.FlowMatchEulerDiscreteScheduler), vae=diffusers.AutoencoderKL(**WIDE_VAE, sample_size=1024, shift_factor=0.1159), text_encoder=clip_text(CLIP_L), tokenizer=Tokenizer(),
        text_encoder_2=t5_text(), tokenizer_2=LongTokenizer(), transformer=diffusers.FluxTransformer2DModel(**FLUX))


MAKERS = {"sd15": sd15, "sd21": sd21, "sdxl": sdxl, "sd3-medium": sd3, "flux-dev": flux}
# Few steps: each one is the same work. All else is as each class assumes it, and as `onnxflops pipeline` does for its folder. PNDM has one more run than steps.
CALLS = {
    "sd15": [({"size": 512, "num_inference_steps": 5}, {"steps": 6})],
    "sd21": [({"size": 768, "num_inference_steps": 3}, {"steps": 3})],
    "sdxl": [({"size": 1024, "num_inference_steps": 1, "negative_prompt": "no"}, {"steps": 1, "negative_prompts": 1}), ({"size": 1024, "num_inference_steps": 2}, {"steps": 2})],
    "sd3-medium": [({"size": 1024, "num_inference_steps": 2}, {"steps": 2})],
    "flux-dev": [({"size": 1024, "num_inference_steps": 2}, {"steps": 2})],
}


def build(name):
    with torch.device("meta"):
        pipe = MAKERS[name]()
    for part in pipe.components.values():
        if isinstance(part, torch.nn.Module):
            part.eval().register_forward_pre_hook(on_meta, with_kwargs=True)
    return pipe


def on_meta(_, inputs, named):
    """Numbers of the scheduler have values, those of the models none."""
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.to("meta"), (inputs, named))


def call_flops(pipe, arguments):
    arguments = dict(arguments)
    size = arguments.pop("size")
    pipe.set_progress_bar_config(disable=True)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        pipe("a", height=size, width=size, output_type="pt", **arguments)
    return counter.get_total_flops()


def export(module, inputs, names, axes, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    dynamic = tuple({axis: torch.export.Dim.DYNAMIC for axis in axes.get(name, {})} for name in names)
    module = module.eval()
    with torch.no_grad(), exporter._quiet(), exporter._fake(module):
        program = exporter.to_onnx(module, inputs, None, (dynamic,))
    exporter._add_unused(program.model, module)
    model = onnx.load_from_string(exporter._without_weights(program.model))
    for input, name in zip(model.graph.input, names):
        for axis, size in axes.get(name, {}).items():
            input.type.tensor_type.shape.dim[axis].dim_param = size
        rename(model.graph, input.name, name)
    for node in model.graph.node:
        del node.metadata_props[:]
        node.ClearField("name")
    for tensor in model.graph.initializer:
        del tensor.external_data[2:]  # offset and length
    del model.graph.value_info[:]
    del model.metadata_props[:]
    onnx.save(model, path)


def rename(graph, old, new):
    for value in graph.input:
        value.name = new if value.name == old else value.name
    for node in graph.node:
        for i, name in enumerate(node.input):
            if name == old:
                node.input[i] = new


def export_texts(pipe, folder):
    for name in ("text_encoder", "text_encoder_2", "text_encoder_3"):
        part = getattr(pipe, name, None)
        if part is None:
            continue
        axes = {0: "batch_size", 1: "sequence_length"} if isinstance(part, transformers.T5EncoderModel) else {0: "batch_size"}
        export(Part(part, lambda p, ids: p(ids)[0]), (torch.zeros(2, 77, dtype=torch.long),), ["input_ids"], {"input_ids": axes}, f"{folder}/{name}/model.onnx")


def export_denoiser(pipe, folder):
    sample, one = {0: "batch_size", 2: "height", 3: "width"}, {0: "batch_size"}
    text = {0: "batch_size", 1: "sequence_length"}
    zeros = torch.zeros
    if isinstance(pipe, diffusers.StableDiffusionPipeline):
        export(Part(pipe.unet, lambda p, x, t, text: p(x, t, text, return_dict=False)[0]), (zeros(2, 4, 64, 96), torch.tensor(1), zeros(2, 77, pipe.unet.config.cross_attention_dim)), ["sample", "timestep", "encoder_hidden_states"],
               {"sample": sample, "encoder_hidden_states": one}, f"{folder}/unet/model.onnx")
    elif isinstance(pipe, diffusers.StableDiffusionXLPipeline):
        export(Part(pipe.unet, lambda p, x, t, text, embeds, ids: p(x, t, text, added_cond_kwargs={"text_embeds": embeds, "time_ids": ids}, return_dict=False)[0]),
               (zeros(2, 4, 64, 96), torch.tensor(1), zeros(2, 77, 2048), zeros(2, 1280), zeros(2, 6)), ["sample", "timestep", "encoder_hidden_states", "text_embeds", "time_ids"],
               {"sample": sample, **{name: one for name in ("encoder_hidden_states", "text_embeds", "time_ids")}}, f"{folder}/unet/model.onnx")
    elif isinstance(pipe, diffusers.StableDiffusion3Pipeline):
        export(Part(pipe.transformer, lambda p, x, text, pooled, t: p(x, text, pooled, t, return_dict=False)[0]), (zeros(2, 16, 64, 96), zeros(2, 20, 4096), zeros(2, 2048), zeros(2)),
               ["hidden_states", "encoder_hidden_states", "pooled_projections", "timestep"], {"hidden_states": sample, "encoder_hidden_states": text, "pooled_projections": one, "timestep": one}, f"{folder}/transformer/model.onnx")
    else:
        packed = "packed_height_width"
        export(Part(pipe.transformer, lambda p, x, text, pooled, t, image, words, strength: p(x, text, pooled, t, image, words, strength, return_dict=False)[0]),
               (zeros(2, 48, 64), zeros(2, 20, 4096), zeros(2, 768), zeros(2), zeros(48, 3), zeros(20, 3), zeros(2)),
               ["hidden_states", "encoder_hidden_states", "pooled_projections", "timestep", "img_ids", "txt_ids", "guidance"],
               {"hidden_states": {0: "batch_size", 1: packed}, "encoder_hidden_states": text, "pooled_projections": one, "timestep": one, "img_ids": {0: packed}, "txt_ids": {0: "sequence_length"}, "guidance": one},
               f"{folder}/transformer/model.onnx")


def export_parts(pipe, folder):
    for part in pipe.components.values():
        if isinstance(part, torch.nn.Module):
            part._forward_pre_hooks.clear()
            part._forward_pre_hooks_with_kwargs.clear()
    export_texts(pipe, folder)
    latent = {0: "batch_size", 2: "latent_height", 3: "latent_width"}
    pipe.vae.encoder, pipe.vae.quant_conv = torch.nn.Identity(), None
    export(Part(pipe.vae, lambda p, x: p.decode(x, return_dict=False)[0]), (torch.zeros(2, pipe.vae.config.latent_channels, 16, 24),), ["latent_sample"], {"latent_sample": latent}, f"{folder}/vae_decoder/model.onnx")
    export_denoiser(pipe, folder)
    write(f"{folder}/vae_decoder/config.json", json.dumps({"_class_name": "AutoencoderKL", "block_out_channels": VAE["block_out_channels"], "latent_channels": pipe.vae.config.latent_channels}, indent=1) + "\n")
    denoiser = "unet" if hasattr(pipe, "unet") else "transformer"
    config = getattr(pipe, denoiser).config
    sizes = {key: config[key] for key in ("sample_size",) if key in config}
    write(f"{folder}/{denoiser}/config.json", json.dumps({"_class_name": type(getattr(pipe, denoiser)).__name__, **sizes}, indent=1) + "\n")
    write(f"{folder}/model_index.json", json.dumps({"_class_name": type(pipe).__name__, "_diffusers_version": diffusers.__version__}, indent=1) + "\n")


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(CALLS)
    calls = []
    for name in names:
        pipe = build(name)
        for arguments, dims in CALLS[name]:
            calls.append({"model": name, "call": arguments, "dims": dims, "flops": call_flops(pipe, arguments)})
            print(calls[-1], flush=True)
        export_parts(pipe, f"{folder}/{name}")
    how = f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, diffusers {diffusers.__version__}, FlopCounterMode on the device meta, attention as products; see tools/export/real_calls.py"
    write(f"{folder}/real_calls.json", '{"how": ' + json.dumps(how) + ',\n"calls": [\n' + ",\n".join(" " + json.dumps(call) for call in calls) + "\n]}\n")


if __name__ == "__main__":
    main()
