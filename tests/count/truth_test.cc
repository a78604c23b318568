// Real exports against what is known of them from outside: MACs recomputed from the shapes that
// ONNX Runtime really produced, those shapes, and figures at other sizes. tests/data/truth/*.json
// says where each comes from (see models/SOURCES.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"

namespace onnxflops::truth_test {
namespace {

using Json = nlohmann::json;

std::vector<std::string> TruthFiles() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(ONNXFLOPS_SOURCE_DIR "/tests/data/truth")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().stem().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class TruthTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/truth/" + GetParam() + ".json");
    truth_ = Json::parse(file);
    const std::string path = truth_["model"];
    absl::StatusOr<Model> model = LoadFile(ONNXFLOPS_SOURCE_DIR "/" + path);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *model;
  }

  // Recorded dimensions of a tensor, if it was recorded.
  std::optional<std::vector<int64_t>> Recorded(const std::string& tensor) const {
    for (const char* where : {"inputs", "shapes"}) {
      if (truth_[where].contains(tensor)) {
        return truth_[where][tensor][0].get<std::vector<int64_t>>();
      }
    }
    return std::nullopt;
  }

  // Every symbol as ONNX Runtime saw it: by the tensor and axis that it comes from.
  Bindings RecordedBindings(const Inference& inference) const {
    Bindings bindings;
    for (const SymbolOrigin& symbol : inference.symbols) {
      const auto dims = Recorded(symbol.value);
      if (dims.has_value() && symbol.axis < static_cast<int>(dims->size())) {
        bindings[symbol.name] = (*dims)[static_cast<size_t>(symbol.axis)];
      }
    }
    return bindings;
  }

  Json truth_;
  Model model_;
};

// MACs as the exact integer that `bindings` make of them; "unbound" or the error otherwise.
std::string MacsAt(const Counts& counts, const Bindings& bindings) {
  const absl::StatusOr<absl::int128> macs = counts.total.amounts.macs.Evaluate(bindings);
  return macs.ok() ? Int128ToString(*macs) : macs.status().ToString();
}

TEST_P(TruthTest, EveryNodeIsKnownAndMacsAreExact) {
  const absl::StatusOr<Inference> inference = Infer(model_);
  ASSERT_TRUE(inference.ok()) << inference.status();
  const absl::StatusOr<Counts> counts = Count(*inference);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->unknown, 0);
  EXPECT_EQ(MacsAt(*counts, RecordedBindings(*inference)),
            std::to_string(truth_["exact_macs"].get<int64_t>()));
}

TEST_P(TruthTest, BindingFirstAndEvaluatingLaterAgree) {
  const absl::StatusOr<Inference> open = Infer(model_);
  ASSERT_TRUE(open.ok()) << open.status();
  const Bindings bindings = RecordedBindings(*open);
  const absl::StatusOr<Inference> bound = Infer(model_, {.dims = bindings});
  ASSERT_TRUE(bound.ok()) << bound.status();
  const absl::StatusOr<Counts> late = Count(*open);
  const absl::StatusOr<Counts> early = Count(*bound);
  ASSERT_TRUE(late.ok() && early.ok()) << late.status() << early.status();
  EXPECT_EQ(late->total.amounts.macs.Substitute(bindings).ToString(),
            early->total.amounts.macs.ToString());
  // Where a binding decides an If, only the branch that is taken counts; without it, the larger.
  const bool has_open_choice = std::any_of(open->calls.begin(), open->calls.end(),
                                           [](const Call& c) { return c.choose_larger; });
  if (has_open_choice) return;
  for (const Quantity& q : kQuantities) {
    const Expr& symbolic = late->total.amounts.*q.value;
    EXPECT_EQ(symbolic.Substitute(bindings).ToString(), (early->total.amounts.*q.value).ToString())
        << q.key;
  }
}

TEST_P(TruthTest, ShapesAreWhatOnnxRuntimeProduced) {
  const absl::StatusOr<Inference> open = Infer(model_);
  ASSERT_TRUE(open.ok()) << open.status();
  const absl::StatusOr<Inference> bound = Infer(model_, {.dims = RecordedBindings(*open)});
  ASSERT_TRUE(bound.ok()) << bound.status();
  int compared = 0;
  for (ValueId v = 0; v < static_cast<ValueId>(model_->values.size()); ++v) {
    const Value& value = model_->value(v);
    const auto recorded = Recorded(std::string(value.name));
    const Fact* fact = bound->FactOf(v);
    if (!recorded.has_value() || fact == nullptr || !value.producer) continue;
    if (model_->node(*value.producer).graph != 0) continue;
    ++compared;
    Shape shape;
    for (int64_t dim : *recorded) shape.push_back(dim);
    EXPECT_EQ(fact->shape.ToString(), shape.ToString()) << value.name;
  }
  EXPECT_GE(compared, static_cast<int>(truth_["shapes"].size() * 9 / 10));
}

TEST_P(TruthTest, OtherSizesHaveTheirFigures) {
  for (const Json& alt : truth_.value("alt", Json::array())) {
    Bindings dims;
    for (const auto& [name, size] : alt["dims"].items()) dims[name] = size.get<int64_t>();
    const absl::StatusOr<Inference> inference = Infer(model_, {.dims = dims});
    ASSERT_TRUE(inference.ok()) << inference.status();
    const absl::StatusOr<Counts> counts = Count(*inference);
    ASSERT_TRUE(counts.ok()) << counts.status();
    EXPECT_EQ((2 * counts->total.amounts.macs).ToString(),
              std::to_string(alt["flops"].get<int64_t>()))
        << alt["dims"];
  }
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, TruthTest, testing::ValuesIn(TruthFiles()), TestName);

}  // namespace
}  // namespace onnxflops::truth_test
