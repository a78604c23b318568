"""What peft executes for LoRA: FLOPs (2 x MACs) of a forward pass and of a training step by torch's FlopCounterMode on the meta device, without weights.

  pip install torch==2.15.0 transformers==5.24.0 peft==0.21.2;  python3 tools/export/lora_truth.py tests/data/lora_truth.json

Writes {"how", "configs": {name: config}, "cases": [{"config", "lora", "trained", "dims", "forward_flops", "step_flops", "trained_params", "params"}]}. The step is a
forward pass and the backward pass of the sum of the logits; what peft freezes stays frozen. "lora" is what `onnxflops --lora` takes. "trained" are modules_to_save.
"""
import json
import sys
import warnings

warnings.filterwarnings("ignore")
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
]


def lora_config(text, saved):
    settings, targets = text.split(":")
    settings = dict(s.partition("=")[::2] for s in settings.split(","))
    targets = targets if targets == "all-linear" else targets.split(",")
    return peft.LoraConfig(r=int(settings["r"]), lora_alpha=float(settings.get("alpha", 8)), use_rslora="rslora" in settings, target_modules=targets, modules_to_save=[saved] if saved else None)


def inputs_of(config, dims):
    if config.model_type == "vit":
        return {"pixel_values": torch.rand(dims["batch"], 3, config.image_size, config.image_size, device="meta")}
    ids = torch.ones(dims["batch"], dims["seq"], dtype=torch.long, device="meta")
    if config.model_type == "t5":
        return {"input_ids": ids, "decoder_input_ids": ids}
    if config.model_type == "bert":
        return {"input_ids": ids}
    # A mask that is given is not made, for which numbers would be looked at.
    mask = torch.zeros(dims["batch"], 1, dims["seq"], dims["seq"], device="meta")
    return {"input_ids": ids, "attention_mask": mask, "use_cache": False}


def count(name, text, saved=None):
    config_json = CONFIGS[name]
    config = transformers.AutoConfig.for_model(**{k: v for k, v in config_json.items() if k != "architectures"})
    config._attn_implementation = "eager"
    with torch.device("meta"):
        model = getattr(transformers, config_json["architectures"][0])(config)
        model = model.to(getattr(torch, config_json.get("torch_dtype", "float32")))
        model = peft.get_peft_model(model, lora_config(text, saved)).train()
    dims = IMAGE if config.model_type == "vit" else TEXT
    trained, params = model.get_nb_trainable_parameters()
    with FlopCounterMode(display=False) as forward:
        logits = model(**inputs_of(config, dims)).logits
    with FlopCounterMode(display=False) as backward:
        logits.sum().backward()
    if config.model_type == "t5":
        dims = {**dims, "decoder_seq": dims["seq"]}
    flops = forward.get_total_flops()
    return {"config": name, "lora": text, "trained": [saved] if saved else [], "dims": dims, "forward_flops": flops, "step_flops": flops + backward.get_total_flops(), "trained_params": trained, "params": params}


def main():
    cases = []
    for case in CASES:
        try:
            cases.append(count(*case))
            print(cases[-1], flush=True)
        except Exception as error:  # a name that this release of transformers does not have
            print("FAILED", case, type(error).__name__, str(error)[:300], flush=True)
    how = f"torch {torch.__version__}, transformers {transformers.__version__}, peft {peft.__version__}: python3 tools/export/lora_truth.py tests/data/lora_truth.json"
    with open(sys.argv[1], "w") as file:
        file.write('{"how": ' + json.dumps(how) + ',\n"configs": {\n' + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in CONFIGS.items()) + "\n},\n")
        file.write('"cases": [\n' + ",\n".join(" " + json.dumps(case) for case in cases) + "\n]}\n")


if __name__ == "__main__":
    main()
