// Examples of which less is known: sizes of an input are symbols, its rank is open, or a tensor
// that was stored is given at run time. What is still known is what all of it would give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "onnx/onnx_pb.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "src/symbolic/expr.h"
#include "tests/model_text.h"
#include "tests/ops/examples.h"
#include "tests/ops/variants.h"

namespace onnxflops::open_sizes_test {
namespace {

struct Figures {
  std::vector<Fact> outputs;
  std::optional<Expr> flops,
      int_ops;  // of the graph; nullopt where the cost of a node is not known
};

absl::StatusOr<Figures> FiguresOf(const onnx::ModelProto& proto) {
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  if (!model.ok()) return model.status();
  const absl::StatusOr<Inference> inference = Infer(*model);
  if (!inference.ok()) return inference.status();
  const absl::StatusOr<Counts> counts = Count(*inference);
  if (!counts.ok()) return counts.status();
  Figures figures;
  for (const ValueId output : inference->model->graphs[0].outputs) {
    figures.outputs.push_back(*inference->FactOf(output));
  }
  if (counts->unknown == 0) {
    figures.flops = counts->total.amounts.flops;
    figures.int_ops = counts->total.amounts.int_ops;
  }
  return figures;
}

// What was compared: where nothing is known of an open input, there is nothing to compare.
struct Compared {
  int sizes = 0, ranks = 0, amounts = 0;
};

// Equal, unless symbols without a size are left.
void ExpectSame(const Expr& open, const Expr& known, const Bindings& sizes, const std::string& what,
                int* compared) {
  const absl::StatusOr<absl::int128> size = open.Evaluate(sizes);
  if (!size.ok() || !known.is_literal()) return;
  ++*compared;
  EXPECT_EQ(Int128ToString(*size), known.ToString()) << what << " by " << open.ToString();
}

// Where the tensor that is not known decides what runs, the most that may run is counted: the
// larger branch, and sequences that fill the padded length or all blocks of their table.
bool CountsTheMost(const onnx::ModelProto& model) {
  const std::string& op = model.graph().node(0).op_type();
  return op == "If" || op == "PackedAttention" || op == "PagedAttention";
}

void ExpectSameShape(const Fact& open, const Fact& known, const Bindings& sizes,
                     Compared* compared) {
  if (!open.is_tensor() || !known.is_tensor()) return;
  EXPECT_EQ(open.dtype, known.dtype);
  if (!open.shape.ranked() || !known.shape.ranked()) return;
  ASSERT_EQ(open.shape.rank(), known.shape.rank());
  ++compared->ranks;
  for (int i = 0; i < known.shape.rank(); ++i) {
    ExpectSame(open.shape[i], known.shape[i], sizes, absl::StrCat("dimension ", i),
               &compared->sizes);
  }
}

void ExpectAgrees(const onnx::ModelProto& proto, const Figures& known, const Bindings& sizes,
                  Compared* compared) {
  const absl::StatusOr<Figures> open = FiguresOf(proto);
  ASSERT_TRUE(open.ok()) << open.status();
  ASSERT_EQ(open->outputs.size(), known.outputs.size());
  for (size_t i = 0; i < known.outputs.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("output ", i));
    ExpectSameShape(open->outputs[i], known.outputs[i], sizes, compared);
  }
  if (!open->flops.has_value() || !known.flops.has_value()) return;
  if (CountsTheMost(proto) && (*open->flops - *known.flops).AtLeast(0)) return;
  ExpectSame(*open->flops, *known.flops, sizes, "FLOPs", &compared->amounts);
  ExpectSame(*open->int_ops, *known.int_ops, sizes, "integer operations", &compared->amounts);
}

// Calls `check` with each example and its figures.
template <typename Check>
void ForEachExample(Check check) {
  for (const Example& e : AllExamples()) {
    SCOPED_TRACE(absl::StrCat(e.domain, ".", e.def->name, ": ", e.example.text));
    const absl::StatusOr<onnx::ModelProto> example = ExampleModel(e);
    ASSERT_TRUE(example.ok()) << example.status();
    const onnx::ModelProto model = WithSizes(*example);
    const absl::StatusOr<Figures> known = FiguresOf(model);
    if (known.ok()) check(model, *known);  // variants_test has those that are refused
  }
}

// Calls `open` with a copy of each example, an input of it that has a shape, and its figures.
template <typename Open>
void ForEachInput(Open open) {
  ForEachExample([&](const onnx::ModelProto& model, const Figures& known) {
    for (int i = 0; i < model.graph().input_size(); ++i) {
      if (!model.graph().input(i).type().has_tensor_type()) continue;
      SCOPED_TRACE(model.graph().input(i).name());
      onnx::ModelProto changed = model;
      open(changed, changed.mutable_graph()->mutable_input(i), known);
    }
  });
}

TEST(OpenSizesTest, SymbolsStandForTheirSizes) {
  Compared compared;
  ForEachInput(
      [&](const onnx::ModelProto& model, onnx::ValueInfoProto* input, const Figures& known) {
        Bindings sizes;
        auto* shape = input->mutable_type()->mutable_tensor_type()->mutable_shape();
        for (int i = 0; i < shape->dim_size(); ++i) {
          if (shape->dim(i).dim_value() == 0) continue;  // symbols of a file are 1 at least
          const std::string name = absl::StrCat("size_", i);
          sizes[name] = shape->dim(i).dim_value();
          shape->mutable_dim(i)->set_dim_param(name);
        }
        ExpectAgrees(model, known, sizes, &compared);
      });
  EXPECT_GT(compared.sizes, 5000);
  EXPECT_GT(compared.amounts, 2500);
}

TEST(OpenSizesTest, AnOpenRankIsNoOtherRank) {
  Compared compared;
  ForEachInput(
      [&](const onnx::ModelProto& model, onnx::ValueInfoProto* input, const Figures& known) {
        input->mutable_type()->mutable_tensor_type()->clear_shape();
        ExpectAgrees(model, known, {}, &compared);
      });
  EXPECT_GT(compared.sizes, 1800);
  EXPECT_GT(compared.ranks, 650);
}

TEST(OpenSizesTest, AnOpenTensorIsNoOtherTensor) {
  Compared compared;
  ForEachExample([&](const onnx::ModelProto& model, const Figures& known) {
    for (int i = 0; i < model.graph().initializer_size(); ++i) {
      const onnx::TensorProto& stored = model.graph().initializer(i);
      SCOPED_TRACE(stored.name());
      onnx::ModelProto changed = model;
      changed.mutable_graph()->mutable_initializer()->DeleteSubrange(i, 1);
      onnx::ValueInfoProto* input = changed.mutable_graph()->add_input();
      input->set_name(stored.name());
      auto* type = input->mutable_type()->mutable_tensor_type();
      type->set_elem_type(stored.data_type());
      type->mutable_shape();
      for (const int64_t size : stored.dims())
        type->mutable_shape()->add_dim()->set_dim_value(size);
      ExpectAgrees(changed, known, {}, &compared);
    }
  });
  EXPECT_GT(compared.sizes, 200);
  EXPECT_GT(compared.amounts, 100);
}

// Of a search: the encoder has no such past, and its heads are open.
TEST(OpenSizesTest, APastThatNothingMakesIsUnknown) {
  for (Example e : AllExamples()) {
    if (std::string(e.def->name) != "WhisperBeamSearch") continue;
    const std::string text = absl::StrReplaceAll(
        e.example.text, {{"float[r,1,p,4] past_key_self_0", "float[r,h,p,4] past_key_own_0"},
                         {"(past_key_self_0", "(past_key_own_0"}});
    ASSERT_NE(text, e.example.text);
    e.example.text = text;
    const absl::StatusOr<Figures> figures = FiguresOf(ExampleModel(e).value());
    ASSERT_TRUE(figures.ok()) << figures.status();
    EXPECT_FALSE(figures->flops.has_value());
    return;
  }
  FAIL() << "no example of WhisperBeamSearch";
}

// The FLOPs of the graph, or why they are not known.
std::string FlopsOrReason(const std::string& text) {
  const absl::StatusOr<Inference> inference = Infer(ModelFromText(text, 18));
  if (!inference.ok()) return std::string(inference.status().message());
  const Counts counts = Count(*inference).value();
  if (counts.unknown > 0) return counts.unknown_items.back().reason;
  return counts.total.amounts.flops.ToString();
}

// W has its channels second or last: whichever fits for all sizes, or either where the kernel has
// no part in the size of Y. What is wrong in either is said.
TEST(OpenSizesTest, WeightsOfNhwcConvAreReadAsTheyFit) {
  const auto conv = [](const char* x, const char* w, const char* attributes) {
    return FlopsOrReason(absl::StrCat("g (", x, " X, float", w,
                                      " W) => (float[a,b,c,d] Y) { Y = com.microsoft.NhwcConv",
                                      attributes, "(X, W) }"));
  };
  EXPECT_EQ(conv("float[N,8,8,C]", "[4,C,5,5]", ""), "3200*C*N");
  EXPECT_EQ(conv("float[N,8,8,C]", "[4,5,5,C]", ""), "3200*C*N");
  EXPECT_EQ(conv("float[N,H,W,C]", "[8,3,3,16]", "<auto_pad = \"SAME_UPPER\">"), "2304*H*N*W");
  const char* open = "open sizes do not tell";
  EXPECT_THAT(conv("float[N,H,W,C]", "[8,3,3,16]", ""), testing::HasSubstr(open));
  EXPECT_THAT(conv("float[]", "[8,3,3,16]", ""), testing::HasSubstr("rank"));
  EXPECT_THAT(conv("float[N,H,W,C]", "[8,3,3,16]", "<kernel_shape = [3]>"),
              testing::HasSubstr("kernel_shape has 1 values, not 2"));
  EXPECT_EQ(FlopsOrReason("g (float[2] x, float[8,3,3,16] W, int64[R] r) => (float[a,b,c,d] Y) { "
                          "X = Reshape(x, r) Y = com.microsoft.NhwcConv(X, W) }"),
            "input 0 is not known");
}

// The size of packed values that nothing takes is no symbol.
TEST(OpenSizesTest, WhatNoOutputHasIsNoSymbol) {
  for (const bool has_output : {false, true}) {
    const Model model = ModelFromText(
        absl::StrCat("g (float16[N,1,16] Q, float16[N,1,8] K, float16[N,1,8] V, uint8[N,2,7,2] pk, "
                     "uint8[2] v0, int64[R] r, int32[N] L, float s) => (float16[N,1,16] Y) { "
                     "t = Constant<value = int32 {8}>() pv = Reshape(v0, r) Y, k",
                     has_output ? ", v" : "",
                     " = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, "
                     "k_quant_type = \"PER_TENSOR\", v_quant_type = \"PER_TENSOR\", "
                     "kv_cache_bit_width = 4>(Q, K, V, pk, pv, L, t, , , , , , s, s) }"),
        18);
    const absl::StatusOr<Inference> inference = Infer(model);
    ASSERT_TRUE(inference.ok()) << inference.status();
    std::string names;
    for (const SymbolOrigin& symbol : inference->symbols) absl::StrAppend(&names, symbol.name, " ");
    EXPECT_EQ(absl::StrContains(names, "packed-size"), has_output) << names;
  }
}

}  // namespace
}  // namespace onnxflops::open_sizes_test
