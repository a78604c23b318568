// Sums by operator, and what is said of branches that are not decided.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/cost/roofline.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/symbolic/expr.h"
#include "tests/model_text.h"

namespace onnxflops::count_test {
namespace {

Counts CountsOf(const std::string& text, int opset = 20) {
  return Count(Infer(ModelFromText(text, opset)).value()).value();
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

// Arithmetic on shapes is free: of a product the multiplications and additions count, of anything
// else nothing. [2] times [2,2], then plus 1; Gemm adds a vector as well.
TEST(ShapeWorkTest, OnlyProductsCount) {
  const struct {
    const char *nodes, *sums;
    int macs, flops, int_ops;
  } cases[] = {
      {"m = MatMul(s, w) a = Add(m, one) y = Expand(x, a)", "MatMul 1 x 0 8 48 16; ", 4, 0, 8},
      {"f = Cast<to = 1>(s) m = MatMul(f, v) p = Add(m, half) c = Cast<to = 7>(p) y = Expand(x, c)",
       "MatMul 1 x 8 0 24 8; ", 4, 8, 0},
      {"f = Cast<to = 1>(s) r = Unsqueeze(f, at) m = Gemm(r, v, half) q = Squeeze(m, at) "
       "c = Cast<to = 7>(q) y = Expand(x, c)",
       "Gemm 1 x 8 0 28 8; ", 4, 8, 0},
  };
  for (const auto& c : cases) {
    const Counts counts = CountsOf(
        absl::StrCat("g (float[1,1] x) => (float[A,B] y) <int64[2,2] w = {3,0,0,2}, float[2,2] v = "
                     "{3.0,0.0,0.0,2.0}, int64 one = {1}, float half = {1.0}, int64[1] at = {0}> { "
                     "s = Shape(x) ",
                     c.nodes, " }"));
    EXPECT_THAT(SumsOf(counts), testing::HasSubstr(c.sums));
    EXPECT_EQ(counts.total.amounts.macs, Expr(c.macs)) << c.nodes;
    EXPECT_EQ(counts.total.amounts.flops, Expr(c.flops)) << c.nodes;
    EXPECT_EQ(counts.total.amounts.int_ops, Expr(c.int_ops)) << c.nodes;
    EXPECT_EQ(counts.total.amounts.other_flops, Expr(0)) << c.nodes;
    EXPECT_EQ(counts.total.flops.Ops(), Expr(c.flops)) << c.nodes;
    EXPECT_EQ(counts.total.int_ops.Ops(), Expr(c.int_ops)) << c.nodes;
  }
}

// Inside of bodies as well: three trips, each with two additions, and the second output of a
// branch.
TEST(ShapeWorkTest, IsFreeInsideOfBodies) {
  constexpr char kLoop[] =
      "z = Loop<body = b (int64 i, bool c, int64[2] p) => (bool d, int64[2] q) "
      "{ d = Identity(c) q = Add(p, s) }>(n, t, s) ";
  constexpr char kIf[] =
      "w, z = If<then_branch = a () => (int64[2] p, int64[2] q) { p = Identity(s) q = Add(s, s) }, "
      "else_branch = b () => (int64[2] u, int64[2] v) { u = Identity(s) v = Add(s, s) }>(c) ";
  const struct {
    const char *nodes, *use;
    int int_ops;
  } cases[] = {
      {kLoop, "y = Expand(x, z)", 0},
      {kLoop, "y = Identity(z)", 6},
      {kIf, "y = Expand(x, z)", 0},
      {kIf, "y = Identity(z)", 2},
      {kIf, "y = Expand(x, w) v = Identity(z)", 2},
  };
  for (const auto& c : cases) {
    const Counts counts = CountsOf(absl::StrCat(
        "g (float[1,1] x, bool c) => (float[] y) <int64 n = {3}, bool t = {1}> { s = Shape(x) ",
        c.nodes, c.use, " }"));
    EXPECT_EQ(counts.total.amounts.int_ops, Expr(c.int_ops)) << c.nodes << c.use;
  }
}

// Of each node the longer of its work, at 1000 a FLOP, and of its bytes, at 7 each. Shapes and
// constants take no time.
TEST(TimeTest, EstimateIsThatOfAllNodesButShapesAndConstants) {
  const struct {
    const char *graph, *time;
  } cases[] = {
      {"g (float[5] x) => (float[5] y) { y = Relu(x) }", "5000"},
      {"g (float[5] x) => (float[5] y) { z = Relu(x) y = Exp(z) }", "10000"},
      {"g (float[2,3] x) => (float[A,B] y) <int64[2] f = {2, 1}> { s = Shape(x) m = Mul(s, f) "
       "y = Tile(x, m) }",
       "2296"},  // 40 bytes are read, 288 written
      {"g (float[3] x) => (float[3] y) <float[3] w = {1.0,2.0,3.0}> { e = Exp(w) y = Add(x, e) }",
       "3000"},
      {"g (float[N] x) => (float[N] y) { y = Relu(x) }", "1000*N"},
      {"g (float[5] x) => (float[5] y) <int64 n = {4}, bool t = {1}> { y = Loop<body = b (int64 i, "
       "bool c, float[5] s) => (bool d, float[5] r) { d = Identity(c) r = Relu(s) }>(n, t, x) }",
       "20343"},  // the Loop itself moves 29 + 20 bytes
      {"g (int32[2,3] a, int32[3,4] b) => (int32[2,4] y) { y = MatMul(a, b) }", "48000"},
      {"g (int32[6] a) => (int32[6] y) { y = Add(a, a) }", "504"},  // 72 bytes, no FLOPs
  };
  for (const auto& c : cases) {
    const Inference inference = Infer(ModelFromText(c.graph, 20)).value();
    const Counts counts = Count(inference, CausalCounting::kFull, Roofline{1000, 7}).value();
    EXPECT_EQ(counts.total.amounts.time_estimate.ToString(), c.time) << c.graph;
    Expr by_op;
    for (const auto& [key, op] : counts.by_op) by_op += op.amounts.time_estimate;
    EXPECT_EQ(by_op.ToString(), c.time) << c.graph;
    EXPECT_EQ(Count(inference)->total.amounts.time_estimate, Expr(0));
  }
}

// Every node once, whatever else is equal to it.
TEST(CoverageTest, NodesAreCountedFreeOrUnknown) {
  const struct {
    const char* nodes;
    int64_t nodes_in_all, counted, free, unknown, causal;
  } cases[] = {
      {"y = Relu(q)", 1, 1, 0, 0, 0},
      {"z = Relu(q) y = Relu(q)", 2, 2, 0, 0, 0},
      {"z = Identity(q) y = Relu(z) a = Transpose(q)", 3, 1, 2, 0, 0},
      {"y = Attention<is_causal = 1>(q, q, q)", 1, 1, 0, 0, 1},
      {"z = Attention<is_causal = 1>(q, q, q) y = Attention<is_causal = 1>(q, q, q)", 2, 2, 0, 0,
       2},
      {"y = Attention(q, q, q)", 1, 1, 0, 0, 0},
      {"y = NoSuch(q)", 1, 0, 0, 1, 0},
      {"z = NoSuch(q) y = NoSuch(q)", 2, 0, 0, 2, 0},
      {"z = NoSuch(q) y = Relu(z)", 2, 0, 0, 2, 0},
      {"y = com.microsoft.CDist<metric = \"taxi\">(m, m)", 1, 0, 0, 1, 0},
      {"y = com.microsoft.CDist<metric = \"euclidean\">(m, m)", 1, 1, 0, 0, 0},
  };
  for (const auto& c : cases) {
    const Counts counts = CountsOf(
        absl::StrCat("g (float[1,2,3,4] q, float[3,2] m) => (float[] y) { ", c.nodes, " }"), 24);
    EXPECT_EQ(counts.nodes, c.nodes_in_all) << c.nodes;
    EXPECT_EQ(counts.counted, c.counted) << c.nodes;
    EXPECT_EQ(counts.free, c.free) << c.nodes;
    EXPECT_EQ(counts.unknown, c.unknown) << c.nodes;
    EXPECT_EQ(counts.causal, c.causal) << c.nodes;
    EXPECT_EQ(counts.unknown_items.size(), static_cast<size_t>(c.unknown)) << c.nodes;
    EXPECT_EQ(counts.total.lower_bound, c.unknown > 0) << c.nodes;
    EXPECT_EQ(counts.by_op.begin()->second.lower_bound, c.unknown > 0) << c.nodes;
  }
}

TEST(CoverageTest, SaysWhyANodeIsUnknown) {
  const std::pair<const char*, const char*> cases[] = {
      {"y = com.microsoft.CDist<metric = \"taxi\">(m, m)", "the metric 'taxi' is not known"},
      {"y = com.microsoft.Other(m)", "no rule for operator Other of domain com.microsoft"},
  };
  for (const auto& [nodes, reason] : cases) {
    const Inference inference =
        Infer(ModelFromText(absl::StrCat("g (float[3,2] m) => (float[] y) { ", nodes, " }"), 24))
            .value();
    const Counts counts = Count(inference).value();
    ASSERT_EQ(counts.unknown_items.size(), 1u);
    EXPECT_EQ(counts.unknown_items[0].reason, reason);
    EXPECT_EQ(counts.unknown_items[0].domain, "com.microsoft");
    EXPECT_EQ(counts.unknown_items[0].node, 0);
  }
}

// A product of 2^125 multiplications is 2^126 FLOPs, which fits into 128 bits; two of them do not,
// and neither does one of 2^126.
TEST(OverflowTest, IsAnError) {
  constexpr int64_t kRows = int64_t{1} << 42, kColumns = int64_t{1} << 41;
  const auto status = [&](int64_t columns, const char* nodes) {
    const std::string text =
        absl::StrCat("g (float[N,N] x, float[N,M] w) => (float[N,M] y) { ", nodes, " }");
    const Inference inference =
        Infer(ModelFromText(text, 20), {.dims = {{"N", kRows}, {"M", columns}}}).value();
    return Count(inference).status();
  };
  const absl::Status node = status(2 * kColumns, "y = MatMul(x, w)");
  EXPECT_EQ(node.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(node.message()),
              testing::StartsWith("test.onnx: node 'n0' (MatMul, opset 20)"));
  EXPECT_THAT(std::string(node.message()), testing::HasSubstr(": its cost overflows 128 bits"));
  EXPECT_TRUE(status(kColumns, "y = MatMul(x, w)").ok());
  const absl::Status total = status(kColumns, "z = MatMul(x, w) y = MatMul(x, w)");
  EXPECT_EQ(total.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(total.message(), "test.onnx: the total overflows 128 bits");
}

// What each branch costs, where the condition is not known: z of [2,N] or of [7].
TEST(OpenBranchesTest, TheLargerAtEachSizeIsCounted) {
  const struct {
    const char *then_node, *else_node, *flops, *warning;
  } cases[] = {
      {"p = Relu(x)", "q = Relu(x)", "2*N", ""},
      {"p = Relu(x)", "q = Sum(x, x, x)", "4*N", "(FLOPs of then_branch 2*N, of else_branch 4*N)"},
      {"p = Sum(x, x, x)", "q = Relu(x)", "4*N", "(FLOPs of then_branch 4*N, of else_branch 2*N)"},
      {"p = Identity(x)", "q = Relu(x)", "2*N", "(FLOPs of then_branch 0, of else_branch 2*N)"},
      {"p = Relu(x)", "q = Exp(w)", "", "depends on the symbols; at each size the larger one"},
  };
  for (const auto& c : cases) {
    const Counts counts = CountsOf(absl::StrCat(
        "g (bool c, float[2,N] x, float[1,7] w) => (float[A,B] y) { y = If<then_branch = a () => "
        "(float[P,Q] p) { ",
        c.then_node, " }, else_branch = b () => (float[R,S] q) { ", c.else_node, " }>(c) }"));
    ASSERT_EQ(counts.warnings.size(), c.warning[0] == 0 ? 0u : 1u) << c.else_node;
    if (c.warning[0] != 0) {
      EXPECT_THAT(counts.warnings[0], testing::HasSubstr(c.warning));
    }
    for (int64_t n : {1, 3, 4, 9}) {
      const int64_t by_size = std::max<int64_t>(2 * n, 7);
      const Expr expected = c.flops[0] == 0 ? Expr(by_size) : *ParseExpr(c.flops, 1);
      EXPECT_EQ(counts.total.amounts.flops.Substitute({{"N", n}}), expected.Substitute({{"N", n}}));
    }
  }
}

// Whichever is counted, the other may cost more.
TEST(OpenBranchesTest, OneThatIsUnknownMakesALowerBound) {
  for (const char* nodes : {"p = Relu(x) }, else_branch = b () => (float[5] q) { q = NoSuch(x)",
                            "p = NoSuch(x) }, else_branch = b () => (float[5] q) { q = Relu(x)"}) {
    const Counts counts = CountsOf(
        absl::StrCat("g (bool c, float[5] x) => (float[5] y) { y = If<then_branch = a () => "
                     "(float[5] p) { ",
                     nodes, " }>(c) }"));
    EXPECT_EQ(counts.total.amounts.flops, Expr(5));
    EXPECT_TRUE(counts.total.lower_bound);
    ASSERT_EQ(counts.warnings.size(), 1);
    EXPECT_THAT(counts.warnings[0], testing::HasSubstr("_branch unknown"));
  }
}

// Whatever a rule says, no figure is below zero.
TEST(CountTest, WorkBelowZeroIsAnError) {
  Inference inference =
      Infer(ModelFromText("g (float[5] x) => (float[5] y) { y = Relu(x) }", 20)).value();
  OpDef def = *inference.calls[0].def;
  inference.calls[0].def = &def;
  const auto message = [&](CountFn count) {
    def.count = count;
    return std::string(Count(inference).status().message());
  };
  EXPECT_THAT(message([](const NodeView&) -> absl::StatusOr<Cost> {
                Cost cost;
                cost.flops[Kind::kMac] = -3;
                return cost;
              }),
              testing::HasSubstr("(Relu, opset 20): the work comes out as -3 mac, which is less"));
  EXPECT_THAT(message([](const NodeView&) -> absl::StatusOr<Cost> {
                Cost cost;
                cost.int_ops[Kind::kAdd] = -1;
                return cost;
              }),
              testing::HasSubstr("the work comes out as -1 add, which is less than none"));
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
}  // namespace onnxflops::count_test
