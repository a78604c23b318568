#!/usr/bin/env bash
# Makes a repository with three commits in a folder, and records both of its models at each of them, as CI would:
#   tests/history/three_commits.sh FOLDER
# FOLDER/history.jsonl is the history: tests/history/history.jsonl is one. Dates are fixed, so that the hashes of the commits are, too.
set -eu
models=$(cd "$(dirname "$0")/../.." && pwd)/models
mkdir -p "$1"
cd "$1"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.com GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.com
git -c init.defaultBranch=main init -q .

# DAY LIMIT: a commit, whose models are recorded whether their budgets hold or not.
record() {
  cat >onnxflops.toml <<TOML
[models."image.onnx"]
budget = { flops = "$2", params = "90 M" }
at = { batch = 1 }
[models."text.onnx"]
budget.params = "3 M"
at = { batch = 1, seq = 16 }
TOML
  git add image.onnx text.onnx onnxflops.toml
  GIT_AUTHOR_DATE="$1T08:00:00Z" GIT_COMMITTER_DATE="$1T08:00:00Z" git commit -qm "$1"
  local before=0
  [ ! -e history.jsonl ] || before=$(wc -l <history.jsonl)
  onnxflops check image.onnx text.onnx --record history.jsonl >verdicts 2>&1 || [ $? = 1 ]
  sed -i "$((before + 1)),\$s/\"date\": \"[^\"]*\"/\"date\": \"$1T09:00:00Z\"/" history.jsonl
}
cp "$models/resnet50.onnx" image.onnx
cp "$models/lstm.onnx" text.onnx
record 2025-03-01 '10 GFLOP'
cp "$models/vit-b-16.onnx" image.onnx
record 2025-03-02 '10 GFLOP'
cp "$models/mobilenet-v3-large.onnx" image.onnx
cp "$models/custom-op.onnx" text.onnx
record 2025-03-03 '40 GFLOP'
