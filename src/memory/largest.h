// The largest of sums with open sizes.
#ifndef ONNXFLOPS_SRC_MEMORY_LARGEST_H_
#define ONNXFLOPS_SRC_MEMORY_LARGEST_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "src/base/limits.h"
#include "src/memory/tensor_bytes.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/samples.h"

namespace onnxflops::memory {

inline constexpr size_t kMaxShownSums = 8;  // that a peak has as one expression

// What is always at least as much as what. Asked of sums that differ in the same, as those of a
// graph under several rules do, it is worked out once.
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

// Sums of which none is always at most another.
class Largest {
 public:
  explicit Largest(Comparisons* comparisons) : comparisons_(comparisons) {}

  void Add(const BytesSum& bytes) {
    const Expr& sum = bytes.expr();
    if (sum.is_literal() && largest_literal_ && sum.literal() <= *largest_literal_) return;
    if (too_many_ || sum == last_) return;
    last_ = sum;
    const Samples samples = bytes.samples();
    if (above_ < sums_.size() && IsAtLeast(above_, sum, samples)) return;
    for (size_t i = 0; i < sums_.size(); ++i) {
      if (i == above_ || !IsAtLeast(i, sum, samples)) continue;
      above_ = i;
      return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < sums_.size(); ++i) {
      if (samples.MayBeAtLeast(samples_[i]) && comparisons_->AtLeast(sum, sums_[i])) continue;
      Move(i, kept++);
    }
    Keep(kept);
    sums_.push_back(sum);
    samples_.push_back(samples);
    if (sum.is_literal()) largest_literal_ = sum.literal();
    too_many_ = sums_.size() > kMaxPeakSums;
    if (too_many_) Keep(0);
  }

  // Drops sums that are at most a mean of two around them: one of these is at least as large. Of a
  // step, what is kept shrinks from block to block as gradients grow, so that most sums are such.
  void DropMiddle() {
    for (bool dropped = true; dropped;) {
      dropped = false;
      for (size_t i = 1; i + 1 < sums_.size(); ++i) {
        if (!IsBelowMean(i) && !IsBelowHalf(i)) continue;
        sums_.erase(sums_.begin() + static_cast<std::ptrdiff_t>(i));
        samples_.erase(samples_.begin() + static_cast<std::ptrdiff_t>(i--));
        dropped = true;
      }
    }
  }

  bool too_many() const { return too_many_; }
  const std::vector<Expr>& sums() const { return sums_; }
  std::optional<Expr> AsOne() const {
    if (too_many_ || sums_.size() > kMaxShownSums) return std::nullopt;
    Expr most = 0;
    for (const Expr& sum : sums_) most = Max(most, sum);
    return most;
  }

 private:
  static constexpr size_t kAround = 12;
  static constexpr int kParts = 16;  // means are looked at in steps of so many

  bool IsAtLeast(size_t i, const Expr& sum, const Samples& samples) const {
    return samples_[i].MayBeAtLeast(samples) && comparisons_->AtLeast(sums_[i], sum);
  }

  // Whether sum i is at most a mean of its two neighbours, looked at in steps of 1 / kParts.
  bool IsBelowMean(size_t i) const {
    for (int part = 1; part < kParts; ++part) {
      if (IsBelow(i, i - 1, part, i + 1, kParts - part)) return true;
    }
    return false;
  }

  // A block gives several sums: those of the same place in the blocks around it stand further off.
  bool IsBelowHalf(size_t i) const {
    for (size_t before = 1; before <= std::min(kAround, i); ++before) {
      for (size_t after = 1; after <= kAround && i + after < sums_.size(); ++after) {
        if (IsBelow(i, i - before, 1, i + after, 1)) return true;
      }
    }
    return false;
  }

  // sums_[i] <= (part_a * sums_[a] + part_b * sums_[b]) / (part_a + part_b).
  bool IsBelow(size_t i, size_t a, int part_a, size_t b, int part_b) const {
    Samples whole;
    whole.Add(samples_[i], part_a + part_b);
    Samples mean;
    mean.Add(samples_[a], part_a);
    mean.Add(samples_[b], part_b);
    if (!mean.MayBeAtLeast(whole)) return false;
    const Expr sum = part_a * sums_[a] + part_b * sums_[b];
    return comparisons_->AtLeast(sum, (part_a + part_b) * sums_[i]);
  }

  void Move(size_t from, size_t to) {
    if (from == to) return;
    sums_[to] = std::move(sums_[from]);
    samples_[to] = samples_[from];
  }
  void Keep(size_t count) {
    sums_.resize(count);
    samples_.resize(count);
  }

  Comparisons* comparisons_;
  std::vector<Expr> sums_;
  std::vector<Samples> samples_;  // of each
  std::optional<absl::int128> largest_literal_;
  size_t above_ = 0;  // of sums_: what the last one was below, which the next one may be as well
  Expr last_ = -1;
  bool too_many_ = false;
};

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_LARGEST_H_
