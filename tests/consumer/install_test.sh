#!/usr/bin/env bash
# Installs the library into a temporary folder, and builds and runs the project in this folder against it:
# install_test.sh BUILD_DIRECTORY [ARGUMENT]...   The arguments go to the project's program.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
test -f "$work/prefix/share/onnxflops/schema/report.v1.schema.json" || { echo "no JSON schemas are installed"; exit 1; }
# The include path of a user may contain only names of ours.
test "$(ls "$work/prefix/include/onnxflops" | tr '\n' ' ')" = "onnxflops onnxflops.h " || { ls "$work/prefix/include/onnxflops"; exit 1; }
# Users of the library must not inherit the compile options of our own targets.
if grep -rnE 'stack-protector|cf-protection|FORTIFY|ASSERTIONS|-ffunction-sections' "$work/prefix/lib" --include='*.cmake'; then exit 1; fi
cmake -S "$here" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix"
cmake --build "$work/build"
"$work/build/consumer" "$@"
# A model written as text: the second program is found through PATH, or by the environment; without it, the error says what to do.
text=$(dirname "$here")/data/text/layer.onnxtxt
if "$work/build/consumer" "$text" 2>"$work/refusal"; then echo "a text model was read without onnxflops-official"; exit 1; fi
grep -q ONNXFLOPS_OFFICIAL "$work/refusal" || { cat "$work/refusal"; exit 1; }
PATH="$work/prefix/bin:$PATH" "$work/build/consumer" "$text"
ONNXFLOPS_OFFICIAL=$work/prefix/libexec/onnxflops/onnxflops-official "$work/build/consumer" "$text"
