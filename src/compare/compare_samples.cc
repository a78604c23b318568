// How it works. A tool's figure is the sum over the samples, as our count is, and so is each term.
// A formula with one length for all tokens is the exception: it takes that of the longest sample,
// or of the whole row if samples follow each other. It is tokens x f(T), so its figure is that of
// one sequence of this length, for the tokens that there are; the step from the sum to it is a term
// of its own.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/compare/compare_report.h"
#include "src/compare/make_comparison.h"
#include "src/convention/formulas.h"
#include "src/report/samples_report.h"
#include "src/symbolic/sample_sum.h"

namespace onnxflops {
namespace {

// Whether the tool is a formula with a length T for all tokens.
bool HasOneLength(const ConventionInfo* tool) {
  return tool != nullptr && absl::c_any_of(kFormulas, [&](const FormulaInfo& info) {
           const std::vector<absl::string_view> reads = absl::StrSplit(info.reads, ' ');
           return info.name == tool->name && absl::c_linear_search(reads, "t");
         });
}

class ToolSums {
 public:
  explicit ToolSums(const SampleSum& sum) : sum_(sum) {
    const SampleSizes& sizes = sum.sizes();
    if (sizes.symbols.size() != 1) return;
    tokens_ = sizes.SumOf(0);
    const std::optional<int64_t> row = Expr(tokens_).AsInt64();
    length_ = !sizes.packed ? sizes.LargestOf(0) : row ? *row : 0;
  }

  void Sum(ToolRow* tool) const {
    const Expr beyond_start = Beyond(tool->from, tool->start);
    tool->start = sum_.Of(tool->start) + beyond_start;
    for (TermRow& term : tool->terms) term.amount = sum_.Of(term.amount);
    if (!tool->headline) return;
    const Expr beyond = Beyond(tool->convention, *tool->headline);
    tool->headline = sum_.Of(*tool->headline) + beyond;
    if (beyond == beyond_start) return;
    const char* const whole = sum_.sizes().packed ? "whole row" : "longest sample";
    TermRow term;
    term.name = "one length of all samples";
    term.reason = absl::StrCat("T is ", length_, ", that of the ", whole, ", for every token");
    term.of_model = true;
    term.amount = beyond - beyond_start;
    tool->terms.push_back(std::move(term));
  }

 private:
  // What a formula with one length counts beyond the sum over the samples; 0 of other tools.
  Expr Beyond(const ConventionInfo* tool, const Expr& headline) const {
    if (length_ == 0 || !HasOneLength(tool)) return 0;
    const SampleSizes& sizes = sum_.sizes();
    Bindings one = {{sizes.symbols[0], length_}};
    if (!sizes.count.empty()) one[sizes.count] = 1;
    return FloorDiv(headline.Substitute(one) * Expr(tokens_), length_) - sum_.Of(headline);
  }

  const SampleSum& sum_;
  absl::int128 tokens_ = 0;
  int64_t length_ = 0;  // 0: samples have several sizes
};

}  // namespace

void SumOverSamples(const SampleSum& sum, CompareReport* report) {
  const ToolSums sums(sum);
  for (ToolRow& tool : report->tools) sums.Sum(&tool);
  report::SumOverSamples(sum, &report->ours);
  for (ToolRow& tool : report->tools) SortTerms(report->ours, &tool.terms);
}

}  // namespace onnxflops
