// The graph's inputs: declared types and the user's bindings become facts, and names of dimensions
// become symbols.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/base/utf8.h"
#include "src/infer/evaluator.h"
#include "src/infer/require_symbols.h"
#include "src/symbolic/parse.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

namespace {

// A tensor's name, which may be long and be said of 64 axes.
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
  const SymbolOrigin origin{name, SymbolOrigin::Kind::kInput, Beginning(input), axis};
  if (origins_.try_emplace(name, origin).second) order_.push_back(name);
  BoundTo(name);
  return Expr::Symbol(name, 1);
}

Expr SymbolTable::Fresh(SymbolOrigin::Kind kind, absl::string_view hint, const Place& place,
                        int output, absl::string_view tensor, int axis, bool inner) {
  ++fresh_uses_;
  const std::string key = absl::StrCat(hint, "\n", place.key, "\n", output, "\n", axis);
  if (const auto known = by_place_.find(key); known != by_place_.end()) {
    return BoundOr(known->second, 0);
  }
  // The first dimension of a node has the plain name; others say which they are.
  std::string name = DataSymbol(hint, place.text);
  if (IsTaken(name)) absl::StrAppend(&name, ".", axis);
  for (const std::string first = name; IsTaken(name);) {
    name = absl::StrCat(first, "#", ++last_number_.try_emplace(first, 1).first->second);
  }
  origins_[name] = {name, kind, Beginning(tensor), axis};
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

std::vector<SymbolOrigin> SymbolTable::Open() const {
  std::vector<SymbolOrigin> open;
  for (const std::string& name : order_) {
    if (!bound_.contains(name) && !derived_.contains(name)) open.push_back(origins_.at(name));
  }
  return open;
}

Expr Evaluator::DimOfDeclared(const DeclaredDim& dim, absl::string_view name, int axis) {
  if (dim.size >= 0) return dim.size;
  // "past + seq" is the sum of two dimensions where both stand alone as well, else a name like any
  // other.
  if (IdentifierLength(dim.name) < dim.name.size()) {
    const auto known = [&](absl::string_view part) -> absl::StatusOr<Expr> {
      const std::string symbol = FileSymbol(part);
      if (symbols_.Knows(symbol)) return Expr::Symbol(symbol, 1);
      return absl::NotFoundError("no dimension of its own");
    };
    const absl::StatusOr<Expr> parsed = ParseFormula(dim.name, known, kMaxDimTerms);
    if (parsed.ok() && !parsed->is_literal()) return *parsed;
  }
  return symbols_.InputDim(symbols_.NameOf(dim, name, axis), name, axis);
}

absl::StatusOr<Fact> Evaluator::FactOfDeclared(const DeclaredType& type, absl::string_view name) {
  switch (type.kind) {
    case TypeKind::kTensor:
    case TypeKind::kSparseTensor: {
      if (!type.has_shape) return Fact::Tensor(type.dtype, Shape::UnknownRank());
      if (type.dims.size() > static_cast<size_t>(kMaxRank)) {
        return LimitError("rank",
                          absl::StrCat(Escaped(data_.path), ": input ", Quoted(name), " has rank ",
                                       type.dims.size(), ", above the limit rank"));
      }
      Shape shape;
      for (size_t i = 0; i < type.dims.size(); ++i) {
        const Expr dim = DimOfDeclared(type.dims[i], name, static_cast<int>(i));
        shape.push_back(dim.Substitute(symbols_.bound()));
      }
      return Fact::Tensor(type.dtype, std::move(shape));
    }
    case TypeKind::kSequence:
    case TypeKind::kOptional: {
      Fact element = Fact::Unknown();
      if (type.element != nullptr) {
        ASSIGN_OR_RETURN(element, FactOfDeclared(*type.element, name));
      }
      return type.kind == TypeKind::kSequence ? Fact::Sequence(std::move(element), std::nullopt)
                                              : Fact::Optional(std::move(element));
    }
    case TypeKind::kMap: {
      Fact fact;
      fact.kind = Fact::Kind::kMap;
      return fact;
    }
    case TypeKind::kUnknown:
    case TypeKind::kOpaque:
      break;
  }
  return Fact::Unknown();
}

Shape Evaluator::DeclaredShape(const Value& value) {
  const DeclaredType* type = value.initializer ? nullptr : value.declared;
  if (type == nullptr || !type->has_shape) return Shape::UnknownRank();
  Shape shape;
  for (size_t i = 0; i < type->dims.size(); ++i) {
    shape.push_back(DimOfDeclared(type->dims[i], value.name, static_cast<int>(i)));
  }
  return shape;
}

// --input NAME=SHAPE: binds the named dimensions of the input, and states the others.
absl::Status Evaluator::ApplyShapeOption(const std::string& name, const Dims& dims,
                                         const Value& value) {
  const DeclaredType* type = value.declared;
  if (type == nullptr || !type->has_shape) return absl::OkStatus();
  if (type->dims.size() != dims.size()) {
    return absl::InvalidArgumentError(absl::StrCat(Escaped(data_.path), ": input ", Quoted(name),
                                                   " has rank ", type->dims.size(),
                                                   ", but the given shape has rank ", dims.size()));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const DeclaredDim& declared = type->dims[i];
    const auto given = dims[i].AsInt64();
    if (!given.has_value()) continue;
    if (declared.size >= 0 && declared.size != *given) {
      return absl::InvalidArgumentError(
          absl::StrCat(Escaped(data_.path), ": dimension ", i, " of input ", Quoted(name), " is ",
                       declared.size, " in the file, but ", *given, " was given"));
    }
    if (declared.size >= 0) continue;
    const std::string symbol = symbols_.NameOf(declared, name, static_cast<int>(i));
    const auto [bound, is_new] = from_input_shapes_.try_emplace(symbol, *given);
    if (!is_new && bound->second != *given) {
      return absl::InvalidArgumentError(
          absl::StrCat(Escaped(data_.path), ": dimension ", QuotedSymbol(symbol), " is given as ",
                       bound->second, " and as ", *given, " (input ", Quoted(name), ")"));
    }
  }
  return absl::OkStatus();
}

absl::Status Evaluator::ApplyValueOption(const std::string& name, const Content& content,
                                         Fact* fact) const {
  const auto mismatch = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(Escaped(data_.path), ": value of input ",
                                                   Quoted(name), ": ", content.size(),
                                                   " elements given for ", what));
  };
  if (!fact->is_tensor()) return mismatch("what is not a tensor");
  if (!fact->shape.ranked()) fact->shape = Shape{Expr(static_cast<int64_t>(content.size()))};
  if (fact->shape.rank() == 1 && !fact->shape[0].is_literal()) {
    fact->shape[0] = static_cast<int64_t>(content.size());
  }
  const Expr elements = fact->shape.NumElements();
  if (elements != Expr(static_cast<int64_t>(content.size()))) {
    return mismatch(fact->shape.ToString());
  }
  fact->content = std::make_shared<const Content>(content);
  return absl::OkStatus();
}

absl::StatusOr<Fact> Evaluator::FactOfInput(const Value& value) {
  const std::string name(value.name);
  Fact fact = Fact::Unknown();
  if (value.declared != nullptr) {
    ASSIGN_OR_RETURN(fact, FactOfDeclared(*value.declared, value.name));
  }
  const auto shape = options_.input_shapes.find(name);
  if (shape != options_.input_shapes.end()) {
    const bool has_rank = fact.is_tensor() && fact.shape.ranked();
    if (fact.kind == Fact::Kind::kUnknown) fact = Fact::Tensor(DType::kFloat32, {});
    if (!has_rank) fact.shape = Shape(shape->second);
    for (int i = 0; has_rank && i < fact.shape.rank(); ++i) {
      fact.shape[i] = fact.shape[i].Substitute(from_input_shapes_);
    }
  } else if (fact.is_tensor() && fact.shape.ranked() && !from_input_shapes_.empty()) {
    for (Expr& dim : fact.shape.dims()) dim = dim.Substitute(from_input_shapes_);
  }
  const auto content = options_.input_values.find(name);
  if (content != options_.input_values.end()) {
    RETURN_IF_ERROR(ApplyValueOption(name, content->second, &fact));
  }
  return fact;
}

// Gives every dimension of the inputs its name. Those that stand alone come first, so that
// "past + seq" is known as a sum wherever it stands.
void Evaluator::NameDims() {
  const auto for_each = [&](const auto& take) {
    for (ValueId v : data_.graphs[0].inputs) {
      const Value& value = data_.value(v);
      const DeclaredType* type = value.initializer ? nullptr : value.declared;
      for (; type != nullptr; type = type->element) {
        for (size_t i = 0; i < type->dims.size(); ++i) {
          if (type->dims[i].size < 0) take(type->dims[i], value.name, static_cast<int>(i));
        }
      }
    }
  };
  for_each([&](const DeclaredDim& dim, absl::string_view input, int axis) {
    symbols_.Announce(symbols_.NameOf(dim, input, axis));
  });
  for_each([&](const DeclaredDim& dim, absl::string_view input, int axis) {
    if (dim.name.empty() || IdentifierLength(dim.name) < dim.name.size()) return;
    symbols_.InputDim(symbols_.NameOf(dim, input, axis), input, axis);
  });
}

absl::Status Evaluator::BindInputs() {
  const Graph& main = data_.graphs[0];
  if (const absl::Status taken = symbols_.Take(options_.dims); !taken.ok()) {
    return WithMessage(taken, absl::StrCat(Escaped(data_.path), ": ", taken.message()));
  }
  NameDims();
  const auto value_of = [&](const std::string& name) -> const Value* {
    for (ValueId v : main.inputs) {
      if (data_.value(v).name == name) {
        return &data_.value(v);
      }
    }
    return nullptr;
  };
  const auto unknown_input = [&](const std::string& name) {
    std::vector<absl::string_view> names;
    for (ValueId v : main.inputs) names.push_back(data_.value(v).name);
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(data_.path), ": no input is named ", Quoted(name),
                     "; inputs: ", Printable(absl::StrJoin(names, ", "))));
  };
  for (const auto& [name, dims] : options_.input_shapes) {
    const Value* value = value_of(name);
    if (value == nullptr) return unknown_input(name);
    RETURN_IF_ERROR(ApplyShapeOption(name, dims, *value));
  }
  for (const auto& [name, content] : options_.input_values) {
    if (value_of(name) == nullptr) return unknown_input(name);
  }
  for (ValueId v : main.inputs) {
    const Value& value = data_.value(v);
    Fact fact;
    if (value.initializer) {
      fact = FactOf(data_.tensor(*value.initializer));
    } else {
      ASSIGN_OR_RETURN(fact, FactOfInput(value));
    }
    FactIdOf(v) = facts_.Intern(std::move(fact));
    result_.declared.push_back(DeclaredShape(value));
  }
  return absl::OkStatus();
}

// Each --dim name must exist: either in this count, or in a count without bindings (another binding
// may have fixed it).
absl::Status Evaluator::CheckOptions() {
  result_.bindings = symbols_.bound();
  const Bindings unmet = symbols_.Unmet();
  if (unmet.empty()) return absl::OkStatus();
  InferOptions unbound = options_;
  unbound.dims.clear();
  ASSIGN_OR_RETURN(const Inference open, Infer(model_, unbound));
  const absl::StatusOr<Bindings> known = ResolveSymbols(unmet, open.symbols);
  if (!known.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(data_.path), ": ", known.status().message()));
  }
  result_.bindings.insert(known->begin(), known->end());
  return absl::OkStatus();
}

}  // namespace onnxflops
