// The settings of an audit: a table of published figures, and what its models are counted with.
#ifndef ONNXFLOPS_SRC_SETTINGS_AUDIT_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_AUDIT_ARGUMENTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/api/count.h"
#include "src/compare/audit.h"
#include "src/settings/published.h"
#include "src/settings/size_arguments.h"
#include "src/settings/table.h"

namespace onnxflops::settings {

struct AuditArguments {
  std::string titles, zoo;
  PublishedLayout layout;
  SizeArguments sizes;
  NoGradArgument no_grad;

  void AddTo(Table* list);
  absl::StatusOr<CountOptions> Options() const;
  // The lines of a file; with a zoo, what it publishes of each of these models.
  absl::StatusOr<std::vector<Published>> ReadFigures(absl::Span<const std::string> files) const;

 private:
  absl::StatusOr<std::vector<Published>> ReadFile(const std::string& file) const;
};

// Figures of one model at the same sizes, which share a comparison: their places in `figures`.
std::vector<std::vector<size_t>> GroupAudits(absl::Span<const Published> figures);
// Sets the rows of a group. What is wrong with a line is the fault of its row.
void AuditGroup(absl::Span<const Published> figures, absl::Span<const size_t> group,
                const CountOptions& options, std::vector<AuditRow>* rows);

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_AUDIT_ARGUMENTS_H_
