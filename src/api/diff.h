// Compares two models, as the command `diff` does.
//
//   absl::StatusOr<onnxflops::Diff> diff = onnxflops::DiffModels(base, head, {});
//   std::cout << onnxflops::ToTable(*diff, {});
#ifndef ONNXFLOPS_SRC_API_DIFF_H_
#define ONNXFLOPS_SRC_API_DIFF_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/diff/model_diff.h"
#include "src/graph/model.h"
#include "src/report/report.h"

namespace onnxflops {

// Where one model fixes a size that the other leaves open: both at that size (Diff::made_equal),
// whatever is asked for, or the other at the size that is asked for (Diff::unequal_sizes).
enum class ComparedSizes : uint8_t { kEqual, kAsAsked };

// One side of a comparison: a model, or a report of one that was written earlier (ReadReport).
// DiffSide points to it, so it must outlive the DiffSide.
class DiffSide {
 public:
  DiffSide(const Model& model) : model_(&model) {}      // NOLINT(google-explicit-constructor)
  DiffSide(const Report& report) : report_(&report) {}  // NOLINT(google-explicit-constructor)

  const Model* model() const { return model_; }     // nullptr: it is a report
  const Report* report() const { return report_; }  // nullptr: it is a model

 private:
  const Model* model_ = nullptr;
  const Report* report_ = nullptr;
};

// A model or a report in a file, as LoadModelOrReport gives it.
struct ModelOrReport {
  std::optional<Model> model;
  std::optional<Report> report;  // set if there is no model

  DiffSide side() const { return model ? DiffSide(*model) : DiffSide(*report); }
};
// True for a regular file that begins as our reports in JSON do.
bool IsReportFile(const std::string& path);
// A JSON file that begins as our reports do is read as a report. Errors: those of LoadFor and
// ReadReport.
absl::StatusOr<ModelOrReport> LoadModelOrReport(const std::string& path,
                                                const CountOptions& options);

// Counts both sides with the same options. A binding may fit only one of the models. Errors: those
// of Count and MakeDiff; FailedPrecondition if a report was counted at other sizes.
absl::StatusOr<Diff> DiffModels(const DiffSide& base, const DiffSide& head,
                                const CountOptions& options = {},
                                ComparedSizes sizes = ComparedSizes::kEqual);
// Without a base, everything is new.
absl::StatusOr<Diff> DiffModels(const DiffSide& head, const CountOptions& options = {});

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_DIFF_H_
