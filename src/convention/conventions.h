// Every convention that there is. A new one is a file, a line here and a line in conventions.cc.
//
// Of a tool whose figure changed, this is the newest version; NAME@VERSION finds the others:
//
//   RequireConvention("deepspeed@0.19.6")
#ifndef ONNXFLOPS_SRC_CONVENTION_CONVENTIONS_H_
#define ONNXFLOPS_SRC_CONVENTION_CONVENTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/convention/convention.h"

namespace onnxflops::convention {

extern const Convention kMacs;
extern const Convention kThop;
extern const Convention kFvcore;
extern const Convention kFvcoreTorch1;
extern const Convention kFvcoreActivations;
extern const Convention kMmengine;
extern const Convention kTorchprofile;
extern const Convention kTorchinfo;
extern const Convention kFlopCounterMode;
extern const Convention kFlopCounterModeCpu;
extern const Convention kOnnxOpcounter;
extern const Convention kOnnxTool;
extern const Convention kOnnxsim;
extern const Convention kXla;
extern const Convention kModelAnalyzer;
extern const Convention kConfig6n;
extern const Convention kConfig25n;
extern const Convention kPalm;
extern const Convention kMegatron;
extern const Convention kNanoGpt;
extern const Convention kChinchilla;
extern const Convention kLlmFoundry;
extern const Convention kTorchtitan;
extern const Convention kMaxText;
extern const Convention kMegatronBridge;
extern const Convention kMegatronBridgeVision;
extern const Convention kConfigClip;
extern const Convention kTorchProfiler;
extern const Convention kPtflops;
extern const Convention kPtflopsAten;
extern const Convention kCalflops;
extern const Convention kDeepSpeed;
extern const Convention kTorchstat;
extern const Convention kPytorchcv;
extern const Convention kPycls;
extern const Convention kPyclsActivations;

// In the order in which they are shown. Each tool is there once, in its newest version.
absl::Span<const Convention* const> Conventions();
// Those that count activations, and all of both.
absl::Span<const Convention* const> ActivationConventions();
std::vector<const Convention*> AllConventions();
std::vector<std::string> ConventionNames();  // of all
// Finds NAME or NAME@VERSION; nullptr if there is none.
const Convention* FindConvention(absl::string_view name);
// NotFound instead of nullptr, with similar names, or the names or versions that there are.
absl::StatusOr<const Convention*> RequireConvention(absl::string_view name);

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_CONVENTIONS_H_
