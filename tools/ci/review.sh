#!/usr/bin/env bash
# Reviews the models of a pull request: a difference from the base for each, a comment, and budgets. Run at the root of a checkout
# that has the base's commit. The budgets are those of the base, so that a pull request cannot raise its own.
#   BASE=origin/main MODELS='models/*.onnx' tools/ci/review.sh
# ONNXFLOPS  the program (onnxflops)            BUDGETS  the file of budgets; without it, onnxflops.toml if there is one
# BASE       a revision (origin/main)           OUT      where results go (onnxflops-review)
# MODELS     patterns of git, one a line        THRESHOLD  of changes that are listed (0.1%)
# Writes OUT/comment.md and, with budgets, OUT/FOLDER__NAME.xml (JUnit) for each model. Exit code: 0, 1 if a budget is broken, 2 for an error.
set -uo pipefail
onnxflops=${ONNXFLOPS:-onnxflops} base=${BASE:-origin/main} budgets=${BUDGETS:-onnxflops.toml} out=${OUT:-onnxflops-review}
fail() { echo "review.sh: $1" >&2; exit 2; }
[ -z "$(git ls-files -- "$out")" ] || fail "OUT: '$out' is a part of the repository"
mkdir -p "$out" || exit 2
printf '<!-- onnxflops:review -->\n' >"$out/comment.md"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
readonly most=60000
code=0
worse() { [ "$1" -le "$code" ] || code=$1; }
say() { printf '\n%s\n' "$1" >>"$out/comment.md"; }

commit=$(git rev-parse --verify --quiet --end-of-options "$base^{commit}") ||
  fail "BASE: there is no revision '$base' here: fetch it, or check out with fetch-depth: 0"
mapfile -t patterns <<<"${MODELS:-*.onnx}"
mapfile -d '' -t models < <(git ls-files -z -- "${patterns[@]}")
mapfile -d '' -t gone < <(git diff --name-only -z --no-renames --diff-filter=D "$commit" -- "${patterns[@]}")
[ $((${#models[@]} + ${#gone[@]})) -gt 0 ] || fail "MODELS: no file of the repository matches '${patterns[*]}'"

# The file of the base has the path that it has in the repository, below $work: results say this, without $work.
mkdir -p "$(dirname "$work/$budgets")"
has_budgets=0
if git cat-file blob "$commit:./$budgets" >"$work/$budgets" 2>/dev/null; then
  has_budgets=1
elif [ -e "$budgets" ]; then
  say "Budgets are read from the base, which has none yet: nothing is held to those that are new here."
elif [ -n "${BUDGETS:-}" ]; then
  fail "BUDGETS: there is no file '$budgets', neither at $base nor here"
fi
without_work() { sed "s|$work/||g" "$1"; }

left=0 broken=0
# Appends a part of the comment, if there is room for all of it. The empty line ends the HTML before it.
add() {
  if [ $(($(wc -c <"$out/comment.md") + $(wc -c <"$1"))) -gt $((most - 2000)) ]; then left=$((left + 1)); else { echo; cat "$1"; } >>"$out/comment.md"; fi
}
# Sets `junit`: a/b.onnx and a__b.onnx have a file each, and no name gets too long.
declare -A taken=()
name_junit() {
  local name=${1//\//__} number=""
  name=${name:0:60}
  while [ -n "${taken[$name$number]:-}" ]; do number=$((${number:-1} + 1)); done
  taken[$name$number]=1
  junit=$out/$name$number.xml
}
# Names that are no plain words stay out of the comment.
name_gone() {
  local names="" others=0 name
  for name in "${gone[@]}"; do
    if [ ${#names} -lt 1000 ] && [[ $name =~ ^[A-Za-z0-9_./-]+$ ]]; then names+=${names:+, }\`$name\`; else others=$((others + 1)); fi
  done
  if [ $others -gt 0 ]; then names+=${names:+ and }"$others${names:+ other}"; fi
  say "Models that are gone: $names"
}
for model in "${models[@]}"; do
  # What it points to may lie outside of the repository, and would be shown in the comment.
  if [ -L "$model" ]; then
    printf "review.sh: '%q' is a symbolic link, which is not followed: take it out of MODELS or make it a file\n" "$model" >&2
    worse 2
    broken=$((broken + 1))
    continue
  fi
  if ! "$onnxflops" diff --git "$base" --base-missing ok --threshold "${THRESHOLD:-0.1%}" --comment -o "$work/diff.md" -- "$model"; then
    worse 2
    broken=$((broken + 1))
    continue
  fi
  if [ "$(wc -l <"$work/diff.md")" -gt 2 ]; then add "$work/diff.md"; fi
  [ $has_budgets = 1 ] || continue
  "$onnxflops" check --budgets "$work/$budgets" --git "$base" --base-missing ok --output junit="$work/junit.xml" \
    --output comment="$work/check.md" --output markdown="$work/summary.md" --format github -o "$work/annotations" -- "$model"
  status=$?
  worse $status
  if [ $status = 2 ]; then
    broken=$((broken + 1))
    continue
  fi
  without_work "$work/annotations"
  name_junit "$model"
  without_work "$work/junit.xml" >"$junit"
  if [ -n "${SUMMARY:-}" ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then without_work "$work/summary.md" >>"$GITHUB_STEP_SUMMARY"; fi
  if [ $status = 1 ]; then
    without_work "$work/check.md" >"$work/part.md"
    add "$work/part.md"
  fi
done
if [ $left -gt 0 ]; then say "$left more parts did not fit."; fi
if [ ${#gone[@]} -gt 0 ]; then name_gone; fi
if [ $broken -gt 0 ]; then say "Not reviewed, since an error came first (the log says which): $broken of ${#models[@]} models."; fi
if [ "$(wc -l <"$out/comment.md")" = 1 ]; then printf 'No model changed its cost.\n' >>"$out/comment.md"; fi
exit "$code"
