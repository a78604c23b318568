// The cost rules against textbook loops: every operator of a family, over small shapes and
// attributes, must cost by its rule what its loop executes, kind by kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/registry.h"
#include "tests/oracle/conv.h"
#include "tests/oracle/elementwise.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/pool.h"
#include "tests/oracle/reduction.h"
#include "tests/oracle/rule_cost.h"
#include "tests/oracle/softmax.h"

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
  for (const UnaryOp& op : UnaryOps()) {
    for (int opset : op.opsets) {
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
          const Transposed padded{Sizes(rank, 0), {}};
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

struct Family {
  const char* name;
  void (*cases)(const Visit&);
};
constexpr Family kFamilies[] = {
    {"Unary", UnaryCases},   {"Binary", BinaryCases}, {"Variadic", VariadicCases},
    {"Clip", ClipCases},     {"MatMul", MatMulCases}, {"Gemm", GemmCases},
    {"Einsum", EinsumCases}, {"Conv", ConvCases},     {"ConvTranspose", ConvTransposeCases},
    {"Pool", PoolCases},     {"Reduce", ReduceCases}, {"Softmax", SoftmaxCases},
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

INSTANTIATE_TEST_SUITE_P(Families, OracleTest, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return std::string(family.param.name); });

}  // namespace
}  // namespace onnxflops::oracle
