#!/usr/bin/env python3
"""Exports a transformers model, made from its configuration with random weights, and strips the weights.

Usage: export_transformers.py clip|bert|gpt2|t5|llama [--dynamic] [-o FILE]      needs: pip install torch transformers onnx onnxscript
"""
import argparse

import torch
import transformers

from strip import strip_weights


def build(name):
    """The model and its example inputs."""
    ids = torch.zeros(1, 128, dtype=torch.int64)
    mask = torch.ones(1, 128, dtype=torch.int64)
    if name == "bert":
        return transformers.BertModel(transformers.BertConfig()), {"input_ids": ids, "attention_mask": mask}
    if name == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False)), {"input_ids": ids, "attention_mask": mask}
    if name == "t5":
        config = transformers.T5Config(d_model=512, d_ff=2048, num_layers=6, num_heads=8, use_cache=False)
        return transformers.T5ForConditionalGeneration(config), {"input_ids": ids[:, :64], "attention_mask": mask[:, :64],
                                                                  "decoder_input_ids": ids[:, :16]}
    if name == "llama":
        config = transformers.LlamaConfig(hidden_size=512, intermediate_size=1376, num_hidden_layers=2, num_attention_heads=8,
                                          num_key_value_heads=2, vocab_size=32000, use_cache=False)
        return transformers.LlamaForCausalLM(config), {"input_ids": ids, "attention_mask": mask}
    vision = transformers.CLIPVisionConfig(hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16,
                                           image_size=336, patch_size=14)
    text = transformers.CLIPTextConfig(hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12)
    config = transformers.CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=768)
    return transformers.CLIPModel(config), {"input_ids": ids[:, :77], "pixel_values": torch.zeros(1, 3, 336, 336), "attention_mask": mask[:, :77]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=["clip", "bert", "gpt2", "t5", "llama"])
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("-o", "--output", default="model.onnx")
    args = parser.parse_args()
    model, inputs = build(args.name)
    axes = {name: {0: "batch", 1: "seq"} for name in inputs} if args.dynamic else None
    torch.onnx.export(model.eval(), (), args.output, kwargs=inputs, dynamo=False, opset_version=17, input_names=list(inputs), dynamic_axes=axes)
    strip_weights(args.output)


if __name__ == "__main__":
    main()
