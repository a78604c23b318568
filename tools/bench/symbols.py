#!/usr/bin/env python3
"""Counts the open sizes that no input explains: by model, by the operator that makes them, by reason.

    tools/bench/symbols.py build/onnxflops models/ ...      files, and folders with .onnx files
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys


def symbols_of(program, path):
    """(maker, reason, whether FLOPs depend on it) of each; None if the file does not count."""
    run = subprocess.run([program, 'count', str(path), '--format', 'json'], capture_output=True, text=True)
    if run.returncode:
        return None
    report = json.loads(run.stdout)
    text = ' '.join(report['totals'][key]['expr'] for key in ('flops', 'macs', 'int_ops'))
    return [(re.split(r'[(.]', symbol['name'])[0], symbol['origin']['kind'], symbol['name'] in text)
            for symbol in report['symbols'] if symbol['origin']['kind'] != 'input']


def describe(counter):
    return ', '.join(f'{number} {name}' for name, number in counter.most_common())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('paths', nargs='+', type=pathlib.Path)
    arguments = parser.parse_args()
    makers, reasons = collections.Counter(), collections.Counter()
    for path in arguments.paths:
        for model in sorted(path.rglob('*.onnx')) if path.is_dir() else [path]:
            found = symbols_of(arguments.program, model)
            if found is None:
                print(f'{model}: does not count', file=sys.stderr)
            if not found:
                continue
            own_makers = collections.Counter(maker for maker, _, _ in found)
            own_reasons = collections.Counter(reason for _, reason, _ in found)
            in_totals = sum(counts for _, _, counts in found)
            print(f'{model}: {len(found)}, of them {in_totals} in FLOPs or MACs: '
                  f'{describe(own_makers)}; by reason {describe(own_reasons)}')
            makers += own_makers
            reasons += own_reasons
    print(f'all: {sum(makers.values())}: {describe(makers)}; by reason {describe(reasons)}')


if __name__ == '__main__':
    main()
