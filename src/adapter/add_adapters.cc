// How it works. Each target layer gets two weights, A and B. For each of its products the nodes
// that peft's forward pass runs are added. The last of these nodes takes over the layer's output
// value, so its readers do not change.
//
// peft keeps adapters of float16, bfloat16 and quantised models in float32
// (autocast_adapter_dtype). It casts the layer's input to float32 and the adapter's output back.
//
// DoRA scales the outputs. Its magnitudes are a parameter; the norms that they are divided by are
// computed in every run, from the product of A and B, which peft gets by running both on the
// identity matrix.
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

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
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
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"

namespace onnxflops {
namespace adapter {
namespace {

constexpr int64_t kNf4Block = 64;
constexpr int64_t kNf4QuantType = 1;
constexpr int32_t kOwnOpset = 13;  // of new nodes, where the model's is older
constexpr char kA[] = "lora_A.default", kB[] = "lora_B.default";
constexpr char kMagnitude[] = "lora_magnitude_vector.default";

// The type in which the adapters of a layer are stored.
DType AdapterType(DType type) { return type == DType::kFloat64 ? type : DType::kFloat32; }

Attribute IntAttribute(absl::string_view name, int64_t value) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = AttributeType::kInt;
  attribute.i = value;
  return attribute;
}

Attribute IntsAttribute(absl::string_view name, absl::Span<const int64_t> ints) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = AttributeType::kInts;
  attribute.ints = ints;
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
    std::vector<std::string> warnings;
    ASSIGN_OR_RETURN(const std::vector<Target> targets, Targets(&warnings));
    if (HasNf4Base(options_)) {
      for (const LinearLayer* layer : layers_.AllLinear()) Quantise(*layer);
    }
    for (const Target& target : targets) {
      list_ = target.list;
      const LinearLayer& layer = *target.layer;
      RETURN_IF_ERROR(layer.is_conv ? AddToConv(layer) : AddToLinear(layer));
      ++summary_.layers;
    }
    const bool all = absl::c_any_of(LoraLists(options_), [](const LoraOptions* list) {
      return absl::c_linear_search(list->targets, kAllLinear);
    });
    for (const std::string& outside : {layers_.OutsideText(), layers_.PackedExpertsText()}) {
      if (!all || outside.empty()) continue;
      warnings.push_back(absl::StrCat(WithSettings("{lora all-linear}: "), outside));
    }
    return Adapted{std::move(editor_).Finish(), summary_, std::move(warnings)};
  }

 private:
  struct Target {
    const LinearLayer* layer;
    const LoraOptions* list;
  };

  // The layers that get an adapter, each with the last list that names it.
  absl::StatusOr<std::vector<Target>> Targets(std::vector<std::string>* warnings) const {
    absl::flat_hash_map<const LinearLayer*, const LoraOptions*> lists;
    for (const LoraOptions* list : LoraLists(options_)) {
      ASSIGN_OR_RETURN(const std::vector<const LinearLayer*> layers,
                       layers_.Targets(*list, warnings));
      for (const LinearLayer* layer : layers) lists[layer] = list;
    }
    std::vector<Target> targets;
    for (const LinearLayer& layer : layers_.layers()) {
      const auto found = lists.find(&layer);
      if (found != lists.end()) targets.push_back({&layer, found->second});
    }
    for (const LoraOptions* list : LoraLists(options_)) {
      if (absl::c_any_of(targets, [&](const Target& target) { return target.list == list; }))
        continue;
      return absl::InvalidArgumentError(absl::StrCat(Setting("lora"), " ", Quoted(LoraText(*list)),
                                                     ": a later one names all of its layers"));
    }
    return targets;
  }

  using Inputs = std::vector<OptionalValueId>;
  const Node& node(NodeId id) const { return editor_.model().node(id); }

  absl::Status Wrong(const LinearLayer& layer, absl::string_view why) const {
    return absl::InvalidArgumentError(
        absl::StrCat(Setting("lora"), " r=", list_->r, ": ", Quoted(layer.path), " ", why));
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
      absl::string_view type = layer.is_conv ? layer.type : "Linear";
      if (part == kMagnitude) type = editor_.Keep(absl::StrCat("Dora", type, "Layer"));
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
        return absl::OutOfRangeError(absl::StrCat(Setting("lora"), " r=", list_->r, ": ",
                                                  Quoted(layer.path),
                                                  " gets more parameters than can be addressed"));
      }
    }
    summary_.params += elements;
    return editor_.AddTensor(absl::StrCat(layer.path, ".", part, ".weight"), type, dims);
  }

  ValueId Number(DType type, double number) {
    OptionalValueId& known = numbers_[{type, number}];
    if (!known) {
      // A name ending in a number marks a constant: see exporter::IsScalarParameter.
      known = editor_.AddNumber(absl::StrCat("lora_scaling_", numbers_.size() - 1), type, number);
    }
    return *known;
  }
  ValueId Scale(DType type) { return Number(type, LoraScale(*list_)); }

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
    ValueId scaled = 0;
    if (list_->dora) {
      scaled = AddMagnitude(layer, product, after, {base, up, weight_a, weight_b});
    } else {
      scaled = editor_.AddNode(after, NewNode(layer, product.node, "Mul"), {up, Scale(type)});
    }
    if (casts) scaled = Cast(layer, product, after, scaled, product.dtype);
    editor_.AddNode(after, NewNode(layer, product.node, "Add"), {base, scaled}, product.result);
  }

  absl::Status AddToLinear(const LinearLayer& layer) {
    const DType type = AdapterType(layer.products[0].dtype);
    ASSIGN_OR_RETURN(const ValueId a, AddWeight(layer, kA, type, {layer.in, list_->r}));
    ASSIGN_OR_RETURN(const ValueId b, AddWeight(layer, kB, type, {list_->r, layer.out}));
    RETURN_IF_ERROR(AddMagnitudes(layer, type));
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
    if (groups < 1 || list_->r % groups != 0) {
      return Wrong(layer, absl::StrCat("has ", groups, " groups, which must divide r"));
    }
    std::vector<int64_t> a_dims = {list_->r, layer.in}, b_dims = {layer.out, list_->r / groups};
    for (int i = 2; i < weight->shape.rank(); ++i) {
      const std::optional<int64_t> size = weight->shape[i].AsInt64();
      if (!size || *size < 1) return Wrong(layer, "has a window of unknown size");
      a_dims.push_back(*size);
      b_dims.push_back(1);
    }
    const DType type = AdapterType(layer.products[0].dtype);
    ASSIGN_OR_RETURN(const ValueId a, AddWeight(layer, kA, type, a_dims));
    ASSIGN_OR_RETURN(const ValueId b, AddWeight(layer, kB, type, b_dims));
    RETURN_IF_ERROR(AddMagnitudes(layer, type));
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

  // ---- DoRA

  // The trained magnitude of each output. A weight in 4 bits has no norm here.
  absl::Status AddMagnitudes(const LinearLayer& layer, DType type) {
    if (!list_->dora) return absl::OkStatus();
    const Fact* weight = inference_.FactOf(layer.weight);
    const bool is_known = weight != nullptr && weight->is_tensor() && weight->shape.ranked() &&
                          weight->shape.NumElements().is_literal();
    if (layer.is_packed || HasNf4Base(options_)) {
      return Wrong(layer,
                   "has a weight in few bits: DoRA's norms dequantise it again, which is "
                   "not counted");
    }
    if (!is_known || (!layer.is_conv && !IsMatrix(layer, weight->shape))) {
      return Wrong(layer, "has a weight in another form than a matrix, of which DoRA takes norms");
    }
    std::vector<int64_t> dims = {layer.out};
    if (layer.is_conv) {
      dims.assign(static_cast<size_t>(weight->shape.rank()), 1);
      dims[1] = layer.out;
    }
    ASSIGN_OR_RETURN(magnitude_, AddWeight(layer, kMagnitude, type, dims));
    return absl::OkStatus();
  }

  static bool IsMatrix(const LinearLayer& layer, const Shape& shape) {
    return shape.rank() == 2 && ((shape[0] == Expr(layer.in) && shape[1] == Expr(layer.out)) ||
                                 (shape[0] == Expr(layer.out) && shape[1] == Expr(layer.in)));
  }

  struct Operands {
    ValueId base, up;  // the layer's output, and that of B
    ValueId weight_a, weight_b;
  };

  // What peft adds to the layer's output y: (m/n - 1) (y - bias) + m/n B(A(x)) scaling, where m are
  // the magnitudes and n the norms of W + scaling B A. Norms have no gradient.
  ValueId AddMagnitude(const LinearLayer& layer, const Product& product, NodeId after,
                       const Operands& given) {
    const DType type = AdapterType(product.dtype);
    const auto add = [&](absl::string_view op, const Inputs& inputs) {
      return editor_.AddNode(after, NewNode(layer, product.node, op, kMagnitude), inputs);
    };
    const auto cast = [&](ValueId value) {
      return type == product.dtype ? value : Cast(layer, product, after, value, type);
    };
    const ValueId norms = AddNorms(layer, product, after, given);
    const ValueId factor = add("Div", {magnitude_, norms});
    ValueId base = given.base;
    if (OptionalValueId bias = BiasOf(product)) {
      if (layer.is_conv) bias = add("Reshape", {*bias, ViewOf(layer)});
      base = add("Sub", {base, *bias});
    }
    const ValueId less = add("Sub", {factor, Number(type, 1)});
    const ValueId old = add("Mul", {less, cast(base)});
    const ValueId scaled = add("Mul", {add("Mul", {factor, given.up}), Scale(type)});
    return add("Add", {old, scaled});
  }

  // As many as there are outputs.
  ValueId AddNorms(const LinearLayer& layer, const Product& product, NodeId after,
                   const Operands& given) {
    const DType type = AdapterType(product.dtype);
    const Shape& shape = inference_.FactOf(layer.weight)->shape;
    const auto add = [&](absl::string_view op, const Inputs& inputs,
                         const std::vector<Attribute>& attributes = {}) {
      Node made = NewNode(layer, product.node, op, kMagnitude);
      made.attributes = editor_.Keep(attributes);
      made.attributes_comparable = attributes.empty();
      return editor_.AddNode(after, made, inputs);
    };
    ValueId change = 0;
    // W is [out, ...]. A square one is taken as [in, out], which costs the same.
    const bool by_rows = layer.is_conv || shape[0] != Expr(layer.in);
    if (layer.is_conv) {
      const int64_t r = list_->r;
      const ValueId rows = add("Reshape", {given.weight_b, editor_.AddInts("lora_rows", {-1, r})});
      const ValueId columns =
          add("Reshape", {given.weight_a, editor_.AddInts("lora_columns", {r, -1})});
      std::vector<int64_t> sizes;
      sizes.reserve(static_cast<size_t>(shape.rank()));
      for (int i = 0; i < shape.rank(); ++i) sizes.push_back(shape[i].AsInt64().value_or(1));
      change =
          add("Reshape", {add("MatMul", {rows, columns}), editor_.AddInts("lora_sizes", sizes)});
    } else {
      const ValueId eye =
          add("ConstantOfShape", {editor_.AddInts("lora_eye", {layer.in, layer.in})});
      const ValueId x = type == DType::kFloat32 ? eye : Cast(layer, product, after, eye, type);
      const ValueId down =
          editor_.AddNode(after, NewNode(layer, product.node, "MatMul", kA), {x, given.weight_a});
      change = editor_.AddNode(after, NewNode(layer, product.node, "MatMul", kB),
                               {down, given.weight_b});
      if (by_rows) change = add("Transpose", {change});
    }
    Node scale = NewNode(layer, product.node, "Mul", kMagnitude);
    scale.metadata = WithDetach(scale.metadata);
    const ValueId scaled = editor_.AddNode(after, scale, {change, Scale(type)});
    const ValueId weight =
        type == product.dtype ? layer.weight : Cast(layer, product, after, layer.weight, type);
    // In the layer's module, so that the weight keeps its name: see trained.h.
    const ValueId sum =
        editor_.AddNode(after, NewNode(layer, product.node, "Add"), {weight, scaled});
    return AddNorm(layer, product, after, sum, by_rows);
  }

  // Of all axes but that of the outputs.
  ValueId AddNorm(const LinearLayer& layer, const Product& product, NodeId after, ValueId sum,
                  bool by_rows) {
    constexpr int32_t kAxesAreInput = 18;
    std::vector<int64_t> axes = {by_rows ? 1 : 0};
    const int rank = inference_.FactOf(layer.weight)->shape.rank();
    for (int i = 2; i < rank; ++i) axes.push_back(i);
    Node norm = NewNode(layer, product.node, "ReduceL2", kMagnitude);
    std::vector<Attribute> attributes = {IntAttribute("keepdims", layer.is_conv ? 1 : 0)};
    Inputs inputs = {sum};
    const int64_t opset =
        norm.opset != 0 ? norm.opset : editor_.model().OpsetOf("").value_or(kOwnOpset);
    if (opset >= kAxesAreInput) {
      inputs.push_back(editor_.AddInts("lora_axes", axes));
    } else {
      attributes.push_back(IntsAttribute("axes", editor_.Keep(axes)));
    }
    norm.attributes = editor_.Keep(attributes);
    norm.attributes_comparable = false;
    const ValueId norms = editor_.AddNode(after, norm, inputs);
    if (!layer.is_conv) return norms;
    return editor_.AddNode(after, NewNode(layer, product.node, "Reshape", kMagnitude),
                           {norms, ViewOf(layer)});
  }

  // [1, out, 1, 1], as sizes.
  ValueId ViewOf(const LinearLayer& layer) {
    const int rank = inference_.FactOf(layer.weight)->shape.rank();
    std::vector<int64_t> sizes(static_cast<size_t>(rank), 1);
    sizes[1] = layer.out;
    return editor_.AddInts("lora_view", sizes);
  }

  exporter::MetadataProps WithDetach(exporter::MetadataProps metadata) {
    std::vector<std::pair<absl::string_view, absl::string_view>> all(metadata.begin(),
                                                                     metadata.end());
    all.emplace_back(exporter::kFxNodeKey, exporter::kDetachedProduct);
    return editor_.Keep(all);
  }

  // Of the product itself, or of the Add behind it.
  OptionalValueId BiasOf(const Product& product) const {
    const Node& last = node(product.last);
    if (product.last == product.node) return last.input(2);
    for (const OptionalValueId input : last.inputs) {
      if (input && inference_.FactOf(input)->constant) return input;
    }
    return kNone;
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
  ValueId magnitude_ = 0;              // of the layer that gets an adapter now
  const LoraOptions* list_ = nullptr;  // of the layer that gets an adapter now
  absl::btree_map<std::pair<DType, double>, OptionalValueId> numbers_;
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
