// Command-line options: what verbs share, and what the values mean.
#ifndef ONNXFLOPS_TOOLS_OPTIONS_H_
#define ONNXFLOPS_TOOLS_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/user_rules.h"
#include "src/report/report.h"

namespace CLI {
class App;
}

namespace onnxflops::tools {

using Arguments = std::vector<std::string>;

// --rules: a file with operators of the user's own.
struct RulesArgument {
  std::string file;
  void AddTo(CLI::App* app);
  absl::StatusOr<Rules> Parse() const;
};

// --causal.
struct CausalArgument {
  std::string how = "full";
  void AddTo(CLI::App* app);
  absl::StatusOr<CausalCounting> Parse() const;
};

// --dim, --input, --value, --rules and --limit, as typed.
struct SizeArguments {
  std::vector<std::string> dims, inputs, values, limits;
  RulesArgument rules;
  void AddTo(CLI::App* app);
  absl::StatusOr<CountOptions> Parse() const;
};

enum class Format { kTable, kJson, kCsv, kMarkdown };

// --format and -o.
struct OutputArguments {
  std::string format = "table";
  std::string file = "-";  // standard output
  void AddTo(CLI::App* app);
  absl::StatusOr<Format> ParseFormat() const;
};

// "batch=8".
absl::Status ParseDim(absl::string_view text, Bindings* bindings);
// "image=1x3x224x224"; "image=batch,3,224,224" gives a name to what stays open; "x=" is a scalar.
absl::Status ParseInput(absl::string_view text, absl::btree_map<std::string, Dims>* shapes);
// "sizes=[1,3,224,224]", "trips=5", "scales=[1.0,2.0]".
absl::Status ParseValue(absl::string_view text, absl::btree_map<std::string, Content>* values);

// "kMaxUnrolledTrips=1000".
absl::Status ParseLimit(absl::string_view text, Limits* limits);
// What to add to an error that names a limit that can be set: how to set it.
std::string LimitHint(const absl::Status& error);

// What a verb's --help says beside its options.
struct VerbHelp {
  const char* usage;     // "onnxflops count MODEL... [options]"
  const char* text;      // what it does
  const char* examples;  // commands, each after a line that says what for
};

// Parses the arguments of a verb. False when they ask for help, which is then in `*help`. An error
// is one line that names the argument.
absl::StatusOr<bool> ParseArguments(const VerbHelp& verb, Arguments arguments, CLI::App* app,
                                    std::string* help);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_OPTIONS_H_
