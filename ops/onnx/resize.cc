// Sampling between the elements: Upsample, Resize, GridSample, AffineGrid.
//
// How it works. Interpolation along one axis from t neighbors is t mul and t add (sum of weight
// times value); along several axes it nests: the outermost axis interpolates between t results of
// the next one. Weights are taken as given. Nearest is free. With antialias the number of neighbors
// grows as the axis shrinks.
//
// Sizes are floor(size * scale). A scale is a float32, so 0.7 is really a little less than 7/10,
// and floor(10 * 0.7) would be 6. Runtimes get 7, since they multiply in float32. The code
// therefore takes the simplest fraction that rounds to the same float32 (by its continued
// fraction), which also works for symbolic sizes.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/choice.h"
#include "ops/content.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

enum class Mode { kNearest, kLinear, kCubic };

absl::StatusOr<Mode> ModeOf(const NodeView& n, absl::string_view otherwise) {
  ASSIGN_OR_RETURN(
      const absl::string_view mode,
      ChoiceAttr(n, "mode", otherwise, {"nearest", "linear", "bilinear", "cubic", "bicubic"}));
  if (mode == "nearest") return Mode::kNearest;
  return mode == "linear" || mode == "bilinear" ? Mode::kLinear : Mode::kCubic;
}

// Values weighted for one sampled element: t0 + t0*t1 + t0*t1*t2, for t_i neighbors along axis i.
Expr WeightedValues(absl::Span<const Expr> taps) {
  Expr sum = 0, product = 1;
  for (const Expr& t : taps) {
    product *= t;
    sum += product;
  }
  return sum;
}

// ---- Upsample, Resize
//
// Y[floor(d_i * scale_i)] or Y[sizes_i], sampled from X.

struct Fraction {
  int64_t numerator, denominator;
};

// The first fraction of a continued one that rounds to this float32: 7/10 of 0.7, 5/6 of 0.8333333.
Fraction FractionOf(double value) {
  constexpr double kMost = 0x1p53;
  Fraction before = {0, 1}, at = {1, 0};
  for (double rest = value; rest < kMost; rest = 1 / (rest - std::floor(rest))) {
    const auto whole = static_cast<int64_t>(rest);
    const Fraction next = {whole * at.numerator + before.numerator,
                           whole * at.denominator + before.denominator};
    before = at;
    at = next;
    const double reached = static_cast<double>(at.numerator) / static_cast<double>(at.denominator);
    if (static_cast<float>(reached) == static_cast<float>(value)) break;
  }
  return at;
}

// The size of an axis scaled: floor(size * scale). 10 * 0.7 is 7, as in PyTorch and in ONNX
// Runtime's float32, though the float32 nearest to 0.7 is less. nullopt where the scale is not
// known.
absl::StatusOr<std::optional<Expr>> ScaledSize(const Expr& size, const Scalar& scale) {
  if (scale.is_int()) return size * scale.i;
  if (scale.is_ratio()) return FloorDiv(size * scale.i, static_cast<int64_t>(scale.f));
  if (!scale.is_float()) return std::nullopt;
  if (!(scale.f > 0)) return absl::InvalidArgumentError(absl::StrCat("a scale of ", scale.f));
  constexpr double kMost = 0x1p53, kLeast = 0x1p-40;
  if (scale.f > kMost || scale.f < kLeast) return std::nullopt;
  const Fraction fraction = FractionOf(scale.f);
  return FloorDiv(size * fraction.numerator, fraction.denominator);
}

bool IsGiven(const NodeView& n, int input) {
  if (!n.HasInput(input)) return false;
  const Fact& fact = n.input(input);
  return !(HasRank(n, input) && fact.shape.NumElements() == Expr(0));  // empty: left out
}

absl::StatusOr<Axes> ResizedAxes(const NodeView& n, int rank) {
  Sizes axes;
  for (int64_t axis : n.Ints("axes")) axes.push_back(axis);
  if (!n.HasAttr("axes")) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  return AxesOf(n, axes, rank);
}

// The scale factors of `axes`, each for itself unknown.
absl::StatusOr<std::vector<Scalar>> ScalesOf(const NodeView& n, const Axes& axes) {
  std::vector<Scalar> scales;
  if (n.version() == 1) {
    if (axes.size() != 4) return absl::InvalidArgumentError("the input is not of rank 4");
    return std::vector<Scalar>{Scalar::Float(1), Scalar::Float(1),
                               Scalar::Float(n.Float("height_scale", 1)),
                               Scalar::Float(n.Float("width_scale", 1))};
  }
  const int input = n.version() >= 11 ? 2 : 1;
  if (n.version() == 7) {
    for (float scale : n.Floats("scales")) scales.push_back(Scalar::Float(scale));
  } else if (n.input(input).has_content()) {
    scales = *n.input(input).content;
  } else {
    scales.resize(axes.size());
  }
  if (scales.size() != axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("scales has ", scales.size(), " factors for ", axes.size(), " axes"));
  }
  return scales;
}

// Sizes under keep_aspect_ratio_policy: all axes are scaled by the least (or greatest) factor.
std::optional<std::vector<int64_t>> KeepAspectRatio(const Shape& x, const Axes& axes,
                                                    const MaybeInts& sizes, bool not_larger) {
  double scale = not_larger ? INFINITY : 0;
  std::vector<int64_t> result;
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::optional<int64_t> from = x[axes[i]].AsInt64();
    const std::optional<int64_t> to = sizes[i].has_value() ? sizes[i]->AsInt64() : std::nullopt;
    if (!from.has_value() || !to.has_value() || *from < 1) return std::nullopt;
    const double factor = static_cast<double>(*to) / static_cast<double>(*from);
    scale = not_larger ? std::min(scale, factor) : std::max(scale, factor);
  }
  for (int axis : axes) {
    const double size = std::floor(scale * static_cast<double>(*x[axis].AsInt64()) + 0.5);
    constexpr double kMost = 0x1p62;
    if (!(size < kMost)) return std::nullopt;
    result.push_back(static_cast<int64_t>(size));
  }
  return result;
}

absl::StatusOr<Shape> ShapeBySizes(const NodeView& n, Shape x, const Axes& axes) {
  ASSIGN_OR_RETURN(MaybeInts sizes, IntsOf(n, 3, axes.size()));
  ASSIGN_OR_RETURN(const absl::string_view policy,
                   ChoiceAttr(n, "keep_aspect_ratio_policy", "stretch",
                              {"stretch", "not_larger", "not_smaller"}));
  if (policy != "stretch") {
    const auto kept = KeepAspectRatio(x, axes, sizes, policy == "not_larger");
    for (size_t i = 0; i < sizes.size() && sizes.size() > 1; ++i) {
      sizes[i] = kept.has_value() ? std::optional<Expr>((*kept)[i]) : std::nullopt;
    }
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    x[axes[i]] = OrFresh(n, sizes[i], 0, axes[i], "resize");
  }
  return x;
}

absl::StatusOr<Shape> ShapeByScales(const NodeView& n, Shape x, const Axes& axes) {
  ASSIGN_OR_RETURN(const std::vector<Scalar> scales, ScalesOf(n, axes));
  for (size_t i = 0; i < axes.size(); ++i) {
    ASSIGN_OR_RETURN(const std::optional<Expr> size, ScaledSize(x[axes[i]], scales[i]));
    x[axes[i]] = OrFresh(n, size, 0, axes[i], "resize");
  }
  return x;
}

absl::StatusOr<Facts> InferResize(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(const Axes axes, ResizedAxes(n, x.rank()));
  const bool by_sizes = n.version() >= 11 && IsGiven(n, 3);
  const bool by_scales = n.version() <= 7 || IsGiven(n, n.version() >= 11 ? 2 : 1);
  if (!by_sizes && !by_scales) {
    return absl::InvalidArgumentError("neither scales nor sizes are given");
  }
  ASSIGN_OR_RETURN(Shape out, by_sizes ? ShapeBySizes(n, std::move(x), axes)
                                       : ShapeByScales(n, std::move(x), axes));
  return Facts{n.Like(0, std::move(out))};
}

// The axes between whose elements is interpolated: those that the attribute names, else all but
// batch and channels.
absl::StatusOr<Axes> SampledAxes(const NodeView& n, int rank) {
  if (n.HasAttr("axes")) return ResizedAxes(n, rank);
  Axes axes;
  for (int i = rank > 2 ? 2 : 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

// Neighbors of one element: 2 or 4; with antialias as many more as the axis shrinks.
Expr Taps(Mode mode, bool antialias, const Expr& from, const Expr& to) {
  const int radius = mode == Mode::kLinear ? 1 : 2;
  if (!antialias) return 2 * radius;
  return 2 * Max(radius, CeilDiv(radius * from, to));
}

absl::StatusOr<Cost> CountResize(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(const Shape y, n.OutputShape(0));
  ASSIGN_OR_RETURN(const Mode mode, ModeOf(n, "nearest"));
  ASSIGN_OR_RETURN(const Axes axes, SampledAxes(n, x.rank()));
  const Expr elements = y.NumElements();
  if (mode == Mode::kNearest || elements == Expr(0)) return Cost();
  std::vector<Expr> taps;
  for (int axis : axes) taps.push_back(Taps(mode, n.Flag("antialias"), x[axis], y[axis]));
  Cost cost;
  cost.flops[Kind::kMul] = cost.flops[Kind::kAdd] = elements * WeightedValues(taps);
  return cost;
}

absl::StatusOr<Census> ResizeGradient(const NodeView& n, const GradientQuery& query) {
  if (!query.forward.IsZero()) return query.forward;
  ASSIGN_OR_RETURN(const Shape y, n.OutputShape(0));
  Census work;
  work[Kind::kAdd] = y.NumElements();
  return work;
}

// ---- GridSample
//
// Y[N,C,o1..od] = X[N,C,i1..id] sampled at the places grid[N,o1..od,d], which are normalized to
// [-1,1].

absl::StatusOr<Facts> InferGridSample(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.ShapeOfRankAtLeast(0, 3));
  ASSIGN_OR_RETURN(const Shape grid, n.RankedShape(1, x.rank()));
  RETURN_IF_ERROR(n.RequireSame("the number of coordinates", x.rank() - 2, grid[x.rank() - 1]));
  RETURN_IF_ERROR(ModeOf(n, "linear").status());
  RETURN_IF_ERROR(
      ChoiceAttr(n, "padding_mode", "zeros", {"zeros", "border", "reflection"}).status());
  ASSIGN_OR_RETURN(const Expr batch, Unify(n, "N", x[0], grid[0]));
  Shape out = {batch, x[1]};
  for (int i = 1; i + 1 < grid.rank(); ++i) out.push_back(grid[i]);
  return Facts{n.Like(0, std::move(out))};
}

// ---- AffineGrid
//
// grid[N,D,H,W,3] = theta[N,3,4] (w, h, d, 1), evenly spaced coordinates in [-1,1]; in two
// dimensions grid[N,H,W,2] = theta[N,2,3] (w, h, 1). `size` lists N, C and the spatial dimensions.

absl::StatusOr<Facts> InferAffineGrid(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape theta, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(const MaybeInts size, IntsOf(n, 1));
  if (size.size() != 4 && size.size() != 5) {
    return absl::InvalidArgumentError(absl::StrCat("size has ", size.size(), " elements"));
  }
  const int axes = static_cast<int>(size.size()) - 2;
  RETURN_IF_ERROR(n.RequireSame("rows of theta", theta[1], axes));
  RETURN_IF_ERROR(n.RequireSame("columns of theta", theta[2], axes + 1));
  Shape out = {theta[0]};
  if (size[0].has_value()) {
    ASSIGN_OR_RETURN(out[0], Unify(n, "N", theta[0], *size[0]));
  }
  for (int i = 0; i < axes; ++i) {
    out.push_back(OrFresh(n, size[static_cast<size_t>(i) + 2], 0, i + 1, "affinegrid"));
  }
  out.push_back(axes);
  return Facts{n.Like(0, std::move(out))};
}

constexpr char kResizeFormula[] =
    "y[sizes] or y[floor(d_i * scale_i)] = x sampled; nearest: no arithmetic; linear (t = 2) and "
    "cubic (t = 4): mul = add = elements of y * (t + t^2 + .. + t^d), d axes";
constexpr char kResizeNote[] =
    "d counts the axes that `axes` names, else all but the first two, whether their scale is 1 or "
    "not. Coordinates and weights are found once per place of an axis, which is index arithmetic, "
    "and free. Antialias: t = 2 * max(r, ceil(r * size / new size)) with r = 1 (linear) or 2 "
    "(cubic). "
    "Integers are interpolated in floating point.";

constexpr OpDef kResizeRows[] = {
    {.name = "Upsample",
     .versions = {1, 7, 9, 10},
     .formula = kResizeFormula,
     .infer = InferResize,
     .count = CountResize,
     .examples =
         {{"g (float[N,3,5,7] x) => (float[N,3,10,14] y) <float[4] s = {1.0, 1.0, 2.0, 2.0}> { y = "
           "Upsample(x, s) }",
           "free", 9},
          {"float[N,3,5,7] x -> float[N,3,10,14] y <mode=\"linear\", scales=[1.0,1.0,2.0,2.0]>",
           "add=2520*N mul=2520*N", 7},
          {"float[N,3,5,7] x -> float[N,3,10,21] y <mode=\"bilinear\", height_scale=2.0, "
           "width_scale=3.0>",
           "add=3780*N mul=3780*N", 1}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kSamples | Traits::kReadsContent,
     .onnx = {.since = 7},
     .note = kResizeNote,
     .gradient = {.formula = "dX = dY times its weight, added at the places read: as forward",
                  .rule = ResizeGradient,
                  .keeps = {.nothing = true}}},
    {.name = "Resize",
     .versions = {10, 11, 13, 18, 19},
     .formula = kResizeFormula,
     .infer = InferResize,
     .count = CountResize,
     .examples =
         {{"g (float[N,3,H,W] x) => (float[N,3,224,224] y) <int64[2] s = {224, 224}> { y = "
           "Resize<axes=[2,3], mode=\"cubic\">(x, , , s) }",
           "add=3010560*N mul=3010560*N"},
          {"g (float[1,3,H,8] x) => (float[1,3,H,12] y) <float[4] s = {1.0, 1.0, 1.0, 1.5}> { y = "
           "Resize<mode=\"linear\">(x, , s) }",
           "add=216*H mul=216*H"},
          {"g (float[N,3,8,8] x) => (float[N,3,4,2] y) <int64[2] s = {4, 2}> { y = "
           "Resize<mode=\"linear\", antialias=1, axes=[2,3]>(x, , , s) }",
           "add=864*N mul=864*N"},
          {"g (float[N,3,8,8] x) => (float[N,3,12,12] y) <float[4] s = {1.0, 1.0, 1.5, 1.5}> { y = "
           "Resize(x, s) }",
           "free", 10}},
     .shape_inputs = 1 << 1 | 1 << 2 | 1 << 3,
     .traits = Traits::kSamples | Traits::kReadsContent,
     .onnx = {.ranks_without = InputBits({2}),
              .followed_inputs = InputBits({3}),
              .followed_since = 11},
     .note = kResizeNote,
     .gradient = {.formula = "dX = dY times its weight, added at the places read: as forward",
                  .rule = ResizeGradient,
                  .keeps = {.nothing = true}}},
    {.name = "GridSample",
     .versions = {16, 20, 22},
     .formula = "Y[N,C,o1..od] = X sampled at grid",
     .data = {.signature = "X[N, C, i...] grid -> Y[N, C, o...]",
              .attributes = "mode = linear|bilinear|nearest|cubic|bicubic; padding_mode = "
                            "zeros|border|reflection; align_corners = 0",
              .let = "d = Y.rank - 2; places = N*o*d; linear = attr.mode.linear + "
                     "attr.mode.bilinear; cubic = attr.mode.cubic + attr.mode.bicubic; weighted = "
                     "Y.elements*(linear*(2^(d + 1) - 2) + cubic*((4^(d + 1) - 4)//3))",
              .costs =
                  "float_add = places*(if(attr.align_corners, 1, 2) + 2*linear + 14*cubic) + "
                  "weighted; float_mul = places*(1 + 12*cubic) + weighted; float_div = places; "
                  "float_round = places; float_cmp = places*(2 - 2*attr.padding_mode.zeros)"},
     .infer = InferGridSample,
     .examples = {{"float[N,3,8,8] x, float[N,4,5,2] p -> float[N,3,4,5] y",
                   "add=520*N mul=400*N div=40*N round=40*N"},
                  {"float[N,3,8,8] x, float[N,4,5,2] p -> float[N,3,4,5] y <mode=\"nearest\", "
                   "padding_mode=\"border\", align_corners=1>",
                   "add=40*N mul=40*N div=40*N cmp=80*N round=40*N"},
                  {"float[N,3,8,8] x, float[N,4,5,2] p -> float[N,3,4,5] y <mode=\"bicubic\">",
                   "add=1840*N mul=1720*N div=40*N round=40*N", 16}},
     .traits = Traits::kSamples,
     .note =
         "Per coordinate of the grid: scaling add=2 mul=1 div=1 (align_corners: add=1), round=1, "
         "linear add=2, cubic add=14 mul=12, padding other than zeros cmp=2. Reflecting a "
         "coordinate that is outside depends on data and is not counted.",
     .gradient =
         {.formula =
              "dX = dY spread by the weights, dgrid = dY with their slopes: as forward for each; "
              "nearest has no dgrid",
          .let = "sloped = grid.needed*(1 - attr.mode.nearest); k = X.needed + sloped",
          .costs = "add = k*forward.add + X.needed*attr.mode.nearest*Y.elements; mul = "
                   "k*forward.mul; div = k*forward.div; round = k*forward.round; cmp = "
                   "k*forward.cmp",
          .keeps = {.inputs = InputBits({0, 1})}}},
    {.name = "AffineGrid",
     .versions = {20},
     .formula = "grid[N,P,r] = theta[N,r,r+1] * (coordinates of P places, 1)",
     .data = {.signature = "theta size -> grid",
              .attributes = "align_corners = 0",
              .let = "d = grid.rank - 2; places = grid[1] + grid[2] + if(d == 3, grid[3], 0)",
              .costs = "float_mac = grid.elements*(d + 1); float_mul = places; float_add = places "
                       "+ d; float_div = if(attr.align_corners, 1, 2)*d"},
     .infer = InferAffineGrid,
     .least = NoMacs,  // a product with each coordinate is enough
     .mac_operands = TypesOf<0, 0>,
     .examples =
         {{"g (float[N,2,3] t) => (float[N,5,7,2] y) { s = Constant<value_ints=[3,5,7]>() i = "
           "Shape<start=0, end=1>(t) z = Concat<axis=0>(i, s) y = AffineGrid(t, z) }",
           "mac=210*N add=14 mul=12 div=4"},
          {"g (float[N,3,4] t) => (float[N,2,5,7,3] y) { s = Constant<value_ints=[3,2,5,7]>() i = "
           "Shape<start=0, end=1>(t) z = Concat<axis=0>(i, s) y = AffineGrid<align_corners=1>(t, "
           "z) }",
           "mac=840*N add=17 mul=14 div=3"}},
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent,
     .onnx = {.followed_inputs = InputBits({1})},
     .exceptions =
         {{"always", "mac add mul div int_add int_cmp",
           "the function body does two dimensions as three, copies coordinates to the grid by "
           "adding zeros, and makes them from Ranges of integers; it compares sizes for its Ifs"}},
     .gradient = {.formula = "dtheta = dgrid' with the coordinates: a product as large as forward",
                  .products = InputBits({0})}},
};

}  // namespace

constinit const OpFamily kResizeFamily = {"", kResizeRows};

}  // namespace onnxflops
