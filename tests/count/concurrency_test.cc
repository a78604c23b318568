// Many threads at once: each counts models of its own, all read one report. Made for the thread
// sanitizer as well: -DONNXFLOPS_SANITIZE=thread.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "src/explain/explain.h"
#include "src/onnxflops.h"
#include "tests/sample.h"

namespace onnxflops {
namespace {

constexpr int kThreads = 8;

void InThreads(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::string> SmallModels() {
  std::vector<std::string> paths;
  for (const char* folder : {"/models", "/models/deployed"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(ONNXFLOPS_SOURCE_DIR) + folder)) {
      if (entry.path().extension() == ".onnx" && entry.file_size() < 500'000) {
        paths.push_back(entry.path().string());
      }
    }
  }
  return paths;
}

std::string CountAlone(const std::string& path) {
  const absl::StatusOr<Model> model = Load(path);
  if (!model.ok()) return model.status().ToString();
  const absl::StatusOr<Report> report = Count(*model, {.node_rows = true});
  return report.ok() ? ToJson(*report) : report.status().ToString();
}

TEST(ConcurrencyTest, ThreadsCountDifferentModels) {
  const std::vector<std::string> paths = SmallModels();
  ASSERT_GE(paths.size(), 8u);
  std::vector<std::string> expected;
  for (const std::string& path : paths) expected.push_back(CountAlone(path));
  // Under a sanitizer two threads meet at each model, else all.
  const size_t step = Sample::IsAll() ? 1 : kThreads / 2;
  InThreads([&](int t) {
    for (size_t i = 0; i < paths.size(); i += step) {
      const size_t k = (i + static_cast<size_t>(t) * 3) % paths.size();
      EXPECT_EQ(CountAlone(paths[k]), expected[k]) << paths[k];
    }
  });
}

TEST(ConcurrencyTest, ThreadsCountOneModel) {
  const Model model = *Load(ONNXFLOPS_SOURCE_DIR "/models/gpt2.onnx");
  InThreads([&](int t) {
    const absl::StatusOr<Report> report =
        Count(model, {.bindings = {{"batch", t + 1}, {"seq", 16}}});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->totals.macs,
              Count(model)->totals.macs.Substitute({{"batch", t + 1}, {"seq", 16}}));
  });
}

TEST(ConcurrencyTest, ThreadsReadOneReport) {
  const Model model = *Load(ONNXFLOPS_SOURCE_DIR "/models/gpt2.onnx");
  const Report report = *Count(model, {.node_rows = true});
  const std::string json = ToJson(report), table = ToTable(report, {});
  InThreads([&](int t) {
    const absl::StatusOr<Totals> totals = report.At({{"batch", t + 1}, {"seq", 128}});
    ASSERT_TRUE(totals.ok()) << totals.status();
    EXPECT_EQ(totals->macs, report.At({{"batch", 1}, {"seq", 128}})->macs * (t + 1));
    EXPECT_EQ(ToJson(report), json);
    EXPECT_EQ(ToTable(report, {}), table);
    EXPECT_TRUE(Explain(model, {}, report.nodes[100].name).ok());
  });
}

}  // namespace
}  // namespace onnxflops
