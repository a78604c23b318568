// com.microsoft: parts of models that are compiled for one device: without a public meaning.
#include "ops/families.h"

namespace onnxflops {

namespace {

constexpr OpDef kMsCompiledRows[] = {
    {.name = "EPContext",
     .formula = "a part of a model, compiled for one execution provider",
     .examples = {{"float[N] X -> float[N] Y", ""}},
     .traits = Traits::kUnknown,
     .note = "what it computes is inside of a binary for one execution provider"},
    {.name = "Snpe",
     .formula = "a part of a model, compiled for SNPE",
     .examples = {{"float[N] X -> float[N] Y <DLC = \"x\">", ""}},
     .traits = Traits::kUnknown,
     .note = "what it computes is inside of a binary for SNPE"},
};

}  // namespace

constinit const OpFamily kMsCompiledFamily = {"com.microsoft", kMsCompiledRows};

}  // namespace onnxflops
