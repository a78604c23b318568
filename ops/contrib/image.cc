// com.microsoft: samples of images.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/contrib/plain.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

constexpr int kGridSampleOpset = 16;

absl::StatusOr<Facts> InferGridSample(const NodeView& n) {
  return InferAs(n, "GridSample", InputsOf(n), kGridSampleOpset);
}

// ---- CropAndResize: Y[R,C,h,w], h and w in crop_size, of X[N,C,H,W] and R boxes

absl::StatusOr<Facts> InferCropAndResize(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 4));
  ASSIGN_OR_RETURN(Shape boxes, n.RankedShape(1, 2));
  const std::optional<Dims> size = n.KnownInts(3);
  if (size.has_value() && size->size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("crop_size has ", size->size(), " elements"));
  }
  Shape y = {boxes[0], x[1]};
  for (int i = 0; i < 2; ++i) {
    y.push_back(size.has_value() ? (*size)[static_cast<size_t>(i)]
                                 : n.FreshDim(0, i + 2, "cropandresize"));
  }
  return Facts{n.Like(0, std::move(y))};
}

constexpr OpDef kMsImageRows[] = {
    // Of a box, along each axis, the distance between places: (end - start) * (size - 1) / (n - 1).
    // Where a row (or column) of the crop is, whether that is in the image, and its rounding. If
    // bilinear, the neighbour above and the distance to the one below; per channel a + (b - a) *
    // distance between two elements of both rows, and between the rows.
    {.name = "CropAndResize",
     .formula = "Y[R,C,h,w] = boxes of X, resized",
     .data = {.signature = "X rois batch_indices crop_size -> Y[R, C, h, w]",
              .attributes = "mode = bilinear|nearest",
              .let = "lines = R*(h + w); bilinear = attr.mode.bilinear",
              .costs =
                  "add = 2*R + (1 + bilinear)*lines + bilinear*6*Y.elements; mul = 2*R + 2*lines + "
                  "bilinear*3*Y.elements; div = 2*R; cmp = 2*lines; round = (1 + bilinear)*lines"},
     .infer = InferCropAndResize,
     .examples = {{"g (float[N,3,20,20] X, float[R,4] B, int32[R] I) => (float[R,3,6,7] Y) "
                   "<int32[2] s = {6, 7}> { Y = com.microsoft.CropAndResize(X, B, I, s) }",
                   "add=784*R mul=406*R div=2*R cmp=26*R round=26*R"}},
     .shape_inputs = 1 << 3,
     .traits = Traits::kSamples | Traits::kReadsContent},
    {.name = "GridSample",
     .formula = "as ai.onnx GridSample of version 16",
     .data = {.costs = "as GridSample"},
     .infer = InferGridSample,
     .examples = {{"float[N,3,8,8] X, float[N,4,5,2] G -> float[N,3,4,5] Y <mode = \"nearest\">",
                   "add=80*N mul=40*N div=40*N round=40*N"}},
     .traits = Traits::kSamples},
};

}  // namespace

constinit const OpFamily kMsImageFamily = {"com.microsoft", kMsImageRows};

}  // namespace onnxflops
