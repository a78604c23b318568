#include "src/infer/require_symbols.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

namespace {

constexpr size_t kListed = 12;
// Up to so many comparisons are cheaper than a table.
constexpr size_t kFewComparisons = 64;

absl::Status NoSymbol(absl::string_view name, absl::Span<const SymbolOrigin> symbols) {
  std::string text = absl::StrCat("no symbol is named ", Escaped(QuotedSymbol(name)));
  if (symbols.empty()) {
    return absl::InvalidArgumentError(
        text +
        "; the model has none: its export fixed every size, and torch.onnx.export leaves "
        "those open that dynamic_shapes= (dynamo=True) or dynamic_axes= names");
  }
  std::vector<std::string> names;
  for (const SymbolOrigin& symbol : symbols) names.push_back(symbol.name);
  absl::StrAppend(&text, DidYouMean(name, names));
  absl::StrAppend(&text, text.back() == '?' ? " symbols: " : "; symbols: ");
  for (size_t i = 0; i < std::min(kListed, symbols.size()); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Escaped(symbols[i].name));
  }
  if (symbols.size() > kListed) {
    absl::StrAppend(&text, " and ", symbols.size() - kListed, " more");
  }
  return absl::InvalidArgumentError(text);
}

// The symbol that is written like this, or nullptr.
const SymbolOrigin* Written(absl::string_view name, absl::Span<const SymbolOrigin> symbols) {
  const auto it = std::find_if(symbols.begin(), symbols.end(),
                               [&](const SymbolOrigin& s) { return s.name == name; });
  return it == symbols.end() ? nullptr : &*it;
}

}  // namespace

absl::StatusOr<Bindings> ResolveSymbols(const Bindings& typed,
                                        absl::Span<const SymbolOrigin> symbols) {
  Bindings resolved;
  Bindings others;
  const bool few = typed.size() * symbols.size() <= kFewComparisons;
  for (const auto& [text, size] : typed) {
    const std::string name = TypedSymbol(text);
    (few && Written(name, symbols) != nullptr ? resolved : others)[name] = size;
  }
  if (others.empty()) return resolved;
  absl::flat_hash_map<std::string, absl::string_view> names;
  for (const SymbolOrigin& s : symbols) names.try_emplace(s.name, s.name);
  for (const SymbolOrigin& s : symbols) names.try_emplace(TypedSymbol(BareName(s.name)), s.name);
  for (const auto& [name, size] : others) {
    const auto known = names.find(name);
    if (known == names.end()) return NoSymbol(name, symbols);
    resolved.emplace(known->second, size);
  }
  return resolved;
}

}  // namespace onnxflops
