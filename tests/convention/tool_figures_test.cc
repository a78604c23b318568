// What tools printed for some 400 small modules of PyTorch (tools/export/tool_figures.py), against
// what conventions say of two exports of each (tests/data/tool_models.tar.xz). No figure that is
// called exact is wrong.
//
// tests/data/tool_table.txt has how many agree, by tool and exporter. UPDATE_GOLDENS=1 rewrites it;
// ONNXFLOPS_SHOW=1 lists the figures that do not.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/api/count.h"
#include "src/load/load.h"
#include "src/report/compare_report.h"

namespace onnxflops::convention {
namespace {

using Json = nlohmann::json;

constexpr char kTable[] = ONNXFLOPS_SOURCE_DIR "/tests/data/tool_table.txt";

struct Score {
  int exact = 0, right = 0, figures = 0;
};

class Comparer {
 public:
  void Compare(const std::string& name, const std::string& exporter, const Json& figures) {
    const std::string path =
        absl::StrCat(ONNXFLOPS_TOOL_MODELS_DIR "/", name, ".", exporter, ".onnx");
    if (!std::filesystem::exists(path)) return;  // it does not export
    const auto model = LoadFile(path);
    ASSERT_TRUE(model.ok()) << model.status();
    std::vector<std::string> tools;
    for (const auto& [tool, figure] : figures.items()) tools.push_back(tool);
    const CompareReport report = CompareTools(*model, {}, {.with = tools}).value();
    for (size_t i = 0; i < tools.size(); ++i) {
      Note(absl::StrCat(name, ".", exporter, " ", tools[i]), figures[tools[i]], report.tools[i],
           &scores_[{tools[i], exporter}]);
    }
  }

  std::string Table() const {
    std::string text =
        absl::StrFormat("%-28s%-10s%8s%8s%9s\n", "tool", "exporter", "exact", "right", "figures");
    for (const auto& [key, score] : scores_) {
      absl::StrAppendFormat(&text, "%-28s%-10s%8d%8d%9d\n", key.first, key.second, score.exact,
                            score.right, score.figures);
    }
    return text;
  }

 private:
  static void Note(const std::string& what, const Json& figure, const ToolRow& row, Score* score) {
    const bool none = row.standing == Standing::kNotApplicable;
    const bool exact = row.standing == Standing::kExact;
    const bool right =
        figure == "none" ? none : !none && row.headline == Expr(figure.get<int64_t>());
    ++score->figures;
    score->right += right ? 1 : 0;
    score->exact += right && (exact || none) ? 1 : 0;
    if (right) return;
    if (exact)
      ADD_FAILURE() << what << ": exact " << row.headline->ToString() << ", not " << figure;
    if (std::getenv("ONNXFLOPS_SHOW") == nullptr) return;
    std::cout << what << ": " << (none ? "none" : row.headline->ToString()) << ", not " << figure
              << "\n";
  }

  std::map<std::pair<std::string, std::string>, Score> scores_;
};

TEST(ToolFiguresTest, NoExactFigureIsWrong) {
  std::ifstream file(ONNXFLOPS_TOOL_MODELS_DIR "/figures.json");
  const Json all = Json::parse(file);
  EXPECT_GE(all.size(), 200U);
  Comparer comparer;
  for (const auto& [name, figures] : all.items()) {
    for (const char* exporter : {"dynamo", "ts"}) comparer.Compare(name, exporter, figures);
  }
  const std::string table = comparer.Table();
  if (std::getenv("UPDATE_GOLDENS") != nullptr) {
    std::ofstream(kTable, std::ios::binary) << table;
    return;
  }
  std::ifstream golden_file(kTable, std::ios::binary);
  std::stringstream golden;
  golden << golden_file.rdbuf();
  EXPECT_EQ(table, golden.str()) << "UPDATE_GOLDENS=1 rewrites tests/data/tool_table.txt";
}

}  // namespace
}  // namespace onnxflops::convention
