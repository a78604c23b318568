// How it works. The TOML parser gives a tree. The reader walks it section by section, and each
// limit becomes one BudgetRule with its line and column, so that verdicts can point at the text.
// Unknown keys are errors with a suggestion, since a mistyped limit would check nothing. The
// sections of [models."GLOB"] are read by the functions that read those at the top; models_ holds
// the glob meanwhile. Exceptions are read after all rules, because each must name one. Sizes at the
// top of [at] are part of every set [at.NAME]; a set may replace them. A limit of the command line
// (AddBudget) goes through the same parsers, and has no place in a file.
#include "src/check/budgets.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "fmt/format.h"
#include "ops/registry.h"
#include "src/base/glob.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/base/toml.h"
#include "src/check/limit_text.h"
#include "src/pipeline/pipeline_report.h"
#include "src/report/memory_report.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

using check::ParseLimitText;

absl::string_view TextOf(std::string_view text) { return {text.data(), text.size()}; }

absl::StatusOr<BudgetRule*> AppendRule(BudgetRule::Kind kind, Budgets* budgets) {
  if (budgets->rules.size() == kMaxBudgets) {
    const std::string file = Escaped(budgets->file);
    return LimitError("budgets", absl::StrCat(file, file.empty() ? "" : ": ", "more than ",
                                              kMaxBudgets, " rules (budgets)"));
  }
  BudgetRule& rule = budgets->rules.emplace_back();
  rule.kind = kind;
  return &rule;
}

absl::StatusOr<const Quantity*> ParseQuantity(absl::string_view text) {
  const absl::string_view name = absl::StripAsciiWhitespace(text);
  if (const Quantity* const quantity = FindQuantity(name)) return quantity;
  std::vector<std::string> known;
  for (const Quantity* q : AllQuantities()) known.emplace_back(q->key);
  for (const Quantity* q : {&kPeakActivations, &kPipelineMemory}) {
    if (q->key == name) return q;
    known.emplace_back(q->key);
  }
  const std::string similar = DidYouMean(name, known);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown quantity ", Quoted(name),
      similar.empty() ? absl::StrCat("; known: ", absl::StrJoin(known, ", ")) : similar));
}

// The quantities of a limit: "flops", or "other_flops / flops". The rule's module is set already.
absl::Status SetQuantities(absl::string_view text, BudgetRule* rule) {
  const size_t slash = text.find('/');
  ASSIGN_OR_RETURN(rule->quantity, ParseQuantity(text.substr(0, slash)));
  if (slash != absl::string_view::npos) {
    ASSIGN_OR_RETURN(rule->per, ParseQuantity(text.substr(slash + 1)));
  }
  if (rule->module && rule->AsksForPeak()) {
    return absl::InvalidArgumentError(
        absl::StrCat(kPeakActivations.key, " is of the whole model, not of a module"));
  }
  if (rule->module && rule->AsksForMemory()) {
    return absl::InvalidArgumentError(
        absl::StrCat(kPipelineMemory.key, " is of the whole pipeline, not of a stage"));
  }
  return absl::OkStatus();
}

class BudgetsReader : private TomlFile {
 public:
  BudgetsReader(absl::string_view text, absl::string_view file) : TomlFile(file), text_(text) {
    budgets_.file = std::string(file);
  }

  absl::StatusOr<Budgets> Read() {
    ASSIGN_OR_RETURN(const toml::table root, Parse(text_));
    RETURN_IF_ERROR(CheckKeys(
        root, {"budget", "modules", "operators", "domains", "opset", "mfu", "profile", "at",
               "allow", "models", "device", "dtype", "lower_bounds", "new", "unlisted", "fixed"}));
    RETURN_IF_ERROR(ReadSections(root, ""));
    RETURN_IF_ERROR(ReadModels(root));
    RETURN_IF_ERROR(ReadExceptions(root));
    RETURN_IF_ERROR(ReadDevice(root));
    ASSIGN_OR_RETURN(const auto lower_bounds, IsPass(root, "lower_bounds"));
    budgets_.lower_bounds_pass = lower_bounds.value_or(false);
    ASSIGN_OR_RETURN(const auto new_passes, IsPass(root, "new"));
    budgets_.new_fails = !new_passes.value_or(true);
    RETURN_IF_ERROR(ReadFixed(root));
    ASSIGN_OR_RETURN(const auto unlisted, IsPass(root, "unlisted"));
    if (!unlisted.value_or(true))
      budgets_.unlisted_fails = PlaceOf(Get(root, "unlisted")->source());
    return std::move(budgets_);
  }

 private:
  // ---- errors
  absl::Status CheckKeys(const toml::table& table, absl::Span<const std::string> known) const {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        return UnknownKey(key, known);
      }
    }
    return absl::OkStatus();
  }
  absl::Status UnknownKey(const toml::key& key, absl::Span<const std::string> known) const {
    const absl::string_view name = TextOf(key.str());
    const std::string similar = DidYouMean(name, known);
    return At(key.source().begin,
              absl::StrCat("unknown key ", Quoted(name),
                           similar.empty() ? absl::StrCat("; known: ", absl::StrJoin(known, ", "))
                                           : similar));
  }

  // ---- values
  static const toml::node* Get(const toml::table& table, const char* key) { return table.get(key); }
  absl::StatusOr<const toml::table*> Table(const toml::node& node, absl::string_view key) const {
    if (!node.is_table()) return Fault(node, absl::StrCat(key, " should be a table"));
    return node.as_table();
  }
  absl::StatusOr<std::string> String(const toml::node& node, absl::string_view key) const {
    if (!node.is_string()) return Fault(node, absl::StrCat(key, " should be a string"));
    return node.as_string()->get();
  }
  absl::StatusOr<std::vector<std::string>> Strings(const toml::node& node,
                                                   absl::string_view key) const {
    std::vector<std::string> strings;
    if (!node.is_array()) return Fault(node, absl::StrCat(key, " should be a list of strings"));
    for (const toml::node& item : *node.as_array()) {
      ASSIGN_OR_RETURN(std::string text, String(item, key));
      strings.push_back(std::move(text));
    }
    return strings;
  }
  static BudgetPlace PlaceOf(const toml::source_region& source) {
    BudgetPlace place = {source.begin.line, source.begin.column, 0};
    if (source.begin.line == source.end.line) place.length = source.end.column - place.column;
    return place;
  }

  // ---- sections, at the top or of [models."GLOB"]
  absl::Status ReadSections(const toml::table& root, const std::string& models) {
    models_ = models;
    if (const toml::node* node = Get(root, "budget")) {
      ASSIGN_OR_RETURN(const toml::table* table, Table(*node, "budget"));
      RETURN_IF_ERROR(ReadQuantities(*table, "budget", std::nullopt));
    }
    if (const toml::node* node = Get(root, "modules")) {
      ASSIGN_OR_RETURN(const toml::table* table, Table(*node, "modules"));
      for (const auto& [key, inside] : *table) {
        const std::string glob(key.str());
        ASSIGN_OR_RETURN(const toml::table* rules, Table(inside, "a module's budget"));
        RETURN_IF_ERROR(ReadQuantities(*rules, absl::StrCat("modules.", glob), glob));
      }
    }
    RETURN_IF_ERROR(ReadPatterns(root, "operators", BudgetRule::Kind::kOperators));
    RETURN_IF_ERROR(ReadPatterns(root, "domains", BudgetRule::Kind::kDomains));
    if (const toml::node* node = Get(root, "opset")) RETURN_IF_ERROR(ReadOpset(*node));
    if (const toml::node* node = Get(root, "mfu")) RETURN_IF_ERROR(ReadMfu(*node));
    if (const toml::node* node = Get(root, "profile")) RETURN_IF_ERROR(ReadProfile(*node));
    if (const toml::node* node = Get(root, "at")) RETURN_IF_ERROR(ReadSizes(*node));
    return absl::OkStatus();
  }

  // ---- fixed = "fail"
  absl::Status ReadFixed(const toml::table& root) {
    ASSIGN_OR_RETURN(const auto passes, IsPass(root, "fixed"));
    if (passes.value_or(true)) return absl::OkStatus();
    models_.clear();
    return AddRule(Get(root, "fixed")->source(), BudgetRule::Kind::kFixed, "fixed").status();
  }

  absl::Status ReadModels(const toml::table& root) {
    const toml::node* node = Get(root, "models");
    if (node == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const toml::table* models, Table(*node, "models"));
    for (const auto& [key, inside] : *models) {
      ASSIGN_OR_RETURN(const toml::table* table, Table(inside, "a model's budgets"));
      RETURN_IF_ERROR(CheckKeys(
          *table, {"budget", "modules", "operators", "domains", "opset", "mfu", "profile", "at"}));
      RETURN_IF_ERROR(ReadSections(*table, std::string(key.str())));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<BudgetRule*> AddRule(const toml::source_region& source, BudgetRule::Kind kind,
                                      absl::string_view name) {
    ASSIGN_OR_RETURN(BudgetRule * rule, AppendRule(kind, &budgets_));
    const std::string prefix = models_.empty() ? "" : absl::StrCat("models.", models_, ".");
    rule->name = absl::StrCat(prefix, name);
    rule->name_prefix = prefix.size();
    rule->models = models_;
    rule->place = PlaceOf(source);
    return rule;
  }

  // ---- flops = "16 GFLOP", "other_flops / flops" = { limit = "5%", warn = "4%" }
  absl::Status ReadQuantities(const toml::table& table, const std::string& section,
                              const std::optional<std::string>& module) {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      ASSIGN_OR_RETURN(BudgetRule * rule, AddRule(key.source(), BudgetRule::Kind::kQuantity,
                                                  absl::StrCat(section, ".", name)));
      rule->module = module;
      const absl::Status known = SetQuantities(name, rule);
      if (!known.ok()) return At(key.source().begin, known.message());
      const toml::node* limit = &node;
      if (const toml::table* both = node.as_table()) {
        RETURN_IF_ERROR(CheckKeys(*both, {"limit", "warn"}));
        limit = Get(*both, "limit");
        if (limit == nullptr) return Fault(node, "the key limit is missing");
        if (const toml::node* warn = Get(*both, "warn")) {
          ASSIGN_OR_RETURN(rule->warn, Limit(*warn, *rule));
        }
      }
      ASSIGN_OR_RETURN(rule->limit, Limit(*limit, *rule));
      if (rule->warn && rule->warn->kind == rule->limit.kind &&
          rule->warn->value * rule->limit.whole > rule->limit.value * rule->warn->whole) {
        return Fault(node, "warn is above limit");
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<BudgetLimit> Limit(const toml::node& node, const BudgetRule& rule) const {
    std::string text;
    if (node.is_string()) {
      text = node.as_string()->get();
    } else if (node.is_integer()) {
      text = absl::StrCat(node.as_integer()->get());
    } else {
      return Fault(node, "a limit is a string, as \"16 GFLOP\", or a whole number");
    }
    absl::StatusOr<BudgetLimit> limit = ParseLimitText(text, *rule.quantity, rule.per != nullptr);
    if (!limit.ok()) return Fault(node, limit.status().message());
    if (node.is_integer() && limit->kind == BudgetLimit::Kind::kAbsolute &&
        node.as_integer()->get() < 0) {
      return Fault(node, "a limit is 0 or more");
    }
    limit->place = PlaceOf(node.source());
    return limit;
  }

  // ---- [operators] and [domains]
  absl::Status ReadPatterns(const toml::table& root, const char* section, BudgetRule::Kind kind) {
    const toml::node* node = Get(root, section);
    if (node == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const toml::table* table, Table(*node, section));
    RETURN_IF_ERROR(CheckKeys(*table, {"allow", "forbid"}));
    for (const auto& [key, list] : *table) {
      const absl::string_view name = TextOf(key.str());
      ASSIGN_OR_RETURN(BudgetRule * rule,
                       AddRule(key.source(), kind, absl::StrCat(section, ".", name)));
      ASSIGN_OR_RETURN((name == "allow" ? rule->allow : rule->forbid), Strings(list, name));
      if (kind != BudgetRule::Kind::kOperators) continue;
      for (const std::string& op : name == "allow" ? rule->allow : rule->forbid) {
        if (const std::string similar = MeantOperator(op); !similar.empty()) {
          return Fault(list, absl::StrCat("no operator is named ", Quoted(op), similar));
        }
      }
    }
    return absl::OkStatus();
  }
  // Suggestions for a name that is not a known operator; "" if there are none. A mistyped name
  // would forbid nothing. Patterns and names of other domains are not checked.
  static std::string MeantOperator(absl::string_view name) {
    absl::ConsumePrefix(&name, "ai.onnx.");
    absl::ConsumePrefix(&name, "com.microsoft.");
    if (name.find_first_of("*?.") != absl::string_view::npos) return "";
    std::vector<std::string> names;
    for (const OpFamily& family : AllFamilies()) {
      for (const OpDef& row : family.rows) {
        if (row.name == name) return "";
        if (!absl::c_linear_search(names, row.name)) names.emplace_back(row.name);
      }
    }
    return DidYouMean(name, names);
  }

  // ---- [opset] min = 17, max = 21; "com.microsoft" = { max = 1 }
  absl::Status ReadOpset(const toml::node& node) {
    ASSIGN_OR_RETURN(const toml::table* table, Table(node, "opset"));
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      if (value.is_table()) {
        RETURN_IF_ERROR(CheckKeys(*value.as_table(), {"min", "max"}));
        for (const auto& [bound, number] : *value.as_table()) {
          RETURN_IF_ERROR(ReadOpsetBound(bound, number, name));
        }
      } else if (name == "min" || name == "max") {
        RETURN_IF_ERROR(ReadOpsetBound(key, value, "ai.onnx"));
      } else {
        return UnknownKey(key, {"min", "max"});
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadOpsetBound(const toml::key& key, const toml::node& node,
                              const std::string& domain) {
    const auto* number = node.as_integer();
    if (number == nullptr || number->get() < 1) {
      return Fault(node, "an opset is a whole number, 1 or more");
    }
    const std::string dotted = domain == "ai.onnx" ? "" : absl::StrCat(domain, ".");
    ASSIGN_OR_RETURN(BudgetRule * rule, AddRule(key.source(), BudgetRule::Kind::kOpset,
                                                absl::StrCat("opset.", dotted, TextOf(key.str()))));
    rule->domain = domain;
    (key.str() == "min" ? rule->min_opset : rule->max_opset) = number->get();
    return absl::OkStatus();
  }

  // ---- [at] batch = 1, seq = "1..512"; [at.serving] batch = 8
  absl::Status ReadSizes(const toml::node& node) {
    ASSIGN_OR_RETURN(const toml::table* table, Table(node, "at"));
    BudgetSizes common;
    common.models = models_;
    std::vector<std::pair<std::string, const toml::table*>> sets;
    for (const auto& [key, value] : *table) {
      if (value.is_table()) {
        sets.emplace_back(std::string(key.str()), value.as_table());
      } else {
        RETURN_IF_ERROR(ReadSize(key, value, &common));
      }
    }
    if (sets.empty()) {
      if (!common.fixed.empty() || !common.ranges.empty()) budgets_.sizes.push_back(common);
    }
    for (const auto& [name, inside] : sets) {
      BudgetSizes set = common;
      set.name = name;
      for (const auto& [key, value] : *inside) RETURN_IF_ERROR(ReadSize(key, value, &set));
      budgets_.sizes.push_back(std::move(set));
    }
    if (budgets_.sizes.size() > kMaxBudgetSets) {
      return LimitError("budget-sets", absl::StrCat(file_name(), ": more than ", kMaxBudgetSets,
                                                    " sets of sizes (budget-sets)"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadSize(const toml::key& key, const toml::node& node, BudgetSizes* sizes) const {
    constexpr char kForm[] =
        "a size is a whole number, 0 or more, or a range of sizes of 1 or more, as \"1..8\"";
    const std::string name = TypedSymbol(TextOf(key.str()));
    sizes->fixed.erase(name);
    sizes->ranges.erase(name);
    if (const auto* number = node.as_integer()) {
      if (number->get() < 0) return Fault(node, kForm);
      sizes->fixed[name] = number->get();
      return absl::OkStatus();
    }
    if (!node.is_string()) return Fault(node, kForm);
    const absl::string_view text = node.as_string()->get();
    const size_t dots = text.find("..");
    SizeRange range;
    if (dots == absl::string_view::npos || !absl::SimpleAtoi(text.substr(0, dots), &range.first) ||
        !absl::SimpleAtoi(text.substr(dots + 2), &range.last) || range.first < 1 ||
        range.last < range.first) {
      return Fault(node, kForm);
    }
    sizes->ranges[name] = range;
    return absl::OkStatus();
  }

  // ---- [mfu] or [profile] min = "40%", device = "h100-sxm", dtype = "bf16", time = "2 ms"
  absl::Status ReadMfu(const toml::node& node) {
    ASSIGN_OR_RETURN(const toml::table* table, Table(node, "mfu"));
    RETURN_IF_ERROR(CheckKeys(*table, {"min", "device", "dtype"}));
    if (Get(*table, "min") == nullptr) return Fault(node, "the key min is missing");
    return ReadAchieved(*table, *table, "mfu", BudgetRule::Kind::kMfu, std::nullopt);
  }

  absl::Status ReadProfile(const toml::node& node) {
    ASSIGN_OR_RETURN(const toml::table* table, Table(node, "profile"));
    RETURN_IF_ERROR(
        CheckKeys(*table, {"min", "time", "flops_per_second", "device", "dtype", "modules"}));
    const toml::node* inside = Get(*table, "modules");
    if (inside == nullptr) RETURN_IF_ERROR(RequireAchieved(*table, node));
    RETURN_IF_ERROR(
        ReadAchieved(*table, *table, "profile", BudgetRule::Kind::kProfile, std::nullopt));
    if (inside == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const toml::table* modules, Table(*inside, "modules"));
    for (const auto& [key, value] : *modules) {
      const std::string glob(key.str());
      ASSIGN_OR_RETURN(const toml::table* rules, Table(value, "a module's budget"));
      RETURN_IF_ERROR(CheckKeys(*rules, {"min", "time", "flops_per_second"}));
      RETURN_IF_ERROR(RequireAchieved(*rules, value));
      RETURN_IF_ERROR(ReadAchieved(*rules, *table, absl::StrCat("profile.modules.", glob),
                                   BudgetRule::Kind::kProfile, glob));
    }
    return absl::OkStatus();
  }

  // A table without a limit would check nothing.
  absl::Status RequireAchieved(const toml::table& table, const toml::node& node) const {
    for (const char* key : {"min", "time", "flops_per_second"}) {
      if (Get(table, key) != nullptr) return absl::OkStatus();
    }
    return Fault(node, "none of the keys min, time and flops_per_second is there");
  }

  // The rules of `table`; `device` has the keys of the peak.
  absl::Status ReadAchieved(const toml::table& table, const toml::table& device,
                            const std::string& section, BudgetRule::Kind kind,
                            const std::optional<std::string>& module) {
    using Achieved = BudgetRule::Achieved;
    for (const auto& [name, achieved] :
         {std::pair("min", Achieved::kPeakShare), std::pair("time", Achieved::kTime),
          std::pair("flops_per_second", Achieved::kFlopsPerSecond)}) {
      const auto found = table.find(name);
      if (found == table.end()) continue;
      ASSIGN_OR_RETURN(BudgetRule * rule,
                       AddRule(found->first.source(), kind, absl::StrCat(section, ".", name)));
      rule->module = module;
      rule->achieved = achieved;
      ASSIGN_OR_RETURN(rule->limit, AchievedLimit(found->second, name, achieved));
      for (const auto& [key, value] :
           {std::pair("device", &rule->device), std::pair("dtype", &rule->dtype)}) {
        if (const toml::node* given = Get(device, key)) {
          ASSIGN_OR_RETURN(*value, String(*given, key));
        }
      }
      if (rule->device.empty() != rule->dtype.empty() ||
          (achieved == Achieved::kPeakShare && rule->device.empty())) {
        return Fault(
            found->second,
            absl::StrCat("the key ", rule->device.empty() ? "device" : "dtype", " is missing"));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<BudgetLimit> AchievedLimit(const toml::node& node, const char* key,
                                            BudgetRule::Achieved achieved) const {
    ASSIGN_OR_RETURN(const std::string text, String(node, key));
    absl::string_view number = text;
    absl::StatusOr<BudgetLimit> limit;
    const char* form = "a utilisation is above 0 % and at most 100 %, as \"40%\"";
    switch (achieved) {
      case BudgetRule::Achieved::kPeakShare:
        limit = ParseLimitText(text, kQuantities[0], /*ratio=*/true);
        if (limit.ok() && limit->value > 1'000'000) limit->value = 0;
        break;
      case BudgetRule::Achieved::kTime:
        form = "a time is above 0, as \"12.5 ms\"";
        limit = ParseLimitText(text, QuantityOf(&Amounts::time_bound), /*ratio=*/false);
        break;
      case BudgetRule::Achieved::kFlopsPerSecond:
        form = "a rate is above 0, as \"12.5 GFLOP/s\"";
        if (!absl::ConsumeSuffix(&number, "/s")) return Fault(node, form);
        limit = ParseLimitText(number, kQuantities[0], /*ratio=*/false);
        break;
    }
    if (!limit.ok() || limit->value < 1 || limit->kind == BudgetLimit::Kind::kRelative) {
      return Fault(node, form);
    }
    limit->text = text;
    limit->place = PlaceOf(node.source());
    return limit;
  }

  // ---- [[allow]]
  absl::Status ReadExceptions(const toml::table& root) {
    const toml::node* node = Get(root, "allow");
    if (node == nullptr) return absl::OkStatus();
    if (!node->is_array_of_tables()) return Fault(*node, "an exception is a table [[allow]]");
    for (const toml::node& item : *node->as_array()) {
      const toml::table& table = *item.as_table();
      RETURN_IF_ERROR(CheckKeys(table, {"rule", "reason", "until"}));
      for (const char* key : {"rule", "reason", "until"}) {
        if (Get(table, key) == nullptr) {
          return Fault(item, absl::StrCat("the key ", key, " is missing"));
        }
      }
      BudgetException exception;
      ASSIGN_OR_RETURN(exception.rule, String(*Get(table, "rule"), "rule"));
      ASSIGN_OR_RETURN(exception.reason, String(*Get(table, "reason"), "reason"));
      const toml::node& until = *Get(table, "until");
      if (!until.is_date()) return Fault(until, "until should be a date, as 2027-01-31");
      const toml::date day = until.as_date()->get();
      exception.until = fmt::format("{:04}-{:02}-{:02}", day.year, day.month, day.day);
      const bool known = std::any_of(
          budgets_.rules.begin(), budgets_.rules.end(),
          [&](const BudgetRule& rule) { return MatchesGlob(exception.rule, rule.name); });
      if (!known) {
        std::vector<std::string> names;
        for (const BudgetRule& rule : budgets_.rules) names.push_back(rule.name);
        return Fault(*Get(table, "rule"), absl::StrCat("no rule is named ", Quoted(exception.rule),
                                                       DidYouMean(exception.rule, names)));
      }
      if (absl::StripAsciiWhitespace(exception.reason).empty()) {
        return Fault(*Get(table, "reason"), "reason should say why the exception is allowed");
      }
      budgets_.exceptions.push_back(std::move(exception));
    }
    return absl::OkStatus();
  }

  // ---- device = "h100-sxm", dtype = "bf16"
  absl::Status ReadDevice(const toml::table& root) {
    for (const auto& [key, into] :
         {std::pair("device", &budgets_.device), std::pair("dtype", &budgets_.dtype)}) {
      const toml::node* node = Get(root, key);
      if (node == nullptr) continue;
      ASSIGN_OR_RETURN(*into, String(*node, key));
      if (into->empty()) return Fault(*node, absl::StrCat(key, " is empty"));
    }
    if (budgets_.device.empty() != budgets_.dtype.empty()) {
      return Fault(*Get(root, budgets_.device.empty() ? "dtype" : "device"),
                   "device and dtype belong together");
    }
    return absl::OkStatus();
  }
  // True if a setting of the whole file is "pass", false if "fail"; nullopt if it is not there.
  absl::StatusOr<std::optional<bool>> IsPass(const toml::table& root, const char* key) const {
    const toml::node* node = Get(root, key);
    if (node == nullptr) return std::nullopt;
    ASSIGN_OR_RETURN(const std::string what, String(*node, key));
    if (what == "pass" || what == "fail") return what == "pass";
    return Fault(*node, absl::StrCat(key, " should be \"fail\" or \"pass\""));
  }

  const absl::string_view text_;
  std::string models_;  // of the sections that are read
  Budgets budgets_;
};

}  // namespace

bool BudgetRule::NeedsBase() const {
  if (kind == Kind::kFixed) return true;
  return kind == Kind::kQuantity && (limit.kind == BudgetLimit::Kind::kRelative ||
                                     (warn && warn->kind == BudgetLimit::Kind::kRelative));
}

bool BudgetRule::AsksForPeak() const {
  return quantity == &kPeakActivations || per == &kPeakActivations;
}

bool BudgetRule::AsksForMemory() const {
  return quantity == &kPipelineMemory || per == &kPipelineMemory;
}

bool Budgets::NeedsPeak() const {
  return std::any_of(rules.begin(), rules.end(),
                     [](const BudgetRule& rule) { return rule.AsksForPeak(); });
}

absl::StatusOr<Budgets> LoadBudgets(absl::string_view text, absl::string_view file) {
  return BudgetsReader(text, file).Read();
}

absl::Status AddBudget(absl::string_view text, Budgets* budgets) {
  // A glob may contain '=' and ':'. Quantities and limits contain neither, so the last ones
  // separate.
  const size_t equals = text.rfind('=');
  const absl::string_view subject = text.substr(0, equals);
  const size_t colon = subject.rfind(':');
  const bool of_module = colon != absl::string_view::npos;
  if (equals == absl::string_view::npos || colon == 0) {
    return absl::InvalidArgumentError(
        "it should be QUANTITY=LIMIT, as \"flops=400 GFLOP\", or MODULE:QUANTITY=LIMIT");
  }
  ASSIGN_OR_RETURN(BudgetRule * rule, AppendRule(BudgetRule::Kind::kQuantity, budgets));
  if (of_module) rule->module = std::string(subject.substr(0, colon));
  const absl::string_view name = of_module ? subject.substr(colon + 1) : subject;
  RETURN_IF_ERROR(SetQuantities(name, rule));
  rule->name = absl::StrCat(of_module ? absl::StrCat("modules.", *rule->module) : "budget", ".",
                            absl::StripAsciiWhitespace(name));
  ASSIGN_OR_RETURN(rule->limit, ParseLimitText(absl::StripAsciiWhitespace(text.substr(equals + 1)),
                                               *rule->quantity, rule->per != nullptr));
  return absl::OkStatus();
}

absl::Status RequirePipelineRule(const BudgetRule& rule) {
  std::vector<absl::string_view> keys;
  const auto has = [](const Quantity& q) {
    return q.needs == Quantity::Needs::kNothing || q.value == &Amounts::time_bound;
  };
  for (const Quantity* q : AllQuantities()) {
    if (has(*q)) keys.push_back(q->key);
  }
  keys.push_back(kPipelineMemory.key);
  const bool fits = rule.kind == BudgetRule::Kind::kQuantity && !rule.AsksForPeak() &&
                    has(*rule.quantity) && (rule.per == nullptr || has(*rule.per));
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Escaped(rule.name), ": the quantities of a pipeline are ", absl::StrJoin(keys, ", ")));
}

absl::Status RequireModelRule(const BudgetRule& rule) {
  if (!rule.AsksForMemory()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Escaped(rule.name), ": only a pipeline has ",
                                                 kPipelineMemory.key, "; a model has ",
                                                 kPeakActivations.key, " and param_bytes"));
}

}  // namespace onnxflops
