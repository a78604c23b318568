// The gradients of the examples of all rows, by input: data/gradients.txt has the formula of each
// row beside the work that it comes to, for a reader to hold one against the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/count/count.h"
#include "src/infer/infer.h"
#include "src/load/load.h"
#include "src/training/gradient_cost.h"
#include "tests/kept_table.h"
#include "tests/ops/examples.h"

namespace onnxflops {
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

// Of each input alone, of all together, and of all where attention computes its scores again.
std::vector<std::string> GradientsOf(const Inference& inference, const Counts& counts,
                                     CallId call) {
  std::vector<std::string> lines;
  const std::vector<size_t> inputs = FloatInputs(inference, inference.call(call));
  if (inputs.empty()) return lines;
  GradientCosts costs(inference, counts, CausalCounting::kHalf, false);
  GradientCosts flash(inference, counts, CausalCounting::kHalf, true);
  Needed all(inference.call(call).inputs.size(), 0);
  for (const size_t i : inputs) {
    all[i] = 1;
    Needed one(all.size(), 0);
    one[i] = 1;
    lines.push_back(absl::StrCat("input ", i, ": ", WorkOf(costs.Of(call, one))));
  }
  const std::string together = WorkOf(costs.Of(call, all)), again = WorkOf(flash.Of(call, all));
  if (inputs.size() > 1) lines.push_back(absl::StrCat("all: ", together));
  if (again != together) lines.push_back(absl::StrCat("all, flash: ", again));
  return lines;
}

// The lines of the table, below "## OP NUMBER: FORMULA".
std::vector<std::string> AllGradients() {
  std::vector<std::string> lines;
  for (const auto& [name, e] : NamedExamples()) {
    if (e.def->gradient.formula == nullptr) continue;
    const absl::StatusOr<onnx::ModelProto> proto = ExampleModel(e);
    const absl::StatusOr<Model> model = LoadFromBytes(proto->SerializeAsString());
    const absl::StatusOr<Inference> inference = Infer(*model);
    const absl::StatusOr<Counts> counts = Count(*inference);
    lines.push_back(absl::StrCat("## ", name, ": ", e.def->gradient.formula));
    for (const CallId id : inference->instances[0].calls) {
      if (inference->call(id).def != e.def) continue;
      for (std::string& line : GradientsOf(*inference, *counts, id)) {
        lines.push_back(std::move(line));
      }
    }
  }
  return lines;
}

TEST(GradientExamplesTest, AreThoseOfTheTable) { ExpectKept(AllGradients(), "gradients.txt"); }

}  // namespace
}  // namespace onnxflops
