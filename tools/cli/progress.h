// How much of long work is done, on a terminal.
#ifndef ONNXFLOPS_TOOLS_CLI_PROGRESS_H_
#define ONNXFLOPS_TOOLS_CLI_PROGRESS_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"

namespace onnxflops::tools {

// Draws a bar on stderr, if that is a terminal, until it is destroyed, and then takes it away.
class Progress {
 public:
  // `things`: what is counted, as "models".
  Progress(size_t count, absl::string_view things);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // From any thread.
  void OneMore() { ++done_; }

 private:
  void Draw();

  const size_t count_;
  const std::string things_;
  std::atomic<size_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool finished_ = false;
  std::thread thread_;
};

// What the terminal shows: "[#####     ] 512 of 1000 models". `width` is that of the bar.
std::string ProgressBar(size_t done, size_t count, int width, absl::string_view things);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_PROGRESS_H_
