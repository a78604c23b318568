#include "src/convention/torch/wrapped_functions.h"

#include <optional>

#include "src/convention/torch/functions.h"

namespace onnxflops::convention {

Ledger WrappedFunctions::Run(const AtenRules<WrappedFunctions>& rules) {
  return Apply(rules.Counted(), [&](const TorchCall& call) -> Decision {
    const TorchAttention* attention = AttentionOf(call);
    if (attention != nullptr && attention->fast_path) {
      ledger().Assume(kFastPathAssumption);
      return {kZero, "the fast path is one native operator: no wrapper"};
    }
    if (!IsContraction(call.op)) AssumeSpelling(this, call);
    return rules.Decide(this, call);
  });
}

Decision WrappedFunctions::Matmul(const TorchCall& call) {
  return {evidence().Doubled(MatmulByFirst(call).value_or(call.macs))};
}

Decision WrappedFunctions::MatmulByName(const TorchCall& call) {
  if (!CallsFunction(this, trace().scope(call))) return {kZero, "the operator @ has no wrapper"};
  return Matmul(call);
}

Decision WrappedFunctions::TwiceProductsAndAdded(const TorchCall& call) {
  return {Plus(evidence().Doubled(call.macs), AddedElements(this, call))};
}

Decision WrappedFunctions::Einsum(const TorchCall& call) {
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
  const Shape& x = call.shape_of_x();
  const Shape& w = call.shape_of_w();
  if (!x.ranked() || !w.ranked() || x.rank() < 3 || w.rank() != x.rank()) {
    return {evidence().Doubled(call.macs), "unknown sizes"};
  }
  const Attribute* group = MainAttribute(call, "group");
  const Expr filters = FloorDiv(w[1], group == nullptr ? 1 : group->i);
  Expr once = x.NumElements() * filters * w.Product(2, w.rank()) * 2;
  if (call.has_bias) once += w[1] * x[0] * ForwardPositions(call);
  return {Times(call, once)};
}

Expr WrappedFunctions::ForwardPositions(const TorchCall& call) const {
  const Shape& x = call.shape_of_x();
  const Shape& w = call.shape_of_w();
  const auto at = [&](const char* name, size_t i, int64_t otherwise) {
    const Attribute* attribute = MainAttribute(call, name);
    return attribute != nullptr && i < attribute->ints.size() ? attribute->ints[i] : otherwise;
  };
  Expr positions = 1;
  for (int i = 2; i < x.rank(); ++i) {
    const size_t axis = static_cast<size_t>(i) - 2;
    const Expr window = (w[i] - 1) * at("dilations", axis, 1) + 1;
    const Expr padded = x[i] + Expr(at("pads", axis, 0)) * 2;
    positions *= FloorDiv(padded - window, at("strides", axis, 1)) + 1;
  }
  return positions;
}

Decision WrappedFunctions::Recurrent(const TorchCall& call) {
  const auto sizes = RecurrentSizesOf(evidence(), trace(), call);
  if (!sizes.has_value()) return {kZero, "unknown sizes"};
  return {Times(call, RecurrentByRow(*sizes, call.op, 2))};
}

Decision WrappedFunctions::BatchNorm(const TorchCall& call) {
  return {Scaled(call.in, call.is_affine ? 2 : 1)};
}

Decision WrappedFunctions::Normalization(const TorchCall& call) {
  return {Scaled(call.in, call.is_affine ? 5 : 4)};
}

Decision WrappedFunctions::Softmax(const TorchCall& call) {
  const TorchScope& scope = trace().scope(call);
  if (scope.nn_class == NnClass::kSoftmax || scope.nn_class == NnClass::kMultiheadAttention ||
      CallsFunction(this, scope)) {
    return ElementsIn(call);
  }
  return {kZero, "torch.softmax has no wrapper"};
}

Decision WrappedFunctions::Activation(const TorchCall& call) {
  if (KeepsFunction(trace().scope(call))) {
    return {kZero, "the module keeps the function from before it was wrapped"};
  }
  return ElementsIn(call);
}

Decision WrappedFunctions::Relu6(const TorchCall& call) {
  if (trace().nn_class(call) == NnClass::kReLU6) {
    return {kZero, "nn.ReLU6 calls hardtanh: no wrapper"};
  }
  return ElementsIn(call);
}

Decision WrappedFunctions::Resize(const TorchCall& call) {
  const Shape& y = call.shape_of_y();
  if (call.arguments.has_output_size && y.ranked() && y.rank() > 2) {
    return {Times(call, y.Product(2, y.rank())), "the size without batch and channels"};
  }
  return ElementsIn(call);
}

}  // namespace onnxflops::convention
