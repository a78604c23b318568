// A model held to budgets: what the command `check` does for each model.
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
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/api/diff.h"
#include "src/check/budgets.h"
#include "src/check/judge.h"
#include "src/graph/model.h"
#include "src/hardware/device.h"
#include "src/hardware/mfu.h"
#include "src/profile/profile.h"

namespace onnxflops {

// What models are judged with.
struct CheckOptions {
  CountOptions count;
  std::vector<Device> devices;  // of the user's own
  // For [mfu]: how fast training went, on so many devices.
  std::optional<StepRate> rate;
  int64_t num_devices = 1;
  // For [profile]: a run, and the graph that ran where it is another. An error is what is said of
  // the rules that need it.
  absl::StatusOr<Profile> profile = absl::FailedPreconditionError("no profile is given");
  absl::StatusOr<std::optional<Model>> optimized = std::optional<Model>();
  bool one_model = true;  // no other is judged with the same budgets
  std::string today;      // "2027-01-31", for exceptions that end
};

// A model and what it is compared with.
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

// What budgets say of a device, with a DeviceChoice or none. Errors: NotFound of no such device,
// InvalidArgument of no such dtype.
absl::StatusOr<std::optional<DeviceChoice>> DeviceOf(const Budgets& budgets,
                                                     const std::vector<Device>& devices);

// Adds the judgements of a model. `asked` grows by the sizes that it was asked for. Errors, beside
// those of DiffModels: FailedPrecondition where a rule is relative and there is no base.
absl::Status CheckModel(const CheckedModel& model, const Budgets& budgets,
                        const CheckOptions& options, AskedSizes* asked, CheckReport* report);

// Which models were judged without a size, a line each. A size that no model has a symbol for is an
// error where one has other symbols: it is a mistake in its name.
absl::StatusOr<std::vector<std::string>> ReportUnknownSizes(const std::string& budgets,
                                                            const AskedSizes& asked);

// Adds a limit of a call: "flops=40 GFLOP". Errors: InvalidArgument if it is none, or relative
// without a base.
absl::Status AddLimit(absl::string_view text, bool has_base, Budgets* budgets);
// Whether there are rules, and their devices are known.
absl::Status RequireRules(const Budgets& budgets, const std::vector<Device>& devices);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_CHECK_H_
