// The formulas of a row, read from its data.
//
// How it works. A row's data are four texts: attributes, signature, let, costs. They are split at
// ";" and "=" into parts that remember their column. In a test all rows are read with checks: every
// name must be known in the scope and every formula well-formed. When counting, these checks are
// skipped, because the rows are compiled in and have been tested. A row without costs of its own,
// whose cost rule is one of the two shared ones, gets a formula per element of its first output or
// input, so that `explain` has one for it as well. IndexNames() makes the tables by which names are
// found without a search.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ops/formula/formula.h"
#include "ops/formula/formula_names.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "ops/user/user_rule.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

using formula::ErrorAt;
using formula::IsName;
using formula::ParseAttributeType;
using formula::ParseTensor;
using formula::Scope;
using formula::Shifted;
using formula::SplitList;
using formula::TensorText;
using formula::TextPart;
using formula::Trimmed;

// Element-wise rows have no signature, only a cost per element: these stand for it.
constexpr char kAnySignature[] = "X... -> Y";
constexpr char kFirstSignature[] = "X others... -> Y";

class RowReader {
 public:
  RowReader(const OpDef& row, bool checks, bool of_gradient = false)
      : row_(row), data_(row.data), checks_(checks), of_gradient_(of_gradient) {}

  absl::StatusOr<Formulas> Read() {
    for (const auto& [what, read] : {std::make_pair("costs", &RowReader::ReadOther),
                                     {"gradient", &RowReader::TakeGradient},
                                     {"attributes", &RowReader::ReadAttributes},
                                     {"signature", &RowReader::ReadSignature},
                                     {"let", &RowReader::ReadLets},
                                     {"costs", &RowReader::ReadCosts}}) {
      const absl::Status status = (this->*read)();
      if (!status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(what, ": ", status.message()));
      }
    }
    result_.IndexNames();
    return std::move(result_);
  }

 private:
  static absl::string_view Text(const char* text) { return text == nullptr ? "" : text; }

  // "as Conv": takes the texts of that row for which this one has none, and all its attributes.
  absl::Status ReadOther() {
    absl::string_view name = Text(data_.costs);
    if (!absl::ConsumePrefix(&name, "as ")) return absl::OkStatus();
    const size_t dot = name.rfind('.');
    const absl::string_view domain = name.substr(0, dot == absl::string_view::npos ? 0 : dot);
    const FoundOp other = FindOp(domain, name.substr(dot + 1), kMaxOpset);
    if (other.def == nullptr || other.def->data.costs == nullptr) {
      return ErrorAt(0, absl::StrCat("no operator ", Quoted(name), " has formulas"));
    }
    const FormulaData& theirs = other.def->data;
    if (data_.signature == nullptr) data_.signature = theirs.signature;
    if (data_.let == nullptr) data_.let = theirs.let;
    data_.costs = theirs.costs;
    const bool both = theirs.attributes != nullptr && data_.attributes != nullptr;
    attributes_ = absl::StrCat(Text(theirs.attributes), both ? "; " : "", Text(data_.attributes));
    data_.attributes = attributes_.c_str();
    return absl::OkStatus();
  }

  // Replaces the costs by those of the gradient, and adds its definitions after the row's.
  absl::Status TakeGradient() {
    if (!of_gradient_) return absl::OkStatus();
    const bool both = data_.let != nullptr && row_.gradient.let != nullptr;
    lets_ = absl::StrCat(Text(data_.let), both ? "; " : "", Text(row_.gradient.let));
    data_.let = lets_.c_str();
    data_.costs = row_.gradient.costs;
    return absl::OkStatus();
  }

  // "name = text" at its place.
  static absl::StatusOr<std::pair<TextPart, TextPart>> SplitAtEquals(const TextPart& part) {
    const size_t equals = part.text.find('=');
    if (equals == absl::string_view::npos) {
      return ErrorAt(part.at, "expected \"name = formula\"");
    }
    const TextPart name = Trimmed({part.text.substr(0, equals), part.at});
    return std::make_pair(name, Trimmed({part.text.substr(equals + 1), part.at + equals + 1}));
  }

  absl::Status ReadAttributes() {
    for (const TextPart& part : SplitList({Text(data_.attributes), 0}, ';')) {
      ASSIGN_OR_RETURN(const auto sides, SplitAtEquals(part));
      FormulaAttribute attribute;
      attribute.name = std::string(sides.first.text);
      if (!IsName(attribute.name) || !ReadDefault(sides.second.text, &attribute)) {
        return ErrorAt(part.at, absl::StrCat(Quoted(part.text), " is no attribute"));
      }
      if (checks_) RETURN_IF_ERROR(Shifted(scope_.DefineAttribute(attribute), part.at));
      result_.attributes.push_back(std::move(attribute));
    }
    return absl::OkStatus();
  }

  static bool ReadDefault(absl::string_view text, FormulaAttribute* attribute) {
    if (ParseAttributeType(text, attribute)) return true;
    int64_t number = 0;
    attribute->type = FormulaAttribute::Type::kInts;
    if (absl::string_view sizes = text; absl::ConsumeSuffix(&sizes, "...") && IsName(sizes)) {
      attribute->sizes = std::string(sizes);
      return true;
    }
    if (absl::ConsumePrefix(&text, "[") && absl::ConsumeSuffix(&text, "]")) {
      for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
        if (!absl::SimpleAtoi(item, &number)) return false;
        attribute->ints.push_back(number);
      }
      return true;
    }
    attribute->type = FormulaAttribute::Type::kFloat;
    attribute->is_either = absl::EndsWith(text, ".");
    if (absl::StrContains(text, '.')) return absl::SimpleAtof(text, &attribute->number);
    attribute->type = FormulaAttribute::Type::kInt;
    if (!absl::SimpleAtoi(text, &number)) return false;
    attribute->ints = {number};
    return true;
  }

  absl::string_view Signature() const {
    if (data_.signature != nullptr) return data_.signature;
    return row_.count == CountPerInputElement ? kFirstSignature : kAnySignature;
  }

  absl::Status ReadSignature() {
    const absl::string_view text = Signature();
    const size_t arrow = text.find("->");
    if (arrow == absl::string_view::npos) return ErrorAt(0, "expected \"inputs -> outputs\"");
    std::vector<TensorText> inputs, outputs;
    for (const TextPart& part : SplitList({text.substr(0, arrow), 0}, ' ')) {
      RETURN_IF_ERROR(ReadTensor(part, &inputs, &result_.inputs));
    }
    for (const TextPart& part : SplitList({text.substr(arrow + 2), arrow + 2}, ' ')) {
      RETURN_IF_ERROR(ReadTensor(part, &outputs, &result_.outputs));
    }
    if (!checks_) return absl::OkStatus();
    for (const TensorText& input : inputs) {
      if (input.tensor.any_number && &input != &inputs.back()) {
        return ErrorAt(input.name.at, "only the last input can be any number");
      }
      RETURN_IF_ERROR(scope_.DefineInput(input));
    }
    for (const TensorText& output : outputs) {
      RETURN_IF_ERROR(scope_.DefineOutput(output));
    }
    scope_.DefineOptional(result_.inputs);
    if (of_gradient_) RETURN_IF_ERROR(scope_.DefineGradient(result_.inputs));
    for (const TensorText& input : inputs) RETURN_IF_ERROR(scope_.CheckInputSizes(input));
    return absl::OkStatus();
  }

  static absl::Status ReadTensor(const TextPart& part, std::vector<TensorText>* texts,
                                 std::vector<FormulaTensor>* tensors) {
    if (part.text.empty()) return absl::OkStatus();  // more than one space
    absl::StatusOr<TensorText> text = ParseTensor(part.text);
    if (!text.ok()) return Shifted(text.status(), part.at);
    if (!text->type.text.empty()) return ErrorAt(part.at, "a row's rule says its types");
    tensors->push_back(text->tensor);
    texts->push_back(*std::move(text));
    return absl::OkStatus();
  }

  absl::Status ReadLets() {
    for (const TextPart& part : SplitList({Text(data_.let), 0}, ';')) {
      ASSIGN_OR_RETURN(const auto sides, SplitAtEquals(part));
      const auto& [name, formula] = sides;
      if (!IsName(name.text)) {
        return ErrorAt(name.at, absl::StrCat(Quoted(name.text), " is no name"));
      }
      if (checks_) {
        RETURN_IF_ERROR(scope_.CheckFormula(formula));
        RETURN_IF_ERROR(Shifted(scope_.DefineLet(name.text), name.at));
      }
      result_.lets.push_back({std::string(name.text), std::string(formula.text)});
    }
    return absl::OkStatus();
  }

  absl::Status ReadCosts() {
    if (data_.costs == nullptr) return DeriveCosts();
    if (absl::string_view(data_.costs) == "free") return absl::OkStatus();
    for (const TextPart& part : SplitList({data_.costs, 0}, ';')) {
      ASSIGN_OR_RETURN(const auto sides, SplitAtEquals(part));
      const auto& [key, formula] = sides;
      if (!KindNamed(key.text).has_value() && !IsActivation(key.text)) {
        return ErrorAt(key.at, absl::StrCat(Quoted(key.text), " is no kind of work"));
      }
      if (checks_) RETURN_IF_ERROR(scope_.CheckAmount(formula));
      result_.costs.push_back({std::string(key.text), std::string(formula.text)});
    }
    if (result_.costs.empty()) return ErrorAt(0, "nothing is said");
    AddActivations();
    return absl::OkStatus();
  }

  // True for "attr.NAME" of an activation.
  bool IsActivation(absl::string_view key) const {
    return std::any_of(result_.attributes.begin(), result_.attributes.end(), [&](const auto& a) {
      return a.type == FormulaAttribute::Type::kActivation && key == absl::StrCat("attr.", a.name);
    });
  }

  // An activation that no cost names works on each element of the first output.
  void AddActivations() {
    for (const FormulaAttribute& a : result_.attributes) {
      if (a.type != FormulaAttribute::Type::kActivation || result_.outputs.empty()) continue;
      const std::string key = absl::StrCat("attr.", a.name);
      const auto names = [&](const NamedFormula& cost) { return cost.key == key; };
      if (std::any_of(result_.costs.begin(), result_.costs.end(), names)) continue;
      result_.costs.push_back({key, absl::StrCat(result_.outputs[0].name, ".elements")});
    }
  }

  // The formulas of the two shared cost rules.
  absl::Status DeriveCosts() {
    if (row_.count == nullptr) return absl::OkStatus();
    const bool of_output = row_.count == CountPerOutputElement;
    if (!of_output && row_.count != CountPerInputElement) return ErrorAt(0, "they are missing");
    const std::vector<FormulaTensor>& tensors = of_output ? result_.outputs : result_.inputs;
    if (tensors.empty()) return ErrorAt(0, "the signature lacks the tensor they are of");
    const std::string elements = absl::StrCat(tensors[0].name, ".elements");
    const Census census = row_.per_element * Expr(1);
    for (int i = 0; i < kNumKinds; ++i) {
      const Kind kind = static_cast<Kind>(i);
      if (census[kind] == Expr(0)) continue;
      const bool once = census[kind] == Expr(1);
      result_.costs.push_back(
          {std::string(KindName(kind)),
           once ? elements : absl::StrCat(census[kind].ToString(), "*", elements)});
    }
    return absl::OkStatus();
  }

  const OpDef& row_;
  FormulaData data_;  // the row's, with what it takes from another
  std::string attributes_, lets_;
  const bool checks_;  // whether names are known and formulas are well-formed
  const bool of_gradient_;
  Scope scope_;
  Formulas result_;
};

}  // namespace

absl::StatusOr<std::optional<Formulas>> FormulasOf(const OpDef& row) {
  if (row.user_rule != nullptr) return row.user_rule->formulas;
  const bool shared = row.count == CountPerOutputElement || row.count == CountPerInputElement;
  const bool has_data = row.data.signature != nullptr || row.data.costs != nullptr;
  if (!has_data && !shared) return std::nullopt;
  return RowReader(row, /*checks=*/true).Read();
}

absl::StatusOr<Formulas> GradientFormulasOf(const OpDef& row) {
  return RowReader(row, /*checks=*/true, /*of_gradient=*/true).Read();
}

absl::StatusOr<Formulas> formula::CheckedFormulasOf(const OpDef& row, bool of_gradient) {
  return RowReader(row, /*checks=*/false, of_gradient).Read();
}

void Formulas::IndexNames() {
  size_t tensor = 0;
  for (const std::vector<FormulaTensor>* tensors : {&inputs, &outputs}) {
    for (const FormulaTensor& t : *tensors) {
      names.tensors.emplace(t.name, tensor);
      for (size_t d = 0; d < t.dims.size(); ++d) {
        if (t.dims[d].kind == FormulaDim::Kind::kFormula) continue;
        names.dims[t.dims[d].text].push_back({.tensor = tensor, .dim = d});
      }
      ++tensor;
    }
  }
  for (size_t a = 0; a < attributes.size(); ++a) {
    names.attributes.emplace(attributes[a].name, a);
    const std::string& sizes = attributes[a].sizes;
    if (!sizes.empty()) names.dims[sizes].push_back({.dim = a, .is_attribute = true});
  }
}

std::string WrittenTensor(const FormulaTensor& tensor) {
  std::string out =
      absl::StrCat(tensor.name, tensor.optional ? "?" : "", tensor.any_number ? "..." : "");
  if (!tensor.has_shape) return out;
  const auto append = [](std::string* text, const FormulaDim& dim) {
    const bool rest = dim.kind == FormulaDim::Kind::kRest;
    absl::StrAppend(text, dim.kind == FormulaDim::Kind::kFresh ? "?" : "",
                    rest && dim.text == "..." ? "" : dim.text, rest ? "..." : "");
  };
  return absl::StrCat(out, "[", absl::StrJoin(tensor.dims, ", ", append), "]");
}

std::string SignatureText(const Formulas& formulas) {
  const auto append = [](std::string* out, const FormulaTensor& tensor) {
    absl::StrAppend(out, WrittenTensor(tensor));
  };
  const std::string inputs = absl::StrJoin(formulas.inputs, " ", append);
  return absl::StrCat(inputs, inputs.empty() ? "" : " ", "-> ",
                      absl::StrJoin(formulas.outputs, " ", append));
}

std::string AttributeText(const FormulaAttribute& attribute) {
  switch (attribute.type) {
    case FormulaAttribute::Type::kList:
      return "list";
    case FormulaAttribute::Type::kActivation:
      return absl::StrCat("activation", attribute.words[0].empty() ? "" : "|", attribute.words[0]);
    case FormulaAttribute::Type::kWord:
      return absl::StrCat(absl::StrJoin(attribute.words, "|"), attribute.is_either ? "|..." : "");
    case FormulaAttribute::Type::kInts:
      if (!attribute.sizes.empty()) return absl::StrCat(attribute.sizes, "...");
      if (attribute.required) return "ints";
      return absl::StrCat("[", absl::StrJoin(attribute.ints, ", "), "]");
    case FormulaAttribute::Type::kFloat: {
      if (attribute.required) return "float";
      const std::string number = absl::StrCat(attribute.number);
      return absl::StrContains(number, '.') ? number : absl::StrCat(number, ".0");
    }
    case FormulaAttribute::Type::kInt:
      break;
  }
  return attribute.required ? "int" : absl::StrCat(attribute.ints[0]);
}

std::string CostsText(const Formulas& formulas) {
  std::vector<std::string> parts;
  for (const NamedFormula& cost : formulas.costs) {
    absl::string_view key = cost.key;
    const char* type = absl::ConsumePrefix(&key, "int_")     ? "integer "
                       : absl::ConsumePrefix(&key, "float_") ? "float "
                                                             : "";
    parts.push_back(absl::StrCat(type, key, " = ", cost.text));
  }
  std::string out = parts.empty() ? "free" : absl::StrJoin(parts, ", ");
  for (const NamedFormula& let : formulas.lets) {
    absl::StrAppend(&out, "; ", let.key, " = ", let.text);
  }
  return out;
}

std::optional<Kind> KindNamed(absl::string_view key) {
  if (!absl::ConsumePrefix(&key, "int_")) absl::ConsumePrefix(&key, "float_");
  for (int i = 0; i < kNumKinds; ++i) {
    if (key == KindName(static_cast<Kind>(i))) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

}  // namespace onnxflops
