#include "ops/element_rule.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onnxflops {
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

}  // namespace
}  // namespace onnxflops
