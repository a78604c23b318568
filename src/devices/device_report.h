// The table of devices, as lists.
#ifndef ONNXFLOPS_SRC_DEVICES_DEVICE_REPORT_H_
#define ONNXFLOPS_SRC_DEVICES_DEVICE_REPORT_H_

#include <string>

#include "absl/types/span.h"
#include "src/hardware/device.h"
#include "src/render/text_table.h"

namespace onnxflops {

// A row per device: its peaks in TFLOP/s, blank without a source.
TextTable DeviceTable(absl::Span<const Device> devices, bool achievable);
// The figures one by one, with their sources, alternates included.
TextTable PeakTable(absl::Span<const Device> devices);
// "onnxflops.devices/1".
std::string DevicesToJson(absl::Span<const Device> devices);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_DEVICES_DEVICE_REPORT_H_
