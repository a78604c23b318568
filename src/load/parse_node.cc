// NodeProto.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/load/parser.h"

namespace onnxflops {

struct Parser::NodeDraft {
  Node node;
  // Where its parts begin in the parser's vectors.
  size_t inputs, outputs, attributes, pairs;
  // The bytes of its attributes so far, tags included, if nothing else stands between them.
  const char* attributes_begin = nullptr;
  const char* attributes_end = nullptr;
};

bool Parser::ParseNode(Cursor c, Scope& scope) {
  const auto id = static_cast<NodeId>(model_->nodes.size());
  if (!CheckIds(model_->nodes.size(), "nodes")) return false;
  model_->nodes.emplace_back();
  graph(scope.graph).nodes.push_back(id);
  NodeDraft draft;
  draft.node.graph = scope.graph;
  draft.inputs = input_names_.size();
  draft.outputs = output_names_.size();
  draft.attributes = attributes_.size();
  draft.pairs = pairs_.size();
  while (wire_.More(c)) {
    uint32_t tag;
    const char* begin = c.p;
    if (!wire_.Tag(c, tag)) return false;
    if (tag != Key(5, kLengthDelimited)) {
      if (!NodeField(c, tag, draft)) return false;
      continue;
    }
    Cursor sub;
    if (!wire_.Message(c, sub)) return false;
    if (!ParseAttribute(sub, &scope, id, draft.node)) {
      return wire_.AddContext(NodeLabel(draft.node));
    }
    if (draft.attributes_begin == nullptr) draft.attributes_begin = begin;
    if (draft.attributes_end != nullptr && draft.attributes_end != begin) {
      draft.node.attributes_comparable = false;
    }
    draft.attributes_end = c.p;
  }
  return FinishNode(scope, id, draft);
}

bool Parser::NodeField(Cursor& c, uint32_t tag, NodeDraft& draft) {
  switch (tag) {
    case Key(1, kLengthDelimited):
      return wire_.Bytes(c, input_names_.emplace_back());
    case Key(2, kLengthDelimited):
      return wire_.Bytes(c, output_names_.emplace_back());
    case Key(3, kLengthDelimited):
      return wire_.Bytes(c, draft.node.name);
    case Key(4, kLengthDelimited):
      return wire_.Bytes(c, draft.node.op_type);
    case Key(7, kLengthDelimited):
      return wire_.Bytes(c, draft.node.domain);
    case Key(8, kLengthDelimited):
      return wire_.Bytes(c, draft.node.overload);
    case Key(9, kLengthDelimited):
      return AppendPair(c, pairs_);
    default:  // doc_string, device_configurations
      return wire_.SkipField(c, tag);
  }
}

// A node as errors name it before it is in the model.
std::string Parser::NodeLabel(const Node& node) {
  if (node.name.empty()) return absl::StrCat("a node without name (", Escaped(node.op_type), ")");
  return absl::StrCat("node ", Quoted(node.name), " (", Escaped(node.op_type), ")");
}

bool Parser::FinishNode(Scope& scope, NodeId id, NodeDraft& draft) {
  Node& n = draft.node;
  if (n.op_type.empty()) {
    return wire_.Fail(absl::StrCat("node ", Quoted(n.name), " has no op_type"));
  }
  if (!CheckAttributeNames(draft.attributes)) return wire_.AddContext(NodeLabel(n));
  if (!n.domain.empty() && n.domain == "ai.onnx") n.domain = "";
  NoteDomain(n.domain, id);
  if (n.attributes_comparable && draft.attributes_begin != nullptr) {
    n.attribute_bytes = absl::string_view(
        draft.attributes_begin, static_cast<size_t>(draft.attributes_end - draft.attributes_begin));
  }
  n.attributes = arena_.TakeFrom(attributes_, draft.attributes);
  n.metadata = arena_.TakeFrom(pairs_, draft.pairs);

  const size_t inputs = input_names_.size() - draft.inputs;
  const size_t outputs = output_names_.size() - draft.outputs;
  if (inputs > kMaxNodeInputs || outputs > kMaxNodeInputs) {
    return wire_.Fail(absl::OutOfRangeError(absl::StrCat(
        NodeLabel(n), " has more than ", kMaxNodeInputs, " inputs or outputs (kMaxNodeInputs)")));
  }
  auto* ids = arena_.New<ValueId>(inputs + outputs);
  std::fill_n(ids, inputs + outputs, kNone);
  n.inputs = absl::Span<const ValueId>(ids, inputs);
  n.outputs = absl::Span<const ValueId>(ids + inputs, outputs);
  node(id) = n;
  const absl::string_view* names = input_names_.data() + draft.inputs;
  for (size_t i = 0; i < inputs; ++i) AddMention(scope, names[i], kNone, ids + i);
  names = output_names_.data() + draft.outputs;
  for (size_t i = 0; i < outputs; ++i) AddMention(scope, names[i], id, ids + inputs + i);
  input_names_.resize(draft.inputs);
  output_names_.resize(draft.outputs);
  return scope.pending.size() < kMaxPending || FlushMentions(scope);
}

void Parser::AddMention(Scope& scope, absl::string_view name, NodeId producer, ValueId* place) {
  if (name.empty()) return;  // left out: stays kNone
  const uint32_t hash = hash_(name);
  scope.names.Prefetch(hash);
  scope.pending.push_back({name, hash, producer, place});
}

bool Parser::CheckAttributeNames(size_t begin) {
  constexpr size_t kFew = 16;
  const size_t n = attributes_.size() - begin;
  const Attribute* const attributes = attributes_.data() + begin;
  absl::flat_hash_set<absl::string_view> names;
  for (size_t i = 1; i < n; ++i) {
    bool twice = false;
    if (n <= kFew) {
      for (size_t j = 0; j < i; ++j) twice |= attributes[j].name == attributes[i].name;
    } else {
      if (i == 1) names.insert(attributes[0].name);
      twice = !names.insert(attributes[i].name).second;
    }
    if (!twice) continue;
    return wire_.Fail(absl::StrCat("attribute ", Quoted(attributes[i].name), " is given twice"));
  }
  return true;
}

// Which domains nodes are of, with the first node of each: whether they were imported is known
// later.
void Parser::NoteDomain(absl::string_view domain, NodeId id) {
  if (current_function_ == last_domain_function_ && domain == last_domain_) return;
  last_domain_function_ = current_function_;
  last_domain_ = domain;
  if (domains_.emplace(std::make_pair(current_function_, domain), id).second) {
    domain_uses_.push_back({current_function_, domain, id});
  }
}

}  // namespace onnxflops
