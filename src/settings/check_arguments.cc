#include "src/settings/check_arguments.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/api/load.h"
#include "src/base/limit_error.h"
#include "src/base/status_macros.h"
#include "src/base/utc_time.h"
#include "src/profile/profile_file.h"

namespace onnxflops::settings {

void CheckArguments::AddTo(Table* list) {
  AddMaxTo(list);
  AddMeasuredTo(list);
  sizes.AddTo(list);
  causal.AddTo(list);
  training.AddBackwardTo(list);
  rate.AddTo(list);
  roofline.AddTo(list);
}

void CheckArguments::AddMaxTo(Table* list) {
  list->AddValues("max", "QUANTITY=LIMIT", &limits,
                  "A limit, as \"flops=400 GFLOP\", or \"params=+2%\" relative to {against}; on "
                  "modules, as \"visual.*:macs=16 GMAC\".");
}

void CheckArguments::AddMeasuredTo(Table* list) {
  list->AddValue("profile", "FILE", &profile,
                 "A profile of a run of the model, for [profile]: see onnxflops profile.");
  list->AddValue("optimized", "FILE", &optimized, "The graph that ran, of {profile}.");
}

absl::StatusOr<CountOptions> CheckArguments::Counted() const {
  absl::StatusOr<CountOptions> sized = sizes.Parse();
  if (LimitOf(sized.status()) == "sweep-points") {
    return WithMessage(sized.status(),
                       absl::StrCat(sized.status().message(),
                                    "; a range in [at] of a file of budgets may have any number"));
  }
  RETURN_IF_ERROR(sized.status());
  CountOptions options = *std::move(sized);
  ASSIGN_OR_RETURN(options.causal, causal.Parse());
  ASSIGN_OR_RETURN(options.training, training.Parse());
  // A file of devices by itself is for budgets on mfu.
  if (!roofline.device.empty() || !roofline.dtype.empty()) {
    ASSIGN_OR_RETURN(options.on_device, roofline.Parse());
  }
  return options;
}

absl::Status CheckArguments::Measure(CheckOptions* options) const {
  StepRate step;
  RETURN_IF_ERROR(rate.Parse(&step, &options->num_devices));
  if (rate.given()) options->rate = step;
  if (!profile.empty()) options->profile = ReadProfileFile(profile);
  if (!optimized.empty()) options->optimized = LoadFor(optimized, options->count);
  options->today = TimeInUtc(kDayFormat);
  return absl::OkStatus();
}

}  // namespace onnxflops::settings
