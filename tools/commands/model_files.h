// The models that a call names: files, folders and patterns.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_MODEL_FILES_H_
#define ONNXFLOPS_TOOLS_COMMANDS_MODEL_FILES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

struct ModelFile {
  std::string path;
  absl::Status fault;  // why a folder or a pattern gives no model
};

struct ModelFiles {
  std::vector<ModelFile> files;  // in the order of the call; those of a folder by name
  // The call is one file, whatever it is called: its result is a report, not a list of reports.
  bool one_file = false;

  std::vector<std::string> paths() const;
  // The same, and of a pipeline all files that it is read from.
  std::vector<std::string> inputs() const;
};

// In hexadecimal; nullopt if it can be read only once, or not at all.
std::optional<std::string> Sha256OfFile(const std::string& path);
// The same of what is left to read of an open file.
std::optional<std::string> Sha256OfOpenFile(int fd);
bool Exists(const std::string& path);
// "./a//b/" -> "a/b", "." -> "".
std::string NormalPath(const std::string& path);
bool IsFolder(const std::string& path);

// Resolves the words of a call. A file stands for itself, and so does "-". A folder stands for all
// *.onnx and *.onnxtxt in it, at any depth. A pattern (*, ? and [..] as in a shell, ** for folders
// at any depth) that is not the name of a file stands for its matches. OutOfRange for more than
// kMaxModels.
absl::StatusOr<ModelFiles> FindModelFiles(const Arguments& words);
// The same, but a folder stands for every configuration in it, *.json of any name.
absl::StatusOr<ModelFiles> FindConfigurations(const Arguments& words);
// The same, but a folder that is one pipeline by a file in it stands for itself, and any other one
// also for the pipeline.toml of all folders in it.
absl::StatusOr<ModelFiles> FindModelsAndPipelines(const Arguments& words);
// Whether that takes a path as a pipeline: a file of stages, or such a folder.
bool IsOnePipeline(const std::string& path);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_MODEL_FILES_H_
