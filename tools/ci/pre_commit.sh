#!/usr/bin/env bash
# A hook of pre-commit: every model that is committed is within its budgets. docs/ci.md has the two ways to use it: this repository with a
# program on the PATH, or the wheel, which has this file as onnxflops-pre-commit.
# Arguments are models; ONNXFLOPS names the program. Budgets that are relative compare with HEAD, also of a model that is renamed.
set -uo pipefail
code=0
against=(--git HEAD --base-missing ok)
git rev-parse --verify --quiet HEAD >/dev/null || against=(--against /dev/null --base-missing ok)  # the first commit
declare -A old=()
while IFS= read -r -d '' _ && IFS= read -r -d '' from && IFS= read -r -d '' to; do old[$to]=$from; done < <(
  git diff --cached --name-status -z --find-renames --diff-filter=R HEAD 2>/dev/null)
for model in "$@"; do
  renamed=()
  if [ -n "${old[$model]:-}" ]; then renamed=(--renamed "${old[$model]}=$model"); fi
  "${ONNXFLOPS:-onnxflops}" check "${against[@]}" "${renamed[@]}" -- "$model" || code=1
done
exit "$code"
