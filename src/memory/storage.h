// Which values share memory when PyTorch runs a graph, and how they lie in it.
#ifndef ONNXFLOPS_SRC_MEMORY_STORAGE_H_
#define ONNXFLOPS_SRC_MEMORY_STORAGE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "src/graph/model.h"
#include "src/infer/infer.h"

namespace onnxflops::memory {

// How a value lies in its storage, as far as it decides whether an operator copies it.
struct Layout {
  ValueId root = 0;  // who made the storage
  // By axis, in elements; empty: the elements follow each other.
  std::vector<Expr> strides;
};

// The strides of the same elements with other sizes; nullopt where PyTorch has to copy them. As
// Tensor.view() decides.
std::optional<std::vector<Expr>> ViewStrides(const Shape& from, const std::vector<Expr>& strides,
                                             const Shape& to);
// Strides of a contiguous tensor.
std::vector<Expr> StridesInOrder(const Shape& shape);

// The same sizes in the same order, sizes of 1 apart.
bool SameButOnes(const Shape& a, const Shape& b);

// A Cast to the type that is there: PyTorch returns the tensor itself.
bool CastsToItself(const Inference& inference, const Call& call);

class Storages {
 public:
  explicit Storages(const Inference& inference)
      : in_(inference), layouts_(inference.model->values.size()) {
    for (size_t v = 0; v < layouts_.size(); ++v) layouts_[v].root = static_cast<ValueId>(v);
  }

  const Layout& Of(ValueId value) const { return layouts_[static_cast<size_t>(value)]; }
  // A new storage for each of the graph's inputs.
  void Enter(const Graph& graph);
  // The node's outputs. `queries`: of attention that is taken as flash.
  void Run(const Node& node, const Call& call, OptionalValueId queries);
  // The value is another one itself.
  void Alias(ValueId value, ValueId other) {
    layouts_[static_cast<size_t>(value)] = layouts_[static_cast<size_t>(other)];
  }
  // The value is in new memory.
  void Own(ValueId value) { layouts_[static_cast<size_t>(value)] = {value, {}}; }
  // True if PyTorch can view the value, of this shape, with other sizes.
  bool CanView(ValueId value, const Shape& from, const Shape& to) const;

 private:
  std::vector<Expr> StridesOfEinsum(const Node& node, const Call& call) const;
  std::vector<Expr> StridesAsInputs(const Node& node, const Call& call) const;
  Layout ViewOf(const Node& node, const Call& call, size_t output) const;
  std::optional<std::vector<Expr>> Strided(const Node& node, const Call& call, const Shape& from,
                                           const Shape& to, std::vector<Expr> strides) const;

  const Inference& in_;
  std::vector<Layout> layouts_;
};

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_STORAGE_H_
