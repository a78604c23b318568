// How it works. The decoder is recognised by its inputs: tokens and a cache (kv_cache.h). Prefill
// and decode are then two counts of the same graph, at sizes that follow from the numbers of tokens
// and of past tokens. A size that the user sets must not contradict them. In models of a
// configuration whose step is a graph of its own (an encoder and a decoder), prefill counts the
// model and decode counts the graph of the step. What the cache holds after prefill is then the
// length of the output, since tokens of an image are among them.
#include "src/api/serving.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/api/analysis.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/memory/kv_cache.h"
#include "src/render/format.h"
#include "src/report/reference_sizes.h"
#include "src/report/summary.h"

namespace onnxflops {
namespace {

absl::StatusOr<int64_t> ParseTokens(absl::string_view option, absl::string_view text,
                                    absl::string_view number, int64_t least) {
  int64_t tokens = 0;
  if (!absl::SimpleAtoi(number, &tokens) || tokens < least || tokens > kMaxPromptTokens) {
    return absl::InvalidArgumentError(absl::StrCat(
        option, " ", Quoted(text), ": ", Quoted(number), " must be a whole number, ", least,
        tokens > kMaxPromptTokens ? absl::StrCat(" to ", kMaxPromptTokens) : " or more"));
  }
  return tokens;
}

absl::Status OfModel(const Model& model, const absl::Status& status) {
  return WithMessage(status, absl::StrCat(Escaped(model->path), ": ", status.message()));
}

// Sizes and contents that a step sets, in addition to those of the user.
absl::StatusOr<CountOptions> OptionsOfStep(const CountOptions& options, const Decoder& decoder,
                                           const ServingColumn& column) {
  CountOptions step = options;
  ASSIGN_OR_RETURN(const Bindings sizes, BindStep(decoder, {column.tokens, column.past}));
  for (const auto& [name, size] : sizes) {
    const auto bound = step.bindings.emplace(name, size).first;
    if (bound->second != size) {
      return absl::FailedPreconditionError(absl::StrCat("it needs ", Escaped(name), " = ", size,
                                                        ", but --dim sets ", bound->second));
    }
  }
  if (!decoder.use_cache.empty()) {
    step.input_values.emplace(decoder.use_cache, Content{Scalar::Int(column.past > 0 ? 1 : 0)});
    step.input_shapes.emplace(decoder.use_cache, Dims{1});
  }
  return step;
}

// The tokens of the first output, [batch, tokens, vocabulary]. Those of an image are among them.
absl::StatusOr<Expr> LengthOfOutput(const Model& model, const CountOptions& options) {
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(model, options, options.causal, false));
  const Fact* fact = analysis.inference.FactOf(model->graph(0).outputs[0]);
  if (fact != nullptr && fact->is_tensor() && fact->shape.rank() == 3) return fact->shape[1];
  return absl::InternalError("the first output of a configuration has another shape");
}

class Server {
 public:
  // `step`: the graph of a step with a cache, if it is not that of the model.
  Server(const Model& model, const std::optional<Model>& step, const CountOptions& options,
         const Decoder& decoder)
      : model_(model), step_(step), options_(options), decoder_(decoder) {}

  absl::Status Add(ServingColumn column, ServingReport* report) const {
    ASSIGN_OR_RETURN(CountOptions options, OptionsOfStep(options_, decoder_, column));
    const bool is_prompt = step_ && column.name == "prefill";
    column.of_configuration = step_ && !is_prompt;
    if (is_prompt) options.bindings.erase("past");
    ASSIGN_OR_RETURN(const Report counted,
                     Count(column.of_configuration ? *step_ : model_, options));
    for (const auto& [name, size] : counted.bindings) {
      if (!options_.bindings.contains(name)) column.bindings.emplace(name, size);
    }
    column.totals = counted.totals;
    if (counted.causal_nodes > 0 && column.tokens > 1) column.causal = report::CausalText(counted);
    Expr kept = column.tokens + column.past;
    if (is_prompt) {
      ASSIGN_OR_RETURN(kept, LengthOfOutput(model_, options));
    }
    const std::optional<Expr> cache = CacheBytesAt(decoder_, kept);
    if (cache) column.cache_bytes = cache->Substitute(options.bindings);
    report->model = counted.model;
    const Bindings at = report::ReferenceSizes(counted);
    report->at.insert(at.begin(), at.end());
    report->columns.push_back(std::move(column));
    return absl::OkStatus();
  }

 private:
  const Model& model_;
  const std::optional<Model>& step_;
  const CountOptions& options_;
  const Decoder& decoder_;
};

// NotFound if the model is no decoder.
absl::StatusOr<Decoder> DecoderOf(const Model& model, const CountOptions& options) {
  // The decoder is found by the symbols of its inputs, so none may be bound.
  CountOptions open = options;
  open.bindings.clear();
  const absl::StatusOr<Analysis> analysis = Analyze(model, open, options.causal, false);
  if (!analysis.ok()) return analysis.status();
  return FindDecoder(analysis->inference);
}

}  // namespace

absl::StatusOr<int64_t> ParsePrefill(absl::string_view text) {
  return ParseTokens("--prefill", text, text, 1);
}

absl::StatusOr<ServingRequest::Decode> ParseDecode(absl::string_view text) {
  const size_t at = text.find('@');
  if (at == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--decode ", Quoted(text), ": it should be tokens@past, as 1@512: one token after 512"));
  }
  ServingRequest::Decode decode;
  ASSIGN_OR_RETURN(decode.tokens, ParseTokens("--decode", text, text.substr(0, at), 1));
  ASSIGN_OR_RETURN(decode.past, ParseTokens("--decode", text, text.substr(at + 1), 0));
  return decode;
}

absl::StatusOr<ServingReport> CountServing(const Model& model, const CountOptions& options,
                                           const ServingRequest& request) {
  absl::StatusOr<Decoder> decoder = DecoderOf(model, options);
  std::optional<Model> step;
  if (absl::IsNotFound(decoder.status())) {
    ASSIGN_OR_RETURN(step, DecodingStepOf(*model));
    if (step) decoder = DecoderOf(*step, options);
  }
  if (absl::IsNotFound(decoder.status())) {
    return absl::FailedPreconditionError(absl::StrCat(
        Escaped(model->path), ": --prefill and --decode need a decoder with a cache, but ",
        decoder.status().message(), "; set sizes with --dim instead"));
  }
  RETURN_IF_ERROR(decoder.status());
  const Server server(model, step, options, *decoder);
  ServingReport report;
  report.bindings = options.bindings;
  report.token_input = decoder->token_input;
  report.use_cache = decoder->use_cache;
  report.cache_bytes_per_token = CacheBytesPerToken(*decoder);
  if (report.cache_bytes_per_token) {
    report.cache_bytes_per_token = report.cache_bytes_per_token->Substitute(options.bindings);
  }
  std::vector<ServingColumn> columns;
  if (request.prefill) columns.push_back({"prefill", *request.prefill, 0, {}, {}, {}});
  if (request.decode) {
    columns.push_back({"decode", request.decode->tokens, request.decode->past, {}, {}, {}});
  }
  for (ServingColumn& column : columns) {
    const std::string name = column.name;
    const absl::Status added = server.Add(std::move(column), &report);
    if (added.ok()) continue;
    if (!absl::IsFailedPrecondition(added)) return added;
    return OfModel(model, WithMessage(added, absl::StrCat("--", name, ": ", added.message())));
  }
  return report;
}

}  // namespace onnxflops
