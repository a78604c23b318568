# The C++ library, and the program as a tool. VERSION is that of vcpkg.json; tools/ci/pin writes it and the hash.
vcpkg_download_distfile(ARCHIVE
  URLS "https://onnxflops.invalid/releases/download/v${VERSION}/onnxflops-${VERSION}.tar.gz"
  FILENAME "onnxflops-${VERSION}.tar.gz"
  SHA512 c256e56a59a3772d338cabcf9c9be1b1d5725ab73a08b54f0fc92ebedcd908516c3b19f1e820ccf764a8e00aeade80a617528e38a78c7bb86f6397b29ecf0122)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")
file(REMOVE_RECURSE "${SOURCE_PATH}/third_party")  # the libraries are vcpkg's own
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DONNXFLOPS_STATIC_PROGRAM=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/onnxflops)
vcpkg_copy_tools(TOOL_NAMES onnxflops AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
