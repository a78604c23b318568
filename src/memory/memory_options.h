// Options for counting memory.
#ifndef ONNXFLOPS_SRC_MEMORY_MEMORY_OPTIONS_H_
#define ONNXFLOPS_SRC_MEMORY_MEMORY_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/training/training_options.h"

namespace onnxflops {

// The order in which nodes run.
enum class ExecutionOrder : uint8_t {
  kFile,  // of the file
  kOrt,   // ONNX Runtime's default: depth first from the last nodes
};
absl::string_view OrderName(ExecutionOrder order);  // "file", "ort"

// The largest size at which the model fits into so many bytes.
struct FitRequest {
  absl::int128 bytes = 0;
  std::string symbol;  // "": batch, or the symbol of the first axis of an input
};
// "80GiB", "24GB", "500000", "80GiB:seq". InvalidArgument for anything else.
absl::StatusOr<FitRequest> ParseFit(absl::string_view text);

struct MemoryOptions {
  ExecutionOrder order = ExecutionOrder::kFile;
  std::optional<FitRequest> fit;
  TrainingOptions training;  // what a training step saves
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MEMORY_MEMORY_OPTIONS_H_
