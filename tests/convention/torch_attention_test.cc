// Runs of nn.MultiheadAttention in a dynamo export: where they begin and end, and what is to be
// known of them. Each program is a few calls of the module, as PyTorch's forward() makes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/convention/torch/trace.h"
#include "tests/convention/torch_figures.h"
#include "tests/convention/torch_maker.h"

namespace onnxflops::convention::torch_attention_test {
namespace {

using testing::ElementsAre;

class Program : public TorchMaker {
 public:
  explicit Program(const std::string& class_name = Nn("activation.MultiheadAttention"))
      : class_name_(class_name) {
    Input("x", {"7", "2", "8"}).Input("first", {"2", "7", "8"});
    Weight("w", {8, 8}).Weight("b", {8}).Weight("mask", {7, 7});
    Input("q3", {"8", "7", "4"}).Input("k3", {"8", "4", "7"}).Input("v3", {"8", "7", "4"});
  }

  // The batch, put second.
  Program& Turn(const std::vector<int64_t>& perm = {1, 0, 2}) {
    Call("transpose", "Transpose", {"first"});
    Ints("perm", perm);
    return *this;
  }
  Program& Linear(bool bias = true) {
    const std::string name = Name("linear"), args = bias ? "%x, %p_w, %p_b" : "%x, %p_w";
    Node(name, "MatMul", {"x", "w"}, {name + "0"});
    From(class_name_, name, args);
    if (!bias) return *this;
    Node(name + "+", "Add", {name + "0", "b"}, {name});
    From(class_name_, name, args);
    return *this;
  }
  // Of so many heads.
  Program& Attend(const std::string& heads, bool mask = false) {
    const std::string name = Name("scaled_dot_product_attention");
    Input("q" + name, {"2", heads, "7", "4"}).Input("k" + name, {"2", heads, "4", "7"});
    Input("v" + name, {"2", heads, "7", "4"});
    const auto step = [&](const char* type, const Strings& inputs, const std::string& output) {
      Node(output, type, inputs, {output});
      From(class_name_, name, "%q, %k, %v");
    };
    step("MatMul", {"q" + name, "k" + name}, name + "1");
    if (mask) step("Add", {name + "1", "mask"}, name + "2");
    step("Softmax", {name + (mask ? "2" : "1")}, name + "3");
    step("MatMul", {name + "3", "v" + name}, name);
    return *this;
  }
  // As need_weights does: products of [batch * heads, length, size].
  Program& AttendByProducts(bool mask = false) {
    const std::string product = Name(mask ? "baddbmm" : "bmm");
    Call(product, "MatMul", {"q3", "k3"});
    Call("softmax", "Softmax", {product});
    return Call("bmm", "MatMul", {node->name(), "v3"});
  }
  Program& Call(const std::string& aten, const std::string& type, const Strings& inputs) {
    const std::string name = aten.find('_') == std::string::npos ? Name(aten) : aten;
    Node(name, type, inputs, {name});
    From(class_name_, name, "%x");
    return *this;
  }
  // A call of another module.
  Program& Other(const char* type) {
    const std::string name = Name("relu");
    Node(name, type, {"x"}, {name});
    Scopes(absl::StrCat("['', 'other', '", name, "']"),
           absl::StrCat("['net.Net', 'net.Block', 'aten.relu.default']"));
    Metadata("pkg.torch.onnx.fx_node", "");
    return *this;
  }

 private:
  std::string Name(const std::string& base) { return absl::StrCat(base, "_", ++number_); }

  std::string class_name_;
  int number_ = 0;
};

// "0-4 packed, batch first, fast, 4 heads".
std::vector<std::string> Runs(const Program& program) {
  const Model model = program.Load().value();
  const Inference inference = Infer(model).value();
  const Counts counts = Count(inference).value();
  Evidence evidence(inference, counts);
  std::vector<std::string> runs;
  for (const TorchAttention& a : evidence.torch_trace().attentions) {
    runs.push_back(
        absl::StrCat(a.first_call, "-", a.end_call, a.is_packed ? " packed" : "",
                     a.batch_first ? ", batch first" : "",
                     a.fast_path.key() == OpenFact<bool>::Stated(true).key() ? ", fast" : "", ", ",
                     a.heads.ToString(), " heads", a.in_proj == nullptr ? ", no projection" : ""));
  }
  return runs;
}

TEST(TorchAttentionTest, WhatTakesTheFastPath) {
  EXPECT_THAT(Runs(Program().Turn().Linear().Attend("4").Linear()),
              ElementsAre("0-4 packed, batch first, fast, 4 heads"));
  // Not with the batch second, three inputs, no bias, a mask, or heads in odd number.
  EXPECT_THAT(Runs(Program().Linear().Attend("4").Linear()), ElementsAre("0-3 packed, 4 heads"));
  EXPECT_THAT(Runs(Program().Turn({1, 2, 0}).Linear().Attend("4").Linear()),
              ElementsAre("0-4 packed, 4 heads"));
  EXPECT_THAT(Runs(Program().Turn().Linear().Linear().Linear().Attend("4").Linear()),
              ElementsAre("0-6, batch first, 4 heads"));
  EXPECT_THAT(Runs(Program().Turn().Linear(false).Attend("4").Linear()),
              ElementsAre("0-4 packed, batch first, 4 heads"));
  EXPECT_THAT(Runs(Program().Turn().Linear().Attend("4", true).Linear()),
              ElementsAre("0-4 packed, batch first, 4 heads"));
  EXPECT_THAT(Runs(Program().Turn().Linear().Attend("3").Linear()),
              ElementsAre("0-4 packed, batch first, 3 heads"));
  EXPECT_THAT(Runs(Program().Turn().Linear().Attend("6").Linear()),
              ElementsAre("0-4 packed, batch first, fast, 6 heads"));
}

// Eight products for a batch of two are four heads.
TEST(TorchAttentionTest, HeadsOfProductsOfThreeDimensions) {
  EXPECT_THAT(Runs(Program().Turn().Linear().AttendByProducts().Linear()),
              ElementsAre("0-6 packed, batch first, fast, 4 heads"));
  EXPECT_THAT(Runs(Program().Turn().Linear().AttendByProducts(true).Linear()),
              ElementsAre("0-6 packed, batch first, 4 heads"));
  EXPECT_THAT(Runs(Program().Turn().Linear().Call("softmax", "Softmax", {"mask"}).Linear()),
              ElementsAre("0-4 packed, batch first, 1 heads"));
}

// A run ends with the linear layer behind the attention, or before the next one.
TEST(TorchAttentionTest, WhereRunsBeginAndEnd) {
  EXPECT_THAT(Runs(Program().Linear().Attend("4").Linear().Linear().Attend("2").Linear()),
              ElementsAre("0-3 packed, 4 heads", "3-6 packed, 2 heads"));
  EXPECT_THAT(Runs(Program().Linear().Attend("4").Linear().Call("relu", "Relu", {"x"})),
              ElementsAre("0-4 packed, 4 heads"));
  EXPECT_THAT(Runs(Program().Linear()), ElementsAre("0-1 packed, 1 heads"));
  EXPECT_THAT(Runs(Program().Attend("4")), ElementsAre("0-1, 1 heads, no projection"));
  EXPECT_THAT(Runs(Program("net.Block").Linear().Attend("4").Linear()), ElementsAre());
  // What stands between: free work does not end a run, other work does.
  EXPECT_THAT(Runs(Program().Linear().Other("Identity").Attend("4").Linear()),
              ElementsAre("0-4 packed, 4 heads"));
  EXPECT_THAT(Runs(Program().Linear().Other("Relu").Attend("4").Linear()),
              ElementsAre("0-1 packed, 1 heads", "2-4, 1 heads, no projection"));
  // Behind the whole, free work does as well.
  EXPECT_THAT(
      Runs(Program().Linear().Attend("4").Linear().Other("Identity").Call("relu", "Relu", {"x"})),
      ElementsAre("0-3 packed, 4 heads", "4-5, 1 heads, no projection"));
}

// Of two runs of one module, the first one's output is turned where the second begins.
TEST(TorchAttentionTest, TheNextRunOfAModuleHasTheBatchFirstAsWell) {
  EXPECT_THAT(Runs(Program().Turn().Linear().Attend("4").Linear().Linear().Attend("4").Linear()),
              ElementsAre("0-4 packed, batch first, fast, 4 heads",
                          "4-7 packed, batch first, fast, 4 heads"));
}

TEST(TorchAttentionTest, WhichCallsARunHas) {
  Program program;
  program.Linear().Other("Identity").Attend("4").Linear().Other("Relu");
  const Model model = program.Load().value();
  const Inference inference = Infer(model).value();
  const Counts counts = Count(inference).value();
  Evidence evidence(inference, counts);
  const TorchTrace& trace = evidence.torch_trace();
  EXPECT_THAT(trace.attention_of, ElementsAre(0, -1, 0, 0, -1));
  EXPECT_FALSE(trace.calls[0].is_out_proj);
  EXPECT_TRUE(trace.calls[3].is_out_proj);
  EXPECT_EQ(trace.attentions[0].in_proj, &trace.calls[0]);
}

}  // namespace
}  // namespace onnxflops::convention::torch_attention_test
