// Decoding the payload of small tensors into content.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/op_def.h"
#include "src/base/limits.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

namespace {

template <typename T>
T ReadLittleEndian(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

double HalfToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(mantissa + 1024, exponent - 25);
}

double BfloatToDouble(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// A packed element of 4 or 2 bits, low bits first.
int64_t ReadPacked(absl::string_view data, size_t i, int bits, bool is_signed) {
  const size_t per_byte = static_cast<size_t>(8 / bits);
  const auto byte = static_cast<uint8_t>(data[i / per_byte]);
  const int mask = (1 << bits) - 1;
  const int value = (byte >> (bits * static_cast<int>(i % per_byte))) & mask;
  return is_signed && value > mask / 2 ? value - mask - 1 : value;
}

Scalar ReadElement(DType type, absl::string_view data, size_t i) {
  const char* at = data.data() + i * static_cast<size_t>(BitsPerElement(type) / 8);
  switch (type) {
    case DType::kFloat32:
      return Scalar::Float(ReadLittleEndian<float>(at));
    case DType::kFloat64:
      return Scalar::Float(ReadLittleEndian<double>(at));
    case DType::kFloat16:
      return Scalar::Float(HalfToDouble(ReadLittleEndian<uint16_t>(at)));
    case DType::kBfloat16:
      return Scalar::Float(BfloatToDouble(ReadLittleEndian<uint16_t>(at)));
    case DType::kInt64:
      return Scalar::Int(ReadLittleEndian<int64_t>(at));
    case DType::kUint64:
      return Scalar::Int(absl::int128(ReadLittleEndian<uint64_t>(at)));
    case DType::kInt32:
      return Scalar::Int(ReadLittleEndian<int32_t>(at));
    case DType::kUint32:
      return Scalar::Int(static_cast<int64_t>(ReadLittleEndian<uint32_t>(at)));
    case DType::kInt16:
      return Scalar::Int(ReadLittleEndian<int16_t>(at));
    case DType::kUint16:
      return Scalar::Int(ReadLittleEndian<uint16_t>(at));
    case DType::kInt8:
      return Scalar::Int(ReadLittleEndian<int8_t>(at));
    case DType::kUint8:
      return Scalar::Int(ReadLittleEndian<uint8_t>(at));
    case DType::kBool:
      return Scalar::Int(*at != 0 ? 1 : 0);
    case DType::kInt4:
    case DType::kUint4:
      return Scalar::Int(ReadPacked(data, i, 4, type == DType::kInt4));
    case DType::kInt2:
    case DType::kUint2:
      return Scalar::Int(ReadPacked(data, i, 2, type == DType::kInt2));
    default:
      return {};
  }
}

// Sizes that an adapter wrote as texts.
Fact WithSizes(const Tensor& tensor, Fact fact) {
  Content content;
  for (const absl::string_view text : tensor.strings) {
    absl::StatusOr<Expr> size = ParseExpr(text, 1);
    content.push_back(size.ok() ? Scalar::Int(*std::move(size)) : Scalar());
  }
  fact.content = std::make_shared<const Content>(std::move(content));
  return fact;
}

}  // namespace

Fact NodeView::FactOfTensor(const Tensor& tensor) const { return FactOf(tensor); }

Fact FactOf(const Tensor& tensor) {
  Shape shape;
  for (int64_t dim : tensor.dims) shape.push_back(dim);
  Fact fact = Fact::Tensor(tensor.dtype, std::move(shape));
  fact.constant = true;
  fact.from_shapes = true;
  const int64_t limit = IsFloat(tensor.dtype) ? kMaxFloatContent : kMaxIntContent;
  if (!tensor.has_data || tensor.elements > limit || tensor.dtype == DType::kString) return fact;
  if (!tensor.strings.empty()) return WithSizes(tensor, std::move(fact));
  const auto elements = static_cast<size_t>(tensor.elements);
  const auto bits = static_cast<size_t>(BitsPerElement(tensor.dtype));
  if (tensor.data.size() < (elements * bits + 7) / 8) return fact;
  Content content(elements);
  for (size_t i = 0; i < elements; ++i) content[i] = ReadElement(tensor.dtype, tensor.data, i);
  fact.content = std::make_shared<const Content>(std::move(content));
  return fact;
}

}  // namespace onnxflops
