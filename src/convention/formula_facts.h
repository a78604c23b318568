// Reads the parameters of formulas.h from a model.
#ifndef ONNXFLOPS_SRC_CONVENTION_FORMULA_FACTS_H_
#define ONNXFLOPS_SRC_CONVENTION_FORMULA_FACTS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "src/convention/formulas.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/symbolic/expr.h"
#include "src/training/attention_summary.h"

namespace onnxflops {

struct FormulaFacts {
  FormulaParameters parameters;
  AttentionSummary attention;
  std::optional<Expr> batch;
  std::string no_tokens;           // why the model has no tokens that a formula could count
  bool mlp_width_assumed = false;  // as 4 times the width
  std::string other_layers;        // why Megatron-Bridge has another formula
};
FormulaFacts ReadFormulaFacts(const Inference& inference, const Counts& counts);

// The formula's row of kFormulas, as it is for this model: torchtitan's reads A of a mixture of
// experts, and Megatron-Bridge's has terms for experts and for latent attention.
FormulaInfo InfoOfFormula(Formula formula, const FormulaFacts& facts);

// The first output [batch, tokens, vocabulary]; nullptr without one.
const Shape* LogitsOf(const Inference& inference);

// A training step of the model by a formula. FailedPrecondition if the model has no tokens that a
// formula could count, or not all of its parameters; Unimplemented if the formula's authors have
// another one for such models; OutOfRange for an overflow.
absl::StatusOr<FormulaFlops> PartsOfFormula(Formula formula, const FormulaFacts& facts);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CONVENTION_FORMULA_FACTS_H_
