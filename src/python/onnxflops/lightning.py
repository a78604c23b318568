"""MFU in the loggers of Lightning.

    from onnxflops.lightning import PerfCallback

    callback = PerfCallback(onnxflops.load("clip.onnx"), sizes=lambda batch: {"batch": len(batch)},
                            device="h100-sxm", dtype="bf16", devices=8)
    Trainer(callbacks=[callback], ...).fit(module)

`sizes` are those of a rank's batch, times the ranks: device/mfu, device/step_time and the like.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback  # type: ignore[no-redef,import-not-found,unused-ignore]

from onnxflops._core import Model, Report
from onnxflops.monitor import Metrics, Perf

__all__ = ["PerfCallback"]


class PerfCallback(Callback):  # type: ignore[misc,unused-ignore]
    """Logs device/mfu and the like every so many steps."""

    def __init__(self, model: Union[Model, Report], *, sizes: Callable[[Any], dict[str, int]], **perf: Any) -> None:
        super().__init__()
        self.perf = Perf(model, **perf)
        self.sizes = sizes
        self.last: Metrics = {}

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.perf.start()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        self.perf.pause()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self.perf.resume()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        sizes = dict(self.sizes(batch))
        if self.perf._reduce is None and "batch" in sizes:
            sizes["batch"] *= trainer.world_size
        metrics = self.perf.step(**sizes)
        if metrics is None:
            return
        self.last = {name.replace("perf/", "device/", 1): value for name, value in metrics.items()}
        for logger in trainer.loggers:
            logger.log_metrics(self.last, step=trainer.global_step)
