#!/usr/bin/env bash
# Two commits land in a repository, and CI records each on a branch; while the second is recorded, another job pushes to the branch.
# Prints what the branch has then.
#   tests/history/branch.sh FOLDER
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
program=${ONNXFLOPS_PROGRAM:-$(command -v onnxflops)}
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
for who in AUTHOR COMMITTER; do export "GIT_${who}_NAME=t" "GIT_${who}_EMAIL=t@example.com"; done
mkdir -p "$1" && cd "$1"
git -c init.defaultBranch=main init -q --bare server
git -c init.defaultBranch=main clone -q server work 2>/dev/null
cd work
land() {
  cp "$root/models/$1" model.onnx
  git add -A && git commit -qm "$1" && git push -q origin HEAD:main
}
printf '[budget]\nparams = "1 M"\nflops = "+2%%"\n' >onnxflops.toml
land lstm.static.onnx
ONNXFLOPS=$program "$root/tools/ci/record.sh"

# The job of another commit is faster, once.
git clone -q ../server ../other
cat >../slow <<SLOW
#!/usr/bin/env bash
if [ "\$1" = check ] && mkdir ../raced 2>/dev/null; then (cd ../other && unset GIT_INDEX_FILE && ONNXFLOPS=$program "$root/tools/ci/record.sh"); fi
exec $program "\$@"
SLOW
chmod +x ../slow
land resnet50.onnx
ONNXFLOPS=$PWD/../slow "$root/tools/ci/record.sh" 2>&1 | grep -v '^To \|^hint\|^error: failed\|rejected'
git status --short
git fetch -q origin onnxflops-history
git log --format=%s FETCH_HEAD | sed -E 's/[0-9a-f]{12}/COMMIT/'
git ls-tree --name-only FETCH_HEAD
git show FETCH_HEAD:history.jsonl | wc -l
git show FETCH_HEAD:history.md | sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}/DAY/g; s/[0-9a-f]{7}/COMMIT/g' | head -n 6
git show FETCH_HEAD:history.jsonl | tail -n 1 | grep -o '"limits.*'
BRANCH='a..b' "$root/tools/ci/record.sh" 2>&1 || echo "exit code $?"
MODELS='*.pt' "$root/tools/ci/record.sh" 2>&1 || echo "exit code $?"
REMOTE=nowhere ONNXFLOPS=$program "$root/tools/ci/record.sh" 2>&1 | grep record.sh || true
