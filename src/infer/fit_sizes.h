// Adjusts sizes that a file fixes and that do not fit its inputs. This is the first half of
// counting a model at another image size than it was exported for (src/adapter/at_image.h).
//
// Two kinds of constants follow the inputs: the sizes that Reshape reads, and a constant that is
// added to (or multiplied with, ...) tokens or pixels, such as positions. A layer whose weights fix
// the size still fails.
#ifndef ONNXFLOPS_SRC_INFER_FIT_SIZES_H_
#define ONNXFLOPS_SRC_INFER_FIT_SIZES_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/graph/fact.h"

namespace onnxflops::infer {

// The first input and output of a node in the export; nullptr where not known.
struct Reshaped {
  const Fact* input = nullptr;
  const Fact* output = nullptr;
};

// The inputs of an operator of domain "" with one of them changed: the content of a Reshape's
// target, or the shape of a constant. nullopt if nothing changes.
std::optional<std::vector<Fact>> FitSizes(absl::string_view op_type,
                                          absl::Span<const Fact* const> inputs,
                                          const Reshaped& exported);

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_FIT_SIZES_H_
