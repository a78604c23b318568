// Reads the user's operators from TOML, and checks all that can be checked without a model.
//
// How it works. Each [[op]] becomes a row like those of ops/, whose formulas are kept as text. Its
// parts are read in the order in which names become known: attributes, inputs, lets, outputs,
// costs. A scope collects the names, so each formula is parsed at once and an unknown name is an
// error with file, line and column. Sizes of inputs are checked after the lets, which they may use;
// names of outputs are defined last, because only costs may use them. Two rules for one operator
// and overlapping opsets are an error, and one of our own operators is replaced only with override
// = true.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ops/formula/formula_names.h"
#include "ops/registry.h"
#include "ops/user/user_rule.h"
#include "ops/user/user_rules.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/base/toml.h"

namespace onnxflops {

namespace {

using formula::IsName;
using formula::ParseAttributeType;
using formula::ParseTensor;
using formula::Scope;
using formula::Shifted;
using formula::TensorText;
using formula::TextPart;
using formula::Trimmed;

constexpr absl::string_view kOtherKeys[] = {
    "domain",     "name",   "since",   "until", "override", "free",       "arithmetic",
    "attributes", "inputs", "outputs", "let",   "note",     "bytes_read", "bytes_written"};

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

class RulesReader : private TomlFile {
 public:
  RulesReader(absl::string_view text, absl::string_view file)
      : TomlFile(file), text_(text), data_(std::make_shared<Rules::Data>()) {}

  absl::StatusOr<Rules> Read() {
    ASSIGN_OR_RETURN(const toml::table root, Parse(text_));
    for (const auto& [key, node] : root) {
      if (key.str() != "op") {
        return At(key.source().begin, absl::StrCat("unknown key ", Quoted(View(key.str())),
                                                   "; every operator is a table [[op]]"));
      }
      if (!node.is_array_of_tables()) return Fault(node, "an operator is a table [[op]]");
      for (const toml::node& op : *node.as_array()) RETURN_IF_ERROR(ReadOp(*op.as_table()));
    }
    for (UserRule& rule : data_->rules) {
      data_->families.push_back({rule.domain.c_str(), absl::MakeConstSpan(&rule.row, 1)});
      data_->by_name[rule.name].push_back(&rule);
    }
    Rules rules;
    rules.data_ = data_;
    return rules;
  }

 private:
  // ---- errors
  // At a place inside a string: exact where the string is written as it is.
  absl::Status FaultIn(const toml::node& node, size_t at, absl::string_view what) const {
    toml::source_position place = node.source().begin;
    const toml::source_position end = node.source().end;
    const size_t length = node.is_string() ? node.as_string()->get().size() : 0;
    if (place.line == end.line && end.column - place.column == length + 2) {
      place.column += static_cast<toml::source_index>(1 + at);
    }
    return At(place, what);
  }

  // An error of ops/formula/formula_names.h in that string, at its column if it names one.
  absl::Status FaultIn(const toml::node& node, const absl::Status& error) const {
    const std::string message(error.message());
    absl::string_view rest = message;
    size_t column = 0;
    const size_t colon = rest.find(": ");
    if (absl::ConsumePrefix(&rest, "column ") &&
        absl::SimpleAtoi(rest.substr(0, rest.find(": ")), &column) && column > 0) {
      return FaultIn(node, column - 1, absl::string_view(message).substr(colon + 2));
    }
    return Fault(node, message);
  }

  // ---- values
  absl::StatusOr<std::string> String(const toml::node& node, absl::string_view key) const {
    if (!node.is_string()) return Fault(node, absl::StrCat(key, " should be a string"));
    return node.as_string()->get();
  }
  absl::StatusOr<bool> Bool(const toml::node& node, absl::string_view key) const {
    if (!node.is_boolean()) return Fault(node, absl::StrCat(key, " should be true or false"));
    return node.as_boolean()->get();
  }
  absl::StatusOr<int> Version(const toml::node& node, absl::string_view key) const {
    const auto* value = node.as_integer();
    if (value == nullptr || value->get() < 1 || value->get() > INT32_MAX) {
      return Fault(node, absl::StrCat(key, " should be an opset, 1 or more"));
    }
    return static_cast<int>(value->get());
  }
  absl::StatusOr<const toml::array*> Strings(const toml::node& node, absl::string_view key) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return Fault(node, absl::StrCat(key, " should be a list of strings"));
    for (const toml::node& item : *list) {
      if (!item.is_string()) return Fault(item, absl::StrCat(key, " should be a list of strings"));
    }
    return list;
  }
  static const toml::node* Get(const toml::table& table, absl::string_view key) {
    return table.get(std::string_view(key.data(), key.size()));
  }

  // ---- one operator
  absl::Status ReadOp(const toml::table& op) {
    RETURN_IF_ERROR(CheckKeys(op));
    UserRule& rule = data_->rules.emplace_back();
    scope_ = Scope();
    rule.place = absl::StrCat("rule ", file_name(), ":", op.source().begin.line);
    RETURN_IF_ERROR(ReadIdentity(op, &rule));
    RETURN_IF_ERROR(CheckIdentity(*Get(op, "name"), rule));
    RETURN_IF_ERROR(ReadAttributes(op, &rule));
    RETURN_IF_ERROR(ReadInputs(op, &rule));
    RETURN_IF_ERROR(ReadLets(op, &rule));
    RETURN_IF_ERROR(CheckInputSizes(op));
    RETURN_IF_ERROR(ReadOutputs(op, &rule));
    RETURN_IF_ERROR(ReadCosts(op, &rule));
    uint32_t content = 0;
    if (scope_.reads_content()) {
      content = (uint64_t{1} << std::min<size_t>(rule.formulas.inputs.size(), 32)) - 1;
    }
    rule.MakeRow(scope_.reads_content(), content);
    return absl::OkStatus();
  }

  absl::Status CheckKeys(const toml::table& op) const {
    for (const auto& [key, node] : op) {
      const absl::string_view name = View(key.str());
      const bool known =
          KindNamed(name).has_value() ||
          std::find(std::begin(kOtherKeys), std::end(kOtherKeys), name) != std::end(kOtherKeys);
      if (known) continue;
      std::vector<absl::string_view> kinds;
      kinds.reserve(kNumKinds);
      for (int i = 0; i < kNumKinds; ++i) kinds.push_back(KindName(static_cast<Kind>(i)));
      std::vector<std::string> names;
      names.reserve(kinds.size() + std::size(kOtherKeys));
      for (const absl::string_view kind : kinds) names.emplace_back(kind);
      for (const absl::string_view other : kOtherKeys) names.emplace_back(other);
      const std::string similar = DidYouMean(name, names);
      return At(
          key.source().begin,
          absl::StrCat("unknown key ", Quoted(name), similar,
                       similar.empty() ? "; known: " : " known: ", absl::StrJoin(kOtherKeys, ", "),
                       "; ", absl::StrJoin(kinds, ", "), "; the same with int_ or float_ before"));
    }
    for (const char* key : {"domain", "name", "inputs", "outputs"}) {
      if (Get(op, key) == nullptr) return Fault(op, absl::StrCat("the key ", key, " is missing"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadIdentity(const toml::table& op, UserRule* rule) const {
    ASSIGN_OR_RETURN(rule->domain, String(*Get(op, "domain"), "domain"));
    if (rule->domain == "ai.onnx") rule->domain.clear();
    ASSIGN_OR_RETURN(rule->name, String(*Get(op, "name"), "name"));
    if (rule->name.empty()) return Fault(*Get(op, "name"), "the name is empty");
    if (const toml::node* node = Get(op, "since")) {
      ASSIGN_OR_RETURN(rule->since, Version(*node, "since"));
    }
    if (const toml::node* node = Get(op, "until")) {
      ASSIGN_OR_RETURN(rule->until, Version(*node, "until"));
      if (*rule->until < rule->since) return Fault(*node, "until is before since");
    }
    if (const toml::node* node = Get(op, "override")) {
      ASSIGN_OR_RETURN(rule->replaces, Bool(*node, "override"));
    }
    if (const toml::node* node = Get(op, "free")) {
      ASSIGN_OR_RETURN(rule->is_free, Bool(*node, "free"));
    }
    if (const toml::node* node = Get(op, "note")) {
      ASSIGN_OR_RETURN(rule->note, String(*node, "note"));
    }
    return absl::OkStatus();
  }

  // No operator has two rules, and none of ours is replaced unless the user says so.
  absl::Status CheckIdentity(const toml::node& node, const UserRule& rule) const {
    const std::string label =
        absl::StrCat(rule.domain.empty() ? "ai.onnx" : rule.domain, ".", rule.name);
    const bool ours =
        FindOp(rule.domain, rule.name, std::numeric_limits<int32_t>::max()).known_name;
    if (ours && !rule.replaces) {
      return Fault(node, absl::StrCat(Quoted(label),
                                      " has a rule already; override = true "
                                      "replaces it"));
    }
    if (!ours && rule.replaces) {
      return Fault(node, absl::StrCat("override = true, but there is no ", Quoted(label)));
    }
    for (const UserRule& other : data_->rules) {
      if (&other == &rule || other.name != rule.name || other.domain != rule.domain) continue;
      const int end = rule.until.value_or(INT32_MAX), other_end = other.until.value_or(INT32_MAX);
      if (rule.since > other_end || other.since > end) continue;
      return Fault(
          node, absl::StrCat(Quoted(label), " has another ", other.place, " for the same opsets"));
    }
    return absl::OkStatus();
  }

  // ---- attributes = { groups = 1, kernel = "ints", alpha = 1.0, mode = "linear|nearest" }
  absl::Status ReadAttributes(const toml::table& op, UserRule* rule) {
    const toml::node* node = Get(op, "attributes");
    if (node == nullptr) return absl::OkStatus();
    if (!node->is_table()) return Fault(*node, "attributes should be a table");
    for (const auto& [key, value] : *node->as_table()) {
      FormulaAttribute attribute;
      attribute.name = std::string(key.str());
      if (!IsName(attribute.name)) {
        return At(key.source().begin, absl::StrCat(Quoted(attribute.name), " is no name"));
      }
      RETURN_IF_ERROR(ReadDefault(value, &attribute));
      const absl::Status defined = scope_.DefineAttribute(attribute);
      if (!defined.ok()) return FaultIn(value, defined);
      rule->formulas.attributes.push_back(std::move(attribute));
    }
    return absl::OkStatus();
  }

  absl::Status ReadDefault(const toml::node& value, FormulaAttribute* attribute) const {
    constexpr char kForms[] =
        "an attribute is its default, as 1, [1, 1], 1.0 or \"one|two\", or \"int\", \"ints\" or "
        "\"float\" if it must be given, or \"list\" or \"activation\"";
    if (const auto* number = value.as_integer()) {
      attribute->ints = {number->get()};
      return absl::OkStatus();
    }
    if (const auto* number = value.as_floating_point()) {
      attribute->type = FormulaAttribute::Type::kFloat;
      attribute->is_either = true;
      attribute->number = static_cast<float>(number->get());
      return absl::OkStatus();
    }
    if (const auto* text = value.as_string()) {
      if (ParseAttributeType(text->get(), attribute)) return absl::OkStatus();
      return Fault(value, kForms);
    }
    const toml::array* list = value.as_array();
    if (list == nullptr) return Fault(value, kForms);
    attribute->type = FormulaAttribute::Type::kInts;
    for (const toml::node& item : *list) {
      if (!item.is_integer()) return Fault(item, kForms);
      attribute->ints.push_back(item.as_integer()->get());
    }
    return absl::OkStatus();
  }

  // ---- tensors: "x?[batch..., 4*H] : float16"

  // REQUIRES: `node` is a string, which outlives the result.
  absl::StatusOr<TensorText> Tensor(const toml::node& node) const {
    absl::StatusOr<TensorText> tensor = ParseTensor(node.as_string()->get());
    if (!tensor.ok()) return FaultIn(node, tensor.status());
    return tensor;
  }

  // ---- inputs
  absl::Status ReadInputs(const toml::table& op, UserRule* rule) {
    ASSIGN_OR_RETURN(const toml::array* list, Strings(*Get(op, "inputs"), "inputs"));
    std::vector<FormulaTensor>& inputs = rule->formulas.inputs;
    for (const toml::node& node : *list) {
      ASSIGN_OR_RETURN(TensorText input, Tensor(node));
      if (!input.type.text.empty()) {
        return FaultIn(node, input.type.at, "inputs may have any type; only outputs have one here");
      }
      if (!inputs.empty() && inputs.back().any_number) {
        return Fault(node, "only the last input can be any number");
      }
      const absl::Status defined = scope_.DefineInput(input);
      if (!defined.ok()) return FaultIn(node, defined);
      inputs.push_back(std::move(input.tensor));
    }
    scope_.DefineOptional(inputs);
    return absl::OkStatus();
  }

  // Sizes of inputs that are formulas, once all names are known.
  absl::Status CheckInputSizes(const toml::table& op) {
    for (const toml::node& node : *Get(op, "inputs")->as_array()) {
      ASSIGN_OR_RETURN(const TensorText input, Tensor(node));
      const absl::Status checked = scope_.CheckInputSizes(input);
      if (!checked.ok()) return FaultIn(node, checked);
    }
    return absl::OkStatus();
  }

  // ---- let = ["inner = hidden // attr.groups"]
  absl::Status ReadLets(const toml::table& op, UserRule* rule) {
    const toml::node* node = Get(op, "let");
    if (node == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const toml::array* list, Strings(*node, "let"));
    for (const toml::node& item : *list) {
      const absl::string_view text = item.as_string()->get();
      const size_t equals = text.find('=');
      if (equals == absl::string_view::npos) return Fault(item, "expected \"name = formula\"");
      const TextPart name = Trimmed({text.substr(0, equals), 0});
      const TextPart formula = Trimmed({text.substr(equals + 1), equals + 1});
      if (!IsName(name.text)) {
        return FaultIn(item, name.at, absl::StrCat(Quoted(name.text), " is no name"));
      }
      absl::Status status = scope_.CheckFormula(formula);
      if (status.ok()) status = Shifted(scope_.DefineLet(name.text), name.at);
      if (!status.ok()) return FaultIn(item, status);
      rule->formulas.lets.push_back({std::string(name.text), std::string(formula.text)});
    }
    return absl::OkStatus();
  }

  // ---- outputs
  absl::Status ReadOutputs(const toml::table& op, UserRule* rule) {
    ASSIGN_OR_RETURN(const toml::array* list, Strings(*Get(op, "outputs"), "outputs"));
    if (list->empty()) return Fault(*Get(op, "outputs"), "an operator has an output");
    for (const toml::node& node : *list) {
      ASSIGN_OR_RETURN(TensorText output, Tensor(node));
      if (output.tensor.optional) {
        return FaultIn(node, 0, "any output may be left out: write no ? here");
      }
      if (!output.tensor.has_shape) {
        return FaultIn(node, 0, "an output needs a shape, as y[batch, 10]");
      }
      const absl::Status checked = scope_.CheckOutputSizes(output);
      if (!checked.ok()) return FaultIn(node, checked);
      RETURN_IF_ERROR(ReadType(node, output.type, *rule, &output.tensor));
      rule->formulas.outputs.push_back(std::move(output.tensor));
    }
    // Outputs are defined last, since only costs may use them.
    for (const toml::node& node : *list) {
      ASSIGN_OR_RETURN(const TensorText output, Tensor(node));
      const absl::Status defined = scope_.DefineOutput(output);
      if (!defined.ok()) return FaultIn(node, defined);
    }
    return absl::OkStatus();
  }

  absl::Status ReadType(const toml::node& node, const TextPart& type, const UserRule& rule,
                        FormulaTensor* output) const {
    const std::vector<FormulaTensor>& inputs = rule.formulas.inputs;
    if (type.text.empty()) {
      if (!inputs.empty()) return absl::OkStatus();
      return FaultIn(node, 0, "without inputs an output needs a type, as y[10] : float32");
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].name != type.text) continue;
      output->type_of = static_cast<int>(i);
      return absl::OkStatus();
    }
    const std::optional<DType> named = ParseDType(type.text);
    if (!named.has_value() || *named == DType::kUndefined) {
      return FaultIn(node, type.at,
                     absl::StrCat(Quoted(type.text), " is neither a type nor an input"));
    }
    output->type = *named;
    return absl::OkStatus();
  }

  // ---- costs

  // A formula, or a number.
  absl::StatusOr<std::string> Amount(const toml::node& node, absl::string_view key) {
    if (const auto* number = node.as_integer()) {
      if (number->get() < 0) return Fault(node, absl::StrCat(key, " is negative"));
      return absl::StrCat(number->get());
    }
    if (!node.is_string()) return Fault(node, absl::StrCat(key, " should be a formula"));
    const absl::string_view text = node.as_string()->get();
    const absl::Status checked = scope_.CheckAmount({text, 0});
    if (!checked.ok()) return FaultIn(node, checked);
    return std::string(absl::StripAsciiWhitespace(text));
  }

  absl::Status ReadCost(const toml::table& op, const std::string& key, UserRule* rule) {
    const toml::node* node = Get(op, key);
    if (node == nullptr) return absl::OkStatus();
    if (rule->is_free) return Fault(*node, "free = true, but here is a cost");
    ASSIGN_OR_RETURN(std::string formula, Amount(*node, key));
    rule->formulas.costs.push_back({key, std::move(formula)});
    return absl::OkStatus();
  }

  absl::Status ReadCosts(const toml::table& op, UserRule* rule) {
    for (const char* prefix : {"", "float_", "int_"}) {
      for (int i = 0; i < kNumKinds; ++i) {
        const std::string key = absl::StrCat(prefix, KindName(static_cast<Kind>(i)));
        RETURN_IF_ERROR(ReadCost(op, key, rule));
      }
    }
    if (!rule->is_free && rule->formulas.costs.empty()) {
      return Fault(op, "no cost is given: say mac = ..., add = ..., or free = true");
    }
    rule->formulas.arithmetic = Formulas::Arithmetic::kOfOutput;
    if (const toml::node* node = Get(op, "arithmetic")) {
      ASSIGN_OR_RETURN(const std::string type, String(*node, "arithmetic"));
      if (type != "float" && type != "int")
        return Fault(*node, "it should be \"float\" or \"int\"");
      rule->formulas.arithmetic =
          type == "float" ? Formulas::Arithmetic::kFloat : Formulas::Arithmetic::kInt;
    }
    for (const auto& [key, bytes] : {std::make_pair("bytes_read", &rule->bytes_read),
                                     std::make_pair("bytes_written", &rule->bytes_written)}) {
      const toml::node* node = Get(op, key);
      if (node == nullptr) continue;
      if (rule->is_free) return Fault(*node, "free = true, but here is a cost");
      ASSIGN_OR_RETURN(*bytes, Amount(*node, key));
    }
    rule->formulas.IndexNames();
    return absl::OkStatus();
  }

  const std::string text_;
  std::shared_ptr<Rules::Data> data_;
  Scope scope_;  // of the operator that is read
};

absl::StatusOr<Rules> LoadRules(absl::string_view text, absl::string_view file) {
  return RulesReader(text, file).Read();
}

}  // namespace onnxflops
