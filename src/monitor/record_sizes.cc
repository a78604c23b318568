#include "src/monitor/record_sizes.h"

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::monitor {

std::optional<absl::int128> Times(absl::int128 a, absl::int128 b) {
  const Expr product = Expr(a) * Expr(b);
  return product.error() == nullptr ? std::optional(product.literal()) : std::nullopt;
}

std::optional<int64_t> SizeNamed(const StepRecord& record,
                                 absl::Span<const absl::string_view> names) {
  for (const absl::string_view name : names) {
    const auto it = record.sizes.find(std::string(name));
    if (it != record.sizes.end()) return it->second;
  }
  return std::nullopt;
}

std::optional<int64_t> SamplesOf(const StepRecord& record) {
  return record.samples ? record.samples : SizeNamed(record, {"batch"});
}

std::string NameOf(const StepRecord& record, absl::string_view means) {
  const auto name = record.names.find(means);
  return name == record.names.end() ? "" : Escaped(name->second);
}

std::optional<int64_t> LengthOf(const StepRecord& record) {
  return SizeNamed(record, {"seq", "seq_len", "seq_length", "sequence_length"});
}

std::string Missing(const StepRecord& record, const std::string& name) {
  const auto other = record.no_sizes.find(name);
  if (other == record.no_sizes.end()) return absl::StrCat("there is no ", Escaped(name));
  return absl::StrCat(Escaped(name), " is ", other->second, ", which is no size");
}

std::string BeyondPositions(absl::string_view symbol, int64_t size, int64_t most) {
  return absl::StrCat(Escaped(BareName(symbol)), " = ", size,
                      ": the model has positions for at most ", most);
}

}  // namespace onnxflops::monitor
