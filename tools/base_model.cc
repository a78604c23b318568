#include "tools/base_model.h"

#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/api/load.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/load.h"
#include "src/report/read_report.h"
#include "tools/git_file.h"
#include "tools/options.h"

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

absl::StatusOr<Diff> DiffWithNothing(const Side& head, const CountOptions& options) {
  return head.model ? DiffModels(*head.model, options) : DiffModels(*head.report, options);
}

absl::StatusOr<Diff> DiffWithBase(const std::string& base, const Side& head,
                                  const CountOptions& options, bool missing_is_fine) {
  if (missing_is_fine && IsMissing(base)) return DiffWithNothing(head, options);
  ASSIGN_OR_RETURN(const Side side, LoadSide(base, options));
  if (side.model) {
    return head.model ? DiffModels(*side.model, *head.model, options)
                      : DiffModels(*side.model, *head.report, options);
  }
  return head.model ? DiffModels(*side.report, *head.model, options)
                    : DiffModels(*side.report, *head.report, options);
}

absl::StatusOr<Diff> DiffWithRevision(const std::string& revision, const std::string& path,
                                      const Side& head, const CountOptions& options,
                                      bool missing_is_fine) {
  if (!head.model) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(path), ": a report; --git compares a model with itself at a revision"));
  }
  const absl::StatusOr<std::string> bytes = ReadGitFile(revision, path);
  if (missing_is_fine && absl::IsNotFound(bytes.status())) return DiffWithNothing(head, options);
  if (!bytes.ok()) return bytes.status();
  ASSIGN_OR_RETURN(const Model model, LoadFromBytes(*bytes, absl::StrCat(revision, ":", path)));
  return DiffModels(model, *head.model, options);
}

}  // namespace onnxflops::tools
