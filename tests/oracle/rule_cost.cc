#include "tests/oracle/rule_cost.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onnx/onnx_pb.h"
#include "src/base/status_macros.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"

namespace onnxflops::oracle {

thread_local Recorder* Recorder::current_ = nullptr;

std::ostream& operator<<(std::ostream& out, const Executed& e) {
  return out << "mac=" << e.mac << " add=" << e.add << " mul=" << e.mul << " div=" << e.div
             << " cmp=" << e.cmp << " exp=" << e.exp << " log=" << e.log << " sqrt=" << e.sqrt
             << " pow=" << e.pow << " trig=" << e.trig << " tanh=" << e.tanh << " erf=" << e.erf
             << " round=" << e.round;
}

namespace {

void AddAttribute(const std::string& name, const AttributeValue& value, onnx::NodeProto* node) {
  onnx::AttributeProto* a = node->add_attribute();
  a->set_name(name);
  if (const auto* i = std::get_if<int64_t>(&value)) {
    a->set_type(onnx::AttributeProto::INT);
    a->set_i(*i);
  } else if (const auto* f = std::get_if<double>(&value)) {
    a->set_type(onnx::AttributeProto::FLOAT);
    a->set_f(static_cast<float>(*f));
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    a->set_type(onnx::AttributeProto::STRING);
    a->set_s(*s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    a->set_type(onnx::AttributeProto::INTS);
    for (int64_t v : *ints) a->add_ints(v);
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    a->set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& v : *strings) a->add_strings(v);
  } else if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
    a->set_type(onnx::AttributeProto::FLOATS);
    for (double v : *floats) a->add_floats(static_cast<float>(v));
  }
}

void AddInput(const Input& input, const std::string& name, onnx::GraphProto* graph) {
  if (input.ints.has_value()) {
    onnx::TensorProto* t = graph->add_initializer();
    t->set_name(name);
    t->set_data_type(input.dtype);
    for (int64_t dim : input.dims) t->add_dims(dim);
    for (int64_t v : *input.ints) {
      if (input.dtype == onnx::TensorProto::INT64) {
        t->add_int64_data(v);
      } else if (input.dtype == onnx::TensorProto::FLOAT) {
        t->add_float_data(static_cast<float>(v));
      } else {
        t->add_int32_data(static_cast<int32_t>(v));
      }
    }
    return;
  }
  onnx::ValueInfoProto* value = graph->add_input();
  value->set_name(name);
  auto* tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(input.dtype);
  tensor->mutable_shape();
  for (int64_t dim : input.dims) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
}

Executed ExecutedOf(const Census& census) {
  Executed e;
  int64_t* fields[] = {&e.mac,  &e.add, &e.mul,  &e.div,  &e.cmp, &e.exp,  &e.log,
                       &e.sqrt, &e.pow, &e.trig, &e.tanh, &e.erf, &e.round};
  for (int i = 0; i < kNumKinds; ++i) {
    *fields[i] = census[static_cast<Kind>(i)].AsInt64().value_or(-1);
  }
  return e;
}

}  // namespace

std::string ModelOf(const Case& c) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(c.domain.empty() ? c.opset : 21);
  if (!c.domain.empty()) {
    auto* own = model.add_opset_import();
    own->set_domain(c.domain);
    own->set_version(c.opset);
  }
  onnx::GraphProto* graph = model.mutable_graph();
  graph->set_name("g");
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(c.op);
  node->set_domain(c.domain);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const std::string name = absl::StrCat("x", i);
    node->add_input(c.inputs[i].absent ? "" : name);
    if (!c.inputs[i].absent) AddInput(c.inputs[i], name, graph);
  }
  for (const auto& [name, value] : c.attributes) AddAttribute(name, value, node);
  for (int i = 0; i < c.outputs; ++i) {
    node->add_output(absl::StrCat("y", i));
    graph->add_output()->set_name(absl::StrCat("y", i));
  }
  return model.SerializeAsString();
}

std::string Describe(const Case& c) {
  std::ostringstream out;
  out << c.op << "-" << c.opset << "(";
  for (const Input& input : c.inputs) {
    out << (input.absent ? "absent" : absl::StrCat("[", absl::StrJoin(input.dims, ","), "]"));
  }
  out << ")";
  for (const auto& [name, value] : c.attributes) {
    out << " " << name << "=";
    if (const auto* i = std::get_if<int64_t>(&value)) out << *i;
    if (const auto* f = std::get_if<double>(&value)) out << *f;
    if (const auto* s = std::get_if<std::string>(&value)) out << *s;
    if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) out << absl::StrJoin(*v, ",");
  }
  return out.str();
}

absl::StatusOr<RuleResult> CostByRule(const Case& c) {
  ASSIGN_OR_RETURN(const Model model, LoadFromBytes(ModelOf(c)));
  ASSIGN_OR_RETURN(const Inference inference, Infer(model));
  ASSIGN_OR_RETURN(const Counts counts, Count(inference, c.causal));
  if (counts.unknown > 0) {
    return absl::FailedPreconditionError(counts.unknown_items.front().reason);
  }
  RuleResult result{{ExecutedOf(counts.total.flops), ExecutedOf(counts.total.int_ops)}, {}};
  for (ValueId v : model->graphs[0].outputs) {
    const Fact& fact = *inference.FactOf(v);
    Sizes dims;
    for (const Expr& dim : fact.shape.dims()) dims.push_back(dim.AsInt64().value_or(-1));
    result.output_dims.push_back(dims);
  }
  return result;
}

}  // namespace onnxflops::oracle
