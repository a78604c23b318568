// Swin and Swin V2: attention within square windows of an image, which every other layer shifts.
//
// How it works. The sizes of windows and their padding follow from the size of the image, so it is
// fixed by image_size. Each pair of places in a window has a bias by their distance. Swin has a
// table of biases. Swin V2 has an MLP that makes the table, compares queries and keys by their
// angle, and normalizes what a part gives in place of what it takes. A shifted layer rolls the
// image, so that windows at the edge have parts that are no neighbours: a mask keeps them apart.
// Between stages, four neighbours become one place.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

struct SwinShape {
  bool second = false;  // Swin V2
  const char* prefix = "Swin";
  int64_t channels = 3, patch = 4, embed = 96, window = 7, labels = 0, stride = 0;
  std::vector<int64_t> depths, heads;
  double mlp_ratio = 4;
  bool bias = true, absolute = false;
  std::string activation;
  Sides image;  // pixels
  Sides Grid() const {
    return {(image.height + patch - 1) / patch, (image.width + patch - 1) / patch};
  }
  int64_t Width(size_t stage) const { return embed << stage; }
  int64_t Inner(size_t stage) const {
    return static_cast<int64_t>(mlp_ratio * static_cast<double>(Width(stage)));
  }
};

Sides Halved(const Sides& sides) { return {(sides.height + 1) / 2, (sides.width + 1) / 2}; }

// Windows of a layer: Swin V2 makes them as small as the image that its configuration has at a
// stage, by its height.
int64_t WindowOf(const SwinShape& s, size_t stage) {
  return s.second ? std::min(s.window, (s.image.height / s.patch) >> stage) : s.window;
}

void CheckWindows(const Config& config, const SwinShape& s) {
  if (s.window > kMaxPatchSize) return config.Fault("window_size", "is too large");
  Sides sides = s.Grid();
  for (size_t i = 0; i < s.depths.size(); ++i, sides = Halved(sides)) {
    const int64_t window = WindowOf(s, i);
    if (window < 1 || (!s.second && window > std::min(sides.height, sides.width))) {
      config.Fault("window_size", absl::StrCat("is ", s.window, ", and stage ", i + 1, " has ",
                                               sides.height, " x ", sides.width, " places"));
    }
    config.RequireDivisible("embed_dim", s.Width(i), "num_heads", s.heads[i]);
    const double inner = s.mlp_ratio * static_cast<double>(s.Width(i));
    if (inner < 1 || inner > static_cast<double>(kMaxConfigSize)) {
      config.Fault("mlp_ratio", "makes an MLP of no size");
    }
  }
}

SwinShape ReadSwin(const Config& config, bool second) {
  SwinShape s;
  s.second = second;
  s.prefix = second ? "Swinv2" : "Swin";
  s.channels = config.Size("num_channels", 3);
  s.patch = config.Size("patch_size", 4);
  s.image = ReadSides(config, 224);
  s.embed = config.Size("embed_dim", 96);
  s.depths = ReadDepths(config, "depths", {2, 2, 6, 2});
  s.heads = ReadStages(config, "num_heads", {3, 6, 12, 24}, s.depths.size());
  s.window = config.Size("window_size", 7);
  s.mlp_ratio = config.Real("mlp_ratio", 4);
  s.bias = config.Flag("qkv_bias", true);
  s.activation = ReadActivation(config, "hidden_act", "gelu");
  s.absolute = config.Flag("use_absolute_embeddings", false);
  if (s.absolute && second) {
    config.Fault("use_absolute_embeddings", "is true, and has a place that no image has");
  } else if (s.absolute) {
    config.RequireDivisible("image_size", s.image.height, "patch_size", s.patch);
    config.RequireDivisible("image_size", s.image.width, "patch_size", s.patch);
  }
  CheckWindows(config, s);
  return s;
}

class SwinBuilder {
 public:
  SwinBuilder(GraphBuilder* b, const SwinShape& shape) : b_(b), s_(shape) {}

  // [batch, places, width], after the last norm.
  Tensor Build(const Tensor& pixels, bool masked) {
    Tensor x = Embed(pixels, masked);
    {
      const Scope encoder(b_, "encoder", Type("Encoder"));
      for (size_t i = 0; i < s_.depths.size(); ++i) {
        const Scope stage(b_, absl::StrCat("layers.", i), Type("Stage"));
        for (int64_t k = 0; k < s_.depths[i]; ++k) {
          const Scope block(b_, absl::StrCat("blocks.", k), Type("Layer"));
          x = Layer(x, i, k % 2 == 1 ? s_.window / 2 : 0);
        }
        if (i + 1 < s_.depths.size()) x = Merge(x, i);
      }
    }
    return LayerNorm(b_, x, "layernorm", s_.Width(s_.depths.size() - 1));
  }

  const Sides& sides() const { return sides_; }

 private:
  std::string Type(const char* what) const { return absl::StrCat(s_.prefix, what); }

  Tensor Embed(const Tensor& pixels, bool masked) {
    const Scope embeddings(b_, "embeddings", Type("Embeddings"));
    const int64_t w = s_.embed, p = s_.patch;
    sides_ = s_.Grid();
    Tensor x = pixels;
    {
      const Scope patches(b_, "patch_embeddings", Type("PatchEmbeddings"));
      const int64_t bottom = sides_.height * p - s_.image.height;
      const int64_t right = sides_.width * p - s_.image.width;
      if (bottom > 0 || right > 0) {
        x = b_->Op("Pad", {x, b_->Ints({0, 0, 0, 0, 0, 0, bottom, right})});
      }
      x = PlacesOfImage(b_, Conv2d(b_, x, "projection", {s_.channels, w, p, p, true}), w);
    }
    if (masked) b_->Weight("mask_token", {1, 1, w});  // no node reads it without a mask
    x = LayerNorm(b_, x, "norm", w);
    if (!s_.absolute) return x;
    return Add(b_, x, b_->Weight("position_embeddings", {1, sides_.height * sides_.width, w}));
  }

  Tensor Layer(const Tensor& x, size_t stage, int64_t shift) {
    const int64_t w = s_.Width(stage);
    const WindowGrid grid = {sides_, WindowOf(s_, stage)};
    // One window has no neighbours to shift to.
    const bool single = s_.second ? (s_.image.height / s_.patch) >> stage <= grid.window
                                  : std::min(sides_.height, sides_.width) <= grid.window;
    if (single) shift = 0;
    Tensor y = s_.second ? x : LayerNorm(b_, x, "layernorm_before", w);
    y = Reshape(b_, y, {0, sides_.height, sides_.width, w});
    y = IntoWindows(b_, y, grid, w, shift);
    const Tensor mask = shift > 0 ? ShiftMask(grid) : Tensor();
    y = s_.second ? AttendByAngle(y, mask, grid, stage) : Attend(y, mask, grid, stage);
    y = Reshape(b_, FromWindows(b_, y, grid, w, shift), {0, sides_.height * sides_.width, w});
    if (s_.second) y = LayerNorm(b_, y, "layernorm_before", w);
    const Tensor sum = Add(b_, x, y);
    if (s_.second) return Add(b_, sum, LayerNorm(b_, WideMlp(sum, stage), "layernorm_after", w));
    y = LayerNorm(b_, sum, "layernorm_after", w);
    const Scope mlp(b_, "mlp", "SwinMLP");
    return Add(b_, Mlp(b_, y, w, s_.Inner(stage), s_.activation), sum);
  }

  // Swin V2 has a module for each half of its MLP.
  Tensor WideMlp(const Tensor& x, size_t stage) {
    Tensor y;
    {
      const Scope first(b_, "intermediate", "Swinv2Intermediate");
      y = Linear(b_, x, "dense", s_.Width(stage), s_.Inner(stage), true);
      y = Activate(b_, y, s_.activation);
    }
    const Scope second(b_, "output", "Swinv2Output");
    return Linear(b_, y, "dense", s_.Inner(stage), s_.Width(stage), true);
  }

  // -100 for pairs of places that the roll has brought together: [windows, 1, n, n].
  Tensor ShiftMask(const WindowGrid& grid) {
    const int64_t windows = grid.Rows() * grid.Columns(), n = grid.window * grid.window;
    Tensor regions = b_->Table(windows * n);
    if (b_->dtype() != DType::kFloat32) {
      regions = b_->Op("Cast", {regions}, {{"to", static_cast<int64_t>(b_->dtype())}});
    }
    const Tensor distance = b_->Op("Sub", {Reshape(b_, regions, {windows, 1, 1, n}),
                                           Reshape(b_, regions, {windows, 1, n, 1})});
    const Tensor zero = Factor(b_, 0);
    constexpr double kApart = -100;
    return b_->Op("Where", {b_->Op("Equal", {distance, zero}), zero, Factor(b_, kApart)});
  }

  // The same for the windows of each sample: [batch * windows, 1, n, n].
  Tensor ForEachSample(const Tensor& mask, const Tensor& windows, const WindowGrid& grid) {
    const int64_t count = grid.Rows() * grid.Columns(), n = grid.window * grid.window;
    const Tensor batch = b_->Op("Div", {SizeOf(b_, windows, 0), b_->Ints({count})});
    const Tensor shape = Concat(b_, {batch, b_->Ints({count, 1, n, n})}, 0);
    return Reshape(b_, b_->Op("Expand", {mask, shape}), {-1, 1, n, n});
  }

  // Rows of a table by the distance of each pair of places: [1, heads, n, n].
  Tensor BiasOf(const Tensor& table, const WindowGrid& grid) {
    const int64_t n = grid.window * grid.window;
    const Tensor rows = b_->Op("Gather", {table, b_->IndexTable(n * n)});
    return b_->Op("Unsqueeze",
                  {Transpose(b_, Reshape(b_, rows, {n, n, -1}), {2, 0, 1}), b_->Ints({0})});
  }
  static int64_t Distances(const WindowGrid& grid) {
    return (2 * grid.window - 1) * (2 * grid.window - 1);
  }

  Tensor Attend(const Tensor& x, const Tensor& mask, const WindowGrid& grid, size_t stage) {
    const Scope attention(b_, "attention", "SwinAttention");
    const int64_t w = s_.Width(stage), heads = s_.heads[stage];
    const Tensor q = Linear(b_, x, "q_proj", w, w, s_.bias);
    const Tensor k = Linear(b_, x, "k_proj", w, w, s_.bias);
    const Tensor v = Linear(b_, x, "v_proj", w, w, s_.bias);
    Tensor bias;
    {
      const Scope scope(b_, "relative_position_bias", "SwinRelativePositionBias");
      bias = BiasOf(b_->Weight("relative_position_bias_table", {Distances(grid), heads}), grid);
    }
    if (!mask.empty()) bias = Add(b_, bias, ForEachSample(mask, x, grid));
    return Linear(b_, Attention(b_, q, k, v, {heads, heads, w / heads}, bias), "o_proj", w, w,
                  true);
  }

  Tensor AttendByAngle(const Tensor& x, const Tensor& mask, const WindowGrid& grid, size_t stage) {
    const Scope attention(b_, "attention", "Swinv2Attention");
    const int64_t w = s_.Width(stage);
    Tensor y;
    {
      const Scope self(b_, "self", "Swinv2SelfAttention");
      y = SelfAttendByAngle(x, mask, grid, stage);
    }
    const Scope output(b_, "output", "Swinv2SelfOutput");
    return Linear(b_, y, "dense", w, w, true);
  }

  Tensor SelfAttendByAngle(const Tensor& x, const Tensor& mask, const WindowGrid& grid,
                           size_t stage) {
    const int64_t w = s_.Width(stage), heads = s_.heads[stage], n = grid.window * grid.window;
    const auto by_head = [&](const char* name, bool bias) {
      const Tensor y = Reshape(b_, Linear(b_, x, name, w, w, bias), {0, 0, heads, w / heads});
      return Transpose(b_, y, {0, 2, 1, 3});
    };
    const Tensor q = by_head("query", s_.bias), k = by_head("key", false);
    const Tensor v = by_head("value", s_.bias);
    Tensor scores = b_->Op("MatMul", {Directions(q), Transpose(b_, Directions(k), {0, 1, 3, 2})});
    constexpr double kMostScale = 4.6051702;  // the logarithm of 100
    const Tensor scale = b_->Weight("logit_scale", {heads, 1, 1});
    scores = Mul(b_, scores, b_->Op("Exp", {b_->Op("Clip", {scale, "", OneFactor(kMostScale)})}));
    scores = Add(b_, scores, BiasByMlp(grid, heads));
    if (!mask.empty()) {
      const int64_t windows = grid.Rows() * grid.Columns();
      scores = Reshape(b_, scores, {-1, windows, heads, n, n});
      // The reference implementation adds it twice.
      for (int i = 0; i < 2; ++i) scores = Add(b_, scores, mask);
      scores = Reshape(b_, scores, {-1, heads, n, n});
    }
    const Tensor y = b_->Op("MatMul", {b_->Op("Softmax", {scores}), v});
    return Reshape(b_, Transpose(b_, y, {0, 2, 1, 3}), {0, 0, w});
  }

  // A number without dimensions, of the type that the model computes in.
  Tensor OneFactor(double value) { return b_->Op("Squeeze", {Factor(b_, value)}); }

  // Vectors of length 1.
  Tensor Directions(const Tensor& x) {
    constexpr double kLeast = 1e-12;
    const Tensor length = b_->Op("ReduceL2", {x, b_->Ints({-1})}, {{"keepdims", int64_t{1}}});
    return b_->Op("Div", {x, b_->Op("Max", {length, Factor(b_, kLeast)})});
  }

  Tensor BiasByMlp(const WindowGrid& grid, int64_t heads) {
    // The reference implementation keeps them as a buffer. Whole numbers are never a parameter.
    Tensor table = Reshape(b_, b_->IndexTable(2 * Distances(grid)), {-1, 2});
    table = b_->Op("Cast", {table}, {{"to", static_cast<int64_t>(b_->dtype())}});
    {
      const Scope mlp(b_, "continuous_position_bias_mlp", "Sequential");
      constexpr int64_t kInner = 512;
      table = Activate(b_, Linear(b_, table, "0", 2, kInner, true), "relu");
      table = Linear(b_, table, "2", kInner, heads, false);
    }
    constexpr double kMostBias = 16;
    return Mul(b_, b_->Op("Sigmoid", {BiasOf(table, grid)}), Factor(b_, kMostBias));
  }

  // Four neighbours become one place.
  Tensor Merge(const Tensor& x, size_t stage) {
    const Scope downsample(b_, "downsample", Type("PatchMerging"));
    const int64_t w = s_.Width(stage);
    Tensor y = Reshape(b_, x, {0, sides_.height, sides_.width, w});
    y = PadLast(b_, y, sides_.height % 2, sides_.width % 2);
    sides_ = Halved(sides_);
    std::vector<Tensor> parts;
    for (const int64_t column : {0, 1}) {
      for (const int64_t row : {0, 1}) {
        const Tensor ends = b_->Ints({2 * sides_.height, 2 * sides_.width});
        parts.push_back(b_->Op(
            "Slice", {y, b_->Ints({row, column}), ends, b_->Ints({1, 2}), b_->Ints({2, 2})}));
      }
    }
    y = Reshape(b_, Concat(b_, parts, -1), {0, -1, 4 * w});
    if (!s_.second) y = LayerNorm(b_, y, "norm", 4 * w);
    y = Linear(b_, y, "reduction", 4 * w, 2 * w, false);
    return s_.second ? LayerNorm(b_, y, "norm", 2 * w) : y;
  }

  GraphBuilder* b_;
  const SwinShape& s_;
  Sides sides_ = {1, 1};  // places of the current stage
};

// Pixels from the last stage's places: [batch, channels, side * stride, side * stride].
Tensor SwinPixels(GraphBuilder* b, const Tensor& x, const SwinShape& s, const Sides& sides) {
  const Scope decoder(b, "decoder", "Sequential");
  const int64_t w = s.Width(s.depths.size() - 1);
  Tensor y = Reshape(b, Transpose(b, x, {0, 2, 1}), {0, w, sides.height, sides.width});
  y = Conv2d(b, y, "0", {w, s.stride * s.stride * s.channels, 1, 1, true});
  const Scope shuffle(b, "1", "PixelShuffle");
  return b->Op("DepthToSpace", {y}, {{"blocksize", s.stride}, {"mode", std::string("CRD")}});
}

absl::StatusOr<std::string> BuildSwinFamily(const Config& config, bool second) {
  SwinShape s = ReadSwin(config, second);
  const std::string whole = absl::StrCat(s.prefix, "Model");
  const std::string masked = absl::StrCat(s.prefix, "ForMaskedImageModeling");
  const std::string root =
      config.RequireArchitecture({absl::StrCat(s.prefix, "ForImageClassification"), masked, whole});
  if (root == masked) {
    s.stride = config.Size("encoder_stride", 32);
    if (s.stride > kMaxPatchSize) config.Fault("encoder_stride", "is too large");
    const Sides grid = s.Grid();
    if (grid.height != grid.width) config.Fault("image_size", "should be square for a decoder");
  } else if (root != whole) {
    s.labels = config.Labels();
  }
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels =
      b.Input("pixel_values", dtype, {"batch", s.channels, s.image.height, s.image.width});
  const int64_t width = s.Width(s.depths.size() - 1);
  SwinBuilder builder(&b, s);
  Tensor x, pooled;
  {
    std::optional<Scope> model;
    if (root != whole) model.emplace(&b, second ? "swinv2" : "swin", whole);
    x = builder.Build(pixels, root == masked);
    if (root != masked) {
      const Scope pooler(&b, "pooler", "AdaptiveAvgPool1d");
      pooled = b.Op("ReduceMean", {x, b.Ints({1})}, {{"keepdims", int64_t{0}}});
    }
  }
  const Sides sides = builder.sides();
  if (root == masked) {
    b.Output("reconstruction", SwinPixels(&b, x, s, sides), dtype,
             {"batch", s.channels, sides.height * s.stride, sides.width * s.stride});
  } else if (s.labels > 0) {
    b.Output("logits", Linear(&b, pooled, "classifier", width, s.labels, true), dtype,
             {"batch", s.labels});
  } else {
    b.Output("last_hidden_state", x, dtype, {"batch", sides.height * sides.width, width});
    b.Output("pooler_output", pooled, dtype, {"batch", width});
  }
  return std::move(b).Finish();
}

}  // namespace

absl::StatusOr<std::string> BuildSwin(const Config& config) {
  return BuildSwinFamily(config, false);
}
absl::StatusOr<std::string> BuildSwinV2(const Config& config) {
  return BuildSwinFamily(config, true);
}

}  // namespace onnxflops::family
