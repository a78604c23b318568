// What the tensors of a file are to the model, and which of them are its parameters.
//
// ONNX does not say: weights, buffers, masks, shapes and constants that an exporter folded are all
// initializers. A file of torch.export has a signature, which lists parameters, buffers and
// constants; it decides about these, except buffers of integers, which may be quantised weights.
// Elsewhere the rule is:
//
//   A floating-point initializer is a parameter, unless
//     - it is a running statistic (BatchNormalization's mean and variance) or an initial state of
//       an RNN: PyTorch calls those buffers;
//     - it is a scale or zero point of a quantised tensor, or the mask or the table of angles of a
//       fused attention;
//     - it is a mask: square in its last two dimensions, 1 in all others, and used by elementwise
//       operators and data movement only;
//     - it has one element, neither a name with a dot nor the place of a weight, is used, and
//       stands in the file itself: a constant. Where PyTorch exported the file, one whose name is
//       neither made up nor numbered is a parameter nonetheless (`logit_scale`);
//     - the dynamo exporter made its name up ("val_31", "add_46", "unsqueeze_16": an ATen operator
//       and a number) and it has nowhere the place of a weight: a folded constant.
//   An integer initializer is one where it has the place of a quantised weight or bias, and a
//   tensor of a Constant node where it has the place of a weight and kMinConstantWeight elements,
//   or fewer and a contraction takes it as it is, with an activation.
//
// The place of a weight is an input that operators of the kind keep for weights: a factor of a
// contraction, the scale of a normalization, the table of an embedding. A tensor has it as well
// where something made of constants alone has it, and the tensor is part of that: after a Cast or
// a Transpose, in a Concat, in w + B A or v / |v| (src/resolve/value_flow.h). So has it the place
// of a statistic. A single number that a weight is computed with is a constant, and so are the
// scales and zero points of integers.
//
// What no file can tell: a weight that the exporter copied (GPT-2's tied output layer, which
// TorchScript transposes) counts twice,
// unless the user says that it is one (src/resolve/ties.h); one that was folded away (a BatchNorm
// inside its Conv) does not count; a buffer that is used like a weight (a rotary embedding's
// frequencies) counts, unless a signature lists it.
#ifndef ONNXFLOPS_SRC_RESOLVE_PARAMETERS_H_
#define ONNXFLOPS_SRC_RESOLVE_PARAMETERS_H_

#include <cstdint>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "src/graph/model.h"
#include "src/resolve/ties.h"

namespace onnxflops::resolve {

enum class TensorRole : uint8_t {
  kConstant,  // a number that the graph computes with: a shape, an epsilon, what was folded
  kWeight,    // a parameter
  kBuffer,    // kept with the weights, not trained: statistics, scales, zero points, masks
  kState,     // what a run begins with and hands to the next: the initial state of an RNN
};

// By TensorId: of initializers and of the tensors of Constant nodes.
std::vector<TensorRole> FindRoles(const ModelData& model);

struct Parameter {
  ValueId value = 0;
  absl::string_view name;     // the tensor's
  absl::int128 elements = 0;  // of the weight: two per byte that holds int4
  absl::int128 bytes = 0;     // as stored
  OptionalNodeId first_user;
};

// The weights, each once, in the order of the file, without copies of tied ones.
std::vector<Parameter> FindParameters(const ModelData& model, const Ties& ties = {});

}  // namespace onnxflops::resolve

#endif  // ONNXFLOPS_SRC_RESOLVE_PARAMETERS_H_
