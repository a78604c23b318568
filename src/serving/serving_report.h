// Steps of serving a decoder, side by side: what a prompt costs, and what each further token costs.
#ifndef ONNXFLOPS_SRC_SERVING_SERVING_REPORT_H_
#define ONNXFLOPS_SRC_SERVING_SERVING_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/render/document.h"
#include "src/report/report.h"
#include "src/report/view_options.h"

namespace onnxflops {

struct ServingColumn {
  std::string name;  // "prefill", "decode"
  int64_t tokens = 0, past = 0;
  bool of_configuration = false;  // counted on a graph of its own, which the configuration makes
  Bindings bindings;              // that the step sets
  Totals totals;
  std::optional<Expr> cache_bytes;  // keys and values in the cache after the step
  std::string causal;  // how attention with a causal mask is counted; "" of one token, or if none
};

struct ServingReport {
  ModelInfo model;
  Bindings bindings;  // that the user gave
  Bindings at;        // sizes of open symbols at which people's formats show figures
  std::string token_input, use_cache;
  std::optional<Expr> cache_bytes_per_token;  // of all sequences of a batch
  std::vector<ServingColumn> columns;
};

std::string ToJson(const ServingReport& report);  // "onnxflops.serving/1"
std::string ToCsv(const ServingReport& report);
Document ToDocument(const ServingReport& report, const ViewOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SERVING_SERVING_REPORT_H_
