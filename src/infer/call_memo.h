// Calls that are alike are inferred once.
#ifndef ONNXFLOPS_SRC_INFER_CALL_MEMO_H_
#define ONNXFLOPS_SRC_INFER_CALL_MEMO_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "src/base/limits.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/infer/session.h"

namespace onnxflops::infer {

// The key of an application: the operator or function with its version, the attributes (its own,
// and those of the enclosing function), and the inputs.
struct CallSignature {
  const void* what;  // OpDef or Function
  int64_t opset;
  int32_t attributes_id;
  size_t outputs;
  const char* attributes;  // address of Node::attribute_bytes, shared by equal ones
  FactIds inputs;

  friend bool operator==(const CallSignature& a, const CallSignature& b) {
    return a.what == b.what && a.attributes == b.attributes && a.outputs == b.outputs &&
           a.opset == b.opset && a.attributes_id == b.attributes_id &&
           std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end());
  }
  template <typename H>
  friend H AbslHashValue(H h, const CallSignature& s) {
    // Packed into one number; inputs and outputs are at most kMaxNodeInputs.
    static_assert(kMaxNodeInputs < 1 << 16);
    const uint64_t rest =
        static_cast<uint64_t>(s.attributes_id) << 32 | s.outputs << 16 | s.inputs.size();
    h = H::combine(std::move(h), s.what, s.opset, s.attributes, rest);
    for (const FactId fact : s.inputs) h = H::combine(std::move(h), fact);
    return h;
  }
};

// Maps signatures to Calls. A Call that made its own symbol cannot be shared, so it is not kept.
class CallMemo {
 public:
  // True if the attributes and inputs decide everything that a node does.
  static bool MayShare(const Node& node) { return node.attributes_comparable && !node.has_graphs; }

  void Reserve(size_t calls) { calls_.reserve(calls); }
  std::optional<CallId> Find(const CallSignature& signature) const {
    const auto known = calls_.find(signature);
    return known == calls_.end() ? std::nullopt : std::optional<CallId>(known->second);
  }
  void Keep(CallSignature&& signature, CallId call) { calls_.emplace(std::move(signature), call); }

 private:
  absl::flat_hash_map<CallSignature, CallId> calls_;
};

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_CALL_MEMO_H_
