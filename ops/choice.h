// String attributes that name one of a few ways to work.
#ifndef ONNXFLOPS_OPS_CHOICE_H_
#define ONNXFLOPS_OPS_CHOICE_H_

#include <algorithm>
#include <initializer_list>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ops/op_def.h"

namespace onnxflops {

// The attribute's value, `otherwise` when it is missing. InvalidArgument: "mode is 'x', not one of
// linear, circular".
inline absl::StatusOr<absl::string_view> ChoiceAttr(
    const NodeView& n, absl::string_view name, absl::string_view otherwise,
    std::initializer_list<absl::string_view> choices) {
  const absl::string_view value = n.String(name, otherwise);
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return value;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is '", value, "', not one of ", absl::StrJoin(choices, ", ")));
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_CHOICE_H_
