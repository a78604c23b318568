// The model as loaded: an index-based graph without weights.
//
// A Model is a value: copying it shares one immutable ModelData. Every string_view and Span inside
// points into storage that the ModelData owns (bytes read from the file, an arena), never into the
// file itself. Values, nodes, graphs and tensors are named by index; the indices of one kind are
// dense and global to the model: main graph, bodies of If/Loop/Scan and local functions share one
// numbering, so that an array over all values is all the state that inference needs.
//
//   absl::StatusOr<Model> model = Load("clip.onnx");
//   for (NodeId id : (*model)->graph(0).nodes) std::cout << (*model)->node(id).op_type;
#ifndef ONNXFLOPS_SRC_GRAPH_MODEL_H_
#define ONNXFLOPS_SRC_GRAPH_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/graph/dtype.h"
#include "src/graph/optional_id.h"

namespace onnxflops {

using ValueId = int32_t;
using NodeId = int32_t;
using GraphId = int32_t;
using TensorId = int32_t;
using FunctionId = int32_t;
using OptionalValueId = OptionalId<struct ValueTag>;
using OptionalNodeId = OptionalId<struct NodeTag>;
using OptionalGraphId = OptionalId<struct GraphTag>;
using OptionalTensorId = OptionalId<struct TensorTag>;
using OptionalFunctionId = OptionalId<struct FunctionTag>;
using InlinedCallId = int32_t;
using OptionalInlinedCallId = OptionalId<struct InlinedCallTag>;

// A tensor written in the file: initializer or attribute. The payload is kept only if small (at
// most kMaxIntContent elements); it is not needed for large ones.
struct Tensor {
  absl::string_view name;
  DType dtype = DType::kUndefined;
  absl::Span<const int64_t> dims;
  int64_t elements = 0;  // product of dims, checked
  // Little-endian elements as in raw_data, whichever field the file used; empty if not kept. int4
  // and int2 are packed.
  absl::string_view data;
  // Elements of a small string tensor; of an integer tensor that an adapter wrote, sizes as texts
  // of Expr, which may be symbolic.
  absl::Span<const absl::string_view> strings;
  bool has_data = false;  // `data` (or `strings`) holds all elements
  bool external = false;  // stored outside of the file; never opened
};

// A dimension as declared: a size, a name, or neither.
struct DeclaredDim {
  int64_t size = -1;  // >= 0, or -1 when not stated
  absl::string_view name;
};

enum class TypeKind : uint8_t {
  kUnknown,
  kTensor,
  kSparseTensor,
  kSequence,
  kOptional,
  kMap,
  kOpaque
};

// A type as declared in value_info.
struct DeclaredType {
  TypeKind kind = TypeKind::kUnknown;
  DType dtype = DType::kUndefined;  // element type of a tensor, key type of a map
  bool has_shape = false;
  absl::Span<const DeclaredDim> dims;
  const DeclaredType* element = nullptr;  // of a sequence, optional, or the value of a map
};

enum class AttributeType : uint8_t {  // numbered as AttributeProto.AttributeType
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kType = 13,
  kTypes = 14,
};

struct Attribute {
  absl::string_view name;
  AttributeType type = AttributeType::kUndefined;
  float f = 0;
  int64_t i = 0;
  absl::string_view s;
  absl::string_view
      ref_attr_name;  // inside a function: takes its value from the call's attribute of this name
  absl::Span<const float> floats;
  absl::Span<const int64_t> ints;
  absl::Span<const absl::string_view> strings;
  absl::Span<const TensorId>
      tensors;  // one for kTensor and kSparseTensor (its values; see sparse_dims)
  absl::Span<const GraphId> graphs;             // one for kGraph
  absl::Span<const int64_t> sparse_dims;        // dense shape of a sparse tensor
  const DeclaredType* declared_type = nullptr;  // of kType
};

struct Node {
  absl::string_view name;  // as in the file; may be empty
  absl::string_view op_type;
  absl::string_view domain;  // "" for ai.onnx, however the file writes it
  absl::string_view overload;
  absl::Span<const OptionalValueId> inputs;   // kNone for one left out
  absl::Span<const OptionalValueId> outputs;  // kNone for one left out
  absl::Span<const Attribute> attributes;
  absl::Span<const std::pair<absl::string_view, absl::string_view>> metadata;  // metadata_props
  GraphId graph = 0;             // the graph that holds it
  OptionalFunctionId function;   // the local function that it calls, if it calls one
  OptionalInlinedCallId caller;  // the call that it was inlined from, of ModelData::inlined
  int32_t opset = 0;             // of its domain, if its original function imports another
  // The attributes' bytes as in the file, when they stand together and hold neither a graph nor a
  // tensor payload that was skipped: nodes with equal bytes have equal attributes, and view them at
  // one place. Empty with attributes_comparable = false otherwise.
  absl::string_view attribute_bytes;
  bool attributes_comparable = true;
  bool has_graphs = false;

  // The i-th input or output; kNone as well beyond the last.
  OptionalValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : kNone; }
  OptionalValueId output(size_t i) const { return i < outputs.size() ? outputs[i] : kNone; }

  const Attribute* FindAttribute(absl::string_view attribute) const {
    for (const Attribute& a : attributes) {
      if (a.name == attribute) return &a;
    }
    return nullptr;
  }
};

struct Value {
  absl::string_view name;
  OptionalNodeId producer;
  OptionalTensorId initializer;
  const DeclaredType* declared = nullptr;  // from the graph's inputs, outputs or value_info
  bool is_graph_input = false;
};

struct Graph {
  absl::string_view name;
  OptionalGraphId parent;       // the graph around it
  OptionalNodeId parent_node;   // the node that holds it as an attribute
  OptionalFunctionId function;  // the local function whose body it is (or is inside)
  std::vector<NodeId> nodes;    // topologically sorted; those inside bodies are not listed here
  std::vector<ValueId> inputs;  // initializers that are listed as inputs too (IR 3) included
  std::vector<ValueId> outputs;
  std::vector<ValueId> initializers;
  std::vector<std::pair<absl::string_view, absl::string_view>> metadata;  // metadata_props
  ValueId first_value = 0;  // ids of its own values (not of its bodies) are in this range
  ValueId end_value = 0;    // [first_value, end_value), which bodies' ids may interleave
};

// A function defined in the file. Its body is a graph whose inputs and outputs are the formal ones.
struct Function {
  absl::string_view domain;
  absl::string_view name;
  absl::string_view overload;
  GraphId body = 0;
  absl::Span<const absl::string_view> attributes;             // formal attributes without default
  absl::Span<const Attribute> attribute_defaults;             // with default
  std::vector<std::pair<absl::string_view, int64_t>> opsets;  // imported opsets
  bool official = false;  // not of the file: ONNX's own definition of an operator
};

// Owns the bytes that string_views of a model point into.
class ByteStorage {
 public:
  virtual ~ByteStorage() = default;
};

struct ModelData {
  ModelData() = default;
  ModelData(const ModelData&) = delete;
  ModelData& operator=(const ModelData&) = delete;

  std::string path;  // as given to Load; "<bytes>" for a model loaded from memory
  int64_t ir_version = 0;
  absl::string_view producer_name;
  absl::string_view producer_version;
  std::vector<std::pair<absl::string_view, int64_t>> opsets;  // domain ("" for ai.onnx), version
  std::vector<std::pair<absl::string_view, absl::string_view>> metadata;  // metadata_props
  std::vector<Graph> graphs;                                              // [0] is the main graph
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<Tensor> tensors;
  std::vector<Function> functions;
  std::vector<Node> inlined;          // calls that their function's nodes took the place of
  std::vector<std::string> warnings;  // oddities that were understood

  const Graph& graph(GraphId id) const { return graphs[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes[static_cast<size_t>(id)]; }
  const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }
  const Tensor& tensor(TensorId id) const { return tensors[static_cast<size_t>(id)]; }
  const Function& function(FunctionId id) const { return functions[static_cast<size_t>(id)]; }
  const Node& inlined_call(InlinedCallId id) const { return inlined[static_cast<size_t>(id)]; }

  // The version that the file imports for a domain; nullopt if it does not.
  std::optional<int64_t> OpsetOf(absl::string_view domain) const;

  std::pmr::monotonic_buffer_resource arena;  // arrays and decoded payloads
  std::shared_ptr<const ByteStorage> bytes;   // the bytes read from the file
};

class Model {
 public:
  Model() = default;
  explicit Model(std::shared_ptr<const ModelData> data) : data_(std::move(data)) {}
  const ModelData& operator*() const { return *data_; }
  const ModelData* operator->() const { return data_.get(); }

 private:
  std::shared_ptr<const ModelData> data_;
};

// By ValueId: the graph that makes the value, or has it as an input. Initializers have none.
std::vector<OptionalGraphId> GraphsOfValues(const ModelData& model);

// "node '/visual/conv1/Conv' (Conv)", or by its first output or op type when it has no name: how
// errors name a node.
std::string DescribeNode(const ModelData& model, NodeId node);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_GRAPH_MODEL_H_
