// The changes from one model to another: totals, modules, operators, nodes, and declarations of the
// files.
//
//   absl::StatusOr<Diff> diff = MakeDiff(&base, head);
//   diff->modules[0].Change(quantity)          // of the whole model: head - base, exact
//   SignOf(diff->modules[0].Change(quantity))  // what holds at all sizes
//
// Modules are matched by their paths, then by their content, so a rename or another exporter does
// not look like a new model. FLOPs, MACs and weights of a module's children add up to its own
// change, as in a ModuleTree.
#ifndef ONNXFLOPS_SRC_DIFF_MODEL_DIFF_H_
#define ONNXFLOPS_SRC_DIFF_MODEL_DIFF_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/cost/amounts.h"
#include "src/graph/symbol_origin.h"
#include "src/report/report.h"
#include "src/report/roofline_report.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

enum class DiffStatus : uint8_t {
  kSame,
  kChanged,    // in both, with another cost
  kNew,        // only in the head
  kGone,       // only in the base
  kMovedHere,  // in both, but elsewhere in the base; here it counts as new
  kMovedAway,  // the same at its old place in the base, where it counts as gone
};
// "same", "changed", "added", "removed", "moved_here", "moved_away".
absl::string_view NameOf(DiffStatus status);

// The sign of a change at all sizes of 1 and more.
enum class DiffSign : uint8_t { kZero, kMore, kLess, kNeverLess, kNeverMore, kOpen, kUnknown };
// "zero", "more", "less", "never_less", "never_more", "open"; "unknown" if a part is not counted.
absl::string_view NameOf(DiffSign sign);
// kOpen also if a bound exists but was not found.
DiffSign SignOf(const Expr& change);

// A row of both models. If a model lacks it, its amounts there are 0.
struct DiffPart {
  DiffStatus status = DiffStatus::kSame;
  std::shared_ptr<const Amounts> base, head;  // never null
  // Something in it is not counted.
  bool base_lower_bound = false, head_lower_bound = false;

  bool exact_backward = false;  // both models have the exact backward pass

  bool lower_bound() const { return base_lower_bound || head_lower_bound; }
  Expr BaseOf(const Quantity& q) const { return q.In(*base, exact_backward); }
  Expr HeadOf(const Quantity& q) const { return q.In(*head, exact_backward); }
  Expr Change(const Quantity& q) const { return HeadOf(q) - BaseOf(q); }
};

struct ModuleDiff : DiffPart {
  std::string path;       // in the head; if the head lacks it, in the base
  std::string base_path;  // in the base; the other end of a move
  size_t name_begin = 0;  // of name() in path
  std::string type;       // class name; the head's if it has one
  std::string base_type;  // in the base
  bool own = false;       // not a module, but its parent's own work
  // A level that only the head has, around parts that both have: `base` is the sum of these.
  bool new_level = false;
  int32_t parent = -1;  // index among the modules
  int32_t depth = 0;    // of the model: 0
  int32_t end = 0;      // the subtree is [its index, end)

  absl::string_view name() const { return absl::string_view(path).substr(name_begin); }
  // True if both models have it, under different paths.
  bool renamed() const {
    return path != base_path && (status == DiffStatus::kSame || status == DiffStatus::kChanged);
  }
};

struct OpDiff : DiffPart {
  std::string op, domain;  // "" for ai.onnx
  int64_t base_nodes = 0, head_nodes = 0;
};

struct NodeDiff : DiffPart {
  std::string name, base_name;  // "" if a model lacks it
  std::string op, domain;
  std::string module;  // path, as of ModuleDiff
};

// An input or output, an opset, or another fact of the file: as text, nullopt if it is missing.
struct FactDiff {
  std::string name;
  std::optional<std::string> base, head;
};

// The peaks of activations of both models; of no base, 0.
struct PeakDiff {
  Expr base, head;
  bool base_lower_bound = false, head_lower_bound = false;
};

// An axis of an input that one model fixes and the other leaves open.
struct UnequalSize {
  std::string input;
  int axis = 0;
  std::string symbol;  // of the model that leaves it open
  bool open_in_head = false;
  int64_t fixed = 0;            // the other's
  std::optional<int64_t> size;  // the value bound to the symbol
};
// An input for which the models fix different sizes: their figures are for different work.
struct OtherInput {
  std::string input;
  std::optional<int> axis;  // nullopt: the number of axes is another
  int64_t base = 0, head = 0;
};
// "axis 0 of image is 8 in the base, 1 in the head".
std::string Describe(const OtherInput& other);
// "axes 2 and 3 of image are 224 in the base, 336 in the head". Inputs or axes that differ in
// another way follow after "; ".
std::string Describe(absl::Span<const OtherInput> others);

// Devices or types on which the models were timed, if these differ.
struct OtherDevice {
  TimedOn base, head;
};
// "t4 with fp16 in the base, h100-sxm with bf16 in the head", with the rates of devices of one
// name.
std::string Describe(const OtherDevice& other);

// Sizes in which the figures of the two models differ. Inputs without a partner of the same name
// are matched by position.
std::vector<UnequalSize> FindUnequalSizes(const Report& base, const Report& head);
// "axis 0 of image is 1 in the base, batch = 4 in the head".
std::string Describe(const UnequalSize& unequal);

struct Diff {
  bool has_base = true;  // otherwise everything is new
  ModelInfo base, head;
  std::string part;             // of both; "": the whole models
  const char* noun = "module";  // what `modules` are: "stage" of a pipeline
  Bindings base_bindings, head_bindings;
  std::vector<const Quantity*> quantities;  // that both models have
  std::optional<PeakDiff> peak;             // if both models have it
  std::optional<PeakDiff> memory;           // of pipelines: kPipelineMemory, if both have it
  bool lower_bound = false;                 // something is unknown in one of the models

  std::vector<ModuleDiff> modules;  // each before its children; [0] is the model
  std::vector<OpDiff> ops;          // by domain and name
  // Domain and name of all operators of the head, also of bodies that no run that is counted takes.
  absl::btree_set<std::pair<std::string, std::string>> head_ops;
  std::vector<NodeDiff> nodes;  // in the order of the head; those that are gone at the end
  bool has_nodes = false;

  std::vector<FactDiff> facts;                          // that differ: producer, IR version, opsets
  std::vector<FactDiff> inputs, outputs;                // that differ
  std::vector<std::string> base_symbols, head_symbols;  // that only one of the models has
  // Symbols for the same axis of the same input: the base's name and the head's. All formulas of
  // the Diff use the head's.
  std::vector<std::pair<std::string, std::string>> renamed_symbols;
  // Of both models. A size has the smaller of its bounds: there both models hold.
  std::vector<SymbolOrigin> symbols;
  Bindings sizes;                           // of symbols that are open, at which figures are shown
  std::vector<UnequalSize> unequal_sizes;   // relative changes then compare different work
  std::vector<UnequalSize> made_equal;      // DiffModels used the fixed size for both
  std::vector<OtherInput> other_inputs;     // changes compare different work here as well
  std::optional<OtherDevice> other_device;  // changes of times are then of different devices
  // All axes that one of the models fixes, even if a requested size makes both equal.
  std::vector<UnequalSize> fixed_axes;

  // True if the module itself has another name, not only one of its parents.
  bool IsRenamed(const ModuleDiff& m) const;
  // True if the models are equal in everything that this compares.
  bool IsEmpty() const;
};

// Without a base everything is new. Errors: FailedPrecondition if the reports cannot be compared;
// OutOfRange if a formula gets too long.
absl::StatusOr<Diff> MakeDiff(const Report* base, const Report& head);
// The same for reports that can be consumed: without a copy of their rows.
absl::StatusOr<Diff> MakeDiff(std::optional<Report> base, Report head);

// The whole report at these sizes; Report::At has only totals. Unknown symbols are ignored. Errors:
// those of Report::At.
absl::Status BindReport(const Bindings& sizes, Report* report);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_DIFF_MODEL_DIFF_H_
