// All that a comparison says, on real exports and on the examples of all operators: terms add up to
// figures. What the tools themselves print is in compare_truth_test, tool_figures_test and
// xla_truth_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "src/api/count.h"
#include "src/api/load.h"
#include "src/compare/compare_report.h"
#include "src/load/load_file.h"
#include "tests/ops/examples.h"
#include "tests/ops/variants.h"
#include "tests/table.h"

namespace onnxflops::comparisons_test {
namespace {

namespace fs = std::filesystem;

std::string FigureOf(const ToolRow& row) {
  return row.headline.has_value() ? row.headline->ToString() : "-";
}

// Of work in which we count no MACs, so that a tool can only count more.
bool IsWithoutMacs(const ToolRow& row, const TermRow& term) {
  constexpr const char* kNames[] = {"normalisation", "activations", "pooling and means", "softmax",
                                    "resizing"};
  return row.from == nullptr && row.convention->unit == Unit::kMac &&
         std::find(std::begin(kNames), std::end(kNames), term.name) != std::end(kNames);
}

// What a row says fits together.
void ExpectAddsUp(const ToolRow& row) {
  SCOPED_TRACE(row.convention->name);
  EXPECT_EQ(row.headline.has_value(), row.standing != Standing::kNotApplicable);
  if (!row.headline.has_value()) return;
  EXPECT_EQ(row.assumptions.empty(), row.standing == Standing::kExact);
  Expr figure = row.start;
  for (const TermRow& term : row.terms) {
    figure = figure + term.amount;
    if (IsWithoutMacs(row, term)) {
      EXPECT_TRUE(!term.amount.is_literal() || term.amount.literal() > 0) << term.name;
    }
    EXPECT_NE(term.amount, Expr(0)) << term.name;
    EXPECT_TRUE(term.of_model || term.nodes > 0) << term.name;
  }
  EXPECT_TRUE(figure == *row.headline) << figure.ToString();
  EXPECT_TRUE(!figure.is_literal() || figure.literal() >= 0) << figure.ToString();
}

// "thop: 99 assumed", then a line for each term, and the beginning of each assumption.
void AddRow(const ToolRow& row, std::vector<std::string>* lines) {
  lines->push_back(
      absl::StrCat(row.convention->name, ": ", FigureOf(row), " ", StandingName(row.standing)));
  for (const TermRow& term : row.terms) {
    lines->push_back(absl::StrCat("  ", term.name, ": ", term.amount.ToString(), " of ", term.nodes,
                                  term.of_model ? ", the model" : ""));
  }
  constexpr size_t kShown = 60;
  for (const std::string& assumption : row.assumptions) {
    lines->push_back("  ? " + assumption.substr(0, kShown));
  }
}

std::vector<fs::path> FilesIn(const fs::path& folder, const std::string& extension) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// 2, 3, 5 and 7 for symbols, so that no two of a model are equal where it has no more of them.
Bindings SizesFor(const Model& model) {
  const Report report = Count(model).value();
  Bindings sizes;
  constexpr int64_t kSizes[] = {2, 3, 5, 7};
  for (const SymbolOrigin& symbol : report.symbols) {
    sizes.try_emplace(symbol.name, kSizes[sizes.size() % std::size(kSizes)]);
  }
  return sizes;
}

void AddModel(const fs::path& path, const CompareRequest& request,
              std::vector<std::string>* lines) {
  const absl::StatusOr<Model> model = Load(path.string());
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<CompareReport> report =
      CompareTools(*model, {.bindings = SizesFor(*model)}, request);
  ASSERT_TRUE(report.ok()) << report.status();
  lines->push_back("## " + path.stem().string());
  SCOPED_TRACE(path.stem().string());
  for (const ToolRow& row : report->tools) {
    ExpectAddsUp(row);
    AddRow(row, lines);
  }
}

TEST(ComparisonsTest, OfModelsAddUp) {
  const fs::path source = ONNXFLOPS_SOURCE_DIR, configs = source / "tests/data/config";
  std::vector<std::string> lines;
  for (const fs::path& path : FilesIn(ONNXFLOPS_COMPARE_MODELS_DIR, ".onnx")) {
    AddModel(path, {}, &lines);
  }
  for (const fs::path& path : FilesIn(source / "models", ".onnx")) {
    AddModel(path, {.with = {"onnx-tool", "onnx-opcounter", "onnxsim"}}, &lines);
  }
  const CompareRequest formulas = {.with = {"config-6n", "config-2.5n", "palm", "megatron",
                                            "nanogpt", "chinchilla", "llm-foundry", "torchtitan",
                                            "maxtext", "megatron-bridge", "config-clip"}};
  for (const char* family : {"clip-family", "gpt-family", "gpt2"}) {
    for (const fs::path& path : FilesIn(configs / family, ".json")) {
      AddModel(path, formulas, &lines);
    }
  }
  WriteTable(lines, "comparisons.txt");
}

// Of tools that look at a graph, not at the PyTorch program that it was exported from.
TEST(ComparisonsTest, OfExamplesAddUp) {
  std::vector<std::string> lines;
  for (const auto& [name, e] : NamedExamples()) {
    std::string line = absl::StrCat(name, ":");
    const onnx::ModelProto proto = WithSizes(ExampleModel(e).value());
    const Model model = LoadFromBytes(proto.SerializeAsString()).value();
    const auto report =
        CompareTools(model, {}, {.with = {"onnx-tool", "onnx-opcounter", "onnxsim", "xla"}});
    if (!report.ok()) continue;
    SCOPED_TRACE(name);
    for (const ToolRow& row : report->tools) {
      ExpectAddsUp(row);
      absl::StrAppend(&line, " ", row.convention->name, " ", FigureOf(row),
                      row.standing == Standing::kAssumed ? "?" : "");
    }
    lines.push_back(line);
  }
  WriteTable(lines, "example_figures.txt");
}

}  // namespace
}  // namespace onnxflops::comparisons_test
