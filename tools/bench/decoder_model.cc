// How it works. Writes a language model as a TorchScript export would: node by node, with Shape,
// Gather, Unsqueeze and Concat around every Reshape, a rotation, a mask and RMS norms written out.
// The benchmarks load and count it, so it must have the nodes that real files have, in the same
// proportion: most of them are shape arithmetic. Weights are filled with bytes of 1. Names give the
// sizes: "big", a fixed shape, or a number of layers.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "decoder.h"

namespace onnxflops::bench {

namespace {

constexpr int64_t kMaxPositions = 4096;
constexpr int64_t kToTheEnd = INT64_MAX;

// Writes nodes one after another; every method returns the name of its result.
class DecoderWriter {
 public:
  DecoderWriter(const DecoderSize& size, onnx::GraphProto* graph) : size_(size), graph_(*graph) {}

  void Write() {
    const std::string embedding =
        Weight("model.embed_tokens.weight", {size_.vocabulary, size_.hidden});
    std::string x = Gather(embedding, "input_ids");
    const int64_t head = size_.hidden / size_.heads;
    const std::string cos_table = Weight("rotary.cos", {kMaxPositions, head});
    const std::string sin_table = Weight("rotary.sin", {kMaxPositions, head});
    const std::string length = Unsqueezed(DimOf(x, 1));
    cos_ = Node("Slice", {cos_table, Ints({0}), length, Ints({0}), Ints({1})});
    sin_ = Node("Slice", {sin_table, Ints({0}), length, Ints({0}), Ints({1})});
    mask_ = Mask();
    for (int layer = 0; layer < size_.layers; ++layer) {
      x = Layer(x, "model.layers." + std::to_string(layer) + ".");
    }
    x = RmsNorm(x, "model.norm.weight");
    Node("MatMul", {x, Weight("lm_head.weight", {size_.hidden, size_.vocabulary})});
    graph_.mutable_node(graph_.node_size() - 1)->set_output(0, "logits");
  }

 private:
  std::string Node(const char* op, std::vector<std::string> inputs) {
    onnx::NodeProto& node = *graph_.add_node();
    const std::string number = std::to_string(graph_.node_size() - 1);
    node.set_op_type(op);
    node.set_name(std::string("/model/layers/") + op + "_" + number);
    for (std::string& input : inputs) node.add_input(std::move(input));
    node.add_output(std::string("/") + op + "_" + number + "_output_0");
    return node.output(0);
  }

  onnx::AttributeProto* Attribute(const char* name, onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto* a = graph_.mutable_node(graph_.node_size() - 1)->add_attribute();
    a->set_name(name);
    a->set_type(type);
    return a;
  }

  std::string Constant(int type, bool scalar, const void* bytes, size_t size, int64_t elements) {
    std::string name = Node("Constant", {});
    onnx::TensorProto* t = Attribute("value", onnx::AttributeProto::TENSOR)->mutable_t();
    t->set_data_type(type);
    if (!scalar) t->add_dims(elements);
    t->set_raw_data(bytes, size);
    return name;
  }
  std::string Ints(std::vector<int64_t> values) {
    return Constant(onnx::TensorProto::INT64, false, values.data(), values.size() * 8,
                    static_cast<int64_t>(values.size()));
  }
  std::string Int(int64_t value) { return Constant(onnx::TensorProto::INT64, true, &value, 8, 1); }
  std::string Float(float value) { return Constant(onnx::TensorProto::FLOAT, true, &value, 4, 1); }

  std::string Weight(const std::string& name, std::initializer_list<int64_t> dims) {
    onnx::TensorProto& t = *graph_.add_initializer();
    t.set_name(name);
    t.set_data_type(onnx::TensorProto::FLOAT);
    size_t bytes = sizeof(float);
    for (int64_t dim : dims) {
      t.add_dims(dim);
      bytes *= static_cast<size_t>(dim);
    }
    t.mutable_raw_data()->assign(bytes, '\1');
    return name;
  }

  std::string Gather(const std::string& data, const std::string& indices) {
    std::string name = Node("Gather", {data, indices});
    Attribute("axis", onnx::AttributeProto::INT)->set_i(0);
    return name;
  }
  std::string Concat(std::vector<std::string> inputs, int64_t axis) {
    std::string name = Node("Concat", std::move(inputs));
    Attribute("axis", onnx::AttributeProto::INT)->set_i(axis);
    return name;
  }
  std::string Transpose(const std::string& x, std::initializer_list<int64_t> perm) {
    std::string name = Node("Transpose", {x});
    onnx::AttributeProto* a = Attribute("perm", onnx::AttributeProto::INTS);
    for (int64_t axis : perm) a->add_ints(axis);
    return name;
  }
  std::string DimOf(const std::string& x, int64_t axis) {
    const std::string shape = Node("Shape", {x});
    return Gather(shape, Int(axis));
  }
  std::string Unsqueezed(const std::string& x) { return Node("Unsqueeze", {x, Ints({0})}); }

  std::string Mask() {
    std::string m = Node("Unsqueeze", {"attention_mask", Ints({1, 2})});
    m = Node("Cast", {m});
    Attribute("to", onnx::AttributeProto::INT)->set_i(onnx::TensorProto::FLOAT);
    return Node("Mul", {Node("Sub", {Float(1), m}), Float(-1e9F)});
  }

  std::string RmsNorm(const std::string& x, const std::string& weight) {
    const std::string w = Weight(weight, {size_.hidden});
    const std::string square = Node("Pow", {x, Float(2)});
    const std::string mean = Node("ReduceMean", {square});
    Attribute("axes", onnx::AttributeProto::INTS)->add_ints(-1);
    Attribute("keepdims", onnx::AttributeProto::INT)->set_i(1);
    const std::string root = Node("Sqrt", {Node("Add", {mean, Float(1e-5F)})});
    return Node("Mul", {w, Node("Mul", {x, Node("Div", {Float(1), root})})});
  }

  std::string SplitHeads(const std::string& x, const std::string& source) {
    const std::string batch = Unsqueezed(DimOf(source, 0));
    const std::string seq = Unsqueezed(DimOf(source, 1));
    const std::string shape =
        Concat({batch, seq, Ints({size_.heads}), Ints({size_.hidden / size_.heads})}, 0);
    return Transpose(Node("Reshape", {x, shape}), {0, 2, 1, 3});
  }

  std::string Rotate(const std::string& x) {
    const int64_t half = size_.hidden / size_.heads / 2;
    const std::string a = Node("Slice", {x, Ints({0}), Ints({half}), Ints({3}), Ints({1})});
    const std::string b = Node("Slice", {x, Ints({half}), Ints({kToTheEnd}), Ints({3}), Ints({1})});
    const std::string turned = Concat({Node("Neg", {b}), a}, -1);
    return Node("Add", {Node("Mul", {x, cos_}), Node("Mul", {turned, sin_})});
  }

  std::string Projection(const std::string& x, const std::string& name, int64_t in, int64_t out) {
    return Node("MatMul", {x, Weight(name, {in, out})});
  }

  std::string Attention(const std::string& y, const std::string& path) {
    const int64_t h = size_.hidden;
    std::string q = Projection(y, path + "self_attn.q_proj.weight", h, h);
    std::string k = Projection(y, path + "self_attn.k_proj.weight", h, h);
    std::string v = Projection(y, path + "self_attn.v_proj.weight", h, h);
    q = Rotate(SplitHeads(q, y));
    k = Rotate(SplitHeads(k, y));
    v = SplitHeads(v, y);
    std::string scores = Node("MatMul", {q, Transpose(k, {0, 1, 3, 2})});
    scores = Node("Add", {Node("Div", {scores, Float(2)}), mask_});
    scores = Node("Softmax", {scores});
    Attribute("axis", onnx::AttributeProto::INT)->set_i(-1);
    const std::string out = Transpose(Node("MatMul", {scores, v}), {0, 2, 1, 3});
    const std::string batch = Unsqueezed(DimOf(y, 0));
    const std::string seq = Unsqueezed(DimOf(y, 1));
    const std::string merged = Node("Reshape", {out, Concat({batch, seq, Ints({h})}, 0)});
    return Projection(merged, path + "self_attn.o_proj.weight", h, h);
  }

  std::string Layer(const std::string& x, const std::string& path) {
    const int64_t h = size_.hidden;
    const int64_t f = size_.feed_forward;
    const std::string attended =
        Node("Add", {x, Attention(RmsNorm(x, path + "input_layernorm.weight"), path)});
    const std::string y = RmsNorm(attended, path + "post_attention_layernorm.weight");
    const std::string gate = Projection(y, path + "mlp.gate_proj.weight", h, f);
    const std::string up = Projection(y, path + "mlp.up_proj.weight", h, f);
    const std::string active = Node("Mul", {gate, Node("Sigmoid", {gate})});
    const std::string down =
        Projection(Node("Mul", {active, up}), path + "mlp.down_proj.weight", f, h);
    return Node("Add", {attended, down});
  }

  const DecoderSize& size_;
  onnx::GraphProto& graph_;
  std::string cos_, sin_, mask_;
};

void AddInput(onnx::ValueInfoProto* value, const char* name, int type, const DecoderSize& size,
              int64_t last) {
  value->set_name(name);
  auto* tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  auto* batch = tensor->mutable_shape()->add_dim();
  auto* seq = tensor->mutable_shape()->add_dim();
  if (size.dynamic) {
    batch->set_dim_param("batch");
    seq->set_dim_param("seq");
  } else {
    batch->set_dim_value(1);
    seq->set_dim_value(128);
  }
  if (last > 0) tensor->mutable_shape()->add_dim()->set_dim_value(last);
}

}  // namespace

DecoderSize SizeNamed(const std::string& name) {
  if (name == "dec100-static") return {.dynamic = false};
  if (name == "big") {
    return {.layers = 32,
            .hidden = 1024,
            .feed_forward = 2816,
            .heads = 16,
            .vocabulary = 32000,
            .dynamic = false};
  }
  if (name.rfind("layers=", 0) == 0) {
    return {.layers = std::atoi(name.c_str() + 7), .hidden = 8, .feed_forward = 16, .heads = 2};
  }
  return {};
}

onnx::ModelProto MakeDecoder(const DecoderSize& size) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("decoder");
  AddInput(graph.add_input(), "input_ids", onnx::TensorProto::INT64, size, 0);
  AddInput(graph.add_input(), "attention_mask", onnx::TensorProto::INT64, size, 0);
  AddInput(graph.add_output(), "logits", onnx::TensorProto::FLOAT, size, size.vocabulary);
  DecoderWriter(size, &graph).Write();
  return model;
}

}  // namespace onnxflops::bench
