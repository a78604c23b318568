// How it works. Nodes that only pass on their input are skipped (look_through.h). Then the exact
// backward pass gives the inputs of each node that get a gradient. A walk over the graphs, the
// innermost first, finds for each node what autograd saves for these gradients. The row of its
// operator decides (Gradient::keeps), unless the file names the node's call of PyTorch
// (call_groups.h, exporter/fx_node.h); then the rule of that call decides. A saved tensor is a
// storage (storage.h), counted once, or a copy. If the file leaves open what was called, the node
// is noted as unknown, with the reason (unsure.h). The walk is in saved_walk.h. A second walk, in
// which the recomputed modules run again, gives what --recompute saves.
#include "src/memory/saved.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/limit_error.h"
#include "src/base/status_macros.h"
#include "src/count/count_model.h"
#include "src/exporter/tensor_name.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/memory/look_through.h"
#include "src/memory/saved_walk.h"
#include "src/memory/step_timeline.h"
#include "src/module/attribution.h"
#include "src/resolve/parameters.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/expr_sum.h"
#include "src/training/attention_pattern.h"
#include "src/training/backward.h"
#include "src/training/recompute.h"
#include "src/training/trained.h"
#include "src/training/training_options.h"

namespace onnxflops {
namespace memory {
namespace {

absl::int128 BytesOfTensor(const Tensor& tensor) {
  return (absl::int128(tensor.elements) * BitsPerElement(tensor.dtype) + 7) / 8;
}

// Bytes that exist from before the step to its end.
Expr FixedBytes(const Inference& inference, const TrainingMemory& memory) {
  const ModelData& model = *inference.model;
  absl::int128 tensors = 0;
  for (const resolve::Parameter& parameter : resolve::FindParameters(model, inference.ties)) {
    tensors += parameter.bytes;
  }
  const std::vector<resolve::TensorRole> roles = resolve::FindRoles(model);
  for (size_t t = 0; t < roles.size(); ++t) {
    if (roles[t] != resolve::TensorRole::kBuffer) continue;
    const Tensor& tensor = model.tensor(static_cast<TensorId>(t));
    tensors += BytesOfTensor(tensor);
    // torch's BatchNorm counts its batches in an int64, in addition to mean and variance.
    if (exporter::IsRunningStatistic(tensor.name)) tensors += kPlaceBytes / 2;
  }
  ExprSum sum;
  sum.Add(Expr(tensors + memory.optimizer_bytes + memory.master_bytes));
  for (ValueId value : model.graph(0).inputs) {
    const Fact* fact = model.value(value).initializer ? nullptr : inference.FactOf(value);
    if (fact != nullptr) sum.Add(SizeOf(*fact));
  }
  return sum.Total();
}

// "0", "block1-0", "encoder_layer_0": one of several equal blocks.
bool IsNumbered(absl::string_view name) {
  const size_t last = name.find_last_not_of("0123456789");
  if (last == absl::string_view::npos) return true;
  return last + 1 < name.size() && (name[last] == '-' || name[last] == '_');
}

// By place in the main graph, a number for the module whose variables may keep the node's results
// alive until it returns: the repeated block, such as "layers.0" of "layers.0.mlp.fc1", else the
// enclosing module.
std::vector<int32_t> FindHolders(const Inference& inference,
                                 const modules::Attribution& attribution) {
  const auto holder_of = [](absl::string_view path) {
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = path.find('.', begin);
      if (end == absl::string_view::npos) break;
      if (IsNumbered(path.substr(begin, end - begin))) return path.substr(0, end);
      begin = end + 1;
    }
    const size_t last = path.rfind('.');
    return last == absl::string_view::npos ? absl::string_view() : path.substr(0, last);
  };
  absl::flat_hash_map<absl::string_view, int32_t> numbers;
  std::vector<int32_t> holders;
  for (NodeId id : inference.model->graph(0).nodes) {
    const OptionalModuleId module = attribution.node_module[static_cast<size_t>(id)];
    const absl::string_view path = module ? attribution.paths.path(*module) : absl::string_view();
    const auto number = static_cast<int32_t>(numbers.size());
    holders.push_back(numbers.emplace(holder_of(path), number).first->second);
  }
  return holders;
}

// Adds gradients and the optimizer's state.
void AddOptimizer(const Inference& inference, const training::TrainedParameters& trained,
                  const TrainingOptions& options, TrainingMemory* memory) {
  constexpr int kMasterBytes = 4;  // float32
  const OptimizerInfo& info = InfoOf(options.optimizer);
  memory->trained_params = trained.elements;
  memory->gradient_bytes = trained.bytes;
  memory->optimizer_bytes = absl::int128(trained.tensors) * info.step_bytes;
  for (const resolve::Parameter& parameter :
       resolve::FindParameters(*inference.model, inference.ties)) {
    if (!trained.value[static_cast<size_t>(parameter.value)]) continue;
    const absl::int128 wide = parameter.elements * kMasterBytes;
    const bool has_master = options.float32_masters && parameter.bytes < wide;
    if (has_master) memory->master_bytes += wide;
    memory->optimizer_bytes += (has_master ? wide : parameter.bytes) * info.states;
  }
}

}  // namespace
}  // namespace memory

absl::StatusOr<TrainingMemory> FindTrainingMemory(const Inference& given, const Counts& counts,
                                                  CausalCounting causal,
                                                  const TrainingOptions& options,
                                                  const Bindings& at) {
  const std::optional<Inference> changed = memory::LookThrough(given, counts);
  const Inference& inference = changed ? *changed : given;
  ASSIGN_OR_RETURN(const Backward backward, CountBackward(inference, counts, causal, options));
  const modules::Attribution attribution =
      modules::AttributeNodes(inference, counts, modules::ExecutionFilter::kAll);
  ASSIGN_OR_RETURN(const training::TrainedParameters trained,
                   training::FindTrained(*inference.model, attribution, inference.ties, options));
  const training::AttentionPatterns patterns = training::FindAttentionPatterns(inference);
  TrainingMemory result;
  const auto walk_with = [&](const std::vector<std::vector<size_t>>& recomputed) {
    return memory::SavedWalk(inference, counts, options, backward.nodes, patterns, recomputed);
  };
  std::vector<std::vector<size_t>> recomputed =
      training::RecomputedGroups(inference, attribution, patterns, options.recompute);
  memory::SavedWalk walk = walk_with({});
  RETURN_IF_ERROR(walk.Run(&result));
  memory::StepFacts facts = walk.TakeFacts();
  if (!recomputed.empty()) {
    result.warnings.clear();
    RETURN_IF_ERROR(walk_with(recomputed).Run(&result));
  }
  memory::AddOptimizer(inference, trained, options, &result);
  result.warnings.insert(result.warnings.end(), trained.warnings.begin(), trained.warnings.end());
  if (const char* error = result.saved_bytes.error()) {
    return LimitError(LimitOf(error), absl::StrCat("what backward keeps ", error));
  }
  facts.recomputed = std::move(recomputed);
  facts.holder = memory::FindHolders(inference, attribution);
  facts.trained = trained.value;
  facts.fixed += memory::FixedBytes(inference, result);
  facts.at = at;
  ASSIGN_OR_RETURN(result.step,
                   memory::FindStepPeak(inference, backward.nodes, facts, options.loss));
  return result;
}

}  // namespace onnxflops
