// Prints the best rates of this machine, as a device for --devices-file: float32 arithmetic by
// multiply-adds in registers, and reading of an array larger than all caches. All threads, the best
// of some runs: an upper end, as a bound on time requires.
//   g++ -O3 -march=native -std=c++20 -pthread machine_peak.cc -o machine_peak
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

// As wide as a register, so that all accumulators stay in registers: spilled ones would measure
// less than the peak, and a bound made from it would be too high.
#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
constexpr int kAccumulators = 12, kRuns = 100;
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
struct Block {  // lets std::vector align the data
  Vector lanes;
};

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename Work>
double BestSeconds(unsigned threads, Work work) {
  double best = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    const double begin = Seconds();
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) all.emplace_back(work, t);
    for (std::thread& thread : all) thread.join();
    best = std::min(best, Seconds() - begin);
  }
  return best;
}

}  // namespace

int main() {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  constexpr int64_t kSteps = 20'000'000;
  volatile float sink = 0;
  const double compute = BestSeconds(threads, [&](unsigned) {
    Vector sums[kAccumulators] = {}, factor;
    for (int i = 0; i < kLanes; ++i) factor[i] = 0.999f;
    for (int64_t step = 0; step < kSteps; ++step) {
      for (Vector& sum : sums) sum = sum * factor + factor;
    }
    float total = 0;
    for (const Vector& sum : sums) total += sum[0];
    sink = total;
  });
  const double flops = 2.0 * kLanes * kAccumulators * static_cast<double>(kSteps) * threads;

  constexpr size_t kFloats = size_t{1} << 28;
  std::vector<Block> array(kFloats / kLanes, Block{Vector{} + 1.0f});
  const double reading = BestSeconds(threads, [&](unsigned t) {
    Vector sums[8] = {};
    const size_t n = array.size() / threads;
    for (size_t i = t * n; i + 8 <= (t + 1) * n; i += 8) {
      for (size_t k = 0; k < 8; ++k) sums[k] += array[i + k].lanes;
    }
    float total = 0;
    for (const Vector& sum : sums) total += sum[0];
    sink = total;
  });
  std::printf(
      "[[device]]\nname = \"here\"\nsource = \"measured by tools/bench/machine_peak.cc\"\n");
  std::printf("bytes_per_second = %.4e\npeaks = { fp32 = %.4e }\n",
              kFloats * sizeof(float) / reading, flops / compute);
}
