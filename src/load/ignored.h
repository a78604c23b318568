// Messages that a count does not need: only their wire format is checked, as protobuf would.
#ifndef ONNXFLOPS_SRC_LOAD_IGNORED_H_
#define ONNXFLOPS_SRC_LOAD_IGNORED_H_

#include "src/load/wire.h"

namespace onnxflops::load {

enum class Ignored : uint8_t {
  kPair,          // StringStringEntryProto
  kSegment,       // TensorProto.Segment
  kAnnotation,    // TensorAnnotation
  kDevice,        // DeviceConfigurationProto
  kNodeDevice,    // NodeDeviceConfigurationProto
  kTrainingInfo,  // TrainingInfoProto, with whole graphs in it
  // Parts of those.
  kSharding,
  kIntIntList,
  kShardedDim,
  kSimpleShardedDim,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kValueInfo,
  kType,
  kTensorType,
  kElementType,
  kMapType,
  kOpaqueType,
  kShape,
  kDimension,
};

// Moves `c` over a field of a message of that kind.
bool SkipIgnored(WireReader& wire, Cursor& c, Ignored kind);

}  // namespace onnxflops::load

#endif  // ONNXFLOPS_SRC_LOAD_IGNORED_H_
