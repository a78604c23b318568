#include "src/profile/run_times.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace onnxflops::profile {

TimeSpread SpreadOf(std::vector<int64_t> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  const int64_t upper = values[half];
  const int64_t lower = values.size() % 2 == 1 ? upper : values[half - 1];
  return {lower + (upper - lower) / 2, values.front(), values.back()};
}

RunTimes::RunTimes(const Profile& profile, int64_t warmup)
    : profile_(profile), place_(profile.runs.size(), -1) {
  const auto all = static_cast<int64_t>(profile.runs.size());
  warmup_ = profile.averaged ? 0 : std::min(warmup, all);
  for (int64_t run = warmup_; run < all; ++run) {
    const auto i = static_cast<size_t>(run);
    if (profile.runs[i].sizes != profile.runs.back().sizes) {
      ++other_sizes_;
      continue;
    }
    place_[i] = static_cast<int32_t>(runs_.size());
    runs_.push_back(static_cast<int32_t>(run));
  }
}

template <typename Get>
std::vector<int64_t> RunTimes::Values(absl::Span<const int32_t> kernels, Get get) const {
  std::vector<int64_t> values(runs_.size());
  for (const int32_t kernel : kernels) {
    for (const KernelSample& sample : profile_.kernels[static_cast<size_t>(kernel)].samples) {
      const int32_t place = place_[static_cast<size_t>(sample.run)];
      if (place >= 0) {
        int64_t& value = values[static_cast<size_t>(place)];
        value = std::min(value + get(sample), int64_t{1} << 60);
      }
    }
  }
  return values;
}

std::optional<TimeSpread> RunTimes::Wall() const {
  std::vector<int64_t> values;
  for (const int32_t run : runs_) {
    const int64_t wall = profile_.runs[static_cast<size_t>(run)].wall_ns;
    if (wall == 0) return std::nullopt;
    values.push_back(wall);
  }
  if (values.empty()) return std::nullopt;
  return SpreadOf(std::move(values));
}

TimeSpread RunTimes::Kernels() const {
  std::vector<int64_t> values;
  for (const int32_t run : runs_) {
    values.push_back(profile_.runs[static_cast<size_t>(run)].kernel_ns);
  }
  return SpreadOf(std::move(values));
}

std::optional<int64_t> RunTimes::Outside() const {
  std::vector<int64_t> values;
  for (const int32_t id : runs_) {
    const ProfileRun& run = profile_.runs[static_cast<size_t>(id)];
    if (run.wall_ns < run.kernel_ns) return std::nullopt;
    values.push_back(run.wall_ns - run.kernel_ns);
  }
  if (values.empty()) return std::nullopt;
  return SpreadOf(std::move(values)).median_ns;
}

TimeSpread RunTimes::TimeOf(absl::Span<const int32_t> kernels) const {
  return SpreadOf(Values(kernels, [](const KernelSample& s) { return s.ns; }));
}

TimeSpread RunTimes::CallsOf(int32_t kernel) const {
  return SpreadOf(Values({kernel}, [](const KernelSample& s) { return int64_t{s.calls}; }));
}

TimeSpread RunTimes::BodiesOf(int32_t kernel) const {
  return SpreadOf(Values({kernel}, [](const KernelSample& s) { return int64_t{s.bodies}; }));
}

}  // namespace onnxflops::profile
