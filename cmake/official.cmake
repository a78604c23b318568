# The official library reads models written as text. Linked into the program it would cost every start a seventh of its time.
if(NOT DEFINED ENV{ONNXFLOPS_DEPS})
  set(ENV{ONNXFLOPS_DEPS} ${PROJECT_SOURCE_DIR}/.deps)
endif()
list(APPEND CMAKE_PREFIX_PATH $ENV{ONNXFLOPS_DEPS}/onnx-1.23.2)  # put there by tools/setup
find_package(Protobuf QUIET)  # before ONNX, whose targets name it
if(Protobuf_FOUND)
  find_package(ONNX 1.23.2 QUIET CONFIG)
endif()
if(TARGET ONNX::onnx)
  add_library(onnxflops_official_tools STATIC ${ONNXFLOPS_OFFICIAL_SOURCES})
  target_link_libraries(onnxflops_official_tools
    PUBLIC onnxflops_tools ONNX::onnx protobuf::libprotobuf PRIVATE onnxflops_options)
  onnxflops_unity(onnxflops_official_tools)
  add_executable(onnxflops-official tools/official/main.cc)
  target_link_libraries(onnxflops-official PRIVATE onnxflops_official_tools onnxflops_options)
  # Static, so that it starts as fast; but where Debian's archive of Protobuf is not there.
  get_target_property(protobuf protobuf::libprotobuf IMPORTED_LOCATION)
  string(REGEX REPLACE "\\.so[.0-9]*$" ".a" protobuf "${protobuf}")
  if(ONNXFLOPS_STATIC_PROGRAM AND protobuf MATCHES "\\.a$" AND EXISTS "${protobuf}")
    set_target_properties(protobuf::libprotobuf PROPERTIES IMPORTED_LOCATION "${protobuf}")
    get_target_property(configurations protobuf::libprotobuf IMPORTED_CONFIGURATIONS)  # each has a location of its own
    foreach(configuration IN LISTS configurations)
      set_target_properties(protobuf::libprotobuf PROPERTIES IMPORTED_LOCATION_${configuration} "${protobuf}")
    endforeach()
    target_link_options(onnxflops-official PRIVATE ${ONNXFLOPS_STATIC})
  endif()
endif()
