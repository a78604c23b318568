// Converts running totals in a log to values per step.
//
//   RunningTotals totals;
//   for (const LoggedStep& step : totals.Take({line, record})) monitor.Take(step.record, ...);
//   for (const LoggedStep& step : totals.Finish()) ...
//
// `tokens` and `samples` may count one step or all steps so far; programs differ. If they grow from
// line to line like a total that began with step 0, they are a total. Lines wait until that is
// clear, a few at most. A name such as num_input_tokens_seen decides it at once.
#ifndef ONNXFLOPS_SRC_MONITOR_RUNNING_TOTALS_H_
#define ONNXFLOPS_SRC_MONITOR_RUNNING_TOTALS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "src/monitor/step_log.h"

namespace onnxflops {

struct LoggedStep {
  int64_t line = 0;
  StepRecord record;
};

class RunningTotals {
 public:
  // Those that are ready, in the order of the log.
  std::vector<LoggedStep> Take(LoggedStep step);
  std::vector<LoggedStep> Finish();

  // Which of two fields it is about.
  struct Field {
    std::optional<int64_t> StepRecord::*of_step;
    std::optional<int64_t> StepRecord::*total;
    const char* means;
  };

 private:
  enum class Kind { kAbsent, kOpen, kOfStep, kTotal };
  struct State {
    Kind kind = Kind::kOpen;
    std::optional<int64_t> last, last_step;
  };

  Kind KindOf(const Field& field) const;
  std::vector<LoggedStep> Release();
  void Convert(const Field& field, State* state);

  std::vector<LoggedStep> held_;
  State states_[2];
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MONITOR_RUNNING_TOTALS_H_
