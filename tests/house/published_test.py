#!/usr/bin/env python3
"""docs/published.* are those of tests/data/published/, verdicts follow from the figures, and each figure that differs has its reason."""

import csv
import os
import subprocess
import sys
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DATA = os.path.join(ROOT, "tests", "data", "published")
DIGITS = {("timm", "macs"): (9, "0.01"), ("timm", "activations"): (6, "0.01"), ("torchvision", "macs"): (9, "0.001"),
          ("pytorchcv", "macs"): (6, "0.01"), ("pycls", "macs"): (0, "1"), ("pycls", "activations"): (0, "1"), ("pycls", "params"): (0, "1"),
          ("mobilenet", "macs"): (6, "1"), ("mmpretrain", "macs"): (0, "1")}
MOST_BYTES = 1_000_000


def read(name):
    with open(os.path.join(DATA, name), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def key_of(row):
    return row["zoo"], row["model"], row["size"], row["quantity"]


reasons = {key_of(row) for row in read("reasons.csv") if row["reason"]}
faults = []
seen = set()
for zoo in dict.fromkeys(zoo for zoo, _ in DIGITS):
    asked = f"{zoo}_tools.csv"
    tools = {key_of(row): row["figure"] for row in read(asked)} if os.path.exists(os.path.join(DATA, asked)) else {}
    for row in read(f"{zoo}.csv"):
        name = " ".join(key_of(row))
        if key_of(row) in seen:
            faults.append(f"{name}: two rows")
        seen.add(key_of(row))
        exponent, step = DIGITS[zoo, row["quantity"]]
        number, _, unit = row["published"].partition(" ")
        if unit != {9: "G", 6: "M", 0: ""}[exponent]:
            faults.append(f"{name}: {unit} is another unit than the zoo's")
        if row["zoo"] == "mmpretrain" and number.endswith("000"):  # whole MACs, of which not all digits were printed
            zeros = len(number) - len(number.rstrip("0"))
            step = "1e" + str(min(zeros, max(7, len(number) - 3)))
        figure = row["theirs"] and Decimal(row["theirs"]).scaleb(-exponent)
        roundings = [ROUND_DOWN] if row["model"].startswith("mobilenet_v2_") else [ROUND_HALF_EVEN, ROUND_HALF_UP]  # the first table cuts digits off
        same = figure != "" and Decimal(number) in {figure.quantize(Decimal(step), rounding) for rounding in roundings}
        if same != (row["verdict"] == "same"):
            faults.append(f"{name}: published {row['published']}, here {row['theirs']}, and called {row['verdict']}")
        if not same and key_of(row) not in reasons:
            faults.append(f"{name}: no reason in reasons.csv why it is not reproduced")
        if key_of(row) in tools and tools[key_of(row)] != row["theirs"] and key_of(row) not in reasons:
            faults.append(f"{name}: {row['theirs']} here, {tools[key_of(row)]} by the zoo's own tool, and no reason in reasons.csv")
faults += [f"{' '.join(key)}: a reason for no row" for key in reasons - seen]
if os.path.getsize(os.path.join(ROOT, "docs", "published-table.html")) > MOST_BYTES:
    faults.append("docs/published-table.html is larger than 1 MB")
if subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "published", "page.py"), "--check"], check=False).returncode:
    faults.append("tools/published/page.py writes other pages")
print("\n".join(faults))
sys.exit(1 if faults or not seen else 0)
