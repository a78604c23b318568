// Where a graph is evaluated.
#ifndef ONNXFLOPS_SRC_INFER_FRAME_H_
#define ONNXFLOPS_SRC_INFER_FRAME_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/graph/model.h"

namespace onnxflops::infer {

// The opsets and attributes in force, and the chain of calls. A value: the frame of a body is a
// copy with changes. It points to the outer frames, which outlive it.
struct Frame {
  const std::vector<std::pair<absl::string_view, int64_t>>* opsets = nullptr;
  absl::Span<const Attribute> call_attributes;
  int32_t attributes_id = -1;  // distinguishes frames with different call attributes
  int64_t default_opset = 0;   // of domain ""
  int depth = 0;               // bodies and functions around
  // Its place, for the names of symbols: inside the call `via` of the caller's frame, or in one
  // trip of a loop there.
  const Frame* caller = nullptr;
  OptionalNodeId via;
  int64_t trip = -1;

  int64_t OpsetOf(absl::string_view domain) const {
    if (domain.empty()) return default_opset;
    for (const auto& [name, version] : *opsets) {
      if (name == domain) return version;
    }
    return 1;  // files omit the import of com.microsoft; its operators have version 1
  }
};

// A body of a node in `around`.
inline Frame FrameOfBody(const Frame& around) {
  Frame inner = around;
  ++inner.depth;
  return inner;
}

// One trip of a loop in `around`.
inline Frame FrameOfTrip(const Frame& around, int64_t trip) {
  Frame inner = FrameOfBody(around);
  inner.caller = &around;
  inner.via = kNone;
  inner.trip = trip;
  return inner;
}

// A node with the calls and trips around it: its identity, and "block.0/trip 3/name", cut at
// kMaxSymbolName bytes as written.
struct Place {
  std::string key, text;
};
Place PlaceIn(const ModelData& model, const Frame& frame, NodeId node);

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_FRAME_H_
