// The output shapes of modules.
#ifndef ONNXFLOPS_SRC_REPORT_OUTPUT_SHAPES_H_
#define ONNXFLOPS_SRC_REPORT_OUTPUT_SHAPES_H_

#include <string>
#include <vector>

#include "src/report/report.h"

namespace onnxflops::report {

// By module: "[1, 2048, 7, 7]", the shapes of the tensors that leave it, each shape once; "" if
// none does. REQUIRES: the report has rows of nodes.
std::vector<std::string> OutputShapes(const Report& report);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_OUTPUT_SHAPES_H_
