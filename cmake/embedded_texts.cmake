# The style and the script of pages are files of their own (the script is several, one behind the other), and compiled in without
# indentation and lines that are comments. tools/web/build does the same.
foreach(asset parts.js sizes.js tree.js picture.js table.js modules.js count.js diff.js compare.js pipeline.js profile.js history.js documents.js report.css)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/render/html/${asset})
  file(READ src/render/html/${asset} text)
  string(REGEX REPLACE "\n +" "\n" text "\n${text}")
  string(REGEX REPLACE "\n//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "\n\n+" "\n" text "${text}")
  cmake_path(GET asset EXTENSION extension)
  string(APPEND asset${extension} "${text}")
endforeach()
# The devices and the zoos' figures are compiled in as their files stand.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/hardware/devices.toml src/settings/zoos.csv)
file(READ src/hardware/devices.toml devices)
file(READ src/settings/zoos.csv zoos)
# What --version names beside the version. A source distribution has it as a file; in a checkout, which moves on, it is not known.
set(ONNXFLOPS_COMMIT "" CACHE STRING "The commit of a release, as tools/release gives it")
set(commit "${ONNXFLOPS_COMMIT}")
if(NOT commit AND EXISTS ${PROJECT_SOURCE_DIR}/COMMIT)
  file(STRINGS COMMIT commit LIMIT_COUNT 1)
endif()
file(CONFIGURE OUTPUT embedded_texts.cc @ONLY CONTENT [[
#include "src/api/source_commit.h"
#include "src/hardware/devices_text.h"
#include "src/render/html_page.h"
#include "src/settings/zoos_text.h"
const absl::string_view onnxflops::report::kReportStyle = R"asset(@asset.css@)asset";
const absl::string_view onnxflops::report::kReportVersion = "@PROJECT_VERSION@";
const absl::string_view onnxflops::report::kReportScript = R"asset(@asset.js@)asset";
const absl::string_view onnxflops::kDevicesToml = R"asset(@devices@)asset";
const absl::string_view onnxflops::settings::kZoosCsv = R"asset(@zoos@)asset";
const absl::string_view onnxflops::kSourceCommit = "@commit@";
]])
list(APPEND ONNXFLOPS_LIBRARY_SOURCES ${PROJECT_BINARY_DIR}/embedded_texts.cc)
