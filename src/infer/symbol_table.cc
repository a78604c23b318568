// How it works. Every open size has a name: from the file, from an input and its axis, or, for a
// size that a node makes, from a hint and the node's place. The same place always gives the same
// symbol, so that a second inference of a body finds it again; if a name is taken by another place,
// a number is added. Names are cut, as they may come from the file and be repeated many times.
//
// --dim names are matched as they are written, else without quotes; names that matched nothing are
// reported by the caller. Sizes of data have upper bounds from operators, the largest of all that
// were given for the symbol. Bounds may refer to other symbols, so they are solved in a few passes
// in the order in which the symbols were made.
#include "src/infer/symbol_table.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/base/limits.h"
#include "src/base/utf8.h"
#include "src/symbolic/parse.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::infer {

namespace {

// The beginning of a tensor's name, which may be long and is stored for each axis.
std::string Beginning(absl::string_view name) {
  const absl::string_view begin = Utf8Prefix(name, kMaxSymbolName);
  return absl::StrCat(begin, begin.size() < name.size() ? "..." : "");
}

}  // namespace

absl::Status SymbolTable::Take(const Bindings& typed) {
  for (const auto& [text, size] : typed) {
    const std::string name = TypedSymbol(text);
    if (size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", QuotedSymbol(name), " is bound to ", size));
    }
    const auto [known, is_new] = typed_.emplace(name, size);
    if (!is_new && known->second != size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dimension ", QuotedSymbol(name), " is bound to ", known->second, " and to ", size));
    }
  }
  return absl::OkStatus();
}

std::string SymbolTable::NameOf(const DeclaredDim& dim, absl::string_view input, int axis) {
  std::string name = dim.name.empty() ? AxisSymbol(input, axis) : FileSymbol(dim.name);
  if (name.size() <= kMaxSymbolName) return name;
  const auto [it, is_new] = cut_.try_emplace(name);
  if (is_new) it->second = CutSymbol(BareName(name), kMaxSymbolName / 2, cut_.size());
  return it->second;
}

void SymbolTable::Announce(const std::string& name) {
  announced_.insert(name);
  bare_.insert(TypedSymbol(BareName(name)));
}

std::optional<int64_t> SymbolTable::BoundTo(const std::string& name) {
  auto typed = typed_.find(name);
  if (typed == typed_.end() && !typed_.empty()) {
    typed = typed_.find(TypedSymbol(BareName(name)));
    if (typed != typed_.end() && announced_.contains(typed->first)) typed = typed_.end();
  }
  if (typed == typed_.end()) {
    const auto derived = derived_.find(name);
    return derived == derived_.end() ? std::nullopt : std::optional<int64_t>(derived->second);
  }
  met_.insert(typed->first);
  bound_[name] = typed->second;
  return typed->second;
}

Bindings SymbolTable::Unmet() const {
  Bindings unmet;
  for (const auto& [name, size] : typed_) {
    if (!met_.contains(name)) unmet.emplace(name, size);
  }
  return unmet;
}

Expr SymbolTable::BoundOr(const std::string& name, int64_t at_least) {
  const std::optional<int64_t> bound = BoundTo(name);
  return bound.has_value() ? Expr(*bound) : Expr::Symbol(name, at_least);
}

Expr SymbolTable::InputDim(const std::string& name, absl::string_view input, int axis) {
  const SymbolOrigin origin{name, SymbolOrigin::Kind::kInput, Beginning(input), axis, std::nullopt};
  if (origins_.try_emplace(name, origin).second) order_.push_back(name);
  BoundTo(name);
  return Expr::Symbol(name, 1);
}

void SymbolTable::InputDimAtMost(absl::string_view text, absl::string_view input, int axis) {
  if (!absl::ConsumePrefix(&text, "min(")) return;
  const size_t length = IdentifierLength(text);
  const absl::string_view name = text.substr(0, length);
  int64_t most = 0;
  if (length == 0 || !absl::ConsumePrefix(&(text = text.substr(length)), ",") ||
      !absl::ConsumeSuffix(&text, ")") || !absl::SimpleAtoi(text, &most)) {
    return;
  }
  InputDim(FileSymbol(name), input, axis);
}

std::optional<Expr> SymbolTable::FormulaOfDim(absl::string_view text) const {
  if (IdentifierLength(text) == text.size()) return std::nullopt;
  const auto known = [&](absl::string_view part) -> absl::StatusOr<Expr> {
    const auto origin = origins_.find(FileSymbol(part));
    if (origin != origins_.end() && origin->second.kind == SymbolOrigin::Kind::kInput) {
      return Expr::Symbol(origin->first, 1);
    }
    return absl::NotFoundError("no dimension of its own");
  };
  const absl::StatusOr<Expr> parsed = ParseFormula(text, known, kMaxDimTerms);
  if (!parsed.ok() || parsed->is_literal()) return std::nullopt;
  return *parsed;
}

Expr SymbolTable::DimInside(const DeclaredDim& dim, absl::string_view tensor, int axis) {
  Bindings sizes = bound_;
  sizes.insert(derived_.begin(), derived_.end());
  if (const std::optional<Expr> formula = FormulaOfDim(dim.name)) return formula->Substitute(sizes);
  const std::string name = NameOf(dim, tensor, axis);
  const SymbolOrigin origin{name, SymbolOrigin::Kind::kData, Beginning(tensor), axis, std::nullopt};
  const auto [known, is_new] = origins_.try_emplace(name, origin);
  if (is_new) order_.push_back(name);
  return BoundOr(name, known->second.kind == SymbolOrigin::Kind::kInput ? 1 : 0);
}

Expr SymbolTable::Fresh(SymbolOrigin::Kind kind, absl::string_view hint, const Place& place,
                        int output, absl::string_view tensor, int axis, bool inner,
                        absl::Span<const Expr> at_most) {
  ++fresh_uses_;
  const std::string key = absl::StrCat(hint, "\n", place.key, "\n", output, "\n", axis);
  if (const auto known = by_place_.find(key); known != by_place_.end()) {
    Bound(known->second, at_most);
    return BoundOr(known->second, 0);
  }
  // The first dimension of a node has the plain name; others say which they are.
  std::string name = DataSymbol(hint, place.text);
  if (IsTaken(name)) absl::StrAppend(&name, ".", axis);
  for (const std::string first = name; IsTaken(name);) {
    name = absl::StrCat(first, "#", ++last_number_.try_emplace(first, 1).first->second);
  }
  origins_[name] = {name, kind, Beginning(tensor), axis, std::nullopt};
  bounds_.emplace(name, Expr(0));
  Bound(name, at_most);
  order_.push_back(name);
  if (inner) inner_.insert(name);
  by_place_[key] = name;
  return BoundOr(name, 0);
}

void SymbolTable::ComesOut(const Expr& dim, absl::string_view tensor, int axis) {
  if (inner_.empty() || dim.is_literal()) return;
  const auto name = inner_.find(dim.ToString());
  if (name == inner_.end()) return;
  SymbolOrigin& origin = origins_[*name];
  origin.value = Beginning(tensor);
  origin.axis = axis;
  inner_.erase(name);
}

void SymbolTable::TakesOnly(const std::string& name, int64_t size, NodeId node) {
  const auto origin = origins_.find(name);
  if (origin == origins_.end() || origin->second.kind != SymbolOrigin::Kind::kInput) return;
  const bool is_noted =
      absl::c_any_of(only_sizes_, [&](const OnlySize& only) { return only.symbol == name; });
  if (!is_noted) only_sizes_.push_back({name, size, node});
}

// A size that a loop carries is among its own bounds. That is ignored: every value that it takes
// first came from another bound.
void SymbolTable::Bound(const std::string& name, absl::Span<const Expr> at_most) {
  std::optional<Expr>& bound = bounds_[name];
  if (at_most.empty()) bound = std::nullopt;
  const Expr itself = Expr::Symbol(name);
  for (const Expr& candidate : at_most) {
    if (!bound.has_value()) return;
    if (candidate == itself) continue;
    bound = Max(*bound, candidate);
    if (bound->error() != nullptr || bound->NumTerms() > kMaxBoundTerms) bound = std::nullopt;
  }
}

SizeBounds SymbolTable::SolveBounds() const {
  Bindings sizes = bound_;
  sizes.insert(derived_.begin(), derived_.end());
  SizeBounds solved;
  // A symbol made in a loop may be bounded by one that is made later, but chains of these are
  // short.
  constexpr int kPasses = 3;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const std::string& name : order_) {
      const auto it = bounds_.find(name);
      if (it == bounds_.end() || !it->second || sizes.contains(name) || solved.contains(name)) {
        continue;
      }
      SizeBounds inside;
      bool is_ready = true;
      for (const std::string& symbol : it->second->Symbols()) {
        if (!bounds_.contains(symbol) || sizes.contains(symbol)) continue;
        const auto known = solved.find(symbol);
        is_ready = is_ready && known != solved.end();
        inside.emplace(symbol, known == solved.end() ? std::nullopt : known->second);
      }
      const std::optional<Expr> highest = Extremes(std::move(inside)).Highest(*it->second);
      if (!highest.has_value() || (!is_ready && pass + 1 < kPasses)) continue;
      Expr bound = highest->Substitute(sizes);
      if (bound.error() == nullptr && bound.NumTerms() <= kMaxBoundTerms) {
        solved.emplace(name, std::move(bound));
      }
    }
  }
  return solved;
}

std::vector<SymbolOrigin> SymbolTable::Open() const {
  const SizeBounds bounds = SolveBounds();
  std::vector<SymbolOrigin> open;
  for (const std::string& name : order_) {
    if (bound_.contains(name) || derived_.contains(name)) continue;
    open.push_back(origins_.at(name));
    const auto bound = bounds.find(name);
    if (bound != bounds.end()) open.back().at_most = bound->second;
  }
  return open;
}

}  // namespace onnxflops::infer
