// Tells whether a file is an ONNX model, without loading it.
#ifndef ONNXFLOPS_SRC_LOAD_LOOKS_LIKE_MODEL_H_
#define ONNXFLOPS_SRC_LOAD_LOOKS_LIKE_MODEL_H_

namespace onnxflops {

// `fd` is a regular file, open for reading. Looks at the outermost fields only: a ModelProto has an
// ir_version and a graph. So a model that is cut short, newer than this program or wrong inside is
// one as well.
bool LooksLikeModel(int fd);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_LOAD_LOOKS_LIKE_MODEL_H_
