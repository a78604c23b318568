#include "src/settings/history_arguments.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/cost/amounts.h"
#include "src/history/record.h"
#include "src/load/input_file.h"
#include "src/settings/value.h"

namespace onnxflops::settings {
namespace {

absl::StatusOr<HistoryView> ViewOf(const HistoryArguments& args) {
  HistoryView view;
  view.models = args.models;
  for (const std::string& name : args.quantities) {
    const Quantity* const quantity = FindRecordedQuantity(name);
    if (quantity == nullptr) {
      std::vector<std::string> names;
      for (const Quantity* q : RecordedQuantities()) names.emplace_back(q->key);
      return BadValue("quantity", name, absl::StrCat("unknown quantity", DidYouMean(name, names)));
    }
    view.quantities.push_back(quantity);
  }
  return view;
}

// A pattern or a quantity that matches nothing is a mistake.
absl::Status RequireFigures(const HistoryArguments& args, const std::string& file,
                            const HistoryReport& report) {
  if (report.series.empty()) {
    return absl::NotFoundError(absl::StrCat(Escaped(file), ": no model matches ", Setting("model"),
                                            " ", Quoted(args.models)));
  }
  for (const std::string& name : args.quantities) {
    const auto is_it = [&](const Quantity* q) { return q->key == name; };
    if (absl::c_any_of(report.quantities, is_it)) continue;
    return absl::NotFoundError(
        absl::StrCat(Escaped(file), ": no line has the quantity ", Quoted(name)));
  }
  return absl::OkStatus();
}

}  // namespace

void HistoryArguments::AddTo(Table* list) {
  list->AddValue("model", "GLOB", &models,
                 "Only models whose path, or the end of it from a folder on, is GLOB.");
  list->AddValues("quantity", "NAME", &quantities,
                  "Only this quantity, as totals of JSON name it: flops, params, ... May be given "
                  "again.");
}

absl::StatusOr<HistoryReport> HistoryArguments::Read(const std::string& file) const {
  ASSIGN_OR_RETURN(const HistoryView view, ViewOf(*this));
  const absl::StatusOr<std::string> text = ReadTextFile(file, kMaxHistoryBytes);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat(Escaped(file), ": ", text.status().message()));
  }
  ASSIGN_OR_RETURN(History history, ReadHistory(*text, file));
  HistoryReport report = MakeHistory(std::move(history), view);
  RETURN_IF_ERROR(RequireFigures(*this, file, report));
  return report;
}

}  // namespace onnxflops::settings
