// Two models compared: what the command `diff` does.
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
#include "src/diff/diff.h"
#include "src/graph/model.h"
#include "src/report/report.h"

namespace onnxflops {

// Where one model fixes a size that the other leaves open: both at that size (Diff::made_equal),
// whatever is asked for, or the other at the size that is asked for (Diff::unequal_sizes).
enum class ComparedSizes : uint8_t { kEqual, kAsAsked };

// What is compared: a model, or a report of one that was written earlier (ReadReport). It points to
// that, which must outlive it.
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
  std::optional<Report> report;  // if there is no model

  DiffSide side() const { return model ? DiffSide(*model) : DiffSide(*report); }
};
// A report is a file of JSON that begins as ours do. Errors: those of LoadFor and ReadReport.
absl::StatusOr<ModelOrReport> LoadModelOrReport(const std::string& path,
                                                const CountOptions& options);

// Both are counted with the same options. A binding may be of a symbol that only one of the models
// has. Errors: those of Count, and of MakeDiff; FailedPrecondition as well where a report was
// counted at other sizes.
absl::StatusOr<Diff> DiffModels(const DiffSide& base, const DiffSide& head,
                                const CountOptions& options = {},
                                ComparedSizes sizes = ComparedSizes::kEqual);
// There is no base: everything is new.
absl::StatusOr<Diff> DiffModels(const DiffSide& head, const CountOptions& options = {});

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_DIFF_H_
