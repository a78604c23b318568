#include "src/convention/conventions.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/quote.h"

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

absl::StatusOr<const Convention*> RequireConvention(absl::string_view name) {
  const Convention* convention = FindConvention(name);
  if (convention != nullptr) return convention;
  return absl::NotFoundError(absl::StrCat(
      "no convention is named ", Quoted(name), "; there are ",
      absl::StrJoin(Conventions(), ", ",
                    [](std::string* out, const Convention* c) { out->append(c->name); })));
}

}  // namespace onnxflops
