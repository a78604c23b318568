// How it works. The report copies the results of inference, counts and modules into one value that
// refers to none of them. Totals are the counts' total; weights are those of the root module.
// Quantities that were not requested are marked absent, so that a 0 is never taken for a count. The
// length of all formulas is limited before they are copied, since a value may be an output many
// times.
//
// Choosing a part, raising sizes to upper bounds and listing nodes come last, because they change
// earlier results. At() evaluates the totals' formulas; a size that was bound before counting
// cannot be changed, as its symbol is gone.
#include "src/report/report.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/adapter/at_image.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/infer/require_symbols.h"
#include "src/memory/kv_cache.h"
#include "src/module/module_tree.h"
#include "src/render/format.h"
#include "src/report/formula_text.h"
#include "src/report/make_report.h"
#include "src/report/node_rows.h"
#include "src/report/part.h"
#include "src/report/ranges.h"
#include "src/resolve/ties.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

using report::DescribeNodes;
using report::DescribeTensor;
using report::FormulaText;
using report::MaxRowText;
using report::NodeLabel;
using report::RaiseToUpperBounds;
using report::Ranges;
using report::TakePart;

ModelInfo DescribeModel(const ModelData& model) {
  ModelInfo info;
  info.path = model.path;
  info.ir_version = model.ir_version;
  for (const auto& [domain, version] : model.opsets) {
    info.opsets[domain.empty() ? "ai.onnx" : std::string(domain)] = version;
  }
  info.producer = std::string(model.producer_name);
  if (!model.producer_version.empty()) {
    absl::StrAppend(&info.producer, info.producer.empty() ? "" : " ", model.producer_version);
  }
  info.nodes = static_cast<int64_t>(model.nodes.size());
  return info;
}

TensorInfo DescribeValue(const Inference& inference, ValueId id) {
  const Fact* fact = inference.FactOf(id);
  return DescribeTensor(std::string(inference.model->value(id).name),
                        fact == nullptr ? Fact::Unknown() : *fact);
}

std::vector<InputInfo> DescribeInputs(const Inference& inference) {
  std::vector<InputInfo> result;
  const std::vector<ValueId>& inputs = inference.model->graphs[0].inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inference.model->value(inputs[i]).initializer) continue;
    result.push_back({DescribeValue(inference, inputs[i]), inference.declared[i]});
  }
  return result;
}

// A value with a long shape may be an output many times, so the limit is checked before copying.
// `upper`: the upper bounds to which sizes will be raised, if requested.
absl::Status CheckOutputs(const Inference& inference, const std::optional<Ranges>& upper,
                          FormulaText text) {
  for (ValueId id : inference.model->graphs[0].outputs) {
    const Fact* fact = inference.FactOf(id);
    if (fact == nullptr || !fact->is_tensor()) continue;
    if (!fact->shape.ranked()) continue;
    for (const Expr& dim : fact->shape.dims()) text.Add(upper ? upper->AtUpperBounds(dim) : dim);
    RETURN_IF_ERROR(text.Check());
  }
  return absl::OkStatus();
}

std::vector<TensorInfo> DescribeOutputs(const Inference& inference) {
  std::vector<TensorInfo> result;
  for (ValueId id : inference.model->graphs[0].outputs) {
    result.push_back(DescribeValue(inference, id));
  }
  return result;
}

// A named dimension whose size follows from an input's given shape is bound as well.
void AddBindingsOfInputs(const std::vector<InputInfo>& inputs, Bindings* bindings) {
  for (const InputInfo& input : inputs) {
    if (!input.declared.ranked() || !input.shape.ranked()) continue;
    for (int i = 0; i < std::min(input.declared.rank(), input.shape.rank()); ++i) {
      const std::optional<int64_t> size = input.shape[i].AsInt64();
      const std::vector<std::string> names = input.declared[i].Symbols();
      if (size && names.size() == 1 && input.declared[i] == Expr::Symbol(names[0], 1)) {
        bindings->emplace(names[0], *size);
      }
    }
  }
}

Totals AddUp(const Tally& total, const Module& root) {
  Totals t{total.amounts};
  for (const Quantity& q : kQuantities) {
    if (q.of == Quantity::Of::kWeights) t.*q.value = (*root.amounts).*q.value;
  }
  t.SetBackward(/*exact_backward=*/false);
  t.lower_bound = total.lower_bound;
  return t;
}

CoverageInfo DescribeCoverage(const ModelData& model, const Counts& counts) {
  CoverageInfo info;
  info.nodes = counts.nodes;
  info.counted = counts.counted;
  info.free = counts.free;
  info.unknown = counts.unknown;
  if (counts.unknown_items.empty()) return info;
  int64_t text_left = MaxRowText(model);
  for (const UnknownItem& item : counts.unknown_items) {
    const Node& node = model.node(item.node);
    if (text_left <= 0) {
      ++info.items_omitted;
      continue;
    }
    info.items.push_back(
        {NodeLabel(model, node), std::string(item.op), std::string(item.domain), item.reason});
    text_left -= static_cast<int64_t>(info.items.back().node.size() + item.op.size() +
                                      item.domain.size() + item.reason.size());
  }
  return info;
}

std::vector<OpRow> DescribeOps(const Inference& inference, const Counts& counts) {
  std::vector<absl::int128> nodes(inference.calls.size());
  for (size_t i = 0; i < counts.copies.size(); ++i) {
    if (counts.copies[i] == 0) continue;
    for (CallId call : inference.instances[i].calls) {
      nodes[static_cast<size_t>(call)] += counts.copies[i];
    }
  }
  absl::flat_hash_map<std::pair<absl::string_view, absl::string_view>, absl::int128> by_op;
  by_op.reserve(counts.by_op.size());
  for (size_t c = 0; c < nodes.size(); ++c) {
    if (nodes[c] == 0) continue;
    const Node& node = inference.model->node(inference.calls[c].node);
    by_op[{node.domain, node.op_type}] += nodes[c];
  }
  std::vector<OpRow> rows;
  for (const auto& [key, tally] : counts.by_op) {
    const auto n = static_cast<int64_t>(std::min<absl::int128>(
        by_op[{key.first, key.second}], std::numeric_limits<int64_t>::max()));
    rows.push_back({tally.amounts, key.second, key.first, n, tally.nodes, tally.lower_bound});
  }
  return rows;
}

// At most kMaxWeightCopies of each.
void DescribeCopies(const Inference& inference, Report* report) {
  const ModelData& model = *inference.model;
  const auto add = [&](ValueId copy, ValueId original, std::vector<WeightCopy>* copies) {
    if (copies->size() == kMaxWeightCopies) return;
    copies->push_back({std::string(model.value(copy).name), std::string(model.value(original).name),
                       model.tensor(*model.value(copy).initializer).elements});
  };
  for (const auto& [copy, original] : inference.ties) add(copy, original, &report->tied);
  for (const resolve::LikelyCopy& likely : resolve::FindLikelyCopies(model)) {
    if (inference.ties.contains(likely.copy)) continue;
    add(likely.copy, likely.original, &report->likely_copies);
  }
}

}  // namespace

absl::StatusOr<Totals> Report::At(const Bindings& at) const {
  Bindings open;
  for (const auto& [name, size] : at) {
    const auto bound = bindings.find(name);
    if (bound == bindings.end()) {
      open.emplace(name, size);
    } else if (bound->second != size) {
      return absl::FailedPreconditionError(
          absl::StrCat(Escaped(name), " was bound to ", bound->second,
                       " before counting; count without it to ask for other sizes"));
    }
  }
  const absl::StatusOr<Bindings> resolved = ResolveSymbols(open, symbols);
  if (!resolved.ok() && symbols.empty() && !bindings.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("every size was bound before counting, so there is no ",
                     Escaped(QuotedSymbol(open.begin()->first))));
  }
  RETURN_IF_ERROR(resolved.status());
  const Bindings& sizes = *resolved;
  Totals result = totals;
  const auto substitute = [&](Expr* value) { *value = value->Substitute(sizes); };
  for (const Quantity& q : kQuantities) substitute(&(result.*q.value));
  result.SetBackward(exact_backward());
  const char* error = result.error();
  for (const Expr* e : {&result.backward_flops, &result.backward_macs, &result.training_flops}) {
    if (error == nullptr) error = e->error();
  }
  if (error != nullptr) return LimitError(LimitOf(error), absl::StrCat("a total ", error));
  return result;
}

void Totals::SetBackward(bool exact_backward) {
  backward_flops = kBackwardFlops.In(*this, exact_backward);
  backward_macs = kBackwardMacs.In(*this, exact_backward);
  training_flops = kTrainingFlops.In(*this, exact_backward);
}

bool Report::Has(const Quantity& quantity) const {
  if (quantity.is_derived()) {
    return !tool && quantity.AllParts([&](Expr Amounts::*part) { return Has(QuantityOf(part)); });
  }
  const auto row = static_cast<size_t>(&QuantityOf(quantity.value) - kQuantities);
  if ((absent >> row & 1) != 0) return false;
  return !tool || quantity.value == (tool->counts_macs ? &Amounts::macs : &Amounts::flops);
}

namespace {

// True if this report has quantities with that requirement. An exact backward pass is added later.
bool IsThere(Quantity::Needs needs, const ReportOptions& options, const Counts& counts) {
  switch (needs) {
    case Quantity::Needs::kNothing:
      return true;
    case Quantity::Needs::kDevice:
      return options.roofline.has_value();
    case Quantity::Needs::kTraining:
      return false;
    case Quantity::Needs::kTypes:
      break;
  }
  const MacsByDType& types = counts.total.macs_by_dtype;
  return counts.total.amounts.bops.error() == nullptr &&
         std::all_of(types.begin(), types.end(), [](const auto& entry) {
           return BitsPerElement(entry.first.a) * BitsPerElement(entry.first.b) != 0;
         });
}

// Symbols of a decoder: of its past, and those whose sizes follow from others.
void NoteSums(const Inference& inference, std::vector<SymbolOrigin>* symbols) {
  const absl::StatusOr<Decoder> decoder = FindDecoder(inference);
  if (!decoder.ok()) return;
  for (SymbolOrigin& symbol : *symbols) {
    const bool is_input = symbol.kind == SymbolOrigin::Kind::kInput;
    symbol.is_past = is_input && decoder->length.ToString() == symbol.name;
    const auto& total = decoder->total;
    if (std::find(total.begin(), total.end(), symbol.name) == total.end()) continue;
    symbol.sum = decoder->length + decoder->tokens;
  }
}

// Sizes of a decoder's mask that do not cover its past and its new tokens.
void WarnOfShortMasks(const Inference& inference, Report* report) {
  if (report->bindings.empty()) return;
  const absl::StatusOr<Decoder> decoder = FindDeclaredDecoder(inference);
  if (!decoder.ok()) return;
  const Expr sum = decoder->length + decoder->tokens;
  const std::optional<int64_t> least = sum.Substitute(report->bindings).AsInt64();
  for (const std::string& symbol : decoder->total) {
    const auto bound = report->bindings.find(symbol);
    if (!least || bound == report->bindings.end() || bound->second >= *least) continue;
    report->warnings.push_back(absl::StrCat(
        Escaped(symbol), " = ", bound->second, " is less than ", Escaped(sum.Shortened(100)), " = ",
        *least, ": the mask of a decoder covers the past and the new tokens"));
  }
}

void TakeWarnings(const Inference& inference, const Counts& counts, const ModuleTree& tree,
                  Report* report) {
  for (const std::vector<std::string>* more :
       {&inference.model->warnings, &inference.warnings, &counts.warnings, &tree.warnings}) {
    report->warnings.insert(report->warnings.end(), more->begin(), more->end());
  }
  if (report->causal == CausalCounting::kHalf && report->causal_nodes == 0) {
    report->warnings.push_back(
        WithSettings("no operator says that it is causal, so {causal half} changes nothing; "
                     "attention under a mask that is a tensor counts in full"));
  }
  if (report->nodes_omitted > 0) {
    report->warnings.push_back(absl::StrCat(Plural(report->nodes_omitted, "node"),
                                            " more have no row (row-text-per-name)"));
  }
  report->model.positions = PositionWarnings(report->warnings);
}

// The row of the model says what its totals say: a run may take longer than the arithmetic of all
// other rows.
void TakeTimeOfRun(Report* report) {
  if (!report->roofline) return;
  Module& root = report->modules[0];
  Amounts amounts = *root.amounts;
  amounts.time_bound = report->totals.time_bound;
  root.amounts = std::make_shared<const Amounts>(std::move(amounts));
}

}  // namespace

absl::StatusOr<Report> MakeReport(const Inference& inference, const Counts& counts,
                                  const ReportOptions& options) {
  ASSIGN_OR_RETURN(ModuleTree tree, BuildModules(inference, counts));
  return MakeReport(inference, counts, options, std::move(tree));
}

absl::StatusOr<Report> MakeReport(const Inference& inference, const Counts& counts,
                                  const ReportOptions& options, ModuleTree tree) {
  const ModelData& model = *inference.model;
  Report report;
  report.model = DescribeModel(model);
  report.inputs = DescribeInputs(inference);
  report.bindings = inference.bindings;
  AddBindingsOfInputs(report.inputs, &report.bindings);
  report.causal = options.causal;
  report.causal_nodes = counts.causal;
  report.roofline = options.roofline;
  for (size_t i = 0; i < kNumQuantities; ++i) {
    if (!IsThere(kQuantities[i].needs, options, counts)) report.absent |= uint32_t{1} << i;
  }
  report.totals = AddUp(counts.total, tree.modules[0]);
  if (report.roofline) {
    report.totals.time_bound =
        Max(report.roofline->arithmetic_time.value_or(report.totals.time_bound),
            report.roofline->MemoryBound());
  }
  report.census = counts.total.flops;
  report.int_census = counts.total.int_ops;
  report.macs_by_dtype = counts.total.macs_by_dtype;
  report.coverage = DescribeCoverage(model, counts);
  for (const SymbolOrigin& symbol : inference.symbols) {
    if (!report.bindings.contains(symbol.name)) report.symbols.push_back(symbol);
  }
  FormulaText text(model);
  RETURN_IF_ERROR(CheckOutputs(
      inference, options.upper_bounds ? std::make_optional<Ranges>(report) : std::nullopt, text));
  report.outputs = DescribeOutputs(inference);
  NoteSums(inference, &report.symbols);
  report.by_op = DescribeOps(inference, counts);
  report.has_nodes = options.node_rows;
  if (options.node_rows) DescribeNodes(inference, counts, tree, &report);
  if (!options.module.empty()) {
    RETURN_IF_ERROR(TakePart(inference, counts, tree, options.module, &report));
  } else {
    report.modules = std::move(tree.modules);
  }
  TakeTimeOfRun(&report);
  if (options.upper_bounds) RaiseToUpperBounds(&report);
  report.unequal_branches = counts.unequal_branches;
  report.undecided_branches = std::count_if(inference.calls.begin(), inference.calls.end(),
                                            [](const Call& call) { return call.choose_larger; });
  DescribeCopies(inference, &report);
  TakeWarnings(inference, counts, tree, &report);
  WarnOfShortMasks(inference, &report);
  text.Add(report);
  if (report.roofline && report.roofline->fused_time_estimate) {
    text.Add(*report.roofline->compulsory_bytes);
    text.Add(*report.roofline->arithmetic_time);
    text.Add(*report.roofline->fused_time_estimate);
  }
  RETURN_IF_ERROR(text.Check());
  return report;
}

}  // namespace onnxflops
