// Operators of ONNX Runtime against what ONNX Runtime made of them: contrib_shapes.json holds
// single nodes with the types and shapes that its CPU kernels gave (tools/export/contrib_shapes.py
// wrote it). Each is inferred with its sizes given, and with every size a symbol.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "src/infer/infer.h"
#include "src/load/load.h"
#include "tests/oracle/rule_cost.h"

namespace onnxflops {
namespace {

using Json = nlohmann::json;
using oracle::AttributeValue;
using oracle::Case;

const Json& Cases() {
  static const Json* cases = [] {
    std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/contrib_shapes.json");
    return new Json(Json::parse(file)["cases"]);
  }();
  return *cases;
}

AttributeValue AttributeOf(const Json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.at(0).is_string()) return value.get<std::vector<std::string>>();
  if (value.at(0).is_number_float()) return value.get<std::vector<double>>();
  return value.get<std::vector<int64_t>>();
}

Case CaseOf(const Json& json) {
  Case c{json["op"], json["opset"], {}, {}, static_cast<int>(json["outputs"].size())};
  c.domain = json["domain"];
  for (const Json& given : json["inputs"]) {
    oracle::Input input;
    input.absent = given.is_null();
    if (!input.absent) {
      input.dims = given["shape"].get<std::vector<int64_t>>();
      input.dtype = given["dtype"];
      if (given.contains("content")) input.ints = given["content"].get<std::vector<int64_t>>();
    }
    c.inputs.push_back(input);
  }
  for (const auto& [name, value] : json["attributes"].items()) {
    c.attributes.emplace_back(name, AttributeOf(value));
  }
  return c;
}

// What the data decides, so that a symbol is all that can be said of it.
bool DependsOnData(const Case& c) {
  static const std::set<std::string> kOperators = {"BifurcationDetector", "DynamicTimeWarping",
                                                   "Tokenizer", "Unique"};
  return kOperators.count(c.op) > 0;
}

// What sizes that are not known leave open: the rank of GatherND's output is a size of its indices,
// and the channels of ReorderInput are rounded up to blocks that differ from machine to machine.
bool IsOpenWithSymbols(const Case& c) {
  return DependsOnData(c) || c.op == "GatherND" || c.op == "ReorderInput";
}

// Every dimension of an input that is no initializer becomes a symbol of its own.
Bindings MakeSymbolic(onnx::ModelProto* model) {
  Bindings sizes;
  for (onnx::ValueInfoProto& input : *model->mutable_graph()->mutable_input()) {
    auto* shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int i = 0; i < shape->dim_size(); ++i) {
      const std::string name = absl::StrCat(input.name(), "_", i);
      sizes[name] = shape->dim(i).dim_value();
      shape->mutable_dim(i)->set_dim_param(name);
    }
  }
  return sizes;
}

class ContribShapesTest : public testing::TestWithParam<size_t> {
 protected:
  ContribShapesTest() : json_(Cases()[GetParam()]), case_(CaseOf(json_)) {}

  // The outputs as "dtype [dims]", an open dimension as its expression.
  std::vector<std::string> Inferred(const std::string& bytes, const Bindings& sizes) const {
    const absl::StatusOr<Model> model = LoadFromBytes(bytes);
    if (!model.ok()) return {model.status().ToString()};
    const absl::StatusOr<Inference> inference = Infer(*model);
    if (!inference.ok()) return {inference.status().ToString()};
    std::vector<std::string> outputs;
    for (ValueId v : inference->model->graphs[0].outputs) {
      const Fact& fact = *inference->FactOf(v);
      std::string text = absl::StrCat(DTypeName(fact.dtype), " [");
      for (const Expr& dim : fact.shape.dims()) {
        const absl::StatusOr<absl::int128> size = dim.Evaluate(sizes);
        absl::StrAppend(&text, size.ok() ? Int128ToString(*size) : dim.ToString(), ",");
      }
      outputs.push_back(text + "]");
    }
    return outputs;
  }

  std::vector<std::string> Recorded() const {
    std::vector<std::string> outputs;
    for (const Json& output : json_["outputs"]) {
      const auto dtype = static_cast<DType>(output["dtype"].get<int>());
      std::string text = absl::StrCat(DTypeName(dtype), " [");
      for (int64_t dim : output["shape"]) absl::StrAppend(&text, dim, ",");
      outputs.push_back(text + "]");
    }
    return outputs;
  }

  const Json& json_;
  const Case case_;
};

TEST_P(ContribShapesTest, InferredAsTheRuntimeHasIt) {
  const std::vector<std::string> inferred = Inferred(oracle::ModelOf(case_), {});
  if (DependsOnData(case_)) {
    EXPECT_EQ(inferred.size(), Recorded().size()) << testing::PrintToString(inferred);
  } else {
    EXPECT_EQ(inferred, Recorded()) << oracle::Describe(case_);
  }
}

TEST_P(ContribShapesTest, SymbolsStandForTheSameSizes) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(oracle::ModelOf(case_)));
  const Bindings sizes = MakeSymbolic(&model);
  const std::vector<std::string> inferred = Inferred(model.SerializeAsString(), sizes);
  if (IsOpenWithSymbols(case_)) {
    EXPECT_EQ(inferred.size(), Recorded().size()) << testing::PrintToString(inferred);
    return;
  }
  EXPECT_EQ(inferred, Recorded()) << oracle::Describe(case_);
}

INSTANTIATE_TEST_SUITE_P(Nodes, ContribShapesTest, testing::Range(size_t{0}, Cases().size()),
                         [](const auto& info) {
                           const std::string op = Cases()[info.param]["op"];
                           return absl::StrCat(op, "_", info.param);
                         });

}  // namespace
}  // namespace onnxflops
