// Comments on several models: the verdict, the order of the rows, and what fits. Figures by hand.
#include "src/check/review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/check/budgets.h"
#include "src/diff/comment.h"
#include "tests/model_maker.h"

namespace onnxflops::review_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// 128 MACs a column.
Report OneLayer(const std::string& columns, const std::string& path) {
  ModelMaker make;
  int64_t width = 0;
  EXPECT_TRUE(absl::SimpleAtoi(columns, &width));
  make.Input("x", {"16", "8"}).Weight("a.weight", {8, width});
  make.Node("/a/MatMul", "MatMul", {"x", "a.weight"}, {"y"}).Output("y");
  Report report = make.Count().value();
  report.model.path = path;
  return report;
}

// From `base` columns to `head`; "": there is no base.
ReviewedModel Reviewed(const std::string& path, const std::string& base, const std::string& head,
                       absl::string_view budgets = "") {
  ReviewedModel model;
  model.path = path;
  const Report after = OneLayer(head, path);
  if (base.empty()) {
    model.diff = MakeDiff(nullptr, after).value();
  } else {
    const Report before = OneLayer(base, path);
    model.diff = MakeDiff(&before, after).value();
  }
  const auto no_figures = [](const BudgetRule&) -> absl::StatusOr<std::vector<AchievedFigure>> {
    return absl::FailedPreconditionError("no rate");
  };
  const Budgets rules = LoadBudgets(budgets, "onnxflops.toml").value();
  EXPECT_TRUE(Judge(rules, nullptr, *model.diff, "2027-01-15", no_figures, &model.check).ok());
  return model;
}

ReviewedModel Broken(const std::string& path) {
  ReviewedModel model;
  model.path = path;
  model.check.judgements = {ModelError(absl::InvalidArgumentError("it is no model"))};
  return model;
}

ReviewedModel Gone(const std::string& path, const std::string& base) {
  ReviewedModel model;
  model.path = path;
  model.is_gone = true;
  model.diff = MakeDiff(nullptr, OneLayer(base, path)).value();
  return model;
}

constexpr char kTight[] = "[budget]\nmacs = 300\nparams = 128\n";

TEST(ReviewTest, TheVerdictComesFirst) {
  const std::pair<std::vector<ReviewedModel>, const char*> cases[] = {
      {{Reviewed("a", "2", "2")}, "**onnxflops: no model changed its cost**\n"},
      {{Reviewed("a", "2", "3"), Reviewed("b", "2", "2")},
       "**onnxflops: no budget applies to any model; 1 model changed**\n"},
      {{Reviewed("a", "2", "3"), Reviewed("b", "2", "2", "budget.macs = 256")},
       "**onnxflops: 1 budget holds; no budget for 1 model; 1 model changed**\n"},
      {{Reviewed("a", "", "3")}, "**onnxflops: no budget applies to any model; 1 new model**\n"},
      {{Reviewed("a", "", "3", "budget.macs = \"+1%\"")},
       "**onnxflops: 1 not judged; 1 new model**\n"},
      {{Reviewed("a", "2", "2",
                 "[budget]\nmacs = 1\n[[allow]]\nrule = \"budget.macs\"\n"
                 "reason = \"r\"\nuntil = 2027-01-31\n")},
       "**onnxflops: 1 allowed by exceptions; no model changed its cost**\n"},
      {{Reviewed("a", "2", "2", kTight)},
       "**onnxflops: all 2 budgets hold; no model changed its cost**\n"},
      {{Reviewed("a", "2", "3", kTight), Reviewed("b", "1", "2", kTight)},
       "**onnxflops: 1 of 4 budgets failed in 1 of 2 models; 2 models changed**\n"},
      {{Reviewed("a", "2", "2", "[budget]\nmacs = 1\ntime_bound_seconds = \"1 ms\"\n")},
       "**onnxflops: 2 of 2 budgets failed in 1 of 1 model, 1 of them not proven; no model changed "
       "its cost**\n"},
      {{Gone("a", "2")}, "**onnxflops: 1 model gone**\n"},
      {{Broken("a"), Reviewed("b", "2", "2", "budget.macs = 256")},
       "**onnxflops: error in 1 of 2 models; 1 budget holds**\n"},
  };
  for (const auto& [models, headline] : cases) {
    EXPECT_THAT(ToComment({models, true, {}}),
                StartsWith(absl::StrCat("<!-- onnxflops:review -->\n", headline)));
  }
}

// An error, what failed, then by the change: +256 MACs, -128; what is new; and one that is equal.
TEST(ReviewTest, TheWorstIsTheFirstRow) {
  const std::string comment =
      ToComment({{Reviewed("new.onnx", "", "9"), Reviewed("less.onnx", "2", "1"),
                  Reviewed("same.onnx", "2", "2"), Reviewed("more.onnx", "2", "4"),
                  Broken("broken.onnx"), Reviewed("failed.onnx", "3", "3", kTight)},
                 true,
                 {}});
  const char* const rows[] = {
      "| **`broken.onnx`** | **`it is no model`** |  |  |  |  |\n",
      "| **`failed.onnx`** | **failed: MACs** |  | **768** | **24** |",
      "| `more.onnx` | no budget | +100.0&nbsp;% | 512 → 1.024&nbsp;k | 16 → 32 |",
      "| `less.onnx` | no budget | -50.0&nbsp;% | 512 → 256 | 16 → 8 |",
      "| `new.onnx` | no budget | new | 2.304&nbsp;k | 72 |"};
  size_t at = 0;
  for (const char* row : rows) {
    const size_t found = comment.find(row, at);
    ASSERT_NE(found, std::string::npos) << row << comment;
    at = found;
  }
  EXPECT_THAT(comment, HasSubstr("\n1 model did not change.\n"));
  EXPECT_THAT(comment, Not(HasSubstr("same.onnx")));
  EXPECT_THAT(comment,
              HasSubstr("- `budget.macs: 384 MAC, limit 300, exceeded by 28.00 %: failed`\n"));
}

// 2 to 4 rows: 128 MACs a row, and 256 FLOPs.
TEST(ReviewTest, TheChangeNamesQuantitiesWithLimits) {
  const std::string comment =
      ToComment({{Reviewed("m.onnx", "2", "4", "budget.macs = \"+50%\"\nbudget.params = 1000000")},
                 true,
                 {}});
  EXPECT_THAT(comment, HasSubstr("| **failed: MACs** | **FLOPs +100.0&nbsp;%; MACs +100.0&nbsp;%; "
                                 "params +100.0&nbsp;%** "));
  EXPECT_THAT(comment, HasSubstr("- `budget.macs: MACs grew by 100.00 %, more than the limit of "
                                 "50 % (512 MAC, base 256 MAC): failed`\n"));
}

TEST(ReviewTest, ARenamedModelIsNeitherNewNorGone) {
  ReviewedModel model = Reviewed("new.onnx", "2", "2");
  model.renamed_from = "old.onnx";
  EXPECT_THAT(ToComment({{model}, false, {}}), HasSubstr("\n- `renamed from old.onnx`\n"));
  EXPECT_THAT(ToComment({{model}, true, {}}), Not(HasSubstr("budgets lost")));
  model = Reviewed("new.onnx", "2", "2", "budget.macs = 256");
  model.renamed_from = "old.onnx";
  model.loses_budgets = true;
  EXPECT_THAT(ToComment({{model}, true, {}}), HasSubstr("; budgets lost by renaming 1 model;"));
}

TEST(ReviewTest, FitsWhateverTheModelsAre) {
  Review review;
  for (int i = 0; i < 400; ++i) {
    review.models.push_back(Reviewed(absl::StrCat(i, std::string(100, '`'), ".onnx"), "2",
                                     absl::StrCat(i + 3), kTight));
  }
  review.has_budgets = true;
  const std::string comment = ToComment(review);
  EXPECT_LE(comment.size(), kMaxCommentBytes);
  EXPECT_GT(comment.size(), kMaxCommentBytes / 2);
  EXPECT_THAT(comment, HasSubstr("What did not fit is left out"));
}

}  // namespace
}  // namespace onnxflops::review_test
