// AttributeProto.
//
// How it works. The kind of an attribute may come before or after its value, and a hostile file may
// give several values. So values go to vectors that the parser keeps for all attributes, a draft
// notes which kinds were there, and at the end the stated type must be the only one. Then the
// values are moved into the arena. The common fields are read in the loop itself; the others out of
// line, as most attributes of large graphs are an int or a list of ints.
//
// Protobuf merges messages that come in pieces. No exporter writes pieces of a tensor or graph
// here, so they are refused; if the first piece fails to parse, the error still is that it is a
// piece.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/load/parser.h"

namespace onnxflops::load {
namespace {

constexpr uint32_t Bit(AttributeType type) { return 1u << static_cast<int>(type); }

constexpr const char* kTypeNames[] = {"UNDEFINED",      "FLOAT",      "INT",        "STRING",
                                      "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
                                      "STRINGS",        "TENSORS",    "GRAPHS",     "SPARSE_TENSOR",
                                      "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
// Protobuf merges the pieces of a message. No exporter writes pieces here.
std::string Pieces(absl::string_view what) {
  return absl::StrCat("its ", what, " comes in pieces, which this version does not merge: ",
                      "onnx.save(onnx.load(FILE), FILE) writes it in one");
}

constexpr int kNumTypes = sizeof(kTypeNames) / sizeof(kTypeNames[0]);

}  // namespace

struct Parser::AttributeDraft {
  Attribute attribute;
  int32_t type = 0;
  uint32_t given = 0;  // a Bit() for every kind of value that is there
  // Where the array of the kind that is there begins in the parser's vector of that kind.
  size_t begin = 0;

  // Notes that a value of a kind is there. A second kind is an error in the end, so that one
  // `begin` is enough.
  template <typename T>
  void Note(AttributeType kind, const std::vector<T>& array) {
    if ((given & Bit(kind)) == 0) begin = array.size();
    given |= Bit(kind);
  }
};

bool Parser::ParseAttribute(Cursor c, Scope* scope, OptionalNodeId holder, Node& node) {
  AttributeDraft draft;
  const uint64_t skipped = wire_.skipped();
  while (wire_.More(c)) {
    uint32_t tag;
    bool read;
    if (!wire_.Tag(c, tag)) return false;
    switch (tag) {
      case Key(1, kLengthDelimited):
        read = wire_.Bytes(c, draft.attribute.name);
        break;
      case Key(3, kVarint):
        draft.given |= Bit(AttributeType::kInt);
        read = wire_.Int64(c, draft.attribute.i);
        break;
      case Key(8, kVarint):
        draft.Note(AttributeType::kInts, ints_);
        read = wire_.Int64(c, ints_.emplace_back());
        break;
      case Key(20, kVarint):
        read = wire_.Int32(c, draft.type);
        break;
      default: {
        Cursor copy = c;
        read = AttributeField(copy, tag, scope, holder, draft);
        c = copy;
      }
    }
    if (ABSL_PREDICT_FALSE(!read)) {
      return wire_.AddContext(absl::StrCat("attribute ", Quoted(draft.attribute.name)));
    }
  }
  if (!FinishAttribute(draft)) {
    return wire_.AddContext(absl::StrCat("attribute ", Quoted(draft.attribute.name)));
  }
  if (!draft.attribute.graphs.empty()) node.has_graphs = true;
  if (node.has_graphs || wire_.skipped() != skipped) node.attributes_comparable = false;
  attributes_.push_back(draft.attribute);
  return true;
}

bool Parser::AttributeField(Cursor& c, uint32_t tag, Scope* scope, OptionalNodeId holder,
                            AttributeDraft& draft) {
  Attribute& a = draft.attribute;
  switch (tag) {
    case Key(2, kFixed32):
      draft.given |= Bit(AttributeType::kFloat);
      return wire_.Fixed(c, a.f);
    case Key(4, kLengthDelimited):
      draft.given |= Bit(AttributeType::kString);
      return wire_.Bytes(c, a.s);
    case Key(5, kLengthDelimited):
      return AttributeTensor(c, draft, AttributeType::kTensor);
    case Key(6, kLengthDelimited):
      return AttributeGraph(c, scope, holder, draft, AttributeType::kGraph);
    case Key(7, kFixed32):
      draft.Note(AttributeType::kFloats, floats_);
      return wire_.Fixed(c, floats_.emplace_back());
    case Key(7, kLengthDelimited):
      return AttributeFloats(c, draft);
    case Key(8, kLengthDelimited):
      return AttributeInts(c, draft);
    case Key(9, kLengthDelimited):
      draft.Note(AttributeType::kStrings, strings_);
      return wire_.Bytes(c, strings_.emplace_back());
    case Key(10, kLengthDelimited):
      return AttributeTensor(c, draft, AttributeType::kTensors);
    case Key(11, kLengthDelimited):
      return AttributeGraph(c, scope, holder, draft, AttributeType::kGraphs);
    case Key(14, kLengthDelimited):
      return AttributeTypeProto(c, draft, AttributeType::kType);
    case Key(15, kLengthDelimited):
      return AttributeTypeProto(c, draft, AttributeType::kTypes);
    case Key(21, kLengthDelimited):
      return wire_.Bytes(c, a.ref_attr_name);
    case Key(22, kLengthDelimited):
      return AttributeTensor(c, draft, AttributeType::kSparseTensor);
    case Key(23, kLengthDelimited):
      return AttributeTensor(c, draft, AttributeType::kSparseTensors);
    default:  // doc_string
      return wire_.SkipField(c, tag);
  }
}

bool Parser::AttributeFloats(Cursor& c, AttributeDraft& draft) {
  absl::string_view bytes;
  if (!wire_.Bytes(c, bytes)) return false;
  if (bytes.size() % sizeof(float) != 0) return wire_.FailPacked(bytes.data());
  if (bytes.empty()) return true;
  draft.Note(AttributeType::kFloats, floats_);
  const size_t n = floats_.size();
  floats_.resize(n + bytes.size() / sizeof(float));
  std::memcpy(floats_.data() + n, bytes.data(), bytes.size());
  return true;
}

bool Parser::AttributeInts(Cursor& c, AttributeDraft& draft) {
  absl::string_view bytes;
  if (!wire_.Bytes(c, bytes)) return false;
  if (bytes.empty()) return true;
  draft.Note(AttributeType::kInts, ints_);
  Cursor sub = {bytes.data(), bytes.data() + bytes.size()};
  while (wire_.More(sub)) {
    if (!wire_.Int64(sub, ints_.emplace_back())) return false;
  }
  return true;
}

bool Parser::AttributeTensor(Cursor& c, AttributeDraft& draft, AttributeType type) {
  const bool sparse = type == AttributeType::kSparseTensor || type == AttributeType::kSparseTensors;
  const bool list = type == AttributeType::kTensors || type == AttributeType::kSparseTensors;
  if (!list && (draft.given & Bit(type)) != 0) return wire_.Fail(Pieces("tensor"));
  draft.Note(type, tensor_ids_);
  Cursor sub;
  TensorId id;
  if (!wire_.Message(c, sub)) return false;
  const bool read = sparse ? ParseSparseTensor(sub, id) : ParseTensor(sub, "tensor", id);
  if (!read) return list ? false : FailOfPiece(c, sparse ? 22 : 5, "tensor");
  if (sparse) draft.attribute.sparse_dims = arena_.TakeFrom(sparse_dims_, 0);
  tensor_ids_.push_back(id);
  return true;
}

// The first piece of a message may make no sense by itself. If another piece follows, that is the
// error to report.
bool Parser::FailOfPiece(Cursor rest, uint32_t field, absl::string_view what) {
  while (wire_.More(rest)) {
    uint32_t tag;
    if (!wire_.Tag(rest, tag)) return false;
    if (tag == Key(field, kLengthDelimited)) return wire_.FailInstead(Pieces(what));
    if (!wire_.SkipField(rest, tag)) return false;
  }
  return false;
}

bool Parser::AttributeGraph(Cursor& c, Scope* scope, OptionalNodeId holder, AttributeDraft& draft,
                            AttributeType type) {
  if (type == AttributeType::kGraph && (draft.given & Bit(type)) != 0) {
    return wire_.Fail(Pieces("graph"));
  }
  if (scope == nullptr) return wire_.Fail("the default of a function's attribute is a graph");
  draft.Note(type, graph_ids_);
  // Nodes of its bodies follow the holder.
  if (holder && model_->nodes.size() == static_cast<size_t>(*holder)) model_->nodes.emplace_back();
  Cursor sub;
  GraphId id;
  if (!wire_.Message(c, sub)) return false;
  if (!ParseBody(sub, *scope, holder, id)) {
    return type == AttributeType::kGraphs ? false : FailOfPiece(c, 6, "graph");
  }
  graph_ids_.push_back(id);
  return true;
}

bool Parser::AttributeTypeProto(Cursor& c, AttributeDraft& draft, AttributeType type) {
  draft.given |= Bit(type);
  Cursor sub;
  const DeclaredType* unused = nullptr;
  const bool list = type == AttributeType::kTypes;
  return wire_.Message(c, sub) &&
         ParseType(sub, 0, MutableType(list ? unused : draft.attribute.declared_type));
}

bool Parser::FinishAttribute(AttributeDraft& draft) {
  Attribute& a = draft.attribute;
  if (!CheckAttributeType(draft)) return false;
  if (draft.given == 0) return true;  // an empty list, a reference, or a default
  switch (a.type) {
    case AttributeType::kFloats:
      a.floats = arena_.TakeFrom(floats_, draft.begin);
      break;
    case AttributeType::kInts:
      a.ints = arena_.TakeFrom(ints_, draft.begin);
      break;
    case AttributeType::kStrings:
      a.strings = arena_.TakeFrom(strings_, draft.begin);
      break;
    case AttributeType::kTensor:
    case AttributeType::kTensors:
    case AttributeType::kSparseTensor:
    case AttributeType::kSparseTensors:
      a.tensors = arena_.TakeFrom(tensor_ids_, draft.begin);
      break;
    case AttributeType::kGraph:
    case AttributeType::kGraphs:
      a.graphs = arena_.TakeFrom(graph_ids_, draft.begin);
      break;
    default:
      break;
  }
  return true;
}

bool Parser::CheckAttributeType(AttributeDraft& draft) {
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
  if (others == 0) return true;
  return wire_.Fail(absl::StrCat("is of type ", kTypeNames[draft.type],
                                 " but holds a value of type ", kTypeNames[__builtin_ctz(others)]));
}

}  // namespace onnxflops::load
