"""MFU in the logs of a Hugging Face Trainer.

    from onnxflops.huggingface import add_perf

    add_perf(trainer, onnxflops.load("gpt2.onnx"), device="h100-sxm", dtype="bf16", devices=8)
    trainer.train()

Each log gets perf/mfu and the like, before TensorBoard and W&B see it. Tokens are those that the Trainer
counts: TrainingArguments(include_num_input_tokens_seen=True). Without them, `seq` gives the length.
"""

from __future__ import annotations

from typing import Any, Optional, Union

import transformers

from onnxflops._core import Model, Report
from onnxflops.monitor import Metrics, Perf

__all__ = ["PerfCallback", "add_perf"]


class PerfCallback(transformers.TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Adds to the logs of a Trainer. It stands before the others: add_perf()."""

    def __init__(self, perf: Perf, sizes: dict[str, int], tokens: str) -> None:
        self.perf, self.sizes, self.tokens = perf, sizes, tokens
        self.last: Metrics = {}
        self._step, self._seen, self._time = 0, 0, 0.0
        self._end = 0.0  # of the last step, or of what came between it and the next

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._step, self._seen, self._time = state.global_step, _tokens_seen(state), self.perf.now()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._end = self.perf.now()

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        now = self.perf.now()
        self._time += now - max(self._end, self._time)  # it is no training
        self._end = now

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.on_evaluate(args, state, control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[dict[str, Any]] = None, **_: Any) -> None:
        steps = state.global_step - self._step
        if logs is None or steps <= 0 or not {"loss", "train_loss"} & set(logs):  # an evaluation's
            return
        now, seen = self.perf.now(), _tokens_seen(state)
        batch = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        sizes = {"batch": batch, **self.sizes}
        tokens = seen - self._seen
        if tokens > 0 and self.tokens not in self.sizes:
            sizes[self.tokens] = -(-tokens // (steps * batch))  # the mean, rounded up
        length = sizes.get(self.tokens, 0)
        flops = self.perf.flops(**sizes) * steps
        self.last = self.perf.metrics(
            state.global_step, now - self._time, steps, flops, tokens or steps * batch * length, steps * batch
        )
        logs.update(self.last)
        if state.log_history and state.log_history[-1].get("step") == state.global_step:
            state.log_history[-1].update(self.last)  # which is a copy of the logs from before
        self._step, self._seen, self._time = state.global_step, seen, now


def _tokens_seen(state: Any) -> int:
    return int(getattr(state, "num_input_tokens_seen", 0) or 0)


def add_perf(
    trainer: Any, model: Union[Model, Report], *, tokens: str = "seq", sizes: Optional[dict[str, int]] = None, **peak: Any
) -> PerfCallback:
    """Puts a PerfCallback before the other callbacks. `peak` is device, dtype, peak and devices of Perf."""
    callback = PerfCallback(Perf(model, tokens=tokens, **peak), dict(sizes or {}), tokens)
    trainer.callback_handler.callbacks.insert(0, callback)
    return callback
