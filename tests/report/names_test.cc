// Names from strangers: what they do to the report and its writers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "onnx/onnx_pb.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/utf8.h"
#include "src/explain/explain.h"
#include "src/load/load_file.h"
#include "src/onnxflops.h"
#include "src/render/text_table.h"
#include "src/report/view.h"
#include "tests/model_maker.h"
#include "tests/model_text.h"

namespace onnxflops::names_test {
namespace {

using report::MarkdownCode;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

// ---- names from strangers

constexpr char kHostile[] = "=</details>@team |`[x](http://a.b)\x1b[31m\n\xff\xe2\x80\xae,\"";

ModelMaker Hostile() {
  ModelMaker make;
  make.Input("x", {"2"});
  make.Node(kHostile, "Relu", {"x"}, {"y"}).Output("y");
  make.Scopes(absl::StrCat("['', '", kHostile, "', 'relu']"), "['', '', '']");
  return make;
}

TEST(EscapeTest, EveryFormat) {
  const absl::StatusOr<Report> report = Hostile().Count({.node_rows = true});
  ASSERT_TRUE(report.ok()) << report.status();
  for (const GroupBy by : {GroupBy::kModule, GroupBy::kOp, GroupBy::kNode}) {
    const ViewOptions view{.by = by};
    for (const std::string& text : {ToTable(*report, view), ToCsv({*report}, view),
                                    ToMarkdown(*report, view), ToJson(*report)}) {
      EXPECT_THAT(text, Not(HasSubstr("\x1b")));
      EXPECT_THAT(text, Not(HasSubstr("\xff")));
      EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));
    }
    EXPECT_THAT(ToMarkdown(*report, view), Not(HasSubstr("@team")));
    EXPECT_THAT(DrawLatex(ToDocument(*report, view)), Not(HasSubstr("\x1b")));
  }
  EXPECT_THAT(ToTable(*report, {}), HasSubstr("[31m\\n\\xff\\xe2\\x80\\xae"));
  EXPECT_THAT(ToCsv({*report}, {}), HasSubstr(",\"'=</details>"));
}

// Commands, rows and comments of LaTeX.
TEST(EscapeTest, LatexHasNoCommandOfAFile) {
  Document document;
  document.Add(Document::Lines{{{"model", {"a\n\\input{x}"}}}});
  TextTable table;
  table.columns = {{"name"}, {"%", true}};
  table.rows = {
      {{"[3 others]", "12.5"}, 1}, {{"\\write18{rm}_^~&#$", "--"}}, {{"a-1", "-554.0 G"}}};
  document.Add(Document::Table{table});
  EXPECT_EQ(DrawLatex(document),
            "% needs \\usepackage{booktabs}\n"
            "% model: a\\n\\input{x}\n"
            "\\begin{tabular}{lr}\n\\toprule\n"
            "  name & \\% \\\\\n"
            "\\midrule\n"
            "  \\hspace{1em}{[}3 others] & 12.5 \\\\\n"
            "  \\textbackslash{}write18\\{rm\\}\\_\\textasciicircum{}\\textasciitilde{}\\&\\#\\$ & "
            "{-}{-} \\\\\n"
            "  a{-}1 & \\textminus{}554.0 G \\\\\n"
            "\\bottomrule\n\\end{tabular}\n");
}

// A paper has no room for folders. They stay where they tell two files apart.
TEST(LatexTest, PathsAreNames) {
  const std::pair<std::vector<std::string>, std::vector<std::string>> cases[] = {
      {{"models/a.onnx", "/tmp/b.onnx"}, {"a.onnx", "b.onnx"}},
      {{"a/model.onnx", "b/model.onnx", "b/c.onnx"}, {"a/model.onnx", "b/model.onnx", "c.onnx"}},
      {{"x/a/m", "y/a/m", "m", "/m"}, {"x/a/m", "y/a/m", "m", "/m"}},
      {{"a/m", "a/m", "f/", ""}, {"m", "m", "f/", ""}},
  };
  for (const auto& [paths, names] : cases) {
    TextTable table;
    table.columns = {{"model"}};
    table.columns[0].paths = true;
    for (const std::string& path : paths) table.rows.push_back({{path}});
    Document document;
    document.Add(Document::Table{table});
    EXPECT_THAT(DrawLatex(document),
                HasSubstr(absl::StrCat("\\midrule\n  ", absl::StrJoin(names, " \\\\\n  "),
                                       " \\\\\n\\bottomrule")));
    EXPECT_THAT(DrawMarkdown(document), HasSubstr(paths[0]));
  }
}

TEST(EscapeTest, JsonIsValidAndReadsBack) {
  const absl::StatusOr<Report> report = Hostile().Count();
  ASSERT_TRUE(report.ok()) << report.status();
  const Json json = Json::parse(ToJson(*report));
  const std::string name = json["modules"]["children"][0]["name"];
  EXPECT_THAT(name, StartsWith("=</details>@team"));
  EXPECT_THAT(name, HasSubstr("\n\xef\xbf\xbd"));  // U+FFFD for the byte that is no UTF-8
}

TEST(EscapeTest, CommandsOfCiSystems) {
  EXPECT_EQ(Printable("::error::x"), "\\x3a:error::x");
  EXPECT_EQ(Printable("  ::set-output"), "  \\x3a:set-output");
  EXPECT_EQ(Printable("onnx::MatMul_1"), "onnx::MatMul_1");
  EXPECT_EQ(Printable("a##[error]b"), "a#\\x23[error]b");
  EXPECT_EQ(Printable("a##vso[x]"), "a#\\x23vso[x]");
  EXPECT_EQ(Printable("é 漢字 €"), "é 漢字 €");
}

// One of each sort: the first and the last of their ranges in Unicode's tables.
TEST(EscapeTest, WhatNobodySees) {
  const std::vector<uint32_t> unseen = {
      0x00,    0x1f,    0x7f,    0x9f,    0xa0,    0xad,    0x34f,   0x600,   0x61c,    0x6dd,
      0x70f,   0x8e2,   0x115f,  0x1160,  0x1680,  0x17b4,  0x180b,  0x180e,  0x2000,   0x200b,
      0x200f,  0x2028,  0x202e,  0x202f,  0x205f,  0x2060,  0x206a,  0x206f,  0x2800,   0x3000,
      0x3164,  0xd800,  0xe000,  0xf8ff,  0xfdd0,  0xfdef,  0xfe00,  0xfe0f,  0xfeff,   0xffa0,
      0xfff0,  0xfff9,  0xfffc,  0xfffe,  0xffff,  0x110bd, 0x13430, 0x16fe4, 0x1bca0,  0x1d159,
      0x1d173, 0x1d17a, 0x1ffff, 0x40000, 0xe0001, 0xe0041, 0xe0101, 0xf0000, 0x10fffd, 0x10ffff};
  for (uint32_t code : unseen) EXPECT_FALSE(IsPrintable(code)) << std::hex << code;
  const std::vector<uint32_t> seen = {' ',    '~',    0xa1,   0xac,   0xae,   0x34e,   0x3b1,
                                      0x1100, 0x2010, 0x2027, 0x2030, 0x2070, 0x27ff,  0x2801,
                                      0x3001, 0x6f22, 0xd7a3, 0xf900, 0xfffd, 0x1f600, 0x20000};
  for (uint32_t code : seen) EXPECT_TRUE(IsPrintable(code)) << std::hex << code;
}

TEST(EscapeTest, Spreadsheets) {
  const std::pair<const char*, const char*> cases[] = {
      {"=1+1", "\"'=1+1\""},
      {"+1", "\"'+1\""},
      {"-1", "-1"},  // a number
      {"-1+x", "\"'-1+x\""},
      {"@x", "\"'@x\""},
      {" =x", "\"' =x\""},
      {"\uff1dx", "\"'\uff1dx\""},
      {"x", "x"},
      {"12", "12"},
      {"a,b", "\"a,b\""},
      {"a\"b", "\"a\"\"b\""},
      // Where semicolons divide fields.
      {"a;=1", "\"a;'=1\""},
      {";;\" -1", "\";;'\"\" -1\""},
      {"a;b", "\"a;b\""},
      {"\"=1", "\"'\"\"=1\""},
  };
  for (const auto& [text, field] : cases) {
    TextTable table;
    table.columns = {{"a"}, {"b"}};
    table.rows.push_back({{"m", text}});
    EXPECT_EQ(DrawCsv(table), absl::StrCat("a,b\n\"m\",", field, "\n"));
  }
}

// A title is in quotes if it needs them, or could be a command at the beginning of a line.
TEST(EscapeTest, TitlesOfCsv) {
  const std::pair<const char*, const char*> cases[] = {
      {"seq", "seq,seq"},
      {"batch_2", "batch_2,batch_2"},
      {"/merge", "\"/merge\",/merge"},
      {"GH-1", "\"GH-1\",GH-1"},
      {"2x", "\"2x\",2x"},
      {"a,b", "\"a,b\",\"a,b\""},
      {"=1", "\"'=1\",\"'=1\""},
  };
  for (const auto& [title, line] : cases) {
    TextTable table;
    table.columns.resize(2, {title, false, TextTable::Column::Narrow::kKeep, /*foreign=*/true});
    table.rows.push_back({{"8", "16"}});
    EXPECT_EQ(DrawCsv(table), absl::StrCat(line, "\n8,16\n"));
  }
}

TEST(EscapeTest, LinesBeginWithSomethingOfOurs) {
  for (const char* name : {"/merge", "+++", "---", "bors r+", "#1", "GH-1", "retest"}) {
    ModelMaker make;
    make.proto.set_producer_name(name);
    make.Input(name, {"2", name}).Node(name, name, {name}, {"y"}).Output("y");
    make.node->set_domain(name);
    const absl::StatusOr<Report> report = make.Count({.node_rows = true});
    ASSERT_TRUE(report.ok()) << report.status();
    for (const GroupBy by : {GroupBy::kModule, GroupBy::kOp, GroupBy::kNode}) {
      for (const std::string& text : {ToTable(*report, {.by = by}, {.width = 24}),
                                      ToMarkdown(*report, {.by = by}), ToJson(*report)}) {
        EXPECT_THAT(text, HasSubstr(name));
        for (absl::string_view line : absl::StrSplit(text, '\n')) {
          EXPECT_FALSE(absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), name)) << text;
        }
      }
    }
  }
}

TEST(EscapeTest, MarkdownIsCode) {
  const std::pair<const char*, const char*> cases[] = {
      {"a_b*c", "`a_b*c`"},
      {"<b>&amp;", "`<b>&amp;`"},
      {"user/repo#1", "`user/repo#1`"},
      {"`", "`` ` ``"},
      {"a``b`", "``` a``b` ```"},
      {" a ", "`  a  `"},
      {" ", "` `"},
      {"", ""},
      {"@team", "`\\x40team`"},
      {"a|b", "`a\\|b`"},
      {"a\\|b", "`a\\\\x7cb`"},
      {"1,630", "1,630"},
      {"395.2 G", "395.2 G"},
      {"<0.1", "&lt;0.1"},
      {">= 12", "&gt;= 12"},
      {"1234567", "`1234567`"},
      {"12 x", "`12 x`"},
      {"-154.4 MB", "-154.4 MB"},
      {"23.70 MMAC", "23.70 MMAC"},
      {"+99.17 %", "+99.17 %"},
      {"48 -> 0", "48 -&gt; 0"},
      {"48 -> 0 -> @x", "`48 -> 0 -> \\x40x`"},
      {"1 -> 1234567", "`1 -> 1234567`"},
      {"not proven", "not proven"},
  };
  for (const auto& [text, cell] : cases) {
    TextTable table;
    table.columns = {{"name"}, {"a"}};
    table.rows.push_back({{"0", text}, 1});
    EXPECT_EQ(DrawMarkdown(table),
              absl::StrCat("| name | a |\n| :--- | :--- |\n| &emsp;`0` | ", cell, " |\n"));
  }
  EXPECT_EQ(MarkdownCode("a|b"), "`a|b`");
}

// ---- names of dimensions

// x [names[0], names[1], ...] -> Relu; its shape, as JSON has it.
std::vector<std::string> ShapeOf(const ModelMaker::Strings& names, const Bindings& bindings = {}) {
  ModelMaker make;
  make.Input("x", names).Node("r", "Relu", {"x"}, {"y"}).Output("y");
  const absl::StatusOr<Report> report = make.Count({.bindings = bindings});
  if (!report.ok()) return {std::string(report.status().message())};
  return Json::parse(ToJson(*report))["outputs"][0]["shape"];
}

TEST(DimensionTest, NamesThatLookLikeSomethingElseAreQuoted) {
  EXPECT_THAT(ShapeOf({"1000x", "__import__('os')", "", "a + b", "nonzero(/x)", "x.2"}),
              testing::ElementsAre("'1000x'", R"('__import__(\'os\')')", "x.2", "'a + b'",
                                   "'nonzero(/x)'", "'x.2'"));
  EXPECT_THAT(ShapeOf({"past", "seq", "past + seq", "past + 1"}),
              testing::ElementsAre("past", "seq", "past + seq", "past + 1"));
}

TEST(DimensionTest, BoundAsWrittenOrAsTheFileHasThem) {
  const ModelMaker::Strings names = {"a b", "", "x.1", "nonzero(/x)", "it's"};
  for (const Bindings& typed :
       {Bindings{{"a b", 2}, {"x.1", 3}, {"nonzero(/x)", 5}, {"it's", 6}},
        Bindings{{"'a b'", 2}, {"'x'.1", 3}, {"'nonzero(/x)'", 5}, {R"('it\'s')", 6}}}) {
    EXPECT_THAT(ShapeOf(names, typed), testing::ElementsAre("2", "3", "'x.1'", "5", "6"));
  }
  EXPECT_THAT(ShapeOf(names, {{"'x.1'", 4}}),
              testing::ElementsAre("'a b'", "x.1", "4", "'nonzero(/x)'", R"('it\'s')"));
  // Only where no axis is called so.
  EXPECT_THAT(ShapeOf({"2", "3", "x.1"}, {{"x.1", 4}}), testing::ElementsAre("2", "3", "4"));
  EXPECT_THAT(ShapeOf({"n"}, {{"a b", 1}}),
              testing::ElementsAre("test.onnx: no symbol is named 'a b'; symbols: n"));
  EXPECT_THAT(ShapeOf({"n"}, {{"n", 1}, {"'n'", 2}}),
              testing::ElementsAre("test.onnx: dimension 'n' is bound to 2 and to 1"));
}

// A dimension of the file that is called like a size that depends on data.
TEST(DimensionTest, DataAndFileStayApart) {
  ModelMaker make;
  make.Input("x", {"nonzero(/x)"}).Node("/x", "NonZero", {"x"}, {"y"}).Output("y");
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->symbols.size(), 2u);
  EXPECT_EQ(report->symbols[0].name, "'nonzero(/x)'");
  EXPECT_EQ(report->symbols[1].name, "nonzero(/x).1");
  const absl::StatusOr<Report> bound = make.Count({.bindings = {{"nonzero(/x)", 4}}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->bindings, (Bindings{{"'nonzero(/x)'", 4}}));
  EXPECT_EQ(bound->outputs[0].shape.ToString(), "[1, nonzero(/x).1]");
}

// What a place is called by who knows only the file.
TEST(DimensionTest, PlacesThatAreNoPlainNames) {
  ModelMaker make;
  make.Input("x", {"9"}).Node("a (b", "NonZero", {"x"}, {"y"}).Output("y");
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->symbols.size(), 1u);
  EXPECT_EQ(report->symbols[0].name, "nonzero('a (b')");
  for (const char* typed : {"nonzero('a (b')", "nonzero(a (b)"}) {
    const absl::StatusOr<Report> bound = make.Count({.bindings = {{typed, 4}}});
    ASSERT_TRUE(bound.ok()) << bound.status();
    EXPECT_EQ(bound->outputs[0].shape.ToString(), "[1, 4]");
    EXPECT_TRUE(report->At({{typed, 4}}).ok());
  }
}

// ---- output per byte of the file

TEST(BoundTest, RowsListSomeTensors) {
  ModelMaker make;
  make.Input("x", {std::string(200, 'n'), std::string(200, 'm'), "2"});
  make.Node("sum", "Sum", ModelMaker::Strings(16'000, "x"), {"y"}).Output("y");
  const absl::StatusOr<Report> report = make.Count({.node_rows = true});
  ASSERT_TRUE(report.ok()) << report.status();
  const std::string text = ToJson(*report);
  EXPECT_LT(text.size(), 100'000u);
  const Json row = Json::parse(text)["nodes"][0];
  EXPECT_EQ(row["inputs"].size() + row["inputs_omitted"].get<size_t>(), 16'000u);
  EXPECT_LE(row["inputs"].size(), kMaxRowTensors);
  EXPECT_GE(row["inputs"].size(), 8u);
  EXPECT_FALSE(row.contains("outputs_omitted"));
  const absl::StatusOr<Model> model = make.Load();
  const absl::StatusOr<Explanation> e = Explain(*model, {}, "sum");
  ASSERT_TRUE(e.ok()) << e.status();
  EXPECT_LT(ToText(*e, {}).size(), 100'000u);
  EXPECT_THAT(ToText(*e, {}), HasSubstr(" more\n"));
}

// Dimensions that are sums of a thousand symbols, in every row.
TEST(BoundTest, LongDimensions) {
  ModelMaker make(18);
  ModelMaker::Strings parts;
  for (int i = 0; i < 1000; ++i) {
    parts.push_back(absl::StrCat("x", i));
    make.Input(parts.back(), {absl::StrCat(std::string(200, 'n'), i)});
  }
  make.Node("c", "Concat", parts, {"y0"}, {{"axis", 0}});
  for (int i = 0; i < 200; ++i) {
    make.Node(absl::StrCat("r", i), "Identity", {absl::StrCat("y", i)}, {absl::StrCat("y", i + 1)});
  }
  make.Output("y200");
  const absl::StatusOr<Report> report = make.Count({.node_rows = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_LT(ToJson(*report).size(), 40u << 20);
  EXPECT_EQ(report->nodes[5].outputs_omitted, 1);
  const absl::StatusOr<Model> model = make.Load();
  EXPECT_LT(ToText(*Explain(*model, {}, "r5"), {}).size(), 100'000u);
}

// The same in the costs of modules inside modules.
TEST(BoundTest, FormulasAreRefusedAboveALimit) {
  ModelMaker make(18);
  ModelMaker::Strings parts;
  for (int i = 0; i < 1000; ++i) {
    parts.push_back(absl::StrCat("x", i));
    make.Input(parts.back(), {absl::StrCat(std::string(200, 'n'), i)});
  }
  make.Node("c", "Concat", parts, {"y0"}, {{"axis", 0}});
  std::string path;
  for (int i = 0; i < 60; ++i) {
    absl::StrAppend(&path, "/m", i);
    make.Node(path + "/Relu", "Relu", {absl::StrCat("y", i)}, {absl::StrCat("y", i + 1)});
  }
  make.Output("y60");
  CountOptions options;
  options.limits.terms_per_node = 10'000;  // which are met before
  const absl::Status refused = make.Count(options).status();
  EXPECT_THAT(refused.message(), HasSubstr("(formula-text-per-node)"));
  EXPECT_EQ(LimitOf(refused), "formula-text-per-node");
}

}  // namespace
}  // namespace onnxflops::names_test
