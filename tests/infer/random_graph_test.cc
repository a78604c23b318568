// A few hundred random models: counting at given sizes and evaluating the symbolic count there are
// the same, shapes never contradict ONNX's own inference, and parts sum to the total.
#include "tests/infer/random_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "onnx/shape_inference/implementation.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "src/module/module_tree.h"
#include "tests/sample.h"

namespace onnxflops::random_graph_test {
namespace {

constexpr uint32_t kGraphs = 600;

const Bindings kSizes[] = {
    {{"batch", 1}, {"seq", 1}, {"height", 1}, {"width", 1}},
    {{"batch", 2}, {"seq", 5}, {"height", 7}, {"width", 4}},
    {{"batch", 3}, {"seq", 16}, {"height", 33}, {"width", 20}},
};

std::string ValueOf(const absl::StatusOr<absl::int128>& value) {
  return value.ok() ? Int128ToString(*value) : value.status().ToString();
}

// ---- Static count == symbolic count, evaluated

void ExpectSameTally(const Tally& open, const Tally& bound, const Bindings& sizes) {
  for (int i = 0; i < kNumKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    EXPECT_EQ(ValueOf(open.flops[kind].Evaluate(sizes)), bound.flops[kind].ToString())
        << KindName(kind);
    EXPECT_EQ(ValueOf(open.int_ops[kind].Evaluate(sizes)), bound.int_ops[kind].ToString())
        << "int_" << KindName(kind);
  }
  for (const Quantity& q : kQuantities) {
    EXPECT_EQ(ValueOf((open.amounts.*q.value).Evaluate(sizes)), (bound.amounts.*q.value).ToString())
        << q.key;
  }
}

// ---- Parts == total

void ExpectPartsSumUp(const Inference& inference, const Counts& counts) {
  Expr flops, macs;
  for (const auto& [op, tally] : counts.by_op) {
    flops += tally.amounts.flops;
    macs += tally.amounts.macs;
  }
  EXPECT_EQ(flops.ToString(), counts.total.amounts.flops.ToString());
  EXPECT_EQ(macs.ToString(), counts.total.amounts.macs.ToString());
  const ModuleTree tree = BuildModules(inference, counts).value();
  std::vector<Expr> children(tree.modules.size());
  for (const Module& module : tree.modules) {
    if (module.parent >= 0) children[static_cast<size_t>(module.parent)] += module.amounts->flops;
  }
  EXPECT_EQ(tree.modules[0].amounts->flops.ToString(), counts.total.amounts.flops.ToString());
  for (size_t i = 0; i < tree.modules.size(); ++i) {
    if (tree.modules[i].end == static_cast<int32_t>(i) + 1) continue;
    EXPECT_EQ(children[i].ToString(), tree.modules[i].amounts->flops.ToString())
        << tree.modules[i].path;
  }
}

// ---- ONNX's own inference as a second opinion

onnx::ModelProto WithSizes(onnx::ModelProto model, const Bindings& sizes) {
  for (onnx::ValueInfoProto& input : *model.mutable_graph()->mutable_input()) {
    auto* type = input.mutable_type()->mutable_tensor_type();
    for (auto& dim : *type->mutable_shape()->mutable_dim()) {
      if (dim.has_dim_param()) dim.set_dim_value(sizes.at(dim.dim_param()));
    }
  }
  return model;
}

// What ONNX says of the values of the main graph.
std::map<std::string, onnx::TypeProto::Tensor> OfficialTypes(onnx::ModelProto model) {
  std::map<std::string, onnx::TypeProto::Tensor> types;
  try {
    const onnx::ShapeInferenceOptions options(/*check_type=*/true, /*strict_mode=*/0,
                                              /*data_prop=*/true);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
  for (const auto* values : {&model.graph().value_info(), &model.graph().output()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      if (value.type().has_tensor_type()) types[value.name()] = value.type().tensor_type();
    }
  }
  return types;
}

// Compares where ONNX knows, and returns how many dimensions that were.
int ExpectNoContradiction(const onnx::ModelProto& model, const Inference& inference,
                          const Bindings& sizes) {
  const auto official = OfficialTypes(model);
  int compared = 0;
  const Graph& graph = inference.model->graphs[0];
  for (ValueId v = graph.first_value; v < graph.end_value; ++v) {
    const std::string name(inference.model->value(v).name);
    const auto found = official.find(name);
    if (found == official.end() || inference.FactOf(v) == nullptr) continue;
    const Fact& fact = *inference.FactOf(v);
    EXPECT_EQ(static_cast<int>(fact.dtype), found->second.elem_type()) << name;
    if (!found->second.has_shape()) continue;
    const auto& shape = found->second.shape();
    EXPECT_TRUE(fact.shape.ranked() && fact.shape.rank() == shape.dim_size()) << fact.ToString();
    for (int d = 0; d < std::min(fact.shape.rank(), shape.dim_size()); ++d) {
      const auto& dim = shape.dim(d);
      if (!dim.has_dim_value() && sizes.count(dim.dim_param()) == 0) continue;
      const int64_t size = dim.has_dim_value() ? dim.dim_value() : sizes.at(dim.dim_param());
      // No size of these models is 0: ONNX makes one of an unknown size of Attention's values.
      if (size == 0) continue;
      EXPECT_EQ(ValueOf(fact.shape[d].Evaluate(sizes)), std::to_string(size))
          << name << ", dimension " << d << " of " << fact.ToString();
      ++compared;
    }
  }
  return compared;
}

// ---- One model

struct Counted {
  Inference inference;
  Counts counts;
};

absl::StatusOr<Counted> CountModel(const Model& model, const Bindings& dims) {
  absl::StatusOr<Inference> inference = Infer(model, {.dims = dims});
  if (!inference.ok()) return inference.status();
  absl::StatusOr<Counts> counts = Count(*inference);
  if (!counts.ok()) return counts.status();
  return Counted{*std::move(inference), *std::move(counts)};
}

// Returns how many dimensions ONNX knew.
int Check(const onnx::ModelProto& proto) {
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return 0;
  const absl::StatusOr<Counted> open = CountModel(*model, {});
  EXPECT_TRUE(open.ok()) << open.status();
  if (!open.ok()) return 0;
  for (const UnknownItem& item : open->counts.unknown_items) {
    ADD_FAILURE() << item.op << ": " << item.reason;
  }
  ExpectPartsSumUp(open->inference, open->counts);
  int compared = ExpectNoContradiction(proto, open->inference, kSizes[1]);
  for (const Bindings& sizes : kSizes) {
    Bindings dims;
    for (const SymbolOrigin& symbol : open->inference.symbols) {
      EXPECT_EQ(sizes.count(symbol.name), 1u) << symbol.name;
      dims[symbol.name] = sizes.at(symbol.name);
    }
    SCOPED_TRACE("batch " + std::to_string(sizes.at("batch")));
    const absl::StatusOr<Counted> bound = CountModel(*model, dims);
    EXPECT_TRUE(bound.ok()) << bound.status();
    if (!bound.ok()) continue;
    ExpectSameTally(open->counts.total, bound->counts.total, dims);
    ExpectPartsSumUp(bound->inference, bound->counts);
    compared += ExpectNoContradiction(WithSizes(proto, sizes), bound->inference, {});
  }
  return compared;
}

TEST(RandomGraphTest, SymbolicEqualsStaticAndAgreesWithOnnx) {
  int compared = 0;
  std::map<std::string, int> families;
  Sample sample;
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    if (!sample.Next()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph graph(seed);
    compared += Check(graph.Build());
    for (const auto& [family, times] : graph.families()) families[family] += times;
    if (HasFailure()) break;  // one model is enough to read
  }
  if (!Sample::IsAll()) return;
  // Nothing of this is idle.
  EXPECT_EQ(families.size(), 41u);
  for (const auto& [family, times] : families) EXPECT_GE(times, 20) << family;
  EXPECT_GE(compared, 40'000);
}

}  // namespace
}  // namespace onnxflops::random_graph_test
