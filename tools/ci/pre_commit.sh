#!/usr/bin/env bash
# A hook of pre-commit: every model that is committed is within its budgets. In .pre-commit-config.yaml:
#   repos: [{repo: https://.../onnxflops, rev: REVISION, hooks: [{id: onnxflops-check}]}]
# Arguments are models; ONNXFLOPS names the program. Budgets that are relative compare with HEAD.
set -uo pipefail
code=0
old=$(mktemp)
trap 'rm -f "$old"' EXIT
for model in "$@"; do
  git cat-file blob "HEAD:./$model" >"$old" 2>/dev/null || rm -f "$old"
  "${ONNXFLOPS:-onnxflops}" check --against "$old" --base-missing ok -- "$model" || code=1
done
exit "$code"
