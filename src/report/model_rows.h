// Several models in one table: a row per model.
#ifndef ONNXFLOPS_SRC_REPORT_MODEL_ROWS_H_
#define ONNXFLOPS_SRC_REPORT_MODEL_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/types/span.h"
#include "src/cost/amounts.h"
#include "src/render/document.h"
#include "src/render/text_table.h"
#include "src/report/report.h"
#include "src/report/view_options.h"

namespace onnxflops {

// A row has the derived quantities as well.
inline constexpr size_t kNumModelQuantities = kNumQuantities + std::size(kDerivedQuantities);

// The fields of a report that the table needs. It is small, so a thousand of them fit in memory.
struct ModelRow {
  std::string path;
  // Quantities in the order of kQuantities, then kDerivedQuantities. `exact` is a formula where
  // sizes are open, `shown` its value at `sizes`. Both have nothing for a quantity that another
  // tool's count does not have.
  std::array<std::string, kNumModelQuantities> exact;
  std::array<std::optional<absl::int128>, kNumModelQuantities> shown;
  std::array<bool, kNumModelQuantities> guessed{};  // `shown` rests on sizes inside of the model
  std::optional<absl::int128> integer_macs;         // which are no FLOPs, at `sizes`; nullopt: none
  int64_t nodes = 0, unknown = 0;
  bool lower_bound = false;
  bool open = false;  // the file leaves sizes open
  std::string sizes;  // "batch = 1, seq = 128": those given, and those that `shown` is at
  std::vector<std::string> positions;  // ModelInfo::positions
  std::string device, dtype;           // of times; "" without
};
ModelRow MakeModelRow(const Report& report);

// The note on figures that assume sizes inside a model.
inline constexpr char kGuessedNote[] =
    "* sizes inside of the model, which depend on data, are taken as 1: by itself a model has a "
    "range";

// By falling ViewOptions::sort, if that is a quantity. Models without a value come last; equal ones
// keep their order.
void SortRows(const ViewOptions& options, std::vector<ModelRow>* rows);

// For people: the main quantities, or those of ViewOptions::columns. That of ViewOptions::sort is
// among them.
TextTable ModelTable(absl::Span<const ModelRow> rows, const ViewOptions& options);
Document ToDocument(absl::Span<const ModelRow> rows, const ViewOptions& options);
// For programs: every quantity, or those of ViewOptions::columns, exact.
std::string ToCsv(absl::Span<const ModelRow> rows, const ViewOptions& options = {});

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_MODEL_ROWS_H_
