#include "src/api/known_sizes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/api/analysis.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/graph/symbol_origin.h"
#include "src/infer/require_symbols.h"
#include "src/memory/kv_cache.h"
#include "src/symbolic/expr.h"

namespace onnxflops {
namespace {

absl::StatusOr<Report> CountBy(const Model& model, const CountOptions& options,
                               const std::string& convention) {
  return convention.empty() ? Count(model, options) : CountAs(model, options, convention);
}

// Sets the open sizes of a model, those of inputs first, since others follow from them. If the
// model refuses some, halving finds which: these stay open.
class Filler {
 public:
  Filler(const Model& model, CountOptions options, const std::string& convention, int64_t fill)
      : model_(model), options_(std::move(options)), convention_(convention), fill_(fill) {}

  absl::StatusOr<Report> Fill(Report report) {
    FindDecoderOf(report);
    // A given size may add new symbols, for example those of the branch that is then taken.
    for (int round = 0; round < kMostRounds; ++round) {
      const Bindings next = Next(report);
      if (next.empty()) break;
      RETURN_IF_ERROR(Take({next.begin(), next.end()}, &report));
    }
    WarnOfOpen(&report);
    return report;
  }

 private:
  using Sizes = std::vector<std::pair<std::string, int64_t>>;
  static constexpr int kMostRounds = 8;
  static constexpr int kMostCounts = 64;
  static constexpr size_t kMostNamed = 5;

  // A mask covers past and new tokens, so its size cannot be set like another.
  void FindDecoderOf(const Report& report) {
    if (std::none_of(report.symbols.begin(), report.symbols.end(),
                     [](const SymbolOrigin& symbol) { return symbol.sum.has_value(); })) {
      return;
    }
    CountOptions open = options_;
    open.bindings.clear();
    const absl::StatusOr<Analysis> analysis = Analyze(model_, open, open.causal, false);
    if (!analysis.ok()) return;
    absl::StatusOr<Decoder> decoder = FindDecoder(analysis->inference);
    if (decoder.ok()) decoder_ = *std::move(decoder);
  }

  // True if its size is that of others, which are not all known yet.
  bool Follows(const SymbolOrigin& symbol) const {
    return symbol.sum || std::count(decoder_.equal.begin(), decoder_.equal.end(), symbol.name) > 0;
  }

  // What can be set now: sizes of inputs, and others if no input has one.
  Bindings Next(const Report& report) const {
    const Bindings following = FollowingSizes(decoder_, report.bindings);
    Bindings of_inputs, others;
    for (const SymbolOrigin& symbol : report.symbols) {
      if (refused_.contains(symbol.name) || symbol.kind == SymbolOrigin::Kind::kMachine) continue;
      const auto known = following.find(symbol.name);
      if (known != following.end()) {
        of_inputs.insert(*known);
      } else if (symbol.kind != SymbolOrigin::Kind::kInput) {
        const std::optional<int64_t> most =
            symbol.at_most ? symbol.at_most->AsInt64() : std::nullopt;
        others.emplace(symbol.name, std::min(fill_, most.value_or(fill_)));
      } else if (!Follows(symbol)) {
        of_inputs.emplace(symbol.name, fill_);
      }
    }
    return of_inputs.empty() ? others : of_inputs;
  }

  absl::Status Take(const Sizes& sizes, Report* report) {
    absl::Status status = absl::InvalidArgumentError("");
    if (counts_++ < kMostCounts) {
      CountOptions with = options_;
      with.bindings.insert(sizes.begin(), sizes.end());
      absl::StatusOr<Report> counted = CountBy(model_, with, convention_);
      status = counted.status();
      if (counted.ok()) {
        *report = *std::move(counted);
        options_ = std::move(with);
      }
    }
    if (!absl::IsInvalidArgument(status)) return status;
    if (sizes.size() == 1 || counts_ >= kMostCounts) {
      for (const auto& [name, size] : sizes) refused_.insert(name);
      return absl::OkStatus();
    }
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    RETURN_IF_ERROR(Take({sizes.begin(), middle}, report));
    return Take({middle, sizes.end()}, report);
  }

  void WarnOfOpen(Report* report) const {
    std::vector<std::string> machine, others;
    for (const SymbolOrigin& symbol : report->symbols) {
      const bool is_machine = symbol.kind == SymbolOrigin::Kind::kMachine;
      (is_machine ? machine : others).push_back(Escaped(symbol.name));
    }
    const auto warn = [&](std::vector<std::string> names, absl::string_view why) {
      if (names.empty()) return;
      const size_t more = names.size() - std::min(names.size(), kMostNamed);
      names.resize(names.size() - more);
      report->warnings.push_back(
          absl::StrCat("not set to ", fill_, ": ", absl::StrJoin(names, ", "),
                       more > 0 ? absl::StrCat(" and ", more, " more") : "", ", ", why));
    };
    warn(std::move(machine), "which depends on the processor");
    warn(std::move(others), "which does not fit this model");
  }

  const Model& model_;
  CountOptions options_;
  const std::string& convention_;
  const int64_t fill_;
  Decoder decoder_;
  int counts_ = 0;
  absl::btree_set<std::string> refused_;
};

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
    // A size that the model fixes has a binding of its own.
    std::vector<SymbolOrigin> symbols = open->symbols;
    for (const auto& [name, size] : open->bindings) symbols.push_back({.name = name});
    known.bindings = Known(options.bindings, symbols, missing);
    if (!missing->empty()) report = CountBy(model, known, convention);
  }
  if (!report.ok() || !fill) return report;
  return Filler(model, std::move(known), convention, *fill).Fill(*std::move(report));
}

absl::StatusOr<CompareReport> CompareKnownSizes(const Model& model, const CountOptions& options,
                                                const CompareRequest& request,
                                                std::vector<std::string>* missing) {
  absl::StatusOr<CompareReport> report = CompareTools(model, options, request);
  if (report.ok() || options.bindings.empty()) return report;
  CountOptions known = options;
  known.bindings.clear();
  const absl::StatusOr<Report> open = Count(model, known);
  if (!open.ok()) return report;
  known.bindings = Known(options.bindings, open->symbols, missing);
  return missing->empty() ? report : CompareTools(model, known, request);
}

}  // namespace onnxflops
