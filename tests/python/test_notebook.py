"""Notebooks in a kernel of Jupyter: the example, and what a cell shows of each result."""

import re

import pytest
from conftest import ROOT

nbclient, nbformat, _ = (
    pytest.importorskip(name, reason=f"{name} is not installed: tools/test --python-all has it") for name in ("nbclient", "nbformat", "ipykernel")
)

NOTEBOOKS = sorted((ROOT / "tools/examples").glob("*.ipynb"))
VIEWS = {
    "Report": ["onnxflops.load('clip.onnx').count(batch=1)", "visual", "382.5 G"],
    "Report of formulas": ["onnxflops.load('clip.onnx').count()", "batch"],
    "Comparison": ["onnxflops.load('clip.onnx').compare(['thop'], batch=1)", "thop", "135,937,916,928"],
    "Diff": ["onnxflops.diff('old.onnx', 'clip.onnx', batch=1)", "attn", "+14.89 M"],
    "Check": ["onnxflops.check('clip.onnx', max='macs=190 GMAC', batch=1)", "190 GMAC", "failed"],
    "Mfu": ["onnxflops.mfu('clip.onnx', batch=512, step_time=0.62, devices=8, device='h100-sxm', dtype='bf16')", "12.41"],
    "Explanation": ["onnxflops.load('clip.onnx').explain('node_Conv_2481', batch=1)", "mac = Y.elements*C*k", "346,816,512", "MACs 346.8 M", "396.6 G)", "read 3.763 MB"],
    "Explanation of a module": ["onnxflops.load('clip.onnx').explain('visual.conv1', batch=1)", "visual.conv1", "346.8 M"],
    "Sweep": ["onnxflops.load('clip.onnx').sweep(batch=[1, 8])", "batch"],
}


def run(notebook, folder):
    """Runs all cells; an error in one is an error here."""
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell, kind):
    return [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_example(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None, "outputs are no sources"
    cells = run(notebook, path.parent)
    assert not [output for cell in cells for output in cell.outputs if output.output_type in ("error", "stream")]
    silent = [cell.source for cell in cells if not cell.outputs]
    assert silent == []
    assert shown(cells[0], "text/plain") == ["Expr('396573173038*batch')"]
    pages = [html for cell in cells for html in shown(cell, "text/html")]
    assert len(pages) == 5 and all(html.startswith("<style>") for html in pages)


def test_an_error_in_a_cell_fails():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import onnxflops\nonnxflops.load('no_such.onnx')")])
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="no_such"):
        run(notebook, ROOT)


@pytest.fixture(scope="module")
def views(tmp_path_factory):
    """A kernel's output for each kind of result."""
    folder = tmp_path_factory.mktemp("views")
    (folder / "clip.onnx").symlink_to(ROOT / "models/clip-vit-l-14-336.onnx")
    (folder / "old.onnx").symlink_to(ROOT / "models/openclip224-vit-l-14-336.onnx")
    cells = [nbformat.v4.new_code_cell(f"import onnxflops\n{code}") for code, *_ in VIEWS.values()]
    cells = run(nbformat.v4.new_notebook(cells=cells), folder)
    return {name: shown(cell, "text/html")[0] for name, cell in zip(VIEWS, cells)}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name, views):
    """Every view has its figures, its style, and a link to the page; it contains no script that runs."""
    html = views[name]
    for text in VIEWS[name][1:]:
        assert text in html, text
    has_page = not name.startswith("Explanation")
    assert ('href="data:text/html;base64,' in html) == has_page and "<script" not in html
    assert html.count("<details") == html.count("</details>") and html.count("<div") == html.count("</div>")
    text = re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.S)
    assert "--" not in text, "options of the program: see ScreenWords()"
    bars = html.count('class="bar"')
    assert bars > 5 if name.startswith("Report") else bars == name.endswith("of a module"), "a bar is a share of the whole"


def test_columns():
    """A column that is long and last is broken into lines; a flat table has no room for signs of a tree."""
    from onnxflops._html import _Table

    columns = [("name", False, False), ("%", True, False), ("why", False, False)]
    flat = _Table(columns, [(["a", "50.0", "x" * 60], 0, False, False)])
    assert 'class="wrap"' in flat.html() and 'class="name"' not in flat.html() and "width:50.0%" in flat.html()
    tree = _Table(columns, [(["a", "+5.0", "x"], 0, False, False), (["b", "-5.0", "x"], 1, False, False)])
    assert 'class="name"' in tree.html() and 'class="wrap"' not in tree.html() and 'class="bar"' not in tree.html()
