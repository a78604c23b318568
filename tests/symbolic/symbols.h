// What tests of expressions share.
#ifndef ONNXFLOPS_TESTS_SYMBOLIC_SYMBOLS_H_
#define ONNXFLOPS_TESTS_SYMBOLIC_SYMBOLS_H_

#include <ostream>

#include "src/symbolic/expr.h"

namespace onnxflops {

// For the messages of EXPECT_EQ.
inline void PrintTo(const Expr& e, std::ostream* out) { *out << e.ToString(); }

// Dimensions (at least 1) and a data-dependent size (at least 0).
inline Expr N() { return Expr::Symbol("n", 1); }
inline Expr M() { return Expr::Symbol("m", 1); }
inline Expr K() { return Expr::Symbol("k", 1); }
inline Expr Z() { return Expr::Symbol("z", 0); }

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_SYMBOLIC_SYMBOLS_H_
