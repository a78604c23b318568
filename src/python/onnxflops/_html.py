"""A report in a notebook: the tree of modules, folded, with bars."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from onnxflops._core import Expr, Module, Report

_MOST_ROWS = 2000
_MOST_SIZES = 8
_OPEN_DEPTH = 1
_STYLE = (
    "<style>.onnxflops{font:13px monospace}.onnxflops details,.onnxflops .leaf{margin-left:1.2em}"
    ".onnxflops .bar{display:inline-block;height:.7em;background:#7aa6d8;margin:0 .5em}"
    ".onnxflops summary{cursor:pointer}.onnxflops .type{opacity:.6}</style>"
)
Figure = Union[int, "Expr"]


def short(value: Figure) -> str:
    """A figure as people read it: 14.83 G; a formula as it is, or its beginning."""
    if not isinstance(value, int):
        text = str(value)
        return text if len(text) <= 80 else text[:77] + "..."
    if abs(value) < 1000:
        return str(value)
    amount, unit = float(value), 0
    while abs(amount) >= 999.95 and unit < 6:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:#.4g} {' kMGTPE'[unit]}"


def _line(module: Module, cost: Figure, total: Figure) -> str:
    bar = ""
    if isinstance(cost, int) and isinstance(total, int) and total > 0:
        share = cost / total
        bar = f'<span class="bar" style="width:{share * 12:.2f}em"></span>{share:.1%}'
    name = escape(module.name or ("(own)" if module.own else "(model)"))
    kind = f' <span class="type">{escape(module.type)}</span>' if module.type else ""
    return f"{name}{kind} {escape(short(cost))}{bar}"


def _sizes(sizes: dict[str, int], note: str = "") -> str:
    shown = [f"{name} = {size}" for name, size in list(sizes.items())[:_MOST_SIZES]]
    if len(shown) < len(sizes):
        shown.append(f"and {len(sizes) - len(shown)} more")
    return f"; {', '.join(shown)}{note}" if shown else ""


def report_html(report: Report) -> str:
    """HTML for a cell of a notebook. Names in it come from the model and are escaped."""
    in_macs = report.flops is None
    formula, unit = (report.macs, "MACs") if in_macs else (report.flops, "FLOPs")
    sizes, costs, params = report._assumed()
    total = formula if costs[0] is None else costs[0]
    parts = [_STYLE, f'<div class="onnxflops"><b>{escape(report.path)}</b> {unit} {escape(short(total))}']
    if report.lower_bound:
        parts.append(" (a lower bound)")
    if params is not None and report.params is not None:
        parts.append(f", params {short(params)}")
    parts += [escape(_sizes(report.bindings)), escape(_sizes(sizes, " (assumed)"))]
    if not isinstance(formula, int):
        parts.append(f"<br>{unit} = {escape(short(formula))}")
    open_ends: list[int] = []  # depths of modules whose element is open
    for row, module in enumerate(report.modules):
        while open_ends and open_ends[-1] >= module.depth:
            parts.append("</details>")
            open_ends.pop()
        if row >= _MOST_ROWS:
            parts.append(f'<div class="leaf">... {len(report.modules) - row} more modules</div>')
            break
        cost = costs[row]
        line = _line(module, (module.macs if in_macs else module.flops) if cost is None else cost, total)
        if module.children:
            parts.append(f"<details{' open' if module.depth < _OPEN_DEPTH else ''}><summary>{line}</summary>")
            open_ends.append(module.depth)
        else:
            parts.append(f'<div class="leaf">{line}</div>')
    parts += ["</details>"] * len(open_ends) + ["</div>"]
    return "".join(parts)
