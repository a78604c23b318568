// Llama, as LLaVA has it inside.
#ifndef ONNXFLOPS_SRC_FAMILY_LLAMA_H_
#define ONNXFLOPS_SRC_FAMILY_LLAMA_H_

#include "src/family/config.h"
#include "src/family/decoder.h"

namespace onnxflops::family {

DecoderShape ReadLlama(const Config& config);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_LLAMA_H_
