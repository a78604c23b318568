// Pages: what stands in them is data, adds up, and has room. tests/web/page_test.js opens them in a
// browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/limits.h"
#include "src/base/sha256.h"
#include "src/onnxflops.h"
#include "src/render/html_page.h"

namespace onnxflops::html_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

std::string Between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

Json DataOf(const std::string& page) {
  return Json::parse(Between(page, "data-kind=\"count\">", "</script>"));
}

Report CountFile(const std::string& name) {
  absl::StatusOr<Model> model = Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", name));
  EXPECT_TRUE(model.ok()) << model.status();
  absl::StatusOr<Report> report = Count(*model, {.node_rows = true});
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

// A model with so many modules, each of other FLOPs, in two levels.
Report MakeReport(int groups, int each, const std::string& name) {
  Report report;
  Expr total;
  report.modules.emplace_back();
  for (int g = 0; g < groups; ++g) {
    const size_t group = report.modules.size();
    Expr sum;
    report.modules.push_back({.path = absl::StrCat(name, "g", g), .parent = 0, .depth = 1});
    for (int m = 0; m < each; ++m) {
      auto amounts = std::make_shared<Amounts>();
      amounts->flops = Expr(int64_t{1'000'000'007} * (g * each + m + 1));
      sum += amounts->flops;
      report.modules.push_back({.path = absl::StrCat(report.modules[group].path, ".m", m * m),
                                .name_begin = report.modules[group].path.size() + 1,
                                .type = "Linear",
                                .parent = static_cast<int32_t>(group),
                                .depth = 2,
                                .end = static_cast<int32_t>(report.modules.size()) + 1,
                                .amounts = amounts});
    }
    auto amounts = std::make_shared<Amounts>();
    amounts->flops = sum;
    report.modules[group].amounts = amounts;
    report.modules[group].end = static_cast<int32_t>(report.modules.size());
    total += sum;
  }
  auto amounts = std::make_shared<Amounts>();
  amounts->flops = total;
  report.modules[0].amounts = amounts;
  report.modules[0].end = static_cast<int32_t>(report.modules.size());
  report.totals.flops = total;
  return report;
}

// The tree of a page, read again: formulas of FLOPs by path, where a row of several is each of
// them.
class PageTree {
 public:
  explicit PageTree(const Json& data) : tree_(data["tree"]) { Read(0, ""); }

  const std::map<std::string, std::string>& modules() const { return modules_; }
  // Rows whose FLOPs are not those of the rows in them.
  int faults() const { return faults_; }

 private:
  std::string Flops(const Json& row) const {
    return tree_["formulas"][tree_["amounts"][row[9].get<size_t>()][0].get<size_t>()];
  }

  // The names of a row: "m.0" to "m.3".
  static std::vector<std::string> Names(const Json& row) {
    const std::string first = row[2];
    if (row[4] == 1) return {first};
    const std::string last = row[3];
    for (size_t begin = 0; begin < first.size(); ++begin) {
      size_t end = begin;
      while (end < first.size() && absl::ascii_isdigit(first[end])) ++end;
      if (end == begin) continue;
      const int64_t number = std::stoll(first.substr(begin, end - begin));
      const auto name = [&](int64_t i) {
        return absl::StrCat(first.substr(0, begin), number + i, first.substr(end));
      };
      if (name(row[4].get<int64_t>() - 1) != last) continue;
      std::vector<std::string> names;
      for (int64_t i = 0; i < row[4]; ++i) names.push_back(name(i));
      return names;
    }
    return {};
  }

  // Reads the row at `i` and those in it, as often as they stand for modules; returns the next row.
  size_t Read(size_t i, const std::string& parent) {
    const Json& row = tree_["rows"][i];
    size_t next = i + 1;
    for (const std::string& name : Names(row)) {
      const std::string path = absl::StrCat(parent, parent.empty() ? "" : ".", name);
      if (row[1] < 2) modules_[path] = Flops(row);
      Expr sum;
      for (next = i + 1; next < tree_["rows"].size() && tree_["rows"][next][0] > row[0];) {
        sum += *ParseExpr(Flops(tree_["rows"][next])) * tree_["rows"][next][4].get<int64_t>();
        next = Read(next, path);
      }
      if (next > i + 1 && !(sum == *ParseExpr(Flops(row)))) ++faults_;
    }
    return next;
  }

  const Json tree_;
  std::map<std::string, std::string> modules_;
  int faults_ = 0;
};

TEST(HtmlTest, OnlyItsOwnStyleAndScriptMayRun) {
  const std::string page = report::HtmlPage("clip.onnx", "check", "{}");
  for (const char* tag : {"style", "script"}) {
    Sha256 hash;
    hash.Add(Between(page, absl::StrCat("<", tag, ">"), absl::StrCat("</", tag, ">")));
    EXPECT_THAT(
        page, HasSubstr(absl::StrCat(tag, "-src 'sha256-",
                                     absl::Base64Escape(absl::HexStringToBytes(hash.Hex())), "'")));
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("innerHTML")));
}

TEST(HtmlTest, NamesAreData) {
  const std::string hostile = "</script><img src=x onerror=alert(1)><!--\u202e";
  Report report = MakeReport(2, 2, hostile);
  report.model.path = hostile;
  report.warnings = {hostile};
  const std::string page = ToHtml(report, {});
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_THAT(page, Not(HasSubstr("\u202e")));
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(page, "</script>")).size(), 3);
  EXPECT_EQ(DataOf(page)["report"]["warnings"][0], hostile);
  EXPECT_EQ(PageTree(DataOf(page)).modules().count(hostile + "g0"), 1);
}

TEST(HtmlTest, HasEveryModuleWithItsFormula) {
  for (const char* name : {"clip-vit-b-32.onnx", "gpt2.onnx", "lstm.onnx", "maskrcnn-r50.onnx"}) {
    const Report report = CountFile(name);
    const std::string page = ToHtml(report, {});
    const PageTree tree(DataOf(page));
    std::map<std::string, std::string> modules;
    for (const Module& m : report.modules) modules[m.path] = m.amounts->flops.ToString();
    EXPECT_EQ(tree.modules(), modules) << name;
    EXPECT_EQ(tree.faults(), 0) << name;
    EXPECT_EQ(ToHtml(report, {}), page) << name;
  }
}

// Of a row of the tree: the text of its quantity.
std::string TextOf(const Json& tree, const Json& row, absl::string_view quantity) {
  size_t q = 0;
  while (tree["quantities"][q][0] != std::string(quantity)) ++q;
  return tree["formulas"][tree["amounts"][row[9].get<size_t>()][q].get<size_t>()];
}

TEST(HtmlTest, OperatorsHaveTheirParameters) {
  const Report report = CountFile("resnet50.onnx");
  const Json tree = DataOf(ToHtml(report, {}))["tree"];
  std::vector<int64_t> times = {1};
  int64_t all = 0, first_conv = 0;
  for (const Json& row : tree["rows"]) {
    const auto depth = row[0].get<size_t>();
    times.resize(depth + 1);
    times[depth] = (depth == 0 ? 1 : times[depth - 1]) * row[4].get<int64_t>();
    if (row[1] != 2) continue;
    const int64_t params = std::stoll(TextOf(tree, row, "params"));
    if (first_conv == 0) first_conv = params;
    all += params * times[depth];
  }
  EXPECT_EQ(first_conv, 64 * 3 * 7 * 7 + 64);  // conv1, with the bias that its norm was folded to
  EXPECT_EQ(Expr(all), report.totals.params);
}

// A node has no weights that a module elsewhere owns: GPT-2's embeddings are used once more at its
// end.
TEST(HtmlTest, OperatorsHaveAtMostTheParametersOfTheirModule) {
  for (const char* name : {"gpt2.onnx", "clip-vit-b-32.onnx", "lstm.onnx", "t5-small.onnx"}) {
    const Json tree = DataOf(ToHtml(CountFile(name), {}))["tree"];
    std::vector<int64_t> left;  // by depth: what the module has beyond its operators
    for (const Json& row : tree["rows"]) {
      const auto depth = row[0].get<size_t>();
      const int64_t params = std::stoll(TextOf(tree, row, "params"));
      left.resize(depth);
      left.push_back(params);
      if (row[1] != 2) continue;
      left[depth - 1] -= params;
      EXPECT_GE(left[depth - 1], 0) << name << " " << row.dump();
    }
  }
}

TEST(HtmlTest, LongTotalsAreWhole) {
  const Report report = CountFile("maskrcnn-r50.onnx");
  const Json data = DataOf(ToHtml(report, {}));
  EXPECT_GT(report.totals.flops.ToString().size(), kMaxPageText);
  EXPECT_EQ(data["long_totals"]["flops"], report.totals.flops.ToString());
  EXPECT_FALSE(data["long_totals"].contains("params"));
}

TEST(HtmlTest, SaysWhatMadeIt) {
  const std::string page = ToHtml(MakeReport(2, 2, ""), {});
  EXPECT_EQ(Between(page, "<footer>", "</footer>"), "onnxflops count, version " ONNXFLOPS_VERSION);
}

TEST(HtmlTest, TheBaseHasItsOwnNames) {
  absl::StatusOr<Diff> diff = MakeDiff(MakeReport(2, 2, "old"), MakeReport(2, 2, "new"));
  ASSERT_TRUE(diff.ok()) << diff.status();
  const std::string page = ToHtml(*diff, DiffViewOptions());
  const Json data = Json::parse(Between(page, "data-kind=\"diff\">", "</script>"));
  std::map<std::string, std::string> names;
  for (const Json& row : data["tree"]["rows"]) {
    if (row.size() > 11) names[row[2]] = row[11];
  }
  EXPECT_EQ(names, (std::map<std::string, std::string>{{"newg0", "oldg0"}, {"newg1", "oldg1"}}));
  EXPECT_EQ(data["modules_in_words"], "2 modules renamed");
}

TEST(HtmlTest, WhatIsJoinedHasTheTypeOfMostOfIt) {
  Report report = MakeReport(100, 120, "");
  for (Module& m : report.modules) m.type = m.depth == 2 ? "Linear" : "Sequential";
  const Json tree = DataOf(ToHtml(report, {}))["tree"];
  int others = 0;
  for (const Json& row : tree["rows"]) {
    if (row[1] != 3) continue;
    ++others;
    EXPECT_EQ(tree["types"][row[5].get<size_t>()], row[0] == 2 ? "Linear" : "Sequential");
  }
  EXPECT_GT(others, 0);
}

TEST(HtmlTest, JoinsWhatHasNoRoom) {
  const std::string page = ToHtml(MakeReport(200, 100, ""), {});
  EXPECT_LT(page.size(), kMaxPageBytes);
  const Json data = DataOf(page);
  EXPECT_GT(data["tree"]["rows"].size(), 4'000);
  EXPECT_EQ(PageTree(data).faults(), 0);
  int64_t rows = data["tree"]["rows_joined"];
  for (const Json& row : data["tree"]["rows"]) rows += row[1] == 3 ? 0 : 1;
  EXPECT_EQ(rows, 200 * 101 + 1);
}

TEST(HtmlTest, CutsLongTexts) {
  const std::string page = ToHtml(MakeReport(2, 1, std::string(1 << 20, 'x')), {});
  EXPECT_LT(page.size(), 200'000);
  const std::string long_text = absl::StrCat("\"", std::string(kMaxPageBytes, 'x'), "\"");
  EXPECT_THAT(report::HtmlPage("", "check", long_text), HasSubstr("{\"too_large\": true}"));
}

TEST(HtmlTest, FoldsListsAndTexts) {
  const Json small = {{"a", {1, 2, 3}}, {"b", "x, \"y\" [z"}};
  EXPECT_EQ(report::FoldJson(small.dump(2), 1000), small.dump(2));
  EXPECT_EQ(report::FoldJson(small.dump(8), 50), small.dump());
  Json large = {{"note", std::string(kMaxPageText, '"') + "\u00e9\u4e2d"},
                {"empty", Json::array()}};
  for (int i = 0; i < 5000; ++i) large["list"].push_back({{"i", i}, {"inner", {{i, "]"}, {}, i}}});
  const std::string folded = report::FoldJson(large.dump(), 40'000);
  EXPECT_LE(folded.size(), 40'000);
  EXPECT_GT(folded.size(), 15'000);
  const Json again = Json::parse(folded);
  const size_t kept = again["list"].size();
  EXPECT_EQ(again["left_out"].get<size_t>(), 5000 - kept);
  for (size_t i = 0; i < kept; ++i) EXPECT_EQ(again["list"][i], large["list"][i]);
  EXPECT_LT(again["note"].get<std::string>().size(), kMaxPageText);
  EXPECT_EQ(again["empty"], Json::array());
  const Json long_list(std::vector<int>(kMaxPageBytes, 7));
  const std::string page =
      report::FoldedHtmlPage("m", "check", absl::StrCat("{\"rules\": ", long_list.dump(), "}"));
  EXPECT_LE(page.size(), kMaxPageBytes);
  EXPECT_THAT(page, HasSubstr("{\"left_out\":"));
}

}  // namespace
}  // namespace onnxflops::html_test
