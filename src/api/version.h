// The version of the library, for the preprocessor: fields of JSON and functions of the public
// headers are added with a new minor version, and changed with a new major one.
#ifndef ONNXFLOPS_SRC_API_VERSION_H_
#define ONNXFLOPS_SRC_API_VERSION_H_

#define ONNXFLOPS_VERSION "1.0.0"
#define ONNXFLOPS_VERSION_MAJOR 1
#define ONNXFLOPS_VERSION_MINOR 0
#define ONNXFLOPS_VERSION_PATCH 0

// Where the pages of docs/ are published, "https://example.org/onnxflops/docs/"; "": nowhere yet.
#define ONNXFLOPS_DOCS_ADDRESS ""

#endif  // ONNXFLOPS_SRC_API_VERSION_H_
