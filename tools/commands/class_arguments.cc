// How it works. `python -m onnxflops._graphs CONFIG` builds the class on the device meta, exports
// it, keeps the graph by the hash of the configuration and the versions, and prints an object with
// its path, or with the reason why there is none. Python runs only if the call asks for it.
#include "tools/commands/class_arguments.h"

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/json_reader.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/input_file.h"
#include "tools/cli/output.h"
#include "tools/commands/model_files.h"

namespace onnxflops::tools {
namespace {

// The wheel's program names the Python that it is in.
std::string DefaultPython() {
  const char* const own = getenv("ONNXFLOPS_PYTHON");
  return own != nullptr && *own != '\0' ? own : "python3";
}

// All that is in an unnamed file.
absl::StatusOr<std::string> TextOf(int fd) {
  lseek(fd, 0, SEEK_SET);
  std::string text(kMaxConfigBytes, '\0');
  size_t size = 0;
  ssize_t read = 0;
  while (size < text.size() && (read = ReadSome(fd, &text[size], text.size() - size)) > 0) {
    size += static_cast<size_t>(read);
  }
  if (read < 0) return absl::UnknownError("its output cannot be read");
  text.resize(size);
  return text;
}

std::string LastLine(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  return std::string(text.substr(text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1));
}

// What the package answers for a configuration.
absl::StatusOr<nlohmann::json> Ask(const std::string& python, std::vector<std::string> words) {
  const int output = platform::MakeUnnamedFile(), errors = platform::MakeUnnamedFile();
  const absl::Cleanup close_both = [&] {
    if (output >= 0) close(output);
    if (errors >= 0) close(errors);
  };
  if (output < 0 || errors < 0) return absl::UnknownError("no temporary file can be made");
  words.insert(words.begin(), {"-m", "onnxflops._graphs"});
  ASSIGN_OR_RETURN(const intptr_t program,
                   platform::StartProgram(python, words, {}, {-1, output, errors}));
  const platform::ProgramEnd end = platform::WaitForProgram(program);
  ASSIGN_OR_RETURN(const std::string said, TextOf(output));
  ASSIGN_OR_RETURN(const std::string complaint, TextOf(errors));
  if (absl::StrContains(complaint, "No module named") &&
      absl::StrContains(complaint, "onnxflops")) {
    return absl::FailedPreconditionError(
        "it has no package onnxflops of this version: pip install 'onnxflops[transformers]' there, "
        "or --python names another");
  }
  if (!end.exited || end.code != 0) {
    return absl::UnknownError(absl::StrCat("it failed: ", Escaped(LastLine(complaint))));
  }
  const std::string line = LastLine(said);
  absl::StatusOr<nlohmann::json> answer = ParseJson(line, {.bytes = kMaxConfigBytes});
  if (answer.ok() && answer->is_object()) return answer;
  return absl::UnknownError(absl::StrCat("it answers ", Quoted(line), ", which is no JSON object"));
}

std::string Text(const nlohmann::json& answer, const char* key) {
  const auto found = answer.find(key);
  return found != answer.end() && found->is_string() ? found->get<std::string>() : "";
}

absl::Status At(const std::string& config, const std::string& python, absl::string_view fault) {
  return absl::InvalidArgumentError(
      absl::StrCat(Escaped(config), ": --with-transformers (", Escaped(python), "): ", fault));
}

}  // namespace

void ClassArguments::AddTo(OptionList* list) {
  list->AddFlag(
      "with-transformers", &given,
      "Count a config.json of any model type as its class in an installed transformers. "
      "Python exports the class, without weights, and keeps the graph for the next call.");
  list->AddValue("task", "TASK", &task,
                 "The class for this task, not the one that the configuration names. As in "
                 "transformers: text-generation, fill-mask, feature-extraction; with -with-past, "
                 "the cache is an input.");
  list->AddValue("python", "PROGRAM", &python,
                 "The Python that has the packages onnxflops, torch, onnxscript and transformers. "
                 "Default: python3 of the PATH.");
}

absl::StatusOr<Arguments> ClassArguments::Graphs(const Arguments& models,
                                                 const Bindings& sizes) const {
  if (!given) {
    if (task.empty() && python.empty()) return models;
    return absl::InvalidArgumentError("--task and --python belong to --with-transformers");
  }
  const std::string program = python.empty() ? DefaultPython() : python;
  Arguments graphs;
  for (const std::string& model : models) {
    if (!absl::EndsWith(model, ".json") && !IsFolder(model)) {
      return absl::InvalidArgumentError(absl::StrCat(
          Escaped(model),
          ": --with-transformers takes configurations: a config.json, or the folder that has it"));
    }
    WriteError(absl::StrCat(Escaped(model), ": ", Escaped(program),
                            " exports it by the class of transformers"));
    std::vector<std::string> words = {model, task};
    if (!sizes.empty()) words.push_back(nlohmann::json(sizes).dump());
    const absl::StatusOr<nlohmann::json> answer = Ask(program, std::move(words));
    if (!answer.ok()) return At(model, program, answer.status().message());
    const std::string graph = Text(*answer, "graph");
    if (graph.empty()) return At(model, program, Escaped(Text(*answer, "error")));
    const auto warnings = answer->find("warnings");
    if (warnings != answer->end() && warnings->is_array()) {
      for (const nlohmann::json& warning : *warnings) {
        if (warning.is_string()) WriteError(Escaped(warning.get<std::string>()));
      }
    }
    graphs.push_back(graph);
  }
  return graphs;
}

}  // namespace onnxflops::tools
