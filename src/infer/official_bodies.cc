// Nodes whose operator has no row, counted through the function body that ONNX defines it by.
//
// The types of a node's inputs may decide its body, and may follow from another such node's: so
// nodes are looked up in rounds, each with what the last inference knows, until nothing is new.
#include <algorithm>
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/infer/evaluator.h"
#include "src/load/load.h"

namespace onnxflops {
namespace {

using protozero::pbf_writer;

constexpr char kOfficialDomains[] = "ai.onnx";  // and those below it; "" is one of them

bool IsOfficial(absl::string_view domain) {
  return domain.empty() || absl::StartsWith(domain, kOfficialDomains);
}

// ---- The request, field numbers as of onnx.proto

std::string ShapeProto(const Shape& shape) {
  std::string bytes;
  pbf_writer proto(bytes);
  for (const Expr& dim : shape.dims()) {
    pbf_writer out(proto, 1);
    if (dim.is_literal()) out.add_int64(1, static_cast<int64_t>(dim.literal()));
  }
  return bytes;
}

std::string TensorTypeProto(const Fact& fact) {
  std::string tensor, bytes;
  pbf_writer fields(tensor);
  fields.add_int32(1, static_cast<int32_t>(fact.dtype));
  if (fact.shape.ranked()) fields.add_message(2, ShapeProto(fact.shape));
  pbf_writer(bytes).add_message(1, tensor);
  return bytes;
}

// Empty for what is not known, or no tensor, nor a sequence or an optional of one.
std::string TypeProto(const Fact& fact) {
  if (fact.is_tensor()) return fact.dtype == DType::kUndefined ? "" : TensorTypeProto(fact);
  const bool is_sequence = fact.kind == Fact::Kind::kSequence;
  if (!is_sequence && fact.kind != Fact::Kind::kOptional) return "";
  if (fact.element == nullptr || !fact.element->is_tensor()) return "";
  std::string outer, bytes;
  pbf_writer(outer).add_message(1, TensorTypeProto(*fact.element));
  pbf_writer(bytes).add_message(is_sequence ? 4 : 9, outer);
  return bytes;
}

std::string NodeProto(const Node& node) {
  std::string bytes;
  pbf_writer proto(bytes);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    proto.add_string(1, node.inputs[i] ? absl::StrCat("i", i) : "");
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    proto.add_string(2, node.outputs[i] ? absl::StrCat("o", i) : "");
  }
  proto.add_string(4, node.op_type.data(), node.op_type.size());
  proto.add_string(7, node.domain.data(), node.domain.size());
  // Behind the rest, whole as they stand in the file.
  if (node.attributes_comparable) absl::StrAppend(&bytes, node.attribute_bytes);
  return bytes;
}

// The FunctionProto that asks for one application, without its overload.
std::string Question(const Inference& inference, const Call& call) {
  const Node& node = inference.model->node(call.node);
  std::string bytes;
  pbf_writer proto(bytes);
  proto.add_message(7, NodeProto(node));
  {
    pbf_writer opset(proto, 9);
    opset.add_string(1, node.domain.data(), node.domain.size());
    opset.add_int64(2, call.opset);
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const std::string type = TypeProto(inference.fact(call.inputs[i]));
    if (type.empty()) continue;
    pbf_writer info(proto, 12);
    info.add_string(1, absl::StrCat("i", i));
    info.add_message(2, type);
  }
  if (!node.attributes_comparable) {
    pbf_writer partial(proto, 14);
    partial.add_string(1, "partial");
  }
  return bytes;
}

// ---- The rounds

// All that is asked about one node, which stands in as many functions or trips as it likes.
using Questions = std::set<std::string>;
constexpr size_t kBytesAroundQuestion = 128;  // to keep one

class Rounds {
 public:
  Rounds(Inference inference, const InferOptions& options)
      : inference_(std::move(inference)), options_(options) {}

  Inference Run() {
    for (int round = 0; round < kMaxBodyRounds && Next(); ++round) {
    }
    Warn();
    return std::move(inference_);
  }

 private:
  // By what is asked, the nodes that it is asked about; of what was not asked before.
  absl::btree_map<Questions, std::vector<NodeId>> Open() {
    absl::btree_map<NodeId, Questions> of_node;
    size_t bytes = 0;
    for (const Call& call : inference_.calls) {
      const Node& node = inference_.model->node(call.node);
      if (call.def != nullptr || node.function || !IsOfficial(node.domain)) continue;
      if (bytes > kMaxBodyQuestionBytes) break;
      std::string question = Question(inference_, call);
      bytes += kBytesAroundQuestion + question.size();
      of_node[call.node].insert(std::move(question));
    }
    absl::btree_map<Questions, std::vector<NodeId>> open;
    for (auto& [node, questions] : of_node) {
      if (!asked_.contains(questions)) open[std::move(questions)].push_back(node);
    }
    return open;
  }

  // False when nothing is left to ask, or no answer leads further.
  bool Next() {
    const auto open = Open();
    std::string request;
    std::vector<std::pair<NodeId, std::string>> calls;
    for (const auto& [questions, nodes] : open) {
      if (asked_.size() >= kMaxBodyQuestions) break;
      const std::string overload = absl::StrCat(asked_.size());
      asked_.insert(questions);
      pbf_writer model(request);
      for (const std::string& question : questions) {
        pbf_writer function(model, 25);
        function.add_string(13, overload);
        absl::StrAppend(&request, question);
      }
      for (NodeId node : nodes) calls.emplace_back(node, overload);
    }
    if (calls.empty()) return false;
    const absl::StatusOr<std::string> found = options_.bodies->Find(request);
    return found.ok() && !found->empty() && Take(*found, calls);
  }

  // Bodies that do not fit leave the nodes unknown, which they are without.
  bool Take(const std::string& bodies, const std::vector<std::pair<NodeId, std::string>>& calls) {
    const absl::StatusOr<Model> model = WithFunctions(inference_.model, bodies, calls);
    if (!model.ok()) return Fails(model.status());
    absl::StatusOr<Inference> next = Evaluator(*model, options_).Run();
    if (!next.ok()) return Fails(next.status());
    inference_ = *std::move(next);
    return true;
  }

  bool Fails(const absl::Status& status) {
    inference_.warnings.push_back(
        absl::StrCat("official function bodies do not fit: ", status.message()));
    return false;
  }

  void Warn() {
    const ModelData& model = *inference_.model;
    std::set<std::string> operators;
    for (const Call& call : inference_.calls) {
      const Node& node = model.node(call.node);
      if (!node.function || !model.function(*node.function).official) {
        continue;
      }
      operators.insert(node.domain.empty() ? std::string(node.op_type)
                                           : absl::StrCat(node.domain, ".", node.op_type));
    }
    for (const std::string& name : operators) {
      inference_.warnings.push_back(
          absl::StrCat(name, " has no rule: counted through its official function body"));
    }
  }

  Inference inference_;
  const InferOptions& options_;
  absl::flat_hash_set<Questions> asked_;
};

}  // namespace

Inference WithOfficialBodies(Inference inference, const InferOptions& options) {
  return Rounds(std::move(inference), options).Run();
}

}  // namespace onnxflops
