// What a monitor says of the logs of a training, line by line.
#include "src/monitor/monitor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/monitor/event_file.h"
#include "src/monitor/running_totals.h"
#include "src/monitor/step_log.h"
#include "src/symbolic/expr.h"

namespace onnxflops::monitor_test {
namespace {

// A step of 10 FLOPs for each of batch x seq tokens, on two devices of 5 FLOP/s.
Monitor TokenMonitor(int64_t every) {
  StepWork work;
  work.flops = *ParseExpr("10*batch*seq");
  work.batch = "batch";
  work.sequences = {"seq"};
  return Monitor(work, {.every = every, .devices = 2, .peak = 5});
}

// What a monitor writes for a log, one line for each point as "step mfu age", and its complaints.
std::string Watch(absl::string_view log, int64_t every = 1) {
  Monitor monitor = TokenMonitor(every);
  StepLog steps;
  std::string out;
  const auto show = [&](const MonitorPoint& point) {
    absl::StrAppend(&out, point.step, " ", point.mfu.value_or(-1), " ", point.mfu_age.value_or(-1),
                    ";");
  };
  const auto tell = [&](const std::vector<std::string>& problems) {
    for (const std::string& problem : problems) absl::StrAppend(&out, problem, ";");
  };
  RunningTotals totals;
  const auto take = [&](const std::vector<LoggedStep>& ready) {
    for (const LoggedStep& step : ready) {
      std::vector<std::string> problems;
      const std::optional<MonitorPoint> point = monitor.Take(step.record, &problems).value();
      tell(problems);
      if (point) show(*point);
    }
  };
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    const absl::StatusOr<std::vector<StepRecord>> records = steps.ReadAll(line);
    if (!records.ok()) absl::StrAppend(&out, records.status().message(), ";");
    if (!records.ok()) continue;
    for (const StepRecord& record : *records) take(totals.Take({0, record}));
  }
  take(totals.Finish());
  std::vector<std::string> problems;
  const std::optional<MonitorPoint> rest = monitor.Finish(&problems);
  tell(problems);
  if (rest) show(*rest);
  return out;
}

TEST(MonitorTest, LogsOfAllKinds) {
  constexpr std::pair<const char*, const char*> kLogs[] = {
      {R"({"step": 1, "step_seconds": 2, "batch": 1, "seq": 1})", "1 0.5 0;"},
      {"step,step_seconds,batch,seq\n1,2,1,1\n2,1,1,1", "1 0.5 0;2 1 0;"},
      // Tokens divided by the batch, rounded up; a mask's sum is the same.
      {R"({"step": 1, "step_seconds": 2, "batch": 2, "tokens": 3})", "1 2 0;"},
      {R"({"step": 1, "step_seconds": 2, "batch_size": 2, "mask_sum": 3})", "1 2 0;"},
      // Times: the first has nothing before it; what is between is shared by the steps.
      {"step,time,batch,seq\n4,10,1,1\n6,14,1,1", "6 0.5 0;"},
      {"step,time,batch,seq\n4,10,1,1\n5,,1,1\n6,14,1,1",
       "the line has neither time nor step_seconds;5 -1 -1;6 0.5 0;"},
      // A utilisation that cannot be measured is the last that was, with its age.
      {"step,step_seconds,batch,seq\n1,2,1,1\n2,nan,1,1\n3,2,1,",
       "1 0.5 0;step_seconds is NaN or infinite;2 0.5 1;there is no seq: no utilisation of this "
       "step;3 0.5 2;"},
      {R"({"step": 1, "time": NaN, "loss": NaN})", "time is NaN or infinite;"},
      {"{\"step\": 1\nx",
       "column 10: not JSON from here: syntax error while parsing object - unexpected end of "
       "input; expected '}';is neither JSON nor the titles of CSV, one of which is step;"},
      // What is there twice: a key after NaN keeps its column.
      {R"({"step": 1, "loss": NaN, "batch": 2, "batch": 1})",
       "column 38: the key 'batch' is there twice in one object;"},
      {"step,time,\"time\"\n1,2,3",
       "columns 2 and 3 both have the title 'time';is neither JSON nor the titles of CSV, one of "
       "which is step;"},
      {"step,time\n1", "has 1 cell, and the titles are 2;"},
      {R"({"time": 1})", "there is no step;"},
      {R"({"step": -1})", "step is no whole number of 0 or more;"},
      {R"({"step": 1e300, "step_seconds": 1})", "step is no whole number of 0 or more;"},
      {R"({"step": 1, "step_seconds": 0})", "step_seconds is not from 1e-12 to 1e+15;"},
  };
  for (const auto& [log, expected] : kLogs) EXPECT_EQ(Watch(log), expected) << log;
}

// Every name that other programs use is half a second of a step, or two of something in a second.
// 2 x 4 + 3 x 9 of samples that are apart; at the mean length it would be less.
TEST(MonitorTest, SamplesOfDifferentLengths) {
  StepWork work;
  work.flops = *ParseExpr("10*batch*seq^2");
  work.batch = "batch";
  work.sequences = {"seq"};
  Monitor monitor(work, {.every = 1, .devices = 1, .peak = 100});
  const std::pair<const char*, const char*> lines[] = {
      {R"({"step": 1, "step_seconds": 1, "lengths": [2, 2, 3, 3, 3]})", ""},
      {R"({"step": 2, "step_seconds": 1, "cu_seqlens": [0, 2, 4, 7, 10, 13, 13]})", ""},
      {R"({"step": 3, "step_seconds": 1, "lengths": [2, 0]})",
       "lengths: sample 2 is no whole number of 1 or more"},
      {R"({"step": 4, "step_seconds": 1, "lengths": ["a"]})",
       "lengths: sample 1 is no whole number of 1 or more"},
      {R"({"step": 4, "step_seconds": 1, "lengths": [5.0, 300.5]})",
       "lengths: sample 2 is no whole number of 1 or more"},
      {R"({"step": 4, "step_seconds": 1, "lengths": []})",
       "lengths is no list of lengths of 1 or more"},
      {R"({"step": 4, "step_seconds": 1, "cu_seqlens": [0, 5, -9]})",
       "cu_seqlens: number 3 is no whole number"},
      {R"({"step": 5, "step_seconds": 1, "cu_seqlens": [0, 5, 4]})",
       "cu_seqlens does not go up from 0"},
  };
  StepLog log;
  for (const auto& [line, fault] : lines) {
    const StepRecord record = **log.Read(line);
    std::vector<std::string> problems;
    const std::optional<MonitorPoint> point = monitor.Take(record, &problems).value();
    if (*fault != '\0') {
      ASSERT_FALSE(problems.empty()) << line;
      EXPECT_EQ(problems[0], fault);
      continue;
    }
    EXPECT_TRUE(problems.empty()) << problems[0];
    ASSERT_TRUE(point);
    EXPECT_EQ(point->mfu, 10 * (2 * 4 + 3 * 9) / 100.0);
    EXPECT_EQ(point->tokens_per_second, 13);
    EXPECT_EQ(point->samples_per_second, 5);
  }
}

// A configuration has positions for 10 tokens: a longer step never ran, and has no rates.
TEST(MonitorTest, BeyondLearnedPositions) {
  StepWork work;
  work.flops = *ParseExpr("10*batch*seq");
  work.batch = "batch";
  work.sequences = {"seq"};
  work.most = {{"seq", 10}};
  constexpr std::pair<const char*, const char*> kLines[] = {
      {R"("lengths": [5, 20])", "sample 2: "},
      {R"("cu_seqlens": [0, 5, 25])", "sample 2: "},
      {R"("lengths": [5, 20], "batch": 2, "seq": 10)", "sample 2: "},
      {R"("batch": 2, "seq": 20)", ""},
  };
  for (const auto& [line, sample] : kLines) {
    Monitor monitor(work, {.every = 1, .devices = 1, .peak = 100});
    std::vector<std::string> problems;
    const StepRecord record =
        **StepLog().Read(absl::StrCat(R"({"step": 1, "step_seconds": 1, )", line, "}"));
    const std::optional<MonitorPoint> point = monitor.Take(record, &problems).value();
    EXPECT_EQ(problems, std::vector<std::string>{
                            absl::StrCat(sample,
                                         "seq = 20: the model has positions for at most 10: no "
                                         "utilisation of this step")});
    ASSERT_TRUE(point) << line;
    EXPECT_FALSE(point->mfu || point->tokens_per_second) << line;
  }
  Monitor monitor(work, {.every = 1, .devices = 1, .peak = 100});
  std::vector<std::string> problems;
  const StepRecord record =
      **StepLog().Read(R"({"step": 1, "step_seconds": 1, "lengths": [5, 10]})");
  const std::optional<MonitorPoint> point = monitor.Take(record, &problems).value();
  EXPECT_TRUE(problems.empty());
  ASSERT_TRUE(point && point->mfu);
  EXPECT_EQ(point->mfu, 1.5);  // 10 x (5 + 10) of 100
}

// 3 tokens in 2 s, of 1 a second. Beside lengths, batch and seq are those of the padded batch.
TEST(MonitorTest, ListsInAllForms) {
  constexpr char kStep[] = R"({"step": 1, "step_seconds": 2, )";
  const std::pair<std::string, const char*> logs[] = {
      {absl::StrCat("\xEF\xBB\xBF", kStep, R"("batch": 1, "seq": 3})"), "1 1.5 0;"},
      {"\xEF\xBB\xBFstep;step_seconds;batch;seq\n1;2;1;3", "1 1.5 0;"},
      {"step,step_seconds,lengths\n1,2,\"[1,2]\"",
       "lengths is read as that of the whole step, on 2 devices;1 1.5 0;"},
      {"step;step_seconds;cu_seqlens\n1;2;[0, 1, 3]",
       "cu_seqlens is read as that of the whole step, on 2 devices;1 1.5 0;"},
      {"step,step_seconds,lengths\n1,2,\"[1,nan]\"",
       "lengths is [1,nan], and no list of lengths, as \"[512,300,17]\";1 -1 -1;"},
      {"step,step_seconds,lengths\n1,2,512",
       "lengths is 512, and no list of lengths, as \"[512,300,17]\";1 -1 -1;"},
      {absl::StrCat(kStep, R"("lengths": "1,2"})"),
       "lengths is \"1,2\", and no list of lengths, as [512,300,17];1 -1 -1;"},
      {absl::StrCat(kStep, R"("cu_seqlens": 3})"),
       "cu_seqlens is 3, and no list of lengths, as [0,512,812,829];1 -1 -1;"},
      {absl::StrCat(kStep, R"("lengths": [1, 2], "batch": 2, "seq": 2})"), "1 1.5 0;"},
      {absl::StrCat(kStep, R"("lengths": [1, 2], "cu_seqlens": [0, 1, 3]})"),
       "lengths is read as that of the whole step, on 2 devices;1 1.5 0;"},
      {absl::StrCat(kStep, R"("lengths": [1, 2], "cu_seqlens": [0, 2, 3]})"),
       "lengths and cu_seqlens are of different samples: no utilisation of this step;1 -1 -1;"},
      {absl::StrCat(kStep, R"("lengths": [1, 2], "cu_seqlens": [0, 3]})"),
       "lengths and cu_seqlens are of different samples;1 -1 -1;"},
      {absl::StrCat(kStep, R"("cu_seqlens": [[0, 3], [0, 2]]})"),
       "cu_seqlens: item 1 is a list: the samples of a step are one list of whole numbers;"
       "1 -1 -1;"},
      {absl::StrCat(kStep, R"("lengths": [0, 4], "batch": 2, "seq": 4})"),
       "lengths: sample 1 is no whole number of 1 or more;1 -1 -1;"},
      {absl::StrCat(kStep, R"("batch": -2, "seq": 1})"),
       "batch is -2, which is no size: no utilisation of this step;1 -1 -1;"},
      {"step,step_seconds,batch,seq\n1,2,1,nan",
       "seq is NaN or infinite, which is no size: no utilisation of this step;1 -1 -1;"},
  };
  for (const auto& [log, expected] : logs) EXPECT_EQ(Watch(log), expected) << log;
}

// The line is the first that has other tokens than its samples, and the rate is of the samples.
TEST(MonitorTest, TokensBesideLengths) {
  StepWork work;
  work.flops = *ParseExpr("10*batch*seq");
  work.batch = "batch";
  work.sequences = {"seq"};
  Monitor monitor(work, {.every = 1, .devices = 1, .peak = 5});
  std::vector<std::string> problems;
  for (const auto& [step, line] :
       {std::pair("1", R"("tokens": 9})"), std::pair("2", R"("x": 1})")}) {
    StepRecord record = **StepLog().Read(
        absl::StrCat(R"({"step": )", step, R"(, "step_seconds": 2, "lengths": [1, 2], )", line));
    record.line = 6 + *record.step;
    const std::optional<MonitorPoint> point = monitor.Take(record, &problems).value();
    ASSERT_TRUE(point);
    EXPECT_EQ(point->tokens_per_second, 1.5);
  }
  EXPECT_TRUE(problems.empty());
  std::vector<int64_t> lines;
  monitor.Finish(&problems, &lines);
  EXPECT_EQ(lines, std::vector<int64_t>{7});
  EXPECT_EQ(problems, std::vector<std::string>{
                          "tokens is 9, more than the sum over samples = 3: the latter is used"});
}

// The first grid is the image of the first sample: (2 * 4 + 5 * 1 + 7 * 8) + (3 * 6 + 5 * 1 + 7 *
// 2).
TEST(MonitorTest, GridsOfSamples) {
  StepWork work;
  work.flops = *ParseExpr("batch*(seq*grid_h + 5*grid_t + 7*grid_w)");
  work.batch = "batch";
  work.sequences = {"seq"};
  work.multiples = {{"grid_h", 2}, {"grid_w", 2}};
  const std::string sizes = R"("step_seconds": 1, "lengths": [2, 3], "grid_thw": )";
  const std::pair<std::string, const char*> lines[] = {
      {sizes + "[[1, 4, 8], [1, 6, 2]]", ""},
      {R"("step_seconds": 1, "lengths": [3, 2], "image_grid_thw": [[1, 6, 2], [1, 4, 8]])", ""},
      {sizes + "[[1, 4, 8], [1, 6]]",
       "grid_thw, column 75: image 2 is no [frames, height, width], whole numbers of 1 or more"},
      {sizes + "[[0, 4, 8], [1, 6, 2]]",
       "grid_thw, column 64: image 1 is no [frames, height, width], whole numbers of 1 or more"},
      {sizes + "[[1, 4, 8], [1, 6, 2.5]]",
       "grid_thw, column 75: image 2 is no [frames, height, width], whole numbers of 1 or more"},
      {sizes + "[[1, 4, 8], [[1, 6, 2]]]",
       "grid_thw: sample 1 has no list of grids, and others have one"},
      {sizes + "[1, 4, 8]", "grid_thw is no list of [frames, height, width], one for each sample"},
      {sizes + "[]", "grid_thw is no list of [frames, height, width], one for each sample"},
      {sizes + "7", "grid_thw is no list of [frames, height, width], one for each sample"},
      {sizes + "[[1, 4, 8]]",
       "2 lengths and 1 image in grid_thw: each sample has one: no utilisation of this step"},
      {sizes + "[[1, 4, 8], [1, 6, 3]]",
       "grid_thw: image 2 has 3 patches across, which is no multiple of 2: no utilisation of this "
       "step"},
      {sizes + "[[1, 5, 8], [1, 6, 2]]",
       "grid_thw: image 1 has 5 patches down, which is no multiple of 2: no utilisation of this "
       "step"},
  };
  for (const auto& [line, fault] : lines) {
    Monitor monitor(work, {.every = 1, .devices = 1, .peak = 1000});
    std::vector<std::string> problems;
    const StepRecord record = **StepLog().Read(R"({"step": 2, )" + line + "}");
    const std::optional<MonitorPoint> point = monitor.Take(record, &problems).value();
    if (*fault != '\0') {
      ASSERT_FALSE(problems.empty()) << line;
      EXPECT_EQ(problems[0], fault);
      EXPECT_FALSE(point && point->mfu) << line;
      continue;
    }
    EXPECT_TRUE(problems.empty()) << problems[0];
    ASSERT_TRUE(point);
    EXPECT_EQ(point->mfu, (69 + 37) / 1000.0);
    EXPECT_EQ(point->samples_per_second, 2);
  }
}

// A sample has two images, one, or none. Each image of h x w patches is h*w/4 tokens of a decoder
// of n^2 a sample, and costs the tower 3*h*w.
TEST(MonitorTest, AnyNumberOfImages) {
  StepWork work;
  work.flops = *ParseExpr(
      "batch*(seq + grid_t*floor(grid_h/2)*floor(grid_w/2))^2 + batch*3*grid_t*grid_h*grid_w + 7");
  work.batch = "batch";
  work.sequences = {"seq"};
  work.image_tokens = *ParseExpr("grid_t*floor(grid_h/2)*floor(grid_w/2)");
  work.multiples = {{"grid_h", 2}, {"grid_w", 2}};
  const std::string sizes = R"("step_seconds": 1, "lengths": [2, 3, 5], "grid_thw": )";
  const auto square = [](double n) { return n * n; };
  const struct {
    std::string line;
    const char* fault;
    double flops, images;
  } lines[] = {
      {sizes + "[[[1, 4, 8], [1, 6, 2]], [], [[1, 2, 2]]]", "",
       square(2 + 8 + 3) + square(3) + square(5 + 1) + 3 * (32 + 12 + 4) + 7, 12},
      {sizes + "[[], [], []]", "", square(2) + square(3) + square(5) + 7, 0},
      {sizes + "[[[1, 4, 8]], [[1, 6, 2]], [[1, 2, 2]]]", "",
       square(2 + 8) + square(3 + 3) + square(5 + 1) + 3 * (32 + 12 + 4) + 7, 12},
      {R"("step_seconds": 1, "seq": 4, "grid_thw": [[[1, 4, 8], [1, 2, 2]], []])", "",
       square(4 + 8 + 1) + square(4) + 3 * (32 + 4) + 7, 9},
      {sizes + "[[1, 4, 8], [1, 6, 2], [1, 2, 2]], \"image_counts\": [2, 0, 1]", "",
       square(2 + 8 + 3) + square(3) + square(5 + 1) + 3 * (32 + 12 + 4) + 7, 12},
      {sizes + "[[1, 4, 8], [1, 6, 2], [1, 2, 2]], \"image_counts\": [1, 1, 1]", "",
       square(2 + 8) + square(3 + 3) + square(5 + 1) + 3 * (32 + 12 + 4) + 7, 12},
      {sizes + "[[1, 4, 8]], \"image_counts\": [2, 0, 1]",
       "image_counts is no list of numbers, one a sample, which add up to 1 grids", 0, 0},
      {sizes + "[[[1, 4, 8]], [], []], \"image_counts\": [1, 0, 0]",
       "image_counts comes with a flat list of grids, one an image", 0, 0},
      {sizes + "[[[1, 4, 8]], []]",
       "3 lengths, and images of 2 samples in grid_thw: no utilisation of this step", 0, 0},
      {sizes + "[[[1, 4, 8]], [], [[1, 2]]]",
       "grid_thw, column 85: image 2 is no [frames, height, width], whole numbers of 1 or more", 0,
       0},
      {sizes + "[[[1, 4, 8]], [], [[1, 2, 3]]]",
       "grid_thw: image 2 has 3 patches across, which is no multiple of 2: no utilisation of this "
       "step",
       0, 0},
  };
  for (const auto& [line, fault, flops, images] : lines) {
    Monitor monitor(work, {.every = 1, .devices = 1, .peak = 1});
    std::vector<std::string> problems;
    const StepRecord record = **StepLog().Read(R"({"step": 2, )" + line + "}");
    const std::optional<MonitorPoint> point = monitor.Take(record, &problems).value();
    if (*fault != '\0') {
      ASSERT_FALSE(problems.empty()) << line;
      EXPECT_EQ(problems[0], fault);
      EXPECT_FALSE(point && point->mfu) << line;
      EXPECT_FALSE(point && (point->tokens_per_second || point->image_tokens_per_second)) << line;
      continue;
    }
    EXPECT_TRUE(problems.empty()) << problems[0];
    ASSERT_TRUE(point && point->mfu) << line;
    EXPECT_EQ(point->flops_per_second, flops) << line;
    EXPECT_EQ(point->image_tokens_per_second, images) << line;
    ASSERT_TRUE(point->text_tokens_per_second) << line;
    EXPECT_EQ(point->tokens_per_second, *point->text_tokens_per_second + images) << line;
  }
}

// A packed row of 10 + 6 tokens, 4 of each sample those of an image: texts of 6 and 2.
TEST(MonitorTest, ImagesOfOneSizeInAPackedRow) {
  const std::tuple<const char*, const char*, double> cases[] = {{"4", "[0, 10, 16]", 36 + 4},
                                                                {"4", "[0, 3, 16]", 0},
                                                                {"-4", "[0, 10, 16]", 0},
                                                                {"width", "[0, 10, 16]", 0}};
  for (const auto& [tokens, row, flops] : cases) {
    StepWork work;
    work.flops = *ParseExpr("batch*seq^2");
    work.batch = "batch";
    work.sequences = {"seq"};
    work.image_tokens = *ParseExpr(tokens);
    Monitor monitor(work, {.every = 1, .devices = 1, .peak = 1});
    std::vector<std::string> problems;
    const StepRecord record = **StepLog().Read(
        absl::StrCat(R"({"step": 2, "step_seconds": 1, "cu_seqlens": )", row, "}"));
    const std::optional<MonitorPoint> point = monitor.Take(record, &problems).value();
    EXPECT_EQ(point && point->mfu ? *point->flops_per_second : 0, flops) << tokens << " " << row;
    EXPECT_EQ(problems.empty(), flops > 0) << tokens << " " << row;
  }
}

// What a run does once, here a mask of patches, is not that of an image of 9 x 9, which none is.
TEST(MonitorTest, SeveralImagesOfOtherShapes) {
  StepWork work;
  work.flops = *ParseExpr("batch*(seq + 4*grid_t*grid_h*grid_w) + grid_t*grid_h*grid_w");
  work.batch = "batch";
  work.sequences = {"seq"};
  work.image_tokens = *ParseExpr("grid_t*grid_h*grid_w");
  Monitor monitor(work, {.every = 1, .devices = 1, .peak = 1});
  std::vector<std::string> problems;
  const StepRecord record = **StepLog().Read(
      R"({"step": 2, "step_seconds": 1, "lengths": [7, 5], "grid_thw": [[[1, 2, 9], [1, 9, 2]], []]})");
  const std::optional<MonitorPoint> point = monitor.Take(record, &problems).value();
  ASSERT_TRUE(point) << problems[0];
  EXPECT_EQ(point->flops_per_second, 7 + 5 + 4 * (18 + 18));
}

// The step of a model of text and audio: a line of the log after "step", what is wrong with it, and
// the FLOPs, samples and frames that it has.
struct AudioCase {
  std::string line;
  std::string fault;
  double flops = 0, samples = 0, frames = 0;
  std::optional<double> padding = std::nullopt;
};

void ExpectAudio(const StepWork& work, const std::vector<AudioCase>& cases) {
  for (const AudioCase& c : cases) {
    Monitor monitor(work, {.every = 1, .devices = 1, .peak = 1});
    std::vector<std::string> problems;
    const StepRecord record = **StepLog().Read(R"({"step": 2, "step_seconds": 1, )" + c.line + "}");
    const std::optional<MonitorPoint> point = monitor.Take(record, &problems).value();
    if (!c.fault.empty()) {
      ASSERT_FALSE(problems.empty()) << c.line;
      EXPECT_EQ(problems[0], c.fault);
      EXPECT_FALSE(point && point->mfu) << c.line;
      const bool of_audio = absl::StartsWith(c.fault, "audio");
      EXPECT_FALSE(of_audio && point && point->audio_frames_per_second) << c.line;
      continue;
    }
    EXPECT_TRUE(problems.empty()) << c.line << ": " << problems[0];
    ASSERT_TRUE(point) << c.line;
    EXPECT_EQ(point->flops_per_second, c.flops) << c.line;
    EXPECT_EQ(point->samples_per_second, c.samples) << c.line;
    EXPECT_EQ(point->audio_frames_per_second, c.frames) << c.line;
    const double rate = static_cast<double>(work.audio.per_second);
    EXPECT_EQ(point->audio_seconds_per_second.value_or(0), rate > 0 ? c.frames / rate : 0);
    EXPECT_EQ(point->audio_padding, c.padding) << c.line;
  }
}

// Each frame costs 3, also of padding, and each token of a text as much as its text is long. A
// chunk has 100 frames, which are 10 s.
TEST(MonitorTest, AudioInChunks) {
  StepWork work;
  work.flops = *ParseExpr("batch*(300 + seq^2)");
  work.batch = "batch";
  work.sequences = {"seq"};
  work.audio = {"frames", 100, 10};
  const char kNeither[] = " has neither frames, as 1250, nor seconds, as 12.5";
  const char kNone[] = ": no utilisation of this step";
  ExpectAudio(
      work,
      {{R"("audio": [4.25, 10.0, 10.1], "seq": 5)", "", 4 * (300 + 25), 4, 243, 1 - 243 / 400.},
       {R"("audio": ["4.25s", "10s", 10.1], "seq": 5)", "", 1300, 4, 243, 1 - 243 / 400.},
       {R"("audio": [42, 150], "lengths": [2, 3, 4])", "", 900 + 29, 3, 192, 1 - 192 / 300.},
       {R"("audio": [100, 100], "seq": 5)", "", 650, 2, 200},
       {R"("audio": [42, 150], "lengths": [3, 4, 4], "batch": 2, "seq": 4)", "", 900 + 41, 3, 192,
        1 - 192 / 300.},
       {R"("audio": [42, 150], "seq": 5, "batch": 5)",
        absl::StrCat("audio has 2 samples, and batch is 5", kNone)},
       {R"("batch": 2, "seq": 5)", "", 2 * (300 + 25), 2, 200},
       {R"("audio": [42, 150], "lengths": [2, 3])",
        absl::StrCat("audio: 3 rows of 2 samples, and 2 lengths: each row has a text of its own",
                     kNone)},
       {R"("audio": [42], "cu_seqlens": [0, 2])",
        absl::StrCat("each chunk of audio is a row of its own, and cu_seqlens are those of one "
                     "row",
                     kNone)},
       {R"("audio": [42, 0], "seq": 5)", absl::StrCat("audio: sample 2", kNeither)},
       {R"("audio": [12.5, 30], "seq": 5)",
        "audio: sample 2 is in other units than the first: write seconds as 30.0 or \"30s\" "
        "throughout"},
       {R"("audio": ["0x10s"], "seq": 5)", absl::StrCat("audio: sample 1", kNeither)},
       {R"("audio": [-4.5], "seq": 5)", absl::StrCat("audio: sample 1", kNeither)},
       {R"("audio": [NaN], "seq": 5)", absl::StrCat("audio: sample 1", kNeither)},
       {R"("audio": ["12,5s"], "seq": 5)", absl::StrCat("audio: sample 1", kNeither)},
       {R"("audio": ["12"], "seq": 5)", absl::StrCat("audio: sample 1", kNeither)},
       {R"("audio": [[4]], "seq": 5)", absl::StrCat("audio: sample 1", kNeither)},
       {R"("audio": [1e300], "seq": 5)", absl::StrCat("audio: sample 1", kNeither)},
       {R"("audio": [42, 0], "batch": 2, "seq": 5)", absl::StrCat("audio: sample 2", kNeither)},
       {R"("audio": [], "seq": 5)", "audio is no list of lengths, one a sample"},
       {R"("audio": "4s", "seq": 5)", "audio is no list of lengths, one a sample"},
       {R"("audio": [0.01], "seq": 5)",
        absl::StrCat("audio: sample 1 should have from 1 to 1099511627776 frames", kNone)},
       {R"("audio": [1e12], "seq": 5)",
        absl::StrCat("audio: sample 1 should have from 1 to 1099511627776 frames", kNone)},
       {R"("audio": [1099511627776], "seq": 5)",
        absl::StrCat("audio: a step has more than 10000000 chunks", kNone)},
       {R"("audio": [42])", absl::StrCat("there is no seq", kNone)}});
}

// The same of a model that takes audio of any length: a sample is a row.
TEST(MonitorTest, AudioOfAnyLength) {
  StepWork work;
  work.flops = *ParseExpr("batch*(3*frames + frames^2)");
  work.batch = "batch";
  work.audio.symbol = "frames";
  ExpectAudio(work,
              {{R"("audio": [42, 150])", "", 3 * 192 + 42 * 42 + 150 * 150, 2, 192, 1 - 192 / 300.},
               {R"("batch": 2, "frames": 10)", "", 2 * (30 + 100), 2, 20},
               {R"("audio": [4.5, 4.5])",
                "audio: sample 1 is in seconds, and the model does not tell how many frames "
                "a second has: log frames, which are whole numbers: no utilisation of this "
                "step"}});
  work.audio.symbol = "";
  ExpectAudio(work, {{R"("audio": [42])",
                      "audio: the model has no open length of audio: no utilisation of this "
                      "step"}});
}

// The same text for each image; and a model without images.
TEST(MonitorTest, GridsWithoutLengths) {
  StepWork work;
  work.flops = *ParseExpr("batch*(seq*grid_h + 5*grid_t + 7*grid_w)");
  work.batch = "batch";
  work.sequences = {"seq"};
  const StepRecord record = **StepLog().Read(
      R"({"step": 1, "step_seconds": 1, "seq_length": 10, "grid_thw": [[1, 4, 8], [1, 6, 2]]})");
  std::vector<std::string> problems;
  Monitor monitor(work, {.every = 1, .devices = 1, .peak = 1000});
  const std::optional<MonitorPoint> point = monitor.Take(record, &problems).value();
  EXPECT_TRUE(problems.empty()) << problems[0];
  ASSERT_TRUE(point);
  EXPECT_EQ(point->mfu, (40 + 5 + 56 + 60 + 5 + 14) / 1000.0);
  work.flops = *ParseExpr("batch*seq");
  Monitor of_text(work, {.every = 1, .devices = 1, .peak = 1000});
  EXPECT_FALSE(of_text.Take(record, &problems).value()->mfu);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems[0], "grid_thw: the model has no open grid_t: no utilisation of this step");
}

TEST(MonitorTest, NamesOfOtherPrograms) {
  constexpr std::pair<const char*, const char*> kLogs[] = {
      {R"({"trainer/global_step": 1, "perf/step_time": 2, "batch": 1, "seq": 1})", "1 0.5 0;"},
      {R"({"iter": 1, "step_time_ms": 2000, "batch": 1, "seq": 1})", "1 0.5 0;"},
      {R"({"_step": 1, "time/iter": 2, "global_batch_size": 1, "seq_len": 1})", "1 0.5 0;"},
      {R"({"iteration": 1, "iteration-time": 2, "batch-size": 1, "seq": 1})", "1 0.5 0;"},
      {R"({"step": 1, "tokens_per_second": 2, "batch": 2, "seq": 2})", "1 2 0;"},
      // Of each of two devices, and of both.
      {R"({"step": 1, "device/samples_per_sec": 2, "batch": 2, "seq": 2})",
       "device/samples_per_sec is that of one device: it is read times 2;1 8 0;"},
      {R"({"step": 1, "train/device/samples_per_sec": 1, "train/samples_per_sec": 2, "batch": 2, "seq": 2})",
       "1 4 0;"},
      {R"({"step": 1, "perf/steps_per_second": 0.5, "batch": 1, "seq": 1})", "1 0.5 0;"},
      // W&B has a step of its own: that of the training holds.
      {R"({"_step": 9, "train/global_step": 1, "step_time": 2, "batch": 1, "seq": 1})", "1 0.5 0;"},
      {"iteration,step_time,batch,seq\n1,2,1,1", "1 0.5 0;"},
      {"step,time,batch,seq\n1,2026-02-28T23:59:59Z,1,1\n2,2026-03-01 01:00:01+01:00,1,1",
       "2 0.5 0;"},
      {R"({"step": 1, "time": "2026-02-30T00:00:00", "batch": 1, "seq": 1})", "time is no number;"},
  };
  for (const auto& [log, expected] : kLogs) EXPECT_EQ(Watch(log), expected) << log;
}

// What logs hold in words, in other units, or as sums.
TEST(MonitorTest, OtherFormsOfFigures) {
  constexpr std::pair<const char*, const char*> kLogs[] = {
      {R"({"step": 1, "step_time": "2", "batch": 1, "seq": 1})", "1 0.5 0;"},
      {R"({"step": "1", "step_time": "2000ms", "batch_size": "1", "seq": 1})", "1 0.5 0;"},
      {R"({"step": 1, "step_time": "0:00:02", "batch": 1, "seq": 1})", "1 0.5 0;"},
      {R"({"step": 1, "step_time_ms": "2 s", "batch": 1, "seq": 1})", "1 0.5 0;"},
      {R"({"step": 1, "step_time": "1:30", "batch": 1, "seq": 1})", "step_time is no number;"},
      {"step,time,Batch_Size,seq\n1,0:00:58,1,1\n2,0:01:00,1,1", "2 0.5 0;"},
      {R"({"train/step_time": 2, "train/global_step": 1, "batch": 1, "seq": 1})", "1 0.5 0;"},
      {"step,time,batch,seq\n1,1700000000000,1,1\n2,1700000002000,1,1",
       "time is read as milliseconds since 1970;2 0.5 0;"},
      {"step,time,batch,seq\n1,1700000000000000000,1,1\n2,1700000002000000000,1,1",
       "time is read as nanoseconds since 1970;2 0.5 0;"},
      // The batch of tokens and a length; steps of 2 s with 2 x 4 tokens.
      {R"({"step": 1, "step_time": 2, "tokens": 8, "seq": 4})", "1 4 0;"},
      // A part of a sequence is a part of its FLOPs.
      {R"({"step": 1, "step_time": 2, "tokens": 5, "seq": 4})", "1 2.5 0;"},
      {R"({"step": 1, "step_time": 2, "tokens": 5})",
       "there is no seq: no utilisation of this step;1 -1 -1;"},
      // A rate and a time: 4.02 x 2 tokens are 2 x 4, as rates are rounded; 2.5 x 2 are no batch.
      {R"({"step": 1, "step_time": 2, "tokens_per_sec": 4.02, "seq": 4})",
       "there is no batch: a step has the tokens that tokens_per_sec makes of its time;1 4 0;"},
      {R"({"step": 1, "step_time": 2, "tokens_per_second": 2.5, "seq": 4})",
       "there is no batch: a step has the tokens that tokens_per_second makes of its time;1 2.5 "
       "0;"},
      {R"({"step": 1, "step_time": 2, "tokens_per_second": 4})",
       "there is no batch: a step has the tokens that tokens_per_second makes of its time;there is "
       "no seq: no utilisation of this step;1 -1 -1;"},
      // Two steps share a time.
      {"step,time,tokens_per_second,seq\n1,2,4,4\n3,6,4,4",
       "there is no batch: a step has the tokens that tokens_per_second makes of its time;3 4 0;"},
  };
  for (const auto& [log, expected] : kLogs) EXPECT_EQ(Watch(log), expected) << log;
}

// Four lines of a log with 1, 2, 3, ... times 8 tokens: 4 FLOPs' worth of MFU each, or a total.
std::string TokenLog(absl::string_view name, const std::vector<int>& values, int first = 1,
                     absl::string_view others = "\"batch\": 2, ") {
  std::string log;
  for (size_t i = 0; i < values.size(); ++i) {
    absl::StrAppend(&log, "{\"step\": ", first + static_cast<int>(i), ", \"step_time\": 2, ",
                    others, "\"", name, "\": ", values[i], "}\n");
  }
  return log;
}

TEST(MonitorTest, RunningTotals) {
  constexpr char kTold[] = "tokens grows by some 8 a step: it is read as a running total;";
  constexpr char kFour[] = "1 4 0;2 4 0;3 4 0;4 4 0;";
  const std::pair<std::string, std::string> logs[] = {
      {TokenLog("tokens", {8, 8, 8, 8}), kFour},
      {TokenLog("tokens", {8, 16, 24, 32}), absl::StrCat(kTold, kFour)},
      // Of a training that goes on: the total begins with the log, or went on with the steps.
      {TokenLog("tokens", {8, 16, 24, 32}, 900),
       absl::StrCat(kTold, "900 4 0;901 4 0;902 4 0;903 4 0;")},
      {TokenLog("tokens", {7200, 7208, 7216, 7224}, 900),
       absl::StrCat(kTold, "900 4 0;901 4 0;902 4 0;903 4 0;")},
      // Sequences that get longer: by less than they have.
      {TokenLog("tokens", {80, 88, 96, 104}), "1 40 0;2 44 0;3 48 0;4 52 0;"},
      {TokenLog("tokens", {8, 16, 24, 8}), "1 4 0;2 8 0;3 12 0;4 4 0;"},
      {TokenLog("mask_sum", {8, 16, 24, 32}), "1 4 0;2 8 0;3 12 0;4 16 0;"},
      {TokenLog("train/tokens", {8, 16, 24, 32}), absl::StrCat("train/", kTold, kFour)},
      // Lightning's is that of one of the two devices; 2 x 4 samples of one token in 2 s.
      {TokenLog("seq\": 1, \"train/samples", {4, 8, 12, 16}, 1, ""),
       absl::StrCat("the batch of a step is train/samples 4 x 2 devices x 1 runs = 8;train/samples "
                    "grows by some 4 a step: it is read as a running total of one device, as "
                    "Lightning has it;",
                    kFour)},
      // A name that says it needs two lines.
      {TokenLog("num_input_tokens_seen", {800, 808}), "1 4 0;2 4 0;"},
  };
  for (const auto& [log, expected] : logs) EXPECT_EQ(Watch(log), expected) << log;
}

// The batch of a step from the parts that logs have, on two devices; 2 x 3 x 1 tokens in 2 s: 3.
TEST(MonitorTest, BatchesOfDevicesAndRuns) {
  constexpr std::pair<const char*, const char*> kLogs[] = {
      {R"({"step": 1, "step_time": 2, "seq": 1, "per_device_train_batch_size": 1, "gradient_accumulation_steps": 3})",
       "the batch of a step is per_device_train_batch_size 1 x 2 devices x 3 runs = 6;1 3 0;"},
      {R"({"step": 1, "step_time": 2, "seq": 1, "batch_size": 1, "grad_accumulation": 3, "world_size": 2})",
       "batch_size 1 does not divide into 2 devices x 3 runs: it is read as that of one device in "
       "one run, 6 a step;1 3 0;"},
      {R"({"step": 1, "step_time": 2, "seq": 1, "batch_size": 6, "grad_accumulation": 3})",
       "batch_size 6 is read as that of the whole step, 2 devices x 3 runs: "
       "per_device_train_batch_size would be of one device in one run;1 3 0;"},
      {R"({"step": 1, "step_time": 2, "seq": 1, "global_batch_size": 6, "micro_batch_size": 2})",
       "global_batch_size is 6, and micro_batch_size 2 x 2 devices x 1 runs = 4: 6 is used;1 3 "
       "0;"},
      {R"({"step": 1, "step_time": 2, "seq": 1, "batch": 6, "world_size": 4})",
       "world_size is 4, and devices says 2, which is used;1 3 0;"},
  };
  for (const auto& [log, expected] : kLogs) EXPECT_EQ(Watch(log), expected) << log;
}

// Devices that share a copy of the model share its samples.
TEST(MonitorTest, ModelsOverSeveralDevices) {
  constexpr std::pair<const char*, const char*> kLogs[] = {
      {R"("tensor_model_parallel_size": 2)", "1 1.5 0;"},
      {R"("pipeline_model_parallel_size": 2, "context_parallel_size": 1)", "1 1.5 0;"},
      {R"("data_parallel_size": 1)", "1 1.5 0;"},
      {R"("tensor_model_parallel_size": 4)",
       "the log splits a model over 4 devices, and there are 2: each is taken for a copy of its "
       "own;the batch of a step is micro_batch_size 3 x 2 devices x 1 runs = 6;1 3 0;"},
  };
  for (const auto& [fields, expected] : kLogs) {
    EXPECT_EQ(Watch(absl::StrCat(R"({"step": 1, "step_time": 2, "seq": 1, "micro_batch_size": 3, )",
                                 fields, "}")),
              expected);
  }
}

TEST(MonitorTest, LinesThatAreNoStep) {
  constexpr std::pair<const char*, const char*> kLogs[] = {
      // An evaluation of 60 s between steps of 2 s.
      {"{\"step\": 1, \"time\": 2, \"batch\": 1, \"seq\": 1}\n"
       "{\"step\": 1, \"eval_runtime\": 60}\n"
       "{\"step\": 2, \"time\": 64, \"batch\": 1, \"seq\": 1}",
       "2 0.5 0;"},
      // In the line of the step before it: its time was taken first.
      {"{\"step\": 1, \"time\": 2, \"batch\": 1, \"seq\": 1}\n"
       "{\"step\": 2, \"time\": 4, \"batch\": 1, \"seq\": 1, \"eval_runtime\": 60}\n"
       "{\"step\": 3, \"time\": 66, \"batch\": 1, \"seq\": 1}",
       "2 0.5 0;3 0.5 0;"},
      {"{\"step\": 1, \"rank\": 0, \"step_time\": 2, \"batch\": 1, \"seq\": 1}\n"
       "{\"step\": 1, \"rank\": 1, \"step_time\": 2, \"batch\": 1, \"seq\": 1}",
       "1 0.5 0;a step has a line for each rank: the first is read, as that of all devices;"},
  };
  for (const auto& [log, expected] : kLogs) EXPECT_EQ(Watch(log), expected) << log;
}

TEST(MonitorTest, DevicesOfTheLog) {
  StepWork work;
  work.flops = Expr(10);
  Monitor monitor(work, {.every = 1, .devices_of_log = true, .peak = 5});
  StepRecord record;
  record.step = 1;
  record.step_seconds = 2;
  record.devices = 4;
  std::vector<std::string> problems;
  EXPECT_EQ(monitor.Take(record, &problems).value()->mfu, 10 / (2.0 * 4 * 5));
}

// Every line has two figures for the same. Three lines in a row are told, once.
std::string Thrice(absl::string_view fields) {
  std::string log;
  for (int step = 10; step <= 40; step += 10) {
    absl::StrAppend(&log, "{\"step\": ", step, ", \"batch\": 1, \"seq\": 1, ",
                    absl::Substitute(fields, step / 5), "}\n");
  }
  return log;
}

TEST(MonitorTest, FiguresThatContradictEachOther) {
  const std::pair<std::string, std::string> logs[] = {
      {Thrice(R"("step_time": 2, "time": $0)"),
       "step_time says that a step takes 2 s, and time 0.2 s: step_time is used; it may be the "
       "time "
       "of 10 steps;40 0.5 0;"},
      {Thrice(R"("step_time": 0.21, "time": $0)"), "40 4.7619 0;"},
      {Thrice(R"("step_time": 2, "tokens_per_second": 5)"),
       "tokens_per_second is 5, and 1 in 2 s are 0.5: the latter is used;40 0.5 0;"},
      {Thrice(R"("step_time": 2, "samples_per_second": 0.25)"),
       "samples_per_second is 0.25, and 1 in 2 s are 0.5: the latter is used; the former may be "
       "that of one device;40 0.5 0;"},
      {Thrice(R"("step_time": 2, "tokens": 9)"),
       "tokens is 9, more than batch x length = 1: FLOPs are of the latter, "
       "perf/tokens_per_second of the former;40 0.5 0;"},
      {Thrice(R"("step_time": 2, "steps_per_second": 0.5, "samples_per_second": 0.5)"),
       "40 0.5 0;"},
      // A pause is no contradiction.
      {"step,step_time,time,batch,seq\n1,2,2,1,1\n2,2,4,1,1\n3,2,90,1,1\n4,2,92,1,1", "4 0.5 0;"},
      // A short log: it never agreed.
      {R"({"step": 1, "step_time": 2, "batch": 1, "seq": 1, "tokens_per_second": 5})",
       "tokens_per_second is 5, and 1 in 2 s are 0.5: the latter is used;1 0.5 0;"},
  };
  for (const auto& [log, expected] : logs) EXPECT_EQ(Watch(log, 100), expected) << log;
}

// What Hugging Face's Trainer prints, and its trainer_state.json: 4 steps a second, 2 samples each.
TEST(MonitorTest, TrainersOfHuggingFace) {
  constexpr char kNoTime[] = "the line has neither time nor step_seconds;";
  constexpr char kPrinted[] =
      "{'loss': 2.1, 'grad_norm': nan, 'epoch': 0.5, 'note': \"it's\"}\n"
      "{'train_runtime': 25.0, 'train_samples_per_second': 8.0, 'train_steps_per_second': 4.0, "
      "'train_loss': 2.0, 'seq': 1}";
  EXPECT_EQ(Watch(kPrinted), "there is no step;100 8 0;");
  constexpr char kState[] = R"({
  "best_metric": null,
  "global_step": 100,
  "log_history": [
    {
      "loss": NaN,
      "step": 50
    },
    {
      "seq": 1,
      "step": 100,
      "train_runtime": 25.0,
      "train_samples_per_second": 8.0,
      "train_steps_per_second": 4.0
    }
  ],
  "max_steps": 100,
  "stateful_callbacks": {
    "TrainerControl": {
      "args": {
        "should_save": true
      },
      "attributes": {}
    }
  },
  "train_batch_size": 2
})";
  EXPECT_EQ(Watch(kState), absl::StrCat(kNoTime, "100 8 0;"));
  EXPECT_EQ(Watch(absl::StrReplaceAll(kState, {{"\n", ""}})), absl::StrCat(kNoTime, "100 8 0;"));
  // A log with times of its own needs no mean.
  EXPECT_EQ(Watch("{'step': 1, 'step_time': 2, 'batch': 1, 'seq': 1}\n"
                  "{'step': 1, 'train_runtime': 9, 'train_steps_per_second': 4}"),
            "1 0.5 0;");
  EXPECT_EQ(Watch("[\n{\"step\": 1, \"step_time\": 2, \"batch\": 1, \"seq\": 1},\n]"), "1 0.5 0;");
  EXPECT_EQ(Watch("[{\"step\": 1, \"step_time\": 2, \"batch\": 1, \"seq\": 1}]"), "1 0.5 0;");
  // A list of objects may be a field of a step.
  EXPECT_EQ(Watch(R"({"step": 1, "step_time": 2, "batch": 1, "seq": 1, "gpus": [{"step": 7}]})"),
            "1 0.5 0;");
}

// The lines of nanoGPT's train.py, and of Megatron's training_log, where --dim gives the rest.
TEST(MonitorTest, LinesThatOtherProgramsPrint) {
  StepLog log;
  const auto nano = log.Read("iter 20: loss 2.3100, time 410.50ms, mfu 31.20%").value();
  EXPECT_EQ(nano->step, 20);
  EXPECT_DOUBLE_EQ(*nano->step_seconds, 0.4105);
  const auto megatron =
      log.Read(
             " [2026-11-25 08:00:00] iteration       20/     100 | consumed samples:          640 "
             "| elapsed time per iteration (ms): 410.5 | learning rate: 1.5E-04 | global batch "
             "size:    32 | lm loss: 1.0E+01 |")
          .value();
  EXPECT_EQ(megatron->step, 20);
  EXPECT_DOUBLE_EQ(*megatron->step_seconds, 0.4105);
  EXPECT_EQ(megatron->samples, 32);
}

// A step whose sizes the model has fixed at others has no figures.
TEST(MonitorTest, SizesThatTheModelDoesNotHave) {
  StepWork work;
  work.flops = Expr(10);
  work.fixed_batch = 2;
  StepRecord record;
  record.samples = 2;
  EXPECT_TRUE(CheckSizes(work, record).ok());
  record.samples = 256;
  EXPECT_EQ(CheckSizes(work, record).message(),
            "a step has batch = 256, and the file fixes it at 2: at-batch batch opens it, or "
            "per-sample counts its FLOPs for each sample");
  record = {};
  record.step = 1;
  record.step_seconds = 2;
  std::vector<std::string> told;
  EXPECT_EQ(Monitor(work, {.every = 1, .peak = 5}).Take(record, &told).value()->mfu, 1);
  EXPECT_EQ(told, std::vector<std::string>{"there is no batch in the log: a step counts as 2 "
                                           "samples, as the file fixes it"});
  work.per_sample = true;
  record.samples = 256;
  std::vector<std::string> problems;
  Monitor monitor(work, {.every = 1, .devices = 2, .peak = 5});
  EXPECT_EQ(monitor.Take(record, &problems).value()->mfu, 10 * 128 / (2.0 * 2 * 5));
  work.bindings = {{"seq", 128}};
  record.sizes = {{"seq", 512}};
  EXPECT_EQ(CheckSizes(work, record).message(),
            "a step has seq = 512, and the call fixes it at 128: leave out dim seq");
}

TEST(MonitorTest, GapsRestartsAndOrder) {
  const auto at = [](int step, int time) {
    return absl::Substitute("{\"step\": $0, \"time\": $1, \"batch\": 1, \"seq\": 1}\n", step, time);
  };
  EXPECT_EQ(Watch(at(1, 2) + at(2, 4) + at(5, 10)), "2 0.5 0;steps 3 to 4 are missing;5 0.5 0;");
  EXPECT_EQ(Watch(at(1, 2) + at(2, 4) + at(4, 8)), "2 0.5 0;step 3 is missing;4 0.5 0;");
  EXPECT_EQ(Watch(at(1, 2) + at(3, 6) + at(2, 4) + at(4, 8)),
            "3 0.5 0;step 2 is out of order: left out;4 0.5 0;");
  EXPECT_EQ(Watch(at(3, 6) + at(3, 6)), "step 3 is there again: left out;");
  EXPECT_EQ(Watch(at(8, 6) + at(9, 8) + at(4, 20) + at(5, 24)),
            "9 0.5 0;the training starts again: step 4 follows 9;5 0.25 0;");
  EXPECT_EQ(Watch(at(1, 2) + at(2, 2)),
            "time does not go on: it should be a clock; how long a step takes is step_seconds;2 "
            "-1 -1;");
  // A clock of whole seconds: two steps in four seconds.
  EXPECT_EQ(Watch(at(1, 2) + at(2, 2) + at(3, 6), 10),
            "time does not go on: it should be a clock; how long a step takes is step_seconds;3 "
            "0.5 0;");
  EXPECT_EQ(Watch(at(1, 2) + at(9, 18) + at(12, 24), 10), "12 0.5 0;");
}

TEST(MonitorTest, NoLogOverflows) {
  constexpr char kMost[] =
      R"({"step": 1099511627776, "step_seconds": 1e-12, "batch": 1099511627776, "seq": 1099511627776})";
  Monitor monitor = TokenMonitor(1);
  StepLog steps;
  std::vector<std::string> problems;
  const std::optional<MonitorPoint> point = monitor.Take(**steps.Read(kMost), &problems).value();
  ASSERT_TRUE(point.has_value());
  EXPECT_GT(*point->mfu, 1);
  EXPECT_FALSE(point->reasons.empty());
  EXPECT_EQ(ToJsonLine(*point).find("inf"), std::string::npos);
}

TEST(MonitorTest, LongLinesNameTheirLimit) {
  const absl::Status error = StepLog().Read(std::string(kMaxLogLine + 1, 'x')).status();
  EXPECT_EQ(LimitOf(error), "log-line");
  EXPECT_EQ(error.message(), "has more than 1048576 bytes (log-line)");
}

TEST(MonitorTest, ChecksumsAreThoseOfRfc3720) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);
}

TEST(MonitorTest, LabelsOfPrometheusAreData) {
  MonitorPoint point;
  const std::string text = ToPrometheus(point, {}, "a\"b\\c\nd\xff");
  EXPECT_NE(text.find("onnxflops_model_flops_total{model=\"a\\\"b\\\\c?d?\"} 0\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace onnxflops::monitor_test
