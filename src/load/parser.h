// Reads the wire format into ModelData in one forward pass, then links and checks it. Internal to
// src/load.
//
// A name becomes a value where it is first mentioned, in any role; missing definitions are found at
// the end of its graph. A name that a body mentions and does not define is then looked up in the
// outer graph. Its value in the body redirects there until Link() removes it. So a file may give
// its nodes, initializers and inputs in any order.
//
//   parse_model.cc   ModelProto, FunctionProto, and the few messages of strings and numbers
//   parse_graph.cc   GraphProto; the names of a graph
//   parse_node.cc    NodeProto
//   parse_attribute.cc  AttributeProto
//   parse_tensor.cc  TensorProto, SparseTensorProto
//   parse_type.cc    ValueInfoProto, TypeProto
//   link.cc          order of nodes, redirected values
//   functions.cc     calls of local functions, imported domains
#ifndef ONNXFLOPS_SRC_LOAD_PARSER_H_
#define ONNXFLOPS_SRC_LOAD_PARSER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/base/limits.h"
#include "src/graph/model.h"
#include "src/load/arena.h"
#include "src/load/byte_region.h"
#include "src/load/name_table.h"
#include "src/load/wire.h"

namespace onnxflops::load {

using StringPair = std::pair<absl::string_view, absl::string_view>;

// Owns the data of a ModelData's views and spans.
struct ModelStorage final : ByteStorage {
  explicit ModelStorage(std::unique_ptr<ByteRegion> bytes) : region(std::move(bytes)) {}
  std::unique_ptr<ByteRegion> region;
  Arena arena;
};

class Parser {
 public:
  // Both must outlive the parser, and `storage` must outlive `model`.
  Parser(ModelStorage* storage, ModelData* model);

  absl::Status Run();
  // Adds the functions among the bytes to a model that is there, and nothing else.
  absl::Status RunFunctions();

 private:
  // A graph that is being read.
  struct Scope {
    struct ValueInfo {
      absl::string_view name;
      const DeclaredType* type;
    };
    // A value that a body mentions and does not define.
    struct Captured {
      ValueId id;
      uint32_t hash;
      NodeId holder;  // the node in this graph whose body, or body's body, that is
    };
    struct Mention {
      absl::string_view name;  // empty for an input or output that is left out
      uint32_t hash = 0;
      OptionalNodeId producer;           // kNone for an input
      OptionalValueId* place = nullptr;  // receives the id
    };

    Scope* parent = nullptr;  // the outer graph; null for the main graph and functions
    GraphId graph = 0;
    OptionalNodeId holder;  // the node in `parent` whose attribute this body is
    ValueId first_value = 0;
    int64_t mentioned = 0;  // values of this graph
    int64_t defined = 0;    // how many of them have a definition
    bool unsorted = false;  // a node's output was mentioned before that node
    NameTable names;
    std::vector<ValueId> own;  // values of a body; its bodies' values are among their ids
    std::vector<ValueInfo> infos;
    std::vector<Captured> captured;
    std::vector<std::pair<NodeId, ValueId>> uses;  // a node's bodies use a value of this graph
    // Inputs and outputs of nodes that wait for their lookup, so that several lookups overlap. The
    // first `ready` belong to complete nodes, the others, up to `num_pending`, to the one being
    // read.
    std::vector<Mention> pending;
    size_t num_pending = 0;
    size_t ready = 0;

    void AddPending(const Mention& mention) {
      if (num_pending == pending.size()) GrowPending();
      pending[num_pending++] = mention;
    }
    void GrowPending();
    void DropReady();

    // Gives memory back, which a large body needs once and not as often as graphs are nested.
    void Shrink();
  };
  static constexpr size_t kMaxPending = 32;

  struct AttributeDraft;
  struct FunctionDraft {
    std::vector<absl::string_view> inputs, outputs, attributes;
    Node unused;  // which defaults of attributes do not have
  };
  struct NodeDraft;
  struct TensorDraft;

  // parse_model.cc
  bool ParseModel();
  bool NextField(Cursor& c, bool& more);
  bool ModelField(Cursor& c, uint32_t tag);
  bool CheckModel();
  bool ParseFunction(Cursor c);
  bool FunctionField(Cursor& c, uint32_t tag, Scope& scope, Function& function,
                     FunctionDraft& draft);
  bool FinishFunction(Scope& scope, Function& function, FunctionDraft& draft);
  bool ParseOpset(Cursor c, std::vector<std::pair<absl::string_view, int64_t>>& opsets);
  bool ParsePair(Cursor c, StringPair& pair);
  bool AppendPair(Cursor& c, std::vector<StringPair>& pairs);

  // parse_graph.cc
  Scope& ScopeAt(size_t depth);
  bool BeginScope(Scope& scope, Scope* parent, OptionalNodeId holder);
  bool EndScope(Scope& scope);
  bool ParseBody(Cursor c, Scope& parent, OptionalNodeId holder, GraphId& id);
  bool ParseGraph(Cursor c, Scope& scope);
  bool GraphField(Cursor& c, uint32_t tag, Scope& scope);
  void ExpectNodes(const Cursor& graph_bytes, Scope& scope);
  bool AddGraphInput(Scope& scope, absl::string_view name, const DeclaredType* type);
  bool AddGraphOutput(Scope& scope, absl::string_view name, const DeclaredType* type);
  bool AddInitializer(Scope& scope, TensorId tensor);
  void DeclareValues(Scope& scope);
  bool CheckIds(size_t n, absl::string_view what) {
    return ABSL_PREDICT_TRUE(n < static_cast<size_t>(kMaxIds)) || FailIds(what);
  }
  bool FailIds(absl::string_view what);
  ValueId Mention(Scope& scope, absl::string_view name, uint32_t hash);
  ValueId Mention(Scope& scope, absl::string_view name);
  bool DefineOutput(Scope& scope, ValueId id, bool is_new, NodeId producer);
  bool FlushMentions(Scope& scope);
  std::string NodeText(NodeId id);
  std::string Origin(const Value& v);
  bool FailTwice(ValueId id, const std::string& again);
  void ResolveCaptured(Scope& scope);
  void HandOver(Scope& scope);
  static bool IsUndefined(const Value& v);
  bool FailMissing(const Scope& scope);

  // parse_node.cc
  bool ParseNode(Cursor c, Scope& scope);
  bool NodeName(Cursor& c, Scope& scope, OptionalNodeId producer);
  bool NodeAttributes(Cursor& c, Scope& scope, NodeId id, NodeDraft& draft);
  bool NodeRest(Cursor& c, uint32_t tag, NodeDraft& draft);
  bool FinishNode(Scope& scope, NodeId id, NodeDraft& draft);
  bool FinishAttributes(NodeDraft& draft);
  void AddNode(NodeId id, const Node& n);
  bool CheckAttributeNames(absl::Span<const Attribute> attributes);
  void NoteDomain(absl::string_view domain, NodeId id);
  static std::string NodeLabel(const Node& node);

  // parse_attribute.cc
  bool ParseAttribute(Cursor c, Scope* scope, OptionalNodeId holder, Node& node);
  bool AttributeField(Cursor& c, uint32_t tag, Scope* scope, OptionalNodeId holder,
                      AttributeDraft& draft);
  bool AttributeFloats(Cursor& c, AttributeDraft& draft);
  bool AttributeInts(Cursor& c, AttributeDraft& draft);
  bool AttributeTensor(Cursor& c, AttributeDraft& draft, AttributeType type);
  bool FailOfPiece(Cursor rest, uint32_t field, absl::string_view what);
  bool AttributeGraph(Cursor& c, Scope* scope, OptionalNodeId holder, AttributeDraft& draft,
                      AttributeType type);
  bool AttributeTypeProto(Cursor& c, AttributeDraft& draft, AttributeType type);
  bool FinishAttribute(AttributeDraft& draft);
  bool CheckAttributeType(AttributeDraft& draft);

  // parse_tensor.cc
  bool ParseTensor(Cursor c, const char* role, TensorId& id);
  bool TensorField(Cursor& c, uint32_t tag, TensorDraft& draft);
  bool AddDim(TensorDraft& draft, int64_t dim);
  bool RawData(Cursor& c, TensorDraft& draft);
  bool TypedData(Cursor& c, uint32_t tag, TensorDraft& draft);
  void AddEntry(TensorDraft& draft, uint64_t entry);
  bool PackedFixed(Cursor& c, TensorDraft& draft, int field, uint64_t width);
  bool PackedVarints(Cursor& c, TensorDraft& draft, int field);
  bool StringData(Cursor& c, TensorDraft& draft);
  bool ExternalData(Cursor& c, TensorDraft& draft);
  bool FinishTensor(TensorDraft& draft, TensorId& id);
  bool CheckPayload(TensorDraft& draft);
  bool CheckTyped(const TensorDraft& draft);
  bool CheckExternal(const TensorDraft& draft);
  void KeepPayload(TensorDraft& draft);
  bool ParseSparseInitializer(Cursor c, TensorId& id);
  bool ParseSparseTensor(Cursor c, TensorId& id);
  bool CheckSparseTensor(OptionalTensorId values, OptionalTensorId indices);
  bool FailTensor(const TensorDraft& draft, absl::string_view what);
  static std::string ShapeText(const Tensor& tensor);

  // parse_type.cc
  DeclaredType& MutableType(const DeclaredType*& type);
  bool ParseValueInfo(Cursor c, absl::string_view& name, const DeclaredType*& type);
  bool ParseType(Cursor c, int depth, DeclaredType& type);
  bool ParseTypeParts(Cursor c, int depth, DeclaredType& type);
  bool ParseShape(Cursor c, DeclaredType& type);
  bool ParseDim(Cursor c, DeclaredDim& dim);

  // link.cc
  bool Link();
  bool SortNodes(const Scope& scope);
  bool FailCycle(const Scope& scope, const std::vector<int32_t>& waiting,
                 const std::vector<std::pair<int32_t, int32_t>>& edges);
  void RemoveRedirected();
  ValueId Redirected(ValueId id) const;
  bool IsRedirected(ValueId id) const;
  void Warn(std::string warning);
  static std::string ChainText(std::vector<std::string> names);

  // functions.cc
  bool LinkFunctions();
  bool CheckCalls();
  bool FailRecursion(const std::vector<size_t>& path, size_t callee);
  bool CheckDomains();

  Value& value(ValueId id) { return model_->values[static_cast<size_t>(id)]; }
  Node& node(NodeId id) { return model_->nodes[static_cast<size_t>(id)]; }
  Graph& graph(GraphId id) { return model_->graphs[static_cast<size_t>(id)]; }

  WireReader wire_;
  ModelData* const model_;
  Arena& arena_;
  NameHash hash_;
  bool has_graph_ = false;
  size_t first_node_ = 0;  // earlier nodes stay unchanged
  // By ValueId, as far as set: the value of an outer graph to which a body's value refers.
  std::vector<OptionalValueId> redirects_;
  int64_t dims_minus_one_ = 0;        // declared dimensions of -1
  int64_t tensors_without_data_ = 0;  // neither a payload in the file nor an external one
  // By nesting: [0] the main graph, [1] its bodies and functions, [2] their bodies, ...
  std::vector<std::unique_ptr<Scope>> scopes_;
  int depth_ = 0;
  OptionalFunctionId current_function_;  // whose body is being read

  // The first node of each domain in the main graph (function kNone) and in each function.
  struct DomainUse {
    OptionalFunctionId function;
    absl::string_view domain;
    NodeId node;
  };
  std::vector<DomainUse> domain_uses_;
  absl::flat_hash_map<std::pair<OptionalFunctionId, absl::string_view>, NodeId> domains_;
  std::optional<OptionalFunctionId> last_domain_function_;  // of none yet
  absl::string_view last_domain_;

  struct HashBytes {
    using is_transparent = void;
    const NameHash* hash;
    size_t operator()(absl::string_view bytes) const { return hash->Long(bytes); }
  };
  // Parsed attributes by their bytes, if they are comparable; empty if nodes cannot share them.
  absl::flat_hash_map<absl::string_view, absl::Span<const Attribute>, HashBytes> known_attributes_{
      0, HashBytes{&hash_}};

  // Arrays under construction. Nested messages use the end of the same vector and remove their part
  // again.
  std::vector<absl::string_view> strings_;
  std::vector<Attribute> attributes_;
  std::vector<StringPair> pairs_;
  std::vector<float> floats_;
  std::vector<int64_t> ints_, sparse_dims_;
  std::vector<TensorId> tensor_ids_;
  std::vector<GraphId> graph_ids_;
  std::vector<DeclaredDim> dims_;
  std::vector<uint64_t> typed_;  // entries of a tensor's typed field
};

// In the header for the three of every tensor whose data is in another file.
inline bool Parser::ParsePair(Cursor c, StringPair& pair) {
  while (wire_.More(c)) {
    uint32_t tag;
    if (!wire_.Tag(c, tag)) return false;
    const bool read = tag == Key(1, kLengthDelimited)   ? wire_.Bytes(c, pair.first)
                      : tag == Key(2, kLengthDelimited) ? wire_.Bytes(c, pair.second)
                                                        : wire_.SkipField(c, tag);
    if (!read) return false;
  }
  return true;
}

}  // namespace onnxflops::load

#endif  // ONNXFLOPS_SRC_LOAD_PARSER_H_
