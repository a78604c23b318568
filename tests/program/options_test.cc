// What options mean, and what a wrong call is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/setting.h"
#include "src/settings/program_face.h"
#include "tools/cli/option_list.h"
#include "tools/cli/output_arguments.h"
#include "tools/cli/progress.h"
#include "tools/commands/each_model.h"

namespace onnxflops::tools::options_test {
namespace {

using testing::ElementsAre;

struct Call {
  std::vector<std::string> models, dims;
  std::string format, file;
  bool exact = false;

  absl::Status Parse(absl::string_view line) {
    OptionList list;
    list.AddPositional("MODEL", &models, 1, 2);
    list.AddValues("dim", "NAME=N", &dims, "Sizes.");
    list.AddValue("format", "FORMAT", &format, "How.", {"table", "json"});
    list.AddValue("o", "FILE", &file, "Where.");
    list.AddFlag("exact", &exact, "Every digit.");
    std::string help;
    const CommandHelp command = {"onnxflops count MODEL", "Counts.\n", ""};
    return list.Parse(command, absl::StrSplit(line, ' ', absl::SkipEmpty()), &help).status();
  }
};

TEST(OptionListTest, TakesWhatIsGiven) {
  Call call;
  ASSERT_TRUE(call.Parse("a --dim x=1 --dim=y=2 -ofile --exact --format json -- --dim").ok());
  EXPECT_THAT(call.models, ElementsAre("a", "--dim"));
  EXPECT_THAT(call.dims, ElementsAre("x=1", "y=2"));
  EXPECT_EQ(call.file, "file");
  EXPECT_EQ(call.format, "json");
  EXPECT_TRUE(call.exact);
}

TEST(OptionListTest, ValuesMayLookLikeOptions) {
  Call call;
  ASSERT_TRUE(call.Parse("- --dim -1 -o -x").ok());
  EXPECT_THAT(call.models, ElementsAre("-"));
  EXPECT_THAT(call.dims, ElementsAre("-1"));
  EXPECT_EQ(call.file, "-x");
}

TEST(OptionListTest, WrongCallsAreTold) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no MODEL is given"},
      {"a b c", "'c' is one too many: count takes MODEL"},
      {"a --dims x=1", "--dims is not an option of count; did you mean --dim?"},
      {"a --quiet", "--quiet is not an option of count"},
      {"a -q", "-q is not an option of count"},
      {"a --dim", "--dim needs a value: --dim NAME=N"},
      {"a --dim --exact", "--dim needs a value: --dim NAME=N"},
      {"a -o --format json", "-o needs a value: -o FILE"},
      {"a --dim --help", "--dim needs a value: --dim NAME=N"},
      {"a -o -h --exact", "-o needs a value: -o FILE"},
      {"a --exact=yes", "--exact takes no value"},
      {"a --format json --format=table", "--format is given twice, as 'json' and as 'table'"},
  };
  for (const auto& [line, why] : cases) {
    EXPECT_EQ(Call().Parse(line).message(), absl::StrCat(why, " (see onnxflops count --help)"));
  }
}

// ---- formats

std::string FormatOf(const std::string& format, const std::string& file) {
  const ProcessFace face(settings::kProgramFace);
  OptionList list;
  OutputArguments output;
  output.AddOnly(&list, {"table", "markdown", "latex", "json", "csv"});
  output.format = format;
  output.file = file;
  const absl::StatusOr<Format> parsed = output.ParseFormat();
  if (!parsed.ok()) return std::string(parsed.status().message());
  return std::string(RowOf(*parsed).name);
}

TEST(FormatTest, IsTheOneGivenOrThatOfTheFile) {
  const struct {
    const char *format, *file, *expected;
  } cases[] = {
      {"", "-", "table"},
      {"", "a.csv", "csv"},
      {"", "a.json", "json"},
      {"", "a.md", "markdown"},
      {"", "a.tex", "latex"},
      {"", "a.txt", "table"},
      {"", "a.report", "table"},
      {"json", "a.csv", "json"},
      {"text", "a.csv", "table"},
      {"md", "-", "markdown"},
      {"jsn", "-",
       "--format 'jsn': it should be table, markdown, latex, json or csv; did you mean json?"},
      {"xml", "-", "--format 'xml': it should be table, markdown, latex, json or csv"},
      {"", "a.XLSX",
       "-o 'a.XLSX': this command writes table, markdown, latex, json or csv, not xlsx; --format "
       "says "
       "which"},
      {"csv", "a.xlsx", "csv"},
      {"", "a.jsonl",
       "-o 'a.jsonl': this command writes table, markdown, latex, json or csv, not jsonl; --format "
       "says "
       "which"},
  };
  for (const auto& c : cases) EXPECT_EQ(FormatOf(c.format, c.file), c.expected) << c.file;
}

// ---- many models

TEST(EachModelTest, RunsEachOnceOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 7, 256}) {
    std::vector<int> runs(100, 0);
    ForEach(runs.size(), threads, [&](size_t i) { ++runs[i]; });
    EXPECT_EQ(runs, std::vector<int>(100, 1)) << threads;
  }
}

TEST(ProgressTest, Bar) {
  EXPECT_EQ(ProgressBar(0, 8, 4, "models"), "[    ] 0 of 8 models");
  EXPECT_EQ(ProgressBar(5, 8, 4, "models"), "[##  ] 5 of 8 models");
  EXPECT_EQ(ProgressBar(8, 8, 4, "models"), "[####] 8 of 8 models");
}

TEST(EachModelTest, Jobs) {
  const std::pair<const char*, int> cases[] = {{"1", 1},   {"256", 256}, {"0", 0},
                                               {"257", 0}, {"-1", 0},    {"two", 0}};
  for (const auto& [text, threads] : cases) {
    EXPECT_EQ((JobsArgument{text}.Parse().value_or(0)), threads) << text;
  }
  EXPECT_GE(JobsArgument{}.Parse().value_or(0), 1);
}

}  // namespace
}  // namespace onnxflops::tools::options_test
