"""Models from whatever holds one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol, Union

from onnxflops import _core, _errors
from onnxflops._core import Model
from onnxflops._pickle import origin_of_bytes, origin_of_path
from onnxflops._ranges import is_url, load_url

if TYPE_CHECKING:
    from collections.abc import Mapping

# The most bytes that are taken from a file object: what protobuf can hold.
_MOST_BYTES = 2**31 - 1


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


class _Proto(Protocol):
    """An onnx.ModelProto."""

    def SerializeToString(self) -> bytes: ...


Source = Union[
    Model, str, "os.PathLike[str]", "os.PathLike[bytes]", bytes, bytearray, memoryview, _Readable, _Proto, "Mapping[str, Any]"
]


def load(source: Source, *, name: str | None = None, storage_options: dict[str, Any] | None = None) -> Model:
    """The model that `source` holds.

    `source` is one of these: the path of a .onnx file, of a configuration (config.json), or of a folder that
    holds one; their bytes; a file object opened with "rb"; an onnx.ModelProto; a configuration as a dict;
    a URL (https://, s3://, hf://), from which only the needed bytes are fetched; a Model, which is returned.
    No weights are read from a path; in the other forms, leave them out if you can.
    `storage_options` are passed to the file system of a URL (fsspec).
    `name` stands for the model in reports and errors if there is no path.

    Raises OnnxflopsError with the fault of the file.
    """
    if isinstance(source, (str, os.PathLike)):
        if name is not None:
            raise TypeError("load(): a path is the name of its model")
        if isinstance(source, str) and is_url(source):
            return load_url(source, most_bytes=_MOST_BYTES, options=storage_options)[0]
        return _load_path(source)
    if isinstance(source, Model):
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _load_bytes(bytes(source), "<bytes>" if name is None else name)
    if hasattr(source, "SerializeToString"):
        return _load_bytes(source.SerializeToString(), "<ModelProto>" if name is None else name)
    if hasattr(source, "read"):
        return _load_bytes(_read(source), _name_of(source) if name is None else name)
    if hasattr(source, "items"):
        import json

        return _core._load_bytes(json.dumps(dict(source)).encode(), "config.json" if name is None else name)
    raise TypeError(f"load(): {type(source).__name__} is no path, bytes, file object, ModelProto or configuration")


def _load_path(path: Union[str, os.PathLike[str], os.PathLike[bytes]]) -> Model:
    try:
        return _core._load_path(path, origin_of_path(path))
    except _errors.InvalidError as error:
        if "is a directory, not a file" not in str(error):
            raise
        raise _errors.InvalidError(f"{error}, and holds no single model: scan(folder, out) counts all models below it") from None


def _load_bytes(data: bytes, name: str) -> Model:
    return _core._load_bytes(data, name, origin_of_bytes(data))


def _read(file: _Readable) -> bytes:
    data = file.read(_MOST_BYTES + 1)
    if not isinstance(data, bytes):
        raise TypeError('load(): the file object gives text; open it with "rb"')
    if len(data) > _MOST_BYTES:
        raise _errors.LimitError("load(): the file object has more than 2 GB: load its path instead")
    return data


def _name_of(file: object) -> str:
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else "<file>"
