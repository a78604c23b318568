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
  set(hardening ${position} -fstack-protector-strong -fstack-clash-protection -fcf-protection=return)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # clang before 16 wants a second option beside it, clang-tidy as well
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
  target_link_options(onnxflops_options INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
  check_linker_flag(CXX -static-pie ONNXFLOPS_HAS_static_pie)
  check_linker_flag(CXX "-static-pie;-Wl,-z,pack-relative-relocs" ONNXFLOPS_HAS_relr)  # fewer bytes and instructions at the start
  if(ONNXFLOPS_STATIC_PROGRAM AND ONNXFLOPS_HAS_relr)
    set(ONNXFLOPS_STATIC -static-pie -Wl,-z,pack-relative-relocs)
  elseif(ONNXFLOPS_STATIC_PROGRAM AND ONNXFLOPS_HAS_static_pie)
    set(ONNXFLOPS_STATIC -static-pie)
  endif()
endif()
