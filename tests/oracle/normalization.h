// Normalisations, by rows of K elements where they can be.
#ifndef ONNXFLOPS_TESTS_ORACLE_NORMALIZATION_H_
#define ONNXFLOPS_TESTS_ORACLE_NORMALIZATION_H_

#include <cstddef>

#include "tests/oracle/softmax.h"

namespace onnxflops::oracle {

// The mean and standard deviation of the function bodies: var = mean(x^2) - mean(x)^2.
struct Moments {
  Counted mean, deviation;
};
inline Moments MomentsOf(const Row& x) {
  const Counted mean = MeanOf(x);
  const Counted variance = MeanOf(Squared(x)) - mean * mean;
  return {mean, Sqrt(variance + 1e-5)};
}

// One row of LayerNormalization, GroupNormalization and InstanceNormalization.
inline Counted NormaliseRow(const Row& x, bool scale, bool bias) {
  const auto [mean, deviation] = MomentsOf(x);
  for (Counted v : x) {
    Counted y = (v - mean) / deviation;
    if (scale) y = y * 0.5;
    if (bias) y += 0.25;
  }
  return deviation;
}

// Rows are all axes from `axis` on. Outputs: Y, and mean and inverse deviation where asked for.
inline Outputs LayerNormalization(const Sizes& x, int64_t axis, bool bias, int outputs) {
  const auto normalised = Normalised({axis}, x.size());
  if (!normalised.has_value()) return NoOutput();
  const auto at = static_cast<size_t>(*normalised->begin());
  const int64_t k = Tensor::Count(Slice(x, at, x.size()));
  const int64_t rows = Tensor::Count(Slice(x, 0, at));
  for (int64_t i = 0; i < rows; ++i) {
    const Counted deviation = NormaliseRow(Row(static_cast<size_t>(k), 0.5), true, bias);
    if (outputs > 2) 1.0 / deviation;
  }
  Sizes reduced = x;
  for (size_t i = at; i < x.size(); ++i) reduced[i] = 1;
  std::vector<Sizes> dims(static_cast<size_t>(outputs), reduced);
  dims[0] = x;
  return dims;
}

inline Outputs GroupNormalization(const Sizes& x, int64_t groups) {
  if (x[1] % groups != 0) return NoOutput();
  const int64_t k = Tensor::Count(x) / (x[0] * groups);
  for (int64_t i = 0; i < x[0] * groups; ++i) {
    NormaliseRow(Row(static_cast<size_t>(k), 0.5), true, true);
  }
  return OneOutput(x);
}

inline Outputs RmsNormalization(const Sizes& x, int64_t axis) {
  const auto normalised = Normalised({axis}, x.size());
  if (!normalised.has_value()) return NoOutput();
  const auto at = static_cast<size_t>(*normalised->begin());
  const int64_t k = Tensor::Count(Slice(x, at, x.size()));
  const int64_t rows = Tensor::Count(Slice(x, 0, at));
  for (int64_t i = 0; i < rows; ++i) {
    const Row row(static_cast<size_t>(k), 0.5);
    const Counted rms = Sqrt(MeanOf(Squared(row)) + 1e-5);
    for (Counted v : row) v / rms * 0.5;
  }
  return OneOutput(x);
}

// The function body, which squares with Pow.
inline Outputs MeanVarianceNormalization(const Sizes& x, const Sizes& axes) {
  const auto squares = [](Row row) {
    for (Counted& v : row) v = Pow(v, 2.0);
    return row;
  };
  const auto row = [](const Row& values) { return values.front(); };
  const auto dims = Reduce(row, x, axes, true);
  if (!dims.has_value()) return NoOutput();
  const int64_t rows = Tensor::Count(dims->front());
  for (int64_t i = 0; i < rows; ++i) {
    const Row values(static_cast<size_t>(Tensor::Count(x) / rows), 0.5);
    const Counted mean = MeanOf(values);
    const Counted variance = MeanOf(squares(values)) - Pow(mean, 2.0);
    const Counted deviation = Sqrt(variance) + 1e-9;
    for (Counted v : values) (v - mean) / deviation;
  }
  return OneOutput(x);
}

inline Outputs LpNormalization(const Sizes& x, int64_t axis, int64_t p) {
  const auto normalised = Normalised({axis}, x.size());
  if (!normalised.has_value()) return NoOutput();
  const int64_t k = x[static_cast<size_t>(*normalised->begin())];
  for (int64_t i = 0; i < Tensor::Count(x) / k; ++i) {
    const Row row(static_cast<size_t>(k), 0.5);
    const Counted norm = p == 1 ? SumOf(row) : Sqrt(SumOf(Squared(row)));
    for (Counted v : row) v / norm;
  }
  return OneOutput(x);
}

// The window of channels is cut at the first and the last one.
inline Outputs Lrn(const Sizes& x, int64_t size) {
  const int64_t below = FloorDiv(size - 1, 2), above = CeilDiv(size - 1, 2);
  ForEach(x, [&](const Sizes& index) {
    Counted sum = 0;
    const int64_t begin = std::max<int64_t>(0, index[1] - below);
    const int64_t end = std::min(x[1] - 1, index[1] + above);
    for (int64_t c = begin; c <= end; ++c) sum += Counted(0.5) * 0.5;
    Counted(0.5) / Pow(1.0 + 0.0001 * sum, 0.75);
  });
  return OneOutput(x);
}

// x [N,C,...]. In training, moments of the batch by channel, and running ones.
inline Outputs BatchNormalization(const Sizes& x, bool training) {
  const int64_t channels = x.size() > 1 ? x[1] : 1;
  const Row values(static_cast<size_t>(Tensor::Count(x) / channels), 0.5);
  for (int64_t c = 0; c < channels; ++c) {
    Counted mean = 0.5, variance = 0.5;
    if (training) {
      mean = MeanOf(values);
      Row centred = values;
      for (Counted& v : centred) v = v - mean;
      variance = MeanOf(Squared(centred));
      Counted(0.5) * 0.9 + mean * 0.1;
      Counted(0.5) * 0.9 + variance * 0.1;
    }
    const Counted deviation = Sqrt(variance + 1e-5);
    for (Counted v : values) (v - mean) / deviation * 0.5 + 0.25;
  }
  std::vector<Sizes> dims(training ? 3 : 1, Sizes{channels});
  dims[0] = x;
  return dims;
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_NORMALIZATION_H_
