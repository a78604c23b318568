// ONNX's own checker as a second opinion on what a valid model is: whatever it accepts of ONNX's
// node models and of the kept fuzz corpus loads and counts, but for those listed here with the
// reason.
#include "onnx/checker.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "onnx/onnx_pb.h"
#include "src/family/family.h"
#include "src/onnxflops.h"
#include "tests/infer/node_suite.h"

namespace onnxflops::checker_test {
namespace {

namespace fs = std::filesystem;

bool CheckerAccepts(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return false;
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

// The error; "" if it counts.
std::string Refusal(const std::string& bytes) {
  const absl::StatusOr<Model> model = LoadFromBytes(bytes, "m.onnx");
  if (!model.ok()) return std::string(model.status().message());
  return std::string(Count(*model).status().message());
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void ExpectAgreement(const std::string& name, const std::string& bytes, int* accepted) {
  if (!CheckerAccepts(bytes)) return;
  ++*accepted;
  EXPECT_EQ(Refusal(bytes), "") << name;
}

TEST(CheckerTest, WhatItAcceptsOfTheNodeSuiteCounts) {
  int accepted = 0;
  for (const auto& item : NodeSuite().items()) {
    ExpectAgreement(item.key(), ReadFile(NodeModelPath(item.key())), &accepted);
  }
  EXPECT_GT(accepted, 1500);
}

TEST(CheckerTest, WhatItAcceptsOfTheFuzzCorpusCounts) {
  int accepted = 0;
  for (const auto& entry :
       fs::directory_iterator(ONNXFLOPS_SOURCE_DIR "/tests/fuzz/corpus/count")) {
    ExpectAgreement(entry.path().filename(), ReadFile(entry.path()).substr(1), &accepted);
  }
  EXPECT_GT(accepted, 40);
}

// What --save writes of a configuration: a file that names itself as the place of its weights.
TEST(CheckerTest, AcceptsTheGraphsOfConfigurations) {
  int written = 0;
  for (const auto& entry :
       fs::directory_iterator(ONNXFLOPS_SOURCE_DIR "/tests/fuzz/corpus/config")) {
    const absl::StatusOr<std::string> bytes =
        ConfigToOnnx(ReadFile(entry.path()), "config.json", "config_checked.onnx");
    ASSERT_TRUE(bytes.ok()) << entry.path() << bytes.status();
    const std::string path = testing::TempDir() + "/config_checked.onnx";
    std::ofstream(path, std::ios::binary) << *bytes;
    EXPECT_NO_THROW(onnx::checker::check_model(path, /*full_check=*/true)) << entry.path();
    ++written;
  }
  EXPECT_GT(written, 35);
}

}  // namespace
}  // namespace onnxflops::checker_test
