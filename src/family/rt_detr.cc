// RT-DETR and RT-DETR v2: a ResNet, an encoder that mixes the images of its last stages, and a
// decoder that looks at a few points of them for each box.
//
// How it works. Attention of all places with each other runs only over the smallest image. Then
// convolutions carry what was found up to the larger images and down again, so each side of an
// image is a multiple of the last stage's stride. All places together are one list; the best of
// them, by a class score, are where the decoder starts. A layer of the decoder reads a few points
// of each image around a box (GridSample), and then moves the box. v2 differs in the numbers of
// points and in one table for all layers' heads. The anchors of places and the sines of positions
// are kept by size in the reference implementation: they are constants here.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"
#include "src/family/resnet.h"

namespace onnxflops::family {
namespace {

constexpr int64_t kBox = 4;

struct RtDetrShape {
  std::string prefix;
  bool second = false;  // v2
  ResnetShape resnet;
  std::vector<int64_t> stages;    // of the ResNet that are read, from 1
  std::vector<int64_t> attended;  // images that the encoder's layers run over
  bool frozen = true, places = true, pre_norm = false, denoising = true;
  int64_t hidden = 0, width = 0, expanded = 0, queries = 0, labels = 0, levels = 0, points = 0;
  int64_t encoder_layers = 0, encoder_heads = 0, encoder_inner = 0;
  int64_t decoder_layers = 0, decoder_heads = 0, decoder_inner = 0;
  std::string encoder_activation, activation, decoder_activation;
};

void ReadRtDetrBackbone(const Config& config, RtDetrShape* s) {
  if (config.Flag("use_timm_backbone", false)) {
    config.Fault("use_timm_backbone", "is true, which is not known");
  }
  const bool given = config.Has("backbone_config");
  const Config inner = config.Child("backbone_config");
  const std::string type = inner.Text("model_type", "rt_detr_resnet");
  if (type != "rt_detr_resnet") {
    inner.Fault("model_type", absl::StrCat("is ", Quoted(type), ": known is rt_detr_resnet"));
  }
  s->resnet = ReadResnet(inner);
  s->resnet.deep = true;
  if (s->resnet.embedding < 2) inner.Fault("embedding_size", "should be 2 and more");
  const auto stages = static_cast<int64_t>(s->resnet.depths.size());
  if (const auto names = inner.Texts("out_features")) {
    for (const std::string& name : *names) {
      for (int64_t i = 1; i <= stages; ++i) {
        if (name == absl::StrCat("stage", i)) s->stages.push_back(i);
      }
    }
    if (s->stages.size() != names->size()) inner.Fault("out_features", "has an unknown stage");
  } else if (const auto indices = inner.Sizes("out_indices")) {
    s->stages = *indices;
  } else {
    s->stages = given ? std::vector<int64_t>{stages} : std::vector<int64_t>{2, 3, 4};
    inner.notes().defaults.push_back("backbone_config.out_indices = the last stages");
  }
  if (s->stages.empty() || s->stages.back() > stages) {
    inner.Fault("out_indices", "should be stages");
    s->stages = {1};
  }
  for (size_t i = 1; i < s->stages.size(); ++i) {
    if (s->stages[i] != s->stages[i - 1] + 1) inner.Fault("out_indices", "should be in a row");
  }
  int64_t in = s->resnet.embedding;
  for (size_t i = 0; i < s->resnet.widths.size(); ++i) {
    const bool halves = i > 0 || s->resnet.first_halves;
    if (!s->resnet.bottleneck && !halves && s->resnet.widths[i] != in) {
      inner.Fault("hidden_sizes", "begins with another width than embedding_size");
    }
    in = s->resnet.widths[i];
  }
}

void ReadRtDetrLevels(const Config& config, RtDetrShape* s) {
  const size_t images = s->stages.size();
  ReadStages(config, "encoder_in_channels", {512, 1024, 2048}, images);
  for (const int64_t width : ReadStages(config, "decoder_in_channels", {256, 256, 256}, images)) {
    if (width != s->hidden) {
      config.Fault("decoder_in_channels", "should be encoder_hidden_dim in each entry");
    }
  }
  s->levels = config.Layers("num_feature_levels", 3);
  if (s->levels < static_cast<int64_t>(images)) {
    config.Fault("num_feature_levels", "is less than the images of the backbone");
  }
  if (s->levels > static_cast<int64_t>(images) + 1 && s->hidden != s->width) {
    config.Fault("num_feature_levels", "needs encoder_hidden_dim to be d_model");
  }
  if (s->second && config.Layers("decoder_n_levels", 3) != s->levels) {
    config.Fault("decoder_n_levels", "should be num_feature_levels");
  }
  s->attended = config.Indices("encode_proj_layers", {2});
  for (const int64_t at : s->attended) {
    if (at >= static_cast<int64_t>(images)) {
      config.Fault("encode_proj_layers", "should be images of the backbone");
    }
  }
}

void ReadRtDetrParts(const Config& config, RtDetrShape* s) {
  s->encoder_layers = config.Layers("encoder_layers", 1);
  s->encoder_heads = config.Size("encoder_attention_heads", 8);
  s->encoder_inner = config.Size("encoder_ffn_dim", 1024);
  s->decoder_layers = config.Layers("decoder_layers", 6);
  s->decoder_heads = config.Size("decoder_attention_heads", 8);
  s->decoder_inner = config.Size("decoder_ffn_dim", 1024);
  s->encoder_activation = ReadActivation(config, "encoder_activation_function", "gelu");
  s->activation = ReadActivation(config, "activation_function", "silu");
  s->decoder_activation = ReadActivation(config, "decoder_activation_function", "relu");
  config.RequireDivisible("encoder_hidden_dim", s->hidden, "encoder_attention_heads",
                          s->encoder_heads);
  config.RequireDivisible("encoder_hidden_dim", s->hidden, "4", 4);
  config.RequireDivisible("d_model", s->width, "decoder_attention_heads", s->decoder_heads);
}

RtDetrShape ReadRtDetr(const Config& config, const char* prefix, bool second) {
  RtDetrShape s;
  s.prefix = prefix;
  s.second = second;
  ReadRtDetrBackbone(config, &s);
  s.frozen = config.Flag("freeze_backbone_batch_norms", true);
  s.hidden = config.Size("encoder_hidden_dim", 256);
  s.width = config.Size("d_model", 256);
  s.queries = config.Size("num_queries", 300);
  s.points = config.Layers("decoder_n_points", 4);
  s.pre_norm = config.Flag("normalize_before", false);
  if (config.Flag("learn_initial_query", false)) {
    config.Fault("learn_initial_query", "is true, with which the reference implementation stops");
  }
  s.denoising = config.Integer("num_denoising", 100, 0) > 0;
  s.places = !config.Given("eval_size");
  s.labels = config.Labels();
  const double expanded = static_cast<double>(s.hidden) * config.Real("hidden_expansion", 1);
  const bool fits = expanded >= 1 && expanded <= static_cast<double>(kMaxConfigSize);
  if (!fits) config.Fault("hidden_expansion", "makes features of no size");
  s.expanded = fits ? static_cast<int64_t>(expanded) : 1;
  if (config.Has("anchor_image_size")) {
    config.Ignore("anchor_image_size", "anchors are those of the image");
  }
  if (second && config.Text("decoder_method", "default") != "default") {
    config.Fault("decoder_method", "should be default: others are not known");
  }
  ReadRtDetrParts(config, &s);
  ReadRtDetrLevels(config, &s);
  return s;
}

class RtDetrBuilder {
 public:
  // `heads`: each layer of the decoder predicts boxes and classes.
  RtDetrBuilder(GraphBuilder* b, const RtDetrShape& shape, bool heads)
      : b_(b), s_(shape), heads_(heads) {}

  Tensor Build(const Tensor& pixels) {
    std::vector<Tensor> images = Backbone(pixels);
    for (size_t i = 0; i < images.size(); ++i) {
      const Scope projection(b_, absl::StrCat("encoder_input_proj.", i), "Sequential");
      const int64_t in = s_.resnet.widths[static_cast<size_t>(s_.stages[i]) - 1];
      images[i] = Conv2d(b_, images[i], "0", {in, s_.hidden, 1, 1, false});
      images[i] = BatchNorm(b_, images[i], "1", s_.hidden);
    }
    images = Encode(std::move(images));
    const Tensor memory = Levels(images);
    const Tensor x = Choose(memory);
    return Decode(x, memory);
  }

  const Tensor& logits() const { return logits_; }
  const Tensor& boxes() const { return boxes_; }

 private:
  std::string Class(const char* name) const { return absl::StrCat(s_.prefix, name); }

  std::vector<Tensor> Backbone(const Tensor& pixels) {
    const Scope backbone(b_, "backbone", Class("ConvEncoder"));
    const Scope model(b_, "model", "RTDetrResNetBackbone");
    const std::string type = Class("FrozenBatchNorm2d");
    const bool frozen = s_.frozen;
    const NormFn norm = [&type, frozen](GraphBuilder* b, const Tensor& x, int64_t width) {
      return frozen ? FrozenNorm(b, x, "normalization", width, type)
                    : BatchNorm(b, x, "normalization", width);
    };
    const std::vector<Tensor> all = BuildResnetStages(b_, pixels, s_.resnet, norm);
    std::vector<Tensor> images;
    for (const int64_t stage : s_.stages) images.push_back(all[static_cast<size_t>(stage) - 1]);
    return images;
  }

  // ---- the encoder

  struct ConvNorm {
    int64_t in, out, kernel = 1, stride = 1;
    bool active = true;
  };
  Tensor Convolve(const Tensor& x, const std::string& name, const ConvNorm& c) {
    const Scope layer(b_, name, Class("ConvNormLayer"));
    const Tensor y =
        Conv2d(b_, x, "conv", {c.in, c.out, c.kernel, c.stride, false, (c.kernel - 1) / 2});
    const Tensor normed = BatchNorm(b_, y, "norm", c.out);
    return c.active ? Activate(b_, normed, s_.activation) : normed;
  }

  // Two images of the same size into one.
  Tensor Fuse(const Tensor& x, const Tensor& y, const std::string& name) {
    const Scope layer(b_, name, Class("CSPRepLayer"));
    const Tensor both = Concat(b_, {x, y}, 1);
    const int64_t h = s_.hidden, w = s_.expanded;
    Tensor z = Convolve(both, "conv1", {2 * h, w});
    std::optional<Scope> blocks(std::in_place, b_, "bottlenecks", "Sequential");
    constexpr int kBlocks = 3;
    for (int i = 0; i < kBlocks; ++i) {
      const Scope block(b_, absl::StrCat(i), Class("RepVggBlock"));
      z = Activate(b_,
                   Add(b_, Convolve(z, "conv1", {w, w, 3, 1, false}),
                       Convolve(z, "conv2", {w, w, 1, 1, false})),
                   s_.activation);
    }
    blocks.reset();
    z = Add(b_, z, Convolve(both, "conv2", {2 * h, w}));
    return w == h ? z : Convolve(z, "conv3", {w, h});
  }

  std::vector<Tensor> Encode(std::vector<Tensor> images) {
    const Scope encoder(b_, "encoder", Class("HybridEncoder"));
    for (size_t i = 0; i < s_.attended.size(); ++i) {
      Tensor& image = images[static_cast<size_t>(s_.attended[i])];
      image = AttendWithin(image, absl::StrCat("aifi.", i));
    }
    const size_t n = images.size() - 1;
    std::vector<Tensor> up = {images.back()};  // from the smallest
    for (size_t i = 0; i < n; ++i) {
      up[i] = Convolve(up[i], absl::StrCat("lateral_convs.", i), {s_.hidden, s_.hidden});
      const Tensor larger = b_->Op("Resize", {up[i], "", b_->Floats({1, 1, 2, 2})},
                                   {{"mode", std::string("nearest")}});
      up.push_back(Fuse(larger, images[n - i - 1], absl::StrCat("fpn_blocks.", i)));
    }
    std::reverse(up.begin(), up.end());
    std::vector<Tensor> down = {up[0]};  // from the largest
    for (size_t i = 0; i < n; ++i) {
      const Tensor smaller =
          Convolve(down[i], absl::StrCat("downsample_convs.", i), {s_.hidden, s_.hidden, 3, 2});
      down.push_back(Fuse(smaller, up[i + 1], absl::StrCat("pan_blocks.", i)));
    }
    return down;
  }

  Tensor AttendWithin(const Tensor& image, const std::string& name) {
    const Scope layers(b_, name, Class("AIFILayer"));
    const Tensor height = SizeOf(b_, image, 2), width = SizeOf(b_, image, 3);
    Tensor x = PlacesOfImage(b_, image, s_.hidden), places;
    if (s_.places) {
      const Tensor shape = Concat(b_, {b_->Ints({1}), SizeOf(b_, x, 1), b_->Ints({s_.hidden})}, 0);
      places = b_->Op("Expand", {Factor(b_, 0), shape});
    }
    for (int64_t i = 0; i < s_.encoder_layers; ++i) {
      const Scope layer(b_, absl::StrCat("layers.", i), Class("EncoderLayer"));
      Tensor y = s_.pre_norm ? LayerNorm(b_, x, "self_attn_layer_norm", s_.hidden) : x;
      y = Add(b_, x, SelfAttend(y, places, s_.hidden, s_.encoder_heads));
      if (!s_.pre_norm) y = LayerNorm(b_, y, "self_attn_layer_norm", s_.hidden);
      // A norm before the MLP is also what goes around it.
      if (s_.pre_norm) y = LayerNorm(b_, y, "final_layer_norm", s_.hidden);
      x = WithMlp(y, s_.hidden, s_.encoder_inner, s_.encoder_activation);
      if (!s_.pre_norm) x = LayerNorm(b_, x, "final_layer_norm", s_.hidden);
    }
    const Tensor back = Transpose(b_, x, {0, 2, 1});
    return ReshapeBy(b_, back, {SizeOf(b_, x, 0), b_->Ints({s_.hidden}), height, width});
  }

  Tensor SelfAttend(const Tensor& x, const Tensor& places, int64_t w, int64_t heads) {
    const Scope attention(b_, "self_attn", Class("SelfAttention"));
    const Tensor in = places.empty() ? x : Add(b_, x, places);
    const Tensor q = Linear(b_, in, "q_proj", w, w, true), k = Linear(b_, in, "k_proj", w, w, true);
    const Tensor v = Linear(b_, x, "v_proj", w, w, true);
    return Linear(b_, Attention(b_, q, k, v, {heads, heads, w / heads}), "o_proj", w, w, true);
  }

  Tensor WithMlp(const Tensor& x, int64_t width, int64_t inner, const std::string& function) {
    const Scope mlp(b_, "mlp", Class("MLP"));
    return Add(b_, x, Mlp(b_, x, width, inner, function));
  }

  // ---- between

  // The places of all images, in a row: [batch, places, width].
  Tensor Levels(const std::vector<Tensor>& images) {
    std::vector<Tensor> flat;
    for (int64_t i = 0; i < s_.levels; ++i) {
      const Scope projection(b_, absl::StrCat("decoder_input_proj.", i), "Sequential");
      const bool more = i >= static_cast<int64_t>(images.size());
      Tensor x = more ? images.back() : images[static_cast<size_t>(i)];
      x = Conv2d(b_, x, "0",
                 {s_.hidden, s_.width, more ? 3 : 1, more ? 2 : 1, false, more ? 1 : 0});
      x = BatchNorm(b_, x, "1", s_.width);
      heights_.push_back(SizeOf(b_, x, 2));
      widths_.push_back(SizeOf(b_, x, 3));
      flat.push_back(PlacesOfImage(b_, x, s_.width));
    }
    return Concat(b_, flat, 1);
  }

  Tensor BoxHead(Tensor x, const std::string& name) {
    const Scope head(b_, name, Class("MLPPredictionHead"));
    x = b_->Op("Relu", {Linear(b_, x, "layers.0", s_.width, s_.width, true)});
    x = b_->Op("Relu", {Linear(b_, x, "layers.1", s_.width, s_.width, true)});
    return Linear(b_, x, "layers.2", s_.width, kBox, true);
  }

  // What the decoder starts with, [batch, queries, width], and boxes_.
  Tensor Choose(const Tensor& memory) {
    if (s_.denoising) b_->Weight("denoising_class_embed.weight", {s_.labels + 1, s_.width});
    const Tensor count = SizeOf(b_, memory, 1);
    const auto constant = [&](int64_t features) {
      return b_->Op("Expand",
                    {Factor(b_, 1), Concat(b_, {b_->Ints({1}), count, b_->Ints({features})}, 0)});
    };
    Tensor x = Mul(b_, constant(1), memory);  // places at the edge are left out
    {
      const Scope output(b_, "enc_output", "Sequential");
      x = LayerNorm(b_, Linear(b_, x, "0", s_.width, s_.width, true), "1", s_.width);
    }
    const Tensor scores = Linear(b_, x, "enc_score_head", s_.width, s_.labels, true);
    const Tensor boxes = Add(b_, BoxHead(x, "enc_bbox_head"), constant(kBox));
    const Tensor best = b_->Op("ReduceMax", {scores, b_->Ints({-1})}, {{"keepdims", int64_t{0}}});
    const Tensor at = b_->Ops("TopK", {best, b_->Ints({s_.queries})}, {"", ""})[1];
    const Tensor indices = b_->Op("Unsqueeze", {at, b_->Ints({2})});
    const auto take = [&](const Tensor& of) {
      return b_->Op("GatherND", {of, indices}, {{"batch_dims", int64_t{1}}});
    };
    boxes_ = b_->Op("Sigmoid", {take(boxes)});
    return take(x);
  }

  // ---- the decoder

  Tensor Decode(Tensor x, const Tensor& memory) {
    const Scope decoder(b_, "decoder", Class("Decoder"));
    const int64_t w = s_.width;
    for (int64_t i = 0; i < s_.decoder_layers; ++i) {
      Tensor places;
      {
        const Scope head(b_, "query_pos_head", Class("MLPPredictionHead"));
        places = b_->Op("Relu", {Linear(b_, boxes_, "layers.0", kBox, 2 * w, true)});
        places = Linear(b_, places, "layers.1", 2 * w, w, true);
      }
      {
        const Scope layer(b_, absl::StrCat("layers.", i), Class("DecoderLayer"));
        x = Add(b_, x, SelfAttend(x, places, w, s_.decoder_heads));
        x = LayerNorm(b_, x, "self_attn_layer_norm", w);
        x = Add(b_, x, AttendAround(Add(b_, x, places), memory));
        x = LayerNorm(b_, x, "encoder_attn_layer_norm", w);
        x = WithMlp(x, w, s_.decoder_inner, s_.decoder_activation);
        x = LayerNorm(b_, x, "final_layer_norm", w);
      }
      if (!heads_) continue;
      const Tensor moved = Add(b_, BoxHead(x, absl::StrCat("bbox_embed.", i)), Unsigmoid(boxes_));
      boxes_ = b_->Op("Sigmoid", {moved});
      logits_ = Linear(b_, x, absl::StrCat("class_embed.", i), w, s_.labels, true);
    }
    return x;
  }

  Tensor Unsigmoid(const Tensor& x) {
    constexpr double kEpsilon = 1e-5;
    const Tensor least = Factor(b_, kEpsilon), one = Factor(b_, 1);
    const Tensor part = b_->Op("Clip", {x, Factor(b_, 0), one});
    const Tensor rest = b_->Op("Sub", {one, part});
    return b_->Op("Log",
                  {b_->Op("Div", {b_->Op("Clip", {part, least}), b_->Op("Clip", {rest, least})})});
  }

  // Where each head of each query looks: [batch, queries, heads, levels, points, 2], as GridSample
  // wants it, from -1 to 1.
  Tensor Points(const Tensor& x) {
    const int64_t heads = s_.decoder_heads, l = s_.levels, p = s_.points;
    Tensor at = Linear(b_, x, "sampling_offsets", s_.width, heads * l * p * 2, true);
    at = Reshape(b_, at, {0, 0, heads, l, p, 2});
    const std::vector<Tensor> box =
        Split(b_, Reshape(b_, boxes_, {0, 0, 1, 1, 1, kBox}), {2, 2}, 5);
    constexpr double kHalf = 0.5;
    at = s_.second ? Mul(b_, at, Factor(b_, 1)) : b_->Op("Div", {at, Factor(b_, 1)});
    at = Mul(b_, Mul(b_, at, box[1]), Factor(b_, kHalf));
    at = Add(b_, box[0], at);
    return b_->Op("Sub", {Mul(b_, at, Factor(b_, 2)), Factor(b_, 1)});
  }

  Tensor AttendAround(const Tensor& x, const Tensor& memory) {
    const Scope attention(b_, "encoder_attn", Class("MultiscaleDeformableAttention"));
    const int64_t w = s_.width, heads = s_.decoder_heads, l = s_.levels, p = s_.points;
    const Tensor value = Linear(b_, memory, "value_proj", w, w, true);
    const Tensor points = Points(x);
    Tensor weights = Linear(b_, x, "attention_weights", w, heads * l * p, true);
    weights = Reshape(b_, weights, {0, 0, heads, l * p});
    weights = b_->Op("Softmax", {weights}, {{"axis", int64_t{-1}}});
    weights = Reshape(b_, Transpose(b_, weights, {0, 2, 1, 3}), {-1, 1, s_.queries, l * p});
    std::optional<Scope> inner;
    if (!s_.second) inner.emplace(b_, "attn", "MultiScaleDeformableAttention");
    Tensor y = Mul(b_, Sample(value, points), weights);
    y = b_->Op("ReduceSum", {y, b_->Ints({-1})}, {{"keepdims", int64_t{0}}});
    y = Transpose(b_, Reshape(b_, y, {-1, w, s_.queries}), {0, 2, 1});
    inner.reset();
    return Linear(b_, y, "output_proj", w, w, true);
  }

  // [batch * heads, features of a head, queries, levels * points].
  Tensor Sample(const Tensor& value, const Tensor& points) {
    const int64_t heads = s_.decoder_heads, dim = s_.width / heads;
    std::vector<Tensor> counts;
    for (size_t i = 0; i < heights_.size(); ++i) counts.push_back(Mul(b_, heights_[i], widths_[i]));
    const std::vector<Tensor> images =
        b_->Ops("Split", {value, Concat(b_, counts, 0)}, std::vector<std::string>(counts.size()),
                {{"axis", int64_t{1}}});
    std::vector<Tensor> found;
    for (size_t i = 0; i < images.size(); ++i) {
      const Tensor image = ReshapeBy(b_, Transpose(b_, images[i], {0, 2, 1}),
                                     {b_->Ints({-1, dim}), heights_[i], widths_[i]});
      Tensor at =
          b_->Op("Gather", {points, b_->Scalar(static_cast<int64_t>(i))}, {{"axis", int64_t{3}}});
      at = Transpose(b_, at, {0, 2, 1, 3, 4});
      at = Reshape(b_, at, {-1, s_.queries, s_.points, 2});
      found.push_back(b_->Op("GridSample", {image, at}));
    }
    return Concat(b_, found, 3);
  }

  GraphBuilder* b_;
  const RtDetrShape& s_;
  const bool heads_;
  std::vector<Tensor> heights_, widths_;  // of the images that the decoder reads
  Tensor boxes_, logits_;
};

absl::StatusOr<std::string> BuildRtDetrLike(const Config& config, const RtDetrShape& s) {
  const std::string whole = absl::StrCat(s.prefix, "Model");
  const std::string detector = absl::StrCat(s.prefix, "ForObjectDetection");
  const std::string root = config.RequireArchitecture({detector, whole});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  constexpr int64_t kUsual = 640;
  const Tensor pixels = OpenPixels(&b, s.resnet.channels, {kUsual, kUsual});
  const int64_t stride = int64_t{2} << (s.stages.back() + (s.resnet.first_halves ? 1 : 0));
  b.MultipleDim("height", stride);
  b.MultipleDim("width", stride);
  if (root == whole) {
    const Tensor x = RtDetrBuilder(&b, s, false).Build(pixels);
    b.Output("last_hidden_state", x, dtype, {"batch", s.queries, s.width});
    return std::move(b).Finish();
  }
  RtDetrBuilder builder(&b, s, true);
  {
    const Scope model(&b, "model", whole);
    builder.Build(pixels);
  }
  b.Output("logits", builder.logits(), dtype, {"batch", s.queries, s.labels});
  b.Output("pred_boxes", builder.boxes(), dtype, {"batch", s.queries, kBox});
  return std::move(b).Finish();
}

}  // namespace

absl::StatusOr<std::string> BuildRtDetr(const Config& config) {
  return BuildRtDetrLike(config, ReadRtDetr(config, "RTDetr", false));
}

absl::StatusOr<std::string> BuildRtDetrV2(const Config& config) {
  return BuildRtDetrLike(config, ReadRtDetr(config, "RTDetrV2", true));
}

}  // namespace onnxflops::family
