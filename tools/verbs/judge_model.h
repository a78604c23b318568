// A model held to budgets, at every set of sizes that they name: what `check` does for each model.
#ifndef ONNXFLOPS_TOOLS_VERBS_JUDGE_MODEL_H_
#define ONNXFLOPS_TOOLS_VERBS_JUDGE_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/check/budgets.h"
#include "src/check/judge.h"
#include "src/hardware/device.h"
#include "src/hardware/mfu.h"
#include "tools/verbs/base_model.h"

namespace onnxflops::tools {

// Of strftime.
inline constexpr char kDayFormat[] = "%Y-%m-%d", kTimeFormat[] = "%Y-%m-%dT%H:%M:%S";
std::string TimeInUtc(const char* format);

// What a check is made with.
struct CheckRun {
  const CountOptions& options;
  const std::vector<Device>& devices;  // of the user's own
  StepRate rate;
  bool has_rate = false;
  int64_t num_devices = 1;
  std::string profile, optimized;  // files of a run, for [profile]; "": none
  bool one_file = true;            // no other model is checked in the same call
  std::string today = TimeInUtc(kDayFormat);

  // The same with other options, which must outlive it.
  CheckRun With(const CountOptions& others) const {
    return {others, devices, rate, has_rate, num_devices, profile, optimized, one_file, today};
  }
};

// Sizes of [at] and --dim, each with the models that it is for and those that have no such symbol.
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

// Adds the judgements of a model. `asked` grows by the sizes that it was asked for.
absl::Status JudgeModel(const CheckRun& run, const Budgets& all, const Side& side,
                        const BaseModel& base, const std::string& path, AskedSizes* asked,
                        CheckReport* report);

// Which models were judged without a size, a line each. A size that no model has a symbol for is an
// error where one has other symbols: it is a mistake in its name.
absl::StatusOr<std::vector<std::string>> ReportUnknownSizes(const std::string& budgets,
                                                            const AskedSizes& asked);

// Adds the limits of --max, which may need a base, and requires devices that are known.
// `path` is the file of `budgets`.
absl::Status CompleteBudgets(const std::string& path, const std::vector<std::string>& maxima,
                             const std::vector<Device>& devices, bool has_base, Budgets* budgets);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_VERBS_JUDGE_MODEL_H_
