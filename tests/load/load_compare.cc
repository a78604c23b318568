#include "tests/load/load_compare.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "src/base/limits.h"

namespace onnxflops {
namespace {

using google::protobuf::RepeatedPtrField;

std::string Text(absl::string_view s) { return {s.data(), s.size()}; }
std::string NoAiOnnx(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

// The elements of a tensor as raw_data would hold them, from whichever field holds them.
template <typename Entry, typename Entries>
std::string Narrowed(const Entries& entries) {
  std::string out;
  for (const auto entry : entries) {
    const auto narrow = static_cast<Entry>(entry);
    out.append(reinterpret_cast<const char*>(&narrow), sizeof(Entry));
  }
  return out;
}

std::string RawOf(const onnx::TensorProto& t) {
  if (t.float_data_size() > 0) return Narrowed<float>(t.float_data());
  if (t.double_data_size() > 0) return Narrowed<double>(t.double_data());
  if (t.int64_data_size() > 0) return Narrowed<int64_t>(t.int64_data());
  if (t.uint64_data_size() > 0) {
    return t.data_type() == onnx::TensorProto::UINT32 ? Narrowed<uint32_t>(t.uint64_data())
                                                      : Narrowed<uint64_t>(t.uint64_data());
  }
  if (t.int32_data_size() == 0) return t.raw_data();
  switch (t.data_type()) {
    case onnx::TensorProto::INT32:
      return Narrowed<int32_t>(t.int32_data());
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
      return Narrowed<uint16_t>(t.int32_data());
    default:
      return Narrowed<uint8_t>(t.int32_data());
  }
}

bool HasPayload(const onnx::TensorProto& t) {
  return t.has_raw_data() || t.float_data_size() + t.double_data_size() + t.int64_data_size() +
                                     t.uint64_data_size() + t.int32_data_size() +
                                     t.string_data_size() >
                                 0;
}

class Comparison {
 public:
  explicit Comparison(const ModelData& model) : m_(model) {}

  std::vector<std::string> Run(const onnx::ModelProto& p) {
    Equal("ir_version", m_.ir_version, p.ir_version());
    Equal("producer_name", Text(m_.producer_name), p.producer_name());
    Equal("producer_version", Text(m_.producer_version), p.producer_version());
    if (p.opset_import_size() > 0) {
      Opsets("opset_import", m_.opsets, p.opset_import());
    } else {  // only old files may leave it out
      Equal("opset 1 is implied", p.ir_version() < 3 && m_.OpsetOf("") == 1, true);
    }
    Pairs("metadata_props", m_.metadata, p.metadata_props());
    CompareGraph("graph", p.graph(), 0);
    if (Equal("functions", m_.functions.size(), static_cast<size_t>(p.functions_size()))) {
      for (int i = 0; i < p.functions_size(); ++i) {
        CompareFunction("functions[" + std::to_string(i) + "]", p.functions(i), i);
      }
    }
    CheckValues();
    return std::move(differences_);
  }

 private:
  // What a name stands for in a graph.
  using Names = std::map<std::string, ValueId>;

  template <typename A, typename B>
  bool Equal(const std::string& where, const A& ours, const B& theirs) {
    if (ours == static_cast<A>(theirs)) return true;
    std::ostringstream out;
    out << where << ": " << ours << ", not " << theirs;
    differences_.push_back(out.str());
    return false;
  }
  void Different(const std::string& where, const std::string& what) {
    differences_.push_back(where + ": " + what);
  }
  template <typename A, typename B>
  void EqualLists(const std::string& where, const A& ours, const B& theirs) {
    const bool equal = std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end());
    if (!equal) Different(where, "other elements");
  }
  // Floats by their bits: NaN equals itself.
  bool EqualBits(const std::string& where, float ours, float theirs) {
    uint32_t a, b;
    std::memcpy(&a, &ours, 4);
    std::memcpy(&b, &theirs, 4);
    return Equal(where, a, b);
  }

  void Opsets(const std::string& where,
              const std::vector<std::pair<absl::string_view, int64_t>>& ours,
              const RepeatedPtrField<onnx::OperatorSetIdProto>& theirs) {
    std::map<std::string, int64_t> expected, got;
    for (const auto& o : theirs) expected[NoAiOnnx(o.domain())] = o.version();
    for (const auto& [domain, version] : ours) got[Text(domain)] = version;
    Equal(where, got == expected, true);
  }

  template <typename PairsOf>
  void Pairs(const std::string& where, const PairsOf& ours,
             const RepeatedPtrField<onnx::StringStringEntryProto>& theirs) {
    if (!Equal(where, ours.size(), static_cast<size_t>(theirs.size()))) return;
    for (int i = 0; i < theirs.size(); ++i) {
      Equal(where, Text(ours[static_cast<size_t>(i)].first), theirs[i].key());
      Equal(where, Text(ours[static_cast<size_t>(i)].second), theirs[i].value());
    }
  }

  const Value& ValueOf(ValueId id) { return m_.values.at(static_cast<size_t>(id)); }
  std::string NameOf(OptionalValueId id) { return id ? Text(ValueOf(*id).name) : ""; }

  template <typename Ids>
  void ValueNames(const std::string& where, const Ids& ids,
                  const std::vector<std::string>& theirs) {
    if (!Equal(where, ids.size(), theirs.size())) return;
    for (size_t i = 0; i < ids.size(); ++i) Equal(where, NameOf(ids[i]), theirs[i]);
  }

  static std::vector<std::string> NamesIn(const RepeatedPtrField<onnx::ValueInfoProto>& infos) {
    std::vector<std::string> names;
    for (const auto& info : infos) names.push_back(info.name());
    return names;
  }

  void CompareGraph(const std::string& where, const onnx::GraphProto& p, GraphId id) {
    const Graph& g = m_.graphs.at(static_cast<size_t>(id));
    Equal(where + ".name", Text(g.name), p.name());
    ValueNames(where + ".input", g.inputs, NamesIn(p.input()));
    ValueNames(where + ".output", g.outputs, NamesIn(p.output()));
    Initializers(where, g, p);
    EnterScope(g);
    CheckOwnership(where, g, id);
    for (const ValueId output : g.outputs) CheckScope(where + ".output", output);
    Nodes(where + ".node", g, p.node());
    Pairs(where + ".metadata_props", g.metadata, p.metadata_props());
    Declared(where, p);
    CheckOrder(where, g);
    scopes_.pop_back();
  }

  void Initializers(const std::string& where, const Graph& g, const onnx::GraphProto& p) {
    std::map<std::string, const onnx::TensorProto*> dense;
    std::map<std::string, const onnx::SparseTensorProto*> sparse;
    for (const auto& t : p.initializer()) dense[t.name()] = &t;
    for (const auto& t : p.sparse_initializer()) sparse[t.values().name()] = &t;
    Equal(where + ".initializer", g.initializers.size(), dense.size() + sparse.size());
    for (const ValueId id : g.initializers) {
      const std::string name = NameOf(id);
      const std::string here = where + ".initializer '" + name + "'";
      const OptionalTensorId tensor = ValueOf(id).initializer;
      if (!Equal(here + " has a tensor", tensor.has_value(), true)) continue;
      const Tensor& t = m_.tensors.at(static_cast<size_t>(*tensor));
      if (const auto found = dense.find(name); found != dense.end()) {
        CompareTensor(here, t, *found->second);
      } else if (const auto other = sparse.find(name); other != sparse.end()) {
        EqualLists(here + ".dims", t.dims, other->second->dims());
        Equal(here + ".data_type", static_cast<int>(t.dtype), other->second->values().data_type());
      } else {
        Different(here, "not in the file");
      }
    }
  }

  void CompareTensor(const std::string& where, const Tensor& t, const onnx::TensorProto& p) {
    Equal(where + ".name", Text(t.name), p.name());
    Equal(where + ".data_type", static_cast<int>(t.dtype), p.data_type());
    EqualLists(where + ".dims", t.dims, p.dims());
    int64_t elements = 1;
    for (const int64_t dim : p.dims()) elements *= dim;
    Equal(where + ".elements", t.elements, elements);
    Equal(where + ".external", t.external, p.data_location() == onnx::TensorProto::EXTERNAL);
    const bool float6 = p.data_type() == 27 || p.data_type() == 28;
    const bool kept = elements <= kMaxIntContent && !t.external && !p.has_segment() &&
                      (elements == 0 || HasPayload(p)) && !(float6 && p.int32_data_size() > 0);
    if (!Equal(where + ".has_data", t.has_data, kept) || !kept) return;
    if (p.data_type() == onnx::TensorProto::STRING) {
      std::vector<std::string> strings;
      for (const absl::string_view s : t.strings) strings.push_back(Text(s));
      Equal(where + ".string_data",
            strings == std::vector<std::string>(p.string_data().begin(), p.string_data().end()),
            true);
    } else {
      Equal(where + ".data", Text(t.data) == RawOf(p), true);
    }
  }

  void Nodes(const std::string& where, const Graph& g,
             const RepeatedPtrField<onnx::NodeProto>& nodes) {
    if (!Equal(where, g.nodes.size(), static_cast<size_t>(nodes.size()))) return;
    std::vector<NodeId> in_file_order = g.nodes;
    std::sort(in_file_order.begin(), in_file_order.end());
    for (int i = 0; i < nodes.size(); ++i) {
      CompareNode(where + "[" + std::to_string(i) + "]", in_file_order[static_cast<size_t>(i)],
                  nodes[i]);
    }
  }

  void CompareNode(const std::string& where, NodeId id, const onnx::NodeProto& p) {
    const Node& n = m_.nodes.at(static_cast<size_t>(id));
    Equal(where + ".name", Text(n.name), p.name());
    Equal(where + ".op_type", Text(n.op_type), p.op_type());
    Equal(where + ".domain", Text(n.domain), NoAiOnnx(p.domain()));
    Equal(where + ".overload", Text(n.overload), p.overload());
    ValueNames(where + ".input", n.inputs, {p.input().begin(), p.input().end()});
    ValueNames(where + ".output", n.outputs, {p.output().begin(), p.output().end()});
    Pairs(where + ".metadata_props", n.metadata, p.metadata_props());
    for (const OptionalValueId input : n.inputs) CheckScope(where + ".input", input);
    for (const OptionalValueId output : n.outputs) {
      if (output) Equal(where + ".output's producer", ValueOf(*output).producer == id, true);
    }
    CheckCall(where, n);
    if (!Equal(where + ".attribute", n.attributes.size(),
               static_cast<size_t>(p.attribute_size()))) {
      return;
    }
    bool has_graphs = false;
    for (int i = 0; i < p.attribute_size(); ++i) {
      const Attribute& a = n.attributes[static_cast<size_t>(i)];
      has_graphs |= !a.graphs.empty();
      CompareAttribute(where + ".attribute[" + std::to_string(i) + "]", a, p.attribute(i), id);
    }
    Equal(where + ".has_graphs", n.has_graphs, has_graphs);
    CheckAttributeBytes(where, n, p);
  }

  void CheckCall(const std::string& where, const Node& n) {
    OptionalFunctionId called;
    for (size_t i = 0; i < m_.functions.size(); ++i) {
      const Function& f = m_.functions[i];
      if (f.domain == n.domain && f.name == n.op_type && f.overload == n.overload) {
        called = static_cast<FunctionId>(i);
      }
    }
    Equal(where + ".function", n.function == called, true);
  }

  // Attributes read again from the bytes that stand for them.
  void CheckAttributeBytes(const std::string& where, const Node& n, const onnx::NodeProto& p) {
    if (!n.attributes_comparable) {
      Equal(where + ".attribute_bytes", Text(n.attribute_bytes), "");
      return;
    }
    onnx::NodeProto again;
    again.ParseFromArray(n.attribute_bytes.data(), static_cast<int>(n.attribute_bytes.size()));
    onnx::NodeProto only;
    *only.mutable_attribute() = p.attribute();
    Equal(where + ".attribute_bytes", again.SerializeAsString() == only.SerializeAsString(), true);
  }

  void CompareAttribute(const std::string& where, const Attribute& a, const onnx::AttributeProto& p,
                        OptionalNodeId holder) {
    Equal(where + ".name", Text(a.name), p.name());
    if (p.type() != onnx::AttributeProto::UNDEFINED) {
      Equal(where + ".type", static_cast<int>(a.type), static_cast<int>(p.type()));
    }
    Equal(where + ".ref_attr_name", Text(a.ref_attr_name), p.ref_attr_name());
    EqualBits(where + ".f", a.f, p.f());
    Equal(where + ".i", a.i, p.i());
    Equal(where + ".s", Text(a.s), p.s());
    if (Equal(where + ".floats", a.floats.size(), static_cast<size_t>(p.floats_size()))) {
      for (int i = 0; i < p.floats_size(); ++i) {
        EqualBits(where + ".floats", a.floats[static_cast<size_t>(i)], p.floats(i));
      }
    }
    EqualLists(where + ".ints", a.ints, p.ints());
    std::vector<std::string> strings;
    for (const absl::string_view s : a.strings) strings.push_back(Text(s));
    EqualLists(where + ".strings", strings, p.strings());
    AttributeTensors(where, a, p);
    AttributeGraphs(where, a, p, holder);
    Equal(where + ".tp", a.declared_type != nullptr, p.has_tp());
    if (a.declared_type != nullptr && p.has_tp()) {
      CompareType(where + ".tp", *a.declared_type, p.tp());
    }
  }

  void AttributeTensors(const std::string& where, const Attribute& a,
                        const onnx::AttributeProto& p) {
    std::vector<const onnx::TensorProto*> tensors;
    if (p.has_t()) tensors.push_back(&p.t());
    for (const auto& t : p.tensors()) tensors.push_back(&t);
    if (p.has_sparse_tensor()) tensors.push_back(&p.sparse_tensor().values());
    for (const auto& t : p.sparse_tensors()) tensors.push_back(&t.values());
    if (!Equal(where + ".tensors", a.tensors.size(), tensors.size())) return;
    for (size_t i = 0; i < tensors.size(); ++i) {
      CompareTensor(where + ".tensors", m_.tensors.at(static_cast<size_t>(a.tensors[i])),
                    *tensors[i]);
    }
    if (p.has_sparse_tensor()) {
      EqualLists(where + ".sparse_dims", a.sparse_dims, p.sparse_tensor().dims());
    }
  }

  void AttributeGraphs(const std::string& where, const Attribute& a, const onnx::AttributeProto& p,
                       OptionalNodeId holder) {
    std::vector<const onnx::GraphProto*> graphs;
    if (p.has_g()) graphs.push_back(&p.g());
    for (const auto& g : p.graphs()) graphs.push_back(&g);
    if (!Equal(where + ".graphs", a.graphs.size(), graphs.size())) return;
    for (size_t i = 0; i < graphs.size(); ++i) {
      const Graph& g = m_.graphs.at(static_cast<size_t>(a.graphs[i]));
      Equal(where + ".g.parent_node", g.parent_node == holder, true);
      if (holder) {
        const GraphId around = m_.nodes.at(static_cast<size_t>(*holder)).graph;
        Equal(where + ".g.parent", g.parent == around, true);
      }
      CompareGraph(where + ".g", *graphs[i], a.graphs[i]);
    }
  }

  // Types count in the order input, output, value_info, and the first of one name counts.
  void Declared(const std::string& where, const onnx::GraphProto& p) {
    std::map<std::string, const onnx::TypeProto*> expected;
    for (const auto& info : p.input())
      expected[info.name()] = info.has_type() ? &info.type() : nullptr;
    for (const auto* infos : {&p.output(), &p.value_info()}) {
      for (const auto& info : *infos) {
        const onnx::TypeProto*& type = expected[info.name()];
        if (type == nullptr && info.has_type()) type = &info.type();
      }
    }
    for (const auto& [name, id] : scopes_.back()) {
      const auto found = expected.find(name);
      const onnx::TypeProto* type = found == expected.end() ? nullptr : found->second;
      const DeclaredType* declared = ValueOf(id).declared;
      const std::string here = where + ".type of '" + name + "'";
      if (!Equal(here, declared != nullptr, type != nullptr) || type == nullptr) continue;
      CompareType(here, *declared, *type);
    }
  }

  void CompareType(const std::string& where, const DeclaredType& t, const onnx::TypeProto& p) {
    switch (p.value_case()) {
      case onnx::TypeProto::kTensorType:
        Equal(where, t.kind == TypeKind::kTensor, true);
        return CompareTensorType(where, t, p.tensor_type());
      case onnx::TypeProto::kSparseTensorType:
        Equal(where, t.kind == TypeKind::kSparseTensor, true);
        return CompareTensorType(where, t, p.sparse_tensor_type());
      case onnx::TypeProto::kSequenceType:
        Equal(where, t.kind == TypeKind::kSequence, true);
        return Element(where, t, p.sequence_type().has_elem_type(), p.sequence_type().elem_type());
      case onnx::TypeProto::kOptionalType:
        Equal(where, t.kind == TypeKind::kOptional, true);
        return Element(where, t, p.optional_type().has_elem_type(), p.optional_type().elem_type());
      case onnx::TypeProto::kMapType:
        Equal(where, t.kind == TypeKind::kMap, true);
        Equal(where + ".key_type", static_cast<int>(t.dtype), p.map_type().key_type());
        return Element(where, t, p.map_type().has_value_type(), p.map_type().value_type());
      case onnx::TypeProto::kOpaqueType:
        Equal(where, t.kind == TypeKind::kOpaque, true);
        return;
      default:
        Equal(where, t.kind == TypeKind::kUnknown, true);
    }
  }

  void Element(const std::string& where, const DeclaredType& t, bool has,
               const onnx::TypeProto& p) {
    if (Equal(where + ".elem_type", t.element != nullptr, has) && has) {
      CompareType(where + ".elem_type", *t.element, p);
    }
  }

  template <typename Type>
  void CompareTensorType(const std::string& where, const DeclaredType& t, const Type& p) {
    Equal(where + ".elem_type", static_cast<int>(t.dtype), p.elem_type());
    Equal(where + ".shape", t.has_shape, p.has_shape());
    if (!Equal(where + ".rank", t.dims.size(), static_cast<size_t>(p.shape().dim_size()))) return;
    for (int i = 0; i < p.shape().dim_size(); ++i) {
      const auto& dim = p.shape().dim(i);
      const DeclaredDim& ours = t.dims[static_cast<size_t>(i)];
      Equal(where + ".dim_value", ours.size, dim.has_dim_value() ? dim.dim_value() : -1);
      Equal(where + ".dim_param", Text(ours.name), dim.dim_param());
    }
  }

  void CompareFunction(const std::string& where, const onnx::FunctionProto& p, FunctionId id) {
    const Function& f = m_.functions.at(static_cast<size_t>(id));
    Equal(where + ".name", Text(f.name), p.name());
    Equal(where + ".domain", Text(f.domain), NoAiOnnx(p.domain()));
    Equal(where + ".overload", Text(f.overload), p.overload());
    std::vector<std::string> attributes;
    for (const absl::string_view a : f.attributes) attributes.push_back(Text(a));
    EqualLists(where + ".attribute", attributes, p.attribute());
    if (Equal(where + ".attribute_proto", f.attribute_defaults.size(),
              static_cast<size_t>(p.attribute_proto_size()))) {
      for (int i = 0; i < p.attribute_proto_size(); ++i) {
        CompareAttribute(where + ".attribute_proto", f.attribute_defaults[static_cast<size_t>(i)],
                         p.attribute_proto(i), kNone);
      }
    }
    std::map<std::string, int64_t> imported;
    for (const auto& [domain, version] : f.opsets) imported[Text(domain)] = version;
    for (const auto& o : p.opset_import()) {
      Equal(where + ".opset_import", imported[NoAiOnnx(o.domain())], o.version());
    }
    const Graph& g = m_.graphs.at(static_cast<size_t>(f.body));
    Equal(where + ".body.function", g.function == id, true);
    ValueNames(where + ".input", g.inputs, {p.input().begin(), p.input().end()});
    ValueNames(where + ".output", g.outputs, {p.output().begin(), p.output().end()});
    EnterScope(g);
    Nodes(where + ".node", g, p.node());
    onnx::GraphProto infos;
    *infos.mutable_value_info() = p.value_info();
    Declared(where, infos);
    CheckOrder(where, g);
    scopes_.pop_back();
  }

  // What the graph itself defines, by name.
  void EnterScope(const Graph& g) {
    Names& names = scopes_.emplace_back();
    for (const ValueId id : g.inputs) names[NameOf(id)] = id;
    for (const ValueId id : g.initializers) names[NameOf(id)] = id;
    for (const NodeId node : g.nodes) {
      for (const OptionalValueId id : m_.nodes.at(static_cast<size_t>(node)).outputs) {
        if (id) names[NameOf(id)] = *id;
      }
    }
    for (const auto& [name, id] : names) {
      Equal("first_value of '" + name + "'", g.first_value <= id && id < g.end_value, true);
      defined_.insert(id);
    }
  }

  // A name stands for the innermost definition.
  void CheckScope(const std::string& where, OptionalValueId id) {
    if (!id) return;
    for (auto names = scopes_.rbegin(); names != scopes_.rend(); ++names) {
      const auto found = names->find(NameOf(id));
      if (found == names->end()) continue;
      Equal(where + " '" + NameOf(id) + "' in its scope", *id, found->second);
      return;
    }
    Different(where + " '" + NameOf(id) + "'", "defined nowhere");
  }

  void CheckOwnership(const std::string& where, const Graph& g, GraphId id) {
    for (const NodeId node : g.nodes) {
      Equal(where + ".node's graph", m_.nodes.at(static_cast<size_t>(node)).graph, id);
    }
    for (const ValueId input : g.inputs) {
      Equal(where + ".input", ValueOf(input).is_graph_input, true);
    }
  }

  // Producers come first, those of what a node's bodies use included.
  void CheckOrder(const std::string& where, const Graph& g) {
    std::set<NodeId> still(g.nodes.begin(), g.nodes.end());
    Equal(where + " lists nodes once", still.size(), g.nodes.size());
    for (const NodeId node : g.nodes) {
      CheckReady(where, node, still);
      still.erase(node);
    }
  }

  void CheckReady(const std::string& where, NodeId node, const std::set<NodeId>& still) {
    const Node& n = m_.nodes.at(static_cast<size_t>(node));
    for (const OptionalValueId id : n.inputs) {
      const OptionalNodeId producer = id ? ValueOf(*id).producer : kNone;
      if (producer && still.count(*producer) > 0) {
        Different(where, "uses '" + NameOf(id) + "' before it is there");
      }
    }
    for (const Attribute& a : n.attributes) {
      for (const GraphId body : a.graphs) {
        for (const NodeId inner : m_.graphs.at(static_cast<size_t>(body)).nodes) {
          CheckReady(where, inner, still);
        }
      }
    }
  }

  void CheckValues() { Equal("values, each defined once", m_.values.size(), defined_.size()); }

  const ModelData& m_;
  std::vector<Names> scopes_;
  std::set<ValueId> defined_;
  std::vector<std::string> differences_;
};

}  // namespace

std::vector<std::string> Differences(const onnx::ModelProto& proto, const ModelData& model) {
  return Comparison(model).Run(proto);
}

}  // namespace onnxflops
