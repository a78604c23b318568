#include "tools/options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/api/official_bodies.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/input_file.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::tools {
namespace {

constexpr size_t kHelpColumn = 26;
constexpr size_t kHelpWidth = 80;

absl::Status Bad(absl::string_view option, absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(option, " ", Quoted(text), ": ", why));
}

// "name=rest" -> name, rest.
absl::StatusOr<std::pair<std::string, absl::string_view>> SplitName(absl::string_view option,
                                                                    absl::string_view text,
                                                                    absl::string_view form) {
  // The last =, for names may hold one; values do not.
  const size_t equals = text.rfind('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return Bad(option, text, absl::StrCat("it should be ", form));
  }
  return std::make_pair(std::string(text.substr(0, equals)), text.substr(equals + 1));
}

bool IsName(absl::string_view text) {
  return !text.empty() && !absl::ascii_isdigit(text[0]) && text[0] != '-' && text[0] != '+';
}

// "1x3", "batch,3", "'rows, cols',3": by commas if there are any, else by x; a written symbol is
// never divided.
std::vector<absl::string_view> SplitShape(absl::string_view text) {
  for (const char separator : {',', 'x'}) {
    std::vector<absl::string_view> items;
    size_t begin = 0;
    for (size_t i = 0; i < text.size();) {
      const size_t quoted = text[i] == '\'' ? SymbolLength(text.substr(i)) : 0;
      if (text[i] == separator) {
        items.push_back(text.substr(begin, i - begin));
        begin = i + 1;
      }
      i += std::max<size_t>(quoted, 1);
    }
    items.push_back(text.substr(begin));
    if (items.size() > 1 || separator == 'x') return items;
  }
  return {};
}

absl::StatusOr<Scalar> ParseScalar(absl::string_view option, absl::string_view text,
                                   absl::string_view item) {
  item = absl::StripAsciiWhitespace(item);
  int64_t i = 0;
  double d = 0;
  if (absl::SimpleAtoi(item, &i)) return Scalar::Int(i);
  if (item == "true" || item == "false") return Scalar::Int(item == "true" ? 1 : 0);
  if (absl::SimpleAtod(item, &d) && std::isfinite(d)) return Scalar::Float(d);
  return Bad(option, text, absl::StrCat(Quoted(item), " is not a number"));
}

// The text of a rules file; LoadRules() refuses what is too long.
absl::StatusOr<std::string> ReadRules(const std::string& file) {
  ASSIGN_OR_RETURN(const int fd, OpenForReading(file));
  const absl::Cleanup close_file = [fd] { close(fd); };
  struct stat info;
  if (fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError("is a directory, not a file");
  }
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
    return absl::InvalidArgumentError("is a device, not a file");
  }
  std::string text(kMaxRulesBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ReadSome(fd, text.data() + size, text.size() - size);
    if (n < 0) return absl::UnknownError(absl::StrCat("cannot be read: ", strerror(errno)));
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  text.resize(size);
  return text;
}

// One option as a line of help, its text broken into the second column.
void AppendOption(const CLI::Option& option, std::string* out) {
  std::string line = absl::StrCat("  ", option.get_name(false, true));
  std::replace(line.begin(), line.end(), ',', ' ');
  if (option.get_positional()) line = absl::StrCat("  ", option.get_name(true, false));
  if (const std::string type = option.get_type_name(); !type.empty()) {
    absl::StrAppend(&line, option.get_positional() ? "" : " ", type);
  }
  line.resize(std::max(line.size() + 2, kHelpColumn), ' ');
  for (absl::string_view word : absl::StrSplit(option.get_description(), ' ')) {
    if (line.size() + word.size() > kHelpWidth) {
      line.erase(line.find_last_not_of(' ') + 1);
      absl::StrAppend(out, line, "\n");
      line = std::string(kHelpColumn, ' ');
    }
    absl::StrAppend(&line, word, " ");
  }
  line.erase(line.find_last_not_of(' ') + 1);
  absl::StrAppend(out, line, "\n");
}

std::string HelpText(const VerbHelp& verb, const CLI::App& app) {
  std::string out = absl::StrCat("usage: ", verb.usage, "\n\n", verb.text, "\nOptions:\n");
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) AppendOption(*option, &out);
  }
  absl::StrAppend(&out, "  -h --help               Show this.\n\nExamples:\n", verb.examples);
  return out;
}

}  // namespace

void OptionList::AddPositional(const char* name, std::vector<std::string>* values, int min,
                               int max) {
  options_.push_back({.name = name, .values = values, .positional = true, .min = min, .max = max});
}

void OptionList::AddFlag(const char* name, bool* value, const char* text) {
  options_.push_back({.name = name, .text = text, .flag = value});
}

void OptionList::AddValue(const char* name, const char* type, std::string* value,
                          const char* text) {
  options_.push_back({.name = name, .type = type, .text = text, .value = value});
}

void OptionList::AddValues(const char* name, const char* type, std::vector<std::string>* values,
                           const char* text) {
  options_.push_back({.name = name, .type = type, .text = text, .values = values});
}

void OptionList::DeclareTo(CLI::App* app) const {
  app->set_help_flag();  // we have our own
  for (const Option& o : options_) {
    if (o.positional) {
      CLI::Option* option = app->add_option(o.name, *o.values);
      if (o.min > 0) option->required();
      if (o.max < kAnyNumber) option->expected(o.min, o.max);
    } else if (o.flag != nullptr) {
      app->add_flag(o.name, *o.flag, o.text);
    } else if (o.value != nullptr) {
      app->add_option(o.name, *o.value, o.text)->type_name(o.type);
    } else {
      app->add_option(o.name, *o.values, o.text)->type_name(o.type)->allow_extra_args(false);
    }
  }
}

// Takes the arguments if all of them are positional and as many as there have to be. To CLI11 an
// argument in brackets is a list.
bool OptionList::TakePlain(const Arguments& arguments) const {
  const auto is_plain = [](const std::string& a) {
    return !a.empty() && a[0] != '[' && (a[0] != '-' || a == "-");
  };
  if (!std::all_of(arguments.begin(), arguments.end(), is_plain)) return false;
  const Option* positional = nullptr;
  for (const Option& o : options_) {
    if (!o.positional) continue;
    if (positional != nullptr) return false;
    positional = &o;
  }
  const auto given = static_cast<int64_t>(arguments.size());
  if (positional == nullptr || given == 0 || given < positional->min || given > positional->max) {
    return false;
  }
  *positional->values = arguments;
  return true;
}

absl::StatusOr<bool> OptionList::Parse(const VerbHelp& verb, Arguments arguments,
                                       std::string* help) {
  if (TakePlain(arguments)) return true;
  CLI::App app;
  DeclareTo(&app);
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  const auto asks = [&](const char* flag) {
    return std::find(arguments.begin(), end, flag) != end;
  };
  if (asks("--help") || asks("-h")) {
    *help = HelpText(verb, app);
    return false;
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    // "onnxflops count MODEL" of the usage tells where to ask.
    const std::vector<std::string> words = absl::StrSplit(verb.usage, ' ');
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(error.what()), " (see ", words[0], " ", words[1], " --help)"));
  }
  return true;
}

void RulesArgument::AddTo(OptionList* list) {
  list->AddValue("--rules", "FILE", &file,
                 "A TOML file that defines operators of your own. See the README.");
}

absl::StatusOr<Rules> RulesArgument::Parse() const {
  if (file.empty()) return Rules();
  const absl::StatusOr<std::string> text = ReadRules(file);
  if (!text.ok()) return Bad("--rules", file, text.status().message());
  return LoadRules(*text, file);
}

void CausalArgument::AddTo(OptionList* list) {
  list->AddValue("--causal", "HOW", &how,
                 "Causal attention: full, or half for only the pairs that its mask lets through. "
                 "Default: full.");
}

absl::StatusOr<CausalCounting> CausalArgument::Parse() const {
  if (how == "full") return CausalCounting::kFull;
  if (how == "half") return CausalCounting::kHalf;
  return Bad("--causal", how, "it should be full or half");
}

void SizeArguments::AddTo(OptionList* list) {
  list->AddValues("--dim", "NAME=N", &dims,
                  "Give a symbolic dimension a size. The others stay symbolic.");
  list->AddValues("--input", "NAME=SHAPE", &inputs,
                  "Set the shape of an input, as 1x3x224x224 or batch,3,224,224.");
  list->AddValues(
      "--value", "NAME=VALUE", &values,
      "Set the value of a small input that shapes depend on, as 5, [1,3,224] or [[4,4],[2,8]].");
  rules.AddTo(list);
  list->AddValues("--limit", "NAME=N", &limits,
                  "Raise a limit named in an error message, as unrolled-trips=1000.");
}

absl::StatusOr<CountOptions> SizeArguments::Parse() const {
  CountOptions options;
  for (const std::string& dim : dims) RETURN_IF_ERROR(ParseDim(dim, &options.bindings));
  for (const std::string& input : inputs) {
    RETURN_IF_ERROR(ParseInput(input, &options.input_shapes));
  }
  for (const std::string& value : values) {
    RETURN_IF_ERROR(ParseValue(value, &options.input_values, &options.input_shapes));
  }
  for (const std::string& limit : limits) RETURN_IF_ERROR(ParseLimit(limit, &options.limits));
  ASSIGN_OR_RETURN(options.rules, rules.Parse());
  return options;
}

void OutputArguments::AddTo(OptionList* list, const char* formats) {
  list->AddValue("--format", "FORMAT", &format, absl::StrCat(formats, ". Default: table.").c_str());
  list->AddValue("-o", "FILE", &file,
                 "Write to FILE. It is complete or not there. Default: standard output.");
}

absl::StatusOr<Format> OutputArguments::ParseFormat() const {
  if (format == "table") return Format::kTable;
  if (format == "json") return Format::kJson;
  if (format == "csv") return Format::kCsv;
  if (format == "markdown") return Format::kMarkdown;
  return Bad("--format", format, "it should be table, json, csv or markdown");
}

absl::Status ParseDim(absl::string_view text, Bindings* bindings) {
  ASSIGN_OR_RETURN(const auto split, SplitName("--dim", text, "NAME=N, as batch=8"));
  int64_t size = 0;
  if (!absl::SimpleAtoi(split.second, &size) || size < 0) {
    return Bad("--dim", text,
               absl::StrCat(Quoted(split.second), " must be a whole number, 0 or more"));
  }
  const auto [it, is_new] = bindings->emplace(TypedSymbol(split.first), size);
  if (!is_new && it->second != size) {
    return Bad("--dim", text, absl::StrCat("it was given as ", it->second, " before"));
  }
  return absl::OkStatus();
}

absl::Status ParseInput(absl::string_view text, absl::btree_map<std::string, Dims>* shapes) {
  ASSIGN_OR_RETURN(const auto split,
                   SplitName("--input", text, "NAME=SHAPE, as image=1x3x224x224"));
  absl::string_view shape = absl::StripAsciiWhitespace(split.second);
  if (absl::ConsumePrefix(&shape, "[") != absl::ConsumeSuffix(&shape, "]")) {
    return Bad("--input", text, "a bracket is missing");
  }
  Dims dims;
  for (absl::string_view item : SplitShape(shape)) {
    item = absl::StripAsciiWhitespace(item);
    if (shape.empty()) break;  // a scalar
    int64_t size = 0;
    if (absl::SimpleAtoi(item, &size) && size >= 0) {
      dims.push_back(size);
    } else if (IsName(item)) {
      dims.push_back(Expr::Symbol(item, 1));
    } else {
      return Bad("--input", text,
                 absl::StrCat(Quoted(item), " must be a whole number, 0 or more, or a name"));
    }
  }
  if (!shapes->emplace(split.first, std::move(dims)).second) {
    return Bad("--input", text, "its shape was given before");
  }
  return absl::OkStatus();
}

namespace {

// Reads "5", "[1,2]" or "[[4,4],[2,8]]": elements in row-major order, and the sizes of the lists.
class ValueReader {
 public:
  explicit ValueReader(absl::string_view text) : text_(text) {}

  absl::Status Read(absl::string_view list) {
    // Without brackets, items are a list all the same.
    const bool bare = !absl::StartsWith(list, "[");
    if (bare) Open();
    for (size_t i = 0; i < list.size();) {
      const size_t end = std::min(list.find_first_of("[],", i), list.size());
      const absl::string_view item = absl::StripAsciiWhitespace(list.substr(i, end - i));
      if (!item.empty()) RETURN_IF_ERROR(Take(item));
      if (end < list.size()) RETURN_IF_ERROR(Take(list[end]));
      i = end + 1;
    }
    if (open_.size() != (bare ? 1 : 0)) return Bad("--value", text_, "a bracket is missing");
    if (after_comma_) return Bad("--value", text_, kNoElement);
    if (bare) RETURN_IF_ERROR(Close());
    const bool is_even = content_.empty() || depth_of_items_ == sizes_.size();
    return is_even ? absl::OkStatus() : Uneven();
  }

  Content TakeContent() { return std::move(content_); }
  const Dims& sizes() const { return sizes_; }

 private:
  static constexpr char kNoElement[] = "an element is missing";
  static constexpr char kNoComma[] = "a comma is missing";

  void Open() {
    if (!open_.empty()) ++open_.back();
    open_.push_back(0);
  }

  absl::Status Close() {
    if (open_.empty()) return Bad("--value", text_, "a bracket is missing");
    // Lists close from the inside: the first that does tells the size of its depth.
    const size_t depth = open_.size();
    if (sizes_.size() < depth) sizes_.resize(depth, -1);
    Expr& size = sizes_[depth - 1];
    if (size == Expr(-1)) size = open_.back();
    const bool is_even = size == Expr(open_.back());
    open_.pop_back();
    return is_even ? absl::OkStatus() : Uneven();
  }

  absl::Status Uneven() const { return Bad("--value", text_, "its rows differ in length"); }

  absl::Status Take(char sign) {
    if (sign != '[' && after_comma_) return Bad("--value", text_, kNoElement);
    if (sign == ',' && !after_value_) return Bad("--value", text_, kNoElement);
    if (sign == '[' && after_value_) return Bad("--value", text_, kNoComma);
    after_comma_ = sign == ',';
    after_value_ = sign == ']';
    if (sign == ',') return absl::OkStatus();
    if (sign == ']') return Close();
    if (began_ && open_.empty()) return Bad("--value", text_, "a bracket is missing");
    if (open_.size() == static_cast<size_t>(kMaxRank)) {
      return Bad("--value", text_, absl::StrCat("more than ", kMaxRank, " brackets"));
    }
    began_ = true;
    Open();
    return absl::OkStatus();
  }

  absl::Status Take(absl::string_view item) {
    if (open_.empty()) return Bad("--value", text_, "a bracket is missing");
    if (after_value_) return Bad("--value", text_, kNoComma);
    after_comma_ = false;
    after_value_ = true;
    if (depth_of_items_ == 0) depth_of_items_ = open_.size();
    if (depth_of_items_ != open_.size()) return Uneven();
    ++open_.back();
    ASSIGN_OR_RETURN(Scalar scalar, ParseScalar("--value", text_, item));
    content_.push_back(std::move(scalar));
    return absl::OkStatus();
  }

  absl::string_view text_;
  Content content_;
  Dims sizes_;
  std::vector<int64_t> open_;  // what each open bracket holds so far
  size_t depth_of_items_ = 0;
  bool began_ = false;        // the outermost bracket has been opened
  bool after_comma_ = false;  // an element has to follow
  bool after_value_ = false;  // none can follow
};

}  // namespace

absl::Status ParseValue(absl::string_view text, absl::btree_map<std::string, Content>* values,
                        absl::btree_map<std::string, Dims>* shapes) {
  ASSIGN_OR_RETURN(const auto split, SplitName("--value", text, "NAME=VALUE, as sizes=[1,3,224]"));
  ValueReader reader(text);
  RETURN_IF_ERROR(reader.Read(absl::StripAsciiWhitespace(split.second)));
  if (!values->emplace(split.first, reader.TakeContent()).second) {
    return Bad("--value", text, "its value was given before");
  }
  // A list within a list is its shape as well.
  if (reader.sizes().size() < 2) return absl::OkStatus();
  const auto [shape, is_new] = shapes->emplace(split.first, reader.sizes());
  if (!is_new && shape->second != reader.sizes()) {
    return Bad("--value", text, "--input gives it another shape");
  }
  return absl::OkStatus();
}

absl::Status ParseLimit(absl::string_view text, Limits* limits) {
  ASSIGN_OR_RETURN(const auto split, SplitName("--limit", text, "NAME=N, as unrolled-trips=1000"));
  std::vector<absl::string_view> names;
  for (const SettableLimit& limit : kSettableLimits) {
    names.push_back(limit.name);
    if (split.first != limit.name) continue;
    int64_t value = 0;
    if (!absl::SimpleAtoi(split.second, &value) || value < 0 || value > limit.most) {
      return Bad("--limit", text, absl::StrCat("it should be from 0 to ", limit.most));
    }
    limits->*limit.value = value;
    return absl::OkStatus();
  }
  return Bad("--limit", text,
             absl::StrCat("those that can be set are ", absl::StrJoin(names, ", ")));
}

std::string LimitHint(const absl::Status& error) {
  const std::string met = LimitOf(error);
  for (const SettableLimit& limit : kSettableLimits) {
    if (limit.name == met) return absl::StrCat("\n  --limit ", met, "=N sets another limit");
  }
  return "";
}

}  // namespace onnxflops::tools
