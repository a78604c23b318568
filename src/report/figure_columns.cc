// How it works. The columns of a table are figures: quantities, the share of the total, FLOP/byte,
// the bound of a roofline, and the ends of a range. The default columns depend on the report and on
// the table; --columns and --sort change them. Each cell is made from the amounts of a row at the
// sizes of the title, or as a formula in texts meant for comparison.
//
// Rows that are not fully counted need care. A lower bound is marked. A share of a total that is
// itself a lower bound can only be "at most" this. FLOP/byte of a part is not a figure, since the
// rest may change it in either direction. 128-bit numbers are halved before they are multiplied, so
// that shares and quotients cannot overflow.
#include "src/report/figure_columns.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/quote.h"
#include "src/base/similar.h"

namespace onnxflops {

absl::string_view Figure::key() const {
  switch (kind) {
    case Kind::kQuantity:
      return quantity->key;
    case Kind::kShare:
      return "share";
    case Kind::kIntensity:
      return "intensity";
    case Kind::kBound:
      return "estimate_bound";
    case Kind::kAtLeast:
      return "at_least";
    case Kind::kAtMost:
      return "at_most";
  }
  return "";
}

namespace {

std::vector<Figure> AllFigures() {
  std::vector<Figure> all;
  for (const Quantity* q : AllQuantities()) all.push_back({Figure::Kind::kQuantity, q});
  for (const Figure::Kind kind :
       {Figure::Kind::kShare, Figure::Kind::kIntensity, Figure::Kind::kBound,
        Figure::Kind::kAtLeast, Figure::Kind::kAtMost}) {
    all.push_back({kind, nullptr});
  }
  return all;
}

}  // namespace

std::string FigureKeys() {
  return absl::StrJoin(AllFigures(), ", ", [](std::string* out, const Figure& figure) {
    absl::StrAppend(out, figure.key());
  });
}

absl::StatusOr<Figure> FindFigure(absl::string_view key, absl::string_view other) {
  if (key == "macts") key = "activation_count";  // as timm and pycls call it
  std::vector<std::string> known;
  for (const Figure& figure : AllFigures()) {
    if (figure.key() == key) return figure;
    known.emplace_back(figure.key());
  }
  if (!other.empty()) known.emplace_back(other);
  std::string end = DidYouMean(key, known);
  if (end.empty()) end = absl::StrCat("; choose one of ", absl::StrJoin(known, ", "));
  return absl::InvalidArgumentError(absl::StrCat(Quoted(key), " is not a quantity", end));
}

}  // namespace onnxflops

namespace onnxflops::report {
namespace {

constexpr int kBarWidth = 6;

// A bar with one sign per sixth of the total, rounded; negative parts have none.
std::string Bar(absl::int128 part, absl::int128 whole) {
  if (part <= 0 || whole <= 0) return "";
  while (std::max(part, whole) > absl::Int128Max() / (4 * kBarWidth)) {
    part /= 2;
    whole /= 2;
  }
  if (whole == 0) return "";
  const absl::int128 signs = (2 * kBarWidth * part + whole) / (2 * whole);
  return std::string(static_cast<size_t>(std::min<absl::int128>(signs, kBarWidth)), '=');
}

}  // namespace

const Quantity& MainQuantity(const Report& report) {
  const bool macs = !report.has_flops() || report.int_census[Kind::kMac] != Expr(0);
  return QuantityOf(macs ? &Amounts::macs : &Amounts::flops);
}

const Quantity& CostQuantity(const Report& report, const ViewOptions& options) {
  const bool given = options.sort && options.sort->kind == Figure::Kind::kQuantity;
  return given ? *options.sort->quantity : MainQuantity(report);
}

const Amounts& RootAmounts(const Report& report) {
  return report.modules.empty() ? report.totals : *report.modules[0].amounts;
}

std::vector<Figure> ShownFigures(const Report& report, const ViewOptions& options) {
  if (!options.columns.empty()) return options.columns;
  const Figure share = {Figure::Kind::kShare, nullptr};
  std::vector<Figure> shown;
  const auto add = [&](const Figure& figure) {
    if (std::find(shown.begin(), shown.end(), figure) == shown.end()) shown.push_back(figure);
  };
  const auto add_quantity = [&](const Quantity& q) { add({Figure::Kind::kQuantity, &q}); };
  if (options.sort) add(*options.sort);
  add_quantity(CostQuantity(report, options));
  if (!options.stable) add(share);
  if (!options.stable && HasRanges(report)) {
    add({Figure::Kind::kAtLeast, nullptr});
    add({Figure::Kind::kAtMost, nullptr});
  }
  add_quantity(MainQuantity(report));
  if (report.roofline) {
    add({Figure::Kind::kIntensity, nullptr});
    add_quantity(QuantityOf(&Amounts::time_estimate));
    add({Figure::Kind::kBound, nullptr});
  }
  if (options.by == GroupBy::kNode && options.top > 0) return shown;  // with room for shapes
  if (report.has_flops()) add_quantity(QuantityOf(&Amounts::flops));
  if (report.has_macs() && report.totals.macs != Expr(0)) {
    add_quantity(QuantityOf(&Amounts::macs));
  }
  if (report.training) {
    add_quantity(QuantityOf(&Amounts::gradient_flops));
    add_quantity(QuantityOf(&Amounts::gradient_macs));
  }
  if (options.by == GroupBy::kModule && !report.tool && report.totals.params != Expr(0)) {
    add_quantity(QuantityOf(&Amounts::params));
  }
  return shown;
}

std::string Intensity(absl::int128 operations, absl::int128 bytes) {
  if (bytes <= 0 || operations < 0) return "-";
  while (std::max(operations, bytes) > absl::Int128Max() / 1000) {
    operations /= 2;
    bytes /= 2;
  }
  if (bytes == 0) return "-";
  const auto rounded = [&](int times) { return (times * operations * 2 + bytes) / (2 * bytes); };
  if (operations >= 100 * bytes) return GroupedDigits(rounded(1));
  const int decimals = operations >= 10 * bytes ? 1 : 2;
  std::string digits = Int128ToString(rounded(decimals == 1 ? 10 : 100));
  if (digits.size() <= static_cast<size_t>(decimals)) {
    digits.insert(0, static_cast<size_t>(decimals) + 1 - digits.size(), '0');
  }
  digits.insert(digits.size() - static_cast<size_t>(decimals), ".");
  return operations > 0 && digits == "0.00" ? "<0.01" : digits;
}

const char* BoundName(Bound bound) { return bound == Bound::kCompute ? "compute" : "memory"; }

std::optional<Bound> BoundOf(const Roofline& rates, const Expr& operations, const Expr& bytes) {
  const Expr compute = rates.ComputeTime(operations), memory = rates.MemoryTime(bytes);
  if (!compute.is_literal() || !memory.is_literal()) return std::nullopt;
  if (compute == Expr(0) && memory == Expr(0)) return std::nullopt;
  return compute.literal() >= memory.literal() ? Bound::kCompute : Bound::kMemory;
}

Expr OperationsOf(const Report& report, const Amounts& amounts) {
  const bool integers = report.int_census[Kind::kMac] != Expr(0);
  return integers ? amounts.flops + amounts.int_ops : amounts.flops;
}

FigureColumns::FigureColumns(const Report& report, const ViewOptions& options)
    : report_(report),
      options_(options),
      cost_(CostQuantity(report, options)),
      values_(report),
      ranges_(report),
      figures_(ShownFigures(report, options)) {}

void FigureColumns::AddColumns(TextTable* table) const {
  // On a very narrow terminal, columns that were not requested may be dropped, except the first and
  // the share.
  constexpr size_t kKept = 2;
  using Narrow = TextTable::Column::Narrow;
  for (const Figure& figure : figures_) {
    const auto place = static_cast<size_t>(&figure - figures_.data());
    const bool kept = !options_.columns.empty() || place < kKept;
    table->columns.push_back({Title(figure), true, kept ? Narrow::kKeep : Narrow::kSpare});
    if (!options_.stable && figure.kind == Figure::Kind::kShare) {
      table->columns.push_back({"", false, Narrow::kSpare, false, /*picture=*/true});
    }
  }
}

std::string FigureColumns::Title(const Figure& figure) const {
  switch (figure.kind) {
    case Figure::Kind::kShare: {
      // A share of the column before it is titled "%"; otherwise the title names the quantity.
      const auto it = std::find_if(figures_.begin(), figures_.end(),
                                   [](const Figure& f) { return f.kind == Figure::Kind::kShare; });
      const bool after = it != figures_.begin() && std::prev(it)->quantity == &cost_;
      return after ? "%" : absl::StrCat("% of ", cost_.title);
    }
    case Figure::Kind::kIntensity:
      return report_.int_census[Kind::kMac] != Expr(0) ? "ops/byte" : "FLOP/byte";
    case Figure::Kind::kBound:
      return "bound by";
    case Figure::Kind::kAtLeast:
      return "at least";
    case Figure::Kind::kAtMost:
      return "at most";
    case Figure::Kind::kQuantity:
      break;
  }
  return std::string(figure.quantity->title);
}

std::string FigureColumns::Show(const Quantity& q, const Expr& amount) const {
  if (!amount.is_literal() && options_.stable) return ShowExpr(amount, options_.exact);
  const auto value = values_.Of(amount);
  // A figure below 0 means that the sizes do not fit the model.
  return value && *value >= 0 ? ShowNumber(q, *value) : "?";
}

std::string FigureColumns::ShowNumber(const Quantity& q, absl::int128 number) const {
  return AmountText(q, number, options_.exact);
}

std::string FigureColumns::BoundText(const Amounts& amounts) const {
  const auto operations = values_.Of(OperationsOf(report_, amounts));
  const auto bytes = values_.Of(kBytesMoved.In(amounts));
  if (!report_.roofline || !operations || !bytes) return "-";
  const auto bound = BoundOf(report_.roofline->rates, *operations, *bytes);
  return bound ? BoundName(*bound) : "-";
}

std::string FigureColumns::RangeEnd(Figure::Kind end, const Amounts& amounts, Known known) const {
  const Expr amount = report_.In(cost_, amounts);
  if (end == Figure::Kind::kAtMost && known != Known::kExact) return "?";
  if (known == Known::kNothing) return "0";
  const std::optional<Expr> bound =
      end == Figure::Kind::kAtLeast ? ranges_.Lowest(amount) : ranges_.Highest(amount);
  const auto value = bound ? values_.Of(*bound) : std::nullopt;
  return value ? ShowNumber(cost_, *value) : "?";
}

std::string FigureColumns::Cell(const Figure& figure, const Amounts& amounts, Known known) const {
  switch (figure.kind) {
    case Figure::Kind::kShare: {
      const Expr amount = report_.In(cost_, amounts);
      if (KnownOfCell(cost_, amount, known) == Known::kNothing) return "-";
      const auto part = values_.Of(amount);
      const auto whole = values_.Of(report_.In(cost_, RootAmounts(report_)));
      if (!part || !whole) return "-";
      // If the total is a lower bound, the share may be smaller.
      const bool of_bound = report_.totals.lower_bound && cost_.of == Quantity::Of::kWork;
      if (!of_bound) return Percent(*part, *whole);
      return known == Known::kExact ? KnownText(Known::kAtMost, Percent(*part, *whole)) : "-";
    }
    case Figure::Kind::kIntensity: {
      if (known != Known::kExact) return "-";  // the part that is missing may raise or lower it
      const auto work = values_.Of(OperationsOf(report_, amounts));
      const auto bytes = values_.Of(kBytesMoved.In(amounts));
      return work && bytes ? Intensity(*work, *bytes) : "-";
    }
    case Figure::Kind::kBound:
      return known != Known::kExact ? "-" : BoundText(amounts);
    case Figure::Kind::kAtLeast:
    case Figure::Kind::kAtMost:
      return RangeEnd(figure.kind, amounts, known);
    case Figure::Kind::kQuantity:
      break;
  }
  const Quantity& q = *figure.quantity;
  if (!report_.Has(q) && q.of == Quantity::Of::kWork) return "-";
  const Expr amount = report_.In(q, amounts);
  if (q.of == Quantity::Of::kWeights) {
    return amount == Expr(0) ? "" : Show(q, amount);
  }
  return KnownText(KnownOfCell(q, amount, known), Show(q, amount));
}

Known FigureColumns::KnownOfCell(const Quantity& q, const Expr& amount, Known row) {
  return row == Known::kNothing ? row : KnownOf(q, amount, row == Known::kAtLeast);
}

void FigureColumns::AddCells(const Amounts& amounts, Known known,
                             std::vector<std::string>* cells) const {
  for (const Figure& figure : figures_) {
    cells->push_back(Cell(figure, amounts, known));
    if (!options_.stable && figure.kind == Figure::Kind::kShare) {
      cells->push_back(Bar(Cost(amounts), Cost(RootAmounts(report_))));
    }
  }
}

absl::int128 FigureColumns::SortKey(const Amounts& amounts) const {
  if (!options_.sort || options_.sort->kind != Figure::Kind::kIntensity) {
    return Cost(amounts);
  }
  absl::int128 bytes = ValueOf(kBytesMoved.In(amounts));
  absl::int128 work = ValueOf(OperationsOf(report_, amounts));
  constexpr int kPrecision = 1'000'000;  // in millionths, so that close values are ordered
  while (work > absl::Int128Max() / kPrecision) {
    work /= 2;
    bytes /= 2;
  }
  return bytes <= 0 ? 0 : work * kPrecision / bytes;
}

}  // namespace onnxflops::report
