// The tower of Gemma 3n's sound.
#ifndef ONNXFLOPS_SRC_FAMILY_GEMMA3N_AUDIO_H_
#define ONNXFLOPS_SRC_FAMILY_GEMMA3N_AUDIO_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/family/config.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

struct Gemma3nAudio {
  int64_t hidden = 0, layers = 0, heads = 0, kernel = 0, mels = 0;
  int64_t chunk = 0, past = 0, future = 0;  // of attention: frames of a chunk, and around it
  int64_t reduction = 0;
  // Of two convolutions, over time and frequency.
  std::vector<int64_t> channels;
  std::vector<std::pair<int64_t, int64_t>> kernels, strides;
  // Frames that make one of the tower, and one token.
  int64_t Stride() const { return strides[0].first * strides[1].first; }
  int64_t FramesOfToken() const { return Stride() * reduction; }
};
Gemma3nAudio ReadGemma3nAudio(const Config& config);

// Of frames [clips, frames, mels], of which `heard` says what is sound.
struct Gemma3nHeard {
  Tensor tokens;   // [clips, n, hidden]
  Tensor silence;  // [clips, n]: true where there is padding
};
// `any`: 1, or 0 if there is no clip, as a list of one number.
Gemma3nHeard BuildGemma3nAudio(GraphBuilder* b, const Tensor& frames, const Tensor& heard,
                               const Tensor& any, const Gemma3nAudio& shape);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_GEMMA3N_AUDIO_H_
