#!/usr/bin/env bash
# Every .cc file is built: those of src/, ops/, tools/ and tools/official/ stand in cmake/sources.cmake, tests in tests/CMakeLists.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."
missing=0
shopt -s globstar nullglob
for file in src/**/*.cc ops/**/*.cc tools/*.cc tools/{cli,commands,official}/*.cc; do
  grep -qE "^ +${file//./\\.}$|^ *add_executable\(\S+ ${file//./\\.}\)$" cmake/sources.cmake CMakeLists.txt cmake/official.cmake || { echo "$file is not in cmake/sources.cmake"; missing=1; }
done
for file in tests/**/*_test.cc; do
  name=${file#tests/}
  grep -qE "^ *onnxflops_test\(${name%.cc}[ )]" tests/CMakeLists.txt || { echo "$file is not in tests/CMakeLists.txt"; missing=1; }
done
exit $missing
