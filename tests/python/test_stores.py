"""Models and datasets at URLs: stores that speak S3, servers with ranges and without."""

import http.server
import os
import socket
import subprocess
import sys
import threading

import onnxflops
import pytest
from conftest import MODELS, ROOT, need, rows_of, write_large


@pytest.fixture
def store():
    """A store of this machine that speaks S3: a client, and options of its file system."""
    boto3, server = need("boto3", "moto.server")
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
    running = server.ThreadedMotoServer("127.0.0.1", port=0)
    running.start()
    where = "http://{}:{}".format(*running.get_host_and_port())
    made = boto3.client("s3", endpoint_url=where, region_name="us-east-1", **keys)
    made.create_bucket(Bucket="models")
    yield made, {"key": "x", "secret": "x", "client_kwargs": {"endpoint_url": where}}
    running.stop()


def test_s3(tmp_path, store):
    need("pyarrow", "s3fs")
    client, options = store
    write_large(tmp_path / "large.onnx", gigabytes=0.04)
    client.upload_file(str(tmp_path / "large.onnx"), "models", "large.onnx")
    urls = ["s3://models/large.onnx", "s3://models/none.onnx", "s3://nothing/none.onnx"]
    rows = rows_of(onnxflops.scan(urls, tmp_path / "out", storage_options=options))
    assert rows[urls[0]]["flops_expr"] == str(onnxflops.load(ROOT / "models/gpt2.onnx").count().flops)
    assert rows[urls[0]]["fetched_bytes"] < 0.1 * 0.04e9
    for url in urls[1:]:
        assert rows[url]["error"] in (f"{url}: HTTP 404 (Not Found)", f"{url}: no such file")
    model = onnxflops.load(urls[0], storage_options=options)
    assert str(model.count().flops) == rows[urls[0]]["flops_expr"]


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_out_in_a_store(engine, tmp_path, store):
    """The same rows as in a folder; a scan goes on, and rows are replaced."""
    need("pyarrow", "s3fs", "distributed")
    client, options = store
    sources = [str(p) for p in MODELS[:8]]
    expected = onnxflops.scan(sources, tmp_path / "out").to_table().to_pylist()

    def scan(sources, **count):
        return onnxflops.scan(sources, f"s3://models/{tmp_path.name}/out", engine=engine, workers=2, out_options=options, count=count)

    def names():
        return [(o["Key"], o["LastModified"], o["ETag"]) for o in client.list_objects_v2(Bucket="models", Prefix=f"{tmp_path.name}/").get("Contents", [])]

    assert rows_of(scan(sources[:4])) == {r["source"]: r for r in expected[:4]}
    before = names()
    assert scan(sources).to_table().to_pylist() == expected
    assert set(before) < set(names())
    before = names()
    assert scan(sources).to_table().to_pylist() == expected and names() == before
    half = scan(sources, causal="half").to_table().to_pylist()
    assert len(half) == 8 and {r["key"] for r in half}.isdisjoint(r["key"] for r in expected)


def test_out_that_cannot_be_written(tmp_path, store):
    need("pyarrow", "s3fs")
    _, options = store
    with pytest.raises(onnxflops.NoSuchFileError, match=r"^s3://nothing/out: HTTP 404 \(Not Found\)$"):
        onnxflops.scan([str(MODELS[0])], "s3://nothing/out", out_options=options)
    address = f"http://127.0.0.1:{free_port()}"
    refused = {**options, "client_kwargs": {"endpoint_url": address}, "config_kwargs": {"retries": {"max_attempts": 0}}}
    with pytest.raises(onnxflops.OnnxflopsError, match="s3://models/out: "):
        onnxflops.scan([str(MODELS[0])], "s3://models/out", out_options=refused)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


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


def test_errors_of_servers(tmp_path, server):
    """They contain the server's answer, and stay in the row."""
    need("pyarrow", "fsspec", "aiohttp")
    running, address = server(ranges=True)
    urls = [f"{address}/none.onnx", f"{address}/forbidden.onnx", f"http://127.0.0.1:{free_port()}/m.onnx"]
    (tmp_path / "forbidden.onnx").write_bytes(b"x")
    running.answers = {"/forbidden.onnx": 403}
    texts = [": HTTP 404 (Not Found)", ": HTTP 403 (Forbidden)", ": connection refused"]
    rows = rows_of(onnxflops.scan(urls, tmp_path / "out"))
    assert [rows[url]["error"] for url in urls] == [url + text for url, text in zip(urls, texts)]
    for url, text in zip(urls, texts):
        with pytest.raises(onnxflops.OnnxflopsError) as error:
            onnxflops.load(url)
        assert str(error.value) == url + text
        assert isinstance(error.value, onnxflops.NoSuchFileError) == ("404" in text)


WITHOUT_S3FS = """
import sys, onnxflops
sys.modules["s3fs"] = None
for work in (lambda: onnxflops.load("s3://a/m.onnx"), lambda: onnxflops.scan([], "s3://a/out")):
    try:
        work()
    except ImportError as error:
        print(error)
rows = onnxflops.scan(["s3://a/m.onnx"], sys.argv[1]).to_table().to_pylist()
print(rows[0]["error"])
"""


def test_protocol_that_is_none():
    need("fsspec")
    with pytest.raises(onnxflops.InvalidError, match="^foo://x.onnx: Protocol not known: foo"):
        onnxflops.load("foo://x.onnx")


def test_packages_that_are_not_there(tmp_path):
    """The error names the extra that has them."""
    need("pyarrow", "fsspec")
    done = subprocess.run([sys.executable, "-c", WITHOUT_S3FS, tmp_path / "out"], capture_output=True, text=True, check=True)
    assert [line.count("pip install 'onnxflops[s3]'") for line in done.stdout.splitlines()] == [1, 1, 1]


def test_folders_and_patterns_of_a_url(tmp_path):
    fsspec, _ = need("fsspec", "pyarrow")
    files = fsspec.filesystem("memory")
    data = (ROOT / "models/lstm.onnx").read_bytes()
    for name in ("b.onnx", "a/z.onnx", "a/readme.txt"):
        files.pipe_file(f"/bucket/{name}", data)
    for given in ("memory://bucket", "memory://bucket/"):
        rows = rows_of(onnxflops.scan(given, tmp_path / "out"))
        assert list(rows) == ["memory:///bucket/a/z.onnx", "memory:///bucket/b.onnx"]
        assert not any(row["error"] for row in rows.values())
    assert list(rows_of(onnxflops.scan(["memory://bucket/**/z*.onnx"], tmp_path / "glob"))) == ["memory:///bucket/a/z.onnx"]
