// How it works. The results of the memory stage become text: the peak of inference with its live
// tensors, what training saves, the peak of a step, the KV cache, and what fits into a given
// memory. Figures are shown at the sizes of the title. A sum that lacks a part is a lower bound
// ("at least"); a sum that may be off in either direction is a guess ("about"). Formulas are added
// if they depend on open sizes; if a formula does not hold for all sizes, this is stated instead.
// Formulas of training hold for sizes from 2; figures at a size of 1 are counted there.
#include "src/report/memory_report.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/setting.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/report/memory_lines.h"
#include "src/report/node_rows.h"
#include "src/report/reference_sizes.h"

namespace onnxflops::report {
namespace {

constexpr size_t kMaxAlive = 16;       // tensors that a report lists
constexpr size_t kMaxShownAlive = 4;   // of those, for people
constexpr size_t kMaxShownPeak = 160;  // characters of a formula

// Figures at the sizes of the title.
class ByteTexts {
 public:
  ByteTexts(const Report& report, bool exact) : values_(report), exact_(exact) {}

  std::string Of(const std::optional<absl::int128>& bytes, bool lower_bound = false,
                 bool guessed = false) const {
    if (!bytes || *bytes < 0) return "?";
    return KnownText(GuessOrBound(*bytes, guessed, lower_bound),
                     WithByteUnit(exact_ ? GroupedDigits(*bytes) : SiNumber(*bytes)));
  }
  std::string Of(const Expr& bytes, bool lower_bound = false, bool guessed = false) const {
    return Of(values_.Of(bytes), lower_bound, guessed);
  }
  // True if the part is 1 % of the whole or more.
  bool IsPart(const Expr& bytes, const std::optional<absl::int128>& whole) const {
    const std::optional<absl::int128> part = values_.Of(bytes);
    return part && whole && *part >= *whole / 100;
  }

 private:
  const ReferenceValues values_;
  const bool exact_;
};

std::string PlaceOf(const PeakRow& row) {
  return row.node.empty() ? ""
                          : absl::StrCat(" at ", row.node, " (", OpLabel(row.domain, row.op), ")");
}

// "in backward of /fc/Gemm (Gemm)".
std::string PlaceOf(const StepRow& step) {
  return absl::StrCat("in ", step.phase,
                      step.node.empty()
                          ? ""
                          : absl::StrCat(step.phase == "backward" ? " of " : " at ", step.node,
                                         " (", OpLabel(step.domain, step.op), ")"));
}

std::string RuleText(const PeakRow& row) {
  if (!row.views) return "if views copy";
  if (!row.in_place) return "views share memory";
  return row.inputs ? "and over the model's inputs" : "if element-wise writes in place";
}

void AddRow(const std::string& name, std::string bytes, std::string text, int indent,
            TextTable* table) {
  table->rows.push_back({{name, std::move(bytes), std::move(text)}, indent, indent == 0});
}

// The peak of inference, and the same under other rules of memory sharing.
void AddPeakRows(const MemoryReport& memory, const ByteTexts& texts, TextTable* table) {
  const bool is_bound = memory.unknown_sizes > 0;
  std::string text = absl::StrCat(
      "activations", PlaceOf(memory.peak), "; ", RuleText(memory.peak), ", ",
      memory.options.order == ExecutionOrder::kOrt ? "ONNX Runtime's order" : "order of the file");
  if (is_bound) {
    absl::StrAppend(&text, "; ", Plural(memory.unknown_sizes, "tensor"), " of unknown size");
  }
  AddRow("inference", texts.Of(memory.peak.value, is_bound), std::move(text), 0, table);
  for (const PeakRow& row : memory.other) {
    AddRow(RuleText(row), texts.Of(row.value, is_bound), "", 1, table);
  }
}

LabelledLine AliveLine(const MemoryReport& memory, const ByteTexts& texts) {
  LabelledLine line = {"alive", {"at the peak of inference"}};
  for (const AliveTensor& tensor : memory.alive) {
    if (line.texts.size() == kMaxShownAlive + 1) break;
    line.texts.push_back(absl::StrCat("tensor ", tensor.name, " ",
                                      TensorText(tensor.type, tensor.shape), " ",
                                      texts.Of(tensor.bytes)));
  }
  const int64_t more = static_cast<int64_t>(memory.alive.size()) + memory.alive_omitted -
                       (static_cast<int64_t>(line.texts.size()) - 1);
  if (more > 0) line.texts.push_back(absl::StrCat("and ", more, " more"));
  if (memory.alive_inside != Expr(0)) {
    line.texts.push_back(absl::StrCat("inside its bodies ", texts.Of(memory.alive_inside)));
  }
  return line;
}

// The type in which the optimizer keeps its state; "" if it keeps none.
std::string StateTypeText(const TrainingOptions& training) {
  if (InfoOf(training.optimizer).states == 0) return "";
  return training.float32_masters ? "in float32" : "in the type of the parameters";
}

// The memory of the loss. Most models train with cross entropy, so its memory is shown if it
// matters for the step.
void AddLossRows(const MemoryReport& memory, const ByteTexts& texts, TextTable* table) {
  const StepRow& step = memory.step;
  const Loss loss = memory.options.training.loss;
  const std::string of = step.loss_output.empty() ? "" : absl::StrCat("of ", step.loss_output);
  AddRow(absl::StrCat("loss ", LossName(loss)), texts.Of(step.loss_bytes),
         loss == Loss::kCrossEntropy ? of : "", 1, table);
  const bool matters = texts.IsPart(step.cross_entropy_bytes, step.value);
  if (loss != Loss::kSum || step.loss_output.empty() || !matters) return;
  AddRow(absl::StrCat("with loss ", LossName(Loss::kCrossEntropy)),
         texts.Of(step.cross_entropy_bytes), absl::StrCat(of, ", instead"), 1, table);
}

// The peak of a training step, and its parts.
void AddStepRows(const MemoryReport& memory, const ByteTexts& texts, TextTable* table) {
  const TrainingOptions& training = memory.options.training;
  const StepRow& step = memory.step;
  AddRow("training step", texts.Of(step.value, step.lower_bound, step.guessed),
         absl::StrCat("at its peak, ", PlaceOf(step)), 0, table);
  AddRow("parameters", texts.Of(Expr(memory.param_bytes)), "", 1, table);
  std::string kept = "what backward needs of the forward pass";
  if (memory.unknown_saved > 0) {
    absl::StrAppend(
        &kept, "; for ", Plural(memory.unknown_saved, "node"),
        memory.saved_guessed ? KnownText(Known::kAssumed, " it is a guess") : " it is not known",
        memory.unknown_saved_op.empty() ? "" : absl::StrCat(", such as ", memory.unknown_saved_op));
  }
  AddRow("activations kept",
         texts.Of(memory.saved_value, memory.unknown_saved > 0, memory.saved_guessed),
         std::move(kept), 1, table);
  AddRow("gradients", texts.Of(Expr(memory.gradient_bytes)), "", 1, table);
  AddRow(absl::StrCat("optimizer ", InfoOf(training.optimizer).name),
         texts.Of(Expr(memory.optimizer_bytes)), StateTypeText(training), 1, table);
  if (memory.master_bytes > 0) {
    AddRow("float32 masters", texts.Of(Expr(memory.master_bytes)), "", 1, table);
  } else if (training.float32_masters) {
    AddRow("float32 masters", texts.Of(Expr(0)), "no parameter is narrower", 1, table);
  }
  AddLossRows(memory, texts, table);
}

// Formulas of training say from which sizes on they hold.
void AddPeakFormulas(const MemoryReport& memory, bool exact, std::vector<LabelledLine>* lines) {
  const auto add = [&](const char* name, const std::optional<Expr>& bytes, bool lower_bound,
                       bool guessed = false, absl::string_view holds = "") {
    if (bytes && bytes->is_literal()) return;
    if (!bytes) {
      lines->push_back({"",
                        {absl::StrCat(name, ": which step is the peak depends on too many sizes",
                                      " for a formula")}});
      return;
    }
    std::string text = absl::StrCat(GroupedExpr(*bytes), holds);
    if (!exact && text.size() > kMaxShownPeak)
      text = absl::StrCat("(long", WithSettings(": {exact on} shows it"), ")");
    const bool is_bound = lower_bound && !guessed;
    lines->push_back(
        {lines->size() == 1 ? "formula" : "",
         {absl::StrCat(name, " ",
                       is_bound ? KnownText(Known::kAtLeast, text) : absl::StrCat("= ", text),
                       guessed ? ", a guess" : "")}});
  };
  const std::string from = absl::StrCat("   for sizes >= ", kMinTrainingSize);
  add("peak bytes", memory.peak.bytes, memory.unknown_sizes > 0);
  add("kept bytes", memory.saved_bytes, memory.unknown_saved > 0, memory.saved_guessed, from);
  add("step bytes", memory.step.bytes, memory.step.lower_bound, memory.step.guessed, from);
}

LabelledLine CacheLine(const CacheReport& cache, const ByteTexts& texts, bool exact) {
  LabelledLine line = {"KV cache", {}};
  if (cache.bytes_per_token) {
    line.texts.push_back(
        absl::StrCat(cache.bytes_per_token->is_literal()
                         ? texts.Of(*cache.bytes_per_token)
                         : absl::StrCat(exact ? GroupedExpr(*cache.bytes_per_token)
                                              : cache.bytes_per_token->Shortened(kMaxShownPeak),
                                        " bytes"),
                     " per token"));
  }
  line.texts.push_back(
      absl::StrCat(texts.Of(cache.bytes), " at length ", cache.length.Shortened(kMaxShownPeak)));
  if (cache.bytes_after) {
    line.texts.push_back(absl::StrCat(texts.Of(*cache.bytes_after), " after the run, at length ",
                                      cache.length_after.Shortened(kMaxShownPeak)));
  }
  line.texts.push_back(Plural(cache.tensors, "past input"));
  if (cache.fixed_bytes != Expr(0)) {
    line.texts.push_back(
        absl::StrCat(texts.Of(cache.fixed_bytes), " more that does not grow with tokens"));
  }
  return line;
}

// Training makes no cache. With few trained parameters, as of LoRA, more may fit than in inference.
bool LessFitsForCache(const MemoryReport& memory, const FitRow& row) {
  if (!memory.cache || row.name != kFitInference || !row.largest) return false;
  return std::any_of(memory.fit->rows.begin(), memory.fit->rows.end(), [&](const FitRow& other) {
    return !other.largest || *other.largest > *row.largest;
  });
}

LabelledLine FitLine(const MemoryReport& memory) {
  const FitReport& fit = *memory.fit;
  const absl::string_view optimizer = InfoOf(memory.options.training.optimizer).name;
  LabelledLine line = {"fit", {absl::StrCat("into ", WithByteUnit(GroupedDigits(fit.bytes)))}};
  for (const FitRow& row : fit.rows) {
    line.texts.push_back(absl::StrCat(
        row.name == kFitEntropy ? "with loss cross_entropy" : row.name,
        row.name == kFitTraining && optimizer == "none" ? " without an optimizer" : "", ": ",
        row.at_most   ? "at most "
        : row.guessed ? "about "
                      : "",
        fit.symbol,
        !row.largest        ? " of any size"
        : *row.largest == 0 ? " = 1 is too large"
                            : absl::StrCat(" = ", GroupedDigits(*row.largest)),
        row.of_model ? ", as much as the model takes" : "",
        LessFitsForCache(memory, row) ? ", with the KV cache, which training does not make" : ""));
  }
  return line;
}

// What exceeds the memory of the device whose time is bounded.
void AddTooLarge(const Report& report, const ByteTexts& texts, std::vector<LabelledLine>* lines) {
  if (!report.roofline || !report.roofline->memory_bytes) return;
  const MemoryReport& memory = *report.memory;
  const absl::int128 room = *report.roofline->memory_bytes;
  LabelledLine line = {"device",
                       {absl::StrCat(report.roofline->device, " has ", texts.Of(Expr(room)))}};
  const auto add = [&](absl::string_view what, const std::optional<absl::int128>& bytes,
                       bool lower_bound, bool guessed) {
    if (!bytes || *bytes <= room) return;
    line.texts.push_back(absl::StrCat(what,
                                      " does not fit: ", texts.Of(bytes, lower_bound, guessed),
                                      " by the types in the file"));
  };
  std::optional<absl::int128> inference = memory.peak.value;
  if (inference) *inference += memory.param_bytes;
  add("inference with parameters", inference, memory.unknown_sizes > 0, false);
  add("the training step", memory.step.value, memory.step.lower_bound, memory.step.guessed);
  if (line.texts.size() > 1) lines->push_back(std::move(line));
}

}  // namespace

PeakRow DescribePeak(const Inference& inference, const PeakOptions& rule, const MemoryPeak& peak) {
  PeakRow row;
  row.views = rule.views;
  row.in_place = rule.in_place;
  row.inputs = rule.inputs;
  row.bytes = peak.bytes;
  row.value = peak.value;
  row.sums = peak.sums;
  for (NodeId id : peak.nodes) {
    row.sum_nodes.push_back(NodeLabel(*inference.model, inference.model->node(id)));
  }
  if (peak.node) {
    const Node& node = inference.model->node(*peak.node);
    row.node = NodeLabel(*inference.model, node);
    row.op = std::string(node.op_type);
    row.domain = std::string(node.domain);
  }
  return row;
}

StepRow DescribeStep(const Inference& inference, const StepPeak& peak) {
  StepRow row;
  row.bytes = peak.bytes;
  row.value = peak.value;
  row.sums = peak.sums;
  row.phase = std::string(PhaseName(peak.phase));
  row.loss_bytes = peak.loss_bytes;
  row.cross_entropy_bytes = peak.cross_entropy_bytes;
  if (peak.loss_output)
    row.loss_output = std::string(inference.model->value(*peak.loss_output).name);
  if (!peak.node) return row;
  const Node& node = inference.model->node(*peak.node);
  row.node = NodeLabel(*inference.model, node);
  row.op = std::string(node.op_type);
  row.domain = std::string(node.domain);
  return row;
}

void DescribeAlive(const Inference& inference, const MemoryPeak& peak, MemoryReport* memory) {
  memory->unknown_sizes = peak.unknown;
  memory->alive_inside = peak.inside;
  const size_t shown = std::min(peak.alive.size(), kMaxAlive);
  memory->alive_omitted = static_cast<int64_t>(peak.alive.size() - shown);
  for (size_t i = 0; i < shown; ++i) {
    const LiveValue& live = peak.alive[i];
    const Fact* fact = inference.FactOf(live.value);
    TensorInfo info = DescribeTensor(std::string(inference.model->value(live.value).name),
                                     fact == nullptr ? Fact::Unknown() : *fact);
    memory->alive.push_back(
        {std::move(info.name), std::move(info.type), std::move(info.shape), live.bytes});
  }
}

TextTable MemoryTable(const Report& report, const ViewOptions& options) {
  const ByteTexts texts(report, options.exact);
  TextTable table;
  table.columns = {{"memory"}, {"bytes", true}, {"", false, TextTable::Column::Narrow::kName}};
  AddPeakRows(*report.memory, texts, &table);
  AddStepRows(*report.memory, texts, &table);
  return table;
}

std::vector<LabelledLine> MemoryLines(const Report& report, const ViewOptions& options) {
  const MemoryReport& memory = *report.memory;
  const ByteTexts texts(report, options.exact);
  std::vector<LabelledLine> lines = {AliveLine(memory, texts)};
  AddPeakFormulas(memory, options.exact, &lines);
  if (memory.cache) lines.push_back(CacheLine(*memory.cache, texts, options.exact));
  if (memory.fit) lines.push_back(FitLine(memory));
  AddTooLarge(report, texts, &lines);
  return lines;
}

}  // namespace onnxflops::report
