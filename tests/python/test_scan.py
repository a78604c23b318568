"""Many models: local, dask; files by range, and from servers without ranges."""

import http.server
import os
import socket
import threading

import onnxflops
import pytest
from conftest import MODELS, ROOT


def need(*packages):
    return [pytest.importorskip(p, reason=f"{p} is not installed: tools/test --python-all has it") for p in packages]


def rows_of(dataset):
    rows = dataset.to_table().to_pylist()
    assert len(rows) == len({row["source"] for row in rows})
    return {row["source"]: row for row in rows}


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
    assert rows_of(onnxflops.scan(sources, out)) == rows and sorted(os.listdir(out)) == parts
    assert rows_of(onnxflops.scan([], tmp_path / "none")) == {}


def test_retry(tmp_path, monkeypatch):
    need("pyarrow")
    out, source = tmp_path / "out", str(MODELS[0])
    with monkeypatch.context() as context:
        context.setattr("onnxflops._scan.load", failing)
        assert "busy" in rows_of(onnxflops.scan([source], out))[source]["error"]
    assert "busy" in rows_of(onnxflops.scan([source], out))[source]["error"]
    assert rows_of(onnxflops.scan([source], out, retry=True))[source]["error"] is None


def failing(source):
    raise OSError("busy")


def test_rows_are_replaced(tmp_path, monkeypatch):
    """What a row depends on: the file, the options and the files that they name, the version."""
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
    # Of other options, so they are no result; but they need not be counted again.
    parts = sorted(os.listdir(out))
    assert rows_of(onnxflops.scan(sources[2:], out)) == {s: before[s] for s in sources[2:]}
    assert sorted(os.listdir(out)) == parts


def test_weights_make_no_difference(tmp_path):
    """Of a large file the graph is hashed, not its weights."""
    from onnxflops._keys import key_of

    path = tmp_path / "large.onnx"
    write_large(path, gigabytes=0.2)
    key = key_of(str(path), {}, {})
    with open(path, "r+b") as file:
        file.seek(10**8)
        file.write(b"weight")
    assert key_of(str(path), {}, {}) == key
    with open(path, "r+b") as file:
        graph = (ROOT / "models/gpt2.onnx").read_bytes()
        file.seek(-len(graph) + graph.index(b"MatMul"), os.SEEK_END)
        file.write(b"NatMul")
    assert key_of(str(path), {}, {}) != key


def test_arguments(tmp_path):
    need("pyarrow")
    with pytest.raises(TypeError, match="list of paths"):
        onnxflops.scan("x.onnx", tmp_path / "out")
    with pytest.raises(onnxflops.InvalidError, match="local, dask or ray"):
        onnxflops.scan(["x"], tmp_path / "out", engine="spark")
    rows = rows_of(onnxflops.scan([str(ROOT / "models/gpt2.onnx")], tmp_path / "out", count={"batch": 1, "seq": 8}))
    assert next(iter(rows.values()))["flops"] == onnxflops.load(ROOT / "models/gpt2.onnx").count(batch=1, seq=8).flops


@pytest.mark.parametrize(("engine", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_two_workers(engine, package, tmp_path):
    need("pyarrow", package)
    sources = [*(str(p) for p in MODELS[:8]), str(tmp_path / "none.onnx")]
    here = rows_of(onnxflops.scan(sources, tmp_path / "local"))
    assert rows_of(onnxflops.scan(sources, tmp_path / engine, engine=engine, workers=2)) == here


def test_s3(tmp_path):
    """A store of this machine that speaks S3."""
    _, _, boto3, server = need("pyarrow", "s3fs", "boto3", "moto.server")
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
    write_large(tmp_path / "large.onnx", gigabytes=0.04)
    running = server.ThreadedMotoServer("127.0.0.1", port=0)
    running.start()
    try:
        where = "http://{}:{}".format(*running.get_host_and_port())
        store = boto3.client("s3", endpoint_url=where, region_name="us-east-1", **keys)
        store.create_bucket(Bucket="models")
        store.upload_file(str(tmp_path / "large.onnx"), "models", "large.onnx")
        options = {"key": "x", "secret": "x", "client_kwargs": {"endpoint_url": where}}
        urls = ["s3://models/large.onnx", "s3://models/none.onnx"]
        rows = rows_of(onnxflops.scan(urls, tmp_path / "out", storage_options=options))
    finally:
        running.stop()
    assert rows[urls[0]]["flops_expr"] == str(onnxflops.load(ROOT / "models/gpt2.onnx").count().flops)
    assert rows[urls[0]]["fetched_bytes"] < 0.1 * 0.04e9 and rows[urls[1]]["error"]


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


class Handler(http.server.BaseHTTPRequestHandler):

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.server.requests.append(self.path)
        self.answer(body=True)

    def answer(self, body):
        if self.path in self.server.answers:
            return self.send_error(self.server.answers[self.path])
        path = os.path.join(self.server.folder, os.path.basename(self.path))
        if not os.path.exists(path):
            return self.send_error(404)
        size = os.path.getsize(path)
        start, end = 0, size
        wanted = self.headers.get("Range")
        if wanted and self.server.ranges:
            first, last = wanted.removeprefix("bytes=").split("-")
            start, end = int(first), min(int(last) + 1 if last else size, size)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        else:
            self.send_response(200)
        if self.server.ranges:
            self.send_header("Accept-Ranges", "bytes")
        if self.server.marks:
            self.send_header("ETag", f'"{os.stat(path).st_mtime_ns}"')
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        if body:
            with open(path, "rb") as file:
                file.seek(start)
                try:
                    while start < end:
                        data = file.read(min(end - start, 1 << 16))
                        self.wfile.write(data)
                        self.server.sent += len(data)
                        start += len(data)
                except OSError:
                    pass  # the client has enough

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    made = []

    def serve(ranges, marks=False):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.folder, server.ranges, server.sent, server.requests = str(tmp_path), ranges, 0, []
        server.marks, server.answers = marks, {}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made.append(server)
        return server, f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server in made:
        server.shutdown()
        server.server_close()


def test_ranges(tmp_path, server):
    need("pyarrow", "fsspec", "aiohttp")
    write_large(tmp_path / "large.onnx")
    (tmp_path / "config.json").write_bytes((ROOT / "tests/data/config/gpt2/config.json").read_bytes())
    running, address = server(ranges=True)
    urls = [f"{address}/large.onnx", f"{address}/config.json", f"{address}/none.onnx"]
    rows = rows_of(onnxflops.scan(urls, tmp_path / "out"))
    large = rows[urls[0]]
    assert large["error"] is None and large["flops_expr"] == str(onnxflops.load(ROOT / "models/gpt2.onnx").count().flops)
    assert running.sent < 0.01 * 1.9e9 and large["fetched_bytes"] <= running.sent
    assert rows[urls[1]]["error"] is None and rows[urls[2]]["error"]
    assert rows[urls[0]]["params"] == onnxflops.load(str(tmp_path / "large.onnx")).count().params


def test_load_of_a_url(tmp_path, server):
    """Only the bytes that are needed: not those of weights."""
    need("fsspec", "aiohttp")
    write_large(tmp_path / "large.onnx")
    running, address = server(ranges=True)
    model = onnxflops.load(f"{address}/large.onnx")
    assert model.count().flops == onnxflops.load(str(tmp_path / "large.onnx")).count().flops
    assert running.sent < 0.01 * 1.9e9
    with pytest.raises(FileNotFoundError, match="none.onnx"):
        onnxflops.load(f"{address}/none.onnx")


@pytest.mark.parametrize("marks", [False, True])
def test_url_that_changes(marks, tmp_path, server):
    """A server's ETag tells whether a row is up to date. Without one it is counted again."""
    need("pyarrow", "fsspec", "aiohttp")
    running, address = server(ranges=True, marks=marks)
    for name in ("gpt2", "gpt2", "lstm"):
        data = (ROOT / f"models/{name}.onnx").read_bytes()
        again = (tmp_path / "m.onnx").exists() and (tmp_path / "m.onnx").read_bytes() == data
        if not again:
            (tmp_path / "m.onnx").write_bytes(data)
        before = len(running.requests)
        row = rows_of(onnxflops.scan([f"{address}/m.onnx"], tmp_path / "out"))[f"{address}/m.onnx"]
        assert row["flops_expr"] == str(onnxflops.load(ROOT / f"models/{name}.onnx").count().flops)
        assert (len(running.requests) == before) == (marks and again)


def test_server_without_ranges(tmp_path, server):
    need("pyarrow", "fsspec", "aiohttp")
    data = (ROOT / "models/gpt2.onnx").read_bytes()
    (tmp_path / "small.onnx").write_bytes(data)
    (tmp_path / "large.onnx").write_bytes(data + bytes(10**6))
    running, address = server(ranges=False)
    urls = [f"{address}/small.onnx", f"{address}/large.onnx"]
    rows = rows_of(onnxflops.scan(urls, tmp_path / "out", most_bytes=len(data)))
    assert rows[urls[0]]["error"] is None and rows[urls[0]]["fetched_bytes"] == len(data)
    assert "no ranges" in rows[urls[1]]["error"]
    # Once to learn that it gives no ranges, and once for the file.
    assert sorted(running.requests) == ["/large.onnx"] * 2 + ["/small.onnx"] * 2


@pytest.mark.parametrize("spoil", [b"", b"\x3a\xff\xff\xff\xff\x0f", b"\x3a" + b"\xff" * 11, b"\x3b", b"\x00" * 10])
def test_hostile_behind_a_url(spoil, tmp_path, server):
    need("pyarrow", "fsspec", "aiohttp")
    (tmp_path / "bad.onnx").write_bytes(spoil + bytes(2**19) if spoil else b"")
    _, address = server(ranges=True)
    rows = rows_of(onnxflops.scan([f"{address}/bad.onnx"], tmp_path / "out"))
    assert next(iter(rows.values()))["error"]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_errors_of_servers(tmp_path, server):
    """They say what was answered."""
    need("fsspec", "aiohttp")
    running, address = server(ranges=True)
    running.answers = {"/forbidden.onnx": 403}
    urls = [f"{address}/none.onnx", f"{address}/forbidden.onnx", f"http://127.0.0.1:{free_port()}/m.onnx"]
    for url, text in zip(urls, (": HTTP 404 (Not Found)", ": HTTP 403 (Forbidden)", ": connection refused")):
        with pytest.raises(onnxflops.OnnxflopsError) as error:
            onnxflops.load(url)
        assert str(error.value) == url + text
        assert isinstance(error.value, onnxflops.NoSuchFileError) == ("404" in text)
