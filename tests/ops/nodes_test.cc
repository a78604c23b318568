// Nodes that no example is near of: what they cost and give, worked out by hand, or why they are
// refused or not counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "ops/parts.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"

namespace onnxflops::nodes_test {
namespace {

using testing::HasSubstr;

// "mac=9 add=45: [1, 3]; float32": the census, the shapes of the outputs and the types that are
// multiplied; else why there is none.
std::string OutcomeOf(const onnx::ModelProto& proto) {
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  if (!model.ok()) return std::string(model.status().message());
  const absl::StatusOr<Inference> inference = Infer(*model);
  if (!inference.ok()) return std::string(inference.status().message());
  const absl::StatusOr<Counts> counts = Count(*inference);
  if (!counts.ok()) return std::string(counts.status().message());
  if (counts->unknown > 0) return counts->unknown_items.back().reason;
  Cost cost;
  cost.flops = counts->total.flops;
  cost.int_ops = counts->total.int_ops;
  std::vector<std::string> shapes;
  for (const ValueId output : inference->model->graphs[0].outputs) {
    shapes.push_back(inference->FactOf(output)->shape.ToString());
  }
  std::string types;
  for (const auto& [operands, macs] : counts->total.macs_by_dtype) {
    absl::StrAppend(&types, "; ", operands.ToString());
  }
  return absl::StrCat(cost.ToString(), ": ", absl::StrJoin(shapes, " "), types);
}

onnx::ModelProto ModelOf(absl::string_view graph) {
  const std::string text = absl::StrCat(
      "<ir_version: 10, opset_import: [\"\" : 24, \"ai.onnx.ml\" : 3, \"com.microsoft\" : 1, "
      "\"other\" : 1]> g ",
      graph);
  onnx::ModelProto proto;
  const auto parsed = onnx::OnnxParser::Parse(proto, text.c_str());
  EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage() << "\n" << text;
  return proto;
}

struct Case {
  const char *graph, *outcome;  // a part of it
};

void ExpectOutcomes(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_THAT(OutcomeOf(ModelOf(c.graph)), HasSubstr(c.outcome)) << c.graph;
  }
}

TEST(NodesTest, OfImagesAndWindows) {
  ExpectOutcomes({
      {"(float[1,4,8,8] x, float[4,2,4,4] w) => (float[A,B,C,D] y) <int64[3] p = {1, 1, 1}> "
       "{ y = com.microsoft.ConvTransposeWithDynamicPads(x, w, p) }",
       "Pads has 3 elements, not 4"},
      // 11 places on each axis before the pads.
      {"(float[1,4,8,8] x, float[4,2,4,4] w) => (float[A,B,C,D] y) <int64[4] p = {1, 9, 2, 9}> "
       "{ y = com.microsoft.ConvTransposeWithDynamicPads(x, w, p) }",
       "the output has -7 elements along spatial axis 1"},
      {"(float[1,4,8,8] x, float[4,2,4,4] w) => (float[A,B,C,D] y) <int64[4] p = {1, 9, 2, 2}> "
       "{ y = com.microsoft.ConvTransposeWithDynamicPads(x, w, p) }",
       ": [1, 2, 8, 0]"},
      {"(int32[5,1] x, float[16,1,3,8] w, float[16] b, float[90,8] c) => (float[A,B] y) "
       "{ y = com.microsoft.WordConvEmbedding(x, w, b, c) }",
       "a window of 3 characters on words of 1"},
      {"(float[1,3,8,8] x, float[5,4] b, int32[5] i) => (float[A,B,C,D] y) "
       "<int32[3] s = {2, 3, 4}> { y = com.microsoft.CropAndResize(x, b, i, s) }",
       "crop_size has 3 elements"},
      {"(float[1,1,2,2] x, int64[1,1,2,2] i) => (float[A,B,C,D] y) <int64[3] s = {1, 1, 4}> "
       "{ y = MaxUnpool<kernel_shape = [2, 2]>(x, i, s) }",
       "output_shape has 3 elements, X has rank 4"},
      {"(float[1,1,5,5] x) => (float[A,B,C,D] y) { y = MaxPool<kernel_shape = [2, 0]>(x) }",
       "kernel"},
      {"(float[1,3,5,5] x, float[4,3,0,2] w) => (float[A,B,C,D] y) { y = Conv(x, w) }",
       "the kernel has size 0"},
  });
}

TEST(NodesTest, OfPackedQueriesAndKeys) {
  ExpectOutcomes({
      // K and V in one; 5*7 pairs in 2 heads of 4.
      {"(float[2,5,8] q, float[2,7,2,2,4] k) => (float[A,B,C] y) "
       "{ y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k) }",
       "mac=1120 add=280 mul=140 div=140 cmp=140 exp=140: [2, 5, 8]"},
      // All three in one, without an axis for them.
      {"(float[2,5,24] q) => (float[A,B,C] y) "
       "{ y = com.microsoft.MultiHeadAttention<num_heads = 2>(q) }",
       "mac=800 add=200 mul=100 div=100 cmp=100 exp=100: [2, 5, 8]"},
      {"(float[2,5,8] q, float[2,7,3,2,4] k) => (float[A,B,C] y) "
       "{ y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k) }",
       "num_heads differs: 3 vs 2"},
      {"(float[2,5,8] q, float[2,7,2,3,4] k) => (float[A,B,C] y) "
       "{ y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k) }",
       "packed K, V differs: 3 vs 2"},
      {"(float[2,5,8] q, float[2,7,2,2,3] k) => (float[A,B,C] y) "
       "{ y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k) }",
       "head size of Q and K"},
      {"(float[2,5,8] q, float[2,7,1,2,2,2] k, float[2,7,1,2,2,2] v) => (float[A,B,C] y) "
       "{ y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v) }",
       "input 1 has rank 6"},
      // Two tokens of a decoder, 4 scores, and the bias of all three.
      {"(float[2,1,8] q, float[2,1,8] k, float[2,1,8] v, float[24] b) => (float[A,B,C] y) { y = "
       "com.microsoft.DecoderMaskedMultiHeadAttention<num_heads = 2>(q, k, v, , , , , , , , b) }",
       "mac=32 add=56 mul=4 div=4 cmp=4 exp=4: [2, 1, 8]"},
      // Keys that end before they begin.
      {"(float[2,3,5,4] q, float[2,3,7,4] k, float[2,3,7,4] v) => (float[A,B,C,D] y) "
       "<int64[2] e = {7, -3}> { y = Attention(q, k, v, , , , e) }",
       "input 6 states a length of -3"},
      // A state for each of 5 sequences: as many tokens as they have cost, 48 states and 12
      // outputs.
      {"(float[6,2,4] q, float[6,2,4] k, float[6,4,3] v, float[6,4] d, float[6,4] b, "
       "float[5,4,3,4] p) => (float[A,B,C] o, float[D,E,F,G] s) "
       "{ o, s = com.microsoft.GatedDeltaNet<scale = 0.5>(q, k, v, , d, b, p) }",
       "mac=864 add=360 mul=432 exp=24: [6, 4, 3] [5, 4, 3, 4]"},
  });
}

// Windows of 2: 3 keys wait, 4 come, so that 2 windows are closed and 1 key waits beside the last
// window. 2 heads of 8, rotated as a whole.
TEST(NodesTest, OfIndexersWithWindows) {
  const auto graph = [](const char* length, const char* stored) {
    return absl::StrCat(
        "(float[1,4,16] q, float[1,4,16] k, float[8] qw, float[8] kw, float[64,4] c, float[64,4] "
        "s, float[1,5,8] past, float[2,1,3,16] buffer, int32[1] u) => (int32[A,B,C] i, "
        "float[D,E,F] p, float[G,H,J,K] t) ",
        stored,
        "{ i, p, t = com.microsoft.SparseAttentionIndexer<policy_mode = \"csa\", compress_ratio = "
        "2, index_topk = 2>(q, k, qw, kw, c, s, , past, , , , , ",
        length, ", buffer) }");
  };
  // Slots 2*2*2*8, softmax and 2 add, mul each; 2 + 8 norms and rotations of 8; 4*7 pairs in 2
  // heads: add, 2 mul, cmp; a weight of each head; the 2 best of 7.
  EXPECT_THAT(OutcomeOf(ModelOf(graph("", ""))),
              HasSubstr("mac=448 add=482 mul=504 div=154 cmp=176 exp=64 sqrt=10: [1, 4, 2] "
                        "[1, 7, 8] [2, 1, 3, 16]"));
  // Of 2 entries that are used of 5: 4*4 pairs.
  EXPECT_THAT(OutcomeOf(ModelOf(graph("l", "<int32[1] l = {2}> "))),
              HasSubstr("mac=256 add=458 mul=456 div=154 cmp=128 exp=64 sqrt=10: [1, 4, 2] "
                        "[1, 5, 8] [2, 1, 3, 16]"));
  EXPECT_THAT(OutcomeOf(ModelOf(graph("u", ""))), HasSubstr("past_sequence_length is not known"));
  EXPECT_THAT(OutcomeOf(ModelOf(graph("l", "<int32[1] l = {-2}> "))),
              HasSubstr("input 12 states a length of -2"));
}

TEST(NodesTest, CostWhatTheirLoopsDoOrSayWhyNot) {
  ExpectOutcomes({
      // The least and the greatest factor of 3 and 4.
      {"(float[1,1,5,10] x) => (float[A,B,C,D] y) <int64[2] s = {15, 40}> "
       "{ y = Resize<axes = [2, 3], keep_aspect_ratio_policy = \"not_larger\">(x, , , s) }",
       ": [1, 1, 15, 30]"},
      {"(float[1,1,5,10] x) => (float[A,B,C,D] y) <int64[2] s = {15, 40}> "
       "{ y = Resize<axes = [2, 3], keep_aspect_ratio_policy = \"not_smaller\">(x, , , s) }",
       ": [1, 1, 20, 40]"},
      // 2 tokens and 2 of 4 experts, whose 4-bit weights of 32*8 and 8*16 are dequantised; per
      // token
      // softmax and best of 4, 16 gates: sigmoid, 3 mul, add, 3 cmp; and 8 weighted outputs.
      {"(float16[2,8] x, float16[2,4] r, uint8[4,32,4] v, float16[4,32] s, uint8[4,8,8] w, "
       "float16[4,8] t) => (float16[A,B] y) { y = com.microsoft.QMoE<k = 1, activation_type = "
       "\"swiglu\", swiglu_fusion = 1, activation_alpha = 1.702, activation_beta = 1.0, "
       "swiglu_limit = 7.0>(x, r, v, s, , w, t) }",
       "mac=768 add=96 mul=880 div=40 cmp=112 exp=40: [2, 8]; float16 x int4"},
      // A third projection, and the product with it.
      {"(float16[2,8] x, float16[2,4] r, uint8[4,16,4] v, float16[4,16] s, uint8[4,8,8] w, "
       "float16[4,8] t, uint8[4,16,4] u, float16[4,16] a) => (float16[A,B] y) "
       "{ y = com.microsoft.QMoE<k = 1, activation_type = \"silu\">(x, r, v, s, , w, t, , u, a) }",
       "mac=768 add=64 mul=848 div=40 cmp=16 exp=40: [2, 8]"},
      // 3 outputs of 3 places each: on one axis a floor, 3 add, and 2 corners times their weights.
      {"(float[1,1,5] x, float[1,1,3] w, float[1,3,3] o) => (float[1,1,3] y) "
       "{ y = DeformConv(x, w, o) }",
       "mac=9 add=45 mul=18 round=9"},
      // 27 outputs of 8 places, 2 channels: 8 corners, whose weights are products of 3.
      {"(float[1,2,4,4,4] x, float[3,2,2,2,2] w, float[1,24,3,3,3] o) => (float[1,3,3,3,3] y) "
       "{ y = DeformConv(x, w, o) }",
       "mac=1296 add=5400 mul=6912 round=648"},
      {"(float[2] x) => (float[1,K] y) { m = other.G(x) y = ai.onnx.ml.CastMap(m) }",
       "the map is not known"},
      {"(float x) => (float y) { y = LpNormalization(x) }", "axis -1 is outside of rank 0"},
      {"(float[2] x) => (uint8[2] y) { y = QuantizeLinear(x) }", "the scale is missing"},
      {"(float[2] x) => (float[2] y) { s = SequenceConstruct() y = Identity(x) }",
       "there are no inputs"},
      {"(float[2] x) => (float[2] y) { y = Concat<axis=0>() }", "there are no inputs"},
  });
}

TEST(NodesTest, OfAttention) {
  ExpectOutcomes({
      {"(float[2,3,8] q, float[2,7,8] k, float[2,7,8] v, bool[1,1,2,3,7] m) => (float[A,B,C] y) "
       "{ y = Attention<q_num_heads = 2, kv_num_heads = 2>(q, k, v, m) }",
       "attn_mask has rank 5, more than 4"},
      // 2 heads of 3 queries and 7 keys in 2 items: 84 scores, of 4 products each and as many back.
      {"(float[2,3,8] q, float[2,7,2,2,4] k) => (float[A,B,C] y) "
       "{ y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k) }",
       "mac=672 add=168 mul=84 div=84 cmp=84 exp=84: [2, 3, 8]"},
      {"(float[2,3,8] q, float[2,7,2,3,4] k) => (float[A,B,C] y) "
       "{ y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k) }",
       "packed K, V"},
      {"(float[2,3,8] q, float[2,7,2,2,5] k) => (float[A,B,C] y) "
       "{ y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k) }",
       "head size of Q and K"},
      {"(float[2,3,8] q, float[2,7,2,2,2,1] k, float[2,7,2,2,2,1] v) => (float[A,B,C] y) "
       "{ y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v) }",
       "input 1 has rank 6"},
      {"(float[2,5,16] x, int64[2,5] p, float[50,4] c, float[50,4] s) => (float[A,B,C] y) "
       "{ y = com.microsoft.RotaryEmbedding<num_heads = -1>(x, p, c, s) }",
       "num_heads is -1"},
      {"(float[2,2,5,8] x, int64[2,5] p, float[50,10] c, float[50,10] s) => (float[A,B,C,D] y) "
       "{ y = com.microsoft.RotaryEmbedding(x, p, c, s) }",
       "cos_cache rotates 20 of the 8 features of a head"},
      {"(float[5,3,16] q, float[5,3,8] k, float[5,3,8] v, float[5,2,64,4] pk, float[5,2,64,4] pv, "
       "int32[15,8] i, int32[15] c, int32[5] l) => (float[A,B,C] y, float[D,E,F,G] a, "
       "float[H,I,J,K] b) <int32 t = {40}> { y, a, b = com.microsoft.DynamicSparseAttention<"
       "num_heads = 4, kv_num_heads = 2, attention_mode = \"local_plus_selected\">"
       "(q, k, v, pk, pv, , , i, c, l, t) }",
       "local_plus_selected needs a local_window_size"},
      {"(float[32,8] t, int64[1] q, int64[1] k) => (float[A,B,C,D] y) "
       "{ y = com.microsoft.RelativePositionBias(t, q, k) }",
       ": [1, 8, relativepositionbias(y), relativepositionbias(y).3]"},
  });
}

// 15 queries of 4 heads of 8. In windows of 4, of 6 buffered and 5 new tokens one is closed by this
// call in each of 3 items; it and the 12 of the past are met: 195 pairs. Norm of 60 queries and 3
// keys, rotation of 8 elements of each; softmax, bias and weight of 192 slots; the best two of 13.
TEST(NodesTest, OfIndexers) {
  const auto outcome = [](const char* query, const char* past, const char* used,
                          const char* stored) {
    return OutcomeOf(ModelOf(absl::StrCat(
        "(", query, " q, float[3,5,16] k, float[8] a, float[8] b, float[64,4] c, float[64,4] s, ",
        past, ", float[2,3,6,16] l) => (int32[A,B,C] i, float[D,E,F] o, float[G,H,I,J] u) ", stored,
        " { i, o, u = com.microsoft.SparseAttentionIndexer<policy_mode = \"csa\", "
        "compress_ratio = 4, index_topk = 2>(q, ",
        absl::StrContains(query, "40") ? "" : "k", ", a, b, c, s, , p, , , , , ", used, ", l) }")));
  };
  const std::string expected =
      "mac=6240 add=2619 mul=3828 div=759 cmp=1362 exp=192 sqrt=63: "
      "[3, 5, 2] [3, 13, 8] [2, 3, 7, 16]; float32";
  EXPECT_EQ(outcome("float[3,5,32]", "float[3,12,8] p", "", ""), expected);
  EXPECT_EQ(outcome("float[3,5,40]", "float[3,12,8] p", "", ""), expected);  // the key behind it
  // Of a buffer of 40, 11 are in use.
  EXPECT_EQ(outcome("float[3,5,32]", "float[3,40,8] p", "n", "<int64 n = {11}>"),
            "mac=5760 add=2559 mul=3708 div=759 cmp=1272 exp=192 sqrt=63: "
            "[3, 5, 2] [3, 40, 8] [2, 3, 7, 16]; float32");
  EXPECT_EQ(outcome("float[3,5,32]", "float[3,40,8] p, int64 n", "n", ""),
            "past_sequence_length is not known");
}

TEST(NodesTest, OfBodies) {
  ExpectOutcomes({
      {"(float[5] s, float[7,5] x) => (float[A] y) { y = Scan<num_scan_inputs = 1, body = b "
       "(float[5] a, float[5] c) => (float[5] d) { d = Add(a, c) }>(s, x) }",
       "add=35: [5]"},
      {"(float[7,5] x) => (float[A,B] y) { y = Scan<num_scan_inputs = 1, body = b "
       "(float[5] c) => (float[5] d) { d = Relu(c) }>(x) }",
       "cmp=35: [7, 5]"},
      {"(float[5] s, float[7,5] x) => (float[A] y) { y = Scan<num_scan_inputs = 0, body = b "
       "(float[5] a, float[5] c) => (float[5] d) { d = Add(a, c) }>(s, x) }",
       "num_scan_inputs = 0 does not fit 2 inputs and a body of 2"},
      {"(float[5] s, float[7,5] x) => (float[A] y) { y = Scan<num_scan_inputs = 3, body = b "
       "(float[5] a, float[5] c) => (float[5] d) { d = Add(a, c) }>(s, x) }",
       "num_scan_inputs = 3 does not fit 2 inputs and a body of 2"},
      {"(float[5] s, float[7,5] x) => (float[A] y) { y = Scan<num_scan_inputs = 1, body = b "
       "(float[5] a) => (float[5] d) { d = Relu(a) }>(s, x) }",
       "num_scan_inputs = 1 does not fit 2 inputs and a body of 1"},
      {"(int64 n, bool c) => (float[A] y) { y = Loop<body = b (int64 i) => (bool d) "
       "{ d = Cast<to = 9>(i) }>(n, c) }",
       "the body has 1 inputs and 1 outputs"},
      {"(int64 n, bool c, float[5] x) => (float[A] y) { y = Loop<body = b "
       "(int64 i, bool c, float[5] a) => (bool d) { d = Identity(c) }>(n, c, x) }",
       "the body has 3 inputs and 1 outputs"},
  });
}

TEST(NodesTest, OfPackedNumbersAndText) {
  ExpectOutcomes({
      {"(uint8[100,16] d, int64[2,5] i, float16[100,2] s) => (float16[A,B,C] y) "
       "{ y = com.microsoft.GatherBlockQuantized<block_size = 16, bits = 3>(d, i, s) }",
       "bits is 3"},
      {"(uint8[100,16] d, int64[2,5] i, float16[100,2] s) => (float16[A,B,C] y) "
       "{ y = com.microsoft.GatherBlockQuantized<block_size = 16, gather_axis = 1>(d, i, s) }",
       "packed numbers cannot be gathered along their axis"},
      {"(float[5,64] a, uint8[2000] b) => (float[A,B] y) <int64[3] s = {64, 48, 1}> "
       "{ y = com.microsoft.MatMulFpQ4<blk_quant_type = 0>(a, b, s) }",
       "B_shape has 3 elements"},
      {"(float16[5,64] a, uint8[48,32] b, uint8[48,4] s, float t) => (float16[A,B] y) "
       "{ y = com.microsoft.MatMulBlockQuantizedFp4Weight<block_size = 0>(a, b, s, t) }",
       "block_size is 0"},
      {"(int64[5] a, int64[7] b, int64 p) => (int64[A] y, int64 i) "
       "{ y, i = com.microsoft.BifurcationDetector<min_ngram_size = 0>(a, b, p) }",
       "n-grams of 0 to 3"},
      {"(int64[5] a, int64[7] b, int64 p) => (int64[A] y, int64 i) "
       "{ y, i = com.microsoft.BifurcationDetector<min_ngram_size = 4>(a, b, p) }",
       "n-grams of 4 to 3"},
      {"(float[2,7] x, float[7] b) => (float[A,B] y) { y = com.microsoft.BiasSplitGelu(x, b) }",
       "D is 7, which is odd"},
      {"(float[2,6,5] x, float[6,1,0] w) => (float[A,B,C] y, float[D,E,F] s) "
       "{ y, s = com.microsoft.CausalConvWithState(x, w) }",
       "the kernel has size 0"},
      {"(float[2,6,5] x, float[6,1,4] w) => (float[A,B,C] y, float[D,E,F] s) "
       "{ y, s = com.microsoft.CausalConvWithState<dilation = 0>(x, w) }",
       "dilation is 0"},
      {"(float[2,6,5] x, float[6,1,4] w) => (float[A,B,C] y, float[D,E,F] s) "
       "{ y, s = com.microsoft.CausalConvWithState<ndim = 4>(x, w) }",
       "ndim is 4"},
  });
}

TEST(NodesTest, OfWeightsInBlocksOfBytes) {
  ExpectOutcomes({
      {"(uint8[9,67] d, int64[5] i) => (bfloat16[A,B] y) "
       "{ y = com.microsoft.GatherPacked<packed_type = 16, K = 256>(d, i) }",
       "bytes of a row of 256 in IQ2_XXS differs: 66 vs 67"},
      {"(uint8[9,66] d, int64[5] i) => (bfloat16[A,B] y) "
       "{ y = com.microsoft.GatherPacked<packed_type = 16, K = 255>(d, i) }",
       "255 elements are no blocks of 256, as IQ2_XXS has"},
      {"(uint8[9,66] d, int64[5] i) => (bfloat16[A,B] y) "
       "{ y = com.microsoft.GatherPacked<packed_type = 3, K = 256>(d, i) }",
       "packed_type 3 is not a format that is known"},
      {"(uint8[9,66] d, int64[5] i) => (int64[A,B] y) "
       "{ y = com.microsoft.GatherPacked<packed_type = 16, K = 256, output_dtype = 7>(d, i) }",
       "output_dtype is int64"},
      {"(float16[5,256] a, uint8[9,66] b) => (float16[A,B] y) "
       "{ y = com.microsoft.MatMulPacked<packed_type = 16, K = 256, N = 8>(a, b) }",
       "N differs: 9 vs 8"},
      {"(float16[5,64] x, uint8[9,2,16] w, float16[9,2] s, uint8[7,2,32] a, float16[6,2] t, "
       "uint8[9,1,32] b, float16[9,1] u) => (float16[A,B] y) "
       "{ y = com.microsoft.MatMulNBitsQLoRA<K = 64, N = 9>(x, w, s, a, t, b, u) }",
       "the rank of lora_A and of its scales differs: 7 vs 6"},
      {"(float16[3,256] x, float[3,4] r, uint8[4,512,66] v, uint8[4,256,132] w) => (float16[A,B] "
       "y) "
       "{ y = com.microsoft.MoEPacked<gate_type = 16, down_type = 16>(x, r, v, , w) }",
       "up_experts_weights are missing, but activation_type is 'swiglu'"},
      {"(float16[3,256] x, float[3,4] r, uint8[4,512,66] v, uint8[4,256,132] w) => (float16[A,B] "
       "y) "
       "{ y = com.microsoft.MoEPacked<gate_type = 16, down_type = 4, activation_type = \"relu2\">"
       "(x, r, v, , w) }",
       "down_type 4 is not a format that is known"},
      {"(float[3,8] x, float[3,4] r, float[4,16,8] v, float[4,8,16] w) => (float[A,B] y) "
       "{ y = com.microsoft.MoE<activation_type = \"geglu\">(x, r, v, , w) }",
       "geglu needs both halves in fc1: swiglu_fusion is 0, not 1 or 2"},
  });
}

TEST(NodesTest, OfDecodersThatGuess) {
  ExpectOutcomes({
      {"(float[50] s, float[50] c, float[50] d) => (float[A] y) <int64[8] m = {0, 0, 0, 1, 2, 3, "
       "4, "
       "5}> { y = com.microsoft.ConvStateReplay(s, c, d, m) }",
       "kept_count is 5 of a capacity of 4"},
      {"(float[50] s, float[50] c, float[50] d) => (float[A] y) <int64[8] m = {0, 0, 0, 1, -2, 3, "
       "4, "
       "1}> { y = com.microsoft.ConvStateReplay(s, c, d, m) }",
       "metadata holds -2"},
      {"(float[50] s, float[50] c, float[50] d, int64[8] m) => (float[A] y) "
       "{ y = com.microsoft.GatedDeltaNetStateReplay(s, c, d, m) }",
       "numbers of metadata differs: 8 vs 11"},
      {"(float[50] s, float[50] c, float[50] d, int64[11] m) => (float[A] y) "
       "{ y = com.microsoft.GatedDeltaNetStateReplay(s, c, d, m) }",
       "metadata, which tells the sizes, is not known"},
      {"(int64[2,8] n, int64[2,8] i, int32[1] s, int64[2,16] c, int64[2,2] x, int64[2,16] p, "
       "int64[2] r) => (int32[A] h, int64[B,C] d, int64[D,E] y) "
       "{ h, d, y = com.microsoft.SpeculativePrefixCommit<head_rows = 9>(n, i, s, c, x, p, r) }",
       "head_rows is 9"},
      {"(bfloat16[6,1028] p, bfloat16[3,768,3] c, float[2,4,128,64] s, bfloat16[768,4] w, "
       "bfloat16[768] b, float[4] t, float[4] a, float[4] d, float[256] n, int32[1] r) => "
       "(bfloat16[A,B] y, bfloat16[C,D,E] z, float[F,G,H,I] u) { y, z, u = "
       "com.microsoft.Mamba2Verify<n_groups = 2, heads = 4>(p, c, s, w, b, t, a, d, n, r) }",
       "slots differs: 3 vs 2"},
      {"(int32[6,8] i, int32[6] c, int32[9] r, int32[9] s) => (int32[A,B] y, int32[C] z, int32[D] "
       "t) { y, z, t = com.microsoft.PackedSparseAttentionIndexerMerge<max_output_entries = 11, "
       "policy_mode = \"append_range\">(i, c, r, s) }",
       "input 4 is missing with policy_mode append_range"},
      {"(float[2,6,5] x, float[6,1,4] w) => (float[A,B,C] y, float[D,E,F] s) "
       "{ y, s = com.microsoft.CausalConvWithState<state_length = 5>(x, w) }",
       "need channels_last = 1, ndim = 1 and no state_window"},
      {"(float[2,5,6] x, float[6,1,4] w) => (float[A,B,C] y, float[D,E,F] s) "
       "{ y, s = com.microsoft.CausalConvWithState<channels_last = 1, state_length = 2>(x, w) }",
       "state_length is 2, less than 3"},
      {"(float[2,5,6] x, float[4,1,4] w) => (float[A,B,C] y, float[D,E,F] s) { y, s = "
       "com.microsoft.CausalConvWithState<channels_last = 1, input_channels = 4, "
       "input_channel_offset = 3>(x, w) }",
       "4 input_channels from 3 on, of 6"},
      {"(float[7,6] x, float[6,1,4] w, int32[3] c, float[2,6,3] p, float[7,4,3] d, float[7,1] m) "
       "=> "
       "(float[A,B] y, float[C,D,E] s) { y, s = "
       "com.microsoft.VarlenCausalConvWithState<group_size = 2>(x, w, c, , p, , d, m) }",
       "taps of the kernel differs: 4 vs 2"},
      {"(float[7,2,4] q, float[7,2,4] k, float[7,4,3] v, int32[3] c, float[7,4] d, float[7,4] b) "
       "=> "
       "(float[A,B,C] y) { y = com.microsoft.GatedDeltaNet<gate_activation = \"tanh\">"
       "(q, k, v, c, d, b) }",
       "gate_activation is 'tanh', not none, softplus or sigmoid"},
  });
}

TEST(NodesTest, OfRoutersAndGates) {
  ExpectOutcomes({
      {"(float[5,32] l, float[32] b) => (float[A,B] p) "
       "{ p = com.microsoft.MoEGroupRouter<top_k = 4, n_group = 5>(l, b) }",
       "experts in groups: 32 is not a multiple of 5"},
      {"(float[5,32] l, float[32] b) => (float[A,B] p) "
       "{ p = com.microsoft.MoEGroupRouter<top_k = 9, n_group = 4>(l, b) }",
       "top_k is 9 of the experts of 1 groups, of 32 experts"},
      {"(float[5,32] l, float[32] b) => (float[A,B] p) "
       "{ p = com.microsoft.MoEGroupRouter<top_k = 1, topk_group = 2>(l, b) }",
       "topk_group is 2 of 1 groups"},
      {"(float16[5,8] x, float16[8,14] w) => (float16[A,B] r, float16[C,D] y) "
       "{ r, y = com.microsoft.RouterGateUpProj<router_size = 3>(x, w) }",
       "columns of gate and up: 11 is not a multiple of 2"},
      {"(float16[5,8] x, float16[8,13] w) => (float16[A,B] r, float16[C,D] y) "
       "{ r, y = com.microsoft.RouterGateUpProj<router_size = 13>(x, w) }",
       "router_size is 13 of 13 columns"},
      {"(float16[5,8] x, float16[8,13] w) => (float16[A,B] r, float16[C,D] y) { r, y = "
       "com.microsoft.RouterGateUpProj<router_size = 3, activation = \"gelu\">(x, w) }",
       "activation is 'gelu', not swiglu"},
      {"(float[5,7] x) => (float[A,B] y) { y = com.microsoft.SwiGLU(x) }",
       "features of gate and up: 7 is not a multiple of 2"},
      {"(float[5,4] x, float[5,4] y, float[5,7] g, float[8,1] w) => (float[A,B] z) "
       "{ z = com.microsoft.GatedAdd(x, y, g, w) }",
       "K differs: 7 vs 8"},
      {"(float16[2,5,4,16] x, float[16] s, int64[1] p, float[9,9] c, float[9,9] d) => "
       "(bfloat16[A,B,C] y) "
       "{ y = com.microsoft.RMSNormRotary<rotary_embedding_dim = 18>(x, s, p, c, d) }",
       "rotary_embedding_dim is 18 of 16 features"},
      {"(float16[2,5,4,16] x, float[12] s, int64[1] p, float[9,4] c, float[9,4] d) => "
       "(bfloat16[A,B,C] y) { y = com.microsoft.RMSNormRotary<rotary_embedding_dim = 8, "
       "input_start "
       "= 5, input_width = 12>(x, s, p, c, d) }",
       "features 5 to 17 of 16"},
      {"(float[5,24] s, float[24] n, float[24,7] d, float[7,24] u, float[24,3] i, float[5,8] b) => "
       "(float[A,B] p, float[C,D] g) { p, g = "
       "com.microsoft.HyperConnectionLowRankMix<num_branches = 3>(s, n, d, u, i, b) }",
       "are given together or not at all"},
  });
}

TEST(NodesTest, OfShapes) {
  ExpectOutcomes({
      {"(float[2,3] a) => (float[A] y) { y = Einsum<equation = \"a..b->a\">(a) }",
       "the equation holds '.' out of place"},
      {"(float[2,3] a) => (float[A] y) { y = Einsum<equation = \"ij->k\">(a) }",
       "the equation's output has 'k'"},
      {"(float[2,3] a) => (float[A] y) { y = Einsum<equation = \"ij->ii\">(a) }",
       "the equation's output has 'i'"},
      {"(float[2,3] x, int64[3] l) => (float[A,B] y) "
       "{ y = ReverseSequence<batch_axis = 1, time_axis = 1>(x, l) }",
       "batch_axis and time_axis are both 1"},
      {"(float[0,3] x) => (float[A,B] y) <int64[2] s = {-1, 0}> "
       "{ y = Reshape<allowzero = 1>(x, s) }",
       "-1 beside a size of 0 could be any size"},
      {"(int64[2] s) => (float[A,B] y) "
       "{ y = ConstantOfShape<value = float[2] {1.0, 2.0}>(s) }",
       "value has 2 elements, not 1"},
      {"(float x) => (float[A] y) <float a = {0}, float b = {1000000000000000000000000000000}, "
       "float c = {0.001}> { y = Range(a, b, c) }",
       "is endless"},
      // N, N - 2, ..., down to 1.
      {"(float[N] x) => (int64[A] y) <int64[1] i = {0}, int64 z = {0}, int64 d = {-2}> "
       "{ s = Shape(x) n = Squeeze(s, i) y = Range(n, z, d) }",
       ": [floor((N + 1)/2)]"},
      {"(float[1,128,1] x, float[16] w) => (float[A,B,C,D] y) <int64 t = {4}, int64 l = {8}> "
       "{ y = STFT(x, t, w, l) }",
       "frame_length differs: 8 vs 16"},
      {"(float[1,128,1] x, int64 l) => (float[A,B,C,D] y) <int64 t = {4}> "
       "{ y = STFT(x, t, , l) }",
       "frame_length is decided at run time"},
      {"(float[7,3] x) => (float[A,B] y, float[C,D] z) { y, z = Split<num_outputs = 3>(x) }",
       "num_outputs differs: 3 vs 2"},
      // What the dynamo exporter makes of LSTM(4, 6, proj_size=3). ONNX Runtime: "Input initial_c
      // must have shape {1,2,3}. Actual:{1,2,6}".
      {"(float[5,2,4] x, float[1,12,4] w, float[1,12,3] r, float[1,24] b, float[1,2,3] h, "
       "float[1,2,6] c) => (float[A,B,C,D] y) { y = LSTM<hidden_size = 3>(x, w, r, b, , h, c) }",
       "an LSTM with proj_size is wider, but ONNX has no such LSTM"},
      {"(float[7,3] x) => (float[A,B] y, float[C,D] z) { y, z = Split<num_outputs = 2>(x) }",
       ": [4, 3] [3, 3]"},
  });
}

// As they stand in raw_data: little endian, two or four elements to a byte, low bits first, the
// sign highest. Of a size of -1 is left what the others leave of six elements.
TEST(NodesTest, RawIntegersOfEveryType) {
  using onnx::TensorProto;
  using std::string_literals::operator""s;
  const struct {
    int type, elements;
    std::string bytes;
    const char* shape;
  } cases[] = {
      {TensorProto::UINT64, 3, "\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"s, "[2, 1, 3]"},
      {TensorProto::UINT32, 3, "\2\0\0\0\1\0\0\0\3\0\0\0"s, "[2, 1, 3]"},
      {TensorProto::INT16, 3, "\2\0\1\0\3\0"s, "[2, 1, 3]"},
      {TensorProto::INT16, 2, "\2\0\xff\xff"s, "[2, 3]"},
      {TensorProto::UINT16, 3, "\2\0\1\0\3\0"s, "[2, 1, 3]"},
      {TensorProto::INT8, 3, "\2\1\3"s, "[2, 1, 3]"},
      {TensorProto::INT8, 2, "\2\xff"s, "[2, 3]"},
      {TensorProto::UINT8, 3, "\2\1\3"s, "[2, 1, 3]"},
      {TensorProto::INT4, 3, "\x12\x03"s, "[2, 1, 3]"},
      {TensorProto::INT4, 2, "\xf2"s, "[2, 3]"},
      {TensorProto::UINT4, 3, "\x12\x03"s, "[2, 1, 3]"},
      {TensorProto::INT2, 2, "\x0d"s, "[1, 6]"},
      {TensorProto::UINT2, 3, "\x36"s, "[2, 1, 3]"},
  };
  for (const auto& c : cases) {
    onnx::ModelProto proto =
        ModelOf("(float[6] x) => (float[] y) { s = Cast<to = 7>(w) y = Reshape(x, s) }");
    auto* w = proto.mutable_graph()->add_initializer();
    w->set_name("w");
    w->set_data_type(c.type);
    w->add_dims(c.elements);
    w->set_raw_data(c.bytes);
    EXPECT_THAT(OutcomeOf(proto), testing::EndsWith(absl::StrCat(": ", c.shape))) << c.type;
  }
}

TEST(ActivationGradientTest, IsKnownWhereItIsTheSameForAllElements) {
  EXPECT_EQ(ActivationGradient("relu")->cmp, 1);  // dY where Y > 0
  for (const char* name : {"Dropout", "SwiGLU", "Nope"}) {
    EXPECT_EQ(ActivationGradient(name).status().message(),
              absl::StrCat("the gradient of the activation '", name, "' is not known"));
  }
}

}  // namespace
}  // namespace onnxflops::nodes_test
