// Domain ai.onnx.ml: tree ensembles.
//
// How it works. Each row of X goes through every tree, one comparison per node, down to a leaf; the
// leaf's weights are added to the scores. How deep a row goes depends on data: the longest way
// through each tree counts, and the leaf with the most weights. The two forms of ensembles, nodes
// named by tree and number or by index, are read into one forest. The longest ways are found from
// the leaves up with a stack instead of recursion, since the file decides how deep trees are; nodes
// that are reached twice are computed once, and a circle is an error. A node that tests membership
// of a set compares with all members; sets are separated by NaN.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/ml/post.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

constexpr int64_t kLeaf = -1;

// The nodes of all trees, by index.
struct Forest {
  struct Node {
    int64_t comparisons = 0;
    int64_t children[2] = {kLeaf, kLeaf};
  };
  std::vector<Node> nodes;
  std::vector<int64_t> roots;
};

// The cost of one row: over all trees, the longest way, and the weights of the leaf that has most.
struct ForestCost {
  Expr comparisons, votes;
};

// The comparisons on the longest way from each node down.
class LongestWays {
 public:
  explicit LongestWays(const std::vector<Forest::Node>& nodes)
      : nodes_(nodes), state_(nodes.size(), State::kNew), ways_(nodes.size(), 0) {}

  // InvalidArgument when the ways from `root` lead in a circle.
  absl::StatusOr<int64_t> From(int64_t root) {
    std::vector<int64_t> path = {root};
    while (!path.empty()) {
      const int64_t at = path.back();
      State& state = state_[static_cast<size_t>(at)];
      if (state == State::kDone) {
        path.pop_back();
        continue;
      }
      const bool entered = state == State::kNew;
      state = State::kOpen;
      int64_t longest = 0;
      bool ready = true;
      for (int64_t child : nodes_[static_cast<size_t>(at)].children) {
        if (child == kLeaf) continue;
        const State child_state = state_[static_cast<size_t>(child)];
        if (child_state == State::kDone) {
          longest = std::max(longest, ways_[static_cast<size_t>(child)]);
          continue;
        }
        if (child_state == State::kOpen || !entered) {
          return absl::InvalidArgumentError(
              absl::StrCat("the tree of node ", root, " is circular"));
        }
        path.push_back(child);
        ready = false;
      }
      if (!ready) continue;
      ways_[static_cast<size_t>(at)] = longest + nodes_[static_cast<size_t>(at)].comparisons;
      state = State::kDone;
      path.pop_back();
    }
    return ways_[static_cast<size_t>(root)];
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };
  const std::vector<Forest::Node>& nodes_;
  std::vector<State> state_;
  std::vector<int64_t> ways_;
};

absl::StatusOr<Expr> ComparisonsOf(const Forest& forest) {
  LongestWays ways(forest.nodes);
  Expr sum = 0;
  for (int64_t root : forest.roots) {
    ASSIGN_OR_RETURN(const int64_t longest, ways.From(root));
    sum += longest;
  }
  return sum;
}

absl::Span<const int64_t> IntsAttr(const NodeView& n, absl::string_view name) {
  if (n.Ints(name).empty()) return {};  // missing, or of another type, which the view notes
  return n.FindAttr(name)->ints;
}

absl::Status RequireLength(absl::string_view name, size_t length, size_t expected) {
  if (length == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has ", length, " entries for ", expected, " nodes"));
}

// ---- TreeEnsembleClassifier, TreeEnsembleRegressor
//
// Nodes are named by tree and number, and leaves are nodes of the mode LEAF.

using NodeName = std::pair<int64_t, int64_t>;  // tree, node

absl::StatusOr<absl::flat_hash_map<NodeName, int64_t>> NodesByName(const NodeView& n) {
  const auto trees = IntsAttr(n, "nodes_treeids"), numbers = IntsAttr(n, "nodes_nodeids");
  RETURN_IF_ERROR(RequireLength("nodes_nodeids", numbers.size(), trees.size()));
  absl::flat_hash_map<NodeName, int64_t> by_name;
  by_name.reserve(trees.size());
  for (size_t i = 0; i < trees.size(); ++i) {
    if (!by_name.emplace(NodeName(trees[i], numbers[i]), static_cast<int64_t>(i)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("node ", numbers[i], " of tree ", trees[i], " is given twice"));
    }
  }
  return by_name;
}

absl::StatusOr<Forest> NamedForest(const NodeView& n,
                                   const absl::flat_hash_map<NodeName, int64_t>& by_name) {
  const auto trees = IntsAttr(n, "nodes_treeids");
  const absl::Span<const int64_t> links[2] = {IntsAttr(n, "nodes_truenodeids"),
                                              IntsAttr(n, "nodes_falsenodeids")};
  const auto modes = n.Strings("nodes_modes");
  if (trees.empty()) return absl::InvalidArgumentError("attribute nodes_treeids is missing");
  RETURN_IF_ERROR(RequireLength("nodes_modes", modes.size(), trees.size()));
  RETURN_IF_ERROR(RequireLength("nodes_truenodeids", links[0].size(), trees.size()));
  RETURN_IF_ERROR(RequireLength("nodes_falsenodeids", links[1].size(), trees.size()));
  Forest forest;
  forest.nodes.resize(trees.size());
  std::vector<bool> is_child(trees.size(), false);
  for (size_t i = 0; i < trees.size(); ++i) {
    if (modes[i] == "LEAF") continue;
    forest.nodes[i].comparisons = 1;
    for (int side = 0; side < 2; ++side) {
      const auto child = by_name.find(NodeName(trees[i], links[side][i]));
      if (child == by_name.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("tree ", trees[i], " has no node ", links[side][i]));
      }
      forest.nodes[i].children[side] = child->second;
      is_child[static_cast<size_t>(child->second)] = true;
    }
  }
  for (size_t i = 0; i < trees.size(); ++i) {
    if (!is_child[i]) forest.roots.push_back(static_cast<int64_t>(i));
  }
  if (forest.roots.empty()) {
    return absl::InvalidArgumentError("no tree has a root");
  }
  return forest;
}

// Over all trees, the weights of the leaf that has most. `prefix` is "class" or "target".
absl::StatusOr<Expr> MostVotes(const NodeView& n, absl::string_view prefix) {
  const auto trees = IntsAttr(n, absl::StrCat(prefix, "_treeids"));
  const auto numbers = IntsAttr(n, absl::StrCat(prefix, "_nodeids"));
  RETURN_IF_ERROR(RequireLength(absl::StrCat(prefix, "_nodeids"), numbers.size(), trees.size()));
  absl::flat_hash_map<NodeName, int64_t> votes;
  absl::flat_hash_map<int64_t, int64_t> most;
  for (size_t i = 0; i < trees.size(); ++i) {
    int64_t& of_tree = most[trees[i]];
    of_tree = std::max(of_tree, ++votes[NodeName(trees[i], numbers[i])]);
  }
  Expr sum = 0;
  for (const auto& [tree, count] : most) sum += count;
  return sum;
}

absl::StatusOr<ForestCost> NamedForestCost(const NodeView& n, absl::string_view prefix) {
  ASSIGN_OR_RETURN(const auto by_name, NodesByName(n));
  ASSIGN_OR_RETURN(const Forest forest, NamedForest(n, by_name));
  ForestCost cost;
  ASSIGN_OR_RETURN(cost.comparisons, ComparisonsOf(forest));
  ASSIGN_OR_RETURN(cost.votes, MostVotes(n, prefix));
  return cost;
}

enum class Aggregate { kAverage = 0, kSum = 1, kMin = 2, kMax = 3 };

absl::StatusOr<Aggregate> AggregateOf(absl::string_view name) {
  if (name == "AVERAGE") return Aggregate::kAverage;
  if (name == "SUM") return Aggregate::kSum;
  if (name == "MIN") return Aggregate::kMin;
  if (name == "MAX") return Aggregate::kMax;
  return absl::InvalidArgumentError(absl::StrCat("aggregate_function is '", name, "'"));
}

// Comparisons down the trees, and the leaves' weights put together.
Census WalkCost(const ForestCost& forest, Aggregate aggregate, const Expr& rows,
                const Expr& scores) {
  Census work;
  work[Kind::kCmp] = rows * forest.comparisons;
  const bool compares = aggregate == Aggregate::kMin || aggregate == Aggregate::kMax;
  work[compares ? Kind::kCmp : Kind::kAdd] += rows * forest.votes;
  if (aggregate == Aggregate::kAverage) work[Kind::kDiv] = scores;
  return work;
}

bool HasBaseValues(const NodeView& n) {
  return n.HasAttr("base_values") || n.HasAttr("base_values_as_tensor");
}

absl::StatusOr<Facts> InferTreeClassifier(const NodeView& n) {
  ASSIGN_OR_RETURN(const FeatureRows x, RowsOf(n));
  const Labels labels = LabelsOf(n, "classlabels_int64s");
  return Facts{Fact::Tensor(labels.type, {x.rows}),
               Fact::Tensor(DType::kFloat32, {x.rows, labels.count})};
}

absl::StatusOr<Cost> CountTreeClassifier(const NodeView& n) {
  ASSIGN_OR_RETURN(const FeatureRows x, RowsOf(n));
  ASSIGN_OR_RETURN(const ForestCost forest, NamedForestCost(n, "class"));
  const Expr scores = x.rows * LabelsOf(n, "classlabels_int64s").count;
  Census work = WalkCost(forest, Aggregate::kSum, x.rows, scores);
  if (HasBaseValues(n)) work[Kind::kAdd] += scores;
  ASSIGN_OR_RETURN(const Census transform, PostTransform(n, scores));
  work += transform;
  work[Kind::kCmp] += scores;  // the best one
  return FloatCost(std::move(work));
}

absl::StatusOr<Facts> InferTreeRegressor(const NodeView& n) {
  ASSIGN_OR_RETURN(const FeatureRows x, RowsOf(n));
  return Facts{Fact::Tensor(DType::kFloat32, {x.rows, n.Int("n_targets", 1)})};
}

absl::StatusOr<Cost> CountTreeRegressor(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape y, n.OutputShape(0));
  ASSIGN_OR_RETURN(const ForestCost forest, NamedForestCost(n, "target"));
  ASSIGN_OR_RETURN(const Aggregate aggregate, AggregateOf(n.String("aggregate_function", "SUM")));
  Census work = WalkCost(forest, aggregate, y[0], y.NumElements());
  if (HasBaseValues(n)) work[Kind::kAdd] += y.NumElements();
  ASSIGN_OR_RETURN(const Census transform, PostTransform(n, y.NumElements()));
  work += transform;
  return FloatCost(std::move(work));
}

// ---- TreeEnsemble
//
// Inner nodes and leaves have lists of their own; a node of the mode BRANCH_MEMBER compares with
// all members of its set.

constexpr int64_t kBranchMember = 6;

// Whether an element of a tensor is NaN, which is what ends a set of members.
bool IsNaNAt(const Tensor& tensor, size_t i) {
  const size_t bytes = static_cast<size_t>(BitsPerElement(tensor.dtype)) / 8;
  uint64_t bits = 0;
  std::memcpy(&bits, tensor.data.data() + i * bytes, bytes);
  switch (tensor.dtype) {
    case DType::kFloat16:
      return (bits & 0x7FFF) > 0x7C00;
    case DType::kFloat32:
      return (bits & 0x7FFFFFFF) > 0x7F800000;
    default:
      return (bits & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000;
  }
}

// The sizes of the sets of members, in the order in which nodes use them.
absl::StatusOr<std::vector<int64_t>> MemberCounts(const NodeView& n) {
  std::vector<int64_t> counts;
  const Tensor* members = n.TensorAttr("membership_values");
  if (members == nullptr) return counts;
  const bool is_float = members->dtype == DType::kFloat16 || members->dtype == DType::kFloat32 ||
                        members->dtype == DType::kFloat64;
  const auto elements = static_cast<size_t>(members->elements);
  if (!is_float || !members->has_data ||
      members->data.size() / (static_cast<size_t>(BitsPerElement(members->dtype)) / 8) < elements) {
    return absl::FailedPreconditionError("membership_values is too large to be kept");
  }
  int64_t size = 0;
  for (size_t i = 0; i < elements; ++i) {
    if (!IsNaNAt(*members, i)) {
      ++size;
      continue;
    }
    counts.push_back(size);
    size = 0;
  }
  if (size > 0) counts.push_back(size);
  return counts;
}

// Comparisons at each of `count` inner nodes: 1, or as many as the node's set has members.
absl::Status SetComparisons(const NodeView& n, std::vector<Forest::Node>* nodes) {
  for (Forest::Node& node : *nodes) node.comparisons = 1;
  ASSIGN_OR_RETURN(const std::vector<int64_t> members, MemberCounts(n));
  if (members.empty()) return absl::OkStatus();
  const Tensor* modes = n.TensorAttr("nodes_modes");
  if (modes == nullptr || !modes->has_data || modes->data.size() < nodes->size()) {
    return absl::FailedPreconditionError("nodes_modes is too large to be kept");
  }
  size_t next = 0;
  for (size_t i = 0; i < nodes->size(); ++i) {
    if (modes->data[i] != kBranchMember) continue;
    if (next == members.size()) {
      return absl::InvalidArgumentError("membership_values has too few sets");
    }
    (*nodes)[i].comparisons = members[next++];
  }
  return absl::OkStatus();
}

absl::StatusOr<Forest> IndexedForest(const NodeView& n) {
  const absl::Span<const int64_t> links[2] = {IntsAttr(n, "nodes_truenodeids"),
                                              IntsAttr(n, "nodes_falsenodeids")};
  const absl::Span<const int64_t> leaves[2] = {IntsAttr(n, "nodes_trueleafs"),
                                               IntsAttr(n, "nodes_falseleafs")};
  const size_t count = links[0].size();
  RETURN_IF_ERROR(RequireLength("nodes_falsenodeids", links[1].size(), count));
  RETURN_IF_ERROR(RequireLength("nodes_trueleafs", leaves[0].size(), count));
  RETURN_IF_ERROR(RequireLength("nodes_falseleafs", leaves[1].size(), count));
  Forest forest;
  forest.nodes.resize(count);
  RETURN_IF_ERROR(SetComparisons(n, &forest.nodes));
  const auto is_node = [count](int64_t i) { return i >= 0 && static_cast<uint64_t>(i) < count; };
  for (size_t i = 0; i < count; ++i) {
    for (int side = 0; side < 2; ++side) {
      if (leaves[side][i] != 0) continue;
      const int64_t child = links[side][i];
      if (!is_node(child)) {
        return absl::InvalidArgumentError(absl::StrCat("there is no node ", child, " of ", count));
      }
      forest.nodes[i].children[side] = child;
    }
  }
  for (int64_t root : IntsAttr(n, "tree_roots")) {
    if (!is_node(root)) {
      return absl::InvalidArgumentError(absl::StrCat("there is no node ", root, " of ", count));
    }
    forest.roots.push_back(root);
  }
  if (forest.roots.empty()) return absl::InvalidArgumentError("attribute tree_roots is missing");
  return forest;
}

absl::StatusOr<Facts> InferTreeEnsemble(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0, 2));
  Expr targets = n.Int("n_targets", 0);
  if (!n.HasAttr("n_targets")) {
    const auto ids = IntsAttr(n, "leaf_targetids");
    targets = ids.empty() ? Expr(1) : Expr(*std::max_element(ids.begin(), ids.end())) + 1;
  }
  return Facts{n.Like(0, {x[0], targets})};
}

absl::StatusOr<Cost> CountTreeEnsemble(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape y, n.OutputShape(0));
  ASSIGN_OR_RETURN(const Forest forest, IndexedForest(n));
  ForestCost walk;
  ASSIGN_OR_RETURN(walk.comparisons, ComparisonsOf(forest));
  walk.votes = static_cast<int64_t>(forest.roots.size());
  const int64_t aggregate = n.Int("aggregate_function", 1);
  if (aggregate < 0 || aggregate > 3) {
    return absl::InvalidArgumentError(absl::StrCat("aggregate_function is ", aggregate));
  }
  constexpr absl::string_view kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                               "PROBIT"};
  const int64_t transform = n.Int("post_transform", 0);
  if (transform < 0 || transform > 4) {
    return absl::InvalidArgumentError(absl::StrCat("post_transform is ", transform));
  }
  Census work = WalkCost(walk, static_cast<Aggregate>(aggregate), y[0], y.NumElements());
  ASSIGN_OR_RETURN(const ElementCost per_score, PostTransformCost(kTransforms[transform]));
  work += per_score * y.NumElements();
  return FloatCost(std::move(work));
}

constexpr char kTreeNote[] =
    "How deep a row goes depends on data: of each tree the longest way counts, and the leaf with "
    "most weights.";

constexpr OpDef kMlTreesRows[] = {
    {.name = "TreeEnsemble",
     .versions = {5},
     .formula =
         "y[N,T] = transform(weights of the leaves that x[N,F] reaches); cmp = N * sum of the "
         "depths of the trees, add = N * trees (MIN, MAX: cmp; AVERAGE: div = N*T)",
     .infer = InferTreeEnsemble,
     .count = CountTreeEnsemble,
     .examples =
         {{"float[N,2] x -> float[N,3] y <nodes_featureids=[0,1,0], nodes_splits = float[3] "
           "{1.0,2.0,3.0}, nodes_modes = uint8[3] {0,1,0}, nodes_truenodeids=[1,0,2], "
           "nodes_falsenodeids=[3,1,3], nodes_trueleafs=[0,1,1], nodes_falseleafs=[1,1,1], "
           "tree_roots=[0,2], leaf_targetids=[0,1,2,2], leaf_weights = float[4] {1.0,2.0,3.0,4.0}, "
           "n_targets=3, post_transform=1>",
           "add=8*N div=3*N cmp=6*N exp=3*N"}},
     .note = kTreeNote},
    {.name = "TreeEnsembleClassifier",
     .versions = {1, 3, 5},
     .formula =
         "z[N,E] = transform(weights of the leaves that x[N,F] reaches), y[N] = the best; cmp = "
         "N * sum of the depths of the trees + N*E, add = N * weights (and N*E base values)",
     .infer = InferTreeClassifier,
     .count = CountTreeClassifier,
     .examples = {{"float[N,2] x -> int64[N] y, float[N,2] z <nodes_treeids=[0,0,0,0,0], "
                   "nodes_nodeids=[0,1,2,3,4], nodes_featureids=[0,1,0,0,0], "
                   "nodes_values=[1.0,2.0,0.0,0.0,0.0], "
                   "nodes_modes=[\"BRANCH_LEQ\",\"BRANCH_LT\",\"LEAF\",\"LEAF\",\"LEAF\"], "
                   "nodes_truenodeids=[1,3,0,0,0], nodes_falsenodeids=[2,4,0,0,0], "
                   "class_treeids=[0,0,0,0], class_nodeids=[2,2,3,4], class_ids=[0,1,0,1], "
                   "class_weights=[0.5,0.5,1.0,1.0], classlabels_int64s=[0,1], "
                   "post_transform=\"LOGISTIC\">",
                   "add=4*N div=2*N cmp=4*N exp=2*N"}},
     .onnx = {.finds = OnnxInference::Finds::kNothing},
     .note = kTreeNote},
    {.name = "TreeEnsembleRegressor",
     .versions = {1, 3, 5},
     .formula =
         "y[N,T] = transform(weights of the leaves that x[N,F] reaches); cmp = N * sum of the "
         "depths of the trees, add = N * weights (MIN, MAX: cmp; AVERAGE: div = N*T; and N*T "
         "base values)",
     .infer = InferTreeRegressor,
     .count = CountTreeRegressor,
     .examples =
         {{"float[N,2] x -> float[N,1] y <nodes_treeids=[0,0,0,7], nodes_nodeids=[0,1,2,0], "
           "nodes_featureids=[0,0,0,0], nodes_values=[1.0,0.0,0.0,0.0], "
           "nodes_modes=[\"BRANCH_LEQ\",\"LEAF\",\"LEAF\",\"LEAF\"], nodes_truenodeids=[1,0,0,0], "
           "nodes_falsenodeids=[2,0,0,0], target_treeids=[0,0,7], target_nodeids=[1,2,0], "
           "target_ids=[0,0,0], target_weights=[0.5,1.5,1.0], n_targets=1, "
           "aggregate_function=\"AVERAGE\", base_values=[3.0]>",
           "add=3*N div=N cmp=N"}},
     .onnx = {.finds = OnnxInference::Finds::kNothing},
     .note = kTreeNote},
};

}  // namespace

constinit const OpFamily kMlTreesFamily = {"ai.onnx.ml", kMlTreesRows};

}  // namespace onnxflops
