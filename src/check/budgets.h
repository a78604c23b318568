// What a model may cost, as a TOML file says it.
//
//   [budget]                            # the whole model; quantities as in the totals of JSON
//   macs = "198 GMAC"
//   flops = "+2%"                       # relative to a base
//   "other_flops / flops" = "1%"        # a ratio
//   params = { limit = "430 M", warn = "428 M" }
//   [modules."visual.transformer.*"]    # every module that matches
//   flops = "16 GFLOP"
//   [operators]                         # also: allow; and [domains] with both
//   forbid = ["Loop", "com.microsoft.*"]
//   [opset]
//   min = 17
//   [at]                                # sizes; [at.NAME] for several sets of them
//   batch = "1..8"
//   [mfu]                               # of a training step, whose time --step-time gives
//   min = "40%"
//   device = "h100-sxm"
//   dtype = "bf16"
//   [profile]                           # of a run, whose profile --profile gives
//   min = "25%"
//   device = "cpu:2:2.5:avx2"
//   dtype = "fp32"
//   time = "20 ms"
//   flops_per_second = "50 GFLOP/s"
//   [profile.modules."visual.*"]        # min, time, flops_per_second of modules
//   time = "2 ms"
//   [[allow]]
//   rule = "budget.flops"
//   reason = "until the new head is trained"
//   until = 2027-01-31
//   [models."text-*.onnx".budget]       # the same for files that match
//   unlisted = "fail"                   # at the top of the file: a model needs a rule
//   new = "fail"                        # relative limits of a model or module without a base
//   fixed = "fail"                      # a model that fixes a size that is open in the base
//   lower_bounds = "pass"
//
// docs/ci.md describes every key.
#ifndef ONNXFLOPS_SRC_CHECK_BUDGETS_H_
#define ONNXFLOPS_SRC_CHECK_BUDGETS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/cost/amounts.h"
#include "src/symbolic/interval.h"

namespace onnxflops {

// A position in the file, from 1, and the length of the text if it is on one line. Line 0: not in a
// file.
struct BudgetPlace {
  size_t line = 0, column = 0, length = 0;
};

struct BudgetLimit {
  enum class Kind : uint8_t {
    kAbsolute,  // value: of the quantity
    kRelative,  // value: parts that the base may grow by
    kRatio,     // value: parts of the other quantity
  };
  Kind kind = Kind::kAbsolute;
  absl::int128 value = 0;
  absl::int128 whole = 1'000'000;  // parts of a whole; more if a percentage has more decimals
  std::string text;                // as written
  BudgetPlace place;
};

struct BudgetRule {
  enum class Kind : uint8_t { kQuantity, kOperators, kDomains, kOpset, kMfu, kProfile, kFixed };
  Kind kind = Kind::kQuantity;
  std::string name;    // "budget.flops", "modules.visual.*.flops", "operators.forbid", "opset.max"
  std::string models;  // a glob of file names; "": all
  size_t name_prefix = 0;  // bytes of "models.GLOB." in the name
  BudgetPlace place;
  // kQuantity
  const Quantity* quantity = nullptr;
  const Quantity* per = nullptr;      // for a ratio, its denominator
  std::optional<std::string> module;  // a glob; nullopt: the whole model
  BudgetLimit limit;
  std::optional<BudgetLimit> warn;
  // kOperators, kDomains: patterns
  std::vector<std::string> allow, forbid;
  // kOpset
  std::string domain;  // "ai.onnx"
  std::optional<int64_t> min_opset, max_opset;
  // kMfu, kProfile: limit.value is the least share of the peak, in parts, the longest time, in
  // 10^-21 seconds, or the least FLOP/s
  enum class Achieved : uint8_t { kPeakShare, kTime, kFlopsPerSecond };
  Achieved achieved = Achieved::kPeakShare;
  std::string device, dtype;  // "" if not given

  // True if it limits the peak of activations (kPeakActivations), which not every count has.
  bool AsksForPeak() const;
  // True if it limits the memory of a pipeline (kPipelineMemory), which no model has.
  bool AsksForMemory() const;
  // True if it is relative to a base.
  bool NeedsBase() const;
};

struct BudgetSizes {
  std::string name;    // of [at.NAME]; "": of [at] alone
  std::string models;  // as of a rule
  Bindings fixed;
  SizeRanges ranges;  // sizes with a range of values
};

struct BudgetException {
  std::string rule;  // a glob of rule names
  std::string reason;
  std::string until;  // the last day, "2027-01-31"
};

struct Budgets {
  std::string file;  // "": none
  std::vector<BudgetRule> rules;
  std::vector<BudgetSizes> sizes;  // empty: the model's own sizes
  std::vector<BudgetException> exceptions;
  // The device and type for time bounds: device = "h100", dtype = "bf16"; "": those of the call.
  std::string device, dtype;
  // lower_bounds = "pass": a budget on a lower bound may pass.
  bool lower_bounds_pass = false;
  // new = "fail": a relative limit fails for a model or module without a base.
  bool new_fails = false;
  // The place of unlisted = "fail", by which a model without a rule fails.
  std::optional<BudgetPlace> unlisted_fails;

  bool NeedsPeak() const;
};

// `file` names the text in errors. Errors: InvalidArgument, "onnxflops.toml:4:3: unknown key
// 'flop'; did you mean flops?"; OutOfRange for more than kMaxBudgets rules.
absl::StatusOr<Budgets> LoadBudgets(absl::string_view text, absl::string_view file);

// Adds a limit that is not in a file: "flops=400 GFLOP", "params=+2%", "other_flops/flops=1%",
// "visual.*:macs=16 GMAC". Its place has line 0. Errors: those of LoadBudgets, without a position.
absl::Status AddBudget(absl::string_view text, Budgets* budgets);

// An error that lists the quantities of a pipeline if the rule is about anything else.
absl::Status RequirePipelineRule(const BudgetRule& rule);
// An error if the rule is about what only a pipeline has.
absl::Status RequireModelRule(const BudgetRule& rule);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CHECK_BUDGETS_H_
