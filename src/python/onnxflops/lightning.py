"""MFU in the loggers of Lightning.

    from onnxflops.lightning import PerfCallback

    callback = PerfCallback(onnxflops.load("clip.onnx"), sizes=lambda batch: {"batch": len(batch)},
                            device="h100-sxm", dtype="bf16")
    Trainer(callbacks=[callback], ...).fit(module)

`sizes` returns the sizes of a rank's batch; the ranks add up theirs. The metrics are device/mfu,
device/step_time and others. For lengths of samples: {"lengths": [512, 300]}, or "cu_seqlens". Without
`sizes`, the tensors of a batch tell them by their names, as in onnxflops.huggingface. Adapters of PEFT
count as what trains. A step is a step of
the optimizer, with all batches that it accumulates.
By default the devices are the Trainer's; for a tensor- or pipeline-parallel run give `devices`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional, Union

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    try:
        from pytorch_lightning.callbacks import Callback  # type: ignore[no-redef,import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError("onnxflops.lightning needs Lightning: pip install lightning") from error

from onnxflops._core import Model, Report
from onnxflops._errors import InvalidError, OnnxflopsError
from onnxflops._step import told_of
from onnxflops._trained import as_trained
from onnxflops.monitor import Metrics, Perf, _is_distributed, _sum_over_ranks

__all__ = ["PerfCallback"]


class PerfCallback(Callback):  # type: ignore[misc,unused-ignore]
    """Logs device/mfu and the like every so many steps.

    If the sizes of the first batch do not fit the model, this is an error before it runs. Later faults are
    warnings and never stop a training. Time outside batches (evaluations, checkpoints) does not count.
    """

    def __init__(self, model: Union[Model, Report], *, sizes: Optional[Callable[[Any], dict[str, Any]]] = None, **perf: Any) -> None:
        super().__init__()
        self.perf = Perf(model, **perf)
        self._model = model
        self.perf._forgives = True
        self.sizes = sizes
        self.last: Metrics = {}
        self._step, self._first, self._batches = 0, True, 1

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        try:
            self.perf._count_as(as_trained(self._model, pl_module, self.perf.warn))
        except OnnxflopsError as error:  # a strategy may have wrapped the module
            self.perf.warn(f"the count is that of a training of all parameters: {error}")
        if self.perf.devices is None:
            self.perf.devices = trainer.world_size
        sampler = getattr(trainer, "distributed_sampler_kwargs", None) or {}
        self._batches = int(sampler.get("num_replicas", trainer.world_size))
        if not self.perf.reduces and self._batches > 1 and _is_distributed():
            self.perf._sum_by(lambda values: _sum_over_ranks(values, self._batches))
        self._step, self._first = trainer.global_step, True
        self.perf.begin(trainer.global_step)  # also of a resumed training

    def _add(self, trainer: Any, pl_module: Any, batch: Any) -> None:
        summed = self.perf.reduces or self._batches == 1
        if self.sizes is None:
            if not hasattr(batch, "items"):
                raise InvalidError(f"a batch is a {type(batch).__name__} without names: sizes= gives its sizes")
            if not summed:
                raise InvalidError("these ranks cannot add up their batches: reduce= of Perf, or sizes= with batch")
            self.perf._add_batch(self.perf._sums, batch, {}, _config_of(pl_module), later=not self._first)
            return
        sizes: dict[str, Any] = dict(self.sizes(batch))
        if not summed:
            if "batch" not in sizes:
                raise InvalidError("sizes() gives lengths of a rank, and these ranks cannot add up: reduce= of Perf does")
            sizes["batch"] *= self._batches  # other ranks have as many
        self.perf.add(**sizes)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self.perf.resume()
        if self._first:
            try:
                self._add(trainer, pl_module, batch)
            except Exception as error:  # the end of the batch warns
                if self.sizes is not None or isinstance(error, OnnxflopsError):
                    raise
            self.perf.begin(trainer.global_step)
            self._first = False

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        self.perf.pause()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self.perf.resume()

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
        self.perf.pause()  # until the next batch

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        try:
            self._add(trainer, pl_module, batch)
        except Exception as error:  # also of `sizes`: the training goes on
            what = told_of(error) if self.sizes is None or isinstance(error, OnnxflopsError) else f"sizes() gives {error!r}"
            self.perf.warn(f"no device/mfu of these steps: {what}")
            self.perf._spoil()
        if trainer.global_step == self._step:  # batches are accumulated
            return
        self._step = trainer.global_step
        metrics = self.perf.end_step()
        if metrics is None:
            return
        self.last = {name.replace("perf/", "device/", 1): value for name, value in metrics.items()}
        for logger in trainer.loggers:
            logger.log_metrics(self.last, step=trainer.global_step)


def _config_of(pl_module: Any) -> Any:
    """Of the model of transformers in a module, if it has one."""
    configs = (getattr(module, "config", None) for module in pl_module.modules())
    return next((config for config in configs if hasattr(config, "image_token_id") or hasattr(config, "image_token_index")), None)
