// Fuzz target: whatever loads is compared with every other tool, or a tool gives no figure and says
// why; parts add up to the whole; every writer prints it as text that can hurt nobody.
//
// The first byte chooses what is asked for; the rest is the file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/convention/conventions.h"
#include "src/explain/explain.h"
#include "src/onnxflops.h"
#include "tests/fuzz/require.h"

namespace onnxflops {
namespace {

using convention::Convention;
using convention::Conventions;

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

// What is asked: by the first byte, and by the file's size what one byte has no room for.
struct Choice {
  uint8_t byte = 0;
  size_t size = 0;

  // Every version of a tool, too.
  const Convention& convention() const {
    const Convention& tool = *Conventions()[byte % 32 % Conventions().size()];
    const size_t version = size / 32 % (tool.versions.size() + 1);
    return version == 0 ? tool : *tool.versions[version - 1];
  }
  int mode() const { return byte / 32; }
  bool by_module() const { return size % 2 != 0; }
  bool node_names() const { return size / 2 % 2 != 0; }
  bool waterfalls() const { return size / 4 % 2 != 0; }
  bool bound() const { return size / 8 % 4 == 0; }
};

void Compare(const Model& model, const CountOptions& options, const CompareRequest& request,
             bool waterfalls) {
  const absl::StatusOr<CompareReport> report = CompareTools(model, options, request);
  if (!report.ok()) return RequireOneLine(report.status(), "");
  RequireSums(*report);
  const Document document = ToDocument(*report, waterfalls);
  for (const DocumentFormat& format : DocumentFormats()) {
    RequirePrintable(format.draw(document, {.width = 80}));
  }
  RequireJson(ToJson(*report));
  RequirePage(ToHtml(*report));
}

// count --convention NAME.
void CountOne(const Model& model, CountOptions options, const Convention& convention) {
  options.node_rows = model->functions.empty();
  const absl::StatusOr<Report> report = CountAs(model, options, convention.name);
  if (!report.ok()) return RequireOneLine(report.status(), "");
  for (GroupBy by : {GroupBy::kModule, GroupBy::kOp, GroupBy::kNode}) {
    RequirePrintable(ToTable(*report, {.by = by}, {.width = 80}));
    RequirePrintable(ToCsv(absl::MakeConstSpan(&*report, 1), {.by = by}));
  }
  RequireJson(ToJson(*report));
}

void ExplainOne(const Model& model, const CountOptions& options, uint8_t which) {
  if (model->nodes.empty()) return;
  const Node& node = model->nodes[which % model->nodes.size()];
  const absl::StatusOr<Explanation> e = Explain(model, options, node.name);
  if (!e.ok()) return RequireOneLine(e.status(), "");
  RequirePrintable(ToText(*e, {.width = 80}));
}

// The path of a module, so that its figures are asked for; "" where nothing can be counted.
std::string PathOfModule(const Model& model, const CountOptions& options, size_t which) {
  const absl::StatusOr<Report> report = Count(model, options);
  if (!report.ok()) return "";
  return report->modules[which % report->modules.size()].path;
}

void Run(const Model& model, const Choice& choice) {
  CountOptions options;
  options.bodies = nullptr;  // which ask in a process of their own
  if (choice.bound()) options.bindings["batch"] = 2;
  CompareRequest request;
  request.by_module = choice.by_module();
  request.node_names = choice.node_names();
  switch (choice.mode()) {
    case 0:  // every tool
      return Compare(model, options, request, choice.waterfalls());
    case 1:
      return ExplainOne(model, options, choice.byte);
    case 2:
      return CountOne(model, options, choice.convention());
    case 3:  // from one tool's figure to another's
      request.from = Conventions()[choice.size % Conventions().size()]->name;
      break;
    case 4:  // what every tool counts for a part
      options.module = PathOfModule(model, options, choice.byte + choice.size);
      return Compare(model, options, request, choice.waterfalls());
    default:
      break;
  }
  request.with = {choice.convention().name};
  Compare(model, options, request, choice.waterfalls());
}

}  // namespace
}  // namespace onnxflops

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace onnxflops;  // NOLINT(google-build-using-namespace): two lines
  if (size == 0) return 0;
  const absl::string_view file(reinterpret_cast<const char*>(data) + 1, size - 1);
  const absl::StatusOr<Model> model = LoadFromBytes(file, "fuzz.onnx");
  if (model.ok()) Run(*model, {data[0], size});
  return 0;
}
