// How it works. The output of such a model is [batch, tokens, vocabulary]. Its tokens less the
// text's length are those of the images: a formula of their sizes.
#include "src/api/joint_rows.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "fmt/format.h"
#include "src/api/sequence.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/convention/formula_facts.h"
#include "src/render/format.h"
#include "src/report/samples_report.h"

namespace onnxflops {
namespace {

struct Sequence {
  size_t text = 0;    // of the samples' symbols: the length of the text
  Expr image_tokens;  // beside it
};

bool TakesImages(const ModelData& model) {
  return absl::c_any_of(model.graphs[0].inputs, [&](ValueId id) {
    const Value& value = model.value(id);
    return !value.initializer && report::ModalityOfInput(value.name) == "image";
  });
}

std::optional<Sequence> FindSequence(const Inference& inference, const SampleSizes& sizes) {
  const Shape* const logits = LogitsOf(inference);
  if (logits == nullptr) return std::nullopt;
  const InputSizes inputs = FindInputSizes(*inference.model);
  for (size_t i = 0; i < sizes.symbols.size(); ++i) {
    const std::string& length = sizes.symbols[i];
    if (!absl::c_linear_search(inputs.lengths, length)) continue;
    Expr image_tokens = (*logits)[1] - Expr::Symbol(length);
    if (absl::c_linear_search(image_tokens.Symbols(), length)) continue;
    return Sequence{i, std::move(image_tokens)};
  }
  return std::nullopt;
}

// Whether a value has the text's tokens and others side by side.
bool JoinsTexts(const Inference& inference, const SampleSizes& sizes) {
  const ModelData& model = *inference.model;
  const InputSizes inputs = FindInputSizes(model);
  const auto joins = [&](const Expr& dim) {
    return absl::c_any_of(sizes.symbols, [&](const std::string& length) {
      if (!absl::c_linear_search(inputs.lengths, length) || dim == Expr::Symbol(length))
        return false;
      const Expr others = dim - Expr::Symbol(length);
      return absl::c_linear_search(dim.Symbols(), length) &&
             !absl::c_linear_search(others.Symbols(), length);
    });
  };
  for (size_t i = 0; i < model.values.size(); ++i) {
    const Fact* const fact = inference.FactOf(ValueId(i));
    if (fact == nullptr || !fact->is_tensor() || !fact->shape.ranked()) continue;
    if (absl::c_any_of(fact->shape.dims(), joins)) return true;
  }
  return false;
}

absl::Status NotKnown(const ModelData& model) {
  return absl::FailedPreconditionError(absl::StrCat(
      Escaped(model.path),
      WithSettings(": {cu-seqlens} are of all tokens of a row, and how many are of images is not "
                   "known here: give the sizes of the images, or the texts as {lengths}, with "
                   "{packed on}")));
}

// `tokens`: of the images of each row.
absl::Status TakeOutImages(const ModelData& model, const Samples& samples, size_t text,
                           const std::vector<int64_t>& tokens, SampleSizes* sizes) {
  for (size_t row = 0; row < tokens.size(); ++row) {
    const int64_t all = sizes->rows[row].sizes[text];
    if (all >= tokens[row]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(model.path), ": ", PlaceOfRow(samples, *sizes, row),
        fmt::format("it has {}, and its image {}", Plural(all, "token"), tokens[row])));
  }
  for (size_t row = 0; row < tokens.size(); ++row) sizes->rows[row].sizes[text] -= tokens[row];
  return absl::OkStatus();
}

}  // namespace

absl::Status FindJointRows(const Inference& inference, const Samples& samples, SampleSizes* sizes) {
  const ModelData& model = *inference.model;
  if (!TakesImages(model)) return absl::OkStatus();
  const std::optional<Sequence> sequence = FindSequence(inference, *sizes);
  if (!sequence) {
    const bool is_known = !samples.with_images || !JoinsTexts(inference, *sizes);
    return is_known ? absl::OkStatus() : NotKnown(model);
  }
  const Expr& image_tokens = sequence->image_tokens;
  if (image_tokens.is_zero()) return absl::OkStatus();
  const absl::StatusOr<std::vector<int64_t>> tokens = sizes->ByRow(image_tokens);
  const bool is_of_samples = absl::c_any_of(image_tokens.Symbols(), [&](const std::string& symbol) {
    return absl::c_linear_search(sizes->symbols, symbol);
  });
  if (samples.with_images) {
    if (!tokens.ok()) return NotKnown(model);
    RETURN_IF_ERROR(TakeOutImages(model, samples, sequence->text, *tokens, sizes));
  }
  if (!is_of_samples || sizes->packed) return absl::OkStatus();
  sizes->has_rectangle = tokens.ok();
  if (tokens.ok()) sizes->Join(sequence->text, image_tokens.Symbols(), *tokens);
  return absl::OkStatus();
}

}  // namespace onnxflops
