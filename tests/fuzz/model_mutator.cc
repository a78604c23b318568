#include "tests/fuzz/model_mutator.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"
#include "ops/registry.h"
#include "tests/fuzz/mend_model.h"

namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

using Random = std::minstd_rand;

size_t Below(Random& random, size_t n) { return n == 0 ? 0 : random() % n; }
bool OneIn(Random& random, size_t n) { return Below(random, n) == 0; }

// Sizes and values at which something ends, begins or overflows.
int64_t OddInteger(Random& random) {
  constexpr int64_t kOdd[] = {0,         1,         2,         3,         -1,
                              -2,        7,         8,         64,        65,
                              255,       256,       1024,      1025,      65536,
                              1 << 30,   INT32_MAX, INT32_MIN, 1LL << 32, 1LL << 40,
                              1LL << 61, 1LL << 62, INT64_MAX, INT64_MIN, -(1LL << 40),
                              5,         224,       100};
  return kOdd[Below(random, std::size(kOdd))];
}

float OddFloat(Random& random) {
  constexpr float kOdd[] = {0.0F, 1.0F, -1.0F, 0.5F, 2.0F, 1e30F, -1e30F, 1e-30F, 3.999F};
  if (OneIn(random, 6)) return OneIn(random, 2) ? INFINITY : NAN;
  return kOdd[Below(random, std::size(kOdd))];
}

struct Op {
  std::string domain, name;
};

// Every operator that has a row.
const std::vector<Op>& AllOps() {
  static const auto* const ops = [] {
    auto* all = new std::vector<Op>;
    for (const onnxflops::OpFamily& family : onnxflops::AllFamilies()) {
      for (const onnxflops::OpDef& row : family.rows) all->push_back({family.domain, row.name});
    }
    return all;
  }();
  return *ops;
}

// Every graph of a model, bodies and functions aside: what most mutations work on.
void CollectGraphs(GraphProto* graph, int depth, std::vector<GraphProto*>* out) {
  out->push_back(graph);
  if (depth > 8) return;
  for (NodeProto& node : *graph->mutable_node()) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) CollectGraphs(attribute.mutable_g(), depth + 1, out);
      for (GraphProto& g : *attribute.mutable_graphs()) CollectGraphs(&g, depth + 1, out);
    }
  }
}

NodeProto* AnyNode(ModelProto* model, Random& random, GraphProto** of = nullptr) {
  if (of == nullptr && model->functions_size() > 0 && OneIn(random, 4)) {
    onnx::FunctionProto* f = model->mutable_functions(
        static_cast<int>(Below(random, static_cast<size_t>(model->functions_size()))));
    if (f->node_size() > 0) {
      return f->mutable_node(static_cast<int>(Below(random, static_cast<size_t>(f->node_size()))));
    }
  }
  std::vector<GraphProto*> graphs;
  CollectGraphs(model->mutable_graph(), 0, &graphs);
  GraphProto* graph = graphs[Below(random, graphs.size())];
  if (graph->node_size() == 0) return nullptr;
  if (of != nullptr) *of = graph;
  return graph->mutable_node(
      static_cast<int>(Below(random, static_cast<size_t>(graph->node_size()))));
}

// A name that some value of the graph has.
std::string AnyValue(const GraphProto& graph, Random& random) {
  std::vector<std::string> names = {""};
  for (const auto& input : graph.input()) names.push_back(input.name());
  for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
  for (const NodeProto& node : graph.node()) {
    names.insert(names.end(), node.output().begin(), node.output().end());
  }
  return names[Below(random, names.size())];
}

// ---- Mutations
// ------------------------------------------------------------------------------------

void ChangeOperator(ModelProto* model, Random& random) {
  NodeProto* node = AnyNode(model, random);
  if (node == nullptr) return;
  const Op& op = AllOps()[Below(random, AllOps().size())];
  node->set_op_type(op.name);
  node->set_domain(op.domain);
  if (op.domain.empty()) return;
  for (const auto& import : model->opset_import()) {
    if (import.domain() == op.domain) return;
  }
  auto* import = model->add_opset_import();
  import->set_domain(op.domain);
  import->set_version(1);
}

void ChangeOpset(ModelProto* model, Random& random) {
  if (model->opset_import_size() == 0) return;
  model
      ->mutable_opset_import(
          static_cast<int>(Below(random, static_cast<size_t>(model->opset_import_size()))))
      ->set_version(static_cast<int64_t>(1 + Below(random, 29)));
}

void ChangeValueOf(AttributeProto* a, Random& random) {
  switch (Below(random, 5)) {
    case 0:
      a->set_i(OddInteger(random));
      break;
    case 1:
      a->set_f(OddFloat(random));
      break;
    case 2:
      if (a->ints_size() > 0 && !OneIn(random, 4)) {
        a->set_ints(static_cast<int>(Below(random, static_cast<size_t>(a->ints_size()))),
                    OddInteger(random));
      } else {
        a->add_ints(OddInteger(random));
      }
      break;
    case 3:
      if (a->ints_size() > 0) a->mutable_ints()->RemoveLast();
      break;
    default:
      a->set_s(OneIn(random, 2) ? "SAME_UPPER" : "ij,jk->ik");
  }
  if (OneIn(random, 8)) a->set_type(static_cast<AttributeProto::AttributeType>(Below(random, 15)));
}

void ChangeAttribute(ModelProto* model, Random& random) {
  NodeProto* node = AnyNode(model, random);
  if (node == nullptr) return;
  if (node->attribute_size() == 0 || OneIn(random, 4)) {
    constexpr const char* kNames[] = {"axis",
                                      "axes",
                                      "group",
                                      "kernel_shape",
                                      "strides",
                                      "pads",
                                      "dilations",
                                      "perm",
                                      "to",
                                      "num_heads",
                                      "is_causal",
                                      "equation",
                                      "block_size",
                                      "keepdims",
                                      "allowzero",
                                      "num_outputs",
                                      "auto_pad",
                                      "output_shape",
                                      "hidden_size",
                                      "direction",
                                      "transB",
                                      "q_num_heads",
                                      "kv_num_heads",
                                      "num_scan_inputs",
                                      "bits",
                                      "K",
                                      "N",
                                      "split",
                                      "batch_dims",
                                      "select_last_index"};
    AttributeProto* a = node->add_attribute();
    a->set_name(kNames[Below(random, std::size(kNames))]);
    a->set_type(OneIn(random, 2) ? AttributeProto::INT : AttributeProto::INTS);
    a->set_i(OddInteger(random));
    a->add_ints(OddInteger(random));
    return;
  }
  const int which = static_cast<int>(Below(random, static_cast<size_t>(node->attribute_size())));
  if (OneIn(random, 6)) {
    node->mutable_attribute()->DeleteSubrange(which, 1);
  } else {
    ChangeValueOf(node->mutable_attribute(which), random);
  }
}

void ChangeShape(onnx::TypeProto* type, Random& random) {
  if (!type->has_tensor_type()) return;
  auto* tensor = type->mutable_tensor_type();
  if (OneIn(random, 6)) tensor->set_elem_type(static_cast<int>(Below(random, 28)));
  if (OneIn(random, 10)) return tensor->clear_shape();
  auto* shape = tensor->mutable_shape();
  if (shape->dim_size() == 0 || OneIn(random, 5)) shape->add_dim();
  auto* dim =
      shape->mutable_dim(static_cast<int>(Below(random, static_cast<size_t>(shape->dim_size()))));
  if (OneIn(random, 2)) {
    dim->set_dim_value(OddInteger(random));
  } else {
    dim->set_dim_param(OneIn(random, 2) ? "batch" : "n" + std::to_string(Below(random, 4)));
  }
  if (OneIn(random, 6)) shape->mutable_dim()->RemoveLast();
}

void ChangeInput(ModelProto* model, Random& random) {
  GraphProto* graph = model->mutable_graph();
  if (graph->input_size() == 0) return;
  ChangeShape(
      graph
          ->mutable_input(static_cast<int>(Below(random, static_cast<size_t>(graph->input_size()))))
          ->mutable_type(),
      random);
}

void ChangeTensor(ModelProto* model, Random& random) {
  GraphProto* graph = model->mutable_graph();
  if (graph->initializer_size() == 0) return;
  auto* tensor = graph->mutable_initializer(
      static_cast<int>(Below(random, static_cast<size_t>(graph->initializer_size()))));
  if (OneIn(random, 2) || tensor->raw_data().empty()) {
    if (tensor->dims_size() > 0) {
      tensor->set_dims(static_cast<int>(Below(random, static_cast<size_t>(tensor->dims_size()))),
                       OddInteger(random));
    }
    return;
  }
  std::string* raw = tensor->mutable_raw_data();
  const int64_t value = OddInteger(random);
  const size_t at = Below(random, raw->size());
  std::memcpy(&(*raw)[at], &value, std::min(sizeof value, raw->size() - at));
}

void Rewire(ModelProto* model, Random& random) {
  GraphProto* graph = nullptr;
  NodeProto* node = AnyNode(model, random, &graph);
  if (node == nullptr) return;
  const std::string value = AnyValue(OneIn(random, 3) ? model->graph() : *graph, random);
  if (node->input_size() == 0 || OneIn(random, 4)) {
    node->add_input(value);
  } else if (OneIn(random, 4)) {
    node->mutable_input()->RemoveLast();
  } else {
    node->set_input(static_cast<int>(Below(random, static_cast<size_t>(node->input_size()))),
                    value);
  }
}

// The node again, with outputs of its own.
void RepeatNode(ModelProto* model, Random& random) {
  GraphProto* graph = nullptr;
  NodeProto* node = AnyNode(model, random, &graph);
  if (node == nullptr || graph->node_size() > 200) return;
  NodeProto copy = *node;
  for (std::string& output : *copy.mutable_output())
    output += "_" + std::to_string(random() % 1000);
  if (node->output_size() > 0 && OneIn(random, 2) && copy.input_size() > 0)
    copy.set_input(0, node->output(0));
  *graph->add_node() = copy;
}

// The node becomes the body of an If, a Loop or a Scan.
void WrapNode(ModelProto* model, Random& random) {
  GraphProto* graph = nullptr;
  NodeProto* node = AnyNode(model, random, &graph);
  if (node == nullptr || graph->node_size() > 200) return;
  NodeProto inner = *node;
  constexpr const char* kOps[] = {"If", "Loop", "Scan", "SequenceMap"};
  node->set_op_type(kOps[Below(random, std::size(kOps))]);
  node->clear_domain();
  node->clear_attribute();
  GraphProto body;
  *body.add_node() = inner;
  for (const std::string& output : inner.output()) body.add_output()->set_name(output);
  const bool is_if = node->op_type() == "If";
  for (const char* name : {is_if ? "then_branch" : "body", "else_branch"}) {
    AttributeProto* a = node->add_attribute();
    a->set_name(name);
    a->set_type(AttributeProto::GRAPH);
    *a->mutable_g() = body;
    if (!is_if) break;
  }
  if (!is_if) {
    for (const std::string& input : inner.input()) {
      node->mutable_attribute(0)->mutable_g()->add_input()->set_name(input + "_in");
    }
  }
}

// The node becomes a call of a function that does the same.
void MakeFunction(ModelProto* model, Random& random) {
  NodeProto* node = AnyNode(model, random);
  if (node == nullptr || model->functions_size() > 40) return;
  onnx::FunctionProto* f = model->add_functions();
  f->set_name("f" + std::to_string(model->functions_size()));
  f->set_domain("local");
  *f->mutable_opset_import() = model->opset_import();
  *f->mutable_input() = node->input();
  *f->mutable_output() = node->output();
  NodeProto inner = *node;
  const int calls = 1 + static_cast<int>(Below(random, 2));
  for (int i = 0; i < calls; ++i) *f->add_node() = inner;
  if (model->functions_size() > 1 && OneIn(random, 2)) {
    f->mutable_node(0)->set_op_type(model
                                        ->functions(static_cast<int>(Below(
                                            random, static_cast<size_t>(model->functions_size()))))
                                        .name());
    f->mutable_node(0)->set_domain("local");
  }
  node->set_op_type(f->name());
  node->set_domain("local");
  node->clear_attribute();
  auto* import = model->add_opset_import();
  import->set_domain("local");
  import->set_version(1);
}

void ChangeName(ModelProto* model, Random& random) {
  constexpr const char* kNames[] = {"/visual/transformer/resblocks.0/attn/MatMul",
                                    "\x1b[31mred",
                                    "</details>@team [x](http://y)",
                                    "::error::no",
                                    "=1+2",
                                    "\xff\xfe",
                                    "a\nb",
                                    "",
                                    "a.b.c.weight",
                                    "\xe2\x80\xae"};
  const std::string name = kNames[Below(random, std::size(kNames))];
  if (NodeProto* node = AnyNode(model, random); node != nullptr && OneIn(random, 2)) {
    node->set_name(name);
  } else if (model->graph().input_size() > 0) {
    model->mutable_graph()->mutable_input(0)->set_name(name);
  }
}

// ---- Mutations that take away

template <typename List>
int AnyIndex(const List& list, Random& random) {
  return static_cast<int>(Below(random, static_cast<size_t>(list.size())));
}

// Inputs and outputs: left out in place, or taken off the list.
void LeaveOut(ModelProto* model, Random& random) {
  NodeProto* node = AnyNode(model, random);
  if (node == nullptr) return;
  auto* names = OneIn(random, 2) ? node->mutable_output() : node->mutable_input();
  if (names->empty()) return;
  const int which = AnyIndex(*names, random);
  if (OneIn(random, 2)) {
    names->Mutable(which)->clear();
  } else {
    names->DeleteSubrange(which, OneIn(random, 4) ? names->size() - which : 1);
  }
}

void RemoveNode(ModelProto* model, Random& random) {
  GraphProto* graph = nullptr;
  if (AnyNode(model, random, &graph) == nullptr) return;
  graph->mutable_node()->DeleteSubrange(AnyIndex(graph->node(), random), 1);
}

void RemoveDeclaration(ModelProto* model, Random& random) {
  GraphProto* graph = model->mutable_graph();
  if (OneIn(random, 2) && graph->value_info_size() > 0) {
    graph->mutable_value_info()->DeleteSubrange(AnyIndex(graph->value_info(), random), 1);
  } else if (graph->initializer_size() > 0) {
    graph->mutable_initializer()->DeleteSubrange(AnyIndex(graph->initializer(), random), 1);
  }
}

// ---- Mutations of names, types and metadata

template <typename Names>
void Rename(Names* names, const std::string& from, const std::string& to) {
  for (std::string& name : *names) {
    if (name == from) name = to;
  }
}

// A value gets another name, wherever it is mentioned; sometimes that of another value.
void RenameValue(ModelProto* model, Random& random) {
  std::vector<GraphProto*> graphs;
  CollectGraphs(model->mutable_graph(), 0, &graphs);
  const std::string from = AnyValue(*graphs[Below(random, graphs.size())], random);
  const std::string to = OneIn(random, 3)
                             ? AnyValue(model->graph(), random)
                             : "layers." + std::to_string(Below(random, 9)) + ".weight";
  for (GraphProto* graph : graphs) {
    for (NodeProto& node : *graph->mutable_node()) {
      Rename(node.mutable_input(), from, to);
      Rename(node.mutable_output(), from, to);
    }
    for (auto* list :
         {graph->mutable_input(), graph->mutable_output(), graph->mutable_value_info()}) {
      for (auto& value : *list) {
        if (value.name() == from) value.set_name(to);
      }
    }
    for (auto& tensor : *graph->mutable_initializer()) {
      if (tensor.name() == from) tensor.set_name(to);
    }
  }
}

// A type is declared for a value inside, or changed.
void DeclareValue(ModelProto* model, Random& random) {
  GraphProto* graph = model->mutable_graph();
  auto* info = graph->value_info_size() > 0 && OneIn(random, 2)
                   ? graph->mutable_value_info(AnyIndex(graph->value_info(), random))
                   : graph->add_value_info();
  if (info->name().empty() || OneIn(random, 4)) info->set_name(AnyValue(*graph, random));
  info->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (size_t i = Below(random, 4); i > 0; --i) ChangeShape(info->mutable_type(), random);
}

void ChangeElementType(ModelProto* model, Random& random) {
  GraphProto* graph = model->mutable_graph();
  if (graph->initializer_size() == 0) return;
  graph->mutable_initializer(AnyIndex(graph->initializer(), random))
      ->set_data_type(static_cast<int>(Below(random, 28)));
}

// What PyTorch's exporter leaves in a node, or something like it.
void ChangeMetadata(ModelProto* model, Random& random) {
  constexpr const char* kKeys[] = {"pkg.torch.onnx.fx_node", "pkg.torch.onnx.name_scopes",
                                   "pkg.torch.onnx.class_hierarchy", "namespace",
                                   "pkg.onnxscript.rewriter.rule_name"};
  constexpr const char* kValues[] = {
      "%linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, "
      "%p_w, %p_b), kwargs = {})",
      "%sdpa : [num_users=1] = call_function[target=torch.ops.aten.scaled_dot_product_attention."
      "default](args = (%q, %k, %v), kwargs = {enable_gqa: True})",
      "%mm : [num_users=2] = call_function[target=torch.ops.aten.mm.default](args = (%mm, (((%a",
      "['', 'layers.0', 'layers.0.attn', 'linear']",
      "['m.Model', 'torch.nn.modules.linear.Linear', 'aten.linear.default']",
      "['', '', \"a'b\", 'x@1', 'x@2'",
      ": m.Model/layers.0: torch.nn.modules.container.Sequential/linear: aten.linear.default",
      "FuseBatchNormIntoConv",
      ""};
  NodeProto* node = AnyNode(model, random);
  if (node == nullptr) return;
  if (OneIn(random, 3)) model->set_producer_name("pytorch");
  auto* entry = node->metadata_props_size() > 0 && OneIn(random, 2)
                    ? node->mutable_metadata_props(AnyIndex(node->metadata_props(), random))
                    : node->add_metadata_props();
  if (entry->key().empty()) entry->set_key(kKeys[Below(random, std::size(kKeys))]);
  if (!entry->value().empty() && OneIn(random, 2)) {
    std::string* text = entry->mutable_value();
    text->erase(Below(random, text->size()), 1 + Below(random, 6));
  } else {
    entry->set_value(kValues[Below(random, std::size(kValues))]);
  }
}

// ---- Mutations that move

// Some nodes that follow each other go into the branch of an If, or into a function.
void MoveNodes(ModelProto* model, Random& random) {
  GraphProto* graph = model->mutable_graph();
  if (graph->node_size() == 0 || model->functions_size() > 40) return;
  const int first = AnyIndex(graph->node(), random);
  const int count =
      1 + static_cast<int>(
              Below(random, std::min<size_t>(8, static_cast<size_t>(graph->node_size() - first))));
  const std::vector<NodeProto> moved(graph->node().begin() + first,
                                     graph->node().begin() + first + count);
  NodeProto holder;
  for (const NodeProto& node : moved) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) holder.add_output(output);
    }
  }
  if (OneIn(random, 2)) {
    holder.set_op_type("If");
    holder.add_input(AnyValue(*graph, random));
    GraphProto body;
    for (const NodeProto& node : moved) *body.add_node() = node;
    for (const std::string& output : holder.output()) body.add_output()->set_name(output);
    for (const char* name : {"then_branch", "else_branch"}) {
      AttributeProto* a = holder.add_attribute();
      a->set_name(name);
      a->set_type(AttributeProto::GRAPH);
      *a->mutable_g() = body;
    }
  } else {
    onnx::FunctionProto* f = model->add_functions();
    f->set_name("moved" + std::to_string(model->functions_size()));
    f->set_domain("local");
    *f->mutable_opset_import() = model->opset_import();
    *f->mutable_output() = holder.output();
    for (const NodeProto& node : moved) {
      *f->add_node() = node;
      holder.mutable_input()->MergeFrom(node.input());
    }
    *f->mutable_input() = holder.input();
    holder.set_op_type(f->name());
    holder.set_domain("local");
  }
  graph->mutable_node()->DeleteSubrange(first, count);
  *graph->add_node() = holder;
  for (int i = graph->node_size() - 1; i > first; --i)
    graph->mutable_node()->SwapElements(i, i - 1);
}

using Mutation = void (*)(ModelProto*, Random&);
constexpr Mutation kMutations[] = {
    ChangeOperator, ChangeOperator, ChangeOpset,    ChangeAttribute,   ChangeAttribute,
    ChangeInput,    ChangeTensor,   Rewire,         RepeatNode,        WrapNode,
    MakeFunction,   ChangeName,     LeaveOut,       LeaveOut,          RemoveNode,
    RenameValue,    DeclareValue,   MoveNodes,      ChangeElementType, RemoveDeclaration,
    ChangeMetadata, ChangeMetadata, ChangeAttribute};

size_t Write(const ModelProto& model, uint8_t choice, uint8_t* out, size_t max_size) {
  const size_t size = model.ByteSizeLong() + 1;
  if (size > max_size) return 0;
  out[0] = choice;
  return model.SerializeToArray(out + 1, static_cast<int>(size - 1)) ? size : 0;
}

bool Read(const uint8_t* data, size_t size, ModelProto* model) {
  return size > 1 && model->ParseFromArray(data + 1, static_cast<int>(size - 1));
}

// One part of `other` put into `model`.
void Take(const ModelProto& other, ModelProto* model, Random& random) {
  const GraphProto& from = other.graph();
  GraphProto* to = model->mutable_graph();
  const size_t what = Below(random, 4);
  if (what == 0 && from.node_size() > 0) {
    to->add_node()->CopyFrom(
        from.node(static_cast<int>(Below(random, static_cast<size_t>(from.node_size())))));
  } else if (what == 1 && from.initializer_size() > 0) {
    to->add_initializer()->CopyFrom(from.initializer(
        static_cast<int>(Below(random, static_cast<size_t>(from.initializer_size())))));
  } else if (what == 2 && other.functions_size() > 0) {
    model->add_functions()->CopyFrom(other.functions(
        static_cast<int>(Below(random, static_cast<size_t>(other.functions_size())))));
  } else {
    to->mutable_node()->MergeFrom(from.node());
    to->mutable_input()->MergeFrom(from.input());
    to->mutable_initializer()->MergeFrom(from.initializer());
    model->mutable_opset_import()->MergeFrom(other.opset_import());
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  Random random(seed + 1);
  ModelProto model;
  if (OneIn(random, 6) || !Read(data, size, &model)) return LLVMFuzzerMutate(data, size, max_size);
  for (size_t n = 1 + Below(random, 3); n > 0; --n) {
    kMutations[Below(random, std::size(kMutations))](&model, random);
  }
  if (!OneIn(random, 8)) onnxflops::MendModel(&model);
  const uint8_t choice = OneIn(random, 4) ? static_cast<uint8_t>(random()) : data[0];
  const size_t written = Write(model, choice, data, max_size);
  return written != 0 ? written : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1,
                                            const uint8_t* data2, size_t size2, uint8_t* out,
                                            size_t max_out_size, unsigned int seed) {
  Random random(seed + 1);
  ModelProto model, other;
  if (!Read(data1, size1, &model) || !Read(data2, size2, &other)) return 0;
  Take(other, &model, random);
  onnxflops::MendModel(&model);
  return Write(model, data1[0], out, max_out_size);
}
