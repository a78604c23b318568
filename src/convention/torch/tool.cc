// How it works. Apply visits the calls of the trace and asks the tool's rule for the count of each.
// The rule is asked once for each kind of call (FindKinds), and the answer holds for all calls of
// that kind. The amount covers all nodes of the call. The name of a difference depends on the
// operator and the module, not on the tool, so that a difference shared by two tools cancels.
//
// A file does not show everything that a tool would have seen. Calls that the exporter merged,
// folded or rewrote are reported as an assumption, but only if the tool counts such calls. The same
// holds for facts that a file may leave open, such as whether the source has x @ y or torch.matmul:
// a rule reads them through this class, and reading a guess makes the figure assumed. The second
// half has formulas that several tools share: einsum as NumPy and as PyTorch plan it, sizes of
// recurrent layers, and when attention is one operator.
#include "src/convention/torch/tool.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"

namespace onnxflops::convention {
namespace {

absl::string_view ShortClass(absl::string_view qualified) {
  return qualified.substr(qualified.rfind('.') + 1);
}

// The name of a difference. Tools share these names, so that a difference cancels between two
// tools.
std::string TermName(const TorchTrace& trace, const TorchCall& call, bool counts_some) {
  const TorchScope& scope = trace.scope(call);
  const bool attention = scope.nn_class == NnClass::kMultiheadAttention;
  switch (call.op) {
    case Aten::kSdpa:
      return counts_some ? "softmax, scaling and mask of attention"
                         : "attention products QK' and PV, and their softmax";
    case Aten::kLinear:
    case Aten::kAddmm:
    case Aten::kConv:
    case Aten::kConvTranspose:
      if (counts_some) {
        return call.op == Aten::kConvTranspose ? "transposed convolutions"
                                               : "biases of linear layers and convolutions";
      }
      if (attention) {
        return call.is_out_proj ? "out_proj of nn.MultiheadAttention"
                                : "in_proj of nn.MultiheadAttention";
      }
      break;
    case Aten::kLstm:
    case Aten::kGru:
    case Aten::kRnn:
      return "recurrent layers";
    case Aten::kSoftmax:
      return "softmax";
    default:
      break;
  }
  if (IsContraction(call.op)) {
    const absl::string_view name = ShortClass(scope.class_name);
    const absl::string_view op = call.op == Aten::kConv            ? "convolutions"
                                 : call.op == Aten::kConvTranspose ? "transposed convolutions"
                                 : call.op == Aten::kLinear        ? "linear layers"
                                                                   : "matrix products";
    return name.empty() ? std::string(op) : absl::StrCat(op, " in ", name);
  }
  if (IsNormalization(call.op)) return "normalisation";
  if (IsActivation(call.op)) return "activations";
  if (IsPooling(call.op)) return "pooling and means";
  if (IsResizing(call.op)) return "resizing";
  if (call.op == Aten::kAdd || call.op == Aten::kMul) return "additions and multiplications";
  return "other operators";
}

}  // namespace

TorchTool::TorchTool(Evidence* evidence, Unit unit, const TorchWatch& watch)
    : evidence_(*evidence),
      trace_(evidence->torch_trace()),
      unit_(unit),
      watch_(watch),
      ledger_(evidence, unit) {}

Ledger TorchTool::Apply(const AtenSet& counted,
                        absl::FunctionRef<Decision(const TorchCall&)> decide) {
  return Apply(counted, decide, [](const TorchCall&, const Decision&) {});
}

Ledger TorchTool::Apply(const AtenSet& counted,
                        absl::FunctionRef<Decision(const TorchCall&)> decide,
                        absl::FunctionRef<void(const TorchCall&, const Decision&)> each) {
  if (trace_.origin == TorchTrace::Origin::kNone) {
    return LedgerBuilder::NotApplicable(
        trace_.problem.empty()
            ? "the file does not say which modules of PyTorch its nodes came from"
            : trace_.problem);
  }
  const int64_t lost_cells =
      trace_.origin == TorchTrace::Origin::kDynamo ? trace_.lost_cells : trace_.recurrent_cells;
  if (watch_.cells && lost_cells > 0) {
    return LedgerBuilder::NotApplicable(
        "its hook counts nn.LSTMCell, nn.GRUCell and nn.RNNCell by their sizes, and the file lacks "
        "a product of such a cell with its input");
  }
  known_.assign(static_cast<size_t>(trace_.kinds), {});
  for (const TorchCall& call : trace_.calls) {
    if (evidence_.exhausted()) break;
    const Known& known = Ask(decide, call);
    if (!aborted_.empty()) return LedgerBuilder::NotApplicable(std::move(aborted_));
    each(call, known.decision);
    // No line for a call that is free for us as well.
    if (known.decision.amount == kZero && known.is_free) continue;
    ledger_.Count(trace_.entries_of(call), known.decision.amount, known.term);
  }
  AssumeWhatIsHidden(counted);
  const TermId unseen = ledger_.Term("work without a module", "no call of PyTorch is known for it");
  return ledger_.Finish([&](EntryId) { return unseen; });
}

std::string TorchTool::FedFloats(absl::string_view tool, int64_t most,
                                 absl::string_view feeds) const {
  const ModelData& model = evidence_.model();
  int64_t inputs = 0;
  for (ValueId id : model.graphs[0].inputs) {
    const Value& value = model.value(id);
    if (value.initializer) continue;
    ++inputs;
    const Fact* fact = evidence_.inference().FactOf(id);
    if (fact == nullptr || IsFloat(fact->dtype)) continue;
    return absl::StrCat(tool, " cannot run it: it feeds floats, and input ", value.name,
                        " needs integers");
  }
  if (inputs >= 1 && inputs <= most) return "";
  return absl::StrCat(tool, " cannot run it: it feeds ", feeds, ", and the model has ", inputs);
}

void TorchTool::CountAttention(const TorchAttention& attention, AmountId amount,
                               absl::string_view why) {
  std::vector<EntryId> entries;
  for (int32_t i = attention.first_call; i < attention.end_call; ++i) {
    const TorchCall& call = trace_.calls[static_cast<size_t>(i)];
    if (AttentionOf(call) != &attention) continue;
    const auto of_call = trace_.entries_of(call);
    entries.insert(entries.end(), of_call.begin(), of_call.end());
  }
  ledger_.Count(entries, amount, ledger_.Term("nn.MultiheadAttention as a whole", why));
}

const TorchTool::Known& TorchTool::Ask(absl::FunctionRef<Decision(const TorchCall&)> decide,
                                       const TorchCall& call) {
  Known& known = known_[static_cast<size_t>(call.kind)];
  if (known.asked) return known;
  known.asked = true;
  known.decision = IsInsideOfCell(call) ? Decision{kZero, kCellFormula} : decide(call);
  const auto entries = trace_.entries_of(call);
  known.is_free = std::all_of(entries.begin(), entries.end(),
                              [&](EntryId id) { return evidence_.Ours(unit_, id) == kZero; });
  const bool some = known.decision.amount != kZero;
  if (!some && known.is_free) return known;
  // A class may have a long name; it is the same text in all calls of a module.
  const auto [it, is_new] =
      terms_.try_emplace(TermKey{call.op, some, call.is_out_proj, known.decision.why,
                                 trace_.scope(call).class_name.data(), trace_.nn_class(call)},
                         kSame);
  if (is_new) {
    const char* name = known.decision.name;
    it->second =
        ledger_.Term(name != nullptr ? name : TermName(trace_, call, some), known.decision.why);
  }
  known.term = it->second;
  if (call.op == Aten::kOther && call.macs != kZero && watch_.products) {
    AssumeUnknown(call.target);
  }
  if (watch_.whole_functions && some && call.has_source && !call.spelling.is_stated()) {
    ledger_.Assume(
        "layers and products outside of torch.nn are taken for calls of their own, not for parts "
        "of a function that is one operator, as of torch.jit.script; the file does not tell");
  }
  return known;
}

void TorchTool::AssumeUnknown(absl::string_view target) {
  constexpr int kNamed = 10;
  if (++unknown_ <= kNamed) {
    ledger_.Assume(absl::StrCat(target, " does products and no rule is known for it"));
  } else {
    ledger_.Assume("more operators do products and no rule is known for them");
  }
}

void TorchTool::AssumeOfOperators(const AtenSet& counted) {
  for (size_t i = 0; i < kNumAtens; ++i) {
    if (!counted[i]) continue;
    const Aten op = static_cast<Aten>(i);
    if (trace_.unseen[i] > 0) {
      ledger_.Assume(absl::StrCat("node names suggest ", trace_.unseen[i], " more calls of ",
                                  AtenLabel(op), " that the exporter removed"));
    }
    if (trace_.decomposed[i] > 0) {
      ledger_.Assume(absl::StrCat("the exporter wrote ", AtenLabel(op), " of ",
                                  trace_.decomposed[i],
                                  " modules as smaller operators, which are counted instead"));
    }
  }
}

void TorchTool::AssumeWhatIsHidden(const AtenSet& counted) {
  for (const std::string& text : trace_.assumptions) ledger_.Assume(text);
  AssumeOfOperators(counted);
  if (trace_.folded > 0) {
    ledger_.Assume(absl::StrCat("the exporter computed ", trace_.folded,
                                " tensors beforehand: layers and products that made them are not "
                                "in the file"));
  }
  if (trace_.unattributed > 0) {
    ledger_.Assume(
        absl::StrCat(trace_.unattributed, " nodes that compute carry no call of PyTorch"));
  }
  if (trace_.unknown_args > 0) {
    ledger_.Assume(absl::StrCat("the arguments of ", trace_.unknown_args,
                                " calls are not in the file: taken for no bias and no weight"));
  }
  if (trace_.folded_layers > 0) {
    ledger_.Assume(absl::StrCat("the exporter computed ", trace_.folded_layers,
                                " results of activations or normalisations beforehand: what made "
                                "them is not in the file"));
  }
  if (trace_.has_merged_parts) {
    ledger_.Assume(
        "the exporter merged equal calls that have several results, such as a split: what these "
        "calls worked on is counted once");
  }
  if (trace_.shared_modules > 0 && watch_.modules) {
    ledger_.Assume(absl::StrCat(trace_.shared_modules,
                                " calls are of modules that use the weights of another path: "
                                "taken for modules of their own, not for ones in several places"));
  }
  AssumeOfCalls();
  const auto& layers = trace_.encoder_layers;
  if (IsWithoutGradients() && std::any_of(layers.begin(), layers.end(), [](const auto& layer) {
        return layer.may_drop_padding;
      })) {
    ledger_.Assume(
        "nn.TransformerEncoder drops what its padding mask hides, if that stands at the end of "
        "sequences: the file does not tell, and all is counted");
  }
  if (trace_.assumed_convs > 0 && (watch_.classes || watch_.modules)) {
    ledger_.Assume(absl::StrCat(trace_.assumed_convs,
                                " BatchNorms were folded into convolutions; assumed to be of "
                                "torch.nn's classes"));
  }
  if (trace_.assumed_biases > 0 && watch_.biases) {
    ledger_.Assume(absl::StrCat(trace_.assumed_biases,
                                " BatchNorms were folded into convolutions; assumed that these "
                                "had no bias"));
  }
  if (trace_.unknown_shapes > 0) {
    ledger_.Assume(absl::StrCat(trace_.unknown_shapes, " operands have an unknown shape"));
  }
}

void TorchTool::AssumeOfCalls() {
  if (!trace_.transform.empty()) {
    ledger_.Assume(absl::StrCat("the source calls ", Quoted(trace_.transform),
                                ": the calls that the tool sees under it are taken for those in "
                                "the file"));
  }
  if (trace_.calls_of_hooks > 0) {
    ledger_.Assume(absl::StrCat("of ", trace_.calls_of_hooks,
                                " calls in modules of torch.nn the source is not torch.nn's, as of "
                                "hooks: taken for calls by their module"));
  }
  if (trace_.loose_weights > 0) {
    ledger_.Assume(absl::StrCat(trace_.loose_weights,
                                " calls work on weights that no module holds, with which the tool "
                                "may stop"));
  }
  if (trace_.derived_layers > 0) {
    ledger_.Assume(absl::StrCat(trace_.derived_layers,
                                " calls stand in attention or recurrent layers of classes derived "
                                "from torch.nn's, which the tool may not know"));
  }
  if (trace_.calls_in_bodies > 0) {
    ledger_.Assume(absl::StrCat(trace_.calls_in_bodies,
                                " calls stand in branches or loops: the tool may run others, or "
                                "stop"));
  }
  if (trace_.recurrent_cells > 0 && !watch_.cells) {
    ledger_.Assume("recurrent cells are counted by the operators that they were exported as");
  }
}

const TorchAttention* TorchTool::AttentionOf(const TorchCall& call) const {
  const size_t i = static_cast<size_t>(&call - trace_.calls.data());
  if (i >= trace_.attention_of.size() || trace_.attention_of[i] < 0) return nullptr;
  return &trace_.attentions[static_cast<size_t>(trace_.attention_of[i])];
}

namespace {

// The assumption about how the source calls the operator.
absl::string_view AssumedSpelling(const TorchScope& scope, Aten op, bool is_in_place) {
  if (is_in_place) {
    return "additions to what a convolution gives are taken for x += y, as torchvision and timm "
           "write most of them; the file does not tell";
  }
  if (op == Aten::kAdd || op == Aten::kMul) {
    return "additions and multiplications are taken for the operators + and *, not torch.add and "
           "torch.mul; the file does not tell";
  }
  if (IsActivation(op) || IsPooling(op)) {
    return "activations and pooling outside of torch.nn are taken for calls of "
           "torch.nn.functional; the file does not tell";
  }
  if (op != Aten::kSoftmax && !IsMatmul(op)) {
    return "layers outside of torch.nn are taken for calls of torch.nn.functional; the file does "
           "not tell";
  }
  if (IsSwinOfTorchvision(scope)) {
    return "the attention of torchvision's Swin calls x.matmul(y) and F.softmax; the file does not "
           "tell";
  }
  if (scope.of_transformers) {
    return "modules of transformers call torch.matmul and F.softmax by name; the file does not "
           "tell";
  }
  return "products and softmax outside of torch.nn are taken for x @ y and torch.softmax, which "
         "have no wrapper; the file does not tell";
}

}  // namespace

Spelling TorchTool::SpellingOf(const TorchCall& call) {
  const Spelling spelling = call.spelling.value_;
  if (!call.spelling.is_stated()) {
    ledger_.Assume(AssumedSpelling(trace_.scope(call), call.op, spelling == Spelling::kInPlace));
  }
  return spelling;
}

void TorchTool::AssumeWrapped(const TorchCall& call) {
  if (call.spelling.is_stated()) return;
  ledger_.Assume(
      "products outside of torch.nn are taken for x @ y, x.matmul(y) or torch.matmul(x, y), which "
      "have wrappers; the file does not tell");
}

int32_t TorchTool::PositionalOf(const TorchCall& call) {
  if (!call.positional.is_stated()) {
    ledger_.Assume(
        "tensors are taken to be given by position, not by keyword, with which the tool stops; the "
        "file does not tell");
  }
  return call.positional.value_;
}

int32_t TorchTool::SizingOf(const TorchCall& call) {
  if (!call.sizing.is_stated()) {
    ledger_.Assume(
        "the factor of a resizing is taken for one number, its size for several; the file does not "
        "tell");
  }
  return call.sizing.value_;
}

bool TorchTool::IsByFactor(const TorchCall& call) {
  if (call.in_torch_nn) return !call.arguments.has_output_size;
  return SizingOf(call) >= kListOfFactors;
}

bool TorchTool::HasNamedPadding(const TorchCall& call) {
  const bool is_numeric = AtenName(call.target) != "convolution" || call.op == Aten::kConvTranspose;
  if (call.arguments.has_named_padding || is_numeric) return call.arguments.has_named_padding;
  ledger_.Assume(
      "convolutions that the file names aten.convolution are taken for ones with padding in "
      "numbers, not 'same' or 'valid'");
  return false;
}

bool TorchTool::IsFused(const TorchCall& call) {
  if (call.arguments.groups_heads) {
    ledger_.Assume(
        trace_.fuses_groups
            ? "attention with fewer heads of k and v is one operator on a CPU, as in "
              "PyTorch 2.15, which exported the file"
            : "attention with fewer heads of k and v is two products on a CPU, as before "
              "PyTorch 2.15");
  }
  return IsFusedOnCpu(call, trace_.fuses_groups);
}

bool TorchTool::IsWithoutGradients() const { return evidence_.no_grad() || watch_.no_grad; }

void TorchTool::AssumeGradients() {
  ledger_.Assume(WithSettings(
      "gradients are on, as in the call that the tool's documents show, so that "
      "nn.MultiheadAttention and nn.TransformerEncoderLayer take no fast path; {no-grad on} counts "
      "as under torch.no_grad()"));
}

bool TorchTool::TakesLayerFastPath(const TorchCall& call, bool hooks_children) {
  const int32_t at = trace_.scope(call).encoder_layer;
  if (at < 0) return false;
  const TorchEncoderLayer& layer = trace_.encoder_layers[static_cast<size_t>(at)];
  if (!layer.fast_path || (hooks_children && layer.is_child)) return false;
  if (!IsWithoutGradients()) {
    AssumeGradients();
    return false;
  }
  ledger_.Assume("nn.TransformerEncoderLayer takes its fast path in eval mode");
  return true;
}

bool TorchTool::TakesFastPath(const TorchCall& call) {
  const TorchAttention* attention = AttentionOf(call);
  if (attention == nullptr) return false;
  const OpenFact<bool>& fast_path = attention->fast_path;
  if (!IsWithoutGradients()) {
    if (fast_path.value_ || !fast_path.is_stated()) AssumeGradients();
    return false;
  }
  if (!fast_path.is_stated()) {
    ledger_.Assume(
        "a mask that the exporter computed is taken for one of floats, with which "
        "nn.MultiheadAttention takes no fast path");
  }
  if (!fast_path.value_) return false;
  ledger_.Assume(
      "nn.MultiheadAttention with batch_first takes its fast path: eval mode, no gradients, "
      "torch.backends.mha on");
  return true;
}

AmountId TorchTool::MatmulByFirst(const TorchCall& call) {
  const Shape& w = call.shape_of_w();
  if (!call.w->is_tensor() || !w.ranked() || w.rank() == 0) return call.macs;
  return evidence_.Intern(evidence_.amount(call.in) * w[w.rank() - 1]);
}

bool TorchTool::IsUnbatched(const TorchCall& call) const {
  if (call.arguments.is_unbatched) return true;
  const EntryId first = trace_.entries_of(call).front();
  return first != call.main && evidence_.node(evidence_.entry(first)).op_type == "Unsqueeze";
}

Expr TorchTool::SoftmaxSize(const TorchCall& call) const {
  const Shape& shape = call.shape_of_x();
  if (!call.x->is_tensor() || !shape.ranked() || shape.rank() == 0) return 1;
  const Attribute* axis = MainAttribute(call, "axis");
  const int64_t rank = shape.rank();
  int64_t at = axis == nullptr ? -1 : axis->i;
  if (at < 0) at += rank;
  return at < 0 || at >= rank ? Expr(1) : shape[static_cast<int>(at)];
}

namespace {

// The number as "%.3e" prints it: ties go to the even digit.
absl::int128 WithFourDigits(absl::int128 value) {
  constexpr int kFive = 10'000;
  absl::int128 scale = 1;
  while (value / scale >= kFive) scale *= 10;
  if (scale == 1) return value;
  absl::int128 digits = value / scale;
  const absl::int128 rest = (value - digits * scale) * 2;
  if (rest > scale || (rest == scale && digits % 2 != 0)) ++digits;
  return digits * scale;
}

// The equation with its labels renamed in order of appearance: "bij,bjk->bik" is "abc,acd->abd".
std::string Renamed(absl::string_view equation) {
  absl::flat_hash_map<char, char> names;
  std::string renamed;
  for (char c : equation) {
    if (c == ' ') continue;
    if (!absl::ascii_isalpha(c)) {
      renamed += c;
      continue;
    }
    renamed +=
        names.try_emplace(c, static_cast<char>('a' + static_cast<int>(names.size()))).first->second;
  }
  return renamed;
}

}  // namespace

std::optional<EinsumCost> NumpyEinsum(const Evidence& evidence, const TorchCall& call) {
  const Attribute* attribute = evidence.node(evidence.entry(call.main)).FindAttribute("equation");
  if (attribute == nullptr) return std::nullopt;
  const std::string equation = Renamed(attribute->s);
  const std::vector<absl::string_view> sides = absl::StrSplit(equation, "->");
  const std::vector<absl::string_view> operands = absl::StrSplit(sides[0], ',');
  const Fact* facts[] = {call.x, call.w};
  if (sides.size() != 2 || operands.size() != std::size(facts)) return std::nullopt;
  absl::flat_hash_map<char, int64_t> sizes;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = facts[i]->shape;
    if (!facts[i]->is_tensor() || !shape.ranked() ||
        shape.rank() != static_cast<int>(operands[i].size())) {
      return std::nullopt;
    }
    for (size_t j = 0; j < operands[i].size(); ++j) {
      const std::optional<int64_t> size = shape[static_cast<int>(j)].AsInt64();
      if (!size.has_value() || !absl::ascii_isalpha(operands[i][j])) return std::nullopt;
      int64_t& known = sizes[operands[i][j]];
      known = std::max(known, *size);
    }
  }
  Expr combinations = 1;
  for (const auto& [label, size] : sizes) combinations *= size;
  if (combinations.error() != nullptr) return std::nullopt;
  const bool sums = std::any_of(sizes.begin(), sizes.end(), [&](const auto& label_size) {
    return !absl::StrContains(sides[1], absl::string_view(&label_size.first, 1));
  });
  EinsumCost cost;
  cost.combinations = combinations.literal();
  if (cost.combinations > kMaxElements) return std::nullopt;
  cost.printed_flops = WithFourDigits(cost.combinations * (sums ? 2 : 1) + 1);
  cost.is_matmul = equation == "abc,abd->acd" || equation == "abc,adc->adb";
  return cost;
}

std::optional<EinsumProduct> EinsumInTorch(const Evidence& evidence, const TorchCall& call) {
  const Attribute* attribute = evidence.node(evidence.entry(call.main)).FindAttribute("equation");
  if (attribute == nullptr) return std::nullopt;
  const std::string equation = absl::StrReplaceAll(attribute->s, {{" ", ""}, {"...", "."}});
  const std::vector<absl::string_view> sides = absl::StrSplit(equation, "->");
  const std::vector<absl::string_view> operands = absl::StrSplit(sides[0], ',');
  const Fact* facts[] = {call.x, call.w};
  if (sides.size() != 2 || operands.size() != std::size(facts)) return std::nullopt;
  // Sizes by letter. The axes of an ellipsis are numbered from the right.
  absl::btree_map<int, Expr> sizes[std::size(facts)];
  for (size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = ShapeOf(*facts[i]);
    const int letters = static_cast<int>(operands[i].size()) -
                        static_cast<int>(absl::StrContains(operands[i], '.'));
    if (!shape.ranked() || shape.rank() < letters) return std::nullopt;
    int axis = 0;
    const auto take = [&](int label) {
      const Expr& size = shape[axis++];
      if (size != Expr(1)) sizes[i].emplace(label, size);
    };
    for (char letter : operands[i]) {
      if (letter != '.') {
        take(letter);
        continue;
      }
      for (int left = shape.rank() - letters; left > 0; --left) take(-left);
    }
    if (axis != shape.rank()) return std::nullopt;
  }
  const auto is_kept = [&](int label) {
    return absl::StrContains(sides[1], label < 0 ? '.' : static_cast<char>(label));
  };
  EinsumProduct product{1, false};
  for (const auto& [label, size] : sizes[0]) {
    const bool shared = sizes[1].contains(label);
    if (!shared && !is_kept(label)) continue;
    product.elements *= size;
    product.is_matmul = product.is_matmul || !is_kept(label);
  }
  for (const auto& [label, size] : sizes[1]) {
    if (!sizes[0].contains(label) && is_kept(label)) product.elements *= size;
  }
  return product;
}

bool IsVectorProduct(const TorchCall& call) {
  const auto has_rank_1 = [](const Fact& fact) {
    return fact.is_tensor() && fact.shape.ranked() && fact.shape.rank() == 1;
  };
  if (call.op == Aten::kMatmul) return has_rank_1(*call.w);
  return call.op == Aten::kMv ||
         (call.op == Aten::kLinear && !call.has_bias && call.arguments.has_vector_weight);
}

namespace {

constexpr absl::string_view kRecurrent[] = {"LSTM", "GRU", "RNN"};

// The module of a node that ran before the entry.
OptionalModuleId ModuleBefore(const Evidence& evidence, const Entry& entry, NodeId node) {
  for (const Entry* e = &entry; e >= evidence.entries().data(); --e) {
    if (e->node == node) return e->module;
  }
  return kNone;
}

// True if the module of a recurrent layer itself added a batch of 1 to its input.
bool AddsBatch(const Evidence& evidence, const Entry& entry) {
  OptionalValueId input = evidence.node(entry).input(0);
  for (const absl::string_view type : {"Transpose", "Unsqueeze"}) {
    const OptionalNodeId maker = input ? evidence.model().value(*input).producer : kNone;
    if (!maker) return false;
    const Node& node = evidence.model().node(*maker);
    if (node.op_type == "Unsqueeze") return ModuleBefore(evidence, entry, *maker) == entry.module;
    if (node.op_type != type) return false;
    input = node.input(0);
  }
  return false;
}

}  // namespace

std::optional<RecurrentSizes> RecurrentSizesOf(const Evidence& evidence, const TorchTrace& trace,
                                               const TorchCall& call) {
  RecurrentSizes sizes;
  int64_t nodes = 0;
  for (EntryId id : trace.entries_of(call)) {
    const Entry& entry = evidence.entry(id);
    const absl::string_view type = evidence.node(entry).op_type;
    if (std::find(std::begin(kRecurrent), std::end(kRecurrent), type) == std::end(kRecurrent)) {
      continue;
    }
    if (++nodes > 1) continue;
    const Shape& x = evidence.Input(entry, 0).shape;
    const Shape& r = evidence.Input(entry, 2).shape;
    if (!x.ranked() || x.rank() != 3 || !r.ranked() || r.rank() != 3) return std::nullopt;
    const std::optional<int64_t> directions = r[0].AsInt64();
    if (!directions.has_value()) return std::nullopt;
    sizes.steps = x[0];
    sizes.batch = x[1];
    sizes.input = x[2];
    sizes.hidden = r[2];
    sizes.directions = *directions;
    sizes.bias = !evidence.Input(entry, 3).absent();
    sizes.is_unbatched = AddsBatch(evidence, entry);
  }
  if (nodes == 0) return std::nullopt;
  sizes.layers = nodes;
  if (call.arguments.of_recurrent) {
    sizes.bias = call.arguments.has_biases;
    sizes.batch_first = call.arguments.batch_first;
  }
  return sizes;
}

std::optional<RecurrentSizes> CellSizesOf(const TorchCall& call) {
  const Shape& x = call.shape_of_x();
  const Shape& y = call.shape_of_y();
  if (!x.ranked() || !y.ranked() || x.rank() != 2 || y.rank() != 2) return std::nullopt;
  RecurrentSizes sizes;
  sizes.steps = 1;
  sizes.batch = x[0];
  sizes.input = x[1];
  sizes.hidden = FloorDiv(y[1], call.arguments.cell_gates);
  sizes.bias = call.has_bias;
  sizes.is_unbatched = call.arguments.is_cell_unbatched;
  return sizes;
}

Aten LayerOfCell(const TorchCall& call) {
  constexpr int32_t kGatesOfGru = 3;
  if (call.arguments.cell_gates == 1) return Aten::kRnn;
  return call.arguments.cell_gates == kGatesOfGru ? Aten::kGru : Aten::kLstm;
}

namespace {

Expr ParametersOfRecurrent(Aten op, const RecurrentSizes& sizes) {
  const int64_t gates = op == Aten::kLstm ? 4 : op == Aten::kGru ? 3 : 1;
  const Expr beside = sizes.hidden + (sizes.bias ? 2 : 0);
  const Expr rows =
      sizes.input + beside + (sizes.hidden * sizes.directions + beside) * (sizes.layers - 1);
  return sizes.hidden * gates * rows * sizes.directions;
}

// "[768]" of layer_norm(x, [768], ...), or else the last dimension, for the weight and the bias.
Expr ParametersOfLayerNorm(const Evidence& evidence, const TorchTrace& trace,
                           const TorchCall& call) {
  constexpr size_t kBias = 2;
  const Shape& y = call.shape_of_y();
  const int dims = std::min(call.arguments.normalized_dims, y.rank());
  const Node& node = evidence.node(evidence.entry(call.main));
  const Node& last = evidence.node(evidence.entry(trace.entries_of(call).back()));
  const bool has_bias =
      node.op_type == "LayerNormalization" ? node.input(kBias).has_value() : last.op_type == "Add";
  return y.Product(y.rank() - (dims == 0 ? 1 : dims), y.rank()) * (has_bias ? 2 : 1);
}

}  // namespace

Expr ParametersOfLayer(const Evidence& evidence, const TorchTrace& trace, const TorchCall& call) {
  if (call.arguments.cell_gates != 0) {
    const auto sizes = CellSizesOf(call);
    return sizes ? ParametersOfRecurrent(LayerOfCell(call), *sizes) : Expr(0);
  }
  const Shape& x = call.shape_of_x();
  const Shape& y = call.shape_of_y();
  if (!x.ranked() || !y.ranked() || x.rank() == 0 || y.rank() == 0) return 0;
  const Expr& outputs = y[call.op == Aten::kLinear || y.rank() < 2 ? y.rank() - 1 : 1];
  Expr weight = call.shape_of_w().ranked() ? call.shape_of_w().NumElements() : Expr(0);
  const Expr bias = call.has_bias ? outputs : Expr(0);
  switch (call.op) {
    case Aten::kLinear:
      return x[x.rank() - 1] * outputs + bias;
    case Aten::kConv:
    case Aten::kConvTranspose:
      return weight + bias;
    case Aten::kBatchNorm:
    case Aten::kInstanceNorm:
      return call.is_affine ? outputs * 2 : Expr(0);
    case Aten::kGroupNorm: {
      // Its nodes may work on groups; the last one gives channels.
      const Shape& last =
          ShapeOf(evidence.Output(evidence.entry(trace.entries_of(call).back()), 0));
      return call.is_affine && last.ranked() && last.rank() > 1 ? last[1] * 2 : Expr(0);
    }
    case Aten::kLayerNorm:
      return call.is_affine ? ParametersOfLayerNorm(evidence, trace, call) : Expr(0);
    case Aten::kPrelu:
      return weight;
    case Aten::kLstm:
    case Aten::kGru:
    case Aten::kRnn: {
      const auto sizes = RecurrentSizesOf(evidence, trace, call);
      return sizes ? ParametersOfRecurrent(call.op, *sizes) : Expr(0);
    }
    default:
      return 0;
  }
}

bool IsFusedOnCpu(const TorchCall& call, bool fuses_groups) {
  if (call.arguments.groups_heads && !fuses_groups) return false;
  const Shape& q = call.shape_of_x();
  const Shape& out = call.shape_of_y();
  if (!q.ranked() || !out.ranked()) return true;
  constexpr int kFusedRank = 4;
  if (q.rank() != kFusedRank || out.rank() != kFusedRank) return false;
  if (q[0] != out[0]) return false;  // the kernel does not broadcast
  return q[kFusedRank - 1] == out[kFusedRank - 1];
}

}  // namespace onnxflops::convention
