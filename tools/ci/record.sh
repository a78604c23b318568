#!/usr/bin/env bash
# Adds what the models of this commit cost to a history on a branch of its own, and pushes it. Run at the root of a checkout, after a
# change has landed. The working tree and the index are left alone.
#   MODELS='models/*.onnx' tools/ci/record.sh
# ONNXFLOPS  the program (onnxflops)            BRANCH  that holds the history (onnxflops-history); it is made where there is none
# MODELS     patterns of git, one a line        REMOTE  where the branch is (origin)
# BUDGETS    the file of budgets; without it, each onnxflops.toml
# The branch has history.jsonl, the records, and what they say as history.md and history.html. Exit code: 0, 2 for an error.
set -uo pipefail
onnxflops=${ONNXFLOPS:-onnxflops} held=${BUDGETS:-} branch=${BRANCH:-onnxflops-history} remote=${REMOTE:-origin}
fail() { echo "record.sh: $1" >&2; exit 2; }
case $branch in -*) false ;; *) git check-ref-format "refs/heads/$branch" ;; esac || fail "BRANCH: '$branch' is no name of a branch"
case $remote in -*) fail "REMOTE: '$remote' is no name of a remote" ;; esac
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

mapfile -t patterns < <(grep -v '^[[:space:]]*$' <<<"${MODELS:-*.onnx}")
[ ${#patterns[@]} -gt 0 ] || fail "MODELS: there is no pattern in it"
# Budgets are TOML, as files of stages are.
mapfile -d '' -t models < <(git ls-files -z -- "${patterns[@]}" | grep -zvxF -e "${held#./}" | grep -zvE '(^|/)onnxflops\.toml$')
[ ${#models[@]} -gt 0 ] || fail "MODELS: no file of the repository matches '${patterns[*]}'"
for pattern in "${patterns[@]}"; do  # one that is mistyped would leave models out
  case $pattern in ":!"* | ":^"* | ":("*exclude*")"*) continue ;; esac
  [ -n "$(git ls-files -- "$pattern" | head -n 1)" ] || fail "MODELS: no file of the repository matches '$pattern'"
done
command -v "$onnxflops" >/dev/null || fail "there is no program '$onnxflops' on the PATH: install onnxflops, or name it in ONNXFLOPS"
head=$(git rev-parse --verify --quiet HEAD) || fail "there is no commit here"
# A job has no name of its own.
if ! git var GIT_COMMITTER_IDENT >/dev/null 2>&1; then
  export GIT_AUTHOR_NAME=onnxflops GIT_COMMITTER_NAME=onnxflops
  export GIT_AUTHOR_EMAIL=onnxflops@example.invalid GIT_COMMITTER_EMAIL=onnxflops@example.invalid
fi
# Budgets are lines in the charts. Those that are relative have this commit as their base.
budgets=(--no-budgets)
if [ -n "$held" ]; then
  git ls-files --error-unmatch -- "./$held" >/dev/null 2>&1 || fail "BUDGETS: there is no file '$held'"
  budgets=(--budgets "$held" --git HEAD)
elif [ -n "$(git ls-files -- onnxflops.toml '*/onnxflops.toml')" ]; then budgets=(--git HEAD); fi
export GIT_INDEX_FILE="$work/index"  # of the commit that is made, not of the checkout

code=0
# One commit on the branch as it is now. Another job may push first: then the push is refused, and all is done again.
add_commit() {
  local parent="" parents=() blob tree commit
  rm -f "$work"/history.* "$GIT_INDEX_FILE"
  if git ls-remote --exit-code --heads "$remote" "refs/heads/$branch" >"$work/heads"; then
    git fetch --quiet --no-tags "$remote" "refs/heads/$branch" || fail "BRANCH: git cannot fetch '$branch' of $remote"
    parent=$(git rev-parse --verify FETCH_HEAD)
    parents=(-p "$parent")
    git read-tree "$parent" || exit 2
    git cat-file blob "$parent:history.jsonl" >"$work/history.jsonl" 2>/dev/null || fail "BRANCH: '$branch' has no history.jsonl"
  elif [ $? -ne 2 ]; then
    fail "REMOTE: git cannot read $remote"
  fi
  "$onnxflops" check --record "$work/history.jsonl" "${budgets[@]}" -- "${models[@]}" >/dev/null
  code=$?
  # A model that cannot be read is no reason to lose the others.
  if [ $code -gt 2 ] || [ ! -s "$work/history.jsonl" ]; then exit 2; fi
  if [ $code -eq 1 ]; then code=0; fi
  "$onnxflops" history "$work/history.jsonl" --format markdown -o "$work/history.md" || exit 2
  "$onnxflops" history "$work/history.jsonl" -o "$work/history.html" || exit 2
  for file in history.jsonl history.md history.html; do
    blob=$(git hash-object -w -- "$work/$file") || exit 2
    git update-index --add --cacheinfo "100644,$blob,$file" || exit 2
  done
  tree=$(git write-tree) || exit 2
  commit=$(git commit-tree "${parents[@]}" -m "Record the models of ${head:0:12}" "$tree") || exit 2
  git push --quiet "$remote" "$commit:refs/heads/$branch"
}
for attempt in 1 2 3 4 5 6 7 8; do
  if add_commit; then exit "$code"; fi
  echo "record.sh: the push was refused ($attempt of 8)" >&2
  sleep "$((RANDOM % (2 * attempt))).$((RANDOM % 10))"
done
fail "BRANCH: '$branch' of $remote takes no commit of this job"
