// The PyTorch calls that an export came from: the ATen operator, the module whose forward made the
// call, the operands, and the resulting nodes. This is what tools that watch PyTorch see.
//
//   const TorchTrace& trace = evidence.torch_trace();
//   for (const TorchCall& call : trace.calls) {
//     if (call.op == Aten::kLinear && trace.scope(call).nn_class == NnClass::kLinear) ...
//   }
//
// A dynamo export states all of it in the metadata of its nodes. A TorchScript export has only
// paths of modules: operators and classes are recognised from structure, and `assumptions` says so.
#ifndef ONNXFLOPS_SRC_CONVENTION_TORCH_TRACE_H_
#define ONNXFLOPS_SRC_CONVENTION_TORCH_TRACE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/convention/evidence.h"
#include "src/convention/torch/names.h"
#include "src/exporter/source_line.h"

namespace onnxflops::convention {

// How a call is written in Python: a part of each call of a trace.
using exporter::Spelling;

// A fact about a call that a file may leave open. Only a TorchTool can read it: a rule that reads
// an unstated fact makes the figure assumed.
template <typename T>
class OpenFact {
 public:
  OpenFact() = default;
  explicit OpenFact(T guess) : value_(guess) {}

  static OpenFact Stated(T value) {
    OpenFact fact(value);
    fact.is_stated_ = true;
    return fact;
  }
  bool is_stated() const { return is_stated_; }
  // Equal facts have equal keys.
  int32_t key() const { return static_cast<int32_t>(value_) * 2 + (is_stated_ ? 1 : 0); }

 private:
  friend class TorchTool;

  T value_ = {};
  bool is_stated_ = false;
};

// A module whose forward made calls.
struct TorchScope {
  NnClass nn_class = NnClass::kNone;
  absl::string_view class_name;  // "torch.nn.modules.conv.Conv2d"; "" if unknown
  ModuleId module = kRootModule;
  bool is_assumed = false;         // the class is recognised, not stated
  bool in_timm_attention = false;  // inside of timm's Attention
  int32_t encoder_layer = -1;      // in TorchTrace::encoder_layers: inside of this one; -1
  bool of_transformers = false;    // a class of Hugging Face's transformers
};
using ScopeId = int32_t;

// Further arguments of a call, as far as rules need them.
struct TorchArguments {
  int32_t normalized_dims = 0;   // of layer_norm; 0 where not known
  bool has_output_size = false;  // of a resizing: by a size, not by a factor
  int32_t pool_dims = 0;         // of an adaptive pool: of its name, 0 where not known
  bool is_variant = false;       // of a resizing: antialiased, or nearest-exact
  bool groups_heads = false;     // of attention: enable_gqa
  bool of_recurrent = false;     // of lstm, gru, rnn: whether the next two are known
  bool has_biases = false;
  bool batch_first = false;
  bool has_vector_weight = false;  // of linear: exporters turn the vector into a matrix
  bool has_named_padding = false;  // of a convolution: 'same' or 'valid'
  bool is_unbatched = false;       // of a convolution: the export adds the batch, see IsUnbatched
  // For the product of an nn.RNNCell, nn.GRUCell or nn.LSTMCell with its input, which stands for
  // the cell: 1, 3 or 4; 0 for all others.
  int32_t cell_gates = 0;
  bool is_cell_unbatched = false;  // the input of that cell lacks the batch
};

// The shape of a tensor; of unknown rank for any other fact.
inline const Shape& ShapeOf(const Fact& fact) {
  static const Shape& unknown = *new Shape(Shape::UnknownRank());
  return fact.is_tensor() ? fact.shape : unknown;
}

inline constexpr int32_t kAllArguments = 9;  // TorchCall::positional
// TorchCall::sizing.
inline constexpr int32_t kFactor = 0, kListOfFactors = -1, kSizes = -2, kOneSize = -3;

struct TorchCall {
  Aten op = Aten::kOther;
  ScopeId scope = 0;
  int32_t first = 0, count = 0;  // in TorchTrace::entries; at least one
  EntryId main = 0;              // the entry that does the work; of attention, the first product
  absl::string_view name;        // "linear_3", as torch.fx numbers it; "" where not known
  absl::string_view target;      // "aten.linear.default"
  int32_t target_number = 0;     // equal numbers are equal targets
  // Rules treat all calls of one kind alike: they have equal classes, arguments and operands.
  int32_t kind = 0;
  // See also shape_of_x() and its like.
  const Fact* x = nullptr;     // first operand (of a product; of addmm, the second)
  const Fact* w = nullptr;     // second operand of a product, weight of a convolution
  const Fact* y = nullptr;     // result
  AmountId macs = kZero;       // of its nodes; this and the next over all runs
  AmountId in = kZero;         // elements of x
  AmountId out = kZero;        // elements of y
  bool has_bias = false;       // of a linear layer or convolution
  bool is_out_proj = false;    // the last linear layer of an nn.MultiheadAttention
  bool is_affine = false;      // of a normalisation
  bool is_transposed = false;  // of a linear layer: a Transpose reordered its input
  OpenFact<Spelling> spelling;
  // How many arguments the source gives by position, those by keyword aside.
  OpenFact<int32_t> positional = OpenFact<int32_t>(kAllArguments);
  // How a resizing is given: by one of these, or by that many scale factors.
  OpenFact<int32_t> sizing;
  bool is_by_keyword = false;  // its module is called with its input by keyword
  // The source gives a list where most give a number, a tuple, or tensors one by one: steps of a
  // convolution, operands of an einsum.
  bool is_given_list = false;
  bool in_torch_nn = false;  // the forward of a class of torch.nn, or one derived from it, made it
  bool has_source = false;   // there is a line of source
  // A product inside a function such as tensordot, which tracers and wrappers see as one operator,
  // and the export as others.
  bool is_inside = false;
  bool is_of_rnn = false;  // part of nn.RNN, which is one operator
  TorchArguments arguments;

  // Of unknown rank if it is not a tensor.
  const Shape& shape_of_x() const { return ShapeOf(*x); }
  const Shape& shape_of_w() const { return ShapeOf(*w); }
  const Shape& shape_of_y() const { return ShapeOf(*y); }
};

// One run of an nn.MultiheadAttention.
struct TorchAttention {
  int32_t first_call = 0, end_call = 0;  // with others between that cost nothing
  const TorchCall* in_proj = nullptr;    // the first one, or nullptr
  // The projections of q, k and v, which may be one call; nullptr if there are none, or others.
  std::array<const TorchCall*, 3> projections = {};
  bool is_packed = false;     // q, k and v are one tensor: one product with in_proj_weight
  bool batch_first = false;   // transposes its input
  bool is_unbatched = false;  // adds the batch to its input
  // In eval mode without gradients, one native operator does the whole module.
  OpenFact<bool> fast_path = OpenFact<bool>::Stated(false);
  bool fast_but_for_mask = false;  // the same, whatever mask there is
  Expr heads = 1;                  // if there are projections
};

// An nn.TransformerEncoderLayer.
struct TorchEncoderLayer {
  bool is_child = false;   // of the model itself, not of one of its modules
  bool has_relu = false;   // or GELU, which its fast path needs
  bool fast_path = false;  // in eval mode without gradients and hooks, one native operator does it
  bool may_drop_padding = false;  // of an nn.TransformerEncoder that is given a padding mask
};

struct TorchTrace {
  enum class Origin : uint8_t {
    kDynamo,
    kTorchScript,
    kNone,  // not exported from PyTorch, or nothing left that says so
  };
  Origin origin = Origin::kNone;
  std::string problem;  // for kNone: why there is no trace
  std::vector<TorchScope> scopes;
  std::vector<TorchCall> calls;  // in the order of their first nodes
  std::vector<EntryId> entries;
  std::vector<TorchAttention> attentions;
  std::vector<int32_t> attention_of;  // by call; -1
  std::vector<TorchEncoderLayer> encoder_layers;
  int32_t kinds = 0;  // TorchCall::kind is below

  // The PyTorch that exported it fuses attention with fewer heads of k and v on a CPU.
  bool fuses_groups = false;
  // A call names a parameter; kDynamo only.
  bool has_parameters = false;
  bool has_constants = false;  // of floats, that may be made of parameters

  // Facts that the file does not show, as far as such gaps can be seen.
  std::vector<std::string> assumptions;
  int64_t unattributed = 0;     // nodes that compute and that no call claims
  int64_t unknown_args = 0;     // calls whose arguments are not in the file
  int64_t recurrent_cells = 0;  // calls in nn.LSTMCell and similar cells
  int64_t lost_cells = 0;       // modules of these without a product with their input
  int64_t folded = 0;           // tensors that the exporter computed beforehand, used in arithmetic
  int64_t folded_layers = 0;    // of these, results of activations and normalisations
  int64_t assumed_convs = 0;    // convolutions whose class went with the BatchNorm they took in
  int64_t assumed_biases = 0;   // modules of these whose bias is a guess
  int64_t unknown_shapes = 0;   // calls with an operand of unknown rank
  int64_t loose_weights = 0;    // calls whose weight is a tensor that no module holds
  int64_t calls_of_hooks = 0;   // in a module of torch.nn, by code that is not torch.nn's
  int64_t derived_layers = 0;   // attention and recurrent layers of classes derived from torch.nn's
  int64_t calls_in_bodies = 0;  // of torch.cond, while_loop and scan
  int64_t shared_modules = 0;   // calls of torch.nn modules that are used in several places
  bool has_merged_parts = false;  // the exporter merged calls with several results
  absl::string_view transform;    // "torch.vmap", in a line of source: see TransformIn
  // By Aten: calls that torch.fx numbered and the file lacks; and modules of torch.nn whose
  // operator is missing because the exporter wrote it as smaller ones.
  std::array<int64_t, kNumAtens> unseen{}, decomposed{};

  const TorchScope& scope(const TorchCall& call) const {
    return scopes[static_cast<size_t>(call.scope)];
  }
  NnClass nn_class(const TorchCall& call) const { return scope(call).nn_class; }
  absl::Span<const EntryId> entries_of(const TorchCall& call) const {
    return absl::MakeConstSpan(entries).subspan(static_cast<size_t>(call.first),
                                                static_cast<size_t>(call.count));
  }
};

TorchTrace TraceTorch(Evidence* evidence);

// The readers, one for each exporter. REQUIRES: that exporter wrote the model.
TorchTrace TraceDynamo(Evidence* evidence);
TorchTrace TraceTorchScript(Evidence* evidence);

// The most likely spelling of an operator in the source, if the file does not show it. REQUIRES:
// operands are known.
Spelling LikelySpelling(const Evidence& evidence, const TorchScope& scope, const TorchCall& call);
// The attention of torchvision's Swin is a function, which no line of an export shows: it calls
// x.matmul(y) and F.softmax.
bool IsSwinOfTorchvision(const TorchScope& scope);

// Fills in the operands of a call from its nodes.
void FindOperands(Evidence* evidence, TorchTrace* trace, TorchCall* call);
// Fills in TorchTrace::attentions. REQUIRES: operands and arguments are known.
void FindAttentions(const Evidence& evidence, TorchTrace* trace);
// Fills in TorchCall::kind. REQUIRES: all else is known.
void FindKinds(const Evidence& evidence, TorchTrace* trace);

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_TORCH_TRACE_H_
