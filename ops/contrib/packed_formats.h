// Formats of weights that come as blocks of bytes: those that com.microsoft numbers as GGML does
// (the attribute packed_type and the like).
//
//   ASSIGN_OR_RETURN(const PackedFormat* format, FindPackedFormat(16));    // IQ2_XXS
//   cost.flops += UnpackingWork(*format, rows * 256);
#ifndef ONNXFLOPS_OPS_CONTRIB_PACKED_FORMATS_H_
#define ONNXFLOPS_OPS_CONTRIB_PACKED_FORMATS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/op_def.h"

namespace onnxflops {

struct PackedFormat {
  int64_t id = 0;
  const char* name = "";
  int64_t block = 1, bytes = 1;  // elements of a block, and what it takes
  int64_t group = 0;     // elements whose scale is in few bits, times that of the block; 0: none
  bool minimum = false;  // each group has a minimum as well, which is subtracted
  DType type = DType::kUndefined;  // for the label of a product
};

// Unimplemented: "packed_type 3 is not a format that is known".
absl::StatusOr<const PackedFormat*> FindPackedFormat(absl::string_view attribute, int64_t id);

// Whether a row of `elements` takes so many bytes. InvalidArgument: "bytes of a row of 256 in
// IQ2_XXS differs: 66 vs 74".
absl::Status CheckPackedRow(const NodeView& n, const PackedFormat& format, const Expr& elements,
                            const Expr& bytes);

// What it takes to make so many elements floating point: mul by the scale; of a group, mul for its
// scale, and for its minimum.
Census UnpackingWork(const PackedFormat& format, const Expr& elements);

// How many elements so many bytes of a packed weight hold, where its format says so and not the
// attribute bits.
struct Packing {
  int64_t elements = 0, bytes = 1;
  bool operator==(const Packing&) const = default;
};
// Of the weight at this input; no elements where the attribute bits says it.
Packing PackingOf(const Node& node, size_t input);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_CONTRIB_PACKED_FORMATS_H_
