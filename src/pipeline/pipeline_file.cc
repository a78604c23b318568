// How it works. Parameters come first: one that is a formula is parsed when another one needs it,
// and a parameter that needs itself is an error that shows the circle. A stage's formulas are then
// values over the parameters' symbols, and over the index of its loop. Numbers of parameters are
// put in later, so that the same values give the formula and the figures.
#include "src/pipeline/pipeline_file.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "fmt/format.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/base/toml.h"
#include "src/symbolic/parse.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

constexpr size_t kMaxStages = 256;
constexpr size_t kMaxParameters = 64;
constexpr size_t kMaxElements = 64;  // of an input whose content is given

absl::string_view Viewed(std::string_view text) { return {text.data(), text.size()}; }

bool IsIdentifier(absl::string_view name) {
  return !name.empty() && IdentifierLength(name) == name.size();
}

Share Reduced(Share share) {
  absl::int128 a = share.whole, b = share.part;
  while (b != 0) a = std::exchange(b, a % b);
  return {share.part / a, share.whole / a};
}

constexpr int64_t kMostOfShare = 999'999'999;  // nine digits

// "0.25"; nullopt unless it is from 0 to 1 with at most nine digits.
std::optional<Share> ParseDecimal(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> point = absl::StrSplit(text, '.');
  const std::string all = absl::StrCat(point.first, point.second);
  int64_t part = 0;
  const bool is_number = absl::c_all_of(all, absl::ascii_isdigit) && absl::SimpleAtoi(all, &part);
  if (!is_number || part > kMostOfShare || point.second.size() > 9) return std::nullopt;
  Share share = {part, 1};
  for (size_t i = 0; i < point.second.size(); ++i) share.whole *= 10;
  return share.part > share.whole ? std::nullopt : std::optional(Reduced(share));
}

class PipelineReader : private TomlFile {
 public:
  PipelineReader(absl::string_view file, const Bindings& given) : TomlFile(file), given_(given) {
    pipeline_.file = std::string(file);
  }

  absl::StatusOr<Pipeline> Read(absl::string_view text) {
    ASSIGN_OR_RETURN(const toml::table root, Parse(text));
    RETURN_IF_ERROR(CheckKeys(root, {"title", "per", "loaded", "parameters", "stage"}));
    RETURN_IF_ERROR(SetText(root, "title", &pipeline_.title));
    const toml::node* node = root.get("stage");
    if (const toml::node* own = root.get("parameters")) table_ = own->as_table();
    if (node != nullptr && node->is_array()) FindNumbers(*node->as_array());
    RETURN_IF_ERROR(ReadParameters(root));
    RETURN_IF_ERROR(ReadTop(root));
    const toml::array* stages = node == nullptr ? nullptr : node->as_array();
    if (stages == nullptr || stages->empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_name(), ": no stage: a stage begins with [[stage]]"));
    }
    if (stages->size() > kMaxStages) {
      return Fault(*node, absl::StrCat("more than ", kMaxStages, " stages"));
    }
    for (const toml::node& item : *stages) {
      if (!item.is_table()) return Fault(item, "a stage begins with [[stage]]");
      RETURN_IF_ERROR(ReadStage(*item.as_table()));
    }
    RETURN_IF_ERROR(CheckReplaced());
    return std::move(pipeline_);
  }

 private:
  std::string PlaceOf(const toml::node& node) const {
    const toml::source_position& at = node.source().begin;
    return absl::StrCat(file_name(), ":", at.line, ":", at.column);
  }
  absl::Status CheckKeys(const toml::table& table, absl::Span<const std::string> known) const {
    for (const auto& [key, node] : table) {
      const absl::string_view name = Viewed(key.str());
      if (absl::c_linear_search(known, name)) continue;
      const std::string similar = DidYouMean(name, known);
      return At(key.source().begin,
                absl::StrCat("unknown key ", Quoted(name),
                             similar.empty() ? absl::StrCat("; known: ", absl::StrJoin(known, ", "))
                                             : similar));
    }
    return absl::OkStatus();
  }
  absl::Status SetText(const toml::table& table, const char* key, std::string* text) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return absl::OkStatus();
    if (!node->is_string()) return Fault(*node, absl::StrCat(key, " should be a text"));
    *text = node->as_string()->get();
    return absl::OkStatus();
  }

  // ---- what a probability depends on
  // A formula has no powers of a probability, so parameters in one are numbers in all formulas.
  void FindNumbers(const toml::array& stages) {
    for (const toml::node& item : stages) {
      const toml::table* stage = item.as_table();
      const toml::node* node = stage == nullptr ? nullptr : stage->get("probability");
      if (node == nullptr) continue;
      AddNumbers(*node);
      const toml::table* speculation = node->as_table();
      if (speculation == nullptr) continue;
      for (const auto& [key, value] : *speculation) AddNumbers(value);
    }
  }
  void AddNumbers(const toml::node& node) {
    if (!node.is_string()) return;
    absl::string_view rest = node.as_string()->get();
    while (!rest.empty()) {
      const size_t length = IdentifierLength(rest);
      const std::string name(rest.substr(0, length));
      rest.remove_prefix(std::max<size_t>(length, 1));
      const toml::node* value = table_ == nullptr ? nullptr : table_->get(name);
      if (length > 0 && value != nullptr && numbers_.insert(name).second) AddNumbers(*value);
    }
  }

  // ---- [parameters]
  absl::Status ReadParameters(const toml::table& root) {
    const toml::node* node = root.get("parameters");
    if (node == nullptr) return absl::OkStatus();
    const toml::table* table = node->as_table();
    if (table == nullptr) return Fault(*node, "parameters should be a table");
    if (table->size() > kMaxParameters) {
      return Fault(*node, absl::StrCat("more than ", kMaxParameters, " parameters"));
    }
    for (const auto& [key, value] : *table) {
      const absl::string_view name = Viewed(key.str());
      if (!IsIdentifier(name) || IsFunctionName(name)) {
        return At(key.source().begin,
                  absl::StrCat("a parameter's name is letters, digits and _, not ", Quoted(name)));
      }
      RETURN_IF_ERROR(ParameterValue(name).status());
    }
    // In the order of the file.
    std::vector<std::pair<toml::source_position, std::string>> order;
    for (const auto& [key, value] : *table) {
      order.emplace_back(key.source().begin, std::string(key.str()));
    }
    absl::c_sort(order, [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [place, name] : order) pipeline_.parameters.push_back(known_.at(name));
    return absl::OkStatus();
  }

  // The value of a parameter, which may need others first.
  absl::StatusOr<Expr> ParameterValue(absl::string_view name) {
    const std::string key(name);
    if (const auto found = known_.find(key); found != known_.end()) return found->second.expr;
    const toml::node* node = table_ == nullptr ? nullptr : table_->get(key);
    if (node == nullptr) return NoName(name);
    if (absl::c_linear_search(pending_, key)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "parameters need each other: ", absl::StrJoin(pending_, " -> "), " -> ", key));
    }
    PipelineParameter parameter = {key, std::nullopt, "", Expr::Symbol(key)};
    const auto given = given_.find(key);
    if (given != given_.end()) parameter.value = given->second;
    if (const toml::table* bounded = node->as_table()) {
      RETURN_IF_ERROR(ReadBounded(*bounded, &parameter));
    } else if (parameter.value) {
      // The call's number, instead of the file's.
    } else if (const auto* number = node->as_integer()) {
      if (number->get() < 0) return Fault(*node, absl::StrCat(Quoted(key), " is below 0"));
      parameter.value = number->get();
    } else if (!node->is_string()) {
      return Fault(*node, absl::StrCat(Quoted(key),
                                       " is a whole number, a formula in quotes, or \"?\" for an "
                                       "open size"));
    } else if (node->as_string()->get() != "?") {
      parameter.formula = node->as_string()->get();
      pending_.push_back(key);
      ASSIGN_OR_RETURN(const PlacedExpr parsed, Formula(*node, key, ""));
      pending_.pop_back();
      parameter.expr = parsed.value;
    }
    if (numbers_.contains(key) && parameter.formula.empty()) {
      if (!parameter.value) {
        return Fault(*node, absl::StrCat(Quoted(key), " is in a probability, so it is a number"));
      }
      parameter.expr = Expr(*parameter.value);
    }
    const Expr value = parameter.expr;
    known_.emplace(key, std::move(parameter));
    return value;
  }

  // { value = 2, least = 1, most = 2, about = "runs of a step" }
  absl::Status ReadBounded(const toml::table& table, PipelineParameter* parameter) const {
    RETURN_IF_ERROR(CheckKeys(table, {"value", "least", "most", "about"}));
    RETURN_IF_ERROR(SetText(table, "about", &parameter->about));
    std::optional<int64_t> own;
    const std::pair<const char*, std::optional<int64_t>*> numbers[] = {
        {"value", &own}, {"least", &parameter->least}, {"most", &parameter->most}};
    for (const auto& [key, number] : numbers) {
      const toml::node* node = table.get(key);
      if (node == nullptr) continue;
      if (!node->is_integer() || node->as_integer()->get() < 0) {
        return Fault(*node, absl::StrCat(key, " should be a whole number, 0 or more"));
      }
      *number = node->as_integer()->get();
    }
    if (!own) return Fault(table, absl::StrCat(Quoted(parameter->name), " needs a value"));
    const int64_t least = parameter->least.value_or(0);
    const int64_t most = parameter->most.value_or(std::numeric_limits<int64_t>::max());
    if (least > most)
      return Fault(table, absl::StrCat("least = ", least, " is above most = ", most));
    if (!parameter->value) parameter->value = own;
    const int64_t value = *parameter->value;
    if (value >= least && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(file_name(), ": ", parameter->name, " = ", value, " is ",
                     value < least ? absl::StrCat("below ", least) : absl::StrCat("above ", most),
                     parameter->about.empty() ? "" : "; it is: ", Escaped(parameter->about)));
  }

  // Another number for a parameter that follows from others changes what depends on it. If only
  // `per` does, a figure would be divided by more than ran.
  absl::Status CheckReplaced() {
    absl::flat_hash_set<std::string> used;
    const auto use = [&](const Expr& expr) {
      for (std::string& name : expr.Symbols()) used.insert(std::move(name));
    };
    for (const PipelineStage& stage : pipeline_.stages) {
      use(stage.times.value);
      use(stage.trips.value);
      for (const auto& size : stage.sizes) use(size.second.value);
      for (const auto& [name, elements] : stage.values) {
        for (const PlacedExpr& element : elements) use(element.value);
      }
      for (const auto& [formula, number] : stage.fixed) use(formula.value - number.value);
      if (stage.new_tokens) use(stage.new_tokens->value);
      if (stage.past) use(stage.past->value);
    }
    for (const auto& [name, number] : given_) {
      const toml::node* node = table_ == nullptr ? nullptr : table_->get(name);
      const auto* text = node == nullptr ? nullptr : node->as_string();
      if (text == nullptr || text->get() == "?" || used.contains(name)) continue;
      if (numbers_.contains(name)) continue;
      ASSIGN_OR_RETURN(const PlacedExpr formula, Formula(*node, name, ""));
      const absl::StatusOr<absl::int128> follows = formula.value.Evaluate(pipeline_.Values());
      if (follows.ok() && number <= *follows) continue;  // a part of it
      return absl::InvalidArgumentError(absl::StrCat(
          file_name(), ": ", name, " = ", number, ": ",
          follows.ok() ? absl::StrCat("more than the ", Int128ToString(*follows), " that follow")
                       : "it follows",
          " from others, as ", Quoted(text->get()),
          ", and no stage depends on it: change those instead"));
    }
    return absl::OkStatus();
  }

  absl::Status NoName(absl::string_view name, absl::string_view index = "") const {
    std::vector<std::string> names;
    if (!index.empty()) names.emplace_back(index);
    if (table_ != nullptr) {
      for (const auto& [key, value] : *table_) names.emplace_back(key.str());
    }
    const std::string similar = DidYouMean(name, names);
    return absl::InvalidArgumentError(
        absl::StrCat("no parameter is named ", Quoted(name),
                     !similar.empty() ? similar
                     : names.empty()  ? "; [parameters] defines them"
                                      : absl::StrCat("; known: ", absl::StrJoin(names, ", "))));
  }

  // A whole number or a formula. `index`: also a name, or "".
  absl::StatusOr<PlacedExpr> Formula(const toml::node& node, absl::string_view key,
                                     absl::string_view index) {
    PlacedExpr placed = {0, "", PlaceOf(node)};
    if (const auto* number = node.as_integer()) {
      if (number->get() < 0) return Fault(node, absl::StrCat(key, " is below 0"));
      placed.value = Expr(number->get());
      placed.text = absl::StrCat(number->get());
      return placed;
    }
    if (!node.is_string()) {
      return Fault(node, absl::StrCat(key, " is a whole number or a formula in quotes"));
    }
    placed.text = node.as_string()->get();
    ASSIGN_OR_RETURN(placed.value, ParseText(placed.text, node, key, index));
    return placed;
  }

  absl::StatusOr<Expr> ParseText(absl::string_view text, const toml::node& node,
                                 absl::string_view key, absl::string_view index) {
    absl::StatusOr<Expr> value =
        ParseFormula(text, [&](absl::string_view name) -> absl::StatusOr<Expr> {
          if (!index.empty() && name == index) return Expr::Symbol(index);
          if (table_ == nullptr || table_->get(std::string(name)) == nullptr)
            return NoName(name, index);
          return ParameterValue(name);
        });
    if (value.ok()) return value;
    // An error of a parameter that this one needs has its place already.
    if (absl::StartsWith(value.status().message(), file_name())) return value.status();
    const size_t own = value.status().message().find(absl::StrCat(": ", file_name(), ":"));
    if (own != absl::string_view::npos) {
      return WithMessage(value.status(), value.status().message().substr(own + 2));
    }
    return WithMessage(value.status(),
                       absl::StrCat(PlaceOf(node), ": ", key, " ", Quoted(text), ": ",
                                    value.status().message(), HintOf(value.status().message())));
  }
  static absl::string_view HintOf(absl::string_view why) {
    if (absl::StrContains(why, "found '/'")) return "; // divides, and rounds down";
    return absl::StrContains(why, "found '.'") ? "; formulas have whole numbers" : "";
  }

  // ---- per and loaded
  absl::Status ReadTop(const toml::table& root) {
    if (const toml::node* per = root.get("per")) RETURN_IF_ERROR(ReadPer(*per));
    std::string loaded = "together";
    RETURN_IF_ERROR(SetText(root, "loaded", &loaded));
    pipeline_.in_turn = loaded == "in turn";
    if (pipeline_.in_turn || loaded == "together") return absl::OkStatus();
    return Fault(*root.get("loaded"), "loaded is \"together\" or \"in turn\"");
  }

  // A parameter, or { tokens = "answers*tokens" }: a name, and how many there are.
  absl::Status ReadPer(const toml::node& node) {
    if (const toml::table* table = node.as_table()) {
      if (table->size() != 1) {
        return Fault(node, "per has one name, as { tokens = \"answers*tokens\" }");
      }
      for (const auto& [key, value] : *table) {
        pipeline_.per = std::string(key.str());
        if (!IsIdentifier(pipeline_.per)) {
          return Fault(
              value, absl::StrCat("a name is letters, digits and _, not ", Quoted(pipeline_.per)));
        }
        ASSIGN_OR_RETURN(const PlacedExpr count, Formula(value, pipeline_.per, ""));
        pipeline_.per_count = count.value;
      }
      return absl::OkStatus();
    }
    if (!node.is_string()) return Fault(node, "per should be a text");
    pipeline_.per = node.as_string()->get();
    if (pipeline_.per.empty()) return absl::OkStatus();
    const PipelineParameter* parameter = pipeline_.Find(pipeline_.per);
    if (parameter == nullptr) return Fault(node, NoName(pipeline_.per).message());
    pipeline_.per_count = parameter->expr;
    return absl::OkStatus();
  }

  // ---- [[stage]]
  absl::Status ReadStage(const toml::table& table) {
    RETURN_IF_ERROR(CheckKeys(table, {"name", "model", "times", "for", "new", "past", "sizes",
                                      "fixed", "values", "probability", "weights", "copy_of"}));
    PipelineStage stage;
    stage.place = PlaceOf(table);
    RETURN_IF_ERROR(SetText(table, "name", &stage.name));
    RETURN_IF_ERROR(SetText(table, "model", &stage.model));
    if (stage.model.empty()) return Fault(table, "a stage needs model, the path of a file");
    stage.model_place = PlaceOf(*table.get("model"));
    const size_t slash = pipeline_.file.rfind('/');
    stage.path = slash == std::string::npos || stage.model[0] == '/'
                     ? stage.model
                     : absl::StrCat(pipeline_.file.substr(0, slash + 1), stage.model);
    if (stage.name.empty()) stage.name = stage.model;
    if (stage.name == kAllStages) {
      return Fault(table, absl::StrCat("no stage may be named ", kAllStages, ", as their sum is"));
    }
    for (const PipelineStage& other : pipeline_.stages) {
      if (other.name == stage.name) {
        return Fault(table, absl::StrCat("a stage is named ", Quoted(stage.name), " already"));
      }
    }
    RETURN_IF_ERROR(ReadRuns(table, &stage));
    RETURN_IF_ERROR(ReadSizes(table, &stage));
    RETURN_IF_ERROR(ReadWeights(table, &stage));
    pipeline_.stages.push_back(std::move(stage));
    return absl::OkStatus();
  }

  // times, for, probability.
  absl::Status ReadRuns(const toml::table& table, PipelineStage* stage) {
    if (const toml::node* node = table.get("times")) {
      ASSIGN_OR_RETURN(stage->times, Formula(*node, "times", ""));
    }
    if (const toml::node* node = table.get("for")) {
      const std::string text = node->is_string() ? node->as_string()->get() : "";
      const std::pair<absl::string_view, absl::string_view> sides =
          absl::StrSplit(text, absl::MaxSplits('<', 1));
      const absl::string_view index = absl::StripAsciiWhitespace(sides.first);
      const bool is_less = !sides.second.empty() && sides.second[0] != '=';
      if (!IsIdentifier(index) || IsFunctionName(index) || !is_less) {
        return Fault(*node, "for is \"t < tokens\": t goes from 0 to tokens - 1");
      }
      if (pipeline_.Find(index) != nullptr) {
        return Fault(*node, absl::StrCat(Quoted(index), " is a parameter: take another name"));
      }
      stage->index = std::string(index);
      stage->trips.text = text;
      stage->trips.place = PlaceOf(*node);
      ASSIGN_OR_RETURN(stage->trips.value, ParseText(sides.second, *node, "for", ""));
    }
    const toml::node* node = table.get("probability");
    if (node == nullptr) return absl::OkStatus();
    if (node->is_table()) return ReadSpeculation(*node->as_table(), stage);
    ASSIGN_OR_RETURN(stage->probability, ReadShare(*node, "probability"));
    return absl::OkStatus();
  }

  static std::string NumberText(const toml::node& node) {
    if (node.is_string()) return node.as_string()->get();
    if (node.is_integer()) return absl::StrCat(node.as_integer()->get());
    if (!node.is_floating_point()) return "";
    // No exponent: "1e-05" has five digits. What has more than twelve is no share.
    const double number = node.as_floating_point()->get();
    std::string text = fmt::format("{:.12f}", number);
    if (number > 0 && number < 1e-12) return fmt::format("{}", number);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text;
  }

  // A number of a formula, without symbols.
  absl::StatusOr<int64_t> ReadNumber(absl::string_view text, const toml::node& node,
                                     absl::string_view key) {
    ASSIGN_OR_RETURN(const Expr value, ParseText(text, node, key, ""));
    const std::optional<int64_t> number = value.AsInt64();
    if (number && *number >= 0 && *number <= kMostOfShare) return *number;
    return Fault(node, absl::StrCat(key, ": ", Quoted(text), " is ", value.Shortened(40),
                                    ", and it should be from 0 to ", kMostOfShare));
  }

  // 0.25, or two whole numbers or formulas: "1/3", "share/100".
  absl::StatusOr<Share> ReadShare(const toml::node& node, absl::string_view key) {
    const std::string text = NumberText(node);
    if (const std::optional<Share> share = ParseDecimal(text)) return *share;
    const std::vector<absl::string_view> sides = absl::StrSplit(text, '/');
    if (sides.size() == 2) {
      ASSIGN_OR_RETURN(const int64_t part, ReadNumber(sides[0], node, key));
      ASSIGN_OR_RETURN(const int64_t whole, ReadNumber(sides[1], node, key));
      if (whole > 0 && part <= whole) return Reduced({part, whole});
      return Fault(node, absl::StrCat(key, " ", Quoted(text), " is ", part, "/", whole,
                                      whole == 0 ? ": nothing is divided by 0" : ", above 1"));
    }
    return Fault(node, absl::StrCat(key,
                                    " is from 0 to 1 with at most nine digits, as 0.25 or "
                                    "\"1/3\"",
                                    text.empty() ? "" : ", not " + Quoted(text)));
  }

  // A round of speculative decoding gives (1 - a^(draft + 1)) / (1 - a) tokens on average, if each
  // drafted token is accepted with the probability a. So that share of the tokens begins a round.
  absl::Status ReadSpeculation(const toml::table& table, PipelineStage* stage) {
    RETURN_IF_ERROR(CheckKeys(table, {"acceptance", "draft"}));
    const toml::node* acceptance = table.get("acceptance");
    const toml::node* draft = table.get("draft");
    if (acceptance == nullptr || draft == nullptr || draft->is_floating_point()) {
      return Fault(table,
                   "a speculative decoding is { acceptance = 0.8, draft = 4 }: a probability, and "
                   "a number of drafted tokens");
    }
    ASSIGN_OR_RETURN(const Share a, ReadShare(*acceptance, "acceptance"));
    if (draft->is_integer() && table_ != nullptr && table_->contains("draft")) {
      return Fault(*draft,
                   "draft is a number here and a parameter besides: write draft = \"draft\", so "
                   "that both are one");
    }
    ASSIGN_OR_RETURN(const int64_t drafted, ReadNumber(NumberText(*draft), *draft, "draft"));
    if (drafted < 1) return Fault(*draft, "draft is 1 or more");
    constexpr absl::int128 kMost = int64_t{1} << 60;
    const bool is_certain = a.part == a.whole;
    absl::int128 power_part = a.part, power_whole = a.whole, all = 1;
    for (int64_t i = 0; i < drafted && !is_certain; ++i) {
      all *= a.whole;
      power_part *= a.part;
      power_whole *= a.whole;
      if (power_whole < kMost && i < 64) continue;
      return Fault(*draft, absl::StrCat("draft = ", drafted, ": ", NumberText(*acceptance),
                                        " to the power of ", drafted + 1,
                                        " has more than 18 digits: take fewer"));
    }
    // An acceptance of 1 keeps every drafted token, and one of the large model.
    stage->probability = is_certain ? Share{1, drafted + 1}
                                    : Reduced({all * (a.whole - a.part), power_whole - power_part});
    const std::string text = NumberText(*acceptance);
    const bool is_decimal = ParseDecimal(text).has_value();
    stage->policy = absl::StrCat(
        ": the share of tokens that begin a round of speculative decoding, acceptance ",
        is_decimal ? text : absl::StrCat(Int128ToString(a.part), "/", Int128ToString(a.whole)),
        ", ", drafted, " drafted (Leviathan et al. 2023, equation 1)");
    return absl::OkStatus();
  }

  // new, past, sizes, values.
  absl::Status ReadSizes(const toml::table& table, PipelineStage* stage) {
    const std::pair<const char*, std::optional<PlacedExpr>*> of_decoder[] = {
        {"new", &stage->new_tokens}, {"past", &stage->past}};
    for (const auto& [key, target] : of_decoder) {
      const toml::node* node = table.get(key);
      if (node == nullptr) continue;
      ASSIGN_OR_RETURN(*target, Formula(*node, key, stage->index));
    }
    if (const toml::node* node = table.get("sizes")) {
      if (!node->is_table()) return Fault(*node, "sizes should be a table");
      for (const auto& [key, value] : *node->as_table()) {
        ASSIGN_OR_RETURN(PlacedExpr size, Formula(value, Viewed(key.str()), stage->index));
        stage->sizes.emplace(TypedSymbol(Viewed(key.str())), std::move(size));
      }
    }
    if (const toml::node* node = table.get("fixed")) RETURN_IF_ERROR(ReadFixed(*node, stage));
    if (const toml::node* node = table.get("values")) {
      if (!node->is_table()) return Fault(*node, "values should be a table");
      for (const auto& [key, value] : *node->as_table()) {
        RETURN_IF_ERROR(ReadValue(value, &stage->values[std::string(key.str())]));
      }
    }
    return absl::OkStatus();
  }

  // An element, or a list of them.
  absl::Status ReadValue(const toml::node& node, std::vector<PlacedExpr>* elements) {
    if (const toml::array* list = node.as_array()) {
      if (list->empty() || list->size() > kMaxElements) {
        return Fault(node, absl::StrCat("a list of values has 1 to ", kMaxElements, " elements"));
      }
      for (const toml::node& element : *list) {
        if (element.is_array()) return Fault(element, "a value is a number or a formula");
        RETURN_IF_ERROR(ReadValue(element, elements));
      }
      return absl::OkStatus();
    }
    if (const auto* number = node.as_integer()) {
      elements->push_back({Expr(number->get()), absl::StrCat(number->get()), PlaceOf(node)});
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(elements->emplace_back(), Formula(node, "a value", ""));
    return absl::OkStatus();
  }

  absl::Status ReadFixed(const toml::node& node, PipelineStage* stage) {
    if (!node.is_table()) return Fault(node, "fixed should be a table");
    for (const auto& [key, value] : *node.as_table()) {
      if (!value.is_string() && !(value.is_integer() && value.as_integer()->get() >= 0)) {
        return Fault(value, "fixed has formulas and their numbers, as { \"size // 8\" = 64 }");
      }
      PlacedExpr formula = {0, std::string(key.str()), PlaceOf(value)};
      ASSIGN_OR_RETURN(formula.value, ParseText(formula.text, value, "fixed", ""));
      ASSIGN_OR_RETURN(PlacedExpr number, Formula(value, "fixed", ""));
      stage->fixed.emplace_back(std::move(formula), std::move(number));
    }
    return absl::OkStatus();
  }

  absl::Status ReadWeights(const toml::table& table, PipelineStage* stage) {
    if (table.contains("weights") && table.contains("copy_of")) {
      return Fault(*table.get("copy_of"),
                   "a stage has weights, of the same file, or copy_of, of another one: not both");
    }
    const std::pair<const char*, std::string*> keys[] = {{"weights", &stage->weights},
                                                         {"copy_of", &stage->copy_of}};
    for (const auto& [key, name] : keys) {
      RETURN_IF_ERROR(SetText(table, key, name));
      const std::string& text = *name;
      const bool known = absl::c_any_of(
          pipeline_.stages, [&](const PipelineStage& other) { return other.name == text; });
      if (text.empty() || known) continue;
      return Fault(*table.get(key), absl::StrCat("no earlier stage is named ", Quoted(text)));
    }
    return absl::OkStatus();
  }

  const Bindings& given_;
  const toml::table* table_ = nullptr;        // [parameters]
  absl::flat_hash_set<std::string> numbers_;  // parameters that a probability depends on
  absl::btree_map<std::string, PipelineParameter> known_;
  std::vector<std::string> pending_;  // that need the next one
  Pipeline pipeline_;
};

}  // namespace

const PipelineParameter* Pipeline::Find(absl::string_view name) const {
  const auto found = absl::c_find_if(
      parameters, [&](const PipelineParameter& parameter) { return parameter.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

Bindings Pipeline::Values() const {
  Bindings values;
  for (const PipelineParameter& parameter : parameters) {
    if (parameter.value) values.emplace(parameter.name, *parameter.value);
  }
  return values;
}

absl::StatusOr<Pipeline> LoadPipeline(absl::string_view text, absl::string_view file,
                                      const Bindings& given) {
  return PipelineReader(file, given).Read(text);
}

}  // namespace onnxflops
