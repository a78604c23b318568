// How it works. The text of a call is not parsed as a whole. Each question looks for the one part
// that decides it: the name of an ATen operator, the arguments in the brackets after "args = ", or
// the name of an argument. The texts are untrusted, and they change with the version of PyTorch. So
// a text that cannot be read gives "no" or an empty answer, and the caller then uses the graph
// alone. Names of values reveal the operator that made them: torch.fx names the result of the third
// add "add_2" (SplitFxName splits off the number), even if that operator is no longer a node of the
// file.
#include "src/exporter/fx_node.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "src/exporter/python_list.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::exporter {
namespace {

constexpr size_t kMaxNumberDigits = 9;
constexpr int64_t kMaxPadding = 1 << 30;

// The text in brackets after `label`, including the brackets; empty without brackets.
absl::string_view BracketsAfter(absl::string_view text, absl::string_view label) {
  const size_t at = text.find(label);
  return at == absl::string_view::npos ? absl::string_view()
                                       : PyBrackets(text.substr(at + label.size()));
}

// The second argument, a list: the names of its values.
std::vector<absl::string_view> NamesInList(absl::string_view fx_node) {
  std::vector<absl::string_view> names;
  for (absl::string_view item : PyItems(ParseFxArgs(fx_node).Arg(1))) {
    if (item != "None") names.push_back(FxValueName(item));
  }
  return names;
}

// "aten.log2.default" of "call_function[target=torch.ops.aten.log2.default]".
absl::string_view FxOverload(absl::string_view fx_node) {
  constexpr absl::string_view kBefore = "[target=torch.ops.";
  const size_t at = fx_node.find(kBefore);
  if (at == absl::string_view::npos) return "";
  fx_node.remove_prefix(at + kBefore.size());
  return fx_node.substr(0, fx_node.find(']'));
}

}  // namespace

absl::string_view FxArgs::Kwarg(absl::string_view name) const {
  for (const auto& [key, value] : kwargs) {
    if (key == name) return value;
  }
  return {};
}

absl::string_view FxArgs::Get(size_t i, absl::string_view name) const {
  return i < args.size() ? args[i] : Kwarg(name);
}

bool FxArgs::Has(size_t i, absl::string_view name) const {
  const absl::string_view value = Get(i, name);
  return !value.empty() && value != "None";
}

FxArgs ParseFxArgs(absl::string_view fx_node) {
  FxArgs result;
  constexpr absl::string_view kArgs = "(args = ";
  const size_t at = fx_node.find(kArgs);
  if (at == absl::string_view::npos) return result;
  fx_node.remove_prefix(at + kArgs.size());
  const absl::string_view args = PyBrackets(fx_node);
  result.args = PyItems(args);
  result.kwargs = PyPairs(BracketsAfter(fx_node.substr(args.size()), "kwargs = "));
  return result;
}

int64_t FxNumUsers(absl::string_view fx_node) {
  constexpr absl::string_view kLabel = "[num_users=";
  const size_t at = fx_node.find(kLabel);
  if (at == absl::string_view::npos) return -1;
  fx_node.remove_prefix(at + kLabel.size());
  const absl::string_view digits = fx_node.substr(0, fx_node.find(']'));
  int64_t users = 0;
  return digits.size() <= kMaxNumberDigits && absl::SimpleAtoi(digits, &users) ? users : -1;
}

absl::string_view FxValueName(absl::string_view arg) {
  return absl::StartsWith(arg, "%") ? arg.substr(1) : absl::string_view();
}

bool GivesPlaces(absl::string_view fx_node) {
  return absl::StrContains(fx_node, "aten.max.dim]") || absl::StrContains(fx_node, "aten.min.dim]");
}

bool MayBePool(absl::string_view fx_node) {
  if (!absl::StrContains(fx_node, "aten.amax.default]")) return false;
  const FxArgs args = ParseFxArgs(fx_node);
  return args.Arg(1) == "[-2, -1]" && args.Arg(2) == "True";
}

bool IsPromotion(absl::string_view fx_node) {
  return absl::StrContains(fx_node, "prims.convert_element_type");
}

bool IsSoftmaxInType(absl::string_view fx_node) {
  constexpr size_t kType = 2;
  const bool is_softmax =
      IsFxCall(fx_node, "aten.softmax.int") || IsFxCall(fx_node, "aten.log_softmax.int");
  return is_softmax && ParseFxArgs(fx_node).Has(kType, "dtype");
}

bool ReadsMadeConstant(absl::string_view fx_node) {
  constexpr absl::string_view kMakers[] = {"arange", "zeros", "ones", "full"};
  const std::vector<absl::string_view> names = FxNames(fx_node);
  return std::any_of(names.begin(), names.end(), [&](absl::string_view name) {
    const absl::string_view maker = SplitFxName(name).first;
    return std::find(std::begin(kMakers), std::end(kMakers), maker) != std::end(kMakers);
  });
}

bool IsViewName(absl::string_view value_name) {
  constexpr absl::string_view kViews[] = {"getitem", "t",      "transpose", "permute",
                                          "view",    "select", "unsqueeze", "squeeze"};
  const absl::string_view op = SplitFxName(value_name).first;
  return std::find(std::begin(kViews), std::end(kViews), op) != std::end(kViews);
}

bool IsFxAttention(absl::string_view fx_node) {
  return absl::StrContains(fx_node, "aten.scaled_dot_product_attention");
}

bool IsFxCall(absl::string_view fx_node, absl::string_view target) {
  absl::string_view name = FxOverload(fx_node);
  return absl::ConsumePrefix(&name, target) && (name.empty() || name[0] == '.');
}

std::optional<FxKept> KeptByCall(absl::string_view fx_node) {
  using Argument = FxKept::Argument;
  static constexpr Argument kFirst[] = {{0, std::nullopt}};
  static constexpr Argument kBothOfSecond[] = {{0, 1}, {1, 1}};
  static constexpr Argument kFactors[] = {{1, 2}, {2, 1}};
  static constexpr Argument kWeighted[] = {{2, 0}, {2, 1}, {0, 2}, {1, 2}};
  static constexpr Argument kThreeFactors[] = {{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}};
  static constexpr std::pair<absl::string_view, FxKept> kKept[] = {
      {"aten.trunc", {}},
      {"aten.frac", {}},
      {"aten.heaviside", {}},
      {"aten.im2col", {}},
      {"aten.lerp.Scalar", {}},
      {"aten.expm1", {.result = true}},
      {"aten.exp2", {.result = true}},
      {"prims.var", {.arguments = kFirst}},
      {"aten.var", {.arguments = kFirst}},
      {"aten.nan_to_num", {.arguments = kFirst}},
      {"aten.fmod.Tensor", {.arguments = kBothOfSecond}},
      {"aten.addcmul", {.arguments = kFactors}},
      {"aten.lerp.Tensor", {.arguments = kWeighted}},
      {"aten.bilinear", {.arguments = kThreeFactors}},
  };
  if (IsSoftmaxInType(fx_node)) return FxKept{.result = true};
  const auto* const row = std::find_if(std::begin(kKept), std::end(kKept), [&](const auto& kept) {
    return IsFxCall(fx_node, kept.first);
  });
  return row == std::end(kKept) ? std::nullopt : std::optional<FxKept>(row->second);
}

std::vector<absl::string_view> PlacesOfIndex(absl::string_view fx_node) {
  return absl::StrContains(fx_node, "aten.index.Tensor]") ? NamesInList(fx_node)
                                                          : std::vector<absl::string_view>();
}

std::vector<absl::string_view> PlacesOfAddition(absl::string_view fx_node) {
  const bool adds = absl::StrContains(fx_node, "aten.index_put.default]") &&
                    ParseFxArgs(fx_node).Arg(3) == "True";
  return adds ? NamesInList(fx_node) : std::vector<absl::string_view>();
}

bool ReadsPadded(absl::string_view fx_node) {
  if (!absl::StrContains(fx_node, "aten.conv")) return false;
  const absl::string_view read = SplitFxName(FxValueName(ParseFxArgs(fx_node).Arg(0))).first;
  return read == "pad" || read == "constant_pad_nd";
}

std::vector<int64_t> PaddingOfConvolution(absl::string_view fx_node, int axes) {
  constexpr size_t kPadding = 4;
  std::vector<int64_t> padding;
  const absl::string_view given = ParseFxArgs(fx_node).Arg(kPadding);
  for (absl::string_view item : PyItems(given)) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(item, &size) || size < 0 || size > kMaxPadding) return {};
    padding.push_back(size);
  }
  if (axes < 1) return {};
  if (given.empty()) padding = {0};
  if (padding.size() == 1) padding.assign(static_cast<size_t>(axes), padding[0]);
  return padding.size() == static_cast<size_t>(axes) ? padding : std::vector<int64_t>();
}

bool TakesPartsOfPool(absl::string_view fx_node) {
  constexpr absl::string_view kParts[] = {"aten.index.Tensor]", "aten.masked_fill.", "aten.where.",
                                          "aten.div.", "aten.mul."};
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](absl::string_view part) { return absl::StrContains(fx_node, part); });
}

bool NamesDetached(absl::string_view fx_node) { return absl::StrContains(fx_node, "%detach"); }

bool Repeats(absl::string_view fx_node) {
  return absl::StrContains(fx_node, "aten.repeat_interleave.") ||
         absl::StrContains(fx_node, "aten.repeat.");
}

bool IsExpandedName(absl::string_view value_name) {
  return SplitFxName(value_name).first == "expand";
}

bool IsArithmeticName(absl::string_view value_name) {
  constexpr absl::string_view kArithmetic[] = {"add", "div", "mul", "sub"};
  const absl::string_view op = SplitFxName(value_name).first;
  return std::find(std::begin(kArithmetic), std::end(kArithmetic), op) != std::end(kArithmetic);
}

bool IsProductName(absl::string_view value_name) {
  const absl::string_view op = SplitFxName(value_name).first;
  return op == "mul" || op == "div";
}

bool IsOfWrittenRmsNorm(absl::string_view value_name) {
  return SplitFxName(value_name).first == "type_as";
}

bool KeepsOfItsOwn(absl::string_view fx_node) {
  return absl::StrContains(fx_node, "aten.embedding_bag") ||
         absl::StrContains(fx_node, "aten._embedding_bag") || KeepsBufferOfItsOwn(fx_node);
}

bool KeepsBufferOfItsOwn(absl::string_view fx_node) {
  return absl::StrContains(fx_node, "aten.log_sigmoid");
}

std::vector<absl::string_view> FxNames(absl::string_view fx_node) {
  std::vector<absl::string_view> names;
  const size_t args = fx_node.find("(args = ");
  if (args == absl::string_view::npos) return names;
  fx_node.remove_prefix(args);
  for (size_t at = fx_node.find('%'); at != absl::string_view::npos; at = fx_node.find('%')) {
    fx_node.remove_prefix(at + 1);
    const absl::string_view name = fx_node.substr(0, IdentifierLength(fx_node));
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

bool IsFxPlaceholder(absl::string_view value_name) {
  return std::any_of(std::begin(kFxPlaceholders), std::end(kFxPlaceholders),
                     [&](absl::string_view kind) { return absl::StartsWith(value_name, kind); });
}

std::pair<absl::string_view, int64_t> SplitFxName(absl::string_view name) {
  const size_t underscore = name.rfind('_');
  int64_t number = 0;
  if (underscore == absl::string_view::npos || underscore == 0 ||
      name.size() - underscore - 1 > kMaxNumberDigits ||
      !absl::SimpleAtoi(name.substr(underscore + 1), &number) || number <= 0) {
    return {name, 0};
  }
  return {name.substr(0, underscore), number};
}

}  // namespace onnxflops::exporter
