#include "src/convention/conventions.h"

namespace onnxflops {

absl::Span<const Convention* const> Conventions() {
  static constexpr const Convention* kConventions[] = {
      &kMacs, &kThop, &kFvcore, &kFvcoreTorch1, &kFlopCounterMode, &kFlopCounterModeCpu,
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
