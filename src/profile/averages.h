// Profiles that give a mean of all runs for each layer: TensorRT's and OpenVINO's.
#ifndef ONNXFLOPS_SRC_PROFILE_AVERAGES_H_
#define ONNXFLOPS_SRC_PROFILE_AVERAGES_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/byte_reader.h"
#include "src/profile/measured.h"

namespace onnxflops::profile {

// Milliseconds as nanoseconds. InvalidArgument below 0 and above kMaxProfileNs.
absl::StatusOr<int64_t> NanosecondsOf(double milliseconds);

// Collects layers.
class Averages {
 public:
  explicit Averages(Profile* profile) : out_(*profile) {}
  void BeginRun();
  // Layers with the same name are added. OutOfRange for a limit.
  absl::Status Add(std::string name, std::string op, int64_t ns);

 private:
  Profile& out_;
  absl::flat_hash_map<std::string, int32_t> kernels_;
};

// OpenVINO's benchmark_app -report_type detailed_counters, or average_counters: the columns
// layerName, execStatus, layerType, execType, realTime (ms) and cpuTime (ms), divided by semicolons
// or commas. The status is EXECUTED, NOT_RUN or OPTIMIZED_OUT, with "Status." before it where
// benchmark_app is the one in Python. Layers that were not executed have no row. After
// samples/cpp/benchmark_app/statistics_report.cpp and tools/benchmark_tool/.../statistics_report.py
// of OpenVINO. Errors do not name the file.
absl::StatusOr<Profile> ReadCountersCsv(ByteReader* bytes);

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_AVERAGES_H_
