"""The models that the sources of a scan stand for: a folder for its models, a pattern for what matches it.

As in the program: of a folder all ONNX files at any depth, or else its configurations, sorted. A folder with one
configuration at its top is a model. What stands for nothing stays as it is, so that its row has the error.
"""

from __future__ import annotations

import glob
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any, Union

from onnxflops._ranges import filesystem, is_url

Sources = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]

_MODELS = (".onnx", ".onnxtxt")
_CONFIGS = ("config.json", "open_clip_config.json")
_FILES = (*_MODELS, ".json", ".textproto")
_HTTP = re.compile(r"https?://")


def expand(sources: Sources, storage_options: dict[str, Any]) -> list[str]:
    """The paths and URLs of models, in the order of `sources`."""
    if isinstance(sources, (bytes, bytearray)):
        raise TypeError("scan(): sources are paths and URLs, not bytes")
    if not isinstance(sources, (str, os.PathLike)) and not hasattr(sources, "__iter__"):
        raise TypeError(f"scan(): 'sources' should be a path, a URL, or a list of them, not {type(sources).__name__}")
    words = [sources] if isinstance(sources, (str, os.PathLike)) else sources
    found: list[str] = []
    for word in [os.fspath(word) for word in words]:
        found += (_of_url(word, storage_options) if is_url(word) else _of_path(word)) or [word]
    return found


def _of_path(word: str) -> list[str]:
    if os.path.isdir(word):
        return _models(word, _below(word))
    if os.path.lexists(word) or not glob.has_magic(word):
        return []
    base, any_depth, rest = word.partition("**/")
    if not any_depth:
        return sorted(glob.glob(word))
    # Unlike glob's own, this does not follow links.
    folders = sorted(glob.glob(base)) if base else ["."]
    files = [os.path.normpath(file) for folder in folders for file in _below(folder)]
    return sorted(file for file in files if PurePath(file).match(rest))


def _below(folder: str) -> Iterator[str]:
    for at, _, names in os.walk(folder):  # which does not follow links
        yield from (os.path.join(at, name) for name in names)


def _models(folder: str, files: Iterable[str]) -> list[str]:
    files = sorted(files)
    models = [file for file in files if file.endswith(_MODELS)]
    configs = [file for file in files if posixpath.basename(file.replace(os.sep, "/")) in _CONFIGS]
    if models or len(configs) > 1:
        return models or configs
    return configs if configs and os.path.dirname(configs[0]) != folder.rstrip("/" + os.sep) else []


def _of_url(url: str, storage_options: dict[str, Any]) -> list[str]:
    """Only what may be a folder or a pattern is asked for: most URLs are those of files."""
    is_http = _HTTP.match(url) is not None
    magic = any(sign in url for sign in ("*" if is_http else "*?["))  # in HTTP, "?" begins a query
    if "::" in url or not (magic or (url.endswith("/") if is_http else not url.endswith(_FILES))):
        return []
    try:
        fs, path = filesystem(url, storage_options)
        fs.invalidate_cache()
        if magic and not fs.exists(path):
            return sorted(map(fs.unstrip_protocol, fs.glob(path)))
        return _models(url, map(fs.unstrip_protocol, fs.find(path))) if url.endswith("/") or fs.isdir(path) else []
    except Exception:  # of a library: the row has the error
        return []
