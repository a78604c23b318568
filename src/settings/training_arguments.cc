#include "src/settings/training_arguments.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/settings/value.h"

namespace onnxflops::settings {
namespace {

absl::Status NeedsExact(const char* name) {
  return absl::InvalidArgumentError(absl::StrCat(
      Setting(name),
      WithSettings(" needs {backward exact}: by the default rule backward is 2 x forward")));
}

}  // namespace

void TiedArgument::AddTo(Table* list) {
  list->AddValues("tied", "COPY=WEIGHT", &pairs,
                  "Two weights of the file are one parameter, as TorchScript's export stores tied "
                  "embeddings twice. The report names what looks so. May be given again.");
}

absl::StatusOr<std::vector<TiedWeights>> TiedArgument::Parse() const {
  std::vector<TiedWeights> tied;
  for (const std::string& text : pairs) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
      return BadValue("tied", text, "it should be two names of weights, as COPY=WEIGHT");
    }
    tied.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return tied;
}

void TrainingArguments::AddBackwardTo(Table* list) {
  list->AddValue("backward", "HOW", &backward,
                 "The backward pass: 2x (twice forward), or exact, as autograd executes it. "
                 "Default: 2x.",
                 {"2x", "exact"});
}

void TrainingArguments::AddTo(Table* list) {
  AddBackwardTo(list);
  list->AddValues("frozen", "GLOB", &frozen,
                  "Parameters or modules that are not trained. May be given again.");
  list->CompleteFrom("modules");
  list->AddValues("trained", "GLOB", &trained,
                  "Parameters or modules that are trained, and no others. May be given again.");
  list->CompleteFrom("modules");
  list->AddValues(
      "lora", "SETTINGS:MODULES", &lora,
      "Count the model with low-rank adapters, as peft runs them, and train only these: "
      "r=16:q_proj,v_proj, r=16,alpha=32,rslora,dora:all-linear. With base=nf4 (QLoRA) "
      "other weights of linear layers are in 4 bits. May be given again for other ranks. "
      "Includes {backward exact}.");
  tied.AddTo(list);
  list->AddFlag("input-gradients", &input_gradients,
                "The gradients of the model's inputs are computed, too.");
  list->AddValue("attention", "HOW", &attention,
                 "Attention's backward pass: math keeps the scores, flash computes them again. "
                 "Default: math.",
                 {"math", "flash"});
  list->AddValue("recompute", "WHAT", &recompute,
                 "Activation checkpointing: none, attention, blocks (as torch does), full (blocks "
                 "as a whole), or a pattern of module paths. Default: none.",
                 {"none", "attention", "blocks", "full"});
  list->AddValue("optimizer", "NAME", &optimizer,
                 "Count a step of sgd, adam, adamw or lion beside. Default: none.",
                 {"none", "sgd", "adam", "adamw", "lion"});
}

absl::StatusOr<TrainingOptions> TrainingArguments::ParseOptions() const {
  TrainingOptions options;
  if (attention == "flash") {
    options.attention = AttentionBackward::kFlash;
  } else if (attention != "math") {
    return BadValue("attention", attention, "it should be math or flash");
  }
  ASSIGN_OR_RETURN(options.optimizer, ParseOptimizer(optimizer));
  options.recompute = ParseRecompute(recompute);
  options.frozen = frozen;
  options.trained = trained;
  options.input_gradients = input_gradients;
  if (backward != "exact" && backward != "2x" && !backward.empty()) {
    return BadValue("backward", backward, "it should be 2x or exact");
  }
  return options;
}

const char* TrainingArguments::FirstOfExact() const {
  if (!frozen.empty()) return "frozen";
  if (!trained.empty()) return "trained";
  if (input_gradients) return "input-gradients";
  if (attention != "math") return "attention";
  if (recompute != "none") return "recompute";
  if (optimizer != "none") return "optimizer";
  return nullptr;
}

absl::StatusOr<std::optional<LoraOptions>> TrainingArguments::ParseLoraOptions() const {
  if (lora.empty()) return std::optional<LoraOptions>();
  if (backward == "2x") {
    return absl::InvalidArgumentError(WithSettings(
        "{lora} trains the adapters alone, and their backward pass is not 2 x forward: leave out "
        "{backward 2x}"));
  }
  if (lora.size() > kMaxLoraTargets) {
    return absl::InvalidArgumentError(
        absl::StrCat(Setting("lora"), " is given more than ", kMaxLoraTargets, " times"));
  }
  std::optional<LoraOptions> options;
  for (const std::string& text : lora) {
    ASSIGN_OR_RETURN(LoraOptions list, ParseLora(text));
    if (options) {
      options->more.push_back(std::move(list));
    } else {
      options = std::move(list);
    }
  }
  return options;
}

absl::StatusOr<std::optional<TrainingOptions>> TrainingArguments::Parse() const {
  ASSIGN_OR_RETURN(const TrainingOptions options, ParseOptions());
  if (backward == "exact" || !lora.empty()) return options;
  if (const char* given = FirstOfExact()) return NeedsExact(given);
  return std::optional<TrainingOptions>();
}

}  // namespace onnxflops::settings
