// com.microsoft: Fourier transforms, and the alignment of two signals.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/contrib/plain.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- Fourier transforms over the last signal_ndim dimensions, real on one side

absl::StatusOr<int> SignalRank(const NodeView& n, int rank) {
  const int64_t dims = n.Int("signal_ndim", 1);
  if (dims < 1 || dims > 3 || dims > rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("signal_ndim is ", dims, ", the signal has rank ", rank));
  }
  return static_cast<int>(dims);
}

absl::StatusOr<Facts> InferRfft(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 1));
  RETURN_IF_ERROR(SignalRank(n, y.rank()).status());
  y[y.rank() - 1] = FloorDiv(y[y.rank() - 1], 2) + 1;
  y.push_back(2);
  return Facts{n.Like(0, std::move(y))};
}

absl::StatusOr<Facts> InferIrfft(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 2));
  RETURN_IF_ERROR(SignalRank(n, y.rank() - 1).status());
  RETURN_IF_ERROR(n.RequireSame("real and imaginary part", y[y.rank() - 1], 2));
  y.dims().pop_back();
  y[y.rank() - 1] = 2 * (y[y.rank() - 1] - 1);
  return Facts{n.Like(0, std::move(y))};
}

// ---- DynamicTimeWarping: the cheapest path through X[M,N] (or [1,M,N])

absl::StatusOr<Facts> InferDynamicTimeWarping(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  if (x.rank() > 3) return absl::InvalidArgumentError(absl::StrCat("rank ", x.rank()));
  // A path enters a row or a column with each step.
  const Expr most = Max(x[x.rank() - 2] + x[x.rank() - 1] - 1, 0);
  return Facts{Fact::Tensor(DType::kInt32, Shape{2, n.FreshDim(0, 1, "dynamictimewarping", most)})};
}

constexpr OpDef kMsSignalRows[] = {
    {.name = "DynamicTimeWarping",
     .formula = "Y[2,P] = the cheapest path through X[M,N]",
     .infer = InferDynamicTimeWarping,
     .count = CountPerInputElement,
     .examples = {{"float[M,20] X -> int32[2,P] Y", "add=20*M cmp=40*M"}},
     .per_element = {.add = 1, .cmp = 2}},
    {.name = "Irfft",
     .formula = "as Rfft, backward: Y[.., n] of X[.., n/2 + 1, 2]",
     .data = {.signature = "X -> Y",
              .attributes = "signal_ndim = 1",
              .let = "d = attr.signal_ndim; work = Y.elements*digits(Y[-1] - 1) + if(d > 1, "
                     "X[:-1]*digits(Y[-2] - 1), 0) + if(d > 2, X[:-1]*digits(Y[-3] - 1), 0)",
              .costs = "mul = 2*work; add = 3*work"},
     .infer = InferIrfft,
     .examples = {{"float[N,9,2] X -> float[N,16] Y <signal_ndim = 1>", "add=192*N mul=128*N"}},
     .note = "not normalised, as the operator is"},
    {.name = "Rfft",
     .formula =
         "Y[.., n/2 + 1, 2] = Fourier transform of X[.., n]; as ai.onnx DFT along each of the "
         "last signal_ndim dimensions",
     .data = {.signature = "X -> Y",
              .attributes = "signal_ndim = 1",
              .let = "d = attr.signal_ndim; work = X.elements*digits(X[-1] - 1) + if(d > 1, "
                     "Y[:-1]*digits(X[-2] - 1), 0) + if(d > 2, Y[:-1]*digits(X[-3] - 1), 0)",
              .costs = "mul = 2*work; add = 3*work"},
     .infer = InferRfft,
     .examples = {{"float[N,16] X -> float[N,9,2] Y <signal_ndim = 1>", "add=192*N mul=128*N"}}},
};

}  // namespace

constinit const OpFamily kMsSignalFamily = {"com.microsoft", kMsSignalRows};

}  // namespace onnxflops
