// The element types of ONNX tensors, numbered as TensorProto.DataType.
#ifndef ONNXFLOPS_SRC_GRAPH_DTYPE_H_
#define ONNXFLOPS_SRC_GRAPH_DTYPE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace onnxflops {

enum class DType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};
inline constexpr int kNumDTypes = 29;

// "float32", "int64", "bfloat16", ...: NumPy's names, as in reports.
absl::string_view DTypeName(DType type);
// The type of that name ("float32" or ONNX's "float"), if any.
std::optional<DType> ParseDType(absl::string_view name);
// The type of a TensorProto.DataType number; nullopt for a number that ONNX does not define.
std::optional<DType> DTypeFromOnnx(int64_t number);
// Bits per element as stored: 4 for int4 (two in a byte), 6 for float6 (four in three bytes); 0 for
// strings and undefined.
int BitsPerElement(DType type);
// Floating point, complex and bfloat/float8/float4 included: its arithmetic is FLOPs.
bool IsFloat(DType type);
bool IsComplex(DType type);
// Signed or unsigned integer of any width, bool not included.
bool IsInteger(DType type);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_GRAPH_DTYPE_H_
