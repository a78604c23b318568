#!/usr/bin/env python3
"""Holds docs/troubleshooting*.md to the program's errors, in both directions. In a quote of a row, "..." stands for any text, and N for
a word.

Each message that a row quotes is printed: by a golden file, by tools/setup or src/python/CMakeLists.txt, or as an error of the sources.

Each error that says what to do is in a row. Errors are the lines "onnxflops: ..." of the golden files, and the texts of errors in the
sources, with "..." for what is put in there. What to do is a clause that begins with one of VERBS, with an option or with an argument or
function of Python; a value that "should be" something; or words that are offered ("did you mean"). A row has to quote the beginning of the
clause: "..." at an end of a quote covers nothing."""

import ast
import glob
import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

VERBS = """add allow ask bind build call check choose correct count delete download export fetch give install leave load look name open pass
pip raise remove rename repeat replace run see set start take try unpack update use write"""
CLAUSE = r"((?:[:;,]|(?<!\.)\.) (?:or |and )?|\((?=[a-z]))"  # what is before one
VERB = rf"(?i:{'|'.join(VERBS.split())})(?![\w-]| ?[:=,])"
OPTION = r"(?<!, )(?<!, and )(?:`?onnxflops [a-z]|--[a-z][a-z-]*(?![\w-]|:| '| \()|(?<!\()[a-z_.]+(?:=(?!,)|\(\S))"
OFFER = r"did you mean|similar:|sets another limit|(?:should|must) be\b|needs (?:--|[a-z_]+=)"
ACTION = re.compile(f"{CLAUSE}(?:{VERB}|{OPTION})|{OFFER}")


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def in_cpp(path):
    """The literals of each error, with "..." between them. {dim NAME=N} and Setting("dim", n) are options in the program's words."""
    text = re.sub(r'Setting\("([\w-]+)"(, )?', lambda found: f'"--{found[1]}{" " if found[2] else ""}"{found[2] or ""}', text_of(path))
    for body in re.findall(r"(?s)Error\((.*?)\)+;\n", re.sub(r"(?m)^ *//.*\n", "", text)):
        message = "...".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"[),]*\s+"', "", body)))
        message = re.sub(r"\{([a-z][a-z-]*)(?: on)?( [^}]*)?\}", lambda found: f"--{found[1]}{found[2] or ''}", message)
        yield message.replace(r"\n", " ").replace(r"\"", '"').replace("{}", "...")


def in_python(path):
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            parts = getattr(node.exc.args[0], "values", node.exc.args[:1])
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "..." for part in parts)


def pattern(quote):
    parts = quote.replace("'...'", "...").lstrip(". :").rstrip(". ").split("...")
    return re.compile(".*".join(re.sub(r"\bN\b", r"\\S+", re.escape(part.strip())) for part in parts))


goldens = {path: re.sub(r"\n\|? +", " ", text_of(path)) for path in sorted(glob.glob("tests/golden/*.txt"))}  # without the program's breaks
errors = [(path, message) for path, text in goldens.items() for message in re.findall(r"(?m)^onnxflops: (.*)", text)]
for folder, suffix, read in ("src", "cc", in_cpp), ("tools/c*", "cc", in_cpp), ("src", "py", in_python):
    for path in sorted(glob.glob(f"{folder}/**/*.{suffix}", recursive=True)):
        errors += [(path, message) for message in read(path)]
printed = "\n".join([*goldens.values(), text_of("tools/setup"), text_of("src/python/CMakeLists.txt"), *(message for _, message in errors)])

faults = []
quoted = []
for page in sorted(glob.glob("docs/troubleshooting*.md")):
    for cell in re.findall(r"(?m)^\| (\S.*?) \|.* \|$", text_of(page)):
        quoted += [code[1].strip() for code in re.findall(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", cell)]
patterns = {quote: pattern(quote) for quote in quoted}
faults += [f"{quote}: nothing prints it" for quote in quoted if not patterns[quote].search(printed)]
for path, message in errors:
    message = re.sub(r"^(?!--)[^ ]*: ", "", message)  # the file
    actions = [found.start() + len(found[1] or "") for found in ACTION.finditer(message)]
    spans = [found.span() for one in patterns.values() if actions for found in one.finditer(message)]
    missed = [at for at in actions if not any(start <= at < end for start, end in spans)]
    faults += [f"{path}: {message[:300]}: no row has {message[at : at + 40]!r}" for at in missed[:1]]
print("\n".join(dict.fromkeys(faults)))
sys.exit(1 if faults or len(quoted) < 40 else 0)
