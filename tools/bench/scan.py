#!/usr/bin/env python3
"""What onnxflops.scan() takes for many models: time, memory and CPU time of the process that calls it. Made models of 100 nodes, all different.

  tools/bench/scan.py flat [MODELS]          by 10,000 models the time, and what the process holds more (default: 100,000 models)
  tools/bench/scan.py cluster dask|ray [MODELS]    two workers against one, in turn, and CPU time of the caller (default: 10,000 models)

Needs a Python with the wheel, pyarrow, and distributed or Ray. The models of a run are in a temporary folder, some 3 kB each.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager

import onnxflops
from onnxflops import _engines, _tasks

STEP = 10_000
LAYERS = 50
TURNS = 3


def varint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def field(number, data):
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def value_info(name, *dims):
    """A ValueInfoProto of float32."""
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def model(number):
    """Layers of MatMul and Relu, as wide as the number says; a batch that is open, and weights that are inputs."""
    width = number + 1
    graph = b""
    for layer in range(LAYERS):
        graph += field(1, field(1, f"x{layer}") + field(1, "w") + field(2, f"h{layer}") + field(3, f"m{layer}") + field(4, "MatMul"))
        graph += field(1, field(1, f"h{layer}") + field(2, f"x{layer + 1}") + field(3, f"r{layer}") + field(4, "Relu"))
    graph += field(2, "g") + field(11, value_info("x0", "batch", width)) + field(11, value_info("w", width, width))
    graph += field(12, value_info(f"x{LAYERS}", "batch", width))
    return field(1, 10) + field(7, graph) + field(8, field(2, 18))


def flops(number):
    """At a batch of 1."""
    width = number + 1
    return LAYERS * (2 * width * width + width)


def make(folder, count):
    paths = []
    for number in range(count):
        if number % 1000 == 0:
            os.makedirs(f"{folder}/{number // 1000}")
        paths.append(f"{folder}/{number // 1000}/{number}.onnx")
        with open(paths[-1], "wb") as file:
            file.write(model(number))
    return paths


def require_all(rows, count):
    """Every model has its row, in order, with its figure."""
    table = rows.to_table(columns=["source", "flops", "error"])
    assert len(table) == count, len(table)
    for number, row in enumerate(table.to_pylist()):
        assert row["source"].endswith(f"/{number}.onnx") and row["error"] is None and row["flops"] == flops(number), row


def resident():
    """Memory of this process, without mapped files."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no RssAnon")


class Watch(threading.Thread):
    """When each 10,000 rows were there, and what the process held then."""

    def __init__(self, out):
        super().__init__(daemon=True)
        self.out, self.seen, self.end = out, [], threading.Event()

    def run(self):
        ended = False
        while not ended:
            ended = self.end.wait(0.1)
            parts = sum(name.endswith(".parquet") for name in os.listdir(self.out)) if os.path.isdir(self.out) else 0
            if parts * 100 >= STEP * len(self.seen):  # 100 rows a part
                self.seen.append((time.monotonic(), time.process_time(), resident()))


def flat(count):
    with tempfile.TemporaryDirectory() as folder:
        paths = make(folder, count)
        watch = Watch(f"{folder}/out")
        onnxflops.scan(paths[:1], f"{folder}/warm", fill=1)
        watch.start()
        began = time.monotonic()
        rows = onnxflops.scan(paths, f"{folder}/out", fill=1)
        print(f"{count} models: {time.monotonic() - began:.1f} s")
        watch.end.set()
        watch.join()
        for at, (a, b) in enumerate(zip(watch.seen, watch.seen[1:]), 1):
            print(f"up to {at * STEP:7}: {b[0] - a[0]:6.2f} s, {b[1] - a[1]:6.2f} s of CPU time, {b[2] / 2**20:7.1f} MiB held, {(b[2] - a[2]) / STEP:8.0f} bytes more a model")
        require_all(rows, count)
        began, cpu, held = time.monotonic(), time.process_time(), resident()
        onnxflops.scan(paths, f"{folder}/out", fill=1)
        print(f"again, with nothing to count: {time.monotonic() - began:.1f} s, {time.process_time() - cpu:.1f} s of CPU time, {(resident() - held) / 2**20:.1f} MiB more")


# Of Dask: its scheduler is a process of its own, as on a cluster, so that its CPU time is not the caller's.
SCHEDULER = """
import sys
import distributed

if __name__ == "__main__":
    cluster = distributed.LocalCluster(n_workers=int(sys.argv[1]), threads_per_worker=1, dashboard_address=None)
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@contextmanager
def cluster(engine, workers, folder):
    """Arguments of scan() for some workers."""
    if engine == "ray":
        import ray

        os.environ["RAY_worker_niceness"] = "0"  # or the workers wait for whatever else runs
        ray.init(num_cpus=workers, log_to_driver=False)
        yield {"engine": "ray"}
        ray.shutdown()
        return
    import distributed

    script = pathlib.Path(folder, "scheduler.py")
    script.write_text(SCHEDULER)
    with subprocess.Popen([sys.executable, script, str(workers)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        with distributed.Client(started.stdout.readline().strip()) as client:
            yield {"engine": "dask", "client": client}
        started.stdin.close()


def run_timed(task, stop=None):
    """Also writes how long the worker was busy."""
    began = time.monotonic()
    done = _tasks.run(task, stop)
    pathlib.Path(f"{task.store.out}/{task.part}.busy").write_text(f"{time.monotonic() - began}")
    return done


def timed(engine, workers, paths, folder):
    """Seconds, seconds of CPU time of this process, and how many workers were busy on average."""
    with cluster(engine, workers, folder) as arguments, tempfile.TemporaryDirectory(dir=folder) as out:
        onnxflops.scan(paths[: 8 * workers], f"{out}/warm", fill=1, **arguments)
        began, cpu = time.monotonic(), time.process_time()
        rows = onnxflops.scan(paths, f"{out}/out", fill=1, **arguments)
        seconds, cpu = time.monotonic() - began, time.process_time() - cpu
        require_all(rows, len(paths))
        busy = sum(float(path.read_text()) for path in pathlib.Path(out, "out").glob("*.busy"))
    return seconds, cpu, busy / seconds


def two_against_one(engine, count):
    """Busy workers show the cost of a scan itself, even if other work uses the processors."""
    _engines.run = run_timed
    with tempfile.TemporaryDirectory() as folder:
        paths = make(f"{folder}/models", count)
        spent, busy = {1: [], 2: []}, {1: [], 2: []}
        for _ in range(TURNS):
            for workers in (1, 2):
                seconds, cpu, mean = timed(engine, workers, paths, folder)
                print(f"{engine}, workers: {workers}: {seconds:.1f} s; busy: {mean:.2f}; the caller took {cpu:.2f} s of CPU time", flush=True)
                spent[workers].append(seconds)
                busy[workers].append(mean)
        print(f"two workers are {statistics.median(spent[1]) / statistics.median(spent[2]):.2f} times one")
        print(f"with a processor for each: {statistics.median(busy[2]) / statistics.median(busy[1]):.2f}")


def main():
    words = sys.argv[1:]
    if words[:1] == ["flat"] and len(words) < 3:
        flat(int(words[1]) if len(words) == 2 else 100_000)
    elif words[:1] == ["cluster"] and len(words) in (2, 3) and words[1] in ("dask", "ray"):
        two_against_one(words[1], int(words[2]) if len(words) == 3 else 10_000)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
