#include "src/infer/require_symbols.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

namespace {

constexpr size_t kListed = 12;
// Up to so many comparisons are cheaper than a table.
constexpr size_t kFewComparisons = 64;

// The settings that change a size which a file fixes, by the name that the user has for it. Without
// any symbol, both may be meant.
std::string OtherSettings(absl::string_view name, bool both) {
  const std::string lower = absl::AsciiStrToLower(name);
  const auto has = [&](absl::string_view word) { return absl::StrContains(lower, word); };
  const bool of_image = has("height") || has("width") || has("image");
  const bool of_batch = has("batch") || lower == "n" || lower == "b" || lower == "bs";
  const bool any = both && !of_image && !of_batch;
  std::string text;
  if (any || of_batch)
    text += WithSettings("; {at-batch 8} counts at another batch than the file's");
  if (any || of_image) text += WithSettings("; {at-image 336} counts at images of another size");
  return text;
}

absl::Status NoSymbol(absl::string_view name, absl::Span<const SymbolOrigin> symbols) {
  std::string text = absl::StrCat("no symbol is named ", Escaped(QuotedSymbol(name)));
  if (symbols.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        text,
        "; the model has none: its export fixed every size, and torch.onnx.export leaves "
        "those open that dynamic_shapes= (dynamo=True) or dynamic_axes= names",
        OtherSettings(name, true)));
  }
  std::vector<std::string> names;
  for (const SymbolOrigin& symbol : symbols) names.push_back(symbol.name);
  const std::string similar = DidYouMean(name, names);
  absl::StrAppend(&text, similar, similar.empty() ? "; symbols: " : " symbols: ");
  for (size_t i = 0; i < std::min(kListed, symbols.size()); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Escaped(symbols[i].name));
  }
  if (symbols.size() > kListed) {
    absl::StrAppend(&text, " and ", symbols.size() - kListed, " more");
  }
  if (!similar.empty()) return absl::InvalidArgumentError(text);
  return absl::InvalidArgumentError(absl::StrCat(text, OtherSettings(name, false)));
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
