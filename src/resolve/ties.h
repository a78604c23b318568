// Weights that are one parameter in PyTorch and two tensors in a file. TorchScript's exporter
// transposes the weight of an output layer, and so copies the table of tokens to which it is tied.
// Weights are not read, so the file cannot show whether such a tensor is a copy. The user can
// declare it.
#ifndef ONNXFLOPS_SRC_RESOLVE_TIES_H_
#define ONNXFLOPS_SRC_RESOLVE_TIES_H_

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/graph/model.h"

namespace onnxflops {

// Two weights by their names in the file: the first is a copy of the second.
struct TiedWeights {
  std::string copy, original;
};

namespace resolve {

// From each copy to its original, which is never a copy itself.
using Ties = absl::btree_map<ValueId, ValueId>;

// One list may serve several models: a pair whose first name is not in the model is skipped if
// another pair is in it. Errors: NotFound for names; InvalidArgument for two weights that differ in
// sizes or type, so that they cannot be one.
absl::StatusOr<Ties> FindTies(const ModelData& model, const std::vector<TiedWeights>& tied);

// A likely copy: an unnamed second factor of a product, with the transposed shape of an embedding
// table.
struct LikelyCopy {
  ValueId copy = 0, original = 0;
};
std::vector<LikelyCopy> FindLikelyCopies(const ModelData& model);

}  // namespace resolve
}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_RESOLVE_TIES_H_
