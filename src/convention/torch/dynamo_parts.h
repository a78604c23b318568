// Details of each call in a dynamo export beyond its operator, and what the exporter left out.
#ifndef ONNXFLOPS_SRC_CONVENTION_TORCH_DYNAMO_PARTS_H_
#define ONNXFLOPS_SRC_CONVENTION_TORCH_DYNAMO_PARTS_H_

#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "src/convention/torch/dynamo_texts.h"
#include "src/exporter/source_line.h"

namespace onnxflops::convention {

inline constexpr absl::string_view kAdaptiveAvgPools[] = {
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"};
inline constexpr absl::string_view kAdaptiveMaxPools[] = {
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"};

// How the source code writes calls. Of a function that is called often, each line is read once per
// module.
class Spellings {
 public:
  explicit Spellings(DynamoCalls* calls)
      : evidence_(calls->evidence), trace_(calls->trace), texts_(calls->texts) {}

  // A module of torch.nn calls functions of torch.nn.functional, and nn.MultiheadAttention some of
  // torch. For other calls the line of source may show the spelling.
  void Read(TorchCall* call, const CallText& text);
  // True if the line of source calls this, and nothing else that could have made the call.
  bool CallsIn(const TorchCall& call, const CallText& text, absl::string_view name);
  bool CallsOneOf(const TorchCall& call, const CallText& text,
                  absl::Span<const absl::string_view> names);

 private:
  void ReadArguments(TorchCall* call, const CallText& text) const;
  exporter::SpelledCall SpelledIn(const TorchCall& call, const CallText& text,
                                  absl::string_view name);
  bool IsPlaceholder(absl::string_view module, absl::string_view name) const;

  Evidence& evidence_;
  TorchTrace& trace_;
  const DynamoTexts& texts_;
  // By line, name, symbol and module.
  absl::flat_hash_map<std::tuple<const char*, absl::string_view, char, ModuleId>,
                      exporter::SpelledCall>
      spelled_;
};

// Tensors that arithmetic uses and a call names, but no call of the file made: the exporter
// computed them. Masks and biases of attention are not examined.
class FoldedTensors {
 public:
  explicit FoldedTensors(DynamoCalls* calls) : evidence_(calls->evidence), trace_(calls->trace) {}

  void Note(const TorchCall& call, CallText* text);

 private:
  void NoteWeight(const TorchCall& call, CallText* text);
  int64_t FoldedIn(NodeId id, CallText* text) const;
  bool IsMatrixOfNoModule(const Value& value) const;

  const Evidence& evidence_;
  TorchTrace& trace_;
  absl::flat_hash_map<std::pair<const CallText*, NodeId>, int64_t> folded_;
  absl::flat_hash_set<const CallText*> folded_weights_;
};

// Results of layers that the exporter computed: "%sigmoid" is a constant.
void FindFoldedLayers(const Evidence& evidence, TorchTrace* trace);

// The exporter computes equal calls once. Then a call works on the result of another call than its
// arguments name:
//
//   add(%tanh, %tanh_1) works on tanh twice: tanh_1 was merged
//   add(%linear, %dropout) works on linear twice: dropout did nothing and is a user of %linear.
//     If torch.fx counted fewer users of %linear, another linear was merged with it
//
// The arguments of a merged call are not in the file. They are the same as those of the remaining
// call if these have enough additional users; otherwise they were merged as well.
void FindMergedCalls(DynamoCalls* calls);

// Finds modules of torch.nn that use parameters from another module's path: these are used in
// several places of the model. An embedding whose weight a linear layer uses does not count.
void FindSharedModules(DynamoCalls* calls);

// nn.LSTMCell, nn.GRUCell and nn.RNNCell are exported as their computation; the product with
// weight_ih stands for the cell.
void FindRecurrentCells(DynamoCalls* calls);

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_TORCH_DYNAMO_PARTS_H_
