// Calls that are alike are inferred once.
#ifndef ONNXFLOPS_SRC_INFER_CALL_MEMO_H_
#define ONNXFLOPS_SRC_INFER_CALL_MEMO_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "src/infer/infer.h"
#include "src/infer/session.h"

namespace onnxflops::infer {

// What tells one application from another: what is applied, in which version, with which attributes
// (its own, and those of the function around it), and to what.
struct CallSignature {
  const void* what;  // OpDef or Function
  int64_t opset;
  int32_t attributes_id;
  size_t outputs;
  absl::string_view attribute_bytes;
  FactIds inputs;

  friend bool operator==(const CallSignature& a, const CallSignature& b) {
    return a.what == b.what && a.opset == b.opset && a.attributes_id == b.attributes_id &&
           a.outputs == b.outputs && a.inputs == b.inputs && a.attribute_bytes == b.attribute_bytes;
  }
  template <typename H>
  friend H AbslHashValue(H h, const CallSignature& s) {
    return H::combine(std::move(h), s.what, s.opset, s.attributes_id, s.outputs, s.attribute_bytes,
                      s.inputs);
  }
};

// Owns which Call stands for a signature. A Call that made a symbol of its own stands for no other,
// so it is not kept.
class CallMemo {
 public:
  // Whether the attributes tell all that a node does beyond its inputs.
  static bool MayShare(const Node& node) { return node.attributes_comparable && !node.has_graphs; }

  void Reserve(size_t calls) { calls_.reserve(calls); }
  std::optional<CallId> Find(const CallSignature& signature) const {
    const auto known = calls_.find(signature);
    return known == calls_.end() ? std::nullopt : std::optional<CallId>(known->second);
  }
  void Keep(CallSignature signature, CallId call) { calls_.emplace(std::move(signature), call); }

 private:
  absl::flat_hash_map<CallSignature, CallId> calls_;
};

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_CALL_MEMO_H_
