// Totals, added up again: node by node, body by body, from what each call costs by itself. Of the
// examples of all rows, of random loops, and of models, with the bound on their time.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "tests/infer/runtime_truth.h"
#include "tests/ops/examples.h"
#include "tests/ops/quantities.h"

namespace onnxflops::recount_test {
namespace {

constexpr Roofline kRoofline = {.zs_per_operation = 3, .zs_per_byte = 1000};

// Sums by the names of QuantitiesOf, and nodes by what is known of them.
struct Sums {
  std::map<std::string, Expr> amounts;
  int64_t nodes = 0, counted = 0, free = 0, unknown = 0, causal = 0;
};

// Of shape arithmetic only contractions and bytes count, and it takes no time.
std::map<std::string, Expr> WithoutShapeWork(std::map<std::string, Expr> amounts) {
  const Expr macs = amounts["mac"], int_macs = amounts["int_mac"];
  for (int i = 0; i < kNumKinds; ++i) {
    const auto kind = KindName(static_cast<Kind>(i));
    amounts[absl::StrCat(kind)] = amounts[absl::StrCat("int_", kind)] = 0;
  }
  amounts["mac"] = macs;
  amounts["int_mac"] = int_macs;
  amounts["flops"] = 2 * macs;
  amounts["int_ops"] = 2 * int_macs;
  amounts["other_flops"] = amounts["time_bound_seconds"] = amounts["time_estimate_seconds"] = 0;
  if (amounts["foldable_flops"] != Expr(0)) amounts["foldable_flops"] = 2 * macs;
  return amounts;
}

class Recount {
 public:
  Recount(const Inference& inference, const Counts& counts) : in_(inference), counts_(counts) {}

  const Sums& Of(InstanceId id) {
    const auto known = known_.find(id);
    if (known != known_.end()) return known->second;
    Sums sums;
    const Instance& instance = in_.instance(id);
    for (size_t i = 0; i < instance.calls.size(); ++i) {
      const bool shape_work = !instance.shape_work.empty() && instance.shape_work[i];
      AddCall(instance.calls[i], shape_work, &sums);
    }
    return known_.emplace(id, std::move(sums)).first->second;
  }

 private:
  void AddCall(CallId id, bool shape_work, Sums* sums) {
    const Call& call = in_.call(id);
    const CallCost& cost = counts_.cost(id);
    std::map<std::string, Expr> amounts = QuantitiesOf(cost.own());
    ExpectConsistent(call, cost, amounts);
    for (size_t b = 0; b < call.bodies.size(); ++b) {
      if (cost.body_times[b] == Expr(0)) continue;
      const Sums& body = Of(call.bodies[b].instance);
      for (const auto& [name, value] : body.amounts) {
        amounts[name] += value * cost.body_times[b];
      }
    }
    if (call.constant) amounts["foldable_flops"] = amounts["flops"];
    if (shape_work) amounts = WithoutShapeWork(std::move(amounts));
    for (const auto& [name, value] : amounts) sums->amounts[name] += value;
    AddNode(cost, shape_work && amounts["macs"] == Expr(0), sums);
    for (const BodyRun& run : call.shown_bodies()) AddNodes(Of(run.instance), sums);
  }

  // What follows from the census, and what is said of the node.
  void ExpectConsistent(const Call& call, const CallCost& cost,
                        const std::map<std::string, Expr>& amounts) const {
    const Tally& own = cost.own();
    EXPECT_EQ(own.amounts.flops, own.flops.Ops());
    EXPECT_EQ(own.amounts.other_flops, own.flops.Other());
    EXPECT_EQ(own.amounts.int_ops, own.int_ops.Ops());
    EXPECT_EQ(own.amounts.macs, amounts.at("mac") + amounts.at("int_mac"));
    EXPECT_EQ(own.lower_bound, cost.coverage == Coverage::kUnknown);
    EXPECT_EQ(cost.coverage == Coverage::kUnknown, !cost.problem.ok());
    const bool timed = !call.constant && call.def != nullptr;
    const TimedWork work = TimedWorkOf(in_, call, own);
    const Expr time = kRoofline.TimeOf(work.operations, work.bytes_read + work.bytes_written);
    const Expr all = timed ? kRoofline.ComputeTime(2 * own.amounts.macs) : Expr(0);
    EXPECT_FALSE(ProvablyLess(all, own.amounts.time_bound).value_or(false));
    EXPECT_EQ(own.amounts.time_estimate, timed ? time : Expr(0));
    if (call.choose_larger) {
      EXPECT_EQ(cost.body_times[0] + cost.body_times[1], Expr(1));
      return;
    }
    for (size_t b = 0; b < call.bodies.size() && cost.problem.ok(); ++b) {
      EXPECT_EQ(cost.body_times[b], call.bodies[b].counted ? call.bodies[b].times : Expr(0));
    }
  }

  static void AddNode(const CallCost& cost, bool is_shape_work, Sums* sums) {
    ++sums->nodes;
    sums->causal += cost.causal ? 1 : 0;
    if (cost.coverage == Coverage::kUnknown) {
      ++sums->unknown;
    } else if (cost.coverage == Coverage::kFree || is_shape_work) {
      ++sums->free;
    } else {
      ++sums->counted;
    }
  }

  static void AddNodes(const Sums& body, Sums* sums) {
    sums->nodes += body.nodes;
    sums->counted += body.counted;
    sums->free += body.free;
    sums->unknown += body.unknown;
    sums->causal += body.causal;
  }

  const Inference& in_;
  const Counts& counts_;
  std::map<InstanceId, Sums> known_;
};

void ExpectRecount(const absl::StatusOr<Model>& model) {
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Inference> inference = Infer(*model);
  ASSERT_TRUE(inference.ok()) << inference.status();
  const absl::StatusOr<Counts> counts = Count(*inference, CausalCounting::kFull, kRoofline);
  if (!counts.ok()) return;  // the time of a loop that grows may have no closed form
  Recount recount(*inference, *counts);
  Sums sums = recount.Of(0);
  for (const auto& [name, value] : QuantitiesOf(counts->total)) {
    EXPECT_EQ(sums.amounts[name], value) << name;
  }
  EXPECT_EQ(sums.nodes, counts->nodes);
  EXPECT_EQ(sums.counted, counts->counted);
  EXPECT_EQ(sums.free, counts->free);
  EXPECT_EQ(sums.unknown, counts->unknown);
  EXPECT_EQ(sums.causal, counts->causal);
  EXPECT_EQ(counts->total.lower_bound, counts->unknown > 0);
}

TEST(RecountTest, Examples) {
  for (const auto& [name, example] : NamedExamples()) {
    SCOPED_TRACE(name);
    ExpectRecount(LoadFromBytes(ExampleModel(example).value().SerializeAsString()));
  }
}

TEST(RecountTest, RandomLoops) {
  for (const auto& truth : TruthsOf("loop_truth.jsonl")) {
    SCOPED_TRACE(truth["graph"].get<std::string>());
    ExpectRecount(LoadFromBytes(ModelOfTruth(truth).SerializeAsString()));
  }
}

TEST(RecountTest, Models) {
  int models = 0;
  for (const auto& file : std::filesystem::directory_iterator(ONNXFLOPS_SOURCE_DIR "/models")) {
    if (file.path().extension() != ".onnx") continue;
    SCOPED_TRACE(file.path().filename().string());
    ExpectRecount(LoadFile(file.path().string()));
    ++models;
  }
  EXPECT_GT(models, 3);
}

}  // namespace
}  // namespace onnxflops::recount_test
