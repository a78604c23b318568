// Two columns of CSV with times: the device and the type that they are of.
#ifndef ONNXFLOPS_SRC_REPORT_DEVICE_COLUMNS_H_
#define ONNXFLOPS_SRC_REPORT_DEVICE_COLUMNS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "src/cost/roofline.h"
#include "src/render/text_table.h"
#include "src/report/report.h"

namespace onnxflops::report {

inline void AddDeviceColumns(TextTable* table) {
  for (const char* title : {"device", "dtype"}) table->columns.push_back({title});
}

// Both are "" where a row has no times.
inline void AddDeviceCells(absl::string_view device, absl::string_view dtype, TextTable::Row* row) {
  row->cells.emplace_back(device);
  row->cells.emplace_back(dtype);
}

inline std::string DeviceName(const Report& report) {
  return report.roofline ? report.roofline->device : "";
}
inline std::string DtypeName(const Report& report) {
  return report.roofline ? std::string(PrecisionName(report.roofline->precision)) : "";
}

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_DEVICE_COLUMNS_H_
