#!/usr/bin/env python3
"""The library names settings, and only a face says how they are set: no string of src/ and ops/ has an option of our program ("--dim"),
and every name that a text of the library gives to a setting is declared in a table. With an argument, checks that directory."""

import glob
import os
import re
import sys

os.chdir(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

# Comments first, so that a quote in one begins nothing; then raw strings, strings and characters.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)+\'', re.S)


def strings_of(text):
    for token in TOKEN.finditer(text):
        string = token[2] if token[2] is not None else token[3]
        if string is not None:
            yield text.count("\n", 0, token.start()) + 1, string


def files(*folders):
    for folder in folders:
        for path in sorted(glob.glob(f"{folder}/**/*.*", recursive=True)):
            if path.endswith((".cc", ".h")):
                with open(path, encoding="utf-8") as file:
                    yield path, file.read()


# Tables of src/settings/ and tools/ declare settings; their texts name others.
DECLARED = re.compile(r'\bAdd(?:Flag|Value|Values)\(\s*"([^"]*)"')
options = set()
for path, text in files("src/settings", "tools/cli", "tools/commands"):
    options.update(DECLARED.findall(text))

faults, strings, names = [], 0, 0
for path, text in files("src", "ops"):
    named = [(text.count("\n", 0, found.start()) + 1, found[1]) for found in re.finditer(r'\bSetting\("([^"]*)"', text)]
    for line, string in strings_of(text):
        strings += 1
        if re.search(r"(?<!trtexec )--[a-zA-Z]", string):  # trtexec is a program of TensorRT
            faults.append(f"{path}:{line}: {string!r} is about an option of the program; Setting() of src/base/setting.h names what it sets")
        named += [(line, name) for name in re.findall(r"\{([a-z][a-z-]*)(?: [^{}]+)?\}", string)] if "Settings(" in text or DECLARED.search(text) else []
    names += len(named)
    faults += [f"{path}:{line}: no table declares {name!r}" for line, name in named if name not in options]
print("\n".join(faults))
sys.exit(1 if faults or strings < 5000 or names < 80 else 0)
