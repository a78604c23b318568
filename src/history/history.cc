// How it works. The lines of a file become one series per model, in their order. For each model and
// quantity the last line that had the quantity is remembered, so a line without it (another option,
// another version) makes no change. A figure that differs from that line is a change. So is an
// equal figure at other sizes or on another device, because it then stands for other work; only 0
// is the same at any size. A commit may have several lines for one model, when a job ran again: the
// last one counts, in the place and with the date of the first.
#include "src/history/history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/check/judge.h"

namespace onnxflops {
namespace history {
namespace {

// The next line, without its end.
absl::string_view TakeLine(absl::string_view* text) {
  const size_t end = text->find('\n');
  const absl::string_view line = text->substr(0, end);
  text->remove_prefix(end == absl::string_view::npos ? text->size() : end + 1);
  return line;
}

bool IsBlank(absl::string_view line) { return absl::StripAsciiWhitespace(line).empty(); }

// "history.jsonl:7:12: not JSON from here: ...".
absl::Status AtLine(absl::string_view file, int64_t number, const absl::Status& status) {
  absl::string_view what = status.message();
  std::string column;
  absl::string_view rest = what;
  if (absl::ConsumePrefix(&rest, "line 1, column ")) {
    const size_t colon = rest.find(": ");
    if (colon != absl::string_view::npos) {
      column = absl::StrCat(":", rest.substr(0, colon));
      what = rest.substr(colon + 2);
    }
  }
  return absl::Status(status.code(), absl::StrCat(Escaped(file), ":", number, column, ": ", what));
}

absl::Status TooLarge(absl::string_view file) {
  return absl::OutOfRangeError(
      absl::StrCat(Escaped(file), ": larger than ", kMaxHistoryBytes,
                   " bytes: keep its last lines only, as with tail -n 10000"));
}

// Of several lines for one commit and model, the last one, in the place of the first. If a job runs
// again, it must not look as if the commit came again.
std::vector<HistoryRecord> LastOfEach(std::vector<HistoryRecord> records) {
  std::map<std::pair<std::string, std::string>, size_t> places;
  std::vector<HistoryRecord> last;
  for (HistoryRecord& r : records) {
    const auto [place, is_new] = places.emplace(std::pair(r.commit, r.model), last.size());
    if (is_new || r.commit.empty()) {
      last.push_back(std::move(r));
    } else {
      r.date = last[place->second].date;
      last[place->second] = std::move(r);
    }
  }
  return last;
}

// The record of the last line of a series that has the quantity.
using LastOfQuantity = std::map<const Quantity*, size_t>;

}  // namespace
}  // namespace history

absl::StatusOr<History> ReadHistory(absl::string_view text, absl::string_view file) {
  if (text.size() > kMaxHistoryBytes) return history::TooLarge(file);
  History result;
  result.file = std::string(file);
  for (int64_t number = 1; !text.empty(); ++number) {
    const absl::string_view line = history::TakeLine(&text);
    if (history::IsBlank(line)) continue;
    absl::StatusOr<HistoryRecord> record = ParseRecord(line);
    if (!record.ok()) return history::AtLine(file, number, record.status());
    result.records.push_back(*std::move(record));
  }
  if (result.records.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(file),
        WithSettings(": it is empty: onnxflops check MODEL {record} adds a line to it")));
  }
  result.records = history::LastOfEach(std::move(result.records));
  return result;
}

absl::Status CheckHistory(absl::string_view beginning, absl::string_view file) {
  for (int64_t number = 1; !beginning.empty(); ++number) {
    const absl::string_view line = history::TakeLine(&beginning);
    if (history::IsBlank(line)) continue;
    const absl::Status status = ParseRecord(line).status();
    return status.ok() ? status : history::AtLine(file, number, status);
  }
  return absl::OkStatus();
}

bool AreComparable(const HistoryRecord& before, const HistoryRecord& after, const Quantity& q) {
  if (q.unit == Quantity::Unit::kSeconds && before.device != after.device) return false;
  return q.of == Quantity::Of::kWeights || before.sizes == after.sizes;
}

HistoryReport MakeHistory(History history, const HistoryView& view) {
  HistoryReport report;
  report.file = std::move(history.file);
  report.is_part = !view.quantities.empty();
  std::map<std::string, size_t> places;
  std::vector<history::LastOfQuantity> last;
  std::set<std::string> commits;
  std::set<const Quantity*> present;
  const auto is_shown = [&](const Quantity* q) {
    return view.quantities.empty() ? !q->is_derived() : absl::c_linear_search(view.quantities, q);
  };
  for (HistoryRecord& record : history.records) {
    if (!IsForModel(view.models, record.model)) continue;
    ++report.records;
    if (!record.commit.empty()) commits.insert(record.commit);
    if (report.first_date.empty()) report.first_date = record.date;
    report.last_date = record.date;
    const auto [place, is_new] = places.emplace(record.model, report.series.size());
    const size_t at = place->second;
    if (is_new) {
      report.series.push_back({record.model, {}});
      last.emplace_back();
    }
    HistorySeries& series = report.series[at];
    for (const auto& [quantity, figure] : record.totals) {
      if (!is_shown(quantity)) continue;
      present.insert(quantity);
      const auto [before, first] = last[at].emplace(quantity, series.records.size());
      if (first) continue;
      const HistoryRecord& previous = series.records[before->second];
      // An equal figure at other sizes is a change of the model.
      const bool is_none = figure == RecordedFigure();  // 0 is 0 at any size
      if (!(*previous.Find(*quantity) == figure) ||
          (!is_none && !AreComparable(previous, record, *quantity))) {
        report.changes.push_back({at, series.records.size(), before->second, quantity});
      }
      before->second = series.records.size();
    }
    series.records.push_back(std::move(record));
  }
  for (const Quantity* q : RecordedQuantities()) {
    if (present.contains(q)) report.quantities.push_back(q);
  }
  report.commits = static_cast<int64_t>(commits.size());
  report.models = static_cast<int64_t>(report.series.size());
  return report;
}

}  // namespace onnxflops
