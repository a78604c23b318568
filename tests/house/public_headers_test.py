#!/usr/bin/env python3
"""The public headers are those that src/onnxflops.h includes. All are in cmake/sources.cmake, and none defines a macro without a prefix."""

import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def included_from(header, found):
    if header in found:
        return found
    found.add(header)
    with open(header, encoding="utf-8") as file:
        for name in re.findall(r'^#include "([^"]+)"', file.read(), re.M):
            if os.path.exists(name):
                included_from(name, found)
    return found


with open("cmake/sources.cmake", encoding="utf-8") as file:
    listed = set(re.search(r"set\(ONNXFLOPS_PUBLIC_HEADERS\n(.*?)\n\)", file.read(), re.S)[1].split())
public = included_from("src/onnxflops.h", set())
faults = [f"{h} is public, and not in ONNXFLOPS_PUBLIC_HEADERS" for h in sorted(public - listed)]
faults += [f"{h} is in ONNXFLOPS_PUBLIC_HEADERS, and not public" for h in sorted(listed - public)]
for header in sorted(public):
    with open(header, encoding="utf-8") as file:
        for macro in re.findall(r"^ *# *define +(\w+)", file.read(), re.M):
            if not macro.startswith("ONNXFLOPS_"):
                faults.append(f"{header} defines {macro}")
print("\n".join(faults))
sys.exit(bool(faults))
