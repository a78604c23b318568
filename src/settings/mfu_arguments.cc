#include "src/settings/mfu_arguments.h"

#include <optional>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/convention/conventions.h"
#include "src/settings/value.h"

namespace onnxflops::settings {
namespace {

absl::Status ParseDevice(const MfuArguments& args, MfuOptions* options) {
  ASSIGN_OR_RETURN(options->peak, ParsePeakRate(args.peak));
  if (!args.dtype.empty()) {
    ASSIGN_OR_RETURN(options->precision, ParsePrecision(args.dtype));
  }
  ASSIGN_OR_RETURN(const std::vector<Device> own, args.devices_file.Parse());
  if (args.device.empty()) return absl::OkStatus();
  if (options->peak > 0) {
    return absl::InvalidArgumentError(
        WithSettings("{device} and {peak}: one of them gives the peak"));
  }
  ASSIGN_OR_RETURN(options->device, FindDevice(args.device, own));
  return absl::OkStatus();
}

// Whole numbers are exact.
absl::StatusOr<std::optional<absl::int128>> ParseMeasured(const std::string& text) {
  if (text.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(const double measured, ParsePositive("measured-flops", text));
  absl::int128 exact = 0;
  if (!absl::SimpleAtoi(text, &exact)) exact = static_cast<absl::int128>(measured);
  if (exact > 0) return exact;
  return BadValue("measured-flops", text, "it should be 1 or more");
}

}  // namespace

void MfuArguments::AddPeakTo(Table* list) {
  list->AddValue(
      "device", "NAME", &device,
      "The device, as h100-sxm. `onnxflops devices` has the names; aliases are whole names, "
      "too.");
  list->CompleteFrom("devices");
  list->AddValue("dtype", "D", &dtype, "What the device computes in: bf16, fp8, tf32, ...",
                 {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8", "int4"});
  list->AddValue("peak", "FLOPS", &peak,
                 "FLOP/s of one device, as 312T or 312e12, instead of the table's.");
  devices_file.AddTo(list);
}

void MfuArguments::AddRateTo(Table* list) {
  rate.AddTo(list);
  AddPeakTo(list);
  list->AddValue("batch-per-device", "N", &batch_per_device,
                 "The batch of one device in a run of the model, instead of {dim} with that of all "
                 "devices.");
  list->AddValue("grad-accumulation", "N", &accumulation,
                 "Runs of the model before a step of the optimizer, each with the batch of {dim}. "
                 "Default: 1.");
  list->AddValue("measured-flops", "N", &measured,
                 "FLOPs of a step by hardware counters, over all devices.");
  list->AddValues(
      "parameter", "NAME=N", &parameters,
      "Give a parameter of the formulas: n (parameters), a (those that a token meets), l, "
      "h, q, t, v, p, d, f, tokens.");
  list->AddValue("convention", "NAME", &convention,
                 "3 x what another tool counts. `onnxflops compare {list on}` has the names.",
                 convention::ConventionNames());
}

void MfuArguments::AddModelTo(Table* list) {
  sizes.AddTo(list);
  causal.AddTo(list);
  training.AddTo(list);
}

void MfuArguments::AddTo(Table* list) {
  list->BeginGroup("step", "The step that was measured, and the peak");
  AddRateTo(list);
  list->BeginGroup("sizes", "Sizes of the model, and what is counted");
  sizes.AddTo(list);
  causal.AddTo(list);
  list->BeginGroup("training", "Training");
  training.AddTo(list);
  list->BeginGroup("samples", "The batch that ran");
  samples.AddTo(list);
}

absl::StatusOr<MfuOptions> MfuArguments::Parse() const {
  MfuOptions options;
  ASSIGN_OR_RETURN(options.count, sizes.Parse());
  ASSIGN_OR_RETURN(options.count.samples, samples.Parse());
  ASSIGN_OR_RETURN(options.count.tied, training.tied.Parse());
  ASSIGN_OR_RETURN(options.count.lora, training.ParseLoraOptions());
  ASSIGN_OR_RETURN(options.count.causal, causal.Parse());
  ASSIGN_OR_RETURN(options.count.training, training.Parse());
  RETURN_IF_ERROR(rate.Parse(&options.rate, &options.devices));
  if (!batch_per_device.empty()) {
    ASSIGN_OR_RETURN(options.batch_per_device,
                     ParsePositiveWhole("batch-per-device", batch_per_device));
  }
  ASSIGN_OR_RETURN(options.grad_accumulation,
                   ParsePositiveWhole("grad-accumulation", accumulation));
  ASSIGN_OR_RETURN(options.measured_flops, ParseMeasured(measured));
  for (const std::string& text : parameters) {
    RETURN_IF_ERROR(SetFormulaParameter(text, &options.parameters));
  }
  options.convention = convention;
  if (!convention.empty()) {
    RETURN_IF_ERROR(convention::RequireConvention(convention).status());
    if (options.count.training) {
      return absl::InvalidArgumentError(
          WithSettings("{convention}: other tools count no backward pass exactly"));
    }
  }
  RETURN_IF_ERROR(ParseDevice(*this, &options));
  return options;
}

absl::StatusOr<double> MfuArguments::ParsePeak() const {
  MfuOptions options;
  RETURN_IF_ERROR(ParseDevice(*this, &options));
  if (options.peak > 0) return options.peak;
  if (!options.device || !options.precision) {
    return absl::InvalidArgumentError(WithSettings(
        "the peak is not known: {device NAME} and {dtype D} give it, or {peak FLOPS}"));
  }
  ASSIGN_OR_RETURN(const PeakFigure peak, FindPeak(*options.device, *options.precision));
  constexpr double kGiga = 1e9;
  return static_cast<double>(peak.giga) * kGiga;
}

}  // namespace onnxflops::settings
