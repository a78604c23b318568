// Makes a model loadable that mutations broke, so that what comes after the loader is fuzzed and
// not the loader again.
#ifndef ONNXFLOPS_TESTS_FUZZ_MEND_MODEL_H_
#define ONNXFLOPS_TESTS_FUZZ_MEND_MODEL_H_

#include "onnx/onnx_pb.h"

namespace onnxflops {

// Every value that is used is defined before, and once; functions call later ones only; ai.onnx is
// imported. What does not fit is blanked, or replaced by a value that is there; the rest stays as
// it is, however wrong.
void MendModel(onnx::ModelProto* model);

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_FUZZ_MEND_MODEL_H_
