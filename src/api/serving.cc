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
#include "src/memory/kv_cache.h"
#include "src/report/format.h"

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

// Sizes and contents that a step sets, beside those of the user.
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

class Server {
 public:
  Server(const Model& model, const CountOptions& options, const Decoder& decoder)
      : model_(model), options_(options), decoder_(decoder) {}

  absl::Status Add(ServingColumn column, ServingReport* report) const {
    ASSIGN_OR_RETURN(const CountOptions options, OptionsOfStep(options_, decoder_, column));
    ASSIGN_OR_RETURN(const Report counted, Count(model_, options));
    for (const auto& [name, size] : counted.bindings) {
      if (!options_.bindings.contains(name)) column.bindings.emplace(name, size);
    }
    column.totals = counted.totals;
    const std::optional<Expr> cache = CacheBytesAt(decoder_, column.tokens + column.past);
    if (cache) column.cache_bytes = cache->Substitute(options.bindings);
    report->model = counted.model;
    const Bindings at = report::ReferenceSizes(counted);
    report->at.insert(at.begin(), at.end());
    report->columns.push_back(std::move(column));
    return absl::OkStatus();
  }

 private:
  const Model& model_;
  const CountOptions& options_;
  const Decoder& decoder_;
};

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
  // The symbols of its inputs: found where none of them is bound.
  CountOptions open = options;
  open.bindings.clear();
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(model, open, options.causal, false));
  const absl::StatusOr<Decoder> decoder = FindDecoder(analysis.inference);
  if (!decoder.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        Escaped(model->path), ": --prefill and --decode need a decoder with a cache, but ",
        decoder.status().message(), "; set sizes with --dim instead"));
  }
  const Server server(model, options, *decoder);
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
