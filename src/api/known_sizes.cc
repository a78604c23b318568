#include "src/api/known_sizes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status_macros.h"
#include "src/graph/symbol_origin.h"
#include "src/infer/require_symbols.h"
#include "src/symbolic/expr.h"

namespace onnxflops {
namespace {

absl::StatusOr<Report> CountBy(const Model& model, const CountOptions& options,
                               const std::string& convention) {
  return convention.empty() ? Count(model, options) : CountAs(model, options, convention);
}

bool IsOfInput(const SymbolOrigin& symbol) {
  return symbol.kind == SymbolOrigin::Kind::kInput && !symbol.sum;
}

// Sizes of inputs come first, since others follow from them.
void AddFill(const std::vector<SymbolOrigin>& symbols, int64_t fill, Bindings* bindings) {
  const bool has_inputs = std::any_of(symbols.begin(), symbols.end(), IsOfInput);
  for (const SymbolOrigin& symbol : symbols) {
    if (has_inputs && !IsOfInput(symbol)) continue;
    const std::optional<int64_t> most = symbol.at_most ? symbol.at_most->AsInt64() : std::nullopt;
    bindings->emplace(symbol.name, std::min(fill, most.value_or(fill)));
  }
}

// A given size may add new symbols, for example those of the branch that is then taken.
constexpr int kMostRounds = 8;

absl::StatusOr<Report> Filled(const Model& model, CountOptions options,
                              const std::string& convention, int64_t fill, Report report) {
  for (int round = 0; round < kMostRounds && !report.symbols.empty(); ++round) {
    AddFill(report.symbols, fill, &options.bindings);
    ASSIGN_OR_RETURN(report, CountBy(model, options, convention));
  }
  return report;
}

// Those of `typed` that a symbol of the model has; the names of the others go to `missing`.
Bindings Known(const Bindings& typed, const std::vector<SymbolOrigin>& symbols,
               std::vector<std::string>* missing) {
  Bindings known;
  for (const auto& [name, size] : typed) {
    if (ResolveSymbols({{name, size}}, symbols).ok()) {
      known.emplace(name, size);
    } else {
      missing->push_back(name);
    }
  }
  return known;
}

}  // namespace

absl::StatusOr<Report> CountKnownSizes(const Model& model, const CountOptions& options,
                                       const std::string& convention, std::optional<int64_t> fill,
                                       std::vector<std::string>* missing) {
  CountOptions known = options;
  absl::StatusOr<Report> report = CountBy(model, known, convention);
  if (!report.ok() && !options.bindings.empty()) {
    known.bindings.clear();
    const absl::StatusOr<Report> open = Count(model, known);
    if (!open.ok()) return report;
    known.bindings = Known(options.bindings, open->symbols, missing);
    if (!missing->empty()) report = CountBy(model, known, convention);
  }
  if (!report.ok() || !fill) return report;
  return Filled(model, std::move(known), convention, *fill, *std::move(report));
}

}  // namespace onnxflops
