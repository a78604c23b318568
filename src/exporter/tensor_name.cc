// How it works. A file does not say what a constant was in the program: a parameter, a buffer, or a
// result that the exporter computed and stored. Its name shows it, by the exporter's habits. A
// parameter keeps its path in the modules, with dots. TorchScript renames a tensor that it
// transposed or folded to "onnx::Op_123". The dynamo exporter names a folded tensor after the ATen
// operator that made it, "add_3" or "cos". So the questions here compare names with lists of such
// operators. A name that matches none is not considered folded.
#include "src/exporter/tensor_name.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "src/base/find_last.h"
#include "src/exporter/fx_node.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::exporter {
namespace {

// Prefix of TorchScript's own value names.
constexpr absl::string_view kTorchScript = "onnx::";

// ATen operators (and val) after which the dynamo exporter names tensors that it folded.
constexpr absl::string_view kFoldedNames[] = {"add",
                                              "arange",
                                              "bitwise_and",
                                              "bitwise_not",
                                              "bitwise_or",
                                              "clamp",
                                              "clone",
                                              "convert_element_type_default",
                                              "cos",
                                              "cumsum",
                                              "div",
                                              "eq",
                                              "exp",
                                              "eye",
                                              "flip",
                                              "full",
                                              "full_like",
                                              "ge",
                                              "gt",
                                              "index",
                                              "le",
                                              "linspace",
                                              "logical_and",
                                              "logical_not",
                                              "logical_or",
                                              "lt",
                                              "masked_fill",
                                              "maximum",
                                              "minimum",
                                              "mul",
                                              "ne",
                                              "neg",
                                              "new_ones",
                                              "new_zeros",
                                              "ones",
                                              "ones_like",
                                              "outer",
                                              "permute",
                                              "pow",
                                              "repeat",
                                              "repeat_interleave",
                                              "rsqrt",
                                              "rsub",
                                              "scalar_tensor_default",
                                              "sigmoid",
                                              "sin",
                                              "slice",
                                              "softplus",
                                              "sqrt",
                                              "stack",
                                              "sub",
                                              "tanh",
                                              "tril",
                                              "triu",
                                              "unsqueeze",
                                              "val",
                                              "where",
                                              "zeros",
                                              "zeros_like"};

}  // namespace

std::optional<absl::string_view> ModuleOfParameter(absl::string_view name) {
  const size_t dot = FindLast(name, '.');
  if (dot == absl::string_view::npos) return std::nullopt;
  return name.substr(0, dot);
}

bool IsParameterName(absl::string_view name) {
  return absl::StrContains(name, ".") && !absl::StrContains(name, "::") &&
         !absl::StrContains(name, "/");
}

bool IsRunningStatistic(absl::string_view name) {
  return absl::EndsWith(name, ".running_mean") || absl::EndsWith(name, ".running_var") ||
         absl::EndsWith(name, ".num_batches_tracked");
}

bool IsRotaryFrequency(absl::string_view name) { return absl::EndsWith(name, "inv_freq"); }

bool IsRotaryTable(absl::string_view name) {
  constexpr absl::string_view kTables[] = {"cos",       "cos_cached", "cos_cache",
                                           "freqs_cis", "freqs_cos",  "freqs_sin",
                                           "sin",       "sin_cached", "sin_cache"};
  const std::optional<absl::string_view> module = ModuleOfParameter(name);
  const absl::string_view own = module ? name.substr(module->size() + 1) : name;
  return std::find(std::begin(kTables), std::end(kTables), own) != std::end(kTables);
}

bool IsInProjection(absl::string_view name) {
  return absl::EndsWith(name, ".in_proj_bias") || absl::EndsWith(name, ".in_proj_weight");
}

absl::string_view SharedParameterName(const ModelData& model, const Node& node) {
  if (node.op_type != "Identity" || !node.domain.empty()) return {};
  const OptionalValueId input = node.input(0), output = node.output(0);
  if (!input || !output || !model.value(*input).initializer) return {};
  const absl::string_view name = model.value(*output).name;
  return IsParameterName(model.value(*input).name) && IsParameterName(name) ? name
                                                                            : absl::string_view();
}

bool IsRenamed(absl::string_view name) { return absl::StartsWith(name, kTorchScript); }

bool IsRenamedFor(absl::string_view op_type, absl::string_view name) {
  return absl::ConsumePrefix(&name, kTorchScript) && absl::StartsWith(name, op_type);
}

bool IsFoldedTable(const Tensor& tensor) {
  if (IsRenamedFor("Cos", tensor.name) || IsRenamedFor("Sin", tensor.name)) return true;
  if (!IsRenamedFor("Mul_", tensor.name)) return false;
  const auto lines = [](int64_t size) { return size > 1; };
  return std::count_if(tensor.dims.begin(), tensor.dims.end(), lines) > 1;
}

bool IsFoldedName(absl::string_view name) {
  const size_t underscore = name.rfind('_');
  if (underscore != absl::string_view::npos &&
      std::all_of(name.begin() + underscore + 1, name.end(), absl::ascii_isdigit)) {
    name = name.substr(0, underscore);
  }
  return std::find(std::begin(kFoldedNames), std::end(kFoldedNames), name) !=
         std::end(kFoldedNames);
}

bool IsScalarParameter(absl::string_view name) {
  constexpr absl::string_view kOfParameter[] = {"exp", "sigmoid", "softplus", "tanh"};
  if (std::find(std::begin(kOfParameter), std::end(kOfParameter), name) != std::end(kOfParameter)) {
    return true;
  }
  if (name.empty() || IdentifierLength(name) < name.size()) return false;
  if (std::any_of(name.begin(), name.end(), absl::ascii_isdigit)) return false;
  // "scalar_tensor_default", and names that a tool derived from it.
  for (size_t end = 0; end != absl::string_view::npos;) {
    end = name.find('_', end + 1);
    if (IsFoldedName(name.substr(0, end))) return false;
  }
  return true;
}

bool IsFoldedProduct(absl::string_view name) {
  constexpr absl::string_view kProducts[] = {"linear", "matmul", "mm",          "bmm",   "addmm",
                                             "einsum", "conv2d", "convolution", "conv1d"};
  const absl::string_view op = SplitFxName(name).first;
  return std::find(std::begin(kProducts), std::end(kProducts), op) != std::end(kProducts);
}

bool MayBeBuffer(absl::string_view name) {
  constexpr absl::string_view kKnown[] = {"weight", "bias",  "gamma", "beta",  "embed", "token",
                                          "scale",  "shift", "proj",  "probe", "query", "expand"};
  if (name.empty() || IsRenamed(name) || absl::StrContains(name, "/")) return false;
  if (IsFoldedName(name)) return false;
  const std::optional<absl::string_view> module = ModuleOfParameter(name);
  const absl::string_view own = module ? name.substr(module->size() + 1) : name;
  if (IsFoldedProduct(own) || IdentifierLength(own) < own.size()) return false;
  return std::none_of(std::begin(kKnown), std::end(kKnown),
                      [&](absl::string_view known) { return absl::StrContains(own, known); });
}

bool IsFoldedView(absl::string_view name) {
  const absl::string_view op = SplitFxName(name).first;
  return op == "slice" || op == "select";
}

bool IsFoldedCast(absl::string_view name) {
  return SplitFxName(name).first == "convert_element_type_default";
}

bool IsFoldedArithmetic(absl::string_view name) {
  constexpr absl::string_view kArithmetic[] = {"add", "div",   "exp",  "mul",  "neg",
                                               "pow", "rsqrt", "rsub", "sqrt", "sub"};
  const absl::string_view op = SplitFxName(name).first;
  return std::find(std::begin(kArithmetic), std::end(kArithmetic), op) != std::end(kArithmetic);
}

bool IsFoldedLookup(absl::string_view name) { return SplitFxName(name).first == "embedding"; }

}  // namespace onnxflops::exporter
