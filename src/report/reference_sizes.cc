#include "src/report/reference_sizes.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "src/graph/symbol_origin.h"

namespace onnxflops::report {

Bindings ReferenceSizes(const Report& report) {
  Bindings sizes;
  for (const SymbolOrigin& s : report.symbols) {
    const bool batch = s.kind != SymbolOrigin::Kind::kInput || s.axis == 0;
    sizes[s.name] = batch ? 1 : 128;
    if (batch || !s.at_most) continue;
    if (const auto most = s.at_most->AsInt64()) sizes[s.name] = std::min<int64_t>(128, *most);
  }
  for (const SymbolOrigin& s : report.symbols) {
    if (!s.sum) continue;
    const absl::StatusOr<absl::int128> size = s.sum->Evaluate(sizes);
    if (size.ok()) sizes[s.name] = static_cast<int64_t>(*size);
  }
  return sizes;
}

std::optional<absl::int128> ReferenceValues::Of(const Expr& expr) const {
  if (expr.is_literal()) return expr.literal();
  const auto [it, is_new] = known_.try_emplace(expr);
  if (is_new) {
    const absl::StatusOr<absl::int128> value = expr.Evaluate(sizes_);
    if (value.ok()) it->second = *value;
  }
  return it->second;
}

}  // namespace onnxflops::report
