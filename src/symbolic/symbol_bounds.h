// The least value of each symbol in an expression.
#ifndef ONNXFLOPS_SRC_SYMBOLIC_SYMBOL_BOUNDS_H_
#define ONNXFLOPS_SRC_SYMBOLIC_SYMBOL_BOUNDS_H_

#include "src/symbolic/expr.h"

namespace onnxflops {

// By written name (symbol_name.h): the `at_least` of Expr::Symbol().
Bindings SymbolBounds(const Expr& expr);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_SYMBOL_BOUNDS_H_
