// ValueInfoProto and TypeProto.
//
// How it works. Types are nested messages, read recursively to a limited depth. Protobuf merges a
// message that appears twice and takes the last of several kinds, and so does this reader, since a
// file means what protobuf reads in it. Dimensions go to the arena as literals or names. A -1
// stands for an unknown dimension in some exporters' files; it becomes one, and is counted for a
// warning.
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/load/ignored.h"
#include "src/load/parser.h"

namespace onnxflops::load {

// A type that is given twice is merged, as protobuf does.
DeclaredType& Parser::MutableType(const DeclaredType*& type) {
  if (type == nullptr) type = new (arena_.New<DeclaredType>(1)) DeclaredType();
  return *const_cast<DeclaredType*>(type);  // made here
}

bool Parser::ParseValueInfo(Cursor c, absl::string_view& name, const DeclaredType*& type) {
  while (wire_.More(c)) {
    uint32_t tag;
    if (!wire_.Tag(c, tag)) return false;
    if (tag == Key(1, kLengthDelimited)) {
      if (!wire_.Bytes(c, name)) return false;
    } else if (tag == Key(2, kLengthDelimited)) {
      Cursor sub;
      if (!wire_.Message(c, sub)) return false;
      if (!ParseType(sub, 0, MutableType(type))) {
        return wire_.AddContext(absl::StrCat("the type of ", Quoted(name)));
      }
    } else if (tag == Key(4, kLengthDelimited)) {
      if (!SkipIgnored(wire_, c, Ignored::kPair)) return false;
    } else if (!wire_.SkipField(c, tag)) {  // doc_string
      return false;
    }
  }
  return true;
}

// If a message has several kinds of type, the last one counts, as for any oneof.
bool Parser::ParseType(Cursor c, int depth, DeclaredType& type) {
  if (depth >= kMaxTypeNesting) {
    return wire_.Fail(LimitError(
        "type-nesting",
        absl::StrCat("types are nested more than ", kMaxTypeNesting, " deep (type-nesting)")));
  }
  while (wire_.More(c)) {
    uint32_t tag;
    if (!wire_.Tag(c, tag)) return false;
    TypeKind kind = TypeKind::kUnknown;
    switch (tag) {
      case Key(1, kLengthDelimited):
        kind = TypeKind::kTensor;
        break;
      case Key(4, kLengthDelimited):
        kind = TypeKind::kSequence;
        break;
      case Key(5, kLengthDelimited):
        kind = TypeKind::kMap;
        break;
      case Key(7, kLengthDelimited):
        kind = TypeKind::kOpaque;
        break;
      case Key(8, kLengthDelimited):
        kind = TypeKind::kSparseTensor;
        break;
      case Key(9, kLengthDelimited):
        kind = TypeKind::kOptional;
        break;
      default:  // denotation
        if (!wire_.SkipField(c, tag)) return false;
        continue;
    }
    if (type.kind != kind) type = DeclaredType();
    type.kind = kind;
    Cursor sub;
    if (!wire_.Message(c, sub) || !ParseTypeParts(sub, depth, type)) return false;
  }
  return true;
}

// Tensor, SparseTensor: elem_type = 1, shape = 2. Map: key_type = 1, value_type = 2. Sequence,
// Optional: elem_type = 1, a type.
bool Parser::ParseTypeParts(Cursor c, int depth, DeclaredType& type) {
  const bool tensor = type.kind == TypeKind::kTensor || type.kind == TypeKind::kSparseTensor;
  const bool map = type.kind == TypeKind::kMap;
  const bool container = type.kind == TypeKind::kSequence || type.kind == TypeKind::kOptional;
  while (wire_.More(c)) {
    uint32_t tag;
    Cursor sub;
    if (!wire_.Tag(c, tag)) return false;
    if ((tensor || map) && tag == Key(1, kVarint)) {
      int32_t number;
      if (!wire_.Int32(c, number)) return false;
      const std::optional<DType> dtype = DTypeFromOnnx(number);
      if (!dtype.has_value()) {
        return wire_.Fail(
            absl::StrCat("data type ", number, ", which ONNX ", kOnnxRelease, " does not have"));
      }
      type.dtype = *dtype;
    } else if (tensor && tag == Key(2, kLengthDelimited)) {
      if (!wire_.Message(c, sub) || !ParseShape(sub, type)) return false;
    } else if ((map && tag == Key(2, kLengthDelimited)) ||
               (container && tag == Key(1, kLengthDelimited))) {
      if (!wire_.Message(c, sub)) return false;
      if (!ParseType(sub, depth + 1, MutableType(type.element))) return false;
    } else if (!wire_.SkipField(c, tag)) {
      return false;
    }
  }
  return true;
}

bool Parser::ParseShape(Cursor c, DeclaredType& type) {
  // A second shape in one message continues the first, as repeated fields do.
  dims_.assign(type.dims.begin(), type.dims.end());
  while (wire_.More(c)) {
    uint32_t tag;
    if (!wire_.Tag(c, tag)) return false;
    if (tag != Key(1, kLengthDelimited)) {
      if (!wire_.SkipField(c, tag)) return false;
      continue;
    }
    if (dims_.size() == static_cast<size_t>(kMaxRank)) {
      return wire_.Fail(
          LimitError("rank", absl::StrCat("more than ", kMaxRank, " dimensions (rank)")));
    }
    Cursor sub;
    if (!wire_.Message(c, sub) || !ParseDim(sub, dims_.emplace_back())) return false;
  }
  absl::int128 elements = 1;
  for (const DeclaredDim& dim : dims_) {
    if (dim.size < 0) continue;
    elements *= dim.size;
    if (elements > kMaxElements) {
      return wire_.Fail(
          LimitError("elements", absl::StrCat("more than ", kMaxElements, " elements (elements)")));
    }
  }
  type.has_shape = true;
  type.dims = arena_.TakeFrom(dims_, 0);
  return true;
}

// Some exporters write -1 for a dimension that they do not know, which ONNX leaves out. Of several
// values the last counts, as for any oneof.
bool Parser::ParseDim(Cursor c, DeclaredDim& dim) {
  bool is_number = false;
  while (wire_.More(c)) {
    uint32_t tag;
    if (!wire_.Tag(c, tag)) return false;
    if (tag == Key(1, kVarint)) {
      if (!wire_.Int64(c, dim.size)) return false;
      dim.name = {};
      is_number = true;
    } else if (tag == Key(2, kLengthDelimited)) {
      if (!wire_.Bytes(c, dim.name)) return false;
      dim.size = -1;
      is_number = false;
    } else if (!wire_.SkipField(c, tag)) {  // denotation
      return false;
    }
  }
  if (dim.size < -1) return wire_.Fail(absl::StrCat("a dimension of ", dim.size));
  if (is_number && dim.size == -1) ++dims_minus_one_;
  return true;
}

}  // namespace onnxflops::load
