#include "src/report/operators.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "ops/formula/formula.h"
#include "src/base/quote.h"
#include "src/report/explain.h"
#include "src/report/format.h"
#include "src/report/json_writer.h"

namespace onnxflops {
namespace {

using report::DrawWrapped;
using report::ExceptionText;
using report::FormulaLine;
using report::GradientLine;
using report::JsonWriter;
using report::kOneLine;

const char* StatusOf(const OpDef& row) {
  if (Has(row.traits, Traits::kUnknown)) return "unknown";
  return row.count != nullptr || row.control_flow != ControlFlow::kNone ? "counted" : "free";
}

// The formulas of a row where they are data, or where nothing is to be said: it is free.
std::optional<Formulas> ShownFormulas(const OpDef& row) {
  absl::StatusOr<std::optional<Formulas>> formulas = FormulasOf(row);
  if (formulas.ok() && formulas->has_value()) return *std::move(formulas);
  if (StatusOf(row) == absl::string_view("free")) return Formulas();
  return std::nullopt;
}

const char* FormOf(const OpDef& row) { return ShownFormulas(row).has_value() ? "data" : "prose"; }

void WriteFormulas(const OpDef& row, JsonWriter* json) {
  json->Key("formula_is").String(FormOf(row));
  const std::optional<Formulas> formulas = ShownFormulas(row);
  if (!formulas.has_value()) return;
  const bool named = !formulas->outputs.empty();
  if (row.user_rule == nullptr) json->Key("computes").String(row.formula);
  json->Key("signature").String(named ? SignatureText(*formulas) : "");
  json->Key("attributes").BeginObject(kOneLine);
  for (const FormulaAttribute& a : formulas->attributes) json->Key(a.name).String(AttributeText(a));
  json->EndObject();
  const auto write = [&](const char* key, const std::vector<NamedFormula>& list) {
    json->Key(key).BeginObject(kOneLine);
    for (const NamedFormula& formula : list) json->Key(formula.key).String(formula.text);
    json->EndObject();
  };
  write("let", formulas->lets);
  write("costs", formulas->costs);
}

// A text of several lines under a label of 11 characters.
std::string Wrapped(const char* label, absl::string_view text, int width) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  return absl::StrCat(label, DrawWrapped(words, " ", width - 11, 11));
}

std::string CostLines(const Formulas& formulas, int width) {
  if (formulas.costs.empty()) return "  cost     free\n";
  std::string out = Wrapped("  names    ", SignatureText(formulas), width);
  for (const FormulaAttribute& a : formulas.attributes) {
    out += Wrapped("           ", absl::StrCat("attr.", a.name, " = ", AttributeText(a)), width);
  }
  for (const NamedFormula& let : formulas.lets) {
    out += Wrapped("  where    ", absl::StrCat(let.key, " = ", let.text), width);
  }
  for (const NamedFormula& cost : formulas.costs) {
    out += Wrapped("  cost     ", absl::StrCat(cost.key, " = ", cost.text), width);
  }
  return out;
}

}  // namespace

std::vector<OperatorLine> ListOperators(const Rules& rules) {
  std::vector<OperatorLine> lines;
  for (const auto& families : {rules.families(), AllFamilies()}) {
    for (const OpFamily& family : families) {
      for (const OpDef& row : family.rows) lines.push_back({family.domain, &row});
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const OperatorLine& a, const OperatorLine& b) {
    const absl::string_view x[] = {a.domain, a.row->name}, y[] = {b.domain, b.row->name};
    return std::lexicographical_compare(std::begin(x), std::end(x), std::begin(y), std::end(y));
  });
  return lines;
}

TextTable OperatorTable(const std::vector<OperatorLine>& lines) {
  TextTable table;
  using Narrow = TextTable::Column::Narrow;
  table.columns = {{"domain", false, Narrow::kCutEnd},        {"operator"},
                   {"versions", false, Narrow::kCutEnd},      {"status", false, Narrow::kDropWhole},
                   {"formula is", false, Narrow::kDropWhole}, {"formula", false, Narrow::kCutEnd}};
  for (const OperatorLine& line : lines) {
    table.rows.push_back({{*line.domain == '\0' ? "ai.onnx" : line.domain, line.row->name,
                           absl::StrJoin(line.row->versions, " "), StatusOf(*line.row),
                           FormOf(*line.row), FormulaLine(*line.row)}});
  }
  return table;
}

std::string ToJson(const std::vector<OperatorLine>& lines) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.ops/1");
  json.Key("operators").BeginArray();
  for (const OperatorLine& line : lines) {
    json.BeginObject(kOneLine);
    json.Key("domain").String(line.domain);
    json.Key("op").String(line.row->name);
    json.Key("since").BeginArray();
    for (int version : line.row->versions) json.Int(version);
    json.EndArray();
    json.Key("status").String(StatusOf(*line.row));
    json.Key("formula").String(FormulaLine(*line.row));
    WriteFormulas(*line.row, &json);
    json.Key("gradient").String(GradientLine(*line.row));
    json.Key("note").String(line.row->note);
    json.Key("exceptions").BeginArray();
    for (const OpException& e : line.row->exceptions) json.String(ExceptionText(e));
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

std::string ToText(const OperatorLine& line, int width) {
  const OpDef& row = *line.row;
  const auto wrapped = [&](const char* label, absl::string_view text) {
    return Wrapped(label, text, width);
  };
  const std::string head =
      absl::StrCat(OpLabel(line.domain, row.name), *line.domain == '\0' ? " (ai.onnx)" : "",
                   ", versions ", absl::StrJoin(row.versions, ", "));
  std::string out = absl::StrCat(report::DrawSentence("operator ", head, width),
                                 wrapped("  formula  ", row.formula));
  const std::optional<Formulas> formulas = ShownFormulas(row);
  if (!formulas.has_value()) {
    const bool counted = StatusOf(row) == absl::string_view("counted");
    if (counted) {
      out += wrapped("           ", "in words only: the language of formulas cannot say it");
    }
  } else if (row.user_rule == nullptr) {  // whose formula says it all
    out += CostLines(*formulas, width);
  }
  out += wrapped("  gradient ", GradientLine(row));
  if (*row.note != '\0') out += wrapped("  note     ", row.note);
  for (const OpException& e : row.exceptions) {
    out += wrapped("  except   ", ExceptionText(e));
  }
  if (row.user_rule != nullptr) out += "  a rule of your own\n";
  for (const OpExample& example : row.examples) {
    absl::StrAppend(&out, wrapped("  example  ", example.text),
                    wrapped("           ", absl::StrCat("cost: ", example.cost)));
  }
  return out;
}

}  // namespace onnxflops

namespace onnxflops::report {

std::string FormulaLine(const OpDef& row) {
  const std::optional<Formulas> formulas = ShownFormulas(row);
  if (!formulas.has_value() || row.user_rule != nullptr) return row.formula;
  return absl::StrCat(row.formula, "; ", CostsText(*formulas));
}

std::string GradientLine(const OpDef& row) {
  if (row.gradient.formula != nullptr) return row.gradient.formula;
  const bool free = row.count == nullptr && row.control_flow == ControlFlow::kNone &&
                    !Has(row.traits, Traits::kUnknown);
  if (free) return "free: what there is of it is moved";
  return row.control_flow == ControlFlow::kNone ? "unknown" : "that of its bodies";
}

std::string ExceptionText(const OpException& exception) {
  return absl::StrCat(exception.when, ": ", exception.reason, " (the decomposed form costs more: ",
                      absl::StrReplaceAll(exception.kinds, {{" ", ", "}}), ")");
}

}  // namespace onnxflops::report
