// Sizes of tensors, each computed once, and sums of them.
#ifndef ONNXFLOPS_SRC_MEMORY_TENSOR_BYTES_H_
#define ONNXFLOPS_SRC_MEMORY_TENSOR_BYTES_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/numeric/int128.h"
#include "ops/rules.h"
#include "src/graph/fact.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/point_values.h"

namespace onnxflops::memory {

// With samples, unless it is a number that is small enough to be its own.
struct Bytes {
  Expr expr;
  std::shared_ptr<const PointValues> samples;
};

// A sum of bytes with many additions and subtractions.
class BytesSum {
 public:
  void Add(const Bytes& bytes, int times = 1) {
    if (times == 1) {
      expr_ += bytes.expr;
    } else {
      expr_ = times == -1 ? expr_ - bytes.expr : expr_ + bytes.expr * times;
    }
    if (bytes.samples != nullptr) {
      open_.Add(*bytes.samples, times);
    } else {
      literal_ += bytes.expr.literal() * times;
    }
  }
  void Take(const Bytes& bytes) { Add(bytes, -1); }

  const Expr& expr() const { return expr_; }
  PointValues samples() const {
    PointValues all = open_;
    all.Add(literal_);
    return all;
  }

 private:
  Expr expr_;
  PointValues open_;
  absl::int128 literal_ = 0;
};

class TensorBytes {
 public:
  // As formulas; with `at`, as numbers at these sizes.
  explicit TensorBytes(const Bindings* at = nullptr) : at_(at) {}

  // nullptr: not known.
  const Bytes* Of(const Fact& fact) {
    const auto [it, is_new] = known_.try_emplace(&fact);
    if (is_new && fact.is_tensor()) {
      if (const absl::StatusOr<Expr> bytes = BytesOf(fact); bytes.ok()) it->second = Make(*bytes);
    }
    return it->second ? &*it->second : nullptr;
  }
  // nullopt: it has no number at these sizes.
  std::optional<Bytes> Make(const Expr& bytes) {
    if (bytes.is_literal() && PointValues::IsSmall(bytes.literal())) return Bytes{bytes, nullptr};
    if (at_ != nullptr) {
      const absl::StatusOr<absl::int128> value = bytes.Evaluate(*at_);
      if (!value.ok()) return std::nullopt;
      if (PointValues::IsSmall(*value)) return Bytes{Expr(*value), nullptr};
      return Bytes{Expr(*value), std::make_shared<const PointValues>(Expr(*value))};
    }
    std::shared_ptr<const PointValues>& samples = samples_[bytes];
    if (samples == nullptr) samples = std::make_shared<const PointValues>(bytes);
    return Bytes{bytes, samples};
  }

 private:
  const Bindings* const at_;
  absl::node_hash_map<const Fact*, std::optional<Bytes>> known_;
  absl::flat_hash_map<Expr, std::shared_ptr<const PointValues>> samples_;
};

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_TENSOR_BYTES_H_
