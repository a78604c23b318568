// What options mean, and what a wrong call is told.
#include "tools/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/cli/option_list.h"
#include "tools/cli/progress.h"
#include "tools/commands/each_model.h"

namespace onnxflops::tools {
namespace {

using testing::ElementsAre;

// "a=1; b=2,4", or the error.
std::string Dims(const std::vector<std::string>& texts) {
  std::vector<DimSizes> dims;
  for (const std::string& text : texts) {
    const absl::Status status = ParseDims(text, &dims);
    if (!status.ok()) return std::string(status.message());
  }
  return absl::StrJoin(dims, "; ", [](std::string* out, const DimSizes& dim) {
    absl::StrAppend(out, dim.name, "=", absl::StrJoin(dim.sizes, ","));
  });
}

TEST(DimTest, NamesAndSizes) {
  const std::pair<const char*, const char*> cases[] = {
      {"batch=8", "batch=8"},
      {"batch= 8", "batch=8"},
      {"a=1,b=2", "a=1; b=2"},
      {"seq=128,512,2048", "seq=128,512,2048"},
      {"batch=1,seq=128,512,x=3", "batch=1; seq=128,512; x=3"},
      {"seq=1..5", "seq=1,2,3,4,5"},
      {"seq=7..7", "seq=7"},
      {"seq=10..45+10", "seq=10,20,30,40"},
      {"seq=1..100*3", "seq=1,3,9,27,81"},
      {"seq=1,2..4,10..20+5,b=3", "seq=1,2,3,4,10,15,20; b=3"},
      {"seq=1..4,2..6", "seq=1,2,3,4,5,6"},
      {"seq=9223372036854775806..9223372036854775807",
       "seq=9223372036854775806,9223372036854775807"},
      {"seq=1..9223372036854775807*4611686018427387904", "seq=1,4611686018427387904"},
  };
  for (const auto& [text, dims] : cases) EXPECT_EQ(Dims({text}), dims) << text;
}

// Names of files and of sizes that depend on data hold nearly anything.
TEST(DimTest, NamesWithSigns) {
  const std::pair<const char*, const char*> cases[] = {
      {"a + b=2", "'a + b'=2"},
      {"a=b=2", "'a=b'=2"},
      {"max(a,b)=3", "'max(a,b)'=3"},
      {"x=1,max(a,b)=3", "x=1; 'max(a,b)'=3"},
      {"'rows, 1=2'=3,4", "'rows, 1=2'=3,4"},
      {"nonzero(/head/NonZero)=4,x.0=7", "nonzero(/head/NonZero)=4; x.0=7"},
      {"nonzero('f(a=1,b)')=6", "nonzero('f(a=1,b)')=6"},
  };
  for (const auto& [text, dims] : cases) EXPECT_EQ(Dims({text}), dims) << text;
}

TEST(DimTest, WhatIsNone) {
  const std::pair<const char*, const char*> cases[] = {
      {"batch", "it should be NAME=N, as batch=8"},
      {"=3", "it should be NAME=N, as batch=8"},
      {"batch=1,", "it should be NAME=N, as batch=8"},
      {"batch=1,seq", "it should be NAME=N, as batch=8"},
      {"batch=many", "'many' must be a whole number, 0 or more"},
      {"batch=-1", "'-1' must be a whole number, 0 or more"},
      {"batch=many,seq=3", "'many' must be a whole number, 0 or more"},
      {"batch=1,seq=many", "'many' must be a whole number, 0 or more"},
      {"batch=99999999999999999999", "'99999999999999999999' must be a whole number, 0 or more"},
      {"seq=1..", "'' must be a whole number, 0 or more"},
      {"seq=1..4*x", "'x' must be a whole number, 0 or more"},
      {"seq=4..1", "4 is above 1"},
      {"seq=0..8*2", "with *, the first size must be 1 or more and the factor 2 or more"},
      {"seq=1..8*1", "with *, the first size must be 1 or more and the factor 2 or more"},
      {"seq=1..8+0", "the step must be 1 or more"},
      {"seq=0..1000", "more than 1000 sizes (sweep-points)"},
  };
  for (const auto& [text, why] : cases) {
    EXPECT_EQ(Dims({text}), absl::StrCat("--dim '", text, "': ", why));
  }
}

TEST(DimTest, TheSameNameAgain) {
  EXPECT_EQ(Dims({"a=1,b=2", "a=1"}), "a=1; b=2");
  EXPECT_EQ(Dims({"a=1,2", "a=1"}), "--dim 'a=1': it was given as 1,2 before");
  EXPECT_EQ(Dims({"a=1,a=2"}), "--dim 'a=1,a=2': it was given as 1 before");
}

TEST(DimTest, OnlyCountSweeps) {
  SizeArguments sizes;
  sizes.dims = {"a=1,b=2,3"};
  EXPECT_EQ(sizes.Parse().status().message(),
            "--dim gives 'b' 2 sizes: only onnxflops count takes more than one");
}

// ---- lists of options

struct Call {
  std::vector<std::string> models, dims;
  std::string format, file;
  bool exact = false;

  absl::Status Parse(absl::string_view line) {
    OptionList list;
    list.AddPositional("MODEL", &models, 1, 2);
    list.AddValues("--dim", "NAME=N", &dims, "Sizes.");
    list.AddValue("--format", "FORMAT", &format, "How.", {"table", "json"});
    list.AddValue("-o", "FILE", &file, "Where.");
    list.AddFlag("--exact", &exact, "Every digit.");
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
      {"a --exact=yes", "--exact takes no value"},
      {"a --format json --format=table", "--format is given twice, as 'json' and as 'table'"},
  };
  for (const auto& [line, why] : cases) {
    EXPECT_EQ(Call().Parse(line).message(), absl::StrCat(why, " (see onnxflops count --help)"));
  }
}

// ---- formats

std::string FormatOf(const std::string& format, const std::string& file) {
  OptionList list;
  OutputArguments output;
  output.AddTo(&list);
  output.format = format;
  output.file = file;
  const absl::StatusOr<Format> parsed = output.ParseFormat();
  if (!parsed.ok()) return std::string(parsed.status().message());
  constexpr const char* kNames[] = {"table", "text", "json", "jsonl", "csv", "markdown"};
  return kNames[static_cast<size_t>(*parsed)];
}

TEST(FormatTest, IsTheOneGivenOrThatOfTheFile) {
  const struct {
    const char *format, *file, *expected;
  } cases[] = {
      {"", "-", "table"},
      {"", "a.csv", "csv"},
      {"", "a.json", "json"},
      {"", "a.md", "markdown"},
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
}  // namespace onnxflops::tools
