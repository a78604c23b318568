#include "tests/ops/settings.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "ops/registry.h"
#include "tests/ops/examples.h"
#include "tests/ops/variants.h"

namespace onnxflops {
namespace {

onnx::AttributeProto Named(const std::string& name) {
  onnx::AttributeProto a;
  a.set_name(name);
  return a;
}

onnx::AttributeProto IntAttribute(const std::string& name, int64_t i) {
  onnx::AttributeProto a = Named(name);
  a.set_type(onnx::AttributeProto::INT);
  a.set_i(i);
  return a;
}

onnx::AttributeProto FloatAttribute(const std::string& name, float f) {
  onnx::AttributeProto a = Named(name);
  a.set_type(onnx::AttributeProto::FLOAT);
  a.set_f(f);
  return a;
}

onnx::AttributeProto StringAttribute(const std::string& name, const std::string& s) {
  onnx::AttributeProto a = Named(name);
  a.set_type(onnx::AttributeProto::STRING);
  a.set_s(s);
  return a;
}

const onnx::OpSchema* SchemaOf(const Example& e, const onnx::ModelProto& model) {
  const auto& opset = model.opset_import(e.domain.empty() ? 0 : 1);
  const int version = FindOp(e.domain, e.def->name, static_cast<int>(opset.version())).version;
  return onnx::OpSchemaRegistry::Schema(e.def->name, version, e.domain);
}

// "=2", "=1,1", "=tanh"
std::string TextOf(const onnx::AttributeProto& a) {
  switch (a.type()) {
    case onnx::AttributeProto::INT:
      return absl::StrCat("=", a.i());
    case onnx::AttributeProto::FLOAT:
      return absl::StrCat("=", a.f());
    case onnx::AttributeProto::STRING:
      return absl::StrCat("=", a.s());
    case onnx::AttributeProto::INTS:
      return absl::StrCat("=[", absl::StrJoin(a.ints(), ","), "]");
    case onnx::AttributeProto::FLOATS:
      return absl::StrCat("=[", absl::StrJoin(a.floats(), ","), "]");
    case onnx::AttributeProto::STRINGS:
      return absl::StrCat("=[", absl::StrJoin(a.strings(), ","), "]");
    default:
      return absl::StrCat("=", a.t().dims_size(), "-d tensor of ", a.t().data_type());
  }
}

// By name, what the examples of all operators set the attribute to.
const std::map<std::string, std::map<std::string, onnx::AttributeProto>>& SetByExamples() {
  static const auto& all = *[] {
    auto* set = new std::map<std::string, std::map<std::string, onnx::AttributeProto>>;
    for (const Example& e : AllExamples()) {
      const absl::StatusOr<onnx::ModelProto> model = ExampleModel(e);
      for (const onnx::NodeProto& node : model->graph().node()) {
        for (const onnx::AttributeProto& a : node.attribute()) {
          if (a.type() != onnx::AttributeProto::GRAPH) (*set)[a.name()].emplace(TextOf(a), a);
        }
      }
    }
    return set;
  }();
  return all;
}

// Attributes that ONNX Runtime's operators read although nothing states a default.
const std::vector<std::pair<const char*, onnx::AttributeProto::AttributeType>> kWithoutDefault = {
    {"activations", onnx::AttributeProto::STRINGS},
    {"left_window_size", onnx::AttributeProto::INT},
    {"right_window_size", onnx::AttributeProto::INT},
    {"linear_before_reset", onnx::AttributeProto::INT},
    {"mask_index_type", onnx::AttributeProto::INT},
    {"past_present_share_buffer", onnx::AttributeProto::INT},
    {"qkv_hidden_sizes", onnx::AttributeProto::INTS},
    {"rotary_embedding_dim", onnx::AttributeProto::INT},
    {"scale", onnx::AttributeProto::FLOAT},
    {"softcap", onnx::AttributeProto::FLOAT},
    {"softmax_precision", onnx::AttributeProto::INT},
    {"swiglu_limit", onnx::AttributeProto::FLOAT},
    {"v_head_size", onnx::AttributeProto::INT},
};

// Words of the specifications that no example uses.
const std::vector<std::pair<const char*, std::vector<const char*>>> kWords = {
    {"aggregate_function", {"AVERAGE", "MIN", "MAX"}},
    {"attention_mode", {"local_plus_selected"}},
    {"gate_activation", {"qwen"}},
    {"k_quant_type", {"PER_TENSOR", "PER_CHANNEL"}},
    {"kv_cache_layout", {"LATENT"}},
    {"quant_type", {"fp4", "nvfp4", "wfp4afp8", "fp8"}},
    {"reduction", {"add", "mul", "min", "max", "sum", "none"}},
};

// The attributes of the operator that are not graphs, with their types.
std::map<std::string, onnx::AttributeProto::AttributeType> AttributesOf(
    const Example& e, const onnx::ModelProto& model) {
  std::map<std::string, onnx::AttributeProto::AttributeType> types;
  if (const onnx::OpSchema* schema = SchemaOf(e, model)) {
    for (const auto& [name, attribute] : schema->attributes()) types[name] = attribute.type;
  } else {
    for (const auto& [name, type] : kWithoutDefault) types[name] = type;
  }
  for (const onnx::AttributeProto& a : DefaultsOf(e, model)) types[a.name()] = a.type();
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (node.op_type() != e.def->name || node.domain() != e.domain) continue;
    for (const onnx::AttributeProto& a : node.attribute()) types[a.name()] = a.type();
  }
  return types;
}

std::vector<onnx::AttributeProto> ValuesOf(const std::string& name,
                                           onnx::AttributeProto::AttributeType type) {
  std::map<std::string, onnx::AttributeProto> values;
  const auto add = [&](const onnx::AttributeProto& a) { values.emplace(TextOf(a), a); };
  if (type == onnx::AttributeProto::INT) {
    for (const int64_t i : {-1, 0, 1, 2, 3}) add(IntAttribute(name, i));
  }
  if (type == onnx::AttributeProto::FLOAT) {
    for (const float f : {0.F, 0.5F, 2.F}) add(FloatAttribute(name, f));
  }
  for (const auto& [attribute, words] : kWords) {
    if (type != onnx::AttributeProto::STRING || name != attribute) continue;
    for (const char* word : words) add(StringAttribute(name, word));
  }
  const auto set = SetByExamples().find(name);
  if (set != SetByExamples().end()) {
    for (const auto& [text, a] : set->second) {
      if (a.type() == type) add(a);
    }
  }
  std::vector<onnx::AttributeProto> all;
  for (auto& [text, a] : values) all.push_back(std::move(a));
  return all;
}

// False if the node has it so already.
bool Set(const onnx::AttributeProto& value, onnx::NodeProto* node) {
  for (onnx::AttributeProto& a : *node->mutable_attribute()) {
    if (a.name() != value.name()) continue;
    if (TextOf(a) == TextOf(value)) return false;
    a = value;
    return true;
  }
  *node->add_attribute() = value;
  return true;
}

}  // namespace

std::vector<onnx::AttributeProto> DefaultsOf(const Example& e, const onnx::ModelProto& model) {
  static const nlohmann::json& runtime = *new nlohmann::json(nlohmann::json::parse(
      std::ifstream(ONNXFLOPS_SOURCE_DIR "/tests/data/contrib_ops.json"))["operators"]);
  std::vector<onnx::AttributeProto> defaults;
  if (const onnx::OpSchema* schema = SchemaOf(e, model)) {
    for (const auto& [name, attribute] : schema->attributes()) {
      // That of RNN is for both directions, and a node of one direction may not say it.
      if (name == "activations" || attribute.default_value.name().empty()) continue;
      defaults.push_back(attribute.default_value);
    }
  }
  for (const auto& op : runtime) {
    if (op["domain"] != e.domain || op["op"] != e.def->name || !op.contains("defaults")) continue;
    for (const auto& [name, value] : op["defaults"].items()) {
      defaults.push_back(value.is_string()           ? StringAttribute(name, value)
                         : value.is_number_integer() ? IntAttribute(name, value)
                                                     : FloatAttribute(name, value));
    }
  }
  return defaults;
}

std::vector<Variant> SettingsOf(const Example& e, const onnx::ModelProto& model) {
  std::vector<Variant> variants;
  for (const auto& [name, type] : AttributesOf(e, model)) {
    for (const onnx::AttributeProto& value : ValuesOf(name, type)) {
      Variant v = {absl::StrCat(name, TextOf(value)), model};
      bool changed = false;
      for (onnx::NodeProto& node : *v.model.mutable_graph()->mutable_node()) {
        if (node.op_type() != e.def->name || node.domain() != e.domain) continue;
        changed = Set(value, &node) || changed;
      }
      if (changed) variants.push_back(std::move(v));
    }
  }
  return variants;
}

}  // namespace onnxflops
