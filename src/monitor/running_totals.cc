#include "src/monitor/running_totals.h"

#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace onnxflops {
namespace monitor {
namespace {

constexpr size_t kMostHeld = 64;  // lines; most lack the field
constexpr size_t kEnough = 4;     // values needed to recognise a total

constexpr RunningTotals::Field kFields[] = {
    {&StepRecord::tokens, &StepRecord::tokens_total, "tokens"},
    {&StepRecord::samples, &StepRecord::samples_total, "samples"},
};

// True if the log's name is one that some programs use for a total.
bool MayBeTotal(const StepRecord& record, const RunningTotals::Field& field) {
  const auto name = record.names.find(field.means);
  if (name == record.names.end() || !(record.*field.of_step)) return false;
  const absl::string_view bare = absl::StripPrefix(name->second, "train/");
  return absl::EqualsIgnoreCase(bare, field.means) || absl::EqualsIgnoreCase(bare, "images");
}

// Lightning's ThroughputMonitor logs the count of one device.
constexpr absl::string_view kOfOneDevice = "train/samples";

struct Value {
  int64_t step, value;
};

// True if growing values are a running total that began with step 0 or 1, or with this log: the
// first value covers as many steps as the increments suggest. The tokens of single steps may grow
// as well, as sequences get longer, but not by their own size at each step.
bool GrowAsTotal(const std::vector<Value>& values) {
  constexpr double kSpread = 2;  // between steps of padded sequences
  const Value &first = values.front(), &last = values.back();
  const auto rate =
      static_cast<double>(last.value - first.value) / static_cast<double>(last.step - first.step);
  const auto is_near = [&](double tokens, double steps) {
    const double expected = rate * steps;
    return tokens <= kSpread * expected && expected <= kSpread * tokens;
  };
  for (size_t i = 1; i < values.size(); ++i) {
    const auto grown = static_cast<double>(values[i].value - values[i - 1].value);
    if (!is_near(grown, static_cast<double>(values[i].step - values[i - 1].step))) return false;
  }
  const auto begin = static_cast<double>(first.value);
  const auto stride = static_cast<double>(values[1].step - first.step);
  return is_near(begin, static_cast<double>(first.step)) ||
         is_near(begin, static_cast<double>(first.step) + 1) || is_near(begin, stride);
}

}  // namespace
}  // namespace monitor

RunningTotals::Kind RunningTotals::KindOf(const Field& field) const {
  std::vector<monitor::Value> values;
  size_t totals = 0;
  for (const LoggedStep& step : held_) {
    const StepRecord& r = step.record;
    if (!r.step) continue;
    if (!(r.*field.of_step) && (r.*field.total) && ++totals > 1) return Kind::kTotal;
    if (!monitor::MayBeTotal(r, field)) continue;
    const monitor::Value value = {*r.step, *(r.*field.of_step)};
    const bool grows =
        values.empty() || (value.step > values.back().step && value.value > values.back().value);
    if (!grows) return Kind::kOfStep;
    values.push_back(value);
    if (values.size() < monitor::kEnough) continue;
    return monitor::GrowAsTotal(values) ? Kind::kTotal : Kind::kOfStep;
  }
  return values.empty() && totals == 0 ? Kind::kAbsent : Kind::kOpen;
}

// Turns a total into increments per step. The first line has no predecessor; it takes the next
// one's increment.
void RunningTotals::Convert(const Field& field, State* state) {
  std::optional<int64_t> before;  // the value's line in `held_` that waits for the next
  for (size_t i = 0; i < held_.size(); ++i) {
    StepRecord& r = held_[i].record;
    const bool named = !(r.*field.of_step) && (r.*field.total);
    if (!r.step || (!named && !monitor::MayBeTotal(r, field))) continue;
    const int64_t value = named ? *(r.*field.total) : *(r.*field.of_step);
    (r.*field.of_step).reset();
    const bool of_device = !named && r.names[field.means] == monitor::kOfOneDevice;
    const auto of_step = of_device ? &StepRecord::device_batch : field.of_step;
    if (of_device) r.names["device_batch"] = std::string(monitor::kOfOneDevice);
    const bool follows = state->last && *r.step > *state->last_step && value >= *state->last;
    if (follows) {
      const int64_t each = (value - *state->last) / (*r.step - *state->last_step);
      r.*of_step = each;
      if (before) {
        StepRecord& first = held_[static_cast<size_t>(*before)].record;
        first.*of_step = each;
        if (!named) {
          first.notes.push_back(
              absl::StrCat(first.names[field.means], " grows by some ", each,
                           " a step: it is read as a running total",
                           of_device ? " of one device, as Lightning has it" : ""));
        }
        before.reset();
      }
    } else if (!state->last) {
      before = static_cast<int64_t>(i);
    }
    state->last = value;
    state->last_step = r.step;
  }
}

std::vector<LoggedStep> RunningTotals::Release() {
  for (size_t i = 0; i < 2; ++i) {
    if (states_[i].kind == Kind::kTotal) Convert(monitor::kFields[i], &states_[i]);
  }
  return std::exchange(held_, {});
}

std::vector<LoggedStep> RunningTotals::Take(LoggedStep step) {
  held_.push_back(std::move(step));
  bool clear = true;
  for (size_t i = 0; i < 2; ++i) {
    if (states_[i].kind != Kind::kOpen) continue;
    const Kind kind = KindOf(monitor::kFields[i]);
    if (kind == Kind::kOpen) clear = false;
    if (kind == Kind::kOfStep || kind == Kind::kTotal) states_[i].kind = kind;
  }
  return clear || held_.size() >= monitor::kMostHeld ? Release() : std::vector<LoggedStep>();
}

std::vector<LoggedStep> RunningTotals::Finish() { return Release(); }

}  // namespace onnxflops
