// How it works. calflops and DeepSpeed replace functions of torch and torch.nn.functional by
// wrappers that add to a total. So it matters how the source calls an operator: F.softmax has a
// wrapper, torch.softmax has none. Some wrappers accept positional arguments only and raise an
// error for keyword arguments; then the tool has no figure, and the error is the reason. Formulas
// are those of the wrappers, even wrong ones: a product counted by its first operand only, a
// transposed convolution counted as a plain one, the "flops" that NumPy prints for an einsum, with
// four digits. The two tools differ in single rows of their tables (calflops.cc, deepspeed.cc),
// which are chosen from the rules here.
#include "src/convention/torch/wrapped_functions.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/convention/torch/functions.h"

namespace onnxflops::convention {

Ledger WrappedFunctions::Run(const AtenRules<WrappedFunctions>& rules) {
  return Apply(rules.Counted(), [&](const TorchCall& call) -> Decision {
    if (TakesFastPath(call)) {
      return {kZero, "the fast path is one native operator: no wrapper"};
    }
    return rules.Decide(this, call);
  });
}

void WrappedFunctions::StopWithoutParameters(std::string reason) {
  if (trace().origin != TorchTrace::Origin::kDynamo || trace().has_parameters) return;
  if (!trace().has_constants) return Abort(std::move(reason));
  ledger().Assume("constants that the exporter computed are taken to be made of parameters");
}

// Half of the padding is taken on each side.
void WrappedFunctions::AssumeOddWindow(const TorchCall& call) {
  const Shape& x = call.shape_of_x();
  const Shape& y = call.shape_of_y();
  const Shape& w = call.shape_of_w();
  const bool is_known = x.ranked() && y.ranked() && w.ranked() && x.rank() == y.rank();
  if (!is_known || x.rank() < 3 || w.rank() != x.rank()) return;
  const Attribute* dilations = MainAttribute(call, "dilations");
  for (int i = 2; i < x.rank(); ++i) {
    const size_t axis = static_cast<size_t>(i) - 2;
    const bool has = dilations != nullptr && axis < dilations->ints.size();
    const Expr reach = (w[i] - 1) * (has ? dilations->ints[axis] : 1);
    if (Mod(reach, 2) == Expr(0)) continue;
    ledger().Assume("padding 'same' of an even window counts all results");
    return;
  }
}

bool WrappedFunctions::StopsAtList(const TorchCall& call, absl::string_view what) {
  if (!call.is_given_list) return false;
  Abort(absl::StrCat("it stops with an error at ", what, " (", call.name, ")"));
  return true;
}

Decision WrappedFunctions::Linear(const TorchCall& call) {
  if (call.arguments.cell_gates != 0) return {CellByRow(this, call, 2), kCellFormula};
  if (!IsFunctional(this, call)) return {kZero, kWrappedNoWrapper};
  if (!call.arguments.has_vector_weight) return TwiceProducts(call);
  const Shape& x = call.shape_of_x();
  return {Times(call, x.NumElements() * x[x.rank() - 1] * 2), kVectorWeight};
}

Decision WrappedFunctions::Conv(const TorchCall& call) {
  if (!IsFunctional(this, call)) return {kZero, kWrappedNoWrapper};
  if (HasNamedPadding(call)) AssumeOddWindow(call);
  if (StopsAtList(call, "a convolution given a list of numbers")) return {};
  if (IsUnbatched(call)) {
    Abort(absl::StrCat("it stops with AssertionError at a convolution of an image without batch (",
                       call.name, ")"));
    return {};
  }
  return TwiceProductsAndBias(call);
}

Decision WrappedFunctions::Attention(const TorchCall& call) {
  if (!IsFunctional(this, call)) return {kZero, kWrappedNoWrapper};
  constexpr int32_t kTensors = 3;
  if (PositionalOf(call) < kTensors) {
    Abort(
        absl::StrCat("it stops with TypeError at attention whose q, k and v are given by keyword (",
                     call.name, ")"));
    return {};
  }
  const Shape &q = call.shape_of_x(), &y = call.shape_of_y();
  if (q.ranked() && y.ranked() && q.rank() > 0 && y.rank() == q.rank() && q[0] != y[0]) {
    ledger().Assume("the queries of an attention are broadcast: they count as what they become");
  }
  return TwiceProducts(call);
}

// The tensor's method, the operator @ and torch.matmul all have wrappers; torch.linalg.matmul and
// references from before wrapping have none.
Decision WrappedFunctions::Matmul(const TorchCall& call) {
  AssumeWrapped(call);
  return {evidence().Doubled(MatmulByFirst(call))};
}

Decision WrappedFunctions::Mm(const TorchCall& call) {
  constexpr int32_t kTensors = 2;
  if (SpellingOf(call) == Spelling::kTorch && PositionalOf(call) < kTensors) {
    Abort(absl::StrCat("it stops with TypeError at a product given the keyword mat2 (", call.name,
                       ")"));
    return {};
  }
  return MatmulByName(call);
}

Decision WrappedFunctions::MatmulByName(const TorchCall& call) {
  if (!IsByName(this, call)) return {kZero, "the operator @ has no wrapper"};
  return {evidence().Doubled(MatmulByFirst(call))};
}

Decision WrappedFunctions::Addmm(const TorchCall& call) {
  if (!IsByName(this, call)) return {kZero, kWrappedNoWrapper};
  return {Plus(evidence().Doubled(call.macs), AddedElements(this, call))};
}

Decision WrappedFunctions::Baddbmm(const TorchCall& call) {
  if (SpellingOf(call) != Spelling::kTorch) return {kZero, kWrappedNoWrapper};
  constexpr int32_t kTensors = 3;
  if (PositionalOf(call) < kTensors) {
    Abort(absl::StrCat("it stops with TypeError at baddbmm given batch1 or batch2 by keyword (",
                       call.name, ")"));
    return {};
  }
  return {Plus(evidence().Doubled(call.macs), AddedElements(this, call))};
}

Decision WrappedFunctions::Einsum(const TorchCall& call) {
  if (SpellingOf(call) != Spelling::kTorch) return {kZero, kWrappedNoWrapper};
  if (StopsAtList(call, "an einsum given its operands as one tuple or list")) return {};
  const std::optional<EinsumCost> cost = NumpyEinsum(evidence(), call);
  if (!cost.has_value()) {
    ledger().Assume(
        "the cost of an einsum, which the tool reads from NumPy, is taken for its "
        "products");
    return {evidence().Doubled(call.macs), ""};
  }
  return {Times(call, Expr(cost->printed_flops))};
}

Decision WrappedFunctions::ConvTransposeAsForward(const TorchCall& call) {
  if (!IsFunctional(this, call)) return {kZero, kWrappedNoWrapper};
  if (StopsAtList(call, "a convolution given a list of numbers")) return {};
  const Shape& x = call.shape_of_x();
  const Shape& w = call.shape_of_w();
  if (!x.ranked() || !w.ranked() || x.rank() < 3 || w.rank() != x.rank()) {
    return {evidence().Doubled(call.macs), "unknown sizes"};
  }
  const Attribute* group = MainAttribute(call, "group");
  const Expr filters = FloorDiv(w[1], group == nullptr ? 1 : group->i);
  Expr once = x.NumElements() * filters * w.Product(2, w.rank()) * 2;
  if (call.has_bias) once += w[1] * Positions(call, true);
  return {Times(call, once)};
}

// Without a batch, the channels of the image are taken for it, and so on: the axes of the window
// are shifted by one.
Expr WrappedFunctions::Positions(const TorchCall& call, bool is_forward) const {
  const Shape& x = call.shape_of_x();
  const Shape& w = call.shape_of_w();
  const auto at = [&](const char* name, size_t i, int64_t otherwise) {
    const Attribute* attribute = MainAttribute(call, name);
    return attribute != nullptr && i < attribute->ints.size() ? attribute->ints[i] : otherwise;
  };
  const int skipped = IsUnbatched(call) ? 1 : 0;
  Expr positions = x[skipped];
  for (int i = 2; i + skipped < x.rank(); ++i) {
    const size_t axis = static_cast<size_t>(i) - 2;
    const Expr window = (w[i] - 1) * at("dilations", axis, 1) + 1;
    const Expr padding = Expr(at("pads", axis, 0)) * 2;
    const int64_t stride = at("strides", axis, 1);
    const Expr& size = x[i + skipped];
    positions *= is_forward
                     ? FloorDiv(size + padding - window, stride) + 1
                     : (size - 1) * stride - padding + window + at("output_padding", axis, 0);
  }
  return positions;
}

// Its bias is sized by the result.
Decision WrappedFunctions::ConvTranspose(const TorchCall& call) {
  if (!IsFunctional(this, call)) return {kZero, kWrappedNoWrapper};
  if (StopsAtList(call, "a convolution given a list of numbers")) return {};
  const Shape& x = call.shape_of_x();
  const Shape& w = call.shape_of_w();
  const bool is_known = x.ranked() && w.ranked() && x.rank() >= 3 && w.rank() == x.rank();
  if (!is_known || !call.has_bias || !IsUnbatched(call)) return TwiceProductsAndBias(call);
  const Attribute* group = MainAttribute(call, "group");
  const Expr outputs = w[1] * (group == nullptr ? 1 : group->i);
  return {Plus(evidence().Doubled(call.macs), Times(call, outputs * Positions(call, false)))};
}

Decision WrappedFunctions::Recurrent(const TorchCall& call) {
  const auto sizes = RecurrentSizesOf(evidence(), trace(), call);
  if (!sizes.has_value()) return {kZero, "unknown sizes"};
  if (call.is_by_keyword) {
    Abort(absl::StrCat("it stops with IndexError at a module called with its input by keyword (",
                       call.name, ")"));
    return {};
  }
  return {Times(call, RecurrentByRow(*sizes, call.op, 2))};
}

Decision WrappedFunctions::BatchNorm(const TorchCall& call) {
  if (!IsFunctional(this, call)) return {kZero, kWrappedNoWrapper};
  return {Scaled(call.in, call.is_affine ? 2 : 1)};
}

Decision WrappedFunctions::Normalization(const TorchCall& call) {
  if (!IsFunctional(this, call)) return {kZero, kWrappedNoWrapper};
  return {Scaled(call.in, call.is_affine ? 5 : 4)};
}

Decision WrappedFunctions::Softmax(const TorchCall& call) {
  if (!IsFunctional(this, call)) return {kZero, "torch.softmax has no wrapper"};
  return ElementsIn(call);
}

Decision WrappedFunctions::Activation(const TorchCall& call) {
  if (IsFunctional(this, call)) return ElementsIn(call);
  const bool kept = KeepsFunction(trace().scope(call));
  return {kZero,
          kept ? "the module keeps the function from before it was wrapped" : kWrappedNoWrapper};
}

Decision WrappedFunctions::Relu6(const TorchCall& call) {
  if (call.in_torch_nn || trace().nn_class(call) == NnClass::kReLU6) {
    return {kZero, "nn.ReLU6 and nn.Hardtanh call hardtanh: no wrapper"};
  }
  return Activation(call);
}

// The wrapper has the arguments of max_pool2d, and does not know output_size by its keyword.
Decision WrappedFunctions::Pool(const TorchCall& call) {
  if (!IsFunctional(this, call)) return {kZero, kWrappedNoWrapper};
  constexpr int32_t kInputAndSize = 2;
  const bool is_adaptive = call.op == Aten::kAdaptiveAvgPool || call.op == Aten::kAdaptiveMaxPool;
  if (is_adaptive && PositionalOf(call) < kInputAndSize) {
    Abort(
        absl::StrCat("it stops with TypeError at an adaptive pool given the keyword output_size (",
                     call.name, ")"));
    return {};
  }
  return ElementsIn(call);
}

Decision WrappedFunctions::Operator(const TorchCall& call) {
  if (!IsByName(this, call)) return {kZero, kWrappedOperators};
  return {ElementsByName(this, call), kWrappedPerResult};
}

Decision WrappedFunctions::Resize(const TorchCall& call, ResizeRule by_factor) {
  if (!IsFunctional(this, call)) return {kZero, kWrappedNoWrapper};
  if (PositionalOf(call) < 1) {
    Abort(absl::StrCat("it stops with IndexError at a resizing whose input is given by keyword (",
                       call.name, ")"));
    return {};
  }
  const Shape& y = call.shape_of_y();
  if (IsByFactor(call) || !y.ranked() || y.rank() <= 2) return (this->*by_factor)(call);
  if (SizingOf(call) == kOneSize) return {Times(call, y[2]), "the one size that is given"};
  return {Times(call, y.Product(2, y.rank())), "the size without batch and channels"};
}

Decision WrappedFunctions::Resize(const TorchCall& call) {
  return Resize(call, &WrappedFunctions::ByLostFactor);
}

Decision WrappedFunctions::ResizeByFactor(const TorchCall& call) {
  return Resize(call, &WrappedFunctions::ByFactor);
}

// Factors have to be one number, or as many as there are images.
Decision WrappedFunctions::ByLostFactor(const TorchCall& call) {
  const int32_t factors = SizingOf(call);
  const Shape& x = call.shape_of_x();
  const bool is_known = x.ranked() && x.rank() > 0;
  if (factors == kListOfFactors || (factors > kFactor && is_known && x[0] != Expr(factors))) {
    Abort(
        absl::StrCat("it stops with TypeError at a resizing by several factors (", call.name, ")"));
  }
  return ElementsIn(call);
}

Decision WrappedFunctions::ByFactor(const TorchCall& call) {
  const Expr results = evidence().amount(call.out);
  if (Mod(results, evidence().amount(call.in)) != Expr(0)) {
    ledger().Assume("resizing by a factor that is not whole is taken for its results");
  }
  return {call.out, kWrappedPerResult};
}

Decision WrappedFunctions::OperatorByResult(const TorchCall& call) {
  if (!IsByName(this, call)) return {kZero, kWrappedOperators};
  return {call.out, kWrappedPerResult};
}

}  // namespace onnxflops::convention
