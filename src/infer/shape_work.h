// Which nodes only make shapes. Their arithmetic is free: a runtime does it once, on a handful of
// numbers.
#ifndef ONNXFLOPS_SRC_INFER_SHAPE_WORK_H_
#define ONNXFLOPS_SRC_INFER_SHAPE_WORK_H_

#include "src/infer/infer.h"

namespace onnxflops::infer {

// Sets Instance::shape_work of every instance.
void MarkShapeWork(Inference* inference);

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_SHAPE_WORK_H_
