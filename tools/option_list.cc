#include "tools/option_list.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"

namespace onnxflops::tools {
namespace {

constexpr size_t kHelpColumn = 26;
constexpr size_t kHelpWidth = 80;

// "count", of "onnxflops count MODEL".
std::string VerbName(const VerbHelp& verb) {
  const std::vector<std::string> words = absl::StrSplit(verb.usage, ' ');
  return words.size() > 1 ? words[1] : words[0];
}

// An error that tells where to ask. `what` begins with its subject.
absl::Status WrongCall(const VerbHelp& verb, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " (see onnxflops ", VerbName(verb), " --help)"));
}

bool LooksLikeOption(absl::string_view word) { return word.size() > 1 && word[0] == '-'; }

// One option as a line of help, its text broken into the second column.
void AppendOption(const Option& option, std::string* out) {
  std::string line = absl::StrCat("  ", option.name);
  if (!option.type.empty()) absl::StrAppend(&line, " ", option.type);
  line.resize(std::max(line.size() + 2, kHelpColumn), ' ');
  for (absl::string_view word : absl::StrSplit(option.text, ' ')) {
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

// "--name=value" or "-ovalue" as name and value.
struct Split {
  std::string name;
  bool has_value = false;
  std::string value;
};

Split SplitWord(absl::string_view word) {
  if (!absl::StartsWith(word, "--")) {
    return {std::string(word.substr(0, 2)), word.size() > 2, std::string(word.substr(2))};
  }
  const size_t equals = word.find('=');
  if (equals == absl::string_view::npos) return {std::string(word)};
  return {std::string(word.substr(0, equals)), true, std::string(word.substr(equals + 1))};
}

}  // namespace

void OptionList::AddPositional(absl::string_view name, std::vector<std::string>* values, int min,
                               int max) {
  options_.push_back(
      {.name = std::string(name), .values = values, .positional = true, .min = min, .max = max});
}

void OptionList::AddFlag(absl::string_view name, bool* value, absl::string_view text) {
  options_.push_back({.name = std::string(name), .text = std::string(text), .flag = value});
}

void OptionList::AddValue(absl::string_view name, absl::string_view type, std::string* value,
                          absl::string_view text, std::vector<std::string> choices) {
  options_.push_back({.name = std::string(name),
                      .type = std::string(type),
                      .text = std::string(text),
                      .choices = std::move(choices),
                      .value = value});
}

void OptionList::AddValues(absl::string_view name, absl::string_view type,
                           std::vector<std::string>* values, absl::string_view text,
                           std::vector<std::string> choices) {
  options_.push_back({.name = std::string(name),
                      .type = std::string(type),
                      .text = std::string(text),
                      .choices = std::move(choices),
                      .values = values});
}

const Option* OptionList::Find(absl::string_view name) const {
  const auto it = std::find_if(options_.begin(), options_.end(),
                               [&](const Option& o) { return !o.positional && o.name == name; });
  return it == options_.end() ? nullptr : &*it;
}

absl::Status OptionList::TakeOption(const VerbHelp& verb, const Arguments& arguments, size_t* at,
                                    std::vector<const Option*>* given) const {
  Split word = SplitWord(arguments[*at]);
  const Option* option = Find(word.name);
  if (option == nullptr) {
    std::vector<std::string> names = {"--help"};
    for (const Option& o : options_) names.push_back(o.name);
    return WrongCall(verb, absl::StrCat(Escaped(word.name), " is not an option of ", VerbName(verb),
                                        DidYouMean(word.name, names)));
  }
  if (option->flag != nullptr) {
    if (word.has_value) return WrongCall(verb, absl::StrCat(option->name, " takes no value"));
    *option->flag = true;
    return absl::OkStatus();
  }
  if (!word.has_value) {
    const bool last = *at + 1 == arguments.size();
    if (last || (LooksLikeOption(arguments[*at + 1]) &&
                 Find(SplitWord(arguments[*at + 1]).name) != nullptr)) {
      return WrongCall(
          verb, absl::StrCat(option->name, " needs a value: ", option->name, " ", option->type));
    }
    word.value = arguments[++*at];
  }
  if (option->values != nullptr) {
    option->values->push_back(std::move(word.value));
    return absl::OkStatus();
  }
  const bool again = std::find(given->begin(), given->end(), option) != given->end();
  given->push_back(option);
  if (again) {
    return WrongCall(verb, absl::StrCat(option->name, " is given twice, as ",
                                        Quoted(*option->value), " and as ", Quoted(word.value)));
  }
  *option->value = std::move(word.value);
  return absl::OkStatus();
}

absl::Status OptionList::TakePositional(const VerbHelp& verb, Arguments words) const {
  const auto it =
      std::find_if(options_.begin(), options_.end(), [](const Option& o) { return o.positional; });
  if (it == options_.end()) {
    if (words.empty()) return absl::OkStatus();
    return WrongCall(verb, absl::StrCat(Quoted(words[0]), " is not needed: ", VerbName(verb),
                                        " takes options only"));
  }
  const auto given = static_cast<int64_t>(words.size());
  if (given < it->min) return WrongCall(verb, absl::StrCat("no ", it->name, " is given"));
  if (given > it->max) {
    return WrongCall(verb, absl::StrCat(Quoted(words[static_cast<size_t>(it->max)]),
                                        " is one too many: ", VerbName(verb), " takes ", it->name));
  }
  *it->values = std::move(words);
  return absl::OkStatus();
}

absl::Status OptionList::Take(const VerbHelp& verb, const Arguments& arguments) const {
  Arguments words;
  std::vector<const Option*> given;
  bool options_end = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!options_end && arguments[i] == "--") {
      options_end = true;
    } else if (!options_end && LooksLikeOption(arguments[i])) {
      RETURN_IF_ERROR(TakeOption(verb, arguments, &i, &given));
    } else {
      words.push_back(arguments[i]);
    }
  }
  return TakePositional(verb, std::move(words));
}

absl::StatusOr<bool> OptionList::Parse(const VerbHelp& verb, const Arguments& arguments,
                                       std::string* help) const {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  const auto asks = [&](const char* flag) {
    return std::find(arguments.begin(), end, flag) != end;
  };
  if (asks("--help") || asks("-h")) {
    *help = HelpText(verb);
    return false;
  }
  RETURN_IF_ERROR(Take(verb, arguments));
  return true;
}

std::string OptionList::HelpText(const VerbHelp& verb) const {
  std::string out = absl::StrCat("usage: ", verb.usage, "\n\n", verb.text, "\nOptions:\n");
  for (const Option& option : options_) {
    if (!option.positional) AppendOption(option, &out);
  }
  absl::StrAppend(&out, "  -h --help               Show this.\n\nExamples:\n", verb.examples);
  return out;
}

}  // namespace onnxflops::tools
