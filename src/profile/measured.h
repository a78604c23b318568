// Measurements of a runtime: its kernels, each identified by its name and its parent kernel, with
// their times in every run. All runtimes use this form; read_profile.h reads it.
//
//   Profile profile = ReadProfile(source, "p.json").value();
//   profile.kernels[0].name            // "/conv1/Conv"
//   profile.kernels[0].samples[0].ns   // in the first run that executes it
#ifndef ONNXFLOPS_SRC_PROFILE_MEASURED_H_
#define ONNXFLOPS_SRC_PROFILE_MEASURED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace onnxflops {

enum class ProfileSource : uint8_t { kOnnxRuntime, kTensorRt, kOpenVino };
absl::string_view SourceName(ProfileSource source);  // "ONNX Runtime"

// Time and calls of a kernel in one run, summed over its executions.
struct KernelSample {
  int32_t run = 0;
  int32_t calls = 0;   // executions
  int32_t bodies = 0;  // how often it ran a body: trips of a Loop, 1 for an If
  int64_t ns = 0;      // without the kernels of its bodies
};

struct ProfileKernel {
  std::string name;                // as in the profile: a node's name, or names joined by " + "
  std::string op;                  // "Conv"; "" if unknown
  std::vector<std::string> parts;  // nodes that it represents, if the runtime lists them
  int64_t index = -1;              // the runtime's own number of the node, or -1
  int32_t parent = -1;             // the kernel whose body runs it; -1: it is in the main graph
  // Shapes of its outputs, as the last execution had them.
  std::vector<std::vector<int64_t>> outputs;
  std::vector<KernelSample> samples;  // by run, if executed
};

struct ProfileRun {
  int64_t wall_ns = 0;    // from the call to the return; 0: not known
  int64_t kernel_ns = 0;  // the sum of its kernels
  uint64_t sizes = 0;     // equal where kernels have outputs of equal shapes
};

// A kernel's execution, for traces.
struct TraceEvent {
  int64_t start_ns = 0, ns = 0;
  int32_t kernel = 0;  // index in Profile::kernels
  int32_t run = 0;
  int64_t thread = 0;
};

struct Profile {
  std::string path;
  ProfileSource source = ProfileSource::kOnnxRuntime;
  std::vector<ProfileKernel> kernels;  // each after its parent
  std::vector<ProfileRun> runs;
  // The runtime gives means of many runs, or only its last runs, so none of `runs` is a warm-up.
  bool averaged = false;
  std::vector<TraceEvent> events;  // ReadProfileOptions::events
  bool events_omitted = false;     // there are more than kMaxTraceEvents
  std::vector<std::string> warnings;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_PROFILE_MEASURED_H_
