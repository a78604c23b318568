// Bounds on time and estimates, worked out by hand: of a device that does an operation, or moves a
// byte, in a picosecond.
#include "src/hardware/roofline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/onnxflops.h"
#include "tests/model_text.h"

namespace onnxflops {
namespace {

constexpr int64_t kPicosecond = 1'000'000'000;  // in zeptoseconds

DeviceChoice OnePerPicosecond() {
  constexpr char kText[] =
      "[[device]]\nname = \"one\"\nsource = \"made up\"\nbytes_per_second = 1e12\n"
      "peaks = { bf16 = 1e12, int8 = 4e12 }\n";
  return {LoadDevices(kText, "one.toml").value()[0], Precision::kBf16};
}

absl::StatusOr<Report> CountOn(const Model& model) {
  CountOptions options;
  options.on_device = OnePerPicosecond();
  options.node_rows = true;
  return Count(model, options);
}

struct TimeCase {
  const char* what;
  const char* text;
  // Picoseconds: the arithmetic and the bytes that have to move, in bf16; the estimates, with
  // float32.
  int64_t arithmetic, compulsory, estimate, fused;
};

// An 8 x 8 product: 2 * 512 FLOPs, 3 * 256 bytes. Relu: 64 FLOPs, 512 bytes. Add, Mul: 64, 768.
constexpr TimeCase kTimes[] = {
    {"memory-bound", "g (float[4,8] x, float[8,2] w) => (float[4,2] y) { y = MatMul(x, w) }", 128,
     (32 + 16 + 8) * 2, (32 + 16 + 8) * 4, 224},
    {"compute-bound", "g (float[8,8] x, float[8,8] w) => (float[8,8] y) { y = MatMul(x, w) }", 1024,
     384, 1024, 1024},
    // Inside of the kernel, h is neither written nor read: 768 bytes.
    {"an activation",
     "g (float[8,8] x, float[8,8] w) => (float[8,8] y) { h = MatMul(x, w) y = Relu(h) }", 1088, 384,
     1024 + 512, 1088},
    {"through a view",
     "g (float[8,8] x, float[8,8] w) => (float[64] y) <int64[1] s = {64}> { h = MatMul(x, w) v = "
     "Reshape(h, s) y = Relu(v) }",
     1088, 384, 1024 + 512, 1088},
    // Two Relus move 512 bytes each; h is written, and read by the second, which is a kernel of
    // MatMul's, too.
    {"what is also an output",
     "g (float[64] x) => (float[64] h, float[64] y) { h = Relu(x) y = Relu(h) }", 128, 384, 1024,
     768},
    // The kernel reads x once, not twice: 256 + 256 + 256 bytes.
    {"a residual",
     "g (float[8,8] x, float[8,8] w) => (float[8,8] y) { h = MatMul(x, w) y = Add(x, "
     "h) }",
     1088, 384, 1024 + 768, 1088},
    {"a shared input is read once",
     "g (float[64] x) => (float[64] y) { h = Relu(x) y = Add(x, h) }", 128, 256, 512 + 768, 512},
    // Sigmoid: 192 FLOPs, 512 bytes. It and Mul join the first product.
    {"a gate",
     "g (float[8,8] x, float[8,8] v, float[8,8] w) => (float[8,8] y) { a = MatMul(x, v) b = "
     "MatMul(x, w) s = Sigmoid(a) y = Mul(s, b) }",
     2048 + 256, 512, 2 * 1024 + 512 + 768, 1024 + 192 + 64 + 1024},
    // Add joins the second product: the first cannot wait for it.
    {"no kernel waits for itself",
     "g (float[8,8] x, float[8,8] v, float[8,8] w) => (float[8,8] y) { h = MatMul(x, v) r = "
     "Relu(h) g = MatMul(r, w) y = Add(r, g) }",
     2048 + 128, 512, 2 * 1024 + 512 + 768, 1088 + 1088},
    {"a broadcast row is no producer",
     "g (float[8] x, float[8,8] w) => (float[8,8] y) { h = Relu(x) y = Add(h, w) }", 72,
     16 + 128 + 128, 64 + 32 + 256 + 256, 64 + 544},
    {"work on constants is done before",
     "g (float[8,8] x) => (float[8,8] y) { c = Constant<value = float[2] {1.0, 2.0}>() d = Relu(c) "
     "y = Relu(x) }",
     64, 256, 512, 512},
    // Only rows of the table are read.
    {"a table", "g (int64[2] i, float[100,8] w) => (float[2,8] y) { y = Gather(w, i) }", 0, 32, 144,
     144},
    // int8 is read and written; 5 FLOPs an element of QuantizeLinear, none of DequantizeLinear.
    {"quantised, as integers",
     "g (int8[64] x, float s, int8 z) => (int8[64] y) { a = DequantizeLinear(x, s, z) b = Relu(a) "
     "y = QuantizeLinear(b, s, z) }",
     64 + 5 * 64, 64 + 2 + 1 + 64, (64 + 256) + (5 * 64), 64 + 5 * 64},
};

TEST(RooflineTest, TimesByHand) {
  for (const TimeCase& c : kTimes) {
    SCOPED_TRACE(c.what);
    const absl::StatusOr<Report> report = CountOn(ModelFromText(c.text, 17));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->modules[0].amounts->time_bound, Expr(c.arithmetic * kPicosecond));
    EXPECT_EQ(*report->roofline->compulsory_bytes, Expr(c.compulsory));
    EXPECT_EQ(report->totals.time_bound, Expr(std::max(c.arithmetic, c.compulsory) * kPicosecond));
    EXPECT_EQ(report->totals.time_estimate, Expr(c.estimate * kPicosecond));
    EXPECT_EQ(*report->roofline->fused_time_estimate, Expr(c.fused * kPicosecond));
  }
}

// What a cache may keep from the run before is in no bound.
TEST(RooflineTest, CacheIsLeftOut) {
  for (const auto& [cache, picoseconds] : {std::pair{100, 284}, {384, 128}, {1000, 128}}) {
    CountOptions options;
    options.on_device = OnePerPicosecond();
    options.on_device->device.cache_bytes = cache;
    const Model model = ModelFromText(
        "g (float[64] x) => (float[64] h, float[64] y) { h = Relu(x) y = Relu(h) }", 17);
    EXPECT_EQ(Count(model, options)->totals.time_bound, Expr(picoseconds * kPicosecond)) << cache;
  }
}

TEST(RooflineTest, OpenSizesStayInTheFormula) {
  const Model model =
      ModelFromText("g (float[N,8] x, float[8,8] w) => (float[N,8] y) { y = MatMul(x, w) }", 17);
  const absl::StatusOr<Report> report = CountOn(model);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.time_estimate,
            Max(128 * kPicosecond * Expr::Symbol("N", 1),
                64 * kPicosecond * Expr::Symbol("N", 1) + 256 * kPicosecond));
  EXPECT_EQ(report->At({{"N", 2}})->time_estimate, Expr(384 * kPicosecond));
  EXPECT_EQ(report->At({{"N", 8}})->time_estimate, Expr(1024 * kPicosecond));
  EXPECT_EQ(report->At({{"N", 1}})->time_bound, Expr((16 + 128 + 16) * kPicosecond));
  EXPECT_EQ(report->At({{"N", 8}})->time_bound, Expr(1024 * kPicosecond));
}

TEST(RooflineTest, RowsSumToTheModel) {
  for (const char* name : {"llama-tiny", "lstm", "mobilenet-v3-large"}) {
    SCOPED_TRACE(name);
    const std::string path = absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", name, ".onnx");
    const absl::StatusOr<Model> model = Load(path);
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::StatusOr<Report> report = CountOn(*model);
    ASSERT_TRUE(report.ok()) << report.status();
    for (Expr Amounts::*time : {&Amounts::time_bound, &Amounts::time_estimate}) {
      const Expr& root = (*report->modules[0].amounts).*time;
      Expr operators, nodes;
      for (const OpRow& row : report->by_op) operators += row.*time;
      for (const NodeRow& row : report->nodes) nodes += row.*time;
      EXPECT_EQ(operators, root);
      EXPECT_EQ(nodes, root);
      EXPECT_FALSE(root.is_zero());
    }
    EXPECT_EQ(report->modules[0].amounts->time_estimate, report->totals.time_estimate);
  }
}

// What an operator without a rule does is left out; the Relu behind it, 32 FLOPs, is not.
TEST(RooflineTest, WithoutARule) {
  const absl::StatusOr<Report> report = CountOn(ModelFromText(
      "g (float[4,8] x) => (float[4,8] y) { h = com.microsoft.NoSuchOperator(x, , x) y = Relu(h) }",
      17));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->coverage.unknown, 2);  // and Relu, whose input is not known
  EXPECT_TRUE(report->roofline->fused_time_estimate.has_value());
}

TEST(RooflineTest, IntegerWorkCountsWhereIntegersAreMultiplied) {
  const struct {
    int64_t size, picoseconds;
  } cases[] = {
      {8, 64 + 64 + 256},          // bytes; 1024 operations at 4 a picosecond are fewer
      {64, 2 * 64 * 64 * 64 / 4},  // operations; 24576 bytes are fewer
      {128, 2 * 128 * 128 * 128 / 4},
  };
  for (const auto& c : cases) {
    const std::string shape = absl::StrCat("[", c.size, ",", c.size, "]");
    const Model model =
        ModelFromText(absl::StrCat("g (int8", shape, " x, int8", shape, " w) => (int32", shape,
                                   " y) { y = MatMulInteger(x, w) }"),
                      17);
    CountOptions options;
    options.on_device = OnePerPicosecond();
    options.on_device->precision = Precision::kInt8;
    const absl::StatusOr<Report> report = Count(model, options);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.time_bound, Expr(c.picoseconds * kPicosecond)) << c.size;
  }
}

// A model in QDQ form runs as integers. It is no slower than the same model in floating point.
TEST(RooflineTest, QuantisedIsNoSlower) {
  CountOptions options;
  options.on_device = DeviceChoice{*FindDevice("a100-sxm"), Precision::kInt8};
  const auto times = [&](const char* name) {
    const std::string path = absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", name);
    const Report report = Count(Load(path).value(), options).value();
    return std::make_pair(report.totals.time_estimate.literal(),
                          report.roofline->fused_time_estimate->literal());
  };
  const auto quantised = times("deployed/resnet50.qdq_s8.onnx"), plain = times("resnet50.onnx");
  EXPECT_LT(quantised.first, plain.first);
  EXPECT_LT(quantised.second, plain.second);
}

TEST(RooflineTest, WhatIsBlankIsAnError) {
  const absl::Status peak = RooflineOf(*FindDevice("a100"), Precision::kFp8).status();
  EXPECT_EQ(peak.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(peak.message().find("the nearest is bf16, 312 TFLOP/s"), std::string::npos) << peak;
  Device without_bandwidth = *FindDevice("a40");
  without_bandwidth.bytes_per_second = std::nullopt;
  EXPECT_FALSE(RooflineOf(without_bandwidth, Precision::kBf16).ok());
  EXPECT_FALSE(RooflineOf(*FindDevice("cpu:8:3:avx2"), Precision::kFp32).ok());
  EXPECT_TRUE(RooflineOf(*FindDevice("cpu:8:3:avx2:50"), Precision::kFp32).ok());
  EXPECT_FALSE(RooflineOf(*FindDevice("cpu:1:0.001:avx2:50"), Precision::kFp32).ok());
  CountOptions options;
  options.on_device = OnePerPicosecond();
  const Model model = ModelFromText("g (float[4] x) => (float[4] y) { y = Relu(x) }", 17);
  EXPECT_EQ(CountAs(model, options, "thop").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace onnxflops
