"""MFU in the logs of a Hugging Face Trainer.

    from onnxflops.huggingface import add_perf

    add_perf(trainer, onnxflops.load("gpt2.onnx"), device="h100-sxm", dtype="bf16")
    trainer.train()

Each log gets perf/mfu and the like, before TensorBoard and W&B see it. Batches count with the shapes that
they have, also the last, shorter ones of an epoch; padding that attention_mask tells counts nothing, and
samples that are packed into a row (cu_seq_lens_q, position_ids) count apart. Ranks add up what each of them
has. `sizes` gives those that no batch has, `batch` being a rank's. By default the devices are the Trainer's; a
tensor- or pipeline-parallel run gives `devices`.
"""

from __future__ import annotations

import inspect
from typing import Any, Optional, Union

import transformers

from onnxflops._core import Model, Report
from onnxflops._errors import InvalidError, OnnxflopsError
from onnxflops.monitor import Metrics, Perf, _sum_over_ranks

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
        self._first = True
        self._end = 0.0  # of the last step, or of what came between it and the next
        self._begin(0, 0, 0.0)

    def _begin(self, step: int, seen: int, time: float) -> None:
        self._step, self._seen, self._time = step, seen, time
        self._flops, self._samples, self._tokens, self._places, self._taken, self._fails = 0, 0, 0, 0, 0, False

    def take(self, batches: list[Any]) -> None:
        """The batches of the step that begins, of this rank."""
        try:
            for batch in batches:
                sizes = {**self._sizes_of(batch), **self.sizes}
                lengths, packed, places = self._lengths_of(batch)
                if lengths and packed:
                    sizes["batch"] = 1  # a row
                if lengths and self.perf.work.symbol("batch") in self.perf.work.origins:
                    self._take_samples(lengths, packed, places, sizes)
                    continue
                self._flops += self.perf.flops(**sizes)
                self._samples += sizes.get("batch", 0)
                self._tokens += sizes.get("batch", 0) * sizes.get(self.tokens, 0)
                self._places += sizes.get("batch", 0) * sizes.get(self.tokens, 0)
            self._taken += 1
        except OnnxflopsError as error:
            if self._first:
                raise
            self._fails = True
            self.perf.warn(f"no perf/mfu of these steps: {error}")
        self._first = False

    def _take_samples(self, lengths: list[int], packed: bool, places: int, sizes: dict[str, int]) -> None:
        """Samples of different lengths."""
        work, own = self.perf.work, {"batch", self.tokens, self.perf.work.symbol("batch"), self.perf.work.symbol(self.tokens)}
        others = {name: size for name, size in sizes.items() if name not in own}
        self._flops += work.flops_of_samples(others, {self.tokens: lengths}, packed)
        self._samples += len(lengths)
        self._tokens += sum(lengths)
        self._places += places

    def _lengths_of(self, batch: Any) -> tuple[list[int], bool, int]:
        """The lengths of the samples, where a batch tells them, whether they stand in one row, and the tokens with padding."""
        symbol = self.perf.work.symbol(self.tokens)
        if symbol not in self.perf.work.origins or self.tokens in self.sizes or not hasattr(batch, "get"):
            return [], False, 0
        ids, mask, places = batch.get("input_ids"), batch.get("attention_mask"), batch.get("position_ids")
        ends = batch.get("cu_seq_lens_q")
        if ends is not None:
            whole = ends.tolist()
        elif places is not None and mask is None and len(places.shape) == 2 and places.shape[0] == 1:
            row = places[0].tolist()  # they begin again with each sample
            whole = [i for i, place in enumerate(row) if place == 0] + [len(row)]
        elif ids is not None and mask is not None and ids.shape == mask.shape and len(mask.shape) == 2:
            return [n for n in mask.sum(-1).tolist() if n > 0], False, mask.numel()
        else:
            return [], False, 0
        lengths = [b - a for a, b in zip(whole, whole[1:]) if b > a]
        return lengths, True, sum(lengths)

    def _sizes_of(self, batch: Any) -> dict[str, int]:
        """The model's sizes in the tensors of a batch."""
        work = self.perf.work
        found: dict[str, int] = {}
        tensors = {name: x.shape for name, x in batch.items() if hasattr(x, "shape")} if hasattr(batch, "items") else {}
        for name, shape in tensors.items():
            work.check_shape(name, shape)
            if len(shape) > 0:
                found.setdefault("batch", int(shape[0]))
            if name == "input_ids" and len(shape) == 2 and work.symbol(self.tokens):
                found[self.tokens] = int(shape[1])
            declared = work.inputs.get(name, [])
            if len(declared) == len(shape):
                batch_symbol = work.symbol("batch")
                found.update({s: int(n) for s, n in zip(declared, shape) if s in work.origins and s != batch_symbol})
        return found

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
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
        own = (self._flops, self._tokens, self._samples, self._places, self._fails or unseen)
        flops, all_tokens, samples, places, failed = _sum_over_ranks(own, self.ranks)
        if not failed:  # on no rank, as already reported there
            padded = places > all_tokens > 0
            tokens = all_tokens if padded else seen - self._seen or all_tokens
            self.last = self.perf.metrics(state.global_step, now - self._time, steps, flops, tokens, samples, places)
            logs.update(self.last)
            if state.log_history and state.log_history[-1].get("step") == state.global_step:
                state.log_history[-1].update(self.last)  # which is a copy of the logs from before
        self._begin(state.global_step, seen, now)


def _tokens_seen(state: Any) -> int:
    return int(getattr(state, "num_input_tokens_seen", 0) or 0)


def _check(callback: PerfCallback, trainer: Any) -> None:
    """Raises an error before the training begins if no step could give a figure."""
    work = callback.perf.work
    takes = set(inspect.signature(trainer.model.forward).parameters)
    given = {work.symbol(name) for name in callback.sizes} | {work.symbol("batch")}
    if "input_ids" in takes:
        given.add(work.symbol(callback.tokens))
    for name in sorted(work.needs - given):
        if work.origins.get(name) not in takes:
            raise InvalidError(f"add_perf(): batches of this Trainer do not tell {name}: sizes={{{name!r}: N}} gives it")
    batch = callback.sizes.get("batch", trainer.args.train_batch_size) * callback.ranks
    sample = {name: 1 for name in work.needs - {work.symbol("batch")}}
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
    callback = PerfCallback(Perf(model, tokens=tokens, **perf), dict(sizes or {}), tokens)
    per_rank = args.train_batch_size * args.gradient_accumulation_steps
    if hasattr(trainer, "get_total_train_batch_size"):  # it knows which ranks share a batch
        callback.ranks = max(1, trainer.get_total_train_batch_size(args) // per_rank)
    else:
        callback.ranks = args.world_size
    _check(callback, trainer)
    original = trainer.get_batch_samples

    def get_batch_samples(*words: Any, **named: Any) -> Any:
        result = original(*words, **named)
        callback.take(result[0])
        return result

    trainer.get_batch_samples = get_batch_samples
    trainer.callback_handler.callbacks.insert(0, callback)
    return callback
