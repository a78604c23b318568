"""The row of a model in the dataset of a scan."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional

from onnxflops import _core
from onnxflops._errors import InvalidError, OnnxflopsError
from onnxflops._keys import content_of, file_hash, key_of
from onnxflops._load import load
from onnxflops._ranges import is_url, load_url

if TYPE_CHECKING:
    import pyarrow

    from onnxflops._core import Report

_FIGURES = ("flops", "macs", "params", "param_bytes", "bytes_read", "bytes_written", "training_flops", "int_ops", "bops")
_OF_MEMORY = ("inference_peak_bytes", "training_bytes")  # with count={"memory": True}
_TIMES = ("time_bound_seconds", "time_estimate_seconds")  # with count={"device": ...}
_MOST_DECIMAL = 10**38

Row = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """The options for counting all models of a scan."""

    count: dict[str, Any] = field(default_factory=dict)
    fill: Optional[int] = None
    most_bytes: int = 2**31
    storage_options: dict[str, Any] = field(default_factory=dict)
    retry: bool = False


def schema() -> pyarrow.Schema:
    import pyarrow as pa

    text = pa.string()
    fields = [("source", text), ("key", text), ("error", text), ("error_type", text), ("standing", text), ("version", text), ("file_hash", text)]
    fields += [("fetched_bytes", pa.int64()), ("opset", pa.int64()), ("nodes", pa.int64()), ("symbols", pa.list_(text)), ("sizes", pa.list_(text))]
    for name in (*_FIGURES, *_OF_MEMORY):
        fields += [(name, pa.decimal128(38, 0)), (name + "_expr", text)]
    fields += [(name, pa.float64()) for name in _TIMES]
    return pa.schema([*fields, ("lower_bound", pa.bool_()), ("warnings", pa.list_(text)), ("report", text)])


def table_of(rows: list[Row]) -> pyarrow.Table:
    """Of every part the same columns, also where a column has no value."""
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=schema())


def as_text(text: str) -> str:
    """Paths may contain bytes that are not text."""
    return text.encode("utf-8", "backslashreplace").decode()


def row_of(source: str, settings: Settings, known: Optional[str] = None) -> tuple[Optional[Row], list[str]]:
    """The row of a source, or None if the existing row has the same key; and the sizes that the model lacks."""
    # Before the file is read: if it changes meanwhile, the row is out of date.
    content = content_of(source, settings.storage_options)
    key = key_of(content, {**settings.count, "fill": settings.fill})
    # A URL may have failed because of `most_bytes`, which is not part of the key.
    key_of_fault = key if key is None or not is_url(source) else f"{key}/{settings.most_bytes}"
    if key is not None and known in (key, key_of_fault):
        return None, []
    row: Row = {"source": source, "key": key, "version": _core.VERSION, "file_hash": file_hash(content)}
    missing: list[str] = []
    try:
        row.update(_count(source, settings, missing))
    except (OnnxflopsError, OSError, ValueError, TypeError) as error:
        row.update(error=f"{error}" or type(error).__name__, error_type=type(error).__name__, key=key_of_fault)
    except Exception as error:  # an error of a URL's library belongs to this row
        row.update(error=f"{type(error).__name__}: {error}", error_type=type(error).__name__, key=key_of_fault)
    return {name: _text(value) for name, value in row.items()}, missing


def lost_row(source: str) -> Row:
    """Of a model that ended its worker. It has no key, so the next scan tries it again."""
    text = "the process that counted it ended: it may need more memory than there is"
    return {"source": as_text(source), "error": text, "error_type": "WorkerLost", "version": _core.VERSION}


def _count(source: str, settings: Settings, missing: list[str]) -> Row:
    row: Row = {}
    if is_url(source):
        model, row["fetched_bytes"] = load_url(source, most_bytes=settings.most_bytes, options=settings.storage_options)
    else:
        _require_file(source)
        model = load(source)
    report, unknown, sizes = _core._count_one_of_many(model, settings.fill, settings.count)
    missing += unknown
    figures = {name: getattr(report, name) for name in _FIGURES}
    if settings.count.get("memory"):
        memory = report.memory
        figures.update((name, getattr(memory, name)) for name in _OF_MEMORY)
    for name, value in figures.items():
        row[name] = value if isinstance(value, int) and value < _MOST_DECIMAL else None
        row[name + "_expr"] = None if value is None else str(value)
    row.update((name, getattr(report, name)) for name in _TIMES)
    # With `fill` a figure with a formula is one of a size that could not be set.
    is_open = settings.fill is not None and not all(isinstance(value, (int, type(None))) for value in figures.values())
    row["standing"] = "open" if is_open and report.standing != "at_least" else report.standing
    row["lower_bound"] = report.lower_bound
    row["opset"], row["nodes"], row["symbols"] = report.opset, report.nodes, report.symbols
    row["sizes"] = [f"{name}={size}" for name, size in sizes.items()]
    row["warnings"] = [
        *report.warnings,
        *(f"has no symbol named {name!r}: counted without it" for name in unknown),
    ]
    row["report"] = report.to_json()
    return row


def _require_file(source: str) -> None:
    """To read from a pipe or a device may take forever."""
    try:
        mode = os.stat(source).st_mode
    except OSError:  # load() reports the fault
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InvalidError(f"{source}: is neither a file nor a folder")


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return as_text(value)
    return [as_text(item) for item in value] if isinstance(value, list) else value
