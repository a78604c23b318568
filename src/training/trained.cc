#include "src/training/trained.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/base/glob.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/graph/dtype.h"
#include "src/module/module_path.h"
#include "src/resolve/parameters.h"

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

const OptimizerInfo& InfoOf(Optimizer optimizer) {
  return kOptimizers[static_cast<size_t>(optimizer)];
}

absl::StatusOr<Optimizer> ParseOptimizer(absl::string_view name) {
  for (const OptimizerInfo& info : kOptimizers) {
    if (info.name == name) return info.optimizer;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--optimizer ", Quoted(name), ": not one of ",
      absl::StrJoin(kOptimizers, ", ", [](std::string* out, const OptimizerInfo& info) {
        absl::StrAppend(out, info.name);
      })));
}

namespace training {
namespace {

// The pattern matches the path, or that of something around it.
bool MatchesWithin(absl::string_view glob, absl::string_view path) {
  for (absl::string_view around = path; !around.empty(); around = modules::ParentPath(around)) {
    if (MatchesGlob(glob, around)) return true;
  }
  return false;
}

// What PyTorch calls a matrix of the module, where the exporter gave it another name: a transposed
// one, or the first of several that are one.
std::string NameInModule(const ModelData& model, const resolve::Parameter& parameter,
                         absl::string_view module) {
  const OptionalTensorId tensor = model.value(parameter.value).initializer;
  const bool matrix = tensor && model.tensor(*tensor).dims.size() >= 2;
  if (module.empty() || !matrix) return "";
  if (absl::StartsWith(parameter.name, absl::StrCat(module, "."))) return "";
  return absl::StrCat(module, ".weight");
}

// Patterns of one option, and which of them met a parameter.
class Patterns {
 public:
  explicit Patterns(const std::vector<std::string>& globs)
      : globs_(globs), met_(globs.size(), false) {}

  bool empty() const { return globs_.empty(); }

  bool Match(absl::string_view name, absl::string_view module, absl::string_view in_module) {
    bool any = false;
    for (size_t i = 0; i < globs_.size(); ++i) {
      if (!MatchesWithin(globs_[i], name) && !MatchesWithin(globs_[i], module) &&
          !MatchesGlob(globs_[i], in_module)) {
        continue;
      }
      any = met_[i] = true;
    }
    return any;
  }

  // One list of patterns may be for several models: what meets nothing is a warning beside another
  // that meets something.
  absl::Status CheckMet(absl::string_view option, std::vector<std::string>* warnings) const {
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
};

}  // namespace

absl::StatusOr<TrainedParameters> FindTrained(const ModelData& model,
                                              const modules::Attribution& attribution,
                                              const TrainingOptions& options) {
  TrainedParameters result;
  result.value.assign(model.values.size(), false);
  Patterns frozen(options.frozen), trained(options.trained);
  for (const resolve::Parameter& parameter : resolve::FindParameters(model)) {
    absl::string_view module;
    if (parameter.first_user) {
      const OptionalModuleId id =
          attribution.node_module[static_cast<size_t>(*parameter.first_user)];
      if (id) module = attribution.paths.path(*id);
    }
    result.all_elements += parameter.elements;
    const std::string in_module = NameInModule(model, parameter, module);
    const bool freezes = frozen.Match(parameter.name, module, in_module);
    const bool trains = trained.Match(parameter.name, module, in_module) || trained.empty();
    const OptionalTensorId tensor = model.value(parameter.value).initializer;
    const bool is_float = !tensor || IsFloat(model.tensor(*tensor).dtype);
    if (freezes || !trains || !is_float) continue;
    result.value[static_cast<size_t>(parameter.value)] = true;
    result.elements += parameter.elements;
    result.bytes += parameter.bytes;
    ++result.tensors;
  }
  RETURN_IF_ERROR(frozen.CheckMet("--frozen", &result.warnings));
  RETURN_IF_ERROR(trained.CheckMet("--trained", &result.warnings));
  return result;
}

}  // namespace training
}  // namespace onnxflops
