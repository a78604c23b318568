// The families of operators, one line per file of this folder, in alphabetical order.
#ifndef ONNXFLOPS_OPS_FAMILIES_H_
#define ONNXFLOPS_OPS_FAMILIES_H_

#include "ops/op_def.h"

namespace onnxflops {

extern const OpFamily kActivationFamily;
extern const OpFamily kConvFamily;
extern const OpFamily kElementwiseFamily;
extern const OpFamily kLossFamily;
extern const OpFamily kMatMulFamily;
extern const OpFamily kMsAttentionFamily;
extern const OpFamily kMsConvFamily;
extern const OpFamily kMsElementwiseFamily;
extern const OpFamily kMsMatMulFamily;
extern const OpFamily kMsMiscFamily;
extern const OpFamily kMsNchwcFamily;
extern const OpFamily kMsNhwcFamily;
extern const OpFamily kMsNormalizationFamily;
extern const OpFamily kMsQuantizationFamily;
extern const OpFamily kMsSearchFamily;
extern const OpFamily kNormalizationFamily;
extern const OpFamily kPoolFamily;
extern const OpFamily kQuantizationFamily;
extern const OpFamily kRandomFamily;
extern const OpFamily kReductionFamily;
extern const OpFamily kRnnFamily;
extern const OpFamily kSignalFamily;
extern const OpFamily kSoftmaxFamily;

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_FAMILIES_H_
