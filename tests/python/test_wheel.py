"""What the wheel holds. Skipped where the package is not installed from one."""

import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys

import onnxflops
import pytest
from conftest import ROOT
from onnxflops import _core


def core():
    path = getattr(_core, "__file__", None)
    if path is None:
        pytest.skip("the extension is inside of the interpreter")
    return pathlib.Path(path)


def test_program_is_the_same_version(program):
    assert program("--version").startswith(f"onnxflops {onnxflops.__version__} ")
    core()
    assert importlib.metadata.version("onnxflops") == onnxflops.__version__


def test_extension_needs_only_python_and_the_system():
    path = core()
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    listed = subprocess.run(["nm", "-D", str(path)], capture_output=True, text=True, check=True).stdout.splitlines()
    for line in listed:
        kind, name = line.split()[-2:]
        if kind == "U":  # as -z defs requires, but for what the interpreter gives
            assert re.match(r"_?Py|.*@(GLIBC|GLIBCXX|CXXABI|GCC)_", name), name
        elif kind in "TDBRV" and not name.startswith("PyInit_"):
            pytest.fail(f"{name} is exported")


def test_hook_of_pre_commit(tmp_path, monkeypatch):
    """What docs/ci.md has pre-commit call is beside the program, and holds models to their budgets."""
    core()
    folder = pathlib.Path(sys.executable).parent
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q", "."], check=True)
    shutil.copy(ROOT / "models" / "lstm.static.onnx", "m.onnx")
    for limit, code in (("24 MMAC", 0), ("23 MMAC", 1)):
        pathlib.Path("onnxflops.toml").write_text(f'[budget]\nmacs = "{limit}"\n')
        done = subprocess.run([folder / "onnxflops-pre-commit", "m.onnx"], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr


def test_stubs():
    path = core()
    stub = (path.parent / "_core.pyi").read_text()
    assert "def count(self, *, dim: Mapping[str, int] | None = None" in stub
    assert "def flops(self, /) -> int | Expr" in stub


def test_import_is_light():
    """No large package is imported along."""
    script = "import sys; old = set(sys.modules); import onnxflops; print(*sorted(set(sys.modules) - old))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"json", "numpy", "pandas", "torch", "onnx", "fsspec", "pyarrow", "asyncio", "importlib_metadata"}, loaded
