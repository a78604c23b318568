// The linear layers of a model, and those that --lora names.
//
// A linear layer is a module whose products have one constant weight: MatMul or Gemm, fused ones,
// and those with packed weights (MatMulNBits); a convolution is one as well. A layer that runs
// several times has several products.
#ifndef ONNXFLOPS_SRC_ADAPTER_LINEAR_LAYERS_H_
#define ONNXFLOPS_SRC_ADAPTER_LINEAR_LAYERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/adapter/lora_options.h"
#include "src/graph/dtype.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/module/attribution.h"

namespace onnxflops::adapter {

struct Product {
  NodeId node = 0;
  ValueId input = 0;                // the layer's input
  ValueId result = 0;               // the product, or the output of the Add of its bias
  NodeId last = 0;                  // the node that makes it
  DType dtype = DType::kUndefined;  // of the input
};

struct LinearLayer {
  ModuleId module = 0;
  absl::string_view path;
  absl::string_view type;   // "Linear"; empty if unknown
  int64_t in = 0, out = 0;  // features or channels
  ValueId weight = 0;       // the tensor in the file; the same for all products
  bool is_packed = false;   // in few bits, or dequantised
  bool is_conv = false;
  std::vector<Product> products;
};

// The linear layers of a model. For a module that has products but is not a layer, the reason.
class LinearLayers {
 public:
  LinearLayers(const Inference& inference, const modules::Attribution& attribution);

  const std::vector<LinearLayer>& layers() const { return layers_; }
  // The layers named by LoraOptions::targets. As in peft, a name may match no layer if another one
  // does: `warnings` gets it. NotFound if none matches, with similar names; InvalidArgument if a
  // name is a module of another kind.
  absl::StatusOr<std::vector<const LinearLayer*>> Targets(const LoraOptions& options,
                                                          std::vector<std::string>* warnings) const;
  // Those of kAllLinear: no convolution, and not the layer over the vocabulary.
  std::vector<const LinearLayer*> AllLinear() const;
  // Describes products with a weight that belong to no layer; empty if there are none.
  std::string OutsideText() const;
  // Describes experts whose weights are packed into one tensor; empty if there are none.
  std::string PackedExpertsText() const;
  // How often a value is read by nodes, or given out.
  int Uses(ValueId value) const { return uses_[static_cast<size_t>(value)]; }

 private:
  void AddProduct(NodeId id);
  void AddTo(LinearLayer run);
  bool IsLayer(const LinearLayer& layer) const;
  int64_t ProductsOutside() const;
  void FindResult(Product* product, ModuleId module) const;
  std::optional<ValueId> WeightOf(ValueId value) const;
  void FindTables();
  bool IsOverVocabulary(const LinearLayer& layer) const;
  bool IsTable(ValueId weight) const;
  void FindLeading();
  bool IsOfFusedAttention(ModuleId module) const;
  std::string WhyNone(ModuleId module) const;
  // False if it matches no layer.
  absl::StatusOr<bool> AddTarget(const std::string& pattern, std::vector<bool>* chosen) const;
  bool TakeOut(absl::string_view pattern, std::vector<bool>* chosen) const;
  absl::StatusOr<std::vector<bool>> AllChosen() const;
  absl::Status NamesNothing(const std::string& pattern) const;

  const Inference& inference_;
  const ModelData& model_;
  const modules::Attribution& attribution_;
  std::vector<int32_t> uses_;         // by ValueId
  std::vector<OptionalNodeId> user_;  // by ValueId: the last one
  std::vector<bool> is_product_;      // by NodeId: with a constant weight
  std::vector<bool> leads_;           // by ValueId: to a product
  std::vector<LinearLayer> layers_;
  std::vector<int32_t> layer_of_;  // by ModuleId: an index of layers_, or one of the following
  static constexpr int32_t kNoProducts = -1, kSeveralWeights = -2;
  int64_t products_ = 0;                                     // with a constant weight
  absl::flat_hash_set<std::pair<int64_t, int64_t>> tables_;  // columns and rows
  absl::flat_hash_set<ValueId> table_values_;
};

}  // namespace onnxflops::adapter

#endif  // ONNXFLOPS_SRC_ADAPTER_LINEAR_LAYERS_H_
