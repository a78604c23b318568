"""Results in a notebook: the parts of the program's screen as folded tables with bars, and a link to the page.

An indented table is a tree. Each row with children is a <details>; all rows are grids of the same columns, so that figures
and bars are aligned at every depth.
"""

from __future__ import annotations

import base64
import os
from html import escape
from typing import Any

_MOST_ROWS = 2000
_OPEN_DEPTH = 2
_MOST_PAGE = 1 << 22  # bytes of a linked page
_WIDE = 40  # signs: a last column that has more is broken into lines
_STYLE = """<style>
.onnxflops{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;overflow-x:auto;max-width:100%}
.onnxflops .row{display:grid;gap:0 1.2em;align-items:baseline;padding:1px .4em;min-width:max-content;text-align:left}
.onnxflops .row>span{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.onnxflops .row>.wrap{white-space:normal;overflow-wrap:anywhere}
.onnxflops .right{text-align:right}
.onnxflops .head{font-weight:600;border-bottom:1px solid currentColor;margin:.4em 0 2px}
.onnxflops summary{list-style:none;cursor:pointer}
.onnxflops summary::-webkit-details-marker{display:none}
.onnxflops summary .name::before{content:'\\25b8';display:inline-block;width:1.1em}
.onnxflops details[open]>summary .name::before{content:'\\25be'}
.onnxflops .leaf .name::before{content:'';display:inline-block;width:1.1em}
.onnxflops .row:not(.head):hover{background:rgba(127,127,127,.15)}
.onnxflops .strong{font-weight:600}.onnxflops .faint{opacity:.65}
.onnxflops .bar{display:block;height:.75em;background:#5b8fc9;border-radius:1px}
.onnxflops .line{display:grid;grid-template-columns:7em 1fr}.onnxflops .label{opacity:.65}
.onnxflops .alarm{color:#b3261e}.onnxflops p,.onnxflops ul{margin:.3em 0}.onnxflops h4{margin:.6em 0 .2em;font-size:1em}
</style>"""


def _share(cell: str) -> float | None:
    """The number in a cell of percent; "<0.1" has no length."""
    try:
        return min(max(float(cell), 0.0), 100.0)
    except ValueError:
        return None


def _are_shares(cells: list[str]) -> bool:
    """Whether bars say something of a column of percent: no change, which has a sign, and not only "<0.1"."""
    return not any(cell[:1] in ("+", "-") for cell in cells) and any((_share(cell) or 0) > 0 for cell in cells)


class _Table:
    """A table of a document, with a bar for each share in percent."""

    def __init__(self, columns: list[tuple[str, bool, bool]], rows: list[tuple[list[str], int, bool, bool]]) -> None:
        self.kept = [i for i, (_, _, picture) in enumerate(columns) if not picture]
        self.columns, self.rows = columns, rows[:_MOST_ROWS]
        self.percent = next((i for i in self.kept if columns[i][0] == "%"), None)
        if self.percent is not None and not _are_shares([row[0][self.percent] for row in self.rows if self.percent < len(row[0])]):
            self.percent = None
        self.is_tree = any(row[1] for row in self.rows)
        self.wrapped = -1
        self.grid = self._grid()

    def _grid(self) -> str:
        """The widths of the columns. A long text at the end takes the width that is left, in lines."""
        lengths = [self._length(i) for i in self.kept]
        widths = [f"{min(length, 90)}ch" for length in lengths]
        least = ""
        if len(self.kept) > 1 and lengths[-1] > _WIDE and not self.columns[self.kept[-1]][1]:
            self.wrapped = self.kept[-1]
            widths[-1] = f"minmax({_WIDE // 2}ch,1fr)"
            least = f";min-width:{sum(lengths[:-1]) + 3 * len(lengths) + _WIDE // 2}ch"
        if self.percent is not None:
            widths.insert(self.kept.index(self.percent) + 1, "8em")
        return f"grid-template-columns:{' '.join(widths)}{least}"

    def _length(self, i: int) -> int:
        cells = [(row[0][i] if i < len(row[0]) else "", row[1]) for row in self.rows]
        signs = [len(text) + (2 * indent + 3 if i == 0 and self.is_tree else 0) for text, indent in cells]
        return max([len(self.columns[i][0]), *signs])

    def line(self, cells: list[str], indent: int, kind: str) -> str:
        parts = []
        for i in self.kept:
            text = cells[i] if i < len(cells) else ""
            right = self.columns[i][1]
            named = i == 0 and self.is_tree
            name = ' class="name"' if named else ' class="right"' if right else ' class="wrap"' if i == self.wrapped else ""
            pad = f' style="padding-left:{1.1 * indent:.1f}em"' if i == 0 and indent else ""
            parts.append(f'<span{name}{pad} title="{escape(text)}">{escape(text)}</span>')
            if i == self.percent:
                share = _share(text)
                parts.append(f'<span><i class="bar" style="width:{share:.1f}%"></i></span>' if share is not None else "<span></span>")
        return f'<div class="row {kind}" style="{self.grid}">{"".join(parts)}</div>'

    def html(self) -> str:
        parts = [self.line([title for title, _, _ in self.columns], 0, "head")]
        open_ends: list[int] = []
        for at, (cells, indent, strong, faint) in enumerate(self.rows):
            while open_ends and open_ends[-1] >= indent:
                parts.append("</details>")
                open_ends.pop()
            kind = "strong" if strong else "faint" if faint else ""
            if at + 1 < len(self.rows) and self.rows[at + 1][1] > indent:
                opened = " open" if indent < _OPEN_DEPTH else ""
                parts.append(f"<details{opened}><summary>{self.line(cells, indent, kind)}</summary>")
                open_ends.append(indent)
            else:
                parts.append(self.line(cells, indent, f"leaf {kind}"))
        return "".join(parts) + "</details>" * len(open_ends)


def _table(title: str, columns: Any, rows: Any, notes: list[str]) -> str:
    text = f"<h4>{escape(title)}</h4>" if title else ""
    text += _Table(columns, rows).html() if rows else ""
    if len(rows) > _MOST_ROWS:
        notes = [f"{len(rows) - _MOST_ROWS} more rows: to_html() has them", *notes]
    return text + "".join(f'<p class="faint">{escape(note)}</p>' for note in notes)


def _lines(lines: list[tuple[str, list[str]]]) -> str:
    return "".join(
        f'<div class="line"><span class="label">{escape(label)}</span><span>{"&ensp; ".join(map(escape, texts))}</span></div>'
        for label, texts in lines
        if texts
    )


def _list(title: str, texts: list[str], alarming: bool) -> str:
    if not texts:
        return ""
    kind = ' class="alarm"' if alarming else ""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<div{kind}>{escape(title)}<ul>{items}</ul></div>"


def _waterfall(unit: str, steps: list[tuple[str, str, int, bool]], remarks: list[str]) -> str:
    indented = [([text, figure], indent, strong, False) for text, figure, indent, strong in steps]
    table = _Table([("", False, False), (unit, True, False)], indented)
    rows = "".join(table.line(cells, indent, "strong" if strong else "") for cells, indent, strong, _ in indented)
    head = table.line(["", unit], 0, "head")
    return head + rows + "".join(f'<p class="faint">{escape(remark)}</p>' for remark in remarks)


_PARTS: dict[str, Any] = {"table": _table, "lines": _lines, "list": _list, "waterfall": _waterfall}


def _link(result: Any) -> str:
    """The program's page, to open or keep, inside of the output."""
    if not hasattr(result, "to_html"):
        return ""
    page = result.to_html().encode()
    if len(page) > _MOST_PAGE:
        return '<p class="faint">to_html() has the page</p>'
    kind = type(result).__name__.lower()
    name = os.path.splitext(os.path.basename(getattr(result, "path", "")))[0]
    data = base64.b64encode(page).decode()
    file = escape(f"{name}.{kind}.html" if name else f"{kind}.html")
    return f'<p><a download="{file}" href="data:text/html;base64,{data}">the page, with pictures ({file})</a></p>'


def _cell(text: str) -> str:
    return f'{_STYLE}<div class="onnxflops">{text}</div>'


def view(result: Any) -> str:
    """HTML for a cell of a notebook. Names in it come from models and are escaped."""
    parts = [_PARTS[kind](*rest) for kind, *rest in result._parts()]
    return _cell("".join(parts) + _link(result))


def view_figures(result: Any) -> str:
    """Of what has figures alone: totals, a module."""
    title = getattr(result, "path", "") + (f" ({kind})" if (kind := getattr(result, "type", "")) else "")
    rows = [([figure.title, f"{figure} {figure.unit if figure.unit != 's' else ''}".strip()], 0, False, False) for figure in result.figures.values()]
    return _cell(_table(title, [("", False, False), ("figure", True, False)], rows, []))


def view_fit(fit: Any) -> str:
    rows = [
        ([name, "any" if (largest := getattr(fit, name)) is None else f"{largest:,}", status.replace("_", " ")], 0, False, False)
        for name, status in fit.status.items()
    ]
    columns = [("", False, False), (f"largest {fit.symbol}", True, False), ("", False, False)]
    return _cell(_table(f"what fits into {fit.bytes:,} bytes", columns, rows, []))
