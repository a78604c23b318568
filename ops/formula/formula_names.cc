// How it works. The texts of a rule, "x?[batch..., 4*H] : float16" and formulas, are split by hand;
// every part remembers its column, so that errors can point at it. A scope collects the names that
// formulas may use: sizes of inputs and outputs, "X.elements" and the like, attributes, lets. A
// formula is checked by evaluating it with symbols in place of the names: an unknown name is an
// error that lists known ones, and a cost that can never be positive is an error, too. Names of
// optional inputs are known but not usable on their own, since the input may be left out.
#include "ops/formula/formula_names.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops::formula {

namespace {

constexpr char kRest[] = "...";
constexpr size_t kMaxNamesShown = 12;

// Reads "column 5: " from the front of a message.
std::optional<size_t> ConsumeColumn(absl::string_view* message) {
  absl::string_view rest = *message;
  size_t column = 0;
  if (!absl::ConsumePrefix(&rest, "column ")) return std::nullopt;
  const size_t colon = rest.find(": ");
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(rest.substr(0, colon), &column)) {
    return std::nullopt;
  }
  *message = rest.substr(colon + 2);
  return column;
}

}  // namespace

// ---- texts

TextPart Trimmed(TextPart part) {
  const size_t before = part.text.size();
  part.text = absl::StripLeadingAsciiWhitespace(part.text);
  part.at += before - part.text.size();
  part.text = absl::StripTrailingAsciiWhitespace(part.text);
  return part;
}

std::vector<TextPart> SplitList(TextPart list, char separator) {
  std::vector<TextPart> parts;
  if (Trimmed(list).text.empty()) return parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= list.text.size(); ++i) {
    const char c = i < list.text.size() ? list.text[i] : separator;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (i < list.text.size() && (c != separator || depth > 0)) continue;
    parts.push_back(Trimmed({list.text.substr(begin, i - begin), list.at + begin}));
    begin = i + 1;
  }
  return parts;
}

bool IsName(absl::string_view text) {
  if (text.empty() || absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

absl::Status ErrorAt(size_t at, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("column ", at + 1, ": ", what));
}

absl::Status Shifted(const absl::Status& error, size_t by) {
  absl::string_view message = error.message();
  const std::optional<size_t> column = ConsumeColumn(&message);
  return column.has_value() ? ErrorAt(by + *column - 1, message) : error;
}

namespace {

absl::StatusOr<FormulaDim> ParseDim(const TextPart& part) {
  absl::string_view name = part.text;
  if (name.empty()) return ErrorAt(part.at, "a size is missing");
  const auto check = [&]() -> absl::Status {
    if (IsName(name)) return absl::OkStatus();
    return ErrorAt(part.at, absl::StrCat(Quoted(name), " is no name"));
  };
  if (absl::ConsumeSuffix(&name, kRest)) {
    if (name.empty()) return FormulaDim{FormulaDim::Kind::kRest, kRest};
    RETURN_IF_ERROR(check());
    return FormulaDim{FormulaDim::Kind::kRest, std::string(name)};
  }
  if (absl::ConsumePrefix(&name, "?")) {
    RETURN_IF_ERROR(check());
    return FormulaDim{FormulaDim::Kind::kFresh, std::string(name)};
  }
  return FormulaDim{IsName(name) ? FormulaDim::Kind::kName : FormulaDim::Kind::kFormula,
                    std::string(name)};
}

}  // namespace

absl::StatusOr<TensorText> ParseTensor(absl::string_view text) {
  TensorText result;
  TextPart left = {text, 0};
  const size_t end = text.rfind(']');
  const size_t colon = text.rfind(':');
  if (colon != absl::string_view::npos && (end == absl::string_view::npos || colon > end)) {
    result.type = Trimmed({text.substr(colon + 1), colon + 1});
    if (result.type.text.empty()) return ErrorAt(colon, "a type is missing");
    left.text = left.text.substr(0, colon);
  }
  const size_t open = left.text.find('[');
  if (open != absl::string_view::npos) {
    const size_t close = left.text.rfind(']');
    const bool closed = close != absl::string_view::npos && close > open &&
                        Trimmed({left.text.substr(close + 1), 0}).text.empty();
    if (!closed) return ErrorAt(open, "expected name[sizes]: a bracket is not closed");
    result.tensor.has_shape = true;
    result.sizes = SplitList({left.text.substr(open + 1, close - open - 1), open + 1}, ',');
    left.text = left.text.substr(0, open);
  }
  result.name = Trimmed(left);
  result.tensor.any_number =
      !result.tensor.has_shape && absl::ConsumeSuffix(&result.name.text, kRest);
  result.tensor.optional = absl::ConsumeSuffix(&result.name.text, "?");
  result.name = Trimmed(result.name);
  result.tensor.name = std::string(result.name.text);
  bool has_rest = false;
  for (const TextPart& part : result.sizes) {
    ASSIGN_OR_RETURN(FormulaDim dim, ParseDim(part));
    if (dim.kind == FormulaDim::Kind::kRest) {
      if (has_rest) return ErrorAt(part.at, "only one \"...\" can be in a shape");
      has_rest = true;
    }
    result.tensor.dims.push_back(std::move(dim));
  }
  return result;
}

bool ParseAttributeType(absl::string_view text, FormulaAttribute* attribute) {
  using Type = FormulaAttribute::Type;
  attribute->type = Type::kList;
  attribute->is_either = text == "list";
  if (text == "list" || text == "floats") return true;
  attribute->is_either = false;
  attribute->type = Type::kActivation;
  if (text == "activation" || absl::ConsumePrefix(&text, "activation|")) {
    attribute->words = {text == "activation" ? "" : std::string(text)};
    return true;
  }
  attribute->required = true;
  for (const auto& [name, type] :
       {std::make_pair("int", Type::kInt), {"ints", Type::kInts}, {"float", Type::kFloat}}) {
    attribute->type = type;
    attribute->is_either = type == Type::kFloat;
    if (text == name) return true;
  }
  attribute->required = false;
  attribute->type = Type::kWord;
  attribute->is_either = absl::ConsumeSuffix(&text, "|...");
  if (!absl::StrContains(text, '|')) return false;
  attribute->words = absl::StrSplit(text, '|');
  for (std::string& word : attribute->words) absl::StripAsciiWhitespace(&word);
  return std::all_of(attribute->words.begin(), attribute->words.end(), [&](const auto& word) {
    return IsName(word) || &word == attribute->words.data();
  });
}

// ---- names

absl::Status Scope::Define(size_t at, absl::string_view name, int64_t at_least) {
  if (names_.emplace(name, at_least).second) return absl::OkStatus();
  return ErrorAt(at, absl::StrCat(Quoted(name), " is defined twice"));
}

absl::Status Scope::DefineAttribute(const FormulaAttribute& attribute) {
  const std::string name = absl::StrCat("attr.", attribute.name);
  RETURN_IF_ERROR(Define(0, absl::StrCat(name, ".given"), 0));
  switch (attribute.type) {
    case FormulaAttribute::Type::kInt:
      return Define(0, name, kAnyInt);
    case FormulaAttribute::Type::kInts:
      lists_.insert(name);
      RETURN_IF_ERROR(Define(0, absl::StrCat(name, ".count"), 0));
      return Define(0, absl::StrCat(name, ".*"), kAnyInt);
    case FormulaAttribute::Type::kFloat:
      RETURN_IF_ERROR(Define(0, absl::StrCat(name, ".is_positive"), 0));
      return Define(0, absl::StrCat(name, ".is_*"), 0);
    case FormulaAttribute::Type::kList:
      return Define(0, absl::StrCat(name, ".count"), 0);
    case FormulaAttribute::Type::kActivation:
      for (int i = 0; i < kNumKinds; ++i) {
        RETURN_IF_ERROR(Define(0, absl::StrCat(name, ".", KindName(static_cast<Kind>(i))), 0));
      }
      return absl::OkStatus();
    case FormulaAttribute::Type::kWord:
      for (const std::string& word : attribute.words) {
        if (!word.empty()) RETURN_IF_ERROR(Define(0, absl::StrCat(name, ".", word), 0));
      }
  }
  return absl::OkStatus();
}

absl::Status Scope::DefineTensor(const TensorText& tensor) {
  const auto& [name, at] = tensor.name;
  if (!IsName(name) || name == "attr") {
    return ErrorAt(at, absl::StrCat(Quoted(name), " is no name of a tensor"));
  }
  const std::string elements = absl::StrCat(name, ".elements");
  if (names_.contains(elements)) {
    return ErrorAt(at, absl::StrCat("there are two tensors ", Quoted(name)));
  }
  RETURN_IF_ERROR(Define(at, elements, 0));
  if (tensor.tensor.any_number) return Define(at, absl::StrCat(name, ".count"), 0);
  lists_.insert(std::string(name));
  for (const char* what : {".rank", ".given", ".is_float", ".is_string"}) {
    RETURN_IF_ERROR(Define(at, absl::StrCat(name, what), 0));
  }
  return absl::OkStatus();
}

absl::Status Scope::DefineInput(const TensorText& input) {
  RETURN_IF_ERROR(DefineTensor(input));
  const auto& [name, at] = input.name;
  if (!input.tensor.any_number) {
    RETURN_IF_ERROR(Define(at, absl::StrCat(name, ".value"), kAnyInt));
    RETURN_IF_ERROR(Define(at, absl::StrCat(name, ".known"), 0));
    RETURN_IF_ERROR(Define(at, absl::StrCat(name, ".is_*"), 0));
  }
  for (const FormulaDim& dim : input.tensor.dims) {
    const bool is_rest = dim.kind == FormulaDim::Kind::kRest;
    if (dim.kind == FormulaDim::Kind::kFormula) continue;
    if (dim.kind == FormulaDim::Kind::kFresh) {
      return absl::InvalidArgumentError(
          absl::StrCat("?", dim.text, ": only a size of an output can depend on data"));
    }
    const auto [known, is_new] = rests_or_names_.emplace(dim.text, is_rest);
    if (!is_new && known->second != is_rest) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(dim.text), " is one dimension in one place, any number in another"));
    }
    if (is_rest) lists_.insert(dim.text);
    if (!input.tensor.optional) names_.emplace(dim.text, 0);
  }
  return absl::OkStatus();
}

void Scope::DefineOptional(const std::vector<FormulaTensor>& inputs) {
  for (const FormulaTensor& input : inputs) {
    for (const FormulaDim& dim : input.dims) {
      if (input.optional && !names_.contains(dim.text)) optional_names_[dim.text] = input.name;
    }
  }
}

absl::Status Scope::DefineGradient(const std::vector<FormulaTensor>& inputs) {
  for (const FormulaTensor& input : inputs) {
    if (input.any_number) continue;
    RETURN_IF_ERROR(Define(0, absl::StrCat(input.name, ".needed"), 0));
    RETURN_IF_ERROR(Define(0, absl::StrCat(input.name, ".summed"), 0));
  }
  for (int i = 0; i < kNumKinds; ++i) {
    RETURN_IF_ERROR(Define(0, absl::StrCat("forward.", KindName(static_cast<Kind>(i))), 0));
  }
  return absl::OkStatus();
}

absl::Status Scope::CheckInputSizes(const TensorText& input) {
  for (size_t d = 0; d < input.sizes.size(); ++d) {
    if (input.tensor.dims[d].kind != FormulaDim::Kind::kFormula) continue;
    RETURN_IF_ERROR(CheckFormula(input.sizes[d]));
  }
  return absl::OkStatus();
}

absl::Status Scope::DefineLet(absl::string_view name) {
  if (const auto optional = optional_names_.find(name); optional != optional_names_.end()) {
    return ErrorAt(0, absl::StrCat(Quoted(name), " is a size of ", optional->second, " already"));
  }
  return Define(0, name, kAnyInt);
}

absl::Status Scope::DefineOutput(const TensorText& output) {
  RETURN_IF_ERROR(DefineTensor(output));
  for (const FormulaDim& dim : output.tensor.dims) {
    if (dim.kind == FormulaDim::Kind::kFresh) RETURN_IF_ERROR(Define(0, dim.text, 0));
    if (dim.kind == FormulaDim::Kind::kFormula) continue;
    if (dim.kind == FormulaDim::Kind::kRest) lists_.insert(dim.text);
    names_.emplace(dim.text, 0);
  }
  return absl::OkStatus();
}

absl::Status Scope::CheckOutputSizes(const TensorText& output) {
  for (size_t d = 0; d < output.sizes.size(); ++d) {
    const FormulaDim& dim = output.tensor.dims[d];
    if (dim.kind == FormulaDim::Kind::kFresh) continue;
    if (dim.kind != FormulaDim::Kind::kRest) {
      RETURN_IF_ERROR(CheckAmount(output.sizes[d]));
      continue;
    }
    const auto known = rests_or_names_.find(dim.text);
    if (known == rests_or_names_.end() || !known->second || !names_.contains(dim.text)) {
      return ErrorAt(output.sizes[d].at,
                     absl::StrCat("no input has the dimensions ", Quoted(output.sizes[d].text)));
    }
  }
  return absl::OkStatus();
}

// ---- formulas

absl::StatusOr<Expr> Scope::Known(absl::string_view name) {
  for (const char* content : {".value", ".known"}) {
    if (absl::EndsWith(name, content) && names_.contains(name)) reads_content_ = true;
  }
  const auto it = names_.find(name);
  if (it != names_.end()) return Expr::Symbol(name, it->second);
  if (name == "version" || name == "unknown") return Expr::Symbol(name, 1);
  const size_t dot = name.rfind('.');
  int64_t index = 0;
  if (const size_t is = name.rfind(".is_");
      is != absl::string_view::npos && absl::SimpleAtoi(name.substr(is + 4), &index) &&
      names_.contains(absl::StrCat(name.substr(0, is), ".is_*"))) {
    if (!absl::StartsWith(name, "attr.")) reads_content_ = true;
    return Expr::Symbol(name, 0);
  }
  if (dot != absl::string_view::npos && absl::SimpleAtoi(name.substr(dot + 1), &index) &&
      index >= 0 && index < kMaxRank && names_.contains(absl::StrCat(name.substr(0, dot), ".*"))) {
    return Expr::Symbol(name, kAnyInt);
  }
  if (optional_names_.contains(name)) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(name),
                                                   " is known only where the optional input ",
                                                   optional_names_[name], " is given"));
  }
  std::vector<std::string> names;
  for (const bool dotted : {false, true}) {  // sizes first
    for (const auto& [known, at_least] : names_) {
      if (absl::StrContains(known, '.') != dotted || known == kRest) continue;
      if (names.size() < kMaxNamesShown) names.push_back(known);
    }
  }
  if (names.size() < names_.size()) names.emplace_back(kRest);
  return absl::InvalidArgumentError(
      absl::StrCat("nothing is named ", Quoted(name), "; known: ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<Expr> Scope::KnownPart(absl::string_view name) const {
  if (lists_.contains(name)) return Expr::Symbol(name, 0);
  return absl::InvalidArgumentError(absl::StrCat(Quoted(name), " has no sizes to choose from"));
}

absl::StatusOr<Expr> Scope::Check(const TextPart& formula) {
  absl::StatusOr<Expr> value = ParseFormula(
      formula.text, {[this](absl::string_view name) { return Known(name); },
                     [this](absl::string_view name, const FormulaPart&) { return KnownPart(name); },
                     /*must_decide=*/false});
  if (!value.ok()) return Shifted(value.status(), formula.at);
  return value;
}

absl::Status Scope::CheckFormula(const TextPart& formula) { return Check(formula).status(); }

absl::Status Scope::CheckAmount(const TextPart& formula) {
  ASSIGN_OR_RETURN(const Expr value, Check(formula));
  const std::optional<absl::int128> most = value.UpperBound();
  if (most.has_value() && *most <= 0 && value != Expr(0)) {
    return ErrorAt(formula.at, absl::StrCat(Quoted(formula.text), " is never positive"));
  }
  return absl::OkStatus();
}

}  // namespace onnxflops::formula
