#include "tools/commands/base_model.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/api/load.h"
#include "src/base/platform/posix.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/settings/value.h"
#include "tools/cli/output.h"
#include "tools/commands/git_file.h"
#include "tools/commands/model_files.h"

namespace onnxflops::tools {

bool IsMissing(const std::string& path) {
  struct stat info;
  return path == "/dev/null" || (path != "-" && stat(path.c_str(), &info) != 0 && errno == ENOENT);
}

absl::Status MissingBase(absl::string_view why) {
  return absl::NotFoundError(
      absl::StrCat(why, "; --base-missing ok takes a model without a base for new"));
}

absl::Status OnlyOneIsPipeline(const std::string& pipeline, const std::string& other) {
  return absl::InvalidArgumentError(
      absl::StrCat(Escaped(pipeline), " is a pipeline and ", Escaped(other),
                   " is not: a pipeline is compared with a pipeline"));
}

void BaseMissingArgument::AddTo(OptionList* list) {
  list->AddValue("base-missing", "WHAT", &what,
                 "A base that does not exist: fail, or ok, which takes the model for new. Default: "
                 "fail.",
                 {"fail", "ok"});
}

absl::StatusOr<bool> BaseMissingArgument::Parse() const {
  if (what == "ok" || what == "fail") return what == "ok";
  return settings::BadValue("base-missing", what, "it should be fail or ok");
}

absl::StatusOr<int64_t> ParseThreshold(const std::string& threshold) {
  if (threshold.empty()) return 0;
  absl::string_view text = threshold;
  double percent = 0;
  const bool has_sign = absl::ConsumeSuffix(&text, "%");
  if (!has_sign || text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) ||
      !absl::SimpleAtod(text, &percent) || !(percent <= 100)) {
    return settings::BadValue("threshold", threshold, "it should be a percentage, as 0.1%");
  }
  return static_cast<int64_t>(percent * 10'000);
}

absl::StatusOr<Model> LoadRevision(const BaseModel& base, const CountOptions& options,
                                   bool* missing) {
  const absl::StatusOr<int> fd = OpenGitFile(base.revision, base.path);
  if (!fd.ok() && IsFolder(base.path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(base.path), ": a folder; --git takes a file, such as its config.json"));
  }
  if (missing != nullptr) *missing = absl::IsNotFound(fd.status());
  if (!fd.ok()) return fd.status();
  const absl::Cleanup close_file = [fd = *fd] { close(fd); };
  return LoadOpen(*fd, absl::StrCat(base.revision, ":", base.path), options);
}

absl::StatusOr<std::optional<ModelOrReport>> LoadBase(const BaseModel& base,
                                                      const ModelOrReport& head,
                                                      const CountOptions& options) {
  if (base.path.empty()) return std::nullopt;
  if (!base.revision.empty() && !head.model) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(base.path), ": a report; --git compares a model with itself at a revision"));
  }
  bool missing = base.revision.empty() && IsMissing(base.path);
  ModelOrReport loaded;
  absl::Status status;
  if (base.revision.empty()) {
    absl::StatusOr<ModelOrReport> file = LoadModelOrReport(base.path, options);
    status = file.status();
    if (file.ok()) loaded = *std::move(file);
  } else {
    absl::StatusOr<Model> model = LoadRevision(base, options, &missing);
    status = model.status();
    if (model.ok()) loaded.model = *std::move(model);
  }
  if (status.ok()) return loaded;
  if (!missing) return status;
  if (base.missing_is_fine) return std::nullopt;
  return MissingBase(status.message());
}

absl::Status WithBaseHint(const absl::Status& status) {
  if (!absl::IsFailedPrecondition(status)) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(status.message(), ": --against BASE or --git REV gives one"));
}

absl::StatusOr<Diff> DiffWithBase(const std::optional<ModelOrReport>& base,
                                  const ModelOrReport& head, const CountOptions& options) {
  return base ? DiffModels(base->side(), head.side(), options) : DiffModels(head.side(), options);
}

void TellPositions(const ModelInfo& model) {
  for (const std::string& text : model.positions) {
    WriteError(absl::StrCat(Escaped(model.path), ": ", Printable(text)));
  }
}

}  // namespace onnxflops::tools
