"""Many models: a Parquet dataset of their reports."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

from onnxflops._errors import InvalidError, OnnxflopsError
from onnxflops._keys import key_of
from onnxflops._load import load
from onnxflops._ranges import load_url

if TYPE_CHECKING:
    import pyarrow.dataset

_FIGURES = ("flops", "macs", "params", "param_bytes", "bytes_read", "bytes_written", "training_flops")
_ROWS_OF_A_PART = 64
_MOST_DECIMAL = 10**38

Row = dict[str, Any]


def scan(
    sources: Iterable[Union[str, "os.PathLike[str]"]],
    out: Union[str, "os.PathLike[str]"],
    *,
    engine: Literal["local", "dask", "ray"] = "local",
    workers: Optional[int] = None,
    client: Any = None,
    most_bytes: int = 2**31,
    storage_options: Optional[dict[str, Any]] = None,
    retry: bool = False,
    count: Optional[dict[str, Any]] = None,
) -> pyarrow.dataset.Dataset:
    """Counts many models, and gives a dataset of Parquet files in the folder `out`: the rows of `sources`.

    `sources` are paths and URLs of fsspec (https://, s3://, hf://); of a URL only the bytes that are
    needed are fetched. A row has the source; flops, macs, params and others as decimals, which are null
    while a size is open, and as formulas (flops_expr); whether they are lower bounds; warnings; the whole
    report as JSON; or the error of a model that cannot be counted. `count` are arguments of Model.count().

    A scan that was stopped goes on: sources that `out` has already are left out, with `retry` unless they
    failed. A row is replaced if the source, `count`, a file that it names, or the version of onnxflops
    changed since. Of a URL the server's ETag or time tells; where it gives none, the source is counted
    again.

    `engine` "local" uses threads of this machine, "dask" a distributed.Client (`client`, or a cluster
    of this machine), "ray" a cluster of Ray. `most_bytes` bounds what is downloaded from a server
    that gives no ranges.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError("scan() needs pyarrow: pip install 'onnxflops[scan]'") from error
    if isinstance(sources, (str, bytes, os.PathLike)):
        raise TypeError("scan(): sources is a list of paths and URLs")
    os.makedirs(out, exist_ok=True)
    known = _known(out, retry)
    tasks = []
    asked = list(dict.fromkeys(os.fspath(s) for s in sources))
    for source in asked:
        tasks.append((source, most_bytes, storage_options or {}, count or {}, known.get(_as_text(source))))
    engines = {"local": _local, "dask": _dask, "ray": _ray}
    if engine not in engines:
        raise InvalidError(f"scan(): engine {engine!r}: it should be local, dask or ray")
    part: list[Row] = []
    rows = engines[engine](tasks, workers, client) if tasks else iter(())
    try:
        for row in rows:
            if row is None:
                continue
            part.append(row)
            if len(part) == _ROWS_OF_A_PART:
                _replace(out, part, known)
                part = []
    finally:
        if part or not os.listdir(out):
            _replace(out, part, known)
    return _dataset(out, [_as_text(source) for source in asked], known)


def row_of(task: tuple[str, int, dict[str, Any], dict[str, Any], Optional[str]]) -> Optional[Row]:
    """The row of a source, or None if the one that is there has the same key. What is wrong is the row's error."""
    source, most_bytes, storage_options, count, known = task
    # Before the file is read: if it changes meanwhile, the row is out of date.
    key = key_of(source, count, storage_options)
    # A fault of a URL may be that of `most_bytes`, which is no part of a figure.
    key_of_fault = key if key is None or "://" not in source else f"{key}/{most_bytes}"
    if key is not None and known in (key, key_of_fault):
        return None
    row: Row = {"source": source, "key": key, "fetched_bytes": None}
    try:
        if "://" in source:
            model, row["fetched_bytes"] = load_url(source, most_bytes=most_bytes, options=storage_options)
        else:
            model = load(source)
        report = model.count(**count)
        for name in _FIGURES:
            value = getattr(report, name)
            row[name] = value if isinstance(value, int) and value < _MOST_DECIMAL else None
            row[name + "_expr"] = str(value)
        row["lower_bound"] = report.lower_bound
        row["warnings"] = report.warnings
        row["report"] = report.to_json()
    except (OnnxflopsError, OSError, ValueError, TypeError) as error:
        row["error"] = f"{error}" or type(error).__name__
    except Exception as error:  # of a library behind a URL: it is this row's
        row["error"] = f"{type(error).__name__}: {error}"
    if "error" in row:
        row["key"] = key_of_fault
    return row


def _schema() -> Any:
    import pyarrow as pa

    fields = [("source", pa.string()), ("key", pa.string()), ("error", pa.string()), ("fetched_bytes", pa.int64())]
    for name in _FIGURES:
        fields += [(name, pa.decimal128(38, 0)), (name + "_expr", pa.string())]
    return pa.schema([*fields, ("lower_bound", pa.bool_()), ("warnings", pa.list_(pa.string())), ("report", pa.string())])


def _write(out: Union[str, "os.PathLike[str]"], rows: list[Row]) -> None:
    """A part, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet

    name = os.path.join(out, f"part-{uuid.uuid4().hex}.parquet")
    table = pa.Table.from_pylist([{**row, **_text(row)} for row in rows], schema=_schema())
    pyarrow.parquet.write_table(table, name + ".tmp", compression="zstd")
    os.replace(name + ".tmp", name)


def _text(row: Row) -> Row:
    """Paths may hold bytes that are no text."""
    return {k: _as_text(v) for k, v in row.items() if isinstance(v, str)}


def _as_text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _dataset(out: Union[str, "os.PathLike[str]"], asked: list[str], known: dict[str, Optional[str]]) -> pyarrow.dataset.Dataset:
    """The rows of what was asked for: others may be of another `count`, or of files that changed since."""
    import pyarrow.dataset

    files = [os.path.join(out, name) for name in sorted(os.listdir(out)) if name.endswith(".parquet")]
    dataset = pyarrow.dataset.dataset(files, schema=_schema(), format="parquet")
    if known.keys() <= set(asked):
        return dataset
    return dataset.filter(pyarrow.dataset.field("source").isin(asked))


def _parts(out: Union[str, "os.PathLike[str]"]) -> Iterator[tuple[str, list[Row]]]:
    """The files of a dataset, with their rows."""
    import pyarrow.parquet

    for name in sorted(os.listdir(out)):
        path = os.path.join(out, name)
        if name.endswith(".parquet"):
            yield path, pyarrow.parquet.read_table(path, schema=_schema()).to_pylist()


def _known(out: Union[str, "os.PathLike[str]"], retry: bool) -> dict[str, Optional[str]]:
    """The key of each row that the dataset has. With `retry`, that of a row that failed is nothing's key."""
    for name in os.listdir(out):
        if name.endswith(".parquet.tmp"):
            os.remove(os.path.join(out, name))
    rows = [row for _, part in _parts(out) for row in part]
    return {row["source"]: None if retry and row["error"] is not None else row["key"] for row in rows}


def _replace(out: Union[str, "os.PathLike[str]"], rows: list[Row], known: dict[str, Optional[str]]) -> None:
    """Writes rows, after those of the same sources are gone: a scan that is stopped in between counts them again."""
    old = {_as_text(row["source"]) for row in rows} & known.keys()
    if old:
        for path, part in list(_parts(out)):
            kept = [row for row in part if row["source"] not in old]
            if len(kept) == len(part):
                continue
            if kept:
                _write(out, kept)
            os.remove(path)
    _write(out, rows)


def _local(tasks: list[Any], workers: Optional[int], client: Any) -> Iterator[Optional[Row]]:
    from concurrent.futures import ThreadPoolExecutor, as_completed

    # Counting is done without the GIL, and fetching waits.
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(row_of, task) for task in tasks]
        for future in as_completed(futures):
            yield future.result()


def _dask(tasks: list[Any], workers: Optional[int], client: Any) -> Iterator[Optional[Row]]:
    try:
        import distributed
    except ImportError as error:
        raise ImportError("engine='dask' needs distributed: pip install 'onnxflops[dask]'") from error
    used = distributed.Client(n_workers=workers, dashboard_address=None) if client is None else client
    try:
        for future in distributed.as_completed(used.map(row_of, tasks, pure=False)):
            yield future.result()
    finally:
        if client is None:
            used.close()


def _ray(tasks: list[Any], workers: Optional[int], client: Any) -> Iterator[Optional[Row]]:
    try:
        import ray
    except ImportError as error:
        raise ImportError("engine='ray' needs Ray: pip install 'onnxflops[ray]'") from error
    if not ray.is_initialized():
        ray.init(num_cpus=workers)
    remote = ray.remote(row_of)
    waiting = [remote.remote(task) for task in tasks]
    while waiting:
        ready, waiting = ray.wait(waiting)
        for row in ray.get(ready):
            yield row
