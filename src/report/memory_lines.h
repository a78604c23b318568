// The memory of a report, made from the results of the stages, and as lines for people.
#ifndef ONNXFLOPS_SRC_REPORT_MEMORY_LINES_H_
#define ONNXFLOPS_SRC_REPORT_MEMORY_LINES_H_

#include <vector>

#include "src/memory/liveness.h"
#include "src/memory/step_timeline.h"
#include "src/render/text_table.h"
#include "src/report/report.h"
#include "src/report/view_options.h"

namespace onnxflops::report {

PeakRow DescribePeak(const Inference& inference, const PeakOptions& rule, const MemoryPeak& peak);
StepRow DescribeStep(const Inference& inference, const StepPeak& peak);
// Adds the tensors alive at the peak.
void DescribeAlive(const Inference& inference, const MemoryPeak& peak, MemoryReport* memory);

// The memory of inference and of a training step, with the parts of the latter. REQUIRES:
// report.memory is set.
TextTable MemoryTable(const Report& report, const ViewOptions& options);
// The lines below the table: live tensors, formulas, the KV cache, what fits. REQUIRES:
// report.memory is set.
std::vector<LabelledLine> MemoryLines(const Report& report, const ViewOptions& options);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_MEMORY_LINES_H_
