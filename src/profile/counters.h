// Reads FLOPs measured by hardware counters, kernel by kernel, from the CSV of a profiler.
//
// Nsight Compute (ncu --csv --print-units base): per type fadd + fmul + 2 x ffma of
// smsp__sass_thread_inst_executed_op_*_pred_on.sum, and sm__ops_path_tensor_*.sum, which counts
// operations. A list with a metric per line, or --page raw with a metric per column.
//
// rocprof: 64 x (SQ_INSTS_VALU_ADD + MUL + TRANS + 2 x FMA) per type, and 512 x
// SQ_INSTS_VALU_MFMA_MOPS, by the ROCm Compute Profiler's documentation for MI200 and later.
#ifndef ONNXFLOPS_SRC_PROFILE_COUNTERS_H_
#define ONNXFLOPS_SRC_PROFILE_COUNTERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/profile/profile_report.h"
#include "src/profile/read_profile.h"

namespace onnxflops {

struct CountedKernel {
  std::string name;
  absl::int128 flops = 0;  // of all its launches
};

struct Counters {
  std::string path;
  std::string source;                  // "Nsight Compute", "rocprof"
  std::vector<CountedKernel> kernels;  // by name, in the order of the file
  absl::int128 flops = 0;              // of all
};

// Errors name the file: InvalidArgument for any other CSV, and for counters of instructions whose
// operations are unknown (sm__inst_executed_pipe_tensor); OutOfRange for a limit.
absl::StatusOr<Counters> ReadCounters(ByteSource source, absl::string_view name);
absl::StatusOr<Counters> ReadCountersText(absl::string_view text, absl::string_view name);

// Fills in ProfileReport::counters from a file that covers `runs` runs. A kernel of the file
// matches a kernel of the profile with its name, or with the name of its only node.
void AddCounters(const Counters& counters, int64_t runs, ProfileReport* report);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_PROFILE_COUNTERS_H_
