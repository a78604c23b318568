// What one operator is: the only header that the author of an operator reads.
//
// A family file (ops/onnx/elementwise.cc, ops/onnx/matmul.cc, ...) holds a constexpr table of OpDef
// rows, each with what the operator computes, a shape rule, its cost and examples, side by side:
//
//   absl::StatusOr<Facts> InferMatMul(const NodeView& n);
//   ...
//   {.name = "MatMul",
//    .versions = {1, 9, 13},
//    .formula = "Y[..,M,N] = A[..,M,K] B[..,K,N]",
//    .data = {.signature = "A[a...] B[b...] -> Y[y...]",
//             .let = "K = same(A[-1], B[max(-2, -B.rank)])",
//             .costs = "mac = Y.elements*K"},
//    .infer = InferMatMul,
//    .examples = {{"float[N,3] A, float[3,4] B -> float[N,4] Y", "mac=12*N"}}}
//
// Operators that work element by element take a line or two: ops/element_rows.h makes their rows.
//
// The cost is stated once: as formulas (`data`), which counting evaluates, as constants per element
// (`per_element`), or, where the language of formulas ends, as a function (`count`).
//
// Rules state local facts ("K differs: 512 vs 10"); the driver adds file, node, operator, opset and
// the inputs.
//
// Errors of a rule, by code:
//   InvalidArgument     the model contradicts the specification: counting stops, exit code 2.
//   FailedPrecondition  something the rule needs is not known (a rank, a content): the node is
//   listed as unknown, its outputs become unknown. Unimplemented       a legal form that the rule
//   does not handle: listed as unknown.
// Never return 0 for something unknown.
#ifndef ONNXFLOPS_OPS_OP_DEF_H_
#define ONNXFLOPS_OPS_OP_DEF_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/cost/cost.h"
#include "src/graph/fact.h"
#include "src/graph/model.h"
#include "src/graph/symbol_origin.h"

namespace onnxflops {

struct OpDef;
class UserRule;

// One fact per output, in order. A rule may return fewer than the node has (the rest stay unknown)
// or more (ignored).
using Facts = absl::InlinedVector<Fact, 2>;

// Result of inferring a body (a graph attribute) on given input facts.
struct BodyFacts {
  Facts outputs;
};

// What a rule may ask of the driver; rules use NodeView's methods instead.
class RuleHost {
 public:
  virtual ~RuleHost() = default;
  virtual Expr FreshDim(int output, int axis, absl::string_view hint, SymbolOrigin::Kind kind,
                        absl::Span<const Expr> at_most) = 0;
  virtual Expr FreshTripCount(absl::string_view hint, absl::Span<const Expr> at_most) = 0;
  virtual absl::StatusOr<BodyFacts> InferBody(absl::string_view attribute,
                                              absl::Span<const Fact> inputs, const Expr& times) = 0;
  // The node takes no other size for this symbol.
  virtual void TakesOnly(const std::string& symbol, int64_t size) = 0;
};

// The fact of a tensor in the file, with its content if it is small.
Fact FactOf(const Tensor& tensor);

// A node as a rule sees it: attributes and facts, read-only.
//
// Attribute readers return the default when the attribute is missing. One of the wrong type makes
// the whole rule fail with InvalidArgument (the view remembers it, the driver reports it), so rules
// need not check.
class NodeView {
 public:
  NodeView(const ModelData& model, const Node& node, const OpDef& def, int opset,
           absl::Span<const Fact* const> inputs, absl::Span<const Fact* const> outputs,
           RuleHost* host, absl::Span<const Attribute> call_attributes,
           CausalCounting causal = CausalCounting::kFull, bool least = false);

  // ---- identity
  const OpDef& def() const { return def_; }
  absl::string_view op_type() const { return node_.op_type; }
  // The since_version of the operator that is in force: 7 for Add at opset 12.
  int version() const { return version_; }
  int opset() const { return opset_; }
  // In cost rules: whether the question is not what the operator costs, but which of its
  // multiply-accumulates no correct program can leave out, for a bound on time. Those on padding,
  // of outputs that are cut away, and of what a mask hides or may hide are none of them.
  bool least() const { return least_; }
  // In cost rules: whether what a causal mask hides is left out of the count.
  bool half_causal() const { return least_ || causal_ == CausalCounting::kHalf; }

  // ---- inputs and outputs
  int num_inputs() const {
    return static_cast<int>(inputs_.size());
  }  // as written, trailing empty names dropped
  int num_outputs() const { return static_cast<int>(node_.outputs.size()); }
  bool HasInput(int i) const {
    return i < num_inputs() && !inputs_[static_cast<size_t>(i)]->absent();
  }
  bool HasOutput(int i) const;
  const Fact& input(int i) const;   // the absent fact when there is none
  const Fact& output(int i) const;  // in cost rules only; the absent fact when there is none
  DType dtype(int i) const { return input(i).dtype; }
  // The input's shape, its rank known. Errors: FailedPrecondition when unknown; InvalidArgument
  // when it is missing, or not a tensor.
  absl::StatusOr<Shape> RankedShape(int i) const;
  absl::Status CheckRanked(int i) const;  // the error of the same
  // The same, of exactly (or at least) this rank. InvalidArgument otherwise: "input 0 (X) has rank
  // 3, not 4".
  absl::StatusOr<Shape> RankedShape(int i, int rank) const;
  absl::StatusOr<Shape> ShapeOfRankAtLeast(int i, int rank) const;
  absl::StatusOr<Shape> OutputShape(int i) const;
  // All elements of a small integer tensor; nullopt when the content is not (wholly) known.
  std::optional<Dims> KnownInts(int i) const { return input(i).KnownInts(); }
  // A one-element integer input. nullopt when unknown or absent.
  std::optional<Expr> KnownInt(int i) const;
  // A one-element float (or integer) input as a double. nullopt when unknown, absent or symbolic.
  std::optional<double> KnownFloat(int i) const;

  // ---- attributes
  bool HasAttr(absl::string_view name) const { return FindAttr(name) != nullptr; }
  int64_t Int(absl::string_view name, int64_t default_value) const;
  bool Flag(absl::string_view name, bool default_value = false) const {
    return Int(name, default_value ? 1 : 0) != 0;
  }
  float Float(absl::string_view name, float default_value) const;
  absl::string_view String(absl::string_view name, absl::string_view default_value) const;
  absl::InlinedVector<int64_t, 4> Ints(absl::string_view name) const;  // empty when missing
  std::vector<float> Floats(absl::string_view name) const;
  std::vector<absl::string_view> Strings(absl::string_view name) const;
  const Tensor* TensorAttr(absl::string_view name) const;  // nullptr when missing
  const DeclaredType* TypeAttr(absl::string_view name) const;
  const Attribute* FindAttr(
      absl::string_view name) const;  // references of function bodies resolved
  // The fact (with content if small) of a tensor in the file.
  Fact FactOfTensor(const Tensor& tensor) const;
  const ModelData& model() const { return model_; }

  // ---- making facts
  // A tensor of input i's element type and this shape.
  Fact Like(int i, Shape shape) const { return Fact::Tensor(dtype(i), std::move(shape)); }
  // A tensor whose elements are elements of input i, moved: keeps the element type and what it was
  // dequantised from (not the content).
  Fact Moved(int i, Shape shape) const;
  // A dimension that is not known, as a symbol named after the node: FreshDim(0, 1, "nonzero")
  // is `nonzero(/head/NonZero)`. Not negative. `output` and `axis` are its origin. The driver
  // substitutes a binding if the user gave one. One (output, axis) gives one symbol.
  // Of kind kSizes, the driver makes it kData where the inputs that decide shapes hold data.
  // It is at most the largest of `at_most`; without any, no bound is known.
  Expr FreshDim(int output, int axis, absl::string_view hint,
                SymbolOrigin::Kind kind = SymbolOrigin::Kind::kSizes,
                absl::Span<const Expr> at_most = {}) const;
  Expr FreshDim(int output, int axis, absl::string_view hint, const Expr& at_most) const {
    return FreshDim(output, axis, hint, SymbolOrigin::Kind::kSizes, {&at_most, 1});
  }
  Expr FreshTripCount(absl::string_view hint, absl::Span<const Expr> at_most = {}) const;

  // ---- checks; messages name both values
  // Two dimensions that must be equal. Symbolic ones that may be equal pass.
  absl::Status RequireSame(absl::string_view what, const Expr& a, const Expr& b) const;
  // Normalises a negative axis. InvalidArgument: "axis 5 is outside of rank 4".
  absl::StatusOr<int> Axis(int64_t axis, int rank) const;
  // The attribute `name` as a normalised axis.
  absl::StatusOr<int> AxisAttr(absl::string_view name, int64_t default_value, int rank) const;

  // ---- bodies (If, Loop, Scan, SequenceMap, ...): in shape rules
  // Facts of the body's outputs when it runs on these inputs; its cost, `times` over, is added to
  // the node's own.
  absl::StatusOr<BodyFacts> InferBody(absl::string_view attribute, absl::Span<const Fact> inputs,
                                      const Expr& times = 1) const;

  // The same node as an operator of another row, on other facts (which must outlive the view): how
  // fused, quantised and channels-last forms use the rules of the plain operator. Errors of
  // attributes are in the status() of the new view.
  NodeView As(const OpDef& def, int opset, absl::Span<const Fact* const> inputs,
              absl::Span<const Fact* const> outputs) const {
    return NodeView(model_, node_, def, opset, inputs, outputs, host_, call_attributes_, causal_,
                    least_);
  }

  // The error of an attribute read so far, if any; the driver asks after every rule.
  const absl::Status& status() const { return status_; }

 private:
  const Attribute* Typed(absl::string_view name, AttributeType type) const;

  const ModelData& model_;
  const Node& node_;
  const OpDef& def_;
  int opset_;
  int version_;
  absl::Span<const Fact* const> inputs_;
  absl::Span<const Fact* const> outputs_;
  RuleHost* host_;
  absl::Span<const Attribute> call_attributes_;  // of the call, inside a function's body
  CausalCounting causal_;
  bool least_;
  mutable absl::Status status_;
};

using InferFn = absl::StatusOr<Facts> (*)(const NodeView&);
using CountFn = absl::StatusOr<Cost> (*)(const NodeView&);
// Of a row without `count`: what its contraction multiplies; the bytes that it reads and writes.
using MacOperandsFn = MacOperands (*)(const NodeView&);
using BytesFn = absl::Status (*)(const NodeView&, Cost* cost);
// The value of one output element from the elements of the inputs at its place; kUnknown where it
// cannot say. `type` is the output's.
using EvaluateFn = Scalar (*)(absl::Span<const Scalar> inputs, DType type);

// Arithmetic per output element (or whatever the shared cost rule multiplies), as small constants:
// {.add = 1, .exp = 1}.
struct ElementCost {
  int mac = 0, add = 0, mul = 0, div = 0, cmp = 0, exp = 0, log = 0, sqrt = 0, pow = 0, trig = 0,
      tanh = 0, erf = 0, round = 0;

  constexpr bool operator==(const ElementCost&) const = default;
};
// count * elements in every kind.
Census operator*(const ElementCost& cost, const Expr& elements);

// The since_versions that a row covers, in their order: {1, 6, 13}.
class Versions {
 public:
  constexpr Versions() = default;
  constexpr Versions(std::initializer_list<int> since)  // NOLINT: written as a list in rows
      : Versions(absl::MakeConstSpan(since.begin(), since.size())) {}
  constexpr explicit Versions(absl::Span<const int> since) {
    for (int version : since) since_[size_++] = version;
  }

  constexpr const int* begin() const { return since_; }
  constexpr const int* end() const { return since_ + size_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr int front() const { return since_[0]; }
  constexpr int operator[](size_t i) const { return since_[i]; }
  constexpr bool Has(int version) const {
    for (int since : *this) {
      if (since == version) return true;
    }
    return false;
  }

 private:
  int since_[11] = {};  // one operator has 10
  size_t size_ = 0;
};

struct OpExample {
  // Inputs, outputs and attributes of a node: "float[N,512] A, float[10,512] B -> float[N,10] Y
  // <transB=1>". What is left out is nothing between two commas. Where this cannot say it, a graph
  // in ONNX's text form: "g (float[N] A) => (float[N] Y) <int64 i = {0}> { Y = ... }". The declared
  // output types are part of the example: inference must find them.
  const char* text;
  const char* cost;  // Cost::ToString() of the whole graph
  int opset = 0;     // the row's newest version when 0
};

// Where an operator does not cost what its decomposed form costs: tests hold rows to this list, and
// `explain` shows it.
struct OpException {
  const char* when;   // "always", "no attn_mask", ...
  const char* kinds;  // in which the decomposed form costs more, and in no other: "add cmp"
  const char* reason;
};

// What the driver does for a row beside calling its rules.
enum class Traits : uint32_t {
  kNone = 0,
  kView = 1,  // moves no bytes at all: Reshape, Shape, Identity
  kReadsContent =
      2,  // the shape rule looks at contents of inputs (so they are part of the memoisation key)
  kNotMemoised = 4,  // result depends on more than operator, attributes and input facts
  kUnknown = 8,  // known by name, but without a public meaning: `note` says why; counts as unknown
  kRandom = 16,  // output is not constant even when all inputs are
  kShapeOnly = 32,      // looks at the shapes of its inputs, never at what they hold: Shape, Size
  kMovesMask = 64,      // moves, tests or adds what may be a mask; to another type (`to`): to bool
  kStored = 128,        // the file holds what it yields: Constant
  kInPlace = 256,       // a runtime may write output 0 over an input of its size
  kStrided = 512,       // in PyTorch, outputs look into the memory of input 0: Transpose, Slice
  kSelects = 1024,      // so they do if input 1 is one constant index: Gather
  kQuantizes = 2048,    // a runtime fuses it into what makes input 0: QuantizeLinear
  kDequantizes = 4096,  // a runtime fuses it into what reads output 0: DequantizeLinear
  kCasts = 8192,        // input 0 as another type; to its own type, PyTorch returns it: Cast
  kSamples = 16384,     // reads what sizes or contents say of inputs that are no weights: Resize
};
constexpr Traits operator|(Traits a, Traits b) {
  return static_cast<Traits>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
constexpr bool Has(Traits set, Traits bit) {
  return (static_cast<uint32_t>(set) & static_cast<uint32_t>(bit)) != 0;
}

// How an operator runs the graphs in its attributes. src/infer/control_flow.cc does it.
enum class ControlFlow : uint8_t {
  kNone,
  kIf,        // one of two branches, by the condition
  kLoop,      // trip by trip, as long as a condition holds
  kScan,      // along axes of the inputs
  kSequence,  // item by item
};

// A bit per input: InputBits({1, 2}) are the second and the third.
constexpr uint32_t InputBits(std::initializer_list<int> inputs) {
  uint32_t bits = 0;
  for (int input : inputs) bits |= uint32_t{1} << input;
  return bits;
}

// What an operator keeps at which input, as a bit per input.
struct OperandRoles {
  uint32_t weights = 0;         // the place of a weight
  uint32_t not_parameters = 0;  // statistics, states, scales, zero points, masks, tables of angles
  uint32_t states = 0;          // those of not_parameters that a run begins with
  uint32_t experts = 0;         // [experts, ...]: a token meets as many as the attribute k says
  bool packed = false;          // weights come as bytes that hold 8/bits elements
};

// What ONNX's own shape inference finds of an operator's outputs from what it knows of the inputs,
// where that is less than the row's shape rule finds from the same: tools that ask it count with
// it. A test holds it to the official library.
struct OnnxInference {
  enum class Finds : uint8_t {
    kSizes,     // what the shape rule finds
    kRanks,     // the ranks
    kNothing,   // nothing: there is no inference, or it gives types alone
    kBranches,  // what both branches of an If have in common
    kLoop,      // of the outputs that a Loop collects: all but the number of trips
    kScan,      // what a Scan's body gives, beside the length of what it walks along
  };
  Finds finds = Finds::kSizes;
  int since = 1;                 // the first version with an inference
  uint32_t ranks_without = 0;    // inputs: the ranks alone, unless they are constants
  uint32_t nothing_without = 0;  // inputs: nothing, unless they are constants
  uint32_t any_rank_inputs = 0;  // inputs whose rank need not be known
  // The first version through which the contents of small integer tensors are followed ("data
  // propagation"); 0: none.
  int follows_since = 0;
  // Inputs that decide the shape and may be contents so followed, from which version on; others
  // have to be constants.
  uint32_t followed_inputs = 0;
  int followed_since = 1;
};

// How a reduction makes the content of its result of a small input.
struct Folding {
  EvaluateFn evaluate = nullptr;       // takes an element in
  std::optional<int> of_nothing = {};  // the result over no elements, where it is of use
};

// A row's formulas as data, in the language of ops/formula/formula.h; nullptr where there is
// nothing to say. Lists are separated by ";".
struct FormulaData {
  const char* signature = nullptr;   // "A[a..., K] B[b..., K, N] bias? -> Y[y..., N]"
  const char* attributes = nullptr;  // "group = 1; alpha = 1.0; mode = linear|nearest"
  const char* let = nullptr;         // "K = if(attr.transA, A[0], A[1])"
  // "mac = Y.elements*K; add = bias.given*Y.elements", "free", or "as Conv": the formulas of that
  // row. The kinds are those of --rules, of the element type of input 0. This is the cost rule of a
  // row without `count`.
  const char* costs = nullptr;
  const char* unknown = nullptr;  // why `unknown` in a formula has no value
};

// What a gradient rule is asked: which inputs of the node need a gradient, and what the node cost.
struct GradientQuery {
  absl::Span<const bool> needed;  // by input; at least one is true
  const Census& forward;          // of floating-point work
  // Attention keeps no scores: its backward pass computes them again (--attention flash).
  bool recomputes_scores = false;

  bool Needs(size_t input) const { return input < needed.size() && needed[input]; }
};
using GradientFn = absl::StatusOr<Census> (*)(const NodeView& n, const GradientQuery& query);

// What autograd keeps of the forward pass to take an operator back. Beside it, the gradient of a
// factor of a contraction keeps the other factors. Parameters are there anyway.
struct Keeps {
  uint32_t inputs = 0;     // whichever input needs a gradient
  bool crosswise = false;  // for the gradient of an input, all other inputs
  uint32_t outputs = 0;
  int per_root = 0;     // numbers per sqrt of forward: mean and deviation of a normalization
  bool places = false;  // an int64 per element of output 0: where a maximum stood
  bool scores = false;  // attention's: an exp of forward each, or of flash their rows
  bool gates = false;   // an exp or tanh of forward each
  // A normalization as autograd composes it: the rest for the gradient of input 0 alone, and for
  // that of the scale the output before it is scaled.
  bool composed = false;
  bool spread_scale = false;  // a parameter at input 1 is repeated: a number per sqrt of forward
  bool noise = false;         // what a Dropout in training multiplies with, as large as its input
  // A maximum or minimum along axes: PyTorch has calls that keep what it says here, and such that
  // keep places alone.
  bool extreme = false;
  bool log_probabilities = false;  // as many numbers as input 0 has
  bool total_weight = false;       // a number
  // TorchScript assigns to a slice by places, which PyTorch does not make.
  bool assigns = false;
  bool other_modes = false;  // input 0 where `mode` is "reflect" or "edge"
  bool numbers = false;      // an operand of one number is a tensor in PyTorch, too
  bool in_place = false;     // run in place, output 0 in place of input 0
  bool steps = false;        // of a recurrent layer: input 0, and the state before and after each
  bool exponent = false;     // for the gradient of input 1: input 1 and output 0
  bool batched = false;      // factors are matrices of batches: those that are spread are copied
  bool at_least = false;     // and more, which depends on who runs it: a lower bound
  bool nothing = false;      // the gradient is computed from dY alone, or from what is there anyway
  bool unknown = false;      // it depends on how the operator is made of others
};

// Tensors that the formula of a derivative makes on its way and drops: those that are there at its
// peak, with the gradients. In PyTorch a temporary lives to the end of its C++ expression.
// Measured: formula_* of tests/data/step_memory.json.
struct Temporaries {
  int outputs = 0;      // of output 0's size
  int inputs = 0;       // of input 0's size
  int masks = 0;        // bools, one for each element of output 0
  int input_masks = 0;  // bools, one for each element of input 0
  // Where an input from the second on gets a gradient, more of output 0's size.
  int other_outputs = 0;
  int other_masks = 0;
  // Of input 0, unless it is a parameter, which is added to in place, or one element is taken,
  // whose gradient is the new tensor itself.
  bool by_places = false;
};

// What autograd executes for an operator in the backward pass, given the gradient dY of output 0.
// A sum of these parts; `rule` replaces them where they cannot say it. A row without a formula that
// does no arithmetic moves its gradient (free); one that does arithmetic has an unknown gradient.
struct Gradient {
  const char* formula = nullptr;  // "dX = dY * Y (1 - Y)": what it computes
  // Formulas as in FormulaData, added to the sum: of names of the row (its `let` is known), and
  //   NAME.needed    of inputs: 1 or 0
  //   NAME.summed    of inputs: the additions of a gradient that is summed up over what its input
  //                  was broadcast to; 0 if it is not needed
  //   forward.KIND   what the node costs
  // "attr.NAME = x" is the gradient of an activation on x elements.
  const char* let = nullptr;
  const char* costs = nullptr;
  // Inputs that are factors of a contraction. The gradient of each is a contraction over the same
  // index space: as many mac as forward.
  uint32_t products = 0;
  // Inputs whose gradient is the sum of dY over what they were spread to (a bias, the table of an
  // embedding): an add per element of output 0.
  uint32_t sums = 0;
  // Other inputs are broadcast: where one is smaller than output 0, its gradient is summed up, an
  // add per element of output 0.
  bool broadcast = false;
  // Per element of output 0: for the gradient of input 0, for that of each other input, and once.
  ElementCost first = {}, others = {}, shared = {};
  ElementCost per_input = {};  // once, per element of input 0
  ElementCost per_root = {};   // once, per sqrt of forward: the rows of a normalization
  bool as_forward = false;     // once, what forward costs
  // Makes weights of scores: between two products of activations, this is attention.
  bool weighs_scores = false;
  GradientFn rule = nullptr;
  // Where it is empty: nothing for what only moves or adds up gradients, or multiplies factors; of
  // a gradient with more arithmetic it is unknown.
  Keeps keeps = {};
  // More than moving gradients, adding them up, and products.
  constexpr bool HasArithmetic() const {
    return rule != nullptr || costs != nullptr || as_forward || first != ElementCost{} ||
           others != ElementCost{} || shared != ElementCost{} || per_input != ElementCost{} ||
           per_root != ElementCost{};
  }
  // Inputs whose gradient is dY itself or looks into its memory, where nothing is summed up. Those
  // of views do so anyway.
  uint32_t passes = 0;
  Temporaries temporaries = {};
};

// One row: an operator, in the versions to which these rules apply. Not constexpr-constructible
// types have no place here. Lists live as long as the constexpr table that they are written in; a
// function that makes rows has no list to give them but a constant's.
struct OpDef {
  const char* name = "";
  Versions versions = {1};  // unless the row names them: most of ONNX Runtime's have no other
  // What the operator computes: "Y[M,N] = A[M,K] B[K,N] + C". Its costs as well if `data` has none.
  const char* formula = "";
  FormulaData data = {};  // what the operator costs, where the language can say it
  InferFn infer = nullptr;
  CountFn count = nullptr;  // what it costs, where `data` does not say it
  // Which of its multiply-accumulates no correct program can leave out, for a bound on time: not
  // those on padding, of outputs that are cut away, or of what a mask hides or may hide. Other
  // work in the result is ignored. nullptr: those of the cost, of which a function that asks
  // NodeView::least() leaves them out itself.
  CountFn least = nullptr;
  MacOperandsFn mac_operands = nullptr;  // nullptr: the types of inputs 0 and 1
  BytesFn bytes = nullptr;               // nullptr: every input and output once
  std::initializer_list<OpExample> examples;
  // Examples of all rows of a kind; they come before `examples`. OP in a graph is the operator. A
  // cost is what `per_element` is multiplied by, "4*N", unless `pattern_cost` says what all cost.
  absl::Span<const OpExample> patterns;
  const char* pattern_cost = nullptr;
  ElementCost per_element = {};  // for shared cost rules
  EvaluateFn evaluate =
      nullptr;  // elementwise operators that shape arithmetic uses: content in, content out
  // Inputs whose content decides the output's shape, as a bit per input (Reshape: 1 << 1):
  // arithmetic that makes them is shape arithmetic.
  uint32_t shape_inputs = 0;
  OperandRoles operands = {};
  // The version from which `axes` is an input; before, it is an attribute. 0: there is no such
  // form.
  int axes_attribute_before = 0;
  const Folding* folding = nullptr;
  Traits traits = Traits::kNone;
  ControlFlow control_flow = ControlFlow::kNone;
  OnnxInference onnx = {};
  const char* note = "";  // conventions chosen, with the reason
  std::initializer_list<OpException>
      exceptions;                       // to the rule that fused costs what decomposed does
  const UserRule* user_rule = nullptr;  // of an operator of the user's own: ops/user/user_rules.h
  Gradient gradient = {};               // of the backward pass: src/training/

  // Its cost is that it reads its inputs and writes its outputs.
  constexpr bool IsFree() const {
    return count == nullptr && bytes == nullptr &&
           (data.costs == nullptr || absl::string_view(data.costs) == absl::string_view("free"));
  }
};

// A family file exposes one of these.
struct OpFamily {
  const char* domain = "";  // "" for ai.onnx
  absl::Span<const OpDef> rows;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_OP_DEF_H_
