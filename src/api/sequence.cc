#include "src/api/sequence.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "fmt/format.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

// [batch, tokens] of integers.
bool TakesTokens(const Value& value) {
  const DeclaredType& type = *value.declared;
  return IsInteger(type.dtype) && type.dims.size() == 2 && !absl::StrContains(value.name, "mask");
}

// Inputs that are tensors with dimensions, and no weights.
std::vector<const Value*> TensorInputs(const ModelData& model) {
  std::vector<const Value*> found;
  for (ValueId id : model.graphs[0].inputs) {
    const Value& value = model.value(id);
    const DeclaredType* type = value.declared;
    if (value.initializer || type == nullptr || type->kind != TypeKind::kTensor) continue;
    if (!type->dims.empty()) found.push_back(&value);
  }
  return found;
}

bool IsOpen(const DeclaredDim& dim) { return dim.size < 0 && !dim.name.empty(); }

// An input of tokens with its own symbol for their number.
struct TokenInput {
  const DeclaredDim* batch;
  std::string tokens;
};

std::vector<TokenInput> FindTokenInputs(const ModelData& model) {
  std::vector<TokenInput> found;
  for (const Value* value : TensorInputs(model)) {
    const auto& dims = value->declared->dims;
    if (TakesTokens(*value) && IsOpen(dims[1])) {
      found.push_back({&dims[0], FileSymbol(dims[1].name)});
    }
  }
  return found;
}

absl::StatusOr<int64_t> BatchOf(const DeclaredDim& dim, const Bindings& bindings) {
  if (dim.size > 0) return dim.size;
  const auto it = bindings.find(FileSymbol(dim.name));
  if (it != bindings.end() && it->second > 0) return it->second;
  return absl::FailedPreconditionError(absl::StrCat(
      Setting("mask-sum"), " needs the number of sequences: ",
      Setting("dim", absl::StrCat(dim.name.empty() ? "batch" : Escaped(dim.name), "=N")),
      " sets it"));
}

// The mean, rounded up; a warning says so.
absl::StatusOr<int64_t> MeanTokens(int64_t sum, const DeclaredDim& batch_dim,
                                   const Bindings& bindings, std::vector<std::string>* warnings) {
  ASSIGN_OR_RETURN(const int64_t batch, BatchOf(batch_dim, bindings));
  const int64_t mean = sum / batch + (sum % batch == 0 ? 0 : 1);
  if (sum % batch == 0) return mean;
  warnings->push_back(fmt::format(
      "{} {}: the mean of {} sequences is {:.6g} tokens, rounded up to {}", Setting("mask-sum"),
      sum, batch, static_cast<double>(sum) / static_cast<double>(batch), mean));
  return mean;
}

absl::StatusOr<Bindings> Bind(const ModelData& model, const CountOptions& options,
                              std::vector<std::string>* warnings) {
  const std::vector<TokenInput> inputs = FindTokenInputs(model);
  const std::string option = Setting(options.tokens ? "tokens" : "mask-sum");
  if (options.tokens && options.mask_sum) {
    return absl::InvalidArgumentError(
        WithSettings("{tokens} and {mask-sum}: one of them gives the length"));
  }
  if (inputs.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(option, ": no input is token ids [batch, tokens] of an open length"));
  }
  int64_t tokens = options.tokens.value_or(0);
  if (options.mask_sum) {
    ASSIGN_OR_RETURN(tokens,
                     MeanTokens(*options.mask_sum, *inputs[0].batch, options.bindings, warnings));
  }
  Bindings sizes;
  for (const TokenInput& input : inputs) {
    const auto given = options.bindings.find(input.tokens);
    if (given != options.bindings.end() && given->second != tokens) {
      return absl::InvalidArgumentError(absl::StrCat(option, " gives ", tokens, " tokens, and ",
                                                     Setting("dim"), " ", Escaped(input.tokens),
                                                     " = ", given->second));
    }
    sizes.emplace(input.tokens, tokens);
  }
  return sizes;
}

}  // namespace

absl::StatusOr<Bindings> BindSequence(const ModelData& model, const CountOptions& options,
                                      std::vector<std::string>* warnings) {
  if (!options.tokens && !options.mask_sum) return Bindings();
  absl::StatusOr<Bindings> sizes = Bind(model, options, warnings);
  if (sizes.ok()) return sizes;
  return absl::Status(sizes.status().code(),
                      absl::StrCat(Escaped(model.path), ": ", sizes.status().message()));
}

// A mask [seq, seq] begins with no batch.
bool IsRepeated(const DeclaredType& type) {
  const DeclaredDim& first = type.dims[0];
  return IsOpen(first) &&
         std::any_of(type.dims.begin() + 1, type.dims.end(),
                     [&](const DeclaredDim& dim) { return IsOpen(dim) && dim.name == first.name; });
}

// The batch is the first dimension of the first input that takes tokens, else of the first input.
InputSizes FindInputSizes(const ModelData& model, const std::optional<BatchSize>& batch) {
  InputSizes sizes;
  for (const TokenInput& input : FindTokenInputs(model)) {
    if (!absl::c_linear_search(sizes.lengths, input.tokens)) sizes.lengths.push_back(input.tokens);
  }
  const DeclaredDim* first = nullptr;
  bool by_tokens = false;
  std::vector<std::string> batches;
  for (const Value* value : TensorInputs(model)) {
    const auto& dims = value->declared->dims;
    const bool takes_tokens = TakesTokens(*value);
    if (IsRepeated(*value->declared)) continue;
    if (IsOpen(dims[0]) && absl::StrContains(dims[0].name, "batch")) {
      batches.push_back(FileSymbol(dims[0].name));
    }
    if (first == nullptr || (takes_tokens && !by_tokens)) first = &dims[0];
    if (takes_tokens && !by_tokens && dims[1].size >= 0) sizes.length = dims[1].size;
    by_tokens = by_tokens || takes_tokens;
  }
  if (batch) {
    if (batch->size.is_literal()) {
      sizes.batch_size = static_cast<int64_t>(batch->size.literal());
    } else {
      sizes.batch = batch->size.ToString();
    }
  } else if (first != nullptr) {
    if (IsOpen(*first)) sizes.batch = FileSymbol(first->name);
    if (first->size >= 0) sizes.batch_size = first->size;
  }
  if (!sizes.batch.empty()) {
    for (std::string& other : batches) {
      if (other == sizes.batch || absl::c_linear_search(sizes.other_batches, other)) continue;
      sizes.other_batches.push_back(std::move(other));
    }
  }
  return sizes;
}

}  // namespace onnxflops
