// Steps of serving a decoder, side by side: the cost of a prompt, of each further token, and of a
// step with many requests.
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

// Bytes that a step moves between memory and the processor if nothing is moved twice.
struct ServingTraffic {
  Expr weights;                       // that are read, once in a step
  std::optional<Expr> cache_read;     // keys and values of tokens before the step
  std::optional<Expr> cache_written;  // of its own tokens, and of the encoder that it runs
  std::optional<Expr> bytes;          // of all that, inputs and outputs, in the narrower of
                                      // their type and that of the device
  std::optional<Expr> held;           // least bytes of all weights and the cache after the
                                      // step, in these narrower types
  // Types of weights and the cache that are wider than that of the device: "float32".
  std::vector<std::string> narrowed;
  bool experts_expected = false;           // of experts, as many as an even routing reaches
  std::vector<std::string> expert_counts;  // "7.2 of 8", of each kind of layer
};

// The least time of a step on a device, in 10^-21 s.
struct ServingTime {
  Expr bound;
  Expr arithmetic, memory;   // the bound is the larger one
  bool memory_known = true;  // false: how much a cache of the device keeps is not known
  std::optional<int64_t> device_cache_bytes;  // that may hold what was moved before
  // Some products are of an integer and a floating-point number, at the faster of their peaks.
  bool mixed_products = false;
};

// Memory of a step at its peak, with the cache updated in place.
struct ServingMemory {
  Expr weights;
  std::optional<Expr> cache;        // after the step
  std::optional<Expr> activations;  // at their peak; nullopt: too many sizes are open
  bool lower_bound = false;         // sizes of some tensors are unknown
};

// The requests of a step.
struct ServingRequests {
  int64_t count = 0;
  int64_t decoding = 0;  // that have got a token before
  int64_t get_a_token = 0;
  // Ranges of new tokens, and of tokens in the cache.
  int64_t least_tokens = 0, most_tokens = 0, least_past = 0, most_past = 0;
};

// What images or audio of a step's requests run through before the decoder. All figures of the step
// include it.
struct ServingTower {
  std::string modality;              // "image", "audio"
  int64_t inputs = 0, requests = 0;  // images or pieces of audio, and who has them
  int64_t tokens = 0;                // of images, among those of the prompts
  Totals totals;
  Expr weights;                     // that are read
  Expr bytes, held, arithmetic;     // as in ServingTraffic and ServingTime
  std::optional<Expr> activations;  // as in ServingMemory
};

struct ServingColumn {
  std::string name;              // "prefill", "decode", "step"
  int64_t tokens = 0, past = 0;  // of each sequence, or of all requests of a step
  // The sizes of an image that a prompt could have; it is text alone.
  std::vector<std::string> sizes_of_no_image;
  std::optional<Expr> positions;  // of each sequence, if tokens of images are beside `tokens`
  Expr sequences = 1;             // in the batch; 1 where `tokens` are of all requests
  bool of_configuration = false;  // counted on a separate graph built from the configuration
  Bindings bindings;              // that the step sets
  Totals totals;
  std::optional<Expr> cache_bytes;  // keys and values in the cache after the step
  Expr fixed_cache_bytes;           // of these, what no token adds to, such as an encoder's
  std::string causal;  // how causal attention is counted; "" for one token, or without it
  std::optional<ServingRequests> requests;  // of a step
  std::optional<ServingTower> tower;        // of its images or audio
  ServingTraffic traffic;
  std::optional<ServingTime> time;
  std::optional<ServingMemory> memory;
};

struct ServingReport {
  ModelInfo model;
  Bindings bindings;  // that the user gave
  Bindings at;        // sizes of open symbols at which people's formats show figures
  std::string token_input, use_cache;
  std::optional<Expr> cache_bytes_per_token;  // of one sequence
  std::string device, dtype;                  // of times; "" without
  std::optional<int64_t> device_bytes;        // of its memory
  std::vector<ServingColumn> columns;
};

std::string ToJson(const ServingReport& report);  // "onnxflops.serving/1"
std::string ToCsv(const ServingReport& report);
Document ToDocument(const ServingReport& report, const ViewOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SERVING_SERVING_REPORT_H_
