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
//   NAME.is_float                                   of inputs and outputs: 1 or 0
//   NAME.value                                      of inputs: a known one-element integer
//   NAME.count                                      of any number of inputs
//   NAME[i], NAME[i:j]                              a size, and the product of sizes, of tensors
//                                                   and "name..."; indices as in Python
//   version                                         of the operator that is in force
//   attr.NAME, attr.NAME.given                      of an integer attribute; given: 1 or 0, of all
//   attr.NAME.I, attr.NAME[i], attr.NAME[i:j], attr.NAME.count     of a list of integers
//   attr.NAME.is_0, attr.NAME.is_1, ...             of a number with a point: 1 if it is that
//   attr.NAME.WORD                                  of a choice of words: 1 if it is WORD
//   attr.NAME.count                                 of any other list
//   attr.NAME.KIND                                  of an activation: its work per element
// and digits(x), the binary digits of x: ceil(log2(x + 1)).
//
// Attributes are `name = 1`, `= [1, 1]`, `= 1.0` (defaults) or `= one|two` (words, the first is the
// default, "" if nothing is before the first |); `= int`, `= ints`, `= float` if it must be given;
// `= list`, of which only the length counts; `= activation` or `= activation|silu`, the name of an
// activation, and its default.
//
// Costs are by the names of kinds (`mac`, `add`, ...): work of the operator's type; `float_add` is
// always floating point, `int_add` always integer work. `attr.NAME = x` is the work of an
// activation on x elements.
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
  std::vector<std::string> words = {};  // the first is its default, also of an activation
};

struct NamedFormula {
  std::string key, text;  // "mac", "M*N*K"; of a `let`: the name it defines
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
};

// The formulas of a row; nullopt if it states them in words only. Errors: InvalidArgument, "costs:
// column 5: nothing is named 'N'".
absl::StatusOr<std::optional<Formulas>> FormulasOf(const OpDef& row);

// As they are written: "A[a..., M, K] bias? -> Y[y..., M, N]", "1", "linear|nearest".
std::string SignatureText(const Formulas& formulas);
std::string WrittenTensor(const FormulaTensor& tensor);
std::string AttributeText(const FormulaAttribute& attribute);
// "integer mac = Y.elements*K, add = M*N; K = A[-1]", or "free".
std::string CostsText(const Formulas& formulas);

// The kind that a key names, without "int_" and "float_"; nullopt for other keys.
std::optional<Kind> KindNamed(absl::string_view key);

// ---- on a node

// The names of formulas on one node. REQUIRES: both outlive it.
class FormulaBinding {
 public:
  FormulaBinding(const Formulas& formulas, const NodeView& n) : formulas_(formulas), n_(n) {}

  // Attributes and sizes of inputs; then names that are defined, and sizes that are required.
  absl::Status BindInputs();
  absl::Status BindLets();
  absl::Status CheckSizes() const;
  // In cost rules: all of that, with the sizes that the outputs have.
  absl::Status BindNode();
  // Facts of the outputs; sizes that depend on data become symbols.
  absl::StatusOr<Facts> InferOutputs();

  absl::StatusOr<Expr> Value(absl::string_view what, absl::string_view formula) const;
  // The amount of a formula that counts something.
  absl::StatusOr<Expr> Amount(absl::string_view what, absl::string_view formula) const;
  // The formula with its names replaced by what they stand for.
  std::string Filled(absl::string_view formula) const;

 private:
  struct Required {
    const FormulaTensor* input;
    const FormulaDim* dim;
    Expr size;
  };

  absl::StatusOr<Expr> Evaluate(absl::string_view formula) const;
  absl::StatusOr<Expr> Lookup(absl::string_view name) const;
  const Dims* FindSizes(absl::string_view name) const;
  absl::StatusOr<Expr> LookupPart(absl::string_view name, const FormulaPart& part) const;
  std::string FilledName(absl::string_view name, bool alone) const;
  absl::Status BindAttribute(const FormulaAttribute& attribute);
  absl::Status BindInts(const FormulaAttribute& attribute, const std::string& name);
  absl::Status BindActivation(const FormulaAttribute& attribute, const std::string& name);
  absl::Status BindWord(const FormulaAttribute& attribute, const std::string& name);
  void BindTensor(const std::string& name, const Shape& shape);
  absl::Status BindInput(int i);
  absl::Status BindInputsFrom(int i);
  absl::Status BindDims(const FormulaTensor& input, int i, const Shape& shape);
  absl::Status BindDim(const FormulaTensor& input, const std::string& name, const Expr& size);
  absl::Status BindRest(const FormulaTensor& input, const std::string& name, const Dims& sizes);
  void BindOutputs();
  void BindOutputDims(const FormulaTensor& output, const Shape& shape);
  absl::Status AppendDim(const FormulaDim& dim, int output, Shape* shape);

  const Formulas& formulas_;
  const NodeView& n_;
  absl::btree_map<std::string, Expr> values_;
  absl::btree_map<std::string, Dims> rests_;     // of "name..."
  absl::btree_map<std::string, Dims> lists_;     // of tensors and lists of integers
  absl::btree_map<std::string, float> numbers_;  // of float attributes
  std::vector<Required> required_;
};

// A cost that is one formula for each kind of work: itself, or what an activation stands for.
std::vector<NamedFormula> ByKind(const NamedFormula& cost);

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
// The costs of a node whose outputs are known. Errors: FailedPrecondition when something that the
// formulas need is not known; InvalidArgument when the node does not fit them. EvaluateFormulas
// also fills the formulas in.
absl::StatusOr<FormulaResult> EvaluateCosts(const Formulas& formulas, const NodeView& n,
                                            const FormulaBinding& binding);
absl::StatusOr<FormulaResult> EvaluateFormulas(const Formulas& formulas, const NodeView& n);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_FORMULA_FORMULA_H_
