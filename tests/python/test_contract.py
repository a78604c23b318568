"""The engine still has everything that the last release promised (docs/versions.md); contract_test.py checks the rest."""

import json
import pathlib
import sys

import onnxflops
import pytest

CONTRACT = pathlib.Path(__file__).parent.parent / "contract"


def test_engine_keeps_its_promises(monkeypatch):
    package = pathlib.Path(onnxflops.__file__).parent
    if not (package / "_core.pyi").exists():
        pytest.skip("the extension is inside of the interpreter")
    monkeypatch.syspath_prepend(str(CONTRACT))
    import description

    present = {"python_stub": sorted(set(description.python_stub(str(package))))}
    released = json.loads((CONTRACT / "released.json").read_text())
    assert description.broken(released, present, onnxflops.__version__) == []
    released["python_stub"].append("onnxflops.gone")
    assert description.broken(released, present, released["version"]) != []
