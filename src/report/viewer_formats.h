// A report for programs that draw it. Names of a model are data in each of these.
//
// Each shows one quantity: what `--sort` names, else FLOPs, or MACs where the report has those. A
// formula is shown at the sizes of ReferenceSizes, which the text states.
#ifndef ONNXFLOPS_SRC_REPORT_VIEWER_FORMATS_H_
#define ONNXFLOPS_SRC_REPORT_VIEWER_FORMATS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "src/report/reference_sizes.h"
#include "src/report/report.h"
#include "src/report/view_options.h"

namespace onnxflops {

// Node data of Google's Model Explorer, in JSON: a value for each node, by the name of its first
// output, and a gradient of colours. Uncounted nodes have no value. REQUIRES: report.has_nodes.
std::string ToModelExplorer(const Report& report, const ViewOptions& options);
// The module tree as a trace in Chrome's JSON, which Perfetto opens: the length of a slice is the
// module's cost.
std::string ToPerfetto(const Report& report, const ViewOptions& options);
// The module tree as folded stacks, "model;visual;mlp 12": a module's cost without its children.
std::string ToFolded(const Report& report, const ViewOptions& options);

struct ViewerFormat {
  absl::string_view name;
  std::string (*write)(const Report& report, const ViewOptions& options);
  bool nodes = false;  // it needs Report::nodes
};
inline constexpr ViewerFormat kViewerFormats[] = {
    {"model-explorer", &ToModelExplorer, true},
    {"perfetto", &ToPerfetto},
    {"folded", &ToFolded},
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_VIEWER_FORMATS_H_
