#include "src/profile/control_rows.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/limits.h"
#include "src/render/format.h"

namespace onnxflops::profile {
namespace {

// The body of the model that a body of the executed graph is, by the name of its attribute.
OptionalGraphId BodyOf(const Node& node, absl::string_view attribute) {
  const Attribute* found = node.FindAttribute(attribute);
  if (found == nullptr || found->graphs.empty()) return kNone;
  return found->graphs[0];
}

class ControlMaker {
 public:
  ControlMaker(const Side& original, const Side* optimized, const Profile& profile,
               const RunTimes& times)
      : original_(original),
        ran_(optimized != nullptr ? *optimized : original),
        profile_(profile),
        times_(times) {
    for (size_t k = 0; k < profile.kernels.size(); ++k) {
      const int32_t parent = profile.kernels[k].parent;
      if (parent < 0 || ran_.matched[k].empty() || !IsUsed(k)) continue;
      const GraphId graph = ran_.model().node(ran_.matched[k][0]).graph;
      ran_graphs_[parent].insert(graph);
    }
  }

  std::vector<ProfileControl> Run() const {
    std::vector<ProfileControl> rows;
    for (size_t k = 0; k < profile_.kernels.size(); ++k) {
      const TimeSpread bodies = times_.BodiesOf(static_cast<int32_t>(k));
      if (bodies.most_ns == 0) continue;
      rows.push_back(Row(k, bodies));
    }
    return rows;
  }

 private:
  bool IsUsed(size_t k) const { return times_.CallsOf(static_cast<int32_t>(k)).most_ns > 0; }

  ProfileControl Row(size_t k, const TimeSpread& bodies) const {
    const ProfileKernel& kernel = profile_.kernels[k];
    ProfileControl row;
    row.node = kernel.name;
    row.op = kernel.op;
    row.bodies = bodies;
    if (ran_.matched[k].empty()) return row;
    const Node& node = ran_.model().node(ran_.matched[k][0]);
    const Node* const of_model = InModel(k);
    const bool is_if = node.FindAttribute("then_branch") != nullptr;
    if (is_if) {
      row.taken = Branches(node, [&](GraphId graph) {
        const auto it = ran_graphs_.find(static_cast<int32_t>(k));
        return it != ran_graphs_.end() && it->second.contains(graph);
      });
    }
    if (of_model == nullptr) return row;
    if (is_if) {
      row.taken_count = Branches(*of_model, [&](GraphId graph) {
        const std::optional<Expr> runs = RunsOf(graph);
        return runs && !(*runs == Expr(0));
      });
      row.differs = !row.taken.empty() && row.taken != row.taken_count;
      return row;
    }
    if (const OptionalGraphId body = BodyOf(*of_model, "body")) {
      if (const std::optional<Expr> runs = RunsOf(*body)) {
        row.counted = runs->is_literal() ? report::SiExpr(*runs) : runs->Shortened(kMaxShownName);
        row.differs = !(*runs == Expr(bodies.median_ns)) || bodies.least_ns != bodies.most_ns;
      }
    }
    return row;
  }

  // The model's node of a kernel; null if its graph has no node of this name.
  const Node* InModel(size_t k) const {
    if (original_.matched[k].empty()) return nullptr;
    return &original_.model().node(original_.matched[k][0]);
  }

  // How often the count runs a graph; nullopt for an empty graph.
  std::optional<Expr> RunsOf(GraphId graph) const {
    for (const NodeId id : original_.model().graph(graph).nodes) {
      const NodeCost& cost = original_.costs[static_cast<size_t>(id)];
      if (cost.visited) return cost.times;
    }
    return std::nullopt;
  }

  template <typename Ran>
  static std::string Branches(const Node& node, Ran ran) {
    std::vector<absl::string_view> names;
    for (const auto& [attribute, name] :
         {std::pair("then_branch", "then"), std::pair("else_branch", "else")}) {
      const OptionalGraphId graph = BodyOf(node, attribute);
      if (graph && ran(*graph)) names.emplace_back(name);
    }
    return absl::StrJoin(names, ", ");
  }

  const Side& original_;
  const Side& ran_;
  const Profile& profile_;
  const RunTimes& times_;
  absl::flat_hash_map<int32_t, absl::btree_set<GraphId>> ran_graphs_;
};

}  // namespace

std::vector<ProfileControl> ControlRows(const Side& original, const Side* optimized,
                                        const Profile& profile, const RunTimes& times) {
  return ControlMaker(original, optimized, profile, times).Run();
}

}  // namespace onnxflops::profile
