// Lines of a log whose fields cannot all be true, or that no model could have run.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/monitor/monitor.h"
#include "src/monitor/step_log.h"
#include "src/symbolic/expr.h"

namespace onnxflops::step_conflicts_test {
namespace {

// What a monitor finds wrong with a line of one device, and the line's MFU and padding: 10 FLOPs
// for each of 2 x 4 places, at a peak of 100.
struct FieldsCase {
  const char* fields;
  std::string problem;
  double mfu = -1, padding = -1;
};

void ExpectFields(const std::vector<FieldsCase>& cases, const Bindings& bound = {}) {
  for (const FieldsCase& c : cases) {
    StepWork work;
    work.flops = ParseExpr("10*batch*seq")->Substitute(bound);
    work.batch = "batch";
    work.sequences = {"seq"};
    work.bindings = bound;
    Monitor monitor(work, {.every = 1, .devices = 1, .devices_of_log = true, .peak = 100});
    std::vector<std::string> problems;
    const StepRecord record =
        **StepLog().Read(absl::StrCat(R"({"step": 1, "step_seconds": 1, )", c.fields, "}"));
    const MonitorPoint point = *monitor.Take(record, &problems).value();
    monitor.Finish(&problems);
    EXPECT_EQ(problems.empty() ? "" : problems.back(), c.problem) << c.fields;
    EXPECT_EQ(point.mfu.value_or(-1), c.mfu) << c.fields;
    EXPECT_EQ(point.padding.value_or(-1), c.padding) << c.fields;
  }
}

// The rectangle ran, so its FLOPs count, and its padding is told.
TEST(StepConflictsTest, TokensOfARectangle) {
  const std::string padded =
      "less than batch x length = 8: the rest is padding (perf/padding), which FLOPs include; "
      "lengths count each sample without it";
  const std::string none = ": no utilisation of this step";
  ExpectFields({
      {R"("batch": 2, "seq": 4)", "", 0.8},
      {R"("batch": 2, "seq": 4, "mask_sum": 8)", "", 0.8},
      {R"("batch": 2, "seq": 4, "mask_sum": 7)", "", 0.8, 0.125},
      {R"("batch": 2, "seq": 4, "mask_sum": 4)", "mask_sum is 4, " + padded, 0.8, 0.5},
      {R"("batch": 2, "seq": 4, "tokens": 4)", "tokens is 4, " + padded, 0.8, 0.5},
      {R"("batch": 2, "seq": 4, "mask_sum": 9)",
       "mask_sum is 9, more than batch x length = 8" + none},
      {R"("batch": 2, "seq": 4, "mask_sum": 0)", "mask_sum is 0" + none},
      {R"("batch": 2, "seq": 4, "tokens": 0)", "tokens is 0" + none},
      {R"("batch": 2, "seq": 4, "tokens": 9)",
       "tokens is 9, more than batch x length = 8: FLOPs are of the latter, perf/tokens_per_second "
       "of the former",
       0.8},
      // The batch or the length follows from the tokens.
      {R"("seq": 4, "mask_sum": 5)", "", 0.5},
      {R"("batch": 2, "mask_sum": 5)", "", 0.6},
  });
  ExpectFields(
      {{R"("batch": 2, "mask_sum": 9)", "mask_sum is 9, more than batch x length = 8" + none}},
      {{"seq", 4}});
}

// Two fields that cannot both be true.
TEST(StepConflictsTest, FieldsBesideLengths) {
  const std::string none = ": no utilisation of this step";
  const std::string whole = ": it should have those of all devices and runs of the step" + none;
  ExpectFields({
      {R"("lengths": [4, 2], "batch": 2, "seq": 4, "mask_sum": 6)", "", 0.6, 0.25},
      {R"("lengths": [4, 2])", "", 0.6, 0.25},
      {R"("lengths": [4, 2], "seq": 6)", "", 0.6, 0.5},
      {R"("cu_seqlens": [0, 4, 6])", "", 0.6},
      {R"("cu_seqlens": [0, 4, 6], "batch": 1, "seq": 8)", "", 0.6, 0.25},
      {R"("cu_seqlens": [0, 4, 6], "batch": 2, "seq": 8)", "", 0.6},
      {R"("lengths": [4, 2], "batch_size": 3)",
       "lengths has 2 samples, and batch_size is 3" + none},
      {R"("cu_seqlens": [0, 4, 6], "batch": 3)", "cu_seqlens has 2 samples, and batch is 3" + none},
      {R"("lengths": [4, 2], "per_device_train_batch_size": 2, "world_size": 8)",
       "lengths has 2 samples, and the batch of the step is 16" + whole},
      {R"("lengths": [4, 2], "batch_size": 2, "gradient_accumulation_steps": 3)",
       "lengths has 2 samples, and batch_size is 6" + whole},
      {R"("lengths": [4, 2], "seq": 3)",
       "lengths: sample 1 has 4 tokens, and the length of the batch is 3" + none},
      {R"("cu_seqlens": [0, 4, 6], "batch": 1, "seq": 5)",
       "cu_seqlens has 6 tokens, more than batch x length = 5" + none},
      {R"("lengths": [4, 2], "mask_sum": 5)",
       "mask_sum is 5, and the sum over samples is 6" + none},
      {R"("lengths": [4, 2], "tokens": 5)",
       "tokens is 5, less than the sum over samples = 6: the latter is used", 0.6, 0.25},
      {R"("lengths": [4, 2], "world_size": 2)",
       "lengths is read as that of the whole step, on 2 devices", 0.3, 0.25},
      {R"("lengths": [4, 2], "world_size": 4)",
       "lengths has fewer samples than 4 devices: it is read as that of the whole step, and may be "
       "that of one part",
       0.15, 0.25},
  });
  ExpectFields({{R"("lengths": [4, 2])",
                 "dim seq=5 is given, and each sample has its own: leave it out" + none, -1, 0.25}},
               {{"seq", 5}});
  ExpectFields({{R"("lengths": [4, 2])",
                 "dim batch=2 is given, and lengths tells how many samples a step has: leave it "
                 "out" +
                     none,
                 -1, 0.25}},
               {{"batch", 2}});
}

// A step of batch x n tokens squared, of which each image of h x w patches has h*w/4.
StepWork ImageWork() {
  StepWork work;
  work.flops = *ParseExpr("batch*(seq + grid_t*floor(grid_h/2)*floor(grid_w/2))^2");
  work.batch = "batch";
  work.sequences = {"seq"};
  work.image_tokens = *ParseExpr("grid_t*floor(grid_h/2)*floor(grid_w/2)");
  return work;
}

struct LineCase {
  std::string fields;
  std::string fault;
  double flops = 0, tokens = 0;
};

void ExpectLines(const StepWork& work, const std::vector<LineCase>& cases) {
  for (const LineCase& c : cases) {
    Monitor monitor(work, {.every = 1, .devices = 1, .peak = 1});
    std::vector<std::string> problems;
    const StepRecord record =
        **StepLog().Read(R"({"step": 2, "step_seconds": 1, )" + c.fields + "}");
    const std::optional<MonitorPoint> point = monitor.Take(record, &problems).value();
    ASSERT_TRUE(point) << c.fields;
    EXPECT_EQ(problems, c.fault.empty() ? std::vector<std::string>() : std::vector{c.fault});
    EXPECT_EQ(point->flops_per_second.value_or(0), c.flops) << c.fields;
    EXPECT_EQ(point->tokens_per_second.value_or(0), c.tokens) << c.fields;
  }
}

// Two samples of 10 and 6 tokens, 8 and 3 of them of images: where they begin in a row is 0 and 10.
TEST(StepConflictsTest, ARowHasTheTokensOfItsImages) {
  const std::string row = R"("cu_seqlens": [0, 10, 16], )";
  ExpectLines(
      ImageWork(),
      {{R"("lengths": [2, 3], "grid_thw": [[1, 4, 8], [1, 6, 2]])", "", 100 + 36, 16},
       {row + R"("grid_thw": [[1, 4, 8], [1, 6, 2]])", "", 100 + 36, 16},
       {row + R"("grid_thw": [[[1, 4, 8]], []])", "", 100 + 36, 16},
       {row + R"("grid_thw": [[1, 4, 8], [1, 6, 6]])",
        "cu_seqlens: sample 2 has 6 tokens, and its images have 9: no utilisation of this step"}});
}

// Beside it, lengths are those of the texts, or the same as it says.
TEST(StepConflictsTest, LengthsBesideARow) {
  const std::string row = R"("cu_seqlens": [0, 10, 16], "grid_thw": [[1, 4, 8], [1, 6, 2]], )";
  ExpectLines(ImageWork(),
              {{row + R"("lengths": [2, 3])", "", 100 + 36, 16},
               {row + R"("lengths": [10, 6])", "", 100 + 36, 16},
               {row + R"("lengths": [3, 2])",
                "lengths and cu_seqlens are of different samples: no utilisation of this step"}});
}

TEST(StepConflictsTest, SizesOfImages) {
  StepWork work = ImageWork();
  work.multiples = {{"grid_h", 2}, {"grid_w", 2}};
  const std::string texts = R"("lengths": [2, 3], "grid_t": 1, "grid_w": 8, )";
  ExpectLines(work,
              {{texts + R"("grid_h": 4)", "", 100 + 121, 21},
               {texts + R"("grid_h": 4, "grid_thw": [[1, 4, 8], [1, 4, 8]])", "", 100 + 121, 21},
               {texts + R"("grid_h": 4, "grid_thw": [[1, 4, 8], [1, 6, 8]])",
                "grid_h is 4, and an image of grid_thw has 6: no utilisation of this step"},
               {texts + R"("grid_h": 5)",
                "grid_h is 5, which is no multiple of 2: no utilisation of this step"},
               {R"("batch": 0, "seq": 3, "grid_t": 1, "grid_h": 4, "grid_w": 8)",
                "batch is 0: no utilisation of this step"},
               {R"("batch": 2, "seq": 0, "grid_t": 1, "grid_h": 4, "grid_w": 8)",
                "seq is 0: no utilisation of this step"},
               {R"("lengths": [2, 3], "grid_t": 1, "grid_h": [4, 6], "grid_w": 8)",
                "grid_h is a list, which is no size: no utilisation of this step"}});
}

// Of rows of 11 tokens, 8 of them of an image, the samples have 10 and 11.
TEST(StepConflictsTest, PaddingBesideImagesOfOneSize) {
  Monitor monitor(ImageWork(), {.every = 1, .devices = 1, .peak = 1});
  std::vector<std::string> problems;
  const StepRecord record = **StepLog().Read(
      R"({"step": 1, "step_seconds": 1, "lengths": [2, 3], "grid_t": 1, "grid_h": 4, "grid_w": 8})");
  EXPECT_EQ(monitor.Take(record, &problems).value()->padding, 1 - 21.0 / 22);
}

// Texts that follow, as those of T5, are as long as the others unless they are given. Done once:
// the square of the longest, and in a packed row the square of each.
TEST(StepConflictsTest, TwoLengthsInASample) {
  StepWork work;
  work.flops = *ParseExpr("batch*seq*decoder_seq + decoder_seq^2");
  work.batch = "batch";
  work.sequences = {"seq", "decoder_seq"};
  work.followers = {{"decoder_seq", "seq"}};
  ExpectLines(work, {{R"("lengths": [5, 3])", "", 25 + 9 + 25, 8},
                     {R"("lengths": [5, 3], "decoder_seq": 4)", "", 20 + 12 + 16, 8},
                     {R"("cu_seqlens": [0, 5, 8])", "", 25 + 9 + 25 + 9, 8},
                     {R"("cu_seqlens": [0, 5, 8], "decoder_seq": 4)", "", 20 + 12 + 16 + 16, 8},
                     // Beside them, seq is that of the padded batch.
                     {R"("lengths": [5, 3], "batch": 2, "seq": 6)", "", 25 + 9 + 25, 8},
                     {R"("lengths": [5, 3], "seq": 6, "decoder_seq": 4)", "", 20 + 12 + 16, 8},
                     {R"("lengths": [5, 3], "seq": 4)",
                      "lengths: sample 1 has 5 tokens, and the length of the batch is 4: no "
                      "utilisation of this step"},
                     {R"("lengths": [5, 3], "decoder_seq": [4, 4])",
                      "decoder_seq is a list, which is no size: no utilisation of this step"},
                     {R"("lengths": [5, 3], "decoder_seq": 0)",
                      "decoder_seq is 0: no utilisation of this step"}});
}

// A rate of samples is one of what the line calls its batch: 2 recordings, or 3 chunks of them.
TEST(StepConflictsTest, ARateOfRecordings) {
  StepWork work;
  work.flops = ParseExpr("10*batch*frames")->Substitute({{"frames", 30}});
  work.batch = "batch";
  work.bindings = {{"frames", 30}};
  work.audio = {.symbol = "frames", .chunk = 30, .per_second = 1};
  const std::string audio = R"({"step": 1, "samples_per_second": 1, "audio": [50, 20], )";
  const std::tuple<const char*, double, const char*> cases[] = {
      {R"("batch": 2})", 2, ""},
      {R"("x": 1})", 3,
       "samples_per_second is read as one of chunks of audio: a batch of 2 would make it one of "
       "recordings"},
      {R"("batch": 2, "frames": 50})", 2,
       "frames is not read: the model runs chunks of 30, and audio, a list, tells how many a step "
       "has"}};
  for (const auto& [rest, seconds, problem] : cases) {
    Monitor monitor(work, {.every = 1, .devices = 1, .peak = 1});
    std::vector<std::string> problems;
    const auto point = monitor.Take(**StepLog().Read(audio + rest), &problems).value();
    ASSERT_TRUE(point) << rest;
    EXPECT_EQ(point->step_time, seconds) << rest;
    EXPECT_EQ(problems.empty() ? "" : problems[0], problem) << rest;
  }
}

// A file tells no end of its positions, and fails beyond it.
TEST(StepConflictsTest, SizesThatTheModelRefuses) {
  StepWork work;
  work.flops = *ParseExpr("batch*seq^2");
  work.batch = "batch";
  work.sequences = {"seq"};
  int asked = 0;
  work.refusal = [&](const std::string&, int64_t size) {
    ++asked;
    return size > 8 ? "an axis of 8" : "";
  };
  ExpectLines(
      work,
      {{R"("lengths": [3, 8])", "", 9 + 64, 11},
       {R"("lengths": [3, 9])", "sample 2: seq = 9: an axis of 8: no utilisation of this step"},
       {R"("batch": 2, "seq": 9)", "seq = 9: an axis of 8: no utilisation of this step"}});
  asked = 0;
  Monitor monitor(work, {.every = 1, .devices = 1, .peak = 1});
  for (int i = 0; i < 100; ++i) {
    std::vector<std::string> problems;
    const std::string line =
        absl::StrCat(R"({"step_seconds": 1, "batch": 1, "seq": 5, "step": )", i);
    EXPECT_TRUE(monitor.Take(**StepLog().Read(line + "}"), &problems).ok());
  }
  EXPECT_EQ(asked, 1);
}

TEST(StepConflictsTest, OneFactUnderTwoNames) {
  StepWork work;
  work.flops = *ParseExpr("batch*seq");
  work.batch = "batch";
  work.sequences = {"seq"};
  ExpectLines(
      work,
      {{R"("batch": 4, "batch_size": 8, "seq": 5)",
        "batch and batch_size are two figures for one fact: the former is used", 20, 20},
       {R"("batch": 4, "seq": 5, "seq_length": 3)",
        "seq_length is another length than the one that is used", 20, 20},
       {R"("batch": 4, "seq": 5, "step_time": 0.5)",
        "step_seconds and step_time are two figures for one fact: the former is used", 20, 20}});
}

// A step that has no utilisation takes nothing of that of the others: 20 FLOPs in each second.
TEST(StepConflictsTest, AFaultyStepLeavesTheOthers) {
  StepWork work;
  work.flops = *ParseExpr("10*batch*seq");
  work.batch = "batch";
  work.sequences = {"seq"};
  Monitor monitor(work, {.every = 4, .devices = 1, .peak = 100});
  std::optional<MonitorPoint> point;
  for (const char* fields : {"", "", R"(, "lengths": [7, 7])", ""}) {
    static int step = 0;
    std::vector<std::string> problems;
    const std::string line =
        absl::StrCat(R"({"step_seconds": 1, "batch": 2, "seq": 1, "step": )", ++step, fields, "}");
    point = monitor.Take(**StepLog().Read(line), &problems).value();
    EXPECT_EQ(problems.empty(), *fields == '\0') << line;
  }
  if (!point) {
    std::vector<std::string> rest;
    point = monitor.Finish(&rest);
  }
  ASSERT_TRUE(point);
  EXPECT_EQ(point->mfu, 0.2);
}

}  // namespace
}  // namespace onnxflops::step_conflicts_test
