// Command-line options: what verbs share, and what the values mean.
#ifndef ONNXFLOPS_TOOLS_OPTIONS_H_
#define ONNXFLOPS_TOOLS_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/user/user_rules.h"
#include "src/api/count.h"
#include "src/report/report.h"
#include "src/report/view_options.h"

namespace CLI {
class App;
}

namespace onnxflops::tools {

using Arguments = std::vector<std::string>;

// What a verb's --help says beside its options.
struct VerbHelp {
  const char* usage;     // "onnxflops count MODEL... [options]"
  const char* text;      // what it does
  const char* examples;  // commands, each after a line that says what for
};

// The options of a verb: declared first, then parsed into the variables that they were declared
// with. The parser, CLI11, is seen by options.cc alone, since its header takes seconds to compile,
// and made only if an option is given, since declaring options to it takes longer than the rest of
// a program's start.
class OptionList {
 public:
  // What stands without a name, from `min` to `max` times.
  void AddPositional(const char* name, std::vector<std::string>* values, int min = 0,
                     int max = kAnyNumber);
  void AddFlag(const char* name, bool* value, const char* text);
  // `type` is what --help calls the value.
  void AddValue(const char* name, const char* type, std::string* value, const char* text);
  // May be given again.
  void AddValues(const char* name, const char* type, std::vector<std::string>* values,
                 const char* text);

  // False when the arguments ask for help, which is then in `*help`. An error is one line that
  // names the argument.
  absl::StatusOr<bool> Parse(const VerbHelp& verb, Arguments arguments, std::string* help);

 private:
  static constexpr int kAnyNumber = 1 << 29;
  struct Option {
    const char* name;
    const char* type = nullptr;
    std::string text;
    // Where what is given goes: one of these.
    bool* flag = nullptr;
    std::string* value = nullptr;
    std::vector<std::string>* values = nullptr;
    bool positional = false;
    int min = 0, max = kAnyNumber;  // of a positional one
  };
  void DeclareTo(CLI::App* app) const;
  bool TakePlain(const Arguments& arguments) const;

  std::vector<Option> options_;
};

// --rules: a file with operators of the user's own.
struct RulesArgument {
  std::string file;
  void AddTo(OptionList* list);
  absl::StatusOr<Rules> Parse() const;
};

// --causal.
struct CausalArgument {
  std::string how = "full";
  void AddTo(OptionList* list);
  absl::StatusOr<CausalCounting> Parse() const;
};

// --dim, --input, --value, --rules and --limit, as typed.
struct SizeArguments {
  std::vector<std::string> dims, inputs, values, limits;
  RulesArgument rules;
  void AddTo(OptionList* list);
  absl::StatusOr<CountOptions> Parse() const;
};

enum class Format { kTable, kText, kJson, kCsv, kMarkdown };

// --format, -o and --color.
struct OutputArguments {
  std::string format = "table";
  std::string file = "-";  // standard output
  std::string color = "auto";
  bool has_text = false;
  void AddTo(OptionList* list, const char* formats = "table, json, csv or markdown");
  // The same with `text`.
  void AddWithTextTo(OptionList* list);
  absl::StatusOr<Format> ParseFormat() const;
  // How wide and in what color tables are.
  absl::StatusOr<TableStyle> Style() const;
};

// "batch=8".
absl::Status ParseDim(absl::string_view text, Bindings* bindings);
// "image=1x3x224x224"; "image=batch,3,224,224" gives a name to what stays open; "x=" is a scalar.
// "image=[1,3,224,224]" is the same as 1x3x224x224.
absl::Status ParseInput(absl::string_view text, absl::btree_map<std::string, Dims>* shapes);
// "sizes=[1,3,224,224]", "trips=5", "scales=[1.0,2.0]"; "shapes=[[4,4],[2,8]]", whose shape goes to
// `shapes`.
absl::Status ParseValue(absl::string_view text, absl::btree_map<std::string, Content>* values,
                        absl::btree_map<std::string, Dims>* shapes);

// "unrolled-trips=1000".
absl::Status ParseLimit(absl::string_view text, Limits* limits);
// What to add to an error that names a limit that can be set: how to set it.
std::string LimitHint(const absl::Status& error);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_OPTIONS_H_
