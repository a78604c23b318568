// How tensors lie in memory: chains of views and element-wise operators at random, against tensors
// of which the address of each element is written down.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/convention/torch/trace.h"
#include "tests/convention/torch_figures.h"
#include "tests/convention/torch_maker.h"

namespace onnxflops::convention {
namespace {

using Sizes = std::vector<int64_t>;

// A tensor whose element i, in the order of indices, is at address at[i].
struct Tensor {
  std::string name;
  Sizes sizes;
  std::vector<int64_t> at;
  bool sure = true;  // the file tells where it lies

  int rank() const { return static_cast<int>(sizes.size()); }
  int64_t elements() const {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  }
  bool is_sure() const { return sure || elements() == 1; }
  bool IsInOrder() const {
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] != at[0] + static_cast<int64_t>(i)) return false;
    }
    return true;
  }
  // Each address between the first and the last belongs to one element.
  bool IsDense() const {
    std::vector<int64_t> sorted = at;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i] != sorted[0] + static_cast<int64_t>(i)) return false;
    }
    return true;
  }
};

std::vector<int64_t> Steps(const Sizes& sizes) {
  std::vector<int64_t> steps(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) steps[i - 1] = steps[i] * sizes[i];
  return steps;
}

// Its index along one dimension, of element i.
int64_t IndexOf(const Sizes& sizes, int64_t i, size_t dim) {
  return i / Steps(sizes)[dim] % sizes[dim];
}

Tensor InOrder(std::string name, Sizes sizes, bool sure) {
  Tensor x{std::move(name), std::move(sizes), {}, sure};
  x.at.resize(static_cast<size_t>(x.elements()));
  std::iota(x.at.begin(), x.at.end(), 0);
  return x;
}

// Distances in memory of neighbours along each dimension, 0 along those of one element; nullopt if
// there are no such.
std::optional<Sizes> StridesOf(const Sizes& sizes, const std::vector<int64_t>& at) {
  const Sizes steps = Steps(sizes);
  Sizes strides;
  for (size_t d = 0; d < sizes.size(); ++d) {
    strides.push_back(sizes[d] == 1 ? 0 : at[static_cast<size_t>(steps[d])] - at[0]);
  }
  for (size_t i = 0; i < at.size(); ++i) {
    int64_t address = at[0];
    for (size_t d = 0; d < sizes.size(); ++d) {
      address += strides[d] * IndexOf(sizes, static_cast<int64_t>(i), d);
    }
    if (address != at[i]) return std::nullopt;
  }
  return strides;
}

// The elements of x at `of(index)`, for each index of `sizes`.
template <typename Of>
Tensor Picked(const Tensor& x, const Sizes& sizes, const Of& of) {
  Tensor y = InOrder("", sizes, x.is_sure());
  for (size_t i = 0; i < y.at.size(); ++i) {
    Sizes index;
    for (size_t d = 0; d < sizes.size(); ++d) {
      index.push_back(IndexOf(sizes, static_cast<int64_t>(i), d));
    }
    const Sizes from = of(index), steps = Steps(x.sizes);
    y.at[i] = x.at[static_cast<size_t>(
        std::inner_product(from.begin(), from.end(), steps.begin(), int64_t{0}))];
  }
  return y;
}

Tensor Permuted(const Tensor& x, const Sizes& perm) {
  Sizes sizes;
  for (int64_t axis : perm) sizes.push_back(x.sizes[static_cast<size_t>(axis)]);
  return Picked(x, sizes, [&](const Sizes& index) {
    Sizes from(index.size());
    for (size_t d = 0; d < perm.size(); ++d) from[static_cast<size_t>(perm[d])] = index[d];
    return from;
  });
}

// A view where one set of strides gives the same addresses, or else a copy.
Tensor Reshaped(const Tensor& x, const Sizes& sizes) {
  Tensor y = InOrder("", sizes, x.is_sure());
  if (StridesOf(sizes, x.at).has_value()) y.at = x.at;
  return y;
}

Tensor Expanded(const Tensor& x, const Sizes& sizes) {
  return Picked(x, sizes, [&](const Sizes& index) {
    Sizes from(index.end() - x.rank(), index.end());
    for (size_t d = 0; d < from.size(); ++d) from[d] = x.sizes[d] == 1 ? 0 : from[d];
    return from;
  });
}

// PyTorch: the result's dimensions stand in memory as those of the operands do, the first one that
// tells decides, and there are no gaps. nullopt where no operand tells of some pair.
std::optional<Tensor> Iterated(const std::vector<Tensor>& operands, const Sizes& sizes) {
  const auto each = [&](bool (*is)(const Tensor&)) {
    return std::all_of(operands.begin(), operands.end(), is);
  };
  Tensor y = InOrder("", sizes, each([](const Tensor& x) { return x.is_sure(); }));
  if (each([](const Tensor& x) { return x.IsInOrder(); })) return y;
  std::vector<size_t> dims;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1) dims.push_back(d);
  }
  std::vector<Sizes> strides;
  for (const Tensor& x : operands) {
    strides.push_back(StridesOf(sizes, Expanded(x, sizes).at).value());
  }
  const auto is_outer = [&](size_t a, size_t b) -> std::optional<bool> {
    for (const Sizes& s : strides) {
      if (s[a] != 0 && s[b] != 0 && s[a] != s[b]) return s[a] > s[b];
      if (s[a] != 0 && s[a] == s[b]) return std::nullopt;
    }
    return std::nullopt;
  };
  Sizes order(sizes.size(), 0);  // how many dimensions are outside of each
  for (size_t a : dims) {
    for (size_t b : dims) {
      if (a == b) continue;
      if (!is_outer(a, b).has_value()) return std::nullopt;
      order[b] += *is_outer(a, b) ? 1 : 0;
    }
  }
  std::sort(dims.begin(), dims.end(), [&](size_t a, size_t b) { return order[a] < order[b]; });
  for (size_t i = 0; i < dims.size(); ++i) {
    if (order[dims[i]] != static_cast<int64_t>(i)) return std::nullopt;  // no order at all
  }
  std::fill(y.at.begin(), y.at.end(), 0);
  for (size_t d : dims) {
    for (size_t i = 0; i < y.at.size(); ++i) {
      y.at[i] = y.at[i] * sizes[d] + IndexOf(sizes, static_cast<int64_t>(i), d);
    }
  }
  return y;
}

// A program, and a linear layer on each tensor of it.
class Program {
 public:
  explicit Program(unsigned seed) : random_(seed) {}

  void Run(int steps) {
    static constexpr void (Program::*kSteps[])() = {
        &Program::Permute, &Program::Reshape, &Program::Slice,  &Program::Select,
        &Program::Expand,  &Program::Unary,   &Program::Binary, &Program::Squeeze,
        &Program::Split,   &Program::Copy,    &Program::Steps2, &Program::Permute,
        &Program::Opaque,  &Program::Flatten, &Program::Gather, &Program::Binary};
    AddInput();
    AddInput();
    for (int i = 0; i < steps; ++i) (this->*kSteps[Below(std::size(kSteps))])();
  }

  void ExpectLayouts() {
    const Model model = make_.Load().value();
    const Inference inference = Infer(model).value();
    const Counts counts = Count(inference).value();
    Evidence evidence(inference, counts);
    size_t i = 0;
    for (const TorchCall& call : evidence.torch_trace().calls) {
      if (call.op != Aten::kLinear) continue;
      ASSERT_LT(i, wanted_.size());
      EXPECT_EQ(call.is_contiguous.key(), wanted_[i].first) << text_ << "at " << wanted_[i].second;
      ++i;
    }
    EXPECT_EQ(i, wanted_.size());
  }

 private:
  size_t Below(size_t n) { return random_() % n; }
  std::string Name(const char* op) { return absl::StrCat(op, "_", ++number_); }

  Tensor Any() {
    return tensors_[tensors_.size() - 1 - Below(std::min<size_t>(tensors_.size(), 3))];
  }

  void AddInput() {
    Sizes sizes(1 + Below(5));
    for (int64_t& size : sizes) size = static_cast<int64_t>(1 + Below(4));
    const bool is_image = sizes.size() > 3;  // which may have its channels last
    const bool lies_in_one_way =
        is_image && (sizes[1] == 1 || std::all_of(sizes.begin() + 2, sizes.end(),
                                                  [](int64_t size) { return size == 1; }));
    ModelMaker::Strings dims;
    for (int64_t size : sizes) dims.push_back(std::to_string(size));
    Tensor x = InOrder(Name("x"), sizes, !is_image || lies_in_one_way);
    make_.Input(x.name, dims);
    Add(std::move(x));
  }

  // A linear layer on it, and what is to be known of its operand.
  void Add(Tensor x, bool reads_copy = false) {
    absl::StrAppend(&text_, x.name, " ", x.is_sure() ? "" : "?", "\n");
    if (x.rank() > 0) {
      const std::string name = Name("linear"), w = "w" + name, b = "b" + name;
      make_.Weight(w, {x.sizes.back(), 2}).Weight(b, {2});
      const std::string args = absl::StrCat(reads_copy ? "%clone" : "%x", ", %p_w, %p_b");
      make_.Node(name, "MatMul", {x.name, w}, {"y" + name});
      make_.From(kNet, name, args);
      make_.Node(name + "+", "Add", {"y" + name, b}, {name});
      make_.From(kNet, name, args);
      // What was copied may lie as its copy does, or not.
      const bool unknown = reads_copy && !(x.is_sure() && x.IsInOrder());
      const bool in_order = unknown || x.IsInOrder();
      const bool stated = !unknown && x.is_sure();
      const auto key = stated ? OpenFact<bool>::Stated(in_order) : OpenFact<bool>(in_order);
      wanted_.emplace_back(key.key(), x.name);
    }
    if (!reads_copy) tensors_.push_back(std::move(x));
  }

  std::string Ints(const Sizes& values, bool is_scalar = false) {
    const std::string name = Name("c");
    make_.Weight(name, is_scalar ? Sizes{} : Sizes{static_cast<int64_t>(values.size())},
                 onnx::TensorProto::INT64);
    onnx::TensorProto* tensor = make_.proto.mutable_graph()->mutable_initializer(
        make_.proto.graph().initializer_size() - 1);
    tensor->set_data_location(onnx::TensorProto::DEFAULT);
    for (int64_t value : values) tensor->add_int64_data(value);
    return name;
  }

  // A node that is a call of its own, or no call at all where `aten` is empty.
  void Node(const char* aten, const char* type, const ModelMaker::Strings& inputs, Tensor y,
            const char* arg = "%x") {
    y.name = Name(*aten == '\0' ? "value" : aten);
    make_.Node(y.name, type, inputs, {y.name});
    if (*aten != '\0') make_.From(kNet, y.name, arg);
    absl::StrAppend(&text_, type, "(", inputs[0], inputs.size() > 1 ? ", " + inputs[1] : "", ") ");
    Add(std::move(y));
  }

  void Permute() {
    const Tensor x = Any();
    Sizes perm(x.sizes.size());
    std::iota(perm.begin(), perm.end(), 0);
    const bool reverses = Below(4) == 0;  // what ONNX does without "perm"
    if (reverses) std::reverse(perm.begin(), perm.end());
    if (!reverses) std::shuffle(perm.begin(), perm.end(), random_);
    Node(Below(2) == 0 ? "permute" : "", "Transpose", {x.name}, Permuted(x, perm));
    if (!reverses) SetInts("perm", perm);
  }
  // Of the node before the linear layer on its result.
  onnx::NodeProto* Maker() {
    const std::string& name = tensors_.back().name;
    for (onnx::NodeProto& node : *make_.proto.mutable_graph()->mutable_node()) {
      if (node.name() == name) return &node;
    }
    return nullptr;
  }
  void SetInts(const char* name, const Sizes& values) {
    onnx::AttributeProto* a = Maker()->add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::INTS);
    for (int64_t value : values) a->add_ints(value);
  }
  void SetInt(const char* name, int64_t value) {
    onnx::AttributeProto* a = Maker()->add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::INT);
    a->set_i(value);
  }

  // As many elements in other dimensions.
  Sizes OtherSizes(int64_t elements) {
    Sizes sizes;
    for (int64_t divisor : {2, 3, 2, 5}) {
      if (sizes.size() < 4 && elements % divisor == 0 && Below(2) == 0) {
        sizes.push_back(divisor);
        elements /= divisor;
      }
    }
    sizes.push_back(elements);
    if (Below(3) == 0) sizes.push_back(1);
    std::shuffle(sizes.begin(), sizes.end(), random_);
    return sizes;
  }
  void Reshape() {
    const Tensor x = Any();
    const Sizes sizes = OtherSizes(x.elements());
    if (Below(4) != 0) {
      Node("reshape", "Reshape", {x.name, Ints(sizes)}, Reshaped(x, sizes));
      return;
    }
    // The file lacks the copy before it. Only where no view is possible its result is told.
    Tensor y = InOrder("", sizes, false);
    const bool kept = x.is_sure() && x.IsInOrder();
    y.sure = kept || (x.is_sure() && x.IsDense() && !StridesOf(sizes, x.at).has_value());
    Node("view", "Reshape", {x.name, Ints(sizes)}, std::move(y), "%clone");
  }
  void Flatten() {
    const Tensor x = Any();
    const size_t axis = Below(x.sizes.size() + 1);
    const auto middle = x.sizes.begin() + static_cast<std::ptrdiff_t>(axis);
    const auto product = [](auto begin, auto end) {
      return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
    };
    const Sizes sizes = {product(x.sizes.begin(), middle), product(middle, x.sizes.end())};
    Node("flatten", "Flatten", {x.name}, Reshaped(x, sizes));
    SetInt("axis", static_cast<int64_t>(axis));
  }
  void Squeeze() {
    const Tensor x = Any();
    Sizes sizes = x.sizes;
    const auto one = std::find(sizes.begin(), sizes.end(), 1);
    const int64_t at =
        one == sizes.end() ? static_cast<int64_t>(Below(sizes.size() + 1)) : one - sizes.begin();
    const char* type = one == sizes.end() ? "Unsqueeze" : "Squeeze";
    if (one == sizes.end()) sizes.insert(sizes.begin() + at, 1);
    if (*type == 'S') sizes.erase(one);
    Node(*type == 'S' ? "squeeze" : "unsqueeze", type, {x.name, Ints({at})}, Reshaped(x, sizes));
  }

  // [begin, end) of one dimension.
  static Tensor Part(const Tensor& x, size_t dim, int64_t begin, int64_t end) {
    Sizes sizes = x.sizes;
    sizes[dim] = end - begin;
    return Picked(x, sizes, [&](Sizes index) {
      index[dim] += begin;
      return index;
    });
  }
  void Slice() {
    const Tensor x = Any();
    if (x.rank() == 0) return;
    const size_t dim = Below(x.sizes.size());
    const int64_t begin = static_cast<int64_t>(Below(static_cast<size_t>(x.sizes[dim])));
    ModelMaker::Strings inputs = {x.name, Ints({begin}), Ints({x.sizes[dim]}),
                                  Ints({static_cast<int64_t>(dim)})};
    if (Below(2) == 0) inputs.push_back(Ints({1}));
    Node("slice", "Slice", inputs, Part(x, dim, begin, x.sizes[dim]));
  }
  // Each second element: not followed.
  void Steps2() {
    const Tensor x = Any();
    if (x.rank() == 0) return;
    Sizes sizes = x.sizes;
    sizes[0] = (sizes[0] + 1) / 2;
    Node("slice", "Slice", {x.name, Ints({0}), Ints({x.sizes[0]}), Ints({0}), Ints({2})},
         InOrder("", sizes, false));
  }
  // Of a node that says nothing of its call.
  void Split() {
    const Tensor x = Any();
    if (x.rank() == 0) return;
    const size_t dim = Below(x.sizes.size());
    if (x.sizes[dim] < 2) return;
    const std::string a = Name("split"), b = Name("split");
    make_.Node(a, "Split", {x.name, Ints({1, x.sizes[dim] - 1})}, {a, b},
               {{"axis", static_cast<int64_t>(dim)}});
    for (const bool first : {true, false}) {
      Tensor part = Part(x, dim, first ? 0 : 1, first ? 1 : x.sizes[dim]);
      part.name = first ? a : b;
      absl::StrAppend(&text_, "Split(", x.name, ") ");
      Add(std::move(part));
    }
  }
  void Select() {
    const Tensor x = Any();
    if (x.rank() == 0) return;
    const size_t dim = Below(x.sizes.size());
    const int64_t at = static_cast<int64_t>(Below(static_cast<size_t>(x.sizes[dim])));
    Sizes sizes = x.sizes;
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
    Tensor y = Picked(x, sizes, [&](Sizes index) {
      index.insert(index.begin() + static_cast<std::ptrdiff_t>(dim), at);
      return index;
    });
    Node("select", "Gather", {x.name, Ints({at}, true)}, std::move(y));
    const int64_t axis = static_cast<int64_t>(dim);
    if (axis != 0 || Below(2) == 0) SetInt("axis", Below(2) == 0 ? axis : axis - x.rank());
  }
  // A list of indices copies.
  void Gather() {
    const Tensor x = Any();
    if (x.rank() == 0) return;
    Sizes sizes = x.sizes;
    sizes[0] = 2;
    Node("select", "Gather", {x.name, Ints({0, 0})}, InOrder("", sizes, false));
  }
  void Expand() {
    const Tensor x = Any();
    Sizes sizes = x.sizes;
    for (int64_t& size : sizes) {
      if (size == 1 && Below(2) == 0) size = 3;
    }
    if (sizes.size() < 4 && Below(2) == 0) sizes.insert(sizes.begin(), 2);
    Node("expand", "Expand", {x.name, Ints(sizes)}, Expanded(x, sizes));
  }

  void Unary() {
    const Tensor x = Any();
    if (std::optional<Tensor> y = Iterated({x}, x.sizes)) Node("relu", "Relu", {x.name}, *y);
  }
  void Binary() {
    const Tensor a = Any(), b = Any();
    Sizes sizes = a.rank() < b.rank() ? b.sizes : a.sizes;
    const Tensor& small = a.rank() < b.rank() ? a : b;
    for (size_t i = 0; i < small.sizes.size(); ++i) {
      int64_t& size = sizes[sizes.size() - small.sizes.size() + i];
      if (size != small.sizes[i] && size != 1 && small.sizes[i] != 1) return;
      size = std::max(size, small.sizes[i]);
    }
    if (std::optional<Tensor> y = Iterated({a, b}, sizes)) {
      Node("add", "Add", {a.name, b.name}, *y);
    }
  }
  // In order, or as its input lies: not told, except where that is in order.
  void Copy() {
    const Tensor x = Any();
    Node("clone", "Identity", {x.name}, InOrder("", x.sizes, x.is_sure() && x.IsInOrder()));
    Add(x, true);
  }
  // Nodes of one call that is no view: the last gives what the call gives, of the first nothing is
  // known.
  void Opaque() {
    const Tensor x = Any();
    const std::string name = Name("sum");
    std::vector<Tensor> parts;
    for (const bool last : {false, true}) {
      Sizes sizes = x.sizes;
      if (!last) std::reverse(sizes.begin(), sizes.end());
      Tensor y = InOrder(last ? name : name + "part", sizes, last);
      make_.Node(y.name, "Transpose", {last ? name + "part" : x.name}, {y.name});
      make_.From(kNet, name, "%x");
      parts.push_back(std::move(y));
    }
    for (Tensor& y : parts) Add(std::move(y));
  }

  std::mt19937 random_;
  TorchMaker make_;
  std::vector<Tensor> tensors_;
  std::vector<std::pair<int32_t, std::string>> wanted_;
  std::string text_;
  int number_ = 0;
};

TEST(LayoutTest, OfChainsOfOperatorsIsThatOfTheirAddresses) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    Program program(seed);
    program.Run(12);
    program.ExpectLayouts();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace onnxflops::convention
