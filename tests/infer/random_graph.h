// Small random ONNX models that are right: every operator gets what it may, at every size of the
// named dimensions that is at least 1.
//
//   RandomGraph graph(7);
//   onnx::ModelProto model = graph.Build();   // the same one for the same seed
#ifndef ONNXFLOPS_TESTS_INFER_RANDOM_GRAPH_H_
#define ONNXFLOPS_TESTS_INFER_RANDOM_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"

namespace onnxflops {

class RandomGraph {
 public:
  // A size, known or not; two unknown ones are equal when they have the same name.
  struct Dim {
    int64_t size = -1;
    std::string name;
    friend bool operator==(const Dim& a, const Dim& b) {
      return a.size == b.size && a.name == b.name;
    }
  };
  struct Tensor {
    std::string name;
    std::vector<Dim> dims;
    size_t rank() const { return dims.size(); }
  };

  explicit RandomGraph(uint32_t seed) : random_(seed) {}

  // Inputs named batch, seq, height and width in their dimensions; ten nodes or more.
  onnx::ModelProto Build();

  // How often each family was used, by its name.
  const std::map<std::string, int>& families() const { return families_; }

 private:
  struct Family;
  static const Family kFamilies[];
  using Attributes = std::vector<onnx::AttributeProto>;

  // ---- Parts of a model
  size_t Below(size_t n) { return random_() % n; }
  std::string FreshName() { return "t" + std::to_string(names_++); }
  Dim FreshDim() { return {-1, "?" + std::to_string(names_++)}; }
  void Input(const std::string& name, std::vector<Dim> dims);
  std::string Weight(const std::vector<int64_t>& dims);
  std::string Ints(const std::vector<int64_t>& values);
  std::string Index(int64_t value);  // a scalar
  std::string Bool(bool value);      // a scalar
  std::string Node(const std::string& op, const std::vector<std::string>& inputs,
                   const Attributes& attributes = {});
  bool Add(std::string name, std::vector<Dim> dims);
  bool Result(const std::string& op, const std::vector<std::string>& inputs, std::vector<Dim> dims,
              const Attributes& attributes = {});
  std::string SizeOf(const Tensor& x, size_t axis, bool scalar);
  std::string Bytes(int type, const std::vector<int64_t>& dims);  // a weight of small integers
  std::string Quantized(const Tensor& x);
  void AddFunctions();

  // ---- Families: apply one operator or a chain to x; false where x does not allow it
  bool Unary(const Tensor& x);
  bool Broadcast(const Tensor& x);
  bool SameShape(const Tensor& x);
  bool Select(const Tensor& x);
  bool MatMul(const Tensor& x);
  bool Scores(const Tensor& x);
  bool Gemm(const Tensor& x);
  bool Conv(const Tensor& x);
  bool Pool(const Tensor& x);
  bool GlobalPool(const Tensor& x);
  bool BatchNorm(const Tensor& x);
  bool Reduce(const Tensor& x);
  bool Softmax(const Tensor& x);
  bool LayerNorm(const Tensor& x);
  bool MergeAxes(const Tensor& x);
  bool SplitAxis(const Tensor& x);
  bool Transpose(const Tensor& x);
  bool Concat(const Tensor& x);
  bool Slice(const Tensor& x);
  bool Gather(const Tensor& x);
  bool Expand(const Tensor& x);
  bool Constant(const Tensor& x);
  bool If(const Tensor& x);
  bool Loop(const Tensor& x);
  bool Scan(const Tensor& x);
  // These are in random_blocks.cc.
  bool Attention(const Tensor& x);
  bool Norm(const Tensor& x);
  bool QuantizePair(const Tensor& x);
  bool IntegerProduct(const Tensor& x);
  bool QLinearProduct(const Tensor& x);
  bool Recurrent(const Tensor& x);
  bool Einsum(const Tensor& x);
  bool ConvTranspose(const Tensor& x);
  bool Resize(const Tensor& x);
  bool TopK(const Tensor& x);
  bool Running(const Tensor& x);
  bool Function(const Tensor& x);
  bool Nested(const Tensor& x);
  bool Stacked(const Tensor& x);
  bool Growing(const Tensor& x);
  bool Ones(const Tensor& x);

  std::mt19937 random_;
  onnx::ModelProto model_;
  onnx::GraphProto* graph_ = nullptr;  // of model_
  std::vector<Tensor> tensors_;
  std::map<std::string, int> families_;
  int names_ = 0;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_INFER_RANDOM_GRAPH_H_
