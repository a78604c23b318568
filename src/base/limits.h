// Every bound on what a file may make us do, in one place, each with its reason.
//
// A model that needs more than a limit is refused with an error that names the limit; none of them
// is met by a real model we know.
#ifndef ONNXFLOPS_SRC_BASE_LIMITS_H_
#define ONNXFLOPS_SRC_BASE_LIMITS_H_

#include <cstdint>

namespace onnxflops {

// Graphs inside graphs (If, Loop, Scan bodies). Protobuf's own nesting limit of 100 stops ONNX's
// reader at 32.
inline constexpr int kMaxGraphNesting = 64;
// Types inside types: sequence(optional(sequence(...))). ONNX's reader stops at 49.
inline constexpr int kMaxTypeNesting = 32;
// Local functions calling local functions. Real exports nest as deep as their modules, below 20.
inline constexpr int kMaxCallDepth = 200;
// Dimensions of one tensor. ONNX Runtime stops at 64 as well.
inline constexpr int kMaxRank = 64;
// Elements of one dimension or of one tensor as a file may state them: more cannot be addressed.
inline constexpr int64_t kMaxElements = int64_t{1} << 62;
// Integer tensors up to this size have their content followed (shapes, indices, masks of shape
// arithmetic).
inline constexpr int64_t kMaxIntContent = 1024;
// Float tensors up to this size have their content followed: Resize scales and Range limits are
// this small, weights are not, and following a weight would tell equal layers apart.
inline constexpr int64_t kMaxFloatContent = 16;
// Loop and Scan bodies whose shapes change from one trip to the next are followed trip by trip up
// to here; beyond, what changes is a symbol.
inline constexpr int64_t kMaxUnrolledTrips = 64;
// Node evaluations per node of the file (bodies and functions are evaluated again where their
// inputs differ), and on top of it for small files.
inline constexpr int64_t kMaxEvaluationsPerNode = 64;
inline constexpr int64_t kMaxExtraEvaluations = 200'000;
// Attributes of a node, inputs of a node: above this a count is a lie of the file, since each takes
// bytes.
inline constexpr int64_t kMaxNodeInputs = int64_t{1} << 20;
// Highest IR version that this loader knows.
inline constexpr int64_t kMaxIrVersion = 14;
// Highest released opset of the ai.onnx domain in ONNX 1.23.2, and the release.
inline constexpr int64_t kMaxOpset = 28;
inline constexpr char kOnnxRelease[] = "1.23.2";

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_LIMITS_H_
