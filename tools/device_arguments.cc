#include "tools/device_arguments.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/hardware/roofline.h"
#include "tools/options.h"

namespace onnxflops::tools {

void DevicesFileArgument::AddTo(OptionList* list) {
  list->AddValue("--devices-file", "FILE", &file,
                 "A TOML file that defines devices of your own. See the README.");
}

absl::StatusOr<std::vector<Device>> DevicesFileArgument::Parse() const {
  if (file.empty()) return std::vector<Device>();
  const absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (text.ok()) return LoadDevices(*text, file);
  return absl::Status(text.status().code(), absl::StrCat("--devices-file ", Escaped(file), ": ",
                                                         text.status().message()));
}

void RooflineArguments::AddTo(OptionList* list) {
  list->AddValue("--device", "NAME", &device,
                 "Bound the time of every row on a device: arithmetic at its peak, bytes at its "
                 "bandwidth. `onnxflops devices` has the names.");
  list->AddValue("--dtype", "D", &dtype, "What the device computes in: bf16, fp8, tf32, ...",
                 {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8", "int4"});
  devices_file.AddTo(list);
}

absl::StatusOr<std::optional<DeviceChoice>> RooflineArguments::Parse() const {
  if (device.empty()) {
    const char* alone = !dtype.empty()               ? "--dtype"
                        : !devices_file.file.empty() ? "--devices-file"
                                                     : nullptr;
    if (alone == nullptr) return std::nullopt;
    return absl::InvalidArgumentError(absl::StrCat(alone, " needs --device"));
  }
  ASSIGN_OR_RETURN(const std::vector<Device> own, devices_file.Parse());
  DeviceChoice choice;
  ASSIGN_OR_RETURN(choice.device, FindDevice(device, own));
  if (dtype.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device ", Escaped(choice.device.name),
                     " needs --dtype: ", "what it computes in, such as bf16"));
  }
  ASSIGN_OR_RETURN(choice.precision, ParsePrecision(dtype));
  RETURN_IF_ERROR(RooflineOf(choice.device, choice.precision).status());
  return choice;
}

}  // namespace onnxflops::tools
