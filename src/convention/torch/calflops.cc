// calflops: wrappers around functions of torch.nn.functional and a few of torch.
#include "src/convention/conventions.h"
#include "src/convention/torch/wrapped_functions.h"

namespace onnxflops::convention {
namespace calflops {
namespace {

Ledger Apply(Evidence* evidence) {
  WrappedFunctions calflops(evidence);
  calflops.StopWithoutParameters("calflops stops with StopIteration: no parameter is used");
  return calflops.Run(kWrappedRules);
}

}  // namespace
}  // namespace calflops

const Convention kCalflops = {
    {"calflops", Unit::kFlop, "FLOPs (calculate_flops; 2 per multiply-accumulate)",
     "calflops (29ca584, 2024-03): calflops/pytorch_ops.py:37-290,425-540",
     "F.linear, F.conv*, torch.matmul, addmm; 5 per element of norms, 2 of BatchNorm; 1 per "
     "element "
     "of activations, pooling, F.softmax; RNN, GRU, LSTM",
     "the operators @ + *, bmm, scaled_dot_product_attention, nn.MultiheadAttention's fast path, "
     "biases of linear layers"},
    calflops::Apply,
};

}  // namespace onnxflops::convention
