// Sums of formulas over the samples of a batch, whose sizes may differ.
//
//   SampleSum sum({.count = "batch", .symbols = {"seq"}, .rows = {{{512}, 1}, {{300}, 2}}});
//   sum.Of(batch * seq * seq)   // 512^2 + 2 * 300^2
//   sum.Of(seq * seq)           // 512^2: once in a run, at the largest size
//
// A term that is linear in `count` is done sample by sample, and is summed. One without `count` is
// done once in a run. Any other mixes samples: it is that of a batch in which all samples have the
// largest sizes, which is what runs. A minimum such as min(1, batch*seq - 1), which only says
// whether there is more than one, is the number that it is in this batch. Another minimum or
// maximum of the batch as a whole is that of the sums: min(8, 2*batch*seq) experts that tokens
// reach, or max(2*batch*seq, 3*batch*seq^2), the time of a kernel.
#ifndef ONNXFLOPS_SRC_SYMBOLIC_SAMPLE_SUM_H_
#define ONNXFLOPS_SRC_SYMBOLIC_SAMPLE_SUM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "src/base/limits.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

struct SampleSizes {
  // The symbol of the number of samples in a run; "" where each sample is a run of its own.
  std::string count;
  std::vector<std::string> symbols;  // of the sizes
  // Sizes of a sample, in the order of the symbols, and how many samples have them.
  struct Row {
    std::vector<int64_t> sizes;
    int64_t samples = 1;
  };
  std::vector<Row> rows;  // SetRows() joins equal ones
  // The samples stand one after the other in one row. What is done once in a run is then done for
  // each of them, as far as it depends on their sizes.
  bool packed = false;

  // From the sizes of all samples, a list for each symbol. REQUIRES: lists of one length.
  void SetRows(const std::vector<std::vector<int64_t>>& columns);

  int64_t samples() const;
  // The sum, the least and the largest of a symbol's sizes. REQUIRES: there are rows.
  absl::int128 SumOf(size_t symbol) const;
  int64_t LeastOf(size_t symbol) const;
  int64_t LargestOf(size_t symbol) const;
  // The sizes of a run in which all samples have the largest sizes, or of one row of all samples.
  Bindings Rectangle() const;
};

// One thread at a time. Sums of powers and of formulas are kept, so equal parts cost nothing more.
class SampleSum {
 public:
  // REQUIRES: sizes within the symbols' ranges, each row with one for each symbol.
  explicit SampleSum(SampleSizes sizes);

  // What the samples take together. Symbols other than those of `sizes` stay. An Expr with an error
  // where it overflows, or has divisions of sizes and more different samples than
  // kMaxSampleEvaluations let it be evaluated for.
  Expr Of(const Expr& formula) const;
  // What a run of one sample takes, summed over the samples: with what is done once in a run.
  Expr OneByOne(const Expr& formula) const;
  // Whether a part of it is neither done sample by sample nor once in a run.
  bool Mixes(const Expr& formula) const;
  // The part that is done once in a run of padded samples, and depends on their sizes.
  Expr OnceOfSizes(const Expr& formula) const;

  const SampleSizes& sizes() const { return sizes_; }

 private:
  enum class Part : uint8_t { kOnce, kEach, kMixed };
  struct Split;
  Split SplitOf(const Expr& formula) const;
  Expr WithoutSwitches(const Expr& formula) const;
  Expr MixedOf(const Expr& mixed) const;
  Expr SumOverRows(const Expr& formula) const;
  Expr SumByEvaluation(const Expr& each) const;
  Expr SumOfPowers(const std::vector<int>& powers) const;

  SampleSizes sizes_;
  Bindings least_, largest_, rectangle_;  // the number of samples included
  mutable absl::flat_hash_map<Expr, Expr> known_, known_rows_;
  mutable absl::flat_hash_map<std::vector<int>, Expr> powers_;
  mutable int64_t evaluations_left_ = kMaxSampleEvaluations;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_SAMPLE_SUM_H_
