// com.microsoft: parts of models that are compiled for one device: without a public meaning.
#include "ops/families.h"
#include "ops/versions.h"

namespace onnxflops {

namespace {

constexpr OpExample kEpContextExamples[] = {
    {"g (float[N] X) => (float[N] Y) { Y = com.microsoft.EPContext(X) }", ""},
};

constexpr OpExample kSnpeExamples[] = {
    {"g (float[N] X) => (float[N] Y) { Y = com.microsoft.Snpe<DLC = \"x\">(X) }", ""},
};

constexpr OpDef kMsCompiledRows[] = {
    {.name = "EPContext",
     .versions = kSince1,
     .formula = "a part of a model, compiled for one execution provider",
     .infer = nullptr,
     .examples = kEpContextExamples,
     .traits = Traits::kUnknown,
     .note = "what it computes is inside of a binary for one execution provider"},
    {.name = "Snpe",
     .versions = kSince1,
     .formula = "a part of a model, compiled for SNPE",
     .infer = nullptr,
     .examples = kSnpeExamples,
     .traits = Traits::kUnknown,
     .note = "what it computes is inside of a binary for SNPE"},
};

}  // namespace

constinit const OpFamily kMsCompiledFamily = {"com.microsoft", kMsCompiledRows};

}  // namespace onnxflops
