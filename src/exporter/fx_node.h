// The text of a call as torch.fx prints it, which the dynamo exporter writes to every node:
//
//   %linear_1 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%view,
//   %p_fc_weight, None), kwargs = {scale: 0.5})
//
// and the names in it.
#ifndef ONNXFLOPS_SRC_EXPORTER_FX_NODE_H_
#define ONNXFLOPS_SRC_EXPORTER_FX_NODE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onnxflops::exporter {

// Arguments as written, as views into the text; "%view" is a value, "None" is no value. Arguments
// that cannot be read are missing.
struct FxArgs {
  std::vector<absl::string_view> args;
  std::vector<std::pair<absl::string_view, absl::string_view>> kwargs;

  // Empty if it was not given.
  absl::string_view Arg(size_t i) const { return i < args.size() ? args[i] : absl::string_view(); }
  absl::string_view Kwarg(absl::string_view name) const;
  // Positional argument i, or else the one of this name.
  absl::string_view Get(size_t i, absl::string_view name) const;
  // True if Get(i, name) is a value: given, and not None.
  bool Has(size_t i, absl::string_view name) const;
};
FxArgs ParseFxArgs(absl::string_view fx_node);

// The number of calls that use the result: 1 in "[num_users=1]"; -1 if the text does not show it.
int64_t FxNumUsers(absl::string_view fx_node);

// "%view" -> "view"; empty for an argument that is not a value.
absl::string_view FxValueName(absl::string_view arg);
// Prefixes of placeholders in torch.export: "p_fc_weight", a parameter; "b_mask", a buffer;
// "c_lifted_tensor_0", a constant.
inline constexpr absl::string_view kFxPlaceholders[] = {"p_", "b_", "c_"};
bool IsFxPlaceholder(absl::string_view value_name);

// The call returns indices as well as values, like max(dim=...).
bool GivesPlaces(absl::string_view fx_node);
// Perhaps adaptive_max_pool2d(1), which torch.export writes as amax.
bool MayBePool(absl::string_view fx_node);
// PyTorch itself casts an operand to the type of the other one.
bool IsPromotion(absl::string_view fx_node);
// softmax(x, dim, dtype=float32): PyTorch computes in that type, and keeps its result.
bool IsSoftmaxInType(absl::string_view fx_node);
// The call reads the result of a call without tensor inputs, such as arange, zeros and full: a
// constant of the file.
bool ReadsMadeConstant(absl::string_view fx_node);
// True if the name is that of a view, which shares another value's memory: "t", "getitem_1".
bool IsViewName(absl::string_view value_name);
// The call is attention as one operator.
bool IsFxAttention(absl::string_view fx_node);
// True for a call of "aten.lerp", or of one overload, "aten.lerp.Scalar".
bool IsFxCall(absl::string_view fx_node, absl::string_view target);

// The tensors that autograd saves for a call whose exported operators would save others.
struct FxKept {
  struct Argument {
    size_t argument;
    std::optional<size_t> needed;  // kept only where this argument gets a gradient
  };
  bool result = false;
  absl::Span<const Argument> arguments;
};
// nullopt if the operators' own rows are right.
std::optional<FxKept> KeptByCall(absl::string_view fx_node);
// For a call that indexes with tensors: the names of the index tensors; "" for an argument that is
// not a value.
std::vector<absl::string_view> PlacesOfIndex(absl::string_view fx_node);
// The same for index_add, which torch.export writes as index_put; it also saves the added values.
std::vector<absl::string_view> PlacesOfAddition(absl::string_view fx_node);
// A convolution into which the exporter merged an earlier padding.
bool ReadsPadded(absl::string_view fx_node);
// A convolution's own padding, by axis; empty if the text does not give it.
std::vector<int64_t> PaddingOfConvolution(absl::string_view fx_node, int axes);
// Indexed, masked and divided elements: parts of an adaptive pool as exported.
bool TakesPartsOfPool(absl::string_view fx_node);
// The call uses the result of a detach(), through which no gradient flows.
bool NamesDetached(absl::string_view fx_node);
// Such a call, of a product.
inline constexpr absl::string_view kDetachedProduct =
    "%mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%detach, 2.0), "
    "kwargs = {})";
// "expand_2": a value that was broadcast along an axis.
bool IsExpandedName(absl::string_view value_name);
// The call copies, though the exporter may write it as a view.
bool Repeats(absl::string_view fx_node);
// "mul_1": the result of arithmetic with two operands.
bool IsArithmeticName(absl::string_view value_name);
bool IsProductName(absl::string_view value_name);
// The result of an rms_norm that torch.export wrote as several calls: its memory is contiguous.
bool IsOfWrittenRmsNorm(absl::string_view value_name);
// For this call PyTorch's own kernel saves a tensor that is no output of an operator in the file.
bool KeepsOfItsOwn(absl::string_view fx_node);
// Among them: a buffer as large as its input, on a CPU.
bool KeepsBufferOfItsOwn(absl::string_view fx_node);
// The call names a buffer.
inline constexpr absl::string_view kFxBuffer = "%b_";
inline constexpr absl::string_view kFxBufferName = "b_";
// All values that a call names, those in lists as well: "view", "p_fc_weight".
std::vector<absl::string_view> FxNames(absl::string_view fx_node);

// Marks a parameter among a call's arguments.
inline constexpr absl::string_view kFxParameter = "%p_";
inline constexpr absl::string_view kFxParameterName = "p_";
// An argument that no module registered, as a layer in a list of Python holds them.
inline constexpr absl::string_view kFxConstant = "%c_";

// "linear_12" -> ("linear", 12), "linear" -> ("linear", 0): how torch.fx numbers equal names.
std::pair<absl::string_view, int64_t> SplitFxName(absl::string_view name);

}  // namespace onnxflops::exporter

#endif  // ONNXFLOPS_SRC_EXPORTER_FX_NODE_H_
