// Profiles: read, nested, and joined with graphs. The expected joins were made by another program
// (tests/data/profiles.tar.xz).
#include "src/api/profile.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/api/load.h"
#include "tests/model_maker.h"

namespace onnxflops::profile_test {
namespace {

using Json = nlohmann::json;

constexpr char kWhole[] = ONNXFLOPS_PROFILES_DIR "/";
constexpr char kData[] = ONNXFLOPS_SOURCE_DIR "/tests/data/profile/";

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// One event of ONNX Runtime's.
std::string EventText(absl::string_view category, absl::string_view name, int64_t start, int64_t us,
                      int thread = 1, absl::string_view op = "Add",
                      absl::string_view shape = "[2]") {
  return absl::StrCat(R"({"cat":")", category, R"(","name":")", name, R"(","ts":)", start,
                      R"(,"dur":)", us, R"(,"tid":)", thread, R"(,"args":{"op_name":")", op,
                      R"(","node_index":"0","output_type_shape":[{"float":)", shape, "}]}}");
}
std::string NodeText(absl::string_view name, int64_t start, int64_t us, int thread = 1,
                     absl::string_view op = "Add", absl::string_view shape = "[2]") {
  return EventText("Node", absl::StrCat(name, "_kernel_time"), start, us, thread, op, shape);
}
std::string BodyText(int64_t start, int64_t us, int thread = 1) {
  return EventText("Session", "SequentialExecutor::Execute", start, us, thread);
}
std::string RunText(int64_t start, int64_t us, int thread = 1) {
  return EventText("Session", "model_run", start, us, thread);
}

absl::StatusOr<Profile> ReadEvents(const std::vector<std::string>& events) {
  return ReadProfileText(absl::StrCat("[", absl::StrJoin(events, ","), "]"), "p.json");
}

// "a 7 1" and, inside of the body of b, "b/c 2 3": name, nanoseconds, calls; of one run.
std::vector<std::string> Lines(const Profile& profile, int32_t run = 0) {
  std::set<std::string> lines;
  for (const ProfileKernel& kernel : profile.kernels) {
    std::string path = kernel.name;
    for (int32_t p = kernel.parent; p >= 0; p = profile.kernels[static_cast<size_t>(p)].parent) {
      path = absl::StrCat(profile.kernels[static_cast<size_t>(p)].name, "/", path);
    }
    for (const KernelSample& s : kernel.samples) {
      if (s.run == run) lines.insert(absl::StrCat(path, " ", s.ns, " ", s.calls, " ", s.bodies));
    }
  }
  return {lines.begin(), lines.end()};
}

using Strings = std::vector<std::string>;

TEST(ReadProfileTest, KernelsOfABodyAreTakenOutOfTheirLoop) {
  const auto profile = ReadEvents(
      {NodeText("a", 10, 5), NodeText("c", 20, 2), BodyText(20, 3), NodeText("c", 24, 4),
       BodyText(23, 6), NodeText("loop", 19, 11, 1, "Loop"), BodyText(10, 21), RunText(9, 25)});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(Lines(*profile), (Strings{"a 5000 1 0", "loop 5000 1 2", "loop/c 6000 2 0"}));
  EXPECT_EQ(profile->runs[0].wall_ns, 25'000);
  EXPECT_EQ(profile->runs[0].kernel_ns, 16'000);
}

TEST(ReadProfileTest, AKernelBesideALoopThatBeganWithItIsNotInside) {
  const auto profile =
      ReadEvents({NodeText("a", 10, 0), NodeText("c", 11, 2), BodyText(11, 3),
                  NodeText("loop", 10, 11, 1, "Loop"), BodyText(10, 21), RunText(9, 25)});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(Lines(*profile), (Strings{"a 0 1 0", "loop 9000 1 1", "loop/c 2000 1 0"}));
}

TEST(ReadProfileTest, RunsOfTwoThreadsAreToldApart) {
  const auto profile = ReadEvents({NodeText("a", 10, 5, 1), NodeText("a", 11, 7, 2),
                                   RunText(9, 25, 1), NodeText("b", 30, 3, 2), RunText(8, 30, 2)});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(Lines(*profile, 0), Strings{"a 5000 1 0"});
  EXPECT_EQ(Lines(*profile, 1), (Strings{"a 7000 1 0", "b 3000 1 0"}));
}

TEST(ReadProfileTest, AParallelExecutorHasKernelsOnOtherThreads) {
  const auto profile =
      ReadEvents({NodeText("a", 10, 5, 1), NodeText("b", 11, 7, 2),
                  EventText("Session", "ParallelExecutor::Execute", 10, 9), RunText(9, 11)});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(Lines(*profile), (Strings{"a 5000 1 0", "b 7000 1 0"}));
}

// What is hostile or broken is refused in one line, or is what it holds.
TEST(ReadProfileTest, WhatIsNoProfileIsRefused) {
  const std::string run = absl::StrCat(NodeText("a", 1, 2), ",", RunText(0, 5));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "holds nothing"},
      {"  ", "holds nothing"},
      {"hello", "is not a profile"},
      {"[]", "has no run"},
      {"{}", "has no run"},
      {"[1, 2]", "has no run"},
      {absl::StrCat("[", NodeText("a", 1, 2), "]"), "has no run"},
      {absl::StrCat("[", NodeText("a", 1, 2)), "ends in the middle of the first run"},
      {absl::StrCat("[", run, ",]"), "not JSON from here"},
      {R"([{"averageMs": 1, "averageMs": 99}])",
       "line 1, column 19: the key 'averageMs' is there twice in one object"},
      {"layerName;realTime (ms);layerName\n", "columns 1 and 3 both have the title 'layerName'"},
      {absl::StrCat("[", NodeText("a", 1, -2), ",", RunText(0, 5), "]"), "event 0, "},
      {absl::StrCat("[", NodeText("a", -1, 2), ",", RunText(0, 5), "]"), "it should be 0 or more"},
      {R"([{"cat":"Session","name":"model_run","ts":1}])", "it has no dur"},
      {R"([{"cat":"Session","name":"model_run","ts":1,"dur":1e300}])", "below 104 days"},
      {std::string(100, '['), "nest deeper than 32"},
      {absl::StrCat("[\"", std::string(2 << 20, 'a')), "a text of more than 1048576 bytes"},
      {absl::StrCat("[", std::string(2 << 20, ' ')), "a text of more than 1048576 bytes"},
      {"layerName;realTime (ms)\nconv;fast\n", "line 2: realTime (ms) of 'conv' is 'fast'"},
      {"layerName;realTime (ms)\nconv;-1\n", "it should be 0 or more"},
      {"layerName;realTime (ms)\n", "has no executed layer"},
  };
  for (const auto& [text, want] : cases) {
    const auto profile = ReadProfileText(text, "p\n.json");
    EXPECT_TRUE(absl::StrContains(profile.status().message(), want))
        << text.substr(0, 200) << ": " << profile.status();
    EXPECT_TRUE(absl::StartsWith(profile.status().message(), "p\\n.json: "));
  }
}

TEST(ReadProfileTest, AFileThatWasCutOffIsWhatItHas) {
  std::string text = absl::StrCat("[", NodeText("a", 1, 2), ",", RunText(0, 5), ",");
  const size_t whole = text.size();
  absl::StrAppend(&text, NodeText("a", 11, 2), ",", RunText(10, 5));
  for (size_t size = whole; size < text.size(); ++size) {
    const auto profile = ReadProfileText(text.substr(0, size), "p.json");
    ASSERT_TRUE(profile.ok()) << profile.status();
    EXPECT_EQ(profile->runs.size(), 1);
    EXPECT_EQ(profile->warnings.size(), 1);
  }
}

absl::StatusOr<ProfileReport> JoinFiles(const std::string& model, const std::string& profile,
                                        const std::string& optimized, int64_t warmup = 1) {
  const absl::StatusOr<Model> original = Load(model);
  if (!original.ok()) return original.status();
  const absl::StatusOr<Profile> read = ReadProfileText(ReadAll(profile), profile);
  if (!read.ok()) return read.status();
  ProfileOptions options;
  options.warmup = warmup;
  if (!optimized.empty()) options.optimized = *Load(optimized);
  return JoinProfile(*original, *read, options);
}

// Nodes of the model that have MACs are told by their figures.
void RequireJoin(const ProfileReport& report, const Json& join) {
  std::map<std::string, const Json*> expected;
  for (const Json& group : join["groups"]) {
    for (const Json& name : group["optimized"]) expected[name] = &group;
  }
  ASSERT_EQ(report.groups.size(), join["groups"].size());
  std::set<std::string> seen;
  for (const ProfileGroup& group : report.groups) {
    ASSERT_TRUE(expected.contains(group.kernels[0])) << group.kernels[0];
    const Json& want = *expected[group.kernels[0]];
    const std::set<std::string> names(group.kernels.begin(), group.kernels.end());
    EXPECT_EQ(names, want["optimized"].get<std::set<std::string>>());
    EXPECT_EQ(group.work.macs, want["macs"].get<int64_t>()) << group.kernels[0];
    int64_t microseconds = 0;
    for (const std::string& name : names) {
      microseconds += join["median_us_after_first_run"][name].get<int64_t>();
    }
    // The median of a sum need not be the sum of medians.
    if (names.size() == 1) {
      EXPECT_NEAR(static_cast<double>(group.time.median_ns),
                  static_cast<double>(1000 * microseconds), 500);
    }
    for (const std::string& node : group.nodes) {
      EXPECT_TRUE(seen.insert(node).second) << node << " is in two groups";
    }
  }
  std::set<std::string> all;
  for (const Json& group : join["groups"]) {
    for (const Json& node : group["original"]) all.insert(node.get<std::string>());
  }
  EXPECT_EQ(seen, all);
}

// All that is said of a run adds up.
void RequireSums(const ProfileReport& report) {
  ProfileWork groups, own;
  for (const ProfileGroup& group : report.groups) groups.Add(group.work);
  for (const ProfileModule& module : report.modules) own.Add(module.own);
  EXPECT_EQ(groups.ns, report.total.ns);
  EXPECT_EQ(groups.flops, report.total.flops);
  EXPECT_EQ(own.flops, report.total.flops);
  EXPECT_EQ(own.flops, report.modules[0].work.flops);
  EXPECT_EQ(report.total.flops + report.flops_without_kernel, report.counted_flops);
  EXPECT_EQ(report.total.macs + report.macs_without_kernel, report.counted_macs);
}

TEST(JoinProfileTest, JoinsAreThoseOfAnotherProgram) {
  for (const std::string name : {"clip_small.all.t1", "clip_small.none.t1", "resnet50.all.t2"}) {
    SCOPED_TRACE(name);
    const Json join = Json::parse(ReadAll(absl::StrCat(kWhole, name, ".join.json")));
    const auto report = JoinFiles(kWhole + join["original"].get<std::string>(),
                                  kWhole + join["profile"].get<std::string>(),
                                  kWhole + join["optimized"].get<std::string>());
    ASSERT_TRUE(report.ok()) << report.status();
    RequireJoin(*report, join);
    RequireSums(*report);
    EXPECT_EQ(report->runs, static_cast<int64_t>(join["runs"].size()));
    std::set<std::string> sizes;
    for (const auto& [symbol, size] : report->bindings) {
      sizes.insert(absl::StrCat(symbol, "=", size));
    }
    EXPECT_EQ(sizes, join["bindings"].get<std::set<std::string>>());
  }
}

TEST(JoinProfileTest, WhatAKernelDoesBehindItsProductIsItsOwn) {
  const auto report = JoinFiles(ONNXFLOPS_SOURCE_DIR "/models/resnet50.onnx",
                                absl::StrCat(kData, "resnet50.profile.json"),
                                absl::StrCat(kData, "resnet50.optimized.onnx"));
  ASSERT_TRUE(report.ok()) << report.status();
  for (const ProfileGroup& group : report->groups) {
    if (group.kernels[0] != "/layer1/layer1.1/conv3/Conv_output_0_nchwc") continue;
    EXPECT_EQ(group.nodes, (Strings{"/layer1/layer1.1/conv3/Conv", "/layer1/layer1.1/Add",
                                    "/layer1/layer1.1/relu_2/Relu"}));
  }
  RequireSums(*report);
}

// x by w, scaled and turned. The runtime has the scale in its product, and turns afterwards, which
// takes longer in this run.
TEST(JoinProfileTest, TheOperatorIsThatOfTheKernelWithTheMacs) {
  ModelMaker made, ran;
  made.Input("x", {"4", "8"}).Weight("w", {8, 2}).Weight("s", {1});
  made.Node("p", "MatMul", {"x", "w"}, {"p"}).Node("m", "Mul", {"p", "s"}, {"m"});
  made.Node("y", "Transpose", {"m"}, {"y"}).Output("y");
  ran.Input("x", {"4", "8"}).Weight("w", {8, 2}).Import("com.microsoft");
  ran.Node("a", "FusedMatMul", {"x", "w"}, {"q"}).node->set_domain("com.microsoft");
  ran.Node("b", "Transpose", {"q"}, {"y"}).Output("y");
  const absl::StatusOr<Model> original = made.Load();
  for (const bool turns_longer : {true, false}) {
    const auto profile = ReadEvents(
        {NodeText("a", 10, turns_longer ? 2 : 9, 1, "FusedMatMul", "[4,2]"),
         NodeText("b", 30, 5, 1, "Transpose", "[2,4]"), BodyText(10, 30), RunText(9, 40)});
    ASSERT_TRUE(original.ok() && profile.ok()) << original.status() << profile.status();
    ProfileOptions options;
    options.warmup = 0;
    options.optimized = *ran.Load();
    const auto report = JoinProfile(*original, *profile, options);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->groups.size(), 1);
    EXPECT_EQ(report->groups[0].kernels.size(), 2);
    EXPECT_EQ(report->groups[0].op, "FusedMatMul");
  }
}

// Nodes without names, of one operator, in the main graph, in a body and in both branches.
TEST(JoinProfileTest, LoopsAndBranchesHaveRealTrips) {
  for (const std::string optimized : {"", "control.optimized.onnx"}) {
    const auto report =
        JoinFiles(absl::StrCat(kData, "control.onnx"), absl::StrCat(kData, "control.profile.json"),
                  optimized.empty() ? "" : kData + optimized);
    ASSERT_TRUE(report.ok()) << report.status();
    RequireSums(*report);
    std::set<std::string> lines;
    for (const ProfileControl& c : report->control) {
      lines.insert(absl::StrCat(c.op, " ", c.bodies.median_ns, " ", c.counted, " ", c.taken, " ",
                                c.taken_count));
    }
    EXPECT_EQ(lines, (std::set<std::string>{"If 1  then then", "Loop 4 4  "}));
    std::multiset<std::string> products;
    for (const ProfileGroup& group : report->groups) {
      EXPECT_TRUE(group.joined()) << group.kernels[0];
      if (group.op == "MatMul") {
        products.insert(absl::StrCat(group.calls, " ", Int128ToString(group.work.macs)));
      }
    }
    EXPECT_EQ(products, (std::multiset<std::string>{"1 8192", "1 8192", "4 32768"}));
  }
}

TEST(JoinProfileTest, RunsWithOtherSizesThanTheLastAreLeftOut) {
  ModelMaker make;
  make.Input("x", {"batch", "4"}).Weight("w", {4, 8});
  make.Node("mm", "MatMul", {"x", "w"}, {"y"}).Output("y");
  std::vector<std::string> events;
  for (int run = 0; run < 6; ++run) {
    const int batch = run < 2 ? 2 : 3;
    events.push_back(
        NodeText("mm", 100 * run, 10 + run, 1, "MatMul", absl::StrCat("[", batch, ",8]")));
    events.push_back(RunText(100 * run, 20));
  }
  const auto profile = ReadEvents(events);
  ASSERT_TRUE(profile.ok()) << profile.status();
  const auto model = LoadFromBytes(make.proto.SerializeAsString());
  const auto report = JoinProfile(*model, *profile, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->other_sizes, 1);
  EXPECT_EQ(report->bindings, (Bindings{{"batch", 3}}));
  EXPECT_EQ(report->total.macs, 3 * 4 * 8);
  // Of 12, 13, 14 and 15 microseconds.
  EXPECT_EQ(report->groups[0].time.median_ns, 13'500);
  EXPECT_EQ(report->groups[0].time.most_ns, 15'000);
  EXPECT_EQ(report->median_run, 3);
  EXPECT_EQ(report->total.ns, 13'000);
  EXPECT_EQ(report->outside_ns, 7'000);
}

// Where each kernel is slow in another run, medians of kernels sum to less than any run takes.
TEST(JoinProfileTest, TimesAreThoseOfTheRunThatIsTheMedian) {
  ModelMaker make;
  make.Input("x", {"2", "4"}).Weight("w", {4, 8});
  make.Node("mm", "MatMul", {"x", "w"}, {"y"}).Node("relu", "Relu", {"y"}, {"z"}).Output("z");
  const int kTimes[][2] = {{5, 5}, {30, 1}, {1, 31}, {2, 31}};  // the first is the warm-up
  std::vector<std::string> events;
  for (int run = 0; run < 4; ++run) {
    const auto& [mm, relu] = kTimes[run];
    events.push_back(NodeText("mm", 100 * run, mm, 1, "MatMul", "[2,8]"));
    events.push_back(NodeText("relu", 100 * run + mm, relu, 1, "Relu", "[2,8]"));
    events.push_back(RunText(100 * run, mm + relu + 2));
  }
  const auto profile = ReadEvents(events);
  ASSERT_TRUE(profile.ok()) << profile.status();
  const auto model = LoadFromBytes(make.proto.SerializeAsString());
  const auto report = JoinProfile(*model, *profile, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->median_run, 2);
  EXPECT_EQ(report->groups[0].kernels, Strings{"relu"});
  EXPECT_EQ(report->groups[0].work.ns, 31'000);
  EXPECT_EQ(report->groups[1].work.ns, 1'000);
  EXPECT_EQ(report->run_ns(), report->wall->median_ns);
  EXPECT_THAT(DrawText(ToDocument(*report, {.by = GroupBy::kNode})),
              testing::HasSubstr("34.00 us"));
  RequireSums(*report);
}

// Files made by hand: see tests/data/profile/README.md.
TEST(JoinProfileTest, OtherRuntimesJoinByTheNamesOfLayers) {
  const std::string model = ONNXFLOPS_SOURCE_DIR "/models/resnet50.onnx";
  const auto tensorrt = JoinFiles(model, absl::StrCat(kData, "by_hand.tensorrt.json"), "");
  ASSERT_TRUE(tensorrt.ok()) << tensorrt.status();
  ASSERT_EQ(tensorrt->groups.size(), 5);
  EXPECT_EQ(tensorrt->groups[0].nodes, (Strings{"/conv1/Conv", "/relu/Relu"}));
  EXPECT_EQ(tensorrt->groups[0].work.ns, 100'000);
  EXPECT_EQ(tensorrt->groups[0].work.macs, 118'013'952);
  EXPECT_FALSE(tensorrt->groups[1].joined());  // the copy for it
  EXPECT_EQ(tensorrt->groups[4].nodes,
            (Strings{"/layer1/layer1.0/Add", "/layer1/layer1.0/relu_2/Relu"}));
  const auto openvino = JoinFiles(model, absl::StrCat(kData, "by_hand.openvino.csv"), "");
  ASSERT_TRUE(openvino.ok()) << openvino.status();
  ASSERT_EQ(openvino->groups.size(), 3);
  EXPECT_EQ(openvino->runs, 2);
  EXPECT_EQ(openvino->groups[0].work.ns, 500'000);  // of the faster of two
  EXPECT_EQ(openvino->groups[0].nodes, Strings{"/conv1/Conv"});
  EXPECT_FALSE(openvino->groups[2].joined());
}

// What sources of these tools write and the files above have not: other separators, a "]" in a
// name, and the status as benchmark_app in Python writes it.
TEST(JoinProfileTest, OtherWritersOfTheSameFormats) {
  Profile profile;
  profile.source = ProfileSource::kTensorRt;
  profile.kernels.push_back({.name = "fused"});
  const std::string layers =
      R"({"Layers": [{"Name": "fused", "Metadata": "[ONNX Layer: a[0]]\u001f[ONNX Layer: b][ONNX Layer: c]"}]})";
  ASSERT_TRUE(AddLayerInfo(layers, "l.json", &profile).ok());
  EXPECT_EQ(profile.kernels[0].parts, (Strings{"a[0]", "b", "c"}));
  const auto python = ReadProfileText(
      "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)\n"
      "x;Status.NOT_RUN;Parameter;;0.000;0.000\nc;Status.EXECUTED;Convolution;;0.250;0.250\n"
      "Total;;;;0.250;0.250\n\n",
      "o.csv");
  ASSERT_TRUE(python.ok()) << python.status();
  ASSERT_EQ(python->kernels.size(), 1);
  EXPECT_EQ(python->kernels[0].samples[0].ns, 250'000);
}

// The tree of a page: its root is the run, and rows sum to those that they are in.
void ExpectAllTimesAndFlops(const std::string& optimized) {
  const auto report = JoinFiles(ONNXFLOPS_SOURCE_DIR "/models/resnet50.onnx",
                                absl::StrCat(kData, "resnet50.profile.json"), optimized);
  ASSERT_TRUE(report.ok()) << report.status();
  const std::string page = ToHtml(*report);
  const size_t begin = page.find("data-kind=\"profile\">") + 20;
  const auto data =
      nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  const auto& tree = data["tree"];
  const auto& rows = tree["rows"];
  const auto figure = [&](size_t row, size_t quantity) {
    const size_t formula = tree["amounts"][rows[row][9].get<size_t>()][quantity];
    return std::stod(tree["formulas"][formula].get<std::string>()) * rows[row][4].get<double>();
  };
  EXPECT_EQ(figure(0, 0), static_cast<double>(report->run_ns()) * 1e12);
  EXPECT_EQ(figure(0, 1), static_cast<double>(report->counted_flops));
  EXPECT_EQ(figure(0, 2), static_cast<double>(report->counted_macs));
  for (size_t q = 0; q < tree["quantities"].size(); ++q) {
    for (size_t i = 0; i < rows.size(); ++i) {
      double sum = 0;
      const int depth = rows[i][0];
      size_t j = i + 1;
      for (; j < rows.size() && rows[j][0] > depth; ++j) {
        if (rows[j][0] == depth + 1) sum += figure(j, q);
      }
      if (j == i + 1) continue;
      EXPECT_DOUBLE_EQ(sum, figure(i, q) / rows[i][4].get<double>()) << i << " " << q;
    }
  }
}

TEST(JoinProfileTest, PageHasAllTimesAndFlops) {
  ExpectAllTimesAndFlops(absl::StrCat(kData, "resnet50.optimized.onnx"));
  ExpectAllTimesAndFlops("");  // most nodes have no kernel then
}

std::string CounterLine(absl::string_view kernel, absl::string_view metric, absl::string_view value,
                        absl::string_view unit = "inst") {
  return absl::StrCat("\"0\",\"", kernel, "\",\"", metric, "\",\"", unit, "\",\"", value, "\"\n");
}

constexpr char kNcuTitles[] = R"("ID","Kernel Name","Metric Name","Metric Unit","Metric Value")"
                              "\n";
constexpr char kInstruction[] = "smsp__sass_thread_inst_executed_op_";

TEST(CountersTest, FlopsFollowTheFormulasOfTheProfilers) {
  const std::string ncu = absl::StrCat(
      "==PROF== Connected\n", kNcuTitles,
      CounterLine("a, b", absl::StrCat(kInstruction, "fadd_pred_on.sum"), "1,000"),
      CounterLine("a, b", absl::StrCat(kInstruction, "hmul_pred_on.sum"), "200"),
      CounterLine("a, b", absl::StrCat(kInstruction, "dfma_pred_on.sum"), "30"),
      CounterLine("a, b", absl::StrCat(kInstruction, "ffma_pred_on.avg"), "7"),
      CounterLine("c", "sm__ops_path_tensor_src_bf16_dst_fp32.sum", "5000", ""),
      CounterLine("c", "sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_on.sum", "9", ""),
      CounterLine("c", "sm__ops_path_tensor_src_int8.sum", "9", ""));
  const auto counters = ReadCountersText(ncu, "n.csv");
  ASSERT_TRUE(counters.ok()) << counters.status();
  ASSERT_EQ(counters->kernels.size(), 2);
  EXPECT_EQ(counters->kernels[0].name, "a, b");
  EXPECT_EQ(counters->kernels[0].flops, 1000 + 200 + 2 * 30);
  EXPECT_EQ(counters->flops, 1260 + 5000);
  const auto amd = ReadCountersText(
      "Kernel_Name,SQ_INSTS_VALU_ADD_F32,SQ_INSTS_VALU_FMA_F16,SQ_INSTS_VALU_MFMA_MOPS_BF16,"
      "SQ_WAVES,SQ_INSTS_VALU_MFMA_MOPS_F8,SQ_INSTS_VALU_MFMA_MOPS_I8\n"
      "gemm,3,2,5,77,7,9\ngemm,1,0,0,77,0,9\n",
      "r.csv");
  ASSERT_TRUE(amd.ok()) << amd.status();
  EXPECT_EQ(amd->source, "rocprof");
  EXPECT_EQ(amd->flops, 64 * 4 + 2 * 64 * 2 + 512 * (5 + 7));
}

TEST(CountersTest, WhatCannotBeCountedIsRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "has no column of kernel names"},
      {kNcuTitles, "has no counter of FLOPs"},
      {absl::StrCat(kNcuTitles, CounterLine("c", "sm__inst_executed_pipe_tensor.sum", "5")),
       "FLOPs per instruction of a tensor core differ by its variant"},
      {"Kernel Name,sm__inst_executed_pipe_tensor_op_hmma.sum\n", "line 1: "},
      {absl::StrCat(kNcuTitles,
                    CounterLine("c", absl::StrCat(kInstruction, "fadd_pred_on.sum"), "many")),
       "line 2: a counter of 'c' is 'many', not a number"},
      {absl::StrCat(kNcuTitles,
                    CounterLine("c", absl::StrCat(kInstruction, "fadd_pred_on.sum"), "-5")),
       "not a number from 0"},
      {absl::StrCat(kNcuTitles,
                    CounterLine("c", absl::StrCat(kInstruction, "fadd_pred_on.sum"), "5", "Kinst")),
       "ncu does with print-units base"},
      {std::string(2 << 20, '"'), "a record of more than"},
  };
  for (const auto& [text, want] : cases) {
    const auto counters = ReadCountersText(text, "n.csv");
    EXPECT_TRUE(absl::StrContains(counters.status().message(), want)) << counters.status();
  }
}

TEST(CountersTest, MeasuredAndCountedAreNeverOneFigure) {
  ProfileReport report;
  for (const auto& [name, flops] : {std::pair("a", 100), std::pair("b", 50)}) {
    ProfileGroup& group = report.groups.emplace_back();
    group.kernels = {name};
    group.nodes = {absl::StrCat("node_", name)};
    group.work.flops = flops;
    report.total.Add(group.work);
  }
  Counters counters;
  counters.kernels = {{"a", 240}, {"volta_sgemm", 60}};
  counters.flops = 300;
  AddCounters(counters, 2, &report);
  EXPECT_EQ(report.counters->measured, 150);
  EXPECT_EQ(report.counters->measured_to_counted, 1);
  EXPECT_EQ(report.counters->hybrid_measured, 120);
  EXPECT_EQ(report.counters->hybrid_counted, 50);
  EXPECT_EQ(report.counters->kernels[0].group, 0);
  EXPECT_EQ(report.counters->kernels[1].group, -1);
}

}  // namespace
}  // namespace onnxflops::profile_test
