// Options that name devices.
#ifndef ONNXFLOPS_TOOLS_DEVICE_ARGUMENTS_H_
#define ONNXFLOPS_TOOLS_DEVICE_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/hardware/device.h"
#include "tools/option_list.h"

namespace onnxflops::tools {

// --devices-file: devices of the user's own.
struct DevicesFileArgument {
  std::string file;
  void AddTo(OptionList* list);
  absl::StatusOr<std::vector<Device>> Parse() const;
};

// --device, --dtype, --devices-file: what bounds the time of a run.
struct RooflineArguments {
  std::string device, dtype;
  DevicesFileArgument devices_file;
  void AddTo(OptionList* list);
  absl::StatusOr<std::optional<DeviceChoice>> Parse() const;
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_DEVICE_ARGUMENTS_H_
