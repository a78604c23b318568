// LLaVA: CLIP's image tower, a projector, and a language model over patches and text.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/family/builders.h"
#include "src/family/clip.h"
#include "src/family/decoder_families.h"

namespace onnxflops::family {
namespace {

struct LlavaShape {
  ClipVision vision;
  DecoderShape text;
  std::string activation;
  int64_t take = 0;  // the layer of the tower whose tokens are used
  bool with_class_token = false, bias = true;
};

LlavaShape ReadLlava(const Config& config) {
  LlavaShape s;
  const Config text = config.Child("text_config"), vision = config.Child("vision_config");
  for (const auto& [part, type] :
       {std::pair(&text, "llama"), std::pair(&vision, "clip_vision_model")}) {
    const std::string given = part->Text("model_type", type);
    if (given != type) {
      part->Fault("model_type",
                  absl::StrCat("is ", Quoted(given), ": only ", type, " is known inside of llava"));
    }
  }
  s.vision = ReadClipVision(vision);
  s.text = ReadDecoder(text, *FindDecoderFamily("llama"));
  s.activation = ReadActivation(config, "projector_hidden_act", "gelu");
  s.bias = config.Flag("multimodal_projector_bias", true);
  const int64_t layers = s.vision.encoder.layers;
  const int64_t layer = config.Integer("vision_feature_layer", -2, -layers - 1);
  s.take = layer < 0 ? layers + 1 + layer : layer;
  if (s.take > layers) config.Fault("vision_feature_layer", "is beyond the last layer");
  const std::string strategy = config.Text("vision_feature_select_strategy", "default");
  s.with_class_token = strategy == "full";
  if (strategy != "full" && strategy != "default") {
    config.Fault("vision_feature_select_strategy", "should be default or full");
  }
  return s;
}

Tensor BuildImage(GraphBuilder* b, const Tensor& pixels, const LlavaShape& s) {
  Tensor x;
  {
    const Scope tower(b, "vision_tower", "CLIPVisionModel");
    x = BuildClipVision(b, pixels, s.vision, std::min(s.take, s.vision.encoder.layers)).tokens;
  }
  if (!s.with_class_token) {
    x = b->Op("Slice", {x, b->Ints({1}), b->Ints({s.vision.image.Patches() + 1}), b->Ints({1})});
  }
  const Scope projector(b, "multi_modal_projector", "LlavaMultiModalProjector");
  x = Linear(b, x, "linear_1", s.vision.encoder.hidden, s.text.hidden, s.bias);
  x = Activate(b, x, s.activation);
  return Linear(b, x, "linear_2", s.text.hidden, s.text.hidden, s.bias);
}

}  // namespace

absl::StatusOr<std::string> BuildLlava(const Config& config) {
  LlavaShape s = ReadLlava(config);
  const std::string root = config.RequireArchitecture({"LlavaForConditionalGeneration"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  // The text part; its tokens follow those of the image.
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  // A step of decoding: the image is in the cache.
  const bool step = config.notes().decoding;
  s.text.cached = step;
  Tensor pixels, places, x, table;
  if (!step) pixels = PixelValues(&b, s.vision.image);
  if (step) places = b.Input("position_ids", DType::kInt64, {"batch", "seq"});
  {
    const Scope model(&b, "model", "LlavaModel");
    Tensor image;
    if (!step) image = BuildImage(&b, pixels, s);
    const Scope language(&b, "language_model", "LlamaModel");
    x = Embedding(&b, ids, "embed_tokens", s.text.vocab, s.text.hidden, &table);
    if (!step) {
      x = Concat(&b, {image, x}, 1);
      places = RepeatForBatch(&b, Positions(&b, x, 1), x, {1});
    }
    x = DecoderLayers(&b, x, places, s.text);
  }
  x = s.text.tied ? TiedLinear(&b, x, "lm_head", table)
                  : Linear(&b, x, "lm_head", s.text.hidden, s.text.vocab, false);
  const int64_t visual = s.vision.image.Patches() + (s.with_class_token ? 1 : 0);
  const Dim tokens = step ? Dim("seq") : Dim(absl::StrCat("seq + ", visual));
  b.Output("logits", x, dtype, {"batch", tokens, s.text.vocab});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
