// How it works. `check --record FILE` appends one line of JSON per model: its counts, the commit,
// the hash of the file and the lowest limits of its budgets. Counts need sizes, but the symbols of
// a model are known only after counting. So each model is counted with open symbols first, then
// again at those of the given sizes that it has, from the call or else from its budgets. A report
// in place of a model is evaluated at these sizes.
//
// The file is checked to be a history before the counting, which may take long. All lines go out in
// one write, so that programs that append at the same time do not mix their lines. A write that
// ends early removes its part of a line, unless another program has added lines after it. Models
// that cannot be counted are reported, and the others are still recorded.
#include "tools/commands/record_history.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/api/diff.h"
#include "src/api/pipeline.h"
#include "src/api/version.h"
#include "src/base/limits.h"
#include "src/base/platform/posix.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/base/utc_time.h"
#include "src/history/history.h"
#include "src/history/record.h"
#include "src/infer/require_symbols.h"
#include "src/load/input_file.h"
#include "src/report/report.h"
#include "src/settings/pipeline_arguments.h"
#include "tools/cli/output.h"
#include "tools/cli/write_file.h"
#include "tools/commands/base_model.h"
#include "tools/commands/base_pipeline.h"
#include "tools/commands/git_file.h"

namespace onnxflops::tools {
namespace {

absl::Status About(const std::string& file, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("--record ", Escaped(file), ": ", status.message()));
}

// Sizes for the model's symbols: those of the call, else those of the budgets.
Bindings SizesFor(const Bindings& of_call, const Bindings& of_budgets, const Report& open) {
  Bindings sizes;
  for (const Bindings* all : {&of_call, &of_budgets}) {
    for (const auto& [name, size] : *all) {
      const absl::StatusOr<Bindings> known = ResolveSymbols({{name, size}}, open.symbols);
      if (known.ok()) sizes.insert(known->begin(), known->end());
    }
  }
  return sizes;
}

absl::StatusOr<Report> CountFor(const std::string& path, CountOptions options,
                                const Bindings& of_budgets) {
  options.activation_peak = true;
  ASSIGN_OR_RETURN(const ModelOrReport side, LoadModelOrReport(path, options));
  if (side.report) {
    Report report = *side.report;
    const Bindings sizes = SizesFor(options.bindings, of_budgets, report);
    ASSIGN_OR_RETURN(report.totals, side.report->At(sizes));
    if (report.activation_peak) {
      report.activation_peak->bytes = report.activation_peak->bytes.Substitute(sizes);
    }
    report.bindings.insert(sizes.begin(), sizes.end());
    report.model.path = path;
    return report;
  }
  const Bindings of_call = std::exchange(options.bindings, {});
  ASSIGN_OR_RETURN(const Report open, Count(*side.model, options));
  options.bindings = SizesFor(of_call, of_budgets, open);
  if (options.bindings.empty()) return open;
  return Count(*side.model, options);
}

// The figures of a pipeline.
absl::StatusOr<HistoryRecord> RecordPipeline(const std::string& path, CountOptions options,
                                             const Bindings& of_budgets) {
  options.bindings.insert(of_budgets.begin(), of_budgets.end());
  ASSIGN_OR_RETURN(const Pipeline pipeline, settings::ReadPipeline(path, options.bindings));
  std::vector<std::string> of_others;
  ASSIGN_OR_RETURN(const PipelineReport report, CountPipeline(pipeline, options, &of_others));
  return RecordOf(report, options.bindings);
}

absl::StatusOr<HistoryRecord> RecordModel(const std::string& path, const CountOptions& options,
                                          const Bindings& of_budgets) {
  if (IsOnePipeline(path)) return RecordPipeline(path, options, of_budgets);
  ASSIGN_OR_RETURN(const Report report, CountFor(path, options, of_budgets));
  return RecordOf(report);
}

// The first set of sizes for the model, without its ranges.
Bindings SizesOf(const Budgets& budgets, const std::string& path) {
  for (const BudgetSizes& sizes : budgets.sizes) {
    if (IsForModel(sizes.models, path)) return sizes.fixed;
  }
  return {};
}

// Adds the lowest limit of each quantity of the whole model. `path` is "" if one model was checked.
void AddLimits(const CheckReport& report, const std::string& path, HistoryRecord* record) {
  for (const Quantity* q : RecordedQuantities()) {
    std::optional<absl::int128> lowest;
    for (const Judgement& j : report.judgements) {
      const bool is_ours = j.model == path && j.kind == "amount" && j.where.empty() &&
                           !j.names_module && j.quantity == q && j.limit_value;
      if (is_ours && (!lowest || *j.limit_value < *lowest)) lowest = j.limit_value;
    }
    if (lowest) record->limits.emplace_back(q, *lowest);
  }
}

// Appends all of the text in one write, or nothing. A last line without a newline gets one.
absl::Status AppendLines(const std::string& path, std::string lines) {
  const int fd = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) return FromErrno(errno);
  const absl::Cleanup close_file = [fd] { close(fd); };
  struct stat before;
  if (fstat(fd, &before) != 0) return FromErrno(errno);
  char last = '\n';
  if (before.st_size > 0 && pread(fd, &last, 1, before.st_size - 1) != 1) return FromErrno(errno);
  if (last != '\n') lines.insert(0, "\n");
  ssize_t written = -1;
  do {
    written = write(fd, lines.data(), lines.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(lines.size())) return absl::OkStatus();
  const int error = written < 0 ? errno : ENOSPC;
  struct stat after;
  // Takes back a part that was written, unless another program has added lines after it.
  if (written > 0 && fstat(fd, &after) == 0 && after.st_size == before.st_size + written) {
    static_cast<void>(ftruncate(fd, before.st_size) == 0);
  }
  return FromErrno(error);
}

}  // namespace

void RecordArgument::AddTo(OptionList* list) {
  list->AddValue("record", "FILE", &file,
                 "Add a line per model to FILE: date, commit, figures, limits. See onnxflops "
                 "history. Nothing is added for a model in error.");
}

absl::Status RecordArgument::Require(bool init) const {
  if (file.empty()) return absl::OkStatus();
  if (init) return absl::InvalidArgumentError("--init checks nothing: not with --record");
  struct stat info;
  if (stat(file.c_str(), &info) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return About(file, FromErrno(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--record ", Escaped(file), ": it should be a file"));
  }
  const absl::StatusOr<int> fd = OpenForReading(file);
  if (!fd.ok()) return About(file, fd.status());
  std::string beginning(kMaxHistoryLine + 1, '\0');
  const ssize_t read = ReadSome(*fd, beginning.data(), beginning.size());
  const int error = errno;
  close(*fd);
  if (read < 0) return About(file, FromErrno(error));
  beginning.resize(static_cast<size_t>(read));
  absl::Status is_history = CheckHistory(beginning, file);
  if (is_history.ok()) return is_history;
  return absl::Status(is_history.code(), absl::StrCat("--record: ", is_history.message()));
}

absl::Status RecordArgument::Append(const ModelFiles& files, const CountOptions& options,
                                    const BudgetFiles& budgets, const CheckReport& report) const {
  if (file.empty()) return absl::OkStatus();
  const std::string date = TimeInUtc("%Y-%m-%dT%H:%M:%SZ");
  std::set<std::string> done;
  for (const Judgement& j : report.judgements) {
    if (j.kind == "error") done.insert(j.model);
  }
  std::string lines;
  absl::Status fault;  // of the last model that could not be counted
  bool without_commit = false;
  for (size_t i = 0; i < files.files.size(); ++i) {
    const std::string& path = files.files[i].path;
    if (!done.insert(path).second) continue;
    if (path == "-") {
      return absl::InvalidArgumentError("--record: standard input has no name in a history");
    }
    absl::StatusOr<HistoryRecord> counted =
        RecordModel(path, options, SizesOf(budgets.Of(i).budgets, BudgetName(path)));
    if (!counted.ok()) {
      if (!fault.ok()) WriteError(fault.message());
      fault = counted.status();
      continue;
    }
    HistoryRecord record = *std::move(counted);
    record.date = date;
    record.commit = HeadCommit(path);
    record.model = IsOnePipeline(path) ? NormalPath(BudgetName(path)) : path;
    // A pipeline is of many files.
    record.sha256 = IsOnePipeline(path) ? "" : Sha256OfFile(path).value_or("");
    record.version = ONNXFLOPS_VERSION;
    without_commit = without_commit || record.commit.empty();
    AddLimits(report, files.one_file ? "" : path, &record);
    lines += ToJsonLine(record);
  }
  if (without_commit) {
    WriteError(absl::StrCat("--record ", Escaped(file),
                            ": recorded without a commit: git reads no repository there"));
  }
  if (lines.empty()) return fault;
  const absl::Status appended = AppendLines(file, std::move(lines));
  return appended.ok() ? fault : About(file, appended);
}

}  // namespace onnxflops::tools
