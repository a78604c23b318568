#include "tools/commands/each_model.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "tools/cli/progress.h"

namespace onnxflops::tools {
namespace {

int Cores() { return std::min(platform::AvailableProcessors(), kMaxThreads); }

}  // namespace

void JobsArgument::AddTo(OptionList* list) {
  list->AddValue("-j", "N", &jobs, "Models to count at the same time. Default: all cores.");
}

absl::StatusOr<int> JobsArgument::Parse() const {
  if (jobs.empty()) return Cores();
  int threads = 0;
  if (absl::SimpleAtoi(jobs, &threads) && threads >= 1 && threads <= kMaxThreads) return threads;
  return absl::InvalidArgumentError(
      absl::StrCat("-j ", Quoted(jobs), ": it should be a number from 1 to ", kMaxThreads));
}

void ForEach(size_t count, int threads, const std::function<void(size_t)>& run) {
  Progress progress(count, "models");
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      run(i);
      progress.OneMore();
    }
  };
  std::vector<std::thread> others;
  const size_t wanted = std::min(count, static_cast<size_t>(threads));
  try {
    while (others.size() + 1 < wanted) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The system has no more threads: those that there are do all.
  }
  work();
  for (std::thread& thread : others) thread.join();
}

}  // namespace onnxflops::tools
