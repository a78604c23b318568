#!/usr/bin/env bash
# Reviews the models of a pull request: a comment with the verdict first, then what changed from the base in each. Run at the root of a
# checkout that has the base's commit. The budgets are those of the base, so that a pull request cannot raise its own.
#   BASE=origin/main MODELS='models/*.onnx' tools/ci/review.sh
# ONNXFLOPS  the program (onnxflops)            BUDGETS  the file of budgets; without it, each onnxflops.toml
# BASE       a revision (origin/main); models are compared with where this branch left it
# OUT        where results go (onnxflops-review)
# MODELS     patterns of git, one a line        THRESHOLD  of changes that are listed (0.1%)
# Writes OUT/comment.md and, with budgets, OUT/budgets.xml (JUnit). Exit code: 0, 1 if a budget is broken, 2 for an error.
set -uo pipefail
onnxflops=${ONNXFLOPS:-onnxflops} base=${BASE:-origin/main} budgets=${BUDGETS:-onnxflops.toml} out=${OUT:-onnxflops-review}
fail() { echo "review.sh: $1" >&2; exit 2; }
command -v "$onnxflops" >/dev/null || fail "there is no program '$onnxflops' on the PATH: install onnxflops, or name it in ONNXFLOPS"
[ -z "$(git ls-files -- "$out")" ] || fail "OUT: '$out' is a part of the repository"
mkdir -p "$out" || exit 2
printf '<!-- onnxflops:review -->\n' >"$out/comment.md"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
code=0 notes=() changes_budgets=""
worse() { [ "$1" -le "$code" ] || code=$1; }

commit=$(git rev-parse --verify --quiet --end-of-options "$base^{commit}") ||
  fail "BASE: there is no revision '$base' here: fetch it, or check out with fetch-depth: 0"
tip=$commit  # of the base: a branch that is old has its budgets as well
commit=$(git merge-base HEAD "$commit" 2>/dev/null || echo "$commit")
mapfile -t patterns < <(grep -v '^[[:space:]]*$' <<<"${MODELS:-*.onnx}")
[ ${#patterns[@]} -gt 0 ] || fail "MODELS: there is no pattern in it"
# The file as git names it. Budgets are TOML, as files of stages are.
while [[ $budgets = ./* || $budgets = *//* || $budgets = */./* ]]; do
  budgets=${budgets#./} budgets=${budgets//\/\//\/} budgets=${budgets//\/.\//\/}
done
without_budgets() { grep -zvxF -e "$budgets" | grep -zvE '(^|/)onnxflops\.toml$'; }
mapfile -d '' -t models < <(git ls-files -z -- "${patterns[@]}" | without_budgets)
# Renamed files as "R..", the old and the new path, which git finds by content; and removed files.
mapfile -d '' -t moved < <(git diff --name-status -z --relative --find-renames --diff-filter=R "$commit")
mapfile -d '' -t gone < <(git diff --name-only -z --relative --find-renames --diff-filter=D "$commit" -- "${patterns[@]}" | without_budgets)
[ $((${#models[@]} + ${#gone[@]})) -gt 0 ] || fail "MODELS: no file of the repository matches '${patterns[*]}'"
for pattern in "${patterns[@]}"; do  # one that is mistyped would leave models out, and their budgets
  case $pattern in ":!"* | ":^"* | ":("*exclude*")"*) continue ;; esac
  [ -n "$(git ls-files -- "$pattern" | head -n 1)" ] || [ -n "$(git diff --name-only --no-renames --diff-filter=D "$commit" -- "$pattern" | head -n 1)" ] ||
    fail "MODELS: no file of the repository matches '$pattern'"
done

# The budgets of the base: the file that is named, else of each model the nearest onnxflops.toml above it.
case $budgets in /* | ../*) fail "BUDGETS: '$budgets' should be a path inside of the repository" ;; esac
held=("$budgets")
if [ -z "${BUDGETS:-}" ]; then
  mapfile -d '' -t held < <(git ls-tree -r -z --name-only "$tip" | grep -z -E '(^|/)onnxflops\.toml$')
fi
# A file has the path that it has in the repository, below $work: results say this, without $work.
against=(--no-budgets)
for file in "${held[@]}"; do
  case $(git ls-tree "$tip" -- "./$file" | head -n 1) in
    "100"*)
      mkdir -p "$(dirname "$work/$file")"
      git cat-file blob "$tip:./$file" >"$work/$file" 2>/dev/null || fail "BUDGETS: git cannot read '$file' of $base here"
      against=(--budgets "$work${BUDGETS:+/$file}" --format github -o "$work/annotations" --output junit="$work/junit.xml")
      ;;
    "")
      git ls-files --error-unmatch -- "./$file" >/dev/null 2>&1 ||
        fail "BUDGETS: there is no file '$file', neither at $base nor here"
      ;;
    *)
      printf "review.sh: BUDGETS: '%q' is no file at %q, but a link or a folder\n" "$file" "$base" >&2
      worse 2
      ;;
  esac
done
if [ "${against[0]}" = --no-budgets ] && git ls-files --error-unmatch -- "./$budgets" >/dev/null 2>&1; then
  notes+=("Budgets are read from the base, which has none yet: nothing is held to those that are new here.")
fi
if [ "${against[0]}" != --no-budgets ] && ! git diff --quiet "$commit" -- "${held[@]}"; then
  changes_budgets="This pull request changes budgets. It is held to those of the base; the new ones hold after the merge."
fi
without_work() { sed "s|$work/||g" "$1"; }
# Annotations stand in files as they are here. Where a file of budgets is another here, a rule is at its line if this has its key, at the
# first line that says the same, or at none.
anchor() {
  local line file at text
  while IFS= read -r line; do
    if [[ $line =~ ^(::[a-z]+\ file=)([^,]+),line=([0-9]+)(,.*)$ ]]; then
      file=${BASH_REMATCH[2]}
      if [ -f "$work/$file" ] && [ ! -L "$file" ] && ! cmp -s "$work/$file" "$file"; then
        at=${BASH_REMATCH[3]} text=$(sed -n "${at}p" "$work/$file")
        if [ "${text%%=*}" != "$(sed -n "${at}p" "$file" 2>/dev/null | cut -d = -f 1)" ]; then
          at=$(grep -nxF -m 1 -e "$text" -- "$file" 2>/dev/null | cut -d : -f 1)
        fi
        line=${BASH_REMATCH[1]}$file${at:+,line=$at}${BASH_REMATCH[4]}
      fi
    fi
    printf '%s\n' "$line"
  done
}

# Names that are not plain words stay out of the comment.
name_gone() {
  local names="" others=0 name
  for name in "${gone[@]}"; do
    if [ ${#names} -lt 1000 ] && [[ $name =~ ^[A-Za-z0-9_./-]+$ ]]; then names+=${names:+, }\`$name\`; else others=$((others + 1)); fi
  done
  if [ $others -gt 0 ]; then names+=${names:+ and }"$others${names:+ other}"; fi
  notes+=("Models that are gone: $names")
}
files=() left=0
for model in "${models[@]}"; do
  # A link's target may lie outside the repository, and would be shown in the comment.
  if [ -L "$model" ]; then
    printf "review.sh: '%q' is a symbolic link, which is not followed: take it out of MODELS or make it a file\n" "$model" >&2
    left=$((left + 1))
    worse 2
  elif [ -d "$model" ]; then
    printf "review.sh: '%q' is a submodule, which is left out\n" "$model" >&2
  else
    files+=("$model")
  fi
done
for ((i = 0; i + 2 < ${#moved[@]}; i += 3)); do
  for model in "${files[@]}"; do
    if [ "$model" = "${moved[i + 2]}" ]; then against+=(--renamed "${moved[i + 1]}=$model"); fi
  done
done
if [ ${#files[@]} -gt 0 ]; then
  # A removed model has a row; for very many models the number is enough.
  if [ ${#gone[@]} -gt 200 ]; then name_gone; else for model in "${gone[@]}"; do against+=(--removed "$model"); done; fi
  "$onnxflops" check --git "$commit" --base-missing ok --threshold="${THRESHOLD:-0.1%}" --review "$work/comment.md" "${against[@]}" -- \
    "${files[@]}" 2>"$work/messages"
  worse $?
  without_work "$work/messages" >&2
  if [ -s "$work/comment.md" ]; then without_work "$work/comment.md" >"$out/comment.md"; else left=${#models[@]} && worse 2; fi
  if [ -e "$work/annotations" ]; then without_work "$work/annotations" | anchor; fi
  if grep -q 'a Git LFS pointer' "$work/messages"; then
    notes+=('The workflow did not fetch Git LFS files: actions/checkout does with `lfs: true`.')
  fi
  if [ -e "$work/junit.xml" ]; then without_work "$work/junit.xml" >"$out/budgets.xml"; fi
fi
if [ ${#gone[@]} -gt 0 ] && [ ${#gone[@]} -le 200 ] && [ ! -s "$work/comment.md" ]; then name_gone; fi
if [ $left -gt 0 ]; then notes+=("Not reviewed, since an error came first (the log says which): $left of ${#models[@]} models."); fi
if [ -n "$changes_budgets" ]; then
  if [ $code -eq 1 ]; then changes_budgets+=" To accept a higher limit, merge that first."; fi
  # Below the verdict, where a reader who wonders at it looks.
  { head -n 2 "$out/comment.md" && printf '\n%s\n' "$changes_budgets" && tail -n +3 "$out/comment.md"; } >"$work/with_note"
  cp "$work/with_note" "$out/comment.md"
fi
for note in "${notes[@]}"; do printf '\n%s\n' "$note" >>"$out/comment.md"; done
if [ -n "${SUMMARY:-}" ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then tail -n +2 "$out/comment.md" >>"$GITHUB_STEP_SUMMARY"; fi
exit "$code"
