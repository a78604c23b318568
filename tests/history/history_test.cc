// Histories: how lines are written and read, and what is said of them.
#include "src/history/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "src/base/limits.h"
#include "src/cost/amounts.h"
#include "src/history/history_writers.h"
#include "src/history/record.h"
#include "src/report/memory_report.h"
#include "src/report/report.h"
#include "src/symbolic/expr.h"

namespace onnxflops::history_test {
namespace {

using Status = RecordedFigure::Status;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kHash[] = "a179b2e3204fa2fef2906ce166a2badb81a30e5563ffb0c36507d57f62916f06";

// A commit of one letter: "aaaa...".
std::string Commit(char letter) { return std::string(40, letter); }

// A line of a history. `totals` is the inside of an object.
std::string Line(absl::string_view commit, absl::string_view totals, absl::string_view more = "",
                 absl::string_view model = "m.onnx") {
  const std::string shown = commit.empty() ? "null" : absl::StrCat("\"", commit, "\"");
  return absl::StrCat("{\"schema\": \"onnxflops.record/1\", \"date\": \"2026-11-26T06:00:00Z\", ",
                      "\"commit\": ", shown, ", \"model\": \"", model, "\", \"sha256\": \"", kHash,
                      "\", \"version\": \"0.1.0\", \"sizes\": {}, \"totals\": {", totals, "}", more,
                      "}\n");
}

HistoryReport ReportOf(const std::string& text, const HistoryView& view = {}) {
  absl::StatusOr<History> history = ReadHistory(text, "h.jsonl");
  EXPECT_TRUE(history.ok()) << history.status();
  return history.ok() ? MakeHistory(*std::move(history), view) : HistoryReport();
}

// ---- a line

TEST(RecordTest, FiguresAreExactOrSayHowFarTheyAreKnown) {
  Report report;
  report.model.path = "m.onnx";
  report.bindings = {{"batch", 2}};
  report.totals.lower_bound = true;
  report.totals.flops = 12;
  report.totals.macs = 0;
  report.totals.params = 7;
  report.totals.bytes_read = *ParseExpr("4*seq");
  for (size_t i = 0; i < kNumQuantities; ++i) {
    const bool is_asked_for = kQuantities[i].needs == Quantity::Needs::kDevice ||
                              kQuantities[i].needs == Quantity::Needs::kTraining;
    if (is_asked_for) report.absent |= uint32_t{1} << i;
  }
  report.activation_peak = ActivationPeak{Expr(9), false};
  const HistoryRecord record = RecordOf(report);
  EXPECT_EQ(record.model, "m.onnx");
  EXPECT_EQ(record.sizes, report.bindings);
  const struct {
    const char* quantity;
    RecordedFigure figure;
  } cases[] = {
      {"flops", {Status::kLowerBound, 12, ""}},
      {"macs", {Status::kUnknown, 0, ""}},
      {"params", {Status::kExact, 7, ""}},  // weights are known
      {"bytes_read", {Status::kOpen, 0, ">= 4*seq"}},
      {"training_flops", {Status::kLowerBound, 36, ""}},
      {"peak_activation_bytes", {Status::kExact, 9, ""}},
  };
  for (const auto& c : cases) {
    const RecordedFigure* const figure = record.Find(*FindRecordedQuantity(c.quantity));
    ASSERT_NE(figure, nullptr) << c.quantity;
    EXPECT_TRUE(*figure == c.figure) << c.quantity;
  }
  // There is no device.
  EXPECT_EQ(record.Find(*FindRecordedQuantity("time_bound_seconds")), nullptr);
}

TEST(RecordTest, IsReadAsItWasWritten) {
  HistoryRecord record;
  record.date = "2024-02-29T23:59:60Z";
  record.commit = Commit('a');
  record.model = "dir/<b>\n\x1b[31m\u202e\"m.onnx";
  record.sha256 = kHash;
  record.version = "0.1.0";
  record.sizes = {{"batch", 1}, {"past seq", 9'223'372'036'854'775'807}};
  record.totals = {
      {FindRecordedQuantity("flops"), {Status::kExact, absl::Int128Max(), ""}},
      {FindRecordedQuantity("macs"), {Status::kLowerBound, 18'446'744'073'709'551'615U, ""}},
      {FindRecordedQuantity("bytes_read"), {Status::kOpen, 0, ">= 4*seq"}},
      {FindRecordedQuantity("bops"), {Status::kUnknown, 0, ""}},
      {FindRecordedQuantity("peak_activation_bytes"), {Status::kExact, 0, ""}}};
  record.limits = {{FindRecordedQuantity("flops"), absl::Int128Max()}};
  const std::string line = ToJsonLine(record);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_THAT(line, HasSubstr("\"flops\": 170141183460469231731687303715884105727,"));
  EXPECT_THAT(line, HasSubstr("\"bops\": {\"value\": null, \"status\": \"unknown\"}"));
  const absl::StatusOr<HistoryRecord> again = ParseRecord(line);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->date, record.date);
  EXPECT_EQ(again->commit, record.commit);
  EXPECT_EQ(again->sha256, record.sha256);
  EXPECT_EQ(again->sizes, record.sizes);
  EXPECT_TRUE(again->totals == record.totals);
  EXPECT_TRUE(again->limits == record.limits);
  EXPECT_EQ(ToJsonLine(*again), line);
}

TEST(RecordTest, WhatIsNotKnownIsPassedOver) {
  const std::string line = Line(
      "", "\"new_quantity\": -5, \"flops\": 3, \"other\": {\"value\": [1, {\"a\": 1.5}]}",
      ", \"branch\": \"main\", \"tags\": [\"a\", [1], {\"date\": 5}], \"limits\": {\"x\": []}");
  const absl::StatusOr<HistoryRecord> record = ParseRecord(line);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->totals.size(), 1U);
  EXPECT_TRUE(record->limits.empty());
  EXPECT_EQ(record->commit, "");
}

// A good line with a part of it replaced, and what is then said of it.
constexpr struct {
  const char *from, *to, *why;
} kFaults[] = {
    {"onnxflops.record/1", "onnxflops.report/1",
     "it is no line of a history: its schema is 'onnxflops.report/1', not onnxflops.record/1"},
    {"\"schema\": \"onnxflops.record/1\", ", "", "it is no line of a history: it has no schema"},
    {"\"date\": \"2026-11-26T06:00:00Z\", ", "", "'date' is missing"},
    {"2026-11-26T06:00:00Z", "2026-11-26",
     "'date' should be a time in UTC, as 2026-11-26T06:00:00Z, and is '2026-11-26'"},
    {"2026-11-26T", "2026-13-26T", "'date' should be a time"},
    {"2026-11-26T", "2026-00-26T", "'date' should be a time"},
    {"2026-11-26T", "2026-11-31T", "'date' should be a time"},
    {"2026-11-26T", "2023-02-29T", "'date' should be a time"},
    {"2026-11-26T", "1900-02-29T", "'date' should be a time"},
    {"06:00:00Z", "24:00:00Z", "'date' should be a time"},
    {"06:00:00Z", "06:60:00Z", "'date' should be a time"},
    {"06:00:00Z", "06:00:00+", "'date' should be a time"},
    {"\"2026-11-26T06:00:00Z\"", "20261126", "'date' is a number"},
    {"\"2026-11-26T06:00:00Z\"", "null", "'date' is null"},
    {"\"2026-11-26T06:00:00Z\"", "[]", "'date' is an array"},
    {"\"2026-11-26T06:00:00Z\"", "{}", "'date' is an object"},
    {"aaaaaa", "aaa", "'commit' should be null or a commit's hash in full, and is 'aaaaaaa"},
    {"aaaaaa", "AAAAAA", "'commit' should be null or"},
    {"a179b2", "a179bg", "'sha256' should be null or 64 hexadecimal digits"},
    {"\"m.onnx\"", "\"\"", "'model' is empty"},
    {"\"m.onnx\"", "true", "'model' is true or false"},
    {"\"sizes\": {}", "\"sizes\": 5", "'sizes' is a number"},
    {"\"sizes\": {}", "\"sizes\": {\"batch\": \"1\"}", "'sizes.batch' is text"},
    {"\"sizes\": {}", "\"sizes\": {\"batch\": -1}", "'sizes.batch' is below 0"},
    {"\"sizes\": {}", "\"sizes\": {\"batch\": 9223372036854775808}",
     "'sizes.batch' is no size: it has more than 63 bits"},
    {"\"sizes\": {}", "\"sizes\": {\"a\": 1, \"a\": 2}", "the key 'a' is there twice"},
    {"\"flops\": 3", "\"flops\": 3, \"flops\": 4", "the key 'flops' is there twice"},
    {"\"flops\": 3", "\"flops\": 3.5",
     "'totals.flops' should be a whole number of at most 128 bits, and is 3.5"},
    {"\"flops\": 3", "\"flops\": 3e2", "'totals.flops' should be a whole number"},
    {"\"flops\": 3", "\"flops\": 170141183460469231731687303715884105728",
     "'totals.flops' should be a whole number of at most 128 bits"},
    {"\"flops\": 3", "\"flops\": 1e999", "a number is out of range"},
    {"\"flops\": 3", "\"flops\": -3", "'totals.flops' is below 0"},
    {"\"flops\": 3", "\"flops\": null", "'totals.flops' is null"},
    {"\"flops\": 3", "\"flops\": \"3\"", "'totals.flops' is text"},
    {"\"flops\": 3", "\"flops\": {\"value\": 3}", "'totals.flops' has no status"},
    {"\"flops\": 3", "\"flops\": {\"value\": 3, \"status\": \"unknown\"}",
     "'totals.flops' is unknown and has a value"},
    {"\"flops\": 3", "\"flops\": {\"value\": null, \"status\": \"lower_bound\"}",
     "'totals.flops' is lower_bound and has no value"},
    {"\"flops\": 3", "\"flops\": {\"value\": 3, \"status\": \"maybe\"}",
     "'totals.flops.status' should be lower_bound, unknown or open, and is 'maybe'"},
    {"}\n", ", \"limits\": {\"flops\": \"4 G\"}}\n", "'limits.flops' is text"},
    {"}}\n", "}\n", "not JSON"},
    {"}}\n", "}}}\n", "not JSON"},
};

TEST(RecordTest, WhatIsNoRecordSaysWhy) {
  const std::string good = Line(Commit('a'), "\"flops\": 3");
  ASSERT_TRUE(ParseRecord(good).ok());
  for (const auto& c : kFaults) {
    std::string line = good;
    const size_t at = line.rfind(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    line.replace(at, std::string(c.from).size(), c.to);
    const absl::Status status = ParseRecord(line).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.why)) << line;
  }
}

TEST(RecordTest, WhatIsNoLineAtAllIsRefused) {
  for (const char* text : {"5", "[]", "\"x\"", "null", "<<<<<<< HEAD", "", "{", "\xff"}) {
    EXPECT_FALSE(ParseRecord(text).ok()) << text;
  }
  EXPECT_EQ(ParseRecord(std::string(kMaxHistoryLine + 1, ' ')).status().code(),
            absl::StatusCode::kOutOfRange);
  const std::string deep = absl::StrCat(", \"x\": ", std::string(1000, '['));
  EXPECT_EQ(ParseRecord(Line("", "", deep)).status().code(), absl::StatusCode::kOutOfRange);
}

// ---- a file

TEST(HistoryTest, ErrorsNameFileAndLine) {
  const std::string good = Line(Commit('a'), "\"flops\": 3");
  const struct {
    std::string text;
    const char* error;
  } cases[] = {
      {"", "h.jsonl: it is empty: onnxflops check MODEL record adds a line to it"},
      {"\n \n", "h.jsonl: it is empty: onnxflops check MODEL record adds a line to it"},
      {good + "\n" + good + "<<<<<<< HEAD\n", "h.jsonl:4:1: not JSON from here: "},
      {good + good.substr(0, 20), "h.jsonl:2:20: not JSON from here: "},
      {good + Line("abc", ""), "h.jsonl:2: 'commit' should be null or"},
      {"model,flops\n", "h.jsonl:1:1: not JSON from here: "},
  };
  for (const auto& c : cases) {
    const absl::Status status = ReadHistory(c.text, "h.jsonl").status();
    EXPECT_THAT(std::string(status.message()), testing::StartsWith(c.error)) << c.text;
  }
  EXPECT_EQ(ReadHistory(std::string(kMaxHistoryBytes + 1, '\n'), "h.jsonl").status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST(HistoryTest, LinesAreAddedToHistoriesOnly) {
  const std::string good = Line(Commit('a'), "\"flops\": 3");
  EXPECT_TRUE(CheckHistory("", "h.jsonl").ok());
  EXPECT_TRUE(CheckHistory(good, "h.jsonl").ok());
  EXPECT_TRUE(CheckHistory("\r\n" + good + "{\"cut", "h.jsonl").ok());
  EXPECT_THAT(std::string(CheckHistory("\n[budget]\n", "h.jsonl").message()),
              testing::StartsWith("h.jsonl:2:"));
}

TEST(HistoryTest, TheLastLineOfACommitIsRead) {
  const HistoryReport report =
      ReportOf(Line(Commit('a'), "\"flops\": 1") + Line(Commit('b'), "\"flops\": 2") +
               Line(Commit('b'), "\"flops\": 3") + Line(Commit('b'), "\"flops\": 9", "", "n.onnx") +
               Line("", "\"flops\": 4") + Line("", "\"flops\": 4"));
  EXPECT_EQ(report.records, 5);
  EXPECT_EQ(report.commits, 2);
  EXPECT_EQ(report.models, 2);
  ASSERT_EQ(report.changes.size(), 2U);
  EXPECT_EQ(report.Before(report.changes[0]).commit, Commit('a'));
  EXPECT_EQ(report.After(report.changes[0]).Find(*FindRecordedQuantity("flops"))->value, 3);
  EXPECT_EQ(report.After(report.changes[1]).commit, "");
}

// A job that runs again adds a line of an older commit, which comes after none of those since.
TEST(HistoryTest, AnOlderCommitThatIsRecordedAgainStaysInItsPlace) {
  const HistoryReport report =
      ReportOf(Line(Commit('a'), "\"flops\": 1") + Line(Commit('b'), "\"flops\": 2") +
               Line(Commit('a'), "\"flops\": 1"));
  ASSERT_EQ(report.changes.size(), 1U);
  EXPECT_EQ(report.After(report.changes[0]).commit, Commit('b'));
}

// A figure that a line lacks is no change, and the next one is compared with the last that is
// there.
TEST(HistoryTest, WhatIsMissingIsAGap) {
  const std::string text = Line(Commit('a'), "\"flops\": 5, \"macs\": 2") +
                           Line(Commit('b'), "\"macs\": 2") +
                           Line(Commit('c'), "\"flops\": 5, \"macs\": 2") +
                           Line(Commit('d'), "\"macs\": 2, \"params\": 8") +
                           Line(Commit('e'), "\"flops\": 6, \"macs\": 2");
  const HistoryReport report = ReportOf(text);
  ASSERT_EQ(report.changes.size(), 1U);
  EXPECT_EQ(report.changes[0].previous, 2U);
  EXPECT_EQ(report.changes[0].record, 4U);
  const nlohmann::json json = nlohmann::json::parse(ToJson(report));
  const nlohmann::json& flops = json["series"][0]["quantities"][0];
  EXPECT_EQ(flops["quantity"], "flops");
  std::vector<std::pair<int, std::string>> points;
  for (const auto& p : flops["points"]) {
    points.emplace_back(p["place"],
                        absl::StrCat(p["status"].get<std::string>(), " ", p["value"].dump()));
  }
  const std::vector<std::pair<int, std::string>> expected = {
      {0, "exact 5"}, {1, "missing null"}, {2, "exact 5"}, {3, "missing null"}, {4, "exact 6"}};
  EXPECT_EQ(points, expected);
  EXPECT_THAT(DrawText(ToDocument(report)), Not(HasSubstr("MACs")));
}

TEST(HistoryTest, TextsOfChanges) {
  const struct {
    const char *before, *after, *row;
  } cases[] = {
      {"\"flops\": 449144856", "\"flops\": 8206520296", "449.1 M -> 8.207 G  +1,727.1 %"},
      {"\"flops\": 1000000000", "\"flops\": 1000000001", "1,000,000,000 -> 1,000,000,001  <0.1 %"},
      {"\"params\": 400", "\"params\": 300", "400 -> 300  -25.0 %"},
      {"\"flops\": 0", "\"flops\": 5", "0 -> 5\n"},
      {"\"param_bytes\": 4000", "\"param_bytes\": 8000", "4.000 kB -> 8.000 kB  +100.0 %"},
      {"\"flops\": 7", "\"flops\": {\"value\": 9, \"status\": \"lower_bound\"}", "7 -> >= 9\n"},
      {"\"flops\": {\"value\": 9, \"status\": \"lower_bound\"}", "\"flops\": 9", ">= 9 -> 9\n"},
      {"\"flops\": {\"value\": null, \"status\": \"unknown\"}", "\"flops\": 9", "unknown -> 9\n"},
      {"\"flops\": {\"value\": null, \"status\": \"open\", \"expr\": \"2*n\"}",
       "\"flops\": {\"value\": null, \"status\": \"open\", \"expr\": \"3*n\"}", "2*n -> 3*n\n"},
      {"\"flops\": 9", "\"flops\": {\"value\": null, \"status\": \"open\"}", "9 -> a formula\n"},
  };
  for (const auto& c : cases) {
    const std::string text =
        DrawText(ToDocument(ReportOf(Line(Commit('a'), c.before) + Line(Commit('b'), c.after))));
    // Columns are as wide as their titles.
    std::string squeezed;
    for (const char ch : text) {
      if (ch == ' ' && absl::EndsWith(squeezed, "  ")) continue;
      squeezed += ch;
    }
    EXPECT_THAT(squeezed, HasSubstr(c.row)) << text;
    EXPECT_THAT(text, HasSubstr("no other figure changed")) << text;
    EXPECT_THAT(text, HasSubstr("2026-11-26  bbbbbbb  m.onnx")) << text;
  }
  EXPECT_THAT(DrawText(ToDocument(ReportOf(Line("", "\"flops\": 1")))),
              HasSubstr("no figure changed"));
}

// A percentage would be of other work.
TEST(HistoryTest, OtherSizesAndVersionsAreNoted) {
  const std::string small = absl::StrReplaceAll(Line(Commit('a'), "\"flops\": 10"),
                                                {{"\"sizes\": {}", "\"sizes\": {\"batch\": 1}"}});
  const std::string large = absl::StrReplaceAll(Line(Commit('b'), "\"flops\": 80"),
                                                {{"\"sizes\": {}", "\"sizes\": {\"batch\": 8}"}});
  const std::string later =
      absl::StrReplaceAll(Line(Commit('c'), "\"flops\": 90"), {{"0.1.0", "0.2.0"}});
  const HistoryReport report = ReportOf(small + large + later);
  const std::string text = DrawText(ToDocument(report));
  EXPECT_THAT(text, HasSubstr("at batch = 1 -> at batch = 8\n"));
  EXPECT_THAT(text, HasSubstr("at batch = 8 -> at the sizes of the file; onnxflops 0.1.0 -> 0.2.0, "
                              "same file"));
  EXPECT_THAT(text, Not(HasSubstr("%")));
  const nlohmann::json json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["changes"][0]["before_sizes"]["batch"], 1);
  EXPECT_FALSE(json["changes"][0].contains("change_percent"));
  EXPECT_EQ(json["changes"][1]["versions"], nlohmann::json({"0.1.0", "0.2.0"}));
  EXPECT_EQ(json["series"][0]["sizes"].size(), 3U);
}

// An equal figure of other sizes is a row, and a time of another device has no percentage.
TEST(HistoryTest, WhatCannotBeComparedIsNoted) {
  const std::string at_8 = absl::StrReplaceAll(Line(Commit('b'), "\"flops\": 10"),
                                               {{"\"sizes\": {}", "\"sizes\": {\"batch\": 8}"}});
  EXPECT_THAT(DrawText(ToDocument(ReportOf(Line(Commit('a'), "\"flops\": 10") + at_8))),
              HasSubstr("10 -> 10          at the sizes of the file -> at batch = 8\n"));
  const char* const time = "\"flops\": 10, \"time_bound_seconds\": ";
  const HistoryReport report =
      ReportOf(Line(Commit('a'), absl::StrCat(time, "1000"), ", \"device\": \"h100-sxm, bf16\"") +
               Line(Commit('b'), absl::StrCat(time, "3000"), ", \"device\": \"a100-sxm, bf16\""));
  ASSERT_EQ(report.changes.size(), 1U);  // FLOPs are of any device
  EXPECT_THAT(DrawText(ToDocument(report)),
              AllOf(HasSubstr("on h100-sxm, bf16 -> a100-sxm, bf16\n"), Not(HasSubstr("%"))));
}

TEST(HistoryTest, ModelsAndQuantitiesThatAreAskedFor) {
  std::string text;
  for (const char* model : {"models/a.onnx", "models/b.onnx", "a.onnx"}) {
    absl::StrAppend(&text, Line(Commit('a'), "\"flops\": 1, \"training_flops\": 3", "", model),
                    Line(Commit('b'), "\"flops\": 2, \"training_flops\": 6", "", model));
  }
  EXPECT_EQ(ReportOf(text).changes.size(), 3U);  // training_flops follow from flops
  EXPECT_EQ(ReportOf(text, {"a.onnx", {}}).models, 2);
  EXPECT_EQ(ReportOf(text, {"models/*", {}}).models, 2);
  EXPECT_EQ(ReportOf(text, {"c*", {}}).models, 0);
  const HistoryReport training = ReportOf(text, {"", {FindRecordedQuantity("training_flops")}});
  ASSERT_EQ(training.changes.size(), 3U);
  EXPECT_EQ(training.changes[0].quantity->key, "training_flops");
  EXPECT_EQ(training.quantities.size(), 1U);
  EXPECT_THAT(DrawText(ToDocument(training)), HasSubstr("; no other change of these quantities"));
}

TEST(HistoryTest, BudgetsAreKeptWithTheirLines) {
  const std::string limit = ", \"limits\": {\"flops\": ";
  const HistoryReport report =
      ReportOf(Line(Commit('a'), "\"flops\": 1") + Line(Commit('b'), "\"flops\": 1", limit + "5}") +
               Line(Commit('c'), "\"flops\": 1", limit + "5}") +
               Line(Commit('d'), "\"flops\": 1", limit + "7}") + Line(Commit('e'), "\"flops\": 1"));
  const nlohmann::json json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["series"][0]["quantities"][0]["limits"],
            nlohmann::json::parse(R"([{"place": 1, "value": 5}, {"place": 3, "value": 7},
                                      {"place": 4, "value": null}])"));
}

// ---- names from strangers

TEST(HistoryTest, NamesBecomeNoMarkupAndNoCommand) {
  HistoryRecord record;
  record.date = "2026-11-26T06:00:00Z";
  record.commit = Commit('a');
  record.model = "</script><img src=x onerror=alert(1)>\x1b[31m\n::error::@admin.onnx";
  record.version = "=1+1";
  record.totals = {{FindRecordedQuantity("flops"), {Status::kExact, 1, ""}}};
  std::string text = ToJsonLine(record);
  record.commit = Commit('b');
  record.version = "\u202e<b>";
  record.totals[0].second = {Status::kOpen, 0, "=HYPERLINK(\"x\")<script>"};
  text += ToJsonLine(record);
  const HistoryReport report = ReportOf(text);
  ASSERT_EQ(report.changes.size(), 1U);
  const std::string table = DrawText(ToDocument(report)), csv = ToCsv(report),
                    html = ToHtml(report);
  for (const std::string& out :
       {table, csv, DrawMarkdown(ToDocument(report)), ToJson(report), html}) {
    EXPECT_THAT(out, Not(HasSubstr("\x1b"))) << out;
    EXPECT_THAT(out, Not(HasSubstr("\u202e"))) << out;
  }
  EXPECT_THAT(table, Not(HasSubstr("\n::error::")));
  EXPECT_THAT(csv, Not(HasSubstr(",=")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(DrawMarkdown(ToDocument(report)), Not(HasSubstr("@admin")));
}

// A page has its charts where it has no room for the table.
TEST(HistoryTest, APageIsBounded) {
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    std::string commit = absl::StrCat(100'000 + i);
    commit.resize(40, '0');
    absl::StrAppend(&text, Line(commit, absl::StrCat("\"flops\": ", i)));
  }
  const HistoryReport report = ReportOf(text);
  EXPECT_EQ(report.changes.size(), 2999U);
  const std::string html = ToHtml(report);
  EXPECT_LE(html.size(), kMaxPageBytes);
  EXPECT_THAT(html, HasSubstr("\"place\": 2999"));
  EXPECT_THAT(html, Not(HasSubstr("too_large\": true")));
}

// Charts of FLOPs are of use without those of bytes; a page without any is of none.
TEST(HistoryTest, TheMainQuantitiesStayWhereNotAllHaveRoom) {
  std::string text;
  for (int commit = 0; commit < 200; ++commit) {
    std::string totals;
    for (const Quantity* q : RecordedQuantities()) {
      absl::StrAppend(&totals, totals.empty() ? "" : ", ", "\"", q->key, "\": ", commit);
    }
    for (int model = 0; model < 8; ++model) {
      const std::string hash = absl::StrCat(absl::Hex(commit, absl::kZeroPad16), kHash);
      absl::StrAppend(&text, Line(hash.substr(0, 40), totals, "", absl::StrCat(model, ".onnx")));
    }
  }
  const std::string html = ToHtml(ReportOf(text));
  EXPECT_LE(html.size(), kMaxPageBytes);
  EXPECT_THAT(html, AllOf(HasSubstr("\"quantity\": \"flops\""), HasSubstr("\"left_out\": "),
                          Not(HasSubstr("\"quantity\": \"bytes_read\""))));
}

}  // namespace
}  // namespace onnxflops::history_test
