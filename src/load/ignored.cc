// How it works. Most fields of a model do not matter to its cost (training information,
// quantisation hints, metadata, ...). They are skipped, but not blindly: a file that protobuf would
// refuse is refused here as well, so tables say for every message which fields have a form of their
// own, and the bytes are checked against it without being kept. Nesting is limited, as in protobuf.
#include "src/load/ignored.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"

namespace onnxflops::load {
namespace {

enum class Form : uint8_t { kMessage, kVarints, kFixed32s, kFixed64s };

// A length-delimited field whose content has a structure. Strings have none.
struct Field {
  uint32_t number;
  Form form;
  Ignored message = Ignored::kPair;  // of kMessage
};

constexpr Field kAnnotationFields[] = {{2, Form::kMessage, Ignored::kPair}};
constexpr Field kNodeDeviceFields[] = {{2, Form::kMessage, Ignored::kSharding}};
constexpr Field kShardingFields[] = {{2, Form::kVarints},
                                     {3, Form::kMessage, Ignored::kIntIntList},
                                     {4, Form::kMessage, Ignored::kShardedDim}};
constexpr Field kIntIntListFields[] = {{2, Form::kVarints}};
constexpr Field kShardedDimFields[] = {{2, Form::kMessage, Ignored::kSimpleShardedDim}};
constexpr Field kTrainingInfoFields[] = {{1, Form::kMessage, Ignored::kGraph},
                                         {2, Form::kMessage, Ignored::kGraph},
                                         {3, Form::kMessage, Ignored::kPair},
                                         {4, Form::kMessage, Ignored::kPair}};
constexpr Field kGraphFields[] = {
    {1, Form::kMessage, Ignored::kNode},          {5, Form::kMessage, Ignored::kTensor},
    {11, Form::kMessage, Ignored::kValueInfo},    {12, Form::kMessage, Ignored::kValueInfo},
    {13, Form::kMessage, Ignored::kValueInfo},    {14, Form::kMessage, Ignored::kAnnotation},
    {15, Form::kMessage, Ignored::kSparseTensor}, {16, Form::kMessage, Ignored::kPair}};
constexpr Field kNodeFields[] = {{5, Form::kMessage, Ignored::kAttribute},
                                 {9, Form::kMessage, Ignored::kPair},
                                 {10, Form::kMessage, Ignored::kNodeDevice}};
constexpr Field kAttributeFields[] = {{5, Form::kMessage, Ignored::kTensor},
                                      {6, Form::kMessage, Ignored::kGraph},
                                      {7, Form::kFixed32s},
                                      {8, Form::kVarints},
                                      {10, Form::kMessage, Ignored::kTensor},
                                      {11, Form::kMessage, Ignored::kGraph},
                                      {14, Form::kMessage, Ignored::kType},
                                      {15, Form::kMessage, Ignored::kType},
                                      {22, Form::kMessage, Ignored::kSparseTensor},
                                      {23, Form::kMessage, Ignored::kSparseTensor}};
constexpr Field kTensorFields[] = {{1, Form::kVarints},
                                   {3, Form::kMessage, Ignored::kSegment},
                                   {4, Form::kFixed32s},
                                   {5, Form::kVarints},
                                   {7, Form::kVarints},
                                   {10, Form::kFixed64s},
                                   {11, Form::kVarints},
                                   {13, Form::kMessage, Ignored::kPair},
                                   {16, Form::kMessage, Ignored::kPair}};
constexpr Field kSparseTensorFields[] = {{1, Form::kMessage, Ignored::kTensor},
                                         {2, Form::kMessage, Ignored::kTensor},
                                         {3, Form::kVarints}};
constexpr Field kValueInfoFields[] = {{2, Form::kMessage, Ignored::kType},
                                      {4, Form::kMessage, Ignored::kPair}};
constexpr Field kTypeFields[] = {
    {1, Form::kMessage, Ignored::kTensorType}, {4, Form::kMessage, Ignored::kElementType},
    {5, Form::kMessage, Ignored::kMapType},    {7, Form::kMessage, Ignored::kOpaqueType},
    {8, Form::kMessage, Ignored::kTensorType}, {9, Form::kMessage, Ignored::kElementType}};
constexpr Field kTensorTypeFields[] = {{2, Form::kMessage, Ignored::kShape}};
constexpr Field kElementTypeFields[] = {{1, Form::kMessage, Ignored::kType}};
constexpr Field kMapTypeFields[] = {{2, Form::kMessage, Ignored::kType}};
constexpr Field kShapeFields[] = {{1, Form::kMessage, Ignored::kDimension}};

absl::Span<const Field> FieldsOf(Ignored kind) {
  switch (kind) {
    case Ignored::kAnnotation:
      return kAnnotationFields;
    case Ignored::kNodeDevice:
      return kNodeDeviceFields;
    case Ignored::kTrainingInfo:
      return kTrainingInfoFields;
    case Ignored::kSharding:
      return kShardingFields;
    case Ignored::kIntIntList:
      return kIntIntListFields;
    case Ignored::kShardedDim:
      return kShardedDimFields;
    case Ignored::kGraph:
      return kGraphFields;
    case Ignored::kNode:
      return kNodeFields;
    case Ignored::kAttribute:
      return kAttributeFields;
    case Ignored::kTensor:
      return kTensorFields;
    case Ignored::kSparseTensor:
      return kSparseTensorFields;
    case Ignored::kValueInfo:
      return kValueInfoFields;
    case Ignored::kType:
      return kTypeFields;
    case Ignored::kTensorType:
      return kTensorTypeFields;
    case Ignored::kElementType:
      return kElementTypeFields;
    case Ignored::kMapType:
      return kMapTypeFields;
    case Ignored::kShape:
      return kShapeFields;
    default:
      return {};
  }
}

bool SkipVarints(WireReader& wire, Cursor& c) {
  absl::string_view bytes;
  if (!wire.Bytes(c, bytes)) return false;
  Cursor sub = {bytes.data(), bytes.data() + bytes.size()};
  while (wire.More(sub)) {
    uint64_t value;
    if (!wire.Varint(sub, value)) return false;
  }
  return true;
}

bool SkipFixed(WireReader& wire, Cursor& c, uint64_t width) {
  uint64_t length;
  if (!wire.Length(c, length)) return false;
  if (length % width != 0) return wire.FailPacked(c.p);
  wire.Skip(c, length);
  return true;
}

bool SkipMessage(WireReader& wire, Cursor& c, Ignored kind, int depth);

bool SkipContent(WireReader& wire, Cursor& c, uint32_t tag, Ignored kind, int depth) {
  if ((tag & 7) == kLengthDelimited) {
    for (const Field& field : FieldsOf(kind)) {
      if (field.number != tag >> 3) continue;
      switch (field.form) {
        case Form::kMessage:
          return SkipMessage(wire, c, field.message, depth + 1);
        case Form::kVarints:
          return SkipVarints(wire, c);
        case Form::kFixed32s:
          return SkipFixed(wire, c, 4);
        case Form::kFixed64s:
          return SkipFixed(wire, c, 8);
      }
    }
  }
  return wire.SkipField(c, tag);
}

bool SkipMessage(WireReader& wire, Cursor& c, Ignored kind, int depth) {
  if (depth > kMaxIgnoredNesting) {
    return wire.Fail(
        LimitError("ignored-nesting", absl::StrCat("messages are nested more than ",
                                                   kMaxIgnoredNesting, " deep (ignored-nesting)")));
  }
  Cursor sub;
  if (!wire.Message(c, sub)) return false;
  while (wire.More(sub)) {
    uint32_t tag;
    if (!wire.Tag(sub, tag) || !SkipContent(wire, sub, tag, kind, depth)) return false;
  }
  return true;
}

}  // namespace

bool SkipIgnored(WireReader& wire, Cursor& c, Ignored kind) {
  return SkipMessage(wire, c, kind, 0);
}

}  // namespace onnxflops::load
