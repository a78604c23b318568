#include "src/symbolic/symbol_bounds.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "src/symbolic/poly.h"

namespace onnxflops {

Bindings SymbolBounds(const Expr& expr) {
  Bindings bounds;
  std::vector<Expr> left = {expr};
  while (!left.empty()) {
    const Expr next = std::move(left.back());
    left.pop_back();
    if (next.is_literal() || next.error() != nullptr) continue;
    for (const symbolic::Term& term : symbolic::TermsOf(next)) {
      for (const symbolic::Factor& factor : term.factors) {
        const symbolic::Atom& atom = *factor.atom;
        if (atom.kind == symbolic::Kind::kSymbol) {
          bounds.emplace(atom.name, static_cast<int64_t>(atom.range.lo.value_or(0)));
        } else {
          left.insert(left.end(), atom.args.begin(), atom.args.end());
        }
      }
    }
  }
  return bounds;
}

}  // namespace onnxflops
