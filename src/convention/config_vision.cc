// megatron-bridge-vision: the image tower of a model, by vision_formula.h.
//
// How it works. The formula has a part for attention, for the MLP and for the merging of patches.
// Each part is the same in each layer, so the attention of a layer is compared with its share of
// the formula. Everything else in the tower, and the rest of the model, the formula leaves out.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/convention/conventions.h"
#include "src/convention/vision_formula.h"
#include "src/family/family.h"

namespace onnxflops::convention {
namespace config_vision {
namespace {

constexpr int kForwardAndBackward = 3;
constexpr char kNoBackward[] = "a training step is counted: twice the forward pass more";
constexpr char kRest[] = "norms, activations and other operations";

enum class Part : uint8_t { kOutside, kOther, kEmbedding, kAttention, kMlp, kMerger };

// And the module of the part: "model.visual.blocks.3.attn".
using Place = std::pair<Part, std::string>;

Part PartNamed(absl::string_view name) {
  if (name == "patch_embed") return Part::kEmbedding;
  if (name == "attn") return Part::kAttention;
  if (name == "mlp") return Part::kMlp;
  const bool merges = name == "merger" || absl::StartsWith(name, "deepstack_merger");
  return merges ? Part::kMerger : Part::kOther;
}

// The names are those of transformers, as the configuration is.
Place PlaceOf(absl::string_view path) {
  const std::vector<absl::string_view> names = absl::StrSplit(path, '.');
  size_t i = static_cast<size_t>(absl::c_find(names, "visual") - names.begin());
  if (i == names.size()) return {};
  for (++i; i < names.size(); ++i) {
    const Part part = PartNamed(names[i]);
    if (part == Part::kOther) continue;
    // Further mergers have numbers: "visual.deepstack_merger_list.0".
    const size_t length = i + (absl::EndsWith(names[i], "_list") ? 2 : 1);
    const auto module = absl::MakeConstSpan(names).subspan(0, length);
    return {part, absl::StrJoin(module, ".")};
  }
  return {Part::kOther, ""};
}

struct Known {
  Part part;
  Expr theirs;  // in each module of this part
  int64_t modules;
  const char* name;
  const char* reason;
};

class Maker {
 public:
  Maker(Evidence* evidence, const VisionFormula& formula)
      : evidence_(*evidence),
        ledger_(evidence, Unit::kFlop),
        known_{{Part::kAttention, formula.AttentionOfLayer(), formula.layers,
                "attention: projections and products QK' and PV",
                "over whole frames, also where layers have windows"},
               {Part::kMlp, formula.MlpOfLayer(), formula.layers, "MLP",
                "two matrices, also where it has a gate"},
               {Part::kMerger, formula.Merger(), formula.mergers, "merging of patches",
                "two matrices a merger"}} {}

  Ledger Make() {
    std::map<Place, std::vector<EntryId>> places;
    std::map<Part, int64_t> modules;
    for (size_t i = 0; i < evidence_.entries().size(); ++i) {
      const EntryId id = static_cast<EntryId>(i);
      if (evidence_.Ours(Unit::kFlop, id) == kZero) continue;
      const Place place = PlaceOf(PathOf(id));
      std::vector<EntryId>& entries = places[place];
      if (entries.empty()) ++modules[place.first];
      entries.push_back(id);
    }
    for (const Known& known : known_) {
      if (modules[known.part] == known.modules) continue;
      return LedgerBuilder::NotApplicable("the tower has other layers than its configuration");
    }
    for (const auto& [place, entries] : places) AddPlace(place.first, entries);
    const TermId rest = ledger_.Term(kRestOfModel, "the formula is of the image tower alone");
    return ledger_.Finish([&](EntryId) { return rest; });
  }

 private:
  void AddPlace(Part part, std::vector<EntryId> entries) {
    if (part == Part::kOutside) return;
    const auto known = absl::c_find_if(known_, [&](const Known& k) { return k.part == part; });
    for (const EntryId id : entries) {
      const Expr flops = evidence_.amount(evidence_.Ours(Unit::kFlop, id));
      const Expr products = ProductsOf({id});
      // The first line of an entry is compared with our count of it.
      Add({id}, kForwardAndBackward * flops, kBackwardPass, kNoBackward);
      Add({id}, kForwardAndBackward * (products - flops), kRest, "left out");
      if (known != known_.end()) continue;
      Add({id}, -kForwardAndBackward * products,
          part == Part::kEmbedding ? "patch embedding" : "other products of the tower", "left out");
    }
    if (known == known_.end()) return;
    // The line is that of the module of the first entry: the outermost one.
    const auto outermost = absl::c_min_element(
        entries, [&](EntryId a, EntryId b) { return PathOf(a).size() < PathOf(b).size(); });
    std::iter_swap(entries.begin(), outermost);
    Add(entries, known->theirs - kForwardAndBackward * ProductsOf(entries), known->name,
        known->reason);
  }

  void Add(absl::Span<const EntryId> entries, const Expr& theirs, const char* name,
           const char* reason) {
    if (theirs.is_zero()) return;
    ledger_.Count(entries, evidence_.Intern(theirs), ledger_.Term(name, reason));
  }

  Expr ProductsOf(absl::Span<const EntryId> entries) {
    return 2 * evidence_.amount(evidence_.Ours(Unit::kMac, entries));
  }

  absl::string_view PathOf(EntryId id) const {
    return evidence_.paths().path(evidence_.entry(id).module);
  }

  Evidence& evidence_;
  LedgerBuilder ledger_;
  const std::vector<Known> known_;
};

Ledger ApplyVision(Evidence* evidence) {
  if (ConfigOf(evidence->model()).empty()) {
    return LedgerBuilder::NotApplicable("the formula reads a config.json, and this is a model");
  }
  const std::optional<VisionFormula> formula = ReadVisionFormula(evidence->inference());
  if (!formula) {
    return LedgerBuilder::NotApplicable(
        "the configuration has no image tower with the keys that the formula reads: depth, "
        "hidden_size, intermediate_size and out_hidden_size of vision_config");
  }
  return Maker(evidence, *formula).Make();
}

}  // namespace
}  // namespace config_vision

const Convention kMegatronBridgeVision = {
    {"megatron-bridge-vision", Unit::kFlop, "an image tower by its patches, of a training step",
     "NVIDIA-NeMo/Megatron-Bridge, flop_utils.py: vit_flops_from_patch_stats",
     "of the image tower: attention over whole frames, an MLP of two matrices, merging of patches",
     "the rest of the model; patch embedding, gates of MLPs, windows, norms and activations", "",
     "", "", config_vision::kForwardAndBackward},
    config_vision::ApplyVision,
};

}  // namespace onnxflops::convention
