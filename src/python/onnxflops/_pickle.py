"""Models as bytes: what pickle keeps of one is its file without large weights, or its configuration.

A model that is unpickled is loaded like any other, so bytes from strangers can do no more than a file can.
Of a path, the file is read when the model is pickled; it should not have changed since load().
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, Optional

from onnxflops import _core
from onnxflops._errors import InvalidError, UnavailableError
from onnxflops._ranges import graph_bytes

if TYPE_CHECKING:
    from onnxflops._core import Expr, Figure, Model, Module, Report

_WHOLE = 1 << 22  # bytes of a model that are kept as they are
_MOST_SIZE = 1 << 43  # of a file with holes
Pieces = list[tuple[int, bytes]]


def origin_of_path(path: Any) -> Optional[tuple[Any, ...]]:
    """Identifies a file and its state, so that a change is noticed. None for a file that can be read only once."""
    try:
        whole = os.path.abspath(os.fspath(path))
        state = os.stat(whole)
    except (OSError, ValueError):
        return None
    if not os.path.isfile(whole):
        return None
    return "path", whole, state.st_size, state.st_mtime_ns


def origin_of_bytes(data: bytes) -> tuple[Any, ...]:
    """The bytes, without the large weights of a large model."""
    if len(data) <= _WHOLE:
        return "pieces", len(data), [(0, data)]
    import io

    try:
        return "pieces", len(data), graph_bytes(io.BytesIO(data), "<bytes>", len(data))
    except InvalidError:  # no model
        return "pieces", len(data), [(0, data)]


def reduced(model: Model) -> tuple[Any, ...]:
    """The state for pickle."""
    config = model._config
    if config:
        return model_of_config, (model.path, config)
    origin = model._origin
    if origin is None:
        raise UnavailableError(f"{model.path}: a model that was read from a pipe cannot be pickled")
    if origin[0] == "path":
        return model_of_pieces, (model.path, origin[2], _pieces_of(model.path, *origin[1:]))
    return model_of_pieces, (model.path, origin[1], origin[2])


def _pieces_of(name: str, path: str, size: int, modified: int) -> Pieces:
    with open(path, "rb") as file:
        state = os.fstat(file.fileno())
        if (state.st_size, state.st_mtime_ns) != (size, modified):
            raise UnavailableError(f"{name}: the file changed since load(): load it once more to pickle it")
        if size > _WHOLE and path.endswith(".onnx"):
            return graph_bytes(file, path, size)
        return [(0, file.read())]


def model_of_config(name: str, config: bytes) -> Model:
    """A model of a configuration of a known family."""
    if not isinstance(name, str) or not isinstance(config, bytes):
        raise TypeError("a pickled model is a name and bytes")
    return _core._load_bytes(config, name)


def model_of_pieces(name: str, size: int, pieces: Pieces) -> Model:
    """A model of a file with holes where weights were."""
    if not isinstance(name, str) or not isinstance(size, int) or not isinstance(pieces, list) or not 0 <= size <= _MOST_SIZE:
        raise TypeError("a pickled model is a name, a size, and pieces of a file")
    origin = ("pieces", size, pieces)
    with tempfile.TemporaryFile() as file:
        os.truncate(file.fileno(), size)
        for at, data in pieces:
            if not isinstance(at, int) or not isinstance(data, bytes) or not 0 <= at <= size - len(data):
                raise InvalidError(f"{name!r:.200}: a piece of the pickled model is outside of the file")
            file.seek(at)
            file.write(data)
        file.flush()
        file.seek(0)
        if len(pieces) == 1 and len(pieces[0][1]) == size and name.startswith("<"):
            return _core._load_bytes(pieces[0][1], name, origin)
        return _core._load_fd(file.fileno(), name, origin)


def expr_of(text: bytes, bounds: list[tuple[bytes, int]]) -> int | Expr:
    """A formula of its text, and of the least value of each size."""
    return _core._expr(text, bounds)


def report_of(model: Model, given: dict[str, Any]) -> Report:
    """A report is counted once more, with the arguments that count() had."""
    return _core._count(model, given)


def figure_of(name: str, value: int | Expr, status: str) -> Figure:
    """A figure of what it says."""
    return _core._figure(name, value, status)


def module_of(report: Report, index: int) -> Module:
    """The module at this place of a report."""
    return list(report.modules)[index]
