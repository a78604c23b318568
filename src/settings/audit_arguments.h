// The settings of an audit: a table of published figures, and what its models are counted with.
#ifndef ONNXFLOPS_SRC_SETTINGS_AUDIT_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_AUDIT_ARGUMENTS_H_

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

// What is wrong with a line is the fault of its row.
AuditRow AuditPublished(const Published& published, const CountOptions& options);

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_AUDIT_ARGUMENTS_H_
