// Hiera: a ViT whose tokens become fewer and wider from stage to stage.
//
// How it works. Patches are put in an order in which those that will be one are as far apart as
// there are new ones. So a stage begins with a maximum over the first axis, of queries and of what
// goes around. First stages attend within units of the image. The sizes of units follow from the
// image, which is fixed by image_size.
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

struct HieraShape {
  int64_t channels = 3, pools = 3;
  Sides image, patch, stride, padding, pool, unit, tokens;
  std::vector<int64_t> depths, heads, widths, inner;
  std::vector<bool> units;  // stages that attend within units
  std::string activation;
  int64_t Pool() const { return pool.height * pool.width; }
  int64_t Tokens() const { return tokens.height * tokens.width; }
  bool Pools(size_t stage) const { return stage > 0 && static_cast<int64_t>(stage) <= pools; }
};

// Tokens of a unit at a stage.
int64_t UnitOf(const HieraShape& s, size_t stage) {
  const auto area = static_cast<double>(s.unit.height * s.unit.width);
  return static_cast<int64_t>(area * std::pow(static_cast<double>(s.Pool()), -1.0 * stage));
}

Sides ReadPair(const Config& config, const char* key, int64_t otherwise, bool may_be_0 = false) {
  std::vector<int64_t> pair = may_be_0 ? config.Indices(key, {otherwise, otherwise})
                                       : config.SizesOr(key, {otherwise, otherwise});
  for (const int64_t size : pair) {
    if (size > kMaxPatchSize) config.Fault(key, "is too large");
  }
  if (pair.size() != 2) {
    config.Fault(key, "should be height and width");
    pair = {1, 1};
  }
  return {pair.front(), pair.back()};
}

void CheckHieraTokens(const Config& config, const HieraShape& s) {
  const auto outputs = [](int64_t size, int64_t patch, int64_t stride, int64_t padding) {
    return size + 2 * padding < patch ? 0 : (size + 2 * padding - patch) / stride + 1;
  };
  if (outputs(s.image.height, s.patch.height, s.stride.height, s.padding.height) !=
          s.tokens.height ||
      outputs(s.image.width, s.patch.width, s.stride.width, s.padding.width) != s.tokens.width ||
      s.Tokens() < 1) {
    config.Fault("patch_padding", "makes not as many patches as image_size / patch_stride");
  }
  Sides left = s.tokens;
  for (size_t i = 1; i < s.depths.size(); ++i) {
    if (left.height % s.pool.height != 0 || left.width % s.pool.width != 0) {
      config.Fault("query_stride", "does not divide the patches of a stage");
    }
    left = {left.height / s.pool.height, left.width / s.pool.width};
  }
}

void CheckHieraStages(const Config& config, const HieraShape& s) {
  int64_t tokens = s.Tokens();
  for (size_t i = 0; i < s.depths.size(); ++i) {
    const bool within = s.units[i] || (s.units[i > 0 ? i - 1 : 0]);
    const int64_t unit = UnitOf(s, i), first = s.Pools(i) ? unit * s.Pool() : unit;
    if (within && (unit < 1 || tokens % first != 0)) {
      return config.Fault("masked_unit_size", "does not divide the patches of a stage");
    }
    if (s.Pools(i) && tokens % s.Pool() != 0) {
      return config.Fault("query_stride", "does not divide the patches of a stage");
    }
    if (s.Pools(i) && s.widths[i] == s.widths[i - 1]) {
      return config.Fault("embed_dim_multiplier", "makes no wider tokens of fewer");
    }
    if (s.Pools(i)) tokens /= s.Pool();
    if (s.units[i] && tokens % unit != 0) {
      return config.Fault("masked_unit_size", "does not divide the patches of a stage");
    }
    config.RequireDivisible("embed_dim", s.widths[i], "num_heads", s.heads[i]);
  }
}

void ReadHieraWidths(const Config& config, HieraShape* s) {
  const auto embed = static_cast<double>(config.Size("embed_dim", 96));
  const double wider = config.Real("embed_dim_multiplier", 2), ratio = config.Real("mlp_ratio", 4);
  for (size_t i = 0; i < s->depths.size(); ++i) {
    double width = embed * std::pow(wider, static_cast<double>(i));
    if (width < 1 || width > static_cast<double>(kMaxConfigSize)) {
      config.Fault("embed_dim_multiplier", "makes tokens of no width");
      width = 1;
    }
    s->widths.push_back(static_cast<int64_t>(width));
    double inner = static_cast<double>(s->widths.back()) * ratio;
    if (inner < 1 || inner > static_cast<double>(kMaxConfigSize)) {
      config.Fault("mlp_ratio", "makes an MLP of no size");
      inner = 1;
    }
    s->inner.push_back(static_cast<int64_t>(inner));
  }
}

HieraShape ReadHiera(const Config& config) {
  HieraShape s;
  s.channels = config.Size("num_channels", 3);
  s.image = ReadSides(config, 224);
  s.patch = ReadPair(config, "patch_size", 7);
  s.stride = ReadPair(config, "patch_stride", 4);
  s.padding = ReadPair(config, "patch_padding", 3, /*may_be_0=*/true);
  s.pool = ReadPair(config, "query_stride", 2);
  s.unit = ReadPair(config, "masked_unit_size", 8);
  s.tokens = {s.image.height / s.stride.height, s.image.width / s.stride.width};
  s.depths = ReadDepths(config, "depths", {2, 3, 16, 3});
  const size_t n = s.depths.size();
  s.heads = ReadStages(config, "num_heads", {1, 2, 4, 8}, n);
  s.units = config.Flags("masked_unit_attention", {true, true, false, false});
  if (s.units.size() != n) {
    config.Fault("masked_unit_attention", absl::StrCat("should be ", n, " entries"));
    s.units.resize(n, false);
  }
  s.pools = config.Integer("num_query_pool", 3, 0);
  if (s.pools >= static_cast<int64_t>(n)) {
    config.Fault("num_query_pool", absl::StrCat("is ", s.pools, " of ", n, " stages"));
  }
  s.activation = ReadActivation(config, "hidden_act", "gelu");
  ReadHieraWidths(config, &s);
  CheckHieraTokens(config, s);
  CheckHieraStages(config, s);
  return s;
}

class HieraBuilder {
 public:
  HieraBuilder(GraphBuilder* b, const HieraShape& shape) : b_(b), s_(shape) {}

  // [batch, tokens, width] of the last stage.
  Tensor Build(const Tensor& pixels) {
    Tensor x = Unrolled(Embed(pixels));
    tokens_ = s_.Tokens();
    const Scope encoder(b_, "encoder", "HieraEncoder");
    for (size_t i = 0; i < s_.depths.size(); ++i) {
      const Scope stage(b_, absl::StrCat("stages.", i), "HieraStage");
      const bool before = s_.units[i > 0 ? i - 1 : 0];
      for (int64_t k = 0; k < s_.depths[i]; ++k) {
        const Scope layer(b_, absl::StrCat("layers.", k), "HieraLayer");
        const int64_t in = k == 0 && i > 0 ? s_.widths[i - 1] : s_.widths[i];
        const int64_t pool = k == 0 && s_.Pools(i) ? s_.Pool() : 1;
        const bool within = s_.units[i] || (before && k == 0);
        x = Layer(x, i, in, pool, within ? UnitOf(s_, i) * pool : tokens_);
      }
    }
    return x;
  }

  Tensor Pooled(const Tensor& x) {
    const Scope scope(b_, "pooler", "HieraPooler");
    Tensor mean;
    {
      const Scope pooler(b_, "pooler", "AdaptiveAvgPool1d");
      mean = b_->Op("ReduceMean", {x, b_->Ints({1})}, {{"keepdims", int64_t{0}}});
    }
    return LayerNorm(b_, mean, "layernorm", s_.widths.back());
  }

  int64_t tokens() const { return tokens_; }

 private:
  Tensor Embed(const Tensor& pixels) {
    const Scope embeddings(b_, "embeddings", "HieraEmbeddings");
    const int64_t w = s_.widths[0];
    Tensor x;
    {
      const Scope patches(b_, "patch_embeddings", "HieraPatchEmbeddings");
      x = ProjectPatches(b_, pixels, s_.channels, w, {s_.patch, s_.stride, s_.padding});
    }
    x = PlacesOfImage(b_, x, w);
    return Add(b_, x, b_->Weight("position_embeddings", {1, s_.Tokens(), w}));
  }

  Tensor Unrolled(Tensor x) {
    const int64_t w = s_.widths[0];
    Sides left = s_.tokens;
    x = Reshape(b_, x, {-1, left.height, left.width, w});
    for (size_t i = 1; i < s_.depths.size(); ++i) {
      left = {left.height / s_.pool.height, left.width / s_.pool.width};
      x = Reshape(b_, x, {-1, left.height, s_.pool.height, left.width, s_.pool.width, w});
      x = Transpose(b_, x, {0, 2, 4, 1, 3, 5});
      x = Reshape(b_, x, {-1, left.height, left.width, w});
    }
    return Reshape(b_, x, {-1, s_.Tokens(), w});
  }

  Tensor Largest(const Tensor& x, int64_t axis) {
    return b_->Op("ReduceMax", {x, b_->Ints({axis})}, {{"keepdims", int64_t{0}}});
  }

  // `unit`: tokens that attend to each other, before those of `pool` become one.
  Tensor Layer(const Tensor& x, size_t stage, int64_t in, int64_t pool, int64_t unit) {
    const int64_t w = s_.widths[stage];
    const Tensor normed = LayerNorm(b_, x, "layernorm_before", in);
    Tensor around = x;
    if (in != w) {
      around = Linear(b_, normed, "proj", in, w, true);
      around = Largest(Reshape(b_, around, {0, pool, -1, w}), 1);
    }
    const Tensor sum = Add(b_, around, Attend(normed, stage, in, pool, unit));
    tokens_ /= pool;
    const Tensor y = LayerNorm(b_, sum, "layernorm_after", w);
    const Scope mlp(b_, "mlp", "HieraMlp");
    return Add(b_, sum, Mlp(b_, y, w, s_.inner[stage], s_.activation));
  }

  Tensor Attend(const Tensor& x, size_t stage, int64_t in, int64_t pool, int64_t unit) {
    const Scope attention(b_, "attn", "HieraMaskUnitAttention");
    const int64_t w = s_.widths[stage], heads = s_.heads[stage], dim = w / heads;
    const int64_t units = tokens_ / unit;
    std::vector<Tensor> qkv = Split(b_, Linear(b_, x, "qkv", in, 3 * w, true), {w, w, w}, -1);
    for (Tensor& part : qkv) {
      part = Transpose(b_, Reshape(b_, part, {-1, unit, units, heads, dim}), {0, 2, 3, 1, 4});
      part = Reshape(b_, part, {-1, heads, unit, dim});
    }
    if (pool > 1) qkv[0] = Largest(Reshape(b_, qkv[0], {-1, heads, pool, unit / pool, dim}), 2);
    Tensor y = b_->Op("Attention", qkv);
    y = Reshape(b_, y, {-1, units, heads, unit / pool, dim});
    y = Reshape(b_, Transpose(b_, y, {0, 3, 1, 2, 4}), {-1, tokens_ / pool, w});
    return Linear(b_, y, "proj", w, w, true);
  }

  GraphBuilder* b_;
  const HieraShape& s_;
  int64_t tokens_ = 0;  // of the current stage
};

}  // namespace

absl::StatusOr<std::string> BuildHiera(const Config& config) {
  const HieraShape s = ReadHiera(config);
  const std::string root =
      config.RequireArchitecture({"HieraForImageClassification", "HieraModel"});
  const int64_t labels = root == "HieraModel" ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels =
      b.Input("pixel_values", dtype, {"batch", s.channels, s.image.height, s.image.width});
  const int64_t width = s.widths.back();
  HieraBuilder builder(&b, s);
  Tensor x, pooled;
  {
    std::optional<Scope> model;
    if (labels > 0) model.emplace(&b, "hiera", "HieraModel");
    x = builder.Build(pixels);
    pooled = builder.Pooled(x);
  }
  if (labels > 0) {
    b.Output("logits", Linear(&b, pooled, "classifier", width, labels, true), dtype,
             {"batch", labels});
  } else {
    b.Output("last_hidden_state", x, dtype, {"batch", builder.tokens(), width});
    b.Output("pooler_output", pooled, dtype, {"batch", width});
  }
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
