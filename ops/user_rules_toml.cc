// Reads the user's operators from TOML, and checks all that can be checked without a model.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 8  // kMaxRulesNesting
#include <toml++/toml.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ops/user_rule.h"
#include "ops/user_rules.h"
#include "ops/user_rules_text.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/symbolic/parse.h"

namespace onnxflops {

static_assert(TOML_MAX_NESTED_VALUES == kMaxRulesNesting);

namespace {

constexpr char kRest[] = "...";
constexpr size_t kMaxNamesShown = 12;
constexpr int64_t kAnyInt = std::numeric_limits<int64_t>::min() / 2;

constexpr absl::string_view kOtherKeys[] = {
    "domain",     "name",   "since",   "until", "override", "free",       "arithmetic",
    "attributes", "inputs", "outputs", "let",   "note",     "bytes_read", "bytes_written"};

bool IsName(absl::string_view text) {
  if (text.empty() || absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// A part of a string of the file: what it says, and where it begins in the string.
struct Part {
  absl::string_view text;
  size_t at = 0;
};

Part Trimmed(Part part) {
  const size_t before = part.text.size();
  part.text = absl::StripLeadingAsciiWhitespace(part.text);
  part.at += before - part.text.size();
  part.text = absl::StripTrailingAsciiWhitespace(part.text);
  return part;
}

// Parts between commas that are in no parentheses.
std::vector<Part> SplitList(Part list) {
  std::vector<Part> parts;
  if (Trimmed(list).text.empty()) return parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= list.text.size(); ++i) {
    if (i < list.text.size() && list.text[i] == '(') ++depth;
    if (i < list.text.size() && list.text[i] == ')') --depth;
    if (i < list.text.size() && (list.text[i] != ',' || depth > 0)) continue;
    parts.push_back(Trimmed({list.text.substr(begin, i - begin), list.at + begin}));
    begin = i + 1;
  }
  return parts;
}

// The names that formulas of a rule may use, and the least that each can be.
using Names = absl::btree_map<std::string, int64_t>;

}  // namespace

class RulesReader {
 public:
  RulesReader(absl::string_view text, absl::string_view file)
      : text_(text), file_(Escaped(file)), data_(std::make_shared<Rules::Data>()) {}

  absl::StatusOr<Rules> Read() {
    RETURN_IF_ERROR(CheckText());
    const toml::parse_result parsed = toml::parse(text_);
    if (!parsed) {
      const toml::parse_error& error = parsed.error();
      return At(error.source().begin, Escaped(View(error.description())));
    }
    const toml::table& root = parsed.table();
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
  absl::Status At(const toml::source_position& place, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ":", place.line, ":", place.column, ": ", what));
  }
  absl::Status Fault(const toml::node& node, absl::string_view what) const {
    return At(node.source().begin, what);
  }
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

  // What the parser would take too deep, or not at all.
  absl::Status CheckText() const {
    if (text_.size() > kMaxRulesBytes) {
      return absl::OutOfRangeError(absl::StrCat(
          file_, ": larger than the limit kMaxRulesBytes = ", kMaxRulesBytes, " bytes"));
    }
    const std::optional<TextFault> fault = FindTextFault(text_);
    if (!fault.has_value()) return absl::OkStatus();
    return At({static_cast<toml::source_index>(fault->line),
               static_cast<toml::source_index>(fault->column)},
              fault->what);
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
    names_.clear();
    optional_names_.clear();
    rests_or_names_.clear();
    reads_content_ = false;
    rule.place = absl::StrCat("rule ", file_, ":", op.source().begin.line);
    RETURN_IF_ERROR(ReadIdentity(op, &rule));
    RETURN_IF_ERROR(CheckIdentity(*Get(op, "name"), rule));
    RETURN_IF_ERROR(ReadAttributes(op, &rule));
    RETURN_IF_ERROR(ReadInputs(op, &rule));
    RETURN_IF_ERROR(ReadLets(op, &rule));
    RETURN_IF_ERROR(CheckInputSizes(op, rule));
    RETURN_IF_ERROR(ReadOutputs(op, &rule));
    RETURN_IF_ERROR(ReadCosts(op, &rule));
    uint32_t content = 0;
    if (reads_content_) content = (uint64_t{1} << std::min<size_t>(rule.inputs.size(), 32)) - 1;
    rule.MakeRow(reads_content_, content);
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
      return At(
          key.source().begin,
          absl::StrCat("unknown key ", Quoted(name), "; known: ", absl::StrJoin(kOtherKeys, ", "),
                       "; ", absl::StrJoin(kinds, ", "), "; the same with int_ before"));
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

  // ---- names
  absl::Status Define(const toml::node& node, size_t at, absl::string_view name, int64_t at_least) {
    if (!names_.emplace(name, at_least).second) {
      return FaultIn(node, at, absl::StrCat(Quoted(name), " is defined twice"));
    }
    return absl::OkStatus();
  }

  absl::Status DefineTensor(const toml::node& node, const Part& name) {
    if (!IsName(name.text) || name.text == "attr") {
      return FaultIn(node, name.at, absl::StrCat(Quoted(name.text), " is no name of a tensor"));
    }
    const std::string elements = absl::StrCat(name.text, ".elements");
    if (names_.contains(elements)) {
      return FaultIn(node, name.at, absl::StrCat("there are two tensors ", Quoted(name.text)));
    }
    RETURN_IF_ERROR(Define(node, name.at, elements, 0));
    return Define(node, name.at, absl::StrCat(name.text, ".rank"), 0);
  }

  absl::StatusOr<Expr> Known(absl::string_view name) {
    if (absl::EndsWith(name, ".value") && names_.contains(name)) reads_content_ = true;
    const auto it = names_.find(name);
    if (it != names_.end()) return Expr::Symbol(name, it->second);
    const size_t dot = name.rfind('.');
    int64_t index = 0;
    if (dot != absl::string_view::npos && absl::SimpleAtoi(name.substr(dot + 1), &index) &&
        index >= 0 && index < kMaxRank &&
        names_.contains(absl::StrCat(name.substr(0, dot), ".*"))) {
      return Expr::Symbol(name, kAnyInt);
    }
    if (optional_names_.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat(Quoted(name),
                                                     " is known only where the optional input ",
                                                     optional_names_[name], " is given"));
    }
    std::vector<std::string> names;
    for (const auto& [known, at_least] : names_) {
      if (names.size() < kMaxNamesShown && known != kRest) names.push_back(known);
    }
    if (names.size() < names_.size()) names.emplace_back(kRest);
    return absl::InvalidArgumentError(
        absl::StrCat("nothing is named ", Quoted(name), "; known: ", absl::StrJoin(names, ", ")));
  }

  // Checks a formula that stands at `part` of a string.
  absl::StatusOr<Expr> CheckFormula(const toml::node& node, const Part& part) {
    absl::StatusOr<Expr> value =
        ParseFormula(part.text, [this](absl::string_view name) { return Known(name); });
    if (value.ok()) return value;
    absl::string_view message = value.status().message();
    size_t column = 1;
    if (absl::ConsumePrefix(&message, "column ")) {
      const size_t colon = message.find(": ");
      if (!absl::SimpleAtoi(message.substr(0, colon), &column)) column = 1;
      message.remove_prefix(colon + 2);
    }
    return FaultIn(node, part.at + column - 1, message);
  }

  // The same, of something that is counted.
  absl::Status CheckAmount(const toml::node& node, const Part& part) {
    ASSIGN_OR_RETURN(const Expr value, CheckFormula(node, part));
    const std::optional<absl::int128> most = value.UpperBound();
    if (most.has_value() && *most <= 0 && value != Expr(0)) {
      return FaultIn(node, part.at, absl::StrCat(Quoted(part.text), " is never positive"));
    }
    return absl::OkStatus();
  }

  // ---- attributes = { groups = 1, kernel = "ints" }
  absl::Status ReadAttributes(const toml::table& op, UserRule* rule) {
    const toml::node* node = Get(op, "attributes");
    if (node == nullptr) return absl::OkStatus();
    if (!node->is_table()) return Fault(*node, "attributes should be a table");
    for (const auto& [key, value] : *node->as_table()) {
      RuleAttribute attribute = {.name = std::string(key.str())};
      if (!IsName(attribute.name)) {
        return At(key.source().begin, absl::StrCat(Quoted(attribute.name), " is no name"));
      }
      RETURN_IF_ERROR(ReadDefault(value, &attribute));
      const std::string name = absl::StrCat("attr.", attribute.name, attribute.is_list ? ".*" : "");
      RETURN_IF_ERROR(Define(value, 0, name, kAnyInt));
      rule->attributes.push_back(std::move(attribute));
    }
    return absl::OkStatus();
  }

  absl::Status ReadDefault(const toml::node& value, RuleAttribute* attribute) const {
    constexpr char kForms[] =
        "an attribute is its default, 1 or [1, 1], or \"int\" or \"ints\" if it must be given";
    if (const auto* number = value.as_integer()) {
      attribute->otherwise = {number->get()};
      return absl::OkStatus();
    }
    if (const auto* text = value.as_string()) {
      attribute->is_list = text->get() == "ints";
      if (attribute->is_list || text->get() == "int") return absl::OkStatus();
    }
    const toml::array* list = value.as_array();
    if (list == nullptr) return Fault(value, kForms);
    attribute->is_list = true;
    attribute->otherwise.emplace();
    for (const toml::node& item : *list) {
      if (!item.is_integer()) return Fault(item, kForms);
      attribute->otherwise->push_back(item.as_integer()->get());
    }
    return absl::OkStatus();
  }

  // ---- tensors: "x?[batch..., 4*H] : float16"

  struct TensorParts {
    Part name, dims, type;
    bool optional = false, has_shape = false;
  };

  absl::StatusOr<TensorParts> SplitTensor(const toml::node& node) const {
    TensorParts parts;
    Part left = {node.as_string()->get(), 0};
    const size_t colon = left.text.rfind(':');
    if (colon != absl::string_view::npos) {
      parts.type = Trimmed({left.text.substr(colon + 1), colon + 1});
      if (parts.type.text.empty()) return FaultIn(node, colon, "a type is missing");
      left.text = left.text.substr(0, colon);
    }
    const size_t open = left.text.find('[');
    if (open != absl::string_view::npos) {
      const size_t close = left.text.rfind(']');
      const bool closed = close != absl::string_view::npos && close > open &&
                          Trimmed({left.text.substr(close + 1), 0}).text.empty();
      if (!closed) return FaultIn(node, open, "expected name[sizes]: a bracket is not closed");
      parts.has_shape = true;
      parts.dims = {left.text.substr(open + 1, close - open - 1), open + 1};
      left.text = left.text.substr(0, open);
    }
    parts.name = Trimmed(left);
    parts.optional = absl::ConsumeSuffix(&parts.name.text, "?");
    parts.name = Trimmed(parts.name);
    return parts;
  }

  absl::StatusOr<std::vector<RuleDim>> ReadDims(const toml::node& node, const Part& list) const {
    std::vector<RuleDim> dims;
    bool has_rest = false;
    for (const Part& part : SplitList(list)) {
      absl::string_view name = part.text;
      if (name.empty()) return FaultIn(node, part.at, "a size is missing");
      RuleDim dim = {RuleDim::Kind::kFormula, std::string(name)};
      if (absl::ConsumeSuffix(&name, kRest)) {
        if (!name.empty() && !IsName(name)) {
          return FaultIn(node, part.at, absl::StrCat(Quoted(name), " is no name"));
        }
        if (has_rest) return FaultIn(node, part.at, "only one \"...\" can be in a shape");
        has_rest = true;
        dim = {RuleDim::Kind::kRest, std::string(name.empty() ? kRest : name)};
      } else if (absl::ConsumePrefix(&name, "?")) {
        if (!IsName(name)) return FaultIn(node, part.at, absl::StrCat(Quoted(name), " is no name"));
        dim = {RuleDim::Kind::kFresh, std::string(name)};
      } else if (IsName(name)) {
        dim.kind = RuleDim::Kind::kName;
      }
      dims.push_back(std::move(dim));
    }
    return dims;
  }

  // ---- inputs
  absl::Status ReadInputs(const toml::table& op, UserRule* rule) {
    ASSIGN_OR_RETURN(const toml::array* list, Strings(*Get(op, "inputs"), "inputs"));
    for (const toml::node& node : *list) {
      ASSIGN_OR_RETURN(const TensorParts parts, SplitTensor(node));
      if (!parts.type.text.empty()) {
        return FaultIn(node, parts.type.at, "inputs may have any type; only outputs have one here");
      }
      RETURN_IF_ERROR(DefineTensor(node, parts.name));
      for (const char* what : {".given", ".value"}) {
        const std::string name = absl::StrCat(parts.name.text, what);
        RETURN_IF_ERROR(Define(node, parts.name.at, name, *(what + 1) == 'g' ? 0 : kAnyInt));
      }
      RuleTensor input = {std::string(parts.name.text), parts.optional, parts.has_shape};
      ASSIGN_OR_RETURN(input.dims, ReadDims(node, parts.dims));
      RETURN_IF_ERROR(DefineDims(node, input));
      rule->inputs.push_back(std::move(input));
    }
    for (const RuleTensor& input : rule->inputs) {
      for (const RuleDim& dim : input.dims) {
        if (input.optional && !names_.contains(dim.text)) optional_names_[dim.text] = input.name;
      }
    }
    return absl::OkStatus();
  }

  absl::Status DefineDims(const toml::node& node, const RuleTensor& input) {
    for (const RuleDim& dim : input.dims) {
      if (dim.kind == RuleDim::Kind::kFresh) {
        return Fault(node,
                     absl::StrCat("?", dim.text, ": only a size of an output can depend on data"));
      }
      const auto [known, is_new] =
          rests_or_names_.emplace(dim.text, dim.kind == RuleDim::Kind::kRest);
      const bool is_formula = dim.kind == RuleDim::Kind::kFormula;
      if (!is_formula && !is_new && known->second != (dim.kind == RuleDim::Kind::kRest)) {
        return Fault(node, absl::StrCat(Quoted(dim.text),
                                        " is one dimension in one place, any number in another"));
      }
      if (!is_formula && !input.optional) names_.emplace(dim.text, 0);
    }
    return absl::OkStatus();
  }

  // Sizes of inputs that are formulas, once all names are known.
  absl::Status CheckInputSizes(const toml::table& op, const UserRule& rule) {
    const toml::array& list = *Get(op, "inputs")->as_array();
    for (size_t i = 0; i < rule.inputs.size(); ++i) {
      ASSIGN_OR_RETURN(const TensorParts parts, SplitTensor(list[i]));
      const std::vector<Part> sizes = SplitList(parts.dims);
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (rule.inputs[i].dims[d].kind != RuleDim::Kind::kFormula) continue;
        RETURN_IF_ERROR(CheckFormula(list[i], sizes[d]).status());
      }
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
      const Part name = Trimmed({text.substr(0, equals), 0});
      const Part formula = Trimmed({text.substr(equals + 1), equals + 1});
      if (!IsName(name.text)) {
        return FaultIn(item, name.at, absl::StrCat(Quoted(name.text), " is no name"));
      }
      RETURN_IF_ERROR(CheckFormula(item, formula).status());
      RETURN_IF_ERROR(Define(item, name.at, name.text, kAnyInt));
      rule->lets.push_back({std::string(name.text), std::string(formula.text)});
    }
    return absl::OkStatus();
  }

  // ---- outputs
  absl::Status ReadOutputs(const toml::table& op, UserRule* rule) {
    ASSIGN_OR_RETURN(const toml::array* list, Strings(*Get(op, "outputs"), "outputs"));
    if (list->empty()) return Fault(*Get(op, "outputs"), "an operator has an output");
    for (const toml::node& node : *list) {
      ASSIGN_OR_RETURN(const TensorParts parts, SplitTensor(node));
      if (parts.optional) return FaultIn(node, 0, "any output may be left out: write no ? here");
      if (!parts.has_shape) return FaultIn(node, 0, "an output needs a shape, as y[batch, 10]");
      RuleTensor output = {std::string(parts.name.text), false, true};
      ASSIGN_OR_RETURN(output.dims, ReadDims(node, parts.dims));
      RETURN_IF_ERROR(CheckOutputSizes(node, parts, output));
      RETURN_IF_ERROR(ReadType(node, parts.type, *rule, &output));
      rule->outputs.push_back(std::move(output));
    }
    // Only costs may use what is known of outputs.
    for (size_t o = 0; o < rule->outputs.size(); ++o) {
      ASSIGN_OR_RETURN(const TensorParts parts, SplitTensor((*list)[o]));
      RETURN_IF_ERROR(DefineTensor((*list)[o], parts.name));
      for (const RuleDim& dim : rule->outputs[o].dims) {
        if (dim.kind != RuleDim::Kind::kFresh) continue;
        RETURN_IF_ERROR(Define((*list)[o], 0, dim.text, 0));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckOutputSizes(const toml::node& node, const TensorParts& parts,
                                const RuleTensor& output) {
    const std::vector<Part> sizes = SplitList(parts.dims);
    for (size_t d = 0; d < sizes.size(); ++d) {
      const RuleDim& dim = output.dims[d];
      if (dim.kind == RuleDim::Kind::kFresh) continue;
      if (dim.kind != RuleDim::Kind::kRest) {
        RETURN_IF_ERROR(CheckAmount(node, sizes[d]));
        continue;
      }
      const auto known = rests_or_names_.find(dim.text);
      if (known == rests_or_names_.end() || !known->second || !names_.contains(dim.text)) {
        return FaultIn(node, sizes[d].at,
                       absl::StrCat("no input has the dimensions ", Quoted(sizes[d].text)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadType(const toml::node& node, const Part& type, const UserRule& rule,
                        RuleTensor* output) const {
    if (type.text.empty()) {
      if (!rule.inputs.empty()) return absl::OkStatus();
      return FaultIn(node, 0, "without inputs an output needs a type, as y[10] : float32");
    }
    for (size_t i = 0; i < rule.inputs.size(); ++i) {
      if (rule.inputs[i].name != type.text) continue;
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
    RETURN_IF_ERROR(CheckAmount(node, {text, 0}));
    return std::string(absl::StripAsciiWhitespace(text));
  }

  absl::Status ReadCosts(const toml::table& op, UserRule* rule) {
    for (const bool integer : {false, true}) {
      for (int i = 0; i < kNumKinds; ++i) {
        const std::string key = absl::StrCat(integer ? "int_" : "", KindName(static_cast<Kind>(i)));
        const toml::node* node = Get(op, key);
        if (node == nullptr) continue;
        if (rule->is_free) return Fault(*node, "free = true, but here is a cost");
        ASSIGN_OR_RETURN(std::string formula, Amount(*node, key));
        rule->costs.push_back({key, std::move(formula)});
      }
    }
    if (!rule->is_free && rule->costs.empty()) {
      return Fault(op, "no cost is given: say mac = ..., add = ..., or free = true");
    }
    if (const toml::node* node = Get(op, "arithmetic")) {
      ASSIGN_OR_RETURN(const std::string type, String(*node, "arithmetic"));
      if (type != "float" && type != "int")
        return Fault(*node, "it should be \"float\" or \"int\"");
      rule->float_work = type == "float";
    }
    for (const auto& [key, bytes] : {std::make_pair("bytes_read", &rule->bytes_read),
                                     std::make_pair("bytes_written", &rule->bytes_written)}) {
      const toml::node* node = Get(op, key);
      if (node == nullptr) continue;
      if (rule->is_free) return Fault(*node, "free = true, but here is a cost");
      ASSIGN_OR_RETURN(*bytes, Amount(*node, key));
    }
    return absl::OkStatus();
  }

  const std::string text_;
  const std::string file_;
  std::shared_ptr<Rules::Data> data_;
  // Of the operator that is read:
  Names names_;
  absl::btree_map<std::string, std::string> optional_names_;  // and the input that has it
  bool reads_content_ = false;
  absl::btree_map<std::string, bool> rests_or_names_;  // whether a dimension is any number of them
};

absl::StatusOr<Rules> LoadRules(absl::string_view text, absl::string_view file) {
  return RulesReader(text, file).Read();
}

}  // namespace onnxflops
