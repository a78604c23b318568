// TensorProto and SparseTensorProto. Payloads of more than kMaxIntContent elements are not read.
//
// How it works. The fields may come in any order and be hostile. They are collected in a draft.
// Only at the end of the message are type, dimensions and payload checked against each other and
// the tensor added to the model. A payload is read only while the dimensions so far allow a small
// tensor, because shapes depend only on the content of small ones. A large one is skipped, and only
// its length is checked: exactly for raw_data and external data; within bounds for varints, which
// have one to ten bytes each.
//
// Kept content has the form of raw_data, whatever its field, so readers handle only one form.
// External files are never opened. A sparse initializer becomes a dense tensor without content,
// because a count needs only its shape.
#include <array>
#include <cstring>
#include <sstream>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/load/ignored.h"
#include "src/load/parser.h"

namespace onnxflops::load {
namespace {

// The fields of TensorProto that hold elements.
enum PayloadField : int {
  kNoPayload = 0,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
};

const char* FieldName(int field) {
  switch (field) {
    case kFloatData:
      return "float_data";
    case kInt32Data:
      return "int32_data";
    case kStringData:
      return "string_data";
    case kInt64Data:
      return "int64_data";
    case kRawData:
      return "raw_data";
    case kDoubleData:
      return "double_data";
    default:
      return "uint64_data";
  }
}

// The typed field for elements of that type, as onnx.proto lays down.
int FieldFor(DType type) {
  switch (type) {
    case DType::kFloat32:
    case DType::kComplex64:
      return kFloatData;
    case DType::kFloat64:
    case DType::kComplex128:
      return kDoubleData;
    case DType::kInt64:
      return kInt64Data;
    case DType::kUint32:
    case DType::kUint64:
      return kUint64Data;
    case DType::kString:
      return kStringData;
    default:
      return kInt32Data;
  }
}

std::string Text(absl::uint128 n) {
  std::ostringstream out;
  out << n;
  return out.str();
}

// Bytes of raw_data: elements of less than a byte are packed without gaps.
absl::uint128 RawBytes(DType type, int64_t elements) {
  const auto bits = static_cast<absl::uint128>(BitsPerElement(type));
  return (static_cast<absl::uint128>(elements) * bits + 7) / 8;
}

// Entries of the typed field: complex numbers take two, and several int4 or int2 share one.
absl::uint128 TypedEntries(DType type, int64_t elements) {
  if (IsComplex(type)) return 2 * static_cast<absl::uint128>(elements);
  const int bits = BitsPerElement(type);
  return bits == 4 || bits == 2 ? RawBytes(type, elements) : static_cast<absl::uint128>(elements);
}

// Bytes of raw_data for one entry of the typed field; 0 if they are packed differently.
size_t EntryBytes(DType type) {
  const int bits = BitsPerElement(type);
  if (bits == 6) return 0;
  if (bits < 8) return 1;
  return static_cast<size_t>(bits / 8) / (IsComplex(type) ? 2 : 1);
}

// Like absl::SimpleAtoi(), which is slower but also reads signs and spaces.
bool ReadLength(absl::string_view text, int64_t* length) {
  constexpr size_t kSafeDigits = 18;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || text.size() > kSafeDigits || !absl::c_all_of(text, is_digit)) {
    return absl::SimpleAtoi(text, length);
  }
  *length = 0;
  for (const char c : text) *length = 10 * *length + (c - '0');
  return true;
}

}  // namespace

struct Parser::TensorDraft {
  const char* role;  // its name in errors: "initializer", "tensor"
  Tensor tensor;
  int rank = 0;
  int32_t type = 0;
  int32_t location = 0;
  bool segment = false;  // the payload is a part of the tensor only
  bool has_raw = false;
  int typed_field = kNoPayload;
  int second_field = kNoPayload;  // a second one: an error
  uint64_t raw_bytes = 0;
  absl::string_view raw;        // raw_data if it was read
  uint64_t entries = 0;         // of the typed field, as far as they were read or can be counted
  uint64_t unread_varints = 0;  // bytes of such entries that were not read
  size_t strings = 0;           // where its strings begin in the parser's vector
  int64_t external_bytes = -1;
  std::array<int64_t, kMaxRank> dims;  // only the first `rank`

  // Decides by the dimensions so far, which precede the payload unless the file was made by hand.
  bool IsSmall() const {
    int64_t elements = 1;
    for (int i = 0; i < rank; ++i) {
      const int64_t dim = dims[static_cast<size_t>(i)];
      if (dim > kMaxIntContent) return false;
      elements *= dim < 0 ? 0 : dim;
      if (elements > kMaxIntContent) return false;
    }
    return true;
  }
  void Note(int field) {
    if (typed_field == kNoPayload) typed_field = field;
    if (typed_field != field) second_field = field;
  }
};

bool Parser::ParseTensor(Cursor c, const char* role, TensorId& id) {
  if (!CheckIds(model_->tensors.size(), "tensors")) return false;
  TensorDraft draft;
  draft.role = role;
  draft.strings = strings_.size();
  typed_.clear();
  while (wire_.More(c)) {
    uint32_t tag;
    if (!wire_.Tag(c, tag) || !TensorField(c, tag, draft)) return false;
  }
  return FinishTensor(draft, id);
}

bool Parser::TensorField(Cursor& c, uint32_t tag, TensorDraft& draft) {
  switch (tag) {
    case Key(1, kVarint): {
      int64_t dim;
      return wire_.Int64(c, dim) && AddDim(draft, dim);
    }
    case Key(1, kLengthDelimited): {
      Cursor sub;
      if (!wire_.Message(c, sub) || !wire_.Need(sub.p, static_cast<uint64_t>(sub.end - sub.p))) {
        return false;
      }
      while (wire_.More(sub)) {
        int64_t dim;
        if (!wire_.Int64(sub, dim) || !AddDim(draft, dim)) return false;
      }
      return true;
    }
    case Key(2, kVarint):
      return wire_.Int32(c, draft.type);
    case Key(3, kLengthDelimited):
      draft.segment = true;
      return SkipIgnored(wire_, c, Ignored::kSegment);
    case Key(8, kLengthDelimited):
      return wire_.Bytes(c, draft.tensor.name);
    case Key(9, kLengthDelimited):
      return RawData(c, draft);
    case Key(13, kLengthDelimited):
      return ExternalData(c, draft);
    case Key(14, kVarint):
      return wire_.Int32(c, draft.location);
    default:
      return TypedData(c, tag, draft);
  }
}

bool Parser::AddDim(TensorDraft& draft, int64_t dim) {
  if (draft.rank == kMaxRank) {
    return wire_.Fail(
        LimitError("rank", absl::StrCat(draft.role, " ", Quoted(draft.tensor.name),
                                        " has more than ", kMaxRank, " dimensions (rank)")));
  }
  draft.dims[static_cast<size_t>(draft.rank++)] = dim;
  return true;
}

bool Parser::RawData(Cursor& c, TensorDraft& draft) {
  if (!wire_.Length(c, draft.raw_bytes)) return false;
  draft.has_raw = true;
  draft.raw = {};
  if (draft.raw_bytes > static_cast<uint64_t>(kMaxKeptBytes) || !draft.IsSmall()) {
    wire_.Skip(c, draft.raw_bytes);
    return true;
  }
  if (!wire_.Need(c.p, draft.raw_bytes)) return false;
  draft.raw = absl::string_view(c.p, draft.raw_bytes);
  c.p += draft.raw_bytes;
  return true;
}

bool Parser::TypedData(Cursor& c, uint32_t tag, TensorDraft& draft) {
  uint64_t entry = 0;
  uint32_t half = 0;
  switch (tag) {
    case Key(kFloatData, kLengthDelimited):
      return PackedFixed(c, draft, kFloatData, sizeof(float));
    case Key(kDoubleData, kLengthDelimited):
      return PackedFixed(c, draft, kDoubleData, sizeof(double));
    case Key(kInt32Data, kLengthDelimited):
    case Key(kInt64Data, kLengthDelimited):
    case Key(kUint64Data, kLengthDelimited):
      return PackedVarints(c, draft, static_cast<int>(tag >> 3));
    case Key(kFloatData, kFixed32):
      if (!wire_.Fixed(c, half)) return false;
      entry = half;
      break;
    case Key(kDoubleData, kFixed64):
      if (!wire_.Fixed(c, entry)) return false;
      break;
    case Key(kInt32Data, kVarint):
    case Key(kInt64Data, kVarint):
    case Key(kUint64Data, kVarint):
      if (!wire_.Varint(c, entry)) return false;
      break;
    case Key(kStringData, kLengthDelimited):
      return StringData(c, draft);
    case Key(16, kLengthDelimited):
      return SkipIgnored(wire_, c, Ignored::kPair);
    default:  // doc_string
      return wire_.SkipField(c, tag);
  }
  draft.Note(static_cast<int>(tag >> 3));
  AddEntry(draft, entry);
  return true;
}

// Keeps an entry as long as the tensor may be small.
void Parser::AddEntry(TensorDraft& draft, uint64_t entry) {
  ++draft.entries;
  if (typed_.size() <= 2 * static_cast<size_t>(kMaxIntContent)) typed_.push_back(entry);
}

bool Parser::PackedFixed(Cursor& c, TensorDraft& draft, int field, uint64_t width) {
  uint64_t length;
  if (!wire_.Length(c, length)) return false;
  if (length % width != 0) return wire_.FailPacked(c.p);
  if (length > 0) draft.Note(field);
  if (length > static_cast<uint64_t>(kMaxKeptBytes) || !draft.IsSmall()) {
    draft.entries += length / width;
    wire_.Skip(c, length);
    return true;
  }
  if (!wire_.Need(c.p, length)) return false;
  for (uint64_t i = 0; i < length; i += width, c.p += width) {
    uint64_t entry = 0;
    std::memcpy(&entry, c.p, width);
    AddEntry(draft, entry);
  }
  return true;
}

bool Parser::PackedVarints(Cursor& c, TensorDraft& draft, int field) {
  Cursor sub;
  if (!wire_.Message(c, sub)) return false;
  const auto length = static_cast<uint64_t>(sub.end - sub.p);
  if (length > 0) draft.Note(field);
  if (length > static_cast<uint64_t>(kMaxKeptBytes) || !draft.IsSmall()) {
    draft.unread_varints += length;
    wire_.Skip(sub, length);
    return true;
  }
  if (!wire_.Need(sub.p, length)) return false;
  while (wire_.More(sub)) {
    uint64_t entry;
    if (!wire_.Varint(sub, entry)) return false;
    AddEntry(draft, entry);
  }
  return true;
}

bool Parser::StringData(Cursor& c, TensorDraft& draft) {
  draft.Note(kStringData);
  ++draft.entries;
  if (!draft.IsSmall() || draft.entries > static_cast<uint64_t>(kMaxIntContent)) {
    return wire_.SkipBytes(c);
  }
  return wire_.Bytes(c, strings_.emplace_back());
}

// The file is not opened, so only the stated length is checked.
bool Parser::ExternalData(Cursor& c, TensorDraft& draft) {
  StringPair pair;
  Cursor sub;
  if (!wire_.Message(c, sub) || !ParsePair(sub, pair)) return false;
  if (pair.first != "length") return true;
  if (ReadLength(pair.second, &draft.external_bytes) && draft.external_bytes >= 0) return true;
  return FailTensor(draft,
                    absl::StrCat("the length of its external data is ", Quoted(pair.second)));
}

bool Parser::FailTensor(const TensorDraft& draft, absl::string_view what) {
  const absl::string_view name = draft.tensor.name;
  return wire_.Fail(absl::StrCat(draft.role, name.empty() ? "" : " ",
                                 name.empty() ? "" : Quoted(name), ": ", what));
}

bool Parser::FinishTensor(TensorDraft& draft, TensorId& id) {
  Tensor& t = draft.tensor;
  const std::optional<DType> dtype = DTypeFromOnnx(draft.type);
  if (!dtype.has_value() || *dtype == DType::kUndefined) {
    return FailTensor(draft, absl::StrCat("is of data type ", draft.type, ", which ONNX ",
                                          kOnnxRelease, " does not have"));
  }
  t.dtype = *dtype;
  t.dims = arena_.Copy(draft.dims.data(), static_cast<size_t>(draft.rank));
  absl::int128 elements = 1;
  for (const int64_t dim : t.dims) {
    if (dim < 0) return FailTensor(draft, absl::StrCat("has a dimension of ", dim));
    elements *= dim;
    if (elements > kMaxElements || dim > kMaxElements) {
      return FailTensor(draft, absl::StrCat("has more than ", kMaxElements,
                                            " elements (elements): ", ShapeText(t)));
    }
  }
  t.elements = static_cast<int64_t>(elements);
  t.external = draft.location == 1;
  if (!CheckPayload(draft)) return false;
  KeepPayload(draft);
  strings_.resize(draft.strings);
  id = static_cast<TensorId>(model_->tensors.size());
  model_->tensors.push_back(t);
  return true;
}

std::string Parser::ShapeText(const Tensor& tensor) {
  return absl::StrCat(DTypeName(tensor.dtype), "[", absl::StrJoin(tensor.dims, ","), "]");
}

bool Parser::CheckPayload(TensorDraft& draft) {
  const Tensor& t = draft.tensor;
  const bool typed = draft.typed_field != kNoPayload;
  if (draft.second_field != kNoPayload || (typed && draft.raw_bytes > 0)) {
    const int second = draft.second_field != kNoPayload ? draft.second_field : kRawData;
    return FailTensor(
        draft, absl::StrCat("has both ", FieldName(draft.typed_field), " and ", FieldName(second)));
  }
  if (t.external) return CheckExternal(draft);
  if (draft.segment) return true;
  if (typed) return CheckTyped(draft);
  if (!draft.has_raw) {
    if (t.elements > 0) ++tensors_without_data_;
    return true;
  }
  if (t.dtype == DType::kString) return FailTensor(draft, "holds strings but has raw_data");
  const absl::uint128 needed = RawBytes(t.dtype, t.elements);
  if (needed == draft.raw_bytes) return true;
  return FailTensor(draft, absl::StrCat(ShapeText(t), " needs ", Text(needed),
                                        " bytes, raw_data has ", draft.raw_bytes));
}

bool Parser::CheckTyped(const TensorDraft& draft) {
  const Tensor& t = draft.tensor;
  if (draft.typed_field != FieldFor(t.dtype)) {
    return FailTensor(draft, absl::StrCat("is of type ", DTypeName(t.dtype), " but has ",
                                          FieldName(draft.typed_field)));
  }
  // Entries that were not read have one to ten bytes each.
  const absl::uint128 needed = TypedEntries(t.dtype, t.elements);
  const absl::uint128 most = absl::uint128(draft.entries) + draft.unread_varints;
  const absl::uint128 least = absl::uint128(draft.entries) + (draft.unread_varints + 9) / 10;
  if (least <= needed && needed <= most) return true;
  return FailTensor(
      draft,
      absl::StrCat(ShapeText(t), " needs ", Text(needed), " entries of ",
                   FieldName(draft.typed_field), ", it has ",
                   draft.unread_varints > 0 ? absl::StrCat(Text(least), " to ") : "", Text(most)));
}

bool Parser::CheckExternal(const TensorDraft& draft) {
  const Tensor& t = draft.tensor;
  if (draft.typed_field != kNoPayload || draft.raw_bytes > 0) {
    return FailTensor(draft, "has external data and a payload in the file as well");
  }
  if (draft.external_bytes < 0 || t.dtype == DType::kString) return true;
  const absl::uint128 needed = RawBytes(t.dtype, t.elements);
  if (needed == static_cast<absl::uint128>(draft.external_bytes)) return true;
  return FailTensor(draft, absl::StrCat(ShapeText(t), " needs ", Text(needed),
                                        " bytes, its external data has ", draft.external_bytes));
}

// Puts elements that were read into the form of raw_data.
void Parser::KeepPayload(TensorDraft& draft) {
  Tensor& t = draft.tensor;
  if (t.external || draft.segment || t.elements > kMaxIntContent) return;
  if (t.elements == 0) {
    t.has_data = true;
    return;
  }
  if (draft.typed_field == kNoPayload) {
    t.data = draft.raw;
    t.has_data = !draft.raw.empty();
    return;
  }
  if (t.dtype == DType::kString) {
    if (strings_.size() - draft.strings != static_cast<size_t>(t.elements)) return;
    t.strings = arena_.TakeFrom(strings_, draft.strings);
    t.has_data = true;
    return;
  }
  const size_t width = EntryBytes(t.dtype);
  if (width == 0 || typed_.size() != draft.entries || draft.unread_varints > 0) return;
  char* bytes = arena_.New<char>(width * typed_.size());
  for (size_t i = 0; i < typed_.size(); ++i) {
    std::memcpy(bytes + i * width, &typed_[i], width);  // little-endian: the low bytes
  }
  t.data = absl::string_view(bytes, width * typed_.size());
  t.has_data = true;
}

// Turns a sparse tensor into a dense one without content; a count needs only the shape.
bool Parser::ParseSparseInitializer(Cursor c, TensorId& id) {
  if (!ParseSparseTensor(c, id)) return false;
  Tensor& t = model_->tensors[static_cast<size_t>(id)];
  absl::int128 elements = 1;
  for (const int64_t dim : sparse_dims_) {
    elements *= dim;
    if (elements > kMaxElements) {
      return wire_.Fail(
          LimitError("elements", absl::StrCat("initializer ", Quoted(t.name), " has more than ",
                                              kMaxElements, " elements (elements)")));
    }
  }
  t.dims = arena_.TakeFrom(sparse_dims_, 0);
  t.elements = static_cast<int64_t>(elements);
  t.data = {};
  t.strings = {};
  t.has_data = false;
  return true;
}

// `id` is the tensor of its values; its own dimensions are left in sparse_dims_.
bool Parser::ParseSparseTensor(Cursor c, TensorId& id) {
  OptionalTensorId values, indices;
  sparse_dims_.clear();
  while (wire_.More(c)) {
    uint32_t tag;
    Cursor sub;
    if (!wire_.Tag(c, tag)) return false;
    if (tag == Key(1, kLengthDelimited) || tag == Key(2, kLengthDelimited)) {
      OptionalTensorId& part = tag == Key(1, kLengthDelimited) ? values : indices;
      if (part) return wire_.Fail("a part of a sparse tensor is given twice");
      TensorId tensor = 0;
      if (!wire_.Message(c, sub) || !ParseTensor(sub, "sparse tensor", tensor)) return false;
      part = tensor;
    } else if (tag == Key(3, kVarint)) {
      if (!wire_.Int64(c, sparse_dims_.emplace_back())) return false;
    } else if (tag == Key(3, kLengthDelimited)) {
      if (!wire_.Message(c, sub) || !wire_.Need(sub.p, static_cast<uint64_t>(sub.end - sub.p))) {
        return false;
      }
      while (wire_.More(sub)) {
        if (!wire_.Int64(sub, sparse_dims_.emplace_back())) return false;
      }
    } else if (!wire_.SkipField(c, tag)) {
      return false;
    }
  }
  if (!CheckSparseTensor(values, indices)) return false;
  id = *values;
  return true;
}

bool Parser::CheckSparseTensor(OptionalTensorId values, OptionalTensorId indices) {
  const std::vector<int64_t>& dims = sparse_dims_;
  if (!values) return wire_.Fail("a sparse tensor has no values");
  const Tensor& v = model_->tensor(*values);
  const std::string label = absl::StrCat("sparse tensor ", Quoted(v.name));
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return wire_.Fail(
        LimitError("rank", absl::StrCat(label, " has more than ", kMaxRank, " dimensions (rank)")));
  }
  for (const int64_t dim : dims) {
    if (dim < 0) return wire_.Fail(absl::StrCat(label, " has a dimension of ", dim));
  }
  if (v.dims.size() != 1) return wire_.Fail(absl::StrCat(label, ": its values are not a list"));
  if (!indices) {
    return v.elements == 0 || wire_.Fail(absl::StrCat(label, " has no indices"));
  }
  const Tensor& i = model_->tensor(*indices);
  const bool flat = i.dims.size() == 1 && i.dims[0] == v.elements;
  const bool by_axis = i.dims.size() == 2 && i.dims[0] == v.elements &&
                       i.dims[1] == static_cast<int64_t>(dims.size());
  if (i.dtype == DType::kInt64 && (flat || by_axis)) return true;
  return wire_.Fail(
      absl::StrCat(label, ": indices ", ShapeText(i), " do not fit its ", v.elements, " values"));
}

}  // namespace onnxflops::load
