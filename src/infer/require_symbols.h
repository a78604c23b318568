// The symbols that a user means by the names of bindings.
#ifndef ONNXFLOPS_SRC_INFER_REQUIRE_SYMBOLS_H_
#define ONNXFLOPS_SRC_INFER_REQUIRE_SYMBOLS_H_

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/infer/infer.h"

namespace onnxflops {

// The bindings by the written names of `symbols` (symbol_name.h). A name as it was typed is such a
// name; else the file's own name of a dimension, or a written name without its quotes.
// InvalidArgument for the first that no symbol has; it lists some that are there.
absl::StatusOr<Bindings> ResolveSymbols(const Bindings& typed,
                                        absl::Span<const SymbolOrigin> symbols);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_INFER_REQUIRE_SYMBOLS_H_
