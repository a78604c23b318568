// Settings of how a model is trained.
#ifndef ONNXFLOPS_SRC_SETTINGS_TRAINING_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_TRAINING_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/adapter/lora_options.h"
#include "src/resolve/ties.h"
#include "src/settings/table.h"
#include "src/training/training_options.h"

namespace onnxflops::settings {

// `tied`, as texts.
struct TiedArgument {
  std::vector<std::string> pairs;
  void AddTo(Table* list);
  absl::StatusOr<std::vector<TiedWeights>> Parse() const;
};

// `backward` and what belongs to it, as texts.
struct TrainingArguments {
  std::string backward;  // "" is 2x, unless `lora` is given
  std::string attention = "math", recompute = "none", optimizer = "none";
  std::vector<std::string> frozen, trained;
  TiedArgument tied;  // needs no exact backward pass
  std::vector<std::string> lora;
  bool input_gradients = false;

  void AddTo(Table* list);
  // Only `backward`, for commands that take no other of these.
  void AddBackwardTo(Table* list);
  // nullopt for the rule that backward is twice forward, which adapters do not have. An error if a
  // setting is given that only an exact backward pass reads.
  absl::StatusOr<std::optional<TrainingOptions>> Parse() const;
  // What is trained and how, whatever `backward` says: `memory` asks for it, too.
  absl::StatusOr<TrainingOptions> ParseOptions() const;
  // A setting that only an exact backward pass reads; nullptr if none is given.
  const char* FirstOfExact() const;
  // `lora`, a list for each time that it is given; nullopt if it is not.
  absl::StatusOr<std::optional<LoraOptions>> ParseLoraOptions() const;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_TRAINING_ARGUMENTS_H_
