// Recurrences and attention.
#include "tests/oracle/attention.h"
#include "tests/oracle/cases.h"
#include "tests/oracle/rnn.h"

namespace onnxflops::oracle {

namespace {
struct RecurrentOp {
  const char* name;
  void (*element)(const Recurrence&);
  int64_t gates;
  int activations;
  int outputs;
};
constexpr RecurrentOp kRecurrentOps[] = {
    {"RNN", RnnElement, 1, 1, 2}, {"GRU", GruElement, 3, 2, 2}, {"LSTM", LstmElement, 4, 3, 3}};

Case RecurrentCase(const RecurrentOp& op, const Recurrence& r, int opset,
                   const std::vector<std::string>& activations) {
  const int64_t gates = op.gates * r.hidden;
  const bool is_lstm = op.gates == 4;
  Case c{op.name, opset, {}};
  c.inputs = {
      In(r.batch_first ? Sizes{r.batch, r.steps, r.input} : Sizes{r.steps, r.batch, r.input}),
      In({r.directions, gates, r.input}), In({r.directions, gates, r.hidden})};
  c.inputs.push_back(r.bias ? In({r.directions, 2 * gates}) : Absent());
  if (r.peepholes) {
    for (int i = 0; i < 3; ++i) c.inputs.push_back(Absent());
    c.inputs.push_back(In({r.directions, 3 * r.hidden}));
  }
  c.attributes = {{"hidden_size", r.hidden}};
  if (r.directions == 2) c.attributes.emplace_back("direction", "bidirectional");
  if (r.clip) c.attributes.emplace_back("clip", 1.0);
  if (r.batch_first) c.attributes.emplace_back("layout", int64_t{1});
  if (op.gates == 3) {
    c.attributes.emplace_back("linear_before_reset", int64_t{r.linear_before_reset});
  }
  if (is_lstm && r.input_forget) c.attributes.emplace_back("input_forget", int64_t{1});
  if (!activations.empty()) c.attributes.emplace_back("activations", activations);
  c.outputs = op.outputs;
  return c;
}
}  // namespace

void RecurrentCases(const Visit& visit) {
  for (const RecurrentOp& op : kRecurrentOps) {
    const Unary f = op.gates == 1 ? Tanh : Sigmoid;
    ForEach({2, 2, 2, 2, 2, 8, 4}, [&](const Sizes& i) {
      Recurrence r{i[0] + 1, i[1] + 1, i[2] + 1, i[3] + 1, i[4] + 1};
      r.bias = i[5] & 1;
      r.clip = i[5] & 2;
      r.batch_first = i[5] & 4;
      r.f = f;
      if (op.gates == 3) r.linear_before_reset = i[6] & 1;
      if (op.gates == 4) {
        r.peepholes = i[6] & 1;
        r.input_forget = i[6] & 2;
      }
      if (i[6] > 0 && !r.linear_before_reset && !r.peepholes && !r.input_forget) return;
      visit(RecurrentCase(op, r, i[6] % 2 == 0 ? 14 : 22, {}),
            [&] { return Recurrent(op.element, r, op.outputs); });
    });
    for (const Activation& activation : kActivations) {
      for (int64_t directions : {1, 2}) {
        Recurrence r{2, 3, 2, 3, directions};
        r.f = r.g = r.h = activation.run;
        const std::vector<std::string> names(static_cast<size_t>(op.activations * directions),
                                             activation.name);
        visit(RecurrentCase(op, r, 14, names),
              [&] { return Recurrent(op.element, r, op.outputs); });
      }
    }
  }
}

void AttentionCases(const Visit& visit) {
  ForEach({2, 2, 2, 3, 2, 2, 2, 8}, [&](const Sizes& i) {
    AttentionSizes a;
    a.batch = i[0] + 1;
    a.kv_heads = i[1] + 1;
    a.heads = a.kv_heads * (i[2] + 1);
    a.queries = i[3] + 1;
    a.keys = i[4] + 2;
    a.depth = 2 * i[5] + 2;
    a.value_depth = i[6] + 1;
    a.mask = i[7] & 1;
    a.softcap = i[7] & 2;
    a.scale = i[7] & 4;
    Case c{"Attention",
           23,
           {In({a.batch, a.heads, a.queries, a.depth}), In({a.batch, a.kv_heads, a.keys, a.depth}),
            In({a.batch, a.kv_heads, a.keys, a.value_depth})}};
    if (a.mask) c.inputs.push_back(In({a.queries, a.keys}));
    if (a.softcap) c.attributes.emplace_back("softcap", 2.0);
    if (a.scale) c.attributes.emplace_back("scale", 0.5);
    const Sizes y = {a.batch, a.heads, a.queries, a.value_depth};
    visit(c, [&] {
      Attention(a);
      return OneOutput(y);
    });
    if (a.mask) return;
    // Packed heads, and keys of the past.
    c.inputs = {In({a.batch, a.queries, a.heads * a.depth}),
                In({a.batch, a.keys, a.kv_heads * a.depth}),
                In({a.batch, a.keys, a.kv_heads * a.value_depth}),
                Absent(),
                In({a.batch, a.kv_heads, 3, a.depth}),
                In({a.batch, a.kv_heads, 3, a.value_depth})};
    c.attributes.emplace_back("q_num_heads", a.heads);
    c.attributes.emplace_back("kv_num_heads", a.kv_heads);
    c.outputs = 3;
    a.past = 3;
    visit(c, [&] {
      Attention(a);
      const int64_t total = a.keys + 3;
      return Outputs({{a.batch, a.queries, a.heads * a.value_depth},
                      {a.batch, a.kv_heads, total, a.depth},
                      {a.batch, a.kv_heads, total, a.value_depth}});
    });
  });
}

void RotaryCases(const Visit& visit) {
  ForEach({2, 3, 3, 3, 3, 2}, [&](const Sizes& i) {
    const int64_t batch = i[0] + 1, heads = i[1] + 1, length = i[2] + 1, depth = 2 * (i[3] + 1);
    const int64_t rotated = i[4] == 0 ? depth : 2 * i[4];
    if (rotated > depth) return;
    const Sizes x = {batch, heads, length, depth};
    const Input cache = In({10, rotated / 2});
    Case c{"RotaryEmbedding", 23, {In(x), cache, cache, In({batch, length}, kInt64)}};
    c.attributes = {{"interleaved", i[5]}};
    if (i[4] > 0) c.attributes.emplace_back("rotary_embedding_dim", rotated);
    visit(c, [&] { return RotaryEmbedding(x, batch * heads * length, rotated); });
  });
}

}  // namespace onnxflops::oracle
