#!/usr/bin/env python3
"""Times whole processes of onnxflops beside protobuf's parse of the same file, in one run, and prints the ratios with their bounds.

Usage, after tools/test: ninja -C build onnxflops_bench && tools/bench/processes.py [--quick]
Needs about 2.2 GB below build/bench for the generated graphs; --quick leaves out the 1.9 GB one and the one of a million nodes.
"""
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
DATA = BUILD / "bench"
CLIP = ROOT / "models" / "clip-vit-l-14-336.onnx"


def graph(name):
    path = DATA / f"{name}.onnx"
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        subprocess.run([BUILD / "onnxflops_gen_decoder", name, path], check=True, stdout=subprocess.DEVNULL)
    return path


def ours(path, command="count"):
    start = time.perf_counter()
    subprocess.run([BUILD / "onnxflops", command, path], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def parse(path):
    return float(subprocess.run([BUILD / "onnxflops_bare_parse", path], check=True, capture_output=True, text=True).stdout)


def parse_process(path):
    start = time.perf_counter()
    parse(path)
    return time.perf_counter() - start


def ratio(path, other, runs):
    """The median over pairs run one after the other, and the median of ours in seconds."""
    pairs = [(ours(path), other(path)) for _ in range(runs)]
    return statistics.median(a / b for a, b in pairs), statistics.median(a for a, _ in pairs)


def peak_mb(path):
    """Peak memory of one run, as GNU time (Debian: time) tells it: a child of Python itself would begin with Python's."""
    run = subprocess.run(["/usr/bin/time", "-f", "%M", BUILD / "onnxflops", "count", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return int(run.stderr.split()[-1]) / 1024


def row(name, value, bound, note=""):
    print(f"{name:52} {value:9.4f}   at most {bound:<8} {'ok' if value <= bound else 'MISSED':7}{note}")
    return value <= bound


def main():
    quick = "--quick" in sys.argv[1:]
    ok = True
    for name in ("dec100", "dec100-static"):
        r, t = ratio(graph(name), parse, 15)
        ok &= row(f"{name}: process / protobuf's parse alone", r, 1, f" {t * 1e3:.1f} ms")
    r, t = ratio(CLIP, parse_process, 25)
    ok &= row("CLIP ViT-L/14-336: process / process that parses", r, 1, f" {t * 1e3:.1f} ms")
    r = statistics.median(ours(CLIP, "compare") / ours(CLIP) for _ in range(25))
    ok &= row("CLIP ViT-L/14-336: compare / count", r, 3)
    if not quick:
        big = graph("big")
        r, t = ratio(big, parse, 5)
        ok &= row("big (1.9 GB): process / protobuf's parse alone", r, 0.01, f" {t * 1e3:.1f} ms")
        ok &= row("big: peak memory, MB", peak_mb(big), 12)
        per_node = {}
        for name, nodes in (("layers=80", 10272), ("layers=7800", 998432)):
            per_node[name] = min(ours(graph(name)) for _ in range(5)) / nodes
        growth = per_node["layers=7800"] / per_node["layers=80"]
        ok &= row("time per node, 1 M nodes / 10 k nodes", growth, 1.1, f" {per_node['layers=7800'] * 1e9:.0f} ns")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
