// Bounds on time and estimates, worked out by hand: of a device that does an operation, or moves a
// byte, in a picosecond.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "src/hardware/time_bound.h"
#include "src/onnxflops.h"
#include "src/report/model_rows.h"
#include "src/report/view.h"
#include "src/report/viewer_formats.h"
#include "tests/model_text.h"

namespace onnxflops::roofline_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kPicosecond = 1'000'000'000;  // in zeptoseconds

DeviceChoice OnePerPicosecond() {
  constexpr char kText[] =
      "[[device]]\nname = \"one\"\nsource = \"made up\"\nbytes_per_second = 1e12\n"
      "peaks = { bf16 = 1e12, int8 = 4e12 }\n";
  DeviceChoice one = {LoadDevices(kText, "one.toml").value()[0], Precision::kBf16};
  one.device.cache_bytes = 0;
  return one;
}

absl::StatusOr<Report> CountOn(const Model& model) {
  CountOptions options;
  options.on_device = OnePerPicosecond();
  options.node_rows = true;
  return Count(model, options);
}

// Of all operators. The row of the model also covers the bytes of a run.
Expr ArithmeticOf(const Report& report) {
  Expr sum = 0;
  for (const OpRow& op : report.by_op) sum += op.time_bound;
  return sum;
}

struct TimeCase {
  const char* what;
  const char* text;
  // Picoseconds: the multiply-accumulates and the bytes that have to move, in bf16; the estimates,
  // with float32.
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
     "g (float[8,8] x, float[8,8] w) => (float[8,8] y) { h = MatMul(x, w) y = Relu(h) }", 1024, 384,
     1024 + 512, 1088},
    {"through a view",
     "g (float[8,8] x, float[8,8] w) => (float[64] y) <int64[1] s = {64}> { h = MatMul(x, w) v = "
     "Reshape(h, s) y = Relu(v) }",
     1024, 384, 1024 + 512, 1088},
    // Two Relus move 512 bytes each; h is written, and read by the second, which is a kernel of
    // MatMul's, too.
    {"what is also an output",
     "g (float[64] x) => (float[64] h, float[64] y) { h = Relu(x) y = Relu(h) }", 0, 384, 1024,
     768},
    // The kernel reads x once, not twice: 256 + 256 + 256 bytes.
    {"a residual",
     "g (float[8,8] x, float[8,8] w) => (float[8,8] y) { h = MatMul(x, w) y = Add(x, "
     "h) }",
     1024, 384, 1024 + 768, 1088},
    {"a shared input is read once",
     "g (float[64] x) => (float[64] y) { h = Relu(x) y = Add(x, h) }", 0, 256, 512 + 768, 512},
    // Sigmoid: 192 FLOPs, 512 bytes. It and Mul join the first product.
    {"a gate",
     "g (float[8,8] x, float[8,8] v, float[8,8] w) => (float[8,8] y) { a = MatMul(x, v) b = "
     "MatMul(x, w) s = Sigmoid(a) y = Mul(s, b) }",
     2048, 512, 2 * 1024 + 512 + 768, 1024 + 192 + 64 + 1024},
    // Add joins the second product: the first cannot wait for it.
    {"no kernel waits for itself",
     "g (float[8,8] x, float[8,8] v, float[8,8] w) => (float[8,8] y) { h = MatMul(x, v) r = "
     "Relu(h) g = MatMul(r, w) y = Add(r, g) }",
     2048, 512, 2 * 1024 + 512 + 768, 1088 + 1088},
    {"a broadcast row is no producer",
     "g (float[8] x, float[8,8] w) => (float[8,8] y) { h = Relu(x) y = Add(h, w) }", 0,
     16 + 128 + 128, 64 + 32 + 256 + 256, 64 + 544},
    {"work on constants is done before",
     "g (float[8,8] x) => (float[8,8] y) { c = Constant<value = float[2] {1.0, 2.0}>() d = Relu(c) "
     "y = Relu(x) }",
     0, 256, 512, 512},
    // Only rows of the table are read.
    {"a table", "g (int64[2] i, float[100,8] w) => (float[2,8] y) { y = Gather(w, i) }", 0, 32, 144,
     144},
    // int8 is read and written; 5 FLOPs an element of QuantizeLinear, none of DequantizeLinear.
    {"quantised, as integers",
     "g (int8[64] x, float s, int8 z) => (int8[64] y) { a = DequantizeLinear(x, s, z) b = Relu(a) "
     "y = QuantizeLinear(b, s, z) }",
     0, 64 + 2 + 1 + 64, (64 + 256) + (5 * 64), 64 + 5 * 64},
};

// Multiply-accumulates that no program can leave out.
struct LeastCase {
  const char* what;
  const char* text;
  int64_t macs;
  int opset = 23;
};
constexpr LeastCase kLeast[] = {
    // Of 3 elements each, the first and the last of 4 windows have 2 on the input.
    {"padding",
     "g (float[1,1,4,4] x, float[1,1,3,3] w) => (float[1,1,4,4] y) { y = Conv<pads=[1,1,1,1]>(x, "
     "w) }",
     10 * 10},
    // Every output of 8 meets all 8.
    {"more padding than input",
     "g (float[1,2,8,8] x, float[3,2,31,31] w) => (float[1,3,8,8] y) { y = "
     "Conv<pads=[15,15,15,15]>(x, w) }",
     6 * 64 * 64},
    // At -1, 0, 1; 1, 2, 3; 3, 4, 5.
    {"stride",
     "g (float[1,1,5] x, float[1,1,3] w) => (float[1,1,3] y) { y = Conv<pads=[1,1], "
     "strides=[2]>(x, w) }",
     2 + 3 + 2},
    // At o - 2, o, o + 2: two of them are within 4.
    {"dilation",
     "g (float[1,1,4] x, float[1,1,3] w) => (float[1,1,4] y) { y = Conv<pads=[2,2], "
     "dilations=[2]>(x, w) }",
     4 * 2},
    {"groups",
     "g (float[2,6,4] x, float[6,2,3] w) => (float[2,6,4] y) { y = Conv<pads=[1,1], group=3>(x, w) "
     "}",
     2 * 6 * 2 * 10},
    // At 0, 1, 2; 2, 3, 4.
    {"same, upper",
     "g (float[1,1,4] x, float[1,1,3] w) => (float[1,1,2] y) { y = Conv<auto_pad=\"SAME_UPPER\", "
     "strides=[2]>(x, w) }",
     3 + 2},
    // At -1, 0, 1; 1, 2, 3.
    {"same, lower",
     "g (float[1,1,4] x, float[1,1,3] w) => (float[1,1,2] y) { y = Conv<auto_pad=\"SAME_LOWER\", "
     "strides=[2]>(x, w) }",
     2 + 3},
    {"no padding", "g (float[1,1,70] x, float[1,1,66] w) => (float[1,1,5] y) { y = Conv(x, w) }",
     5 * 66},
    {"a kernel that is not looked at",
     "g (float[1,1,70] x, float[1,1,66] w) => (float[1,1,7] y) { y = Conv<pads=[1,1]>(x, w) }", 0},
    // To -1 .. 2, 1 .. 4, 3 .. 6, of which 0 .. 5 are there.
    {"outputs cut away",
     "g (float[1,2,3] x, float[2,5,4] w) => (float[1,5,6] y) { y = ConvTranspose<pads=[1,1], "
     "strides=[2]>(x, w) }",
     10 * (3 + 4 + 3)},
    // To -1 .. 1, 1 .. 3, 3 .. 5.
    {"outputs cut to a shape",
     "g (float[1,1,3] x, float[1,1,3] w) => (float[1,1,6] y) { y = ConvTranspose<output_shape=[6], "
     "strides=[2]>(x, w) }",
     2 + 3 + 3},
    {"nothing cut away",
     "g (float[1,1,3] x, float[1,1,3] w) => (float[1,1,7] y) { y = ConvTranspose<strides=[2]>(x, "
     "w) }",
     9},
    // 1 + 2 + 3 + 4 pairs in each of 2 heads.
    {"causal",
     "g (float[1,2,4,8] q, float[1,2,4,8] k, float[1,2,4,6] v) => (float[1,2,4,6] y) { y = "
     "Attention<is_causal=1>(q, k, v) }",
     2 * 10 * (8 + 6)},
    {"all pairs",
     "g (float[1,2,4,8] q, float[1,2,4,8] k, float[1,2,4,6] v) => (float[1,2,4,6] y) { y = "
     "Attention(q, k, v) }",
     2 * 16 * (8 + 6)},
    {"a mask that is data",
     "g (float[1,2,4,8] q, float[1,2,4,8] k, float[1,2,4,6] v, bool[4,4] m) => (float[1,2,4,6] y) "
     "{ y = Attention(q, k, v, m) }",
     0},
    // 1 + 2 + 2 + 2 pairs.
    {"a window",
     "g (float[1,4,16] q, float[1,4,16] k, float[1,4,16] v, int32[1] l) => (float[1,4,16] y, "
     "float[1,2,4,8] pk, float[1,2,4,8] pv) <int32 t = {4}> { y, pk, pv = "
     "com.microsoft.GroupQueryAttention<num_heads=2, kv_num_heads=2, local_window_size=2>(q, k, v, "
     ", , l, t) }",
     2 * 7 * (8 + 8)},
    // The first of 3 steps has no state: 4 gates of 3 * 4 * 2 and 2 * 4 * 4.
    {"a state of zeros",
     "g (float[3,1,2] x, float[1,16,2] w, float[1,16,4] r) => (float[3,1,1,4] y) { y = "
     "LSTM<hidden_size=4>(x, w, r) }",
     4 * (24 + 32), 22},
    {"lengths that are data",
     "g (float[3,1,2] x, float[1,16,2] w, float[1,16,4] r, int32[1] l) => (float[3,1,1,4] y) { y = "
     "LSTM<hidden_size=4>(x, w, r, , l) }",
     0, 22},
    {"an order of products",
     "g (float[2,3] a, float[3,4] b, float[4,5] c) => (float[2,5] y) { y = "
     "Einsum<equation=\"ij,jk,kl->il\">(a, b, c) }",
     0},
};

TEST(RooflineTest, LeastByHand) {
  for (const LeastCase& c : kLeast) {
    SCOPED_TRACE(c.what);
    const absl::StatusOr<Report> report = CountOn(ModelFromText(c.text, c.opset));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(report->totals.macs.is_zero());
    EXPECT_EQ(ArithmeticOf(*report), Expr(2 * c.macs * kPicosecond));
  }
}

// 64 MACs are 128 ps; 8 + 64 + 8 numbers of 2 bytes, which take longer, are 160 ps.
constexpr char kBytesBind[] =
    "agraph (float[1, 8] x, float[8, 8] w) => (float[1, 8] y) { y = MatMul (x, w) }";

TEST(RooflineTest, TheTimeOfARunIsTheSameInEveryFormat) {
  const Report report = CountOn(ModelFromText(kBytesBind, 17)).value();
  const char* const seconds = "0.00000000016";
  EXPECT_EQ(ExactText(QuantityOf(&Amounts::time_bound), report.totals.time_bound.literal()),
            seconds);
  const ModelRow rows[] = {MakeModelRow(report), MakeModelRow(report)};
  for (const std::string& text : std::vector<std::string>{
           ToJson(report), ToCsv(absl::MakeConstSpan(&report, 1), ViewOptions()),
           ToCsv(absl::MakeConstSpan(rows))}) {
    EXPECT_THAT(text, HasSubstr(seconds));
  }
  EXPECT_THAT(ToCsv(absl::MakeConstSpan(rows)), HasSubstr(",lower_bound,device,dtype\n"));
  ViewOptions by_time;
  by_time.sort = FindFigure("time_bound_seconds").value();
  EXPECT_THAT(ToModelExplorer(report, by_time), HasSubstr("0.000000000128"));
  EXPECT_THAT(ToFolded(report, by_time), IsEmpty());  // in whole nanoseconds
  // 1,000 rows of 128 ps, in microseconds.
  const char* const rows_of_it =
      "agraph (float[1000, 8] x, float[8, 8] w) => (float[1000, 8] y) { y = MatMul (x, w) }";
  const std::string trace = ToPerfetto(CountOn(ModelFromText(rows_of_it, 17)).value(), by_time);
  EXPECT_THAT(trace, HasSubstr("\"dur\": 0.128, "));
  EXPECT_THAT(trace, HasSubstr("\"a_microsecond_is\": \"0.000001 s\""));
}

TEST(RooflineTest, AReportWithATimeIsReadBack) {
  const Report report = CountOn(ModelFromText(kBytesBind, 17)).value();
  const absl::StatusOr<Report> read = ReadReport(ToJson(report), "report.json");
  ASSERT_TRUE(read.ok()) << read.status();
  const absl::StatusOr<Diff> diff = MakeDiff(&*read, report);
  ASSERT_TRUE(diff.ok()) << diff.status();
  EXPECT_TRUE(diff->IsEmpty());
  const Quantity& time = QuantityOf(&Amounts::time_bound);
  EXPECT_EQ(diff->modules[0].HeadOf(time), report.totals.time_bound);
}

// Of a run: 2 * 8 picoseconds for each product.
TEST(RooflineTest, WhatARunCanLeaveOut) {
  const struct {
    const char* what;
    const char* text;
    int64_t products;
  } cases[] = {
      {"nothing reads it",
       "g (float[2,2] x) => (float[2,2] y) { y = MatMul(x, x) z = MatMul(y, x) u = MatMul(z, y) }",
       1},
      {"the same again",
       "g (float[2,2] x) => (float[2,2] y) { a = MatMul(x, x) b = MatMul(x, x) c = MatMul(a, x) d ="
       " MatMul(b, x) y = Add(c, d) }",
       2},
      {"only its shape",
       "g (float[2,2] x) => (int64[2] s, float[2,2] y) { a = MatMul(x, x) s = Shape(a) y = "
       "MatMul(x, x) }",
       1},
      {"the branch of less",
       "g (float[2,2] x, bool b) => (float[2,2] y) { y = If(b) <then_branch = t () => (float[2,2] "
       "a)"
       " { a = MatMul(x, x) }, else_branch = e () => (float[2,2] d) { c = MatMul(x, x) d = MatMul("
       "c, x) }> }",
       1},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    CountOptions options;
    options.on_device = OnePerPicosecond();
    options.on_device->device.cache_bytes = 1000;
    const absl::StatusOr<Report> report = Count(ModelFromText(c.text, 17), options);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.time_bound, Expr(c.products * 16 * kPicosecond));
  }
}

// Sizes that are bound afterwards give the same bound.
TEST(RooflineTest, PaddingOfOpenSizes) {
  const Model model = ModelFromText(
      "g (float[N,1,L] x, float[1,1,3] w) => (float[N,1,M] y) { y = Conv<pads=[1,1], strides=[2]>"
      "(x, w) }",
      17);
  CountOptions options;
  options.on_device = OnePerPicosecond();
  options.on_device->device.cache_bytes = 1'000'000;
  const Report report = Count(model, options).value();
  for (const auto& [length, macs] : {std::pair{1, 1}, {2, 2}, {5, 7}, {6, 8}}) {
    EXPECT_EQ(report.At({{"N", 1}, {"L", length}})->time_bound, Expr(2 * macs * kPicosecond))
        << length;
  }
}

// A device of 1 FLOP/ps in fp32 and 2 in bf16, asked for fp32: operands that are narrower
// may run at the peak of theirs.
TEST(RooflineTest, NarrowerThanThePrecision) {
  constexpr char kText[] =
      "[[device]]\nname = \"one\"\nsource = \"by hand\"\nbytes_per_second = 1e12\n"
      "peaks = { fp32 = 1e12, bf16 = 2e12 }\n";
  const std::pair<const char*, int64_t> cases[] = {{"float", 16}, {"float16", 8}, {"bfloat16", 8}};
  for (const auto& [type, picoseconds] : cases) {
    CountOptions options;
    options.on_device = {LoadDevices(kText, "one.toml").value()[0], Precision::kFp32};
    const std::string x = absl::StrCat(type, "[2,2]");
    const Model model =
        ModelFromText(absl::StrCat("g (", x, " x) => (", x, " y) { y = MatMul(x, x) }"), 23);
    const absl::StatusOr<Report> report = Count(model, options);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(ArithmeticOf(*report), Expr(picoseconds * kPicosecond)) << type;
  }
}

// What a run has to move, in bf16: 2 bytes an element.
TEST(RooflineTest, WhatARunNeedNotRead) {
  const struct {
    const char* what;
    const char* text;
    int64_t elements;
  } cases[] = {
      {"weights of no rows",
       "g (float[0,8] x, float[8,8] w) => (float[0,8] y) { y = MatMul(x, w) }", 0},
      {"a stride over the window",
       "g (float[1,1,9] x, float[1,1,1] w) => (float[1,1,3] y) { y = Conv<strides=[4]>(x, w) }",
       1 + 3},
      // 0, 1, 2; 2, 3, 4; 4, 5, 6.
      {"an end that no window has",
       "g (float[1,1,8] x, float[1,1,3] w) => (float[1,1,3] y) { y = Conv<strides=[2]>(x, w) }",
       7 + 3 + 3},
      // -1, 0, 1; 1, 2, 3; 3, 4, 5.
      {"an end on padding",
       "g (float[1,1,5] x, float[1,1,3] w) => (float[1,1,3] y) { y = Conv<pads=[1,1], "
       "strides=[2]>(x, w) }",
       5 + 3 + 3},
      // 0, 1, 2; 2, 3, 4.
      {"an end on padding of its own",
       "g (float[1,1,4] x, float[1,1,3] w) => (float[1,1,2] y) { y = Conv<auto_pad=\"SAME_UPPER\", "
       "strides=[2]>(x, w) }",
       4 + 3 + 2},
      {"between the elements of windows",
       "g (float[1,1,5] x, float[1,1,3] w) => (float[1,1,1] y) { y = Conv<dilations=[2]>(x, w) }",
       3 + 1},
      {"side by side",
       "g (float[1,1,6] x, float[1,1,3] w) => (float[1,1,2] y) { y = Conv<dilations=[2]>(x, w) }",
       6 + 3 + 2},
      {"a pool",
       "g (float[1,2,9] x) => (float[1,2,3] y) { y = MaxPool<kernel_shape=[1], strides=[4]>(x) }",
       6},
      {"the nearest",
       "g (float[1,1,8] x) => (float[1,1,2] y) <float[3] s = {1.0, 1.0, 0.25}> { y ="
       " Resize<mode=\"nearest\">(x, , s) }",
       2},
      {"one of two", "g (bool c, float[8] a, float[8] b) => (float[8] y) { y = Where(c, a, b) }",
       8},
      {"a part that nobody reads", "g (float[8] x) => (float[4] y) { y, z = Split(x) }", 4},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const absl::StatusOr<Report> report = CountOn(ModelFromText(c.text, 17));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(*report->roofline->compulsory_bytes, Expr(2 * c.elements));
  }
}

TEST(RooflineTest, TimesByHand) {
  for (const TimeCase& c : kTimes) {
    SCOPED_TRACE(c.what);
    const absl::StatusOr<Report> report = CountOn(ModelFromText(c.text, 17));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(ArithmeticOf(*report), Expr(c.arithmetic * kPicosecond));
    EXPECT_EQ(*report->roofline->compulsory_bytes, Expr(c.compulsory));
    EXPECT_EQ(report->totals.time_bound, Expr(std::max(c.arithmetic, c.compulsory) * kPicosecond));
    EXPECT_EQ(report->modules[0].amounts->time_bound, report->totals.time_bound);
    EXPECT_EQ(report->totals.time_estimate, Expr(c.estimate * kPicosecond));
    EXPECT_EQ(*report->roofline->fused_time_estimate, Expr(c.fused * kPicosecond));
  }
}

// What a cache may keep from the run before is in no bound: of a cache of unknown size, anything.
TEST(RooflineTest, CacheIsLeftOut) {
  const std::pair<std::optional<int64_t>, int64_t> cases[] = {
      {100, 284}, {384, 0}, {1000, 0}, {std::nullopt, 0}};
  for (const auto& [cache, picoseconds] : cases) {
    CountOptions options;
    options.on_device = OnePerPicosecond();
    options.on_device->device.cache_bytes = cache;
    const Model model = ModelFromText(
        "g (float[64] x) => (float[64] h, float[64] y) { h = Relu(x) y = Relu(h) }", 17);
    EXPECT_EQ(Count(model, options)->totals.time_bound, Expr(picoseconds * kPicosecond))
        << cache.value_or(-1);
  }
}

// Integers are multiplied as fast as the device can, whatever the rest is computed in.
TEST(RooflineTest, IntegersInAnyPrecision) {
  const Model model = ModelFromText(
      "g (int8[8,8] x, int8[8,8] w) => (int32[8,8] y) { y = MatMulInteger(x, w) }", 17);
  CountOptions options;
  options.on_device = OnePerPicosecond();
  options.on_device->device.cache_bytes = 1000;
  EXPECT_EQ(Count(model, options)->totals.time_bound, Expr(2 * 512 / 4 * kPicosecond));
  options.on_device->device.peaks.pop_back();  // that of int8
  EXPECT_EQ(Count(model, options)->totals.time_bound, Expr(0));
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
    EXPECT_EQ(report->modules[0].amounts->time_bound, report->totals.time_bound);
    for (Expr Amounts::*time : {&Amounts::time_bound, &Amounts::time_estimate}) {
      const bool is_bound = time == &Amounts::time_bound;
      const Expr& root =
          is_bound ? *report->roofline->arithmetic_time : (*report->modules[0].amounts).*time;
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

// The bytes of a run take 2 + 224 + 224 ps, its products 128 + 64 + 32: no row has the rest.
TEST(RooflineTest, NoRowHasTheBytesOfARun) {
  const Model model = ModelFromText(
      "g (float[1,1] x, float[1,64] u, float[1,32] v, float[1,16] w) => (float[1,64] a, "
      "float[1,32] b, float[1,16] c) { a = MatMul(x, u) b = MatMul(x, v) c = MatMul(x, w) }",
      17);
  const Report report = CountOn(model).value();
  EXPECT_EQ(report.totals.time_bound, Expr(450 * kPicosecond));
  const Figure bound = FindFigure("time_bound_seconds").value();
  const TextTable table = report::MakeTable(
      report, {.by = GroupBy::kNode, .top = 1, .sort = bound, .columns = {bound}});
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].cells.back(), "128.0 ps");
  EXPECT_EQ(table.rows[1].cells.back(), "96.00 ps");
  EXPECT_THAT(table.notes, testing::Contains(HasSubstr("is that of its bytes; rows have only")));
}

}  // namespace
}  // namespace onnxflops::roofline_test
