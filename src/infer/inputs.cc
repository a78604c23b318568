// How it works. The inputs of the main graph get their facts from the file and the options. First
// all dimensions are named; those without a name in the file are named after the input. Plain names
// are read first and formulas such as "min(past, 63)" later, so that "past + seq" is known as a sum
// whatever the order of the inputs. Then --input shapes are matched: each given size binds the
// symbol of its dimension everywhere. A size that contradicts the file, --dim or another input is
// an error. A size that the file fixes cannot be changed; the error shows how to export it open.
//
// --value gives the content of a small input, converted to its type. Initializers that are also
// inputs keep their stored fact.
#include "src/infer/inputs.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/op_def.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/graph/image_inputs.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::infer {

namespace {

class InputBinder {
 public:
  InputBinder(const ModelData& model, const InferOptions& options, SymbolTable* symbols)
      : model_(model), options_(options), symbols_(*symbols) {}

  absl::StatusOr<std::vector<BoundInput>> Bind();

 private:
  // Names every dimension of the inputs. Plain names come first, then those in formulas such as
  // "min(past, 63)", so that "past + seq" is known as a sum in any order of inputs.
  void NameDims();
  absl::StatusOr<Fact> FactOfInput(const Value& value);
  absl::StatusOr<Fact> FactOfDeclared(const DeclaredType& type, absl::string_view name);
  Expr DimOfDeclared(const DeclaredDim& dim, absl::string_view name, int axis);
  // The shape in the file, without bindings.
  Shape DeclaredShape(const Value& value);
  // --input NAME=SHAPE: binds the named dimensions of the input, and states the others.
  absl::Status ApplyShapeOption(const std::string& name, const Dims& dims, const Value& value);
  absl::Status ApplyValueOption(const std::string& name, const Content& content, Fact* fact) const;
  // The error for a size that the export fixed, with advice on exporting it open.
  absl::Status Fixed(const std::string& name, size_t axis, int64_t size,
                     const std::string& given) const;

  const ModelData& model_;
  const InferOptions& options_;
  SymbolTable& symbols_;
  Bindings from_input_shapes_;  // sizes of symbols from --input
};

Expr InputBinder::DimOfDeclared(const DeclaredDim& dim, absl::string_view name, int axis) {
  if (dim.size >= 0) return dim.size;
  if (const std::optional<Expr> formula = symbols_.FormulaOfDim(dim.name)) return *formula;
  return symbols_.InputDim(symbols_.NameOf(dim, name, axis), name, axis);
}

absl::StatusOr<Fact> InputBinder::FactOfDeclared(const DeclaredType& type, absl::string_view name) {
  switch (type.kind) {
    case TypeKind::kTensor:
    case TypeKind::kSparseTensor: {
      if (!type.has_shape) return Fact::Tensor(type.dtype, Shape::UnknownRank());
      if (type.dims.size() > static_cast<size_t>(kMaxRank)) {
        return LimitError("rank",
                          absl::StrCat(Escaped(model_.path), ": input ", Quoted(name), " has rank ",
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

Shape InputBinder::DeclaredShape(const Value& value) {
  const DeclaredType* type = value.initializer ? nullptr : value.declared;
  if (type == nullptr || !type->has_shape) return Shape::UnknownRank();
  Shape shape;
  for (size_t i = 0; i < type->dims.size(); ++i) {
    shape.push_back(DimOfDeclared(type->dims[i], value.name, static_cast<int>(i)));
  }
  return shape;
}

absl::Status InputBinder::Fixed(const std::string& name, size_t axis, int64_t size,
                                const std::string& given) const {
  const std::string fixed =
      absl::StrCat(Escaped(model_.path), ": dimension ", axis, " of input ", Quoted(name), " is ",
                   size, " in the file, but ", given, " was given");
  std::string open =
      absl::StrCat(axis, axis == 0 ? ": 'batch'" : absl::StrCat(": 'size_", axis, "'"));
  bool is_of_image = false;
  for (const ImageInput& image : ImageInputs(model_)) {
    if (model_.value(image.value).name != name) continue;
    if (axis != image.axis && axis != image.axis + 1) continue;
    is_of_image = true;
    open = absl::StrCat(image.axis, ": 'height', ", image.axis + 1, ": 'width'");
  }
  if (!ConfigOf(model_).empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        fixed,
        is_of_image ? "; images of a configuration are square" : "; the configuration says so",
        is_of_image ? WithSettings(": {at-image N} sets their size") : ""));
  }
  const std::string dynamic = absl::StrCat("{", Quoted(name), ": {", open, "}}");
  const std::string here =
      is_of_image ? absl::StrCat("; ", Setting("at-image", given),
                                 " counts what follows the image at another size")
      : axis == 0 ? absl::StrCat("; ", Setting("at-batch", given), " counts another batch")
                  : "";
  return absl::InvalidArgumentError(absl::StrCat(
      fixed, here, "; to leave it open, export the model with dynamic_shapes=", dynamic,
      " (dynamo=True) or dynamic_axes=", dynamic));
}

absl::Status InputBinder::ApplyShapeOption(const std::string& name, const Dims& dims,
                                           const Value& value) {
  const DeclaredType* type = value.declared;
  if (type == nullptr || !type->has_shape) return absl::OkStatus();
  if (type->dims.size() != dims.size()) {
    return absl::InvalidArgumentError(absl::StrCat(Escaped(model_.path), ": input ", Quoted(name),
                                                   " is ", DeclaredShape(value).ToString(),
                                                   " in the file, of rank ", type->dims.size(),
                                                   ", and the given shape has rank ", dims.size()));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const DeclaredDim& declared = type->dims[i];
    const auto given = dims[i].AsInt64();
    if (declared.size >= 0 && dims[i] != Expr(declared.size)) {
      return Fixed(name, i, declared.size, dims[i].ToString());
    }
    if (declared.size >= 0) continue;
    const std::string symbol = symbols_.NameOf(declared, name, static_cast<int>(i));
    if (!given.has_value()) {
      if (dims[i] == Expr::Symbol(symbol, 1)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          Escaped(model_.path), ": dimension ", i, " of input ", Quoted(name), " is ",
          Escaped(QuotedSymbol(symbol)), " in the file, but '", Escaped(dims[i].ToString()),
          "' was given: give a size, or leave the name as it is"));
    }
    const auto dim = symbols_.bound().find(symbol);
    if (dim != symbols_.bound().end() && dim->second != *given) {
      return absl::InvalidArgumentError(absl::StrCat(
          Escaped(model_.path), ": ", Escaped(QuotedSymbol(symbol)), " is given as ", dim->second,
          WithSettings(" by {dim} and as "), *given, WithSettings(" by {input} (dimension "), i,
          " of ", Quoted(name), "); leave one of them out"));
    }
    const auto [bound, is_new] = from_input_shapes_.try_emplace(symbol, *given);
    if (!is_new && bound->second != *given) {
      return absl::InvalidArgumentError(
          absl::StrCat(Escaped(model_.path), ": dimension ", QuotedSymbol(symbol), " is given as ",
                       bound->second, " and as ", *given, " (input ", Quoted(name), ")"));
    }
  }
  return absl::OkStatus();
}

absl::Status InputBinder::ApplyValueOption(const std::string& name, const Content& content,
                                           Fact* fact) const {
  const auto mismatch = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(Escaped(model_.path), ": value of input ",
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
  Content elements_of_type = content;
  for (Scalar& element : elements_of_type) {
    if (IsFloat(fact->dtype) && element.is_int()) {
      element = Scalar::Float(static_cast<double>(element.i.AsInt64().value_or(0)));
    }
    if (!IsFloat(fact->dtype) && !element.is_int()) {
      return absl::InvalidArgumentError(absl::StrCat(
          Escaped(model_.path), ": value of input ", Quoted(name), ": ", element.f,
          " is not a whole number of 64 bits, which ", DTypeName(fact->dtype), " needs"));
    }
  }
  fact->content = std::make_shared<const Content>(std::move(elements_of_type));
  return absl::OkStatus();
}

absl::StatusOr<Fact> InputBinder::FactOfInput(const Value& value) {
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

void InputBinder::NameDims() {
  const auto for_each = [&](const auto& take) {
    for (ValueId v : model_.graph(0).inputs) {
      const Value& value = model_.value(v);
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
  for_each([&](const DeclaredDim& dim, absl::string_view input, int axis) {
    symbols_.InputDimAtMost(dim.name, input, axis);
  });
}

absl::StatusOr<std::vector<BoundInput>> InputBinder::Bind() {
  const Graph& main = model_.graph(0);
  if (const absl::Status taken = symbols_.Take(options_.dims); !taken.ok()) {
    return WithMessage(taken, absl::StrCat(Escaped(model_.path), ": ", taken.message()));
  }
  NameDims();
  const auto value_of = [&](const std::string& name) -> const Value* {
    for (ValueId v : main.inputs) {
      if (model_.value(v).name == name) {
        return &model_.value(v);
      }
    }
    return nullptr;
  };
  const auto unknown_input = [&](const std::string& name) {
    std::vector<std::string> names;
    for (ValueId v : main.inputs) names.emplace_back(model_.value(v).name);
    const std::string similar = DidYouMean(name, names);
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(model_.path), ": no input is named ", Quoted(name), similar,
        similar.empty() ? "; inputs: " : " inputs: ", Printable(absl::StrJoin(names, ", "))));
  };
  for (const auto& [name, dims] : options_.input_shapes) {
    const Value* value = value_of(name);
    if (value == nullptr) return unknown_input(name);
    RETURN_IF_ERROR(ApplyShapeOption(name, dims, *value));
  }
  for (const auto& [name, content] : options_.input_values) {
    if (value_of(name) == nullptr) return unknown_input(name);
  }
  std::vector<BoundInput> bound;
  bound.reserve(main.inputs.size());
  for (ValueId v : main.inputs) {
    const Value& value = model_.value(v);
    BoundInput& input = bound.emplace_back();
    if (value.initializer) {
      input.fact = FactOf(model_.tensor(*value.initializer));
    } else {
      ASSIGN_OR_RETURN(input.fact, FactOfInput(value));
    }
    input.declared = DeclaredShape(value);
  }
  return bound;
}

}  // namespace

absl::StatusOr<std::vector<BoundInput>> BindInputs(const ModelData& model,
                                                   const InferOptions& options,
                                                   SymbolTable* symbols) {
  return InputBinder(model, options, symbols).Bind();
}

}  // namespace onnxflops::infer
