// Joins a runtime's profile with the costs of its model, as the command `profile` does.
//
//   absl::StatusOr<Profile> profile = ReadProfileText(text, "p.json");
//   ProfileOptions options;
//   options.optimized = *Load("model.optimized.onnx");
//   absl::StatusOr<ProfileReport> report = JoinProfile(*model, *profile, options);
//   report->groups[0].work.flops_per_second()   // of the kernel that takes longest
#ifndef ONNXFLOPS_SRC_API_PROFILE_H_
#define ONNXFLOPS_SRC_API_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/estimate/estimate_report.h"
#include "src/graph/model.h"
#include "src/hardware/device.h"
#include "src/profile/counters.h"
#include "src/profile/layer_info.h"
#include "src/profile/measured.h"
#include "src/profile/profile_report.h"
#include "src/profile/read_profile.h"

namespace onnxflops {

struct ProfileOptions {
  // Sizes that are bound here are not looked for in the profile.
  CountOptions count;
  // The graph that was executed: SessionOptions.optimized_model_filepath of ONNX Runtime. Without,
  // kernels are joined by the names of nodes.
  std::optional<Model> optimized;
  int64_t warmup = 1;  // runs at the beginning that do not count
  // The peak: of a device, or in FLOP/s. CountOptions::on_device is not used.
  std::optional<DeviceChoice> device;
  double peak = 0;
  // Measurements of hardware counters, and the number of runs that they cover.
  std::optional<Counters> counters;
  int64_t counter_runs = 1;
  // The ratio of measured to counted FLOPs from an earlier estimate, and its file.
  std::optional<Calibration> calibration;
  std::string calibration_file;
};

// Errors: those of Count; FailedPrecondition if the profile does not show a size, has no run after
// the warm-up, or the device has no such peak.
absl::StatusOr<ProfileReport> JoinProfile(const Model& model, const Profile& profile,
                                          const ProfileOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_PROFILE_H_
