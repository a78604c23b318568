// Sums by operator, and what is said of branches that are not decided.
#include "src/count/count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "src/infer/infer.h"
#include "tests/model_text.h"

namespace onnxflops {
namespace {

Counts CountsOf(const std::string& text) {
  return Count(Infer(ModelFromText(text, 20)).value()).value();
}

// Of all operators: flops, then bytes read and written, then executions.
std::string SumsOf(const Counts& counts) {
  std::string sums;
  for (const auto& [key, op] : counts.by_op) {
    absl::StrAppend(&sums, key.second, " ", op.nodes.ToString(), " x ", op.amounts.flops.ToString(),
                    " ", op.amounts.int_ops.ToString(), " ", op.amounts.bytes_read.ToString(), " ",
                    op.amounts.bytes_written.ToString(), "; ");
  }
  return sums;
}

// Bodies as often as they run; a product of sizes reads and writes, and does no work.
TEST(OperatorSumsTest, AreThoseOfAllExecutions) {
  EXPECT_EQ(SumsOf(CountsOf("g (float[5,3] x) => (float[5,3] y) <int64 n = {4}, bool t = {1}> "
                            "{ y = Loop<body = b (int64 i, bool c, float[5,3] s) => "
                            "(bool d, float[5,3] r) { d = Identity(c) r = Relu(s) }>(n, t, x) }")),
            "Identity 4 x 0 0 0 0; Loop 1 x 0 0 69 60; Relu 4 x 60 0 240 240; ");
  EXPECT_EQ(SumsOf(CountsOf("g (float[2,3] x) => (float[A,B] y) <int64[2] f = {2, 1}> "
                            "{ s = Shape(x) m = Mul(s, f) y = Tile(x, m) }")),
            "Mul 1 x 0 0 32 16; Shape 1 x 0 0 0 0; Tile 1 x 0 0 40 288; ");
}

TEST(OpenBranchesTest, OneIsDescribedTheOthersAreCounted) {
  std::string nodes, outputs;
  for (int i = 0; i < 3; ++i) {
    absl::StrAppend(&outputs, i == 0 ? "" : ", ", "float[5] y", i);
    absl::StrAppend(&nodes, "y", i, " = If<then_branch = a () => (float[5] p) { p = Relu(x) }, ",
                    "else_branch = b () => (float[5] q) { q = Selu(x) }>(c) ");
  }
  const Counts counts =
      CountsOf(absl::StrCat("g (bool c, float[5] x) => (", outputs, ") { ", nodes, " }"));
  ASSERT_EQ(counts.warnings.size(), 1);
  EXPECT_THAT(counts.warnings[0],
              testing::EndsWith("which branch runs is not known; the larger one is counted (FLOPs "
                                "of then_branch 5, of else_branch 30); so in 2 more"));
}

}  // namespace
}  // namespace onnxflops
