#!/usr/bin/env bash
# A hook of pre-commit: every model that is committed is within its budgets. In .pre-commit-config.yaml:
#   repos: [{repo: https://.../onnxflops, rev: REVISION, hooks: [{id: onnxflops-check}]}]
# Arguments are models; ONNXFLOPS names the program. Budgets that are relative compare with HEAD.
set -uo pipefail
code=0
against=(--git HEAD --base-missing ok)
git rev-parse --verify --quiet HEAD >/dev/null || against=(--against /dev/null --base-missing ok)  # the first commit
for model in "$@"; do
  "${ONNXFLOPS:-onnxflops}" check "${against[@]}" -- "$model" || code=1
done
exit "$code"
