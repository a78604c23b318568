// Random Loops, Scans and Ifs on known tensors, against what ONNX Runtime gives: sizes, whole
// numbers, and the floating-point additions of all trips, which the bodies count themselves
// (tools/export/loop_truth.py wrote data/loop_truth.jsonl).
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "onnx/onnx_pb.h"
#include "ops/content.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "tests/infer/runtime_truth.h"

namespace onnxflops::loop_truth_test {
namespace {

using Json = nlohmann::json;

// What was compared, and what was left open.
struct Seen {
  int graphs = 0, sizes = 0, open_sizes = 0, elements = 0, open_elements = 0, open_work = 0;
};

void ExpectSizes(const Fact& fact, const Json& sizes, int64_t n, Seen* seen) {
  if (!fact.is_tensor() || !fact.shape.ranked()) {
    seen->open_sizes += static_cast<int>(sizes.size());
    return;
  }
  ASSERT_EQ(fact.shape.rank(), static_cast<int>(sizes.size())) << fact.shape.ToString();
  for (int d = 0; d < fact.shape.rank(); ++d) {
    const std::optional<int64_t> size = ValueAtN(fact.shape[d], n);
    ++(size.has_value() ? seen->sizes : seen->open_sizes);
    const int64_t expected = sizes[static_cast<size_t>(d)].get<int64_t>();
    EXPECT_EQ(size.value_or(expected), expected) << fact.shape.ToString();
  }
}

void ExpectElements(const Fact& fact, const Json& elements, int64_t n, Seen* seen) {
  for (size_t i = 0; i < elements.size(); ++i) {
    const Scalar element = ElementAt(fact, static_cast<int64_t>(i));
    const std::optional<int64_t> value = element.is_int() ? ValueAtN(element.i, n) : std::nullopt;
    ++(value.has_value() ? seen->elements : seen->open_elements);
    if (!value.has_value()) continue;
    EXPECT_EQ(*value, elements[i].get<int64_t>()) << "element " << i;
  }
}

// The additions of all trips: the second output. Where a branch is open the larger one is counted,
// and a warning says so.
void ExpectWork(const Counts& counts, const Json& outputs, int64_t n, Seen* seen) {
  const std::optional<int64_t> adds = counts.unknown > 0 || !counts.warnings.empty()
                                          ? std::nullopt
                                          : ValueAtN(counts.total.flops[Kind::kAdd], n);
  seen->open_work += adds.has_value() ? 0 : 1;
  if (!adds.has_value()) return;
  EXPECT_EQ(*adds, outputs[1]["elements"][0].get<int64_t>());
}

void Compare(const Json& truth, const onnx::ModelProto& proto, int64_t n, Seen* seen) {
  SCOPED_TRACE(truth["graph"].get<std::string>());
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Inference> inference = Infer(*model);
  ASSERT_TRUE(inference.ok()) << inference.status();
  const absl::StatusOr<Counts> counts = Count(*inference);
  ASSERT_TRUE(counts.ok()) << counts.status();
  ++seen->graphs;
  const auto& found = inference->model->graphs[0].outputs;
  for (size_t i = 0; i < found.size(); ++i) {
    const Json& expected = truth["outputs"][i];
    ExpectSizes(*inference->FactOf(found[i]), expected["sizes"], n, seen);
    ExpectElements(*inference->FactOf(found[i]), expected["elements"], n, seen);
  }
  ExpectWork(*counts, truth["outputs"], n, seen);
}

TEST(LoopTruthTest, OutputsAndWorkAreThoseOfTheRuntime) {
  Seen seen;
  for (const Json& truth : TruthsOf("loop_truth.jsonl"))
    Compare(truth, ModelOfTruth(truth), 0, &seen);
  EXPECT_EQ(seen.graphs, 400);
  // A change of these numbers is something gained or lost.
  EXPECT_EQ(seen.sizes, 1010);
  EXPECT_EQ(seen.open_sizes, 2);
  EXPECT_EQ(seen.elements, 967);
  EXPECT_EQ(seen.open_elements, 407);
  EXPECT_EQ(seen.open_work, 5);
}

// The constant of one number that gives the trips of the outer Loop, as the size N of an input.
// Returns the number; nullopt where there is none, or it is 0.
std::optional<int64_t> OpenTrips(onnx::GraphProto* graph) {
  std::string trips;
  for (const onnx::NodeProto& node : graph->node()) {
    if (node.op_type() == "Loop") trips = node.input(0);
  }
  for (onnx::NodeProto& node : *graph->mutable_node()) {
    if (trips.empty() || node.output(0) != trips) continue;
    const int64_t n = node.attribute(0).i();
    if (n < 1) return std::nullopt;
    node.set_op_type("Size");
    node.clear_attribute();
    node.add_input("of N");
    AddInputOfN("of N", graph);
    return n;
  }
  return std::nullopt;
}

TEST(LoopTruthTest, OpenTripsHoldForTheirNumber) {
  Seen seen;
  for (const Json& truth : TruthsOf("loop_truth.jsonl")) {
    onnx::ModelProto model = ModelOfTruth(truth);
    const std::optional<int64_t> n = OpenTrips(model.mutable_graph());
    if (n.has_value()) Compare(truth, model, *n, &seen);
  }
  EXPECT_EQ(seen.graphs, 165);
  EXPECT_EQ(seen.sizes, 289);
  EXPECT_EQ(seen.open_sizes, 188);
  EXPECT_EQ(seen.elements, 105);
  EXPECT_EQ(seen.open_elements, 766);
  EXPECT_EQ(seen.open_work, 113);
}

}  // namespace
}  // namespace onnxflops::loop_truth_test
