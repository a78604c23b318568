// How it works. A review compares models of the working tree with those of a revision. Models on
// one side only were added, removed or renamed. --renamed OLD=NEW names a renamed one; if names
// contain "=", the split whose old name exists at the revision is used. The rest is guessed:
// removed models are compared with new ones, all pairs up to a limit, by numbers of operators,
// parameters and paths of modules. Pairs are taken from the most similar to the least, above a
// threshold, which is higher if there are no modules to compare. Removed models are counted at the
// revision, as a review shows their cost.
#include "tools/commands/review_arguments.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "src/api/diff.h"
#include "src/base/platform/posix.h"
#include "src/base/status_macros.h"
#include "src/diff/diff_rows.h"
#include "src/settings/pipeline_arguments.h"
#include "src/settings/value.h"
#include "tools/commands/base_model.h"
#include "tools/commands/base_pipeline.h"
#include "tools/commands/git_file.h"
#include "tools/commands/git_pipeline.h"
#include "tools/commands/model_files.h"

namespace onnxflops::tools {
namespace {

constexpr size_t kMostCounted = 20;  // removed models
constexpr size_t kMostTried = 16;    // removed and new models: each pair is compared

// How many stages have the parameters of a stage of the other side, whatever they are called.
double EqualStages(const Diff& diff) {
  std::vector<absl::int128> base, head, both;
  for (const ModuleDiff& m : diff.modules) {
    if (m.parent < 0) continue;
    const auto add = [&](const Amounts& amounts, std::vector<absl::int128>* to) {
      if (const auto params = diff::ShownValue(diff, amounts.params)) to->push_back(*params);
    };
    if (m.status != DiffStatus::kNew) add(*m.base, &base);
    if (m.status != DiffStatus::kGone) add(*m.head, &head);
  }
  absl::c_sort(base);
  absl::c_sort(head);
  absl::c_set_intersection(base, head, std::back_inserter(both));
  return static_cast<double>(both.size());
}

// How similar two models are, in thousandths: the mean of the shares of operators in equal numbers,
// of parameters, and of modules with the same paths; of pipelines, of parameters and of stages with
// the same names. nullopt: too little for a rename.
std::optional<int64_t> LikenessOf(const Diff& diff) {
  constexpr int64_t kLeast = 600, kLeastWithoutModules = 800;
  const auto share = [](double part, double whole) {
    return whole > 0 ? static_cast<int64_t>(1000 * part / whole) : 0;
  };
  double nodes = 0, same_nodes = 0, modules = 0, same_modules = 0, bases = 0, heads = 0;
  for (const OpDiff& op : diff.ops) {
    nodes += static_cast<double>(std::max(op.base_nodes, op.head_nodes));
    same_nodes += static_cast<double>(std::min(op.base_nodes, op.head_nodes));
  }
  for (const ModuleDiff& m : diff.modules) {
    if (m.parent < 0 || m.own) continue;
    ++modules;
    same_modules += m.status == DiffStatus::kSame || m.status == DiffStatus::kChanged ? 1 : 0;
    bases += m.status == DiffStatus::kNew ? 0 : 1;
    heads += m.status == DiffStatus::kGone ? 0 : 1;
  }
  if (nodes == 0) {  // a pipeline
    same_modules = std::max(same_modules, EqualStages(diff));
    modules = std::max(bases, heads);
  }
  const ModuleDiff& model = diff.modules[0];
  const std::optional<absl::int128> base = diff::ShownValue(diff, model.base->params);
  const std::optional<absl::int128> head = diff::ShownValue(diff, model.head->params);
  const auto params =
      std::minmax({static_cast<double>(base.value_or(0)), static_cast<double>(head.value_or(0))});
  const bool has_modules = modules > 0;
  int64_t sum = share(params.first, params.second), shares = 1;
  for (const auto& [part, whole] : {std::pair(same_nodes, nodes), {same_modules, modules}}) {
    if (whole == 0) continue;
    sum += share(part, whole);
    ++shares;
  }
  const int64_t likeness = sum / shares + (diff.IsEmpty() ? 1 : 0);  // an equal one comes first
  if (likeness < (has_modules ? kLeast : kLeastWithoutModules)) return std::nullopt;
  return likeness;
}

absl::StatusOr<Diff> DiffRenamed(const std::string& head, const BaseModel& base,
                                 const CountOptions& options) {
  ASSIGN_OR_RETURN(const PipelineSides sides, FindPipelineSides(head, base));
  RETURN_IF_ERROR(RequireInRepository(sides.checked.head, head));
  ASSIGN_OR_RETURN(PipelineDiff diff, DiffPipelines(sides.checked, options));
  return std::move(diff.figures);
}

absl::StatusOr<Diff> DiffRevision(const std::string& base, const std::string& revision,
                                  const Model& head, const CountOptions& options) {
  ASSIGN_OR_RETURN(const Model old, LoadRevision({base, revision}, options));
  return DiffModels(old, head, options);
}

bool RevisionHas(const std::string& revision, const std::string& path) {
  const absl::StatusOr<int> fd = OpenGitFile(revision, path);
  if (fd.ok()) close(*fd);
  return !absl::IsNotFound(fd.status());
}

std::optional<Diff> CostOfPipelineAt(const std::string& path, const std::string& revision,
                                     const CountOptions& options) {
  const absl::StatusOr<GitPipeline> at = GitPipeline::Lay(revision, path);
  if (!at.ok()) return std::nullopt;
  absl::StatusOr<PipelineDiff> diff = DiffPipelines(
      CheckedPipeline{.head = [&at](const Bindings& given) { return at->Read(given); }}, options);
  return diff.ok() ? std::optional(std::move(diff->figures)) : std::nullopt;
}

// The cost of a model at the revision; nullopt if it cannot be read or counted.
std::optional<Diff> CostAt(const std::string& path, const std::string& revision,
                           const CountOptions& options) {
  if (settings::IsPipelineFile(path)) return CostOfPipelineAt(path, revision, options);
  const absl::StatusOr<Model> model = LoadRevision({path, revision}, options);
  if (!model.ok()) return std::nullopt;
  absl::StatusOr<Diff> diff = DiffModels(*model, options);
  return diff.ok() ? std::optional(*std::move(diff)) : std::nullopt;
}

}  // namespace

void ReviewArguments::AddTo(OptionList* list) {
  list->AddValue("review", "FILE", &file,
                 "Write a comment on a pull request to FILE: the verdict, then each model that "
                 "changed from its base or failed.");
  list->AddValue("threshold", "PERCENT", &threshold,
                 "In the review, changes below this part of a model are one row, as 0.1%.");
  list->AddFlag("no-budgets", &no_budgets, "Only for --review and --record: there are no budgets.");
  list->AddValues("renamed", "OLD=NEW", &renamed,
                  "With --git: the model NEW has the path OLD at the revision.");
  list->AddValues("removed", "OLD", &removed,
                  "With --git and --review: a model of the revision that is gone. A new model of "
                  "the same structure counts as this one, renamed.");
}

absl::StatusOr<DiffViewOptions> ReviewArguments::View() const {
  DiffViewOptions view;
  ASSIGN_OR_RETURN(view.threshold, ParseThreshold(threshold));
  return view;
}

absl::StatusOr<ModelMoves> ReviewArguments::Moves(const std::vector<std::string>& models,
                                                  const std::string& revision) const {
  ModelMoves moves;
  for (const std::string& word : renamed) {
    // Both names may contain "=": the right place to split is after a file of the revision.
    size_t found = std::string::npos;
    for (size_t at = word.find('='); at != std::string::npos; at = word.find('=', at + 1)) {
      const bool fits = at > 0 && absl::c_linear_search(models, word.substr(at + 1));
      if (!fits || revision.empty()) continue;
      if (found == std::string::npos || RevisionHas(revision, word.substr(0, at))) found = at;
      if (RevisionHas(revision, word.substr(0, at)) &&
          !RevisionHas(revision, word.substr(at + 1))) {
        break;
      }
    }
    if (found == std::string::npos) {
      return settings::BadValue("renamed", word,
                                "it should be OLD=NEW with --git, and NEW is a MODEL");
    }
    moves.renamed[word.substr(found + 1)] = word.substr(0, found);
  }
  if (!removed.empty() && (revision.empty() || file.empty())) {
    return absl::InvalidArgumentError("--removed is for --review with --git");
  }
  for (const std::string& path : removed) {
    if (absl::c_linear_search(models, path)) {
      return settings::BadValue("removed", path, "it is one of the models");
    }
    if (!absl::c_linear_search(moves.removed, path)) moves.removed.push_back(path);
  }
  return moves;
}

void FindRenamed(const std::vector<std::string>& models, const std::string& revision,
                 const CountOptions& options, ModelMoves* moves) {
  if (moves->removed.empty()) return;
  std::vector<std::string> fresh;
  for (const std::string& model : models) {
    if (fresh.size() == kMostTried) break;
    if (!moves->renamed.contains(model) && !RevisionHas(revision, model)) fresh.push_back(model);
  }
  struct Pair {
    int64_t likeness;
    std::string head, base;
  };
  std::vector<Pair> pairs;
  for (const std::string& head : fresh) {
    const bool is_pipeline = IsOnePipeline(head);
    const absl::StatusOr<ModelOrReport> side =
        is_pipeline ? absl::CancelledError() : LoadModelOrReport(head, options);
    // The model's own row says why it cannot be read.
    if (!is_pipeline && (!side.ok() || !side->model)) continue;
    for (size_t i = 0; i < std::min(moves->removed.size(), kMostTried); ++i) {
      const std::string& base = moves->removed[i];
      if (settings::IsPipelineFile(base) != is_pipeline) continue;
      const absl::StatusOr<Diff> diff = is_pipeline
                                            ? DiffRenamed(head, {base, revision}, options)
                                            : DiffRevision(base, revision, *side->model, options);
      const std::optional<int64_t> likeness = diff.ok() ? LikenessOf(*diff) : std::nullopt;
      if (likeness) pairs.push_back({*likeness, head, base});
    }
  }
  absl::c_stable_sort(pairs, [](const Pair& a, const Pair& b) { return a.likeness > b.likeness; });
  for (const Pair& pair : pairs) {
    const auto base = absl::c_find(moves->removed, pair.base);
    if (base == moves->removed.end() || moves->renamed.contains(pair.head)) continue;
    moves->renamed[pair.head] = pair.base;
    moves->removed.erase(base);
  }
}

void AddGoneModels(const ModelMoves& moves, const std::string& revision,
                   const CountOptions& options, Review* review) {
  CountOptions with_peak = options;
  with_peak.activation_peak = true;
  for (size_t i = 0; i < moves.removed.size(); ++i) {
    ReviewedModel& model = review->models.emplace_back();
    model.path = moves.removed[i];
    model.is_gone = true;
    if (i < kMostCounted) model.diff = CostAt(model.path, revision, with_peak);
  }
}

}  // namespace onnxflops::tools
