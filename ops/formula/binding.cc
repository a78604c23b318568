// The names of formulas bound to the sizes of a node.
//
// How it works. A row's signature "X[N, C, i...] W[M, C, k...]" names dimensions. A name may stand
// in several tensors and attributes: all its places must agree, and their sizes are unified. "i..."
// stands for any number of dimensions and its value is their product. The names of `let` are
// computed once, in order; every other name is looked up when a formula asks for it, so that a size
// that no formula uses may stay unknown. A name without a value gives FailedPrecondition, which the
// caller reports as the reason why the node is unknown.
//
// Check() tests that attributes, ranks and sizes of a node fit the signature. InferOutputs() makes
// the output shapes from it. Filled() writes a formula with each name replaced by its size, for
// `explain`, and adds the parentheses that the replacement needs.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "ops/formula/formula.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/symbolic/symbol_name.h"
#include "src/symbolic/work.h"

namespace onnxflops {

namespace {

Expr Product(absl::Span<const Expr> sizes) {
  Expr product = 1;
  for (const Expr& size : sizes) product *= size;
  return product;
}

}  // namespace

// ---- values of formulas

absl::StatusOr<Expr> FormulaBinding::Evaluate(absl::string_view formula) const {
  return ParseFormula(formula, {[this](absl::string_view name) { return Noted(Lookup(name)); },
                                [this](absl::string_view name, const FormulaPart& part) {
                                  return Noted(LookupPart(name, part));
                                }});
}

absl::StatusOr<Expr> FormulaBinding::Noted(absl::StatusOr<Expr> value) const {
  if (!value.ok()) unknown_ = value.status();
  return value;
}

absl::StatusOr<Expr> FormulaBinding::Value(absl::string_view what,
                                           absl::string_view formula) const {
  absl::StatusOr<Expr> value = Evaluate(formula);
  if (value.ok()) return value;
  return WithMessage(value.status(),
                     absl::StrCat(what, " = ", formula, ": ", value.status().message()));
}

absl::StatusOr<Expr> FormulaBinding::Amount(absl::string_view what,
                                            absl::string_view formula) const {
  ASSIGN_OR_RETURN(Expr value, Value(what, formula));
  if (!ProvablyLess(value, 0).value_or(false)) return value;
  return absl::InvalidArgumentError(
      absl::StrCat(what, " = ", formula, " is ", value.ToString(), ", which is negative"));
}

absl::Status FormulaBinding::BindLets() {
  for (const NamedFormula& let : formulas_.lets) {
    ASSIGN_OR_RETURN(Expr value, Value(let.key, let.text));
    defined_[let.key] = std::move(value);
  }
  return absl::OkStatus();
}

absl::StatusOr<Expr> FormulaBinding::Lookup(absl::string_view name) const {
  const auto it = defined_.find(name);
  if (it != defined_.end()) return it->second;
  const size_t dot = name.find('.');
  if (dot == absl::string_view::npos) return LookupSize(name);
  const absl::string_view owner = name.substr(0, dot), what = name.substr(dot + 1);
  if (owner == "attr") return LookupAttribute(what);
  if (owner == "forward" && query_ != nullptr) return query_->forward[*KindNamed(what)];
  const std::optional<Tensor> tensor = FindTensor(owner);
  if (tensor.has_value()) return LookupOfTensor(*tensor, what);
  return absl::FailedPreconditionError(absl::StrCat(name, " is not known"));
}

absl::StatusOr<Expr> FormulaBinding::LookupSize(absl::string_view name) const {
  if (name == "version") return n_.version();
  if (name == "unknown") {
    const char* why = n_.def().data.unknown;
    return absl::FailedPreconditionError(why != nullptr ? why : "the rule has no value for it");
  }
  ASSIGN_OR_RETURN(const std::optional<Dims> sizes, FindDims(name));
  if (sizes.has_value()) return Product(*sizes);
  return absl::FailedPreconditionError(absl::StrCat(name, " is not known"));
}

namespace {

// A negative index as one that counts from the front.
absl::StatusOr<int64_t> IndexOf(const Expr& index, int64_t size) {
  const std::optional<int64_t> at = index.AsInt64();
  if (!at.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat("the index ", index.ToString(), " is open"));
  }
  return *at < 0 ? *at + size : *at;
}

absl::StatusOr<Expr> PartOf(absl::string_view name, absl::Span<const Expr> sizes,
                            const FormulaPart& part) {
  const auto count = static_cast<int64_t>(sizes.size());
  if (part.at.has_value()) {
    ASSIGN_OR_RETURN(const int64_t at, IndexOf(*part.at, count));
    if (at >= 0 && at < count) return sizes[static_cast<size_t>(at)];
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has no number ", part.at->ToString(), " of ", count));
  }
  ASSIGN_OR_RETURN(int64_t begin, IndexOf(part.begin.value_or(0), count));
  ASSIGN_OR_RETURN(int64_t end, IndexOf(part.end.value_or(count), count));
  begin = std::max<int64_t>(begin, 0);
  end = std::min(end, count);
  if (begin >= end) return 1;
  return Product(sizes.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
}

}  // namespace

absl::StatusOr<std::optional<Dims>> FormulaBinding::FindList(absl::string_view name) const {
  if (absl::string_view attribute = name; absl::ConsumePrefix(&attribute, "attr.")) {
    const FormulaAttribute* a = FindAttribute(attribute);
    if (a == nullptr) return std::nullopt;
    if (a->required) RETURN_IF_ERROR(CheckGiven(*a));
    const auto list = IntsOf(*a);
    return Dims(list.begin(), list.end());
  }
  return FindDims(name);
}

absl::StatusOr<Expr> FormulaBinding::LookupPart(absl::string_view name,
                                                const FormulaPart& part) const {
  if (formulas_.names.dims.find(name) == formulas_.names.dims.end()) {
    if (const std::optional<Tensor> tensor = FindTensor(name)) {
      RETURN_IF_ERROR(CheckShape(*tensor));
      return PartOf(name, FactOf(*tensor).shape.dims(), part);
    }
  }
  ASSIGN_OR_RETURN(const std::optional<Dims> known, FindList(name));
  if (known.has_value()) return PartOf(name, *known, part);
  return absl::FailedPreconditionError(absl::StrCat("the sizes of ", name, " are not known"));
}

// ---- tensors

std::optional<FormulaBinding::Tensor> FormulaBinding::FindTensor(absl::string_view name) const {
  const auto it = formulas_.names.tensors.find(name);
  if (it == formulas_.names.tensors.end()) return std::nullopt;
  return TensorAt(it->second);
}

FormulaBinding::Tensor FormulaBinding::TensorAt(size_t i) const {
  const size_t inputs = formulas_.inputs.size();
  if (i < inputs) return {&formulas_.inputs[i], static_cast<int>(i), /*is_output=*/false};
  return {&formulas_.outputs[i - inputs], static_cast<int>(i - inputs), /*is_output=*/true};
}

const Fact& FormulaBinding::FactOf(const Tensor& tensor) const {
  return tensor.is_output ? n_.output(tensor.index) : n_.input(tensor.index);
}

absl::Status FormulaBinding::CheckShape(const Tensor& tensor) const {
  if (tensor.signature->optional && FactOf(tensor).absent()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the sizes of ", tensor.signature->name, " are not known"));
  }
  return tensor.is_output ? n_.OutputShape(tensor.index).status() : n_.CheckRanked(tensor.index);
}

absl::StatusOr<Expr> FormulaBinding::LookupOfTensor(const Tensor& tensor,
                                                    absl::string_view what) const {
  if (tensor.signature->any_number) return LookupOfInputsFrom(tensor.index, what);
  const bool given = tensor.is_output ? n_.HasOutput(tensor.index) : n_.HasInput(tensor.index);
  if (what == "given") return given ? 1 : 0;
  if (what == "is_float") return IsFloat(FactOf(tensor).dtype) ? 1 : 0;
  if (what == "is_string") return FactOf(tensor).dtype == DType::kString ? 1 : 0;
  if (query_ != nullptr && (what == "needed" || what == "summed")) {
    return LookupGradient(tensor, what);
  }
  if (what != "elements" && what != "rank") return LookupContent(tensor, what);
  const bool may_lack = tensor.is_output || tensor.signature->optional;
  if (what == "elements" && may_lack && FactOf(tensor).absent()) return 0;
  RETURN_IF_ERROR(CheckShape(tensor));
  const Shape& shape = FactOf(tensor).shape;
  return what == "rank" ? Expr(shape.rank()) : shape.NumElements();
}

absl::StatusOr<Expr> FormulaBinding::LookupGradient(const Tensor& input,
                                                    absl::string_view what) const {
  if (!query_->Needs(static_cast<size_t>(input.index))) return 0;
  if (what == "needed") return 1;
  RETURN_IF_ERROR(CheckShape(input));
  ASSIGN_OR_RETURN(const Shape to, n_.OutputShape(0));
  return TimesSummed(FactOf(input).shape, to) * to.NumElements();
}

absl::StatusOr<Expr> FormulaBinding::LookupContent(const Tensor& tensor,
                                                   absl::string_view what) const {
  int64_t number = 0;
  if (absl::ConsumePrefix(&what, "is_") && absl::SimpleAtoi(what, &number)) {
    return n_.KnownFloat(tensor.index) == static_cast<double>(number) ? 1 : 0;
  }
  if (what == "known") return n_.KnownInts(tensor.index).has_value() ? 1 : 0;
  if (const std::optional<Expr> value = n_.KnownInt(tensor.index)) return *value;
  return absl::FailedPreconditionError(
      absl::StrCat(tensor.signature->name, " is decided at run time"));
}

absl::StatusOr<Expr> FormulaBinding::LookupOfInputsFrom(int first, absl::string_view what) const {
  Expr elements = 0;
  int count = 0;
  for (int i = first; i < n_.num_inputs(); ++i) {
    if (!n_.HasInput(i)) continue;
    ++count;
    if (what == "count") continue;
    RETURN_IF_ERROR(n_.CheckRanked(i));
    elements += n_.input(i).shape.NumElements();
  }
  return what == "count" ? Expr(count) : elements;
}

// ---- dimensions of the signature

namespace {

// The place of "..." in a signature, or its end.
size_t RestOf(const FormulaTensor& tensor) {
  const auto is_rest = [](const FormulaDim& d) { return d.kind == FormulaDim::Kind::kRest; };
  const auto& dims = tensor.dims;
  return static_cast<size_t>(std::find_if(dims.begin(), dims.end(), is_rest) - dims.begin());
}

// What a dimension of the signature stands for in a shape; nullopt where the rank does not fit.
std::optional<absl::Span<const Expr>> SizesAt(const FormulaTensor& tensor, size_t dim,
                                              const Shape& shape) {
  const absl::Span<const Expr> sizes = shape.dims();
  const auto& dims = tensor.dims;
  const size_t rest = RestOf(tensor), rank = sizes.size();
  const bool any_number = rest < dims.size();
  if (any_number ? rank + 1 < dims.size() : rank != dims.size()) return std::nullopt;
  if (dim < rest) return sizes.subspan(dim, 1);
  if (dim > rest) return sizes.subspan(rank - (dims.size() - dim), 1);
  return sizes.subspan(rest, rank - (dims.size() - 1));
}

}  // namespace

absl::StatusOr<std::optional<Dims>> FormulaBinding::FindDims(absl::string_view name) const {
  const auto places = formulas_.names.dims.find(name);
  std::optional<Dims> found;
  if (places == formulas_.names.dims.end()) return found;
  std::optional<Tensor> unknown;
  for (const NameIndex::Place& place : places->second) {
    if (place.is_attribute) {
      const FormulaAttribute& attribute = formulas_.attributes[place.dim];
      const auto list = IntsOf(attribute);
      if (list.empty() || !found.has_value()) continue;
      RETURN_IF_ERROR(Join(name, attribute.name, Dims(list.begin(), list.end()), &*found));
      continue;
    }
    const Tensor tensor = TensorAt(place.tensor);
    const Fact& fact = FactOf(tensor);
    if (fact.absent() && (tensor.is_output || tensor.signature->optional)) continue;
    if (!fact.is_tensor() || !fact.shape.ranked()) {
      unknown = tensor;
      continue;
    }
    const auto sizes = SizesAt(*tensor.signature, place.dim, fact.shape);
    if (!sizes.has_value() && !tensor.is_output) return CheckRank(tensor);
    if (!sizes.has_value()) continue;
    if (!found.has_value()) {
      found.emplace(sizes->begin(), sizes->end());
    } else if (!tensor.is_output || sizes->size() == found->size()) {
      RETURN_IF_ERROR(Join(name, tensor.signature->name, *sizes, &*found));
    }
  }
  if (!found.has_value() && unknown.has_value()) return CheckShape(*unknown);
  return found;
}

// The error of an input whose rank does not fit the signature.
absl::Status FormulaBinding::CheckRank(const Tensor& tensor) const {
  const auto& dims = tensor.signature->dims;
  const int fixed = static_cast<int>(dims.size());
  if (RestOf(*tensor.signature) == dims.size()) return n_.RankedShape(tensor.index, fixed).status();
  return n_.ShapeOfRankAtLeast(tensor.index, fixed - 1).status();
}

// Unifies the known sizes of a name with those that another tensor or attribute gives it.
absl::Status FormulaBinding::Join(absl::string_view name, absl::string_view owner,
                                  absl::Span<const Expr> sizes, Dims* known) const {
  const auto what = [&] { return absl::StrCat(name, " of ", owner); };
  if (known->size() != sizes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(what(), " stands for ", sizes.size(),
                                                   " dimensions, before for ", known->size()));
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if ((*known)[d] == sizes[d]) continue;
    ASSIGN_OR_RETURN((*known)[d], Unify(n_, what(), (*known)[d], sizes[d]));
  }
  return absl::OkStatus();
}

// ---- attributes

const FormulaAttribute* FormulaBinding::FindAttribute(absl::string_view name) const {
  const auto it = formulas_.names.attributes.find(name);
  return it == formulas_.names.attributes.end() ? nullptr : &formulas_.attributes[it->second];
}

absl::InlinedVector<int64_t, 4> FormulaBinding::IntsOf(const FormulaAttribute& attribute) const {
  if (!n_.HasAttr(attribute.name)) return {attribute.ints.begin(), attribute.ints.end()};
  absl::InlinedVector<int64_t, 4> list = n_.Ints(attribute.name);
  list.resize(std::min<size_t>(list.size(), kMaxRank));
  return list;
}

absl::StatusOr<Expr> FormulaBinding::LookupAttribute(absl::string_view name) const {
  const size_t dot = name.find('.');
  const FormulaAttribute* a = FindAttribute(name.substr(0, dot));
  if (a == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("attr.", name, " is not known"));
  }
  if (a->required) RETURN_IF_ERROR(CheckGiven(*a));
  if (dot == absl::string_view::npos) {
    return n_.Int(a->name, a->ints.empty() ? 0 : a->ints[0]);
  }
  const absl::string_view what = name.substr(dot + 1);
  if (what == "given") return n_.HasAttr(a->name) ? 1 : 0;
  switch (a->type) {
    case FormulaAttribute::Type::kInt:
      break;
    case FormulaAttribute::Type::kInts:
      return LookupInts(*a, what);
    case FormulaAttribute::Type::kFloat:
      return LookupFloat(*a, what);
    case FormulaAttribute::Type::kWord:
      return LookupWord(*a, what);
    case FormulaAttribute::Type::kList: {
      const Attribute* list = n_.FindAttr(a->name);
      if (list == nullptr) return 0;
      if (!a->is_either) return static_cast<int64_t>(n_.Floats(a->name).size());
      return static_cast<int64_t>(
          std::max({list->ints.size(), list->floats.size(), list->strings.size()}));
    }
    case FormulaAttribute::Type::kActivation: {
      ASSIGN_OR_RETURN(const ElementCost cost, ActivationOf(*a));
      return (cost * Expr(1))[*KindNamed(what)];
    }
  }
  return absl::FailedPreconditionError(absl::StrCat("attr.", name, " is not known"));
}

absl::StatusOr<Expr> FormulaBinding::LookupWord(const FormulaAttribute& attribute,
                                                absl::string_view what) const {
  const absl::string_view given = n_.String(attribute.name, attribute.words[0]);
  if (given == what) return 1;
  if (attribute.is_either || absl::c_linear_search(attribute.words, given)) return 0;
  return absl::UnimplementedError(
      absl::StrCat("the ", attribute.name, " ", Quoted(given), " is not known"));
}

absl::StatusOr<Expr> FormulaBinding::LookupInts(const FormulaAttribute& attribute,
                                                absl::string_view what) const {
  const auto list = IntsOf(attribute);
  if (what == "count") return static_cast<int64_t>(list.size());
  size_t at = 0;
  if (absl::SimpleAtoi(what, &at) && at < list.size()) return list[at];
  return absl::InvalidArgumentError(
      absl::StrCat("attr.", attribute.name, ".", what, " is missing: the list is shorter"));
}

// Whether it is a number, "is_1", or above 0, "is_positive".
absl::StatusOr<Expr> FormulaBinding::LookupFloat(const FormulaAttribute& attribute,
                                                 absl::string_view what) const {
  int64_t number = 0;
  const bool positive = what == "is_positive";
  if (!positive && (!absl::ConsumePrefix(&what, "is_") || !absl::SimpleAtoi(what, &number))) {
    return absl::FailedPreconditionError(
        absl::StrCat("attr.", attribute.name, ".", what, " is not known"));
  }
  float value = attribute.number;
  if (const Attribute* a = n_.FindAttr(attribute.name); a != nullptr) {
    const bool is_int = attribute.is_either && a->type == AttributeType::kInt;
    value = is_int ? static_cast<float>(a->i) : n_.Float(attribute.name, 0);
  }
  return (positive ? value > 0 : value == static_cast<float>(number)) ? 1 : 0;
}

absl::StatusOr<ElementCost> FormulaBinding::ActivationOf(const FormulaAttribute& attribute) const {
  const absl::string_view name = n_.String(attribute.name, attribute.words[0]);
  return query_ == nullptr ? ActivationCost(name) : ActivationGradient(name);
}

absl::StatusOr<ElementCost> FormulaBinding::Activation(absl::string_view key) const {
  return ActivationOf(*FindAttribute(absl::StripPrefix(key, "attr.")));
}

// ---- formulas as text, filled in

namespace {

// A value as text, in parentheses if it is a sum within a larger formula.
std::string Operand(const Expr& value, bool alone) {
  std::string text = value.Shortened(kMaxShownFormula);
  const bool sum = absl::StrContains(text, ' ') || absl::StartsWith(text, "-");
  return sum && !alone ? absl::StrCat("(", text, ")") : text;
}

// The length of what stands for one value at the beginning of `text`: "X", "X.elements",
// "X[attr.axis]"; 0 if it is nothing of the kind.
size_t ValueLength(absl::string_view text) {
  size_t end = IdentifierLength(text);
  if (end == 0 || end == text.size()) return end;
  if (text[end] == '(') return 0;  // a function
  if (text[end] != '[') return end;
  int depth = 0;
  do {
    if (text[end] == '[') ++depth;
    if (text[end] == ']') --depth;
    ++end;
  } while (depth > 0 && end < text.size());
  return end;
}

}  // namespace

// What is written as a product: all sizes of a tensor, or of "name...".
absl::StatusOr<std::optional<Dims>> FormulaBinding::SizesOf(absl::string_view name) const {
  if (!absl::ConsumeSuffix(&name, ".elements")) return FindDims(name);
  const std::optional<Tensor> tensor = FindTensor(name);
  if (!tensor.has_value() || !CheckShape(*tensor).ok()) return std::nullopt;
  return FactOf(*tensor).shape.dims();
}

std::string FormulaBinding::FilledName(absl::string_view name, bool alone) const {
  const absl::StatusOr<std::optional<Dims>> sizes = SizesOf(name);
  if (sizes.ok() && sizes->has_value() && (*sizes)->size() > 1) {
    return absl::StrJoin(**sizes, "*", [](std::string* out, const Expr& size) {
      absl::StrAppend(out, Operand(size, /*alone=*/false));
    });
  }
  const absl::StatusOr<Expr> value = Evaluate(name);
  return value.ok() ? Operand(*value, alone) : std::string(name);
}

std::string FormulaBinding::Filled(absl::string_view formula) const {
  std::string out;
  for (size_t i = 0; i < formula.size();) {
    const size_t length = ValueLength(formula.substr(i));
    if (length == 0) {
      const size_t function = std::max<size_t>(IdentifierLength(formula.substr(i)), 1);
      absl::StrAppend(&out, formula.substr(i, function));
      i += function;
      continue;
    }
    const bool alone = length == formula.size();
    const std::string filled = FilledName(formula.substr(i, length), alone);
    i += length;
    const absl::string_view before = absl::StripTrailingAsciiWhitespace(out);
    const bool right = absl::EndsWith(before, "/") || absl::EndsWith(before, "^");
    const bool raised = absl::StartsWith(absl::StripLeadingAsciiWhitespace(formula.substr(i)), "^");
    // A sum has parentheses already, unless more follows: "(a + 1)*4".
    const bool whole = filled[0] == '(' && filled.find(')') == filled.size() - 1;
    const bool group = (right || raised) && absl::StrContains(filled, '*') && !whole;
    absl::StrAppend(&out, group ? "(" : "", filled, group ? ")" : "");
  }
  return out;
}

// ---- whether a node fits

absl::Status FormulaBinding::Check() {
  constexpr size_t kStepsPerName = 16;
  SpendSteps(kStepsPerName * (formulas_.attributes.size() + formulas_.inputs.size()));
  for (const FormulaAttribute& attribute : formulas_.attributes) {
    RETURN_IF_ERROR(CheckAttribute(attribute));
  }
  const std::vector<FormulaTensor>& inputs = formulas_.inputs;
  const bool any_number = !inputs.empty() && inputs.back().any_number;
  if (!any_number && n_.num_inputs() > static_cast<int>(inputs.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the node has ", n_.num_inputs(), " inputs, the rule ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].any_number) RETURN_IF_ERROR(CheckInput(static_cast<int>(i)));
  }
  for (const auto& [name, places] : formulas_.names.dims) {
    RETURN_IF_ERROR(FindDims(name).status());
  }
  RETURN_IF_ERROR(BindLets());
  return CheckSizes();
}

absl::Status FormulaBinding::CheckGiven(const FormulaAttribute& attribute) const {
  if (n_.HasAttr(attribute.name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("attribute ", attribute.name, " is missing"));
}

absl::Status FormulaBinding::CheckWord(const FormulaAttribute& attribute) const {
  const absl::string_view given = n_.String(attribute.name, attribute.words[0]);
  if (attribute.is_either || absl::c_linear_search(attribute.words, given)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(attribute.name, " is ", Quoted(given),
                                                 ", not one of ",
                                                 absl::StrJoin(attribute.words, ", ")));
}

absl::Status FormulaBinding::CheckAttribute(const FormulaAttribute& attribute) const {
  if (attribute.required) RETURN_IF_ERROR(CheckGiven(attribute));
  switch (attribute.type) {
    case FormulaAttribute::Type::kInt:
      n_.Int(attribute.name, 0);
      break;
    case FormulaAttribute::Type::kInts:
      n_.Ints(attribute.name);
      break;
    case FormulaAttribute::Type::kFloat:
      RETURN_IF_ERROR(LookupFloat(attribute, "is_0").status());
      break;
    case FormulaAttribute::Type::kList:
      break;
    case FormulaAttribute::Type::kActivation:
      RETURN_IF_ERROR(ActivationOf(attribute).status());
      break;
    case FormulaAttribute::Type::kWord:
      RETURN_IF_ERROR(CheckWord(attribute));
      break;
  }
  return n_.status();  // of another type
}

absl::Status FormulaBinding::CheckInput(int i) const {
  const FormulaTensor& input = formulas_.inputs[static_cast<size_t>(i)];
  if (!n_.HasInput(i)) {
    if (input.optional) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " (", input.name, ") is missing"));
  }
  if (!input.has_shape) return absl::OkStatus();
  RETURN_IF_ERROR(n_.CheckRanked(i));
  const int rank = n_.input(i).shape.rank();
  const bool any_number = RestOf(input) < input.dims.size();
  const int fixed = static_cast<int>(input.dims.size()) - (any_number ? 1 : 0);
  if (any_number ? rank >= fixed : rank == fixed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", i, " (", input.name, ") has rank ", rank,
                                                 ", not ", fixed, any_number ? " or more" : ""));
}

// Checks the sizes of inputs for which the signature has a formula.
absl::Status FormulaBinding::CheckSizes() const {
  for (size_t i = 0; i < formulas_.inputs.size(); ++i) {
    const FormulaTensor& input = formulas_.inputs[i];
    if (!n_.HasInput(static_cast<int>(i))) continue;
    const Shape& shape = n_.input(static_cast<int>(i)).shape;
    for (size_t d = 0; d < input.dims.size(); ++d) {
      if (input.dims[d].kind != FormulaDim::Kind::kFormula) continue;
      const std::string what = absl::StrCat("size ", input.dims[d].text, " of ", input.name);
      ASSIGN_OR_RETURN(const Expr expected, Value(what, input.dims[d].text));
      RETURN_IF_ERROR(n_.RequireSame(what, (*SizesAt(input, d, shape))[0], expected));
    }
  }
  return absl::OkStatus();
}

// ---- outputs

absl::StatusOr<Facts> FormulaBinding::InferOutputs() {
  Facts facts;
  for (size_t o = 0; o < formulas_.outputs.size(); ++o) {
    const FormulaTensor& output = formulas_.outputs[o];
    const DType type = output.type != DType::kUndefined ? output.type : n_.dtype(output.type_of);
    Shape shape;
    for (const FormulaDim& dim : output.dims) {
      RETURN_IF_ERROR(AppendDim(dim, static_cast<int>(o), &shape));
    }
    facts.push_back(Fact::Tensor(type, std::move(shape)));
  }
  return facts;
}

absl::Status FormulaBinding::AppendDim(const FormulaDim& dim, int output, Shape* shape) {
  if (dim.kind == FormulaDim::Kind::kRest) {
    ASSIGN_OR_RETURN(const std::optional<Dims> sizes, FindDims(dim.text));
    if (!sizes.has_value()) {
      return absl::FailedPreconditionError(absl::StrCat(dim.text, " is not known"));
    }
    for (const Expr& size : *sizes) shape->push_back(size);
    return absl::OkStatus();
  }
  if (dim.kind == FormulaDim::Kind::kFresh) {
    const Expr size = n_.FreshDim(output, shape->rank(), dim.text);
    defined_[dim.text] = size;
    shape->push_back(size);
    return absl::OkStatus();
  }
  const std::string what =
      absl::StrCat("size of ", formulas_.outputs[static_cast<size_t>(output)].name);
  ASSIGN_OR_RETURN(Expr size, Amount(what, dim.text));
  shape->push_back(std::move(size));
  return absl::OkStatus();
}

}  // namespace onnxflops
