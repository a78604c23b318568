#include "src/monitor/audio_work.h"

#include "absl/status/status.h"
#include "fmt/format.h"
#include "src/base/limits.h"

namespace onnxflops {

absl::StatusOr<AudioRows> RowsOfAudio(const AudioWork& work,
                                      const std::vector<AudioLength>& samples) {
  constexpr absl::int128 kMicrosecondsPerSecond = 1'000'000;
  if (work.symbol.empty()) {
    return absl::FailedPreconditionError("audio: the model has no open length of audio");
  }
  AudioRows rows;
  for (size_t i = 0; i < samples.size(); ++i) {
    absl::int128 frames = samples[i].frames;
    if (frames == 0 && work.per_second == 0) {
      return absl::FailedPreconditionError(fmt::format(
          "audio: sample {} is in seconds, and the model does not tell how many frames a second "
          "has: log frames, which are whole numbers",
          i + 1));
    }
    // As many as the processor makes: an incomplete frame is left out.
    if (frames == 0) {
      const absl::int128 microseconds = samples[i].microseconds;
      frames = microseconds * work.per_second / kMicrosecondsPerSecond;
    }
    if (frames < 1 || frames > kMaxPromptTokens) {
      return absl::InvalidArgumentError(
          fmt::format("audio: sample {} should have from 1 to {} frames", i + 1, kMaxPromptTokens));
    }
    rows.sum += frames;
    const absl::int128 size = work.chunk > 0 ? work.chunk : frames;
    const absl::int128 count = (frames + size - 1) / size;
    if (count > absl::int128(kMaxSamples) - static_cast<int64_t>(rows.frames.size())) {
      return absl::InvalidArgumentError(
          fmt::format("audio: a step has more than {} chunks", kMaxSamples));
    }
    rows.frames.insert(rows.frames.end(), static_cast<size_t>(count), static_cast<int64_t>(size));
  }
  return rows;
}

}  // namespace onnxflops
