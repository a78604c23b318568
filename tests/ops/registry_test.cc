// The registry against those who define operators: the official ONNX library, and the list of what
// ONNX Runtime registers beyond it. A new release of either that knows an operator or a version
// without a row here shows at once.
#include "ops/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "onnx/defs/schema.h"

namespace onnxflops {
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

}  // namespace
}  // namespace onnxflops
