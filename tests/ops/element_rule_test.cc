// Contents of tensors, as lists and as rules: how they are read, moved and put together. What is
// found of tensors of known sizes is held to every element, worked out one by one.
#include "ops/element_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/content.h"
#include "ops/evaluate.h"
#include "ops/rules.h"
#include "src/base/limits.h"

namespace onnxflops::element_rule_test {
namespace {

using Ints = std::vector<int64_t>;

Shape ShapeOf(const Ints& sizes) {
  Shape shape;
  for (const int64_t size : sizes) shape.push_back(size);
  return shape;
}

// The index of the element that is the `flat`-th of a tensor of these sizes.
Ints IndexAt(const Ints& sizes, int64_t flat) {
  Ints index(sizes.size());
  for (size_t i = sizes.size(); i-- > 0; flat /= sizes[i]) index[i] = flat % sizes[i];
  return index;
}

int64_t Elements(const Ints& sizes) {
  int64_t elements = 1;
  for (const int64_t size : sizes) elements *= size;
  return elements;
}

// Indices by which an axis of one element is not found: there is nothing to choose.
void ExpectNoIndexOfOne(const Expr& index, const Ints& to) {
  for (size_t axis = 0; axis < to.size(); ++axis) {
    if (to[axis] != 1) continue;
    const std::string name = IndexSymbol(static_cast<int>(axis)).ToString();
    EXPECT_EQ(index.ToString().find(name), std::string::npos) << index.ToString();
  }
}

TEST(IndicesInOrderTest, FindTheElementOfTheSameNumber) {
  const Ints shapes[] = {{24},         {1, 24},       {24, 1},      {4, 6},       {6, 4},
                         {2, 3, 4},    {4, 1, 6},     {1, 4, 6, 1}, {3, 2, 2, 2}, {2, 12},
                         {1, 1, 3, 8}, {2, 1, 1, 12}, {8, 3}};
  for (const Ints& from : shapes) {
    for (const Ints& to : shapes) {
      const auto indices = IndicesInOrder(ShapeOf(from), ShapeOf(to));
      ASSERT_EQ(indices.size(), from.size());
      for (int64_t flat = 0; flat < Elements(to); ++flat) {
        Bindings at;
        const Ints index = IndexAt(to, flat), expected = IndexAt(from, flat);
        for (size_t i = 0; i < to.size(); ++i) {
          at[IndexSymbol(static_cast<int>(i)).ToString()] = index[i];
        }
        for (size_t i = 0; i < from.size(); ++i) {
          SCOPED_TRACE(absl::StrCat(ShapeOf(from).ToString(), " as ", ShapeOf(to).ToString()));
          ASSERT_TRUE(indices[i].has_value());
          ExpectNoIndexOfOne(*indices[i], to);
          ASSERT_EQ(static_cast<int64_t>(indices[i]->Evaluate(at).value()), expected[i]);
        }
      }
    }
  }
}

// Where sizes cannot be compared, every axis is in a run all the same.
TEST(IndicesInOrderTest, OfSizesThatCannotBeCompared) {
  const Expr n = Expr::Symbol("n", 1), m = Expr::Symbol("m", 1), huge = int64_t{1} << 60;
  const std::pair<Shape, Shape> cases[] = {
      {{n - 5, 7}, {5 - n, 7}},                           // one is minus the other
      {{huge, huge, huge, huge, 5}, {3, 3, 3, 3, 3, 3}},  // a product that fits nowhere
      {{n, m}, {m, n}},
      {{0, n}, {n, 0}},
      {{2, n}, {3, m, 1}},
  };
  for (const auto& [from, to] : cases) {
    SCOPED_TRACE(absl::StrCat(from.ToString(), " as ", to.ToString()));
    EXPECT_EQ(IndicesInOrder(from, to).size(), static_cast<size_t>(from.rank()));
    EXPECT_EQ(IndicesInOrder(to, from).size(), static_cast<size_t>(to.rank()));
  }
}

// The 4*n elements of one axis, and of two.
TEST(IndicesInOrderTest, OfSymbols) {
  const Expr n = Expr::Symbol("n", 1), i = IndexSymbol(0), j = IndexSymbol(1);
  EXPECT_EQ(IndicesInOrder({4 * n}, {n, 4})[0], 4 * i + j);
  EXPECT_EQ(IndicesInOrder({n, 4}, {4 * n})[0], FloorDiv(i, 4));
  EXPECT_EQ(IndicesInOrder({n, 4}, {4 * n})[1], Mod(i, 4));
  EXPECT_EQ(IndicesInOrder({3, n}, {1, 3, n, 1})[1], IndexSymbol(2));
}

// Where the axes of one shape fit nowhere, their indices are not known.
TEST(IndicesInOrderTest, OfMoreElementsThanCanBeCounted) {
  const Expr huge = int64_t{1} << 60;
  const auto indices = IndicesInOrder({huge, huge, huge, huge, 5}, {1});
  EXPECT_FALSE(indices[0].has_value());
  EXPECT_EQ(indices[4], Expr(0));
}

// ---- rules and lists

std::string Text(const Scalar& s) {
  if (s.is_int()) return s.i.ToString();
  if (s.is_ratio()) return absl::StrCat("(", s.i.ToString(), ")/", s.f);
  return s.is_float() ? absl::StrCat(s.f, "f") : "?";
}

// The list of a fact, or its rule; "-" for neither.
std::string ContentText(const Fact& fact) {
  if (fact.has_rule()) return "rule " + Text(*fact.rule);
  if (!fact.has_content()) return "-";
  return absl::StrJoin(*fact.content, " ",
                       [](std::string* out, const Scalar& s) { absl::StrAppend(out, Text(s)); });
}

Fact WithRule(const Expr& rule, const Shape& shape, DType type = DType::kInt64) {
  Fact fact = Fact::Tensor(type, shape);
  SetRule(Scalar::Int(rule), &fact);
  return fact;
}

// Its element at [i, j, ...] is first + steps[0]*i + steps[1]*j + ...
struct Affine {
  Ints sizes, steps;
  int64_t first = 0;

  int64_t At(const Ints& index) const {
    int64_t value = first;
    for (size_t i = 0; i < index.size(); ++i) value += steps[i] * index[i];
    return value;
  }
  Fact fact() const {
    Expr rule = first;
    for (size_t i = 0; i < steps.size(); ++i) rule += steps[i] * IndexSymbol(static_cast<int>(i));
    return WithRule(rule, ShapeOf(sizes));
  }
};

using ElementFn = std::function<std::optional<int64_t>(const Ints& index)>;

// nullopt: nothing is known of it.
void ExpectElements(const Fact& fact, const Ints& sizes, const ElementFn& expected) {
  for (int64_t flat = 0; flat < Elements(sizes); ++flat) {
    const std::optional<int64_t> value = expected(IndexAt(sizes, flat));
    ASSERT_EQ(Text(ElementAt(fact, flat)), value.has_value() ? absl::StrCat(*value) : "?")
        << flat << " of " << ContentText(fact);
  }
}

const Ints kSizes[] = {{},           {1},      {7},       {64},        {65},
                       {8, 8},       {5, 13},  {1, 70},   {70, 1},     {2, 3, 4},
                       {4, 1, 5, 6}, {40, 30}, {1, 1, 3}, {2, 2, 2, 9}};

Affine AffineOf(const Ints& sizes) {
  Affine affine = {sizes, {}, 17};
  for (size_t i = 0; i < sizes.size(); ++i) {
    affine.steps.push_back(static_cast<int64_t>(i * i) * 5 - 3);
  }
  return affine;
}

TEST(SetRuleTest, GivesSmallTensorsAListAndAllTheirElements) {
  for (const Ints& sizes : kSizes) {
    const Affine affine = AffineOf(sizes);
    const Fact fact = affine.fact();
    EXPECT_EQ(fact.has_content(), Elements(sizes) <= 64) << ContentText(fact);
    EXPECT_EQ(fact.has_rule(), Elements(sizes) > 64);
    ExpectElements(fact, sizes, [&](const Ints& index) { return affine.At(index); });
    EXPECT_EQ(Text(ElementAt(fact, -1)), "?");
  }
  EXPECT_EQ(ContentText(WithRule(IndexSymbol(1), {3, 0})), "");
  EXPECT_EQ(Text(ElementAt(AffineOf({2, 3}).fact(), 6)), "?");
  EXPECT_EQ(Text(ElementAt(Fact::Tensor(DType::kInt64, {4}), 0)), "?");
}

// Of open sizes, an element is certain where it stands before what is open.
TEST(SetRuleTest, ElementsOfOpenSizes) {
  const Expr n = Expr::Symbol("n", 1), i = IndexSymbol(0), j = IndexSymbol(1);
  EXPECT_EQ(Text(ElementAt(WithRule(2 * i, {n}), 5)), "10");
  EXPECT_EQ(Text(ElementAt(WithRule(100 * i + j, {n, 4}), 6)), "102");
  EXPECT_EQ(Text(ElementAt(WithRule(100 * i + j, {n, 4}), 0)), "0");
  EXPECT_EQ(Text(ElementAt(WithRule(n, {n}), 5)), "n");
  EXPECT_EQ(Text(ElementAt(WithRule(2 * i, {n}, DType::kFloat32), 5)), "10f");
}

TEST(SetRuleTest, WhatIsUnknownOrTooLargeIsNoRule) {
  const Expr n = Expr::Symbol("n", 1);
  Expr terms = IndexSymbol(0);
  for (int i = 1; i < kMaxRuleTerms; ++i) terms += Expr::Symbol(absl::StrCat("s", i), 0);
  EXPECT_TRUE(WithRule(terms, {n}).has_rule());
  EXPECT_EQ(ContentText(WithRule(terms + 1, {n})), "-");
  Fact fact = Fact::Tensor(DType::kInt64, {n});
  SetRule(Scalar{}, &fact);
  EXPECT_EQ(ContentText(fact), "-");
  Fact unranked = Fact::Tensor(DType::kInt64, Shape::UnknownRank());
  SetRule(Scalar::Int(3), &unranked);
  EXPECT_EQ(ContentText(unranked), "-");
  const Expr huge = int64_t{1} << 62;
  EXPECT_EQ(ContentText(WithRule(huge * huge * huge * IndexSymbol(0), {n})), "-");
  EXPECT_EQ(ContentText(WithRule(n, {3})), "n n n");
}

// A list has the rule that made it; with an element changed it has none.
TEST(RuleOfTest, ListsOfEqualStepsHaveTheirRule) {
  for (const Ints& sizes : kSizes) {
    const Affine affine = AffineOf(sizes);
    if (Elements(sizes) > 64) continue;
    const Fact fact = affine.fact();
    const std::optional<Scalar> rule = RuleOf(fact);
    ASSERT_TRUE(rule.has_value());
    for (int64_t flat = 0; flat < Elements(sizes); ++flat) {
      Dims index;
      for (const int64_t i : IndexAt(sizes, flat)) index.push_back(i);
      EXPECT_EQ(ElementOfRule(*rule, index), (*fact.content)[static_cast<size_t>(flat)]);
      if (Elements(sizes) < 4) continue;
      Content changed = *fact.content;
      changed[static_cast<size_t>(flat)] = Scalar::Int(1000);
      Fact other = fact;
      other.content = std::make_shared<const Content>(std::move(changed));
      EXPECT_EQ(RuleOf(other), std::nullopt) << flat;
    }
  }
}

Fact ListOf(Content content, DType type = DType::kInt64) {
  Fact fact = Fact::Tensor(type, {static_cast<int64_t>(content.size())});
  fact.content = std::make_shared<const Content>(std::move(content));
  return fact;
}

TEST(RuleOfTest, ListsOfOtherThings) {
  const Scalar one = Scalar::Int(1), two = Scalar::Int(2), half = Scalar::Float(0.5), none;
  const Expr n = Expr::Symbol("n", 1);
  const struct {
    Content list;
    const char *rule, *constant;
  } cases[] = {{{}, "none", "none"},
               {{none, none}, "none", "none"},
               {{none, one}, "none", "none"},
               {{one, none}, "none", "none"},
               {{one, half}, "none", "none"},
               {{half, half}, "0.5f", "0.5f"},
               {{half, one}, "none", "none"},
               {{half, Scalar::Float(1.5)}, "none", "none"},
               {{one, one, one}, "1", "1"},
               {{one, one, two}, "none", "none"},
               {{one, two}, "1 + its place", "none"},
               {{Scalar::Int(n), Scalar::Int(n)}, "n", "n"}};
  for (const auto& c : cases) {
    const Fact fact = ListOf(c.list);
    const std::optional<Scalar> rule = RuleOf(fact), constant = ConstantElement(fact);
    if (c.list.size() == 2 && c.list[1] == two) {
      EXPECT_EQ(rule->i, IndexSymbol(0) + 1);
    } else {
      EXPECT_EQ(rule.has_value() ? Text(*rule) : "none", c.rule) << ContentText(fact);
    }
    EXPECT_EQ(constant.has_value() ? Text(*constant) : "none", c.constant) << ContentText(fact);
  }
  EXPECT_EQ(Text(*ConstantElement(WithRule(7, {n}))), "7");
  EXPECT_EQ(ConstantElement(WithRule(IndexSymbol(2), {n, n, n})), std::nullopt);
  EXPECT_EQ(Text(*RuleOf(WithRule(n, {n}))), "n");
  EXPECT_EQ(RuleOf(Fact::Tensor(DType::kInt64, {2})), std::nullopt);
}

TEST(ElementRuleTest, WhetherItDependsOnThePlace) {
  const Expr n = Expr::Symbol("n", 1);
  const Scalar column = Scalar::Int(3 * IndexSymbol(1) + n);
  const Scalar share = Scalar::Ratio(IndexSymbol(1), 3);
  EXPECT_TRUE(DependsOnPlace(column) && DependsOnPlace(share));
  EXPECT_TRUE(DependsOnPlace(column, 1) && DependsOnPlace(share, 1));
  EXPECT_FALSE(DependsOnPlace(column, 0) || DependsOnPlace(column, 2) || DependsOnPlace(share, 0));
  for (const Scalar& constant : {Scalar::Int(n), Scalar::Int(3), Scalar::Float(2), Scalar{}}) {
    EXPECT_FALSE(DependsOnPlace(constant) || DependsOnPlace(constant, 0)) << Text(constant);
  }
  EXPECT_EQ(Text(ElementOfRule(share, {Expr(0), Expr(5)})), "(5)/3");
  EXPECT_EQ(Text(ElementOfRule(column, {Expr(4), n})), "4*n");
}

TEST(ElementRuleTest, AnElementInItsType) {
  const Expr n = Expr::Symbol("n", 1);
  EXPECT_EQ(Text(ElementIn(Scalar::Int(3), DType::kFloat32)), "3f");
  EXPECT_EQ(Text(ElementIn(Scalar::Ratio(3, 2), DType::kFloat32)), "1.5f");
  EXPECT_EQ(Text(ElementIn(Scalar::Ratio(1, 3), DType::kFloat16)), "0.333252f");
  EXPECT_EQ(Text(ElementIn(Scalar::Int(300), DType::kUint8)), "300");  // it is of this type already
  EXPECT_EQ(Text(ElementIn(Scalar::Int(n), DType::kFloat32)), "n");
  EXPECT_EQ(Text(ElementIn(Scalar::Ratio(n, 2), DType::kFloat32)), "(n)/2");
  EXPECT_EQ(Text(ElementIn(Scalar{}, DType::kFloat32)), "?");
}

// ---- moved elements

TEST(FollowTest, StridesFindTheirElements) {
  std::mt19937 random(5);
  const auto below = [&](int n) {
    return static_cast<int64_t>(random() % static_cast<unsigned>(n));
  };
  const Affine source = {{40}, {3}, 11};
  for (int round = 0; round < 300; ++round) {
    Ints sizes;
    Sizes strides;
    for (int64_t axis = below(4); axis > 0; --axis) {
      sizes.push_back(1 + below(4));
      strides.push_back(below(9) - 3);
    }
    const int64_t offset = below(20);
    Fact to = Fact::Tensor(DType::kInt64, ShapeOf(sizes));
    FollowStrides(source.fact(), offset, strides, &to);
    ExpectElements(to, sizes, [&](const Ints& index) -> std::optional<int64_t> {
      int64_t at = offset;
      for (size_t i = 0; i < index.size(); ++i) at += strides[i] * index[i];
      if (at < 0 || at >= 40) return std::nullopt;
      return source.At({at});
    });
  }
}

TEST(FollowTest, NothingWhereThereIsNothingToFollow) {
  const Fact list = ListOf({Scalar::Int(1), Scalar::Int(2)});
  const Expr n = Expr::Symbol("n", 1);
  const struct {
    Fact from;
    Shape to;
    Sizes strides;
  } cases[] = {{Fact::Tensor(DType::kInt64, {2}), {2}, {1}},
               {list, {n}, {1}},
               {list, {2}, {1, 1}},
               {list, {2, 1}, {1}},
               {list, Shape::UnknownRank(), {1}},
               {list, {2}, {5}}};
  for (const auto& c : cases) {
    Fact to = Fact::Tensor(DType::kInt64, c.to);
    FollowStrides(c.from, 3, c.strides, &to);
    EXPECT_EQ(ContentText(to), "-") << c.to.ToString();
  }
}

TEST(FollowTest, InOrderWhateverTheShape) {
  const Ints shapes[] = {{24},         {4, 6},  {2, 3, 4}, {24, 1},  {72},   {8, 9},
                         {2, 4, 3, 3}, {1, 72}, {3, 24},   {36, 40}, {1440}, {2, 18, 40}};
  for (const Ints& from : shapes) {
    for (const Ints& sizes : shapes) {
      const Affine affine = AffineOf(from);
      Fact to = Fact::Tensor(DType::kInt64, ShapeOf(sizes));
      if (Elements(from) != Elements(sizes)) {
        if (affine.fact().has_rule() || Elements(sizes) > kMaxIntContent) continue;
        FollowInOrder(affine.fact(), &to);
        EXPECT_EQ(ContentText(to), "-") << ContentText(affine.fact());
        continue;
      }
      FollowInOrder(affine.fact(), &to);
      ExpectElements(to, sizes, [&](const Ints& index) {
        int64_t flat = 0;
        for (size_t i = 0; i < sizes.size(); ++i) flat = flat * sizes[i] + index[i];
        return affine.At(IndexAt(from, flat));
      });
    }
  }
}

std::string InOrder(const Fact& from, const Shape& shape) {
  Fact to = Fact::Tensor(DType::kInt64, shape);
  FollowInOrder(from, &to);
  return ContentText(to);
}

TEST(FollowTest, InOrderOfOpenSizes) {
  const Expr n = Expr::Symbol("n", 1), m = Expr::Symbol("m", 1), huge = int64_t{1} << 60;
  const Expr i = IndexSymbol(0), j = IndexSymbol(1);
  EXPECT_EQ(InOrder(WithRule(j, {n, 4}), {4 * n}), "rule " + Mod(i, 4).ToString());
  EXPECT_EQ(InOrder(WithRule(7, {n}), {m}), "rule 7");
  EXPECT_EQ(InOrder(WithRule(7, {n}), {3}), "7 7 7");
  EXPECT_EQ(InOrder(WithRule(7, {n}), Shape::UnknownRank()), "-");
  EXPECT_EQ(InOrder(ListOf({Scalar::Int(7), Scalar::Int(7)}), {n}), "rule 7");
  EXPECT_EQ(InOrder(ListOf({Scalar::Int(7), Scalar::Int(9), Scalar::Int(1)}), {n}), "-");
  EXPECT_EQ(InOrder(ListOf({Scalar::Int(7), Scalar::Int(9)}), {n}),
            "rule " + (2 * i + 7).ToString());
  EXPECT_EQ(InOrder(Fact::Tensor(DType::kInt64, {2}), {2}), "-");
  // Only of the axis that fits nowhere it is not known which element stands where.
  const Shape large = {huge, huge, huge, huge, 5};
  EXPECT_EQ(InOrder(WithRule(IndexSymbol(0), large), {n}), "-");
  EXPECT_EQ(InOrder(WithRule(IndexSymbol(4), large), {n}).substr(0, 4), "rule");
}

// Random sources: an axis of the result each, forwards or backwards, or one index for all of it.
TEST(FollowTest, AxesFindTheirElements) {
  std::mt19937 random(6);
  const auto below = [&](int n) {
    return static_cast<int64_t>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < 400; ++round) {
    const int64_t most = round % 2 == 0 ? 5 : 16;  // lists, and rules as well
    Ints sizes;
    for (int64_t axis = 1 + below(3); axis > 0; --axis)
      sizes.push_back(1 + below(static_cast<int>(most)));
    Affine source = {{}, {}, below(50)};
    std::vector<AxisSource> sources;
    for (int64_t axis = 1 + below(3); axis > 0; --axis) {
      const int64_t from = below(static_cast<int>(sizes.size()) + 1) - 1, step = below(5) - 2;
      const int64_t last = from < 0 ? 0 : step * (sizes[static_cast<size_t>(from)] - 1);
      const int64_t first = std::max<int64_t>(-last, 0) + below(3);
      sources.push_back({static_cast<int>(from), first, step});
      source.sizes.push_back(std::max(first, first + last) + 1 + below(2));
      source.steps.push_back(1 + below(30));
    }
    Fact to = Fact::Tensor(DType::kInt64, ShapeOf(sizes));
    FollowAxes(source.fact(), sources, &to);
    ExpectElements(to, sizes, [&](const Ints& index) {
      Ints at;
      for (const AxisSource& s : sources) {
        const int64_t place = s.axis < 0 ? 0 : index[static_cast<size_t>(s.axis)];
        at.push_back(*s.first.AsInt64() + *s.step.AsInt64() * place);
      }
      return source.At(at);
    });
  }
}

TEST(FollowTest, AxesOfWhichNothingIsKnown) {
  const Expr n = Expr::Symbol("n", 1), i = IndexSymbol(0), j = IndexSymbol(1);
  const auto followed = [](const Fact& from, const std::vector<AxisSource>& sources,
                           const Shape& shape) {
    Fact to = Fact::Tensor(DType::kInt64, shape);
    FollowAxes(from, sources, &to);
    return ContentText(to);
  };
  const AxisSource unknown = {AxisSource::kUnknown}, straight = {0};
  const Fact table = AffineOf({3, 4}).fact();
  EXPECT_EQ(followed(table, {unknown, straight}, {4}), "-");
  EXPECT_EQ(followed(table, {{0, n}, straight}, {3}), "-");
  EXPECT_EQ(followed(table, {{0, 0, n}, straight}, {3}), "-");
  EXPECT_EQ(followed(WithRule(i, {n, n}), {unknown, straight}, {n}), "-");
  EXPECT_EQ(followed(WithRule(j, {n, n}), {unknown, straight}, {n}), "rule " + i.ToString());
  EXPECT_EQ(followed(WithRule(j, {n, n}), {unknown, {AxisSource::kNone, n - 1}}, {n}),
            "rule n - 1");
  EXPECT_EQ(followed(WithRule(i + 5, {n}), {{1, n, -2}}, {3, n}),
            "rule " + (n - 2 * j + 5).ToString());
  EXPECT_EQ(followed(Fact::Tensor(DType::kInt64, {3}), {straight}, {3}), "-");
}

// ---- arithmetic on rules

struct Operation {
  EvaluateFn function;
  int64_t (*of)(int64_t a, int64_t b);
};

// Exactly what element by element gives, of all that is found. Sums are always found.
TEST(EvaluateRulesTest, FindsWhatTheElementsGive) {
  const Operation operations[] = {
      {EvaluateAdd, [](int64_t a, int64_t b) { return a + b; }},
      {EvaluateSub, [](int64_t a, int64_t b) { return a - b; }},
      {EvaluateMul, [](int64_t a, int64_t b) { return a * b; }},
      {EvaluateMin, [](int64_t a, int64_t b) { return std::min(a, b); }},
      {EvaluateLess, [](int64_t a, int64_t b) { return int64_t{a < b}; }},
      {EvaluateEqual, [](int64_t a, int64_t b) { return int64_t{a == b}; }},
      {EvaluateMod, [](int64_t a, int64_t b) { return ((a % b) + b) % b; }}};
  const std::pair<Ints, Ints> shapes[] = {
      {{70}, {70}},        {{5, 20}, {20}},    {{5, 1}, {1, 20}},
      {{2, 5, 9}, {5, 1}}, {{1, 40}, {40, 1}}, {{3, 4}, {2, 1, 4}},
      {{}, {80}},          {{1}, {90}},        {{12}, {9, 12}}};
  for (const Operation& operation : operations) {
    for (const auto& [a, b] : shapes) {
      const size_t rank = std::max(a.size(), b.size());
      Ints sizes(rank, 1);
      for (size_t i = 1; i <= a.size(); ++i) sizes[rank - i] = a[a.size() - i];
      for (size_t i = 1; i <= b.size(); ++i)
        sizes[rank - i] = std::max(sizes[rank - i], b[b.size() - i]);
      Affine left = AffineOf(a), right = {b, Ints(b.size(), 2), 3};
      const Fact x = left.fact(), y = right.fact();
      const Fact* const inputs[] = {&x, &y};
      Fact result = Fact::Tensor(DType::kInt64, ShapeOf(sizes));
      EvaluateBroadcast(inputs, operation.function, &result);
      const bool found = result.has_rule() || result.has_content();
      const bool sum = operation.function == EvaluateAdd || operation.function == EvaluateSub;
      EXPECT_TRUE(found || !sum);
      const auto at = [&](const Affine& operand, const Ints& index) {
        Ints own(index.end() - static_cast<ptrdiff_t>(operand.sizes.size()), index.end());
        for (size_t i = 0; i < own.size(); ++i) own[i] = operand.sizes[i] == 1 ? 0 : own[i];
        return operand.At(own);
      };
      if (!found) continue;
      ExpectElements(result, sizes, [&](const Ints& index) {
        return operation.of(at(left, index), at(right, index));
      });
    }
  }
}

std::string OnRules(EvaluateFn function, const std::vector<Fact>& facts, const Shape& shape) {
  std::vector<const Fact*> inputs;
  for (const Fact& fact : facts) inputs.push_back(&fact);
  Fact result = Fact::Tensor(DType::kInt64, shape);
  EvaluateBroadcast(inputs, function, &result);
  return ContentText(result);
}

// An index is 0 or more, and less than the size of its axis.
TEST(EvaluateRulesTest, OfOpenSizes) {
  const Expr n = Expr::Symbol("n", 1), m = Expr::Symbol("m", 1), i = IndexSymbol(0);
  const Expr j = IndexSymbol(1);
  const Fact row = WithRule(i, {n}), size = Fact::ScalarOf(Scalar::Int(n), DType::kInt64);
  const Fact zero = Fact::ScalarOf(Scalar::Int(0), DType::kInt64), two = ListOf({Scalar::Int(2)});
  EXPECT_EQ(OnRules(EvaluateLess, {row, size}, {n}), "rule 1");
  EXPECT_EQ(OnRules(EvaluateEqual, {size, row}, {n}), "rule 0");
  EXPECT_EQ(OnRules(EvaluateLess, {row, zero}, {n}), "rule 0");
  EXPECT_EQ(OnRules(EvaluateLess, {row, two}, {n}), "-");
  EXPECT_EQ(OnRules(EvaluateAdd, {row, two}, {n}), "rule " + (i + 2).ToString());
  EXPECT_EQ(OnRules(EvaluateAdd, {row, WithRule(i, {n, 1})}, {n, n}), "rule " + (i + j).ToString());
  EXPECT_EQ(OnRules(EvaluateSub, {WithRule(j, {m, n}), row}, {m, n}), "rule 0");
  EXPECT_EQ(OnRules(EvaluateAdd, {WithRule(i, {m}), row}, {n}), "-");  // m is n, or 1
  EXPECT_EQ(OnRules(EvaluateAdd, {WithRule(j, {m, 4}), two}, {n, 4}), "rule " + (j + 2).ToString());
  EXPECT_EQ(OnRules(EvaluateAdd, {row, Fact::Tensor(DType::kInt64, {n})}, {n}), "-");
  EXPECT_EQ(OnRules(EvaluateAdd, {WithRule(i, {n, n}), two}, {n}), "-");
  EXPECT_EQ(OnRules(EvaluateAdd, {row, two}, Shape::UnknownRank()), "-");
  EXPECT_EQ(OnRules(EvaluateSum, std::vector<Fact>(kMaxEvaluatedOperands, two), {1}), "128");
  EXPECT_EQ(OnRules(EvaluateSum, std::vector<Fact>(kMaxEvaluatedOperands + 1, two), {1}), "-");
}

// A list takes part only if it fits the result.
TEST(EvaluateBroadcastTest, ListsThatDoNotFit) {
  const Fact three = AffineOf({3}).fact(), table = AffineOf({2, 3}).fact(),
             one = ListOf({Scalar::Int(1)});
  EXPECT_EQ(OnRules(EvaluateAdd, {three, one}, {3}), "18 15 12");
  EXPECT_EQ(OnRules(EvaluateAdd, {three, one}, {2}), "-");
  EXPECT_EQ(OnRules(EvaluateAdd, {table, one}, {3}), "-");
  EXPECT_EQ(OnRules(EvaluateAdd, {three, one}, {2, 3}), "18 15 12 18 15 12");
  EXPECT_EQ(OnRules(EvaluateAdd, {table, AffineOf({2, 1}).fact()}, {2, 3}), "34 36 38 28 30 32");
  EXPECT_EQ(OnRules(EvaluateAdd, {three, Fact::Tensor(DType::kInt64, {1})}, {3}), "-");
  EXPECT_EQ(OnRules(EvaluateAdd, {three, one}, {0}), "-");
}

// ---- stored tensors

std::string Stored(DType type, const std::string& data, std::vector<int64_t> dims = {}) {
  Tensor tensor;
  if (dims.empty()) dims = {static_cast<int64_t>(data.size()) * 8 / BitsPerElement(type)};
  tensor.dtype = type;
  tensor.dims = dims;
  tensor.elements = Elements(dims);
  tensor.data = data;
  tensor.has_data = true;
  const Fact fact = FactOf(tensor);
  EXPECT_TRUE(fact.constant && fact.from_shapes);
  EXPECT_EQ(fact.dtype, type);
  EXPECT_EQ(fact.shape, ShapeOf(dims));
  return ContentText(fact);
}

TEST(StoredTensorTest, ElementsOfEveryType) {
  const std::string ones(16, '\xff'), low = std::string("\x80\1", 2) + std::string(6, '\0');
  const struct {
    DType type;
    const char *ones, *low;  // of eight bytes of ones, and of the number 384
  } cases[] = {
      {DType::kInt64, "-1 -1", "384"},
      {DType::kUint64, "18446744073709551615 18446744073709551615", "384"},
      {DType::kInt32, "-1 -1 -1 -1", "384 0"},
      {DType::kUint32, "4294967295 4294967295 4294967295 4294967295", "384 0"},
      {DType::kInt16, "-1 -1 -1 -1 -1 -1 -1 -1", "384 0 0 0"},
      {DType::kUint16, "65535 65535 65535 65535 65535 65535 65535 65535", "384 0 0 0"},
      {DType::kInt8, "-1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1", "-128 1 0 0 0 0 0 0"},
      {DType::kBool, "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "1 1 0 0 0 0 0 0"}};
  for (const auto& c : cases) {
    EXPECT_EQ(Stored(c.type, ones), c.ones) << DTypeName(c.type);
    EXPECT_EQ(Stored(c.type, low), c.low) << DTypeName(c.type);
  }
  EXPECT_EQ(Stored(DType::kUint8, low), "128 1 0 0 0 0 0 0");
  EXPECT_EQ(Stored(DType::kInt4, "\x21\xf8"), "1 2 -8 -1");
  EXPECT_EQ(Stored(DType::kUint4, "\x21\xf8", {3}), "1 2 8");
  EXPECT_EQ(Stored(DType::kInt4, "\x7e", {2}), "-2 7");
  EXPECT_EQ(Stored(DType::kInt2, "\xe4\x1b"), "0 1 -2 -1 -1 -2 1 0");
  EXPECT_EQ(Stored(DType::kUint2, "\xe4\x1b", {7}), "0 1 2 3 3 2 1");
  EXPECT_EQ(Stored(DType::kFloat32, std::string("\0\0\x20\xc0", 4)), "-2.5f");
  EXPECT_EQ(Stored(DType::kFloat64, std::string("\0\0\0\0\0\0\x04\x40", 8)), "2.5f");
  EXPECT_EQ(Stored(DType::kBfloat16, std::string("\x20\xc0", 2)), "-2.5f");
  EXPECT_EQ(Stored(DType::kFloat8E4M3FN, "ab"), "? ?");
}

// Up to 1024 integers and 16 floats; of a payload that is too short, none.
TEST(StoredTensorTest, OnlySmallOnesAreRead) {
  EXPECT_NE(Stored(DType::kInt8, std::string(1024, 'x')), "-");
  EXPECT_EQ(Stored(DType::kInt8, std::string(1025, 'x')), "-");
  EXPECT_NE(Stored(DType::kFloat16, std::string(32, 'x')), "-");
  EXPECT_EQ(Stored(DType::kFloat16, std::string(34, 'x')), "-");
  EXPECT_EQ(Stored(DType::kInt16, "abc", {2}), "-");
  EXPECT_EQ(Stored(DType::kInt4, "a", {3}), "-");
  EXPECT_NE(Stored(DType::kInt4, "ab", {3}), "-");
  Tensor tensor;
  tensor.dtype = DType::kInt8;
  tensor.data = "a";
  tensor.elements = 1;
  EXPECT_EQ(ContentText(FactOf(tensor)), "-");  // has_data is not set
  tensor.dtype = DType::kString;
  tensor.has_data = true;
  EXPECT_EQ(ContentText(FactOf(tensor)), "-");
}

double HalfOf(unsigned bits) {
  const char data[] = {static_cast<char>(bits & 255), static_cast<char>(bits >> 8)};
  Tensor tensor;
  tensor.dtype = DType::kFloat16;
  tensor.data = absl::string_view(data, 2);
  tensor.elements = 1;
  tensor.has_data = true;
  return FactOf(tensor).content->front().f;
}

// One after the other, halves grow by what their last digit stands for.
TEST(StoredTensorTest, EveryHalf) {
  double expected = 0;
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    ASSERT_EQ(HalfOf(bits), expected) << bits;
    ASSERT_EQ(HalfOf(bits | 0x8000), -expected) << bits;
    expected += std::ldexp(1, static_cast<int>(std::max(bits >> 10, 1u)) - 25);
  }
  EXPECT_EQ(expected, 65536);  // where infinity stands
  EXPECT_EQ(HalfOf(0x7c00), INFINITY);
  EXPECT_EQ(HalfOf(0xfc00), -INFINITY);
  EXPECT_TRUE(std::isnan(HalfOf(0x7c01)) && std::isnan(HalfOf(0xffff)));
  EXPECT_TRUE(std::signbit(HalfOf(0x8000)));
}

}  // namespace
}  // namespace onnxflops::element_rule_test
