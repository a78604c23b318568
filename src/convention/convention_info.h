// Facts about another tool: the unit of its figure, and how certain the figure is.
#ifndef ONNXFLOPS_SRC_CONVENTION_CONVENTION_INFO_H_
#define ONNXFLOPS_SRC_CONVENTION_CONVENTION_INFO_H_

#include <cstddef>
#include <cstdint>

namespace onnxflops::convention {

// The unit of a tool's main figure. Our figure in this unit is `macs`, `flops` (2 x macs + all
// other floating-point operations), or `activation_count` (elements that contractions output).
enum class Unit : uint8_t { kMac, kFlop, kActivation };
inline constexpr size_t kNumUnits = 3;

enum class Standing : uint8_t {
  kExact,          // the file shows everything that decides the figure
  kAssumed,        // the file does not decide it: the assumptions name the guess
  kNotApplicable,  // the tool gives no figure: the first assumption says why
};

// The term that leads from a forward pass to a training step.
inline constexpr char kBackwardPass[] = "backward pass";

// Who counts, and how.
struct ConventionInfo {
  const char* name;  // "thop", for --with; of one version "deepspeed@0.19.6"
  Unit unit;
  const char* headline;  // the figure as the tool names it: "total_ops, printed as MACs"
  const char* source;    // project, version, file and lines that were read
  const char* includes;
  const char* misses;
  // For a tool whose figure changed; else "".
  const char* version = "";  // "0.19.7", for NAME@VERSION
  const char* since = "";    // when it came: "2026-09"; "" for the oldest
  const char* changed = "";  // how its counts differ from other versions
  // Forward passes that the figure covers: 3 for a training step.
  int passes = 1;
};

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_CONVENTION_INFO_H_
