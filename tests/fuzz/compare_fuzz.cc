// Fuzz target: whatever loads is compared with every other tool, or a tool gives no figure and says
// why; parts add up to the whole; every writer prints it as text that can hurt nobody.
//
// The first byte chooses what is asked for; the rest is the file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/convention/conventions.h"
#include "src/onnxflops.h"
#include "src/report/explain.h"
#include "tests/fuzz/require.h"

namespace onnxflops {
namespace {

// Ours plus the differences is the tool's figure.
void RequireSums(const CompareReport& report) {
  for (const ToolRow& tool : report.tools) {
    if (tool.standing == Standing::kNotApplicable) {
      Require(!tool.assumptions.empty(), "a tool gives no figure and does not say why");
      continue;
    }
    Expr sum = tool.start;
    for (const TermRow& term : tool.terms) sum += term.amount;
    Require(sum == tool.headline, "a tool's terms do not add up to its figure");
  }
}

void Compare(const Model& model, const CountOptions& options, uint8_t choice) {
  CompareRequest request;
  request.by_module = (choice & 1) != 0;
  request.node_names = (choice & 2) != 0;
  if ((choice & 4) != 0) request.from = Conventions()[choice % Conventions().size()]->name;
  const absl::StatusOr<CompareReport> report = CompareTools(model, options, request);
  if (!report.ok()) return RequireOneLine(report.status(), "");
  RequireSums(*report);
  const bool waterfalls = (choice & 8) != 0;
  RequirePrintable(ToTable(*report, waterfalls, {.width = 80}));
  RequirePrintable(ToMarkdown(*report, waterfalls));
  RequireJson(ToJson(*report));
}

// count --convention NAME.
void CountOne(const Model& model, const CountOptions& options, uint8_t choice) {
  const Convention& convention = *Conventions()[choice % Conventions().size()];
  const absl::StatusOr<Report> report = CountAs(model, options, convention.name);
  if (!report.ok()) return RequireOneLine(report.status(), "");
  RequirePrintable(ToTable(*report, {}, {.width = 80}));
  RequireJson(ToJson(*report));
}

void ExplainOne(const Model& model, const CountOptions& options, uint8_t choice) {
  if (model->nodes.empty()) return;
  const Node& node = model->nodes[choice % model->nodes.size()];
  const absl::StatusOr<Explanation> e = Explain(model, options, node.name);
  if (!e.ok()) return RequireOneLine(e.status(), "");
  RequirePrintable(ToText(*e, {.width = 80}));
}

void Run(const Model& model, uint8_t choice) {
  CountOptions options;
  if ((choice & 16) != 0) options.bindings["batch"] = 2;
  switch (choice >> 5) {
    case 0:
    case 1:
      return CountOne(model, options, choice);
    case 2:
      return ExplainOne(model, options, choice);
    default:
      return Compare(model, options, choice);
  }
}

}  // namespace
}  // namespace onnxflops

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace onnxflops;  // NOLINT(google-build-using-namespace): two lines
  if (size == 0) return 0;
  const absl::string_view file(reinterpret_cast<const char*>(data) + 1, size - 1);
  const absl::StatusOr<Model> model = LoadFromBytes(file, "fuzz.onnx");
  if (model.ok()) Run(*model, data[0]);
  return 0;
}
