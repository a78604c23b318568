#include "src/api/export_notes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "src/base/quote.h"
#include "src/graph/model.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/parse.h"

namespace onnxflops {
namespace {

// Keys of a file's metadata_props. A number is behind the second, and the name of a size behind the
// third. _conditions.py writes them.
constexpr absl::string_view kHoldsText = "onnxflops.holds_where";
constexpr absl::string_view kCondition = "onnxflops.holds_where.";
constexpr absl::string_view kFixed = "onnxflops.fixed_dim.";

constexpr size_t kMaxConditions = 256;  // of a file that may be hostile

bool IsSymbol(const ModelData& model, absl::string_view name) {
  const std::vector<ValueId>& inputs = model.graph(0).inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) {
    const DeclaredType* type = model.value(id).declared;
    return type != nullptr && std::any_of(type->dims.begin(), type->dims.end(),
                                          [&](const DeclaredDim& dim) { return dim.name == name; });
  });
}

// The sizes by name that a condition has, if it is false: "seq = 4096". Empty if it holds, or may
// hold, or is no formula.
std::string SizesThatBreak(absl::string_view condition, const Bindings& sizes) {
  std::vector<std::string> used;
  const auto value_of = [&](absl::string_view name) -> absl::StatusOr<Expr> {
    const auto given = sizes.find(std::string(name));
    if (given == sizes.end()) return Expr::Symbol(name, 1);
    std::string text = fmt::format("{} = {}", Escaped(name), given->second);
    if (std::find(used.begin(), used.end(), text) == used.end()) used.push_back(std::move(text));
    return Expr(given->second);
  };
  const absl::StatusOr<Expr> value = ParseFormula(condition, {value_of, nullptr});
  const bool is_false = value.ok() && value->error() == nullptr && value->AsInt64() == 0;
  return is_false ? fmt::format("{}", fmt::join(used, ", ")) : "";
}

}  // namespace

absl::Status CheckNotedSizes(const ModelData& model, const Bindings& sizes) {
  size_t conditions = 0;
  absl::string_view holds = "its conditions are met";
  for (const auto& [key, value] : model.metadata) {
    if (key == kHoldsText) holds = value;
  }
  for (const auto& [key, value] : model.metadata) {
    if (!absl::StartsWith(key, kCondition)) continue;
    if (++conditions > kMaxConditions) {
      return absl::OutOfRangeError(fmt::format("{}: it has more than {} conditions on its sizes",
                                               Escaped(model.path), kMaxConditions));
    }
    const std::string broken = SizesThatBreak(value, sizes);
    if (broken.empty()) continue;
    return absl::InvalidArgumentError(
        fmt::format("{}: {}: its class computes in another way there. This graph holds where {}; "
                    "export it again with this size fixed",
                    Escaped(model.path), broken, Escaped(holds)));
  }
  return absl::OkStatus();
}

bool HasNotedSizes(const ModelData& model) {
  return std::any_of(model.metadata.begin(), model.metadata.end(), [](const auto& property) {
    return absl::StartsWith(property.first, kCondition);
  });
}

absl::Status TakeNotedSizes(const ModelData& model, Bindings* sizes) {
  for (const auto& [key, value] : model.metadata) {
    absl::string_view name = key;
    int64_t size = 0;
    if (!absl::ConsumePrefix(&name, kFixed) || !absl::SimpleAtoi(value, &size)) continue;
    const auto given = sizes->find(std::string(name));
    if (given == sizes->end() || IsSymbol(model, name)) continue;
    if (given->second != size) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: {} = {}: the graph was exported at {}; export it again with this size fixed",
          Escaped(model.path), Escaped(name), given->second, size));
    }
    sizes->erase(given);
  }
  return absl::OkStatus();
}

}  // namespace onnxflops
