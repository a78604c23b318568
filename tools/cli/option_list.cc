// How it works. CLI11 takes the named options; positional words, unknown names and all messages are
// handled here, so that errors have our form: the option, what is wrong, and where to ask. A value
// that is itself the name of an option means that a value was forgotten. Names that other programs
// use ("--batch") get a hint. "--" ends the options. Without any option CLI11 is not set up at all,
// which saves start-up time.
#include "tools/cli/option_list.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/settings/program_face.h"
#include "tools/cli/help.h"

namespace onnxflops::tools {
namespace {

// "count", of "onnxflops count MODEL".
std::string CommandName(const CommandHelp& command) {
  const std::vector<std::string> words = absl::StrSplit(command.usage, ' ');
  return words.size() > 1 ? words[1] : words[0];
}

// An error that tells where to ask. `what` begins with its subject.
absl::Status WrongCall(const CommandHelp& command, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " (see onnxflops ", CommandName(command), " --help)"));
}

constexpr size_t kMaxNumber = 18;  // digits of a value that a message repeats

absl::Status NeedsValue(const CommandHelp& command, const settings::Row& row) {
  const std::string option = OptionName(row);
  return WrongCall(command, absl::StrCat(option, " needs a value: ", option, " ", row.type));
}

bool AsksForHelp(absl::string_view word) { return word == "--help" || word == "-h"; }

bool LooksLikeOption(absl::string_view word) { return word.size() > 1 && word[0] == '-'; }

// Declares the options with a name to CLI11, which puts their values into `given`, by option.
void Declare(absl::Span<const settings::Row> rows, std::vector<Arguments>* given, CLI::App* app) {
  app->set_help_flag();  // a command has its own
  app->allow_extras();   // positional ones, and names that are no option
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string name = OptionName(rows[i]);
    if (rows[i].flag != nullptr) {
      app->add_flag(name, *rows[i].flag)->disable_flag_override();
    } else {
      app->add_option(name, (*given)[i])->allow_extra_args(false);
    }
  }
}

}  // namespace

std::string OptionName(const settings::Row& row) {
  return settings::kProgramFace.setting(row.name, "");
}

void OptionList::AddPositional(absl::string_view name, std::vector<std::string>* values, int min,
                               int max, std::vector<std::string> lists) {
  positional_ = {std::string(name), values, min, max, std::move(lists)};
}

// Messages of CLI11 begin with the name of the option ("--dim: 1 required TEXT missing"), that of a
// flag without its dashes.
absl::Status OptionList::Rephrase(const CommandHelp& command, absl::string_view error) const {
  const absl::string_view name = error.substr(0, error.find_first_of(": "));
  for (const settings::Row& row : rows()) {
    const std::string option = OptionName(row);
    if (row.flag != nullptr && row.name == absl::StripPrefix(name, "--")) {
      return WrongCall(command, absl::StrCat(option, " takes no value"));
    }
    if (option == name) return NeedsValue(command, row);
  }
  return WrongCall(command, Escaped(error));
}

bool OptionList::IsOption(absl::string_view word) const {
  return std::any_of(rows().begin(), rows().end(),
                     [word](const settings::Row& row) { return OptionName(row) == word; });
}

bool OptionList::TakesValue(absl::string_view word) const {
  return std::any_of(rows().begin(), rows().end(), [word](const settings::Row& row) {
    return row.flag == nullptr && OptionName(row) == word;
  });
}

absl::Status OptionList::TakeNamed(const CommandHelp& command, Arguments arguments,
                                   Arguments* others) const {
  std::vector<Arguments> given(rows().size());
  CLI::App app;
  Declare(rows(), &given, &app);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return Rephrase(command, error.what());
  }
  for (size_t i = 0; i < rows().size(); ++i) {
    const settings::Row& row = rows()[i];
    for (const std::string& value : given[i]) {  // which CLI11 takes whatever it looks like
      if (AsksForHelp(value) || IsOption(value)) return NeedsValue(command, row);
    }
    const std::string option = OptionName(row);
    if (std::find(given[i].begin(), given[i].end(), "") != given[i].end()) {
      return WrongCall(command, absl::StrCat(option, " is empty: ", option, " ", row.type));
    }
    if (row.values != nullptr) *row.values = std::move(given[i]);
    if (row.value == nullptr || given[i].empty()) continue;
    if (settings::IsList(row) && given[i].size() > 1) given[i] = {absl::StrJoin(given[i], ",")};
    if (given[i].size() > 1) {
      return WrongCall(command, absl::StrCat(option, " is given twice, as ", Quoted(given[i][0]),
                                             " and as ", Quoted(given[i][1])));
    }
    *row.value = std::move(given[i][0]);
  }
  *others = app.remaining();
  return absl::OkStatus();
}

absl::Status OptionList::NoSuchOption(const CommandHelp& command, const Arguments& arguments,
                                      absl::string_view word) const {
  const absl::string_view name = word.substr(0, word.find('='));
  std::vector<std::string> names = {"--help"};
  for (const settings::Row& row : rows()) names.push_back(OptionName(row));
  // What was given for it, if that is a number.
  absl::string_view value = word.substr(std::min(name.size() + 1, word.size()));
  const auto at = std::find(arguments.begin(), arguments.end(), word);
  if (value.empty() && at != arguments.end() && at + 1 != arguments.end()) value = *(at + 1);
  const bool is_number = value.find_first_not_of("0123456789") == absl::string_view::npos;
  if (value.empty() || value.size() > kMaxNumber || !is_number) value = "N";
  // Names of other programs for our options.
  constexpr struct {
    absl::string_view name, option, instead, of_value;
  } kElsewhere[] = {{"--batch", "--dim", "--dim batch=", "N"},
                    {"--batch-size", "--dim", "--dim batch=", "N"},
                    {"--seq", "--dim", "--dim seq=", "N"},
                    {"--json", "--format", "--format json", ""},
                    {"--csv", "--format", "--format csv", ""},
                    {"--html", "-o", "-o FILE.html", ""},
                    {"-b", "--dim", "--dim batch=", "N"},
                    {"--image-size", "--at-image", "--at-image ", "N"},
                    {"--size", "--at-image", "--at-image ", "N"},
                    {"--train", "--backward", "--backward exact", ""},
                    {"--training", "--backward", "--backward exact", ""},
                    {"--precision", "--dtype", "--dtype fp16", ""}};
  for (const auto& [other, option, instead, of_value] : kElsewhere) {
    if (name != other || std::find(names.begin(), names.end(), option) == names.end()) continue;
    return WrongCall(command,
                     absl::StrCat(name, " is not an option of ", CommandName(command),
                                  "; did you mean ", instead, of_value.empty() ? "" : value, "?"));
  }
  return WrongCall(command, absl::StrCat(Escaped(name), " is not an option of ",
                                         CommandName(command), DidYouMean(name, names)));
}

absl::Status OptionList::TakePositional(const CommandHelp& command, Arguments words) const {
  if (!positional_) {
    if (words.empty()) return absl::OkStatus();
    return WrongCall(command, absl::StrCat(Quoted(words[0]), " is not needed: ",
                                           CommandName(command), " takes options only"));
  }
  const auto given = static_cast<int64_t>(words.size());
  if (given < positional_->min) {
    absl::string_view missing = positional_->name;
    for (int64_t i = 0; i < given; ++i) missing.remove_prefix(missing.find(' ') + 1);
    return WrongCall(command, absl::StrCat("no ", missing, " is given"));
  }
  if (given > positional_->max) {
    return WrongCall(command, absl::StrCat(Quoted(words[static_cast<size_t>(positional_->max)]),
                                           " is one too many: ", CommandName(command), " takes ",
                                           positional_->name));
  }
  *positional_->values = std::move(words);
  return absl::OkStatus();
}

absl::Status OptionList::Take(const CommandHelp& command, const Arguments& arguments) const {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  const bool has_options = std::any_of(arguments.begin(), end, LooksLikeOption);
  Arguments words(arguments.begin(), end);
  if (has_options) {  // CLI11 is not set up for nothing
    RETURN_IF_ERROR(TakeNamed(command, Arguments(arguments.begin(), end), &words));
  }
  const auto unknown = std::find_if(words.begin(), words.end(), LooksLikeOption);
  if (unknown != words.end()) return NoSuchOption(command, arguments, *unknown);
  if (end != arguments.end()) words.insert(words.end(), end + 1, arguments.end());
  return TakePositional(command, std::move(words));
}

absl::StatusOr<bool> OptionList::Parse(const CommandHelp& command, const Arguments& arguments,
                                       std::string* help) const {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  for (auto at = arguments.begin(); at != end; ++at) {
    if (!AsksForHelp(*at)) continue;
    // In the place of a value it is no question: a script whose value is "--help" must not succeed.
    if (at != arguments.begin() && TakesValue(*(at - 1))) break;
    *help = HelpText(command, *this, at + 1 == end ? "" : *(at + 1));
    return false;
  }
  RETURN_IF_ERROR(Take(command, arguments));
  return true;
}

}  // namespace onnxflops::tools
