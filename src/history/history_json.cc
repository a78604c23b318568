// "onnxflops.history/1": tools/schema/history.v1.schema.json describes every field.
//
// Figures, limits and sizes are written only for the lines at which they change, each with the
// place of its line. A history is long and its figures rarely change, so this keeps JSON and page
// small. Changes are listed once more by themselves, with what else may explain them: other sizes,
// another device, another version of onnxflops, the same file. A page holds its data as JSON and
// has a maximum of bytes, so parts of it may be left out (ToHtml).
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/base/limits.h"
#include "src/cost/amounts.h"
#include "src/history/history_writers.h"
#include "src/render/html_page.h"
#include "src/render/json_writer.h"
#include "src/report/json_parts.h"

namespace onnxflops {
namespace history {
namespace {

using report::JsonWriter;
using report::kOneLine;

void WriteOptional(absl::string_view key, const std::string& text, JsonWriter* json) {
  json->Key(key);
  if (text.empty()) {
    json->Null();
  } else {
    json->String(text);
  }
}

void WriteDate(const HistoryRecord& record, JsonWriter* json) {
  json->Key("date").String(record.date);
  WriteOptional("commit", record.commit, json);
}

// "value" and "status"; of nothing, null and "missing".
void WriteFigure(const Quantity& q, const RecordedFigure* figure, JsonWriter* json) {
  const bool number = figure != nullptr && (figure->status == RecordedFigure::Status::kExact ||
                                            figure->status == RecordedFigure::Status::kLowerBound);
  json->Key("value");
  if (number) {
    json->Exact(q, figure->value);
  } else {
    json->Null();
  }
  json->Key("status").String(figure == nullptr ? "missing" : NameOf(figure->status));
  if (figure != nullptr && !figure->expr.empty()) json->Key("expr").String(figure->expr);
}

bool AreSame(const RecordedFigure* a, const RecordedFigure* b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
}

// The lines at which the figure differs from that of the line before.
void WritePoints(const HistorySeries& series, const Quantity& q, JsonWriter* json) {
  json->Key("points").BeginArray();
  const RecordedFigure* last = nullptr;
  for (size_t i = 0; i < series.records.size(); ++i) {
    const RecordedFigure* const figure = series.records[i].Find(q);
    if (i > 0 && AreSame(last, figure)) continue;
    last = figure;
    json->BeginObject(kOneLine);
    json->Key("place").Int(static_cast<int64_t>(i));
    WriteDate(series.records[i], json);
    WriteFigure(q, figure, json);
    json->EndObject();
  }
  json->EndArray();
}

const absl::int128* FindLimit(const HistoryRecord& record, const Quantity& q) {
  for (const auto& [quantity, limit] : record.limits) {
    if (quantity == &q) return &limit;
  }
  return nullptr;
}

// The lines at which its limit differs from that of the line before.
void WriteLimits(const HistorySeries& series, const Quantity& q, JsonWriter* json) {
  json->Key("limits").BeginArray();
  const absl::int128* last = nullptr;
  for (size_t i = 0; i < series.records.size(); ++i) {
    const absl::int128* const limit = FindLimit(series.records[i], q);
    const bool same = last == nullptr || limit == nullptr ? last == limit : *last == *limit;
    if (same) continue;
    last = limit;
    json->BeginObject(kOneLine);
    json->Key("place").Int(static_cast<int64_t>(i));
    json->Key("value");
    if (limit == nullptr) {
      json->Null();
    } else {
      json->Exact(q, *limit);
    }
    json->EndObject();
  }
  json->EndArray();
}

// The lines at which the sizes differ from those of the line before.
void WriteSizesOf(const HistorySeries& series, JsonWriter* json) {
  json->Key("sizes").BeginArray();
  for (size_t i = 0; i < series.records.size(); ++i) {
    if (i > 0 && series.records[i].sizes == series.records[i - 1].sizes) continue;
    json->BeginObject(kOneLine);
    json->Key("place").Int(static_cast<int64_t>(i));
    report::WriteSizes("at", series.records[i].sizes, json);
    json->EndObject();
  }
  json->EndArray();
}

void WriteSeries(const HistoryReport& report, const HistorySeries& series, JsonWriter* json) {
  json->BeginObject();
  json->Key("model").String(series.model);
  json->Key("records").Int(static_cast<int64_t>(series.records.size()));
  for (const bool last : {false, true}) {
    json->Key(last ? "last" : "first").BeginObject(kOneLine);
    WriteDate(last ? series.records.back() : series.records.front(), json);
    json->EndObject();
  }
  WriteSizesOf(series, json);
  json->Key("quantities").BeginArray();
  for (const Quantity* q : report.quantities) {
    bool has = false;
    for (const HistoryRecord& record : series.records) has = has || record.Find(*q) != nullptr;
    if (!has) continue;
    json->BeginObject();
    json->Key("quantity").String(q->key);
    json->Key("title").String(q->title);
    json->Key("unit").String(UnitOf(*q));
    WritePoints(series, *q, json);
    WriteLimits(series, *q, json);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

void WriteChange(const HistoryReport& report, const FigureChange& c, JsonWriter* json) {
  const HistoryRecord &before = report.Before(c), &after = report.After(c);
  const RecordedFigure &a = *before.Find(*c.quantity), &b = *after.Find(*c.quantity);
  json->BeginObject();
  WriteDate(after, json);
  json->Key("model").String(after.model);
  json->Key("quantity").String(c.quantity->key);
  json->Key("unit").String(UnitOf(*c.quantity));
  for (const bool of_after : {false, true}) {
    json->Key(of_after ? "after" : "before").BeginObject(kOneLine);
    WriteFigure(*c.quantity, of_after ? &b : &a, json);
    json->EndObject();
  }
  const bool exact =
      a.status == RecordedFigure::Status::kExact && b.status == RecordedFigure::Status::kExact;
  if (exact) json->Key("change").Exact(*c.quantity, b.value - a.value);
  if (exact && a.value > 0 && report.AreComparable(c)) {
    constexpr double kPercent = 100;
    json->Key("change_percent")
        .Number(static_cast<double>(b.value - a.value) / static_cast<double>(a.value) * kPercent);
  }
  if (before.sizes != after.sizes && c.quantity->of != Quantity::Of::kWeights) {
    report::WriteSizes("before_sizes", before.sizes, json);
    report::WriteSizes("after_sizes", after.sizes, json);
  }
  if (before.device != after.device && c.quantity->unit == Quantity::Unit::kSeconds) {
    WriteOptional("before_device", before.device, json);
    WriteOptional("after_device", after.device, json);
  }
  if (before.version != after.version) {
    json->Key("versions").BeginArray(kOneLine);
    json->String(before.version);
    json->String(after.version);
    json->EndArray();
  }
  if (!before.sha256.empty() && !after.sha256.empty()) {
    json->Key("same_file").Bool(before.sha256 == after.sha256);
  }
  json->EndObject();
}

// `left_out`: lists that a page has no room for.
void WriteHistory(const HistoryReport& report, JsonWriter::Layout layout, bool with_changes,
                  int64_t left_out, JsonWriter* json) {
  json->BeginObject(layout);
  json->Key("schema").String("onnxflops.history/1");
  json->Key("file").String(report.file);
  json->Key("records").Int(report.records);
  json->Key("commits").Int(report.commits);
  json->Key("models").Int(report.models);
  json->Key("series").BeginArray();
  for (const HistorySeries& series : report.series) WriteSeries(report, series, json);
  json->EndArray();
  if (with_changes) {
    json->Key("changes").BeginArray();
    for (const FigureChange& c : report.changes) WriteChange(report, c, json);
    json->EndArray();
  }
  if (left_out > 0) json->Key("left_out").Int(left_out);
  json->EndObject();
}

std::string PageJson(const HistoryReport& report, bool with_changes, int64_t left_out) {
  report::JsonWriter json;
  json.CutStrings(kMaxPageText);
  WriteHistory(report, report::kOneLine, with_changes, left_out, &json);
  return json.TakeText();
}

}  // namespace
}  // namespace history

std::string ToJson(const HistoryReport& report) {
  report::JsonWriter json;
  history::WriteHistory(report, report::JsonWriter::Layout::kLines, /*with_changes=*/true, 0,
                        &json);
  return json.TakeText();
}

// If there is no room, the table of changes is left out first, since the charts still show them.
// Then all charts are left out except those of the main quantities.
std::string ToHtml(const HistoryReport& report) {
  constexpr size_t kMost = kMaxPageBytes * 4 / 5;  // of the page; the rest is its script
  std::string text = history::PageJson(report, /*with_changes=*/true, 0);
  if (text.size() > kMost) text = history::PageJson(report, /*with_changes=*/false, 0);
  if (text.size() > kMost) {
    HistoryReport part = report;
    std::erase_if(part.quantities, [](const Quantity* q) {
      return q->value != &Amounts::flops && q->value != &Amounts::params && q != &kPeakActivations;
    });
    const auto left_out =
        report.models * static_cast<int64_t>(report.quantities.size() - part.quantities.size());
    text = history::PageJson(part, /*with_changes=*/false, left_out);
  }
  return report::HtmlPage(report::FileNameOf(report.file), "history", text);
}

}  // namespace onnxflops
