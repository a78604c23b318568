#include "src/profile/run_times.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace onnxflops::profile {

TimeSpread SpreadOf(std::vector<int64_t> values, size_t zeros) {
  const size_t all = values.size() + zeros;
  if (all == 0) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](size_t i) { return i < zeros ? 0 : values[i - zeros]; };
  const int64_t upper = at(all / 2);
  const int64_t lower = all % 2 == 1 ? upper : at(all / 2 - 1);
  return {lower + (upper - lower) / 2, at(0), at(all - 1)};
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
  if (runs_.empty()) return;
  std::vector<int32_t> by_time = runs_;
  const auto key = [&](int32_t run) {
    const ProfileRun& r = profile.runs[static_cast<size_t>(run)];
    return std::pair(r.wall_ns > 0 ? r.wall_ns : r.kernel_ns, r.kernel_ns);
  };
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](int32_t a, int32_t b) { return key(a) < key(b); });
  median_run_ = by_time[(by_time.size() - 1) / 2];
}

// A kernel has a sample only for runs that execute it, ordered by run.
template <typename Get>
TimeSpread RunTimes::Spread(absl::Span<const int32_t> kernels, Get get) const {
  std::vector<std::pair<int32_t, int64_t>> samples;
  for (const int32_t kernel : kernels) {
    for (const KernelSample& sample : profile_.kernels[static_cast<size_t>(kernel)].samples) {
      if (IsUsed(sample.run)) samples.emplace_back(sample.run, get(sample));
    }
  }
  if (kernels.size() > 1) std::sort(samples.begin(), samples.end());
  std::vector<int64_t> values;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (i > 0 && samples[i].first == samples[i - 1].first) {
      values.back() = std::min(values.back() + samples[i].second, int64_t{1} << 60);
    } else {
      values.push_back(samples[i].second);
    }
  }
  const size_t zeros = runs_.size() - values.size();
  return SpreadOf(std::move(values), zeros);
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
  if (median_run_ < 0) return std::nullopt;
  const ProfileRun& run = profile_.runs[static_cast<size_t>(median_run_)];
  if (run.wall_ns < run.kernel_ns) return std::nullopt;
  return run.wall_ns - run.kernel_ns;
}

KernelSample RunTimes::SampleOf(int32_t kernel) const {
  const std::vector<KernelSample>& samples = profile_.kernels[static_cast<size_t>(kernel)].samples;
  const auto it = std::lower_bound(samples.begin(), samples.end(), median_run_,
                                   [](const KernelSample& s, int32_t run) { return s.run < run; });
  return it != samples.end() && it->run == median_run_ ? *it : KernelSample{.run = median_run_};
}

TimeSpread RunTimes::TimeOf(absl::Span<const int32_t> kernels) const {
  return Spread(kernels, [](const KernelSample& s) { return s.ns; });
}

TimeSpread RunTimes::CallsOf(int32_t kernel) const {
  return Spread(absl::MakeConstSpan(&kernel, 1),
                [](const KernelSample& s) { return int64_t{s.calls}; });
}

TimeSpread RunTimes::BodiesOf(int32_t kernel) const {
  return Spread(absl::MakeConstSpan(&kernel, 1),
                [](const KernelSample& s) { return int64_t{s.bodies}; });
}

}  // namespace onnxflops::profile
