"""Shared parts of the tests of the Python package."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = sorted((ROOT / "models").rglob("*.onnx"))


def need(*packages):
    return [pytest.importorskip(p, reason=f"{p} is not installed: tools/test --python-all has it") for p in packages]


def rows_of(dataset):
    rows = dataset.to_table().to_pylist()
    assert len(rows) == len({row["source"] for row in rows})
    return {row["source"]: row for row in rows}


def write_large(path, gigabytes=1.9):
    """A model with weights inside: gpt2's graph, and a hole of a weight before it."""
    graph = (ROOT / "models/gpt2.onnx").read_bytes()
    size = int(gigabytes * 10**9)

    def varint(n):
        out = bytearray()
        while n >= 128:
            out.append(n & 127 | 128)
            n >>= 7
        return bytes([*out, n])

    dims = b"\x08" + varint(size) + b"\x10\x03"  # dims: [size]; data_type: int8
    tensor = dims + b"\x42\x01w" + b"\x4a" + varint(size)
    field = b"\x2a" + varint(len(tensor) + size) + tensor  # GraphProto.initializer
    with open(path, "wb") as file:
        file.write(b"\x3a" + varint(len(field) + size) + field)  # ModelProto.graph, joined with the next
        file.seek(size, os.SEEK_CUR)
        file.write(graph)


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


@pytest.fixture
def made_client():
    """Makes clients of Dask whose workers are processes."""
    made = []

    def make(**arguments):
        distributed, = need("distributed")
        made.append(distributed.Client(threads_per_worker=1, dashboard_address=None, **arguments))
        return made[-1]

    yield make
    for client in made:
        client.close()
