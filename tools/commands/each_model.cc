#include "tools/commands/each_model.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/settings/value.h"
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

}  // namespace onnxflops::tools
