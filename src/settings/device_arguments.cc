#include "src/settings/device_arguments.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/hardware/time_bound.h"
#include "src/settings/value.h"

namespace onnxflops::settings {

void DevicesFileArgument::AddTo(Table* list) {
  list->AddValue("devices-file", "FILE", &file,
                 "A TOML file that defines devices of your own. See docs/performance.md.");
}

absl::StatusOr<std::vector<Device>> DevicesFileArgument::Parse() const {
  if (file.empty()) return std::vector<Device>();
  const absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (text.ok()) return LoadDevices(*text, file);
  return InFile("devices-file", file, text.status());
}

void RateArguments::AddTo(Table* list) {
  list->AddValue("step-time", "TIME", &step_time,
                 "How long a training step takes: 0.31, 310ms, 1.5min. Without a unit, seconds.");
  list->AddValue("steps-per-second", "N", &steps, "Instead of {step-time}.");
  list->AddValue("samples-per-second", "N", &samples,
                 "Instead of {step-time}: of the batch, over all devices.");
  list->AddValue("tokens-per-second", "N", &tokens, "Instead of {step-time}: over all devices.");
  list->AddValue("devices", "N", &devices, "How many devices share the step. Default: 1.");
}

bool RateArguments::given() const {
  return !step_time.empty() || !steps.empty() || !samples.empty() || !tokens.empty();
}

absl::Status RateArguments::Parse(StepRate* rate, int64_t* count) const {
  ASSIGN_OR_RETURN(rate->step_seconds, ParseSeconds("step-time", step_time));
  ASSIGN_OR_RETURN(rate->steps_per_second, ParsePositive("steps-per-second", steps));
  ASSIGN_OR_RETURN(rate->samples_per_second, ParsePositive("samples-per-second", samples));
  ASSIGN_OR_RETURN(rate->tokens_per_second, ParsePositive("tokens-per-second", tokens));
  ASSIGN_OR_RETURN(*count, ParsePositiveWhole("devices", devices));
  return absl::OkStatus();
}

absl::StatusOr<double> ParseSeconds(absl::string_view name, const std::string& text) {
  if (text.empty()) return 0.0;
  constexpr double kMost = 1e30, kLeast = 1e-30;
  const std::optional<double> seconds = SecondsOfText(text);
  if (seconds && *seconds >= kLeast && *seconds <= kMost) return *seconds;
  return BadValue(name, text, "it should be a time above 0, as 0.31, 310ms, 2 s or 1.5min");
}

absl::StatusOr<double> ParsePositive(absl::string_view name, const std::string& text,
                                     absl::string_view what) {
  if (text.empty()) return 0.0;
  constexpr double kMost = 1e30, kLeast = 1e-30;
  double value = 0;
  const bool decimal = text.find_first_not_of("0123456789.eE+-") == std::string::npos;
  if (decimal && absl::SimpleAtod(text, &value) && value >= kLeast && value <= kMost) return value;
  return BadValue(
      name, text,
      absl::StrCat("it should be ", what, " above 0", value > 0 ? ", from 1e-30 to 1e30" : ""));
}

absl::StatusOr<double> ParsePeakRate(const std::string& text) {
  constexpr std::pair<absl::string_view, double> kUnits[] = {
      {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18}};
  absl::string_view number = text;
  for (const absl::string_view rate : {"FLOP/s", "FLOPS", "FLOPs"}) {
    if (absl::ConsumeSuffix(&number, rate)) break;
  }
  double factor = 1;
  for (const auto& [unit, flops] : kUnits) {
    if (!absl::ConsumeSuffix(&number, unit)) continue;
    factor = flops;
    break;
  }
  number = absl::StripAsciiWhitespace(number);
  const absl::StatusOr<double> value = ParsePositive("peak", std::string(number));
  if (value.ok() && number.empty() == text.empty()) return *value * factor;
  return BadValue("peak", text, "it should be FLOP/s above 0, as 312e12 or 312T");
}

void RooflineArguments::AddTo(Table* list) {
  list->AddValue("device", "NAME", &device,
                 "Bound the time of every row on a device. Multiply-accumulates run at its peak, "
                 "bytes beyond its cache at its bandwidth. `onnxflops devices` has the names; "
                 "cpu:CORES:GHZ:SET:GB/s:CACHE, as cpu:64:2.5:avx512:300:256MiB, is a CPU.");
  list->CompleteFrom("devices");
  list->AddValue("dtype", "D", &dtype, "What the device computes in: bf16, fp8, tf32, ...",
                 {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8", "int4"});
  devices_file.AddTo(list);
}

absl::StatusOr<std::optional<DeviceChoice>> RooflineArguments::Parse() const {
  if (device.empty()) {
    const char* alone = !dtype.empty()               ? "dtype"
                        : !devices_file.file.empty() ? "devices-file"
                                                     : nullptr;
    if (alone == nullptr) return std::nullopt;
    return absl::InvalidArgumentError(absl::StrCat(Setting(alone), " needs ", Setting("device")));
  }
  ASSIGN_OR_RETURN(const std::vector<Device> own, devices_file.Parse());
  DeviceChoice choice;
  ASSIGN_OR_RETURN(choice.device, FindDevice(device, own));
  if (dtype.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Setting("device"), " ", Escaped(choice.device.name),
                     WithSettings(" needs {dtype}: what it computes in, such as bf16")));
  }
  ASSIGN_OR_RETURN(choice.precision, ParsePrecision(dtype));
  RETURN_IF_ERROR(RooflineOf(choice.device, choice.precision).status());
  return choice;
}

}  // namespace onnxflops::settings
