// The rows that the audio of a step makes.
//
// A model takes audio of any length, or in chunks of one size: then each chunk is a row, and the
// model computes on its padding as on sound.
#ifndef ONNXFLOPS_SRC_MONITOR_AUDIO_WORK_H_
#define ONNXFLOPS_SRC_MONITOR_AUDIO_WORK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"

namespace onnxflops {

// The length of a sample's audio: in frames, or in microseconds if `frames` is 0.
struct AudioLength {
  int64_t frames = 0, microseconds = 0;
};

// How a model takes audio.
struct AudioWork {
  std::string symbol;      // the size that is a number of frames; "" if there is not one
  int64_t chunk = 0;       // frames of a chunk; 0: a sample is a row of any length
  int64_t per_second = 0;  // frames of a second; 0: not known
};

struct AudioRows {
  std::vector<int64_t> frames;  // that the model computes, in each row
  absl::int128 sum = 0;         // of the samples, without padding
};

// InvalidArgument or FailedPrecondition if the model does not take the audio.
absl::StatusOr<AudioRows> RowsOfAudio(const AudioWork& work,
                                      const std::vector<AudioLength>& samples);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MONITOR_AUDIO_WORK_H_
