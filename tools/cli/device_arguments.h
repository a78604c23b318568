// Options that name devices, and what ran on them.
#ifndef ONNXFLOPS_TOOLS_CLI_DEVICE_ARGUMENTS_H_
#define ONNXFLOPS_TOOLS_CLI_DEVICE_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/hardware/device.h"
#include "src/hardware/mfu.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

// --devices-file: devices of the user's own.
struct DevicesFileArgument {
  std::string file;
  void AddTo(OptionList* list);
  absl::StatusOr<std::vector<Device>> Parse() const;
};

// How fast training goes, and on how many devices: --step-time, --devices and their like.
struct RateArguments {
  std::string step_time, steps, samples, tokens, devices = "1";
  void AddTo(OptionList* list);
  // Whether a rate is given.
  bool given() const;
  absl::Status Parse(StepRate* rate, int64_t* devices) const;
};

// Seconds, of a number with or without a unit; 0 where nothing was given.
absl::StatusOr<double> ParseSeconds(absl::string_view option, const std::string& text);
// A number above 0; 0 where nothing was given. `what` it should be, for the error.
absl::StatusOr<double> ParsePositive(absl::string_view option, const std::string& text,
                                     absl::string_view what = "a number");
// FLOP/s, of a number with or without a unit: 312e12, 312T, 989.4TFLOPS; 0 where nothing was given.
absl::StatusOr<double> ParsePeakRate(const std::string& text);
absl::StatusOr<int64_t> ParsePositiveWhole(absl::string_view option, const std::string& text);

// --device, --dtype, --devices-file: what bounds the time of a run.
struct RooflineArguments {
  std::string device, dtype;
  DevicesFileArgument devices_file;
  void AddTo(OptionList* list);
  absl::StatusOr<std::optional<DeviceChoice>> Parse() const;
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_DEVICE_ARGUMENTS_H_
