#include "src/operators/operator_list.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "src/base/quote.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/render/text_table.h"

namespace onnxflops {
namespace {

using report::DrawWrapped;
using report::JsonWriter;
using report::kOneLine;

const char* StatusName(Operator::Status status) {
  switch (status) {
    case Operator::Status::kCounted:
      return "counted";
    case Operator::Status::kFree:
      return "free";
    case Operator::Status::kUnknown:
      break;
  }
  return "unknown";
}

const char* FormOf(const Operator& op) { return op.formulas.has_value() ? "data" : "prose"; }

void WriteFormulas(const Operator& op, JsonWriter* json) {
  json->Key("formula_is").String(FormOf(op));
  if (!op.formulas.has_value()) return;
  if (!op.users_own) json->Key("computes").String(op.formulas->computes);
  json->Key("signature").String(op.formulas->signature);
  const auto write = [&](const char* key, const std::vector<Operator::Formula>& list) {
    json->Key(key).BeginObject(kOneLine);
    for (const Operator::Formula& formula : list) json->Key(formula.name).String(formula.text);
    json->EndObject();
  };
  write("attributes", op.formulas->attributes);
  write("let", op.formulas->lets);
  write("costs", op.formulas->costs);
}

// A text of several lines under a label of 11 characters.
std::string Wrapped(const char* label, absl::string_view text, int width) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  return absl::StrCat(label, DrawWrapped(words, " ", width - 11, 11));
}

std::string CostLines(const Operator::Formulas& formulas, int width) {
  if (formulas.costs.empty()) return "  cost     free\n";
  std::string out = Wrapped("  names    ", formulas.signature, width);
  const auto add = [&](const char* label, const char* before,
                       const std::vector<Operator::Formula>& list) {
    for (const Operator::Formula& f : list) {
      out += Wrapped(label, absl::StrCat(before, f.name, " = ", f.text), width);
    }
  };
  add("           ", "attr.", formulas.attributes);
  add("  where    ", "", formulas.lets);
  add("  cost     ", "", formulas.costs);
  return out;
}

TextTable OperatorTable(absl::Span<const Operator> operators) {
  TextTable table;
  table.columns = {{"domain"}, {"operator"}, {"versions"}, {"status"}, {"formula is"}, {"formula"}};
  for (const Operator& op : operators) {
    table.rows.push_back(
        {{op.domain.empty() ? "ai.onnx" : op.domain, op.name, absl::StrJoin(op.versions, " "),
          StatusName(op.status), FormOf(op), op.formula}});
  }
  return table;
}

// For people: a domain is part of the name, as everywhere else, and leaves room for the formula.
TextTable ShownOperators(absl::Span<const Operator> operators) {
  TextTable table;
  using Narrow = TextTable::Column::Narrow;
  table.columns = {{"operator", false, Narrow::kName},
                   {"versions", false, Narrow::kExtra},
                   {"status", false, Narrow::kExtra},
                   {"formula is", false, Narrow::kExtra},
                   {"formula", false, Narrow::kText}};
  for (const Operator& op : operators) {
    table.rows.push_back({{OpLabel(op.domain, op.name), absl::StrJoin(op.versions, " "),
                           StatusName(op.status), FormOf(op), op.formula}});
  }
  return table;
}

}  // namespace

Document ToDocument(absl::Span<const Operator> operators) {
  Document document;
  document.Add(Document::Table{ShownOperators(operators)});
  return document;
}

std::string ToCsv(absl::Span<const Operator> operators) {
  return DrawCsv(OperatorTable(operators));
}

std::string ToJson(absl::Span<const Operator> operators) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.ops/1");
  json.Key("operators").BeginArray();
  for (const Operator& op : operators) {
    json.BeginObject(kOneLine);
    json.Key("domain").String(op.domain);
    json.Key("op").String(op.name);
    json.Key("since").BeginArray();
    for (int version : op.versions) json.Int(version);
    json.EndArray();
    json.Key("status").String(StatusName(op.status));
    json.Key("formula").String(op.formula);
    WriteFormulas(op, &json);
    json.Key("gradient").String(op.gradient);
    json.Key("note").String(op.note);
    json.Key("exceptions").BeginArray();
    for (const std::string& e : op.exceptions) json.String(e);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

std::string ToText(const Operator& op, int width) {
  const auto wrapped = [&](const char* label, absl::string_view text) {
    return Wrapped(label, text, width);
  };
  const std::string head =
      absl::StrCat(OpLabel(op.domain, op.name), op.domain.empty() ? " (ai.onnx)" : "",
                   ", versions ", absl::StrJoin(op.versions, ", "));
  std::string out = absl::StrCat(report::DrawSentence("operator ", head, width),
                                 wrapped("  formula  ", op.words));
  if (!op.formulas.has_value()) {
    if (op.status == Operator::Status::kCounted) out += wrapped("           ", "in words only");
  } else if (!op.users_own) {  // whose formula says it all
    out += CostLines(*op.formulas, width);
  }
  out += wrapped("  gradient ", op.gradient);
  if (!op.note.empty()) out += wrapped("  note     ", op.note);
  for (const std::string& e : op.exceptions) out += wrapped("  except   ", e);
  if (op.users_own) out += "  a rule of your own\n";
  for (const Operator::Example& example : op.examples) {
    absl::StrAppend(&out, wrapped("  example  ", example.text),
                    wrapped("           ", absl::StrCat("cost: ", example.cost)));
  }
  return out;
}

}  // namespace onnxflops
