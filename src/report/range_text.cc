#include "src/report/range_text.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/report/ranges.h"
#include "src/report/reference_sizes.h"

namespace onnxflops::report {
namespace {

constexpr size_t kNamedSizes = 2;    // without a bound
constexpr int kMaxNamedSymbol = 60;  // characters

// "at least 13.44 G MACs, at most 81.01 G"; nothing if only one value is possible.
std::string RangeOf(const Report& report, const Ranges& ranges, const Quantity& q, bool exact) {
  const Expr& amount = report.totals.*q.value;
  if (!ranges.Varies(amount)) return "";
  const ReferenceValues values(report);
  const auto number = [&](const std::optional<Expr>& bound) -> std::string {
    const auto value = bound ? values.Of(*bound) : std::nullopt;
    if (!value) return "";
    return exact ? GroupedDigits(*value) : SiNumber(*value);
  };
  const std::string low = number(ranges.Lowest(amount));
  const std::string high = report.totals.lower_bound ? "" : number(ranges.Highest(amount));
  return RangeText(low.empty() ? "0" : low, q.title, high);
}

// "no operator bounds resize(Resize_3156), slice(Slice_3193) and 8 more": the reason for a missing
// upper bound.
std::string UnboundedText(const Report& report) {
  absl::flat_hash_set<std::string> used;
  for (const Expr* e : {&report.totals.flops, &report.totals.macs}) {
    for (const std::string& name : e->Symbols()) used.insert(name);
  }
  std::vector<std::string> names;
  int64_t more = 0;
  for (const SymbolOrigin& s : report.symbols) {
    if (s.kind == SymbolOrigin::Kind::kInput || s.at_most || !used.contains(s.name)) continue;
    if (names.size() < kNamedSizes) {
      names.push_back(WithoutEnd(s.name, kMaxNamedSymbol));
    } else {
      ++more;
    }
  }
  if (names.empty()) return "";
  return absl::StrCat("no operator bounds ", absl::StrJoin(names, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

}  // namespace

std::vector<std::string> RangeNotes(const Report& report) {
  std::vector<std::string> texts;
  std::string unbounded = UnboundedText(report);
  if (!unbounded.empty()) texts.push_back(std::move(unbounded));
  if (report.undecided_branches > 0) {
    texts.push_back(
        absl::StrCat("with the larger branch of ", Plural(report.undecided_branches, "If node")));
  }
  return texts;
}

std::vector<std::string> RangeTexts(const Report& report, bool exact) {
  const Ranges ranges(report);
  std::vector<std::string> texts;
  for (const Quantity& q : kQuantities) {
    if (q.value != &Amounts::flops && q.value != &Amounts::macs) continue;
    std::string text = RangeOf(report, ranges, q, exact);
    if (!text.empty()) texts.push_back(std::move(text));
  }
  if (texts.empty()) return texts;
  for (std::string& note : RangeNotes(report)) texts.push_back(std::move(note));
  return texts;
}

}  // namespace onnxflops::report
