# A Python interpreter with the extension inside, for the thread sanitizer: tests/python/run --threads.
if(ONNXFLOPS_EMBEDDED_PYTHON)
  find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development)
  find_package(nanobind CONFIG REQUIRED)
  nanobind_build_library(nanobind-static)
  set_target_properties(nanobind-static PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  if(ONNXFLOPS_SANITIZE)
    target_compile_options(nanobind-static PRIVATE -fsanitize=${ONNXFLOPS_SANITIZE})
  endif()
  add_executable(onnxflops_embedded_python EXCLUDE_FROM_ALL ${ONNXFLOPS_PYTHON_SOURCES}
    tests/python/embedded_main.cc)
  target_link_libraries(onnxflops_embedded_python PRIVATE nanobind-static onnxflops_tools onnxflops_options Python::Python)
  target_precompile_headers(onnxflops_embedded_python PRIVATE <nanobind/nanobind.h> <functional> <map> <memory> <optional> <string> <vector>
    ${ONNXFLOPS_ABSL_HEADERS})
  # Python's names of a module's entry; options of a file come last.
  set_property(SOURCE ${ONNXFLOPS_PYTHON_SOURCES} tests/python/embedded_main.cc PROPERTY COMPILE_OPTIONS -Wno-reserved-identifier)
endif()
if(ONNXFLOPS_PYTHON)
  list(TRANSFORM ONNXFLOPS_PYTHON_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/)
  add_subdirectory(src/python)
endif()
