#include "src/graph/dtype.h"

#include <array>
#include <cstddef>

namespace onnxflops {
namespace {

enum class Number : uint8_t { kOther, kFloat, kComplex, kInteger };

struct Row {
  const char* name;   // NumPy's name, or that of ml_dtypes
  const char* alias;  // ONNX's text form if it differs
  int bits;
  Number kind;
};

// Indexed by the number of TensorProto.DataType.
constexpr std::array<Row, kNumDTypes> kRows = {{
    {"undefined", nullptr, 0, Number::kOther},      {"float32", "float", 32, Number::kFloat},
    {"uint8", nullptr, 8, Number::kInteger},        {"int8", nullptr, 8, Number::kInteger},
    {"uint16", nullptr, 16, Number::kInteger},      {"int16", nullptr, 16, Number::kInteger},
    {"int32", nullptr, 32, Number::kInteger},       {"int64", nullptr, 64, Number::kInteger},
    {"string", nullptr, 0, Number::kOther},         {"bool", nullptr, 8, Number::kOther},
    {"float16", nullptr, 16, Number::kFloat},       {"float64", "double", 64, Number::kFloat},
    {"uint32", nullptr, 32, Number::kInteger},      {"uint64", nullptr, 64, Number::kInteger},
    {"complex64", nullptr, 64, Number::kComplex},   {"complex128", nullptr, 128, Number::kComplex},
    {"bfloat16", nullptr, 16, Number::kFloat},      {"float8e4m3fn", nullptr, 8, Number::kFloat},
    {"float8e4m3fnuz", nullptr, 8, Number::kFloat}, {"float8e5m2", nullptr, 8, Number::kFloat},
    {"float8e5m2fnuz", nullptr, 8, Number::kFloat}, {"uint4", nullptr, 4, Number::kInteger},
    {"int4", nullptr, 4, Number::kInteger},         {"float4e2m1", nullptr, 4, Number::kFloat},
    {"float8e8m0", nullptr, 8, Number::kFloat},     {"uint2", nullptr, 2, Number::kInteger},
    {"int2", nullptr, 2, Number::kInteger},         {"float6e2m3", nullptr, 6, Number::kFloat},
    {"float6e3m2", nullptr, 6, Number::kFloat},
}};

constexpr const Row& RowOf(DType type) {
  const auto index = static_cast<size_t>(type);
  return kRows[index < kRows.size() ? index : 0];
}

}  // namespace

absl::string_view DTypeName(DType type) { return RowOf(type).name; }

std::optional<DType> ParseDType(absl::string_view name) {
  for (size_t i = 1; i < kRows.size(); ++i) {
    if (name == kRows[i].name || (kRows[i].alias != nullptr && name == kRows[i].alias)) {
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

std::optional<DType> DTypeFromOnnx(int64_t number) {
  if (number < 0 || number >= kNumDTypes) return std::nullopt;
  return static_cast<DType>(number);
}

int BitsPerElement(DType type) { return RowOf(type).bits; }

bool IsFloat(DType type) {
  return RowOf(type).kind == Number::kFloat || RowOf(type).kind == Number::kComplex;
}

bool IsComplex(DType type) { return RowOf(type).kind == Number::kComplex; }

bool IsInteger(DType type) { return RowOf(type).kind == Number::kInteger; }

}  // namespace onnxflops
