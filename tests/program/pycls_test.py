#!/usr/bin/env python3
"""The conventions pycls and pycls-activations against pycls itself: pycls_test.py PROGRAM, run at the root of the repository."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))

# Exports that do not show what pycls counts.
HIDDEN = set()


def row(quantity, convention, path):
    arguments = [PROGRAM, "compare", path, "--quantity", quantity, "--with", convention, "--format", "json"]
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    (tool,) = json.loads(result.stdout)["conventions"]
    return tool["status"], int(tool["headline"]["value"])


class PyclsTest(unittest.TestCase):
    def test_figures_are_those_of_complexity(self):
        """To the last digit. What is called exact is right without exception."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["tar", "-C", folder, "-xJf", "tests/data/pycls.tar.xz"], check=True)
            with open(f"{folder}/figures.json", encoding="utf-8") as file:
                figures = json.load(file)["models"]
            exports = sorted(name for name in os.listdir(folder) if name.endswith(".onnx"))
            self.assertEqual({name.split(".")[0] for name in exports}, set(figures))
            differs = set()
            for name in exports:
                counted = figures[name.split(".")[0]]
                for quantity, convention, key in (("work", "pycls", "flops"), ("activations", "pycls-activations", "acts")):
                    status, figure = row(quantity, convention, f"{folder}/{name}")
                    if figure != counted[key]:
                        differs.add((name, key))
                        self.assertNotEqual(status, "exact", name)
            self.assertEqual(differs, HIDDEN)


if __name__ == "__main__":
    unittest.main()
