"""Every example in the docs runs."""

import io
import json
import os
import pathlib
import re
import subprocess
import sys
from contextlib import redirect_stdout

import onnxflops
import pytest
from conftest import ROOT

LATE = sorted(onnxflops._LATE)  # needs other packages
NOTEBOOKS = sorted((ROOT / "tools/examples").glob("*.ipynb"))


def blocks():
    """Blocks of Python in README.md and docs/. Those that need other packages say so in their first line."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S), 1):
            yield pytest.param(block, id=f"{page.stem}-{number}")


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with the files that the examples name."""
    (tmp_path / "clip.onnx").symlink_to(ROOT / "models/clip-vit-l-14-336.onnx")
    (tmp_path / "gpt2.onnx").symlink_to(ROOT / "models/gpt2.onnx")
    (tmp_path / "old.onnx").symlink_to(ROOT / "models/openclip224-vit-l-14-336.onnx")
    (tmp_path / "new.onnx").symlink_to(ROOT / "models/clip-vit-l-14-336.onnx")
    (tmp_path / "onnxflops.toml").write_text('[budget]\nmacs = "2 TMAC"\n[at]\nbatch = 8\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("block", blocks())
def test_block(block, work):
    code = compile(block, "a block of the documents", "exec")
    if block.startswith("# part"):  # of a program that the reader has
        return
    needs = re.match(r"# needs (.*)", block)
    for package in needs[1].split(", ") if needs else []:
        pytest.importorskip(package, reason=f"{package} is not installed: tools/test --python-all has it")
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(code, {})
    for line in re.findall(r"print\(.*\) +# (.*)", block):
        assert line in printed.getvalue().splitlines()


def test_types(tmp_path):
    """mypy --strict finds nothing in the examples, with the types of the package."""
    pytest.importorskip("mypy", reason="mypy is not installed: tests/python/run has it")
    names = []
    for case in blocks():
        (block,) = case.values
        if block.startswith("# part"):
            continue
        names.append(case.id.replace("-", "_") + ".py")
        (tmp_path / names[-1]).write_text(block, encoding="utf-8")
    assert len(names) > 5
    # Other packages that an example needs may not be installed, or may have no types.
    words = ["--strict", "--ignore-missing-imports", "--allow-untyped-calls", "--cache-dir", tmp_path / "cache", *names]
    done = subprocess.run([sys.executable, "-m", "mypy", *words], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_names():
    """The table of docs/python-names.md is what the package and its stub say."""
    tables = [sys.executable, ROOT / "tools/devel/api_tables", "--check", pathlib.Path(onnxflops.__file__).parent]
    done = subprocess.run(tables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_help(work):
    """The example of help(onnxflops); node and module names are those of the model."""
    text = onnxflops.__doc__
    example = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
    node = onnxflops.load("clip.onnx").count().rows("node")[3]["name"]
    example = example.replace("/visual/conv1/Conv", node)
    if not _has("pandas"):
        example = re.sub(r"(?m)^r\.to_pandas.*$", "", example)
    exec(compile(example, "help(onnxflops)", "exec"), {})


def _has(name):
    import importlib.util

    return importlib.util.find_spec(name) is not None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.name)
def test_notebook(path, monkeypatch):
    """Cells in order, as a kernel runs them; what the last line of a cell gives is shown."""
    monkeypatch.chdir(path.parent)
    names = {}
    shown = 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None, "outputs are no sources"
        *head, last = "".join(cell["source"]).splitlines()
        exec(compile("\n".join(head), str(path), "exec"), names)
        try:
            code = compile(last, str(path), "eval")
        except SyntaxError:
            exec(compile(last, str(path), "exec"), names)
            continue
        value = eval(code, names)
        if value is not None:
            html = getattr(value, "_repr_html_", None)
            assert (html() if html else repr(value)) != ""
            shown += 1
    assert shown > 3
    assert names["mfu"].mfu == pytest.approx(0.1241, abs=1e-4)


def test_help_tells_of_everything():
    for name in onnxflops.__all__:
        entry = getattr(onnxflops, name) if name not in (*LATE, "Source", "__version__") else None
        members = vars(entry).items() if isinstance(entry, type) else []
        for member, value in [(name, entry)] * (entry is not None) + [m for m in members if not m[0].startswith("_")]:
            words = (value.__doc__ or "").split("\n\n")[-1]
            assert words and not re.match(rf"({member})?\(self.*\) -> ", words), f"{name}.{member} has no text"


def test_names_in_help_exist():
    for name in onnxflops.__all__:
        assert name in dir(onnxflops)
        if name not in LATE:
            assert getattr(onnxflops, name) is not None
    assert onnxflops.scan.__doc__
    assert pathlib.Path(os.path.dirname(onnxflops.__file__), "py.typed").exists()
