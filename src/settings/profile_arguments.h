// The settings of a profile: what is joined with a model, and the peak.
#ifndef ONNXFLOPS_SRC_SETTINGS_PROFILE_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_PROFILE_ARGUMENTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/api/profile.h"
#include "src/graph/model.h"
#include "src/settings/device_arguments.h"
#include "src/settings/size_arguments.h"
#include "src/settings/table.h"

namespace onnxflops::settings {

struct ProfileArguments {
  SizeArguments sizes;
  RooflineArguments roofline;
  std::string optimized, layers, warmup = "1", peak;
  std::string counters, counter_runs = "1", calibration;

  // The run that the profile is of.
  void AddRunTo(Table* list);
  // What it is held to.
  void AddMeasuresTo(Table* list);
  void AddTo(Table* list);
  absl::StatusOr<ProfileOptions> Options() const;

  // The profile of the file `profile`, joined with the model. Single events are kept on request.
  absl::StatusOr<ProfileReport> Join(const Model& model, const std::string& profile,
                                     ProfileOptions options, bool events = false) const;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_PROFILE_ARGUMENTS_H_
