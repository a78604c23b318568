"""Many models: a Parquet dataset of their reports.

How it works. The sources are split into tasks of up to 100, and workers write the rows of a task as one file, so that
rows do not pass through this process. It holds the sources and a few tasks per worker. Sources that have a row are
grouped by the file of that row: one task finds the rows that are out of date, and replaces the file in one step. So a
reader, or a scan that is stopped, finds each row once and complete. Only one task at a time writes a file.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

from onnxflops import _core
from onnxflops._engines import IN_FLIGHT, Engine, WorkerLost, make_engine
from onnxflops._errors import OnnxflopsError
from onnxflops._ranges import is_url
from onnxflops._rows import Settings, as_text, lost_row, table_of
from onnxflops._sources import expand
from onnxflops._store import Store, part_name
from onnxflops._tasks import Done, Task, write

if TYPE_CHECKING:
    import pyarrow.dataset

_MOST_SOURCES = 100  # of a task
_TASKS_OF_A_WORKER = 4  # at least, if there are few sources

Progress = Callable[[int, int], None]  # called with how many sources are done, and how many there are


def scan(
    sources: Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]],
    out: Union[str, "os.PathLike[str]"],
    *,
    engine: Literal["local", "dask", "ray"] = "local",
    workers: Optional[int] = None,
    client: Any = None,
    most_bytes: int = 2**31,
    storage_options: Optional[dict[str, Any]] = None,
    out_options: Optional[dict[str, Any]] = None,
    retry: bool = False,
    count: Optional[dict[str, Any]] = None,
    fill: Optional[int] = None,
    progress: Union[bool, Callable[[int, int], None]] = False,
) -> pyarrow.dataset.Dataset:
    """Counts many models, and gives a dataset of Parquet files in `out`: the rows of `sources`.

    `sources` are paths and URLs of fsspec (https://, s3://, hf://), or one of them. A folder stands for all
    ONNX files below it, and a pattern ("models/**/*.onnx") for what it matches, sorted. From a URL only the
    needed bytes are fetched. A row has the source; flops, macs, params and others as decimals, which are null while a size
    is open, and as formulas (flops_expr); `standing`, their certainty; the open sizes (`symbols`), opset,
    number of nodes, hash of the file, version of onnxflops; warnings; the whole report as JSON; or the
    error of a model that cannot be counted. Rows that `out` already had of `sources` are first, then those of this
    scan, in the order of the sources.

    `count` holds arguments of Model.count(). A size that a model does not have is skipped for that model,
    and its row has a warning. `fill` is the size of all symbols that are then still open; a size that follows
    from others, as that of a decoder's mask, gets what follows. A size that does not fit stays open: the row
    has a warning, and the standing "open" if a figure depends on it.

    A stopped scan can be continued: sources that `out` already has are skipped; with `retry`, failed ones
    are counted again. A row is replaced if the source, `count`, a file named there, or the version of
    onnxflops changed since. For a URL the server's ETag or time decides; without them, the source is
    counted again.

    `out` is a folder, or a URL such as "s3://bucket/folder". `out_options` are passed to its file system,
    by default `storage_options`. Workers write there, so on a cluster of several machines it must be a URL
    or a folder that all of them share. Only one scan at a time may write there: in a folder a second one is
    an error, at a URL nothing prevents it.

    `progress=True` shows on stderr how many sources are done; a function is called with (done, total).

    `engine` "local" uses threads of this machine, "dask" a distributed.Client (`client`, or a cluster
    of this machine), "ray" a cluster of Ray. `most_bytes` limits the download from a server that does
    not support ranges.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError("scan() needs pyarrow: pip install 'onnxflops[scan]'") from error
    settings = Settings(count or {}, fill, most_bytes, storage_options or {}, retry)
    _core._check_count(fill, settings.count)
    store = Store(os.fspath(out), settings.storage_options if out_options is None else out_options)
    paths = expand(sources, settings.storage_options)
    absent = [path for path in paths if not is_url(path) and not os.path.lexists(path)]
    if absent:
        more = f", and {len(absent) - 1:,} more" if len(absent) > 1 else ""
        warnings.warn(f"scan(): there is no file {absent[0]!r}{more}: a row has the error", stacklevel=2)
    with store.prepared(), make_engine(engine, workers, client) as using:
        found = _Scan(store, settings, using, progress).run(paths)
    for name in sorted(found.missing):
        warnings.warn(f"scan(): no model has a symbol named {name!r}", stacklevel=2)
    return found.dataset


def _shown(done: int, total: int) -> None:
    """One line, which is written again and again; in a file only the last one."""
    if sys.stderr.isatty() or done == total:
        print(f"\rscan: {done:,} of {total:,}", end="\n" if done == total else "", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class _Found:
    dataset: pyarrow.dataset.Dataset
    missing: frozenset[str]  # sizes that no model has


class _Scan:
    """One call of scan()."""

    def __init__(self, store: Store, settings: Settings, engine: Engine, progress: Union[bool, Progress]) -> None:
        self.store, self.settings, self.engine, self.began = store, settings, engine, time.time_ns()
        self.progress: Optional[Progress] = _shown if progress is True else progress if callable(progress) else None
        self.done, self.total = 0, 0
        self.again, self.suspects = deque[Task](), deque[Task]()
        self.alone: Optional[Task] = None
        self.parts, self.has_old, self.has_others = set[str](), False, False
        self.missing: Optional[frozenset[str]] = None

    def run(self, sources: list[str]) -> _Found:
        asked = {as_text(source): source for source in sources}  # by what rows have
        tasks, in_flight, self.total = self._plan(asked), 0, len(asked)
        while True:
            while in_flight < IN_FLIGHT * self.engine.workers():
                task = self._next(tasks, in_flight)
                if task is None:
                    break
                self.engine.submit(task)
                in_flight += 1
            if in_flight == 0:
                return self._found(asked)
            for task, done in self.engine.finished():
                in_flight -= 1
                self._take(task, done)
                if self.progress is not None:
                    self.progress(self.done, self.total)

    def _next(self, tasks: Iterator[Task], in_flight: int) -> Optional[Task]:
        task = self.again.popleft() if self.again else next(tasks, None)
        if task is None and in_flight == 0 and self.suspects:
            self.alone = task = self.suspects.popleft()
        return task

    def _plan(self, asked: dict[str, str]) -> Iterator[Task]:
        """First the sources that have rows, one part at a time; only one column of a part is read."""
        pending = dict(asked)
        for part in self.store.parts():
            texts = self.store.read(part, ["source"])["source"].to_pylist()
            twice = tuple(text for text in texts if text in asked and text not in pending)
            mine = tuple(pending.pop(text) for text in texts if text in pending)
            self.has_others = self.has_others or any(text not in asked for text in texts)
            self.has_old = self.has_old or len(mine) > 0
            if mine or twice:
                self.parts.add(part)
                yield Task(self.store, self.settings, part, 0, mine, is_old=True, drop=twice)
        left = list(pending.values())
        size = max(1, min(_MOST_SOURCES, len(left) // (_TASKS_OF_A_WORKER * self.engine.workers())))
        for first in range(0, len(left), size):
            yield self._new_task(first, tuple(left[first : first + size]))

    def _new_task(self, first: int, sources: tuple[str, ...]) -> Task:
        return Task(self.store, self.settings, part_name(self.began, first), first, sources)

    def _rest(self, task: Task, start: int, stop: Optional[int] = None) -> Task:
        """The same for some of its sources, without the work that is done only once."""
        sources = task.sources[start:stop]
        return replace(task, sources=sources, drop=()) if task.is_old else self._new_task(task.first + start, sources)

    def _take(self, task: Task, done: Union[Done, BaseException]) -> None:
        if isinstance(done, WorkerLost):
            self._take_lost(task)
            return
        if isinstance(done, BaseException):
            raise done
        self.done += len(task.sources) - done.left
        if done.counted:
            if len(self.parts) == 0:
                self._require_shared({task.part}, self.store.parts())
            self.parts.add(task.part)
        if done.missing is not None:
            self.missing = done.missing if self.missing is None else self.missing & done.missing
        if done.left:
            self.again.append(self._rest(task, len(task.sources) - done.left))

    def _take_lost(self, task: Task) -> None:
        """One source may have ended the worker: at the end each of them runs while nothing else does, so that it is known."""
        if task is not self.alone and task.sources:
            self.suspects += [replace(self._rest(task, at, at + 1), drop=task.drop) for at in range(len(task.sources))]
            return
        write(task, [lost_row(source) for source in task.sources])
        self.parts.add(task.part)
        self.done += len(task.sources)

    def _require_shared(self, parts: set[str], present: list[str]) -> None:
        for part in sorted(parts - set(present)):
            raise OnnxflopsError(
                f"scan(): {self.store.out} has not the file {part} that a worker wrote: on several machines `out` should be "
                "a URL, or a folder that all of them share"
            )

    def _found(self, asked: dict[str, str]) -> _Found:
        """The rows of the requested sources; other rows may have another `count`, or belong to files that changed since."""
        import pyarrow.dataset

        self._require_shared(self.parts, self.store.parts())
        dataset = self.store.dataset(sorted(self.parts))
        if self.has_others:
            texts = pyarrow.array(list(asked), pyarrow.string())  # also of none
            dataset = dataset.filter(pyarrow.dataset.field("source").isin(texts))
        return _Found(dataset, frozenset() if self.has_old or self.missing is None else self.missing)
