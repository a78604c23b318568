"""MFU in the logs of a Hugging Face Trainer.

    from onnxflops.huggingface import add_perf

    add_perf(trainer, onnxflops.load("gpt2.onnx"), device="h100-sxm", dtype="bf16")
    trainer.train()

Each log gets perf/mfu and the like, before TensorBoard and W&B see it. Batches count with the shapes that
they have, also the last, shorter ones of an epoch; padding that attention_mask tells counts nothing, and
samples that are packed into a row (cu_seq_lens_q, position_ids) count apart. Images count at their own sizes
(image_grid_thw, video_grid_thw), any number of them in a sample. Audio counts at the lengths that a mask of its
features tells, texts of whisper and T5 at those of their labels. Ranks add up what each of them has.
Adapters of PEFT (LoRA) count as what trains: the base is frozen, as with count(lora=...).
`sizes` gives those that no batch has, `batch` being a rank's. By default the devices are the Trainer's; a
tensor- or pipeline-parallel run gives `devices`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, Optional, Union

try:
    import transformers
except ImportError as error:
    raise ImportError("onnxflops.huggingface needs transformers: pip install 'onnxflops[transformers]'") from error

from onnxflops._core import Model, Report
from onnxflops._errors import InvalidError, OnnxflopsError
from onnxflops._step import GRID, told_of
from onnxflops._trained import as_trained, has_input_gradients
from onnxflops.monitor import Metrics, Perf, _sum_over_ranks, _Sums

__all__ = ["PerfCallback", "add_perf"]


class PerfCallback(transformers.TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Adds to the logs of a Trainer. It stands before the others: add_perf().

    It counts what take() gets: the batches of a step. A first step whose sizes do not fit the model is an
    error. Later it warns, and never stops a training.
    """

    def __init__(self, perf: Perf, sizes: dict[str, int], tokens: str) -> None:
        self.perf, self.sizes, self.tokens = perf, sizes, tokens
        self.last: Metrics = {}
        self.ranks = 1  # that have batches of their own
        self.config: Any = None  # of the model that trains
        self.recount: Optional[Callable[[], None]] = None  # what the trainer changed in the model before it begins
        self._first = True
        self._end = 0.0  # of the last step, or of what came between it and the next
        self._begin(0, 0, 0.0)

    def _begin(self, step: int, seen: int, time: float) -> None:
        self._step, self._seen, self._time = step, seen, time
        self._sums, self._taken, self._fails = _Sums(self.perf.work), 0, False

    def take(self, batches: list[Any]) -> None:
        """The batches of the step that begins, of this rank."""
        try:
            for batch in batches:
                self.perf._add_batch(self._sums, batch, self.sizes, self.config, later=not self._first)
            self._taken += 1
        except Exception as error:  # counting never stops a training
            if self._first and isinstance(error, OnnxflopsError):
                raise
            self._fail(error)
        self._first = False

    def _fail(self, error: Exception) -> None:
        self._fails = True
        self.perf.warn(f"no perf/mfu of these steps: {told_of(error)}")

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.recount is not None:
            try:
                self.recount()
            except Exception as error:
                self.perf.warn(f"perf/mfu is of the model as it was at add_perf(): {told_of(error)}")
        self._begin(state.global_step, _tokens_seen(state), self.perf.now())  # also of a resumed training

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._end = self.perf.now()

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        now = self.perf.now()
        self._time += now - max(self._end, self._time)  # it is not training
        self._end = now

    def on_predict(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
        self.on_evaluate(args, state, control)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.on_evaluate(args, state, control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[dict[str, Any]] = None, **_: Any) -> None:
        steps = state.global_step - self._step
        if logs is None or steps <= 0 or not {"loss", "train_loss"} & set(logs):  # an evaluation's
            return
        now, seen = self.perf.now(), _tokens_seen(state)
        unseen = self._taken != steps
        if unseen and not self._fails:
            self.perf.warn("no perf/mfu: add_perf() sees the batches of a Trainer; another loop needs Perf itself")
        sums = self._sums
        try:
            self.perf._read(sums)
        except Exception as error:
            self._fail(error)
        *sums.values, failed = _sum_over_ranks([*sums.values, self._fails or unseen], self.ranks)
        if not failed:  # on no rank, as already reported there
            padded = sums.places > sums.tokens > 0
            tokens = sums.tokens if padded else seen - self._seen or sums.tokens
            parts = {} if sums.unsplit else sums.parts
            self.last = self.perf.metrics(
                state.global_step, now - self._time, steps, sums.flops, tokens, sums.samples, sums.places, parts,
                sums.frames, sums.frame_places,
            )  # fmt: skip
            logs.update(self.last)
            if state.log_history and state.log_history[-1].get("step") == state.global_step:
                state.log_history[-1].update(self.last)  # which is a copy of the logs from before
        self._begin(state.global_step, seen, now)


def _tokens_seen(state: Any) -> int:
    return int(getattr(state, "num_input_tokens_seen", 0) or 0)


def _check(callback: PerfCallback, trainer: Any) -> None:
    """Raises an error before the training begins if no step could give a figure."""
    work = callback.perf.work
    model = trainer.model.get_base_model() if hasattr(trainer.model, "get_base_model") else trainer.model  # of PEFT
    takes = set(inspect.signature(model.forward).parameters)
    given = {work.symbol(name) for name in callback.sizes} | {work.symbol("batch")}
    if "input_ids" in takes:
        given.add(work.symbol(callback.tokens))
    if "labels" in takes:
        given.add(work.decoder)
    for name in sorted(work.needs - given):
        if work.origins.get(name) not in takes:
            raise InvalidError(f"add_perf(): batches of this Trainer do not tell {name}: sizes={{{name!r}: N}} gives it")
    batch = callback.sizes.get("batch", trainer.args.train_batch_size) * callback.ranks
    sample = {name: work.merge if name in GRID else 1 for name in work.needs - {work.symbol("batch")}}
    callback.perf.flops(**{**sample, **callback.sizes, "batch": batch})


def add_perf(
    trainer: Any, model: Union[Model, Report], *, tokens: str = "seq", sizes: Optional[dict[str, int]] = None, **perf: Any
) -> PerfCallback:
    """Puts a PerfCallback before the other callbacks. `perf` is device, dtype, peak, devices and per_sample of Perf."""
    args = trainer.args
    for name in sorted(perf.keys() & {"every", "first_step", "reduce", "sinks"}):
        raise InvalidError(
            f"add_perf(): {name} is the Trainer's: its logging_steps say how often, report_to where, and a resumed "
            "training goes on at its step"
        )
    if perf.get("devices") is None:
        perf["devices"] = args.world_size * max(1, args.n_gpu)
    counted = as_trained(model, trainer.model, lambda text: warnings.warn(f"onnxflops: {text}", RuntimeWarning, stacklevel=4))
    callback = PerfCallback(Perf(counted, tokens=tokens, **perf), dict(sizes or {}), tokens)
    hooked = has_input_gradients(trainer.model)

    def recount() -> None:
        if has_input_gradients(trainer.model) != hooked:  # gradient checkpointing of the trainer
            callback.perf._count_as(as_trained(model, trainer.model, callback.perf.warn))

    callback.recount = recount
    per_rank = args.train_batch_size * args.gradient_accumulation_steps
    if hasattr(trainer, "get_total_train_batch_size"):  # it knows which ranks share a batch
        callback.ranks = max(1, trainer.get_total_train_batch_size(args) // per_rank)
    else:
        callback.ranks = args.world_size
    callback.config = getattr(trainer.model, "config", None)
    _check(callback, trainer)
    original = trainer.get_batch_samples

    def get_batch_samples(*words: Any, **named: Any) -> Any:
        result = original(*words, **named)
        callback.take(result[0])
        return result

    trainer.get_batch_samples = get_batch_samples
    trainer.callback_handler.callbacks.insert(0, callback)
    return callback
