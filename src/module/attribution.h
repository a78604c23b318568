// Which module every executed node belongs to: the walk over the main graph, the bodies of control
// flow and, as far as the limits allow, the calls of local functions.
#ifndef ONNXFLOPS_SRC_MODULE_ATTRIBUTION_H_
#define ONNXFLOPS_SRC_MODULE_ATTRIBUTION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/module/module_path.h"

namespace onnxflops::modules {

// The part of a call's cost that an execution covers.
enum class CostPart : uint8_t {
  kWhole,      // with the bodies that it runs
  kShapeWork,  // as shape arithmetic
  kOwn,        // without bodies: these have executions of their own
};
inline constexpr int32_t kNumCostParts = 3;

// One execution of a node, in a module.
struct Execution {
  ModuleId module = kRootModule;
  int32_t work = 0;   // call * kNumCostParts + part
  int32_t times = 0;  // index into Attribution::times
  NodeId node = 0;

  CallId call() const { return work / kNumCostParts; }
  CostPart part() const { return static_cast<CostPart>(work % kNumCostParts); }
};

// Which executions are listed.
enum class ExecutionFilter : uint8_t {
  kWithWork,  // those that cost something, or are unknown
  kAll,
};

struct Attribution {
  Attribution(std::vector<absl::string_view> weights, bool containers, size_t max_modules)
      : paths(std::move(weights), containers, max_modules) {}

  ModulePaths paths;
  std::vector<Execution> executions;
  std::vector<Expr> times = {1};              // [0] is 1; each way to be repeated has one
  std::vector<OptionalModuleId> node_module;  // by NodeId; kNone if it does not run
  std::vector<int64_t> nodes;                 // by ModuleId: number of nodes, including free ones
  std::vector<int64_t> first;                 // by ModuleId: position of its first node in the walk
  bool functions_are_modules = false;         // an inlined function is a module
  OptionalNodeId not_opened;                  // the first call that a limit left a module by itself
  std::string not_opened_limit;               // its name and value
};

Attribution AttributeNodes(const Inference& inference, const Counts& counts,
                           ExecutionFilter filter = ExecutionFilter::kWithWork);

}  // namespace onnxflops::modules

#endif  // ONNXFLOPS_SRC_MODULE_ATTRIBUTION_H_
