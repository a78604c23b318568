// Memory of several models, or of one at several sizes: one row each.
#ifndef ONNXFLOPS_SRC_REPORT_MEMORY_ROWS_H_
#define ONNXFLOPS_SRC_REPORT_MEMORY_ROWS_H_

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/types/span.h"
#include "src/render/document.h"
#include "src/render/text_table.h"
#include "src/report/report.h"
#include "src/report/view_options.h"

namespace onnxflops {

struct MemoryFigure {
  const char* key;    // in CSV, as in JSON
  const char* title;  // for people
};
inline constexpr MemoryFigure kMemoryFigures[] = {
    {"param_bytes", "params"},        {"inference_peak_bytes", "inference peak"},
    {"training_saved_bytes", "kept"}, {"gradient_bytes", "gradients"},
    {"optimizer_bytes", "optimizer"}, {"training_bytes", "training"},
    {"kv_cache_bytes", "KV cache"},
};

// Small, so that a thousand of them fit in memory.
struct MemoryRow {
  struct Bytes {
    std::string exact;                  // a formula if sizes are open; else ""
    std::optional<absl::int128> shown;  // at `sizes`
    bool at_least = false;              // a part is unknown
    bool is_guess = false;              // a part is a guess: it may be more or less
    bool guessed = false;               // `shown` rests on sizes inside of the model
    friend bool operator==(const Bytes&, const Bytes&) = default;
  };
  std::string path;
  std::string sizes;  // "batch = 1": those given, and those that `shown` is at
  std::string given;  // "batch = 1": those given
  bool open = false;  // sizes are left open
  Bytes bytes[std::size(kMemoryFigures)];
  std::string at_node;                                    // of the peak
  std::vector<std::pair<std::string, std::string>> fits;  // "fit inference", "batch = 12"
  friend bool operator==(const MemoryRow&, const MemoryRow&) = default;
};

// REQUIRES: report.memory.
MemoryRow MakeMemoryRow(const Report& report);

Document ToDocument(absl::Span<const MemoryRow> rows, const ViewOptions& options);
// Exact figures: formulas where sizes are open.
std::string ToCsv(absl::Span<const MemoryRow> rows);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_MEMORY_ROWS_H_
