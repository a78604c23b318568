// config-clip: layers x (4 h s^2 + 8 h (4 h) s) of a text and an image tower, by the keys of a
// config.json.
//
// How it works. The function is computed as it is written, with its mistakes: in floating point and
// in its order, with the keys that it looks for and the numbers that it takes where a key is
// missing. It knows no nodes, so all its lines are for the model as a whole. For the terms, the
// rounded sum is split: attention scores and linear layers as they would be with the right keys,
// and two terms for what the wrong keys change (layers of the text, its MLP ratio). Our own
// products are split alike, into patches, projections outside of layers, scores, and all others. So
// each term is the function's part minus ours.
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/json_reader.h"
#include "src/convention/conventions.h"
#include "src/family/family.h"

namespace onnxflops::convention {
namespace config_clip {
namespace {

using Json = nlohmann::json;

// One tower, as the function reads it.
struct Tower {
  double width = 0, tokens = 0, ratio = 0, layers = 0;

  // In floating point, as in the function.
  double Scores() const { return layers * (4 * width * tokens * tokens); }
  double Linear() const { return layers * (8 * width * (width * ratio) * tokens); }
};

struct Towers {
  Tower text, image;
  double text_layers = 0;  // under the names that the function does not look for, too
  double text_ratio = 0;   // of the text's own MLP
};

double Number(const Json& from, std::initializer_list<const char*> keys, double otherwise) {
  for (const char* key : keys) {
    const auto at = from.find(key);
    if (at != from.end() && at->is_number()) return at->get<double>();
  }
  return otherwise;
}

const Json* Object(const Json& from, const char* key) {
  const auto at = from.is_object() ? from.find(key) : from.end();
  return from.is_object() && at != from.end() && at->is_object() ? &*at : nullptr;
}

// The keys of the function: where its first one is not there, it takes the second, or a number. It
// looks for a text's layers under a name that open_clip does not use, and takes the MLP of the
// image for both towers.
std::optional<Towers> ReadTowers(absl::string_view json) {
  const absl::StatusOr<Json> parsed = ParseJson(json, {.not_numbers = true});
  const Json config = parsed.ok() ? *parsed : Json();
  const Json* text = Object(config, "text_config");
  const Json* vision = Object(config, "vision_config");
  if (text == nullptr || vision == nullptr) {
    text = Object(config, "text_cfg");
    vision = Object(config, "vision_cfg");
  }
  if (text == nullptr || vision == nullptr) return std::nullopt;
  constexpr double kRatio = 4;
  const double ratio = Number(*vision, {"mlp_ratio"}, kRatio);
  const double side = Number(*vision, {"image_size"}, 336) / Number(*vision, {"patch_size"}, 14);
  Towers towers;
  towers.text = {Number(*text, {"hidden_size", "width"}, 768),
                 Number(*text, {"context_length", "max_position_embeddings"}, 77), ratio,
                 Number(*text, {"num_hidden_layers", "num_layers"}, 12)};
  towers.image = {Number(*vision, {"hidden_size", "width"}, 1024), side * side, ratio,
                  Number(*vision, {"num_hidden_layers", "layers"}, 24)};
  towers.text_layers = Number(*text, {"num_hidden_layers", "num_layers", "layers"}, 12);
  towers.text_ratio = Number(*text, {"mlp_ratio"}, kRatio);
  return towers;
}

// The batch of the first input that is images, [batch, channels, height, width].
std::optional<Expr> ImagesOf(const Evidence& evidence) {
  constexpr int kImageRank = 4;
  for (ValueId id : evidence.model().graphs[0].inputs) {
    const Fact* fact = evidence.inference().FactOf(id);
    if (fact == nullptr || !fact->is_tensor() || !fact->shape.ranked()) continue;
    if (IsFloat(fact->dtype) && fact->shape.rank() == kImageRank) return fact->shape[0];
  }
  return std::nullopt;
}

// Layers are numbered: "vision_model.encoder.layers.3.mlp".
bool IsInLayer(absl::string_view path) {
  for (absl::string_view part : absl::StrSplit(path, '.')) {
    if (!part.empty() && absl::c_all_of(part, absl::ascii_isdigit)) return true;
  }
  return false;
}

// Our count of products, divided as the formula divides them.
struct OurProducts {
  Expr patches, ends, linear, scores;
};

OurProducts SplitProducts(Evidence* evidence) {
  OurProducts ours;
  std::vector<EntryId> patches, ends;
  for (size_t i = 0; i < evidence->entries().size(); ++i) {
    const EntryId id = static_cast<EntryId>(i);
    const Entry& entry = evidence->entry(id);
    if (evidence->Ours(Unit::kMac, id) == kZero) continue;
    if (evidence->node(entry).op_type == "Conv") {
      patches.push_back(id);
    } else if (!IsInLayer(evidence->paths().path(entry.module))) {
      ends.push_back(id);
    }
  }
  const Amounts& total = evidence->counts().total.amounts;
  ours.patches = 2 * evidence->amount(evidence->Ours(Unit::kMac, patches));
  ours.ends = 2 * evidence->amount(evidence->Ours(Unit::kMac, ends));
  ours.scores = evidence->formula_facts().attention.flops;
  ours.linear = total.flops - total.other_flops - ours.patches - ours.ends - ours.scores;
  return ours;
}

// The formula's figure, divided into terms that add up to the rounded sum of the function.
struct Figures {
  absl::int128 linear = 0, scores = 0, depth = 0, ratio = 0;
};

std::optional<Figures> FiguresOf(const Towers& towers) {
  constexpr double kMost = 9e18;
  const Tower& text = towers.text;
  const Tower& image = towers.image;
  // In the order of the function, which rounds the sum.
  const double sum = (4 * text.width * text.tokens * text.tokens +
                      8 * text.width * (text.width * text.ratio) * text.tokens) *
                         text.layers +
                     (4 * image.width * image.tokens * image.tokens +
                      8 * image.width * (image.width * image.ratio) * image.tokens) *
                         image.layers;
  Tower whole = text;
  whole.layers = towers.text_layers;
  Tower own = whole;
  own.ratio = towers.text_ratio;
  const double scores = own.Scores() + image.Scores();
  const double depth = text.Scores() + text.Linear() - whole.Scores() - whole.Linear();
  const double ratio = whole.Linear() - own.Linear();
  for (double value : {sum, scores, own.Linear(), whole.Scores(), whole.Linear(), text.Scores(),
                       text.Linear(), image.Scores(), image.Linear()}) {
    if (!(value > 0 && value < kMost)) return std::nullopt;
  }
  Figures figures;
  figures.scores = std::llround(scores);
  figures.depth = std::llround(depth);
  figures.ratio = std::llround(ratio);
  figures.linear = std::llround(sum) - figures.scores - figures.depth - figures.ratio;
  return figures;
}

Ledger ApplyClip(Evidence* evidence) {
  const absl::string_view json = ConfigOf(evidence->model());
  if (json.empty()) {
    return LedgerBuilder::NotApplicable("the formula reads a config.json, and this is a model");
  }
  const std::optional<Towers> towers = ReadTowers(json);
  const std::optional<Expr> images = ImagesOf(*evidence);
  const std::optional<Figures> figures = towers ? FiguresOf(*towers) : std::nullopt;
  if (!figures || !images) {
    return LedgerBuilder::NotApplicable("the configuration is not of a text and an image tower");
  }
  const OurProducts ours = SplitProducts(evidence);
  LedgerBuilder ledger(evidence, Unit::kFlop);
  const auto add = [&](const char* name, const char* reason, const Expr& amount) {
    ledger.CountModel(evidence->Intern(amount), ledger.Term(name, reason));
  };
  // The first line of the model is compared with our whole count.
  add("norms, activations and other operations", "left out",
      evidence->counts().total.amounts.flops - evidence->counts().total.amounts.other_flops);
  add("linear layers",
      "32 h^2 s a layer, a third more than the 24 h^2 s of an MLP of 4 h; without the class token",
      *images * figures->linear - ours.linear);
  add("attention products QK' and PV", "without the class token",
      *images * figures->scores - ours.scores);
  add("patch embedding", "left out", ours.patches * -1);
  add("projections and similarity", "left out", ours.ends * -1);
  add("layers of text",
      "its function looks for num_hidden_layers and num_layers, and takes 12 where there is "
      "neither",
      *images * figures->depth);
  add("the image's MLP ratio in the text", "its function reads one ratio, of the image",
      *images * figures->ratio);
  return ledger.Finish([](EntryId) { return kSame; });
}

}  // namespace
}  // namespace config_clip

const Convention kConfigClip = {
    {"config-clip", Unit::kFlop, "layers x (4 h s^2 + 8 h (4 h) s), of text and image",
     "a widely copied function over config.json",
     "both towers by width, layers and tokens, of the keys that the function looks up",
     "the class token, patch embedding, projections; what the configuration calls otherwise"},
    config_clip::ApplyClip,
};

}  // namespace onnxflops::convention
