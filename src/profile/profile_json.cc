// A joined profile as JSON: tools/schema/profile.v1.schema.json.
//
// How it works. First the summary (runs, peak, totals, counters, loops and branches, notes), then
// all groups, then the modules in which a kernel ran. Every place has the same figures: time,
// FLOPs, MACs, bytes and shares of the totals. A rate needs a time and is null without one; shares
// of the peak are there only if a peak is known. Nothing is rounded or cut, unlike in the table.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/profile/profile_report.h"
#include "src/profile/profile_rows.h"
#include "src/render/json_writer.h"
#include "src/report/json_parts.h"

namespace onnxflops {
namespace {

using report::JsonWriter;
using report::kOneLine;

void WriteSpread(const char* key, const TimeSpread& spread, JsonWriter* json) {
  json->Key(key).BeginObject(kOneLine);
  json->Key("median").Int(spread.median_ns);
  json->Key("least").Int(spread.least_ns);
  json->Key("most").Int(spread.most_ns);
  json->EndObject();
}

void WriteFigures(const ProfileReport& r, const ProfileWork& work, JsonWriter* json) {
  json->Key("kernels").Int(work.kernels);
  json->Key("time_ns").Int(work.ns);
  json->Key("time_share").Number(profile::TimeShare(r, work));
  json->Key("flops").Int(work.flops);
  json->Key("macs").Int(work.macs);
  json->Key("bytes").Int(work.bytes);
  json->Key("flops_share").Number(profile::FlopsShare(r, work));
  json->Key("lower_bound").Bool(work.lower_bound);
  const std::optional<double> rate = work.flops_per_second();
  json->Key("flops_per_second");
  if (rate) {
    json->Number(*rate);
  } else {
    json->Null();
  }
  if (r.peak == 0) return;
  json->Key("peak_share");
  if (rate) {
    json->Number(*rate / r.peak);
  } else {
    json->Null();
  }
}

void WriteWork(const ProfileReport& r, const ProfileWork& work, JsonWriter* json) {
  json->Key("work").BeginObject();
  WriteFigures(r, work, json);
  json->EndObject();
}

void WriteStrings(const char* key, const std::vector<std::string>& texts, JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const std::string& text : texts) json->String(text);
  json->EndArray();
}

void WriteGroup(const ProfileReport& r, const ProfileGroup& group, JsonWriter* json) {
  json->BeginObject();
  WriteStrings("names", group.kernels, json);
  WriteStrings("nodes", group.nodes, json);
  json->Key("op").String(group.op);
  json->Key("module").String(r.modules[static_cast<size_t>(group.module)].path);
  json->Key("calls").Int(group.calls);
  WriteSpread("spread_ns", group.time, json);
  WriteWork(r, group.work, json);
  json->EndObject();
}

void WriteModules(const ProfileReport& r, JsonWriter* json) {
  json->Key("modules").BeginArray();
  for (const ProfileModule& module : r.modules) {
    if (module.work.kernels == 0) continue;
    json->BeginObject();
    json->Key("path").String(module.path);
    json->Key("type").String(module.type);
    json->Key("depth").Int(module.depth);
    WriteWork(r, module.work, json);
    json->EndObject();
  }
  json->EndArray();
}

void WriteControl(const ProfileReport& r, JsonWriter* json) {
  json->Key("control").BeginArray();
  for (const ProfileControl& control : r.control) {
    json->BeginObject();
    json->Key("node").String(control.node);
    json->Key("op").String(control.op);
    WriteSpread("bodies", control.bodies, json);
    json->Key("counted").String(control.counted);
    json->Key("taken").String(control.taken);
    json->Key("taken_as_counted").String(control.taken_count);
    json->Key("differs").Bool(control.differs);
    json->EndObject();
  }
  json->EndArray();
}

void WritePeak(const ProfileReport& r, JsonWriter* json) {
  if (r.peak == 0) return;
  json->Key("peak").BeginObject();
  json->Key("flops_per_second").Number(r.peak);
  json->Key("source").String(r.peak_source);
  json->Key("device").String(r.device);
  json->Key("dtype").String(r.dtype);
  json->Key("bytes_per_second").Number(r.bytes_per_second);
  json->EndObject();
}

void WriteCounters(const ProfileReport& r, JsonWriter* json) {
  json->Key("estimate_flops").Int(r.counted_flops);
  if (r.calibrated) {
    json->Key("smart").BeginObject(kOneLine);
    json->Key("flops").Number(r.calibrated->flops);
    json->Key("ratio").Number(r.calibrated->ratio);
    json->Key("calibration").String(r.calibrated->path);
    json->EndObject();
  }
  if (!r.counters) return;
  const ProfileCounters& c = *r.counters;
  json->Key("measured").BeginObject();
  json->Key("flops").Int(c.measured);
  json->Key("executed_to_counted").Number(c.measured_to_counted);
  json->Key("file").String(c.path);
  json->Key("source").String(c.source);
  json->Key("runs").Int(c.runs);
  json->Key("joined").Int(c.joined);
  json->Key("kernels").BeginArray();
  for (const ProfileCounters::Kernel& kernel : c.kernels) {
    json->BeginObject(kOneLine);
    json->Key("name").String(kernel.name);
    json->Key("flops").Int(kernel.flops);
    json->Key("group");
    if (kernel.group >= 0) {
      json->Int(kernel.group);
      json->Key("counted").Int(r.groups[static_cast<size_t>(kernel.group)].work.flops);
    } else {
      json->Null();
    }
    json->EndObject();
  }
  json->EndArray();
  WriteStrings("reasons", c.reasons, json);
  json->EndObject();
  json->Key("hybrid").BeginObject(kOneLine);
  json->Key("flops").Int(c.hybrid_measured + c.hybrid_counted);
  json->Key("from_counters").Int(c.hybrid_measured);
  json->Key("from_count").Int(c.hybrid_counted);
  json->EndObject();
}

void WriteRuns(const ProfileReport& r, JsonWriter* json) {
  json->Key("runs").BeginObject();
  json->Key("all").Int(r.runs);
  json->Key("warmup").Int(r.warmup);
  json->Key("other_sizes").Int(r.other_sizes);
  json->Key("used").Int(r.used());
  json->Key("median_run").Int(r.median_run);
  if (r.wall) WriteSpread("wall_ns", *r.wall, json);
  WriteSpread("kernels_ns", r.kernels, json);
  json->Key("outside_ns");
  if (r.outside_ns) {
    json->Int(*r.outside_ns);
  } else {
    json->Null();
  }
  json->EndObject();
}

void WriteTotals(const ProfileReport& r, JsonWriter* json) {
  json->Key("totals").BeginObject();
  WriteWork(r, r.total, json);
  json->Key("counted_flops").Int(r.counted_flops);
  json->Key("counted_macs").Int(r.counted_macs);
  json->Key("nodes_without_kernel").Int(r.nodes_without_kernel);
  json->Key("flops_without_kernel").Int(r.flops_without_kernel);
  json->Key("macs_without_kernel").Int(r.macs_without_kernel);
  json->EndObject();
}

}  // namespace

namespace profile {

void WriteSummary(const ProfileReport& r, JsonWriter* json) {
  json->Key("model").String(r.model);
  json->Key("profile").String(r.profile);
  json->Key("source").String(SourceName(r.source));
  json->Key("optimized").String(r.optimized);
  report::WriteSizes("bindings", r.bindings, json);
  WriteRuns(r, json);
  WritePeak(r, json);
  WriteTotals(r, json);
  json->Key("modes").BeginObject();
  WriteCounters(r, json);
  json->EndObject();
  WriteControl(r, json);
  WriteStrings("notes", r.notes, json);
}

}  // namespace profile

std::string ToJson(const ProfileReport& r) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.profile/1");
  profile::WriteSummary(r, &json);
  json.Key("groups").BeginArray();
  for (const ProfileGroup& group : r.groups) WriteGroup(r, group, &json);
  json.EndArray();
  WriteModules(r, &json);
  json.EndObject();
  return json.TakeText();
}

}  // namespace onnxflops
