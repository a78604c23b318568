// The roles of a file's tensors, and which of them are parameters.
//
// ONNX does not tell them apart: weights, buffers, masks, shapes and constants that an exporter
// folded are all initializers. A file of torch.export has a signature, which lists parameters,
// buffers and constants. It decides about these, except for integer buffers, which may be quantised
// weights. For other tensors the rule is:
//
//   A floating-point initializer is a parameter, unless
//     - it is a running statistic (BatchNormalization's mean and variance) or an initial state of
//       an RNN: PyTorch calls those buffers;
//     - it is a scale or zero point of a quantised tensor, or the mask or the table of angles of a
//       fused attention;
//     - it is a mask: square in its last two dimensions, 1 in all others, and used by elementwise
//       operators and data movement only;
//     - it is a constant: it has one element, is used but not as a weight, is stored in the file
//       itself, and its name has no dot. In a file of PyTorch, one whose name is neither invented
//       nor numbered is still a parameter (`logit_scale`);
//     - it is a folded constant: the dynamo exporter invented its name ("val_31", "add_46",
//       "unsqueeze_16": an ATen operator and a number), and it is never used as a weight.
//   An integer initializer is a parameter if it is used as a quantised weight or bias. So is a
//   tensor of a Constant node if it is used as a weight and has kMinConstantWeight elements, or
//   fewer if a contraction multiplies it directly by an activation.
//
// "Used as a weight" means: it is an input that operators of the kind reserve for weights, such as
// a factor of a contraction, the scale of a normalization, the table of an embedding. A tensor is
// also used as a weight if it is part of a constant expression that is: before a Cast or a
// Transpose, in a Concat, in w + B A or v / |v| (src/resolve/value_flow.h). The same holds for
// statistics. A single number in the computation of a weight is a constant, and so are the scales
// and zero points of integers.
//
// Some cases are not visible in any file. A weight that the exporter copied (GPT-2's tied output
// layer, which TorchScript transposes) counts twice, unless the user declares the tie
// (src/resolve/ties.h). A weight that was folded away (a BatchNorm inside its Conv) does not count.
// A buffer that is used like a weight (a rotary embedding's frequencies) counts, unless a signature
// lists it.
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
  kConstant,  // a number for computing: a shape, an epsilon, a folded value
  kWeight,    // a parameter
  kBuffer,    // kept with the weights, not trained: statistics, scales, zero points, masks
  kState,     // carried from run to run: the initial state of an RNN
};

// By TensorId: of initializers and of the tensors of Constant nodes.
std::vector<TensorRole> FindRoles(const ModelData& model);

struct Parameter {
  ValueId value = 0;
  absl::string_view name;     // the tensor's
  absl::int128 elements = 0;  // of the weight: two per byte that holds int4
  absl::int128 bytes = 0;     // as stored, with the scales and zero points of narrow weights
  OptionalNodeId first_user;
};

// The weights, each once, in the order of the file, without copies of tied weights.
std::vector<Parameter> FindParameters(const ModelData& model, const Ties& ties = {});

}  // namespace onnxflops::resolve

#endif  // ONNXFLOPS_SRC_RESOLVE_PARAMETERS_H_
