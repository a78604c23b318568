// A Python interpreter with the extension inside, so that a sanitizer sees all of its calls.
#include <Python.h>

extern "C" PyObject* PyInit__core();

int main(int argc, char** argv) {
  if (PyImport_AppendInittab("_onnxflops_core", &PyInit__core) != 0) return 1;
  return Py_BytesMain(argc, argv);
}
