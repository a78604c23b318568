// com.microsoft: searches for the best continuation of a text. The bodies are the model: one that
// reads the prompt, and one that is run for each further token.
//
// How it works. The node's inputs give batch, prompt, beams and length. The inputs of the bodies
// are not given by the graph, since the runtime makes them, so their facts are built here: GPT-like
// decoders by position, encoder-decoder models by name. Then the bodies run: the encoder once, the
// first token once, and the decoder for all further tokens.
//
// A step's cost grows linearly with the past: one token is new and meets all that went before. So n
// steps cost as much as n steps at the mean past. The mean need not be whole: half of the steps
// (rounded up) are counted at its floor, half at its ceiling. Searches are counted to max_length,
// though they may end early. The search's own work is counted per token: softmax and the best of
// the vocabulary.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/contrib/plain.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- bodies

const Graph* BodyOf(const NodeView& n, absl::string_view attribute) {
  const Attribute* body = n.FindAttr(attribute);
  if (body == nullptr || body->type != AttributeType::kGraph || body->graphs.empty()) {
    return nullptr;
  }
  return &n.model().graph(body->graphs[0]);
}

const Value& ValueOf(const NodeView& n, ValueId id) { return n.model().value(id); }

DType DeclaredDType(const NodeView& n, ValueId id, DType otherwise) {
  const DeclaredType* type = ValueOf(n, id).declared;
  return type == nullptr || type->dtype == DType::kUndefined ? otherwise : type->dtype;
}

// A literal dimension that the body declares of a value; nullopt where it does not.
std::optional<Expr> DeclaredSize(const NodeView& n, ValueId id, size_t axis) {
  const DeclaredType* type = ValueOf(n, id).declared;
  if (type == nullptr || axis >= type->dims.size() || type->dims[axis].size < 0) {
    return std::nullopt;
  }
  return Expr(type->dims[axis].size);
}

// ---- what all searches have in common

struct Search {
  bool beam = false;     // num_beams, and sequences per beam
  bool encoder = false;  // the prompt is read by an encoder; the text begins with `start` tokens
  Expr batch, prompt;    // B, and the length of the prompt
  Expr beams = 1, returned = 1;
  Expr start;       // tokens before the first that is made
  Expr max_length;  // tokens at the end
  Expr rows() const { return batch * beams; }
  // Steps after the one that makes the first token.
  Expr steps() const { return Max(max_length - start - 1, 0); }
};

absl::StatusOr<Search> ReadSearch(const NodeView& n, bool beam) {
  Search s;
  s.beam = beam;
  ASSIGN_OR_RETURN(Shape ids, n.ShapeOfRankAtLeast(0, 2));
  s.batch = ids[0];
  s.prompt = ids[1];
  s.encoder = n.Int("model_type", 0) != 0 || n.HasAttr("encoder");
  s.start = s.prompt;
  if (s.encoder) {
    s.start = 1;
    if (beam && n.HasInput(10)) {
      ASSIGN_OR_RETURN(Shape first, n.RankedShape(10, 2));
      s.start = first[1];
    }
  }
  if (beam) {
    for (int i : {3, 4}) {
      if (n.KnownInt(i).has_value()) continue;
      return absl::FailedPreconditionError(i == 3 ? "num_beams is not known"
                                                  : "num_return_sequences is not known");
    }
    s.beams = *n.KnownInt(3);
    s.returned = *n.KnownInt(4);
  }
  return s;
}

// The vocabulary: an attribute, or what the decoder declares of its first output.
absl::StatusOr<Expr> Vocabulary(const NodeView& n) {
  const int64_t given = n.Int("vocab_size", -1);
  if (given > 0) return Expr(given);
  const Graph* decoder = BodyOf(n, "decoder");
  if (decoder != nullptr && !decoder->outputs.empty()) {
    const std::optional<Expr> declared = DeclaredSize(n, decoder->outputs[0], 2);
    if (declared.has_value()) return *declared;
  }
  return absl::FailedPreconditionError("the size of the vocabulary is not known");
}

// The sizes of a body's inputs in one run.
struct Step {
  Expr rows, tokens, past;
  Expr prompt;      // of the encoder
  Expr max_length;  // of buffers and cache_indirection
  Expr batch, beams;
};

// ---- decoders like GPT-2: input_ids, position_ids, attention_mask, a past[2,R,H,P,D] per layer,
// then, where past and present share a buffer, past_sequence_length, beam_width, cache_indirection

Fact ScalarLike(DType type, const Expr& value) {
  Fact fact = Fact::Tensor(type, Shape{1});
  SetContent({Scalar::Int(value)}, &fact);
  return fact;
}

Facts GptInputs(const NodeView& n, const Graph& body, const Step& step) {
  const size_t layers = body.outputs.empty() ? 0 : body.outputs.size() - 1;
  const bool shared = body.inputs.size() > 3 + layers;
  Facts facts;
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    const ValueId id = body.inputs[i];
    const DType ids = DeclaredDType(n, id, DType::kInt32);
    if (i < 2) {
      facts.push_back(Fact::Tensor(ids, Shape{step.rows, step.tokens}));
    } else if (i == 2) {
      facts.push_back(Fact::Tensor(ids, Shape{step.rows, step.past + step.tokens}));
    } else if (i < 3 + layers) {
      const std::optional<Expr> heads = DeclaredSize(n, id, 2), size = DeclaredSize(n, id, 4);
      Fact past = Fact::Unknown();
      if (heads.has_value() && size.has_value()) {
        past =
            Fact::Tensor(DeclaredDType(n, id, DType::kFloat32),
                         Shape{2, step.rows, *heads, shared ? step.max_length : step.past, *size});
      }
      facts.push_back(std::move(past));
    } else if (absl::StrContains(ValueOf(n, id).name, "cache_indirection")) {
      facts.push_back(Fact::Tensor(ids, Shape{step.batch, step.beams, step.max_length}));
    } else {
      const bool beams = absl::StrContains(ValueOf(n, id).name, "beam");
      facts.push_back(ScalarLike(ids, beams ? step.beams : step.past));
    }
  }
  return facts;
}

// ---- encoders and decoders like T5 and Whisper: inputs are told apart by their names

// The facts of an encoder's outputs, by name.
struct Encoded {
  std::vector<absl::string_view> names;
  Facts facts;
  const Fact* Find(absl::string_view name) const {
    for (size_t i = 0; i < names.size() && i < facts.size(); ++i) {
      if (names[i] == name) return &facts[i];
    }
    return nullptr;
  }
};

Facts EncoderInputs(const NodeView& n, const Graph& body, const Search& s) {
  Facts facts;
  for (ValueId id : body.inputs) {
    const absl::string_view name = ValueOf(n, id).name;
    const DType ids = DeclaredDType(n, id, DType::kInt32);
    if (facts.empty()) {
      Fact prompt = n.input(0);
      prompt.dtype = DeclaredDType(n, id, n.dtype(0));
      prompt.DropContent();
      facts.push_back(std::move(prompt));
    } else if (absl::StrContains(name, "decoder_input_ids")) {
      facts.push_back(Fact::Tensor(ids, Shape{s.batch, s.start}));
    } else {
      facts.push_back(Fact::Tensor(ids, Shape{s.batch, s.prompt}));
    }
  }
  return facts;
}

// A past of the decoder: of itself [R,H,P,D], or of the encoder's text, for all beams.
Fact PastInput(const NodeView& n, ValueId id, const Encoded& encoded, const Step& step,
               bool shared) {
  const absl::string_view name = ValueOf(n, id).name;
  const Fact* present = encoded.Find(absl::StrCat("present", name.substr(4)));
  std::optional<Expr> heads = DeclaredSize(n, id, 1), size = DeclaredSize(n, id, 3);
  Expr length = shared ? step.max_length : step.past;
  const bool known = present != nullptr && present->shape.ranked() && present->shape.rank() == 4;
  if (absl::StrContains(name, "cross")) length = known ? present->shape[2] : step.prompt;
  if (!heads.has_value() && known) heads = present->shape[1];
  if (!size.has_value() && known) size = present->shape[3];
  if (!heads.has_value() || !size.has_value()) return Fact::Unknown();
  return Fact::Tensor(DeclaredDType(n, id, DType::kFloat32),
                      Shape{step.rows, *heads, std::move(length), *size});
}

Facts DecoderInputs(const NodeView& n, const Graph& body, const Encoded& encoded,
                    const Step& step) {
  const auto named = [&](ValueId id, absl::string_view part) {
    return absl::StrContains(ValueOf(n, id).name, part);
  };
  const bool shared = std::any_of(body.inputs.begin(), body.inputs.end(),
                                  [&](ValueId id) { return named(id, "past_sequence_length"); });
  Facts facts;
  for (ValueId id : body.inputs) {
    const DType ids = DeclaredDType(n, id, DType::kInt32);
    if (named(id, "past_sequence_length")) {
      facts.push_back(ScalarLike(ids, step.past));
    } else if (named(id, "beam_width")) {
      facts.push_back(ScalarLike(ids, step.beams));
    } else if (named(id, "cache_indirection")) {
      facts.push_back(Fact::Tensor(ids, Shape{step.batch, step.beams, step.max_length}));
    } else if (absl::StartsWith(ValueOf(n, id).name, "past")) {
      facts.push_back(PastInput(n, id, encoded, step, shared));
    } else if (named(id, "hidden_states")) {
      const Fact* states = encoded.Find(ValueOf(n, id).name);
      Fact fact = states == nullptr ? Fact::Unknown() : *states;
      if (fact.is_tensor() && fact.shape.ranked() && fact.shape.rank() > 0) {
        fact.shape[0] = step.rows;
      }
      facts.push_back(std::move(fact));
    } else if (named(id, "encoder")) {
      facts.push_back(Fact::Tensor(ids, Shape{step.rows, step.prompt}));
    } else {
      facts.push_back(Fact::Tensor(ids, Shape{step.rows, step.tokens}));
    }
  }
  return facts;
}

// ---- runs

Facts StepInputs(const NodeView& n, const Graph& body, const Search& s, const Encoded& encoded,
                 const Step& step) {
  return s.encoder ? DecoderInputs(n, body, encoded, step) : GptInputs(n, body, step);
}

// The steps of the decoder, from a past of `start` tokens on.
absl::Status RunSteps(const NodeView& n, const Graph& decoder, const Search& s,
                      const Encoded& encoded, Step step) {
  const Expr steps = s.steps();
  step.tokens = 1;
  const Expr at_ceiling = FloorDiv(steps, 2);
  const std::pair<Expr, Expr> halves[] = {{FloorDiv(steps - 1, 2), steps - at_ceiling},
                                          {FloorDiv(steps, 2), at_ceiling}};
  for (const auto& [mean, times] : halves) {
    if (times == Expr(0)) continue;
    step.past = s.start + mean;
    RETURN_IF_ERROR(
        n.InferBody("decoder", StepInputs(n, decoder, s, encoded, step), times).status());
  }
  return absl::OkStatus();
}

absl::Status RunBodies(const NodeView& n, const Search& s) {
  const Graph* decoder = BodyOf(n, "decoder");
  if (decoder == nullptr) return absl::InvalidArgumentError("attribute decoder holds no graph");
  Step step = {.rows = s.rows(),
               .tokens = s.start,
               .past = 0,
               .prompt = s.prompt,
               .max_length = s.max_length,
               .batch = s.batch,
               .beams = s.beams};
  Encoded encoded;
  bool makes_first_token = false;
  if (const Graph* encoder = BodyOf(n, "encoder"); s.encoder) {
    if (encoder == nullptr) return absl::InvalidArgumentError("attribute encoder holds no graph");
    ASSIGN_OR_RETURN(BodyFacts facts, n.InferBody("encoder", EncoderInputs(n, *encoder, s)));
    encoded.facts = std::move(facts.outputs);
    for (ValueId id : encoder->outputs) encoded.names.push_back(ValueOf(n, id).name);
    makes_first_token = encoded.Find("logits") != nullptr;
  }
  if (!makes_first_token) {
    const Graph* first = BodyOf(n, "init_decoder");
    const absl::string_view attribute = first == nullptr ? "decoder" : "init_decoder";
    const Facts inputs = StepInputs(n, first == nullptr ? *decoder : *first, s, encoded, step);
    RETURN_IF_ERROR(n.InferBody(attribute, inputs).status());
  }
  return RunSteps(n, *decoder, s, encoded, step);
}

// Runs the bodies; the result is the search with its length.
absl::StatusOr<Search> InferSearch(const NodeView& n, bool beam) {
  ASSIGN_OR_RETURN(Search s, ReadSearch(n, beam));
  const std::optional<Expr> max_length = n.KnownInt(1);
  s.max_length =
      max_length.has_value() ? *max_length : s.start + 1 + n.FreshTripCount("search-steps");
  RETURN_IF_ERROR(RunBodies(n, s));
  return s;
}

absl::StatusOr<Facts> InferBeamSearch(const NodeView& n) {
  ASSIGN_OR_RETURN(Search s, InferSearch(n, true));
  const absl::StatusOr<Expr> vocabulary = Vocabulary(n);
  const DType type = n.HasInput(5) ? n.dtype(5) : DType::kFloat32;
  Facts facts = {Fact::Tensor(DType::kInt32, Shape{s.batch, s.returned, s.max_length}),
                 Fact::Tensor(type, Shape{s.batch, s.returned})};
  if (vocabulary.ok()) {
    facts.push_back(
        Fact::Tensor(type, Shape{s.max_length - s.start, s.batch, s.beams, *vocabulary}));
  }
  return facts;
}

absl::StatusOr<Facts> InferGreedySearch(const NodeView& n) {
  ASSIGN_OR_RETURN(Search s, InferSearch(n, false));
  Facts facts = {Fact::Tensor(DType::kInt32, Shape{s.batch, s.max_length})};
  const absl::StatusOr<Expr> vocabulary = Vocabulary(n);
  if (vocabulary.ok()) {
    facts.push_back(Fact::Tensor(DType::kFloat32, Shape{s.batch, *vocabulary}));
  }
  return facts;
}

// ---- what the search itself costs, per token that is made: of rows of scores of the vocabulary

struct Scores {
  Expr made;  // tokens, over the steps, but not over the rows
  Expr rows, vocabulary;
  Expr beams;
  Expr elements() const { return made * rows * vocabulary; }
};

absl::StatusOr<Scores> ReadScores(const NodeView& n, bool beam) {
  ASSIGN_OR_RETURN(Search s, ReadSearch(n, beam));
  ASSIGN_OR_RETURN(Shape sequences, n.OutputShape(0));
  ASSIGN_OR_RETURN(Expr vocabulary, Vocabulary(n));
  return Scores{Max(sequences[sequences.rank() - 1] - s.start, 0), s.rows(), vocabulary, s.beams};
}

// The `k` best of each row of `size` scores.
absl::StatusOr<Census> BestWork(const NodeView& n, const Expr& rows, const Expr& size,
                                const Expr& k) {
  const Fact scores = Fact::Tensor(DType::kFloat32, Shape{rows, size});
  const Fact best = Fact::Tensor(DType::kFloat32, Shape{rows, k});
  ASSIGN_OR_RETURN(Cost cost, CountAs(n, "TopK", {scores, Fact::Ints({Scalar::Int(k)})}, {best}));
  return cost.flops;
}

absl::StatusOr<Cost> CountBeamSearch(const NodeView& n) {
  ASSIGN_OR_RETURN(Scores s, ReadScores(n, true));
  // LogSoftmax, the score of the beam added, the 2 * beams best of all beams of a sequence.
  Census work = ElementCost{.add = 4, .cmp = 1, .exp = 1} * s.elements();
  work[Kind::kLog] = s.made * s.rows;
  ASSIGN_OR_RETURN(Shape ids, n.RankedShape(0));
  ASSIGN_OR_RETURN(Census best, BestWork(n, s.made * ids[0], s.beams * s.vocabulary, 2 * s.beams));
  work += best;
  return Flops(std::move(work));
}

absl::StatusOr<Cost> CountGreedySearch(const NodeView& n) {
  ASSIGN_OR_RETURN(Scores s, ReadScores(n, false));
  return Flops(ElementCost{.cmp = 1} * s.elements());
}

absl::StatusOr<Cost> CountSampling(const NodeView& n) {
  ASSIGN_OR_RETURN(Scores s, ReadScores(n, false));
  // Sorted; softmax, its running sum and the comparison with top_p; softmax of what is left, and a
  // place in its running sum.
  ASSIGN_OR_RETURN(Census work, BestWork(n, s.made * s.rows, s.vocabulary, s.vocabulary));
  ElementCost cost = kSoftmaxCost + kSoftmaxCost + ElementCost{.add = 2, .cmp = 2};
  if (n.Float("temperature", 1.0f) != 1.0f) cost.div += 1;
  work += cost * s.elements();
  return Flops(std::move(work));
}

constexpr char kSearchNote[] =
    "counted to max_length, though a search may end early. A step's cost grows linearly with the "
    "past, so that all steps cost as much as as many at the mean past; penalties and masks of the "
    "scores are not counted.";

constexpr OpDef kMsSearchRows[] = {
    {.name = "BeamSearch",
     .formula = "the bodies: encoder or init_decoder (or decoder) on the prompt, then decoder for "
                "each token up to max_length; per token, row and element of the vocabulary: "
                "LogSoftmax, add, and cmp for the 2*beams best",
     .infer = InferBeamSearch,
     .count = CountBeamSearch,
     .examples = {{"g (int32[B,4] x, float[10,8] E, float[8,10] W) => (int32[B,1,6] y, float[B,1] "
                   "z) <int32[1] L = {6}, int32[1] beams = {2}, int32[1] best = {1}> { y, z = "
                   "com.microsoft.BeamSearch<eos_token_id = 0, pad_token_id = 0, decoder = body "
                   "(int32[r,s] input_ids, int32[r,s] position_ids, int32[r,t] attention_mask, "
                   "float[2,r,1,p,4] past_0) => (float[r,s,10] logits, float[2,r,1,q,4] present_0) "
                   "{ e = Gather(E, input_ids) logits = MatMul(e, W) m = ReduceSum(attention_mask) "
                   "h = Constant<value_ints = [0, 0, 2, 4]>() k = Reshape(e, h) t = Transpose<perm "
                   "= [2, 0, 1, 3]>(k) a = Constant<value_ints = [2]>() u = Unsqueeze(t, a) "
                   "present_0 = Concat<axis = 3>(past_0, u) }>(x, L, , beams, best) }",
                   "mac=800*B add=160*B cmp=160*B exp=40*B log=4*B int_add=18*B"}},
     .shape_inputs = (1 << 1) | (1 << 3) | (1 << 4),
     .operands = {.not_parameters = InputBits({7, 8, 9})},
     .traits = Traits::kReadsContent | Traits::kRandom,
     .note = kSearchNote},
    {.name = "GreedySearch",
     .formula = "the bodies: encoder or init_decoder (or decoder) on the prompt, then decoder for "
                "each token up to max_length; per token, row and element of the vocabulary: cmp",
     .infer = InferGreedySearch,
     .count = CountGreedySearch,
     .examples =
         {// The prompt of 4, then 2 tokens after 4 and 5.
          {"g (int32[B,4] x, float[10,8] E, float[8,10] W) => (int32[B,7] y) <int32[1] L = {7}> { "
           "y = com.microsoft.GreedySearch<eos_token_id = 0, pad_token_id = 0, decoder = body "
           "(int32[r,s] input_ids, int32[r,s] position_ids, int32[r,t] attention_mask, "
           "float[2,r,1,p,4] past_0) => (float[r,s,10] logits, float[2,r,1,q,4] present_0) { e = "
           "Gather(E, input_ids) logits = MatMul(e, W) m = ReduceSum(attention_mask) h = "
           "Constant<value_ints = [0, 0, 2, 4]>() k = Reshape(e, h) t = Transpose<perm = [2, 0, 1, "
           "3]>(k) a = Constant<value_ints = [2]>() u = Unsqueeze(t, a) present_0 = Concat<axis = "
           "3>(past_0, u) }>(x, L) }",
           "mac=480*B cmp=30*B int_add=15*B"},
          // A past in a buffer of 7 positions, multiplied in each of the three runs: 2*7*4.
          {"g (int32[B,4] x, float[10,8] E, float[8,10] W) => (int32[B,7] y) <int32[1] L = {7}> { "
           "y = com.microsoft.GreedySearch<eos_token_id = 0, pad_token_id = 0, vocab_size = 12, "
           "decoder = body (int32[r,s] input_ids, int32[r,s] position_ids, int32[r,t] "
           "attention_mask, float[2,r,1,M,4] past_0, int32[1] past_sequence_length) => "
           "(float[r,s,10] logits, float[2,r,1,M,4] present_0) { e = Gather(E, input_ids) logits = "
           "MatMul(e, W) present_0 = Mul(past_0, past_0) h = Add(past_sequence_length, "
           "past_sequence_length) }>(x, L) }",
           "mac=480*B mul=168*B cmp=36*B int_add=3"}},
     .shape_inputs = 1 << 1,
     .operands = {.not_parameters = InputBits({4, 5, 6})},
     .traits = Traits::kReadsContent,
     .note = kSearchNote},
    {.name = "Sampling",
     .formula =
         "the bodies: encoder or init_decoder (or decoder) on the prompt, then decoder for each "
         "token up to max_length; per token, row and element of the vocabulary: two softmax, two "
         "running sums (add) and comparisons (cmp), div for a temperature, and cmp to sort",
     .infer = InferGreedySearch,
     .count = CountSampling,
     .examples =
         {{"g (int32[B,4] x, float[10,8] E, float[8,10] W) => (int32[B,7] y) <int32[1] L = {7}> { "
           "y = com.microsoft.Sampling<eos_token_id = 0, pad_token_id = 0, decoder = body "
           "(int32[r,s] input_ids, int32[r,s] position_ids, int32[r,t] attention_mask, "
           "float[2,r,1,p,4] past_0) => (float[r,s,10] logits, float[2,r,1,q,4] present_0) { e = "
           "Gather(E, input_ids) logits = MatMul(e, W) h = Constant<value_ints = [0, 0, 2, 4]>() k "
           "= Reshape(e, h) t = Transpose<perm = [2, 0, 1, 3]>(k) a = Constant<value_ints = [2]>() "
           "u = Unsqueeze(t, a) present_0 = Concat<axis = 3>(past_0, u) }>(x, L) }",
           "mac=480*B add=180*B div=60*B cmp=240*B exp=60*B"}},
     .shape_inputs = 1 << 1,
     .operands = {.not_parameters = InputBits({4, 5, 6, 7})},
     .traits = Traits::kReadsContent | Traits::kRandom,
     .note = kSearchNote},
    {.name = "WhisperBeamSearch",
     .formula = "as BeamSearch, with an encoder of frames",
     .infer = InferBeamSearch,
     .count = CountBeamSearch,
     .examples =
         {// An encoder that makes keys of 5 frames and the first token; a decoder that meets those
          // keys and the ones of its past.
          {"g (float[B,8,5] x, float[8,4] W, float[10,4] E, float[4,10] V) => (int32[B,1,6] y) "
           "<int32[1] L = {6}, int32[1] beams = {2}, int32[1] best = {1}> { y = "
           "com.microsoft.WhisperBeamSearch<eos_token_id = 0, pad_token_id = 0, encoder = enc "
           "(float[b,m,f] encoder_input_ids, int32[b,d] decoder_input_ids) => (float[b,d,10] "
           "logits, float[b,f,4] encoder_hidden_states, float[b,1,d,4] present_key_self_0, "
           "float[b,1,d,4] present_value_self_0, float[b,1,f,4] present_key_cross_0, "
           "float[b,1,f,4] present_value_cross_0) { t = Transpose<perm = [0, 2, "
           "1]>(encoder_input_ids) encoder_hidden_states = MatMul(t, W) a = Constant<value_ints = "
           "[1]>() present_key_cross_0 = Unsqueeze(encoder_hidden_states, a) present_value_cross_0 "
           "= Identity(present_key_cross_0) e = Gather(E, decoder_input_ids) logits = MatMul(e, V) "
           "present_key_self_0 = Unsqueeze(e, a) present_value_self_0 = "
           "Identity(present_key_self_0) }, decoder = dec (int32[r,1] input_ids, float[r,1,p,4] "
           "past_key_self_0, float[r,1,p,4] past_value_self_0, float[r,1,c,4] past_key_cross_0, "
           "float[r,1,c,4] past_value_cross_0) => (float[r,1,10] logits, float[r,1,q,4] "
           "present_key_self_0, float[r,1,q,4] present_value_self_0) { e = Gather(E, input_ids) a "
           "= Constant<value_ints = [1]>() q = Unsqueeze(e, a) c = Transpose<perm = [0, 1, 3, "
           "2]>(past_key_cross_0) u = MatMul(q, c) d = Transpose<perm = [0, 1, 3, "
           "2]>(past_key_self_0) v = MatMul(q, d) logits = MatMul(e, V) present_key_self_0 = "
           "Concat<axis = 2>(past_key_self_0, q) present_value_self_0 = Concat<axis = "
           "2>(past_value_self_0, q) }>(x, L, , beams, best) }",
           "mac=760*B add=400*B cmp=400*B exp=100*B log=10*B"}},
     .shape_inputs = (1 << 1) | (1 << 3) | (1 << 4),
     .operands = {.not_parameters = InputBits({7, 8, 9})},
     .traits = Traits::kReadsContent | Traits::kRandom,
     .note = kSearchNote},
};

}  // namespace

constinit const OpFamily kMsSearchFamily = {"com.microsoft", kMsSearchRows};

}  // namespace onnxflops
