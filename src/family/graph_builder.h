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
// Weights and tables are external data that is not there: they have a type and dimensions, and no
// content, so that no size of a configuration decides how much memory a graph takes.
#ifndef ONNXFLOPS_SRC_FAMILY_GRAPH_BUILDER_H_
#define ONNXFLOPS_SRC_FAMILY_GRAPH_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/container/node_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/graph/dtype.h"

namespace onnxflops::family {

// A value of the graph by its name, which the builder keeps; "" for an input that is left out.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const char* literal) : name_(literal) {}  // NOLINT: ""
  bool empty() const { return name_.empty(); }
  absl::string_view name() const { return name_; }
  friend bool operator==(const Tensor& x, const Tensor& y) { return x.name_ == y.name_; }

 private:
  friend class GraphBuilder;
  explicit Tensor(absl::string_view name) : name_(name) {}
  absl::string_view name_;
};

// Metadata keys: the configuration, and the prefix of the default sizes of symbols.
inline constexpr absl::string_view kConfigKey = "onnxflops.config";
inline constexpr absl::string_view kAssumedDimPrefix = "onnxflops.assumed_dim.";
inline constexpr absl::string_view kMostDimPrefix = "onnxflops.most_dim.";
inline constexpr absl::string_view kMultipleDimPrefix = "onnxflops.multiple_dim.";
inline constexpr absl::string_view kPixelDimPrefix = "onnxflops.pixel_dim.";
inline constexpr absl::string_view kRateDimPrefix = "onnxflops.rate_dim.";
inline constexpr absl::string_view kAnyResKey = "onnxflops.anyres";
inline constexpr absl::string_view kSameDimPrefix = "onnxflops.same_dim.";

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

// How a graph is written.
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

  // While it lives, parameters below the current module are those below `other`, as where modules
  // are tied.
  class TiedScope {
   public:
    TiedScope(GraphBuilder* b, absl::string_view other) : b_(*b) {
      b_.tied_ = {b_.path_, std::string(other)};
    }
    ~TiedScope() { b_.tied_ = {}; }
    TiedScope(const TiedScope&) = delete;
    TiedScope& operator=(const TiedScope&) = delete;

   private:
    GraphBuilder& b_;
  };

  // The path of the current module: "model.layers.3".
  absl::string_view path() const { return path_; }
  // The type that the model computes in.
  DType dtype() const { return dtype_; }

  // The same name twice is the same input.
  Tensor Input(absl::string_view name, DType dtype, const Dims& dims);
  void Output(absl::string_view name, const Tensor& value, DType dtype, const Dims& dims);
  // Declares a value as an output that an operator already makes.
  void DeclareOutput(absl::string_view name, DType dtype, const Dims& dims);

  // A parameter of the current module. The same name twice is the same parameter.
  Tensor Weight(absl::string_view name, const std::vector<int64_t>& dims);
  Tensor Ints(const std::vector<int64_t>& values);
  Tensor Floats(std::initializer_list<float> values);
  // A list of float32 numbers that the model computes once, such as the frequencies of a rotation.
  Tensor Table(int64_t count);
  // The same of whole numbers, such as where each pair of places looks up its bias.
  Tensor IndexTable(int64_t count);
  Tensor Scalar(int64_t value);

  // A node with one output.
  Tensor Op(absl::string_view type, absl::Span<const Tensor> inputs,
            absl::Span<const Attr> attrs = {});
  // With several. `outputs`: their names, "" to have one made up.
  std::vector<Tensor> Ops(absl::string_view type, absl::Span<const Tensor> inputs,
                          absl::Span<const std::string> outputs, absl::Span<const Attr> attrs = {},
                          absl::string_view domain = "");

  // Sets the default size of a symbol.
  void AssumeDim(absl::string_view symbol, int64_t size) { assumed_[symbol] = size; }
  // Makes `symbol` take the size of `other` if only `other` is set.
  void FollowDim(absl::string_view symbol, absl::string_view other) {
    same_[symbol] = std::string(other);
  }
  // The largest size that the model has positions for.
  void LimitDim(absl::string_view symbol, int64_t most) { most_[symbol] = most; }
  // Only multiples of this are sizes of the symbol.
  void MultipleDim(absl::string_view symbol, int64_t of) { multiples_[symbol] = of; }
  // The symbol counts patches of so many pixels.
  void PixelDim(absl::string_view symbol, int64_t pixels) { pixels_[symbol] = pixels; }
  // So many of the symbol are a second of audio.
  void SetRate(absl::string_view symbol, int64_t per_second) { rates_[symbol] = per_second; }
  // How images are cut into tiles: AnyResRule() of anyres.h.
  void CutImages(std::string rule) { anyres_ = std::move(rule); }

  // The ModelProto.
  std::string Finish() &&;

 private:
  // Kept as long as the builder lives.
  absl::string_view Keep(std::string name) { return kept_.emplace_back(std::move(name)); }
  absl::string_view UniqueName(absl::string_view op);
  void AddNode(absl::string_view name, absl::string_view type, absl::Span<const Tensor> inputs,
               absl::Span<const Tensor> outputs, absl::Span<const Attr> attrs,
               absl::string_view domain);
  // `bytes`: the content, if any.
  Tensor Constant(DType dtype, int64_t count, bool scalar, std::optional<absl::string_view> bytes);

  const DType dtype_;
  const SaveOptions save_;
  std::string path_;                          // of the current module, "vision_model.encoder"
  std::string slashes_;                       // the same in names of nodes, "/vision_model/encoder"
  std::string scopes_, classes_;              // the same as the exporter lists it
  std::pair<std::string, std::string> tied_;  // modules, and those that have their parameters
  std::string bytes_;                         // of the ModelProto so far
  protozero::pbf_writer model_{bytes_};
  std::optional<protozero::pbf_writer> graph_;  // inside it; nodes are added as they come
  std::string initializers_, inputs_, outputs_;
  // Node names, with the number of nodes of this name so far; names of parameters and inputs; all
  // others.
  absl::node_hash_map<std::string, int> names_;
  absl::node_hash_set<std::string> weights_, input_names_;
  std::deque<std::string> kept_;
  absl::btree_map<std::string, int64_t> assumed_, most_, multiples_, pixels_, rates_;
  absl::btree_map<std::string, std::string> same_;
  std::string anyres_;
};

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_GRAPH_BUILDER_H_
