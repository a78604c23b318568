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

// Samples of a run, which are counted one by one: what is padding, or attention between samples, is
// left out.
struct Samples {
  // The sizes of each sample by symbol, in lists of one length: those of a sample stand at the same
  // place. The symbol "" is the only length that the model's inputs leave open.
  absl::btree_map<std::string, std::vector<int64_t>> sizes;
  // Heights and widths of each sample's image, for the sizes that the input of images leaves open.
  std::vector<std::pair<int64_t, int64_t>> images;
  enum class Layout : uint8_t {
    kRows,    // a row each, padded to the longest
    kPacked,  // in one row, and attention knows where each begins (cu_seqlens)
    kOneRow,  // in one row that attention takes as one sequence: nothing is left out
  };
  Layout layout = Layout::kRows;
};

// Adds sizes from a text: "512,300,17", with commas, spaces, line ends or brackets between them;
// "seq=512,300"; or a table whose first line has the symbols: "source,target\n512,300\n17,20".
// Errors: InvalidArgument with the place, OutOfRange for too many.
absl::Status AddLengths(absl::string_view text, Samples* samples);
// The same from where each sample begins, and where the last one ends: "0,512,812,829". Samples of
// no tokens, as fill such a list up, are none. The samples are packed.
absl::Status AddCuSeqlens(absl::string_view text, Samples* samples);
// "336x336,672x448": heights and widths.
absl::Status AddImages(absl::string_view text, Samples* samples);

// The samples by the model's symbols. `dims`: sizes that are bound; the number of samples is taken
// out of them. Errors: InvalidArgument for lists of different lengths, lengths below 1 or above the
// model's positions, and what --dim sets otherwise; FailedPrecondition where the model has no such
// open size, or a fixed batch.
absl::StatusOr<SampleSizes> FindSamples(const ModelData& model, const Samples& samples,
                                        Bindings* dims);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SAMPLES_H_
