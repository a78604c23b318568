// The model that another is compared with: a file, or a report that was written earlier.
#ifndef ONNXFLOPS_TOOLS_VERBS_BASE_MODEL_H_
#define ONNXFLOPS_TOOLS_VERBS_BASE_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/api/diff.h"
#include "src/graph/model.h"
#include "src/report/report.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

// --base-missing.
struct BaseMissingArgument {
  std::string what = "fail";
  void AddTo(OptionList* list);
  // Whether a base that is not there is fine.
  absl::StatusOr<bool> Parse() const;
};

// A model, or a report of one that was written earlier: a file of JSON that begins as our reports
// do.
struct Side {
  std::optional<Model> model;
  std::optional<Report> report;  // if there is no model
};
absl::StatusOr<Side> LoadSide(const std::string& path, const CountOptions& options);

// What models are compared with. A path is that of a model or a report; "": nothing. With a
// revision, it is the path of the model itself, as it was in its git repository.
struct BaseModel {
  std::string path, revision;
  // A base that does not exist makes everything new; so does /dev/null, which git names then.
  bool missing_is_fine = false;
};
// A model at a revision. `*missing`, where it is not null: whether the revision does not have it.
absl::StatusOr<Side> LoadRevision(const BaseModel& base, const CountOptions& options,
                                  bool* missing = nullptr);

// The difference from nothing.
absl::StatusOr<Diff> DiffWithNothing(const Side& head, const CountOptions& options);

// A part of a model in millionths: "0.1%"; "" is 0.
absl::StatusOr<int64_t> ParseThreshold(const std::string& threshold);

absl::StatusOr<Diff> DiffWithBase(const BaseModel& base, const Side& head,
                                  const CountOptions& options, ComparedSizes sizes);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_VERBS_BASE_MODEL_H_
