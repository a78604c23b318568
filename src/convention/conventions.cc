#include "src/convention/conventions.h"

namespace onnxflops {

absl::Span<const Convention* const> Conventions() {
  static constexpr const Convention* kConventions[] = {
      &kMacs,  // a line each
      &kThop,     &kFvcore,        &kFvcoreTorch1, &kFlopCounterMode, &kFlopCounterModeCpu,
      &kOnnxTool, &kOnnxOpcounter, &kOnnxsim,
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
