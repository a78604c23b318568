// ViT and its kin: DeiT, ViT-MSN and I-JEPA.
//
// How it works. Each is an encoder over patches and a row of VitFamily, which says how many tokens
// come before the patches: a class token, in DeiT one more for distillation, and in I-JEPA none, so
// its classifier reads the mean of the patches. Only ViT and DeiT have a pooler. Images are of
// image_size, as the table of positions is.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"
#include "src/family/clip.h"

namespace onnxflops::family {
namespace {

constexpr EncoderLayerNames kVitLayer = {
    "ViTLayer",       "attention", "q_proj", "k_proj", "v_proj", "o_proj",
    "ViTAttention",   "mlp",       "ViTMLP", "fc1",    "fc2",    "layernorm_before",
    "layernorm_after"};
constexpr EncoderLayerNames kDeitLayer = {
    "DeiTLayer",      "attention", "q_proj",  "k_proj", "v_proj", "o_proj",
    "DeiTAttention",  "mlp",       "DeiTMLP", "fc1",    "fc2",    "layernorm_before",
    "layernorm_after"};

constexpr EncoderLayerNames kVitMsnLayer = {
    "ViTMSNLayer",     "attention", "q_proj",    "k_proj", "v_proj", "o_proj",
    "ViTMSNAttention", "mlp",       "ViTMSNMLP", "fc1",    "fc2",    "layernorm_before",
    "layernorm_after"};
constexpr EncoderLayerNames kIjepaLayer = {
    "IJepaLayer",     "attention", "q_proj",   "k_proj", "v_proj", "o_proj",
    "IJepaAttention", "mlp",       "IJepaMLP", "fc1",    "fc2",    "layernorm_before",
    "layernorm_after"};

struct VitFamily {
  const char *prefix, *module;
  const EncoderLayerNames& layer;
  int64_t tokens;  // that are no patches
  bool pooled;
};
constexpr VitFamily kVit = {"ViT", "vit", kVitLayer, 1, true};
constexpr VitFamily kDeit = {"DeiT", "deit", kDeitLayer, 2, true};
constexpr VitFamily kVitMsn = {"ViTMSN", "vit", kVitMsnLayer, 1, false};
constexpr VitFamily kIjepa = {"IJepa", "ijepa", kIjepaLayer, 0, false};

struct VitShape {
  EncoderShape encoder;
  ImageShape image;
  std::string root;
  int64_t labels = 0, pooled = 0;  // 0: without
  std::string pooler;
};

Tensor BuildVitEmbeddings(GraphBuilder* b, const Tensor& pixels, const VitShape& s,
                          const VitFamily& family) {
  const Scope embeddings(b, "embeddings", absl::StrCat(family.prefix, "Embeddings"));
  const int64_t h = s.encoder.hidden;
  Tensor x;
  {
    const Scope patches(b, "patch_embeddings", absl::StrCat(family.prefix, "PatchEmbeddings"));
    x = PatchEmbedding(b, pixels, s.image, h, "projection", true);
  }
  std::vector<Tensor> parts;
  const char* const names[] = {"cls_token", "distillation_token"};
  for (int64_t i = 0; i < family.tokens; ++i) {
    parts.push_back(RepeatForBatch(b, b->Weight(names[i], {1, 1, h}), x, {1, h}));
  }
  parts.push_back(x);
  if (parts.size() > 1) x = Concat(b, parts, 1);
  return Add(b, x, b->Weight("position_embeddings", {1, s.image.Patches() + family.tokens, h}));
}

Tensor BuildVitBody(GraphBuilder* b, const Tensor& pixels, const VitShape& s,
                    const VitFamily& family) {
  Tensor x = BuildVitEmbeddings(b, pixels, s, family);
  x = PreNormLayers(b, x, s.encoder, family.layer);
  return LayerNorm(b, x, "layernorm", s.encoder.hidden);
}

VitShape ReadVit(const Config& config, const VitFamily& family) {
  VitShape s;
  s.encoder = ReadEncoder(config, 768, 12, 12, 3072, "gelu");
  s.encoder.qkv_bias = config.Flag("qkv_bias", true);
  s.image = ReadImage(config, 224, 16);
  const std::string whole = absl::StrCat(family.prefix, "Model");
  const std::string classifier = absl::StrCat(family.prefix, "ForImageClassification");
  s.root =
      family.tokens == 2
          ? config.RequireArchitecture({classifier, absl::StrCat(classifier, "WithTeacher"), whole})
          : config.RequireArchitecture({classifier, whole});
  if (s.root != whole) {
    s.labels = config.Labels();
  } else if (family.pooled) {
    s.pooled = config.Size("pooler_output_size", s.encoder.hidden);
    s.pooler = ReadActivation(config, "pooler_act", "tanh");
  }
  return s;
}

absl::StatusOr<std::string> BuildVitFamily(const Config& config, const VitFamily& family) {
  const VitShape s = ReadVit(config, family);
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(s.root, dtype, config.notes().save);
  const Tensor pixels = PixelValues(&b, s.image);
  const int64_t h = s.encoder.hidden;
  Tensor x;
  {
    std::optional<Scope> model;
    const std::string type = absl::StrCat(family.prefix, "Model");
    if (s.labels > 0) model.emplace(&b, family.module, type);
    x = BuildVitBody(&b, pixels, s, family);
  }
  const int64_t tokens = s.image.Patches() + family.tokens;
  if (s.labels == 0 && s.pooled == 0) {
    b.Output("last_hidden_state", x, dtype, {"batch", tokens, h});
    return std::move(b).Finish();
  }
  const Tensor first = family.tokens > 0
                           ? TakeToken(&b, x, 0)
                           : b.Op("ReduceMean", {x, b.Ints({1})}, {{"keepdims", int64_t{0}}});
  if (s.pooled > 0) {
    const Scope pooler(&b, "pooler", absl::StrCat(family.prefix, "Pooler"));
    const Tensor pooled = Activate(&b, Linear(&b, first, "dense", h, s.pooled, true), s.pooler);
    b.Output("last_hidden_state", x, dtype, {"batch", tokens, h});
    b.Output("pooler_output", pooled, dtype, {"batch", s.pooled});
    return std::move(b).Finish();
  }
  Tensor logits;
  if (s.root == "DeiTForImageClassificationWithTeacher") {
    const Tensor both =
        Add(&b, Linear(&b, first, "cls_classifier", h, s.labels, true),
            Linear(&b, TakeToken(&b, x, 1), "distillation_classifier", h, s.labels, true));
    logits = both;
  } else {
    logits = Linear(&b, first, "classifier", h, s.labels, true);
  }
  b.Output("logits", logits, dtype, {"batch", s.labels});
  return std::move(b).Finish();
}

}  // namespace

absl::StatusOr<std::string> BuildVit(const Config& config) { return BuildVitFamily(config, kVit); }
absl::StatusOr<std::string> BuildDeit(const Config& config) {
  return BuildVitFamily(config, kDeit);
}

absl::StatusOr<std::string> BuildVitMsn(const Config& config) {
  return BuildVitFamily(config, kVitMsn);
}
absl::StatusOr<std::string> BuildIjepa(const Config& config) {
  return BuildVitFamily(config, kIjepa);
}

}  // namespace onnxflops::family
