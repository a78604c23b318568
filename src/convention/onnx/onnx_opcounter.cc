// onnx-opcounter: a formula for some operators, the number of output elements for all others.
//
// It covers only the nodes of the main graph. Both versions: Conv and ConvTranspose N * (C_in /
// group) * kernel, Gemm and MatMul elements(A) * last dimension of Y, BatchNormalization 2 N,
// Resize and Upsample 11 N if linear, 0 for what moves data. Version 0.1.0 has rules for most
// operators, and counts Add and Relu by their output, not by their first input. Both use ONNX's
// shape inference and read a size without a number as 0.
//
// How it works. A version is a table of operators. The tool stops at what it cannot read (an input
// of another type, a missing attribute, an output without a shape). So nodes are followed in order,
// and the first error means no figure, with that error as the reason. To the tool, calls of local
// functions, which we have inlined, are operators like others, mostly unknown ones: they count for
// the model as a whole, by the size of their output, and the nodes inside count as 0.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "src/base/quote.h"
#include "src/convention/conventions.h"
#include "src/convention/onnx/shapes.h"

namespace onnxflops::convention {
namespace onnx_opcounter {
namespace {

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
      : inference_(inference),
        shapes_(shapes),
        node_(node),
        input_(Input(0)),
        output_(ReadSizes(inference, shapes, node.output(0))) {}

  Outcome Nothing() const { return {0, ""}; }
  Outcome PerInput() const { return {input_.Elements(), ""}; }
  Outcome PerOutput() const { return {output_.Elements(), ""}; }

  Outcome ConvByAttribute() const {
    if (node_.FindAttribute("kernel_shape") == nullptr) return Die("KeyError: 'kernel_shape'");
    return Conv();
  }

  Outcome Conv() const {
    const std::optional<Expr> window = Window();
    if (!window) return {};  // a shape in doubt
    if (input_.rank < 2) return Die("IndexError: list index out of range");
    if (input_.dims.size() < 2) return {};
    const int64_t groups = Int("group", 1);
    if (groups == 0) return Die("ZeroDivisionError: integer division or modulo by zero");
    return {output_.Elements() * FloorDiv(input_.dims[1], groups) * *window, ""};
  }

  Outcome Gemm() const {
    if (output_.rank == 0) return Die("IndexError: list index out of range");
    if (output_.dims.empty()) return {};
    return {input_.Elements() * output_.dims.back(), ""};
  }

  // The size of a label is that of its last operand.
  Outcome Einsum() const {
    const Attribute* attribute = node_.FindAttribute("equation");
    if (attribute == nullptr) return Die("KeyError: 'equation'");
    const std::string equation = absl::StrReplaceAll(attribute->s, {{" ", ""}});
    const size_t arrow = equation.find("->");
    if (arrow == std::string::npos || absl::StrContains(equation, "...")) return PerOutput();
    const std::vector<absl::string_view> terms =
        absl::StrSplit(absl::string_view(equation).substr(0, arrow), ',');
    absl::btree_map<char, Expr> sizes;
    for (size_t i = 0; i < std::min(terms.size(), node_.inputs.size()); ++i) {
      const Sizes operand = Input(i);
      for (size_t k = 0; k < std::min(terms[i].size(), operand.dims.size()); ++k) {
        sizes[terms[i][k]] = operand.dims[k];
      }
    }
    Expr amount = output_.Elements();
    for (const auto& [label, size] : sizes) {
      if (equation.find(label, arrow + 2) == std::string::npos) amount *= size;
    }
    return {amount, ""};
  }

  Outcome Attention() const {
    if (node_.inputs.size() < 3) return Die("ValueError: not enough values to unpack");
    const Sizes key = Input(1), value = Input(2);
    if (input_.rank != 4 || key.rank != 4 || value.rank != 4) return PerOutput();
    if (input_.dims.size() != 4 || key.dims.size() != 4 || value.dims.size() != 4) return {};
    const Expr scores = input_.dims[0] * input_.dims[1] * input_.dims[2] * key.dims[2];
    return {scores * (input_.dims[3] + value.dims[3]), ""};
  }

  Outcome Pool() const {
    return {output_.Elements() * Product(node_.FindAttribute("kernel_shape")), ""};
  }

  Outcome Recurrent() const {
    if (input_.rank < 2) return Die("IndexError: list index out of range");
    if (input_.dims.size() < 2) return {};
    const Expr weights = Input(1).Elements() + Input(2).Elements();
    return {input_.dims[0] * input_.dims[1] * weights, ""};
  }

  Outcome BatchNorm() const {
    return {output_.Elements() * (node_.inputs.size() == 5 ? 2 : 1), ""};
  }

  Outcome Norm() const { return PerOutputAndInputs(5); }
  Outcome RmsNorm() const { return PerOutputAndInputs(3); }
  Outcome Lrn() const { return {output_.Elements() * Int("size", 1), ""}; }

  Outcome Resize() const {
    const Attribute* mode = node_.FindAttribute("mode");
    return {mode != nullptr && mode->s == "linear" ? output_.Elements() * 11 : 0, ""};
  }

  // Version 0.0.4 has no figure for other modes.
  Outcome ResizeOrStop() const {
    const Attribute* mode = node_.FindAttribute("mode");
    if (mode == nullptr || mode->s == "nearest" || mode->s == "linear") return Resize();
    return Die("TypeError: unsupported operand type(s) for +=: 'int' and 'NoneType'");
  }

  Outcome Fourier() const {
    const size_t rank = output_.dims.size();
    if (output_.rank >= 2 && rank < 2) return {};  // a shape in doubt
    absl::int128 length = 2;
    if (rank >= 2) length = std::max(length, output_.dims[rank - 2].literal());
    int doublings = 0;
    for (; length > 1; length /= 2) ++doublings;
    return {output_.Elements() * doublings, ""};
  }

 private:
  Sizes Input(size_t i) const { return ReadSizes(inference_, shapes_, node_.input(i)); }

  int64_t Int(absl::string_view name, int64_t otherwise) const {
    const Attribute* attribute = node_.FindAttribute(name);
    return attribute == nullptr ? otherwise : attribute->i;
  }

  static Expr Product(const Attribute* sizes) {
    Expr product = 1;
    if (sizes == nullptr) return product;
    for (int64_t size : sizes->ints) product *= Expr(size);
    return product;
  }

  // Elements of the kernel in one channel; nullopt if the weight has a shape in doubt.
  std::optional<Expr> Window() const {
    if (const Attribute* kernel = node_.FindAttribute("kernel_shape")) return Product(kernel);
    const Sizes weight = Input(node_.op_type == "QLinearConv" ? 3 : 1);
    if (weight.dims.empty()) return std::nullopt;
    Expr window = 1;
    for (size_t i = 2; i < weight.dims.size(); ++i) window *= weight.dims[i];
    return window;
  }

  Outcome PerOutputAndInputs(int64_t passes) const {
    return {output_.Elements() * (passes + static_cast<int64_t>(node_.inputs.size()) - 1), ""};
  }

  const Inference& inference_;
  const OnnxShapes& shapes_;
  const Node& node_;
  Sizes input_, output_;
};

// What a version does with an operator, whatever its domain.
struct Rule {
  Outcome (NodeMacs::*amount)() const;
  absl::string_view counts;  // how, after the operator's name
  absl::string_view reason;
  absl::Span<const absl::string_view> operators;
};

constexpr absl::string_view kByAnother = " by another formula";
constexpr absl::string_view kAsMacs = "counted as MACs";
constexpr absl::string_view kConvFormula = "elements(Y) * (C_in / group) * kernel";
constexpr absl::string_view kGemmFormula = "elements(A) * last dimension of Y";
constexpr absl::string_view kConv[] = {"Conv", "ConvTranspose"};
constexpr absl::string_view kGemm[] = {"Gemm", "MatMul"};
constexpr absl::string_view kBatchNorm[] = {"BatchNormalization"};
constexpr absl::string_view kAddRelu[] = {"Add", "Relu"};
constexpr absl::string_view kResize[] = {"Resize", "Upsample"};
constexpr absl::string_view kFree[] = {"Constant",  "Reshape", "Slice",     "Shape", "Gather",
                                       "ScatterND", "Tile",    "Transpose", "Sign",  "Squeeze",
                                       "Unsqueeze", "Split",   "Cast"};

struct Version {
  absl::Span<const Rule> rules;
  Rule otherwise;  // for all other operators
};

constexpr Rule kRules004[] = {
    {&NodeMacs::ConvByAttribute, kByAnother, kConvFormula, kConv},
    {&NodeMacs::Gemm, kByAnother, kGemmFormula, kGemm},
    {&NodeMacs::BatchNorm, ", 2 per element", kAsMacs, kBatchNorm},
    {&NodeMacs::PerInput, ", 1 per element", kAsMacs, kAddRelu},
    {&NodeMacs::ResizeOrStop, ", 11 per element if linear", kAsMacs, kResize},
    {&NodeMacs::Nothing, "", "", kFree},
};
constexpr Version k004 = {kRules004,
                          {&NodeMacs::PerOutput,
                           ", 1 per output element",
                           "the tool has no rule for it and takes its output's size",
                           {}}};

constexpr absl::string_view kMoreConv[] = {"DeformConv", "QLinearConv", "ConvInteger",
                                           "CausalConvWithState"};
constexpr absl::string_view kMoreGemm[] = {"QLinearMatMul", "MatMulInteger"};
constexpr absl::string_view kEinsum[] = {"Einsum"};
constexpr absl::string_view kAttention[] = {"Attention", "LinearAttention"};
constexpr absl::string_view kPool[] = {"MaxPool", "AveragePool", "LpPool"};
constexpr absl::string_view kRecurrent[] = {"LSTM", "GRU", "RNN"};
constexpr absl::string_view kNorm[] = {"LayerNormalization", "GroupNormalization",
                                       "InstanceNormalization", "MeanVarianceNormalization"};
constexpr absl::string_view kRmsNorm[] = {"RMSNormalization"};
constexpr absl::string_view kLrn[] = {"LRN"};
constexpr absl::string_view kFourier[] = {"DFT", "STFT"};
// All elements of the input.
constexpr absl::string_view kReductions[] = {"GlobalAveragePool",
                                             "GlobalMaxPool",
                                             "GlobalLpPool",
                                             "ReduceL1",
                                             "ReduceL2",
                                             "ReduceLogSum",
                                             "ReduceLogSumExp",
                                             "ReduceMax",
                                             "ReduceMean",
                                             "ReduceMin",
                                             "ReduceProd",
                                             "ReduceSum",
                                             "ReduceSumSquare",
                                             "ArgMax",
                                             "ArgMin",
                                             "TopK",
                                             "Det",
                                             "NegativeLogLikelihoodLoss",
                                             "SoftmaxCrossEntropyLoss"};
constexpr absl::string_view kMoreFree[] = {"Identity",
                                           "Concat",
                                           "ConcatFromSequence",
                                           "Flatten",
                                           "Pad",
                                           "Expand",
                                           "DepthToSpace",
                                           "SpaceToDepth",
                                           "GatherElements",
                                           "GatherND",
                                           "ScatterElements",
                                           "Scatter",
                                           "Compress",
                                           "ReverseSequence",
                                           "Col2Im",
                                           "MaxUnpool",
                                           "Dropout",
                                           "CastLike",
                                           "Trilu",
                                           "CenterCropPad",
                                           "BitCast",
                                           "TensorScatter",
                                           "ImageDecoder",
                                           "RegexFullMatch",
                                           "StringConcat",
                                           "StringNormalizer",
                                           "StringSplit",
                                           "Size",
                                           "ConstantOfShape",
                                           "Range",
                                           "NonZero",
                                           "EyeLike",
                                           "Unique",
                                           "OneHot",
                                           "NonMaxSuppression",
                                           "Optional",
                                           "OptionalGetElement",
                                           "OptionalHasElement",
                                           "SequenceAt",
                                           "SequenceConstruct",
                                           "SequenceEmpty",
                                           "SequenceErase",
                                           "SequenceInsert",
                                           "SequenceLength",
                                           "SplitToSequence",
                                           "If",
                                           "Loop",
                                           "Scan",
                                           "SequenceMap"};

constexpr Rule kRules010[] = {
    {&NodeMacs::Conv, kByAnother, kConvFormula, kConv},
    {&NodeMacs::Conv, kByAnother, kConvFormula, kMoreConv},
    {&NodeMacs::Gemm, kByAnother, kGemmFormula, kGemm},
    {&NodeMacs::Gemm, kByAnother, kGemmFormula, kMoreGemm},
    {&NodeMacs::Einsum, kByAnother, "elements(Y) * sizes of labels that Y does not have", kEinsum},
    {&NodeMacs::Attention, kByAnother,
     "QK' and PV of rank 4, without the past; of another rank 1 per output element", kAttention},
    {&NodeMacs::Pool, ", 1 per element of a window", kAsMacs, kPool},
    {&NodeMacs::Recurrent, kByAnother, "elements(W) + elements(R) at each position", kRecurrent},
    {&NodeMacs::BatchNorm, ", 2 per element", kAsMacs, kBatchNorm},
    {&NodeMacs::Norm, ", 5 per element and 1 for each weight", kAsMacs, kNorm},
    {&NodeMacs::RmsNorm, ", 3 per element and 1 for each weight", kAsMacs, kRmsNorm},
    {&NodeMacs::Lrn, ", its size per element", kAsMacs, kLrn},
    {&NodeMacs::Resize, ", 11 per element if linear", kAsMacs, kResize},
    {&NodeMacs::Fourier, ", the length's logarithm per element", kAsMacs, kFourier},
    {&NodeMacs::PerInput, ", 1 per input element", kAsMacs, kReductions},
    {&NodeMacs::Nothing, "", "", kFree},
    {&NodeMacs::Nothing, "", "", kMoreFree},
};

// The operators that the tool lists as element-wise count as those that it does not know.
constexpr Version k010 = {kRules010, {&NodeMacs::PerOutput, ", 1 per output element", kAsMacs, {}}};

const Rule& RuleFor(const Node& node, const Version& version) {
  for (const Rule& rule : version.rules) {
    if (absl::c_linear_search(rule.operators, node.op_type)) return rule;
  }
  return version.otherwise;
}

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

// The error with which the tool stops before it counts a node; empty if it does not.
std::string MissingKey(const Node& node, const Rule& rule,
                       const absl::flat_hash_set<ValueId>& graph_outputs) {
  if (HasNoShape(node, graph_outputs)) {
    return "KeyError: ONNX's inference gives its output no shape";
  }
  const bool omitted = !node.inputs.empty() && !node.input(0);
  return omitted && !rule.operators.empty() ? "KeyError: ''" : "";
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

TermId TermOf(const Node& node, const Rule& rule, LedgerBuilder* ledger) {
  return ledger->Term(absl::StrCat(node.op_type, rule.counts), rule.reason);
}

// To the tool, calls of functions in the main graph are operators. Returns the error at which it
// stops, or empty.
std::string AddCalls(const Version& version, const OnnxShapes& shapes, Evidence* evidence,
                     LedgerBuilder* ledger) {
  for (const Node& call : evidence->model().inlined) {
    if (call.caller || call.graph != 0 || !call.output(0)) continue;
    const Rule& rule = RuleFor(call, version);
    const Outcome outcome = (NodeMacs(evidence->inference(), shapes, call).*rule.amount)();
    if (!outcome.error.empty()) {
      return absl::StrCat("call ", Quoted(call.name), ": ", outcome.error);
    }
    ledger->CountModel(evidence->Intern(outcome.amount), TermOf(call, rule, ledger));
  }
  return "";
}

Ledger Run(const Version& version, Evidence* evidence) {
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
    const Node node = evidence->exported_node(entry);
    if (node.graph != 0 || node.caller) continue;
    if (node.outputs.empty()) continue;
    const Rule& rule = RuleFor(node, version);
    const std::string no_key = MissingKey(node, rule, graph_outputs);
    const Outcome outcome = no_key.empty()
                                ? (NodeMacs(evidence->inference(), shapes, node).*rule.amount)()
                                : Die(no_key);
    if (!outcome.error.empty()) {
      return LedgerBuilder::NotApplicable(
          absl::StrCat(DescribeNode(model, entry.node), ": ", outcome.error));
    }
    if (outcome.amount == Expr(0) && evidence->Ours(Unit::kMac, id) == kZero) continue;
    ledger.Count({id}, evidence->Intern(outcome.amount), TermOf(node, rule, &ledger));
  }
  if (std::string error = AddCalls(version, shapes, evidence, &ledger); !error.empty()) {
    return LedgerBuilder::NotApplicable(std::move(error));
  }
  ledger.SetParams(CountParams(model));
  AssumeShapes(*evidence, shapes, &ledger);
  return ledger.Finish([&](EntryId) { return body; });
}

Ledger Apply004(Evidence* evidence) { return Run(k004, evidence); }
Ledger Apply010(Evidence* evidence) { return Run(k010, evidence); }

constexpr char kHeadline[] = "number of macs";

constexpr Convention kVersion004 = {
    {"onnx-opcounter@0.0.4", Unit::kMac, kHeadline,
     "gmalivenko/onnx-opcounter 0.0.4 (c635b03, 2024-10), onnx_opcounter/onnx_opcounter.py:46-209",
     "Conv, ConvTranspose, Gemm, MatMul; Add, Relu and BatchNormalization per element; every "
     "operator without a rule as 1 per output element",
     "biases, broadcast of MatMul's first operand, RNN gates, attention operators; bodies of If, "
     "Loop and functions; sizes that ONNX's shape inference does not find count as 0",
     "0.0.4", "2024-10", "what pip installs for Python 3.11 and older"},
    Apply004,
};

constexpr Convention kVersion010 = {
    {"onnx-opcounter@0.1.0", Unit::kMac, kHeadline,
     "onnx-opcounter 0.1.0 (2026-09), onnx_opcounter/onnx_opcounter.py:86-346",
     "Conv, Gemm, MatMul, Einsum, attention of rank 4, RNN gates; windows of pools, inputs of "
     "reductions, 5 and more per element of norms; every other operator as 1 per output element",
     "biases, broadcast of MatMul's first operand, attention of rank 3; bodies of If, Loop and "
     "functions; sizes that ONNX's shape inference does not find count as 0",
     "0.1.0", "2026-09", "what pip installs for Python 3.12 and later: rules for most operators"},
    Apply010,
};

// Not by age: the plain name stays the version that the published figures come from.
constexpr const Convention* kVersions[] = {&kVersion004, &kVersion010};

}  // namespace
}  // namespace onnx_opcounter

constinit const Convention kOnnxOpcounter = NewestOf("onnx-opcounter", onnx_opcounter::kVersions);

}  // namespace onnxflops::convention
