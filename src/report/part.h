// Makes a report of a part of a model.
#ifndef ONNXFLOPS_SRC_REPORT_PART_H_
#define ONNXFLOPS_SRC_REPORT_PART_H_

#include <string>

#include "absl/status/status.h"
#include "src/module/module_tree.h"
#include "src/report/report.h"

namespace onnxflops::report {

// Reduces a report of the whole model to the modules that match `glob`: their totals, operators,
// nodes and coverage. `tree` is the tree of the whole model. Inputs and outputs of the model stay,
// and so do symbols and warnings; inputs that the part does not read are marked. NotFound, with
// similar paths.
absl::Status TakePart(const Inference& inference, const Counts& counts, const ModuleTree& tree,
                      const std::string& glob, Report* report);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_PART_H_
