#include "tools/each_model.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "tools/write_file.h"

namespace onnxflops::tools {
namespace {

constexpr int kBarWidth = 40;
constexpr std::chrono::milliseconds kBetweenBars(100);

int Cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::clamp(cores, 1, kMaxThreads);
}

// Draws the bar until the last model is done, and then takes it away.
class Progress {
 public:
  explicit Progress(size_t count) : count_(count) {
    if (count > 1 && isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { Draw(); });
  }
  ~Progress() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      finished_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void OneMore() { ++done_; }

 private:
  void Draw() {
    bool drawn = false;
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, kBetweenBars, [this] { return finished_; })) {
      drawn = true;
      Write(absl::StrCat("\r", ProgressBar(done_, count_, kBarWidth)));
    }
    if (drawn) Write("\r\x1b[K");
  }
  // A terminal that has gone is no error of the count.
  static void Write(const std::string& text) { WriteAll(STDERR_FILENO, text).IgnoreError(); }

  const size_t count_;
  std::atomic<size_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool finished_ = false;
  std::thread thread_;
};

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

std::string ProgressBar(size_t done, size_t count, int width) {
  const auto columns = static_cast<size_t>(width);
  const size_t full = count == 0 ? columns : columns * done / count;
  return absl::StrCat("[", std::string(full, '#'), std::string(columns - full, ' '), "] ", done,
                      " of ", count, " models");
}

void ForEach(size_t count, int threads, const std::function<void(size_t)>& run) {
  Progress progress(count);
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
