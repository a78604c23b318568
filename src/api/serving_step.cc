// How it works. A server reads the weights once per step, whatever the number of requests; of a
// mixture of experts it reads those to which some token is routed. It keeps keys and values in
// place and appends those of the new tokens. So of the outputs that return the cache only the new
// part is written, and they take no memory in addition to the cache. A graph that copies its cache
// moves more; the counts of the nodes show it.
//
// If requests differ in size, every figure is the sum over them. The peak of live activations is
// the largest of a few sums of tensors, and each of these is summed over the requests.
#include "src/api/serving_step.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "fmt/format.h"
#include "ops/op_def.h"
#include "ops/rules.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/hardware/time_bound.h"
#include "src/memory/liveness.h"

namespace onnxflops {
namespace {

constexpr int kExpectedBits = 32;  // ExpectedExperts is in 2^-32

// The outputs that hand the cache on.
std::vector<ValueId> CacheOutputs(const ModelData& model) {
  std::vector<ValueId> found;
  for (ValueId id : model.graphs[0].outputs) {
    if (IsCacheOutput(model.value(id).name)) found.push_back(id);
  }
  return found;
}

// In the narrower of its type and the precision.
Expr NarrowBytes(const Fact& fact, std::optional<Precision> precision) {
  const absl::StatusOr<Expr> bytes = BytesOf(fact);
  if (!bytes.ok()) return 0;
  if (!precision || !IsFloat(fact.dtype)) return *bytes;
  const int64_t bits = BitsPerElement(fact.dtype);
  if (bits <= PrecisionBits(*precision)) return *bytes;
  return FloorDiv(fact.shape.NumElements() * PrecisionBits(*precision), 8);
}

// The layer of a call that is a mixture of experts.
std::optional<ExpertLayer> ExpertsOf(const Inference& inference, const Call& call,
                                     std::optional<Precision> precision) {
  constexpr size_t kFirstWeight = 2;
  if (call.def == nullptr || call.def->operands.experts == 0 || call.inputs.size() < 2) {
    return std::nullopt;
  }
  const Shape& x = inference.fact(call.inputs[0]).shape;
  const Shape& router = inference.fact(call.inputs[1]).shape;
  if (!x.ranked() || !router.ranked() || x.rank() < 2 || router.rank() != 2) return std::nullopt;
  const std::optional<int64_t> experts = router[1].AsInt64();
  if (!experts || *experts < 1) return std::nullopt;
  const Attribute* k = inference.model->node(call.node).FindAttribute("k");
  ExpertLayer layer = {*experts, k == nullptr ? 1 : k->i, x.Product(0, x.rank() - 1), 0, 0};
  for (size_t i = kFirstWeight; i < call.inputs.size(); ++i) {
    const Fact& fact = inference.fact(call.inputs[i]);
    if (!fact.is_tensor() || !fact.shape.ranked()) continue;
    layer.bytes_of_one += BytesOf(fact).value_or(0);
    layer.narrow_bytes_of_one += NarrowBytes(fact, precision);
  }
  layer.bytes_of_one = FloorDiv(layer.bytes_of_one, layer.experts);
  layer.narrow_bytes_of_one = FloorDiv(layer.narrow_bytes_of_one, layer.experts);
  return layer;
}

// Those of the main graph.
std::vector<ExpertLayer> FindExperts(const Inference& inference,
                                     std::optional<Precision> precision) {
  std::vector<ExpertLayer> layers;
  for (CallId id : inference.instance(0).calls) {
    std::optional<ExpertLayer> layer = ExpertsOf(inference, inference.call(id), precision);
    if (layer) layers.push_back(*std::move(layer));
  }
  return layers;
}

Expr LargestOf(const std::vector<Expr>& sums) {
  Expr largest = 0;
  for (const Expr& sum : sums) largest = Max(largest, sum);
  return largest;
}

// "7.2 of 8".
std::string ExpertText(absl::int128 reached, int64_t experts) {
  const double number = static_cast<double>(reached) / static_cast<double>(int64_t{1} << 32);
  return fmt::format("{:.4g} of {}", number, experts);
}

// Types of matrices in the file, and of the cache, that are wider than the precision. Scales and
// tables of frequencies are vectors, and often wider than the rest.
std::vector<std::string> WiderTypes(const ModelData& model, const Decoder& decoder,
                                    Precision precision) {
  absl::btree_set<std::string> names;
  const auto add = [&](DType type) {
    if (IsFloat(type) && BitsPerElement(type) > PrecisionBits(precision)) {
      names.insert(std::string(DTypeName(type)));
    }
  };
  for (const Value& value : model.values) {
    if (value.initializer && model.tensor(*value.initializer).dims.size() > 1) {
      add(model.tensor(*value.initializer).dtype);
    }
  }
  for (const DType type : decoder.types) add(type);
  return {names.begin(), names.end()};
}

std::optional<Precision> PrecisionOf(const CountOptions& options) {
  if (!options.on_device) return std::nullopt;
  return options.on_device->precision;
}

}  // namespace

absl::int128 ExpectedExperts(int64_t experts, int64_t routed, int64_t tokens) {
  constexpr int kBits = 62;
  const absl::uint128 one = absl::uint128(1) << kBits;
  const auto left = static_cast<uint64_t>(std::max<int64_t>(experts - routed, 0));
  absl::uint128 missed = one;
  absl::uint128 power =
      one / static_cast<uint64_t>(experts) * left +
      one % static_cast<uint64_t>(experts) * left / static_cast<uint64_t>(experts);
  for (int64_t rest = tokens; rest > 0; rest /= 2) {
    if (rest % 2 != 0) missed = missed * power >> kBits;
    power = power * power >> kBits;
  }
  return absl::int128(experts) * absl::int128((one - missed) >> (kBits - kExpectedBits));
}

ServingStepMaker::ServingStepMaker(const SampledAnalysis& analysis, const CountOptions& options,
                                   const Decoder& decoder, const Report& counted)
    : analysis_(analysis),
      options_(options),
      decoder_(decoder),
      counted_(counted),
      layers_(FindExperts(analysis.inference, PrecisionOf(options))) {
  if (analysis.samples) sum_.emplace(*analysis.samples);
}

// The decoder's expressions contain symbols that the step binds; those of the analysis do not.
Expr ServingStepMaker::Summed(const Expr& amount) const {
  const Expr bound = amount.Substitute(analysis_.inference.bindings);
  return sum_ ? sum_->Of(bound) : bound;
}

std::optional<Expr> ServingStepMaker::CacheOf(const Expr& tokens) const {
  const std::optional<Expr> bytes = CacheBytesAt(decoder_, tokens);
  if (!bytes) return std::nullopt;
  return Summed(*bytes);
}

void ServingStepMaker::AddCache(const Expr& kept, const Expr& past, bool writes_fixed,
                                ServingColumn* column) const {
  const Expr fixed = Summed(decoder_.fixed_bytes);
  const auto with = [&](std::optional<Expr> bytes, bool has_fixed) {
    if (bytes && has_fixed) *bytes += fixed;
    return bytes;
  };
  ServingTraffic& traffic = column->traffic;
  column->cache_bytes = with(CacheOf(kept), true);
  column->fixed_cache_bytes = fixed;
  traffic.cache_read = with(CacheOf(past), !writes_fixed);
  // A step writes its states anew.
  traffic.cache_written = with(CacheOf(kept - past), writes_fixed || decoder_.has_states);
  if (!column->tower || !column->requests || !traffic.cache_read || !traffic.cache_written) return;
  // Requests that begin write an encoder's keys and values instead of reading those before.
  const Expr made = FloorDiv(fixed * column->tower->requests, column->requests->count);
  *traffic.cache_read -= made;
  *traffic.cache_written += made;
}

// The bytes of the experts that are read.
absl::StatusOr<Expr> ServingStepMaker::ExpertsRead(const std::vector<int64_t>& list, bool expected,
                                                   bool narrow, ServingColumn* column) const {
  std::vector<std::string> texts;
  Expr bytes = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const ExpertLayer& layer = layers_[i];
    const Expr& of_one = narrow ? layer.narrow_bytes_of_one : layer.bytes_of_one;
    const Expr tokens = Summed(layer.tokens);
    const Expr most = Min(layer.experts, tokens * layer.routed);
    if (list.empty() && (!expected || !tokens.is_literal())) {
      bytes += of_one * most;
      continue;
    }
    absl::int128 reached = 0;
    if (list.empty()) {
      reached = ExpectedExperts(layer.experts, layer.routed, tokens.AsInt64().value_or(0));
    } else {
      const int64_t given = list[list.size() == 1 ? 0 : i];
      if (given > layer.experts || (most.is_literal() && absl::int128(given) > most.literal())) {
        return absl::InvalidArgumentError(
            fmt::format("{}: {} of layer {}: its tokens reach at most {}", Setting("experts"),
                        given, i + 1, most.ToString()));
      }
      reached = absl::int128(given) << kExpectedBits;
    }
    bytes += FloorDiv(of_one * Expr(reached), int64_t{1} << kExpectedBits);
    std::string text = ExpertText(reached, layer.experts);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  column->traffic.expert_counts = std::move(texts);
  column->traffic.experts_expected = list.empty() && expected;
  return bytes;
}

absl::Status ServingStepMaker::AddTraffic(const std::vector<int64_t>& experts, bool expected,
                                          ServingColumn* column) const {
  if (!experts.empty() && experts.size() != 1 && experts.size() != layers_.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} has {} numbers, and {} layers have experts: one number is for all",
                    Setting("experts"), experts.size(), layers_.size()));
  }
  if (!experts.empty() && layers_.empty()) {
    return absl::InvalidArgumentError(WithSettings("{experts}: no layer of the model has experts"));
  }
  const Inference& in = analysis_.inference;
  const std::vector<ValueId> kept = CacheOutputs(*in.model);
  ServingTraffic& traffic = column->traffic;
  ASSIGN_OR_RETURN(const Expr read, ExpertsRead(experts, expected, false, column));
  const ServingTower tower = column->tower.value_or(ServingTower());
  traffic.weights = Summed(LeastTraffic(in, analysis_.counts, std::nullopt, kept).parameters) +
                    read + tower.weights;
  // Count assumes that the largest possible number of experts is read.
  Expr most = 0;
  for (const ExpertLayer& layer : layers_) {
    most += layer.bytes_of_one * Min(layer.experts, Summed(layer.tokens) * layer.routed);
  }
  column->totals.bytes_read += read - most;
  if (!counted_.roofline) return absl::OkStatus();

  const RooflineReport& device = *counted_.roofline;
  const Traffic moved = LeastTraffic(in, analysis_.counts, device.precision, kept);
  ASSIGN_OR_RETURN(const Expr experts_read, ExpertsRead(experts, expected, true, column));
  Expr bytes = Summed(moved.parameters + moved.inputs + moved.outputs) + experts_read + tower.bytes;
  Expr stored = 0, narrow = 0;
  for (const DType type : decoder_.types) {
    const int64_t bits = BitsPerElement(type);
    stored += bits;
    narrow += IsFloat(type) ? std::min(bits, PrecisionBits(device.precision)) : bits;
  }
  if (traffic.cache_written && !stored.is_zero()) {
    bytes += FloorDiv(*traffic.cache_written * narrow, stored);
  }
  if (column->cache_bytes && !stored.is_zero()) {
    Expr held =
        Summed(moved.parameters) + tower.held + FloorDiv(*column->cache_bytes * narrow, stored);
    for (const ExpertLayer& layer : layers_) held += layer.narrow_bytes_of_one * layer.experts;
    traffic.held = held;
  }
  traffic.narrowed = WiderTypes(*in.model, decoder_, device.precision);
  traffic.bytes = bytes;
  ServingTime time;
  time.arithmetic = device.arithmetic_time.value_or(0) + tower.arithmetic;
  time.memory = device.cache_bytes
                    ? device.rates.MemoryTime(Max(0, bytes - Expr(*device.cache_bytes)))
                    : Expr(0);
  time.memory_known = device.cache_bytes.has_value();
  time.device_cache_bytes = device.cache_bytes;
  time.mixed_products = absl::c_any_of(counted_.macs_by_dtype, [](const auto& row) {
    return IsFloat(row.first.a) != IsFloat(row.first.b);
  });
  time.bound = Max(time.arithmetic, time.memory);
  column->time = std::move(time);
  return absl::OkStatus();
}

absl::Status ServingStepMaker::AddMemory(ServingColumn* column) const {
  PeakOptions rule;
  rule.order = options_.memory->order;
  rule.elsewhere = CacheOutputs(*analysis_.inference.model);
  ASSIGN_OR_RETURN(const MemoryPeak peak, FindPeak(analysis_.inference, rule));
  ServingMemory memory;
  memory.weights = column->totals.param_bytes;
  memory.cache = column->cache_bytes;
  memory.lower_bound = peak.unknown > 0;
  std::vector<Expr> sums;
  for (const Expr& sum : peak.sums) sums.push_back(Summed(sum));
  const bool all_numbers =
      std::all_of(sums.begin(), sums.end(), [](const Expr& sum) { return sum.is_literal(); });
  // The tower is done before the decoder begins.
  if (column->tower && column->tower->activations) sums.push_back(*column->tower->activations);
  if (!peak.sums.empty() && all_numbers) {
    memory.activations = LargestOf(sums);
  } else if (!sum_) {
    memory.activations = peak.bytes;
  }
  column->memory = std::move(memory);
  return absl::OkStatus();
}

}  // namespace onnxflops
