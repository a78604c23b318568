// What backward keeps of the examples of all rows where all floating-point inputs need a gradient,
// only the first, and only the last. Each that needs one is multiplied by a parameter before, which
// keeps the input as it was. What PyTorch keeps is in kept_test and step_memory_test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "ops/op_def.h"
#include "src/onnxflops.h"
#include "tests/ops/examples.h"
#include "tests/ops/variants.h"
#include "tests/table.h"

namespace onnxflops::saved_test {
namespace {

std::vector<int> FloatInputs(const onnx::GraphProto& graph) {
  std::vector<int> inputs;
  for (int i = 0; i < graph.input_size(); ++i) {
    const auto& type = graph.input(i).type();
    if (!type.has_tensor_type()) continue;
    if (IsFloat(static_cast<DType>(type.tensor_type().elem_type()))) inputs.push_back(i);
  }
  return inputs;
}

// The input, times a parameter of its own.
void MultiplyInput(int i, onnx::GraphProto* graph) {
  onnx::ValueInfoProto* input = graph->mutable_input(i);
  const std::string name = input->name();
  onnx::TensorProto* p = graph->add_initializer();
  p->set_name(name + ".weight");
  p->add_dims(1);
  p->set_data_type(input->type().tensor_type().elem_type());
  p->set_data_location(onnx::TensorProto::EXTERNAL);
  input->set_name("raw_" + name);
  onnx::NodeProto* mul = graph->add_node();
  mul->set_op_type("Mul");
  mul->add_input(input->name());
  mul->add_input(p->name());
  mul->add_output(name);
}

struct Saved {
  Expr bytes, of_inputs;
  bool is_known = false;
  std::string text;  // "64*N, of inputs 16*N", or why there is none
};

Saved SavedOf(onnx::ModelProto proto, const std::vector<int>& trained) {
  for (const int i : trained) MultiplyInput(i, proto.mutable_graph());
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  if (!model.ok()) return {.text = std::string(model.status().message())};
  CountOptions options;
  options.memory.emplace();
  const absl::StatusOr<Report> report = Count(*model, options);
  if (!report.ok()) return {.text = std::string(report.status().message())};
  const auto& memory = *report->memory;
  return {memory.saved_bytes, memory.saved_input_bytes, memory.unknown_saved == 0,
          absl::StrCat(memory.saved_bytes.ToString(), ", of inputs ",
                       memory.saved_input_bytes.ToString(),
                       memory.unknown_saved > 0 ? ", at least" : "")};
}

// More gradients ask for no less.
TEST(SavedTest, MoreGradientsKeepNoLess) {
  int compared = 0;
  for (const auto& [name, e] : NamedExamples()) {
    if (e.def->gradient.formula == nullptr) continue;
    SCOPED_TRACE(name);
    const onnx::ModelProto proto = WithSizes(ExampleModel(e).value());
    const std::vector<int> inputs = FloatInputs(proto.graph());
    if (inputs.empty()) continue;
    const Saved all = SavedOf(proto, inputs);
    for (const int input : inputs) {
      const Saved one = SavedOf(proto, {input});
      if (!all.is_known || !one.is_known) continue;
      EXPECT_TRUE((all.bytes + all.of_inputs - one.bytes - one.of_inputs).AtLeast(0))
          << all.text << " < " << one.text;
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
}

TEST(SavedTest, WritesItsTable) {
  std::vector<std::string> lines;
  for (const auto& [name, e] : NamedExamples()) {
    if (e.def->gradient.formula == nullptr) continue;
    const absl::StatusOr<onnx::ModelProto> proto = ExampleModel(e);
    ASSERT_TRUE(proto.ok()) << proto.status();
    const std::vector<int> inputs = FloatInputs(proto->graph());
    lines.push_back(absl::StrCat("## ", name));
    if (inputs.empty()) continue;
    lines.push_back("all: " + SavedOf(*proto, inputs).text);
    if (inputs.size() == 1) continue;
    lines.push_back("first: " + SavedOf(*proto, {inputs.front()}).text);
    lines.push_back("last: " + SavedOf(*proto, {inputs.back()}).text);
  }
  WriteTable(lines, "example_saved.txt");
}

}  // namespace
}  // namespace onnxflops::saved_test
