// The least value of each symbol in an expression.
#ifndef ONNXFLOPS_SRC_SYMBOLIC_SYMBOL_BOUNDS_H_
#define ONNXFLOPS_SRC_SYMBOLIC_SYMBOL_BOUNDS_H_

#include "src/symbolic/expr.h"

namespace onnxflops {

// By name as written (symbol_name.h): what Expr::Symbol() was given as `at_least`.
Bindings SymbolBounds(const Expr& expr);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_SYMBOL_BOUNDS_H_
