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

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "tests/ops/fused_pairs.h"
#include "tests/oracle/rule_cost.h"

namespace onnxflops::contrib_shapes_test {
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

// ---- what the runtime's CPU does not run: the costs are worked out by hand

struct NodeCost {
  const char* text;
  const char* cost;  // or a part of why there is none
};

constexpr NodeCost kNodes[] = {
    // Of 15 rows, each meets 8 keys that are selected and 3 near by; 18 heads per item are
    // normalised, 2 elements of each rotated.
    {"(float[5,3,16] q, float[5,3,8] k, float[5,3,8] v, float[5,2,64,4] pk, float[5,2,64,4] pv, "
     "int32[15,8] i, int32[15] c, int32[5] l, float[64,1] cos, float[64,1] sin, float[4] qn, "
     "float[4] kn) => (float[5,3,16] y, float[5,2,64,4] a, float[5,2,64,4] b) <int32 t = {40}> "
     "{ y, a, b = com.microsoft.DynamicSparseAttention<num_heads = 4, kv_num_heads = 2, do_rotary "
     "= 1, attention_mode = \"local_plus_selected\", local_window_size = 3>"
     "(q, k, v, pk, pv, , , i, c, l, t, cos, sin, , qn, kn) }",
     "mac=5280 add=1950 mul=1740 div=1110 cmp=660 exp=660 sqrt=90"},
    // Q, K and V in one; a sink: one more term in the denominators of 60 rows.
    {"(float[5,3,32] q, int32[15,8] i, int32[15] c, int32[5] l) => (float[5,3,16] y, "
     "float[5,2,3,4] a, float[5,2,3,4] b) <int32 t = {40}> "
     "{ y, a, b = com.microsoft.DynamicSparseAttention<num_heads = 4, kv_num_heads = 2, "
     "smooth_softmax = 1>(q, , , , , , , i, c, l, t) }",
     "mac=3840 add=1080 mul=480 div=480 cmp=540 exp=540"},
    // 5 positions of 6 channels by kernels of 4.
    {"(float[2,5,2,3] x, float[6,1,4] w) => (float[2,5,2,3] y, float[2,3,2,3] s) "
     "{ y, s = com.microsoft.CausalConvWithState<channels_last = 1>(x, w) }",
     "mac=240"},
    // Of itself, with a mask: 5 queries and keys; 3 times 5 rows of 8 are projected.
    {"(float[5,3,8] q, float[7,3,8] k, float[8,8] w, float[8,16] u, float[24] b, bool[3,5] m) => "
     "(float[5,3,8] y, float[3,2,5,4] c, float[3,2,5,4] d) <bool t = {1}, bool f = {0}> { y, c, d "
     "= com.microsoft.DecoderAttention<num_heads = 2>(q, k, w, u, b, m, , , f, f, f, t) }",
     "mac=4080 add=810 mul=150 div=150 cmp=150 exp=150"},
    // A mask that is said not to be used, and a cache that is said not to hold the layer's state.
    {"(float[5,3,8] q, float[7,3,8] k, float[8,8] w, float[8,16] u, float[24] b, bool[3,5] m, "
     "float[3,2,9,4] pk, float[3,2,9,4] pv) => (float[5,3,8] y, float[3,2,5,4] c, float[3,2,5,4] "
     "d) <bool t = {1}, bool f = {0}> { y, c, d = com.microsoft.DecoderAttention<num_heads = 2>"
     "(q, k, w, u, b, m, pk, pv, f, t, f, f) }",
     "mac=4080 add=660 mul=150 div=150 cmp=150 exp=150"},
    // Of others whose 9 keys are cached: Q alone is projected. Whether there is a mask is open.
    {"(float[5,3,8] q, float[7,3,8] k, float[8,8] w, float[8,16] u, float[24] b, float[3,2,9,4] "
     "pk, float[3,2,9,4] pv, bool m) => (float[5,3,8] y, float[3,2,9,4] c, float[3,2,9,4] d) "
     "<bool t = {1}> { y, c, d = com.microsoft.DecoderAttention<num_heads = 2>"
     "(q, k, w, u, b, , pk, pv, t, t, t, m) }",
     "mac=3120 add=660 mul=270 div=270 cmp=270 exp=270"},
    {"(float[5,3,8] q, float[7,3,8] k, float[8,8] w, float[8,16] u, float[24] b, bool s) => "
     "(float[5,3,8] y) <bool f = {0}> { y = com.microsoft.DecoderAttention<num_heads = 2>"
     "(q, k, w, u, b, , , , s, f, f, f) }",
     "input 8, which tells what is computed, is not known"},
    // 3 of 16 tokens are global: pairs 16*5 + 2*8*3, and 5*16 + 3 projections.
    {"(float[2,8,8] x, float[8,24] w, float[24] b, float[2,8] m, float[8,24] v, float[24] c) => "
     "(float[2,8,8] y) <int32[2,8] f = {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}> "
     "{ y = com.microsoft.LongformerAttention<num_heads = 2, window = 2>(x, w, b, m, v, c, f) }",
     "mac=7360 add=1432 mul=256 div=256 cmp=256 exp=256"},
    // No pictures: what has no channels is left as it is, and refused as by MaxPool.
    {"(float x) => (float y) { y = com.microsoft.NhwcMaxPool<kernel_shape = [2]>(x) }", "rank"},
    {"(float[5] x) => (float[5] y) { y = com.microsoft.NhwcMaxPool<kernel_shape = [2]>(x) }",
     "rank"},
};

// The cost of the node, or why there is none.
std::string CostOf(const char* text) {
  const absl::StatusOr<onnx::ModelProto> proto = ParsePart(text);
  if (!proto.ok()) return proto.status().ToString();
  const absl::StatusOr<Model> model = LoadFromBytes(proto->SerializeAsString());
  if (!model.ok()) return model.status().ToString();
  const absl::StatusOr<Inference> inference = Infer(*model);
  if (!inference.ok()) return inference.status().ToString();
  const absl::StatusOr<Counts> counts = Count(*inference);
  if (!counts.ok()) return counts.status().ToString();
  if (counts->unknown > 0) return counts->unknown_items[0].reason;
  Cost cost;
  cost.flops = counts->total.flops;
  cost.int_ops = counts->total.int_ops;
  return cost.ToString();
}

TEST(ContribNodesTest, CostWhatTheirPartsAddUpTo) {
  for (const NodeCost& node : kNodes) {
    SCOPED_TRACE(node.text);
    const std::string found = CostOf(node.text);
    if (absl::StartsWith(node.cost, "mac=")) {
      EXPECT_EQ(found, node.cost);
    } else {
      EXPECT_THAT(found, testing::HasSubstr(node.cost));
    }
  }
}

}  // namespace
}  // namespace onnxflops::contrib_shapes_test
