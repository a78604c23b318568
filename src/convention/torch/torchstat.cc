// torchstat: hooks on modules without children; one image of batch 1 as input.
#include "absl/strings/str_cat.h"
#include "src/convention/conventions.h"
#include "src/convention/torch/ledger.h"

namespace onnxflops {
namespace torchstat {
namespace {

bool Counts(Aten op) {
  return op == Aten::kLinear || op == Aten::kConv || op == Aten::kBatchNorm || op == Aten::kRelu;
}

constexpr char kNotSupported[] = "not supported: printed as such, counted as 0";
constexpr char kBeside[] = "elements, counted beside the MACs";

class Torchstat {
 public:
  explicit Torchstat(Evidence* evidence)
      : tool_(evidence, Unit::kMac,
              {.counts = Counts, .classes = true, .products = false, .biases = true}) {}

  Ledger Run() {
    if (std::string problem = InputProblem(); !problem.empty()) tool_.Abort(std::move(problem));
    tool_.ledger().Assume("torchstat runs: it needs pandas before 2 (DataFrame.append)");
    return tool_.Apply([&](const TorchCall& call) { return Rule(call); });
  }

 private:
  // It makes its input itself: one tensor of random floats.
  std::string InputProblem() {
    const ModelData& model = tool_.evidence().model();
    int64_t inputs = 0;
    for (ValueId id : model.graphs[0].inputs) {
      const Value& value = model.value(id);
      if (value.initializer) continue;
      ++inputs;
      const Fact* fact = tool_.evidence().inference().FactOf(id);
      if (fact == nullptr || IsFloat(fact->dtype)) continue;
      return absl::StrCat("torchstat cannot run it: it feeds floats, and input ", value.name,
                          " needs integers");
    }
    if (inputs == 1) return "";
    return absl::StrCat("torchstat cannot run it: it feeds one input, and the model has ", inputs);
  }

  Verdict Rule(const TorchCall& call) {
    const NnClass c = tool_.trace().nn_class(call);
    const bool image = call.shape_of_x().ranked() && call.shape_of_x().rank() == 4;
    switch (call.op) {
      case Aten::kLinear:
        if (c != NnClass::kLinear) return {kZero, "a function, no module: not seen"};
        if (call.shape_of_x().ranked() && call.shape_of_x().rank() != 2) {
          tool_.Abort(absl::StrCat("torchstat stops with AssertionError: nn.Linear ",
                                   tool_.evidence().paths().path(tool_.trace().scope(call).module),
                                   " takes an input of rank ", call.shape_of_x().rank(),
                                   ", not 2"));
        }
        return {call.macs};
      case Aten::kConv:
        if (c != NnClass::kConv2d || !image) return {kZero, kNotSupported};
        return {tool_.Plus(call.macs, call.has_bias ? call.out : kZero),
                "1 per result where there is a bias"};
      case Aten::kBatchNorm:
        if (c != NnClass::kBatchNorm2d) return {kZero, kNotSupported};
        return {tool_.Scaled(call.in, call.is_affine ? 2 : 1), kBeside};
      case Aten::kRelu:
      case Aten::kRelu6:
      case Aten::kPrelu:
      case Aten::kElu:
      case Aten::kLeakyRelu:
        if (c == NnClass::kNone || c == NnClass::kMultiheadAttention) return {kZero, kNotSupported};
        return {call.in, kBeside};
      case Aten::kMaxPool:
      case Aten::kAvgPool:
        if (c != NnClass::kMaxPool2d && c != NnClass::kAvgPool2d) return {kZero, kNotSupported};
        return {call.in, kBeside};
      case Aten::kUpsampleNearest:
      case Aten::kUpsampleBilinear:
        return Upsample(call, c);
      default:
        return {kZero, kNotSupported};
    }
  }

  // Batch, and height and width: the channels are dropped.
  Verdict Upsample(const TorchCall& call, NnClass c) {
    const Shape& y = call.shape_of_y();
    if (c == NnClass::kNone || !y.ranked() || y.rank() != 4) return {kZero, kNotSupported};
    return {tool_.Times(call, y[0] * y[2] * y[3]), "results without channels"};
  }

  TorchLedger tool_;
};

Ledger Apply(Evidence* evidence) { return Torchstat(evidence).Run(); }

}  // namespace
}  // namespace torchstat

const Convention kTorchstat = {
    {"torchstat", Unit::kMac, "Flops (stat(model, input_size); multiply-accumulates and biases)",
     "torchstat (b52a3b0, 2018): torchstat/compute_flops.py, model_hook.py:22",
     "nn.Linear on matrices, nn.Conv2d with bias, nn.BatchNorm2d, ReLUs, 2-D pooling",
     "every other module and all functions; stops at an nn.Linear on anything but a matrix"},
    torchstat::Apply,
};

}  // namespace onnxflops
