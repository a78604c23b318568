// One stage of a pipeline: all its runs, from counts of its model.
//
//   CountedRuns counted;  // of this pipeline
//   absl::StatusOr<CountedStage> stage =
//       CountStage(pipeline, pipeline.stages[0], model, options, nullptr, &counted);
#ifndef ONNXFLOPS_SRC_API_PIPELINE_STAGE_H_
#define ONNXFLOPS_SRC_API_PIPELINE_STAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/api/pipeline.h"
#include "src/compare/compare_report.h"
#include "src/load/load_file.h"
#include "src/pipeline/pipeline_file.h"
#include "src/pipeline/pipeline_report.h"

namespace onnxflops {

// The costs of one run: what a sum over the runs needs.
struct RunCost {
  Totals totals;
  Expr arithmetic, memory;  // of PipelineTime
  bool memory_known = true;
  std::optional<Expr> peak;
  std::vector<ToolRow> tools;  // if they are asked for
};

// What a stage needs of a count.
struct CountedRun {
  RunCost cost;
  std::vector<std::string> symbols;
  Bindings reference;            // sizes at which open symbols are shown
  Bindings most;                 // of sizes that have one
  int64_t uncounted = 0;         // nodes without a rule
  int64_t unequal_branches = 0;  // as in Report
  std::vector<std::string> warnings;
};

// All that a count depends on, within a pipeline.
struct RunKey {
  std::string path;
  bool is_step = false, is_decoder = false;
  Bindings bindings;
  std::vector<std::string> open;
  absl::btree_map<std::string, std::vector<int64_t>> values;
  std::optional<int64_t> use_cache;

  bool operator<(const RunKey& other) const {
    return std::tie(path, is_step, is_decoder, bindings, open, values, use_cache) <
           std::tie(other.path, other.is_step, other.is_decoder, other.bindings, other.open,
                    other.values, other.use_cache);
  }
};
using CountedRuns = absl::btree_map<RunKey, CountedRun>;

struct CountedStage {
  PipelineStageCost cost;
  std::vector<ToolRow> tools;     // figures of all runs, if a request asks for them
  std::vector<std::string> used;  // names of CountOptions::bindings that set a size of the model
  Bindings open;                  // sizes that nothing sets, and those at which they are shown
};

// With a request, runs are compared with other tools, too. Errors name no place in the file.
absl::StatusOr<CountedStage> CountStage(const Pipeline& pipeline, const PipelineStage& stage,
                                        const Model& model, const CountOptions& options,
                                        const CompareRequest* request, CountedRuns* counted);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_PIPELINE_STAGE_H_
