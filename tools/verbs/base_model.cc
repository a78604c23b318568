#include "tools/verbs/base_model.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/api/load.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/report/read_report.h"
#include "tools/cli/options.h"
#include "tools/verbs/git_file.h"
#include "tools/verbs/model_files.h"

namespace onnxflops::tools {
namespace {

// Only a file can be looked at without taking something away from who reads it next.
bool IsReport(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string beginning(kReportPrefix, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<size_t>(file.gcount()));
  return LooksLikeReport(beginning);
}

bool IsMissing(const std::string& path) {
  struct stat info;
  return path == "/dev/null" || (path != "-" && stat(path.c_str(), &info) != 0 && errno == ENOENT);
}

}  // namespace

void BaseMissingArgument::AddTo(OptionList* list) {
  list->AddValue("--base-missing", "WHAT", &what,
                 "A base that does not exist: fail, or ok, which takes the model for new. Default: "
                 "fail.",
                 {"fail", "ok"});
}

absl::StatusOr<bool> BaseMissingArgument::Parse() const {
  if (what == "ok" || what == "fail") return what == "ok";
  return absl::InvalidArgumentError(
      absl::StrCat("--base-missing ", Quoted(what), ": it should be fail or ok"));
}

absl::StatusOr<int64_t> ParseThreshold(const std::string& threshold) {
  if (threshold.empty()) return 0;
  absl::string_view text = threshold;
  double percent = 0;
  const bool has_sign = absl::ConsumeSuffix(&text, "%");
  if (!has_sign || text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) ||
      !absl::SimpleAtod(text, &percent) || !(percent <= 100)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threshold ", Quoted(threshold), ": it should be a percentage, as 0.1%"));
  }
  return static_cast<int64_t>(percent * 10'000);
}

absl::StatusOr<Side> LoadSide(const std::string& path, const CountOptions& options) {
  Side side;
  if (!IsReport(path)) {
    ASSIGN_OR_RETURN(side.model, LoadFor(path, options));
    return side;
  }
  const absl::StatusOr<std::string> text = ReadTextFile(path, kMaxReportBytes);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat(Escaped(path), ": ", text.status().message()));
  }
  ASSIGN_OR_RETURN(side.report, ReadReport(*text, path));
  return side;
}

absl::StatusOr<Side> LoadRevision(const BaseModel& base, const CountOptions& options,
                                  bool* missing) {
  const absl::StatusOr<int> fd = OpenGitFile(base.revision, base.path);
  if (!fd.ok() && IsFolder(base.path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(base.path), ": a folder; --git takes a file, such as its config.json"));
  }
  if (missing != nullptr) *missing = absl::IsNotFound(fd.status());
  if (!fd.ok()) return fd.status();
  const absl::Cleanup close_file = [fd = *fd] { close(fd); };
  Side side;
  ASSIGN_OR_RETURN(side.model, LoadOpen(*fd, absl::StrCat(base.revision, ":", base.path), options));
  return side;
}

absl::StatusOr<Diff> DiffWithNothing(const Side& head, const CountOptions& options) {
  return head.model ? DiffModels(*head.model, options) : DiffModels(*head.report, options);
}

absl::StatusOr<Diff> DiffWithBase(const BaseModel& base, const Side& head,
                                  const CountOptions& options, ComparedSizes sizes) {
  if (base.path.empty()) return DiffWithNothing(head, options);
  if (!base.revision.empty() && !head.model) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(base.path), ": a report; --git compares a model with itself at a revision"));
  }
  bool missing = base.revision.empty() && IsMissing(base.path);
  const absl::StatusOr<Side> side =
      base.revision.empty() ? LoadSide(base.path, options) : LoadRevision(base, options, &missing);
  if (!side.ok() && missing) {
    if (base.missing_is_fine) return DiffWithNothing(head, options);
    return absl::NotFoundError(absl::StrCat(
        side.status().message(), "; --base-missing ok takes a model without a base for new"));
  }
  if (!side.ok()) return side.status();
  if (side->model) {
    return head.model ? DiffModels(*side->model, *head.model, options, sizes)
                      : DiffModels(*side->model, *head.report, options, sizes);
  }
  return head.model ? DiffModels(*side->report, *head.model, options, sizes)
                    : DiffModels(*side->report, *head.report, options, sizes);
}

}  // namespace onnxflops::tools
