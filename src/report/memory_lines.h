// What a report holds in memory: from what the stages found, and as lines for people.
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
// What is alive at it.
void DescribeAlive(const Inference& inference, const MemoryPeak& peak, MemoryReport* memory);

// What inference and a training step hold, and the parts of the latter. REQUIRES: report.memory.
TextTable MemoryTable(const Report& report, const ViewOptions& options);
// The lines below it: what is alive, formulas, the KV cache, what fits. REQUIRES: report.memory.
std::vector<LabelledLine> MemoryLines(const Report& report, const ViewOptions& options);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_MEMORY_LINES_H_
