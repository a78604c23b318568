#!/usr/bin/env python3
"""Pipelines where other commands have rows of models: the comment of `check --review`, the lines of `check --record`, rows and the page of `compare`.
pipeline_review_test.py PROGRAM, run at the root of the repository.

Figures are held to the documents of `pipeline`, `diff` and `compare` of each file alone, which pipelines_test.py holds to sums by hand.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
FOLDER = "tests/data/pipeline/"


def number(quantity):
    return int(quantity["value"] if isinstance(quantity, dict) else quantity)


class Repository(unittest.TestCase):
    """A repository with a model and a pipeline of a configuration."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("config/gpt2", "pipes"):
            os.makedirs(os.path.join(self.folder, name))
        shutil.copy("tests/data/config/gpt2/config.json", os.path.join(self.folder, "config/gpt2"))
        shutil.copy(FOLDER + "gpt2.toml", os.path.join(self.folder, "pipes", "pipeline.toml"))
        shutil.copy("models/resnet50.onnx", os.path.join(self.folder, "net.onnx"))
        self.git("init", "-q")
        self.commit()

    def git(self, *words):
        words = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words]
        return subprocess.run(words, cwd=self.folder, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "all")

    def run_in(self, *words, code=0):
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def document(self, *words):
        return json.loads(self.run_in(*words, "--format", "json").stdout)

    def write(self, path, text):
        with open(os.path.join(self.folder, path), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, path):
        with open(os.path.join(self.folder, path), encoding="utf-8") as file:
            return file.read()

    def change(self, path, old, new):
        text = self.read(path)
        self.assertIn(old, text)
        self.write(path, text.replace(old, new))

    def review(self, *words, code=0):
        done = self.run_in("check", *words, "--git", "HEAD", "--base-missing", "ok", "--review", "review.md", code=code)
        return self.read("review.md"), done.stderr

    def row(self, comment, name):
        """The cells of a model in the table of a comment."""
        (row,) = [line for line in comment.splitlines() if line.startswith("| ") and name in line.split("|")[1]]
        return [cell.strip().replace("&nbsp;", " ").strip("*") for cell in row.split("|")[1:-1]]


class Review(Repository):
    def test_nothing_changed(self):
        comment, _ = self.review("pipes/pipeline.toml", "net.onnx", "--no-budgets")
        self.assertIn("no model changed its cost", comment)

    def test_another_number_of_tokens(self):
        self.change("pipes/pipeline.toml", "tokens = 128", "tokens = 256")
        self.write("onnxflops.toml", '[budget]\nflops = "180 GFLOP"\nparams = "+1%"\n')
        comment, _ = self.review("pipes/pipeline.toml", code=1)
        self.assertIn("1 of 2 budgets failed", comment)
        diff = self.document("diff", "--git", "HEAD", "pipes/pipeline.toml")["totals"]
        base, head = number(diff["flops"]["base"]), number(diff["flops"]["head"])
        name, verdict, change, flops, params, memory = self.row(comment, "pipeline.toml")
        self.assertEqual((name, verdict), ("`pipes/pipeline.toml`", "failed: FLOPs"))
        self.assertEqual(flops.split(";")[0], f"{base / 1e9:.1f} G → {head / 1e9:.1f} G")
        self.assertIn(f"{100 * (head - base) / base:+.1f}"[:4], change)
        self.assertEqual(params, "124.4 M")
        self.assertRegex(memory, r"^memory [0-9.]+ MB$")
        self.assertIn("- `tokens: 128 -> 256`\n", comment)
        self.assertIn("Figures at `answers = 1`, `prompt = 512`.\n", comment)
        self.assertRegex(comment, r"runs` \| 127 \| 255 \| \+128 \|")

    def test_a_model_that_it_names(self):
        """The file of stages is the same; its model has a layer more."""
        self.change("config/gpt2/config.json", '"n_layer": 12', '"n_layer": 13')
        comment, _ = self.review("pipes/pipeline.toml", "net.onnx", "--no-budgets", "--device", "h100-sxm", "--dtype", "bf16")
        self.assertIn("**onnxflops: 1 model changed**", comment)
        self.assertIn("time bound on h100-sxm, bf16: ", comment)
        self.assertIn("1 model did not change", comment)

    def test_new_gone_and_renamed(self):
        self.write("pipes/second.toml", self.read("pipes/pipeline.toml"))
        comment, _ = self.review("pipes/second.toml", "--no-budgets")
        self.assertIn("1 new model", comment)
        os.rename(os.path.join(self.folder, "pipes/pipeline.toml"), os.path.join(self.folder, "pipes/first.toml"))
        comment, _ = self.review("pipes/first.toml", "--no-budgets", "--renamed", "pipes/pipeline.toml=pipes/first.toml")
        self.assertIn("1 model renamed", comment)
        comment, _ = self.review("net.onnx", "--no-budgets", "--removed", "pipes/pipeline.toml")
        figures = self.document("pipeline", "pipes/first.toml")["totals"]
        cells = self.row(comment, "pipeline.toml")
        self.assertEqual(cells[1:3], ["gone", f"{number(figures['flops']) / 1e9:.1f} G"])

    def test_budgets_of_the_old_name(self):
        self.write("onnxflops.toml", '[models."pipes/pipeline.toml".budget]\nflops = "1 GFLOP"\n')
        self.git("mv", "pipes/pipeline.toml", "pipes/first.toml")
        comment, _ = self.review("pipes/first.toml", "--renamed", "pipes/pipeline.toml=pipes/first.toml", code=1)
        self.assertIn("1 of 1 budget failed", comment)
        self.assertIn("budgets lost by renaming 1 model", comment)

    def test_a_renamed_and_changed_pipeline(self):
        """A removed pipeline and a new one with its stages are one, so its limits stay."""
        self.write("onnxflops.toml", '[budget]\nflops = "+2%"\n')
        text = self.read("pipes/pipeline.toml").replace("tokens = 128", "tokens = 256").replace("title", "# of another form\ntitle")
        self.git("rm", "-q", "pipes/pipeline.toml")
        os.makedirs(os.path.join(self.folder, "pipes"), exist_ok=True)
        self.write("pipes/answer.toml", text)
        comment, _ = self.review("pipes/answer.toml", "net.onnx", "--removed", "pipes/pipeline.toml", code=1)
        self.assertIn("1 model renamed and changed", comment)
        self.assertIn("1 of 2 budgets failed", comment)

    def test_renamed_stages(self):
        """Stages with the same parameters are the same, whatever they are called; an equal pipeline is matched first."""
        self.write("onnxflops.toml", '[budget]\nflops = "+2%"\n')
        equal = self.read("pipes/pipeline.toml")
        changed = equal.replace("../config", "config").replace("tokens = 128", "tokens = 256").replace('name = "prompt"', 'name = "p"').replace('name = "tokens"', 'name = "t"')
        self.git("rm", "-q", "pipes/pipeline.toml")
        self.write("new.toml", changed)
        comment, _ = self.review("new.toml", "--removed", "pipes/pipeline.toml", code=1)
        self.assertIn("1 model renamed and changed", comment)
        self.write("equal.toml", equal.replace("../config", "config"))
        for order in (["new.toml", "equal.toml"], ["equal.toml", "new.toml"]):
            comment, _ = self.review(*order, "--removed", "pipes/pipeline.toml")
            self.assertIn("1 model renamed;", comment.replace("1 new model; 1 model renamed", "1 model renamed; 1 new model"))

    def test_a_configuration_that_is_a_folder(self):
        self.change("pipes/pipeline.toml", "../config/gpt2/config.json", "../config/gpt2")
        self.commit()
        self.change("config/gpt2/config.json", '"n_layer": 12', '"n_layer": 13')
        comment, _ = self.review("pipes/pipeline.toml", "--no-budgets")
        self.assertIn("1 model changed", comment)

    def test_a_folder_that_becomes_a_pipeline(self):
        self.git("rm", "-q", "pipes/pipeline.toml")
        os.makedirs(os.path.join(self.folder, "pipes"), exist_ok=True)
        shutil.copy("models/lstm.onnx", os.path.join(self.folder, "pipes"))
        self.commit()
        self.write("pipes/pipeline.toml", '[[stage]]\nmodel = "lstm.onnx"\n')
        comment, _ = self.review("pipes", "--no-budgets")
        self.assertIn("1 new model", comment)

    def test_an_open_parameter(self):
        self.change("pipes/pipeline.toml", "tokens = 128", 'tokens = "?"')
        comment, _ = self.review("pipes/pipeline.toml", "--no-budgets")
        self.assertIn("- `tokens: 128 -> open (figures at 1)`", comment)

    def test_a_probability(self):
        self.change("pipes/pipeline.toml", 'for = "t < tokens - 1"', 'for = "t < tokens - 1"\nprobability = "1/4"')
        comment, _ = self.review("pipes/pipeline.toml", "--no-budgets")
        self.assertIn("| &emsp;`probability` | 1 | 0.25 |", comment)

    def test_a_fork_may_post_it(self):
        """What plain_comment.py lets pass, with every part that a comment on pipelines has."""
        self.write("onnxflops.toml", '[budget]\nflops = "+2%"\nmemory_bytes = "+50%"\n[models."typo.toml".budget]\nflops = "1 GFLOP"\n')
        self.change("pipes/pipeline.toml", 'for = "t < tokens - 1"', 'for = "t < tokens - 1"\nprobability = "1/4"')
        self.change("pipes/pipeline.toml", "prompt = 512", "prompt = 600")
        self.review("pipes/pipeline.toml", code=0)
        self.change("config/gpt2/config.json", '"n_layer": 12', '"n_layer": 15')
        self.review("pipes/pipeline.toml", "--device", "h100-sxm", "--dtype", "bf16", code=1)
        for arguments in (["review.md"],):
            done = subprocess.run([sys.executable, "-B", "tools/ci/plain_comment.py", os.path.join(self.folder, *arguments)], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), self.read("review.md"))

    def test_an_error_is_a_row(self):
        self.change("pipes/pipeline.toml", "tokens = 128", "tokens = 0")
        comment, message = self.review("pipes/pipeline.toml", "net.onnx", "--no-budgets", code=2)
        self.assertIn("error in 1 of 2 models", comment)
        self.assertIn("pipes/pipeline.toml", message)

    def test_files_outside_of_the_repository(self):
        """A change from a stranger may not have other files of the machine read."""
        with tempfile.NamedTemporaryFile(suffix=".json") as outside:
            outside.write(b'{"model_type": "secret"}')
            outside.flush()
            os.symlink(outside.name, os.path.join(self.folder, "config", "link.json"))
            os.mkdir(os.path.join(self.folder, "config", "linked"))
            os.symlink(outside.name, os.path.join(self.folder, "config", "linked", "config.json"))
            os.symlink(os.path.dirname(outside.name), os.path.join(self.folder, "config", "far"))
            for model in (outside.name, os.path.relpath(outside.name, os.path.join(self.folder, "pipes")), "../config/link.json", "../config/linked",
                          "../config/linked/", "../config/far", "../config/far/" + os.path.basename(outside.name)):
                self.write("pipes/new.toml", f'[[stage]]\nmodel = "{model}"\n')
                comment, message = self.review("pipes/new.toml", "--no-budgets", code=2)
                self.assertIn("it is not in the repository", comment, model)
                self.assertNotIn("secret", comment + message)
            with tempfile.NamedTemporaryFile(suffix=".toml") as stages:
                stages.write(b"secret = 1")
                stages.flush()
                os.mkdir(os.path.join(self.folder, "sd"))
                os.symlink(stages.name, os.path.join(self.folder, "sd", "pipeline.toml"))
                os.symlink(os.path.dirname(stages.name), os.path.join(self.folder, "far"))
                for path in ("sd", "sd/pipeline.toml", "far/" + os.path.basename(stages.name)):
                    comment, message = self.review(path, "--no-budgets", code=2)
                    self.assertIn("it is not in the repository", comment, path)
                    self.assertNotIn("secret", comment + message)

    def test_the_action(self):
        """As tools/ci/review.sh calls it, with a pattern for files of stages."""
        self.write("onnxflops.toml", '[budget]\nflops = "+1%"\n')
        self.commit()
        self.git("branch", "base")
        self.change("pipes/pipeline.toml", "tokens = 128", "tokens = 256")
        self.commit()
        script = os.path.abspath("tools/ci/review.sh")
        done = subprocess.run([script], cwd=self.folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "ONNXFLOPS": PROGRAM, "BASE": "base", "MODELS": "*.onnx\n*pipeline.toml"})
        self.assertEqual(done.returncode, 1, done.stderr)
        comment = self.read("onnxflops-review/comment.md")
        self.assertIn("1 of 2 budgets failed in 1 of 2 models", comment)
        self.assertIn("`tokens: 128 -> 256`", comment)

    def test_budgets_are_no_pipelines(self):
        """For the scripts, whatever the budgets are called and however the call spells it."""
        os.makedirs(os.path.join(self.folder, "bud"))
        self.write("bud/my.toml", '[budget]\nflops = "1 TFLOP"\n')
        self.write("onnxflops.toml", '[budget]\nflops = "1 TFLOP"\n')
        self.commit()
        self.git("branch", "base")
        origin = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, origin)
        self.git("init", "-q", "--bare", origin)
        self.git("remote", "add", "origin", origin)
        self.git("rm", "-q", "onnxflops.toml")
        self.commit()
        for script, budgets in (("review.sh", "bud/my.toml"), ("review.sh", "./bud//my.toml"), ("record.sh", "bud/my.toml"), ("record.sh", "")):
            done = subprocess.run([os.path.abspath("tools/ci/" + script)], cwd=self.folder, capture_output=True, text=True, check=False,
                                  env={**os.environ, "ONNXFLOPS": PROGRAM, "BASE": "base", "MODELS": "*.onnx\npipes/*.toml\n*my.toml" if budgets else "*.onnx\npipes/*.toml", "BUDGETS": budgets})
            self.assertEqual(done.returncode, 0, (script, budgets, done.stderr))
        history = self.git("show", "origin/onnxflops-history:history.jsonl") if self.git("fetch", "-q", "origin") == "" else ""
        self.assertEqual([json.loads(line).get("limits") for line in history.splitlines()][:2], 2 * [{"flops": 10**12}])


class Record(Repository):
    def records(self):
        return [json.loads(line) for line in self.read("h.jsonl").splitlines()]

    def test_a_line_has_the_figures_of_the_pipeline(self):
        for words in ((), ("--dim", "tokens=300"), ("--device", "h100-sxm", "--dtype", "bf16")):
            self.run_in("check", "pipes/pipeline.toml", "--record", "h.jsonl", "--no-budgets", *words)
            record, report = self.records()[-1], self.document("pipeline", "pipes/pipeline.toml", *words)
            totals = {key: number(value) for key, value in report["totals"].items() if key != "lower_bound"}
            totals["memory_bytes"] = number(report["memory_bytes"])
            times = record["totals"].pop("time_bound_seconds", None)
            self.assertEqual(record["totals"], totals)
            self.assertEqual(times, report.get("time", {}).get("seconds"))
            self.assertEqual(record["sizes"], {"tokens": 300} if "tokens=300" in words else {})
            self.assertEqual((record["model"], record["commit"], record["sha256"]), ("pipes/pipeline.toml", self.git("rev-parse", "HEAD"), None))

    def test_models_beside_pipelines(self):
        self.run_in("check", "pipes/pipeline.toml", "net.onnx", "--record", "h.jsonl", "--no-budgets")
        pipeline, model = self.records()
        self.assertEqual((pipeline["model"], model["model"]), ("pipes/pipeline.toml", "net.onnx"))
        self.assertEqual(model["totals"]["flops"], number(self.document("count", "net.onnx")["totals"]["flops"]))
        self.assertNotIn("memory_bytes", model["totals"])

    def test_history(self):
        """A parameter of the file is a part of the pipeline, so each change has a percentage; one of the call is a size."""
        record = ("check", "pipes/", "--record", "h.jsonl", "--max", "memory_bytes=9 GB", "--max", "flops=900 GFLOP")
        self.run_in(*record)
        self.change("config/gpt2/config.json", '"n_layer": 12', '"n_layer": 13')
        self.commit()
        self.run_in(*record)
        self.change("pipes/pipeline.toml", "tokens = 128", "tokens = 256")
        self.commit()
        self.run_in(*record)
        self.git("commit", "-q", "--allow-empty", "-m", "more")
        self.run_in(*record, "--dim", "tokens=300")
        self.assertEqual([r["limits"] for r in self.records() if r["model"] == "pipes/pipeline.toml"], 4 * [{"flops": 900 * 10**9, "memory_bytes": 9 * 10**9}])
        history = self.document("history", "h.jsonl", "--quantity", "flops", "--quantity", "memory_bytes")
        changes = [(c["quantity"], c.get("before_sizes") == c.get("after_sizes")) for c in history["changes"]]
        self.assertEqual(sorted(changes), [("flops", False), ("flops", True), ("flops", True), ("memory_bytes", False), ("memory_bytes", True)])


class Names(Repository):
    """The names that budgets have for models."""

    def test_a_folder_and_its_file_are_one_pipeline(self):
        for name in ("pipes", "pipes/pipeline.toml", "pipeline.toml", "*.toml"):
            self.write("onnxflops.toml", f'unlisted = "fail"\n[models."{name}".budget]\nflops = "1 GFLOP"\n')
            for path in ("pipes", "pipes/", "pipes/pipeline.toml", "./pipes"):
                rules = json.loads(self.run_in("check", path, "--format", "json", code=1).stdout)["rules"]
                self.assertEqual([r["name"] for r in rules], [f"models.{name}.budget.flops"], (name, path))
        self.write("onnxflops.toml", '[models."*/pipeline.toml".budget]\nflops = "1 GFLOP"\n')
        self.assertIn("no rule for 1 model", self.run_in("check", "net.onnx").stdout)

    def test_a_name_that_no_model_has(self):
        """A mistyped name, and one of a model that is gone."""
        self.write("onnxflops.toml", '[models."net.onnx".budget]\nflops = "9 TFLOP"\n[models."pips/pipeline.toml".budget]\nflops = "1 GFLOP"\n')
        text = "onnxflops.toml:4: no model of this call is 'pips/pipeline.toml', so its rules hold nothing"
        self.assertIn(text, self.run_in("check", ".").stderr)
        self.assertEqual(self.run_in("check", "net.onnx").stderr, "")
        comment, message = self.review("net.onnx", "pipes/pipeline.toml")
        self.assertIn(text, message)
        self.assertIn(f"- `{text}`\n", comment)
        self.assertIn("budgets of 1 name without a model", comment)

    def test_a_file_for_models_and_pipelines(self):
        """Axes that a model fixes are no matter of a pipeline."""
        self.write("onnxflops.toml", 'fixed = "fail"\n[budget]\nflops = "+2%"\n')
        report = self.document("check", "net.onnx", "pipes/pipeline.toml", "--git", "HEAD")
        self.assertEqual([(r["model"], r["kind"]) for r in report["rules"]],
                         [("net.onnx", "growth"), ("net.onnx", "fixed"), ("pipes/pipeline.toml", "growth")])

    def test_one_pipeline_has_one_name(self):
        """It is judged once, and a history has one series of it."""
        rules = self.document("check", "pipes", "pipes/", "./pipes/pipeline.toml", "--max", "flops=9 TFLOP")["rules"]
        self.assertEqual(len(rules), 1)
        for path in ("pipes", "pipes/", "./pipes/.", "pipes/pipeline.toml"):
            self.run_in("check", path, "--no-budgets", "--record", "h.jsonl")
        self.assertEqual({json.loads(line)["model"] for line in self.read("h.jsonl").splitlines()}, {"pipes/pipeline.toml"})

    def test_first_budgets_of_like_names(self):
        """A name is for none of the other models."""
        os.makedirs(os.path.join(self.folder, "x/a"))
        shutil.copy("models/mobilenet-v3-large.onnx", os.path.join(self.folder, "x/m.onnx"))
        shutil.copy("models/resnet50.onnx", os.path.join(self.folder, "x/a/m.onnx"))
        for paths in (["x/m.onnx", "x/a/m.onnx"], ["x"]):
            self.run_in("check", *paths, "--init", "--budgets", "b.toml")
            self.run_in("check", *paths, "--budgets", "b.toml")
            os.remove(os.path.join(self.folder, "b.toml"))

    def test_a_review_of_some_models(self):
        """Names of models that are there, and not reviewed, are no mistakes, nor are patterns."""
        self.write("onnxflops.toml", '[models."net.onnx".budget]\nflops = "9 TFLOP"\n[models."pipes/pipeline.toml".budget]\nflops = "1 TFLOP"\n')
        comment, message = self.review("net.onnx")
        self.assertEqual(message, "")
        self.assertNotIn("without a model", comment)
        os.remove(os.path.join(self.folder, "pipes/pipeline.toml"))
        comment, _ = self.review("net.onnx", "--removed", "pipes/pipeline.toml")
        self.assertIn("1 model gone", comment)
        self.assertNotIn("without a model", comment)
        self.assertIn("no model of this call is 'pipes/pipeline.toml'", self.review("net.onnx")[0])
        self.write("onnxflops.toml", '[models."*.toml".budget]\nflops = "9 TFLOP"\n')
        self.assertEqual(self.review("net.onnx")[1], "")
        self.write("onnxflops.toml", '[models."net.onnx".budget]\nflops = "9 TFLOP"\n[models."config/gpt2/".budget]\nflops = "1 MFLOP"\n')
        self.assertEqual(self.run_in("check", "pipes", code=2).stderr.count("no model of this call"), 0)

    def test_first_budgets_of_several(self):
        """They stand where all models find them."""
        self.run_in("check", "pipes/pipeline.toml", "net.onnx", "--init")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "pipes/onnxflops.toml")))
        report = self.document("check", "pipes/pipeline.toml", "net.onnx")
        self.assertNotIn("unlisted", [r["name"] for r in report["rules"]])

    def test_first_budgets_of_a_folder(self):
        """They hold for the folder, and two of one name are told apart."""
        shutil.copytree(os.path.join(self.folder, "pipes"), os.path.join(self.folder, "more"))
        self.change("more/pipeline.toml", "tokens = 128", "tokens = 500")
        for paths in (["pipes"], ["pipes", "more"], ["pipes/pipeline.toml", "more/pipeline.toml"], ["."]):
            self.run_in("check", *paths, "--init", "--budgets", "b.toml")
            report = self.document("check", *paths, "--budgets", "b.toml")
            self.assertGreater(len(report["rules"]), 3)
            self.assertNotIn("unlisted", [r["name"] for r in report["rules"]])
            os.remove(os.path.join(self.folder, "b.toml"))

    def test_outputs_replace_no_input(self):
        self.write("lengths.txt", "5,6,7\n")
        shutil.copytree(os.path.join(self.folder, "pipes"), os.path.join(self.folder, "base"))
        self.change("base/pipeline.toml", "../config/gpt2/config.json", "../config/other.json")
        shutil.copy("tests/data/config/gpt2/config.json", os.path.join(self.folder, "config/other.json"))
        budgets = ("--max", "flops=9 TFLOP")
        for words in (("compare", "net.onnx", "pipes/pipeline.toml", "--with", "macs", "-o", "config/gpt2/config.json"), ("check", "pipes/pipeline.toml", *budgets, "-o", "config/gpt2/config.json"),
                      ("check", "pipes", *budgets, "--output", "junit=config/gpt2/config.json"), ("check", "pipes", *budgets, "--decision", "pipes/pipeline.toml"),
                      ("check", "pipes", "--no-budgets", "--git", "HEAD", "--review", "config/gpt2/config.json"), ("compare", "config/gpt2", "--lengths", "lengths.txt", "-o", "lengths.txt"),
                      ("check", "net.onnx", "--against", "net.onnx", *budgets, "-o", "net.onnx"), ("check", "base/pipeline.toml", "--against", "pipes/pipeline.toml", *budgets, "-o", "config/gpt2/config.json"),
                      ("count", "config/gpt2", "--lengths", "lengths.txt", "-o", "lengths.txt"), ("mfu", "config/gpt2", "--cu-seqlens", "lengths.txt", "--step-time", "1", "--peak", "1T", "-o", "lengths.txt")):
            before = self.git("status", "--porcelain")
            self.run_in(*words, code=2)
            self.assertEqual((self.git("status", "--porcelain"), self.read("lengths.txt")), (before, "5,6,7\n"), words)

    def test_sizes_of_the_rules(self):
        self.write("onnxflops.toml", '[budget]\nflops = "1 TFLOP"\n[at]\ntokens = 4\n')
        self.change("pipes/pipeline.toml", "tokens = 128", "tokens = 256")
        comment, _ = self.review("pipes/pipeline.toml")
        self.assertIn("- `budgets are judged at tokens = 4, the change at the numbers of the file`", comment)


class Folders(Repository):
    def test_a_configuration_with_a_file_of_stages(self):
        """The folder is one pipeline, for every command."""
        shutil.copy("tests/data/config/gpt2/config.json", os.path.join(self.folder, "pipes"))
        self.assertEqual(len(self.document("check", "pipes", "--max", "flops=9 TFLOP")["rules"]), 1)
        self.assertEqual(self.document("compare", "pipes", "--with", "macs")["schema"], "onnxflops.pipeline_compare/1")

    def test_a_folder_stands_for_its_files_of_stages(self):
        report = self.document("check", ".", "--max", "flops=900 GFLOP")
        self.assertEqual(report["models"], ["./net.onnx", "./pipes/pipeline.toml"])
        figure = number(self.document("pipeline", "pipes/pipeline.toml")["totals"]["flops"])
        self.assertEqual([int(r["actual_value"]) for r in report["rules"]][1], figure)

    def test_compare(self):
        rows = self.document("compare", ".", "--with", "macs,thop")["comparisons"]
        alone = [self.document("compare", path, "--with", "macs,thop") for path in ("net.onnx", "pipes/pipeline.toml")]
        self.assertEqual([[t["headline"] and number(t["headline"]) for t in row["conventions"]] for row in rows],
                         [[t["headline"] and number(t["headline"]) for t in one["conventions"]] for one in alone])
        terms = rows[1]["conventions"][0]["terms"]
        self.assertEqual({t["module"] for t in terms}, {"prompt", "tokens"})
        done = self.run_in("compare", ".", "--with", "macs", "--by", "module", "--format", "csv", code=2)
        self.assertIn("pipes/pipeline.toml: a pipeline; --by is for models", done.stderr)
        self.assertIn("net.onnx", done.stdout)

    def test_compare_with_a_size_that_one_has(self):
        done = self.run_in("compare", "pipes/", "net.onnx", "--dim", "tokens=5", "--with", "macs", "--format", "json")
        self.assertIn("'tokens'", done.stderr)
        rows = json.loads(done.stdout)["comparisons"]
        alone = self.document("compare", "pipes/pipeline.toml", "--dim", "tokens=5", "--with", "macs")
        self.assertEqual(number(rows[0]["conventions"][0]["headline"]), number(alone["conventions"][0]["headline"]))

    def test_the_page_of_compare(self):
        self.run_in("compare", "pipes/pipeline.toml", "--with", "macs", "-o", "page.html")
        data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', self.read("page.html"), re.S)[1])
        tool, = self.document("compare", "pipes/pipeline.toml", "--with", "macs")["conventions"]
        shown, = data["compare"]["conventions"]
        self.assertEqual(number(shown["headline"]), number(tool["headline"]))
        self.assertEqual({t["module"] for t in shown["terms"]}, {"prompt", "tokens"})
        self.assertEqual(number(shown["start"]) + sum(number(t["amount"]) for t in shown["terms"]), number(shown["headline"]))
        self.assertEqual(data["compare"]["bindings"]["tokens"], 128)
        self.assertTrue(any(text.startswith("stage tokens: ") for text in data["stages"]), data["stages"])


if __name__ == "__main__":
    unittest.main()
