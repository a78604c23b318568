#include "src/training/not_trained.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/signature.h"
#include "src/exporter/tensor_name.h"

namespace onnxflops::training {
namespace {

constexpr int kMaxIdentities = 8;  // in a row, before a reader of an initializer

enum class ByCalls : uint8_t { kUnread, kBuffer, kMadeUp, kOther };

using Names = absl::flat_hash_set<absl::string_view>;

// The arguments of a call.
struct CallNames {
  Names buffers;
  bool are_known = true;  // each is a buffer, or made by a node
};

CallNames NamesOf(absl::string_view text, const Names& made) {
  CallNames call;
  for (absl::string_view name : exporter::FxNames(text)) {
    if (absl::StartsWith(name, exporter::kFxBufferName)) {
      call.buffers.insert(name);
    } else if (!made.contains(name)) {
      call.are_known = false;
    }
  }
  return call;
}

// "mask.0" is "b_mask_0" as an argument.
std::string NameOfBuffer(absl::string_view tensor) {
  return absl::StrCat(exporter::kFxBufferName, absl::StrReplaceAll(tensor, {{".", "_"}}));
}

// A tensor with an invented name that is not an argument of a call; if the others are buffers, it
// is one.
ByCalls OfReader(const exporter::Signature& signature, absl::string_view text,
                 const CallNames& call, const Tensor& tensor) {
  if (exporter::IsViewOfMade(signature, text, tensor)) return ByCalls::kMadeUp;
  if (call.buffers.contains(NameOfBuffer(tensor.name))) return ByCalls::kBuffer;
  if (!exporter::IsFoldedName(tensor.name) || !call.are_known) return ByCalls::kOther;
  return call.buffers.empty() ? ByCalls::kMadeUp : ByCalls::kBuffer;
}

// A node that only passes a value on, and is not a call.
bool IsIdentity(const Node& node) {
  return node.op_type == "Identity" && node.domain.empty() && node.input(0) && node.output(0) &&
         !exporter::NodeMetadata(node.metadata).fx_node;
}

// The initializer behind Identity nodes; the value itself if there is none.
ValueId StoredAs(const ModelData& model, ValueId value) {
  for (int i = 0; i < kMaxIdentities && model.value(value).producer; ++i) {
    const Node& maker = model.node(*model.value(value).producer);
    if (!IsIdentity(maker)) break;
    value = *maker.inputs[0];
  }
  return value;
}

}  // namespace

std::vector<bool> FindNotTrained(const ModelData& model, const exporter::Signature& signature) {
  std::vector<ByCalls> by_calls(model.values.size(), ByCalls::kUnread);
  Names made;
  for (const Value& value : model.values) {
    if (!value.initializer) made.insert(value.name);
  }
  for (const Node& node : model.nodes) {
    if (IsIdentity(node)) continue;
    const auto text = exporter::NodeMetadata(node.metadata).fx_node;
    const CallNames call = text ? NamesOf(*text, made) : CallNames();
    for (OptionalValueId input : node.inputs) {
      if (!input) continue;
      const ValueId stored = StoredAs(model, *input);
      if (!model.value(stored).initializer) continue;
      ByCalls& of = by_calls[static_cast<size_t>(stored)];
      const ByCalls reader =
          text ? OfReader(signature, *text, call, model.tensor(*model.value(stored).initializer))
               : ByCalls::kOther;
      of = of == ByCalls::kUnread || of == reader ? reader : ByCalls::kOther;
    }
  }
  std::vector<bool> result(model.values.size(), false);
  for (size_t v = 0; v < result.size(); ++v) {
    const OptionalTensorId id = model.values[v].initializer;
    if (!id) continue;
    const Tensor& tensor = model.tensor(*id);
    if (signature.IsParameter(model.values[v].name)) continue;
    result[v] = signature.IsBuffer(model.values[v].name) || by_calls[v] == ByCalls::kBuffer ||
                by_calls[v] == ByCalls::kMadeUp || exporter::IsRotaryFrequency(tensor.name) ||
                exporter::IsRotaryTable(tensor.name) || exporter::IsFoldedTable(tensor);
  }
  return result;
}

}  // namespace onnxflops::training
