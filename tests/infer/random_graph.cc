#include "tests/infer/random_graph.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "tests/infer/random_parts.h"

namespace onnxflops {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::TensorProto;
using random_parts::AddNode;
using random_parts::Body;
using random_parts::Declare;
using random_parts::Int;
using random_parts::IntList;

constexpr int kOpset = 23;
constexpr int kSteps = 12;
constexpr size_t kMaxRankMade = 5;

std::vector<RandomGraph::Dim> Without(std::vector<RandomGraph::Dim> dims, size_t axis) {
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return dims;
}

}  // namespace

// ---- Parts of a model

void RandomGraph::Input(const std::string& name, std::vector<Dim> dims) {
  onnx::ValueInfoProto* input = graph_->add_input();
  Declare(input, name);
  for (const Dim& dim : dims) {
    auto* declared = input->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim();
    if (dim.size >= 0) {
      declared->set_dim_value(dim.size);
    } else {
      declared->set_dim_param(dim.name);
    }
  }
  tensors_.push_back({name, std::move(dims)});
}

std::string RandomGraph::Weight(const std::vector<int64_t>& dims) {
  TensorProto* tensor = graph_->add_initializer();
  tensor->set_name(FreshName());
  tensor->set_data_type(TensorProto::FLOAT);
  int64_t elements = 1;
  for (int64_t dim : dims) {
    tensor->add_dims(dim);
    elements *= dim;
  }
  for (int64_t i = 0; i < elements; ++i) tensor->add_float_data(0.5f);
  return tensor->name();
}

std::string RandomGraph::Ints(const std::vector<int64_t>& values) {
  TensorProto* tensor = graph_->add_initializer();
  tensor->set_name(FreshName());
  tensor->set_data_type(TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (int64_t v : values) tensor->add_int64_data(v);
  return tensor->name();
}

std::string RandomGraph::Index(int64_t value) {
  const std::string name = Ints({value});
  graph_->mutable_initializer(graph_->initializer_size() - 1)->clear_dims();
  return name;
}

std::string RandomGraph::Bool(bool value) {
  TensorProto* tensor = graph_->add_initializer();
  tensor->set_name(FreshName());
  tensor->set_data_type(TensorProto::BOOL);
  tensor->add_int32_data(value ? 1 : 0);
  return tensor->name();
}

std::string RandomGraph::Node(const std::string& op, const std::vector<std::string>& inputs,
                              const Attributes& attributes) {
  onnx::NodeProto* node = graph_->add_node();
  node->set_op_type(op);
  const int number = graph_->node_size();
  node->set_name("/block." + std::to_string(number / 4) + "/part/" + op + "_" +
                 std::to_string(number));
  for (const std::string& input : inputs) node->add_input(input);
  for (const AttributeProto& attribute : attributes) *node->add_attribute() = attribute;
  return *node->add_output() = FreshName();
}

bool RandomGraph::Add(std::string name, std::vector<Dim> dims) {
  tensors_.push_back({std::move(name), std::move(dims)});
  return true;
}

bool RandomGraph::Result(const std::string& op, const std::vector<std::string>& inputs,
                         std::vector<Dim> dims, const Attributes& attributes) {
  return Add(Node(op, inputs, attributes), std::move(dims));
}

std::string RandomGraph::SizeOf(const Tensor& x, size_t axis, bool scalar) {
  const auto index = static_cast<int64_t>(axis);
  return Node("Gather", {Node("Shape", {x.name}), scalar ? Index(index) : Ints({index})});
}

// ---- Elementwise

bool RandomGraph::Unary(const Tensor& x) {
  constexpr const char* kOps[] = {"Relu", "Sigmoid", "Tanh", "Exp",      "Sqrt",
                                  "Erf",  "Neg",     "Elu",  "Softplus", "HardSwish"};
  return Result(kOps[Below(std::size(kOps))], {x.name}, x.dims);
}

constexpr const char* kBinaryOps[] = {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"};

// With a weight of lower rank, and of size 1 along some axes.
bool RandomGraph::Broadcast(const Tensor& x) {
  std::vector<int64_t> dims;
  for (size_t i = Below(x.rank() + 1); i < x.rank(); ++i) {
    dims.push_back(x.dims[i].size >= 0 && Below(2) == 0 ? x.dims[i].size : 1);
  }
  std::vector<std::string> inputs = {x.name, Weight(dims)};
  if (Below(2) == 0) std::swap(inputs[0], inputs[1]);
  return Result(kBinaryOps[Below(std::size(kBinaryOps))], inputs, x.dims);
}

// With another tensor whose sizes are the same, or 1.
bool RandomGraph::SameShape(const Tensor& x) {
  std::vector<const Tensor*> others;
  for (const Tensor& y : tensors_) {
    bool fits = y.rank() <= x.rank();
    for (size_t i = 0; fits && i < y.rank(); ++i) {
      const Dim& dim = y.dims[y.rank() - 1 - i];
      fits = dim.size == 1 || dim == x.dims[x.rank() - 1 - i];
    }
    if (fits) others.push_back(&y);
  }
  const Tensor& y = *others[Below(others.size())];  // x at least
  return Result(kBinaryOps[Below(std::size(kBinaryOps))], {x.name, y.name}, x.dims);
}

bool RandomGraph::Select(const Tensor& x) {
  const std::string limit = Weight({});
  return Result("Where", {Node("Greater", {x.name, limit}), x.name, limit}, x.dims);
}

// ---- Products

bool RandomGraph::MatMul(const Tensor& x) {
  if (x.rank() < 2 || x.dims.back().size < 0) return false;
  const auto n = static_cast<int64_t>(1 + Below(6));
  std::vector<Dim> dims = x.dims;
  dims.back() = {n, ""};
  return Result("MatMul", {x.name, Weight({x.dims.back().size, n})}, dims);
}

// x times itself, transposed.
bool RandomGraph::Scores(const Tensor& x) {
  const size_t rank = x.rank();
  if (rank < 2) return false;
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[rank - 1], perm[rank - 2]);
  const std::string transposed = Node("Transpose", {x.name}, {IntList("perm", perm)});
  std::vector<Dim> dims = x.dims;
  dims[rank - 1] = dims[rank - 2];
  return Result("MatMul", {x.name, transposed}, dims);
}

bool RandomGraph::Gemm(const Tensor& x) {
  if (x.rank() != 2) return false;
  const bool transposed = Below(2) == 0;
  const Dim& rows = x.dims[transposed ? 1 : 0];
  const Dim& k = x.dims[transposed ? 0 : 1];
  if (k.size < 0) return false;
  const auto n = static_cast<int64_t>(1 + Below(6));
  std::vector<std::string> inputs = {x.name, Weight({k.size, n})};
  if (Below(2) == 0) inputs.push_back(Weight({n}));
  return Result("Gemm", inputs, {rows, {n, ""}}, {Int("transA", transposed ? 1 : 0)});
}

// ---- Windows: 3 by 3 with a padding of 1, so that every size stays at least 1

bool RandomGraph::Conv(const Tensor& x) {
  if (x.rank() != 4 || x.dims[1].size < 0) return false;
  const int64_t channels = x.dims[1].size;
  const bool depthwise = Below(3) == 0;
  const int64_t groups = depthwise ? channels : 1;
  const int64_t filters = depthwise ? channels : static_cast<int64_t>(1 + Below(6));
  const auto stride = static_cast<int64_t>(1 + Below(3));
  std::vector<std::string> inputs = {x.name, Weight({filters, channels / groups, 3, 3})};
  if (Below(2) == 0) inputs.push_back(Weight({filters}));
  std::vector<Dim> dims = {x.dims[0], {filters, ""}, x.dims[2], x.dims[3]};
  for (size_t i = 2; stride > 1 && i < 4; ++i) {
    const int64_t size = dims[i].size;
    dims[i] = size < 0 ? FreshDim() : Dim{(size - 1) / stride + 1, ""};
  }
  return Result(
      "Conv", inputs, dims,
      {IntList("pads", {1, 1, 1, 1}), IntList("strides", {stride, stride}), Int("group", groups)});
}

bool RandomGraph::Pool(const Tensor& x) {
  if (x.rank() != 4) return false;
  std::vector<Dim> dims = x.dims;
  for (size_t i = 2; i < 4; ++i) {
    const int64_t size = dims[i].size;
    dims[i] = size < 0 ? FreshDim() : Dim{(size - 1) / 2 + 1, ""};
  }
  return Result(
      Below(2) == 0 ? "MaxPool" : "AveragePool", {x.name}, dims,
      {IntList("kernel_shape", {3, 3}), IntList("pads", {1, 1, 1, 1}), IntList("strides", {2, 2})});
}

bool RandomGraph::GlobalPool(const Tensor& x) {
  if (x.rank() != 4) return false;
  const Dim one = {1, ""};
  return Result(Below(2) == 0 ? "GlobalAveragePool" : "GlobalMaxPool", {x.name},
                {x.dims[0], x.dims[1], one, one});
}

// ---- Reductions and normalizations

bool RandomGraph::BatchNorm(const Tensor& x) {
  if (x.rank() < 3 || x.dims[1].size < 0) return false;
  std::vector<std::string> inputs = {x.name};
  for (int i = 0; i < 4; ++i) inputs.push_back(Weight({x.dims[1].size}));
  return Result("BatchNormalization", inputs, x.dims);
}

bool RandomGraph::Reduce(const Tensor& x) {
  constexpr const char* kOps[] = {"ReduceSum", "ReduceMean",      "ReduceMax",      "ReduceProd",
                                  "ReduceL2",  "ReduceSumSquare", "ReduceLogSumExp"};
  if (x.rank() == 0) return false;
  const size_t axis = Below(x.rank());
  const bool keep = Below(2) == 0;
  std::vector<Dim> dims = x.dims;
  dims[axis] = {1, ""};
  const auto negative = static_cast<int64_t>(axis) - static_cast<int64_t>(x.rank());
  return Result(kOps[Below(std::size(kOps))], {x.name, Ints({negative})},
                keep ? dims : Without(dims, axis), {Int("keepdims", keep ? 1 : 0)});
}

bool RandomGraph::Softmax(const Tensor& x) {
  if (x.rank() == 0) return false;
  return Result(Below(2) == 0 ? "Softmax" : "LogSoftmax", {x.name}, x.dims,
                {Int("axis", static_cast<int64_t>(Below(x.rank())))});
}

bool RandomGraph::LayerNorm(const Tensor& x) {
  if (x.rank() < 2 || x.dims.back().size < 0) return false;
  std::vector<std::string> inputs = {x.name, Weight({x.dims.back().size})};
  if (Below(2) == 0) inputs.push_back(Weight({x.dims.back().size}));
  return Result("LayerNormalization", inputs, x.dims);
}

// ---- Shapes

// Shape -> Gather -> Concat -> Reshape, as exporters write view(n, m, -1).
bool RandomGraph::MergeAxes(const Tensor& x) {
  if (x.rank() < 2) return false;
  std::vector<std::string> sizes;
  std::vector<Dim> dims;
  for (size_t i = 0; i + 2 < x.rank(); ++i) {
    sizes.push_back(SizeOf(x, i, false));
    dims.push_back(x.dims[i]);
  }
  const Dim &a = x.dims[x.rank() - 2], &b = x.dims.back();
  dims.push_back(a.size >= 0 && b.size >= 0 ? Dim{a.size * b.size, ""} : FreshDim());
  if (Below(2) == 0) {
    sizes.push_back(Ints({-1}));
  } else {
    sizes.push_back(Node("Mul", {SizeOf(x, x.rank() - 2, false), SizeOf(x, x.rank() - 1, false)}));
  }
  return Result("Reshape", {x.name, Node("Concat", sizes, {Int("axis", 0)})}, dims);
}

bool RandomGraph::SplitAxis(const Tensor& x) {
  if (x.rank() == 0 || x.rank() >= kMaxRankMade) return false;
  const int64_t last = x.dims.back().size;
  if (last < 2 || last % 2 != 0) return false;
  std::vector<int64_t> target(x.rank() - 1, 0);
  target.insert(target.end(), {Below(2) == 0 ? 2 : -1, last / 2});
  std::vector<Dim> dims = x.dims;
  dims.back() = {2, ""};
  dims.push_back({last / 2, ""});
  return Result("Reshape", {x.name, Ints(target)}, dims);
}

bool RandomGraph::Transpose(const Tensor& x) {
  std::vector<int64_t> perm(x.rank());
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[Below(i)]);
  std::vector<Dim> dims;
  for (int64_t p : perm) dims.push_back(x.dims[static_cast<size_t>(p)]);
  return Result("Transpose", {x.name}, dims, {IntList("perm", perm)});
}

bool RandomGraph::Concat(const Tensor& x) {
  if (x.rank() == 0) return false;
  const size_t axis = Below(x.rank());
  std::vector<Dim> dims = x.dims;
  dims[axis] = dims[axis].size < 0 ? FreshDim() : Dim{dims[axis].size * 2, ""};
  return Result("Concat", {x.name, x.name}, dims, {Int("axis", static_cast<int64_t>(axis))});
}

// Every other element.
bool RandomGraph::Slice(const Tensor& x) {
  if (x.rank() == 0) return false;
  const size_t axis = Below(x.rank());
  std::vector<Dim> dims = x.dims;
  dims[axis] = dims[axis].size < 0 ? FreshDim() : Dim{(dims[axis].size + 1) / 2, ""};
  return Result("Slice",
                {x.name, Ints({0}), Ints({std::numeric_limits<int64_t>::max()}),
                 Ints({static_cast<int64_t>(axis)}), Ints({2})},
                dims);
}

bool RandomGraph::Gather(const Tensor& x) {
  if (x.rank() == 0) return false;
  const size_t axis = Below(x.rank());
  const AttributeProto attribute = Int("axis", static_cast<int64_t>(axis));
  if (Below(2) == 0) {
    return Result("Gather", {x.name, Index(-1)}, Without(x.dims, axis), {attribute});
  }
  std::vector<Dim> dims = x.dims;
  dims[axis] = {3, ""};
  return Result("Gather", {x.name, Ints({0, -1, 0})}, dims, {attribute});
}

bool RandomGraph::Expand(const Tensor& x) {
  if (x.rank() == 0) return false;
  return Result("Expand", {Weight({1}), Node("Shape", {x.name})}, x.dims);
}

bool RandomGraph::Constant(const Tensor& x) {
  if (x.rank() == 0) return false;
  return Result("ConstantOfShape", {Node("Shape", {x.name})}, x.dims);
}

// ---- Bodies

// One branch does what the other does and more, so that the larger one is the same at every size.
bool RandomGraph::If(const Tensor& x) {
  GraphProto branches[2];
  for (GraphProto& branch : branches) {
    branch.set_name(FreshName());
    const std::string y = FreshName();
    AddNode(&branch, "Relu", {x.name}, y);
    Declare(branch.add_output(), y);
  }
  const std::string z = FreshName();
  AddNode(&branches[1], "Sigmoid", {branches[1].output(0).name()}, z);
  branches[1].mutable_output(0)->set_name(z);
  if (Below(2) == 0) std::swap(branches[0], branches[1]);
  const std::string condition = Below(2) == 0 ? "flag" : Bool(Below(2) == 0);
  return Result("If", {condition}, x.dims,
                {Body("then_branch", branches[0]), Body("else_branch", branches[1])});
}

// x carried through as many trips as an axis of x is long.
bool RandomGraph::Loop(const Tensor& x) {
  if (x.rank() == 0) return false;
  GraphProto body;
  body.set_name(FreshName());
  const std::string trip = FreshName(), go = FreshName(), state = FreshName();
  Declare(body.add_input(), trip, TensorProto::INT64);
  Declare(body.add_input(), go, TensorProto::BOOL);
  Declare(body.add_input(), state);
  const std::string still = FreshName(), next = FreshName();
  AddNode(&body, "Identity", {go}, still);
  AddNode(&body, Below(2) == 0 ? "Mul" : "Add", {state, Weight({})}, next);
  Declare(body.add_output(), still, TensorProto::BOOL);
  Declare(body.add_output(), next);
  const std::string trips = Below(3) == 0 ? Index(3) : SizeOf(x, Below(x.rank()), true);
  return Result("Loop", {trips, Below(2) == 0 ? "" : Bool(true), x.name}, x.dims,
                {Body("body", body)});
}

// Along the first axis, with a sum as state; the elements come out again.
bool RandomGraph::Scan(const Tensor& x) {
  if (x.rank() < 2) return false;
  GraphProto body;
  body.set_name(FreshName());
  const std::string state = FreshName(), element = FreshName();
  Declare(body.add_input(), state);
  Declare(body.add_input(), element);
  const std::string next = FreshName(), y = FreshName();
  AddNode(&body, "Tanh", {state}, next);
  AddNode(&body, "Add", {element, state}, y);
  Declare(body.add_output(), next);
  Declare(body.add_output(), y);
  Node("Scan", {Weight({}), x.name}, {Body("body", body), Int("num_scan_inputs", 1)});
  const std::string elements = FreshName();
  graph_->mutable_node(graph_->node_size() - 1)->add_output(elements);
  return Add(elements, x.dims);
}

// ---- The model

struct RandomGraph::Family {
  const char* name;
  bool (RandomGraph::*apply)(const Tensor&);
};

const RandomGraph::Family RandomGraph::kFamilies[] = {
    {"Unary", &RandomGraph::Unary},
    {"Broadcast", &RandomGraph::Broadcast},
    {"SameShape", &RandomGraph::SameShape},
    {"Select", &RandomGraph::Select},
    {"MatMul", &RandomGraph::MatMul},
    {"Scores", &RandomGraph::Scores},
    {"Gemm", &RandomGraph::Gemm},
    {"Conv", &RandomGraph::Conv},
    {"Pool", &RandomGraph::Pool},
    {"GlobalPool", &RandomGraph::GlobalPool},
    {"BatchNorm", &RandomGraph::BatchNorm},
    {"Reduce", &RandomGraph::Reduce},
    {"Softmax", &RandomGraph::Softmax},
    {"LayerNorm", &RandomGraph::LayerNorm},
    {"MergeAxes", &RandomGraph::MergeAxes},
    {"SplitAxis", &RandomGraph::SplitAxis},
    {"Transpose", &RandomGraph::Transpose},
    {"Concat", &RandomGraph::Concat},
    {"Slice", &RandomGraph::Slice},
    {"Gather", &RandomGraph::Gather},
    {"Expand", &RandomGraph::Expand},
    {"Constant", &RandomGraph::Constant},
    {"If", &RandomGraph::If},
    {"Loop", &RandomGraph::Loop},
    {"Scan", &RandomGraph::Scan},
    {"Attention", &RandomGraph::Attention},
    {"Norm", &RandomGraph::Norm},
    {"QuantizePair", &RandomGraph::QuantizePair},
    {"IntegerProduct", &RandomGraph::IntegerProduct},
    {"QLinearProduct", &RandomGraph::QLinearProduct},
    {"Recurrent", &RandomGraph::Recurrent},
    {"Einsum", &RandomGraph::Einsum},
    {"ConvTranspose", &RandomGraph::ConvTranspose},
    {"Resize", &RandomGraph::Resize},
    {"TopK", &RandomGraph::TopK},
    {"Running", &RandomGraph::Running},
    {"Function", &RandomGraph::Function},
    {"Nested", &RandomGraph::Nested},
    {"Stacked", &RandomGraph::Stacked},
    {"Growing", &RandomGraph::Growing},
    {"Ones", &RandomGraph::Ones},
};

onnx::ModelProto RandomGraph::Build() {
  model_.set_ir_version(10);
  model_.add_opset_import()->set_version(kOpset);
  auto* local = model_.add_opset_import();
  local->set_domain("local");
  local->set_version(1);
  AddFunctions();
  graph_ = model_.mutable_graph();
  graph_->set_name("random");
  Input("tokens", {{-1, "batch"}, {-1, "seq"}, {8, ""}});
  Input("image", {{-1, "batch"}, {3, ""}, {-1, "height"}, {-1, "width"}});
  Input("table", {{-1, "batch"}, {12, ""}});
  Declare(graph_->add_input(), "flag", TensorProto::BOOL);
  graph_->mutable_input(3)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int done = 0; done < kSteps;) {
    // Mostly the newest, so that chains grow.
    const size_t back = std::min(Below(3) == 0 ? Below(tensors_.size()) : 0, tensors_.size() - 1);
    const Tensor x = tensors_[tensors_.size() - 1 - back];
    const Family& family = kFamilies[Below(std::size(kFamilies))];
    if (!(this->*family.apply)(x)) continue;
    ++families_[family.name];
    ++done;
  }
  for (size_t i = 3; i < tensors_.size(); ++i) Declare(graph_->add_output(), tensors_[i].name);
  return model_;
}

}  // namespace onnxflops
