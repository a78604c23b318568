"""The task of a scan's worker: it counts some models, and writes their rows as one file."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Optional

from onnxflops._rows import Row, Settings, as_text, row_of, table_of
from onnxflops._store import Store

# A task ends early after this time, or with this much text, and writes its rows: a scan that is stopped loses little,
# and a worker holds little.
_MOST_SECONDS = 30.0
_MOST_TEXT = 1 << 26


@dataclass(frozen=True)
class Task:
    """Some sources for one worker. Their rows go into `part`; if it `is_old`, they replace the rows there that are out of date."""

    store: Store
    settings: Settings
    part: str
    first: int  # the place of the first source among the sources that are new
    sources: tuple[str, ...]
    is_old: bool = False
    drop: tuple[str, ...] = ()  # of an old part: sources whose rows go


@dataclass(frozen=True)
class Done:
    """The result of a task."""

    counted: int  # rows that were written
    left: int  # sources at the end that are for another task
    missing: Optional[frozenset[str]]  # sizes that no model of these has; None if none could be counted


def run(task: Task, stop: Optional[threading.Event] = None) -> Done:
    """Counts models without an up-to-date row, and writes the rows. A fault of a model is in its row."""
    known = _known(task) if task.is_old else {}
    rows: list[Row] = []
    missing: Optional[frozenset[str]] = None
    deadline, text, done = time.monotonic() + _MOST_SECONDS, 0, 0
    for source in task.sources:
        done += 1
        row, lacks = row_of(source, task.settings, known.get(as_text(source)))
        if row is not None:
            rows.append(row)
            text += len(row.get("report") or "")
            if "error" not in row:
                missing = frozenset(lacks) if missing is None else missing & frozenset(lacks)
        if time.monotonic() > deadline or text > _MOST_TEXT or (stop is not None and stop.is_set()):
            break
    if rows or task.drop:
        write(task, rows)
    return Done(len(rows), len(task.sources) - done, missing)


def _known(task: Task) -> dict[str, Optional[str]]:
    """The key of each row in the part. With `retry`, a failed row gets a key that matches nothing."""
    rows = task.store.read(task.part, ["source", "key", "error"]).to_pylist()
    return {r["source"]: None if task.settings.retry and r["error"] is not None else r["key"] for r in rows}


def write(task: Task, rows: list[Row]) -> None:
    """Writes the rows into the part of a task; in an old part they replace the rows of the same sources."""
    import pyarrow as pa

    table = table_of(rows)
    if task.is_old:
        old = task.store.read(task.part)
        drop, new = set(task.drop), {source: len(old) + at for at, source in enumerate(table["source"].to_pylist())}
        places = [new.get(source, at) for at, source in enumerate(old["source"].to_pylist()) if source not in drop]
        table = pa.concat_tables([old, table]).take(pa.array(places, pa.int64()))
    task.store.write(table, task.part)
