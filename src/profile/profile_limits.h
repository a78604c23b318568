#ifndef ONNXFLOPS_SRC_PROFILE_PROFILE_LIMITS_H_
#define ONNXFLOPS_SRC_PROFILE_PROFILE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace onnxflops {

// Of a profile: bytes of a text in it, brackets inside brackets, bytes of all names, events of a
// run, which are kept until it ends (some 80 bytes each), threads, runs, kernels, their times in
// all runs, and the longest time, 104 days. An event takes some 700 bytes of a file.
inline constexpr size_t kMaxProfileToken = size_t{1} << 20;
inline constexpr int kMaxProfileNesting = 32;
inline constexpr size_t kMaxProfileNameBytes = size_t{64} << 20;
inline constexpr size_t kMaxRunEvents = 4'000'000;
inline constexpr size_t kMaxProfileThreads = 1024;
inline constexpr size_t kMaxProfileRuns = 1'000'000;
inline constexpr size_t kMaxProfileKernels = 1'000'000;
inline constexpr int64_t kMaxProfileSamples = 32'000'000;
inline constexpr int64_t kMaxProfileNs = int64_t{1} << 53;
// Sizes of one tensor, and tensors of one kernel, that are kept of a profile.
inline constexpr size_t kMaxProfileOutputs = 64;
// Executions of kernels that a trace is written with.
inline constexpr size_t kMaxTraceEvents = 500'000;

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_PROFILE_PROFILE_LIMITS_H_
