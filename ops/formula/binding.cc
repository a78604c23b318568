// The names of formulas bound to the sizes of a node.
#include <algorithm>
#include <utility>

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

// ---- values of formulas

absl::StatusOr<Expr> FormulaBinding::Evaluate(absl::string_view formula) const {
  return ParseFormula(formula, {[this](absl::string_view name) { return Lookup(name); },
                                [this](absl::string_view name, const FormulaPart& part) {
                                  return LookupPart(name, part);
                                }});
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

absl::StatusOr<Expr> FormulaBinding::Lookup(absl::string_view name) const {
  const auto it = values_.find(name);
  if (it != values_.end()) return it->second;
  if (name == "version") return n_.version();
  int64_t number = 0;
  if (const size_t is = name.rfind(".is_");
      is != absl::string_view::npos && absl::SimpleAtoi(name.substr(is + 4), &number)) {
    const auto value = numbers_.find(name.substr(0, is));
    if (value != numbers_.end()) return value->second == static_cast<float>(number) ? 1 : 0;
  }
  const size_t dot = name.find('.');
  if (absl::EndsWith(name, ".value")) {
    return absl::FailedPreconditionError(
        absl::StrCat("the content of ", name.substr(0, dot), " is not known"));
  }
  const absl::string_view owner = name.substr(0, dot);
  if (owner == "attr") {
    return absl::InvalidArgumentError(absl::StrCat(name, " is missing: the list is shorter"));
  }
  return absl::FailedPreconditionError(absl::StrCat(name, " is not known"));
}

namespace {

// An index as it counts from the front.
absl::StatusOr<int64_t> IndexOf(const Expr& index, int64_t size) {
  const std::optional<int64_t> at = index.AsInt64();
  if (!at.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat("the index ", index.ToString(), " is open"));
  }
  return *at < 0 ? *at + size : *at;
}

}  // namespace

const Dims* FormulaBinding::FindSizes(absl::string_view name) const {
  if (const auto it = rests_.find(name); it != rests_.end()) return &it->second;
  const auto it = lists_.find(name);
  return it != lists_.end() ? &it->second : nullptr;
}

absl::StatusOr<Expr> FormulaBinding::LookupPart(absl::string_view name,
                                                const FormulaPart& part) const {
  const Dims* known = FindSizes(name);
  if (known == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("the sizes of ", name, " are not known"));
  }
  const Dims& sizes = *known;
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
  Expr product = 1;
  for (; begin < end; ++begin) product *= sizes[static_cast<size_t>(begin)];
  return product;
}

// ---- formulas as text, filled in

namespace {

// A value as an operand of what stands around it.
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

std::string FormulaBinding::FilledName(absl::string_view name, bool alone) const {
  const auto tensor = lists_.find(absl::StripSuffix(name, ".elements"));
  const auto rest = rests_.find(name);
  const Dims* sizes = rest != rests_.end() ? &rest->second : nullptr;
  if (tensor != lists_.end() && absl::EndsWith(name, ".elements")) sizes = &tensor->second;
  if (sizes != nullptr && sizes->size() > 1) {
    return absl::StrJoin(*sizes, "*", [](std::string* out, const Expr& size) {
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

// ---- attributes

absl::Status FormulaBinding::BindInts(const FormulaAttribute& attribute, const std::string& name) {
  const auto given = n_.Ints(attribute.name);
  absl::Span<const int64_t> list = attribute.ints;
  if (n_.HasAttr(attribute.name)) list = given;
  const absl::Span<const int64_t> values = list.first(std::min<size_t>(list.size(), kMaxRank));
  values_[absl::StrCat(name, ".count")] = static_cast<int64_t>(values.size());
  for (size_t i = 0; i < values.size(); ++i) values_[absl::StrCat(name, ".", i)] = values[i];
  lists_[name] = Dims(values.begin(), values.end());
  return absl::OkStatus();
}

absl::Status FormulaBinding::BindActivation(const FormulaAttribute& attribute,
                                            const std::string& name) {
  ASSIGN_OR_RETURN(const ElementCost cost,
                   ActivationCost(n_.String(attribute.name, attribute.words[0])));
  const Census census = cost * Expr(1);
  for (int i = 0; i < kNumKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    values_[absl::StrCat(name, ".", KindName(kind))] = census[kind];
  }
  return absl::OkStatus();
}

absl::Status FormulaBinding::BindWord(const FormulaAttribute& attribute, const std::string& name) {
  const absl::string_view given = n_.String(attribute.name, attribute.words[0]);
  for (const std::string& word : attribute.words) {
    values_[absl::StrCat(name, ".", word)] = given == word ? 1 : 0;
  }
  if (std::find(attribute.words.begin(), attribute.words.end(), given) != attribute.words.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(attribute.name, " is ", Quoted(given),
                                                 ", not one of ",
                                                 absl::StrJoin(attribute.words, ", ")));
}

absl::Status FormulaBinding::BindAttribute(const FormulaAttribute& attribute) {
  const std::string name = absl::StrCat("attr.", attribute.name);
  const bool given = n_.HasAttr(attribute.name);
  if (!given && attribute.required) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", attribute.name, " is missing"));
  }
  values_[absl::StrCat(name, ".given")] = given ? 1 : 0;
  switch (attribute.type) {
    case FormulaAttribute::Type::kInt:
      values_[name] = n_.Int(attribute.name, attribute.ints.empty() ? 0 : attribute.ints[0]);
      break;
    case FormulaAttribute::Type::kInts:
      RETURN_IF_ERROR(BindInts(attribute, name));
      break;
    case FormulaAttribute::Type::kFloat:  // some versions have an integer
      numbers_[name] = attribute.number;
      if (const Attribute* a = n_.FindAttr(attribute.name); a != nullptr) {
        const bool is_int = a->type == AttributeType::kInt;
        numbers_[name] = is_int ? static_cast<float>(a->i) : n_.Float(attribute.name, 0);
      }
      break;
    case FormulaAttribute::Type::kList: {
      const Attribute* a = n_.FindAttr(attribute.name);
      const size_t count =
          a == nullptr ? 0 : std::max({a->ints.size(), a->floats.size(), a->strings.size()});
      values_[absl::StrCat(name, ".count")] = static_cast<int64_t>(count);
      break;
    }
    case FormulaAttribute::Type::kActivation:
      RETURN_IF_ERROR(BindActivation(attribute, name));
      break;
    case FormulaAttribute::Type::kWord:
      RETURN_IF_ERROR(BindWord(attribute, name));
      break;
  }
  return n_.status();  // of another type
}

// ---- inputs

void FormulaBinding::BindTensor(const std::string& name, const Shape& shape) {
  values_[absl::StrCat(name, ".elements")] = shape.NumElements();
  values_[absl::StrCat(name, ".rank")] = shape.rank();
  lists_[name] = shape.dims();
}

absl::Status FormulaBinding::BindInputs() {
  constexpr size_t kStepsPerName = 16;
  SpendSteps(kStepsPerName * (formulas_.attributes.size() + formulas_.inputs.size()));
  for (const FormulaAttribute& attribute : formulas_.attributes) {
    RETURN_IF_ERROR(BindAttribute(attribute));
  }
  const std::vector<FormulaTensor>& inputs = formulas_.inputs;
  const bool any_number = !inputs.empty() && inputs.back().any_number;
  if (!any_number && n_.num_inputs() > static_cast<int>(inputs.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the node has ", n_.num_inputs(), " inputs, the rule ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    RETURN_IF_ERROR(inputs[i].any_number ? BindInputsFrom(static_cast<int>(i))
                                         : BindInput(static_cast<int>(i)));
  }
  return absl::OkStatus();
}

absl::Status FormulaBinding::BindInputsFrom(int first) {
  const std::string& name = formulas_.inputs[static_cast<size_t>(first)].name;
  Expr elements = 0;
  int count = 0;
  bool ranked = true;
  for (int i = first; i < n_.num_inputs(); ++i) {
    if (!n_.HasInput(i)) continue;
    ++count;
    const Fact& fact = n_.input(i);
    ranked = ranked && fact.is_tensor() && fact.shape.ranked();
    if (ranked) elements += fact.shape.NumElements();
  }
  values_[absl::StrCat(name, ".count")] = count;
  if (ranked) values_[absl::StrCat(name, ".elements")] = elements;
  return absl::OkStatus();
}

absl::Status FormulaBinding::BindInput(int i) {
  const FormulaTensor& input = formulas_.inputs[static_cast<size_t>(i)];
  const bool given = n_.HasInput(i);
  values_[absl::StrCat(input.name, ".given")] = given ? 1 : 0;
  values_[absl::StrCat(input.name, ".is_float")] = IsFloat(n_.dtype(i)) ? 1 : 0;
  if (!given) {
    values_[absl::StrCat(input.name, ".elements")] = 0;
    if (input.optional) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " (", input.name, ") is missing"));
  }
  if (const std::optional<Expr> value = n_.KnownInt(i)) {
    values_[absl::StrCat(input.name, ".value")] = *value;
  }
  const Fact& fact = n_.input(i);
  if (!input.has_shape) {
    if (fact.is_tensor() && fact.shape.ranked()) BindTensor(input.name, fact.shape);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Shape shape, n_.RankedShape(i));
  BindTensor(input.name, shape);
  return BindDims(input, i, shape);
}

absl::Status FormulaBinding::BindDims(const FormulaTensor& input, int i, const Shape& shape) {
  const bool any_number =
      std::any_of(input.dims.begin(), input.dims.end(),
                  [](const FormulaDim& d) { return d.kind == FormulaDim::Kind::kRest; });
  const int fixed = static_cast<int>(input.dims.size()) - (any_number ? 1 : 0);
  if (any_number ? shape.rank() < fixed : shape.rank() != fixed) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " (", input.name, ") has rank ",
                                                   shape.rank(), ", not ", fixed,
                                                   any_number ? " or more" : ""));
  }
  int axis = 0;
  for (const FormulaDim& dim : input.dims) {
    if (dim.kind == FormulaDim::Kind::kRest) {
      const int end = axis + shape.rank() - fixed;
      RETURN_IF_ERROR(
          BindRest(input, dim.text, {shape.dims().begin() + axis, shape.dims().begin() + end}));
      axis = end;
      continue;
    }
    if (dim.kind == FormulaDim::Kind::kName) {
      RETURN_IF_ERROR(BindDim(input, dim.text, shape[axis]));
    } else {
      required_.push_back({&input, &dim, shape[axis]});
    }
    ++axis;
  }
  return absl::OkStatus();
}

absl::Status FormulaBinding::BindDim(const FormulaTensor& input, const std::string& name,
                                     const Expr& size) {
  const auto [it, is_new] = values_.emplace(name, size);
  if (is_new) return absl::OkStatus();
  ASSIGN_OR_RETURN(it->second, Unify(n_, absl::StrCat(name, " of ", input.name), it->second, size));
  return absl::OkStatus();
}

absl::Status FormulaBinding::BindRest(const FormulaTensor& input, const std::string& name,
                                      const Dims& sizes) {
  const auto [it, is_new] = rests_.emplace(name, sizes);
  if (!is_new) {
    Dims& known = it->second;
    if (known.size() != sizes.size()) {
      return absl::InvalidArgumentError(absl::StrCat(name, " of ", input.name, " stands for ",
                                                     sizes.size(), " dimensions, before for ",
                                                     known.size()));
    }
    for (size_t d = 0; d < known.size(); ++d) {
      ASSIGN_OR_RETURN(known[d],
                       Unify(n_, absl::StrCat(name, " of ", input.name), known[d], sizes[d]));
    }
  }
  values_[name] = Shape(it->second).NumElements();
  return absl::OkStatus();
}

absl::Status FormulaBinding::BindLets() {
  for (const NamedFormula& let : formulas_.lets) {
    ASSIGN_OR_RETURN(values_[let.key], Value(let.key, let.text));
  }
  return absl::OkStatus();
}

absl::Status FormulaBinding::CheckSizes() const {
  for (const Required& r : required_) {
    const std::string what = absl::StrCat("size ", r.dim->text, " of ", r.input->name);
    ASSIGN_OR_RETURN(const Expr expected, Value(what, r.dim->text));
    RETURN_IF_ERROR(n_.RequireSame(what, r.size, expected));
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
    const auto it = rests_.find(dim.text);
    if (it == rests_.end()) {
      return absl::FailedPreconditionError(absl::StrCat(dim.text, " is not known"));
    }
    for (const Expr& size : it->second) shape->push_back(size);
    return absl::OkStatus();
  }
  if (dim.kind == FormulaDim::Kind::kFresh) {
    const Expr size = n_.FreshDim(output, shape->rank(), dim.text);
    values_[dim.text] = size;
    shape->push_back(size);
    return absl::OkStatus();
  }
  const std::string what =
      absl::StrCat("size of ", formulas_.outputs[static_cast<size_t>(output)].name);
  ASSIGN_OR_RETURN(Expr size, Amount(what, dim.text));
  shape->push_back(std::move(size));
  return absl::OkStatus();
}

absl::Status FormulaBinding::BindNode() {
  RETURN_IF_ERROR(BindInputs());
  BindOutputs();
  RETURN_IF_ERROR(BindLets());
  return CheckSizes();
}

void FormulaBinding::BindOutputs() {
  for (size_t o = 0; o < formulas_.outputs.size(); ++o) {
    const FormulaTensor& output = formulas_.outputs[o];
    const int i = static_cast<int>(o);
    values_[absl::StrCat(output.name, ".given")] = n_.HasOutput(i) ? 1 : 0;
    if (!n_.HasOutput(i)) values_[absl::StrCat(output.name, ".elements")] = 0;
    const Fact& fact = n_.output(i);
    values_[absl::StrCat(output.name, ".is_float")] = IsFloat(fact.dtype) ? 1 : 0;
    if (!fact.is_tensor() || !fact.shape.ranked()) continue;
    BindTensor(output.name, fact.shape);
    BindOutputDims(output, fact.shape);
  }
}

// From both ends: what is between may be any number.
void FormulaBinding::BindOutputDims(const FormulaTensor& output, const Shape& shape) {
  const auto bind = [&](const FormulaDim& dim, int axis) {
    if (axis < 0 || axis >= shape.rank()) return;
    if (dim.kind == FormulaDim::Kind::kFresh) values_[dim.text] = shape[axis];
    if (dim.kind == FormulaDim::Kind::kName) values_.emplace(dim.text, shape[axis]);
  };
  const auto is_rest = [](const FormulaDim& d) { return d.kind == FormulaDim::Kind::kRest; };
  const auto& dims = output.dims;
  const auto rest = std::find_if(dims.begin(), dims.end(), is_rest);
  const auto front = static_cast<int>(rest - dims.begin());
  for (int d = 0; d < front; ++d) bind(dims[static_cast<size_t>(d)], d);
  if (rest == dims.end()) return;
  const int back = static_cast<int>(dims.end() - rest) - 1;
  for (int d = 1; d <= back; ++d)
    bind(dims[dims.size() - static_cast<size_t>(d)], shape.rank() - d);
  if (shape.rank() < front + back) return;
  const Dims between(shape.dims().begin() + front, shape.dims().end() - back);
  values_.emplace(rest->text, Shape(between).NumElements());
  rests_.emplace(rest->text, between);
}

// ---- rows of ours

std::vector<NamedFormula> ByKind(const NamedFormula& cost) {
  if (!absl::StartsWith(cost.key, "attr.")) return {cost};
  std::vector<NamedFormula> kinds;
  for (int i = 0; i < kNumKinds; ++i) {
    const absl::string_view kind = KindName(static_cast<Kind>(i));
    kinds.push_back({std::string(kind), absl::StrCat(cost.key, ".", kind, "*(", cost.text, ")")});
  }
  return kinds;
}

namespace {

absl::StatusOr<bool> IsFloatWork(Formulas::Arithmetic arithmetic, const NodeView& n) {
  if (arithmetic == Formulas::Arithmetic::kOfInput) return IsFloat(n.dtype(0));
  if (arithmetic != Formulas::Arithmetic::kOfOutput) {
    return arithmetic == Formulas::Arithmetic::kFloat;
  }
  const DType type = n.output(0).dtype;
  if (type != DType::kUndefined) return IsFloat(type);
  return absl::FailedPreconditionError("the type of output 0 is not known");
}

}  // namespace

absl::StatusOr<FormulaResult> EvaluateCosts(const Formulas& formulas, const NodeView& n,
                                            const FormulaBinding& binding) {
  ASSIGN_OR_RETURN(const bool float_work, IsFloatWork(formulas.arithmetic, n));
  FormulaResult result;
  Census plain;
  for (const NamedFormula& cost : formulas.costs) {
    for (const NamedFormula& part : ByKind(cost)) {
      const Kind kind = *KindNamed(part.key);
      const bool is_plain = !absl::StrContains(part.key, '_');
      const bool is_int = is_plain ? !float_work : absl::StartsWith(part.key, "int_");
      ASSIGN_OR_RETURN(const Expr amount, binding.Amount(part.key, part.text));
      (is_plain ? plain : is_int ? result.cost.int_ops : result.cost.flops)[kind] += amount;
      result.terms.push_back({kind, is_int, part.text, /*filled=*/"", amount});
    }
  }
  // A complex operation of a row is several real ones.
  const bool of_type = formulas.arithmetic == Formulas::Arithmetic::kOfInput;
  const Cost typed = CostIn(of_type      ? n.dtype(0)
                            : float_work ? DType::kFloat32
                                         : DType::kInt32,
                            std::move(plain));
  result.cost.flops += typed.flops;
  result.cost.int_ops += typed.int_ops;
  return result;
}

absl::StatusOr<FormulaResult> EvaluateFormulas(const Formulas& formulas, const NodeView& n) {
  FormulaBinding binding(formulas, n);
  RETURN_IF_ERROR(binding.BindNode());
  ASSIGN_OR_RETURN(FormulaResult result, EvaluateCosts(formulas, n, binding));
  for (FormulaTerm& term : result.terms) term.filled = binding.Filled(term.formula);
  return result;
}

}  // namespace onnxflops
