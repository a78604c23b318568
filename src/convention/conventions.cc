#include "src/convention/conventions.h"

namespace onnxflops {

absl::Span<const Convention* const> Conventions() {
  static constexpr const Convention* kConventions[] = {
      // clang-format off: a line each
      &kMacs,
      &kThop,
      &kFvcore,
      &kFvcoreTorch1,
      &kPtflops,
      &kPtflopsAten,
      &kCalflops,
      &kDeepSpeed,
      &kTorchstat,
      &kFlopCounterMode,
      &kFlopCounterModeCpu,
      &kTorchProfiler,
      &kOnnxTool,
      &kOnnxOpcounter,
      &kOnnxsim,
      &kXla,
      &kConfig6n,
      &kConfig25n,
      // clang-format on
  };
  return kConventions;
}

const Convention* FindConvention(absl::string_view name) {
  for (const Convention* convention : Conventions()) {
    if (convention->name == name) return convention;
  }
  return nullptr;
}

}  // namespace onnxflops
