// Boxes and regions of images.
//
// How it works. How many boxes are selected, and how large a decoded image is, depends on the data:
// such a size is a fresh symbol, with a bound where the inputs give one (boxes per class, times
// classes, times batch). Costs are per selection or per sampled point, as the algorithm of the
// specification prescribes.
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/choice.h"
#include "ops/content.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- NonMaxSuppression
//
// boxes[B,N,4], scores[B,C,N] -> selected[S,3]: per batch and class, the best box is selected and
// those that overlap it too much are dropped, until none is left.
// Each of the S selections looks at all N boxes of its class: for the best score, and for the
// overlap with it.

absl::StatusOr<Facts> InferNonMaxSuppression(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape boxes, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(const Shape scores, n.RankedShape(1, 3));
  RETURN_IF_ERROR(n.RequireSame("batch", boxes[0], scores[0]));
  RETURN_IF_ERROR(n.RequireSame("boxes", boxes[1], scores[2]));
  RETURN_IF_ERROR(n.RequireSame("coordinates", boxes[2], 4));
  const std::optional<Expr> most = n.HasInput(2) ? n.KnownInt(2) : Expr(0);
  const Expr per_class = most.has_value() ? Min(Max(*most, 0), boxes[1]) : boxes[1];
  const Expr bound = scores[0] * scores[1] * per_class;
  const Expr selected = most == Expr(0) ? Expr(0)
                                        : n.FreshDim(0, 0, "nonmaxsuppression",
                                                     SymbolOrigin::Kind::kData, {&bound, 1});
  return Facts{Fact::Tensor(DType::kInt64, {selected, 3})};
}

// ---- RoiAlign
//
// X[N,C,H,W], rois[R,4] -> Y[R,C,oh,ow]: each bin is the mean (or maximum) of s x s points, each
// interpolated between four elements, s = sampling_ratio.

absl::StatusOr<Facts> InferRoiAlign(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0, 4));
  ASSIGN_OR_RETURN(const Shape rois, n.RankedShape(1, 2));
  RETURN_IF_ERROR(n.RequireSame("coordinates", rois[1], 4));
  Expr regions = rois[0];
  if (HasRank(n, 2)) {
    ASSIGN_OR_RETURN(const Shape batch, n.RankedShape(2, 1));
    ASSIGN_OR_RETURN(regions, Unify(n, "regions", rois[0], batch[0]));
  }
  const int64_t height = n.Int("output_height", 1), width = n.Int("output_width", 1);
  if (height < 1 || width < 1) {
    return absl::InvalidArgumentError(absl::StrCat("an output of ", height, " x ", width));
  }
  const int64_t ratio = n.Int("sampling_ratio", 0);
  if (ratio < 0) return absl::InvalidArgumentError(absl::StrCat("sampling_ratio is ", ratio));
  RETURN_IF_ERROR(ChoiceAttr(n, "mode", "avg", {"avg", "max"}).status());
  RETURN_IF_ERROR(ChoiceAttr(n, "coordinate_transformation_mode", "half_pixel",
                             {"half_pixel", "output_half_pixel"})
                      .status());
  return Facts{n.Like(0, {regions, x[1], height, width})};
}

// ---- MaxRoiPool: X[N,C,H,W], rois[R,5] -> Y[R,C,ph,pw]
absl::StatusOr<Facts> InferMaxRoiPool(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0, 4));
  ASSIGN_OR_RETURN(const Shape rois, n.RankedShape(1, 2));
  RETURN_IF_ERROR(n.RequireSame("columns of rois", rois[1], 5));
  const auto pooled = n.Ints("pooled_shape");
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1) {
    return absl::InvalidArgumentError("pooled_shape is not two sizes");
  }
  return Facts{n.Like(0, {rois[0], x[1], pooled[0], pooled[1]})};
}

// ---- ImageDecoder: an encoded image to [height, width, channels]
absl::StatusOr<Facts> InferImageDecoder(const NodeView& n) {
  if (HasRank(n, 0)) {
    ASSIGN_OR_RETURN(const Shape stream, n.RankedShape(0, 1));
  }
  ASSIGN_OR_RETURN(const absl::string_view format,
                   ChoiceAttr(n, "pixel_format", "RGB", {"RGB", "BGR", "Grayscale"}));
  const Expr height = n.FreshDim(0, 0, "height"), width = n.FreshDim(0, 1, "width");
  return Facts{Fact::Tensor(DType::kUint8, {height, width, format == "Grayscale" ? 1 : 3})};
}

constexpr OpDef kDetectionRows[] = {
    // Of a box and the best one: the corners of the intersection cmp=4, its sides add=2 kept from
    // being negative cmp=2, its area mul=1; both areas add=4 mul=2; the union add=2; the ratio
    // div=1 against the threshold cmp=1; and the search for the best score cmp=1. Corners from
    // center and size, or from either diagonal, once per box.
    {.name = "NonMaxSuppression",
     .versions = {10, 11},
     .formula =
         "selected[S,3] = the boxes[B,N,4] of the best scores[B,C,N] that overlap no better one",
     .data = {.signature = "boxes[B, N, 4] scores[B, C, N] max_output_boxes_per_class? "
                           "iou_threshold? score_threshold? -> selected[S, 3]",
              .attributes = "center_point_box = 0",
              .let = "centered = attr.center_point_box != 0",
              .costs = "float_add = 8*S*N + centered*4*B*N; float_mul = 3*S*N; float_div = S*N + "
                       "centered*2*B*N; float_cmp = 8*S*N + (1 - centered)*4*B*N + "
                       "score_threshold.given*scores.elements"},
     .infer = InferNonMaxSuppression,
     .examples =
         {{"float[1,N,4] b, float[1,80,N] s -> int64[0,3] y", "cmp=4*N"},
          {"g (float[2,100,4] b, float[2,80,100] s) => (int64[0,3] y) <int64 m = {0}, float i = "
           "{0.5}, float t = {0.1}> { y = NonMaxSuppression<center_point_box=1>(b, s, m, i, t) }",
           "add=800 div=400 cmp=16000"}},
     .shape_inputs = 1 << 2,
     .traits = Traits::kReadsContent,
     .note =
         "Greedy: each of the S selected boxes, a symbol that depends on data, is compared with "
         "all N boxes of its class. Corners per box: cmp=4, or add=4 div=2 with "
         "center_point_box."},
    {.name = "RoiAlign",
     .versions = {10, 16, 22},
     .formula = "Y[R,C,oh,ow] = mean or max over s^2 points per bin of rois[R,4], each "
                "interpolated in X[N,C,H,W]",
     .data = {.signature = "X[N, C, H, W] rois[R, 4] batch_indices -> Y[R, C, h, w]",
              .attributes = "sampling_ratio = 0; mode = avg|max; coordinate_transformation_mode "
                            "= half_pixel|output_half_pixel",
              .let =
                  "shifted = (version >= 16)*attr.coordinate_transformation_mode.half_pixel; ratio "
                  "= if(attr.sampling_ratio > 0, attr.sampling_ratio, unknown); points = "
                  "R*h*w*ratio^2; values = Y.elements*ratio^2",
              .costs = "float_add = R*if(shifted, 6, 2) + 8*points + attr.mode.avg*4*values; "
                       "float_mul = 4*R + 8*points + 4*values; float_div = 2*R + 2*points + "
                       "attr.mode.avg*Y.elements; float_cmp = R*if(shifted, 0, 2) + 6*points + "
                       "attr.mode.max*4*values; float_round = 2*points",
              .unknown = "without a sampling_ratio the size of each region decides how many points "
                         "are sampled"},
     .infer = InferRoiAlign,
     .examples = {{"float[1,256,H,W] x, float[R,4] r, int64[R] b -> float[R,256,7,7] y "
                   "<output_height=7, output_width=7, sampling_ratio=2, spatial_scale=0.25>",
                   "add=202278*R mul=202276*R div=12938*R cmp=1176*R round=392*R"},
                  {"float[1,8,H,W] x, float[R,4] r, int64[R] b -> float[R,8,1,1] y <mode=\"max\", "
                   "sampling_ratio=1>",
                   "add=10*R mul=44*R div=4*R cmp=40*R round=2*R", 10}},
     .traits = Traits::kSamples,
     .note =
         "Per point add=8 mul=8 div=2 cmp=6 round=2, shared by the channels; per region mul=4 "
         "div=2 and add=6 (half_pixel) or add=2 cmp=2. With sampling_ratio = 0 the regions decide "
         "how many points there are: not known from the graph.",
     .gradient = {.formula =
                      "dX = dY spread by the weights of the points: as forward; regions take none",
                  .as_forward = true}},
    {.name = "MaxRoiPool",
     .versions = {1, 22},
     .formula = "Y[R,C,ph,pw] = the largest element of X[N,C,H,W] in each bin of rois[R,5]",
     .infer = InferMaxRoiPool,
     .examples = {{"float[1,256,H,W] x, float[R,5] r -> float[R,256,7,7] y <pooled_shape=[7,7]>",
                   ""}},
     .traits = Traits::kSamples | Traits::kUnknown,
     .note = "the regions, which are data, decide how many elements are compared"},
    {.name = "ImageDecoder",
     .versions = {20},
     .formula = "image[height, width, channels] = the decoded stream",
     .infer = InferImageDecoder,
     .examples = {{"uint8[L] x -> uint8[H,W,3] y", "free"},
                  {"uint8[L] x -> uint8[H,W,1] y <pixel_format=\"Grayscale\">", "free"}},
     .onnx = {.finds = OnnxInference::Finds::kRanks},
     .note = "What a codec computes is not part of the model."},
};

}  // namespace

constinit const OpFamily kDetectionFamily = {"", kDetectionRows};

}  // namespace onnxflops
