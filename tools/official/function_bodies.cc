#include "tools/official/function_bodies.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "onnx/defs/schema.h"

namespace onnxflops::tools {
namespace {

using onnx::FunctionProto;
using onnx::NodeProto;
using onnx::OpSchema;

// The types of the node's inputs, default ones if unknown.
std::vector<onnx::TypeProto> InputTypes(const FunctionProto& question) {
  std::vector<onnx::TypeProto> types;
  for (const std::string& input : question.node(0).input()) {
    types.emplace_back();
    for (const onnx::ValueInfoProto& info : question.value_info()) {
      if (info.name() == input) types.back() = info.type();
    }
  }
  return types;
}

// A body may depend on the values of the node's attributes, and on all types.
bool IsWholeContext(const FunctionProto& question, const std::vector<onnx::TypeProto>& types) {
  const NodeProto& node = question.node(0);
  const bool types_known =
      std::equal(types.begin(), types.end(), node.input().begin(),
                 [](const onnx::TypeProto& type, const std::string& input) {
                   return input.empty() || type.value_case() != onnx::TypeProto::VALUE_NOT_SET;
                 });
  const bool refers = std::any_of(
      node.attribute().begin(), node.attribute().end(),
      [](const onnx::AttributeProto& attribute) { return attribute.has_ref_attr_name(); });
  return types_known && !refers && question.metadata_props().empty();
}

// The first opset in which an operator has a body: bodies of old operators are written in newer
// ones, which they import themselves.
int FirstBody(const OpSchema& schema) {
  std::vector<int> opsets = schema.function_opset_versions();
  if (opsets.empty()) opsets = schema.context_dependent_function_opset_versions();
  return opsets.empty() ? 0 : *std::min_element(opsets.begin(), opsets.end());
}

std::optional<FunctionProto> BuildBody(const OpSchema& schema, const FunctionProto& question,
                                       int opset) {
  const int body_opset = std::max(opset, FirstBody(schema));
  if (const FunctionProto* body = schema.GetFunction(body_opset)) return *body;
  if (!schema.HasContextDependentFunction()) return std::nullopt;
  const std::vector<onnx::TypeProto> types = InputTypes(question);
  if (!IsWholeContext(question, types)) return std::nullopt;
  FunctionProto body;
  const onnx::FunctionBodyBuildContextImpl context(question.node(0), types);
  if (!schema.BuildContextDependentFunction(context, body, body_opset)) return std::nullopt;
  return body;
}

// The library does not set default attributes in an expanded body.
void AddDefaults(const OpSchema& schema, FunctionProto* body) {
  body->clear_attribute();
  body->clear_attribute_proto();
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.default_value.has_name()) {
      *body->add_attribute_proto() = attribute.default_value;
    } else {
      body->add_attribute(name);
    }
  }
}

// Some bodies compute only the outputs that the node uses, but list all. False if a used one is not
// computed.
bool MendOutputs(const NodeProto& node, FunctionProto* body) {
  std::set<std::string> made(body->input().begin(), body->input().end());
  for (const NodeProto& part : body->node())
    made.insert(part.output().begin(), part.output().end());
  int end = 0;  // after the last output that is computed
  for (int i = 0; i < body->output_size(); ++i) {
    if (made.count(body->output(i)) != 0) {
      end = i + 1;
    } else if (i < node.output_size() && !node.output(i).empty()) {
      return false;
    }
  }
  body->mutable_output()->DeleteSubrange(end, body->output_size() - end);
  for (std::string& output : *body->mutable_output()) {
    // The position must be filled for the outputs after it; its value is never read.
    if (made.count(output) == 0) output = *made.begin();
  }
  return true;
}

std::optional<FunctionProto> BodyOf(const FunctionProto& question) {
  if (question.node_size() != 1 || question.opset_import_size() != 1) return std::nullopt;
  const NodeProto& node = question.node(0);
  const auto opset =
      static_cast<int>(std::min<int64_t>(question.opset_import(0).version(), INT32_MAX));
  const OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, node.domain());
  if (schema == nullptr || schema->Deprecated()) return std::nullopt;
  try {
    std::optional<FunctionProto> body = BuildBody(*schema, question, opset);
    if (!body.has_value() || body->node().empty() || !MendOutputs(node, &*body)) {
      return std::nullopt;
    }
    AddDefaults(*schema, &*body);
    body->clear_doc_string();
    body->set_name(node.op_type());
    body->set_overload(question.overload());
    return body;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

onnx::ModelProto FindFunctionBodies(const onnx::ModelProto& request) {
  onnx::ModelProto found;
  for (const FunctionProto& question : request.functions()) {
    std::optional<FunctionProto> body = BodyOf(question);
    if (body.has_value()) *found.add_functions() = *std::move(body);
  }
  return found;
}

}  // namespace onnxflops::tools
