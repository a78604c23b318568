#include "ops/contrib/packed_formats.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace onnxflops {

namespace {

// Sizes are those that ONNX Runtime's GatherPacked asks for; that of NVFP4, which it does not have,
// is GGML's.
constexpr PackedFormat kFormats[] = {
    {.id = 0, .name = "F32", .bytes = 4, .type = DType::kFloat32},
    {.id = 1, .name = "F16", .bytes = 2, .type = DType::kFloat16},
    {.id = 2, .name = "Q4_0", .block = 32, .bytes = 18, .type = DType::kInt4},
    {.id = 6, .name = "Q5_0", .block = 32, .bytes = 22, .type = DType::kInt8},
    {.id = 8, .name = "Q8_0", .block = 32, .bytes = 34, .type = DType::kInt8},
    {.id = 13,
     .name = "Q5_K",
     .block = 256,
     .bytes = 176,
     .group = 32,
     .minimum = true,
     .type = DType::kInt8},
    {.id = 14, .name = "Q6_K", .block = 256, .bytes = 210, .group = 16, .type = DType::kInt8},
    {.id = 16, .name = "IQ2_XXS", .block = 256, .bytes = 66, .group = 32, .type = DType::kInt2},
    {.id = 17, .name = "IQ2_XS", .block = 256, .bytes = 74, .group = 16, .type = DType::kInt2},
    {.id = 18, .name = "IQ3_XXS", .block = 256, .bytes = 98, .group = 32, .type = DType::kInt4},
    {.id = 20, .name = "IQ4_NL", .block = 32, .bytes = 18, .type = DType::kInt4},
    {.id = 22, .name = "IQ2_S", .block = 256, .bytes = 82, .group = 16, .type = DType::kInt2},
    {.id = 23, .name = "IQ4_XS", .block = 256, .bytes = 136, .group = 32, .type = DType::kInt4},
    {.id = 30, .name = "BF16", .bytes = 2, .type = DType::kBfloat16},
    {.id = 40, .name = "NVFP4", .block = 64, .bytes = 36, .type = DType::kFloat4E2M1},
    {.id = 42, .name = "Q2_0", .block = 64, .bytes = 18, .type = DType::kInt2},
};

const PackedFormat* Find(int64_t id) {
  for (const PackedFormat& format : kFormats) {
    if (format.id == id) return &format;
  }
  return nullptr;
}

int64_t IntOf(const Node& node, absl::string_view name, int64_t otherwise) {
  const Attribute* a = node.FindAttribute(name);
  return a == nullptr || !a->ref_attr_name.empty() ? otherwise : a->i;
}

Packing OfFormat(const Node& node, absl::string_view attribute) {
  const PackedFormat* format = Find(IntOf(node, attribute, -1));
  return format == nullptr ? Packing{1, 1} : Packing{format->block, format->bytes};
}

}  // namespace

absl::StatusOr<const PackedFormat*> FindPackedFormat(absl::string_view attribute, int64_t id) {
  if (const PackedFormat* format = Find(id)) return format;
  return absl::UnimplementedError(
      absl::StrCat(attribute, " ", id, " is not a format that is known"));
}

absl::Status CheckPackedRow(const NodeView& n, const PackedFormat& format, const Expr& elements,
                            const Expr& bytes) {
  if (elements.is_literal() && elements.literal() % format.block != 0) {
    return absl::InvalidArgumentError(absl::StrCat(elements.ToString(),
                                                   " elements are no blocks of ", format.block,
                                                   ", as ", format.name, " has"));
  }
  return n.RequireSame(absl::StrCat("bytes of a row of ", elements.ToString(), " in ", format.name),
                       FloorDiv(elements, format.block) * format.bytes, bytes);
}

Census UnpackingWork(const PackedFormat& format, const Expr& elements) {
  Census work;
  if (format.block == 1) return work;  // floating point as it is
  work[Kind::kMul] = elements;
  if (format.group == 0) return work;
  work[Kind::kMul] += FloorDiv(elements, format.group) * (format.minimum ? 2 : 1);
  if (format.minimum) work[Kind::kAdd] = elements;
  return work;
}

Packing PackingOf(const Node& node, size_t input) {
  if (node.op_type == "MatMulNBitsQLoRA" && input > 2) {
    return {.elements = 8, .bytes = std::max(IntOf(node, "lora_bits", 8), int64_t{1})};
  }
  if (node.op_type == "MoEPacked") {
    return OfFormat(node, input == 2 ? "gate_type" : input == 3 ? "up_type" : "down_type");
  }
  if (node.FindAttribute("packed_type") != nullptr) return OfFormat(node, "packed_type");
  return {};
}

}  // namespace onnxflops
