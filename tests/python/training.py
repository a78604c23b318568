"""Shared by the tests of training loops and of trainers. What is not installed is skipped."""

import importlib.util
import json

import onnxflops
import pytest


def need(*packages):
    return [pytest.importorskip(p, reason=f"{p} is not installed: tools/test --python-all has it") for p in packages]


def has(name):
    return importlib.util.find_spec(name) is not None


def events_of(folder):
    """The scalars of event files, as TensorBoard itself reads them: {tag: [(step, value)]}."""
    need("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder))
    found.Reload()
    return {tag: [(e.step, e.value) for e in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def tiny():
    """A tiny language model, and its graph with batch and seq open."""
    torch, *_ = need("torch", "onnxscript")

    class Tiny(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = torch.nn.Embedding(50, 16), torch.nn.Linear(16, 50)

        def forward(self, input_ids, labels=None):
            logits = self.head(torch.tanh(self.embed(input_ids)))
            if labels is None:
                return logits
            return {"loss": torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}

    module = Tiny()
    shapes = {"input_ids": {0: "batch", 1: "seq"}}
    model = onnxflops.from_torch(module, torch.zeros(2, 8, dtype=torch.int64), dynamic_shapes=shapes)
    return torch, module, model


QWEN = {
    "model_type": "qwen2_vl",
    "text_config": {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
                    "num_key_value_heads": 2, "vocab_size": 100, "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}},
    "vision_config": {"depth": 2, "embed_dim": 32, "num_heads": 2, "hidden_size": 64},
}  # fmt: skip


def configured(config, folder):
    (folder / "config.json").write_text(json.dumps(config))
    return onnxflops.load(folder / "config.json")


def counts_macs(perf, model):
    """MACs instead of FLOPs of a training step: other tools and hands count these."""
    perf.work.flops = model.count().macs
    perf.work._left.clear()


def batch_sums(model, batch, config=None):
    """2 x MACs of a batch as the callbacks find it: what FlopCounterMode counts."""
    from onnxflops.monitor import Perf, _Sums

    perf = Perf(model, peak=1e15, devices=1)
    counts_macs(perf, model)
    sums = _Sums(perf.work)
    perf._add_batch(sums, batch, {}, config)
    return 2 * sums.flops, {name.replace("flops_per_second_", ""): 2 * x for name, x in sums.parts.items() if "flops" in name}, sums


class Tensor:
    """As numpy and torch have it: whole numbers by their index, which an array of several has not."""

    def __init__(self, values):
        self.values = values

    def tolist(self):
        return [x.tolist() if isinstance(x, Tensor) else x for x in self.values] if isinstance(self.values, list) else self.values

    def __getitem__(self, index):
        return Tensor(self.values[index])

    def __len__(self):
        return len(self.values)

    def __index__(self):
        if isinstance(self.values, int):
            return self.values
        raise TypeError("only integer scalar arrays can be converted to a scalar index")
