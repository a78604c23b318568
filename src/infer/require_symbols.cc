#include "src/infer/require_symbols.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/quote.h"

namespace onnxflops {

namespace {

constexpr size_t kListed = 12;
// Up to so many comparisons are cheaper than a table.
constexpr size_t kFewComparisons = 64;

absl::Status NoSymbol(absl::string_view name, absl::Span<const SymbolOrigin> symbols) {
  std::string text = absl::StrCat("no symbol is named ", Quoted(name));
  if (symbols.empty()) return absl::InvalidArgumentError(text + "; the model has none");
  absl::StrAppend(&text, "; symbols: ");
  for (size_t i = 0; i < std::min(kListed, symbols.size()); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Escaped(symbols[i].name));
  }
  if (symbols.size() > kListed) {
    absl::StrAppend(&text, " and ", symbols.size() - kListed, " more");
  }
  return absl::InvalidArgumentError(text);
}

}  // namespace

absl::Status RequireSymbols(const Bindings& bindings, absl::Span<const SymbolOrigin> symbols) {
  absl::flat_hash_set<absl::string_view> names;
  const bool few = bindings.size() * symbols.size() <= kFewComparisons;
  for (size_t i = 0; !few && i < symbols.size(); ++i) names.insert(symbols[i].name);
  for (const auto& binding : bindings) {
    const absl::string_view name = binding.first;
    const bool known = few ? std::any_of(symbols.begin(), symbols.end(),
                                         [&](const SymbolOrigin& s) { return s.name == name; })
                           : names.contains(name);
    if (!known) return NoSymbol(name, symbols);
  }
  return absl::OkStatus();
}

}  // namespace onnxflops
