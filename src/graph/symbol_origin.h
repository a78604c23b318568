// Where a symbol of a result comes from.
#ifndef ONNXFLOPS_SRC_GRAPH_SYMBOL_ORIGIN_H_
#define ONNXFLOPS_SRC_GRAPH_SYMBOL_ORIGIN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "src/symbolic/expr.h"

namespace onnxflops {

struct SymbolOrigin {
  enum class Kind : uint8_t {
    kInput,
    kData,       // depends on the content of tensors
    kSizes,      // follows from sizes and constants alone, but no formula was found
    kRepeats,    // how often the axis repeats the node's input
    kMachine,    // depends on the processor
    kTrips,      // changes from trip to trip of a loop
    kTripCount,  // how often a Loop runs
  };
  std::string name;  // as it is written: see src/symbolic/symbol_name.h
  Kind kind = Kind::kInput;
  std::string value;  // the tensor whose dimension it is; of a trip count, the Loop's first output
  int axis = 0;
  // An upper bound in sizes of inputs; nullopt if none is known. Dimensions of inputs have none.
  std::optional<Expr> at_most;
  // For a size that covers a decoder's past and new tokens, such as its mask's: the sum of both. An
  // assumed size takes this value.
  std::optional<Expr> sum;
  // The past of a decoder: it may also be 0, as for a prompt.
  bool is_past = false;
};

// A node takes one size only of a dimension that the file declares as open.
struct OnlySize {
  std::string symbol;
  int64_t size = 0;
  int32_t node = 0;  // NodeId
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_GRAPH_SYMBOL_ORIGIN_H_
