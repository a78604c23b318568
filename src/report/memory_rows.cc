// How it works. One row per model, one column per figure, in the order of kMemoryFigures. A figure
// has two forms: the exact formula, which CSV shows, and the value at the reference sizes, which
// people read. Both may be missing: a column in which no row has a value is left out. A value is
// marked if it is only a lower bound, if it depends on sizes inside the model that were assumed, or
// if it rests on a guess; the marks come from the figure itself, not from its number.
#include "src/report/memory_rows.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/report/model_rows.h"
#include "src/report/reference_sizes.h"
#include "src/report/summary.h"

namespace onnxflops {
namespace {

using report::GroupedDigits;
using report::Known;
using report::KnownText;
using report::ReferenceValues;
using report::SiNumber;
using report::WithByteUnit;

class RowBytes {
 public:
  explicit RowBytes(const Report& report) : report_(report), values_(report) {}

  MemoryRow::Bytes Of(const std::optional<Expr>& bytes, bool at_least = false) const {
    if (!bytes) return {"", std::nullopt, at_least, false, false};
    return {bytes->ToString(), values_.Of(*bytes), at_least, false,
            report::RestsOnSizesInside(report_, *bytes)};
  }

  // Like Of(), for a peak: its value may be known although its formula is not.
  MemoryRow::Bytes OfPeak(const std::optional<Expr>& bytes,
                          const std::optional<absl::int128>& value, bool at_least) const {
    MemoryRow::Bytes peak = Of(bytes, at_least);
    peak.shown = value;
    if (!bytes) peak.guessed = report::SizesInside(report_) > 0;
    return peak;
  }

 private:
  const Report& report_;
  const ReferenceValues values_;
};

std::string FitText(const FitReport& fit, const FitRow& row) {
  if (!row.largest) return absl::StrCat("any ", fit.symbol);
  return KnownText(row.at_most   ? Known::kAtMost
                   : row.guessed ? Known::kAssumed
                                 : Known::kExact,
                   absl::StrCat(fit.symbol, " = ", *row.largest));
}

std::string ShownBytes(const MemoryRow::Bytes& bytes, bool exact) {
  if (!bytes.shown) return bytes.exact.empty() ? "" : "?";
  const bool is_guess = bytes.is_guess || (bytes.guessed && !bytes.at_least);
  return KnownText(report::GuessOrBound(*bytes.shown, is_guess, bytes.at_least),
                   WithByteUnit(exact ? GroupedDigits(*bytes.shown) : SiNumber(*bytes.shown)));
}

// The columns of --fit: each that a row has, in their order.
std::vector<std::string> FitTitles(absl::Span<const MemoryRow> rows) {
  std::vector<std::string> titles;
  for (const MemoryRow& row : rows) {
    for (const auto& [title, text] : row.fits) {
      if (!absl::c_linear_search(titles, title)) titles.push_back(title);
    }
  }
  return titles;
}

// A cell for each of these columns.
void AddFits(const MemoryRow& row, const std::vector<std::string>& titles,
             std::vector<std::string>* cells) {
  for (const std::string& title : titles) {
    const auto fit =
        absl::c_find_if(row.fits, [&](const auto& named) { return named.first == title; });
    cells->push_back(fit == row.fits.end() ? "" : fit->second);
  }
}

TextTable MemoryTable(absl::Span<const MemoryRow> rows, bool exact) {
  using Narrow = TextTable::Column::Narrow;
  TextTable table;
  table.columns.push_back({"model", false, Narrow::kName});
  table.columns[0].paths = true;
  std::vector<size_t> shown;
  for (size_t i = 0; i < std::size(kMemoryFigures); ++i) {
    const auto has = [&](const MemoryRow& row) {
      return row.bytes[i].shown.has_value() || !row.bytes[i].exact.empty();
    };
    if (std::none_of(rows.begin(), rows.end(), has)) continue;
    shown.push_back(i);
    // These follow from the parameters, so a narrow table does without them.
    const bool follows = absl::string_view(kMemoryFigures[i].key) == "gradient_bytes" ||
                         absl::string_view(kMemoryFigures[i].key) == "optimizer_bytes";
    table.columns.push_back(
        {kMemoryFigures[i].title, true, follows ? Narrow::kSpare : Narrow::kKeep});
  }
  const std::vector<std::string> fits = FitTitles(rows);
  for (const std::string& title : fits) table.columns.push_back({title});
  table.columns.push_back({"sizes", false, Narrow::kName});
  for (const MemoryRow& row : rows) {
    std::vector<std::string> cells = {row.path};
    for (size_t i : shown) cells.push_back(ShownBytes(row.bytes[i], exact));
    AddFits(row, fits, &cells);
    cells.push_back(row.sizes);
    table.rows.push_back({std::move(cells)});
  }
  if (std::any_of(rows.begin(), rows.end(), [](const MemoryRow& row) { return row.open; })) {
    table.notes.emplace_back(WithSettings(
        "sizes that a file leaves open are those of the last column; {dim NAME=N} sets others"));
  }
  const auto is_guessed = [](const MemoryRow& row) {
    return std::any_of(std::begin(row.bytes), std::end(row.bytes),
                       [](const MemoryRow::Bytes& bytes) { return bytes.guessed; });
  };
  if (std::any_of(rows.begin(), rows.end(), is_guessed)) table.notes.emplace_back(kGuessedNote);
  const auto keeps_by_guess = [](const MemoryRow& row) {
    return std::any_of(std::begin(row.bytes), std::end(row.bytes),
                       [](const MemoryRow::Bytes& bytes) { return bytes.is_guess; });
  };
  if (std::any_of(rows.begin(), rows.end(), keeps_by_guess)) {
    table.notes.emplace_back(
        "* of kept and training: what autograd keeps of some nodes is a guess, as the file leaves "
        "it open; it may be more or less");
  }
  return table;
}

}  // namespace

MemoryRow MakeMemoryRow(const Report& report) {
  const MemoryReport& memory = *report.memory;
  const RowBytes bytes(report);
  const bool peak_unknown = memory.unknown_sizes > 0, kept_unknown = memory.unknown_saved > 0;
  MemoryRow row;
  const ModelRow model = MakeModelRow(report);
  row.path = model.path;
  row.sizes = model.sizes;
  row.open = model.open;
  row.given = absl::StrJoin(report.bindings, ", ", [](std::string* out, const auto& binding) {
    absl::StrAppend(out, Escaped(binding.first), " = ", binding.second);
  });
  row.at_node = memory.peak.node;
  const std::optional<Expr> cache =
      memory.cache ? std::optional<Expr>(memory.cache->bytes) : std::nullopt;
  MemoryRow::Bytes* const of = row.bytes;  // in the order of kMemoryFigures
  of[0] = bytes.Of(Expr(memory.param_bytes));
  of[1] = bytes.OfPeak(memory.peak.bytes, memory.peak.value, peak_unknown);
  of[2] = bytes.Of(memory.saved_bytes, kept_unknown && !memory.saved_guessed);
  of[2].shown = memory.saved_value;
  of[2].is_guess = memory.saved_guessed;
  of[3] = bytes.Of(Expr(memory.gradient_bytes));
  of[4] = bytes.Of(Expr(memory.optimizer_bytes));
  of[5] = bytes.OfPeak(memory.step.bytes, memory.step.value, memory.step.lower_bound);
  of[5].is_guess = memory.step.guessed;
  of[6] = bytes.Of(cache);
  if (!memory.fit) return row;
  for (const FitRow& fit : memory.fit->rows) {
    row.fits.emplace_back(absl::StrCat("fit ", fit.name), FitText(*memory.fit, fit));
  }
  return row;
}

Document ToDocument(absl::Span<const MemoryRow> rows, const ViewOptions& options) {
  Document document;
  document.Add(Document::Table{MemoryTable(rows, options.exact), "", options.stable});
  return document;
}

std::string ToCsv(absl::Span<const MemoryRow> rows) {
  TextTable table;
  table.columns = {{"model"}, {"sizes"}};
  for (const MemoryFigure& figure : kMemoryFigures) table.columns.push_back({figure.key});
  for (const char* title : {"lower_bound", "guessed", "at_node"}) table.columns.push_back({title});
  const std::vector<std::string> fits = FitTitles(rows);
  for (const std::string& title : fits) table.columns.push_back({title});
  for (const MemoryRow& row : rows) {
    std::vector<std::string> cells = {row.path, row.given};
    bool at_least = false, is_guess = false;
    for (const MemoryRow::Bytes& bytes : row.bytes) {
      // A 0 for an unknown figure must not look like a figure.
      cells.push_back(bytes.at_least && bytes.exact == "0" ? "" : bytes.exact);
      at_least = at_least || bytes.at_least;
      is_guess = is_guess || bytes.is_guess;
    }
    for (bool flag : {at_least, is_guess}) cells.emplace_back(flag ? "true" : "false");
    cells.push_back(row.at_node);
    AddFits(row, fits, &cells);
    table.rows.push_back({std::move(cells)});
  }
  return DrawCsv(table);
}

}  // namespace onnxflops
