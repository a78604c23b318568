"""A report in a notebook: the tree of modules, folded, with bars."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from onnxflops._core import Module, Report

_MOST_ROWS = 2000
_OPEN_DEPTH = 1
_STYLE = (
    "<style>.onnxflops{font:13px monospace}.onnxflops details,.onnxflops .leaf{margin-left:1.2em}"
    ".onnxflops .bar{display:inline-block;height:.7em;background:#7aa6d8;margin:0 .5em}"
    ".onnxflops summary{cursor:pointer}.onnxflops .type{opacity:.6}</style>"
)
_MOST_FORMULA = 80


def _line(module: Module, cost: str, share: Optional[float]) -> str:
    bar = ""
    if share is not None:
        bar = f'<span class="bar" style="width:{share * 12:.2f}em"></span>{share:.1%}'
    name = escape(module.name or ("(own)" if module.own else "(model)"))
    kind = f' <span class="type">{escape(module.type)}</span>' if module.type else ""
    return f"{name}{kind} {escape(cost)}{bar}"


def report_html(report: Report) -> str:
    """HTML for a cell of a notebook. Names in it come from the model and are escaped."""
    formula, unit = (report.macs, "MACs") if report.flops is None else (report.flops, "FLOPs")
    total, params, sizes, caveats, rows = report._shown()
    parts = [_STYLE, f'<div class="onnxflops"><b>{escape(report.path)}</b> {escape(total)}']
    if params:
        parts.append(f", params {escape(params)}")
    if sizes:
        parts.append(f"; {escape(sizes)}")
    if not isinstance(formula, int):
        text = str(formula)
        shown = text if len(text) <= _MOST_FORMULA else text[: _MOST_FORMULA - 3] + "..."
        parts.append(f"<br>{unit} = {escape(shown)}")
    parts += [f"<br>{escape(caveat)}" for caveat in caveats]
    open_ends: list[int] = []  # depths of modules whose element is open
    for row, module in enumerate(report.modules):
        while open_ends and open_ends[-1] >= module.depth:
            parts.append("</details>")
            open_ends.pop()
        if row >= _MOST_ROWS:
            parts.append(f'<div class="leaf">... {len(report.modules) - row} more modules</div>')
            break
        line = _line(module, *rows[row])
        if module.children:
            parts.append(f"<details{' open' if module.depth < _OPEN_DEPTH else ''}><summary>{line}</summary>")
            open_ends.append(module.depth)
        else:
            parts.append(f'<div class="leaf">{line}</div>')
    parts += ["</details>"] * len(open_ends) + ["</div>"]
    return "".join(parts)
