// Tables of a history. A row is one change: a figure of a model that differs from that in the
// model's line before. Figures have four digits, and all of them if four would look equal on both
// sides. A percentage is given only between exact figures at the same sizes and on the same device.
// What else may explain a change stands in a note, and the column of notes is there only if one has
// any. CSV has the same rows with every digit.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/cost/amounts.h"
#include "src/diff/diff_parts.h"
#include "src/history/history_writers.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/render/text_table.h"
#include "src/symbolic/expr.h"

namespace onnxflops {
namespace history {
namespace {

constexpr size_t kDay = 10, kShortCommit = 7;

std::string FigureText(const Quantity& q, const RecordedFigure& figure, bool exact) {
  switch (figure.status) {
    case RecordedFigure::Status::kExact:
      return report::AmountText(q, figure.value, exact);
    case RecordedFigure::Status::kLowerBound:
      return report::KnownText(report::Known::kAtLeast, report::AmountText(q, figure.value, exact));
    case RecordedFigure::Status::kUnknown:
      return report::KnownText(report::Known::kNothing, "");
    case RecordedFigure::Status::kOpen:
      break;
  }
  return figure.expr.empty() ? "a formula" : figure.expr;
}

bool HasNumber(const RecordedFigure& figure) {
  return figure.status == RecordedFigure::Status::kExact ||
         figure.status == RecordedFigure::Status::kLowerBound;
}

// "449.1 M -> 8.207 G", with every digit where four would be the same.
std::string SidesText(const Quantity& q, const RecordedFigure& a, const RecordedFigure& b) {
  const std::string before = FigureText(q, a, false), after = FigureText(q, b, false);
  if (before != after) return absl::StrCat(before, " -> ", after);
  return absl::StrCat(FigureText(q, a, true), " -> ", FigureText(q, b, true));
}

std::string SizesText(const Bindings& sizes) {
  return absl::StrJoin(sizes, ", ", [](std::string* out, const auto& size) {
    absl::StrAppend(out, size.first, " = ", size.second);
  });
}

std::string AtText(const Bindings& sizes) {
  return absl::StrCat("at ", sizes.empty() ? "the sizes of the file" : SizesText(sizes));
}

std::string DeviceText(const HistoryRecord& record) {
  return record.device.empty() ? "an unnamed device" : record.device;
}

// What else may have changed the figure: "at batch = 1 -> at the sizes of the file", or
// "onnxflops 0.1.0 -> 0.2.0, same file".
std::string NoteOf(const HistoryReport& report, const FigureChange& c) {
  const HistoryRecord &before = report.Before(c), &after = report.After(c);
  std::vector<std::string> notes;
  if (before.sizes != after.sizes && c.quantity->of != Quantity::Of::kWeights) {
    notes.push_back(absl::StrCat(AtText(before.sizes), " -> ", AtText(after.sizes)));
  }
  if (before.device != after.device && c.quantity->unit == Quantity::Unit::kSeconds) {
    notes.push_back(absl::StrCat("on ", DeviceText(before), " -> ", DeviceText(after)));
  }
  if (before.version != after.version) {
    const bool same = !after.sha256.empty() && before.sha256 == after.sha256;
    notes.push_back(absl::StrCat("onnxflops ", before.version, " -> ", after.version,
                                 same ? ", same file" : ""));
  }
  return absl::StrJoin(notes, "; ");
}

// "+9.7 %"; "" where no figure has it, or where the figures are of other sizes.
std::string PercentOf(const HistoryReport& report, const FigureChange& c) {
  const RecordedFigure& a = *report.Before(c).Find(*c.quantity);
  const RecordedFigure& b = *report.After(c).Find(*c.quantity);
  const bool exact =
      a.status == RecordedFigure::Status::kExact && b.status == RecordedFigure::Status::kExact;
  if (!exact || !report.AreComparable(c)) return "";
  const std::string text = diff::ChangePercent(a.value, b.value);
  return text == "new" || text == "-" ? "" : absl::StrCat(text, " %");
}

TextTable ChangesTable(const HistoryReport& report) {
  using Narrow = TextTable::Column::Narrow;
  TextTable table;
  table.columns = {{"date"},
                   {"commit"},
                   {"model", false, Narrow::kName},
                   {"quantity"},
                   {"before to after", true},
                   {"change", true}};
  bool has_notes = false;
  for (const FigureChange& c : report.changes) {
    const HistoryRecord &before = report.Before(c), &after = report.After(c);
    table.rows.push_back(
        {{after.date.substr(0, kDay),
          after.commit.empty() ? "-" : after.commit.substr(0, kShortCommit), after.model,
          std::string(c.quantity->title),
          SidesText(*c.quantity, *before.Find(*c.quantity), *after.Find(*c.quantity)),
          PercentOf(report, c), NoteOf(report, c)}});
    has_notes = has_notes || !table.rows.back().cells.back().empty();
  }
  if (has_notes) {
    table.columns.push_back({"note", false, Narrow::kExtra});
    return table;
  }
  for (TextTable::Row& row : table.rows) row.cells.pop_back();
  return table;
}

// "3 commits, 2 models, 6 records, 2026-01-01 to 2026-11-26; no other figure changed".
std::string SummaryOf(const HistoryReport& report) {
  const std::string first = report.first_date.substr(0, kDay);
  const std::string last = report.last_date.substr(0, kDay);
  return absl::StrCat(Plural(report.commits, "commit"), ", ", Plural(report.models, "model"), ", ",
                      Plural(report.records, "record"), ", ", first,
                      first == last ? "" : absl::StrCat(" to ", last), "; ",
                      report.changes.empty() ? "no" : "no other",
                      report.is_part ? " change of these quantities" : " figure changed");
}

}  // namespace
}  // namespace history

Document ToDocument(const HistoryReport& report) {
  Document document;
  TextTable table = history::ChangesTable(report);
  table.notes.push_back(history::SummaryOf(report));
  document.Add(Document::Table{std::move(table)});
  return document;
}

std::string ToCsv(const HistoryReport& report) {
  TextTable table;
  for (const char* title : {"date", "commit", "model", "before_sizes", "after_sizes", "quantity",
                            "unit", "before", "before_status", "after", "after_status", "change",
                            "before_version", "after_version", "same_file"}) {
    table.columns.push_back({title});
  }
  const auto number = [](const Quantity& q, const RecordedFigure& figure) {
    return history::HasNumber(figure) ? ExactText(q, figure.value) : figure.expr;
  };
  for (const FigureChange& c : report.changes) {
    const HistoryRecord &before = report.Before(c), &after = report.After(c);
    const RecordedFigure &a = *before.Find(*c.quantity), &b = *after.Find(*c.quantity);
    const bool exact =
        a.status == RecordedFigure::Status::kExact && b.status == RecordedFigure::Status::kExact;
    const bool known = !before.sha256.empty() && !after.sha256.empty();
    table.rows.push_back(
        {{after.date, after.commit, after.model, history::SizesText(before.sizes),
          history::SizesText(after.sizes), std::string(c.quantity->key), UnitOf(*c.quantity),
          number(*c.quantity, a), std::string(NameOf(a.status)), number(*c.quantity, b),
          std::string(NameOf(b.status)), exact ? ExactText(*c.quantity, b.value - a.value) : "",
          before.version, after.version,
          !known                          ? ""
          : before.sha256 == after.sha256 ? "true"
                                          : "false"}});
  }
  return DrawCsv(table);
}

}  // namespace onnxflops
