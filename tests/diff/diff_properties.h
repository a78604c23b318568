// What holds of the difference of any two models.
#ifndef ONNXFLOPS_TESTS_DIFF_DIFF_PROPERTIES_H_
#define ONNXFLOPS_TESTS_DIFF_DIFF_PROPERTIES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/diff/model_diff.h"
#include "src/onnxflops.h"

namespace onnxflops {

inline const Quantity& QuantityOf(absl::string_view key) {
  return *std::find_if(std::begin(kQuantities), std::end(kQuantities),
                       [&](const Quantity& q) { return q.key == key; });
}

inline Report CountFile(const std::string& path) { return Count(Load(path).value()).value(); }

// FLOPs, MACs and weights of a module are the sums of its children's, and so are their changes.
inline void ExpectPartsAddUp(const Diff& diff) {
  for (size_t i = 0; i < diff.modules.size(); ++i) {
    const ModuleDiff& m = diff.modules[i];
    if (m.end == static_cast<int32_t>(i) + 1) continue;
    for (absl::string_view key : {"flops", "macs", "params"}) {
      Expr sum;
      for (size_t c = i + 1; c < static_cast<size_t>(m.end);
           c = static_cast<size_t>(diff.modules[c].end)) {
        sum += diff.modules[c].Change(QuantityOf(key));
      }
      EXPECT_EQ(sum.ToString(), m.Change(QuantityOf(key)).ToString()) << m.path << " " << key;
    }
  }
  Expr of_ops;
  for (const OpDiff& op : diff.ops) of_ops += op.Change(QuantityOf("flops"));
  EXPECT_EQ(of_ops, diff.modules[0].Change(QuantityOf("flops")));
}

// By path, what swapping the models turns around: status and changes.
inline std::multimap<std::string, std::string> Turned(const Diff& diff, int sign) {
  std::multimap<std::string, std::string> rows;
  for (const ModuleDiff& m : diff.modules) {
    if (m.new_level) continue;  // what only the head has around parts has no row the other way
    absl::string_view status = NameOf(m.status);
    if (sign < 0) {
      const std::map<absl::string_view, absl::string_view> kOpposite = {
          {"added", "removed"},         {"removed", "added"}, {"moved_here", "moved_away"},
          {"moved_away", "moved_here"}, {"same", "same"},     {"changed", "changed"}};
      status = kOpposite.at(status);
    }
    const bool in_head = status != "removed" && status != "moved_away";
    const bool both = m.status == DiffStatus::kSame || m.status == DiffStatus::kChanged;
    const std::string& path = both && sign < 0 ? m.base_path : m.path;
    std::string changes;
    for (const Quantity& q : kQuantities) {
      absl::StrAppend(&changes, " ", (m.Change(q) * Expr(sign)).ToString());
    }
    rows.emplace(absl::StrCat(in_head ? "" : "-", path), absl::StrCat(status, changes));
  }
  return rows;
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_DIFF_DIFF_PROPERTIES_H_
