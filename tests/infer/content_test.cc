// What is known of tensors' elements without running the model: random chains of the operators that
// exporters write around shapes, against the same operators as textbook loops, at several sizes.
#include "ops/content.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/infer/infer.h"
#include "tests/model_text.h"

namespace onnxflops::content_test {
namespace {

constexpr int kOpset = 18;
constexpr uint32_t kChains = 1500;
constexpr int kNodes = 13;

const Bindings kSizes[] = {
    {{"A", 1}, {"B", 1}}, {{"A", 2}, {"B", 3}}, {{"A", 5}, {"B", 2}}, {{"A", 4}, {"B", 7}}};

// ---- Textbook tensors

using Ints = std::vector<int64_t>;

struct Array {
  Ints dims;
  Ints data;  // row-major; of booleans 0 and 1
};
// Nothing where the model is wrong at these sizes.
using Result = std::optional<Array>;

int64_t Product(const Ints& dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

size_t Offset(const Ints& dims, const Ints& index) {
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) offset = offset * dims[i] + index[i];
  return static_cast<size_t>(offset);
}

// The array of these sizes whose element at every index is what `element` says.
template <typename Element>
Array Make(Ints dims, Element element) {
  Array made = {std::move(dims), {}};
  Ints index(made.dims.size(), 0);
  for (int64_t left = Product(made.dims); left > 0; --left) {
    made.data.push_back(element(index));
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < made.dims[i]) break;
      index[i] = 0;
    }
  }
  return made;
}

int64_t At(const Array& a, const Ints& index) { return a.data[Offset(a.dims, index)]; }

int64_t Clamped(int64_t value, int64_t low, int64_t high) {
  return std::max(low, std::min(value, high));
}

Array Sliced(const Array& a, size_t axis, int64_t start, int64_t end, int64_t step) {
  const int64_t size = a.dims[axis];
  if (size == 0) return a;
  const int64_t top = step > 0 ? size : size - 1, bottom = step > 0 ? 0 : -1;
  start = Clamped(start < 0 ? start + size : start, 0, top);
  end = Clamped(end < 0 ? end + size : end, bottom, top);
  Ints dims = a.dims, taken;
  for (int64_t i = start; step > 0 ? i < end : i > end; i += step) taken.push_back(i);
  dims[axis] = static_cast<int64_t>(taken.size());
  return Make(dims, [&](Ints index) {
    index[axis] = taken[static_cast<size_t>(index[axis])];
    return At(a, index);
  });
}

Array Running(const Array& a, size_t axis, bool exclusive, bool reverse) {
  return Make(a.dims, [&](Ints index) {
    const int64_t here = index[axis];
    int64_t sum = 0;
    for (int64_t i = 0; i < a.dims[axis]; ++i) {
      index[axis] = i;
      const bool before = reverse ? i > here : i < here;
      if (before || (i == here && !exclusive)) sum += At(a, index);
    }
    return sum;
  });
}

Result Reduced(const Array& a, size_t axis, const std::string& op, bool keep) {
  if (op != "ReduceSum" && a.dims[axis] == 0) return std::nullopt;
  Ints dims = a.dims;
  dims[axis] = 1;
  Array reduced = Make(dims, [&](Ints index) {
    int64_t result = op == "ReduceSum" ? 0 : At(a, index);
    for (int64_t i = 0; i < a.dims[axis]; ++i) {
      index[axis] = i;
      const int64_t element = At(a, index);
      result = op == "ReduceSum"   ? result + element
               : op == "ReduceMax" ? std::max(result, element)
                                   : std::min(result, element);
    }
    return result;
  });
  if (!keep) reduced.dims.erase(reduced.dims.begin() + static_cast<int64_t>(axis));
  return reduced;
}

// ---- Chains

// A value of the chain, and how it comes about from those before.
struct Value {
  std::string name;
  size_t rank = 0;
  bool is_bool = false;
  std::function<Result(const std::map<std::string, Array>&)> evaluate;
};

class Chain {
 public:
  explicit Chain(uint32_t seed) : random_(seed) {}

  void Build() {
    Start();
    while (values_.size() < kNodes) Extend();
  }

  std::string Text() const {
    return absl::StrCat("g (float[A,B] x) => (float[A,B] z) { z = Identity(x) ",
                        absl::StrJoin(nodes_, " "), " }");
  }
  const std::vector<Value>& values() const { return values_; }

 private:
  using Arrays = std::map<std::string, Array>;

  size_t Below(size_t n) { return random_() % n; }
  int64_t Pick(const Ints& of) { return of[Below(of.size())]; }
  std::string Fresh() { return absl::StrCat("t", names_++); }
  std::string Node(const std::string& call) {
    nodes_.push_back(absl::StrCat(Fresh(), " = ", call));
    return absl::StrCat("t", names_ - 1);
  }
  std::string List(const Ints& list) {
    return Node(absl::StrCat("Constant<value_ints=[", absl::StrJoin(list, ","), "]>()"));
  }
  std::string Number(int64_t value) {
    return Node(absl::StrCat("Constant<value_int=", value, ">()"));
  }
  // A value of one input, evaluated from it.
  template <typename Evaluate>
  void Add(const Value& from, const std::string& call, size_t rank, Evaluate evaluate,
           bool is_bool = false) {
    const std::string input = from.name;
    values_.push_back({Node(call), rank, is_bool, [input, evaluate](const Arrays& all) -> Result {
                         const auto found = all.find(input);
                         if (found == all.end()) return std::nullopt;
                         return evaluate(found->second);
                       }});
  }

  void Start();
  void Extend();
  void Arithmetic(const Value& x);
  void Limit(const Value& x);
  void Condition(const Value& x);
  void Move(const Value& x);
  void Reverse(const Value& x, size_t axis);
  void Views(const Value& x);
  void Fold(const Value& x);
  void Select(const Value& x);

  std::mt19937 random_;
  int names_ = 0;
  std::vector<std::string> nodes_;
  std::vector<Value> values_;
};

void Chain::Start() {
  const std::string shape = Node("Shape(x)"), first = Node("Shape<start=0, end=1>(x)");
  const std::string scalar = Node(absl::StrCat("Squeeze(", first, ")"));
  const int64_t start = Pick({0, 1, 3, -2}), step = Pick({1, 2, 3});
  values_.push_back(
      {Node(absl::StrCat("Range(", Number(start), ", ", scalar, ", ", Number(step), ")")), 1, false,
       [=](const Arrays& all) -> Result {
         Array range = {{0}, {}};
         for (int64_t v = start; v < all.at("x").dims[0]; v += step) {
           range.data.push_back(v);
           ++range.dims[0];
         }
         return range;
       }});
  // 100*i + 10*j + k on [A, B, 2].
  const std::string second = Node("Shape<start=1, end=2>(x)");
  const auto counting = [&](const std::string& size, int64_t factor, const Ints& axes) {
    const std::string count =
        Node(absl::StrCat("Range(", Number(0), ", ", Node(absl::StrCat("Squeeze(", size, ")")),
                          ", ", Number(1), ")"));
    const std::string scaled = Node(absl::StrCat("Mul(", count, ", ", Number(factor), ")"));
    return Node(absl::StrCat("Unsqueeze(", scaled, ", ", List(axes), ")"));
  };
  const std::string rows = counting(first, 100, {1, 2}), columns = counting(second, 10, {1});
  const std::string plane = Node(absl::StrCat("Add(", rows, ", ", columns, ")"));
  values_.push_back({Node(absl::StrCat("Add(", plane, ", ", List({0, 1}), ")")), 3, false,
                     [](const Arrays& all) -> Result {
                       Ints dims = all.at("x").dims;
                       dims.push_back(2);
                       return Make(dims,
                                   [](const Ints& i) { return 100 * i[0] + 10 * i[1] + i[2]; });
                     }});
  const int64_t fill = Pick({0, 1, 1, 5});
  values_.push_back(
      {Node(absl::StrCat("ConstantOfShape<value = int64[1] {", fill, "}>(", shape, ")")), 2, false,
       [=](const Arrays& all) -> Result {
         return Make(all.at("x").dims, [&](const Ints&) { return fill; });
       }});
}

void Chain::Extend() {
  // A copy: new values move the list.
  const Value x = values_[Below(values_.size())];
  if (x.rank == 0) return;
  void (Chain::*const kinds[])(const Value&) = {&Chain::Arithmetic, &Chain::Condition,
                                                &Chain::Move,       &Chain::Views,
                                                &Chain::Fold,       &Chain::Select};
  (this->*kinds[Below(std::size(kinds))])(x);
}

void Chain::Arithmetic(const Value& x) {
  if (x.is_bool) {
    Add(x, absl::StrCat("Cast<to=7>(", x.name, ")"), x.rank, [](const Array& a) { return a; });
    return;
  }
  if (Below(6) == 0) return Limit(x);
  const char* const ops[] = {"Add", "Sub", "Mul", "Min", "Max"};
  const size_t op = Below(std::size(ops));
  const int64_t other = Pick({-1, 0, 1, 2, 7});
  const bool self = Below(3) == 0;
  const std::string operand = self ? x.name : Number(other);
  Add(x, absl::StrCat(ops[op], "(", x.name, ", ", operand, ")"), x.rank, [=](const Array& a) {
    return Make(a.dims, [&](const Ints& index) {
      const int64_t l = At(a, index), r = self ? l : other;
      const int64_t results[] = {l + r, l - r, l * r, std::min(l, r), std::max(l, r)};
      return results[op];
    });
  });
}

// A Clip by one bound or by both.
void Chain::Limit(const Value& x) {
  const size_t bounds = Below(3);
  const bool has_low = bounds != 0, has_high = bounds != 1;
  const int64_t low = Pick({-1, 0, 2}), high = Pick({2, 3, 30});
  const std::string from = has_low ? Number(low) : "";
  const std::string to = has_high ? absl::StrCat(", ", Number(high)) : "";
  Add(x, absl::StrCat("Clip(", x.name, ", ", from, to, ")"), x.rank, [=](const Array& a) {
    return Make(a.dims, [&](const Ints& index) {
      const int64_t raised = has_low ? std::max(At(a, index), low) : At(a, index);
      return has_high ? std::min(raised, high) : raised;
    });
  });
}

void Chain::Condition(const Value& x) {
  if (x.is_bool) {
    const int64_t other = Pick({0, 4});
    const std::string then = Number(3), otherwise = Number(other);
    Add(x, absl::StrCat("Where(", x.name, ", ", then, ", ", otherwise, ")"), x.rank,
        [=](const Array& a) {
          return Make(a.dims, [&](const Ints& index) { return At(a, index) != 0 ? 3 : other; });
        });
    return;
  }
  const char* const ops[] = {"Equal", "Less", "GreaterOrEqual"};
  const size_t op = Below(std::size(ops));
  const int64_t other = Pick({-3, 0, 1, 100});
  Add(
      x, absl::StrCat(ops[op], "(", x.name, ", ", Number(other), ")"), x.rank,
      [=](const Array& a) {
        return Make(a.dims, [&](const Ints& index) -> int64_t {
          const int64_t l = At(a, index);
          const bool results[] = {l == other, l < other, l >= other};
          return results[op] ? 1 : 0;
        });
      },
      /*is_bool=*/true);
}

void Chain::Move(const Value& x) {
  const size_t axis = Below(x.rank);
  const size_t kind = Below(5);
  if (kind == 4) return Reverse(x, axis);
  if (kind == 0) {
    const int64_t step = Pick({1, 2, -1}), start = step > 0 ? Pick({0, 1, -2}) : Pick({-1, 2});
    const int64_t end = step > 0 ? Pick({1000, -1, 3}) : Pick({-1000, 0});
    const std::string inputs = absl::StrJoin(
        {x.name, List({start}), List({end}), List({static_cast<int64_t>(axis)}), List({step})},
        ", ");
    Add(
        x, absl::StrCat("Slice(", inputs, ")"), x.rank,
        [=](const Array& a) { return Sliced(a, axis, start, end, step); }, x.is_bool);
  } else if (kind == 1) {
    Add(
        x, absl::StrCat("Concat<axis=", axis, ">(", x.name, ", ", x.name, ")"), x.rank,
        [=](const Array& a) {
          Ints dims = a.dims;
          dims[axis] *= 2;
          return Make(dims, [&](Ints index) {
            index[axis] %= a.dims[axis];
            return At(a, index);
          });
        },
        x.is_bool);
  } else if (kind == 2) {
    Ints repeats(x.rank, 1);
    repeats[axis] = Pick({1, 2, 3});
    Add(
        x, absl::StrCat("Tile(", x.name, ", ", List(repeats), ")"), x.rank,
        [=](const Array& a) {
          Ints dims = a.dims;
          dims[axis] *= repeats[axis];
          return Make(dims, [&](Ints index) {
            index[axis] %= a.dims[axis];
            return At(a, index);
          });
        },
        x.is_bool);
  } else {
    const int64_t place = Pick({0, -1, 1});
    Add(
        x, absl::StrCat("Gather<axis=", axis, ">(", x.name, ", ", List({place, 0}), ")"), x.rank,
        [=](const Array& a) -> Result {
          if (a.dims[axis] <= place || a.dims[axis] == 0) return std::nullopt;
          Ints dims = a.dims;
          dims[axis] = 2;
          return Make(dims, [&](Ints index) {
            index[axis] = index[axis] == 1 ? 0 : place < 0 ? place + a.dims[axis] : place;
            return At(a, index);
          });
        },
        x.is_bool);
  }
}

// A Gather whose indices follow a rule as well: size - 1, size - 2, ... 0, on one axis or on two.
void Chain::Reverse(const Value& x, size_t axis) {
  const bool two_axes = Below(2) == 0 && x.rank < 4;
  const std::string size = Node(absl::StrCat(
      "Squeeze(", Node(absl::StrCat("Shape<start=", axis, ", end=", axis + 1, ">(", x.name, ")")),
      ")"));
  const std::string one = Number(1);
  const std::string range = Node(absl::StrCat("Range(", Number(0), ", ", size, ", ", one, ")"));
  const std::string last = Node(absl::StrCat("Sub(", size, ", ", one, ")"));
  std::string indices = Node(absl::StrCat("Sub(", last, ", ", range, ")"));
  if (two_axes) indices = Node(absl::StrCat("Unsqueeze(", indices, ", ", List({0}), ")"));
  Add(
      x, absl::StrCat("Gather<axis=", axis, ">(", x.name, ", ", indices, ")"),
      x.rank + (two_axes ? 1 : 0),
      [=](Array a) {
        Array reversed = Make(a.dims, [&](Ints index) {
          index[axis] = a.dims[axis] - 1 - index[axis];
          return At(a, index);
        });
        const auto place = reversed.dims.begin() + static_cast<int64_t>(axis);
        if (two_axes) reversed.dims.insert(place, 1);
        return reversed;
      },
      x.is_bool);
}

void Chain::Views(const Value& x) {
  const size_t kind = Below(4);
  if (kind == 0) {
    Add(
        x, absl::StrCat("Transpose(", x.name, ")"), x.rank,
        [](const Array& a) {
          return Make(Ints(a.dims.rbegin(), a.dims.rend()),
                      [&](const Ints& index) { return At(a, Ints(index.rbegin(), index.rend())); });
        },
        x.is_bool);
  } else if (kind == 1) {
    if (x.rank > 3) return;
    const int64_t axis = static_cast<int64_t>(Below(x.rank + 1));
    Add(
        x, absl::StrCat("Unsqueeze(", x.name, ", ", List({axis}), ")"), x.rank + 1,
        [=](Array a) {
          a.dims.insert(a.dims.begin() + axis, 1);
          return a;
        },
        x.is_bool);
  } else if (kind == 2) {
    const bool flat = x.rank == 1 || Below(2) == 0;
    Add(
        x, absl::StrCat("Reshape(", x.name, ", ", flat ? List({-1}) : List({0, -1}), ")"),
        flat ? 1 : 2,
        [=](Array a) -> Result {
          const int64_t all = Product(a.dims);
          if (!flat && a.dims[0] == 0) return std::nullopt;
          a.dims = flat ? Ints{all} : Ints{a.dims[0], all / a.dims[0]};
          return a;
        },
        x.is_bool);
  } else {
    if (x.rank > 3) return;
    const std::string own = Node(absl::StrCat("Shape(", x.name, ")"));
    const std::string target = Node(absl::StrCat("Concat<axis=0>(", List({2}), ", ", own, ")"));
    Add(
        x, absl::StrCat("Expand(", x.name, ", ", target, ")"), x.rank + 1,
        [](const Array& a) {
          Ints dims = a.dims;
          dims.insert(dims.begin(), 2);
          return Make(
              dims, [&](const Ints& index) { return At(a, Ints(index.begin() + 1, index.end())); });
        },
        x.is_bool);
  }
}

void Chain::Fold(const Value& x) {
  if (x.is_bool) return;
  const size_t axis = Below(x.rank);
  if (Below(2) == 0) {
    const bool exclusive = Below(2) == 0, reverse = Below(2) == 0;
    const std::string at = Number(static_cast<int64_t>(axis));
    Add(x,
        absl::StrCat("CumSum<exclusive=", exclusive ? 1 : 0, ", reverse=", reverse ? 1 : 0, ">(",
                     x.name, ", ", at, ")"),
        x.rank, [=](const Array& a) { return Running(a, axis, exclusive, reverse); });
    return;
  }
  const bool keep = Below(2) == 0;
  const bool sum = Below(2) == 0;
  // Opset 18: axes are an input of all.
  const std::string op = sum ? "ReduceSum" : Below(2) == 0 ? "ReduceMax" : "ReduceMin";
  Add(x,
      absl::StrCat(op, "<keepdims=", keep ? 1 : 0, ">(", x.name, ", ",
                   List({static_cast<int64_t>(axis)}), ")"),
      keep ? x.rank : x.rank - 1, [=](const Array& a) { return Reduced(a, axis, op, keep); });
}

void Chain::Select(const Value& x) {
  const auto places = [](const Array& a) {
    Ints found;
    for (size_t i = 0; i < a.data.size(); ++i) {
      if (a.data[i] != 0) found.push_back(static_cast<int64_t>(i));
    }
    return found;
  };
  if (Below(2) == 0) {
    Add(x, absl::StrCat("NonZero(", x.name, ")"), 2, [=](const Array& a) {
      const Ints found = places(a);
      const auto rank = static_cast<int64_t>(a.dims.size());
      return Make({rank, static_cast<int64_t>(found.size())}, [&](const Ints& index) {
        int64_t left = found[static_cast<size_t>(index[1])], at = 0;
        for (int64_t i = rank - 1; i >= index[0]; --i) {
          at = left % a.dims[static_cast<size_t>(i)];
          left /= a.dims[static_cast<size_t>(i)];
        }
        return at;
      });
    });
    return;
  }
  if (!x.is_bool || x.rank != 1) return;
  const std::string numbers = Node(absl::StrCat("Cast<to=7>(", x.name, ")"));
  Add(x, absl::StrCat("Compress(", numbers, ", ", x.name, ")"), 1, [=](const Array& a) {
    return Array{{static_cast<int64_t>(places(a).size())}, Ints(places(a).size(), 1)};
  });
}

// ---- Comparing

struct Checked {
  int chains = 0, shapes = 0, elements = 0, rules = 0;
};

// Compares what is known with what is computed; what depends on data is not known.
void Compare(const Fact& fact, const Array& actual, const Bindings& sizes, Checked* checked) {
  ASSERT_EQ(fact.shape.rank(), static_cast<int>(actual.dims.size()));
  for (int i = 0; i < fact.shape.rank(); ++i) {
    const auto size = fact.shape[i].Evaluate(sizes);
    if (!size.ok()) return;
    ASSERT_EQ(static_cast<int64_t>(*size), actual.dims[static_cast<size_t>(i)])
        << fact.ToString() << ", axis " << i;
    ++checked->shapes;
  }
  const auto expect = [&](const Scalar& known, const Bindings& at, size_t position) {
    if (!known.is_int()) return;
    const auto value = known.i.Evaluate(at);
    if (!value.ok()) return;
    ASSERT_EQ(static_cast<int64_t>(*value), actual.data[position])
        << known.i.ToString() << " at " << position << " of " << fact.ToString();
    ++checked->elements;
  };
  for (size_t i = 0; fact.has_content() && i < fact.content->size(); ++i) {
    expect((*fact.content)[i], sizes, i);
  }
  if (!fact.has_rule()) return;
  ++checked->rules;
  const std::string rule = fact.rule->i.ToString();
  for (int axis = fact.shape.rank(); axis < kMaxRank; ++axis) {
    ASSERT_EQ(rule.find(IndexSymbol(axis).ToString()), std::string::npos) << fact.ToString();
  }
  size_t position = 0;
  Make(actual.dims, [&](const Ints& index) {
    Bindings at = sizes;
    for (size_t i = 0; i < index.size(); ++i) {
      at[IndexSymbol(static_cast<int>(i)).ToString()] = index[i];
    }
    expect(*fact.rule, at, position++);
    return 0;
  });
}

void CheckChain(uint32_t seed, Checked* checked) {
  Chain chain(seed);
  chain.Build();
  const absl::StatusOr<Inference> inference = Infer(ModelFromText(chain.Text(), kOpset));
  if (absl::IsInvalidArgument(inference.status())) return;  // wrong at any size
  ASSERT_TRUE(inference.ok()) << inference.status() << "\n" << chain.Text();
  ++checked->chains;
  std::map<std::string, const Fact*> facts;
  const Graph& graph = inference->model->graphs[0];
  for (ValueId v = graph.first_value; v < graph.end_value; ++v) {
    facts[std::string(inference->model->value(v).name)] = inference->FactOf(v);
  }
  for (const Bindings& sizes : kSizes) {
    std::map<std::string, Array> arrays = {{"x", {{sizes.at("A"), sizes.at("B")}, {}}}};
    for (const Value& value : chain.values()) {
      Result result = value.evaluate(arrays);
      if (!result.has_value()) continue;
      const Fact* fact = facts.at(value.name);
      ASSERT_NE(fact, nullptr);
      Compare(*fact, *result, sizes, checked);
      arrays[value.name] = *std::move(result);
      if (testing::Test::HasFailure()) FAIL() << value.name << " of " << chain.Text();
    }
  }
}

TEST(ContentTest, AgreesWithTextbookLoops) {
  Checked checked;
  for (uint32_t seed = 0; seed < kChains; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CheckChain(seed, &checked);
    if (HasFailure()) return;  // one chain is enough to read
  }
  // Nothing of this is idle.
  EXPECT_GE(checked.chains, 1000);
  EXPECT_GE(checked.shapes, 50'000);
  EXPECT_GE(checked.elements, 100'000);
  EXPECT_GE(checked.rules, 10'000);
}

// The ends of bags of four, as EmbeddingBag's export has them: all but the last from a Range.
TEST(JoinedTest, OneElementFollowsTheRuleOfTheOthers) {
  for (const char* joined : {"c = Concat<axis=0>(r, end)",
                             "f = Add(r, four) z1 = Unsqueeze(z, zero) "
                             "c = Concat<axis=0>(z1, f)"}) {
    const std::string text = absl::StrCat(
        "g (int64[A,4] x) => (int64[K] y) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = "
        "{2}, int64 z = {0}, int64 four = {4}, int64[1] all = {-1}> { s = Shape(x) n = "
        "ReduceProd<keepdims=0>(s) end = Unsqueeze(n, zero) r = Range(z, n, four) ",
        joined,
        " from = Gather(c, zero) to = Gather(c, one) flat = Reshape(x, all) y = Slice(flat, from, "
        "to, zero) }");
    const Inference inference = Infer(ModelFromText(text, kOpset)).value();
    EXPECT_EQ(inference.FactOf(inference.model->graphs[0].outputs[0])->shape.ToString(), "[4]");
  }
}

// TorchScript's exporter writes axes as they are given.
TEST(TransposeTest, AxesFromTheEndAreCountedAndSaidToBeRefused) {
  const char kText[] = "g (float[A,2,B] x) => (float[A,B,2] y) { y = Transpose<perm=[0,-1,1]>(x) }";
  const Inference inference = Infer(ModelFromText(kText, kOpset)).value();
  EXPECT_EQ(inference.FactOf(inference.model->graphs[0].outputs[0])->shape.ToString(), "[A, B, 2]");
  ASSERT_EQ(inference.warnings.size(), 1U);
  EXPECT_NE(inference.warnings[0].find("which ONNX Runtime refuses"), std::string::npos);
}

struct Formula {
  const char* text;
  const char* output;  // its type, and what is known of its only element
  int opset = kOpset;
};

// By hand, from the definitions of the operators.
constexpr Formula kFormulas[] = {
    {"g (float[1,A] x, float[B] z) => (float[1,C] y) { s = Shape(z) f = Cast<to=1>(s) "
     "h = Constant<value = float[1] {2.0}>() r = Div(f, h) o = Constant<value = float[1] {1.0}>() "
     "c = Concat<axis=0>(o, r) y = Resize(x, , c) }",
     "float32[1, floor(A*B/2)]"},
    // Factors beyond all that has a meaning.
    {"g (float[1,A] x) => (float[1,C] y) { s = Constant<value = float[2] {1.0, 1e-30}>() "
     "y = Resize(x, , s) }",
     "float32[1, resize(n1)]"},
    {"g (float[1,A] x) => (float[1,C] y) { s = Constant<value = float[2] {1.0, 1e30}>() "
     "y = Resize(x, , s) }",
     "float32[1, resize(n1)]"},
    {"g (float[A,3] x) => (float[2,C] y) { s = Constant<value_ints=[2,-1]>() y = Reshape(x, s) }",
     "float32[2, floor(3*A/2)]"},
    {"g (float[A,3] x, int64[2] s) => (float[B,C] y) { y = Reshape(x, s) }",
     "float32[reshape(n0), reshape(n0).1]"},
    // The largest of 0, 1, ... A - 1 is A - 1; of A - 1 numbers there may be none.
    {"g (float[A] x) => (int64 y) { s = Shape(x) n = Squeeze(s) z = Constant<value_int=0>() "
     "o = Constant<value_int=1>() r = Range(z, n, o) y = ReduceMax<keepdims=0>(r) }",
     "int64[] = A - 1"},
    {"g (float[A] x) => (int64 y) { s = Shape(x) n = Squeeze(s) z = Constant<value_int=0>() "
     "o = Constant<value_int=1>() m = Sub(n, o) r = Range(z, m, o) y = ReduceMax<keepdims=0>(r) }",
     "int64[]"},
    {"g (float[A] x) => (int64[1] y) { s = Shape(x) f = Cast<to=1>(s) "
     "h = Constant<value_floats=[2.0]>() t = Constant<value_floats=[4.0]>() a = Div(f, h) "
     "b = Div(f, t) c = Add(a, b) d = Floor(c) e = Cast<to=7>(d) n = Squeeze(e) "
     "z = Constant<value_int=0>() o = Constant<value_int=1>() r = Range(z, n, o) y = Shape(r) }",
     "int64[1] = floor(3*A/4)"},
    // NaN is not equal to itself.
    {"g () => (float[C] y) { z = Constant<value_floats=[0.0]>() o = Constant<value_floats=[1.0]>() "
     "n = Div(z, z) c = Concat<axis=0>(o, n, n) y = Unique(c) }",
     "float32[unique(n4)]"},
    {"g () => (int64 y) { c = Constant<value_ints=[2,3,4]>() z = Constant<value_int=0>() "
     "p = CumProd<exclusive=1>(c, z) y = ReduceSum<keepdims=0>(p) }",
     "int64[] = 9", 26},  // 1 + 2 + 6
    // Wherever it is written, 5 stays 5.
    {"g (int64[2] i) => (int64 y) { d = Constant<value_ints=[5,5,5]>() u = "
     "Constant<value_ints=[5,5]>()"
     " s = ScatterElements(d, i, u) z = Constant<value_int=1>() y = Gather(s, z) }",
     "int64[] = 5"},
};

TEST(ContentTest, FormulasAreThoseByHand) {
  for (const Formula& formula : kFormulas) {
    SCOPED_TRACE(formula.text);
    const Inference inference = Infer(ModelFromText(formula.text, formula.opset)).value();
    const Fact& y = *inference.FactOf(inference.model->graphs[0].outputs[0]);
    std::string text = y.ToString();
    if (y.shape.NumElements() == Expr(1)) {
      const Scalar element = ElementAt(y, 0);
      if (element.is_int()) absl::StrAppend(&text, " = ", element.i.ToString());
    }
    EXPECT_EQ(text, formula.output);
  }
}

TEST(SliceTest, CutsOfUnknownNumberLeaveAllSizesOpen) {
  const char kText[] =
      "g (float[A,9] x, int64[k] s, int64[k] e) => (float[B,C] y) { y = Slice(x, s, e) }";
  const Inference inference = Infer(ModelFromText(kText, kOpset)).value();
  const Fact& y = *inference.FactOf(inference.model->graphs[0].outputs[0]);
  ASSERT_EQ(y.shape.rank(), 2);
  EXPECT_FALSE(y.shape[0].is_literal());
  EXPECT_FALSE(y.shape[1].is_literal());
}

// A scale is the fraction that it stands for, not the float32 beside it: 10 * 0.7 is 7.
TEST(ResizeTest, SizesAreThoseOfTheFraction) {
  for (int hundredths = 5; hundredths < 400; hundredths += 5) {
    const std::string scale = absl::StrCat(hundredths / 100.0);
    const Model model = ModelFromText(
        absl::StrCat("g (float[1,A] x) => (float[1,B] y) { s = Constant<value = float[2] {1.0, ",
                     scale, "}>() y = Resize(x, , s) }"),
        kOpset);
    for (int64_t size = 1; size < 300; size += 7) {
      const Inference inference = Infer(model, {.dims = {{"A", size}}}).value();
      const Fact* y = inference.FactOf(inference.model->graphs[0].outputs[0]);
      ASSERT_EQ(y->shape[1], Expr(size * hundredths / 100)) << size << " * " << scale;
    }
  }
}

}  // namespace
}  // namespace onnxflops::content_test
