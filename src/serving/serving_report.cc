// How it works. A column per step: a prefill of many tokens, or decoding one token after a past.
// The table has the quantities by which a step is judged, FLOP/byte, FLOPs per token and the cache
// afterwards. Sizes that nobody gave are assumed and named. Sentences below the table state what
// each step bound by itself, since other sizes of the model follow from tokens and past. JSON and
// CSV have formulas where sizes are open.
#include "src/serving/serving_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "fmt/format.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/cost/roofline.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/render/text_table.h"
#include "src/report/device_columns.h"
#include "src/report/json_parts.h"

namespace onnxflops {
namespace {

using report::GroupedDigits;
using report::JsonWriter;
using report::Known;
using report::KnownOf;
using report::KnownText;
using report::kOneLine;
using report::LowerBound;
using report::SiNumber;
using report::WithByteUnit;

// The quantities that a step is judged by.
constexpr Expr Amounts::*kServingQuantities[] = {&Amounts::flops, &Amounts::macs,
                                                 &Amounts::bytes_read, &Amounts::bytes_written};

const std::vector<Quantity>& ServingQuantities() {
  static const auto& rows = *new std::vector<Quantity>([] {
    std::vector<Quantity> found;
    std::copy_if(std::begin(kQuantities), std::end(kQuantities), std::back_inserter(found),
                 [](const Quantity& q) {
                   return std::find(std::begin(kServingQuantities), std::end(kServingQuantities),
                                    q.value) != std::end(kServingQuantities);
                 });
    return found;
  }());
  return rows;
}

std::string ShowServing(const std::optional<Expr>& e, bool bytes, const Bindings& at, bool exact) {
  if (!e) return "-";
  const absl::StatusOr<absl::int128> value = e->Evaluate(at);
  if (!value.ok()) return "?";
  std::string number = exact ? GroupedDigits(*value) : SiNumber(*value);
  return bytes ? WithByteUnit(std::move(number)) : number;
}

std::optional<double> IntensityOf(const Totals& totals, const Bindings& at) {
  const auto flops = totals.flops.Evaluate(at);
  const auto bytes = kBytesMoved.In(totals).Evaluate(at);
  if (totals.lower_bound || !flops.ok() || !bytes.ok() || *bytes == 0) return std::nullopt;
  return static_cast<double>(*flops) / static_cast<double>(*bytes);
}

std::string IntensityText(const Totals& totals, const Bindings& at) {
  const std::optional<double> intensity = IntensityOf(totals, at);
  if (totals.lower_bound) return "-";
  if (!intensity || *intensity < 0) return "?";
  const int64_t hundredths = std::llround(*intensity * 100);
  return absl::StrCat(hundredths / 100, ".", hundredths / 10 % 10, hundredths % 10);
}

std::string ColumnTitle(const ServingColumn& column) {
  if (column.requests) {
    return absl::StrCat(column.name, " of ", Plural(column.requests->count, "request"));
  }
  return column.past == 0 ? absl::StrCat(column.name, " ", column.tokens)
                          : absl::StrCat(column.name, " ", column.tokens, " after ", column.past);
}

bool HasMemory(const ServingReport& report) {
  return !report.columns.empty() && report.columns[0].memory.has_value();
}

bool HasTime(const ServingReport& report) {
  return !report.columns.empty() && report.columns[0].time.has_value();
}

std::string PeakText(const ServingColumn& c, const Bindings& at, bool exact) {
  const std::optional<Expr>& peak = c.memory->activations;
  if (!peak) return "?";
  return KnownText(c.memory->lower_bound ? Known::kAtLeast : Known::kExact,
                   ShowServing(peak, true, at, exact));
}

// The sum of weights, cache and activations.
std::optional<Expr> MemoryOf(const ServingColumn& c) {
  if (!c.memory || !c.memory->cache || !c.memory->activations) return std::nullopt;
  return c.memory->weights + *c.memory->cache + *c.memory->activations;
}

// Seconds; nullopt where a size is open, or nothing takes time.
std::optional<double> SecondsOf(const Expr& time, const Bindings& at) {
  const auto value = time.Evaluate(at);
  if (!value.ok() || *value <= 0) return std::nullopt;
  return static_cast<double>(*value) / kTimesPerSecond;
}

// New tokens of a step, of all sequences, with those of images; nullopt where a size is open.
std::optional<absl::int128> TokensOf(const ServingColumn& c, const Bindings& at) {
  const auto tokens = (c.positions.value_or(c.tokens) * c.sequences).Evaluate(at);
  return tokens.ok() ? std::optional(*tokens) : std::nullopt;
}

std::optional<double> PerSecond(std::optional<absl::int128> tokens, const Expr& time,
                                const Bindings& at) {
  const std::optional<double> seconds = SecondsOf(time, at);
  if (!tokens || !seconds) return std::nullopt;
  return static_cast<double>(*tokens) / *seconds;
}

// "1,234" tokens in a second at most.
std::string RateText(const std::optional<double>& rate) {
  if (!rate || *rate >= 0x1p62) return "?";
  return KnownText(Known::kAtMost, *rate < 1000 ? fmt::format("{:.4g}", *rate)
                                                : SiNumber(static_cast<int64_t>(*rate)));
}

// The cause of a time bound.
const char* BoundBy(const ServingTime& time, const Bindings& at) {
  const auto arithmetic = time.arithmetic.Evaluate(at), memory = time.memory.Evaluate(at);
  if (!arithmetic.ok() || !memory.ok() || !time.memory_known) return "?";
  return *arithmetic >= *memory ? "compute" : "memory";
}

// `add(title, cell)`.
template <typename Add>
void AddTimeRows(const ServingReport& report, const Add& add) {
  add("time", [&](const ServingColumn& c) {
    const auto value = c.time->bound.Evaluate(report.at);
    return value.ok() ? KnownText(Known::kAtLeast, report::TimeText(*value, false)) : "?";
  });
  add("bound by", [&](const ServingColumn& c) { return BoundBy(*c.time, report.at); });
  add("tokens per second", [&](const ServingColumn& c) {
    return RateText(PerSecond(TokensOf(c, report.at), c.time->bound, report.at));
  });
  const bool has_requests = std::any_of(report.columns.begin(), report.columns.end(),
                                        [](const ServingColumn& c) { return c.requests; });
  if (!has_requests) return;
  add("generated per second", [&](const ServingColumn& c) {
    return c.requests ? RateText(PerSecond(c.requests->get_a_token, c.time->bound, report.at)) : "";
  });
}

// "image tower"; "encoder".
std::string TowerTitle(const ServingTower& tower) {
  return tower.modality == "image" ? "image tower" : "encoder";
}

// The part of the tower in the row above. `of(tower)`.
template <typename Add, typename Of>
void AddTowerRow(const ServingReport& report, const Add& add, const Of& of) {
  const auto with = std::find_if(report.columns.begin(), report.columns.end(),
                                 [](const ServingColumn& c) { return c.tower.has_value(); });
  if (with == report.columns.end()) return;
  add(absl::StrCat("  ", TowerTitle(*with->tower)),
      [&](const ServingColumn& c) { return c.tower ? of(*c.tower) : std::string(); });
}

template <typename Add>
void AddQuantityRows(const ServingReport& report, bool exact, const Add& add) {
  for (const Quantity& q : ServingQuantities()) {
    add(q.title, [&](const ServingColumn& c) {
      const bool bytes = q.unit == Quantity::Unit::kBytes;
      const Expr& amount = c.totals.*q.value;
      return KnownText(KnownOf(q, amount, c.totals.lower_bound),
                       ShowServing(amount, bytes, report.at, exact));
    });
    if (q.value != &Amounts::flops) continue;
    AddTowerRow(report, add, [&](const ServingTower& tower) {
      return ShowServing(tower.totals.flops, false, report.at, exact);
    });
  }
}

TextTable ServingTable(const ServingReport& report, bool exact) {
  TextTable table;
  table.columns.emplace_back();
  table.columns[0].title = "serving";
  for (const ServingColumn& column : report.columns) {
    table.columns.emplace_back();
    table.columns.back().title = ColumnTitle(column);
    table.columns.back().right = true;
  }
  const auto add = [&](absl::string_view title, const auto& cell) {
    TextTable::Row row;
    row.cells.emplace_back(title);
    for (const ServingColumn& column : report.columns) row.cells.push_back(cell(column));
    table.rows.push_back(std::move(row));
  };
  AddQuantityRows(report, exact, add);
  add("FLOP/byte", [&](const ServingColumn& c) { return IntensityText(c.totals, report.at); });
  add("FLOPs per token", [&](const ServingColumn& c) {
    const auto flops = c.totals.flops.Evaluate(report.at);
    const std::optional<absl::int128> tokens = TokensOf(c, report.at);
    if (!flops.ok() || !tokens || *tokens <= 0) return std::string("?");
    return KnownText(c.totals.lower_bound ? LowerBound(c.totals.flops) : Known::kExact,
                     ShowServing(Expr(*flops / *tokens), false, report.at, exact));
  });
  const auto add_bytes = [&](absl::string_view title, const auto& of) {
    add(title, [&](const ServingColumn& c) { return ShowServing(of(c), true, report.at, exact); });
  };
  using Bytes = std::optional<Expr>;
  add("weights read", [&](const ServingColumn& c) {
    return KnownText(c.traffic.experts_expected && !c.traffic.expert_counts.empty()
                         ? Known::kAssumed
                         : Known::kExact,
                     ShowServing(Bytes(c.traffic.weights), true, report.at, exact));
  });
  AddTowerRow(report, add, [&](const ServingTower& tower) {
    return ShowServing(tower.weights, true, report.at, exact);
  });
  add_bytes("KV cache read", [](const ServingColumn& c) { return c.traffic.cache_read; });
  add_bytes("KV cache written", [](const ServingColumn& c) { return c.traffic.cache_written; });
  add_bytes("KV cache after it", [](const ServingColumn& c) { return c.cache_bytes; });
  if (HasMemory(report)) {
    add("peak activations", [&](const ServingColumn& c) { return PeakText(c, report.at, exact); });
    add("memory at peak", [&](const ServingColumn& c) {
      return KnownText(c.memory->lower_bound ? Known::kAtLeast : Known::kExact,
                       ShowServing(MemoryOf(c), true, report.at, exact));
    });
  }
  if (HasTime(report)) AddTimeRows(report, add);
  return table;
}

std::vector<std::string> SizesOfServing(const ServingReport& report) {
  std::vector<std::string> texts;
  for (const auto& [name, size] : report.bindings) texts.push_back(absl::StrCat(name, " = ", size));
  for (const auto& [name, size] : report.at) {
    texts.push_back(
        absl::StrCat(name, " = ", size, " (assumed", WithSettings("; {dim} sets sizes"), ")"));
  }
  return texts;
}

// "1 to 512"; "1".
std::string SpanText(int64_t least, int64_t most) {
  return least == most ? GroupedDigits(least)
                       : absl::StrCat(GroupedDigits(least), " to ", GroupedDigits(most));
}

// "2 decode, 2 run a chunk of their prompt; 642 tokens, 1 to 512 each, after 1,484, 0 to 800 each".
std::string RequestsText(const ServingColumn& column) {
  const ServingRequests& r = *column.requests;
  std::vector<std::string> kinds;
  const int64_t prompts = r.count - r.decoding, left = r.count - r.get_a_token;
  if (prompts > 0) {
    kinds.push_back(absl::StrCat(
        GroupedDigits(prompts), " in the prompt",
        left > 0 ? absl::StrCat(", ", GroupedDigits(left), " with more chunks to come") : ""));
  }
  if (r.decoding > 0) kinds.push_back(absl::StrCat(GroupedDigits(r.decoding), " decoding"));
  return absl::StrCat(absl::StrJoin(kinds, "; "), "; ", Plural(column.tokens, "token"), " (",
                      SpanText(r.least_tokens, r.most_tokens), " each) after ",
                      GroupedDigits(column.past), " in the cache (",
                      SpanText(r.least_past, r.most_past), " each)");
}

// Says what ran through the tower.
void AddTower(const ServingColumn& column, std::vector<std::string>* sentences) {
  if (!column.tower) return;
  const ServingTower& tower = *column.tower;
  const bool is_image = tower.modality == "image";
  sentences->push_back(absl::StrCat(
      "the ", TowerTitle(tower), " runs ",
      is_image ? Plural(tower.inputs, "image") : Plural(tower.inputs, "piece"),
      is_image ? "" : " of audio", " of ", Plural(tower.requests, "request"),
      is_image ? absl::StrCat(", ", Plural(tower.tokens, "token"), " of the prompts") : "",
      "; all figures of the step include it"));
}

// Names the experts in the bytes.
void AddExperts(const ServingColumn& column, std::vector<std::string>* sentences) {
  const ServingTraffic& traffic = column.traffic;
  if (traffic.expert_counts.empty()) return;
  sentences->push_back(absl::StrCat(
      "experts that the ", ColumnTitle(column),
      " reads: ", absl::StrJoin(traffic.expert_counts, ", "),
      traffic.experts_expected
          ? WithSettings(", as an even routing reaches on average ({experts} gives them)")
          : ""));
}

// A step of several tokens looks like the generation of so many.
void AddAtOnce(const ServingColumn& column, std::vector<std::string>* sentences) {
  if (column.requests || column.name != "decode" || column.tokens < 2) return;
  sentences->push_back(absl::StrCat(
      ColumnTitle(column), " is one step of ", GroupedDigits(column.tokens),
      " tokens at once, as for a chunk of a prompt or to verify a draft; `onnxflops pipeline` "
      "counts tokens that are generated one after another"));
}

// A prompt with images fills more positions than it has tokens of text, and the next step follows
// them all.
void AddPositions(const ServingReport& report, const ServingColumn& column,
                  std::vector<std::string>* sentences) {
  if (!column.sizes_of_no_image.empty()) {
    sentences->push_back(absl::StrCat(
        ColumnTitle(column), " is text alone; with an image, its sizes are given: ",
        Setting("dim", absl::StrCat(absl::StrJoin(column.sizes_of_no_image, "=N,"), "=N"))));
  }
  if (!column.positions) return;
  const auto value = column.positions->Evaluate(report.at);
  if (!value.ok()) return;
  const std::string positions = GroupedDigits(*value);
  sentences->push_back(absl::StrCat(
      ColumnTitle(column), " runs ", positions, " positions: ", GroupedDigits(column.tokens),
      " of text, the others of images. Figures per token divide by all. ",
      Setting("decode", absl::StrCat("1@", Int128ToString(*value))), " is the step after it"));
  for (const ServingColumn& step : report.columns) {
    if (step.name != "decode" || absl::int128(step.past) >= *value) continue;
    sentences->push_back(absl::StrCat(ColumnTitle(step), " has fewer positions in its cache than ",
                                      ColumnTitle(column), " leaves: ", GroupedDigits(step.past),
                                      " of ", positions));
  }
}

// A step whose memory exceeds the device's. The time is then that of several devices at best.
void AddTooSmall(const ServingReport& report, const ServingColumn& column,
                 std::vector<std::string>* sentences) {
  if (!report.device_bytes) return;
  const auto exceeds = [&](const std::optional<Expr>& bytes) {
    if (!bytes) return false;
    const auto value = bytes->Evaluate(report.at);
    return value.ok() && *value > *report.device_bytes;
  };
  const auto add = [&](absl::string_view what, const std::optional<Expr>& bytes) {
    sentences->push_back(absl::StrCat(ColumnTitle(column), " does not fit into ", report.device,
                                      ", which has ", WithByteUnit(SiNumber(*report.device_bytes)),
                                      ": ", what, " ", ShowServing(bytes, true, report.at, false)));
  };
  const std::optional<Expr> peak = MemoryOf(column);
  if (exceeds(column.traffic.held)) {
    add(absl::StrCat("in ", report.dtype, " or narrower, weights and the cache take at least"),
        column.traffic.held);
  } else if (exceeds(peak)) {
    add(absl::StrCat("by the types in the file, memory at peak is",
                     column.memory->lower_bound ? " at least" : ""),
        peak);
  }
}

// What the bounds on time rest on.
void AddTimeRules(const ServingReport& report, std::vector<std::string>* sentences) {
  const ServingTime& time = *report.columns[0].time;
  std::string bytes =
      ": weights and the cache are read once, and what is new in the cache is written";
  if (time.device_cache_bytes) {
    absl::StrAppend(&bytes, ", beyond the ", WithByteUnit(SiNumber(*time.device_cache_bytes)),
                    " that a cache of the device may hold");
  }
  sentences->push_back(
      absl::StrCat("times are bounds on ", report.device, " in ", report.dtype, bytes));
  if (!time.memory_known) sentences->emplace_back(report::kCacheNotKnown);
  if (time.mixed_products) {
    sentences->push_back(absl::StrCat(
        "products of an integer and a wider number are at the peak of int8, in case a kernel "
        "rounds; one that multiplies in ",
        report.dtype, " is no faster than without integers"));
  }
}

// Times are in the device's type, and all other figures in the types of the file.
void AddTypes(const ServingReport& report, std::vector<std::string>* sentences) {
  const std::vector<std::string>& types = report.columns[0].traffic.narrowed;
  if (types.empty()) return;
  std::vector<std::string> held;
  for (const ServingColumn& column : report.columns) {
    if (!column.traffic.held) continue;
    held.push_back(absl::StrCat(
        ShowServing(column.traffic.held, true, report.at, false),
        report.columns.size() > 1 ? absl::StrCat(" (", ColumnTitle(column), ")") : ""));
  }
  sentences->push_back(absl::StrCat(
      HasMemory(report) ? "bytes, the KV cache and memory at peak" : "bytes and the KV cache",
      " are in the types of the file (", absl::StrJoin(types, ", "), "), and times in ",
      report.dtype,
      held.empty()
          ? ""
          : absl::StrCat(": there, weights and the cache take ", absl::StrJoin(held, ", "))));
}

// The part of the cache that is the same after each step.
void AddFixedCache(const ServingReport& report, std::vector<std::string>* sentences) {
  for (const ServingColumn& column : report.columns) {
    if (column.fixed_cache_bytes.is_zero()) continue;
    sentences->push_back(absl::StrCat(
        "the KV cache includes ", ShowServing(column.fixed_cache_bytes, true, report.at, false),
        " that no token adds to, as an encoder's keys and values or states"));
    return;
  }
}

// Sentences about the sizes and inputs that each step sets by itself.
std::vector<std::string> StepSentences(const ServingReport& report) {
  std::vector<std::string> sentences;
  for (const ServingColumn& column : report.columns) {
    std::vector<std::string> sizes;
    if (column.requests) sizes.push_back(RequestsText(column));
    for (const auto& [name, size] : column.bindings)
      sizes.push_back(absl::StrCat(name, " = ", size));
    if (!report.use_cache.empty()) {
      sizes.push_back(absl::StrCat(report.use_cache, " = ", column.past > 0 ? "true" : "false"));
    }
    sentences.push_back(
        absl::StrCat(column.requests ? "" : "step ", ColumnTitle(column), ": ",
                     sizes.empty() ? "no size is open" : absl::StrJoin(sizes, ", "),
                     column.of_configuration ? "; on a graph that the configuration makes" : "",
                     column.causal.empty() ? "" : absl::StrCat("; ", column.causal)));
    AddTower(column, &sentences);
    AddPositions(report, column, &sentences);
    AddAtOnce(column, &sentences);
    AddExperts(column, &sentences);
  }
  if (report.cache_bytes_per_token) {
    sentences.push_back(absl::StrCat(
        "each token adds ", ShowServing(report.cache_bytes_per_token, true, report.at, false),
        " to the KV cache"));
  }
  AddFixedCache(report, &sentences);
  if (HasTime(report)) {
    AddTimeRules(report, &sentences);
  }
  AddTypes(report, &sentences);
  for (const ServingColumn& column : report.columns) AddTooSmall(report, column, &sentences);
  if (HasMemory(report)) {
    sentences.emplace_back(
        "memory at peak: the weights, the cache after the step, and activations in the order of "
        "the file");
  }
  return sentences;
}

void WriteExprOrNull(const char* key, const std::optional<Expr>& e, JsonWriter* json) {
  json->Key(key);
  if (e) {
    json->Quantity(*e);
  } else {
    json->Null();
  }
}

void WriteTower(const ServingTower& tower, JsonWriter* json) {
  json->Key("tower").BeginObject();
  json->Key("modality").String(tower.modality);
  json->Key("inputs").Int(tower.inputs);
  json->Key("requests").Int(tower.requests);
  json->Key("tokens").Int(tower.tokens);
  for (const Quantity& q : ServingQuantities()) {
    const Expr& amount = tower.totals.*q.value;
    json->Key(q.key).Figure(q, amount, report::HasFigure(q, amount, tower.totals.lower_bound));
  }
  json->Key("weights_read_bytes").Quantity(tower.weights);
  json->EndObject();
}

void WriteRequests(const ServingColumn& column, JsonWriter* json) {
  if (!column.traffic.expert_counts.empty()) {
    json->Key("experts").BeginArray(kOneLine);
    for (const std::string& text : column.traffic.expert_counts) json->String(text);
    json->EndArray();
    json->Key("experts_expected").Bool(column.traffic.experts_expected);
  }
  if (!column.requests) return;
  const ServingRequests& requests = *column.requests;
  json->Key("requests").BeginObject(kOneLine);
  json->Key("count").Int(requests.count);
  json->Key("decoding").Int(requests.decoding);
  json->Key("get_a_token").Int(requests.get_a_token);
  json->Key("least_tokens").Int(requests.least_tokens);
  json->Key("most_tokens").Int(requests.most_tokens);
  json->Key("least_past").Int(requests.least_past);
  json->Key("most_past").Int(requests.most_past);
  json->EndObject();
}

void WriteTime(const ServingColumn& column, const Bindings& at, JsonWriter* json) {
  if (!column.time) return;
  json->Key("time").BeginObject();
  const auto write = [&](const char* key, const std::optional<double>& value) {
    json->Key(key);
    if (value) {
      json->Number(*value);
    } else {
      json->Null();
    }
  };
  write("seconds", SecondsOf(column.time->bound, at));
  write("arithmetic_seconds", SecondsOf(column.time->arithmetic, at));
  write("memory_seconds",
        column.time->memory_known ? SecondsOf(column.time->memory, at) : std::nullopt);
  WriteExprOrNull("bytes", column.traffic.bytes, json);
  write("tokens_per_second", PerSecond(TokensOf(column, at), column.time->bound, at));
  if (column.requests) {
    write("generated_per_second", PerSecond(column.requests->get_a_token, column.time->bound, at));
  }
  json->EndObject();
}

void WriteMemory(const ServingColumn& column, JsonWriter* json) {
  if (!column.memory) return;
  json->Key("memory").BeginObject();
  json->Key("weights_bytes").Quantity(column.memory->weights);
  WriteExprOrNull("kv_cache_bytes", column.memory->cache, json);
  WriteExprOrNull("peak_activation_bytes", column.memory->activations, json);
  WriteExprOrNull("bytes", MemoryOf(column), json);
  json->Key("lower_bound").Bool(column.memory->lower_bound);
  json->EndObject();
}

void WriteServingColumn(const ServingColumn& column, const Bindings& at, JsonWriter* json) {
  json->BeginObject();
  json->Key("name").String(column.name);
  json->Key("tokens").Int(column.tokens);
  json->Key("past").Int(column.past);
  if (column.positions) json->Key("positions").Quantity(*column.positions);
  json->Key("sequences").Quantity(column.sequences);
  report::WriteSizes("bindings", column.bindings, json);
  for (const Quantity& q : ServingQuantities()) {
    const Expr& amount = column.totals.*q.value;
    json->Key(q.key).Figure(q, amount, report::HasFigure(q, amount, column.totals.lower_bound));
  }
  json->Key("intensity");
  if (const std::optional<double> intensity = IntensityOf(column.totals, at)) {
    json->Number(*intensity);
  } else {
    json->Null();
  }
  WriteExprOrNull("kv_cache_bytes", column.cache_bytes, json);
  json->Key("weights_read_bytes").Quantity(column.traffic.weights);
  WriteExprOrNull("kv_read_bytes", column.traffic.cache_read, json);
  WriteExprOrNull("kv_written_bytes", column.traffic.cache_written, json);
  WriteRequests(column, json);
  if (column.tower) WriteTower(*column.tower, json);
  WriteTime(column, at, json);
  WriteMemory(column, json);
  json->Key("lower_bound").Bool(column.totals.lower_bound);
  json->EndObject();
}

}  // namespace

std::string ToJson(const ServingReport& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.serving/1");
  report::WriteModel(report.model, &json);
  report::WriteSizes("bindings", report.bindings, &json);
  report::WriteSizes("at", report.at, &json);
  json.Key("token_input").String(report.token_input);
  WriteExprOrNull("kv_cache_bytes_per_token", report.cache_bytes_per_token, &json);
  if (!report.device.empty()) {
    json.Key("device").String(report.device);
    json.Key("dtype").String(report.dtype);
  }
  json.Key("steps").BeginArray();
  for (const ServingColumn& column : report.columns) WriteServingColumn(column, report.at, &json);
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

std::string ToCsv(const ServingReport& report) {
  TextTable table;
  for (const char* title : {"model", "step", "tokens", "past"}) {
    table.columns.emplace_back();
    table.columns.back().title = title;
  }
  for (const Quantity& q : ServingQuantities()) {
    table.columns.emplace_back();
    table.columns.back().title = std::string(q.key);
  }
  std::vector<std::string> titles = {"kv_cache_bytes", "lower_bound", "weights_read_bytes",
                                     "kv_read_bytes", "kv_written_bytes"};
  if (HasTime(report)) titles.emplace_back(QuantityOf(&Amounts::time_bound).key);
  if (HasMemory(report)) titles.emplace_back("memory_bytes");
  for (const std::string& title : titles) {
    table.columns.emplace_back();
    table.columns.back().title = title;
  }
  if (HasTime(report)) report::AddDeviceColumns(&table);
  for (const ServingColumn& column : report.columns) {
    TextTable::Row row;
    row.cells = {report.model.path, column.name, absl::StrCat(column.tokens),
                 absl::StrCat(column.past)};
    for (const Quantity& q : ServingQuantities()) {
      const Expr& amount = column.totals.*q.value;
      row.cells.push_back(
          KnownField(KnownOf(q, amount, column.totals.lower_bound), amount.ToString()));
    }
    const auto add = [&](const std::optional<Expr>& bytes) {
      row.cells.push_back(bytes ? bytes->ToString() : "");
    };
    add(column.cache_bytes);
    row.cells.emplace_back(column.totals.lower_bound ? "true" : "false");
    add(column.traffic.weights);
    add(column.traffic.cache_read);
    add(column.traffic.cache_written);
    if (HasTime(report)) {
      row.cells.push_back(FieldText(QuantityOf(&Amounts::time_bound), column.time->bound));
    }
    if (HasMemory(report)) add(MemoryOf(column));
    if (HasTime(report)) report::AddDeviceCells(report.device, report.dtype, &row);
    table.rows.push_back(std::move(row));
  }
  return DrawCsv(table);
}

Document ToDocument(const ServingReport& report, const ViewOptions& options) {
  Document document;
  document.title = report.model.path;
  report::LabelledLine model = {"model", {report.model.path}};
  for (std::string& text : SizesOfServing(report)) model.texts.push_back(std::move(text));
  document.Add(Document::Lines{{std::move(model)}});
  document.Add(Document::Table{ServingTable(report, options.exact)});
  document.Add(Document::List{"", StepSentences(report)});
  return document;
}

}  // namespace onnxflops
