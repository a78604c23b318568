#!/usr/bin/env python3
"""Sets the numbers of configurations to their extremes: each is counted or refused within a second and 256 MiB.

    config_extremes.py PROGRAM             the largest size that is accepted, and a share of the other values
    config_extremes.py PROGRAM --all       all of them
    config_extremes.py PROGRAM --all FILE  also those of these configurations

Each number of a configuration takes each of VALUES, one at a time; then all of them that are numbers of layers take the most that is
allowed at once. A key of a family is tried in the first configuration that has it.
"""

import argparse
import json
import os
import sys
import tempfile
import zlib

import amplification

DATA = os.path.join(amplification.HERE, "..", "data", "config")
FILES = ("truth.json", "more.json", "open_clip.json")
MOST_LAYERS, MOST_SIZE = 2048, 1 << 28  # kMaxConfigLayers, kMaxConfigSize
VALUES = (0, 1, -1, 1 << 15, 1 << 20, MOST_SIZE, (1 << 31) - 1, 1 << 40, (1 << 63) - 1, 1 << 64, -(1 << 63), 0.5, 1e-300, 1e300, "NaN", "1e400", "-Infinity")
SECONDS, MEMORY = 1.0, 256 << 20
SHARE = 8


def configurations():
    """Those of the tests, by name."""
    for file in FILES:
        with open(os.path.join(DATA, file), encoding="utf-8") as text:
            for name, model in json.load(text)["models"].items():
                yield name, model["config"]


def numbers(value, path=()):
    """The places of all numbers."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value[:2]):
            yield from numbers(item, (*path, index))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path


def changed(config, changes):
    """A copy with other values, by place."""
    copy = json.loads(json.dumps(config))
    for path, value in changes.items():
        part = copy
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
    return copy


def cases(named):
    """Configurations with extremes: what each is, and whether it is always tried."""
    seen = set()
    for name, config in named:
        family = config.get("model_type", "open_clip")
        places = list(numbers(config))
        for path in places:
            if (family, path) in seen:
                continue
            seen.add((family, path))
            for value in VALUES:
                what = f"{name}: {'.'.join(map(str, path))} = {value!r}"
                yield what, value == MOST_SIZE or zlib.crc32(what.encode()) % SHARE == 0, changed(config, {path: value})
        layers = [path for path in places if "layers" in str(path[-1]) or "layer" in str(path[-1]) and str(path[-1]).startswith(("n_", "num_"))]
        if (family, tuple(layers)) not in seen:
            seen.add((family, tuple(layers)))
            yield f"{name}: every number of layers = {MOST_LAYERS}", True, changed(config, dict.fromkeys(layers, MOST_LAYERS))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_intermixed_args()
    named = list(configurations())
    for file in arguments.files:
        with open(file, encoding="utf-8") as text:
            named.append((file, json.load(text)))
    faults, runs, most_seconds, most_memory = 0, 0, (0, ""), (0, "")
    with tempfile.TemporaryDirectory() as folder:
        path, out, err = (os.path.join(folder, name) for name in ("config.json", "out", "err"))
        stopwatch = amplification.Stopwatch()
        for what, always, config in cases(named):
            if not always and not arguments.all:
                continue
            with open(path, "w", encoding="utf-8") as file:
                json.dump(config, file)
            code, seconds, memory, too_long = stopwatch.measure([arguments.program, "count", path], out, err, SECONDS)
            runs += 1
            most_seconds, most_memory = max(most_seconds, (seconds, what)), max(most_memory, (memory, what))
            if code not in (0, 2) or too_long or memory > MEMORY:
                faults += 1
                print(f"{what}: exit code {code}, {seconds:.2f} s, {memory >> 20} MiB", flush=True)
    print(f"most seconds: {most_seconds[0]:.2f} in {most_seconds[1]}")
    print(f"most memory: {most_memory[0] >> 20} MiB in {most_memory[1]}")
    print(f"{runs} configurations, {faults} faults")
    return 1 if faults or runs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
