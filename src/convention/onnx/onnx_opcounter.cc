// onnx-opcounter: a formula for some operators, the number of output elements for all others.
//
// It covers only the nodes of the main graph. Its rules: Conv and ConvTranspose N * (C_in / group)
// * kernel, Gemm and MatMul elements(A) * last dimension of Y, BatchNormalization 2 N, Relu and Add
// elements(A), Resize and Upsample 11 N if linear, 0 for some that move data. It uses ONNX's shape
// inference and reads a size without a number as 0.
//
// How it works. The tool stops at what it cannot read (an input of another type, a missing
// attribute, an output without a shape). So nodes are followed in order, and the first error means
// no figure, with that error as the reason. To the tool, calls of local functions, which we have
// inlined, are operators that it does not know: they count for the model as a whole, by the size of
// their output, and the nodes inside count as 0.
#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/convention/conventions.h"
#include "src/convention/onnx/shapes.h"

namespace onnxflops::convention {
namespace onnx_opcounter {
namespace {

constexpr absl::string_view kFree[] = {"Constant",  "Reshape", "Slice",     "Shape", "Gather",
                                       "ScatterND", "Tile",    "Transpose", "Sign",  "Squeeze",
                                       "Unsqueeze", "Split",   "Cast"};

// A tensor as the tool reads it: sizes that ONNX's inference does not find are 0.
struct Sizes {
  Dims dims;     // empty where even the rank may not be known
  int rank = 0;  // the true one
  Expr Elements() const {
    Expr product = 1;
    for (const Expr& dim : dims) product *= dim;
    return product;
  }
};

// All sizes are unknown if the value is left out.
Sizes ReadSizes(const Inference& inference, const OnnxShapes& shapes, OptionalValueId value) {
  Sizes sizes;
  const Fact* fact = inference.FactOf(value);
  if (fact == nullptr || !fact->is_tensor() || !fact->shape.ranked()) return sizes;
  sizes.rank = fact->shape.rank();
  const Fact& known = shapes.of(value);
  if (!known.is_tensor()) return sizes;
  for (const Expr& dim : known.shape.dims()) sizes.dims.push_back(dim.is_literal() ? dim : 0);
  return sizes;
}

// The amount, or the error with which the tool stops.
struct Outcome {
  Expr amount;
  std::string error;
};

Outcome Die(std::string error) { return {0, std::move(error)}; }

class NodeMacs {
 public:
  NodeMacs(const Inference& inference, const OnnxShapes& shapes, const Node& node)
      : node_(node),
        input_(ReadSizes(inference, shapes, node.input(0))),
        output_(ReadSizes(inference, shapes, node.output(0))) {}

  Outcome Apply() const {
    const absl::string_view op = node_.op_type;
    if (op == "Conv" || op == "ConvTranspose") return Conv();
    if (op == "Gemm" || op == "MatMul") {
      if (output_.rank == 0) return Die("IndexError: list index out of range");
      if (output_.dims.empty()) return {};  // a shape in doubt
      return {input_.Elements() * output_.dims.back(), ""};
    }
    if (op == "BatchNormalization") {
      return {output_.Elements() * (node_.inputs.size() == 5 ? 2 : 1), ""};
    }
    if (op == "Relu" || op == "Add") return {input_.Elements(), ""};
    if (op == "Resize" || op == "Upsample") return Resize();
    if (std::find(std::begin(kFree), std::end(kFree), op) != std::end(kFree)) return {0, ""};
    return {output_.Elements(), ""};
  }

 private:
  Outcome Conv() const {
    const Attribute* kernel = node_.FindAttribute("kernel_shape");
    if (kernel == nullptr) return Die("KeyError: 'kernel_shape'");
    if (input_.rank < 2) return Die("IndexError: list index out of range");
    if (input_.dims.size() < 2) return {};  // a shape in doubt
    const Attribute* group = node_.FindAttribute("group");
    const int64_t groups = group == nullptr ? 1 : group->i;
    if (groups == 0) return Die("ZeroDivisionError: integer division or modulo by zero");
    Expr window = 1;
    for (int64_t size : kernel->ints) window *= Expr(size);
    return {output_.Elements() * FloorDiv(input_.dims[1], groups) * window, ""};
  }

  Outcome Resize() const {
    const Attribute* mode = node_.FindAttribute("mode");
    if (mode == nullptr || mode->s == "nearest") return {0, ""};
    if (mode->s == "linear") return {output_.Elements() * 11, ""};
    return Die("TypeError: unsupported operand type(s) for +=: 'int' and 'NoneType'");
  }

  const Node& node_;
  Sizes input_, output_;
};

// Why the tool does not get as far as counting; empty if it does.
std::string StartError(const ModelData& model) {
  constexpr absl::int128 kProtobufLimit = (absl::int128(1) << 31) - 1;
  absl::int128 bytes = 0;
  for (const Tensor& tensor : model.tensors) {
    bytes += absl::int128(tensor.elements) * BitsPerElement(tensor.dtype) / 8;
  }
  if (bytes > kProtobufLimit) {
    return "ValueError: the model with its weights exceeds protobuf's 2 GB";
  }
  for (ValueId id : model.graphs[0].inputs) {
    const Value& value = model.value(id);
    if (value.initializer || value.declared == nullptr) continue;
    const DType type = value.declared->dtype;
    if (type != DType::kFloat32 && type != DType::kInt64 && type != DType::kFloat64) {
      return absl::StrCat("KeyError: ", static_cast<int>(type), " (input '", value.name, "' is ",
                          DTypeName(type), ")");
    }
  }
  return "";
}

// An omitted output, or one unknown to ONNX's inference, has no entry in the tool's table, unless
// it is declared as an output of the graph.
bool HasNoShape(const Node& node, const absl::flat_hash_set<ValueId>& graph_outputs) {
  if (!node.output(0)) return true;
  if (IsOnnxDomain(node.domain) || node.function) return false;
  return !graph_outputs.contains(*node.output(0));
}

absl::int128 CountParams(const ModelData& model) {
  absl::int128 params = 0;
  for (ValueId id : model.graphs[0].initializers) {
    const OptionalTensorId tensor = model.value(id).initializer;
    if (tensor) params += model.tensor(*tensor).elements;
  }
  return params;
}

bool HasOpenInput(const Evidence& evidence, bool bound) {
  const ModelData& model = evidence.model();
  for (ValueId id : model.graphs[0].inputs) {
    const Value& value = model.value(id);
    if (value.initializer || value.declared == nullptr) continue;
    const auto& dims = value.declared->dims;
    const Fact* fact = evidence.inference().FactOf(id);
    const Dims known = fact == nullptr ? Dims() : fact->shape.dims();
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].size >= 0) continue;
      const bool literal = i < known.size() && known[i].is_literal();
      if (literal == bound) return true;
    }
  }
  return false;
}

// Reports assumptions about shapes that the file alone does not decide.
void AssumeShapes(const Evidence& evidence, const OnnxShapes& shapes, LedgerBuilder* ledger) {
  if (HasOpenInput(evidence, true)) {
    ledger->Assume("the file is given with the bound sizes; of an open size the tool reads 0");
  }
  if (shapes.first_doubt()) {
    ledger->Assume(absl::StrCat(
        "ONNX's shape inference, which the tool asks, loses sizes where we think it does, first "
        "at ",
        DescribeNode(evidence.model(), *shapes.first_doubt()), "; the tool reads them as 0"));
  }
}

TermId TermOf(const Node& node, LedgerBuilder* ledger) {
  const absl::string_view op = node.op_type;
  if (op == "Conv" || op == "ConvTranspose" || op == "Gemm" || op == "MatMul") {
    return ledger->Term(absl::StrCat(op, " by another formula"),
                        op == "Conv" || op == "ConvTranspose"
                            ? "elements(Y) * (C_in / group) * kernel"
                            : "elements(A) * last dimension of Y");
  }
  if (op == "Add" || op == "Relu") {
    return ledger->Term(absl::StrCat(op, ", 1 per element"), "counted as MACs");
  }
  if (op == "BatchNormalization") {
    return ledger->Term("BatchNormalization, 2 per element", "counted as MACs");
  }
  if (op == "Resize" || op == "Upsample") {
    return ledger->Term("linear interpolation, 11 per element", "counted as MACs");
  }
  return ledger->Term(absl::StrCat(op, ", 1 per output element"),
                      "the tool has no rule for it and takes its output's size");
}

// To the tool, calls of functions in the main graph are unknown operators. Returns the error at
// which it stops, or empty.
std::string AddCalls(const OnnxShapes& shapes, Evidence* evidence, LedgerBuilder* ledger) {
  for (const Node& call : evidence->model().inlined) {
    if (call.caller || call.graph != 0 || !call.output(0)) continue;
    const Outcome outcome = NodeMacs(evidence->inference(), shapes, call).Apply();
    if (!outcome.error.empty()) {
      return absl::StrCat("call ", Quoted(call.name), ": ", outcome.error);
    }
    ledger->CountModel(evidence->Intern(outcome.amount), TermOf(call, ledger));
  }
  return "";
}

Ledger Apply(Evidence* evidence) {
  const ModelData& model = evidence->model();
  if (std::string error = StartError(model); !error.empty()) {
    return LedgerBuilder::NotApplicable(std::move(error));
  }
  const OnnxShapes shapes(evidence->inference(), {.declared = false});
  const absl::flat_hash_set<ValueId> graph_outputs(model.graphs[0].outputs.begin(),
                                                   model.graphs[0].outputs.end());
  LedgerBuilder ledger(evidence, Unit::kMac);
  const TermId body = ledger.Term("work inside of functions, branches and loops",
                                  "only nodes of the main graph are looked at");
  EntryId id = -1;
  for (const Entry& entry : evidence->entries()) {
    ++id;
    const Node& node = evidence->node(entry);
    if (node.graph != 0 || node.caller) continue;
    if (node.outputs.empty()) continue;
    const bool no_key = HasNoShape(node, graph_outputs);
    const Outcome outcome = no_key ? Die("KeyError: ONNX's inference gives its output no shape")
                                   : NodeMacs(evidence->inference(), shapes, node).Apply();
    if (!outcome.error.empty()) {
      return LedgerBuilder::NotApplicable(
          absl::StrCat(DescribeNode(model, entry.node), ": ", outcome.error));
    }
    if (outcome.amount == Expr(0) && evidence->Ours(Unit::kMac, id) == kZero) continue;
    ledger.Count({id}, evidence->Intern(outcome.amount), TermOf(node, &ledger));
  }
  if (std::string error = AddCalls(shapes, evidence, &ledger); !error.empty()) {
    return LedgerBuilder::NotApplicable(std::move(error));
  }
  ledger.SetParams(CountParams(model));
  AssumeShapes(*evidence, shapes, &ledger);
  return ledger.Finish([&](EntryId) { return body; });
}

}  // namespace
}  // namespace onnx_opcounter

const Convention kOnnxOpcounter = {
    {"onnx-opcounter", Unit::kMac, "number of macs",
     "gmalivenko/onnx-opcounter 0.0.4 (c635b03), onnx_opcounter/onnx_opcounter.py:46-209",
     "Conv, ConvTranspose, Gemm, MatMul; Add, Relu and BatchNormalization per element; every "
     "operator "
     "without a rule as 1 per output element",
     "biases, broadcast of MatMul's first operand, RNN gates, attention operators; bodies of If, "
     "Loop "
     "and functions; sizes that ONNX's shape inference does not find count as 0"},
    onnx_opcounter::Apply,
};

}  // namespace onnxflops::convention
