// The gradients of the examples of all rows, by input. The table has the formula of each row with
// the work that it comes to, for a reader to hold one against the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "src/training/gradient_cost.h"
#include "tests/ops/examples.h"
#include "tests/ops/variants.h"
#include "tests/table.h"

namespace onnxflops::gradient_examples_test {
namespace {

using training::GradientCosts;
using training::Needed;

std::string WorkOf(const absl::StatusOr<Census>& census) {
  if (!census.ok()) return std::string(census.status().message());
  Cost cost;
  cost.flops = *census;
  return cost.ToString();
}

// The inputs of a call that may need a gradient.
std::vector<size_t> FloatInputs(const Inference& inference, const Call& call) {
  std::vector<size_t> inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Fact& fact = inference.fact(call.inputs[i]);
    if (fact.is_tensor() && IsFloat(fact.dtype)) inputs.push_back(i);
  }
  return inputs;
}

// Calls f(name, example, inference, counts, call) with the calls of each example's own operator.
template <typename F>
void ForEachCall(bool with_sizes, const F& f) {
  for (const auto& [name, e] : NamedExamples()) {
    if (e.def->gradient.formula == nullptr) continue;
    const onnx::ModelProto example = ExampleModel(e).value();
    const onnx::ModelProto proto = with_sizes ? WithSizes(example) : example;
    const Model model = LoadFromBytes(proto.SerializeAsString()).value();
    const Inference inference = Infer(model).value();
    const Counts counts = Count(inference).value();
    for (const CallId id : inference.instances[0].calls) {
      if (inference.call(id).def == e.def) f(name, e, inference, counts, id);
    }
  }
}

Needed Only(size_t input, size_t count) {
  Needed needed(count, 0);
  needed[input] = 1;
  return needed;
}

Needed AllOf(const std::vector<size_t>& inputs, size_t count) {
  Needed needed(count, 0);
  for (const size_t i : inputs) needed[i] = 1;
  return needed;
}

bool IsNoMore(const Census& part, const Census& whole) {
  bool no_more = true;
  part.ForEach(
      [&](Kind kind, const Expr& work) { no_more = no_more && (whole[kind] - work).AtLeast(0); });
  return no_more;
}

// All inputs together take no less work of any kind than each alone, and no more than all of these:
// what they share is done once. Attention that computes its scores again does no less.
TEST(GradientExamplesTest, PartsAndWholeFit) {
  int compared = 0;
  ForEachCall(true, [&](const auto& name, const auto&, const auto& inference, const auto& counts,
                        CallId call) {
    SCOPED_TRACE(name);
    const size_t count = inference.call(call).inputs.size();
    const std::vector<size_t> inputs = FloatInputs(inference, inference.call(call));
    if (inputs.empty()) return;
    GradientCosts costs(inference, counts, CausalCounting::kHalf, false);
    GradientCosts flash(inference, counts, CausalCounting::kHalf, true);
    const absl::StatusOr<Census> whole = costs.Of(call, AllOf(inputs, count));
    if (!whole.ok()) return;
    Census sum;
    for (const size_t i : inputs) {
      const absl::StatusOr<Census> part = costs.Of(call, Only(i, count));
      if (!part.ok()) return;  // more sequences than tokens
      EXPECT_TRUE(IsNoMore(*part, *whole)) << "input " << i << ": " << WorkOf(part);
      sum += *part;
    }
    EXPECT_TRUE(IsNoMore(*whole, sum)) << WorkOf(*whole) << " of " << WorkOf(sum);
    const absl::StatusOr<Census> again = flash.Of(call, AllOf(inputs, count));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(IsNoMore(*whole, *again)) << WorkOf(again);
    ++compared;
  });
  EXPECT_GT(compared, 200);
}

// Of each input alone, of all together, and of all where attention computes its scores again.
std::vector<std::string> GradientsOf(const Inference& inference, const Counts& counts,
                                     CallId call) {
  std::vector<std::string> lines;
  const size_t count = inference.call(call).inputs.size();
  const std::vector<size_t> inputs = FloatInputs(inference, inference.call(call));
  if (inputs.empty()) return lines;
  GradientCosts costs(inference, counts, CausalCounting::kHalf, false);
  GradientCosts flash(inference, counts, CausalCounting::kHalf, true);
  for (const size_t i : inputs) {
    lines.push_back(absl::StrCat("input ", i, ": ", WorkOf(costs.Of(call, Only(i, count)))));
  }
  const Needed all = AllOf(inputs, count);
  const std::string together = WorkOf(costs.Of(call, all)), again = WorkOf(flash.Of(call, all));
  if (inputs.size() > 1) lines.push_back(absl::StrCat("all: ", together));
  if (again != together) lines.push_back(absl::StrCat("all, flash: ", again));
  return lines;
}

TEST(GradientExamplesTest, WritesItsTable) {
  std::vector<std::string> lines;
  ForEachCall(false, [&](const auto& name, const auto& e, const auto& inference, const auto& counts,
                         CallId call) {
    lines.push_back(absl::StrCat("## ", name, ": ", e.def->gradient.formula));
    for (std::string& line : GradientsOf(inference, counts, call)) lines.push_back(line);
  });
  WriteTable(lines, "gradients.txt");
}

}  // namespace
}  // namespace onnxflops::gradient_examples_test
