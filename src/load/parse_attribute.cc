// AttributeProto.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/load/parser.h"

namespace onnxflops {
namespace {

constexpr uint32_t Bit(AttributeType type) { return 1u << static_cast<int>(type); }

constexpr const char* kTypeNames[] = {"UNDEFINED",      "FLOAT",      "INT",        "STRING",
                                      "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
                                      "STRINGS",        "TENSORS",    "GRAPHS",     "SPARSE_TENSOR",
                                      "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
constexpr int kNumTypes = sizeof(kTypeNames) / sizeof(kTypeNames[0]);

}  // namespace

struct Parser::AttributeDraft {
  Attribute attribute;
  int32_t type = 0;
  uint32_t given = 0;  // a Bit() for every kind of value that is there
  // Where its arrays begin in the parser's vectors.
  size_t floats, ints, strings, tensors, graphs;
  std::vector<int64_t> sparse_dims;
};

bool Parser::ParseAttribute(Cursor c, Scope* scope, NodeId holder, Node& node) {
  AttributeDraft draft;
  draft.floats = floats_.size();
  draft.ints = ints_.size();
  draft.strings = strings_.size();
  draft.tensors = tensor_ids_.size();
  draft.graphs = graph_ids_.size();
  const uint64_t skipped = wire_.skipped();
  while (wire_.More(c)) {
    uint32_t tag;
    if (!wire_.Tag(c, tag)) return false;
    if (!AttributeField(c, tag, scope, holder, draft)) {
      return wire_.AddContext(absl::StrCat("attribute ", Quoted(draft.attribute.name)));
    }
  }
  if (!FinishAttribute(draft)) {
    return wire_.AddContext(absl::StrCat("attribute ", Quoted(draft.attribute.name)));
  }
  if (graph_ids_.size() > draft.graphs) node.has_graphs = true;
  if (node.has_graphs || wire_.skipped() != skipped) node.attributes_comparable = false;
  draft.attribute.graphs = arena_.TakeFrom(graph_ids_, draft.graphs);
  attributes_.push_back(draft.attribute);
  return true;
}

bool Parser::AttributeField(Cursor& c, uint32_t tag, Scope* scope, NodeId holder,
                            AttributeDraft& draft) {
  Attribute& a = draft.attribute;
  switch (tag) {
    case Key(1, kLengthDelimited):
      return wire_.Bytes(c, a.name);
    case Key(2, kFixed32):
      draft.given |= Bit(AttributeType::kFloat);
      return wire_.Fixed(c, a.f);
    case Key(3, kVarint):
      draft.given |= Bit(AttributeType::kInt);
      return wire_.Int64(c, a.i);
    case Key(4, kLengthDelimited):
      draft.given |= Bit(AttributeType::kString);
      return wire_.Bytes(c, a.s);
    case Key(5, kLengthDelimited):
      return AttributeTensor(c, draft, AttributeType::kTensor);
    case Key(6, kLengthDelimited):
      return AttributeGraph(c, scope, holder, draft, AttributeType::kGraph);
    case Key(10, kLengthDelimited):
      return AttributeTensor(c, draft, AttributeType::kTensors);
    case Key(11, kLengthDelimited):
      return AttributeGraph(c, scope, holder, draft, AttributeType::kGraphs);
    case Key(14, kLengthDelimited):
      return AttributeTypeProto(c, draft, AttributeType::kType);
    case Key(15, kLengthDelimited):
      return AttributeTypeProto(c, draft, AttributeType::kTypes);
    case Key(20, kVarint):
      return wire_.Int32(c, draft.type);
    case Key(21, kLengthDelimited):
      return wire_.Bytes(c, a.ref_attr_name);
    case Key(22, kLengthDelimited):
      return AttributeTensor(c, draft, AttributeType::kSparseTensor);
    case Key(23, kLengthDelimited):
      return AttributeTensor(c, draft, AttributeType::kSparseTensors);
    case Key(13, kLengthDelimited):  // doc_string
      return wire_.SkipBytes(c);
    default:
      return AttributeList(c, tag, draft);
  }
}

// The lists of plain values, which may be packed.
bool Parser::AttributeList(Cursor& c, uint32_t tag, AttributeDraft& draft) {
  Cursor sub;
  switch (tag) {
    case Key(7, kFixed32):
      draft.given |= Bit(AttributeType::kFloats);
      return wire_.Fixed(c, floats_.emplace_back());
    case Key(7, kLengthDelimited): {
      absl::string_view bytes;
      if (!wire_.Bytes(c, bytes)) return false;
      if (bytes.size() % sizeof(float) != 0) return wire_.FailPacked(bytes.data());
      if (!bytes.empty()) draft.given |= Bit(AttributeType::kFloats);
      const size_t n = floats_.size();
      floats_.resize(n + bytes.size() / sizeof(float));
      if (!bytes.empty()) std::memcpy(floats_.data() + n, bytes.data(), bytes.size());
      return true;
    }
    case Key(8, kVarint):
      draft.given |= Bit(AttributeType::kInts);
      return wire_.Int64(c, ints_.emplace_back());
    case Key(8, kLengthDelimited):
      if (!wire_.Message(c, sub)) return false;
      if (!wire_.Need(sub.p, static_cast<uint64_t>(sub.end - sub.p))) return false;
      if (wire_.More(sub)) draft.given |= Bit(AttributeType::kInts);
      while (wire_.More(sub)) {
        if (!wire_.Int64(sub, ints_.emplace_back())) return false;
      }
      return true;
    case Key(9, kLengthDelimited):
      draft.given |= Bit(AttributeType::kStrings);
      return wire_.Bytes(c, strings_.emplace_back());
    default:
      return wire_.SkipField(c, tag);
  }
}

bool Parser::AttributeTensor(Cursor& c, AttributeDraft& draft, AttributeType type) {
  const bool sparse = type == AttributeType::kSparseTensor || type == AttributeType::kSparseTensors;
  const bool list = type == AttributeType::kTensors || type == AttributeType::kSparseTensors;
  if (!list && (draft.given & Bit(type)) != 0) return wire_.Fail("its tensor is given twice");
  draft.given |= Bit(type);
  Cursor sub;
  TensorId id;
  if (!wire_.Message(c, sub)) return false;
  if (sparse ? !ParseSparseTensor(sub, id, draft.sparse_dims) : !ParseTensor(sub, "tensor", id)) {
    return false;
  }
  tensor_ids_.push_back(id);
  return true;
}

bool Parser::AttributeGraph(Cursor& c, Scope* scope, NodeId holder, AttributeDraft& draft,
                            AttributeType type) {
  if (type == AttributeType::kGraph && (draft.given & Bit(type)) != 0) {
    return wire_.Fail("its graph is given twice");
  }
  draft.given |= Bit(type);
  if (scope == nullptr) return wire_.Fail("the default of a function's attribute is a graph");
  Cursor sub;
  GraphId id;
  if (!wire_.Message(c, sub) || !ParseBody(sub, *scope, holder, id)) return false;
  graph_ids_.push_back(id);
  return true;
}

bool Parser::AttributeTypeProto(Cursor& c, AttributeDraft& draft, AttributeType type) {
  draft.given |= Bit(type);
  Cursor sub;
  DeclaredType* declared = arena_.New<DeclaredType>(1);
  *declared = DeclaredType();
  if (!wire_.Message(c, sub) || !ParseType(sub, 0, *declared)) return false;
  if (type == AttributeType::kType) draft.attribute.declared_type = declared;
  return true;
}

bool Parser::FinishAttribute(AttributeDraft& draft) {
  Attribute& a = draft.attribute;
  if (a.name.empty()) return wire_.Fail("has no name");
  if (draft.type < 0 || draft.type >= kNumTypes) {
    return wire_.Fail(
        absl::StrCat("is of type ", draft.type, ", which ONNX ", kOnnxRelease, " does not have"));
  }
  if (draft.type == 0 && draft.given != 0) draft.type = __builtin_ctz(draft.given);
  a.type = static_cast<AttributeType>(draft.type);
  if (a.type == AttributeType::kUndefined && a.ref_attr_name.empty()) {
    return wire_.Fail("has neither a type nor a value");
  }
  const uint32_t others = draft.given & ~Bit(a.type);
  if (others != 0) {
    return wire_.Fail(absl::StrCat("is of type ", kTypeNames[draft.type],
                                   " but holds a value of type ",
                                   kTypeNames[__builtin_ctz(others)]));
  }
  a.floats = arena_.TakeFrom(floats_, draft.floats);
  a.ints = arena_.TakeFrom(ints_, draft.ints);
  a.strings = arena_.TakeFrom(strings_, draft.strings);
  a.tensors = arena_.TakeFrom(tensor_ids_, draft.tensors);
  a.sparse_dims = arena_.Copy(draft.sparse_dims.data(), draft.sparse_dims.size());
  return true;
}

}  // namespace onnxflops
