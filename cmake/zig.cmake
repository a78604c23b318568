# A toolchain for another system, of PyPI's ziglang: -DCMAKE_TOOLCHAIN_FILE=cmake/zig.cmake -DONNXFLOPS_ZIG=.../ziglang/zig
# -DONNXFLOPS_TARGET=TARGET, where TARGET is as zig has it: aarch64-linux-musl, x86_64-linux-gnu.2.28, aarch64-macos.11.0.
# tools/release uses it.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ONNXFLOPS_ZIG ONNXFLOPS_TARGET)
if(ONNXFLOPS_TARGET MATCHES "macos")
  set(CMAKE_SYSTEM_NAME Darwin)
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${ONNXFLOPS_TARGET}")
set(CMAKE_CXX_COMPILER ${ONNXFLOPS_ZIG} c++)
set(CMAKE_CXX_COMPILER_TARGET ${ONNXFLOPS_TARGET})
set(CMAKE_CXX_FLAGS_INIT "-fno-sanitize=all")
if(ONNXFLOPS_TARGET MATCHES "musl")  # Abseil asks for off64_t
  string(APPEND CMAKE_CXX_FLAGS_INIT " -D_LARGEFILE64_SOURCE")
elseif(ONNXFLOPS_TARGET MATCHES "macos")  # whose <math.h> keeps this one of <float.h> away
  string(APPEND CMAKE_CXX_FLAGS_INIT " -DFLT_RADIX=__FLT_RADIX__")
endif()
set(CMAKE_CXX_ARCHIVE_CREATE "${ONNXFLOPS_ZIG} ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "${ONNXFLOPS_ZIG} ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "${ONNXFLOPS_ZIG} ranlib <TARGET>")
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
# Programs have no symbols; what strips those of this machine does not know theirs. A static one is loaded at a random address as well.
set(CMAKE_EXE_LINKER_FLAGS_INIT -s)
if(ONNXFLOPS_TARGET MATCHES "musl")
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -pie")
endif()
set(CMAKE_STRIP "")
