// The registry against those who define operators: the official ONNX library, and the list of what
// ONNX Runtime registers beyond it. A new release of either that knows an operator or a version
// without a row here shows at once.
#include "ops/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onnx/defs/schema.h"
#include "tests/table.h"

namespace onnxflops::registry_test {
namespace {

// Empty when a row covers exactly this version of the operator.
std::string Missing(const std::string& domain, const std::string& op, int version) {
  const FoundOp found = FindOp(domain, op, version);
  if (found.def != nullptr && found.version == version) return "";
  return (domain.empty() ? "ai.onnx" : domain) + "." + op + "-" + std::to_string(version);
}

TEST(RegistryTest, EveryOfficialOperatorAndVersionHasARow) {
  std::vector<std::string> missing;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    const std::string m = Missing(schema.domain(), schema.Name(), schema.since_version());
    if (!m.empty()) missing.push_back(m);
  }
  EXPECT_THAT(missing, testing::IsEmpty());
}

TEST(RegistryTest, EveryOperatorOfOnnxRuntimeHasARow) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/contrib_ops.json");
  const nlohmann::json list = nlohmann::json::parse(file);
  std::vector<std::string> missing;
  for (const auto& op : list["operators"]) {
    const std::string m = Missing(op["domain"], op["op"], op["since"]);
    if (!m.empty()) missing.push_back(m);
  }
  EXPECT_THAT(missing, testing::IsEmpty());
}

// No row invents a version that nobody registered.
TEST(RegistryTest, EveryVersionOfARowIsOfficial) {
  for (const OpFamily& family : AllFamilies()) {
    const std::string domain = family.domain;
    if (domain != "" && domain.rfind("ai.onnx", 0) != 0) continue;
    for (const OpDef& def : family.rows) {
      for (int version : def.versions) {
        const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(def.name, version, domain);
        if (schema == nullptr && std::string(def.name) == "SimplifiedLayerNormalization") continue;
        ASSERT_NE(schema, nullptr) << domain << "." << def.name << "-" << version;
        EXPECT_EQ(schema->since_version(), version) << domain << "." << def.name;
      }
    }
  }
}

// What Scan-8, with its batch, is inferred to be is not followed.
bool HasBatchedScan(const OpDef& def, int version) {
  return std::string(def.name) == "Scan" && version == 8;
}

// From which version on ONNX infers shapes of an operator and follows its contents.
TEST(RegistryTest, OnnxInfersFromTheVersionsOfTheRow) {
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& def : family.rows) {
      const auto is_version = [&](int since) {
        return std::find(def.versions.begin(), def.versions.end(), since) != def.versions.end();
      };
      const OnnxInference& onnx = def.onnx;
      for (const int version : def.versions) {
        const auto* schema = onnx::OpSchemaRegistry::Schema(def.name, version, family.domain);
        if (schema == nullptr || onnx.finds == OnnxInference::Finds::kNothing) continue;
        if (schema->HasFunction() || HasBatchedScan(def, version)) continue;
        SCOPED_TRACE(absl::StrCat(family.domain, ".", def.name, "-", version));
        EXPECT_EQ(schema->has_type_and_shape_inference_function(), version >= onnx.since);
        EXPECT_EQ(schema->has_data_propagation_function(),
                  onnx.follows_since != 0 && version >= onnx.follows_since);
      }
      EXPECT_TRUE(onnx.since == 1 || is_version(onnx.since)) << def.name;
      EXPECT_TRUE(onnx.follows_since == 0 || is_version(onnx.follows_since)) << def.name;
      EXPECT_TRUE(onnx.followed_since == 1 || is_version(onnx.followed_since)) << def.name;
    }
  }
}

// Where `axes` was an attribute at first, the row says from which version on it is an input. Not of
// Slice: its starts and ends became inputs as well, without which there is nothing to go by.
TEST(RegistryTest, AxesAreAnInputFromTheVersionOfTheRow) {
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& def : family.rows) {
      if (std::string(def.name) == "Slice") continue;
      bool was_attribute = false;
      int input_since = 0;
      for (const int version : def.versions) {
        const auto* schema = onnx::OpSchemaRegistry::Schema(def.name, version, family.domain);
        if (schema == nullptr) continue;
        const bool is_attribute = schema->attributes().count("axes") > 0;
        if (was_attribute && !is_attribute) input_since = version;
        was_attribute = is_attribute;
      }
      EXPECT_EQ(def.axes_attribute_before, input_since) << family.domain << "." << def.name;
    }
  }
}

// The names of an operator's inputs, as ONNX and ONNX Runtime have them.
std::vector<std::string> InputNames(const nlohmann::json& runtime, const OpFamily& family,
                                    const OpDef& def) {
  std::vector<std::string> names;
  const int version = def.versions[def.versions.size() - 1];
  if (const onnx::OpSchema* schema =
          onnx::OpSchemaRegistry::Schema(def.name, version, family.domain)) {
    for (const auto& input : schema->inputs()) names.push_back(input.GetName());
  }
  for (const auto& op : runtime["operators"]) {
    if (op["domain"] == family.domain && op["op"] == def.name) names = op["inputs"];
  }
  return names;
}

std::string Named(const char* what, uint32_t inputs, const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < 32; ++i) {
    if ((inputs >> i & 1) == 0) continue;
    absl::StrAppend(&text, " ", i < names.size() ? names[i] : absl::StrCat("input", i));
  }
  return text.empty() ? "" : absl::StrCat(" ", what, text, ";");
}

std::string TraitsText(Traits traits) {
  constexpr std::pair<Traits, const char*> kNames[] = {
      {Traits::kView, " view;"},        {Traits::kReadsContent, " reads-content;"},
      {Traits::kNotMemoised, " each;"}, {Traits::kUnknown, " unknown;"},
      {Traits::kRandom, " random;"},    {Traits::kShapeOnly, " shape-only;"},
      {Traits::kMovesMask, " mask;"},   {Traits::kStored, " stored;"},
      {Traits::kInPlace, " in-place;"}, {Traits::kStrided, " strided;"},
      {Traits::kSelects, " selects;"}};
  std::string text;
  for (const auto& [trait, name] : kNames) {
    if (Has(traits, trait)) text += name;
  }
  return text;
}

std::string FactsOfInputs(const OpDef& def, const std::vector<std::string>& names) {
  const OperandRoles& roles = def.operands;
  return absl::StrCat(Named("weights", roles.weights, names),
                      Named("not-parameters", roles.not_parameters, names),
                      Named("states", roles.states, names),
                      Named("by-expert", roles.experts, names), roles.packed ? " packed;" : "",
                      Named("shape-from", def.shape_inputs, names), TraitsText(def.traits));
}

// A row marks what a name and a type would not tell; no mark contradicts the names that ONNX's and
// ONNX Runtime's schemas give.
TEST(RegistryTest, InputsAreWhatTheirNamesSay) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/contrib_ops.json");
  const nlohmann::json runtime = nlohmann::json::parse(file);
  const std::regex zero_point(".*zero_points?", std::regex::icase);
  const std::regex weight("((?!scale_|attention_).*_)?(weights?|bias|gamma|beta)|W|R");
  const std::regex buffer(".*(scales?|mask|cache|past.*|zero_points?|ids)");
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& def : family.rows) {
      const OperandRoles& roles = def.operands;
      EXPECT_EQ(roles.weights & roles.not_parameters, 0U) << def.name;
      EXPECT_EQ(roles.states & ~roles.not_parameters, 0U) << def.name;
      const std::vector<std::string> names = InputNames(runtime, family, def);
      for (size_t i = 0; i < names.size() && i < 32; ++i) {
        SCOPED_TRACE(absl::StrCat(family.domain, ".", def.name, ": ", names[i]));
        const bool is_weight = (roles.weights >> i & 1) != 0;
        const bool is_buffer = (roles.not_parameters >> i & 1) != 0;
        EXPECT_TRUE(is_buffer || !std::regex_match(names[i], zero_point));
        EXPECT_FALSE(is_buffer && std::regex_match(names[i], weight));
        EXPECT_FALSE(is_weight && std::regex_match(names[i], buffer) && names[i] != "scale");
      }
    }
  }
}

TEST(RegistryTest, WritesItsTable) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/contrib_ops.json");
  const nlohmann::json runtime = nlohmann::json::parse(file);
  std::vector<std::string> found;
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& def : family.rows) {
      const std::string facts = FactsOfInputs(def, InputNames(runtime, family, def));
      if (facts.empty()) continue;
      const absl::string_view domain = family.domain[0] == 0 ? "ai.onnx" : family.domain;
      found.push_back(absl::StrCat(domain, ".", def.name, "-", def.versions[0], ":", facts));
    }
  }
  std::sort(found.begin(), found.end());
  WriteTable(found, "operator_inputs.txt");
}

}  // namespace
}  // namespace onnxflops::registry_test
