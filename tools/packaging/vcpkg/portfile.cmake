# The C++ library, and the program as a tool. VERSION is that of vcpkg.json; tools/ci/pin writes it and the hash.
vcpkg_download_distfile(ARCHIVE
  URLS "https://onnxflops.invalid/releases/download/v${VERSION}/onnxflops-${VERSION}.tar.gz"
  FILENAME "onnxflops-${VERSION}.tar.gz"
  SHA512 06537b8f09c43761cec065e57e0776b0023fda2b067844e0aaa0152de7c2b713762d6a431c24bc1279ac1446412d8fc5dc375d7895ab13d685c7b7b9c1426d15)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")
file(REMOVE_RECURSE "${SOURCE_PATH}/third_party")  # the libraries are vcpkg's own
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DONNXFLOPS_STATIC_PROGRAM=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/onnxflops)
vcpkg_copy_tools(TOOL_NAMES onnxflops AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
