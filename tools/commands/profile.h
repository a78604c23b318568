// onnxflops profile, for the program and for Python.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_PROFILE_H_
#define ONNXFLOPS_TOOLS_COMMANDS_PROFILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/profile.h"
#include "src/graph/model.h"
#include "tools/cli/device_arguments.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"

namespace onnxflops::tools {

struct ProfileArguments {
  std::vector<std::string> files;
  SizeArguments sizes;
  RooflineArguments roofline;
  OutputArguments output;
  std::string optimized, warmup = "1", by = "module", depth, top, peak, sort = "time";
  std::string counters, counter_runs = "1", calibration, layers;
  bool strict = false;

  void AddTo(OptionList* list);
};

absl::StatusOr<ProfileOptions> ParseProfileOptions(const ProfileArguments& args);
absl::StatusOr<ProfileView> ParseProfileView(const ProfileArguments& args);

// The profile of the file `profile`, joined with the model. Single events are kept on request.
absl::StatusOr<ProfileReport> ProfileModel(const Model& model, const std::string& profile,
                                           const ProfileArguments& args, ProfileOptions options,
                                           bool events = false);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_PROFILE_H_
