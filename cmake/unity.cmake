# With ONNXFLOPS_UNITY the folders of a line are compiled as one file, any other folder by itself, by CMake's unity build: most of the
# time of a file goes into headers that all of them include. So names without linkage have to differ within a line; tests have a
# namespace for each file.
set(ONNXFLOPS_BATCHES
  "src/base src/base/platform src/symbolic"
  "src/graph src/cost src/load src/exporter src/resolve"
  "src/infer"
  "src/family"
  "src/count src/module src/training src/memory"
  "src/convention src/convention/torch src/convention/onnx"
  "src/hardware src/render src/report"
  "src/compare src/estimate src/explain src/mfu src/serving src/pipeline src/sweep src/devices src/operators src/api"
  "src/profile src/annotate src/diff src/check src/history src/monitor"
  "ops ops/formula ops/ml ops/user"
  "tools/cli tools/commands"
  # Of tests/:
  "adapter annotate api settings"
  "base check compare exporter history"
  "count diff family hostile"
  "hardware memory module monitor"
  "infer load resolve"
  "profile program report"
  "symbolic training"
)
function(onnxflops_unity target)
  if(NOT ONNXFLOPS_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(GET source PARENT_PATH batch)
    if(batch STREQUAL PROJECT_BINARY_DIR)  # of a generated file; CMake puts batches in an order that their names decide
      set(batch generated)
    endif()
    foreach(line ${ONNXFLOPS_BATCHES})
      if(" ${line} " MATCHES " ${batch} ")
        set(batch "${line}")
        break()
      endif()
    endforeach()
    string(REGEX REPLACE "[/ ]" "_" group "${batch}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_CODE_BEFORE_INCLUDE "// NOLINTNEXTLINE(bugprone-suspicious-include)")
endfunction()
