// What the bodies of a search are given: sizes and contents of each of their inputs, told by how
// many elements there are to multiply, over all runs of a body.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "tests/model_text.h"

namespace onnxflops::search_test {
namespace {

// Of the products only: the search itself has none. -1 where a node is not known.
int64_t ProductsOf(const std::string& graph) {
  const Model model = ModelFromText(graph, 20);
  const absl::StatusOr<Inference> inference = Infer(model);
  EXPECT_TRUE(inference.ok()) << inference.status() << "\n" << graph;
  if (!inference.ok()) return -1;
  const absl::StatusOr<Counts> counts = Count(*inference);
  EXPECT_TRUE(counts.ok()) << counts.status() << "\n" << graph;
  if (!counts.ok() || counts->unknown > 0) return -1;
  const Expr products = counts->total.flops[Kind::kMul] + counts->total.int_ops[Kind::kMul];
  return products.AsInt64().value_or(-1);
}

struct Given {
  const char* inputs;   // of the decoder, after the ids
  const char* product;  // what the decoder multiplies: nodes that end in one of an output `z`
  int64_t elements;     // of all runs
};

// 3 texts of 5 tokens, 2 beams: 6 rows. A first run of 1 token without a past, and then 7 of 1, the
// text having 9 at the end: at a mean past of 1 + 3.
std::string WithEncoder(const Given& given, absl::string_view first = "") {
  return absl::StrCat(
      "g (int32[3,5] x, int32[3,2] first, float[10,4] E, float[10,10] V) => (int32[3,1,9] y) "
      "<int32[1] L = {9}, int32[1] beams = {2}, int32[1] best = {1}> "
      "{ y = com.microsoft.BeamSearch<model_type = 1, encoder = enc (int32[b,s] encoder_input_ids) "
      "=> (float[b,s,4] encoder_hidden_states, float[b,2,11,4] present_key_cross_0) "
      "{ encoder_hidden_states = Gather(E, encoder_input_ids) "
      "c = Constant<value_ints = [3, 2, 11, 4]>() present_key_cross_0 = ConstantOfShape(c) }, "
      "decoder = dec (int32[r,t] input_ids",
      given.inputs, ") => (float[r,t,10] logits) { logits = Gather(V, input_ids) ", given.product,
      " }>(x, L, , beams, best", first, ") }");
}

TEST(SearchTest, DecodersAfterAnEncoder) {
  for (const Given& given : {
           Given{"", "z = Mul(input_ids, input_ids)", 8 * 6},
           Given{", int32[r,s] encoder_attention_mask",
                 "z = Mul(encoder_attention_mask, encoder_attention_mask)", 8 * 6 * 5},
           Given{", float[r,s,4] encoder_hidden_states",
                 "z = Mul(encoder_hidden_states, encoder_hidden_states)", 8 * 6 * 5 * 4},
           Given{", float[r,3,p,7] past_key_self_0", "z = Mul(past_key_self_0, past_key_self_0)",
                 7 * 6 * 3 * 4 * 7},
           // Of the encoder's keys: 2 heads of 4, 11 positions, unless the decoder says otherwise.
           Given{", float[r,h,p,d] past_key_cross_0", "z = Mul(past_key_cross_0, past_key_cross_0)",
                 8 * 6 * 2 * 11 * 4},
           Given{", float[r,3,p,7] past_key_cross_0", "z = Mul(past_key_cross_0, past_key_cross_0)",
                 8 * 6 * 3 * 11 * 7},
           // Of no encoder's: as long as the prompt.
           Given{", float[r,3,p,7] past_value_cross_1",
                 "z = Mul(past_value_cross_1, past_value_cross_1)", 8 * 6 * 3 * 5 * 7},
           // In a buffer as long as the text.
           Given{", float[r,3,p,7] past_key_self_0, int32[1] past_sequence_length",
                 "z = Mul(past_key_self_0, past_key_self_0)", 8 * 6 * 3 * 9 * 7},
           Given{", int32[1] past_sequence_length",
                 "l = Cast<to = 7>(past_sequence_length) r = ConstantOfShape(l) z = Mul(r, r)",
                 7 * 4},
           Given{", int32[1] beam_width",
                 "l = Cast<to = 7>(beam_width) r = ConstantOfShape(l) z = Mul(r, r)", 8 * 2},
           Given{", int32[b,w,m] cache_indirection",
                 "z = Mul(cache_indirection, cache_indirection)", 8 * 3 * 2 * 9},
           // Its heads are declared nowhere.
           Given{", float[r,h,p,d] past_key_self_0", "z = Mul(past_key_self_0, past_key_self_0)",
                 -1},
           Given{", float[r,s,4] other_hidden_states",
                 "z = Mul(other_hidden_states, other_hidden_states)", -1},
       }) {
    EXPECT_EQ(ProductsOf(WithEncoder(given)), given.elements) << given.inputs;
  }
}

// The text begins with 2 tokens: they are the first run, and 6 runs follow, half of them at a past
// of 2 + 2 and half of 2 + 3.
TEST(SearchTest, TextsThatBeginWithGivenTokens) {
  const std::string first = ", , , , , , first";
  for (const Given& given : {
           Given{"", "z = Mul(input_ids, input_ids)", (2 + 6) * 6},
           Given{", float[r,3,p,7] past_key_self_0", "z = Mul(past_key_self_0, past_key_self_0)",
                 (3 * 4 + 3 * 5) * 6 * 3 * 7},
       }) {
    EXPECT_EQ(ProductsOf(WithEncoder(given, first)), given.elements) << given.inputs;
  }
}

// An encoder that makes the first token as well: the decoder does not run for it.
TEST(SearchTest, EncodersThatMakeTheFirstToken) {
  const std::string graph =
      "g (float[3,8,5] x, float[10,10] V) => (int32[3,1,9] y) "
      "<int32[1] L = {9}, int32[1] beams = {2}, int32[1] best = {1}> "
      "{ y = com.microsoft.WhisperBeamSearch<encoder = enc (float[b,m,f] encoder_input_ids, "
      "int32[b,d] decoder_input_ids) => (float[b,d,10] logits) "
      "{ logits = Gather(V, decoder_input_ids) z = Mul(decoder_input_ids, decoder_input_ids) "
      "u = Mul(encoder_input_ids, encoder_input_ids) }, "
      "decoder = dec (int32[r,t] input_ids) => (float[r,t,10] logits) "
      "{ logits = Gather(V, input_ids) z = Mul(input_ids, input_ids) }>(x, L, , beams, best) }";
  EXPECT_EQ(ProductsOf(graph), 3 + 3 * 8 * 5 + 7 * 6);
}

// 3 prompts of 4 tokens, and 5 runs of one token: 3 of them at a past of 4 + 2, 2 of 4 + 2.
std::string WithoutEncoder(const Given& given) {
  return absl::StrCat(
      "g (int32[3,4] x, float[10,10] V) => (int32[3,10] y) <int32[1] L = {10}> "
      "{ y = com.microsoft.GreedySearch<decoder = dec (int32[r,t] input_ids, int32[r,t] "
      "position_ids, int32[r,a] attention_mask, float[2,r,3,p,7] past_0",
      given.inputs, ") => (float[r,t,10] logits, float[2,r,3,p,7] present_0) ",
      "{ logits = Gather(V, input_ids) present_0 = Identity(past_0) ", given.product,
      " }>(x, L) }");
}

TEST(SearchTest, DecodersAlone) {
  for (const Given& given : {
           Given{"", "z = Mul(input_ids, input_ids)", 3 * (4 + 5)},
           Given{"", "z = Mul(position_ids, position_ids)", 3 * (4 + 5)},
           Given{"", "z = Mul(attention_mask, attention_mask)", 3 * (4 + 5 * 7)},
           Given{"", "z = Mul(past_0, past_0)", 2 * 3 * 3 * 7 * (5 * 6)},
           Given{", int32[1] past_sequence_length", "z = Mul(past_0, past_0)",
                 2 * 3 * 3 * 7 * (6 * 10)},
           Given{", int32[1] past_sequence_length",
                 "l = Cast<to = 7>(past_sequence_length) r = ConstantOfShape(l) z = Mul(r, r)",
                 5 * 6},
           Given{", int32[1] past_sequence_length, int32[1] beam_width",
                 "l = Cast<to = 7>(beam_width) r = ConstantOfShape(l) z = Mul(r, r)", 6 * 1},
           Given{", int32[1] past_sequence_length, int32[1] beam_width, int32[b,w,m] "
                 "cache_indirection",
                 "z = Mul(cache_indirection, cache_indirection)", 6 * 3 * 1 * 10},
       }) {
    EXPECT_EQ(ProductsOf(WithoutEncoder(given)), given.elements) << given.inputs << given.product;
  }
}

// The first run has a body of its own.
TEST(SearchTest, InitDecoders) {
  const std::string graph =
      "g (int32[3,4] x, float[10,10] V) => (int32[3,10] y) <int32[1] L = {10}> "
      "{ y = com.microsoft.GreedySearch<init_decoder = first (int32[r,t] input_ids, int32[r,t] "
      "position_ids, int32[r,a] attention_mask) => (float[r,t,10] logits) "
      "{ logits = Gather(V, input_ids) z = Mul(attention_mask, attention_mask) }, decoder = dec "
      "(int32[r,t] input_ids, int32[r,t] position_ids, int32[r,a] attention_mask) => "
      "(float[r,t,10] logits) { logits = Gather(V, input_ids) "
      "u = Mul(input_ids, input_ids) z = Mul(u, input_ids) }>(x, L) }";
  EXPECT_EQ(ProductsOf(graph), 3 * 4 + 2 * 3 * 5);
}

// No step follows the prompt, and less than none cannot.
TEST(SearchTest, TextsAsLongAsTheirPrompt) {
  for (const char* length : {"4", "5", "0"}) {
    const std::string graph = absl::StrCat(
        "g (int32[3,4] x, float[10,10] V) => (int32[3,q] y) <int32[1] L = {", length,
        "}> { y = com.microsoft.GreedySearch<decoder = dec (int32[r,t] input_ids, int32[r,t] "
        "position_ids, int32[r,a] attention_mask) => (float[r,t,10] logits) "
        "{ logits = Gather(V, input_ids) z = Mul(input_ids, input_ids) }>(x, L) }");
    EXPECT_EQ(ProductsOf(graph), 3 * 4) << length;
  }
}

}  // namespace
}  // namespace onnxflops::search_test
