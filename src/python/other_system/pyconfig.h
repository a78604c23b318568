// What Python.h has to know of a system, for the extension's limited API: all systems of 64 bits
// that tools/release makes wheels for. CPython's own pyconfig.h is made where CPython is built, and
// there is none of another system here.
#include <stdio.h>  // which nanobind expects of Python.h; that of the stable ABI leaves it out

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
#define Py_ENABLE_SHARED 1  // its names are those of python3.dll
#define SIZEOF_LONG 4
#define SIZEOF_WCHAR_T 2
#else
#define HAVE_SSIZE_T 1
#define SIZEOF_LONG 8
#define SIZEOF_WCHAR_T 4
#define SIZEOF_PTHREAD_T 8
#endif
