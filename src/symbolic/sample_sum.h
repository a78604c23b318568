// Sums formulas over the samples of a batch, whose sizes may differ.
//
//   SampleSum sum({.count = "batch", .symbols = {"seq"}, .rows = {{{512}, 1}, {{300}, 2}}});
//   sum.Of(batch * seq * seq)   // 512^2 + 2 * 300^2
//   sum.Of(seq * seq)           // 512^2: once in a run, at the largest size
//
//   linear in `count`      done sample by sample, so it is summed
//   floor((5*batch*seq^2 + 5*batch*seq)/2)   the same: it comes out even whatever the sizes are
//   without `count`        done once in a run, at the largest sizes. Of images with a grid of
//                          patches (grid_t, grid_h, grid_w), which are never padded to each
//                          other, these are the sizes of the largest image; of text and images
//                          in one sequence, of the longest row
//   any other term         mixes samples: evaluated for a batch in which all samples have the
//                          largest sizes, which is what runs
//   min(1, batch*seq - 1)  only tells whether there is more than one: its value for this batch
//   other minima, maxima   over the whole batch, such as min(8, 2*batch*seq) experts that tokens
//                          reach, or max(2*batch*seq, 3*batch*seq^2), the time of a kernel:
//                          taken of the sums
#ifndef ONNXFLOPS_SRC_SYMBOLIC_SAMPLE_SUM_H_
#define ONNXFLOPS_SRC_SYMBOLIC_SAMPLE_SUM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "src/base/limits.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

namespace symbolic {
struct Term;
}  // namespace symbolic

struct SampleSizes {
  // The symbol of the number of samples in a run; "" if each sample is a separate run.
  std::string count;
  std::vector<std::string> symbols;  // of the sizes
  // Sizes of a sample, in the order of the symbols, and how many samples have them.
  struct Row {
    std::vector<int64_t> sizes;
    int64_t samples = 1;
  };
  std::vector<Row> rows;  // SetRows() merges equal ones
  // The samples follow each other in one row. Work done once in a run is then done for each of
  // them, as far as it depends on their sizes.
  bool packed = false;
  // Samples that were cut into chunks of one size, each padded to it: a row is then a chunk.
  struct Chunks {
    std::string symbol;
    int64_t samples = 0;     // before they were cut
    int64_t per_second = 0;  // of the symbol
    absl::int128 sum = 0;    // of their sizes
    std::vector<Row> rows;   // the chunks without their padding
  };
  std::optional<Chunks> chunks;
  // Text and images in one sequence. Rows are padded with text, to the tokens of the longest; their
  // images run as they are.
  struct Joint {
    size_t text = 0;                 // of `symbols`
    int64_t tokens = 0;              // of the longest row
    std::vector<int64_t> of_images;  // by row
    Bindings largest;  // the image with the most tokens, and the text of its padded row
  };
  std::optional<Joint> joint;
  bool has_rectangle = true;  // false if the padding of rows is not known

  // From the sizes of all samples, a list for each symbol. REQUIRES: lists of equal length.
  void SetRows(const std::vector<std::vector<int64_t>>& columns) { rows = RowsOf(columns); }
  static std::vector<Row> RowsOf(const std::vector<std::vector<int64_t>>& columns);
  // The value of a formula in each row. An error if it has other symbols, or a value is below 0 or
  // too large to add a size to it.
  absl::StatusOr<std::vector<int64_t>> ByRow(const Expr& formula) const;
  // Sets `joint`. `image_sizes` may have other symbols as well.
  void Join(size_t text, const std::vector<std::string>& image_sizes,
            std::vector<int64_t> of_images);

  int64_t samples() const;
  // The sum, the least and the largest of a symbol's sizes. REQUIRES: there are rows.
  absl::int128 SumOf(size_t symbol) const;
  int64_t LeastOf(size_t symbol) const;
  int64_t LargestOf(size_t symbol) const;
  // The sizes of the image with the most patches; empty without grids.
  Bindings LargestGrid() const;
  // The sizes of a run in which all samples have the largest sizes, or of one row with all samples.
  // Of joint rows: all have the largest image, and as many tokens as the longest row.
  Bindings Rectangle() const;
};

// Not thread-safe. Sums of powers and of formulas are cached, so equal parts cost nothing more.
class SampleSum {
 public:
  // REQUIRES: sizes within the symbols' ranges, each row with one for each symbol.
  explicit SampleSum(SampleSizes sizes);

  // The sum over the samples. Symbols other than those of `sizes` stay. An Expr with an error if it
  // overflows, or if it has more divisions of sizes and different samples than
  // kMaxSampleEvaluations allows.
  Expr Of(const Expr& formula) const;
  // With the padding of rows, or of one row without a mask between the samples.
  Expr Padded(const Expr& formula) const;
  // The sum over runs of one sample each, including the work done once in each run.
  Expr OneByOne(const Expr& formula) const;
  // True if a part of it is neither done sample by sample nor once in a run.
  bool Mixes(const Expr& formula) const;
  // The part that is done once in a run of padded samples, and depends on their sizes.
  Expr OnceOfSizes(const Expr& formula) const;

  // Of the sum, what chunks take beyond their own sizes; 0 without chunks.
  Expr PaddingOfChunks(const Expr& formula) const;

  const SampleSizes& sizes() const { return sizes_; }

 private:
  enum class Part : uint8_t { kOnce, kEach, kMixed };
  struct Split;
  Split SplitOf(const Expr& formula) const;
  Expr WithoutSwitches(const Expr& formula) const;
  Expr WithoutEvenDivisions(const Expr& formula) const;
  Expr MixedOf(const Expr& mixed) const;
  Expr SumOverRows(const Expr& formula) const;
  Expr SumByExpressions(const Expr& each) const;
  // Of the sizes, and then of the columns.
  Expr SumOfPowers(const std::vector<int>& powers) const;
  size_t ColumnOf(const Expr& atom, const std::vector<Expr>& operands) const;
  bool IsOfSizes(const Expr& atom) const;
  bool TakePowers(const symbolic::Term& term, symbolic::Term* rest, std::vector<int>* powers) const;

  SampleSizes sizes_;
  Bindings least_, largest_, rectangle_;  // the number of samples included
  mutable absl::flat_hash_map<Expr, Expr> known_, known_rows_;
  mutable absl::flat_hash_map<std::vector<int>, Expr> powers_;
  // The values of a division, minimum or maximum of sizes, by row.
  struct Column {
    std::vector<int64_t> values;
    const char* error = nullptr;
  };
  mutable std::vector<Column> columns_;
  mutable absl::flat_hash_map<Expr, size_t> column_of_;
  mutable int64_t evaluations_left_ = kMaxSampleEvaluations;
  mutable std::shared_ptr<const SampleSum> padded_;  // of joint rows
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_SAMPLE_SUM_H_
