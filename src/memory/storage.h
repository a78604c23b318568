// Which values share memory when PyTorch runs a graph, and how they lie in it.
#ifndef ONNXFLOPS_SRC_MEMORY_STORAGE_H_
#define ONNXFLOPS_SRC_MEMORY_STORAGE_H_

#include <cstddef>
#include <vector>

#include "src/graph/model.h"
#include "src/infer/infer.h"

namespace onnxflops::memory {

// How a value lies in its storage, as far as it decides whether an operator copies it.
struct Layout {
  ValueId root = 0;        // who made the storage
  bool contiguous = true;  // the elements follow each other
  bool rows = true;        // all axes but the last two could be one: a batched product takes it
  bool flash = false;      // flash attention made it, with the axes of heads and tokens exchanged
};

// The same sizes in the same order, sizes of 1 apart.
bool SameButOnes(const Shape& a, const Shape& b);

// A Cast to the type that is there: PyTorch returns the tensor itself.
bool CastsToItself(const Inference& inference, const Node& node, const Call& call);

class Storages {
 public:
  explicit Storages(const Inference& inference)
      : in_(inference), layouts_(inference.model->values.size()) {
    for (size_t v = 0; v < layouts_.size(); ++v) layouts_[v].root = static_cast<ValueId>(v);
  }

  const Layout& Of(ValueId value) const { return layouts_[static_cast<size_t>(value)]; }
  // A new storage for each of the graph's inputs.
  void Enter(const Graph& graph);
  // The node's outputs. `flash`: of attention that is taken as flash.
  void Run(const Node& node, const Call& call, bool flash);

 private:
  Layout ViewOf(const Node& node, const Call& call, ValueId output) const;
  bool KeepsStrides(const Call& call) const;

  const Inference& in_;
  std::vector<Layout> layouts_;
};

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_STORAGE_H_
