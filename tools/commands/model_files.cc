// How it works. Each word of the command line is a file, a folder or a pattern; an existing file is
// taken as such even if its name looks like a pattern. Folders are searched for ONNX files at any
// depth. Exports often have a configuration next to them, so configurations count only where there
// is no export. A folder with a single configuration at its top stands for that model. "**" is
// expanded here, since glob() does not support it. Results are sorted and limited in number, and
// links to folders are not followed. A word that fails keeps its error as the fault of one file, so
// that others are still counted.
#include "tools/commands/model_files.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/sha256.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/convention/conventions.h"
#include "src/load/input_file.h"
#include "src/settings/pipeline_arguments.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

constexpr absl::string_view kExtensions[] = {".onnx", ".onnxtxt"};
constexpr absl::string_view kConfigNames[] = {"config.json", "open_clip_config.json"};
constexpr char kAnyFolders[] = "**/";

bool IsModelName(absl::string_view path) {
  return std::any_of(std::begin(kExtensions), std::end(kExtensions),
                     [&](absl::string_view end) { return absl::EndsWith(path, end); });
}

absl::Status TooMany() {
  return LimitError("models", absl::StrCat("more than ", kMaxModels, " models in one call"));
}

// The files below a folder, by name. Links to folders are not followed, so the search terminates.
absl::StatusOr<std::vector<std::string>> FilesBelow(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  const auto skip = std::filesystem::directory_options::skip_permission_denied;
  std::filesystem::recursive_directory_iterator it(folder, skip, error);
  for (; !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
    std::error_code no_type;
    if (it->is_directory(no_type)) continue;
    if (found.size() == kMaxModels) return TooMany();
    found.push_back(it->path().generic_string());
  }
  if (error) return absl::UnknownError(absl::StrCat("cannot be read: ", error.message()));
  std::sort(found.begin(), found.end());
  return found;
}

// "a/**/b*.onnx": matches of "b*.onnx" in a, or in a folder below it.
absl::StatusOr<std::vector<std::string>> MatchesAtAnyDepth(const std::string& pattern) {
  const size_t at = pattern.find(kAnyFolders);
  std::string base = at == 0 ? "." : pattern.substr(0, at);
  // Windows finds no folder by a name that ends with a slash, but for that of a drive.
  if (base.size() > 1 && base.back() == '/' && base[base.size() - 2] != ':') base.pop_back();
  const std::string rest = pattern.substr(at + absl::string_view(kAnyFolders).size());
  std::vector<std::string> matching;
  for (const std::string& folder : platform::MatchingFiles(base)) {
    if (!IsFolder(folder)) continue;
    ASSIGN_OR_RETURN(const std::vector<std::string> below, FilesBelow(folder));
    for (const std::string& file : below) {
      absl::string_view tail = absl::string_view(file).substr(folder.size());
      for (size_t slash = 0; slash != absl::string_view::npos; slash = tail.find('/')) {
        tail.remove_prefix(slash + (slash > 0 || absl::StartsWith(tail, "/") ? 1 : 0));
        if (!platform::MatchesPath(rest, std::string(tail))) continue;
        matching.push_back(at == 0 ? file.substr(2) : file);
        break;
      }
    }
  }
  return matching;
}

absl::string_view NameIn(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsConfigName(absl::string_view path) {
  const absl::string_view name = NameIn(path);
  return std::find(std::begin(kConfigNames), std::end(kConfigNames), name) !=
         std::end(kConfigNames);
}

// Exports often have a configuration next to them, so it counts only if there is no export.
absl::StatusOr<std::vector<std::string>> ModelsIn(const std::string& folder, bool with_pipelines) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesBelow(folder));
  std::vector<std::string> models, configs, pipelines;
  for (const std::string& file : files) {
    if (IsModelName(file)) models.push_back(file);
    if (IsConfigName(file)) configs.push_back(file);
    if (with_pipelines && NameIn(file) == kPipelineFile) pipelines.push_back(file);
  }
  if (models.empty()) models = std::move(configs);
  models.insert(models.end(), pipelines.begin(), pipelines.end());
  if (models.empty()) {
    return absl::NotFoundError(
        "the folder has no *.onnx, *.onnxtxt or config.json file, at any depth");
  }
  return models;
}

absl::StatusOr<std::vector<std::string>> ModelsLike(const std::string& pattern) {
  std::vector<std::string> files;
  if (absl::StrContains(pattern, kAnyFolders)) {
    ASSIGN_OR_RETURN(files, MatchesAtAnyDepth(pattern));
  } else {
    files = platform::MatchingFiles(pattern);
  }
  if (files.empty()) return absl::NotFoundError("no file matches this pattern");
  return files;
}

// A folder with a model's configuration, as on hubs, stands for that model.
bool IsModelFolder(absl::string_view folder, const ModelFiles& found) {
  if (found.files.size() != 1) return false;
  const absl::string_view path = found.files[0].path;
  return IsConfigName(path) && path.substr(0, path.rfind('/')) == absl::StripSuffix(folder, "/");
}

// Folders of a hub hold JSON of other kinds, too: a tokenizer's, an index of weights.
bool HoldsConfiguration(const std::string& path) {
  constexpr absl::string_view kKeys[] = {"\"model_type\"", "\"vision_cfg\"", "\"model_cfg\""};
  const absl::StatusOr<std::string> text = ReadTextFile(path, kMaxConfigBytes);
  if (!text.ok()) return false;
  return std::any_of(std::begin(kKeys), std::end(kKeys),
                     [&](absl::string_view key) { return absl::StrContains(*text, key); });
}

absl::StatusOr<std::vector<std::string>> ConfigurationsIn(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesBelow(folder));
  std::vector<std::string> configs;
  for (const std::string& file : files) {
    if (absl::EndsWith(file, ".json") && HoldsConfiguration(file)) configs.push_back(file);
  }
  if (configs.empty()) {
    return absl::NotFoundError("the folder has no configuration (*.json), at any depth");
  }
  return configs;
}

absl::StatusOr<std::vector<std::string>> Expand(const std::string& word, bool with_pipelines) {
  if (IsFolder(word)) return ModelsIn(word, with_pipelines);
  return ModelsLike(word);
}

}  // namespace

std::optional<std::string> Sha256OfOpenFile(int fd) {
  Sha256 hash;
  std::vector<char> piece(size_t{1} << 20);
  ssize_t read = 0;
  while ((read = ReadSome(fd, piece.data(), piece.size())) > 0) {
    hash.Add(absl::string_view(piece.data(), static_cast<size_t>(read)));
  }
  if (read < 0) return std::nullopt;
  return hash.Hex();
}

std::optional<std::string> Sha256OfFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  const absl::StatusOr<int> fd = OpenForReading(path);
  if (!fd.ok()) return std::nullopt;
  const absl::Cleanup close_file = [fd = *fd] { close(fd); };
  return Sha256OfOpenFile(*fd);
}

bool Exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

std::string NormalPath(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal().generic_string();
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal == "." ? "" : normal;
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool IsOnePipeline(const std::string& path) {
  return settings::IsPipelineFile(path) || settings::IsNamedPipeline(path);
}

std::vector<std::string> ModelFiles::paths() const {
  std::vector<std::string> result;
  for (const ModelFile& file : files) result.push_back(file.path);
  return result;
}

std::vector<std::string> ModelFiles::inputs() const {
  std::vector<std::string> result = paths();
  for (const ModelFile& file : files) {
    if (!IsOnePipeline(file.path)) continue;
    for (std::string& own : settings::FilesOfPipeline(file.path)) result.push_back(std::move(own));
  }
  return result;
}

namespace {

using ExpandWord = absl::FunctionRef<absl::StatusOr<std::vector<std::string>>(const std::string&)>;

// What is no file for another reason, after "no such file"; "" if nothing is known.
std::string NoFileAtAll(const std::string& word) {
  if (absl::StrContains(word, "://")) return "; addresses are not read: download the file first";
  if (convention::FindConvention(word) != nullptr)
    return absl::StrCat("; --with ", word, " names a tool");
  for (const Command& command : Commands()) {
    if (word == command.name) return "; a command is the first word, before the model";
  }
  if (const size_t equals = word.find('='); equals != std::string::npos && equals > 0) {
    const std::string value = word.substr(equals + 1);
    if (!value.empty() && value.find_first_not_of("0123456789.,") == std::string::npos) {
      return absl::StrCat("; sizes stand together, as --dim batch=1,", Escaped(word));
    }
  }
  // "openai/clip-vit-large-patch14"
  const size_t slash = word.find('/');
  const bool is_id = slash != std::string::npos && slash > 0 && slash + 1 < word.size() &&
                     word.find('/', slash + 1) == std::string::npos && word[0] != '.' &&
                     !Exists(word.substr(0, slash)) && !IsModelName(word) && !IsConfigName(word);
  return is_id ? "; if it is a name of a hub: download the model, or its config.json" : "";
}

// The error for a missing file, if something else may have been meant.
absl::Status MeantAnother(const std::string& word) {
  if (const std::string reason = NoFileAtAll(word); !reason.empty()) {
    return absl::NotFoundError(absl::StrCat(Escaped(word), ": no such file", reason));
  }
  const bool is_number = std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  if (is_number) {
    return absl::NotFoundError(absl::StrCat(
        word, ": no such file; the numbers of a list stand together, as --lengths 512,300"));
  }
  const std::string folder = word.substr(0, word.rfind('/') + 1);
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator it(folder.empty() ? "." : folder, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (names.size() == kMaxModels) break;
    if (IsModelName(name) || IsConfigName(name)) names.push_back(folder + name);
  }
  std::sort(names.begin(), names.end());
  const std::string similar = DidYouMean(word, names);
  if (similar.empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(Escaped(word), ": no such file", similar));
}

absl::StatusOr<ModelFiles> FindFiles(const Arguments& words, ExpandWord expand,
                                     bool with_pipelines = false) {
  ModelFiles models;
  const auto is_file = [&](const std::string& word) {
    const bool pattern = word.find_first_of("*?[") != std::string::npos;
    if (IsFolder(word)) return with_pipelines && IsOnePipeline(word);
    return word == "-" || Exists(word) || !pattern;
  };
  for (const std::string& word : words) {
    if (is_file(word)) {
      models.files.push_back(
          {word, word == "-" || Exists(word) ? absl::OkStatus() : MeantAnother(word)});
    } else if (absl::StatusOr<std::vector<std::string>> found = expand(word); found.ok()) {
      for (std::string& path : *found) models.files.push_back({std::move(path), absl::OkStatus()});
    } else {
      models.files.push_back(
          {word, WithMessage(found.status(),
                             absl::StrCat(Escaped(word), ": ", found.status().message()))});
    }
    if (models.files.size() > kMaxModels) return TooMany();
  }
  models.one_file = words.size() == 1 && (is_file(words[0]) || IsModelFolder(words[0], models));
  if (std::count(words.begin(), words.end(), "-") > 1) {
    return absl::InvalidArgumentError("- is given twice: standard input can be read only once");
  }
  return models;
}

}  // namespace

absl::StatusOr<ModelFiles> FindModelFiles(const Arguments& words) {
  return FindFiles(words, [](const std::string& word) { return Expand(word, false); });
}

absl::StatusOr<ModelFiles> FindModelsAndPipelines(const Arguments& words) {
  return FindFiles(
      words, [](const std::string& word) { return Expand(word, /*with_pipelines=*/true); },
      /*with_pipelines=*/true);
}

absl::StatusOr<ModelFiles> FindConfigurations(const Arguments& words) {
  return FindFiles(words, [](const std::string& word) {
    return IsFolder(word) ? ConfigurationsIn(word) : Expand(word, /*with_pipelines=*/false);
  });
}

}  // namespace onnxflops::tools
