#!/usr/bin/env python3
"""Relative links of the pages in a package: one to a file of the repository that the package does not have would lead nowhere.

  tools/packaging/links.py FOLDER           FOLDER has README.md and docs/, as share/doc/onnxflops of an archive: changes such links
  tools/packaging/links.py --check FOLDER   prints those that lead nowhere: exit code 1 if there is one

They then lead to the repository, if tools/ci/pin --home gave its address; until then their text stays, without a link. Schemas and files for
CI are elsewhere in an archive, and links lead there.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\(([^()\s]+)\)")
MOVED = re.compile(r"tools/(schema|ci)(?=/|$)")


def home():
    """The address of the repository; None until an owner gives it."""
    with open(os.path.join(ROOT, "tools", "packaging", "homebrew", "onnxflops.rb"), encoding="utf-8") as file:
        address = re.search(r'homepage "([^"]+)"', file.read())[1]
    return None if address.endswith(".invalid") else address


def target_of(link, page):
    """The path in the repository of a relative link; None for others."""
    if re.match(r"[a-z]+:|#", link):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(page), link.partition("#")[0]))


def living(text, page, exists, address):
    """The text of a page, whose links to files of the repository lead to what exists."""
    def follow(found):
        image, words, link = found.groups()
        target = target_of(link, page)
        if target is None or exists(target) or not os.path.exists(os.path.join(ROOT, target)):
            return found[0]
        moved = MOVED.sub(r"../../onnxflops/\1", target)
        if moved != target and exists(moved):
            return f"{image}[{words}]({os.path.relpath(moved, os.path.dirname(page) or '.')})"
        if address:
            return f"{image}[{words}]({address}/{'raw' if image else 'blob'}/HEAD/{target}{link[len(link.partition('#')[0]):]})"
        return words if image or words.strip("`/") == target else f"{words} (`{target}` in the repository)"
    return LINK.sub(follow, text)


def pages_of(folder):
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(place, name), folder)


def main():
    check, folder = sys.argv[1] == "--check", sys.argv[-1]
    exists = lambda path: os.path.exists(os.path.join(folder, path))
    pages, dead = list(pages_of(folder)), 0
    for page in pages:
        path = os.path.join(folder, page)
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        if not check:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(living(text, page, exists, home()))
            continue
        for _, _, link in LINK.findall(re.sub(r"(?ms)^ *```.*?^ *```|`[^`\n]*`", "", text)):
            target = target_of(link, page)
            if target is not None and not exists(target):
                dead += 1
                print(f"{page}: {link}: the package has no such file")
    if not pages:
        sys.exit(f"links.py: {folder} has no page")
    return bool(dead)


if __name__ == "__main__":
    sys.exit(main())
