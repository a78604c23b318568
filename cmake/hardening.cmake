# Hardening: a mistake of ours in reading a hostile file shall end the program, not obey the file
#
# tests/program/hardening_test.py holds the programs to it. The sanitizers have better checks of their own.

# What links a program statically, and so that it is loaded at a random address where the linker can do that.
set(ONNXFLOPS_STATIC)
if(ONNXFLOPS_STATIC_PROGRAM)
  set(ONNXFLOPS_STATIC -static)
endif()
if(NOT ONNXFLOPS_SANITIZE)
  include(CheckCXXCompilerFlag)
  include(CheckLinkerFlag)
  # Position-independent as a shared object needs it, so that the Python package can take the objects; calls inside stay direct.
  set(position -fPIC -fvisibility=hidden -fvisibility-inlines-hidden)
  if(BUILD_SHARED_LIBS)  # whoever uses the library finds its names
    set(position -fPIC)
  elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(position -fPIE)
  endif()
  set(hardening ${position} -fstack-protector-strong)
  if(NOT WIN32)  # g++ 12 cannot compile these for it
    list(APPEND hardening -fstack-clash-protection -fcf-protection=return)
  endif()
  # Clang before 16 wants a second option as well, and so does clang-tidy.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 16))
    list(APPEND hardening -ftrivial-auto-var-init=zero)
  endif()
  foreach(flag ${hardening})
    string(MAKE_C_IDENTIFIER ONNXFLOPS_HAS${flag} has)
    check_cxx_compiler_flag(${flag} ${has})
    if(${has})
      target_compile_options(onnxflops_options INTERFACE ${flag})
    endif()
  endforeach()
  target_compile_options(onnxflops_options INTERFACE
    -U_FORTIFY_SOURCE $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3> -D_GLIBCXX_ASSERTIONS)
  if(WIN32)  # what the stack protector and checked functions call
    link_libraries(ssp)
  elseif(NOT APPLE)
    target_link_options(onnxflops_options INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
  endif()
  if(APPLE)  # its programs always load the system's library
    set(ONNXFLOPS_STATIC)
  endif()
  if(WIN32 OR APPLE)  # whose linkers make every program so that it is loaded at a random address
    return()
  endif()
  check_linker_flag(CXX -static-pie ONNXFLOPS_HAS_static_pie)
  check_linker_flag(CXX "-static-pie;-Wl,-z,pack-relative-relocs" ONNXFLOPS_HAS_relr)  # fewer bytes and instructions at the start
  if(ONNXFLOPS_STATIC_PROGRAM AND ONNXFLOPS_HAS_relr)
    set(ONNXFLOPS_STATIC -static-pie -Wl,-z,pack-relative-relocs)
  elseif(ONNXFLOPS_STATIC_PROGRAM AND ONNXFLOPS_HAS_static_pie)
    set(ONNXFLOPS_STATIC -static-pie)
  endif()
endif()
