// Fuzz target: whatever loads is counted or refused in one line, and every writer prints it as text
// that can hurt nobody.
//
// The first byte chooses what is asked for; the rest is the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/onnxflops.h"
#include "tests/fuzz/require.h"

namespace onnxflops {
namespace {

// A module costs what its children cost.
void RequireSums(const Report& report) {
  for (size_t i = 0; i < report.modules.size(); ++i) {
    const Module& parent = report.modules[i];
    if (parent.end == static_cast<int32_t>(i) + 1) continue;
    Expr flops = 0;
    for (auto child = static_cast<int32_t>(i) + 1; child < parent.end;
         child = report.modules[static_cast<size_t>(child)].end) {
      flops += report.modules[static_cast<size_t>(child)].amounts->flops;
    }
    Require(flops == parent.amounts->flops, "a module's flops are not the sum of its children's");
  }
  Require(report.modules[0].amounts->flops == report.totals.flops,
          "the modules do not add up to the total");
}

void RequireSafeText(const Report& report, const ViewOptions& view) {
  RequirePrintable(ToTable(report, view, {.width = 80}));
  RequirePrintable(ToMarkdown(report, view));
  RequirePrintable(ToCsv(absl::MakeConstSpan(&report, 1), view));
  RequireJson(ToJson(report));
}

void CountAndWrite(const Model& model, uint8_t choice) {
  CountOptions options;
  options.bodies = nullptr;  // which ask in a process of their own
  options.node_rows = (choice & 1) != 0;
  if ((choice & 2) != 0) options.bindings["batch"] = choice;
  const absl::StatusOr<Report> report = Count(model, options);
  if (!report.ok()) return RequireOneLine(report.status(), "fuzz.onnx: ");
  RequireSums(*report);
  ViewOptions view;
  view.by = static_cast<GroupBy>((choice >> 2) % 3);
  view.fold = (choice & 16) == 0;
  view.exact = (choice & 32) != 0;
  view.depth = (choice & 64) != 0 ? choice & 3 : -1;
  if (view.by != GroupBy::kNode || options.node_rows) RequireSafeText(*report, view);
  Bindings sizes;
  for (const SymbolOrigin& symbol : report->symbols) sizes[symbol.name] = 3;
  const absl::StatusOr<Totals> totals = report->At(sizes);
  if (!totals.ok()) RequireOneLine(totals.status(), "");
}

}  // namespace
}  // namespace onnxflops

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace onnxflops;  // NOLINT(google-build-using-namespace): two lines
  if (size == 0) return 0;
  const absl::string_view file(reinterpret_cast<const char*>(data) + 1, size - 1);
  const absl::StatusOr<Model> model = LoadFromBytes(file, "fuzz.onnx");
  if (model.ok()) {
    CountAndWrite(*model, data[0]);
  } else {
    RequireOneLine(model.status(), "fuzz.onnx: ");
  }
  return 0;
}
