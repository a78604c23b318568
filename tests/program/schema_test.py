#!/usr/bin/python3
"""Holds the program's JSON to the schemas of tools/schema/.

    schema_test.py PROGRAM

Debian's python3 runs it, because python3-jsonschema belongs to that one. A schema lets a document have
further fields. Here it does not: a new field has to be described first.
"""
import copy
import glob
import hashlib
import itertools
import json
import lzma
import math
import os
import re
import subprocess
import sys
import tempfile

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMAS = os.path.join(ROOT, "tools", "schema")
FEWEST_GOLDENS, FEWEST_OUTPUTS = 4, 300  # fewer were found: this test looks in the wrong place
SMALL = 500  # nodes: models that every convention is run on; all models take minutes


def is_whole(_, value):
    """JSON Schema takes 1.0 for an integer. Our integers are written whole."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_items(validator, items, instance, _):
    """The keyword "items". Rows that differ only in numbers above 0, such as equal layers, are checked once."""
    if not isinstance(instance, list):
        return
    for i, item in enumerate(instance):
        key = (id(items), re.sub("[1-9][0-9]*", "1", json.dumps(item)))
        if key in CHECKED:
            continue
        errors = list(validator.descend(item, items, path=i))
        yield from errors
        if not errors:
            CHECKED.add(key)


CHECKED = set()
STRICT = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    {"items": check_items},
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", is_whole)
)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def unique(pairs):
    """An object as a dict. Python keeps the last of two fields with one name; here that is an error."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("two fields of one name")
    return fields


def parse(text):
    return json.loads(text, object_pairs_hook=unique)


def parts(schema):
    """Every schema inside a schema, itself first."""
    yield schema
    inside = [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    inside += [part for key in ("properties", "$defs") for part in schema.get(key, {}).values()]
    inside += [part for key in ("oneOf", "anyOf", "allOf") for part in schema.get(key, [])]
    for part in inside:
        yield from parts(part)


def closed(schema):
    """The same schema, refusing fields that it does not describe."""
    result = copy.deepcopy(schema)
    for part in parts(result):
        if "properties" in part:
            part["additionalProperties"] = False
    return result


def document_of(schema):
    return schema["properties"]["schema"]["const"]


class Schemas:
    def __init__(self):
        self.files = {os.path.basename(path): parse(read(path)) for path in sorted(glob.glob(os.path.join(SCHEMAS, "*.json")))}
        store = {name: closed(schema) for name, schema in self.files.items()}
        self.validators = {}
        for name, schema in store.items():
            self.validators[document_of(schema)] = STRICT(schema, resolver=jsonschema.RefResolver(name, schema, store=store))

    def fault(self, document):
        """The first thing wrong with a parsed document, or nothing."""
        validator = self.validators.get(document.get("schema")) if isinstance(document, dict) else None
        if validator is None:
            return "no schema describes it"
        error = next(validator.iter_errors(document), None)
        return f"{error.json_path}: {error.message}"[:500] if error else quantity_fault(document) or absence_fault(document)


def quantity_fault(value):
    """`value` is null while a symbol is open, and of a lower bound of 0; else the integer of `expr`. What it is at least is no more than
    what it is at most."""
    if isinstance(value, list):
        return next(filter(None, map(quantity_fault, value)), "")
    if not isinstance(value, dict):
        return ""
    if not {"expr", "value"} <= set(value):
        return next(filter(None, map(quantity_fault, value.values())), "")
    time = re.fullmatch(r"1e-21\*\((.*)\)", value["expr"])  # seconds
    expr = time[1] if time else value["expr"]
    whole = re.fullmatch("-?[0-9]+", expr) is not None
    unknown = expr == "0" and value["value"] is None
    if not whole or unknown:
        agree = value["value"] is None
    elif time:
        agree = math.isclose(value["value"] or 0, int(expr) * 1e-21)
    else:
        agree = expr == str(value["value"])
    low, high = (value[end]["value"] if value.get(end) else None for end in ("at_least", "at_most"))
    agree = agree and (low is None or high is None or low <= high)
    return "" if agree else f"a quantity disagrees with itself: {value}"


def nulls(value):
    """The fields that are null, wherever they are."""
    if isinstance(value, list):
        return {field for item in value for field in nulls(item)}
    if isinstance(value, dict):
        return {field for field, inside in value.items() if inside is None}.union(*map(nulls, value.values()))
    return set()


def absence_fault(document):
    """Whether a report lacks what it has to have: all that we count, or the headline of another tool, and only that."""
    if not isinstance(document, dict) or document.get("schema") != "onnxflops.report/1":
        return ""
    if document["convention"] == "onnxflops":
        missing = nulls(document) - {"value", "shape", "at_least", "at_most"}
        if "roofline" in document:  # open sizes; what moves nothing; a part of a model
            missing -= {"intensity", "seconds", "estimate_seconds", "compute_seconds", "memory_seconds", "by", "cache_bytes"}
            missing -= {"compulsory_bytes", "fused_estimate_seconds"}
        memory = document.get("memory")
        if memory and memory["at"] and not memory["for_all_sizes"]:  # and only then: a total holds at all sizes
            missing ^= {"peak_activation_bytes"}
        return f"null, or not where it has to be: {sorted(missing)}" if missing else ""
    totals = document["totals"]
    there = {field for field, amount in totals.items() if amount is not None} - {"params"}
    same = totals.get(document["unit"] + "s") == document["headline"]
    return "" if there == {document["unit"] + "s"} and same else f"{document['convention']} has {sorted(there)}"


# ---- The schemas themselves


def check_schemas(schemas):
    """Whether the files are good schemas, describe every field, and are those of the program."""
    shared = {}
    for name, schema in schemas.files.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        if schema.get("$id") != name or schema.get("$schema") != "https://json-schema.org/draft/2020-12/schema":
            yield f"{name}: $id or $schema"
        if "onnxflops." + name.replace(".v", "/").replace(".schema.json", "") != document_of(schema):
            yield f"{name}: describes {document_of(schema)}"
        for part, meaning in schema.get("$defs", {}).items():
            if shared.setdefault(part, meaning) != meaning:
                yield f"{name}: {part} is defined otherwise in another file"
        for part in parts(schema):
            for field, described in part.get("properties", {}).items():
                if not described.get("description", "").endswith("."):
                    yield f"{name}: {field} has no description"
    sources = glob.glob(os.path.join(ROOT, "src", "**", "*.cc"), recursive=True) + glob.glob(os.path.join(ROOT, "tools", "*.cc"))
    written = {name for path in sources for name in re.findall(r'"(onnxflops\.[a-z_]+/[0-9]+)"', read(path))}
    if written != set(schemas.validators):
        yield f"the program writes {sorted(written)}, the schemas describe {sorted(schemas.validators)}"


def check_refusals(schemas, report, tool, compare):
    """Whether documents with one fault are refused. A test that cannot fail proves nothing."""
    faults = [
        ("a missing field", report, lambda d: d["totals"].pop("macs")),
        ("a missing field in a shared part", report, lambda d: d["model"].pop("nodes")),
        ("a missing field in a child", report, lambda d: d["modules"]["children"][0].pop("path")),
        ("an unknown field", report, lambda d: d.update(colour="red")),
        ("an unknown field in a quantity", report, lambda d: d["totals"]["flops"].update(unit="FLOP")),
        ("an unknown field in a node", report, lambda d: d["nodes"][0].update(colour="red")),
        ("a float for an integer", report, lambda d: d["totals"].update(params=1.5)),
        ("a whole float for an integer", report, lambda d: d["totals"].update(params=1.0)),
        ("a float in a quantity", report, lambda d: d["totals"].update(flops={"expr": "8", "value": 8.0})),
        ("true for an integer", report, lambda d: d["totals"].update(params=True)),
        ("a number for a quantity", report, lambda d: d["totals"].update(flops=8)),
        ("a quantity of two amounts", report, lambda d: d["totals"].update(flops={"expr": "8", "value": 9})),
        ("a quantity with an open symbol and a value", report, lambda d: d["totals"].update(flops={"expr": "8*n", "value": 8})),
        ("a quantity without its value", report, lambda d: d["totals"].update(flops={"expr": "8", "value": None})),
        ("no figure of ours", report, lambda d: d["totals"].update(flops=None)),
        ("no figure of a module", report, lambda d: d["modules"].update(params=None)),
        ("our figure in another tool's report", tool, lambda d: d["totals"].update(training_flops={"expr": "8", "value": 8})),
        ("two figures in another tool's report", tool, lambda d: d["totals"].update(macs={"expr": "8", "value": 8})),
        ("a count below 0", report, lambda d: d["coverage"].update(nodes=-1)),
        ("a status that is none", report, lambda d: d["nodes"][0].update(status="maybe")),
        ("sizes that are numbers", report, lambda d: d["nodes"][0]["outputs"][0].update(shape=[1, 2])),
        ("another version", report, lambda d: d.update(schema="onnxflops.report/2")),
        ("the schema of another document", report, lambda d: d.update(schema="onnxflops.compare/1")),
        ("no schema", report, lambda d: d.pop("schema")),
        ("a unit that is none", compare, lambda d: d["conventions"][0].update(unit="MACs")),
        ("a missing headline", compare, lambda d: d["conventions"][0].pop("headline")),
        ("an unknown field in a headline", compare, lambda d: d["conventions"][0]["headline"].update(unit="mac")),
    ]
    for what, document, spoil in faults:
        spoilt = copy.deepcopy(document)
        spoil(spoilt)
        if schemas.fault(document) or not schemas.fault(spoilt):
            yield f"{what} is not refused"
    for document in ([report], "report", {}):
        if not schemas.fault(document):
            yield f"not refused: {str(document)[:40]}"


# ---- What the program writes


class Outputs:
    """Runs the program and checks what it prints."""

    def __init__(self, program, schemas):
        self.program, self.schemas = program, schemas
        self.seen, self.faults = set(), []
        self.unwritten = {field for schema in schemas.files.values() for part in parts(schema) for field in part.get("properties", {})}

    def check(self, what, text):
        """The printed document, or None if the output is not one. Equal texts are checked once."""
        try:
            document = parse(text)
        except ValueError as error:
            self.faults.append(f"{what}: no JSON: {error}")
            return None
        digest = hashlib.sha256(text.encode()).digest()
        fault = "" if digest in self.seen else self.schemas.fault(document)
        self.seen.add(digest)
        self.unwritten = {field for field in self.unwritten if f'"{field}": ' not in text}
        if fault:
            self.faults.append(f"{what}: {fault}")
        return document

    def run(self, *arguments):
        """The document that the program prints, or nothing if it fails."""
        command = [self.program, *arguments, "--format", "json"]
        run = subprocess.run(command, capture_output=True, cwd=ROOT, check=False)
        if run.returncode != 0:
            self.faults.append(f"{' '.join(arguments)}: exit code {run.returncode}: {run.stderr.decode(errors='replace')[:300]}")
            return None
        return self.check(" ".join(arguments), run.stdout.decode())


def check_goldens(outputs):
    """The golden files whose command prints JSON, by what they print."""
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "*.txt"))):
        text = read(path)
        command, printed = text[text.index("$ ") :].split("\n", 1)
        if "| head" in command or re.search(r"--format (gitlab|sarif|benchmark|badge|perfetto|model-explorer)", command):
            continue  # the beginning of a document; documents of others, which ci_test.py reads
        if command.startswith("$ onnxflops monitor") and printed.startswith("{"):
            # The rest is another file's text, or standard error.
            for line in itertools.takewhile(lambda text: text.startswith("{"), printed.splitlines()):
                outputs.check(os.path.basename(path), line)
        elif printed.startswith("{\n") or printed.startswith("[\n"):
            outputs.check(os.path.basename(path), re.sub(r"(?m)^\[(stderr|exit \d+)\]\n(.|\n)*", "", printed))


def check_model(outputs, model):
    report = outputs.run("count", model, "--by", "op")
    outputs.run("count", model, "--by", "node")
    compare = outputs.run("compare", model)
    outputs.run("compare", model, "--by", "module", "--terms-nodes")
    outputs.run("compare", model, "--from", "onnx-tool", "--to", "macs")
    if report is None or compare is None:
        return
    inputs = [s["name"] for s in report["symbols"] if s["origin"]["kind"] == "input"]
    if inputs:
        outputs.run("count", model, "--by", "node", "--dim", f"{inputs[0]}=2")
    for convention in compare["conventions"]:
        if report["model"]["nodes"] < SMALL and convention["status"] != "not_applicable":
            outputs.run("count", model, "--convention", convention["name"])


def check_versions(outputs):
    """Every version of every tool counts and compares."""
    model = "models/lstm.static.onnx"
    for convention in outputs.run("compare", "--list")["conventions"]:
        for version in convention["versions"]:
            name = f"{convention['name']}@{version['version']}"
            outputs.run("count", model, "--convention", name)
            compare = outputs.run("compare", model, "--with", name)
            if compare and compare["conventions"][0]["version"] != version["version"]:
                outputs.faults.append(f"{name} is counted by another version")


def check_hostile(outputs):
    """Documents with the fields that only hostile files need."""
    writers = {
        "rows-left-out": ["models.py"],
        "dimensions-that-look-like-code": ["models.py"],
        "domains-that-look-alike": ["models.py"],
        "output_names_in_loop": ["amplification.py", "-", "--write"],
    }
    for name, writer in writers.items():
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            command = [sys.executable, "-B", os.path.join(ROOT, "tests", "hostile", writer[0]), *writer[1:], name]
            subprocess.run(command, stdout=file, check=True)
            outputs.run("count", file.name, "--by", "node")


def check_diffs(outputs):
    """Differences of real exports: of exporters, sizes, layers, and of nothing."""
    clip, script = "models/clip-vit-b-32.onnx", "models/clip-vit-b-32.ts17.onnx"
    outputs.run("diff", script, clip, "--dim", "batch=2")
    outputs.run("diff", clip, clip, "--module", "visual")
    outputs.run("diff", "models/lstm.static.onnx", "models/lstm.onnx", "--by", "node")
    outputs.run("diff", "models/resnet50.onnx", "models/deployed/resnet50.qdq_s8.onnx", "--by", "node")
    outputs.run("diff", "models/custom-op.onnx", "models/lstm.onnx")
    outputs.run("diff", "no-such-base.onnx", clip, "--base-missing", "ok")
    with tempfile.TemporaryDirectory() as folder:  # the head has fewer positions than the base has tokens
        configs = []
        for positions in (16, 32):
            configs.append(os.path.join(folder, f"{positions}.json"))
            with open(configs[-1], "w", encoding="utf-8") as config:
                json.dump({"model_type": "gpt2", "n_layer": 1, "n_positions": positions}, config)
        base = os.path.join(folder, "base.json")
        with open(base, "w", encoding="utf-8") as report:
            json.dump(outputs.run("count", configs[1], "--dim", "seq=20"), report)
        outputs.run("diff", base, configs[0])
        devices = []
        for device, dtype in ("t4", "fp16"), ("h100-sxm", "bf16"):
            devices.append(os.path.join(folder, f"{device}.json"))
            with open(devices[-1], "w", encoding="utf-8") as report:
                json.dump(outputs.run("count", "models/lstm.static.onnx", "--device", device, "--dtype", dtype), report)
        other = outputs.run("diff", *devices)
        if other and (other["other_device"]["base"]["device"], other["other_device"]["head"]["dtype"]) != ("t4", "bf16"):
            outputs.faults.append(f"times of unequal devices: {other['other_device']}")
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as budgets:
        budgets.write('budget.flops = "+1000%"\nbudget.params = "1 T"\nopset.max = 99\nmodels."lstm.onnx".at.batch = "1..8"\nmodels."lstm.onnx".at.seq = 8\n')
        budgets.flush()
        outputs.run("check", "models/lstm.onnx", "--budgets", budgets.name, "--against", "models/lstm.onnx")
        outputs.run("check", "models/lstm.onnx", "models/lstm.static.onnx", "--budgets", budgets.name, "--against", "models")
        with tempfile.NamedTemporaryFile(suffix=".json") as decision:
            outputs.run("check", "models/lstm.onnx", "--budgets", budgets.name, "--against", "models/lstm.onnx", "--decision", decision.name)
            document = outputs.check("a decision", read(decision.name))
            of_model = hashlib.sha256(open(os.path.join(ROOT, "models", "lstm.onnx"), "rb").read()).hexdigest()
            if document and [m["sha256"] for m in document["models"]] != [of_model]:
                outputs.faults.append("a decision has another hash than the model")


def check_history(outputs):
    """Lines of --record, and the history that they are: changed sizes, figures, budgets and versions, bounds and gaps."""
    with tempfile.TemporaryDirectory() as folder:
        history, budgets = os.path.join(folder, "h.jsonl"), os.path.join(folder, "b.toml")
        device = ["--device", "h100-sxm", "--dtype", "bf16"]
        for limit, sizes in (("1 T", ["--dim", "batch=1,seq=8"]), ("2 T", ["--dim", "batch=2,seq=8"]), ("2 T", device), ("2 T", [])):
            with open(budgets, "w", encoding="utf-8") as file:
                file.write(f'budget.flops = "{limit}"\n')
            models = [os.path.join(ROOT, "models", name) for name in ("lstm.onnx", "custom-op.onnx")]
            # Exit code 1: a bound or an open size proves nothing.
            command = [outputs.program, "check", *models, "--budgets", budgets, "--record", history, *sizes]
            if subprocess.run(command, capture_output=True, check=False).returncode == 2:
                outputs.faults.append(f"{command} fails")
            lines = read(history).splitlines()
            with open(history, "w", encoding="utf-8") as file:  # as if they were of other commits
                for place, line in enumerate(lines):
                    file.write(re.sub(r'"commit": [^,]*', f'"commit": "{place:040x}"', line) + "\n")
        lines = read(history).splitlines()
        with open(history, "a", encoding="utf-8") as file:
            for commit, changes in ("f", {"version": "0.0.1"}), ("e", {"totals": {"macs": 1, "time_bound_seconds": 1}}), ("d", {"device": "b", "totals": {"time_bound_seconds": 1}}):
                line = {**json.loads(lines[0]), "commit": commit * 40, **changes}
                line["totals"] = {key: value + 1 for key, value in line["totals"].items()}
                file.write(json.dumps(line) + "\n")
        for line in read(history).splitlines():
            outputs.check("a record", line)
        document = outputs.run("history", history)
        if document and [document["records"], document["models"]] != [11, 2]:
            outputs.faults.append("a history has another number of records or models")


def schema_of_others(name):
    path = os.path.join(ROOT, "tests", "data", name)
    schema = json.loads(lzma.open(path).read() if name.endswith(".xz") else read(path))
    return jsonschema.validators.validator_for(schema)(schema)


def check_formats_of_others(outputs):
    """Documents whose form others set, and Perfetto's slices: a child lies within its parent."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as budgets:
        budgets.write('[budget]\nmacs = 1\nparams = "1 G"\nflops = {limit = "1 T", warn = 1}\n[modules."*"]\nflops = 0\n')
        budgets.flush()
        check = ["check", "models/lstm.static.onnx", "--budgets", budgets.name]
        documents = {
            "sarif-2.1.0-rtm.5.json.xz": [*check, "--format", "sarif"],
            "gitlab_code_quality.schema.json": [*check, "--format", "gitlab"],
            "model_explorer.schema.json": ["count", "models/maskrcnn-r50.onnx", "--format", "model-explorer"],
        }
        for name, arguments in documents.items():
            printed = subprocess.run([outputs.program, *arguments], capture_output=True, cwd=ROOT, check=False).stdout
            for error in schema_of_others(name).iter_errors(parse(printed)):
                outputs.faults.append(f"{name}: {error.message[:300]}")
    for by_time in [], ["--device", "t4", "--dtype", "fp16", "--sort", "time_estimate_seconds"]:
        words = [outputs.program, "models/gpt2.onnx", "--format", "perfetto", *by_time]
        printed = subprocess.run(words, capture_output=True, cwd=ROOT, check=False).stdout
        events = parse(printed)["traceEvents"]
        slices = [(round(1000 * e["ts"]), round(1000 * e["ts"]) + round(1000 * e["dur"])) for e in events]  # in ns, as viewers take them
        for i, (begin, end) in enumerate(slices):
            if any(b < begin < e < end for b, e in slices[:i]):
                outputs.faults.append(f"a slice of Perfetto's crosses another: {begin} to {end}")
        if by_time and abs(events[0]["dur"] / 1e6 - events[0]["args"]["time_estimate_seconds"]) > 1e-9:
            outputs.faults.append(f"a slice of {events[0]['args']} is {events[0]['dur']} us long")


def check_program(outputs):
    models = sorted(glob.glob("models/**/*.onnx", root_dir=ROOT, recursive=True))
    check_formats_of_others(outputs)
    for model in models:
        check_model(outputs, model)
    outputs.run("count", *models[:3])
    outputs.run("compare", *models[:2])
    sizes = ("models/maskrcnn-r50.onnx", "--input", "image=3x320x320", "--upper")
    outputs.run("count", *sizes[:1], "--upper", "--by", "node")
    outputs.run("compare", *sizes, "--with", "macs")
    outputs.run("explain", *sizes, "/roi_heads/mask_predictor/relu/Relu")
    for model, node in (
        ("models/resnet50.onnx", "/conv1/Conv"),
        ("models/resnet50.onnx", "layer1.0"),
        ("models/custom-op.onnx", "/mlp/FusedMlp"),
        ("models/maskrcnn-r50.onnx", "Loop_3126"),
        ("models/deployed/resnet50.qdq_s8.onnx", "/conv1/Conv"),
    ):
        outputs.run("explain", model, node)
    outputs.run("explain", "Conv")
    outputs.run("count", "models/gpt2.onnx", "--causal", "half")
    outputs.run("count", "models/clip-vit-b-32.ts17.onnx", "--module", "visual")
    outputs.run("count", "models/custom-op.onnx", "--rules", "models/custom-op.toml", "--by", "node")
    past = "models/deployed/gpt2_past.ort_fused.onnx"
    outputs.run("count", "models/maskrcnn-r50.onnx", "--memory")
    outputs.run("count", "models/gpt2.onnx", "--memory", "--dim", "seq=16", "--dim", "batch=1,2")
    outputs.run("count", "models/maskrcnn-r50.onnx", "--memory", "--upper")
    outputs.run("count", past, "--fit", "8GiB:batch", "--dim", "seq=1,past_seq=15,total_seq=16")
    outputs.run("count", past, "--prefill", "16", "--decode", "1@16")
    profile = "tests/data/profile/resnet50."
    outputs.run("profile", "models/resnet50.onnx", profile + "profile.json", "--optimized", profile + "optimized.onnx")
    outputs.run("profile", "models/resnet50.onnx", profile + "profile.json", "--calibration", "tests/data/profile/calibration.json")
    check_diffs(outputs)
    check_history(outputs)
    check_hostile(outputs)
    outputs.run("ops")
    outputs.run("ops", "--rules", "models/custom-op.toml")
    check_versions(outputs)


def main():
    schemas = Schemas()
    outputs = Outputs(os.path.abspath(sys.argv[1]), schemas)
    check_goldens(outputs)
    goldens = len(outputs.seen)
    check_program(outputs)
    report = outputs.run("count", "models/lstm.static.onnx", "--by", "node")
    tool = outputs.run("count", "models/lstm.static.onnx", "--convention", "xla")
    compare = outputs.run("compare", "models/lstm.static.onnx")
    faults = [*outputs.faults, *check_schemas(schemas)]
    if not outputs.faults:
        faults += check_refusals(schemas, report, tool, compare)
        faults += [f"{field} is described, but no document has it" for field in sorted(outputs.unwritten)]
    print("\n".join(faults))
    print(f"{goldens} goldens, {len(outputs.seen)} documents, {len(faults)} faults")
    return 1 if faults or goldens < FEWEST_GOLDENS or len(outputs.seen) < FEWEST_OUTPUTS else 0


if __name__ == "__main__":
    sys.exit(main())
