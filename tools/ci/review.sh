#!/usr/bin/env bash
# Reviews the models of a pull request: a difference from the base for each, a comment, and budgets. Run at the root of a checkout
# that has the base's commit. The budgets are those of the base, so that a pull request cannot raise its own.
#   BASE=origin/main MODELS='models/*.onnx' tools/ci/review.sh
# ONNXFLOPS  the program (onnxflops)            BUDGETS  the file of budgets (onnxflops.toml); none: only differences
# BASE       a revision (origin/main)           OUT      where results go (onnxflops-review)
# MODELS     patterns of git, one a line        THRESHOLD  of changes that are listed (0.1%)
# Writes OUT/comment.md and, with budgets, OUT/FOLDER__NAME.xml (JUnit) for each model. Exit code: 0, 1 if a budget is broken, 2 for an error.
set -uo pipefail
onnxflops=${ONNXFLOPS:-onnxflops} base=${BASE:-origin/main} budgets=${BUDGETS:-onnxflops.toml} out=${OUT:-onnxflops-review}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
readonly most=60000
code=0
worse() { [ "$1" -le "$code" ] || code=$1; }

has_budgets=0
if git cat-file blob "$base:./$budgets" >"$work/onnxflops.toml" 2>/dev/null; then has_budgets=1; fi

mapfile -t patterns <<<"${MODELS:-*.onnx}"
mapfile -d '' -t models < <(git ls-files -z -- "${patterns[@]}")
printf '<!-- onnxflops:review -->\n' >"$out/comment.md"
left=0
# Appends a part of the comment, if there is room for all of it. The empty line ends the HTML before it.
add() {
  if [ $(($(wc -c <"$out/comment.md") + $(wc -c <"$1"))) -gt $((most - 200)) ]; then left=$((left + 1)); else { echo; cat "$1"; } >>"$out/comment.md"; fi
}
for model in "${models[@]}"; do
  if ! "$onnxflops" diff --git "$base" --base-missing ok --threshold "${THRESHOLD:-0.1%}" --comment -o "$work/diff.md" -- "$model"; then
    worse 2
    continue
  fi
  if [ "$(wc -l <"$work/diff.md")" -gt 2 ]; then add "$work/diff.md"; fi
  [ $has_budgets = 1 ] || continue
  old=$work/old.onnx
  git cat-file blob "$base:./$model" >"$old" 2>/dev/null || rm -f "$old"
  "$onnxflops" check --budgets "$work/onnxflops.toml" --against "$old" --base-missing ok \
    --output junit="$out/${model//\//__}.xml" --output comment="$work/check.md" --format github ${SUMMARY:+--summary} -- "$model"
  status=$?
  worse $status
  if [ $status = 1 ]; then add "$work/check.md"; fi
done
if [ $left -gt 0 ]; then printf '\n%s more parts did not fit.\n' "$left" >>"$out/comment.md"; fi
if [ "$(wc -l <"$out/comment.md")" = 1 ]; then printf 'No model changed its cost.\n' >>"$out/comment.md"; fi
exit "$code"
