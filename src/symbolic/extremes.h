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

  // True if the expression contains one of the sizes.
  bool Varies(const Expr& e) const;
  // An upper or lower bound of `e` for all values of the sizes and of other symbols within their
  // ranges; it contains none of the sizes. nullopt if no bound is known. Not always the tightest
  // one, because terms are treated separately.
  std::optional<Expr> Highest(const Expr& e) const;
  std::optional<Expr> Lowest(const Expr& e) const;
  // The same where terms without a bound stay as they are.
  Expr HighestKnown(const Expr& e) const;

 private:
  const SizeBounds bounds_;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_EXTREMES_H_
