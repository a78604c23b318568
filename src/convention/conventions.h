// Every convention that there is. A new one is a file, a line here and a line in conventions.cc.
#ifndef ONNXFLOPS_SRC_CONVENTION_CONVENTIONS_H_
#define ONNXFLOPS_SRC_CONVENTION_CONVENTIONS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/convention/convention.h"

namespace onnxflops {

extern const Convention kMacs;
extern const Convention kThop;
extern const Convention kFvcore;
extern const Convention kFvcoreTorch1;
extern const Convention kFlopCounterMode;
extern const Convention kFlopCounterModeCpu;
extern const Convention kOnnxOpcounter;
extern const Convention kOnnxTool;
extern const Convention kOnnxsim;
extern const Convention kXla;
extern const Convention kConfig6n;
extern const Convention kConfig25n;
extern const Convention kTorchProfiler;
extern const Convention kPtflops;
extern const Convention kPtflopsAten;
extern const Convention kCalflops;
extern const Convention kDeepSpeed;
extern const Convention kTorchstat;

// In the order in which they are shown.
absl::Span<const Convention* const> Conventions();
// nullptr if none has this name.
const Convention* FindConvention(absl::string_view name);
// NotFound, with the names that there are, instead of nullptr.
absl::StatusOr<const Convention*> RequireConvention(absl::string_view name);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CONVENTION_CONVENTIONS_H_
