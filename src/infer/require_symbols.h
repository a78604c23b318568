// Whether the names that a user binds are there.
#ifndef ONNXFLOPS_SRC_INFER_REQUIRE_SYMBOLS_H_
#define ONNXFLOPS_SRC_INFER_REQUIRE_SYMBOLS_H_

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "src/infer/infer.h"

namespace onnxflops {

// InvalidArgument for the first name of `bindings` that no symbol has; it lists some that are
// there.
absl::Status RequireSymbols(const Bindings& bindings, absl::Span<const SymbolOrigin> symbols);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_INFER_REQUIRE_SYMBOLS_H_
