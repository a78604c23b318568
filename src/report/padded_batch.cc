// How it works. The first output of a model that places images into its text is
// [batch, tokens, vocabulary]. Its tokens less the text's length are those of the images: a formula
// of their sizes. So each sample's text can be made as long as the longest row needs, and the
// padded batch is once more a sum over samples.
#include "src/report/padded_batch.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "src/report/samples_report.h"

namespace onnxflops::report {
namespace {

// The tokens of a row of logits; null of other outputs.
const Expr* TokensOf(const Report& report) {
  constexpr size_t kLogitsRank = 3;
  if (report.outputs.empty() || !report.outputs[0].shape.ranked()) return nullptr;
  const Dims& dims = report.outputs[0].shape.dims();
  return dims.size() == kLogitsRank ? &dims[1] : nullptr;
}

// Whether the tokens beside the text follow the sizes of images that the samples have.
bool AreOfImages(const Report& report, const SampleSizes& sizes, const Expr& tokens) {
  bool found = false;
  for (const std::string& symbol : tokens.Symbols()) {
    if (!absl::c_linear_search(sizes.symbols, symbol)) continue;
    if (ModalityOfSize(report, symbol) != "image") return false;
    found = true;
  }
  return found;
}

}  // namespace

PaddedBatch::PaddedBatch(const SampleSum& sum, const Report& report)
    : sizes_(sum.sizes().Rectangle()) {
  const SampleSizes& sizes = sum.sizes();
  if (sizes.packed) {
    is_known_ = absl::c_none_of(
        report.inputs, [](const InputInfo& input) { return !ModalityOfInput(input.name).empty(); });
    return;
  }
  const Expr* const tokens = TokensOf(report);
  if (tokens == nullptr) return;
  for (size_t text = 0; text < sizes.symbols.size(); ++text) {
    const std::string& length = sizes.symbols[text];
    if (ModalityOfSize(report, length) != "text") continue;
    const Expr image_tokens = *tokens - Expr::Symbol(length);
    if (!AreOfImages(report, sizes, image_tokens)) continue;
    PadSequences(sizes, text, image_tokens);
    return;
  }
}

void PaddedBatch::PadSequences(const SampleSizes& sizes, size_t text, const Expr& image_tokens) {
  SampleSizes padded = sizes;
  std::vector<int64_t> of_images;
  of_images.reserve(padded.rows.size());
  int64_t most = 0;
  for (const SampleSizes::Row& row : padded.rows) {
    Bindings at;
    for (size_t i = 0; i < sizes.symbols.size(); ++i) at[sizes.symbols[i]] = row.sizes[i];
    const absl::StatusOr<absl::int128> tokens = image_tokens.Evaluate(at);
    const absl::int128 all = tokens.ok() ? *tokens + row.sizes[text] : absl::int128(0);
    is_known_ = tokens.ok() && *tokens >= 0 && all <= std::numeric_limits<int64_t>::max();
    if (!is_known_) return;
    of_images.push_back(static_cast<int64_t>(*tokens));
    most = std::max(most, static_cast<int64_t>(all));
  }
  for (size_t i = 0; i < of_images.size(); ++i) padded.rows[i].sizes[text] = most - of_images[i];
  tokens_ = most;
  padded_.emplace(std::move(padded));
}

Expr PaddedBatch::Of(const Expr& formula) const {
  return padded_ ? padded_->Of(formula) : formula.Substitute(sizes_);
}

}  // namespace onnxflops::report
