// Settings that name devices, and what ran on them.
#ifndef ONNXFLOPS_SRC_SETTINGS_DEVICE_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_DEVICE_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/hardware/device.h"
#include "src/hardware/utilisation.h"
#include "src/settings/table.h"

namespace onnxflops::settings {

// `devices-file`: devices of the user's own.
struct DevicesFileArgument {
  std::string file;
  void AddTo(Table* list);
  absl::StatusOr<std::vector<Device>> Parse() const;
};

// How fast training goes, and on how many devices: `step-time`, `devices` and their like.
struct RateArguments {
  std::string step_time, steps, samples, tokens, devices = "1";
  void AddTo(Table* list);
  // Whether a rate is given.
  bool given() const;
  absl::Status Parse(StepRate* rate, int64_t* devices) const;
};

// Seconds, of a number with or without a unit; 0 where nothing was given.
absl::StatusOr<double> ParseSeconds(absl::string_view name, const std::string& text);
// A number above 0; 0 where nothing was given. `what` it should be, for the error.
absl::StatusOr<double> ParsePositive(absl::string_view name, const std::string& text,
                                     absl::string_view what = "a number");
// FLOP/s, of a number with or without a unit: 312e12, 312T, 989.4TFLOPS; 0 where nothing was given.
absl::StatusOr<double> ParsePeakRate(const std::string& text);

// `device`, `dtype`, `devices-file`: what bounds the time of a run.
struct RooflineArguments {
  std::string device, dtype;
  DevicesFileArgument devices_file;
  void AddTo(Table* list);
  absl::StatusOr<std::optional<DeviceChoice>> Parse() const;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_DEVICE_ARGUMENTS_H_
