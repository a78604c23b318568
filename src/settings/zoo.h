// What zoos publish about their models.
//
//   ASSIGN_OR_RETURN(std::vector<Published> figures, ZooFigures("timm", {"resnet50.onnx"}));
//   figures[0].figure.text   // "4.11 G MACs"
#ifndef ONNXFLOPS_SRC_SETTINGS_ZOO_H_
#define ONNXFLOPS_SRC_SETTINGS_ZOO_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/settings/published.h"

namespace onnxflops::settings {

// The figures that a zoo publishes for each of the files, in their order. `zoo` is the name of one,
// "timm"; then a file's own name is that of the model, whatever its case and separators. Or it is
// "timm:resnet50", the zoo's name of the only file. Figures of a zoo are of one image. Errors:
// InvalidArgument for a zoo that is not known, and for one name of several files. A file that fits
// no model has a fault.
absl::StatusOr<std::vector<Published>> ZooFigures(absl::string_view zoo,
                                                  absl::Span<const std::string> files);

// A zoo may have a model at several sizes, or of several trainings. If one of the figures is that
// of the file, the others of its unit are of another model, and are left out.
void LeaveOutOtherSizes(std::vector<AuditRow>* rows);

std::vector<std::string> ZooNames();

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_ZOO_H_
