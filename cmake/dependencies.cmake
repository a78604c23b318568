# What the library and the program need; all of it is in Debian.

find_package(absl REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp REQUIRED)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)

set(ONNXFLOPS_ABSL
  absl::btree
  absl::cleanup
  absl::cord
  absl::flat_hash_map
  absl::flat_hash_set
  absl::inlined_vector
  absl::int128
  absl::span
  absl::status
  absl::statusor
  absl::str_format
  absl::strings
)

# Makes Debian's Abseil targets, which name shared objects, name the archives beside them: 25 shared objects fewer to load,
# and the program can be linked fully static, which starts in a quarter of the time (0.7 instead of 3.3 ms).
function(onnxflops_prefer_archives)
  set(queue ${ARGN})
  while(NOT "${queue}" STREQUAL "")
    list(POP_FRONT queue target)
    if(target MATCHES "^\\$<LINK_ONLY:(.+)>$")
      set(target ${CMAKE_MATCH_1})
    endif()
    if(NOT target MATCHES "^absl::" OR NOT TARGET ${target} OR target IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${target})
    get_target_property(shared ${target} IMPORTED_LOCATION_NONE)
    if(shared)
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${shared}")
      if(EXISTS "${archive}")
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_NONE "${archive}")
      endif()
    endif()
    get_target_property(needed ${target} INTERFACE_LINK_LIBRARIES)
    if(needed)
      list(APPEND queue ${needed})
    endif()
  endwhile()
endfunction()
if(NOT BUILD_SHARED_LIBS)
  onnxflops_prefer_archives(${ONNXFLOPS_ABSL})
endif()
