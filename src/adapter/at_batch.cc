// How it works. The export's graph says which dimension of each tensor counts samples
// (batch_flow.h). Constants that hold the old batch are rewritten in a copy of the model, and
// inference runs on the copy. Every tensor must then have exactly the expected shape: so two
// independent derivations agree for each node. With a symbol as the new batch they agree for all
// batches.
//
// Sizes that the graph computes from shapes, such as those of a mask of ones, are known only after
// inference. A tensor that turns out to have the batch has it from then on, and all is followed
// again.
#include "src/adapter/at_batch.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/adapter/batch_flow.h"
#include "src/adapter/graph_editor.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/graph/fact.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

using adapter::BatchFlow;
using adapter::BatchPlace;
using adapter::InputPlace;
using adapter::KnownPlaces;

// Inputs that an error lists.
constexpr size_t kMostListed = 8;
// Rounds of inference, each of which may show that more tensors have the batch; fewer of a large
// graph.
constexpr size_t kLeastRounds = 4, kMostRounds = 100, kMostNodesOfRounds = 400'000;

const Shape* ShapeOf(const Inference& inference, OptionalValueId value) {
  const Fact* fact = inference.FactOf(value);
  return fact != nullptr && fact->is_tensor() && fact->shape.ranked() ? &fact->shape : nullptr;
}

std::string DeclaredText(const Value& value) {
  std::vector<std::string> dims;
  for (const DeclaredDim& dim : value.declared->dims) {
    dims.push_back(dim.size >= 0      ? absl::StrCat(dim.size)
                   : dim.name.empty() ? "?"
                                      : Escaped(dim.name));
  }
  return absl::StrCat(Quoted(value.name), " [", absl::StrJoin(dims, ", "), "]");
}

// Writes what depends on the batch into a copy of the model.
class BatchWriter {
 public:
  BatchWriter(const Model& model, const BatchInputs& inputs, const Expr& batch,
              const Inference& exported, const Expr& now)
      : model_(*model), exported_(exported), now_(now), editor_(model) {
    editor_.ForgetDeclared();
    for (const BatchInput& input : inputs.inputs) {
      editor_.SetInputSize(input.input, static_cast<size_t>(input.axis), batch);
    }
  }

  Model Write(const BatchFlow& flow, std::vector<std::string>* warnings) && {
    for (const auto& [at, place] : flow.expanded) ++expansions_[InputOf(at)];
    if (!flow.expanded.empty()) CountUses();
    for (const auto& [at, place] : flow.expanded) Expand(at, place, warnings);
    for (const auto& [at, sizes] : flow.sizes) SetSizes(at, sizes);
    return std::move(editor_).Finish();
  }

 private:
  ValueId InputOf(const InputPlace& at) const { return *model_.node(at.node).inputs[at.input]; }

  // By an initializer or a Constant.
  bool IsWritten(ValueId id) const {
    const Value& value = model_.value(id);
    if (value.initializer) return !value.is_graph_input;
    return value.producer && model_.node(*value.producer).op_type == "Constant";
  }

  // Operators may share a constant.
  void SetConstant(const InputPlace& at, const Dims& sizes, const std::vector<int64_t>& dims) {
    const absl::string_view name = model_.value(InputOf(at)).name;
    std::vector<std::string> texts;
    for (const Expr& size : sizes) texts.push_back(size.ToString());
    const auto [known, is_new] = constants_.try_emplace({std::string(name), texts}, 0);
    if (is_new) known->second = editor_.AddSizes(name, sizes, dims);
    editor_.SetInput(at.node, at.input, known->second);
  }

  // Where sizes are computed, the constant among them that holds the batch is changed. What comes
  // from a Shape follows by itself.
  void SetSizes(const InputPlace& at, const Dims& sizes) {
    const ValueId value = InputOf(at);
    const Fact* fact = exported_.FactOf(value);
    const OptionalNodeId producer = model_.value(value).producer;
    const Node* node = producer ? &model_.node(*producer) : nullptr;
    if (IsWritten(value) || node == nullptr) {
      SetConstant(at, sizes, {static_cast<int64_t>(sizes.size())});
    } else if (node->op_type == "Where" && node->inputs.size() == 3 &&
               IsWritten(*node->inputs[2]) && KnownInts(*node->inputs[2]).size() == sizes.size()) {
      SetSizes({*producer, 2}, sizes);  // -1 stands for the size of the input
    } else if (node->op_type == "Concat" && node->inputs.size() == sizes.size()) {
      const Dims old = KnownInts(value);
      for (size_t i = 0; i < sizes.size() && old.size() == sizes.size(); ++i) {
        const bool follows = old[i] == Expr(-1) || old[i] == Expr(0) || old[i] == sizes[i];
        if (!follows && node->inputs[i]) SetSize({*producer, i}, sizes[i]);
      }
    } else if (fact->constant) {
      SetConstant(at, sizes, {static_cast<int64_t>(sizes.size())});
    }
  }

  Dims KnownInts(OptionalValueId value) const {
    const Fact* fact = exported_.FactOf(value);
    return fact == nullptr ? Dims() : fact->KnownInts().value_or(Dims());
  }

  // One number, on its way from a constant through reshapes and products.
  void SetSize(InputPlace at, Expr size) {
    constexpr int kMostNodes = 16;
    for (int i = 0; i < kMostNodes; ++i) {
      const ValueId value = InputOf(at);
      const Fact* fact = exported_.FactOf(value);
      if (fact == nullptr || fact->dtype != DType::kInt64) return;
      if (IsWritten(value)) {
        const std::vector<int64_t> dims(static_cast<size_t>(fact->shape.rank()), 1);
        if (KnownInts(value).size() == 1) SetConstant(at, {size}, dims);
        return;
      }
      const OptionalNodeId producer = model_.value(value).producer;
      if (!producer) return;
      const Node& node = model_.node(*producer);
      at = {*producer, 0};
      if (!node.input(0)) return;
      if (node.op_type == "Mul") {
        if (!node.input(1)) return;
        if (!IsWritten(*node.inputs[0])) at.input = 1;
        const Dims other = KnownInts(node.inputs[1 - at.input]);
        const std::optional<Expr> rest =
            other.size() == 1 ? DivideExactly(size, other[0]) : std::nullopt;
        if (!rest || rest->error() != nullptr) return;
        size = *rest;
      } else if (node.op_type != "Unsqueeze" && node.op_type != "Squeeze" &&
                 node.op_type != "Reshape" && node.op_type != "Identity") {
        return;
      }
    }
  }

  // A value that is the same for all samples is expanded before the node that needs one for each.
  void Expand(const InputPlace& at, const BatchPlace& place, std::vector<std::string>* warnings) {
    const ValueId value = InputOf(at);
    const auto [known, is_new] = expanded_.try_emplace({value, at.node}, 0);
    if (is_new) {
      const absl::string_view name = model_.value(value).name;
      Shape one = *ShapeOf(exported_, value);
      const Shape all = AtNewBatch(one, place, now_);
      const bool is_each = one[place.axis] != Expr(1);
      one[place.axis] = 1;
      known->second = is_each ? OneOf(value, one) : value;
      if (now_ != Expr(1)) known->second = AddExpand(at.node, name, known->second, one, place);
      warnings->push_back(
          absl::StrCat(Quoted(name), " is taken as ", Escaped(all.ToString()), ": the file has ",
                       is_each ? "one for each sample of its batch" : "one for all samples"));
    }
    editor_.SetInput(at.node, at.input, known->second);
  }

  // A constant that the file has for each sample, for one sample; another one if more is read from
  // it. Its sizes are numbers.
  ValueId OneOf(ValueId value, const Shape& shape) {
    std::vector<int64_t> dims;
    for (const Expr& size : shape.dims()) dims.push_back(size.AsInt64().value_or(0));
    const DType dtype = exported_.FactOf(value)->dtype;
    const Value& written = model_.value(value);
    const bool is_constant = !written.initializer;
    if (uses_[value] > expansions_[value] || (is_constant && !HasValue(*written.producer))) {
      return editor_.AddTensor(written.name, dtype, dims);
    }
    if (is_constant) {
      editor_.ReplaceConstant(*written.producer, dims);
    } else {
      editor_.ReplaceTensor(value, dtype, dims);
    }
    return value;
  }

  bool HasValue(NodeId constant) const {
    return model_.node(constant).FindAttribute("value") != nullptr;
  }

  void CountUses() {
    for (const ValueId output : model_.graph(0).outputs) ++uses_[output];
    for (const Node& node : model_.nodes) {
      for (const OptionalValueId input : node.inputs) {
        if (input) ++uses_[*input];
      }
    }
  }

  ValueId AddExpand(NodeId before, absl::string_view name, ValueId value, const Shape& shape,
                    const BatchPlace& place) {
    Dims sizes(static_cast<size_t>(shape.rank()), 1);
    sizes[static_cast<size_t>(place.axis)] = now_;
    Node node;
    node.name = editor_.Keep(absl::StrCat(name, "/Expand"));
    node.op_type = "Expand";
    node.metadata = model_.node(before).metadata;
    const ValueId target = editor_.AddSizes(node.name, sizes, {shape.rank()});
    return editor_.AddNodeBefore(before, node, {value, target});
  }

  const ModelData& model_;
  const Inference& exported_;
  const Expr now_;
  adapter::GraphEditor editor_;
  std::map<std::pair<std::string, std::vector<std::string>>, ValueId> constants_;
  absl::flat_hash_map<ValueId, int64_t> expansions_, uses_;
  std::map<std::pair<ValueId, NodeId>, ValueId> expanded_;  // by value and reader
};

// Compares the model at the new batch with what its export leads to expect.
class BatchCheck {
 public:
  BatchCheck(const Inference& exported, const Inference& at_batch, const BatchFlow& flow,
             const adapter::BatchSizes& batch)
      : exported_(exported), at_batch_(at_batch), flow_(flow), batch_(batch) {
    const std::vector<NodeId>& nodes = at_batch.model->graph(0).nodes;
    for (size_t i = 0; i < nodes.size(); ++i) calls_[nodes[i]] = at_batch.instance(0).calls[i];
  }

  // Adds what turns out to have the batch to `known`; true if there is something. What comes after
  // it may not be as expected yet.
  absl::StatusOr<bool> Run(KnownPlaces* known) const {
    const std::vector<NodeId>& nodes = exported_.model->graph(0).nodes;
    bool found = false;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = exported_.model->node(nodes[i]);
      if (node.op_type == "Constant") continue;  // it may have been rewritten
      for (const OptionalValueId output : node.outputs) {
        if (!output) continue;
        const absl::StatusOr<bool> is_new = CheckOutput(nodes[i], *output, known);
        if (!is_new.ok() && !found) return is_new.status();
        found = found || (is_new.ok() && *is_new);
      }
      if (found) continue;
      const absl::Status& before = exported_.call(exported_.instance(0).calls[i]).problem;
      const absl::Status& problem = at_batch_.call(calls_.at(nodes[i])).problem;
      if (before.ok() && !problem.ok()) return Refuse(nodes[i], problem.message());
    }
    return found;
  }

 private:
  absl::Status Refuse(NodeId id, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(DescribeNode(*exported_.model, id), ": ", what));
  }

  absl::StatusOr<bool> CheckOutput(NodeId id, ValueId value, KnownPlaces* known) const {
    const Shape* old = ShapeOf(exported_, value);
    const Shape* now = ShapeOf(at_batch_, value);
    if (old == nullptr) return false;
    const std::optional<BatchPlace>& place = flow_.places[static_cast<size_t>(value)];
    const Shape expected = AtNewBatch(*old, place, batch_.now);
    if (now != nullptr && *now == expected) return false;
    if (now != nullptr && !place) {
      if (const std::optional<BatchPlace> found = OnlyBatch(*old, *now)) {
        return known->emplace(value, *found).second;
      }
    }
    return Refuse(id, absl::StrCat("it makes ", now == nullptr ? "?" : Escaped(now->ToString()),
                                   ", and ", Escaped(old->ToString()), " in the export: ",
                                   Escaped(expected.ToString()), " was to be expected"));
  }

  // The dimension that is the batch in both; nullopt unless it is the only one that differs.
  std::optional<BatchPlace> OnlyBatch(const Shape& old, const Shape& now) const {
    std::optional<BatchPlace> found;
    if (old.rank() != now.rank()) return std::nullopt;
    for (int axis = 0; axis < old.rank(); ++axis) {
      if (old[axis] == now[axis]) continue;
      if (found || old[axis] != Expr(batch_.old) || now[axis] != batch_.now) return std::nullopt;
      found = BatchPlace{axis};
    }
    return found;
  }

  const Inference& exported_;
  const Inference& at_batch_;
  const BatchFlow& flow_;
  const adapter::BatchSizes& batch_;
  absl::flat_hash_map<NodeId, CallId> calls_;
};

absl::Status NotAtBatch(const Model& model, const Expr& batch, int64_t old,
                        const absl::Status& why) {
  if (!absl::IsInvalidArgument(why)) return why;
  absl::string_view rest = why.message();
  absl::ConsumePrefix(&rest, absl::StrCat(Escaped(model->path), ": "));
  return absl::InvalidArgumentError(
      absl::StrCat(Escaped(model->path), ": the graph at batch ", Escaped(batch.ToString()),
                   " cannot be told from this one of batch ", old,
                   "; export the model at that batch, or with an open one:\n  ", rest));
}

absl::StatusOr<AtBatch> FitBatch(const Model& model, const BatchInputs& inputs, const Expr& batch,
                                 const adapter::BatchSizes& sizes,
                                 absl::FunctionRef<absl::StatusOr<Inference>(const Model&)> infer) {
  ASSIGN_OR_RETURN(const Inference exported, infer(model));
  KnownPlaces known;
  for (const BatchInput& input : inputs.inputs) known[input.input] = BatchPlace{input.axis};
  const size_t rounds = std::clamp(kMostNodesOfRounds / std::max<size_t>(model->nodes.size(), 1),
                                   kLeastRounds, kMostRounds);
  for (size_t i = 0; i < rounds; ++i) {
    ASSIGN_OR_RETURN(const BatchFlow flow, FollowBatch(exported, known, sizes));
    AtBatch fitted;
    fitted.model =
        BatchWriter(model, inputs, batch, exported, sizes.now).Write(flow, &fitted.warnings);
    ASSIGN_OR_RETURN(const Inference at_batch, infer(fitted.model));
    ASSIGN_OR_RETURN(const bool again, BatchCheck(exported, at_batch, flow, sizes).Run(&known));
    if (!again) return fitted;
  }
  return absl::InvalidArgumentError("too many of its sizes are computed from the batch");
}

// An error if a dimension of the inputs has that name.
absl::Status CheckName(const ModelData& model, const Expr& batch) {
  for (const ValueId input : model.graph(0).inputs) {
    const DeclaredType* type = model.value(input).declared;
    if (type == nullptr) continue;
    for (const DeclaredDim& dim : type->dims) {
      if (dim.size >= 0 || FileSymbol(dim.name) != batch.ToString()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          Escaped(model.path), ": another dimension of input ", Quoted(model.value(input).name),
          " is named ", Quoted(dim.name), "; give the batch another name"));
    }
  }
  return absl::OkStatus();
}

// The dimension of the input that is the batch, by BatchSize; nullopt if it has none.
std::optional<int> AxisOf(const Value& value, const BatchSize& batch) {
  const bool has_shape = value.declared != nullptr && value.declared->has_shape &&
                         value.declared->kind == TypeKind::kTensor && !value.initializer;
  if (!has_shape) return std::nullopt;
  int axis = 0;
  if (!batch.axes.empty()) {
    const auto named = batch.axes.find(std::string(value.name));
    if (named == batch.axes.end()) return std::nullopt;
    axis = named->second;
  }
  const bool is_there = axis >= 0 && static_cast<size_t>(axis) < value.declared->dims.size();
  return is_there ? std::make_optional(axis) : std::nullopt;
}

// An error if a named input has no such dimension.
absl::Status CheckAxes(const ModelData& model, const BatchSize& batch) {
  std::vector<std::string> names;
  for (const ValueId id : model.graph(0).inputs) names.emplace_back(model.value(id).name);
  for (const auto& [name, axis] : batch.axes) {
    const auto found = absl::c_find(names, name);
    if (found == names.end()) {
      return absl::InvalidArgumentError(absl::StrCat(Escaped(model.path), ": no input is named ",
                                                     Quoted(name), DidYouMean(name, names)));
    }
    const auto input = static_cast<size_t>(found - names.begin());
    if (AxisOf(model.value(model.graph(0).inputs[input]), batch)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(model.path), ": input ", Quoted(name), " has no dimension ", axis));
  }
  return absl::OkStatus();
}

absl::Status BatchIsOpen(const ModelData& model, const Value& value, int axis) {
  const DeclaredDim& dim = value.declared->dims[static_cast<size_t>(axis)];
  const std::string name = dim.name.empty() ? AxisSymbol(value.name, axis) : FileSymbol(dim.name);
  return absl::InvalidArgumentError(
      absl::StrCat(Escaped(model.path), ": dimension ", axis, " of input ", Quoted(value.name),
                   " is open: ", Setting("dim", absl::StrCat(Escaped(name), "=8")), " sets it"));
}

}  // namespace

absl::StatusOr<BatchInputs> FindBatch(const ModelData& model, const BatchSize& batch) {
  RETURN_IF_ERROR(CheckAxes(model, batch));
  BatchInputs found;
  std::set<int64_t> sizes;
  std::vector<std::string> texts;
  for (const ValueId id : model.graph(0).inputs) {
    const Value& value = model.value(id);
    const std::optional<int> axis = AxisOf(value, batch);
    if (!axis) continue;
    const int64_t size = value.declared->dims[static_cast<size_t>(*axis)].size;
    if (size < 0) return BatchIsOpen(model, value, *axis);
    sizes.insert(size);
    if (texts.size() < kMostListed) texts.push_back(DeclaredText(value));
    found.inputs.push_back({id, *axis});
  }
  if (sizes.size() == 1 && *sizes.begin() >= 1) {
    found.size = *sizes.begin();
    return found;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      Escaped(model.path), ": which dimension is the batch is not plain: ",
      texts.empty() ? "no input has a shape" : "the sizes of these inputs differ or are 0: ",
      absl::StrJoin(texts, ", "), found.inputs.size() > kMostListed ? ", ..." : "",
      WithSettings("; {at-batch INPUT=8} takes the first dimension of one input, and {at-batch "
                   "INPUT:1=8} dimension 1")));
}

absl::StatusOr<AtBatch> ModelAtBatch(
    const Model& model, const BatchSize& batch, const Bindings& bound,
    absl::FunctionRef<absl::StatusOr<Inference>(const Model&)> infer) {
  const Expr& size = batch.size;
  ASSIGN_OR_RETURN(const BatchInputs inputs, FindBatch(*model, batch));
  if (!size.AtLeast(1)) {
    return absl::InvalidArgumentError(absl::StrCat(Escaped(model->path), ": a batch of ",
                                                   Escaped(size.ToString()), " has no samples"));
  }
  if (size == Expr(inputs.size)) return AtBatch{model, {}};
  if (!size.is_literal()) RETURN_IF_ERROR(CheckName(*model, size));
  absl::StatusOr<AtBatch> fitted =
      FitBatch(model, inputs, size, {inputs.size, size.Substitute(bound)}, infer);
  if (!fitted.ok()) return NotAtBatch(model, size, inputs.size, fitted.status());
  return fitted;
}

}  // namespace onnxflops
