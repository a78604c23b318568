#include "src/api/operators.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/op_def.h"
#include "ops/registry.h"
#include "ops/user/rules_access.h"
#include "src/base/glob.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/operators/operator_values.h"
#include "src/render/format.h"

namespace onnxflops {

std::vector<Operator> Operators(const Rules& rules) {
  std::vector<Operator> operators;
  for (const auto& families : {RulesAccess::Families(rules), AllFamilies()}) {
    for (const OpFamily& family : families) {
      for (const OpDef& row : family.rows) {
        operators.push_back(report::OperatorOf(family.domain, row));
      }
    }
  }
  std::stable_sort(operators.begin(), operators.end(), [](const Operator& a, const Operator& b) {
    return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
  });
  return operators;
}

absl::StatusOr<std::vector<Operator>> FindOperators(absl::string_view name, const Rules& rules) {
  std::vector<Operator> found;
  std::vector<std::string> labels;  // of the others
  for (Operator& op : Operators(rules)) {
    std::string label = OpLabel(op.domain, op.name);
    const bool here = MatchesGlob(name, label) || MatchesGlob(name, op.name) ||
                      (op.domain.empty() && MatchesGlob(name, absl::StrCat("ai.onnx.", op.name)));
    if (here) {
      found.push_back(std::move(op));
    } else if (labels.empty() || labels.back() != label) {
      labels.push_back(std::move(label));
    }
  }
  if (!found.empty()) return found;
  return absl::NotFoundError(
      absl::StrCat("no operator is named ", Quoted(name), DidYouMean(name, labels)));
}

}  // namespace onnxflops
