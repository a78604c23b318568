// The objects "roofline" and "bound" of "onnxflops.report/1".
#include <optional>

#include "src/cost/roofline.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/report/figure_columns.h"
#include "src/report/json_parts.h"

namespace onnxflops::report {
namespace {

double SecondsOf(const Expr& time) { return static_cast<double>(time.literal()) / kTimesPerSecond; }

// Null while a size is open, and of what nobody knows.
void WriteSeconds(const char* key, const Expr& time, bool lower_bound, JsonWriter* json) {
  json->Key(key);
  if (HasFigure(time, lower_bound) && time.is_literal()) {
    json->Number(SecondsOf(time));
  } else {
    json->Null();
  }
}

}  // namespace

void WriteBound(const Report& report, const Amounts& amounts, bool lower_bound, JsonWriter* json) {
  const Roofline& rates = report.roofline->rates;
  const Expr operations = OperationsOf(report, amounts);
  const Expr bytes = kBytesMoved.In(amounts);
  json->Key("bound").BeginObject(kOneLine);
  json->Key("intensity");
  // Uncounted work may add operations or bytes.
  if (!lower_bound && operations.is_literal() && bytes.is_literal() && bytes != Expr(0)) {
    json->Number(static_cast<double>(operations.literal()) / static_cast<double>(bytes.literal()));
  } else {
    json->Null();
  }
  WriteSeconds("seconds", amounts.time_bound, lower_bound, json);
  WriteSeconds("estimate_seconds", amounts.time_estimate, lower_bound, json);
  WriteSeconds("compute_seconds", rates.ComputeTime(operations), lower_bound, json);
  WriteSeconds("memory_seconds", rates.MemoryTime(bytes), lower_bound, json);
  json->Key("by");
  const std::optional<Bound> bound = BoundOf(rates, operations, bytes);
  if (bound && !lower_bound) {
    json->String(BoundName(*bound));
  } else {
    json->Null();
  }
  json->EndObject();
}

void WriteRoofline(const Report& report, JsonWriter* json) {
  const RooflineReport& roofline = *report.roofline;
  json->Key("roofline").BeginObject();
  json->Key("device").String(roofline.device);
  json->Key("dtype").String(PrecisionName(roofline.precision));
  json->Key("peak_flops_per_second").Number(static_cast<double>(roofline.peak.giga) * 1e9);
  json->Key("peak_source").String(roofline.peak.source);
  json->Key("bytes_per_second").Int(roofline.bytes_per_second);
  json->Key("memory_source").String(roofline.memory_source);
  json->Key("ridge_intensity").Number(roofline.ridge());
  WriteBound(report, report.totals, report.totals.lower_bound, json);
  json->Key("cache_bytes");
  if (roofline.cache_bytes) {
    json->Int(*roofline.cache_bytes);
    json->Key("cache_source").String(roofline.cache_source);
  } else {
    json->Null();
  }
  json->Key("compulsory_bytes");
  if (roofline.compulsory_bytes) {
    json->Quantity(*roofline.compulsory_bytes);
    WriteSeconds("fused_estimate_seconds", *roofline.fused_time_estimate, report.totals.lower_bound,
                 json);
  } else {
    json->Null();
    json->Key("fused_estimate_seconds").Null();
  }
  json->EndObject();
}

}  // namespace onnxflops::report
