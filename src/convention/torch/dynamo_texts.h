// Reads the texts that nodes of a dynamo export carry about their calls: operators, arguments,
// scopes and lines of source. Each text is read once, however often its node runs.
#ifndef ONNXFLOPS_SRC_CONVENTION_TORCH_DYNAMO_TEXTS_H_
#define ONNXFLOPS_SRC_CONVENTION_TORCH_DYNAMO_TEXTS_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/convention/evidence.h"
#include "src/convention/torch/trace.h"
#include "src/exporter/fx_node.h"
#include "src/graph/model.h"
#include "src/graph/optional_id.h"

namespace onnxflops::convention {

// Which call the metadata of a node say that it is part of. A node of a function, or of a loop, is
// met once for every run, but its texts, which may be long, are read once.
struct NodeText {
  bool is_asked = false;
  bool is_complete = false;  // says which call it is
  bool is_fused = false;     // a convolution or product that took a BatchNorm in
  int32_t name = 0;          // of the call, see DynamoTexts::name
};

// What the metadata of a call's first node say about the call.
struct CallText {
  Aten op = Aten::kOther;
  int32_t target_number = 0;
  OptionalId<struct ScopeTag> scope;  // once it is made
  absl::string_view target, scopes, classes, fx_node, source_line;
  bool is_parsed = false;  // the rest
  exporter::FxArgs args;
  TorchArguments arguments;
  bool has_parameters = false;
  bool in_torch_nn = false;  // the line of source is torch.nn's
  // "r" of "self.r(input=x)", the line that calls the module: hooks get no input then.
  absl::string_view keyworded;
  bool are_arguments_noted = false;
  std::vector<absl::string_view> mentioned;            // values in its arguments, in order
  absl::flat_hash_set<absl::string_view> value_names;  // of many args
};

// A name that torch.fx gave: "linear_3".
struct FxName {
  absl::string_view text;
  int64_t number = 0;
  OptionalId<struct NumbersTag> numbers;  // if a rule knows the operator
  // See FindMergedCalls.
  bool is_call = false;
  int64_t stated_users = -1;  // calls that use the result, as torch.fx counted them; -1: not known
  int64_t uses = 0;           // the same, as the file has them
  int64_t copies = 0;         // calls that were merged with this one and that arguments name
  int64_t unnamed = 0;        // and that nothing names
};

// The numbers of torch.fx for the calls of one operator.
struct FxNumbers {
  Aten op = Aten::kOther;
  int64_t highest = -1, count = 0;
};

class DynamoTexts {
 public:
  explicit DynamoTexts(const ModelData& model) : model_(model), texts_(model.nodes.size()) {}

  const NodeText& Of(NodeId id);
  // The call that begins with this node. REQUIRES: Of(id).is_complete.
  CallText& OfCall(NodeId id);
  static const exporter::FxArgs& ArgsOf(CallText* text);

  int32_t NameOf(absl::string_view text);
  FxName& name(int32_t id) { return names_[static_cast<size_t>(id)]; }
  const FxName& name(int32_t id) const { return names_[static_cast<size_t>(id)]; }
  std::vector<FxName>& names() { return names_; }
  // True if the text is another number of the same operator.
  bool HasBase(absl::string_view text, int32_t name) const;
  // True if the file has a call of this name.
  bool IsCall(absl::string_view name) const;

  // There is a call of this name in the file.
  void NoteNumber(int32_t name_id);
  // There was one when the model was exported.
  void NoteMade(absl::string_view name);
  // An operand "%linear_1" is the result of a call. The file lacks that call if the exporter merged
  // it with an equal one.
  void NoteArguments(CallText* text);
  absl::Span<const FxNumbers> numbers() const { return numbers_; }

  // The transform that changed the program before its export, by its source: "torch.func.vmap"; or
  // empty.
  absl::string_view transform() const { return transform_; }
  // True if the source assigns a non-tensor object to this name.
  bool IsObject(absl::string_view name) const { return objects_.contains(name); }
  // True if a call uses this parameter, buffer or constant: "b_blocks_0_mask".
  bool IsPlaceholder(absl::string_view name) const { return placeholders_.contains(name); }

 private:
  void NoteLines(absl::string_view stack_trace);

  const ModelData& model_;
  std::vector<NodeText> texts_;  // by NodeId
  absl::flat_hash_map<NodeId, CallText*> text_of_call_;
  std::deque<CallText> call_texts_;
  std::vector<FxName> names_;
  std::vector<FxNumbers> numbers_;
  absl::flat_hash_map<absl::string_view, int32_t> name_ids_, targets_, numbers_of_;
  absl::flat_hash_set<absl::string_view> lines_, objects_, placeholders_;
  absl::string_view transform_;
};

// The calls of a dynamo export, and their texts.
struct DynamoCalls {
  struct Origin {
    CallText* text;  // of the node that the call begins with
    int32_t name;
  };
  explicit DynamoCalls(Evidence* all) : evidence(*all), texts(all->model()) {}

  Evidence& evidence;
  DynamoTexts texts;
  TorchTrace trace;
  std::vector<Origin> origins;  // by call of the trace
};

// "blocks.0.mask" as torch.export writes it into names: "blocks_0_mask".
std::string AsPlaceholder(absl::string_view path);

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_TORCH_DYNAMO_TEXTS_H_
