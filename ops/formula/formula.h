// What an operator costs, as data: formulas over names that stand for the sizes of a node. Rows of
// ops/ have them in OpDef::data, operators of the user's own in their file (ops/user/).
//
//   A[a..., M, K] B[b..., K, N] bias?[N] -> Y[y..., M, N]     the signature
//   transA = 0; alpha = 1.0; mode = linear|nearest            attributes
//   rows = A.elements // K                                    let
//   mac = Y.elements*K; add = bias.given*Y.elements           costs
//
// Signature. A name in brackets is a dimension; "name..." is any number of dimensions (in a formula
// their product), "..." the same without a name; a number or a formula is a size that is required.
// "?" after a tensor: it may be left out. "..." after the last input: any number of inputs. Without
// brackets a tensor has any shape.
//
// Formulas. Integers, + - * ^ //, min, max, parentheses; comparisons (== != < <= > >=), which are 1
// or 0; if(condition, then, otherwise). Names:
//   NAME, of a dimension or a `let`
//   NAME.elements, NAME.rank, NAME.given (1 or 0)   of inputs and outputs; elements are 0 if it is
//                                                   left out
//   NAME.is_float, NAME.is_string                   of inputs and outputs: 1 or 0
//   NAME.value                                      of inputs: a known one-element integer
//   NAME.known                                      of inputs: 1 if all its integers are known
//   NAME.is_0, NAME.is_1, ...                       of inputs: 1 if it is known to be that number
//   NAME.count                                      of any number of inputs
//   NAME[i], NAME[i:j]                              a size, and the product of sizes, of tensors
//                                                   and "name..."; indices as in Python
//   version                                         of the operator that is in force
//   unknown                                         no value: a node that needs it is not counted
//   attr.NAME, attr.NAME.given                      of an integer attribute; given: 1 or 0, of all
//   attr.NAME.I, attr.NAME[i], attr.NAME[i:j], attr.NAME.count     of a list of integers
//   attr.NAME.is_0, attr.NAME.is_1, ...             of a number with a point: 1 if it is that
//   attr.NAME.is_positive                           the same: 1 if it is above 0
//   attr.NAME.WORD                                  of a choice of words: 1 if it is WORD
//   attr.NAME.count                                 of any other list
//   attr.NAME.KIND                                  of an activation: its work per element
// and digits(x), the binary digits of x: ceil(log2(x + 1)); same(x, y), a size that must be both x
// and y: the one that is a number, if only one is.
//
// Attributes are `name = 1`, `= [1, 1]`, `= 1.0` (defaults) or `= one|two` (words, the first is the
// default, "" if nothing is before the first |; what another word costs is not known, unless the
// list ends in "|...": then it is none of them); `= int`, `= ints`, `= float` if it must be given;
// `= floats`, or `= list` of anything, of which only the length counts; `= 2.` of a number that is
// a float in some versions and an integer in others; `= activation` or `= activation|silu`, the
// name of an activation, and its default. In rows, `= k...` is a list of integers that repeats the
// sizes k of an input, if it is given.
//
// Costs are by the names of kinds (`mac`, `add`, ...): work of the operator's type; `float_add` is
// always floating point, `int_add` always integer work. `attr.NAME = x` is the work of an
// activation on x elements; in rows, it is that of every element of the first output unless a cost
// says so. A row may say `as NAME` for its costs: it then has the formulas of that operator, its
// attributes beside its own, and, unless it has its own, its signature and definitions.
//
// The formulas of a row's gradient (Gradient::costs) have all these names, and some of their own.
#ifndef ONNXFLOPS_OPS_FORMULA_FORMULA_H_
#define ONNXFLOPS_OPS_FORMULA_FORMULA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/op_def.h"
#include "src/symbolic/parse.h"

namespace onnxflops {

struct FormulaDim {
  enum class Kind : uint8_t {
    kName,     // of an input: bound to its size
    kFormula,  // a size that is computed; of an input: required
    kRest,     // any number of dimensions; `text` is their name, or "..."
    kFresh,    // of an output: depends on data
  };
  Kind kind = Kind::kFormula;
  std::string text;
};

struct FormulaTensor {
  std::string name;
  bool optional = false;
  bool any_number = false;  // the last input, and all that follow
  bool has_shape = false;   // false: of any shape
  std::vector<FormulaDim> dims;
  int type_of = 0;                 // of an output: the input whose type it has,
  DType type = DType::kUndefined;  // or its type
};

struct FormulaAttribute {
  enum class Type : uint8_t { kInt, kInts, kFloat, kWord, kList, kActivation };
  std::string name;
  Type type = Type::kInt;
  bool required = false;
  std::vector<int64_t> ints = {};  // its default
  float number = 0;
  bool is_either = false;  // a number may be an integer, too; a list of anything; other words
  std::vector<std::string> words = {};  // the first is its default, also of an activation
  std::string sizes = {};               // of a list: the "name..." that it repeats
};

struct NamedFormula {
  std::string key, text;  // "mac", "M*N*K"; of a `let`: the name it defines
};

// Where the names of a signature are.
struct NameIndex {
  struct Place {
    size_t tensor = 0;  // of the inputs, then the outputs
    size_t dim = 0;
    bool is_attribute = false;  // number `dim` of them
  };
  absl::btree_map<std::string, size_t> tensors;  // of the inputs, then the outputs
  absl::btree_map<std::string, std::vector<Place>> dims;
  absl::btree_map<std::string, size_t> attributes;
};

struct Formulas {
  std::vector<FormulaTensor> inputs, outputs;
  std::vector<FormulaAttribute> attributes;
  std::vector<NamedFormula> lets;
  // By the name of a kind, or "attr.NAME" of an activation. None: free.
  std::vector<NamedFormula> costs;
  // What the plain kinds are.
  enum class Arithmetic : uint8_t { kOfInput, kOfOutput, kFloat, kInt };
  Arithmetic arithmetic = Arithmetic::kOfInput;
  NameIndex names;  // made by IndexNames, once all of the above is there

  void IndexNames();
};

// The formulas of a row; nullopt if it states them in words only. Errors: InvalidArgument, "costs:
// column 5: nothing is named 'N'".
absl::StatusOr<std::optional<Formulas>> FormulasOf(const OpDef& row);
// Those of its gradient. REQUIRES: row.gradient.costs is given.
absl::StatusOr<Formulas> GradientFormulasOf(const OpDef& row);

// As they are written: "A[a..., M, K] bias? -> Y[y..., M, N]", "1", "linear|nearest".
std::string SignatureText(const Formulas& formulas);
std::string WrittenTensor(const FormulaTensor& tensor);
std::string AttributeText(const FormulaAttribute& attribute);
// "integer mac = Y.elements*K, add = M*N; K = A[-1]", or "free".
std::string CostsText(const Formulas& formulas);

// The kind that a key names, without "int_" and "float_"; nullopt for other keys.
std::optional<Kind> KindNamed(absl::string_view key);

// ---- on a node

// The names of formulas on one node, looked up as they are asked for; those of a gradient need a
// query. REQUIRES: all outlive it.
class FormulaBinding {
 public:
  FormulaBinding(const Formulas& formulas, const NodeView& n, const GradientQuery* query = nullptr)
      : formulas_(formulas), n_(n), query_(query) {}

  // Evaluates the names that are defined, in their order.
  absl::Status BindLets();
  // The same, and whether the node fits: its attributes, inputs, and sizes that are required.
  absl::Status Check();
  // Facts of the outputs; sizes that depend on data become symbols.
  absl::StatusOr<Facts> InferOutputs();

  absl::StatusOr<Expr> Value(absl::string_view what, absl::string_view formula) const;
  // The amount of a formula that counts something.
  absl::StatusOr<Expr> Amount(absl::string_view what, absl::string_view formula) const;
  // What the activation of "attr.NAME" costs per element, or its gradient.
  absl::StatusOr<ElementCost> Activation(absl::string_view key) const;
  // The formula with its names replaced by what they stand for.
  std::string Filled(absl::string_view formula) const;
  // Of the last name that had no value, why: "input 0 has an unknown rank".
  const absl::Status& unknown() const { return unknown_; }

 private:
  struct Tensor {
    const FormulaTensor* signature = nullptr;
    int index = 0;
    bool is_output = false;
  };

  absl::StatusOr<Expr> Evaluate(absl::string_view formula) const;
  absl::StatusOr<Expr> Noted(absl::StatusOr<Expr> value) const;
  absl::StatusOr<Expr> Lookup(absl::string_view name) const;
  absl::StatusOr<Expr> LookupSize(absl::string_view name) const;
  absl::StatusOr<Expr> LookupPart(absl::string_view name, const FormulaPart& part) const;
  absl::StatusOr<std::optional<Dims>> FindList(absl::string_view name) const;

  std::optional<Tensor> FindTensor(absl::string_view name) const;
  Tensor TensorAt(size_t i) const;
  const Fact& FactOf(const Tensor& tensor) const;
  absl::Status CheckShape(const Tensor& tensor) const;
  absl::StatusOr<Expr> LookupOfTensor(const Tensor& tensor, absl::string_view what) const;
  absl::StatusOr<Expr> LookupGradient(const Tensor& input, absl::string_view what) const;
  absl::StatusOr<Expr> LookupContent(const Tensor& tensor, absl::string_view what) const;
  absl::StatusOr<Expr> LookupOfInputsFrom(int first, absl::string_view what) const;

  absl::StatusOr<std::optional<Dims>> FindDims(absl::string_view name) const;
  absl::Status CheckRank(const Tensor& tensor) const;
  absl::Status Join(absl::string_view name, absl::string_view owner, absl::Span<const Expr> sizes,
                    Dims* known) const;

  const FormulaAttribute* FindAttribute(absl::string_view name) const;
  absl::InlinedVector<int64_t, 4> IntsOf(const FormulaAttribute& attribute) const;
  absl::StatusOr<Expr> LookupAttribute(absl::string_view name) const;
  absl::StatusOr<Expr> LookupWord(const FormulaAttribute& attribute, absl::string_view what) const;
  absl::StatusOr<Expr> LookupInts(const FormulaAttribute& attribute, absl::string_view what) const;
  absl::StatusOr<Expr> LookupFloat(const FormulaAttribute& attribute, absl::string_view what) const;
  absl::StatusOr<ElementCost> ActivationOf(const FormulaAttribute& attribute) const;

  absl::StatusOr<std::optional<Dims>> SizesOf(absl::string_view name) const;
  std::string FilledName(absl::string_view name, bool alone) const;

  absl::Status CheckGiven(const FormulaAttribute& attribute) const;
  absl::Status CheckWord(const FormulaAttribute& attribute) const;
  absl::Status CheckAttribute(const FormulaAttribute& attribute) const;
  absl::Status CheckInput(int i) const;
  absl::Status CheckSizes() const;
  absl::Status AppendDim(const FormulaDim& dim, int output, Shape* shape);

  const Formulas& formulas_;
  const NodeView& n_;
  const GradientQuery* const query_;
  absl::btree_map<absl::string_view, Expr> defined_;  // by `let`, and outputs that depend on data
  mutable absl::Status unknown_;
};

// One formula on a node.
struct FormulaTerm {
  Kind kind = Kind::kMac;
  bool is_int = false;
  std::string formula;  // "M*N*K"
  std::string filled;   // "1*1000*2048"
  Expr amount;
};
struct FormulaResult {
  Cost cost;  // the census only
  std::vector<FormulaTerm> terms;
};
// The costs of a node whose outputs are known, of names whose lets are bound. Errors:
// FailedPrecondition when something that the formulas need is not known; InvalidArgument when the
// node does not fit them.
absl::StatusOr<Cost> EvaluateCosts(const Formulas& formulas, const NodeView& n,
                                   const FormulaBinding& binding);
// What a gradient costs whose row has formulas for it.
absl::StatusOr<Census> GradientByFormulas(const NodeView& n, const GradientQuery& query);
// EvaluateCosts with its terms, filled in.
absl::StatusOr<FormulaResult> EvaluateFormulas(const Formulas& formulas, const NodeView& n);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_FORMULA_FORMULA_H_
