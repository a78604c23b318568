#include "tools/commands/each_model.h"

#include <algorithm>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/settings/value.h"
#include "src/symbolic/symbol_name.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"

namespace onnxflops::tools {
void JobsArgument::AddTo(OptionList* list) {
  list->AddValue("j", "N", &jobs, "Models to count at the same time. Default: all cores.");
}

absl::StatusOr<int> JobsArgument::Parse() const {
  if (jobs.empty()) return std::min(platform::AvailableProcessors(), kMaxThreads);
  int threads = 0;
  if (absl::SimpleAtoi(jobs, &threads) && threads >= 1 && threads <= kMaxThreads) return threads;
  return settings::BadValue("j", jobs,
                            absl::StrCat("it should be a number from 1 to ", kMaxThreads));
}

void ForEach(size_t count, int threads, const std::function<void(size_t)>& run) {
  Progress progress(count, "models");
  platform::RunOnThreads(count, threads, [&](size_t i) {
    run(i);
    progress.OneMore();
  });
}

absl::Status TellMissing(const std::vector<MissingSizes>& models, absl::string_view done) {
  std::map<std::string, std::vector<std::string>> without;  // models by symbol
  for (const MissingSizes& model : models) {
    for (const std::string& name : model.names) without[name].push_back(model.path);
  }
  for (const auto& [name, paths] : without) {
    if (paths.size() == models.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dim: no model has a symbol named ", Escaped(QuotedSymbol(name))));
    }
  }
  constexpr size_t kListed = 3;
  for (const auto& [name, paths] : without) {
    const std::string symbol = Escaped(QuotedSymbol(name));
    if (paths.size() <= kListed) {
      for (const std::string& path : paths) {
        WriteError(absl::StrCat(Escaped(path), ": has no symbol named ", symbol, ": ", done,
                                " without it"));
      }
      continue;
    }
    WriteError(absl::StrCat(paths.size(), " of ", models.size(), " models have no symbol named ",
                            symbol, " and are ", done, " without it: ", Escaped(paths[0]), ", ",
                            Escaped(paths[1]), " and others"));
  }
  return absl::OkStatus();
}

}  // namespace onnxflops::tools
