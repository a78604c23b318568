// A rule to fill in, for an operator that no table knows: a [[op]] table of --rules.
//
//   std::cout << RuleTemplate("com.example", "FusedMlp", nullptr);
#ifndef ONNXFLOPS_SRC_EXPLAIN_RULE_TEMPLATE_H_
#define ONNXFLOPS_SRC_EXPLAIN_RULE_TEMPLATE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "src/report/report.h"

namespace onnxflops {

// With `node`, the inputs have its sizes; a size of 512 is called d512, so equal sizes have equal
// names. A template without costs is refused, so that they cannot be forgotten.
std::string RuleTemplate(absl::string_view domain, absl::string_view op, const NodeRow* node);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_EXPLAIN_RULE_TEMPLATE_H_
