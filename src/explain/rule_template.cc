#include "src/explain/rule_template.h"

#include <cstddef>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "src/base/quote.h"
#include "src/base/setting.h"

namespace onnxflops {
namespace {

std::string InTomlQuotes(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(Printable(text), {{"\\", "\\\\"}, {"\"", "\\\""}}),
                      "\"");
}

bool IsPlainName(absl::string_view text) {
  if (text.empty() || absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (const char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

// "batch, seq, d512". A size that is neither a number nor a name gets one by its place.
std::string SizeNames(const Shape& shape, absl::string_view tensor) {
  if (!shape.ranked()) return "dims...";
  std::vector<std::string> names;
  for (const Expr& dim : shape.dims()) {
    const std::string text = dim.ToString();
    if (dim.is_literal()) {
      names.push_back(absl::StrCat("d", text));
    } else if (IsPlainName(text)) {
      names.push_back(text);
    } else {
      names.push_back(absl::StrCat(tensor, "_", names.size()));
    }
  }
  return absl::StrJoin(names, ", ");
}

std::string ListOfInputs(const NodeRow& node) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string name = absl::StrCat("x", i);
    inputs.push_back(absl::StrCat("\"", name, "[", SizeNames(node.inputs[i].shape, name), "]\""));
  }
  return absl::StrJoin(inputs, ", ");
}

}  // namespace

std::string RuleTemplate(absl::string_view domain, absl::string_view op, const NodeRow* node) {
  if (domain.empty()) {
    const size_t dot = op.rfind('.');
    if (dot != absl::string_view::npos) {
      domain = op.substr(0, dot);
      op.remove_prefix(dot + 1);
    }
  }
  std::string out = WithSettings(
      "# A rule to fill in, for {rules FILE}. docs/rules.md has the language.\n[[op]]\n");
  absl::StrAppend(&out, "domain = ", InTomlQuotes(domain), "\nname = ", InTomlQuotes(op), "\n");
  const bool has_inputs = node != nullptr && !node->inputs.empty();
  if (has_inputs) {
    out +=
        "# d512 is a size that is 512 in this node: sizes of one name are equal in every node.\n";
  }
  absl::StrAppend(&out, "inputs = [",
                  has_inputs ? ListOfInputs(*node) : "\"x0[rows..., k]\", \"x1[k, n]\"", "]\n");
  absl::StrAppend(&out, "outputs = [\"y[",
                  has_inputs ? SizeNames(node->inputs[0].shape, "x0") : "rows..., n",
                  "]\"]  # to be checked\n",
                  "# What one run costs. What is left out is 0: add, mul, div, exp, ... as well.\n",
                  has_inputs ? "# mac = \"x0.elements*d512\"\n" : "# mac = \"rows*k*n\"\n",
                  "# free = true  # instead, if it does no arithmetic\n");
  return out;
}

}  // namespace onnxflops
