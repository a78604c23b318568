// Fuzz target: whatever a configuration of a model family says, it is refused in one line, or its
// graph is counted without a part that is unknown, and its warnings can be printed.
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/family/family.h"
#include "src/onnxflops.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace onnxflops;  // NOLINT(google-build-using-namespace): a few lines
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<Model> model = LoadConfig(text, "fuzz.json");
  if (!model.ok()) {
    RequireOneLine(model.status(), "fuzz.json: ");
    return 0;
  }
  for (const std::string& warning : (*model)->warnings) RequirePrintable(warning);
  constexpr size_t kMostNodes = 3000;  // what is larger takes long
  if ((*model)->nodes.size() > kMostNodes) return 0;
  const absl::StatusOr<Report> report = Count(*model);
  if (!report.ok()) {
    RequireOneLine(report.status(), "fuzz.json: ");
    return 0;
  }
  Require(report->coverage.unknown == 0, "a node of a configuration's graph is not counted");
  RequirePrintable(ToTable(*report, {}));
  RequireJson(ToJson(*report));
  return 0;
}
