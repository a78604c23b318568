#include "tests/ops/quantities.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/count/count_model.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

std::map<std::string, Expr> QuantitiesOf(const Tally& tally) {
  std::map<std::string, Expr> all;
  for (const Quantity& q : kQuantities) all[std::string(q.key)] = tally.amounts.*q.value;
  for (int i = 0; i < kNumKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    all[absl::StrCat(KindName(kind))] = tally.flops[kind];
    all[absl::StrCat("int_", KindName(kind))] = tally.int_ops[kind];
  }
  for (const auto& [types, macs] : tally.macs_by_dtype) all["macs of " + types.ToString()] = macs;
  return all;
}

}  // namespace onnxflops
