// The families of operators, one line per file of this folder, in alphabetical order.
#ifndef ONNXFLOPS_OPS_FAMILIES_H_
#define ONNXFLOPS_OPS_FAMILIES_H_

#include "ops/op_def.h"

namespace onnxflops {

extern const OpFamily kActivationFamily;
extern const OpFamily kAttentionFamily;
extern const OpFamily kBinaryFamily;
extern const OpFamily kControlFlowFamily;
extern const OpFamily kConvFamily;
extern const OpFamily kDetectionFamily;
extern const OpFamily kElementwiseFamily;
extern const OpFamily kFlexAttentionFamily;
extern const OpFamily kGatherFamily;
extern const OpFamily kLossFamily;
extern const OpFamily kMatMulFamily;
extern const OpFamily kMlFamily;
extern const OpFamily kMlTreesFamily;
extern const OpFamily kMovementFamily;
extern const OpFamily kMsAttentionFamily;
extern const OpFamily kMsCompiledFamily;
extern const OpFamily kMsConvFamily;
extern const OpFamily kMsElementwiseFamily;
extern const OpFamily kMsGatherFamily;
extern const OpFamily kMsImageFamily;
extern const OpFamily kMsIntegerMatMulFamily;
extern const OpFamily kMsLinearAttentionFamily;
extern const OpFamily kMsMatMulFamily;
extern const OpFamily kMsMoeFamily;
extern const OpFamily kMsMovementFamily;
extern const OpFamily kMsMultiHeadAttentionFamily;
extern const OpFamily kMsNchwcFamily;
extern const OpFamily kMsNhwcFamily;
extern const OpFamily kMsNormalizationFamily;
extern const OpFamily kMsPackedMatMulFamily;
extern const OpFamily kMsPositionFamily;
extern const OpFamily kMsQuantizationFamily;
extern const OpFamily kMsRnnFamily;
extern const OpFamily kMsRouterFamily;
extern const OpFamily kMsSearchFamily;
extern const OpFamily kMsSignalFamily;
extern const OpFamily kMsSparseAttentionFamily;
extern const OpFamily kMsSpeculativeFamily;
extern const OpFamily kMsTextFamily;
extern const OpFamily kNormalizationFamily;
extern const OpFamily kPoolFamily;
extern const OpFamily kQuantizationFamily;
extern const OpFamily kRandomFamily;
extern const OpFamily kReductionFamily;
extern const OpFamily kResizeFamily;
extern const OpFamily kRnnFamily;
extern const OpFamily kSelectionFamily;
extern const OpFamily kSequenceFamily;
extern const OpFamily kShapeFamily;
extern const OpFamily kSignalFamily;
extern const OpFamily kSoftmaxFamily;
extern const OpFamily kTextFamily;
extern const OpFamily kTrainingFamily;

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_FAMILIES_H_
