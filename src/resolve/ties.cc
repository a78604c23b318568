#include "src/resolve/ties.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/exporter/tensor_name.h"
#include "src/graph/dtype.h"

namespace onnxflops::resolve {
namespace {

const Tensor* StoredAs(const ModelData& model, ValueId value) {
  const OptionalTensorId id = model.value(value).initializer;
  return id ? &model.tensor(*id) : nullptr;
}

std::optional<ValueId> FindWeight(const ModelData& model, absl::string_view name) {
  for (size_t i = 0; i < model.values.size(); ++i) {
    const Tensor* tensor = StoredAs(model, static_cast<ValueId>(i));
    if (tensor != nullptr && model.values[i].name == name) return static_cast<ValueId>(i);
  }
  return std::nullopt;
}

absl::Status Wrong(const TiedWeights& pair, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      Setting("tied"), " ", Quoted(absl::StrCat(pair.copy, "=", pair.original)), ": ", why));
}

bool AreOne(const Tensor& a, const Tensor& b) {
  if (a.dtype != b.dtype || !IsFloat(a.dtype)) return false;
  if (a.dims == b.dims) return true;
  return a.dims.size() == 2 && b.dims.size() == 2 && a.dims[0] == b.dims[1] &&
         a.dims[1] == b.dims[0];
}

// Rows and features of a matrix.
using Sizes = std::pair<int64_t, int64_t>;
std::optional<Sizes> MatrixSizes(const ModelData& model, OptionalValueId value) {
  const Tensor* tensor = value ? StoredAs(model, *value) : nullptr;
  if (tensor == nullptr || tensor->dims.size() != 2 || !IsFloat(tensor->dtype)) {
    return std::nullopt;
  }
  return Sizes(tensor->dims[0], tensor->dims[1]);
}

}  // namespace

absl::StatusOr<Ties> FindTies(const ModelData& model, const std::vector<TiedWeights>& tied) {
  Ties ties;
  const TiedWeights* missing = nullptr;
  for (const TiedWeights& pair : tied) {
    const std::optional<ValueId> copy = FindWeight(model, pair.copy);
    if (!copy) {
      missing = &pair;
      continue;
    }
    const std::optional<ValueId> original = FindWeight(model, pair.original);
    if (!original) {
      return absl::NotFoundError(
          absl::StrCat(Setting("tied"), ": the file has no weight named ", Quoted(pair.original)));
    }
    if (*copy == *original) return Wrong(pair, "both names are of one weight");
    if (!AreOne(*StoredAs(model, *copy), *StoredAs(model, *original))) {
      return Wrong(pair, "they need the same type, and equal or transposed sizes");
    }
    if (!ties.emplace(*copy, *original).second)
      return Wrong(pair, "the first weight is already tied to another");
  }
  for (const auto& [copy, original] : ties) {
    if (ties.contains(original)) {
      return absl::InvalidArgumentError(absl::StrCat(Setting("tied"), ": ",
                                                     Quoted(model.value(original).name),
                                                     " is itself tied to another weight"));
    }
  }
  if (ties.empty() && missing != nullptr) {
    return absl::NotFoundError(
        absl::StrCat(Setting("tied"), ": the file has no weight named ", Quoted(missing->copy)));
  }
  return ties;
}

std::vector<LikelyCopy> FindLikelyCopies(const ModelData& model) {
  absl::flat_hash_map<Sizes, ValueId> tables;
  std::vector<ValueId> factors;
  for (const Node& node : model.nodes) {
    if (!node.domain.empty()) continue;
    if (node.op_type == "Gather") {
      if (const auto sizes = MatrixSizes(model, node.input(0))) {
        tables.try_emplace(*sizes, *node.input(0));
      }
    } else if (node.op_type == "MatMul" && node.input(1)) {
      factors.push_back(*node.input(1));
    }
  }
  std::vector<LikelyCopy> likely;
  if (tables.empty()) return likely;
  absl::flat_hash_set<ValueId> seen;
  absl::flat_hash_map<ValueId, int> folded;  // how many fit a table
  const auto is_folded = [&](const LikelyCopy& pair) {
    return exporter::IsFoldedName(StoredAs(model, pair.copy)->name);
  };
  for (ValueId factor : factors) {
    const std::optional<Sizes> sizes = MatrixSizes(model, factor);
    if (!sizes || sizes->second <= sizes->first) continue;
    const auto table = tables.find({sizes->second, sizes->first});
    if (table == tables.end()) continue;
    const LikelyCopy pair = {factor, table->second};
    if (!exporter::IsRenamed(StoredAs(model, factor)->name) && !is_folded(pair)) continue;
    if (!seen.insert(factor).second) continue;
    folded[table->second] += is_folded(pair) ? 1 : 0;
    likely.push_back(pair);
  }
  // The dynamo exporter folds the transposed weight of every small layer. If several fit, they are
  // probably layers, not copies.
  likely.erase(std::remove_if(likely.begin(), likely.end(),
                              [&](const LikelyCopy& pair) {
                                return is_folded(pair) && folded[pair.original] > 1;
                              }),
               likely.end());
  return likely;
}

}  // namespace onnxflops::resolve
