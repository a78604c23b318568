// The model that another is compared with: a file, or a report that was written earlier.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_BASE_MODEL_H_
#define ONNXFLOPS_TOOLS_COMMANDS_BASE_MODEL_H_

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
  // True if a missing base is allowed.
  absl::StatusOr<bool> Parse() const;
};

// The base of a comparison. `path` is a model or a report; "": no base. With a revision, it is the
// path of the model itself, as it was in its git repository.
struct BaseModel {
  std::string path, revision;
  // A base that does not exist makes everything new; so does /dev/null, which git names then.
  bool missing_is_fine = false;
};
// A model at a revision. `*missing`, if not null, is set to whether the revision lacks it.
absl::StatusOr<Model> LoadRevision(const BaseModel& base, const CountOptions& options,
                                   bool* missing = nullptr);

// True if nothing has that path.
bool IsMissing(const std::string& path);
// The error of a base that is missing; it names --base-missing.
absl::Status MissingBase(absl::string_view why);

// The base for `head`; nullopt if there is none, or if it may be missing and is.
absl::StatusOr<std::optional<ModelOrReport>> LoadBase(const BaseModel& base,
                                                      const ModelOrReport& head,
                                                      const CountOptions& options);
// The error where only one of two sides is a pipeline.
absl::Status OnlyOneIsPipeline(const std::string& pipeline, const std::string& other);
// Adds advice on naming a base to an error about a missing base.
absl::Status WithBaseHint(const absl::Status& status);

// The difference from the result of LoadBase.
absl::StatusOr<Diff> DiffWithBase(const std::optional<ModelOrReport>& base,
                                  const ModelOrReport& head, const CountOptions& options);

// Writes the constants that figures of a model rest on to standard error, for output that is not
// read as a table.
void TellPositions(const ModelInfo& model);

// A part of a model in millionths: "0.1%"; "" is 0.
absl::StatusOr<int64_t> ParseThreshold(const std::string& threshold);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_BASE_MODEL_H_
