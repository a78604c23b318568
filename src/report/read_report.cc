// How it works. The JSON is parsed with limits on bytes and nesting, then each part of the report
// is read by name. The file may be from anywhere, so no value is converted before its type is
// checked, since the JSON library would throw. Every error names file and field. Formulas are
// parsed once per text, as large reports repeat a few of them. Symbols are read first: formulas
// need to know which symbols are sizes of inputs, whose bound is 1 and not 0.
//
// Modules are read with a stack, not by recursion. The sums of the modules must equal the totals,
// so a report that was edited by hand is refused. Reports of other conventions are refused as well.
// Fields that earlier versions did not have may be missing.
#include "src/report/read_report.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/base/json_reader.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/module/module.h"
#include "src/render/format.h"

namespace onnxflops {
namespace {

using Json = nlohmann::json;

constexpr SymbolOrigin::Kind kOriginKinds[] = {
    SymbolOrigin::Kind::kInput,     SymbolOrigin::Kind::kData,    SymbolOrigin::Kind::kSizes,
    SymbolOrigin::Kind::kRepeats,   SymbolOrigin::Kind::kMachine, SymbolOrigin::Kind::kTrips,
    SymbolOrigin::Kind::kTripCount,
};

class ReportReader {
 public:
  explicit ReportReader(absl::string_view file) : file_(Escaped(file)) {}

  absl::StatusOr<Report> Read(absl::string_view text) {
    const absl::StatusOr<Json> parsed =
        ParseJson(text, {.bytes = kMaxReportBytes, .bytes_name = "report-bytes", .nesting = 1024});
    if (!parsed.ok()) {
      return WithMessage(parsed.status(), absl::StrCat(file_, ": ", parsed.status().message()));
    }
    const Json& document = *parsed;
    ASSIGN_OR_RETURN(const Json* root, RootOf(document));
    RETURN_IF_ERROR(ReadHead(*root));
    RETURN_IF_ERROR(ReadSymbols(*root));
    RETURN_IF_ERROR(ReadTensors(*root, "inputs", &report_.inputs));
    for (InputInfo& input : report_.inputs) input.declared = input.shape;
    RETURN_IF_ERROR(ReadTensors(*root, "outputs", &report_.outputs));
    RETURN_IF_ERROR(ReadTimedOn(*root));
    RETURN_IF_ERROR(ReadTotals(*root));
    RETURN_IF_ERROR(ReadOps(*root));
    RETURN_IF_ERROR(ReadModules(*root));
    RETURN_IF_ERROR(ReadNodes(*root));
    return std::move(report_);
  }

 private:
  absl::Status Fault(absl::string_view field, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ": ", field, field.empty() ? "" : ": ", what));
  }

  // ---- values. They are never converted without a look at their type: nlohmann would throw.

  absl::StatusOr<const Json*> Get(const Json& object, const char* key) const {
    const auto at = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || at == object.end()) return Fault(key, "the field is missing");
    return &*at;
  }
  absl::StatusOr<const Json*> GetList(const Json& object, const char* key) const {
    ASSIGN_OR_RETURN(const Json* list, Get(object, key));
    if (!list->is_array()) return Fault(key, "it should be a list");
    return list;
  }
  absl::StatusOr<std::string> Text(const Json& object, const char* key) const {
    ASSIGN_OR_RETURN(const Json* value, Get(object, key));
    if (!value->is_string()) return Fault(key, "it should be a string");
    return *value->get_ptr<const std::string*>();
  }
  absl::StatusOr<int64_t> WholeNumber(const Json& value, absl::string_view key) const {
    const bool fits = value.is_number_unsigned() &&
                      *value.get_ptr<const uint64_t*>() <= static_cast<uint64_t>(INT64_MAX);
    if (!fits) return Fault(key, "it should be a whole number, 0 or more");
    return static_cast<int64_t>(*value.get_ptr<const uint64_t*>());
  }
  absl::StatusOr<int64_t> Number(const Json& object, const char* key) const {
    ASSIGN_OR_RETURN(const Json* value, Get(object, key));
    return WholeNumber(*value, key);
  }

  // An amount as it is written: a whole number, or {"expr": "2*batch", "value": null}.
  absl::StatusOr<Expr> Amount(const Json& value, absl::string_view key,
                              const Quantity& quantity = QuantityOf(&Amounts::flops)) {
    const bool is_time = quantity.unit == Quantity::Unit::kSeconds;
    if (value.is_number_unsigned() && !is_time)
      return Expr(absl::int128(*value.get_ptr<const uint64_t*>()));
    const auto text = value.is_object() ? value.find("expr") : value.end();
    if (!value.is_object() || text == value.end() || !text->is_string()) {
      return Fault(key, "it should be a whole number, 0 or more, or {\"expr\": \"...\", ...}");
    }
    const std::string& written = *text->get_ptr<const std::string*>();
    const std::optional<absl::string_view> formula = FormulaIn(quantity, written);
    if (!formula) return Fault(key, "it should be a time, {\"expr\": \"1e-21*(...)\", ...}");
    return Formula(std::string(*formula), key);
  }

  absl::StatusOr<Expr> Formula(const std::string& text, absl::string_view key) {
    const auto known = formulas_.find(text);
    if (known != formulas_.end()) return known->second;
    absl::StatusOr<Expr> expr = ParseExpr(text);
    if (!expr.ok()) return Fault(key, expr.status().message());
    if (expr->error() != nullptr) return Fault(key, absl::StrCat("the formula ", expr->error()));
    if (expr->is_literal() && expr->literal() < 0) return Fault(key, "it is negative");
    // Dimensions of inputs are 1 or more, as they were when the report was made.
    Replacements inputs;
    for (const std::string& name : expr->Symbols()) {
      if (input_symbols_.contains(name)) inputs.emplace(name, Expr::Symbol(name, 1));
    }
    if (!inputs.empty()) *expr = expr->Replace(inputs);
    if (expr->error() != nullptr) return Fault(key, absl::StrCat("the formula ", expr->error()));
    formulas_.emplace(text, *expr);
    return expr;
  }

  // Every quantity of a row. A quantity that no row of the report has was not counted when it was
  // made.
  absl::Status ReadAmounts(const Json& row, bool weights, Amounts* amounts) {
    for (size_t i = 0; i < kNumQuantities; ++i) {
      const Quantity& q = kQuantities[i];
      if ((report_.absent >> i & 1) != 0 || (q.of == Quantity::Of::kWeights && !weights)) continue;
      const std::string key(q.key);
      ASSIGN_OR_RETURN(const Json* value, Get(row, key.c_str()));
      ASSIGN_OR_RETURN(amounts->*q.value, Amount(*value, q.key, q));
    }
    return absl::OkStatus();
  }

  // ---- the parts of a report

  absl::StatusOr<const Json*> RootOf(const Json& document) const {
    ASSIGN_OR_RETURN(const std::string schema, Text(document, "schema"));
    if (schema == "onnxflops.report/1") return &document;
    if (schema != "onnxflops.reports/1") {
      return Fault("schema", absl::StrCat(Quoted(schema), " is not onnxflops.report/1, which ",
                                          "onnxflops count writes as JSON"));
    }
    ASSIGN_OR_RETURN(const Json* list, GetList(document, "reports"));
    if (list->size() != 1) {
      return Fault("reports", absl::StrCat("it holds ", list->size(), " reports, not one"));
    }
    return &(*list)[0];
  }

  // A report without an image size of its own has none.
  absl::Status ReadPositions(const Json& model) {
    if (!model.contains("positions")) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Json* list, GetList(model, "positions"));
    for (const Json& text : *list) {
      if (!text.is_string()) return Fault("positions", "its texts should be strings");
      report_.model.positions.push_back(*text.get_ptr<const std::string*>());
    }
    return absl::OkStatus();
  }

  absl::Status ReadHead(const Json& root) {
    ASSIGN_OR_RETURN(const Json* model, Get(root, "model"));
    ASSIGN_OR_RETURN(report_.model.path, Text(*model, "path"));
    ASSIGN_OR_RETURN(report_.model.ir_version, Number(*model, "ir_version"));
    ASSIGN_OR_RETURN(report_.model.producer, Text(*model, "producer"));
    ASSIGN_OR_RETURN(report_.model.nodes, Number(*model, "nodes"));
    ASSIGN_OR_RETURN(const Json* opsets, Get(*model, "opsets"));
    if (!opsets->is_object()) return Fault("opsets", "it should be an object");
    for (const auto& [domain, version] : opsets->items()) {
      ASSIGN_OR_RETURN(report_.model.opsets[domain], WholeNumber(version, "opsets"));
    }
    RETURN_IF_ERROR(ReadPositions(*model));
    ASSIGN_OR_RETURN(report_.convention, Text(root, "convention"));
    if (report_.convention != "onnxflops") {
      return Fault("convention", absl::StrCat("the report counts as ", Quoted(report_.convention),
                                              "; only our own counts can be read back"));
    }
    ASSIGN_OR_RETURN(const std::string causal, Text(root, "causal"));
    report_.causal = causal == "half" ? CausalCounting::kHalf : CausalCounting::kFull;
    if (root.contains("part")) {
      ASSIGN_OR_RETURN(report_.part, Text(root, "part"));
    }
    ASSIGN_OR_RETURN(const Json* bindings, Get(root, "bindings"));
    if (!bindings->is_object()) return Fault("bindings", "it should be an object");
    for (const auto& [name, size] : bindings->items()) {
      ASSIGN_OR_RETURN(report_.bindings[name], WholeNumber(size, "bindings"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadTensor(const Json& json, TensorInfo* tensor) {
    ASSIGN_OR_RETURN(tensor->name, Text(json, "name"));
    ASSIGN_OR_RETURN(tensor->type, Text(json, "dtype"));
    ASSIGN_OR_RETURN(const Json* shape, Get(json, "shape"));
    if (shape->is_null()) return absl::OkStatus();
    if (!shape->is_array()) return Fault("shape", "it should be a list or null");
    tensor->shape = Shape();
    for (const Json& dim : *shape) {
      if (!dim.is_string()) return Fault("shape", "its sizes should be strings");
      ASSIGN_OR_RETURN(Expr size, Formula(*dim.get_ptr<const std::string*>(), "shape"));
      tensor->shape.push_back(std::move(size));
    }
    return absl::OkStatus();
  }

  template <typename Tensors>
  absl::Status ReadTensors(const Json& root, const char* key, Tensors* tensors) {
    ASSIGN_OR_RETURN(const Json* list, GetList(root, key));
    for (const Json& json : *list) RETURN_IF_ERROR(ReadTensor(json, &tensors->emplace_back()));
    return absl::OkStatus();
  }

  absl::Status ReadTotals(const Json& root) {
    ASSIGN_OR_RETURN(const Json* totals, Get(root, "totals"));
    if (!totals->is_object()) return Fault("totals", "it should be an object");
    for (size_t i = 0; i < kNumQuantities; ++i) {
      const std::string key(kQuantities[i].key);
      const bool is_exact = !kQuantities[i].is_exact_form() || root.contains("training");
      if (!is_exact || !totals->contains(key)) report_.absent |= uint32_t{1} << i;
    }
    if ((report_.absent & 1) != 0) return Fault("totals", "it should have the field flops");
    RETURN_IF_ERROR(ReadAmounts(*totals, /*weights=*/true, &report_.totals));
    report_.totals.SetBackward(report_.exact_backward());
    RETURN_IF_ERROR(ReadPeak(root, *totals));
    ASSIGN_OR_RETURN(const Json* coverage, Get(root, "coverage"));
    ASSIGN_OR_RETURN(report_.coverage.nodes, Number(*coverage, "nodes"));
    ASSIGN_OR_RETURN(report_.coverage.counted, Number(*coverage, "counted"));
    ASSIGN_OR_RETURN(report_.coverage.free, Number(*coverage, "free"));
    ASSIGN_OR_RETURN(report_.coverage.unknown, Number(*coverage, "unknown"));
    ASSIGN_OR_RETURN(const Json* lower_bound, Get(*coverage, "lower_bound"));
    if (!lower_bound->is_boolean()) return Fault("lower_bound", "it should be true or false");
    report_.totals.lower_bound = *lower_bound->get_ptr<const bool*>();
    return absl::OkStatus();
  }

  // The peak as Count gives it: only a report with --memory, in the order of the file, by a
  // formula.
  absl::Status ReadPeak(const Json& root, const Json& totals) {
    const std::string key(kPeakActivations.key);
    if (!root.contains("memory") || !totals.contains(key)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Json* memory, Get(root, "memory"));
    ASSIGN_OR_RETURN(const std::string order, Text(*memory, "order"));
    ASSIGN_OR_RETURN(const Json* for_all_sizes, Get(*memory, "for_all_sizes"));
    ASSIGN_OR_RETURN(const int64_t unknown, Number(*memory, "unknown_sizes"));
    if (order != OrderName(ExecutionOrder::kFile) || *for_all_sizes != true) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Expr bytes, Amount(totals[key], kPeakActivations.key));
    report_.activation_peak = ActivationPeak{std::move(bytes), unknown > 0};
    return absl::OkStatus();
  }

  // What the times are of: only a report with --device.
  absl::Status ReadTimedOn(const Json& root) {
    if (!root.contains("roofline")) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Json* roofline, Get(root, "roofline"));
    TimedOn& timed_on = report_.read_timed_on.emplace();
    ASSIGN_OR_RETURN(timed_on.device, Text(*roofline, "device"));
    ASSIGN_OR_RETURN(timed_on.dtype, Text(*roofline, "dtype"));
    ASSIGN_OR_RETURN(const Json* peak, Get(*roofline, "peak_flops_per_second"));
    if (!peak->is_number()) return Fault("peak_flops_per_second", "it should be a number");
    timed_on.flops_per_second = peak->get<double>();
    ASSIGN_OR_RETURN(timed_on.bytes_per_second, Number(*roofline, "bytes_per_second"));
    return absl::OkStatus();
  }

  absl::Status ReadSymbols(const Json& root) {
    ASSIGN_OR_RETURN(const Json* list, GetList(root, "symbols"));
    for (const Json& json : *list) {
      SymbolOrigin& symbol = report_.symbols.emplace_back();
      ASSIGN_OR_RETURN(symbol.name, Text(json, "name"));
      ASSIGN_OR_RETURN(const Json* origin, Get(json, "origin"));
      ASSIGN_OR_RETURN(const std::string kind, Text(*origin, "kind"));
      symbol.kind = SymbolOrigin::Kind::kData;
      for (const SymbolOrigin::Kind known : kOriginKinds) {
        if (report::OriginKindName(known) == kind) symbol.kind = known;
      }
      if (symbol.kind == SymbolOrigin::Kind::kInput) input_symbols_.insert(symbol.name);
      ASSIGN_OR_RETURN(symbol.value, Text(*origin, "value"));
      ASSIGN_OR_RETURN(const int64_t axis, Number(*origin, "axis"));
      if (axis >= kMaxRank) return Fault("axis", "it is too large");
      symbol.axis = static_cast<int>(axis);
      symbol.is_past = json.contains("least");
    }
    // A second pass: formulas need to know which symbols are sizes of inputs.
    for (size_t i = 0; i < list->size(); ++i) {
      const auto sum = (*list)[i].find("sum");
      if (sum == (*list)[i].end()) continue;
      ASSIGN_OR_RETURN(report_.symbols[i].sum, Amount(*sum, "sum"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadOps(const Json& root) {
    ASSIGN_OR_RETURN(const Json* list, GetList(root, "by_op"));
    for (const Json& json : *list) {
      OpRow& row = report_.by_op.emplace_back();
      ASSIGN_OR_RETURN(row.op, Text(json, "op"));
      ASSIGN_OR_RETURN(row.domain, Text(json, "domain"));
      ASSIGN_OR_RETURN(row.nodes, Number(json, "nodes"));
      ASSIGN_OR_RETURN(const Json* runs, Get(json, "runs"));
      ASSIGN_OR_RETURN(row.runs, Amount(*runs, "runs"));
      RETURN_IF_ERROR(ReadAmounts(json, /*weights=*/false, &row));
      // Reports of earlier versions lack it.
      const auto lower_bound = json.find("lower_bound");
      row.lower_bound = lower_bound != json.end() && *lower_bound == true;
    }
    return absl::OkStatus();
  }

  absl::Status ReadModule(const Json& json, int32_t parent) {
    Module module;
    module.parent = parent;
    if (parent >= 0) module.depth = report_.modules[static_cast<size_t>(parent)].depth + 1;
    // The model, kMaxModuleDepth parts of a path, and the row of a module's own work.
    if (module.depth > kMaxModuleDepth + 1) return Fault("modules", "they nest too deep");
    ASSIGN_OR_RETURN(module.path, Text(json, "path"));
    ASSIGN_OR_RETURN(const std::string name, Text(json, "name"));
    if (!absl::EndsWith(module.path, name)) return Fault("name", "it should end the path");
    module.name_begin = module.path.size() - name.size();
    module.own = name == kOwnWork || name == kOutsideModules;
    ASSIGN_OR_RETURN(module.type, Text(json, "type"));
    ASSIGN_OR_RETURN(module.nodes, Number(json, "nodes"));
    ASSIGN_OR_RETURN(const Json* lower_bound, Get(json, "lower_bound"));
    if (!lower_bound->is_boolean()) return Fault("lower_bound", "it should be true or false");
    module.lower_bound = *lower_bound->get_ptr<const bool*>();
    Amounts amounts;
    RETURN_IF_ERROR(ReadAmounts(json, /*weights=*/true, &amounts));
    module.amounts = std::make_shared<const Amounts>(std::move(amounts));
    report_.modules.push_back(std::move(module));
    return absl::OkStatus();
  }

  // Commands compare the root of the modules, so it must equal the totals.
  absl::Status CheckRoot(const Amounts& root) const {
    for (const Quantity& q : kQuantities) {
      const Expr &total = report_.totals.*q.value, &sum = root.*q.value;
      if (total == sum) continue;
      return Fault(q.key, absl::StrCat("the total is ", total.ToString(), ", the modules have ",
                                       sum.ToString()));
    }
    return absl::OkStatus();
  }

  // In the order of the text, each before its children: no recursion.
  absl::Status ReadModules(const Json& root) {
    struct Open {
      const Json* children;
      size_t next;
      int32_t module;
    };
    ASSIGN_OR_RETURN(const Json* top, Get(root, "modules"));
    std::vector<Open> stack;
    const auto open = [&](const Json& json, int32_t parent) -> absl::Status {
      RETURN_IF_ERROR(ReadModule(json, parent));
      ASSIGN_OR_RETURN(const Json* children, GetList(json, "children"));
      stack.push_back({children, 0, static_cast<int32_t>(report_.modules.size()) - 1});
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(open(*top, -1));
    RETURN_IF_ERROR(CheckRoot(*report_.modules[0].amounts));
    while (!stack.empty()) {
      Open& at = stack.back();
      if (at.next == at.children->size()) {
        report_.modules[static_cast<size_t>(at.module)].end =
            static_cast<int32_t>(report_.modules.size());
        stack.pop_back();
        continue;
      }
      const int32_t parent = at.module;
      RETURN_IF_ERROR(open((*at.children)[at.next++], parent));
    }
    return absl::OkStatus();
  }

  absl::Status ReadNodes(const Json& root) {
    report_.has_nodes = root.contains("nodes");
    if (!report_.has_nodes) return absl::OkStatus();
    absl::flat_hash_map<absl::string_view, int32_t> places;
    for (size_t i = 0; i < report_.modules.size(); ++i) {
      places.try_emplace(report_.modules[i].path, static_cast<int32_t>(i));
    }
    ASSIGN_OR_RETURN(const Json* list, GetList(root, "nodes"));
    for (const Json& json : *list) {
      NodeRow& row = report_.nodes.emplace_back();
      ASSIGN_OR_RETURN(row.name, Text(json, "name"));
      ASSIGN_OR_RETURN(row.op, Text(json, "op"));
      ASSIGN_OR_RETURN(row.domain, Text(json, "domain"));
      ASSIGN_OR_RETURN(const std::string module, Text(json, "module"));
      const auto place = places.find(module);
      if (place == places.end()) return Fault("module", "it should be the path of a module");
      row.module = place->second;
      RETURN_IF_ERROR(ReadTensors(json, "inputs", &row.inputs));
      RETURN_IF_ERROR(ReadTensors(json, "outputs", &row.outputs));
      RETURN_IF_ERROR(ReadAmounts(json, /*weights=*/false, &row));
      ASSIGN_OR_RETURN(const Json* times, Get(json, "multiplicity"));
      ASSIGN_OR_RETURN(row.multiplicity, Amount(*times, "multiplicity"));
      ASSIGN_OR_RETURN(const std::string status, Text(json, "status"));
      for (const Coverage known : {Coverage::kCounted, Coverage::kFree, Coverage::kUnknown}) {
        if (report::StatusName(known) == status) row.status = known;
      }
    }
    return absl::OkStatus();
  }

  const std::string file_;
  Report report_;
  absl::flat_hash_map<std::string, Expr> formulas_;
  absl::flat_hash_set<std::string> input_symbols_;
};

}  // namespace

bool LooksLikeReport(absl::string_view beginning) {
  absl::ConsumePrefix(&beginning, "\xef\xbb\xbf");
  absl::string_view rest = absl::StripLeadingAsciiWhitespace(beginning);
  if (!absl::ConsumePrefix(&rest, "{")) return false;
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(rest), "\"schema\"");
}

absl::StatusOr<Report> ReadReport(absl::string_view json, absl::string_view file) {
  return ReportReader(file).Read(json);
}

}  // namespace onnxflops
