#include "src/settings/profile_arguments.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/api/load.h"
#include "src/base/limits.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/estimate/estimate_report.h"
#include "src/load/input_file.h"
#include "src/profile/profile_file.h"
#include "src/settings/value.h"

namespace onnxflops::settings {
namespace {

absl::StatusOr<Calibration> ReadCalibrationFile(const std::string& file) {
  const absl::StatusOr<std::string> text = ReadTextFile(file, kMaxReportBytes);
  if (text.ok()) return ParseCalibration(*text, file);
  return InFile("calibration", file, text.status());
}

absl::Status ReadLayers(const std::string& file, Profile* profile) {
  if (file.empty()) return absl::OkStatus();
  if (profile->source != ProfileSource::kTensorRt) {
    return BadValue("layers", file,
                    absl::StrCat("the profile is of ", SourceName(profile->source),
                                 "; only TensorRT has layers"));
  }
  const absl::StatusOr<std::string> text = ReadTextFile(file, kMaxReportBytes);
  if (text.ok()) return AddLayerInfo(*text, file, profile);
  return InFile("layers", file, text.status());
}

}  // namespace

void ProfileArguments::AddRunTo(Table* list) {
  list->AddValue("optimized", "FILE", &optimized,
                 "The graph that ran: what SessionOptions.optimized_model_filepath writes. "
                 "Fused kernels then join with the nodes that they stand for.");
  list->AddValue("layers", "FILE", &layers,
                 "What TensorRT's layers stand for: the JSON of trtexec --exportLayerInfo.");
  list->AddValue("warmup", "N", &warmup, "Leave out the first N runs. Default: 1.");
}

void ProfileArguments::AddMeasuresTo(Table* list) {
  roofline.AddTo(list);
  list->AddValue("peak", "FLOPS", &peak, "FLOP/s of the device, as 312G or 312e9.");
  list->AddValue("counters", "FILE.csv", &counters,
                 "FLOPs by hardware counters, beside the counted ones: the CSV of Nsight Compute "
                 "or rocprof.");
  list->AddValue("counter-runs", "N", &counter_runs,
                 "How many runs of the model the counters are of. Default: 1.");
  list->AddValue("calibration", "FILE", &calibration,
                 "Also show the count times the ratio that `onnxflops estimate {calibrate}` "
                 "stored.");
  sizes.AddTo(list);
}

void ProfileArguments::AddTo(Table* list) {
  AddRunTo(list);
  AddMeasuresTo(list);
}

absl::StatusOr<ProfileOptions> ProfileArguments::Options() const {
  ProfileOptions options;
  ASSIGN_OR_RETURN(options.count, sizes.Parse());
  int runs = 0;
  RETURN_IF_ERROR(ParseWhole("warmup", warmup, &runs));
  options.warmup = runs;
  ASSIGN_OR_RETURN(options.peak, ParsePeakRate(peak));
  ASSIGN_OR_RETURN(options.device, roofline.Parse());
  ASSIGN_OR_RETURN(options.counter_runs, ParsePositiveWhole("counter-runs", counter_runs));
  if (!counters.empty()) {
    ASSIGN_OR_RETURN(options.counters, ReadCountersFile(counters));
  }
  if (!calibration.empty()) {
    ASSIGN_OR_RETURN(options.calibration, ReadCalibrationFile(calibration));
    options.calibration_file = calibration;
  }
  if (options.device && options.peak > 0) {
    return absl::InvalidArgumentError(
        WithSettings("{device} and {peak}: one of them gives the peak"));
  }
  return options;
}

absl::StatusOr<ProfileReport> ProfileArguments::Join(const Model& model, const std::string& profile,
                                                     ProfileOptions options, bool events) const {
  if (!optimized.empty()) {
    ASSIGN_OR_RETURN(options.optimized, LoadFor(optimized, options.count));
  }
  ASSIGN_OR_RETURN(Profile read, ReadProfileFile(profile, {.events = events}));
  RETURN_IF_ERROR(ReadLayers(layers, &read));
  return JoinProfile(model, read, options);
}

}  // namespace onnxflops::settings
