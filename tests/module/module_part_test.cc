// Parts of a model: that they count what their modules count in the whole, which modules a pattern
// may have meant, and up to which limit calls of functions are opened.
#include "src/module/module_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/module/attribution.h"
#include "src/onnxflops.h"
#include "tests/model_maker.h"

namespace onnxflops::module_part_test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

absl::StatusOr<Report> CountFile(const std::string& name, const CountOptions& options = {}) {
  absl::StatusOr<Model> model = Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", name, ".onnx"));
  if (!model.ok()) return model.status();
  return Count(*model, options);
}

void ExpectPartIsTheModule(const std::string& name, const Module& module) {
  const absl::StatusOr<Report> part = CountFile(name, {.module = module.path});
  ASSERT_TRUE(part.ok()) << part.status();
  for (const Quantity& q : kQuantities) {
    EXPECT_EQ(part->totals.*q.value, (*module.amounts).*q.value) << module.path << " " << q.key;
    Expr by_op = 0;
    if (q.of == Quantity::Of::kWeights) continue;
    for (const OpRow& row : part->by_op) by_op += row.*q.value;
    EXPECT_EQ(by_op, (*module.amounts).*q.value) << module.path << " " << q.key;
  }
  EXPECT_EQ(part->modules[0].path, module.path);
  EXPECT_EQ(part->modules[0].parent, -1);
  EXPECT_EQ(part->modules[0].depth, 0);
  EXPECT_EQ(part->modules.size(), static_cast<size_t>(part->modules[0].end));
  EXPECT_EQ(part->coverage.nodes,
            part->coverage.counted + part->coverage.free + part->coverage.unknown);
  EXPECT_EQ(part->coverage.nodes, module.nodes) << module.path;
}

// Every seventh module of real exports, of both exporters.
TEST(ModulePartTest, AModuleByItselfCountsWhatItCountsInTheModel) {
  for (const char* name : {"clip-vit-b-32", "bert-base", "resnet50", "clip-vit-l-14-336.ts17"}) {
    SCOPED_TRACE(name);
    const absl::StatusOr<Report> whole = CountFile(name);
    ASSERT_TRUE(whole.ok()) << whole.status();
    for (size_t i = 1; i < whole->modules.size(); i += whole->modules.size() / 12 + 1) {
      if (!whole->modules[i].own) ExpectPartIsTheModule(name, whole->modules[i]);
    }
  }
}

constexpr char kAttentions[] = "*.layer.?.attention";  // of ten of bert-base's twelve layers

bool IsOneOfTheAttentions(const Module& m) {
  for (int layer = 0; layer < 10; ++layer) {
    if (absl::EndsWith(m.path, absl::StrCat(".layer.", layer, ".attention"))) return true;
  }
  return false;
}

// Patterns are added up and left out, and the end of a path is enough: by the rows of the whole.
TEST(ModulePartTest, PatternsAreJoinedAndLeftOut) {
  const absl::StatusOr<Report> whole = CountFile("clip-vit-b-32");
  ASSERT_TRUE(whole.ok()) << whole.status();
  const auto macs = [&](const std::string& module) {
    const absl::StatusOr<Report> part = CountFile("clip-vit-b-32", {.module = module});
    EXPECT_TRUE(part.ok()) << module << part.status();
    return part.ok() ? part->totals.macs : Expr(0);
  };
  const Expr visual = macs("visual"), stem = macs("visual.conv1");
  EXPECT_NE(stem, Expr(0));
  EXPECT_EQ(macs("visual, !visual.conv1"), visual - stem);
  EXPECT_EQ(macs("visual,!conv1"), visual - stem);
  EXPECT_EQ(macs("!visual"), whole->totals.macs - visual);
  EXPECT_EQ(macs("visual.conv1,visual.transformer"), stem + macs("visual.transformer"));
  EXPECT_EQ(macs("visual,visual.conv1"), visual);
  for (const char* nothing : {",", "!", "visual,!"}) {
    EXPECT_FALSE(CountFile("clip-vit-b-32", {.module = nothing}).ok()) << nothing;
  }
  EXPECT_THAT(CountFile("clip-vit-b-32", {.module = "visual,!visual"}).status().message(),
              HasSubstr("no module is left of 'visual,!visual'"));
}

// Several modules stand under a row that holds them, each with all that is inside of it.
TEST(ModulePartTest, SeveralModulesAreAddedUp) {
  const absl::StatusOr<Report> whole = CountFile("bert-base");
  ASSERT_TRUE(whole.ok()) << whole.status();
  const absl::StatusOr<Report> part = CountFile("bert-base", {.module = kAttentions});
  ASSERT_TRUE(part.ok()) << part.status();
  Amounts sum;
  int64_t nodes = 0;
  std::vector<std::string> paths, shown;
  for (const Module& m : whole->modules) {
    if (!IsOneOfTheAttentions(m)) continue;
    sum.Add(*m.amounts);
    nodes += m.nodes;
    paths.push_back(m.path);
  }
  for (const Module& m : part->modules) {
    if (m.depth == 1) shown.push_back(m.path);
  }
  ASSERT_EQ(paths.size(), 10U);
  EXPECT_EQ(shown, paths);
  EXPECT_EQ(*part->modules[0].amounts, sum);
  EXPECT_EQ(part->modules[0].nodes, nodes);
}

TEST(ModulePartTest, SeveralModulesAreATreeUnderTheirPattern) {
  const absl::StatusOr<Report> part = CountFile("bert-base", {.module = kAttentions});
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->modules[0].path, kAttentions);
  EXPECT_EQ(part->modules[0].kind, -1);
  EXPECT_EQ(part->modules[0].end, static_cast<int32_t>(part->modules.size()));
  for (size_t i = 1; i < part->modules.size(); ++i) {
    const Module& m = part->modules[i];
    const Module& parent = part->modules[static_cast<size_t>(m.parent)];
    EXPECT_EQ(m.depth, parent.depth + 1);
    EXPECT_TRUE(m.end <= parent.end && m.parent < static_cast<int32_t>(i));
    EXPECT_GT(m.end, static_cast<int32_t>(i));
    if (m.depth != 1) continue;
    EXPECT_EQ(m.parent, 0);
    EXPECT_EQ(m.name(), m.path);
  }
}

// The model itself is no module of it.
TEST(ModulePartTest, APatternForAllHoldsWhatIsInTheModel) {
  ModelMaker make;
  make.Input("x", {"4"});
  make.Node("/a/b/Relu", "Relu", {"x"}, {"1"}).Output("1");
  make.Node("/c/Relu", "Relu", {"x"}, {"2"}).Output("2");
  make.Node("Relu_3", "Relu", {"x"}, {"3"}).Output("3");
  const absl::StatusOr<Report> report = make.Count({.module = "*"});
  ASSERT_TRUE(report.ok()) << report.status();
  std::vector<std::string> rows;
  for (const Module& m : report->modules) {
    rows.push_back(absl::StrCat(m.path, " ", m.depth, " ", m.amounts->flops.ToString()));
  }
  EXPECT_THAT(rows, ElementsAre("* 0 12", "a 1 4", "a.b 2 4", "c 1 4", "(outside any module) 1 4"));
}

// ---- the tree

void ExpectHoldsTogether(const Report& report) {
  const std::vector<Module>& modules = report.modules;
  std::vector<int64_t> nodes(modules.size());
  std::vector<bool> has_own(modules.size());
  for (size_t i = modules.size(); i-- > 1;) {
    const Module& m = modules[i];
    const auto at = static_cast<size_t>(m.parent);
    const Module& parent = modules[at];
    SCOPED_TRACE(m.path);
    ASSERT_LT(at, i);
    EXPECT_TRUE(m.end > static_cast<int32_t>(i) && m.end <= parent.end);
    EXPECT_EQ(m.depth, parent.depth + 1);
    EXPECT_EQ(m.path, parent.path.empty() ? m.name() : absl::StrCat(parent.path, ".", m.name()));
    const bool outside = m.name() == "(outside any module)";
    EXPECT_EQ(m.own, outside || m.name() == "(own)" || m.name() == "(shared)");
    EXPECT_TRUE(!outside || m.parent == 0);
    nodes[at] += m.nodes;
    if (m.own && m.name() != "(shared)") has_own[at] = true;
    EXPECT_TRUE(!m.own || m.end == static_cast<int32_t>(i) + 1);
    const Module& same = modules[static_cast<size_t>(m.kind)];
    EXPECT_EQ(same.kind, m.kind);
    EXPECT_EQ(same.type, m.type);
    EXPECT_EQ(same.amounts->flops, m.amounts->flops);
    EXPECT_EQ(same.amounts->macs, m.amounts->macs);
    EXPECT_EQ(same.amounts->params, m.amounts->params);
    EXPECT_EQ(same.end - m.kind, m.end - static_cast<int32_t>(i));
  }
  for (size_t i = 0; i < modules.size(); ++i) {
    EXPECT_TRUE(!has_own[i] || modules[i].nodes == nodes[i]) << modules[i].path;
    EXPECT_GE(modules[i].nodes, nodes[i]) << modules[i].path;
  }
  EXPECT_EQ(modules[0].parent, -1);
  EXPECT_EQ(modules[0].depth, 0);
  EXPECT_EQ(modules[0].path, "");
}

TEST(ModuleTreeTest, HoldsTogether) {
  for (const char* name : {"bert-base", "gpt2", "lstm", "clip-vit-b-32", "hf-clip-vit-l-14-336",
                           "clip-vit-l-14-336.ts17", "resnet50"}) {
    SCOPED_TRACE(name);
    const absl::StatusOr<Report> report = CountFile(name);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->modules[0].nodes, report->coverage.nodes);
    ExpectHoldsTogether(*report);
  }
}

// Nodes of sizes that all differ, in modules inside each other: each adds terms of its own.
ModelMaker ManyTerms(int nodes, int depth) {
  ModelMaker make;
  for (int i = 0; i < nodes; ++i) {
    std::string path;
    for (int k = 0; k <= i % depth; ++k) absl::StrAppend(&path, "/m", k);
    const std::string x = absl::StrCat("x", i), y = absl::StrCat("y", i);
    make.Input(x, {absl::StrCat("s", i)});
    make.Node(absl::StrCat(path, "/Relu_", i), "Relu", {x}, {y}).Output(y);
  }
  return make;
}

TEST(ModuleTreeTest, SumsOfTooManyTermsAreRefused) {
  CountOptions options;
  options.limits.terms_per_node = 10;
  EXPECT_TRUE(ManyTerms(2000, 10).Count(options).ok());
  const absl::Status status = ManyTerms(2000, 60).Count(options).status();
  EXPECT_EQ(status.message(),
            "test.onnx: the sums of all modules have more than 220000 terms (terms-per-node)");
  options.limits.terms_per_node = 1000;
  EXPECT_TRUE(ManyTerms(2000, 60).Count(options).ok());
}

// ---- names that are not there

std::string NotFound(const std::vector<std::string>& modules, const std::string& glob) {
  ModelMaker make;
  make.Input("x", {"4"});
  std::string at = "x";
  for (const std::string& module : modules) {
    make.Node(module + "/Relu", "Relu", {at}, {module});
    at = module;
  }
  return std::string(make.Output(at).Count({.module = glob}).status().message());
}

// What is at least half alike, by what is equal at both ends; the most alike first, five at most.
TEST(ModulePartTest, NamesThatMayBeMeant) {
  const struct {
    std::vector<std::string> modules;
    const char *glob, *similar;
  } cases[] = {
      {{"/abcd"}, "abxx", "; similar: 'abcd'"},
      {{"/abcd"}, "axxx", "; modules are 'abcd'"},
      {{"/abcd"}, "xxcd", "; similar: 'abcd'"},
      {{"/abcd"}, "xbcx", "; modules are 'abcd'"},
      {{"/abcd"}, "axxd", "; similar: 'abcd'"},
      {{"/abcd"}, "abcde", "; similar: 'abcd'"},
      {{"/abcd"}, "abcdefgh", "; similar: 'abcd'"},
      {{"/abcd"}, "abcdefghi", "; modules are 'abcd'"},
      {{"/abcdefgh"}, "abcd", "; similar: 'abcdefgh'"},
      {{"/abcdefghi"}, "abcd", "; modules are 'abcdefghi'"},
      {{"/aaaa"}, "aaa", "; similar: 'aaaa'"},
      {{"/abxx", "/abcx", "/abcde"}, "abcd", "; similar: 'abcde', 'abcx', 'abxx'"},
      {{"/a/bcde", "/b/bcxx"}, "bcdx", "; similar: 'a.bcde', 'b.bcxx'"},
      {{"/ab1", "/ab2", "/ab3", "/ab4", "/ab5", "/ab6"},
       "ab7",
       "; similar: 'ab1', 'ab2', 'ab3', 'ab4', 'ab5'"},
      {{"/p", "/q/r"}, "zzz", "; modules are 'p', 'q'"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(NotFound(c.modules, c.glob),
                EndsWith(absl::StrCat("no module is called '", c.glob, "'", c.similar)));
  }
  EXPECT_THAT(NotFound({}, "zzz"), EndsWith("no module is called 'zzz'"));
}

// ---- how far calls are opened

// Calls, each in a module of its own, of one function of `nodes` nodes: a Sum and Relus.
ModelMaker Calls(int calls, int nodes, int inputs) {
  ModelMaker make;
  make.Import("f");
  ModelMaker::Strings parameters;
  for (int i = 0; i < inputs; ++i) parameters.push_back(absl::StrCat("a", i));
  onnx::FunctionProto* function = make.AddFunction("f", "F", parameters, absl::StrCat("v", nodes));
  ModelMaker::AddNode(function, "/inner/Op", "Sum", parameters, {"v1"});
  for (int i = 1; i < nodes; ++i) {
    ModelMaker::AddNode(function, "/inner/Op", "Relu", {absl::StrCat("v", i)},
                        {absl::StrCat("v", i + 1)});
  }
  make.Input("x", {"4"});
  for (int i = 0; i < calls; ++i) {
    make.Node(absl::StrCat("/m", i, "/F"), "F",
              std::vector<std::string>(static_cast<size_t>(inputs), "x"), {absl::StrCat("y", i)});
    make.node->set_domain("f");
    make.Output(absl::StrCat("y", i));
  }
  return make;
}

struct Attributed {
  Inference inference;
  Counts counts;
};

Attributed Infered(const Model& model, const InferOptions& options = {}) {
  absl::StatusOr<Inference> inference = Infer(model, options);
  EXPECT_TRUE(inference.ok()) << inference.status();
  absl::StatusOr<Counts> counts = Count(*inference);
  EXPECT_TRUE(counts.ok()) << counts.status();
  return {*std::move(inference), *std::move(counts)};
}

// A call takes a visit per input of it and per node inside, and one more for every 16 inputs of a
// node; there are `limit` of them per node, and 10,000 more.
TEST(AttributionTest, CallsAreOpenedUpToTheLimit) {
  const std::pair<int, int> cases[] = {{100, 1}, {84, 15}, {67, 16}, {40, 31}, {40, 32}, {30, 64}};
  for (const auto& [nodes, inputs] : cases) {
    InferOptions options;
    options.limits.module_visits_per_node = 1;
    const int visits = inputs + nodes + inputs / 16;
    const int calls = (10'000 + nodes) / (visits - 1);  // with the visit that a call adds itself
    const Attributed fits = Infered(*Calls(calls, nodes, inputs).Load(), options);
    EXPECT_FALSE(modules::AttributeNodes(fits.inference, fits.counts).not_opened) << inputs;
    const Attributed more = Infered(*Calls(calls + 1, nodes, inputs).Load(), options);
    const auto attribution = modules::AttributeNodes(more.inference, more.counts);
    EXPECT_TRUE(attribution.not_opened) << inputs;
    EXPECT_EQ(attribution.not_opened_limit, "module-visits-per-node = 1");
  }
}

// All executions, and of them those that cost something.
// A quantiser names its nodes after weights, which TorchScript renamed.
TEST(AttributionTest, ADequantisedWeightIsOfTheModuleThatUsesIt) {
  const absl::StatusOr<Report> plain = CountFile("resnet50");
  const absl::StatusOr<Report> quantised = CountFile("deployed/resnet50.qdq_s8");
  ASSERT_TRUE(plain.ok() && quantised.ok());
  std::map<std::string, Expr> params;
  for (const Module& m : quantised->modules) {
    if (!m.own) params[m.path] = (*m.amounts).params;
  }
  ASSERT_GT(plain->modules.size(), 100);
  for (const Module& m : plain->modules) {
    if (m.own) continue;
    EXPECT_EQ(params[m.path], (*m.amounts).params) << m.path;
  }
}

TEST(AttributionTest, ExecutionsWithWork) {
  for (const char* name : {"bert-base", "lstm", "clip-vit-b-32", "gpt2"}) {
    SCOPED_TRACE(name);
    const auto model = Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", name, ".onnx"));
    ASSERT_TRUE(model.ok()) << model.status();
    const Attributed a = Infered(*model);
    const auto all = modules::AttributeNodes(a.inference, a.counts, modules::ExecutionFilter::kAll);
    const auto with_work = modules::AttributeNodes(a.inference, a.counts);
    size_t i = 0;
    for (const modules::Execution& e : all.executions) {
      const CallCost& cost = a.counts.cost(e.call());
      const Tally& tally = e.part() == modules::CostPart::kOwn ? cost.own() : cost.tally();
      if (!tally.lower_bound && tally.amounts.IsZero()) continue;
      ASSERT_LT(i, with_work.executions.size());
      const modules::Execution& same = with_work.executions[i++];
      EXPECT_EQ(std::tie(e.work, e.times, e.node), std::tie(same.work, same.times, same.node));
      EXPECT_EQ(all.paths.path(e.module), with_work.paths.path(same.module));
    }
    EXPECT_EQ(i, with_work.executions.size());
    EXPECT_GT(all.executions.size(), i);
    EXPECT_EQ(all.nodes.size(), all.paths.size());
    EXPECT_EQ(all.first.size(), all.paths.size());
  }
}

// What other tools count is looked at in a list of all executions: there are 4 visits per node for
// it, and 200,000.
TEST(AttributionTest, ListsOfAllExecutionsHaveALimitOfTheirOwn) {
  for (const int calls : {54, 55}) {
    const Attributed a = Infered(*Calls(calls, 4000, 1).Load());
    const auto all = modules::AttributeNodes(a.inference, a.counts, modules::ExecutionFilter::kAll);
    EXPECT_EQ(all.not_opened.has_value(), calls == 55);
    EXPECT_EQ(all.not_opened_limit, calls == 55 ? "module-visits-per-node = 64" : "");
    EXPECT_FALSE(modules::AttributeNodes(a.inference, a.counts).not_opened.has_value());
  }
}

// "path flops" of every module where a function of this domain is called in two layers and outside.
std::vector<std::string> RowsOfCalls(const std::string& domain) {
  ModelMaker make;
  make.Import(domain);
  onnx::FunctionProto* function = make.AddFunction(domain, "Layer", {"a"}, "c");
  ModelMaker::AddNode(function, "/m/h.0/act/Relu", "Relu", {"a"}, {"b"});
  ModelMaker::AddNode(function, "/m/h.0/Relu", "Relu", {"b"}, {"bb"});
  ModelMaker::AddNode(function, "Relu_7", "Relu", {"bb"}, {"c"});
  make.Input("x", {"4"});
  for (const char* name : {"/m/h.0/Layer", "/m/h.1/Layer", "Layer_9"}) {
    make.Node(name, "Layer", {"x"}, {name}).Output(name);
    make.node->set_domain(domain);
  }
  const absl::StatusOr<Report> report = make.Count();
  EXPECT_TRUE(report.ok()) << report.status();
  std::vector<std::string> rows;
  for (const Module& m : report->modules) {
    rows.push_back(absl::StrCat(m.path, " ", m.amounts->flops.ToString()));
  }
  return rows;
}

// Nodes of a function carry names of one of its calls: they count where they are inside of the
// module that is called.
TEST(AttributionTest, NamesInsideOfAFunctionCountWhereTheyFit) {
  // A call is a module, also of no name.
  EXPECT_THAT(RowsOfCalls("my.model"), ElementsAre(" 36", "m 24", "m.h.0 12", "m.h.0.act 4",
                                                   "m.h.0.(own) 8", "m.h.1 12", "Layer 12"));
  EXPECT_THAT(RowsOfCalls("pkg.onnxscript.torch_lib"),
              ElementsAre(" 36", "m 32", "m.h.0 20", "m.h.0.act 8", "m.h.0.(own) 12", "m.h.1 12",
                          "(outside any module) 4"));
}

// The modules that are of the class of a function called by this name on these weights: once in the
// graph, and once in a function around it that is called in module "m".
std::vector<std::string> LayersOf(const std::string& name,
                                  const std::vector<std::string>& weights) {
  std::vector<std::string> layers;
  for (const bool nested : {false, true}) {
    ModelMaker make;
    make.Import("f");
    ModelMaker::Strings inputs = {"x"}, parameters = {"a0"};
    for (const std::string& weight : weights) {
      inputs.push_back(weight);
      parameters.push_back(absl::StrCat("a", parameters.size()));
    }
    onnx::FunctionProto* layer = make.AddFunction("f", "Layer", parameters, "b");
    ModelMaker::AddNode(layer, "Relu_0", "Relu", {"a0"}, {"b"});
    if (nested) {
      onnx::FunctionProto* outer = make.AddFunction("f", "Outer", parameters, "b");
      ModelMaker::AddImport(outer, "f", 1);
      ModelMaker::AddNode(outer, name, "Layer", parameters, {"b"})->set_domain("f");
    }
    make.Input("x", {"4"});
    for (const std::string& weight : weights) make.Weight(weight, {4});
    make.Node(nested ? "/m/Outer" : name, nested ? "Outer" : "Layer", inputs, {"y"}).Output("y");
    make.node->set_domain("f");
    const absl::StatusOr<Report> report = make.Count();
    EXPECT_TRUE(report.ok()) << report.status();
    for (const Module& m : report->modules) {
      if (m.type == "Layer") layers.push_back(m.path);
    }
  }
  return layers;
}

// Weights tell which module a call is, better than its name.
TEST(AttributionTest, WeightsOfACallTellItsModule) {
  EXPECT_THAT(LayersOf("/m/h.0/fc/x/Layer", {"m.h.0.fc.weight", "m.h.0.norm.bias"}),
              ElementsAre("m.h.0", "m.h.0"));
  EXPECT_THAT(LayersOf("/m/h.0/fc/x/Layer", {"m.h.0.fc.weight", "scale"}),
              ElementsAre("m.h.0.fc", "m.h.0.fc"));
  EXPECT_THAT(LayersOf("/m/h.0/Layer", {"m.h.0.fc.weight"}), ElementsAre("m.h.0", "m.h.0.fc"));
  EXPECT_THAT(LayersOf("/m/h.0/Layer", {"n.q.weight"}), ElementsAre("m.h.0", "m.Layer"));
  EXPECT_THAT(LayersOf("Layer_3", {"m.h.2.fc.weight", "m.h.2.fc.bias"}),
              ElementsAre("m.h.2.fc", "m.h.2.fc"));
  EXPECT_THAT(LayersOf("Layer_3", {"a.weight", "b.weight"}), ElementsAre("Layer", "m.Layer"));
  EXPECT_THAT(LayersOf("Layer_3", {"m.weight"}), ElementsAre("m", "m.Layer"));
  EXPECT_THAT(LayersOf("Layer_3", {}), ElementsAre("Layer", "m.Layer"));
}

}  // namespace
}  // namespace onnxflops::module_part_test
