// How it works. The tower is a graph of its own, built from the configuration. Its samples are the
// images, or the pieces of audio, of all requests, whichever they belong to, and are summed as
// those of any batch. Images of one fixed size are a batch of equal samples.
#include "src/api/serving_tower.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"
#include "src/api/analysis.h"
#include "src/api/samples.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/hardware/time_bound.h"
#include "src/memory/liveness.h"
#include "src/report/samples_report.h"
#include "src/symbolic/sample_sum.h"

namespace onnxflops {
namespace {

constexpr char kBatch[] = "batch";  // of every graph of a configuration

// "image" or "audio".
std::string ModalityOf(const ModelData& tower) {
  for (const ValueId id : tower.graphs[0].inputs) {
    const absl::string_view modality = report::ModalityOfInput(tower.value(id).name);
    if (!modality.empty()) return std::string(modality);
  }
  return "image";
}

// True if no size of an input is open but the batch: every image is scaled to one size.
bool HasOneSize(const ModelData& tower) {
  return absl::c_all_of(tower.graphs[0].inputs, [&](ValueId id) {
    const DeclaredType* type = tower.value(id).declared;
    return type == nullptr || absl::c_all_of(type->dims, [](const DeclaredDim& dim) {
             return dim.size >= 0 || dim.name == kBatch;
           });
  });
}

template <typename T>
void Append(const std::vector<T>& from, std::vector<T>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

class TowerCounter {
 public:
  TowerCounter(const Model& tower, const CountOptions& options,
               const std::vector<StepRequest>& requests)
      : tower_(tower), options_(options), requests_(requests) {
    options_.bindings.clear();
    options_.samples.reset();
    options_.input_shapes.clear();
    options_.input_values.clear();
    options_.memory.reset();
  }

  absl::StatusOr<ServingTower> Count(const std::optional<MemoryOptions>& memory) {
    found_.modality = ModalityOf(*tower_);
    ASSIGN_OR_RETURN(tokens_, TokensOfOne());
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i].media != nullptr) RETURN_IF_ERROR(Add(i));
    }
    if (one_size_) {
      options_.bindings[kBatch] = found_.inputs;
    } else {
      options_.samples = all_;
    }
    // Adapters of the decoder alone: no layer of the tower has one of these names.
    if (options_.lora && absl::IsNotFound(onnxflops::Count(tower_, options_).status())) {
      options_.lora.reset();
    }
    ASSIGN_OR_RETURN(const Report counted, onnxflops::Count(tower_, options_));
    ASSIGN_OR_RETURN(const SampledAnalysis analysis, AnalyzeSamples(tower_, options_));
    found_.totals = counted.totals;
    AddTraffic(counted, analysis);
    if (memory) RETURN_IF_ERROR(AddMemory(*memory, analysis));
    return std::move(found_);
  }

 private:
  absl::Status At(size_t index, const absl::Status& status) const {
    absl::string_view what = status.message();
    absl::ConsumePrefix(&what, absl::StrCat(Escaped(tower_->path), ": "));
    const bool of_one = absl::ConsumePrefix(&what, "sample ");
    return WithMessage(
        status,
        RequestText(requests_, index, of_one ? absl::StrCat(found_.modality, " ", what) : what));
  }

  // The tokens that an image has in the decoder, by its sizes; 0 for audio.
  absl::StatusOr<Expr> TokensOfOne() const {
    if (found_.modality != "image") return Expr(0);
    ASSIGN_OR_RETURN(const Analysis analysis, Analyze(tower_, options_, options_.causal, false));
    const Fact* fact = analysis.inference.FactOf(tower_->graph(0).outputs[0]);
    if (fact != nullptr && fact->is_tensor() && fact->shape.rank() == 3) return fact->shape[1];
    return absl::InternalError("the tokens of an image have another shape");
  }

  // The sizes of a request's images or audio, as the tower takes them.
  absl::StatusOr<SampleSizes> SizesOf(const Samples& media) const {
    const bool is_image = media.audio.empty();
    if (is_image != (found_.modality == "image")) {
      return absl::InvalidArgumentError(is_image ? "it has images, and the model takes audio"
                                                 : "it has audio, and the model takes images");
    }
    if (one_size_ && !media.images.empty()) {
      for (const auto& [height, width] : media.images) {
        if (std::min(height, width) >= 1 && std::max(height, width) <= kMaxConfigSize) continue;
        return absl::InvalidArgumentError(fmt::format(
            "an image of {}x{}: each should be from 1 to {}", height, width, kMaxConfigSize));
      }
      return SampleSizes{.count = kBatch,
                         .rows = {{{}, static_cast<int64_t>(media.images.size())}}};
    }
    Bindings none;
    ASSIGN_OR_RETURN(SampleSizes sizes, FindSamples(*tower_, media, &none));
    if (!sizes.chunks || (sizes.samples() == 1 && sizes.chunks->samples == 1)) return sizes;
    const std::optional<AudioChunks> chunks = AudioChunksOf(*tower_);
    return absl::InvalidArgumentError(
        fmt::format("audio: a request has one piece of at most {} frames, {} s: longer audio is a "
                    "request for each piece",
                    chunks->frames, chunks->frames / chunks->per_second));
  }

  absl::Status Add(size_t index) {
    const StepRequest& request = requests_[index];
    const Samples& media = *request.media;
    const absl::StatusOr<SampleSizes> sizes = SizesOf(media);
    if (!sizes.ok()) return At(index, sizes.status());
    if (sizes->chunks && request.cached > 0) {
      return At(index, absl::InvalidArgumentError(
                           fmt::format("it has audio, and cached = {}: the encoder runs before the "
                                       "first token of the prompt, and its cache is complete then",
                                       request.cached)));
    }
    const absl::StatusOr<absl::int128> tokens = TokensAt(*sizes);
    if (!tokens.ok()) return At(index, tokens.status());
    if (*tokens > request.prompt) {
      return At(index, absl::InvalidArgumentError(absl::StrCat(
                           "its images have ",
                           *tokens > kMaxPromptTokens ? absl::StrCat("more than ", kMaxPromptTokens)
                                                      : Int128ToString(*tokens),
                           " tokens, and its prompt ", request.prompt, ", which includes them")));
    }
    ++found_.requests;
    found_.inputs += sizes->samples();
    found_.tokens += static_cast<int64_t>(*tokens);
    if (found_.inputs > static_cast<int64_t>(kMaxSamples)) {
      return LimitError("samples", absl::StrCat("there are more than ", kMaxSamples,
                                                " images or pieces of audio (samples)"));
    }
    for (const auto& [symbol, list] : media.sizes) Append(list, &all_.sizes[symbol]);
    Append(media.images, &all_.images);
    Append(media.audio, &all_.audio);
    return absl::OkStatus();
  }

  absl::StatusOr<absl::int128> TokensAt(const SampleSizes& sizes) const {
    absl::int128 sum = 0;
    for (const SampleSizes::Row& row : sizes.rows) {
      Bindings at;
      for (size_t i = 0; i < row.sizes.size(); ++i) at[sizes.symbols[i]] = row.sizes[i];
      ASSIGN_OR_RETURN(const absl::int128 tokens, tokens_.Evaluate(at));
      if (tokens > kMaxPromptTokens) return tokens;
      sum += tokens * row.samples;
    }
    return sum;
  }

  void AddTraffic(const Report& counted, const SampledAnalysis& analysis) {
    const Inference& in = analysis.inference;
    const absl::Span<const ValueId> outputs = in.model->graphs[0].outputs;
    const std::vector<ValueId> kept(outputs.begin(), outputs.end());
    std::optional<SampleSum> sum;
    if (analysis.samples) sum.emplace(*analysis.samples);
    const auto summed = [&](const Expr& amount) { return sum ? sum->Of(amount) : amount; };
    found_.weights = summed(LeastTraffic(in, analysis.counts, std::nullopt, kept).parameters);
    if (!counted.roofline) return;
    const Traffic moved = LeastTraffic(in, analysis.counts, counted.roofline->precision, kept);
    found_.held = summed(moved.parameters);
    found_.bytes = summed(moved.parameters + moved.inputs);
    found_.arithmetic = counted.roofline->arithmetic_time.value_or(0);
  }

  absl::Status AddMemory(const MemoryOptions& memory, const SampledAnalysis& analysis) {
    const absl::Span<const ValueId> outputs = analysis.inference.model->graphs[0].outputs;
    PeakOptions rule;
    rule.order = memory.order;
    // Keys and values of audio are in the cache.
    if (found_.modality == "audio") rule.elsewhere.assign(outputs.begin(), outputs.end());
    ASSIGN_OR_RETURN(const MemoryPeak peak, FindPeak(analysis.inference, rule));
    std::optional<SampleSum> sum;
    if (analysis.samples) sum.emplace(*analysis.samples);
    Expr largest = 0;
    for (const Expr& live : peak.sums) largest = Max(largest, sum ? sum->Of(live) : live);
    if (!peak.sums.empty()) found_.activations = largest;
    return absl::OkStatus();
  }

  const Model& tower_;
  CountOptions options_;
  const std::vector<StepRequest>& requests_;
  const bool one_size_ = HasOneSize(*tower_);
  Expr tokens_;
  Samples all_;
  ServingTower found_;
};

}  // namespace

absl::StatusOr<ServingTower> CountTower(const Model& model, const CountOptions& options,
                                        const std::vector<StepRequest>& requests) {
  ASSIGN_OR_RETURN(const std::optional<Model> tower, TowerOf(*model));
  if (tower) return TowerCounter(*tower, options, requests).Count(options.memory);
  const auto first = absl::c_find_if(
      requests, [](const StepRequest& request) { return request.media != nullptr; });
  const char* const what = ConfigOf(*model).empty()
                               ? "the file is counted without a tower: the tower's own file has "
                                 "its cost, or the model's config.json has both"
                               : "the model has no tower for them, nor an encoder";
  return absl::FailedPreconditionError(
      RequestText(requests, static_cast<size_t>(first - requests.begin()),
                  absl::StrCat("it has images or audio, and ", what)));
}

std::string RequestText(const std::vector<StepRequest>& requests, size_t index,
                        absl::string_view what) {
  const int64_t line = requests[index].line;
  return line > 0 ? absl::StrCat("line ", line, ": ", what)
                  : absl::StrCat("request ", index + 1, ": ", what);
}

}  // namespace onnxflops
