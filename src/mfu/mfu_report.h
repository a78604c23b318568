// The report of `mfu`: FLOPs of a training step, utilisation, and the figures of other formulas.
#ifndef ONNXFLOPS_SRC_MFU_MFU_REPORT_H_
#define ONNXFLOPS_SRC_MFU_MFU_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "src/hardware/utilisation.h"
#include "src/render/document.h"
#include "src/report/samples_report.h"
#include "src/report/view_options.h"

namespace onnxflops {

// One way to compute the FLOPs of a step.
struct MfuFormula {
  std::string name;  // "exact", "2x", "6n", "palm", "megatron", "nanogpt", "thop", ...
  std::string text;  // "6 N tokens"
  std::string source;
  std::optional<absl::int128> flops_per_step;
  bool lower_bound = false;  // a part is not counted
  std::string missing;       // why there is no figure; else empty
  std::vector<std::pair<std::string, int64_t>> parameters;
  // With samples: whose length T is, "longest sample", "row" or "each sample"; and the setting of
  // the program whose formula it is.
  std::string length_of, length_setting;
  // What it adds up from, if it is of a part of the model: our figure of this part, and what
  // differs.
  std::vector<std::pair<std::string, absl::int128>> terms;
  double mfu = 0, hfu = 0;
  bool chosen = false;  // the one of MfuReport::mfu
};

struct MfuReport {
  std::string model;  // its path
  // For one step, over all runs of gradient accumulation.
  absl::int128 forward_flops = 0, backward_flops = 0, training_flops = 0, recompute_flops = 0;
  absl::int128 optimizer_flops = 0;
  bool lower_bound = false;
  std::vector<std::pair<std::string, int64_t>> bindings;
  int64_t grad_accumulation = 1;
  std::optional<int64_t> batch;          // of a run of the model, on all devices
  bool batch_is_fixed = false;           // by the file
  bool batch_is_other = false;           // than that: CountOptions::batch gave it
  std::optional<SamplesReport> samples;  // that were summed, of a run of the model
  double step_seconds = 0;
  double achieved_flops_per_second = 0;  // of the model, per device
  double peak_flops_per_second = 0;      // per device
  // The roof: of the device's memory, and FLOPs per byte of the forward pass of one device,
  // operator by operator; nullopt if devices share samples.
  std::optional<double> bytes_per_second, flops_per_byte;
  int64_t devices = 1;
  std::string device, dtype, peak_source;  // device "" for a peak of the user's own
  std::vector<std::string> other_peaks;    // peaks from other sources
  double mfu = 0, hfu = 0;
  std::string counted;  // kind of the figure: "exact", "2x", or a convention
  // From hardware counters, if given.
  std::optional<absl::int128> measured_flops;
  double measured_to_counted = 0, measured_hfu = 0;
  std::vector<MfuFormula> formulas;
  std::vector<std::string> notes;  // likely causes of odd figures
};

Document ToDocument(const MfuReport& report);
std::string ToCsv(const MfuReport& report);
// A page that needs nothing else.
std::string ToHtml(const MfuReport& report);
// "onnxflops.mfu/1".
std::string ToJson(const MfuReport& report);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MFU_MFU_REPORT_H_
