// The batch that ran: samples of different sizes, in rows that are padded or one after the other.
#ifndef ONNXFLOPS_SRC_API_SAMPLES_H_
#define ONNXFLOPS_SRC_API_SAMPLES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/graph/model.h"
#include "src/symbolic/sample_sum.h"

namespace onnxflops {

// The samples of a run, counted one by one, so that padding and attention between samples do not
// count.
struct Samples {
  // The sizes of each sample, by symbol. All lists have one length; entry i belongs to sample i.
  // The symbol "" is the only open length of the model's inputs.
  absl::btree_map<std::string, std::vector<int64_t>> sizes;
  // Heights and widths of each sample's image, for the sizes that the input of images leaves open.
  std::vector<std::pair<int64_t, int64_t>> images;
  // The length of each sample's audio: in frames, or in microseconds if `frames` is 0.
  struct Audio {
    static constexpr int64_t kMicroseconds = 1'000'000;  // of a second
    int64_t frames = 0, microseconds = 0;
  };
  std::vector<Audio> audio;
  // Where a list was read, for errors that are found later: a sample beyond the model's positions.
  struct Origin {
    std::string file;            // "--lengths 'sizes.txt'"
    std::vector<int64_t> lines;  // of the file, by sample; empty if it is one line
    int64_t header = 0;          // the line of names; 0 without one
  };
  // By symbol, as in `sizes`; kImages and kAudio for the others. A list that was typed has none.
  absl::btree_map<std::string, Origin> origins;
  static constexpr char kImages[] = " images";
  static constexpr char kAudio[] = " audio";
  std::string file;  // of the list that is added next, as in Origin; "" for a typed one
  enum class Layout : uint8_t {
    kRows,    // a row each, padded to the longest
    kPacked,  // in one row, and attention knows where each begins (cu_seqlens)
    kOneRow,  // in one row that attention takes as one sequence: nothing is left out
  };
  Layout layout = Layout::kRows;
  // The lengths are of all tokens of a sample, those of its image, too: where each begins in a row.
  bool with_images = false;
};

// Adds sizes from a text: "512,300,17", with commas, spaces, line ends or brackets between them;
// "seq=512,300"; or a table whose first line has the symbols: "source,target\n512,300\n17,20".
// Errors: InvalidArgument with the place, OutOfRange for too many.
absl::Status AddLengths(absl::string_view text, Samples* samples);
// Reads the start of each sample and the end of the last one: "0,512,812,829". Empty samples, which
// pad such a list, are skipped. The samples are packed; the tokens of their images are in the row.
absl::Status AddCuSeqlens(absl::string_view text, Samples* samples);
// "336x336,672x448": heights and widths. A first line of names, "height,width", may stand before
// the lines.
absl::Status AddImages(absl::string_view text, Samples* samples);
// Sizes of grid_t, grid_h and grid_w, the patches of each sample's image or clip:
// "1x32x46,1x20x20" are frames, and patches down and across; also "[[1, 32, 46], [1, 20, 20]]", or
// a line of three numbers for each image, below names, "t,h,w", if there are any.
absl::Status AddGridThw(absl::string_view text, Samples* samples);

// The length of each sample's audio: "1250,3000,4700" are frames, "12.5s,30s,47s" seconds.
absl::Status AddAudio(absl::string_view text, Samples* samples);

// False for a model with inputs of images or audio.
bool TakesTextAlone(const ModelData& model);

// The samples by the model's symbols. If the model takes audio in chunks, each chunk is a sample,
// with lengths of its own. `dims`: bound sizes; the number of samples is removed from
// them. Errors: InvalidArgument for lists of different lengths, lengths below 1 or above the
// model's positions, and sizes that contradict --dim; FailedPrecondition if the model has no such
// open size, or fixes the batch.
absl::StatusOr<SampleSizes> FindSamples(const ModelData& model, const Samples& samples,
                                        Bindings* dims);

// Where the sample of a row is listed: "--lengths 'sizes.txt': line 4: sample 3: ", or "sample 3: "
// of a typed list; "" if it has no list of its own.
std::string PlaceOfRow(const Samples& samples, const SampleSizes& sizes, size_t row);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SAMPLES_H_
