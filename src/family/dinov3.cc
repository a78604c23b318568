// DINOv3's ViT: patches that turn with their place in the image, after a class token and registers
// that do not.
//
// How it works. Rows and columns run from -1 to 1, whatever the size of the image, so both sides
// are open. Half of a head turns with the row, half with the column.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

struct Dinov3Shape {
  int64_t hidden, inner, layers, heads, channels, patch, registers;
  bool query_bias, key_bias, value_bias, out_bias, mlp_bias, gated;
  std::string activation;
  Sides sides;
};

Dinov3Shape ReadDinov3(const Config& config) {
  Dinov3Shape s;
  s.hidden = config.Size("hidden_size", 384);
  s.inner = config.Size("intermediate_size", 1536);
  s.layers = config.Layers("num_hidden_layers", 12);
  s.heads = config.Size("num_attention_heads", 6);
  s.activation = ReadActivation(config, "hidden_act", "gelu");
  s.channels = config.Size("num_channels", 3);
  s.patch = config.Size("patch_size", 16);
  s.sides = ReadSides(config, 224);
  s.registers = config.Integer("num_register_tokens", 0, 0);
  s.query_bias = config.Flag("query_bias", true);
  s.key_bias = config.Flag("key_bias", false);
  s.value_bias = config.Flag("value_bias", true);
  s.out_bias = config.Flag("proj_bias", true);
  s.mlp_bias = config.Flag("mlp_bias", true);
  s.gated = config.Flag("use_gated_mlp", false);
  config.RequireDivisible("hidden_size", s.hidden, "num_attention_heads", s.heads);
  if (s.hidden / s.heads % 4 != 0) {
    config.Fault("num_attention_heads", "gives heads whose features are no multiple of 4");
  }
  return s;
}

class Dinov3Builder {
 public:
  Dinov3Builder(GraphBuilder* b, const Dinov3Shape& shape) : b_(b), s_(shape) {}

  Tensor Build(const Tensor& pixels) {
    Tensor x = Embed(pixels);
    angles_ = Angles(x);
    const Scope encoder(b_, "model", "DINOv3ViTEncoder");
    for (int64_t i = 0; i < s_.layers; ++i) {
      const Scope layer(b_, absl::StrCat("layer.", i), "DINOv3ViTLayer");
      x = Layer(x);
    }
    return x;
  }

 private:
  int64_t Prefix() const { return 1 + s_.registers; }

  Tensor Embed(const Tensor& pixels) {
    const Scope embeddings(b_, "embeddings", "DINOv3ViTEmbeddings");
    const int64_t h = s_.hidden;
    Tensor x = Conv2d(b_, pixels, "patch_embeddings", {s_.channels, h, s_.patch, s_.patch, true});
    rows_ = SizeOf(b_, x, 2);
    columns_ = SizeOf(b_, x, 3);
    x = PlacesOfImage(b_, x, h);
    b_->Weight("mask_token", {1, 1, h});  // for training; no node reads it
    std::vector<Tensor> parts = {RepeatForBatch(b_, b_->Weight("cls_token", {1, 1, h}), x, {1, h})};
    if (s_.registers > 0) {
      const Tensor registers = b_->Weight("register_tokens", {1, s_.registers, h});
      parts.push_back(RepeatForBatch(b_, registers, x, {s_.registers, h}));
    }
    parts.push_back(x);
    return Concat(b_, parts, 1);
  }

  // The middle of each row or column, from -1 to 1: [n].
  Tensor Middles(const Tensor& count) {
    const Attrs to_float = {{"to", static_cast<int64_t>(DType::kFloat32)}};
    const Tensor n = b_->Op("Squeeze", {count});
    const Tensor range = b_->Op("Range", {b_->Scalar(0), n, b_->Scalar(1)});
    Tensor x = Add(b_, b_->Op("Cast", {range}, to_float), b_->Floats({0.5F}));
    x = b_->Op("Div", {x, b_->Op("Cast", {n}, to_float)});
    return b_->Op("Sub", {Mul(b_, x, b_->Floats({2})), b_->Floats({1})});
  }

  Rotation Angles(const Tensor& like) {
    const Scope scope(b_, "rope_embeddings", "DINOv3ViTRopePositionEmbedding");
    const int64_t dim = s_.hidden / s_.heads;
    const Tensor shape = Concat(b_, {rows_, columns_, b_->Ints({1})}, 0);
    std::vector<Tensor> places;
    for (const auto& [size, axis] : {std::pair(rows_, int64_t{1}), {columns_, int64_t{0}}}) {
      const Tensor line = b_->Op("Unsqueeze", {Middles(size), b_->Ints({axis, 2})});
      places.push_back(Reshape(b_, b_->Op("Expand", {line, shape}), {-1, 1}));
    }
    constexpr float kTurn = 6.2831853F;
    const Tensor turns = Mul(b_, b_->Floats({kTurn}), Concat(b_, places, 1));
    Tensor angles = Mul(b_, b_->Op("Unsqueeze", {turns, b_->Ints({-1})}), b_->Table(dim / 4));
    angles = Reshape(b_, angles, {-1, dim / 2});
    const auto turned = [&](const char* function) {
      Tensor y = b_->Op(function, {angles});
      if (b_->dtype() != DType::kFloat32) {
        y = b_->Op("Cast", {y}, {{"to", static_cast<int64_t>(b_->dtype())}});
      }
      const Tensor patches = SizeOf(b_, y, 0), width = b_->Ints({dim / 2});
      return b_->Op("Expand", {y, Concat(b_, {SizeOf(b_, like, 0), patches, width}, 0)});
    };
    return {turned("Cos"), turned("Sin")};
  }

  // The class token and the registers have no place in the image and stay.
  Tensor Turned(const Tensor& x) {
    const auto part = [&](const Tensor& from, const Tensor& to) {
      return b_->Op("Slice", {x, from, to, b_->Ints({1})});
    };
    const Tensor prefix = b_->Ints({Prefix()});
    const Tensor patches = part(prefix, SizeOf(b_, x, 1));
    const Tensor turned = Rotate(b_, patches, angles_, s_.heads, s_.hidden / s_.heads);
    return Concat(b_, {part(b_->Ints({0}), prefix), turned}, 1);
  }

  Tensor Scaled(const Tensor& x, const char* name) {
    const Scope scale(b_, name, "DINOv3ViTLayerScale");
    return Mul(b_, x, b_->Weight("lambda1", {s_.hidden}));
  }

  Tensor Layer(Tensor x) {
    const int64_t h = s_.hidden;
    Tensor y = LayerNorm(b_, x, "norm1", h);
    {
      const Scope attention(b_, "attention", "DINOv3ViTAttention");
      const Tensor q = Turned(Linear(b_, y, "q_proj", h, h, s_.query_bias));
      const Tensor k = Turned(Linear(b_, y, "k_proj", h, h, s_.key_bias));
      const Tensor v = Linear(b_, y, "v_proj", h, h, s_.value_bias);
      y = Attention(b_, q, k, v, {s_.heads, s_.heads, h / s_.heads});
      y = Linear(b_, y, "o_proj", h, h, s_.out_bias);
    }
    x = Add(b_, Scaled(y, "layer_scale1"), x);
    y = LayerNorm(b_, x, "norm2", h);
    {
      const Scope mlp(b_, "mlp", s_.gated ? "DINOv3ViTGatedMLP" : "DINOv3ViTMLP");
      const char* const first = s_.gated ? "gate_proj" : "up_proj";
      Tensor z = Activate(b_, Linear(b_, y, first, h, s_.inner, s_.mlp_bias), s_.activation);
      if (s_.gated) z = Mul(b_, z, Linear(b_, y, "up_proj", h, s_.inner, s_.mlp_bias));
      y = Linear(b_, z, "down_proj", s_.inner, h, s_.mlp_bias);
    }
    return Add(b_, Scaled(y, "layer_scale2"), x);
  }

  GraphBuilder* b_;
  const Dinov3Shape& s_;
  Tensor rows_, columns_;  // of patches
  Rotation angles_;
};

}  // namespace

absl::StatusOr<std::string> BuildDinov3Vit(const Config& config) {
  const Dinov3Shape s = ReadDinov3(config);
  const std::string root = config.RequireArchitecture({"DINOv3ViTModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  Tensor x = Dinov3Builder(&b, s).Build(OpenPixels(&b, s.channels, s.sides));
  x = LayerNorm(&b, x, "norm", s.hidden);
  const std::string tokens =
      absl::StrCat("(height // ", s.patch, ") * (width // ", s.patch, ") + ", 1 + s.registers);
  b.Output("last_hidden_state", x, dtype, {"batch", tokens, s.hidden});
  b.Output("pooler_output", TakeToken(&b, x, 0), dtype, {"batch", s.hidden});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
