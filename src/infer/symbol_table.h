// The symbols of one inference: dimensions of inputs, and sizes that depend on data.
#ifndef ONNXFLOPS_SRC_INFER_SYMBOL_TABLE_H_
#define ONNXFLOPS_SRC_INFER_SYMBOL_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/graph/fact.h"
#include "src/graph/model.h"
#include "src/graph/symbol_origin.h"
#include "src/infer/frame.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/extremes.h"

namespace onnxflops::infer {

// Makes and remembers symbols, and substitutes the user's bindings. Owns the names: no two symbols
// have the same name, and the same dimension or place gets the same symbol again. Symbols are
// identified by their written names (symbol_name.h).
class SymbolTable {
 public:
  // Reads the user's bindings, by names as typed. InvalidArgument if a name is bound to two sizes,
  // or to a negative one. A name that is not the written form of a symbol also binds the symbol
  // with this name in the file, and the one whose written form without quotes it is.
  absl::Status Take(const Bindings& typed);
  // The name of an input's dimension, the same at every call. A name that is too long is cut.
  std::string NameOf(const DeclaredDim& dim, absl::string_view input, int axis);
  // REQUIRES: called for the names of all inputs' dimensions before others are asked for.
  void Announce(const std::string& name);
  // The symbol of an input's dimension, also if it is bound; the same name again is the same
  // symbol.
  Expr InputDim(const std::string& name, absl::string_view input, int axis);
  // The symbol of a dimension that is limited by a number, "min(past, 63)", even if it never
  // appears alone. Other texts are ignored.
  void InputDimAtMost(absl::string_view text, absl::string_view input, int axis);
  // "past + seq" is the sum of two input dimensions if both also appear alone; nullopt for any
  // other name. Contains no bound values.
  std::optional<Expr> FormulaOfDim(absl::string_view text) const;
  // The size that the file declares for a tensor inside the model: a size of inputs, or a symbol of
  // that name that depends on data. REQUIRES: dim.name is not empty.
  Expr DimInside(const DeclaredDim& dim, absl::string_view tensor, int axis);
  // A new symbol `hint(place)`, or the one made before for this place, output and axis.
  // `tensor` is the output's name, `inner`: made inside a body or a function. It is at most the
  // largest of `at_most`, at any call for it; without any, no bound is known.
  Expr Fresh(SymbolOrigin::Kind kind, absl::string_view hint, const Place& place, int output,
             absl::string_view tensor, int axis, bool inner, absl::Span<const Expr> at_most);
  // Notes that a value of the main graph has this dimension, so that a user can look up a symbol
  // made inside a body there.
  void ComesOut(const Expr& dim, absl::string_view tensor, int axis);
  bool Knows(const std::string& name) const { return origins_.contains(name); }
  // Notes that a node takes no other size of an input's dimension. The first note of a name counts.
  void TakesOnly(const std::string& name, int64_t size, NodeId node);
  // The size to which the user bound the name.
  std::optional<int64_t> BoundTo(const std::string& name);
  // The bindings used so far, and those whose name fits no symbol yet.
  const Bindings& bound() const { return bound_; }
  Bindings Unmet() const;
  // Binds a symbol whose value follows from another binding.
  void Bind(const std::string& name, int64_t value) { derived_[name] = value; }
  int64_t fresh_uses() const { return fresh_uses_; }
  size_t size() const { return order_.size(); }
  const std::vector<OnlySize>& only_sizes() const { return only_sizes_; }
  // All symbols that are left open, in order of appearance, with their bounds.
  std::vector<SymbolOrigin> Open() const;

 private:
  void Bound(const std::string& name, absl::Span<const Expr> at_most);
  // The bounds of sizes inside of the model, in sizes of inputs.
  SizeBounds SolveBounds() const;
  Expr BoundOr(const std::string& name, int64_t at_least);
  bool IsTaken(const std::string& name) const {
    return origins_.contains(name) || bare_.contains(name);
  }

  Bindings typed_;                        // by the user
  absl::flat_hash_set<std::string> met_;  // of typed_, those that a symbol was found for
  Bindings bound_;
  Bindings derived_;
  absl::flat_hash_set<std::string> announced_;
  absl::flat_hash_set<std::string> bare_;  // of announced names, as they may be typed
  int64_t fresh_uses_ = 0;                 // how often a data-dependent symbol was asked for
  std::vector<std::string> order_;
  absl::flat_hash_map<std::string, SymbolOrigin> origins_;
  std::vector<OnlySize> only_sizes_;
  SizeBounds bounds_;                       // of symbols made by Fresh, in symbols of all kinds
  absl::flat_hash_set<std::string> inner_;  // those whose origin is inside a body so far
  absl::flat_hash_map<std::string, std::string> by_place_;
  absl::flat_hash_map<std::string, int> last_number_;  // of names that were made before
  absl::flat_hash_map<std::string, std::string> cut_;
};

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_SYMBOL_TABLE_H_
