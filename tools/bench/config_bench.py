#!/usr/bin/env python3
"""How much CPU time the count of a configuration takes beside that of the ONNX file with the same graph (`--save`), in turn, in one run.

  tools/bench/config_bench.py build/onnxflops [config.json...]      (default: configurations of tests/data/config)

Prints the smallest time of each and their ratio. It should be at most 1.5.
"""
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROUNDS = 15


def seconds(command):
    """CPU time of a call, which other work on the machine changes less than its duration."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def configurations(folder):
    """The largest of each kind in the truth."""
    models = json.loads((ROOT / "tests/data/config/truth.json").read_text())["models"]
    for name, model in models.items():
        path = folder / (name.replace("/", "_") + ".json")
        path.write_text(json.dumps(model["config"]))
        yield path


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = [pathlib.Path(path) for path in sys.argv[2:]] or list(configurations(folder))
        worst = 0
        for path in paths:
            saved = folder / (path.stem + ".onnx")
            subprocess.run([program, "count", str(path), "--save", str(saved)], check=True, stdout=subprocess.DEVNULL)
            times = {path: [], saved: []}
            for _ in range(ROUNDS):
                for file, taken in times.items():
                    taken.append(seconds([program, "count", str(file)]))
            config, onnx = (min(taken) for taken in times.values())
            worst = max(worst, config / onnx)
            print(f"{path.stem:50} config {1000 * config:7.1f} ms   file {1000 * onnx:7.1f} ms   ratio {config / onnx:5.2f}")
        print(f"largest ratio {worst:.2f}")


main()
