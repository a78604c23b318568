#!/usr/bin/env python3
"""Times the Python package beside the library, in one run, and prints the figures with their bounds.

Usage, after tools/test --python: ninja -C build onnxflops_bench && build/python/venv/bin/python tools/bench/python_package.py
"""
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import onnxflops

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIP = ROOT / "models" / "clip-vit-l-14-336.onnx"
LIBRARY = [ROOT / "build" / "onnxflops_stages_bench", "--benchmark_filter=clip/as a user", "--benchmark_format=json", "--benchmark_min_time=0.2"]


def process_ms(script):
    """Processor time of an interpreter that runs it, with what the system does for it."""

    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = spent()
    subprocess.run([sys.executable, "-c", script], check=True)
    return 1e3 * (spent() - before)


def import_ms():
    """Of the import alone, as Python tells it."""
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", "import onnxflops"], check=True, capture_output=True, text=True)
    return int(done.stderr.splitlines()[-1].split("|")[1]) / 1e3


def mean_us(work, times):
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times * 1e6


def library_us():
    done = subprocess.run(LIBRARY, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["benchmarks"][0]["cpu_time"]


def row(name, value, bound, unit):
    print(f"{name:60} {value:9.3f} {unit:3} at most {bound:<5} {'ok' if value <= bound else 'MISSED'}")
    return value <= bound


def main():
    ok = row("import, as -X importtime has it", statistics.median(import_ms() for _ in range(15)), 30, "ms")
    pairs = [process_ms("import onnxflops") - process_ms("") for _ in range(25)]
    ok &= row("import, a process with it - one without", statistics.median(pairs), 30, "ms")
    path = str(CLIP)
    pairs = [(mean_us(lambda: onnxflops.load(path).count(), 40), library_us()) for _ in range(9)]
    ok &= row("CLIP ViT-L/14-336: load and count / the library's time", statistics.median(a / b for a, b in pairs), 1.2, "")
    bound = onnxflops.load(path).count(batch=8)
    bound.at(batch=64)
    ok &= row("CLIP ViT-L/14-336: totals at another size than counted", mean_us(lambda: bound.at(batch=64), 2000), 100, "us")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
