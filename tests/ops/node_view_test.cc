// What rules of operators are made of: a node as they see it, broadcasting, windows, sizes and
// activations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/content.h"
#include "ops/evaluate.h"
#include "ops/op_def.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "ops/window.h"

namespace onnxflops::node_view_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Expr n = Expr::Symbol("n", 1);
const Expr m = Expr::Symbol("m", 1);
constexpr DType kFloat = DType::kFloat32, kInt = DType::kInt64;

Fact Floats(const Shape& shape) { return Fact::Tensor(kFloat, shape); }

// A node with its facts, as a rule gets it.
class View {
 public:
  explicit View(std::vector<Fact> inputs, int opset = 13, std::vector<Fact> outputs = {})
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)), opset_(opset) {
    for (const Fact& fact : inputs_) in_.push_back(&fact);
    for (const Fact& fact : outputs_) out_.push_back(&fact);
    ids_.assign(std::max(inputs_.size(), outputs_.size()), OptionalValueId(0));
    node_.outputs = absl::MakeConstSpan(ids_).first(outputs_.size());
  }

  View& Int(const char* name, int64_t value) {
    Attribute& a = Add(name, AttributeType::kInt);
    a.i = value;
    return *this;
  }
  View& Ints(const char* name, std::vector<int64_t> values) {
    Attribute& a = Add(name, AttributeType::kInts);
    a.ints = lists_.emplace_back(std::move(values));
    return *this;
  }
  View& Float(const char* name, float value) {
    Attribute& a = Add(name, AttributeType::kFloat);
    a.f = value;
    return *this;
  }
  View& String(const char* name, const char* value) {
    Attribute& a = Add(name, AttributeType::kString);
    a.s = value;
    return *this;
  }
  View& Reference(const char* name, const char* of_call) {
    Attribute& a = Add(name, AttributeType::kInt);
    a.ref_attr_name = of_call;
    return *this;
  }
  View& OfCall(const char* name, int64_t value) {
    Attribute& a = of_call_.emplace_back();
    a.name = name;
    a.type = AttributeType::kInt;
    a.i = value;
    return *this;
  }

  NodeView operator()() {
    def.versions = Versions(versions);
    node_.attributes = attributes_;
    return NodeView(model_, node_, def, opset_, in_, out_, nullptr, of_call_);
  }

  OpDef def;
  std::vector<int> versions = {1, 7, 13, 14};

 private:
  Attribute& Add(const char* name, AttributeType type) {
    Attribute& a = attributes_.emplace_back();
    a.name = name;
    a.type = type;
    return a;
  }

  std::vector<Fact> inputs_, outputs_;
  std::vector<const Fact*> in_, out_;
  std::vector<OptionalValueId> ids_;
  std::vector<Attribute> attributes_, of_call_;
  std::deque<std::vector<int64_t>> lists_;
  int opset_;
  ModelData model_;
  Node node_;
};

std::string Message(const absl::Status& status) {
  return absl::StrCat(absl::IsFailedPrecondition(status) ? "? " : "", status.message());
}

// ---- the view

TEST(NodeViewTest, ShapesOfInputs) {
  View view({Floats({2, n}), Fact::Absent(), Fact::Unknown(), Floats(Shape::UnknownRank()),
             Fact::Sequence(Floats({3}), Expr(2))},
            13, {Floats({n}), Floats(Shape::UnknownRank())});
  const NodeView v = view();
  EXPECT_EQ(v.RankedShape(0)->ToString(), "[2, n]");
  EXPECT_EQ(v.RankedShape(0, 2)->ToString(), "[2, n]");
  EXPECT_EQ(Message(v.RankedShape(0, 3).status()), "input 0 has rank 2, not 3");
  EXPECT_EQ(v.ShapeOfRankAtLeast(0, 2)->rank(), 2);
  EXPECT_EQ(Message(v.ShapeOfRankAtLeast(0, 3).status()), "input 0 has rank 2, less than 3");
  for (const int missing : {1, 5, 9}) {
    EXPECT_EQ(Message(v.CheckRanked(missing)), absl::StrCat("input ", missing, " is missing"));
  }
  EXPECT_EQ(Message(v.RankedShape(2).status()), "? input 2 is not known");
  EXPECT_EQ(Message(v.ShapeOfRankAtLeast(3, 0).status()), "? input 3 has an unknown rank");
  EXPECT_THAT(Message(v.RankedShape(4, 1).status()),
              testing::StartsWith("input 4 is not a tensor"));
  EXPECT_EQ(v.OutputShape(0)->ToString(), "[n]");
  for (const int output : {1, 2}) {
    EXPECT_EQ(Message(v.OutputShape(output).status()),
              absl::StrCat("? the shape of output ", output, " is not known"));
  }
  EXPECT_TRUE(v.HasOutput(0) && v.HasOutput(1) && !v.HasOutput(2));
  EXPECT_TRUE(v.HasInput(0) && !v.HasInput(1) && !v.HasInput(5));
  EXPECT_TRUE(v.input(5).absent() && v.output(2).absent());
}

Fact ListOf(Content content, DType type = kInt) {
  Fact fact = Fact::Tensor(type, {static_cast<int64_t>(content.size())});
  fact.content = std::make_shared<const Content>(std::move(content));
  return fact;
}

TEST(NodeViewTest, NumbersOfInputs) {
  const Scalar three = Scalar::Int(3), size = Scalar::Int(n), half = Scalar::Float(0.5);
  View view({ListOf({three}), ListOf({size}), ListOf({half}, kFloat), ListOf({three, three}),
             ListOf({Scalar{}}), Floats({1}), ListOf({}), ListOf({Scalar::Ratio(n, 2)}, kFloat)});
  const NodeView v = view();
  EXPECT_EQ(*v.KnownInt(0), Expr(3));
  EXPECT_EQ(*v.KnownInt(1), n);
  EXPECT_EQ(*v.KnownFloat(0), 3.0);
  EXPECT_EQ(*v.KnownFloat(2), 0.5);
  for (const int i : {2, 3, 4, 5, 6, 7, 9}) EXPECT_FALSE(v.KnownInt(i).has_value()) << i;
  for (const int i : {1, 3, 4, 5, 6, 7, 9}) EXPECT_FALSE(v.KnownFloat(i).has_value()) << i;
}

TEST(NodeViewTest, TheVersionInForce) {
  const std::pair<int, int> cases[] = {{1, 1},   {6, 1},   {7, 7},  {12, 7},
                                       {13, 13}, {14, 14}, {99, 14}};
  for (const auto& [opset, version] : cases) {
    for (const std::vector<int>& versions : {std::vector<int>{1, 7, 13, 14}, {14, 1, 13, 7}}) {
      View view({}, opset);
      view.versions = versions;
      EXPECT_EQ(view().version(), version) << opset;
      EXPECT_EQ(view().opset(), opset);
    }
  }
}

TEST(NodeViewTest, AttributesOfTheirTypes) {
  View view({});
  view.Int("i", 5).Float("f", 2.5).String("s", "text").Ints("l", {7, 8});
  const NodeView v = view();
  EXPECT_EQ(v.Int("i", 1), 5);
  EXPECT_EQ(v.Float("f", 1), 2.5f);
  EXPECT_EQ(v.String("s", "x"), "text");
  EXPECT_THAT(v.Ints("l"), ElementsAre(7, 8));
  EXPECT_EQ(v.Int("none", 1), 1);
  EXPECT_EQ(v.Float("none", 1.5), 1.5f);
  EXPECT_EQ(v.String("none", "x"), "x");
  EXPECT_THAT(v.Ints("none"), IsEmpty());
  EXPECT_THAT(v.Floats("none"), IsEmpty());
  EXPECT_THAT(v.Strings("none"), IsEmpty());
  EXPECT_EQ(v.TensorAttr("none"), nullptr);
  EXPECT_EQ(v.TypeAttr("none"), nullptr);
  EXPECT_TRUE(v.HasAttr("i") && !v.HasAttr("none") && v.Flag("i") && !v.Flag("none"));
  EXPECT_TRUE(v.status().ok());
}

// The first one of a wrong type is what the driver reports.
TEST(NodeViewTest, AttributesOfOtherTypes) {
  const std::pair<const char*, void (*)(const NodeView&)> cases[] = {
      {"attribute s is of type STRING, not INT", [](const NodeView& v) { v.Int("s", 1); }},
      {"attribute i is of type INT, not FLOAT", [](const NodeView& v) { v.Float("i", 1); }},
      {"attribute i is of type INT, not STRING", [](const NodeView& v) { v.String("i", ""); }},
      {"attribute i is of type INT, not INTS", [](const NodeView& v) { v.Ints("i"); }},
      {"attribute l is of type INTS, not FLOATS", [](const NodeView& v) { v.Floats("l"); }},
      {"attribute l is of type INTS, not STRINGS", [](const NodeView& v) { v.Strings("l"); }},
      {"attribute f is of type FLOAT, not TENSOR", [](const NodeView& v) { v.TensorAttr("f"); }},
      {"attribute f is of type FLOAT, not TYPE_PROTO", [](const NodeView& v) { v.TypeAttr("f"); }}};
  for (const auto& [message, read] : cases) {
    View view({});
    view.Int("i", 5).Float("f", 2.5).String("s", "text").Ints("l", {7, 8});
    const NodeView v = view();
    read(v);
    EXPECT_EQ(v.status().message(), message);
    v.Ints("s");
    EXPECT_EQ(v.status().message(), message);
  }
}

TEST(NodeViewTest, AttributesOfTheCallOfAFunction) {
  View view({});
  view.Reference("a", "x").Reference("b", "z").Int("c", 1).OfCall("y", 6).OfCall("x", 7);
  const NodeView v = view();
  EXPECT_EQ(v.Int("a", 1), 7);
  EXPECT_EQ(v.Int("b", 9), 9);
  EXPECT_TRUE(v.HasAttr("a") && !v.HasAttr("b") && v.HasAttr("c") && !v.HasAttr("x"));
}

TEST(NodeViewTest, AxesCountFromBothEnds) {
  View view({});
  view.Int("axis", -1).Int("far", 3);
  const NodeView v = view();
  for (int rank = 1; rank < 4; ++rank) {
    for (int axis = -rank; axis < rank; ++axis)
      EXPECT_EQ(*v.Axis(axis, rank), (axis + rank) % rank);
    for (const int axis : {-rank - 1, rank}) {
      EXPECT_EQ(v.Axis(axis, rank).status().message(),
                absl::StrCat("axis ", axis, " is outside of rank ", rank));
    }
  }
  EXPECT_EQ(*v.AxisAttr("axis", 0, 3), 2);
  EXPECT_EQ(*v.AxisAttr("none", 1, 3), 1);
  EXPECT_EQ(v.AxisAttr("far", 1, 3).status().message(), "axis 3 is outside of rank 3");
}

TEST(NodeViewTest, SizesThatMustBeEqual) {
  View view({});
  const NodeView v = view();
  EXPECT_TRUE(v.RequireSame("K", 3, 3).ok() && v.RequireSame("K", n, 3).ok());
  EXPECT_EQ(v.RequireSame("K", 3, 4).message(), "K differs: 3 vs 4");
  EXPECT_EQ(v.RequireSame("K", n, n + 1).message(), "K differs: n vs n + 1");
  EXPECT_EQ(v.FreshDim(0, 1, "kept"), Expr::Symbol("kept"));
  EXPECT_EQ(v.FreshTripCount("trips"), Expr::Symbol("trips"));
  EXPECT_EQ(v.InferBody("body", {}).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(NodeViewTest, WhatIsMovedKeepsWhatItWasStoredAs) {
  Fact x = Floats({2, 3});
  x.stored = DType::kInt8;
  View view({x, ListOf({})});
  EXPECT_EQ(view().Moved(0, Shape{6}).stored, DType::kInt8);
  EXPECT_EQ(view().Moved(0, Shape{6}).shape, Shape{6});
  EXPECT_EQ(view().Like(0, Shape{6}).stored, DType::kUndefined);
  EXPECT_EQ(view().Moved(1, Shape{6}).dtype, kInt);
}

// ---- numbers that decide shapes

std::string IntsText(const absl::StatusOr<MaybeInts>& ints) {
  if (!ints.ok()) return Message(ints.status());
  return absl::StrJoin(*ints, " ", [](std::string* out, const std::optional<Expr>& i) {
    absl::StrAppend(out, i.has_value() ? i->ToString() : "?");
  });
}

TEST(IntsOfTest, ElementByElement) {
  View view({ListOf({Scalar::Int(2), Scalar{}, Scalar::Int(n), Scalar::Float(1)}),
             Fact::Tensor(kInt, {3}), Fact::Tensor(kInt, {n}), Fact::Absent(), Fact::Unknown(),
             Fact::Tensor(kInt, Shape::UnknownRank())});
  const NodeView v = view();
  EXPECT_EQ(IntsText(IntsOf(v, 0)), "2 ? n ?");
  EXPECT_EQ(IntsText(IntsOf(v, 1)), "? ? ?");
  EXPECT_EQ(IntsText(IntsOf(v, 2)), "? input 2 has an unknown content of shape [n]");
  EXPECT_EQ(IntsText(IntsOf(v, 3)), "input 3 is missing");
  EXPECT_EQ(IntsText(IntsOf(v, 0, 4)), "2 ? n ?");
  EXPECT_EQ(IntsText(IntsOf(v, 0, 3)), "input 0 has 4 elements, not 3");
  EXPECT_EQ(IntsText(IntsOf(v, 1, 2)), "input 1 has 3 elements, not 2");
  EXPECT_EQ(IntsText(IntsOf(v, 2, 2)), "? ?");
  EXPECT_EQ(IntsText(IntsOf(v, 5, 2)), "? ?");
  EXPECT_EQ(IntsText(IntsOf(v, 3, 2)), "input 3 is missing");
  EXPECT_EQ(IntsText(IntsOf(v, 4, 2)), "? input 4 is not known");
}

TEST(AxesTest, OfAnInputAndOfAList) {
  View view({ListOf({Scalar::Int(-1), Scalar::Int(0)}), ListOf({Scalar::Int(n)}),
             ListOf({Scalar{}}), ListOf({Scalar::Int(1), Scalar::Int(-2)})});
  const NodeView v = view();
  EXPECT_THAT(*AxesInput(v, 0, 3), ElementsAre(2, 0));
  EXPECT_EQ(Message(AxesInput(v, 1, 3).status()), "? axis n is symbolic");
  EXPECT_EQ(Message(AxesInput(v, 2, 3).status()), "? the axes (input 2) are not known");
  EXPECT_EQ(Message(AxesInput(v, 3, 3).status()), "axis 1 is given twice");
  EXPECT_EQ(Message(AxesInput(v, 0, 0).status()), "axis -1 is outside of rank 0");
  EXPECT_THAT(*AxesOf(v, {2, -3, 1}, 3), ElementsAre(2, 0, 1));
}

TEST(SizesTest, StridesAndProducts) {
  EXPECT_THAT(RowMajorStrides({2, 3, 4}), ElementsAre(12, 4, 1));
  EXPECT_THAT(RowMajorStrides({5}), ElementsAre(1));
  EXPECT_THAT(RowMajorStrides({}), IsEmpty());
  EXPECT_THAT(RowMajorStrides({2, 0, 4}), ElementsAre(0, 0, 0));
  EXPECT_EQ(ProductOf({2, 3, 4}, 0, 3), 24);
  EXPECT_EQ(ProductOf({2, 3, 4}, 1, 3), 12);
  EXPECT_EQ(ProductOf({2, 3, 4}, 0, 2), 6);
  EXPECT_EQ(ProductOf({2, 3, 4}, 1, 1), 1);
  EXPECT_EQ(ProductOf({2, 3, 0}, 0, 2), 0);
}

TEST(SizesTest, HowManyElementsAreFollowed) {
  const int64_t huge = int64_t{1} << 62;
  const struct {
    DType type;
    Shape shape;
    std::optional<int64_t> size;
  } cases[] = {{kInt, {}, 1},
               {kInt, {1024}, 1024},
               {kInt, {1025}, {}},
               {kInt, {32, 32}, 1024},
               {kInt, {32, 33}, {}},
               {kFloat, {16}, 16},
               {kFloat, {17}, {}},
               {kFloat, {4, 4}, 16},
               {kInt, {n}, {}},
               {kInt, {2, n}, {}},
               {kInt, {0, huge}, 0},
               {kInt, {huge, 0}, 0},
               {kInt, {-1}, {}},
               {kInt, {huge, huge}, {}},
               {DType::kBool, {1024}, 1024},
               {DType::kFloat16, {17}, {}}};
  for (const auto& c : cases) EXPECT_EQ(ContentSize(c.type, c.shape), c.size) << c.shape.ToString();
  EXPECT_THAT(*SmallSizes(kInt, {2, 3}), ElementsAre(2, 3));
  EXPECT_FALSE(SmallSizes(kInt, Shape::UnknownRank()).has_value());
  EXPECT_FALSE(SmallSizes(kInt, {1025}).has_value());
}

TEST(SizesTest, BytesOfTensors) {
  const auto bytes = [](DType type, const Shape& shape) {
    const absl::StatusOr<Expr> size = BytesOf(Fact::Tensor(type, shape));
    return size.ok() ? size->ToString() : Message(size.status());
  };
  EXPECT_EQ(bytes(kFloat, {2, n}), "8*n");
  EXPECT_EQ(bytes(DType::kComplex128, {3}), "48");
  EXPECT_EQ(bytes(DType::kInt8, {3, 5}), "15");
  for (int64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(bytes(DType::kInt4, {i}), absl::StrCat((4 * i + 7) / 8));
    EXPECT_EQ(bytes(DType::kUint2, {i}), absl::StrCat((2 * i + 7) / 8));
  }
  EXPECT_EQ(bytes(kFloat, Shape::UnknownRank()), "? the size of a tensor of unknown rank");
  EXPECT_EQ(Message(BytesOf(Fact::Unknown()).status()), "? the size of a tensor of unknown rank");
}

TEST(SizesTest, ASelectionReadsWhatItGivesAndItsIndices) {
  View view(
      {Floats({100, 8}), Fact::Tensor(kInt, {n}), Fact::Absent(), Fact::Tensor(DType::kInt8, {5})},
      13, {Floats({n, 8})});
  Cost cost;
  EXPECT_TRUE(SelectionBytes(view(), &cost).ok());
  EXPECT_EQ(cost.bytes_read, 40 * n + 5);
  View unknown({Floats({100, 8}), Fact::Tensor(kInt, Shape::UnknownRank())}, 13, {Floats({n, 8})});
  EXPECT_TRUE(absl::IsFailedPrecondition(SelectionBytes(unknown(), &cost)));
  View open({Floats({100, 8})}, 13, {Floats(Shape::UnknownRank())});
  EXPECT_TRUE(absl::IsFailedPrecondition(SelectionBytes(open(), &cost)));
}

// ---- types of elements

TEST(TypesTest, OfAnAttribute) {
  View view({});
  view.Int("to", 7).Int("none", 0).Int("more", 99).Int("last", 28);
  const NodeView v = view();
  EXPECT_EQ(*DTypeAttr(v, "to", kFloat), kInt);
  EXPECT_EQ(*DTypeAttr(v, "other", kFloat), kFloat);
  EXPECT_EQ(DTypeAttr(v, "none", kFloat).status().message(), "none = 0 is not an element type");
  EXPECT_EQ(DTypeAttr(v, "more", kFloat).status().message(), "more = 99 is not an element type");
}

// (a + bi)(c + di) is four products and two sums, a sum is two; of others the same twice.
TEST(TypesTest, WorkOnElementsOfAType) {
  Census work;
  work[Kind::kMac] = 7;
  work[Kind::kAdd] = 5;
  work[Kind::kMul] = n;
  work[Kind::kExp] = 3;
  EXPECT_EQ(CostIn(kFloat, work).ToString(), "mac=7 add=5 mul=n exp=3");
  EXPECT_EQ(CostIn(kInt, work).ToString(), "int_mac=7 int_add=5 int_mul=n int_exp=3");
  EXPECT_EQ(CostIn(DType::kBool, work).ToString(), "int_mac=7 int_add=5 int_mul=n int_exp=3");
  EXPECT_EQ(CostIn(DType::kComplex64, work).ToString(), "mac=28 add=2*n + 10 mul=4*n exp=6");
}

TEST(TypesTest, WorkPerElement) {
  View view({Floats({2, n})}, 13, {Floats({3, n})});
  view.def.per_element = {.add = 1, .mul = 2};
  EXPECT_EQ(CountPerInputElement(view())->ToString(), "add=2*n mul=4*n");
  EXPECT_EQ(CountPerOutputElement(view())->ToString(), "add=3*n mul=6*n");
  const ElementCost all = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  EXPECT_EQ((all * Expr(10))[Kind::kMac], Expr(10));
  std::string amounts;
  for (int i = 0; i < kNumKinds; ++i) {
    absl::StrAppend(&amounts, KindName(static_cast<Kind>(i)), "=",
                    (all * Expr(10))[static_cast<Kind>(i)].ToString(), " ");
  }
  EXPECT_EQ(amounts,
            "mac=10 add=20 mul=30 div=40 cmp=50 exp=60 log=70 sqrt=80 pow=90 trig=100 tanh=110 "
            "erf=120 round=130 ");
}

// ---- broadcasting

std::string Broadcast(View* view,
                      absl::StatusOr<Facts> (*infer)(const NodeView&) = InferBroadcast) {
  const absl::StatusOr<Facts> facts = infer((*view)());
  if (!facts.ok()) return Message(facts.status());
  return absl::StrCat(DTypeName((*facts)[0].dtype), (*facts)[0].shape.ToString());
}

TEST(BroadcastTest, ShapesOfAllInputs) {
  View three({Floats({2, 1, 4}), Floats({3, 1}), Floats({})});
  EXPECT_EQ(Broadcast(&three), "float32[2, 3, 4]");
  EXPECT_EQ(Broadcast(&three, InferBroadcastBool), "bool[2, 3, 4]");
  View longer({Floats({4}), Floats({n, 1})});
  EXPECT_EQ(Broadcast(&longer), "float32[n, 4]");
  View none({});
  EXPECT_EQ(Broadcast(&none), "input 0 is missing");
  View absent({Floats({4}), Fact::Absent()});
  EXPECT_EQ(Broadcast(&absent), "input 1 is missing");
  View wrong({Floats({2, 3}), Floats({2, 4})});
  EXPECT_EQ(Broadcast(&wrong), "shapes [2, 3] and [2, 4] do not broadcast: 3 vs 4");
  View unary({Floats({n, 4})});
  EXPECT_EQ(Broadcast(&unary, InferUnary), "float32[n, 4]");
  EXPECT_EQ(Broadcast(&unary, InferUnaryBool), "bool[n, 4]");
  EXPECT_EQ(Broadcast(&unary, InferSameAsInput), "float32[n, 4]");
  EXPECT_EQ(Broadcast(&unary, InferMoved), "float32[n, 4]");
  for (const auto infer : {InferUnary, InferSameAsInput, InferMoved}) {
    EXPECT_EQ(Broadcast(&none, infer), "input 0 is missing");
  }
}

// Before opset 7, the second operand matches a run of the first one's dimensions if `broadcast` is
// set: from `axis` on, or the last ones.
TEST(BroadcastTest, BeforeOpset7) {
  const struct {
    Shape b;
    int broadcast;             // -1: not given
    int axis;                  // -9: not given
    const char *before, *now;  // in opset 6 and 7
  } cases[] = {
      {{3, 4},
       1,
       1,
       "float32[2, 3, 4, 5]",
       "shapes [2, 3, 4, 5] and [3, 4] do not broadcast: 4 vs 3"},
      {{3, 4},
       1,
       -3,
       "float32[2, 3, 4, 5]",
       "shapes [2, 3, 4, 5] and [3, 4] do not broadcast: 4 vs 3"},
      {{4, 5}, 1, -9, "float32[2, 3, 4, 5]", "float32[2, 3, 4, 5]"},
      {{2}, 1, 0, "float32[2, 3, 4, 5]", "shapes [2, 3, 4, 5] and [2] do not broadcast: 5 vs 2"},
      {{1, 4},
       1,
       1,
       "float32[2, 3, 4, 5]",
       "shapes [2, 3, 4, 5] and [1, 4] do not broadcast: 5 vs 4"},
      {{}, 1, 2, "float32[2, 3, 4, 5]", "float32[2, 3, 4, 5]"},
      {{3}, 1, -9, "size differs: 5 vs 3", "shapes [2, 3, 4, 5] and [3] do not broadcast: 5 vs 3"},
      {{2, 3, 4, 5}, 0, -9, "float32[2, 3, 4, 5]", "float32[2, 3, 4, 5]"},
      {{2, 3, 4, 5}, -1, 1, "float32[2, 3, 4, 5]", "float32[2, 3, 4, 5]"},
      {{2, 3, 4, 1}, 0, -9, "size differs: 5 vs 1", "float32[2, 3, 4, 5]"},
      {{5}, 0, -9, "shapes [2, 3, 4, 5] and [5] differ without broadcast=1", "float32[2, 3, 4, 5]"},
      {{4, 5},
       1,
       3,
       "shape [4, 5] at axis 3 does not fit into [2, 3, 4, 5]",
       "float32[2, 3, 4, 5]"},
      {{4, 5}, 1, 2, "float32[2, 3, 4, 5]", "float32[2, 3, 4, 5]"},
      {{5}, 1, 4, "axis 4 is outside of rank 4", "float32[2, 3, 4, 5]"},
      {{1, 2, 3, 4, 5},
       1,
       -9,
       "shape [1, 2, 3, 4, 5] is of higher rank than [2, 3, 4, 5]",
       "float32[1, 2, 3, 4, 5]"},
  };
  for (const auto& c : cases) {
    for (const int opset : {6, 7}) {
      View view({Floats({2, 3, 4, 5}), Floats(c.b)}, opset);
      if (c.broadcast >= 0) view.Int("broadcast", c.broadcast);
      if (c.axis > -9) view.Int("axis", c.axis);
      EXPECT_EQ(Broadcast(&view), opset < 7 ? c.before : c.now) << c.b.ToString() << c.axis;
    }
  }
  View without({Floats({2, 3}), Floats({3})}, 6);
  EXPECT_EQ(Broadcast(&without), "float32[2, 3]");  // neither attribute: as now
}

// Contents go along, also where the second operand is aligned.
TEST(BroadcastTest, Contents) {
  Fact table = ListOf({Scalar::Int(1), Scalar::Int(2), Scalar::Int(3), Scalar::Int(4)});
  table.shape = Shape{2, 2};
  const Fact column = ListOf({Scalar::Int(10), Scalar::Int(20)});
  View old({table, column}, 6), now({table, column}, 7), twice({column, column, column}, 13);
  old.Int("broadcast", 1).Int("axis", 0);
  for (View* view : {&old, &now, &twice}) view->def.evaluate = EvaluateSum;
  const auto elements = [](View* view) {
    const absl::StatusOr<Facts> facts = InferBroadcast((*view)());
    return absl::StrJoin(*(*facts)[0].content, " ", [](std::string* out, const Scalar& s) {
      absl::StrAppend(out, s.i.ToString());
    });
  };
  EXPECT_EQ(elements(&old), "11 12 23 24");
  EXPECT_EQ(elements(&now), "11 22 13 24");
  EXPECT_EQ(elements(&twice), "30 60");
  View negated({column});
  negated.def.evaluate = EvaluateNeg;
  EXPECT_EQ((*(*InferUnary(negated()))[0].content)[1].i, Expr(-20));
}

// ---- windows

// As PyTorch counts them: with `ceil_mode` one more that ends beyond the input, but for a last one
// that would start in the padding behind it.
int64_t WindowsOf(int64_t input, const WindowAxis& axis, int64_t kernel, bool ceil_mode) {
  const int64_t slack = input + axis.pad_begin + axis.pad_end - ((kernel - 1) * axis.dilation + 1);
  if (slack < 0) return 0;
  int64_t windows = (ceil_mode ? slack + axis.stride - 1 : slack) / axis.stride + 1;
  if (ceil_mode && (windows - 1) * axis.stride >= input + axis.pad_begin) --windows;
  return windows;
}

TEST(WindowsTest, AsManyAsFitAtEverySize) {
  for (const int64_t kernel : {1, 2, 3, 5}) {
    for (const int64_t stride : {1, 2, 3, 4}) {
      for (const int64_t dilation : {1, 2}) {
        for (const auto& [begin, end] : {std::pair{0, 0}, {1, 1}, {0, 2}, {2, 1}, {3, 7}}) {
          for (const bool ceil_mode : {false, true}) {
            Windows windows;
            windows.axes.push_back({kernel, stride, dilation, begin, end});
            windows.ceil_mode = ceil_mode;
            const Dims open = *windows.Outputs({n});
            for (int64_t size = 1; size < 14; ++size) {
              const int64_t expected = WindowsOf(size, windows.axes[0], kernel, ceil_mode);
              const absl::StatusOr<Dims> found = windows.Outputs({Expr(size)});
              EXPECT_TRUE(expected > 0 || ceil_mode || !found.ok());
              if (expected == 0) continue;
              ASSERT_TRUE(found.ok()) << found.status();
              EXPECT_EQ((*found)[0], Expr(expected)) << size << " " << kernel << " " << stride;
              EXPECT_EQ(*open[0].Evaluate({{"n", size}}), expected) << open[0].ToString();
            }
          }
        }
      }
    }
  }
}

TEST(WindowsTest, WhatDoesNotFit) {
  Windows windows;
  windows.axes.push_back({3, 1, 1, 0, 0});
  windows.axes.push_back({3, 1, 2, 1, 0});
  EXPECT_EQ((*windows.Outputs({Expr(3), Expr(4)}))[1], Expr(1));
  EXPECT_EQ(Message(windows.Outputs({Expr(3), Expr(3)}).status()),
            "a window of 5 does not fit into 3 padded by 1 and 0 (spatial axis 1)");
  EXPECT_EQ(Message(windows.Outputs({Expr(2), Expr(4)}).status()),
            "a window of 3 does not fit into 2 padded by 0 and 0 (spatial axis 0)");
  EXPECT_EQ(windows.KernelElements(), Expr(9));
  for (const AutoPad same : {AutoPad::kSameUpper, AutoPad::kSameLower}) {
    windows.auto_pad = same;
    windows.axes[0].stride = 2;
    EXPECT_TRUE(windows.Same());
    EXPECT_EQ((*windows.Outputs({Expr(5), Expr(1)}))[0], Expr(3));
  }
  windows.auto_pad = AutoPad::kValid;
  EXPECT_FALSE(windows.Same());
}

std::string WindowsText(View* view) {
  const absl::StatusOr<Windows> windows = ReadWindows((*view)(), {Expr(3), n});
  if (!windows.ok()) return Message(windows.status());
  std::string text =
      absl::StrCat(static_cast<int>(windows->auto_pad), windows->ceil_mode ? "c" : "");
  for (const WindowAxis& a : windows->axes) {
    absl::StrAppend(&text, " ", a.kernel.ToString(), "/", a.stride, "/", a.dilation, "/",
                    a.pad_begin, "/", a.pad_end);
  }
  return text;
}

TEST(WindowsTest, AttributesOfWindows) {
  View plain({}), all({}), same({}), lower({}), valid({}), empty({}), wrong({});
  EXPECT_EQ(WindowsText(&plain), "0 3/1/1/0/0 n/1/1/0/0");
  all.Ints("strides", {2, 3})
      .Ints("dilations", {4, 5})
      .Ints("pads", {6, 7, 8, 9})
      .Int("ceil_mode", 1);
  EXPECT_EQ(WindowsText(&all), "0c 3/2/4/6/8 n/3/5/7/9");
  same.String("auto_pad", "SAME_UPPER").Ints("pads", {6, 7, 8, 9});
  EXPECT_EQ(WindowsText(&same), "1 3/1/1/0/0 n/1/1/0/0");
  EXPECT_EQ(WindowsText(&lower.String("auto_pad", "SAME_LOWER")), "2 3/1/1/0/0 n/1/1/0/0");
  EXPECT_EQ(WindowsText(&valid.String("auto_pad", "VALID")), "3 3/1/1/0/0 n/1/1/0/0");
  EXPECT_EQ(WindowsText(&empty.String("auto_pad", "").Ints("pads", {1, 1, 0, 0})),
            "0 3/1/1/1/0 n/1/1/1/0");
  EXPECT_EQ(WindowsText(&wrong.String("auto_pad", "SAME")),
            "auto_pad is 'SAME', not NOTSET, SAME_UPPER, SAME_LOWER or VALID");
}

TEST(WindowsTest, AttributesThatAreWrong) {
  const struct {
    const char* name;
    std::vector<int64_t> values;
    const char* error;  // none: it is read
  } cases[] = {{"strides", {1}, "attribute strides has 1 values, not 2"},
               {"strides", {1, 0}, "attribute strides holds 0, less than 1"},
               {"strides", {1, 1}, nullptr},
               {"dilations", {1, 2, 3}, "attribute dilations has 3 values, not 2"},
               {"dilations", {0, 1}, "attribute dilations holds 0, less than 1"},
               {"dilations", {1, 1}, nullptr},
               {"pads", {1, 1}, "attribute pads has 2 values, not 4"},
               {"pads", {0, 0, -1, 0}, "attribute pads holds -1, less than 0"},
               {"pads", {0, 0, 0, 0}, nullptr},
               {"pads", {}, nullptr}};
  for (const auto& c : cases) {
    View view({});
    view.Ints(c.name, c.values);
    const std::string text = WindowsText(&view);
    EXPECT_THAT(text, testing::StartsWith(c.error == nullptr ? "0 3/" : c.error));
  }
}

TEST(WindowsTest, SizesOfKernels) {
  View none({}), two({}), zero({}), other({});
  two.Ints("kernel_shape", {2, 3});
  zero.Ints("kernel_shape", {2, 0});
  other.Ints("kernel_shape", {2});
  EXPECT_EQ(Message(KernelFromAttribute(none(), 2).status()), "attribute kernel_shape is missing");
  EXPECT_THAT(*KernelFromAttribute(two(), 2), ElementsAre(Expr(2), Expr(3)));
  EXPECT_EQ(Message(KernelFromAttribute(two(), 3).status()),
            "attribute kernel_shape has 2 values, not 3");
  EXPECT_EQ(Message(KernelFromAttribute(zero(), 2).status()),
            "attribute kernel_shape holds 0, less than 1");
  EXPECT_THAT(*KernelFromWeight(none(), {8, 4, 5, n}), ElementsAre(Expr(5), n));
  EXPECT_THAT(*KernelFromWeight(two(), {8, 4, 2, n}), ElementsAre(Expr(2), Expr(3)));
  EXPECT_EQ(Message(KernelFromWeight(two(), {8, 4, 5, n}).status()),
            "kernel size of the weight and kernel_shape differs: 5 vs 2");
  EXPECT_EQ(Message(KernelFromWeight(other(), {8, 4, 2, n}).status()),
            "attribute kernel_shape has 1 values, not 2");
  EXPECT_EQ(Message(KernelFromWeight(none(), {8, 4, 1, 0}).status()), "the kernel has size 0");
  EXPECT_TRUE(KernelFromWeight(none(), {8, 4, 1, 1}).ok());
}

// ---- parts of fused operators

std::string PartText(const absl::StatusOr<ElementCost>& cost) {
  return cost.ok() ? Flops(*cost * Expr(1)).ToString() : std::string(cost.status().message());
}

// y = f(x), and dx from dy: by the textbook, in any case of letters.
TEST(PartsTest, ActivationsByName) {
  const struct {
    const char *name, *cost, *gradient;
  } cases[] = {
      {"", "free", "free"},
      {"none", "free", "free"},
      {"Identity", "free", "free"},
      {"Relu", "cmp=1", "cmp=1"},
      {"tanh", "tanh=1", "add=1 mul=2"},
      {"SIGMOID", "add=1 div=1 exp=1", "add=1 mul=2"},
      {"affine", "add=1 mul=1", "mul=1"},
      {"Clip", "cmp=2", "cmp=2"},
      {"ScaledTanh", "mul=2 tanh=1", "add=1 mul=3"},
      {"QuickGelu", "add=1 mul=2 div=1 exp=1", "add=3 mul=5 div=1 exp=1"},
      {"Silu", "add=1 mul=1 div=1 exp=1", "add=3 mul=3 div=1 exp=1"},
      {"Softmax", "add=2 div=1 cmp=1 exp=1", "add=2 mul=2"},
      {"nope", "the activation 'nope' is not known",
       "the gradient of the activation 'nope' is not known"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(PartText(ActivationCost(c.name)), c.cost) << c.name;
    EXPECT_EQ(PartText(ActivationGradient(c.name)), c.gradient) << c.name;
  }
}

TEST(PartsTest, Normalizations) {
  const auto text = [](Census work) { return Flops(std::move(work)).ToString(); };
  EXPECT_EQ(text(RmsNormWork(10, n)), "add=n + 10 mul=2*n div=n + 10 sqrt=10");
  EXPECT_EQ(text(SinkWork(10)), "add=20 cmp=10 exp=10");
}

}  // namespace
}  // namespace onnxflops::node_view_test
