// How it works. A node may run in many places: in each call of its function, and in bodies that run
// many times. Attribution lists all executions. They are sorted by node (a counting sort, since
// node numbers are small and dense), and those of one node are summed, equal ones first counted and
// then multiplied. Most nodes run once and many of them do the same work, so their texts are made
// once and shared. A model may call functions so often that not all calls are listed; nodes inside
// then get no note, since part of a sum would look like the sum.
#include "src/annotate/node_notes.h"

#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/cost/amounts_sum.h"
#include "src/module/attribution.h"
#include "src/module/module_path.h"
#include "src/render/known.h"
#include "src/symbolic/work.h"

namespace onnxflops::annotate {

using modules::Attribution;
using modules::CostPart;
using modules::Execution;
using report::Known;
using report::KnownText;
using report::LowerBound;

class NodeNoteMaker {
 public:
  NodeNoteMaker(const Inference& inference, const Counts& counts)
      : in_(inference),
        model_(*inference.model),
        counts_(counts),
        work_(MaxSteps(model_, in_.limits)) {}

  absl::StatusOr<NodeNotes> Make() {
    const Attribution attribution =
        modules::AttributeNodes(in_, counts_, modules::ExecutionFilter::kAll);
    attribution_ = &attribution;
    SortByNode();
    notes_.figures_of_node_.assign(model_.nodes.size(), NodeNotes::kNoNote);
    for (size_t node = 0; node < model_.nodes.size(); ++node) {
      const absl::Span<const size_t> runs = RunsOf(node);
      // If some calls were not listed, a body's sum would be only a part.
      if (runs.empty() || (attribution.not_opened && model_.nodes[node].graph != 0)) continue;
      notes_.figures_of_node_[node] = FiguresOf(static_cast<NodeId>(node), runs);
      if (work_.exceeded()) return TooMuchWork();
    }
    for (OptionalModuleId module : attribution.node_module) {
      notes_.module_of_node_.push_back(module.value_or(kRootModule));
    }
    for (size_t m = 0; m < attribution.paths.size(); ++m) {
      notes_.modules_.push_back(Printable(attribution.paths.path(static_cast<ModuleId>(m))));
    }
    return std::move(notes_);
  }

 private:
  absl::Status TooMuchWork() const {
    return LimitError(
        "steps-per-node",
        absl::StrCat(Escaped(model_.path), ": the sums of all nodes take more than ",
                     MaxSteps(model_, in_.limits), " steps of arithmetic (steps-per-node)"));
  }

  // Positions of executions, by node.
  void SortByNode() {
    const std::vector<Execution>& all = attribution_->executions;
    begin_.assign(model_.nodes.size() + 1, 0);
    for (const Execution& one : all) ++begin_[static_cast<size_t>(one.node) + 1];
    for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    std::vector<size_t> next(begin_.begin(), begin_.end() - 1);
    order_.resize(all.size());
    for (size_t i = 0; i < all.size(); ++i) order_[next[static_cast<size_t>(all[i].node)]++] = i;
  }
  absl::Span<const size_t> RunsOf(size_t node) const {
    return absl::MakeConstSpan(order_).subspan(begin_[node], begin_[node + 1] - begin_[node]);
  }

  // Nodes that run once and are alike share the figures.
  int32_t FiguresOf(NodeId node, absl::Span<const size_t> runs) {
    const Execution& first = attribution_->executions[runs[0]];
    if (runs.size() > 1 || first.times != 0) return Add(node, runs);
    const auto [known, is_new] = by_work_.try_emplace(first.work, 0);
    if (is_new) known->second = Add(node, runs);
    return known->second;
  }

  int32_t Add(NodeId node, absl::Span<const size_t> runs) {
    absl::flat_hash_map<std::pair<int32_t, int32_t>, int64_t> repeated;
    std::vector<std::pair<int32_t, int32_t>> order;
    for (size_t i : runs) {
      const Execution& one = attribution_->executions[i];
      if (++repeated[{one.work, one.times}] == 1) order.emplace_back(one.work, one.times);
    }
    const bool whole = model_.node(node).function.has_value();
    AmountsSum sum;
    bool lower_bound = false, unknown = false;
    std::string reason;
    for (const auto& [work, times] : order) {
      const CallCost& cost = counts_.cost(work / modules::kNumCostParts);
      const auto part = static_cast<CostPart>(work % modules::kNumCostParts);
      const Tally& tally = part == CostPart::kOwn && !whole ? cost.own() : cost.tally();
      const Expr runs_of_it =
          attribution_->times[static_cast<size_t>(times)] * repeated[std::make_pair(work, times)];
      sum.Add(part == CostPart::kShapeWork ? tally.ShapeWorkAmounts() : tally.amounts, runs_of_it);
      lower_bound |= tally.lower_bound;
      unknown |= cost.coverage == Coverage::kUnknown;
      if (unknown && reason.empty()) reason = Escaped(cost.problem.message());
    }
    notes_.figures_.push_back(TextsOf(sum.Total(), unknown, lower_bound, std::move(reason)));
    return static_cast<int32_t>(notes_.figures_.size() - 1);
  }

  static NodeNotes::Figures TextsOf(const Amounts& amounts, bool unknown, bool lower_bound,
                                    std::string reason) {
    const auto text = [&](const Expr& value) -> std::string {
      const Known known = unknown || value.error() != nullptr ? Known::kNothing
                          : lower_bound                       ? LowerBound(value)
                                                              : Known::kExact;
      return KnownText(known, Printable(value.Shortened(kMaxShownFormula)));
    };
    return {text(amounts.macs), text(amounts.flops), text(kBytesMoved.In(amounts)),
            std::move(reason)};
  }

  const Inference& in_;
  const ModelData& model_;
  const Counts& counts_;
  const WorkLimit work_;
  const Attribution* attribution_ = nullptr;
  std::vector<size_t> begin_, order_;
  absl::flat_hash_map<int32_t, int32_t> by_work_;
  NodeNotes notes_;
};

std::vector<Note> NodeNotes::Of(NodeId node) const {
  const auto at = static_cast<size_t>(node);
  std::vector<Note> notes;
  if (at >= figures_of_node_.size() || figures_of_node_[at] == kNoNote) return notes;
  const Figures& figures = figures_[static_cast<size_t>(figures_of_node_[at])];
  notes = {{"onnxflops.macs", figures.macs},
           {"onnxflops.flops", figures.flops},
           {"onnxflops.bytes", figures.bytes}};
  if (!figures.reason.empty()) notes.emplace_back("onnxflops.reason", figures.reason);
  const std::string& module = modules_[static_cast<size_t>(module_of_node_[at])];
  if (!module.empty()) notes.emplace_back("onnxflops.module", module);
  return notes;
}

absl::StatusOr<NodeNotes> MakeNodeNotes(const Inference& inference, const Counts& counts) {
  return NodeNoteMaker(inference, counts).Make();
}

}  // namespace onnxflops::annotate
