#!/usr/bin/env python3
"""A header's name means one thing: no two headers of src/, ops/ and tools/ have the same name. With an argument, checks that directory."""

import collections
import glob
import os
import sys

os.chdir(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

paths = collections.defaultdict(list)
for folder in ("src", "ops", "tools"):
    for path in sorted(glob.glob(f"{folder}/**/*.h", recursive=True)):
        paths[os.path.basename(path)].append(path)
same = [found for found in paths.values() if len(found) > 1]
print("\n".join(f"{', '.join(found)}: one of them needs a name of its own" for found in same))
sys.exit(1 if same or len(paths) < 300 else 0)
