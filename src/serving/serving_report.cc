// How it works. A column per step: a prefill of many tokens, or decoding one token after a past.
// The table has the quantities by which a step is judged, FLOP/byte, FLOPs per token and the cache
// afterwards. Sizes that nobody gave are assumed and named. Sentences below the table state what
// each step bound by itself, since other sizes of the model follow from tokens and past. JSON and
// CSV have formulas where sizes are open.
#include "src/serving/serving_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/base/quote.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/render/text_table.h"
#include "src/report/json_parts.h"

namespace onnxflops {
namespace {

using report::GroupedDigits;
using report::JsonWriter;
using report::Known;
using report::KnownOf;
using report::KnownText;
using report::kOneLine;
using report::LowerBound;
using report::SiNumber;
using report::WithByteUnit;

// The quantities that a step is judged by.
constexpr Expr Amounts::*kServingQuantities[] = {&Amounts::flops, &Amounts::macs,
                                                 &Amounts::bytes_read, &Amounts::bytes_written};

const std::vector<Quantity>& ServingQuantities() {
  static const auto& rows = *new std::vector<Quantity>([] {
    std::vector<Quantity> found;
    std::copy_if(std::begin(kQuantities), std::end(kQuantities), std::back_inserter(found),
                 [](const Quantity& q) {
                   return std::find(std::begin(kServingQuantities), std::end(kServingQuantities),
                                    q.value) != std::end(kServingQuantities);
                 });
    return found;
  }());
  return rows;
}

std::string ShowServing(const std::optional<Expr>& e, bool bytes, const Bindings& at, bool exact) {
  if (!e) return "-";
  const absl::StatusOr<absl::int128> value = e->Evaluate(at);
  if (!value.ok()) return "?";
  std::string number = exact ? GroupedDigits(*value) : SiNumber(*value);
  return bytes ? WithByteUnit(std::move(number)) : number;
}

std::optional<double> IntensityOf(const Totals& totals, const Bindings& at) {
  const auto flops = totals.flops.Evaluate(at);
  const auto bytes = kBytesMoved.In(totals).Evaluate(at);
  if (totals.lower_bound || !flops.ok() || !bytes.ok() || *bytes == 0) return std::nullopt;
  return static_cast<double>(*flops) / static_cast<double>(*bytes);
}

std::string IntensityText(const Totals& totals, const Bindings& at) {
  const std::optional<double> intensity = IntensityOf(totals, at);
  if (totals.lower_bound) return "-";
  if (!intensity || *intensity < 0) return "?";
  const int64_t hundredths = std::llround(*intensity * 100);
  return absl::StrCat(hundredths / 100, ".", hundredths / 10 % 10, hundredths % 10);
}

std::string ColumnTitle(const ServingColumn& column) {
  return column.past == 0 ? absl::StrCat(column.name, " ", column.tokens)
                          : absl::StrCat(column.name, " ", column.tokens, " after ", column.past);
}

TextTable ServingTable(const ServingReport& report, bool exact) {
  TextTable table;
  table.columns.emplace_back();
  table.columns[0].title = "serving";
  for (const ServingColumn& column : report.columns) {
    table.columns.emplace_back();
    table.columns.back().title = ColumnTitle(column);
    table.columns.back().right = true;
  }
  const auto add = [&](absl::string_view title, const auto& cell) {
    TextTable::Row row;
    row.cells.emplace_back(title);
    for (const ServingColumn& column : report.columns) row.cells.push_back(cell(column));
    table.rows.push_back(std::move(row));
  };
  for (const Quantity& q : ServingQuantities()) {
    add(q.title, [&](const ServingColumn& c) {
      const bool bytes = q.unit == Quantity::Unit::kBytes;
      const Expr& amount = c.totals.*q.value;
      return KnownText(KnownOf(q, amount, c.totals.lower_bound),
                       ShowServing(amount, bytes, report.at, exact));
    });
  }
  add("FLOP/byte", [&](const ServingColumn& c) { return IntensityText(c.totals, report.at); });
  add("FLOPs per token", [&](const ServingColumn& c) {
    const auto flops = c.totals.flops.Evaluate(report.at);
    if (!flops.ok()) return std::string("?");
    return KnownText(c.totals.lower_bound ? LowerBound(c.totals.flops) : Known::kExact,
                     ShowServing(Expr(*flops / c.tokens), false, report.at, exact));
  });
  add("KV cache after it",
      [&](const ServingColumn& c) { return ShowServing(c.cache_bytes, true, report.at, exact); });
  return table;
}

std::vector<std::string> SizesOfServing(const ServingReport& report) {
  std::vector<std::string> texts;
  for (const auto& [name, size] : report.bindings) texts.push_back(absl::StrCat(name, " = ", size));
  for (const auto& [name, size] : report.at) {
    texts.push_back(absl::StrCat(name, " = ", size, " (assumed; --dim sets sizes)"));
  }
  return texts;
}

// Sentences about the sizes and inputs that each step sets by itself.
std::vector<std::string> StepSentences(const ServingReport& report) {
  std::vector<std::string> sentences;
  for (const ServingColumn& column : report.columns) {
    std::vector<std::string> sizes;
    for (const auto& [name, size] : column.bindings)
      sizes.push_back(absl::StrCat(name, " = ", size));
    if (!report.use_cache.empty()) {
      sizes.push_back(absl::StrCat(report.use_cache, " = ", column.past > 0 ? "true" : "false"));
    }
    sentences.push_back(
        absl::StrCat("step ", ColumnTitle(column), ": ",
                     sizes.empty() ? "no size is open" : absl::StrJoin(sizes, ", "),
                     column.of_configuration ? "; on a graph that the configuration makes" : "",
                     column.causal.empty() ? "" : absl::StrCat("; ", column.causal)));
  }
  if (report.cache_bytes_per_token) {
    sentences.push_back(absl::StrCat(
        "each token adds ", ShowServing(report.cache_bytes_per_token, true, report.at, false),
        " to the KV cache"));
  }
  return sentences;
}

void WriteBindings(const char* key, const Bindings& bindings, JsonWriter* json) {
  json->Key(key).BeginObject(kOneLine);
  for (const auto& [name, size] : bindings) json->Key(name).Int(size);
  json->EndObject();
}

void WriteExprOrNull(const char* key, const std::optional<Expr>& e, JsonWriter* json) {
  json->Key(key);
  if (e) {
    json->Quantity(*e);
  } else {
    json->Null();
  }
}

void WriteServingColumn(const ServingColumn& column, const Bindings& at, JsonWriter* json) {
  json->BeginObject();
  json->Key("name").String(column.name);
  json->Key("tokens").Int(column.tokens);
  json->Key("past").Int(column.past);
  WriteBindings("bindings", column.bindings, json);
  for (const Quantity& q : ServingQuantities()) {
    const Expr& amount = column.totals.*q.value;
    json->Key(q.key).Quantity(amount, report::HasFigure(q, amount, column.totals.lower_bound));
  }
  json->Key("intensity");
  if (const std::optional<double> intensity = IntensityOf(column.totals, at)) {
    json->Number(*intensity);
  } else {
    json->Null();
  }
  WriteExprOrNull("kv_cache_bytes", column.cache_bytes, json);
  json->Key("lower_bound").Bool(column.totals.lower_bound);
  json->EndObject();
}

}  // namespace

std::string ToJson(const ServingReport& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.serving/1");
  report::WriteModel(report.model, &json);
  WriteBindings("bindings", report.bindings, &json);
  WriteBindings("at", report.at, &json);
  json.Key("token_input").String(report.token_input);
  WriteExprOrNull("kv_cache_bytes_per_token", report.cache_bytes_per_token, &json);
  json.Key("steps").BeginArray();
  for (const ServingColumn& column : report.columns) WriteServingColumn(column, report.at, &json);
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

std::string ToCsv(const ServingReport& report) {
  TextTable table;
  for (const char* title : {"model", "step", "tokens", "past"}) {
    table.columns.emplace_back();
    table.columns.back().title = title;
  }
  for (const Quantity& q : ServingQuantities()) {
    table.columns.emplace_back();
    table.columns.back().title = std::string(q.key);
  }
  for (const char* title : {"kv_cache_bytes", "lower_bound"}) {
    table.columns.emplace_back();
    table.columns.back().title = title;
  }
  for (const ServingColumn& column : report.columns) {
    TextTable::Row row;
    row.cells = {report.model.path, column.name, absl::StrCat(column.tokens),
                 absl::StrCat(column.past)};
    for (const Quantity& q : ServingQuantities()) {
      const Expr& amount = column.totals.*q.value;
      row.cells.push_back(
          KnownField(KnownOf(q, amount, column.totals.lower_bound), amount.ToString()));
    }
    row.cells.push_back(column.cache_bytes ? column.cache_bytes->ToString() : "");
    row.cells.emplace_back(column.totals.lower_bound ? "true" : "false");
    table.rows.push_back(std::move(row));
  }
  return DrawCsv(table);
}

Document ToDocument(const ServingReport& report, const ViewOptions& options) {
  Document document;
  document.title = report.model.path;
  report::LabelledLine model = {"model", {report.model.path}};
  for (std::string& text : SizesOfServing(report)) model.texts.push_back(std::move(text));
  document.Add(Document::Lines{{std::move(model)}});
  document.Add(Document::Table{ServingTable(report, options.exact)});
  document.Add(Document::List{"", StepSentences(report)});
  return document;
}

}  // namespace onnxflops
