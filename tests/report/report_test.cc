// The report and its writers.
#include "src/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "src/base/utf8.h"
#include "src/estimate/estimate_report.h"
#include "src/explain/explain.h"
#include "src/graph/dtype.h"
#include "src/load/load_file.h"
#include "src/onnxflops.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/render/text_table.h"
#include "src/report/view.h"
#include "tests/model_maker.h"
#include "tests/model_text.h"

namespace onnxflops::report_test {
namespace {

using report::AmountText;
using report::DisplayWidth;
using report::GroupedDigits;
using report::JsonWriter;
using report::ModuleRow;
using report::ModuleRows;
using report::Percent;
using report::ShowExpr;
using report::SiExpr;
using report::SiNumber;
using report::TensorText;
using report::WithoutBeginning;
using report::WithoutEnd;
using report::WithoutMiddle;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

absl::int128 Int128(const std::string& digits) {
  absl::int128 value = 0;
  for (char c : digits) value = value * 10 + (c - '0');
  return value;
}

// ---- numbers

TEST(FormatTest, SiNumbers) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"7", "7"},
      {"999", "999"},
      {"1000", "1.000 k"},
      {"1234", "1.234 k"},
      {"12345", "12.35 k"},
      {"123449", "123.4 k"},
      {"123450", "123.5 k"},
      {"395219472384", "395.2 G"},
      // A rounding that reaches the next prefix.
      {"999949", "999.9 k"},
      {"999950", "1.000 M"},
      {"999949999", "999.9 M"},
      {"999950000", "1.000 G"},
      // Every prefix at both ends.
      {"1000000", "1.000 M"},
      {"1000000000", "1.000 G"},
      {"1000000000000", "1.000 T"},
      {"999900000000000", "999.9 T"},
      {"1000000000000000", "1.000 P"},
      {"999950000000000000", "1.000 E"},
      {"1000000000000000000", "1.000 E"},
      {"123456000000000000000", "123.5 E"},
      // Beyond, digits grow.
      {"1234560000000000000000", "1235 E"},
      {"12345600000000000000000", "12350 E"},
      {"170141183460469231731687303715884105727", "170100000000000000000 E"},
  };
  for (const auto& [value, text] : cases) EXPECT_EQ(SiNumber(Int128(value)), text) << value;
  EXPECT_EQ(SiNumber(-1234), "-1.234 k");
}

TEST(FormatTest, DigitsPercentExpressions) {
  EXPECT_EQ(GroupedDigits(0), "0");
  EXPECT_EQ(GroupedDigits(999), "999");
  EXPECT_EQ(GroupedDigits(1000), "1,000");
  EXPECT_EQ(GroupedDigits(-123456), "-123,456");
  EXPECT_EQ(Percent(1, 3), "33.3");
  EXPECT_EQ(Percent(2, 3), "66.7");
  EXPECT_EQ(Percent(3, 3), "100.0");
  EXPECT_EQ(Percent(0, 3), "0.0");
  EXPECT_EQ(Percent(1, 10000), "<0.1");
  EXPECT_EQ(Percent(0, 0), "-");
  EXPECT_EQ(Percent(absl::Int128Max() / 2, absl::Int128Max()), "50.0");
  const Expr batch = Expr::Symbol("batch", 1);
  EXPECT_EQ(SiExpr(Expr(12345) * batch * batch + 7 * batch + 4000),
            "12.35 k*batch^2 + 7*batch + 4.000 k");
  EXPECT_EQ(SiExpr(Max(12345 * batch, 100000)), "max(100000, 12345*batch)");
  EXPECT_EQ(ShowExpr(12345, true), "12,345");
  EXPECT_EQ(ShowExpr(12345 * batch, true), "12,345*batch");
}

// Files have every digit of an amount in the unit of its quantity: of a time, seconds.
TEST(AmountTextTest, WholeAmountsAndSeconds) {
  const Quantity &flops = QuantityOf(&Amounts::flops), &time = QuantityOf(&Amounts::time_bound);
  const std::string most = "170141183460469231731687303715884105727";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"0", "0"},
      {"1", "0.000000000000000000001"},
      {"9006311000000000", "0.000009006311"},
      {"1000000000000000000000", "1"},
      {"1500000000000000000000", "1.5"},
      {"20000000000000000000000", "20"},
      {most, "170141183460469231.731687303715884105727"}};
  for (const auto& [digits, seconds] : cases) {
    const absl::int128 amount = Int128(digits);
    EXPECT_EQ(ExactText(flops, amount), digits);
    EXPECT_EQ(ExactText(time, amount), seconds);
    EXPECT_EQ(ParseExactText(flops, digits), amount);
    EXPECT_EQ(ParseExactText(time, seconds), amount) << seconds;
    EXPECT_EQ(ParseExactText(time, ExactText(time, -amount)), -amount);
  }
  EXPECT_EQ(FormulaTextOf(flops, 2 * Expr::Symbol("n", 1)), "2*n");
  EXPECT_EQ(FormulaTextOf(time, 2 * Expr::Symbol("n", 1)), "1e-21*(2*n)");
  EXPECT_EQ(FormulaIn(time, "1e-21*(2*n)"), "2*n");
  EXPECT_EQ(FormulaIn(time, "2*n"), std::nullopt);
  EXPECT_EQ(FieldText(time, Expr(Int128("1500000000000000000000"))), "1.5");
}

TEST(AmountTextTest, WhatOtherWritersMakeOfSeconds) {
  const Quantity &flops = QuantityOf(&Amounts::flops), &time = QuantityOf(&Amounts::time_bound);
  for (const char* text : {"9.006311e-06", "0.000009006311000", "9006.311E-9", "900.6311e-8"}) {
    EXPECT_EQ(ParseExactText(time, text), absl::int128(9'006'311'000'000'000)) << text;
  }
  EXPECT_EQ(ParseExactText(time, "0e99"), absl::int128(0));
  // So many digits are refused, not rounded.
  EXPECT_EQ(ParseExactText(time, "1." + std::string(140, '0')), std::nullopt);
  for (const char* text : {"", "1.5", "3e2", "x", "170141183460469231731687303715884105728"}) {
    EXPECT_EQ(ParseExactText(flops, text), std::nullopt) << text;
  }
  for (const char* text : {"", "e5", "1e", "1e99", "1e-400", "1e18446744073709551616", "1e-22",
                           "170141183460469232", "1 s", "nan"}) {
    EXPECT_EQ(ParseExactText(time, text), std::nullopt) << text;
  }
}

TEST(AmountTextTest, TimesForPeople) {
  const Quantity& time = QuantityOf(&Amounts::time_bound);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"0", "0 s"},
      {"1", "<1 ps"},
      {"1183000000000000000", "1.183 ms"},
      {"9006311000000000", "9.006 us"},
      {"999960000000000000000", "1.000 s"}};
  for (const auto& [digits, text] : cases) {
    const absl::int128 amount = Int128(digits);
    EXPECT_EQ(AmountText(time, amount, /*exact=*/false), text);
    const std::string negative = amount == 0 ? text : "-" + text;
    EXPECT_EQ(AmountText(time, -amount, /*exact=*/false), negative);
  }
  EXPECT_THAT(AmountText(time, absl::Int128Min(), /*exact=*/false), HasSubstr("-170141183460"));
  EXPECT_EQ(AmountText(time, -1'500'000, /*exact=*/true), "-0.0000000000000015 s");
}

// ---- the value

// y = relu(x W) for x[batch, 4]
ModelMaker Linear() {
  ModelMaker make;
  make.Input("x", {"batch", "4"}).Weight("fc.weight", {4, 8});
  make.Node("/fc/MatMul", "MatMul", {"x", "fc.weight"}, {"a"});
  make.Node("/act/Relu", "Relu", {"a"}, {"y"}).Output("y");
  return make;
}

TEST(ReportTest, Totals) {
  const absl::StatusOr<Report> report = Linear().Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.flops.ToString(), "72*batch");
  EXPECT_EQ(report->totals.macs.ToString(), "32*batch");
  EXPECT_EQ(report->totals.other_flops.ToString(), "8*batch");
  EXPECT_EQ(report->totals.backward_flops.ToString(), "144*batch");
  EXPECT_EQ(report->totals.training_flops.ToString(), "216*batch");
  EXPECT_EQ(report->totals.params, 32);
  EXPECT_EQ(report->totals.param_bytes, 128);
  EXPECT_FALSE(report->totals.lower_bound);
  EXPECT_EQ(report->macs_by_dtype.at({DType::kFloat32, DType::kFloat32}).ToString(), "32*batch");
  ASSERT_EQ(report->symbols.size(), 1u);
  EXPECT_EQ(report->symbols[0].name, "batch");
  EXPECT_EQ(report->symbols[0].value, "x");
}

TEST(ReportTest, TotalsAtOtherSizes) {
  const absl::StatusOr<Report> report = Linear().Count();
  ASSERT_TRUE(report.ok()) << report.status();
  const absl::StatusOr<Totals> at = report->At({{"batch", 64}});
  ASSERT_TRUE(at.ok()) << at.status();
  EXPECT_EQ(at->flops, Expr(72 * 64));
  EXPECT_EQ(at->flops, Linear().Count({.bindings = {{"batch", 64}}})->totals.flops);
  EXPECT_EQ(at->params, 32);
  EXPECT_EQ(report->At({})->flops, report->totals.flops);
  EXPECT_EQ(report->At({{"bacth", 1}}).status().message(),
            "no symbol is named 'bacth'; did you mean batch? symbols: batch");
}

TEST(ReportTest, TotalsOfABoundSymbol) {
  const absl::StatusOr<Report> report = Linear().Count({.bindings = {{"batch", 8}}});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->At({{"batch", 8}})->flops, report->totals.flops);
  EXPECT_EQ(report->At({{"batch", 64}}).status().message(),
            "batch was bound to 8 before counting; count without it to ask for other sizes");
}

// 11.11 M in fvcore's and timm's tables: what convolutions and the classifier write.
TEST(ReportTest, ActivationsOfResNet50) {
  const absl::StatusOr<Model> model = Load(ONNXFLOPS_SOURCE_DIR "/models/resnet50.onnx");
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Report> report = Count(*model);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.activation_count, Expr(11'114'984));
}

// The bits of each type are written here by hand.
TEST(ReportTest, BopsAreMacsTimesTheBitsOfBothOperands) {
  const std::map<DType, int> bits = {{DType::kFloat32, 32}, {DType::kFloat16, 16},
                                     {DType::kInt8, 8},     {DType::kUint8, 8},
                                     {DType::kInt4, 4},     {DType::kUint4, 4}};
  for (const char* name : {"bert_base.ort_fused_int8", "hf_vit_s_16.ort_fused_fp16",
                           "llama_tiny_gqa.genai_int4", "resnet50.qdq_s8"}) {
    const absl::StatusOr<Model> model =
        Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/deployed/", name, ".onnx"));
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::StatusOr<Report> report = Count(*model);
    ASSERT_TRUE(report.ok()) << report.status();
    Expr expected, of_operators;
    for (const auto& [types, macs] : report->macs_by_dtype) {
      expected += macs * (bits.at(types.a) * bits.at(types.b));
    }
    for (const OpRow& row : report->by_op) of_operators += row.bops;
    EXPECT_EQ(report->totals.bops, expected) << name;
    EXPECT_EQ(of_operators, expected) << name;
  }
}

// Types of operands that are not known: the report has no BOPs, rather than too few.
TEST(ReportTest, BopsOfUnknownTypesAreAbsent) {
  EXPECT_TRUE(Linear().Count()->Has(QuantityOf(&Amounts::bops)));
  ModelMaker make = Linear();
  make.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->clear_elem_type();
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->Has(QuantityOf(&Amounts::bops)));
}

// Some 2^120 MACs have a count; times 32 x 32 they are beyond 128 bits.
TEST(ReportTest, BopsBeyondTheRangeAreAbsent) {
  const std::string side = absl::StrCat(int64_t{1} << 31), half = absl::StrCat(int64_t{1} << 30);
  ModelMaker make;
  make.Input("x", {"1", "1", side, side}).Input("w", {"1", "1", half, half});
  make.Node("c", "Conv", {"x", "w"}, {"y"}).Output("y");
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GE(report->totals.macs.literal(), absl::int128{1} << 120);
  EXPECT_FALSE(report->Has(QuantityOf(&Amounts::bops)));
}

TEST(ReportTest, WhatIsUnknownMakesALowerBound) {
  ModelMaker make = Linear();
  make.proto.mutable_graph()->clear_output();
  make.Node("/head/Magic", "Magic", {"y"}, {"z"}).Output("z");
  make.node->set_domain("my.own");
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->totals.lower_bound);
  EXPECT_EQ(report->coverage.unknown, 1);
  ASSERT_EQ(report->coverage.items.size(), 1u);
  EXPECT_EQ(report->coverage.items[0].node, "/head/Magic");
  const std::string table = ToTable(*report, {});
  EXPECT_THAT(table, HasSubstr(">= 72, of these 2 x 32 MACs + 8 other"));
  EXPECT_THAT(
      table,
      HasSubstr("not counted: 1 node; totals are lower bounds\n| /head/Magic (my.own.Magic): "));
  const Json json = Json::parse(ToJson(*report));
  EXPECT_TRUE(json["coverage"]["lower_bound"]);
  EXPECT_EQ(json["coverage"]["items"][0]["op"], "Magic");
}

TEST(ReportTest, NodeRows) {
  const absl::StatusOr<Report> report = Linear().Count({.node_rows = true});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->nodes.size(), 2u);
  const NodeRow& row = report->nodes[0];
  EXPECT_EQ(row.name, "/fc/MatMul");
  EXPECT_EQ(report->modules[static_cast<size_t>(row.module)].path, "fc");
  ASSERT_EQ(row.inputs.size(), 2u);
  EXPECT_EQ(TensorText(row.outputs[0].type, row.outputs[0].shape), "float32[batch, 8]");
  EXPECT_EQ(row.flops.ToString(), "64*batch");
  EXPECT_EQ(row.status, Coverage::kCounted);
}

TEST(ReportTest, InputShapesAreBindings) {
  CountOptions options;
  options.input_shapes["x"] = {3, 4};
  const absl::StatusOr<Report> report = Linear().Count(options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->bindings, (Bindings{{"batch", 3}}));
  EXPECT_EQ(report->totals.flops, Expr(216));
}

// ---- JSON

TEST(JsonTest, IntegersAreWholeAtAnySize) {
  JsonWriter json;
  json.BeginObject();
  json.Key("q").Quantity(Expr(absl::Int128Max()));
  json.Key("s").Quantity(Expr::Symbol("n"));
  json.Key("empty").BeginArray();
  json.EndArray();
  json.EndObject();
  EXPECT_EQ(json.TakeText(),
            "{\n  \"q\": {\"expr\": \"170141183460469231731687303715884105727\", \"value\": "
            "170141183460469231731687303715884105727},\n"
            "  \"s\": {\"expr\": \"n\", \"value\": null},\n  \"empty\": []\n}\n");
}

TEST(JsonTest, KeysThatDifferStayApart) {
  const std::string keys[] = {"a\xff",
                              "a\xfe",
                              "a\xef\xbf\xbd",
                              "a\xef\xbf\xbd\xff",
                              "a\xef\xbf\xbd"
                              "ff",
                              "a"};
  JsonWriter json;
  json.BeginObject();
  for (const std::string& key : keys) json.Key(key).Int(1);
  json.EndObject();
  const Json read = Json::parse(json.TakeText());
  EXPECT_EQ(read.size(), std::size(keys));
  EXPECT_TRUE(
      read.contains("a\xef\xbf\xbd"
                    "ff"));
}

TEST(JsonTest, HasTheFieldsOfTheSchema) {
  const absl::StatusOr<Report> report = Linear().Count({.node_rows = true});
  ASSERT_TRUE(report.ok()) << report.status();
  const Json json = Json::parse(ToJson(*report));
  EXPECT_EQ(json["schema"], "onnxflops.report/1");
  for (const char* key : {"model", "bindings", "convention", "totals", "census", "macs_by_dtype",
                          "coverage", "symbols", "by_op", "modules", "nodes"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["model"]["opsets"]["ai.onnx"], 17);
  EXPECT_EQ(json["totals"]["flops"], (Json{{"expr", "72*batch"}, {"value", nullptr}}));
  EXPECT_EQ(json["totals"]["params"], 32);
  EXPECT_EQ(json["symbols"][0]["origin"], (Json{{"kind", "input"}, {"value", "x"}, {"axis", 0}}));
  EXPECT_EQ(json["modules"]["children"].size(), 2u);
  EXPECT_EQ(json["nodes"][0]["outputs"][0],
            (Json{{"name", "a"}, {"dtype", "float32"}, {"shape", {"batch", "8"}}}));
  EXPECT_EQ(json["nodes"][0]["status"], "counted");
  EXPECT_EQ(json["census"]["mac"]["expr"], "32*batch");
  EXPECT_FALSE(Json::parse(ToJson(*Linear().Count())).contains("nodes"));
}

TEST(JsonTest, SeveralReportsAreOneDocument) {
  const absl::StatusOr<Report> report = Linear().Count();
  ASSERT_TRUE(report.ok()) << report.status();
  for (const std::vector<Report>& reports : {std::vector{*report}, std::vector{*report, *report}}) {
    const Json json = Json::parse(ToJson(reports));
    EXPECT_EQ(json["schema"], "onnxflops.reports/1");
    EXPECT_EQ(json["reports"], Json(reports.size(), Json::parse(ToJson(*report))));
  }
}

// ---- tables

// 3 equal layers h.0-2, and one that is not.
ModelMaker Layers(int equal) {
  ModelMaker make;
  make.Input("x", {"1", "4"});
  std::string at = "x";
  for (int i = 0; i <= equal; ++i) {
    const std::string out = absl::StrCat("o", i);
    make.Node(absl::StrCat("/enc/h.", i, "/act/Relu"), i < equal ? "Relu" : "Sigmoid", {at}, {out});
    at = out;
  }
  return make.Output(at);
}

std::vector<std::string> Labels(const std::vector<ModuleRow>& rows) {
  std::vector<std::string> labels;
  for (const ModuleRow& row : rows) {
    labels.push_back(absl::StrCat(std::string(static_cast<size_t>(row.indent), ' '), row.label,
                                  row.repeated > 1 ? absl::StrCat(" x", row.repeated) : ""));
  }
  return labels;
}

TEST(ModuleRowsTest, EqualSiblingsFoldAndOnlyChildrenJoin) {
  const absl::StatusOr<Report> report = Layers(3).Count();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(Labels(ModuleRows(*report, {}).rows),
              testing::ElementsAre("enc", " h.0-2.act x3", " h.3.act"));
  EXPECT_THAT(Labels(ModuleRows(*report, {.fold = false}).rows),
              testing::ElementsAre("", " enc", "  h.0", "   act", "  h.1", "   act", "  h.2",
                                   "   act", "  h.3", "   act"));
  EXPECT_THAT(Labels(ModuleRows(*report, {.depth = 0}).rows), testing::ElementsAre("enc"));
  EXPECT_EQ(ModuleRows(*report, {.depth = 1}).rows[1].flops, Expr(12));
}

TEST(ModuleRowsTest, ManySiblingsShowTheLargest) {
  ModelMaker make;
  make.Input("x", {"1", "4"}).Input("z", {"3", "4"});
  for (int i = 0; i < 60; ++i) {
    const bool large = i % 10 == 0;
    make.Node(absl::StrCat("/m", i, i % 2 == 0 ? "a" : "b", "/Relu"), "Relu", {large ? "z" : "x"},
              {absl::StrCat("o", i)});
    make.Output(absl::StrCat("o", i));
  }
  const absl::StatusOr<Report> report = make.Count();
  ASSERT_TRUE(report.ok()) << report.status();
  const std::vector<ModuleRow> rows = ModuleRows(*report, {}).rows;
  ASSERT_EQ(rows.size(), 25u);
  EXPECT_EQ(rows.back().label, "[m19b, m21b and 35 others]");
  EXPECT_EQ(rows.back().flops, Expr(37 * 4));
  Expr sum;
  for (size_t i = 1; i < rows.size(); ++i) sum += rows[i].flops;
  EXPECT_EQ(sum, report->totals.flops);
  EXPECT_EQ(ModuleRows(*report, {.depth = 1}).rows.size(), 61u);
}

int LongestLine(const std::string& text) {
  int longest = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    longest = std::max(longest, DisplayWidth(line));
  }
  return longest;
}

TEST(TableTest, FitsTheTerminal) {
  ModelMaker make;
  make.Input("x", {"1", "4"});
  std::string path;
  for (int i = 0; i < 5; ++i) {
    absl::StrAppend(&path, "/a_rather_long_name_", i);
    make.Node(path + "/Relu", "Relu", {"x"}, {absl::StrCat("o", i)}).Output(absl::StrCat("o", i));
  }
  const absl::StatusOr<Report> report = make.Count({.node_rows = true});
  ASSERT_TRUE(report.ok()) << report.status();
  for (const GroupBy by : {GroupBy::kModule, GroupBy::kOp, GroupBy::kNode}) {
    for (int width : {60, 80, 200}) {
      EXPECT_LE(LongestLine(ToTable(*report, {.by = by}, {.width = width})), width);
    }
  }
  EXPECT_THAT(ToTable(*report, {.by = GroupBy::kNode}), HasSubstr(path + "/Relu"));
  EXPECT_THAT(ToTable(*report, {}, {.color = true}), HasSubstr("\x1b[1m"));
  EXPECT_THAT(ToTable(*report, {}), Not(HasSubstr("\x1b")));
}

TEST(TableTest, CutsWhatMattersLeast) {
  EXPECT_EQ(WithoutBeginning("  transformer.resblocks.0-23", 16), "  ..sblocks.0-23");
  EXPECT_EQ(WithoutBeginning("short", 5), "short");
  EXPECT_EQ(WithoutBeginning("    deep", 5), ".....");
  EXPECT_EQ(WithoutBeginning("ééééé", 4), "..éé");
  EXPECT_EQ(WithoutEnd("a long text", 8), "a long..");
  EXPECT_EQ(WithoutEnd("short", 5), "short");
  EXPECT_EQ(WithoutMiddle("  transformer.resblocks.0-23", 16, 4), "  tran..cks.0-23");
  EXPECT_EQ(WithoutMiddle("    deep and long", 9, 4), "    dee..");
}

// A table whose first column has names, and two others.
TextTable NamesAnd(const std::vector<std::string>& names, TextTable::Column second,
                   TextTable::Column third) {
  TextTable table;
  table.columns = {{"name", false, TextTable::Column::Narrow::kName}, second, third};
  for (const std::string& name : names) table.rows.push_back({{name, "1.234 G", "text of ours"}});
  return table;
}

TEST(TableTest, NamesAreBrokenAndNotCut) {
  using Narrow = TextTable::Column::Narrow;
  const TextTable table =
      NamesAnd({"encoder.first.block.attention", "short"}, {"FLOPs", true}, {"x", false});
  EXPECT_EQ(DrawText(table, {.width = 46}),
            "  name                     FLOPs  x\n"
            "| encoder.first.block.   1.234 G  text of ours\n"
            "|   attention\n"
            "| short                  1.234 G  text of ours\n");
  const TextTable spare = NamesAnd({"encoder.first.block.attention", "short"}, {"FLOPs", true},
                                   {"x", false, Narrow::kSpare});
  EXPECT_EQ(DrawText(spare, {.width = 40}),
            "  name                             FLOPs\n"
            "| encoder.first.block.attention  1.234 G\n"
            "| short                          1.234 G\n"
            "(no room for x in 40 columns)\n");
}

TEST(TableTest, TextIsBrokenBeforeNamesAre) {
  TextTable table = NamesAnd({"encoder.first.block.attention"}, {"FLOPs", true},
                             {"x", false, TextTable::Column::Narrow::kText});
  table.rows[0].cells[2] = "a text that says more than it has to";
  EXPECT_EQ(DrawText(table, {.width = 64}),
            "  name                             FLOPs  x\n"
            "| encoder.first.block.attention  1.234 G  a text that says more\n"
            "|                                           than it has to\n");
}

TEST(TableTest, VeryLongNamesThatDifferAreCutSoThatTheyDiffer) {
  TextTable table;
  table.columns = {{"name", false, TextTable::Column::Narrow::kName}};
  const std::string rest = std::string(100, 'x') + ".the.end";
  for (const char* begin : {"encoder", "decoder", "head"}) table.rows.push_back({{begin + rest}});
  const std::string text = DrawText(table, {.width = 22});
  EXPECT_THAT(text, HasSubstr("| encoder"));
  EXPECT_THAT(text, HasSubstr("| decoder"));
  EXPECT_THAT(text, HasSubstr("| head"));
  EXPECT_LE(LongestLine(text), 22);
}

TEST(TableTest, FiguresAreAtTheSizesOfTheTitle) {
  const absl::StatusOr<Report> report = Linear().Count();
  ASSERT_TRUE(report.ok()) << report.status();
  const std::string table = ToTable(*report, {});
  EXPECT_THAT(table, HasSubstr("formula FLOPs = 72*batch\n"));
  EXPECT_THAT(table, HasSubstr("FLOPs   72 = 2 x 32 MACs + 8 other (Relu)\n"));
}

// ---- explanations

TEST(ExplainTest, ANodeByNameOrOutput) {
  const absl::StatusOr<Model> model = Linear().Load();
  ASSERT_TRUE(model.ok());
  const absl::StatusOr<Explanation> e = Explain(*model, {}, "/fc/MatMul");
  ASSERT_TRUE(e.ok()) << e.status();
  EXPECT_EQ(e->module, "fc");
  ASSERT_EQ(e->terms.size(), 1u);
  EXPECT_EQ(e->terms[0].kind, "mac");
  EXPECT_EQ(e->terms[0].how, "Y.elements*K = batch*8*4");
  EXPECT_EQ(e->terms[0].amount.ToString(), "32*batch");
  EXPECT_EQ(Explain(*model, {}, "a")->node.name, "/fc/MatMul");
  EXPECT_EQ(Explain(*model, {}, "MatMul").status().message(),
            "test.onnx: no node, tensor or module is named 'MatMul'; similar: '/fc/MatMul'");
}

// Two nodes of one name: what is printed of one is of that one.
TEST(ExplainTest, NodesOfOneName) {
  ModelMaker make;
  make.Input("x", {"2", "8"}).Weight("a", {8, 4}).Weight("b", {4, 16});
  make.Node("same", "MatMul", {"x", "a"}, {"h"}).Node("same", "MatMul", {"h", "b"}, {"y"});
  const absl::StatusOr<Model> model = make.Output("y").Load();
  ASSERT_TRUE(model.ok());
  struct Case {
    const char* name;
    int64_t number;
    const char* weight;
    const char* macs;
  };
  for (const Case& c : {Case{"same", 1, "a", "64"}, Case{"same#1", 1, "a", "64"},
                        Case{"same#2", 2, "b", "128"}, Case{"y", 1, "b", "128"}}) {
    const absl::StatusOr<Explanation> e = Explain(*model, {}, c.name);
    ASSERT_TRUE(e.ok()) << e.status();
    EXPECT_EQ(e->number, c.number) << c.name;
    EXPECT_EQ(e->node.inputs[1].name, c.weight) << c.name;
    EXPECT_EQ(e->amounts.macs.ToString(), c.macs) << c.name;
    EXPECT_EQ(e->node.macs.ToString(), c.macs) << c.name;
  }
  EXPECT_FALSE(Explain(*model, {}, "same#3").ok());
  EXPECT_THAT(ToText(*Explain(*model, {}, "same"), {}), HasSubstr("number 1 of 2 nodes"));
}

// An If whose condition is not known: `small` costs 8*n FLOPs, `large` 128*n.
absl::StatusOr<Model> Branches() {
  onnx::ModelProto proto;
  proto.set_ir_version(10);
  const std::string text =
      "g (bool c, float[n,8] x, float[8,8] w) => (float[n,8] y) "
      "{ y = If (c) <then_branch = t () => (float[n,8] a) { a = Relu(x) }, "
      "else_branch = e () => (float[n,8] b) { b = MatMul(x, w) }> }";
  if (!onnx::OnnxParser::Parse(*proto.mutable_graph(), text.c_str()).IsOK()) {
    return absl::InternalError(text);
  }
  proto.add_opset_import()->set_version(20);
  return LoadFromBytes(proto.SerializeAsString());
}

TEST(ExplainTest, BothBranchesOfAnIf) {
  const absl::StatusOr<Model> model = Branches();
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Explanation> e = Explain(*model, {}, "y");
  ASSERT_TRUE(e.ok()) << e.status();
  ASSERT_EQ(e->bodies.size(), 2u);
  EXPECT_EQ(e->bodies[0].name, "then_branch");
  EXPECT_EQ(e->bodies[0].flops.ToString(), "8*n");
  EXPECT_EQ(e->bodies[0].how, "not counted: it costs less");
  EXPECT_EQ(e->bodies[1].name, "else_branch");
  EXPECT_EQ(e->bodies[1].flops.ToString(), "128*n");
  EXPECT_EQ(e->bodies[1].macs.ToString(), "64*n");
  EXPECT_EQ(e->bodies[1].how, "counted: it costs more");
  EXPECT_EQ(e->amounts.flops.ToString(), "128*n");
}

// ---- quantities

// A row of the table is all that writers need to show a quantity: each prints what is in a member
// that they do not name.
TEST(QuantityTest, ARowOfTheTableReachesEveryWriter) {
  ModelMaker make;
  make.Input("x", {"2", "3"}).Weight("w", {3, 4}).Node("n", "MatMul", {"x", "w"}, {"y"});
  const absl::StatusOr<Model> model = make.Output("y").Load();
  ASSERT_TRUE(model.ok()) << model.status();
  absl::StatusOr<Report> report = Count(*model, {.node_rows = true});
  ASSERT_TRUE(report.ok()) << report.status();
  report->absent = 0;
  for (const Quantity& q : kQuantities) {
    SCOPED_TRACE(q.key);
    Report shown = *report;
    const Expr mark = 987'654'321'987;
    auto of_model = std::make_shared<Amounts>(*shown.modules[0].amounts);
    of_model.get()->*q.value = mark;
    shown.totals.*q.value = mark;
    shown.modules[0].amounts = std::move(of_model);
    shown.by_op[0].*q.value = mark;
    shown.nodes[0].*q.value = mark;
    const size_t places = q.of == Quantity::Of::kWeights ? 2 : 4;
    const std::vector<std::string> parts = absl::StrSplit(ToJson(shown), "987654321987");
    EXPECT_GE(parts.size() - 1, places);
    for (GroupBy by : {GroupBy::kModule, GroupBy::kOp, GroupBy::kNode}) {
      if (q.of == Quantity::Of::kWeights && by != GroupBy::kModule) continue;
      ViewOptions view;
      view.by = by;
      view.exact = true;
      view.columns = {FindFigure(q.key).value()};
      EXPECT_THAT(ToCsv(absl::MakeConstSpan(&shown, 1), view), HasSubstr("987654321987"));
      EXPECT_THAT(ToMarkdown(shown, view), HasSubstr("987"));
      EXPECT_THAT(ToTable(shown, view, {.width = 200}), HasSubstr("987"));
    }
  }
}

// ---- estimate: what was measured

// FLOPs that "calibrated" states: [N, 3] by [3, 4] at N = 7, by a measurement at N = 5.
Json CalibratedBy(const char* measured) {
  const Model model =
      ModelFromText("g (float[N,3] A, float[3,4] B) => (float[N,4] Y) { Y = MatMul(A, B) }", 17);
  const absl::StatusOr<Measurement> measurement = ParseMeasurement(measured, "measured.json");
  EXPECT_TRUE(measurement.ok()) << measurement.status();
  const absl::StatusOr<Report> then = Count(model, {.bindings = measurement->sizes});
  EXPECT_TRUE(then.ok()) << then.status();
  EstimateReport report;
  report.calibration = *Calibrate(*measurement, *then);
  report.models.push_back(*CompareTools(model, {.bindings = {{"N", 7}}}, {}));
  const Json json = Json::parse(ToJson(report));
  EXPECT_EQ(json["estimates"][0]["flops"]["value"], 2 * 7 * 3 * 4);  // what is counted stays
  return json["estimates"][0]["calibrated"];
}

TEST(EstimateTest, CalibratedFiguresAreCountedTimesMeasuredByCounted) {
  // 5 x 3 x 4 MACs are 120 FLOPs, and a training step has three times as many: 360. 540 measured
  // are half as many again; a step at N = 7 has 504.
  const Json training =
      CalibratedBy(R"({"flops": 540, "of": "training", "device": "d", "date": "2026-11-20",
                                         "bindings": {"N": 5}})");
  EXPECT_EQ(training["flops"], 756);
  EXPECT_EQ(training["of"], "training");
  // 90 for 120 are three quarters, of 168 at N = 7.
  const Json forward =
      CalibratedBy(R"({"flops": 90, "of": "forward", "device": "d", "date": "2026-11-20",
                                        "bindings": {"N": 5}})");
  EXPECT_EQ(forward["flops"], 126);
  EXPECT_EQ(forward["of"], "forward");
}

}  // namespace
}  // namespace onnxflops::report_test
