// How it works. Each node of the main graph that multiplies by a constant weight is a product of
// its module. The weight is followed back through nodes that only unpack, cast or transpose it, to
// the tensor in the file. If all products of a module use the same tensor, the module is one layer
// that runs several times; if they use different tensors, it is not a layer.
//
// Names match as peft's target_modules do: the whole path, or its end after a dot. A name without *
// or ? must match layers only. A pattern may also match the modules around them.
//
// Products in bodies of loops and branches, and in functions that stay calls, do not make layers:
// one node there may stand for several modules.
#include "src/adapter/linear_layers.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/glob.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/exporter/tensor_name.h"
#include "src/resolve/inline_calls.h"

namespace onnxflops::adapter {
namespace {

constexpr int kMaxStepsToWeight = 8;    // Identity, DequantizeLinear, Cast, Transpose
constexpr int64_t kFewestTokens = 100;  // of a vocabulary: segments of BERT are 2
constexpr absl::string_view kLinearTypes[] = {"Linear", "Conv1D"};
constexpr absl::string_view kFusedAttention = "MultiheadAttention";

// Operators that are the product of a linear layer.
struct LinearOperator {
  absl::string_view domain, name;
  bool is_packed, is_conv;
};
constexpr LinearOperator kLinearOperators[] = {
    {"", "MatMul", false, false},
    {"", "Gemm", false, false},
    {"", "Conv", false, true},
    {"com.microsoft", "FusedMatMul", false, false},
    {"com.microsoft", "MatMulNBits", true, false},
    {"com.microsoft", "MatMulBnb4", true, false},
    {"com.microsoft", "MatMulFpQ4", true, false},
    {"com.microsoft", "MatMulBlockQuantizedFp4Weight", true, false},
    {"com.microsoft", "MatMulBlockQuantizedFp8Weight", true, false},
};

const LinearOperator* FindLinear(const Node& node) {
  const auto* const found = absl::c_find_if(kLinearOperators, [&](const LinearOperator& op) {
    return op.domain == node.domain && op.name == node.op_type;
  });
  return found == std::end(kLinearOperators) || node.function ? nullptr : found;
}

bool IsSet(const Node& node, absl::string_view name) {
  const Attribute* attribute = node.FindAttribute(name);
  return attribute != nullptr && attribute->i != 0;
}

// The size of an axis, from the end if it is negative; nullopt if it is open.
std::optional<int64_t> SizeOf(const Fact& fact, int axis) {
  if (!fact.is_tensor() || !fact.shape.ranked()) return std::nullopt;
  const int place = axis < 0 ? fact.shape.rank() + axis : axis;
  if (place < 0 || place >= fact.shape.rank()) return std::nullopt;
  const std::optional<int64_t> size = fact.shape[place].AsInt64();
  return size && *size > 0 ? size : std::nullopt;
}

bool IsVector(const Fact& fact) {
  if (!fact.is_tensor() || !fact.shape.ranked()) return false;
  for (int i = 0; i + 1 < fact.shape.rank(); ++i) {
    if (!(fact.shape[i] == Expr(1))) return false;
  }
  return true;
}

bool IsPattern(absl::string_view name) { return name.find_first_of("*?") != name.npos; }

// Matches like peft: the whole path, or its end after a dot.
bool MatchesTarget(absl::string_view name, absl::string_view path) {
  if (IsPattern(name)) {
    return MatchesGlob(name, path) || MatchesGlob(absl::StrCat("*.", name), path);
  }
  return path == name || (path.size() > name.size() && absl::EndsWith(path, name) &&
                          path[path.size() - name.size() - 1] == '.');
}

absl::string_view LastPart(absl::string_view path) {
  return path.substr(modules::ParentPath(path).size() + (absl::StrContains(path, '.') ? 1 : 0));
}

// A part of an adapter that the file has already.
bool IsOfAdapter(absl::string_view path) {
  return absl::StrContains(path, ".lora_A") || absl::StrContains(path, ".lora_B");
}

}  // namespace

LinearLayers::LinearLayers(const Inference& inference, const modules::Attribution& attribution)
    : inference_(inference),
      model_(*inference.model),
      attribution_(attribution),
      uses_(model_.values.size(), 0),
      user_(model_.values.size(), kNone),
      is_product_(model_.nodes.size(), false),
      leads_(model_.values.size(), false),
      layer_of_(attribution.paths.size(), kNoProducts) {
  for (size_t n = 0; n < model_.nodes.size(); ++n) {
    for (const OptionalValueId input : model_.nodes[n].inputs) {
      if (!input) continue;
      ++uses_[static_cast<size_t>(*input)];
      user_[static_cast<size_t>(*input)] = static_cast<NodeId>(n);
    }
  }
  for (const Graph& graph : model_.graphs) {
    for (const ValueId output : graph.outputs) ++uses_[static_cast<size_t>(output)];
  }
  for (const NodeId id : model_.graph(0).nodes) AddProduct(id);
  FindTables();
  FindLeading();
}

// The tensor of the file that a constant value is, in another form or type.
std::optional<ValueId> LinearLayers::WeightOf(ValueId value) const {
  for (int i = 0; i < kMaxStepsToWeight; ++i) {
    if (model_.value(value).initializer) return value;
    const OptionalNodeId maker = model_.value(value).producer;
    if (!maker) return std::nullopt;
    const OptionalValueId from = model_.node(*maker).input(0);
    if (!from) return value;  // a Constant
    value = *from;
  }
  return std::nullopt;
}

void LinearLayers::FindResult(Product* product, ModuleId module) const {
  const Node& node = model_.node(product->node);
  product->last = product->node;
  product->result = *node.output(0);
  if (uses_[static_cast<size_t>(product->result)] != 1) return;
  const OptionalNodeId user = user_[static_cast<size_t>(product->result)];
  if (!user) return;
  const Node& add = model_.node(*user);
  const auto place = static_cast<size_t>(*user);
  if (!add.domain.empty() || add.op_type != "Add" || add.graph != node.graph || !add.output(0) ||
      !(attribution_.node_module[place] == OptionalModuleId(module))) {
    return;
  }
  const OptionalValueId other = add.input(0) == product->result ? add.input(1) : add.input(0);
  const Fact* bias = inference_.FactOf(other);
  if (bias == nullptr || !bias->constant || !IsVector(*bias)) return;
  product->last = *user;
  product->result = *add.output(0);
}

void LinearLayers::AddProduct(NodeId id) {
  const Node& node = model_.node(id);
  const OptionalModuleId module = attribution_.node_module[static_cast<size_t>(id)];
  const LinearOperator* const op = FindLinear(node);
  if (op == nullptr || !module || !node.output(0)) return;
  const Fact* x = inference_.FactOf(node.input(0));
  const Fact* w = inference_.FactOf(node.input(1));
  const Fact* y = inference_.FactOf(node.output(0));
  if (x == nullptr || w == nullptr || y == nullptr || !w->constant || x->constant) return;
  if (!op->is_conv && !op->is_packed && w->shape.rank() != 2) return;
  const std::optional<ValueId> weight = WeightOf(*node.input(1));
  const std::optional<int64_t> in = SizeOf(*x, op->is_conv ? 1 : -1);
  const std::optional<int64_t> out = SizeOf(*y, op->is_conv ? 1 : -1);
  ++products_;
  is_product_[static_cast<size_t>(id)] = true;
  if (!weight || !in || !out || IsSet(node, "transA") || IsSet(node, "transBatchA")) return;
  Product product = {id, *node.input(0), 0, 0, x->dtype};
  FindResult(&product, *module);
  LinearLayer layer = {*module,
                       attribution_.paths.path(*module),
                       attribution_.paths.type(*module),
                       *in,
                       *out,
                       *weight,
                       op->is_packed || w->is_dequantised_weight(),
                       op->is_conv,
                       {product}};
  AddTo(std::move(layer));
}

// Adds a run to the layer of its module, or creates the layer.
void LinearLayers::AddTo(LinearLayer run) {
  int32_t& known = layer_of_[static_cast<size_t>(run.module)];
  if (known == kSeveralWeights) return;
  if (known == kNoProducts) {
    known = static_cast<int32_t>(layers_.size());
    layers_.push_back(std::move(run));
    return;
  }
  LinearLayer& layer = layers_[static_cast<size_t>(known)];
  if (layer.weight == run.weight && layer.in == run.in && layer.out == run.out &&
      run.module != kRootModule) {
    layer.products.push_back(run.products[0]);
    return;
  }
  known = kSeveralWeights;
}

// Products that belong to no layer.
int64_t LinearLayers::ProductsOutside() const {
  int64_t inside = 0;
  for (const LinearLayer& layer : layers_) {
    if (IsLayer(layer)) inside += static_cast<int64_t>(layer.products.size());
  }
  return products_ - inside;
}

// Finds lookup tables of tokens.
void LinearLayers::FindTables() {
  for (const NodeId id : model_.graph(0).nodes) {
    const Node& node = model_.node(id);
    const bool is_fused = node.op_type == "EmbedLayerNormalization";
    if (!is_fused && (!node.domain.empty() || node.op_type != "Gather")) continue;
    const Fact* table = inference_.FactOf(node.input(is_fused ? 2 : 0));
    if (table == nullptr || !table->constant) continue;
    const std::optional<int64_t> rows = SizeOf(*table, 0), columns = SizeOf(*table, 1);
    if (!rows || !columns || *rows < kFewestTokens) continue;
    tables_.emplace(*columns, *rows);
    const std::optional<ValueId> value = WeightOf(*node.input(is_fused ? 2 : 0));
    if (value) table_values_.insert(*value);
  }
}

bool LinearLayers::IsTable(ValueId weight) const {
  const auto tied = inference_.ties.find(weight);
  return table_values_.contains(weight) ||
         (tied != inference_.ties.end() && table_values_.contains(tied->second));
}

// Finds the values from which a product computes something, in one pass from the outputs.
void LinearLayers::FindLeading() {
  const std::vector<NodeId>& nodes = model_.graph(0).nodes;  // each after the nodes that it needs
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = model_.node(nodes[i]);
    const bool leads = is_product_[static_cast<size_t>(nodes[i])] ||
                       absl::c_any_of(node.outputs, [&](const OptionalValueId& output) {
                         return output && leads_[static_cast<size_t>(*output)];
                       });
    if (!leads) continue;
    for (const OptionalValueId& input : node.inputs) {
      if (input) leads_[static_cast<size_t>(*input)] = true;
    }
  }
}

// The layer that makes the logits: it has the shape of a table of tokens, and shares its weight or
// is the last product. An MLP may have the same shape.
bool LinearLayers::IsOverVocabulary(const LinearLayer& layer) const {
  if (!tables_.contains({layer.in, layer.out})) return false;
  return IsTable(layer.weight) || !leads_[static_cast<size_t>(layer.products[0].result)];
}

// nn.MultiheadAttention reads the weights of its layers and never runs them.
bool LinearLayers::IsOfFusedAttention(ModuleId module) const {
  const modules::ModulePaths& paths = attribution_.paths;
  return paths.type(module) == kFusedAttention ||
         paths.type(paths.ParentOf(module)) == kFusedAttention;
}

// A module with several weights also has an entry, but is not a layer.
bool LinearLayers::IsLayer(const LinearLayer& layer) const {
  return layer.module != kRootModule && layer_of_[static_cast<size_t>(layer.module)] >= 0;
}

std::string LinearLayers::OutsideText() const {
  const int64_t outside = ProductsOutside();
  if (outside == 0) return "";
  return absl::StrCat("products with a weight that no module of their own names, and that get no ",
                      "adapter: ", outside);
}

std::string LinearLayers::PackedExpertsText() const {
  int64_t operators = 0;
  Expr experts = 0;
  const Instance& main = inference_.instance(0);
  const std::vector<NodeId>& nodes = model_.graph(main.graph).nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Call& call = inference_.call(main.calls[i]);
    const uint32_t packed = call.def == nullptr ? 0 : call.def->operands.experts;
    const size_t first = static_cast<size_t>(std::countr_zero(packed));
    if (packed == 0 || first >= call.inputs.size()) continue;
    const Fact& weights = inference_.fact(call.inputs[first]);
    if (!weights.is_tensor() || !weights.shape.ranked() || weights.shape.rank() == 0) continue;
    ++operators;
    experts += weights.shape[0];
  }
  if (operators == 0) return "";
  return absl::StrCat("experts whose weights are packed into one tensor, and that get no adapter ",
                      "(peft 0.21 adapts those of Mixtral, not of Qwen2-MoE): ", experts.ToString(),
                      ", in ", operators, operators == 1 ? " layer" : " layers");
}

std::vector<const LinearLayer*> LinearLayers::AllLinear() const {
  std::vector<const LinearLayer*> all;
  for (const LinearLayer& layer : layers_) {
    if (!IsLayer(layer) || layer.is_conv) continue;
    if (!layer.type.empty() && !absl::c_linear_search(kLinearTypes, layer.type)) continue;
    if (IsOverVocabulary(layer) || IsOfAdapter(layer.path) || IsOfFusedAttention(layer.module)) {
      continue;
    }
    all.push_back(&layer);
  }
  return all;
}

// Says why the module is not a linear layer.
std::string LinearLayers::WhyNone(ModuleId module) const {
  const absl::string_view type = attribution_.paths.type(module);
  if (attribution_.paths.Find(absl::StrCat(attribution_.paths.path(module), ".lora_A.default"))) {
    return absl::StrCat("has adapters in the file: ", Setting("trained", "'*lora_*'"),
                        " counts their training");
  }
  const auto is_lookup = [&](size_t n) {
    const Node& node = model_.nodes[n];
    const Fact* table = inference_.FactOf(node.input(0));
    return attribution_.node_module[n] == OptionalModuleId(module) && node.domain.empty() &&
           node.op_type == "Gather" && table != nullptr && table->constant;
  };
  for (size_t n = 0; n < model_.nodes.size(); ++n) {
    if (is_lookup(n)) return "is an embedding: adapters of embeddings are not counted";
  }
  const std::string kind =
      type.empty() ? std::string("is") : absl::StrCat("is of class ", Escaped(type), ":");
  const int32_t known = layer_of_[static_cast<size_t>(module)];
  if (known == kSeveralWeights) {
    return absl::StrCat(kind, " no linear layer: its products have different weights");
  }
  if (HasCalls(model_)) {
    return absl::StrCat(kind, " no linear layer outside of local functions that stay calls");
  }
  return absl::StrCat(kind, " no linear layer");
}

absl::Status LinearLayers::NamesNothing(const std::string& pattern) const {
  absl::btree_set<std::string> names;
  for (const LinearLayer& layer : layers_) {
    if (IsLayer(layer)) names.insert(std::string(LastPart(layer.path)));
  }
  const std::vector<std::string> list(names.begin(), names.end());
  std::string hint = DidYouMean(pattern, list);
  if (hint.empty() && !list.empty()) {
    constexpr size_t kShown = 8;
    hint = "; linear layers are called ";
    for (size_t i = 0; i < std::min(list.size(), kShown); ++i) {
      absl::StrAppend(&hint, i == 0 ? "" : ", ", Escaped(list[i]));
    }
    if (list.size() > kShown) absl::StrAppend(&hint, " and ", list.size() - kShown, " more");
  }
  if (list.empty() && ProductsOutside() > 0) hint = absl::StrCat("; ", OutsideText());
  return absl::NotFoundError(
      absl::StrCat(Setting("lora"), " ", Quoted(pattern), " names no linear layer", hint));
}

absl::StatusOr<bool> LinearLayers::AddTarget(const std::string& pattern,
                                             std::vector<bool>* chosen) const {
  bool any = false;
  const modules::ModulePaths& paths = attribution_.paths;
  for (ModuleId id = 1; static_cast<size_t>(id) < paths.size(); ++id) {
    if (!MatchesTarget(pattern, paths.path(id))) continue;
    const int32_t layer = static_cast<size_t>(id) < layer_of_.size()
                              ? layer_of_[static_cast<size_t>(id)]
                              : kNoProducts;
    const bool is_fused = IsOfFusedAttention(id);
    if (layer >= 0 && !is_fused) {
      (*chosen)[static_cast<size_t>(layer)] = any = true;
    } else if (!IsPattern(pattern)) {
      return absl::InvalidArgumentError(absl::StrCat(
          Setting("lora"), " ", Quoted(pattern), ": ", Quoted(paths.path(id)), " ",
          is_fused ? "is of a MultiheadAttention, into whose weights peft merges adapters at every "
                     "step: that is not counted"
                   : WhyNone(id)));
    }
  }
  return any;
}

// False if it matches no layer.
bool LinearLayers::TakeOut(absl::string_view pattern, std::vector<bool>* chosen) const {
  bool any = false;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (!MatchesTarget(pattern, layers_[i].path)) continue;
    (*chosen)[i] = false;
    any = true;
  }
  return any;
}

// Those of kAllLinear.
absl::StatusOr<std::vector<bool>> LinearLayers::AllChosen() const {
  std::vector<bool> chosen(layers_.size(), false);
  const std::vector<const LinearLayer*> all = AllLinear();
  for (const LinearLayer* layer : all) chosen[static_cast<size_t>(layer - layers_.data())] = true;
  if (!all.empty()) return chosen;
  const std::string outside = OutsideText();
  return absl::NotFoundError(
      absl::StrCat(WithSettings("{lora all-linear}: there is no linear layer"),
                   layers_.empty() ? "" : " but those over the vocabulary",
                   outside.empty() ? "" : "; ", outside));
}

absl::StatusOr<std::vector<const LinearLayer*>> LinearLayers::Targets(
    const LoraOptions& options, std::vector<std::string>* warnings) const {
  std::vector<bool> chosen(layers_.size(), false);
  std::vector<std::string> unmatched;
  bool found = false;
  for (const std::string& pattern : options.targets) {
    if (pattern[0] == '!') continue;
    if (pattern == kAllLinear) {
      ASSIGN_OR_RETURN(chosen, AllChosen());
      found = true;
      continue;
    }
    ASSIGN_OR_RETURN(const bool any, AddTarget(pattern, &chosen));
    found |= any;
    if (!any) unmatched.push_back(pattern);
  }
  if (!found && !unmatched.empty()) return NamesNothing(unmatched[0]);
  for (const std::string& pattern : options.targets) {
    if (pattern[0] != '!') continue;
    if (!TakeOut(absl::string_view(pattern).substr(1), &chosen)) unmatched.push_back(pattern);
  }
  for (const std::string& pattern : unmatched) {
    warnings->emplace_back(NamesNothing(pattern).message());
  }
  std::vector<const LinearLayer*> targets;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (chosen[i]) targets.push_back(&layers_[i]);
  }
  if (targets.empty()) {
    return absl::InvalidArgumentError(WithSettings(
        found ? "{lora} leaves out all modules that it names" : "{lora} names no module"));
  }
  return targets;
}

}  // namespace onnxflops::adapter
