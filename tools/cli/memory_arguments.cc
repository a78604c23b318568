#include "tools/cli/memory_arguments.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops::tools {

void MemoryArguments::AddTo(OptionList* list) {
  list->AddFlag("--memory", &memory,
                "What the model holds in memory: the peak of inference, and what a training step "
                "keeps. Of several models, or at several sizes, a row each.");
  list->AddValue("--order", "ORDER", &order,
                 "With --memory, the order in which nodes run: file, or ort (ONNX Runtime's). "
                 "Default: file.",
                 {"file", "ort"});
  list->AddValue("--fit", "BYTES", &fit,
                 "The largest batch that fits into so many bytes: 80GiB, 24GB, or of another size "
                 "80GiB:seq. Includes --memory.");
  list->AddValue("--loss", "NAME", &loss,
                 "With --memory, what a training step makes of the outputs: sum, cross_entropy "
                 "(over the last axis), or none (their gradients are given). Default: sum.",
                 {"none", "sum", "cross_entropy"});
  list->AddValue("--master-weights", "TYPE", &master_weights,
                 "With --memory: fp32 copies of narrower parameters, and the optimizer's state in "
                 "fp32. With none the state has the type of the parameters. Default: none.",
                 {"fp32", "none"});
}

absl::StatusOr<std::optional<MemoryOptions>> MemoryArguments::Parse(
    const TrainingOptions& training) const {
  if (!asked()) {
    const std::pair<const char*, const std::string*> options[] = {
        {"--order", &order}, {"--loss", &loss}, {"--master-weights", &master_weights}};
    for (const auto& [name, text] : options) {
      if (!text->empty()) return absl::InvalidArgumentError(absl::StrCat(name, " needs --memory"));
    }
    return std::optional<MemoryOptions>();
  }
  MemoryOptions options;
  options.training = training;
  if (order == "ort") {
    options.order = ExecutionOrder::kOrt;
  } else if (!order.empty() && order != "file") {
    return absl::InvalidArgumentError(
        absl::StrCat("--order ", Quoted(order), ": it should be file or ort"));
  }
  if (!loss.empty()) {
    ASSIGN_OR_RETURN(options.training.loss, ParseLoss(loss));
  }
  if (!master_weights.empty() && master_weights != "fp32" && master_weights != "none") {
    return absl::InvalidArgumentError(
        absl::StrCat("--master-weights ", Quoted(master_weights), ": it should be fp32 or none"));
  }
  options.training.float32_masters = master_weights == "fp32";
  if (!fit.empty()) {
    ASSIGN_OR_RETURN(options.fit, ParseFit(fit));
  }
  return options;
}

void ServingArguments::AddTo(OptionList* list) {
  list->AddValue("--prefill", "N", &prefill,
                 "A decoder with past inputs on a prompt of N tokens; binds its sizes by itself.");
  list->AddValue("--decode", "N@PAST", &decode,
                 "The same on N tokens after PAST others, beside --prefill if that is given.");
}

absl::StatusOr<std::optional<ServingRequest>> ServingArguments::Parse() const {
  if (prefill.empty() && decode.empty()) return std::optional<ServingRequest>();
  ServingRequest request;
  if (!prefill.empty()) {
    ASSIGN_OR_RETURN(request.prefill, ParsePrefill(prefill));
  }
  if (!decode.empty()) {
    ASSIGN_OR_RETURN(request.decode, ParseDecode(decode));
  }
  return request;
}

}  // namespace onnxflops::tools
