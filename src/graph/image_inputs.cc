#include "src/graph/image_inputs.h"

#include <optional>

#include "src/graph/dtype.h"

namespace onnxflops {
namespace {

bool IsChannels(const DeclaredDim& dim) { return dim.size == 1 || dim.size == 3 || dim.size == 4; }

std::optional<size_t> HeightAxis(const DeclaredType* type) {
  constexpr size_t kRank = 4;
  if (type == nullptr || type->kind != TypeKind::kTensor || type->dims.size() != kRank) {
    return std::nullopt;
  }
  if (!IsFloat(type->dtype) && type->dtype != DType::kUint8) return std::nullopt;
  if (IsChannels(type->dims[1])) return 2;
  if (IsChannels(type->dims[3])) return 1;
  return std::nullopt;
}

}  // namespace

std::vector<ImageInput> ImageInputs(const ModelData& model) {
  std::vector<ImageInput> images;
  for (const ValueId id : model.graph(0).inputs) {
    const Value& value = model.value(id);
    const std::optional<size_t> axis =
        value.initializer ? std::nullopt : HeightAxis(value.declared);
    if (axis) images.push_back({id, *axis});
  }
  return images;
}

}  // namespace onnxflops
