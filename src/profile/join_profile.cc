// How it works. The aim is groups: some kernels of the profile and the nodes of the model whose
// work they did. With the optimised graph, JoinGraphs() cuts both graphs at common tensors. Without
// it a kernel is joined to the nodes that it names, each node to one kernel only. Then every group
// gets the mean time of its kernels over the runs that count, and the work of its nodes.
//
// ONNX Runtime reports how often a kernel ran. If that differs from the count (a loop, a branch),
// the work is that of one execution times the calls. Bytes are those of the optimised nodes, since
// tensors inside a kernel do not go through memory. A group belongs to the smallest module that
// holds its nodes with MACs, else with FLOPs, else all of them; modules add up their groups.
//
// All figures must be numbers: a size that stays open is an error that names it. Nodes without a
// kernel are summed separately, because they were fused or folded.
#include "src/profile/join_profile.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/module/module_tree.h"
#include "src/profile/control_rows.h"
#include "src/profile/join_graphs.h"
#include "src/profile/run_times.h"
#include "src/render/format.h"
#include "src/report/node_rows.h"

namespace onnxflops::profile {
namespace {

// A group before its figures are known.
struct Draft {
  std::vector<int32_t> kernels;   // of the profile
  std::vector<NodeId> original;   // of the model
  std::vector<NodeId> optimized;  // of the optimised graph
};

// An amount as a number. An open one counts as 0 and is kept in `*open` for the error. Amounts are
// limited so that no sum overflows.
absl::int128 ValueOf(const Expr& amount, std::optional<Expr>* open) {
  constexpr absl::int128 kMost = absl::int128{1} << 90;
  if (amount.is_literal() && amount.literal() <= kMost) return amount.literal();
  if (!*open) *open = amount;
  return 0;
}

class ProfileJoiner {
 public:
  ProfileJoiner(const Side& original, const Side* optimized, const Profile& profile, int64_t warmup)
      : original_(original), optimized_(optimized), profile_(profile), times_(profile, warmup) {}

  absl::StatusOr<ProfileReport> Run() {
    RETURN_IF_ERROR(DescribeRuns());
    ASSIGN_OR_RETURN(tree_, BuildModules(*original_.inference, *original_.counts));
    if (optimized_ != nullptr) {
      DraftFromGraphs();
    } else {
      DraftByName();
    }
    for (const Draft& draft : drafts_) AddGroup(draft);
    AddWithoutKernel();
    RETURN_IF_ERROR(CheckJoined());
    RETURN_IF_ERROR(CheckOpen());
    SumModules();
    out_.control = ControlRows(original_, optimized_, profile_, times_);
    SortGroups();
    AddEvents();
    AddNotes();
    return std::move(out_);
  }

 private:
  absl::Status DescribeRuns() {
    out_.model = original_.model().path;
    out_.profile = profile_.path;
    if (optimized_ != nullptr) out_.optimized = optimized_->model().path;
    out_.source = profile_.source;
    out_.bindings = original_.inference->bindings;
    out_.runs = static_cast<int64_t>(profile_.runs.size());
    out_.warmup = times_.warmup();
    out_.other_sizes = times_.other_sizes();
    if (out_.used() <= 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          Escaped(profile_.path), ": has ", Plural(out_.runs, "run"), ", and ", out_.warmup,
          WithSettings(" are left out as warm-up: {warmup 0} keeps all")));
    }
    out_.wall = times_.Wall();
    out_.kernels = times_.Kernels();
    out_.outside_ns = times_.Outside();
    out_.median_run = times_.median_run();
    out_.wall_ns = profile_.runs[static_cast<size_t>(out_.median_run)].wall_ns;
    return absl::OkStatus();
  }

  void DraftFromGraphs() {
    absl::flat_hash_map<NodeId, std::vector<int32_t>> kernels_of;
    for (size_t k = 0; k < optimized_->matched.size(); ++k) {
      const auto id = static_cast<int32_t>(k);
      if (optimized_->matched[k].empty()) {
        drafts_.push_back({{id}, {}, {}});
      } else {
        kernels_of[optimized_->matched[k][0]].push_back(id);
      }
    }
    const auto has_macs = [this](NodeId id) {
      return !(original_.costs[static_cast<size_t>(id)].once.macs == Expr(0));
    };
    for (JoinedGroup& group : JoinGraphs(original_.model(), optimized_->model(), has_macs)) {
      Draft draft;
      for (const NodeId id : group.optimized) {
        const auto it = kernels_of.find(id);
        if (it == kernels_of.end()) continue;
        draft.kernels.insert(draft.kernels.end(), it->second.begin(), it->second.end());
        kernels_of.erase(it);
      }
      if (draft.kernels.empty()) continue;
      draft.original = std::move(group.original);
      draft.optimized = std::move(group.optimized);
      drafts_.push_back(std::move(draft));
    }
    // Kernels of bodies whose graphs were not joined.
    for (size_t k = 0; k < optimized_->matched.size(); ++k) {
      if (optimized_->matched[k].empty()) continue;
      const auto it = kernels_of.find(optimized_->matched[k][0]);
      if (it == kernels_of.end()) continue;
      drafts_.push_back({std::move(it->second), {}, {it->first}});
      kernels_of.erase(it);
    }
  }

  void DraftByName() {
    absl::flat_hash_set<NodeId> taken;
    for (size_t k = 0; k < original_.matched.size(); ++k) {
      Draft draft;
      draft.kernels = {static_cast<int32_t>(k)};
      for (const NodeId id : original_.matched[k]) {
        if (taken.insert(id).second) draft.original.push_back(id);
      }
      drafts_.push_back(std::move(draft));
    }
  }

  // How often the nodes of a group ran; nullopt: as often as counted.
  std::optional<int64_t> CallsOf(const Draft& draft) const {
    if (profile_.source != ProfileSource::kOnnxRuntime) return std::nullopt;
    int64_t calls = 0;
    for (const int32_t kernel : draft.kernels) {
      calls = std::max(calls, int64_t{times_.SampleOf(kernel).calls});
    }
    return calls;
  }

  // The work of nodes in a run if each is executed `calls` times.
  ProfileWork WorkOf(const std::vector<NodeId>& nodes, const std::vector<NodeCost>& costs,
                     std::optional<int64_t> calls) {
    ProfileWork work;
    for (const NodeId id : nodes) {
      const NodeCost& cost = costs[static_cast<size_t>(id)];
      const bool as_counted = !calls || cost.times == Expr(*calls);
      const auto value = [&](Expr Amounts::*amount) {
        return ValueOf(as_counted ? cost.counted.*amount : cost.once.*amount * Expr(*calls),
                       &open_);
      };
      if (!as_counted && cost.varies) ++guessed_;
      if (!cost.visited) ++uncounted_;
      work.flops += value(&Amounts::flops);
      work.macs += value(&Amounts::macs);
      work.bytes += value(&Amounts::bytes_read) + value(&Amounts::bytes_written);
      work.lower_bound = work.lower_bound || cost.unknown || !cost.visited;
    }
    return work;
  }

  void AddGroup(const Draft& draft) {
    ProfileGroup group;
    const std::optional<int64_t> calls = CallsOf(draft);
    group.calls = calls.value_or(0);
    group.time = times_.TimeOf(draft.kernels);
    group.work = WorkOf(draft.original, original_.costs, calls);
    joined_.insert(draft.original.begin(), draft.original.end());
    if (optimized_ != nullptr) {
      // Tensors between nodes of one kernel do not go through memory, so bytes come from the
      // optimised nodes.
      const std::optional<Expr> before = std::exchange(open_, std::nullopt);
      const int64_t guessed = guessed_, uncounted = uncounted_;
      const absl::int128 bytes = WorkOf(draft.optimized, optimized_->costs, calls).bytes;
      group.work.bytes = open_ ? 0 : bytes;
      open_ = before;
      guessed_ = guessed;
      uncounted_ = uncounted;
    }
    for (const int32_t id : draft.kernels) {
      group.work.Add({.ns = times_.SampleOf(id).ns});
      group.kernels.push_back(profile_.kernels[static_cast<size_t>(id)].name);
      group_of_kernel_[id] = static_cast<int32_t>(out_.groups.size());
    }
    group.op = MainOperator(draft.kernels);
    group.work.kernels = static_cast<int64_t>(draft.kernels.size());
    for (const NodeId id : draft.original) {
      group.nodes.push_back(report::NodeLabel(original_.model(), original_.model().node(id)));
    }
    if (group.op.empty() && !draft.original.empty()) {
      group.op = std::string(original_.model().node(MainNode(draft.original)).op_type);
    }
    group.module = OwnerOf(draft.original);
    out_.total.Add(group.work);
    out_.groups.push_back(std::move(group));
  }

  // The operator of the kernel with the most MACs; of equals with the most FLOPs, then bytes, then
  // of the first. Times would choose another one from run to run.
  std::string MainOperator(const std::vector<int32_t>& kernels) const {
    const Side& ran = optimized_ != nullptr ? *optimized_ : original_;
    std::string op;
    std::array<absl::int128, 3> most = {-1};
    for (const int32_t kernel : kernels) {
      std::array<absl::int128, 3> work = {};
      for (const NodeId id : ran.matched[static_cast<size_t>(kernel)]) {
        const Amounts& once = ran.costs[static_cast<size_t>(id)].once;
        const auto value = [](const Expr& amount) {
          std::optional<Expr> open;
          return ValueOf(amount, &open);
        };
        work[0] += value(once.macs);
        work[1] += value(once.flops);
        work[2] += value(once.bytes_read) + value(once.bytes_written);
      }
      if (work <= most) continue;
      most = work;
      op = profile_.kernels[static_cast<size_t>(kernel)].op;
    }
    return op;
  }

  const NodeCost& CostOf(NodeId id) const { return original_.costs[static_cast<size_t>(id)]; }

  // The node with the most FLOPs.
  NodeId MainNode(const std::vector<NodeId>& nodes) const {
    NodeId main = nodes[0];
    absl::int128 most = -1;
    for (const NodeId id : nodes) {
      const Expr& flops = CostOf(id).once.flops;
      if (!flops.is_literal() || flops.literal() <= most) continue;
      most = flops.literal();
      main = id;
    }
    return main;
  }

  // The smallest module that contains the nodes with MACs, or with FLOPs, or all nodes.
  int32_t OwnerOf(const std::vector<NodeId>& nodes) const {
    for (const Expr Amounts::*amount : {&Amounts::macs, &Amounts::flops}) {
      int32_t owner = -1;
      for (const NodeId id : nodes) {
        if (!(CostOf(id).once.*amount == Expr(0))) owner = Common(owner, ModuleOf(id));
      }
      if (owner >= 0) return owner;
    }
    int32_t owner = -1;
    for (const NodeId id : nodes) owner = Common(owner, ModuleOf(id));
    return std::max(owner, 0);
  }

  int32_t ModuleOf(NodeId id) const { return tree_.node_module[static_cast<size_t>(id)]; }

  // The smallest module that contains both; -1 is no module.
  int32_t Common(int32_t a, int32_t b) const {
    if (a < 0) return b;
    const auto module = [this](int32_t i) -> const Module& {
      return tree_.modules[static_cast<size_t>(i)];
    };
    while (a != b) {
      int32_t& deeper = module(a).depth >= module(b).depth ? a : b;
      deeper = module(deeper).parent;
    }
    return a;
  }

  void AddWithoutKernel() {
    const Amounts& total = original_.counts->total.amounts;
    out_.counted_flops = ValueOf(total.flops, &open_);
    out_.counted_macs = ValueOf(total.macs, &open_);
    for (size_t id = 0; id < original_.costs.size(); ++id) {
      const NodeCost& cost = original_.costs[id];
      if (!cost.visited || cost.times == Expr(0)) continue;
      if (joined_.contains(static_cast<NodeId>(id))) continue;
      ++out_.nodes_without_kernel;
      out_.flops_without_kernel += ValueOf(cost.counted.flops, &open_);
      out_.macs_without_kernel += ValueOf(cost.counted.macs, &open_);
    }
  }

  // Times of kernels that have no node of the model say nothing of it.
  absl::Status CheckJoined() const {
    if (!joined_.empty() || profile_.kernels.empty()) return absl::OkStatus();
    const bool by_name = optimized_ == nullptr;
    return absl::FailedPreconditionError(
        absl::StrCat(Escaped(profile_.path), ": none of its ",
                     Plural(static_cast<int64_t>(profile_.kernels.size()), "kernel"),
                     " is of a node of ", Escaped(out_.model), ", such as ",
                     Quoted(profile_.kernels[0].name), ": it is a profile of another model",
                     by_name && profile_.source == ProfileSource::kOnnxRuntime
                         ? WithSettings(", or all nodes were fused; {optimized FILE} joins those")
                         : ""));
  }

  absl::Status CheckOpen() const {
    if (!open_) return absl::OkStatus();
    const std::string& path = out_.model;
    if (open_->is_literal()) {
      return absl::OutOfRangeError(
          absl::StrCat(Escaped(path), ": a node has more than 2^90 FLOPs"));
    }
    if (const char* error = open_->error()) {
      return absl::OutOfRangeError(absl::StrCat(Escaped(path), ": FLOPs: ", error));
    }
    return absl::FailedPreconditionError(absl::StrCat(
        Escaped(path),
        WithSettings(": the profile does not have these sizes; set them with {dim}: "),
        absl::StrJoin(open_->Symbols(), ", ", [](std::string* out, const std::string& symbol) {
          absl::StrAppend(out, Escaped(symbol));
        })));
  }

  void SumModules() {
    for (const Module& module : tree_.modules) {
      out_.modules.push_back({module.path, module.type, module.parent, module.depth, module.end});
    }
    for (const ProfileGroup& group : out_.groups) {
      if (group.joined()) out_.modules[static_cast<size_t>(group.module)].own.Add(group.work);
    }
    for (size_t i = out_.modules.size(); i-- > 0;) {
      ProfileModule& module = out_.modules[i];
      module.work.Add(module.own);
      if (module.parent >= 0) {
        out_.modules[static_cast<size_t>(module.parent)].work.Add(module.work);
      }
    }
  }

  // The longest first; the order of the profile among equals.
  void SortGroups() {
    std::vector<int32_t> order(out_.groups.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    std::stable_sort(order.begin(), order.end(), [this](int32_t a, int32_t b) {
      return out_.groups[static_cast<size_t>(a)].work.ns >
             out_.groups[static_cast<size_t>(b)].work.ns;
    });
    std::vector<ProfileGroup> sorted;
    std::vector<int32_t> place(order.size());
    for (const int32_t id : order) {
      place[static_cast<size_t>(id)] = static_cast<int32_t>(sorted.size());
      sorted.push_back(std::move(out_.groups[static_cast<size_t>(id)]));
    }
    out_.groups = std::move(sorted);
    for (auto& [kernel, group] : group_of_kernel_) group = place[static_cast<size_t>(group)];
  }

  void AddEvents() {
    if (profile_.events.empty()) return;
    out_.group_of_event.assign(profile_.kernels.size(), -1);
    for (const auto& [kernel, group] : group_of_kernel_) {
      out_.group_of_event[static_cast<size_t>(kernel)] = group;
    }
    for (const TraceEvent& event : profile_.events) {
      if (times_.IsUsed(event.run)) out_.events.push_back(event);
    }
  }

  void AddNotes() {
    out_.notes = profile_.warnings;
    if (profile_.events_omitted) {
      out_.notes.push_back("the trace has the first events of the profile only");
    }
    if (out_.other_sizes > 0) {
      out_.notes.push_back(absl::StrCat(Plural(out_.other_sizes, "run"),
                                        " with other sizes than the last one are left out"));
    }
    if (out_.wall && !out_.outside_ns) {
      out_.notes.push_back("kernels ran at the same time: their times sum to more than the run");
    }
    if (guessed_ > 0) {
      out_.notes.push_back(absl::StrCat(
          Plural(guessed_, "node"),
          " ran more or less often than counted, at sizes that change: FLOPs of the first one"));
    }
    if (uncounted_ > 0) {
      out_.notes.push_back(absl::StrCat(
          Plural(uncounted_, "node"),
          " ran in a branch that the count takes as never run: their FLOPs are missing"));
    }
    if (optimized_ == nullptr && out_.counted_flops > 0 &&
        out_.flops_without_kernel * 100 >= out_.counted_flops) {
      out_.notes.push_back(
          absl::StrCat(report::Percent(out_.flops_without_kernel, out_.counted_flops),
                       " % of FLOPs are of nodes without a kernel of their name: fused or folded",
                       profile_.source == ProfileSource::kOnnxRuntime
                           ? WithSettings("; {optimized} joins them, with the graph of "
                                          "SessionOptions.optimized_model_filepath")
                           : ""));
    }
  }

  const Side& original_;
  const Side* const optimized_;
  const Profile& profile_;
  const RunTimes times_;
  ModuleTree tree_;
  std::vector<Draft> drafts_;
  absl::flat_hash_set<NodeId> joined_;
  absl::flat_hash_map<int32_t, int32_t> group_of_kernel_;
  std::optional<Expr> open_;
  int64_t guessed_ = 0, uncounted_ = 0;
  ProfileReport out_;
};

}  // namespace

absl::StatusOr<ProfileReport> JoinProfile(const Side& original, const Side* optimized,
                                          const Profile& profile, int64_t warmup) {
  return ProfileJoiner(original, optimized, profile, warmup).Run();
}

}  // namespace onnxflops::profile

namespace onnxflops {

void ProfileWork::Add(const ProfileWork& other) {
  constexpr int64_t kMost = int64_t{1} << 61;  // two of these have a sum
  ns = std::min(ns + other.ns, kMost);
  flops += other.flops;
  macs += other.macs;
  bytes += other.bytes;
  kernels += other.kernels;
  lower_bound = lower_bound || other.lower_bound;
}

std::optional<double> ProfileWork::flops_per_second() const {
  constexpr double kNsPerSecond = 1e9;
  if (ns == 0) return std::nullopt;
  return static_cast<double>(flops) * kNsPerSecond / static_cast<double>(ns);
}

std::optional<double> ProfileReport::flops_per_second() const {
  return ProfileWork{.ns = wall_ns > 0 ? wall_ns : run_ns(), .flops = run_flops()}
      .flops_per_second();
}

}  // namespace onnxflops
