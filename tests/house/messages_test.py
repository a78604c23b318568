#!/usr/bin/env python3
"""Messages quoted in docs/troubleshooting.md are the program's: they appear in a golden file, or in tools/setup. In a quote, "..."
stands for any text, and N for a number."""

import glob
import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


printed = "\n".join(text_of(path) for path in [*sorted(glob.glob("tests/golden/*.txt")), "tools/setup"])
printed = re.sub(r"\n\|? +", " ", printed)  # lines that the program broke
quoted = [found[2] for found in re.findall(r"(?m)^\| (\S.*?)??(`+)(?!`)(.+?)(?<!`)\2(?!`).*? \|", text_of("docs/troubleshooting.md"))]
faults = []
for message in quoted:
    parts = [part.strip() for part in re.split(r"\.\.\.|\bN\b", message)]
    faults += [f"{message}: no golden file has {part!r}" for part in parts if part not in printed]
print("\n".join(faults))
sys.exit(1 if faults or len(quoted) < 40 else 0)
