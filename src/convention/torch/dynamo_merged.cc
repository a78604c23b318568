// Finds calls that an exporter merged with equal ones, by traces in the names of other calls.
//
// How it works. An exporter merges equal calls and keeps one of them. The others leave traces. A
// call's text names its arguments as they were before merging: if it names "mul_3" and works on the
// result of mul_1, then mul_3 was merged with mul_1. The text also states how many calls used a
// result (num_users): if the file has more uses, the others used the results of merged calls. And
// an output keeps its own name although the file copies another result. Uses and copies are
// collected as pairs, and counted without repetition. Then the calls are visited backwards: the
// inputs of a merged call were computed for it as well, so one merged call may mean that a whole
// chain before it was merged.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/convention/torch/dynamo_parts.h"
#include "src/exporter/fx_node.h"

namespace onnxflops::convention {
namespace {

// torch.fx's name for one of several results of a call.
constexpr absl::string_view kOneOfSeveral = "getitem";

class MergedCalls {
 public:
  explicit MergedCalls(DynamoCalls* calls)
      : evidence_(calls->evidence),
        trace_(calls->trace),
        texts_(calls->texts),
        origins_(calls->origins) {}

  void Find() {
    for (size_t i = 0; i < trace_.calls.size(); ++i) {
      if (!IsOfMainGraph(trace_.calls[i])) continue;
      FxName& name = texts_.name(origins_[i].name);
      name.is_call = true;
      name.stated_users = exporter::FxNumUsers(origins_[i].text->fx_node);
    }
    for (const Value& value : evidence_.model().values) value_names_.insert(value.name);
    for (ValueId id : evidence_.model().graph(0).outputs) NoteOutput(evidence_.model().value(id));
    for (size_t i = 0; i < trace_.calls.size(); ++i) {
      if (IsOfMainGraph(trace_.calls[i])) NoteUses(i);
    }
    CountUses();
    for (size_t i = trace_.calls.size(); i-- > 0;) {
      if (IsOfMainGraph(trace_.calls[i])) FollowCopies(i);
    }
    trace_.has_merged_parts = missing_parts_.size() > parts_.size();
  }

 private:
  bool IsOfMainGraph(const TorchCall& call) const {
    const EntryId first = trace_.entries_of(call).front();
    return evidence_.node(evidence_.entry(first)).graph == 0;
  }

  // A result is named as its call; so a call of that name was dropped, or merged with another one,
  // whose result the file copies.
  void NoteOutput(const Value& value) {
    if (!value.producer) return;
    const Node& node = evidence_.model().node(*value.producer);
    const bool is_copy = node.op_type == "Identity" && node.input(0) &&
                         evidence_.model().value(*node.input(0)).producer;
    const NodeText& text =
        texts_.Of(is_copy ? *evidence_.model().value(*node.input(0)).producer : *value.producer);
    if (!text.is_complete) return;
    const int32_t made_by = text.name;
    if (MakerOf(value) == made_by) NoteUse({made_by, value.name}, "output");
    if (value.name == texts_.name(made_by).text) return;
    texts_.NoteMade(value.name);
    if (texts_.HasBase(value.name, made_by)) copies_.emplace_back(made_by, value.name);
  }

  // A tensor that a call works on. `made_by` is the call of the main graph that computed it; -1 for
  // an input, or for a value computed inside a call.
  struct Operand {
    int32_t made_by = -1;
    absl::string_view value;
  };

  // The operands in the order of the nodes and their inputs, without constants. A call that became
  // several nodes may use a value many times; it is listed once.
  std::vector<Operand> OperandsOf(size_t call) {
    std::vector<Operand> operands;
    absl::flat_hash_set<absl::string_view> seen;
    const absl::Span<const EntryId> entries = trace_.entries_of(trace_.calls[call]);
    for (EntryId id : entries) {
      const Entry& entry = evidence_.entry(id);
      for (size_t i = 0; i < evidence_.node(entry).inputs.size(); ++i) {
        const OptionalValueId input = evidence_.node(entry).inputs[i];
        if (!input || evidence_.model().value(*input).initializer) continue;
        const Value& value = evidence_.model().value(*input);
        const bool is_new = entries.size() == 1 || seen.insert(value.name).second;
        const bool is_own =
            value.producer && texts_.Of(*value.producer).name == origins_[call].name;
        if (is_own || !is_new) continue;
        if (value.producer && IsPartOfNoCall(*value.producer)) parts_.insert(value.name);
        operands.push_back(
            {IsFloatTensor(evidence_.Input(entry, i)) ? MakerOf(value) : -1, value.name});
      }
    }
    return operands;
  }

  static bool IsFloatTensor(const Fact& fact) { return fact.is_tensor() && IsFloat(fact.dtype); }

  // True for a Split, whose node has no text of its call.
  bool IsPartOfNoCall(NodeId id) {
    return !texts_.Of(id).is_complete && evidence_.model().node(id).outputs.size() > 1;
  }

  int32_t MakerOf(const Value& value) {
    if (!value.producer || evidence_.model().node(*value.producer).graph != 0) return -1;
    const NodeText& text = texts_.Of(*value.producer);
    const bool is_result =
        text.is_complete && (texts_.HasBase(value.name, text.name) ||
                             exporter::SplitFxName(value.name).first == kOneOfSeveral);
    return is_result ? text.name : -1;
  }

  // True if no call of the file has the name.
  bool IsMissing(absl::string_view name) const {
    return !texts_.IsCall(name) && !value_names_.contains(name);
  }

  // Under which names the call works on its operands.
  void NoteUses(size_t call) {
    const absl::string_view user = texts_.name(origins_[call].name).text;
    absl::flat_hash_map<absl::string_view, int> mentions;
    for (absl::string_view name : origins_[call].text->mentioned) {
      ++mentions[name];
      if (exporter::SplitFxName(name).first == kOneOfSeveral && IsMissing(name))
        missing_parts_.insert(name);
    }
    std::vector<Operand> others;
    for (const Operand& operand : OperandsOf(call)) {
      const absl::string_view maker =
          operand.made_by < 0 ? operand.value : texts_.name(operand.made_by).text;
      int& mentioned = mentions[mentions.contains(maker) ? maker : operand.value];
      if (mentioned-- <= 0) {
        others.push_back(operand);
      } else if (operand.made_by >= 0) {
        NoteUse(operand, user);
      }
    }
    std::vector<absl::string_view> names;
    for (absl::string_view name : origins_[call].text->mentioned) {
      if (const auto it = mentions.find(name); it->second > 0) {
        --it->second;
        names.push_back(name);
      }
    }
    if (others.empty()) return NoteCopies(call, names);
    // The nodes of a call may use its operands in any order.
    const bool is_in_order = trace_.calls[call].count == 1 || names.size() == 1;
    if (names.size() != others.size() || !is_in_order) return;
    for (size_t i = 0; i < names.size(); ++i) NoteOther(others[i], names[i]);
  }

  // The text names all operands and, in addition, these names. So one operand has several names.
  void NoteCopies(size_t call, const std::vector<absl::string_view>& names) {
    if (names.empty()) return;
    absl::flat_hash_map<absl::string_view, int32_t> makers;
    for (const Operand& operand : OperandsOf(call)) {
      if (operand.made_by >= 0)
        makers.emplace(exporter::SplitFxName(operand.value).first, operand.made_by);
    }
    for (absl::string_view name : names) {
      const auto it = makers.find(exporter::SplitFxName(name).first);
      if (it != makers.end() && IsMissing(name)) copies_.emplace_back(it->second, name);
    }
  }

  // The call works on an operand that its arguments name otherwise.
  void NoteOther(const Operand& operand, absl::string_view name) {
    if (operand.made_by < 0 || !IsMissing(name)) return;
    if (exporter::SplitFxName(name).first == exporter::SplitFxName(operand.value).first) {
      copies_.emplace_back(operand.made_by, name);
    } else {
      NoteUse(operand, name);
    }
  }

  // torch.fx counts the uses of each result of a call with several ("%getitem_1"). These have no
  // text, so nothing is concluded from their numbers.
  void NoteUse(const Operand& operand, absl::string_view user) {
    if (exporter::SplitFxName(operand.value).first == kOneOfSeveral) {
      texts_.name(operand.made_by).stated_users = 0;
    } else {
      uses_.emplace_back(operand.made_by, user);
    }
  }

  void CountUses() {
    for (auto* pairs : {&uses_, &copies_}) {
      std::sort(pairs->begin(), pairs->end());
      pairs->erase(std::unique(pairs->begin(), pairs->end()), pairs->end());
    }
    for (const auto& [made_by, user] : uses_) ++texts_.name(made_by).uses;
    for (const auto& [made_by, copy] : copies_) {
      FxName& name = texts_.name(made_by);
      ++(texts_.HasBase(copy, made_by) ? name.copies : name.unnamed);
    }
    for (FxName& name : texts_.names()) {
      if (name.stated_users >= 0)
        name.unnamed += std::max<int64_t>(0, name.uses - name.stated_users);
    }
  }

  // Calls that were merged with this one are missing, and perhaps those that computed their inputs.
  void FollowCopies(size_t call) {
    const FxName& name = texts_.name(origins_[call].name);
    const int64_t copies = name.copies + name.unnamed;
    if (copies == 0) return;
    trace_.unseen[static_cast<size_t>(trace_.calls[call].op)] += name.unnamed;
    absl::flat_hash_set<int32_t> seen;
    for (const Operand& operand : OperandsOf(call)) {
      if (operand.made_by < 0 || !seen.insert(operand.made_by).second) continue;
      FxName& made = texts_.name(operand.made_by);
      if (made.stated_users < 0) continue;
      const int64_t spare = std::min(copies, std::max<int64_t>(0, made.stated_users - made.uses));
      made.uses += spare;
      made.unnamed += copies - spare;
    }
  }

  Evidence& evidence_;
  TorchTrace& trace_;
  DynamoTexts& texts_;
  const std::vector<DynamoCalls::Origin>& origins_;  // by call
  absl::flat_hash_set<absl::string_view> value_names_;
  // Results of calls with several, as arguments name them, and as nodes that name no call give
  // them.
  absl::flat_hash_set<absl::string_view> missing_parts_, parts_;
  // Pairs of a call and a user: under the call's own name, and under the name of a merged call.
  std::vector<std::pair<int32_t, absl::string_view>> uses_, copies_;
};

}  // namespace

void FindMergedCalls(DynamoCalls* calls) { MergedCalls(calls).Find(); }

}  // namespace onnxflops::convention
