// How it works. If the condition is known, only the taken branch exists: its outputs are those of
// the node. If not, both are evaluated. The costlier is chosen for the count, and a dimension that
// differs between the branches becomes a symbol named after the If. The user may bind this name to
// a number. If the condition is then known in another count, for example at other sizes, the bound
// name must not be lost: an open dimension of the branch takes its value, and the branch is
// evaluated again.
//
// SequenceMap runs its body per item if the items are known one by one, since their sizes may
// differ; otherwise once, with the cost times the length.
#include "src/infer/control_flow.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status_macros.h"
#include "src/infer/body_facts.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::infer {

namespace {

// ---- If

// A dimension that is open here, but was bound under the name that it has when the condition is
// open: takes that value. True when a symbol of the branch got its value by that, so that the
// branch has to be evaluated again.
bool UseBindings(SymbolTable& symbols, const std::string& place, Facts* outputs) {
  bool again = false;
  const std::string symbol = DataSymbol("if", place);
  for (Fact& fact : *outputs) {
    if (!fact.is_tensor() || !fact.shape.ranked()) continue;
    for (int axis = 0; axis < fact.shape.rank(); ++axis) {
      Expr& dim = fact.shape[axis];
      if (dim.is_literal()) continue;
      std::optional<int64_t> bound = symbols.BoundTo(absl::StrCat(symbol, ".", axis));
      if (!bound.has_value()) bound = symbols.BoundTo(symbol);
      if (!bound.has_value()) continue;
      const std::vector<std::string> open = dim.Symbols();
      if (open.size() == 1 && open[0] == dim.ToString()) {
        symbols.Bind(open[0], *bound);
        again = true;
      }
      dim = *bound;
    }
  }
  return again;
}

// An If whose condition is known: only the branch that is taken exists.
absl::StatusOr<Facts> InferBranch(const ControlNode& node, bool taken) {
  const absl::string_view branch = taken ? "then_branch" : "else_branch";
  ASSIGN_OR_RETURN(const GraphId graph, node.BodyOf(branch));
  ASSIGN_OR_RETURN(BodyResult run, node.Run(graph, {}));
  const std::string place = node.place().text;
  Facts outputs = node.session().FactsOf(run.outputs);
  if (UseBindings(node.session().symbols(), place, &outputs)) {
    ASSIGN_OR_RETURN(run, node.Run(graph, {}));
    outputs = node.session().FactsOf(run.outputs);
    UseBindings(node.session().symbols(), place, &outputs);
  }
  node.call().bodies = {{run.instance, 1, true, branch}};
  return outputs;
}

absl::StatusOr<Facts> InferIf(const ControlNode& node) {
  ASSIGN_OR_RETURN(const GraphId then_graph, node.BodyOf("then_branch"));
  ASSIGN_OR_RETURN(const GraphId else_graph, node.BodyOf("else_branch"));
  const std::optional<bool> condition = KnownBool(node.view().input(0));
  if (condition.has_value()) return InferBranch(node, *condition);
  ASSIGN_OR_RETURN(const BodyResult then_run, node.Run(then_graph, {}));
  ASSIGN_OR_RETURN(const BodyResult else_run, node.Run(else_graph, {}));
  node.call().bodies = {{then_run.instance, 1, true, "then_branch"},
                        {else_run.instance, 1, true, "else_branch"}};
  node.call().choose_larger = true;
  ++node.session().undecided_branches();
  Facts outputs;
  for (size_t i = 0; i < std::min(then_run.outputs.size(), else_run.outputs.size()); ++i) {
    outputs.push_back(node.facts()[node.Join(then_run.outputs[i], else_run.outputs[i],
                                             static_cast<int>(i), "if")]);
  }
  return outputs;
}

// ---- SequenceMap

// The inputs of the body for one item, or for any item if they are not known one by one.
FactIds InputsOfItem(const ControlNode& node, bool by_item, size_t trip) {
  FactTable& facts = node.facts();
  FactIds inputs;
  for (FactId id : node.call().inputs) {
    const Fact& input = facts[id];
    if (input.kind != Fact::Kind::kSequence) {
      inputs.push_back(id);
    } else if (by_item && input.items != nullptr && trip < input.items->size()) {
      inputs.push_back(facts.Intern(WithOrigin((*input.items)[trip], input)));
    } else {
      inputs.push_back(input.element == nullptr ? FactTable::kUnknown
                                                : facts.Intern(WithOrigin(*input.element, input)));
    }
  }
  return inputs;
}

absl::StatusOr<Facts> InferSequenceMap(const ControlNode& node) {
  ASSIGN_OR_RETURN(const GraphId body, node.BodyOf("body"));
  const Fact& first = node.view().input(0);
  if (first.kind != Fact::Kind::kSequence) {
    return absl::FailedPreconditionError("input 0 is not known as a sequence");
  }
  const bool by_item = first.items != nullptr;
  const size_t trips = by_item ? first.items->size() : 1;
  const Expr length =
      first.length.has_value() ? *first.length : node.view().FreshTripCount("length");
  std::vector<std::vector<FactId>> items(static_cast<size_t>(node.view().num_outputs()));
  for (size_t trip = 0; trip < trips; ++trip) {
    ASSIGN_OR_RETURN(const BodyResult run, node.Run(body, InputsOfItem(node, by_item, trip)));
    node.call().bodies.push_back({run.instance, by_item ? Expr(1) : length, true, "body"});
    for (size_t k = 0; k < items.size() && k < run.outputs.size(); ++k) {
      items[k].push_back(run.outputs[k]);
    }
  }
  Facts outputs;
  for (size_t k = 0; k < items.size(); ++k) {
    FactId element = items[k].empty() ? FactTable::kUnknown : items[k].front();
    for (FactId item : items[k]) {
      element = node.Join(element, item, static_cast<int>(k), "sequencemap");
    }
    const Fact& any = node.facts()[element];
    Fact sequence = WithOrigin(Fact::Sequence(any, length), any);
    if (by_item) {
      const Facts all = node.session().FactsOf(items[k]);
      sequence.items = std::make_shared<const std::vector<Fact>>(all.begin(), all.end());
    }
    outputs.push_back(std::move(sequence));
  }
  return outputs;
}

}  // namespace

absl::StatusOr<Facts> InferControlFlow(const ControlNode& node) {
  switch (node.view().def().control_flow) {
    case ControlFlow::kIf:
      return InferIf(node);
    case ControlFlow::kLoop:
      return InferLoop(node);
    case ControlFlow::kScan:
      return InferScan(node);
    case ControlFlow::kSequence:
      return InferSequenceMap(node);
    case ControlFlow::kNone:
      break;
  }
  return absl::InternalError("an operator without control flow");
}

}  // namespace onnxflops::infer
