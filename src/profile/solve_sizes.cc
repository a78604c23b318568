#include "src/profile/solve_sizes.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"

namespace onnxflops::profile {
namespace {

// The symbol's value, if the expression is linear in its only symbol.
std::optional<int64_t> ValueOf(const Expr& expr, const std::string& symbol, int64_t value) {
  const auto at = [&](int64_t size) -> std::optional<absl::int128> {
    const auto result = expr.Evaluate({{symbol, size}});
    if (!result.ok()) return std::nullopt;
    return *result;
  };
  const auto one = at(1), two = at(2), three = at(3);
  if (!one || !two || !three) return std::nullopt;
  const absl::int128 slope = *two - *one;
  if (slope == 0 || *three - *two != slope) return std::nullopt;
  const absl::int128 steps = value - *one;
  constexpr int64_t kMost = int64_t{1} << 62;
  if (steps % slope != 0 || steps / slope < -1 || steps / slope > kMost) return std::nullopt;
  const auto size = static_cast<int64_t>(steps / slope + 1);
  const auto there = at(size);
  if (!there || *there != value) return std::nullopt;
  return size;
}

// The calls of a kernel in its last run.
std::optional<int64_t> CallsOf(const ProfileKernel& kernel) {
  if (kernel.samples.empty()) return std::nullopt;
  return kernel.samples.back().calls;
}

void AddShape(const Shape& shape, const std::vector<int64_t>& sizes, std::vector<Equation>* out) {
  if (!shape.ranked() || static_cast<size_t>(shape.rank()) != sizes.size()) return;
  for (int i = 0; i < shape.rank(); ++i) out->emplace_back(shape[i], sizes[static_cast<size_t>(i)]);
}

}  // namespace

SeenShapes ShapesOf(const ModelData& model, const Profile& profile,
                    const std::vector<std::vector<NodeId>>& matched) {
  SeenShapes seen;
  for (size_t k = 0; k < matched.size(); ++k) {
    const ProfileKernel& kernel = profile.kernels[k];
    if (matched[k].size() != 1 || kernel.parent >= 0) continue;
    const Node& node = model.node(matched[k][0]);
    for (size_t i = 0; i < std::min(node.outputs.size(), kernel.outputs.size()); ++i) {
      if (node.outputs[i]) seen[model.value(*node.outputs[i]).name] = kernel.outputs[i];
    }
  }
  return seen;
}

std::vector<Equation> EquationsOf(const ModelData& model, const Profile& profile,
                                  const std::vector<std::vector<NodeId>>& matched,
                                  const SeenShapes& seen, const std::vector<NodeCost>& costs) {
  std::vector<Equation> equations;
  for (const NodeId id : model.graph(0).nodes) {
    const Node& node = model.node(id);
    const NodeCost& cost = costs[static_cast<size_t>(id)];
    for (size_t i = 0; i < std::min(node.outputs.size(), cost.outputs.size()); ++i) {
      if (!node.outputs[i]) continue;
      const auto it = seen.find(model.value(*node.outputs[i]).name);
      if (it != seen.end()) AddShape(cost.outputs[i], it->second, &equations);
    }
  }
  for (size_t k = 0; k < matched.size(); ++k) {
    const ProfileKernel& kernel = profile.kernels[k];
    if (matched[k].size() != 1 || kernel.parent < 0) continue;
    const NodeCost& cost = costs[static_cast<size_t>(matched[k][0])];
    const std::optional<int64_t> calls = CallsOf(kernel);
    if (calls && !cost.times.is_literal()) equations.emplace_back(cost.times, *calls);
    if (cost.varies) continue;
    for (size_t i = 0; i < std::min(cost.outputs.size(), kernel.outputs.size()); ++i) {
      AddShape(cost.outputs[i], kernel.outputs[i], &equations);
    }
  }
  return equations;
}

SolvedSizes Solve(std::vector<Equation> equations) {
  constexpr int kMaxPasses = 4;
  constexpr int64_t kMostTerms = 64;  // of an expression that is looked at
  SolvedSizes solved;
  // Equal layers have equal shapes.
  absl::flat_hash_set<Equation> seen;
  equations.erase(std::remove_if(equations.begin(), equations.end(),
                                 [&](const Equation& equation) {
                                   return equation.first.NumTerms() > kMostTerms ||
                                          !seen.insert(equation).second;
                                 }),
                  equations.end());
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const size_t before = solved.sizes.size();
    for (auto& [expr, value] : equations) {
      if (expr.is_literal()) continue;
      std::vector<std::string> symbols = expr.Symbols();
      const bool known = std::any_of(symbols.begin(), symbols.end(), [&](const std::string& s) {
        return solved.sizes.contains(s);
      });
      if (known) {
        expr = expr.Substitute(solved.sizes);
        symbols = expr.Symbols();
      }
      if (symbols.size() != 1) continue;
      const std::optional<int64_t> size = ValueOf(expr, symbols[0], value);
      if (size) solved.sizes[symbols[0]] = *size;
    }
    if (solved.sizes.size() == before) break;
  }
  for (const auto& [expr, value] : equations) {
    const Expr found = expr.is_literal() ? expr : expr.Substitute(solved.sizes);
    if (!found.is_literal() || found.error() != nullptr || found == Expr(value)) continue;
    if (solved.contradictions++ == 0) {
      solved.example =
          absl::StrCat(Int128ToString(found.literal()), ", where the profile has ", value);
    }
  }
  return solved;
}

}  // namespace onnxflops::profile
