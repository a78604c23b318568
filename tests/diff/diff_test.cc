// What changed from one model to another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "src/diff/comment.h"
#include "src/diff/model_diff.h"
#include "src/onnxflops.h"
#include "tests/diff/diff_properties.h"
#include "tests/model_maker.h"

namespace onnxflops::diff_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// A network of blocks, each of them fc1 [hidden, wide], Relu, fc2 [wide, hidden].
struct Net {
  std::string batch = "2", input = "x", stem = "blocks";
  int blocks = 3;
  std::vector<int64_t> wide = {16, 16, 16, 16};
  std::string moved_to;   // where the head is; "": at the top
  std::string wrapper;    // around all of it: "/m"
  std::string inner;      // the module in fc1 that does its work; "": fc1 itself
  bool adds_own = false;  // fc1 does something itself in any case
};
constexpr int64_t kHidden = 8;

ModelMaker MakeNet(const Net& net) {
  ModelMaker make;
  make.Input(net.input, {net.batch, std::to_string(kHidden)});
  std::string x = net.input;
  const auto linear = [&](const std::string& path, const std::string& leaf, int64_t in,
                          int64_t out) {
    make.Weight(absl::StrCat(leaf, ".weight"), {in, out});
    const std::string y = absl::StrCat(leaf, "_out");
    make.Node(absl::StrCat(net.wrapper, path, "/MatMul"), "MatMul",
              {x, absl::StrCat(leaf, ".weight")}, {y});
    x = y;
  };
  for (int i = 0; i < net.blocks; ++i) {
    const std::string name = absl::StrCat(net.stem, ".", i);
    const std::string block = absl::StrCat("/", name);
    const int64_t wide = net.wide[static_cast<size_t>(i)];
    linear(absl::StrCat(block, "/fc1", net.inner), absl::StrCat(name, ".fc1"), kHidden, wide);
    if (net.adds_own) {
      make.Node(absl::StrCat(net.wrapper, block, "/fc1/Relu"), "Relu", {x}, {x + "_own"});
      x += "_own";
    }
    const std::string y = absl::StrCat(name, "_act");
    make.Node(absl::StrCat(net.wrapper, block, "/act/Relu"), "Relu", {x}, {y});
    x = y;
    linear(absl::StrCat(block, "/fc2"), absl::StrCat(name, ".fc2"), wide, kHidden);
  }
  linear(absl::StrCat(net.moved_to, "/head"), "head", kHidden, 4);
  make.Output(x);
  return make;
}

Report CountNet(const Net& net) { return MakeNet(net).Count().value(); }

// The modules that are not the same: status, path, change of MACs.
std::vector<std::string> Changes(const Diff& diff) {
  std::vector<std::string> changes;
  for (const ModuleDiff& m : diff.modules) {
    if (m.status == DiffStatus::kSame) continue;
    changes.push_back(
        absl::StrCat(NameOf(m.status), " ", m.path, " ", m.Change(QuantityOf("macs")).ToString()));
  }
  return changes;
}

Diff DiffNets(const Net& base, const Net& head) {
  const Report of_base = CountNet(base);
  return MakeDiff(&of_base, CountNet(head)).value();
}

// ---- known mutations

TEST(DiffTest, AModelIsNotDifferentFromItself) {
  const Diff diff = DiffNets({}, {});
  EXPECT_TRUE(diff.IsEmpty());
  EXPECT_THAT(Changes(diff), IsEmpty());
}

TEST(DiffTest, OneLayerMore) {
  Net head;
  head.blocks = 4;
  // Two rows, two matrices of 8 x 16.
  EXPECT_THAT(Changes(DiffNets({}, head)),
              ElementsAre("changed  512", "added blocks.3 512", "added blocks.3.fc1 256",
                          "added blocks.3.act 0", "added blocks.3.fc2 256"));
}

TEST(DiffTest, AWiderLayer) {
  Net head;
  head.wide[1] = 20;
  // 2 * 8 * 4 more in each matrix; the Relu has MACs in neither.
  EXPECT_THAT(Changes(DiffNets({}, head)),
              ElementsAre("changed  128", "changed blocks.1 128", "changed blocks.1.fc1 64",
                          "changed blocks.1.act 0", "changed blocks.1.fc2 64"));
}

TEST(DiffTest, ARenamedPartIsTheSame) {
  Net head;
  head.stem = "layers";
  const Diff diff = DiffNets({}, head);
  EXPECT_THAT(Changes(diff), IsEmpty());
  EXPECT_FALSE(diff.IsEmpty());
  const auto renamed = std::count_if(diff.modules.begin(), diff.modules.end(),
                                     [](const ModuleDiff& m) { return m.renamed(); });
  EXPECT_EQ(renamed, 3 * 4);
}

TEST(DiffTest, ARenamedAndChangedPartIsTheSamePart) {
  Net head;
  head.stem = "layers";
  head.wide[2] = 24;
  EXPECT_THAT(Changes(DiffNets({}, head)),
              ElementsAre("changed  256", "changed layers.2 256", "changed layers.2.fc1 128",
                          "changed layers.2.act 0", "changed layers.2.fc2 128"));
}

TEST(DiffTest, AMovedPart) {
  Net head;
  head.moved_to = "/blocks.0";
  EXPECT_THAT(
      Changes(DiffNets({}, head)),
      ElementsAre("changed blocks.0 64", "moved_here blocks.0.head 64", "moved_away head -64"));
}

TEST(DiffTest, ALevelAroundAPart) {
  Net head;
  head.moved_to = "/tail/inner";
  const Diff diff = DiffNets({}, head);
  EXPECT_THAT(Changes(diff), IsEmpty());
  std::vector<std::string> levels;
  for (const ModuleDiff& m : diff.modules) {
    if (m.new_level) levels.push_back(m.path);
  }
  EXPECT_THAT(levels, ElementsAre("tail", "tail.inner"));
}

// What one of the models does in a module itself and the other in its parts: changes add up.
TEST(DiffTest, PartsThatOnlyOneOfTheModelsHas) {
  Net parts;
  parts.inner = "/linear";
  for (const bool has_own : {false, true}) {
    parts.adds_own = has_own;
    const Diff to = DiffNets({}, parts), back = DiffNets(parts, {});
    ExpectPartsAddUp(to);
    ExpectPartsAddUp(back);
    EXPECT_EQ(Turned(to, -1), Turned(back, 1));
  }
}

// A prefix of all names is no new model: the parts have no other cost, and the level says so once.
TEST(DiffTest, AWrapperAroundTheModel) {
  Net wrapped;
  wrapped.wrapper = "/outer/m";
  const Diff gone = DiffNets(wrapped, {});
  EXPECT_THAT(Changes(gone), IsEmpty());
  EXPECT_FALSE(gone.IsEmpty());
  Net wider = wrapped;
  wider.wide[1] = 20;
  EXPECT_THAT(Changes(DiffNets({}, wider)),
              ElementsAre("changed  128", "changed outer 128", "changed outer.m 128",
                          "changed outer.m.blocks.1 128", "changed outer.m.blocks.1.fc1 64",
                          "changed outer.m.blocks.1.act 0", "changed outer.m.blocks.1.fc2 64"));
}

TEST(DiffTest, BatchMadeDynamic) {
  const Report base = CountNet({});
  Net head;
  head.batch = "batch";
  const Diff diff = MakeDiff(&base, CountNet(head)).value();
  const Expr change = diff.modules[0].Change(QuantityOf("macs"));
  EXPECT_EQ(change.ToString(), "800*batch - 1600");  // 3 * 2 * 8 * 16 + 8 * 4 a row; 2 rows before
  EXPECT_EQ(SignOf(change), DiffSign::kOpen);
  EXPECT_THAT(diff.head_symbols, ElementsAre("batch"));
  EXPECT_EQ(diff.inputs.size(), 1u);
}

TEST(DiffTest, ASymbolOfAnotherNameIsTheSame) {
  Net base, head;
  base.batch = "batch";
  head.batch = "s77";
  head.wide[0] = 17;
  const Diff diff = DiffNets(base, head);
  EXPECT_THAT(diff.renamed_symbols, ElementsAre(Pair("batch", "s77")));
  const Expr change = diff.modules[0].Change(QuantityOf("macs"));
  EXPECT_EQ(change.ToString(), "16*s77");
  EXPECT_EQ(SignOf(change), DiffSign::kMore);
}

TEST(DiffTest, SignsThatHoldForAllSizes) {
  const Expr n = Expr::Symbol("n", 1), m = Expr::Symbol("m", 1);
  const std::pair<Expr, DiffSign> cases[] = {
      {0, DiffSign::kZero},
      {3, DiffSign::kMore},
      {-3, DiffSign::kLess},
      {n, DiffSign::kMore},
      {n - 1, DiffSign::kNeverLess},
      {1 - n * m, DiffSign::kNeverMore},
      {n * m - n, DiffSign::kNeverLess},
      {n - m, DiffSign::kOpen},
      {Expr(-2) * n * n, DiffSign::kLess},
  };
  for (const auto& [change, sign] : cases) EXPECT_EQ(SignOf(change), sign) << change.ToString();
}

TEST(DiffTest, WithoutABaseEverythingIsNew) {
  const Diff diff = MakeDiff(nullptr, CountNet({})).value();
  EXPECT_FALSE(diff.IsEmpty());
  EXPECT_EQ(diff.modules[0].Change(QuantityOf("macs")), Expr(1600));
  EXPECT_EQ(diff.modules[0].status, DiffStatus::kNew);
}

TEST(DiffTest, WhatCannotBeCompared) {
  const Report whole = CountNet({});
  CountOptions options;
  options.module = "blocks.0";
  const Report part = MakeNet({}).Count(options).value();
  EXPECT_THAT(MakeDiff(&whole, part).status().message(), HasSubstr("(module)"));
  Report half = whole;
  half.causal = CausalCounting::kHalf;
  EXPECT_THAT(MakeDiff(&whole, half).status().message(), HasSubstr("(causal)"));
}

// ---- sizes

TEST(DiffModelsTest, ABindingOfOneOfTheModelsOnly) {
  Net head;
  head.batch = "batch";
  CountOptions options;
  options.bindings = {{"batch", 2}};
  const Model fixed = MakeNet({}).Load().value(), open = MakeNet(head).Load().value();
  for (const auto& [a, b] : {std::tie(fixed, open), std::tie(open, fixed)}) {
    const absl::StatusOr<Diff> diff = DiffModels(a, b, options);
    ASSERT_TRUE(diff.ok()) << diff.status();
    EXPECT_TRUE(diff->modules[0].Change(QuantityOf("flops")).is_zero());
  }
  options.bindings = {{"bacth", 2}};
  EXPECT_THAT(DiffModels(fixed, open, options).status().message(),
              HasSubstr("no symbol is named 'bacth'; did you mean batch?"));
}

TEST(DiffModelsTest, ASizeThatOneModelFixesIsThatOfBoth) {
  Net net;
  net.batch = "batch";
  const Model fixed = MakeNet({}).Load().value(), open = MakeNet(net).Load().value();
  CountOptions options;
  options.bindings = {{"batch", 8}};
  for (const bool open_in_head : {false, true}) {
    const Model &base = open_in_head ? fixed : open, &head = open_in_head ? open : fixed;
    const Diff equal = DiffModels(base, head, options).value();
    ASSERT_EQ(equal.made_equal.size(), 1u);
    EXPECT_TRUE(equal.unequal_sizes.empty());
    EXPECT_EQ(equal.made_equal[0].fixed, 2);
    EXPECT_EQ(equal.made_equal[0].size, 8);
    EXPECT_EQ(*equal.modules[0].base, *equal.modules[0].head);
    EXPECT_THAT(ToTable(equal, {}, {}), HasSubstr("compared at the size that one of the models"));
    const Diff asked = DiffModels(base, head, options, ComparedSizes::kAsAsked).value();
    ASSERT_EQ(asked.unequal_sizes.size(), 1u);
    EXPECT_TRUE(asked.made_equal.empty());
    EXPECT_EQ(asked.modules[0].base->macs, Expr(open_in_head ? 800 * 2 : 800 * 8));
    EXPECT_EQ(asked.modules[0].head->macs, Expr(open_in_head ? 800 * 8 : 800 * 2));
  }
}

// The report of the net on a device, as it was counted or as it is read back.
Report CountOn(Device device, Precision precision, bool read) {
  CountOptions options;
  options.on_device = DeviceChoice{std::move(device), precision};
  const Report report = MakeNet({}).Count(options).value();
  return read ? ReadReport(ToJson(report), "base.json").value() : report;
}

TEST(DiffTest, TimesOfUnequalDevicesAreNamed) {
  const Device t4 = FindDevice("t4").value(), h100 = FindDevice("h100-sxm").value();
  Device slow = t4;
  slow.bytes_per_second = 300'000'000'000;
  struct Case {
    const Device& head;
    Precision precision;
    const char* text;
  };
  const Case cases[] = {
      {t4, Precision::kFp16, ""},
      {h100, Precision::kBf16, "t4 with fp16 in the base, h100-sxm with bf16 in the head"},
      {t4, Precision::kInt8, "t4 with fp16 in the base, t4 with int8 in the head"},
      {slow, Precision::kFp16,
       "t4 with fp16 (65000 GFLOP/s, 320 GB/s) in the base, t4 with fp16 (65000 GFLOP/s, 300 GB/s) "
       "in the head"}};
  for (const auto& [head, precision, text] : cases) {
    for (const bool read : {false, true}) {
      const Report base = CountOn(t4, Precision::kFp16, read);
      const Diff diff = MakeDiff(&base, CountOn(head, precision, read)).value();
      EXPECT_EQ(diff.other_device ? Describe(*diff.other_device) : "", text);
      EXPECT_EQ(absl::StrContains(ToJson(diff), "\"other_device\""), diff.other_device.has_value());
      EXPECT_EQ(absl::StrContains(ToTable(diff, {}, {}), "compared on unequal devices: t4 with"),
                diff.other_device.has_value());
    }
  }
  const Report none = CountNet({});
  EXPECT_FALSE(MakeDiff(&none, CountOn(t4, Precision::kFp16, false))->other_device);
}

TEST(DiffModelsTest, AxesThatDifferAlikeAreOneText) {
  const std::pair<std::vector<OtherInput>, const char*> cases[] = {
      {{{"x", 2, 224, 336}}, "axis 2 of x is 224 in the base, 336 in the head"},
      {{{"x", 2, 224, 336}, {"x", 3, 224, 336}},
       "axes 2 and 3 of x are 224 in the base, 336 in the head"},
      {{{"x", 2, 224, 336}, {"x", 3, 320, 336}, {"y", std::nullopt, 2, 3}},
       "axis 2 of x is 224 in the base, 336 in the head; axis 3 of x is 320 in the base, 336 in "
       "the "
       "head; y has 2 dimensions in the base, 3 in the head"},
  };
  for (const auto& [others, text] : cases) EXPECT_EQ(Describe(others), text);
}

TEST(DiffModelsTest, AReportIsEvaluatedAtTheSizes) {
  Net net;
  net.batch = "batch";
  const Report base = ReadReport(ToJson(CountNet(net)), "base.json").value();
  CountOptions options;
  options.bindings = {{"batch", 5}};
  const Diff diff = DiffModels(base, MakeNet(net).Load().value(), options).value();
  EXPECT_EQ(*diff.modules[0].base, *diff.modules[0].head);
  EXPECT_EQ(diff.modules[0].base->macs, Expr(800 * 5));
  const Report at_two = MakeNet(net).Count({.bindings = {{"batch", 2}}}).value();
  EXPECT_THAT(DiffModels(at_two, MakeNet(net).Load().value(), options).status().message(),
              HasSubstr("batch was bound to 2 before counting"));
}

// ---- reports that are read back

// Also of a report that was written as JSON and read again.
TEST(DiffModelsTest, TheExactBackwardPassWhereBothHaveIt) {
  CountOptions options;
  options.training.emplace();
  const Report exact = MakeNet({}).Count(options).value();
  const Report rule = CountNet({});
  const Report read = ReadReport(ToJson(exact), "exact.json").value();
  ASSERT_NE(exact.totals.backward_flops, rule.totals.backward_flops);
  EXPECT_EQ(read.totals.backward_flops, exact.totals.backward_flops);
  for (const Quantity* q : {&kBackwardFlops, &kBackwardMacs, &kTrainingFlops}) {
    const Expr of_exact = exact.In(*q, exact.totals), by_rule = rule.In(*q, rule.totals);
    const Diff same = MakeDiff(&read, exact).value(), other = MakeDiff(&exact, rule).value();
    EXPECT_EQ(same.modules[0].BaseOf(*q), of_exact) << q->key;
    EXPECT_TRUE(same.modules[0].Change(*q).is_zero()) << q->key;
    // A page has each name once, with the exact figure.
    const std::string page = ToHtml(same, {.quantity = q});
    const std::vector<std::string> around =
        absl::StrSplit(page, absl::StrCat("[\"", q->key, "\", \"", q->title, "\""));
    EXPECT_EQ(around.size(), 2U) << q->key;
    EXPECT_THAT(page, HasSubstr(absl::StrCat("\"", of_exact.ToString(), "\""))) << q->key;
    EXPECT_EQ(other.modules[0].BaseOf(*q), by_rule) << q->key;
    EXPECT_TRUE(other.modules[0].Change(*q).is_zero()) << q->key;
  }
}

TEST(ReadReportTest, WhatIsNoReport) {
  const std::string good = ToJson(CountNet({}));
  const auto spoilt = [&](absl::string_view from, absl::string_view to) {
    std::string text = good;
    const size_t at = text.find(from.data(), 0, from.size());
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to.data(), to.size());
  };
  const std::pair<std::string, const char*> cases[] = {
      {"", "old.json: line 1, column 1: not JSON from here: "},
      {good.substr(0, 500), "not JSON from here: "},
      {"[]", "old.json: schema: the field is missing"},
      {R"({"schema": "onnxflops.ops/1"})",
       "old.json: schema: 'onnxflops.ops/1' is not onnxflops.report/1, which onnxflops count "
       "writes as JSON"},
      {R"({"schema": "onnxflops.reports/1", "reports": []})",
       "old.json: reports: it holds 0 reports, not one"},
      {spoilt("\"onnxflops\",", "\"thop\","),
       "old.json: convention: the report counts as 'thop'; only our own counts can be read back"},
      {spoilt("\"params\": 800", "\"params\": -800"),
       "old.json: params: it should be a whole number, 0 or more, or {\"expr\": \"...\", ...}"},
      {spoilt("\"expr\": \"3296\"", "\"expr\": \"3296 +\""),
       "old.json: flops: column 7: expected a number, a name or '(', found the end"},
      {spoilt("\"expr\": \"3296\"", "\"expr\": \"-3296\""), "old.json: flops: it is negative"},
      {spoilt("\"expr\": \"3296\"", "\"expr\": 3296"),
       "old.json: flops: it should be a whole number, 0 or more, or {\"expr\": \"...\", ...}"},
      {spoilt("\"expr\": \"3296\"", "\"expr\": \"3295\""),
       "old.json: flops: the total is 3295, the modules have 3296"},
      {spoilt("\"causal\":", "\"convention\": \"onnxflops\", \"causal\":"),
       "the key 'convention' is there twice in one object"},
      {spoilt("\"children\": [", "\"others\": ["), "old.json: children: the field is missing"},
      {spoilt("\"path\": \"blocks.0\"", "\"path\": \"blocks\""),
       "old.json: name: it should end the path"},
      {spoilt("\"lower_bound\": false", "\"lower_bound\": 0"),
       "old.json: lower_bound: it should be true or false"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(std::string(ReadReport(text, "old.json").status().message()),
                testing::HasSubstr(message));
  }
}

TEST(ReadReportTest, ModulesThatNestTooDeep) {
  std::string deep = ToJson(CountNet({}));
  const size_t at = deep.find("\"children\": [");
  const std::string module = deep.substr(deep.rfind("\"modules\": {", at) + 11);
  std::string text = deep.substr(0, at), end;
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&text, "\"children\": [",
                    R"({"name": "", "type": "", "path": "", "nodes": 0, "flops": {"expr": "0"},
"macs": {"expr": "0"}, "other_flops": {"expr": "0"}, "int_ops": {"expr": "0"}, "params": 0,
"param_bytes": 0, "bytes_read": {"expr": "0"}, "bytes_written": {"expr": "0"},
"foldable_flops": {"expr": "0"}, "activation_count": {"expr": "0"}, "bops": {"expr": "0"}, "lower_bound": false, )");
    absl::StrAppend(&end, "]}");
  }
  absl::StrAppend(&text, "\"children\": [", end, "]}, \"warnings\": []}");
  EXPECT_EQ(ReadReport(text, "old.json").status().message(),
            "old.json: modules: they nest too deep");
}

// A report of an older version, which did not count everything.
TEST(ReadReportTest, AQuantityThatIsNotThereIsUnknownAndNotZero) {
  std::string text = ToJson(CountNet({}));
  for (size_t at; (at = text.find(", \"activation_count\": {")) != std::string::npos;) {
    text.erase(at, text.find('}', at) + 1 - at);
  }
  for (size_t at; (at = text.find("\"activation_count\": {")) != std::string::npos;) {
    text.erase(at, text.find('\n', at) + 1 - at);
  }
  const absl::StatusOr<Report> old = ReadReport(text, "old.json");
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_FALSE(old->Has(QuantityOf("activation_count")));
  const Report head = CountNet({});
  const Diff diff = MakeDiff(&*old, head).value();
  EXPECT_TRUE(diff.IsEmpty());
  const auto known = std::count_if(std::begin(kQuantities), std::end(kQuantities),
                                   [&](const Quantity& q) { return head.Has(q); });
  EXPECT_EQ(diff.quantities.size(), known - 1);
}

// ---- writers

std::string Screen(const Diff& diff, DiffViewOptions options = {}) {
  return ToTable(diff, options, {.width = 80});
}

TEST(DiffWritersTest, EqualNeighboursShareARowAndTheRestIsOneRow) {
  Net head;
  head.wide = {20, 20, 16, 16};
  const std::string screen = Screen(DiffNets({}, head));
  EXPECT_THAT(screen, HasSubstr("blocks.0-1  2x"));
  EXPECT_THAT(screen, HasSubstr("[2 unchanged]"));
}

TEST(DiffWritersTest, EveryLineFitsAndWhatIsShownAddsUp) {
  const Report base = CountFile(ONNXFLOPS_SOURCE_DIR "/models/resnet50.onnx");
  const Report head = CountFile(ONNXFLOPS_SOURCE_DIR "/models/clip-vit-b-32.onnx");
  const std::string screen = Screen(MakeDiff(&base, head).value());
  for (absl::string_view line : absl::StrSplit(screen, '\n')) EXPECT_LE(line.size(), 80u) << line;
}

TEST(DiffWritersTest, BelowTheThreshold) {
  Net head;
  head.wide = {17, 40, 16, 16};
  const Diff diff = DiffNets({}, head);
  EXPECT_THAT(Screen(diff), HasSubstr("blocks.0 "));
  EXPECT_THAT(Screen(diff, {.threshold = 50'000}), HasSubstr("[1 below the threshold]"));
}

// Thousands of modules that all change otherwise, with names as long as they get: a comment has
// whole tables only, at most 60,000 characters, and still shows modules.
TEST(CommentTest, FoldsAndCutsNoTable) {
  const auto wide = [](int64_t more) {
    ModelMaker make;
    make.Input("x", {"2", "8"});
    for (int i = 0; i < 3000; ++i) {
      const std::string name =
          absl::StrCat("part|`<b>@", i / 100, std::string(900, 'n'), ".layer", i);
      const std::string weight = absl::StrCat(name, ".weight");
      make.Weight(weight, {8, 4 + i + more});
      make.Node(absl::StrCat("/", name, "/MatMul"), "MatMul", {"x", weight},
                {absl::StrCat("y", i)});
      make.Output(absl::StrCat("y", i));
    }
    return make.Count().value();
  };
  const Report base = wide(0), head = wide(1);
  const Diff diff = MakeDiff(&base, head).value();
  for (const int depth : {-1, 1, 64}) {
    const std::string comment = ToComment(diff, {.depth = depth});
    EXPECT_LE(comment.size(), kMaxCommentBytes) << depth;
    EXPECT_THAT(comment, HasSubstr("<summary>Modules</summary>")) << depth;
    size_t columns = 0;
    for (absl::string_view line : absl::StrSplit(comment, '\n')) {
      if (!absl::StartsWith(line, "|")) {
        columns = 0;
        continue;
      }
      EXPECT_TRUE(absl::EndsWith(line, "|")) << line;
      const std::vector<std::string> cells =
          absl::StrSplit(absl::StrReplaceAll(line, {{"\\|", ""}}), '|');
      const size_t n = cells.size();
      if (columns == 0) columns = n;
      EXPECT_EQ(n, columns) << line;
    }
  }
}

}  // namespace
}  // namespace onnxflops::diff_test
