// How it works. Every name of the model is replaced by a kind and a number ("m1", "t2"), the same
// name always by the same one, so that the structure stays visible. Names that ONNX or we define
// stay: operators, domains, numbers in paths, "(own)". Formulas are replaced as texts, symbol by
// symbol, and parsed again. This may fail, as other names may sort terms into another order that
// exceeds a limit; the error is kept and returned at the end.
//
// Sentences, reasons and patterns may hold any name, so they are left out as a whole. Modules of
// one kind share their amounts before and after, which keeps the memory of a large tree small.
#include "src/report/redact.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ops/registry.h"
#include "src/base/limits.h"
#include "src/base/setting.h"
#include "src/cost/cost.h"
#include "src/graph/symbol_origin.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

std::string LeftOut() { return WithSettings("left out by {redact-names on}"); }

bool IsKnownDomain(absl::string_view domain) {
  if (domain == "ai.onnx") return true;
  return std::any_of(AllFamilies().begin(), AllFamilies().end(),
                     [&](const OpFamily& family) { return domain == family.domain; });
}

bool IsKnownOperator(absl::string_view domain, absl::string_view op) {
  const FoundOp found = FindOp(domain, op, kMaxOpset);
  return found.def != nullptr || found.known_name;
}

bool IsNumber(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

}  // namespace

std::string Redactor::Replace(absl::string_view kind, absl::string_view name) {
  if (name.empty()) return "";
  std::string& replaced = names_[absl::StrCat(kind, " ", name)];
  if (replaced.empty()) replaced = absl::StrCat(kind, ++numbers_[kind]);
  return replaced;
}

// Numbers stay. Our own "(own)" and "(outside any module)" are never passed in.
std::string Redactor::Path(absl::string_view path) {
  return absl::StrJoin(
      absl::StrSplit(path, '.'), ".", [&](std::string* out, absl::string_view part) {
        absl::StrAppend(out, IsNumber(part) ? std::string(part) : Replace("m", part));
      });
}

void Redactor::Domain(std::string* domain) {
  if (!IsKnownDomain(*domain)) *domain = Replace("d", *domain);
}

void Redactor::Operator(std::string* op, std::string* domain) {
  if (!IsKnownOperator(*domain, *op)) *op = Replace("op", *op);
  Domain(domain);
}

void Redactor::Formula(Expr* expr) {
  if (expr->is_literal() || !status_.ok()) return;
  const std::string text = expr->ToString();
  const auto known = formulas_.find(text);
  if (known != formulas_.end()) {
    *expr = known->second;
    return;
  }
  std::string renamed;
  for (size_t i = 0; i < text.size();) {
    const absl::string_view rest = absl::string_view(text).substr(i);
    const size_t word = IdentifierLength(rest);
    const bool calls =
        word > 0 && word < rest.size() && rest[word] == '(' && IsFunctionName(rest.substr(0, word));
    const size_t symbol = calls ? 0 : SymbolLength(rest);
    absl::StrAppend(&renamed, symbol > 0 ? Symbol(rest.substr(0, symbol))
                                         : std::string(rest.substr(0, std::max<size_t>(word, 1))));
    i += std::max<size_t>({symbol, word, 1});
  }
  absl::StatusOr<Expr> parsed = ParseExpr(renamed);
  if (!parsed.ok()) {
    status_ = absl::OutOfRangeError(WithSettings(
        "a formula of the model is too long for {redact-names on}; give sizes with {dim NAME=N}"));
    return;
  }
  formulas_.emplace(text, *parsed);
  *expr = *std::move(parsed);
}

void Redactor::AllAmounts(Amounts* amounts) {
  for (const Quantity& q : kQuantities) Formula(&(amounts->*q.value));
}

void Redactor::AllDims(Shape* shape) {
  if (!shape->ranked()) return;
  for (Expr& dim : shape->dims()) Formula(&dim);
}

void Redactor::Tensors(std::vector<TensorInfo>* tensors) {
  for (TensorInfo& tensor : *tensors) {
    tensor.name = Replace("t", tensor.name);
    AllDims(&tensor.shape);
  }
}

void Redactor::ModelAndSymbols(Report* report) {
  report->model.path = model_name_;
  report->model.producer.clear();
  if (!report->part.empty()) report->part = absl::StrCat("a part whose name is ", LeftOut());
  absl::btree_map<std::string, int64_t> opsets;
  for (auto& [name, version] : report->model.opsets) {
    std::string domain = name;
    Domain(&domain);
    opsets.emplace(std::move(domain), version);
  }
  report->model.opsets = std::move(opsets);
  for (InputInfo& input : report->inputs) {
    input.name = Replace("t", input.name);
    AllDims(&input.shape);
    AllDims(&input.declared);
  }
  Tensors(&report->outputs);
  Bindings bindings;
  for (const auto& [name, size] : report->bindings) bindings.emplace(Symbol(name), size);
  report->bindings = std::move(bindings);
  for (std::vector<SymbolOrigin>* symbols : {&report->symbols, &report->raised}) {
    for (SymbolOrigin& symbol : *symbols) {
      symbol.name = Symbol(symbol.name);
      symbol.value = Replace("t", symbol.value);
      if (symbol.at_most) Formula(&*symbol.at_most);
      if (symbol.sum) Formula(&*symbol.sum);
    }
  }
}

void Redactor::Work(Report* report) {
  AllAmounts(&report->totals);
  report->totals.SetBackward(report->exact_backward());
  for (Census* census : {&report->census, &report->int_census}) {
    const Census before = *census;
    before.ForEach([&](Kind kind, const Expr&) { Formula(&(*census)[kind]); });
  }
  for (auto& [operands, amount] : report->macs_by_dtype) Formula(&amount);
  if (report->lora) {
    const auto leave_out = [&](LoraOptions* list) {
      for (std::string& target : list->targets) {
        target = absl::StrCat("a module that is ", LeftOut());
      }
    };
    leave_out(&report->lora->options);
    for (LoraOptions& list : report->lora->options.more) leave_out(&list);
  }
  if (report->training) Training(&*report->training);
  if (report->memory) Memory(&*report->memory);
  if (report->roofline) {
    for (std::optional<Expr>* formula :
         {&report->roofline->arithmetic_time, &report->roofline->compulsory_bytes,
          &report->roofline->fused_time_estimate}) {
      if (*formula) Formula(&**formula);
    }
  }
  if (report->activation_peak) Formula(&report->activation_peak->bytes);
  if (report->tool) {
    Formula(&report->tool->headline);
    Formula(&report->tool->of_model);
  }
}

// Patterns name modules and parameters.
void Redactor::Training(TrainingReport* training) {
  for (std::vector<std::string>* patterns :
       {&training->options.frozen, &training->options.trained}) {
    for (std::string& pattern : *patterns) pattern = absl::StrCat("a pattern that is ", LeftOut());
  }
  if (!training->options.recompute.glob.empty()) {
    training->options.recompute.glob = absl::StrCat("a pattern that is ", LeftOut());
  }
  Formula(&training->recompute_flops);
  Formula(&training->recompute_macs);
  Formula(&training->optimizer_flops);
  for (GradientRow& row : training->by_op) {
    if (!row.op.empty()) Operator(&row.op, &row.domain);
    Formula(&row.nodes);
    Formula(&row.flops);
    Formula(&row.macs);
  }
  for (UnknownGradient& row : training->unknown) {
    row.node = Replace("n", row.node);
    Operator(&row.op, &row.domain);
    row.reason = absl::StrCat("its reason is ", LeftOut());
  }
}

void Redactor::Memory(MemoryReport* memory) {
  Bindings at;
  for (const auto& [name, size] : memory->at) at.emplace(Symbol(name), size);
  memory->at = std::move(at);
  std::vector<PeakRow*> peaks = {&memory->peak};
  for (PeakRow& row : memory->other) peaks.push_back(&row);
  for (PeakRow* row : peaks) {
    if (row->bytes) Formula(&*row->bytes);
    for (Expr& sum : row->sums) Formula(&sum);
    row->sum_nodes.clear();
    if (row->node.empty()) continue;
    row->node = Replace("n", row->node);
    Operator(&row->op, &row->domain);
  }
  for (AliveTensor& tensor : memory->alive) {
    tensor.name = Replace("t", tensor.name);
    AllDims(&tensor.shape);
    Formula(&tensor.bytes);
  }
  TrainingOptions& training = memory->options.training;
  if (!training.recompute.glob.empty()) {
    training.recompute.glob = absl::StrCat("a pattern that is ", LeftOut());
  }
  Formula(&memory->alive_inside);
  Formula(&memory->saved_bytes);
  Formula(&memory->saved_input_bytes);
  if (memory->step.bytes) Formula(&*memory->step.bytes);
  for (Expr& sum : memory->step.sums) Formula(&sum);
  Formula(&memory->step.loss_bytes);
  Formula(&memory->step.cross_entropy_bytes);
  if (!memory->step.loss_output.empty()) {
    memory->step.loss_output = Replace("t", memory->step.loss_output);
  }
  if (!memory->step.node.empty()) {
    memory->step.node = Replace("n", memory->step.node);
    Operator(&memory->step.op, &memory->step.domain);
  }
  if (memory->fit) memory->fit->symbol = Symbol(memory->fit->symbol);
  if (!memory->cache) return;
  Formula(&memory->cache->length);
  Formula(&memory->cache->bytes);
  Formula(&memory->cache->length_after);
  if (memory->cache->bytes_after) Formula(&*memory->cache->bytes_after);
  Formula(&memory->cache->fixed_bytes);
  if (memory->cache->bytes_per_token) Formula(&*memory->cache->bytes_per_token);
}

void Redactor::Modules(std::vector<Module>* modules) {
  for (Module& m : *modules) {
    const absl::string_view whole = m.path;
    const std::string before =
        whole.substr(0, m.name_begin).empty() ? "" : Path(whole.substr(0, m.name_begin - 1)) + ".";
    const std::string name =
        m.own ? std::string(whole.substr(m.name_begin)) : Path(whole.substr(m.name_begin));
    m.path = before + name;
    m.name_begin = before.size();
    m.type = Replace("c", m.type);
    // Modules of one kind still share their amounts.
    std::shared_ptr<const Amounts>& shared = amounts_[m.amounts.get()];
    if (shared == nullptr) {
      Amounts copy = *m.amounts;
      AllAmounts(&copy);
      shared = std::make_shared<const Amounts>(std::move(copy));
      originals_.push_back(m.amounts);
    }
    m.amounts = shared;
  }
}

void Redactor::Rows(Report* report) {
  for (OpRow& row : report->by_op) {
    Operator(&row.op, &row.domain);
    AllAmounts(&row);
    Formula(&row.runs);
  }
  for (NodeRow& row : report->nodes) {
    row.name = Replace("n", row.name);
    Operator(&row.op, &row.domain);
    Tensors(&row.inputs);
    Tensors(&row.outputs);
    AllAmounts(&row);
    Formula(&row.multiplicity);
  }
  for (CoverageItem& item : report->coverage.items) {
    item.node = Replace("n", item.node);
    Operator(&item.op, &item.domain);
    item.reason = absl::StrCat("its reason is ", LeftOut());
  }
}

void Redactor::Copies(std::vector<WeightCopy>* copies) {
  for (WeightCopy& copy : *copies) {
    copy.copy = Replace("t", copy.copy);
    copy.original = Replace("t", copy.original);
  }
}

// Sentences about the model may contain any of its names.
void Redactor::Sentences(Report* report) {
  for (std::string& warning : report->warnings) {
    warning = absl::StrCat("a warning whose text is ", LeftOut());
  }
  for (std::string& text : report->model.positions) {
    text = absl::StrCat("a constant of another size, whose name is ", LeftOut());
  }
  if (!report->tool) return;
  for (std::string& assumption : report->tool->assumptions) {
    assumption = absl::StrCat("an assumption whose text is ", LeftOut());
  }
}

absl::Status Redactor::Redact(Report* report) {
  ModelAndSymbols(report);
  Work(report);
  Modules(&report->modules);
  Rows(report);
  Copies(&report->tied);
  Copies(&report->likely_copies);
  Sentences(report);
  return status_;
}

}  // namespace onnxflops
