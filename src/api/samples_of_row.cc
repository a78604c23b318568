#include "src/api/samples_of_row.h"

#include <utility>

#include "absl/status/statusor.h"
#include "src/api/samples.h"
#include "src/training/training_options.h"

namespace onnxflops {

std::optional<SamplesReport> SamplesOfRow(const Model& model, const CountOptions& options) {
  if (!options.samples || options.samples->layout != Samples::Layout::kOneRow) return std::nullopt;
  CountOptions packed = options;
  packed.samples->layout = Samples::Layout::kPacked;
  packed.memory.reset();
  packed.on_device.reset();
  packed.activation_peak = packed.upper_bounds = false;
  if (packed.training) packed.training = WithoutRecomputation(*packed.training);
  absl::StatusOr<Report> counted = Count(model, packed);
  if (!counted.ok()) return std::nullopt;
  std::optional<SamplesReport> samples = std::move(counted->samples);
  if (samples) samples->as_row = true;
  return samples;
}

}  // namespace onnxflops
