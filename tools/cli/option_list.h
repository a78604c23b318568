// The options of a command: one table, which parsing, --help, completion and the man page read.
#ifndef ONNXFLOPS_TOOLS_CLI_OPTION_LIST_H_
#define ONNXFLOPS_TOOLS_CLI_OPTION_LIST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onnxflops::tools {

using Arguments = std::vector<std::string>;

// What a command's --help says beside its options.
struct CommandHelp {
  const char* usage;     // "onnxflops count MODEL... [options]"
  const char* text;      // what it does
  const char* examples;  // commands, each after a line that says what for
};

struct Option {
  std::string name;  // "--dim", "-o"; of a positional one "MODEL"
  std::string type;  // what --help calls the value: "NAME=N"; empty for a flag
  std::string text;  // what it does
  // The words that the value may be, as far as they are known; any value is parsed.
  std::vector<std::string> choices;
  // Where what is given goes: one of these.
  bool* flag = nullptr;
  std::string* value = nullptr;
  std::vector<std::string>* values = nullptr;
  bool positional = false;
  int min = 0, max = 0;  // of a positional one
  std::string group;     // see OptionList::BeginGroup
  // Completion asks the program for the words: `onnxflops completion LIST`. Of a positional option
  // a list for each word, with spaces between.
  std::string lists;
};

// Options of one matter.
struct OptionGroup {
  std::string name;   // "memory"
  std::string title;  // "Memory"
};

// The first sentence of a text, without its point.
std::string FirstSentence(absl::string_view text);

// The options of a command: declared first, then parsed into the variables that they were declared
// with. "--name value", "--name=value", "-o value" and "-ovalue" are the same. After "--" nothing
// is an option.
class OptionList {
 public:
  static constexpr int kAnyNumber = 1 << 29;

  // What stands without a name, from `min` to `max` times.
  void AddPositional(absl::string_view name, std::vector<std::string>* values, int min = 0,
                     int max = kAnyNumber);
  void AddFlag(absl::string_view name, bool* value, absl::string_view text);
  // `type` is what --help calls the value.
  void AddValue(absl::string_view name, absl::string_view type, std::string* value,
                absl::string_view text, std::vector<std::string> choices = {});
  // May be given again.
  void AddValues(absl::string_view name, absl::string_view type, std::vector<std::string>* values,
                 absl::string_view text, std::vector<std::string> choices = {});

  // Options that are declared from now on belong to a group. The help of a command with groups is
  // a line for each option; `--help NAME` says all of a group, `--help all` all of the command.
  void BeginGroup(absl::string_view name, absl::string_view title);
  // Words for the option that was declared last: see Option::lists.
  void CompleteFrom(absl::string_view lists);

  // False when the arguments ask for help, which is then in `*help`. An error is one line that
  // names the argument.
  absl::StatusOr<bool> Parse(const CommandHelp& command, const Arguments& arguments,
                             std::string* help) const;

  // In the order of their declaration.
  absl::Span<const Option> options() const { return options_; }
  absl::Span<const OptionGroup> groups() const { return groups_; }

 private:
  absl::Status Take(const CommandHelp& command, const Arguments& arguments) const;
  // Takes the options and their values; what is left goes to `others`.
  absl::Status TakeNamed(const CommandHelp& command, Arguments arguments, Arguments* others) const;
  absl::Status TakePositional(const CommandHelp& command, Arguments words) const;
  // Errors in our words.
  absl::Status Rephrase(const CommandHelp& command, absl::string_view error) const;
  absl::Status NoSuchOption(const CommandHelp& command, const Arguments& arguments,
                            absl::string_view word) const;
  void Add(Option option);

  std::vector<Option> options_;
  std::vector<OptionGroup> groups_;
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_OPTION_LIST_H_
