"""The folder of a scan: Parquet files, each written completely or not at all, on this machine or at a URL of fsspec."""

from __future__ import annotations

import io
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional

from onnxflops._errors import InvalidError
from onnxflops._lock import only_scan_of
from onnxflops._ranges import filesystem, is_url, remote_error
from onnxflops._rows import schema

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.dataset

_PART = re.compile(r"part-[0-9a-z-]+\.parquet")
_UNFINISHED = ".parquet.tmp"


def part_name(scan: int, first: int) -> str:
    """Of a scan that began at this time, in nanoseconds, and of the place of its first source: names sort as rows do."""
    return f"part-{scan:016x}-{first:09d}.parquet"


@dataclass(frozen=True)
class Store:
    """Where the parts are. Workers get a copy."""

    out: str
    options: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Makes the folder, keeps other scans out of it, and removes unfinished files of an earlier one. A URL has no lock."""
        if is_url(self.out):
            filesystem, root = self._remote()
            if filesystem.root_marker:  # else it is a store, where this would make a bucket
                _of_url(self.out, lambda: filesystem.makedirs(root, exist_ok=True))
            yield
            return
        os.makedirs(self.out, exist_ok=True)
        with only_scan_of(self.out):
            for name in os.listdir(self.out):
                if name.endswith(_UNFINISHED):
                    os.remove(os.path.join(self.out, name))
            yield

    def parts(self) -> list[str]:
        """The names of the parts, sorted."""
        if not is_url(self.out):
            return sorted(filter(_PART.fullmatch, os.listdir(self.out)))
        filesystem, root = self._remote()

        def names() -> list[str]:
            filesystem.invalidate_cache()
            try:
                return [os.path.basename(path) for path in filesystem.ls(root, detail=False)]
            except FileNotFoundError:  # stores have no empty folders
                return []

        return sorted(filter(_PART.fullmatch, _of_url(self.out, names)))

    def write(self, rows: pyarrow.Table, name: str) -> None:
        """In one step: who reads the folder sees the part as it was before, or as it is now."""
        import pyarrow.parquet

        data = io.BytesIO()
        pyarrow.parquet.write_table(rows, data, compression="zstd")
        if is_url(self.out):
            filesystem, root = self._remote()
            # Stores show an object only when it is complete.
            _of_url(self.out, lambda: filesystem.pipe_file(f"{root}/{name}", data.getvalue()))
            return
        path = os.path.join(self.out, name)
        unfinished = f"{path}-{uuid.uuid4().hex}{_UNFINISHED}"
        with open(unfinished, "wb") as file:
            file.write(data.getbuffer())
        os.replace(unfinished, path)

    def read(self, name: str, columns: Optional[list[str]] = None) -> pyarrow.Table:
        """The rows of a part. A column that it lacks, since an earlier version wrote it, has no values."""
        import pyarrow as pa
        import pyarrow.parquet

        wanted = schema() if columns is None else pa.schema([schema().field(c) for c in columns])
        try:
            with self._open(name) as file:
                table = pyarrow.parquet.ParquetFile(file).read(wanted.names)
            found = {f.name: table[f.name] if f.name in table.column_names else pa.nulls(len(table), f.type) for f in wanted}
            if "source" not in table.column_names:
                raise pa.ArrowInvalid("it has no column 'source'")
            return pa.table(found).cast(wanted)
        except pa.ArrowInvalid as error:
            raise InvalidError(f"scan(): {self.out} has a file that no scan wrote whole, {name}: remove it ({error})") from error

    def dataset(self, parts: list[str]) -> pyarrow.dataset.Dataset:
        import pyarrow.dataset
        import pyarrow.fs

        if not parts:
            return pyarrow.dataset.dataset(schema().empty_table())
        if not is_url(self.out):
            paths = [os.path.join(self.out, name) for name in parts]
            return pyarrow.dataset.dataset(paths, schema=schema(), format="parquet")
        filesystem, root = self._remote()
        paths = [f"{root}/{name}" for name in parts]
        wrapped = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(filesystem))
        return pyarrow.dataset.dataset(paths, schema=schema(), format="parquet", filesystem=wrapped)

    def _remote(self) -> tuple[Any, str]:
        found, root = filesystem(self.out, self.options)
        return found, root.rstrip("/")

    def _open(self, name: str) -> Any:
        if not is_url(self.out):
            return open(os.path.join(self.out, name), "rb")
        filesystem, root = self._remote()
        return _of_url(self.out, lambda: filesystem.open(f"{root}/{name}", "rb"))


def _of_url(url: str, work: Any) -> Any:
    """The result of `work`. Errors have the server's or network's message in one line."""
    try:
        return work()
    except Exception as error:
        raise remote_error(url, error) from error
