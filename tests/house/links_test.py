#!/usr/bin/env python3
"""Relative links and #anchors in the documents lead somewhere, docs/README.md lists every page of docs/, pages stay short, and rows of
tables have a header."""

import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

LINK = re.compile(r"\[[^]]*\]\(([^()\s]+)\)|^\[[^]]+\]: (\S+)$", re.M)


def prose(path):
    """The text without code, which has brackets of its own."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"(?ms)^ *```.*?^ *```", "", file.read())
    return re.sub(r"`[^`]*`", lambda code: re.sub(r"[][()#]", "", code[0]), text)


def anchors(path):
    """GitHub's anchors of the headings: lower case, spaces as hyphens, without punctuation; the second of a name ends in -1."""
    names = []
    for heading in re.findall(r"(?m)^#+ (.+)$", prose(path)):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        again = sum(old == name or re.fullmatch(re.escape(name) + r"-\d+", old) is not None for old in names)
        names.append(f"{name}-{again}" if again else name)
    return names


pages = ["README.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md", "models/CLIP.md", "models/SOURCES.md"]
pages += sorted(os.path.join(folder, name) for folder in ("docs", "docs/commands", "docs/published") for name in os.listdir(folder) if name.endswith(".md"))
faults = []
linked = set()
for page in pages:
    for found in LINK.findall(prose(page)):
        link = found[0] or found[1]
        if re.match(r"[a-z]+:", link):
            continue  # another site, which a test without a network cannot ask
        name, _, anchor = link.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
        if page == "docs/README.md":
            linked.add(path)
        if not os.path.exists(path):
            faults.append(f"{page}: {link}: no such file")
        elif anchor and (not path.endswith(".md") or anchor not in anchors(path)):
            faults.append(f"{page}: {link}: no such heading")
faults += [f"{page}: not in docs/README.md" for page in pages if os.path.dirname(page) == "docs" and page not in linked | {"docs/README.md"}]
for page in pages:
    with open(page, encoding="utf-8") as file:
        lines = len(file.readlines())
    most = {"README.md": 200}.get(page, 250)
    if page.startswith(("README", "docs/")) and lines > most:
        faults.append(f"{page} has {lines} lines, more than {most}: give what is not of its task a page of its own")
    rows = prose(page).split("\n")
    for before, row, after in zip(["", *rows], rows, [*rows[1:], ""]):
        if row.startswith("|") and not before.startswith("|") and not re.fullmatch(r"\|[ :|-]+\|", after):
            faults.append(f"{page}: a row of a table without a header above it: {row[:60]}")
print("\n".join(faults))
sys.exit(bool(faults))
