// Writes a graph node by node, as a ModelProto, in the modules of a program.
//
//   GraphBuilder b("CLIPModel", DType::kFloat32);
//   Tensor x = b.Input("pixel_values", DType::kFloat32, {"batch", 3, 224, 224});
//   {
//     GraphBuilder::Scope scope(&b, "visual_projection", "Linear");
//     x = b.Op("MatMul", {x, b.Weight("weight", {768, 512})});   // in module visual_projection
//   }
//   b.Output("image_embeds", x, DType::kFloat32, {"batch", 512});
//   std::string bytes = std::move(b).Finish();
//
// Weights are external data that is not there: they have a type and dimensions, and no content.
#ifndef ONNXFLOPS_SRC_FAMILY_GRAPH_BUILDER_H_
#define ONNXFLOPS_SRC_FAMILY_GRAPH_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "src/graph/dtype.h"

namespace onnxflops::family {

// The name of a value in the graph; empty for an input that is left out.
using Tensor = std::string;

// Keys of the metadata: the configuration, and the beginning of those of sizes that symbols have
// where nobody says another.
inline constexpr absl::string_view kConfigKey = "onnxflops.config";
inline constexpr absl::string_view kAssumedDimPrefix = "onnxflops.assumed_dim.";
inline constexpr absl::string_view kMostDimPrefix = "onnxflops.most_dim.";

// A dimension of an input or output: a size, or a symbol ("batch", "past + seq").
struct Dim {
  Dim(int64_t n) : size(n) {}                         // NOLINT: {"batch", 3, 224}
  Dim(int n) : size(n) {}                             // NOLINT
  Dim(const char* name) : symbol(name) {}             // NOLINT
  Dim(std::string name) : symbol(std::move(name)) {}  // NOLINT
  int64_t size = -1;
  std::string symbol;
};
using Dims = std::vector<Dim>;

// What a graph is written with.
struct SaveOptions {
  std::string weights_at = "weights-not-here.data";  // a file's name, where weights should be
  std::string config;                                // the whole configuration, into the metadata
};

struct Attr {
  absl::string_view name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>> value;
};
using Attrs = std::vector<Attr>;

class GraphBuilder {
 public:
  // `root`: the class of the whole model.
  GraphBuilder(absl::string_view root, DType dtype, SaveOptions save);

  // The modules that nodes and weights belong to while it lives.
  class Scope {
   public:
    Scope(GraphBuilder* b, absl::string_view name, absl::string_view type);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GraphBuilder& b_;
    const size_t path_, slashes_, scopes_, classes_;
  };

  // The type that the model computes in.
  DType dtype() const { return dtype_; }

  Tensor Input(absl::string_view name, DType dtype, const Dims& dims);
  void Output(absl::string_view name, const Tensor& value, DType dtype, const Dims& dims);
  // Declares a value as an output that an operator was told to make.
  void DeclareOutput(absl::string_view name, DType dtype, const Dims& dims);

  // A parameter of the current module. The same name twice is the same parameter.
  Tensor Weight(absl::string_view name, const std::vector<int64_t>& dims);
  Tensor Ints(const std::vector<int64_t>& values);
  Tensor Floats(const std::vector<float>& values);
  Tensor Scalar(int64_t value);

  // A node with one output.
  Tensor Op(absl::string_view type, const std::vector<Tensor>& inputs, const Attrs& attrs = {});
  // With several. `outputs`: their names, "" to have one made up.
  std::vector<Tensor> Ops(absl::string_view type, const std::vector<Tensor>& inputs,
                          std::vector<Tensor> outputs, const Attrs& attrs = {},
                          absl::string_view domain = "");

  // The size that a symbol has where nobody says another.
  void AssumeDim(absl::string_view symbol, int64_t size) { assumed_[symbol] = size; }
  // The largest size that the model has positions for.
  void LimitDim(absl::string_view symbol, int64_t most) { most_[symbol] = most; }

  // The ModelProto.
  std::string Finish() &&;

 private:
  std::string UniqueName(absl::string_view op);
  Tensor Constant(DType dtype, int64_t count, bool scalar, absl::string_view bytes);

  const DType dtype_;
  const SaveOptions save_;
  std::string path_;              // of the current module, "vision_model.encoder"
  std::string slashes_;           // the same in names of nodes, "/vision_model/encoder"
  std::string scopes_, classes_;  // the same as the exporter lists it
  std::string nodes_, initializers_, inputs_, outputs_;
  absl::flat_hash_map<std::string, int> names_;
  absl::flat_hash_set<std::string> weights_;
  absl::btree_map<std::string, int64_t> assumed_, most_;
};

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_GRAPH_BUILDER_H_
