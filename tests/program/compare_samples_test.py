#!/usr/bin/env python3
"""`compare` of a batch of samples against `compare` of each sample alone, and formulas against those of `mfu`, which has them from the parameters of the model:
compare_samples_test.py PROGRAM, run at the root of the repository.
"""

import json
import os
import random
import subprocess
import sys
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
CONFIG = "tests/data/config/gpt2/config.json"
EXPORT = "models/gpt2.onnx"
ONCE = 500_000  # of a run: a few operations of ours, and what some tools count once in it, as biases and a table of positions
ONE_LENGTH = ("palm", "megatron", "nanogpt", "chinchilla", "llm-foundry", "torchtitan", "maxtext")
DEVICE = ("--device", "h100-sxm", "--dtype", "bf16", "--step-time", "1")


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=120, check=False)


def document(*words):
    done = run(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def number(quantity):
    return None if quantity is None else int(quantity["value"])


def tools(*words):
    return {tool["name"]: tool for tool in document("compare", *words)["conventions"]}


def terms(tool):
    """By name, without the one length of all samples."""
    amounts = {}
    for term in tool["terms"]:
        amounts[term["name"]] = amounts.get(term["name"], 0) + number(term["amount"])
    return amounts.pop("one length of all samples", 0), amounts


class Samples(unittest.TestCase):
    def hold(self, model, lengths):
        """Figures and terms are those of the samples alone, and lead from one to the other. What depends on no size counts once in a run."""
        together = tools(model, "--lengths", ",".join(map(str, lengths)), "--packed")
        alone = {n: tools(model, "--dim", f"batch=1,past=0,seq={n}" if model == CONFIG else f"batch=1,seq={n}") for n in set(lengths)}
        for name, tool in together.items():
            of = [alone[n][name] for n in lengths]
            if tool["headline"] is None:
                self.assertTrue(of[0]["headline"] is None or "no one formula" in tool["assumptions"][0], name)
                continue
            longer, amounts = terms(tool)
            self.near(number(tool["start"]), sum(number(t["start"]) for t in of), name)
            self.near(number(tool["headline"]), sum(number(t["headline"]) for t in of) + longer, name)
            self.assertEqual(number(tool["start"]) + longer + sum(amounts.values()), number(tool["headline"]), name)
            if name not in ONE_LENGTH:
                self.assertEqual(longer, 0, name)
            for term in amounts:
                self.near(amounts[term], sum(terms(t)[1].get(term, 0) for t in of), (name, term))
        return together

    def near(self, once, each, what):
        self.assertLess(abs(each - once), 4 * ONCE, what)

    def test_random_lengths(self):
        draw = random.Random(1)
        for model in (CONFIG, EXPORT, CONFIG, EXPORT):
            lengths = [draw.randint(1, 300) for _ in range(draw.randint(1, 4))]
            self.assertGreaterEqual(sum(t["headline"] is not None for t in self.hold(model, lengths).values()), 12)

    def test_rows_start_from_the_count_of_the_batch(self):
        for model in (CONFIG, EXPORT):
            words = (model, "--lengths", "40,7,40")
            totals = document("count", *words)["totals"]
            for tool in tools(*words).values():
                self.assertEqual(number(tool["start"]), number(totals["macs" if tool["unit"] == "mac" else "flops"]), tool["name"])
                if tool["headline"] is not None:
                    self.assertEqual(number(tool["start"]) + sum(number(t["amount"]) for t in tool["terms"]), number(tool["headline"]), tool["name"])

    def test_formulas_are_those_of_mfu(self):
        for words in (("--lengths", "512,300,17"), ("--lengths", "64"), ("--cu-seqlens", "0,512,812,829")):
            compared = tools(CONFIG, *words)
            rows = {row["name"]: row for row in document("mfu", CONFIG, *words, *DEVICE)["formulas"]}
            for name in (*ONE_LENGTH, "megatron-bridge", "config-6n", "config-2.5n"):
                of_mfu = rows[name.removeprefix("config-")]["flops_per_step"]
                self.assertEqual(number(compared[name]["headline"]), int(of_mfu), (name, words))

    def test_a_length_that_a_program_is_configured_to(self):
        """Only formulas with such a setting take it: papers have one of a sequence, and Megatron-Bridge the squares of the samples."""
        words = ("mfu", CONFIG, "--lengths", "512,300,17", *DEVICE)
        own, given = ({row["name"]: row["flops_per_step"] for row in document(*words, *more)["formulas"]} for more in ((), ("--parameter", "t=1024")))
        self.assertEqual(own.keys(), given.keys())
        changed = {name for name in own if own[name] != given[name]}
        self.assertEqual(changed, {"nanogpt", "llm-foundry", "torchtitan", "maxtext"})
        self.assertEqual(int(given["torchtitan"]) - int(own["torchtitan"]), 12 * 12 * 12 * 64 * (1024 - 512) * 829)

    def test_the_length_that_a_formula_takes(self):
        """By hand: 12 L H Q (512 - own length) for each token, of 12 layers and 12 heads of 64."""
        longer, _ = terms(tools(CONFIG, "--lengths", "512,300,17", "--with", "palm")["palm"])
        self.assertEqual(longer, 12 * 12 * 12 * 64 * (300 * (512 - 300) + 17 * (512 - 17)))
        packed, _ = terms(tools(CONFIG, "--lengths", "512,300,17", "--packed", "--with", "palm")["palm"])
        self.assertEqual(packed, 12 * 12 * 12 * 64 * sum(n * (829 - n) for n in (512, 300, 17)))

    def test_equal_lengths_are_a_batch(self):
        together, batch = tools(EXPORT, "--lengths", "40,40,40"), tools(EXPORT, "--dim", "batch=3,seq=40")
        for name in batch:
            if name == "onnx-opcounter":  # takes other sizes for open ones
                self.assertIn("no one formula", together[name]["assumptions"][0])
                continue
            self.assertEqual(number(together[name]["headline"]), number(batch[name]["headline"]), name)

    def test_one_row(self):
        row, alone = tools(EXPORT, "--lengths", "40,30", "--packed-as-row"), tools(EXPORT, "--dim", "batch=1,seq=70")
        for name in alone:
            self.assertEqual(number(row[name]["headline"]), number(alone[name]["headline"]), name)

    def test_from_one_tool_to_another(self):
        words = (CONFIG, "--lengths", "512,300,17")
        palm, megatron = (tools(*words)[name]["headline"] for name in ("palm", "megatron-bridge"))
        for names, ends in ((("palm", "megatron-bridge"), (palm, megatron)), (("megatron-bridge", "palm"), (megatron, palm)), (("palm", "torchtitan"), None)):
            way, = document("compare", *words, "--from", names[0], "--to", names[1])["conventions"]
            if ends:
                self.assertEqual((number(way["start"]), number(way["headline"])), tuple(map(number, ends)))
            self.assertEqual(number(way["start"]) + sum(number(t["amount"]) for t in way["terms"]), number(way["headline"]))
        self.assertNotIn("one length of all samples", [t["name"] for t in way["terms"]])

    def test_the_samples_are_shown(self):
        words = ("compare", CONFIG, "--lengths", "512,300,17", "--with", "palm")
        self.assertIn("3 samples, seq 17 to 512 (829 in all)", run(*words).stdout)
        self.assertIn("3 samples, seq 17 to 512 (829 in all)", run(*words, "--format", "html").stdout)
        self.assertEqual(document(*words)["samples"]["count"], 3)

    def test_faults(self):
        for words, message in ((("--lengths", "512,0"), "size 2"), (("--lengths", "90000"), "1024"), (("--packed",), "--lengths"), (("--lengths", "5", "--upper"), "--upper")):
            done = run("compare", EXPORT, *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(message, done.stderr)
        refused = run("compare", "tests/data/pipeline/gpt2.toml", "--lengths", "5")
        self.assertIn("a batch of --lengths is for models", refused.stderr)


if __name__ == "__main__":
    unittest.main()
