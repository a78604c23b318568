# Packages: cpack --config build/CPackConfig.cmake writes a .deb and a .tar.gz

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_NAME onnxflops)
set(CPACK_PACKAGE_VENDOR onnxflops)
set(CPACK_PACKAGE_CONTACT "the authors of onnxflops <onnxflops@invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "counts the arithmetic of ONNX models, exactly and without running them")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "onnxflops counts FLOPs, MACs, parameters, bytes and memory of an ONNX model by\nmodule, operator and node, says why other tools print other figures, and holds\nmodels to budgets in CI.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/deb_files.cmake)
# For programs that link the library, since ours is static; and for a script of tools/ci.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libabsl-dev, python3")
include(CPack)
