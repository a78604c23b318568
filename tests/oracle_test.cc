// The cost rules against textbook loops: every operator of a family, over small shapes and
// attributes, must cost by its rule what its loop executes, kind by kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/registry.h"
#include "tests/oracle/attention.h"
#include "tests/oracle/conv.h"
#include "tests/oracle/elementwise.h"
#include "tests/oracle/loss.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/normalization.h"
#include "tests/oracle/pool.h"
#include "tests/oracle/quantization.h"
#include "tests/oracle/reduction.h"
#include "tests/oracle/resize.h"
#include "tests/oracle/rnn.h"
#include "tests/oracle/rule_cost.h"
#include "tests/oracle/softmax.h"
#include "tests/oracle/various.h"

namespace onnxflops::oracle {
namespace {

using Loop = std::function<Outputs()>;
// What a family of cases is told to: compare it, or only take note that it is there.
using Visit = std::function<void(const Case&, const Loop&)>;

constexpr int kFloat = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6, kInt64 = 7, kBool = 9;

Input In(Sizes dims, int dtype = kFloat) { return {std::move(dims), dtype, std::nullopt, false}; }
Input Ints(std::vector<int64_t> values) {
  const Sizes dims = {static_cast<int64_t>(values.size())};
  return {dims, kInt64, std::move(values), false};
}
Input Absent() { return {{}, kFloat, std::nullopt, true}; }

// Every list of `rank` sizes in 1..most.
std::vector<Sizes> Shapes(size_t rank, int64_t most) {
  std::vector<Sizes> shapes;
  ForEach(Sizes(rank, most), [&](const Sizes& index) {
    Sizes shape = index;
    for (int64_t& dim : shape) ++dim;
    shapes.push_back(shape);
  });
  return shapes;
}

// Whether the rule agrees with the loop; reports it when not.
bool Compare(const Case& c, const Loop& loop) {
  SCOPED_TRACE(Describe(c));
  Recorder recorder;
  const Outputs outputs = loop();
  const absl::StatusOr<RuleResult> rule = CostByRule(c);
  if (!outputs.has_value()) {
    EXPECT_EQ(rule.status().code(), absl::StatusCode::kInvalidArgument) << rule.status();
    return rule.status().code() == absl::StatusCode::kInvalidArgument;
  }
  EXPECT_TRUE(rule.ok()) << rule.status();
  if (!rule.ok()) return false;
  const bool same_dims = outputs->empty() || rule->output_dims == *outputs;
  const Work& work = recorder.work();
  EXPECT_EQ(rule->work.flops, work.flops);
  EXPECT_EQ(rule->work.int_ops, work.int_ops);
  if (!same_dims) {
    EXPECT_EQ(rule->output_dims, *outputs);
  }
  return same_dims && rule->work == work;
}

// ---- Elementwise
void UnaryCases(const Visit& visit) {
  for (const UnaryOp& op : kUnaryOps) {
    for (int opset : op.opsets) {
      if (opset == 0) continue;
      for (size_t rank = 0; rank < 4; ++rank) {
        for (const Sizes& x : Shapes(rank, 3)) {
          visit({op.name, opset, {In(x)}}, [&] { return Elementwise(op.run, x); });
        }
      }
    }
  }
  for (const Sizes& x : Shapes(3, 3)) {
    visit({"Gelu", 20, {In(x)}, {{"approximate", "tanh"}}},
          [&] { return Elementwise(GeluTanh, x); });
    visit({"Swish", 24, {In(x)}, {{"alpha", 2.0}}}, [&] { return Elementwise(Swish, x); });
    const auto compared = [](Counted v) { return Compared(v, 0.0); };
    visit({"IsInf", 20, {In(x)}}, [&] { return Elementwise(compared, x); });
    for (const auto& [name, opset, type] :
         {std::tuple{"Not", 1, kBool}, std::tuple{"BitwiseNot", 18, kInt32}}) {
      visit({name, opset, {In(x, type)}}, [&] {
        const OnIntegers integers;
        return Elementwise(compared, x);
      });
    }
  }
}

int TypeOf(Type type) {
  return type == Type::kFloat ? kFloat : type == Type::kInt ? kInt32 : kBool;
}

void BinaryCases(const Visit& visit) {
  std::vector<std::pair<Sizes, Sizes>> pairs;
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = 0; b < 3; ++b) {
      for (const Sizes& x : Shapes(a, 2)) {
        for (const Sizes& y : Shapes(b, 3)) pairs.emplace_back(x, y);
      }
    }
  }
  for (const BinaryOp& op : BinaryOps()) {
    for (int opset : op.opsets) {
      for (Type type : op.types) {
        for (const auto& [x, y] : pairs) {
          // A slope is broadcast to its input, never the other way round.
          if (op.name == std::string("PRelu") && Broadcast({x, y}) != x) continue;
          visit({op.name, opset, {In(x, TypeOf(type)), In(y, TypeOf(type))}}, [&] {
            const OnIntegers integers(type != Type::kFloat);
            return Elementwise(op.run, x, y);
          });
        }
      }
    }
  }
}

void VariadicCases(const Visit& visit) {
  for (const VariadicOp& op : kVariadicOps) {
    for (int opset : {8, 13}) {
      for (size_t count = 1; count < 4; ++count) {
        for (const Sizes& x : Shapes(2, 3)) {
          std::vector<Sizes> shapes(count, x);
          if (count > 1) shapes[1] = {x[1]};
          if (count > 2) shapes[2] = {2, 1};
          Case c{op.name, opset, {}};
          for (const Sizes& shape : shapes) c.inputs.push_back(In(shape));
          visit(c, [&] { return Variadic(op, shapes); });
        }
      }
    }
  }
}

void ClipCases(const Visit& visit) {
  for (bool min : {false, true}) {
    for (bool max : {false, true}) {
      for (const Sizes& x : Shapes(3, 2)) {
        for (int opset : {11, 12, 13}) {
          const Case c{"Clip", opset, {In(x), min ? In({}) : Absent(), max ? In({}) : Absent()}};
          visit(c, [&] {
            ForEach(x, [&](const Sizes&) {
              if (min) Compared(0.25, 0.0);
              if (max) Compared(1.0, 0.25);
            });
            return OneOutput(x);
          });
        }
      }
    }
  }
}

// ---- Matrix products
void MatMulCases(const Visit& visit) {
  std::vector<Sizes> shapes = Shapes(1, 3);
  for (const Sizes& s : Shapes(2, 3)) shapes.push_back(s);
  for (const Sizes& s : Shapes(3, 2)) shapes.push_back(s);
  for (const Sizes& s : {Sizes{2, 1, 3, 2}, Sizes{1, 3, 2, 1}}) shapes.push_back(s);
  for (const Sizes& a : shapes) {
    for (const Sizes& b : shapes) {
      visit({"MatMul", 13, {In(a), In(b)}}, [&] { return MatMul(a, b); });
    }
  }
}

void GemmCases(const Visit& visit) {
  for (const Sizes& mnk : Shapes(3, 3)) {
    const int64_t m = mnk[0], n = mnk[1], k = mnk[2];
    for (int flags = 0; flags < 16; ++flags) {
      GemmArguments g;
      g.trans_a = flags & 1;
      g.trans_b = flags & 2;
      if (flags & 4) g.alpha = 0.5;
      if (flags & 8) g.beta = 2;
      g.a = g.trans_a ? Sizes{k, m} : Sizes{m, k};
      g.b = g.trans_b ? Sizes{n, k} : Sizes{k, n};
      for (const std::optional<Sizes>& bias : {std::optional<Sizes>(),
                                               {Sizes{}},
                                               {Sizes{n}},
                                               {Sizes{m, 1}},
                                               {Sizes{m, n}},
                                               {Sizes{2}}}) {
        g.c = bias;
        Case c{"Gemm", 13, {In(g.a), In(g.b)}};
        if (bias.has_value()) c.inputs.push_back(In(*bias));
        c.attributes = {{"transA", int64_t{g.trans_a}},
                        {"transB", int64_t{g.trans_b}},
                        {"alpha", g.alpha},
                        {"beta", g.beta}};
        visit(c, [&] { return Gemm(g); });
      }
    }
  }
}

void EinsumCases(const Visit& visit) {
  for (const Sizes& s : Shapes(4, 2)) {
    const struct {
      std::vector<std::string> terms;
      std::string out;
      std::vector<Sizes> shapes;
    } cases[] = {
        {{"ij", "jk"}, "ik", {{s[0], s[1]}, {s[1], s[2]}}},
        {{"ij", "jk"}, "ik", {{s[0], s[1]}, {s[3], s[2]}}},
        {{"bij", "bkj"}, "bik", {{s[3], s[0], s[1]}, {s[3], s[2], s[1]}}},
        {{"bhqd", "bhkd"}, "bhqk", {{s[0], 2, s[1], s[2]}, {s[0], 2, s[3], s[2]}}},
        {{"ij", "ij"}, "", {{s[0], s[1]}, {s[0], s[1]}}},
        {{"i", "i"}, "", {{s[0]}, {s[0]}}},
    };
    for (const auto& e : cases) {
      const std::string equation = e.terms[0] + "," + e.terms[1] + "->" + e.out;
      visit({"Einsum", 12, {In(e.shapes[0]), In(e.shapes[1])}, {{"equation", equation}}},
            [&] { return EinsumOfTwo(e.terms, e.out, e.shapes); });
    }
  }
}

// ---- Windows
std::vector<Window> Windows(size_t rank, bool ceil) {
  std::vector<Window> windows;
  const std::vector<const char*> modes = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  ForEach({3, 2, 2, 3, 4, ceil ? 2 : 1}, [&](const Sizes& i) {
    if (i[3] > 0 && i[4] > 0) return;  // explicit pads exclude auto_pad
    Window w;
    w.kernel = Sizes(rank, i[0] + 1);
    w.strides = Sizes(rank, i[1] + 1);
    w.dilations = Sizes(rank, i[2] + 1);
    w.pads = Sizes(2 * rank, 0);
    if (i[3] > 0) w.pads[0] = 1;
    if (i[3] > 1) w.pads.back() = 1;
    w.auto_pad = modes[static_cast<size_t>(i[4])];
    w.ceil_mode = i[5] != 0;
    if (rank > 1) {  // the axes differ
      w.kernel.back() = 2;
      w.strides.back() = 1;
      w.dilations.back() = 1;
    }
    windows.push_back(w);
  });
  return windows;
}

std::vector<std::pair<std::string, AttributeValue>> WindowAttributes(const Window& w) {
  std::vector<std::pair<std::string, AttributeValue>> attributes = {
      {"kernel_shape", w.kernel}, {"strides", w.strides}, {"auto_pad", w.auto_pad}};
  if (w.auto_pad == "NOTSET") attributes.emplace_back("pads", w.pads);
  return attributes;
}

void ConvCases(const Visit& visit) {
  for (size_t rank : {size_t{1}, size_t{2}}) {
    for (const Window& window : Windows(rank, false)) {
      for (const Sizes& s : Shapes(3, 3)) {  // group, size of the input, channels per group
        const int64_t group = s[0];
        if (group > 2) continue;
        const Sizes x = Concat({2, group * s[2]}, Sizes(rank, s[1]));
        const Sizes w = Concat({group * 2, s[2]}, window.kernel);
        for (bool bias : {false, true}) {
          Case c{"Conv", 11, {In(x), In(w)}, WindowAttributes(window)};
          c.attributes.emplace_back("dilations", window.dilations);
          c.attributes.emplace_back("group", group);
          if (bias) c.inputs.push_back(In({group * 2}));
          visit(c, [&] {
            return Conv(x, w, group, window, [&](Counted acc) {
              if (bias) acc += 0.5;
            });
          });
        }
      }
    }
  }
}

void ConvTransposeCases(const Visit& visit) {
  for (size_t rank : {size_t{1}, size_t{2}}) {
    for (const Window& window : Windows(rank, false)) {
      for (const Sizes& s : Shapes(4, 2)) {  // group, size of the input, channels, bias
        const int64_t group = s[0];
        const bool bias = s[3] == 2;
        const Sizes x = Concat({2, group * s[2]}, Sizes(rank, s[1]));
        const Sizes w = Concat({group * s[2], 3}, window.kernel);
        Case c{"ConvTranspose", 11, {In(x), In(w)}, WindowAttributes(window)};
        c.attributes.emplace_back("dilations", window.dilations);
        c.attributes.emplace_back("group", group);
        if (bias) c.inputs.push_back(In({group * 3}));
        const Transposed plain{Sizes(rank, 0), {}};
        visit(c, [&] { return ConvTranspose(x, w, group, window, plain, bias); });
        if (window.strides[0] > 1) {
          const Transposed padded{Sizes(rank, window.strides.back() - 1), {}};
          c.attributes.emplace_back("output_padding", padded.output_padding);
          visit(c, [&] { return ConvTranspose(x, w, group, window, padded, bias); });
        }
      }
    }
  }
}

void PoolCases(const Visit& visit) {
  for (size_t rank : {size_t{1}, size_t{2}}) {
    for (const Window& w : Windows(rank, true)) {
      for (int64_t size = 1; size <= 5; ++size) {
        const Sizes x = Concat({2, 3}, Sizes(rank, size));
        auto attributes = WindowAttributes(w);
        attributes.emplace_back("ceil_mode", int64_t{w.ceil_mode});
        attributes.emplace_back("dilations", w.dilations);
        visit({"MaxPool", 12, {In(x)}, attributes}, [&] { return Pool(PoolKind::kMax, x, w); });
        visit({"MaxPool", 22, {In(x)}, attributes, 2},
              [&] { return Pool(PoolKind::kMax, x, w, 0, true); });
        visit({"AveragePool", 19, {In(x)}, attributes},
              [&] { return Pool(PoolKind::kAverage, x, w); });
        for (int64_t p : {1, 2, 3}) {
          auto with_p = attributes;
          with_p.emplace_back("p", p);
          visit({"LpPool", 18, {In(x)}, with_p}, [&] { return Pool(PoolKind::kLp, x, w, p); });
        }
      }
    }
  }
  for (size_t rank = 3; rank < 6; ++rank) {
    for (const Sizes& x : Shapes(rank, 2)) {
      visit({"GlobalMaxPool", 22, {In(x)}}, [&] { return GlobalPool(PoolKind::kMax, x); });
      visit({"GlobalAveragePool", 22, {In(x)}}, [&] { return GlobalPool(PoolKind::kAverage, x); });
      visit({"GlobalLpPool", 22, {In(x)}}, [&] { return GlobalPool(PoolKind::kLp, x); });
    }
  }
}

// ---- Rows
std::vector<Sizes> SubsetsOfAxes(size_t rank) {
  std::vector<Sizes> subsets;
  for (size_t bits = 1; bits < (size_t{1} << rank); ++bits) {
    Sizes axes;
    for (size_t i = 0; i < rank; ++i) {
      // Odd ones counted from the end.
      if (bits >> i & 1) axes.push_back(static_cast<int64_t>(i % 2 == 1 ? i - rank : i));
    }
    subsets.push_back(axes);
  }
  return subsets;
}

void ReduceCases(const Visit& visit) {
  for (const Reduction& op : kReductions) {
    for (size_t rank = 1; rank < 4; ++rank) {
      for (const Sizes& x : Shapes(rank, 2)) {
        for (const Sizes& axes : SubsetsOfAxes(rank)) {
          for (int64_t keep : {0, 1}) {
            const Loop loop = [&] { return Reduce(op.reduce, x, axes, keep != 0); };
            visit({op.name, 18, {In(x), Ints(axes)}, {{"keepdims", keep}}}, loop);
            visit({op.name, 11, {In(x)}, {{"axes", axes}, {"keepdims", keep}}}, loop);
          }
        }
        Sizes all;
        for (size_t i = 0; i < rank; ++i) all.push_back(static_cast<int64_t>(i));
        visit({op.name, 18, {In(x)}}, [&] { return Reduce(op.reduce, x, all, true); });
        visit({op.name, 18, {In(x), Ints({3})}}, [&] { return Reduce(op.reduce, x, {3}, true); });
      }
    }
  }
  for (const Reduction& op : kArgReductions) {
    for (const Sizes& x : Shapes(3, 3)) {
      for (int64_t axis = -4; axis <= 3; ++axis) {
        for (int64_t keep : {0, 1}) {
          visit({op.name, 13, {In(x)}, {{"axis", axis}, {"keepdims", keep}}},
                [&] { return Reduce(op.reduce, x, {axis}, keep != 0); });
        }
      }
    }
  }
}

void SoftmaxCases(const Visit& visit) {
  constexpr struct {
    const char* name;
    Row (*row)(Row);
  } kOps[] = {{"Softmax", Softmax}, {"LogSoftmax", LogSoftmax}, {"Hardmax", Hardmax}};
  for (const auto& op : kOps) {
    for (const Sizes& x : Shapes(3, 3)) {
      for (int64_t axis = -4; axis <= 3; ++axis) {
        for (int opset : {11, 13}) {
          visit({op.name, opset, {In(x)}, {{"axis", axis}}},
                [&] { return OverRows(op.row, x, axis, opset < 13); });
        }
      }
    }
  }
}

// ---- Normalisations
void NormalizationCases(const Visit& visit) {
  for (const Sizes& x : Shapes(3, 3)) {
    for (int64_t axis = -4; axis <= 3; ++axis) {
      const auto at = static_cast<size_t>(std::clamp<int64_t>(axis < 0 ? axis + 3 : axis, 0, 2));
      const Sizes row = Slice(x, at, 3);
      for (int outputs = 1; outputs <= 3; ++outputs) {
        const Case c{"LayerNormalization", 17, {In(x), In(row)}, {{"axis", axis}}, outputs};
        visit(c, [&] { return LayerNormalization(x, axis, false, outputs); });
        Case biased = c;
        biased.inputs.push_back(In(row));
        visit(biased, [&] { return LayerNormalization(x, axis, true, outputs); });
      }
      visit({"RMSNormalization", 23, {In(x), In(row)}, {{"axis", axis}}},
            [&] { return RmsNormalization(x, axis); });
      for (int64_t p : {1, 2}) {
        for (int opset : {1, 22}) {
          visit({"LpNormalization", opset, {In(x)}, {{"axis", axis}, {"p", p}}},
                [&] { return LpNormalization(x, axis, p); });
        }
      }
    }
    for (const Sizes& axes : SubsetsOfAxes(3)) {
      for (int opset : {9, 13}) {
        visit({"MeanVarianceNormalization", opset, {In(x)}, {{"axes", axes}}},
              [&] { return MeanVarianceNormalization(x, axes); });
      }
    }
  }
  for (const Sizes& x : Shapes(4, 3)) {
    const Input channel = In({x[1]});
    for (int64_t groups = 1; groups <= x[1]; ++groups) {
      visit({"GroupNormalization", 21, {In(x), channel, channel}, {{"num_groups", groups}}},
            [&] { return GroupNormalization(x, groups); });
      if (x[1] % groups != 0) continue;
      const Input group = In({groups});
      visit({"GroupNormalization", 18, {In(x), group, group}, {{"num_groups", groups}}},
            [&] { return GroupNormalization(x, groups); });
    }
    visit({"InstanceNormalization", 22, {In(x), channel, channel}},
          [&] { return GroupNormalization(x, x[1]); });
    for (int64_t size = 1; size <= 4; ++size) {
      visit({"LRN", 13, {In(x)}, {{"size", size}}}, [&] { return Lrn(x, size); });
    }
    const std::vector<Input> inputs = {In(x), channel, channel, channel, channel};
    visit({"BatchNormalization", 15, inputs}, [&] { return BatchNormalization(x, false); });
    visit({"BatchNormalization", 9, inputs}, [&] { return BatchNormalization(x, false); });
    visit({"BatchNormalization", 15, inputs, {{"training_mode", int64_t{1}}}, 3},
          [&] { return BatchNormalization(x, true); });
  }
}

// ---- Recurrences
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

// ---- Attention
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

// ---- Losses
void LossCases(const Visit& visit) {
  std::vector<Sizes> shapes = Shapes(2, 3);
  for (const Sizes& s : Shapes(3, 3)) shapes.push_back(s);
  for (const Sizes& s : Shapes(4, 2)) shapes.push_back(s);
  for (const Sizes& x : shapes) {
    for (const char* reduction : {"none", "sum", "mean"}) {
      for (int flags = 0; flags < 4; ++flags) {
        const Loss loss{x, (flags & 1) != 0, (flags & 2) != 0, reduction};
        const Sizes places = Concat({x[0]}, Slice(x, 2, x.size()));
        Case c{"NegativeLogLikelihoodLoss", 22, {In(x), In(places, kInt64)}};
        if (loss.weights) c.inputs.push_back(In({x[1]}));
        c.attributes = {{"reduction", reduction}};
        if (loss.ignore_index) c.attributes.emplace_back("ignore_index", int64_t{1});
        visit(c, [&] { return NegativeLogLikelihood(loss); });
        c.op = "SoftmaxCrossEntropyLoss";
        c.opset = 13;
        visit(c, [&] { return SoftmaxCrossEntropy(loss, false); });
        c.outputs = 2;
        visit(c, [&] { return SoftmaxCrossEntropy(loss, true); });
      }
    }
  }
}

// ---- Quantisation
void QuantizeCases(const Visit& visit) {
  for (const Sizes& x : Shapes(3, 3)) {
    for (bool per_axis : {false, true}) {
      for (bool zero_point : {false, true}) {
        const Sizes scale = per_axis ? Sizes{x[1]} : Sizes{};
        for (int opset : {13, 19, 21}) {
          Case q{"QuantizeLinear", opset, {In(x), In(scale)}};
          Case d{"DequantizeLinear", opset, {In(x, kUint8), In(scale)}};
          if (zero_point) q.inputs.push_back(In(scale, kUint8));
          if (zero_point) d.inputs.push_back(In(scale, kUint8));
          visit(q, [&] {
            ForEach(x, [&](const Sizes&) { Quantize(0.5, zero_point); });
            return OneOutput(x);
          });
          visit(d, [&] {
            ForEach(x, [&](const Sizes&) { Dequantize(5, zero_point); });
            return OneOutput(x);
          });
        }
      }
    }
    visit({"DynamicQuantizeLinear", 11, {In(x)}, {}, 3}, [&] { return DynamicQuantize(x); });
  }
}

void IntegerProductCases(const Visit& visit) {
  for (const Sizes& s : Shapes(4, 2)) {
    const Sizes a = {s[3], s[0], s[1]}, b = {s[1], s[2]};
    for (int points = 0; points < 3; ++points) {
      Case c{"MatMulInteger", 10, {In(a, kUint8), In(b, kInt8)}};
      if (points > 0) c.inputs.push_back(In({}, kUint8));
      if (points > 1) c.inputs.push_back(In({}, kInt8));
      visit(c, [&] {
        const OnIntegers integers;
        if (points > 0) SubtractZeroPoint(a);
        if (points > 1) SubtractZeroPoint(b);
        return MatMul(a, b);
      });
    }
  }
  for (const Window& window : Windows(2, false)) {
    const Sizes x = {2, 2, 3, 3}, w = Concat({3, 2}, window.kernel);
    for (int points = 0; points < 3; ++points) {
      Case c{"ConvInteger", 10, {In(x, kUint8), In(w, kInt8)}, WindowAttributes(window)};
      c.attributes.emplace_back("dilations", window.dilations);
      if (points > 0) c.inputs.push_back(In({}, kUint8));
      if (points > 1) c.inputs.push_back(In({}, kInt8));
      visit(c, [&] {
        const OnIntegers integers;
        const Outputs outputs = Conv(x, w, 1, window, [](Counted) {});
        if (outputs.has_value() && points > 0) SubtractZeroPoint(x);
        if (outputs.has_value() && points > 1) SubtractZeroPoint(w);
        return outputs;
      });
    }
  }
}

void EinsumOrderCases(const Visit& visit) {
  const struct {
    std::vector<std::string> terms;
    std::string out;
  } kEquations[] = {
      {{"ij"}, "ji"},
      {{"ij"}, "i"},
      {{"ij"}, ""},
      {{"ijk"}, "k"},
      {{"i", "j"}, "ij"},
      {{"ij", "ij"}, "ij"},
      {{"ij", "k"}, "ik"},
      {{"ij", "j"}, "i"},
      {{"ij", "jk", "kl"}, "il"},
      {{"ij", "i", "j"}, ""},
      {{"i", "j", "k"}, "ijk"},
      {{"ij", "jk", "ik"}, "ik"},
  };
  for (const Sizes& s : Shapes(4, 3)) {
    for (const auto& e : kEquations) {
      Case c{"Einsum", 12, {}};
      std::vector<Operand> operands;
      std::string equation;
      for (const std::string& term : e.terms) {
        Sizes shape;
        for (char label : term) shape.push_back(s[static_cast<size_t>(label - 'i')]);
        c.inputs.push_back(In(shape));
        operands.push_back({term, shape});
        equation += (equation.empty() ? "" : ",") + term;
      }
      c.attributes = {{"equation", equation + "->" + e.out}};
      visit(c, [&] { return Einsum(operands, e.out); });
    }
  }
}

// ---- Quantised products
void QLinearCases(const Visit& visit) {
  const Input u8 = In({}, kUint8), scale = In({});
  for (const Sizes& s : Shapes(4, 3)) {
    const Sizes a = {s[3], s[0], s[1]}, b = {s[1], s[2]};
    for (int opset : {10, 21}) {
      const Case c{
          "QLinearMatMul", opset, {In(a, kUint8), scale, u8, In(b, kUint8), scale, u8, scale, u8}};
      visit(c, [&] {
        const OnIntegers integers;
        SubtractZeroPoint(a);
        SubtractZeroPoint(b);
        return MatMul(a, b, Requantize);
      });
    }
  }
  for (const Window& window : Windows(2, false)) {
    for (bool bias : {false, true}) {
      const Sizes x = {2, 2, 3, 3}, w = Concat({4, 1}, window.kernel);
      Case c{"QLinearConv",
             10,
             {In(x, kUint8), scale, u8, In(w, kUint8), scale, u8, scale, u8},
             WindowAttributes(window)};
      c.attributes.emplace_back("dilations", window.dilations);
      c.attributes.emplace_back("group", int64_t{2});
      if (bias) c.inputs.push_back(In({4}, kInt32));
      visit(c, [&] {
        const OnIntegers integers;
        const Outputs outputs = Conv(x, w, 2, window, [&](Counted acc) {
          if (bias) acc += 7.0;
          Requantize(acc);
        });
        if (outputs.has_value()) SubtractZeroPoint(x);
        if (outputs.has_value()) SubtractZeroPoint(w);
        return outputs;
      });
    }
  }
}

void DeformConvCases(const Visit& visit) {
  for (const Window& window : Windows(2, false)) {
    if (window.auto_pad != "NOTSET") continue;
    ForEach({2, 2, 2, 2}, [&](const Sizes& i) {
      const Sizes x = {2, 4, 3, 3}, w = Concat({2, 4 / (i[0] + 1)}, window.kernel);
      const auto spatial = SlidingOutput({3, 3}, window);
      if (!spatial.has_value()) return;
      const int64_t places = (i[1] + 1) * Tensor::Count(window.kernel);
      Case c{"DeformConv", 19, {In(x), In(w), In(Concat({2, 2 * places}, *spatial))}};
      c.inputs.push_back(i[2] ? In({2}) : Absent());
      if (i[3]) c.inputs.push_back(In(Concat({2, places}, *spatial)));
      c.attributes = {{"kernel_shape", window.kernel},
                      {"strides", window.strides},
                      {"dilations", window.dilations},
                      {"pads", window.pads},
                      {"group", i[0] + 1},
                      {"offset_group", i[1] + 1}};
      visit(c, [&] { return DeformConv(x, w, i[0] + 1, i[1] + 1, window, i[2], i[3]); });
    });
  }
}

// ---- Sampling
void ResizeCases(const Visit& visit) {
  constexpr struct {
    const char* mode;
    int64_t taps;
  } kModes[] = {{"nearest", 1}, {"linear", 2}, {"cubic", 4}};
  for (const auto& mode : kModes) {
    for (size_t rank : {size_t{3}, size_t{4}}) {
      for (const Sizes& spatial : Shapes(rank - 2, 3)) {
        const Sizes x = Concat({2, 1}, Sizes(rank - 2, 2)), y = Concat({2, 1}, spatial);
        for (int opset : {11, 13, 19}) {
          visit({"Resize",
                 opset,
                 {In(x), opset < 13 ? In({0}) : Absent(), opset < 13 ? In({0}) : Absent(), Ints(y)},
                 {{"mode", mode.mode}}},
                [&] { return Resize(y, 2, mode.taps); });
        }
      }
    }
  }
  ForEach({2, 2, 2, 2, 3, 3}, [&](const Sizes& i) {
    const Grid grid{i[0] != 0, i[1] != 0, i[2] != 0};
    const Sizes x = {2, i[3] + 1, 3, 2}, places = {i[4] + 1, i[5] + 1};
    visit({"GridSample",
           20,
           {In(x), In(Concat(Concat({2}, places), {2}))},
           {{"align_corners", i[0]},
            {"padding_mode", grid.border ? "border" : "zeros"},
            {"mode", grid.nearest ? "nearest" : "linear"}}},
          [&] { return GridSample(x, places, grid); });
  });
}

// ---- Operators that are families of their own
Counted FloatAdd(Counted x, Counted y) { return x + y; }
Counted FloatMul(Counted x, Counted y) { return x * y; }

void ScanCases(const Visit& visit) {
  for (const Sizes& x : Shapes(3, 3)) {
    const Input axis = {{}, kInt64, {{1}}, false};
    for (int64_t exclusive : {0, 1}) {
      visit({"CumSum", 14, {In(x), axis}, {{"exclusive", exclusive}}},
            [&] { return Elementwise(FloatAdd, x, x); });
      visit({"CumProd", 26, {In(x), axis}, {{"exclusive", exclusive}}},
            [&] { return Elementwise(FloatMul, x, x); });
    }
    visit({"Det", 22, {In(x)}}, [&] { return Determinant(x); });
    for (int64_t k = 1; k <= 4; ++k) {
      visit({"TopK", 11, {In(x), Ints({k})}, {{"axis", int64_t{-1}}}, 2},
            [&] { return TopK(x, 2, k); });
    }
    visit({"NonZero", 13, {In(x)}}, [&] {
      Elementwise(Compared, x, x);
      return UnnamedOutputs();
    });
    const Input ratio = {{}, kFloat, {{1}}, false}, on = {{}, kBool, {{1}}, false};
    visit({"Dropout", 13, {In(x), ratio, on}}, [&] {
      return PerElement(
          x, [] { Counted(0.5) * 2.0 * Compared(0.25, 0.5); }, x);
    });
    visit({"Dropout", 13, {In(x)}}, [&] { return OneOutput(x); });
    visit({"Bernoulli", 22, {In(x)}}, [&] { return Elementwise(Compared, x, x); });
    for (double alpha : {1.0, 2.0}) {
      visit({"SwiGLU", 28, {In(x), In(x)}, {{"alpha", alpha}}}, [&] {
        return PerElement(
            x, [&] { (alpha == 1 ? Silu(0.5) : Swish(0.5)) * 0.25; }, x);
      });
    }
    visit({"SimplifiedLayerNormalization", 1, {In(x), In({x[2]})}},
          [&] { return RmsNormalization(x, -1); });
  }
}

void SelectionCases(const Visit& visit) {
  for (const Sizes& x : Shapes(2, 3)) {
    const Input indices = In(x, kInt64);
    const auto free = [](Sizes dims) { return [dims] { return OneOutput(dims); }; };
    visit({"Gather", 13, {In(x), indices}}, free({x[0], x[1], x[1]}));
    visit({"GatherElements", 13, {In(x), indices}}, free(x));
    visit({"GatherND", 13, {In({3, 3, 4}), In({x[0], 2}, kInt64)}}, free({x[0], 4}));
    visit({"Slice", 13, {In({3, 3}), Ints({0, 0}), Ints(x)}}, free(x));
    const struct {
      const char* reduction;
      Binary run;
    } kReduced[] = {{"none", nullptr},
                    {"add", FloatAdd},
                    {"mul", FloatMul},
                    {"max", Compared},
                    {"min", Compared}};
    for (const auto& r : kReduced) {
      const auto loop = [&](const Sizes& updates, Sizes out) {
        return [&r, updates, out] {
          if (r.run != nullptr) Elementwise(r.run, updates, updates);
          return OneOutput(out);
        };
      };
      visit({"ScatterElements", 18, {In({3, 3}), indices, In(x)}, {{"reduction", r.reduction}}},
            loop(x, {3, 3}));
      visit({"ScatterND",
             18,
             {In({3, 4}), In({x[0], 1}, kInt64), In({x[0], 4})},
             {{"reduction", r.reduction}}},
            loop({x[0], 4}, {3, 4}));
    }
  }
  for (const Sizes& s : Shapes(3, 3)) {  // batch, channels, kernel
    const Sizes blocks = {s[0], s[1] * s[2] * s[2], (6 / s[2]) * (6 / s[2])};
    visit({"Col2Im",
           18,
           {In(blocks), Ints({6, 6}), Ints({s[2], s[2]})},
           {{"strides", std::vector<int64_t>{s[2], s[2]}}}},
          [&] {
            return PerElement(blocks, [] { FloatAdd(0.5, 0.25); }, {s[0], s[1], 6, 6});
          });
  }
}

void FourierCases(const Visit& visit) {
  for (int64_t n : {1, 2, 4, 8, 16}) {
    for (int64_t batch : {1, 2, 3}) {
      for (int64_t inverse : {0, 1}) {
        const Sizes x = {batch, n, 2};
        const Input axis = {{}, kInt64, {{1}}, false};
        visit({"DFT", 20, {In(x), Absent(), axis}, {{"inverse", inverse}}}, [&] {
          for (int64_t i = 0; i < batch; ++i) FastFourierTransform(n);
          return PerElement(
              x,
              [&] {
                if (inverse) Counted(0.5) / 8.0;
              },
              x);
        });
      }
    }
  }
}

// ---- com.microsoft: a fused operator executes what its parts do
constexpr char kMs[] = "com.microsoft";
constexpr char kNhwc[] = "com.ms.internal.nhwc";

void FusedElementwiseCases(const Visit& visit) {
  for (const Sizes& x : Shapes(3, 3)) {
    const Input bias = In({x[2]});
    const auto each = [&](auto run) { return [&x, run] { return PerElement(x, run, x); }; };
    visit({"Gelu", 1, {In(x)}, {}, 1, kMs}, each([] { GeluErf(0.5); }));
    visit({"BiasGelu", 1, {In(x), bias}, {}, 1, kMs}, each([] { GeluErf(Counted(0.5) + 0.25); }));
    visit({"FastGelu", 1, {In(x)}, {}, 1, kMs}, each([] { GeluTanh(0.5); }));
    visit({"FastGelu", 1, {In(x), bias}, {}, 1, kMs}, each([] { GeluTanh(Counted(0.5) + 0.25); }));
    visit({"QuickGelu", 1, {In(x)}, {{"alpha", 1.0}}, 1, kMs}, each([] { Silu(0.5); }));
    visit({"QuickGelu", 1, {In(x)}, {}, 1, kMs}, each([] { Swish(0.5); }));
    const Sizes complex = {x[0], x[1], 2};
    visit({"ComplexMul", 1, {In(complex), In(complex)}, {}, 1, kMs}, [&] {
      return PerElement(
          {x[0], x[1]},
          [] {
            Counted(1) * 2.0 - Counted(3) * 4.0;
            Counted(1) * 4.0 + Counted(2) * 3.0;
          },
          complex);
    });
    const Sizes a = {x[0], x[2]}, b = {x[1], x[2]};
    visit({"CDist", 1, {In(a), In(b)}, {{"metric", "euclidean"}}, 1, kMs}, [&] {
      return PerElement({x[0], x[1]},
                        [&] {
                          Counted sum = 0;
                          for (int64_t i = 0; i < x[2]; ++i) {
                            const Counted difference = Counted(0.5) - 0.25;
                            sum += difference * difference;
                          }
                          Sqrt(sum);
                        },
                        {x[0], x[1]});
    });
    for (bool with_bias : {false, true}) {
      const auto summed = [with_bias](const Sizes& shape) {
        ForEach(shape,
                [&](const Sizes&) { with_bias ? 0.5 + Counted(0.25) + 0.5 : 0.5 + Counted(1); });
      };
      const Input last = with_bias ? bias : Absent();
      visit({"SkipLayerNormalization", 1, {In(x), In(x), bias, bias, last}, {}, 1, kMs}, [&] {
        summed(x);
        return LayerNormalization(x, -1, true, 1);
      });
      visit({"SkipSimplifiedLayerNormalization", 1, {In(x), In(x), bias, last}, {}, 1, kMs}, [&] {
        summed(x);
        return RmsNormalization(x, -1);
      });
    }
  }
}

void FusedMatMulCases(const Visit& visit) {
  for (const Sizes& s : Shapes(4, 3)) {
    const int64_t m = s[0], n = s[1], k = s[2], batch = s[3];
    for (int flags = 0; flags < 8; ++flags) {
      const bool ta = flags & 1, tb = flags & 2, scaled = flags & 4;
      const Sizes a = {batch, ta ? k : m, ta ? m : k}, b = {batch, tb ? n : k, tb ? k : n};
      for (const char* name : {"FusedMatMul", "TransposeMatMul"}) {
        visit({name,
               1,
               {In(a), In(b)},
               {{"transA", int64_t{ta}}, {"transB", int64_t{tb}}, {"alpha", scaled ? 0.5 : 1.0}},
               1,
               kMs},
              [&] {
                return MatMul({batch, m, k}, {batch, k, n}, [&](Counted y) {
                  if (scaled) Counted(0.5) * y;
                });
              });
      }
    }
    const Sizes a = {batch, m, k}, b = {k, n};
    visit({"GemmFastGelu", 1, {In(a), In(b), In({n})}, {}, 1, kMs},
          [&] { return MatMul(a, b, [](Counted y) { GeluTanh(y + 0.5); }); });
    GemmArguments gemm;
    gemm.a = {m, k};
    gemm.b = b;
    gemm.c = Sizes{n};
    visit({"FusedGemm", 1, {In(gemm.a), In(b), In({n})}, {{"activation", "Relu"}}, 1, kMs}, [&] {
      ForEach({m, n}, [](const Sizes&) { Max(0.5, 0.0); });
      return Gemm(gemm);
    });
    visit({"MatMulInteger16", 1, {In(a, 5), In(b, 5)}, {}, 1, kMs}, [&] {
      const OnIntegers integers;
      return MatMul(a, b);
    });
    // Blocks of 16 four-bit weights; a weight is scaled once.
    const Sizes x = {batch, m, 16 * k};
    Case nbits{"MatMulNBits",
               1,
               {In(x), In({n, k, 8}, kUint8), In({n * k})},
               {{"K", 16 * k}, {"N", n}, {"bits", int64_t{4}}, {"block_size", int64_t{16}}},
               1,
               kMs};
    visit(nbits, [&] {
      ForEach({n, 16 * k}, [](const Sizes&) { Counted(5) * 0.5; });
      return MatMul(x, {16 * k, n});
    });
  }
}

// The same window operators with the channels last.
void ChannelsLastCases(const Visit& visit) {
  const auto moved = [](Outputs outputs) {
    if (!outputs.has_value()) return outputs;
    for (Sizes& dims : *outputs) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
    return outputs;
  };
  for (const Window& window : Windows(2, false)) {
    const Sizes x = {2, 2, 3, 3}, w = Concat({3, 2}, window.kernel), last = {2, 3, 3, 2};
    auto attributes = WindowAttributes(window);
    attributes.emplace_back("dilations", window.dilations);
    for (bool bias : {false, true}) {
      std::vector<Input> inputs = {In(last), In(w)};
      if (bias) inputs.push_back(In({3}));
      const auto add_bias = [&](Counted acc) {
        if (bias) acc += 0.5;
      };
      visit({"Conv", 11, inputs, attributes, 1, kNhwc},
            [&] { return moved(Conv(x, w, 1, window, add_bias)); });
      inputs[0] = In(x);
      auto activated = attributes;
      activated.emplace_back("activation", "Relu");
      visit({"FusedConv", 1, inputs, activated, 1, kMs}, [&] {
        return Conv(x, w, 1, window, [&](Counted acc) {
          add_bias(acc);
          Max(acc, 0.0);
        });
      });
    }
    visit({"MaxPool", 12, {In(last)}, attributes, 1, kNhwc},
          [&] { return moved(Pool(PoolKind::kMax, x, window)); });
    visit({"AveragePool", 19, {In(last)}, attributes, 1, kNhwc},
          [&] { return moved(Pool(PoolKind::kAverage, x, window)); });
    visit({"NhwcMaxPool", 1, {In(last, kInt8)}, attributes, 1, kMs}, [&] {
      const OnIntegers integers;
      return moved(Pool(PoolKind::kMax, x, window));
    });
  }
  for (const Sizes& x : Shapes(4, 3)) {
    const Input last = In({x[0], x[2], x[3], x[1]});
    visit({"GlobalMaxPool", 1, {last}, {}, 1, kNhwc},
          [&] { return moved(GlobalPool(PoolKind::kMax, x)); });
    visit({"GlobalAveragePool", 1, {last}, {}, 1, kNhwc},
          [&] { return moved(GlobalPool(PoolKind::kAverage, x)); });
  }
}

void FusedQuantizedCases(const Visit& visit) {
  const Input scale = In({}), point = In({}, kUint8);
  for (const Sizes& x : Shapes(3, 3)) {
    const Input q = In(x, kUint8);
    const auto each = [&](int dequantized, auto run) {
      return [&x, dequantized, run] {
        return PerElement(
            x,
            [&] {
              for (int i = 0; i < dequantized; ++i) Dequantize(5, true);
              run();
              Quantize(0.5, true);
            },
            x);
      };
    };
    const std::vector<Input> two = {q, scale, point, q, scale, point, scale, point};
    const std::vector<Input> one = {q, scale, point, scale, point};
    visit({"QLinearAdd", 1, two, {}, 1, kMs}, each(2, [] { FloatAdd(0.5, 0.25); }));
    visit({"QLinearMul", 1, two, {}, 1, kMs}, each(2, [] { FloatMul(0.5, 0.25); }));
    visit({"QLinearSigmoid", 1, one, {}, 1, kMs}, each(1, [] { Sigmoid(0.5); }));
    visit({"QLinearLeakyRelu", 1, one, {}, 1, kMs},
          each(1, [] { Compared(FloatMul(0.5, 0.25), 0.0); }));
    visit({"QuantizeLinear", 1, {In(x), scale, point}, {}, 1, kMs}, each(0, [] {}));
    visit({"DequantizeLinear", 1, {q, scale, point}, {}, 1, kMs}, [&] {
      return PerElement(
          x, [] { Dequantize(5, true); }, x);
    });
  }
}

// ---- Linear models
void LinearModelCases(const Visit& visit) {
  constexpr char kMl[] = "ai.onnx.ml";
  for (const Sizes& s : Shapes(3, 3)) {
    const Sizes x = {s[0], s[1]};
    const auto many = [&](int64_t count) {
      return std::vector<double>(static_cast<size_t>(count), 0.5);
    };
    visit({"Scaler", 1, {In(x)}, {{"offset", many(s[1])}, {"scale", many(s[1])}}, 1, kMl}, [&] {
      return PerElement(
          x, [] { (Counted(1) - 0.5) * 0.5; }, x);
    });
    visit({"Binarizer", 1, {In(x)}, {{"threshold", 0.5}}, 1, kMl}, [&] {
      return PerElement(
          x, [] { Compared(0.25, 0.5); }, x);
    });
    for (const Reduction& norm : {Reduction{"MAX", MaxOf}, kReductions[5], kReductions[6]}) {
      const std::string name = norm.name == std::string("MAX") ? "MAX" : norm.name + 6;
      visit({"Normalizer", 1, {In(x)}, {{"norm", name}}, 1, kMl}, [&] {
        Reduce(norm.reduce, x, {1}, true);
        return PerElement(
            x, [] { Counted(0.5) / 0.25; }, x);
      });
    }
    visit({"LinearRegressor",
           1,
           {In(x)},
           {{"coefficients", many(s[1] * s[2])}, {"intercepts", many(s[2])}, {"targets", s[2]}},
           1,
           kMl},
          [&] {
            return PerElement({s[0], s[2]}, [&] { Dot(s[1]) + 0.5; }, {s[0], s[2]});
          });
  }
}

// ---- Generators, and older forms
void GeneratorCases(const Visit& visit) {
  for (int64_t n : {1, 2, 5}) {
    const auto scalar = [](int64_t v) { return Input{{}, kFloat, {{v}}, false}; };
    visit({"Range", 11, {scalar(0), scalar(n), scalar(1)}},
          [&] { return PerElement({n}, [] { FloatAdd(0.5, 1.0); }, {n}); });
    for (const Sizes& x : Shapes(2, 3)) {
      visit({"BitShift", 11, {In(x, kUint8), In(x, kUint8)}, {{"direction", "LEFT"}}}, [&] {
        const OnIntegers integers;
        return Elementwise(Compared, x, x);
      });
      const Sizes y = {1, 1, x[0] * n, x[1] * n};
      visit({"Upsample",
             7,
             {In({1, 1, x[0], x[1]})},
             {{"mode", "linear"}, {"scales", std::vector<double>{1, 1, double(n), double(n)}}}},
            [&] { return Resize(y, 2, 2); });
    }
  }
}

void WindowFunctionCases(const Visit& visit) {
  for (int64_t n = 1; n <= 6; ++n) {
    const Input size = {{}, kInt64, {{n}}, false};
    // 2 pi / size is made once.
    const auto window = [n](auto term) {
      return [n, term] {
        const Counted step = Counted(6.28) / 5.0;
        return PerElement({n}, [&] { term(step * 2.0); }, {n});
      };
    };
    const auto two_terms = [](Counted x) { Counted(0.5) - 0.5 * Trig(x); };
    visit({"HannWindow", 17, {size}}, window(two_terms));
    visit({"HammingWindow", 17, {size}}, window(two_terms));
    visit({"BlackmanWindow", 17, {size}},
          window([](Counted x) { Counted(0.42) - 0.5 * Trig(x) + 0.08 * Trig(2.0 * x); }));
  }
}

void MultiHeadAttentionCases(const Visit& visit) {
  ForEach({2, 2, 3, 3, 2, 2}, [&](const Sizes& i) {
    const int64_t batch = i[0] + 1, heads = i[1] + 1, queries = i[2] + 1, keys = i[3] + 1;
    const int64_t depth = i[4] + 1, value_depth = i[5] + 1;
    const Sizes y = {batch, queries, heads * value_depth};
    visit({"MultiHeadAttention",
           1,
           {In({batch, queries, heads * depth}), In({batch, keys, heads * depth}),
            In({batch, keys, heads * value_depth})},
           {{"num_heads", heads}},
           1,
           kMs},
          [&] {
            ForEach({batch, heads, queries}, [&](const Sizes&) {
              Row scores;
              for (int64_t k = 0; k < keys; ++k) scores.push_back(Dot(depth) * 0.5);
              Softmax(scores);
              for (int64_t d = 0; d < value_depth; ++d) Dot(keys);
            });
            return OneOutput(y);
          });
  });
}

void ChannelsLastNormalizationCases(const Visit& visit) {
  for (const Sizes& x : Shapes(4, 3)) {
    const Sizes last = {x[0], x[2], x[3], x[1]};
    const Input channel = In({x[1]});
    const auto moved = [last](const Outputs&) { return OneOutput(last); };
    visit({"BatchNormalization", 15, {In(last), channel, channel, channel, channel}, {}, 1, kNhwc},
          [&] { return moved(BatchNormalization(x, false)); });
    visit({"InstanceNormalization", 6, {In(last), channel, channel}, {}, 1, kNhwc},
          [&] { return moved(GroupNormalization(x, x[1])); });
    visit({"LRN", 13, {In(last)}, {{"size", int64_t{3}}}, 1, kNhwc},
          [&] { return moved(Lrn(x, 3)); });
    visit({"GlobalLpPool", 2, {In(last)}, {}, 1, kNhwc}, [&] {
      GlobalPool(PoolKind::kLp, x);
      return OneOutput({x[0], 1, 1, x[1]});
    });
    visit({"LpPool", 18, {In(last)}, {{"kernel_shape", std::vector<int64_t>{1, 1}}}, 1, kNhwc},
          [&] {
            return moved(Pool(PoolKind::kLp, x, {{1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}}));
          });
  }
}

struct Family {
  const char* name;
  void (*cases)(const Visit&);
};
constexpr Family kFamilies[] = {
    {"Unary", UnaryCases},
    {"Binary", BinaryCases},
    {"Variadic", VariadicCases},
    {"Clip", ClipCases},
    {"MatMul", MatMulCases},
    {"Gemm", GemmCases},
    {"Einsum", EinsumCases},
    {"Conv", ConvCases},
    {"ConvTranspose", ConvTransposeCases},
    {"Pool", PoolCases},
    {"Reduce", ReduceCases},
    {"Softmax", SoftmaxCases},
    {"Normalization", NormalizationCases},
    {"Recurrent", RecurrentCases},
    {"Attention", AttentionCases},
    {"Rotary", RotaryCases},
    {"Loss", LossCases},
    {"Quantize", QuantizeCases},
    {"IntegerProduct", IntegerProductCases},
    {"EinsumOrder", EinsumOrderCases},
    {"QLinear", QLinearCases},
    {"DeformConv", DeformConvCases},
    {"Resize", ResizeCases},
    {"Scan", ScanCases},
    {"Selection", SelectionCases},
    {"Fourier", FourierCases},
    {"FusedElementwise", FusedElementwiseCases},
    {"FusedMatMul", FusedMatMulCases},
    {"ChannelsLast", ChannelsLastCases},
    {"FusedQuantized", FusedQuantizedCases},
    {"LinearModel", LinearModelCases},
    {"Generator", GeneratorCases},
    {"WindowFunction", WindowFunctionCases},
    {"MultiHeadAttention", MultiHeadAttentionCases},
    {"ChannelsLastNormalization", ChannelsLastNormalizationCases},
};

class OracleTest : public testing::TestWithParam<Family> {};

TEST_P(OracleTest, RuleCostsWhatTheLoopExecutes) {
  int cases = 0;
  std::set<std::string> failed;
  GetParam().cases([&](const Case& c, const Loop& loop) {
    ++cases;
    // One report of an operator is enough.
    const std::string op = absl::StrCat(c.domain, ".", c.op, "-", c.opset);
    if (failed.count(op) > 0) return;
    if (!Compare(c, loop)) failed.insert(op);
  });
  RecordProperty("cases", cases);
  EXPECT_GT(cases, 0);
}

// Whether a row of this operator needs no loop, and why not.
struct Exemption {
  const char* domain;
  const char* op;
  const char* reason;
};
constexpr char kConvention[] =
    "how much is done depends on data, or on an algorithm that the specification leaves open: the "
    "count is a convention that the row states";
constexpr char kNoSpecification[] =
    "not in the ONNX specification; what the kernel does is all that there is to read";
constexpr char kParts[] =
    "no loop is written yet for this fused, quantised or second form of an ONNX operator; its "
    "examples hold it";
constexpr char kLayout[] = "another layout of an operator that has a loop; its examples hold it";
constexpr char kUnwritten[] = "no loop is written yet; its examples hold it";
constexpr Exemption kExemptions[] = {
    {"", "NonMaxSuppression", kConvention},
    {"", "Multinomial", kConvention},
    {"", "Unique", kConvention},
    {"", "STFT", kConvention},
    {"", "TfIdfVectorizer", kConvention},
    {"", "LinearAttention", kUnwritten},
    {"", "CausalConvWithState", kUnwritten},
    {"", "RoiAlign", kUnwritten},
    {"", "AffineGrid", kUnwritten},
    {"", "MelWeightMatrix", kUnwritten},
    {"ai.onnx.preview", "FlexAttention", kUnwritten},
    {"ai.onnx.ml", "Imputer", kUnwritten},
    {"ai.onnx.ml", "LinearClassifier", kUnwritten},
    {"ai.onnx.ml", "SVMClassifier", kUnwritten},
    {"ai.onnx.ml", "SVMRegressor", kUnwritten},
    {"ai.onnx.ml", "TreeEnsemble", kConvention},
    {"ai.onnx.ml", "TreeEnsembleClassifier", kConvention},
    {"ai.onnx.ml", "TreeEnsembleRegressor", kConvention},
    {"ai.onnx.preview.training", "Adagrad", kUnwritten},
    {"ai.onnx.preview.training", "Adam", kUnwritten},
    {"ai.onnx.preview.training", "Momentum", kUnwritten},
    {"com.microsoft", "Attention", kNoSpecification},
    {"com.microsoft", "DecoderAttention", kNoSpecification},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention", kNoSpecification},
    {"com.microsoft", "DecoderMaskedSelfAttention", kNoSpecification},
    {"com.microsoft", "GroupQueryAttention", kNoSpecification},
    {"com.microsoft", "LongformerAttention", kNoSpecification},
    {"com.microsoft", "PackedAttention", kNoSpecification},
    {"com.microsoft", "PackedMultiHeadAttention", kNoSpecification},
    {"com.microsoft", "PagedAttention", kNoSpecification},
    {"com.microsoft", "QAttention", kNoSpecification},
    {"com.microsoft", "QOrderedAttention", kNoSpecification},
    {"com.microsoft", "QOrderedLongformerAttention", kNoSpecification},
    {"com.microsoft", "WordConvEmbedding", kNoSpecification},
    {"com.microsoft", "BiasSplitGelu", kNoSpecification},
    {"com.microsoft", "GatedAdd", kNoSpecification},
    {"com.microsoft", "HyperConnectionPostMix", kNoSpecification},
    {"com.microsoft", "HyperConnectionPreMix", kNoSpecification},
    {"com.microsoft", "IsAllFinite", kNoSpecification},
    {"com.microsoft", "LinearAttentionGate", kNoSpecification},
    {"com.microsoft", "Inverse", kNoSpecification},
    {"com.microsoft", "SparseToDenseMatMul", kNoSpecification},
    {"com.microsoft", "EmbedLayerNormalization", kNoSpecification},
    {"com.microsoft", "EngramGate", kNoSpecification},
    {"com.microsoft", "DequantizeBFP", kNoSpecification},
    {"com.microsoft", "QuantizeBFP", kNoSpecification},
    {"com.microsoft", "ConvTransposeWithDynamicPads", kParts},
    {"com.microsoft", "MaxpoolWithMask", kParts},
    {"com.microsoft", "NhwcConv", kParts},
    {"com.microsoft", "NhwcFusedConv", kParts},
    {"com.microsoft", "QLinearAveragePool", kParts},
    {"com.microsoft", "QLinearConv", kParts},
    {"com.microsoft", "QLinearGlobalAveragePool", kParts},
    {"com.microsoft", "BiasAdd", kParts},
    {"com.microsoft", "BiasDropout", kParts},
    {"com.microsoft", "BiasSoftmax", kParts},
    {"com.microsoft", "BitmaskBiasDropout", kParts},
    {"com.microsoft", "BitmaskDropout", kParts},
    {"com.microsoft", "ComplexMulConj", kParts},
    {"com.microsoft", "ScaledSiLU", kParts},
    {"com.microsoft", "DynamicQuantizeMatMul", kParts},
    {"com.microsoft", "FusedMatMulActivation", kParts},
    {"com.microsoft", "GemmFloat8", kParts},
    {"com.microsoft", "MatMulBlockQuantizedFp4Weight", kParts},
    {"com.microsoft", "MatMulBlockQuantizedFp8Weight", kParts},
    {"com.microsoft", "MatMulBnb4", kParts},
    {"com.microsoft", "MatMulFpQ4", kParts},
    {"com.microsoft", "MatMulIntegerToFloat", kParts},
    {"com.microsoft", "MatMulNBitsMlp", kParts},
    {"com.microsoft", "MatMulNBitsQkv", kParts},
    {"com.microsoft", "QGemm", kParts},
    {"com.microsoft", "QOrderedMatMul", kParts},
    {"com.microsoft", "BranchwiseRMSNorm", kParts},
    {"com.microsoft", "GatedRMSNorm", kParts},
    {"com.microsoft", "GroupNorm", kParts},
    {"com.microsoft", "QEmbedLayerNormalization", kParts},
    {"com.microsoft", "QOrderedLayerNormalization", kParts},
    {"com.microsoft", "SkipGroupNorm", kParts},
    {"com.microsoft", "DequantizeWithOrder", kParts},
    {"com.microsoft", "MulInteger", kParts},
    {"com.microsoft", "QLinearConcat", kParts},
    {"com.microsoft", "QLinearReduceMean", kParts},
    {"com.microsoft", "QLinearSoftmax", kParts},
    {"com.microsoft", "QLinearWhere", kParts},
    {"com.microsoft", "QOrderedGelu", kParts},
    {"com.microsoft", "QuantizeWithOrder", kParts},
    {"com.microsoft", "ReduceSumInteger", kParts},
    {"com.microsoft", "CausalConvWithState", kParts},
    {"com.microsoft", "GatedDeltaNet", kNoSpecification},
    {"com.microsoft", "LinearAttention", kParts},
    {"com.microsoft", "VarlenCausalConvWithState", kNoSpecification},
    {"com.microsoft", "BifurcationDetector", kNoSpecification},
    {"com.microsoft", "CropAndResize", kNoSpecification},
    {"com.microsoft", "DynamicTimeWarping", kNoSpecification},
    {"com.microsoft", "GatherBlockQuantized", kNoSpecification},
    {"com.microsoft", "GatherND", kParts},
    {"com.microsoft", "GridSample", kParts},
    {"com.microsoft", "Irfft", kNoSpecification},
    {"com.microsoft", "MurmurHash3", kNoSpecification},
    {"com.microsoft", "NGramHashMapping", kNoSpecification},
    {"com.microsoft", "NGramRepeatBlock", kNoSpecification},
    {"com.microsoft", "Range", kParts},
    {"com.microsoft", "Rfft", kNoSpecification},
    {"com.microsoft", "TorchEmbedding", kNoSpecification},
    {"com.microsoft", "Unique", kConvention},
    {"com.microsoft", "VarlenNGramHashMapping", kNoSpecification},
    {"com.microsoft", "MoE", kParts},
    {"com.microsoft", "QMoE", kParts},
    {"com.microsoft", "GatedRelativePositionBias", kNoSpecification},
    {"com.microsoft", "GemmaRotaryEmbedding", kParts},
    {"com.microsoft", "MRotaryEmbedding", kParts},
    {"com.microsoft", "RelativePositionBias", kNoSpecification},
    {"com.microsoft", "RotaryEmbedding", kParts},
    {"com.microsoft", "AttnLSTM", kNoSpecification},
    {"com.microsoft", "DynamicQuantizeLSTM", kParts},
    {"com.microsoft", "BeamSearch", kConvention},
    {"com.microsoft", "GreedySearch", kConvention},
    {"com.microsoft", "Sampling", kConvention},
    {"com.microsoft", "WhisperBeamSearch", kConvention},
    {"com.microsoft", "DynamicSparseAttention", kNoSpecification},
    {"com.microsoft", "PackedSparseAttentionIndexer", kNoSpecification},
    {"com.microsoft", "SparseAttention", kNoSpecification},
    {"com.microsoft", "SparseAttentionIndexer", kNoSpecification},
    {"com.microsoft", "SparsePagedAttention", kNoSpecification},
    {"com.microsoft.nchwc", "AveragePool", kLayout},
    {"com.microsoft.nchwc", "Conv", kLayout},
    {"com.microsoft.nchwc", "GlobalAveragePool", kLayout},
    {"com.microsoft.nchwc", "GlobalMaxPool", kLayout},
    {"com.microsoft.nchwc", "MaxPool", kLayout},
    {"com.microsoft.nchwc", "Upsample", kLayout},
    {"com.ms.internal.nhwc", "ConvTranspose", kLayout},
    {"com.ms.internal.nhwc", "GridSample", kLayout},
    {"com.ms.internal.nhwc", "MaxUnpool", kLayout},
    {"com.ms.internal.nhwc", "QLinearAveragePool", kLayout},
    {"com.ms.internal.nhwc", "QLinearConv", kLayout},
    {"com.ms.internal.nhwc", "QLinearConvTranspose", kLayout},
    {"com.ms.internal.nhwc", "Resize", kLayout},
};
const Exemption* ExemptionOf(absl::string_view domain, absl::string_view op) {
  for (const Exemption& e : kExemptions) {
    if (e.domain == domain && e.op == op) return &e;
  }
  return nullptr;
}

TEST(OracleCoverageTest, EveryCountedOperatorHasAnOracle) {
  std::set<const OpDef*> visited;
  for (const Family& family : kFamilies) {
    family.cases(
        [&](const Case& c, const Loop&) { visited.insert(FindOp(c.domain, c.op, c.opset).def); });
  }
  std::set<const Exemption*> used;
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& def : family.rows) {
      if (def.count == nullptr || visited.count(&def) > 0) continue;
      const Exemption* exemption = ExemptionOf(family.domain, def.name);
      EXPECT_NE(exemption, nullptr) << family.domain << "." << def.name << "-" << def.versions[0]
                                    << " has neither a loop nor an exemption";
      used.insert(exemption);
    }
  }
  for (const Exemption& e : kExemptions) {
    EXPECT_EQ(used.count(&e), 1) << e.domain << "." << e.op << " needs no exemption";
  }
}

INSTANTIATE_TEST_SUITE_P(Families, OracleTest, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return std::string(family.param.name); });

}  // namespace
}  // namespace onnxflops::oracle
