// How it works. The decoder is recognised by its inputs: tokens and a cache (kv_cache.h). Prefill
// and decode are then two counts of the same graph, at sizes that follow from the numbers of tokens
// and of past tokens. A size that the user sets must not contradict them. In models of a
// configuration whose step is a graph of its own (an encoder and a decoder), prefill counts the
// model and decode counts the graph of the step. What the cache holds after prefill is then the
// length of the output, since tokens of an image are among them.
//
// A step of requests is one count whose samples are the requests: each has its new tokens and its
// past, and what follows from them. A merged decoder takes the branch with a past if any request
// has one.
#include "src/api/serving.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/api/analysis.h"
#include "src/api/sequence.h"
#include "src/api/serving_step.h"
#include "src/api/serving_tower.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/memory/kv_cache.h"
#include "src/render/format.h"
#include "src/report/reference_sizes.h"
#include "src/report/samples_report.h"
#include "src/report/summary.h"
#include "src/symbolic/symbol_name.h"

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

// The user's options with the sizes and contents that a step sets.
absl::StatusOr<CountOptions> OptionsOfStep(const CountOptions& options, const Decoder& decoder,
                                           const ServingColumn& column) {
  CountOptions step = options;
  ASSIGN_OR_RETURN(const Bindings sizes, BindStep(decoder, {column.tokens, column.past}));
  for (const auto& [name, size] : sizes) {
    const auto bound = step.bindings.emplace(name, size).first;
    if (bound->second != size) {
      return absl::FailedPreconditionError(absl::StrCat("it needs ", Escaped(name), " = ", size,
                                                        WithSettings(", but {dim} sets "),
                                                        bound->second));
    }
  }
  if (!decoder.use_cache.empty()) {
    step.input_values.emplace(decoder.use_cache, Content{Scalar::Int(column.past > 0 ? 1 : 0)});
    step.input_shapes.emplace(decoder.use_cache, Dims{1});
  }
  return step;
}

// Sizes that each request sets, and those that all have in common.
absl::StatusOr<CountOptions> OptionsOfRequests(const CountOptions& options, const Decoder& decoder,
                                               const ServingRequest& request) {
  CountOptions step = options;
  Samples samples;
  bool has_past = false;
  for (size_t i = 0; i < request.requests.size(); ++i) {
    const StepRequest& one = request.requests[i];
    absl::StatusOr<Bindings> sizes = BindStep(decoder, {one.tokens(), one.past()});
    if (!sizes.ok()) {
      return WithMessage(sizes.status(),
                         RequestText(request.requests, i, sizes.status().message()));
    }
    for (const auto& [name, size] : *sizes) {
      if (!decoder.known.contains(name)) samples.sizes[name].push_back(size);
    }
    has_past = has_past || one.past() > 0;
  }
  step.bindings.insert(decoder.known.begin(), decoder.known.end());
  step.samples = std::move(samples);
  if (!decoder.use_cache.empty()) {
    step.input_values.emplace(decoder.use_cache, Content{Scalar::Int(has_past ? 1 : 0)});
    step.input_shapes.emplace(decoder.use_cache, Dims{1});
  }
  return step;
}

// Describes the requests of the step.
ServingColumn StepColumn(const std::vector<StepRequest>& requests) {
  ServingColumn column = {.name = "step"};
  ServingRequests& told = column.requests.emplace();
  told.count = static_cast<int64_t>(requests.size());
  told.least_tokens = told.most_tokens = requests[0].tokens();
  told.least_past = told.most_past = requests[0].past();
  for (const StepRequest& request : requests) {
    column.tokens += request.tokens();
    column.past += request.past();
    told.decoding += request.is_decode() ? 1 : 0;
    told.get_a_token += request.gets_token() ? 1 : 0;
    told.least_tokens = std::min(told.least_tokens, request.tokens());
    told.most_tokens = std::max(told.most_tokens, request.tokens());
    told.least_past = std::min(told.least_past, request.past());
    told.most_past = std::max(told.most_past, request.past());
  }
  return column;
}

// The tokens of the first output, [batch, tokens, vocabulary]. Those of an image are among them.
absl::StatusOr<Expr> LengthOfOutput(const Model& model, const CountOptions& options) {
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(model, options, options.causal, false));
  const Fact* fact = analysis.inference.FactOf(model->graph(0).outputs[0]);
  if (fact != nullptr && fact->is_tensor() && fact->shape.rank() == 3) return fact->shape[1];
  return absl::InternalError("the first output of a configuration has another shape");
}

bool HasInputSize(const ModelData& model, const std::string& symbol) {
  return absl::c_any_of(model.graphs[0].inputs, [&](ValueId id) {
    const DeclaredType* type = model.value(id).declared;
    return type != nullptr && absl::c_any_of(type->dims, [&](const DeclaredDim& dim) {
             return dim.size < 0 && FileSymbol(dim.name) == symbol;
           });
  });
}

// Sizes of images are the prompt's alone: its tokens are in the cache of a step.
CountOptions OptionsWithoutImages(const Model& model, const Model& step,
                                  const CountOptions& options) {
  CountOptions without = options;
  absl::erase_if(without.bindings, [&](const auto& binding) {
    return HasInputSize(*model, binding.first) && !HasInputSize(*step, binding.first);
  });
  return without;
}

// Where a step has a fixed number of tokens, with those of the model for a prompt.
Decoder WithTokensOfPrompt(const Model& model, Decoder decoder) {
  if (!decoder.tokens.is_literal()) return decoder;
  for (const ValueId id : model->graph(0).inputs) {
    const Value& input = model->value(id);
    if (input.name != decoder.token_input || input.declared == nullptr) continue;
    const DeclaredType& type = *input.declared;
    if (type.dims.size() != 2 || type.dims[1].size >= 0) continue;
    decoder.tokens = Expr::Symbol(FileSymbol(type.dims[1].name), 1);
  }
  return decoder;
}

class Server {
 public:
  // `step`: the graph of a step with a cache, if it is separate from the model.
  Server(const Model& model, const std::optional<Model>& step, const CountOptions& options,
         const Decoder& decoder)
      : model_(model), step_(step), options_(options), decoder_(decoder) {
    if (step) step_options_ = OptionsWithoutImages(model, *step, options);
  }

  absl::Status Add(ServingColumn column, const ServingRequest& request,
                   ServingReport* report) const {
    const bool is_prefill = step_ && column.name == "prefill";
    if (is_prefill) column.sizes_of_no_image = SizesOfNoImage();
    const bool is_prompt = is_prefill && column.sizes_of_no_image.empty();
    column.of_configuration = step_ && !is_prompt;
    const Model& model = column.of_configuration ? *step_ : model_;
    const CountOptions& given = column.of_configuration ? step_options_ : options_;
    const Decoder decoder = is_prompt ? WithTokensOfPrompt(model_, decoder_) : decoder_;
    ASSIGN_OR_RETURN(CountOptions options, column.requests
                                               ? OptionsOfRequests(given, decoder, request)
                                               : OptionsOfStep(given, decoder, column));
    if (is_prompt) options.bindings.erase("past");
    options.memory.reset();
    ASSIGN_OR_RETURN(const Report counted, Count(model, options));
    ASSIGN_OR_RETURN(const SampledAnalysis analysis, AnalyzeSamples(model, options));
    if (analysis.samples && analysis.samples->count.empty() && request.requests.size() > 1) {
      return absl::FailedPreconditionError(
          "the file fixes a batch of 1, so requests have no run in common: export it with an open "
          "batch");
    }
    for (const auto& [name, size] : counted.bindings) {
      if (!options_.bindings.contains(name)) column.bindings.emplace(name, size);
    }
    column.totals = counted.totals;
    if (counted.causal_nodes > 0 && HasPrompt(column)) {
      column.causal = report::CausalText(counted);
    }
    options.memory = options_.memory;
    RETURN_IF_ERROR(AddTower(options, request, &column));
    RETURN_IF_ERROR(AddCache(is_prompt, analysis, options, counted, request, &column));
    report->model = counted.model;
    const Bindings at = report::ReferenceSizes(counted);
    report->at.insert(at.begin(), at.end());
    if (counted.roofline) {
      report->device = counted.roofline->device;
      report->device_bytes = counted.roofline->memory_bytes;
      report->dtype = std::string(PrecisionName(counted.roofline->precision));
    }
    report->columns.push_back(std::move(column));
    return absl::OkStatus();
  }

 private:
  // True if a query attends to several keys of its own step.
  static bool HasPrompt(const ServingColumn& column) {
    return column.requests ? column.requests->most_tokens > 1 : column.tokens > 1;
  }

  // The sizes of an image that the model leaves open, if none is given: then the prompt is text
  // alone.
  std::vector<std::string> SizesOfNoImage() const {
    std::vector<std::string> sizes;
    for (const ValueId input : model_->graph(0).inputs) {
      const DeclaredType* type = model_->value(input).declared;
      if (type == nullptr || report::ModalityOfInput(model_->value(input).name) != "image")
        continue;
      for (const DeclaredDim& dim : type->dims) {
        const std::string symbol = dim.size < 0 ? FileSymbol(dim.name) : "";
        if (symbol.empty() || HasInputSize(**step_, symbol)) continue;
        if (options_.bindings.contains(symbol)) return {};
        if (!absl::c_linear_search(sizes, symbol)) sizes.push_back(symbol);
      }
    }
    return sizes;
  }

  // Counts what the images or audio of the requests run through.
  absl::Status AddTower(const CountOptions& options, const ServingRequest& request,
                        ServingColumn* column) const {
    const bool has_media = absl::c_any_of(
        request.requests, [](const StepRequest& one) { return one.media != nullptr; });
    if (!column->requests || !has_media) return absl::OkStatus();
    ASSIGN_OR_RETURN(column->tower, CountTower(model_, options, request.requests));
    column->totals.Add(column->tower->totals);
    column->totals.lower_bound |= column->tower->totals.lower_bound;
    return absl::OkStatus();
  }

  // Adds the cache, other bytes moved, and memory.
  absl::Status AddCache(bool is_prompt, const SampledAnalysis& analysis,
                        const CountOptions& options, const Report& counted,
                        const ServingRequest& request, ServingColumn* column) const {
    const ServingStepMaker step(analysis, options, decoder_, counted);
    Expr past = decoder_.length, kept = decoder_.length + decoder_.tokens;
    if (is_prompt) {
      past = 0;
      ASSIGN_OR_RETURN(kept, LengthOfOutput(model_, options));
      if (kept != Expr(column->tokens)) column->positions = kept;
    } else if (!column->requests) {
      past = column->past;
      kept = column->tokens + column->past;
    }
    // A merged decoder without a past computes an encoder's keys and values.
    const bool writes_fixed = is_prompt || (!decoder_.use_cache.empty() && column->past == 0);
    step.AddCache(kept, past, writes_fixed, column);
    RETURN_IF_ERROR(
        step.AddTraffic(request.experts, /*expected=*/column->requests.has_value(), column));
    return options.memory ? step.AddMemory(column) : absl::OkStatus();
  }

  const Model& model_;
  const std::optional<Model>& step_;
  const CountOptions& options_;
  CountOptions step_options_;
  const Decoder& decoder_;
};

// NotFound if the model is not a decoder.
absl::StatusOr<Decoder> DecoderOf(const Model& model, const CountOptions& options) {
  // The decoder is recognised by the symbols of its inputs, so none may be bound.
  CountOptions open = options;
  open.bindings.clear();
  const absl::StatusOr<Analysis> analysis = Analyze(model, open, options.causal, false);
  if (!analysis.ok()) return analysis.status();
  return FindDecoder(analysis->inference);
}

}  // namespace

absl::StatusOr<int64_t> ParsePrefill(absl::string_view text) {
  return ParseTokens(Setting("prefill"), text, text, 1);
}

absl::StatusOr<ServingRequest::Decode> ParseDecode(absl::string_view text) {
  const size_t at = text.find('@');
  if (at == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(Setting("decode"), " ", Quoted(text),
                     ": it should be tokens@past, as 1@512: one step of 1 token after 512; "
                     "`onnxflops pipeline` counts tokens that follow one another"));
  }
  ServingRequest::Decode decode;
  ASSIGN_OR_RETURN(decode.tokens, ParseTokens(Setting("decode"), text, text.substr(0, at), 1));
  ASSIGN_OR_RETURN(decode.past, ParseTokens(Setting("decode"), text, text.substr(at + 1), 0));
  return decode;
}

absl::StatusOr<std::vector<int64_t>> ParseExperts(absl::string_view text) {
  std::vector<int64_t> numbers;
  for (const absl::string_view number : absl::StrSplit(text, ',')) {
    ASSIGN_OR_RETURN(const int64_t parsed,
                     ParseTokens(Setting("experts"), text, absl::StripAsciiWhitespace(number), 1));
    numbers.push_back(parsed);
  }
  return numbers;
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
    return absl::FailedPreconditionError(
        absl::StrCat(Escaped(model->path),
                     WithSettings(": {prefill}, {decode} and {requests} need a decoder with a "
                                  "cache, but "),
                     decoder.status().message(), WithSettings("; set sizes with {dim} instead")));
  }
  RETURN_IF_ERROR(decoder.status());
  const Server server(model, step, options, *decoder);
  ServingReport report;
  report.bindings = options.bindings;
  report.token_input = decoder->token_input;
  report.use_cache = decoder->use_cache;
  const InputSizes inputs = FindInputSizes(*(step ? *step : model));
  const Expr sequences =
      inputs.batch.empty() ? Expr(inputs.batch_size.value_or(1)) : Expr::Symbol(inputs.batch, 1);
  if (const std::optional<Expr> bytes = CacheBytesPerToken(*decoder); bytes) {
    const std::optional<Expr> of_one = inputs.batch.empty()
                                           ? DivideExactly(*bytes, sequences)
                                           : bytes->Substitute({{inputs.batch, 1}});
    if (of_one) report.cache_bytes_per_token = of_one->Substitute(options.bindings);
  }
  std::vector<ServingColumn> columns;
  if (request.prefill) columns.push_back({.name = "prefill", .tokens = *request.prefill});
  if (request.decode) {
    columns.push_back(
        {.name = "decode", .tokens = request.decode->tokens, .past = request.decode->past});
  }
  if (!request.requests.empty()) columns.push_back(StepColumn(request.requests));
  for (ServingColumn& column : columns) {
    if (!column.requests) column.sequences = sequences.Substitute(options.bindings);
    const std::string setting = !column.requests ? Setting(column.name)
                                : request.requests_file.empty()
                                    ? Setting("requests")
                                    : Setting("requests", Quoted(request.requests_file));
    const absl::Status added = server.Add(std::move(column), request, &report);
    if (added.ok()) continue;
    const bool names_model = absl::StrContains(added.message(), Escaped(model->path));
    if (names_model) return added;
    return OfModel(model, WithMessage(added, absl::StrCat(setting, ": ", added.message())));
  }
  return report;
}

}  // namespace onnxflops
