// What a batch of samples takes where nothing is left out: rows padded to the longest, or one row
// without a mask between the samples.
#ifndef ONNXFLOPS_SRC_REPORT_PADDED_BATCH_H_
#define ONNXFLOPS_SRC_REPORT_PADDED_BATCH_H_

#include <cstdint>
#include <optional>

#include "src/report/report.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/sample_sum.h"

namespace onnxflops::report {

// A sample with text and images in one sequence is padded with text, to the most tokens of both;
// its images run as they are. All other sizes are padded to the largest, each by itself.
class PaddedBatch {
 public:
  // `report`: before it is summed.
  PaddedBatch(const SampleSum& sum, const Report& report);

  Expr Of(const Expr& formula) const;
  // The sizes of all samples; without a joint sequence also those of text and images.
  const Bindings& sizes() const { return sizes_; }
  // The tokens of a row of text and images.
  std::optional<int64_t> tokens() const { return tokens_; }
  // False of a packed row beside images or audio, which are apart, and if tokens are not known.
  bool is_known() const { return is_known_; }

 private:
  void PadSequences(const SampleSizes& sizes, size_t text, const Expr& image_tokens);

  Bindings sizes_;
  std::optional<SampleSum> padded_;
  std::optional<int64_t> tokens_;
  bool is_known_ = true;
};

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_PADDED_BATCH_H_
