// Devices and their peaks from datasheets, with the source of every figure.
//
//   absl::StatusOr<Device> device = FindDevice("h100-sxm");
//   device->PeakOf(Precision::kBf16)->giga   // 989400: 989.4 TFLOP/s, dense
//
// A row is one chip as frameworks see it, or the complete product that a datasheet describes;
// `unit` says which. All peaks are dense: no structured sparsity. Figures without a source are left
// out.
#ifndef ONNXFLOPS_SRC_HARDWARE_DEVICE_H_
#define ONNXFLOPS_SRC_HARDWARE_DEVICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onnxflops {

// The number type of a multiplication's operands.
enum class Precision : uint8_t { kFp64, kFp32, kTf32, kBf16, kFp16, kFp8, kFp4, kInt8, kInt4 };
inline constexpr int kNumPrecisions = 9;
absl::string_view PrecisionName(Precision precision);  // "bf16"
int64_t PrecisionBits(Precision precision);            // as stored: 32 of tf32
// By that name, or ONNX's: "bfloat16", "float16", "float32". InvalidArgument, with the names.
absl::StatusOr<Precision> ParsePrecision(absl::string_view name);

struct PeakFigure {
  Precision precision = Precision::kBf16;
  int64_t giga = 0;        // 10^9 operations per second, a multiply-accumulate being two
  std::string accumulate;  // type of the sums, if the device has several: "fp16"
  std::string source;
};

struct Device {
  std::string name;   // "h100-sxm"
  std::string title;  // "NVIDIA H100 SXM"
  std::string unit;   // "GPU"; "GCD, half of a module"
  std::vector<std::string> aliases;
  // By precision. The first figure of a precision is the peak; the others come from other sources.
  std::vector<PeakFigure> peaks;
  std::optional<int64_t> memory_bytes, bytes_per_second;
  std::string memory_source;
  // The largest cache in front of that memory.
  std::optional<int64_t> cache_bytes;
  std::string cache_source;
  // Measured: the best published bf16 matrix product, in 10^9 FLOP/s.
  std::optional<int64_t> achievable_giga;
  std::string achievable_source;
  std::string note;

  const PeakFigure* PeakOf(Precision precision) const;  // nullptr if unknown
};

// In the order of devices.toml.
const std::vector<Device>& AllDevices();
// Devices of the user's own, in the form of devices.toml; only the name is needed. Errors name the
// file and the line.
absl::StatusOr<std::vector<Device>> LoadDevices(absl::string_view toml, absl::string_view file);

// Finds a device by its name or an alias, case-insensitively; never by a part of a name. `own`
// takes precedence over the built-in ones. NotFound, with similar names. "cpu:..." is a CPU by
// formula: ParseCpu.
absl::StatusOr<Device> FindDevice(absl::string_view name, absl::Span<const Device> own = {});
// FailedPrecondition if the device has no such peak; the error lists those that it has.
absl::StatusOr<PeakFigure> FindPeak(const Device& device, Precision precision);

// A CPU by formula: cores x clock x operations per cycle and core.
absl::StatusOr<Device> CpuByFormula(int64_t cores, int64_t hertz, int64_t flops_per_cycle,
                                    Precision precision);
// "cpu:64:2.5:avx512" is 64 cores at 2.5 GHz with an instruction set of kCpuSets, "cpu:64:2.5:avx2:
// 300" with 300 GB/s of memory bandwidth as well, "cpu:64:2.5:avx2:300:256MiB" with caches that
// hold so much together. FindDevice takes such names. InvalidArgument, with the form and the sets.
absl::StatusOr<Device> ParseCpu(absl::string_view text);

// Operations per cycle of a core, a multiply-accumulate being two.
struct CpuSet {
  absl::string_view name;
  absl::string_view how;
  int fp64, fp32, bf16, fp16, int8;  // 0: no such unit
};
inline constexpr CpuSet kCpuSets[] = {
    {"sse2", "an adder and a multiplier of 128 bits", 4, 8, 0, 0, 0},
    {"avx", "an adder and a multiplier of 256 bits", 8, 16, 0, 0, 0},
    {"avx2", "2 FMA units of 256 bits", 16, 32, 0, 0, 0},
    {"avx512", "2 FMA units of 512 bits", 32, 64, 0, 0, 0},
    {"avx512-1", "1 FMA unit of 512 bits", 16, 32, 0, 0, 0},
    {"amx", "a tile unit, beside 2 FMA units of 512 bits", 32, 64, 1024, 0, 2048},
    {"neon", "2 FMA units of 128 bits", 8, 16, 0, 32, 0},
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_HARDWARE_DEVICE_H_
