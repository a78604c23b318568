// MFU and HFU of a training run, from the model's graph and the time of a step.
//
//   MfuOptions options;
//   options.count.bindings = {{"batch", 512}};   // the global batch
//   options.rate.step_seconds = 0.412;
//   options.devices = 8;
//   options.device = *FindDevice("h100-sxm");
//   options.precision = Precision::kBf16;
//   absl::StatusOr<MfuReport> report = CountMfu(*model, options);
//   report->mfu
//
// For every step of a training loop, count once and keep Report::totals.training_flops: its
// Evaluate gives the FLOPs at another batch or length, and Utilisation divides. Both take less than
// a microsecond. (Report::At evaluates all totals.)
#ifndef ONNXFLOPS_SRC_API_MFU_H_
#define ONNXFLOPS_SRC_API_MFU_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/convention/formulas.h"
#include "src/hardware/device.h"
#include "src/hardware/utilisation.h"
#include "src/mfu/mfu_report.h"

namespace onnxflops {

struct MfuOptions {
  // Sizes of a step of all devices, divided by `grad_accumulation`. `training` chooses the exact
  // backward pass instead of twice forward; the scores that flash attention computes again are in
  // `recompute_flops`. `module` and `node_rows` are not used.
  CountOptions count;
  StepRate rate;
  int64_t devices = 1;
  // Replaces the batch in `count.bindings`: the batch of one device in one run of the model.
  std::optional<int64_t> batch_per_device;
  int64_t grad_accumulation = 1;  // runs of the model before the optimizer's step
  // The peak: of a device in this precision, or in FLOP/s.
  std::optional<Device> device;
  std::optional<Precision> precision;
  double peak = 0;
  std::string convention;        // the figure of another tool, times 3, is the headline
  FormulaParameters parameters;  // given values override those of the model
  std::optional<absl::int128> measured_flops;  // of a step, by hardware counters of all devices
};

// Errors: those of Count; FailedPrecondition if a size of the model is open or the peak is unknown;
// InvalidArgument for rates that contradict each other.
absl::StatusOr<MfuReport> CountMfu(const Model& model, const MfuOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_MFU_H_
