#!/usr/bin/env python3
"""diff, check and compare of pipelines against sums by hand of `pipeline --format json` and of `compare` of each model:
pipelines_test.py PROGRAM, run at the root of the repository.

Each change is head - base of the two documents of `pipeline`, each verdict a comparison of fractions of their figures. Figures of `pipeline` themselves are held
to whole calls that torch counted.
"""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from fractions import Fraction

PROGRAM = os.path.abspath(sys.argv.pop(1))
FOLDER = "tests/data/pipeline/"
GPT2, BEAMS, SPECULATIVE = (FOLDER + name + ".toml" for name in ("gpt2", "gpt2-beams", "speculative"))
DIFFUSION = FOLDER + "sd-tiny"
UNITS = {"flops": "FLOP", "other_flops": "FLOP", "macs": "MAC", "param_bytes": "B", "bytes_moved": "B", "bytes_read": "B"}


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, check=False)


def document(*arguments):
    result = run(*arguments, "--format", "json")
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)


def number(quantity):
    """The number of a quantity of JSON, which may be a number, a text of one, or a formula with `value`."""
    if isinstance(quantity, dict):
        quantity = quantity["value"]
    return None if quantity is None else Fraction(quantity)


def scheduled(folder, number, call):
    """A copy of the diffusion folder, with the schedule of a call."""
    copy = os.path.join(folder, f"sd{number}")
    shutil.copytree(DIFFUSION, copy)
    os.mkdir(os.path.join(copy, "scheduler"))
    with open(os.path.join(copy, "scheduler", "scheduler_config.json"), "w", encoding="utf-8") as file:
        json.dump(call["schedule"], file)
    index = os.path.join(copy, "model_index.json")
    with open(index, encoding="utf-8") as file:
        parts = json.load(file)
    parts["scheduler"] = ["diffusers", call["schedule"]["_class_name"]]
    with open(index, "w", encoding="utf-8") as file:
        json.dump(parts, file)
    return copy


def sizes_of(call):
    return f"steps={call['steps']},pixels_high={call['high']},pixels_wide={call['wide']},images={call['images']},prompts={call['images']}"


class Diff(unittest.TestCase):
    def hold(self, base, head, *dims):
        """A diff against the documents of both sides."""
        diff = document("diff", base, head, *dims)
        sides = {"base": document("pipeline", base, *dims), "head": document("pipeline", head, *dims)}
        nothing = {}
        changed = 0

        def same(change, of_base, of_head, what):
            of_base, of_head = number(of_base), number(of_head)
            self.assertEqual(number(change["base"]), of_base, what)
            self.assertEqual(number(change["head"]), of_head, what)
            self.assertEqual(number(change["delta"]), of_head - of_base, what)
            return of_base != of_head

        def row(changes, totals, what):
            count = 0
            for key in sides["head"]["totals"]:
                if key != "lower_bound":
                    count += same(changes[key], totals["base"].get(key, 0), totals["head"].get(key, 0), f"{what}: {key}")
            return count

        changed += row(diff["totals"], {side: d["totals"] for side, d in sides.items()}, "all")
        changed += same(diff["totals"]["memory_bytes"], sides["base"]["memory_bytes"], sides["head"]["memory_bytes"], "memory")
        names = [s["name"] for s in sides["head"]["stages"]]
        names += [s["name"] for s in sides["base"]["stages"] if s["name"] not in names]
        self.assertEqual([s["name"] for s in diff["stages"]], names)
        for stage in diff["stages"]:
            of = {side: next((s for s in d["stages"] if s["name"] == stage["name"]), nothing) for side, d in sides.items()}
            count = row(stage, {side: s.get("totals", nothing) for side, s in of.items()}, stage["name"])
            count += same(stage["runs"], of["base"].get("runs", 0), of["head"].get("runs", 0), "runs")
            count += same(stage["peak_activation_bytes"], of["base"].get("peak_activation_bytes", 0),
                          of["head"].get("peak_activation_bytes", 0), "peak")
            status = "added" if not of["base"] else "removed" if not of["head"] else "changed" if count else "same"
            self.assertEqual(stage["status"], status, stage["name"])
            changed += count
        self.assertEqual(diff["empty"], changed == 0)
        return diff

    def test_time_on_a_device(self):
        device = ("--device", "h100-sxm", "--dtype", "bf16")
        diff = document("diff", GPT2, BEAMS, *device)
        sides = [document("pipeline", path, *device) for path in (GPT2, BEAMS)]
        rows = [(diff["totals"], [side["time"]["seconds"] for side in sides])]
        for stage in diff["stages"]:
            rows.append((stage, [sum(s["time"]["seconds"] for s in side["stages"] if s["name"] == stage["name"]) for side in sides]))
        for row, (base, head) in rows:
            time = {key: float(part["value"]) for key, part in row["time_bound_seconds"].items() if key != "sign"}
            for key, wanted in (("base", base), ("head", head), ("delta", head - base)):
                self.assertAlmostEqual(time[key], wanted, delta=1e-12, msg=(row.get("name"), key))
        self.assertGreater(sides[1]["time"]["seconds"], sides[0]["time"]["seconds"])
        self.assertNotIn("time_bound_seconds", document("diff", GPT2, BEAMS)["totals"])
        result = run("diff", "models/resnet50.onnx", "models/resnet50.onnx", *device)
        self.assertEqual((result.returncode, result.stdout), (2, ""))

    def test_page(self):
        """The page has the totals of the document, the memory, and a row for each stage."""
        page = run("diff", GPT2, BEAMS, "--format", "html").stdout
        data = json.loads(page.split('<script type="application/json" id="data" data-kind="diff">')[1].split("</script>")[0])
        diff = document("diff", GPT2, BEAMS)
        for key, change in diff["totals"].items():
            if key not in ("bytes_moved", "memory_bytes"):
                self.assertEqual(data["diff"]["totals"][key], change, key)
        self.assertEqual(data["memory"], diff["totals"]["memory_bytes"])
        self.assertEqual(data["noun"], "stage")
        self.assertEqual(data["notes"], ["stage check: 0 runs in the base, 4 in the head"])
        self.assertIn("beams = 4", data["words"][1])
        for stage in diff["stages"]:
            self.assertIn(f'"{stage["name"]}"', page)

    def test_a_changed_and_a_new_stage(self):
        statuses = {s["name"]: s["status"] for s in self.hold(GPT2, BEAMS)["stages"]}
        self.assertEqual(statuses, {"prompt": "same", "tokens": "changed", "check": "added"})

    def test_the_other_way_a_stage_is_gone(self):
        self.assertEqual(self.hold(BEAMS, GPT2)["stages"][-1]["status"], "removed")

    def test_other_stages(self):
        self.hold(GPT2, SPECULATIVE)

    def test_numbers_of_both_and_of_one(self):
        self.hold(GPT2, BEAMS, "--dim", "tokens=7,answers=3")
        # A document of one side alone refuses the name that only the other has.
        diff = document("diff", GPT2, BEAMS, "--dim", "beams=1")
        tokens = next(s for s in diff["stages"] if s["name"] == "tokens")
        self.assertEqual(tokens["status"], "same")

    def test_a_name_of_neither(self):
        result = run("diff", GPT2, BEAMS, "--dim", "token=1")
        self.assertEqual(result.returncode, 2)
        self.assertIn("tokens", result.stderr)

    def test_a_folder_and_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pipeline.toml")
            text = run("pipeline", DIFFUSION, "--init").stdout.replace('model = "', f'model = "{os.path.abspath(DIFFUSION)}/')
            for steps in ("steps = 50", "steps = 20"):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text.replace("steps = 50", steps))
                diff = self.hold(DIFFUSION, path)
                self.assertEqual(diff["empty"], steps == "steps = 50")

    def test_memory_alone(self):
        with open(GPT2, encoding="utf-8") as file:
            text = file.read()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "in_turn.toml")
            with open(path, "w", encoding="utf-8") as file:
                model, large = (os.path.abspath(p) for p in (FOLDER + "gpt2-tiny/config.json", "tests/data/config/gpt2/config.json"))
                text = text.replace("../config/gpt2/config.json", large)
                text += f'\n[[stage]]\nname = "more"\nmodel = "{model}"\nnew = 3\nsizes = {{ batch = "answers" }}\n'
                file.write(text)
            other = os.path.join(folder, "together.toml")
            with open(other, "w", encoding="utf-8") as file:
                file.write('loaded = "in turn"\n' + text)
            diff = self.hold(path, other)
            self.assertFalse(diff["empty"])
            self.assertEqual({s["status"] for s in diff["stages"]}, {"same"})


class Check(unittest.TestCase):
    def verdicts(self, *arguments):
        result = run("check", *arguments, "--format", "json")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(result.returncode, 0 if report["passed"] else 1)
        return report["rules"]

    def test_limits_at_the_figure_and_one_below(self):
        report = document("pipeline", BEAMS)
        rows = [("", report["totals"])] + [(s["name"] + ":", s["totals"]) for s in report["stages"]]
        for prefix, totals in rows:
            for key, unit in UNITS.items():
                figure = int(number(totals[key]))
                for limit, passes in ((figure, True), (figure - 1, False)):
                    (rule,) = self.verdicts(BEAMS, "--max", f"{prefix}{key}={limit} {unit}")
                    self.assertEqual(rule["passed"], passes, rule)
                    self.assertEqual(int(rule["actual_value"]), figure)
                    self.assertEqual(rule["where"], prefix[:-1])

    def test_relative_limits(self):
        base, head = document("pipeline", GPT2), document("pipeline", BEAMS)
        for key in ("flops", "macs", "params", "bytes_moved"):
            growth = number(head["totals"][key]) / number(base["totals"][key]) - 1
            for percent in (int(growth * 100), int(growth * 100) + 1):
                (rule,) = self.verdicts(BEAMS, "--max", f"{key}=+{percent}%", "--against", GPT2)
                self.assertEqual(rule["passed"], growth * 100 <= percent, rule)
                self.assertEqual(int(rule["base_value"]), number(base["totals"][key]))

    def test_a_stage_against_the_same_stage(self):
        rules = self.verdicts(BEAMS, "--max", "*:flops=+0%", "--against", GPT2)
        self.assertEqual({r["where"]: r["verdict"] for r in rules}, {"prompt": "passed", "tokens": "failed", "check": "skipped"})

    def test_a_file_of_budgets(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "onnxflops.toml")
            flops = {n: int(number(document("pipeline", GPT2, "--dim", f"tokens={n}")["totals"]["flops"])) for n in (1, 64)}
            for limit, passes in ((flops[64], True), (flops[64] - 1, False)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f'[models."gpt2*.toml".budget]\nflops = "{limit} FLOP"\n[models."*.onnx".opset]\nmin = 99\n'
                               '[at]\ntokens = "1..64"\nanswers = 1\n')
                (rule,) = self.verdicts(GPT2, "--budgets", path)
                self.assertEqual(rule["passed"], passes, rule)
                self.assertEqual(rule["at"], "answers = 1, tokens = 1..64")
                self.assertEqual(int(rule["actual_value"]), flops[64])
            # Beside a model, each has its own rules.
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'[models."*.toml".budget]\nflops = "{flops[64]} FLOP"\n[models."*.json".budget]\nmacs = "1 TMAC"\n')
            rules = self.verdicts(GPT2, "tests/data/config/gpt2/config.json", "--budgets", path, "--dim", "seq=1", "--dim", "batch=1",
                                  "--dim", "past=0", "--dim", "tokens=64")
            self.assertEqual([(r["model"], r["passed"]) for r in rules], [(GPT2, True), ("tests/data/config/gpt2/config.json", True)])

    def test_a_range_of_a_parameter_that_follows_from_others(self):
        """pixels_high is a formula; at 1, where open parameters are shown, the denoiser has no size."""
        for name, most in (("pixels_high", 768), ("resolution", 512)):
            flops = int(number(document("pipeline", DIFFUSION, "--dim", f"{name}={most}")["totals"]["flops"]))
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "onnxflops.toml")
                for limit, passes in ((flops, True), (flops - 1, False)):
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(f'[budget]\nflops = "{limit} FLOP"\n[at]\n{name} = "64..{most}"\n')
                    (rule,) = self.verdicts(DIFFUSION, "--budgets", path)
                    self.assertEqual((rule["passed"], int(rule["actual_value"])), (passes, flops), rule)

    def test_a_range_of_what_a_probability_depends_on(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "onnxflops.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write('[budget]\nflops = "9 TFLOP"\n[at]\ndraft = "1..4"\n')
            result = run("check", SPECULATIVE, "--budgets", path)
            self.assertEqual(result.returncode, 2)
            self.assertIn("a probability depends on draft, so [at] takes a number, and no range", result.stderr)

    def test_a_range_with_an_end_that_no_model_takes(self):
        with tempfile.TemporaryDirectory() as folder:
            stages, budgets = (os.path.join(folder, name) for name in ("stages.toml", "onnxflops.toml"))
            model = os.path.abspath(FOLDER + "gpt2-tiny/config.json")
            with open(stages, "w", encoding="utf-8") as file:
                file.write(f'[parameters]\ntokens = 3\n[[stage]]\nname = "all"\nmodel = "{model}"\n'
                           'new = "tokens"\nsizes = { batch = 1 }\n')
            for most, code in ((64, 0), (65, 2)):  # positions of the configuration
                with open(budgets, "w", encoding="utf-8") as file:
                    file.write(f'[budget]\nflops = "1 TFLOP"\n[at]\ntokens = "1..{most}"\n')
                result = run("check", stages)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertEqual("positions" in result.stderr, code == 2)

    def test_memory(self):
        """The weights of both stages, one file, once, and the larger peak of the two; in turn, the larger sum."""
        report = document("pipeline", GPT2)
        memory = int(number(report["totals"]["param_bytes"]) + max(number(s["peak_activation_bytes"]) for s in report["stages"]))
        for limit, passes in ((memory, True), (memory - 1, False)):
            (rule,) = self.verdicts(GPT2, "--max", f"memory_bytes={limit} B")
            self.assertEqual(rule["passed"], passes, rule)
            self.assertEqual((int(rule["actual_value"]), rule["unit"]), (memory, "B"))
            result = run("pipeline", GPT2, "--max", f"memory_bytes={limit} B")
            self.assertEqual(result.returncode, 0 if passes else 1, result.stderr)
        head = document("pipeline", BEAMS)
        growth = number(head["memory_bytes"]) / memory - 1
        for percent in (int(growth * 100), int(growth * 100) + 1):
            (rule,) = self.verdicts(BEAMS, "--max", f"memory_bytes=+{percent}%", "--against", GPT2)
            self.assertEqual(rule["passed"], growth * 100 <= percent, rule)
            self.assertEqual(int(rule["base_value"]), memory)

    def test_memory_in_a_file_and_over_a_range(self):
        memory = int(number(document("pipeline", GPT2, "--dim", "prompt=300")["memory_bytes"]))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "onnxflops.toml")
            for limit, passes in ((memory, True), (memory - 1, False)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f'[budget]\nmemory_bytes = "{limit} B"\n[at]\nprompt = "1..300"\n')
                (rule,) = self.verdicts(GPT2, "--budgets", path)
                self.assertEqual(rule["passed"], passes, rule)
            # It is of no stage, and of no model.
            result = run("check", "models/resnet50.onnx", "--budgets", path)
            self.assertEqual((result.returncode, result.stderr.count("only a pipeline has memory_bytes")), (2, 1), result.stderr)
        result = run("check", GPT2, "--max", "tokens:memory_bytes=1 GB")
        self.assertEqual(result.returncode, 2)
        self.assertIn("of the whole pipeline, not of a stage", result.stderr)

    def test_first_budgets(self):
        """--init writes each figure plus 1 % and up to four digits, which holds at the numbers of the call, and for no more tokens."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "b.toml")
            made = run("check", GPT2, "--init", "--dim", "tokens=64", "-o", path)
            self.assertEqual(made.returncode, 0, made.stderr)
            report = document("pipeline", GPT2, "--dim", "tokens=64")
            figures = {("budget", key): number(value) for key, value in report["totals"].items() if key not in ("lower_bound", "bytes_moved", "foldable_flops")}
            figures["budget", "memory_bytes"] = number(report["memory_bytes"])
            figures |= {(f'modules."{stage["name"]}"', "flops"): number(stage["totals"]["flops"]) for stage in report["stages"]}
            units = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12}
            limits, section = {}, ""
            with open(path, encoding="utf-8") as file:
                for line in file:
                    if line.startswith("[models."):
                        section = line.strip()[len('[models."gpt2.toml".'):-1]
                    elif " = " in line and line[0] != "#" and section != "at":
                        key, text = line.strip().split(" = ")
                        amount, _, unit = text.strip('"').partition(" ")
                        limits[section, key] = Fraction(amount) * 10 ** units[unit[:1] if unit[:1] in units else ""]
            self.assertEqual(set(limits), set(figures))
            for name, limit in limits.items():
                self.assertTrue(figures[name] * 101 <= limit * 100 <= figures[name] * Fraction("101.2") + 100, (name, limit, figures[name]))
            self.assertEqual(run("check", GPT2, "--budgets", path).returncode, 0)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertIn('"tokens" = 64\n', text)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace('"tokens" = 64', '"tokens" = 80'))
            failed = run("check", GPT2, "--budgets", path)
            self.assertEqual(failed.returncode, 1)
            self.assertRegex(failed.stdout, r"modules.tokens.flops .* failed")
            self.assertRegex(failed.stdout, r"modules.prompt.flops .* passed")
            again = run("check", GPT2, "--init", "-o", path)
            self.assertEqual((again.returncode, "exists: --update raises its limits" in again.stderr), (2, True))

    def test_no_limits(self):
        with tempfile.TemporaryDirectory() as folder:
            stages = os.path.join(folder, "stages.toml")
            with open(GPT2, encoding="utf-8") as file:
                text = file.read().replace("../config", os.path.abspath("tests/data/config"))
            with open(stages, "w", encoding="utf-8") as file:
                file.write(text)
            result = run("check", stages)
            self.assertEqual(result.returncode, 2)
            self.assertIn("onnxflops check MODEL --init writes one, --max", result.stderr)

    def test_what_a_pipeline_does_not_have(self):
        for limit in ("peak_activation_bytes=1 GB", "time_estimate_seconds=1 s", "bops=3"):
            for command in ("check", "pipeline"):
                result = run(command, GPT2, "--max", limit)
                self.assertEqual(result.returncode, 2, limit)
                self.assertIn("the quantities of a pipeline are flops, macs", result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)


class Audit(unittest.TestCase):
    """Published figures that are made from sums by hand, and those that FlopCounterMode counts in whole calls."""

    def rows(self, *figures):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "figures.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("name,model,figure,dim,module\n")
                for model, figure, dim, *module in figures:
                    file.write(f'x,{os.path.abspath(model)},{figure},"{dim}",{"".join(module)}\n')
            result = run("audit", path, "--format", "json")
            self.assertIn(result.returncode, (0, 2), result.stderr)
            return json.loads(result.stdout)["rows"]

    def test_whole_calls(self):
        """Twice the MACs of all stages, with guidance and without."""
        with open(FOLDER + "truth.json", encoding="utf-8") as file:
            calls = [c for c in json.load(file)["calls"] if c["model"] == "sd-tiny"]
        with tempfile.TemporaryDirectory() as folder:
            figures = [(scheduled(folder, i, call), f"{call['flops']} FLOPs", sizes_of(call)) for i, call in enumerate(calls)]
            rows = self.rows(*figures)
        for call, row in zip(calls, rows):
            self.assertEqual((row["status"], row["unit"], row["difference"]), ("same", "flop", 0), row)
            at = "" if call["guided"] else ", guidance = 1"
            self.assertIn(f"macs: all stages{at}", row["conventions"])
        self.assertEqual(sorted({c["guided"] for c in calls}), [False, True])

    def test_no_answers(self):
        """Of no images, open sizes do not matter."""
        rows = self.rows((FOLDER + "cascade.toml", "0 MACs", "images=0"), (FOLDER + "custom.toml", "0 MACs", "frames=0"))
        self.assertEqual([row["status"] for row in rows], ["same", "same"])

    def test_parts(self):
        """A run of a stage, an answer, a stage: quotients of the document's figures."""
        dims = {"steps": 25, "images": 4}
        report = document("pipeline", DIFFUSION, *(word for n, v in dims.items() for word in ("--dim", f"{n}={v}")))
        unet = next(s for s in report["stages"] if s["name"] == "unet")
        macs, flops = number(unet["totals"]["macs"]), number(unet["totals"]["flops"])
        total = number(report["totals"]["macs"])
        wanted = [(macs, "MACs", "onnxflops: stage unet"), (macs // 25, "MACs", "onnxflops: stage unet, a run"),
                  (macs // 4, "MACs", "onnxflops: stage unet, for each of images"), (flops, "FLOPs", "onnxflops: stage unet"),
                  (2 * macs // 25, "FLOPs", "macs: stage unet, a run"), (total // 4, "MACs", "onnxflops: all stages, for each of images")]
        dim = ",".join(f"{n}={v}" for n, v in dims.items())
        rows = self.rows(*((DIFFUSION, f"{value} {unit}", dim) for value, unit, _ in wanted))
        for row, (value, unit, name) in zip(rows, wanted):
            self.assertEqual((row["status"], row["figure"], row["unit"]), ("same", int(value), unit[:-1].lower()), row)
            self.assertIn(name, row["conventions"])
        # What is called FLOPs and is MACs, and what is none of the figures. Half of the batch is what twice the MACs make up for.
        report = document("pipeline", DIFFUSION, *(word for n, v in dims.items() for word in ("--dim", f"{n}={v}")), "--dim", "guidance=1")
        half = number(report["stages"][1]["totals"]["macs"])
        rows = self.rows((DIFFUSION, f"{half} FLOPs", dim + ",guidance=1"), (DIFFUSION, f"{int(total) + 12345} MACs", dim))
        self.assertEqual([(r["status"], r["unit"]) for r in rows], [("same", "mac"), ("nearest", "mac")])
        self.assertEqual(rows[1]["difference"], -12345)

    def test_a_stage_alone(self):
        report = document("pipeline", GPT2)
        tokens = next(s for s in report["stages"] if s["name"] == "tokens")
        figure = f"{number(tokens['totals']['flops'])} FLOPs"
        first, second, third = self.rows((GPT2, figure, "", "tokens"), (GPT2, figure, "", "prompt"), (GPT2, figure, "", "token"))
        self.assertEqual((first["status"], first["conventions"]), ("same", ["onnxflops: stage tokens"]))
        self.assertEqual((second["status"], second["conventions"][0].startswith("macs: stage prompt")), ("nearest", False))
        self.assertIn("no stage is named 'token'; its stages: prompt, tokens", third["fault"])

    def test_open_parameters(self):
        (row,) = self.rows((FOLDER + "cascade.toml", "1 GMACs", ""))
        self.assertIn("sizes are open in", row["fault"])
        (row,) = self.rows((FOLDER + "cascade.toml", "1 GMACs", "images=8,batch=1"))
        self.assertNotIn("fault", row)


class Compare(unittest.TestCase):
    """Figures of other tools against `compare` of each stage's model, run by run."""

    def runs(self, stage, values):
        """The sizes of each run of a stage, its share of one answer included."""
        words = stage["runs_formula"].split(" for each ")
        times = 1 if words[0] == "once" else self.value(words[0].removesuffix(" times"), values)
        index, trips = words[1].split(" < ") if len(words) == 2 else ("", "1")
        share = Fraction(stage["probability"]["part"], stage["probability"]["whole"])
        for t in range(self.value(trips, values)):
            sizes = [f"{name}={self.value(size, values | {index: t})}" for name, size in stage["sizes"].items()]
            yield times * share, ",".join(sizes + [text.replace(" ", "") for text in stage["assumed"]])

    def value(self, formula, values):
        return eval(formula, {"min": min, "max": max}, values)  # formulas of our own files

    def hold(self, pipeline, *dims, unsummed=()):
        """Every tool of a pipeline. `unsummed`: those whose figure of a run is no formula, which a loop needs."""
        compared, report = (document(command, pipeline, *dims) for command in ("compare", "pipeline"))
        values = {p["name"]: p["value"] for p in report["parameters"]}
        figures, terms, starts = {}, {}, {}
        for stage, of_stage in zip(report["stages"], compared["stages"], strict=True):
            own = {}
            for share, sizes in self.runs(stage, values):
                for tool in document("compare", stage["path"], *(["--dim", sizes] if sizes else []))["conventions"]:
                    name, figure = tool["name"], number(tool["headline"])
                    for known in (figures, own):
                        known[name] = None if figure is None or known.get(name, 0) is None else known.get(name, 0) + share * figure
                    starts[name] = starts.get(name, 0) + share * number(tool["start"])
                    for term in tool["terms"]:
                        place = terms.setdefault(name, {}).setdefault((term["name"], stage["name"]), Fraction(0))
                        terms[name][term["name"], stage["name"]] = place + share * number(term["amount"])
            for tool in of_stage["conventions"]:
                if tool["name"] not in unsummed:
                    self.assertEqual(number(tool["headline"]), None if own[tool["name"]] is None else own[tool["name"]] // 1, stage)
        self.assertEqual(len(compared["conventions"]), len(figures))
        for tool in compared["conventions"]:
            name, figure = tool["name"], figures[tool["name"]]
            if figure is None or name in unsummed:
                self.assertEqual((tool["status"], tool["headline"], tool["terms"]), ("not_applicable", None, []), name)
                self.assertRegex(tool["assumptions"][0], "^stages? ")
                self.assertEqual(any("no one formula" in text for text in tool["assumptions"]), name in unsummed)
                continue
            self.assertEqual(number(tool["headline"]), figure // 1, name)
            self.assertEqual(number(tool["start"]), starts[name] // 1, name)
            self.assertEqual(number(tool["start"]) + sum(number(t["amount"]) for t in tool["terms"]), number(tool["headline"]), name)
            amounts = {(t["name"], t["module"]): number(t["amount"]) for t in tool["terms"]}
            for place in amounts.keys() | terms.get(name, {}).keys():
                amount = terms.get(name, {}).get(place, 0)
                self.assertLess(abs(amounts.get(place, 0) - amount), 1 if compared["expected"] else Fraction(1, 10**9), (name, place))
        return {name: figure for name, figure in figures.items() if figure is not None and name not in unsummed}

    def test_every_stage_at_its_sizes(self):
        figures = self.hold(DIFFUSION, "--dim", "steps=3,resolution=64,images=2")
        self.assertGreaterEqual(len(figures), 15)

    def test_a_growing_cache(self):
        figures = self.hold(FOLDER + "gpt2-tiny/pipeline.toml", "--dim", "batch=1,prompt=5,tokens=6,beams=2", unsummed=("onnx-opcounter",))
        self.assertIn("xla", figures)
        self.assertIn("onnx-opcounter", self.hold(FOLDER + "gpt2-tiny/pipeline.toml", "--dim", "batch=1,beams=1,prompt=5,tokens=2"))

    def test_probabilities(self):
        self.assertIn("thop", self.hold(FOLDER + "cascade.toml", "--dim", "images=3,batch=1"))
        self.assertIn("chinchilla", self.hold(SPECULATIVE, "--dim", "prompt=9,tokens=5"))

    def test_whole_calls(self):
        """The convention flop-counter-mode is what FlopCounterMode counts in whole calls of diffusers."""
        with open(FOLDER + "truth.json", encoding="utf-8") as file:
            calls = [c for c in json.load(file)["calls"] if c["model"] == "sd-tiny"]
        self.assertEqual(len(calls), 8)
        for i, call in enumerate(calls):
            with tempfile.TemporaryDirectory() as folder:
                sizes = f"{sizes_of(call)},guidance={1 + call['guided']}"
                tool, = document("compare", scheduled(folder, i, call), "--dim", sizes, "--with", "flop-counter-mode")["conventions"]
                self.assertEqual(number(tool["headline"]), call["flops"], call)

    def test_a_folder_without_a_part(self):
        """The folder is refused as a pipeline, not shown as a table of its other models."""
        with tempfile.TemporaryDirectory() as folder:
            whole = os.path.join(folder, "sd")
            subprocess.run(["cp", "-r", DIFFUSION, whole], check=True)
            os.remove(os.path.join(whole, "unet", "model.onnx"))
            for words in (["pipeline", whole], ["compare", whole], ["diff", whole, DIFFUSION], ["pipeline", whole, "--init"]):
                result = run(*words)
                self.assertEqual((result.returncode, result.stdout), (2, ""), words)
                self.assertIn("(model_index.json) without unet/model.onnx or transformer/model.onnx; export", result.stderr, words)

    def test_open_parameters(self):
        """Terms are formulas, and figures are shown at 1."""
        compared = document("compare", FOLDER + "cascade.toml", "--with", "thop")
        tool, = compared["conventions"]
        self.assertEqual((compared["at"], tool["headline"]["value"]), ({"images": 1, "batch": 1}, None))
        self.assertIn("images", tool["headline"]["expr"])

    def test_from_one_tool_to_another(self):
        both, = document("compare", DIFFUSION, "--from", "thop", "--to", "fvcore")["conventions"]
        thop, fvcore = document("compare", DIFFUSION, "--with", "thop,fvcore")["conventions"]
        self.assertEqual((both["start"], both["headline"]), (thop["headline"], fvcore["headline"]))
        self.assertEqual(number(both["start"]) + sum(number(t["amount"]) for t in both["terms"]), number(both["headline"]))

    def test_csv(self):
        """The lines of a spreadsheet have the numbers of the document."""
        words = ("compare", DIFFUSION, "--dim", "steps=3", "--with", "thop,macs")
        lines = list(csv.DictReader(run(*words, "--format", "csv").stdout.splitlines()))
        tools = document(*words)["conventions"]
        for tool in tools:
            of = [line for line in lines if line["convention"] == tool["name"]]
            self.assertEqual((of[0]["step"], of[-1]["step"]), ("start", "figure"))
            amounts = [int(line["amount"]) for line in of]
            self.assertEqual(sum(amounts[:-1]), amounts[-1])
            self.assertEqual(amounts[-1], number(tool["headline"]))
        lines = list(csv.DictReader(run("compare", DIFFUSION, "--dim", "steps=3", "--format", "csv").stdout.splitlines()))
        thop = {line["stage"]: line["figure"] for line in lines if line["convention"] == "thop"}
        self.assertEqual(sum(int(f) for stage, f in thop.items() if stage != "(all)"), int(thop["(all)"]))
        self.assertEqual(int(thop["(all)"]), number(tools[0]["headline"]))

    def test_what_only_models_have(self):
        for words in (["--module", "unet"], ["--by", "module", "--with", "thop"], ["--terms-nodes"], ["--upper"], ["--input", "x=1"], ["--lengths", "5"]):
            result = run("compare", DIFFUSION, *words)
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1), words)


class WholeCalls(unittest.TestCase):
    """What torch's FlopCounterMode counts in whole calls of diffusers and transformers, and what `pipeline` counts for folders of the same models."""

    def hold(self, calls, archive):
        with open(FOLDER + calls, encoding="utf-8") as file:
            calls = json.load(file)["calls"]
        params, counted = {}, 0
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["tar", "-C", folder, "-xJf", "tests/data/" + archive], check=True)
            for call in calls:
                model = f"{folder}/{call['model']}"
                if call["model"] == "llava-tiny":
                    model += "/pipeline.toml"
                dims = [word for name, size in call["dims"].items() for word in ("--dim", f"{name}={size}")]
                report = document("pipeline", model, *dims)
                flops = call.get("flops_of_files", call["flops"])
                self.assertEqual(2 * number(report["totals"]["macs"]), flops, call)
                tool, = document("compare", model, *dims, "--with", "flop-counter-mode")["conventions"]
                if tool["headline"] is not None:
                    self.assertEqual(number(tool["headline"]), flops, call)
                    counted += 1
                params[call["model"]] = {stage["name"]: number(stage["totals"]["params"]) for stage in report["stages"]}
        return calls, params, counted

    def test_every_call(self):
        calls, _, counted = self.hold("whole_calls.json", "pipeline_models.tar.xz")
        self.assertGreaterEqual(len(calls), 16)
        self.assertGreaterEqual(counted, 5)  # the others are configurations, or have no names of modules

    def test_videos(self):
        """Wan 2.1 and 2.2: the steps of each transformer follow from the schedule."""
        calls, _, _ = self.hold("wan_calls.json", "wan_models.tar.xz")
        self.assertEqual(len(calls), 12)

    def test_images_and_texts(self):
        """LLaVA, Qwen2-VL, SmolVLM and PaliGemma, and Whisper in files of ONNX Runtime GenAI. A call asks for fewer logits than files have, and runs a layer of LLaVA's tower that files leave out."""
        calls, _, _ = self.hold("vision_calls.json", "vision_models.tar.xz")
        self.assertEqual(len(calls), 26)
        width, words = 64, 300
        layer = 4 * 17 * 48 * 48 + 2 * 17 * 17 * 48 + 2 * 17 * 48 * 90  # MACs of an image
        for call in calls:
            dims, tokens = call["dims"], {"llava": 16, "llava-genai": 16, "paligemma": 16, "smolvlm": 20}.get(call["model"], 0)
            if call["model"] == "whisper-genai":
                self.assertEqual(call["flops_of_files"], call["flops"])
                continue
            tokens = tokens or dims["patches_high"] * dims["patches_wide"] // 4
            more = dims["answers"] * (dims["prompt"] + dims["images"] * tokens - 1) * width * words
            unused = dims["answers"] * dims["images"] * layer if call["model"].startswith("llava") else 0
            self.assertEqual(call["flops_of_files"] - call["flops"], 2 * (more - unused), call)

    def test_real_sizes(self):
        """SDXL, Stable Diffusion 3 medium, Flux dev and Stable Diffusion 1.5 and 2.1, at the sizes that they were published with."""
        calls, params, _ = self.hold("real_calls.json", "real_models.tar.xz")
        self.assertEqual(len(calls), 6)
        denoisers = {name: of.get("unet", of.get("transformer")) for name, of in params.items()}
        # As published with the weights.
        self.assertEqual(denoisers, {"sd15": 859_520_964, "sd21": 865_910_724, "sdxl": 2_567_463_684, "sd3-medium": 2_028_328_000, "flux-dev": 11_901_408_320})


class DecoderParts(unittest.TestCase):
    """A decoder of ONNX Runtime GenAI that onnx.utils split into four files, run by run against `count` of each file and of the whole decoder."""

    FOLDER = FOLDER + "genai-parts"
    WHOLE = "models/deployed/llama_tiny_gqa.genai_int4.onnx"
    PROMPT, TOKENS, ANSWERS = 9, 4, 2
    RUNS = {"prompt": [(9, 0)], "tokens": [(1, 9), (1, 10), (1, 11)]}  # new tokens, and those in the cache

    def figures(self, file, sizes):
        totals = document("count", file, *(word for name, size in sizes.items() for word in ("--dim", f"{name}={size}")))["totals"]
        return [number(totals[key]) for key in ("flops", "macs", "other_flops")]

    def sizes(self, name, tokens, past):
        batch = {"batch_size": self.ANSWERS}
        cache = {"past_sequence_length": past, "kv_cache_dim": 64}
        rows = batch | {"sequence_length": tokens}
        return {"layer_0": rows | cache | {"total_sequence_length": past + tokens},
                "layer_1": rows | cache | {"'present-length'(/model/layers.1/attn/GroupQueryAttention)": past + tokens}}.get(name, rows)

    def test_each_file_alone_and_the_whole(self):
        report = document("pipeline", self.FOLDER, "--dim", f"prompt={self.PROMPT},tokens={self.TOKENS},answers={self.ANSWERS}")
        parts = ["embeddings", "layer_0", "layer_1", "lm_head"]
        self.assertEqual([s["name"] for s in report["stages"]], [f"{part} of the {of}" for of in self.RUNS for part in parts])
        whole = [0, 0, 0]
        for stage in report["stages"]:
            part, of = stage["name"].split(" of the ")
            alone = [sum(column) for column in zip(*(self.figures(f"{self.FOLDER}/{part}.onnx", self.sizes(part, *run)) for run in self.RUNS[of]))]
            self.assertEqual([number(stage["totals"][key]) for key in ("flops", "macs", "other_flops")], alone, stage["name"])
        for tokens, past in self.RUNS["prompt"] + self.RUNS["tokens"]:
            sizes = self.sizes("layer_0", tokens, past)
            whole = [a + b for a, b in zip(whole, self.figures(self.WHOLE, sizes))]
        self.assertEqual([number(report["totals"][key]) for key in ("flops", "macs", "other_flops")], whole)
        self.assertEqual(number(report["totals"]["params"]), number(document("count", self.WHOLE)["totals"]["params"]))

    def test_a_window(self):
        """Three windows of 64 tokens, after a cache of 2048 - 64; the head reads the last one. A token has a cache of 2047."""
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copytree(self.FOLDER, os.path.join(folder, "parts"))
            path = os.path.join(copy, "genai_config.json")
            with open(path, encoding="utf-8") as file:
                config = json.load(file)
            config["model"]["decoder"]["sliding_window"] = {"window_size": 64}
            with open(path, "w", encoding="utf-8") as file:
                json.dump(config, file)
            # This export has other axes of the cache; without layers the head reads the embeddings.
            refused = run("pipeline", copy)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("layer_0.onnx: axis 0 of 'past_key_values.0.key' is 'batch_size', which would be 1 and 2", refused.stderr)
            (parts,) = config["model"]["decoder"]["pipeline"]
            parts = {name: parts[name] for name in ("embeddings", "lm_head")}
            config["model"]["decoder"]["pipeline"] = [parts]
            parts["embeddings"]["output_names_forwarder"] = {parts["embeddings"]["outputs"][0]: parts["lm_head"]["inputs"][0]}
            with open(path, "w", encoding="utf-8") as file:
                json.dump(config, file)
            stages = document("pipeline", copy, "--dim", "prompt=129,tokens=4,answers=2")["stages"]
            self.assertEqual([(s["name"], int(number(s["runs"]))) for s in stages],
                             [("embeddings of the prompt", 6), ("lm_head of the prompt", 2), ("embeddings of the tokens", 6), ("lm_head of the tokens", 6)])
            macs = [64 * 512 * 32000 * 2, 512 * 32000 * 6]
            self.assertEqual([number(s["totals"]["macs"]) for s in stages[1::2]], macs)


class CheckAtARevision(unittest.TestCase):
    """`check --git` against `pipeline` of the files that were committed."""

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.repository, self.temporary = (os.path.join(self.root, name) for name in ("repository", "tmp"))
        os.mkdir(self.temporary)
        shutil.copytree(DIFFUSION, os.path.join(self.repository, "exports", "sd"))
        for folder in ("config/gpt2", "pipes"):
            os.makedirs(os.path.join(self.repository, folder))
        shutil.copy("tests/data/config/gpt2/config.json", os.path.join(self.repository, "config/gpt2"))
        shutil.copy(GPT2, os.path.join(self.repository, "pipes"))
        self.git("init", "-q")
        self.whole = os.path.join(self.root, "committed")
        self.commit()

    def git(self, *words, folder="", data=b""):
        words = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words]
        return subprocess.run(words, cwd=os.path.join(self.repository, folder), check=True, capture_output=True, input=data).stdout.decode().strip()

    def commit(self):
        """All that is there, which `hold` then takes for the base."""
        self.git("add", "-A")
        self.git("commit", "-qm", "all")
        shutil.rmtree(self.whole, ignore_errors=True)
        shutil.copytree(self.repository, self.whole, symlinks=True)

    def check(self, path, *options, folder=""):
        words = [PROGRAM, "check", path, "--git", "HEAD", *(options or ("--max", "flops=+2%")), "--format", "json"]
        result = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, cwd=os.path.join(self.repository, folder),
                                env={**os.environ, "TMPDIR": self.temporary})
        self.assertEqual(os.listdir(self.temporary), [])
        return result

    def run_in(self, *words, **variables):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=120, check=False, cwd=self.repository, env={**os.environ, **variables})

    def link(self, target, path):
        path = os.path.join(self.repository, path)
        if os.path.lexists(path):
            os.remove(path)
        os.symlink(target, path)

    def hold(self, path, folder=""):
        """The growth of a pipeline since it was committed."""
        base, head = (number(document("pipeline", os.path.join(root, folder, path))["totals"]["flops"]) for root in (self.whole, self.repository))
        result = self.check(path, folder=folder)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        (rule,) = json.loads(result.stdout)["rules"]
        self.assertEqual((int(rule["base_value"]), int(rule["actual_value"])), (base, head))
        self.assertEqual(rule["passed"], head <= base * Fraction("1.02"))
        return head / base

    def write(self, path, old, new):
        path = os.path.join(self.repository, path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))

    def test_a_file_of_stages(self):
        self.assertEqual(self.hold("pipes/gpt2.toml"), 1)
        self.write("pipes/gpt2.toml", "prompt = 512", "prompt = 600")
        self.assertGreater(self.hold("pipes/gpt2.toml"), 1)
        self.assertGreater(self.hold("gpt2.toml", folder="pipes"), 1)
        self.assertGreater(self.hold("../pipes/gpt2.toml", folder="config"), 1)

    def test_a_model_that_it_names(self):
        """The file of stages is the same, and its model was smaller."""
        self.write("config/gpt2/config.json", '"n_layer": 12', '"n_layer": 13')
        self.assertGreater(self.hold("pipes/gpt2.toml"), 1)

    def test_a_folder(self):
        self.assertEqual(self.hold("exports/sd/"), 1)
        self.assertEqual(self.hold("sd", folder="exports"), 1)
        self.write("exports/sd/model_index.json", "DDIMScheduler", "HeunDiscreteScheduler")
        self.assertGreater(self.hold("exports/sd"), Fraction(3, 2))

    def test_a_folder_with_a_file_of_stages(self):
        made = subprocess.run([PROGRAM, "pipeline", "exports/sd", "--init", "-o", "exports/sd/pipeline.toml"], cwd=self.repository, check=True)
        self.assertEqual(made.returncode, 0)
        self.commit()
        self.write("exports/sd/pipeline.toml", "steps = 50", "steps = 60")
        self.assertGreater(self.hold("exports/sd"), 1)

    def test_a_linked_folder(self):
        """One that was committed, a new one, and a pipeline that a link names."""
        self.link("exports", "linked")
        self.link("../exports/sd", "pipes/sd")
        self.link("../pipes/gpt2.toml", "config/linked.toml")
        self.commit()
        self.link("exports", "new")
        self.write("exports/sd/model_index.json", "DDIMScheduler", "HeunDiscreteScheduler")
        for path in ("linked/sd", "new/sd", "pipes/sd"):
            result = self.check(path, "--base-missing", "ok", "--max", "flops=+2%")
            self.assertEqual((path, result.returncode, result.stderr), (path, 1, ""))
        self.assertGreater(self.hold("linked/sd"), Fraction(3, 2))
        self.assertEqual(self.hold("config/linked.toml"), 1)

    def test_linked_models(self):
        """A model and a part of a folder are links; one that leads out of the repository has no revision."""
        os.rename(os.path.join(self.repository, "exports/sd/unet/model.onnx"), os.path.join(self.repository, "unet.onnx"))
        self.link("../../../unet.onnx", "exports/sd/unet/model.onnx")
        os.rename(os.path.join(self.repository, "exports/sd/vae_decoder"), os.path.join(self.repository, "vae"))
        self.link("../../vae", "exports/sd/vae_decoder")
        self.link("..", "exports/sd/loop")
        self.commit()
        self.assertEqual(self.hold("exports/sd"), 1)
        model = "exports/sd/unet/model.onnx"
        self.assertEqual(self.check(model).returncode, 0)
        self.assertIn("HEAD:" + model, self.run_in("diff", "--git", "HEAD", model).stdout)
        self.link("../" * 4 + "committed/unet.onnx", model)
        self.commit()
        self.assertIn(f"{model} at HEAD: the symbolic link '{model}' leads out of the repository", self.check("exports/sd").stderr)

    def test_a_submodule(self):
        """It is read at the commit that the outer repository has, whatever is checked out."""
        self.git("init", "-q", "config")
        self.git("add", "-A", folder="config")
        self.git("commit", "-qm", "one", folder="config")
        self.git("rm", "-rq", "--cached", "config")
        self.commit()
        self.write("config/gpt2/config.json", '"n_layer": 12', '"n_layer": 13')
        self.git("commit", "-qam", "two", folder="config")
        self.assertGreater(self.hold("pipes/gpt2.toml"), Fraction("1.02"))
        shutil.rmtree(os.path.join(self.repository, "config/.git"))
        self.assertIn("is in the submodule 'config', which is not checked out", self.check("pipes/gpt2.toml").stderr)

    def test_a_file_that_is_not_read(self):
        """A pointer to an object of Git LFS that is not here is an error of the model that it stands for."""
        unet = os.path.join(self.repository, "exports/sd/unet/model.onnx")
        other = os.path.join(self.repository, "exports/sd/unet_fp32/model.onnx")
        model = shutil.copy(unet, os.path.join(self.root, "model.onnx"))
        os.mkdir(os.path.dirname(other))
        for path in (other, unet):
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"version https://git-lfs.github.com/spec/v1\noid sha256:{1:064}\nsize 12\n")
            shutil.copy(model, unet if path == other else other)
            self.commit()
            shutil.copy(model, unet)
            result = self.check("exports/sd")
            self.assertEqual(result.returncode, 0 if path == other else 2, result.stderr)
        self.assertIn("exports/sd/unet/model.onnx at HEAD: a Git LFS pointer, and its object is not here", result.stderr)

    def test_links_that_are_not_read(self):
        for name, target in (("LICENSE", "/usr/share/common-licenses/Apache-2.0"), ("cache", "/data/cache"), ("loop", "loop")):
            self.link(target, f"exports/sd/{name}")
        self.commit()
        self.assertEqual(self.check("exports/sd").returncode, 0)
        self.link("/data/unet", "exports/sd/scheduler")
        self.commit()
        self.assertIn("'exports/sd/scheduler' leads out of the repository", self.check("exports/sd").stderr)

    def test_links_to_links(self):
        """2^30 ways to a folder."""
        for level in range(30):
            os.makedirs(os.path.join(self.repository, f"deep/d{level}"))
            for name in "ab":
                self.link(f"../d{level + 1}", f"deep/d{level}/{name}")
        self.link("../../deep/d0", "exports/sd/deep")
        self.commit()
        self.assertIn("more than 256 symbolic links to read at a revision", self.check("exports/sd").stderr)

    def test_many_files(self):
        """git runs a few times for a folder, however many files it has."""
        for i in range(300):
            with open(os.path.join(self.repository, f"exports/sd/{i}.json"), "w", encoding="utf-8") as file:
                file.write("{}")
        self.commit()
        counter, real = os.path.join(self.root, "git"), shutil.which("git")
        with open(counter, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho x >>{self.root}/runs\nexec {real} "$@"\n')
        os.chmod(counter, 0o755)
        result = self.run_in("check", "exports/sd", "--git", "HEAD", "--max", "flops=+0%", PATH=f"{self.root}:{os.environ['PATH']}")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(os.path.join(self.root, "runs"), encoding="utf-8") as file:
            self.assertLess(len(file.readlines()), 12)

    def test_the_temporary_folder(self):
        """It has a name of its own, is gone after a signal, and an error names the place where none can be made."""
        gone = os.path.join(self.root, "gone")
        self.assertIn(f"'{gone}': no temporary folder", self.run_in("check", "exports/sd", "--git", "HEAD", "--max", "flops=+0%", TMPDIR=gone).stderr)
        waiting, filled = os.path.join(self.root, "git"), os.path.join(self.root, "filled")
        with open(waiting, "w", encoding="utf-8") as file:
            # The PATH that git gets leads nowhere.
            file.write(f'#!/bin/sh\ncase "$*" in *--batch*) : >{filled}; exec {shutil.which("sleep")} 60;; esac\nexec {shutil.which("git")} "$@"\n')
        os.chmod(waiting, 0o755)
        environment = {**os.environ, "TMPDIR": self.temporary, "PATH": f"{self.root}:{os.environ['PATH']}"}
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_IGN:  # as under nohup
                continue
            with subprocess.Popen([PROGRAM, "diff", "--git", "HEAD", "exports/sd"], cwd=self.repository, env=environment, start_new_session=True) as process:
                while not os.path.exists(filled):
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                self.assertEqual(len(os.listdir(self.temporary)), 1)
                os.killpg(process.pid, number)
                self.assertEqual(process.wait(), -number)
            self.assertEqual(os.listdir(self.temporary), [])
            os.remove(filled)

    def test_a_forged_tree(self):
        """Names of a tree lead to no place outside the temporary folder."""
        def add(*entries):
            data = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(of) for mode, name, of in entries)
            return self.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=data)
        tree = add(("100644", "forged.json", self.git("hash-object", "-w", "--stdin", data=b"{}")))
        for _ in range(3):
            tree = add(("40000", "..", tree))
        commit = self.git("commit-tree", "-m", "forged", add(("40000", "exports", add(("40000", "sd", tree)))))
        result = self.run_in("check", "exports/sd", "--git", commit, "--max", "flops=+0%", TMPDIR=self.temporary)
        self.assertIn("forged.json at " + commit + ": it has no place of its own", result.stderr)
        self.assertEqual((os.listdir(self.temporary), os.path.exists(os.path.join(self.root, "forged.json"))), ([], False))

    def test_what_the_revision_does_not_have(self):
        shutil.copytree(os.path.join(self.repository, "exports/sd"), os.path.join(self.repository, "exports/new"))
        shutil.copy(os.path.join(self.repository, "pipes/gpt2.toml"), os.path.join(self.repository, "pipes/new.toml"))
        for path in ("exports/new", "pipes/new.toml"):
            result = self.check(path)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(f"{path}: it is not in revision HEAD; --base-missing ok", result.stderr)
            result = self.check(path, "--base-missing", "ok", "--max", "flops=+2%")
            self.assertEqual(json.loads(result.stdout)["rules"][0]["verdict"], "skipped", result.stderr)
        self.assertEqual(self.check("pipes/nowhere.toml").stderr, "onnxflops: pipes/nowhere.toml: no such file\n")

    def test_diff(self):
        """`diff --git` is `diff` of the committed pipeline and the one that is there."""
        self.write("pipes/gpt2.toml", "prompt = 512", "prompt = 600")
        self.write("exports/sd/model_index.json", "DDIMScheduler", "HeunDiscreteScheduler")
        for path in ("pipes/gpt2.toml", "exports/sd"):
            of_git, of_files = (json.loads(self.run_in("diff", *words, path, "--format", "json").stdout)
                                for words in (("--git", "HEAD"), (os.path.join(self.whole, path),)))
            self.assertEqual(of_git["base"].pop("file"), "HEAD:" + path)
            of_files["base"].pop("file")
            self.assertEqual(of_git, of_files)
            self.assertFalse(of_git["empty"])
        self.assertIn("give only HEAD", self.run_in("diff", "--git", "HEAD", "pipes/gpt2.toml", "exports/sd").stderr)

    def test_faults_at_the_revision(self):
        self.write("pipes/gpt2.toml", 'past = "prompt + t"', 'past = "prompts + t"')
        self.git("commit", "-qam", "two")
        self.write("pipes/gpt2.toml", 'past = "prompts + t"', 'past = "prompt + t"')
        result = self.check("pipes/gpt2.toml", "--base-missing", "ok", "--max", "flops=+2%")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^onnxflops: HEAD:pipes/gpt2\.toml:\d+:\d+: past 'prompts \+ t': column 1: no parameter is named")
        self.git("rm", "-q", "--cached", "config/gpt2/config.json")
        self.git("commit", "-qam", "three")
        result = self.check("pipes/gpt2.toml", "--base-missing", "ok", "--max", "flops=+2%")
        self.assertEqual(result.returncode, 2)
        self.assertIn("config/gpt2/config.json: it is not in revision HEAD\n", result.stderr)
        for revision, words in {"nothing": "git finds no such revision", "^HEAD": "it leaves out a revision"}.items():
            result = self.run_in("check", "pipes/gpt2.toml", "--git", revision, "--max", "flops=+2%")
            self.assertEqual(result.returncode, 2)
            self.assertIn(words, result.stderr)


class Published(unittest.TestCase):
    """Published figures of parts of pipelines: tests/data/published/pipelines.csv."""

    def rows(self, name):
        with open("tests/data/published/pipelines.csv", encoding="utf-8") as file:
            return [row for row in csv.DictReader(file) if name in row["model"]]

    def test_sizes_of_dit(self):
        """MACs by hand: blocks of width w with 256 tokens, six modulations, and embeddings of the time, of which diffusers has one in each block and one at the end."""
        sizes = {"S": (384, 12), "B": (768, 12), "L": (1024, 24), "XL": (1152, 28)}
        rows = self.rows("DiT-")
        self.assertEqual(len(rows), 4)
        for row in rows:
            w, depth = sizes[row["model"][len("DiT-"):-len("/2")]]
            tokens, time = 256, 256 * w + w * w
            blocks = depth * (12 * w * w * tokens + 2 * tokens * tokens * w + 6 * w * w)
            ends = tokens * 16 * w + 2 * w * w + tokens * w * 32  # patches, the last modulation, pixels
            self.assertEqual(int(row["ours"]), blocks + ends + (depth + 1) * time, row["model"])
            norms = (2 * depth + 1) * tokens * w
            self.assertEqual(int(row["theirs"]), blocks + ends + time + norms, row["model"])
            self.assertEqual((f"{int(row['theirs']) / 1e9:.2f} G", row["verdict"]), (row["published"], "same"), row["model"])

    def test_parts_of_stable_diffusion(self):
        """MLPerf's rows: our figures are those of the exports at real sizes, theirs what TensorFlow Lite's converter estimates."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["tar", "-C", folder, "-xJf", "tests/data/real_models.tar.xz", "sd15"], check=True)
            report = document("pipeline", f"{folder}/sd15", "--dim", "steps=1,guidance=1")
        stages = {stage["name"]: {key: number(stage["totals"][key]) for key in ("macs", "params")} for stage in report["stages"]}
        with open("tests/data/published/tflite_parts.json", encoding="utf-8") as file:
            converted = json.load(file)["parts"]
        parts = {"text_encoder": "text_encoder", "sd_diffusion_1 and _2": "unet", "vae_decoder": "vae_decoder"}
        rows = self.rows("MLPerf")
        self.assertEqual(len(rows), 6)
        self.assertEqual([name for name, part in converted.items() if not part["estimate"]], ["vae_decoder"])
        for row in rows:
            name = row["model"].split(" 1.5 ")[1]
            stage, of_stage = stages[parts[name]], [converted[part] for part in converted if part.startswith(name.split(" ")[0].rstrip("1"))]
            self.assertEqual((int(row["ours"]), int(row["params"]), row["verdict"]), (stage[row["quantity"]], stage["params"], "same"), row["model"])
            if row["quantity"] == "params":
                self.assertEqual(row["published"], " + ".join(str(part["params"]) for part in of_stage), row["model"])
                self.assertEqual(sum(part["params"] for part in of_stage), stage["params"])
                continue
            ops = list(map(self.tflite_ops, of_stage))
            self.assertEqual(row["published"], " + ".join(f"{each / 2e9:.3f} G" for each in ops), row["model"])
            self.assertEqual(int(row["theirs"]), sum(ops) // 2, row["model"])
            # Its products are ours; those of fc1 are twice in the graph, once for each operand of x * sigmoid(1.702 x).
            twice = 12 * 77 * 768 * 3072 if name == "text_encoder" else 0
            self.assertEqual(sum(of["macs"] for part in of_stage for of in part["operators"].values()), stage["macs"] + twice, row["model"])

    def tflite_ops(self, part):
        """The converter's estimate to the unit: 2 for a product, 1 for a bias, Add, Sub and Mul, 64 for a function of math; half of it is its "MACs"."""
        costs = {"ADD": 1, "MUL": 1, "SUB": 1, "LOGISTIC": 64, "SOFTMAX": 64, "TANH": 64}
        ops = sum(2 * of["macs"] + of["biases"] + costs.get(name, 0) * of["elements"] for name, of in part["operators"].items())
        if part["estimate"]:  # the converter prints none for the decoder
            self.assertEqual({"ops": f"{ops / 1e9:.3f} G", "macs": f"{ops / 2e9:.3f} G"}, part["estimate"])
        return ops

    def test_parts_of_bk_sdm(self):
        """What thop itself gives for the parts of Stable Diffusion 1.4 and BK-SDM, and what `compare` does for their exports; its authors publish the first."""
        counted = {}
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["tar", "-C", folder, "-xJf", "tests/data/bk_sdm.tar.xz"], check=True)
            with open(f"{folder}/figures.json", encoding="utf-8") as file:
                figures = json.load(file)["parts"]
            for name, figure in figures.items():
                params = number(document("count", f"{folder}/{name}.onnx")["totals"]["params"])
                (thop,) = document("compare", f"{folder}/{name}.onnx", "--with", "thop")["conventions"]
                self.assertEqual((params, number(thop["headline"])), (figure["params"], figure["thop"]), name)
                counted[name] = {"thop": figure["thop"], "macs": number(thop["start"]), "params": params}
        self.assertEqual(len(counted), 6)
        ends = ["text_encoder", "vae_decoder"]
        parts = {
            "text encoder": ends[:1], "image decoder": ends[1:], "U-Net of SDM-v1.4": ["unet_sd14"], "U-Net of BK-SDM-Base": ["unet_base"],
            "all parts of SDM-v1.4": [*ends, "unet_sd14"], "all parts of BK-SDM-Base": [*ends, "unet_base"],
        }
        rows = self.rows("BK-SDM ")
        self.assertEqual(len(rows), len(parts))
        for row in rows:
            sums = {key: sum(counted[name][key] for name in parts[row["model"][len("BK-SDM "):]]) for key in ("thop", "macs", "params")}
            self.assertEqual((int(row["published"]), int(row["ours"]), int(row["params"])), tuple(sums.values()), row["model"])
            self.assertEqual((row["theirs"], row["verdict"]), (row["published"], "same"), row["model"])


if __name__ == "__main__":
    unittest.main()
