// How it works. A calibration is a measured figure divided by our count at the sizes of the
// measurement. If counting fails at these sizes but works without them, they are the error. Sizes
// that the call does not give are those of the measurement.
#include "src/settings/estimate_arguments.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/load/input_file.h"
#include "src/report/report.h"
#include "src/settings/value.h"

namespace onnxflops::settings {
namespace {

absl::StatusOr<std::string> ReadJson(absl::string_view name, const std::string& file) {
  absl::StatusOr<std::string> text = ReadTextFile(file, kMaxConfigBytes);
  if (text.ok()) return text;
  return BadValue(name, file, text.status().message());
}

// The measured model, counted at the sizes of the measurement.
absl::StatusOr<Calibration> MakeCalibration(const std::string& file,
                                            EstimateArguments::LoadMeasured load,
                                            CountOptions options) {
  ASSIGN_OR_RETURN(const std::string text, ReadJson("calibrate", file));
  ASSIGN_OR_RETURN(const Measurement measured, ParseMeasurement(text, file));
  options.bindings = measured.sizes;
  options.tokens.reset();
  options.mask_sum.reset();
  ASSIGN_OR_RETURN(const Model model, load(options));
  const auto about_file = [&](const absl::Status& fault) {
    return WithMessage(fault, absl::StrCat(Escaped(file), ": bindings: ", fault.message()));
  };
  const absl::StatusOr<Report> report = Count(model, options);
  if (!report.ok()) {
    // If the model can be counted without them, the sizes of the measurement are wrong.
    options.bindings.clear();
    return Count(model, options).ok() ? about_file(report.status()) : report.status();
  }
  absl::StatusOr<Calibration> calibration = Calibrate(measured, *report);
  if (!calibration.ok() && !report->totals.lower_bound) return about_file(calibration.status());
  return calibration;
}

}  // namespace

void EstimateArguments::AddTo(Table* list) {
  sizes.AddTo(list);
  causal.AddTo(list);
  tied.AddTo(list);
  list->AddValue("calibrate", "FILE", &calibrate,
                 "FLOPs that were measured, as JSON; of one model.");
  list->AddValue("calibration", "FILE", &calibration,
                 "Show calibrated figures by the calibration in an earlier estimate.");
}

absl::StatusOr<CountOptions> EstimateArguments::Options() const {
  ASSIGN_OR_RETURN(CountOptions options, sizes.Parse());
  ASSIGN_OR_RETURN(options.causal, causal.Parse());
  ASSIGN_OR_RETURN(options.tied, tied.Parse());
  return options;
}

absl::StatusOr<std::optional<Calibration>> EstimateArguments::FindCalibration(
    LoadMeasured load, CountOptions* options) const {
  if (!calibrate.empty() && !calibration.empty()) {
    return absl::InvalidArgumentError(
        WithSettings("{calibrate} and {calibration}: one of them gives the ratio"));
  }
  if (!calibrate.empty()) {
    ASSIGN_OR_RETURN(Calibration made, MakeCalibration(calibrate, load, *options));
    // Sizes that nobody gives are those of the measurement.
    const bool given = options->tokens || options->mask_sum || !options->bindings.empty();
    if (!given) options->bindings = made.measured.sizes;
    return std::optional(std::move(made));
  }
  if (calibration.empty()) return std::optional<Calibration>();
  ASSIGN_OR_RETURN(const std::string text, ReadJson("calibration", calibration));
  ASSIGN_OR_RETURN(Calibration read, ParseCalibration(text, calibration));
  return std::optional(std::move(read));
}

}  // namespace onnxflops::settings
