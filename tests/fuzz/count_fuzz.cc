// Fuzz target: whatever loads is counted or refused in one line, and every writer prints it as text
// that can hurt nobody.
//
// The first byte chooses what is asked for; the rest is the file.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "src/annotate/annotated_copy.h"
#include "src/annotate/node_notes.h"
#include "src/api/analysis.h"
#include "src/onnxflops.h"
#include "src/report/viewer_formats.h"
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
  const Document document = ToDocument(report, view);
  for (const DocumentFormat& format : DocumentFormats()) {
    RequirePrintable(format.draw(document, {.width = 80}));
  }
  RequirePrintable(ToCsv(absl::MakeConstSpan(&report, 1), view));
  RequireJson(ToJson(report));
  RequireJson(ToModelExplorer(report, view));
  RequireJson(ToPerfetto(report, view));
  RequirePrintable(ToFolded(report, view));
  RequirePage(ToHtml(report, view));
}

// A copy with notes is the same model.
void RequireGoodCopy(const Model& model, absl::string_view file, const Report& report) {
  CountOptions options;
  options.bodies = nullptr;
  const absl::StatusOr<Analysis> analysis = Analyze(model, options, CausalCounting::kFull);
  if (!analysis.ok()) return;
  const absl::StatusOr<annotate::NodeNotes> notes =
      annotate::MakeNodeNotes(analysis->inference, analysis->counts);
  if (!notes.ok()) return RequireOneLine(notes.status(), "fuzz.onnx: ");
  const int fd = memfd_create("copy", MFD_CLOEXEC);
  if (fd < 0 || write(fd, file.data(), file.size()) != static_cast<ssize_t>(file.size())) return;
  const absl::Cleanup close_file = [fd] { close(fd); };
  const absl::StatusOr<annotate::AnnotatedCopy> copy =
      annotate::AnnotatedCopy::Plan(fd, *model, *notes);
  if (!copy.ok()) return RequireOneLine(copy.status(), "");
  std::string bytes;
  Require(copy->Write([&](absl::string_view piece) {
                bytes.append(piece.data(), piece.size());
                return absl::OkStatus();
              })
              .ok(),
          "a copy is not written");
  const absl::StatusOr<Model> again = LoadFromBytes(bytes, "fuzz.onnx");
  Require(again.ok() && (*again)->nodes.size() == model->nodes.size(), "a copy does not load");
  const absl::StatusOr<Report> recount = Count(*again, options);
  Require(recount.ok() && recount->totals.flops == report.totals.flops, "a copy counts otherwise");
}

void CountAndWrite(const Model& model, absl::string_view file, uint8_t choice) {
  CountOptions options;
  options.bodies = nullptr;  // which ask in a process of their own
  options.node_rows = (choice & 1) != 0;
  if ((choice & 2) != 0) options.bindings["batch"] = choice;
  if (choice % 13 == 7) {
    options.batch = BatchSize{(choice & 64) != 0 ? Expr::Symbol("samples", 1) : Expr(3)};
    if ((choice & 32) != 0) options.batch->axes["x"] = 1;
  }
  if (choice % 17 == 3) options.image_size = ImageSize{48, (choice & 32) != 0 ? 48 : 64};
  if (choice % 11 == 5) {
    options.lora = {.r = 2, .targets = {(choice & 4) != 0 ? kAllLinear : "*"}};
    if ((choice & 1) != 0) options.lora->base = LoraBase::kNf4;
    options.lora->dora = (choice & 8) != 0;
  }
  const absl::StatusOr<Report> report = Count(model, options);
  if (!report.ok()) return RequireOneLine(report.status(), "fuzz.onnx: ");
  RequireSums(*report);
  const bool is_file =
      options.bindings.empty() && !options.lora && !options.batch && !options.image_size;
  if ((choice & 128) != 0 && is_file) RequireGoodCopy(model, file, *report);
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
    CountAndWrite(*model, file, data[0]);
  } else {
    RequireOneLine(model.status(), "fuzz.onnx: ");
  }
  return 0;
}
