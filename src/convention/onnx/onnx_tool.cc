// onnx-tool: multiply-accumulates plus instruction-weighted elementwise work.
//
// Every operator has a class with its own shape rule and cost; one without a class ends the run. A
// scalar counts as nothing (its volume of no dimensions is 0).
//
// How it works. The run of the tool is followed node by node, because it ends at the first thing
// that it cannot do, and then it has no figure: an input of an open size, a weight of a type that
// NumPy does not have, an operator without a class, an index that is out of range. The reason
// quotes its error. Its shape inference is its own. Where we know that it may differ from the true
// shapes, the figure is assumed (Doubt). Arithmetic on shapes is found as the tool finds it, by a
// walk back from the inputs that give sizes; there, a class must also be able to compute values.
// Nodes are kept in a dictionary by name, so of several nodes with one name only the last counts.
// They run in an order by the names of values (onnx_tool_order.h), in which some never come.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/setting.h"
#include "src/convention/conventions.h"
#include "src/convention/onnx/onnx_tool_order.h"

namespace onnxflops::convention {
namespace onnx_tool {
namespace {

// Instructions per element: node.py:19-37.
constexpr int kAdd = 1, kMul = 1, kCmp = 1, kDiv = 4, kExp = 32, kLog = 43, kSin = 39, kSqrt = 24;
constexpr int kPow = kExp;
constexpr int kTanh = kExp + 2 * kAdd + kDiv;
constexpr int kAtan = kSqrt + 3 * kMul + kMul + kDiv;

enum class Rule : uint8_t {
  kPerOutput,  // weight * elements(Y)
  kPerInput,   // weight * elements(X)
  kGemm,
  kConv,
  kQLinearConv,
  kConvInteger,
  kQLinearMatMul,
  kEinsum,
  kRnn,
  kPool,
  kGlobalPool,
  kResize,
  kLayerNorm,
  kLrn,
  kSum,
};

struct Row {
  const char* op;
  Rule rule;
  int weight;
  bool values;  // its class computes values, too, which arithmetic on shapes needs
};

// The classes of node.py for ONNX's operators, in the order of the file.
constexpr Row kRows[] = {
    {"Sub", Rule::kPerOutput, kAdd, true},
    {"Add", Rule::kPerOutput, kAdd, true},
    {"Min", Rule::kPerOutput, kCmp, true},
    {"Max", Rule::kPerOutput, kAdd, true},
    {"Neg", Rule::kPerOutput, kCmp, true},
    {"Div", Rule::kPerOutput, kDiv, true},
    {"Mod", Rule::kPerOutput, kAdd, true},
    {"Mul", Rule::kPerOutput, kMul, true},
    {"Abs", Rule::kPerOutput, kCmp, true},
    {"Ceil", Rule::kPerOutput, kAdd, true},
    {"Exp", Rule::kPerOutput, kExp, true},
    {"Softmax", Rule::kPerOutput, kExp + kDiv, true},
    {"Softplus", Rule::kPerOutput, kExp + kAdd + kLog, true},
    {"Log", Rule::kPerOutput, kLog, true},
    {"ImageScaler", Rule::kPerOutput, kAdd + kMul, false},
    {"InstanceNormalization", Rule::kPerOutput, kAdd + kMul + kAdd + kDiv, false},
    {"LpNormalization", Rule::kPerOutput, kExp + kAdd, false},
    {"Sqrt", Rule::kPerOutput, kSqrt, true},
    {"Pow", Rule::kPerOutput, kPow, true},
    {"Sin", Rule::kPerOutput, kSin, true},
    {"Cos", Rule::kPerOutput, kSin, true},
    {"Range", Rule::kPerOutput, 0, true},
    {"Sigmoid", Rule::kPerOutput, kExp, true},
    {"Tanh", Rule::kPerOutput, 2 * kTanh, true},
    {"LogSoftmax", Rule::kPerOutput, kExp + kDiv + kAdd + kLog, false},
    {"Atan", Rule::kPerOutput, 2 * kAtan, true},
    {"Sign", Rule::kPerOutput, kCmp, true},
    {"HardSigmoid", Rule::kPerOutput, kMul + kAdd + 2 * kCmp, true},
    {"HardSwish", Rule::kPerOutput, 2 * kMul + kAdd + 2 * kCmp, true},
    {"Relu", Rule::kPerOutput, kCmp, true},
    {"Elu", Rule::kPerOutput, kCmp + kExp + kAdd + kMul, true},
    {"Silu", Rule::kPerOutput, kExp + kMul, false},
    {"Gelu", Rule::kPerOutput, kExp + 2 * kMul, false},
    {"PRelu", Rule::kPerOutput, kCmp + kMul, false},
    {"LeakyRelu", Rule::kPerOutput, kMul + kCmp, true},
    {"Sum", Rule::kSum, kAdd, true},
    {"NonMaxSuppression", Rule::kPerOutput, 0, false},
    {"LRN", Rule::kLrn, 0, false},
    {"Less", Rule::kPerOutput, kCmp, true},
    {"LessOrEqual", Rule::kPerOutput, kCmp, true},
    {"Round", Rule::kPerOutput, kCmp, true},
    {"Not", Rule::kPerOutput, kCmp, true},
    {"And", Rule::kPerOutput, kCmp, true},
    {"Or", Rule::kPerOutput, kCmp, true},
    {"Xor", Rule::kPerOutput, kCmp, true},
    {"Where", Rule::kPerOutput, 0, true},
    {"Transpose", Rule::kPerOutput, 0, true},
    {"Gemm", Rule::kGemm, 0, true},
    {"MatMul", Rule::kGemm, 0, true},
    {"Tile", Rule::kPerOutput, 0, true},
    {"Gather", Rule::kPerOutput, 0, true},
    {"Clip", Rule::kPerOutput, 2 * kCmp, true},
    {"Reciprocal", Rule::kPerOutput, kDiv, true},
    {"Relu6", Rule::kPerOutput, 2 * kCmp, true},
    {"Constant", Rule::kPerOutput, 0, true},
    {"Concat", Rule::kPerOutput, 0, true},
    {"GridSample", Rule::kPerOutput, 0, false},
    {"DepthToSpace", Rule::kPerOutput, 0, false},
    {"OneHot", Rule::kPerOutput, 0, true},
    {"Trilu", Rule::kPerOutput, 0, true},
    {"Einsum", Rule::kEinsum, 0, false},
    {"Unsqueeze", Rule::kPerOutput, 0, true},
    {"Squeeze", Rule::kPerOutput, 0, true},
    {"Shape", Rule::kPerOutput, 0, true},
    {"Resize", Rule::kResize, 0, false},
    {"Upsample", Rule::kResize, 0, false},
    {"AveragePool", Rule::kPool, kAdd, false},
    {"MaxPool", Rule::kPool, kCmp, true},
    {"Dropout", Rule::kPerOutput, 0, true},
    {"GlobalAveragePool", Rule::kGlobalPool, 0, true},
    {"Expand", Rule::kPerOutput, 0, true},
    {"Pad", Rule::kPerOutput, 0, true},
    {"Identity", Rule::kPerOutput, 0, true},
    {"Erf", Rule::kPerOutput, 0, true},
    {"BatchNormalization", Rule::kPerOutput, kAdd + kSqrt + kDiv + kAdd + kMul, true},
    {"Flatten", Rule::kPerOutput, 0, true},
    {"ArgMax", Rule::kPerOutput, 0, true},
    {"ArrayFeatureExtractor", Rule::kPerOutput, 0, false},
    {"ZipMap", Rule::kPerOutput, 0, false},
    {"Slice", Rule::kPerOutput, 0, true},
    {"ReduceMean", Rule::kPerInput, kAdd, true},
    {"ReduceProd", Rule::kPerInput, kMul, true},
    {"ReduceSum", Rule::kPerInput, kAdd, true},
    {"ReduceMin", Rule::kPerInput, kCmp, true},
    {"ReduceMax", Rule::kPerInput, kCmp, true},
    {"TopK", Rule::kPerOutput, 0, false},
    {"Compress", Rule::kPerOutput, 0, true},
    {"Hardmax", Rule::kPerOutput, kAdd, false},
    {"CategoryMapper", Rule::kPerOutput, 0, false},
    {"LSTM", Rule::kRnn, 4, false},
    {"Conv", Rule::kConv, 0, false},
    {"ReduceL2", Rule::kPerInput, kAdd + kSqrt, true},
    {"CumSum", Rule::kPerOutput, kAdd, true},
    {"NonZero", Rule::kPerOutput, kCmp, true},
    {"Equal", Rule::kPerOutput, kCmp, true},
    {"Floor", Rule::kPerOutput, kCmp, true},
    {"RoiAlign", Rule::kPerOutput, 0, false},
    {"ScatterElements", Rule::kPerOutput, 0, false},
    {"ScatterND", Rule::kPerOutput, 0, true},
    {"GatherND", Rule::kPerOutput, 0, true},
    {"RandomUniformLike", Rule::kPerOutput, 0, false},
    {"RandomNormalLike", Rule::kPerOutput, 0, false},
    {"Greater", Rule::kPerOutput, kCmp, true},
    {"GreaterOrEqual", Rule::kPerOutput, kCmp, true},
    {"DequantizeLinear", Rule::kPerOutput, kMul + kAdd, false},
    {"LayerNormalization", Rule::kLayerNorm, 0, false},
    {"QuantizeLinear", Rule::kPerOutput, kMul + kAdd, false},
    {"MatMulInteger", Rule::kGemm, 0, false},
    {"QLinearMatMul", Rule::kQLinearMatMul, 0, false},
    {"QLinearConv", Rule::kQLinearConv, 0, false},
    {"ConvInteger", Rule::kConvInteger, 0, false},
    {"ConvTranspose", Rule::kConv, 0, false},
    {"Reshape", Rule::kPerOutput, 0, true},
    {"GatherElements", Rule::kPerOutput, 0, true},
    {"GRU", Rule::kRnn, 3, false},
    {"ConstantOfShape", Rule::kPerOutput, 0, true},
    {"Cast", Rule::kPerOutput, 0, true},
    {"Split", Rule::kPerOutput, 0, true},
};

const Row* FindRow(absl::string_view op) {
  static const auto& rows = *[] {
    auto* index = new absl::flat_hash_map<absl::string_view, const Row*>;
    for (const Row& row : kRows) index->emplace(row.op, &row);
    return index;
  }();
  const auto it = rows.find(op);
  return it == rows.end() ? nullptr : it->second;
}

// "volume" of tensor.py: 0 for a scalar.
Expr Volume(const Shape& shape) {
  if (!shape.ranked() || shape.rank() == 0) return 0;
  return shape.NumElements();
}

struct Outcome {
  Expr amount;
  std::string error;  // the error that ends the run
};
Outcome Die(std::string error) { return {0, std::move(error)}; }

constexpr char kNoIndex[] = "list index out of range";

// The cost of one node by the rule of its class.
class Costing {
 public:
  Costing(const Evidence& evidence, const Entry& entry, const Row& row)
      : evidence_(evidence), entry_(entry), node_(evidence.node(entry)), row_(row) {}

  Outcome Apply() const {
    switch (row_.rule) {
      case Rule::kPerOutput:
        return {Volume(Output()) * row_.weight, ""};
      case Rule::kPerInput:
        return {Volume(Input(0)) * row_.weight, ""};
      case Rule::kSum:
        return {Volume(Output()) * (Inputs() - 1), ""};
      case Rule::kGemm:
        return Gemm();
      case Rule::kConv:
        return Conv(1, Inputs() > 2, Inputs() == 2 || Inputs() == 3);
      case Rule::kQLinearConv:
        return Conv(3, Inputs() == 9, true);
      case Rule::kConvInteger:
        return Conv(1, false, true);
      case Rule::kQLinearMatMul:
        return {Volume(Input(0)) * Dim(Input(3), -1), ""};
      case Rule::kEinsum:
        return Einsum();
      case Rule::kRnn:
        return Rnn();
      case Rule::kPool:
        return Pool();
      case Rule::kGlobalPool:
        return {Volume(Input(0)) * kAdd + Volume(Output()) * kDiv, ""};
      case Rule::kResize:
        return Resize();
      case Rule::kLayerNorm:
        return LayerNorm();
      case Rule::kLrn:
        return {Volume(Output()) * (Expr(Int("size", 0)) * kMul + (kDiv + kExp + kAdd)), ""};
    }
    return {};
  }

 private:
  int64_t Inputs() const { return static_cast<int64_t>(node_.inputs.size()); }
  static const Shape& ShapeOf(const Fact& fact) {
    static const Shape& none = *new Shape;
    return fact.is_tensor() && fact.shape.ranked() ? fact.shape : none;
  }
  const Shape& Input(size_t i) const { return ShapeOf(evidence_.Input(entry_, i)); }
  const Shape& Output() const { return ShapeOf(evidence_.Output(entry_, 0)); }
  // Indexed as in Python: -1 is the last. 0 if there is no such dimension.
  static Expr Dim(const Shape& shape, int i) {
    if (i < 0) i += shape.rank();
    return i < 0 || i >= shape.rank() ? Expr(0) : shape[i];
  }
  int64_t Int(absl::string_view name, int64_t default_value) const {
    const Attribute* attribute = node_.FindAttribute(name);
    return attribute == nullptr ? default_value : attribute->i;
  }

  Outcome Gemm() const {
    if (Input(0).rank() < 2 || Input(1).rank() < 2) return Die("Gemm inputs must have rank >= 2");
    const bool last = node_.op_type == "Gemm" && Int("transB", 0) > 0;
    const Expr volume = Volume(Output());
    Expr amount = volume * Dim(Input(1), last ? -1 : -2);
    if (Inputs() == 3) amount += volume * kAdd;
    return {amount, ""};
  }

  Outcome Conv(size_t weight, bool bias, bool counts) const {
    if (node_.outputs.size() != 1 || !counts) return {};
    const Shape& w = Input(weight);
    if (w.rank() < 2) return Die(kNoIndex);
    Expr amount = Volume(Output()) * w.Product(1, w.rank());
    if (bias) amount += Volume(Output()) * kAdd;
    return {amount, ""};
  }

  Outcome Einsum() const {
    const Attribute* attribute = node_.FindAttribute("equation");
    if (attribute == nullptr) return Die("no equation");
    if (Inputs() != 2) return Die(kNoIndex);
    std::string equation(attribute->s);
    equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
    const size_t arrow = equation.find("->");
    if (arrow == std::string::npos) return Die(kNoIndex);
    const std::string left = equation.substr(0, arrow);
    const size_t comma = left.find(',');
    if (comma == std::string::npos) return Die(kNoIndex);
    std::string labels[2] = {left.substr(0, comma), left.substr(comma + 1)};
    labels[1] = labels[1].substr(0, labels[1].find(','));
    absl::flat_hash_map<char, Expr> sizes;
    // An ellipsis is three labels that are equal.
    for (size_t i = 0; i < 2; ++i) {
      if (static_cast<size_t>(Input(i).rank()) > labels[i].size()) {
        return Die("index out of range");
      }
      for (int d = 0; d < Input(i).rank(); ++d) {
        sizes[labels[i][static_cast<size_t>(d)]] = Input(i)[d];
      }
    }
    // Labels of the result that have no size: those after an ellipsis that has more axes than dots.
    for (const char label : equation.substr(arrow + 2)) {
      if (!sizes.contains(label)) return Die(absl::StrCat("KeyError: ", static_cast<int>(label)));
    }
    Expr product = 1;
    for (const auto& [label, size] : sizes) product *= size;
    return {product, ""};
  }

  // weight = how many gates.
  Outcome Rnn() const {
    const bool lstm = row_.weight == 4;
    if (Inputs() < 4 || (!lstm && node_.outputs.size() < 2)) return Die(kNoIndex);
    const Expr steps = Dim(Input(0), 0) * Dim(Input(0), 1);
    const Expr hidden = steps * FloorDiv(Dim(Input(1), 1), row_.weight);
    const Expr gemm = (Volume(Input(1)) + Volume(Input(2)) + Volume(Input(3))) * steps;
    const int per_hidden = lstm ? 4 * kAdd + 3 * kExp + 2 * kTanh + kAdd + 3 * kMul
                                : 3 * kAdd + 2 * kExp + kTanh + 2 * kAdd + 3 * kMul;
    return {gemm + hidden * per_hidden, ""};
  }

  Outcome Pool() const {
    const Attribute* kernel = node_.FindAttribute("kernel_shape");
    if (kernel == nullptr || kernel->ints.empty()) return {Volume(Output()) * 9, ""};
    Expr amount = Volume(Output()) * kernel->ints[0];
    if (kernel->ints.size() == 2) amount *= Expr(kernel->ints[1]);
    return {amount, ""};
  }

  Outcome Resize() const {
    const Attribute* mode = node_.FindAttribute("mode");
    if (mode == nullptr)
      return Die(absl::StrCat("'", node_.op_type, "Node' has no attribute 'mode'"));
    const int weight = mode->s == "nearest"  ? 0
                       : mode->s == "linear" ? 4
                       : mode->s == "cubic"  ? 8
                                             : 1;
    return {Volume(Output()) * weight, ""};
  }

  Outcome LayerNorm() const {
    Shape shape = Input(0);
    const Expr volume = Volume(shape);
    int64_t axis = Int("axis", -1);
    if (axis < 0) axis += shape.rank();
    if (axis < 0 || axis >= shape.rank()) return Die("list assignment index out of range");
    shape[static_cast<int>(axis)] = 1;
    return {volume * (3 * kMul + 4 * kAdd) + Volume(shape) * (kAdd + kSqrt + kDiv), ""};
  }

  const Evidence& evidence_;
  const Entry& entry_;
  const Node& node_;
  const Row& row_;
};

// ---- where the tool fails or deviates

bool IsBroadcastByVolume(absl::string_view op) {
  return op == "Sum" || op == "PRelu" || op == "Clip" || op == "MatMul" || op == "MatMulInteger";
}

class ToolInference {
 public:
  explicit ToolInference(const Evidence& evidence) : evidence_(evidence), model_(evidence.model()) {
    FindShapeWork();
  }

  // The error of shape inference that ends the run at this node, or empty.
  std::string Error(const Entry& entry, const Row* row) {
    const Node& node = evidence_.node(entry);
    if (row == nullptr || (IsShapeWork(entry.node) && !row->values)) {
      return absl::StrCat("this Node ", node.op_type, "-", node.name, " has no value_infer");
    }
    const absl::string_view op = node.op_type;
    const auto has = [&](absl::string_view name) { return node.FindAttribute(name) != nullptr; };
    if (op == "Constant" && !has("value")) return "'ConstantNode' object has no attribute 'value'";
    if (op == "Split" && !has("axis")) return "'NoneType' is no axis";
    if (op == "QuantizeLinear" && node.inputs.size() < 3) return kNoIndex;
    if (op == "Unsqueeze" && HasScalarAxes(entry)) return "TypeError: len() of unsized object";
    if (op == "Squeeze" && SqueezesPartOfShape(node)) {
      return "cannot select an axis to squeeze out which has size not equal to one";
    }
    return "";
  }

  // Why the tool's own shapes may be wrong; empty if they are right.
  std::string Doubt(const Entry& entry) const {
    const Node& node = evidence_.node(entry);
    const absl::string_view op = node.op_type;
    const auto has = [&](absl::string_view name) { return node.FindAttribute(name) != nullptr; };
    const auto is = [&](absl::string_view name, int64_t value) {
      const Attribute* a = node.FindAttribute(name);
      return a != nullptr && a->i == value;
    };
    if (op == "Shape" && (has("end") || (has("start") && !is("start", 0)))) {
      return "its Shape ignores start and end";
    }
    if (IsBroadcastByVolume(op) && !DominatedByOne(entry))
      return "its broadcast takes the larger shape";
    if (absl::StartsWith(op, "Reduce") && node.inputs.size() < 2 && !has("axes")) {
      return "its reduction over all axes leaves the shape open";
    }
    if (op == "Squeeze" && node.inputs.size() < 2 && !has("axes")) {
      return "its Squeeze takes axis 0 if none is given";
    }
    if (op == "GatherND" && has("batch_dims") && !is("batch_dims", 0))
      return "its GatherND has no batch_dims";
    if (op == "Flatten" && has("axis") && node.FindAttribute("axis")->i < 0) {
      return "its Flatten knows no negative axis";
    }
    if (op == "Min" && IsShapeWork(entry.node)) return "its Min negates values";
    if (op == "Pad" && node.inputs.size() > 3) return "its Pad knows no axes";
    if ((op == "MaxPool" || op == "AveragePool") && (is("ceil_mode", 1) || Rank(entry) > 4)) {
      return "its pooling rounds, and pads in 3-D, by other rules";
    }
    if (absl::StartsWith(op, "Conv") && has("auto_pad") && Rank(entry) > 4) {
      return "its convolution in 3-D knows no auto_pad";
    }
    if (op == "ReduceL2" && node.inputs.size() > 1 && !IsOneElement(entry)) {
      return "its ReduceL2 knows axes of attributes only";
    }
    if (op == "MaxPool" && node.outputs.size() > 1) return "its MaxPool gives no indices";
    if (op == "GridSample") return "its GridSample may end where one shape is a list, one a tuple";
    if (op == "Resize" && has("axes")) return "its Resize knows no axes";
    if (op == "NonZero" || op == "NonMaxSuppression" || op == "TopK" || op == "Compress" ||
        op == "RoiAlign" || op == "OneHot") {
      return "sizes that depend on data are taken from zeros";
    }
    return "";
  }

 private:
  bool HasScalarAxes(const Entry& entry) const {
    const Fact& axes = evidence_.Input(entry, 1);
    return axes.is_tensor() && axes.shape.ranked() && axes.shape.rank() == 0;
  }

  int Rank(const Entry& entry) const {
    const Fact& fact = evidence_.Output(entry, 0);
    return fact.is_tensor() && fact.shape.ranked() ? fact.shape.rank() : 0;
  }

  // Reduced over all axes, it has the same shape.
  bool IsOneElement(const Entry& entry) const {
    const Fact& y = evidence_.Output(entry, 0);
    return y.is_tensor() && y.shape.ranked() && y.shape.NumElements() == Expr(1);
  }

  // True if one operand has the shape of the result already; of a product, only batch dimensions
  // are compared.
  bool DominatedByOne(const Entry& entry) const {
    const Fact& y = evidence_.Output(entry, 0);
    if (!y.is_tensor() || !y.shape.ranked()) return false;
    const int core = absl::StartsWith(evidence_.node(entry).op_type, "MatMul") ? 2 : 0;
    const Fact* last = nullptr;  // many inputs may be alike
    for (size_t i = 0; i < evidence_.node(entry).inputs.size(); ++i) {
      const Fact* x = &evidence_.Input(entry, i);
      if (std::exchange(last, x) != x && BeginsWith(*x, y.shape, core)) return true;
    }
    return false;
  }

  // True if it has the same dimensions, except for `core` ones at the end.
  static bool BeginsWith(const Fact& x, const Shape& shape, int core) {
    if (!x.is_tensor() || !x.shape.ranked() || x.shape.rank() != shape.rank()) return false;
    for (int d = 0; d + core < shape.rank(); ++d) {
      if (x.shape[d] != shape[d]) return false;
    }
    return true;
  }

  // Squeeze of a Shape that was to give one size.
  bool SqueezesPartOfShape(const Node& node) {
    const OptionalValueId input = node.input(0);
    const OptionalNodeId maker = input ? model_.value(*input).producer : kNone;
    if (!maker) return false;
    const auto [it, is_new] = is_part_of_shape_.try_emplace(*maker, false);
    if (is_new) it->second = IsPartOfShape(model_.node(*maker));
    return it->second;
  }

  bool IsPartOfShape(const Node& producer) const {
    if (producer.op_type != "Shape" || producer.FindAttribute("end") == nullptr) return false;
    const Fact* fact = evidence_.inference().FactOf(producer.input(0));
    return fact != nullptr && fact->shape.ranked() && fact->shape.rank() > 1;
  }

  bool IsShapeWork(NodeId id) const { return shape_work_[static_cast<size_t>(id)]; }

  // graph.py:513: the nodes that compute inputs of shape rules, back to Shape.
  void FindShapeWork() {
    static constexpr std::pair<absl::string_view, uint32_t> kReaders[] = {
        {"Reshape", 0b10},
        {"Resize", 0b1110},
        {"Upsample", 0b1110},
        {"Expand", 0b10},
        {"Slice", 0b11110},
        {"Tile", 0b10},
        {"ConstantOfShape", 0b1},
        {"Range", 0b111},
        {"OneHot", 0b10},
        {"TopK", 0b10},
        {"Pad", 0b10},
        {"Split", 0b10},
        {"NonMaxSuppression", 0b100},
        {"Unsqueeze", 0b10},
        {"Squeeze", 0b10},
        {"ReduceSum", 0b10},
        {"ReduceMean", 0b10},
    };
    shape_work_.assign(model_.nodes.size(), false);
    std::vector<ValueId> queue;
    for (NodeId id : model_.graphs[0].nodes) {
      const Node& node = model_.node(id);
      for (const auto& [op, inputs] : kReaders) {
        if (node.op_type != op) continue;
        for (size_t i = 0; i < node.inputs.size() && i < 5; ++i) {
          if ((inputs >> i & 1) != 0 && node.inputs[i]) queue.push_back(*node.inputs[i]);
        }
      }
    }
    while (!queue.empty()) {
      const OptionalNodeId producer = model_.value(queue.back()).producer;
      queue.pop_back();
      if (!producer || IsShapeWork(*producer)) continue;
      shape_work_[static_cast<size_t>(*producer)] = true;
      const Node& node = model_.node(*producer);
      if (node.op_type == "Shape") continue;
      for (OptionalValueId input : node.inputs) {
        if (input) queue.push_back(*input);
      }
    }
  }

  const Evidence& evidence_;
  const ModelData& model_;
  std::vector<bool> shape_work_;  // by NodeId
  absl::flat_hash_map<NodeId, bool> is_part_of_shape_;
};

// "The input tensor X's shape [batch,3] is not valid": an input of an open size.
std::string OpenInput(const Evidence& evidence) {
  const ModelData& model = evidence.model();
  for (ValueId id : model.graphs[0].inputs) {
    const Value& value = model.value(id);
    const Fact* fact = evidence.inference().FactOf(id);
    if (value.initializer || fact == nullptr) continue;
    const Shape& shape = fact->shape;
    const bool open = !shape.ranked() || std::any_of(shape.dims().begin(), shape.dims().end(),
                                                     [](const Expr& e) { return !e.is_literal(); });
    if (!open) continue;
    return absl::StrCat(
        "ValueError: The input tensor ", value.name, "'s shape ", shape.ToString(),
        WithSettings(" is not valid, Please set it to a valid shape ({dim}, {input})"));
  }
  return "";
}

// Weights of a type that NumPy does not have end the run when the file is read.
std::string ForeignWeight(const ModelData& model) {
  constexpr DType kReadable[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt32,
                                 DType::kInt16,   DType::kInt64,   DType::kInt8,    DType::kUint8,
                                 DType::kUint16,  DType::kBool,    DType::kString};
  for (ValueId id : model.graphs[0].initializers) {
    const Value& value = model.value(id);
    if (!value.initializer) continue;
    const Tensor& tensor = model.tensor(*value.initializer);
    const bool readable =
        std::find(std::begin(kReadable), std::end(kReadable), tensor.dtype) != std::end(kReadable);
    if (readable || tensor.elements == 0) continue;
    return absl::StrCat("ValueError: initializer '", value.name, "' is ", DTypeName(tensor.dtype),
                        ", which the tool reads as float64: its size does not fit");
  }
  return "";
}

// The term of a contraction, whose MACs differ from ours only by biases, or of another operator.
TermId TermOf(const Node& node, const Row& row, LedgerBuilder* ledger) {
  const absl::string_view op = node.op_type;
  switch (row.rule) {
    case Rule::kGemm:
    case Rule::kConv:
    case Rule::kQLinearConv:
      if (op == "ConvTranspose") {
        return ledger->Term("ConvTranspose by another formula", "elements(Y) * prod(W[1:])");
      }
      return ledger->Term("biases", "1 per output element");
    case Rule::kRnn:
      return ledger->Term(absl::StrCat(op, ": biases and activations"), "weighted by instructions");
    case Rule::kEinsum:
    case Rule::kQLinearMatMul:
    case Rule::kConvInteger:
      return ledger->Term(absl::StrCat(op, " by another formula"), "the tool's own");
    default:
      break;
  }
  if (row.rule == Rule::kPerOutput) {
    return ledger->Term(op, absl::StrCat(row.weight, " per output element"));
  }
  return ledger->Term(op, "weighted by instructions");
}

// The nodes of the tool's dictionary: of those with one name, the last.
std::vector<EntryId> NodesByName(const Evidence& evidence) {
  std::vector<EntryId> result;
  absl::flat_hash_map<std::string, size_t> by_name;
  EntryId id = -1;
  int64_t count = 0;
  for (const Entry& entry : evidence.entries()) {
    ++id;
    const Node& node = evidence.node(entry);
    if (node.graph != 0) continue;
    std::string name(node.name);
    if (name.empty()) name = absl::StrCat(node.op_type, "_", count);
    ++count;
    const auto [it, is_new] = by_name.try_emplace(std::move(name), result.size());
    if (is_new) {
      result.push_back(id);
    } else {
      result[it->second] = id;
    }
  }
  return result;
}

Ledger Apply(Evidence* evidence) {
  if (std::string error = ForeignWeight(evidence->model()); !error.empty()) {
    return LedgerBuilder::NotApplicable(std::move(error));
  }
  if (std::string error = OpenInput(*evidence); !error.empty()) {
    return LedgerBuilder::NotApplicable(std::move(error));
  }
  if (const absl::Span<const Node> calls = evidence->model().inlined; !calls.empty()) {
    return LedgerBuilder::NotApplicable(
        absl::StrCat("ValueError: Error occurred while inferring shape for node ", calls[0].name,
                     ": this Node ", calls[0].op_type, "-", calls[0].name, " has no value_infer"));
  }
  LedgerBuilder ledger(evidence, Unit::kMac);
  ToolInference inference(*evidence);
  std::vector<AmountId> known(evidence->counts().calls.size(), -1);  // equal nodes cost the same
  const std::vector<EntryId> nodes = NodesByName(*evidence);
  const OnnxToolOrder order = OrderOfOnnxTool(*evidence, nodes);
  if (order.is_unsure) {
    ledger.Assume("the tool runs all nodes, although several of their outputs are left out");
  }
  for (EntryId id : order.run) {
    const Entry& entry = evidence->entry(id);
    const Node& node = evidence->node(entry);
    const Row* row = FindRow(node.op_type);
    if (std::string error = inference.Error(entry, row); !error.empty()) {
      return LedgerBuilder::NotApplicable(absl::StrCat(
          "ValueError: Error occurred while inferring shape for node ", node.name, ": ", error));
    }
    AmountId& amount = known[static_cast<size_t>(entry.call())];
    if (amount < 0) {
      const Outcome outcome = Costing(*evidence, entry, *row).Apply();
      if (!outcome.error.empty()) {
        return LedgerBuilder::NotApplicable(
            absl::StrCat(DescribeNode(evidence->model(), entry.node), ": ", outcome.error));
      }
      if (const char* error = outcome.amount.error()) {
        return LedgerBuilder::NotApplicable(absl::StrCat(
            DescribeNode(evidence->model(), entry.node), ": what the tool counts ", error));
      }
      if (!outcome.amount.is_literal()) {
        return LedgerBuilder::NotApplicable(
            absl::StrCat(DescribeNode(evidence->model(), entry.node),
                         ": its sizes depend on data, which the tool takes to be zeros"));
      }
      amount = evidence->Intern(outcome.amount);
    }
    if (const std::string doubt = inference.Doubt(entry); !doubt.empty()) {
      ledger.Assume(absl::StrCat("the tool's shapes are the true ones, although ", doubt));
    }
    const AmountId ours = evidence->Ours(Unit::kMac, id);
    if (amount == kZero && ours == kZero) continue;
    ledger.Count({id}, amount, amount == ours ? kSame : TermOf(node, *row, &ledger));
  }
  const TermId twin = ledger.Term("nodes of one name", "only the last of them is kept");
  const TermId waiting = ledger.Term("nodes that wait for an output that is left out",
                                     "they have its name, the empty one: never run");
  const absl::flat_hash_set<EntryId> kept(nodes.begin(), nodes.end());
  return ledger.Finish([&](EntryId id) { return kept.contains(id) ? waiting : twin; });
}

}  // namespace
}  // namespace onnx_tool

const Convention kOnnxTool = {
    {"onnx-tool", Unit::kMac, "Total Forward_MACs",
     "ThanatosShinji/onnx-tool 1.0.1 (00f5f0a), onnx_tool/node.py:19-2960, graph.py:513-540 and "
     "1025-1058 and 1433-1490",
     "products, biases, and elementwise work by x86 instructions: division 4, exp 32, log 43, sqrt "
     "24, tanh 76, Softmax 36, Gelu 34, LayerNormalization 7 and more",
     "Erf, Where, data movement; ends at an operator that it has no class for (If, Loop, "
     "Attention, "
     "RMSNormalization, IsNaN, ONNX Runtime's fused operators)"},
    onnx_tool::Apply,
};

}  // namespace onnxflops::convention
