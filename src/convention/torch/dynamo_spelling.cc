// How source code wrote the calls of a dynamo export: as a function, a method or an operator.
//
// How it works. First what needs no source: torch.nn calls its functions in known ways, and some
// modules keep a function from before a tool wrapped it. For all others the last line of the stack
// trace is read (source_line.h), once for each line, name and module. If the line settles the
// spelling, it is stated. If not, the likely one is a guess, and a tool whose figure depends on it
// is then assumed. The same line tells which arguments were given by place, and whether a resizing
// was given a size, one factor or several, since wrappers differ in these.
#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "src/convention/torch/dynamo_parts.h"
#include "src/convention/torch/functions.h"
#include "src/exporter/python_list.h"
#include "src/exporter/tensor_name.h"

namespace onnxflops::convention {
namespace {

constexpr absl::string_view kAdaptive = "adaptive";
constexpr absl::string_view kDistance = "cdist(", kRnn = "_VF.rnn_", kSoftmin = "F.softmin(";
// Functions that do products inside of PyTorch, and how a line calls products themselves.
constexpr absl::string_view kFunctionsWithProducts[] = {"tensordot(", "multi_dot("};
constexpr absl::string_view kWrittenProducts[] = {"@", "mm(", "matmul("};

bool HoldsOneOf(absl::string_view line, absl::Span<const absl::string_view> texts) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](absl::string_view text) { return absl::StrContains(line, text); });
}

Spelling SpellingOfNn(Aten op) {
  const bool is_of_torch =
      IsMatmul(op) || op == Aten::kAddmm || op == Aten::kBaddbmm || op == Aten::kEinsum;
  return is_of_torch ? Spelling::kTorch : Spelling::kFunctional;
}

// True if an argument of the call is a number or a tensor without a module; an attribute may be
// one.
bool HasNumber(const CallText& text) {
  return std::any_of(text.args.args.begin(), text.args.args.end(), [](absl::string_view arg) {
    return !arg.empty() && (absl::ascii_isdigit(arg[0]) || arg[0] == '-');
  });
}

// The pool that the line calls, or else the one for images.
absl::string_view AdaptivePoolIn(absl::string_view line,
                                 absl::Span<const absl::string_view> names) {
  for (absl::string_view name : names) {
    if (absl::StrContains(line, name)) return name;
  }
  return names[1];
}

// How source code names the operator.
absl::string_view SpelledName(const TorchCall& call, const CallText& text) {
  if (IsResizing(call.op)) return "interpolate";
  if (call.op == Aten::kRelu6) return "relu6";
  if (call.op == Aten::kBatchNorm) return "batch_norm";
  absl::string_view name = AtenName(call.target);
  if (!absl::StrContains(name, kAdaptive)) {
    if (call.op == Aten::kAdaptiveAvgPool)
      return AdaptivePoolIn(text.source_line, kAdaptiveAvgPools);
    if (call.op == Aten::kAdaptiveMaxPool)
      return AdaptivePoolIn(text.source_line, kAdaptiveMaxPools);
  }
  absl::ConsumePrefix(&name, "_");
  absl::ConsumePrefix(&name, "native_");
  return name;
}

// PyTorch runs some functions as one operator, which the exporter writes as several.
void FindOperatorAround(TorchCall* call, const CallText& text) {
  call->is_inside = IsMatmul(call->op) && HoldsOneOf(text.source_line, kFunctionsWithProducts) &&
                    !HoldsOneOf(text.source_line, kWrittenProducts);
  // If it is given a state, nn.RNN is exported as its single steps.
  call->is_of_rnn = !IsRecurrent(call->op) && absl::StrContains(text.source_line, kRnn);
  // No tool's table lists it, and a figure that leaves out products of such a call is assumed.
  const bool in_distance = absl::StrContains(text.source_line, kDistance);
  if (in_distance && IsMatmul(call->op)) call->op = Aten::kOther;
}

bool IsNumber(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(c) || c == '.' || c == '-' || c == 'e';
  });
}

// The argument by its keyword or its place; empty if it is not there, or None.
absl::string_view Given(const exporter::LineArguments& line, absl::string_view keyword,
                        size_t place) {
  const exporter::LineArgument* argument = line.Find(keyword);
  if (argument == nullptr && line.arguments.size() > place &&
      line.arguments[place].keyword.empty()) {
    argument = &line.arguments[place];
  }
  return argument == nullptr || argument->value == "None" ? "" : argument->value;
}

// How a call interpolate(input, size, scale_factor) gives the size or the factor.
OpenFact<int32_t> SizingIn(const exporter::LineArguments& line, bool has_size) {
  constexpr size_t kSizePlace = 1, kFactorPlace = 2;
  using Fact = OpenFact<int32_t>;
  const absl::string_view size = Given(line, "size", kSizePlace);
  const absl::string_view factor = Given(line, "scale_factor", kFactorPlace);
  if (!line.is_whole || size.empty() == factor.empty()) return Fact(has_size ? kSizes : kFactor);
  const absl::string_view value = size.empty() ? factor : size;
  const bool is_slice = absl::EndsWith(value, ":]") && absl::StrContains(value, ".shape[");
  if (!size.empty()) {
    if (value[0] == '(' || value[0] == '[' || is_slice) return Fact::Stated(kSizes);
    return IsNumber(value) ? Fact::Stated(kOneSize) : Fact(kSizes);
  }
  if (value[0] == '[') return Fact::Stated(kListOfFactors);
  if (value[0] == '(') {
    return Fact::Stated(static_cast<int32_t>(exporter::PyItems(value).size()));
  }
  return IsNumber(value) ? Fact::Stated(kFactor) : Fact(kFactor);
}

// The same for a module, which holds the size or the factor. If the sizes of the result differ,
// several sizes were given.
OpenFact<int32_t> SizingOfModule(const TorchCall& call) {
  constexpr int kFirst = 2;
  const Shape& y = call.shape_of_y();
  const bool has_size = call.arguments.has_output_size;
  bool differ = y.ranked() && y.rank() == kFirst + 1;
  for (int i = kFirst + 1; y.ranked() && i < y.rank(); ++i) differ = differ || y[i] != y[kFirst];
  const int32_t sizing = has_size ? kSizes : kFactor;
  return has_size && differ ? OpenFact<int32_t>::Stated(sizing) : OpenFact<int32_t>(sizing);
}

// True if a convolution is called with a list of numbers after its bias, or an einsum with all its
// operands in one list.
bool IsGivenList(const TorchCall& call, const exporter::LineArguments& line) {
  constexpr size_t kTensors = 3, kEquationAndList = 2;
  const auto& given = line.arguments;
  if (!line.is_whole) return false;
  if (call.op == Aten::kEinsum) {
    return given.size() == kEquationAndList && !absl::StartsWith(given[1].value, "*") &&
           call.w->is_tensor();
  }
  if (call.op != Aten::kConv && call.op != Aten::kConvTranspose) return false;
  for (size_t i = 0; i < given.size(); ++i) {
    if ((i >= kTensors || !given[i].keyword.empty()) && absl::StartsWith(given[i].value, "[")) {
      return true;
    }
  }
  return false;
}

}  // namespace

void Spellings::ReadArguments(TorchCall* call, const CallText& text) const {
  if (text.in_torch_nn) {
    call->sizing = SizingOfModule(*call);
    call->positional = OpenFact<int32_t>::Stated(kAllArguments);
    return;
  }
  const exporter::LineArguments line =
      exporter::ArgumentsIn(text.source_line, SpelledName(*call, text));
  call->sizing = SizingIn(line, call->arguments.has_output_size);
  call->is_given_list = IsGivenList(*call, line);
  int32_t positional = 0;
  for (const exporter::LineArgument& argument : line.arguments) {
    const bool is_unpacked = absl::StartsWith(argument.value, "*");
    if (is_unpacked) positional = kAllArguments;
    if (!argument.keyword.empty() || is_unpacked) break;
    ++positional;
  }
  const bool is_told = line.is_whole && positional < kAllArguments;
  call->positional =
      is_told ? OpenFact<int32_t>::Stated(positional) : OpenFact<int32_t>(kAllArguments);
}

void Spellings::Read(TorchCall* call, const CallText& text) {
  FindOperatorAround(call, text);
  if (call->op == Aten::kOther) return;
  ReadArguments(call, text);
  const TorchScope& scope = trace_.scope(*call);
  const absl::string_view path = evidence_.paths().path(scope.module);
  call->is_by_keyword =
      !text.keyworded.empty() && text.keyworded == path.substr(path.rfind('.') + 1);
  const bool is_arithmetic = call->op == Aten::kAdd || call->op == Aten::kMul;
  // A class that is taken for one of torch.nn has been assumed already.
  call->in_torch_nn = text.in_torch_nn;
  call->has_source = !text.source_line.empty();
  const bool has_class_of_nn = absl::StartsWith(scope.class_name, "torch.nn.");
  // The source of a hook has no line of torch.nn.
  const bool by_others = has_class_of_nn && !text.in_torch_nn && !text.source_line.empty();
  if (by_others) ++trace_.calls_of_hooks;
  const bool has_whole_layer = IsMatmul(call->op) || call->op == Aten::kSdpa ||
                               call->op == Aten::kAddmm || call->op == Aten::kBaddbmm ||
                               IsRecurrent(call->op);
  if (text.in_torch_nn && !has_class_of_nn && has_whole_layer) ++trace_.derived_layers;
  const bool is_of_nn = text.in_torch_nn || (has_class_of_nn && !by_others) ||
                        (scope.is_assumed && scope.nn_class != NnClass::kNone);
  if (KeepsFunction(scope) && IsActivation(call->op)) {
    call->spelling = OpenFact<Spelling>::Stated(Spelling::kNone);
    return;
  }
  if (text.in_torch_nn && call->op == Aten::kSoftmax &&
      absl::StrContains(text.source_line, kSoftmin)) {
    call->spelling = OpenFact<Spelling>::Stated(Spelling::kMethod);  // (-x).softmax(dim)
    return;
  }
  if (call->is_inside) {
    call->spelling = OpenFact<Spelling>::Stated(Spelling::kNone);
    return;
  }
  if (is_of_nn && !is_arithmetic) {
    call->spelling = OpenFact<Spelling>::Stated(SpellingOfNn(call->op));
    return;
  }
  exporter::SpelledCall spelled = SpelledIn(*call, text, SpelledName(*call, text));
  // An equation in another form than a text has no wrapper.
  const bool has_equation = absl::StrContains(text.source_line, "einsum(\"") ||
                            absl::StrContains(text.source_line, "einsum('");
  if (call->op == Aten::kEinsum && !has_equation) spelled.is_settled = false;
  const bool is_told =
      spelled.spelling != Spelling::kNone && spelled.spelling != Spelling::kSeveral;
  const Spelling likely = is_told ? spelled.spelling : LikelySpelling(evidence_, scope, *call);
  call->spelling =
      spelled.is_settled ? OpenFact<Spelling>::Stated(likely) : OpenFact<Spelling>(likely);
}

exporter::SpelledCall Spellings::SpelledIn(const TorchCall& call, const CallText& text,
                                           absl::string_view name) {
  const char symbol = call.op == Aten::kAdd   ? '+'
                      : call.op == Aten::kMul ? '*'
                      : IsMatmul(call.op)     ? '@'
                                              : '\0';
  const ModuleId id = trace_.scope(call).module;
  const auto [known, is_new] = spelled_.try_emplace({text.source_line.data(), name, symbol, id});
  if (!is_new) return known->second;
  const absl::string_view module = evidence_.paths().path(id);
  const auto is_module = [&](absl::string_view part) {
    const std::string path = module.empty() ? std::string(part) : absl::StrCat(module, ".", part);
    return evidence_.paths().Find(path).has_value();
  };
  const auto is_object = [&](absl::string_view value) {
    if (!absl::ConsumePrefix(&value, "self.")) {
      return texts_.IsObject(value.substr(0, value.find('.')));
    }
    return !HasNumber(text) && !IsPlaceholder(module, value);
  };
  return known->second =
             exporter::FindSpelling(text.source_line, name, symbol, {is_module, is_object});
}

// True if a call uses the parameter, buffer or constant of this name: "b_blocks_0_mask".
bool Spellings::IsPlaceholder(absl::string_view module, absl::string_view name) const {
  const std::string path = AsPlaceholder(absl::StrCat(module, module.empty() ? "" : ".", name));
  return std::any_of(
      std::begin(exporter::kFxPlaceholders), std::end(exporter::kFxPlaceholders),
      [&](absl::string_view kind) { return texts_.IsPlaceholder(absl::StrCat(kind, path)); });
}

bool Spellings::CallsOneOf(const TorchCall& call, const CallText& text,
                           absl::Span<const absl::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](absl::string_view name) { return CallsIn(call, text, name); });
}

bool Spellings::CallsIn(const TorchCall& call, const CallText& text, absl::string_view name) {
  return SpelledIn(call, text, name).is_settled;
}

}  // namespace onnxflops::convention
