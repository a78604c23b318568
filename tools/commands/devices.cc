// onnxflops devices: the table of peaks, with sources.
#include <string>
#include <utility>
#include <vector>

#include "src/base/status_macros.h"
#include "src/devices/device_report.h"
#include "src/hardware/device.h"
#include "src/settings/device_arguments.h"
#include "tools/cli/output.h"
#include "tools/cli/output_arguments.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandDevicesHelp = {
    "onnxflops devices [NAME...] [options]",
    R"(Lists devices with their dense peaks, memory and bandwidth. With names, every
figure of these devices, its source, and what other sources say. A figure
without a source is not there. Names and aliases (such as
torch.cuda.get_device_name() has them) are matched as a whole, never in part.
)",
    R"(  All of them:
    onnxflops devices
  Where the figures of one come from:
    onnxflops devices h100-sxm
  Beside the datasheet, what somebody measured:
    onnxflops devices --achievable
  With devices of your own:
    onnxflops devices --devices-file my_devices.toml
)"};

struct DevicesArguments {
  std::vector<std::string> names;
  settings::DevicesFileArgument devices_file;
  OutputArguments output;
  bool achievable = false;

  void AddTo(OptionList* list) {
    list->AddPositional("NAME", &names);
    devices_file.AddTo(list);
    list->AddFlag("achievable", &achievable,
                  "Show the best matrix product that was measured, where one is known.");
    output.AddTo(list);
  }
};

// The named devices; without names all of them, the user's first.
absl::StatusOr<std::vector<Device>> Selected(const DevicesArguments& args) {
  ASSIGN_OR_RETURN(std::vector<Device> own, args.devices_file.Parse());
  std::vector<Device> devices;
  for (const std::string& name : args.names) {
    ASSIGN_OR_RETURN(Device device, FindDevice(name, own));
    devices.push_back(std::move(device));
  }
  if (!args.names.empty()) return devices;
  own.insert(own.end(), AllDevices().begin(), AllDevices().end());
  return own;
}

absl::StatusOr<ExitCode> RunDevices(const DevicesArguments& args) {
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const std::vector<Device> devices, Selected(args));
  const TextTable table =
      args.names.empty() ? DeviceTable(devices, args.achievable) : PeakTable(devices);
  std::string text;
  if (format == Format::kJson) {
    text = DevicesToJson(devices);
  } else if (format == Format::kCsv) {
    text = DrawCsv(table);
  } else {
    Document document;
    document.Add(Document::Table{table});
    text = RowOf(format).draw(document, style);
  }
  RETURN_IF_ERROR(WriteOutput(text, args.output.file, {args.devices_file.file}));
  return kFine;
}

}  // namespace

Command DevicesCommand() {
  return CommandOf<DevicesArguments, kCommandDevicesHelp, RunDevices>(
      "devices", "[NAME...]", "peaks of devices, with the source of every figure");
}

}  // namespace onnxflops::tools
