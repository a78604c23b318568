// Modules of torch.nn that are used in several places of a model.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/limits.h"
#include "src/convention/torch/dynamo_parts.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/python_list.h"

namespace onnxflops::convention {
namespace {

class SharedModules {
 public:
  explicit SharedModules(DynamoCalls* calls) : trace_(calls->trace), origins_(calls->origins) {}

  void Find() {
    absl::flat_hash_map<std::string, absl::string_view> classes;  // by path
    std::vector<size_t> calls;                                    // one of each text
    absl::flat_hash_set<const CallText*> seen;
    for (size_t i = 0; i < trace_.calls.size(); ++i) {
      const TorchScope& scope = trace_.scope(trace_.calls[i]);
      if (scope.nn_class == NnClass::kNone || !seen.insert(origins_[i].text).second) continue;
      classes.emplace(PathOf(i), scope.class_name);
      calls.push_back(i);
    }
    for (const size_t i : calls) {
      const std::vector<absl::string_view> parameters = ParametersOf(*origins_[i].text);
      const std::string own = PathOf(i);
      const bool is_shared =
          !parameters.empty() &&
          std::none_of(parameters.begin(), parameters.end(), [&](absl::string_view parameter) {
            return absl::StartsWith(parameter, own) ||
                   HasOtherClass(parameter, trace_.scope(trace_.calls[i]), classes);
          });
      if (is_shared) ++trace_.shared_modules;
    }
  }

 private:
  // "blocks_0_fc_", of the innermost module of the call.
  std::string PathOf(size_t call) const {
    return absl::StrCat(AsPlaceholder(exporter::PyStrings(origins_[call].text->scopes).last()),
                        "_");
  }

  // "blocks_0_fc_weight".
  static std::vector<absl::string_view> ParametersOf(const CallText& text) {
    std::vector<absl::string_view> parameters;
    for (absl::string_view arg : text.args.args) {
      if (absl::ConsumePrefix(&arg, exporter::kFxParameter)) parameters.push_back(arg);
    }
    return parameters;
  }

  // True if the parameter belongs to a module of another class that makes calls.
  static bool HasOtherClass(absl::string_view parameter, const TorchScope& scope,
                            const absl::flat_hash_map<std::string, absl::string_view>& classes) {
    if (parameter.size() > kMaxSourceLine) return false;  // each part is looked up
    for (size_t end = parameter.rfind('_'); end != absl::string_view::npos && end > 0;
         end = parameter.substr(0, end).rfind('_')) {
      const auto it = classes.find(parameter.substr(0, end + 1));
      if (it != classes.end()) return it->second != scope.class_name;
    }
    return false;
  }

  TorchTrace& trace_;
  const std::vector<DynamoCalls::Origin>& origins_;  // by call
};

}  // namespace

void FindSharedModules(DynamoCalls* calls) { SharedModules(calls).Find(); }

}  // namespace onnxflops::convention
