#!/usr/bin/env bash
# How far a figure is known becomes text in src/render/known.cc alone; for pages in parts.js.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

found=$(grep -rnE '"(>=|<=) "|"\\u226[45] ' src ops tools --include='*.cc' --include='*.h' --include='*.js' | grep -v '^src/render/known\.' || true)
found+=$(grep -nE '\\u226[45] ' src/render/html/*.js | grep -v 'parts.js' || true)
if [ -n "$found" ]; then
  printf 'src/render/known.h has the texts of lower bounds:\n%s\n' "$found" >&2
  exit 1
fi
