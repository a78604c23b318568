// What sizes mean, and what is said of wrong ones.
#include "src/settings/size_arguments.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/setting.h"
#include "src/settings/check_arguments.h"
#include "src/settings/memory_arguments.h"
#include "src/settings/program_face.h"
#include "src/settings/table.h"
#include "src/settings/value.h"

namespace onnxflops::settings::size_arguments_test {
namespace {

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
    EXPECT_EQ(Dims({text}), absl::StrCat("dim '", text, "': ", why));
  }
}

TEST(DimTest, TheSameNameAgain) {
  EXPECT_EQ(Dims({"a=1,b=2", "a=1"}), "a=1; b=2");
  EXPECT_EQ(Dims({"a=1,2", "a=1"}), "dim 'a=1': it was given as 1,2 before");
  EXPECT_EQ(Dims({"a=1,a=2"}), "dim 'a=1,a=2': it was given as 1 before");
}

TEST(DimTest, OnlyCountSweeps) {
  SizeArguments sizes;
  sizes.dims = {"a=1,b=2,3"};
  EXPECT_EQ(
      sizes.Parse().status().message(),
      "dim gives 'b' 2 sizes: only onnxflops count and pipeline take more than one; [at] sets of "
      "check hold a range each");
  CheckArguments check;
  check.sizes.dims = {"a=1,b=1..2000"};
  EXPECT_EQ(
      check.Counted().status().message(),
      "dim 'a=1,b=1..2000': more than 1000 sizes (sweep-points); a range in [at] of a file of "
      "budgets may have any number");
}

// "8 of x:0 y:1", or the error.
std::string Batch(const std::string& text) {
  SizeArguments sizes;
  sizes.at_batch = text;
  const absl::StatusOr<CountOptions> options = sizes.Parse();
  if (!options.ok()) return std::string(options.status().message());
  return absl::StrCat(options->batch->size.ToString(), " of ",
                      absl::StrJoin(options->batch->axes, " ", absl::PairFormatter(":")));
}

TEST(AtBatchTest, ANumberOrANameAndWhichInputs) {
  const std::pair<const char*, const char*> cases[] = {
      {"8", "8 of "},
      {"samples", "samples of "},
      {"x=8", "8 of x:0"},
      {"x,y:1=n", "n of x:0 y:1"},
      {"serving:0:2=8", "8 of serving:0:2"},
      {"a=b=8", "8 of a=b:0"},
  };
  for (const auto& [text, batch] : cases) EXPECT_EQ(Batch(text), batch) << text;
  for (const char* text : {"0", "-1", "1.5", "8x3", "x=", "x=0", "min", "2n", "9999999999"}) {
    EXPECT_EQ(Batch(text), absl::StrCat("at-batch '", text,
                                        "': the batch should be a whole number of 1 to "
                                        "1073741824, or a name"));
  }
  EXPECT_EQ(Batch("x,x=8"), "at-batch 'x,x=8': 'x' is there twice");
}

TEST(FaceTest, TextsAndErrorsAreInItsWords) {
  const ProcessFace face(kProgramFace);
  ServingArguments serving;
  Table table;
  serving.AddTo(&table);
  EXPECT_EQ(table.rows()[1].name, "decode");
  EXPECT_EQ(table.rows()[1].text,
            "The same in one step of N tokens after PAST others, beside --prefill if that is "
            "given. `onnxflops pipeline` counts tokens that are generated one after another.");
  serving.experts = "8";
  EXPECT_EQ(serving.Parse().status().message(),
            "--experts is about a step of --prefill, --decode or --requests");
}

// The name of a file may be the word that a flag has.
TEST(FaceTest, AFileNamedOn) {
  const ProcessFace face(kProgramFace);
  EXPECT_EQ(InFile("devices-file", "on", absl::NotFoundError("no such file")).message(),
            "--devices-file on: no such file");
}

}  // namespace
}  // namespace onnxflops::settings::size_arguments_test
