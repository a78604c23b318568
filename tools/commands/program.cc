// The program: its commands, and their shared code.
#include "tools/commands/program.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/api/source_commit.h"
#include "src/api/version.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/settings/program_face.h"
#include "src/settings/size_arguments.h"
#include "tools/cli/output.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

std::string Help() {
  std::string out =
      "onnxflops counts the arithmetic of ONNX models, exactly, without running them.\n\n"
      "usage: onnxflops COMMAND ... [options]\n\n";
  constexpr size_t kCommandColumns = 27;
  for (const Command& command : Commands()) {
    std::string line = absl::StrCat("  ", command.name, " ", command.arguments);
    line.resize(kCommandColumns, ' ');
    absl::StrAppend(&out, line, command.summary, "\n");
  }
  absl::StrAppend(&out, R"(
  help COMMAND             options and examples of a command
  --version

Examples:
  onnxflops clip-vit-l-14-336.onnx --dim batch=1
  onnxflops clip-vit-l-14-336.onnx --by op --format json
  onnxflops compare clip-vit-l-14-336.onnx --with thop
  onnxflops explain clip-vit-l-14-336.onnx node_Conv_2481
  onnxflops diff released.onnx clip-vit-l-14-336.onnx
  onnxflops explain Conv

FLOPs = 2 x MACs + every other floating-point operation. Exit codes: 0 success,
1 a check or --strict failed, 2 error.
)");
  return out;
}

std::string Version() {
  return absl::StrCat("onnxflops ", ONNXFLOPS_VERSION, " (", platform::kPlatformName,
                      kSourceCommit.empty() ? "" : ", commit ", kSourceCommit, ", ONNX ",
                      kOnnxRelease, ", opsets to ", kMaxOpset, ", ONNX Runtime ",
                      kOnnxRuntimeRelease, ")\n");
}

absl::StatusOr<ExitCode> Print(const std::string& text) {
  const absl::Status written = WriteOutput(text, "-", {});
  if (!written.ok()) return written;
  return kFine;
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.emplace_back(command.name);
  names.emplace_back("help");
  return names;
}

absl::Status NoCommand(const std::string& word, const char* what) {
  const std::string similar = DidYouMean(word, CommandNames());
  return absl::InvalidArgumentError(absl::StrCat(
      Quoted(word), " is ", what, similar,
      similar.empty() ? "; the commands are " + absl::StrJoin(CommandNames(), ", ") : "",
      " (see onnxflops --help)"));
}

// The command `help`, with the arguments after it.
absl::StatusOr<ExitCode> RunHelp(const Arguments& arguments) {
  if (arguments.empty() || arguments[0] == "help") return Print(Help());
  for (const Command& command : Commands()) {
    if (arguments[0] != command.name) continue;
    Arguments help = {"--help"};
    help.insert(help.end(), arguments.begin() + 1, arguments.end());
    return command.run(help);
  }
  return NoCommand(arguments[0], "not a command");
}

// True if a word cannot be meant as a file: no file has this name, with or without the extension of
// a model, and it has neither a folder nor an extension, nor is it a pattern.
bool IsMistypedCommand(const std::string& word) {
  if (word.find_first_of("./*?[-") != std::string::npos) return false;
  constexpr const char* kExtensions[] = {"", ".onnx", ".onnxtxt", ".json"};
  return std::all_of(std::begin(kExtensions), std::end(kExtensions), [&](const char* extension) {
    return access(absl::StrCat(word, extension).c_str(), F_OK) != 0;
  });
}

absl::StatusOr<ExitCode> Run(Arguments arguments) {
  if (arguments.empty()) {
    return absl::InvalidArgumentError("no model is given (see onnxflops --help)");
  }
  const std::string first = arguments[0];
  if (first == "--version") return Print(Version());
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (first == "help" || first == "--help" || first == "-h") return RunHelp(rest);
  for (const Command& command : Commands()) {
    if (first == command.name) return command.run(rest);
  }
  if (IsMistypedCommand(first)) return NoCommand(first, "neither a command nor a file");
  return Commands()[0].run(arguments);
}

}  // namespace

int RunProgram(int argc, char** argv) {
  const ProcessFace face(settings::kProgramFace);
  try {
    const absl::StatusOr<ExitCode> code = Run(platform::PreparedArguments(argc, argv));
    if (code.ok()) return *code;
    WriteError(absl::StrCat(code.status().message(), settings::LimitHint(code.status())));
  } catch (const std::bad_alloc&) {
    WriteError("there is not enough memory");
  }
  return kTrouble;
}

}  // namespace onnxflops::tools
