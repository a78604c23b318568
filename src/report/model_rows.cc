// How it works. When several models are reported, each is a row, and the quantities are columns. A
// quantity has an exact text and a value at the reference sizes, with marks for lower bounds and
// for sizes that were assumed; models may have different symbols, so only values can be compared.
// People see the main quantities; CSV has all of them. Columns in which no model has anything are
// left out.
#include "src/report/model_rows.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/report/device_columns.h"
#include "src/report/reference_sizes.h"
#include "src/report/summary.h"

namespace onnxflops {
namespace {

using report::AmountText;
using report::Known;
using report::KnownField;
using report::KnownOf;
using report::KnownText;
using report::LowerBound;
using report::ReferenceValues;

constexpr size_t kMaxListedSizes = 4;

// The quantities that people look for first.
constexpr Expr Amounts::*kMainQuantities[] = {
    &Amounts::flops,         &Amounts::macs,       &Amounts::params,       &Amounts::bytes_read,
    &Amounts::bytes_written, &Amounts::time_bound, &Amounts::time_estimate};

const Quantity& QuantityAt(size_t i) {
  return i < kNumQuantities ? kQuantities[i] : *kDerivedQuantities[i - kNumQuantities];
}

bool IsMain(const Quantity& q) {
  return q.value != nullptr && std::find(std::begin(kMainQuantities), std::end(kMainQuantities),
                                         q.value) != std::end(kMainQuantities);
}

// "batch = 1, seq = 128, 29 data-dependent sizes = 1".
std::string SizesText(const Report& report, const Bindings& reference) {
  Bindings named = report.bindings;
  for (const SymbolOrigin& symbol : report.symbols) {
    const auto at = reference.find(symbol.name);
    if (symbol.kind == SymbolOrigin::Kind::kInput && at != reference.end()) named.insert(*at);
  }
  std::vector<std::string> texts;
  if (report.samples) {
    texts.push_back(
        onnxflops::report::SampleTexts(*report.samples, report.totals.lower_bound).front());
  }
  for (const auto& [name, size] : named) {
    if (texts.size() == kMaxListedSizes) {
      texts.push_back(Plural(static_cast<int64_t>(named.size() - texts.size()), "other"));
      break;
    }
    texts.push_back(absl::StrCat(Escaped(name), " = ", size));
  }
  if (!report.raised.empty()) {
    texts.push_back(absl::StrCat(Plural(static_cast<int64_t>(report.raised.size()), "size"),
                                 " inside at the upper bound"));
  }
  if (const int64_t inside = onnxflops::report::SizesInside(report); inside > 0) {
    texts.push_back(absl::StrCat(Plural(inside, "size"), " inside = 1"));
  }
  return absl::StrJoin(texts, ", ");
}

std::string ShownText(const Quantity& q, const ModelRow& row, size_t i, bool exact) {
  if (!row.shown[i]) return row.exact[i].empty() ? "" : "?";
  Known known = KnownOf(q, *row.shown[i], row.lower_bound);
  if (known == Known::kExact && row.guessed[i]) known = Known::kAssumed;
  return KnownText(known, AmountText(q, *row.shown[i], exact));
}

std::string CoverageText(const ModelRow& row) {
  if (row.unknown > 0) return absl::StrCat("all but ", Plural(row.unknown, "node"));
  return row.lower_bound ? "in part" : "all";
}

bool HasSizes(const ModelRow& row) { return !row.sizes.empty(); }
bool HasIntegers(const ModelRow& row) { return row.integer_macs.has_value(); }

std::string IntegerMacsText(const ModelRow& row, bool exact) {
  if (!row.integer_macs) return "";
  const Known known = row.lower_bound ? LowerBound(Expr(*row.integer_macs)) : Known::kExact;
  return KnownText(known, AmountText(QuantityOf(&Amounts::macs), *row.integer_macs, exact));
}

bool AnyHas(absl::Span<const ModelRow> rows, size_t i) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const ModelRow& row) { return !row.exact[i].empty(); });
}

// The place of a figure in a row; nullopt if it is no quantity.
std::optional<size_t> PlaceOf(const Figure& figure) {
  for (size_t i = 0; i < kNumModelQuantities; ++i) {
    if (figure.quantity == &QuantityAt(i)) return i;
  }
  return std::nullopt;
}

std::optional<size_t> SortPlace(const ViewOptions& options) {
  return options.sort ? PlaceOf(*options.sort) : std::nullopt;
}

// The columns that were asked for, else what they are sorted by and the main quantities that a
// model has.
std::vector<size_t> ShownQuantities(absl::Span<const ModelRow> rows, const ViewOptions& options) {
  std::vector<size_t> shown;
  for (const Figure& figure : options.columns) {
    if (const std::optional<size_t> place = PlaceOf(figure)) shown.push_back(*place);
  }
  if (!options.columns.empty()) return shown;
  const std::optional<size_t> sorted = SortPlace(options);
  if (sorted) shown.push_back(*sorted);
  for (size_t i = 0; i < kNumQuantities; ++i) {
    if (i != sorted && IsMain(QuantityAt(i)) && AnyHas(rows, i)) shown.push_back(i);
  }
  return shown;
}

}  // namespace

void SortRows(const ViewOptions& options, std::vector<ModelRow>* rows) {
  const std::optional<size_t> place = SortPlace(options);
  if (!place) return;
  std::stable_sort(rows->begin(), rows->end(), [&](const ModelRow& a, const ModelRow& b) {
    return a.shown[*place] > b.shown[*place];  // nullopt is less than any number
  });
}

ModelRow MakeModelRow(const Report& report) {
  ModelRow row;
  const ReferenceValues values(report);
  row.path = report.model.path;
  for (size_t i = 0; i < kNumModelQuantities; ++i) {
    const Quantity& q = QuantityAt(i);
    if (!report.Has(q)) continue;
    const Expr amount = report.In(q, report.totals);
    row.exact[i] = FieldText(q, amount);
    row.shown[i] = values.Of(amount);
    row.guessed[i] = report::RestsOnSizesInside(report, amount);
  }
  const Expr& integer_macs = report.int_census[Kind::kMac];
  if (!report.tool && integer_macs != Expr(0)) row.integer_macs = values.Of(integer_macs);
  row.nodes = report.coverage.nodes;
  row.unknown = report.coverage.unknown;
  row.lower_bound = report.totals.lower_bound;
  row.open = !values.sizes().empty();
  row.sizes = SizesText(report, values.sizes());
  row.positions = report.model.positions;
  row.device = report::DeviceName(report);
  row.dtype = report::DtypeName(report);
  return row;
}

namespace {

// Of the first models; the others have a count.
void NotePositions(absl::Span<const ModelRow> rows, std::vector<std::string>* notes) {
  constexpr size_t kMaxNotes = 3;
  size_t models = 0;
  for (const ModelRow& row : rows) {
    if (row.positions.empty() || ++models > kMaxNotes) continue;
    notes->push_back(absl::StrCat(row.path, ": ", absl::StrJoin(row.positions, "; ")));
  }
  if (models <= kMaxNotes) return;
  notes->push_back(absl::StrCat(Plural(static_cast<int64_t>(models - kMaxNotes), "more model"),
                                " with such constants", WithSettings(": {format jsonl}")));
}

}  // namespace

TextTable ModelTable(absl::Span<const ModelRow> rows, const ViewOptions& options) {
  using Narrow = TextTable::Column::Narrow;
  const bool has_sizes = std::any_of(rows.begin(), rows.end(), HasSizes);
  TextTable table;
  table.columns.push_back({"model", false, Narrow::kName});
  table.columns[0].paths = true;
  const bool chosen = !options.columns.empty();
  const std::vector<size_t> shown = ShownQuantities(rows, options);
  const bool has_integers = std::any_of(rows.begin(), rows.end(), HasIntegers);
  const auto with_integers = [&](size_t i) {
    return has_integers && QuantityAt(i).value == &Amounts::macs;
  };
  for (size_t i : shown) {
    const Quantity& q = QuantityAt(i);
    const Narrow narrow = i == shown.front()                 ? Narrow::kKeep
                          : chosen                           ? Narrow::kSpare
                          : q.unit == Quantity::Unit::kBytes ? Narrow::kExtra
                          : q.of == Quantity::Of::kWeights   ? Narrow::kSpare
                                                             : Narrow::kKeep;
    table.columns.push_back({std::string(q.title), true, narrow});
    if (with_integers(i)) table.columns.push_back({"integer MACs", true});
  }
  if (!chosen) table.columns.push_back({"counted", false, Narrow::kSpare});
  if (has_sizes) table.columns.push_back({"sizes", false, Narrow::kName});
  for (const ModelRow& row : rows) {
    std::vector<std::string> cells = {row.path};
    for (size_t i : shown) {
      cells.push_back(ShownText(QuantityAt(i), row, i, options.exact));
      if (with_integers(i)) cells.push_back(IntegerMacsText(row, options.exact));
    }
    if (!chosen) cells.push_back(CoverageText(row));
    if (has_sizes) cells.push_back(row.sizes);
    table.rows.push_back({std::move(cells)});
  }
  if (std::any_of(rows.begin(), rows.end(), [](const ModelRow& row) { return row.open; })) {
    table.notes.emplace_back(WithSettings(
        "sizes that a file leaves open are those of the last column; {dim NAME=N} sets others"));
  }
  if (has_integers) {
    table.notes.emplace_back(
        "integer MACs are among the MACs, but are no FLOPs: models that "
        "multiply integers compare by MACs");
  }
  const auto is_guessed = [](const ModelRow& row) {
    return std::find(row.guessed.begin(), row.guessed.end(), true) != row.guessed.end();
  };
  if (std::any_of(rows.begin(), rows.end(), is_guessed)) table.notes.emplace_back(kGuessedNote);
  NotePositions(rows, &table.notes);
  return table;
}

Document ToDocument(absl::Span<const ModelRow> rows, const ViewOptions& options) {
  Document document;
  document.Add(Document::Table{ModelTable(rows, options)});
  return document;
}

std::string ToCsv(absl::Span<const ModelRow> rows, const ViewOptions& options) {
  TextTable table;
  table.columns = {{"model"}};
  std::vector<size_t> listed;
  if (!options.columns.empty()) listed = ShownQuantities(rows, options);
  for (size_t i = 0; options.columns.empty() && i < kNumQuantities; ++i) {
    const bool always = kQuantities[i].needs == Quantity::Needs::kNothing;
    if (always || AnyHas(rows, i)) listed.push_back(i);
  }
  const std::optional<size_t> sorted = SortPlace(options);
  const bool missing = sorted && std::find(listed.begin(), listed.end(), *sorted) == listed.end();
  if (options.columns.empty() && missing) listed.push_back(*sorted);
  for (size_t i : listed) table.columns.push_back({std::string(QuantityAt(i).key)});
  for (const char* title : {"nodes", "unknown", "lower_bound"}) table.columns.push_back({title});
  const bool has_times = std::any_of(listed.begin(), listed.end(), [](size_t i) {
    return QuantityAt(i).needs == Quantity::Needs::kDevice;
  });
  if (has_times) report::AddDeviceColumns(&table);
  for (const ModelRow& row : rows) {
    std::vector<std::string> cells = {row.path};
    for (size_t i : listed) {
      const Known known = KnownOf(QuantityAt(i), row.shown[i].value_or(1), row.lower_bound);
      cells.push_back(KnownField(known, row.exact[i]));
    }
    cells.push_back(absl::StrCat(row.nodes));
    cells.push_back(absl::StrCat(row.unknown));
    cells.emplace_back(row.lower_bound ? "true" : "false");
    table.rows.push_back({std::move(cells)});
    if (has_times) report::AddDeviceCells(row.device, row.dtype, &table.rows.back());
  }
  return DrawCsv(table);
}

}  // namespace onnxflops
