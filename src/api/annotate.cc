#include "src/api/annotate.h"

#include <optional>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "src/annotate/annotated_copy.h"
#include "src/annotate/node_notes.h"
#include "src/api/analysis.h"
#include "src/api/text_forms.h"
#include "src/base/limit_error.h"
#include "src/base/platform/posix.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/input_file.h"

namespace onnxflops {

absl::Status Annotate(const Model& model, const CountOptions& options,
                      absl::FunctionRef<absl::Status(absl::string_view)> write) {
  if (TextFormOfFile(model->path) != TextForm::kNone) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(model->path), ": a model written as text has no copy with notes"));
  }
  const auto named = [&](const absl::Status& status) {
    return WithMessage(status, absl::StrCat(Escaped(model->path), ": ", status.message()));
  };
  ASSIGN_OR_RETURN(const Analysis analysis,
                   Analyze(model, options, options.causal, /*assume=*/true, Calls::kKept));
  ASSIGN_OR_RETURN(const annotate::NodeNotes notes,
                   annotate::MakeNodeNotes(analysis.inference, analysis.counts));
  const absl::StatusOr<int> fd = OpenForReading(model->path);
  if (!fd.ok()) return named(fd.status());
  const absl::Cleanup close_file = [fd = *fd] { close(fd); };
  const absl::StatusOr<annotate::AnnotatedCopy> copy =
      annotate::AnnotatedCopy::Plan(*fd, *model, notes);
  if (!copy.ok()) return named(copy.status());
  std::optional<absl::Status> fault;  // of `write`, which is not the model's
  absl::Status copied = copy->Write([&](absl::string_view piece) {
    absl::Status written = write(piece);
    if (!written.ok()) fault = written;
    return written;
  });
  return fault || copied.ok() ? copied : named(copied);
}

bool IsAnnotated(const Model& model) { return annotate::IsAnnotated(*model); }

}  // namespace onnxflops
