# Installation: find_package(onnxflops) gives onnxflops::onnxflops

if(BUILD_SHARED_LIBS)
  set_target_properties(onnxflops PROPERTIES INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET onnxflops)
  install(TARGETS onnxflops RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET onnxflops-official)  # only where it has been built
  install(TARGETS onnxflops-official RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/onnxflops OPTIONAL)
endif()
if(CMAKE_CROSSCOMPILING)  # whoever packs it takes them from a build for this machine
  set(ONNXFLOPS_MANUAL OPTIONAL)
endif()
install(FILES ${manual}/onnxflops ${ONNXFLOPS_MANUAL} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${manual}/_onnxflops ${ONNXFLOPS_MANUAL} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${manual}/onnxflops.fish ${ONNXFLOPS_MANUAL} DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${manual}/onnxflops.1 ${ONNXFLOPS_MANUAL} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY tools/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/onnxflops)
# Help texts name pages of docs/.
install(FILES README.md SECURITY.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
# What the commands of README.md and of the tutorial read; a source distribution has no models.
install(FILES models/clip-vit-l-14-336.onnx models/gpt2.onnx models/vit-b-16.onnx DESTINATION ${CMAKE_INSTALL_DOCDIR}/models OPTIONAL)
install(FILES models/deployed/gpt2_past.ort_fused.onnx DESTINATION ${CMAKE_INSTALL_DOCDIR}/models/deployed OPTIONAL)
install(FILES tools/packaging/debian/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)  # not in a source distribution
install(DIRECTORY tools/ci DESTINATION ${CMAKE_INSTALL_DATADIR}/onnxflops USE_SOURCE_PERMISSIONS PATTERN pin EXCLUDE)

# The library, unless Abseil is compiled into it: its users have to have the same.
if(ONNXFLOPS_THIRD_PARTY)
  return()
endif()
include(CMakePackageConfigHelpers)
set(ONNXFLOPS_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/onnxflops)
install(TARGETS onnxflops_lib EXPORT onnxflops DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Installed, "src/api/count.h" is "onnxflops/api/count.h", so that it cannot be taken for a header of its user.
install(CODE "set(headers \"${ONNXFLOPS_PUBLIC_HEADERS}\")
set(source \"${PROJECT_SOURCE_DIR}\")
set(include \"${CMAKE_INSTALL_INCLUDEDIR}\")")
install(CODE [[
foreach(header ${headers})
  file(READ "${source}/${header}" text)
  string(REPLACE "#include \"src/" "#include \"onnxflops/" text "${text}")
  string(REPLACE "#include \"ops/" "#include \"onnxflops/ops/" text "${text}")
  string(REGEX REPLACE "^src/" "" name "${header}")
  if(NOT name STREQUAL "onnxflops.h")
    set(name "onnxflops/${name}")
  endif()
  set(path "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${include}/onnxflops/${name}")
  message(STATUS "Installing: ${path}")
  file(WRITE "${path}" "${text}")
endforeach()
]])
install(EXPORT onnxflops NAMESPACE onnxflops:: DESTINATION ${ONNXFLOPS_PACKAGE_DIR} FILE onnxflopsTargets.cmake)
file(CONFIGURE OUTPUT onnxflopsConfig.cmake @ONLY CONTENT [[
include(CMakeFindDependencyMacro)
find_dependency(absl)
include("${CMAKE_CURRENT_LIST_DIR}/onnxflopsTargets.cmake")
]])
write_basic_package_version_file(onnxflopsConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/onnxflopsConfig.cmake
  ${PROJECT_BINARY_DIR}/onnxflopsConfigVersion.cmake
  DESTINATION ${ONNXFLOPS_PACKAGE_DIR})
