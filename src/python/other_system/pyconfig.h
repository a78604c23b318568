// Defines for Python.h on another system, for the extension's limited API: all 64-bit systems for
// which tools/release makes wheels. CPython's own pyconfig.h is generated where CPython is built,
// so other systems' versions do not exist here.
#include <stdio.h>  // nanobind expects it from Python.h, which omits it in the stable ABI

#define HAVE_LONG_LONG 1
#define HAVE_STDINT_H 1
#define HAVE_STDDEF_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_WCHAR_H 1
#define HAVE_THREAD_LOCAL 1
#define WITH_THREAD 1
#define SIZEOF__BOOL 1
#define SIZEOF_INT 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_UINTPTR_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_PID_T 4
#define ALIGNOF_MAX_ALIGN_T 16
#define PY_FORMAT_SIZE_T "z"
#if defined(_WIN32)
#define MS_WIN64 1
#define MS_WINDOWS 1
#define HAVE_DECLSPEC_DLL 1
#define Py_ENABLE_SHARED 1  // the names come from python3.dll
#define SIZEOF_LONG 4
#define SIZEOF_WCHAR_T 2
#else
#define HAVE_SSIZE_T 1
#define SIZEOF_LONG 8
#define SIZEOF_WCHAR_T 4
#define SIZEOF_PTHREAD_T 8
#endif
