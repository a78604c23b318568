// Layers of decoders that have a state in the place of attention: gated delta nets (Qwen3-Next,
// Qwen3.5, OLMo Hybrid), Kimi's delta attention, MiniMax's linear attention, and LFM2's short
// convolutions.
#ifndef ONNXFLOPS_SRC_FAMILY_STATE_LAYERS_H_
#define ONNXFLOPS_SRC_FAMILY_STATE_LAYERS_H_

#include "src/family/config.h"
#include "src/family/decoder.h"

namespace onnxflops::family {

// Each reads which layers have a state, and how they are made.
// `fused`: with two projections instead of four.
void ReadQwenDelta(const Config& config, bool fused, DecoderShape* s);
void ReadOlmoDelta(const Config& config, DecoderShape* s);
void ReadKimiDelta(const Config& config, DecoderShape* s);
// MiniMax's lightning attention: linear attention in blocks.
void ReadLightning(const Config& config, DecoderShape* s);
// Layers are listed; without a list all have attention.
void ReadShortConvs(const Config& config, DecoderShape* s);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_STATE_LAYERS_H_
