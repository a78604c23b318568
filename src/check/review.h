// What a change to a repository does to its models: one comment on a pull request, for a reader who
// sees nothing else.
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
#include "src/diff/diff.h"
#include "src/diff/diff_writers.h"

namespace onnxflops {

struct ReviewedModel {
  std::string path;
  std::string renamed_from;  // its path at the base, where that is another; else ""
  bool is_gone = false;      // only the base has it: `diff` is from nothing to what it was there
  std::optional<Diff> diff;  // nullopt: it could not be read or counted
  CheckReport check;         // verdicts on it, or its error; none where there are no budgets
  std::string device;        // whose time bound `diff` has, "b200, bf16"; "": none
  // Whether it is held to rules by its old path alone: after the merge none is for it.
  bool loses_budgets = false;
};

struct Review {
  std::vector<ReviewedModel> models;
  bool has_budgets = false;
  DiffViewOptions view;
};

// The verdict, a table of the models that changed or failed, the worst first, and below what
// happened in each. Models that did not change are a number. At most kMaxCommentBytes, less what a
// script may add.
std::string ToComment(const Review& review);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CHECK_REVIEW_H_
