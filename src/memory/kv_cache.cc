// How it works. No file states which inputs are a cache, so it is found by names and shapes. Inputs
// with "past" or "cache" in their name and at least three axes are pasts. The input of tokens is
// the first integer matrix, else the first float tensor of vectors, without words such as "mask" or
// "position" in the name. The length that grows is the symbol named "past", else the axis before
// the last. A size that only an output shows (a head size that the exporter left open) is taken
// from the output with the same other sizes.
//
// Pasts with the length in their shape grow with each token; others, such as an encoder's and the
// states of Mamba, are fixed. A decoder that has only states takes a step after any past. Masks
// span past and new tokens, positions the new tokens only: their symbols are bound too when a step
// is counted at given sizes.
#include "src/memory/kv_cache.h"

#include <algorithm>
#include <cstddef>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/rules.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/symbolic/expr_sum.h"

namespace onnxflops {
namespace memory {
namespace {

// Words in the names that exporters give inputs, in small letters.
constexpr absl::string_view kPastWords[] = {"past", "cache"};
constexpr absl::string_view kNoTokens[] = {"mask", "position", "segment", "type",
                                           "len",  "past",     "cache",   "encoder_input"};
constexpr absl::string_view kStates[] = {"conv_state", "recurrent_state"};

template <size_t N>
bool HasWord(absl::string_view name, const absl::string_view (&words)[N]) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](absl::string_view word) { return absl::StrContains(name, word); });
}

std::optional<std::string> SymbolOf(const Expr& dim) {
  std::vector<std::string> symbols = dim.Symbols();
  if (symbols.size() != 1 || dim != Expr::Symbol(symbols[0], 1)) return std::nullopt;
  return symbols[0];
}

// The symbol of a dimension that is the length of a past, or of the part that a window keeps:
// "past", "min(past, 63)".
std::optional<std::string> LengthSymbolOf(const Expr& dim) {
  std::vector<std::string> symbols = dim.Symbols();
  if (symbols.size() != 1) return std::nullopt;
  const Expr symbol = Expr::Symbol(symbols[0], 1);
  if (Min(dim, symbol) != dim) return std::nullopt;
  return symbols[0];
}

struct DecoderInput {
  ValueId value;
  std::string name;  // in small letters
  absl::string_view written;
  const Fact* fact;
  const Shape& shape;  // as inferred, or as declared
};

class DecoderFinder {
 public:
  DecoderFinder(const Inference& inference, bool as_declared) : inference_(inference) {
    const std::vector<ValueId>& inputs = inference.model->graph(0).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId value = inputs[i];
      const Fact* fact = inference.FactOf(value);
      if (inference.model->value(value).initializer || fact == nullptr) continue;
      const absl::string_view name = inference.model->value(value).name;
      const bool ranked = fact->is_tensor() && fact->shape.ranked();
      if (!ranked) continue;
      const bool declared = as_declared && inference.declared[i].ranked();
      inputs_.push_back({value, absl::AsciiStrToLower(name), name, fact,
                         declared ? inference.declared[i] : fact->shape});
    }
    for (ValueId value : inference.model->graph(0).outputs) {
      const Fact* fact = inference.FactOf(value);
      if (fact != nullptr && fact->is_tensor() && fact->shape.ranked()) {
        outputs_.push_back(&fact->shape);
      }
    }
  }

  absl::StatusOr<Decoder> Find() {
    RETURN_IF_ERROR(FindTokens());
    RETURN_IF_ERROR(FindLength());
    for (const DecoderInput& input : inputs_) {
      if (IsPast(input)) FindWidths(input);
    }
    for (const DecoderInput& input : inputs_) {
      if (IsPast(input)) RETURN_IF_ERROR(AddPast(input));
      AddBeside(input);
    }
    FindPositions();
    found_.bytes = bytes_.Total();
    found_.fixed_bytes = fixed_bytes_.Total();
    return found_;
  }

 private:
  static bool IsPast(const DecoderInput& input) {
    return HasWord(input.name, kPastWords) && input.shape.rank() >= 3;
  }

  // The first input of one number per token, or of a vector per token.
  absl::Status FindTokens() {
    for (const bool vectors : {false, true}) {
      for (const DecoderInput& input : inputs_) {
        if (HasWord(input.name, kNoTokens)) continue;
        const bool integer = IsInteger(input.fact->dtype);
        if (vectors ? !integer && input.shape.rank() == 3 : integer && input.shape.rank() == 2) {
          found_.token_input = std::string(input.written);
          found_.tokens = input.shape[1];
          batch_ = input.shape[0];
          return absl::OkStatus();
        }
      }
    }
    return absl::NotFoundError(
        "no input takes tokens, [batch, tokens], or their embeddings, [batch, tokens, width]");
  }

  // The growing size that past inputs share: the symbol with such a name, else the axis before the
  // last.
  absl::Status FindLength() {
    std::optional<Expr> by_place;
    bool any = false;
    for (const DecoderInput& input : inputs_) {
      if (!IsPast(input) || absl::StrContains(input.name, "encoder")) continue;
      any = true;
      if (HasWord(input.name, kStates)) continue;
      for (int i = 0; i < input.shape.rank(); ++i) {
        const std::optional<std::string> symbol = LengthSymbolOf(input.shape[i]);
        if (symbol && input.shape[i] != batch_ &&
            absl::StrContains(absl::AsciiStrToLower(*symbol), "past")) {
          found_.length = Expr::Symbol(*symbol, 1);
          return absl::OkStatus();
        }
      }
      if (!by_place) by_place = input.shape[input.shape.rank() - 2];
    }
    if (!any) return absl::NotFoundError("it has no past inputs (past_key_values, cache)");
    if (by_place) found_.length = *by_place;
    return absl::OkStatus();
  }

  // Sizes that only an output shows: the output that is this past with the new tokens appended.
  void FindWidths(const DecoderInput& input) {
    for (int i = 0; i < input.shape.rank(); ++i) {
      if (input.shape[i] == batch_ || input.shape[i] == found_.length) continue;
      const std::optional<std::string> symbol = SymbolOf(input.shape[i]);
      if (!symbol || found_.known.contains(*symbol)) continue;
      for (const Shape* output : outputs_) {
        if (output->rank() != input.shape.rank() || !(*output)[i].is_literal()) continue;
        if (!SameBut(input.shape, *output, i)) continue;
        if (const auto size = (*output)[i].AsInt64()) found_.known.emplace(*symbol, *size);
        break;
      }
    }
  }

  // True if the sizes are equal, except on this axis and the length's.
  bool SameBut(const Shape& input, const Shape& output, int axis) const {
    for (int i = 0; i < input.rank(); ++i) {
      if (i != axis && input[i] != found_.length && input[i] != output[i]) return false;
    }
    return true;
  }

  absl::Status AddPast(const DecoderInput& input) {
    Fact fact = *input.fact;
    fact.shape = input.shape;
    ASSIGN_OR_RETURN(const Expr open, BytesOf(fact));
    const Expr bytes = open.Substitute(found_.known);
    const auto& dims = input.shape.dims();
    const std::optional<std::string> length = SymbolOf(found_.length);
    const auto is_length = [&](const Expr& dim) {
      return dim == found_.length || (length && LengthSymbolOf(dim) == length);
    };
    found_.has_states |= HasWord(input.name, kStates);
    const bool grows = !absl::StrContains(input.name, "encoder") && !HasWord(input.name, kStates) &&
                       std::any_of(dims.begin(), dims.end(), is_length);
    if (grows) ++found_.tensors;
    if (grows) found_.types.push_back(input.fact->dtype);
    (grows ? bytes_ : fixed_bytes_).Add(bytes);
    return absl::OkStatus();
  }

  // Masks cover the past and the new tokens, positions only the new ones.
  void AddBeside(const DecoderInput& input) {
    if (IsPast(input)) return;
    if (absl::StrContains(input.name, "use_cache")) found_.use_cache = std::string(input.written);
    if (absl::StrContains(input.name, "encoder") || input.shape.rank() == 0) return;
    const bool mask = absl::StrContains(input.name, "mask");
    const bool position = absl::StrContains(input.name, "position");
    if (!mask && !position) return;
    const Expr& last = input.shape[input.shape.rank() - 1];
    const std::optional<std::string> symbol = SymbolOf(last);
    if (!symbol || last == found_.tokens || last == found_.length || last == batch_) return;
    std::vector<std::string>& list = mask ? found_.total : found_.equal;
    if (std::find(list.begin(), list.end(), *symbol) == list.end()) list.push_back(*symbol);
  }

  // The end that a configuration names, and the tables that an input of positions indexes, cast or
  // not; the shortest one counts.
  void FindPositions() {
    for (const auto& [symbol, most] : MostDims(*inference_.model)) {
      if (found_.tokens == Expr::Symbol(symbol, 1)) {
        found_.positions = {most, "the configuration"};
      }
    }
    absl::flat_hash_set<ValueId> positions;
    for (const DecoderInput& input : inputs_) {
      if (absl::StrContains(input.name, "position")) positions.insert(input.value);
    }
    if (positions.empty()) return;
    for (const NodeId id : inference_.model->graph(0).nodes) {
      const Node& node = inference_.model->node(id);
      const auto takes = [&](size_t i) {
        return node.input(i) && positions.contains(*node.input(i));
      };
      if (node.op_type == "Cast" && takes(0) && node.output(0)) positions.insert(*node.output(0));
      const Attribute* axis = node.FindAttribute("axis");
      if (node.op_type == "Gather" && takes(1) && (axis == nullptr || axis->i == 0)) {
        AddPositions(node.input(0));
      }
      if (node.op_type == "EmbedLayerNormalization" && takes(8)) AddPositions(node.input(3));
    }
  }

  void AddPositions(OptionalValueId table) {
    const Fact* fact = table ? inference_.FactOf(*table) : nullptr;
    if (fact == nullptr || !fact->is_tensor() || !fact->shape.ranked()) return;
    if (fact->shape.rank() == 0) return;
    const std::optional<int64_t> rows = fact->shape[0].AsInt64();
    if (!rows || (found_.positions && found_.positions->most <= *rows)) return;
    found_.positions = {*rows, Quoted(inference_.model->value(*table).name)};
  }

  const Inference& inference_;
  std::vector<DecoderInput> inputs_;
  std::vector<const Shape*> outputs_;
  Expr batch_;
  ExprSum bytes_, fixed_bytes_;
  Decoder found_;
};

// A symbol takes the size; a number has to be that size.
absl::Status BindSize(const Expr& dim, int64_t size, absl::string_view what, Bindings* bindings) {
  if (const std::optional<std::string> symbol = SymbolOf(dim)) {
    const auto bound = bindings->emplace(*symbol, size).first;
    if (bound->second == size) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(what, " is ", size, ", but ", Escaped(*symbol), " is ", bound->second));
  }
  if (dim == Expr(size)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the export fixed ", what, " to ", Escaped(dim.Shortened(40)), ", so ", size,
                   " is not possible; export it with open sizes (dynamic_shapes=, dynamic_axes=)"));
}

}  // namespace
}  // namespace memory

bool IsCacheOutput(absl::string_view name) {
  const std::string small = absl::AsciiStrToLower(name);
  constexpr absl::string_view kPresent = "present";
  const bool is_present =
      absl::StartsWith(small, kPresent) &&
      (small.size() == kPresent.size() ||
       !absl::ascii_isalpha(static_cast<unsigned char>(small[kPresent.size()])));
  return is_present || memory::HasWord(small, memory::kPastWords);
}

absl::StatusOr<Decoder> FindDecoder(const Inference& inference) {
  return memory::DecoderFinder(inference, /*as_declared=*/false).Find();
}

absl::StatusOr<Decoder> FindDeclaredDecoder(const Inference& inference) {
  return memory::DecoderFinder(inference, /*as_declared=*/true).Find();
}

Bindings FollowingSizes(const Decoder& decoder, const Bindings& bindings) {
  Bindings sizes = decoder.known;
  const auto add = [&](const std::vector<std::string>& symbols, const Expr& size) {
    const std::optional<int64_t> value = size.Substitute(bindings).AsInt64();
    for (const std::string& symbol : symbols) {
      if (value) sizes.emplace(symbol, *value);
    }
  };
  add(decoder.total, decoder.length + decoder.tokens);
  add(decoder.equal, decoder.tokens);
  return sizes;
}

std::optional<Expr> CacheBytesPerToken(const Decoder& decoder) {
  if (decoder.tensors == 0) return Expr(0);
  std::optional<Expr> per_token = DivideExactly(decoder.bytes, decoder.length);
  const std::optional<std::string> length = memory::SymbolOf(decoder.length);
  if (!per_token || !length) return per_token;
  const std::vector<std::string> symbols = per_token->Symbols();
  if (std::find(symbols.begin(), symbols.end(), *length) != symbols.end()) return std::nullopt;
  return per_token;
}

std::optional<Expr> CacheBytesAt(const Decoder& decoder, const Expr& tokens) {
  if (const std::optional<Expr> per_token = CacheBytesPerToken(decoder)) {
    return *per_token * tokens;
  }
  const std::optional<std::string> length = memory::SymbolOf(decoder.length);
  if (!length) return std::nullopt;
  return decoder.bytes.Replace({{*length, tokens}});
}

absl::StatusOr<Bindings> BindStep(const Decoder& decoder, const ServingStep& step) {
  if (decoder.positions && step.past + step.tokens > decoder.positions->most) {
    return absl::InvalidArgumentError(absl::StrCat(
        step.tokens, step.tokens == 1 ? " token" : " tokens", " after ", step.past, ": ",
        decoder.positions->where, " has positions for at most ", decoder.positions->most));
  }
  if (decoder.has_states && decoder.tokens == Expr(1) && step.tokens != 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("a step after the states of the cache has one token, so ", step.tokens,
                     " at once are ", "not possible"));
  }
  Bindings bindings = decoder.known;
  RETURN_IF_ERROR(memory::BindSize(decoder.tokens, step.tokens,
                                   absl::StrCat("the tokens of ", Escaped(decoder.token_input)),
                                   &bindings));
  if (decoder.tensors > 0) {
    RETURN_IF_ERROR(
        memory::BindSize(decoder.length, step.past, "the length of the past", &bindings));
  }
  bindings.merge(FollowingSizes(decoder, bindings));
  return bindings;
}

}  // namespace onnxflops
