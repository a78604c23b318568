"""What the contract of docs/versions.md covers, as lists of lines: if a line is missing later, a promise is broken.

The program describes itself by its completion, its help and its exit codes. Schemas, headers and Python modules are read from the
sources. The stub of the Python package exists only where the package is built.
"""
import glob
import json
import os
import re
import subprocess

import cpp_names
import python_names

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RELEASED = os.path.join(ROOT, "tests", "contract", "released.json")
# A longer formula changes its text with each new simplification.
LONGEST_FIGURE = 200
EXIT_CODES = (
    (0, "count models/resnet50.onnx"),
    (0, "check models/resnet50.onnx --max flops=9_GFLOP"),
    (0, "diff models/resnet50.onnx models/vit-b-16.onnx"),
    (1, "check models/resnet50.onnx --max flops=8_GFLOP"),
    (1, "count models/custom-op.onnx --strict"),
    (2, "count models/no-such-file.onnx"),
    (2, "count models/resnet50.onnx --no-such-option"),
    (2, "no-such-verb"),
)


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class Program:
    def __init__(self, path):
        self.path = os.path.abspath(path)

    def run(self, *arguments):
        return subprocess.run([self.path, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    def output(self, *arguments):
        done = self.run(*arguments)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(arguments)}: exit code {done.returncode}: {done.stderr}")
        return done.stdout


def command_line(program):
    """Commands, options, whether these take a value, and the words that the value may be."""
    completion = program.output("completion", "bash")
    for command, body in re.findall(r"(?ms)^    ([a-z]+)\)\n      case \$prev in\n(.*?)^      esac$", completion):
        yield command
        words = dict(re.findall(r'^ +(-[\w-]+)\) words="(.*)" ;;$', body, re.M))
        options = re.search(r'options="([^"]*)"', body)[1].split()
        for option in options:
            has_value = re.search(rf"(?m)^ +{option}\)", body) is not None
            yield f"{command} {option}{' VALUE' if has_value else ''}"
            for word in words.get(option, "").split():
                yield f"{command} {option} {word}"
    yield from ("--version", "help")


def exit_codes(program):
    for _, call in EXIT_CODES:
        code = program.run(*(word.replace("_", " ") for word in call.split())).returncode
        yield f"{code} {call}"


def names_of_tables(program):
    """Names that users write, which completion does not list: versions of conventions, devices, and what the Action takes."""
    for convention in json.loads(program.output("compare", "--list", "--format", "json"))["conventions"]:
        yield f"convention {convention['name']}"
        for version in convention["versions"]:
            yield f"convention {convention['name']}@{version['version']}"
    for device in json.loads(program.output("devices", "--format", "json"))["devices"]:
        yield f"device {device['name']}"
    part = "input"
    for line in read("action.yml").splitlines():
        part = {"inputs:": "input", "outputs:": "output", "runs:": ""}.get(line, part)
        if part and re.fullmatch(r"  [\w-]+:", line):
            yield f"action {part} {line.strip(' :')}"


def type_of(schema):
    """In a word or two."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    kind = schema.get("type", "any")
    return kind if isinstance(kind, str) else " or ".join(sorted(kind))


def keys_of(schema, place):
    """Every key below a place, with its type, and whether it is always there."""
    for key, inside in schema.get("properties", {}).items():
        always = " always" if key in schema.get("required", []) else ""
        path = f"{place}.{key}"
        yield f"{path}: {type_of(inside)}{always}"
        yield from keys_of(inside, path)
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from keys_of(schema[name], place + "[]")
    for name in ("oneOf", "anyOf", "allOf"):
        for part in schema.get(name, []):
            yield from keys_of(part, place)


def json_documents():
    for path in sorted(glob.glob(os.path.join(ROOT, "tools", "schema", "*.json"))):
        schema = json.loads(read(path))
        document = schema["properties"]["schema"]["const"]
        yield document
        yield from keys_of(schema, document)
        for name, part in schema.get("$defs", {}).items():
            yield from keys_of(part, f"{document} {name}")


def cpp_api():
    headers = re.search(r"set\(ONNXFLOPS_PUBLIC_HEADERS\n(.*?)\n\)", read("cmake", "sources.cmake"), re.S)[1].split()
    for header in headers:
        name = header.removeprefix("src/")
        yield "#include <onnxflops.h>" if name == "onnxflops.h" else f"#include <onnxflops/{name}>"
        yield from cpp_names.names_of(read(header))


def python_modules():
    """The modules that are written in Python. Those with a _ define what __init__.py exports."""
    folder = os.path.join(ROOT, "src", "python", "onnxflops")
    public = python_names.names_of(read(folder, "__init__.py"), "onnxflops")
    yield from public
    for path in sorted(glob.glob(os.path.join(folder, "[!_]*.py"))):
        yield from python_names.names_of(read(path), "onnxflops." + os.path.basename(path).removesuffix(".py"))
    for path in sorted(glob.glob(os.path.join(folder, "_[!_]*.py"))):
        for name in python_names.names_of(read(path), "onnxflops"):
            if re.match(r"onnxflops\.\w+", name)[0] in public:
                yield name


def python_stub(package):
    """The engine, whose stub is in an installed package."""
    with open(os.path.join(package, "_core.pyi"), encoding="utf-8") as file:
        yield from python_names.names_of(file.read(), "onnxflops")


def figures(program):
    """FLOPs, MACs and parameters of the models of this repository."""
    for line in program.output("count", "models/", "--format", "jsonl").splitlines():
        report = json.loads(line)
        for quantity in ("flops", "macs", "params"):
            amount = report["totals"][quantity]
            text = amount if isinstance(amount, (int, type(None))) else amount["expr"]
            if len(str(text)) <= LONGEST_FIGURE:
                yield f"{report['model']['path']} {quantity} = {text}"


def version():
    """Of the sources."""
    return re.search(r'ONNXFLOPS_VERSION "([^"]+)"', read("src", "api", "version.h"))[1]


def describe(program):
    """All sections but python_stub."""
    parts = {
        "command_line": command_line(program),
        "exit_codes": exit_codes(program),
        "names": names_of_tables(program),
        "json": json_documents(),
        "cpp": cpp_api(),
        "python": python_modules(),
        "figures": figures(program),
    }
    return {name: sorted(set(lines)) for name, lines in parts.items()}


def broken(released, present, now):
    """The lines of a section that are gone, unless the version `now` allows it. Sections that `present` lacks are left out."""
    old, new = released["version"].split("."), now.split(".")
    if old[0] != new[0] or (old[0] == "0" and old[1] != new[1]):
        return []
    faults = []
    for section, lines in present.items():
        if section == "figures" and old[:2] != new[:2]:
            continue
        gone = sorted(set(released[section]) - set(lines))
        faults += [f"{section}: gone since {released['version']}: {line}" for line in gone]
    return faults
