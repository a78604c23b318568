// NodeProto.
//
// How it works. Most of the time of loading a large graph goes into this loop, so rare cases are
// separate functions that are not inlined. Names of inputs and outputs are hashed and collected;
// the lookup happens later in batches, when the prefetched memory has arrived (FlushMentions).
// Nodes of one kind often have attributes with equal bytes. The bytes of all attributes are looked
// up as one text, and a known text gives the parsed attributes of the earlier node; this also lets
// such nodes be compared by pointer.
//
// Attributes with bodies make nodes of their own while the holder is still being read. So the
// holder's place is reserved first, and the node is put there at the end.
#include <algorithm>
#include <span>

#include "absl/algorithm/container.h"
#include "absl/base/attributes.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/load/ignored.h"
#include "src/load/parser.h"

namespace onnxflops::load {
namespace {

// Longer attributes hold payloads, or are seldom equal.
constexpr size_t kMaxSharedBytes = 1024;

}  // namespace

struct Parser::NodeDraft {
  Node node;
  size_t inputs = 0, outputs = 0;
  // Where its parts begin in the parser's vectors.
  size_t attributes, pairs;
  // The bytes of its attributes so far, with tags, if they are contiguous.
  const char* attributes_begin = nullptr;
  const char* attributes_end = nullptr;
  bool shared = false;  // node.attributes belong to an earlier node with equal bytes
};

// Rare cases are separate functions, because most of the loading time goes into this loop.
bool Parser::ParseNode(Cursor c, Scope& scope) {
  const auto id = static_cast<NodeId>(model_->nodes.size());
  if (!CheckIds(model_->nodes.size(), "nodes")) return false;
  graph(scope.graph).nodes.push_back(id);
  NodeDraft draft;
  draft.node.graph = scope.graph;
  draft.attributes = attributes_.size();
  draft.pairs = pairs_.size();
  while (wire_.More(c)) {
    uint32_t tag;
    const char* begin = c.p;
    if (!wire_.Tag(c, tag)) return false;
    bool read;
    switch (tag) {
      case Key(1, kLengthDelimited):
      case Key(2, kLengthDelimited): {
        const bool output = tag == Key(2, kLengthDelimited);
        ++(output ? draft.outputs : draft.inputs);
        read = NodeName(c, scope, output ? OptionalNodeId(id) : kNone);
        break;
      }
      case Key(3, kLengthDelimited):
        read = wire_.Bytes(c, draft.node.name);
        break;
      case Key(4, kLengthDelimited):
        read = wire_.Bytes(c, draft.node.op_type);
        break;
      case Key(5, kLengthDelimited): {
        Cursor copy = {begin, c.end};
        read = NodeAttributes(copy, scope, id, draft);
        c = copy;
        break;
      }
      default: {
        Cursor copy = c;
        read = NodeRest(copy, tag, draft);
        c = copy;
      }
    }
    if (ABSL_PREDICT_FALSE(!read)) return false;
  }
  return FinishNode(scope, id, draft);
}

// The name of an input, or of an output that the node `producer` defines.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool Parser::NodeName(Cursor& c, Scope& scope,
                                                          OptionalNodeId producer) {
  absl::string_view name;
  if (!wire_.Bytes(c, name)) return false;
  const uint32_t hash = hash_(name);
  scope.names.Prefetch(hash);
  scope.AddPending({name, hash, producer, nullptr});
  return true;
}

// Reads the attribute at `c`, or all of them at once: nodes of one kind have attributes with equal
// bytes, which are parsed once.
bool Parser::NodeAttributes(Cursor& c, Scope& scope, NodeId id, NodeDraft& draft) {
  const char* begin = c.p;
  if (draft.attributes_begin == nullptr) {
    const char* end = wire_.EndOfRun(c, Key(5, kLengthDelimited), kMaxSharedBytes);
    const auto known =
        known_attributes_.find(absl::string_view(begin, static_cast<size_t>(end - begin)));
    if (known != known_attributes_.end() && !known->second.empty()) {
      draft.shared = true;
      draft.node.attributes = known->second;
      draft.node.attribute_bytes = known->first;
      draft.attributes_begin = begin;
      draft.attributes_end = c.p = end;
      return true;
    }
  } else if (draft.shared) {  // more attributes follow after another field
    draft.shared = false;
    attributes_.insert(attributes_.end(), draft.node.attributes.begin(),
                       draft.node.attributes.end());
  }
  uint32_t tag;
  Cursor sub;
  if (!wire_.Tag(c, tag) || !wire_.Message(c, sub)) return false;
  if (!ParseAttribute(sub, &scope, id, draft.node)) return wire_.AddContext(NodeLabel(draft.node));
  if (draft.attributes_begin == nullptr) draft.attributes_begin = begin;
  if (draft.attributes_end != nullptr && draft.attributes_end != begin) {
    draft.node.attributes_comparable = false;
  }
  draft.attributes_end = sub.end;
  return true;
}

bool Parser::NodeRest(Cursor& c, uint32_t tag, NodeDraft& draft) {
  switch (tag) {
    case Key(7, kLengthDelimited):
      return wire_.Bytes(c, draft.node.domain);
    case Key(8, kLengthDelimited):
      return wire_.Bytes(c, draft.node.overload);
    case Key(9, kLengthDelimited):
      return AppendPair(c, pairs_);
    case Key(10, kLengthDelimited):
      return SkipIgnored(wire_, c, Ignored::kNodeDevice);
    default:  // doc_string
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
  if (n.domain == "ai.onnx") n.domain = "";
  NoteDomain(n.domain, id);
  if (draft.attributes_begin != nullptr && !draft.shared && !FinishAttributes(draft)) return false;
  if (pairs_.size() > draft.pairs) n.metadata = arena_.TakeFrom(pairs_, draft.pairs);
  if (std::max(draft.inputs, draft.outputs) > static_cast<size_t>(kMaxNodeInputs)) {
    return wire_.Fail(
        LimitError("node-inputs", absl::StrCat(NodeLabel(n), " has more than ", kMaxNodeInputs,
                                               " inputs or outputs (node-inputs)")));
  }
  auto* inputs = arena_.New<OptionalValueId>(draft.inputs + draft.outputs);
  OptionalValueId* outputs = inputs + draft.inputs;
  n.inputs = absl::Span<const OptionalValueId>(inputs, draft.inputs);
  n.outputs = absl::Span<const OptionalValueId>(outputs, draft.outputs);
  AddNode(id, n);
  for (Scope::Mention& mention :
       std::span(scope.pending).subspan(scope.ready, scope.num_pending - scope.ready)) {
    mention.place = mention.producer == kNone ? inputs++ : outputs++;
    *mention.place = kNone;
  }
  scope.ready = scope.num_pending;
  return scope.ready < kMaxPending || FlushMentions(scope);
}

// Puts a node in its place: at the end, or the place that was reserved before its bodies.
void Parser::AddNode(NodeId id, const Node& n) {
  if (static_cast<size_t>(id) == model_->nodes.size()) {
    model_->nodes.push_back(n);
  } else {
    node(id) = n;
  }
}

bool Parser::FinishAttributes(NodeDraft& draft) {
  Node& n = draft.node;
  n.attributes = arena_.TakeFrom(attributes_, draft.attributes);
  if (!CheckAttributeNames(n.attributes)) return wire_.AddContext(NodeLabel(n));
  n.attribute_bytes = {};
  if (!n.attributes_comparable) return true;
  n.attribute_bytes = absl::string_view(
      draft.attributes_begin, static_cast<size_t>(draft.attributes_end - draft.attributes_begin));
  // Equal bytes are at one place, and parsed attributes are shared unless a tensor among them has
  // no data, which is reported of each.
  const bool complete = absl::c_all_of(n.attributes, [&](const Attribute& a) {
    return absl::c_all_of(a.tensors, [&](TensorId t) { return model_->tensor(t).has_data; });
  });
  const auto known = known_attributes_.emplace(
      n.attribute_bytes, complete ? n.attributes : absl::Span<const Attribute>());
  n.attribute_bytes = known.first->first;
  return true;
}

bool Parser::CheckAttributeNames(absl::Span<const Attribute> attributes) {
  if (attributes.size() > kMaxNodeAttributes) {
    return wire_.Fail(LimitError(
        "node-attributes",
        absl::StrCat("it has more than ", kMaxNodeAttributes, " attributes (node-attributes)")));
  }
  constexpr size_t kFew = 16;
  absl::flat_hash_set<absl::string_view> names;
  for (size_t i = 1; i < attributes.size(); ++i) {
    const absl::string_view name = attributes[i].name;
    bool twice = false;
    if (attributes.size() <= kFew) {
      for (size_t j = 0; j < i; ++j) twice |= attributes[j].name == name;
    } else {
      if (i == 1) names.insert(attributes[0].name);
      twice = !names.insert(name).second;
    }
    if (twice) return wire_.Fail(absl::StrCat("attribute ", Quoted(name), " is given twice"));
  }
  return true;
}

// The domains of nodes, with the first node of each. Whether they were imported is checked later.
void Parser::NoteDomain(absl::string_view domain, NodeId id) {
  if (current_function_ == last_domain_function_ && domain == last_domain_) return;
  last_domain_function_ = current_function_;
  last_domain_ = domain;
  if (domains_.emplace(std::make_pair(current_function_, domain), id).second) {
    domain_uses_.push_back({current_function_, domain, id});
  }
}

}  // namespace onnxflops::load
