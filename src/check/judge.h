// Judges a model's costs by budgets.
#ifndef ONNXFLOPS_SRC_CHECK_JUDGE_H_
#define ONNXFLOPS_SRC_CHECK_JUDGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/check/budgets.h"
#include "src/diff/model_diff.h"

namespace onnxflops {

enum class Verdict : uint8_t {
  kPassed,
  kWarned,     // within the limit, but above `warn`
  kSkipped,    // there is nothing to compare with
  kAllowed,    // above the limit, by an exception
  kNotProven,  // the figure is a lower bound, or a size is open
  kFailed,
  kError,  // the model could not be read or counted
};
// "passed", "warned", "skipped", "allowed", "not_proven", "failed", "error".
absl::string_view NameOf(Verdict verdict);

struct Judgement {
  std::string model;       // its path if several were checked, else ""
  std::string rule;        // BudgetRule::name
  size_t rule_prefix = 0;  // BudgetRule::name_prefix
  std::string kind;        // "amount", "growth", "ratio", "operators", "domains", "opset", "mfu",
                           // "profile", "fixed"; of no rule, but of a model: "unlisted", "error"
  std::string where;       // path of the module; "": the whole model
  bool names_module = false;  // the rule's name contains the module
  std::string at;             // sizes: "batch = 1, seq = 1..512"
  Verdict verdict = Verdict::kPassed;
  // As text: "16 GFLOP", "16.52 GFLOP"; with `growth` "+2%", "+3.55 % (8.5 GFLOP, base 8.2 GFLOP)".
  std::string limit, actual;
  std::string growth;   // from the base: "+3.55 %"; "" without one, or if a figure is not exact
  std::string margin;   // distance to the limit: "+2.1 %", "-0.3 %"; or ""
  std::string detail;   // more detail: why it is not proven, which operators
  BudgetPlace place;    // in the file of budgets; line 0: not in a file
  std::string budgets;  // that file, where models have their own; else CheckReport::budgets
  // For a limit that is an amount: the limit, and the figure at the sizes where it is largest.
  std::optional<absl::int128> limit_value, actual_value;
  std::optional<absl::int128> base_value;         // of a limit that is relative to it
  std::optional<absl::int128> growth_hundredths;  // of a percent: growth as a number
  std::optional<absl::int128> margin_hundredths;  // of a percent: margin as a number
  bool lower_bound = false;  // the figure is a lower bound, or nothing is counted
  double seconds = 0;        // that judging the model took, in its first row
  const Quantity* quantity = nullptr;

  bool passed() const { return verdict < Verdict::kNotProven; }
  bool is_rule() const { return kind != "unlisted" && kind != "error"; }
};

struct CheckReport {
  ModelInfo base, head;
  bool has_base = false;
  // If several models were checked: all of them. `head` then has only a path, "3 models".
  std::vector<ModelInfo> models;
  std::string budgets;  // the file; "": none; several files in one line
  std::string version;  // of the program that checked, for formats that name it; or ""
  std::string docs;     // address of the pages, for formats that link them: ONNXFLOPS_DOCS_ADDRESS
  std::string host, made_at;  // host and time, "2027-01-31T12:00:00", for JUnit; or ""
  std::vector<Judgement> judgements;

  bool passed() const;
  int64_t Count(Verdict verdict) const;
};

// What a training step or a run reached, for the whole model or a module that a rule matches.
struct AchievedFigure {
  std::string where;  // path of the module; "": the whole model
  double value = 0;   // as BudgetRule::achieved says: a part of 1, seconds, or FLOP/s
  // Share of the peak of the rule's device, 1 for all of it; nullopt without a device.
  std::optional<double> peak_share;
  std::string open;  // why the true figure may be worse; "": it cannot
};
// The figures of a rule of kMfu or kProfile; an error that says why they are not known.
using FiguresOfRule =
    absl::FunctionRef<absl::StatusOr<std::vector<AchievedFigure>>(const BudgetRule& rule)>;

// Judges all rules of the file at one set of sizes; null: the model's own. Fixed sizes are already
// bound in `diff`. `today` as "2027-01-31". OutOfRange if there are too many judgements. `equal`,
// if not null, is the same diff at sizes that one of the models fixes and the other leaves open;
// relative rules are judged on it.
absl::Status Judge(const Budgets& budgets, const BudgetSizes* sizes, const Diff& diff,
                   absl::string_view today, FiguresOfRule figures, CheckReport* report,
                   const Diff* equal = nullptr);

// The judgement of a model to which no rule applies, and of one that could not be judged.
Judgement UnlistedModel(const Budgets& budgets);
Judgement ModelError(const absl::Status& status);
// Adds the judgements of another model. OutOfRange if there are too many.
absl::Status AddReport(CheckReport part, CheckReport* report);

// True if the pattern of a [models] section matches a file: by its name, its path, or the end of
// its path from any folder on ("a/m.onnx" matches "x/a/m.onnx"). A pipeline.toml
// is also matched by the name of its folder.
bool IsForModel(absl::string_view models, absl::string_view path);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CHECK_JUDGE_H_
