// The common part of tools that watch PyTorch. A tool decides the count of each call, and the
// reason if it differs from ours; this class makes a ledger of these decisions.
//
//   class Fvcore : public TorchTool {
//    public:
//     explicit Fvcore(Evidence* evidence) : TorchTool(evidence, Unit::kMac, {}) {}
//     Ledger Run(const AtenRules<Fvcore>& rules) {
//       return Apply(rules.Counted(), [&](const TorchCall& c) { return rules.Decide(this, c); });
//     }
//     Decision Matmul(const TorchCall& call);
//   };
#ifndef ONNXFLOPS_SRC_CONVENTION_TORCH_TOOL_H_
#define ONNXFLOPS_SRC_CONVENTION_TORCH_TOOL_H_

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "src/convention/convention.h"
#include "src/convention/torch/aten_rules.h"
#include "src/convention/torch/trace.h"

namespace onnxflops::convention {

// Facts on which a tool's figure depends, in addition to the operators that it counts. If the file
// does not show a fact, tools that depend on it report an assumption.
struct TorchWatch {
  bool classes = false;  // it depends on the classes of modules
  bool modules = false;  // it adds up over modules, so that one in several places counts again
  bool products = true;  // it counts products wherever they are made
  bool biases = false;   // it counts the bias of a convolution
  bool cells = false;    // it has hooks for nn.LSTMCell and its like, which see nothing inside
  // It records a function such as torch.linalg.matrix_power, or a scripted one, as one operator,
  // although the file has the calls inside it.
  bool whole_functions = false;
  bool no_grad = false;  // it runs the model under torch.no_grad() itself
};

class TorchTool {
 public:
  TorchTool(Evidence* evidence, Unit unit, const TorchWatch& watch);

  Evidence& evidence() { return evidence_; }
  const TorchTrace& trace() const { return trace_; }
  LedgerBuilder& ledger() { return ledger_; }

  // `counted` are the operators that the tool counts. `decide` is asked for one call of each kind.
  // `each` sees every call, before it is counted.
  Ledger Apply(const AtenSet& counted, absl::FunctionRef<Decision(const TorchCall&)> decide);
  Ledger Apply(const AtenSet& counted, absl::FunctionRef<Decision(const TorchCall&)> decide,
               absl::FunctionRef<void(const TorchCall&, const Decision&)> each);
  // Adds a count for a whole run of nn.MultiheadAttention, in addition to its calls.
  void CountAttention(const TorchAttention& attention, AmountId amount, absl::string_view why);
  // The tool fails here, so it has no figure.
  void Abort(std::string reason) { aborted_ = std::move(reason); }
  // Why a tool that makes its inputs itself, floats, cannot run the model; empty if it can.
  // `feeds`: "one input", where `most` is 1.
  std::string FedFloats(absl::string_view tool, int64_t most, absl::string_view feeds) const;

  // The run of nn.MultiheadAttention to which the call belongs, or nullptr.
  const TorchAttention* AttentionOf(const TorchCall& call) const;

  // ---- facts that a file may leave open; reading an open one makes the figure assumed How the
  // source calls the operator.
  Spelling SpellingOf(const TorchCall& call);
  // For tools that count every spelling of a product: assume one of them.
  void AssumeWrapped(const TorchCall& call);
  // How many arguments the source gives by position.
  int32_t PositionalOf(const TorchCall& call);
  // How it gives the size or factor of a resizing: see TorchCall::sizing.
  int32_t SizingOf(const TorchCall& call);
  // True if sized by a factor, which a module of torch.nn shows.
  bool IsByFactor(const TorchCall& call);
  // True if padding is 'same' or 'valid', which is a separate operator; some exports do not show
  // it.
  bool HasNamedPadding(const TorchCall& call);
  // True if one native operator runs the call's nn.MultiheadAttention or
  // nn.TransformerEncoderLayer. Both require gradients to be off, and a layer also requires that it
  // has no hook.
  bool TakesFastPath(const TorchCall& call);
  bool TakesLayerFastPath(const TorchCall& call, bool hooks_children = false);

  // True if the CPU fuses the attention in the PyTorch version of the export; the version matters
  // if heads are grouped.
  bool IsFused(const TorchCall& call);

  // A call inside a cell that has a hook; rules only see the call that stands for the cell.
  bool IsInsideOfCell(const TorchCall& call) const {
    return watch_.cells && trace_.nn_class(call) == NnClass::kRecurrentCell &&
           call.arguments.cell_gates == 0;
  }

  // ---- rules shared by many rows
  Decision Products(const TorchCall& call) { return {call.macs}; }
  Decision TwiceProducts(const TorchCall& call) { return {evidence_.Doubled(call.macs)}; }
  Decision ProductsAndBias(const TorchCall& call) {
    return {Plus(call.macs, call.has_bias ? call.out : kZero)};
  }
  // 2 per multiply-accumulate, and 1 per result for a bias.
  Decision TwiceProductsAndBias(const TorchCall& call) {
    return {Plus(evidence_.Doubled(call.macs), call.has_bias ? call.out : kZero)};
  }
  Decision ElementsIn(const TorchCall& call) { return {call.in}; }
  Decision ElementsOut(const TorchCall& call) { return {call.out}; }

  // ---- amounts of a call, over all its runs
  AmountId Scaled(AmountId amount, int64_t factor) { return evidence_.Scaled(amount, factor); }
  AmountId Plus(AmountId a, AmountId b) {
    return b == kZero ? a : evidence_.Intern(evidence_.amount(a) + evidence_.amount(b));
  }
  AmountId Times(const TorchCall& call, const Expr& once) {
    return evidence_.Intern(once * evidence_.times(evidence_.entry(call.main)));
  }
  // prod(x) * w[-1], as tools count a matmul; right unless x is broadcast or w is a vector.
  AmountId MatmulByFirst(const TorchCall& call);
  // True if the operand of a convolution lacks the batch, which the export adds.
  bool IsUnbatched(const TorchCall& call) const;
  // The size of the dimension that a softmax is over.
  Expr SoftmaxSize(const TorchCall& call) const;
  const Attribute* MainAttribute(const TorchCall& call, absl::string_view name) const {
    return evidence_.node(evidence_.entry(call.main)).FindAttribute(name);
  }

 private:
  // The decision for calls of one kind.
  struct Known {
    bool asked = false;
    bool is_free = false;  // we count nothing
    TermId term = kSame;
    Decision decision;
  };
  const Known& Ask(absl::FunctionRef<Decision(const TorchCall&)> decide, const TorchCall& call);
  void AssumeUnknown(absl::string_view target);
  void AssumeWhatIsHidden(const AtenSet& counted);
  void AssumeOfOperators(const AtenSet& counted);
  void AssumeOfCalls();
  bool IsWithoutGradients() const;
  void AssumeGradients();

  Evidence& evidence_;
  const TorchTrace& trace_;
  const Unit unit_;
  const TorchWatch watch_;
  LedgerBuilder ledger_;
  std::string aborted_;
  std::vector<Known> known_;  // by TorchCall::kind
  // Operator, whether it counts partly, whether it is an out_proj, reason, class.
  using TermKey = std::tuple<Aten, bool, bool, const char*, const char*, NnClass>;
  absl::flat_hash_map<TermKey, TermId> terms_;
  int unknown_ = 0;  // operators that do products and that no rule knows
};

// True if the product is with a vector, which PyTorch dispatches as mv or dot; a linear layer turns
// a vector input into a matrix.
bool IsVectorProduct(const TorchCall& call);
// How some tools misread a linear function whose weight is a vector.
inline constexpr char kVectorWeight[] = "the first size of a weight counts as results";

// FLOPs of an einsum of two operands as printed by NumPy's einsum_path, which tools read: 2 per
// combination of all labels (1 if none is summed) plus 1, with four digits. nullopt for another
// number of operands, an ellipsis, or sizes that are not numbers. `is_matmul` is true for the two
// equations that fvcore knows.
struct EinsumCost {
  absl::int128 combinations = 0, printed_flops = 0;
  bool is_matmul = false;
};
std::optional<EinsumCost> NumpyEinsum(const Evidence& evidence, const TorchCall& call);

// An einsum of two operands as PyTorch runs it: labels that only one operand has are summed first.
// The rest is one matrix product, or an element-wise product if nothing is left to sum. A label of
// size 1 is ignored. nullopt for another number of operands.
struct EinsumProduct {
  Expr elements;           // products of elements
  bool is_matmul = false;  // some labels are summed
};
std::optional<EinsumProduct> EinsumInTorch(const Evidence& evidence, const TorchCall& call);

// Sizes of an nn.LSTM, nn.GRU or nn.RNN.
struct RecurrentSizes {
  Expr input, hidden, steps, batch;
  int64_t layers = 1, directions = 1;
  bool bias = true;
  bool batch_first = false;
  // The input lacks the batch, which the module adds. Hooks that read the input's shape take its
  // second size for the batch or the steps; here that is the width of a step's input.
  bool is_unbatched = false;
  Expr RowsOfHooks() const { return is_unbatched ? steps * input : steps * batch; }
};
std::optional<RecurrentSizes> RecurrentSizesOf(const Evidence& evidence, const TorchTrace& trace,
                                               const TorchCall& call);
// The same of a cell, which is one step, and the layer that it is a step of. REQUIRES:
// TorchArguments::cell_gates is not 0.
std::optional<RecurrentSizes> CellSizesOf(const TorchCall& call);
Aten LayerOfCell(const TorchCall& call);
// Parameters of the layer that made the call: a linear layer, convolution, normalisation, PReLU,
// recurrent layer or cell. 0 for any other, and if sizes are unknown.
Expr ParametersOfLayer(const Evidence& evidence, const TorchTrace& trace, const TorchCall& call);
inline constexpr char kCellFormula[] = "its hook for a cell has its own formula";

// True if PyTorch on a CPU computes attention with its fused kernel, which tools do not see, and
// not as two products: four dimensions, as many heads of q as of k and v, all of one size. From
// 2.15 on also with fewer heads of k and v.
bool IsFusedOnCpu(const TorchCall& call, bool fuses_groups);

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_TORCH_TOOL_H_
