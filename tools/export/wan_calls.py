#!/usr/bin/env python3
"""What whole calls of diffusers' WanPipeline execute, by torch's FlopCounterMode, for tiny models of the kinds of Wan 2.1 and of Wan 2.2, which has two transformers. Writes FOLDER/wan_calls.json, and
the models as Optimum lays them out, without weights.

  python3 tools/export/wan_calls.py FOLDER      (torch 2.15.0, transformers 5.24.0, diffusers 0.42.1, onnx 1.23.2, onnxscript)

A call is {"model", "call", "dims", "flops"}: "dims" are those that `onnxflops pipeline` takes for it. The export of the VAE's decoder fixes the number of frames, since it decodes one by one.
"""
import json
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
from whole_calls import Part, write

TEXT_WIDTH, FRAMES, CHANNELS = 32, 5, 16
LATENT_FRAMES = (FRAMES - 1) // 4 + 1


class Tokenizer:
    """A tokenizer whose tokens are all 0, with a mask that keeps seven of them."""

    def __call__(self, prompt, max_length=512, **_):
        count = 1 if isinstance(prompt, str) else len(prompt)
        mask = torch.zeros(count, max_length, dtype=torch.long)
        mask[:, :7] = 1
        return transformers.BatchEncoding({"input_ids": torch.zeros_like(mask), "attention_mask": mask})


def transformer():
    return diffusers.WanTransformer3DModel(
        patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=CHANNELS, out_channels=CHANNELS, text_dim=TEXT_WIDTH, freq_dim=64, ffn_dim=40, num_layers=2, cross_attn_norm=True,
        qk_norm="rms_norm_across_heads", rope_max_seq_len=64).eval()


def pipeline(**more):
    text = transformers.UMT5Config(d_model=TEXT_WIDTH, d_kv=8, d_ff=37, num_layers=2, num_heads=4, vocab_size=100)
    text._attn_implementation = "eager"
    vae = diffusers.AutoencoderKLWan(base_dim=8, z_dim=CHANNELS, dim_mult=[1, 2, 2, 2], num_res_blocks=1, temperal_downsample=[False, True, True])
    scheduler = diffusers.UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, num_train_timesteps=1000, flow_shift=3.0)
    return diffusers.WanPipeline(tokenizer=Tokenizer(), text_encoder=transformers.UMT5EncoderModel(text).eval(), vae=vae.eval(), scheduler=scheduler, transformer=transformer(), **more)


MAKERS = {"wan-tiny": pipeline, "wan22-tiny": lambda: pipeline(transformer_2=transformer(), boundary_ratio=0.875)}
CALLS = {
    "wan-tiny": [
        {"num_inference_steps": 3},
        {"guidance_scale": 1.0, "num_inference_steps": 2},
        {"negative_prompt": "no", "num_videos_per_prompt": 3, "num_inference_steps": 1},
        {"height": 48, "width": 64, "num_inference_steps": 2},
        {"max_sequence_length": 226, "num_inference_steps": 3},
        {"prompts": 2, "num_videos_per_prompt": 2, "height": 48, "width": 48, "num_inference_steps": 4},
    ],
    "wan22-tiny": [{"num_inference_steps": steps} for steps in (1, 3, 10, 33, 40)] + [{"num_inference_steps": 10, "guidance_scale": 1.0}],
}


def dims_of(call):
    prompts = call.get("prompts", 1)
    return {"videos": prompts * call.get("num_videos_per_prompt", 1), "prompts": prompts, "steps": call["num_inference_steps"], "guidance": 1 if call.get("guidance_scale") == 1.0 else 2,
            "text_tokens": call.get("max_sequence_length", 512), "pixels_high": call.get("height", 32), "pixels_wide": call.get("width", 32)}


def call_flops(pipe, call):
    arguments = {"height": 32, "width": 32, "num_frames": FRAMES, "guidance_scale": 5.0, **call}
    prompts = arguments.pop("prompts", 1)
    pipe.set_progress_bar_config(disable=True)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        pipe(prompt=["a"] * prompts if prompts > 1 else "a", output_type="np", **arguments)
    return counter.get_total_flops()


def export(part, call, inputs, axes, output, path):
    dynamic = tuple({axis: torch.export.Dim.DYNAMIC for axis in of} for of in axes.values())
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        program = torch.onnx.export(Part(part, call).eval(), inputs, dynamo=True, opset_version=18, input_names=list(axes), output_names=[output], dynamic_shapes=(dynamic,), verbose=False)
    model = program.model_proto
    for given in model.graph.input:
        for axis, name in axes[given.name].items():
            given.type.tensor_type.shape.dim[axis].dim_param = name
    for node in model.graph.node:
        del node.metadata_props[:]
    del model.graph.value_info[:]
    write(path, "")
    onnx.save(model, path)
    strip_weights(path, 8)


def config_text(part):
    return json.dumps({"_class_name": type(part).__name__, **{key: value for key, value in part.config.items() if not key.startswith("_")}}, indent=1) + "\n"


def export_parts(pipe, folder):
    text = {0: "batch_size", 1: "sequence_length"}
    ids = torch.zeros(2, 20, dtype=torch.long)
    export(pipe.text_encoder, lambda part, ids, mask: part(ids, mask)[0], (ids, torch.ones_like(ids)), {"input_ids": text, "attention_mask": text}, "last_hidden_state", f"{folder}/text_encoder/model.onnx")
    latents = {0: "batch_size", 2: "num_frames", 3: "height", 4: "width"}
    for name in ("transformer", "transformer_2"):
        if getattr(pipe, name, None) is None:
            continue
        part = getattr(pipe, name)
        export(part, lambda part, *inputs: part(*inputs, return_dict=False)[0], (torch.zeros(2, CHANNELS, 3, 4, 6), torch.zeros(2), torch.zeros(2, 20, TEXT_WIDTH)),
               {"hidden_states": latents, "timestep": {0: "batch_size"}, "encoder_hidden_states": text}, "out_sample", f"{folder}/{name}/model.onnx")
        write(f"{folder}/{name}/config.json", config_text(part))
    export(pipe.vae, lambda part, latent: part.decode(latent, return_dict=False)[0], (torch.zeros(2, CHANNELS, LATENT_FRAMES, 4, 6),),
           {"latent_sample": {0: "batch_size", 3: "latent_height", 4: "latent_width"}}, "sample", f"{folder}/vae_decoder/model.onnx")
    write(f"{folder}/vae_decoder/config.json", config_text(pipe.vae))
    index = {"_class_name": "WanPipeline", **{key: value for key, value in pipe.config.items() if not key.startswith("_")}}
    write(f"{folder}/model_index.json", json.dumps(index | {"tokenizer": ["transformers", "T5TokenizerFast"]}, indent=1) + "\n")
    pipe.scheduler.save_pretrained(f"{folder}/scheduler")


def main():
    folder = sys.argv[1]
    torch.manual_seed(0)
    calls = []
    for name, maker in MAKERS.items():
        for call in CALLS[name]:
            calls.append({"model": name, "call": call, "dims": dims_of(call), "flops": call_flops(maker(), call)})
            print(calls[-1], flush=True)
        export_parts(maker(), f"{folder}/{name}")
    how = f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, diffusers {diffusers.__version__}, FlopCounterMode on the CPU, attention as products; see tools/export/wan_calls.py"
    write(f"{folder}/wan_calls.json", '{"how": ' + json.dumps(how) + ',\n"calls": [\n' + ",\n".join(" " + json.dumps(call) for call in calls) + "\n]}\n")


if __name__ == "__main__":
    main()
