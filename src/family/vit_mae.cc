// ViT-MAE: a ViT over a part of an image's patches, and a decoder that makes the others of them.
//
// How it works. The patches that stay are those of the smallest numbers of `noise`, which the class
// draws unless it is given. Both parts have ViT's layers; the list of the decoder's has another
// name. The decoder puts one learned token in each place that is missing. For training the class
// compares the patches that it makes with the image in each run, so the loss is a part of the
// graph.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"
#include "src/family/clip.h"

namespace onnxflops::family {
namespace {

struct VitMaeShape {
  EncoderShape encoder, decoder;
  ImageShape image;
  int64_t kept = 1;     // patches
  bool normed = false;  // the loss is of normed patches
  int64_t Pixels() const { return image.patch * image.patch * image.channels; }
};

VitMaeShape ReadVitMae(const Config& config) {
  VitMaeShape s;
  s.encoder = ReadEncoder(config, 768, 12, 12, 3072, "gelu");
  s.encoder.qkv_bias = config.Flag("qkv_bias", true);
  s.image = ReadImage(config, 224, 16);
  const double ratio = config.NotNegative("mask_ratio", 0.75);
  const double kept = static_cast<double>(s.image.Patches()) * (1 - ratio);
  if (kept < 1) config.Fault("mask_ratio", "leaves no patch");
  s.kept = kept < 1 ? 1 : static_cast<int64_t>(kept);
  config.RequireDivisible("hidden_size", s.encoder.hidden, "4", 4);
  return s;
}

void ReadVitMaeDecoder(const Config& config, VitMaeShape* s) {
  EncoderShape& d = s->decoder;
  d.hidden = config.Size("decoder_hidden_size", 512);
  d.heads = config.Size("decoder_num_attention_heads", 16);
  d.layers = config.Layers("decoder_num_hidden_layers", 8);
  d.intermediate = config.Size("decoder_intermediate_size", 2048);
  d.activation = s->encoder.activation;
  d.qkv_bias = s->encoder.qkv_bias;
  s->normed = config.Flag("norm_pix_loss", false);
  config.RequireDivisible("decoder_hidden_size", d.hidden, "decoder_num_attention_heads", d.heads);
  config.RequireDivisible("decoder_hidden_size", d.hidden, "4", 4);
  config.RequireDivisible("image_size", s->image.size, "patch_size", s->image.patch);
}

class VitMaeBuilder {
 public:
  VitMaeBuilder(GraphBuilder* b, const VitMaeShape& shape) : b_(b), s_(shape) {}

  // The class token and the patches that stay.
  Tensor Encode(const Tensor& pixels) {
    const int64_t h = s_.encoder.hidden;
    Tensor x = Embed(pixels);
    for (int64_t i = 0; i < s_.encoder.layers; ++i) {
      x = Layer(x, absl::StrCat("layers.", i), s_.encoder);
    }
    return LayerNorm(b_, x, "layernorm", h);
  }

  // The pixels of each patch.
  Tensor Decode(Tensor x) {
    const Scope decoder(b_, "decoder", "ViTMAEDecoder");
    const int64_t w = s_.decoder.hidden, n = s_.image.Patches();
    x = Linear(b_, x, "decoder_embed", s_.encoder.hidden, w, true);
    const std::vector<Tensor> parts = Split(b_, x, {1, s_.kept}, 1);
    const Tensor token = b_->Weight("mask_token", {1, 1, w});
    Tensor patches = parts[1];
    if (n > s_.kept) {
      patches = Concat(b_, {patches, RepeatForBatch(b_, token, x, {n - s_.kept, w})}, 1);
    }
    patches = Take(patches, Sorted(order_, n));
    x = Concat(b_, {parts[0], patches}, 1);
    x = Add(b_, x, b_->Weight("decoder_pos_embed", {1, n + 1, w}));
    for (int64_t i = 0; i < s_.decoder.layers; ++i) {
      x = Layer(x, absl::StrCat("decoder_layers.", i), s_.decoder);
    }
    x = LayerNorm(b_, x, "decoder_norm", w);
    x = Linear(b_, x, "decoder_pred", w, s_.Pixels(), true);
    return b_->Op("Slice", {x, b_->Ints({1}), b_->Ints({kMaxConfigSize}), b_->Ints({1})});
  }

  Tensor Loss(const Tensor& pixels, const Tensor& made) {
    const int64_t side = s_.image.size / s_.image.patch, p = s_.image.patch;
    Tensor target = Reshape(b_, pixels, {0, s_.image.channels, side, p, side, p});
    target = Reshape(b_, Transpose(b_, target, {0, 2, 4, 3, 5, 1}), {0, -1, s_.Pixels()});
    const auto mean = [&](const Tensor& x, int64_t keep) {
      return b_->Op("ReduceMean", {x, b_->Ints({-1})}, {{"keepdims", keep}});
    };
    const auto square = [&](const Tensor& x) { return Mul(b_, x, x); };
    if (s_.normed) {
      constexpr double kEpsilon = 1e-6;
      const Tensor apart = b_->Op("Sub", {target, mean(target, 1)});
      const Tensor variance = Add(b_, mean(square(apart), 1), Factor(b_, kEpsilon));
      target = b_->Op("Div", {apart, b_->Op("Sqrt", {variance})});
    }
    const Tensor loss = mean(square(b_->Op("Sub", {made, target})), 0);
    const auto sum = [&](const Tensor& x) {
      return b_->Op("ReduceSum", {x}, {{"keepdims", int64_t{0}}});
    };
    return b_->Op("Div", {sum(Mul(b_, loss, mask_)), sum(mask_)});
  }

 private:
  // Where the smallest of each row are: [batch, count].
  Tensor Sorted(const Tensor& x, int64_t count) {
    return b_->Ops("TopK", {x, b_->Ints({count})}, {"", ""}, {{"largest", int64_t{0}}})[1];
  }

  Tensor Take(const Tensor& x, const Tensor& at) {
    return b_->Op("GatherND", {x, b_->Op("Unsqueeze", {at, b_->Ints({2})})},
                  {{"batch_dims", int64_t{1}}});
  }

  Tensor Embed(const Tensor& pixels) {
    const Scope embeddings(b_, "embeddings", "ViTMAEEmbeddings");
    const int64_t h = s_.encoder.hidden, n = s_.image.Patches();
    Tensor x;
    {
      const Scope patches(b_, "patch_embeddings", "ViTMAEPatchEmbeddings");
      x = PatchEmbedding(b_, pixels, s_.image, h, "projection", true);
    }
    const std::vector<Tensor> places =
        Split(b_, b_->Weight("position_embeddings", {1, n + 1, h}), {1, n}, 1);
    x = Add(b_, x, places[1]);
    order_ = Sorted(b_->Input("noise", b_->dtype(), {"batch", n}), n);
    const auto part = [&](const Tensor& of, int64_t from, int64_t to) {
      return b_->Op("Slice", {of, b_->Ints({from}), b_->Ints({to}), b_->Ints({1})});
    };
    x = Take(x, part(order_, 0, s_.kept));
    // Whether a patch is left out, in the order of the image.
    const Tensor places_of = Sorted(order_, n);
    const Tensor out = b_->Op("GreaterOrEqual", {places_of, b_->Scalar(s_.kept)});
    mask_ = b_->Op("Cast", {out}, {{"to", static_cast<int64_t>(b_->dtype())}});
    const Tensor first = Add(b_, b_->Weight("cls_token", {1, 1, h}), places[0]);
    return Concat(b_, {RepeatForBatch(b_, first, x, {1, h}), x}, 1);
  }

  Tensor Layer(Tensor x, const std::string& name, const EncoderShape& e) {
    const Scope layer(b_, name, "ViTMAELayer");
    const int64_t h = e.hidden;
    Tensor y = LayerNorm(b_, x, "layernorm_before", h);
    {
      const Scope attention(b_, "attention", "ViTMAEAttention");
      const Tensor q = Linear(b_, y, "q_proj", h, h, e.qkv_bias);
      const Tensor k = Linear(b_, y, "k_proj", h, h, e.qkv_bias);
      const Tensor v = Linear(b_, y, "v_proj", h, h, e.qkv_bias);
      y = Attention(b_, q, k, v, {e.heads, e.heads, h / e.heads});
      y = Linear(b_, y, "o_proj", h, h, true);
    }
    x = Add(b_, y, x);
    y = LayerNorm(b_, x, "layernorm_after", h);
    const Scope mlp(b_, "mlp", "ViTMAEMLP");
    return Add(b_, Mlp(b_, y, h, e.intermediate, e.activation), x);
  }

  GraphBuilder* b_;
  const VitMaeShape& s_;
  Tensor order_, mask_;  // of the patches
};

}  // namespace

absl::StatusOr<std::string> BuildVitMae(const Config& config) {
  VitMaeShape s = ReadVitMae(config);
  const std::string root = config.RequireArchitecture({"ViTMAEForPreTraining", "ViTMAEModel"});
  const bool whole = root == "ViTMAEModel";
  if (!whole) ReadVitMaeDecoder(config, &s);
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = PixelValues(&b, s.image);
  VitMaeBuilder builder(&b, s);
  Tensor x;
  {
    std::optional<Scope> model;
    if (!whole) model.emplace(&b, "vit", "ViTMAEModel");
    x = builder.Encode(pixels);
  }
  if (whole) {
    b.Output("last_hidden_state", x, dtype, {"batch", s.kept + 1, s.encoder.hidden});
    return std::move(b).Finish();
  }
  const Tensor made = builder.Decode(x);
  b.Output("loss", builder.Loss(pixels, made), dtype, {});
  b.Output("logits", made, dtype, {"batch", s.image.Patches(), s.Pixels()});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
