#!/usr/bin/env bash
# A hook of pre-commit: every model that is committed is within its budgets. docs/ci.md has the two ways to use it: this repository with a
# program on the PATH, or the wheel, which has this file as onnxflops-pre-commit.
# Arguments are models. ONNXFLOPS names the program; without it, that on the PATH runs, else the one that was installed with this file.
# Budgets that are relative compare with HEAD, also of a model that is renamed. Exit code: 0, 1 for a broken budget or an error, 2 without a program.
set -uo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
program=${ONNXFLOPS:-onnxflops}
for beside in "$here/onnxflops" "$here/../../../bin/onnxflops"; do  # of a wheel, and of all else
  if [ -z "${ONNXFLOPS:-}" ] && ! command -v "$program" >/dev/null; then program=$beside; fi
done
if ! command -v "$program" >/dev/null; then
  echo "pre_commit.sh: there is no program '${ONNXFLOPS:-onnxflops}' on the PATH: install onnxflops, or name it in ONNXFLOPS" >&2
  exit 2
fi
code=0
against=(--git HEAD --base-missing ok)
git rev-parse --verify --quiet HEAD >/dev/null || against=(--against /dev/null --base-missing ok)  # the first commit
declare -A old=()
while IFS= read -r -d '' _ && IFS= read -r -d '' from && IFS= read -r -d '' to; do old[$to]=$from; done < <(
  git diff --cached --name-status -z --find-renames --diff-filter=R HEAD 2>/dev/null)
for model in "$@"; do
  renamed=()
  if [ -n "${old[$model]:-}" ]; then renamed=(--renamed "${old[$model]}=$model"); fi
  "$program" check "${against[@]}" "${renamed[@]}" -- "$model" || code=1
done
exit "$code"
