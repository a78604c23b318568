// How it works. One count with open sizes gives formulas, and each point of the sweep evaluates
// them. But a formula does not know which sizes the model takes, and some models have none: a size
// decides what runs. So the model is first counted at the largest point, and an error there is the
// error of the sweep. If the formulas give other totals there, or cannot be made, every point is
// counted by itself. Rows (by module, operator or node) need formulas.
//
// Memory is different, since other sizes may have their peak at another node. Formulas serve only
// if there are more points than such a check costs, and if they agree with counts at the largest
// and the smallest point. A point with a size below 2 is always counted: PyTorch treats size 1 in
// its own way. The nodes of all counted points together are limited.
#include "src/api/sweep.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/cost/amounts.h"
#include "src/infer/require_symbols.h"
#include "src/report/memory_at.h"
#include "src/report/memory_rows.h"
#include "src/report/redact.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

class Sweeper {
 public:
  Sweeper(const Model& model, const CountOptions& options, absl::string_view convention)
      : model_(model), options_(options), convention_(convention) {}

  absl::StatusOr<Report> CountAt(const Bindings& sizes) const {
    CountOptions options = options_;
    options.bindings.insert(sizes.begin(), sizes.end());
    return convention_.empty() ? Count(model_, options) : CountAs(model_, options, convention_);
  }

 private:
  const Model& model_;
  const CountOptions& options_;
  const absl::string_view convention_;
};

// With this many points or fewer, each is counted: looking for formulas takes as many counts.
constexpr size_t kMinFormulaPoints = 3;

// The largest point. If any size is too large for the model, it is one of these.
Bindings LargestOf(absl::Span<const SweptSymbol> swept) {
  Bindings largest;
  for (const auto& [name, sizes] : swept) {
    largest[name] = *std::max_element(sizes.begin(), sizes.end());
  }
  return largest;
}

// Whether each sample in a row has a size of this name: the report has no symbol of it.
bool IsInPackedRow(const Report& report, const std::string& name) {
  return report.samples && report.samples->packed &&
         absl::c_any_of(report.samples->sizes,
                        [&](const auto& size) { return size.symbol == name; });
}

// The quantity of --sort, if it has one.
const Quantity* SortOf(const std::optional<ViewOptions>& rows) {
  return rows && rows->sort ? rows->sort->quantity : nullptr;
}

// Rows of a sweep hold FLOPs, MACs and the quantity of --sort, or what that is the sum of.
bool RowsHold(const ViewOptions& rows, const Quantity& q) {
  if (q.value == &Amounts::flops || q.value == &Amounts::macs) return true;
  const Quantity* sort = SortOf(rows);
  return sort != nullptr && !sort->AllParts([&](Expr Amounts::*part) { return part != q.value; });
}

// True if the report's formulas give the same amounts as the count at these sizes. They may differ:
// integers of the model that overflow are in no formula, and some sizes are known only once others
// are numbers. With `rows`, an amount that stays open is not a difference.
bool FormulasGive(const Report& open, const Bindings& sizes, const Totals& counted,
                  const std::optional<ViewOptions>& rows) {
  const bool for_rows = rows.has_value();
  const absl::StatusOr<Totals> given = open.At(sizes);
  if (!given.ok()) return true;  // the sweep reports this error itself
  return std::all_of(std::begin(kQuantities), std::end(kQuantities), [&](const Quantity& q) {
    if (for_rows && !RowsHold(*rows, q)) return true;
    const Expr &a = *given.*q.value, &b = counted.*q.value;
    if (a == b || a.is_literal() != b.is_literal()) return a == b || for_rows;
    if (for_rows || b.is_literal()) return !b.is_literal();
    // A symbol that is open in the formula must also be open in the count.
    const std::vector<std::string> open_there = a.Symbols(), open_here = b.Symbols();
    return std::all_of(open_there.begin(), open_there.end(), [&](const std::string& name) {
      return std::find(open_here.begin(), open_here.end(), name) != open_here.end();
    });
  });
}

// The names of the swept symbols in a report, which people may type in other ways.
absl::StatusOr<std::vector<std::string>> NamesIn(const Report& report,
                                                 absl::Span<const SweptSymbol> swept) {
  std::vector<std::string> names;
  for (const auto& [name, sizes] : swept) {
    if (report.bindings.contains(name) || IsInPackedRow(report, name)) {
      names.push_back(name);
      continue;
    }
    ASSIGN_OR_RETURN(const Bindings resolved, ResolveSymbols({{name, 1}}, report.symbols));
    names.push_back(resolved.begin()->first);
  }
  return names;
}

// The points with new names for the symbols.
std::vector<Bindings> Rename(const std::vector<Bindings>& points,
                             absl::Span<const SweptSymbol> swept,
                             const std::vector<std::string>& names) {
  std::vector<Bindings> renamed(points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t s = 0; s < swept.size(); ++s) renamed[i][names[s]] = points[i].at(swept[s].first);
  }
  return renamed;
}

// The sweep of one report with open sizes.
absl::StatusOr<SweepReport> SweepOf(Report report, absl::Span<const SweptSymbol> swept,
                                    const std::vector<Bindings>& points,
                                    const std::optional<ViewOptions>& rows, bool redact_names) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, NamesIn(report, swept));
  if (redact_names) {
    Redactor redactor;
    RETURN_IF_ERROR(redactor.Redact(&report));
    for (std::string& name : names) name = redactor.Symbol(name);
  }
  const std::vector<Bindings> renamed = Rename(points, swept, names);
  return MakeSweep(std::move(report), std::move(names), renamed, rows);
}

// The sweep of a model that is counted at every point.
absl::StatusOr<SweepReport> SweepByCounting(const Sweeper& sweeper,
                                            absl::Span<const SweptSymbol> swept,
                                            const std::vector<Bindings>& points,
                                            bool redact_names) {
  Redactor redactor;
  SweepReport sweep;
  for (const Bindings& point : points) {
    ASSIGN_OR_RETURN(Report report, sweeper.CountAt(point));
    if (sweep.points.empty()) {
      ASSIGN_OR_RETURN(sweep.symbols, NamesIn(report, swept));
    }
    report.modules.clear();  // only totals are kept
    if (redact_names) RETURN_IF_ERROR(redactor.Redact(&report));
    sweep.points.push_back({{}, report.totals, {}, {}});
    if (sweep.points.size() == 1) {
      sweep.report = std::move(report);
      continue;
    }
    // A size that follows a swept one differs between points, so it is not a binding of the whole
    // sweep.
    absl::erase_if(sweep.report.bindings, [&](const auto& size) {
      const auto there = report.bindings.find(size.first);
      return there == report.bindings.end() || there->second != size.second;
    });
  }
  if (redact_names) {
    for (std::string& name : sweep.symbols) name = redactor.Symbol(name);
  }
  const std::vector<Bindings> renamed = Rename(points, swept, sweep.symbols);
  for (size_t i = 0; i < renamed.size(); ++i) sweep.points[i].at = renamed[i];
  for (const std::string& name : sweep.symbols) sweep.report.bindings.erase(name);
  return sweep;
}

// The largest of several sums can be written in more than one way: it is compared by its value.
bool Agree(MemoryRow a, MemoryRow b) {
  for (size_t i = 0; i < std::size(kMemoryFigures); ++i) {
    std::string &one = a.bytes[i].exact, &other = b.bytes[i].exact;
    if (!absl::StrContains(one, "max(") && !absl::StrContains(other, "max(")) continue;
    one.clear();
    other.clear();
  }
  return a == b;
}

// Points that are not counted: their memory comes from the formulas of a count with open sizes.
class MemoryFormulas {
 public:
  // nullopt if the model has no formulas, or a count disagrees with them. Errors: those of a count.
  static absl::StatusOr<std::optional<MemoryFormulas>> Find(const Sweeper& sweeper,
                                                            absl::Span<const SweptSymbol> swept) {
    absl::StatusOr<Report> open = sweeper.CountAt({});
    if (!open.ok()) return std::nullopt;
    absl::StatusOr<std::vector<std::string>> names = NamesIn(*open, swept);
    if (!names.ok()) return std::nullopt;
    MemoryFormulas formulas(*std::move(open), swept, *std::move(names));
    for (const Bindings& end : {LargestOf(swept), SmallestOf(swept)}) {
      if (!formulas.Has(end)) continue;
      ASSIGN_OR_RETURN(const Report counted, sweeper.CountAt(end));
      const absl::StatusOr<Report> given = formulas.At(end);
      if (!given.ok() || !Agree(MakeMemoryRow(*given), MakeMemoryRow(counted))) return std::nullopt;
    }
    return formulas;
  }

  bool Has(const Bindings& point) const {
    return std::all_of(point.begin(), point.end(),
                       [](const auto& size) { return size.second >= kMinTrainingSize; });
  }
  absl::StatusOr<Report> At(const Bindings& point) const {
    return report::MemoryAt(open_, Rename({point}, swept_, names_)[0]);
  }

 private:
  MemoryFormulas(Report open, absl::Span<const SweptSymbol> swept, std::vector<std::string> names)
      : open_(std::move(open)), swept_(swept), names_(std::move(names)) {}

  // The smallest point at which formulas hold.
  static Bindings SmallestOf(absl::Span<const SweptSymbol> swept) {
    Bindings smallest = LargestOf(swept);
    for (const auto& [name, sizes] : swept) {
      for (const int64_t size : sizes) {
        if (size >= kMinTrainingSize) smallest[name] = std::min(smallest[name], size);
      }
    }
    return smallest;
  }

  Report open_;
  absl::Span<const SweptSymbol> swept_;
  std::vector<std::string> names_;  // in the report
};

absl::Status RequireFew(const ModelData& model, size_t points) {
  const size_t nodes = std::max<size_t>(model.nodes.size(), 1);
  const size_t most = std::max(kMinMemoryPoints, kMaxMemorySweepNodes / nodes);
  if (points <= most) return absl::OkStatus();
  return LimitError(
      "memory-sweep",
      absl::StrCat(Escaped(model.path), ": this sweep of memory counts the model again at ", points,
                   " points, and with ", nodes, " nodes it can have ", most,
                   " (memory-sweep): sweep fewer sizes at once"));
}

}  // namespace

absl::StatusOr<std::vector<Bindings>> SweepPoints(absl::Span<const SweptSymbol> swept) {
  std::vector<Bindings> points = {{}};
  for (const auto& [name, sizes] : swept) {
    if (points.size() * sizes.size() > kMaxSweepPoints) {
      return LimitError("sweep-points", absl::StrCat("the sweep has more than ", kMaxSweepPoints,
                                                     " points (sweep-points)"));
    }
    std::vector<Bindings> product;
    for (const Bindings& point : points) {
      for (const int64_t size : sizes) {
        product.push_back(point);
        product.back()[name] = size;
      }
    }
    points = std::move(product);
  }
  return points;
}

absl::StatusOr<SweepReport> CountSweep(const Model& model, const CountOptions& options,
                                       absl::string_view convention,
                                       absl::Span<const SweptSymbol> swept,
                                       const std::optional<ViewOptions>& rows, bool redact_names) {
  ASSIGN_OR_RETURN(const std::vector<Bindings> points, SweepPoints(swept));
  const Sweeper sweeper(model, options, convention);
  // A formula does not know which sizes a model takes. A count does.
  ASSIGN_OR_RETURN(const Report largest, sweeper.CountAt(LargestOf(swept)));
  if (const Quantity* sort = SortOf(rows); sort != nullptr && !largest.Has(*sort)) {
    return absl::InvalidArgumentError(absl::StrCat(Setting("sort", Quoted(sort->key)),
                                                   ": the convention ", largest.convention,
                                                   " does not count it"));
  }
  const auto of_samples = absl::c_find_if(
      swept, [&](const SweptSymbol& symbol) { return IsInPackedRow(largest, symbol.first); });
  absl::StatusOr<Report> open =
      of_samples == swept.end()
          ? sweeper.CountAt({})
          : absl::FailedPreconditionError(absl::StrCat("each sample in the row has a size ",
                                                       Escaped(QuotedSymbol(of_samples->first))));
  absl::Status fault = open.status();
  if (open.ok() && !FormulasGive(*open, LargestOf(swept), largest.totals, rows)) {
    fault = absl::FailedPreconditionError("a count at the largest sizes differs from them");
  } else if (open.ok()) {
    absl::StatusOr<SweepReport> sweep =
        SweepOf(*std::move(open), swept, points, rows, redact_names);
    if (sweep.ok()) return sweep;
    fault = sweep.status();
  }
  if (rows) {
    return absl::FailedPreconditionError(
        absl::StrCat(WithSettings("a sweep with {by} needs formulas, and the model has none: "),
                     fault.message()));
  }
  return SweepByCounting(sweeper, swept, points, redact_names);
}

absl::Status SweepMemory(const Model& model, const CountOptions& options,
                         absl::Span<const SweptSymbol> swept, PointParts parts,
                         absl::FunctionRef<absl::Status(Report)> each) {
  ASSIGN_OR_RETURN(const std::vector<Bindings> points, SweepPoints(swept));
  const Sweeper sweeper(model, options, "");
  std::optional<MemoryFormulas> formulas;
  if (parts == PointParts::kMemory && !options.memory->fit && points.size() > kMinFormulaPoints) {
    ASSIGN_OR_RETURN(formulas, MemoryFormulas::Find(sweeper, swept));
  }
  const auto is_counted = [&](const Bindings& point) { return !formulas || !formulas->Has(point); };
  RETURN_IF_ERROR(RequireFew(
      *model, static_cast<size_t>(std::count_if(points.begin(), points.end(), is_counted))));
  for (const Bindings& point : points) {
    ASSIGN_OR_RETURN(Report report,
                     is_counted(point) ? sweeper.CountAt(point) : formulas->At(point));
    RETURN_IF_ERROR(each(std::move(report)));
  }
  return absl::OkStatus();
}

}  // namespace onnxflops
