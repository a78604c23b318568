// MobileNet V5: convolutions of one feature each, attention over places with one head of keys and
// values, and an adapter over the last two stages.
//
// How it works. The blocks are lists in timm's code, and so are they here. A configuration gives
// timm's name of the tower and may give a factor of its widths. The adapter enlarges the smaller of
// two images, mixes the features of both, and averages the result to a fixed number of tokens. For
// sides that this number does not divide the class interpolates; here they are an error, so that
// all halvings of an image are exact, too, and the padding of TensorFlow is the same at all sizes.
#include "src/family/mobilenetv5.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

constexpr int64_t kStemWidth = 64;

// One of: an edge residual, whose first convolution is whole; an inverted residual, with up to two
// convolutions of one feature each; attention.
struct NetV5Block {
  enum class Kind { kEdge, kInverted, kAttention } kind;
  int64_t out = 0, stride = 1;
  int64_t wider = 1;            // of the two first
  int64_t before = 0, mid = 0;  // kernels: before and after the features are widened; 0: none
  int64_t heads = 0, dim = 0;   // of attention
  int64_t coarser = 1;          // the stride of its keys and values
};
using NetV5Stage = std::vector<NetV5Block>;

NetV5Block InvertedBlock(int64_t out, int64_t wider, int64_t before, int64_t mid = 0,
                         int64_t stride = 1) {
  NetV5Block block = {NetV5Block::Kind::kInverted, out, stride, wider};
  block.before = before, block.mid = mid;
  return block;
}

// `pairs` times attention and an inverted residual.
void AddMixing(int64_t pairs, const NetV5Block& attention, NetV5Stage* stage) {
  for (int64_t i = 0; i < pairs; ++i) {
    stage->push_back(attention);
    stage->push_back(InvertedBlock(attention.out, 2, 0));
  }
}

NetV5Block MixingBlock(int64_t out, int64_t heads, int64_t dim, int64_t coarser) {
  NetV5Block block = {NetV5Block::Kind::kAttention, out};
  block.heads = heads, block.dim = dim, block.coarser = coarser;
  return block;
}

std::vector<NetV5Stage> StagesOf300M() {
  NetV5Stage first(3, {NetV5Block::Kind::kEdge, 128, 1, 4});
  first[0].stride = 2;
  const NetV5Stage second = {InvertedBlock(256, 6, 3, 5, 2), InvertedBlock(256, 4, 5),
                             InvertedBlock(256, 4, 3), InvertedBlock(256, 4, 5),
                             InvertedBlock(256, 4, 3)};
  NetV5Stage third(8, InvertedBlock(640, 4, 5));
  third[0] = InvertedBlock(640, 6, 5, 5, 2);
  third.push_back(InvertedBlock(640, 1, 0));
  AddMixing(14, MixingBlock(640, 12, 64, 2), &third);
  NetV5Stage fourth = {InvertedBlock(1280, 6, 5, 5, 2)};
  AddMixing(19, MixingBlock(1280, 16, 96, 1), &fourth);
  return {first, second, third, fourth};
}

class MobileNetV5Builder {
 public:
  MobileNetV5Builder(GraphBuilder* b, const MobileNetV5& shape) : b_(b), s_(shape) {}

  Tensor Build(const Tensor& pixels) {
    const int64_t stem = s_.factor < 1 ? kStemWidth : Width(kStemWidth);
    Image x =
        ConvNorm({pixels, 3}, "conv_stem", {.out = stem, .kernel = 3, .stride = 2, .bias = true});
    std::vector<Image> images;
    const std::vector<NetV5Stage> stages = StagesOf300M();
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      const Scope scope(b_, absl::StrCat("blocks.", stage), "Sequential");
      for (size_t i = 0; i < stages[stage].size(); ++i) x = Block(x, stages[stage][i], i);
      images.push_back(x);
    }
    return Fuse(images[2], images[3]);
  }

 private:
  struct Image {
    Tensor x;
    int64_t width = 0;
  };
  struct Conv {
    int64_t out = 0, kernel = 1, stride = 1;
    bool each = false;  // each feature by itself
    bool bias = false;
    bool active = true;  // in ConvNorm()
  };

  // The multiple of 8 that is nearest to a width, but not much below it.
  int64_t Width(int64_t of) const {
    const double width = static_cast<double>(of) * s_.factor;
    const double near = std::max(8.0, std::floor(std::trunc(width + 4) / 8) * 8);
    constexpr double kMostBelow = 0.9;
    return static_cast<int64_t>(near < kMostBelow * width ? near + 8 : near);
  }

  Image Convolve(const Image& x, const char* name, const Conv& c) {
    const int64_t k = c.kernel;
    const bool same = s_.encoder && c.stride > 1;
    const int64_t all = same ? k - c.stride : (c.stride - 1 + k - 1) / 2 * 2;
    const int64_t before = all / 2, after = all - before;
    const Scope scope(b_, name, same ? "Conv2dSame" : "Conv2d");
    const int64_t groups = c.each ? x.width : 1;
    std::vector<Tensor> inputs = {x.x, b_->Weight("weight", {c.out, x.width / groups, k, k})};
    if (c.bias) inputs.push_back(b_->Weight("bias", {c.out}));
    const Tensor y = b_->Op("Conv", inputs,
                            {{"kernel_shape", std::vector<int64_t>{k, k}},
                             {"strides", std::vector<int64_t>{c.stride, c.stride}},
                             {"pads", std::vector<int64_t>{before, before, after, after}},
                             {"group", groups}});
    return {y, c.out};
  }

  Image Norm(const Image& x, const char* name, bool active = false,
             const char* type = "RmsNormAct2d") {
    const Scope scope(b_, name, type);
    const Tensor weight = b_->Weight("weight", {x.width});
    const Tensor y = b_->Op("RMSNormalization", {ChannelsLast(b_, x.x), weight});
    return {active ? Active(ChannelsFirst(b_, y)) : ChannelsFirst(b_, y), x.width};
  }
  Tensor Active(const Tensor& x) {
    const Scope scope(b_, "act", "GELU");
    return Activate(b_, x, "gelu_pytorch_tanh");
  }

  Image ConvNorm(const Image& x, const char* name, const Conv& c) {
    const Scope scope(b_, name, "ConvNormAct");
    return Norm(Convolve(x, "conv", c), "bn", c.active);
  }

  Image Scaled(const Image& x) {
    const Scope scope(b_, "layer_scale", "LayerScale2d");
    const Tensor scale = Reshape(b_, b_->Weight("gamma", {x.width}), {1, -1, 1, 1});
    return {Mul(b_, x.x, scale), x.width};
  }

  Image Block(const Image& x, const NetV5Block& block, size_t index) {
    const bool edge = block.kind == NetV5Block::Kind::kEdge;
    const bool mixes = block.kind == NetV5Block::Kind::kAttention;
    const Scope scope(b_, absl::StrCat(index),
                      edge    ? "EdgeResidual"
                      : mixes ? "MobileAttention"
                              : "UniversalInvertedResidual");
    Image y = edge    ? EdgeResidual(x, block)
              : mixes ? Scaled(Attend(Norm(x, "norm"), block))
                      : Scaled(InvertedResidual(x, Width(block.out), block));
    if (block.stride == 1 && y.width == x.width) y.x = Add(b_, y.x, x.x);
    return y;
  }

  Image EdgeResidual(const Image& x, const NetV5Block& block) {
    const int64_t inner = block.wider * x.width;
    Image y = Convolve(x, "conv_exp", {.out = inner, .kernel = 3, .stride = block.stride});
    y = Convolve(Norm(y, "bn1", true), "conv_pwl", {.out = Width(block.out)});
    return Norm(y, "bn2");
  }

  Image InvertedResidual(const Image& x, int64_t out, const NetV5Block& block) {
    Image y = x;
    if (block.before > 0) {
      y = ConvNorm(y, "dw_start",
                   {.out = x.width, .kernel = block.before, .each = true, .active = false});
    }
    const int64_t inner = block.wider * x.width;
    y = ConvNorm(y, "pw_exp", {.out = inner});
    if (block.mid > 0) {
      y = ConvNorm(y, "dw_mid",
                   {.out = inner, .kernel = block.mid, .stride = block.stride, .each = true});
    }
    return ConvNorm(y, "pw_proj", {.out = out, .active = false});
  }

  // Keys or values, of one head: [batch, 1, places, dim].
  Tensor OneHead(Image x, const char* name, const NetV5Block& block) {
    const Scope scope(b_, name, "Sequential");
    if (block.coarser > 1) {
      x = Convolve(x, "down_conv",
                   {.out = x.width, .kernel = 3, .stride = block.coarser, .each = true});
      x = Norm(x, "norm", false, "RmsNorm2d");
    }
    return ByHead(Convolve(x, "proj", {.out = block.dim}), 1, block.dim);
  }
  Tensor ByHead(const Image& x, int64_t heads, int64_t dim) {
    const Tensor places = Mul(b_, SizeOf(b_, x.x, 2), SizeOf(b_, x.x, 3));
    const Tensor y = ReshapeBy(b_, x.x, {SizeOf(b_, x.x, 0), b_->Ints({heads, dim}), places});
    return Transpose(b_, y, {0, 1, 3, 2});
  }

  Image Attend(const Image& x, const NetV5Block& block) {
    const Scope scope(b_, "attn", "MultiQueryAttention2d");
    const int64_t width = block.heads * block.dim;
    Tensor q;
    {
      const Scope query(b_, "query", "Sequential");
      q = ByHead(Convolve(x, "proj", {.out = width}), block.heads, block.dim);
    }
    const Tensor k = OneHead(x, "key", block), v = OneHead(x, "value", block);
    const Tensor y = Transpose(b_, b_->Op("Attention", {q, k, v}), {0, 1, 3, 2});
    const Tensor sides = b_->Op("Shape", {x.x}, {{"start", int64_t{2}}});
    const Tensor mixed = ReshapeBy(b_, y, {SizeOf(b_, x.x, 0), b_->Ints({width}), sides});
    const Scope output(b_, "output", "Sequential");
    return Convolve({mixed, width}, "proj", {.out = Width(block.out)});
  }

  Tensor Fuse(const Image& fine, const Image& coarse) {
    const Scope scope(b_, "msfa", "MobileNetV5MultiScaleFusionAdapter");
    const Tensor sides = b_->Op("Shape", {fine.x}, {{"start", int64_t{2}}});
    const Tensor larger =
        b_->Op("Resize", {coarse.x, "", "", sides},
               {{"mode", std::string("nearest")}, {"axes", std::vector<int64_t>{2, 3}}});
    Image y = {Concat(b_, {fine.x, larger}, 1), fine.width + coarse.width};
    {
      const Scope ffn(b_, "ffn", "UniversalInvertedResidual");
      y = InvertedResidual(y, MobileNetV5::kFeatures, InvertedBlock(0, 2, 0));
    }
    return Norm({Pooled(y), y.width}, "norm", false, "RmsNorm2d").x;
  }

  // The means of `side` x `side` parts.
  Tensor Pooled(const Image& x) {
    const Tensor side = b_->Ints({s_.side});
    const auto part = [&](int64_t axis) { return b_->Op("Div", {SizeOf(b_, x.x, axis), side}); };
    const Tensor y =
        ReshapeBy(b_, x.x, {SizeOf(b_, x.x, 0), b_->Ints({x.width}), side, part(2), side, part(3)});
    return b_->Op("ReduceMean", {y, b_->Ints({3, 5})}, {{"keepdims", int64_t{0}}});
  }

  GraphBuilder* b_;
  const MobileNetV5& s_;
};

}  // namespace

MobileNetV5 ReadMobileNetV5(const Config& config) {
  MobileNetV5 s;
  constexpr char kTower[] = "mobilenetv5_300m";
  const std::string name = config.Text("architecture", absl::StrCat(kTower, "_enc"));
  s.encoder = name != kTower;
  if (s.encoder && name != absl::StrCat(kTower, "_enc")) {
    config.Fault("architecture", absl::StrCat("is ", Quoted(name), ": of timm's towers, ", kTower,
                                              "_enc and ", kTower, " are known here"));
  }
  if (!config.Has("model_args")) return s;
  const Config args = config.Child("model_args");
  constexpr double kMostFactor = 1024;
  if (args.Has("channel_multiplier")) s.factor = args.Real("channel_multiplier", 1);
  if (s.factor > kMostFactor) {
    args.Fault("channel_multiplier", "is too large");
    s.factor = 1;
  }
  constexpr int64_t kMostSide = 4096;
  if (args.Has("msfa_output_resolution")) s.side = args.Size("msfa_output_resolution", s.side);
  if (s.side > kMostSide) {
    args.Fault("msfa_output_resolution", "is too large");
    s.side = 1;
  }
  for (const char* key :
       {"act_layer", "block_args", "features_only", "fix_stem", "group_size", "in_chans",
        "layer_scale_init_value", "msfa_indices", "norm_layer", "num_features", "pad_type",
        "se_layer", "stem_bias", "stem_size", "use_msfa"}) {
    if (args.Has(key)) args.Fault(key, "is not known");
  }
  return s;
}

void OpenSides(GraphBuilder* b, const MobileNetV5& s) {
  for (const char* symbol : {"height", "width"}) {
    b->AssumeDim(symbol, s.Usual());
    b->MultipleDim(symbol, s.Unit());
  }
}

const char* ClassOf(const MobileNetV5& s) {
  return s.encoder ? "MobileNetV5Encoder" : "MobileNetV5";
}

Tensor BuildMobileNetV5(GraphBuilder* b, const Tensor& pixels, const MobileNetV5& s) {
  return MobileNetV5Builder(b, s).Build(pixels);
}

}  // namespace onnxflops::family
