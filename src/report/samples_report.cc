// How it works. A sum over samples is linear, so every formula of the report is replaced by its
// sum, and rows still add up to the totals. Weights count once, whatever the samples are. Symbols
// that were summed are no longer open sizes.
#include "src/report/samples_report.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "fmt/format.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/report/json_parts.h"
#include "src/report/report.h"

namespace onnxflops {

double SamplesReport::Waste() const {
  if (!has_rectangle || !flops.is_literal() || !rectangle.flops.is_literal() ||
      rectangle.flops.is_zero()) {
    return -1;
  }
  return 1 - static_cast<double>(flops.literal()) / static_cast<double>(rectangle.flops.literal());
}

double SamplesReport::OnceShare() const {
  if (!flops.is_literal() || flops.is_zero() || !once_flops.is_literal()) return 0;
  return static_cast<double>(once_flops.literal()) / static_cast<double>(flops.literal());
}

namespace report {
namespace {

constexpr size_t kMaxShownMixing = 8;

std::string PercentOf(double share) {
  constexpr double kPercent = 100;
  return fmt::format("{:.3g} %", kPercent * share);
}

// "3 x 512", "1 x 829"; of several sizes "batch = 4, past = 800, seq = 512"; of text and images in
// one sequence "2 x 484 tokens".
std::string RectangleText(const SamplesReport& samples) {
  if (samples.row_tokens) {
    return absl::StrCat(GroupedDigits(samples.samples), " x ", GroupedDigits(*samples.row_tokens),
                        " tokens");
  }
  const bool by_name = samples.sizes.size() > 1;
  std::vector<std::string> sides;
  const auto add = [&](const std::string& symbol) {
    const int64_t size = samples.rectangle_sizes.at(symbol);
    sides.push_back(absl::StrCat(by_name ? absl::StrCat(symbol, " = ") : "", GroupedDigits(size)));
  };
  if (!samples.count.empty()) add(samples.count);
  for (const SamplesReport::Size& size : samples.sizes) add(size.symbol);
  return absl::StrJoin(sides, by_name ? ", " : " x ");
}

// Of the first input that has this size; "" if it has none.
absl::string_view ModalityOf(const Report& report, const std::string& symbol) {
  for (const InputInfo& input : report.inputs) {
    if (!input.shape.ranked()) continue;
    const Dims& dims = input.shape.dims();
    if (std::none_of(dims.begin(), dims.end(),
                     [&](const Expr& dim) { return dim == Expr::Symbol(symbol); })) {
      continue;
    }
    const absl::string_view modality = ModalityOfInput(input.name);
    if (!modality.empty()) return modality;
    if (absl::StrContains(input.type, "int") && dims.size() == 2) return "text";
  }
  return "";
}

// "text 27 %, image 70 %, both together 3 % of the FLOPs".
std::string ModalityText(const SamplesReport& samples) {
  std::vector<std::string> parts;
  for (const SamplesReport::Modality& modality : samples.modalities) {
    const Expr& flops = modality.work.flops;
    if (!flops.is_literal() || !samples.flops.is_literal() || samples.flops.is_zero()) return "";
    parts.push_back(absl::StrCat(modality.name, " ", SiExpr(flops), " FLOPs, ",
                                 PercentOf(static_cast<double>(flops.literal()) /
                                           static_cast<double>(samples.flops.literal()))));
  }
  return absl::StrJoin(parts, "; ");
}

// "3 samples of audio, 89.5 s, in 4 chunks of 30 s: 12.3 G FLOPs, 23.9 % of it, are padding".
std::string ChunkText(const SamplesReport& samples, bool lower_bound) {
  const SamplesReport::Chunks& chunks = *samples.chunks;
  const auto seconds = [&](absl::int128 size) {
    constexpr int kHundredths = 100;
    const absl::int128 all = size * kHundredths / chunks.per_second;
    const auto part = static_cast<int>(all % kHundredths);
    const std::string decimals =
        part == 0 ? "" : fmt::format("{:.2g}", static_cast<double>(part) / kHundredths).substr(1);
    return absl::StrCat(GroupedDigits(all / kHundredths), decimals, " s");
  };
  std::string text =
      absl::StrCat("audio of ", Plural(chunks.samples, "sample"), ", ", seconds(chunks.sum),
                   ", in ", Plural(samples.samples, "chunk"), " of ", seconds(chunks.size));
  const Expr& padding = chunks.padding.flops;
  if (lower_bound || !padding.is_literal() || !samples.flops.is_literal() ||
      samples.flops.is_zero()) {
    return text;
  }
  const double share =
      static_cast<double>(padding.literal()) / static_cast<double>(samples.flops.literal());
  return absl::StrCat(text, ": ", PercentOf(share), " of the FLOPs wasted on padding");
}

// An image of no size still has the tokens of the whole image (LLaVA-NeXT), which a text alone does
// not: the length of the text without them. Empty if there are none. `none`: all sizes, as 0.
Replacements WithoutBaseTokens(const Report& report, const SamplesReport::Modality& text,
                               const Bindings& none) {
  constexpr size_t kLogitsRank = 3;
  if (absl::string_view(text.name) != "text" || text.sizes.size() != 1) return {};
  if (report.outputs.empty() || !report.outputs[0].shape.ranked()) return {};
  const Dims& logits = report.outputs[0].shape.dims();
  const Expr length = Expr::Symbol(text.sizes[0]);
  if (logits.size() != kLogitsRank) return {};
  const Expr base = (logits[1] - length).Substitute(none);
  if (!base.is_literal() || base.literal() <= 0) return {};
  return {{text.sizes[0], length - base}};
}

// Whether the model takes images or audio.
bool TakesMedia(const std::vector<InputInfo>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const InputInfo& input) { return !ModalityOfInput(input.name).empty(); });
}

class SamplesSummer {
 public:
  explicit SamplesSummer(const SampleSum& sum) : sum_(sum) {}

  void Sum(Report* report) {
    Describe(*report);
    AllAmounts(&report->totals);
    report->totals.SetBackward(report->exact_backward());
    for (Census* census : {&report->census, &report->int_census}) {
      const Census before = *census;
      before.ForEach([&](Kind kind, const Expr& amount) { (*census)[kind] = sum_.Of(amount); });
    }
    for (auto& [operands, amount] : report->macs_by_dtype) amount = sum_.Of(amount);
    if (report->training) AllOf(&*report->training);
    if (report->roofline) AllOf(&*report->roofline);
    for (OpRow& row : report->by_op) AllAmounts(&row);
    for (NodeRow& row : report->nodes) AllAmounts(&row);
    for (Module& module : report->modules) AllOf(&module);
    TakeSymbols(report);
    report->samples = std::move(samples_);
  }

 private:
  void Describe(const Report& report) {
    const SampleSizes& sizes = sum_.sizes();
    samples_.count = sizes.count;
    samples_.samples = sizes.samples();
    samples_.packed = sizes.packed;
    for (size_t i = 0; i < sizes.symbols.size(); ++i) {
      samples_.sizes.push_back(
          {sizes.symbols[i], sizes.LeastOf(i), sizes.LargestOf(i), sizes.SumOf(i)});
    }
    samples_.rectangle_sizes = sizes.Rectangle();
    if (sizes.joint) samples_.row_tokens = sizes.joint->tokens;
    samples_.has_rectangle = sizes.has_rectangle && !(sizes.packed && TakesMedia(report.inputs));
    const Totals& totals = report.totals;
    samples_.flops = sum_.Of(totals.flops);
    samples_.once_flops = sum_.OnceOfSizes(totals.flops);
    samples_.rectangle = {sum_.Padded(totals.flops), sum_.Padded(totals.macs),
                          sum_.Padded(totals.training_flops)};
    samples_.one_by_one = {sum_.OneByOne(totals.flops), sum_.OneByOne(totals.macs),
                           sum_.OneByOne(totals.training_flops)};
    SplitByModality(report);
    if (sizes.chunks) DescribeChunks(report, *sizes.chunks);
    for (const OpRow& row : report.by_op) {
      if (samples_.mixing.size() == kMaxShownMixing) break;
      const bool mixes =
          sum_.Mixes(row.flops) || sum_.Mixes(row.int_ops) || sum_.Mixes(row.gradient_flops);
      if (mixes) samples_.mixing.push_back(row.op);
    }
  }

  void DescribeChunks(const Report& report, const SampleSizes::Chunks& chunks) {
    const Totals& totals = report.totals;
    samples_.chunks = {chunks.symbol,
                       chunks.samples,
                       samples_.rectangle_sizes.at(chunks.symbol),
                       chunks.per_second,
                       chunks.sum,
                       {sum_.PaddingOfChunks(totals.flops), sum_.PaddingOfChunks(totals.macs),
                        sum_.PaddingOfChunks(totals.training_flops)}};
  }

  // Work of one modality is what is left of the formula if the sizes of all others are 0.
  void SplitByModality(const Report& report) {
    std::vector<SamplesReport::Modality> found;
    for (const char* name : {"text", "image", "audio"}) {
      SamplesReport::Modality& modality = found.emplace_back();
      modality.name = name;
      for (const SamplesReport::Size& size : samples_.sizes) {
        if (ModalityOf(report, size.symbol) == name) modality.sizes.push_back(size.symbol);
      }
      if (modality.sizes.empty()) found.pop_back();
    }
    if (found.size() < 2) return;
    const Totals& totals = report.totals;
    SamplesReport::Work rest = {sum_.Of(totals.flops), sum_.Of(totals.macs),
                                sum_.Of(totals.training_flops)};
    Bindings none;
    for (const SamplesReport::Modality& modality : found) {
      for (const std::string& symbol : modality.sizes) none[symbol] = 0;
    }
    const Replacements alone = WithoutBaseTokens(report, found[0], none);
    for (SamplesReport::Modality& modality : found) {
      Bindings others = none;
      for (const std::string& symbol : modality.sizes) others.erase(symbol);
      const bool is_text = &modality == &found[0];
      const auto own = [&](const Expr& e, Expr* left) {
        const Expr of_text = alone.empty() ? e : e.Replace(alone);
        const Expr& of_one = is_text ? of_text : e;
        Expr part = sum_.Of(of_one.Substitute(others) - of_text.Substitute(none));
        *left -= part;
        return part;
      };
      modality.work = {own(totals.flops, &rest.flops), own(totals.macs, &rest.macs),
                       own(totals.training_flops, &rest.training_flops)};
    }
    found.push_back({"together", {}, std::move(rest)});
    samples_.modalities = std::move(found);
  }

  void AllAmounts(Amounts* amounts) {
    for (const Quantity& q : kQuantities) {
      if (q.of == Quantity::Of::kWork) amounts->*q.value = sum_.Of(amounts->*q.value);
    }
  }

  void AllOf(TrainingReport* training) {
    training->recompute_flops = sum_.Of(training->recompute_flops);
    training->recompute_macs = sum_.Of(training->recompute_macs);
    for (GradientRow& row : training->by_op) {
      row.flops = sum_.Of(row.flops);
      row.macs = sum_.Of(row.macs);
    }
  }

  void AllOf(RooflineReport* roofline) {
    for (std::optional<Expr>* amount : {&roofline->arithmetic_time, &roofline->compulsory_bytes,
                                        &roofline->fused_time_estimate}) {
      if (*amount) *amount = sum_.Of(**amount);
    }
  }

  // Modules of one kind still share their amounts.
  void AllOf(Module* module) {
    std::shared_ptr<const Amounts>& shared = shared_[module->amounts];
    if (shared == nullptr) {
      Amounts summed = *module->amounts;
      AllAmounts(&summed);
      shared = std::make_shared<const Amounts>(std::move(summed));
    }
    module->amounts = shared;
  }

  void TakeSymbols(Report* report) {
    std::erase_if(report->symbols, [&](const SymbolOrigin& symbol) {
      return symbol.name == samples_.count ||
             std::any_of(samples_.sizes.begin(), samples_.sizes.end(),
                         [&](const SamplesReport::Size& s) { return s.symbol == symbol.name; });
    });
    for (SymbolOrigin& symbol : report->symbols) {
      if (symbol.at_most) symbol.at_most = symbol.at_most->Substitute(samples_.rectangle_sizes);
      if (symbol.sum) symbol.sum = symbol.sum->Substitute(samples_.rectangle_sizes);
    }
  }

  const SampleSum& sum_;
  SamplesReport samples_;
  absl::flat_hash_map<std::shared_ptr<const Amounts>, std::shared_ptr<const Amounts>> shared_;
};

void WriteSizes(const std::vector<SamplesReport::Size>& sizes, JsonWriter* json) {
  json->Key("sizes").BeginObject();
  for (const SamplesReport::Size& size : sizes) {
    json->Key(size.symbol).BeginObject(kOneLine);
    json->Key("sum").Int(size.sum);
    json->Key("least").Int(size.least);
    json->Key("largest").Int(size.largest);
    json->EndObject();
  }
  json->EndObject();
}

void WriteWork(const SamplesReport::Work& work, bool lower_bound, JsonWriter* json) {
  for (const auto& [name, amount] : {std::pair<const char*, const Expr&>("flops", work.flops),
                                     {"macs", work.macs},
                                     {"training_flops", work.training_flops}}) {
    json->Key(name).Quantity(amount, HasFigure(amount, lower_bound));
  }
}

// Without sizes and figures where there is none.
void WriteRectangle(const SamplesReport& samples, bool lower_bound, JsonWriter* json) {
  json->Key("rectangle").BeginObject(kOneLine);
  json->Key("sizes").BeginObject(kOneLine);
  if (samples.has_rectangle) {
    for (const auto& [symbol, size] : samples.rectangle_sizes) {
      if (!samples.row_tokens || symbol == samples.count) json->Key(symbol).Int(size);
    }
    if (samples.row_tokens) json->Key("tokens").Int(*samples.row_tokens);
  }
  json->EndObject();
  if (samples.has_rectangle) {
    WriteWork(samples.rectangle, lower_bound, json);
  } else {
    for (const char* const name : {"flops", "macs", "training_flops"}) json->Key(name).Null();
  }
  json->EndObject();
}

}  // namespace

absl::string_view ModalityOfInput(absl::string_view name) {
  constexpr std::pair<absl::string_view, absl::string_view> kBegins[] = {
      {"pixel_values", "image"}, {"image", "image"},          {"video", "image"},
      {"audio", "audio"},        {"input_features", "audio"}, {"input_values", "audio"}};
  for (const auto& [begin, modality] : kBegins) {
    if (absl::StartsWith(name, begin)) return modality;
  }
  return "";
}

std::vector<std::string> SampleTexts(const SamplesReport& samples, bool lower_bound) {
  std::vector<std::string> texts;
  std::string sum = Plural(samples.samples, "sample");
  for (const SamplesReport::Size& size : samples.sizes) {
    if (samples.samples == 1) {
      absl::StrAppend(&sum, ", ", size.symbol, " ", GroupedDigits(size.largest));
      continue;
    }
    const std::string range =
        size.least == size.largest
            ? absl::StrCat(GroupedDigits(size.least), " each")
            : absl::StrCat(GroupedDigits(size.least), " to ", GroupedDigits(size.largest));
    absl::StrAppend(&sum, ", ", size.symbol, " ", range, " (", GroupedDigits(size.sum), " in all)");
  }
  if (samples.as_row) absl::StrAppend(&sum, ", in a row that attention takes as one sequence");
  if (samples.packed && !samples.has_rectangle) absl::StrAppend(&sum, ", packed into one row");
  texts.push_back(std::move(sum));
  if (samples.chunks) texts.push_back(ChunkText(samples, lower_bound));
  const double waste = samples.Waste();
  if (waste >= 0 && !lower_bound) {
    texts.push_back(absl::StrCat(
        samples.as_row   ? "row of "
        : samples.packed ? "as one row of "
                         : "padded to ",
        RectangleText(samples), ": ", SiExpr(samples.rectangle.flops), " FLOPs, ", PercentOf(waste),
        " of it ", samples.packed ? "attention between samples" : "wasted on padding"));
  }
  if (std::string text = ModalityText(samples); !text.empty() && !lower_bound) {
    texts.push_back(std::move(text));
  }
  constexpr double kLeastShown = 1e-3;
  const double once = samples.OnceShare();
  if (once >= kLeastShown && !lower_bound) {
    texts.push_back(absl::StrCat(PercentOf(once), " done once in a run, at the largest sizes"));
  }
  if (!samples.mixing.empty()) {
    texts.push_back(absl::StrCat(
        absl::StrJoin(samples.mixing, ", "), samples.mixing.size() == 1 ? " mixes" : " mix",
        " samples: counted as in ", samples.packed ? "one row" : "the padded batch"));
  }
  return texts;
}

void AddSampleLines(const SamplesReport& samples, bool lower_bound,
                    std::vector<LabelledLine>* lines) {
  const char* label = "samples";
  for (std::string& text : SampleTexts(samples, lower_bound)) {
    lines->push_back({std::exchange(label, ""), {std::move(text)}});
  }
}

void WriteSamples(const SamplesReport& samples, bool lower_bound, JsonWriter* json) {
  json->Key("samples").BeginObject();
  json->Key("count").Int(samples.samples);
  json->Key("count_symbol").String(samples.count);
  json->Key("layout").String(samples.as_row ? "row" : samples.packed ? "packed" : "rows");
  WriteSizes(samples.sizes, json);
  const auto write_work = [&](const char* key, const SamplesReport::Work& work) {
    json->Key(key).BeginObject(kOneLine);
    WriteWork(work, lower_bound, json);
    json->EndObject();
  };
  WriteRectangle(samples, lower_bound, json);
  write_work("one_by_one", samples.one_by_one);
  if (!samples.modalities.empty()) {
    json->Key("modalities").BeginArray();
    for (const SamplesReport::Modality& modality : samples.modalities) {
      json->BeginObject(kOneLine);
      json->Key("name").String(modality.name);
      json->Key("sizes").BeginArray();
      for (const std::string& symbol : modality.sizes) json->String(symbol);
      json->EndArray();
      WriteWork(modality.work, lower_bound, json);
      json->EndObject();
    }
    json->EndArray();
  }
  if (samples.chunks) {
    const SamplesReport::Chunks& chunks = *samples.chunks;
    json->Key("audio").BeginObject();
    json->Key("samples").Int(chunks.samples);
    json->Key("symbol").String(chunks.symbol);
    json->Key("sum").Int(chunks.sum);
    json->Key("chunk").Int(chunks.size);
    json->Key("per_second").Int(chunks.per_second);
    write_work("padding", chunks.padding);
    json->EndObject();
  }
  json->Key("mixing").BeginArray(kOneLine);
  for (const std::string& op : samples.mixing) json->String(op);
  json->EndArray();
  json->EndObject();
}

void SumOverSamples(const SampleSum& sum, Report* report) { SamplesSummer(sum).Sum(report); }

}  // namespace report
}  // namespace onnxflops
