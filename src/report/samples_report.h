// The samples that a report is summed over, and the cost of the same batch with padding:
// CountOptions::samples.
#ifndef ONNXFLOPS_SRC_REPORT_SAMPLES_REPORT_H_
#define ONNXFLOPS_SRC_REPORT_SAMPLES_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "src/render/text_table.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/sample_sum.h"

namespace onnxflops {

struct Report;

struct SamplesReport {
  std::string count;  // the symbol of the number of samples; "" if each is a separate run
  int64_t samples = 0;
  bool packed = false;  // one after the other in one row
  bool as_row = false;  // and the report's figures are those of the row as one sequence
  struct Size {
    std::string symbol;
    int64_t least = 0, largest = 0;
    absl::int128 sum = 0;
  };
  std::vector<Size> sizes;
  struct Work {
    Expr flops, macs, training_flops;
  };
  Expr flops;       // their sum, of the forward pass
  Expr once_flops;  // of these, work done once per run that depends on the sizes
  // All samples at the largest sizes; packed, one row without a mask between the samples.
  Bindings rectangle_sizes;
  // The tokens of each row, if text and images share a sequence: `rectangle` then has the images as
  // they are, and texts padded to as many tokens.
  std::optional<int64_t> row_tokens;
  Work rectangle;
  bool has_rectangle = true;  // false of a packed row beside images or audio, which are apart
  Work one_by_one;            // each sample in a separate run
  // What text, images and audio cost apart, if the samples have sizes of several of them. `sizes`
  // are the symbols. The rest is done by several together, such as attention of text to an image.
  struct Modality {
    const char* name = "";  // "text", "image", "audio", "together"
    std::vector<std::string> sizes;
    Work work;
  };
  std::vector<Modality> modalities;
  // Audio that was cut into padded chunks: a sample is then a chunk.
  struct Chunks {
    std::string symbol;
    int64_t samples = 0;               // before they were cut
    int64_t size = 0, per_second = 0;  // of a chunk, and of a second
    absl::int128 sum = 0;              // of the samples' sizes
    Work padding;                      // of the sum, what the padding of chunks takes
  };
  std::optional<Chunks> chunks;
  // Operators whose cost is not a sum over samples: they count as in the padded rectangle.
  std::vector<std::string> mixing;

  // The share of the rectangle's FLOPs that is padding, or attention between samples. Negative
  // where sizes are open.
  double Waste() const;
  double OnceShare() const;  // of once_flops; 0 where sizes are open
};

namespace report {

// "image" or "audio" by the beginning of an input's name; "" for others.
absl::string_view ModalityOfInput(absl::string_view name);

// Replaces all formulas of a report by their sums over the samples, and fills in Report::samples.
// REQUIRES: no memory and no other tool's figures. Times assume kernels that take all samples at
// once.
void SumOverSamples(const SampleSum& sum, Report* report);

// The summed samples, and the cost of the same batch with padding.
std::vector<std::string> SampleTexts(const SamplesReport& samples, bool lower_bound);
// The same as lines, "samples" before the first.
void AddSampleLines(const SamplesReport& samples, bool lower_bound,
                    std::vector<LabelledLine>* lines);

}  // namespace report
}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_SAMPLES_REPORT_H_
