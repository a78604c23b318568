#include "src/convention/conventions.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/quote.h"
#include "src/base/similar.h"

namespace onnxflops::convention {

absl::Span<const Convention* const> Conventions() {
  static constexpr const Convention* kConventions[] = {
      // clang-format off: a line each
      &kMacs,
      &kThop,
      &kFvcore,
      &kFvcoreTorch1,
      &kMmengine,
      &kTorchprofile,
      &kTorchinfo,
      &kPtflops,
      &kPtflopsAten,
      &kCalflops,
      &kDeepSpeed,
      &kTorchstat,
      &kPytorchcv,
      &kPycls,
      &kFlopCounterMode,
      &kFlopCounterModeCpu,
      &kTorchProfiler,
      &kOnnxTool,
      &kOnnxOpcounter,
      &kOnnxsim,
      &kXla,
      &kModelAnalyzer,
      &kConfig6n,
      &kConfig25n,
      &kPalm,
      &kMegatron,
      &kNanoGpt,
      &kChinchilla,
      &kLlmFoundry,
      &kTorchtitan,
      &kMaxText,
      &kMegatronBridge,
      &kMegatronBridgeVision,
      &kConfigClip,
      // clang-format on
  };
  return kConventions;
}

absl::Span<const Convention* const> ActivationConventions() {
  static constexpr const Convention* kConventions[] = {&kFvcoreActivations, &kPyclsActivations};
  return kConventions;
}

std::vector<const Convention*> AllConventions() {
  std::vector<const Convention*> all(Conventions().begin(), Conventions().end());
  all.insert(all.end(), ActivationConventions().begin(), ActivationConventions().end());
  return all;
}

namespace {

constexpr absl::string_view kConfigPrefix = "config-";

const Convention* FindTool(absl::string_view name) {
  for (const Convention* convention : AllConventions()) {
    if (convention->name == name) return convention;
  }
  // Formulas also have the short names of `mfu`: "6n" is config-6n.
  if (absl::StartsWith(name, kConfigPrefix)) return nullptr;
  return FindTool(absl::StrCat(kConfigPrefix, name));
}

const Convention* FindVersion(const Convention& tool, absl::string_view version) {
  for (const Convention* convention : tool.versions) {
    if (convention->version == version) return convention;
  }
  return nullptr;
}

// "thop" -> "thop" and "", "deepspeed@0.19.6" -> "deepspeed" and "@0.19.6".
std::pair<absl::string_view, absl::string_view> SplitVersion(absl::string_view name) {
  const size_t at = std::min(name.find('@'), name.size());
  return {name.substr(0, at), name.substr(at)};
}

absl::Status NoVersion(const Convention& tool, absl::string_view name) {
  if (tool.versions.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no convention is named ", Quoted(name), "; ", tool.name, " has no versions"));
  }
  const auto append = [&](std::string* out, const Convention* version) {
    absl::StrAppend(out, tool.name, "@", version->version);
  };
  return absl::NotFoundError(absl::StrCat("no convention is named ", Quoted(name), "; there are ",
                                          absl::StrJoin(tool.versions, ", ", append)));
}

}  // namespace

const Convention* FindConvention(absl::string_view name) {
  const auto [plain, version] = SplitVersion(name);
  const Convention* tool = FindTool(plain);
  if (tool == nullptr || version.empty()) return tool;
  return FindVersion(*tool, version.substr(1));
}

absl::StatusOr<const Convention*> RequireConvention(absl::string_view name) {
  const Convention* convention = FindConvention(name);
  if (convention != nullptr) return convention;
  const Convention* tool = FindTool(SplitVersion(name).first);
  if (tool != nullptr) return NoVersion(*tool, name);
  const std::vector<std::string> names = ConventionNames();
  const std::string similar = DidYouMean(name, names);
  return absl::NotFoundError(absl::StrCat(
      "no convention is named ", Quoted(name),
      similar.empty() ? absl::StrCat("; there are ", absl::StrJoin(names, ", ")) : similar));
}

std::vector<std::string> ConventionNames() {
  std::vector<std::string> names;
  for (const Convention* convention : AllConventions()) names.emplace_back(convention->name);
  return names;
}

}  // namespace onnxflops::convention
