// OWL-ViT and OWLv2: CLIP's towers, and boxes around what texts name.
//
// How it works. Each patch of the image is a box and a vector, which is compared with the vectors
// of the texts. Images may have several texts each: `texts` are those of all images, one for each
// unless it is set. The class also compares whole images with texts, as CLIP does, and reads
// nothing of it but the texts' vectors; so this is a part of the graph. OWLv2 predicts for each
// patch, too, whether it is an object.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/builders.h"
#include "src/family/clip.h"

namespace onnxflops::family {
namespace {

constexpr ClipNames kOwlVitNames = {
    "OwlViT",
    "OwlViTEncoder",
    "pre_layernorm",
    {"OwlViTEncoderLayer", "self_attn", "q_proj", "k_proj", "v_proj", "out_proj", "OwlViTAttention",
     "mlp", "OwlViTMLP", "fc1", "fc2", "layer_norm1", "layer_norm2"}};
constexpr ClipNames kOwlV2Names = {
    "Owlv2",
    "Owlv2Encoder",
    "pre_layernorm",
    {"Owlv2EncoderLayer", "self_attn", "q_proj", "k_proj", "v_proj", "out_proj", "Owlv2Attention",
     "mlp", "Owlv2MLP", "fc1", "fc2", "layer_norm1", "layer_norm2"}};

struct OwlFamily {
  const ClipNames& names;
  const char* module;
  int64_t patch;
  bool objects;  // predicts whether a patch is one
};
constexpr OwlFamily kOwlVit = {kOwlVitNames, "owlvit", 32, false};
constexpr OwlFamily kOwlV2 = {kOwlV2Names, "owlv2", 16, true};

struct OwlShape {
  ClipVision vision;
  ClipText text;
  int64_t projection = 512;
};

OwlShape ReadOwl(const Config& config, const OwlFamily& family) {
  OwlShape s;
  const Config words = config.Child("text_config"), image = config.Child("vision_config");
  s.text = {words.Size("vocab_size", 49408), words.Size("max_position_embeddings", 16),
            ReadEncoder(words, 512, 8, 12, 2048, "quick_gelu"), &family.names};
  s.text.encoder.causal = true;
  s.vision = {ReadImage(image, 768, family.patch),
              ReadEncoder(image, 768, 12, 12, 3072, "quick_gelu"), &family.names};
  s.projection = config.Size("projection_dim", 512);
  return s;
}

class OwlBuilder {
 public:
  OwlBuilder(GraphBuilder* b, const OwlShape& shape, const OwlFamily& family)
      : b_(b), s_(shape), family_(family), h_(shape.vision.encoder.hidden) {}

  // Both towers and their projections: images and texts.
  void Towers(const Tensor& ids, const Tensor& pixels) {
    {
      const Scope tower(b_, "vision_model", Class("VisionTransformer"));
      const ClipVisionOutput seen =
          BuildClipVision(b_, pixels, s_.vision, s_.vision.encoder.layers);
      image_ = seen.pooled;
      tokens_ = seen.tokens;
    }
    {
      const Scope tower(b_, "text_model", Class("TextTransformer"));
      text_ = BuildClipTextTower(b_, ids, s_.text);
    }
    text_ = Linear(b_, text_, "text_projection", s_.text.encoder.hidden, s_.projection, false);
    image_ = Linear(b_, image_, "visual_projection", h_, s_.projection, false);
  }

  void Compare() { ContrastiveHead(b_, image_, text_, s_.projection, {}, false); }

  void Detect(const Tensor& ids, const Tensor& pixels) {
    {
      const Scope body(b_, family_.module, Class("Model"));
      Towers(ids, pixels);
      text_ = Normalize(b_, text_);
      const Tensor turned = Transpose(b_, Normalize(b_, image_), {1, 0});
      const Tensor scale = b_->Op("Exp", {b_->Weight("logit_scale", {})});
      Mul(b_, b_->Op("MatMul", {text_, turned}), scale);
    }
    const Tensor patches = Patches();
    const Tensor batch = SizeOf(b_, pixels, 0);
    const Tensor queries = ReshapeBy(b_, text_, {batch, b_->Ints({-1, s_.projection})});
    const Tensor first = b_->Op("Gather", {ids, b_->Scalar(0)}, {{"axis", int64_t{1}}});
    const Tensor given = b_->Op("Greater", {first, b_->Scalar(0)});
    const Tensor mask = ReshapeBy(b_, given, {batch, b_->Ints({1, -1})});
    const int64_t n = s_.vision.image.Patches();
    b_->Output("logits", Classes(patches, queries, mask), b_->dtype(),
               {"batch", n, "texts // batch"});
    if (family_.objects) {
      const Tensor objects = Head(patches, "objectness_head", 1);
      b_->Output("objectness_logits", b_->Op("Squeeze", {objects, b_->Ints({2})}), b_->dtype(),
                 {"batch", n});
    }
    constexpr int64_t kSides = 4;
    // Numbers that no training changes. Whole ones are never a parameter.
    const Tensor bias = b_->Op("Cast", {Reshape(b_, b_->IndexTable(n * kSides), {n, kSides})},
                               {{"to", static_cast<int64_t>(b_->dtype())}});
    const Tensor boxes = b_->Op("Sigmoid", {Add(b_, Head(patches, "box_head", kSides), bias)});
    b_->Output("pred_boxes", boxes, b_->dtype(), {"batch", n, kSides});
  }

 private:
  std::string Class(const char* name) const { return absl::StrCat(family_.names.prefix, name); }

  // Each patch times the class token.
  Tensor Patches() {
    const std::string norm = absl::StrCat(family_.module, ".vision_model.post_layernorm");
    const Tensor x = LayerNorm(b_, tokens_, norm, h_);
    const Tensor first = b_->Op("Unsqueeze", {TakeToken(b_, x, 0), b_->Ints({1})});
    const Tensor rest =
        b_->Op("Slice", {x, b_->Ints({1}), b_->Ints({kMaxConfigSize}), b_->Ints({1})});
    return LayerNorm(b_, Mul(b_, rest, first), "layer_norm", h_);
  }

  Tensor Unit(const Tensor& x) {
    constexpr double kEpsilon = 1e-6;
    const Tensor length = b_->Op("ReduceL2", {x, b_->Ints({-1})}, {{"keepdims", int64_t{1}}});
    return b_->Op("Div", {x, Add(b_, length, Factor(b_, kEpsilon))});
  }

  Tensor Classes(const Tensor& patches, const Tensor& queries, const Tensor& mask) {
    const Scope head(b_, "class_head", Class("ClassPredictionHead"));
    const Tensor own = Unit(Linear(b_, patches, "dense0", h_, s_.text.encoder.hidden, true));
    Tensor x = b_->Op("MatMul", {own, Transpose(b_, Unit(queries), {0, 2, 1})});
    const Tensor shift = Linear(b_, patches, "logit_shift", h_, 1, true);
    const Tensor scale = b_->Op("Elu", {Linear(b_, patches, "logit_scale", h_, 1, true)});
    x = Mul(b_, Add(b_, x, shift), Add(b_, scale, Factor(b_, 1)));
    constexpr double kApart = -1e9;
    return b_->Op("Where", {mask, x, Factor(b_, kApart)});
  }

  Tensor Head(Tensor x, const char* name, int64_t out) {
    const Scope head(b_, name, Class("BoxPredictionHead"));
    x = b_->Op("Gelu", {Linear(b_, x, "dense0", h_, h_, true)});
    x = b_->Op("Gelu", {Linear(b_, x, "dense1", h_, h_, true)});
    return Linear(b_, x, "dense2", h_, out, true);
  }

  GraphBuilder* b_;
  const OwlShape& s_;
  const OwlFamily& family_;
  const int64_t h_;
  Tensor image_, text_, tokens_;
};

absl::StatusOr<std::string> BuildOwl(const Config& config, const OwlFamily& family) {
  const OwlShape s = ReadOwl(config, family);
  const std::string whole = absl::StrCat(family.names.prefix, "Model");
  const std::string detector = absl::StrCat(family.names.prefix, "ForObjectDetection");
  const std::string root = config.RequireArchitecture({detector, whole});
  if (root == detector && s.projection != s.text.encoder.hidden) {
    config.Fault("projection_dim", "should be hidden_size of text_config");
  }
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  OwlBuilder builder(&b, s, family);
  if (root == whole) {
    const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
    builder.Towers(ids, PixelValues(&b, s.vision.image));
    builder.Compare();
    return std::move(b).Finish();
  }
  b.FollowDim("texts", "batch");
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"texts", "seq"});
  builder.Detect(ids, PixelValues(&b, s.vision.image));
  return std::move(b).Finish();
}

}  // namespace

absl::StatusOr<std::string> BuildOwlVit(const Config& config) { return BuildOwl(config, kOwlVit); }
absl::StatusOr<std::string> BuildOwlV2(const Config& config) { return BuildOwl(config, kOwlV2); }

}  // namespace onnxflops::family
