// What tools really printed for models (tests/data/compare_truth.json), and what formulas give by
// hand for their published architectures (tools/export/formula_truth.py), against what conventions
// say of exports of them (tests/data/compare_models.tar.xz, graphs without weights).
//
// tests/data/compare_table.txt has a row for every export and a column for every tool:
//
//   =   exact, and it is the tool's figure        -   no figure, and the tool has none
//   ~=  assumed, and it is                        x   no figure, but the tool has one
//   ~   assumed, and it is not                    .   what the tool prints is not known
//   !   exact, and it is not: never
//
// Those figures were measured under torch.no_grad(). Of some models compare_truth_gradients.json
// has what tools print as their documents call them, with gradients on, and
// compare_table_gradients.txt the table.
//
// UPDATE_GOLDENS=1 rewrites both.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/api/count.h"
#include "src/compare/compare_report.h"
#include "src/convention/conventions.h"
#include "src/load/load_file.h"

namespace onnxflops::convention::compare_truth_test {
namespace {

using Json = nlohmann::json;

constexpr char kData[] = ONNXFLOPS_SOURCE_DIR "/tests/data/compare_";
constexpr char kGradients[] = "_gradients";

// Every tool, and other versions of which there are figures. A figure under a name without a
// version is of all of them, but for onnx-opcounter.
std::vector<std::string> Columns() {
  std::vector<std::string> names;
  for (const Convention* c : Conventions()) names.emplace_back(c->name);
  names.insert(names.end(),
               {"deepspeed@0.19.6", "flop-counter-mode-cpu@2.14", "onnx-opcounter@0.1.0"});
  return names;
}

Json Truth(const std::string& suffix) {
  std::ifstream file(absl::StrCat(kData, "truth", suffix, ".json"));
  return Json::parse(file);
}

CompareReport Compare(const std::string& name, bool no_grad) {
  const auto model = LoadFile(absl::StrCat(ONNXFLOPS_COMPARE_MODELS_DIR "/", name, ".onnx"));
  EXPECT_TRUE(model.ok()) << model.status();
  return CompareTools(*model, {.no_grad = no_grad}, {.with = Columns()}).value();
}

std::string Mark(const ToolRow& row, const Json& truth) {
  const bool none = row.standing == Standing::kNotApplicable;
  const std::string name = row.convention->name;
  const std::string tool = truth.contains(name) ? name : name.substr(0, name.find('@'));
  if (!truth.contains(tool)) return ".";
  const Json& figure = truth[tool];
  // "none": the tool ended with an error; "open": it did not find a number.
  if (figure == "none") return none ? "-" : row.standing == Standing::kExact ? "!" : "~";
  if (figure == "open") return row.standing == Standing::kExact ? "!" : "~";
  if (none) return "x";
  const bool right = row.headline == Expr(figure.get<int64_t>());
  if (row.standing == Standing::kExact) return right ? "=" : "!";
  return right ? "~=" : "~";
}

struct Score {
  int figures = 0, right = 0, exact = 0, lies = 0;
};

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

// The table, and how many of the figures are right and called exact.
std::string MakeTable(const std::string& suffix, Score* all, Score* dynamo) {
  const Json truth = Truth(suffix);
  constexpr size_t kNameWidth = 48;
  std::string text = Padded("export", kNameWidth);
  for (const std::string& column : Columns()) absl::StrAppend(&text, column, " ");
  text.back() = '\n';
  for (const auto& [name, figures] : truth.items()) {
    std::string line = Padded(name, kNameWidth);
    for (const ToolRow& row : Compare(name, /*no_grad=*/suffix.empty()).tools) {
      const std::string mark = Mark(row, figures);
      line += Padded(mark, std::string(row.convention->name).size() + 1);
      for (Score* score : {all, dynamo}) {
        if (score == dynamo && !absl::StrContains(name, "dynamo")) continue;
        score->figures += mark == "." ? 0 : 1;
        score->exact += mark == "=" || mark == "-" ? 1 : 0;
        score->right += mark == "=" || mark == "-" || mark == "~=" ? 1 : 0;
        score->lies += mark == "!" ? 1 : 0;
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string Share(const Score& score) {
  return absl::StrCat(score.right, " of ", score.figures, " figures right, ", score.exact,
                      " of them exact");
}

void ExpectTable(const std::string& table, const std::string& suffix) {
  const std::string path = absl::StrCat(kData, "table", suffix, ".txt");
  if (std::getenv("UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path, std::ios::binary) << table;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(table, golden.str()) << "UPDATE_GOLDENS=1 rewrites " << path;
}

TEST(CompareTruthTest, FiguresAreWhatTheToolsPrinted) {
  Score all, dynamo;
  const std::string table = MakeTable("", &all, &dynamo);
  std::cout << "all exports: " << Share(all) << "; dynamo: " << Share(dynamo) << "\n";
  EXPECT_EQ(all.lies, 0) << table;
  EXPECT_GE(dynamo.right * 10, dynamo.figures * 9) << table;
  EXPECT_GE(dynamo.exact * 10, dynamo.figures * 6) << table;
  ExpectTable(table, "");
}

TEST(CompareTruthTest, FiguresWithGradientsAreWhatTheToolsPrinted) {
  Score all, dynamo;
  const std::string table = MakeTable(kGradients, &all, &dynamo);
  EXPECT_EQ(all.lies, 0) << table;
  EXPECT_GE(all.right * 10, all.figures * 9) << table;
  ExpectTable(table, kGradients);
}

}  // namespace
}  // namespace onnxflops::convention::compare_truth_test
