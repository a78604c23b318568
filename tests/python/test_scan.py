"""Many models: local, Dask, Ray."""

import glob
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import onnxflops
import pytest
from conftest import MODELS, ROOT, need, rows_of, write_large


def test_local(tmp_path):
    need("pyarrow")
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"\xff" * 100)
    sources = [str(p) for p in MODELS[:6]] + [str(bad), str(tmp_path / "none.onnx")]
    rows = rows_of(onnxflops.scan(sources, tmp_path / "out"))
    assert set(rows) == set(sources)
    for path in sources[:6]:
        report = onnxflops.load(path).count()
        assert rows[path]["report"] == report.to_json() and rows[path]["flops_expr"] == str(report.flops)
        assert rows[path]["params"] == report.params and rows[path]["error"] is None
        assert rows[path]["flops"] == (report.flops if isinstance(report.flops, int) else None)
    assert "bad.onnx" in rows[str(bad)]["error"] and rows[str(bad)]["flops"] is None
    assert "no such file" in rows[sources[-1]]["error"]


def test_resumes(tmp_path):
    need("pyarrow")
    out = tmp_path / "out"
    late = tmp_path / "late.onnx"
    sources = [str(MODELS[0]), str(late)]
    assert rows_of(onnxflops.scan(sources, out))[str(late)]["error"]
    (out / "part-x.parquet.tmp").write_bytes(b"cut off")
    late.write_bytes((ROOT / "models/lstm.onnx").read_bytes())
    parts = sorted(os.listdir(out))
    rows = rows_of(onnxflops.scan([*sources, str(MODELS[1])], out))
    assert rows[str(late)]["error"] is None and len(rows) == 3 and "part-x.parquet.tmp" not in os.listdir(out)
    parts = sorted(os.listdir(out))
    assert rows_of(onnxflops.scan(sources, out)) == {s: rows[s] for s in sources} and sorted(os.listdir(out)) == parts
    assert rows_of(onnxflops.scan([], tmp_path / "none")) == {}


def test_retry(tmp_path, monkeypatch):
    need("pyarrow")
    out, source = tmp_path / "out", str(MODELS[0])
    with monkeypatch.context() as context:
        context.setattr("onnxflops._rows.load", failing)
        assert "busy" in rows_of(onnxflops.scan([source], out))[source]["error"]
    assert "busy" in rows_of(onnxflops.scan([source], out))[source]["error"]
    assert rows_of(onnxflops.scan([source], out, retry=True))[source]["error"] is None


def failing(source):
    raise OSError("busy")


def test_rows_are_replaced(tmp_path, monkeypatch):
    """A row depends on the file, the options and the files that they name, and the version."""
    need("pyarrow")
    out, model, rules, kept = tmp_path / "out", tmp_path / "m.onnx", tmp_path / "rules.toml", str(MODELS[0])
    data = (ROOT / "models/custom-op.onnx").read_bytes()
    model.write_bytes(data)
    rules.write_text(rule(2))
    sources, seen = [str(model), kept], []

    def scan(**count):
        rows = rows_of(onnxflops.scan(sources, out, count=count))
        assert set(rows) == set(sources) and rows_of(onnxflops.scan(sources, out, count=count)) == rows
        report = onnxflops.load(str(model)).count(**count)
        assert rows[str(model)]["report"] == report.to_json()
        seen.append(rows[str(model)]["key"])

    scan()
    scan(batch=1)
    scan(batch=2)
    scan(rules=str(rules))
    rules.write_text(rule(3))
    scan(rules=str(rules))
    # The same size and time.
    model.write_bytes(data.replace(b"batch", b"hatch"))
    os.utime(model, ns=(0, 0))
    scan(rules=str(rules))
    monkeypatch.setattr("onnxflops._keys._core.VERSION", "another")
    scan(rules=str(rules))
    assert len(set(seen)) == len(seen)


def rule(products):
    """The cost of an operator of custom-op.onnx."""
    return (ROOT / "models/custom-op.toml").read_text().replace('mul = "2*', f'mul = "{products}*')


def test_rows_of_others_stay(tmp_path):
    need("pyarrow")
    out, sources = tmp_path / "out", [str(p) for p in MODELS[:5]]
    before = rows_of(onnxflops.scan(sources, out))
    rows = rows_of(onnxflops.scan(sources[:2], out, count={"causal": "half"}))
    assert set(rows) == set(sources[:2]) and rows[sources[0]]["key"] != before[sources[0]]["key"]
    # They have other options, so they are not in the result; but they need not be counted again.
    parts = sorted(os.listdir(out))
    assert rows_of(onnxflops.scan(sources[2:], out)) == {s: before[s] for s in sources[2:]}
    assert sorted(os.listdir(out)) == parts


def test_weights_make_no_difference(tmp_path):
    """Of a large file the graph is hashed, not its weights."""
    from onnxflops._keys import content_of

    path = tmp_path / "large.onnx"
    write_large(path, gigabytes=0.2)
    content = content_of(str(path), {})
    with open(path, "r+b") as file:
        file.seek(10**8)
        file.write(b"weight")
    assert content_of(str(path), {}) == content
    with open(path, "r+b") as file:
        graph = (ROOT / "models/gpt2.onnx").read_bytes()
        file.seek(-len(graph) + graph.index(b"MatMul"), os.SEEK_END)
        file.write(b"NatMul")
    assert content_of(str(path), {}) != content


def test_arguments(tmp_path):
    need("pyarrow")
    with pytest.raises(TypeError, match="not bytes"):
        onnxflops.scan(b"x.onnx", tmp_path / "out")
    for workers in (0, -1):
        with pytest.raises(onnxflops.InvalidError, match="workers"):
            onnxflops.scan(["x.onnx"], tmp_path / "out", workers=workers)
    with pytest.raises(onnxflops.InvalidError, match="local, dask or ray"):
        onnxflops.scan(["x"], tmp_path / "out", engine="spark")
    rows = rows_of(onnxflops.scan([str(ROOT / "models/gpt2.onnx")], tmp_path / "out", count={"batch": 1, "seq": 8}))
    assert next(iter(rows.values()))["flops"] == onnxflops.load(ROOT / "models/gpt2.onnx").count(batch=1, seq=8).flops


def test_folders_and_patterns(tmp_path):
    """All ONNX files below a folder, sorted, or else its configurations; other files are no sources."""
    need("pyarrow")
    root = tmp_path / "models"
    for name in ("b.onnx", "a/z.onnx", "a/deep/m.onnxtxt", "a/readme.txt", "a/config.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")
    (root / "loop").symlink_to(root)
    (root / "hub").mkdir()
    config = ROOT / "tests/data/config/gpt2/config.json"
    (root / "hub/config.json").write_bytes(config.read_bytes())
    (root / "[odd].onnx").write_bytes(b"x")

    def sources(*given):
        rows = onnxflops.scan(given[0] if len(given) == 1 else list(given), tmp_path / f"out{len(list(tmp_path.iterdir()))}")
        return [os.path.relpath(source, root) for source in column(rows, "source")]

    below = ["[odd].onnx", "a/deep/m.onnxtxt", "a/z.onnx", "b.onnx"]
    assert sources(root) == sources(f"{root}/") == below
    assert sources(f"{root}/**/*.onnx") == ["[odd].onnx", "a/z.onnx", "b.onnx"]
    assert sources(f"{root}/b*", root / "a") == ["b.onnx", "a/deep/m.onnxtxt", "a/z.onnx"]
    assert sources(root / "b.onnx") == ["b.onnx"]
    assert sources(f"{root}/[odd].onnx") == ["[odd].onnx"]  # a file is itself
    assert sources(f"{root}/none*", root / "b.onnx") == ["none*", "b.onnx"]
    hub, = rows_of(onnxflops.scan(root / "hub", tmp_path / "of-hub")).values()
    assert hub["source"] == str(root / "hub") and hub["error"] is None


HOLDS = """
import sys, time, onnxflops._lock as lock
with lock.only_scan_of(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_scan_at_a_time(tmp_path):
    """The second one is an error that names the folder. A killed scan leaves no lock that holds."""
    need("pyarrow")
    out, source = tmp_path / "out", str(MODELS[0])
    out.mkdir()
    holder = subprocess.Popen([sys.executable, "-c", HOLDS, str(out)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(onnxflops.OnnxflopsError, match=f"another scan is writing to {out}"):
        onnxflops.scan([source], out)
    assert not glob.glob(f"{out}/*.parquet")
    assert len(rows_of(onnxflops.scan([source], tmp_path / "other"))) == 1
    holder.kill()
    holder.wait()
    assert len(rows_of(onnxflops.scan([source], out))) == 1
    assert [name for name in os.listdir(out) if not name.endswith(".parquet")] == []


def test_the_lock_without_fcntl():
    """As on Windows: the import needs none."""
    code = "import sys; sys.modules['fcntl'] = None; import onnxflops._scan"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_progress(tmp_path, monkeypatch, capsys):
    need("pyarrow")
    sources = [*map(str, MODELS[:7]), str(tmp_path / "none.onnx")]
    monkeypatch.setattr("onnxflops._tasks._MOST_TEXT", 1)  # a task ends after each source
    calls = []
    for out in ("out", "out", "new"):  # also of rows that are there
        calls.clear()
        onnxflops.scan(sources, tmp_path / out, workers=2, progress=lambda done, total: calls.append((done, total)))
        assert calls[-1] == (8, 8) and calls == sorted(calls)
    assert len(calls) >= 4
    onnxflops.scan(sources, tmp_path / "shown", progress=True)
    assert capsys.readouterr().err == "\rscan: 8 of 8\n"


def test_types_of_errors(tmp_path):
    need("pyarrow")
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"\xff" * 100)
    rows = onnxflops.scan([str(tmp_path / "none.onnx"), str(bad), str(MODELS[0])], tmp_path / "out")
    assert column(rows, "error_type") == ["NoSuchFileError", "InvalidError", None]


def test_order_of_rows(tmp_path):
    """That of the sources; what an earlier scan wrote comes first."""
    need("pyarrow")
    paths = [str(tmp_path / f"{number}.onnx") for number in range(250)]
    for path in paths:
        os.symlink(ROOT / "models/lstm.onnx", path)
    later = onnxflops.scan(paths[200:], tmp_path / "out", workers=3)
    assert column(later, "source") == paths[200:]
    assert column(onnxflops.scan(paths, tmp_path / "out", workers=3), "source") == paths[200:] + paths[:200]
    assert len(os.listdir(tmp_path / "out")) < 50
    assert column(onnxflops.scan(paths, tmp_path / "new", workers=3), "source") == paths


def column(dataset, name):
    return dataset.to_table(columns=[name])[name].to_pylist()


def test_tasks_that_end_early(tmp_path, monkeypatch):
    """After much text or time. Each row is still there once, and in order, also where rows are replaced."""
    need("pyarrow")
    sources = [str(path) for path in MODELS[:9]]
    onnxflops.scan(sources, tmp_path / "out", workers=1)
    assert len(os.listdir(tmp_path / "out")) == 5  # of 2 rows, and one of 1
    monkeypatch.setattr("onnxflops._tasks._MOST_TEXT", 1)
    for name, parts in (("out", 5), ("new", 9)):
        rows = onnxflops.scan(sources, tmp_path / name, workers=1, count={"causal": "half"})
        assert column(rows, "source") == sources and len(os.listdir(tmp_path / name)) == parts
        assert column(rows, "report") == [onnxflops.load(path).count(causal="half").to_json() for path in sources]


def test_interrupt(tmp_path, monkeypatch):
    """Rows counted so far are written."""
    need("pyarrow")
    from onnxflops import _engines, _tasks

    sources = [str(tmp_path / f"{number}.onnx") for number in range(1000)]  # that are not there
    counted, original = [], _tasks.row_of

    def row_of(source, *rest):
        counted.append(source)
        time.sleep(0.01)
        return original(source, *rest)

    def interrupted(self):
        wait_for(lambda: len(counted) >= 5)
        raise KeyboardInterrupt

    monkeypatch.setattr(_tasks, "row_of", row_of)
    monkeypatch.setattr(_engines._Local, "finished", interrupted)
    with pytest.raises(KeyboardInterrupt):
        onnxflops.scan(sources, tmp_path / "out", workers=1)
    part, = (tmp_path / "out").iterdir()
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(part)["source"].to_pylist() == counted and 5 <= len(counted) < 100


def test_columns(tmp_path):
    need("pyarrow")
    gpt2 = ROOT / "models/gpt2.onnx"
    sources = [str(gpt2), str(ROOT / "models/custom-op.onnx"), str(tmp_path / "none.onnx")]
    rows = rows_of(onnxflops.scan(sources, tmp_path / "out"))
    row, partial, none = (rows[source] for source in sources)
    report = onnxflops.load(gpt2).count()
    assert (row["symbols"], row["opset"], row["nodes"]) == (["batch", "seq"], 17, len(report.rows("node")))
    assert (row["sizes"], none["sizes"]) == ([], None)
    assert row["file_hash"] == "sha256:" + hashlib.sha256(gpt2.read_bytes()).hexdigest()
    assert [row["standing"], partial["standing"], none["standing"]] == ["exact", "at_least", None]
    # Nothing of its MACs is known; why is in a warning, which names the operators without a rule.
    assert (partial["macs"], partial["macs_expr"]) == (None, None) and partial["flops_expr"] == "3590*batch*seq"
    told = "3 nodes are not counted (com.example.FusedMlp, Add, com.example.MergeTokens): figures are lower bounds"
    assert named(partial, "not counted") == [told]
    assert partial["lower_bound"] and {r["version"] for r in rows.values()} == {onnxflops.__version__}
    guess = rows_of(onnxflops.scan([str(gpt2)], tmp_path / "as", count={"convention": "thop"}))
    assert guess[str(gpt2)]["standing"] == onnxflops.load(gpt2).compare("thop").standings["thop"] == "assumed"


def test_column_that_is_empty_in_a_part(tmp_path):
    """It has the type of the others."""
    pyarrow, = need("pyarrow")
    out = tmp_path / "out"
    onnxflops.scan([str(tmp_path / "none.onnx")], out)
    table = onnxflops.scan([str(tmp_path / "none.onnx"), str(MODELS[0])], out).to_table()
    empty = pyarrow.parquet.read_table(sorted(glob.glob(f"{out}/*"))[0])
    assert len(empty) == 1 and empty["flops"].null_count == 1 and empty.schema == table.schema
    assert table.schema.field("flops").type == pyarrow.decimal128(38, 0)


def test_sizes_that_some_models_lack(tmp_path, program):
    """As the program does with several files."""
    need("pyarrow")
    paths = [str(ROOT / f"models/{name}.onnx") for name in ("gpt2", "resnet50")]
    rows = rows_of(onnxflops.scan(paths, tmp_path / "out", count={"batch": 2, "seq": 8}))
    one, other = (rows[path] for path in paths)
    assert one["flops"] == onnxflops.load(paths[0]).count(batch=2, seq=8).flops
    assert other["flops"] == onnxflops.load(paths[1]).count().flops
    assert named(other, "has no symbol") == [f"has no symbol named {name!r}: counted without it" for name in ("batch", "seq")]
    assert named(one, "has no symbol") == []
    printed = json.loads(program("count", *paths, "--dim", "batch=2", "--dim", "seq=8", "--format", "json"))
    assert [r["totals"]["flops"]["value"] for r in printed["reports"]] == [one["flops"], other["flops"]]
    with pytest.warns(UserWarning, match="no model has a symbol named 'bach'"):
        rows = rows_of(onnxflops.scan(paths, tmp_path / "none", count={"bach": 2}))
    assert rows[paths[0]]["flops"] is None and "batch" in rows[paths[0]]["flops_expr"]


def named(row, text):
    return [warning for warning in row["warnings"] if text in warning]


def test_fill(tmp_path):
    """No size stays open, of no model."""
    need("pyarrow")
    paths = [str(path) for path in MODELS]
    rows = rows_of(onnxflops.scan(paths, tmp_path / "out", count={"batch": 2}, fill=1))
    for row in rows.values():
        assert row["error"] is not None or (row["symbols"] == [] and row["flops"] is not None), row["source"]
    assert rows[str(ROOT / "models/gpt2.onnx")]["flops"] == onnxflops.load(ROOT / "models/gpt2.onnx").count(batch=2, seq=1).flops
    assert rows[str(ROOT / "models/gpt2.onnx")]["sizes"] == ["batch=2", "seq=1"]
    assert sum(row["error"] is not None for row in rows.values()) < 0.05 * len(rows)
    with pytest.raises(onnxflops.InvalidError, match="fill"):
        onnxflops.scan(paths, tmp_path / "out", fill=-1)


def test_a_loop_whose_trips_are_taken_as_alike(tmp_path):
    need("pyarrow")
    path = ROOT / "models/maskrcnn-r50.onnx"
    row, = rows_of(onnxflops.scan(path, tmp_path, fill=77)).values()
    assert named(row, "where all trips are alike") and row["flops"] is not None
    report = onnxflops.load(path).count()
    assert row["standing"] == report.standing == report.figures["flops"].status == "assumed"
    assert report.figures["params"].status == "exact"


def test_no_sources(tmp_path):
    need("pyarrow")
    assert onnxflops.scan([], tmp_path).count_rows() == 0
    onnxflops.scan(MODELS[0], tmp_path)
    assert onnxflops.scan([], tmp_path).count_rows() == 0  # not the rows of others


# past [batch, past], mask [batch, past + seq], and a reshape that takes only n = 4.
CONTRADICTING = """<ir_version: 8, opset_import: ["" : 18]>
g (int64[batch,seq] input_ids, float[batch,total] attention_mask, float[batch,2,past,4] past_key, float[n,2] x)
  => (float[batch,total] y, float[8] z) <int64[1] eight = {8}> { y = Relu(attention_mask)  r = Relu(x)  z = Reshape(r, eight) }"""


def test_fill_of_sizes_that_depend_on_one_another(tmp_path, monkeypatch):
    need("pyarrow")
    official = ROOT / "build/onnxflops-official"
    if not official.exists():
        pytest.skip("tools/setup official makes what reads a model of text")
    monkeypatch.setenv("ONNXFLOPS_OFFICIAL", str(official))
    (tmp_path / "m.onnxtxt").write_text(CONTRADICTING)
    row, = rows_of(onnxflops.scan(tmp_path / "m.onnxtxt", tmp_path / "out", count={"seq": 128}, fill=1)).values()
    assert row["error"] is None and row["sizes"] == ["batch=1", "past=1", "seq=128", "total=129"]
    assert row["symbols"] == ["n"] and row["flops"] is None and row["standing"] == "open"
    assert row["flops_expr"] == "2*n + 129"  # an operation for each element of x and of the mask
    assert named(row, "not set") == ["not set to 1: n, which does not fit this model"]


def test_memory_and_time(tmp_path):
    need("pyarrow")
    sources, args = [str(ROOT / "models/gpt2.onnx")], {"batch": 1, "seq": 8}
    row, = rows_of(onnxflops.scan(sources, tmp_path / "plain", count=args)).values()
    assert row["inference_peak_bytes"] is row["time_bound_seconds"] is None and row["int_ops"] == onnxflops.load(sources[0]).count(**args).int_ops
    args = {**args, "memory": True, "device": "a100-sxm", "dtype": "bf16"}
    row, = rows_of(onnxflops.scan(sources, tmp_path / "all", count=args)).values()
    totals = json.loads(row["report"])
    assert row["inference_peak_bytes"] == totals["memory"]["inference_peak_bytes"]["value"]
    assert row["inference_peak_bytes"] >= 8 * 50257 * 4  # the logits alone
    assert row["time_bound_seconds"] == pytest.approx(totals["totals"]["time_bound_seconds"]["value"], rel=1e-12)


def test_broken_files_among_good_ones(tmp_path):
    need("pyarrow")
    for name, data in (("empty", b""), ("cut", (ROOT / "models/gpt2.onnx").read_bytes()[:5000]), ("text", b"no model")):
        (tmp_path / f"{name}.onnx").write_bytes(data)
    (tmp_path / "folder.onnx").mkdir()
    os.mkfifo(tmp_path / "pipe.onnx")
    bad = [str(tmp_path / f"{name}.onnx") for name in ("empty", "cut", "text", "folder", "pipe")]
    good = [str(path) for path in MODELS[:5]]
    mixed = [path for pair in zip(bad, good) for path in pair]
    rows = rows_of(onnxflops.scan(mixed, tmp_path / "out", workers=1))
    assert [rows[path]["error"] is None for path in mixed] == [False, True] * 5
    assert all(path in rows[path]["error"] for path in bad)


def test_a_file_of_parquet_that_is_not_whole(tmp_path):
    need("pyarrow")
    onnxflops.scan([str(MODELS[0])], tmp_path / "out")
    part = next((tmp_path / "out").iterdir())
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(onnxflops.InvalidError, match=part.name):
        onnxflops.scan([str(MODELS[0])], tmp_path / "out")


KILLED = """
import sys, time, onnxflops, onnxflops._tasks as tasks
tasks._MOST_SECONDS = 0.05  # parts of few rows
row_of = tasks.row_of
tasks.row_of = lambda *given: (time.sleep(0.02), row_of(*given))[1]
onnxflops.scan(sys.argv[2:], sys.argv[1], workers=2)
"""


def test_resumes_after_a_kill(tmp_path):
    """Every model has one row in the end, and written rows are not counted again."""
    need("pyarrow")
    sources = [str(path) for path in MODELS]
    out = tmp_path / "out"
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(out), *sources])
    wait_for(lambda: len(glob.glob(f"{out}/*.parquet")) >= 2)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    before = {path: os.stat(path).st_mtime_ns for path in glob.glob(f"{out}/*.parquet")}
    rows = rows_of(onnxflops.scan(sources, out))
    assert set(rows) == set(sources) and 2 <= len(before) < len(glob.glob(f"{out}/*.parquet"))
    assert {path: os.stat(path).st_mtime_ns for path in before} == before
    assert not glob.glob(f"{out}/*.tmp")


def wait_for(done, seconds=60):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_rows_that_are_there_twice(tmp_path):
    """As two scans at a time leave them: one is kept."""
    need("pyarrow")
    source, other = str(MODELS[0]), str(MODELS[1])
    one, two = tmp_path / "one", tmp_path / "two"
    onnxflops.scan([source, other], one, workers=1)
    onnxflops.scan([source], two)
    for part in two.iterdir():
        part.rename(one / part.name)
    rows = rows_of(onnxflops.scan([source, other], one))
    assert set(rows) == {source, other} and all(row["error"] is None for row in rows.values())


@contextmanager
def engine_of(name, made_client, workers=2):
    """Arguments of scan() for some workers."""
    if name == "dask":
        yield {"engine": "dask", "client": made_client(n_workers=workers)}
        return
    ray, = need("ray")
    ray.init(num_cpus=workers, log_to_driver=False)
    try:
        yield {"engine": "ray"}
    finally:
        ray.shutdown()


@pytest.mark.parametrize(("engine", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_two_workers(engine, package, tmp_path):
    need("pyarrow", package)
    sources = [*(str(p) for p in MODELS[:8]), str(tmp_path / "none.onnx")]
    here = onnxflops.scan(sources, tmp_path / "local").to_table().to_pylist()
    assert onnxflops.scan(sources, tmp_path / engine, engine=engine, workers=2).to_table().to_pylist() == here
    parts = sorted(os.listdir(tmp_path / engine))
    assert rows_of(onnxflops.scan(sources, tmp_path / engine, engine=engine, workers=2)) == {r["source"]: r for r in here}
    assert sorted(os.listdir(tmp_path / engine)) == parts


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_few_tasks(engine, tmp_path, made_client, monkeypatch):
    """About 100 models a task, few of them in flight, and no row comes to the caller."""
    need("pyarrow", {"dask": "distributed"}.get(engine, engine))
    from onnxflops import _engines

    sources = [str(tmp_path / f"{number}.onnx") for number in range(2000)]  # that are not there
    flying, most = [], []
    used = getattr(_engines, f"_{engine.title()}")
    submit, finished = used.submit, used.finished

    def counted(self, task):
        flying.append(task)
        most.append(len(flying))
        submit(self, task)

    def watched(self):
        for task, done in finished(self):
            flying.remove(task)
            assert done.counted == 100 and not hasattr(done, "rows")
            yield task, done

    monkeypatch.setattr(used, "submit", counted)
    monkeypatch.setattr(used, "finished", watched)
    with engine_of(engine, made_client) as arguments:
        rows = onnxflops.scan(sources, tmp_path / "out", **arguments)
    assert len(most) == 20 and max(most) == 2 * _engines.IN_FLIGHT
    assert column(rows, "source") == sources and all(column(rows, "error"))


DEADLY = """
import os
from onnxflops import _rows

counted = _rows._count
def count(source, settings, missing):
    if "deadly" in source:
        os._exit(9)
    return counted(source, settings, missing)
_rows._count = count
"""


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_worker_that_dies(engine, tmp_path, made_client, monkeypatch):
    """Only the model that ends it has an error, and the next scan tries it again."""
    need("pyarrow", {"dask": "distributed"}.get(engine, engine))
    deadly = tmp_path / "deadly.onnx"
    deadly.write_bytes((ROOT / "models/lstm.onnx").read_bytes())
    (tmp_path / "sitecustomize.py").write_text(DEADLY)
    sources = [*map(str, MODELS[:6]), str(deadly), *map(str, MODELS[6:12])]
    expected = rows_of(onnxflops.scan(sources, tmp_path / "local"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with engine_of(engine, made_client) as arguments:
        rows = rows_of(onnxflops.scan(sources, tmp_path / "out", **arguments))
        assert "process that counted it ended" in rows[str(deadly)]["error"]
        assert {s: row for s, row in rows.items() if s != str(deadly)} == {s: r for s, r in expected.items() if s != str(deadly)}
        assert len(glob.glob(f"{tmp_path}/out/*.parquet")) <= len(sources)
    monkeypatch.delenv("PYTHONPATH")
    assert rows_of(onnxflops.scan(sources, tmp_path / "out")) == expected


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_error_of_a_worker(engine, tmp_path, made_client):
    """That it cannot write the rows is the scan's error."""
    need("pyarrow", {"dask": "distributed"}.get(engine, engine))
    with engine_of(engine, made_client) as arguments:
        (tmp_path / "out").mkdir()
        (tmp_path / "out").chmod(0o500)
        if os.access(tmp_path / "out", os.W_OK):  # of root
            (tmp_path / "out").rmdir()
            (tmp_path / "out").symlink_to("/proc")
        with pytest.raises(OSError, match="part-"):
            onnxflops.scan([str(MODELS[0])], tmp_path / "out", **arguments)


def test_workers_that_write_elsewhere(tmp_path, monkeypatch):
    """As on a machine that does not share the folder."""
    need("pyarrow")
    from onnxflops import _tasks

    monkeypatch.setattr(_tasks, "write", lambda task, rows: None)
    with pytest.raises(onnxflops.OnnxflopsError, match="a folder that all of them share"):
        onnxflops.scan([str(MODELS[0])], tmp_path / "out")
