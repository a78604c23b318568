"""Counts the FLOPs of ONNX models from their graphs alone: exactly, without running them.

    import onnxflops

    m = onnxflops.load("clip.onnx")       # a path, bytes, a file object, an onnx.ModelProto; a config.json
    r = m.count(batch=8)                  # sizes by keyword; what is not given stays a symbol
    r.flops, r.macs, r.params             # int, or Expr while a size is open
    r.at(batch=64).flops                  # at another size, in microseconds
    r.modules["visual.transformer"].macs  # the tree of modules; .filter("visual.*.mlp")
    r.to_pandas(by="op")                  # also to_dict(), to_json(): the program's JSON; to_html(): a page
    print(r)                              # the program's screen

    m.compare(["thop"]).headlines         # what other tools count
    print(m.explain("/visual/conv1/Conv"))
    onnxflops.diff("old.onnx", "new.onnx").delta("flops")
    onnxflops.check(m, "onnxflops.toml").passed
    onnxflops.mfu(r, step_time=0.41, devices=8, device="h100-sxm", dtype="bf16").mfu

Options have the names that the program has: `onnxflops count --help` lists them, and
`--backward exact` is count(backward="exact"). A size that has the name of an option is given by
dim={"tokens": 5}.

Everything is exact and immutable; threads may share it. Errors are subclasses of OnnxflopsError
with the program's text. In a training loop: help(onnxflops.monitor). Many models: help(onnxflops.scan).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxflops import _signatures

_signatures.install()

from onnxflops._core import (  # noqa: E402
    VERSION as __version__,
)
from onnxflops._core import (  # noqa: E402
    Audit,
    Check,
    Comparison,
    Diff,
    Estimate,
    Explanation,
    Expr,
    Figure,
    Fit,
    History,
    Memory,
    Mfu,
    Model,
    Module,
    Modules,
    Pipeline,
    Profile,
    Report,
    Serving,
    Sweep,
    Totals,
    audit,
    check,
    devices,
    diff,
    estimate,
    history,
    mfu,
    ops,
    parse_expr,
    peak_flops_per_second,
    pipeline,
    profile,
)
from onnxflops._errors import (  # noqa: E402
    InvalidError,
    LimitError,
    NoSuchFileError,
    NotFoundError,
    OnnxflopsError,
    UnavailableError,
    UnsupportedError,
)
from onnxflops._load import Source, load  # noqa: E402

if TYPE_CHECKING:
    from onnxflops._config import from_config
    from onnxflops._scan import scan
    from onnxflops._torch import from_torch
    from onnxflops._zoo import from_diffusers, from_open_clip, from_timm, from_torchvision

__all__ = [
    "Audit",
    "Check",
    "Comparison",
    "Diff",
    "Estimate",
    "Explanation",
    "Expr",
    "Figure",
    "Fit",
    "History",
    "InvalidError",
    "LimitError",
    "Memory",
    "Mfu",
    "Model",
    "Module",
    "Modules",
    "NoSuchFileError",
    "NotFoundError",
    "OnnxflopsError",
    "Pipeline",
    "Profile",
    "Report",
    "Serving",
    "Source",
    "Sweep",
    "Totals",
    "UnavailableError",
    "UnsupportedError",
    "__version__",
    "audit",
    "check",
    "devices",
    "diff",
    "estimate",
    "from_config",
    "from_diffusers",
    "from_open_clip",
    "from_timm",
    "from_torch",
    "from_torchvision",
    "history",
    "load",
    "mfu",
    "ops",
    "parse_expr",
    "peak_flops_per_second",
    "pipeline",
    "profile",
    "scan",
]

_LATE = {
    "from_config": "onnxflops._config",
    "from_diffusers": "onnxflops._zoo",
    "from_open_clip": "onnxflops._zoo",
    "from_timm": "onnxflops._zoo",
    "from_torch": "onnxflops._torch",
    "from_torchvision": "onnxflops._zoo",
    "scan": "onnxflops._scan",
}
# Commands of the program that are methods here.
_HINTS = {
    "compare": "load(path).compare()",
    "count": "load(path).count()",
    "explain": "load(path).explain(...)",
    "serving": "load(path).count(...).serving()",
    "sweep": "load(path).sweep(...)",
}


def __getattr__(name: str) -> object:
    """Imports modules that need other packages on first use."""
    if name in _LATE:
        import importlib

        return getattr(importlib.import_module(_LATE[name]), name)
    hint = _HINTS.get(name)
    raise AttributeError(f"module 'onnxflops' has no attribute {name!r}" + (f": {hint}" if hint else ""))


def _no_figure(model: Model, name: str) -> object:
    """A model has no figures: its reports have."""
    hint = f": count().{name}" if not name.startswith("_") and hasattr(Report, name) else ""
    raise AttributeError(f"'Model' object has no attribute {name!r}" + hint)


# A method of the class would let type checkers take any name.
setattr(Model, "__getattr__", _no_figure)


def __dir__() -> list[str]:
    return sorted(__all__)
