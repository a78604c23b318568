// How it works. Function bodies are requested for nodes of ONNX's own domains that have no rule. A
// question is a model of one node, with the opset and the types of the inputs that are known
// without inference (of initializers, of constants, declared ones). Nodes with the same question
// share it, so a model of a thousand equal layers asks once. All questions of a round go to the
// source of bodies in one request. It answers with a body for each operator that it knows. The
// bodies become functions of the model, and the nodes become calls of them.
//
// A body may contain such nodes itself, so further rounds ask about the nodes that the last round
// added, until none are left or no answer helps. Rounds, questions and bytes are limited, since
// answers come from another program. If bodies do not fit their nodes, a warning says so and the
// nodes stay without a rule.
#include "src/resolve/resolve.h"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/load/with_functions.h"
#include "src/load/write_application.h"

namespace onnxflops {
namespace {

constexpr char kOfficialDomains[] = "ai.onnx";  // and domains below it; "" is ai.onnx
constexpr size_t kBytesAroundQuestion = 128;    // to keep one

bool IsOfficial(absl::string_view domain) {
  return domain.empty() || absl::StartsWith(domain, kOfficialDomains);
}

// The types of one node's inputs that are known without inference.
class InputTypes {
 public:
  // `is_stored`: whether the file stores the node's output.
  InputTypes(const ModelData& model, const Node& node,
             absl::FunctionRef<bool(const Node&)> is_stored)
      : model_(model) {
    for (const OptionalValueId input : node.inputs) {
      types_.push_back(input ? TypeOf(model.value(*input), is_stored) : nullptr);
    }
  }
  absl::Span<const DeclaredType* const> get() const { return types_; }

 private:
  const DeclaredType* TypeOf(const Value& value, absl::FunctionRef<bool(const Node&)> is_stored) {
    if (value.initializer) return TypeOfTensor(model_.tensor(*value.initializer));
    if (value.declared != nullptr || !value.producer) return value.declared;
    const Node& node = model_.node(*value.producer);
    return node.attributes.size() == 1 && is_stored(node) ? TypeOfConstant(node.attributes[0])
                                                          : nullptr;
  }

  const DeclaredType* TypeOfConstant(const Attribute& value) {
    switch (value.type) {
      case AttributeType::kTensor:
        return value.tensors.empty() ? nullptr : TypeOfTensor(model_.tensor(value.tensors[0]));
      case AttributeType::kFloat:
        return TensorType(DType::kFloat32, {});
      case AttributeType::kInt:
        return TensorType(DType::kInt64, {});
      case AttributeType::kFloats:
        return TensorType(DType::kFloat32, std::array{static_cast<int64_t>(value.floats.size())});
      case AttributeType::kInts:
        return TensorType(DType::kInt64, std::array{static_cast<int64_t>(value.ints.size())});
      default:
        return nullptr;
    }
  }

  const DeclaredType* TypeOfTensor(const Tensor& tensor) {
    return TensorType(tensor.dtype, tensor.dims);
  }

  const DeclaredType* TensorType(DType dtype, absl::Span<const int64_t> sizes) {
    std::vector<DeclaredDim>& dims = dims_.emplace_back();
    for (const int64_t size : sizes) dims.push_back({size, ""});
    DeclaredType& type = made_.emplace_back();
    type.kind = TypeKind::kTensor;
    type.dtype = dtype;
    type.has_shape = true;
    type.dims = dims;
    return &type;
  }

  const ModelData& model_;
  std::deque<std::vector<DeclaredDim>> dims_;
  std::deque<DeclaredType> made_;
  std::vector<const DeclaredType*> types_;
};

class Resolver {
 public:
  Resolver(const Model& model, const ResolveOptions& options)
      : options_(options), rows_(options.operators) {
    result_.model = model;
    default_opset_ = model->OpsetOf("").value_or(0);
  }

  Resolution Run() {
    for (int round = 0; round < kMaxBodyRounds && Next(); ++round) {
    }
    return std::move(result_);
  }

 private:
  // By question, the nodes that it is about.
  using Questions = absl::btree_map<std::string, std::vector<NodeId>>;

  // The version of a node's domain: a function may import its own.
  int64_t OpsetOf(const ModelData& model, const Node& node) const {
    if (node.opset > 0) return node.opset;
    if (const OptionalFunctionId function = model.graph(node.graph).function) {
      const auto& opsets = model.function(*function).opsets;
      for (const auto& [domain, version] : opsets) {
        if (domain == node.domain) return version;
      }
      if (!node.domain.empty() && !opsets.empty()) return 1;
    }
    return node.domain.empty() ? default_opset_ : model.OpsetOf(node.domain).value_or(1);
  }

  const OpDef* RowOf(const ModelData& model, const Node& node) {
    return rows_.Find(node.domain, node.op_type, OpsetOf(model, node)).def;
  }

  bool IsOpen(const ModelData& model, const Node& node) {
    return !node.function && IsOfficial(node.domain) && RowOf(model, node) == nullptr;
  }

  // About the nodes that were not there in the last round.
  Questions Open() {
    const ModelData& model = *result_.model;
    Questions open;
    const auto is_stored = [&](const Node& node) {
      const OpDef* row = RowOf(model, node);
      return row != nullptr && Has(row->traits, Traits::kStored);
    };
    for (; looked_at_ < model.nodes.size(); ++looked_at_) {
      const auto id = static_cast<NodeId>(looked_at_);
      const Node& node = model.node(id);
      if (!IsOpen(model, node)) continue;
      if (question_bytes_ > kMaxBodyQuestionBytes) break;
      std::string question =
          WriteApplication(node, OpsetOf(model, node), InputTypes(model, node, is_stored).get());
      question_bytes_ += kBytesAroundQuestion + question.size();
      open[std::move(question)].push_back(id);
    }
    return open;
  }

  // False when nothing is left to ask, or no answer leads further.
  bool Next() {
    std::string request;
    std::vector<std::pair<NodeId, std::string>> calls;
    for (const auto& [question, nodes] : Open()) {
      if (questions_ >= kMaxBodyQuestions) break;
      const std::string overload = absl::StrCat(questions_++);
      AppendFunction(question, overload, &request);
      for (const NodeId node : nodes) calls.emplace_back(node, overload);
    }
    if (calls.empty()) return false;
    const absl::StatusOr<std::string> found = options_.bodies->Find(request);
    return found.ok() && !found->empty() && Attach(*found, calls);
  }

  bool Attach(const std::string& bodies, const std::vector<std::pair<NodeId, std::string>>& calls) {
    absl::StatusOr<Model> model = WithFunctions(result_.model, bodies, calls);
    if (!model.ok()) {
      result_.warnings.push_back(BodiesDoNotFit(model.status()));
      return false;
    }
    result_.model = *std::move(model);
    result_.has_bodies = true;
    return true;
  }

  const ResolveOptions& options_;
  resolve::RowFinder rows_;
  Resolution result_;
  int64_t default_opset_ = 0;
  size_t looked_at_ = 0;  // nodes
  size_t questions_ = 0, question_bytes_ = 0;
};

}  // namespace

Resolution Resolve(const Model& model, const ResolveOptions& options) {
  if (options.bodies == nullptr) return {model, false, {}};
  return Resolver(model, options).Run();
}

std::string BodiesDoNotFit(const absl::Status& why) {
  return absl::StrCat("official function bodies do not fit: ", why.message());
}

}  // namespace onnxflops
