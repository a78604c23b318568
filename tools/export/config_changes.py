#!/usr/bin/env python3
"""Changes kept configurations by chance, and asks both the class and the program: a search for keys that the program reads wrong.

  python3 tools/export/config_changes.py build/onnxflops 600 [SEED [TYPE...]]      (torch, transformers, onnxflops: as family_truth.py)

For so many seconds a case of tests/data/config/ is drawn, one to three of its keys (or of the defaults of its class) are changed, and its
FLOPs and parameters are compared with those that FlopCounterMode gives. What differs is written as a line of JSON, and so is what the program
refuses and the class takes. A difference is worth a look only where the unchanged case is equal: others are told apart. No line is no proof.
"""
import collections
import copy
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import family_truth
import transformers

FOLDER = pathlib.Path(__file__).parents[2] / "tests/data/config"
MOST_PARAMETERS, MOST_FLOPS, MOST_SIZE, SECONDS = 30e6, 3e12, 20_000, 90
# Parts of keys that change no count, or whose change is another case.
SKIPPED = ("token_id", "dropout", "range", "eps", "vocab", "theta", "cache", "label", "name", "version", "dtype", "output_", "position",
           "tie_word", "index", "gradient", "seed", "loss", "cost", "pad_", "is_decoder", "cross_attention", "rope", "std", "architectures", "model_type")  # fmt: skip
ACTIVATIONS = ("gelu", "relu", "silu", "gelu_pytorch_tanh")


def cases():
    for path in sorted(FOLDER.glob("*.json")):
        models = json.loads(path.read_text()).get("models")
        for name, case in (models if isinstance(models, dict) else {}).items():
            points = case.get("points") or []
            small = case.get("parameters", 0) <= MOST_PARAMETERS and all(p.get("flops", 0) <= MOST_FLOPS and "dims" in p for p in points)
            if points and small and "architectures" in case.get("config", {}):
                yield name, case


def leaves(document, path=()):
    for key, value in document.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, str(key)))
        else:
            yield (*path, str(key)), value


def changed(value, chance):
    """Another value of its kind; None if there is none."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        other = chance.choice([x for x in (2 * value, value + 1, value - 1, max(1, value // 2), 3 * value) if x >= 0 and x != value])
        return other if other <= MOST_SIZE else None
    if isinstance(value, list) and value and all(isinstance(x, (int, str)) for x in value):
        at, same = chance.randrange(len(value)), list(value)
        same[at] = chance.choice(value) if isinstance(value[at], str) else changed(value[at], chance)
        return None if same == value else same
    return chance.choice(ACTIVATIONS) if value in ACTIVATIONS else None


def change(config, chance):
    """Changes keys in place; returns what they were and are."""
    known = dict(leaves(config))
    defaults = dict(leaves(transformers.AutoConfig.for_model(config["model_type"]).to_dict()))
    pool = {**{key: value for key, value in defaults.items() if len(key) == 1}, **known}
    keys = [key for key in pool if not any(part in key[-1] for part in SKIPPED)]
    done = {}
    for key in chance.sample(keys, min(len(keys), chance.choice((1, 1, 1, 2, 3)))):
        value = changed(pool[key], chance)
        if value is None:
            continue
        place = config
        for part in key[:-1]:
            place = place.setdefault(part, {})
        place[key[-1]] = value
        done[".".join(key)] = [pool[key], value]
    return done


def of_class(config, dims):
    """FLOPs and parameters, or None if the class refuses, or takes too long."""
    signal.alarm(SECONDS)
    try:
        with family_truth.routed_experts():
            flops = family_truth.point_of(config, dims)["flops"]
        return [flops, sum(p.numel() for p in family_truth.build(*family_truth.class_and_config(config)).parameters())]
    except Exception:
        return None
    finally:
        signal.alarm(0)


def of_program(program, config, dims):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        sizes = ",".join(f"{name}={size}" for name, size in dims.items())
        run = subprocess.run([program, "count", file.name, "--dim", sizes, "--format", "json"], capture_output=True, text=True)
    if run.returncode != 0:
        return None, run.stderr.strip()[-200:]
    totals = json.loads(run.stdout)["totals"]
    macs = totals["macs"]["value"]
    return (None, "a size is open") if macs is None else ([2 * macs, totals["params"]], "")


def late(*_):
    raise TimeoutError


def main():
    program, seconds, seed = sys.argv[1], float(sys.argv[2]), int((sys.argv[3:] or [0])[0])
    chance, end, found = random.Random(seed), time.monotonic() + seconds, collections.Counter()
    drawn = [(name, case) for name, case in cases() if case["config"]["model_type"] in (sys.argv[4:] or [case["config"]["model_type"]])]
    signal.signal(signal.SIGALRM, late)
    while time.monotonic() < end:
        name, case = chance.choice(drawn)
        config, dims = copy.deepcopy(case["config"]), chance.choice(case["points"])["dims"]
        done = change(config, chance)
        ours, why = of_program(program, config, dims)
        theirs = of_class(config, dims) if done else None
        kind = "refused by both" if not theirs and not ours else "equal" if ours == theirs else "refused" if not ours else "taken" if not theirs else "differs"
        if kind == "differs" and of_class(case["config"], dims) != of_program(program, case["config"], dims)[0]:
            kind = "differs unchanged"
        found[kind] += 1
        if kind in ("differs", "refused"):
            print(json.dumps({"kind": kind, "case": name, "changed": done, "dims": dims, "ours": ours, "theirs": theirs, "why": why}), flush=True)
    print(dict(found), file=sys.stderr)


if __name__ == "__main__":
    main()
