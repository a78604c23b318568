// Formulas of a training step over a whole model: parameters times tokens.
//
//   config-6n    6 * N * T: 2 for the forward pass, 4 for the backward pass
//   config-2.5n  7.5 * N * B * S: 2.5 for the forward pass, twice that for the backward pass
//   config-clip  layers x (4 h s^2 + 8 h (4 h) s) of two towers, by the keys of a config.json
//
// N is what the file holds of parameters, T = B * S the elements of the input of token ids. Neither
// knows nodes: all that they count is of the model as a whole.
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/convention/conventions.h"
#include "src/family/family.h"
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

// One tower of the formula, as its function writes it: in floating point.
double TowerOperations(double width, double tokens, double ratio) {
  return 4 * width * tokens * tokens + 8 * width * (width * ratio) * tokens;
}

// The keys of the function: where its first one is not there, it takes the second, or a number. It
// looks for a text's layers under a name that open_clip does not use, and takes the MLP of the
// image for both towers.
std::optional<double> ClipOperations(absl::string_view json) {
  using Json = nlohmann::json;
  const Json config = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  const auto object = [&](const char* key) -> const Json* {
    const auto at = config.is_object() ? config.find(key) : config.end();
    return config.is_object() && at != config.end() && at->is_object() ? &*at : nullptr;
  };
  const Json* text = object("text_config");
  const Json* vision = object("vision_config");
  if (text == nullptr || vision == nullptr) {
    text = object("text_cfg");
    vision = object("vision_cfg");
  }
  if (text == nullptr || vision == nullptr) return std::nullopt;
  const auto number = [](const Json& from, std::initializer_list<const char*> keys, double other) {
    for (const char* key : keys) {
      const auto at = from.find(key);
      if (at != from.end() && at->is_number()) return at->get<double>();
    }
    return other;
  };
  const double ratio = number(*vision, {"mlp_ratio"}, 4);
  const double side = number(*vision, {"image_size"}, 336) / number(*vision, {"patch_size"}, 14);
  const double of_text =
      TowerOperations(number(*text, {"hidden_size", "width"}, 768),
                      number(*text, {"context_length", "max_position_embeddings"}, 77), ratio);
  const double of_image =
      TowerOperations(number(*vision, {"hidden_size", "width"}, 1024), side * side, ratio);
  return of_text * number(*text, {"num_hidden_layers", "num_layers"}, 12) +
         of_image * number(*vision, {"num_hidden_layers", "layers"}, 24);
}

// The size of a batch of images: [batch, channels, height, width].
std::optional<Expr> ImagesOf(const Evidence& evidence) {
  constexpr int kImageRank = 4;
  for (ValueId id : evidence.model().graphs[0].inputs) {
    const Fact* fact = evidence.inference().FactOf(id);
    if (fact == nullptr || !fact->is_tensor() || !fact->shape.ranked()) continue;
    if (IsFloat(fact->dtype) && fact->shape.rank() == kImageRank) return fact->shape[0];
  }
  return std::nullopt;
}

Ledger ApplyClip(Evidence* evidence) {
  const absl::string_view json = ConfigOf(evidence->model());
  if (json.empty()) {
    return LedgerBuilder::NotApplicable("the formula reads a config.json, and this is a model");
  }
  const std::optional<double> operations = ClipOperations(json);
  const std::optional<Expr> images = ImagesOf(*evidence);
  constexpr double kMost = 9e18;
  if (!operations || !images || !(*operations > 0 && *operations < kMost)) {
    return LedgerBuilder::NotApplicable("the configuration is not of a text and an image tower");
  }
  LedgerBuilder ledger(evidence, Unit::kFlop);
  const TermId instead = ledger.Term(
      "the formula instead of the graph",
      "linear layers count a third more than they cost (32 h^2 s for 24 h^2 s); the class token, "
      "the patch embedding, projections, norms and activations are left out");
  ledger.CountModel(evidence->Intern(*images * Expr(absl::int128(std::llround(*operations)))),
                    instead);
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

const Convention kConfigClip = {
    {"config-clip", Unit::kFlop, "layers x (4 h s^2 + 8 h (4 h) s), of text and image",
     "a widely copied function over config.json",
     "both towers by width, layers and tokens, of the keys that the function looks up",
     "the class token, patch embedding, projections; what the configuration calls otherwise"},
    config::ApplyClip,
};

}  // namespace onnxflops::convention
