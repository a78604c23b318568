// Summarises the effect of a change on all models of a repository in one pull request comment,
// written for a reader who sees nothing else.
//
//   Review review;
//   review.models.push_back({"m.onnx", "", diff, check});
//   std::string comment = ToComment(review);
#ifndef ONNXFLOPS_SRC_CHECK_REVIEW_H_
#define ONNXFLOPS_SRC_CHECK_REVIEW_H_

#include <optional>
#include <string>
#include <vector>

#include "src/check/judge.h"
#include "src/diff/diff_writers.h"
#include "src/diff/model_diff.h"
#include "src/diff/pipeline_diff.h"

namespace onnxflops {

struct ReviewedModel {
  std::string path;
  std::string renamed_from;  // its path at the base if it differs, else ""
  bool is_gone = false;      // removed: `diff` goes from nothing to the base's costs
  std::optional<Diff> diff;  // nullopt: it could not be read or counted
  CheckReport check;         // its verdicts or its error; empty without budgets
  std::string device;        // device of the time bound in `diff`, "b200, bf16"; or ""
  // True if rules apply only to its old path, so that it has none after the merge.
  bool loses_budgets = false;
  std::optional<PipelineDiff> pipeline = {};  // of a pipeline: its figures are `diff`
};

struct Review {
  std::vector<ReviewedModel> models;
  bool has_budgets = false;
  DiffViewOptions view;
  std::vector<std::string> idle_budgets = {};  // names in them that no model has, a text each
};

// The verdict, a table of models that changed or failed with the worst first, and below it the
// details of each. Unchanged models are only counted. The text has at most kMaxCommentBytes, less a
// reserve for text that a script adds.
std::string ToComment(const Review& review);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CHECK_REVIEW_H_
