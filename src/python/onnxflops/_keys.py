"""A hash of everything that a row of a scan depends on: a row with another key is out of date."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Optional

from onnxflops import _core
from onnxflops._errors import OnnxflopsError
from onnxflops._ranges import filesystem, graph_bytes, is_url

_WHOLE = 1 << 26  # a smaller file is hashed whole: that is faster than to walk it
_BLOCK = 1 << 20
# Fields of a store that change when the file changes.
_MARKS: tuple[str, ...] = ("ETag", "etag", "Content-MD5", "Digest", "Last-Modified", "LastModified", "last_modified")
_MARKS += ("mtime", "blob_id", "md5Hash", "generation")


def key_of(content: Optional[str], count: dict[str, Any]) -> Optional[str]:
    """Of this version, the options with the files that they name, and what the source holds.

    None if nothing tells whether a URL's file changed.
    """
    if content is None:
        return None
    options = {name: [_text(value), _of_option(value)] for name, value in count.items()}
    return hashlib.sha256(json.dumps([_core.VERSION, options, content], sort_keys=True).encode()).hexdigest()


def content_of(source: str, storage_options: dict[str, Any]) -> Optional[str]:
    """A text that changes with what the source holds; None if nothing tells of a URL."""
    return _of_url(source, storage_options) if is_url(source) else _of_path(source)


def file_hash(content: Optional[str]) -> Optional[str]:
    """The SHA-256 of a file, for a large one without its weights; None for a URL or a folder."""
    kind, _, rest = (content or "").partition(" ")
    name = {"file": "sha256", "graph": "sha256-without-weights"}.get(kind)
    return f"{name}:{rest.split()[1]}" if name else None


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps({str(k): _text(v) for k, v in value.items()}, sort_keys=True)
    return repr(value)


def _of_option(value: Any) -> list[str]:
    """Rules and devices are files."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return [_of_path(os.fspath(v)) for v in values if isinstance(v, (str, os.PathLike)) and os.path.isfile(v)]


def _of_path(path: str) -> str:
    try:
        if not os.path.isdir(path):
            return _of_file(path)
        names = sorted(name for name in os.listdir(path) if name.endswith(".json"))
        return json.dumps([[name, _of_file(os.path.join(path, name))] for name in names])
    except OSError as error:
        return f"error {error.errno}"


def _of_file(path: str) -> str:
    """Of a large model all but the payloads of its weights, which no count reads."""
    if not os.path.isfile(path):  # a pipe can be read once
        return "no file"
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > _WHOLE and not path.endswith((".json", ".onnxtxt", ".textproto")):
            try:
                for start, data in graph_bytes(file, path, size):
                    digest.update(start.to_bytes(8, "little") + data)
                return f"graph {size} {digest.hexdigest()}"
            except OnnxflopsError:  # text, or no model
                digest = hashlib.sha256()
                file.seek(0)
        while data := file.read(_BLOCK):
            digest.update(data)
    return f"file {size} {digest.hexdigest()}"


def _of_url(url: str, storage_options: dict[str, Any]) -> Optional[str]:
    try:
        fs, path = filesystem(url, storage_options)
        fs.invalidate_cache()
        info = fs.info(path)
    except Exception as error:  # of a library; the row has it as its error
        return type(error).__name__
    marks = {name: str(info[name]) for name in _MARKS if info.get(name) is not None}
    return json.dumps([info.get("size"), marks], sort_keys=True) if marks else None
