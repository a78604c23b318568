"""Trainings of adapters: the callbacks count what torch executes."""

import json
import warnings

import onnxflops
import pytest
from conftest import ROOT
from onnxflops._trained import as_trained
from training import Clock, configured, need

CONFIGS = json.loads((ROOT / "tests/data/lora_truth.json").read_text())["configs"]
SIZES = {"batch": 2, "seq": 16}


def built(name, **adapters):
    """A model of transformers with adapters of PEFT."""
    _, transformers, peft = need("torch", "transformers", "peft")
    config = transformers.AutoConfig.for_model(**{k: v for k, v in CONFIGS[name].items() if k != "architectures"})
    config._attn_implementation = "eager"
    config.use_cache = False
    module = transformers.AutoModelForCausalLM.from_config(config)
    return peft.get_peft_model(module, peft.LoraConfig(task_type="CAUSAL_LM", **adapters)) if adapters else module


def executed(module):
    """The FLOPs of a step, by FlopCounterMode."""
    torch, *_ = need("torch")
    from torch.utils.flop_counter import FlopCounterMode

    ids = torch.zeros(*SIZES.values(), dtype=torch.int64)
    with FlopCounterMode(display=False) as counter:
        module(input_ids=ids, labels=ids).loss.backward()
    return counter.get_total_flops()


def refuse(text):
    raise AssertionError(text)


@pytest.mark.parametrize(
    ("name", "adapters"),
    [
        ("llama", {"r": 8, "target_modules": ["q_proj", "v_proj"]}),
        ("llama", {"r": 4, "target_modules": "all-linear"}),
        ("llama", {"r": 4, "target_modules": r".*\.1\..*(q|down)_proj"}),
        ("llama", {"r": 2, "target_modules": ["o_proj"], "layers_to_transform": [0, 2], "use_rslora": True}),
        ("llama", {"r": 8, "target_modules": ["q_proj", "v_proj"], "rank_pattern": {"v_proj": 4}}),
        ("llama", {"r": 8, "target_modules": ["q_proj", "v_proj"], "rank_pattern": {"layers.1.self_attn.q_proj": 5}}),
        ("llama-biased", {"r": 8, "target_modules": ["q_proj", "v_proj"], "use_dora": True}),
        ("gpt2", {"r": 8, "target_modules": ["c_attn", "c_fc"], "rank_pattern": {"c_fc": 2}, "use_dora": True}),
        ("gpt2", {"r": 8, "target_modules": ["c_attn"]}),
        ("gpt2", {"r": 8, "target_modules": ["attn.c_proj"], "fan_in_fan_out": True}),
    ],
)
def test_count_of_adapters(name, adapters, tmp_path):
    module = built(name, **adapters)
    report = as_trained(configured(CONFIGS[name], tmp_path), module, refuse)
    assert 2 * (report.macs + report.backward_macs).evaluate(**SIZES) == executed(module)


@pytest.mark.parametrize(
    ("name", "more", "adapters"),
    [
        ("llama", {}, {"r": 8, "target_modules": ["q_proj", "v_proj"]}),
        ("llama", {}, {"r": 4, "target_modules": ["q_proj"], "layers_to_transform": [1]}),
        ("llama", {"tie_word_embeddings": True}, {"r": 4, "target_modules": ["q_proj"], "layers_to_transform": [1]}),
        ("gpt2", {}, {"r": 8, "target_modules": ["c_attn"]}),
    ],
)
def test_gradients_of_inputs(name, more, adapters, tmp_path, monkeypatch):
    """Gradients go on before the first adapter where the embeddings' outputs need them, also where the logits have the same weights."""
    monkeypatch.setitem(CONFIGS, name, {**CONFIGS[name], **more})
    module, model = built(name, **adapters), configured(CONFIGS[name], tmp_path)
    before = as_trained(model, module, refuse)
    assert 2 * (before.macs + before.backward_macs).evaluate(**SIZES) == executed(module)
    module.enable_input_require_grads()
    report = as_trained(model, module, refuse)
    assert 2 * (report.macs + report.backward_macs).evaluate(**SIZES) == executed(module) > 2 * (before.macs + before.backward_macs).evaluate(**SIZES)


def test_gradients_of_inputs_that_cannot_be_counted(tmp_path, monkeypatch):
    model, module = configured(CONFIGS["llama"], tmp_path), built("llama", r=8, target_modules=["q_proj"])
    module.enable_input_require_grads()
    monkeypatch.setattr("onnxflops._trained._first_trained", lambda module: "no.such.weight")
    told = []
    assert as_trained(model, module, told.append).macs == model.count(lora="r=8:q_proj").macs
    assert len(told) == 1 and "enable_input_require_grads(), gradient checkpointing" in told[0]


def test_adapters_of_a_file():
    """The file is an export of the PeftModel: nothing is added to it."""
    torch, *_ = need("torch", "onnxscript", "peft")
    module = built("llama", r=8, target_modules=["q_proj", "v_proj"])
    model = onnxflops.from_torch(module.eval(), torch.zeros(*SIZES.values(), dtype=torch.int64))
    report = as_trained(model, module, refuse)
    assert 2 * (report.macs + report.backward_macs) == executed(module)


@pytest.mark.parametrize(
    ("adapters", "message"),
    [
        ({"modules_to_save": ["lm_head"]}, r"lm_head\.modules_to_save.*trained="),
        ({"bias": "lora_only"}, r"q_proj\.base_layer\.bias"),
        ({"target_parameters": ["mlp.gate_proj.weight"]}, r"mlp\.gate_proj\.weight itself \(target_parameters\)"),
    ],
)
def test_adapters_that_lora_does_not_have(adapters, message, tmp_path):
    module = built("llama-biased", r=8, target_modules=["q_proj", "v_proj"], **adapters)
    with pytest.raises(onnxflops.InvalidError, match=message):
        as_trained(configured(CONFIGS["llama-biased"], tmp_path), module, refuse)


def test_adapters_of_another_model(tmp_path):
    with pytest.raises(onnxflops.OnnxflopsError, match="names no linear layer"):
        as_trained(configured(CONFIGS["gpt2"], tmp_path), built("llama", r=8, target_modules=["q_proj"]), refuse)
    smaller = {**CONFIGS["llama"], "num_hidden_layers": 2}
    with pytest.raises(onnxflops.InvalidError, match="adapters of PEFT train 3,072 parameters, and .* has 2,048"):
        as_trained(configured(smaller, tmp_path), built("llama", r=8, target_modules=["q_proj"]), refuse)


def test_a_part_that_trains(tmp_path):
    """A training of all is counted as always. A report is what its user made it: a warning tells what it leaves out."""
    model = configured(CONFIGS["llama"], tmp_path)
    module = built("llama")
    assert as_trained(model, module, refuse) is model
    for parameter in module.model.parameters():
        parameter.requires_grad = False
    with pytest.warns(RuntimeWarning, match=r"64,000 of 258,240 parameters train.*count\(backward='exact', trained="):
        assert as_trained(model, module, lambda text: warnings.warn(text, RuntimeWarning, stacklevel=1)) is model
    part = model.count(backward="exact", trained=["*lm_head*"])
    assert as_trained(part, module, refuse) is part
    adapted = built("llama", r=8, target_modules=["q_proj"])
    whole = model.count()
    with pytest.warns(RuntimeWarning, match=r"count\(lora='r=8:q_proj'\)"):
        assert as_trained(whole, adapted, lambda text: warnings.warn(text, RuntimeWarning, stacklevel=1)) is whole
    own = model.count(lora="r=8:q_proj")
    assert as_trained(own, adapted, refuse) is own


def steps_of(perf):
    """The FLOPs of a step in each result."""
    found, original = [], perf.metrics

    def metrics(step, seconds, steps, flops, *others):
        found.append(flops / steps)
        return original(step, seconds, steps, flops, *others)

    perf.metrics = metrics
    return found


@pytest.mark.parametrize("checkpoints", [False, True])
def test_hugging_face_adapters(tmp_path, checkpoints):
    """Gradient checkpointing makes the gradients go on to the inputs; what it computes again is no work of MFU."""
    torch, transformers, *_ = need("torch", "transformers", "accelerate", "peft")
    from onnxflops.huggingface import add_perf

    model = configured(CONFIGS["llama"], tmp_path)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=2, logging_steps=1, per_device_train_batch_size=2, report_to="none", use_cpu=True,
        save_strategy="no", disable_tqdm=True, gradient_checkpointing=checkpoints,
    )  # fmt: skip
    ids = torch.arange(SIZES["seq"])
    module = built("llama", r=8, target_modules=["q_proj", "v_proj"])
    trainer = transformers.Trainer(module, arguments, train_dataset=[{"input_ids": ids, "labels": ids}] * 4)
    steps = steps_of(add_perf(trainer, model, peak=1e12).perf)
    trainer.train()
    module.gradient_checkpointing_disable()
    if checkpoints:
        module.enable_input_require_grads()
    report = model.count(lora="r=8:q_proj,v_proj", trained=["*embed_tokens*"] if checkpoints else (), **SIZES)
    assert 2 * (report.macs + report.backward_macs) == executed(module)
    assert steps == [report.training_flops] * 2


def test_lightning_adapters(tmp_path):
    lightning = need("lightning", "peft")[0]
    torch, *_ = need("torch")
    from onnxflops.lightning import PerfCallback

    model = configured(CONFIGS["llama"], tmp_path)

    class Module(lightning.pytorch.LightningModule):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def training_step(self, batch, index):
            return self.inner(**batch, labels=batch["input_ids"]).loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    def trained(module):
        callback = PerfCallback(model, peak=1e12, every=1, clock=Clock())
        steps = steps_of(callback.perf)
        trainer = lightning.pytorch.Trainer(
            max_steps=1, accelerator="cpu", callbacks=[callback], logger=False, enable_progress_bar=False, enable_checkpointing=False
        )
        batch = {"input_ids": torch.zeros(*SIZES.values(), dtype=torch.int64)}
        trainer.fit(Module(module), torch.utils.data.DataLoader([batch], batch_size=None))
        return steps

    assert trained(built("llama", r=8, target_modules=["q_proj", "v_proj"])) == [model.count(lora="r=8:q_proj,v_proj", **SIZES).training_flops]
    assert trained(built("llama")) == [model.count(**SIZES).training_flops]
    ranks = model.count(lora=["r=8:q_proj", "r=4:v_proj"], **SIZES)
    assert trained(built("llama", r=8, target_modules=["q_proj", "v_proj"], rank_pattern={"v_proj": 4})) == [ranks.training_flops]
    module = built("llama", r=8, target_modules=["q_proj", "v_proj"])
    module.enable_input_require_grads()
    assert trained(module) == [model.count(lora="r=8:q_proj,v_proj", trained=["*embed_tokens*"], **SIZES).training_flops]
    with pytest.warns(RuntimeWarning, match="training of all parameters: adapters of PEFT train, and lm_head"):
        trained(built("llama", r=8, target_modules=["q_proj", "v_proj"], modules_to_save=["lm_head"]))
