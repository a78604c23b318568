#!/usr/bin/env python3
"""Leaves in a profile of ONNX Runtime what onnxflops reads: thin_profile.py IN.json OUT.json, an event a line."""
import json
import sys

KEYS = ("op_name", "node_index", "provider", "output_type_shape")
with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)
for event in events:
    event["args"] = {key: event["args"][key] for key in KEYS if key in event["args"]}
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.write("[\n" + ",\n".join(json.dumps(event, separators=(",", ":")) for event in events) + "\n]\n")
