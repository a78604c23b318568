// How it works. Every line is a label and texts; writers of text, Markdown and HTML draw the same
// lines. Totals are formulas. They are shown at the sizes of the title: bound sizes, assumed sizes
// of inputs, and 1 for sizes that only data decides. The title always shows assumed sizes, and a
// formula or a range ("at least .. at most ..") shows how far the figure depends on them. A total
// that lacks a part is marked as a lower bound wherever it is shown. Lines without information are
// left out: other kinds of work below 1/1000 of the FLOPs or MACs, operand types that are all the
// same float, and training of quantised models. A report in the convention of another tool has
// lines of its own.
#include "src/report/summary.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "src/adapter/lora_options.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/family/family.h"
#include "src/graph/dtype.h"
#include "src/hardware/device.h"
#include "src/infer/infer.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/render/numbered_name.h"
#include "src/report/figure_columns.h"
#include "src/report/range_text.h"
#include "src/report/reference_sizes.h"
#include "src/symbolic/expr_sum.h"

namespace onnxflops::report {
namespace {

constexpr size_t kMaxShownInputs = 8;     // of a graph; key-value caches have a hundred
constexpr size_t kMaxShownSizes = 8;      // in the title
constexpr size_t kMaxShownItems = 12;     // symbols, unknown nodes
constexpr size_t kMaxTotalColumns = 160;  // of a formula in the lines of totals
constexpr int kMaxShownBound = 60;        // of a symbol's upper bound
constexpr int kNamedOthers = 2;           // operators named as the rest of the FLOPs
constexpr int kLeastWork = 1000;          // work of another kind below 1/1000 is not mentioned

std::string FileName(absl::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));  // npos + 1 is 0
}

// "989.4 T" -> "989.4 TFLOP/s", "12" -> "12 FLOP/s".
std::string WithRateUnit(const std::string& number, absl::string_view unit) {
  const bool prefixed = number.find(' ') != std::string::npos;
  return absl::StrCat(number, prefixed ? "" : " ", unit);
}

// ---- the sizes that figures are shown at

// Symbols that some total depends on.
absl::flat_hash_set<std::string> SymbolsOf(const Totals& totals) {
  absl::flat_hash_set<std::string> names;
  for (const Quantity& q : kQuantities) {
    for (std::string& name : (totals.*q.value).Symbols()) names.insert(std::move(name));
  }
  return names;
}

// "20 sizes that depend on data, 1 loop count".
std::string KindsText(const std::vector<SymbolOrigin>& symbols) {
  int64_t of_data = 0, without_formula = 0, of_machine = 0, of_trips = 0, loops = 0;
  for (const SymbolOrigin& s : symbols) {
    of_data += s.kind == SymbolOrigin::Kind::kData || s.kind == SymbolOrigin::Kind::kRepeats;
    without_formula += s.kind == SymbolOrigin::Kind::kSizes;
    of_machine += s.kind == SymbolOrigin::Kind::kMachine;
    of_trips += s.kind == SymbolOrigin::Kind::kTrips;
    loops += s.kind == SymbolOrigin::Kind::kTripCount;
  }
  std::vector<std::string> texts;
  const auto add = [&](int64_t n, const char* one, const char* many) {
    if (n > 0) texts.push_back(absl::StrCat(GroupedDigits(n), " ", n == 1 ? one : many));
  };
  add(of_data, "size that depends on data", "sizes that depend on data");
  add(of_trips, "size that changes in a loop", "sizes that change in a loop");
  add(loops, "loop count", "loop counts");
  add(without_formula, "size without a formula", "sizes without a formula");
  add(of_machine, "size that depends on the processor", "sizes that depend on the processor");
  return absl::StrJoin(texts, ", ");
}

// Sizes that the totals depend on and no input has.
std::vector<SymbolOrigin> FindSizesInside(const Report& report) {
  const absl::flat_hash_set<std::string> used = SymbolsOf(report.totals);
  std::vector<SymbolOrigin> inside;
  for (const SymbolOrigin& s : report.symbols) {
    if (s.kind != SymbolOrigin::Kind::kInput && used.contains(s.name)) inside.push_back(s);
  }
  return inside;
}

std::string RaisedText(const Report& report) {
  return absl::StrCat(KindsText(report.raised), " at the upper bound");
}

// "batch = 8", "seq = 128 (assumed)", "5 sizes that depend on data = 1 (assumed)"; assumed sizes
// are never left out.
std::vector<std::string> SizeTexts(const Report& report, bool hint = true) {
  std::vector<std::string> texts;
  for (const auto& [name, size] : report.bindings) {
    if (texts.size() == kMaxShownSizes) {
      texts.push_back(absl::StrCat("and ", report.bindings.size() - texts.size(), " more"));
      break;
    }
    texts.push_back(absl::StrCat(name, " = ", size));
  }
  const Bindings sizes = ReferenceSizes(report);
  const absl::flat_hash_set<std::string> used = SymbolsOf(report.totals);
  std::vector<std::string> open;
  int64_t more = 0;
  for (const SymbolOrigin& s : report.symbols) {
    if (s.kind == SymbolOrigin::Kind::kInput && used.contains(s.name)) {
      if (open.size() == kMaxShownSizes) {
        ++more;
        continue;
      }
      open.push_back(absl::StrCat(s.name, " = ", sizes.at(s.name)));
    }
  }
  if (more > 0) open.push_back(absl::StrCat("and ", more, " more"));
  if (!open.empty()) {
    const bool decodes = std::any_of(report.symbols.begin(), report.symbols.end(),
                                     [](const SymbolOrigin& s) { return s.sum.has_value(); });
    const std::string how = !hint     ? ""
                            : decodes ? WithSettings("; {prefill} and {decode} set them together")
                                      : WithSettings("; {dim} sets sizes");
    texts.push_back(absl::StrCat(absl::StrJoin(open, ", "), " (assumed", how, ")"));
  }
  if (!report.raised.empty()) {
    texts.push_back(RaisedText(report));
  }
  if (const std::string inside = SizesInsideText(report); !inside.empty()) {
    texts.push_back(absl::StrCat(inside, " = 1 (assumed)"));
  }
  return texts;
}

// ---- the model

// "opset 17", then other domains whose operators are used: exporters import many more.
std::vector<std::string> OpsetTexts(const Report& report) {
  std::vector<std::string> texts;
  const auto& opsets = report.model.opsets;
  absl::flat_hash_set<absl::string_view> domains;
  for (const OpRow& row : report.by_op) domains.insert(row.domain);
  if (const auto main = opsets.find("ai.onnx"); main != opsets.end()) {
    texts.push_back(absl::StrCat("opset ", main->second));
  }
  for (const auto& [domain, version] : opsets) {
    if (domains.contains(domain)) texts.push_back(absl::StrCat(domain, " ", version));
  }
  return texts;
}

std::string CoverageText(const Report& report) {
  if (report.coverage.unknown > 0) {
    return absl::StrCat(GroupedDigits(report.coverage.unknown),
                        " not counted: totals are lower bounds");
  }
  return report.totals.lower_bound ? "a part is unknown: totals are lower bounds" : "all counted";
}

LabelledLine ModelLine(const Report& report, const std::string& title) {
  LabelledLine line = {"model", {}};
  if (!title.empty()) line.texts.push_back(title);
  if (!report.part.empty()) line.texts.push_back(absl::StrCat("only ", report.part));
  for (std::string& text : SizeTexts(report)) line.texts.push_back(std::move(text));
  std::vector<std::string> facts = OpsetTexts(report);
  facts.push_back(Plural(report.part.empty() ? report.model.nodes : report.coverage.nodes, "node"));
  facts.push_back(report.tool ? absl::StrCat("convention: ", report.convention)
                              : CoverageText(report));
  line.texts.push_back(absl::StrJoin(facts, ", "));
  return line;
}

// Inputs of one type and shape with consecutive numbers, such as those of a cache: past_0 to
// past_11.
struct InputGroup {
  std::string first, last, type;
  const Shape* shape = nullptr;
  int64_t count = 1;
};

std::vector<InputGroup> GroupInputs(const Report& report) {
  constexpr size_t kMaxOpenGroups = 8;  // keys and values of a cache may alternate
  std::vector<InputGroup> groups;
  for (const InputInfo& input : report.inputs) {
    if (!input.in_part) continue;
    // The declared shape; the given one if the file declares none.
    const Shape& shape = input.declared.ranked() ? input.declared : input.shape;
    const size_t begin = groups.size() - std::min(groups.size(), kMaxOpenGroups);
    const auto it = std::find_if(groups.begin() + static_cast<std::ptrdiff_t>(begin), groups.end(),
                                 [&](const InputGroup& group) {
                                   return group.type == input.type && *group.shape == shape &&
                                          ContinuesNumbers(group.first, group.count, input.name);
                                 });
    if (it == groups.end()) {
      groups.push_back({input.name, input.name, input.type, &shape});
    } else {
      it->last = input.name;
      ++it->count;
    }
  }
  return groups;
}

LabelledLine InputLine(const Report& report) {
  LabelledLine line = {"inputs", {}};
  const std::vector<InputGroup> groups = GroupInputs(report);
  for (const InputGroup& group : groups) {
    if (line.texts.size() == kMaxShownInputs && groups.size() > kMaxShownInputs + 1) {
      line.texts.push_back(absl::StrCat("and ", groups.size() - kMaxShownInputs, " more"));
      break;
    }
    std::string name = group.first;
    if (group.count > 1) {
      name = absl::StrCat(group.count, "x ", NumberedLabel(group.first, group.last, group.count));
    }
    line.texts.push_back(absl::StrCat(name, " ", TensorText(group.type, *group.shape)));
  }
  return line;
}

// ---- totals

// "(Softmax, Add, Gelu, ...)": the operators with the most FLOPs outside contractions.
std::string NameOthers(const Report& report) {
  const ReferenceValues values(report);
  std::vector<std::pair<absl::int128, absl::string_view>> others;
  for (const OpRow& row : report.by_op) {
    const absl::int128 flops = values.Of(row.other_flops).value_or(0);
    if (flops > 0) others.emplace_back(flops, row.op);
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (others.empty()) return "";
  std::vector<absl::string_view> names;
  for (size_t i = 0; i < others.size() && i < kNamedOthers; ++i) names.push_back(others[i].second);
  if (others.size() > kNamedOthers) names.push_back("...");
  return absl::StrCat(" (", absl::StrJoin(names, ", "), ")");
}

// The totals as numbers, at the sizes of the title.
class TotalTexts {
 public:
  TotalTexts(const Report& report, const ViewOptions& options)
      : report_(report), exact_(options.exact), values_(report) {}

  // The same for a figure that may lack a part, then marked as a lower bound.
  std::string Number(const Expr& e, bool lower_bound) const {
    return KnownText(lower_bound ? LowerBound(e) : Known::kExact, Number(e));
  }
  std::string Bytes(const Expr& e, bool lower_bound) const {
    return KnownText(lower_bound ? LowerBound(e) : Known::kExact, Bytes(e));
  }
  // "396.6 G".
  std::string Number(const Expr& e) const {
    const auto value = values_.Of(e);
    if (!value || *value < 0) return "?";
    return exact_ ? GroupedDigits(*value) : SiNumber(*value);
  }
  std::string Bytes(const Expr& e) const {
    const auto value = values_.Of(e);
    if (!value || *value < 0) return "?";
    return WithByteUnit(exact_ ? GroupedDigits(*value) : SiNumber(*value));
  }
  absl::int128 Value(const Expr& e) const { return values_.Of(e).value_or(0); }
  // True if the figure is large enough, compared with the work, for a line of its own.
  bool Matters(const Expr& e) const {
    const absl::int128 work = std::max(Value(report_.totals.flops), Value(report_.totals.macs));
    return e != Expr(0) && Value(e) >= work / kLeastWork;
  }

 private:
  const Report& report_;
  const bool exact_;
  const ReferenceValues values_;
};

bool HasIntegerMacs(const Report& report) { return report.int_census[Kind::kMac] != Expr(0); }

// "396.6 G = 2 x 197.6 G MACs + 1.354 G other (Softmax, Gelu, ...)".
LabelledLine FlopsLine(const Report& report, const TotalTexts& texts) {
  const Totals& t = report.totals;
  const Expr& macs = report.census[Kind::kMac];  // those that are FLOPs
  std::string text = texts.Number(t.flops, t.lower_bound);
  const std::string others = NameOthers(report);
  if (macs == Expr(0)) {
    absl::StrAppend(&text, others,
                    t.flops == Expr(0) || t.lower_bound ? "" : ", no MACs in floating point");
    return {"FLOPs", {std::move(text)}};
  }
  absl::StrAppend(&text, t.lower_bound ? ", of these 2 x " : " = 2 x ", texts.Number(macs), " ",
                  HasIntegerMacs(report) ? "floating-point MACs" : "MACs");
  if (t.other_flops != Expr(0)) {
    absl::StrAppend(&text, " + ", texts.Number(t.other_flops), " other", others);
  }
  return {"FLOPs", {std::move(text)}};
}

// "35.1 % of the FLOPs of the model, 35.24 G": of a part.
LabelledLine ShareLine(const Report& report, const TotalTexts& texts) {
  if (!report.whole || report.tool || report.totals.lower_bound) return {};
  const bool macs = MainQuantity(report).value == &Amounts::macs;
  const Expr& whole = macs ? report.whole->macs : report.whole->flops;
  const absl::int128 part = texts.Value(macs ? report.totals.macs : report.totals.flops);
  if (part < 0 || texts.Value(whole) <= 0) return {};
  const bool bound = report.whole->lower_bound;
  return {
      "share",
      {absl::StrCat(
          KnownText(bound ? Known::kAtMost : Known::kExact, Percent(part, texts.Value(whole))),
          " % of the ", macs ? "MACs" : "FLOPs", " of the model, ", texts.Number(whole, bound))}};
}

// The types that are multiplied, unless all are one floating-point type.
void AddTypes(const Report& report, const TotalTexts& texts, std::vector<LabelledLine>* lines) {
  const MacsByDType& by_type = report.macs_by_dtype;
  if (by_type.empty() || (by_type.size() == 1 && IsPlainFloat(by_type.begin()->first))) return;
  std::vector<std::pair<absl::int128, std::string>> types;
  for (const auto& [operands, macs] : by_type) {
    types.emplace_back(texts.Value(macs),
                       absl::StrCat(operands.ToString(), ": ", texts.Number(macs), " MACs"));
  }
  std::stable_sort(types.begin(), types.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  LabelledLine line = {"types", {}};
  for (auto& [value, text] : types) line.texts.push_back(std::move(text));
  if (report.Has(QuantityOf(&Amounts::bops))) {
    line.texts.push_back(
        absl::StrCat(texts.Number(report.totals.bops), " BOPs", " (MACs x bits x bits)"));
  }
  lines->push_back(std::move(line));
}

std::string TiedText(const WeightCopy& tied, bool exact) {
  return absl::StrCat("without ", ShowExpr(Expr(tied.params), exact), " of ", Escaped(tied.copy),
                      ", tied to ", Escaped(tied.original));
}

// Tied weights, which the parameters leave out, and likely copies, which they still contain.
void AddCopies(const Report& report, const ViewOptions& options, std::vector<LabelledLine>* lines) {
  const auto params = [&](const WeightCopy& copy) {
    return ShowExpr(Expr(copy.params), options.exact);
  };
  for (const WeightCopy& tied : report.tied) {
    lines->push_back({"", {TiedText(tied, options.exact)}});
  }
  for (const WeightCopy& likely : report.likely_copies) {
    const std::string copy = Escaped(likely.copy), original = Escaped(likely.original);
    lines->push_back(
        {"",
         {absl::StrCat("with ", params(likely), " of ", copy, ", maybe a copy of ", original)}});
    lines->push_back(
        {"", {absl::StrCat("if so: ", Setting("tied", absl::StrCat(copy, "=", original)))}});
  }
}

LabelledLine ParamsLine(const Report& report, const ViewOptions& options, const TotalTexts& texts) {
  const Totals& t = report.totals;
  const std::string params = ShowExpr(t.params, options.exact);
  LabelledLine line = {"params",
                       {absl::StrCat(params, " (", texts.Bytes(t.param_bytes), ")"),
                        absl::StrCat("read ", texts.Bytes(t.bytes_read, t.lower_bound),
                                     ", written ", texts.Bytes(t.bytes_written, t.lower_bound))}};
  const std::string intensity =
      Intensity(texts.Value(OperationsOf(report, t)), texts.Value(kBytesMoved.In(t)));
  if (intensity != "-" && !t.lower_bound) {
    line.texts.push_back(
        absl::StrCat(intensity, HasIntegerMacs(report) ? " operations/byte" : " FLOP/byte"));
  }
  return line;
}

// The formulas of totals that depend on open sizes.
void AddFormulas(const Report& report, const ViewOptions& options,
                 std::vector<LabelledLine>* lines) {
  const std::pair<const char*, const Expr*> formulas[] = {
      {"FLOPs ", &report.totals.flops},
      {"MACs  ", &report.totals.macs},
  };
  const char* label = "formula";
  for (const auto& [name, e] : formulas) {
    if (e->is_literal()) continue;
    const bool too_long =
        !options.exact && (e->NumTerms() > static_cast<int64_t>(kMaxTotalColumns) ||
                           e->ToString().size() > kMaxTotalColumns);
    const std::string text = too_long
                                 ? absl::StrCat("(long", WithSettings(": {exact on} shows it"), ")")
                                 : GroupedExpr(*e);
    lines->push_back(
        {label,
         {absl::StrCat(name, report.totals.lower_bound ? KnownText(Known::kAtLeast, text)
                                                       : absl::StrCat("= ", text))}});
    label = "";
  }
}

void AddRange(const Report& report, const ViewOptions& options, std::vector<LabelledLine>* lines) {
  const std::string inside = SizesInsideText(report);
  if (inside.empty()) return;
  LabelledLine line = {"range", RangeTexts(report, options.exact)};
  if (line.texts.empty()) return;
  line.texts.push_back(absl::StrCat("from ", inside));
  if (!report.upper_bounds) {
    line.texts.push_back(WithSettings("({upper on} counts at the upper bounds)"));
  }
  lines->push_back(std::move(line));
}

// The figures that another tool reports, in its unit and words.
std::vector<LabelledLine> ToolLines(const Report& report, const ViewOptions& options) {
  const TotalTexts texts(report, options);
  const ToolFigure& tool = *report.tool;
  const char* unit = tool.counts_macs ? " MACs" : " FLOPs";
  std::vector<LabelledLine> lines;
  lines.push_back({"figure",
                   {absl::StrCat(report.convention, " reports ",
                                 KnownText(report.totals.lower_bound  ? LowerBound(tool.headline)
                                           : tool.assumptions.empty() ? Known::kExact
                                                                      : Known::kAssumed,
                                           texts.Number(tool.headline)),
                                 unit, ": ", tool.headline_name)}});
  if (tool.has_rows && tool.of_model != Expr(0)) {
    lines.push_back({"",
                     {absl::StrCat("of these, ", texts.Number(tool.of_model), unit,
                                   " are for the model as a whole and of no single node")}});
  }
  AddFormulas(report, options, &lines);
  if (tool.params) {
    lines.push_back(
        {"params", {absl::StrCat("its parameters ", ShowExpr(*tool.params, options.exact))}});
  }
  for (const std::string& text : tool.assumptions) lines.push_back({"assumed", {text}});
  return lines;
}

LabelledLine LoraLine(const LoraSummary& lora, bool exact) {
  LabelledLine line = {"lora", {Printable(absl::StrJoin(LoraTexts(lora.options), "   "))}};
  line.texts.push_back(absl::StrCat(Plural(lora.layers, "layer"), " with ",
                                    ShowExpr(Expr(lora.params), exact), " params"));
  if (HasNf4Base(lora.options)) {
    line.texts.push_back(absl::StrCat("weights of ", Plural(lora.nf4_layers, "layer"),
                                      " in 4 bits, blocks of 64 with a float32 scale"));
  }
  return line;
}

// An exact backward pass with its parts.
LabelledLine TrainingLine(const Report& report, const ViewOptions& options,
                          const TotalTexts& texts) {
  const Totals& t = report.totals;
  const TrainingReport& training = *report.training;
  const bool lower_bound = t.lower_bound || !training.unknown.empty();
  LabelledLine line = {
      "train",
      {absl::StrCat(texts.Number(t.training_flops, lower_bound), " FLOPs a step", " = forward + ",
                    texts.Number(t.backward_flops), " backward (exact)")}};
  const auto params = [&](absl::int128 n) { return ShowExpr(Expr(n), options.exact); };
  line.texts.push_back(absl::StrCat(params(training.trained_params), " of ",
                                    params(training.params), " params trained"));
  if (training.attentions > 0) {
    line.texts.push_back(absl::StrCat("attention ", AttentionName(training.options.attention), ": ",
                                      Plural(training.attentions, "place"), ", ",
                                      training.flash_attentions, " as flash"));
  }
  if (training.options.recompute.what != Recompute::What::kNone) {
    line.texts.push_back(absl::StrCat("recompute ", RecomputeName(training.options.recompute), ": ",
                                      texts.Number(training.recompute_flops), " more"));
  }
  if (training.options.optimizer != Optimizer::kNone) {
    line.texts.push_back(absl::StrCat("optimizer ", InfoOf(training.options.optimizer).name, ": ",
                                      texts.Number(training.optimizer_flops), " more"));
  }
  if (!training.unknown.empty()) {
    const UnknownGradient& first = training.unknown[0];
    line.texts.push_back(
        absl::StrCat(Plural(static_cast<int64_t>(training.unknown.size()), "gradient"),
                     " unknown, such as that of ", first.node, " (",
                     OpLabel(first.domain, first.op), "): ", first.reason));
  }
  return line;
}

// True if some products have operands narrower than the precision: these run at another peak.
bool HasNarrower(const Report& report, Precision precision) {
  return absl::c_any_of(report.macs_by_dtype, [&](const auto& row) {
    const MacOperands& types = row.first;
    return types.qdq || !IsFloat(types.a) || !IsFloat(types.b) ||
           std::max(BitsPerElement(types.a), BitsPerElement(types.b)) < PrecisionBits(precision);
  });
}

const char* EstimateNote(const RooflineReport& roofline) {
  return roofline.cache_bytes
             ? "tensors between kernels go through memory, by the types in the file; the cache may "
               "hold some"
             : "tensors between kernels go through memory, by the types in the file";
}

// The bound on the time of a run and its cause, then estimates.
void AddRoofline(const Report& report, const ViewOptions& options, const TotalTexts& texts,
                 std::vector<LabelledLine>* lines) {
  const RooflineReport& roofline = *report.roofline;
  const Totals& t = report.totals;
  const auto time = [&](const Expr& e) { return TimeText(texts.Value(e), options.exact); };
  // The totals hold the larger of both; of a part, this.
  const Expr& arithmetic = roofline.arithmetic_time ? *roofline.arithmetic_time : t.time_bound;
  // At another size inside of the model, a run may take less.
  const bool guessed = RestsOnSizesInside(report, t.time_bound);
  const Known known = guessed         ? Known::kExact
                      : t.lower_bound ? LowerBound(t.time_bound)
                                      : Known::kAtLeast;
  LabelledLine line = {
      "time",
      {absl::StrCat(KnownText(known, time(t.time_bound)), " on ", roofline.device, " in ",
                    PrecisionName(roofline.precision),
                    guessed ? " at these sizes, no bound at others" : ""),
       absl::StrCat(
           "multiply-accumulates ", time(arithmetic), " at ",
           WithRateUnit(SiNumber(absl::int128(roofline.peak.giga) * 1'000'000'000), "FLOP/s"),
           HasNarrower(report, roofline.precision) ? ", of narrower types at their own peaks"
                                                   : "")}};
  if (roofline.compulsory_bytes && roofline.cache_bytes) {
    line.texts.push_back(absl::StrCat(
        "inputs, parameters and outputs, once each as ", PrecisionName(roofline.precision),
        " or narrower, beyond a cache of ", WithByteUnit(SiNumber(*roofline.cache_bytes)), ": ",
        time(roofline.MemoryBound()), " at ",
        WithRateUnit(SiNumber(roofline.bytes_per_second), "B/s")));
  } else if (roofline.compulsory_bytes) {
    line.texts.emplace_back(kCacheNotKnown);
  }
  lines->push_back(std::move(line));
  const auto estimate = [&](const Expr& e) {
    return KnownText(t.lower_bound ? LowerBound(e) : Known::kExact, time(e));
  };
  line = {"estimate", {absl::StrCat(estimate(t.time_estimate), " node by node")}};
  if (roofline.fused_time_estimate) {
    line.texts.push_back(absl::StrCat(estimate(*roofline.fused_time_estimate),
                                      " with element-wise operators fused into their producers"));
  }
  line.texts.emplace_back(EstimateNote(roofline));
  line.texts.push_back(
      absl::StrCat("memory-bound below ", fmt::format("{:.4g}", roofline.ridge()), " FLOP/byte"));
  lines->push_back(std::move(line));
}

void AddCausal(const Report& report, std::vector<LabelledLine>* lines) {
  if (report.causal_nodes > 0) lines->push_back({"causal", {CausalText(report)}});
}

std::vector<LabelledLine> TotalLines(const Report& report, const ViewOptions& options) {
  if (report.tool) return ToolLines(report, options);
  const TotalTexts texts(report, options);
  const Totals& t = report.totals;
  std::vector<LabelledLine> lines;
  if (HasIntegerMacs(report)) {
    lines.push_back({"MACs", {texts.Number(t.macs, t.lower_bound)}});
  }
  lines.push_back(FlopsLine(report, texts));
  lines.push_back(ShareLine(report, texts));
  AddRange(report, options, &lines);
  AddFormulas(report, options, &lines);
  if (HasIntegerMacs(report) || texts.Matters(t.int_ops)) {
    lines.push_back(
        {"integer", {absl::StrCat(texts.Number(t.int_ops, t.lower_bound), " operations")}});
  }
  AddTypes(report, texts, &lines);
  lines.push_back(ParamsLine(report, options, texts));
  if (report.part.empty()) AddCopies(report, options, &lines);
  if (texts.Matters(t.foldable_flops)) {
    lines.push_back({"folded",
                     {absl::StrCat("of the FLOPs, ", texts.Number(t.foldable_flops),
                                   " work on constants; a runtime computes them once")}});
  }
  if (report.roofline) AddRoofline(report, options, texts, &lines);
  if (report.lora) lines.push_back(LoraLine(*report.lora, options.exact));
  if (report.training) {
    lines.push_back(TrainingLine(report, options, texts));
  } else if (HasTraining(report)) {
    lines.push_back({"train",
                     {absl::StrCat(texts.Number(t.training_flops, t.lower_bound), " FLOPs a step",
                                   " (3 x forward)")}});
  }
  AddCausal(report, &lines);
  return lines;
}

// ---- lists

std::string PlaceText(const SymbolOrigin& s) {
  const std::string axis = absl::StrCat(s.name, "  axis ", s.axis, " of ");
  switch (s.kind) {
    case SymbolOrigin::Kind::kInput:
      return absl::StrCat(axis, "input ", s.value);
    case SymbolOrigin::Kind::kData:
      return absl::StrCat(axis, s.value, ", depends on data");
    case SymbolOrigin::Kind::kSizes:
      return absl::StrCat(axis, s.value, ", follows from sizes, but not by a formula");
    case SymbolOrigin::Kind::kRepeats:
      return absl::StrCat(s.name, "  how often axis ", s.axis, " of ", s.value,
                          " repeats that of the input");
    case SymbolOrigin::Kind::kMachine:
      return absl::StrCat(axis, s.value, ", depends on the processor");
    case SymbolOrigin::Kind::kTrips:
      return absl::StrCat(axis, s.value, ", changes from trip to trip");
    case SymbolOrigin::Kind::kTripCount:
      return absl::StrCat(s.name, "  trips of the loop that makes ", s.value);
  }
  return s.name;
}

std::string OriginText(const SymbolOrigin& s) {
  if (!s.at_most) return PlaceText(s);
  return absl::StrCat(PlaceText(s), ", at most ", s.at_most->Shortened(kMaxShownBound));
}

// `omitted`: how many are missing from JSON as well.
void AddRest(size_t total, int64_t omitted, std::vector<std::string>* lines) {
  if (total <= kMaxShownItems) return;
  const size_t more = total - kMaxShownItems + static_cast<size_t>(omitted);
  lines->push_back(absl::StrCat("and ", more, " more",
                                WithSettings(omitted > 0 ? " ({format json} has some of them)"
                                                         : " ({format json} has all)")));
}

// A configuration may leave out twenty keys: then one line says so.
std::string ShortDefaults(const std::string& warning) {
  constexpr size_t kMaxKeys = 4;
  const std::vector<absl::string_view> keys =
      absl::StrSplit(absl::string_view(warning).substr(kDefaultsWarning.size()), ", ");
  if (keys.size() <= kMaxKeys) return warning;
  return absl::StrCat(keys.size(), " missing keys take the reference's defaults",
                      WithSettings(" ({format json} lists them)"));
}

// A warning that names a limit which can be raised says how.
std::string WarningText(const std::string& warning) {
  if (absl::StartsWith(warning, kDefaultsWarning)) return ShortDefaults(warning);
  for (const SettableLimit& limit : kSettableLimits) {
    if (absl::StrContains(warning, limit.name)) {
      return absl::StrCat(warning, "; raise it with ",
                          Setting("limit", absl::StrCat(limit.name, "=N")));
    }
  }
  return warning;
}

}  // namespace

int64_t SizesInside(const Report& report) {
  return static_cast<int64_t>(FindSizesInside(report).size());
}

std::string CausalText(const Report& report) {
  return absl::StrCat(
      "attention in ", Plural(report.causal_nodes, "node"),
      report.causal == CausalCounting::kHalf
          ? WithSettings(": masked pairs are not counted ({causal half})")
          : WithSettings(" is counted in full ({causal half} counts the triangle)"));
}

bool RestsOnSizesInside(const Report& report, const Expr& figure) {
  if (figure.is_literal()) return false;
  const std::vector<std::string> symbols = figure.Symbols();
  const std::vector<SymbolOrigin> inside = FindSizesInside(report);
  return std::any_of(inside.begin(), inside.end(), [&](const SymbolOrigin& s) {
    return std::find(symbols.begin(), symbols.end(), s.name) != symbols.end();
  });
}

bool RestsOnAlikeTrips(const Report& report) {
  return absl::c_any_of(report.warnings, [](const std::string& warning) {
    return absl::StrContains(warning, kAlikeTrips);
  });
}

std::string SizesInsideText(const Report& report) { return KindsText(FindSizesInside(report)); }

Summary Summarize(const Report& report, const ViewOptions& options) {
  Summary s;
  if (options.title == ViewOptions::Title::kPath) s.title = report.model.path;
  if (options.title == ViewOptions::Title::kFileName) s.title = FileName(report.model.path);
  s.head = {ModelLine(report, s.title), InputLine(report)};
  if (report.samples) AddSampleLines(*report.samples, report.totals.lower_bound, &s.head);
  s.totals = TotalLines(report, options);
  // The lines of inputs show the axes of their symbols, if all inputs are listed.
  const bool all_inputs = GroupInputs(report).size() <= kMaxShownInputs + 1;
  size_t symbols = 0;
  for (const SymbolOrigin& symbol : report.symbols) {
    if (all_inputs && symbol.kind == SymbolOrigin::Kind::kInput) continue;
    if (++symbols <= kMaxShownItems) s.symbols.push_back(OriginText(symbol));
  }
  AddRest(symbols, 0, &s.symbols);
  for (const CoverageItem& item : report.coverage.items) {
    if (s.unknown.size() == kMaxShownItems) break;
    s.unknown.push_back(
        absl::StrCat(item.node, " (", OpLabel(item.domain, item.op), "): ", item.reason));
  }
  AddRest(report.coverage.items.size(), report.coverage.items_omitted, &s.unknown);
  for (const std::string& warning : report.warnings) s.warnings.push_back(WarningText(warning));
  return s;
}

std::string NotCountedText(const Report& report) {
  const int64_t unknown = report.coverage.unknown;
  if (unknown == 0) return "a part is not counted: figures are lower bounds";
  constexpr size_t kMaxNotCounted = 8;
  absl::flat_hash_set<std::pair<absl::string_view, absl::string_view>> seen;
  std::vector<std::string> names;
  for (const CoverageItem& item : report.coverage.items) {
    if (!seen.emplace(item.domain, item.op).second || names.size() == kMaxNotCounted) continue;
    names.push_back(Escaped(OpLabel(item.domain, item.op)));
  }
  const size_t more = seen.size() - names.size();
  return absl::StrCat(Plural(unknown, "node"), unknown > 1 ? " are" : " is", " not counted (",
                      absl::StrJoin(names, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "",
                      "): figures are lower bounds");
}

std::vector<std::string> AllWarnings(const Report& report) {
  std::vector<std::string> texts;
  if (report.totals.lower_bound) texts.push_back(NotCountedText(report));
  texts.insert(texts.end(), report.warnings.begin(), report.warnings.end());
  if (!report.part.empty()) return texts;
  for (const WeightCopy& likely : report.likely_copies) {
    texts.push_back(LikelyCopyText(likely, "params hold"));
  }
  return texts;
}

std::string LikelyCopyText(const WeightCopy& likely, absl::string_view holder,
                           absl::string_view effect) {
  const std::string copy = Escaped(likely.copy), original = Escaped(likely.original);
  return absl::StrCat(holder, " ", SiNumber(likely.params), " of ", copy, ", maybe a copy of ",
                      original, effect,
                      "; if so: ", Setting("tied", absl::StrCat(copy, "=", original)));
}

std::vector<std::string> HintsOnUnknown(const Report& report) {
  const std::vector<CoverageItem>& items = report.coverage.items;
  const bool has = std::any_of(items.begin(), items.end(), [](const CoverageItem& item) {
    return absl::StartsWith(item.reason, "no rule for operator");
  });
  if (!has) return {};
  return {WithSettings(
      "to give their cost: `onnxflops explain MODEL NODE {template on}` writes a rule to fill in, "
      "{rules FILE} reads it")};
}

std::string ShownSizes(const Report& report) {
  return absl::StrJoin(SizeTexts(report, /*hint=*/false), ", ");
}

std::string OthersText(const Report& report) {
  const std::string others = NameOthers(report);
  return others.empty() ? "" : others.substr(1);
}

bool HasTraining(const Report& report) {
  return report.training || (!HasIntegerMacs(report) && report.totals.flops != Expr(0));
}

std::vector<std::string> InputTexts(const Report& report) { return InputLine(report).texts; }

std::vector<LabelledLine> FixedLines(const Report& report) {
  std::vector<LabelledLine> lines;
  if (!report.raised.empty()) lines.push_back({"sizes", {RaisedText(report)}});
  if (report.part.empty()) {
    for (const WeightCopy& likely : report.likely_copies) {
      lines.push_back({"params", {LikelyCopyText(likely, "with", "")}});
    }
  }
  if (report.roofline) lines.push_back({"estimate", {EstimateNote(*report.roofline)}});
  if (report.lora) lines.push_back(LoraLine(*report.lora, /*exact=*/false));
  for (const WeightCopy& tied : report.part.empty() ? report.tied : std::vector<WeightCopy>()) {
    lines.push_back({"tied", {TiedText(tied, /*exact=*/false)}});
  }
  AddCausal(report, &lines);
  return lines;
}

std::vector<std::string> CaveatsOfFigures(const Report& report) {
  std::vector<std::string> texts;
  if (report.samples) {
    texts = SampleTexts(*report.samples, report.totals.lower_bound);
  }
  if (report.totals.lower_bound) {
    texts.push_back(NotCountedText(report));
  }
  if (!report.tool) return texts;
  for (const std::string& text : report.tool->assumptions) {
    texts.push_back(absl::StrCat(KnownText(Known::kAssumed, "assumed"), ": ", text));
  }
  return texts;
}

std::vector<LabelledLine> HeadOf(const Report& report) {
  LabelledLine model = ModelLine(report, report.model.path);
  if (!report.model.producer.empty()) model.texts.push_back(report.model.producer);
  model.texts.push_back(absl::StrCat(SiExpr(report.totals.params), " parameters"));
  std::vector<LabelledLine> lines = {std::move(model), InputLine(report)};
  if (report.samples) AddSampleLines(*report.samples, report.totals.lower_bound, &lines);
  for (const std::string& text : report.model.positions) lines.push_back({"note", {text}});
  return lines;
}

}  // namespace onnxflops::report
