// What the screens of `count` hold, over all models at hand: sums, widths, parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "src/onnxflops.h"
#include "src/render/format.h"
#include "src/render/text_table.h"
#include "src/report/figure_columns.h"
#include "src/report/reference_sizes.h"
#include "src/report/summary.h"
#include "src/report/view.h"
#include "tests/model_maker.h"

namespace onnxflops::screen_test {
namespace {

using report::DisplayWidth;
using report::Intensity;
using report::MakeTable;
using report::ModuleRow;
using report::ModuleRows;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> AllModels() {
  std::vector<std::string> paths;
  for (const char* folder : {"/models", "/models/deployed"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(absl::StrCat(ONNXFLOPS_SOURCE_DIR, folder))) {
      if (entry.path().extension() == ".onnx") paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::StatusOr<Report> CountFile(const std::string& path, const CountOptions& options = {}) {
  const absl::StatusOr<Model> model = Load(path);
  return model.ok() ? Count(*model, options) : model.status();
}

Report CountModel(const std::string& name, const CountOptions& options = {}) {
  absl::StatusOr<Report> report =
      CountFile(absl::StrCat(ONNXFLOPS_SOURCE_DIR, "/models/", name), options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *std::move(report) : Report();
}

std::vector<Figure> Figures(const std::vector<const char*>& keys) {
  std::vector<Figure> figures;
  for (const char* key : keys) figures.push_back(FindFigure(key).value());
  return figures;
}

std::vector<Figure> EveryQuantity() {
  std::vector<Figure> figures;
  for (const Quantity* q : AllQuantities()) figures.push_back({Figure::Kind::kQuantity, q});
  return figures;
}

// ---- what is shown adds up

// Rows that stand directly below row i.
std::vector<const ModuleRow*> Below(const std::vector<ModuleRow>& rows, size_t i) {
  std::vector<const ModuleRow*> below;
  for (size_t j = i + 1; j < rows.size() && rows[j].indent > rows[i].indent; ++j) {
    if (rows[j].indent == rows[i].indent + 1) below.push_back(&rows[j]);
  }
  return below;
}

void ExpectSums(const Report& report, const ViewOptions& view, absl::string_view where) {
  const std::vector<ModuleRow> rows = ModuleRows(report, view).rows;
  ASSERT_FALSE(rows.empty());
  for (const Figure& figure : report::ShownFigures(report, view)) {
    if (figure.kind != Figure::Kind::kQuantity) continue;
    const auto of = [&](const Amounts& amounts) { return report.In(*figure.quantity, amounts); };
    EXPECT_EQ(of(rows[0]), of(report.totals)) << where;
    for (size_t i = 0; i < rows.size(); ++i) {
      Expr sum;
      for (const ModuleRow* row : Below(rows, i)) sum += of(*row);
      if (Below(rows, i).empty()) continue;
      EXPECT_EQ(sum, of(rows[i])) << where << " " << rows[i].label << " " << figure.key();
    }
  }
}

TEST(SumTest, RowsOfEveryTreeAddUp) {
  const ViewOptions views[] = {
      {},
      {.depth = 2},
      {.page_rows = 10},
      {.fold = false},
      {.sort = FindFigure("bytes_read").value()},
      {.columns = EveryQuantity()},
      {.sort = FindFigure("intensity").value(), .columns = EveryQuantity()},
      {.stable = true},
  };
  for (const std::string& path : AllModels()) {
    for (const bool upper : {false, true}) {
      const absl::StatusOr<Report> report = CountFile(path, {.upper_bounds = upper});
      ASSERT_TRUE(report.ok()) << report.status();
      for (const ViewOptions& view : views) ExpectSums(*report, view, path);
    }
  }
}

// A cell of exact digits, of bytes with their unit; what is free of something has an empty one.
absl::int128 Digits(const std::string& cell) {
  const absl::StatusOr<Expr> value = ParseExpr(absl::StrReplaceAll(cell, {{",", ""}, {" B", ""}}));
  return value.ok() && value->is_literal() ? value->literal() : 0;
}

// The sum of a column as it is printed.
absl::int128 SumOfColumn(const TextTable& table, size_t column) {
  absl::int128 sum = 0;
  for (const TextTable::Row& row : table.rows) sum += Digits(row.cells[column]);
  return sum;
}

TEST(SumTest, TopRowsAndOthersAreTheTotal) {
  for (const char* name : {"resnet50.onnx", "bert-base.onnx", "vit-b-16.onnx"}) {
    Report report = CountModel(name, {.node_rows = true});
    if (!report.totals.flops.is_literal()) continue;
    for (const GroupBy by : {GroupBy::kModule, GroupBy::kOp, GroupBy::kNode}) {
      for (const char* key : {"flops", "macs", "bytes_moved", "training_flops"}) {
        const Figure figure = FindFigure(key).value();
        const TextTable table = MakeTable(
            report, {.by = by, .exact = true, .top = 3, .sort = figure, .columns = {figure}});
        EXPECT_LE(table.rows.size(), 4u);
        EXPECT_EQ(SumOfColumn(table, table.columns.size() - 1),
                  report.In(*figure.quantity, report.totals).literal())
            << name << " " << key;
      }
    }
  }
}

// ---- words and lines

// A name of a megabyte: no line is wider than the terminal, nothing of it is lost, and one pass is
// enough (a pass per line took 18 s).
TEST(WordTest, OneOfAMegabyteIsBrokenIntoLines) {
  constexpr size_t kLetters = 1'000'000;
  constexpr int kWidth = 80;
  const std::string word(kLetters, 'x');
  const std::string texts[] = {
      report::DrawLabelled({"inputs", {"a " + word + " b"}}, kWidth),
      report::DrawSentence("node ", word, kWidth),
  };
  for (const std::string& text : texts) {
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      ASSERT_LE(DisplayWidth(line), kWidth);
    }
    EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), kLetters);
  }
}

// ---- the tree

// The costliest modules have as many rows as a page has. The others are joined or closed, and a
// note says so.
TEST(TreeTest, RowsFitOnAPage) {
  for (const char* name : {"resnet50.onnx", "mobilenet-v3-large.onnx", "vit-b-16.onnx"}) {
    const Report report = CountModel(name, {.bindings = {}});
    for (const int page : {4, 10, 20}) {
      const report::ModuleView view = ModuleRows(report, {.page_rows = page});
      EXPECT_LE(view.rows.size(), static_cast<size_t>(page)) << name;
      EXPECT_GE(view.rows.size(), 3u) << name;
      EXPECT_TRUE(view.joined || view.closed > 0) << name;
    }
  }
}

// 12 layers of a linear module that dominates and an addition of their own.
ModelMaker LayersWithOwnWork() {
  ModelMaker make;
  make.Input("x", {"1", "100"});
  std::string at = "x";
  for (int i = 0; i < 12; ++i) {
    const std::string layer = absl::StrCat("/h.", i);
    make.Weight(absl::StrCat("h.", i, ".fc.weight"), {100, 100});
    make.Node(layer + "/fc/MatMul", "MatMul", {at, absl::StrCat("h.", i, ".fc.weight")},
              {absl::StrCat("a", i)});
    make.Node(layer + "/Add", "Add", {absl::StrCat("a", i), at}, {absl::StrCat("b", i)});
    at = absl::StrCat("b", i);
  }
  return make.Output(at);
}

// Each addition is 100 of 241,200 FLOPs, under 0.1 %; all of them are 1,200.
TEST(TreeTest, SmallOwnWorkOfManyLayersIsThere) {
  const absl::StatusOr<Report> report = LayersWithOwnWork().Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.flops, Expr(241'200));
  const std::vector<ModuleRow> rows = ModuleRows(*report, {.depth = 2}).rows;
  const auto own = std::find_if(rows.begin(), rows.end(),
                                [](const ModuleRow& row) { return row.label == "(own)"; });
  ASSERT_NE(own, rows.end());
  EXPECT_EQ(own->flops, Expr(1'200));
}

TEST(TreeTest, OpensWhereTheCostIs) {
  const Report report = CountModel("clip-vit-l-14-336.onnx", {.bindings = {{"batch", 1}}});
  const std::string text = ToTable(report, {}, {.width = 80});
  EXPECT_THAT(text, HasSubstr("|       mlp  "));
  EXPECT_THAT(text, HasSubstr("|         c_fc  "));
  EXPECT_THAT(text, HasSubstr("|       [ln_1, ln_2 and 1 other]  "));
  EXPECT_THAT(text, HasSubstr("depth N"));
  EXPECT_LE(ModuleRows(report, {}).rows.size(), 32u);
  // Rows below one parent stand by cost, and joined ones last.
  for (const std::string& path : AllModels()) {
    const std::vector<ModuleRow> rows = ModuleRows(*CountFile(path), {}).rows;
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::vector<const ModuleRow*> below = Below(rows, i);
      for (size_t k = 0; k + 1 < below.size(); ++k) EXPECT_GE(below[k]->module, 0) << path;
    }
  }
}

// Each of six modules may cost more than the rest of the model: some of them have a row.
TEST(TreeTest, UnknownIsNotSmall) {
  ModelMaker make;
  make.Input("x", {"2", "4"});
  make.Node("/tail/Relu", "Relu", {"x"}, {"y"}).Output("y");
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    make.Node(absl::StrCat("/", name, "/Magic"), absl::StrCat("Magic", name), {"x"}, {name});
    make.node->set_domain("my.own");
    make.Output(name);
  }
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  std::vector<std::string> labels;
  for (const ModuleRow& row : ModuleRows(*report, {}).rows) labels.push_back(row.label);
  EXPECT_THAT(labels, testing::ElementsAre("", "tail", "a", "b", "c", "d", "[e, f]"));
  labels.clear();
  for (const ModuleRow& row : ModuleRows(*report, {.page_rows = 5}).rows)
    labels.push_back(row.label);
  EXPECT_THAT(labels, testing::ElementsAre("", "tail", "a", "b", "[c, d and 2 others]"));
}

// ---- screens

TEST(ScreenTest, EveryLineFits) {
  const Figure read = FindFigure("bytes_read").value();
  for (const std::string& path : AllModels()) {
    const absl::StatusOr<Report> report = CountFile(path, {.node_rows = true});
    ASSERT_TRUE(report.ok()) << report.status();
    for (const GroupBy by : {GroupBy::kModule, GroupBy::kOp, GroupBy::kNode}) {
      for (const ViewOptions& view : {ViewOptions{.by = by}, ViewOptions{.by = by, .top = 5},
                                      ViewOptions{.by = by, .sort = read}}) {
        const std::string text = ToTable(*report, view, {.width = 80});
        for (absl::string_view line : absl::StrSplit(text, '\n')) {
          EXPECT_LE(DisplayWidth(line), 80) << path << "\n" << line;
        }
      }
    }
  }
}

TEST(ScreenTest, TypesOfWhatIsMultiplied) {
  const std::pair<const char*, const char*> cases[] = {
      {"deployed/bert_base.ort_fused_int8.onnx", "types   uint8 x int8: "},
      {"deployed/resnet50.qdq_s8.onnx", "types   int8 x int8, QDQ: "},
  };
  for (const auto& [name, line] : cases) {
    if (!std::filesystem::exists(absl::StrCat(ONNXFLOPS_SOURCE_DIR, "/models/", name))) continue;
    EXPECT_THAT(ToTable(CountModel(name), {}), HasSubstr(line)) << name;
  }
  EXPECT_THAT(ToTable(CountModel("resnet50.onnx"), {}), Not(HasSubstr("types ")));
}

// y = dequantize(q) w, as a QDQ graph has it.
TEST(ScreenTest, StoredTypesOfOneNode) {
  ModelMaker make;
  make.Input("x", {"2", "4"}).Weight("w", {4, 8});
  make.Weight("scale", {1});
  make.Node("q", "QuantizeLinear", {"x", "scale"}, {"xq"});
  make.Node("dq", "DequantizeLinear", {"xq", "scale"}, {"xd"});
  make.Node("mm", "MatMul", {"xd", "w"}, {"y"}).Output("y");
  const absl::StatusOr<Model> model = make.Load();
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Explanation> e = Explain(*model, {}, "mm");
  ASSERT_TRUE(e.ok()) << e.status();
  EXPECT_THAT(ToText(*e, {}), HasSubstr("types     uint8 x float32, QDQ (computed in float)"));
  const absl::StatusOr<Report> report = make.Count();
  EXPECT_THAT(ToTable(*report, {}), HasSubstr("types   uint8 x float32, QDQ: 64 MACs"));
  EXPECT_THAT(ToTable(*report, {}), HasSubstr("16.38 k BOPs (MACs x bits x bits)"));  // 64 x 8 x 32
}

// A module in which nothing is known, and one with a known part.
TEST(ScreenTest, UnknownIsNeverZero) {
  ModelMaker make;
  make.Input("x", {"2", "4"});
  make.Node("/head/Magic", "Magic", {"x"}, {"z"});
  make.node->set_domain("my.own");
  make.Node("/tail/Relu", "Relu", {"x"}, {"y"}).Output("y").Output("z");
  const absl::StatusOr<Model> model = make.Load();
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Report> report = Count(*model, {.node_rows = true});
  ASSERT_TRUE(report.ok()) << report.status();
  const std::string modules = ToCsv({*report}, {.columns = Figures({"flops", "macs"})});
  EXPECT_THAT(modules, HasSubstr("\"test.onnx\",head,,1,1,,,true\n"));
  EXPECT_THAT(modules, HasSubstr("\"test.onnx\",tail,,1,1,8,0,false\n"));
  const ViewOptions by_op{.by = GroupBy::kOp, .columns = Figures({"flops"})};
  EXPECT_THAT(ToCsv({*report}, by_op), HasSubstr("my.own,Magic,1,1,,true\n"));
  EXPECT_THAT(ToTable(*report, by_op), HasSubstr("unknown"));
  const std::string text = ToText(*Explain(*model, {}, "/head/Magic"), {});
  EXPECT_THAT(text, HasSubstr("MACs unknown   FLOPs unknown"));
  EXPECT_THAT(text, Not(HasSubstr("FLOPs 0")));
}

TEST(ScreenTest, AnEmptyTableIsItsNotes) {
  ModelMaker make;
  make.Input("x", {"2"}).Node("i", "Identity", {"x"}, {"y"}).Output("y");
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  const std::string text = ToTable(*report, {.by = GroupBy::kOp});
  EXPECT_THAT(text, HasSubstr("(1 operator free of arithmetic not shown; no-fold shows all)"));
  EXPECT_THAT(text, Not(HasSubstr("operator  nodes")));
}

TEST(ScreenTest, AssumedSizesStandInTheTitle) {
  const std::string text = ToTable(CountModel("gpt2.onnx"), {});
  EXPECT_THAT(text.substr(0, text.find('\n')), HasSubstr("batch = 1, seq = 128 (assumed"));
  // The title names the file, so where its lines break depends on where the file lies.
  const std::string title = absl::StrReplaceAll(ToTable(CountModel("maskrcnn-r50.onnx"), {}),
                                                {{"\n|      ", ""}, {"  ", " "}});
  EXPECT_THAT(title, HasSubstr(" sizes that depend on data, "));
  EXPECT_THAT(title, HasSubstr(" sizes without a formula = 1 (assumed)"));
}

// A mask covers the past and the new tokens: no sizes are assumed that contradict each other, also
// where the report was read from JSON.
TEST(ScreenTest, AMaskIsAssumedAsLongAsPastAndNewTokens) {
  const char* const file = "deployed/llama_tiny_gqa.genai_int4.onnx";
  const Report open = CountModel(file);
  const absl::StatusOr<Report> read = ReadReport(ToJson(open), "r.json");
  ASSERT_TRUE(read.ok()) << read.status();
  for (const Report& report : {open, *read}) {
    EXPECT_EQ(report::ReferenceSizes(report).at("total_sequence_length"), 128 + 128);
    for (const SymbolOrigin& symbol : report.symbols) {
      EXPECT_EQ(symbol.is_past, symbol.name == "past_sequence_length") << symbol.name;
    }
  }
  const Report step = CountModel(file, {.bindings = {{"past_sequence_length", 511}}});
  EXPECT_EQ(report::ReferenceSizes(step).at("total_sequence_length"), 511 + 128);
  EXPECT_THAT(ToTable(open, {}, {}), HasSubstr("prefill and decode"));
  EXPECT_THAT(ToTable(CountModel("llama-tiny.onnx"), {}, {}), Not(HasSubstr("prefill")));
}

TEST(ScreenTest, IntensityHasThreeDigits) {
  const std::tuple<int, int, const char*> cases[] = {
      {418, 10, "41.8"}, {1234, 1, "1,234"}, {5, 10, "0.50"}, {397, 100, "3.97"},
      {0, 4, "0.00"},    {1, 1000, "<0.01"}, {100, 1, "100"}, {7, 0, "-"},
  };
  for (const auto& [work, bytes, text] : cases) EXPECT_EQ(Intensity(work, bytes), text);
}

// A row of the stable form is the same whatever other rows cost.
TEST(StableTest, RowsDoNotDependOnEachOther) {
  const auto lines = [](int64_t size) {
    ModelMaker make;
    make.Input("x", {"2", "4"}).Input("z", {absl::StrCat(size)});
    make.Node("/a/Relu", "Relu", {"x"}, {"y"}).Output("y");
    make.Node("/b/Relu", "Relu", {"z"}, {"w"}).Output("w");
    const ViewOptions view{.exact = true, .stable = true, .title = ViewOptions::Title::kNone};
    return std::vector<std::string>(absl::StrSplit(ToTable(*make.Count(), view), '\n'));
  };
  const std::vector<std::string> small = lines(10), large = lines(10'000'000);
  ASSERT_EQ(small.size(), large.size());
  const auto row = std::find_if(small.begin(), small.end(), [](const std::string& line) {
    return absl::StartsWith(line, "|   a ");
  });
  ASSERT_NE(row, small.end());
  EXPECT_THAT(large, testing::Contains(*row));
  EXPECT_THAT(small[0], Not(HasSubstr("test.onnx")));
}

// ---- top

TEST(TopTest, EqualNodesShareARow) {
  const absl::StatusOr<Report> report = LayersWithOwnWork().Count({.node_rows = true});
  ASSERT_TRUE(report.ok()) << report.status();
  const TextTable table = MakeTable(*report, {.by = GroupBy::kNode, .exact = true, .top = 1});
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_THAT(table.rows[0].cells,
              testing::ElementsAre("/h.0/fc/MatMul", "12x", "MatMul", "h.0.fc",
                                   "[1,100] x [100,100] -> [1,100]", "240,000", "99.5", "======"));
  EXPECT_THAT(table.rows[1].cells, testing::Contains("1,200"));
}

// ---- a part of a model

TEST(PartsOfScreenTest, WorkOfPartsIsThatOfTheirModules) {
  for (const char* name : {"clip-vit-l-14-336.onnx", "gpt2.onnx", "maskrcnn-r50.onnx",
                           "deployed/bert_base.ts17_functions.onnx"}) {
    const Report whole = CountModel(name);
    Expr flops, macs;
    for (const Module& m : whole.modules) {
      if (m.depth != 1) continue;
      const Report part = CountModel(name, {.node_rows = true, .module = m.path});
      EXPECT_EQ(part.totals.flops, m.amounts->flops) << name << " " << m.path;
      EXPECT_EQ(part.census.Ops(), m.amounts->flops) << name << " " << m.path;
      Expr by_op;
      for (const OpRow& row : part.by_op) by_op += row.flops;
      EXPECT_EQ(by_op, m.amounts->flops) << name << " " << m.path;
      EXPECT_EQ(part.totals.params, m.amounts->params) << name << " " << m.path;
      flops += part.totals.flops;
      for (const auto& [types, amount] : part.macs_by_dtype) macs += amount;
      ExpectSums(part, {}, name);
    }
    EXPECT_EQ(flops, whole.totals.flops) << name;
    EXPECT_EQ(macs, whole.totals.macs) << name;
  }
}

TEST(PartsOfScreenTest, AGlobTakesTheOutermostModulesThatMatch) {
  const Report whole = CountModel("clip-vit-l-14-336.onnx", {.bindings = {{"batch", 1}}});
  const Report part = CountModel("clip-vit-l-14-336.onnx",
                                 {.bindings = {{"batch", 1}}, .module = "*resblocks.?.mlp"});
  Expr sum;
  int64_t modules = 0;
  for (const Module& m : whole.modules) {
    const std::vector<std::string> parts = absl::StrSplit(m.path, "resblocks.");
    if (parts.size() != 2 || parts[1].size() != 5 || !absl::EndsWith(parts[1], ".mlp")) continue;
    sum += m.amounts->flops;
    ++modules;
  }
  EXPECT_EQ(modules, 20);
  EXPECT_EQ(part.totals.flops, sum);
  const absl::StatusOr<Model> model = Load(ONNXFLOPS_SOURCE_DIR "/models/clip-vit-l-14-336.onnx");
  const absl::Status error = Count(*model, {.module = "visual.tranformer"}).status();
  EXPECT_EQ(error.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(error.message()), HasSubstr("similar: 'visual.transformer'"));
}

}  // namespace
}  // namespace onnxflops::screen_test
