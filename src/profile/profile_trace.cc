// A joined profile for programs that draw traces: Perfetto and speedscope.
//
// How it works. Perfetto gets one event per kernel with its time, its FLOPs per call and its rate
// as arguments. Speedscope gets samples: each is a stack of the modules around a kernel, from the
// outermost inwards, with the kernel on top and its nanoseconds as weight. So a flame graph shows
// modules, although the runtime knows only kernels. Time outside of kernels and of kernels that
// match no node is a frame of its own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/profile/profile_report.h"
#include "src/render/json_writer.h"

namespace onnxflops {
namespace {

using report::JsonWriter;
using report::kOneLine;

constexpr double kNsPerUs = 1000;

// FLOPs of one execution: those of a run divided by the calls.
absl::int128 FlopsOfCall(const ProfileGroup& group) {
  return group.calls > 1 ? group.work.flops / group.calls : group.work.flops;
}

void WriteTraceEvent(const ProfileReport& r, const TraceEvent& event, JsonWriter* json) {
  const int32_t id = r.group_of_event[static_cast<size_t>(event.kernel)];
  if (id < 0) return;
  const ProfileGroup& group = r.groups[static_cast<size_t>(id)];
  json->BeginObject(kOneLine);
  json->Key("name").String(Escaped(group.kernels[0]));
  json->Key("cat").String("Node");
  json->Key("ph").String("X");
  json->Key("ts").Number(static_cast<double>(event.start_ns) / kNsPerUs);
  json->Key("dur").Number(static_cast<double>(event.ns) / kNsPerUs);
  json->Key("pid").Int(1);
  json->Key("tid").Int(event.thread);
  json->Key("args").BeginObject();
  json->Key("op").String(group.op);
  json->Key("run").Int(event.run);
  if (group.joined()) {
    json->Key("flops").Int(FlopsOfCall(group));
    json->Key("module").String(r.modules[static_cast<size_t>(group.module)].path);
    if (event.ns > 0 && group.work.flops > 0) {
      constexpr double kGigaPerSecond = 1;  // a FLOP per nanosecond
      json->Key("gflops_per_second")
          .Number(kGigaPerSecond * static_cast<double>(FlopsOfCall(group)) /
                  static_cast<double>(event.ns));
    }
  }
  json->EndObject();
  json->EndObject();
}

// Frames of a flame graph: a module is above its parents.
class Flames {
 public:
  explicit Flames(const ProfileReport& report) : r_(report) {
    for (size_t i = 0; i < r_.modules.size(); ++i) {
      const ProfileModule& module = r_.modules[i];
      names_.push_back(i == 0 ? r_.model : module.path);
    }
    for (const ProfileGroup& group : r_.groups) {
      if (!group.joined()) continue;
      names_.push_back(group.kernels[0]);
      Add(group.module, static_cast<int32_t>(names_.size()) - 1, group.work.ns);
    }
    ProfileWork missing;
    for (const ProfileGroup& group : r_.groups) {
      if (!group.joined()) missing.Add(group.work);
    }
    AddOther("(did not join)", missing.ns);
    AddOther("(outside kernels)", r_.outside_ns.value_or(0));
  }

  void Write(JsonWriter* json) const {
    json->Key("shared").BeginObject();
    json->Key("frames").BeginArray();
    for (const std::string& name : names_) {
      json->BeginObject(kOneLine);
      json->Key("name").String(Escaped(name));
      json->EndObject();
    }
    json->EndArray();
    json->EndObject();
    json->Key("profiles").BeginArray();
    json->BeginObject();
    json->Key("type").String("sampled");
    json->Key("name").String(Escaped(r_.model));
    json->Key("unit").String("nanoseconds");
    json->Key("startValue").Int(0);
    json->Key("endValue").Int(sum_);
    json->Key("samples").BeginArray();
    for (const std::vector<int32_t>& stack : stacks_) {
      json->BeginArray(kOneLine);
      for (const int32_t frame : stack) json->Int(frame);
      json->EndArray();
    }
    json->EndArray();
    json->Key("weights").BeginArray(kOneLine);
    for (const int64_t weight : weights_) json->Int(weight);
    json->EndArray();
    json->EndObject();
    json->EndArray();
  }

 private:
  void Add(int32_t module, int32_t frame, int64_t ns) {
    std::vector<int32_t> stack = {frame};
    for (; module >= 0; module = r_.modules[static_cast<size_t>(module)].parent) {
      stack.push_back(module);
    }
    std::reverse(stack.begin(), stack.end());
    stacks_.push_back(stack);
    weights_.push_back(ns);
    sum_ += ns;
  }
  void AddOther(const char* name, int64_t ns) {
    if (ns == 0) return;
    names_.emplace_back(name);
    Add(0, static_cast<int32_t>(names_.size()) - 1, ns);
  }

  const ProfileReport& r_;
  std::vector<std::string> names_;
  std::vector<std::vector<int32_t>> stacks_;
  std::vector<int64_t> weights_;
  absl::int128 sum_ = 0;
};

}  // namespace

std::string ToPerfetto(const ProfileReport& r) {
  JsonWriter json;
  json.BeginObject();
  json.Key("displayTimeUnit").String("ns");
  json.Key("traceEvents").BeginArray();
  for (const TraceEvent& event : r.events) WriteTraceEvent(r, event, &json);
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

std::string ToSpeedscope(const ProfileReport& r) {
  JsonWriter json;
  json.BeginObject();
  json.Key("$schema").String("https://www.speedscope.app/file-format-schema.json");
  json.Key("exporter").String("onnxflops");
  json.Key("name").String(Escaped(r.model));
  Flames(r).Write(&json);
  json.EndObject();
  return json.TakeText();
}

}  // namespace onnxflops
