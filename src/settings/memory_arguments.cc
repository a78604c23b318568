#include "src/settings/memory_arguments.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/byte_text.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/hardware/device.h"
#include "src/load/input_file.h"
#include "src/settings/value.h"

namespace onnxflops::settings {
namespace {

absl::StatusOr<std::vector<StepRequest>> ReadRequests(const std::string& file) {
  const auto fault = [&](const absl::Status& status) { return InValue("requests", file, status); };
  const absl::StatusOr<std::string> text = ReadTextFile(file, kMaxSamplesBytes);
  if (!text.ok()) return fault(text.status());
  if (text->size() > kMaxSamplesBytes) {
    return fault(LimitError(
        "samples-bytes",
        absl::StrCat("the file has more than ", kMaxSamplesBytes, " bytes (samples-bytes)")));
  }
  absl::StatusOr<std::vector<StepRequest>> requests = ParseRequests(*text);
  if (!requests.ok()) return fault(requests.status());
  return requests;
}

// The name of a device stands for its memory: "h100-sxm", "h100-sxm:seq".
absl::StatusOr<FitRequest> ParseFitInto(const std::string& fit, const std::vector<Device>& own) {
  const size_t colon = fit.find(':');
  const std::string name = fit.substr(0, colon);
  if (ParseBytes(name)) return ParseFit(fit);
  const absl::StatusOr<Device> device = FindDevice(name, own);
  if (!device.ok()) {
    const absl::Status status = ParseFit(fit).status();
    return WithMessage(status, absl::StrCat(status.message(), ", or a device, as h100-sxm"));
  }
  if (colon + 1 == fit.size()) return BadValue("fit", fit, "a symbol should follow the colon");
  if (!device->memory_bytes) return BadValue("fit", fit, "the memory of the device is not known");
  return ParseFit(
      absl::StrCat(*device->memory_bytes, colon == std::string::npos ? "" : fit.substr(colon)));
}

}  // namespace

void MemoryArguments::AddTo(Table* list) {
  list->AddFlag("memory", &memory,
                "What the model holds in memory: the peak of inference, and what a training step "
                "keeps. Of several models, or at several sizes, a row each.");
  list->AddValue("order", "ORDER", &order,
                 "With {memory on}, the order in which nodes run: file, or ort (ONNX Runtime's). "
                 "Default: file.",
                 {"file", "ort"});
  list->AddValue(
      "fit", "BYTES|DEVICE", &fit,
      "The largest batch that fits into so many bytes, 80GiB or 24GB, or into the memory "
      "of a device, h100-sxm; of another size 80GiB:seq. Includes {memory on}.");
  list->AddValue("loss", "NAME", &loss,
                 "With {memory on}, what a training step makes of the outputs: sum, cross_entropy "
                 "(over the last axis), or none (their gradients are given). Default: sum.",
                 {"none", "sum", "cross_entropy"});
  list->AddValue(
      "master-weights", "TYPE", &master_weights,
      "Copies of narrower parameters and the optimizer's state in fp32, for {memory on}. "
      "With none the state has the type of the parameters. Default: none.",
      {"fp32", "none"});
}

absl::StatusOr<std::optional<MemoryOptions>> MemoryArguments::Parse(
    const TrainingOptions& training, const DevicesFileArgument& devices) const {
  if (!asked()) {
    const std::pair<const char*, const std::string*> options[] = {
        {"order", &order}, {"loss", &loss}, {"master-weights", &master_weights}};
    for (const auto& [name, text] : options) {
      if (text->empty()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(Setting(name), " needs ", Setting("memory", kOn)));
    }
    return std::optional<MemoryOptions>();
  }
  MemoryOptions options;
  options.training = training;
  if (order == "ort") {
    options.order = ExecutionOrder::kOrt;
  } else if (!order.empty() && order != "file") {
    return BadValue("order", order, "it should be file or ort");
  }
  if (!loss.empty()) {
    ASSIGN_OR_RETURN(options.training.loss, ParseLoss(loss));
  }
  if (!master_weights.empty() && master_weights != "fp32" && master_weights != "none") {
    return BadValue("master-weights", master_weights, "it should be fp32 or none");
  }
  options.training.float32_masters = master_weights == "fp32";
  if (!fit.empty()) {
    ASSIGN_OR_RETURN(const std::vector<Device> own, devices.Parse());
    ASSIGN_OR_RETURN(options.fit, ParseFitInto(fit, own));
  }
  return options;
}

void ServingArguments::AddTo(Table* list) {
  list->AddValue("prefill", "N", &prefill,
                 "A decoder with past inputs on a prompt of N tokens; binds its sizes by itself.");
  list->AddValue(
      "decode", "N@PAST", &decode,
      "The same in one step of N tokens after PAST others, beside {prefill} if that is given. "
      "`onnxflops pipeline` counts tokens that are generated one after another.");
  list->AddValue(
      "requests", "FILE", &requests,
      "Count a step of a server. FILE has its requests: a table with prompt, cached, chunk, "
      "generated, grid_thw, images, tiles and audio, or JSON lines.");
  list->AddValue("experts", "N|LIST", &experts,
                 "How many experts the tokens of a step reach, of all layers or of each. Default "
                 "with {requests}: as many as an even routing does on average.");
}

absl::StatusOr<std::optional<ServingRequest>> ServingArguments::Parse() const {
  if (!asked()) {
    if (experts.empty()) return std::optional<ServingRequest>();
    return absl::InvalidArgumentError(
        WithSettings("{experts} is about a step of {prefill}, {decode} or {requests}"));
  }
  ServingRequest request;
  if (!prefill.empty()) {
    ASSIGN_OR_RETURN(request.prefill, ParsePrefill(prefill));
  }
  if (!decode.empty()) {
    ASSIGN_OR_RETURN(request.decode, ParseDecode(decode));
  }
  if (!requests.empty()) {
    ASSIGN_OR_RETURN(request.requests, ReadRequests(requests));
    request.requests_file = requests;
  } else {
    request.requests = request_list;
  }
  if (!experts.empty()) {
    ASSIGN_OR_RETURN(request.experts, ParseExperts(experts));
  }
  return request;
}

}  // namespace onnxflops::settings
