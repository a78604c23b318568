// What training keeps of small modules, exported by both exporters, against torch's hooks of saved
// tensors. tests/data/kept_truth.json says how its figures were measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/onnxflops.h"

namespace onnxflops {
namespace {

using Json = nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

// Of 100 figures without a warning, so many at least are torch's; of all, so many at most have one.
// The figures of fresh modules are harder than those that users meet: they were made to break ours.
constexpr size_t kPercentAsTorch = 97;
constexpr size_t kPercentWithWarning = 13;

const Json& Cases() {
  static const Json truth =
      Json::parse(std::ifstream(ONNXFLOPS_SOURCE_DIR "/tests/data/kept_truth.json"));
  return truth["cases"];
}

struct Found {
  bool equal = false, unknown = false;
};

// Whether bytes and those of inputs are torch's; what differs without a word is a failure.
Found Compare(const Json& row, const std::string& attention) {
  const auto model =
      Load(absl::StrCat(ONNXFLOPS_KEPT_MODELS_DIR, "/", row["file"].get<std::string>()));
  EXPECT_TRUE(model.ok()) << model.status();
  CountOptions options;
  TrainingOptions& training = options.memory.emplace().training;
  if (attention == "flash") training.attention = AttentionBackward::kFlash;
  const absl::StatusOr<Report> report = Count(*model, options);
  EXPECT_TRUE(report.ok()) << report.status();
  if (!report.ok()) return {};
  const Json& truth = row[attention];
  const bool equal = report->memory->saved_bytes == Expr(truth[0].get<int64_t>()) &&
                     report->memory->saved_input_bytes == Expr(truth[1].get<int64_t>());
  const bool unknown = report->memory->unknown_saved > 0;
  const Json expected = row.value("unknown", Json(false));
  EXPECT_EQ(unknown, expected == Json(true) || expected == Json(attention));
  if (unknown) {
    EXPECT_THAT(report->warnings, Contains(HasSubstr("what autograd keeps is not known of")));
    const bool above = report->memory->saved_bytes.literal() > truth[0].get<int64_t>();
    EXPECT_EQ(above, row.contains("above")) << report->memory->saved_bytes.ToString();
  }
  EXPECT_TRUE(equal || unknown || row.contains("unlike")) << report->memory->saved_bytes.ToString();
  return {equal, unknown};
}

TEST(KeptTest, ModulesKeepWhatTorchSaves) {
  ASSERT_GT(Cases().size(), 450);
  size_t figures = 0, silent = 0, silent_as_torch = 0;
  for (const Json& row : Cases()) {
    SCOPED_TRACE(row["file"].get<std::string>());
    size_t of_case = 0, equal_of_case = 0;
    for (const char* attention : {"math", "flash"}) {
      if (!row.contains(attention)) continue;
      ++of_case;
      const Found found = Compare(row, attention);
      equal_of_case += found.equal ? 1 : 0;
      silent += found.unknown ? 0 : 1;
      silent_as_torch += found.equal && !found.unknown ? 1 : 0;
    }
    EXPECT_TRUE(!row.contains("unlike") || equal_of_case < of_case) << "it is as torch's now";
    figures += of_case;
  }
  EXPECT_GE(100 * silent_as_torch, kPercentAsTorch * silent) << silent_as_torch << " of " << silent;
  EXPECT_LE(100 * (figures - silent), kPercentWithWarning * figures) << figures - silent;
}

}  // namespace
}  // namespace onnxflops
