// The options of a command: the table of its settings as a line of words.
#ifndef ONNXFLOPS_TOOLS_CLI_OPTION_LIST_H_
#define ONNXFLOPS_TOOLS_CLI_OPTION_LIST_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/settings/table.h"

namespace onnxflops::tools {

using Arguments = std::vector<std::string>;

// What a command's --help says beside its options.
struct CommandHelp {
  const char* usage;     // "onnxflops count MODEL... [options]"
  const char* text;      // what it does
  const char* examples;  // commands, each after a line that says what for
};

// What stands without a name: one list of a command.
struct Positional {
  std::string name;  // "MODEL"
  std::vector<std::string>* values = nullptr;
  int min = 0, max = 0;  // how many
  // Completion asks the program for the words: `onnxflops completion LIST`, a list for each place.
  std::vector<std::string> lists;
};

// "--dim", "-o".
std::string OptionName(const settings::Row& row);

// The options of a command: its settings and what stands without a name, declared first, then
// parsed into the variables that they were declared with. "--name value", "--name=value", "-o
// value" and "-ovalue" are the same. After "--" nothing is an option.
//
// The help of a command with groups is a line for each option; `--help NAME` says all of a group,
// `--help all` all of the command.
class OptionList : public settings::Table {
 public:
  static constexpr int kAnyNumber = 1 << 29;

  // What stands without a name, from `min` to `max` times.
  void AddPositional(absl::string_view name, std::vector<std::string>* values, int min = 0,
                     int max = kAnyNumber, std::vector<std::string> lists = {});

  // False when the arguments ask for help, which is then in `*help`. An error is one line that
  // names the argument.
  absl::StatusOr<bool> Parse(const CommandHelp& command, const Arguments& arguments,
                             std::string* help) const;

  const std::optional<Positional>& positional() const { return positional_; }

 private:
  bool IsOption(absl::string_view word) const;
  // Whether the next word is the value of this one.
  bool TakesValue(absl::string_view word) const;
  absl::Status Take(const CommandHelp& command, const Arguments& arguments) const;
  // Takes the options and their values; what is left goes to `others`.
  absl::Status TakeNamed(const CommandHelp& command, Arguments arguments, Arguments* others) const;
  absl::Status TakePositional(const CommandHelp& command, Arguments words) const;
  // Errors in our words.
  absl::Status Rephrase(const CommandHelp& command, absl::string_view error) const;
  absl::Status NoSuchOption(const CommandHelp& command, const Arguments& arguments,
                            absl::string_view word) const;

  std::optional<Positional> positional_;
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_OPTION_LIST_H_
