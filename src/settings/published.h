// Published figures, as listed in a CSV file.
#ifndef ONNXFLOPS_SRC_SETTINGS_PUBLISHED_H_
#define ONNXFLOPS_SRC_SETTINGS_PUBLISHED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/compare/audit.h"
#include "src/symbolic/expr.h"

namespace onnxflops::settings {

struct Published {
  int64_t line = 0;                 // of the file
  std::string name, model, module;  // of a part of the model; "": the whole model
  std::string written;              // the model's path in the table, if it is relative to a folder
  Bindings sizes;                   // of this figure only
  PublishedFigure figure;
  bool of_zoo = false;  // which counts one image
  std::string about;    // of what the figure is, if a zoo tells
  absl::Status fault;   // the fault of the line
};

// How a file is laid out.
struct PublishedLayout {
  // The titles of the columns.
  std::string name = "name", model = "model", figure = "figure", dim = "dim", module = "module";
  std::string unit;     // of figures that are written without one
  std::string pattern;  // of a model's path, with {TITLE} for a field; "": the column `model`
};
// "name=weights,figure=gmacs": InvalidArgument for a column that no figure has.
absl::Status ParseTitles(absl::string_view text, PublishedLayout* layout);

// A line of titles, and a line per figure. A line that is wrong has a fault, and the others go on.
// InvalidArgument for missing titles, and for a text without figures. The paths of models are
// relative to `folder`, which is empty or ends in a slash.
absl::StatusOr<std::vector<Published>> ParsePublished(absl::string_view text,
                                                      const PublishedLayout& layout,
                                                      const std::string& folder);

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_PUBLISHED_H_
