#include "src/report/reference_sizes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/graph/symbol_origin.h"

namespace onnxflops::report {
namespace {

// Frames, height and width of a configuration's images in patches: an image of 448 x 448 pixels,
// where one of 128 patches in each direction would be a film.
constexpr std::pair<absl::string_view, int64_t> kImageSizes[] = {
    {"grid_t", 1}, {"grid_h", 32}, {"grid_w", 32}};
constexpr int64_t kSize = 128;  // of others, but 1 for a batch

int64_t UsualSize(absl::string_view symbol) {
  for (const auto& [name, size] : kImageSizes) {
    if (name == symbol) return size;
  }
  return kSize;
}

}  // namespace

Bindings ReferenceSizes(const Report& report) {
  Bindings sizes;
  for (const SymbolOrigin& s : report.symbols) {
    const bool batch = s.kind != SymbolOrigin::Kind::kInput || s.axis == 0;
    int64_t& size = sizes[s.name];
    size = batch ? 1 : UsualSize(s.name);
    if (batch || !s.at_most) continue;
    if (const auto most = s.at_most->AsInt64()) size = std::min(size, *most);
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
