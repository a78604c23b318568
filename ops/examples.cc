#include "ops/examples.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ops/rules.h"

namespace onnxflops {

namespace {

// "float[N,4] X, , int64 k": the names, and what is declared.
struct ExampleValues {
  std::string names;         // "X, , k"
  std::string declarations;  // "float[N,4] X, int64 k"
};
ExampleValues ReadValues(absl::string_view list) {
  const std::vector<absl::string_view> values = absl::StrSplit(list, ", ");
  const auto append_name = [](std::string* out, absl::string_view value) {
    absl::StrAppend(out, value.substr(value.rfind(' ') + 1));
  };
  const std::vector<absl::string_view> given = absl::StrSplit(list, ", ", absl::SkipEmpty());
  return {absl::StrJoin(values, ", ", append_name), absl::StrJoin(given, ", ")};
}

// The graph of an example of `op`, which is written in ONNX's text form or in short.
std::string GraphText(absl::string_view op, absl::string_view example) {
  if (absl::StartsWith(example, "g (")) {
    return absl::StrReplaceAll(example, {{"= OP", absl::StrCat("= ", op)}});
  }
  const size_t arrow = example.find("-> ");
  const ExampleValues inputs = ReadValues(absl::StripSuffix(example.substr(0, arrow), " "));
  const std::pair<absl::string_view, absl::string_view> rest =
      absl::StrSplit(example.substr(arrow + 3), absl::MaxSplits(" <", 1));
  const ExampleValues outputs = ReadValues(rest.first);
  return absl::StrCat("g (", inputs.declarations, ") => (", outputs.declarations, ") { ",
                      outputs.names, " = ", op, rest.second.empty() ? "" : "<", rest.second, "(",
                      inputs.names, ") }");
}

// What the row's work per element comes to over the elements that the pattern names.
std::string PatternCost(const OpDef& row, const OpExample& pattern, absl::string_view graph) {
  if (row.pattern_cost != nullptr) return row.pattern_cost;
  const Expr elements = ParseExpr(pattern.cost, 1).value_or(Expr(0));
  const bool is_float = absl::StartsWith(graph, "g (float");
  const DType type = is_float ? DType::kFloat32 : DType::kInt32;
  return CostIn(type, row.per_element * elements).ToString();
}

}  // namespace

std::vector<ExampleText> ExamplesOf(absl::string_view domain, const OpDef& row) {
  const std::string op = absl::StrCat(domain, domain.empty() ? "" : ".", row.name);
  std::vector<ExampleText> examples;
  for (const OpExample& pattern : row.patterns) {
    std::string graph = GraphText(op, pattern.text);
    std::string cost = PatternCost(row, pattern, graph);
    examples.push_back({std::move(graph), std::move(cost), pattern.opset});
  }
  for (const OpExample& e : row.examples) {
    examples.push_back({GraphText(op, e.text), e.cost, e.opset});
  }
  return examples;
}

}  // namespace onnxflops
