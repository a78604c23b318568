"""The contents of the wheel. Skipped if the package is not installed from one."""

import functools
import importlib.metadata
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

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


def test_program_is_a_module_too(program):
    core()
    done = subprocess.run([sys.executable, "-m", "onnxflops", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, program("--version"), "")
    done = subprocess.run([sys.executable, "-m", "onnxflops", "no-such.onnx"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("onnxflops: "), done.stderr
    assert program("no-such.onnx", code=2) == done.stderr


def test_program_takes_any_name_of_a_file(program, tmp_path):
    """Invalid UTF-8 passes through unchanged."""
    core()
    shutil.copy(ROOT / "models" / "lstm.static.onnx", os.path.join(os.fsencode(tmp_path), b"\xff.onnx"))
    assert '"flops"' in program(os.fsdecode(b"\xff.onnx"), "--format", "json", cwd=tmp_path)


def test_program_ends_by_signals(program):
    """As one in C++ does: Python would make exceptions of them."""
    core()
    path = pathlib.Path(sys.executable).parent / "onnxflops"
    # A shell's background job ignores SIGINT, and so would all that these tests start in one.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    reads = subprocess.Popen([path, "count", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heed)
    with pytest.raises(subprocess.TimeoutExpired):  # it waits for a model
        reads.wait(1)
    reads.send_signal(signal.SIGINT)
    out, errors = reads.communicate(timeout=20)
    assert (reads.returncode, out, errors) == (-signal.SIGINT, b"", b"")
    source, target = os.pipe()
    os.close(source)
    with os.fdopen(target, "wb") as nobody_reads:
        done = subprocess.run([path, "ops"], stdout=nobody_reads, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


def test_program_starts_soon(program):
    """It imports the extension, and only light modules of the package."""
    core()
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        program("--version")
        times.append(time.perf_counter() - begin)
    assert min(times) < 0.5, times  # some 0.05 s on a machine that does nothing else


def test_extension_needs_only_python_and_the_system():
    path = core()
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    listed = subprocess.run(["nm", "-D", str(path)], capture_output=True, text=True, check=True).stdout.splitlines()
    for line in listed:
        kind, name = line.split()[-2:]
        if kind == "U":  # as -z defs requires, except for symbols of the interpreter
            assert re.match(r"_?Py|.*@(GLIBC|GCC)_", name), name
        elif kind in "TDBRV" and not name.startswith("PyInit_"):
            pytest.fail(f"{name} is exported")


def test_hook_of_pre_commit(tmp_path, monkeypatch):
    """The hook of docs/ci.md for pre-commit is installed with the program, and checks models against their budgets."""
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
