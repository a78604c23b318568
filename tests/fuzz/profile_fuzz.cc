// Fuzz target: whatever a profile says, it is refused in one line, or joined with models, and every
// writer ends.
//
// A byte of choices, then the profile. The same text is read as counters.
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/api/profile.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/require_text.h"
#include "tests/model_maker.h"

namespace onnxflops {
namespace {

// Nodes called as those of the profiles in the corpus, one in a body and one without a name.
const Model& Subject() {
  static const Model& model = *new Model([] {
    ModelMaker make;
    make.Input("x", {"batch", "8"}).Weight("a.weight", {8, 16}).Weight("b.weight", {16, 4});
    make.Node("a", "MatMul", {"x", "a.weight"}, {"h"});
    make.Node("", "Relu", {"h"}, {"r"});
    make.Node("b", "MatMul", {"r", "b.weight"}, {"y"}).Output("y");
    return LoadFromBytes(make.proto.SerializeAsString()).value();
  }());
  return model;
}

void Write(const ProfileReport& report, uint8_t choice) {
  ProfileView view;
  view.by = choice % 3 == 0 ? GroupBy::kModule : choice % 3 == 1 ? GroupBy::kOp : GroupBy::kNode;
  view.depth = choice / 3 % 4 - 1;
  view.top = choice / 16;
  RequireDocument(ToDocument(report, view), {.width = choice});
  RequireCsv(ToCsv(report, view));
  RequireJson(ToJson(report));
  RequirePage(ToHtml(report));
  RequireJson(ToPerfetto(report));
  RequireJson(ToSpeedscope(report));
}

void RequireSum(const ProfileReport& report) {
  ProfileWork sum;
  for (const ProfileGroup& group : report.groups) sum.Add(group.work);
  Require(sum.ns == report.total.ns && sum.flops == report.total.flops,
          "kernels do not sum to the whole");
}

}  // namespace
}  // namespace onnxflops

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace onnxflops;  // NOLINT(google-build-using-namespace): two lines
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const absl::StatusOr<Counters> counters = ReadCountersText(text, "fuzz.csv");
  if (counters.ok()) {
    ProfileReport report;
    AddCounters(*counters, 1 + data[0], &report);
    report.modules.emplace_back();
    Write(report, data[0]);
  } else {
    RequireOneLine(counters.status(), "fuzz.csv:");
  }
  absl::StatusOr<Profile> profile = ReadProfileText(text, "fuzz.json", {.events = true});
  if (!profile.ok()) {
    RequireOneLine(profile.status(), "fuzz.json:");
    return 0;
  }
  if (const absl::Status layers = AddLayerInfo(text, "fuzz.json", &*profile); !layers.ok()) {
    RequireOneLine(layers, "fuzz.json:");
  }
  ProfileOptions options;
  options.count.bodies = nullptr;
  options.warmup = data[0] % 2;
  if (data[0] % 5 == 0) options.peak = 1e9;
  if (data[0] % 2 == 0) options.optimized = Subject();
  const absl::StatusOr<ProfileReport> report = JoinProfile(Subject(), *profile, options);
  if (!report.ok()) {
    RequireOneLine(report.status(), "");
    return 0;
  }
  RequireSum(*report);
  Write(*report, data[0]);
  return 0;
}
