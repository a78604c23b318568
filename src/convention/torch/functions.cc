#include "src/convention/torch/functions.h"

#include "absl/strings/match.h"

namespace onnxflops {

bool CallsFunction(TorchLedger* tool, const TorchScope& scope) {
  if (absl::StartsWith(scope.class_name, "transformers.")) {
    tool->ledger().Assume(
        "modules of transformers call torch.matmul and F.softmax by name; the file does not tell");
    return true;
  }
  tool->ledger().Assume(
      "products and softmax outside of torch.nn are taken for x @ y and torch.softmax, which have "
      "no wrapper; the file does not tell");
  return false;
}

void AssumeSpelling(TorchLedger* tool, const TorchCall& call) {
  if (call.op == Aten::kAdd || call.op == Aten::kMul) {
    tool->ledger().Assume(
        "additions and multiplications are taken for the operators + and *, not torch.add and "
        "torch.mul; the file does not tell");
    return;
  }
  const bool by_name = IsActivation(call.op) || (IsPooling(call.op) && call.op != Aten::kMean);
  if (!by_name || absl::StartsWith(tool->trace().scope(call).class_name, "torch.nn.")) return;
  tool->ledger().Assume(
      "activations and pooling outside of torch.nn are taken for calls of torch.nn.functional; the "
      "file does not tell");
}

bool KeepsFunction(const TorchScope& scope) {
  return scope.class_name == "transformers.activations.GELUActivation";
}

AmountId AddedElements(TorchLedger* tool, const TorchCall& call) {
  // A bias: one per column. What is added to a batch of products has their shape.
  const Shape& y = call.shape_of_y();
  if (call.op != Aten::kAddmm || !y.ranked() || y.rank() == 0) return call.out;
  return tool->Times(call, y[y.rank() - 1]);
}

Expr RecurrentByRow(const RecurrentSizes& sizes, Aten op, int64_t per_product) {
  const int64_t gates = op == Aten::kLstm ? 4 : op == Aten::kGru ? 3 : 1;
  const int64_t elementwise = op == Aten::kLstm ? 4 + 3 + 3 : op == Aten::kGru ? 1 + 3 + 3 : 1;
  // Products of the first layer, and of all others, which take what the one below gives.
  const Expr inputs = sizes.input + sizes.hidden * sizes.directions * (sizes.layers - 1) +
                      sizes.hidden * sizes.layers;
  int64_t per_layer = elementwise;
  if (per_product == 2) per_layer -= gates * 2;
  if (sizes.bias) per_layer += gates * 2;
  const Expr row =
      sizes.hidden * gates * inputs * per_product + sizes.hidden * per_layer * sizes.layers;
  return row * sizes.directions * sizes.steps * sizes.batch;
}

namespace {

bool Counts(Aten op) { return op != Aten::kOther && op != Aten::kTranspose && op != Aten::kMean; }

constexpr char kElements[] = "1 per element of the input";
constexpr char kKept[] = "the module keeps the function from before it was wrapped";
constexpr char kNoWrapper[] = "no wrapper: not seen";

class WrappedFunctions {
 public:
  WrappedFunctions(Evidence* evidence, const Wrapped& wrapped)
      : tool_(evidence, Unit::kFlop, {.counts = Counts, .biases = true}), wrapped_(wrapped) {}

  Ledger Run() {
    return tool_.Apply([&](const TorchCall& call) { return Rule(call); });
  }

 private:
  Verdict Rule(const TorchCall& call) {
    const TorchAttention* attention = tool_.AttentionOf(call);
    if (attention != nullptr && attention->fast_path) {
      tool_.ledger().Assume(kFastPathAssumption);
      return {kZero, "the fast path is one native operator: no wrapper"};
    }
    if (IsContraction(call.op)) return Product(call);
    AssumeSpelling(&tool_, call);
    switch (call.op) {
      case Aten::kBatchNorm:
        return {tool_.Scaled(call.in, call.is_affine ? 2 : 1), "an estimate per element"};
      case Aten::kLayerNorm:
      case Aten::kGroupNorm:
      case Aten::kInstanceNorm:
        return {tool_.Scaled(call.in, call.is_affine ? 5 : 4), "an estimate per element"};
      case Aten::kRelu6:
        if (tool_.trace().nn_class(call) == NnClass::kReLU6) {
          return {kZero, "nn.ReLU6 calls hardtanh: no wrapper"};
        }
        return {call.in, kElements};
      case Aten::kSoftmax:
        return Softmax(call);
      case Aten::kAdd:
      case Aten::kMul:
        return {kZero, "the operators + and * have no wrapper"};
      default:
        if (IsActivation(call.op)) {
          if (KeepsFunction(tool_.trace().scope(call))) return {kZero, kKept};
          return {call.in, kElements};
        }
        if (IsPooling(call.op) && call.op != Aten::kMean) return {call.in, kElements};
        if (IsResizing(call.op)) return Resize(call);
        return {kZero, kNoWrapper};
    }
  }

  Verdict Product(const TorchCall& call) {
    static constexpr char kTwice[] = "2 per multiply-accumulate: the bias is left out";
    const AmountId products = tool_.evidence().Doubled(call.macs);
    switch (call.op) {
      case Aten::kLinear:
        return {products, kTwice};
      case Aten::kConv:
        return {tool_.TwicePlusBias(call), "2 per multiply-accumulate and the bias"};
      case Aten::kConvTranspose:
        return ConvTranspose(call);
      case Aten::kAddmm:
      case Aten::kBaddbmm:
        return {tool_.Plus(products, AddedElements(&tool_, call)),
                "and the elements of what is added"};
      case Aten::kMatmul:
        return Matmul(call);
      case Aten::kMm:
      case Aten::kBmm:
        return {wrapped_.operators ? products : kZero, kNoWrapper};
      case Aten::kSdpa:
        return {wrapped_.operators ? products : kZero,
                wrapped_.operators ? "the two products only" : kNoWrapper};
      case Aten::kEinsum:
        return Einsum(call);
      case Aten::kLstm:
      case Aten::kGru:
      case Aten::kRnn:
        return Recurrent(call);
      default:
        return {kZero, kNoWrapper};
    }
  }

  Verdict Matmul(const TorchCall& call) {
    if (!wrapped_.operators && !CallsFunction(&tool_, tool_.trace().scope(call))) {
      return {kZero, "the operator @ has no wrapper"};
    }
    const std::optional<AmountId> amount = tool_.MatmulByFirst(call);
    return {tool_.evidence().Doubled(amount.value_or(call.macs)), "prod(first) * last of second"};
  }

  Verdict Einsum(const TorchCall& call) {
    const std::optional<EinsumCost> cost = NumpyEinsum(tool_.evidence(), call);
    if (!cost.has_value()) {
      tool_.ledger().Assume(
          "the cost of an einsum, which the tool reads from NumPy, is taken for its "
          "products");
      return {tool_.evidence().Doubled(call.macs)};
    }
    return {tool_.Times(call, Expr(cost->printed_flops)),
            "read from NumPy's path, which has four digits"};
  }

  // Cin * (w[1] / groups) * kernel for every input position: groups divide once too often; the bias
  // is sized as if it were not transposed.
  Verdict ConvTranspose(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    const Shape& w = call.shape_of_w();
    if (!x.ranked() || !w.ranked() || x.rank() < 3 || w.rank() != x.rank()) {
      return {tool_.evidence().Doubled(call.macs), "unknown sizes"};
    }
    const Attribute* group = tool_.MainAttribute(call, "group");
    const Expr filters = FloorDiv(w[1], group == nullptr ? 1 : group->i);
    Expr once = x.NumElements() * filters * w.Product(2, w.rank()) * 2;
    if (call.has_bias) once += w[1] * x[0] * ForwardPositions(call);
    return {tool_.Times(call, once), "groups divide twice, the bias has the wrong size"};
  }

  // Results of a convolution that is not transposed, over the same input.
  Expr ForwardPositions(const TorchCall& call) const {
    const Shape& x = call.shape_of_x();
    const Shape& w = call.shape_of_w();
    const auto at = [&](const char* name, size_t i, int64_t otherwise) {
      const Attribute* attribute = tool_.MainAttribute(call, name);
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

  Verdict Softmax(const TorchCall& call) {
    const TorchScope& scope = tool_.trace().scope(call);
    if (scope.nn_class == NnClass::kSoftmax || scope.nn_class == NnClass::kMultiheadAttention ||
        CallsFunction(&tool_, scope)) {
      return {call.in, kElements};
    }
    return {kZero, "torch.softmax has no wrapper"};
  }

  // By a scale factor: elements of the input, since the factor is lost; by a size: that size.
  Verdict Resize(const TorchCall& call) {
    if (call.op == Aten::kGridSampler) return {kZero, kNoWrapper};
    const Shape& y = call.shape_of_y();
    if (call.arguments.has_output_size && y.ranked() && y.rank() > 2) {
      return {tool_.Times(call, y.Product(2, y.rank())), "the size without batch and channels"};
    }
    return {call.in, "elements of the input: the factor is lost"};
  }

  Verdict Recurrent(const TorchCall& call) {
    const auto sizes = RecurrentSizesOf(tool_.evidence(), tool_.trace(), call);
    if (!sizes.has_value()) return {kZero, "unknown sizes"};
    return {tool_.Times(call, RecurrentByRow(*sizes, call.op, 2)), "its own formula"};
  }

  TorchLedger tool_;
  const Wrapped wrapped_;
};

}  // namespace

Ledger CountWrapped(Evidence* evidence, const Wrapped& wrapped) {
  return WrappedFunctions(evidence, wrapped).Run();
}

}  // namespace onnxflops
