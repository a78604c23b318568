#include "src/family/vision_language.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/family/decoder_families.h"

namespace onnxflops::family {
namespace {

// The decoder's input: the image's tokens, then the text's.
Tensor Joined(GraphBuilder* b, const ImageTokens& image, const Tensor& text, DecoderShape* s) {
  const Tensor x = Concat(b, {image.tokens, text}, 1);
  if (image.deep.empty()) return x;
  const Tensor sizes = Concat(b, {SizeOf(b, image.tokens, 1), SizeOf(b, text, 1)}, 0);
  s->after_layer = [b, deep = image.deep, sizes](const Tensor& y, int64_t layer) {
    if (layer >= static_cast<int64_t>(deep.size())) return y;
    const std::vector<Tensor> parts = b->Ops("Split", {y, sizes}, {"", ""}, {{"axis", int64_t{1}}});
    return Concat(b, {Add(b, parts[0], deep[static_cast<size_t>(layer)]), parts[1]}, 1);
  };
  return x;
}

// [batch, n], or of time, row and column each: [3, batch, n].
Tensor PlacesOf(GraphBuilder* b, const Tensor& x, const DecoderShape& s) {
  const Tensor places = Positions(b, x, 1);
  if (s.rotary_sections.empty()) return RepeatForBatch(b, places, x, {1});
  const Tensor kinds = b->Ints({static_cast<int64_t>(s.rotary_sections.size())});
  return b->Op("Expand", {places, Concat(b, {kinds, SizeOf(b, x, 0), b->Ints({1})}, 0)});
}

}  // namespace

Config PartOf(const Config& config, const char* key, absl::string_view type) {
  Config part = config.Child(key);
  const std::string given = part.Text("model_type", type);
  if (given != type) {
    part.Fault("model_type", absl::StrCat("is ", Quoted(given), ": only ", type,
                                          " is known inside of ", config.Text("model_type", "")));
  }
  return part;
}

DecoderShape ReadTextOf(const Config& config, const char* type, std::optional<bool> tied) {
  const Config text = config.Child("text_config");
  const std::string given = text.Text("model_type", type);
  const DecoderFamily* family = FindDecoderFamily(given);
  if (family == nullptr) {
    text.Fault("model_type",
               absl::StrCat("is ", Quoted(given), ": it should be a decoder such as ", type));
    family = FindDecoderFamily(type);
  }
  DecoderShape s = ReadDecoder(text, *family);
  if (s.latent) text.Fault("model_type", "has latent attention, which is not known here");
  const bool outside = config.Flag("tie_word_embeddings", tied.value_or(false));
  s.tied = tied ? outside : s.tied || outside;
  return s;
}

int64_t ReadFeatureLayer(const Config& config, int64_t layers, int64_t otherwise) {
  const int64_t layer = config.Integer("vision_feature_layer", otherwise, -layers - 1);
  if (layer > layers) config.Fault("vision_feature_layer", "is beyond the last layer");
  return std::min(layer < 0 ? layers + 1 + layer : layer, layers);
}

Tiles TilesOf(GraphBuilder* b, const ImageShape& image) {
  const Tensor pixels = b->Input("pixel_values", b->dtype(),
                                 {"batch", "tiles", image.channels, image.size, image.size});
  return {Reshape(b, pixels, {-1, image.channels, image.size, image.size}), SizeOf(b, pixels, 0),
          SizeOf(b, pixels, 1)};
}

Tensor ByImage(GraphBuilder* b, const Tensor& x, const Tiles& tiles, int64_t n, int64_t width) {
  return ReshapeBy(b, x, {tiles.batch, Mul(b, tiles.tiles, b->Ints({n})), b->Ints({width})});
}

namespace {

// The module around tower and decoder, if there is one.
void OpenBody(GraphBuilder* b, const VisionLanguage& model, std::optional<Scope>* body) {
  if (!model.whole_language) body->emplace(b, "model", absl::StrCat(model.prefix, "Model"));
}
// The language model, if it has its own output layer.
void OpenWhole(GraphBuilder* b, const VisionLanguage& model, std::optional<Scope>* whole) {
  if (model.whole_language)
    whole->emplace(b, model.language, LanguageModelOf(model.text).with_head);
}

// The tokens of images alone. Tokens for the decoder's layers are added to states of their own
// shape, for which those of the image stand here.
void AddTower(GraphBuilder* b, const VisionLanguage& model) {
  std::vector<Tensor> outputs;
  std::string count;
  {
    std::optional<Scope> body;
    OpenBody(b, model, &body);
    const ImageTokens image = model.image(b);
    count = image.count;
    outputs.push_back(image.tokens);
    const Scope language(b, model.language, model.text.ModelClass());
    for (const Tensor& deep : image.deep) {
      const bool has_layer = static_cast<int64_t>(outputs.size()) <= model.text.layers;
      outputs.push_back(has_layer ? Add(b, image.tokens, deep) : deep);
    }
  }
  int64_t fixed = 0;
  const Dim tokens = absl::SimpleAtoi(count, &fixed) ? Dim(fixed) : Dim(count);
  for (size_t i = 0; i < outputs.size(); ++i) {
    b->Output(i == 0 ? "image_features" : absl::StrCat("hidden_states.", i), outputs[i], b->dtype(),
              {"batch", tokens, model.text.hidden});
  }
}

}  // namespace

absl::StatusOr<std::string> VisionLanguageModel(const Config& config, VisionLanguage model) {
  DecoderShape& s = model.text;
  const std::string root =
      config.RequireArchitecture({absl::StrCat(model.prefix, "ForConditionalGeneration")});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  if (config.notes().tower) {
    AddTower(&b, model);
    return std::move(b).Finish();
  }
  // The text part; its tokens follow those of the image.
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  // A step of decoding: the image is in the cache.
  const bool step = config.notes().decoding;
  s.cached = step;
  Tensor x, places, table;
  Dim tokens = "seq";
  {
    std::optional<Scope> body, whole;
    OpenBody(&b, model, &body);
    ImageTokens image;
    if (!step) image = model.image(&b);
    OpenWhole(&b, model, &whole);
    const Scope language(&b, model.whole_language ? "model" : model.language, s.ModelClass());
    x = Embedding(&b, ids, "embed_tokens", s.vocab, s.hidden, &table);
    if (s.scaled_input) x = Mul(&b, x, Factor(&b, 1));
    if (step) {
      Dims dims = {"batch", "seq"};
      if (const size_t kinds = s.rotary_sections.size(); kinds > 0) {
        dims.insert(dims.begin(), static_cast<int64_t>(kinds));
      }
      places = b.Input("position_ids", DType::kInt64, dims);
    } else {
      x = Joined(&b, image, x, &s);
      places = PlacesOf(&b, x, s);
      tokens = absl::StrCat("seq + ", image.count);
    }
    x = DecoderLayers(&b, x, places, s);
  }
  {
    std::optional<Scope> whole;
    OpenWhole(&b, model, &whole);
    x = Logits(&b, x, table, LanguageModelOf(s));
  }
  b.Output("logits", x, dtype, {"batch", tokens, s.vocab});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
