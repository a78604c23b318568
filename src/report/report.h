// report: all results about a model's cost, as one value.
//
//   report->totals.flops.ToString()                // "14827185434*batch + 1"
//   report->At({{"batch", 8}})->flops.ToString()   // "118617483473"
//   report->modules[0].amounts->flops              // of all modules
//
// A Report owns its data; nothing in it points into the model or the file. It may be copied, and
// read by many threads. Count() of src/api/count.h makes one.
#ifndef ONNXFLOPS_SRC_REPORT_REPORT_H_
#define ONNXFLOPS_SRC_REPORT_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/adapter/lora_options.h"
#include "src/base/limits.h"
#include "src/cost/amounts.h"
#include "src/cost/cost.h"
#include "src/cost/coverage.h"
#include "src/graph/fact.h"
#include "src/graph/model.h"
#include "src/graph/symbol_origin.h"
#include "src/module/module.h"
#include "src/report/memory_report.h"
#include "src/report/roofline_report.h"
#include "src/report/samples_report.h"
#include "src/report/training_report.h"

namespace onnxflops {

struct TensorInfo {
  std::string name;
  std::string type = "?";              // "float32"; "seq(float32)" and so on; "?" if unknown
  Shape shape = Shape::UnknownRank();  // of a tensor
};

struct InputInfo : TensorInfo {
  // As declared in the file; bindings do not change it.
  Shape declared = Shape::UnknownRank();
  bool in_part = true;  // false if the report's part of the model does not read it
};

struct ModelInfo {
  std::string path;
  int64_t ir_version = 0;
  absl::btree_map<std::string, int64_t> opsets;  // "ai.onnx" for the default domain
  std::string producer;                          // "pytorch 2.14.1"
  int64_t nodes = 0;                             // as written, with bodies and functions
  // Constants, such as positions, that are taken as in a model built for another size of images: a
  // sentence each. All figures rest on them.
  std::vector<std::string> positions;
};

// The costs of one run of the model.
struct Totals : Amounts {
  // Twice the forward pass (PaLM, appendix B), or exact if Report::training is set.
  Expr backward_flops, backward_macs;
  Expr training_flops;       // forward and backward
  bool lower_bound = false;  // something is unknown: the true figures may be larger

  // Derives the training quantities from the others.
  void SetBackward(bool exact_backward);
};

struct CoverageItem {
  std::string node, op, domain, reason;
};

struct CoverageInfo {
  int64_t nodes = 0, counted = 0, free = 0, unknown = 0;
  std::vector<CoverageItem> items;  // the unknown ones
  int64_t items_omitted = 0;        // how many more there are than kMaxRowTextPerName lets it list
};

// Amounts: of all runs.
struct OpRow : Amounts {
  std::string op, domain;    // "" for ai.onnx
  int64_t nodes = 0;         // as evaluated: a body or function once per different call
  Expr runs;                 // in one run of the model
  bool lower_bound = false;  // some of them are unknown
};

// Amounts: of all runs, without the bodies of an If or Loop, which have their own rows.
struct NodeRow : Amounts {
  NodeId node = 0;  // index in the model
  std::string name, op, domain;
  int32_t module = 0;  // index in Report::modules
  std::vector<TensorInfo> inputs, outputs;
  // Further inputs and outputs, beyond kMaxRowTensors and kMaxRowTensorText.
  int64_t inputs_omitted = 0, outputs_omitted = 0;
  Expr multiplicity;  // how often it runs; 0 in a branch that is not counted
  // Weights of its module that no node uses before it, and their bytes. If it has several rows, the
  // first one has them. Those of the nodes of a module are at most the module's own.
  absl::int128 weights = 0, weight_bytes = 0;
  Coverage status = Coverage::kFree;
};

// A tool's count of the model, in its own unit and words: see CountAs.
struct ToolFigure {
  bool counts_macs = false;              // its unit: MACs, or else FLOPs
  std::string headline_name;             // the figure as the tool calls it: "Total Forward_MACs"
  Expr headline;                         // as totals.macs or totals.flops
  Expr of_model;                         // its part that belongs to the model as a whole
  bool has_rows = false;                 // true if some of it belongs to nodes
  std::optional<absl::int128> params;    // if the tool prints its own count of them
  std::vector<std::string> assumptions;  // unknown facts; empty: the figure is exact
  std::string version;                   // of the tool; empty if its figure never changed
};

// A weight that is, or looks like, a copy of another: CountOptions::tied.
struct WeightCopy {
  std::string copy, original;
  absl::int128 params = 0;  // of the copy
};

struct Report {
  ModelInfo model;
  std::string part;  // CountOptions::module; "": the whole model
  // Of a part: what the whole model costs.
  struct Whole {
    Expr flops, macs;
    bool lower_bound = false;
  };
  std::optional<Whole> whole;
  std::vector<InputInfo> inputs;                  // of the graph, initializers not included
  std::vector<TensorInfo> outputs;                // of the graph
  Bindings bindings;                              // the bound sizes
  std::string convention = "onnxflops";           // who counts: see CountAs
  std::optional<ToolFigure> tool;                 // of another tool's convention
  CausalCounting causal = CausalCounting::kFull;  // how causal attention was counted
  int64_t causal_nodes = 0;                       // of how many nodes
  std::optional<SamplesReport> samples;  // CountOptions::samples: figures are sums over these
  Totals totals;
  std::optional<LoraSummary> lora;         // CountOptions::lora
  std::optional<TrainingReport> training;  // CountOptions::training
  std::optional<MemoryReport> memory;      // CountOptions::memory
  // CountOptions::activation_peak, or memory; nullopt without a formula for all sizes.
  std::optional<ActivationPeak> activation_peak;
  std::optional<RooflineReport> roofline;  // CountOptions::on_device
  std::optional<TimedOn> read_timed_on;  // of a report that was read from a file, without roofline
  Census census;                         // of floating-point work
  Census int_census;                     // of integer work
  MacsByDType macs_by_dtype;
  CoverageInfo coverage;
  std::vector<SymbolOrigin> symbols;  // that are not bound
  // CountOptions::upper_bounds: figures assume the upper bounds of sizes inside the model. `raised`
  // are the sizes with a bound, which no figure contains any more; the others stay in `symbols`.
  bool upper_bounds = false;
  std::vector<SymbolOrigin> raised;
  int64_t undecided_branches = 0;  // If nodes whose larger branch is counted
  int64_t unequal_branches = 0;    // those of them where one branch costs more
  std::vector<OpRow> by_op;        // by domain and name
  std::vector<Module> modules;     // a tree: see ModuleTree; [0] is the model
  std::vector<NodeRow> nodes;      // in the order of execution, with CountOptions::node_rows
  bool has_nodes = false;
  int64_t nodes_omitted = 0;     // how many more there are than kMaxRowTextPerName lets it list
  std::vector<WeightCopy> tied;  // whose parameters do not count
  std::vector<WeightCopy> likely_copies;  // their parameters count
  std::vector<std::string> warnings;
  // A bit per row of kQuantities that the report lacks: quantities that need a device or an exact
  // backward pass, or that are missing in a report read from a file (read_report.h).
  uint32_t absent = 0;

  // The totals at sizes of open symbols, without counting again. Unnamed symbols stay. Errors:
  // FailedPrecondition if a symbol, or every size, was bound before counting; InvalidArgument if
  // the report does not have it; OutOfRange for an overflow.
  absl::StatusOr<Totals> At(const Bindings& bindings) const;

  // Whether it has the exact backward pass, as `training` and what was read from its JSON.
  bool exact_backward() const { return Has(QuantityOf(&Amounts::gradient_flops)); }
  // What its times are of; nullopt if it has none.
  std::optional<TimedOn> timed_on() const {
    return roofline ? std::make_optional(roofline->timed_on()) : read_timed_on;
  }
  // A quantity of a part of it.
  Expr In(const Quantity& quantity, const Amounts& amounts) const {
    return quantity.In(amounts, exact_backward());
  }
  // True if the report has a quantity. Ours has all. Another tool's has one, and perhaps `params`.
  bool Has(const Quantity& quantity) const;
  // True if writers have a place for the quantity, if only to show that it is missing.
  bool Lists(const Quantity& quantity) const {
    return quantity.needs == Quantity::Needs::kNothing || Has(quantity);
  }
  // True if the report has a count in this unit. Ours has both, another tool's has one.
  bool has_flops() const { return !tool || !tool->counts_macs; }
  bool has_macs() const { return !tool || tool->counts_macs; }
  // True if operators and nodes have figures. If not, modules has only [0], the model.
  bool has_rows() const { return !tool || tool->has_rows; }
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_REPORT_H_
