// Least and largest values of expressions, as expressions, if some symbols stand for sizes between
// bounds.
//
//   const Extremes extremes({{"nonzero(/head/NonZero)", 100 * batch}});
//   extremes.Highest(8 * nonzero + batch)   // 801*batch
//   extremes.Lowest(8 * nonzero + batch)    // batch
#ifndef ONNXFLOPS_SRC_SYMBOLIC_EXTREMES_H_
#define ONNXFLOPS_SRC_SYMBOLIC_EXTREMES_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// Symbols for sizes, with an upper bound for each; nullopt if none is known. The range of a symbol
// gives its lower bound. Other symbols stay in the results.
using SizeBounds = absl::flat_hash_map<std::string, std::optional<Expr>>;

class Extremes {
 public:
  // REQUIRES: no bound has a symbol that is a key.
  explicit Extremes(SizeBounds bounds) : bounds_(std::move(bounds)) {}

  // Whether one of the sizes is in it.
  bool Varies(const Expr& e) const;
  // Nowhere less than `e`, or nowhere more, for all values of the sizes and of other symbols within
  // their ranges; no size is in it. nullopt where no bound is known. Not always the least one:
  // every term counts for itself.
  std::optional<Expr> Highest(const Expr& e) const;
  std::optional<Expr> Lowest(const Expr& e) const;
  // The same where terms without a bound stay as they are.
  Expr HighestKnown(const Expr& e) const;

 private:
  const SizeBounds bounds_;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_EXTREMES_H_
