"""Exported graphs of configurations, kept for the next call; and what the program's --with-transformers runs.

    python -m onnxflops._graphs CONFIG [TASK [SIZES]]

prints one JSON object: the file of the graph, the class and versions that made it, and the warnings; or an error. SIZES is a JSON object
of sizes by name that will be counted at. If the graph with open sizes does not hold there, it is made with these sizes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from importlib import metadata
from typing import TYPE_CHECKING, Any, NamedTuple

from onnxflops._conditions import Conditions, names_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Whoever makes the graph: another version of one may make another graph.
_PACKAGES = ("onnxflops", "transformers", "torch", "onnxscript", "onnx-ir")
_NOTES = "graph.json"


class Graph(NamedTuple):
    """A graph as the bytes of an ONNX file without weights, and what the export said of it."""

    cls: str
    data: bytes
    warnings: list[str]
    formulas: tuple[str, ...] = ()  # that hold at all sizes that it is the graph of
    fixed: Mapping[str, int] = {}  # sizes that are open elsewhere, and fixed in it
    path: str | None = None  # where it is kept

    def misses(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Those of the sizes that the graph is not for."""
        missed = {name for name, size in self.fixed.items() if sizes.get(name, size) != size}
        broken = [names_of(formula) for formula in Conditions(self.formulas).broken_at(sizes)]
        least = min(map(len, broken), default=0)  # a size that breaks one of its own may be the fault of all
        return {name: sizes[name] for name in sorted(missed.union(*(names for names in broken if len(names) == least)))}


def folder() -> str | None:
    """Where graphs are kept: the variable ONNXFLOPS_CACHE (empty: nowhere), or the system's folder for such files."""
    named = os.environ.get("ONNXFLOPS_CACHE")
    if named is not None:
        return named or None
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(base, "onnxflops", "graphs") if os.path.isabs(base) else None


def versions() -> dict[str, str]:
    found = {"python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    for name in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def key_of(
    document: Mapping[str, Any], task: str | None, inputs: Sequence[str] | None, sizes: Mapping[str, int | None] | None
) -> str | None:
    """The name of a graph: a hash of all that it is made of. None if the document is no JSON."""
    made_of = [document, task, list(inputs) if inputs else None, dict(sizes or {}), versions()]
    try:
        text = json.dumps(made_of, sort_keys=True)
    except (TypeError, ValueError):
        return None
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def find(key: str | None) -> Graph | None:
    kept = folder()
    if key is None or kept is None:
        return None
    place = os.path.join(kept, key)
    try:
        with open(os.path.join(place, _NOTES), encoding="utf-8") as file:
            notes = json.load(file)
        name = next(name for name in sorted(os.listdir(place)) if name.endswith(".onnx"))
        with open(os.path.join(place, name), "rb") as file:
            return Graph(name[: -len(".onnx")], file.read(), notes["warnings"], tuple(notes["formulas"]), notes["fixed"], file.name)
    except (OSError, ValueError, KeyError, StopIteration):
        return None


def keep(key: str | None, graph: Graph) -> Graph:
    """Writes a graph, whole or not at all. A folder that cannot be written is no error: nothing is kept."""
    kept = folder()
    if key is None or kept is None:
        return graph
    place = os.path.join(kept, key)
    try:
        os.makedirs(kept, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept, prefix=".new-") as new:
            with open(os.path.join(new, graph.cls + ".onnx"), "wb") as model:
                model.write(graph.data)
            with open(os.path.join(new, _NOTES), "w", encoding="utf-8") as file:
                json.dump({"warnings": graph.warnings, "formulas": graph.formulas, "fixed": graph.fixed}, file)
            with contextlib.suppress(OSError):  # it is there already
                os.rename(new, place)
                os.makedirs(new)  # for TemporaryDirectory to remove
    except OSError:
        return graph
    return find(key) or graph


def _answer(words: list[str]) -> dict[str, Any]:
    from onnxflops._config import graph_of, line_of
    from onnxflops._errors import OnnxflopsError

    config, task, sizes = (*words, *("", "")[len(words) - 1 :])[:3]
    try:
        graph = graph_of(config, task or None)
        fixed: dict[str, int] = {}
        while missed := graph.misses({**json.loads(sizes or "{}"), **fixed}):
            if missed.keys() <= fixed.keys():
                break  # a count says why
            fixed |= missed
            graph = graph_of(config, task or None, sizes=fixed)
    except (OnnxflopsError, ImportError) as error:
        return {"error": str(error)}
    except Exception as error:  # a fault of a class, or of the packages
        return {"error": line_of(error)}
    if graph.path is None:
        return {"error": f"the graph cannot be kept in {folder() or 'any folder'}: ONNXFLOPS_CACHE names another"}
    found = versions()
    made = ", ".join(f"{name} {found[name]}" for name in ("transformers", "torch") if name in found)
    return {"graph": os.path.abspath(graph.path), "class": graph.cls, "versions": made, "warnings": graph.warnings}


if __name__ == "__main__":
    print(json.dumps(_answer(sys.argv[1:])))
