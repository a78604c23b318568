// The families of larger operators: attention, recurrences, quantised products, local functions and
// bodies in bodies.
#include <cstddef>
#include <utility>

#include "tests/infer/random_graph.h"
#include "tests/infer/random_parts.h"

namespace onnxflops {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::TensorProto;
using random_parts::AddNode;
using random_parts::Body;
using random_parts::Declare;
using random_parts::Float;
using random_parts::Int;
using random_parts::IntList;
using random_parts::String;

// A function of the model: y = f(x), its nodes added by the caller.
onnx::FunctionProto* AddFunction(const std::string& name, int64_t opset, onnx::ModelProto* model) {
  onnx::FunctionProto* function = model->add_functions();
  function->set_domain("local");
  function->set_name(name);
  function->add_input("x");
  function->add_output("y");
  function->add_opset_import()->set_version(opset);
  auto* local = function->add_opset_import();
  local->set_domain("local");
  local->set_version(1);
  return function;
}

onnx::NodeProto* FunctionNode(onnx::FunctionProto* function, const std::string& op,
                              const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto* node = function->add_node();
  node->set_op_type(op);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  return node;
}

}  // namespace

// ---- Attention and normalizations

bool RandomGraph::Attention(const Tensor& x) {
  if (x.rank() != 3 || x.dims[2].size < 2 || x.dims[2].size % 2 != 0) return false;
  const int64_t heads = Below(2) == 0 ? 2 : 1;
  Attributes attributes = {Int("q_num_heads", heads), Int("kv_num_heads", heads),
                           Int("is_causal", static_cast<int64_t>(Below(2)))};
  if (Below(2) == 0) attributes.push_back(Float("scale", 0.5f));
  if (Below(3) == 0) attributes.push_back(Float("softcap", 2));
  return Result("Attention", {x.name, x.name, x.name}, x.dims, attributes);
}

bool RandomGraph::Norm(const Tensor& x) {
  if (x.rank() < 2) return false;
  const int64_t channels = x.dims[1].size, last = x.dims.back().size;
  const size_t kind = Below(4);
  if (kind == 0) {
    return last > 0 && Result("RMSNormalization", {x.name, Weight({last})}, x.dims);
  }
  if (kind == 1) {
    return Result("LpNormalization", {x.name}, x.dims,
                  {Int("p", static_cast<int64_t>(1 + Below(2)))});
  }
  if (x.rank() < 3 || channels < 1) return false;
  const std::vector<std::string> inputs = {x.name, Weight({channels}), Weight({channels})};
  if (kind == 2) return Result("InstanceNormalization", inputs, x.dims);
  return Result("GroupNormalization", inputs, x.dims,
                {Int("num_groups", channels % 2 == 0 ? 2 : 1)});
}

// ---- Quantised operators

std::string RandomGraph::Bytes(int type, const std::vector<int64_t>& dims) {
  TensorProto* tensor = graph_->add_initializer();
  tensor->set_name(FreshName());
  tensor->set_data_type(type);
  int64_t elements = 1;
  for (int64_t dim : dims) {
    tensor->add_dims(dim);
    elements *= dim;
  }
  for (int64_t i = 0; i < elements; ++i) tensor->add_int32_data(3);
  return tensor->name();
}

std::string RandomGraph::Quantized(const Tensor& x) {
  return Node("QuantizeLinear", {x.name, Weight({}), Bytes(TensorProto::UINT8, {})});
}

bool RandomGraph::QuantizePair(const Tensor& x) {
  std::vector<std::string> inputs = {Quantized(x), Weight({})};
  if (Below(2) == 0) inputs.push_back(Bytes(TensorProto::UINT8, {}));
  return Result("DequantizeLinear", inputs, x.dims);
}

bool RandomGraph::IntegerProduct(const Tensor& x) {
  if (x.rank() < 2 || x.dims.back().size < 0) return false;
  const auto n = static_cast<int64_t>(1 + Below(6));
  std::vector<std::string> inputs = {Quantized(x),
                                     Bytes(TensorProto::INT8, {x.dims.back().size, n})};
  if (Below(2) == 0) inputs.push_back(Bytes(TensorProto::UINT8, {}));
  std::vector<Dim> dims = x.dims;
  dims.back() = {n, ""};
  const std::string sum = Node("MatMulInteger", inputs);
  return Result("Cast", {sum}, dims, {Int("to", TensorProto::FLOAT)});
}

bool RandomGraph::QLinearProduct(const Tensor& x) {
  if (x.rank() < 2 || x.dims.back().size < 0) return false;
  const auto n = static_cast<int64_t>(1 + Below(6));
  const std::string scale = Weight({}), point = Bytes(TensorProto::UINT8, {});
  const std::string weight = Bytes(TensorProto::UINT8, {x.dims.back().size, n});
  std::vector<Dim> dims = x.dims;
  dims.back() = {n, ""};
  const std::string y =
      Node("QLinearMatMul", {Quantized(x), scale, point, weight, scale, point, scale, point});
  return Result("DequantizeLinear", {y, scale, point}, dims);
}

// ---- Recurrences: x as [steps, batch, input]

bool RandomGraph::Recurrent(const Tensor& x) {
  if (x.rank() != 3 || x.dims[2].size < 0) return false;
  constexpr struct {
    const char* op;
    int64_t gates;
  } kOps[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};
  const auto& kind = kOps[Below(std::size(kOps))];
  const auto hidden = static_cast<int64_t>(1 + Below(4));
  const int64_t directions = Below(2) == 0 ? 2 : 1, gates = kind.gates * hidden;
  std::vector<std::string> inputs = {x.name, Weight({directions, gates, x.dims[2].size}),
                                     Weight({directions, gates, hidden})};
  if (Below(2) == 0) inputs.push_back(Weight({directions, 2 * gates}));
  Attributes attributes = {Int("hidden_size", hidden)};
  if (directions == 2) attributes.push_back(String("direction", "bidirectional"));
  return Result(kind.op, inputs, {x.dims[0], {directions, ""}, x.dims[1], {hidden, ""}},
                attributes);
}

// ---- Others

bool RandomGraph::Einsum(const Tensor& x) {
  if (x.rank() < 2 || x.dims.back().size < 0) return false;
  std::vector<Dim> dims = x.dims;
  if (x.rank() == 3 && Below(2) == 0) {
    dims[2] = dims[1];
    return Result("Einsum", {x.name, x.name}, dims, {String("equation", "bsd,btd->bst")});
  }
  const auto n = static_cast<int64_t>(1 + Below(6));
  dims.back() = {n, ""};
  return Result("Einsum", {x.name, Weight({x.dims.back().size, n})}, dims,
                {String("equation", "...d,de->...e")});
}

bool RandomGraph::ConvTranspose(const Tensor& x) {
  if (x.rank() != 4 || x.dims[1].size < 0) return false;
  const auto filters = static_cast<int64_t>(1 + Below(4));
  std::vector<std::string> inputs = {x.name, Weight({x.dims[1].size, filters, 2, 2})};
  if (Below(2) == 0) inputs.push_back(Weight({filters}));
  std::vector<Dim> dims = {x.dims[0], {filters, ""}, x.dims[2], x.dims[3]};
  for (size_t i = 2; i < 4; ++i) {
    dims[i] = dims[i].size < 0 ? FreshDim() : Dim{dims[i].size * 2, ""};
  }
  return Result("ConvTranspose", inputs, dims, {IntList("strides", {2, 2})});
}

// To twice the size, as a shape that the graph works out.
bool RandomGraph::Resize(const Tensor& x) {
  if (x.rank() != 4) return false;
  std::vector<std::string> sizes = {SizeOf(x, 0, false), SizeOf(x, 1, false)};
  std::vector<Dim> dims = x.dims;
  for (size_t i = 2; i < 4; ++i) {
    sizes.push_back(Node("Mul", {SizeOf(x, i, false), Ints({2})}));
    dims[i] = dims[i].size < 0 ? FreshDim() : Dim{dims[i].size * 2, ""};
  }
  const std::string target = Node("Concat", sizes, {Int("axis", 0)});
  return Result("Resize", {x.name, "", "", target}, dims,
                {String("mode", Below(2) == 0 ? "nearest" : "linear")});
}

bool RandomGraph::TopK(const Tensor& x) {
  if (x.rank() == 0) return false;
  const size_t axis = Below(x.rank());
  std::vector<Dim> dims = x.dims;
  dims[axis] = {1, ""};
  const std::string best =
      Node("TopK", {x.name, Ints({1})}, {Int("axis", static_cast<int64_t>(axis))});
  graph_->mutable_node(graph_->node_size() - 1)->add_output(FreshName());  // the places
  return Add(best, dims);
}

bool RandomGraph::Running(const Tensor& x) {
  if (x.rank() == 0) return false;
  const auto axis = static_cast<int64_t>(Below(x.rank()));
  return Result("CumSum", {x.name, Index(axis)}, x.dims,
                {Int("reverse", static_cast<int64_t>(Below(2)))});
}

// ---- Functions and bodies

// Leaf has an attribute by reference; Twice calls it two times.
void RandomGraph::AddFunctions() {
  const int64_t opset = model_.opset_import(0).version();
  onnx::FunctionProto* leaf = AddFunction("Leaf", opset, &model_);
  leaf->add_attribute("slope");
  AttributeProto* slope = FunctionNode(leaf, "LeakyRelu", {"x"}, "h")->add_attribute();
  slope->set_name("alpha");
  slope->set_type(AttributeProto::FLOAT);
  slope->set_ref_attr_name("slope");
  FunctionNode(leaf, "Mul", {"h", "x"}, "y");
  onnx::FunctionProto* twice = AddFunction("Twice", opset, &model_);
  for (const auto& [from, to] : {std::pair{"x", "h"}, std::pair{"h", "y"}}) {
    onnx::NodeProto* call = FunctionNode(twice, "Leaf", {from}, to);
    call->set_domain("local");
    *call->add_attribute() = Float("slope", 0.25f);
  }
}

bool RandomGraph::Function(const Tensor& x) {
  const bool leaf = Below(2) == 0;
  const Attributes attributes = leaf ? Attributes{Float("slope", 0.5f)} : Attributes{};
  const std::string y = Node(leaf ? "Leaf" : "Twice", {x.name}, attributes);
  graph_->mutable_node(graph_->node_size() - 1)->set_domain("local");
  return Add(y, x.dims);
}

// An If in a Loop, on a condition and a tensor of the main graph.
bool RandomGraph::Nested(const Tensor& x) {
  if (x.rank() == 0) return false;
  GraphProto body;
  body.set_name(FreshName());
  const std::string trip = FreshName(), go = FreshName(), state = FreshName();
  Declare(body.add_input(), trip, TensorProto::INT64);
  Declare(body.add_input(), go, TensorProto::BOOL);
  Declare(body.add_input(), state);
  GraphProto branches[2];
  for (GraphProto& branch : branches) {
    branch.set_name(FreshName());
    const std::string y = FreshName();
    AddNode(&branch, "Add", {state, x.name}, y);
    Declare(branch.add_output(), y);
  }
  const std::string still = FreshName(), next = FreshName();
  AddNode(&body, "Identity", {go}, still);
  AddNode(&body, "If", {"flag"}, next);
  onnx::NodeProto* choice = body.mutable_node(1);
  *choice->add_attribute() = Body("then_branch", branches[0]);
  *choice->add_attribute() = Body("else_branch", branches[1]);
  Declare(body.add_output(), still, TensorProto::BOOL);
  Declare(body.add_output(), next);
  return Result("Loop", {SizeOf(x, Below(x.rank()), true), "", x.name}, x.dims,
                {Body("body", body)});
}

// A Loop that gives what it has after every trip, one beside the other.
bool RandomGraph::Stacked(const Tensor& x) {
  if (x.rank() == 0 || x.rank() > 3) return false;
  GraphProto body;
  body.set_name(FreshName());
  const std::string trip = FreshName(), go = FreshName(), state = FreshName();
  Declare(body.add_input(), trip, TensorProto::INT64);
  Declare(body.add_input(), go, TensorProto::BOOL);
  Declare(body.add_input(), state);
  const std::string still = FreshName(), next = FreshName(), copy = FreshName();
  AddNode(&body, "Identity", {go}, still);
  AddNode(&body, "Sigmoid", {state}, next);
  AddNode(&body, "Neg", {next}, copy);
  Declare(body.add_output(), still, TensorProto::BOOL);
  Declare(body.add_output(), next);
  Declare(body.add_output(), copy);
  const size_t axis = Below(x.rank());
  std::vector<Dim> dims = x.dims;
  dims.insert(dims.begin(), x.dims[axis]);
  Node("Loop", {SizeOf(x, axis, true), "", x.name}, {Body("body", body)});
  const std::string stacked = FreshName();
  graph_->mutable_node(graph_->node_size() - 1)->add_output(stacked);
  return Add(stacked, dims);
}

// A loop that makes its state longer by x in every trip.
bool RandomGraph::Growing(const Tensor& x) {
  if (x.rank() == 0) return false;
  const size_t axis = Below(x.rank());
  GraphProto body;
  body.set_name(FreshName());
  const std::string trip = FreshName(), go = FreshName(), state = FreshName();
  Declare(body.add_input(), trip, TensorProto::INT64);
  Declare(body.add_input(), go, TensorProto::BOOL);
  Declare(body.add_input(), state);
  const std::string still = FreshName(), longer = FreshName(), next = FreshName();
  AddNode(&body, "Identity", {go}, still);
  AddNode(&body, "Concat", {state, x.name}, longer);
  *body.mutable_node(1)->add_attribute() = Int("axis", static_cast<int64_t>(axis));
  AddNode(&body, Below(2) == 0 ? "Relu" : "Tanh", {longer}, next);
  Declare(body.add_output(), still, TensorProto::BOOL);
  Declare(body.add_output(), next);
  const std::string trips = Below(3) == 0 ? Index(5) : SizeOf(x, Below(x.rank()), true);
  std::vector<Dim> dims = x.dims;
  dims[axis] = FreshDim();
  return Result("Loop", {trips, Bool(true), x.name}, dims, {Body("body", body)});
}

// All places of an axis, as what is not 0 in a tensor of ones; or as the axis itself, counted.
bool RandomGraph::Ones(const Tensor& x) {
  if (x.rank() == 0) return false;
  const size_t axis = Below(x.rank());
  AttributeProto one;
  one.set_name("value");
  one.set_type(AttributeProto::TENSOR);
  one.mutable_t()->set_data_type(TensorProto::INT64);
  one.mutable_t()->add_dims(1);
  one.mutable_t()->add_int64_data(1);
  const std::string ones = Node("ConstantOfShape", {SizeOf(x, axis, false)}, {one});
  std::string places;
  if (Below(2) == 0) {
    places = Node("Squeeze", {Node("NonZero", {ones}), Ints({0})});
  } else {
    places = Node("Sub", {Node("CumSum", {ones, Index(0)}), Index(1)});
    const std::string count =
        Node("Add", {Node("ReduceMax", {places, Ints({0})}, {Int("keepdims", 0)}), Index(1)});
    places = Node("Range", {Index(0), count, Index(1)});
  }
  return Result("Gather", {x.name, places}, x.dims, {Int("axis", static_cast<int64_t>(axis))});
}

}  // namespace onnxflops
