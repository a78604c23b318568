// The largest of sums with open sizes.
#ifndef ONNXFLOPS_SRC_MEMORY_LARGEST_H_
#define ONNXFLOPS_SRC_MEMORY_LARGEST_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "src/base/limits.h"
#include "src/memory/tensor_bytes.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/point_values.h"

namespace onnxflops::memory {

inline constexpr size_t kMaxShownSums = 8;  // that a peak has as one expression

// Answers "is a always at least b?" and remembers the answers. Sums of one graph under several
// rules often have the same difference, so each difference is examined once.
class Comparisons {
 public:
  bool AtLeast(const Expr& a, const Expr& b) {
    const Expr difference = a - b;
    if (difference.is_literal()) return difference.literal() >= 0;
    if (difference.error() != nullptr) return false;
    if (known_.size() == kMaxKnown) known_.clear();
    const auto [it, is_new] = known_.try_emplace(difference, false);
    if (is_new) it->second = difference.AtLeast(0);
    return it->second;
  }

 private:
  static constexpr size_t kMaxKnown = 10'000;
  absl::flat_hash_map<Expr, bool> known_;
};

// Keeps sums of which none is always at most another, each with the place where it was found.
class Largest {
 public:
  explicit Largest(Comparisons* comparisons) : comparisons_(comparisons) {}

  void Add(const BytesSum& bytes, size_t place) {
    const Expr& sum = bytes.expr();
    if (sum.is_literal() && largest_literal_ && sum.literal() <= *largest_literal_) return;
    if (too_many_ || sum == last_) return;
    last_ = sum;
    const PointValues samples = bytes.samples();
    if (above_ < found_.size() && IsAtLeast(above_, sum, samples)) return;
    for (size_t i = 0; i < found_.size(); ++i) {
      if (i == above_ || !IsAtLeast(i, sum, samples)) continue;
      above_ = i;
      return;
    }
    std::erase_if(found_, [&](const Found& found) {
      return samples.MayBeAtLeast(found.samples) && comparisons_->AtLeast(sum, found.sum);
    });
    found_.push_back({sum, samples, place});
    if (sum.is_literal()) largest_literal_ = sum.literal();
    too_many_ = found_.size() > kMaxPeakSums;
    if (too_many_) found_.clear();
  }

  // Drops a sum that is at most the mean of two sums around it, because one of these is at least as
  // large. In a training step saved bytes shrink from block to block while gradients grow, so most
  // sums can be dropped.
  void DropMiddle() {
    for (bool dropped = true; dropped;) {
      dropped = false;
      for (size_t i = 1; i + 1 < found_.size(); ++i) {
        if (!IsBelowMean(i) && !IsBelowHalf(i)) continue;
        found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(i--));
        dropped = true;
      }
    }
  }

  bool too_many() const { return too_many_; }
  size_t size() const { return found_.size(); }
  std::vector<Expr> sums() const {
    std::vector<Expr> sums;
    for (const Found& found : found_) sums.push_back(found.sum);
    return sums;
  }
  std::vector<size_t> places() const {  // of each sum
    std::vector<size_t> places;
    for (const Found& found : found_) places.push_back(found.place);
    return places;
  }
  std::optional<Expr> AsOne() const {
    if (too_many_ || found_.size() > kMaxShownSums) return std::nullopt;
    Expr most = 0;
    for (const Found& found : found_) most = Max(most, found.sum);
    return most;
  }

 private:
  struct Found {
    Expr sum;
    PointValues samples;
    size_t place;
  };

  static constexpr size_t kAround = 12;
  static constexpr int kParts = 16;  // means are looked at in steps of so many

  bool IsAtLeast(size_t i, const Expr& sum, const PointValues& samples) const {
    return found_[i].samples.MayBeAtLeast(samples) && comparisons_->AtLeast(found_[i].sum, sum);
  }

  // True if sum i is at most a mean of its two neighbours, tested in steps of 1 / kParts.
  bool IsBelowMean(size_t i) const {
    for (int part = 1; part < kParts; ++part) {
      if (IsBelow(i, i - 1, part, i + 1, kParts - part)) return true;
    }
    return false;
  }

  // A block gives several sums, so sums at the same place of neighbouring blocks are several
  // positions apart.
  bool IsBelowHalf(size_t i) const {
    for (size_t before = 1; before <= std::min(kAround, i); ++before) {
      for (size_t after = 1; after <= kAround && i + after < found_.size(); ++after) {
        if (IsBelow(i, i - before, 1, i + after, 1)) return true;
      }
    }
    return false;
  }

  // sum i <= (part_a * sum a + part_b * sum b) / (part_a + part_b).
  bool IsBelow(size_t i, size_t a, int part_a, size_t b, int part_b) const {
    PointValues whole;
    whole.Add(found_[i].samples, part_a + part_b);
    PointValues mean;
    mean.Add(found_[a].samples, part_a);
    mean.Add(found_[b].samples, part_b);
    if (!mean.MayBeAtLeast(whole)) return false;
    const Expr sum = part_a * found_[a].sum + part_b * found_[b].sum;
    return comparisons_->AtLeast(sum, (part_a + part_b) * found_[i].sum);
  }

  Comparisons* comparisons_;
  std::vector<Found> found_;
  std::optional<absl::int128> largest_literal_;
  size_t above_ = 0;  // of found_: the sum above the last one, tried first for the next
  Expr last_ = -1;
  bool too_many_ = false;
};

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_LARGEST_H_
