"""Shared parts of the tests of the Python package."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = sorted((ROOT / "models").rglob("*.onnx"))


@pytest.fixture(scope="session")
def program():
    """Runs the program that the wheel has inside; gives its standard output."""
    path = os.environ.get("ONNXFLOPS_PROGRAM") or os.path.join(os.path.dirname(sys.executable), "onnxflops")
    if not os.path.exists(path):
        path = shutil.which("onnxflops")
    assert path is not None

    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}  # pytest may set it

    def run(*arguments, code=0, **options):
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, check=False, env=environment, **options)
        assert code is None or done.returncode == code, done.stderr.decode()
        return (done.stderr if code else done.stdout).decode()

    return run


@pytest.fixture(scope="session")
def gpt2():
    import onnxflops

    return onnxflops.load(ROOT / "models/gpt2.onnx")


@pytest.fixture(scope="module")
def qwen(tmp_path_factory):
    """Text and images of any size; two patches down and two across are a token."""
    from training import QWEN, configured

    return configured(QWEN, tmp_path_factory.mktemp("qwen"))
