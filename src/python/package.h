// The Python package: all of it but the entry of the extension, which tools/python_module.cc is.
#ifndef ONNXFLOPS_SRC_PYTHON_PACKAGE_H_
#define ONNXFLOPS_SRC_PYTHON_PACKAGE_H_

#include <nanobind/nanobind.h>

namespace onnxflops::python {

// Defines the classes and functions of the package in its extension.
void DefinePackage(nanobind::module_& m);

}  // namespace onnxflops::python

#endif  // ONNXFLOPS_SRC_PYTHON_PACKAGE_H_
