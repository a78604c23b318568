// Judges a model by budgets, as the command `check` does for each model.
//
//   absl::StatusOr<onnxflops::Budgets> budgets = onnxflops::LoadBudgets(text, "onnxflops.toml");
//   onnxflops::CheckReport report;
//   onnxflops::AskedSizes asked;
//   absl::Status status = onnxflops::CheckModel({.head = model, .path = "m.onnx"}, *budgets,
//                                               {.today = "2027-01-31"}, &asked, &report);
//   report.passed()
#ifndef ONNXFLOPS_SRC_API_CHECK_H_
#define ONNXFLOPS_SRC_API_CHECK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/api/count.h"
#include "src/api/diff.h"
#include "src/check/budgets.h"
#include "src/check/judge.h"
#include "src/graph/model.h"
#include "src/hardware/device.h"
#include "src/hardware/utilisation.h"
#include "src/pipeline/pipeline_file.h"
#include "src/profile/measured.h"

namespace onnxflops {

// Options for judging models.
struct CheckOptions {
  CountOptions count;
  std::vector<Device> devices;  // of the user's own
  // For [mfu]: how fast training went, on so many devices.
  std::optional<StepRate> rate;
  int64_t num_devices = 1;
  // For [profile]: a run, and the graph that ran if it differs from the model. If this is an error,
  // rules that need a profile report it.
  absl::StatusOr<Profile> profile = absl::FailedPreconditionError("no profile is given");
  absl::StatusOr<std::optional<Model>> optimized = std::optional<Model>();
  bool one_model = true;  // no other is judged with the same budgets
  std::string today;      // "2027-01-31", for exceptions that end
};

// A model and the base to compare it with.
struct CheckedModel {
  DiffSide head;
  std::string path;              // by which budgets know it
  bool has_base = false;         // otherwise rules that are relative are an error
  std::optional<DiffSide> base;  // nullopt with has_base: it is new
  std::string base_path;         // by which budgets know it as well; "": by no other
};

// Sizes that were asked for, each with the models that it is for and those that have no such
// symbol.
struct AskedSizes {
  struct Name {
    bool in_budgets = false;
    bool is_range = false;
    std::set<std::string> models, without;
  };
  std::map<std::string, Name> names;
  std::set<std::string> symbols;  // that some model has

  void Add(const AskedSizes& other);
};

// Finds the device that budgets name; the result is nullopt if they name none. Errors: NotFound for
// an unknown device, InvalidArgument for an unknown dtype.
absl::StatusOr<std::optional<DeviceChoice>> DeviceOf(const Budgets& budgets,
                                                     const std::vector<Device>& devices);

// Adds the judgements of one model, and to `asked` the sizes that the budgets asked for. Errors:
// those of DiffModels; FailedPrecondition if a rule is relative and there is no base.
absl::Status CheckModel(const CheckedModel& model, const Budgets& budgets,
                        const CheckOptions& options, AskedSizes* asked, CheckReport* report);

// A pipeline with the numbers that are given for its parameters.
using PipelineLoader = std::function<absl::StatusOr<Pipeline>(const Bindings&)>;
// A pipeline and the one to compare it with.
struct CheckedPipeline {
  PipelineLoader head;
  std::string path;       // by which budgets know it
  bool has_base = false;  // otherwise rules that are relative are an error
  PipelineLoader base;    // null with has_base: it is new
  std::string base_path;  // by which budgets know it as well; "": by no other
};

// The same of a pipeline; its stages are what modules are of a model. Errors: those of
// CountPipeline; InvalidArgument for a rule on what a pipeline does not have; FailedPrecondition
// for a range where a size decides what a stage runs.
absl::Status CheckPipeline(const CheckedPipeline& pipeline, const Budgets& budgets,
                           const CheckOptions& options, AskedSizes* asked, CheckReport* report);

// Lists the models that were judged without a size, one line each. A size unknown to every model is
// an error if one of them has other symbols: then its name is mistyped.
absl::StatusOr<std::vector<std::string>> ReportUnknownSizes(const std::string& budgets,
                                                            const AskedSizes& asked);

// Adds a limit given in the call, such as "flops=40 GFLOP". Errors: InvalidArgument if it cannot be
// parsed, or is relative without a base.
absl::Status AddLimit(absl::string_view text, bool has_base, Budgets* budgets);
// Fails if there is the time of a step without a rule of [mfu], or a profile without one of
// [profile]: nothing would be judged by it.
absl::Status RequireMeasuresUsed(absl::Span<const Budgets* const> budgets, const CheckOptions& run);
// Fails if there are no rules, or their devices are unknown.
absl::Status RequireRules(const Budgets& budgets, const std::vector<Device>& devices);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_CHECK_H_
