// What several parts of a Monitor ask of a record.
#ifndef ONNXFLOPS_SRC_MONITOR_RECORD_SIZES_H_
#define ONNXFLOPS_SRC_MONITOR_RECORD_SIZES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/monitor/step_log.h"

namespace onnxflops::monitor {

// The product, unless it is beyond 128 bits.
std::optional<absl::int128> Times(absl::int128 a, absl::int128 b);

// The size that the record gives under the first of these names that it has.
std::optional<int64_t> SizeNamed(const StepRecord& record,
                                 absl::Span<const absl::string_view> names);
std::optional<int64_t> SamplesOf(const StepRecord& record);
std::optional<int64_t> LengthOf(const StepRecord& record);

// "there is no batch", or the value that is none: "batch is -2, which is no size".
std::string Missing(const StepRecord& record, const std::string& name);

// "seq = 2000: the model has positions for at most 1024".
std::string BeyondPositions(absl::string_view symbol, int64_t size, int64_t most);

// The name of a field in the log, for messages.
std::string NameOf(const StepRecord& record, absl::string_view means);

}  // namespace onnxflops::monitor

#endif  // ONNXFLOPS_SRC_MONITOR_RECORD_SIZES_H_
