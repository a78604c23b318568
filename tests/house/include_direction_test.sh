#!/usr/bin/env bash
# The arrows of the pipeline: a stage of src/ includes no later stage and nothing of tools/, ops/ only the values it needs, the textbook loops of
# tests/oracle/ nothing of ops/; and the library neither prints nor exits. With an argument, checks that directory instead.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
shopt -s globstar nullglob
awk '
  BEGIN {
    split("base symbolic graph cost load exporter family resolve infer count module adapter training memory convention hardware render report compare operators explain estimate mfu serving pipeline sweep devices profile annotate diff check history monitor api settings python", stages)
    for (i in stages) order[stages[i]] = i + 0
  }
  function fault(what) { print FILENAME ":" FNR ": " what; faults++ }
  { sub(/\/\/.*/, "") }
  function in_library() { return FILENAME ~ /^(src|ops)\// }
  in_library() && /(^|[^A-Za-z0-9_])(std::c(out|err|log)|stdout|stderr)([^A-Za-z0-9_]|$)/ { fault("the library prints: " $0) }
  in_library() && /(^|[^A-Za-z0-9_:.>])(std::|fmt::|absl::|::)?(printf|puts|putchar|PrintF|print)\(/ { fault("the library prints: " $0) }
  in_library() && /(^|[^A-Za-z0-9_:.>])(std::|::)?(exit|_exit|quick_exit|abort|terminate)\(/ { fault("the library exits: " $0) }
  /^ *# *include *"/ {
    split($0, quoted, "\"")
    split(quoted[2], to, "/")
    split(FILENAME, from, "/")
    if (from[1] == "src" && to[1] == "src" && from[2] in order && order[to[2]] > order[from[2]])
      fault(from[2] " includes the later stage " to[2])
    if (from[1] == "src" && to[1] == "ops" && from[2] in order && order[from[2]] < order["resolve"])
      fault(from[2] " includes ops/, which is for resolve and later stages")
    if (from[1] == "ops" && to[1] == "src" && quoted[2] !~ /^src\/(base|symbolic|graph)\// && quoted[2] != "src/cost/cost.h")
      fault("ops/ includes " quoted[2])
    if (from[1] ~ /^(src|ops)$/ && to[1] ~ /^(tools|tests)$/)
      fault("the library includes " quoted[2])
    if (FILENAME ~ /^tests\/oracle\// && to[1] == "ops")
      fault("a textbook loop includes " quoted[2] ", the rule it judges")
  }
  END { exit faults > 0 }
' src/**/*.{h,cc} ops/**/*.{h,cc} tests/oracle/**/*.{h,cc} /dev/null
