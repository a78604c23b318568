#!/usr/bin/env bash
# Only src/exporter/ reads traces of exporters: no other file of the library contains one of their keys or patterns as a
# literal. With an argument, checks that directory instead.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
shopt -s globstar nullglob
awk '
  # Comments may contain them; two slashes inside a string do not begin a comment.
  { sub(/(^|[ \t])\/\/.*/, "") }
  /pkg\.(torch|onnxscript)|name_scopes"|class_hierarchy"|fx_node"|"namespace"/ { fault("a metadata key") }
  /"onnx::|in_proj_(weight|bias)|"_empty_nn_module_stack|"onnxscript"|"pytorch"|"tf2onnx"|"keras/ { fault("a name") }
  /"\(?args = |"kwargs = |"%[pbc]_|num_users|call_function|enable_gqa: / { fault("a text of torch.fx") }
  function fault(what) { print FILENAME ":" FNR ": " what " of an exporter, which belongs into src/exporter/: " $0; faults++ }
  END { exit faults > 0 }
' $(printf '%s\n' src/**/*.{h,cc} ops/**/*.{h,cc} | grep -v '^src/exporter/') /dev/null
