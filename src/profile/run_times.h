// Times of kernels in the runs that count.
#ifndef ONNXFLOPS_SRC_PROFILE_RUN_TIMES_H_
#define ONNXFLOPS_SRC_PROFILE_RUN_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "src/profile/measured.h"
#include "src/profile/profile_report.h"

namespace onnxflops::profile {

// The mean of the two middle values, rounded down; all 0 for an empty list. `zeros`: this many
// values of 0 in addition to the given ones, which are 0 or more.
TimeSpread SpreadOf(std::vector<int64_t> values, size_t zeros = 0);

// Leaves out the first runs, and those whose sizes are not the last run's.
class RunTimes {
 public:
  RunTimes(const Profile& profile, int64_t warmup);

  int64_t warmup() const { return warmup_; }
  int64_t other_sizes() const { return other_sizes_; }
  int64_t used() const { return static_cast<int64_t>(runs_.size()); }
  // The run whose time is the median, from call to return if known; of two in the middle the
  // faster. Every time of "a run" is taken from this one, so that times add up.
  int32_t median_run() const { return median_run_; }
  bool IsUsed(int32_t run) const { return place_[static_cast<size_t>(run)] >= 0; }

  std::optional<TimeSpread> Wall() const;
  TimeSpread Kernels() const;
  // For the median run. nullopt if unknown, or if kernels ran in parallel.
  std::optional<int64_t> Outside() const;
  // In the median run; all 0 if it does not execute the kernel.
  KernelSample SampleOf(int32_t kernel) const;

  // For one kernel, or several together; 0 in a run that does not execute it.
  TimeSpread TimeOf(absl::Span<const int32_t> kernels) const;
  TimeSpread CallsOf(int32_t kernel) const;
  TimeSpread BodiesOf(int32_t kernel) const;

 private:
  template <typename Get>
  TimeSpread Spread(absl::Span<const int32_t> kernels, Get get) const;

  const Profile& profile_;
  int64_t warmup_ = 0, other_sizes_ = 0;
  int32_t median_run_ = -1;
  std::vector<int32_t> runs_;   // that count
  std::vector<int32_t> place_;  // by run: in runs_, or -1
};

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_RUN_TIMES_H_
