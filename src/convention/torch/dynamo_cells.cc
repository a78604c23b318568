// Modules of torch.nn that are one step of a recurrent layer.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "src/convention/torch/dynamo_parts.h"
#include "src/convention/torch/dynamo_texts.h"
#include "src/convention/torch/names.h"
#include "src/convention/torch/trace.h"

namespace onnxflops::convention {
namespace {

constexpr absl::string_view kInputWeight = "weight_ih", kStateWeight = "weight_hh";

int32_t GatesOf(absl::string_view class_name) {
  if (absl::EndsWith(class_name, "LSTMCell")) return 4;
  return absl::EndsWith(class_name, "GRUCell") ? 3 : 1;
}

// The nodes that the calls of one module contain.
struct CellCalls {
  int64_t inputs = 0, states = 0;  // products with either weight; zeros have no product
  bool adds_batch = false;
};

}  // namespace

void FindRecurrentCells(DynamoCalls* calls) {
  TorchTrace& trace = calls->trace;
  if (trace.recurrent_cells == 0) return;
  std::vector<CellCalls> cells(trace.scopes.size());
  for (size_t i = 0; i < trace.calls.size(); ++i) {
    TorchCall& call = trace.calls[i];
    if (trace.nn_class(call) != NnClass::kRecurrentCell) continue;
    CellCalls& cell = cells[static_cast<size_t>(call.scope)];
    cell.adds_batch = cell.adds_batch || AtenName(call.target) == "unsqueeze";
    if (call.op != Aten::kLinear) continue;
    const absl::string_view weight = DynamoTexts::ArgsOf(calls->origins[i].text).Get(1, "weight");
    if (absl::EndsWith(weight, kStateWeight)) ++cell.states;
    if (!absl::EndsWith(weight, kInputWeight)) continue;
    ++cell.inputs;
    call.arguments.cell_gates = GatesOf(trace.scope(call).class_name);
  }
  for (TorchCall& call : trace.calls) {
    if (call.arguments.cell_gates == 0) continue;
    call.arguments.is_cell_unbatched = cells[static_cast<size_t>(call.scope)].adds_batch;
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool is_cell = trace.scopes[i].nn_class == NnClass::kRecurrentCell;
    if (is_cell && (cells[i].inputs == 0 || cells[i].inputs < cells[i].states)) ++trace.lost_cells;
  }
}

}  // namespace onnxflops::convention
