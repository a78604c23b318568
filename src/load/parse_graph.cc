// GraphProto, and the names of a graph.
//
// How it works. A graph is read in one pass. Each graph has a scope with a table from names to
// values. A name may be used before it is defined, in any order, so a mention makes the value and
// the definition marks it. Counting both shows at the end whether a definition is missing, without
// a search. Mentions are collected and looked up in batches, since looking up is the costliest step
// of loading.
//
// A body may use names of the graphs around it. When a body ends, the names that it mentions and
// does not define are handed to its outer graph. That graph either has the name (the value is
// redirected) or hands it on. Nodes that come before their inputs are noticed (`unsorted`); only
// such graphs are sorted.
//
// In large models the nodes are counted first, by skipping from length to length, so that arrays
// need not grow.
#include <algorithm>
#include <limits>
#include <span>

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/load/ignored.h"
#include "src/load/parser.h"

namespace onnxflops::load {
namespace {

// With fewer nodes it is not worth counting them first.
constexpr size_t kFewNodes = 64;
// Above this, the memory of a body's names is given back.
constexpr size_t kManyNames = 4096;

}  // namespace

void Parser::Scope::Shrink() {
  if (std::max(own.capacity(), captured.capacity()) < kManyNames) return;
  names = NameTable();
  own = {};
  captured = {};
  uses = {};
  infos = {};
  pending = {};
}

void Parser::Scope::GrowPending() { pending.resize(std::max(2 * kMaxPending, 2 * pending.size())); }

void Parser::Scope::DropReady() {
  std::copy(pending.begin() + static_cast<ptrdiff_t>(ready),
            pending.begin() + static_cast<ptrdiff_t>(num_pending), pending.begin());
  num_pending -= ready;
  ready = 0;
}

Parser::Scope& Parser::ScopeAt(size_t depth) {
  while (scopes_.size() <= depth) scopes_.push_back(std::make_unique<Scope>());
  return *scopes_[depth];
}

bool Parser::BeginScope(Scope& scope, Scope* parent, OptionalNodeId holder) {
  if (!CheckIds(model_->graphs.size(), "graphs")) return false;
  scope.parent = parent;
  scope.holder = holder;
  scope.graph = static_cast<GraphId>(model_->graphs.size());
  scope.first_value = static_cast<ValueId>(model_->values.size());
  scope.mentioned = scope.defined = 0;
  scope.unsorted = false;
  scope.names.Reset(scope.first_value);
  scope.own.clear();
  scope.infos.clear();
  scope.captured.clear();
  scope.uses.clear();
  scope.num_pending = scope.ready = 0;
  Graph& graph = model_->graphs.emplace_back();
  if (parent != nullptr) graph.parent = parent->graph;
  graph.parent_node = holder;
  graph.function = current_function_;
  graph.first_value = scope.first_value;
  return true;
}

bool Parser::ParseBody(Cursor c, Scope& parent, OptionalNodeId holder, GraphId& id) {
  if (depth_ >= kMaxGraphNesting) {
    return wire_.Fail(LimitError(
        "graph-nesting",
        absl::StrCat("graphs are nested more than ", kMaxGraphNesting, " deep (graph-nesting)")));
  }
  // Values get their numbers in the order of the file: the outer graph's earlier names precede the
  // body.
  if (!FlushMentions(parent)) return false;
  ++depth_;
  Scope& scope = ScopeAt(static_cast<size_t>(depth_));
  if (!BeginScope(scope, &parent, holder)) return false;
  id = scope.graph;
  if (!ParseGraph(c, scope) || !EndScope(scope)) return false;
  --depth_;
  return true;
}

bool Parser::ParseGraph(Cursor c, Scope& scope) {
  if (scope.parent == nullptr) ExpectNodes(c, scope);
  while (wire_.More(c)) {
    uint32_t tag;
    if (!wire_.Tag(c, tag)) return false;
    if (ABSL_PREDICT_TRUE(tag == Key(1, kLengthDelimited))) {
      Cursor sub;
      if (!wire_.Message(c, sub) || !ParseNode(sub, scope)) return false;
    } else if (!GraphField(c, tag, scope)) {
      return false;
    }
  }
  return true;
}

bool Parser::GraphField(Cursor& c, uint32_t tag, Scope& scope) {
  Cursor sub;
  absl::string_view name;
  const DeclaredType* type = nullptr;
  switch (tag) {
    case Key(2, kLengthDelimited):
      return wire_.Bytes(c, graph(scope.graph).name);
    case Key(5, kLengthDelimited): {
      TensorId tensor;
      return wire_.Message(c, sub) && ParseTensor(sub, "initializer", tensor) &&
             AddInitializer(scope, tensor);
    }
    case Key(11, kLengthDelimited):
      return wire_.Message(c, sub) && ParseValueInfo(sub, name, type) &&
             AddGraphInput(scope, name, type);
    case Key(12, kLengthDelimited):
      return wire_.Message(c, sub) && ParseValueInfo(sub, name, type) &&
             AddGraphOutput(scope, name, type);
    case Key(13, kLengthDelimited):
      if (!wire_.Message(c, sub) || !ParseValueInfo(sub, name, type)) return false;
      scope.infos.push_back({name, type});
      return true;
    case Key(15, kLengthDelimited): {
      TensorId tensor;
      return wire_.Message(c, sub) && ParseSparseInitializer(sub, tensor) &&
             AddInitializer(scope, tensor);
    }
    case Key(14, kLengthDelimited):
      return SkipIgnored(wire_, c, Ignored::kAnnotation);
    case Key(16, kLengthDelimited): {
      StringPair pair;
      if (!wire_.Message(c, sub) || !ParsePair(sub, pair)) return false;
      graph(scope.graph).metadata.push_back(pair);
      return true;
    }
    default:  // doc_string
      return wire_.SkipField(c, tag);
  }
}

// Nodes come first in a graph and are contiguous, unless the file was made by hand. Counts them,
// skipping from length to length, so that arrays of a million nodes need not grow.
void Parser::ExpectNodes(const Cursor& graph_bytes, Scope& scope) {
  ByteRegion& region = wire_.region();
  Cursor c = graph_bytes;
  size_t nodes = 0;
  while (wire_.More(c)) {
    // Reading ahead must not leave a gap: it could not be filled later.
    if (c.p - region.loaded() > ByteRegion::kMaxReadOver) break;
    if (region.loaded() - c.p < ByteRegion::kSlack && !region.Load(c.p, ByteRegion::kSlack)) break;
    uint64_t length;
    if (*c.p != Key(1, kLengthDelimited)) break;
    const char* next = DecodeVarint(c.p + 1, length);
    if (next == nullptr || next > c.end || length > static_cast<uint64_t>(c.end - next)) break;
    c.p = next + length;
    ++nodes;
  }
  if (nodes < kFewNodes) return;
  arena_.Expect(nodes * sizeof(Attribute));
  const size_t values = nodes + nodes / 8;  // with the initializers
  ReserveHuge(model_->nodes, model_->nodes.size() + nodes);
  ReserveHuge(model_->values, model_->values.size() + values);
  ReserveHuge(model_->tensors, model_->tensors.size() + nodes / 2);
  ReserveHuge(graph(scope.graph).nodes, graph(scope.graph).nodes.size() + nodes);
  scope.names.Reserve(static_cast<size_t>(scope.mentioned) + values);
}

bool Parser::AddGraphInput(Scope& scope, absl::string_view name, const DeclaredType* type) {
  if (name.empty()) return wire_.Fail("an input of the graph has no name");
  if (!FlushMentions(scope)) return false;
  const ValueId id = Mention(scope, name);
  Value& v = value(id);
  if (v.is_graph_input)
    return wire_.Fail(absl::StrCat("graph input ", Quoted(name), " is given twice"));
  if (v.producer != kNone) return FailTwice(id, "a graph input");
  if (v.initializer == kNone) ++scope.defined;
  v.is_graph_input = true;
  v.declared = type;
  graph(scope.graph).inputs.push_back(id);
  return CheckIds(model_->values.size(), "values");
}

bool Parser::AddGraphOutput(Scope& scope, absl::string_view name, const DeclaredType* type) {
  if (name.empty()) return wire_.Fail("an output of the graph has no name");
  if (!FlushMentions(scope)) return false;
  const ValueId id = Mention(scope, name);
  Value& v = value(id);
  if (v.declared == nullptr) v.declared = type;
  graph(scope.graph).outputs.push_back(id);
  return CheckIds(model_->values.size(), "values");
}

bool Parser::AddInitializer(Scope& scope, TensorId tensor) {
  const absl::string_view name = model_->tensors[static_cast<size_t>(tensor)].name;
  if (name.empty()) return wire_.Fail("an initializer has no name");
  if (!FlushMentions(scope)) return false;
  const ValueId id = Mention(scope, name);
  Value& v = value(id);
  if (v.initializer != kNone) {
    return wire_.Fail(absl::StrCat("initializer ", Quoted(name), " is given twice"));
  }
  if (v.producer != kNone) return FailTwice(id, "an initializer");
  if (!v.is_graph_input) ++scope.defined;
  v.initializer = tensor;
  graph(scope.graph).initializers.push_back(id);
  return CheckIds(model_->values.size(), "values");
}

// Types are often declared for values that an optimizer removed: these are ignored.
void Parser::DeclareValues(Scope& scope) {
  for (const Scope::ValueInfo& info : scope.infos) {
    if (info.type == nullptr) continue;
    const OptionalValueId id = scope.names.Find(info.name, hash_(info.name), model_->values);
    if (id && value(*id).declared == nullptr) value(*id).declared = info.type;
  }
}

bool Parser::FailIds(absl::string_view what) {
  return wire_.Fail(
      LimitError("ids", absl::StrCat("has more than ", kMaxIds, " ", what, " (ids)")));
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline ValueId Parser::Mention(Scope& scope, absl::string_view name,
                                                            uint32_t hash) {
  const auto next = static_cast<ValueId>(model_->values.size());
  const ValueId id = scope.names.FindOrInsert(name, hash, next, model_->values);
  if (id != next) return id;
  model_->values.emplace_back().name = name;
  ++scope.mentioned;
  if (scope.parent != nullptr) scope.own.push_back(id);
  return id;
}

ValueId Parser::Mention(Scope& scope, absl::string_view name) {
  return Mention(scope, name, hash_(name));
}

inline bool Parser::DefineOutput(Scope& scope, ValueId id, bool is_new, NodeId producer) {
  Value& v = value(id);
  if (ABSL_PREDICT_FALSE(!is_new)) {
    if (!IsUndefined(v)) return FailTwice(id, NodeText(producer));
    scope.unsorted = true;
  }
  v.producer = producer;
  ++scope.defined;
  return true;
}

bool Parser::FlushMentions(Scope& scope) {
  if (scope.ready == 0) return CheckIds(model_->values.size() + kMaxPending, "values");
  for (const Scope::Mention& mention : std::span(scope.pending).first(scope.ready)) {
    if (mention.name.empty()) continue;  // left out
    const size_t before = model_->values.size();
    const ValueId id = Mention(scope, mention.name, mention.hash);
    *mention.place = id;
    if (mention.producer &&
        !DefineOutput(scope, id, model_->values.size() > before, *mention.producer)) {
      return false;
    }
  }
  scope.DropReady();
  return CheckIds(model_->values.size() + kMaxPending, "values");
}

// A node, by its position in the file if it has no name.
std::string Parser::NodeText(NodeId id) {
  if (!node(id).name.empty()) return DescribeNode(*model_, id);
  return absl::StrCat("node ", id + 1, " of the file (", Escaped(node(id).op_type), ")");
}

std::string Parser::Origin(const Value& v) {
  if (v.producer) return NodeText(*v.producer);
  return v.is_graph_input ? "a graph input" : "an initializer";
}

bool Parser::FailTwice(ValueId id, const std::string& again) {
  return wire_.Fail(absl::StrCat("value ", Quoted(value(id).name), " is defined twice, by ",
                                 Origin(value(id)), " and by ", again));
}

bool Parser::EndScope(Scope& scope) {
  if (!FlushMentions(scope)) return false;
  DeclareValues(scope);
  graph(scope.graph).end_value = static_cast<ValueId>(model_->values.size());
  ResolveCaptured(scope);
  if (scope.unsorted && !SortNodes(scope)) return false;
  if (scope.parent == nullptr) {
    const bool all = scope.mentioned == scope.defined && scope.captured.empty();
    return all || FailMissing(scope);
  }
  HandOver(scope);
  return true;
}

// Resolves the names that bodies use. Names that this graph does not have either stay in
// `captured`.
void Parser::ResolveCaptured(Scope& scope) {
  size_t rest = 0;
  for (const Scope::Captured& c : scope.captured) {
    const OptionalValueId outer = scope.names.Find(value(c.id).name, c.hash, model_->values);
    if (!outer) {
      scope.captured[rest++] = c;
      continue;
    }
    if (redirects_.size() <= static_cast<size_t>(c.id)) redirects_.resize(model_->values.size());
    redirects_[static_cast<size_t>(c.id)] = outer;
    scope.uses.emplace_back(c.holder, *outer);
    const OptionalNodeId producer = value(*outer).producer;
    if (producer && *producer >= c.holder) scope.unsorted = true;
  }
  scope.captured.resize(rest);
}

bool Parser::IsUndefined(const Value& v) {
  return !v.producer && !v.is_graph_input && !v.initializer;
}

// Names that a body mentions and does not define are handed to the graph around it.
void Parser::HandOver(Scope& scope) {
  std::vector<Scope::Captured>& outer = scope.parent->captured;
  const NodeId holder = *scope.holder;  // there is one, as there is a graph around it
  for (Scope::Captured& c : scope.captured) c.holder = holder;
  if (scope.mentioned != scope.defined) {
    for (const ValueId id : scope.own) {
      const Value& v = value(id);
      if (IsUndefined(v)) scope.captured.push_back({id, hash_(v.name), holder});
    }
  }
  if (outer.empty()) {
    outer.swap(scope.captured);
  } else {
    outer.insert(outer.end(), scope.captured.begin(), scope.captured.end());
  }
  scope.Shrink();
}

bool Parser::FailMissing(const Scope& scope) {
  const auto undefined = [&](ValueId id) {
    id = Redirected(id);
    return id >= scope.first_value && IsUndefined(value(id));
  };
  const absl::string_view rest = " is not produced by any node, input or initializer";
  for (size_t i = 0; i < model_->nodes.size(); ++i) {
    for (const OptionalValueId id : model_->nodes[i].inputs) {
      if (!id || !undefined(*id)) continue;
      return wire_.Fail(absl::StrCat(DescribeNode(*model_, static_cast<NodeId>(i)), ": input ",
                                     Quoted(value(*id).name), rest));
    }
  }
  for (size_t g = static_cast<size_t>(scope.graph); g < model_->graphs.size(); ++g) {
    for (const ValueId id : model_->graphs[g].outputs) {
      if (!undefined(id)) continue;
      return wire_.Fail(absl::StrCat("graph output ", Quoted(value(id).name), rest));
    }
  }
  return wire_.Fail("mentions a value that nothing produces");
}

}  // namespace onnxflops::load
