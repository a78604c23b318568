"""What peft executes for LoRA: FLOPs (2 x MACs) of a forward pass and of a training step by torch's FlopCounterMode on the meta device, without weights. For QLoRA
on the CPU, with weights that bitsandbytes put into 4 bits.

  pip install torch==2.15.0 transformers==5.24.0 peft==0.21.2 bitsandbytes==0.50.2;  python3 tools/export/lora_truth.py tests/data/lora_truth.json

Writes {"how", "configs": {name: config}, "cases": [{"config", "lora", "trained", "dims", "forward_flops", "step_flops", "trained_params", "params"}]}. The step is a
forward pass and the backward pass of the sum of the logits; what peft freezes stays frozen. "lora" is what `onnxflops --lora` takes; where it is given again, with
spaces between, the later ones are peft's rank_pattern. "trained" are modules_to_save.
Cases of QLoRA also have "nf4": the layers in 4 bits, their weights, and the bytes of the tensors that bitsandbytes made: packed weights, and scales without and with
double quantisation.
"""
import json
import math
import sys
import warnings

warnings.filterwarnings("ignore")
import bitsandbytes
import peft
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

LLAMA = {"hidden_size": 64, "intermediate_size": 172, "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000}
BERT = {"hidden_size": 60, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 150, "vocab_size": 500}
CONFIGS = {
    "gpt2": {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 48, "n_layer": 3, "n_head": 4, "n_inner": 100, "vocab_size": 700, "tie_word_embeddings": True},
    "llama": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **LLAMA},
    "llama-biased": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **LLAMA, "attention_bias": True, "mlp_bias": True, "head_dim": 24, "tie_word_embeddings": True},
    "llama-bf16": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **LLAMA, "torch_dtype": "bfloat16"},
    "gpt-neox": {"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"], "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 90, "vocab_size": 400, "use_parallel_residual": True},
    "bert": {"model_type": "bert", "architectures": ["BertForMaskedLM"], **BERT},
    "bert-classifier": {"model_type": "bert", "architectures": ["BertForSequenceClassification"], **BERT, "num_labels": 3},
    "vit": {"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 72, "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 200, "image_size": 64, "patch_size": 16, "num_labels": 10},
    "t5": {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 64, "d_kv": 16, "d_ff": 100, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4, "vocab_size": 300},
}
TEXT, IMAGE = {"batch": 3, "seq": 11}, {"batch": 2}
# The configuration, what --lora takes, and modules_to_save.
CASES = [
    ("gpt2", "r=16:c_attn"), ("gpt2", "r=4,alpha=32:c_attn,c_proj,c_fc"), ("gpt2", "r=8:attn.c_proj"), ("gpt2", "r=8:mlp.c_proj"), ("gpt2", "r=3,rslora:all-linear"),
    ("gpt2", "r=5:lm_head"), ("gpt2", "r=64:transformer.h.1.attn.c_attn"), ("gpt2", "r=2:c_fc"),
    ("llama", "r=16:q_proj,v_proj"), ("llama", "r=8:k_proj"), ("llama", "r=8:o_proj,down_proj"), ("llama", "r=16:q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"),
    ("llama", "r=7:all-linear"), ("llama", "r=100:gate_proj"), ("llama", "r=16:layers.2.self_attn.v_proj"), ("llama", "r=16:lm_head"), ("llama", "r=1:v_proj", "lm_head"),
    ("llama-biased", "r=16:q_proj,v_proj"), ("llama-biased", "r=9:all-linear"), ("llama-bf16", "r=16:q_proj,v_proj"), ("llama-bf16", "r=6:all-linear"),
    ("gpt-neox", "r=8:query_key_value"), ("gpt-neox", "r=8:all-linear"),
    ("bert", "r=8:query,value"), ("bert", "r=8:output.dense"), ("bert", "r=8:all-linear"),
    ("bert-classifier", "r=8:query,value", "classifier"), ("bert-classifier", "r=8:intermediate.dense"), ("bert-classifier", "r=8:all-linear"), ("bert-classifier", "r=2:classifier"),
    ("vit", "r=16:q_proj,v_proj"), ("vit", "r=8:q_proj,v_proj", "classifier"), ("vit", "r=8:fc2"), ("vit", "r=4:projection"), ("vit", "r=8:all-linear"),
    ("t5", "r=8:q,v"), ("t5", "r=8:wo"), ("t5", "r=4:all-linear"),
    ("gpt2", "r=16,dora:c_attn"), ("gpt2", "r=3,dora:all-linear"), ("llama", "r=16,dora:q_proj,v_proj"), ("llama", "r=7,rslora,dora:all-linear"),
    ("llama", "r=1,dora:v_proj", "lm_head"), ("llama-biased", "r=9,dora:all-linear"), ("llama-bf16", "r=6,dora:q_proj,down_proj"), ("gpt-neox", "r=8,dora:all-linear"),
    ("bert", "r=8,dora:query,value"), ("bert-classifier", "r=8,dora:all-linear"), ("vit", "r=4,dora:projection"), ("vit", "r=8,dora:all-linear"), ("t5", "r=8,dora:q,v"),
    ("llama", "r=8:q_proj,v_proj r=4:v_proj"), ("llama", "r=8:all-linear r=32,alpha=16:q_proj r=2:layers.1.self_attn.q_proj"), ("gpt2", "r=8,dora:c_attn,c_fc r=3,dora:c_fc"),
    ("bert", "r=8:all-linear r=16:output.dense"), ("t5", "r=4:q,v,wo r=12:wo r=7:v"),
]
QLORA = [
    ("gpt2", "r=16,base=nf4:c_attn"), ("gpt2", "r=3,base=nf4:all-linear"), ("llama", "r=8,base=nf4:q_proj,v_proj"), ("llama", "r=7,base=nf4:all-linear"),
    ("llama", "r=1,base=nf4:v_proj", "lm_head"), ("llama-biased", "r=9,base=nf4:all-linear"), ("bert", "r=8,base=nf4:query,value"), ("bert", "r=8,base=nf4:output.dense"),
    ("gpt-neox", "r=8,base=nf4:query_key_value"),
]
# The product with packed weights is bitsandbytes' own operator in a forward pass; a backward pass unpacks them.
PRODUCTS = {torch.ops.bitsandbytes.gemm_4bit: lambda x, packed, shape, *_, **__: 2 * math.prod(x[:-1]) * math.prod(shape)}


def in_four_bits(model, double):
    """Each linear layer as bitsandbytes' Linear4bit on the CPU, except the one over the vocabulary."""
    output = model.get_output_embeddings()
    for name, layer in list(model.named_modules()):
        if layer is output or not isinstance(layer, (torch.nn.Linear, transformers.pytorch_utils.Conv1D)):
            continue
        weight = layer.weight.T if isinstance(layer, transformers.pytorch_utils.Conv1D) else layer.weight
        packed = bitsandbytes.nn.Linear4bit(weight.shape[1], weight.shape[0], layer.bias is not None, compute_dtype=torch.float32, compress_statistics=double, quant_type="nf4")
        packed.weight = bitsandbytes.nn.Params4bit(weight.detach().contiguous(), requires_grad=False, compress_statistics=double, quant_type="nf4", module=packed)
        packed.bias = layer.bias
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, packed.to("cpu"))
    model.is_loaded_in_4bit = True
    return model


def size_of(*tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def sizes_of(model):
    layers = [layer for layer in model.modules() if isinstance(layer, bitsandbytes.nn.Linear4bit)]
    states = [layer.weight.quant_state for layer in layers]
    scales = sum(size_of(s.absmax) + (size_of(s.state2.absmax, s.offset) if s.nested else 0) for s in states)
    return {"layers": len(layers), "weights": sum(s.shape.numel() for s in states), "packed_bytes": size_of(*(layer.weight for layer in layers)), "scale_bytes": scales}


def count_packed(name, text, saved=None):
    """A case with its base in 4 bits."""
    config_json = CONFIGS[name]
    config = transformers.AutoConfig.for_model(**{k: v for k, v in config_json.items() if k != "architectures"})
    config._attn_implementation = "eager"
    kind = getattr(transformers, config_json["architectures"][0])
    nf4 = sizes_of(in_four_bits(kind(config), False))
    nf4["scale_bytes_double"] = sizes_of(in_four_bits(kind(config), True))["scale_bytes"]
    model = peft.get_peft_model(in_four_bits(kind(config), False), lora_config(text, saved)).train()
    return {**run(model, config, name, text, saved, "cpu"), "nf4": nf4}


def lora_config(text, saved):
    lists = []
    for part in text.split():
        settings, targets = part.split(":")
        lists.append((dict(s.partition("=")[::2] for s in settings.split(",")), targets if targets == "all-linear" else targets.split(",")))
    settings, targets = lists[0]
    # The first pattern that fits decides there, and the last list here.
    ranks = {target: int(other["r"]) for other, names in reversed(lists[1:]) for target in names}
    alphas = {target: float(other.get("alpha", 8)) for other, names in reversed(lists[1:]) for target in names}
    return peft.LoraConfig(
        r=int(settings["r"]), lora_alpha=float(settings.get("alpha", 8)), use_rslora="rslora" in settings, use_dora="dora" in settings, rank_pattern=ranks,
        alpha_pattern=alphas, target_modules=targets, modules_to_save=[saved] if saved else None,
    )  # fmt: skip


def inputs_of(config, dims, device):
    if config.model_type == "vit":
        return {"pixel_values": torch.rand(dims["batch"], 3, config.image_size, config.image_size, device=device)}
    ids = torch.ones(dims["batch"], dims["seq"], dtype=torch.long, device=device)
    if config.model_type == "t5":
        return {"input_ids": ids, "decoder_input_ids": ids}
    if config.model_type == "bert":
        return {"input_ids": ids}
    # A mask that is given is not made, for which numbers would be looked at.
    mask = torch.zeros(dims["batch"], 1, dims["seq"], dims["seq"], device=device)
    return {"input_ids": ids, "attention_mask": mask, "use_cache": False}


def count(name, text, saved=None):
    config_json = CONFIGS[name]
    config = transformers.AutoConfig.for_model(**{k: v for k, v in config_json.items() if k != "architectures"})
    config._attn_implementation = "eager"
    with torch.device("meta"):
        model = getattr(transformers, config_json["architectures"][0])(config)
        model = model.to(getattr(torch, config_json.get("torch_dtype", "float32")))
        model = peft.get_peft_model(model, lora_config(text, saved)).train()
    return run(model, config, name, text, saved, "meta")


def run(model, config, name, text, saved, device):
    dims = IMAGE if config.model_type == "vit" else TEXT
    trained, params = model.get_nb_trainable_parameters()
    with FlopCounterMode(display=False, custom_mapping=PRODUCTS) as forward:
        logits = model(**inputs_of(config, dims, device)).logits
    with FlopCounterMode(display=False, custom_mapping=PRODUCTS) as backward:
        logits.sum().backward()
    if config.model_type == "t5":
        dims = {**dims, "decoder_seq": dims["seq"]}
    flops = forward.get_total_flops()
    return {"config": name, "lora": text, "trained": [saved] if saved else [], "dims": dims, "forward_flops": flops, "step_flops": flops + backward.get_total_flops(), "trained_params": trained, "params": params}


def main():
    cases = []
    for case in CASES + QLORA:
        try:
            cases.append((count_packed if "base=nf4" in case[1] else count)(*case))
            print(cases[-1], flush=True)
        except Exception as error:  # a name that this release of transformers does not have
            print("FAILED", case, type(error).__name__, str(error)[:300], flush=True)
    how = f"torch {torch.__version__}, transformers {transformers.__version__}, peft {peft.__version__}, bitsandbytes {bitsandbytes.__version__}: python3 tools/export/lora_truth.py tests/data/lora_truth.json"
    with open(sys.argv[1], "w") as file:
        file.write('{"how": ' + json.dumps(how) + ',\n"configs": {\n' + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in CONFIGS.items()) + "\n},\n")
        file.write('"cases": [\n' + ",\n".join(" " + json.dumps(case) for case in cases) + "\n]}\n")


if __name__ == "__main__":
    main()
