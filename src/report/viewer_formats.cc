// How it works. Three forms of the same report for other programs. Model Explorer gets one value
// per node, attached to its first output, summed over all executions. Perfetto draws time: costs
// become durations, children are laid out one after another inside their module, and all but times
// is scaled by a power of ten, since a trace has too few digits for FLOPs. Folded stacks have a
// line per module with the cost that is the module's own, that is without its children's, as flame
// graphs add up children themselves; ";" separates frames there, so in names it is replaced.
#include "src/report/viewer_formats.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/report/figure_columns.h"
#include "src/report/reference_sizes.h"
#include "src/symbolic/expr.h"

namespace onnxflops {
namespace {

using report::CostQuantity;
using report::JsonWriter;
using report::ReferenceValues;

constexpr size_t kMaxNamedSizes = 8;
// The longest trace in microseconds; viewers show thousandths of one.
constexpr int64_t kMaxTraceTime = 1'000'000'000'000;
constexpr int64_t kTimesPerNanosecond = 1'000'000'000'000;  // 10^21 a second

// "FLOPs of clip.onnx at batch = 1".
std::string TitleOf(const Report& report, const Quantity& quantity, const ReferenceValues& values) {
  const absl::string_view path = report.model.path;
  std::string title = absl::StrCat(quantity.title, " of ", path.substr(path.rfind('/') + 1),
                                   report.totals.lower_bound ? " (a part is not counted)" : "");
  size_t named = 0;
  for (const auto& [symbol, size] : values.sizes()) {
    if (named == kMaxNamedSizes) {
      absl::StrAppend(&title, ", ", values.sizes().size() - named, " more sizes");
      break;
    }
    absl::StrAppend(&title, named == 0 ? " at " : ", ", symbol, " = ", size);
    ++named;
  }
  return Escaped(title);
}

// Names and costs of the modules of a report, as shown.
class ModuleCosts {
 public:
  ModuleCosts(const Report& report, const ViewOptions& options)
      : quantity_(CostQuantity(report, options)),
        values_(report),
        title_(TitleOf(report, quantity_, values_)) {}

  const Quantity& quantity() const { return quantity_; }
  const std::string& title() const { return title_; }
  // With all that is in it; nullopt if its formula has no value.
  std::optional<absl::int128> Of(const Module& module) const {
    return values_.Of((*module.amounts).*quantity_.value);
  }
  std::string NameOf(const Module& module) const {
    return module.depth == 0 ? title_ : Escaped(module.name());
  }

 private:
  const Quantity& quantity_;
  const ReferenceValues values_;
  const std::string title_;
};

}  // namespace

std::string ToModelExplorer(const Report& report, const ViewOptions& options) {
  const Quantity& quantity = CostQuantity(report, options);
  const ReferenceValues values(report);
  absl::flat_hash_map<absl::string_view, std::optional<absl::int128>> results;
  std::vector<absl::string_view> order;
  for (const NodeRow& row : report.nodes) {
    if (row.outputs.empty() || row.status == Coverage::kUnknown) continue;
    const std::optional<absl::int128> value = values.Of(report.In(quantity, row));
    const auto [known, is_new] = results.try_emplace(row.outputs[0].name, value);
    if (is_new) {
      order.push_back(row.outputs[0].name);
    } else if (known->second) {
      known->second = value ? std::optional(*known->second + *value) : std::nullopt;
    }
  }
  JsonWriter json;
  json.BeginObject();
  json.Key("name").String(TitleOf(report, quantity, values));
  json.Key("results").BeginObject();
  for (const absl::string_view name : order) {
    if (!results[name]) continue;
    json.Key(name).BeginObject(JsonWriter::Layout::kOneLine);
    json.Key("value").Exact(quantity, *results[name]);
    json.EndObject();
  }
  json.EndObject();
  json.Key("gradient").BeginArray();
  for (const auto& [stop, color] :
       {std::pair(0.0, "#ffffff"), {0.5, "#fdbb84"}, {1.0, "#d7301f"}}) {
    json.BeginObject(JsonWriter::Layout::kOneLine);
    json.Key("stop").Number(stop);
    json.Key("bgColor").String(color);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

namespace {

// Amounts as microseconds of a trace. Those of times are real, with thousandths. Ends are rounded
// and not lengths, so that a slice stays inside of its parent.
class TraceTimes {
 public:
  TraceTimes(const Quantity& quantity, absl::int128 total)
      : quantity_(quantity), is_time_(quantity.unit == Quantity::Unit::kSeconds) {
    if (is_time_) scale_ = kTimesPerNanosecond;
    while (!is_time_ && total / scale_ > kMaxTraceTime) scale_ *= 10;
  }

  std::string MicrosecondText() const {
    if (is_time_) return absl::StrCat(ExactText(quantity_, scale_ * kPerMicrosecond), " s");
    return absl::StrCat(Int128ToString(scale_), " ", quantity_.title);
  }
  void WriteSlice(absl::int128 begin, absl::int128 end, JsonWriter* json) const {
    const auto write = [&](const char* key, absl::int128 ticks) {
      json->Key(key);
      if (is_time_) {
        json->Number(static_cast<double>(ticks) / kPerMicrosecond);
      } else {
        json->Int(ticks);
      }
    };
    write("ts", begin / scale_);
    write("dur", end / scale_ - begin / scale_);
  }

 private:
  static constexpr int kPerMicrosecond = 1000;  // nanoseconds
  const Quantity& quantity_;
  const bool is_time_;
  absl::int128 scale_ = 1;  // the amount of a tick: a nanosecond, else a microsecond of the trace
};

}  // namespace

std::string ToPerfetto(const Report& report, const ViewOptions& options) {
  const ModuleCosts costs(report, options);
  const TraceTimes times(costs.quantity(), costs.Of(report.modules[0]).value_or(0));
  JsonWriter json;
  json.BeginObject();
  json.Key("displayTimeUnit").String("ns");
  json.Key("otherData").BeginObject();
  json.Key("title").String(costs.title());
  json.Key("a_microsecond_is").String(times.MicrosecondText());
  json.EndObject();
  json.Key("traceEvents").BeginArray();
  // By module: where its next child begins.
  std::vector<absl::int128> next(report.modules.size());
  for (size_t i = 0; i < report.modules.size(); ++i) {
    const Module& module = report.modules[i];
    const std::optional<absl::int128> cost = costs.Of(module);
    absl::int128* const from =
        module.parent < 0 ? nullptr : &next[static_cast<size_t>(module.parent)];
    const absl::int128 begin = from == nullptr ? 0 : *from;
    next[i] = begin;
    if (!cost) continue;
    if (from != nullptr) *from += *cost;
    json.BeginObject(JsonWriter::Layout::kOneLine);
    json.Key("name").String(costs.NameOf(module));
    json.Key("ph").String("X");
    times.WriteSlice(begin, begin + *cost, &json);
    json.Key("pid").Int(1);
    json.Key("tid").Int(1);
    json.Key("args").BeginObject();
    json.Key("path").String(module.path);
    if (!module.type.empty()) json.Key("type").String(module.type);
    if (report::HasFigure(*cost, module.lower_bound)) {
      json.Key(costs.quantity().key).Exact(costs.quantity(), *cost);
    }
    json.EndObject();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

std::string ToFolded(const Report& report, const ViewOptions& options) {
  const ModuleCosts costs(report, options);
  // A module's own cost is its cost minus that of its children.
  std::vector<std::optional<absl::int128>> own(report.modules.size());
  for (size_t i = report.modules.size(); i-- > 0;) {
    const std::optional<absl::int128> cost = costs.Of(report.modules[i]);
    own[i] = cost ? std::optional(own[i].value_or(0) + *cost) : std::nullopt;
    const int32_t parent = report.modules[i].parent;
    if (parent < 0 || !cost) continue;
    std::optional<absl::int128>& above = own[static_cast<size_t>(parent)];
    above = above.value_or(0) - *cost;
  }
  // Flame graphs take whole numbers.
  const bool is_time = costs.quantity().unit == Quantity::Unit::kSeconds;
  const absl::int128 unit = is_time ? kTimesPerNanosecond : 1;
  std::string out;
  std::vector<std::string> stack;
  for (size_t i = 0; i < report.modules.size(); ++i) {
    const Module& module = report.modules[i];
    std::string frame = costs.NameOf(module);
    std::replace(frame.begin(), frame.end(), ';', ',');  // the separator of frames
    stack.resize(static_cast<size_t>(module.depth));
    stack.push_back(stack.empty() ? std::move(frame) : absl::StrCat(stack.back(), ";", frame));
    const absl::int128 cost = own[i].value_or(0) / unit;
    if (cost <= 0) continue;
    absl::StrAppend(&out, stack.back(), " ", Int128ToString(cost), "\n");
  }
  return out;
}

}  // namespace onnxflops
