#!/usr/bin/env bash
# Makes a repository with a pull request in a folder, reviews it as CI does, and prints what a maintainer sees: the exit code, the
# annotations on stderr and the comment.
#   tests/review/pull_request.sh FOLDER CASE
# The base has five models and budgets for three of them. CASE names what the pull request does.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
models=$root/models
mkdir -p "$1"
cd "$1"
export ONNXFLOPS=${ONNXFLOPS_PROGRAM:-onnxflops} GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git -c init.defaultBranch=main init -q .
git config user.name t
git config user.email t@example.com
commit() { git add -A && git commit -qm "$1"; }

cp "$models/lstm.static.onnx" text.onnx
cp "$models/lstm.onnx" text-open.onnx
cp "$models/mobilenet-v3-large.onnx" image.onnx
cp "$models/deployed/resnet50.ts11.static.onnx" float.onnx
cp "$models/custom-op.onnx" custom.onnx
cat >onnxflops.toml <<'TOML'
[models."image.onnx".budget]
params = "6 M"
flops = { limit = "+2%", warn = "+1%" }
[models."image.onnx".at]
batch = 1
[models."text*.onnx".budget]
flops = "+5%"
[models."float.onnx".operators]
forbid = ["Loop"]
TOML
case $2 in
  own-budgets | moved | emptied-budgets)
    mkdir vision text
    mv image.onnx vision/
    mv text.onnx text/
    printf 'device = "h100-sxm"\ndtype = "bf16"\n[budget]\nflops = "+2%%"\n' >vision/onnxflops.toml
    printf '[budget]\nparams = "1 M"\n' >text/onnxflops.toml
    printf '[models."float.onnx".operators]\nforbid = ["Loop"]\n' >onnxflops.toml
    ;;
  no-rule) mkdir configs && mv onnxflops.toml configs/ ;;
esac
commit base

case $2 in
  nothing) echo text >README.md ;;
  changed | no-rule) cp "$models/resnet50.onnx" image.onnx ;;
  new) cp "$models/resnet50.onnx" second.onnx ;;
  removed) git rm -q float.onnx ;;
  renamed) git mv image.onnx vision.onnx ;;
  renamed-changed)
    git rm -q image.onnx
    cp "$models/deployed/mobilenet_v3_large.qdq_u8_ort_all.onnx" vision.onnx
    ;;
  own-budgets) cp "$models/resnet50.onnx" vision/image.onnx ;;
  moved) git mv vision other ;;
  emptied-budgets)
    cp "$models/resnet50.onnx" vision/image.onnx
    : >onnxflops.toml
    git rm -q vision/onnxflops.toml
    ;;
  lfs) printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 123456\n' 7 >text.onnx ;;
  unreadable) printf 'junk' >text.onnx ;;
  unknown-operator) cp custom.onnx float.onnx ;;
  exporter-changed) cp "$models/resnet50.onnx" float.onnx ;;
  fixed-batch) cp text.onnx text-open.onnx ;;
  quantised) cp "$models/deployed/resnet50.qdq_s8.onnx" float.onnx ;;
  raised-budget)
    cp "$models/resnet50.onnx" image.onnx
    printf '[budget]\nparams = "1 G"\n' >onnxflops.toml
    ;;
  hostile-name) cp "$models/resnet50.onnx" '<!-- `@admin` [a](b).onnx' ;;
  *) echo "no such case: $2" >&2; exit 2 ;;
esac
commit head

code=0
BASE=HEAD~1 "$root/tools/ci/review.sh" >annotations || code=$?
"$root/tools/ci/plain_comment.py" onnxflops-review/comment.md
echo "exit code $code"
cat annotations onnxflops-review/comment.md
