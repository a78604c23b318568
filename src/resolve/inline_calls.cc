// How it works. The model is rewritten graph by graph: a value gets its new number at its
// definition, a node looks up those of its inputs. At a call the formal inputs of the function
// stand for the given values, its outputs for those of the call, and its nodes replace the call.
// Functions are not recursive, so each of their values stands for only one value at a time.
//
// The size of the result is computed before anything is written, each function once, callees first,
// because nested calls may multiply. A model that would grow beyond the limit keeps its calls, and
// so does one with anything unusual (a graph as attribute of a call, an output without a producer):
// later stages can also follow calls. A function with the name of an operator is not inlined, since
// ONNX Runtime runs the operator; a warning says so.
//
// Each node keeps the call that it came from. Values passed through a function unchanged get an
// Identity, so that every output of a call has a producer.
#include "src/resolve/inline_calls.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/registry.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/exporter/node_metadata.h"
#include "src/graph/evaluations.h"

namespace onnxflops {
namespace {

// Keeps the model that names and attributes point into.
struct StorageOfBase final : ByteStorage {
  explicit StorageOfBase(Model model) : base(std::move(model)) {}
  const Model base;
};

// How large a model becomes once functions are in the place of their calls: nodes as limits count
// them, and the calls, which are kept too.
class Sizes {
 public:
  explicit Sizes(const ModelData& model)
      : model_(model), own_(model.functions.size() + 1, 0), calls_(own_.size()), all_(own_.size()) {
    for (const Graph& graph : model.graphs) {
      for (NodeId id : graph.nodes) Add(model.node(id), Place(graph.function));
    }
  }

  bool HasCalls() const { return !calls_.back().empty(); }
  int64_t OfFile() const { return std::accumulate(own_.begin(), own_.end(), int64_t{0}); }

  // No more than `most` + 1. Each function is added up once, after those that it calls.
  int64_t OfMain(int64_t most) {
    std::vector<std::pair<size_t, size_t>> path = {{own_.size() - 1, 0}};  // and the next callee
    while (!path.empty()) {
      auto& [owner, next] = path.back();
      if (next < calls_[owner].size()) {
        const size_t callee = calls_[owner][next++].callee;
        if (!all_[callee]) path.emplace_back(callee, 0);
        continue;
      }
      int64_t sum = own_[owner];
      for (const Called& call : calls_[owner]) {
        sum = std::min(most + 1, sum + *all_[call.callee] * call.times + call.copied);
      }
      all_[owner] = sum;
      path.pop_back();
    }
    return *all_.back();
  }

 private:
  struct Called {
    size_t callee = 0;
    int64_t times = 1;
    int64_t copied = 0;  // attributes that the call does not give
  };

  size_t Place(OptionalFunctionId function) const {
    return function ? static_cast<size_t>(*function) : own_.size() - 1;
  }

  void Add(const Node& node, size_t owner) {
    own_[owner] +=
        static_cast<int64_t>(EvaluationsOf(node) + BytesOfMetadata(node) / kBytesPerEvaluation);
    if (!node.function) return;
    const Function& callee = model_.function(*node.function);
    calls_[owner].push_back({static_cast<size_t>(*node.function), TimesOf(node),
                             static_cast<int64_t>(callee.attribute_defaults.size())});
  }

  static size_t BytesOfMetadata(const Node& node) {
    size_t bytes = 0;
    for (const auto& [key, value] : node.metadata) bytes += key.size() + value.size();
    return bytes > kFreeBytes ? bytes - kFreeBytes : 0;
  }

  // A long name of a call, its module or its inputs is copied to every node inside. The lines of
  // source are not: nodes inside have their own.
  int64_t TimesOf(const Node& call) const {
    size_t longest = call.name.size();
    for (const auto& [key, value] : call.metadata) {
      if (key != exporter::kStackTraceKey) longest = std::max(longest, value.size());
    }
    for (OptionalValueId value : call.inputs) {
      if (value) longest = std::max(longest, model_.value(*value).name.size());
    }
    return 1 + static_cast<int64_t>(longest / kFreeBytes);
  }

  const ModelData& model_;
  std::vector<int64_t> own_;                // by function, the main graph last
  std::vector<std::vector<Called>> calls_;  // the same
  std::vector<std::optional<int64_t>> all_;
};

class Inliner {
 public:
  explicit Inliner(const Model& model)
      : base_(model),
        in_(*model),
        out_(std::make_shared<ModelData>()),
        place_(in_.values.size(), kNone),
        named_(in_.values.size(), 0) {}

  std::optional<Model> Run() {
    out_->path = in_.path;
    out_->ir_version = in_.ir_version;
    out_->producer_name = in_.producer_name;
    out_->producer_version = in_.producer_version;
    out_->opsets = in_.opsets;
    out_->metadata = in_.metadata;
    out_->tensors = in_.tensors;
    out_->warnings = in_.warnings;
    out_->bytes = std::make_shared<StorageOfBase>(base_);
    AddGraph(0, kNone, kNone, {});
    if (give_up_) return std::nullopt;
    return Model(out_);
  }

 private:
  // The call whose nodes are being written, and the attributes that it gives.
  struct Scope {
    OptionalInlinedCallId caller;
    absl::Span<const Attribute> attributes;
    const Function* function = nullptr;
    int depth = 0;  // bodies and functions around
  };

  template <typename T>
  absl::Span<T> Keep(const std::vector<T>& from) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (from.empty()) return {};
    T* to = static_cast<T*>(out_->arena.allocate(from.size() * sizeof(T), alignof(T)));
    std::uninitialized_copy(from.begin(), from.end(), to);
    return absl::Span<T>(to, from.size());
  }

  // ---- values

  OptionalValueId& PlaceOf(ValueId value) { return place_[static_cast<size_t>(value)]; }

  // A function may use the main graph's names of open sizes for other sizes, so its declared types
  // with names are dropped.
  static bool NamesSizes(const DeclaredType* type) {
    for (; type != nullptr; type = type->element) {
      for (const DeclaredDim& dim : type->dims) {
        if (dim.size < 0 && !dim.name.empty()) return true;
      }
    }
    return false;
  }

  ValueId Define(ValueId value, OptionalNodeId producer, bool in_function) {
    Value copy = in_.value(value);
    copy.producer = producer;
    if (in_function && NamesSizes(copy.declared)) copy.declared = nullptr;
    out_->values.push_back(copy);
    const auto id = static_cast<ValueId>(out_->values.size() - 1);
    PlaceOf(value) = id;
    return id;
  }

  std::vector<OptionalValueId> Places(absl::Span<const OptionalValueId> values) {
    std::vector<OptionalValueId> places;
    places.reserve(values.size());
    for (OptionalValueId value : values) {
      places.push_back(value ? PlaceOf(*value) : OptionalValueId());
    }
    return places;
  }

  // ---- graphs

  GraphId AddGraph(GraphId id, OptionalGraphId parent, OptionalNodeId holder, const Scope& scope) {
    const Graph& graph = in_.graph(id);
    const auto copy = static_cast<GraphId>(out_->graphs.size());
    out_->graphs.push_back({.name = graph.name, .parent = parent, .parent_node = holder});
    const auto first = static_cast<ValueId>(out_->values.size());
    const bool in_function = scope.function != nullptr;
    std::vector<ValueId> inputs, initializers, outputs;
    for (ValueId value : graph.inputs) inputs.push_back(Define(value, kNone, in_function));
    for (ValueId value : graph.initializers) {
      const bool is_input = in_.value(value).is_graph_input;
      initializers.push_back(is_input ? *PlaceOf(value) : Define(value, kNone, in_function));
    }
    AddNodes(graph, copy, scope);
    for (ValueId value : graph.outputs) {
      give_up_ = give_up_ || !PlaceOf(value);
      outputs.push_back(PlaceOf(value).value_or(0));
    }
    Graph& made = out_->graphs[static_cast<size_t>(copy)];
    made.inputs = std::move(inputs);
    made.initializers = std::move(initializers);
    made.outputs = std::move(outputs);
    made.first_value = first;
    made.end_value = static_cast<ValueId>(out_->values.size());
    return copy;
  }

  void AddNodes(const Graph& graph, GraphId into, const Scope& scope) {
    for (NodeId id : graph.nodes) {
      const Node& node = in_.node(id);
      if (!node.function) {
        AddNode(node, into, scope);
      } else if (IsBuiltIn(node, scope)) {
        Node of_runtime = node;
        of_runtime.function = kNone;
        AddNode(of_runtime, into, scope);
      } else {
        AddCall(node, into, scope);
      }
    }
  }

  // True if the function has the name of an operator. ONNX leaves open which of the two runs; ONNX
  // Runtime runs the operator.
  bool IsBuiltIn(const Node& node, const Scope& scope) {
    const int32_t of_function = OpsetOf(node, scope);
    const int64_t of_main = in_.OpsetOf(node.domain).value_or(node.domain.empty() ? 0 : 1);
    if (!node.overload.empty()) return false;
    const FoundOp found =
        FindOp(node.domain, node.op_type, of_function > 0 ? of_function : of_main);
    if (found.def == nullptr) return false;
    const auto name = std::pair(node.domain, node.op_type);
    if (!absl::c_linear_search(built_in_, name)) {
      built_in_.push_back(name);
      out_->warnings.push_back(absl::StrCat(
          "the file has a function named ",
          Quoted(absl::StrCat(node.domain, node.domain.empty() ? "" : ".", node.op_type)),
          ", as an operator is: the operator is counted, which ONNX Runtime runs"));
    }
    return true;
  }

  // ---- nodes

  NodeId NewNode(Node node, GraphId graph) {
    const auto id = static_cast<NodeId>(out_->nodes.size());
    node.graph = graph;
    out_->nodes.push_back(node);
    out_->graphs[static_cast<size_t>(graph)].nodes.push_back(id);
    return id;
  }

  void AddNode(const Node& node, GraphId into, const Scope& scope) {
    Node copy = node;
    copy.caller = scope.caller;
    copy.opset = OpsetOf(node, scope);
    copy.inputs = Keep(Places(node.inputs));
    const NodeId id = NewNode(copy, into);
    copy = out_->nodes.back();
    TakeAttributes(node, id, into, scope, &copy);
    std::vector<OptionalValueId> outputs;
    for (OptionalValueId output : node.outputs) {
      if (!output) {
        outputs.emplace_back();
      } else if (const std::optional<ValueId> given = GivenOutput(*output, id)) {
        outputs.emplace_back(*given);
      } else {
        outputs.emplace_back(Define(*output, id, scope.function != nullptr));
      }
    }
    copy.outputs = Keep(outputs);
    out_->nodes[static_cast<size_t>(id)] = copy;
  }

  // The version of the node's domain that the function imports, if the model imports another.
  int32_t OpsetOf(const Node& node, const Scope& scope) const {
    if (scope.function == nullptr || scope.function->opsets.empty()) return 0;
    int64_t version = node.domain.empty() ? 0 : 1;
    for (const auto& [domain, imported] : scope.function->opsets) {
      if (domain == node.domain) version = imported;
    }
    const int64_t of_main = in_.OpsetOf(node.domain).value_or(node.domain.empty() ? 0 : 1);
    return version == of_main ? 0 : static_cast<int32_t>(std::min<int64_t>(version, INT32_MAX));
  }

  // Gives up if calls nest too deep: inference then reports it.
  bool Enter(Scope* scope) {
    if (++scope->depth > kMaxCallDepth) give_up_ = true;
    return !give_up_;
  }

  // References to the call's attributes are replaced by these; bodies are rewritten.
  void TakeAttributes(const Node& node, NodeId id, GraphId into, const Scope& scope, Node* copy) {
    const bool refers = std::any_of(node.attributes.begin(), node.attributes.end(),
                                    [](const Attribute& a) { return !a.ref_attr_name.empty(); });
    if (!refers && !node.has_graphs) return;
    std::vector<Attribute> attributes = Given(node.attributes, scope.attributes);
    for (Attribute& attribute : attributes) {
      if (attribute.graphs.empty()) continue;
      copy->has_graphs = true;
      std::vector<GraphId> graphs;
      Scope inner = scope;
      if (!Enter(&inner)) return;
      for (GraphId graph : attribute.graphs) graphs.push_back(AddGraph(graph, into, id, inner));
      attribute.graphs = Keep(graphs);
    }
    copy->attributes = Keep(attributes);
    copy->attribute_bytes = {};
    copy->attributes_comparable = false;
  }

  std::vector<Attribute> Given(absl::Span<const Attribute> attributes,
                               absl::Span<const Attribute> of_call) {
    std::vector<Attribute> given;
    for (const Attribute& attribute : attributes) {
      if (attribute.ref_attr_name.empty()) {
        given.push_back(attribute);
        continue;
      }
      const auto found = std::find_if(of_call.begin(), of_call.end(), [&](const Attribute& a) {
        return a.name == attribute.ref_attr_name;
      });
      if (found == of_call.end()) continue;
      give_up_ = give_up_ || !found->graphs.empty();  // a graph sees the caller's values
      given.push_back(*found);
      given.back().name = attribute.name;
    }
    return given;
  }

  // ---- calls

  void AddCall(const Node& node, GraphId into, const Scope& scope) {
    const Function& function = in_.function(*node.function);
    const Graph& body = in_.graph(function.body);
    std::vector<Attribute> attributes = Given(node.attributes, scope.attributes);
    for (const Attribute& attribute : function.attribute_defaults) {
      if (node.FindAttribute(attribute.name) == nullptr) attributes.push_back(attribute);
    }
    Node call = node;
    call.caller = scope.caller;
    call.function = kNone;
    call.graph = into;
    call.inputs = Keep(Places(node.inputs));
    call.outputs = {};
    out_->inlined.push_back(call);
    const auto id = static_cast<InlinedCallId>(out_->inlined.size() - 1);
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      const OptionalValueId given = call.input(i);
      PlaceOf(body.inputs[i]) = given;
    }
    const size_t before = given_.size();
    for (size_t i = 0; i < node.outputs.size() && i < body.outputs.size(); ++i) {
      if (!node.outputs[i]) continue;
      given_.push_back({body.outputs[i], *node.outputs[i], scope.function});
      named_[static_cast<size_t>(body.outputs[i])] = given_.size();
    }
    Scope inner = {id, Keep(attributes), &function, scope.depth};
    if (!Enter(&inner)) return;
    AddNodes(body, into, inner);
    for (size_t i = before; i < given_.size(); ++i) {
      named_[static_cast<size_t>(given_[i].inside)] = 0;
    }
    given_.resize(before);
    GiveOutputs(node, body, into, id);
  }

  // An output of a function whose call names it.
  struct Output {
    ValueId inside = 0, outside = 0;
    const Function* of = nullptr;  // the scope of outer names
  };

  // The value that a node of a function makes for the call; nullopt if it is one inside.
  std::optional<ValueId> GivenOutput(ValueId inside, NodeId producer) {
    const size_t named = named_[static_cast<size_t>(inside)];
    if (named == 0) return std::nullopt;
    const Output output = given_[named - 1];
    // An output of a function may be one of the function around it as well.
    std::optional<ValueId> place = GivenOutput(output.outside, producer);
    if (!place) place = Define(output.outside, producer, output.of != nullptr);
    PlaceOf(output.outside) = *place;
    PlaceOf(inside) = *place;
    return place;
  }

  // Outputs that no node of the function made: inputs that are handed through, one value twice.
  void GiveOutputs(const Node& node, const Graph& body, GraphId into, InlinedCallId id) {
    for (size_t i = 0; i < node.outputs.size() && i < body.outputs.size(); ++i) {
      if (!node.outputs[i]) continue;
      const OptionalValueId inside = PlaceOf(body.outputs[i]);
      give_up_ = give_up_ || !inside;
      if (!inside || PlaceOf(*node.outputs[i]) == inside) continue;
      PlaceOf(*node.outputs[i]) = kNone;
      AddIdentity(*inside, *node.outputs[i], into, id);
    }
    if (!give_up_) out_->inlined[static_cast<size_t>(id)].outputs = Keep(Places(node.outputs));
  }

  void AddIdentity(ValueId from, ValueId to, GraphId into, InlinedCallId caller) {
    Node node;
    node.op_type = "Identity";
    node.caller = caller;
    node.inputs = Keep(std::vector<OptionalValueId>{from});
    const NodeId id = NewNode(node, into);
    std::optional<ValueId> place = GivenOutput(to, id);
    if (!place) place = Define(to, id, false);
    out_->nodes[static_cast<size_t>(id)].outputs = Keep(std::vector<OptionalValueId>{*place});
  }

  const Model base_;
  const ModelData& in_;
  const std::shared_ptr<ModelData> out_;
  std::vector<OptionalValueId> place_;  // by value of `in_`: its current number in `out_`
  std::vector<Output> given_;           // of the calls that are being written, the innermost last
  std::vector<size_t> named_;  // by value of `in_`: one more than its place in given_, or 0
  std::vector<std::pair<absl::string_view, absl::string_view>> built_in_;  // that were warned of
  bool give_up_ = false;
};

}  // namespace

bool HasCalls(const ModelData& model) {
  return !model.functions.empty() && Sizes(model).HasCalls();
}

Model InlineCalls(const Model& model) {
  if (model->functions.empty()) return model;
  Sizes sizes(*model);
  if (!sizes.HasCalls()) return model;
  const int64_t most = sizes.OfFile() + kMaxInlinedNodes;
  if (sizes.OfMain(most) > most) return model;
  return Inliner(model).Run().value_or(model);
}

}  // namespace onnxflops
