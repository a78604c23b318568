#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "fmt/format.h"
#include "src/base/utf8.h"
#include "src/monitor/monitor.h"
#include "src/render/json_writer.h"

namespace onnxflops {
namespace monitor {
namespace {

// A value of a label: between quotes, and valid UTF-8.
std::string LabelText(absl::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = PrintableSequence(text);
    absl::StrAppend(&out, length > 0 ? text.substr(0, length) : "?");
    text.remove_prefix(length > 0 ? length : 1);
  }
  return absl::StrReplaceAll(out, {{"\\", "\\\\"}, {"\"", "\\\""}});
}

}  // namespace
}  // namespace monitor

std::vector<std::pair<absl::string_view, double>> Figures(const MonitorPoint& point) {
  constexpr double kPercent = 100;
  std::vector<std::pair<absl::string_view, double>> figures;
  const auto add = [&](absl::string_view name, const std::optional<double>& value) {
    if (value) figures.emplace_back(name, *value);
  };
  add("perf/mfu", point.mfu);
  if (point.mfu) add("perf/mfu_percent", *point.mfu * kPercent);
  if (point.mfu_age) add("perf/mfu_age_steps", static_cast<double>(*point.mfu_age));
  add("perf/step_time", point.step_time);
  add("perf/steps_per_second", point.steps_per_second);
  add("perf/tokens_per_second", point.tokens_per_second);
  add("perf/tokens_per_second_text", point.text_tokens_per_second);
  add("perf/tokens_per_second_image", point.image_tokens_per_second);
  add("perf/frames_per_second_audio", point.audio_frames_per_second);
  add("perf/seconds_per_second_audio", point.audio_seconds_per_second);
  add("perf/padding", point.padding);
  add("perf/padding_audio", point.audio_padding);
  add("perf/samples_per_second", point.samples_per_second);
  add("perf/flops_per_second", point.flops_per_second);
  return figures;
}

std::string ToJsonLine(const MonitorPoint& point) {
  report::JsonWriter json;
  json.BeginObject(report::kOneLine);
  json.Key("schema").String("onnxflops.monitor/1");
  json.Key("step").Int(point.step);
  for (const auto& [name, value] : Figures(point)) {
    if (name == "perf/mfu_age_steps") {
      json.Key(name).Int(*point.mfu_age);
    } else {
      json.Key(name).Number(value);
    }
  }
  if (point.lower_bound) json.Key("perf/mfu_is_lower_bound").Bool(true);
  if (!point.reasons.empty()) {
    json.Key("perf/mfu_reasons").BeginArray(report::kOneLine);
    for (const std::string& reason : point.reasons) json.String(reason);
    json.EndArray();
  }
  json.EndObject();
  return json.TakeText();
}

std::string ToPrometheus(const MonitorPoint& point, const MonitorTotals& totals,
                         absl::string_view model) {
  const std::string label = absl::StrCat("{model=\"", monitor::LabelText(model), "\"} ");
  std::string out;
  const auto add = [&](const char* name, const char* type, const char* help,
                       const std::string& value) {
    absl::StrAppend(&out, "# HELP onnxflops_", name, " ", help, "\n# TYPE onnxflops_", name, " ",
                    type, "\nonnxflops_", name, label, value, "\n");
  };
  add("model_flops_total", "counter", "FLOPs of the model in all steps, forward and backward.",
      Int128ToString(totals.flops));
  add("steps_total", "counter", "Steps that were measured.", absl::StrCat(totals.steps));
  add("step_seconds_total", "counter", "Seconds of these steps.",
      fmt::format("{:.17g}", totals.seconds));
  add("tokens_total", "counter", "Tokens of these steps.", Int128ToString(totals.tokens));
  add("samples_total", "counter", "Samples of these steps.", Int128ToString(totals.samples));
  add("step", "gauge", "The last step.", absl::StrCat(point.step));
  const auto gauge = [&](const char* name, const char* help, const std::optional<double>& value) {
    if (value) add(name, "gauge", help, fmt::format("{:.17g}", *value));
  };
  gauge("mfu_ratio", "Model FLOPs utilisation, as a part of 1.", point.mfu);
  if (point.mfu_age) gauge("mfu_age_steps", "Steps since it was measured.", *point.mfu_age);
  gauge("step_seconds", "Seconds of a step.", point.step_time);
  gauge("steps_per_second", "Steps in a second.", point.steps_per_second);
  gauge("tokens_per_second", "Tokens in a second, of all devices.", point.tokens_per_second);
  gauge("tokens_per_second_text", "Of these, tokens of text.", point.text_tokens_per_second);
  gauge("tokens_per_second_image", "Of these, tokens of images.", point.image_tokens_per_second);
  gauge("frames_per_second_audio", "Frames of audio in a second.", point.audio_frames_per_second);
  gauge("seconds_per_second_audio", "Seconds of audio in a second.",
        point.audio_seconds_per_second);
  gauge("padding_ratio", "The part of the tokens that is padding, as a part of 1.", point.padding);
  gauge("padding_audio_ratio", "The part of the frames of audio that is padding, as a part of 1.",
        point.audio_padding);
  gauge("samples_per_second", "Samples in a second, of all devices.", point.samples_per_second);
  gauge("flops_per_second", "FLOP/s of the model on all devices.", point.flops_per_second);
  return out;
}

}  // namespace onnxflops
