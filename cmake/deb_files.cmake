# What Debian wants in a package beyond what is installed; CPack runs it before it packs.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
file(GLOB pages ${CPACK_TEMPORARY_DIRECTORY}/usr/share/man/man1/*.1)
set(changelog ${CPACK_TEMPORARY_DIRECTORY}/usr/share/doc/onnxflops/changelog)
string(TIMESTAMP day "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH
file(WRITE ${changelog} "onnxflops (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * The page docs/versions.md tells where changes are listed.

 -- ${CPACK_PACKAGE_CONTACT}  ${day}
")
execute_process(COMMAND gzip -9nf ${pages} ${changelog} COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${CPACK_TEMPORARY_DIRECTORY}/usr/share/lintian/overrides/onnxflops "# The programs are static, so that they run on any Linux.
onnxflops: shared-library-lacks-prerequisites
onnxflops: statically-linked-binary
")
