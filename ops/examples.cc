#include "ops/examples.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ops/rules.h"

namespace onnxflops {

namespace {

// What the row's work per element comes to over the elements that the pattern names.
std::string PatternCost(const OpDef& row, const OpExample& pattern) {
  if (row.pattern_cost != nullptr) return row.pattern_cost;
  const Expr elements = ParseExpr(pattern.cost, 1).value_or(Expr(0));
  const bool is_float = absl::StartsWith(pattern.text, "g (float");
  const DType type = is_float ? DType::kFloat32 : DType::kInt32;
  return CostIn(type, row.per_element * elements).ToString();
}

}  // namespace

std::vector<ExampleText> ExamplesOf(absl::string_view domain, const OpDef& row) {
  const std::string call = absl::StrCat("= ", domain, domain.empty() ? "" : ".", row.name);
  std::vector<ExampleText> examples;
  for (const OpExample& pattern : row.patterns) {
    std::string text = absl::StrReplaceAll(pattern.text, {{"= OP", call}});
    examples.push_back({std::move(text), PatternCost(row, pattern), pattern.opset});
  }
  for (const OpExample& e : row.examples) examples.push_back({e.text, e.cost, e.opset});
  return examples;
}

}  // namespace onnxflops
