#!/usr/bin/env python3
"""Writes down the operators that ONNX Runtime registers beside ONNX's own, or says what is new in the installed onnx and onnxruntime.

Usage: contrib_ops.py [-o tests/data/contrib_ops.json]
       contrib_ops.py --compare tests/data/contrib_ops.json OPS.json     OPS.json is what `onnxflops ops --format json` writes
       needs: pip install onnx onnxruntime

An operator has the names of its inputs and outputs, the defaults of its attributes, the names of those without one, and a hash of all that
its schema says in words, since much is only said there: a new activation, a new format of weights.
"""
import argparse
import hashlib
import json

import onnx
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

DOMAINS = ("com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc")


def default_of(attribute):
    """The default of an attribute; None if it has none, or if the default is not a number or word."""
    proto = onnx.AttributeProto.FromString(attribute._default_value)
    value = onnx.helper.get_attribute_value(proto) if proto.name else None
    if isinstance(value, bytes):
        value = value.decode()
    return value if isinstance(value, (int, float, str)) else None


def words_of(schema, attributes):
    parameters = [*schema.inputs, *schema.outputs]
    types = [[c.type_param_str, sorted(c.allowed_type_strs)] for c in schema.type_constraints]
    said = [schema.doc, [(name, a.description) for name, a in attributes], [(p.name, p.typeStr, p.description) for p in parameters], types]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]


def entry_of(schema):
    attributes = sorted(schema.attributes.items())
    defaults = {name: default_of(a) for name, a in attributes if default_of(a) is not None}
    entry = {"domain": schema.domain, "op": schema.name, "since": schema.since_version}
    entry["inputs"] = [p.name for p in schema.inputs]
    entry["outputs"] = [p.name for p in schema.outputs]
    if defaults:
        entry["defaults"] = defaults
    others = [name for name, _ in attributes if name not in defaults]
    if others:
        entry["attributes"] = others
    entry["words"] = words_of(schema, attributes)
    return entry


def key_of(entry):
    return entry["domain"], entry["op"], entry["since"]


def entries():
    return sorted((entry_of(s) for s in runtime.get_all_operator_schema() if s.domain in DOMAINS), key=key_of)


def write(path):
    head = json.dumps(f"onnxruntime {onnxruntime.__version__}, its registered operator schemas outside ai.onnx and ai.onnx.ml")
    lines = ",\n".join("  " + json.dumps(e) for e in entries())
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"source": ' + head + ',\n "operators": [\n' + lines + "\n]}\n")


def changes(before, now):
    """What differs, in words: 'input query_seqlens is new'."""
    for kind, key in (("input", "inputs"), ("output", "outputs"), ("attribute", "attributes"), ("attribute", "defaults")):
        old, new = before.get(key, []), now.get(key, [])
        yield from (f"{kind} {name} is new" for name in new if name not in old)
        yield from (f"{kind} {name} is gone" for name in old if name not in new)
        if key == "defaults":
            yield from (f"attribute {name} is {new[name]!r}, was {old[name]!r}" for name in new if name in old and new[name] != old[name])
    if before.get("words") != now["words"]:
        yield "its text is another"


def compare(path, ops):
    with open(path, encoding="utf-8") as file:
        known = {key_of(e): e for e in json.load(file)["operators"]}
    with open(ops, encoding="utf-8") as file:
        rows = {(r["domain"], r["op"], v) for r in json.load(file)["operators"] for v in r["since"]}
    for s in onnx.defs.get_all_schemas_with_history():
        if (s.domain, s.name, s.since_version) not in rows:
            yield f"onnx {onnx.__version__}: {s.domain or 'ai.onnx'}.{s.name} {s.since_version} has no row"
    found = {key_of(e): e for e in entries()}
    tool = f"onnxruntime {onnxruntime.__version__}"
    for key, entry in found.items():
        name = f"{tool}: {key[0]}.{key[1]} {key[2]}"
        if key not in known:
            yield f"{name} is new"
        else:
            yield from (f"{name}: {change}" for change in changes(known[key], entry))
    yield from (f"{tool}: {key[0]}.{key[1]} {key[2]} is gone" for key in known if key not in found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", default="tests/data/contrib_ops.json")
    parser.add_argument("--compare", nargs=2, metavar=("KNOWN", "OPS"))
    args = parser.parse_args()
    if args.compare is None:
        write(args.output)
        return
    for line in compare(*args.compare):
        print(line)


if __name__ == "__main__":
    main()
