// How it works. The program reads the vision_config of transformers by these keys, and grids of
// frames, height and width in patches. Keys that are missing have defaults there that differ from
// model to model, so a configuration without them has no figure.
#include "src/convention/vision_formula.h"

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "src/base/json_reader.h"
#include "src/base/limits.h"
#include "src/family/family.h"

namespace onnxflops {
namespace {

using Json = nlohmann::json;

constexpr int64_t kForwardAndBackward = 3;

std::optional<int64_t> SizeOf(const Json& config, const char* key) {
  const auto at = config.find(key);
  const auto* size = at == config.end() ? nullptr : at->get_ptr<const uint64_t*>();
  if (size == nullptr || *size < 1 || *size > uint64_t{kMaxConfigSize}) return std::nullopt;
  return static_cast<int64_t>(*size);
}

// Images [batch, frames, height, width, ...] in patches.
bool ReadPatches(const Inference& inference, VisionFormula* formula) {
  constexpr size_t kRank = 5;
  for (const ValueId id : inference.model->graphs[0].inputs) {
    const Fact* fact = inference.FactOf(id);
    if (inference.model->value(id).name != "pixel_values" || fact == nullptr) continue;
    if (!fact->is_tensor() || !fact->shape.ranked() || fact->shape.dims().size() != kRank) continue;
    const Dims& dims = fact->shape.dims();
    const Expr frames = dims[0] * dims[1], frame = dims[2] * dims[3];
    formula->patches = frames * frame;
    formula->squares = frames * frame * frame;
    formula->tokens = dims[0] * FloorDiv(dims[1] * frame, formula->merged);
    return true;
  }
  return false;
}

}  // namespace

Expr VisionFormula::AttentionOfLayer() const {
  return kForwardAndBackward * (8 * Expr(width) * width * patches + 4 * Expr(width) * squares);
}

Expr VisionFormula::MlpOfLayer() const {
  return kForwardAndBackward * (4 * Expr(width) * inner * patches);
}

Expr VisionFormula::Merger() const {
  const Expr wide = Expr(width) * merged;
  return kForwardAndBackward * tokens * (2 * wide * wide + 2 * wide * output);
}

std::optional<VisionFormula> ReadVisionFormula(const Inference& inference) {
  const absl::string_view text = ConfigOf(*inference.model);
  if (text.empty()) return std::nullopt;
  const absl::StatusOr<Json> parsed = ParseJson(text, {.not_numbers = true});
  if (!parsed.ok() || !parsed->is_object()) return std::nullopt;
  const auto vision = parsed->find("vision_config");
  if (vision == parsed->end() || !vision->is_object()) return std::nullopt;
  const std::optional<int64_t> layers = SizeOf(*vision, "depth");
  const std::optional<int64_t> width = SizeOf(*vision, "hidden_size");
  const std::optional<int64_t> inner = SizeOf(*vision, "intermediate_size");
  const std::optional<int64_t> output = SizeOf(*vision, "out_hidden_size");
  if (!layers || !width || !inner || !output) return std::nullopt;
  const int64_t side = SizeOf(*vision, "spatial_merge_size").value_or(2);
  VisionFormula formula = {.layers = *layers,
                           .width = *width,
                           .inner = *inner,
                           .merged = side * side,
                           .output = *output};
  // Qwen3-VL merges patches after these layers as well.
  const auto deep = vision->find("deepstack_visual_indexes");
  const auto type = parsed->find("model_type");
  const bool has_deep = type != parsed->end() && type->is_string() &&
                        absl::StartsWith(type->get_ref<const std::string&>(), "qwen3");
  if (has_deep && (deep == vision->end() || !deep->is_array())) return std::nullopt;
  if (has_deep) formula.mergers += static_cast<int64_t>(deep->size());
  if (!ReadPatches(inference, &formula)) return std::nullopt;
  return formula;
}

}  // namespace onnxflops
