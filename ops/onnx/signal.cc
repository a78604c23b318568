// Fourier transforms, window functions and the mel filter bank.
//
// How it works. A transform of length n counts as a fast one by radix 2: ceil(log2 n) stages of n/2
// butterflies, each a complex product and two complex sums, for any n. The code finds what the
// formulas need: which axis is transformed, its length (given, or the axis itself), and the number
// of bins, which is n/2 + 1 if only one side is wanted. The inverse of a one-sided transform has
// length 2 (n - 1). An STFT transforms each frame; its number follows from signal, frame length and
// step. A length or step that is decided at run time gives a fresh symbol.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- Fourier transforms
//
// One transform of length n by radix 2: ceil(log2 n) stages of n/2 butterflies, each a complex
// product and two complex sums.

struct Dft {
  Shape x;
  int axis = 0;
  std::optional<Expr> length;  // nullopt when dft_length is decided at run time
  bool onesided = false, inverse = false;
};

// The axis: an attribute in opset 17 (1), an input from opset 20 on (-2). The last one is that of
// real and imaginary part.
absl::StatusOr<int> DftAxis(const NodeView& n, int rank) {
  int64_t axis = -2;
  if (n.version() < 20) {
    axis = n.Int("axis", 1);
  } else if (n.HasInput(2)) {
    std::optional<Expr> known = n.KnownInt(2);
    if (!known.has_value() || !known->AsInt64().has_value()) {
      return absl::FailedPreconditionError("the axis is not known");
    }
    axis = *known->AsInt64();
  }
  ASSIGN_OR_RETURN(int normalized, n.Axis(axis, rank));
  if (normalized == rank - 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is that of real and imaginary parts"));
  }
  return normalized;
}

absl::StatusOr<Dft> ReadDft(const NodeView& n) {
  Dft dft;
  ASSIGN_OR_RETURN(dft.x, n.ShapeOfRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(dft.axis, DftAxis(n, dft.x.rank()));
  dft.onesided = n.Flag("onesided");
  dft.inverse = n.Flag("inverse");
  if (dft.onesided) {  // real input forward, complex input backward
    RETURN_IF_ERROR(n.RequireSame("last dimension", dft.x[dft.x.rank() - 1], dft.inverse ? 2 : 1));
  }
  if (n.HasInput(1)) {
    dft.length = n.KnownInt(1);
  } else if (dft.onesided && dft.inverse) {
    dft.length = 2 * (dft.x[dft.axis] - 1);
  } else {
    dft.length = dft.x[dft.axis];
  }
  return dft;
}

absl::StatusOr<Facts> InferDft(const NodeView& n) {
  ASSIGN_OR_RETURN(Dft dft, ReadDft(n));
  Shape y = dft.x;
  if (!dft.length.has_value()) {
    y[dft.axis] = n.FreshDim(0, dft.axis, "dft");
  } else if (dft.onesided && !dft.inverse) {
    y[dft.axis] = FloorDiv(*dft.length, 2) + 1;
  } else {
    y[dft.axis] = *dft.length;
  }
  y[y.rank() - 1] = dft.onesided && dft.inverse ? 1 : 2;
  return Facts{n.Like(0, std::move(y))};
}

// STFT: signal [B, S, 1 or 2] -> Y [B, frames, bins, 2]; window [length].
struct Stft {
  Shape signal;
  std::optional<Expr> frames, length;  // nullopt when decided at run time
};

absl::StatusOr<Stft> ReadStft(const NodeView& n) {
  Stft stft;
  ASSIGN_OR_RETURN(stft.signal, n.ShapeOfRankAtLeast(0, 2));
  if (stft.signal.rank() > 3) {
    return absl::InvalidArgumentError(absl::StrCat("signal has rank ", stft.signal.rank()));
  }
  stft.length = stft.signal[1];
  if (n.HasInput(2)) {
    ASSIGN_OR_RETURN(Shape window, n.RankedShape(2, 1));
    stft.length = window[0];
  }
  if (n.HasInput(3)) {
    std::optional<Expr> length = n.KnownInt(3);
    if (length.has_value() && n.HasInput(2)) {
      RETURN_IF_ERROR(n.RequireSame("frame_length", *length, *stft.length));
    }
    if (length.has_value() || !n.HasInput(2)) stft.length = std::move(length);
  }
  std::optional<Expr> step = n.KnownInt(1);
  if (!step.has_value() || !stft.length.has_value()) return stft;
  if (step->is_literal() && step->literal() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame_step = ", step->ToString(), " is not positive"));
  }
  stft.frames = FloorDiv(stft.signal[1] - *stft.length, *step) + 1;
  return stft;
}

absl::StatusOr<Facts> InferStft(const NodeView& n) {
  ASSIGN_OR_RETURN(Stft stft, ReadStft(n));
  const Expr frames = stft.frames.has_value() ? *stft.frames : n.FreshDim(0, 1, "stft");
  Expr bins;
  if (!stft.length.has_value()) {
    bins = n.FreshDim(0, 2, "stft");
  } else {
    bins = n.Flag("onesided", true) ? FloorDiv(*stft.length, 2) + 1 : *stft.length;
  }
  return Facts{n.Like(0, Shape{stft.signal[0], frames, bins, 2})};
}

// ---- windows: a0 - a1 cos(2 pi k / size) + a2 cos(4 pi k / size), where only Blackman has an a2

absl::Status RequirePositive(absl::string_view what, const Expr& size) {
  if (!size.is_literal() || size.literal() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " = ", size.ToString(), " is not positive"));
}

absl::StatusOr<Facts> InferWindow(const NodeView& n) {
  ASSIGN_OR_RETURN(DType type, DTypeAttr(n, "output_datatype", DType::kFloat32));
  std::optional<Expr> size = n.KnownInt(0);
  if (!size.has_value()) size = n.FreshDim(0, 0, "window");
  RETURN_IF_ERROR(RequirePositive("size", *size));
  return Facts{Fact::Tensor(type, Shape{*size})};
}

// MelWeightMatrix: Y [F, M], F = dft_length / 2 + 1 frequencies, M triangles.
absl::StatusOr<Facts> InferMel(const NodeView& n) {
  ASSIGN_OR_RETURN(DType type, DTypeAttr(n, "output_datatype", DType::kFloat32));
  std::optional<Expr> bins = n.KnownInt(0), length = n.KnownInt(1);
  if (!bins.has_value()) bins = n.FreshDim(0, 1, "mel");
  RETURN_IF_ERROR(RequirePositive("num_mel_bins", *bins));
  Expr frequencies;
  if (length.has_value()) {
    RETURN_IF_ERROR(RequirePositive("dft_length", *length));
    frequencies = FloorDiv(*length, 2) + 1;
  } else {
    frequencies = n.FreshDim(0, 0, "mel");
  }
  return Facts{Fact::Tensor(type, Shape{frequencies, *bins})};
}

constexpr char kFft[] =
    "Counted as the radix-2 transform of complex numbers, all twiddle factors multiplied, for real "
    "and one-sided signals too; a length n that is no power of two takes ceil(log2 n) stages.";

// ---- the table

// ---- where the function bodies cost more
constexpr std::initializer_list<OpException> kCosineWindowExceptions = {
    {"always", "add mul trig",
     "the function body counts up by a Range, does arithmetic on the size, and adds the third term "
     "of BlackmanWindow, which is 0 here"},
};

constexpr FormulaData kHannWindowFormulas = {
    .signature = "size -> output",
    .costs =
        "float_mul = 2*output.elements; float_trig = output.elements; float_add = output.elements; "
        "float_div = 1"};

constexpr OpDef kSignalRows[] = {
    // A window: its terms per element, and one division for the angle between two elements.
    {.name = "BlackmanWindow",
     .versions = {17},
     .formula = "output[k] = 0.42 - 0.5 cos(x) + 0.08 cos(2 x), x = 2 pi k / size",
     .data = {.signature = "size -> output",
              .costs = "float_mul = 4*output.elements; float_trig = 2*output.elements; float_add = "
                       "2*output.elements; float_div = 1"},
     .infer = InferWindow,
     .examples =
         {{"g () => (float[10] Y) { size = Constant<value_int = 10>() Y = BlackmanWindow(size) }",
           "add=20 mul=40 div=1 trig=20"}},
     .shape_inputs = 1 << 0,
     .traits = Traits::kReadsContent,
     .onnx = {.nothing_without = InputBits({0})},
     .exceptions = {{"always", "add mul",
                     "the function body counts up by a Range and does arithmetic on the size"}}},
    {.name = "DFT",
     .versions = {17, 20},
     .formula = "output = n-point Fourier transforms of input along an axis",
     .data = {.signature = "input dft_length? axis? -> output",
              .attributes = "axis = 1; inverse = 0; onesided = 0",
              .let = "given = if(version < 20, attr.axis, if(axis.given, axis.value, -2)); a = "
                     "if(given < 0, given + input.rank, given); n = if((attr.onesided != "
                     "0)*(attr.inverse == 0), if(dft_length.given, dft_length.value, input[a]), "
                     "output[a]); work = input[:a]*input[a + 1:-1]*n*digits(n - 1)",
              .costs = "mul = 2*work; add = 3*work; div = (attr.inverse != 0)*output.elements"},
     .infer = InferDft,
     .examples =
         {// 3 stages.
          {"float[N,8,1] X -> float[N,8,2] Y", "add=72*N mul=48*N"},
          // 10 points take the 4 stages of 16.
          {"g (float[N,10,6,2] X) => (float[N,10,6,2] Y) "
           "{ axis = Constant<value_int = 1>() Y = DFT<inverse = 1>(X, , axis) }",
           "add=720*N mul=480*N div=120*N"},
          {"float[N,8,1] X -> float[N,5,2] Y <onesided = 1>", "add=72*N mul=48*N", 17},
          {"g (float[N,8,1] X) => (float[N,16,2] Y) "
           "{ n = Constant<value_int = 16>() Y = DFT(X, n) }",
           "add=192*N mul=128*N"}},
     .shape_inputs = 1 << 1 | 1 << 2,
     .traits = Traits::kReadsContent,
     .note = kFft,
     .gradient = {.formula =
                      "dinput = the inverse transform of doutput, not divided by n: as forward",
                  .as_forward = true,
                  .keeps = {.nothing = true}}},
    {.name = "HammingWindow",
     .versions = {17},
     .formula = "output[k] = 25/46 - 21/46 cos(2 pi k / size)",
     .data = kHannWindowFormulas,
     .infer = InferWindow,
     .examples =
         {{"g () => (float[10] Y) { size = Constant<value_int = 10>() Y = HammingWindow(size) }",
           "add=10 mul=20 div=1 trig=10"}},
     .shape_inputs = 1 << 0,
     .traits = Traits::kReadsContent,
     .onnx = {.nothing_without = InputBits({0})},
     .exceptions = kCosineWindowExceptions},
    {.name = "HannWindow",
     .versions = {17},
     .formula = "output[k] = 0.5 - 0.5 cos(2 pi k / size)",
     .data = kHannWindowFormulas,
     .infer = InferWindow,
     .examples = {{"g (float[N] X) => (double[N] Y) "
                   "{ size = Size(X) Y = HannWindow<output_datatype = 11>(size) }",
                   "add=N mul=2*N div=1 trig=N"}},
     .shape_inputs = 1 << 0,
     .traits = Traits::kReadsContent,
     .onnx = {.nothing_without = InputBits({0})},
     .exceptions = kCosineWindowExceptions},
    // Both ends in mel: 2595 log10(1 + f / 700) each, and the step between edges; of M + 2 edges
    // the frequency 700 (10^(mel / 2595) - 1) and its index; of every triangle two widths; of every
    // element of Y max(0, min(rise, fall)), each slope a difference and a quotient.
    {.name = "MelWeightMatrix",
     .versions = {17},
     .formula = "output[F,M] = max(0, min(rise, fall)) of M triangles over F frequencies",
     .data = {.signature = "num_mel_bins dft_length sample_rate lower_edge_hertz upper_edge_hertz "
                           "-> output[F, M]",
              .let = "edges = M + 2",
              .costs = "float_add = 3 + 2*edges + 2*M + 2*F*M; float_mul = 2 + 3*edges; float_div "
                       "= 3 + 2*edges + 2*F*M; float_log = 2; float_pow = edges; float_round = "
                       "edges; float_cmp = 2*F*M"},
     .infer = InferMel,
     .examples = {{"g (int64 rate, float low, float high) => (float[5,4] Y) "
                   "{ mel = Constant<value_int = 4>() length = Constant<value_int = 8>() "
                   "Y = MelWeightMatrix(mel, length, rate, low, high) }",
                   "add=63 mul=20 div=55 cmp=40 log=2 pow=6 round=6"}},
     .shape_inputs = 1 << 0 | 1 << 1,
     .traits = Traits::kReadsContent,
     .onnx = {.nothing_without = InputBits({0, 1})}},
    {.name = "STFT",
     .versions = {17},
     .formula = "output = Fourier transforms of B * frames frames of n = frame_length points, "
                "times the window if given",
     .data = {.signature = "signal frame_step window? frame_length? -> output",
              .let =
                  "n = if(window.given*(1 - frame_length.known), window[0], if(frame_length.given, "
                  "frame_length.value, signal[1])); frames = output[0]*output[1]",
              .costs = "mul = frames*(2*n*digits(n - 1) + window.given*n*signal[2:]); add = "
                       "3*frames*n*digits(n - 1)"},
     .infer = InferStft,
     .examples =
         {// 8 frames of 16 points: 4 stages each.
          {"g (float[N,128,1] X, float[16] w) => (float[N,8,9,2] Y) "
           "{ step = Constant<value_int = 16>() Y = STFT(X, step, w) }",
           "add=1536*N mul=1152*N"},
          {"g (float[N,128,2] X) => (float[N,8,16,2] Y) "
           "{ step = Constant<value_int = 16>() length = Constant<value_int = 16>() "
           "Y = STFT<onesided = 0>(X, step, , length) }",
           "add=1536*N mul=1024*N"}},
     .shape_inputs = 1 << 1 | 1 << 3,
     .traits = Traits::kReadsContent,
     .onnx = {.nothing_without = InputBits({1, 3})},
     .note = kFft,
     .gradient =
         {.formula =
              "the frames transformed back, as forward; times the window, added up where they "
              "overlap; dwindow = sum of that with the frames",
          .let = "points = frames*n*signal[2:]",
          .costs = "add = (signal.needed + window.needed)*points; mul = window.needed*points",
          .as_forward = true}},
};

}  // namespace

constexpr OpFamily kSignalFamily = {.domain = "", .rows = kSignalRows};

}  // namespace onnxflops
