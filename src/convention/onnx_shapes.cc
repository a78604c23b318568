#include "src/convention/onnx_shapes.h"

#include <algorithm>
#include <vector>

#include "absl/strings/string_view.h"

namespace onnxflops {
namespace {

// Inputs whose content decides the output's shape, as bits.
struct ContentInputs {
  absl::string_view op;
  uint32_t inputs;
  bool propagated;  // a content found by data propagation will do; else only a constant
};
constexpr ContentInputs kContentInputs[] = {
    {"Reshape", 0b10, true},
    {"Expand", 0b10, true},
    {"ConstantOfShape", 0b1, true},
    {"Slice", 0b11110, false},
    {"Tile", 0b10, false},
    {"Pad", 0b1010, false},
    {"Resize", 0b1100, false},
    {"Upsample", 0b10, false},
    {"Range", 0b111, false},
    {"OneHot", 0b10, false},
    {"TopK", 0b10, false},
    {"Split", 0b10, false},
    {"Squeeze", 0b10, false},
    {"Unsqueeze", 0b10, false},
    {"CenterCropPad", 0b10, false},
    {"AffineGrid", 0b10, false},
    {"Col2Im", 0b110, false},
    {"BlackmanWindow", 0b1, false},
    {"HannWindow", 0b1, false},
    {"HammingWindow", 0b1, false},
    {"DFT", 0b110, false},
    {"STFT", 0b1010, false},
    {"MelWeightMatrix", 0b11, false},
    {"ReduceSum", 0b10, false},
    {"ReduceMean", 0b10, false},
    {"ReduceMax", 0b10, false},
    {"ReduceMin", 0b10, false},
    {"ReduceProd", 0b10, false},
    {"ReduceL1", 0b10, false},
    {"ReduceL2", 0b10, false},
    {"ReduceSumSquare", 0b10, false},
    {"ReduceLogSum", 0b10, false},
    {"ReduceLogSumExp", 0b10, false},
};

// Operators whose output's size is not a matter of shapes, or not inferred.
constexpr absl::string_view kDataDependent[] = {
    "NonZero",
    "NonMaxSuppression",
    "Unique",
    "Compress",
    "Loop",
    "Scan",
    "If",
    "MaxUnpool",
    "StringSplit",
    "SequenceMap",
    "SequenceAt",
    "ConcatFromSequence",
    "SplitToSequence",
    "OptionalGetElement",
    "SequenceInsert",
    "SequenceErase",
    "SequenceConstruct",
    "SequenceEmpty",
    "Optional",
    "ImageDecoder",
    "Multinomial",
    "TfIdfVectorizer",
};

constexpr absl::string_view kPropagating[] = {"Shape", "Size",    "Gather",    "Concat",
                                              "Slice", "Squeeze", "Unsqueeze", "Cast",
                                              "Add",   "Sub",     "Mul"};

template <typename List>
bool Contains(const List& list, absl::string_view op) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

class Follower {
 public:
  Follower(const ModelData& model, const OnnxShapeOptions& options)
      : model_(model), options_(options), state_(model_.values.size()) {}

  NodeId Run() {
    const Graph& graph = model_.graphs[0];
    for (ValueId id : graph.inputs) At(id).shape = true;
    for (ValueId id : graph.initializers) At(id) = {true, true, true};
    for (NodeId id : graph.nodes) {
      if (!Follow(model_.nodes[static_cast<size_t>(id)])) return id;
    }
    return kNone;
  }

 private:
  struct State {
    bool shape = false;     // every dimension is known
    bool constant = false;  // an initializer or Constant
    bool content = false;   // known, at least to those that take propagated sizes
  };
  State& At(ValueId id) { return state_[static_cast<size_t>(id)]; }

  // False when an output's shape stays open.
  bool Follow(const Node& node) {
    bool known =
        node.domain.empty() && node.function == kNone && !Contains(kDataDependent, node.op_type);
    bool content = true;
    for (ValueId id : node.inputs) {
      if (id == kNone) continue;
      known = known && At(id).shape;
      content = content && At(id).content;
    }
    known = known && HasContentInputs(node) && HasHiddenSize(node);
    if (node.op_type == "Shape" || node.op_type == "Size") content = true;
    const bool constant = node.op_type == "Constant";
    const bool propagates =
        constant || (options_.data_propagation && Contains(kPropagating, node.op_type));
    for (ValueId id : node.outputs) {
      if (id == kNone) continue;
      const bool declared = options_.declared && IsDeclared(id);
      At(id) = {known || declared, constant, known && propagates && content};
      if (!known && !declared) return false;
    }
    return true;
  }

  bool HasContentInputs(const Node& node) {
    for (const ContentInputs& row : kContentInputs) {
      if (row.op != node.op_type) continue;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if ((row.inputs >> i & 1) == 0 || node.inputs[i] == kNone) continue;
        const State& state = At(node.inputs[i]);
        if (!state.constant && !(row.propagated && state.content)) return false;
      }
      break;
    }
    return true;
  }

  static bool HasHiddenSize(const Node& node) {
    const bool rnn = node.op_type == "LSTM" || node.op_type == "GRU" || node.op_type == "RNN";
    return !rnn || node.FindAttribute("hidden_size") != nullptr;
  }

  bool IsDeclared(ValueId id) const {
    const DeclaredType* type = model_.values[static_cast<size_t>(id)].declared;
    return type != nullptr && type->has_shape &&
           std::all_of(type->dims.begin(), type->dims.end(),
                       [](const DeclaredDim& dim) { return dim.size >= 0; });
  }

  const ModelData& model_;
  const OnnxShapeOptions options_;
  std::vector<State> state_;  // by ValueId
};

}  // namespace

NodeId FirstDoubtfulShape(const ModelData& model, const OnnxShapeOptions& options) {
  return Follower(model, options).Run();
}

}  // namespace onnxflops
