"""Models from HTTP, S3 or a hub: only the bytes that a count needs are fetched.

A count does not need the weights, which are nearly all of a file. So the file's structure is walked here, and the
other bytes are written at the same positions of a sparse file. The engine seeks over the holes.
"""

from __future__ import annotations

import os
import re
import tempfile
from typing import IO, TYPE_CHECKING, Any, Optional

from onnxflops import _core
from onnxflops._errors import InvalidError, LimitError, NoSuchFileError, OnnxflopsError

if TYPE_CHECKING:
    from onnxflops._core import Model

# A message or payload below this size is fetched whole. Tensors whose content the engine reads are far smaller.
_SMALL = 1 << 18
_BLOCK = 1 << 16
_MOST_BLOCK = 1 << 20
# Where messages of onnx.proto hold others that may be large: field -> message.
_GRAPH, _FUNCTION, _NODE, _ATTRIBUTE, _TENSOR, _SPARSE = "graph", "function", "node", "attribute", "tensor", "sparse"
_FIELDS: dict[str, dict[int, str]] = {
    "model": {7: _GRAPH, 25: _FUNCTION},
    _GRAPH: {1: _NODE, 5: _TENSOR, 15: _SPARSE},
    _FUNCTION: {7: _NODE, 11: _ATTRIBUTE},
    _NODE: {5: _ATTRIBUTE},
    _ATTRIBUTE: {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE},
    _SPARSE: {1: _TENSOR, 2: _TENSOR},
    _TENSOR: {},
}
_PAYLOADS = (4, 5, 6, 7, 9, 10, 11)  # of a tensor: its elements
_MOST_DEPTH = 64
_LEAST_FAULT, _NOT_FOUND = 400, 404  # answers of HTTP
# The extra of the package that a protocol needs.
_EXTRAS = {"http": "scan", "https": "scan", "s3": "s3", "s3a": "s3", "hf": "hf"}
_URL = re.compile(r"[a-z][a-z0-9+.:-]*://")


class _Remote:
    """Bytes of a file by range, written to the same place of a local one."""

    def __init__(self, file: Any, path: str, size: int, copy: Any) -> None:
        self._file, self._path, self.size, self._copy = file, path, size, copy
        self._start, self._data, self._block = 0, b"", _BLOCK
        self.fetched = 0

    def _fetch(self, start: int, end: int) -> bytes:
        self._file.seek(start)
        data: bytes = self._file.read(end - start)
        if len(data) != end - start:
            raise InvalidError(f"{self._path}: the server gave {len(data)} bytes for a range of {end - start}")
        self.fetched += len(data)
        self._copy.seek(start)
        self._copy.write(data)
        return data

    def need(self, start: int, end: int) -> bytes:
        """These bytes, from the cache or fetched in blocks that grow as reading continues."""
        if end > self.size:
            raise InvalidError(f"{self._path}: the file ends within a message")
        stop = self._start + len(self._data)
        if not (self._start <= start and end <= stop):
            self._block = min(2 * self._block, _MOST_BLOCK) if start <= stop <= end else _BLOCK
            if self._start <= start < stop:  # goes on
                more = self._fetch(stop, min(max(end, stop + self._block), self.size))
                self._start, self._data = start, self._data[start - self._start :] + more
            else:
                self._start = start
                self._data = self._fetch(start, min(max(end, start + self._block), self.size))
        return self._data[start - self._start : end - self._start]

    def varint(self, at: int, end: int) -> tuple[int, int]:
        value, shift = 0, 0
        while shift < 70 and at < end:
            byte = self.need(at, at + 1)[0]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at
        raise InvalidError(f"{self._path}: is not ONNX: a number is too long")


def _walk(remote: _Remote, kind: str, at: int, end: int, depth: int = 0) -> None:
    """Fetches a message, the payloads of large tensors left out."""
    if end - at <= _SMALL or depth > _MOST_DEPTH:
        for start in range(at, end, _MOST_BLOCK):
            remote.need(start, min(start + _MOST_BLOCK, end))
        return
    while at < end:
        tag, at = remote.varint(at, end)
        field, wire = tag >> 3, tag & 7
        if wire == 0:
            _, at = remote.varint(at, end)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            remote.need(at, at + size)
            at += size
        elif wire == 2:
            size, at = remote.varint(at, end)
            if size > end - at:
                raise InvalidError(f"{remote._path}: is not ONNX, or is cut off")
            child = _FIELDS[kind].get(field)
            if child is not None:
                _walk(remote, child, at, at + size, depth + 1)
            elif not (kind == _TENSOR and field in _PAYLOADS and size > _SMALL):
                for start in range(at, at + size, _MOST_BLOCK):
                    remote.need(start, min(start + _MOST_BLOCK, at + size))
            at += size
        else:
            raise InvalidError(f"{remote._path}: is not ONNX: wire type {wire}")


class _Pieces:
    """Collects the pieces of a walk in a list."""

    def __init__(self) -> None:
        self.at, self.pieces = 0, list[tuple[int, bytes]]()

    def seek(self, at: int) -> None:
        self.at = at

    def write(self, data: bytes) -> None:
        self.pieces.append((self.at, data))


def graph_bytes(file: IO[bytes], path: str, size: int) -> list[tuple[int, bytes]]:
    """The bytes of a model without its weights, as pieces with their positions."""
    pieces = _Pieces()
    _walk(_Remote(file, path, size, pieces), "model", 0, size)
    return pieces.pieces


def is_url(source: str) -> bool:
    return _URL.match(source) is not None


def filesystem(url: str, options: dict[str, Any]) -> tuple[Any, str]:
    """fsspec's file system for a URL, and the path there. ImportError names the package to install."""
    protocol = url.partition("://")[0].rpartition("::")[2]
    try:
        import fsspec

        found: tuple[Any, str] = fsspec.core.url_to_fs(url, **options)
    except ImportError as error:
        extra = _EXTRAS.get(protocol)
        install = f": pip install 'onnxflops[{extra}]'" if extra else ""
        raise ImportError(f"{protocol}:// needs another package{install} ({error})") from error
    except ValueError as error:  # no such protocol
        raise InvalidError(f"{url}: {error}") from error
    return found


def remote_error(url: str, error: BaseException) -> OnnxflopsError:
    """The error of a server or the network, in one line. Libraries hide it in a chain of exceptions."""
    import asyncio  # late, as `import onnxflops` should be light
    import socket

    if isinstance(error, OnnxflopsError):
        return error
    chain: list[BaseException] = []
    link: Optional[BaseException] = error
    while link is not None and link not in chain:
        chain.insert(0, link)
        link = link.__cause__ or link.__context__
    for status in filter(None, map(_status_of, chain)):
        kind = NoSuchFileError if status == _NOT_FOUND else OnnxflopsError
        return kind(f"{url}: HTTP {status}{_phrase(status)}")
    for classes, text in (
        (ConnectionRefusedError, "connection refused"),
        (socket.gaierror, "there is no such host"),
        ((TimeoutError, asyncio.TimeoutError), "the server did not answer in time"),
    ):
        if any(isinstance(link, classes) for link in chain):
            return OnnxflopsError(f"{url}: {text}")
    if isinstance(error, FileNotFoundError):
        return NoSuchFileError(f"{url}: no such file")
    return OnnxflopsError(f"{url}: {f'{error}'.strip() or type(error).__name__}")


def _status_of(error: BaseException) -> Optional[int]:
    """Of HTTP, where a library keeps it: aiohttp and requests, huggingface_hub, botocore."""
    answer = getattr(error, "response", None)
    values = [getattr(error, "status", None), getattr(answer, "status_code", None)]
    if isinstance(answer, dict):
        values.append(answer.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    return next((v for v in values if isinstance(v, int) and v >= _LEAST_FAULT), None)


def _phrase(status: int) -> str:
    from http import HTTPStatus

    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""


def load_url(url: str, *, most_bytes: int, options: Optional[dict[str, Any]] = None) -> tuple[Model, int]:
    """The model at a URL of fsspec, and how many bytes were fetched.

    From a server without ranges the whole file is fetched once, up to `most_bytes`.
    """
    fs, path = filesystem(url, options or {})
    with tempfile.TemporaryFile() as copy:
        try:
            fetched = _fetch(fs, path, copy, most_bytes)
        except Exception as error:
            raise remote_error(url, error) from error
        copy.flush()
        copy.seek(0)
        length = os.fstat(copy.fileno()).st_size
        # For pickle: the fetched pieces, or the whole of a small file.
        origin = ("pieces", length, graph_bytes(copy, url, length)) if path.endswith(".onnx") else None
        copy.seek(0)
        return _core._load_fd(copy.fileno(), url, origin), fetched


def _fetch(fs: Any, path: str, copy: IO[bytes], most_bytes: int) -> int:
    size = fs.info(path).get("size")
    fetched = None
    if size and not path.endswith((".json", ".onnxtxt", ".textproto")):
        fetched = _fetch_ranges(fs, path, size, copy)
    return _download(fs, path, copy, most_bytes) if fetched is None else fetched


def _fetch_ranges(fs: Any, path: str, size: int, copy: IO[bytes]) -> Optional[int]:
    """How many bytes were fetched; None if the server gives no ranges."""
    os.truncate(copy.fileno(), size)
    try:
        with fs.open(path, "rb", cache_type="none") as file:
            file.seek(1)  # a server without ranges gives the whole file for this, which is not read then
            file.read(1)
            remote = _Remote(file, path, size, copy)
            _walk(remote, "model", 0, size)
            return remote.fetched
    except ValueError as error:
        if isinstance(error, InvalidError):
            raise
    # fsspec says so when a range is answered with the whole file, or the size is not known.
    copy.seek(0)
    copy.truncate()
    return None


def _download(fs: Any, path: str, copy: IO[bytes], most_bytes: int) -> int:
    fetched = 0
    with fs.open(path, "rb", block_size=0) if "http" in str(fs.protocol) else fs.open(path, "rb") as file:
        while True:
            data = file.read(_MOST_BLOCK)
            if not data:
                return fetched
            fetched += len(data)
            if fetched > most_bytes:
                raise LimitError(f"{path}: the server gives no ranges, and the file has more than {most_bytes} bytes")
            copy.write(data)
