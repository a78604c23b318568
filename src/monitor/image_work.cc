#include "src/monitor/image_work.h"

#include <algorithm>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/symbolic/sample_sum.h"

namespace onnxflops {

namespace monitor {
namespace {

using Columns = std::vector<std::vector<int64_t>>;

Bindings NoImage() {
  Bindings none;
  for (const char* const symbol : kGridSymbols) none[symbol] = 0;
  return none;
}

// Over samples, without what is done once in a run.
Expr SumWithoutOnce(const Expr& formula, const std::string& batch, std::vector<std::string> symbols,
                    const Columns& columns) {
  const Expr each = formula - formula.Substitute({{batch, 0}});
  SampleSizes sizes = {.count = batch, .symbols = std::move(symbols)};
  sizes.SetRows(columns);
  return SampleSum(std::move(sizes)).Of(each);
}

// The tokens of an image should cost the decoder what as many tokens of text do, at any length.
absl::Status CheckApart(const ImageWork& work, const Bindings& image, int64_t tokens) {
  absl::btree_set<std::string> differences;
  for (const int64_t count : {0, 1}) {
    for (const int64_t length : {0, 1, 1000}) {
      Bindings with = image, without = NoImage();
      with[work.batch] = without[work.batch] = count;
      with[work.length] = length;
      without[work.length] = length + tokens;
      const Expr difference = work.flops.Substitute(with) - work.flops.Substitute(without);
      if (count == 0 ? difference.is_zero() : difference.error() == nullptr) {
        if (count == 1) differences.insert(difference.ToString());
        continue;
      }
      differences.clear();
      break;
    }
  }
  if (differences.size() == 1) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the images of a batch cannot be counted apart from its text in this model");
}

}  // namespace
}  // namespace monitor

std::string WrongGrid(const std::array<std::vector<int64_t>, 3>& grids, const Bindings& multiples) {
  for (size_t axis = 0; axis < grids.size(); ++axis) {
    const auto multiple = multiples.find(kGridSymbols[axis]);
    if (multiple == multiples.end()) continue;
    for (size_t i = 0; i < grids[axis].size(); ++i) {
      if (grids[axis][i] % multiple->second == 0) continue;
      return absl::StrCat("grid_thw: image ", i + 1, " has ", grids[axis][i],
                          axis == 1 ? " patches down" : " patches across",
                          ", which is no multiple of ", multiple->second);
    }
  }
  return "";
}

absl::StatusOr<std::vector<int64_t>> TokensOfImages(
    const Expr& image_tokens, const std::array<std::vector<int64_t>, 3>& grids) {
  std::vector<int64_t> tokens;
  Bindings at;
  for (size_t i = 0; i < grids[0].size(); ++i) {
    for (size_t axis = 0; axis < grids.size(); ++axis) at[kGridSymbols[axis]] = grids[axis][i];
    ASSIGN_OR_RETURN(const absl::int128 found, image_tokens.Evaluate(at));
    if (found < 0 || found > kMaxPromptTokens) {
      return absl::OutOfRangeError("an image has more than 2^40 tokens");
    }
    tokens.push_back(static_cast<int64_t>(found));
  }
  return tokens;
}

absl::StatusOr<Expr> FlopsOfImages(const ImageWork& work, const std::vector<int64_t>& rows,
                                   const std::array<std::vector<int64_t>, 3>& grids, bool packed) {
  const Expr decoder = work.flops.Substitute(monitor::NoImage());
  SampleSizes samples = {.count = work.batch, .symbols = {work.length}, .packed = packed};
  samples.SetRows({rows});
  const Expr text = SampleSum(std::move(samples)).Of(decoder);
  if (grids[0].empty()) return text;
  ASSIGN_OR_RETURN(const std::vector<int64_t> tokens, TokensOfImages(work.image_tokens, grids));
  Bindings first;
  for (size_t axis = 0; axis < grids.size(); ++axis) first[kGridSymbols[axis]] = grids[axis][0];
  RETURN_IF_ERROR(monitor::CheckApart(work, first, tokens[0]));
  const Expr alone = work.flops.Substitute({{work.length, 0}});
  return text +
         monitor::SumWithoutOnce(alone, work.batch, {kGridSymbols.begin(), kGridSymbols.end()},
                                 {grids[0], grids[1], grids[2]}) -
         monitor::SumWithoutOnce(decoder, work.batch, {work.length}, {tokens});
}

}  // namespace onnxflops
