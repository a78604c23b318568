// How it works. Each target layer gets two weights, A and B. For each of its products the nodes
// that peft's forward pass runs are added. The last of these nodes takes over the layer's output
// value, so its readers do not change.
//
// peft keeps adapters of float16, bfloat16 and quantised models in float32
// (autocast_adapter_dtype). It casts the layer's input to float32 and the adapter's output back.
//
// QLoRA first replaces products by MatMulBnb4, which holds weights as bitsandbytes does. The row of
// that operator does the rest: the weight is dequantised in the forward pass and again in the
// backward pass, and is not saved. As in transformers, the output layer over the vocabulary and
// tied weights are not quantised.
//
// New nodes carry their module in their metadata in the dynamo exporter's form, whichever exporter
// wrote the file.
#include "src/adapter/add_adapters.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/adapter/graph_editor.h"
#include "src/adapter/linear_layers.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/exporter/node_metadata.h"

namespace onnxflops {
namespace adapter {
namespace {

constexpr int64_t kNf4Block = 64;
constexpr int64_t kNf4QuantType = 1;
constexpr int32_t kOwnOpset = 13;  // of new nodes, where the model's is older
constexpr char kA[] = "lora_A.default", kB[] = "lora_B.default";

// The type in which the adapters of a layer are stored.
DType AdapterType(DType type) { return type == DType::kFloat64 ? type : DType::kFloat32; }

Attribute IntAttribute(absl::string_view name, int64_t value) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = AttributeType::kInt;
  attribute.i = value;
  return attribute;
}

int64_t IntOf(const Node& node, absl::string_view name, int64_t otherwise) {
  const Attribute* attribute = node.FindAttribute(name);
  return attribute == nullptr ? otherwise : attribute->i;
}

class AdapterMaker {
 public:
  AdapterMaker(const Model& model, const Inference& inference,
               const modules::Attribution& attribution, const LoraOptions& options)
      : inference_(inference),
        options_(options),
        layers_(inference, attribution),
        editor_(model),
        opset_(model->OpsetOf("").value_or(0) < kOwnOpset ? kOwnOpset : 0) {}

  absl::StatusOr<Adapted> Run() {
    summary_.options = options_;
    ASSIGN_OR_RETURN(std::vector<const LinearLayer*> targets, layers_.Targets(options_));
    if (options_.base == LoraBase::kNf4) {
      for (const LinearLayer* layer : layers_.AllLinear()) Quantise(*layer);
    }
    for (const LinearLayer* layer : targets) {
      RETURN_IF_ERROR(layer->is_conv ? AddToConv(*layer) : AddToLinear(*layer));
      ++summary_.layers;
    }
    std::vector<std::string> warnings;
    if (options_.targets[0] == kAllLinear && !layers_.OutsideText().empty()) {
      warnings.push_back(absl::StrCat(WithSettings("{lora all-linear}: "), layers_.OutsideText()));
    }
    return Adapted{std::move(editor_).Finish(), summary_, std::move(warnings)};
  }

 private:
  using Inputs = std::vector<OptionalValueId>;
  const Node& node(NodeId id) const { return editor_.model().node(id); }

  absl::Status Wrong(const LinearLayer& layer, absl::string_view why) const {
    return absl::InvalidArgumentError(
        absl::StrCat(Setting("lora"), " r=", options_.r, ": ", Quoted(layer.path), " ", why));
  }

  // ---- nodes

  // A node in the layer's module, or in its child `part`.
  Node NewNode(const LinearLayer& layer, NodeId base, absl::string_view op,
               absl::string_view part = "") {
    Node made;
    made.op_type = op;
    made.name = editor_.Keep(absl::StrCat("/", absl::StrReplaceAll(layer.path, {{".", "/"}}), "/",
                                          part.empty() ? "lora" : part, "/", op));
    made.caller = node(base).caller;
    made.opset = opset_;
    made.metadata =
        MetadataOf(layer, exporter::NodeMetadata(node(base).metadata).StatesCall(), op, part);
    return made;
  }

  exporter::MetadataProps MetadataOf(const LinearLayer& layer, bool has_classes,
                                     absl::string_view op, absl::string_view part) {
    const std::string inside =
        part.empty() ? std::string() : absl::StrCat(", '", layer.path, ".", part, "'");
    const std::string scopes = absl::StrCat("['', '", layer.path, "'", inside, ", '", op, "']");
    std::vector<std::pair<absl::string_view, absl::string_view>> metadata = {
        {exporter::kNameScopesKey, editor_.Keep(scopes)}};
    if (has_classes) {
      const absl::string_view type = layer.is_conv ? layer.type : "Linear";
      const std::string classes = absl::StrCat(
          "['', '", layer.type, "'", part.empty() ? std::string() : absl::StrCat(", '", type, "'"),
          ", '", op, "']");
      metadata.emplace_back(exporter::kClassHierarchyKey, editor_.Keep(classes));
    }
    return editor_.Keep(metadata);
  }

  ValueId Cast(const LinearLayer& layer, const Product& product, NodeId after, ValueId value,
               DType to) {
    Node made = NewNode(layer, product.node, "Cast");
    made.attributes =
        editor_.Keep(std::vector<Attribute>{IntAttribute("to", static_cast<int64_t>(to))});
    made.attributes_comparable = false;
    return editor_.AddNode(after, made, {value});
  }

  // ---- adapters

  // The weight of a part, of these sizes; counts its parameters.
  absl::StatusOr<ValueId> AddWeight(const LinearLayer& layer, absl::string_view part, DType type,
                                    const std::vector<int64_t>& dims) {
    absl::int128 elements = 1;
    for (const int64_t dim : dims) {
      elements *= dim;
      if (elements > kMaxElements) {
        return absl::OutOfRangeError(absl::StrCat(Setting("lora"), " r=", options_.r, ": ",
                                                  Quoted(layer.path),
                                                  " gets more parameters than can be addressed"));
      }
    }
    summary_.params += elements;
    return editor_.AddTensor(absl::StrCat(layer.path, ".", part, ".weight"), type, dims);
  }

  ValueId Scale(DType type) {
    OptionalValueId& scale = type == DType::kFloat64 ? scale64_ : scale_;
    if (!scale) {
      // A name ending in a number marks a constant: see exporter::IsScalarParameter.
      scale = editor_.AddNumber(type == DType::kFloat64 ? "lora_scaling_1" : "lora_scaling_0", type,
                                LoraScale(options_));
    }
    return *scale;
  }

  // The nodes of one run of the layer. `product_op`: the MatMul or Conv of A and of B.
  void AddRun(const LinearLayer& layer, const Product& product, Node a, Node b, ValueId weight_a,
              ValueId weight_b) {
    const auto quantised = quantised_.find(product.node);
    const NodeId after = quantised == quantised_.end() ? product.last : quantised->second.after;
    const NodeId last = quantised == quantised_.end() ? product.last : quantised->second.last;
    const DType type = AdapterType(product.dtype);
    const bool casts = type != product.dtype;
    const ValueId base = editor_.FreeOutput(
        last, absl::StrCat(editor_.model().value(product.result).name, ".base_layer"));
    const ValueId x = casts ? Cast(layer, product, after, product.input, type) : product.input;
    const ValueId down = editor_.AddNode(after, a, {x, weight_a});
    const ValueId up = editor_.AddNode(after, b, {down, weight_b});
    ValueId scaled = editor_.AddNode(after, NewNode(layer, product.node, "Mul"), {up, Scale(type)});
    if (casts) scaled = Cast(layer, product, after, scaled, product.dtype);
    editor_.AddNode(after, NewNode(layer, product.node, "Add"), {base, scaled}, product.result);
  }

  absl::Status AddToLinear(const LinearLayer& layer) {
    const DType type = AdapterType(layer.products[0].dtype);
    ASSIGN_OR_RETURN(const ValueId a, AddWeight(layer, kA, type, {layer.in, options_.r}));
    ASSIGN_OR_RETURN(const ValueId b, AddWeight(layer, kB, type, {options_.r, layer.out}));
    for (const Product& product : layer.products) {
      AddRun(layer, product, NewNode(layer, product.node, "MatMul", kA),
             NewNode(layer, product.node, "MatMul", kB), a, b);
    }
    return absl::OkStatus();
  }

  // peft: A has the kernel, stride and padding of the layer and no groups; B is 1 x 1, with them.
  absl::Status AddToConv(const LinearLayer& layer) {
    const Node& base = node(layer.products[0].node);
    const Fact* weight = inference_.FactOf(base.input(1));
    const int64_t groups = IntOf(base, "group", 1);
    if (groups < 1 || options_.r % groups != 0) {
      return Wrong(layer, absl::StrCat("has ", groups, " groups, which must divide r"));
    }
    std::vector<int64_t> a_dims = {options_.r, layer.in}, b_dims = {layer.out, options_.r / groups};
    for (int i = 2; i < weight->shape.rank(); ++i) {
      const std::optional<int64_t> size = weight->shape[i].AsInt64();
      if (!size || *size < 1) return Wrong(layer, "has a window of unknown size");
      a_dims.push_back(*size);
      b_dims.push_back(1);
    }
    const DType type = AdapterType(layer.products[0].dtype);
    ASSIGN_OR_RETURN(const ValueId a, AddWeight(layer, kA, type, a_dims));
    ASSIGN_OR_RETURN(const ValueId b, AddWeight(layer, kB, type, b_dims));
    for (const Product& product : layer.products) {
      ASSIGN_OR_RETURN(Node down, ConvLike(layer, product));
      Node up = NewNode(layer, product.node, "Conv", kB);
      if (groups > 1) {
        up.attributes = editor_.Keep(std::vector<Attribute>{IntAttribute("group", groups)});
        up.attributes_comparable = false;
      }
      AddRun(layer, product, down, up, a, b);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Node> ConvLike(const LinearLayer& layer, const Product& product) {
    Node made = NewNode(layer, product.node, "Conv", kA);
    std::vector<Attribute> attributes;
    for (const Attribute& attribute : node(product.node).attributes) {
      if (attribute.name == "dilations") {
        for (const int64_t step : attribute.ints) {
          if (step == 1) continue;
          return Wrong(layer, "is dilated: the adapter that peft makes for it does not fit");
        }
      }
      if (attribute.name != "group") attributes.push_back(attribute);
    }
    made.attributes = editor_.Keep(attributes);
    made.attributes_comparable = false;
    return made;
  }

  // ---- weights in 4 bits

  // The layer's weight is used by it alone, through at most a transposition.
  bool IsTied(const LinearLayer& layer) const {
    int uses = 0;
    for (const Product& product : layer.products) {
      const ValueId direct = *node(product.node).input(1);
      if (direct == layer.weight) {
        ++uses;
        continue;
      }
      const Node& maker = node(*editor_.model().value(direct).producer);
      if (maker.op_type != "Transpose" || maker.input(0) != layer.weight) return true;
      if (layers_.Uses(direct) != 1) return true;
      ++uses;
    }
    return uses != layers_.Uses(layer.weight);
  }

  static bool IsPlain(const Node& product) {
    for (const absl::string_view factor : {"alpha", "beta"}) {
      const Attribute* attribute = product.FindAttribute(factor);
      if (attribute != nullptr && attribute->f != 1) return false;
    }
    return product.domain.empty();
  }

  void Quantise(const LinearLayer& layer) {
    const OptionalTensorId stored = editor_.model().value(layer.weight).initializer;
    if (layer.is_packed || !stored || !IsFloat(editor_.model().tensor(*stored).dtype)) return;
    for (const Product& product : layer.products) {
      if (!IsPlain(node(product.node))) return;
    }
    const absl::int128 elements = absl::int128(layer.in) * layer.out;
    if (elements > kMaxElements || IsTied(layer)) return;
    const auto count = static_cast<int64_t>(elements);
    editor_.ReplaceTensor(layer.weight, DType::kUint8, {count / 2 + count % 2});
    const ValueId absmax =
        editor_.AddTensor(absl::StrCat(layer.path, ".weight.absmax"), DType::kFloat32,
                          {count / kNf4Block + (count % kNf4Block == 0 ? 0 : 1)});
    for (const Product& product : layer.products) QuantiseRun(layer, product, absmax);
    ++summary_.nf4_layers;
  }

  void QuantiseRun(const LinearLayer& layer, const Product& product, ValueId absmax) {
    const Node before = node(product.node);
    if (*before.input(1) != layer.weight) {  // the nodes that transposed it pass it on
      const NodeId maker = *editor_.model().value(*before.input(1)).producer;
      Node identity = node(maker);
      identity.op_type = "Identity";
      identity.attributes = {};
      identity.attribute_bytes = {};
      identity.attributes_comparable = true;
      editor_.ReplaceNode(maker, identity, {layer.weight});
    }
    Node packed = before;
    packed.op_type = "MatMulBnb4";
    packed.domain = "com.microsoft";
    packed.opset = 0;
    packed.attributes = editor_.Keep(std::vector<Attribute>{
        IntAttribute("K", layer.in), IntAttribute("N", layer.out),
        IntAttribute("block_size", kNf4Block), IntAttribute("quant_type", kNf4QuantType)});
    packed.attribute_bytes = {};
    packed.attributes_comparable = false;
    editor_.ReplaceNode(product.node, packed, {product.input, before.input(1), absmax});
    const OptionalValueId bias = before.input(2);
    if (!bias) return;
    const ValueId y = *before.output(0);
    const ValueId made = editor_.FreeOutput(
        product.node, absl::StrCat(editor_.model().value(y).name, ".without_bias"));
    editor_.AddNode(product.node, NewNode(layer, product.node, "Add"), {made, *bias}, y);
    quantised_[product.node] = {product.node,
                                static_cast<NodeId>(editor_.model().nodes.size() - 1)};
  }

  // Where a product was replaced by new nodes: the last of them, and the node after them.
  struct Replaced {
    NodeId after = 0, last = 0;
  };

  const Inference& inference_;
  const LoraOptions& options_;
  const LinearLayers layers_;
  GraphEditor editor_;
  const int32_t opset_;
  LoraSummary summary_;
  OptionalValueId scale_, scale64_;
  absl::flat_hash_map<NodeId, Replaced> quantised_;
};

}  // namespace
}  // namespace adapter

absl::StatusOr<Adapted> AddAdapters(const Model& model, const Inference& inference,
                                    const modules::Attribution& attribution,
                                    const LoraOptions& options) {
  return adapter::AdapterMaker(model, inference, attribution, options).Run();
}

}  // namespace onnxflops
