// Losses, by their function bodies.
#ifndef ONNXFLOPS_TESTS_ORACLE_LOSS_H_
#define ONNXFLOPS_TESTS_ORACLE_LOSS_H_

#include <cstddef>
#include <string>

#include "tests/oracle/softmax.h"

namespace onnxflops::oracle {

struct Loss {
  Sizes scores;  // [N,C,d...]
  bool weights = false;
  bool ignore_index = false;
  std::string reduction = "mean";
};

// Scores are log-probabilities. An ignored label is found by comparing integers; its weight is
// zero, so that even without weights every place has one.
inline Outputs NegativeLogLikelihood(const Loss& loss) {
  const Sizes& x = loss.scores;
  const Sizes places = Concat({x[0]}, Slice(x, 2, x.size()));
  const bool weighted = loss.weights || loss.ignore_index;
  Row losses, weights;
  ForEach(places, [&](const Sizes&) {
    if (loss.ignore_index) {
      const OnIntegers integers;
      (void)(Counted(3) < 4);  // label == ignore_index
    }
    losses.push_back(weighted ? Counted(0.5) * 0.5 : Counted(0.5));
    weights.push_back(0.5);
  });
  if (loss.reduction == "none") return OneOutput(places);
  const Counted sum = SumOf(losses);
  if (loss.reduction == "mean") sum / (weighted ? SumOf(weights) : losses.size());
  return OneOutput({});
}

inline Outputs SoftmaxCrossEntropy(const Loss& loss, bool log_prob) {
  const Sizes& x = loss.scores;
  const int64_t rows = Tensor::Count(x) / x[1];
  for (int64_t i = 0; i < rows; ++i) LogSoftmax(Row(static_cast<size_t>(x[1]), 0.5));
  const Outputs outputs = NegativeLogLikelihood(loss);
  if (!log_prob) return outputs;
  return std::vector<Sizes>{outputs->front(), x};
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_LOSS_H_
