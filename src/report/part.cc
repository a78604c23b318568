#include "src/report/part.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/module/module_part.h"
#include "src/render/format.h"
#include "src/report/node_rows.h"

namespace onnxflops::report {
namespace {

CoverageInfo CoverageOf(const ModelData& model, const PartCounts& part, CoverageInfo whole) {
  absl::flat_hash_set<std::string> names;
  for (size_t i = 0; i < part.in_part.size(); ++i) {
    if (part.in_part[i]) names.insert(NodeLabel(model, model.node(static_cast<NodeId>(i))));
  }
  whole.items.erase(
      std::remove_if(whole.items.begin(), whole.items.end(),
                     [&](const CoverageItem& item) { return !names.contains(item.node); }),
      whole.items.end());
  whole.nodes = part.nodes;
  whole.counted = part.counted;
  whole.free = part.free;
  whole.unknown = part.unknown;
  return whole;
}

// Rows of the nodes in the part, each in its module there.
void KeepNodes(const ModulePart& part, Report* report) {
  std::vector<NodeRow> kept;
  for (NodeRow& row : report->nodes) {
    const int32_t place = part.place[static_cast<size_t>(row.module)];
    if (place < 0) continue;
    row.module = place;
    kept.push_back(std::move(row));
  }
  report->nodes = std::move(kept);
}

}  // namespace

absl::Status TakePart(const Inference& inference, const Counts& counts, const ModuleTree& tree,
                      const std::string& glob, Report* report) {
  const ModelData& model = *inference.model;
  absl::StatusOr<ModulePart> part = SelectModules(tree, glob);
  if (!part.ok()) {
    return absl::Status(part.status().code(),
                        absl::StrCat(Escaped(model.path), ": ", part.status().message()));
  }
  const PartCounts inside = CountPart(inference, counts, tree, *part);
  report->part = glob;
  const Module& root = part->modules[0];
  static_cast<Amounts&>(report->totals) = *root.amounts;
  report->totals.SetBackward(/*exact_backward=*/false);
  report->totals.lower_bound = root.lower_bound;
  report->census = inside.total.flops;
  report->int_census = inside.total.int_ops;
  report->macs_by_dtype = inside.total.macs_by_dtype;
  report->causal_nodes = inside.causal;
  report->coverage = CoverageOf(model, inside, std::move(report->coverage));
  report->by_op.clear();
  for (const auto& [key, op] : inside.by_op) {
    const auto nodes = inside.op_nodes.find(key);
    report->by_op.push_back({op.amounts, key.second, key.first,
                             nodes == inside.op_nodes.end() ? 0 : nodes->second, op.nodes,
                             op.lower_bound});
  }
  KeepNodes(*part, report);
  report->modules = std::move(part->modules);
  return absl::OkStatus();
}

}  // namespace onnxflops::report
