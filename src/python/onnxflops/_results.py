"""Rows of results: the lists of their JSON as dicts of numbers and texts."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from onnxflops import _core
from onnxflops._errors import InvalidError

if TYPE_CHECKING:
    import pandas

_LISTS = {
    "Audit": {"": "rows"},
    "Check": {"": "rules"},
    "Diff": {"module": "modules", "op": "by_op", "node": "nodes"},
    "Estimate": {"": "estimates"},
    "Mfu": {"": "formulas"},
    "Profile": {"kernel": "groups", "module": "modules"},
    "Serving": {"": "steps"},
}


class Figures(dict[str, Any]):
    """Figures by name; of a name that is none, the error has one that is similar."""

    def __missing__(self, name: object) -> Any:
        similar = difflib.get_close_matches(str(name), self, 1)
        raise KeyError(f"no figure {name!r}; {f'did you mean {similar[0]}?' if similar else 'there are ' + ', '.join(self)}")


def text_of_fit(fit: Any) -> str:
    """A line for each way to run the model."""
    rows = [(name, "any" if (largest := getattr(fit, name)) is None else f"{largest:,}", status) for name, status in fit.status.items()]
    names, sizes = (max(len(row[i]) for row in rows) for i in (0, 1))
    head = f"what fits into {fit.bytes:,} bytes: the largest {fit.symbol}"
    return "\n".join([head, *(f"  {name:{names}}  {size:>{sizes}}  {status.replace('_', ' ')}" for name, size, status in rows)])


def _is_figure(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"expr", "value"}


def _number(figure: dict[str, Any]) -> Any:
    """An int, or a float of seconds; an Expr while a size is open; None if nothing is known, and of a time while a size is open."""
    if figure["value"] is not None or figure["expr"] is None:
        return figure["value"]
    try:
        formula = _core._expr(figure["expr"].encode(), [])
    except InvalidError:  # 1e-21*(...), of seconds
        return None
    return None if isinstance(formula, int) else formula  # a number without a value is the part that was counted


def _plain(value: Any) -> Any:
    if _is_figure(value):
        return _number(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return _core._screen_words(value) if isinstance(value, str) else value


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    """Changes, which have a base and a head, are three numbers each; work is part of the row."""
    row: dict[str, Any] = {}
    for key, value in entry.items():
        if isinstance(value, dict) and _is_figure(value.get("delta")):
            row.update({f"{key}_{side}": _plain(figure) for side, figure in value.items()})
            if row[f"{key}_base"] is None or row[f"{key}_head"] is None:
                row[f"{key}_delta"] = None
        elif key == "work":
            row.update(_plain(value))
        else:
            row[key] = _plain(value)
    return row


def _terms(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for tool in document["conventions"]:
        for term in tool["terms"]:
            yield {"tool": tool["name"], "unit": tool["unit"], **_row(term)}


def _points(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    fixed = {name: size for name, size in document["bindings"].items() if name not in document["symbols"]}
    for point in document["points"]:
        yield {"model": document["model"]["path"], **fixed, **point["sizes"], **_row(point["totals"])}


def _changes(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for change in document["changes"]:
        sides = {side: change[side]["value"] for side in ("before", "after")}
        yield {**change, **sides, "status": change["after"]["status"]}


def _stages(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for stage in document["stages"]:
        share = stage["probability"]
        row = {key: _plain(stage[key]) for key in ("name", "path", "runs")}
        row["probability"] = share["part"] / share["whole"]
        row.update(_row(stage["totals"]), peak_activation_bytes=_plain(stage["peak_activation_bytes"]))
        if "time" in stage:
            row["seconds"] = stage["time"]["seconds"]
        yield row


def rows(result: Any, by: str | None) -> list[dict[str, Any]]:
    kind, document = type(result).__name__, result.to_dict()
    if kind == "Comparison":
        return list(_terms(document))
    if kind == "Sweep":
        return list(_points(document))
    if kind == "History":
        return list(_changes(document))
    if kind == "Pipeline":
        return list(_stages(document))
    lists = _LISTS[kind]
    name = lists.get(next(iter(lists)) if by is None else by)
    if name is None:
        raise InvalidError(f"rows(): by={by!r}: it should be {' or '.join(lists)}")
    if name not in document:
        raise InvalidError("rows(): the diff has no nodes: both should be reports, count(by='node')")
    return [_row(entry) for entry in document[name]]


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A dict in a row as columns of its own: `time_seconds` is the `seconds` of `time`."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        flat.update({f"{key}_{name}": item for name, item in _flat(value).items()} if isinstance(value, dict) else {key: value})
    return flat


def to_pandas(result: Any, by: str | None) -> pandas.DataFrame:
    """Columns of whole numbers stay exact: int64, or objects."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas: pip install 'onnxflops[pandas]'") from error
    return pandas.DataFrame.from_records([_flat(row) for row in rows(result, by)])
