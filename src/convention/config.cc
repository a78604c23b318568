// Formulas of a training step over a whole model: parameters times tokens.
//
//   config-6n    6 * N * T: 2 for the forward pass, 4 for the backward pass
//   config-2.5n  7.5 * N * B * S: 2.5 for the forward pass, twice that for the backward pass
//
// N is what the file holds of parameters, T = B * S the elements of the input of token ids. Neither
// knows nodes: all that they count is of the model as a whole.
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/convention/conventions.h"
#include "src/resolve/parameters.h"

namespace onnxflops::convention {
namespace config {
namespace {

// The sizes of the one kind of token ids that the model takes; or why there are none.
struct Tokens {
  Expr count;
  std::string problem;
};

Tokens FindTokens(const Evidence& evidence) {
  const ModelData& model = evidence.model();
  std::optional<Expr> count;
  for (ValueId id : model.graphs[0].inputs) {
    const Value& value = model.value(id);
    const Fact* found = evidence.inference().FactOf(id);
    if (value.initializer || found == nullptr) continue;
    const Fact& fact = *found;
    if (!fact.is_tensor() || !fact.shape.ranked()) continue;
    if (IsFloat(fact.dtype) && fact.shape.rank() >= 3) {
      return {0,
              absl::StrCat("the formula counts tokens, but input '", value.name, "' is no text")};
    }
    if (!IsInteger(fact.dtype) || fact.shape.rank() != 2) continue;
    const Expr tokens = fact.shape.NumElements();
    if (count && *count != tokens) {
      return {0, "the inputs of token ids have different sizes: the formula has one"};
    }
    count = tokens;
  }
  if (!count) return {0, "no input is token ids [batch, sequence]: the formula counts tokens"};
  return {*count, ""};
}

// per_token / 2 = operations per parameter and token.
Ledger ApplyFormula(Evidence* evidence, int halves_per_token) {
  const Tokens tokens = FindTokens(*evidence);
  if (!tokens.problem.empty()) return LedgerBuilder::NotApplicable(tokens.problem);
  absl::int128 params = 0;
  for (const resolve::Parameter& parameter : resolve::FindParameters(evidence->model()))
    params += parameter.elements;
  LedgerBuilder ledger(evidence, Unit::kFlop);
  const TermId backward =
      ledger.Term("backward pass", "a training step is counted: twice the forward pass more");
  const TermId instead =
      ledger.Term("the formula instead of the graph",
                  "every parameter multiplies once per token, embeddings too; attention products, "
                  "norms and activations are left out");
  const Expr ours = evidence->counts().total.amounts.flops * 3;
  const Expr formula = FloorDiv(tokens.count * Expr(params) * halves_per_token, 2);
  ledger.CountModel(evidence->Intern(ours), backward);
  ledger.CountModel(evidence->Intern(formula - ours), instead);
  ledger.Assume("N is what the file holds as parameters, tied or folded ones as exported");
  ledger.SetParams(params);
  return ledger.Finish([&](EntryId) { return instead; });
}

Ledger Apply6(Evidence* evidence) { return ApplyFormula(evidence, 12); }
Ledger Apply25(Evidence* evidence) { return ApplyFormula(evidence, 15); }

}  // namespace
}  // namespace config

const Convention kConfig6n = {
    {"config-6n", Unit::kFlop, "6 x parameters x tokens, of a training step",
     "the rule of thumb of arXiv:2001.08361, section 2.1, and arXiv:2204.02311, appendix B",
     "2 per parameter and token forward, 4 backward",
     "attention products; that embeddings multiply nothing"},
    config::Apply6,
};

const Convention kConfig25n = {
    {"config-2.5n", Unit::kFlop, "2.5 x parameters x batch x sequence, and backward twice that",
     "an estimate in use for MFU: forward 2.5 per parameter and token \"for vision and text\"",
     "2.5 per parameter and token forward, 5 backward",
     "attention products; that embeddings multiply nothing"},
    config::Apply25,
};

}  // namespace onnxflops::convention
