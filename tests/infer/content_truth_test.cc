// What is followed of tensors' elements, small and large, against what ONNX Runtime gives for the
// same random chains of operators: tools/export/content_truth.py wrote content_truth.jsonl.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "ops/content.h"
#include "src/infer/infer.h"
#include "tests/model_text.h"

namespace onnxflops::content_truth_test {
namespace {

using Json = nlohmann::json;

constexpr int kOpset = 21;

// How many elements are followed; each of them is the true one.
int FollowedElements(const Json& truth) {
  const Inference inference =
      Infer(ModelFromText(truth["graph"].get<std::string>(), kOpset)).value();
  const Fact& fact = *inference.FactOf(inference.model->graphs[0].outputs[0]);
  const Json& elements = truth["elements"];
  EXPECT_EQ(fact.shape.ToString(), "[" + std::to_string(elements.size()) + "]");
  int followed = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    const Scalar element = ElementAt(fact, static_cast<int64_t>(i));
    if (!element.known()) continue;
    ++followed;
    if (element.is_float()) {
      EXPECT_EQ(element.f, elements[i].get<double>()) << "element " << i;
    } else {
      EXPECT_EQ(element.i, Expr(elements[i].get<int64_t>())) << "element " << i;
    }
  }
  return followed;
}

TEST(ContentTruthTest, ElementsAreThoseOfTheRuntime) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/content_truth.jsonl");
  int graphs = 0, followed = 0, all = 0;
  for (std::string line; std::getline(file, line); ++graphs) {
    const Json truth = Json::parse(line);
    SCOPED_TRACE(truth["graph"].get<std::string>());
    followed += FollowedElements(truth);
    all += static_cast<int>(truth["elements"].size());
  }
  EXPECT_EQ(graphs, 1000);
  // Others are of large tensors whose elements no one rule gives. A change of this number is
  // something gained or lost.
  EXPECT_EQ(followed, 6655) << "of " << all;
}

}  // namespace
}  // namespace onnxflops::content_truth_test
