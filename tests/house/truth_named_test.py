#!/usr/bin/env python3
"""Every file of tests/data is in the table of its README, with its origin; the steps named there exist in tools/devel/remake_truth."""

import fnmatch
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DATA = os.path.join(ROOT, "tests", "data")

with open(os.path.join(DATA, "README.md"), encoding="utf-8") as file:
    rows = [line.split("|") for line in file if line.startswith("| `")]
named = [name.rstrip("/") for row in rows for name in re.findall(r"`([^`]+)`", row[1])]
files = sorted(set(os.listdir(DATA)) - {"README.md"})
listed = subprocess.run([os.path.join(ROOT, "tools", "devel", "remake_truth"), "--list"], capture_output=True, text=True, check=True)
steps = {line.split()[0] for line in listed.stdout.splitlines()}
told = {name for row in rows for part in re.findall(r"steps? ([^;|]*)", row[-2]) for name in re.findall(r"`(\w+)`", part)}

faults = [f"{name}: not in tests/data/README.md" for name in files if not any(fnmatch.fnmatch(name, known.split("/")[0]) for known in named)]
faults += [f"{known}: no such file" for known in named if not fnmatch.filter(files, known) and not os.path.exists(os.path.join(DATA, known))]
faults += [f"{step}: in only one of tests/data/README.md and tools/devel/remake_truth" for step in sorted(steps ^ told)]
print("\n".join(faults))
sys.exit(1 if faults or not files or not steps else 0)
