// Bytes that one step of serving moves and holds, which a count alone does not give.
#ifndef ONNXFLOPS_SRC_API_SERVING_STEP_H_
#define ONNXFLOPS_SRC_API_SERVING_STEP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/api/analysis.h"
#include "src/api/count.h"
#include "src/memory/kv_cache.h"
#include "src/report/report.h"
#include "src/serving/serving_report.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/sample_sum.h"

namespace onnxflops {

// A layer whose tokens go to some of its experts.
struct ExpertLayer {
  int64_t experts = 0, routed = 0;
  Expr tokens;
  Expr bytes_of_one, narrow_bytes_of_one;  // as stored; in the narrower of that and the precision
};

class ServingStepMaker {
 public:
  // `counted`: the result of Count with the same options.
  ServingStepMaker(const SampledAnalysis& analysis, const CountOptions& options,
                   const Decoder& decoder, const Report& counted);

  // Fills in other traffic and, if `counted` is for a device, time. `experts`: as in
  // ServingRequest. `expected`: without that list, use the average number under an even routing.
  // Corrects the bytes read in the totals. REQUIRES: AddCache.
  absl::Status AddTraffic(const std::vector<int64_t>& experts, bool expected,
                          ServingColumn* column) const;
  // Fills in the memory. REQUIRES: CountOptions::memory; AddCache.
  absl::Status AddMemory(ServingColumn* column) const;
  // Fills in the cache. `kept`: tokens per request in the cache after the step; `past`: before it.
  // `writes_fixed`: the step makes what does not grow, such as the keys and values of an encoder.
  void AddCache(const Expr& kept, const Expr& past, bool writes_fixed, ServingColumn* column) const;

 private:
  // The bytes that grow, with this many tokens per request, summed over the requests.
  std::optional<Expr> CacheOf(const Expr& tokens) const;
  Expr Summed(const Expr& amount) const;
  absl::StatusOr<Expr> ExpertsRead(const std::vector<int64_t>& list, bool expected, bool narrow,
                                   ServingColumn* column) const;

  const SampledAnalysis& analysis_;
  const CountOptions& options_;
  const Decoder& decoder_;
  const Report& counted_;
  std::optional<SampleSum> sum_;
  std::vector<ExpertLayer> layers_;
};

// The expected number of experts that `tokens` tokens reach if each goes to `routed` of `experts`
// with equal probability: experts * (1 - (1 - routed / experts)^tokens), in 2^-32.
absl::int128 ExpectedExperts(int64_t experts, int64_t routed, int64_t tokens);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SERVING_STEP_H_
