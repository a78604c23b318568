// What models cost, commit by commit: the lines that `onnxflops check --record` wrote.
//
//   ASSIGN_OR_RETURN(History history, ReadHistory(text, "history.jsonl"));
//   const HistoryReport report = MakeHistory(std::move(history), {});
//   std::cout << ToTable(report);    // history_writers.h
//
// Its order is that of the lines: commits of branches have no other, and dates may be wrong.
#ifndef ONNXFLOPS_SRC_HISTORY_HISTORY_H_
#define ONNXFLOPS_SRC_HISTORY_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/cost/amounts.h"
#include "src/history/record.h"

namespace onnxflops {

struct History {
  std::string file;
  std::vector<HistoryRecord> records;
};

// Of several lines for one model at one commit, the last one is read, in the place of the first.
// Errors name file and line:
// "history.jsonl:7: 'date' should be ...". InvalidArgument for a line that is no record; OutOfRange
// above kMaxHistoryBytes.
absl::StatusOr<History> ReadHistory(absl::string_view text, absl::string_view file);
// Whether something may be added to a file that begins so: its first line is a record, or it is
// empty. Errors as of ReadHistory.
absl::Status CheckHistory(absl::string_view beginning, absl::string_view file);

struct HistoryView {
  std::string models;                       // a glob, as of budgets; "": all
  std::vector<const Quantity*> quantities;  // none: all but those that follow from others
};

struct HistorySeries {
  std::string model;
  std::vector<HistoryRecord> records;  // never empty
};

struct FigureChange {
  size_t series = 0;                   // index in HistoryReport::series
  size_t record = 0, previous = 0;     // indexes in its records
  const Quantity* quantity = nullptr;  // that both have; lines between them do not
};

// Whether figures are of the same sizes, as weights are at any, and times of the same device. If
// not, a change may be that of the sizes or of the device.
bool AreComparable(const HistoryRecord& before, const HistoryRecord& after, const Quantity& q);

struct HistoryReport {
  std::string file;
  std::vector<const Quantity*> quantities;  // that are shown
  std::vector<HistorySeries> series;        // in the order of their first lines
  std::vector<FigureChange> changes;        // in the order of the lines
  bool is_part = false;                     // other quantities were left out by request
  int64_t records = 0, commits = 0, models = 0;
  std::string first_date, last_date;  // of the first and the last line

  const HistoryRecord& After(const FigureChange& c) const {
    return series[c.series].records[c.record];
  }
  const HistoryRecord& Before(const FigureChange& c) const {
    return series[c.series].records[c.previous];
  }
  bool AreComparable(const FigureChange& c) const {
    return onnxflops::AreComparable(Before(c), After(c), *c.quantity);
  }
};

HistoryReport MakeHistory(History history, const HistoryView& view);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_HISTORY_HISTORY_H_
