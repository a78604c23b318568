#!/usr/bin/env python3
"""Prose in Markdown keeps to 100 columns. Tables, output in fences and links that cannot be broken may be wider."""

import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

WIDTH = 100


def is_prose(line):
    text = line.strip()
    if text.startswith("|") or re.match(r"^\[[^]]+\]: \S+$", text):
        return False
    return " " in text[:WIDTH]  # a word that is longer than the line


files = [os.path.join(folder, file) for top in (".", "docs", "models", "ops", "src", "tests", "tools") for folder, _, names in os.walk(top)
         for file in names if file.endswith(".md") and (top != "." or folder == ".")]
faults = []
for name in sorted(files):
    fenced = False
    with open(name, encoding="utf-8") as file:
        for number, line in enumerate(file.read().split("\n"), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif not fenced and not line.startswith("    ") and len(line) > WIDTH and is_prose(line):
                faults.append(f"{name}:{number}: {len(line)} columns of prose, not {WIDTH}")
print("\n".join(faults))
sys.exit(bool(faults))
