// SAM 2 for images: a Hiera that keeps the image as rows and columns, a pyramid over its stages,
// and the decoder of SAM (sam.cc).
//
// How it works. A stage begins with a maximum over squares of queries and of what goes around the
// attention. Its first layer still has the windows of the stage before it, and its output windows
// that are as much smaller. Some layers have none. The class also multiplies the heads of each
// place with each other and never reads the result; the product is a part of the graph, because the
// class executes it. The image is that of image_size: positions have its size and the memory of
// windows, too. The decoder reads the third image of the pyramid and adds the two finer ones.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"
#include "src/family/sam.h"

namespace onnxflops::family {
namespace {

struct Sam2Tower {
  int64_t channels = 3, pools = 3;
  Sides image, kernel, stride, padding, pool, background;
  std::vector<int64_t> blocks, widths, heads, windows, inner, global;
  std::string activation;
  Sides Patches() const {
    const auto count = [](int64_t size, int64_t k, int64_t step, int64_t pad) {
      return size + 2 * pad < k ? 0 : (size + 2 * pad - k) / step + 1;
    };
    return {count(image.height, kernel.height, stride.height, padding.height),
            count(image.width, kernel.width, stride.width, padding.width)};
  }
  bool Pools(size_t stage, int64_t block) const {
    return stage > 0 && static_cast<int64_t>(stage) <= pools && block == 0;
  }
};

// A number, or height and width.
Sides ReadSam2Pair(const Config& config, const char* key, int64_t otherwise, bool may_be_0) {
  std::vector<int64_t> pair;
  if (config.Has(key) && !config.HasList(key)) {
    pair = {config.Integer(key, otherwise, may_be_0 ? 0 : 1)};
  } else {
    pair = may_be_0 ? config.Indices(key, {otherwise, otherwise})
                    : config.SizesOr(key, {otherwise, otherwise});
  }
  for (const int64_t size : pair) {
    if (size > kMaxPatchSize) config.Fault(key, "is too large");
  }
  if (pair.empty() || pair.size() > 2) {
    config.Fault(key, "should be height and width");
    pair = {1};
  }
  return {pair.front(), pair.back()};
}

// Windows of the first layer's input and output have to be as many.
void CheckSam2Pool(const Config& config, const Sam2Tower& s, Sides in, int64_t window) {
  if (s.pool.height != s.pool.width || window < s.pool.height) {
    return config.Fault("query_stride", "does not fit into the windows of a stage");
  }
  const WindowGrid before = {in, window};
  const WindowGrid after = {{in.height / s.pool.height, in.width / s.pool.width},
                            window / s.pool.height};
  if (before.Rows() != after.Rows() || before.Columns() != after.Columns()) {
    config.Fault("query_stride", "makes not as many windows as there were");
  }
}

void CheckSam2Stages(const Config& config, const Sam2Tower& s) {
  Sides left = s.Patches();
  if (left.height < 1 || left.width < 1) {
    return config.Fault("patch_kernel_size", "is larger than the image");
  }
  if (left.height % s.windows[0] != 0 || left.width % s.windows[0] != 0) {
    return config.Fault("window_size_per_stage", "does not divide the patches of the image");
  }
  int64_t first = 0;
  for (size_t i = 0; i < s.blocks.size(); first += s.blocks[i++]) {
    config.RequireDivisible("embed_dim_per_stage", s.widths[i], "num_attention_heads_per_stage",
                            s.heads[i]);
    if (!s.Pools(i, 0)) continue;
    if (s.widths[i] == s.widths[i - 1]) {
      return config.Fault("embed_dim_per_stage", "has no other width where places become fewer");
    }
    const bool all = std::find(s.global.begin(), s.global.end(), first) != s.global.end();
    if (all)
      config.Fault("global_attention_blocks", "has the first of a stage, which needs windows");
    CheckSam2Pool(config, s, left, s.windows[i - 1]);
    left = {left.height / s.pool.height, left.width / s.pool.width};
    if (left.height < 1 || left.width < 1) {
      return config.Fault("query_stride", "leaves nothing of the image");
    }
  }
}

Sam2Tower ReadSam2Tower(const Config& config) {
  Sam2Tower s;
  s.channels = config.Size("num_channels", 3);
  s.image = ReadSides(config, 1024);
  s.kernel = ReadSam2Pair(config, "patch_kernel_size", 7, false);
  s.stride = ReadSam2Pair(config, "patch_stride", 4, false);
  s.padding = ReadSam2Pair(config, "patch_padding", 3, true);
  s.pool = ReadSam2Pair(config, "query_stride", 2, false);
  s.background = ReadSam2Pair(config, "window_positional_embedding_background_size", 7, false);
  s.pools = config.Integer("num_query_pool_stages", 3, 0);
  s.blocks = ReadDepths(config, "blocks_per_stage", {1, 2, 7, 2});
  const size_t n = s.blocks.size();
  s.widths = ReadStages(config, "embed_dim_per_stage", {96, 192, 384, 768}, n);
  s.heads = ReadStages(config, "num_attention_heads_per_stage", {1, 2, 4, 8}, n);
  s.windows = ReadStages(config, "window_size_per_stage", {8, 4, 14, 7}, n);
  s.global = config.Indices("global_attention_blocks", {5, 7, 9});
  s.activation = ReadActivation(config, "hidden_act", "gelu");
  const double ratio = config.Real("mlp_ratio", 4);
  for (const int64_t width : s.widths) {
    const double inner = static_cast<double>(width) * ratio;
    const bool fits = inner >= 1 && inner <= static_cast<double>(kMaxConfigSize);
    if (!fits) config.Fault("mlp_ratio", "makes an MLP of no size");
    s.inner.push_back(fits ? static_cast<int64_t>(inner) : 1);
  }
  for (int64_t& window : s.windows) {
    if (window <= kMaxPatchSize) continue;
    config.Fault("window_size_per_stage", "is too large");
    window = 1;
  }
  if (config.Size("hidden_size", 96) != s.widths[0]) {
    config.Fault("hidden_size", "is not the first of embed_dim_per_stage");
  }
  CheckSam2Stages(config, s);
  return s;
}

class Sam2TowerBuilder {
 public:
  Sam2TowerBuilder(GraphBuilder* b, const Sam2Tower& shape)
      : b_(b), s_(shape), sides_(shape.Patches()) {}

  // The image after each stage, [batch, h, w, width].
  std::vector<Tensor> Build(const Tensor& pixels) {
    Tensor x = Embed(pixels);
    std::vector<Tensor> found;
    int64_t total = 0;
    for (size_t i = 0; i < s_.blocks.size(); ++i) {
      for (int64_t k = 0; k < s_.blocks[i]; ++k, ++total) {
        const Scope block(b_, absl::StrCat("blocks.", total), "Sam2MultiScaleBlock");
        const bool all = std::find(s_.global.begin(), s_.global.end(), total) != s_.global.end();
        const size_t before = i > 0 && k == 0 ? i - 1 : i;
        x = Layer(x, i, s_.widths[before], all ? 0 : s_.windows[before], s_.Pools(i, k));
      }
      found.push_back(x);
      sizes_.push_back(sides_);
    }
    return found;
  }

  // Of the images.
  const std::vector<Sides>& sizes() const { return sizes_; }

 private:
  Tensor Embed(const Tensor& pixels) {
    const int64_t w = s_.widths[0], window = s_.windows[0];
    Tensor x;
    {
      const Scope patches(b_, "patch_embed", "Sam2PatchEmbeddings");
      x = ProjectPatches(b_, pixels, s_.channels, w, {s_.kernel, s_.stride, s_.padding});
    }
    x = ChannelsLast(b_, x);
    Tensor places = b_->Weight("pos_embed", {1, w, s_.background.height, s_.background.width});
    places = b_->Op("Resize", {places, "", "", b_->Ints({sides_.height, sides_.width})},
                    {{"mode", std::string("cubic")}, {"axes", std::vector<int64_t>{2, 3}}});
    const Tensor tile = b_->Weight("pos_embed_window", {1, w, window, window});
    const Tensor times = b_->Ints({1, 1, sides_.height / window, sides_.width / window});
    places = Add(b_, places, b_->Op("Tile", {tile, times}));
    return Add(b_, x, ChannelsLast(b_, places));
  }

  // The largest of each square of [n, h, w, width].
  Tensor Largest(const Tensor& x) {
    const std::vector<int64_t> square = {s_.pool.height, s_.pool.width};
    return ChannelsLast(b_, b_->Op("MaxPool", {ChannelsFirst(b_, x)},
                                   {{"kernel_shape", square}, {"strides", square}}));
  }

  Tensor Layer(const Tensor& x, size_t stage, int64_t in, int64_t window, bool pools) {
    const int64_t w = s_.widths[stage];
    Tensor y = LayerNorm(b_, x, "layer_norm1", in);
    Tensor around = x;
    if (in != w) {
      around = Linear(b_, y, "proj", in, w, true);
      if (pools) around = Largest(around);
    }
    Sides unit = window > 0 ? Sides{window, window} : sides_;
    y = window > 0 ? IntoWindows(b_, y, {sides_, window}, in)
                   : Reshape(b_, y, {0, sides_.height * sides_.width, in});
    y = Attend(y, stage, in, unit, pools);
    if (pools) {
      sides_ = {sides_.height / s_.pool.height, sides_.width / s_.pool.width};
      window /= s_.pool.height;
    }
    y = window > 0 ? FromWindows(b_, y, {sides_, window}, w)
                   : Reshape(b_, y, {-1, sides_.height, sides_.width, w});
    const Tensor sum = Add(b_, around, y);
    y = LayerNorm(b_, sum, "layer_norm2", w);
    const Scope mlp(b_, "mlp", "Sam2FeedForward");
    return Add(b_, sum, Mlp(b_, y, w, s_.inner[stage], s_.activation, {"proj_in", "proj_out"}));
  }

  Tensor Attend(const Tensor& x, size_t stage, int64_t in, const Sides& unit, bool pools) {
    const Scope attention(b_, "attn", "Sam2MultiScaleAttention");
    const int64_t w = s_.widths[stage], heads = s_.heads[stage], dim = w / heads;
    const int64_t places = unit.height * unit.width;
    std::vector<Tensor> qkv = Split(b_, Linear(b_, x, "qkv", in, 3 * w, true), {w, w, w}, -1);
    // Heads with each other, which nothing reads.
    const Tensor q = Mul(b_, Reshape(b_, qkv[0], {0, places, heads, dim}), Factor(b_, 1));
    const Tensor k = Reshape(b_, qkv[1], {0, places, heads, dim});
    b_->Op("Softmax", {b_->Op("MatMul", {q, Transpose(b_, k, {0, 1, 3, 2})})},
           {{"axis", int64_t{-1}}});
    if (pools) {
      const Tensor image = Reshape(b_, qkv[0], {-1, unit.height, unit.width, w});
      const int64_t fewer = (unit.height / s_.pool.height) * (unit.width / s_.pool.width);
      qkv[0] = Reshape(b_, Largest(image), {-1, fewer, w});
    }
    const Tensor y = Attention(b_, qkv[0], qkv[1], qkv[2], {heads, heads, dim});
    return Linear(b_, y, "proj", w, w, true);
  }

  GraphBuilder* b_;
  const Sam2Tower& s_;
  Sides sides_;  // of the current stage
  std::vector<Sides> sizes_;
};

struct Sam2Vision {
  Sam2Tower tower;
  int64_t features = 256, levels = 3;
  std::vector<int64_t> down;  // stages that the coarser image is added to
  std::vector<Sides> sizes;   // of the images after each stage
};

Sam2Vision ReadSam2Vision(const Config& config) {
  Sam2Vision s;
  const Config inner = config.Child("backbone_config");
  if (inner.Text("model_type", "sam2_hiera_det_model") != "sam2_hiera_det_model") {
    inner.Fault("model_type", "should be sam2_hiera_det_model: others are not known");
  }
  s.tower = ReadSam2Tower(inner);
  const size_t n = s.tower.blocks.size();
  s.features = config.Size("fpn_hidden_size", 256);
  s.levels = config.Layers("num_feature_levels", 3);
  s.down = config.Indices("fpn_top_down_levels", {2, 3});
  config.RequireDivisible("fpn_hidden_size", s.features, "4", 4);
  std::vector<int64_t> widths = ReadStages(config, "backbone_channel_list", {768, 384, 192, 96}, n);
  std::reverse(widths.begin(), widths.end());
  if (widths != s.tower.widths) {
    config.Fault("backbone_channel_list", "is not embed_dim_per_stage from the last");
  }
  if (config.Size("fpn_kernel_size", 1) != 1 || config.Size("fpn_stride", 1) != 1 ||
      config.Integer("fpn_padding", 0, 0) != 0) {
    config.Fault("fpn_kernel_size", "should be 1, and so fpn_stride, and fpn_padding 0");
  }
  if (s.levels > static_cast<int64_t>(n)) {
    config.Fault("num_feature_levels", "is more than the stages");
    s.levels = 1;
  }
  Sides left = s.tower.Patches();
  for (size_t i = 0; i < n; ++i) {
    const Sides finer = left;
    if (s.tower.Pools(i, 0)) {
      left = {left.height / s.tower.pool.height, left.width / s.tower.pool.width};
    }
    const bool added = i > 0 && std::find(s.down.begin(), s.down.end(),
                                          static_cast<int64_t>(i) - 1) != s.down.end();
    if (added && (finer.height != 2 * left.height || finer.width != 2 * left.width)) {
      config.Fault("fpn_top_down_levels", "needs stages of half the sides");
    }
    s.sizes.push_back(left);
  }
  return s;
}

// Sines and cosines of rows and columns: [batch, features, h, w].
Tensor Sam2Places(GraphBuilder* b, const Tensor& like, const Sides& sides, int64_t features) {
  const int64_t half = features / 2;
  const Attrs to = {{"to", static_cast<int64_t>(b->dtype())}};
  const auto along = [&](int64_t size, const std::vector<int64_t>& shape) {
    const Tensor range = b->Op("Range", {b->Scalar(1), b->Scalar(size + 1), b->Scalar(1)});
    Tensor x = RepeatForBatch(b, Reshape(b, b->Op("Cast", {range}, to), shape), like,
                              {sides.height, sides.width});
    constexpr double kTurn = 6.283185307179586;
    x = Mul(b, b->Op("Div", {x, Factor(b, static_cast<double>(size))}), Factor(b, kTurn));
    Tensor rates = b->Table(half);
    if (b->dtype() != DType::kFloat32) rates = b->Op("Cast", {rates}, to);
    x = b->Op("Div", {b->Op("Unsqueeze", {x, b->Ints({-1})}), rates});
    const auto every_second = [&](const char* function, int64_t from) {
      const Tensor y =
          b->Op("Slice", {x, b->Ints({from}), b->Ints({half}), b->Ints({3}), b->Ints({2})});
      return b->Op("Unsqueeze", {b->Op(function, {y}), b->Ints({4})});
    };
    const Tensor both = Concat(b, {every_second("Sin", 0), every_second("Cos", 1)}, 4);
    return Reshape(b, both, {0, 0, 0, half});
  };
  const Tensor rows = along(sides.height, {1, sides.height, 1});
  return ChannelsFirst(b, Concat(b, {rows, along(sides.width, {1, 1, sides.width})}, 3));
}

// Images of the first levels, the finest first; *places: of each.
std::vector<Tensor> BuildSam2Vision(GraphBuilder* b, const Tensor& pixels, const Sam2Vision& s,
                                    std::vector<Tensor>* places) {
  Sam2TowerBuilder tower(b, s.tower);
  std::vector<Tensor> stages;
  {
    const Scope backbone(b, "backbone", "Sam2HieraDetModel");
    stages = tower.Build(pixels);
  }
  const Scope neck(b, "neck", "Sam2VisionNeck");
  const auto n = static_cast<int64_t>(stages.size());
  std::vector<Tensor> images;
  Tensor x;
  for (int64_t i = n - 1; i >= 0; --i) {
    const auto at = static_cast<size_t>(i);
    const Tensor own = Conv2d(b, ChannelsFirst(b, stages[at]), absl::StrCat("convs.", n - 1 - i),
                              {s.tower.widths[at], s.features, 1, 1, true});
    const bool adds = i < n - 1 && std::find(s.down.begin(), s.down.end(), i) != s.down.end();
    x = adds ? Add(b, own,
                   b->Op("Resize", {x, "", b->Floats({1, 1, 2, 2})},
                         {{"mode", std::string("nearest")}}))
             : own;
    const Scope position(b, "position_encoding", "Sam2SinePositionEmbedding");
    places->insert(places->begin(), Sam2Places(b, x, tower.sizes()[at], s.features));
    images.insert(images.begin(), x);
  }
  images.resize(static_cast<size_t>(s.levels));
  places->resize(static_cast<size_t>(s.levels));
  return images;
}

Tensor Sam2Pixels(GraphBuilder* b, const Sam2Tower& s) {
  return b->Input("pixel_values", b->dtype(), {"batch", s.channels, s.image.height, s.image.width});
}

void CheckSam2Sizes(const Config& config, const Sam2Vision& s) {
  std::vector<std::pair<int64_t, int64_t>> sizes;
  for (int64_t i = 0; i < s.levels; ++i) {
    const Sides& sides = s.sizes[static_cast<size_t>(i)];
    sizes.emplace_back(sides.height, sides.width);
  }
  if (!config.notes().image_size && config.Has("backbone_feature_sizes") &&
      config.Pairs("backbone_feature_sizes", sizes) != sizes) {
    config.Fault("backbone_feature_sizes", "are not those of the stages");
  }
  const Sides& last = s.sizes[static_cast<size_t>(s.levels) - 1];
  if (s.levels != 3 || last.height != last.width) {
    config.Fault("num_feature_levels", "should be 3, of a square image");
  }
  for (size_t i = 0; i + 1 < static_cast<size_t>(s.levels); ++i) {
    if (s.sizes[i].height != 2 * s.sizes[i + 1].height) {
      config.Fault("num_feature_levels", "should be of stages of half the sides");
    }
  }
}

}  // namespace

absl::StatusOr<std::string> BuildSam2(const Config& config) {
  const Config inner = config.Child("vision_config");
  const Sam2Vision s = ReadSam2Vision(inner);
  CheckSam2Sizes(inner, s);
  const int64_t side = s.sizes[static_cast<size_t>(s.levels) - 1].height;
  const SamHead head = ReadSam2Head(config, side, s.features);
  const std::string root = config.RequireArchitecture({"Sam2Model"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = Sam2Pixels(&b, s.tower);
  const Tensor where = BuildSam2Places(&b, head);
  std::vector<Tensor> images, places;
  {
    const Scope encoder(&b, "vision_encoder", "Sam2VisionModel");
    images = BuildSam2Vision(&b, pixels, s, &places);
  }
  const int64_t h = s.features;
  // The class calls these two before the decoder.
  images[0] = Conv2d(&b, images[0], "mask_decoder.conv_s0", {h, h / 8, 1, 1, true});
  images[1] = Conv2d(&b, images[1], "mask_decoder.conv_s1", {h, h / 4, 1, 1, true});
  const Tensor no_memory = Reshape(&b, b.Weight("no_memory_embedding", {1, 1, h}), {1, h, 1, 1});
  images[2] = Add(&b, images[2], no_memory);
  BuildSam2Head(&b, head, where, images[2], images[1], images[0]);
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildSam2VisionModel(const Config& config) {
  const Sam2Vision s = ReadSam2Vision(config);
  const std::string root = config.RequireArchitecture({"Sam2VisionModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  std::vector<Tensor> places;
  const std::vector<Tensor> images = BuildSam2Vision(&b, Sam2Pixels(&b, s.tower), s, &places);
  for (size_t i = 0; i < images.size(); ++i) {
    const Dims dims = {"batch", s.features, s.sizes[i].height, s.sizes[i].width};
    b.Output(absl::StrCat("fpn_hidden_states.", i), images[i], dtype, dims);
    b.Output(absl::StrCat("fpn_position_encoding.", i), places[i], dtype, dims);
  }
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildSam2HieraDetModel(const Config& config) {
  const Sam2Tower s = ReadSam2Tower(config);
  const std::string root = config.RequireArchitecture({"Sam2HieraDetModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  Sam2TowerBuilder tower(&b, s);
  const Tensor x = tower.Build(Sam2Pixels(&b, s)).back();
  const Sides& last = tower.sizes().back();
  b.Output("last_hidden_state", x, dtype, {"batch", last.height, last.width, s.widths.back()});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
