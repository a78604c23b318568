// How it works. Every float parameter is trained unless an option or the file says otherwise.
// --frozen and --trained take patterns, which match a parameter by its name, the path of its
// module, or a module around it. A tied copy shares the choice of its original and counts once.
//
// Exporters rename parameters, so a name that the user knows from PyTorch may be missing in the
// file. For matrices, other names are derived from their use: <module>.weight for a matrix that the
// module uses, a shared table of several lookups, position embeddings added to tokens. A warning
// names a match by such a guess. It is an error if no pattern of an option matches anything; a
// single pattern that matches nothing is a warning, since one list may serve several models.
//
// Gradients also run to weights that the exporter computed from parameters: `gradient` includes
// these, `value` does not. Facts that no file shows, such as whether a tensor is a parameter or a
// buffer, give a warning.
#include "src/training/trained.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/glob.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/exporter/exporter.h"
#include "src/exporter/signature.h"
#include "src/exporter/tensor_name.h"
#include "src/graph/dtype.h"
#include "src/module/module_path.h"
#include "src/resolve/parameters.h"
#include "src/training/not_trained.h"

namespace onnxflops {

absl::string_view AttentionName(AttentionBackward attention) {
  return attention == AttentionBackward::kFlash ? "flash" : "math";
}

std::string RecomputeName(const Recompute& recompute) {
  switch (recompute.what) {
    case Recompute::What::kNone:
      return "none";
    case Recompute::What::kAttention:
      return "attention";
    case Recompute::What::kBlocks:
      return "blocks";
    case Recompute::What::kFull:
      return "full";
    case Recompute::What::kModules:
      return recompute.glob;
  }
  return "";
}

Recompute ParseRecompute(absl::string_view text) {
  using What = Recompute::What;
  if (text == "none") return {What::kNone, ""};
  if (text == "attention") return {What::kAttention, ""};
  if (text == "blocks") return {What::kBlocks, ""};
  if (text == "full") return {What::kFull, ""};
  return {What::kModules, std::string(text)};
}

namespace {
constexpr absl::string_view kLossNames[] = {"none", "sum", "cross_entropy"};
}  // namespace

absl::string_view LossName(Loss loss) { return kLossNames[static_cast<size_t>(loss)]; }

absl::StatusOr<Loss> ParseLoss(absl::string_view name) {
  for (size_t i = 0; i < std::size(kLossNames); ++i) {
    if (kLossNames[i] == name) return static_cast<Loss>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat(Setting("loss"), " ", Quoted(name),
                                                 ": not one of ", absl::StrJoin(kLossNames, ", ")));
}

bool HasOwnBackward(const TrainingOptions& options) {
  return !options.frozen.empty() || !options.trained.empty() || options.input_gradients ||
         options.attention != AttentionBackward::kMath ||
         options.recompute.what != Recompute::What::kNone;
}

TrainingOptions WithoutRecomputation(TrainingOptions options) {
  options.attention = AttentionBackward::kMath;
  options.recompute = {};
  return options;
}

const OptimizerInfo& InfoOf(Optimizer optimizer) {
  return kOptimizers[static_cast<size_t>(optimizer)];
}

absl::StatusOr<Optimizer> ParseOptimizer(absl::string_view name) {
  for (const OptimizerInfo& info : kOptimizers) {
    if (absl::EqualsIgnoreCase(info.name, name)) return info.optimizer;  // torch has AdamW
  }
  return absl::InvalidArgumentError(absl::StrCat(
      Setting("optimizer"), " ", Quoted(name), ": not one of ",
      absl::StrJoin(kOptimizers, ", ", [](std::string* out, const OptimizerInfo& info) {
        absl::StrAppend(out, info.name);
      })));
}

namespace training {
namespace {

// True if the pattern matches the path or a module around it.
bool MatchesWithin(absl::string_view glob, absl::string_view path) {
  for (absl::string_view around = path; !around.empty(); around = modules::ParentPath(around)) {
    if (MatchesGlob(glob, around)) return true;
  }
  return false;
}

absl::string_view PathOfModule(const modules::Attribution& attribution, OptionalNodeId node) {
  if (!node) return "";
  const OptionalModuleId module = attribution.node_module[static_cast<size_t>(*node)];
  return module ? attribution.paths.path(*module) : absl::string_view();
}

// A table or matrix: all sizes before the last two are 1.
bool IsMatrix(const ModelData& model, ValueId value) {
  const OptionalTensorId tensor = model.value(value).initializer;
  if (!tensor) return false;
  const auto& dims = model.tensor(*tensor).dims;
  return dims.size() >= 2 &&
         std::all_of(dims.begin(), dims.end() - 2, [](int64_t size) { return size == 1; });
}

bool IsLookup(const Node& node) { return node.domain.empty() && node.op_type == "Gather"; }

std::string Join(absl::string_view module, absl::string_view name) {
  return module.empty() ? std::string(name) : absl::StrCat(module, ".", name);
}

// PyTorch's names of parameters that have another name in the file, derived from their use.
//
//   <module>.weight         a matrix that the module uses: the exporter transposed it, or kept the
//                           name that it has in another module
//   <parent>.shared.weight  a table that several modules below the parent look tokens up in
//   positional_embedding    and similar names: computed by the exporter, added to tokens or
//                           patches
struct OtherName {
  std::string name;
  bool guessed = false;  // the last two: the file says less
};

class OtherNames {
 public:
  OtherNames(const ModelData& model, const modules::Attribution& attribution)
      : model_(model), attribution_(attribution) {
    for (size_t i = 0; i < model.nodes.size(); ++i) {
      for (OptionalValueId value : model.nodes[i].inputs) {
        if (!value || !HasMatrix(*value)) continue;
        std::vector<NodeId>& users = users_[*value];
        if (users.empty() || users.back() != static_cast<NodeId>(i)) {
          users.push_back(static_cast<NodeId>(i));
        }
      }
    }
  }

  std::vector<OtherName> Of(const resolve::Parameter& parameter) const {
    std::vector<OtherName> names;
    const auto users = users_.find(parameter.value);
    if (users == users_.end()) return names;
    std::vector<absl::string_view> lookups;
    for (NodeId id : users->second) {
      const absl::string_view module = PathOfModule(attribution_, id);
      if (module.empty()) continue;
      const bool looks_up = IsLookup(model_.node(id));
      if (looks_up && (lookups.empty() || lookups.back() != module)) lookups.push_back(module);
      if (absl::StartsWith(parameter.name, absl::StrCat(module, "."))) continue;
      names.push_back({Join(module, "weight")});
    }
    if (lookups.size() > 1) {
      names.push_back({Join(CommonParent(lookups), "shared.weight"), true});
    }
    if (IsPositions(parameter, users->second)) {
      const absl::string_view module = PathOfModule(attribution_, users->second[0]);
      for (absl::string_view name : exporter::kPositionNames) {
        names.push_back({Join(module, name), true});
      }
    }
    return names;
  }

 private:
  bool HasMatrix(ValueId value) const {
    const OptionalTensorId tensor = model_.value(value).initializer;
    return tensor && model_.tensor(*tensor).dims.size() >= 2;
  }

  static absl::string_view CommonParent(const std::vector<absl::string_view>& paths) {
    absl::string_view parent = modules::ParentPath(paths[0]);
    for (absl::string_view path : paths) {
      while (!parent.empty() && !absl::StartsWith(path, absl::StrCat(parent, "."))) {
        parent = modules::ParentPath(parent);
      }
    }
    return parent;
  }

  // An unnamed matrix that one addition adds to looked-up tokens, or to flattened patches.
  bool IsPositions(const resolve::Parameter& parameter, const std::vector<NodeId>& users) const {
    if (!exporter::IsRenamed(parameter.name) || users.size() != 1) return false;
    const Node& node = model_.node(users[0]);
    if (!node.domain.empty() || node.op_type != "Add" || !IsMatrix(model_, parameter.value)) {
      return false;
    }
    for (OptionalValueId input : node.inputs) {
      const Node* made_by = MadeBy(input);
      if (made_by != nullptr && made_by->op_type == "Cast") made_by = MadeBy(made_by->input(0));
      if (made_by == nullptr) continue;
      if (IsLookup(*made_by)) return made_by->input(0) && HasMatrix(*made_by->input(0));
      if (made_by->op_type == "Concat" || made_by->op_type == "Transpose") return true;
    }
    return false;
  }

  const Node* MadeBy(OptionalValueId value) const {
    const OptionalNodeId maker = value ? model_.value(*value).producer : OptionalNodeId();
    return maker ? &model_.node(*maker) : nullptr;
  }

  const ModelData& model_;
  const modules::Attribution& attribution_;
  absl::flat_hash_map<ValueId, std::vector<NodeId>> users_;  // of matrices
};

// "!visual" leaves out what the other patterns match; alone, it leaves out of
// all.
bool Excludes(absl::string_view glob) { return absl::StartsWith(glob, "!"); }
bool OnlyExcludes(const std::vector<std::string>& globs) {
  return !globs.empty() && std::all_of(globs.begin(), globs.end(),
                                       [](const std::string& glob) { return Excludes(glob); });
}

// Patterns of one option, and which of them matched a parameter.
class Patterns {
 public:
  explicit Patterns(const std::vector<std::string>& globs)
      : globs_(globs), met_(globs.size(), false) {}

  bool empty() const { return globs_.empty(); }

  bool Match(const resolve::Parameter& parameter, absl::string_view module,
             const std::vector<OtherName>& others) {
    bool any = OnlyExcludes(globs_), excluded = false;
    for (size_t i = 0; i < globs_.size(); ++i) {
      absl::string_view glob = globs_[i];
      const bool excludes = absl::ConsumePrefix(&glob, "!");
      if (!MatchesWithin(glob, parameter.name) && !MatchesWithin(glob, module)) {
        const auto other = std::find_if(others.begin(), others.end(), [&](const OtherName& o) {
          return MatchesWithin(glob, o.name);
        });
        if (other == others.end()) continue;
        if (other->guessed && guesses_.size() < globs_.size()) {
          guesses_.push_back(absl::StrCat(Quoted(glob), ": no parameter of this name; taken as ",
                                          Quoted(parameter.name), ", by its use"));
        }
      }
      met_[i] = true;
      (excludes ? excluded : any) = true;
    }
    return any && !excluded;
  }

  // One list of patterns may serve several models: a pattern that matches nothing is only a warning
  // if another one matches.
  absl::Status CheckMet(absl::string_view option, std::vector<std::string>* warnings) const {
    for (const std::string& guess : guesses_) {
      warnings->push_back(absl::StrCat(option, " ", guess));
    }
    const bool any = std::find(met_.begin(), met_.end(), true) != met_.end();
    for (size_t i = 0; i < globs_.size(); ++i) {
      if (met_[i]) continue;
      std::string text = absl::StrCat(option, " ", Quoted(globs_[i]),
                                      " matches no parameter and no module with one");
      if (!any) return absl::NotFoundError(text);
      warnings->push_back(std::move(text));
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<std::string>& globs_;
  std::vector<bool> met_;
  std::vector<std::string> guesses_;
};

// Warns if one of two weights that may be tied is trained and the other is not.
void WarnOfCopies(const ModelData& model, const resolve::Ties& ties, TrainedParameters* result) {
  for (const resolve::LikelyCopy& likely : resolve::FindLikelyCopies(model)) {
    const bool trained = result->value[static_cast<size_t>(likely.copy)];
    if (ties.contains(likely.copy) ||
        trained == result->value[static_cast<size_t>(likely.original)]) {
      continue;
    }
    const std::string copy(model.value(likely.copy).name);
    const std::string original(model.value(likely.original).name);
    result->warnings.push_back(
        absl::StrCat(Quoted(copy), trained ? " is trained" : " is not trained", ", and ",
                     Quoted(original), trained ? " is not" : " is",
                     ". The first may be a transposed copy of the second: "
                     "if the two are tied, say so by ",
                     Setting("tied", Printable(absl::StrCat(copy, "=", original)))));
  }
}

// "a, b and 3 more".
std::string NamesText(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 5;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + std::min(names.size(), kNamed));
  return absl::StrCat(
      absl::StrJoin(first, ", "),
      names.size() > kNamed ? absl::StrCat(" and ", names.size() - kNamed, " more") : "");
}

// Warns of facts that the file does not show: whether a tensor is a parameter or a buffer, and
// which parameters went into a product that the exporter computed.
void WarnOfUntold(const ModelData& model, const exporter::Signature& signature,
                  TrainedParameters* result) {
  std::vector<std::string> buffers, products;
  for (size_t v = 0; v < model.values.size(); ++v) {
    const Value& value = model.values[v];
    if (!value.initializer) continue;
    const Tensor& tensor = model.tensor(*value.initializer);
    if (!IsFloat(tensor.dtype) || signature.IsParameter(value.name)) continue;
    if (exporter::IsFoldedProduct(value.name)) products.push_back(Quoted(value.name));
    if (result->value[v] && tensor.elements > 1 && exporter::MayBeBuffer(value.name)) {
      buffers.push_back(Quoted(value.name));
    }
  }
  if (!buffers.empty()) {
    result->warnings.push_back(
        absl::StrCat("parameters or buffers, which no file tells: ", NamesText(buffers),
                     WithSettings("; they count as trained: {frozen NAME} takes one out")));
  }
  if (!products.empty()) {
    result->warnings.push_back(
        absl::StrCat("computed when the model was exported: ", NamesText(products),
                     "; where parameters went into it, their gradients are not in the figures"));
  }
}

bool MatchesAny(const std::vector<std::string>& globs, absl::string_view path) {
  bool any = OnlyExcludes(globs);
  for (absl::string_view glob : globs) {
    const bool excludes = absl::ConsumePrefix(&glob, "!");
    if (!MatchesWithin(glob, path)) continue;
    if (excludes) return false;
    any = true;
  }
  return any;
}

// The patterns, with "*." before those that match no whole name but the ends of
// some.
std::vector<std::string> Completed(const std::vector<std::string>& globs,
                                   const std::vector<std::string>& names) {
  const auto is_met = [&](absl::string_view glob) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return MatchesWithin(glob, name); });
  };
  std::vector<std::string> completed;
  for (const std::string& given : globs) {
    absl::string_view glob = given;
    const bool excludes = absl::ConsumePrefix(&glob, "!");
    const std::string by_end = absl::StrCat("*.", glob);
    const bool is_end = !is_met(glob) && is_met(by_end);
    completed.push_back(is_end ? absl::StrCat(excludes ? "!" : "", by_end) : given);
  }
  return completed;
}

// The last part of a parameter's name.
absl::string_view LastPart(absl::string_view name) { return name.substr(name.rfind('.') + 1); }

// Exporters store parameters of equal values once, as those of the norms of an untrained model. The
// file then has one parameter where the options may train some of several and freeze the others.
class SharedParameters {
 public:
  SharedParameters(const ModelData& model, const modules::Attribution& attribution,
                   const TrainingOptions& options)
      : model_(model), options_(options) {
    if (options.frozen.empty() && options.trained.empty()) return;
    for (size_t i = 0; i < model.nodes.size(); ++i) {
      const absl::string_view module = PathOfModule(attribution, static_cast<NodeId>(i));
      for (OptionalValueId input : model.nodes[i].inputs) {
        if (input && model.value(*input).initializer) AddUser(model.nodes[i], *input, module);
      }
    }
  }

  // Notes the parameter if the options make different choices for the names that it would have in
  // the modules that use it.
  void Check(const resolve::Parameter& parameter, bool is_trained) {
    const auto found_names = names_.find(parameter.value);
    if (found_names == names_.end()) return;
    const std::vector<std::string>& names = found_names->second;
    if (is_trained) AddMerged(parameter, names);
    std::vector<std::string> others;
    for (const std::string& name : names) {
      if (IsTrained(name) != is_trained) others.push_back(Quoted(name));
    }
    if (others.empty() || others.size() == names.size()) return;
    Found& found = is_trained ? trained_ : frozen_;
    found.stored.push_back(Quoted(parameter.name));
    found.others.insert(found.others.end(), others.begin(), others.end());
  }

  void Warn(std::vector<std::string>* warnings) const {
    if (!merged_.empty()) {
      warnings->push_back(absl::StrCat(
          "stored once for several layers: ", NamesText(merged_),
          ". Exporters store equal parameters once, as the zeros that adapters begin with: unless "
          "the layers share them, the trained parameters are ",
          Int128ToString(merged_elements_), " more. Export the model with trained weights"));
    }
    for (const Found* found : {&frozen_, &trained_}) {
      if (found->stored.empty()) continue;
      const bool trained = found == &trained_;
      warnings->push_back(absl::StrCat(
          "stored once for several modules, and ", trained ? "" : "not ",
          "trained: ", NamesText(found->stored), "; the options ", trained ? "freeze" : "train",
          " it as ", NamesText(found->others),
          ". Exporters store equal parameters once: unless the modules share it, export the model "
          "with trained weights"));
    }
  }

 private:
  struct Found {
    std::vector<std::string> stored, others;
  };

  // Layers of one kind have names that differ in their numbers only: these do not share a weight by
  // design, as an output layer shares the table of tokens.
  void AddMerged(const resolve::Parameter& parameter, const std::vector<std::string>& names) {
    absl::flat_hash_set<std::string> kinds;
    for (const std::string& name : names) kinds.insert(modules::WithoutDigits(name));
    if (kinds.size() == names.size() || exporter::IsOwnGraph(model_)) return;
    merged_.push_back(Quoted(parameter.name));
    merged_elements_ += parameter.elements * (names.size() - 1);
  }

  void AddUser(const Node& node, ValueId value, absl::string_view module) {
    const absl::string_view shared = exporter::SharedParameterName(model_, node);
    std::string name =
        shared.empty() ? Join(module, LastPart(model_.value(value).name)) : std::string(shared);
    std::vector<std::string>& names = names_[value];
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }

  bool IsTrained(const std::string& name) const {
    return !MatchesAny(options_.frozen, name) &&
           (options_.trained.empty() || MatchesAny(options_.trained, name));
  }

  const ModelData& model_;
  const TrainingOptions& options_;
  absl::flat_hash_map<ValueId, std::vector<std::string>> names_;
  Found frozen_, trained_;
  std::vector<std::string> merged_;   // trained parameters of several layers
  absl::int128 merged_elements_ = 0;  // how many more there are if each layer has its own
};

// Gradients also run to tensors that the exporter computed from parameters, unless options freeze
// all of these.
void FindComputed(const ModelData& model, const exporter::Signature& signature,
                  const TrainingOptions& options, TrainedParameters* result) {
  result->gradient = result->value;
  if (!signature.HasUnnamed()) return;
  for (const Node& node : model.nodes) {
    for (OptionalValueId input : node.inputs) {
      if (!input) continue;
      for (absl::string_view name : exporter::ComputedOf(model, signature, node, *input)) {
        const bool is_trained = options.trained.empty() || MatchesAny(options.trained, name);
        if (!is_trained || MatchesAny(options.frozen, name)) continue;
        result->gradient[static_cast<size_t>(*input)] = true;
      }
    }
  }
}

// All names by which a pattern may mean a parameter.
std::vector<std::string> NamesOf(const std::vector<resolve::Parameter>& parameters,
                                 const modules::Attribution& attribution,
                                 const OtherNames& other_names) {
  std::vector<std::string> names;
  for (const resolve::Parameter& parameter : parameters) {
    names.emplace_back(parameter.name);
    names.emplace_back(PathOfModule(attribution, parameter.first_user));
    for (OtherName& other : other_names.Of(parameter)) names.push_back(std::move(other.name));
  }
  return names;
}

// The options' choice for one parameter and its copies.
class Choice {
 public:
  Choice(Patterns* frozen, Patterns* trained, const OtherNames* other_names)
      : frozen_(*frozen), trained_(*trained), other_names_(other_names) {}

  void Add(const resolve::Parameter& parameter, absl::string_view module) {
    std::vector<OtherName> others;
    if (other_names_ != nullptr) others = other_names_->Of(parameter);
    freezes_ |= frozen_.Match(parameter, module, others);
    trains_ |= trained_.Match(parameter, module, others);
  }
  bool is_trained() const { return !freezes_ && (trains_ || trained_.empty()); }

 private:
  Patterns& frozen_;
  Patterns& trained_;
  const OtherNames* other_names_;
  bool freezes_ = false, trains_ = false;
};

}  // namespace

absl::StatusOr<TrainedParameters> FindTrained(const ModelData& model,
                                              const modules::Attribution& attribution,
                                              const resolve::Ties& ties,
                                              const TrainingOptions& given) {
  TrainedParameters result;
  result.value.assign(model.values.size(), false);
  const std::vector<resolve::Parameter> parameters = resolve::FindParameters(model);
  std::optional<OtherNames> other_names;
  TrainingOptions options = given;
  if (!given.frozen.empty() || !given.trained.empty()) {
    other_names.emplace(model, attribution);
    const std::vector<std::string> names = NamesOf(parameters, attribution, *other_names);
    options.frozen = Completed(given.frozen, names);
    options.trained = Completed(given.trained, names);
  }
  Patterns frozen(options.frozen), trained(options.trained);
  absl::flat_hash_map<ValueId, Choice> choices;  // copies share their original's choice
  const auto original_of = [&](ValueId value) {
    const auto tie = ties.find(value);
    return tie == ties.end() ? value : tie->second;
  };
  for (const resolve::Parameter& parameter : parameters) {
    choices
        .try_emplace(original_of(parameter.value), &frozen, &trained,
                     other_names ? &*other_names : nullptr)
        .first->second.Add(parameter, PathOfModule(attribution, parameter.first_user));
  }
  const exporter::Signature signature(model);
  const std::vector<bool> not_trained = FindNotTrained(model, signature);
  SharedParameters shared(model, attribution, options);
  for (const resolve::Parameter& parameter : parameters) {
    const bool is_copy = ties.contains(parameter.value);
    if (!is_copy) result.all_elements += parameter.elements;
    const OptionalTensorId tensor = model.value(parameter.value).initializer;
    const bool is_float = !tensor || IsFloat(model.tensor(*tensor).dtype);
    if (not_trained[static_cast<size_t>(parameter.value)]) continue;
    const bool is_chosen = choices.at(original_of(parameter.value)).is_trained();
    if (is_float && !is_copy) shared.Check(parameter, is_chosen);
    if (!is_float || !is_chosen) continue;
    result.value[static_cast<size_t>(parameter.value)] = true;
    if (is_copy) continue;
    result.elements += parameter.elements;
    result.bytes += parameter.bytes;
    ++result.tensors;
  }
  RETURN_IF_ERROR(frozen.CheckMet(Setting("frozen"), &result.warnings));
  RETURN_IF_ERROR(trained.CheckMet(Setting("trained"), &result.warnings));
  if (result.elements == 0 && result.all_elements > 0 && trained.empty() && frozen.empty()) {
    result.warnings.emplace_back(
        "nothing is trained: the parameters are integers, as of a quantised model");
  }
  shared.Warn(&result.warnings);
  WarnOfCopies(model, ties, &result);
  if (exporter::ExporterOf(model) != exporter::Exporter::kOther) {
    WarnOfUntold(model, signature, &result);
  }
  FindComputed(model, signature, options, &result);
  return result;
}

}  // namespace training
}  // namespace onnxflops
