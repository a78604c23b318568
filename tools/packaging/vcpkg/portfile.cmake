# The C++ library, and the program as a tool. VERSION is that of vcpkg.json; tools/ci/pin writes it and the hash.
vcpkg_download_distfile(ARCHIVE
  URLS "https://onnxflops.invalid/releases/download/v${VERSION}/onnxflops-${VERSION}.tar.gz"
  FILENAME "onnxflops-${VERSION}.tar.gz"
  SHA512 fc41d1a36094416f652145f784627fe4b98b863e591e2bd408a5fba423e8521286af048777d6edf77824312c0e8ee67ac25eb39df2368a2a8af2a5718e53e747)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")
file(REMOVE_RECURSE "${SOURCE_PATH}/third_party")  # the libraries are vcpkg's own
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DONNXFLOPS_STATIC_PROGRAM=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/onnxflops)
vcpkg_copy_tools(TOOL_NAMES onnxflops AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
