#include "src/settings/audit_arguments.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/api/load.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/settings/value.h"

namespace onnxflops::settings {
namespace {

absl::StatusOr<AuditRow> AuditOne(const Published& published, const CountOptions& options) {
  RETURN_IF_ERROR(published.fault);
  ASSIGN_OR_RETURN(const Model model, LoadFor(published.model, options));
  CountOptions with_sizes = options;
  for (const auto& [name, size] : published.sizes) with_sizes.bindings[name] = size;
  with_sizes.module = published.module;
  ASSIGN_OR_RETURN(const CompareReport comparison, CompareTools(model, with_sizes, {}));
  return Audit(published.name, published.figure, comparison);
}

}  // namespace

void AuditArguments::AddTo(Table* list) {
  list->AddValue("titles", "KEY=TITLE,..", &titles,
                 "The titles of FILE's columns, where they are others: "
                 "name=weights,figure=gmacs.");
  list->AddValue("unit", "UNIT", &layout.unit,
                 "The unit of figures that are written without one, as GMACs or GFLOPs.");
  list->AddValue("models", "PATTERN", &layout.pattern,
                 "The path of each model, with {TITLE} for a field of its line.");
  sizes.AddTo(list);
  no_grad.AddTo(list);
}

absl::StatusOr<CountOptions> AuditArguments::Options() const {
  ASSIGN_OR_RETURN(CountOptions options, sizes.Parse());
  options.no_grad = no_grad.given;
  return options;
}

absl::StatusOr<std::vector<Published>> AuditArguments::ReadFigures(const std::string& file) const {
  PublishedLayout of_file = layout;
  RETURN_IF_ERROR(ParseTitles(titles, &of_file));
  const auto about = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(Escaped(file), ": ", status.message()));
  };
  const absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (!text.ok()) return about(text.status());
  if (text->size() > kMaxRulesBytes) {
    return LimitError("rules-bytes", absl::StrCat(Escaped(file), ": is larger than ",
                                                  kMaxRulesBytes, " bytes (rules-bytes)"));
  }
  const size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : file.substr(0, slash + 1);
  absl::StatusOr<std::vector<Published>> figures = ParsePublished(*text, of_file, folder);
  if (!figures.ok()) return about(figures.status());
  return figures;
}

AuditRow AuditPublished(const Published& published, const CountOptions& options) {
  absl::StatusOr<AuditRow> audited = absl::ResourceExhaustedError("there is not enough memory");
  platform::RunWithinMemory([&] { audited = AuditOne(published, options); });
  if (audited.ok()) return *std::move(audited);
  AuditRow row;
  row.fault = std::string(audited.status().message());
  row.name = published.name;
  row.model = published.model;
  row.published = published.figure;
  return row;
}

}  // namespace onnxflops::settings
