#include "ops/registry.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ops/families.h"

namespace onnxflops {

// In the order in which `ops` lists them: ai.onnx, then the other domains.
absl::Span<const OpFamily> AllFamilies() {
  static const OpFamily kAll[] = {
      kActivationFamily,
      kAttentionFamily,
      kBinaryFamily,
      kControlFlowFamily,
      kConvFamily,
      kDetectionFamily,
      kElementwiseFamily,
      kGatherFamily,
      kLossFamily,
      kMatMulFamily,
      kMovementFamily,
      kNormalizationFamily,
      kPoolFamily,
      kQuantizationFamily,
      kRandomFamily,
      kReductionFamily,
      kResizeFamily,
      kRnnFamily,
      kSelectionFamily,
      kSequenceFamily,
      kShapeFamily,
      kSignalFamily,
      kSoftmaxFamily,
      kTextFamily,
      // ai.onnx.ml, ai.onnx.preview, ai.onnx.preview.training
      kFlexAttentionFamily,
      kMlFamily,
      kMlTreesFamily,
      kTrainingFamily,
      // com.microsoft, com.microsoft.nchwc, com.ms.internal.nhwc
      kMsAttentionFamily,
      kMsCompiledFamily,
      kMsConvFamily,
      kMsElementwiseFamily,
      kMsGatherFamily,
      kMsImageFamily,
      kMsIntegerMatMulFamily,
      kMsLinearAttentionFamily,
      kMsMatMulFamily,
      kMsMoeFamily,
      kMsMovementFamily,
      kMsMultiHeadAttentionFamily,
      kMsNormalizationFamily,
      kMsPackedMatMulFamily,
      kMsPositionFamily,
      kMsQuantizationFamily,
      kMsRnnFamily,
      kMsRouterFamily,
      kMsSearchFamily,
      kMsSignalFamily,
      kMsSparseAttentionFamily,
      kMsSpeculativeFamily,
      kMsTextFamily,
      kMsNchwcFamily,
      kMsNhwcFamily,
  };
  return kAll;
}

namespace {

uint64_t HashName(absl::string_view name) {
  uint64_t first = 0, last = 0;
  if (name.size() >= sizeof first) {
    std::memcpy(&first, name.data(), sizeof first);
    std::memcpy(&last, name.data() + name.size() - sizeof last, sizeof last);
  } else if (!name.empty()) {
    std::memcpy(&first, name.data(), name.size());
  }
  const uint64_t mixed = (first ^ (last * 0x9E3779B97F4A7C15u) ^ name.size()) * 0xC2B2AE3D27D4EB4Fu;
  return mixed ^ (mixed >> 32);
}

// An open hash table of all rows by operator name, filled in some microseconds on first use.
class RowIndex {
 public:
  RowIndex() {
    size_t rows = 0;
    for (const OpFamily& family : families_) rows += family.rows.size();
    size_t slots = 1;
    while (slots < 2 * rows + 1) slots *= 2;
    slots_.resize(slots);
    for (size_t f = 0; f < families_.size(); ++f) {
      for (size_t r = 0; r < families_[f].rows.size(); ++r) {
        const uint64_t hash = HashName(families_[f].rows[r].name);
        size_t at = First(hash);
        while (slots_[at].family != 0) at = Next(at);
        slots_[at] = {Tag(hash), static_cast<uint16_t>(f + 1), static_cast<uint16_t>(r)};
      }
    }
  }

  FoundOp Find(absl::string_view domain, absl::string_view op_type, int64_t opset) const {
    FoundOp found;
    const uint64_t hash = HashName(op_type);
    for (size_t at = First(hash); slots_[at].family != 0; at = Next(at)) {
      if (slots_[at].tag != Tag(hash)) continue;
      const OpFamily& family = families_[slots_[at].family - 1u];
      const OpDef& def = family.rows[slots_[at].row];
      if (op_type != def.name || domain != family.domain) continue;
      found.known_name = true;
      for (int version : def.versions) {
        if (version > opset || version <= found.version) continue;
        found.def = &def;
        found.version = version;
      }
    }
    return found;
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint16_t family = 0;  // its place among the families, from 1; 0 for an empty slot
    uint16_t row = 0;
  };

  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  size_t First(uint64_t hash) const { return hash & (slots_.size() - 1); }
  size_t Next(size_t at) const { return (at + 1) & (slots_.size() - 1); }

  const absl::Span<const OpFamily> families_ = AllFamilies();
  std::vector<Slot> slots_;  // a power of two of them, at least half of them empty
};

}  // namespace

FoundOp FindOp(absl::string_view domain, absl::string_view op_type, int64_t opset) {
  static const RowIndex& index = *new RowIndex();
  return index.Find(domain, op_type, opset);
}

}  // namespace onnxflops
