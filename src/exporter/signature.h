// The arguments of a program in torch.export's signature. The dynamo exporter writes it into the
// metadata of the main graph, one argument per line:
//
//   # inputs
//   p_fc_weight: PARAMETER target='fc.weight'
//   b_mask: BUFFER target='mask' persistent=False
//   c_lifted_tensor_0: CONSTANT_TENSOR target='lifted_tensor_0'
//   x: USER_INPUT
//
// It also names parameters that are missing elsewhere in the file, because the exporter computed
// with them.
#ifndef ONNXFLOPS_SRC_EXPORTER_SIGNATURE_H_
#define ONNXFLOPS_SRC_EXPORTER_SIGNATURE_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/exporter/module_scope.h"
#include "src/graph/model.h"

namespace onnxflops::exporter {

inline constexpr absl::string_view kGraphSignatureKey =
    "pkg.torch.export.ExportedProgram.graph_signature";

class Signature {
 public:
  explicit Signature(const ModelData& model);

  // The file has one. Without it, all else is false and empty.
  bool is_stated() const { return is_stated_; }
  // By their names in the module: "fc.weight".
  bool IsParameter(absl::string_view name) const { return parameters_.contains(name); }
  bool IsBuffer(absl::string_view name) const { return buffers_.contains(name); }
  // A tensor of the program that is neither: torch.tensor(2.0), an attribute that is not
  // registered.
  bool IsConstant(absl::string_view name) const { return constants_.contains(name); }
  // Parameters that neither a node nor an initializer names, in all modules or in one: "weight" of
  // "fc". A parameter that several modules share has its name in one of them.
  bool HasUnnamed() const { return !unnamed_.empty(); }
  absl::Span<const absl::string_view> UnnamedOf(absl::string_view module) const;
  // Buffers that no node and no initializer names, and whose names suggest row indices:
  // "position_ids". For all modules, or for one and those inside it.
  bool HasPlaces() const { return !places_.empty(); }
  absl::Span<const absl::string_view> PlacesOf(absl::string_view module) const;

 private:
  void Read(absl::string_view text);
  void FindUnnamed(const ModelData& model);

  bool is_stated_ = false;
  absl::flat_hash_map<absl::string_view, absl::string_view> parameters_;  // and its argument
  absl::flat_hash_map<absl::string_view, absl::string_view> buffers_;
  absl::flat_hash_set<absl::string_view> constants_;
  using ByModule = absl::flat_hash_map<absl::string_view, std::vector<absl::string_view>>;
  ByModule unnamed_, places_;
};

// The parameters, all of the node's module, from which an initializer that `node` reads was most
// likely computed, because the file does not explain it otherwise. Empty if it was not.
absl::Span<const absl::string_view> ComputedOf(const ModelData& model, const Signature& signature,
                                               const Node& node, ValueId value);
// The module that runs the node's call; nullopt if unknown.
std::optional<EnclosingModule> ModuleOfNode(const Node& node);
// Parameters of that module that are missing in the rest of the file.
absl::Span<const absl::string_view> UnnamedBeside(const Signature& signature, const Node& node);
// True if the call reads the tensor, which holds numbers along one axis, as a view of a computed
// value. Every parameter is elsewhere in the file, so none of them went into it.
bool IsViewOfMade(const Signature& signature, absl::string_view call, const Tensor& tensor);
// "conv" of "conv.parametrizations.weight.original0", "conv.weight_g" and "conv.weight".
absl::string_view ModuleOfTarget(absl::string_view target);
// True if these parameters, all of one module, are those from which weight_norm computes a weight.
bool IsWeightNorm(absl::Span<const absl::string_view> targets);

}  // namespace onnxflops::exporter

#endif  // ONNXFLOPS_SRC_EXPORTER_SIGNATURE_H_
