#include "tools/cli/progress.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "src/base/platform/posix.h"
#include "tools/cli/write_file.h"

namespace onnxflops::tools {
namespace {

constexpr int kBarWidth = 40;
constexpr std::chrono::milliseconds kBetweenBars(100);

// A terminal that has gone is no error of the count.
void Show(const std::string& text) { WriteAll(STDERR_FILENO, text).IgnoreError(); }

}  // namespace

Progress::Progress(size_t count, absl::string_view things) : count_(count), things_(things) {
  if (count > 1 && isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { Draw(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    finished_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Progress::Draw() {
  bool drawn = false;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kBetweenBars, [this] { return finished_; })) {
    drawn = true;
    Show(absl::StrCat("\r", ProgressBar(done_, count_, kBarWidth, things_)));
  }
  if (drawn) Show("\r\x1b[K");
}

std::string ProgressBar(size_t done, size_t count, int width, absl::string_view things) {
  const auto columns = static_cast<size_t>(width);
  const size_t full = count == 0 ? columns : columns * done / count;
  return absl::StrCat("[", std::string(full, '#'), std::string(columns - full, ' '), "] ", done,
                      " of ", count, " ", things);
}

}  // namespace onnxflops::tools
