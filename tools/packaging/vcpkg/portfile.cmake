# The C++ library, and the program as a tool. VERSION is that of vcpkg.json; tools/ci/pin writes it and the hash.
vcpkg_download_distfile(ARCHIVE
  URLS "https://onnxflops.invalid/releases/download/v${VERSION}/onnxflops-${VERSION}.tar.gz"
  FILENAME "onnxflops-${VERSION}.tar.gz"
  SHA512 f32e5258606c365c700f4e6783107a1b16b65b84e8c06a53a359c081204a830d651052a0e2a33a3d433a3fd28a64ae0ad411057c394ecb79770eecc1369a7ec7)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")
file(REMOVE_RECURSE "${SOURCE_PATH}/third_party")  # the libraries are vcpkg's own
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DONNXFLOPS_STATIC_PROGRAM=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/onnxflops)
vcpkg_copy_tools(TOOL_NAMES onnxflops AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
