#!/usr/bin/env python3
"""Nothing of a model's text is left by --redact-names: redact_test.py PROGRAM, run at the root of the repository.

A name of the model is looked for, word by word, in all that the program prints of it. Words that the program itself uses (schemas, help, the
list of operators) may be there, whoever else uses them.
"""

import glob
import json
import os
import re
import subprocess
import sys
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OUR_NAMES = re.compile(r"(m|c|n|t|s|d|op)[0-9]+")
VIEWS = [
    ["--by", "module", "--depth", "9"],
    ["--by", "op", "--no-fold"],
    ["--by", "node", "--no-fold"],
    ["--convention", "thop"],
    ["--backward", "exact", "--exact"],
    ["--memory", "--optimizer", "adamw", "--upper"],
    ["--device", "h100-sxm", "--dtype", "bf16"],
]
MODELS = 16  # the smallest; the others take longer
FORMATS = ["table", "json", "jsonl", "csv", "markdown"]


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, check=False)


def words(text):
    return {word for word in WORD.findall(text) if not OUR_NAMES.fullmatch(word)}


def our_words():
    texts = [run("ops").stdout, *(run(command, "--help").stdout for command in ("count", "compare", "explain", "ops"))]
    for path in glob.glob("tools/schema/*.json") + glob.glob("src/report/*.cc") + glob.glob("src/graph/dtype.cc"):
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return words("\n".join(texts))


def strings(value):
    if isinstance(value, dict):
        return {text for item in value.items() for part in item for text in strings(part)}
    if isinstance(value, list):
        return {text for item in value for text in strings(item)}
    return {value} if isinstance(value, str) else set()


class RedactTest(unittest.TestCase):
    def test_no_name_is_left(self):
        ours = our_words()
        models = sorted(glob.glob("models/*.onnx"), key=os.path.getsize)[:MODELS]
        found = 0
        for model in models:
            report = json.loads(run(model, "--by", "node", "--format", "json").stdout)
            names = words("\n".join(strings(report))) - ours
            found += len(names)
            for view in VIEWS:
                for form in FORMATS:
                    printed = run(model, *view, "--format", form, "--redact-names")
                    if "gives no figure" in printed.stderr:
                        continue  # the tool cannot run this model; errors are not redacted
                    self.assertEqual((printed.returncode, printed.stderr), (0, ""), (model, view))
                    self.assertEqual(words(printed.stdout) & names, set(), (model, view, form))
        self.assertGreater(found, 500)

    def test_figures_and_structure_stay(self):
        for model in ("models/gpt2.onnx", "models/maskrcnn-r50.onnx", "models/custom-op.onnx"):
            plain, redacted = (json.loads(run(model, "--by", "node", "--format", "json", *more).stdout) for more in ([], ["--redact-names"]))
            numbers = lambda report: [re.findall(r"(?<![A-Za-z_0-9.])\d+(?![A-Za-z_0-9.])", str(report["totals"][key])) for key in sorted(report["totals"])]
            if not plain["symbols"]:
                self.assertEqual(plain["totals"], redacted["totals"])
            self.assertEqual(sorted(map(sorted, numbers(plain))), sorted(map(sorted, numbers(redacted))))
            self.assertEqual(plain["coverage"]["nodes"], redacted["coverage"]["nodes"])
            depth = lambda module: [depth(child) for child in module["children"]]
            self.assertEqual(depth(plain["modules"]), depth(redacted["modules"]))
            self.assertEqual(len(plain["nodes"]), len(redacted["nodes"]))


if __name__ == "__main__":
    unittest.main()
