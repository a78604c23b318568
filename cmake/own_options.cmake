# onnxflops_options: what our own targets are compiled and linked with. Nothing of it reaches those who use the library.

add_library(onnxflops_options INTERFACE)
# Operator tables name only the fields that a row has, so missing initializers are no mistake.
target_compile_options(onnxflops_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers -ffunction-sections)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # g++ 12 is often wrong in these
  target_compile_options(onnxflops_options INTERFACE -Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
  if(ONNXFLOPS_UNITY)  # what is in no header looks as if it were in one
    target_compile_options(onnxflops_options INTERFACE -Wno-subobject-linkage)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # in the place of checks of clang-tidy that find the same and take a fifth of its time
  target_compile_options(onnxflops_options INTERFACE
    -Wreserved-identifier -Wreserved-macro-identifier -Wsuggest-override -Wzero-as-null-pointer-constant)
endif()
if(APPLE)
  target_link_options(onnxflops_options INTERFACE -Wl,-dead_strip)
else()
  target_link_options(onnxflops_options INTERFACE -Wl,--gc-sections)
endif()
if(ONNXFLOPS_SANITIZE)
  target_compile_options(onnxflops_options INTERFACE
    -fno-omit-frame-pointer -fsanitize=${ONNXFLOPS_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(onnxflops_options INTERFACE -fsanitize=${ONNXFLOPS_SANITIZE})
  # Edges guide the seconds of fuzzing that every change gets. What comparisons compare guides a long hunt (FUZZ_COMPARISONS of
  # tools/fuzz), but costs all tests a fifth of their time, and a quarter of what compiling takes. The table of addresses guides nothing: it names what
  # was reached, and each start of a program relocates it.
  option(ONNXFLOPS_FUZZ_COMPARISONS "Let the operands of comparisons guide fuzzing as well" OFF)
  if(ONNXFLOPS_SANITIZE MATCHES "fuzzer" AND NOT ONNXFLOPS_FUZZ_COMPARISONS)
    target_compile_options(onnxflops_options INTERFACE -fno-sanitize-coverage=trace-cmp,indirect-calls,stack-depth,pc-table)
  endif()
  if(ONNXFLOPS_SANITIZE MATCHES "address")
    target_compile_options(onnxflops_options INTERFACE "SHELL:-include ${PROJECT_SOURCE_DIR}/tests/unsanitized_absl.h")
  endif()
  find_program(ONNXFLOPS_LLD NAMES ld.lld-14 ld.lld)  # some 60 tests of 20 MB each are linked
  if(ONNXFLOPS_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_link_options(onnxflops_options INTERFACE -fuse-ld=lld)
  endif()
endif()
