// Copies a model so that nodes and tensors can be added to its main graph. Existing nodes and
// values keep their numbers, so facts indexed by number also hold for the copy.
//
//   GraphEditor editor(model);
//   const ValueId w = editor.AddTensor("lora_A.weight", DType::kFloat32, {768, 16});
//   const ValueId y = editor.AddNode(
//       after, {.name = "/lora_A/MatMul", .op_type = "MatMul"}, {x, w});
//   const Model changed = std::move(editor).Finish();
#ifndef ONNXFLOPS_SRC_ADAPTER_GRAPH_EDITOR_H_
#define ONNXFLOPS_SRC_ADAPTER_GRAPH_EDITOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/graph/model.h"
#include "src/symbolic/expr.h"

namespace onnxflops::adapter {

class GraphEditor {
 public:
  explicit GraphEditor(const Model& base);

  const ModelData& model() const { return *model_; }
  // Text that lives as long as the copy.
  absl::string_view Keep(absl::string_view text);
  template <typename T>
  absl::Span<T> Keep(const std::vector<T>& from) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (from.empty()) return {};
    T* to = static_cast<T*>(model_->arena.allocate(from.size() * sizeof(T), alignof(T)));
    std::uninitialized_copy(from.begin(), from.end(), to);
    return absl::Span<T>(to, from.size());
  }

  // An initializer without content, stored outside of the file.
  ValueId AddTensor(absl::string_view name, DType dtype, const std::vector<int64_t>& dims);
  // A tensor of a single number.
  ValueId AddNumber(absl::string_view name, DType dtype, double number);
  // The tensor of an initializer is another one from now on; its name stays.
  void ReplaceTensor(ValueId value, DType dtype, const std::vector<int64_t>& dims);

  // A one-dimensional int64 tensor: a new initializer, or the new content of an existing one.
  ValueId AddInts(absl::string_view name, const std::vector<int64_t>& ints);
  void ReplaceInts(ValueId value, const std::vector<int64_t>& ints);
  // A Constant with the attribute `value` gives a tensor of these sizes from now on, whose content
  // is not known.
  void ReplaceConstant(NodeId id, const std::vector<int64_t>& dims);
  // An int64 tensor of sizes, which may be symbolic.
  ValueId AddSizes(absl::string_view name, absl::Span<const Expr> sizes,
                   const std::vector<int64_t>& dims);
  // A declared size of an input of the main graph: a number or a symbol.
  void SetInputSize(ValueId input, size_t axis, const Expr& size);
  // Drops the types and shapes that the file declares for computed values.
  void ForgetDeclared();
  void SetInput(NodeId id, size_t index, ValueId value);

  // Adds a node after the node `after` of the main graph, and after nodes added there earlier.
  // `node` sets everything except graph, inputs and output; its strings are not copied. The output
  // is a new value, or `output` if FreeOutput freed it.
  ValueId AddNode(NodeId after, Node node, const std::vector<OptionalValueId>& inputs,
                  OptionalValueId output = kNone);
  // The same before a node of the main graph.
  ValueId AddNodeBefore(NodeId before, Node node, const std::vector<OptionalValueId>& inputs);
  // Lets the node write to a new value, which is returned, instead of its first output. The caller
  // must add another node that computes the old output, because other nodes still read it.
  ValueId FreeOutput(NodeId id, absl::string_view name);
  // A node becomes another operator on other inputs.
  void ReplaceNode(NodeId id, Node node, const std::vector<OptionalValueId>& inputs);

  Model Finish() &&;

 private:
  ValueId AddValue(absl::string_view name);
  NodeId PushNode(Node node, const std::vector<OptionalValueId>& inputs, ValueId output);

  std::shared_ptr<ModelData> model_;
  // By the node that they follow or precede.
  absl::flat_hash_map<NodeId, std::vector<NodeId>> added_, added_before_;
};

}  // namespace onnxflops::adapter

#endif  // ONNXFLOPS_SRC_ADAPTER_GRAPH_EDITOR_H_
