// The largest of sums with open sizes.
#ifndef ONNXFLOPS_SRC_MEMORY_LARGEST_H_
#define ONNXFLOPS_SRC_MEMORY_LARGEST_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "src/base/limits.h"
#include "src/symbolic/expr.h"

namespace onnxflops::memory {

inline constexpr size_t kMaxShownSums = 8;  // that a peak has as one expression

// Sums of which none is always at most another.
class Largest {
 public:
  void Add(const Expr& sum) {
    if (sum.is_literal() && largest_literal_ && sum.literal() <= *largest_literal_) return;
    if (too_many_ || sum == last_) return;
    last_ = sum;
    for (const Expr& other : sums_) {
      if (other.AtLeast(sum)) return;
    }
    const auto is_less = [&](const Expr& other) { return sum.AtLeast(other); };
    sums_.erase(std::remove_if(sums_.begin(), sums_.end(), is_less), sums_.end());
    sums_.push_back(sum);
    if (sum.is_literal()) largest_literal_ = sum.literal();
    too_many_ = sums_.size() > kMaxPeakSums;
    if (too_many_) sums_.clear();
  }

  // Drops sums that are at most a mean of their neighbours: one of these is at least as large. Of a
  // step, what is kept shrinks from block to block as gradients grow, so that most sums are such.
  void DropMiddle() {
    for (bool dropped = true; dropped;) {
      dropped = false;
      for (size_t i = 1; i + 1 < sums_.size(); ++i) {
        if (!IsBelowMean(sums_[i], sums_[i - 1], sums_[i + 1])) continue;
        sums_.erase(sums_.begin() + static_cast<std::ptrdiff_t>(i--));
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
  static constexpr int kParts = 16;  // means are looked at in steps of so many

  static bool IsBelowMean(const Expr& sum, const Expr& a, const Expr& b) {
    for (int part = 1; part < kParts; ++part) {
      if ((part * a + (kParts - part) * b).AtLeast(kParts * sum)) return true;
    }
    return false;
  }

  std::vector<Expr> sums_;
  std::optional<absl::int128> largest_literal_;
  Expr last_ = -1;
  bool too_many_ = false;
};

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_LARGEST_H_
