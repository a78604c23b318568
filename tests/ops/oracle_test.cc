// The cost rules against textbook loops: every operator of a family, over small shapes and
// attributes, must cost by its rule what its loop executes, kind by kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/registry.h"
#include "tests/ops/fused_pairs.h"
#include "tests/oracle/cases.h"
#include "tests/oracle/families.h"
#include "tests/oracle/rule_cost.h"
#include "tests/sample.h"

namespace onnxflops::oracle::oracle_test {
namespace {

// Whether the rule agrees with the loop; reports it when not.
bool Compare(const Case& c, const Loop& loop) {
  SCOPED_TRACE(Describe(c));
  Recorder recorder;
  const Outputs outputs = loop();
  const absl::StatusOr<RuleResult> rule = CostByRule(c);
  if (!outputs.has_value()) {
    EXPECT_EQ(rule.status().code(), absl::StatusCode::kInvalidArgument) << rule.status();
    return rule.status().code() == absl::StatusCode::kInvalidArgument;
  }
  EXPECT_TRUE(rule.ok()) << rule.status();
  if (!rule.ok()) return false;
  const bool same_dims = outputs->empty() || rule->output_dims == *outputs;
  const Work& work = recorder.work();
  EXPECT_EQ(rule->work.flops, work.flops);
  EXPECT_EQ(rule->work.int_ops, work.int_ops);
  if (!same_dims) {
    EXPECT_EQ(rule->output_dims, *outputs);
  }
  return same_dims && rule->work == work;
}

class OracleTest : public testing::TestWithParam<Family> {};

TEST_P(OracleTest, RuleCostsWhatTheLoopExecutes) {
  int cases = 0;
  std::set<std::string> failed;
  Sample sample;
  GetParam().cases([&](const Case& c, const Loop& loop) {
    ++cases;
    if (!sample.Next()) return;
    // One report of an operator is enough.
    const std::string op = absl::StrCat(c.domain, ".", c.op, "-", c.opset);
    if (failed.count(op) > 0) return;
    if (!Compare(c, loop)) failed.insert(op);
  });
  RecordProperty("cases", cases);
  EXPECT_GT(cases, 0);
}

// Whether a row of this operator needs no loop, and why not.
struct Exemption {
  const char* domain;
  const char* op;
  const char* reason;
};
constexpr char kConvention[] =
    "how much is done depends on data, or on an algorithm that the specification leaves open: the "
    "count is a convention that the row states";
constexpr char kKeys[] =
    "the arithmetic of GroupQueryAttention, which is held by its parts, on keys whose number the "
    "data decides";
constexpr char kKernelOnly[] =
    "written down nowhere but in a kernel; the products and rows that it consists of have loops";
constexpr char kFormat[] = "its blocks are the hardware's; their format has no public description";
constexpr Exemption kExemptions[] = {
    {"", "NonMaxSuppression", kConvention},
    {"", "Multinomial", kConvention},
    {"", "Unique", kConvention},
    {"", "STFT", kConvention},
    {"", "TfIdfVectorizer", kConvention},
    {"ai.onnx.ml", "TreeEnsemble", kConvention},
    {"ai.onnx.ml", "TreeEnsembleClassifier", kConvention},
    {"ai.onnx.ml", "TreeEnsembleRegressor", kConvention},
    {"com.microsoft", "PagedAttention", kKeys},
    {"com.microsoft", "QOrderedAttention", kKernelOnly},
    {"com.microsoft", "QOrderedLongformerAttention", kKernelOnly},
    {"com.microsoft", "DequantizeBFP", kFormat},
    {"com.microsoft", "QuantizeBFP", kFormat},
    {"com.microsoft", "BifurcationDetector", kConvention},
    {"com.microsoft", "Unique", kConvention},
    {"com.microsoft", "AttnLSTM", kKernelOnly},
    {"com.microsoft", "BeamSearch", kConvention},
    {"com.microsoft", "GreedySearch", kConvention},
    {"com.microsoft", "Sampling", kConvention},
    {"com.microsoft", "WhisperBeamSearch", kConvention},
    {"com.microsoft", "DynamicSparseAttention", kKeys},
    {"com.microsoft", "PackedSparseAttentionIndexer", kKernelOnly},
    {"com.microsoft", "SparseAttention", kKeys},
    {"com.microsoft", "SparseAttentionIndexer", kKernelOnly},
    {"com.microsoft", "SparsePagedAttention", kKeys},
};
const Exemption* ExemptionOf(absl::string_view domain, absl::string_view op) {
  for (const Exemption& e : kExemptions) {
    if (e.domain == domain && e.op == op) return &e;
  }
  return nullptr;
}

// Rows that a loop holds, or that fused_test holds against the operators they stand for.
std::set<const OpDef*> HeldRows() {
  std::set<const OpDef*> held;
  for (const Family& family : kFamilies) {
    family.cases(
        [&](const Case& c, const Loop&) { held.insert(FindOp(c.domain, c.op, c.opset).def); });
  }
  for (const FusedPair& pair : kFusedPairs) {
    const absl::StatusOr<onnx::ModelProto> model = ParsePart(pair.fused);
    EXPECT_TRUE(model.ok()) << pair.name << ": " << model.status();
    if (!model.ok()) continue;
    std::map<std::string, int64_t> opsets;
    for (const auto& import : model->opset_import()) opsets[import.domain()] = import.version();
    for (const onnx::NodeProto& node : model->graph().node()) {
      if (node.domain().empty()) continue;
      held.insert(FindOp(node.domain(), node.op_type(), opsets[node.domain()]).def);
    }
  }
  return held;
}

TEST(OracleCoverageTest, EveryCountedOperatorHasAnOracle) {
  const std::set<const OpDef*> held = HeldRows();
  std::set<const Exemption*> used;
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& def : family.rows) {
      if (def.IsFree() || held.count(&def) > 0) continue;
      const Exemption* exemption = ExemptionOf(family.domain, def.name);
      EXPECT_NE(exemption, nullptr) << family.domain << "." << def.name << "-" << def.versions[0]
                                    << " has neither a loop nor an exemption";
      used.insert(exemption);
    }
  }
  for (const Exemption& e : kExemptions) {
    EXPECT_EQ(used.count(&e), 1) << e.domain << "." << e.op << " needs no exemption";
  }
}

// What a case has of sizes: an input's dimensions, the entries of an attribute's list, and 1.
std::map<std::string, int64_t> NamedSizes(const Case& c) {
  std::map<std::string, int64_t> named = {{"1", 1}};
  const auto add = [&](const std::string& name, const std::vector<int64_t>& sizes) {
    for (size_t i = 0; i < sizes.size(); ++i) named[absl::StrCat(name, "[", i, "]")] = sizes[i];
  };
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.inputs[i].absent) add(absl::StrCat("input", i), c.inputs[i].dims);
  }
  for (const auto& [name, value] : c.attributes) {
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) add(name, *list);
  }
  return named;
}

using Pair = std::pair<std::string, std::string>;
// Of an operator, the pairs of its sizes, and whether a case has both different.
using Pairs = std::map<Pair, bool>;
void NotePairs(const Case& c, Pairs* pairs) {
  const std::map<std::string, int64_t> sizes = NamedSizes(c);
  for (auto a = sizes.begin(); a != sizes.end(); ++a) {
    for (auto b = std::next(a); b != sizes.end(); ++b) {
      (*pairs)[{a->first, b->first}] |= a->second != b->second;
    }
  }
}

// "a = b = c" of sizes that are equal in every case, each named once.
std::vector<std::string> EqualSizes(const Pairs& pairs) {
  std::set<std::string> named;
  std::vector<std::string> lines;
  for (auto it = pairs.begin(); it != pairs.end(); ++it) {
    const std::string& first = it->first.first;
    if (it->second || !named.insert(first).second) continue;
    std::string line = first;
    for (auto other = it; other != pairs.end() && other->first.first == first; ++other) {
      if (other->second) continue;
      absl::StrAppend(&line, " = ", other->first.second);
      named.insert(other->first.second);
    }
    lines.push_back(line);
  }
  return lines;
}

// Where two sizes are equal in every case, a rule may take one for the other. Those that an
// operator demands are in the file; any other pair has a case where they differ.
TEST(OracleCoverageTest, SizesDifferWhereTheOperatorLetsThem) {
  if (!Sample::IsAll()) GTEST_SKIP() << "a sample of the cases shows no more";
  std::map<std::string, Pairs> ops;
  for (const Family& family : kFamilies) {
    family.cases([&](const Case& c, const Loop&) {
      NotePairs(c, &ops[absl::StrCat(c.domain.empty() ? "ai.onnx" : c.domain, ".", c.op)]);
    });
  }
  std::vector<std::string> found;
  for (const auto& [op, pairs] : ops) {
    for (const std::string& line : EqualSizes(pairs)) {
      found.push_back(absl::StrCat(op, ": ", line));
    }
  }
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/equal_sizes.txt");
  std::vector<std::string> kept;
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "#")) kept.push_back(line);
  }
  EXPECT_EQ(found, kept) << absl::StrJoin(found, "\n");
}

INSTANTIATE_TEST_SUITE_P(Families, OracleTest, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return std::string(family.param.name); });

}  // namespace
}  // namespace onnxflops::oracle::oracle_test
